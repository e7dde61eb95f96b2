package tape

import (
	"fmt"
	"slices"

	"nabla/expr"
	"nabla/tape/tensor"
)

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
	if t.meetsNear(ys, srcs) {
		dys := make([]Ref, len(ys))
		for i, y := range ys {
			dys[i] = t.alongByRows(y, srcs, vs)
		}
		return dys
	}
	seeds := make([]Ref, len(ys))
	for i, y := range ys {
		in := Instr{op: opSeed.id(), shape: t.ins[y].shape, dtype: t.ins[y].dtype, Pos: t.ins[y].Pos}
		// The seed must vary as y does, or points of a batch would be summed.
		in.batch = t.ins[y].batch
		in.flags = flagActive
		seeds[i] = t.push(in)
	}
	from := len(t.sites)
	t.seeds = append(t.seeds, seeds...)
	defer func() { t.seeds = t.seeds[:len(t.seeds)-len(seeds)] }()
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
			dys[i] = t.broadcastTo(t.like(ys[i], 0), t.Shape(ys[i]))
		}
	}
	return dys
}

// alongByRows is the derivative of y by its gradients, row by row; None where y depends on no source.
func (t *Tape) alongByRows(y Ref, srcs, vs []Ref) Ref {
	s, axis, ct := t.Shape(y), 0, t.Const(1)
	if s.Size() != 1 {
		axis = t.NewAxis(s.Size())
		ct = t.basis(axis, s, t.ins[y].dtype)
	}
	sum := None
	for i, g := range t.VJP([]Ref{y}, []Ref{ct}, srcs) {
		if g == None || vs[i] == None {
			continue
		}
		part := t.full(t.Apply(opZMul, vs[i], g), srcs[i])
		part = t.cast(t.sumTo(part, allAxes(t.Shape(part)), false), t.ins[y].dtype)
		if sum == None {
			sum = part
		} else {
			sum = t.Apply(opAdd, sum, part)
		}
	}
	switch {
	case sum == None:
		return None
	case s.Size() != 1:
		return t.unbatch(sum, axis, s)
	}
	return t.reshape(sum, s)
}

// seeded reports whether r depends on a seed of a derivative along a direction that is being recorded.
func (t *Tape) seeded(r Ref) bool {
	if len(t.seeds) == 0 {
		return false
	}
	first := slices.Min(t.seeds)
	todo, seen := []Ref{r}, map[Ref]bool{r: true}
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if t.ins[x].Op() == opSeed && slices.Contains(t.seeds, x) {
			return true
		}
		for _, a := range t.Args(x) {
			if a >= first && !seen[a] {
				seen[a] = true
				todo = append(todo, a)
			}
		}
	}
	return false
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
		t.checkMatrix("a Jacobian", y, s)
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
			v = t.broadcastTo(t.like(s, 1), t.Shape(s))
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

// checkMatrix refuses what could not be held, the derivative of y by x, before anything is recorded.
func (t *Tape) checkMatrix(what string, y, x Ref) {
	rows, cols := t.Shape(y).Size(), t.Shape(x).Size()
	if t.Limit == 0 || float64(rows)*float64(cols)*8 <= float64(t.Limit) {
		return
	}
	m := &Misuse{Kind: "memory", Pos: t.pos,
		Msg:  what + " of shape " + append(slices.Clone(t.Shape(y)), t.Shape(x)...).String() + " needs " + Bytes(float64(rows)*float64(cols)*8) + ", more than the limit of " + Bytes(float64(t.Limit)),
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
			hs[i] = t.broadcastTo(t.like(srcs[i], 0), t.Shape(srcs[i]))
		}
	}
	return hs
}
