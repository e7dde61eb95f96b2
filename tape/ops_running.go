package tape

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

var opCumsum, opCumprod, opLogcumsumexp, opLogcumsumexpRest, opRecur, opRecurBack, opRunning *Op

var runningRows = []Op{
	{Name: "cummax", Args: "x, #axis=None", Doc: "running largest", Call: func(c *call) value { return c.runningBest(1) }, Note: "a tie is the first one's"},
	{Name: "cummin", Args: "x, #axis=None", Doc: "running smallest", Call: func(c *call) value { return c.runningBest(-1) }, Note: "a tie is the first one's"},
	{As: &opCumsum, Name: "cumsum", Switches: [2]string{"backwards"}, Alias: []string{"cumulative_sum"}, Args: "x, #axis=None", Doc: "running sums",
		Call: func(c *call) value {
			return c.cumulative(func(t *Tape, x Ref, axis int) Ref {
				return t.record(opCumsum, t.Shape(x), runningAlong(axis, false), t.asNumber(x))
			})
		},
		Lead: true, Links: linkLines, Run: func(c *run) { c.accumulate(0, kernels.Add, cumsums) }, Terms: (*factoring).runningSum,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a := t.Attr(r)
			return t.record(opCumsum, t.Shape(r), runningAlong(a.along(), !a.Flag), t.full(ct, r))
		}},
	{As: &opCumprod, Name: "cumprod", Switches: [2]string{"backwards"}, Alias: []string{"cumulative_prod"}, Args: "x, #axis=None", Doc: "running products; its derivative divides by nothing",
		Call: func(c *call) value {
			return c.cumulative(func(t *Tape, x Ref, axis int) Ref { return t.cumprod(t.asNumber(x), axis, false) })
		},
		Lead: true, Links: linkLines, Run: func(c *run) { c.accumulate(1, kernels.Mul, cumprods) },
		// y_k = x_k y_{k-1}, so x̄_k = y_{k-1} s_k with s_k = ȳ_k + x_{k+1} s_{k+1}.
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.Apply(opZMul, t.exclusive(r, r, 1), t.recurs(opRecurBack, r, t.Args(r)[0], ct))
		}},
	{As: &opLogcumsumexp, Name: "logcumsumexp", Args: "x, #axis=-1", Doc: "running logsumexp",
		Call: func(c *call) value {
			return c.along(func(c *call, x Ref) Ref { return c.t.record(opLogcumsumexp, c.t.Shape(x), Attr{}, c.t.asFloat(x)) })
		},
		Lead: true, Links: linkLines, Run: func(c *run) { c.eachLine(logcumsumexp) }, Adj: logcumsumexpAdj},
	{Name: "cumulative_logsumexp", Alias: []string{"cumlogsumexp"}, Args: "x, #axis=0", Doc: "logcumsumexp along the leading axis", Body: "logcumsumexp(x, axis)"},
	{As: &opLogcumsumexpRest, Name: "logcumsumexp_rest", Args: "x", Hidden: true, Doc: "logcumsumexp less the running largest, as far as that is a constant",
		Lead: true, Links: linkLines, Run: func(c *run) { c.eachLine(logcumsumexpRest) }, Adj: logcumsumexpAdj},
	{Name: "diff", Args: "x, #n=1, #axis=-1", Doc: "differences of neighbours, n times", Call: func(c *call) value {
		if r, ok := c.vals[1].(Ref); ok && c.t.size(r) != 1 {
			c.lo.advise(c.where(1), "type", noDerivative, "how often is one number, this is a tensor")
		}
		times := c.int(1)
		if times < 0 {
			c.lo.fail(c.where(1), "type", "diff cannot be taken %d times", times)
		}
		x, axis := c.lineOf(2)
		n := c.t.Shape(x)[len(c.t.Shape(x))+axis]
		if n == 0 {
			return x // as NumPy has it, of nothing there are no differences
		}
		if times > n {
			c.fail("shape", "diff of too few elements: shape %v", c.t.Shape(c.ref(0)))
		}
		for ; times > 0; times-- {
			x = c.t.Apply(opSub, c.t.slice(x, axis, 1, n, 1), c.t.slice(x, axis, 0, n-1, 1))
			n--
		}
		return x
	}},
	// opRecur and opRecurBack are linear recurrences along an axis, each the transpose of the
	// other: s_k = b_k + a_k s_{k-1} and s_k = b_k + a_{k+1} s_{k+1}; backwards, the other way round.
	{As: &opRecur, Name: "recur", Switches: [2]string{"backwards"}, Args: "a, b", Hidden: true, Doc: "s[k] = b[k] + a[k] s[k-1]", Lead: true, Run: func(c *run) { c.recur(c.attr.Flag, 0) }, Linear: []int{1}, Zeros: func(c *run) { c.zerosOfRecurrence(c.attr.Flag, 0) }, Links: linkLines,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			l := t.recurs(opRecurBack, r, t.Args(r)[0], ct)
			if i == 1 {
				return l
			}
			return t.Apply(opZMul, l, t.exclusive(r, r, 0))
		}},
	{As: &opRecurBack, Name: "recur_back", Switches: [2]string{"backwards"}, Args: "a, b", Hidden: true, Doc: "s[k] = b[k] + a[k+1] s[k+1]", Lead: true, Run: func(c *run) { c.recur(!c.attr.Flag, 1) }, Linear: []int{1}, Zeros: func(c *run) { c.zerosOfRecurrence(!c.attr.Flag, 1) }, Links: linkLines,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			l := t.recurs(opRecur, r, t.Args(r)[0], ct)
			if i == 1 {
				return l
			}
			return t.Apply(opZMul, t.exclusive(l, r, 0), r)
		}},
	{As: &opRunning, Name: "running", Switches: [2]string{"last"}, Args: "x", Hidden: true, Doc: "the place of the best so far along the last axis", Stops: "argmax", Lead: true,
		Run: func(c *run) {
			sign, late := c.attr.Num, c.attr.Flag
			c.eachLine(func(dst, x []float64) {
				best, at := sign*x[0], 0
				for k, v := range x {
					v *= sign
					if !(v < best) && (v > best || v != v && (late || best == best) || late && v == best) { // NaN stays
						best, at = v, k
					}
					dst[k] = float64(at)
				}
			})
		}},
}

