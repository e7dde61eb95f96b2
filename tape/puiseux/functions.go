package puiseux

import (
	"math"

	"nabla/kernels"
)

// pow is x^p, by x y' = p x' y.
func (x Series) pow(p float64) Series {
	switch low := p * float64(x.low); {
	case x.Undefined() || p != p:
		return undefined
	case x.log != 0:
		return Unknown
	case x.Zero() && !x.cut && p > 0:
		return Series{}
	case x.Zero() || low != math.Floor(low) || math.Abs(low) > 1<<20:
		return Unknown
	case x.c[0] < 0 && p != math.Floor(p):
		return undefined
	}
	y := Series{low: int(p * float64(x.low)), c: []float64{kernels.PowOf(x.c[0], p)}}
	if len(x.c) == 1 && !x.cut {
		return y.normal()
	}
	y.cut = true
	n := terms
	if x.cut {
		n = len(x.c)
	}
	for k := 1; k < n; k++ {
		var s total
		for j := 1; j <= min(k, len(x.c)-1); j++ {
			if x.c[j] != 0 {
				s.add(float64((float64(p*float64(j)) - float64(k-j)) * float64(x.c[j]*y.c[k-j])))
			}
		}
		y.c = append(y.c, s.value()/(float64(k)*x.c[0]))
	}
	return y.normal()
}

// cbrt is the cube root of x, which is negative where x is.
func (x Series) cbrt() Series {
	if !x.Zero() && x.c[0] < 0 {
		return x.neg().pow(1. / 3).neg()
	}
	return x.pow(1. / 3)
}

// abs is the size of x on this side.
func (x Series) abs() Series {
	if v, _ := x.sign().Limit(); v < 0 {
		return x.neg()
	}
	return x
}

// sign is -1, 0 or 1: what x is on this side.
func (x Series) sign() Series {
	switch {
	case x.log != 0 && !x.Undefined() && (x.low >= 0 || len(x.c) == 0 && !x.cut):
		return Of(math.Copysign(1, -x.log))
	case x.Zero() && x.cut:
		return Unknown
	case x.Zero() || x.Undefined():
		return x
	}
	return Of(math.Copysign(1, x.c[0]))
}

// slope is the derivative of x by t.
func (x Series) slope() Series {
	c := make([]float64, len(x.c))
	for k, v := range x.c {
		c[k] = float64(x.low+k) * v
	}
	return Series{low: x.low - 1, c: c, cut: x.cut}.normal()
}

// along is f(x), f being v at the limit of x and its derivative there df: the integral of
// df times the slope of x, which must not be a logarithm.
func (x Series) along(f func(float64) float64, df Series) Series {
	v, ok := x.Limit()
	switch {
	case x.Undefined() || df.Undefined():
		return undefined
	case !ok || math.IsInf(v, 0):
		return Unknown
	}
	y := df.Mul(x.slope())
	if y.low < 0 && !y.Zero() || y.cut && y.end() < 0 {
		return Unknown
	}
	c := make([]float64, len(y.c))
	for k, v := range y.c {
		c[k] = v / float64(y.low+k+1)
	}
	return Of(f(v)).Add(Series{low: y.low + 1, c: c, cut: y.cut}.normal())
}

// Compose is a function of x whose value and derivatives are d at the limit of x.
func (x Series) Compose(d []float64) Series {
	v, ok := x.Limit()
	if !ok || v-v != 0 {
		return Unknown
	}
	u := x.sub(Of(v))
	low := max(u.low, 1)
	power, y := Of(1), Series{low: len(d) * low, cut: true}
	for k, f := range d {
		y = y.Add(power.times(f))
		power = power.Mul(u).times(1 / float64(k+1))
	}
	return y
}

