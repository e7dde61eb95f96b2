package referee

import (
	"math"
	"sync"
)

// unary are the functions of one number.
var unary = sync.OnceValue(func() map[string]func(float64) float64 {
	return map[string]func(float64) float64{
		"neg": func(x float64) float64 { return -x }, "pos": func(x float64) float64 { return x },
		"abs": math.Abs, "fabs": math.Abs, "absolute": math.Abs,
		"sqrt": math.Sqrt, "rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) }, "cbrt": math.Cbrt,
		"square": func(x float64) float64 { return x * x }, "reciprocal": func(x float64) float64 { return 1 / x },
		"exp": exp, "exp2": math.Exp2, "exp10": func(x float64) float64 { return math.Pow(10, x) }, "expm1": math.Expm1,
		"log": log, "ln": log, "log1p": math.Log1p,
		"log2": func(x float64) float64 { return logBase(x, math.Log2, math.Ln2) },
		"log10": func(x float64) float64 {
			return logBase(x, func(x float64) float64 { return log(x) / math.Ln10 }, math.Ln10)
		},
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan,
		"sec": func(x float64) float64 { return 1 / math.Cos(x) }, "csc": func(x float64) float64 { return 1 / math.Sin(x) },
		"cot":  func(x float64) float64 { return math.Cos(x) / math.Sin(x) },
		"asin": math.Asin, "arcsin": math.Asin, "acos": acos, "arccos": acos, "atan": math.Atan, "arctan": math.Atan,
		"sinh": sinh, "cosh": cosh, "tanh": math.Tanh, "sech": sech, "csch": func(x float64) float64 { return 1 / sinh(x) },
		"coth":  func(x float64) float64 { return 1 / math.Tanh(x) },
		"asinh": math.Asinh, "arcsinh": math.Asinh, "acosh": math.Acosh, "arccosh": math.Acosh,
		"atanh": math.Atanh, "arctanh": math.Atanh,
		"deg2rad": func(x float64) float64 { return x * (math.Pi / 180) }, "radians": func(x float64) float64 { return x * (math.Pi / 180) },
		"rad2deg": func(x float64) float64 { return x * 180 / math.Pi }, "degrees": func(x float64) float64 { return x * 180 / math.Pi },
		"sign": sign, "floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc, "fix": math.Trunc, "rint": math.RoundToEven,
		"round": math.RoundToEven, "frac": func(x float64) float64 { return x - math.Trunc(x) },

		"erf": math.Erf, "erfc": math.Erfc, "erfinv": math.Erfinv, "erfcinv": math.Erfcinv,
		"gamma": math.Gamma, "lgamma": lgamma, "gammaln": lgamma, "loggamma": lgamma, "digamma": digamma, "psi": digamma,
		"trigamma":  func(x float64) float64 { return polygamma(1, x) },
		"factorial": func(x float64) float64 { return math.Gamma(x + 1) },
		"sinc":      sinc, "i0": i0, "bessel_i0": i0,
		"ndtr": ndtr, "normcdf": ndtr, "norm_cdf": ndtr, "log_ndtr": func(x float64) float64 { return logNdtr(x) },
		"gauss":   func(x float64) float64 { return math.Exp(-x * x) },
		"normpdf": func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) },
		"logcosh": func(x float64) float64 {
			a := math.Abs(x)
			if a < 1 {
				s := math.Sinh(a / 2)
				return math.Log1p(2 * s * s)
			}
			return a + math.Log1p(math.Exp(-2*a)) - math.Ln2
		},
		"entr": func(x float64) float64 { return -xlogy(x, x) },
		"erfcx": func(x float64) float64 {
			if x < 25 {
				return exp(x*x) * math.Erfc(x)
			}
			t := 1 / (2 * x * x)
			return 1 / (x * math.Sqrt(math.Pi)) * (1 - t + 3*t*t - 15*t*t*t)
		},

		"sigmoid": sigmoid, "expit": sigmoid, "logistic": sigmoid,
		"logsigmoid": func(x float64) float64 { return -softplus(-x) }, "log_sigmoid": func(x float64) float64 { return -softplus(-x) },
		"logit":    func(x float64) float64 { return log(x) - math.Log1p(-x) },
		"softplus": softplus, "relu": func(x float64) float64 { return maximum(x, 0) },
		"relu6":    func(x float64) float64 { return minimum(maximum(x, 0), 6) },
		"hardtanh": func(x float64) float64 { return minimum(maximum(x, -1), 1) }, "hard_tanh": func(x float64) float64 { return minimum(maximum(x, -1), 1) },
		"elu":  func(x float64) float64 { return elu(x, 1) },
		"celu": func(x float64) float64 { return elu(x, 1) },
		"selu": func(x float64) float64 {
			return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)
		},
		"gelu":        func(x float64) float64 { return gated(x, ndtr(x)) },
		"silu":        func(x float64) float64 { return gated(x, sigmoid(x)) },
		"swish":       func(x float64) float64 { return gated(x, sigmoid(x)) },
		"mish":        func(x float64) float64 { return gated(x, math.Tanh(softplus(x))) },
		"softsign":    softsign,
		"soft_sign":   softsign,
		"tanhshrink":  tanhshrink,
		"leaky_relu":  func(x float64) float64 { return leaky(x, 0.01) },
		"hardsigmoid": hardSigmoid, "hard_sigmoid": hardSigmoid,
		"hardswish":  func(x float64) float64 { return gated(x, hardSigmoid(x)) },
		"hard_swish": func(x float64) float64 { return gated(x, hardSigmoid(x)) }, "hard_silu": func(x float64) float64 { return gated(x, hardSigmoid(x)) },
		"nan_to_num": func(x float64) float64 {
			if math.IsNaN(x) {
				return 0
			}
			return math.Max(math.Min(x, math.MaxFloat64), -math.MaxFloat64)
		},
	}
})

