package referee

import (
	"math"
	"slices"
	"sort"
	"sync"

	"nabla/tape/tensor"
)

// fibres collects, for every result of a reduction, the elements it is made of.
func fibres(t *tensor.Tensor, axes []bool) (kept tensor.Shape, groups [][]float64) {
	kept = make(tensor.Shape, len(t.Shape))
	for i, d := range t.Shape {
		kept[i] = d
		if axes[i] {
			kept[i] = 1
		}
	}
	groups = make([][]float64, kept.Size())
	probe := &tensor.Tensor{Shape: kept}
	walk(t.Shape, func(i int, pos []int) {
		o := offset(probe, pos)
		groups[o] = append(groups[o], t.Data[i])
	})
	return kept, groups
}

// reduce makes a reduction of a function of the elements; more holds what else it reads.
func reduce(d tensor.DType, f func(c *call, v []float64) float64) func(*call) any {
	return func(c *call) any {
		x := c.tensor(0, "x", "a")
		axes := c.axes(1, len(x.Shape))
		keep := c.flag(2, false, "keepdims", "keep_dims", "keepdim")
		shape, groups := fibres(x, axes)
		out := &tensor.Tensor{DType: d, Shape: shape, Data: make([]float64, len(groups))}
		for i, g := range groups {
			out.Data[i] = f(c, g)
		}
		if len(groups) == 0 {
			f(c, nil)
		}
		if !keep {
			out.Shape = drop(shape, axes)
		}
		return out
	}
}

func drop(s tensor.Shape, axes []bool) tensor.Shape {
	out := tensor.Shape{}
	for i, d := range s {
		if !axes[i] {
			out = append(out, d)
		}
	}
	return out
}

// along makes an operation on the vectors along one axis; n is the length of its
// results, which f fills.
func along(t *tensor.Tensor, axis int, length func(n int) int, f func(dst, src []float64)) *tensor.Tensor {
	n := t.Shape[axis]
	shape := append(tensor.Shape{}, t.Shape...)
	shape[axis] = length(n)
	out := blank(t.DType, shape)
	inner := tensor.Shape(t.Shape[axis+1:]).Size()
	outer := tensor.Shape(t.Shape[:axis]).Size()
	src, dst := make([]float64, n), make([]float64, shape[axis])
	for o := range outer {
		for k := range inner {
			for i := range src {
				src[i] = t.Data[(o*n+i)*inner+k]
			}
			f(dst, src)
			for i := range dst {
				out.Data[(o*len(dst)+i)*inner+k] = dst[i]
			}
		}
	}
	return out
}

func sameLength(n int) int { return n }

// over makes an operation that keeps the shape and runs over the last axis, or over those that are named,
// None being all of them.
func over(f func(c *call, dst, src []float64)) func(*call) any {
	return func(c *call) any {
		x := c.tensor(0, "x", "a")
		kept, groups := fibres(x, c.lines(1, len(x.Shape)))
		for i, src := range groups {
			groups[i] = make([]float64, len(src))
			f(c, groups[i], src)
		}
		out, probe := blank(tensor.Float64, x.Shape), &tensor.Tensor{Shape: kept}
		walk(x.Shape, func(i int, pos []int) { // the order in which fibres took them
			o := offset(probe, pos)
			out.Data[i], groups[o] = groups[o][0], groups[o][1:]
		})
		return out
	}
}

// plainSum adds with Neumaier's compensation: differencing divides its error by the step.
func plainSum(v []float64) float64 {
	s, c := 0.0, 0.0
	for _, x := range v {
		t := s + x
		if math.Abs(s) >= math.Abs(x) {
			c += (s - t) + x
		} else {
			c += (x - t) + s
		}
		s = t
	}
	if math.IsNaN(c) || math.IsInf(c, 0) || math.IsInf(s, 0) {
		return s
	}
	return s + c
}

func mean(v []float64) float64 { return plainSum(v) / float64(len(v)) }

func variance(c *call, v []float64) float64 {
	ddof := c.number(-1, 0, "ddof", "correction")
	m := mean(v)
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = (x - m) * (x - m)
	}
	return plainSum(d) / (float64(len(v)) - ddof)
}

func extreme(v []float64, better func(x, y float64) float64) float64 {
	if len(v) == 0 {
		fail("an extreme of no elements")
	}
	out := v[0]
	for _, x := range v[1:] {
		out = better(out, x)
	}
	return out
}

func logsumexp(v []float64) float64 {
	if len(v) == 0 {
		return math.Inf(-1)
	}
	m := extreme(v, maximum)
	if math.IsInf(m, 0) || math.IsNaN(m) {
		return m
	}
	e := make([]float64, len(v))
	for i, x := range v {
		e[i] = math.Exp(x - m)
	}
	return m + math.Log(plainSum(e))
}

