package tape

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// A chain is instructions over common rows: the layers of a network at each example of a
// batch, forward and back, with all seeds of a Jacobian. A row is one index of an axis of
// every value in it, and each row of a result needs the same row of the arguments alone, and
// of others, such as weights, the whole. So some rows are carried through all of the chain,
// then the next: what they need in between, a strip, stays in the cache of one core.
//
// Where an axis of size R is cut, a value lies in memory as outer × R × unit numbers.
type chain struct {
	refs []Ref // ascending
	rows int
	cut  map[Ref]int // the axis of its memory along which each of refs is cut

	parts  int
	strips []*strip // of the sizes that occur: at most two
	packed []packedRight
	peak   int64 // bytes of one strip
	seeds  bool  // the rows are the points of a batch axis

	numbers sync.Mutex // held to set the single numbers that strips read
}

// A strip is the chain for a number of rows: a tape and a plan of its own, whose leaves are
// rows of what the chain reads.
type strip struct {
	n     int
	plan  *Plan
	nums  []stripEnd  // single numbers that are read
	ins   []stripEnd  // other values that are read
	outs  []stripEnd  // what is read outside the chain
	right map[Ref]int // the product of the strip's tape: its right operand in packed
}

// A stripEnd is a value of the plan, and what it is in a strip.
type stripEnd struct {
	r, at       Ref
	outer, unit int // 0: whole
	kept        bool
}

// A packedRight is a right operand that all strips multiply by, and how.
type packedRight struct {
	r      Ref
	ld     int
	turned bool
	k, n   int
}

// stripBytes is what a strip may take of a core's cache beside the weights.
var stripBytes int64 = 640 << 10

// weightBytes is how much of right operands stays in a core's cache. Where more is read for
// every strip the chain must save more than that: a network with weights of 3 MB at a batch
// of 512 took 26.7 and 29.0 ms as a chain, 26.0 and 26.4 without (two pairs on a busy machine).
var weightBytes int64 = 1 << 20

// chainBytes is how many bytes a chain must keep from going through memory to be one.
var chainBytes int64 = 4 << 20

// leastStrip is how many rows a strip should have: fewer do not fill a product's registers.
// The last ones have half as many or more, and never one, which would be a single number.
var leastStrip = 8

// passChain finds the chains, around products of many rows.
func passChain(p *Plan) {
	f := p.spaces()
	for f != nil && f.rows != nil {
		chains, again := f.chains()
		if !again {
			p.set(f.phase, chains)
			return
		}
	}
}

// spaces cuts what it can along the rows of large products; nil without such.
func (p *Plan) spaces() *flood {
	t := p.t
	if t.isStrip {
		return nil
	}
	var f *flood
	for _, r := range p.order {
		if t.ins[r].Op != opMatmul || 8*int64(t.size(r)) < chainBytes/4 {
			continue
		}
		if f == nil {
			f = newFlood(p)
		}
		if f.space[r] != 0 {
			continue
		}
		var best map[Ref]int
		var most int64
		rows := 0
		for axis, n := range t.physical(r) {
			if n < 2*leastStrip {
				continue
			}
			at := f.from(r, axis)
			if n := f.bytes(at); n > most {
				best, most, rows = at, n, t.physical(r)[axis]
			}
		}
		if most < chainBytes {
			continue
		}
		f.rows = append(f.rows, rows)
		for r, axis := range best {
			f.space[r], f.cut[r] = int32(len(f.rows)), axis
		}
	}
	return f
}

// set notes the chains in the plan; there may be none.
func (p *Plan) set(phase []int32, chains []*chain) {
	if len(chains) == 0 {
		return
	}
	p.phase, p.chains, p.chain = phase, chains, make([]int32, len(p.live))
	for i, c := range chains {
		for _, r := range c.refs {
			p.chain[r] = int32(i + 1)
		}
	}
}

// A flood spreads a cut from a product over all that can be cut with it.
type flood struct {
	p     *Plan
	users map[Ref][]Ref
	open  []bool  // by Ref: it runs, and has more than one element
	space []int32 // by Ref: its place in rows, from 1; 0 for what is in no chain
	cut   map[Ref]int
	phase []int32
	rows  []int // of each space
}

