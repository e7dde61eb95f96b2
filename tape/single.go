package tape

import (
	"slices"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// float32 inside an execution. A tile program of float32 alone, and a matrix product of
// float32, compute on float32; what they pass to one another is stored so. Everything
// else sees float64, made from it on demand. The bits do not depend on who computes: an
// elementwise operation is that of float64 rounded once, on either way, and a product of
// float32 is the same product wherever it runs.
//
// Leaves and results stay float64, as tensors are: a tile converts what it reads and
// writes of them. At 1e7 elements the result's fresh memory then costs as much as in
// float64; storing tensors as float32 would halve that and touch every reader of them.

type real interface{ float32 | float64 }

// singles are the kernels of float32 by the name of the operation. An operation that has
// none runs on float64 and is rounded.
var singles = lazy[map[string]any]{make: func() map[string]any {
	s := &kernels.Single
	return map[string]any{
		"name": func(dst, x []float32) { copy(dst, x) }, "float32": func(dst, x []float32) { copy(dst, x) },
		"negative": s.Neg, "abs": s.Abs, "sign": s.Sign, "abs_slope": s.Sign, "sqrt": s.Sqrt, "reciprocal": s.Recip, "square": s.Square,
		"floor": s.Floor, "ceil": s.Ceil, "trunc": s.Trunc, "round": s.Round,
		"logical_not": s.Not, "isnan": s.IsNaN, "isinf": s.IsInf, "isfinite": s.IsFinite,
		"add": s.Add, "subtract": s.Sub, "multiply": s.Mul, "divide": s.Div, "zmul": s.ZMul, "maximum": s.Maximum, "minimum": s.Minimum,
		"less": s.Lt, "less_equal": s.Le, "greater": s.Gt, "greater_equal": s.Ge, "equal": s.Eq, "not_equal": s.Ne,
		"logical_and": s.And, "logical_or": s.Or,
		"fma": s.FMA, "where": s.Where,
		"exp": s.Exp, "expm1": s.Expm1, "log": s.Log, "log1p": s.Log1p,
		"sigmoid": s.Sigmoid, "sigmoid_slope": s.SigmoidSlope, "softplus": s.Softplus, "tanh": s.Tanh, "sech2": s.Sech2,
		"sin": s.Sin, "cos": s.Cos, "tan": s.Tan,

		// both of a function and its partial, by the name that comes first
		"twin log1p": s.Log1pTwin, "twin sigmoid": s.SigmoidTwin, "twin sech2": s.TanhSech2, "twin cos": s.SinCos,
	}
}}

// fitsSingle reports whether dtype's numbers are float32.
func fitsSingle(d tensor.DType) bool { return d == tensor.Float32 || d == tensor.Bool }

// isSingle reports whether a step computes on float32: a tile program whose results are
// all float32 or truths, or a matrix product.
func (p *Plan) isSingle(s *step) bool {
	t := p.t
	switch s.kind {
	case stepTile:
		some := false
		for _, r := range s.refs {
			d := t.ins[r].dtype
			if t.ins[r].Op() == opSum {
				continue
			}
			if !fitsSingle(d) {
				return false
			}
			some = some || d == tensor.Float32
		}
		return some
	case stepOne:
		return t.singleProduct(s.refs[0])
	}
	return false
}

// exact reports whether what r holds can be read as float32: its type says so, and a
// constant of the program, which keeps all its digits, is one.
func (t *Tape) exact(r Ref) bool {
	if c, ok := t.constant(r); ok {
		return float64(float32(c)) == c || c != c
	}
	return fitsSingle(t.ins[r].dtype)
}

// singleProduct reports whether r is a matrix product of float32.
func (t *Tape) singleProduct(r Ref) bool {
	return t.ins[r].Op() == opMatmul && t.ofSingles(r)
}

// ofSingles reports whether r is float32, and all that it is made of.
func (t *Tape) ofSingles(r Ref) bool {
	return t.ins[r].dtype == tensor.Float32 && !slices.ContainsFunc(t.Args(r), func(a Ref) bool { return !t.exact(a) })
}

// product32 runs a matrix product of float32 into out.
func (t *Tape) product32(r Ref, out []float32, data [][]float32, threads, from int) {
	c := &run{t: t, r: r, threads: threads, from: from, attr: t.Attr(r), shape: t.Shape(r)}
	for _, a := range t.Args(r) {
		c.shapes = append(c.shapes, t.Shape(a))
	}
	if len(t.Axes(r)) == 0 {
		matmulAt(c, out, data[0], data[1])
		return
	}
	b := t.batchOf(r, &c.points)
	if wholeMatmul(c, b, out, data) {
		return
	}
	size, nx, ny := c.shape.Size(), c.shapes[0].Size(), c.shapes[1].Size()
	for k := range b.n {
		ox, oy := b.offset(0, k)*nx, b.offset(1, k)*ny
		matmulAt(c, out[k*size:(k+1)*size], data[0][ox:ox+nx], data[1][oy:oy+ny])
	}
}

// runProduct32 is product32 between values stored as float64.
func (t *Tape) runProduct32(r Ref, out []float64, data [][]float64, threads, from int) {
	inSingle(out, data, func(out []float32, data [][]float32) { t.product32(r, out, data, threads, from) })
}

// inSingle is f of float32 between values stored as float64.
func inSingle(out []float64, data [][]float64, f func(out []float32, data [][]float32)) {
	single := make([][]float32, len(data))
	for i, x := range data {
		single[i] = make([]float32, len(x))
		kernels.Narrow(single[i], x)
	}
	y := make([]float32, len(out))
	f(y, single)
	kernels.Widen(out, y)
}

// A value of an execution is in mem, in mem32 or in both; where narrow says so it was
// computed in mem32.

// alloc32 is alloc of float32.
func (x *execution) alloc32(n int) []float32 { return x.pool32.take(n, &arena32) }

// free gives the memory of a slot back.
func (x *execution) free(slot int32) {
	if m := x.mem[slot]; m != nil {
		x.mem[slot] = nil
		if !x.p.view[slot] {
			x.pool.keep(m, x.spares())
		}
	}
	if int(slot) < len(x.mem32) && x.mem32[slot] != nil {
		m := x.mem32[slot]
		x.mem32[slot] = nil
		x.pool32.keep(m, x.spares())
	}
}

// data32 is the value of r as float32.
func (x *execution) data32(r Ref) []float32 {
	if x.t.single(r) {
		return []float32{float32(x.t.num[r])}
	}
	s := x.p.slot[r]
	if s < 0 {
		m := x.leaves[r]
		if m == nil {
			m = x.alloc32(len(x.t.big[r]))
			kernels.Narrow(m, x.t.big[r])
			x.leaves[r] = m
		}
		return m
	}
	if x.mem32[s] == nil {
		x.mem32[s] = x.alloc32(len(x.mem[s]))
		kernels.Narrow(x.mem32[s], x.mem[s])
	}
	return x.mem32[s]
}

// freeSingles gives back what is float32: leaves, and results, which are there as float64.
func (x *execution) freeSingles() {
	for _, m := range x.leaves {
		x.pool32.keep(m, x.spares())
	}
	clear(x.leaves)
	for i, m := range x.mem32 {
		if m != nil {
			x.pool32.keep(m, x.spares())
			x.mem32[i] = nil
		}
	}
}

// widen is the value of r, computed as float32, as float64.
func (x *execution) widen(r Ref) []float64 {
	s := x.p.slot[r]
	if x.mem[s] == nil {
		x.mem[s] = x.alloc(len(x.mem32[s]))
		kernels.Widen(x.mem[s], x.mem32[s])
	}
	return x.mem[s]
}

// result32 is memory for a result of a step of float32.
func (x *execution) result32(r Ref) []float32 {
	s := x.p.slot[r]
	if x.mem32[s] == nil {
		x.mem32[s] = x.alloc32(x.t.size(r))
	}
	return x.mem32[s]
}

// product runs a matrix product of float32.
func (x *execution) product(r Ref) {
	if x.packedProduct(r) {
		return
	}
	t := x.t
	var data [2][]float32
	for i, a := range t.Args(r) {
		data[i] = x.data32(x.p.same[a])
	}
	if t.single(r) {
		var out [1]float32
		t.product32(r, out[:], data[:], x.threads(), x.from)
		t.num[r] = float64(out[0])
		return
	}
	t.product32(r, x.result32(r), data[:], x.threads(), x.from)
	if !x.p.narrow[r] {
		kernels.Widen(x.result(r), x.mem32[x.p.slot[r]])
	}
}

// A wide is an argument of a tile program of float32 that is not float32 itself: a
// constant with more digits, or whole numbers. What reads it computes on float64.
type wide struct {
	ref   Ref
	sp    *spread
	lay   *layout // of what is moved; first: the values of its panes
	first int
	one   bool // a single number
}
