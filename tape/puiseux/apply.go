package puiseux

import (
	"math"

	"nabla/kernels"
)

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
	for _, kind := range []func(op string, x, y, z Series) (Series, bool){arithmetic, choice, power, composed} {
		if v, ok := kind(op, x, y, z); ok {
			return v, true
		}
	}
	return smooth(op, x)
}

// arithmetic computes sums, products and quotients.
func arithmetic(op string, x, y, z Series) (Series, bool) {
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
	case "reciprocal":
		return x.inverse(), true
	case "log_slope":
		return x.onlyPositive().inverse(), true
	case "log1p_slope":
		return Of(1).Add(x).onlyPositive().inverse(), true
	case "excess":
		return x.sub(y).div(x), true
	case "softsign":
		return x.div(Of(1).Add(x.abs())), true
	}
	return Series{}, false
}

// choice computes what is one of several things, by a sign or a condition.
func choice(op string, x, y, z Series) (Series, bool) {
	switch op {
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
	}
	return Series{}, false
}

// power computes powers and roots.
func power(op string, x, y, z Series) (Series, bool) {
	switch op {
	case "square":
		return x.Mul(x), true
	case "cube":
		return x.pow(3), true
	case "fourth":
		return x.pow(4), true
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
	return Series{}, false
}

// composed computes functions that are made of a smooth one and arithmetic.
func composed(op string, x, y, z Series) (Series, bool) {
	switch op {
	case "atan2":
		return angle(x, y), true
	case "xlogy", "xlog1py", "entr", "rel_entr", "kl_div", "xdivy":
		return product(op, x, y), true
	case "log_ratio":
		return x.div(y).logarithm(), true
	case "share2", "share2_slope":
		return composed(op[:5]+op[6:], x.times(math.Ln2), y.times(math.Ln2), z)
	case "share":
		return x.sub(y).sigmoid(), true
	case "share_slope":
		return x.sub(y).sigmoid().Mul(y.sub(x).sigmoid()), true
	case "logaddexp":
		return x.sub(y).softplus().Add(y), true
	case "logaddexp2":
		return x.sub(y).times(math.Ln2).softplus().times(1 / math.Ln2).Add(y), true
	case "tanhshrink":
		v, ok := smooth("tanh", x)
		return x.sub(v), ok
	}
	return Series{}, false
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
