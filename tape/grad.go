package tape

import (
	"math"
	"slices"
)

// VJP appends the adjoint program of ys, seeded with cts (one each, broadcast to
// the shape of its y), and returns the cotangents of srcs; None where nothing
// flows. It is the only differentiation engine: everything else is composed of it.
// A cotangent has the dtype of its source.
//
// A cotangent may be smaller than its value where it is the same along an axis:
// the gradient of a sum is one number. It is summed, or multiplied, to the shape of
// its value in one place, contribute. Batch axes of the seeds (the rows of a
// Jacobian, the points of a vmap) pass through; batch axes that the sweep itself
// enters are summed away at values that do not vary along them.
func (t *Tape) VJP(ys, cts, srcs []Ref) []Ref {
	v := t.desk.sweeps.one()
	t.swept = true
	v.t, v.lo, v.ys, v.srcs = t, Ref(len(t.ins)), ys, srcs
	top := Ref(-1)
	for i, y := range ys {
		if y == None || cts[i] == None {
			continue
		}
		top = max(top, y)
		v.outer = t.union(v.outer, t.union(t.ins[y].batch, t.ins[cts[i]].batch))
	}
	for _, s := range srcs {
		if s != None {
			v.lo = min(v.lo, s)
		}
	}
	out := make([]Ref, len(srcs))
	for i := range out {
		out[i] = None
	}
	if v.lo > top {
		return out
	}
	v.seek(ys, top)
	saved, numbers := t.pos, t.DType
	t.inner++
	defer func() { t.DType = numbers }()
	for i, y := range ys {
		if y != None && cts[i] != None && y >= v.lo && v.need[y-v.lo] {
			v.add(y, cts[i])
		}
	}
	v.down(top)
	t.inner--
	t.pos = saved
	for i, s := range srcs {
		if s == None || s > top {
			continue
		}
		out[i] = v.bar[s-v.lo]
	}
	v.need, v.bar, v.pieces, v.cuts = nil, nil, nil, nil // the desk keeps the sweep, and would keep its lists of a long tape
	return out
}

// A sweep is one walk down from targets to sources.
type sweep struct {
	t     *Tape
	lo    Ref // the smallest source: nothing below matters
	ys    []Ref
	srcs  []Ref
	need  []bool
	bar   []Ref
	outer int32 // batch axes of the seeds

	pieces map[Ref][]piece // cotangents of blocks, by what they are blocks of
	cuts   map[Ref][]cut   // and so of slices of large values along other axes
}

// seek marks what leads from the sources to ys, of which top is the last.
func (v *sweep) seek(ys []Ref, top Ref) {
	t, n := v.t, int(top-v.lo+1)
	v.need, v.bar = t.desk.marks.of(n), t.desk.refs.of(n)
	for i := range v.bar {
		v.bar[i] = None
	}
	leads := t.desk.marks.of(n) // to ys: where a loop takes derivatives, little of the tape does
	for _, y := range ys {
		if y >= v.lo {
			leads[y-v.lo] = true
		}
	}
	for i := n - 1; i >= 0; i-- {
		if !leads[i] {
			continue
		}
		for _, a := range t.Args(v.lo + Ref(i)) {
			if a >= v.lo {
				leads[a-v.lo] = true
			}
		}
	}
	for _, s := range v.srcs {
		if s != None && s <= top {
			v.need[s-v.lo] = true
		}
	}
	for i, leads := range leads {
		if leads && !v.need[i] {
			v.need[i] = v.reaches(v.lo + Ref(i))
		}
	}
}

// down takes the cotangents of instructions from top on to their arguments.
func (v *sweep) down(top Ref) {
	t := v.t
	for r := top; r >= v.lo; r-- {
		if !v.need[r-v.lo] {
			continue
		}
		t.among(t.ins[r].dtype)
		if t.ins[r].Op() == opLoop {
			t.pos = t.ins[r].Pos
			v.loop(r)
			continue
		}
		if ps := v.pieces[r]; ps != nil {
			v.add(r, t.assemble(r, ps))
			delete(v.pieces, r)
		}
		if cs := v.cuts[r]; cs != nil {
			v.addCuts(r, cs)
			delete(v.cuts, r)
		}
		ct := v.bar[r-v.lo]
		if ct == None {
			continue
		}
		t.pos = t.ins[r].Pos
		t.watchKink(r, ct, v.ys)
		v.back(r, ct)
	}
}

