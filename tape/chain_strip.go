package tape

import (
	"slices"

	"nabla/tape/tensor"
)

// part is the strip of part k, and the first of its rows.
func (c *chain) part(k int) (s *strip, from int) {
	small := c.rows / c.parts
	large := c.rows % c.parts // so many parts have a row more
	if k < large {
		return c.strips[0], k * (small + 1)
	}
	return c.strips[len(c.strips)-1], large*(small+1) + (k-large)*small
}

// A cutter makes the strip of a chain for some rows: a tape of its own, as a part of the
// plan's.
type cutter struct {
	c     *chain
	p     *Plan
	s     *strip
	t     *Tape
	sub   *Tape
	batch int // the batch axis that is cut, or -1
	in    map[cutting]Ref
	bad   bool // a value cannot be cut
}

// A cutting is a value of the plan and the axis along which it is cut; -1: it is whole.
type cutting struct {
	r    Ref
	axis int
}

// strip makes the chain for n rows; nil when it cannot be.
func (c *chain) strip(p *Plan, n int, outs map[Ref]bool) *strip {
	x := &cutter{c: c, p: p, s: &strip{n: n}, t: p.t, sub: New(), batch: -1, in: map[cutting]Ref{}}
	t, sub := x.t, x.sub
	sub.isStrip, sub.Threads, sub.DType = true, 1, t.DType
	sub.check = func() {
		if t.check != nil {
			t.check()
		}
	}
	sub.axes, sub.sets = slices.Clone(t.axes), t.sets
	for _, r := range c.refs {
		if axes := t.Axes(r); c.cut[r] < len(axes) {
			x.batch = int(axes[c.cut[r]])
		}
	}
	if c.seeds = x.batch >= 0; c.seeds {
		sub.axes[x.batch] = n
	}
	used := map[Ref]int{} // how many read it
	var want []Ref
	for _, r := range c.refs {
		at := x.member(r, used)
		if outs[r] {
			e := x.end(cutting{r, c.cut[r]}, at)
			for _, o := range p.outs {
				e.kept = e.kept || o != None && p.same[o] == r
			}
			x.s.outs, want = append(x.s.outs, e), append(want, at)
		}
		if x.bad || sub.ins[at].Op() == opMatmul && !sameUnits(t, r, sub, at) {
			return nil
		}
	}
	for i := range x.s.outs {
		e := &x.s.outs[i]
		e.place(t, sub, func(r Ref) bool { return used[r] == 1 && !sub.known(r) && !slices.Contains(want, r) })
		want[i] = e.at
	}
	sub.num = append(sub.num, make([]float64, max(0, len(sub.ins)-len(sub.num)))...)
	x.s.plan = sub.plan(want)
	for i := range x.s.outs { // products of float32 become float64 on their way to their places
		if e := &x.s.outs[i]; !e.inPlace() && sub.singleProduct(e.at) {
			x.s.plan.narrow[e.at] = true
		}
	}
	if !x.s.slots() {
		return nil
	}
	return x.s
}

// member appends an instruction of the chain, with its arguments.
func (x *cutter) member(r Ref, used map[Ref]int) Ref {
	q, _ := x.t.cutsOf(r, x.c.cut[r], x.c.rows)
	args := make([]Ref, len(q))
	for k, a := range x.t.Args(r) {
		a = x.p.same[a]
		if _, member := x.c.cut[a]; member {
			args[k] = x.in[cutting{a, q[k]}]
		} else {
			args[k] = x.leaf(cutting{a, q[k]})
		}
		used[args[k]]++
	}
	i := x.t.ins[r]
	if i.n > 3 {
		i.args[0] = Ref(len(x.sub.more))
		x.sub.more = append(x.sub.more, args...)
	} else {
		copy(i.args[:], args)
	}
	return x.push(cutting{r, x.c.cut[r]}, i)
}

// leaf is a value that the chain reads: an input of the strip.
func (x *cutter) leaf(of cutting) Ref {
	if at, ok := x.in[of]; ok {
		return at
	}
	t := x.t
	i := t.ins[of.r]
	i.flags |= flagKnown
	if _, unit := t.unitLike(of.r); unit && of.axis < 0 { // products by it look at what it is
		for k, a := range t.Args(of.r) {
			i.args[k] = x.leaf(cutting{x.p.same[a], -1})
		}
	} else if i.Op() != opConst || of.axis >= 0 {
		i.op, i.attr, i.n = opInput.id(), 0, 0
	}
	if !t.known(of.r) {
		i.flags |= flagGiven
	}
	at := x.push(of, i)
	if t.single(of.r) {
		x.s.nums = append(x.s.nums, stripEnd{r: of.r, at: at})
		if t.known(of.r) {
			x.sub.setNum(at, t.num[of.r])
		}
	} else {
		x.s.ins = append(x.s.ins, x.end(of, at))
	}
	return at
}