// angle is that of the point (x, y): the integral of the slope of the arc
// tangent of y/x, or of minus that of x/y.
func angle(y, x Series) Series {
	v, _ := y.Limit()
	w, _ := x.Limit()
	ratio, sign := y.div(x), 1.0
	switch {
	case x.Undefined() || y.Undefined():
		return undefined
	case math.Abs(v) > math.Abs(w):
		ratio, sign = x.div(y), -1
	case w == 0:
		return Unknown
	}
	slope := Of(1).Add(ratio.Mul(ratio)).inverse().times(sign)
	return ratio.along(func(float64) float64 { return kernels.Atan2Of(v, w) }, slope)
}

// pair are functions f and g of x whose derivatives are g and sign·f: sine and cosine, or
// their hyperbolic cousins.
func (x Series) pair(f, g func(float64) float64, sign float64) (y, z Series) {
	v, ok := x.Limit()
	switch {
	case x.Undefined():
		return undefined, undefined
	case !ok || math.IsInf(v, 0):
		return Unknown, Unknown
	}
	n := terms
	switch {
	case x.cut:
		n = min(n, x.end())
	case x.Constant():
		n = 1
	}
	a, b := make([]float64, n), make([]float64, n)
	a[0], b[0] = f(v), g(v)
	for _, y := range []*float64{&a[0], &b[0]} {
		if math.Abs(*y) <= 0x1p-52*math.Abs(v) { // v may stand for a multiple of pi/2
			*y = 0
		}
	}
	for k := 1; k < n; k++ {
		var s, t total
		for j := 1; j <= k; j++ {
			if u := float64(j) * x.at(j); u != 0 {
				s.add(float64(u * b[k-j]))
				t.add(float64(u * a[k-j]))
			}
		}
		a[k], b[k] = s.value()/float64(k), sign*t.value()/float64(k)
	}
	cut := !x.Constant()
	return Series{c: a, cut: cut}.normal(), Series{c: b, cut: cut}.normal()
}

// exp is the exponential: of a logarithm of the distance a power of it, if that is whole.
func (x Series) exp() Series {
	y, _ := Series{low: x.low, c: x.c, cut: x.cut}.pair(kernels.ExpOf, kernels.ExpOf, 1)
	power := math.Round(x.log)
	if math.Abs(x.log-power) > 0x1p-40*math.Abs(power) || math.Abs(power) > 1<<20 {
		return Unknown
	}
	y.low += int(power)
	return y
}

func (x Series) sincos() (sin, cos Series) { return x.pair(kernels.SinOf, kernels.CosOf, -1) }

// sinhcosh are the hyperbolic sine and cosine.
func (x Series) sinhcosh() (sinh, cosh Series) {
	if x.log != 0 {
		up, down := x.exp(), x.neg().exp()
		return up.sub(down).times(0.5), up.Add(down).times(0.5)
	}
	return x.pair(kernels.SinhOf, kernels.CoshOf, 1)
}

// expm1 is exp(x) - 1.
func (x Series) expm1() Series {
	if x.log != 0 {
		return x.exp().sub(Of(1))
	}
	return x.along(kernels.Expm1Of, x.exp())
}

// log1p is log(1 + x).
func (x Series) log1p() Series {
	y := Of(1).Add(x)
	if v, ok := y.Limit(); ok && v == 0 {
		return y.logarithm()
	}
	return x.along(kernels.Log1pOf, y.onlyPositive().inverse())
}

// softplus is log(1 + exp(x)).
func (x Series) softplus() Series {
	if x.log != 0 {
		return Of(1).Add(x.exp()).logarithm()
	}
	return x.along(kernels.SoftplusOf, x.sigmoid())
}

func (x Series) sigmoid() Series { return Of(1).Add(x.neg().exp()).inverse() }

// area is the inverse hyperbolic sine of x, which is f with the slope df; or, for the sign -1,
// the inverse hyperbolic cosine.
func (x Series) area(f func(float64) float64, df Series, sign float64) Series {
	if v, ok := x.Limit(); !ok || !math.IsInf(v, 0) {
		return x.along(f, df)
	}
	a := x.abs()
	if sign < 0 {
		a = x
	}
	return x.sign().Mul(a.Add(a.Mul(a).Add(Of(sign)).Sqrt()).logarithm())
}

