package tape

import (
	"math"

	"nabla/kernels"
)

// namedConstants are the numbers that programs and rules know by name.
var namedConstants = map[string]float64{
	"pi": math.Pi, "π": math.Pi, "e": math.E, "tau": 2 * math.Pi, "τ": 2 * math.Pi,
	"inf": math.Inf(1), "nan": math.NaN(),
}

func init() {
	register("exponentials, logarithms, trigonometry", []*Op{
		{Name: "exp", Args: "x", Doc: "e to the power x", Grad: d("out"), Kernel: kernels.Exp, One: kernels.ExpOf, Try: at(-2, 0, 1.5)},
		{Name: "exp2", Args: "x", Doc: "2 to the power x", Grad: d("0.6931471805599453 * out"), Kernel: kernels.Exp2, One: kernels.Exp2Of, Try: at(-2, 0, 1.5)},
		{Name: "expm1", Args: "x", Doc: "exp(x) - 1, accurate near 0", Grad: d("exp(x)"), Kernel: kernels.Expm1, One: kernels.Expm1Of, Try: at(-2, 1e-9, 1.5)},
		{Name: "log", Alias: []string{"ln"}, Args: "x", Doc: "natural logarithm", Grad: d("log_slope(x)"), Kernel: kernels.Log, One: kernels.LogOf, Try: at(0.1, 1, 7),
			Kinks: []Kink{{"x < 0", "the logarithm of a negative number is not real", false}, {"x == 0", "a vertical tangent", false}}, Note: "at 0: inf; below 0: NaN"},
		{Name: "log2", Args: "x", Doc: "logarithm to base 2", Grad: d("1.4426950408889634 * log_slope(x)"), Kernel: kernels.Log2, One: kernels.Log2Of, Try: at(0.1, 1, 7),
			Kinks: []Kink{{"x < 0", "the logarithm of a negative number is not real", false}, {"x == 0", "a vertical tangent", false}}},
		{Name: "log10", Args: "x", Doc: "logarithm to base 10", Grad: d("0.4342944819032518 * log_slope(x)"), Kernel: kernels.Log10, One: kernels.Log10Of, Try: at(0.1, 1, 7),
			Kinks: []Kink{{"x < 0", "the logarithm of a negative number is not real", false}, {"x == 0", "a vertical tangent", false}}},
		{Name: "log1p", Args: "x", Doc: "log(1 + x), accurate near 0", Grad: d("log1p_slope(x)"), Kernel: kernels.Log1p, One: kernels.Log1pOf, Try: at(-0.5, 1e-9, 3),
			Kinks: []Kink{{"x < -1", "the logarithm of a negative number is not real", false}, {"x == -1", "a vertical tangent", false}}},
		{Name: "cbrt", Args: "x", Doc: "cube root", Grad: d("1 / (3 * square(out))"), Kernel: kernels.Cbrt, One: kernels.CbrtOf, Try: at(-8, 0.5, 27),
			Kinks: []Kink{{"x == 0", "a vertical tangent", false}}},
		{Name: "sin", Args: "x", Doc: "sine", Grad: d("cos(x)"), Kernel: kernels.Sin, One: kernels.SinOf, Try: at(-2, 0, 1)},
		{Name: "cos", Args: "x", Doc: "cosine", Grad: d("-sin(x)"), Kernel: kernels.Cos, One: kernels.CosOf, Try: at(-2, 0.3, 1)},
		{Name: "tan", Args: "x", Doc: "tangent", Grad: d("1 + square(out)"), Kernel: kernels.Tan, One: kernels.TanOf, Try: at(-1, 0, 1)},
		{Name: "asin", Alias: []string{"arcsin"}, Args: "x", Doc: "inverse sine", Grad: d("1 / sqrt(one_minus_square(x))"), Kernel: kernels.Asin, One: kernels.AsinOf, Try: at(-0.5, 0, 0.9),
			Kinks: []Kink{{"abs(x) > 1", "the inverse sine of a number beyond 1 is not real", false}, {"abs(x) == 1", "a vertical tangent", false}}, Note: "at ±1: inf"},
		{Name: "acos", Alias: []string{"arccos"}, Args: "x", Doc: "inverse cosine", Grad: d("-1 / sqrt(one_minus_square(x))"), Kernel: kernels.Acos, One: kernels.AcosOf, Try: at(-0.5, 0, 0.9),
			Kinks: []Kink{{"abs(x) > 1", "the inverse cosine of a number beyond 1 is not real", false}, {"abs(x) == 1", "a vertical tangent", false}}, Note: "at ±1: -inf"},
		{Name: "atan", Alias: []string{"arctan"}, Args: "x", Doc: "inverse tangent", Grad: d("atan_slope(x)"), Kernel: kernels.Atan, One: kernels.AtanOf, Try: at(-3, 0, 0.9)},
		{Name: "atan2", Alias: []string{"arctan2"}, Args: "y, x", Doc: "the angle of the point (x, y)",
			Grad: d("unit(x, y) / hypot(x, y)", "-unit(y, x) / hypot(x, y)"), Kernel: kernels.Atan2, One: kernels.Atan2Of, Try: at2(1, 2, -1, -0.5),
			Kinks: []Kink{{"x == 0 && y == 0", "the angle of the origin has no derivative", false}}, Note: "at (0, 0): NaN"},
		{Name: "sinh", Args: "x", Doc: "hyperbolic sine", Grad: d("cosh(x)"), Kernel: kernels.Sinh, One: kernels.SinhOf, Try: at(-2, 0, 1)},
		{Name: "cosh", Args: "x", Doc: "hyperbolic cosine", Grad: d("sinh(x)"), Kernel: kernels.Cosh, One: kernels.CoshOf, Try: at(-2, 0.1, 1)},
		{Name: "tanh", Args: "x", Doc: "hyperbolic tangent", Grad: d("sech2(x)"), Kernel: kernels.Tanh, One: kernels.TanhOf, Try: at(-20, -0.5, 0, 2)},
		{Name: "sech2", Args: "x", Doc: "1 / cosh(x)^2, the derivative of tanh", Grad: d("-2 * out * tanh(x)"), Kernel: kernels.Sech2, One: kernels.Sech2Of, Try: at(-2, 0.5, 2)},
		{Name: "asinh", Alias: []string{"arcsinh"}, Args: "x", Doc: "inverse hyperbolic sine", Grad: d("1 / hypot(1, x)"), Kernel: kernels.Asinh, One: kernels.AsinhOf, Try: at(-2, 0, 1)},
		{Name: "acosh", Alias: []string{"arccosh"}, Args: "x", Doc: "inverse hyperbolic cosine", Grad: d("1 / (sqrt(x - 1) * sqrt(x + 1))"), Kernel: kernels.Acosh, One: kernels.AcoshOf, Try: at(1.5, 4),
			Kinks: []Kink{{"x < 1", "the inverse hyperbolic cosine below 1 is not real", false}, {"x == 1", "a vertical tangent", false}}, Note: "at 1: inf"},
		{Name: "atanh", Alias: []string{"arctanh"}, Args: "x", Doc: "inverse hyperbolic tangent", Grad: d("where(abs(x) > 1, nan, 1 / one_minus_square(x))"), Kernel: kernels.Atanh, One: kernels.AtanhOf, Try: at(-0.5, 0, 0.9),
			Kinks: []Kink{{"abs(x) > 1", "the inverse hyperbolic tangent beyond 1 is not real", false}, {"abs(x) == 1", "a vertical tangent", false}}},
		{Name: "sec", Args: "x", Doc: "1 / cos(x)", Grad: d("out * tan(x)"), Kernel: each1(secOf), One: secOf, Try: at(-1, 0, 1)},
		{Name: "csc", Args: "x", Doc: "1 / sin(x)", Grad: d("-out * cot(x)"), Kernel: each1(cscOf), One: cscOf, Try: at(-1, 0.1, 2)},
		{Name: "cot", Args: "x", Doc: "1 / tan(x)", Grad: d("-1 - square(out)"), Kernel: each1(cotOf), One: cotOf, Try: at(-1, 0.1, 2)},
		{Name: "sech", Args: "x", Doc: "1 / cosh(x)", Grad: d("-out * tanh(x)"), Kernel: each1(sechOf), One: sechOf, Try: at(-2, 0, 1)},
		{Name: "csch", Args: "x", Doc: "1 / sinh(x)", Grad: d("-out * coth(x)"), Kernel: each1(cschOf), One: cschOf, Try: at(-2, 0.1, 1)},
		{Name: "coth", Args: "x", Doc: "1 / tanh(x)", Grad: d("-square(csch(x))"), Kernel: each1(cothOf), One: cothOf, Try: at(-2, 0.1, 1)},
		{Name: "degrees", Alias: []string{"rad2deg"}, Args: "x", Doc: "radians to degrees", Body: "x * (180 / pi)"},
		{Name: "radians", Alias: []string{"deg2rad"}, Args: "x", Doc: "degrees to radians", Body: "x * (pi / 180)"},
		{Name: "sigmoid", Alias: []string{"expit", "logistic"}, Args: "x", Doc: "1 / (1 + exp(-x))", Grad: d("sigmoid_slope(x)"), Kernel: kernels.Sigmoid, One: kernels.SigmoidOf, Try: at(-30, 0, 2)},
		{Name: "atan_slope", Hidden: true, Args: "x", Doc: "1 / (1 + x^2)", Grad: d("-2 * (x * out) * out"), Kernel: each1(atanSlopeOf), One: atanSlopeOf, Try: at(-3, 0.5)},
		{Name: "log_slope", Hidden: true, Args: "x", Doc: "1 / x, NaN below 0 where the logarithm is", Grad: d("-square(out)"), Adj: squareOfOut, Kernel: logSlope, One: logSlopeOf, Try: at(0.1, 1, 7)},
		{Name: "log1p_slope", Hidden: true, Args: "x", Doc: "1 / (1 + x), NaN below -1 where the logarithm is", Grad: d("-square(out)"), Adj: squareOfOut, Kernel: log1pSlope, One: log1pSlopeOf, Try: at(-0.5, 1e-9, 3)},
		{Name: "sigmoid_slope", Hidden: true, Args: "x", Doc: "sigmoid(x) sigmoid(-x), whose own derivative must not cancel at 0", Grad: d("-out * tanh(x / 2)"), Kernel: kernels.SigmoidSlope, One: kernels.SigmoidSlopeOf, Try: at(-2, 0, 1)},
		{Name: "one_minus_square", Hidden: true, Args: "x", Doc: "(1 - x)(1 + x): exact factors near ±1, a derivative that does not cancel at 0", Grad: d("-2 * x"), Kernel: each1(oneMinusSquareOf), One: oneMinusSquareOf, Try: at(-0.5, 0.3)},
		{Name: "softplus", Args: "x", Doc: "log(1 + exp(x)), without overflow", Grad: d("sigmoid(x)"), Kernel: kernels.Softplus, One: kernels.SoftplusOf, Try: at(-30, 0, 30)},
		{Name: "log_sigmoid", Alias: []string{"logsigmoid"}, Args: "x", Doc: "log(sigmoid(x)), without overflow", Body: "-softplus(-x)"},
		{Name: "log1mexp", Args: "x", Doc: "log(1 - exp(-x)) for positive x, accurate at both ends", Grad: d("expm1_inverse(x)"), Kernel: each1(log1mexpOf), One: log1mexpOf, Try: at(0.1, 1, 5)},
		{Name: "expm1_inverse", Hidden: true, Args: "x", Doc: "1 / expm1(x)", Grad: d("-out * (1 + out)"), Kernel: each1(expm1InverseOf), One: expm1InverseOf, Try: at(0.1, 1, 5)},
		{Name: "logit", Args: "x", Doc: "log(x / (1 - x))", Body: "log(x) - log1p(-x)"},
		{Name: "logaddexp", Args: "x, y", Doc: "log(exp(x) + exp(y)), without overflow",
			Grad: d("sigmoid(gap(x, y))", "sigmoid(gap(y, x))"), Kernel: each2(logaddexpOf), One: logaddexpOf, Try: at2(1, 2, -50, 3)},
		{Name: "logaddexp2", Args: "x, y", Doc: "log2(2^x + 2^y), without overflow", Body: "logaddexp(x * 0.6931471805599453, y * 0.6931471805599453) * 1.4426950408889634"},
		{Name: "logcosh", Alias: []string{"log_cosh"}, Args: "x", Doc: "log(cosh(x)), without overflow", Grad: d("tanh(x)"), Kernel: each1(logcoshOf), One: logcoshOf, Try: at(-50, 0.1, 2)},
	})
}

