package tape

import (
	"math"

	"nabla/kernels"
)

// namedConstant is a number that programs and rules know by name.
func namedConstant(name string) (float64, bool) {
	switch name {
	case "pi", "π":
		return math.Pi, true
	case "e":
		return math.E, true
	case "tau", "τ":
		return 2 * math.Pi, true
	case "inf":
		return math.Inf(1), true
	case "nan":
		return math.NaN(), true
	}
	return 0, false
}

var mathRows = []Op{
	{Name: "exp", Args: "x", Doc: "e to the power x", Grad: d("out"), Kernel: unary(&kernels.Exp, kernels.ExpOf), Try: at(-2, 0, 1.5)},
	{Name: "exp2", Args: "x", Doc: "2 to the power x", Grad: d("0.6931471805599453 * out"), Kernel: unary(&kernels.Exp2, kernels.Exp2Of), Try: at(-2, 0, 1.5)},
	{Name: "expm1", Args: "x", Doc: "exp(x) - 1, accurate near 0", Grad: d("exp(x)"), Kernel: unary(&kernels.Expm1, kernels.Expm1Of), Try: at(-2, 1e-9, 1.5)},
	{Name: "log", Alias: []string{"ln"}, Args: "x", Doc: "natural logarithm", Grad: d("log_slope(x)"), Kernel: unary(&kernels.Log, kernels.LogOf), Try: at(0.1, 1, 7),
		Kinks: []Kink{{"x < 0", "the logarithm of a negative number is not real", false}, {"x == 0", "a vertical tangent", false}}, Note: "at 0: inf; below 0: NaN"},
	{Name: "log2", Args: "x", Doc: "logarithm to base 2", Grad: d("1.4426950408889634 * log_slope(x)"), Kernel: unary(&kernels.Log2, kernels.Log2Of), Try: at(0.1, 1, 7),
		Kinks: []Kink{{"x < 0", "the logarithm of a negative number is not real", false}, {"x == 0", "a vertical tangent", false}}},
	{Name: "log10", Args: "x", Doc: "logarithm to base 10", Grad: d("0.4342944819032518 * log_slope(x)"), Kernel: unary(&kernels.Log10, kernels.Log10Of), Try: at(0.1, 1, 7),
		Kinks: []Kink{{"x < 0", "the logarithm of a negative number is not real", false}, {"x == 0", "a vertical tangent", false}}},
	{Name: "log1p", Args: "x", Doc: "log(1 + x), accurate near 0", Grad: d("log1p_slope(x)"), Kernel: unary(&kernels.Log1p, kernels.Log1pOf), Twin: twin{with: "log1p_slope", first: true, both: &kernels.Log1pTwin}, Try: at(-0.5, 1e-9, 3),
		Kinks: []Kink{{"x < -1", "the logarithm of a negative number is not real", false}, {"x == -1", "a vertical tangent", false}}},
	{Name: "cbrt", Args: "x", Doc: "cube root", Grad: d("cbrt_slope(x)"), Says: d("1 / (3 * square(out))"), Kernel: unary(&kernels.Cbrt, kernels.CbrtOf), Try: at(-8, 0.5, 27),
		Kinks: []Kink{{"x == 0", "a vertical tangent", false}}},
	{Name: "sin", Args: "x", Doc: "sine", Grad: d("cos(x)"), Kernel: unary(&kernels.Sin, kernels.SinOf), Twin: twin{with: "cos", first: true, both: &kernels.SinCos}, Try: at(-2, 0, 1)},
	{Name: "cos", Args: "x", Doc: "cosine", Grad: d("-sin(x)"), Kernel: unary(&kernels.Cos, kernels.CosOf), Twin: twin{with: "sin", both: &kernels.SinCos}, Try: at(-2, 0.3, 1)},
	{Name: "tan", Args: "x", Doc: "tangent", Grad: d("1 + square(out)"), Kernel: unary(&kernels.Tan, kernels.TanOf), Try: at(-1, 0, 1)},
	{Name: "asin", Alias: []string{"arcsin"}, Args: "x", Doc: "inverse sine", Grad: d("1 / sqrt(one_minus_square(x))"), Kernel: unary(&kernels.Asin, kernels.AsinOf), Try: at(-0.5, 0, 0.9),
		Kinks: []Kink{{"abs(x) > 1", "the inverse sine of a number beyond 1 is not real", false}, {"abs(x) == 1", "a vertical tangent", false}}, Note: "at ±1: inf"},
	{Name: "acos", Alias: []string{"arccos"}, Args: "x", Doc: "inverse cosine", Grad: d("-1 / sqrt(one_minus_square(x))"), Kernel: unary(&kernels.Acos, kernels.AcosOf), Try: at(-0.5, 0, 0.9),
		Kinks: []Kink{{"abs(x) > 1", "the inverse cosine of a number beyond 1 is not real", false}, {"abs(x) == 1", "a vertical tangent", false}}, Note: "at ±1: -inf"},
	{Name: "atan", Alias: []string{"arctan"}, Args: "x", Doc: "inverse tangent", Grad: d("atan_slope(x)"), Kernel: unary(&kernels.Atan, kernels.AtanOf), Try: at(-3, 0, 0.9)},
	{Name: "atan2", Alias: []string{"arctan2"}, Args: "y, x", Doc: "the angle of the point (x, y)",
		Grad: d("turn(x, y)", "-turn(y, x)"), Kernel: binary(&kernels.Atan2, kernels.Atan2Of), Try: at2(1, 2, -1, -0.5),
		Kinks: []Kink{{"x == 0 && y == 0", "the angle of the origin has no derivative", false}}, Note: "at (0, 0): NaN"},
	{Name: "turn", Args: "x, y", Hidden: true, Doc: "x / (x^2 + y^2), how an angle turns",
		Grad: d("(y - x) / hypot(x, y) * ((y + x) / hypot(x, y)) / hypot(x, y) / hypot(x, y)", "-2 * out * turn(y, x)"), Kernel: binary(&kernels.Turn, kernels.TurnOf), Try: at2(1, 2, -1, -0.5)},
	{Name: "sinh", Args: "x", Doc: "hyperbolic sine", Grad: d("cosh(x)"), Kernel: unary(&kernels.Sinh, kernels.SinhOf), Try: at(-2, 0, 1)},
	{Name: "cosh", Args: "x", Doc: "hyperbolic cosine", Grad: d("sinh(x)"), Kernel: unary(&kernels.Cosh, kernels.CoshOf), Try: at(-2, 0.1, 1)},
	{Name: "tanh", Args: "x", Doc: "hyperbolic tangent", Grad: d("sech2(x)"), Kernel: unary(&kernels.Tanh, kernels.TanhOf), Twin: twin{with: "sech2", first: true, both: &kernels.TanhSech2}, Try: at(-20, -0.5, 0, 2)},
	{Name: "sech2", Args: "x", Doc: "1 / cosh(x)^2, the derivative of tanh", Grad: d("-2 * out * tanh(x)"), Kernel: unary(&kernels.Sech2, kernels.Sech2Of), Twin: twin{with: "tanh", both: &kernels.TanhSech2}, Try: at(-2, 0.5, 2)},
	{Name: "asinh", Alias: []string{"arcsinh"}, Args: "x", Doc: "inverse hyperbolic sine", Grad: d("1 / hypot(1, x)"), Kernel: unary(&kernels.Asinh, kernels.AsinhOf), Try: at(-2, 0, 1)},
	{Name: "acosh", Alias: []string{"arccosh"}, Args: "x", Doc: "inverse hyperbolic cosine", Grad: d("acosh_slope(x)"), Says: d("1 / (sqrt(x - 1) * sqrt(x + 1))"), Kernel: unary(&kernels.Acosh, kernels.AcoshOf), Try: at(1.5, 4),
		Kinks: []Kink{{"x < 1", "the inverse hyperbolic cosine below 1 is not real", false}, {"x == 1", "a vertical tangent", false}}, Note: "at 1: inf"},
	{Name: "atanh", Alias: []string{"arctanh"}, Args: "x", Doc: "inverse hyperbolic tangent", Grad: d("atanh_slope(x)"), Says: d("1 / (1 - x^2)"), Kernel: unary(&kernels.Atanh, kernels.AtanhOf), Try: at(-0.5, 0, 0.9),
		Kinks: []Kink{{"abs(x) > 1", "the inverse hyperbolic tangent beyond 1 is not real", false}, {"abs(x) == 1", "a vertical tangent", false}}},
	{Name: "sec", Args: "x", Doc: "1 / cos(x)", Grad: d("out * tan(x)"), Kernel: unary(&secDoor, secOf), Try: at(-1, 0, 1)},
	{Name: "csc", Args: "x", Doc: "1 / sin(x)", Grad: d("-out * cot(x)"), Kernel: unary(&cscDoor, cscOf), Try: at(-1, 0.1, 2),
		Kinks: []Kink{{"x == 0", "a pole", false}}},
	{Name: "cot", Args: "x", Doc: "1 / tan(x)", Grad: d("-1 - square(out)"), Kernel: unary(&cotDoor, cotOf), Try: at(-1, 0.1, 2),
		Kinks: []Kink{{"x == 0", "a pole", false}}},
	{Name: "sech", Args: "x", Doc: "1 / cosh(x)", Grad: d("-out * tanh(x)"), Kernel: unary(&sechDoor, sechOf), Try: at(-2, 0, 1)},
	{Name: "csch", Args: "x", Doc: "1 / sinh(x)", Grad: d("-out * coth(x)"), Kernel: unary(&cschDoor, cschOf), Try: at(-2, 0.1, 1),
		Kinks: []Kink{{"x == 0", "a pole", false}}},
	{Name: "coth", Args: "x", Doc: "1 / tanh(x)", Grad: d("-square(csch(x))"), Kernel: unary(&cothDoor, cothOf), Try: at(-2, 0.1, 1),
		Kinks: []Kink{{"x == 0", "a pole", false}}},
	{Name: "degrees", Alias: []string{"rad2deg"}, Args: "x", Doc: "radians to degrees", Body: "x * (180 / pi)"},
	{Name: "radians", Alias: []string{"deg2rad"}, Args: "x", Doc: "degrees to radians", Body: "x * (pi / 180)"},
	{Name: "sigmoid", Alias: []string{"expit", "logistic"}, Args: "x", Doc: "1 / (1 + exp(-x))", Grad: d("sigmoid_slope(x)"), Kernel: unary(&kernels.Sigmoid, kernels.SigmoidOf), Twin: twin{with: "sigmoid_slope", first: true, both: &kernels.SigmoidTwin}, Try: at(-30, 0, 2)},
	{Name: "atanh_slope", Hidden: true, Args: "x", Doc: "1 / (1 - x^2), NaN beyond 1 where the inverse hyperbolic tangent is", Grad: d("2 * (x * out) * out"), Kernel: unary(&atanhSlopeDoor, atanhSlopeOf), Try: at(-0.5, 0.3)},
	{Name: "acosh_slope", Hidden: true, Args: "x", Doc: "1 / sqrt(x^2 - 1), whose own derivatives must not cancel where they are infinite", Grad: d("-0.5 * (out / (x - 1) + out / (x + 1))"), Kernel: unary(&acoshSlopeDoor, acoshSlopeOf), Try: at(1.5, 4)},
	{Name: "cbrt_slope", Hidden: true, Args: "x", Doc: "the derivative of cbrt, whose own derivatives must not cancel where they are infinite", Grad: d("-0.6666666666666666 * out / x"), Kernel: unary(&cbrtSlopeDoor, cbrtSlopeOf), Try: at(-8, 0.5, 27)},
	{Name: "atan_slope", Hidden: true, Args: "x", Doc: "1 / (1 + x^2)", Grad: d("-2 * zmul(x, out) * out"), Kernel: unary(&atanSlopeDoor, atanSlopeOf), Try: at(-3, 0.5)},
	{Name: "log_slope", Hidden: true, Args: "x", Doc: "1 / x, NaN below 0 where the logarithm is", Grad: d("-square(out)"), Adj: squareOfOut, Kernel: unary(&kernels.LogSlope, kernels.LogSlopeOf), Try: at(0.1, 1, 7)},
	{Name: "log1p_slope", Hidden: true, Args: "x", Doc: "1 / (1 + x), NaN below -1 where the logarithm is", Grad: d("-square(out)"), Adj: squareOfOut, Kernel: unary(&kernels.Log1pSlope, kernels.Log1pSlopeOf), Twin: twin{with: "log1p", both: &kernels.Log1pTwin}, Try: at(-0.5, 1e-9, 3)},
	{Name: "sigmoid_slope", Hidden: true, Args: "x", Doc: "sigmoid(x) sigmoid(-x), whose own derivative must not cancel at 0", Grad: d("-out * tanh(x / 2)"), Kernel: unary(&kernels.SigmoidSlope, kernels.SigmoidSlopeOf), Twin: twin{with: "sigmoid", both: &kernels.SigmoidTwin}, Try: at(-2, 0, 1)},
	{Name: "one_minus_square", Hidden: true, Args: "x", Doc: "(1 - x)(1 + x): exact factors near ±1, a derivative that does not cancel at 0", Grad: d("-2 * x"), Kernel: unary(&oneMinusSquareDoor, oneMinusSquareOf), Try: at(-0.5, 0.3)},
	{Name: "softplus", Args: "x", Doc: "log(1 + exp(x)), without overflow", Grad: d("sigmoid(x)"), Kernel: unary(&kernels.Softplus, kernels.SoftplusOf), Try: at(-30, 0, 30)},
	{Name: "log_sigmoid", Alias: []string{"logsigmoid"}, Args: "x", Doc: "log(sigmoid(x)), without overflow", Body: "-softplus(-x)"},
	{Name: "log1mexp", Args: "x", Doc: "log(1 - exp(-x)) for positive x, accurate at both ends", Grad: d("expm1_inverse(x + 0)"), Says: d("1 / expm1(x)"), Kernel: unary(&log1mexpDoor, log1mexpOf), Try: at(0.1, 1, 5),
		Kinks: []Kink{{"x < 0", "the logarithm of a negative number is not real", false}, {"x == 0", "a vertical tangent", false}}},
	{Name: "expm1_inverse", Hidden: true, Args: "x", Doc: "1 / expm1(x), NaN below 0 where log1mexp is", Grad: d("-out * (1 + out)"), Kernel: unary(&expm1InverseDoor, expm1InverseOf), Try: at(0.1, 1, 5)},
	{Name: "logit", Args: "x", Doc: "log(x / (1 - x))", Joins: true, Body: "where(x > 0.25 && x < 0.75, 2 * atanh(2 * x - 1), log(x) - log1p(-x))"}, // around 1/2 the logarithms cancel, and 2 x - 1 is exact
	{Name: "logaddexp", Args: "x, y", Doc: "log(exp(x) + exp(y)), without overflow", Kinks: []Kink{{"maximum(x, y) == -inf", "the logarithm of 0: the gradient is taken as 0", false}}, Note: "at (-inf, -inf): 0, 0",
		Grad: d("share(x, y)", "share(y, x)"), Says: d("sigmoid(x - y)", "sigmoid(y - x)"), Kernel: binary(&logaddexpDoor, logaddexpOf), Try: at2(1, 2, -50, 3)},
	{Name: "share", Hidden: true, Args: "x, y", Doc: "exp(x) / (exp(x) + exp(y))", Grad: d("share_slope(x, y)", "-share_slope(x, y)"), Kernel: binary(&shareDoor, shareOf), Try: at2(1, 2, -50, 3)},
	{Name: "share_slope", Hidden: true, Args: "x, y", Doc: "share(x, y) share(y, x)", Grad: d("-out * tanh(gap(x, y) / 2)", "out * tanh(gap(x, y) / 2)"), Kernel: binary(&shareSlopeDoor, shareSlopeOf), Try: at2(1, 2, -50, 3)},
	{Name: "logaddexp2", Args: "x, y", Doc: "log2(2^x + 2^y), without overflow", Kinks: []Kink{{"maximum(x, y) == -inf", "the logarithm of 0: the gradient is taken as 0", false}}, Note: "at (-inf, -inf): 0, 0",
		Grad: d("share2(x, y)", "share2(y, x)"), Kernel: binary(&logaddexp2Door, logaddexp2Of), Try: at2(1, 2, -50, 3)},
	{Name: "share2", Hidden: true, Args: "x, y", Doc: "2^x / (2^x + 2^y)", Grad: d("0.6931471805599453 * share2_slope(x, y)", "-0.6931471805599453 * share2_slope(x, y)"), Kernel: binary(&share2Door, share2Of), Try: at2(1, 2, -50, 3)},
	{Name: "share2_slope", Hidden: true, Args: "x, y", Doc: "share2(x, y) share2(y, x)", Grad: d("-0.6931471805599453 * out * tanh(0.34657359027997264 * gap(x, y))", "0.6931471805599453 * out * tanh(0.34657359027997264 * gap(x, y))"), Kernel: binary(nil, share2SlopeOf), Try: at2(1, 2, -50, 3)},
	{Name: "logcosh", Alias: []string{"log_cosh"}, Args: "x", Doc: "log(cosh(x)), without overflow", Grad: d("tanh(x)"), Kernel: unary(&logcoshDoor, logcoshOf), Try: at(-50, 0.1, 2)},
}