// binary are the functions of two numbers.
var binary = sync.OnceValue(func() map[string]func(x, y float64) float64 {
	return map[string]func(x, y float64) float64{
		"add": func(x, y float64) float64 { return x + y }, "sub": func(x, y float64) float64 { return x - y },
		"mul": func(x, y float64) float64 { return x * y }, "div": func(x, y float64) float64 { return x / y },
		"pow": pow, "power": pow, "float_power": pow,
		"mod": mod, "remainder": mod, "floormod": mod, "fmod": math.Mod, "floor_divide": floorDivide, "floordiv": floorDivide,
		"maximum": maximum, "minimum": minimum, "fmax": fmax, "fmin": fmin,
		"atan2": math.Atan2, "arctan2": math.Atan2, "hypot": math.Hypot, "copysign": math.Copysign,
		"logaddexp": logaddexp, "logaddexp2": func(x, y float64) float64 { return logaddexp(x*math.Ln2, y*math.Ln2) / math.Ln2 },
		"xlogy": xlogy, "xlog1py": func(x, y float64) float64 {
			if x == 0 && !math.IsNaN(y) {
				return 0
			}
			return x * math.Log1p(y)
		},
		"beta":   beta,
		"betaln": betaln,
		"rel_entr": func(x, y float64) float64 {
			if x == 0 && y >= 0 {
				return 0
			}
			return x * log(x/y)
		},
		"heaviside": func(x, y float64) float64 {
			switch {
			case x > 0:
				return 1
			case x < 0:
				return 0
			case x == 0:
				return y
			}
			return x
		},
		"polygamma": func(n, x float64) float64 {
			if n != math.Trunc(n) {
				return math.NaN()
			}
			return polygamma(int(n), x)
		},
		"squared_difference": func(x, y float64) float64 { return (x - y) * (x - y) },
		"ldexp":              func(x, y float64) float64 { return x * math.Exp2(y) },
		"nextafter":          math.Nextafter,
	}
})

// ternary are the functions of three numbers.
var ternary = sync.OnceValue(func() map[string]func(x, y, z float64) float64 {
	return map[string]func(x, y, z float64) float64{
		"clip": clip, "clamp": clip, "clip_by_value": clip,
		"fma":  math.FMA,
		"lerp": func(x, y, t float64) float64 { return x + t*(y-x) },
		"threshold": func(x, t, value float64) float64 {
			if x <= t {
				return value
			}
			return x
		},
	}
})

// scalarOp finds the function of n numbers, nil if there is none.
func scalarOp(name string, n int) func([]float64) float64 {
	if (name == "max" || name == "min") && n > 1 {
		f := maximum
		if name == "min" {
			f = minimum
		}
		return func(v []float64) float64 {
			out := v[0]
			for _, x := range v[1:] {
				out = f(out, x)
			}
			return out
		}
	}
	name = canonical(name)
	switch n {
	case 1:
		if f := unary()[name]; f != nil {
			return func(v []float64) float64 { return f(v[0]) }
		}
	case 2:
		if f := binary()[name]; f != nil {
			return func(v []float64) float64 { return f(v[0], v[1]) }
		}
	case 3:
		if f := ternary()[name]; f != nil {
			return func(v []float64) float64 { return f(v[0], v[1], v[2]) }
		}
	}
	return nil
}