func logaddexpOf(x, y float64) float64 {
	m, n := x, y
	if n > m {
		m, n = n, m
	}
	if math.IsInf(m, 0) || m == n {
		if m == n && !math.IsInf(m, 0) {
			return m + math.Ln2
		}
		return m
	}
	return m + kernels.Log1pOf(kernels.ExpOf(n-m))
}

func secOf(x float64) float64 { return 1 / kernels.CosOf(x) }

func cscOf(x float64) float64 { return 1 / kernels.SinOf(x) }

func cotOf(x float64) float64 { return 1 / kernels.TanOf(x) }

func cothOf(x float64) float64 { return 1 / kernels.TanhOf(x) }

func expm1InverseOf(x float64) float64 { return 1 / kernels.Expm1Of(x) }

// From hyperFar on cosh(x) and sinh(x) are exp(x)/2, which overflows before its
// reciprocal is 0.
const hyperFar = 700

func sechOf(x float64) float64 {
	if a := math.Abs(x); a > hyperFar {
		return 2 * kernels.ExpOf(-a)
	}
	return 1 / kernels.CoshOf(x)
}

func cschOf(x float64) float64 {
	if a := math.Abs(x); a > hyperFar {
		return math.Copysign(2*kernels.ExpOf(-a), x)
	}
	return 1 / kernels.SinhOf(x)
}

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