func acoshSlopeOf(x float64) float64 { return 1 / (math.Sqrt(x-1) * math.Sqrt(x+1)) }

func cbrtSlopeOf(x float64) float64 {
	y := kernels.CbrtOf(x)
	return 1 / (3 * float64(y*y))
}

// ordered are two numbers, the larger one or the one that is NaN first.
func ordered(x, y float64) (m, n float64) {
	if y > x || y != y {
		return y, x
	}
	return x, y
}

func logaddexpOf(x, y float64) float64 {
	m, n := ordered(x, y)
	return logaddexp(x, y, kernels.Log1pOf(kernels.ExpOf(n-m)))
}

// logaddexp is that of two numbers by what is to be added to the larger one.
func logaddexp(x, y, more float64) float64 {
	m, n := ordered(x, y)
	if math.IsInf(m, 0) && n == n || m == n {
		if m == n && !math.IsInf(m, 0) {
			return m + math.Ln2
		}
		return m
	}
	return m + more
}

// shareOf is sigmoid(x - y) for the difference that is not rounded: an exponential makes a
// relative error of what the difference loses.
func shareOf(x, y float64) float64 {
	d, lost := difference(x, y)
	p := kernels.SigmoidOf(d)
	return p * (1 + float64((1-p)*lost))
}