// logarithm is log(x): the power of the distance in front becomes a multiple of its logarithm.
func (x Series) logarithm() Series {
	if x.Zero() || x.Undefined() {
		return x.along(kernels.LogOf, x.inverse())
	}
	first := Series{c: x.c, cut: x.cut}
	y := first.along(kernels.LogOf, first.onlyPositive().inverse())
	if !y.Undefined() {
		y.log = float64(x.low)
	}
	return y
}

// onlyPositive is x, or undefined where x is negative.
func (x Series) onlyPositive() Series {
	if !x.Zero() && x.c[0] < 0 {
		return undefined
	}
	return x
}

// Apply computes the operation of that name; false: there is no series for it.
func Apply(op string, x, y, z Series) (Series, bool) {
	if x.log != 0 || y.log != 0 || z.log != 0 {
		switch op {
		case "name", "stop_gradient", "add", "subtract", "multiply", "zmul", "divide", "quotient", "negative", "where", "gap",
			"exp", "exp2", "expm1", "sigmoid", "sigmoid_slope", "share", "share_slope", "share2", "share2_slope", "softplus", "logaddexp", "logaddexp2",
			"abs", "abs_slope", "sign", "maximum", "minimum", "minimum_to_zero",
			"sinh", "cosh", "tanh", "sech", "csch", "coth", "sech2", "logcosh", "log1mexp", "expm1_inverse":
		default:
			return Unknown, true
		}
	}
	return apply(op, x, y, z)
}

// Logic is what a logical operation of that name, of conditions, finds on this side; false: it is none.
func Logic(op string, x, y Series) (Series, bool) {
	holds, ok := false, true
	switch op {
	case "logical_and":
		holds = !x.Zero() && !y.Zero()
	case "logical_or":
		holds = !x.Zero() || !y.Zero()
	case "logical_xor":
		holds = x.Zero() != y.Zero()
	case "logical_not":
		holds = x.Zero()
	default:
		ok = false
	}
	return condition(holds, x.Add(y)), ok
}

// condition is 1 or 0, if what it depends on is a number.
func condition(holds bool, on Series) Series {
	switch {
	case on.Undefined():
		return undefined
	case !on.Constant():
		return Unknown
	case holds:
		return Of(1)
	}
	return Series{}
}

// Compare is what a comparison of that name finds on this side; false: it is none.
func Compare(op string, x, y Series) (Series, bool) {
	sign := x.sub(y).sign()
	s, _ := sign.Limit()
	holds, ok := false, true
	switch op {
	case "less":
		holds = s < 0
	case "less_equal":
		holds = s <= 0
	case "greater":
		holds = s > 0
	case "greater_equal":
		holds = s >= 0
	case "equal":
		holds = s == 0
	case "not_equal":
		holds = s != 0
	default:
		ok = false
	}
	return condition(holds, sign), ok
}

