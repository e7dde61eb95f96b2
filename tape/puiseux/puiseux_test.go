package puiseux

import (
	"math"
	"testing"

	"nabla/kernels"
)

// value is what the terms of x come to.
func (x Series) value(t float64) (v float64) {
	for k := len(x.c) - 1; k >= 0; k-- {
		v = v*t + x.c[k]
	}
	return v*math.Pow(t, float64(x.low)) + x.log*math.Log(t)
}

// Close to a point a function is what its series comes to there. The points are those where
// the functions are smooth, where they have infinite slopes, and where they are infinite.
func TestSeriesOfFunctions(t *testing.T) {
	of := func(f func(float64) float64) func(x, y float64) float64 {
		return func(x, _ float64) float64 { return f(x) }
	}
	square := func(x float64) float64 { return x * x }
	for _, c := range []struct {
		op string
		f  func(x, y float64) float64
		at []float64
	}{
		{"add", func(x, y float64) float64 { return x + y }, []float64{0, 1, -2}},
		{"subtract", func(x, y float64) float64 { return x - y }, []float64{0, 1, -2}},
		{"multiply", func(x, y float64) float64 { return x * y }, []float64{0, 1, -2}},
		{"divide", func(x, y float64) float64 { return x / y }, []float64{0, 1, -2}},
		{"negative", of(func(x float64) float64 { return -x }), []float64{0, 3}},
		{"square", of(square), []float64{0, 1, -2}},
		{"reciprocal", of(func(x float64) float64 { return 1 / x }), []float64{0, 1, -2}},
		{"log_slope", of(func(x float64) float64 { return 1 / x }), []float64{0, 2}},
		{"log1p_slope", of(func(x float64) float64 { return 1 / (1 + x) }), []float64{0, -1}},
		{"abs", of(math.Abs), []float64{0, 2, -2}},
		{"abs_slope", of(func(x float64) float64 { return math.Copysign(1, x) }), []float64{0, 2, -2}},
		{"power", math.Pow, []float64{0.5, 2}},
		{"sqrt", of(math.Sqrt), []float64{0, 2}},
		{"rsqrt", of(func(x float64) float64 { return 1 / math.Sqrt(x) }), []float64{0, 2}},
		{"cbrt", of(math.Cbrt), []float64{0, 2, -2}},
		{"cbrt_slope", of(func(x float64) float64 { return 1 / 3. / square(math.Cbrt(x)) }), []float64{0, 2, -2}},
		{"hypot", math.Hypot, []float64{0, 1}},
		{"unit", func(x, y float64) float64 { return x / math.Hypot(x, y) }, []float64{0, 1}},
		{"turn", func(x, y float64) float64 { return x / square(math.Hypot(x, y)) }, []float64{0, 1}},
		{"one_minus_square", of(func(x float64) float64 { return (1 - x) * (1 + x) }), []float64{0, 1, -1}},
		{"atan_slope", of(func(x float64) float64 { return 1 / (1 + x*x) }), []float64{0, 1}},
		{"atanh_slope", of(func(x float64) float64 { return 1 / ((1 - x) * (1 + x)) }), []float64{0, 1, -1}},
		{"acosh_slope", of(func(x float64) float64 { return 1 / math.Sqrt((x-1)*(x+1)) }), []float64{1, 2}},
		{"asin", of(kernels.AsinOf), []float64{0, 0.5, 1, -1}},
		{"acos", of(kernels.AcosOf), []float64{0, 0.5, 1, -1}},
		{"atan", of(kernels.AtanOf), []float64{0, 1, -2}},
		{"asinh", of(kernels.AsinhOf), []float64{0, 1, -2}},
		{"acosh", of(kernels.AcoshOf), []float64{1, 2}},
		{"atanh", of(kernels.AtanhOf), []float64{0, 0.5}},
		{"exp", of(kernels.ExpOf), []float64{0, 1, -2}},
		{"exp2", of(math.Exp2), []float64{0, 1, -2}},
		{"erf", of(math.Erf), []float64{0, 1, -2}},
		{"erfc", of(math.Erfc), []float64{0, 1, -2}},
		{"normcdf", of(kernels.NormCdfOf), []float64{0, 1, -2}},
		{"logaddexp", func(x, y float64) float64 { return math.Log(math.Exp(x) + math.Exp(y)) }, []float64{0, 1, -2}},
		{"logcosh", of(func(x float64) float64 { return math.Log(math.Cosh(x)) }), []float64{0, 1, -2}},
		{"atan2", math.Atan2, []float64{0, 1, -2}},
		{"xlogy", func(x, y float64) float64 { return x * math.Log(y) }, []float64{0.5, 2}},
		{"xlog1py", func(x, y float64) float64 { return x * math.Log1p(y) }, []float64{0.5, 2}},
		{"xdivy", func(x, y float64) float64 { return x / y }, []float64{0.5, 2}},
		{"entr", of(func(x float64) float64 { return -x * math.Log(x) }), []float64{0.5, 2}},
		{"rel_entr", func(x, y float64) float64 { return x * math.Log(x/y) }, []float64{0.5, 2}},
		{"kl_div", func(x, y float64) float64 { return x*math.Log(x/y) - x + y }, []float64{0.5, 2}},
		{"log_ratio", func(x, y float64) float64 { return math.Log(x / y) }, []float64{0.5, 2}},
		{"excess", func(x, y float64) float64 { return (x - y) / x }, []float64{0.5, 2}},
		{"share", func(x, y float64) float64 { return 1 / (1 + math.Exp(y-x)) }, []float64{0, 1, -2}},
		{"share_slope", func(x, y float64) float64 { return 1 / (2 + math.Exp(y-x) + math.Exp(x-y)) }, []float64{0, 1, -2}},
		{"logaddexp2", func(x, y float64) float64 { return math.Log2(math.Exp2(x) + math.Exp2(y)) }, []float64{0, 1, -2}},
		{"softsign", of(func(x float64) float64 { return x / (1 + math.Abs(x)) }), []float64{0, 1, -2}},
		{"tanhshrink", of(func(x float64) float64 { return x - math.Tanh(x) }), []float64{1, -2}},
		{"cube", of(func(x float64) float64 { return x * x * x }), []float64{0, 1, -2}},
		{"fourth", of(func(x float64) float64 { return square(square(x)) }), []float64{0, 1, -2}},
		{"maximum", math.Max, []float64{0, 1, -2}},
		{"minimum", math.Min, []float64{0, 1, -2}},
		{"expm1", of(kernels.Expm1Of), []float64{0, 1, -2}},
		{"log", of(kernels.LogOf), []float64{1, 2}},
		{"log2", of(math.Log2), []float64{1, 3}},
		{"log10", of(math.Log10), []float64{1, 3}},
		{"log1p", of(kernels.Log1pOf), []float64{0, 2}},
		{"sin", of(kernels.SinOf), []float64{0, 1, -2}},
		{"cos", of(kernels.CosOf), []float64{0, 1, -2}},
		{"tan", of(math.Tan), []float64{0, 1, -2}},
		{"csc", of(func(x float64) float64 { return 1 / math.Sin(x) }), []float64{0, 1}},
		{"sec", of(func(x float64) float64 { return 1 / math.Cos(x) }), []float64{0, 1}},
		{"cot", of(func(x float64) float64 { return 1 / math.Tan(x) }), []float64{0, 1}},
		{"sinh", of(kernels.SinhOf), []float64{0, 1}},
		{"cosh", of(kernels.CoshOf), []float64{0, 1}},
		{"tanh", of(math.Tanh), []float64{0, 1}},
		{"csch", of(func(x float64) float64 { return 1 / math.Sinh(x) }), []float64{0, 1}},
		{"sech", of(func(x float64) float64 { return 1 / math.Cosh(x) }), []float64{0, 1}},
		{"coth", of(func(x float64) float64 { return 1 / math.Tanh(x) }), []float64{0, 1}},
		{"sech2", of(func(x float64) float64 { return 1 / square(math.Cosh(x)) }), []float64{0, 1}},
		{"sigmoid", of(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }), []float64{0, 1}},
		{"sigmoid_slope", of(func(x float64) float64 { return 1 / (2 + math.Exp(-x) + math.Exp(x)) }), []float64{0, 1}},
		{"softplus", of(kernels.SoftplusOf), []float64{0, 1}},
		{"gauss", of(func(x float64) float64 { return math.Exp(-x * x) }), []float64{0, 1}},
	} {
		const t0 = 0.5
		d := math.Pow(t0, Root) // the first terms that are left out are d⁵
		for _, v := range c.at {
			seen := 0
			for _, by := range []float64{1.25, -1.5} {
				x, y := Near(v, by), Near(0.75, 2) // y has roots too
				root := by > 0 && v == 0 && c.op != "power"
				got, ok := Apply(c.op, x, y, Series{})
				if got.Undefined() {
					continue // outside the domain
				}
				seen++
				want := c.f(v+by*d, 0.75+2*d)
				if off := math.Abs(got.value(t0) - want); !ok || !(off <= 1e-11*math.Max(math.Abs(want), d)) {
					t.Errorf("%s %v from %v: %v %v, want %v", c.op, by, v, got.value(t0), ok, want)
				}
				if !root {
					continue
				}
				// The same of a square root.
				got, ok = Apply(c.op, x.Sqrt(), y, Series{})
				want = c.f(math.Sqrt(by*d), 0.75+2*d)
				if off := math.Abs(got.value(t0) - want); !ok || !(off <= 1e-11*math.Max(math.Abs(want), d)) {
					t.Errorf("%s of a root: %v %v, want %v", c.op, got.value(t0), ok, want)
				}
			}
			if seen == 0 {
				t.Errorf("%s near %v: on no side", c.op, v)
			}
		}
	}
}