func shareSlopeOf(x, y float64) float64 {
	d, lost := difference(x, y)
	return kernels.SigmoidSlopeOf(d) * (1 - float64(kernels.TanhOf(d/2)*lost))
}

// difference is x - y as a number and what its rounding lost (Knuth's TwoSum), 0 where both are inf, and -inf where both
// are -inf: what is added there is 0 and 0, and neither has a share, as in logsumexp.
func difference(x, y float64) (d, lost float64) {
	if max(x, y) == math.Inf(-1) {
		return x, 0
	}
	if d = gapOf(x, y); d-d != 0 || x-x != 0 {
		return d, 0
	}
	b := d - x
	return d, (x - (d - b)) - (y + b)
}

func logaddexp2Of(x, y float64) float64 {
	return logaddexp2(x, y, kernels.Log1pOf(kernels.Exp2Of(min(x, y)-max(x, y))))
}

// logaddexp2 is that of two numbers by the natural logarithm of what is to be added to the larger one.
func logaddexp2(x, y, more float64) float64 {
	m, n := max(x, y), min(x, y) // NaN where one is
	if math.IsInf(m, 0) || m == n {
		if m == n && !math.IsInf(m, 0) {
			return m + 1
		}
		return m
	}
	return m + float64(more*math.Log2E)
}