// norm2 is scaled, so that it neither overflows nor underflows.
func norm2(v []float64) float64 {
	big := 0.0
	for _, x := range v {
		big = maximum(big, math.Abs(x))
	}
	if big == 0 || math.IsInf(big, 0) || math.IsNaN(big) {
		return big
	}
	sq := make([]float64, len(v))
	for i, x := range v {
		sq[i] = (x / big) * (x / big)
	}
	return big * math.Sqrt(plainSum(sq))
}

func norm(v []float64, p float64) float64 {
	switch {
	case p == 2:
		return norm2(v)
	case math.IsInf(p, 1):
		out := 0.0
		for _, x := range v {
			out = maximum(out, math.Abs(x))
		}
		return out
	case math.IsInf(p, -1):
		out := math.Inf(1)
		for _, x := range v {
			out = minimum(out, math.Abs(x))
		}
		return out
	}
	terms := make([]float64, len(v))
	for i, x := range v {
		if terms[i] = math.Pow(math.Abs(x), p); p == 0 {
			terms[i] = b2f(x != 0)
		}
	}
	if p == 0 {
		return plainSum(terms)
	}
	return math.Pow(plainSum(terms), 1/p)
}

func product(v []float64) float64 {
	p := 1.0
	for _, x := range v {
		p *= x
	}
	return p
}

// argExtreme is the first place of the extreme; NaN wins.
func argExtreme(v []float64, better func(x, y float64) float64) float64 {
	m := extreme(v, better)
	for i, x := range v {
		if x == m || math.IsNaN(x) {
			return float64(i)
		}
	}
	return 0
}

func order(v []float64) []int {
	idx := make([]int, len(v))
	for i := range idx {
		idx[i] = i
	}
	sort.SliceStable(idx, func(a, b int) bool {
		x, y := v[idx[a]], v[idx[b]]
		return x < y || math.IsNaN(y) && !math.IsNaN(x)
	})
	return idx
}

func sorted(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, k := range order(v) {
		out[i] = v[k]
	}
	return out
}

// quantile interpolates linearly between the sorted elements.
func quantile(v []float64, q float64) float64 {
	s := sorted(v)
	if !(q >= 0 && q <= 1) {
		fail("the quantile %v", q)
	}
	if len(s) == 0 || math.IsNaN(s[len(s)-1]) {
		return math.NaN()
	}
	p := q * float64(len(s)-1)
	i := min(int(p), len(s)-1)
	j := min(i+1, len(s)-1)
	if i == j || p == float64(i) {
		return s[i]
	}
	return s[i] + (p-float64(i))*(s[j]-s[i])
}

// scanned makes an operation that keeps the shape and runs along one axis, the
// last by default; without axes the tensor is one vector.
func scanned(f func(c *call, dst, src []float64)) func(*call) any {
	return func(c *call) any {
		x := c.tensor(0, "x", "a")
		scalar := len(x.Shape) == 0
		if scalar {
			x = tensor.From(x.Data, 1)
		}
		out := along(x, c.axis(1, len(x.Shape), -1), sameLength, func(dst, src []float64) { f(c, dst, src) })
		out.DType = tensor.Float64
		if scalar {
			out.Shape = nil
		}
		return out
	}
}

// running is cumsum and its kin: without an axis the tensor is flattened, as in NumPy.
func running(f func(acc, x float64) float64) func(*call) any {
	return func(c *call) any {
		x := c.tensor(0, "x", "a")
		axis := 0
		if c.arg(1, "axis", "dim") == nil {
			x = tensor.From(x.Data, len(x.Data))
		} else {
			axis = c.axis(1, len(x.Shape), 0)
		}
		return accumulated(x, axis, f)
	}
}

// runningAlong is running where one axis is meant without a word.
func runningAlong(axis int, f func(acc, x float64) float64) func(*call) any {
	return func(c *call) any {
		x := c.tensor(0, "x", "a")
		if c.given(1, "axis", "dim") && c.arg(1, "axis", "dim") == nil {
			return accumulated(tensor.From(x.Data, len(x.Data)), 0, f)
		}
		return accumulated(x, c.axis(1, len(x.Shape), axis), f)
	}
}

func accumulated(x *tensor.Tensor, axis int, f func(acc, x float64) float64) *tensor.Tensor {
	out := along(x, axis, sameLength, func(dst, src []float64) {
		acc := math.NaN()
		for i, v := range src {
			if i == 0 {
				acc = v
			} else {
				acc = f(acc, v)
			}
			dst[i] = acc
		}
	})
	out.DType = tensor.Float64
	return out
}