// push appends an instruction with the shape that it has in the strip.
func (x *cutter) push(of cutting, i Instr) Ref {
	shape, axes := x.t.Shape(of.r), x.t.Axes(of.r)
	for k, a := range axes { // the batch axis is cut in all values or in none
		x.bad = x.bad || (int(a) == x.batch) != (k == of.axis)
	}
	if k := of.axis - len(axes); of.axis >= 0 && k >= 0 {
		shape = slices.Clone(shape)
		shape[k] = shape[k] / x.c.rows * x.s.n
	}
	i.shape = x.sub.shapeID(shape)
	if i.attr != 0 {
		i.attr = x.sub.newAttr(*x.t.Attr(of.r))
	}
	x.sub.ins = append(x.sub.ins, i)
	at := Ref(len(x.sub.ins) - 1)
	x.in[of] = at
	return at
}

// end is a value of the plan that is at a place of the strip.
func (x *cutter) end(of cutting, at Ref) stripEnd {
	e := stripEnd{r: of.r, at: at}
	if of.axis >= 0 {
		d := x.t.physical(of.r)
		e.outer = d[:of.axis].Size()
		e.unit = d.Size() / e.outer / x.c.rows
	}
	return e
}

// slots gives what a strip reads slots in its plan; false: the plan does not know it.
func (s *strip) slots() bool {
	for _, e := range s.ins {
		if int(e.at) >= len(s.plan.slot) {
			return false
		}
		s.plan.slot[e.at] = int32(s.plan.slots)
		s.plan.view = append(s.plan.view, e.outer <= 1)
		if s.plan.window != nil {
			s.plan.window = append(s.plan.window, false)
		}
		s.plan.slots++
	}
	return true
}

// leastGroup is how many rows of a product must go on at the same distance for it to be
// written row by row: fewer do not fill its registers.
const leastGroup = 4

// place finds out where the numbers of a strip's result lie in that of the chain. Where the
// last instructions only move them, and alone, what is moved lies there at once.
func (e *stripEnd) place(t, sub *Tape, alone func(r Ref) bool) {
	d := t.physical(e.r)
	step := make([]int, len(d)) // from one to the next along each axis of at
	n := 1
	for i := len(d) - 1; i >= 0; i-- {
		step[i] = n
		n *= d[i]
	}
	for in := &sub.ins[e.at]; in.Op() == opTranspose || in.Op() == opUnbatch; in = &sub.ins[e.at] {
		a := sub.Args(e.at)[0]
		if !alone(a) || in.dtype != sub.ins[a].dtype {
			break
		}
		from := slices.Clone(step)
		if in.Op() == opTranspose {
			perm := sub.Attr(e.at).Ints
			for i, p := range perm {
				from[len(step)+p] = step[len(step)-len(perm)+i]
			}
		} else {
			if len(sub.Attr(e.at).Shape) != 1 {
				break
			}
			axes := sub.Axes(a)
			k, to := slices.Index(axes, int32(sub.Attr(e.at).Axis)), len(axes)-1
			copy(from[k+1:], step[k:to])
			from[k] = step[to]
		}
		e.at, step = a, from
	}
	e.lies, e.rows = &spread{}, nil
	d = sub.physical(e.at)
	for i, n := range d {
		e.lies.axis(n, step[i])
	}
	if k := len(d) - 1; k > 0 && step[k] == 1 && d[k] > 1 {
		e.rows = &spread{}
		for i, n := range d[:k] {
			e.rows.axis(n, step[i])
		}
		if i := len(e.rows.dims) - 1; i >= 0 && e.rows.dims[i] < leastGroup {
			e.rows = nil
		}
	}
}

// inPlace reports whether a strip's result is a piece of the chain's.
func (e *stripEnd) inPlace() bool {
	sp := e.lies
	return len(sp.dims) == 0 || len(sp.dims) == 1 && sp.strides[0] == 1
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
			if !sub.packs(r) {
				continue
			}
			i := slices.IndexFunc(s.ins, func(e stripEnd) bool { return e.at == sub.Args(r)[1] })
			if i < 0 || s.ins[i].outer > 0 {
				continue
			}
			m := sub.productOf(r)
			if s.right[r] = n; k == 0 {
				c.packed = append(c.packed, packedRight{r: s.ins[i].r, ld: m.ldb, turned: m.tb, k: m.k, n: m.n, single: sub.singleProduct(r)})
			}
			n++
		}
		read := s.readers()
		s.skip(read)
		s.join(read)
	}
}

