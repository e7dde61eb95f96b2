package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

// closedForms are derivatives of high order that have a closed form, or 60 digits of mpmath.
var closedForms = []struct {
	text  string
	x     float64
	order int
	want  float64
}{
	{"exp(x)", 0.7, 50, 2.0137527074704766},  // the same at every order
	{"sin(x)", 0.7, 99, -0.7648421872844885}, // the 99th is the third
	{"1/x", 0.7, 40, 1.8307347601826245e+54},
	{"log(x)", 0.7, 50, -3.382227897734695e+70},
	{"log(x)", 1e-10, 20, -1.216451004088319e+217},         // coefficients beyond 1e190
	{"log(x)", 10000000000.0, 30, -8.841761993739701e-270}, // and below 1e-290
	{"x^25", 0.7, 20, 2.1724742266521985e+22},
	{"x^25", 0, 25, 1.5511210043330986e+25},
	{"x^2.5", 0.7, 20, -4.65437968223536e+16},
	{"sqrt(x)", 0.7, 30, -1.7118702421904334e+34},
	{"erf(x)", 0.7, 21, -140290145074.53064}, // a Hermite polynomial
	{"exp(-x^2)", 3, 20, 7403388874.591896},  // another
	{"exp(-x^2)", 0.7, 50, -1.128260820645003e+39},
	{"tan(x)", 0, 21, 4951498053124096.0},
	{"1/cos(x)", 0, 20, 370371188237525.0}, // an Euler number
	{"sec(x)", 0, 20, 370371188237525.0},
	{"atan(x)", 1, 21, -1187940433680000.0},
	{"exp(exp(x)-1)", 0, 20, 51724158235372.0}, // a Bell number
	{"lgamma(x)", 1, 20, 1.216452164536394e+17},
	{"digamma(x)", 0.7, 20, -4.3557784316220093e+21},
	{"sinc(x)", 0, 20, 417616990.28965235},
	{"x*exp(x)", 0.7, 50, 102.09726226875316}, // Leibniz
	{"x^x", 1, 10, 47160.0},
	{"exp(sin(x))", 0.7, 20, 427953604055.6856},
	{"exp(x)", 1, 1000, 2.718281828459045}, // 1/1000! is no float64
	{"sin(x)", 0.7, 100000, 0.644217687237691},
	{"log(x)", 1e-300, 3, math.Inf(1)}, // 2e900
	{"log(x)", 1e300, 20, math.Copysign(0, -1)},
	{"sqrt(x)", 5e-324, 4, math.Inf(-1)},
	{"x^2 * log(x)", 1e-300, 3, 2e300}, // a factor is 2e900
	{"sum([x^2 * log(x), x])", 1e-300, 3, 2e300},
	{"[x^2, 1] @ [log(x), x]", 1e-300, 3, 2e300},
	{"exp(x) / x", 1e-300, 9, math.Inf(-1)},
	{"tanh(x)", 1e-310, 12, 2.236825599999993e-303}, // 22368256 x
	{"sin(x)", -5e-324, 12, -5e-324},
	{"cosh(x)", 0.7, 300, 1.255169005630943},
	{"1/(1-x)", 0, 170, 7.257415615307999e+306},
	{"1/(1-x)", 0, 171, math.Inf(1)},                                                    // the derivative itself is beyond the range
	{"exp(1e-200 * x) * 1e200", 0.7, 3, 0},                                              // the truth is 1e-400
	{"sin(1e-150 * x) * 1e300", 0.7, 3, -1e-150},                                        // whose coefficients are too small for a float64
	{"s = 0; for i in range(3) { s = s * x + sin(x) }; s", 0, 6, 6},                     // a loop
	{"s = x; for i in range(70) { s = sin(s)*0.5 + x }; s", 0.7, 11, 3154470.723329248}, // a longer one
	{"s = x; for i in range(1000) { s = s*0.5 + sin(x)*0.5 }; s", 0.7, 21, 0.7648421872844885},
	{"f(n) = n < 1 ? x : x * f(n - 1); f(4)", 0.7, 5, 120},
	{"x < 1 ? x^6 : nan", 0.5, 6, 720},
	{"where(x < 1, x^6, log(x - 1))", 0.5, 6, 720}, // only what is taken has a series
	{"y = x^3; grad(y * x, x)", 0.7, 3, 24},
	{"relu(x)^4 + abs(x)^3", 0.5, 3, 18},
	{"sum([x, x^2, x^3] @ [[1], [x], [x^2]])", 0.7, 5, 120},
	{"det([[x, 1], [x^3, x^2]])", 0.7, 3, 0},
	{"sum([[1], [x]] * [x, x^2])", 0.5, 3, 6}, // two numbers each become four
	{"sum([sin(x), cos(x), exp(x), x^5])", 0, 4, 2},
	{"vmap(a -> a * x^4)([1, 2])[1]", 0.5, 4, 48},
	{"x^2 + x", 3, 1 << 30, 0}, // looks at no coefficient beyond the degree
}