func newFlood(p *Plan) *flood {
	f := &flood{p: p, users: map[Ref][]Ref{}, open: make([]bool, len(p.live)), space: make([]int32, len(p.live)), cut: map[Ref]int{}}
	for _, r := range p.order {
		f.open[r] = !p.t.single(r) && p.t.size(r) > 0
		for _, a := range p.t.Args(r) {
			if a = p.same[a]; !p.t.known(a) && !slices.Contains(f.users[a], r) {
				f.users[a] = append(f.users[a], r)
			}
		}
	}
	return f
}

// from is what can be cut where the axis of r is, and along which axis of its own.
func (f *flood) from(r Ref, axis int) map[Ref]int {
	p, t := f.p, f.p.t
	rows := t.physical(r)[axis]
	at := map[Ref]int{}
	var queue []Ref
	try := func(r Ref, axis int) bool {
		if f.fits(at, r, axis, rows) {
			at[r] = axis
			queue = append(queue, r)
			return true
		}
		return false
	}
	try(r, axis)
	for len(queue) > 0 {
		r := queue[0]
		queue = queue[1:]
		q, _ := t.cutsOf(r, at[r], rows)
		for i, a := range t.Args(r) {
			if a = p.same[a]; q[i] >= 0 {
				try(a, q[i])
			}
		}
		for _, u := range f.users[r] {
			for axis := range t.physical(u) {
				q, ok := t.cutsOf(u, axis, rows)
				if !ok {
					continue
				}
				mine := false
				for i, a := range t.Args(u) {
					mine = mine || p.same[a] == r && q[i] == at[r]
				}
				if mine && try(u, axis) {
					break
				}
			}
		}
	}
	return at
}

// fits reports whether r can be cut along the axis, beside what is cut already.
func (f *flood) fits(at map[Ref]int, r Ref, axis, rows int) bool {
	p, t := f.p, f.p.t
	if _, done := at[r]; done || !f.open[r] || f.space[r] != 0 || t.physical(r)[axis]%rows != 0 {
		return false
	}
	agree := func(u Ref, axis int, a Ref, want func(q int) bool) bool {
		q, ok := t.cutsOf(u, axis, rows)
		for i, b := range t.Args(u) {
			ok = ok && (a != None && p.same[b] != a || want(q[i]))
		}
		return ok
	}
	q, ok := t.cutsOf(r, axis, rows)
	for i, a := range t.Args(r) {
		if c, in := at[p.same[a]]; ok && (in && c != q[i] || q[i] >= 0 && t.size(a) == 0) {
			return false
		}
	}
	if !ok {
		return false
	}
	for _, u := range f.users[r] {
		if c, in := at[u]; in && !agree(u, c, r, func(q int) bool { return q == axis }) {
			return false
		}
	}
	return true
}

// bytes is how much of what a cut reaches need not go through memory.
func (f *flood) bytes(at map[Ref]int) (n int64) {
	for r := range at {
		if f.inside(r, func(u Ref) bool { _, in := at[u]; return in }) {
			n += 8 * int64(f.p.t.size(r))
		}
	}
	return n
}

// inside reports whether r is read by such as are in alone. A reshaped value is where its
// argument is.
func (f *flood) inside(r Ref, in func(u Ref) bool) bool {
	if f.p.t.ins[r].Op == opReshape {
		return false
	}
	for _, o := range f.p.outs {
		if o != None && f.p.same[o] == r {
			return false
		}
	}
	for _, u := range f.users[r] {
		if !in(u) {
			return false
		}
	}
	return true
}

// chains makes a chain of what is cut alike, and takes what does not pay, or cannot be, out
// of f; then it has to be called again. What a chain reads runs before it and what reads it
// after it: the phase of an instruction counts the chains that must be through before it.
func (f *flood) chains() (chains []*chain, again bool) {
	p, t := f.p, f.p.t
	f.phase = make([]int32, len(p.live))
	type key struct{ space, phase int32 }
	at := map[key]*chain{}
	for _, r := range p.order {
		for _, a := range t.Args(r) {
			a = p.same[a]
			n := f.phase[a]
			if f.space[a] != 0 && f.space[a] != f.space[r] {
				n++
			}
			f.phase[r] = max(f.phase[r], n)
		}
		if f.space[r] == 0 {
			continue
		}
		k := key{f.space[r], f.phase[r]}
		c := at[k]
		if c == nil {
			c = &chain{rows: f.rows[f.space[r]-1], cut: map[Ref]int{}}
			at[k] = c
			chains = append(chains, c)
		}
		c.refs = append(c.refs, r)
		c.cut[r] = f.cut[r]
	}
	for _, c := range chains {
		if !f.build(c) {
			for _, r := range c.refs {
				f.space[r] = 0
			}
			again = true
		}
	}
	return chains, again
}