var reduceOps = sync.OnceValue(func() map[string]func(*call) any {
	return map[string]func(*call) any{
		"sum":  reduce(tensor.Float64, func(_ *call, v []float64) float64 { return plainSum(v) }),
		"mean": reduce(tensor.Float64, func(_ *call, v []float64) float64 { return mean(v) }),
		"average": func(c *call) any {
			x, w := c.tensor(0, "x", "a"), c.arg(2, "weights")
			if w != nil {
				unsupported("average with weights")
			}
			inner := &call{name: "mean", pos: []any{x}, kw: map[string]any{"keepdims": c.flag(3, false, "keepdims")}}
			if axis := c.arg(1, "axis", "dim"); axis != nil {
				inner.kw["axis"] = axis
			}
			return inner.do()
		},
		"prod":      reduce(tensor.Float64, func(_ *call, v []float64) float64 { return product(v) }),
		"var":       reduce(tensor.Float64, variance),
		"std":       reduce(tensor.Float64, func(c *call, v []float64) float64 { return math.Sqrt(variance(c, v)) }),
		"logsumexp": reduce(tensor.Float64, func(_ *call, v []float64) float64 { return logsumexp(v) }),
		"logmeanexp": reduce(tensor.Float64, func(_ *call, v []float64) float64 {
			return logsumexp(v) - math.Log(float64(len(v)))
		}),
		"median":        reduce(tensor.Float64, func(_ *call, v []float64) float64 { return quantile(v, 0.5) }),
		"ptp":           reduce(tensor.Float64, func(_ *call, v []float64) float64 { return extreme(v, maximum) - extreme(v, minimum) }),
		"nansum":        reduce(tensor.Float64, func(_ *call, v []float64) float64 { return plainSum(numbers(v)) }),
		"nanmean":       reduce(tensor.Float64, func(_ *call, v []float64) float64 { return mean(numbers(v)) }),
		"any":           reduce(tensor.Bool, func(_ *call, v []float64) float64 { return b2f(count(v) > 0) }),
		"all":           reduce(tensor.Bool, func(_ *call, v []float64) float64 { return b2f(count(v) == len(v)) }),
		"count_nonzero": reduce(tensor.Int64, func(_ *call, v []float64) float64 { return float64(count(v)) }),
		"count": func(c *call) any {
			x := c.tensor(0, "x")
			n := 1
			for k, joined := range c.axes(1, len(x.Shape)) {
				if joined {
					n *= x.Shape[k]
				}
			}
			return float64(n)
		},
		"max": extremeOp(maximum), "min": extremeOp(minimum),
		"amax": extremeOver(maximum), "amin": extremeOver(minimum),
		"norm": func(c *call) any {
			// NumPy's order of arguments: norm(x, ord, axis, keepdims).
			x := c.tensor(0, "x", "a")
			p := c.arg(1, "ord", "p", "order")
			axes := c.arg(2, "axis", "dim")
			keep := c.flag(3, false, "keepdims", "keep_dims")
			inner := &call{name: "norm", pos: []any{x}, kw: map[string]any{"keepdims": keep}}
			if axes != nil {
				inner.kw["axis"] = axes
			}
			ord := 2.0
			if s, ok := p.(string); ok {
				if s != "fro" {
					unsupported("norm of order " + s)
				}
			} else if p != nil {
				ord = number(p)
				if (axes == nil && len(x.Shape) > 1) || (axes != nil && len(integers(axes)) > 1) {
					unsupported("norm of a matrix with an order")
				}
			}
			return reduce(tensor.Float64, func(_ *call, v []float64) float64 { return norm(v, ord) })(inner)
		},
		"quantile": func(c *call) any {
			x, qs := c.tensor(0, "x", "a"), c.tensor(1, "q")
			axes := c.axes(2, len(x.Shape))
			shape, groups := fibres(x, axes)
			if !c.flag(3, false, "keepdims") {
				shape = drop(shape, axes)
			}
			out := tensor.New(append(slices.Clone(qs.Shape), shape...)...)
			for k, q := range qs.Data {
				for i, g := range groups {
					out.Data[k*len(groups)+i] = quantile(g, q)
				}
			}
			return out
		},
		"cumsum":       running(func(a, x float64) float64 { return a + x }),
		"cumprod":      running(func(a, x float64) float64 { return a * x }),
		"cummax":       running(maximum),
		"cummin":       running(minimum),
		"logcumsumexp": runningAlong(-1, logaddexp), "cumulative_logsumexp": runningAlong(0, logaddexp),
		"softmax": over(func(_ *call, dst, src []float64) {
			l := logsumexp(src)
			m := extreme(src, maximum)
			e := make([]float64, len(src))
			for i, x := range src {
				e[i] = math.Exp(x - m)
			}
			if math.IsInf(m, 0) {
				for i, x := range src {
					dst[i] = math.Exp(x - l)
				}
				return
			}
			s := plainSum(e)
			for i := range src {
				dst[i] = e[i] / s
			}
		}),
		"log_softmax": over(func(_ *call, dst, src []float64) {
			l := logsumexp(src)
			for i, x := range src {
				dst[i] = x - l
			}
		}),
		"logsoftmax": over(func(_ *call, dst, src []float64) {
			l := logsumexp(src)
			for i, x := range src {
				dst[i] = x - l
			}
		}),
		"sort": scanned(func(c *call, dst, src []float64) {
			copy(dst, sorted(src))
			if c.flag(-1, false, "descending") {
				for i, j := 0, len(dst)-1; i < j; i, j = i+1, j-1 {
					dst[i], dst[j] = dst[j], dst[i]
				}
			}
		}),
		"argsort": scanned(func(_ *call, dst, src []float64) {
			for i, k := range order(src) {
				dst[i] = float64(k)
			}
		}),
		"argmax": argOp(maximum), "argmin": argOp(minimum),
		"clip_by_norm": func(c *call) any {
			x, limit := c.tensor(0, "x", "t"), toTensor(c.need(1, "limit", "clip_norm", "max_norm"))
			shape, groups := fibres(x, c.axes(2, len(x.Shape)))
			n := tensor.New(shape...)
			for i, g := range groups {
				n.Data[i] = norm2(g)
			}
			return zip(tensor.Float64, func(v []float64) float64 {
				if v[1] <= v[2] {
					return v[0]
				}
				return v[0] * v[2] / v[1]
			}, x, n, limit)
		},
		"normalize": normalised,
		"l2_normalize": func(c *call) any {
			x := c.tensor(0, "x", "a")
			floor := math.Sqrt(c.number(2, 1e-12, "eps"))
			shape, groups := fibres(x, c.axes(1, len(x.Shape)))
			n := tensor.New(shape...)
			for i, g := range groups {
				n.Data[i] = maximum(norm2(g), floor)
			}
			return zip(tensor.Float64, func(v []float64) float64 { return v[0] / v[1] }, x, n)
		},
		"diff": func(c *call) any {
			x, n := c.tensor(0, "x", "a"), c.integer(1, 1, "n")
			axis := c.axis(2, len(x.Shape), -1)
			for range n {
				x = along(x, axis, func(n int) int { return max(n-1, 0) }, func(dst, src []float64) {
					for i := range dst {
						dst[i] = src[i+1] - src[i]
					}
				})
			}
			return x
		},
	}
})

