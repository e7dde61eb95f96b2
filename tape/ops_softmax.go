package tape

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

var opLogsumexp, opSoftmax, opLogSoftmax, opOneHotMax *Op

var softmaxRows = []Op{
	{As: &opLogsumexp, Name: "logsumexp", Alias: []string{"reduce_logsumexp"}, Args: "x, #axis=None, #keepdims=false", Doc: "log(sum(exp(x))), without overflow", Lead: true,
		Call: func(c *call) value {
			x := c.t.asFloat(c.ref(0))
			return c.fold(opLogsumexp, x, c.axes(1, c.t.Shape(x)), c.bool(2))
		},
		Run: runLogsumexp, Links: linkFold, Note: "[-inf, -inf] gives 0, 0; [inf, 0] gives 1, 0",
		Tie:    func(t *Tape, r Ref) Ref { return t.apply("equal", r, t.Const(math.Inf(-1))) },
		TieSay: "the logarithm of 0: the gradient is taken as 0",
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			x := t.Args(r)[0]
			w := t.record(opSoftmax, t.Shape(x), Attr{Flag: true, Axes: t.Attr(r).Axes}, x)
			if t.Conventions != "" {
				out := t.behind(r, r)
				w = t.Apply(opWhere, t.apply("isinf", out), t.apply("exp", t.Apply(opSub, x, out)), w)
			}
			return t.weighed(t.behind(ct, r), w, false)
		}},
	// opSoftmax with Flag set are the weights of logsumexp: defined at infinities too.
	{As: &opSoftmax, Name: "softmax", Switches: [2]string{"weights"}, Args: "x, #axis=-1", Doc: "exp(x) / sum(exp(x)), without overflow",
		Call: func(c *call) value {
			return c.weights(opSoftmax)
		},
		Lead: true, Run: runSoftmax, Links: linkLines, Adj: softmaxAdj},
	{As: &opLogSoftmax, Name: "log_softmax", Args: "x, #axis=-1", Doc: "log(softmax(x)), accurate",
		Call: func(c *call) value {
			return c.weights(opLogSoftmax)
		},
		Lead: true, Run: runLogSoftmax, Links: linkLines,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			x := t.Args(r)[0]
			ct = t.full(ct, r)
			a := t.Attr(r)
			s := t.record(opSoftmax, t.Shape(x), Attr{Axes: a.Axes}, x)
			// 1 - s cancels where s is all but 1: a slope of 1.4e-11, at [25, -20, 0], is exact to 4e-6 of it.
			// The sum of the other weights there, by where(s > 0.5, …), cancels nothing, but gradients of cross
			// entropy took 1.06 to 1.4 of the time. log(softmax(x)[i]) has the exact slope.
			return t.Apply(opSub, ct, t.Apply(opZMul, t.sumTo(ct, []int{a.along()}, true), s))
		}},
	{As: &opOneHotMax, Name: "one_hot_max", Args: "x", Hidden: true, Doc: "1 at the first largest of each row", Stops: "argmax", Lead: true,
		Run: runOneHotMax},
}

// logsumexp is the logarithm of the sum of the exponentials of a row, measured by its largest
// number.
func logsumexp(x []float64) float64 {
	m := kernels.Max(x)
	if math.IsInf(m, 0) || m != m {
		return m
	}
	return m + logsumexpOver(x, m)
}

// logsumexpOver is the logsumexp of x counted from its largest element m. The largest term is
// exactly 1: log1p of the others keeps what 1 + others would lose.
func logsumexpOver(x []float64, m float64) float64 {
	return kernels.Log1pOf(kernels.SumExpRest(x, m))
}

// softmax is that of one row, or the weights of its logsumexp.
func softmax(dst, x []float64, weights bool) {
	m := kernels.Max(x)
	switch {
	case weights && math.IsInf(m, -1):
		clear(dst)
		return
	case weights && math.IsInf(m, 1):
		k := 0.0
		for _, v := range x {
			if v == m {
				k++
			}
		}
		for i, v := range x {
			dst[i] = 0
			if v == m {
				dst[i] = 1 / k
			}
		}
		return
	}
	kernels.AddScalar(dst, x, -m)
	kernels.Exp(dst, dst)
	kernels.DivScalar(dst, dst, kernels.Sum(dst))
}

// softmaxAdj is s (g - Σ g s) with g counted from its value at the largest weight,
// which changes nothing in exact arithmetic and cancels nothing in ours: at
// z = [37.43, 0] with the cotangent [1, 0] it gives 5.55e-17 where 1 - s gives 0.
func softmaxAdj(t *Tape, r Ref, i int, ct Ref) Ref {
	ct = t.full(ct, r)
	a := t.Attr(r)
	axes := []int{a.along()}
	top := t.record(opOneHotMax, t.Shape(r), Attr{Axes: a.Axes}, t.stop(r, "the place of the largest weight"))
	g := t.Apply(opSub, ct, t.sumTo(t.Apply(opZMul, ct, top), axes, true))
	gs := t.sumTo(t.Apply(opZMul, g, r), axes, true)
	return t.Apply(opZMul, t.Apply(opSub, g, gs), r)
}