// share2Of is shareOf of powers of 2.
func share2Of(x, y float64) float64 {
	d, lost := difference(x, y)
	return share2(d, lost, kernels.Exp2Of(-math.Abs(d)))
}

// share2 is 1 / (1 + 2^-d) by e = 2^-|d|, for d with what it has lost.
func share2(d, lost, e float64) float64 {
	part, rest := 1/(1+e), e/(1+e)
	if d < 0 {
		part, rest = rest, part
	}
	return part * (1 + float64(float64(math.Ln2*rest)*lost))
}

func share2SlopeOf(x, y float64) float64 {
	d, lost := difference(x, y)
	e := kernels.Exp2Of(-math.Abs(d))
	return e / (1 + e) / (1 + e) * (1 - float64(float64(math.Ln2*kernels.TanhOf(float64(math.Ln2/2*d)))*lost))
}

func secOf(x float64) float64 { return 1 / kernels.CosOf(x) }

func cscOf(x float64) float64 { return 1 / kernels.SinOf(x) }

func cotOf(x float64) float64 { return 1 / kernels.TanOf(x) }

func cothOf(x float64) float64 { return 1 / kernels.TanhOf(x) }

// From hyperFar on cosh(x) and sinh(x) are exp(x)/2, and expm1(x) is exp(x), which
// overflow before their reciprocals are 0.
const hyperFar = 700