func normalised(c *call) any {
	return over(func(c *call, dst, src []float64) {
		n := maximum(norm2(src), c.number(2, 1e-12, "eps"))
		for i, x := range src {
			dst[i] = x / n
		}
	})(c)
}

// extremeOp is max or min: of one argument a reduction, of several elementwise.
func extremeOp(better func(x, y float64) float64) func(*call) any {
	over := extremeOver(better)
	return func(c *call) any {
		if len(c.pos) < 2 {
			return over(c)
		}
		var ts []*tensor.Tensor
		for _, a := range c.rest(0) {
			ts = append(ts, toTensor(a))
		}
		return zip(tensor.Float64, func(v []float64) float64 { return extreme(v, better) }, ts...)
	}
}

func extremeOver(better func(x, y float64) float64) func(*call) any {
	return reduce(tensor.Float64, func(_ *call, v []float64) float64 { return extreme(v, better) })
}

func argOp(better func(x, y float64) float64) func(*call) any {
	return func(c *call) any {
		x := c.tensor(0, "x", "a")
		axes := c.axes(1, len(x.Shape))
		shape, groups := fibres(x, axes)
		if !c.flag(2, false, "keepdims") {
			shape = drop(shape, axes)
		}
		out := &tensor.Tensor{DType: tensor.Int64, Shape: shape, Data: make([]float64, len(groups))}
		for i, g := range groups {
			out.Data[i] = argExtreme(g, better)
		}
		return out
	}
}

func count(v []float64) int {
	n := 0
	for _, x := range v {
		if x != 0 {
			n++
		}
	}
	return n
}

func numbers(v []float64) []float64 {
	var out []float64
	for _, x := range v {
		if !math.IsNaN(x) {
			out = append(out, x)
		}
	}
	return out
}
