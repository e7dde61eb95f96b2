package tape

import (
	"math"
	"math/bits"
	"slices"
	"sync"

	"nabla/tape/tensor"
)

// What a loop can have, and its body as nodes: equal ones are one, and what one step leaves is
// what the next one carries.

// bodyOp is the operation that computes r in a loop: nil for a name of its argument;
// false when a loop cannot have it.
func (t *Tape) bodyOp(r Ref) (*Op, bool) {
	in := &t.ins[r]
	if in.batch != 0 || t.size(r) == 0 {
		return nil, false
	}
	switch in.Op() {
	case opSlot, opLoad:
		return in.Op(), true
	case opAlias, opStop, opAssign, opWithGrad, opStopGradient:
		return nil, true
	case opReshape, opBroadcast:
		if t.size(r) == 1 {
			return nil, true
		}
	case opCast:
		if in.dtype == tensor.Int64 {
			return table.find("trunc"), true
		}
		return nil, in.dtype != tensor.Bool
	case opLoop, opBasis, opUnbatch, opRebatch, opSumBatch, opSeed:
		return nil, false
	}
	if in.Op().elementwise() {
		return in.Op(), in.Op().f1 != nil || in.Op().f2 != nil || in.Op().f3 != nil
	}
	return in.Op(), in.Op().Run != nil
}

// mostFused is the most numbers of a value in a body without products of matrices and the
// like. Steps over more of them are better fused with those before and after, and with their
// way back, than kept in memory between: of a million they took up to 1.8 times as long.
const mostFused = 100_000

// compilable reports whether all that next, outs and cond need can be compiled.
func (l *loop) compilable(cond Ref) bool {
	want := append(slices.Clone(l.next), l.outs...)
	if cond != None {
		want = append(want, cond)
	}
	n, most, numbers := 0, maxBody, 0
	large, fuses, tiles := false, true, true
	if l.loops {
		most = maxNest
	}
	for r, on := range l.body.live(want) {
		if on && !l.body.known(Ref(r)) && !slices.Contains(l.arrays, Ref(r)) {
			op, ok := l.body.bodyOp(Ref(r))
			if !ok {
				return false
			}
			if op == nil {
				continue
			}
			n++
			size := l.body.size(Ref(r))
			numbers += size
			given := op == opSlot || op == opLoad
			large = large || size > mostFused && !given
			fuses = fuses && op.Flops == nil
			tiles = tiles && (given || op.elementwise())
		}
	}
	if fuses && large || tiles && cond == None && l.keepsTooMuch(n) {
		return false
	}
	return n <= most && (l.body.forks == nil || numbers <= mostForked)
}

// kept is how many bytes the way back may keep of what is carried into each step.
func (l *loop) kept() (bytes float64) {
	for _, c := range l.carry {
		if l.body.Active(c) {
			bytes += 8 * float64(l.n) * float64(l.body.size(c))
		}
	}
	return bytes
}

// keepsTooMuch reports whether a loop of so many elementwise operations would not fit if its
// way back were asked for, and may do so unrolled: fused with the way back, steps keep nothing.
// Many steps are better in pieces.
func (l *loop) keepsTooMuch(operations int) bool {
	limit := float64(l.body.Limit)
	return limit > 0 && l.kept() > 0.9*limit && l.n <= mostUnrolled && 2*perInstr*float64(l.n)*float64(operations) < limit && l.planned()
}

// mostUnrolled is how many steps are unrolled since they would keep too much.
const mostUnrolled = 1000

// The operations of a body are bounded, and more so where long loops in it ran step by
// step: these are better rolled themselves.
const (
	maxBody    = 1 << 16
	maxNest    = 4096
	mostForked = 1 << 24 // numbers of a body with forks, which runs in columns once
)

// A loopNode is a value of the body while code is made of it.
type loopNode struct {
	kind nodeKind
	op   *Op
	arg  [3]int32 // nodes
	n    int8
	ref  Ref     // a tensor: the instruction
	args []int32 // of a tensor's, all
	flat bool    // elementwise over one shape
	size int
	num  []float64 // number: what it is
	i    int32     // which carried number or tensor, constant, column or array
	e    int32     // which number of it, where tensors are split
	like int32     // the shape, of loads how wide they are, for equals
	put  loopPut   // load
	col  int32     // its column
	low  int32     // Tarjan's numbers
	seen int32
	on   bool
	done bool
}

