package tape

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// The code of a loop. What a step computes falls into two parts. An operation that its
// own result of the step before leads back to has to wait for it: such operations, one
// knot of carried values at a time, run step by step. Everything else — in the adjoint
// of a loop that is nearly everything — runs many steps at a time, in the kernels that
// work on whole tensors (loop distribution: Allen and Kennedy, Optimizing Compilers for
// Modern Architectures, chapter 2; the knots are strongly connected components).
//
// Small tensors are taken apart into their numbers (loop_split.go). Every value has a
// column of numbers, one for each step of a batch of steps. A carried value is the column
// of what it becomes, one step behind: nothing is moved.

// A loopCode is the code of one loop.
type loopCode struct {
	l      *loop
	batch  int // steps that run at a time
	size   int // numbers in all columns
	stages []loopStage
	ops    int // of a step

	index   int32       // column of the index; -1: none
	numbers []filled    // constants of the body
	next    []loopPlace // what carried values become
	still   []int32     // which of these never change
	consts  []loopPlace // the loop's constants that are read
	columns []loopPlace // the loop's columns that are read
	outs    []loopPlace
	adds    [][]loopPut // by sum
	apart   []bool      // by sum: its adds can run one after the other
	extra   []int32
}

// loopCodes is what is made of a loop that is an instruction: its code, when it is first
// wanted, with more machine code the longer the loop has run. Code that is in use never
// changes.
type loopCodes struct {
	mu    sync.Mutex // rows of a batch may run at once
	plain *loopCode
	fast  *loopCode
	steps int // that have begun,
	pays  int // and for how many fast was made

	known, planned bool           // whether the steps are planned
	idle           []*plannedStep // plans of them that nobody uses
}

// steps is a plan of l's steps that nobody else uses; nil where they have code.
func (l *loop) steps(limit int64) *plannedStep {
	c := l.codes
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		c.known, c.planned = true, l.planned()
	}
	if !c.planned {
		return nil
	}
	if n := len(c.idle); n > 0 {
		s := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return s
	}
	return l.plan(limit, None)
}

// give takes a plan back.
func (c *loopCodes) give(s *plannedStep) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, s)
}

// code is the code for so many steps more.
func (l *loop) code(steps int) *loopCode {
	c := l.codes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plain == nil {
		c.plain = l.compile(true)
		c.fast = c.plain
	}
	return c.after(steps)
}

func codesOf(c *loopCode) *loopCodes { return &loopCodes{plain: c, fast: c} }

// after is the code for so many steps more.
func (c *loopCodes) after(steps int) *loopCode {
	if c.steps += steps; c.steps >= 2*c.pays {
		c.pays = c.steps
		c.fast = c.plain.hastened(c.steps)
	}
	return c.fast
}

type filled struct {
	col int32
	v   []float64
}

// A loopPlace is the column of a value that comes from outside the loop or leaves it, or of
// one number of it: wide numbers in each step, from the at-th on, out of size.
type loopPlace struct {
	col            int32
	of             int // which carried value, constant, column or out
	at, wide, size int
}

// part are the numbers of the place in a value.
func (p *loopPlace) part(v []float64) []float64 { return v[p.at : p.at+p.wide] }

// A loopStage is one operation on columns, or a knot of operations step by step.
type loopStage struct {
	op       *Op
	dst, alt int32 // alt: the column of the twin
	arg      [3]int32
	size     int // of the result
	twin     func(y, d, x []float64)
	load     *loopPut
	knot     []loopOp
	names    []string // of its operations
	general  *loopGeneral
	machine  *kernels.Machine // of the knot,
	calls    []kernels.Call   // or of several operations on columns; dst is where their table begins
}

// A loopGeneral is an operation on tensors other than elementwise on tensors of one
// shape: it runs as on a tape.
type loopGeneral struct {
	r     Ref
	args  []int32
	sizes []int
	near  bool // elementwise, and what is not of the result's shape is one number
}

// A loopPut is an element of an array, or a row of several numbers, or wide numbers of a
// row, at every step: index + off of the loop when affine, else what stands in the column at.
type loopPut struct {
	array  int
	row    int
	from   int // the first of the row's numbers
	wide   int
	value  int32
	at     int32
	affine bool
	off    int
}