// build cuts a chain into strips; false when it does not pay, or cannot be.
func (f *flood) build(c *chain) bool {
	p, t := f.p, f.p.t
	member := func(u Ref) bool { _, in := c.cut[u]; return in }
	var saved int64
	product := false
	outs := map[Ref]bool{}
	for _, r := range c.refs {
		product = product || t.ins[r].Op == opMatmul
		if f.inside(r, member) {
			saved += 8 * int64(t.size(r))
			continue
		}
		outs[r] = t.ins[r].Op != opReshape
		for _, o := range p.outs {
			outs[r] = outs[r] || o != None && p.same[o] == r
		}
		for _, u := range f.users[r] {
			outs[r] = outs[r] || !member(u)
		}
	}
	if saved < chainBytes || !product {
		return false
	}
	few := c.strip(p, leastStrip, outs)
	if few == nil {
		return false
	}
	perRow := few.plan.peak / int64(leastStrip)
	n := min(c.rows, int(stripBytes/max(1, perRow)))
	if n < leastStrip {
		return false
	}
	n &^= leastStrip - 1
	c.parts = (c.rows + n - 1) / n
	if c.parts < 2 {
		return false
	}
	c.strips = append(c.strips, c.strip(p, (c.rows+c.parts-1)/c.parts, outs))
	if c.rows%c.parts != 0 {
		c.strips = append(c.strips, c.strip(p, c.rows/c.parts, outs))
	}
	c.peak = c.strips[0].plan.peak
	c.rights()
	return c.weights()*int64(c.parts) <= saved || c.weights() <= weightBytes
}

// weights is how many bytes of right operands every strip reads.
func (c *chain) weights() (n int64) {
	for _, o := range c.packed {
		n += 8 * int64(o.k) * int64(o.n)
	}
	return n
}

// rows is the range of rows of part k, and its strip.
func (c *chain) part(k int) (s *strip, from int) {
	small := c.rows / c.parts
	large := c.rows % c.parts // so many parts have a row more
	if k < large {
		return c.strips[0], k * (small + 1)
	}
	return c.strips[len(c.strips)-1], large*(small+1) + (k-large)*small
}