type nodeKind uint8

const (
	nodeOp nodeKind = iota
	nodeNumber
	nodeConst
	nodeColumn
	nodeIndex
	nodeCarry
	nodeStill // what is carried and never changes
	nodeLoad
	nodeFixed // a load of the same element in every step
)

// loopMaker makes the code of a loop.
type loopMaker struct {
	l     *loop
	nodes []loopNode
	id    []int32     // by Ref
	table []int32     // of nodes by their keys, counted from 1
	carry []loopPlace // what nodes carry
	state []int32     // by carry: the node of what it becomes
	parts [][]int32   // by Ref: the nodes of a tensor's numbers, where tensors are split
	split bool
	whole bool // they cannot be
	apart bool
	code  *loopCode
	stack []int32
	tick  int32

	stages []loopStage // of the code so far
}

// A loopKey tells equal operations.
type loopKey struct {
	kind nodeKind
	op   *Op
	arg  [3]int32
	num  uint64
	like int32
}

// key is what n has in common with its equals.
func (n *loopNode) key() loopKey {
	k := loopKey{kind: n.kind, op: n.op, arg: n.arg, num: uint64(n.i) | uint64(n.e)<<32, like: n.like}
	if n.kind == nodeNumber {
		k.num = math.Float64bits(n.num[0])
	}
	return k
}

// hash mixes what tells most keys apart.
func (k *loopKey) hash() uint64 {
	const golden = 0x9e3779b97f4a7c15 // 2^64 by the golden ratio
	h := uint64(k.kind)
	if k.op != nil {
		h = hash(k.op.Name)
	}
	h = (h ^ k.num) * golden
	h = (h ^ h>>32 ^ uint64(k.arg[0])<<32 ^ uint64(k.arg[1])) * golden
	h = (h ^ h>>32 ^ uint64(k.arg[2])) * golden
	return h ^ h>>32
}

// find is the node of a key, or -1, and its place in the table. It is a hash table with open
// addressing, half empty: a map took 8 % of a gradient through 100 steps of a pendulum, asked anew.
func (m *loopMaker) find(key loopKey) (k int32, at uint64) {
	for at = key.hash(); ; at++ {
		at %= uint64(len(m.table))
		if k = m.table[at] - 1; k < 0 || m.nodes[k].key() == key {
			return k, at
		}
	}
}

// widen makes the table of at least four times as many places as there are nodes.
func (m *loopMaker) widen(nodes int) {
	old := m.table
	m.table = make([]int32, 64<<bits.Len(uint(nodes)/16))
	for _, k := range old {
		if k > 0 {
			_, at := m.find(m.nodes[k-1].key())
			m.table[at] = k
		}
	}
}

// compile makes the code; extra are wanted beside next, outs and adds. With apart false
// everything runs step by step.
func (l *loop) compile(apart bool, extra ...Ref) *loopCode {
	m, code := l.make(apart, extra...)
	m.done()
	return code
}

// loopMakers are kept from one loop to the next.
var loopMakers = sync.Pool{New: func() any { return new(loopMaker) }}

// done gives up m, whose code is made.
func (m *loopMaker) done() {
	clear(m.nodes)
	clear(m.stages)
	if len(m.table) > mostListed {
		m.table = nil
	}
	*m = loopMaker{nodes: m.nodes[:0], stages: m.stages[:0], id: m.id, carry: m.carry[:0], stack: m.stack[:0], table: m.table}
	loopMakers.Put(m)
}

// make makes the code of a loop, apart or step by step, that also computes what extra names.
func (l *loop) make(apart bool, extra ...Ref) (*loopMaker, *loopCode) {
	m := loopMakers.Get().(*loopMaker)
	m.l, m.code, m.apart = l, &loopCode{l: l}, apart
	t := l.body
	live := t.live(l.wanted(extra...))
	if m.split = apart && l.splits(live); m.split {
		m.record(live)
	}
	if m.split = m.split && !m.whole && len(m.nodes) <= mostSplit; !m.split {
		m.record(live)
	}
	m.become()
	m.emit(extra)
	return m, m.code
}