// reaches reports whether r takes a derivative from an argument that leads to a source.
func (v *sweep) reaches(r Ref) bool {
	op := v.t.ins[r].Op()
	if op == opBlock {
		if a := v.t.Args(r)[0]; v.t.ins[a].Op() == opLoop {
			return v.reachesPart(r, a)
		}
	}
	for i, a := range v.t.Args(r) {
		if a >= v.lo && v.need[a-v.lo] && v.t.passes(op, i) && v.t.ins[r].dtype.IsFloat() {
			return true
		}
	}
	return false
}

// reachesPart is reaches for a part of loop a.
func (v *sweep) reachesPart(r, a Ref) bool {
	t := v.t
	if a < v.lo || !v.need[a-v.lo] || !t.ins[r].dtype.IsFloat() {
		return false
	}
	l := t.Attr(a).Loop
	for i, x := range t.Args(a) {
		if x >= v.lo && v.need[x-v.lo] && l.linked(int(t.ins[r].args[1]), i) {
			return true
		}
	}
	return false
}

// back sends the cotangent of r to its arguments.
func (v *sweep) back(r Ref, ct Ref) {
	t := v.t
	op := t.ins[r].Op()
	theirs := t.variant(op)
	n := int(t.ins[r].n)
	if (op == opSub || op == opDiv) && t.Args(r)[0] == t.Args(r)[1] {
		v.backSame(r, ct)
		return
	}
	for i := range n {
		a := t.Args(r)[i]
		if a < v.lo || !v.need[a-v.lo] || !t.passes(op, i) {
			continue
		}
		if op.NoRule && op.Hidden { // a derivative
			panic(&Misuse{Kind: "gradient", Pos: t.ins[r].Pos, Msg: "no derivative is there of the " + op.Doc, Hint: op.Note})
		}
		if op.NoRule {
			panic(&Misuse{Kind: "gradient", Pos: t.ins[r].Pos,
				Msg:  "no gradient is registered for " + op.Name,
				Hint: "register one: gradient " + op.Name + "(" + op.arguments() + "; g) = …"})
		}
		switch {
		case op == opBlock:
			if v.pieces == nil {
				v.pieces = map[Ref][]piece{}
			}
			g := t.full(v.withinBatch(r, a, ct), r)
			v.pieces[a] = append(v.pieces[a], piece{g, int(t.ins[r].args[1])})
		case op == opSlice && t.isLarge(t.size(a)):
			if v.cuts == nil {
				v.cuts = map[Ref][]cut{}
			}
			v.cuts[a] = append(v.cuts[a], cut{t.full(v.withinBatch(r, a, ct), r), t.Attr(r).Axes[0], [3]int(t.Attr(r).Ints)})
		case op == opSquare && v.backSquare(a, ct):
		case op.Adj == nil || theirs != nil && theirs.Grad != nil:
			p := t.partial(r, i)
			strong := theirs != nil && i < theirs.strong || op != opMul && t.isNum(p, 0)
			v.contribute(r, a, t.weighed(ct, p, strong))
		default:
			if g := op.Adj(t, r, i, ct); g != None {
				v.contribute(r, a, g)
			}
		}
	}
}

// backSame sends the cotangent of x - x or x / x to x: 0, as such a value does not move, where the two
// partial derivatives, each times an infinite cotangent, would make NaN; NaN where the value is.
func (v *sweep) backSame(r, ct Ref) {
	t := v.t
	a := t.Args(r)[0]
	if a >= v.lo && v.need[a-v.lo] {
		v.contribute(r, a, t.Apply(opZMul, ct, t.Apply(opSub, r, r)))
	}
}

