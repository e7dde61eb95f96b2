package tape

import (
	"math"
	"slices"
)

// A seriesRun computes the coefficients of a series. They are those of the powers of
// t/2^scale: where they would leave the range, another scale keeps them in it.
type seriesRun struct {
	s     *series
	c     *run
	scale int
	at    []coefficients
	zeros []float64
	small bool // a product was too small for a float64

	shaken bool // values of functions are moved by up to half an ulp, each by another part
}

// coefficients are those of one value: of its elements for t^0, then for t^1, …
type coefficients struct {
	n, top int
	hi, lo []float64
}

// of is the k-th coefficient of element i, where there are n of them or one for all.
func (c *coefficients) of(k, i int) double {
	if k > c.top {
		return double{}
	}
	if c.n == 1 {
		i = 0
	}
	return double{c.hi[k*c.n+i], c.lo[k*c.n+i]}
}

func (c *coefficients) set(k, i int, v double) { c.hi[k*c.n+i], c.lo[k*c.n+i] = v.hi, v.lo }

// runTaylor computes a derivative, NaN where there is no series, and how far it moves with
// the rounding of the values that series begin with.
func runTaylor(c *run) {
	x := &seriesRun{s: c.attr.Series, c: c}
	c.out[0], c.out[1] = x.inRange(), 0
	if d := c.out[0]; d-d == 0 {
		x.shaken = true
		x.all()
		v, _ := x.derivative()
		c.out[1] = math.Abs(v - d)
	}
}

// inRange is the derivative, computed at the scale that keeps its coefficients in the range.
func (x *seriesRun) inRange() float64 {
	const tries = 4 // functions such as exp take three where 1/n! is no float64
	for range tries {
		x.all()
		v, ok := x.derivative()
		if ok && !x.small {
			return v
		}
		grown := x.growth()
		if grown == 0 {
			break
		}
		x.scale -= grown
	}
	x.all()
	if v, ok := x.derivative(); ok && v != 0 {
		return v
	}
	return math.NaN()
}

// all computes every coefficient.
func (x *seriesRun) all() {
	s := x.s
	x.small = false
	if x.at == nil {
		x.at = make([]coefficients, len(s.nodes))
		most := 0
		for i := range s.nodes {
			n := &s.nodes[i]
			most = max(most, n.size)
			m := n.size * (n.order + 1)
			both := make([]float64, 2*m)
			x.at[i] = coefficients{n: n.size, top: n.order, hi: both[:m:m], lo: both[m:]}
		}
		x.zeros = make([]float64, most)
	}
	for round := range s.rounds {
		if x.c.t.check != nil {
			x.c.t.check()
		}
		for i := range s.nodes {
			if k := round - s.nodes[i].lag; k >= 0 && k <= s.nodes[i].order {
				x.compute(int32(i), k)
			}
		}
	}
}

// derivative is n! times the last coefficient, if all are finite.
func (x *seriesRun) derivative() (float64, bool) {
	c := &x.at[x.s.target]
	for k := range x.s.order + 1 {
		if !c.of(k, 0).finite() {
			return 0, false
		}
	}
	v, e := c.of(x.s.order, 0), -x.scale*x.s.order
	for k := 2; k <= x.s.order; k++ {
		v = v.times(float64(k))
		if _, up := math.Frexp(v.hi); up > 100 || up < -100 {
			v = double{math.Ldexp(v.hi, -up), math.Ldexp(v.lo, -up)}
			e += up
		}
	}
	return math.Ldexp(v.hi, max(-1<<20, min(1<<20, e))), true
}

// growth is the base 2 logarithm of the factor by which coefficients grow from one to the
// next, in the fastest of the series that go on for ever.
func (x *seriesRun) growth() int {
	most := math.Inf(-1)
	for i := range x.s.nodes {
		c := &x.at[i]
		if rule := x.s.nodes[i].rule; rule == fixed || rule == ofSource || c.top < 2 {
			continue
		}
		for j := range c.n {
			last := 0
			for k := 1; k <= c.top && c.of(k, j).finite(); k++ {
				if c.of(k, j).hi != 0 {
					last = k
				}
			}
			if last > 0 {
				v, e := math.Frexp(c.of(last, j).hi)
				most = max(most, (float64(e)+math.Log2(math.Abs(v)))/float64(last))
			}
		}
	}
	if math.IsInf(most, 0) {
		return 0
	}
	return int(math.Round(most))
}