// seriesUlp is how far derivatives by series may be from the truth: each operation adds a
// fraction of an ulp, most of all the rounding of what a series begins with.
const seriesUlp = 4

func TestClosedForms(t *testing.T) {
	for i, r := range closedForms {
		if spared(i) {
			continue
		}
		q := question(t, "grad", r.text, fmt.Sprintf("x=%v", r.x))
		q.Order = r.order
		a, err := q.Answer()
		if err != nil {
			t.Errorf("order %d of %s at %v: %v", r.order, r.text, r.x, err)
			continue
		}
		got := numbers(a.Targets[0].Payload)[0]
		if ulp := math.Abs(math.Nextafter(r.want, math.Inf(1)) - r.want); got != r.want && !(math.Abs(got-r.want) <= seriesUlp*ulp) {
			t.Errorf("order %d of %s at %v = %v, want %v: %.3g ulp", r.order, r.text, r.x, got, r.want, math.Abs(got-r.want)/ulp)
		}
	}
}

// higherBoth answers a question of high order by series and by derivatives of derivatives;
// ok is false where there is no series.
func higherBoth(t testing.TB, text string, x float64, order int) (series, nested float64, ok bool) {
	t.Helper()
	q := question(t, "grad", text, fmt.Sprintf("x=%v", x))
	q.Order = order
	s := &session{q: q}
	a, err := s.answered()
	if err != nil {
		t.Fatalf("order %d of %s at %v: %v", order, text, x, err)
	}
	b, err := (&session{q: q, nested: true}).answered()
	if err != nil {
		t.Fatalf("order %d of %s at %v nested: %v", order, text, x, err)
	}
	one, other := numbers(a.Targets[0].Payload), numbers(b.Targets[0].Payload)
	if len(one) != len(other) {
		t.Fatalf("order %d of %s at %v is %v by series, %v nested", order, text, x, one, other)
	}
	if len(one) == 0 { // none
		return 0, 0, false
	}
	return one[0], other[0], len(s.taylors) > 0 && s.expanded()
}

// Every elementwise operation has a series by each argument, as what its derivative is made of
// has, which agrees with derivatives of derivatives.
func TestSeriesOfRows(t *testing.T) {
	for _, op := range All() {
		if !op.elementwise() || op.Hidden || op.Stops != "" || op.Try.n == 0 || op.Gives != givesFloat && op.Gives != givesSame {
			continue
		}
		for i := range op.Try.n {
			if !op.passes(i) || op.Name == "betainc" && i < 2 { // derivatives by a and b go up to the second
				continue
			}
			for p := 0; p+op.Try.n <= len(op.Try.all); p += op.Try.n {
				var args []string
				for j, v := range op.Try.all[p : p+op.Try.n] {
					if j == i {
						args = append(args, "x")
					} else {
						args = append(args, fmt.Sprintf("(%v)", v))
					}
				}
				call, x := op.Name+"("+strings.Join(args, ", ")+")", op.Try.all[p+i]
				for _, r := range []struct {
					text  string
					order int
				}{{call, 3}, {call, 4}, {"y = " + call + "; grad(y, x)", 3}} {
					got, want, ok := higherBoth(t, r.text, x, r.order)
					if !ok {
						if want == 0 || op.Name == "power" { // below 0; of none, flat or at a kink
							continue
						}
						t.Errorf("order %d of %s at %v has no series", r.order, r.text, x)
						continue
					}
					if !(math.Abs(got-want) <= 1e-8*(math.Abs(want)+1e-12)) { // nesting loses digits
						t.Errorf("order %d of %s at %v is %v by series, %v nested", r.order, r.text, x, got, want)
					}
				}
			}
		}
	}
}