// apply is Apply where no logarithm of the distance stands in the way.
func apply(op string, x, y, z Series) (Series, bool) {
	one := Of(1)
	square := func(x Series) Series { return x.Mul(x) }
	switch op {
	case "name", "stop_gradient":
		return x, true
	case "add":
		return x.Add(y), true
	case "subtract", "gap":
		return x.sub(y), true
	case "multiply":
		return x.Mul(y), true
	case "zmul":
		if x.Zero() && !x.cut || y.Zero() && !y.cut {
			return Series{}, true
		}
		return x.Mul(y), true
	case "divide", "quotient":
		return x.div(y), true
	case "fma":
		return x.Mul(y).Add(z), true
	case "negative":
		return x.neg(), true
	case "square":
		return square(x), true
	case "cube":
		return x.pow(3), true
	case "fourth":
		return x.pow(4), true
	case "reciprocal":
		return x.inverse(), true
	case "log_slope":
		return x.onlyPositive().inverse(), true
	case "log1p_slope":
		return one.Add(x).onlyPositive().inverse(), true
	case "abs":
		return x.abs(), true
	case "sign", "abs_slope":
		return x.sign(), true
	case "minimum_to_zero":
		if v, _ := x.sign().Limit(); v > 0 {
			return Series{}, true
		}
		return x, true
	case "where":
		switch {
		case !x.Constant() || x.Undefined():
			return x.Add(Unknown), true
		case !x.Zero():
			return y, true
		}
		return z, true
	case "maximum", "minimum":
		switch first, _ := Compare("greater", x, y); {
		case !first.Constant() || first.Undefined():
			return first, true
		case first.Zero() != (op == "maximum"):
			return x, true
		}
		return y, true
	case "power":
		if y.Constant() {
			p, _ := y.Limit()
			return x.pow(p), true
		}
		return x.logarithm().Mul(y).exp(), true
	case "power_derivative":
		n, _ := x.Limit()
		p, _ := z.Limit()
		if !z.Constant() || n >= 64 {
			return Series{}, false
		}
		f := 1.0
		for k := range int(n) {
			f *= p - float64(k)
		}
		return y.pow(p - n).times(f), true
	}
	if v, ok := root(op, x, y); ok {
		return v, true
	}
	if p, ok := kernels.PowerNamed(op); ok {
		return x.pow(p), true
	}
	switch op {
	case "atan2":
		return angle(x, y), true
	case "xlogy", "xlog1py", "entr", "rel_entr", "kl_div", "xdivy":
		return product(op, x, y), true
	case "log_ratio":
		return x.div(y).logarithm(), true
	case "excess":
		return x.sub(y).div(x), true
	case "share2", "share2_slope":
		return apply(op[:5]+op[6:], x.times(math.Ln2), y.times(math.Ln2), z)
	case "share":
		return x.sub(y).sigmoid(), true
	case "share_slope":
		return x.sub(y).sigmoid().Mul(y.sub(x).sigmoid()), true
	case "logaddexp":
		return x.sub(y).softplus().Add(y), true
	case "logaddexp2":
		return x.sub(y).times(math.Ln2).softplus().times(1 / math.Ln2).Add(y), true
	case "softsign":
		return x.div(one.Add(x.abs())), true
	case "tanhshrink":
		v, ok := smooth("tanh", x)
		return x.sub(v), ok
	}
	return smooth(op, x)
}

// product is x times a function of y, or of both, which is 0 where x is.
func product(op string, x, y Series) Series {
	if x.Zero() && !x.cut {
		if op == "kl_div" {
			return y
		}
		return x
	}
	switch op {
	case "xlogy":
		return x.Mul(y.logarithm())
	case "xlog1py":
		return x.Mul(y.log1p())
	case "entr":
		return x.Mul(x.logarithm()).neg()
	case "xdivy":
		return x.div(y)
	}
	z := x.Mul(x.div(y).logarithm())
	if op == "kl_div" {
		z = z.sub(x).Add(y)
	}
	return z
}