// logSoftmaxOver is the log_softmax of x, whose largest element is m and logsumexp m + l.
func logSoftmaxOver(dst, x []float64, m, l float64) {
	kernels.AddScalar(dst, x, -m)
	kernels.AddScalar(dst, dst, -l)
}

// softmaxes runs y, a logsumexp or log_softmax, and w, the softmax of the same argument, by the
// same exponentials, with the bits that each has alone. A gradient of logsumexp or log_softmax takes
// 0.5 to 0.8 of the time.
func (x *execution) softmaxes(y, w Ref) {
	t := x.t
	if t.size(w) == 0 {
		x.one(y)
		x.one(w)
		return
	}
	to := func(r Ref) []float64 {
		if t.single(r) {
			return t.num[r : r+1 : r+1]
		}
		return x.result(r)
	}
	p := softmaxPair{out: to(y), dst: to(w), n: last(t.Shape(w)), lines: t.ins[y].Op() == opLogSoftmax, weights: t.Attr(w).Flag}
	data, axis := x.data(x.p.same[t.Args(y)[0]]), t.Attr(y).along()
	shape := t.physical(t.Args(y)[0])
	switch {
	case axis == -1 && inSome(data, p.n, fewSoftmaxes):
		eachSome(x.threads(), data, p.n, func(s *stripe, at, rows int) { p.some(s, data, at, rows) })
	case inStripes(shape, axis):
		eachStripe(x.threads(), stripeWidth, data, shape, axis, p.stripe)
	default:
		pool.Split(x.threads(), len(data), len(data)/p.n, func(from, to int) {
			for i := from; i < to; i++ {
				p.row(data, i)
			}
		})
	}
	x.narrowed(y, w)
}

// A softmaxPair is two results of rows of n numbers: out is logsumexp, or lines of log_softmax; dst is
// softmax, or the weights of logsumexp.
type softmaxPair struct {
	out, dst       []float64
	n              int
	lines, weights bool
}

// some computes a few rows together.
func (p *softmaxPair) some(s *stripe, data []float64, at, rows int) {
	from, to := at*p.n, (at+rows)*p.n
	if p.lines {
		s.sumsExpOfRows(data[from:to], p.n, nil, p.out[from:to], p.dst[from:to], p.weights)
	} else {
		s.sumsExpOfRows(data[from:to], p.n, p.out[at:][:rows], nil, p.dst[from:to], p.weights)
	}
}

// stripe computes columns beside one another.
func (p *softmaxPair) stripe(s *stripe, line, at int) {
	if p.lines {
		s.sumsExp(nil, s.in(1, p.out, line), s.in(0, p.dst, line), p.weights)
		s.out(1, p.out, line)
	} else {
		s.sumsExp(p.out[at:][:s.w], nil, s.in(0, p.dst, line), p.weights)
	}
	s.out(0, p.dst, line)
}

// row computes row i.
func (p *softmaxPair) row(data []float64, i int) {
	n := p.n
	row, e := data[i*n:(i+1)*n], p.dst[i*n:(i+1)*n]
	m := kernels.Max(row)
	if m-m != 0 {
		softmax(e, row, p.weights)
		if p.lines {
			logSoftmaxOver(p.out[i*n:(i+1)*n], row, m, logsumexpOver(row, m))
		} else {
			p.out[i] = logsumexp(row)
		}
		return
	}
	kernels.AddScalar(e, row, -m)
	kernels.Exp(e, e)
	l := kernels.Log1pOf(kernels.SumRest(e, slices.Index(row, m)))
	kernels.DivScalar(e, e, kernels.Sum(e))
	if p.lines {
		logSoftmaxOver(p.out[i*n:(i+1)*n], row, m, l)
	} else {
		p.out[i] = m + l
	}
}

// narrowed rounds those of values that are float32.
func (x *execution) narrowed(rs ...Ref) {
	for _, r := range rs {
		if x.t.ins[r].dtype == tensor.Float32 {
			v := x.data(r)
			kernelsFloat32(v, v)
		}
	}
}

// weights lowers f(x, axis) for weights, which keep the shape of x; among several axes, and
// among all where None is written, as along one.
func (c *call) weights(op *Op) value {
	among := func(c *call, x Ref) Ref { return c.t.record(op, c.t.Shape(x), Attr{}, c.t.asFloat(x)) }
	x := c.ref(0)
	s := c.t.Shape(x)
	if len(s) == 0 {
		return c.along(among)
	}
	axes := c.axes(1, s)
	if y, axis, ok := c.t.byColumns(x, axes); ok {
		y = c.t.asFloat(y)
		return c.t.reshape(c.t.record(op, c.t.Shape(y), Attr{Axes: []int{axis}}, y), s)
	}
	if len(axes) == 1 {
		return c.along(among)
	}
	return c.t.backFrom(among(c, c.t.lastAxis(x, axes)), s, axes)
}