func sechOf(x float64) float64 { return sech(x, kernels.CoshOf(x)) }

// sech is that of x by its cosh.
func sech(x, cosh float64) float64 {
	if a := math.Abs(x); a > hyperFar {
		return 2 * kernels.ExpOf(-a)
	}
	return 1 / cosh
}

func expm1InverseOf(x float64) float64 {
	return expm1Inverse(x, kernels.Expm1Of(x), kernels.ExpOf(-x))
}

// expm1Inverse is that of x by e = expm1(x), or by far = exp(-x).
func expm1Inverse(x, e, far float64) float64 {
	switch {
	case x < 0:
		return math.NaN()
	case x > hyperFar:
		return far
	}
	return 1 / e
}

func cschOf(x float64) float64 { return csch(x, kernels.SinhOf(x)) }

// csch is that of x by its sinh.
func csch(x, sinh float64) float64 {
	if a := math.Abs(x); a > hyperFar {
		return math.Copysign(2*kernels.ExpOf(-a), x)
	}
	return 1 / sinh
}

// logcoshOf is log(cosh(x)), which does not overflow.
func logcoshOf(x float64) float64 {
	a := math.Abs(x)
	if a < 1 {
		// log cosh x = log1p(cosh x - 1) and cosh x - 1 = 2 sinh(x/2)^2
		s := kernels.SinhOf(a / 2)
		return kernels.Log1pOf(float64(2 * s * s))
	}
	return a + (kernels.Log1pOf(kernels.ExpOf(-2*a)) - math.Ln2)
}

func oneMinusSquareOf(x float64) float64 { return (1 - x) * (1 + x) }

// atanFar is from where on a square may overflow.
const atanFar = 0x1p500

func atanSlopeOf(x float64) float64 {
	if a := math.Abs(x); a > atanFar {
		return 1 / a / a
	}
	return 1 / (1 + float64(x*x))
}

func atanhSlopeOf(x float64) float64 {
	if math.Abs(x) > 1 {
		return math.NaN()
	}
	return 1 / oneMinusSquareOf(x)
}

func log1mexpOf(x float64) float64 {
	if x < math.Ln2 {
		return kernels.LogOf(-kernels.Expm1Of(-x))
	}
	return kernels.Log1pOf(-kernels.ExpOf(-x))
}