// cumulative lowers f(x, axis): without an axis the flattened tensor, as NumPy.
func (c *call) cumulative(f func(t *Tape, x Ref, axis int) Ref) value {
	x := c.ref(0)
	if !c.given(1) {
		return f(c.t, c.t.reshape(x, tensor.Shape{c.t.Shape(x).Size()}), -1)
	}
	a := c.axis(c.int(1), len(c.t.Shape(x)), 1)
	if _, _, ok := c.t.byColumns(x, []int{a}); ok {
		return f(c.t, x, a)
	}
	return c.t.swap(f(c.t, c.t.swap(x, a, -1), -1), a, -1)
}

// runningBest lowers cummax, of sign 1, and cummin, of sign -1.
func (c *call) runningBest(sign float64) value {
	return c.cumulative(func(t *Tape, x Ref, axis int) Ref {
		x = t.swap(x, axis, -1)
		return t.swap(t.ordered(x, t.runningPlaces(x, sign)), axis, -1)
	})
}

// runningAlong is the attribute of an operation that runs along an axis, backwards if that is said.
func runningAlong(axis int, back bool) Attr {
	if axis == -1 {
		return Attr{Flag: back}
	}
	return Attr{Axes: []int{axis}, Flag: back}
}

// logcumsumexpAdj is the cotangent of x: exp(y_k) = exp(x_k) + exp(y_{k-1}), so x̄_k = exp(x_k - y_k) s_k
// with s_k = ȳ_k + exp(y_k - y_{k+1}) s_{k+1}. With y = m + rest the differences are those of running
// maxima, which are exact, and of rests, which are small: y itself rounds as large numbers do.
func logcumsumexpAdj(t *Tape, r Ref, _ int, ct Ref) Ref {
	x := t.Args(r)[0]
	m := t.apply("stop_gradient", t.running(x, 1))
	rest := t.record(opLogcumsumexpRest, t.Shape(x), Attr{}, x)
	gap := func(a, b Ref) Ref { return t.apply("gap", a, b) }
	w := t.apply("exp", gap(gap(x, m), rest))
	w = t.Apply(opWhere, t.apply("equal", m, t.Const(math.Inf(-1))), t.Const(0), w)
	stays := t.apply("exp", gap(gap(t.exclusive(m, r, math.Inf(-1)), m), gap(rest, t.exclusive(rest, r, 0))))
	return t.Apply(opZMul, w, t.recurs(opRecurBack, r, stays, ct))
}

