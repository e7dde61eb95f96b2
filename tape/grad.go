package tape

import (
	"fmt"
	"math"
	"slices"

	"nabla/expr"
	"nabla/tape/tensor"
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
	v.t, v.lo, v.srcs = t, Ref(len(t.ins)), srcs
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
	v.seek(top)
	saved := t.pos
	t.inner++
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
		if out[i] = v.bar[s-v.lo]; out[i] != None {
			out[i] = t.cast(out[i], t.ins[s].dtype) // what meets numbers of another dtype on the way takes theirs
		}
	}
	return out
}

// A sweep is one walk down from targets to sources.
type sweep struct {
	t     *Tape
	lo    Ref // the smallest source: nothing below matters
	srcs  []Ref
	need  []bool
	bar   []Ref
	outer int32 // batch axes of the seeds

	pieces map[Ref][]piece // cotangents of blocks, by what they are blocks of
	cuts   map[Ref][]cut   // and so of slices of large values along other axes
}

// seek marks what leads from the sources to instructions up to top.
func (v *sweep) seek(top Ref) {
	n := int(top - v.lo + 1)
	v.need, v.bar = v.t.desk.marks.of(n), v.t.desk.refs.of(n)
	for i := range v.bar {
		v.bar[i] = None
	}
	for _, s := range v.srcs {
		if s != None && s <= top {
			v.need[s-v.lo] = true
		}
	}
	for r := v.lo; r <= top; r++ {
		if !v.need[r-v.lo] {
			v.need[r-v.lo] = v.reaches(r)
		}
	}
}