// A loopOp is one operation of a knot.
type loopOp struct {
	kind         loopKind
	dst, a, b, c int32
	array        int32
	stage        *loopStage // loopTensor: what runs
	op           *Op        // what f1, f2 or f3 is of
	f1           func(x float64) float64
	f2           func(x, y float64) float64
	f3           func(x, y, z float64) float64
}

type loopKind uint8

const (
	loopCall1 loopKind = iota
	loopCall2
	loopCall3
	loopAdd
	loopSub
	loopMul
	loopZMul
	loopDiv
	loopNeg
	loopSquare
	loopWhere
	loopCopy
	loopLoad
	loopTensor
)

// knotKind says how a knot carries out op, of n arguments: most without a call.
func knotKind(op *Op, n int8) loopKind {
	switch op {
	case opAdd:
		return loopAdd
	case opSub:
		return loopSub
	case opMul:
		return loopMul
	case opZMul:
		return loopZMul
	case opDiv, opQuotient:
		return loopDiv
	case opNeg:
		return loopNeg
	case opSquare:
		return loopSquare
	case opWhere, opChoose, opGate:
		return loopWhere
	case opCopy:
		return loopCopy
	}
	return loopKind(n - 1)
}

// opRound32 and opCopy are what a loop does where a program has no operation.
var (
	opRound32 = &Op{Name: "float32", Args: "x", Kernel: unary(&kernels.Float32, kernels.Float32Of)}
	opCopy    = &Op{Name: "copy", Args: "x", Kernel: unary(&kernels.Copy, kernels.CopyOf)}
)