// strip makes the chain for n rows; nil when it cannot be.
func (c *chain) strip(p *Plan, n int, outs map[Ref]bool) *strip {
	t := p.t
	sub := New()
	sub.isStrip, sub.Threads, sub.DType = true, 1, t.DType
	sub.check = func() {
		if t.check != nil {
			t.check()
		}
	}
	sub.axes, sub.sets = slices.Clone(t.axes), t.sets
	s := &strip{n: n}
	batch := -1 // the batch axis that is cut
	for _, r := range c.refs {
		if axes := t.Axes(r); c.cut[r] < len(axes) {
			batch = int(axes[c.cut[r]])
		}
	}
	if c.seeds = batch >= 0; c.seeds {
		sub.axes[batch] = n
	}
	type cutting struct {
		r    Ref
		axis int // -1: whole
	}
	in := map[cutting]Ref{}
	ok := true
	push := func(x cutting, i Instr) Ref {
		shape := t.Shape(x.r)
		for k, a := range t.Axes(x.r) { // the batch axis is cut in all values or in none
			ok = ok && (int(a) == batch) == (k == x.axis)
		}
		if k := x.axis - len(t.Axes(x.r)); x.axis >= 0 && k >= 0 {
			shape = slices.Clone(shape)
			shape[k] = shape[k] / c.rows * n
		}
		i.shape = sub.shapeID(shape)
		if i.attr != 0 {
			i.attr = sub.newAttr(*t.Attr(x.r))
		}
		sub.ins = append(sub.ins, i)
		in[x] = Ref(len(sub.ins) - 1)
		return in[x]
	}
	end := func(x cutting, at Ref) stripEnd {
		e := stripEnd{r: x.r, at: at}
		if x.axis >= 0 {
			d := t.physical(x.r)
			e.outer = d[:x.axis].Size()
			e.unit = d.Size() / e.outer / c.rows
		}
		return e
	}
	var leaf func(x cutting) Ref
	leaf = func(x cutting) Ref {
		if at, ok := in[x]; ok {
			return at
		}
		i := t.ins[x.r]
		i.flags |= flagKnown
		if _, unit := t.unitLike(x.r); unit && x.axis < 0 { // products by it look at what it is
			for k, a := range t.Args(x.r) {
				i.args[k] = leaf(cutting{p.same[a], -1})
			}
		} else if i.Op != opConst || x.axis >= 0 {
			i.Op, i.attr, i.n = opInput, 0, 0
		}
		if !t.known(x.r) {
			i.flags |= flagGiven
		}
		at := push(x, i)
		if t.single(x.r) {
			s.nums = append(s.nums, stripEnd{r: x.r, at: at})
			if t.known(x.r) {
				sub.setNum(at, t.num[x.r])
			}
		} else {
			s.ins = append(s.ins, end(x, at))
		}
		return at
	}
	var want []Ref
	for _, r := range c.refs {
		q, _ := t.cutsOf(r, c.cut[r], c.rows)
		args := make([]Ref, len(q))
		for k, a := range t.Args(r) {
			a = p.same[a]
			if _, member := c.cut[a]; member {
				args[k] = in[cutting{a, q[k]}]
			} else {
				args[k] = leaf(cutting{a, q[k]})
			}
		}
		i := t.ins[r]
		if i.n > 3 {
			i.args[0] = Ref(len(sub.more))
			sub.more = append(sub.more, args...)
		} else {
			copy(i.args[:], args)
		}
		x := cutting{r, c.cut[r]}
		at := push(x, i)
		if outs[r] {
			e := end(x, at)
			for _, o := range p.outs {
				e.kept = e.kept || o != None && p.same[o] == r
			}
			s.outs, want = append(s.outs, e), append(want, at)
		}
		if i.Op == opMatmul && !sameUnits(t, r, sub, at) {
			return nil
		}
	}
	if !ok {
		return nil
	}
	sub.num = append(sub.num, make([]float64, max(0, len(sub.ins)-len(sub.num)))...)
	s.plan = sub.plan(want)
	for _, e := range s.ins {
		if int(e.at) >= len(s.plan.slot) {
			return nil
		}
		s.plan.slot[e.at] = int32(s.plan.slots)
		s.plan.view = append(s.plan.view, e.outer <= 1)
		s.plan.slots++
	}
	return s
}

// sameUnits reports whether the product r takes the same short cut in a strip, where it is
// at: a short cut leaves zeros out of sums, so that what meets them need not be finite.
func sameUnits(t *Tape, r Ref, sub *Tape, at Ref) bool {
	for i, a := range t.Args(r) {
		b := sub.Args(at)[i]
		for _, of := range []func(t *Tape, r Ref) (int, bool){(*Tape).unitLike, (*Tape).unitColumn} {
			o1, ok1 := of(t, a)
			o2, ok2 := of(sub, b)
			if ok1 != ok2 || o1 != o2 {
				return false
			}
		}
	}
	return true
}

// rights lists the right operands that are worth packing once for all strips.
func (c *chain) rights() {
	for k, s := range c.strips {
		s.right = map[Ref]int{}
		sub := s.plan.t
		n := 0
		for _, r := range s.plan.order {
			in := &sub.ins[r]
			if in.Op != opMatmul || in.dtype != tensor.Float64 || sub.Attr(r).Flag {
				continue
			}
			x, y := sub.Args(r)[0], sub.Args(r)[1]
			i := slices.IndexFunc(s.ins, func(e stripEnd) bool { return e.at == y })
			xs, ys := sub.Shape(x), sub.Shape(y)
			if i < 0 || s.ins[i].outer > 0 || sub.ins[y].batch != 0 || len(ys) != 2 || sub.ins[x].batch != in.batch || len(xs) != len(sub.Shape(r)) || !lead(xs).Equal(lead(sub.Shape(r))) {
				continue
			}
			if _, unit := sub.unitLike(x); unit {
				continue
			}
			m := matmulAs(xs, ys, false, sub.Attr(r).Flag2)
			if m.k == 0 {
				continue
			}
			if s.right[r] = n; k == 0 {
				c.packed = append(c.packed, packedRight{r: s.ins[i].r, ld: m.ldb, turned: m.tb, k: m.k, n: m.n})
			}
			n++
		}
	}
}

