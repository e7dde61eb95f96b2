package difference

import (
	"errors"
	"math"
	"math/rand"
	"testing"
)

func pure(f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) { return f(x), nil }
}

func cube(x float64) float64   { return x * x * x }
func triple(x float64) float64 { return 3 * x }
func near(x float64) float64   { return math.Sqrt(1 - x) }
func gauss(x float64) float64  { return math.Exp(-x * x) }

// within is f from a to b, and NaN outside.
func within(a, b float64, f func(float64) float64) func(float64) float64 {
	return func(x float64) float64 {
		if x < a || x > b {
			return math.NaN()
		}
		return f(x)
	}
}

func TestDerivative(t *testing.T) {
	rows := []struct {
		name string
		f    func(float64) float64
		x    float64
		want float64
		rtol float64
	}{
		{"sin", math.Sin, 1, math.Cos(1), 1e-12},
		{"sin", math.Sin, 0, 1, 1e-12},
		{"sin", math.Sin, 1e4, math.Cos(1e4), 1e-8}, // a tenth of x is 160 periods
		{"sin 50x", func(x float64) float64 { return math.Sin(50 * x) }, 3, 50 * math.Cos(150), 1e-10},
		{"exp", math.Exp, 20, math.Exp(20), 1e-12},
		{"exp", math.Exp, 709, math.Exp(709), 1e-11}, // overflows at the first step
		{"x^3", cube, 1e4, 3e8, 1e-13},
		{"log", math.Log, 1e-3, 1e3, 1e-11},
		{"log", math.Log, 1e308, 1e-308, 1e-9},
		{"sqrt", math.Sqrt, 1e-8, 5e3, 1e-11},
		{"sqrt", math.Sqrt, 1e300, 0.5e-150, 1e-11},
		{"sqrt", math.Sqrt, 1e-300, 0.5e150, 1e-11},
		{"sqrt(1-x)", near, 1 - 0x1p-20, -512, 1e-10}, // the domain ends at a millionth of x
		{"sqrt(x+1e-12)", func(x float64) float64 { return math.Sqrt(x + 1e-12) }, 0, 5e5, 1e-9},
		{"x^2", func(x float64) float64 { return x * x }, 1e150, 2e150, 1e-13},
		{"3x", triple, 1e300, 3, 1e-13},
		{"3x", triple, 1e-300, 3, 1e-13},
		{"3x", triple, 5e-324, 3, 1e-13},
		{"3x", triple, 0, 3, 1e-13},
		{"x^x", func(x float64) float64 { return math.Pow(x, x) }, 2, 4 * (1 + math.Ln2), 1e-12},
		{"tan", math.Tan, 1.5, 1 / (math.Cos(1.5) * math.Cos(1.5)), 1e-11},
		{"exp(-x^2)", gauss, 3, -6 * math.Exp(-9), 1e-11},
		{"sigmoid", func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, -10, 4.5395807735951673e-05, 1e-11},
		{"|x - 1.0001|", func(x float64) float64 { return math.Abs(x - 1.0001) }, 1, -1, 1e-9}, // a kink near by is no kink
		{"7", func(float64) float64 { return 7 }, 3, 0, 0},
		{"exp", math.Exp, 1e-20, 1, 1e-12},        // a tenth of x changes nothing
		{"cos", math.Cos, math.Pi / 2, -1, 1e-12}, // a value of 0 has no relative noise
		{"exp", math.Exp, -708, math.Exp(-708), 1e-10},
		{"x^1.5+x", func(x float64) float64 { return math.Pow(x, 1.5) + x }, 0, 1, 1e-4}, // one side only
		{"3x from 1 to 1.00001", within(1, 1.00001, triple), 1, 3, 1e-6},                 // and that a short one
		{"3x from 0.99999 to 1", within(0.99999, 1, triple), 1, 3, 1e-6},
	}
	for _, r := range rows {
		e := Settings{}.Derivative(pure(r.f), r.x, 1)
		off := math.Abs(e.Value - r.want)
		t.Logf("%-22s got %.17g want %.17g rel %.2g err %.2g kink %v evals %d one %v", r.name, e.Value, r.want, off/math.Abs(r.want), e.Err/math.Abs(r.want), e.Kink, e.Evals, e.OneSided)
		if !(off <= r.rtol*math.Abs(r.want)) {
			t.Errorf("d/dx %s at %v = %v, want %v", r.name, r.x, e.Value, r.want)
		}
		if !(off <= 10*e.Err+1e-300) {
			t.Errorf("d/dx %s at %v is off by %.3g, its error says %.3g", r.name, r.x, off, e.Err)
		}
		if e.Kink {
			t.Errorf("d/dx %s at %v is a kink %v, want none", r.name, r.x, e.OneSided)
		}
	}
}