// readers lists what has a single reader, and is not read outside: its reader, by it; others
// have None, or are not there.
func (s *strip) readers() map[Ref]Ref {
	p := s.plan
	only := map[Ref]Ref{}
	for _, r := range p.order {
		for _, a := range p.t.Args(r) {
			a = p.same[a]
			if _, more := only[a]; more {
				only[a] = None
			} else {
				only[a] = r
			}
		}
	}
	for _, o := range s.outs {
		only[o.at] = None
	}
	return only
}

// join has products by packed operands multiplied by slopes while they are stored, where
// nothing else reads them.
func (s *strip) join(read map[Ref]Ref) {
	p := s.plan
	s.times = map[Ref]epilogue{}
	for _, r := range p.order {
		z, one := read[r]
		if _, ok := s.right[r]; !ok || !one || z == None {
			continue
		}
		y, ok := p.slopes(r, z)
		if !ok {
			continue
		}
		i := int(p.home[z])
		before := &p.steps[i-1]
		for _, a := range p.steps[i].free {
			if a != r {
				before.free = append(before.free, a)
			}
		}
		p.remove(i)
		p.home[z] = p.home[r]
		s.times[r] = epilogue{z, y}
	}
}

// slopes is what z, a step of its own, multiplies the product r by, if it is there before r
// and has whole tiles of rows.
func (p *Plan) slopes(r, z Ref) (y Ref, ok bool) {
	t := p.t
	if step := &p.steps[p.home[z]]; t.ins[z].Op() != opZMul || step.kind != stepTile || len(step.refs) != 1 {
		return None, false
	}
	args := t.Args(z)
	if y = p.same[args[0]]; y == r {
		y = p.same[args[1]]
	}
	product, in := &t.ins[r], &t.ins[y]
	for _, i := range []*Instr{in, &t.ins[z]} {
		if i.shape != product.shape || i.dtype != product.dtype || i.batch != product.batch && (i != in || i.batch != 0) {
			return None, false
		}
	}
	return y, !t.single(y) && (p.slot[y] < 0 || p.home[y] < p.home[r]) && t.size(y)/last(t.Shape(y))%leastStrip == 0
}

// remove takes a step out of a plan.
func (p *Plan) remove(i int) {
	p.steps, p.single = slices.Delete(p.steps, i, i+1), slices.Delete(p.single, i, i+1)
	for _, q := range p.order {
		if int(p.home[q]) > i {
			p.home[q]--
		}
	}
}

// skip leaves products of seeds and slopes out that one product by a packed operand reads,
// a column at each point: those are columns of the slopes.
func (s *strip) skip(read map[Ref]Ref) {
	p, sub := s.plan, s.plan.t
	for r := range s.right {
		x := p.same[sub.Args(r)[0]]
		if _, column := sub.unitColumn(x); !column || len(sub.Shape(x)) != 2 || sub.slopesOf(x) == None || read[x] != r {
			continue
		}
		y := p.same[sub.slopesOf(x)]
		if p.slot[y] < 0 || p.home[y] >= 0 && p.view[p.slot[y]] || sub.ins[x].dtype != sub.ins[r].dtype || sub.ins[y].dtype != sub.ins[r].dtype {
			continue
		}
		p.skip(x, y)
	}
}

// skip takes the step that computes r alone out of a plan, if what is read instead is there
// as long as r.
func (p *Plan) skip(r, instead Ref) {
	i := int(p.home[r])
	s := p.steps[i]
	if len(s.refs) != 1 || s.kind != stepTile {
		return
	}
	for j := i + 1; j < len(p.steps); j++ {
		next := &p.steps[j]
		if slices.Contains(next.free, r) {
			next.free = append(next.free, s.free...)
			break
		}
		if slices.Contains(next.free, instead) || j == len(p.steps)-1 {
			return
		}
	}
	p.remove(i)
}

// packs reports whether the right operand of r, if it is the same for all strips, is worth
// packing for them.
func (t *Tape) packs(r Ref) bool {
	in := &t.ins[r]
	if in.Op() != opMatmul || in.dtype != tensor.Float64 && !t.singleProduct(r) || t.Attr(r).Flag {
		return false
	}
	x, y := t.Args(r)[0], t.Args(r)[1]
	xs, s := t.Shape(x), t.Shape(r)
	if t.ins[y].batch != 0 || len(t.Shape(y)) != 2 || t.ins[x].batch != in.batch || len(xs) != len(s) || !lead(xs).Equal(lead(s)) {
		return false
	}
	_, unit := t.unitLike(x)
	return !unit && t.productOf(r).k > 0
}

// productOf is how the product r lies in memory.
func (t *Tape) productOf(r Ref) product {
	a := t.Attr(r)
	return matmulAs(t.Shape(t.Args(r)[0]), t.Shape(t.Args(r)[1]), a.Flag, a.Flag2)
}