// down takes the cotangents of instructions from top on to their arguments.
func (v *sweep) down(top Ref) {
	t := v.t
	for r := top; r >= v.lo; r-- {
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
		if ct == None || !v.need[r-v.lo] {
			continue
		}
		t.pos = t.ins[r].Pos
		t.watchKink(r, ct)
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
	for i := range n {
		a := t.Args(r)[i]
		if a < v.lo || !v.need[a-v.lo] || !t.passes(op, i) {
			continue
		}
		if op.NoRule {
			panic(&Misuse{Kind: "gradient", Pos: t.ins[r].Pos,
				Msg:  "no gradient is registered for " + op.Name,
				Hint: "register one: gradient " + op.Name + "(" + op.Args + "; g) = …"})
		}
		switch {
		case op == opBlock:
			if v.pieces == nil {
				v.pieces = map[Ref][]piece{}
			}
			g := t.full(v.withinBatch(r, a, ct), r)
			v.pieces[a] = append(v.pieces[a], piece{g, int(t.ins[r].args[1])})
		case op == opSlice && t.size(a) >= leastMoved:
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

func (v *sweep) add(r, ct Ref) {
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

// Gradient appends the gradients of the sum of ys with respect to srcs, each in the
// shape of its source; None where a source is not connected.
func (t *Tape) Gradient(ys, srcs []Ref) []Ref {
	one := t.Const(1)
	cts := make([]Ref, len(ys))
	for i := range cts {
		cts[i] = one
	}
	return t.shaped(t.VJP(ys, cts, srcs), srcs)
}

// shaped fills cotangents up to the shapes of their sources.
func (t *Tape) shaped(gs, srcs []Ref) []Ref {
	for i, g := range gs {
		if g != None {
			gs[i] = t.full(g, srcs[i])
		}
	}
	return gs
}

// JVP appends the directional derivatives of ys along the tangents vs of srcs. The map
// from cotangent to gradient is linear, so its transpose is the tangent map: forward
// mode is the VJP of the VJP, and no operation carries a forward rule. A custom
// gradient that is not linear in its upstream gradient has no transpose; that is an
// error.
func (t *Tape) JVP(ys, srcs, vs []Ref) []Ref {
	seeds := make([]Ref, len(ys))
	for i, y := range ys {
		in := Instr{op: opSeed.id(), shape: t.ins[y].shape, dtype: t.ins[y].dtype, Pos: t.ins[y].Pos}
		// The seed must vary as y does, or points of a batch would be summed.
		in.batch = t.ins[y].batch
		in.flags = flagActive
		seeds[i] = t.push(in)
	}
	from := len(t.sites)
	gs := t.VJP(ys, seeds, srcs)
	for i := from; i < len(t.sites); i++ {
		t.sites[i].ct = None // the seed has no value
	}
	var outs, cts []Ref
	for i, g := range gs {
		if g != None && vs[i] != None {
			outs, cts = append(outs, t.full(g, srcs[i])), append(cts, vs[i])
		}
	}
	dys := t.VJP(outs, cts, seeds)
	live := t.live(dys)
	for i, s := range seeds {
		if int(s) < len(live) && live[s] {
			panic(notLinear(t.ins[ys[i]].Pos))
		}
	}
	for i, dy := range dys {
		switch {
		case dy != None:
			dys[i] = t.full(dy, ys[i])
		case len(outs) > 0: // connected, and every partial is 0
			dys[i] = t.broadcastTo(t.Const(0), t.Shape(ys[i]))
		}
	}
	return dys
}

// notLinear says that a custom gradient has no transpose.
func notLinear(at expr.Pos) *Misuse {
	return &Misuse{Kind: "gradient", Pos: at,
		Msg:  "forward mode needs gradients that are linear in the upstream gradient, and a custom gradient here is not",
		Hint: "use --mode reverse"}
}

// Jacobian appends dy/dx for each source x: shape y.shape followed by x.shape. It runs
// in reverse (a row for each element of y) when y has no more elements than the
// sources together, and forward otherwise; mode "reverse" or "forward" forces one.
func (t *Tape) Jacobian(y Ref, srcs []Ref, mode string) []Ref {
	cols := 0
	for _, s := range srcs {
		cols += t.Shape(s).Size()
	}
	rows := t.Shape(y).Size()
	for _, s := range srcs {
		t.checkJacobian(y, s)
	}
	out := make([]Ref, len(srcs))
	var rest []Ref
	for i, s := range srcs {
		if out[i] = t.jacobianSparse(y, s, mode); out[i] == None {
			rest = append(rest, s)
			continue
		}
		out[i] = t.cast(out[i], t.ins[s].dtype) // forward it has that of y
	}
	if len(rest) < len(srcs) { // what is left is chosen for by itself
		if len(rest) > 0 {
			more := t.Jacobian(y, rest, mode)
			for i := range out {
				if out[i] == None {
					out[i], more = more[0], more[1:]
				}
			}
		}
		return out
	}
	if mode == "forward" || mode != "reverse" && cols < rows {
		return t.jacobianForward(y, srcs)
	}
	if t.Shape(y).Size() == 1 {
		for i, g := range t.Gradient([]Ref{y}, srcs) {
			out[i] = None
			if g != None {
				out[i] = t.reshape(g, append(append(tensor.Shape{}, t.Shape(y)...), t.Shape(srcs[i])...))
			}
		}
		return out
	}
	axis := t.NewAxis(rows)
	for i, g := range t.VJP([]Ref{y}, []Ref{t.basis(axis, t.Shape(y), t.ins[y].dtype)}, srcs) {
		out[i] = None
		if g != None {
			out[i] = t.unbatch(t.full(g, srcs[i]), axis, t.Shape(y))
		}
	}
	return out
}

// jacobianForward is the Jacobian by tangents: for each source an identity along a batch axis.
func (t *Tape) jacobianForward(y Ref, srcs []Ref) []Ref {
	out := make([]Ref, len(srcs))
	for i, s := range srcs {
		out[i] = None
		var v Ref
		single := t.Shape(s).Size() == 1
		axis := 0
		if single {
			v = t.broadcastTo(t.Const(1), t.Shape(s))
		} else {
			axis = t.NewAxis(t.Shape(s).Size())
			v = t.basis(axis, t.Shape(s), t.ins[s].dtype)
		}
		dy := t.JVP([]Ref{y}, []Ref{s}, []Ref{v})[0]
		if dy == None {
			continue
		}
		dy = t.cast(dy, t.ins[s].dtype)
		ys, xs := t.Shape(y), t.Shape(s)
		if single {
			out[i] = t.reshape(dy, append(append(tensor.Shape{}, ys...), xs...))
			continue
		}
		j := t.unbatch(dy, axis, xs) // x.shape + y.shape
		out[i] = t.rotate(j, len(xs))
	}
	return out
}

// rotate moves the first k axes behind the others.
func (t *Tape) rotate(r Ref, k int) Ref {
	n := len(t.Shape(r))
	if k == 0 || k == n {
		return r
	}
	perm := make([]int, n)
	for i := range perm {
		perm[i] = (i + k) % n
	}
	return t.transpose(r, perm)
}

// checkJacobian refuses a result that could not be held, before anything is recorded.
func (t *Tape) checkJacobian(y, x Ref) {
	rows, cols := t.Shape(y).Size(), t.Shape(x).Size()
	if t.Limit == 0 || float64(rows)*float64(cols)*8 <= float64(t.Limit) {
		return
	}
	m := &Misuse{Kind: "memory", Code: 5, Pos: t.pos,
		Msg:  "a Jacobian of shape " + append(slices.Clone(t.Shape(y)), t.Shape(x)...).String() + " needs " + Bytes(float64(rows)*float64(cols)*8) + ", more than the limit of " + Bytes(float64(t.Limit)),
		Hint: "jvp, vjp and hvp give products without the matrix; batch-jacobian and hessian --diagonal give its diagonal blocks; --max-memory raises the limit"}
	if t.ins[y].batch == 0 && t.ins[x].batch == 0 {
		if p := t.dependence(y, []Ref{x}); p != nil && 24*p.Count() < float64(t.Limit) {
			m.Hint = fmt.Sprintf("at most %.0f of its entries are not 0: --sparse and -f mtx give those alone; jvp and vjp give products", p.Count())
		}
	}
	panic(m)
}

// BatchJacobian appends, for y of shape [B, …m] and x of shape [B, …n], the blocks
// dy[b]/dx[b]: shape [B, …m, …n]. The rows are taken to be independent: what one row
// of y takes from other rows of x is added in.
func (t *Tape) BatchJacobian(y, x Ref) Ref {
	ys, xs := t.Shape(y), t.Shape(x)
	m := ys[1:]
	if m.Size() == 1 {
		g := t.Gradient([]Ref{y}, []Ref{x})[0]
		if g == None {
			return None
		}
		return t.reshape(g, append(append(tensor.Shape{}, ys...), xs[1:]...))
	}
	axis := t.NewAxis(m.Size())
	g := t.VJP([]Ref{y}, []Ref{t.basis(axis, m, t.ins[y].dtype)}, []Ref{x})[0]
	if g == None {
		return None
	}
	j := t.unbatch(t.full(g, x), axis, m) // [...m, B, …n]
	perm := []int{len(m)}
	for i := range m {
		perm = append(perm, i)
	}
	for i := range xs[1:] {
		perm = append(perm, len(m)+1+i)
	}
	return t.transpose(j, perm)
}

// HVP appends the product of the Hessian of the scalar y with the tangents vs: the
// derivative of the gradients along them, in the shapes of srcs: 0 where a gradient is the same
// everywhere, and None where there is none.
func (t *Tape) HVP(y Ref, srcs, vs []Ref) []Ref {
	gs := t.Gradient([]Ref{y}, srcs)
	// <g, v> is linear in v: its gradient is the product, by symmetry of the Hessian.
	var ys, cts []Ref
	for i, g := range gs {
		if g != None && vs[i] != None {
			ys, cts = append(ys, g), append(cts, vs[i])
		}
	}
	hs := t.shaped(t.VJP(ys, cts, srcs), srcs)
	for i, h := range hs {
		if h == None && gs[i] != None {
			hs[i] = t.broadcastTo(t.Const(0), t.Shape(srcs[i]))
		}
	}
	return hs
}