func atanSlopeOf(x float64) float64 { return 1 / (1 + float64(x*x)) }

func log1mexpOf(x float64) float64 {
	if x < math.Ln2 {
		return kernels.LogOf(-kernels.Expm1Of(-x))
	}
	return kernels.Log1pOf(-kernels.ExpOf(-x))
}

func logSlopeOf(x float64) float64 {
	if x < 0 {
		return math.NaN()
	}
	return 1 / x
}

func logSlope(dst, x []float64) {
	inside := kernels.Min(x) >= 0 // before dst, which may be x, is written
	if inside {
		kernels.Recip(dst, x)
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = logSlopeOf(v)
	}
}

func log1pSlopeOf(x float64) float64 {
	if x < -1 {
		return math.NaN()
	}
	return 1 / (1 + x)
}

func log1pSlope(dst, x []float64) {
	if kernels.Min(x) >= -1 {
		kernels.AddScalar(dst, x, 1)
		kernels.Recip(dst, dst)
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = log1pSlopeOf(v)
	}
}

// log1pTwin is log1p and its slope.
func log1pTwin(y, d, x []float64) {
	inside := kernels.Min(x) >= -1
	kernels.Log1pRecip(y, d, x)
	if !inside {
		for i, v := range x[:len(d)] {
			d[i] = log1pSlopeOf(v)
		}
	}
}

// A twin computes two operations of one argument together, with the bits of each: a
// function and its partial share most of the work.
type twin struct {
	other *Op
	first bool // this operation is the first result of both
	both  func(y, d, x []float64)

	single any // both, of float32
}

func init() {
	pair := func(a, b string, both func(y, d, x []float64)) {
		table[a].twin = &twin{other: table[b], first: true, both: both}
		table[b].twin = &twin{other: table[a], both: both}
	}
	pair("sin", "cos", kernels.SinCos)
	pair("tanh", "sech2", kernels.TanhSech2)
	pair("sigmoid", "sigmoid_slope", kernels.SigmoidTwin)
	pair("log1p", "log1p_slope", log1pTwin)
}