// compute finds the k-th coefficient of a node.
func (x *seriesRun) compute(i int32, k int) {
	n := &x.s.nodes[i]
	out := &x.at[i]
	switch n.rule {
	case fixed:
		copy(out.hi, x.c.args[n.value])
		return
	case ofSource:
		out.hi[k] = 1
		if k == 0 {
			out.hi[k] = x.c.args[n.value][0]
		} else {
			out.hi[k] = math.Ldexp(1, x.scale)
		}
		return
	case linear:
		if x.c.t.ins[n.r].Op() != opNeg {
			x.linear(n, out, k)
			return
		}
	case multiplied:
		if x.c.t.ins[n.r].Op() == opMatmul {
			x.matmul(n, out, k)
			return
		}
	case bySlope:
		if k == 0 && n.value < 0 {
			x.valueOf(n, out)
			return
		}
	}
	var arg [3]*coefficients
	for j, a := range n.args[:min(len(n.args), len(arg))] {
		arg[j] = &x.at[a]
	}
	for e := range out.n {
		v := x.element(n, out, arg, k, e).normal()
		if h := math.Abs(v.hi); h < 0x1p-960 && h > 0 {
			x.small = true
		}
		out.set(k, e, v)
	}
	if k > 0 {
		for _, hits := range n.kinks {
			for e := range out.n {
				if numberAt(x.c.args[hits], e) != 0 {
					out.set(k, e, double{math.NaN(), 0})
				}
			}
		}
	}
}

// numberAt is element i of numbers, or the only one.
func numberAt(data []float64, i int) float64 {
	if len(data) == 1 {
		return data[0]
	}
	return data[i]
}

// element is the k-th coefficient of element e of an elementwise value.
func (x *seriesRun) element(n *seriesNode, out *coefficients, arg [3]*coefficients, k, e int) double {
	value := func(j int) float64 { return numberAt(x.c.args[n.values[j]], e) }
	switch n.rule {
	case linear: // the only one here
		return arg[0].of(k, e).neg()
	case added:
		return arg[0].of(k, e).add(arg[1].of(k, e))
	case subtracted:
		return arg[0].of(k, e).add(arg[1].of(k, e).neg())
	case multiplied:
		from, to := max(0, k-arg[1].top), min(k, arg[0].top)
		return x.convolved(double{}, arg[0], arg[1], k, from, to, e, 1)
	case divided:
		sum := x.convolved(arg[0].of(k, e), arg[1], out, k, 1, min(k, arg[1].top), e, -1)
		return sum.normal().over(arg[1].of(0, e))
	case raised:
		return x.raised(n, out, arg[0], k, e)
	case chosen:
		if value(0) != 0 {
			return arg[1].of(k, e)
		}
		return arg[2].of(k, e)
	case largest, smallest:
		a, b := value(0), value(1)
		switch {
		case (a > b) == (n.rule == largest) && a != b && a == a && b == b:
			return arg[0].of(k, e)
		case a != b && a == a && b == b:
			return arg[1].of(k, e)
		}
		return x.onlyValue(n, k, e)
	case folded:
		switch a := value(0); {
		case a > 0:
			return arg[0].of(k, e)
		case a < 0:
			return arg[0].of(k, e).neg()
		}
		return x.onlyValue(n, k, e)
	case tangent:
		return arg[0].of(k+1, e).times(float64(k + 1))
	}
	if k > 0 {
		return x.at[n.slope].of(k-1, e).over(double{float64(k), 0})
	}
	// The value on the tape is that of rounded arguments.
	v := x.start(n, e)
	for j, p := range n.partials {
		if p < 0 {
			continue
		}
		if lost := arg[j].of(0, e).add(double{-value(j), 0}); lost.hi != 0 {
			if d := float64(numberAt(x.c.args[p], e) * lost.hi); d-d == 0 {
				v = v.add(double{d, 0})
			}
		}
	}
	return v
}

// start is the value of a function on the tape.
func (x *seriesRun) start(n *seriesNode, e int) double {
	v := double{numberAt(x.c.args[n.value], e), 0}
	if x.shaken {
		const golden = 0x9e3779b9 // 2^32 by the golden ratio
		v.lo = float64(v.hi * 0x1p-53 * float64(float64(int32(uint32(n.value+1)*golden))*0x1p-31))
	}
	return v
}

// onlyValue is the value at a kink, where there is no other coefficient.
func (x *seriesRun) onlyValue(n *seriesNode, k, e int) double {
	if k == 0 {
		return double{numberAt(x.c.args[n.value], e), 0}
	}
	return double{math.NaN(), 0}
}