// record makes nodes of what is live.
func (m *loopMaker) record(live []bool) {
	t, l := m.l.body, m.l
	m.id, m.carry = grown(m.id, len(live)), m.carry[:0]
	m.parts = nil
	if m.split {
		m.parts = make([][]int32, len(live))
	}
	n := 0
	for i, on := range live {
		if m.id[i] = -1; on {
			n++
		}
	}
	m.nodes = grown(m.nodes, n+len(l.next))[:0]
	if clear(m.table); len(m.table) == 0 {
		m.widen(0)
	}
	for i, c := range l.carry {
		size, wide := t.size(c), m.wide(c)
		for e := 0; e < size; e += wide {
			m.carry = append(m.carry, loopPlace{of: i, at: e, wide: wide, size: size})
		}
	}
	place := func(rs []Ref, k nodeKind) {
		first := int32(0) // of the carried numbers
		for i, r := range rs {
			size, wide := t.size(r), m.wide(r)
			if int(r) < len(live) && live[r] {
				var ks []int32
				for e := 0; e < size; e += wide {
					n := loopNode{kind: k, i: int32(i), e: int32(e), size: wide}
					if k == nodeCarry {
						n.i, n.e = first+int32(e/wide), 0
					}
					ks = append(ks, m.node(n, 0))
				}
				m.is(r, ks)
			}
			first += int32(size / wide)
		}
	}
	place(l.carry, nodeCarry)
	place(l.consts, nodeConst)
	place(l.columns, nodeColumn)
	if l.index != None {
		place([]Ref{l.index}, nodeIndex)
	}
	for r, on := range live {
		if on && m.id[r] < 0 && !(m.split && m.whole) {
			m.recordOne(Ref(r))
		}
	}
}

// become finds what carried values become, each with a column of its own.
func (m *loopMaker) become() {
	m.state = make([]int32, 0, len(m.carry))
	owned := map[int32]bool{}
	for _, r := range m.l.next {
		for _, k := range m.of(r) {
			i := int32(len(m.state))
			if n := &m.nodes[k]; n.kind == nodeCarry && n.i == i && !owned[k] {
				n.kind = nodeStill
				m.state = append(m.state, k)
				continue
			}
			if kind := m.nodes[k].kind; kind != nodeOp && kind != nodeLoad || owned[k] {
				m.nodes = append(m.nodes, loopNode{op: opCopy, arg: [3]int32{k}, n: 1, flat: true, size: m.nodes[k].size})
				k = int32(len(m.nodes) - 1)
			}
			owned[k] = true
			m.state = append(m.state, k)
		}
	}
}

// has reports whether the code computes y, or numbers of it.
func (m *loopMaker) has(y Ref) bool {
	return m.id[y] >= 0 && slices.ContainsFunc(m.of(y), func(k int32) bool { return m.nodes[k].col >= 0 })
}

// at is the value of y in step i of a batch that has run: 0 for numbers of it that the code
// does not compute.
func (m *loopMaker) at(x *loopRun, y Ref, i int) []float64 {
	ks := m.of(y)
	if n := &m.nodes[ks[0]]; len(ks) == 1 {
		return x.mem[int(n.col)+i*n.size:][:n.size]
	}
	v := make([]float64, len(ks))
	for e, k := range ks {
		if col := m.nodes[k].col; col >= 0 {
			v[e] = x.mem[int(col)+i]
		}
	}
	return v
}

// node gives a value a number, the same one to equals.
func (m *loopMaker) node(n loopNode, like int32) int32 {
	n.like = like
	last := int32(len(m.nodes))
	if n.size > 1 && n.kind == nodeNumber || len(n.args) > 0 {
		m.nodes = append(m.nodes, n)
		return last
	}
	if 2*len(m.nodes) >= len(m.table) {
		m.widen(len(m.nodes))
	}
	k, at := m.find(n.key())
	if k < 0 {
		m.nodes = append(m.nodes, n)
		k, m.table[at] = last, last+1
	}
	return k
}