// exp does not overflow early, as math.Exp does just below its limit.
func exp(x float64) float64 {
	if x > 700 && x < 710 {
		h := math.Exp(x / 2)
		return h * h
	}
	return math.Exp(x)
}

// sinh and cosh stay finite up to 710.47, where math's do not.
func sinh(x float64) float64 {
	if a := math.Abs(x); a > 700 {
		h := math.Exp(a / 2)
		return math.Copysign(0.5*h*h, x)
	}
	return math.Sinh(x)
}

func cosh(x float64) float64 {
	if a := math.Abs(x); a > 700 {
		h := math.Exp(a / 2)
		return 0.5 * h * h
	}
	return math.Cosh(x)
}

func sech(x float64) float64 {
	e := math.Exp(-math.Abs(x))
	return 2 * e / (1 + e*e)
}

// log knows subnormal numbers, which math.Log takes for larger ones on some machines.
func log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// logBase goes by log1p near 1, where math's Log2 and Log10 cancel.
func logBase(x float64, plain func(float64) float64, ln float64) float64 {
	if x > 0.75 && x < 1.5 {
		return math.Log1p(x-1) / ln
	}
	return plain(x)
}

func acos(x float64) float64 {
	if x > 0.5 {
		return 2 * math.Asin(math.Sqrt((1-x)/2))
	}
	return math.Acos(x)
}

// pow is math.Pow, or repeated multiplication where math.Pow drifts: its error
// grows with the exponent.
func pow(x, y float64) float64 {
	if a := math.Abs(x); y == math.Trunc(y) || a < 0.9 || a > 1.1 || math.IsNaN(y) || math.IsInf(y, 0) {
		if math.Abs(y) < 1<<20 || a < 0.9 || a > 1.1 || math.IsNaN(y) || math.IsInf(y, 0) {
			return math.Pow(x, y)
		}
	}
	if x > 0 {
		return exp(y * math.Log1p(x-1))
	}
	return math.Pow(x, y)
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// mod has the sign of the divisor.
func mod(x, y float64) float64 {
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		return r + y
	}
	if r == 0 {
		return math.Copysign(0, y)
	}
	return r
}

func floorDivide(x, y float64) float64 {
	if y == 0 {
		return x / y
	}
	q := (x - mod(x, y)) / y // NaN where x is infinite
	f := math.Floor(q)
	if q-f > 0.5 {
		f++
	}
	return f
}

func maximum(x, y float64) float64 {
	if math.IsNaN(x) || x > y {
		return x
	}
	return y
}

func minimum(x, y float64) float64 {
	if math.IsNaN(x) || x < y {
		return x
	}
	return y
}

// fmax and fmin ignore a NaN beside a number.
func fmax(x, y float64) float64 {
	if math.IsNaN(y) {
		return x
	}
	if math.IsNaN(x) {
		return y
	}
	return maximum(x, y)
}

func fmin(x, y float64) float64 { return -fmax(-x, -y) }

func clip(x, lo, hi float64) float64 { return minimum(maximum(x, lo), hi) }

func logaddexp(x, y float64) float64 {
	if x == y {
		return x + math.Ln2
	}
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	return math.Max(x, y) + math.Log1p(math.Exp(-math.Abs(x-y)))
}

func xlogy(x, y float64) float64 {
	if x == 0 && !math.IsNaN(y) {
		return 0
	}
	return x * log(y)
}

func sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