// convolved adds to sum, with a sign, the products a_j b_{k-j} for j from from to to. What is
// 0 contributes 0.
func (x *seriesRun) convolved(sum double, a, b *coefficients, k, from, to, e int, sign float64) double {
	for j := from; j <= to; j++ {
		u, v := a.of(j, e), b.of(k-j, e)
		if u.hi == 0 || v.hi == 0 {
			continue
		}
		p := twoProduct(sign*u.hi, v.hi)
		if p.hi-p.hi != 0 {
			sum = double{sum.hi + p.hi, 0}
			continue
		}
		if math.Abs(p.hi) < 0x1p-960 {
			x.small = true
		}
		s := twoSum(sum.hi, p.hi)
		if s.hi-s.hi != 0 {
			sum = double{s.hi, 0}
			continue
		}
		cross := float64(u.hi*v.lo) + float64(u.lo*v.hi)
		sum = double{s.hi, sum.lo + (s.lo + (p.lo + float64(sign*cross)))}
	}
	return sum
}

// raised is y = x^c by x y' = c x' y.
func (x *seriesRun) raised(n *seriesNode, out, arg *coefficients, k, e int) double {
	c := n.power
	if c == (double{}) {
		c = double{numberAt(x.c.args[n.values[1]], e), 0}
	}
	x0 := arg.of(0, e)
	if k == 0 {
		v := x.start(n, e)
		y := v.hi
		if c == (double{0.5, 0}) && y != 0 { // the rounding of a square root is known
			rest := x0.add(twoProduct(y, y).neg())
			return double{y, 0}.add(rest.over(double{2 * y, 0}))
		}
		if lost := x0.add(double{-numberAt(x.c.args[n.values[0]], e), 0}); lost.hi != 0 {
			if d := float64(c.hi * y / x0.hi * lost.hi); d-d == 0 {
				v = v.add(double{d, 0})
			}
		}
		return v
	}
	var sum double
	for j := 1; j <= min(k, arg.top); j++ {
		p := arg.of(j, e).mul(out.of(k-j, e))
		sum = sum.add(c.times(float64(j)).add(double{float64(j - k), 0}).mul(p))
	}
	return sum.over(x0.times(float64(k)))
}

// data lists coefficient k of a node's arguments, hi or lo, for an operation on them.
func (x *seriesRun) data(n *seriesNode, k int, lo bool) (data [][]float64, any bool) {
	t := x.c.t
	op := t.ins[n.r].Op()
	for i, a := range n.args {
		c := &x.at[a]
		of := c.hi
		if lo {
			of = c.lo
		}
		switch {
		case i == 1 && (op == opTake || op == opPut): // the places
			data = append(data, c.hi)
		case k > c.top:
			data = append(data, x.zeros[:c.n])
		default:
			part := of[k*c.n : (k+1)*c.n]
			any = any || slices.ContainsFunc(part, func(v float64) bool { return v != 0 })
			data = append(data, part)
		}
	}
	return data, any
}

// linear applies an operation to coefficients as to values.
func (x *seriesRun) linear(n *seriesNode, out *coefficients, k int) {
	hi, lo := out.hi[k*out.n:(k+1)*out.n], out.lo[k*out.n:(k+1)*out.n]
	data, any := x.data(n, k, false)
	clear(hi)
	clear(lo)
	if !any && k > 0 {
		return
	}
	x.runOp(n, hi, data)
	if data, any = x.data(n, k, true); any {
		x.runOp(n, lo, data)
	}
	normalise(hi, lo)
}

func normalise(hi, lo []float64) {
	for i := range hi {
		v := twoSum(hi[i], lo[i])
		if v.hi-v.hi != 0 {
			v.lo = 0
		}
		hi[i], lo[i] = v.hi, v.lo
	}
}

func (x *seriesRun) runOp(n *seriesNode, out []float64, data [][]float64) {
	t := x.c.t
	if t.ins[n.r].Op().elementwise() {
		t.runElementwise(n.r, out, data)
	} else {
		t.runStructural(n.r, out, data, x.c.threads, 0)
	}
}

// valueOf is the value of what depends on tangents, which has none on the tape.
func (x *seriesRun) valueOf(n *seriesNode, out *coefficients) {
	data, _ := x.data(n, 0, false)
	x.runOp(n, out.hi[:out.n], data)
	clear(out.lo[:out.n])
}

// matmul convolves with products of matrices in the place of products of numbers.
func (x *seriesRun) matmul(n *seriesNode, out *coefficients, k int) {
	a, b := &x.at[n.args[0]], &x.at[n.args[1]]
	hi, lo := out.hi[k*out.n:(k+1)*out.n], out.lo[k*out.n:(k+1)*out.n]
	clear(hi)
	clear(lo)
	product := make([]float64, out.n)
	for j := max(0, k-b.top); j <= min(k, a.top); j++ {
		u, v := a.hi[j*a.n:(j+1)*a.n], b.hi[(k-j)*b.n:(k-j+1)*b.n]
		x.runOp(n, product, [][]float64{u, v})
		for i, p := range product {
			s := twoSum(hi[i], p)
			hi[i] = s.hi
			lo[i] += s.lo
		}
	}
	normalise(hi, lo)
}