// logcumsumexp keeps the largest so far apart from the others, as logsumexp does.
func logcumsumexp(dst, x []float64) {
	runExponentials(x, func(i int, m, rest float64) { dst[i] = m + rest })
}

func logcumsumexpRest(dst, x []float64) {
	runExponentials(x, func(i int, _, rest float64) { dst[i] = rest })
}

// runExponentials gives the largest of x so far, and what logsumexp is more.
func runExponentials(x []float64, give func(i int, m, rest float64)) {
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
		give(i, m, kernels.Log1pOf(others))
	}
}

func (t *Tape) cumprod(x Ref, axis int, back bool) Ref {
	return t.record(opCumprod, t.Shape(x), runningAlong(axis, back), x)
}

// recurs records a recurrence along the axis of r and in its direction, with the shape of r.
func (t *Tape) recurs(of *Op, r, a, b Ref) Ref {
	at := t.Attr(r)
	attr := runningAlong(at.along(), at.Flag)
	attr.Strong = t.strongly()
	return t.record(of, t.Shape(r), attr, a, t.full(b, r))
}

// exclusive shifts what runs as r does by one: element k is what element k-1 was, the first is v.
func (t *Tape) exclusive(x, r Ref, v float64) Ref {
	s, at := slices.Clone(t.Shape(x)), t.Attr(r)
	axis := at.along()
	k := len(s) + axis
	n := s[k]
	if n == 0 {
		return x
	}
	s[k] = 1
	first := t.broadcastTo(t.Const(v), s)
	switch {
	case n == 1:
		return first
	case at.Flag:
		return t.concat([]Ref{t.slice(x, axis, 1, n, 1), first}, k)
	}
	return t.concat([]Ref{first, t.slice(x, axis, 0, n-1, 1)}, k)
}

// runningWidth is how many columns run together: a row of them stays in the first cache until the next
// one is there.
const runningWidth = 512

// accumulate makes running results along an axis: of columns by a kernel, row after row, and of rows,
// which stand before a direction, by lines.
func (c *run) accumulate(first float64, pair func(dst, x, y []float64), lines func(dst, x []float64, n int, back bool)) {
	s, axis, back := c.shape, c.attr.along(), c.attr.Flag
	if axis == -1 {
		if n := last(s); n > 0 {
			pool.Split(c.threads, len(c.out), len(c.out)/n, func(from, to int) {
				lines(c.out[from*n:to*n], c.args[0][from*n:to*n], n, back)
			})
		}
		return
	}
	eachStripe(c.threads, runningWidth, c.args[0], s, axis, func(s *stripe, line, _ int) {
		before := s.lanes[:s.w]
		kernels.Fill(before, first)
		for i, step := onTheWay(s.n, back); i >= 0 && i < s.n; i += step {
			dst := s.row(c.out[line:], i)
			pair(dst, before, s.row(s.x, i))
			before = dst
		}
	})
}

// sideBySide is how many rows run at once: each waits for its last sum, but not for those of others.
const sideBySide = 4

// onTheWay is where the way through n elements begins, and from each to the next.
func onTheWay(n int, back bool) (i, step int) {
	if back {
		return n - 1, -1
	}
	return 0, 1
}

