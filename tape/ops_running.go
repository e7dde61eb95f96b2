package tape

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/tensor"
)

var opCumsum, opCumprod, opLogcumsumexp, opRecur, opRecurBack, opRunning *Op

var runningRows = []Op{
	{Name: "cummax", Args: "x, axis=None", Doc: "running largest", Call: func(c *call) value { return c.cumulative(func(t *Tape, x Ref) Ref { return t.running(x, 1) }) }, Note: "a tie is the first one's"},
	{Name: "cummin", Args: "x, axis=None", Doc: "running smallest", Call: func(c *call) value { return c.cumulative(func(t *Tape, x Ref) Ref { return t.running(x, -1) }) }, Note: "a tie is the first one's"},
	{As: &opCumsum, Name: "cumsum", Alias: []string{"cumulative_sum"}, Args: "x, axis=None", Doc: "running sums",
		Call: func(c *call) value {
			return c.cumulative(func(t *Tape, x Ref) Ref { return t.record(opCumsum, t.Shape(x), Attr{}, t.asNumber(x)) })
		},
		Lead: true, Links: linkAlong, Run: func(c *run) {
			c.eachLine(func(dst, x []float64) {
				s := 0.0
				for i, v := range x {
					s += v
					dst[i] = s
				}
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.reverse(t.record(opCumsum, t.Shape(r), Attr{}, t.reverse(t.full(ct, r))))
		}},
	{As: &opCumprod, Name: "cumprod", Alias: []string{"cumulative_prod"}, Args: "x, axis=None", Doc: "running products; its derivative divides by nothing",
		Call: func(c *call) value { return c.cumulative(func(t *Tape, x Ref) Ref { return t.cumprod(t.asNumber(x)) }) },
		Lead: true, Links: linkAlong, Run: func(c *run) {
			c.eachLine(func(dst, x []float64) {
				p := 1.0
				for i, v := range x {
					p = float64(p * v)
					dst[i] = p
				}
			})
		},
		// y_k = x_k y_{k-1}, so x̄_k = y_{k-1} s_k with s_k = ȳ_k + x_{k+1} s_{k+1}.
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			x := t.Args(r)[0]
			return t.Apply(opZMul, t.exclusive(r, 1), t.recurBack(x, t.full(ct, r)))
		}},
	{As: &opLogcumsumexp, Name: "logcumsumexp", Args: "x, axis=-1", Doc: "running logsumexp", Alias: []string{"cumulative_logsumexp", "cumlogsumexp"},
		Call: func(c *call) value {
			return c.along(func(c *call, x Ref) Ref { return c.t.record(opLogcumsumexp, c.t.Shape(x), Attr{}, c.t.asFloat(x)) })
		},
		Lead: true, Links: linkAlong, Run: func(c *run) { c.eachLine(logcumsumexp) },
		// exp(y_k) = exp(x_k) + exp(y_{k-1}), so x̄_k = exp(x_k - y_k) s_k with
		// s_k = ȳ_k + exp(y_k - y_{k+1}) s_{k+1}.
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			x := t.Args(r)[0]
			share := func(a Ref) Ref { return t.apply("exp", t.apply("gap", a, r)) }
			w := t.Apply(opWhere, t.apply("equal", r, t.Const(math.Inf(-1))), t.Const(0), share(x))
			return t.Apply(opZMul, w, t.recurBack(share(t.exclusive(r, math.Inf(-1))), t.full(ct, r)))
		}},
	{Name: "diff", Args: "x, n=1, axis=-1", Doc: "differences of neighbours, n times", Call: func(c *call) value {
		if r, ok := c.vals[1].(Ref); ok && c.t.size(r) != 1 {
			c.lo.advise(c.where(1), "type", noDerivative, "how often is one number, this is a tensor")
		}
		times := c.int(1)
		if times < 0 {
			c.lo.fail(c.where(1), "type", "diff cannot be taken %d times", times)
		}
		x, axis := c.lineOf(2)
		if n := c.t.Shape(x)[len(c.t.Shape(x))+axis]; times > n {
			c.fail("shape", "diff of too few elements: shape %v", c.t.Shape(c.ref(0)))
		}
		for range times {
			n := c.t.Shape(x)[len(c.t.Shape(x))+axis]
			x = c.t.Apply(opSub, c.t.slice(x, axis, 1, n, 1), c.t.slice(x, axis, 0, n-1, 1))
		}
		return x
	}},
	// opRecur and opRecurBack are linear recurrences along the last axis, each the
	// transpose of the other: s_k = b_k + a_k s_{k-1} and s_k = b_k + a_{k+1} s_{k+1}.
	{As: &opRecur, Name: "recur", Args: "a, b", Hidden: true, Doc: "s[k] = b[k] + a[k] s[k-1]", Run: func(c *run) { c.recur(false) }, Links: linkAlong,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a := t.Args(r)[0]
			l := t.recurBack(a, t.full(ct, r))
			if i == 1 {
				return l
			}
			return t.Apply(opMul, l, t.exclusive(r, 0))
		}},
	{As: &opRecurBack, Name: "recur_back", Args: "a, b", Hidden: true, Doc: "s[k] = b[k] + a[k+1] s[k+1]", Run: func(c *run) { c.recur(true) }, Links: linkAlong,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a := t.Args(r)[0]
			l := t.record(opRecur, t.Shape(r), Attr{}, a, t.full(ct, r))
			if i == 1 {
				return l
			}
			return t.Apply(opMul, t.exclusive(l, 0), r)
		}},
	{As: &opRunning, Name: "running", Args: "x", Hidden: true, Doc: "the place of the best so far along the last axis", Stops: "argmax", Lead: true,
		Run: func(c *run) {
			n := last(c.shape)
			for i := 0; n > 0 && i < len(c.out); i += n {
				best := 0
				for k := range n {
					v, b := c.args[0][i+k], c.args[0][i+best]
					if c.attr.Num*v > c.attr.Num*b || v != v && b == b || c.attr.Flag && (v == b || v != v) { // NaN stays
						best = k
					}
					c.out[i+k] = float64(best)
				}
			}
		}},
}