// randomFormula is an expression of a depth in x.
func randomFormula(r *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{"x", "x", "x", "0.5", "2", "(x + 1)"}[r.IntN(6)]
	}
	x := func() string { return randomFormula(r, depth-1-r.IntN(2)*min(1, depth-1)) }
	switch r.IntN(9) {
	case 0:
		return "(" + x() + " + " + x() + ")"
	case 1:
		return "(" + x() + " - " + x() + ")"
	case 2:
		return x() + " * " + x()
	case 3:
		return "(" + x() + ") / (2 + (" + x() + ")^2)"
	case 4:
		return "sum([" + x() + ", " + x() + "] * [" + x() + ", 3])"
	case 5:
		return "logsumexp([" + x() + ", " + x() + ", 1])"
	case 6:
		return "([[1, " + x() + "], [0, 2]] @ [" + x() + ", 1])[0]"
	case 7:
		return []string{"maximum", "minimum", "hypot"}[r.IntN(3)] + "(" + x() + ", " + x() + " + 0.3)"
	}
	return []string{"sin", "cos", "exp", "tanh", "sigmoid", "atan", "erf", "asinh", "square", "relu", "abs", "softplus", "cumprod"}[r.IntN(12)] + "(" + x() + ")"
}

// FuzzSeries holds series to derivatives of derivatives, on formulas made by chance.
func FuzzSeries(f *testing.F) {
	for seed := range uint64(150) {
		f.Add(seed, 0.1+float64(seed%17)/10, uint8(seed%3))
	}
	f.Fuzz(func(t *testing.T, seed uint64, x float64, order uint8) {
		if !(math.Abs(x) < 4) {
			return
		}
		text := randomFormula(rand.New(rand.NewPCG(seed, 1)), 3)
		n := 3 + int(order%3)
		got, want, ok := higherBoth(t, text, x, n)
		if !ok || want-want != 0 {
			return
		}
		// digits that nesting loses are those of larger terms: of the derivative around here
		scale := math.Abs(want) + 1e-3
		for _, h := range []float64{-1e-2, 1e-2} {
			if v, _, ok := higherBoth(t, text, x+h, n); ok && v-v == 0 {
				scale += math.Abs(v)
			}
		}
		if !(math.Abs(got-want) <= 1e-7*scale) {
			t.Errorf("order %d of %s at %v is %v by series, %v nested", n, text, x, got, want)
		}
	})
}

// At a kink there is no series: the answer and its warnings are those of derivatives of
// derivatives. Where a function is smooth, there is one, and no warning.
func TestSeriesAtKinks(t *testing.T) {
	for _, r := range []struct {
		text   string
		x      float64
		order  int
		want   string
		series bool
		warns  int
	}{
		{"abs(x) * x^3", 0, 4, "0", false, 1},
		{"abs(x) * x^3", -2, 4, "-24", true, 0},
		{"max(x, 2) + x^3", 2, 3, "6", false, 1},
		{"elu(x)", 0, 3, "0", true, 0}, // of alpha 1, from above
		{"leaky_relu(x) + x^3", 0, 3, "6", false, 1},
		{"max([x, 2, x^2])", 2, 3, "0", true, 0},
		{"max([x, x, 1])", 2, 3, "0", false, 1}, // a tie
		{"sqrt(x)", 0, 3, "inf", false, 1},
		{"log(x)", 0, 3, "inf", false, 1},
		{"x^0.5 + 1", 0, 3, "inf", false, 1},
		{"abs(x)^2", 0, 3, "0", true, 0},
		{"norm([x, 2*x])^2", 0, 3, "0", true, 0},
		{"x^3", 0, 3, "6", true, 0},
		{"x^x", 1, 3, "3", true, 0},
		{"sinc(x)", 0, 3, "0", true, 0},
		{"x + floor(x)", 0.5, 3, "0", true, 0},
		{"x / expm1(x)", 1e-3, 3, "", true, 1},  // no digits are left
		{"x / expm1(x)", 0.75, 20, "", true, 1}, //
		{"csch(x) * x", 1e-160, 3, "", true, 1}, // and what is left may be infinite
		{"x / expm1(x)", 2, 20, "", true, 0},
		{"round(x)", 0.5, 3, "none", false, 0},
		{"y = stop_gradient(x); y", 0.5, 3, "none", false, 0},
		{"3 * x", 0.5, 3, "0", true, 0},
	} {
		q := question(t, "grad", r.text, fmt.Sprintf("x=%v", r.x))
		q.Order = r.order
		s := &session{q: q}
		a, err := s.answered()
		if err != nil {
			t.Errorf("%s: %v", r.text, err)
			continue
		}
		if got := strings.TrimPrefix(payload(a), "-"); r.want != "" && got != strings.TrimPrefix(r.want, "-") || len(a.Warnings) != r.warns {
			t.Errorf("order %d of %s at %v = %s with the warnings %v, want %s and %d", r.order, r.text, r.x, payload(a), a.Warnings, r.want, r.warns)
		}
		if got := len(s.taylors) > 0 && s.expanded(); got != r.series {
			t.Errorf("order %d of %s at %v: by series is %v, want %v", r.order, r.text, r.x, got, r.series)
		}
	}
}