// backSquare sends the cotangent of the square of a, a square root, a norm, a standard
// deviation (a norm over a number) or an absolute value, straight to what a is of: the
// square is smooth where a is not. Where a itself is asked for, it is not passed by.
func (v *sweep) backSquare(a, ct Ref) bool {
	t := v.t
	op := t.ins[a].Op()
	if slices.Contains(v.srcs, a) {
		return false
	}
	if op == opDiv && t.ins[t.Args(a)[0]].Op() == opNorm {
		c, ok := t.constant(t.Args(a)[1])
		return ok && v.backSquare(t.Args(a)[0], t.Apply(opDiv, ct, t.Const(c*c)))
	}
	if !t.rooted(op) || op == opHypot {
		return false
	}
	x := t.Args(a)[0]
	if x < v.lo || !v.need[x-v.lo] {
		return false
	}
	switch op {
	case opNorm:
		v.contribute(a, x, t.Apply(opMul, t.behind(ct, a), t.Apply(opMul, t.Const(2), x)))
		return true
	case opAbs:
		v.contribute(a, x, t.Apply(opZMul, ct, t.Apply(opMul, t.Const(2), x)))
		return true
	}
	v.contribute(a, x, t.Apply(opZMul, ct, t.Apply(opWhere, t.apply("less", x, t.Const(0)), t.Const(math.NaN()), t.Const(1))))
	return true
}

// partial appends the partial derivative of elementwise r by its argument i.
func (t *Tape) partial(r Ref, i int) Ref {
	op := t.ins[r].Op()
	if v := t.variant(op); v != nil && v.Grad != nil && !(op == opPow && t.written(t.Args(r)[1])) {
		return v.partialRule(i).record(t, r)
	}
	if op.Partial != nil {
		return op.Partial(t, r, i)
	}
	return op.partialRule(i).record(t, r)
}

// contribute adds to the cotangent of a what came back through r. For an elementwise r
// the contribution has (or broadcasts to) the shape of r and is summed to that of a;
// a structural rule answers in the shape of a, or broadcasts to it.
func (v *sweep) contribute(r, a, ct Ref) {
	t := v.t
	from := t.ins[r].shape
	if !t.ins[r].Op().elementwise() {
		if from = t.ins[a].shape; from != t.ins[ct].shape {
			s, _ := broadcast(t.Shape(a), t.Shape(ct))
			from = t.shapeID(s)
		}
	}
	ct = t.unbroadcast(ct, from, t.ins[a].shape)
	v.add(a, v.withinBatch(r, a, ct))
}

// withinBatch sums the cotangent ct of a, which came through r, along batch axes of the
// value or the cotangent that are neither of a nor of the seeds.
func (v *sweep) withinBatch(r, a, ct Ref) Ref {
	t := v.t
	batch := t.ins[r].batch
	if t.ins[r].Op() == opRebatch { // its rule has turned the axis back already
		batch = t.ins[a].batch
	}
	if extra := t.minus(t.union(batch, t.ins[ct].batch), t.union(v.outer, t.ins[a].batch)); extra != 0 {
		for _, axis := range t.sets[extra] {
			ct = t.sumBatch(ct, int(axis))
		}
	}
	return ct
}

// add adds to the cotangent of r. It has the dtype of r: where float32 meets float64, its
// cotangents are float32 from there on.
func (v *sweep) add(r, ct Ref) {
	if d := v.t.ins[r].dtype; d != v.t.ins[ct].dtype && d.IsFloat() {
		ct = v.t.cast(ct, d)
	}
	if old := v.bar[r-v.lo]; old != None {
		ct = v.t.addCotangents(old, ct)
	}
	v.bar[r-v.lo] = ct
}

// unbroadcast sums ct, which stands for a value of shape from, to the shape to. Where
// ct is itself smaller than from, the sum is a product with the number of copies.
func (t *Tape) unbroadcast(ct Ref, from, to int32) Ref {
	if from == to {
		return ct
	}
	f, target, have := t.shapes[from], t.shapes[to], t.Shape(ct)
	var axes []int
	copies := 1
	for a := -1; a >= -len(f); a-- {
		goal := 1
		if -a <= len(target) {
			goal = target[len(target)+a]
		}
		if goal != 1 || f[len(f)+a] == 1 {
			continue
		}
		if -a <= len(have) && have[len(have)+a] != 1 {
			axes = append(axes, a)
		} else {
			copies *= f[len(f)+a]
		}
	}
	slices.Reverse(axes) // ascending, as every reduction has them
	if len(axes) > 0 {
		ct = t.sumTo(ct, axes, true)
	}
	if copies != 1 {
		ct = t.Apply(opMul, ct, t.Const(float64(copies)))
	}
	if have = t.Shape(ct); len(have) > len(target) { // only ones are left in front
		ct = t.reshape(ct, have[len(have)-len(target):])
	}
	return ct
}

// full gives ct the shape of r where it is smaller.
func (t *Tape) full(ct, r Ref) Ref { return t.broadcastTo(ct, t.Shape(r)) }