// bodyOp is the operation that computes r in a loop: nil for a name of its argument;
// false when a loop cannot have it.
func (t *Tape) bodyOp(r Ref) (*Op, bool) {
	in := &t.ins[r]
	if in.batch != 0 || t.size(r) == 0 {
		return nil, false
	}
	switch in.Op {
	case opSlot, opLoad:
		return in.Op, true
	case opAlias, opStop, opWithGrad, opStopGradient:
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
	if in.Op.elementwise() {
		return in.Op, in.Op.f1 != nil || in.Op.f2 != nil || in.Op.f3 != nil
	}
	return in.Op, in.Op.Run != nil
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

// keepsTooMuch reports whether a loop of so many elementwise operations would not fit if its
// way back were asked for, and may do so unrolled: fused with the way back, steps keep nothing.
func (l *loop) keepsTooMuch(operations int) bool {
	body, kept := l.body, 0.0
	for _, c := range l.carry {
		if body.Active(c) {
			kept += 8 * float64(l.n) * float64(body.size(c))
		}
	}
	limit := float64(body.Limit)
	return limit > 0 && kept > 0.9*limit && 2*perInstr*float64(l.n)*float64(operations) < limit && l.planned()
}

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
)

// loopMaker makes the code of a loop.
type loopMaker struct {
	l     *loop
	nodes []loopNode
	id    []int32 // by Ref
	seen  map[loopKey]int32
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
	kind  nodeKind
	op    *Op
	arg   [3]int32
	num   uint64
	shape int32
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
	*m = loopMaker{nodes: m.nodes[:0], stages: m.stages[:0], id: m.id, carry: m.carry[:0], stack: m.stack[:0], seen: emptied(m.seen)}
	loopMakers.Put(m)
}

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
	if m.seen == nil {
		m.seen = make(map[loopKey]int32, n)
	}
	clear(m.seen)
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
func (m *loopMaker) node(n loopNode, shape int32) int32 {
	key := loopKey{kind: n.kind, op: n.op, arg: n.arg, num: uint64(n.i) | uint64(n.e)<<32, shape: shape}
	if n.kind == nodeNumber {
		key.num = math.Float64bits(n.num[0])
	}
	if n.size > 1 && n.kind == nodeNumber || len(n.args) > 0 {
		m.nodes = append(m.nodes, n)
		return int32(len(m.nodes) - 1)
	}
	if k, ok := m.seen[key]; ok {
		return k
	}
	m.nodes = append(m.nodes, n)
	m.seen[key] = int32(len(m.nodes) - 1)
	return m.seen[key]
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
		panic("tape: a loop's body has " + in.Op.Name + ", which nothing fills")
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
	array, size, wide := slices.Index(m.l.arrays, args[1]), m.l.body.size(r), m.wide(r)
	var ks []int32
	for e := 0; e < size; e += wide {
		p := m.put(array, args[0], size, e, wide)
		ks = append(ks, m.node(loopNode{kind: nodeLoad, i: int32(array), e: int32(e), arg: [3]int32{p.at}, n: 1, size: wide, put: p}, 0))
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
	case in.Op == opAdd || in.Op == opSub:
		x, y := in.args[0], in.args[1]
		if _, first := t.constant(x); in.Op == opAdd && first {
			x, y = y, x
		}
		if c, whole := t.constant(y); whole && t.ins[y].shape == 0 && c == math.Trunc(c) && math.Abs(c) < 1<<40 {
			if off, ok = l.affine(x); ok {
				if in.Op == opSub {
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

// put describes wide numbers, from one on, of the element at of array or sum i.
func (m *loopMaker) put(i int, at Ref, row, from, wide int) loopPut {
	off, ok := m.l.affine(at)
	return loopPut{array: i, row: row, from: from, wide: wide, at: m.id[at], affine: ok, off: off}
}

// emit puts the nodes that are needed in order, and gives them columns.
func (m *loopMaker) emit(extra []Ref) {
	c := m.code
	m.putLoads()
	roots := m.roots(extra)
	if m.apart {
		for _, r := range roots {
			m.visit(r)
		}
	} else {
		m.together(roots)
	}
	c.stages = slices.Clone(m.stages)
	m.columns()
	m.placeStages()
	m.placeResults(extra)
	for i := range c.adds {
		c.apart = append(c.apart, m.placeAdds(c.adds[i]))
	}
}

// putLoads describes what loads take: those whose element moves with the index wait for
// nothing, unless everything is to run step by step.
func (m *loopMaker) putLoads() {
	for i := range m.nodes {
		n := &m.nodes[i]
		n.seen, n.col = -1, -1
		if n.kind == nodeLoad {
			if n.put.affine = n.put.affine && m.apart; n.put.affine {
				n.n = 0
			}
		}
	}
}

// roots are the nodes that something outside of a step wants; what is added to sums is
// described.
func (m *loopMaker) roots(extra []Ref) []int32 {
	l, c := m.l, m.code
	roots := slices.Clone(m.state)
	for _, r := range slices.Concat(l.outs, extra) {
		roots = append(roots, m.of(r)...)
	}
	c.adds = make([][]loopPut, len(l.sums))
	for _, a := range l.adds {
		row, wide := l.body.size(a.value), m.wide(a.value)
		for e, k := range m.of(a.value) {
			p := m.put(a.sum, a.at, row, e*wide, wide)
			p.value = k
			if roots = append(roots, p.value); !p.affine {
				roots = append(roots, p.at)
			}
			c.adds[a.sum] = append(c.adds[a.sum], p)
		}
	}
	return roots
}

// columns gives every node its column, and lists those that come from outside.
func (m *loopMaker) columns() {
	l, c := m.l, m.code
	total := 1
	for i := range m.nodes {
		if n := &m.nodes[i]; n.done && n.kind != nodeCarry {
			total += n.size
		}
	}
	c.batch = min(max(loopColumns/total&^7, min(64, mostColumns/total), 1), tileSize, max(l.n, 1))
	for i := range m.nodes {
		if n := &m.nodes[i]; n.done && n.kind != nodeCarry {
			c.size += (n.size + 7) &^ 7 // the step before, and room between columns
			n.col = int32(c.size)
			c.size += c.batch * n.size
		}
	}
	c.index = -1
	for i := range m.nodes {
		n := &m.nodes[i]
		if !n.done {
			continue
		}
		switch n.kind {
		case nodeCarry:
			n.col = m.nodes[m.state[n.i]].col - int32(n.size)
		case nodeStill:
			c.still = append(c.still, n.i)
		case nodeNumber:
			c.numbers = append(c.numbers, filled{n.col, n.num})
		case nodeConst:
			c.consts = append(c.consts, n.place(l.body.size(l.consts[n.i])))
		case nodeColumn:
			c.columns = append(c.columns, n.place(l.body.size(l.columns[n.i])))
		case nodeIndex:
			c.index = n.col
		}
	}
}

// col turns a node into its column.
func (m *loopMaker) col(k *int32) { *k = m.nodes[*k].col }

// placeStages tells the stages their columns.
func (m *loopMaker) placeStages() {
	c := m.code
	for i := range c.stages {
		if c.stages[i].knot == nil {
			m.placeStage(&c.stages[i])
			continue
		}
		for k := range c.stages[i].knot {
			o := &c.stages[i].knot[k]
			if o.stage != nil {
				m.placeStage(o.stage)
				continue
			}
			n := &m.nodes[o.dst]
			m.col(&o.dst)
			for j, p := range []*int32{&o.a, &o.b, &o.c}[:n.n] {
				*p = m.nodes[n.arg[j]].col
			}
			c.ops++
		}
	}
}

func (m *loopMaker) placeStage(s *loopStage) {
	n := &m.nodes[s.dst]
	m.col(&s.dst)
	if s.twin != nil {
		m.col(&s.alt)
	}
	for k := range n.n {
		s.arg[k] = m.nodes[n.arg[k]].col
	}
	if s.load != nil && !s.load.affine {
		m.col(&s.load.at)
	}
	if s.general != nil {
		for _, a := range n.args {
			s.general.args = append(s.general.args, m.nodes[a].col)
			s.general.sizes = append(s.general.sizes, m.nodes[a].size)
		}
	}
	m.code.ops += n.size
}

// placeResults lists the columns of what leaves the loop.
func (m *loopMaker) placeResults(extra []Ref) {
	l, c := m.l, m.code
	c.next = slices.Clone(m.carry)
	for i, k := range m.state {
		c.next[i].col = m.nodes[k].col
	}
	for i, r := range l.outs {
		wide := m.wide(r)
		for e, k := range m.of(r) {
			c.outs = append(c.outs, loopPlace{col: m.nodes[k].col, of: i, at: e * wide, wide: wide, size: l.body.size(r)})
		}
	}
	for _, r := range extra {
		c.extra = append(c.extra, m.nodes[m.id[r]].col)
	}
}

// placeAdds tells the addends of one sum their columns, and whether they can be added one
// after the other, each for all steps. An element takes what comes to it in the order of
// the steps: first from where the loop comes to it first.
func (m *loopMaker) placeAdds(ps []loopPut) (apart bool) {
	apart = true
	for k := range ps {
		m.col(&ps[k].value)
		if !ps[k].affine {
			m.col(&ps[k].at)
			apart = false
		}
	}
	if !apart {
		return false
	}
	forward := m.l.by > 0 != m.l.back
	slices.SortStableFunc(ps, func(a, b loopPut) int {
		if forward {
			return b.off - a.off
		}
		return a.off - b.off
	})
	return true
}

// place is the column of a constant or a column of so many numbers.
func (n *loopNode) place(size int) loopPlace {
	return loopPlace{col: n.col, of: int(n.i), at: int(n.e), wide: n.size, size: size}
}

// loopColumns is how many numbers the columns of a loop have together, so that they
// stay near; but as many as 64 steps at a time are worth more than that, if they stay in L2.
const (
	loopColumns = 6 << 10
	mostColumns = 1 << 17
)

// deps are the nodes that node k waits for.
func (m *loopMaker) deps(k int32) []int32 {
	n := &m.nodes[k]
	if n.kind == nodeCarry {
		return m.state[n.i : n.i+1]
	}
	if n.args != nil {
		return n.args
	}
	return n.arg[:n.n]
}

// visit is Tarjan's search for strongly connected components, which come out after
// those that they depend on.
func (m *loopMaker) visit(k int32) {
	if m.nodes[k].seen >= 0 {
		return
	}
	m.nodes[k].seen, m.nodes[k].low, m.nodes[k].on = m.tick, m.tick, true
	m.tick++
	m.stack = append(m.stack, k)
	for _, a := range m.deps(k) {
		if m.nodes[a].seen < 0 {
			m.visit(a)
			m.nodes[k].low = min(m.nodes[k].low, m.nodes[a].low)
		} else if m.nodes[a].on {
			m.nodes[k].low = min(m.nodes[k].low, m.nodes[a].seen)
		}
	}
	if m.nodes[k].low != m.nodes[k].seen {
		return
	}
	at := len(m.stack) - 1
	for m.stack[at] != k { // from the top: a long body has a deep stack
		at--
	}
	group := slices.Clone(m.stack[at:])
	m.stack = m.stack[:at]
	for _, g := range group {
		m.nodes[g].on = false
	}
	if len(group) > 1 {
		m.knot(group)
	} else if !m.nodes[k].done {
		m.nodes[k].done = true
		m.column(k)
	}
}

// column emits one operation on columns.
func (m *loopMaker) column(k int32) {
	n := &m.nodes[k]
	if n.kind != nodeOp && n.kind != nodeLoad {
		return
	}
	s := m.stage(k)
	if n.kind == nodeOp && n.flat && n.size == 1 && n.op.Twin.both != nil {
		w := &n.op.Twin
		other, ok := m.seen[loopKey{op: table.find(w.with), arg: n.arg}]
		if ok && m.nodes[other].seen < 0 {
			m.nodes[other].seen, m.nodes[other].done = m.tick, true
			s.twin, s.alt = *w.both, other
			if !w.first {
				s.dst, s.alt = other, k
			}
		}
	}
	m.stages = append(m.stages, s)
}

// stage is node k as an operation on columns.
func (m *loopMaker) stage(k int32) loopStage {
	n := &m.nodes[k]
	s := loopStage{op: n.op, dst: k, size: n.size}
	switch {
	case n.kind == nodeLoad:
		p := n.put
		s.load = &p
	case !n.flat:
		t := m.l.body
		s.general = &loopGeneral{r: n.ref, near: n.op.elementwise()}
		for _, a := range t.Args(n.ref) {
			s.general.near = s.general.near && (t.ins[a].shape == t.ins[n.ref].shape || t.size(a) == 1)
		}
	}
	return s
}

// knot emits operations that run step by step, in the order of the body.
func (m *loopMaker) knot(group []int32) {
	slices.Sort(group)
	ops := make([]loopOp, 0, len(group))
	names := make([]string, 0, len(group))
	for _, k := range group {
		n := &m.nodes[k]
		n.done = true
		switch {
		case n.kind == nodeLoad:
			names = append(names, "load")
		case n.kind == nodeOp:
			names = append(names, n.op.Name)
		}
		switch {
		case n.kind == nodeOp && (!n.flat || n.size > 1), n.kind == nodeLoad && n.put.row > 1:
			s := m.stage(k)
			ops = append(ops, loopOp{kind: loopTensor, stage: &s})
		case n.kind == nodeOp:
			ops = append(ops, loopOp{kind: knotKind(n.op, n.n), dst: k, op: n.op, f1: n.op.f1, f2: n.op.f2, f3: n.op.f3})
		case n.kind == nodeLoad:
			ops = append(ops, loopOp{kind: loopLoad, dst: k, array: n.i})
		}
	}
	m.stages = append(m.stages, loopStage{knot: ops, names: names})
}

// together makes one knot of everything.
func (m *loopMaker) together(roots []int32) {
	var group []int32
	todo := slices.Clone(roots)
	for len(todo) > 0 {
		k := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if m.nodes[k].on {
			continue
		}
		m.nodes[k].on = true
		group = append(group, k)
		todo = append(todo, m.deps(k)...)
	}
	m.knot(group)
}

// String writes the loop for people: its steps, and its code, each stage in brackets.
// What runs step by step begins with a *.
func (l *loop) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%d steps", l.n)
	if l.back {
		b.WriteString(" back")
	}
	if l.planned() {
		return b.String() + "; planned]"
	}
	c := l.compile(true)
	for i := range c.stages {
		s := &c.stages[i]
		switch {
		case s.knot != nil:
			b.WriteString("; * " + strings.Join(s.names, " "))
		case s.load != nil:
			b.WriteString("; load")
		case s.twin != nil:
			b.WriteString("; " + s.op.Name + " and " + s.op.Twin.with)
		default:
			b.WriteString("; " + s.op.Name)
		}
	}
	return b.String() + "]"
}