// A function whose value leaves the range has derivatives that do not. The numbers are from
// mpmath with 400 digits.
func TestSeriesFar(t *testing.T) {
	for _, r := range []struct {
		text  string
		x     float64
		order int
		want  float64
	}{
		{"exp(-5000*x)", 0.15, 3, -2.377106204343824e-315},
		{"exp(-5000*x)", 0.15, 4, 1.188553102171912e-311},
		{"exp(1000*x)*1e-30", 0.75, 4, 5.2584945414548042e+307},
		{"exp(-(5*x)^2)", 5.5, 4, 2.09123654854022e-319},
		{"gauss(5*x)", 5.5, 4, 2.09123654854022e-319},
		{"erfc(100*x)", 0.272, 3, -1.6403244656823749e-312},
		{"1/cosh(1000*x)", 0.75, 3, -3.8033699269500129e-317},
		{"sigmoid(-1000*x)", 0.75, 4, 1.9016849634750064e-314},
		{"normcdf(-50*x)", 0.77, 4, 1.9310543179792954e-311},
	} {
		q := question(t, "grad", r.text, fmt.Sprintf("x=%v", r.x))
		q.Order = r.order
		a, err := q.Answer()
		if err != nil {
			t.Fatal(err)
		}
		// Of an argument near 750 rounding leaves 750 ulp of its exponential at the most.
		if got := numbers(a.Targets[0].Payload)[0]; math.Abs(got-r.want) > 750*0x1p-53*math.Abs(r.want)+5e-324 {
			t.Errorf("order %d of %s at %v = %v, want %v", r.order, r.text, r.x, got, r.want)
		}
	}
}

// A recording with series serves other points, and gives way at a kink and where few digits are left.
func TestPreparedSeries(t *testing.T) {
	for _, r := range []struct {
		text  string
		order int
		at    []float64
	}{
		{"abs(x) * x^3 * exp(2*x)", 4, []float64{1, -2, 0, 3, 0, 0.5}},
		{"x/expm1(x)", 6, []float64{1, 1e-3, 2, 0.01, 3}}, // near 0 few digits are left
	} {
		var lines [][]Input
		for _, x := range r.at {
			lines = append(lines, []Input{{Name: "x", Value: tensor.Of(tensor.Scalar(x))}})
		}
		q := question(t, "grad", r.text)
		q.Order = r.order
		comparePrepared(t, q, lines)
	}
}

// Orders that are out of reach are refused, and others not, within bounded work.
func TestLargeOrders(t *testing.T) {
	for _, r := range []struct {
		text  string
		order int
		want  string // an error
	}{
		{"x^2", 1000000, ""},
		{"1 / x", 100000, ""},
		{"exp(sin(x))", 1000000, "--order 1000000 would need"},
	} {
		q := question(t, "grad", r.text, "x=1")
		q.Order, q.Limit = r.order, 1<<30
		_, err := q.Answer()
		if r.want == "" && err != nil || r.want != "" && (err == nil || !strings.Contains(err.Error(), r.want)) {
			t.Errorf("order %d of %s: %v, want %q", r.order, r.text, err, r.want)
		}
	}
}