// cumsums writes the running sums of rows of n numbers.
func cumsums(dst, x []float64, n int, back bool) {
	for ; len(dst) >= sideBySide*n; dst, x = dst[sideBySide*n:], x[sideBySide*n:] {
		a, b, c, d := 0.0, 0.0, 0.0, 0.0
		for i, step := onTheWay(n, back); i >= 0 && i < n; i += step {
			a, b, c, d = a+x[i], b+x[i+n], c+x[i+2*n], d+x[i+3*n]
			dst[i], dst[i+n], dst[i+2*n], dst[i+3*n] = a, b, c, d
		}
	}
	for ; len(dst) > 0; dst, x = dst[n:], x[n:] {
		a := 0.0
		for i, step := onTheWay(n, back); i >= 0 && i < n; i += step {
			a += x[i]
			dst[i] = a
		}
	}
}

// cumprods writes the running products of rows of n numbers.
func cumprods(dst, x []float64, n int, back bool) {
	for ; len(dst) >= sideBySide*n; dst, x = dst[sideBySide*n:], x[sideBySide*n:] {
		a, b, c, d := 1.0, 1.0, 1.0, 1.0
		for i, step := onTheWay(n, back); i >= 0 && i < n; i += step {
			a, b, c, d = a*x[i], b*x[i+n], c*x[i+2*n], d*x[i+3*n]
			dst[i], dst[i+n], dst[i+2*n], dst[i+3*n] = a, b, c, d
		}
	}
	for ; len(dst) > 0; dst, x = dst[n:], x[n:] {
		a := 1.0
		for i, step := onTheWay(n, back); i >= 0 && i < n; i += step {
			a *= x[i]
			dst[i] = a
		}
	}
}

// recur runs s = b + a·s, where s is that of the element before on the way, and a that of the element
// itself or of so many before it.
func (c *run) recur(back bool, before int) {
	s, axis := c.shape, c.attr.along()
	if axis == -1 {
		n := last(s)
		if n == 0 {
			return
		}
		pool.Split(c.threads, len(c.out), len(c.out)/n, func(from, to int) {
			recurrences(c.out[from*n:to*n], c.args[0][from*n:to*n], c.args[1][from*n:to*n], n, back, before)
		})
		return
	}
	eachStripe(c.threads, runningWidth, c.args[1], s, axis, func(s *stripe, line, _ int) {
		row := func(x []float64, i int) []float64 { return s.row(x[line:], i) }
		i, step := onTheWay(s.n, back)
		if s.n > 0 {
			copy(row(c.out, i), row(c.args[1], i))
		}
		for range s.n - 1 {
			i += step
			kernels.FMA(row(c.out, i), row(c.args[0], i-before*step), row(c.out, i-step), row(c.args[1], i))
		}
	})
}

// recurrences is recur of rows of n numbers.
func recurrences(dst, a, b []float64, n int, back bool, before int) {
	first, step := onTheWay(n, back)
	lag := before * step
	for ; len(dst) >= sideBySide*n; dst, a, b = dst[sideBySide*n:], a[sideBySide*n:], b[sideBySide*n:] {
		i := first
		p, q, r, s := b[i], b[i+n], b[i+2*n], b[i+3*n]
		dst[i], dst[i+n], dst[i+2*n], dst[i+3*n] = p, q, r, s
		for range n - 1 {
			i += step
			k := i - lag
			p, q, r, s = math.FMA(a[k], p, b[i]), math.FMA(a[k+n], q, b[i+n]), math.FMA(a[k+2*n], r, b[i+2*n]), math.FMA(a[k+3*n], s, b[i+3*n])
			dst[i], dst[i+n], dst[i+2*n], dst[i+3*n] = p, q, r, s
		}
	}
	for ; len(dst) > 0; dst, a, b = dst[n:], a[n:], b[n:] {
		i := first
		p := b[i]
		dst[i] = p
		for range n - 1 {
			i += step
			p = math.FMA(a[i-lag], p, b[i])
			dst[i] = p
		}
	}
}

// running picks, at each place of the last axis, the first best so far; with PyTorch's
// conventions the last.
func (t *Tape) running(x Ref, sign float64) Ref {
	return t.takeAlong(x, t.runningPlaces(x, sign))
}

func (t *Tape) runningPlaces(x Ref, sign float64) Ref {
	return t.recordAs(opRunning, t.Shape(x), tensor.Int64, Attr{Num: sign, Flag: t.Conventions == "torch"}, x)
}