// Limits of quotients, of what is infinite on one side, and of what is no power of a root.
func TestLimits(t *testing.T) {
	inf := math.Inf(1)
	d, one := Near(0, 1), Of(1)
	for _, c := range []struct {
		name string
		x    Series
		want float64
		ok   bool
	}{
		{"0", Series{}, 0, true},
		{"d", d, 0, true},
		{"2 + d", Near(2, 1), 2, true},
		{"1/d", d.inverse(), inf, true},
		{"-1/sqrt(d)", d.pow(-0.5).neg(), -inf, true},
		{"d/d", d.div(d), 1, true},
		{"sqrt(d)/sqrt(d)", d.Sqrt().div(d.Sqrt()), 1, true},
		{"(1 + d) - 1 - d", one.Add(d).sub(one).sub(d), 0, true},
		{"(exp(d) - 1 - d)/d²", d.exp().sub(one).sub(d).div(d.Mul(d)), 0.5, true},
		{"d^0.3", d.pow(0.3), 0, false},
		{"log(d)", d.logarithm(), -inf, true},
		{"1 - log(d)/2", one.sub(d.logarithm().times(0.5)), inf, true},
		{"log(d)²", first(Apply("square", d.logarithm(), one, one)), 0, false},
		{"d log(d)", d.Mul(d.logarithm()), 0, false},
		{"exp(log(d)/2)/sqrt(d)", d.logarithm().times(0.5).exp().div(d.Sqrt()), 1, true},
		{"exp(log(d)/10)", d.logarithm().times(0.1).exp(), 0, false}, // no power of the root
		{"exp(log(d + d²) - log(d))", d.Add(d.Mul(d)).logarithm().sub(d.logarithm()).exp(), 1, true},
		{"1 + log(d)² - log(d)²", one.Add(Unknown).sub(Unknown), 0, false},
		{"where(d > 0, 2, 3)", first(Apply("where", first(Compare("greater", d, Series{})), Of(2), Of(3))), 2, true},
		{"where(1 + d == 1, 2, 3)", first(Apply("where", first(Compare("equal", one.Add(d), one)), Of(2), Of(3))), 3, true},
		{"where(1 == 1 && d >= 0, 2, 3)", first(Apply("where", first(Logic("logical_and", first(Compare("equal", one, one)), first(Compare("greater_equal", d, Series{})))), Of(2), Of(3))), 2, true},
		{"where(log(d)² < 0, 2, 3)", first(Apply("where", first(Compare("less", Unknown, one)), Of(2), Of(3))), 0, false},
		{"where(sqrt(-d) < 0, 2, 3)", first(Apply("where", first(Compare("less", d.neg().Sqrt(), one)), Of(2), Of(3))), math.NaN(), true},
		{"maximum(d, d²)/d", first(Apply("maximum", d, d.Mul(d), one)).div(d), 1, true},
		{"minimum(d, d²)/d²", first(Apply("minimum", d, d.Mul(d), one)).div(d.Mul(d)), 1, true},
		{"sqrt(-d)", d.neg().Sqrt(), math.NaN(), true},
		{"(exp(d) - exp(d))/d⁶", d.exp().sub(d.exp()).div(d.pow(6)), 0, false}, // more than terms tell
	} {
		got, ok := c.x.Limit()
		if ok != c.ok || ok && got != c.want && (got == got || c.want == c.want) {
			t.Errorf("%s comes to %v %v, want %v %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func first(x Series, _ bool) Series { return x }

// TestSlope: derivatives of any order are coefficients, or infinite next to other powers.
func TestSlope(t *testing.T) {
	d, inf := Near(0, 1), math.Inf(1)
	for _, c := range []struct {
		name string
		x    Series
		n    int
		want float64
		ok   bool
	}{
		{"exp(2d)", d.times(2).exp(), 4, 16, true},
		{"d^1.5", d.pow(1.5), 1, 0, true},
		{"d^1.5", d.pow(1.5), 2, inf, true},
		{"d^1.5", d.pow(1.5), 3, -inf, true},
		{"sqrt(d)", d.Sqrt(), 2, -inf, true},
		{"1/d", d.inverse(), 1, -inf, true},
		{"log(d)", d.logarithm(), 1, 0, false},
		{"exp(d)", d.exp(), 6, 0, false}, // more than terms tell
		{"sqrt(-d)", d.neg().Sqrt(), 1, math.NaN(), true},
	} {
		got, ok := c.x.Slope(c.n)
		if ok != c.ok || ok && got != c.want && (got == got || c.want == c.want) {
			t.Errorf("derivative %d of %s is %v %v, want %v %v", c.n, c.name, got, ok, c.want, c.ok)
		}
	}
}

// Powers are whole powers of the distance, or what is asked for is no polynomial.
func TestPowers(t *testing.T) {
	d := Near(0, 1)
	for _, c := range []struct {
		name string
		x    Series
		n    int
		want []float64
	}{
		{"3 + 2d", Near(3, 2), 2, []float64{3, 2, 0}},
		{"exp(d)", d.exp(), 2, []float64{1, 1, 0.5}},
		{"d^1.5", d.pow(1.5), 1, []float64{0, 0}}, // once differentiable
		{"d^1.5", d.pow(1.5), 2, nil},
		{"sqrt(d)", d.Sqrt(), 1, nil},
		{"1/d", d.inverse(), 1, nil},
		{"log(d)", d.logarithm(), 1, nil},
		{"sqrt(-d)", d.neg().Sqrt(), 1, nil},
	} {
		got, ok := c.x.Powers(c.n)
		if ok != (c.want != nil) {
			t.Errorf("%s: %v %v, want %v", c.name, got, ok, c.want)
			continue
		}
		for k := range got {
			if math.Abs(got[k]-c.want[k]) > 0x1p-50 {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
}

// TestProductsWithZero: where x is 0 so is its product with a function, and kl_div is y.
func TestProductsWithZero(t *testing.T) {
	y := Near(0, 1)
	for _, c := range []struct {
		op   string
		want Series
	}{{"xlogy", Series{}}, {"xlog1py", Series{}}, {"xdivy", Series{}}, {"rel_entr", Series{}}, {"entr", Series{}}, {"kl_div", y}} {
		if got, ok := Apply(c.op, Of(0), y, Series{}); !ok || got.value(0.5) != c.want.value(0.5) {
			t.Errorf("%s of 0 and what goes to 0 is %v, want %v", c.op, got, c.want)
		}
	}
}

// TestLogic: what conditions of numbers say, of what is no number, and of what moves.
func TestLogic(t *testing.T) {
	for _, c := range []struct {
		op   string
		want [4]float64 // of 0 0, 0 1, 1 0, 1 1
	}{
		{"logical_and", [4]float64{0, 0, 0, 1}},
		{"logical_or", [4]float64{0, 1, 1, 1}},
		{"logical_xor", [4]float64{0, 1, 1, 0}},
		{"logical_not", [4]float64{1, 1, 0, 0}},
	} {
		for i, want := range c.want {
			x, y := Of(float64(i>>1)), Of(float64(i&1))
			got, ok := Logic(c.op, x, y)
			if v, known := got.Limit(); !ok || !known || v != want {
				t.Errorf("%s of %d is %v %v, want %v", c.op, i, v, ok, want)
			}
		}
		if got, _ := Logic(c.op, undefined, Of(1)); !got.Undefined() {
			t.Errorf("%s of what is undefined is %v", c.op, got)
		}
		if got, _ := Logic(c.op, Near(1, 1), Of(1)); got.Constant() {
			t.Errorf("%s of what moves is %v", c.op, got)
		}
	}
	if _, ok := Logic("add", Of(0), Of(1)); ok {
		t.Error("add is no logical operation")
	}
}

// TestOfLogarithms: functions of the logarithm of what goes to 0 are those of numbers.
func TestOfLogarithms(t *testing.T) {
	const t0 = 0.5
	d := math.Pow(t0, Root)
	x := Near(0, 1).logarithm()
	for _, c := range []struct {
		op string
		f  func(x float64) float64
	}{
		{"exp", math.Exp}, {"expm1", math.Expm1}, {"sinh", math.Sinh}, {"cosh", math.Cosh}, {"softplus", kernels.SoftplusOf},
		{"abs", math.Abs}, {"sign", func(x float64) float64 { return math.Copysign(1, x) }}, {"negative", func(x float64) float64 { return -x }},
	} {
		got, ok := Apply(c.op, x, Series{}, Series{})
		if want := c.f(math.Log(d)); !ok || !(math.Abs(got.value(t0)-want) <= 1e-10*max(math.Abs(want), d)) {
			t.Errorf("%s of log(%v) is %v %v, want %v", c.op, d, got.value(t0), ok, want)
		}
	}
	for _, op := range []string{"hypot", "atan2", "xlogy"} { // of which nothing is known then
		for _, args := range [][2]Series{{x, Of(1)}, {Of(1), x}} {
			if got, ok := Apply(op, args[0], args[1], Series{}); !ok || got.Constant() || got.Undefined() {
				t.Errorf("%s of %v is %v", op, args, got)
			}
		}
	}
}

// TestUndefined: what is computed of what is undefined is, too; only a zero that is exact stays 0 in zmul.
func TestUndefined(t *testing.T) {
	for _, op := range []string{"add", "multiply", "atan2", "maximum", "hypot"} {
		for _, args := range [][2]Series{{undefined, Of(2)}, {Of(2), undefined}} {
			if got, _ := Apply(op, args[0], args[1], Series{}); !got.Undefined() {
				t.Errorf("%s of %v is %v", op, args, got)
			}
		}
	}
	for _, op := range []string{"exp", "sin", "asin", "log1p", "abs", "sqrt"} {
		if got, _ := Apply(op, undefined, Series{}, Series{}); !got.Undefined() {
			t.Errorf("%s of what is undefined is %v", op, got)
		}
	}
	for _, args := range [][2]Series{{undefined, Of(0)}, {Of(0), undefined}} {
		if got, _ := Apply("zmul", args[0], args[1], Series{}); !got.Zero() || got.Undefined() {
			t.Errorf("zmul of %v is %v", args, got)
		}
	}
	if got, _ := Apply("zmul", Of(2), Near(3, 1), Series{}); got.Zero() {
		t.Errorf("zmul of 2 and what goes to 3 is %v", got)
	}
}