func TestKink(t *testing.T) {
	rows := []struct {
		name        string
		f           func(float64) float64
		x           float64
		left, right float64
	}{
		{"|x|", math.Abs, 0, -1, 1},
		{"|x|", math.Abs, 1e-320, -1, 1}, // no step fits between x and 0
		{"max(x, 0)", func(x float64) float64 { return math.Max(x, 0) }, 0, 0, 1},
		{"|x - 3|", func(x float64) float64 { return math.Abs(x - 3) }, 3, -1, 1},
		{"1e6 + max(x, 2)", func(x float64) float64 { return 1e6 + math.Max(x, 2) }, 2, 0, 1},
		{"|sin|", func(x float64) float64 { return math.Abs(math.Sin(x)) }, 0, -1, 1},
		{"elu, alpha 2", func(x float64) float64 {
			if x > 0 {
				return x
			}
			return 2 * math.Expm1(x)
		}, 0, 2, 1},
		{"|x - 1|, up to 1.05", func(x float64) float64 { return math.Abs(x-1) + 0*math.Sqrt(1.05-x) }, 1, -1, 1}, // the first step leaves the domain
	}
	for _, r := range rows {
		e := Settings{}.Derivative(pure(r.f), r.x, 1)
		if !e.Kink || !(math.Abs(e.OneSided[0]-r.left) <= 1e-6) || !(math.Abs(e.OneSided[1]-r.right) <= 1e-6) {
			t.Errorf("%s at %v: kink %v, sides %v, want true and [%v %v]", r.name, r.x, e.Kink, e.OneSided, r.left, r.right)
		}
	}
}

func TestSecond(t *testing.T) {
	rows := []struct {
		name string
		f    func(float64) float64
		x    float64
		want float64
		rtol float64
	}{
		{"sin", math.Sin, 1, -math.Sin(1), 1e-9},
		{"x^3", cube, 1e4, 6e4, 1e-10},
		{"exp", math.Exp, 20, math.Exp(20), 1e-9},
		{"log", math.Log, 1e-3, -1e6, 1e-8},
		{"sqrt", math.Sqrt, 1e-8, -0.25e12, 1e-8},
		{"sqrt", math.Sqrt, 1e-150, -0.25e225, 1e-8},
		{"cbrt", math.Cbrt, -0x1p-489, 2. / 9 * 0x1p815, 1e-8}, // odd: steps in proportion to 1 see nothing
		{"x^2", func(x float64) float64 { return x * x }, 0, 2, 1e-10},
		{"x^2", func(x float64) float64 { return x * x }, 0x1p510, 2, 1e-10}, // differences for each unit overflow
		{"x^2", func(x float64) float64 { return x * x }, 0x1p-510, 2, 1e-10},
	}
	for _, r := range rows {
		e := Settings{}.Derivative(pure(r.f), r.x, 2)
		off := math.Abs(e.Value - r.want)
		t.Logf("%-10s rel %.2g err %.2g", r.name, off/math.Abs(r.want), e.Err/math.Abs(r.want))
		if !(off <= r.rtol*math.Abs(r.want)) || !(off <= 10*e.Err) || e.Kink {
			t.Errorf("d²/dx² %s at %v = %v ± %.3g (kink %v), want %v", r.name, r.x, e.Value, e.Err, e.Kink, r.want)
		}
	}
}

