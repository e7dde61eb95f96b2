package tape

import (
	"math"
	"slices"

	"nabla/tape/double"
	"nabla/tape/unbounded"
)

// A seriesRun computes the coefficients of a series.
type seriesRun struct {
	s     *series
	c     *run
	at    []coefficients
	zeros []float64
	part  []float64 // what an operation gave for a coefficient

	shaken bool // values of functions are moved by up to half an ulp, each by another part
}

// coefficients are those of one value: of its elements for t^0, then for t^1, …
type coefficients struct {
	n, top int
	hi, lo []float64
	up     []int32
}

// of is the k-th coefficient of element i, where there are n of them or one for all.
func (c *coefficients) of(k, i int) double.Number {
	if k > c.top {
		return double.Number{}
	}
	if c.n == 1 {
		i = 0
	}
	i += k * c.n
	return double.Number{Hi: c.hi[i], Lo: c.lo[i], Up: int(c.up[i])}
}

func (c *coefficients) set(k, i int, v double.Number) {
	i += k * c.n
	c.hi[i], c.lo[i], c.up[i] = v.Hi, v.Lo, int32(v.Up)
}

// runTaylor computes a derivative, NaN where there is no series, and what part of it moves
// with the rounding of the values that series begin with.
func runTaylor(c *run) {
	x := &seriesRun{s: c.attr.Series, c: c}
	x.all()
	d := x.derivative()
	c.out[0], c.out[1] = d.Float(), 0
	if d.Finite() {
		x.shaken = true
		x.all()
		if moved := x.derivative().Add(d.Neg()); moved.Hi != 0 {
			c.out[1] = math.Abs(moved.Over(d).Float())
		}
	}
}