// root computes roots, and functions whose slopes are made of roots and quotients.
func root(op string, x, y Series) (Series, bool) {
	one := Of(1)
	square := func(x Series) Series { return x.Mul(x) }
	within := func() Series { return one.sub(x).Mul(one.Add(x)) }                              // 1 - x²
	beyond := func() Series { return x.sub(one).pow(-0.5).Mul(x.Add(one).pow(-0.5)) }          // 1/sqrt(x² - 1)
	inside := func(v Series) Series { return v.Add(one.sub(x.abs()).onlyPositive().times(0)) } // where |x| is at most 1
	switch op {
	case "sqrt":
		return x.Sqrt(), true
	case "rsqrt":
		return x.pow(-0.5), true
	case "cbrt":
		return x.cbrt(), true
	case "cbrt_slope":
		return square(x.cbrt()).times(3).inverse(), true
	case "hypot":
		return square(x).Add(square(y)).Sqrt(), true
	case "unit":
		return x.div(square(x).Add(square(y)).Sqrt()), true
	case "turn":
		return x.div(square(x).Add(square(y))), true
	case "one_minus_square":
		return within(), true
	case "atan_slope":
		return one.Add(square(x)).inverse(), true
	case "atanh_slope":
		return inside(within().inverse()), true
	case "acosh_slope":
		return beyond(), true
	case "asin":
		return x.along(kernels.AsinOf, within().pow(-0.5)), true
	case "acos":
		return x.along(kernels.AcosOf, within().pow(-0.5).neg()), true
	case "atan":
		return angle(x, one), true
	case "asinh":
		return x.area(kernels.AsinhOf, one.Add(square(x)).pow(-0.5), 1), true
	case "acosh":
		return x.area(kernels.AcoshOf, beyond(), -1), true
	case "atanh":
		if v, ok := x.Limit(); ok && math.Abs(v) == 1 {
			return one.Add(x).logarithm().sub(one.sub(x).logarithm()).times(0.5), true
		}
		return x.along(kernels.AtanhOf, inside(within().inverse())), true
	}
	return Series{}, false
}

// smooth computes exponentials, logarithms and what is made of them.
func smooth(op string, x Series) (Series, bool) {
	square := func(x Series) Series { return x.Mul(x) }
	switch op {
	case "exp":
		return x.exp(), true
	case "exp2":
		return x.times(math.Ln2).exp(), true
	case "expm1":
		return x.expm1(), true
	case "expm1_inverse":
		return x.expm1().onlyPositive().inverse(), true
	case "log1mexp":
		return x.neg().expm1().neg().logarithm(), true
	case "log":
		return x.logarithm(), true
	case "log2":
		return x.logarithm().times(1 / math.Ln2), true
	case "log10":
		return x.logarithm().times(1 / math.Ln10), true
	case "log1p":
		return x.log1p(), true
	case "sin", "cos", "tan", "sec", "csc", "cot":
		sin, cos := x.sincos()
		return quotient(op, [3]string{"sin", "cos", "tan"}, [3]string{"csc", "sec", "cot"}, sin, cos), true
	case "sinh", "cosh", "tanh", "sech", "csch", "coth":
		sinh, cosh := x.sinhcosh()
		return quotient(op, [3]string{"sinh", "cosh", "tanh"}, [3]string{"csch", "sech", "coth"}, sinh, cosh), true
	case "logcosh":
		_, cosh := x.sinhcosh()
		return cosh.logarithm(), true
	case "sech2":
		_, cosh := x.sinhcosh()
		return square(cosh).inverse(), true
	case "sigmoid":
		return x.sigmoid(), true
	case "sigmoid_slope":
		return x.sigmoid().Mul(x.neg().sigmoid()), true
	case "softplus":
		return x.softplus(), true
	case "gauss":
		return square(x).neg().exp(), true
	case "erf":
		return x.along(kernels.ErfOf, square(x).neg().exp().times(2/math.Sqrt(math.Pi))), true
	case "erfc":
		return x.along(kernels.ErfcOf, square(x).neg().exp().times(-2/math.Sqrt(math.Pi))), true
	case "normcdf":
		return x.along(kernels.NormCdfOf, square(x).times(-0.5).exp().times(1/math.Sqrt(2*math.Pi))), true
	}
	return Series{}, false
}

// quotient is s, c or s/c, or one over these, by their names.
func quotient(op string, names, inverse [3]string, s, c Series) Series {
	for i, v := range [3]func() Series{
		func() Series { return s },
		func() Series { return c },
		func() Series { return s.div(c) },
	} {
		switch op {
		case names[i]:
			return v()
		case inverse[i]:
			return v().inverse()
		}
	}
	return Unknown
}