// cutsOf tells along which axis of its memory each argument of r is cut where r is cut along
// axis p of its own, of size rows or a multiple: -1 where it is read whole. It is not ok where
// rows of r need more than their own rows of such arguments.
func (t *Tape) cutsOf(r Ref, p, rows int) (q []int, ok bool) {
	in := &t.ins[r]
	args, s, front := t.Args(r), t.Shape(r), len(t.Axes(r))
	all := func(cut func(a Ref) int) ([]int, bool) {
		for _, a := range args {
			q = append(q, cut(a))
		}
		return q, true
	}
	// the axis of a that is broadcast to axis p
	same := func(a Ref) int {
		as, k := t.Shape(a), front+len(s)-p
		switch {
		case p < front:
			return slices.Index(t.Axes(a), t.Axes(r)[p])
		case k > len(as) || as[len(as)-k] == 1:
			return -1
		}
		return len(t.Axes(a)) + len(as) - k
	}
	// logical axis i of a
	logical := func(i int) ([]int, bool) { return all(func(a Ref) int { return len(t.Axes(a)) + i }) }
	i := p - front
	switch op := in.Op; {
	case op.elementwise(), op == opBroadcast:
		return all(same)
	case op == opBasis, op == opGroups:
		return nil, i < 0
	case op == opRebatch && i < 0 && int(t.Axes(r)[p]) == t.Attr(r).Axis:
		if len(t.Attr(r).Shape) != 1 {
			return nil, false
		}
		return logical(0)
	case op == opMatmul:
		if k := len(s) - i; k == 1 || k == 2 && t.Attr(r).Flag {
			return nil, false
		} else if k == 2 {
			return []int{same(args[0]), -1}, true
		}
		return all(same)
	case op == opReshape:
		outer := t.physical(r)[:p].Size()
		before := 1
		for i, d := range t.physical(args[0]) {
			if before == outer && d != 1 {
				return []int{i}, d%rows == 0
			}
			before *= d
		}
		return nil, false
	case !rowwise(op):
		return nil, false
	case i < 0:
		return all(same)
	case op == opUnbatch:
		if lead := len(t.Attr(r).Shape); i >= lead {
			return logical(i - lead)
		}
		k := slices.Index(t.Axes(args[0]), int32(t.Attr(r).Axis))
		return []int{k}, k >= 0 && len(t.Attr(r).Shape) == 1
	case op == opRebatch:
		return logical(i + len(t.Attr(r).Shape))
	case op == opSumBatch, op == opCast:
		return logical(i)
	case op == opTranspose:
		return logical(len(s) + t.Attr(r).Ints[i])
	case op == opSlice, op == opUnslice, op == opConcat:
		if i == len(s)+t.Attr(r).Axes[0] {
			return nil, false
		}
		return logical(i)
	case op == opSum:
		as := t.Shape(args[0])
		for j := range as {
			gone := slices.Contains(t.Attr(r).Axes, j-len(as))
			if i == 0 && !gone {
				return logical(j)
			}
			if !gone || len(as) == len(s) {
				i--
			}
		}
		return nil, false
	}
	if i == len(t.Shape(args[0]))-1 { // the axis it works along
		return nil, false
	}
	return logical(i)
}

// rowwise reports whether an operation of one argument knows no rows but its own: where
// cutsOf does not say otherwise, because it works along the last axis.
func rowwise(op *Op) bool {
	switch op {
	case opUnbatch, opRebatch, opSumBatch, opCast, opTranspose, opSlice, opUnslice, opConcat, opSum, opProd, opMaxOf, opMinOf, opNorm,
		opLogsumexp, opSoftmax, opLogSoftmax, opCumsum, opCumprod, opAny, opAll, opArgmaxOf, opArgminOf, opReverse:
		return true
	}
	return false
}