func softplus(x float64) float64 { return maximum(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func elu(x, alpha float64) float64 {
	if x > 0 {
		return x
	}
	return alpha * math.Expm1(x)
}

func leaky(x, alpha float64) float64 {
	if x > 0 {
		return x
	}
	return alpha * x
}

// gated is x times the gate g, which is 0 where it is closed.
func gated(x, g float64) float64 {
	if g == 0 {
		return 0
	}
	return x * g
}

// tanhshrink is a series where the difference cancels.
func tanhshrink(x float64) float64 {
	if z := x * x; z < 1e-3 {
		return x * z * (1./3 - z*(2./15-z*(17./315-z*(62./2835-z*1382/155925))))
	}
	return x - math.Tanh(x)
}

func softsign(x float64) float64 {
	if math.IsInf(x, 0) {
		return sign(x)
	}
	return x / (1 + math.Abs(x))
}

func hardSigmoid(x float64) float64 { return clip(x+3, 0, 6) / 6 }

func ndtr(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

func logNdtr(x float64) float64 {
	if x > -30 {
		if x > 0 {
			return math.Log1p(-ndtr(-x))
		}
		return math.Log(ndtr(x))
	}
	z := 1 / (x * x)
	return -x*x/2 - math.Log(-x) - 0.5*math.Log(2*math.Pi) + math.Log1p(-z*(1-z*(3-15*z)))
}

// sinc is NumPy's, sin(pi x)/(pi x).
func sinc(x float64) float64 {
	switch r := math.Remainder(x, 2); {
	case x == 0:
		return 1
	case math.IsInf(x, 0) || math.Abs(r) == 1:
		return 0
	default:
		return math.Sin(math.Pi*r) / math.Pi / x
	}
}

func i0(x float64) float64 {
	if math.Abs(x) > 700 {
		return math.Inf(1)
	}
	sum, term := 1.0, 1.0
	for k := 1.0; term > sum*1e-18; k++ {
		term *= x * x / (4 * k * k)
		sum += term
	}
	return sum
}

func lgamma(x float64) float64 {
	if a := math.Abs(x); a < 0x1p-1022 || math.IsInf(a, 1) {
		return math.Abs(log(a))
	}
	v, _ := math.Lgamma(x)
	return v
}

func beta(x, y float64) float64 {
	if x > 0 && y > 0 && x+y > 170 { // where gammas overflow
		return math.Exp(betaln(x, y))
	}
	return math.Gamma(x) / math.Gamma(x+y) * math.Gamma(y)
}

// betaln goes by the quotient of gammas far apart where their logarithms cancel.
func betaln(x, y float64) float64 {
	if a, b := math.Max(x, y), math.Min(x, y); a > 1e8 && math.Abs(b) < 100 {
		return lgamma(b) - b*math.Log(a+(b-1)/2)
	}
	return lgamma(x) + lgamma(y) - lgamma(x+y)
}

// digamma climbs to 12 by psi(x) = psi(x+1) - 1/x and uses the asymptotic series there.
func digamma(x float64) float64 {
	if math.IsInf(x, 1) {
		return x
	}
	if x <= 0 {
		if x == 0 {
			return -1 / x
		}
		if x == math.Trunc(x) {
			return math.NaN()
		}
		return digamma(1-x) - math.Pi/math.Tan(math.Pi*(x-math.Round(x)))
	}
	s := 0.0
	for ; x < 12; x++ {
		s -= 1 / x
	}
	z := 1 / (x * x)
	return s + math.Log(x) - 0.5/x -
		z*(1./12-z*(1./120-z*(1./252-z*(1./240-z*(1./132-z*(691./32760-z/12))))))
}

// polygamma is the n-th derivative of digamma, for x > 0 by the same two steps.
func polygamma(n int, x float64) float64 {
	if n == 0 {
		return digamma(x)
	}
	if n < 0 || n > 30 {
		return math.NaN()
	}
	fact := math.Gamma(float64(n)) // (n-1)!
	sgn := 1.0
	if n%2 == 0 {
		sgn = -1
	}
	if x <= 0 {
		if x == math.Trunc(x) {
			return math.Inf(1)
		}
		if n == 1 { // reflection; higher orders by climbing
			s := math.Pi / math.Sin(math.Pi*(x-math.Round(x)))
			return s*s - polygamma(1, 1-x)
		}
	}
	s := 0.0
	nn := float64(n)
	for ; x < 20+nn; x++ {
		s += fact * nn / math.Pow(x, nn+1)
	}
	bernoulli := []float64{1. / 6, -1. / 30, 1. / 42, -1. / 30, 5. / 66, -691. / 2730, 7. / 6}
	t := fact/math.Pow(x, nn) + fact*nn/(2*math.Pow(x, nn+1))
	for k, b := range bernoulli {
		m := 2 * float64(k+1)
		g := math.Gamma(m+nn) / math.Gamma(m+1)
		t += b * g / math.Pow(x, m+nn)
	}
	return sgn * (s + t)
}