// all computes every coefficient.
func (x *seriesRun) all() {
	s := x.s
	if x.at == nil {
		x.at = make([]coefficients, len(s.nodes))
		most := 0
		for i := range s.nodes {
			n := &s.nodes[i]
			most = max(most, n.size)
			m := n.size * (n.order + 1)
			both := make([]float64, 2*m)
			x.at[i] = coefficients{n: n.size, top: n.order, hi: both[:m:m], lo: both[m:], up: make([]int32, m)}
		}
		x.zeros, x.part = make([]float64, most), make([]float64, most)
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

// derivative is n! times the last coefficient, if all are finite; NaN if not.
func (x *seriesRun) derivative() double.Number {
	c := &x.at[x.s.target]
	for k := range c.top + 1 {
		if !c.of(k, 0).Finite() {
			return double.Number{Hi: math.NaN()}
		}
	}
	if x.s.order > c.top { // beyond the degree of a polynomial, by however much
		return double.Number{}
	}
	v := c.of(x.s.order, 0)
	for k := 2; k <= x.s.order; k++ {
		v = v.Times(float64(k))
	}
	return v
}

// compute finds the k-th coefficient of a node.
func (x *seriesRun) compute(i int32, k int) {
	n := &x.s.nodes[i]
	out := &x.at[i]
	switch n.rule {
	case fixed:
		for e, v := range x.c.args[n.value] {
			out.set(0, e, double.Of(v))
		}
		return
	case ofSource:
		out.set(k, 0, double.Number{Hi: 1})
		if k == 0 {
			out.set(k, 0, double.Of(x.c.args[n.value][0]))
		}
		return
	case linear:
		if x.c.t.ins[n.r].Op() != opNeg {
			x.linear(n, out, k)
			return
		}
	case multiplied:
		if op := x.c.t.ins[n.r].Op(); op == opMatmul || op == opZMatmul {
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
		out.set(k, e, x.element(n, out, arg, k, e).Normal())
	}
	if k > 0 {
		for _, hits := range n.kinks {
			for e := range out.n {
				if numberAt(x.c.args[hits], e) != 0 {
					out.set(k, e, double.Number{Hi: math.NaN()})
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
func (x *seriesRun) element(n *seriesNode, out *coefficients, arg [3]*coefficients, k, e int) double.Number {
	value := func(j int) float64 { return numberAt(x.c.args[n.values[j]], e) }
	switch n.rule {
	case linear: // the only one here
		return arg[0].of(k, e).Neg()
	case added:
		return arg[0].of(k, e).Add(arg[1].of(k, e))
	case subtracted:
		return arg[0].of(k, e).Add(arg[1].of(k, e).Neg())
	case multiplied:
		from, to := max(0, k-arg[1].top), min(k, arg[0].top)
		return convolved(double.Number{}, arg[0], arg[1], k, from, to, e, 1)
	case divided:
		sum := convolved(arg[0].of(k, e), arg[1], out, k, 1, min(k, arg[1].top), e, -1)
		return sum.Over(arg[1].of(0, e))
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
			return arg[0].of(k, e).Neg()
		}
		return x.onlyValue(n, k, e)
	case tangent:
		return arg[0].of(k+1, e).Times(float64(k + 1))
	}
	if k > 0 {
		return x.at[n.slope].of(k-1, e).Over(double.Number{Hi: float64(k)})
	}
	if v, ok := x.far(n, arg[0], e); ok {
		return v
	}
	return x.first(n, arg, e)
}

// first is the value of a node: that on the tape is of rounded arguments, and what rounding has
// taken from these comes back by the derivatives.
func (x *seriesRun) first(n *seriesNode, arg [3]*coefficients, e int) double.Number {
	v := x.start(n, e)
	for j, p := range n.partials {
		if p < 0 {
			continue
		}
		if lost := arg[j].of(0, e).Add(double.Of(-numberAt(x.c.args[n.values[j]], e))); lost.Hi != 0 {
			if d := double.Of(numberAt(x.c.args[p], e)).Mul(lost); d.Finite() {
				v = v.Add(d)
			}
		}
	}
	return v
}

// far is the value of a function of one number that has left the range on the tape, as its
// coefficients need not: exp(-5000 x) is 0 at 0.15, its third derivative is not.
func (x *seriesRun) far(n *seriesNode, arg *coefficients, e int) (double.Number, bool) {
	v := numberAt(x.c.args[n.value], e)
	if len(n.args) != 1 || v != v || math.Abs(v) >= 0x1p-1022 && !math.IsInf(v, 0) {
		return double.Number{}, false
	}
	u := arg.of(0, e)
	if !u.Finite() || u.Hi == 0 {
		return double.Number{}, false
	}
	y, ok := unbounded.Apply(x.c.t.ins[n.r].Op().Name, unbounded.Number{M: u.Hi, E: 512 * int64(u.Up)}.Normal(), unbounded.Number{}, unbounded.Number{})
	if !ok || y.Special() || y.E > 1<<30 || y.E < -1<<30 {
		return double.Number{}, false
	}
	up := y.E >> 9
	return double.Number{Hi: math.Ldexp(y.M, int(y.E-up<<9)), Up: int(up)}.Normal(), true
}

// start is the value of a function on the tape.
func (x *seriesRun) start(n *seriesNode, e int) double.Number {
	v := double.Of(numberAt(x.c.args[n.value], e))
	if x.shaken {
		const golden = 0x9e3779b9 // 2^32 by the golden ratio
		v.Lo = float64(v.Hi * 0x1p-53 * float64(float64(int32(uint32(n.value+1)*golden))*0x1p-31))
	}
	return v
}

// onlyValue is the value at a kink, where there is no other coefficient.
func (x *seriesRun) onlyValue(n *seriesNode, k, e int) double.Number {
	if k == 0 {
		return double.Of(numberAt(x.c.args[n.value], e))
	}
	return double.Number{Hi: math.NaN()}
}

// convolved adds to sum, with a sign, the products a_j b_{k-j} for j from from to to. What is
// 0 contributes 0, but next to what is infinite it tells of no series: exp(3 log(x)) at 0.
func convolved(sum double.Number, a, b *coefficients, k, from, to, e int, sign float64) double.Number {
	for j := from; j <= to; j++ {
		u, v := a.of(j, e), b.of(k-j, e)
		if u.Hi == 0 || v.Hi == 0 {
			if !u.Finite() || !v.Finite() {
				return double.Number{Hi: math.NaN()}
			}
			continue
		}
		u.Hi, u.Lo = sign*u.Hi, sign*u.Lo
		if u.Up+v.Up != sum.Up { // seldom
			sum = sum.Normal().Add(u.Mul(v))
			continue
		}
		p := double.Product(u.Hi, v.Hi)
		s := double.Sum(sum.Hi, p.Hi)
		if s.Hi-s.Hi != 0 {
			sum = double.Number{Hi: s.Hi}
			continue
		}
		cross := float64(u.Hi*v.Lo) + float64(u.Lo*v.Hi)
		sum.Hi, sum.Lo = s.Hi, sum.Lo+(s.Lo+(p.Lo+cross))
	}
	return sum.Normal()
}

// raised is y = x^c by x y' = c x' y.
func (x *seriesRun) raised(n *seriesNode, out, arg *coefficients, k, e int) double.Number {
	c := n.power
	if c == (double.Number{}) {
		c = double.Of(numberAt(x.c.args[n.values[1]], e))
	}
	x0 := arg.of(0, e)
	if k == 0 {
		v := x.start(n, e)
		if c == (double.Number{Hi: 0.5}) && v.Hi != 0 { // the rounding of a square root is known
			v.Lo = 0
			rest := x0.Add(v.Mul(v).Neg())
			return v.Add(rest.Over(v.Times(2)))
		}
		if lost := x0.Add(double.Of(-numberAt(x.c.args[n.values[0]], e))); lost.Hi != 0 {
			if d := c.Mul(v).Over(x0).Mul(lost); d.Finite() {
				v = v.Add(d)
			}
		}
		return v
	}
	var sum double.Number
	for j := 1; j <= min(k, arg.top); j++ {
		p := arg.of(j, e).Mul(out.of(k-j, e))
		sum = sum.Add(c.Times(float64(j)).Add(double.Number{Hi: float64(j - k)}).Mul(p))
	}
	return sum.Over(x0.Times(float64(k)))
}

// ups lists the exponents among coefficients k of values that are not 0.
func (x *seriesRun) ups(k int, of ...*coefficients) (ups []int32) {
	for _, c := range of {
		if k > c.top {
			continue
		}
		for i, v := range c.hi[k*c.n : (k+1)*c.n] {
			if up := c.up[k*c.n+i]; v != 0 && !slices.Contains(ups, up) {
				ups = append(ups, up)
			}
		}
	}
	return ups
}

// with is coefficient k of a value, hi or lo, where its exponent is up, and 0 elsewhere.
func (x *seriesRun) with(c *coefficients, k int, up int32, lo bool) []float64 {
	if k > c.top {
		return x.zeros[:c.n]
	}
	from, to := k*c.n, (k+1)*c.n
	data := c.hi[from:to]
	if lo {
		data = c.lo[from:to]
	}
	if !slices.ContainsFunc(c.up[from:to], func(u int32) bool { return u != up }) {
		return data
	}
	data = slices.Clone(data)
	for i := range data {
		if c.up[from+i] != up {
			data[i] = 0
		}
	}
	return data
}

// linear applies an operation to coefficients as to values, of one exponent after another.
func (x *seriesRun) linear(n *seriesNode, out *coefficients, k int) {
	op := x.c.t.ins[n.r].Op()
	var of []*coefficients
	for i, a := range n.args {
		if i == 0 || op != opTake && op != opPut { // or they are places
			of = append(of, &x.at[a])
		}
	}
	for e := range out.n {
		out.set(k, e, double.Number{})
	}
	for _, up := range x.ups(k, of...) {
		for _, lo := range []bool{false, true} {
			data := make([][]float64, len(n.args))
			for i, a := range n.args {
				if i < len(of) {
					data[i] = x.with(&x.at[a], k, up, lo)
				} else {
					data[i] = x.at[a].hi
				}
			}
			x.runOp(n, x.part[:out.n], data)
			for e, v := range x.part[:out.n] {
				out.set(k, e, out.of(k, e).Add(double.Number{Hi: v, Up: int(up)}.Normal()))
			}
		}
	}
}

// runOp computes values as the tape does.
func (x *seriesRun) runOp(n *seriesNode, out []float64, data [][]float64) {
	t := x.c.t
	if t.ins[n.r].Op().elementwise() {
		t.runElementwise(n.r, out, data)
	} else {
		t.runStructural(n.r, out, data, x.c.threads)
	}
}

// valueOf is the value of what depends on tangents, which has none on the tape.
func (x *seriesRun) valueOf(n *seriesNode, out *coefficients) {
	var data [][]float64
	for _, a := range n.args {
		c := &x.at[a]
		numbers := make([]float64, c.n)
		for i := range numbers {
			numbers[i] = c.of(0, i).Float()
		}
		data = append(data, numbers)
	}
	x.runOp(n, x.part[:out.n], data)
	for e, v := range x.part[:out.n] {
		out.set(0, e, double.Of(v))
	}
}

// matmul convolves with products of matrices in the place of products of numbers.
func (x *seriesRun) matmul(n *seriesNode, out *coefficients, k int) {
	a, b := &x.at[n.args[0]], &x.at[n.args[1]]
	for e := range out.n {
		out.set(k, e, double.Number{})
	}
	for j := max(0, k-b.top); j <= min(k, a.top); j++ {
		for _, u := range x.ups(j, a) {
			for _, v := range x.ups(k-j, b) {
				x.runOp(n, x.part[:out.n], [][]float64{x.with(a, j, u, false), x.with(b, k-j, v, false)})
				for e, p := range x.part[:out.n] {
					out.set(k, e, out.of(k, e).Add(double.Number{Hi: p, Up: int(u + v)}.Normal()))
				}
			}
		}
	}
}