// cumulative lowers f(x, axis): without an axis the flattened tensor, as NumPy.
func (c *call) cumulative(f func(t *Tape, x Ref) Ref) value {
	x := c.ref(0)
	if !c.given(1) {
		return f(c.t, c.t.reshape(x, tensor.Shape{c.t.Shape(x).Size()}))
	}
	a := c.axis(c.int(1), len(c.t.Shape(x)), 1)
	return c.t.swap(f(c.t, c.t.swap(x, a, -1)), a, -1)
}

// logcumsumexp keeps the largest so far apart from the others, as logsumexp does.
func logcumsumexp(dst, x []float64) {
	m, others := 0.0, 0.0
	for i, v := range x {
		switch {
		case i == 0:
			m = v
		case v == m:
			others++
		case v > m:
			others = (others + 1) * kernels.ExpOf(m-v)
			m = v
		default:
			others += kernels.ExpOf(v - m)
		}
		dst[i] = m + kernels.Log1pOf(others)
	}
}

func (t *Tape) cumprod(x Ref) Ref { return t.record(opCumprod, t.Shape(x), Attr{}, x) }

func (t *Tape) recurBack(a, b Ref) Ref { return t.record(opRecurBack, t.Shape(b), Attr{}, a, b) }

// exclusive shifts a running result by one along the last axis: element k is what
// element k-1 was, the first is v.
func (t *Tape) exclusive(r Ref, v float64) Ref {
	s := slices.Clone(t.Shape(r))
	n := last(s)
	if n == 0 {
		return r
	}
	s[len(s)-1] = 1
	first := t.broadcastTo(t.Const(v), s)
	if n == 1 {
		return first
	}
	return t.concat([]Ref{first, t.slice(r, -1, 0, n-1, 1)}, len(s)-1)
}

func (c *run) recur(back bool) {
	n := last(c.shape)
	for i := 0; n > 0 && i < len(c.out); i += n {
		a, b, s := c.args[0][i:i+n], c.args[1][i:i+n], c.out[i:i+n]
		if back {
			s[n-1] = b[n-1]
			for k := n - 2; k >= 0; k-- {
				s[k] = math.FMA(a[k+1], s[k+1], b[k])
			}
			continue
		}
		s[0] = b[0]
		for k := 1; k < n; k++ {
			s[k] = math.FMA(a[k], s[k-1], b[k])
		}
	}
}

// running picks, at each place of the last axis, the first best so far; with PyTorch's
// conventions the last.
func (t *Tape) running(x Ref, sign float64) Ref {
	return t.takeAlong(x, t.recordAs(opRunning, t.Shape(x), tensor.Int64, Attr{Num: sign, Flag: t.Conventions == "torch"}, x))
}