// What an estimate says about its own error has to be believed: ten times the
// error is what check allows.
func TestHonest(t *testing.T) {
	funcs := []struct {
		name  string
		f, df func(float64) float64
		any   bool // any sign of x
	}{
		{"sin", math.Sin, math.Cos, true},
		{"exp", math.Exp, math.Exp, true},
		{"log", math.Log, func(x float64) float64 { return 1 / x }, false},
		{"sqrt", math.Sqrt, func(x float64) float64 { return 0.5 / math.Sqrt(x) }, false},
		{"1/x", func(x float64) float64 { return 1 / x }, func(x float64) float64 { return -1 / x / x }, true},
		{"tanh", math.Tanh, func(x float64) float64 { c := math.Cosh(x); return 1 / (c * c) }, true},
		{"atan", math.Atan, func(x float64) float64 { return 1 / (1 + x*x) }, true},
		{"x sin x", func(x float64) float64 { return x * math.Sin(x) }, func(x float64) float64 { return math.Sin(x) + x*math.Cos(x) }, true},
		{"exp(-x^2)", gauss, func(x float64) float64 { return -2 * x * gauss(x) }, true},
	}
	rng := rand.New(rand.NewSource(1))
	var bad, vague, kinks, n, evals int
	for range 3000 {
		c := funcs[rng.Intn(len(funcs))]
		x := math.Pow(10, 6*rng.Float64()-3)
		if c.any && rng.Intn(2) == 0 {
			x = -x
		}
		want := c.df(x)
		if math.Abs(want) < 1e-290 || math.Abs(want) > 1e290 {
			continue
		}
		e := Settings{}.Derivative(pure(c.f), x, 1)
		n++
		evals += e.Evals
		off := math.Abs(e.Value - want)
		// The slope is known to a rounding of x, no better: |f''| eps |x|, about eps |x want| for sines.
		if !(off <= 10*e.Err+1e-14*math.Abs(want)*(1+math.Abs(x))+1e-15*math.Abs(x)) {
			bad++
			if bad < 10 {
				t.Logf("%s at %v = %v ± %.3g, want %v (off %.3g)", c.name, x, e.Value, e.Err, want, off)
			}
		}
		if e.Kink {
			kinks++
			t.Logf("%s at %v: a kink %v, want none", c.name, x, e.OneSided)
		}
		if !(e.Err < 1e-7*math.Abs(want)) {
			vague++
			if vague < 20 {
				t.Logf("vague: %s at %v = %v ± %.3g, want %v", c.name, x, e.Value, e.Err, want)
			}
		}
	}
	if bad > n/500 || kinks > 0 || vague > n/20 || evals < n || evals > 32*n {
		t.Errorf("%d of %d estimates are beyond ten times their error, %d kinks, %d vague, %d evaluations each", bad, n, kinks, vague, evals/n)
	}
}

// What a value loses between its terms does not show in its size: it is measured.
func TestHonestAboutNoise(t *testing.T) {
	for _, k := range []float64{1e3, 1e4, 1e6} {
		f := func(x float64) float64 { return (k*math.Sin(3*x) + math.Exp(x)) - k*math.Sin(3*x) }
		var bad, vague int
		for i := range 300 {
			x := 0.3 + 0.003*float64(i)
			e, want := Settings{}.Derivative(pure(f), x, 2), math.Exp(x)
			if !(math.Abs(e.Value-want) <= 10*e.Err+1e-6*want) {
				bad++
			}
			if !(e.Err < 0.01*want) {
				vague++
			}
		}
		if bad > 3 || vague > 30 {
			t.Errorf("of 300 second derivatives of values with noise of %g ulps %d are beyond ten times their error, %d vague", k, bad, vague)
		}
	}
}