// carry runs a chain, strip after strip; threads take the next that nobody has.
func (x *execution) carry(c *chain) {
	t := x.t
	s0 := c.strips[0]
	outs, ins := make([][]float64, len(s0.outs)), make([][]float64, len(s0.ins))
	for i, e := range s0.outs {
		outs[i] = x.result(e.r)
	}
	for i, e := range s0.ins {
		ins[i] = x.data(e.r)
	}
	rights := make([]kernels.Right, len(c.packed))
	parallel(x.threads(), len(rights), func(i int) {
		o := &c.packed[i]
		rights[i].Pack(arena64.take(kernels.PackedSize(o.k, o.n)), x.data(o.r), o.ld, o.turned, o.k, o.n)
	})
	c.numbers.Lock()
	for _, s := range c.strips { // runs of rows share the chain, and the numbers
		for _, e := range s.nums {
			if v := &s.plan.t.num[e.at]; math.Float64bits(*v) != math.Float64bits(t.num[e.r]) {
				*v = t.num[e.r]
			}
		}
	}
	c.numbers.Unlock()
	odd := make([]atomic.Bool, len(outs))
	workers := make(chan *execution, x.threads())
	for range x.threads() {
		workers <- nil
	}
	parallel(x.threads(), c.parts, func(k int) {
		s, from := c.part(k)
		e := <-workers
		if e == nil {
			e = newExecution(s.plan)
		}
		e.p, e.t, e.workers, e.from, e.rights, e.right = s.plan, s.plan.t, 1, x.from, rights, s.right
		if c.seeds {
			e.from += from
		}
		for k, i := range s.ins {
			src, slot := ins[k], s.plan.slot[i.at]
			switch {
			case i.outer > 1:
				n := s.n * i.unit
				m := e.alloc(i.outer * n)
				for o := range i.outer {
					copy(m[o*n:(o+1)*n], src[(o*c.rows+from)*i.unit:])
				}
				e.mem[slot] = m
			case i.outer == 1:
				e.mem[slot] = src[from*i.unit : (from+s.n)*i.unit]
			default:
				e.mem[slot] = src
			}
		}
		for k, o := range s.outs {
			if o.outer == 1 {
				e.mem[s.plan.slot[o.at]] = outs[k][from*o.unit : (from+s.n)*o.unit]
			}
		}
		e.run()
		for k, o := range s.outs {
			slot := s.plan.slot[o.at]
			if o.kept {
				if v := kernels.Sum(e.mem[slot]); v-v != 0 {
					odd[k].Store(true)
				}
			}
			if o.outer == 1 {
				e.mem[slot] = nil
			} else {
				n, dst := s.n*o.unit, outs[k]
				for i := range o.outer {
					copy(dst[(i*c.rows+from)*o.unit:], e.mem[slot][i*n:(i+1)*n])
				}
			}
		}
		e.recycle()
		workers <- e
	})
	for range x.threads() {
		if e := <-workers; e != nil {
			e.release()
		}
	}
	for i := range rights {
		arena64.give(rights[i].Panels())
	}
	for i, o := range s0.outs {
		if x.whole && o.kept {
			x.t.isSane(o.r, !odd[i].Load())
		}
	}
}

// multiply runs a product by a packed right operand, and what unitMatmul does with a single
// column that may differ from 0.
func (x *execution) multiply(r Ref, out, data []float64, right *kernels.Right) {
	t := x.t
	left := t.Args(r)[0]
	n, k := last(t.Shape(r)), last(t.Shape(left))
	m := len(out) / n
	off, column := t.unitColumn(left)
	if !column || len(t.Shape(left)) != 2 {
		right.Multiply(out, n, data, k, m)
		return
	}
	points := t.points(r)
	m /= points
	for p := range points {
		dst, q := out[p*m*n:(p+1)*m*n], x.from+p-off
		if q < 0 || q >= k {
			clear(dst)
			continue
		}
		right.Row(dst, n, data[p*m*k+q:], k, m, q)
	}
}