// recordOne makes the node of r, or the nodes of its numbers.
func (m *loopMaker) recordOne(r Ref) {
	t := m.l.body
	in := &t.ins[r]
	if t.known(r) {
		m.is(r, m.numbers(t.data(r), m.wide(r)))
		return
	}
	if slices.Contains(m.l.arrays, r) {
		return // loads name it
	}
	op, ok := t.bodyOp(r)
	if !ok || op == opSlot {
		panic("tape: a loop's body has " + in.Op().Name + ", which nothing fills")
	}
	args := t.Args(r)
	size := t.size(r)
	switch {
	case op == opLoad:
		m.load(r)
	case op == nil:
		m.is(r, m.of(args[0]))
		if in.dtype == t.ins[args[0]].dtype {
			return
		}
	case m.split && (size > 1 || !op.elementwise()):
		if ks := m.splitUp(r, op); ks != nil {
			m.is(r, ks)
		} else {
			m.whole = true
			return
		}
	case op.elementwise():
		n := loopNode{op: op, n: int8(len(args)), flat: true, size: size}
		for i, a := range args {
			n.arg[i] = m.id[a]
			n.flat = n.flat && (size == 1 || t.ins[a].shape == in.shape)
		}
		if !n.flat {
			m.general(&n, r)
		}
		m.id[r] = m.node(n, in.shape)
	default:
		n := loopNode{op: op, size: size}
		m.general(&n, r)
		m.id[r] = m.node(n, 0)
	}
	if in.dtype == tensor.Float32 {
		rounded := slices.Clone(m.of(r))
		for e, k := range rounded {
			rounded[e] = m.node(loopNode{op: opRound32, arg: [3]int32{k}, n: 1, flat: true, size: m.nodes[k].size}, in.shape)
		}
		m.is(r, rounded)
	}
}

// load makes the node of a load, or of each number of its row.
func (m *loopMaker) load(r Ref) {
	args := m.l.body.Args(r)
	array, s, size, wide := slices.Index(m.l.arrays, args[1]), m.l.body.Shape(args[1]), m.l.body.size(r), m.wide(r)
	var ks []int32
	for e := 0; e < size; e += wide {
		p := m.put(array, s[0], args[0], s[1:].Size(), e, wide)
		if p.fixed {
			ks = append(ks, m.node(loopNode{kind: nodeFixed, i: int32(array), e: int32(p.off*p.row + p.from), size: wide}, int32(wide)))
			continue
		}
		ks = append(ks, m.node(loopNode{kind: nodeLoad, i: int32(array), e: int32(e), arg: [3]int32{p.at}, n: 1, size: wide, put: p}, int32(wide)))
	}
	m.is(r, ks)
}

// general makes n run as the instruction r does.
func (m *loopMaker) general(n *loopNode, r Ref) {
	n.ref, n.n, n.arg, n.flat = r, 0, [3]int32{}, false
	for _, a := range m.l.body.Args(r) {
		n.args = append(n.args, m.id[a])
	}
}

// affine reports whether r of the body is the index plus a whole number.
func (l *loop) affine(r Ref) (off int, ok bool) {
	t := l.body
	in := &t.ins[r]
	switch op, ok := t.bodyOp(r); {
	case r == l.index:
		return 0, l.wholeIndex()
	case !ok || in.dtype == tensor.Float32: // which rounds
	case op == nil:
		return l.affine(in.args[0])
	case in.Op() == opAdd || in.Op() == opSub:
		x, y := in.args[0], in.args[1]
		if _, first := t.constant(x); in.Op() == opAdd && first {
			x, y = y, x
		}
		if c, whole := t.constant(y); whole && t.ins[y].shape == 0 && c == math.Trunc(c) && math.Abs(c) < 1<<40 {
			if off, ok = l.affine(x); ok {
				if in.Op() == opSub {
					c = -c
				}
				return off + int(c), true
			}
		}
	}
	return 0, false
}

// wholeIndex reports whether the index is a whole number in every step, and moves.
func (l *loop) wholeIndex() bool {
	whole := func(v float64) bool { return v == math.Trunc(v) && math.Abs(v) < 1<<40 }
	return whole(l.from) && whole(l.by) && l.by != 0
}

// put describes wide numbers, from one on, of the element at of array or sum i, which has n, or of those
// that come after it.
func (m *loopMaker) put(i, n int, at Ref, row, from, wide int) loopPut {
	p := loopPut{array: i, row: row, from: from, wide: wide, at: m.id[at]}
	if v, known := m.l.body.constant(at); known && v == math.Trunc(v) && v >= -float64(n) && v < float64(n) && n*row <= math.MaxInt32 {
		p.fixed, p.off = true, elementOf(n, v, 0)
	} else {
		p.off, p.affine = m.l.affine(at)
	}
	return p
}