func TestGradientAlongJacobian(t *testing.T) {
	f := func(x []float64) (float64, error) { return x[0] * x[0] * math.Sin(x[1]), nil }
	x := []float64{3, 1e-3}
	want := []float64{6 * math.Sin(1e-3), 9 * math.Cos(1e-3)}
	for i, e := range (Settings{}).Gradient(f, x) {
		if !(math.Abs(e.Value-want[i]) <= 1e-10*math.Abs(want[i])) {
			t.Errorf("gradient[%d] = %v, want %v", i, e.Value, want[i])
		}
	}
	v := []float64{0.5, -2}
	if e, w := (Settings{}).Along(f, x, v), want[0]*v[0]+want[1]*v[1]; !(math.Abs(e.Value-w) <= 1e-9*math.Abs(w)) {
		t.Errorf("along %v = %v, want %v", v, e.Value, w)
	}
	j, err := Settings{}.Jacobian(func(x []float64) ([]float64, error) { return []float64{x[0] * x[1], x[0] + x[1], 5}, nil }, []float64{2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range [][]float64{{3, 2}, {1, 1}, {0, 0}} {
		for k, w := range row {
			if !(math.Abs(j[i][k].Value-w) <= 1e-12) {
				t.Errorf("jacobian[%d][%d] = %v, want %v", i, k, j[i][k].Value, w)
			}
		}
	}
}

func TestUnresolved(t *testing.T) {
	rows := []struct {
		name string
		f    func(float64) float64
		x    float64
	}{
		{"sin", math.Sin, 1e22},          // a unit in the last place is a third of a million periods
		{"asin", math.Asin, 1 - 0x1p-53}, // the domain ends one float away
		{"tanh", func(x float64) float64 { return x + 1e-10*math.Tanh(1e12*(x-1)) }, 1},              // 101, but 1 from far
		{"steep sine", func(x float64) float64 { return math.Sin(1.3*math.Pow(x*x+0.3, x)) + x }, 6}, // waves of 1e-10 of x
		{"noise", func(x float64) float64 { return math.Mod(1e17*x, 1.37) }, 3},                      // no two values have to do with each other
	}
	for _, r := range rows {
		if e := (Settings{}).Derivative(pure(r.f), r.x, 1); !(e.Err > math.Abs(e.Value)) {
			t.Errorf("d/dx %s at %v = %v ± %v, want no certainty", r.name, r.x, e.Value, e.Err)
		}
		if e := (Settings{}).Derivative(pure(r.f), r.x, 2); !(e.Err > math.Abs(e.Value)) {
			t.Errorf("d²/dx² %s at %v = %v ± %v, want no certainty", r.name, r.x, e.Value, e.Err)
		}
	}
	f := func(x float64) float64 { return (1 - math.Cos(x)) / (x * x) }
	if e := (Settings{Noise: 1e-6}).Derivative(pure(f), 1e-5, 1); !(math.Abs(e.Value) < 10*e.Err) {
		t.Errorf("(1-cos(x))/x^2 at 1e-5 = %v ± %v, want an error that covers the noise", e.Value, e.Err)
	}
}

func TestNoValue(t *testing.T) {
	e := Settings{}.Derivative(func(x float64) (float64, error) { return 0, errors.New("no") }, 1, 1)
	if !math.IsNaN(e.Value) || !math.IsInf(e.Err, 1) {
		t.Errorf("a function without values has the derivative %v ± %v, want NaN ± Inf", e.Value, e.Err)
	}
	if e := (Settings{}).Derivative(pure(math.Cbrt), 0, 1); e.Err < 1e-3*math.Abs(e.Value) {
		t.Errorf("cbrt at 0 = %v ± %v, want no certainty", e.Value, e.Err)
	}
	if e := (Settings{}).Derivative(pure(math.Sqrt), 0, 1); e.Err < 1e-3*math.Abs(e.Value) {
		t.Errorf("sqrt at 0 = %v ± %v, want no certainty", e.Value, e.Err)
	}
}

// At an edge of the domain one side is all there is.
func TestEdge(t *testing.T) {
	for _, r := range []struct {
		name    string
		f       func(x float64) float64
		x, want float64
	}{
		{"x^2 sqrt(x) + 3x", func(x float64) float64 { return x*x*math.Sqrt(x) + 3*x }, 0, 3},
		{"(1-x)^2 sqrt(1-x) + 2x", func(x float64) float64 { return (1-x)*(1-x)*math.Sqrt(1-x) + 2*x }, 1, 2},
		{"exp(x), from 0", func(x float64) float64 { return math.Exp(x) + 0*math.Sqrt(x) }, 0, 1},
		{"exp(x), up to 0", func(x float64) float64 { return math.Exp(x) + 0*math.Sqrt(-x) }, 0, 1},
		{"exp(x), up to 2", func(x float64) float64 { return math.Exp(x) + 0*math.Sqrt(2-x) }, 2, math.Exp(2)},
	} {
		e := Settings{}.Derivative(pure(r.f), r.x, 1)
		if !(math.Abs(e.Value-r.want) <= 1e-6*r.want) || !(e.Err <= 1e-5) || e.Kink {
			t.Errorf("d/dx %s at %v = %v ± %v, kink %v, want %v", r.name, r.x, e.Value, e.Err, e.Kink, r.want)
		}
	}
}

// Outputs that come and go have no derivative.
func TestJacobianOfChangingSize(t *testing.T) {
	j, err := Settings{}.Jacobian(func(x []float64) ([]float64, error) {
		if x[0] != 2 {
			return []float64{x[0]}, nil
		}
		return []float64{x[0], 1}, nil
	}, []float64{2})
	if err != nil || len(j) != 2 || !math.IsNaN(j[0][0].Value) || !math.IsNaN(j[1][0].Value) {
		t.Errorf("%v, %v, want two NaN", j, err)
	}
}

// Steps along a direction are in proportion to x, too.
func TestCurvature(t *testing.T) {
	at := func(f func(float64) float64, x float64) Estimate {
		return Settings{}.Curvature(func(x []float64) (float64, error) { return f(x[0]), nil }, []float64{x}, []float64{1})
	}
	if e := at(math.Sin, 1e22); !(e.Err > math.Abs(e.Value)) {
		t.Errorf("d²/dx² sin at 1e22 = %v ± %v, want no certainty", e.Value, e.Err)
	}
	if e, want := at(math.Cbrt, -0x1p-489), 2./9*0x1p815; !(math.Abs(e.Value-want) <= 1e-8*want) {
		t.Errorf("d²/dx² cbrt at -2^-489 = %v ± %v, want %v", e.Value, e.Err, want)
	}
}
