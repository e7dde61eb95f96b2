package kernels

import (
	enc "encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/accuracy_trig.txt")

type trigFunction struct {
	name  string
	f     *unary
	of    func(float64) float64
	bound float64
}

// The bounds are the contract's; testdata/accuracy_trig.txt has what was measured.
var trigFunctions = []trigFunction{
	{"sin", &Sin, SinOf, 1},
	{"cos", &Cos, CosOf, 1},
	{"tan", &Tan, TanOf, 1},
	{"asin", &Asin, AsinOf, 1},
	{"acos", &Acos, AcosOf, 1},
	{"atan", &Atan, AtanOf, 1},
	{"sinc", &Sinc, SincOf, 1},
	{"sinpi", nil, SinPiOf, 1}, // no kernel
	{"cospi", &CosPi, CosPiOf, 1},
	{"cbrt", &Cbrt, CbrtOf, 1},
	{"erf", &Erf, ErfOf, 1},
	{"erfc", &Erfc, ErfcOf, 1},
	{"erfcx", &Erfcx, ErfcxOf, 1},
	{"gauss", &Gauss, GaussOf, 1},
	{"normpdf", &NormPdf, NormPdfOf, 1},
	{"normcdf", &NormCdf, NormCdfOf, 1},
	{"lognormcdf", &LogNormCdf, LogNormCdfOf, 4},
	{"hazard", &Hazard, HazardOf, 4},
	{"erfinv", &Erfinv, ErfinvOf, 1},
	{"erfcinv", &Erfcinv, ErfcinvOf, 1},
	{"normquantile", &NormQuantile, NormQuantileOf, 1},
	{"erfinvslope", &ErfinvSlope, ErfinvSlopeOf, 4},
	{"normquantileslope", &NormQuantileSlope, NormQuantileSlopeOf, 4},
	{"gamma", &Gamma, GammaOf, 4},
	{"lgamma", &Lgamma, LgammaOf, 4},
	{"digamma", &Digamma, DigammaOf, 4},
}

// trigKernels are those that have kernels.
var trigKernels = slices.DeleteFunc(slices.Clone(trigFunctions), func(f trigFunction) bool { return f.f == nil })

var trigPairs = []struct {
	name  string
	f     *binary
	of    func(x, y float64) float64
	bound float64
}{
	{"atan2", &Atan2, Atan2Of, 1},
	{"hypot", &Hypot, HypotOf, 1},
	{"polygamma", nil, PolygammaOf, 4}, // no kernel
}

// alone are functions without a kernel.
var alone = []struct {
	name  string
	of    func(a []float64) float64
	bound float64
}{
	{"i0", func(a []float64) float64 { return I0Of(a[0]) }, 1},
	{"i1", func(a []float64) float64 { return I1Of(a[0]) }, 1},
	{"i0e", func(a []float64) float64 { return I0eOf(a[0]) }, 1},
	{"i1e", func(a []float64) float64 { return I1eOf(a[0]) }, 1},
}

// TestTrigAccuracy measures every function. The list it compares with, and rewrites
// under -update, is what nabla ops prints; it was measured with
//
//	python3 _table/trig_oracle.py 50000 7 REF && go test -run TrigAccuracy -reference REF -update
func TestTrigAccuracy(t *testing.T) {
	const name = "testdata/accuracy_trig.txt"
	known := map[string]float64{}
	if text, err := os.ReadFile(name); err == nil {
		for line := range strings.Lines(string(text)) {
			var f string
			var u float64
			fmt.Sscan(line, &f, &u)
			known[f] = u
		}
	}
	var list strings.Builder
	measure := func(f string, bound float64, of func(a []float64) float64) {
		if !*update {
			bound = min(bound, known[f])
		}
		u := checkUlps(t, f, bound, of)
		fmt.Fprintf(&list, "%s %.2f\n", f, math.Ceil(u*100)/100)
	}
	for _, f := range trigFunctions {
		measure(f.name, f.bound, func(a []float64) float64 { return f.of(a[0]) })
	}
	for _, f := range trigPairs {
		measure(f.name, f.bound, func(a []float64) float64 { return f.of(a[0], a[1]) })
	}
	for _, f := range alone {
		measure(f.name, f.bound, f.of)
	}
	if *update {
		if err := os.WriteFile(name, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The float64 that come closest to multiples of pi/16, and the one closest to one of pi/2,
// found by continued fractions of 2^e/pi. Values are from mpmath.
func TestTrigHardest(t *testing.T) {
	for _, r := range []struct{ x, sin, cos, tan float64 }{
		{0x1.504cac51f1eafp+128, 0x1.f6297cff75cb0p-1, 0x1.8f8b83c69a60bp-3, 0x1.41bfee2424771p+2},
		{0x1.6ac5b262ca1ffp+846, -0x1.a9b66290ea1a3p-1, -0x1.1c73b39ae68c8p-1, 0x1.7f218e25a7461p+0},
		{0x1.6ac5b262ca1ffp+847, 0x1.d906bcf328d46p-1, -0x1.87de2a6aea963p-2, -0x1.3504f333f9de6p+1},
		{0x1.6ac5b262ca1ffp+849, 1, -0x1.14ae72e6ba22fp-61, -0x1.d9ba9a7975636p+60},
		{0x1.e009c53148be1p+988, -0x1.a9b66290ea1a3p-1, -0x1.1c73b39ae68c8p-1, 0x1.7f218e25a7461p+0},
		{0x1.4c96c11134d36p+574, 0x1.1c73b39ae68c8p-1, 0x1.a9b66290ea1a3p-1, 0x1.561b82ab7f990p-1},
	} {
		for _, c := range []struct {
			name      string
			got, want float64
		}{{"sin", SinOf(r.x), r.sin}, {"cos", CosOf(r.x), r.cos}, {"tan", TanOf(r.x), r.tan}, {"sin", -SinOf(-r.x), r.sin}} {
			if !(math.Abs(c.got-c.want) <= math.Abs(c.want)*0x1p-52) {
				t.Errorf("%s(%x) = %x, want %x", c.name, r.x, c.got, c.want)
			}
		}
	}
}

// Exact values and limits: C99 Annex F, and what the special functions' comments say.
func TestTrigSpecial(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	const tiny, max = 5e-324, math.MaxFloat64
	one := map[string]func(float64) float64{}
	for _, f := range trigFunctions {
		one[f.name] = f.of
		if y := f.of(nan); y == y {
			t.Errorf("%s(NaN) = %v, want NaN", f.name, y)
		}
	}
	for _, r := range []struct {
		name    string
		x, want float64
	}{
		{"sin", zero, zero}, {"sin", inf, nan}, {"sin", -inf, nan}, {"sin", tiny, tiny}, {"sin", -1e-310, -1e-310},
		{"cos", zero, 1}, {"cos", -inf, nan}, {"cos", 1e-300, 1},
		{"tan", zero, zero}, {"tan", inf, nan}, {"tan", -tiny, -tiny},
		{"asin", zero, zero}, {"asin", 1, math.Pi / 2}, {"asin", -1, -math.Pi / 2}, {"asin", 1.0000000000000002, nan}, {"asin", -inf, nan}, {"asin", tiny, tiny},
		{"acos", 1, 0}, {"acos", -1, math.Pi}, {"acos", 0, math.Pi / 2}, {"acos", 2, nan}, {"acos", inf, nan},
		{"atan", zero, zero}, {"atan", inf, math.Pi / 2}, {"atan", -inf, -math.Pi / 2}, {"atan", -tiny, -tiny}, {"atan", max, math.Pi / 2}, {"atan", 1, math.Pi / 4},
		{"sinc", 0, 1}, {"sinc", zero, 1}, {"sinc", 1, 0}, {"sinc", -7, 0}, {"sinc", inf, 0}, {"sinc", max, 0}, {"sinc", tiny, 1}, {"sinc", 0.5, 2 / math.Pi},
		{"sinpi", zero, zero}, {"sinpi", -3, zero}, {"sinpi", 2.5, 1}, {"sinpi", 1e300, 0}, {"sinpi", inf, nan}, {"sinpi", -0.5, -1}, {"sinpi", 1. / 6, 0.5}, {"sinpi", tiny, 3 * tiny},
		{"cospi", 0, 1}, {"cospi", 0.5, 0}, {"cospi", -1.5, 0}, {"cospi", 3, -1}, {"cospi", -inf, nan}, {"cospi", max, 1}, {"cospi", 1. / 3, 0.5},
		{"cbrt", zero, zero}, {"cbrt", inf, inf}, {"cbrt", -27, -3}, {"cbrt", 1e300, 1e100}, {"cbrt", 0x1p-1074, 0x1p-358},
		{"erf", zero, zero}, {"erf", inf, 1}, {"erf", -inf, -1}, {"erf", 6, 1}, {"erf", tiny, tiny},
		{"erfc", 0, 1}, {"erfc", inf, 0}, {"erfc", -inf, 2}, {"erfc", 28, 0}, {"erfc", -7, 2},
		{"erfcx", 0, 1}, {"erfcx", inf, 0}, {"erfcx", -inf, inf}, {"erfcx", -28, inf},
		{"normcdf", 0, 0.5}, {"normcdf", inf, 1}, {"normcdf", -inf, 0}, {"normcdf", -40, 0}, {"normcdf", max, 1},
		{"gauss", zero, 1}, {"gauss", inf, 0}, {"gauss", -28, 0}, {"gauss", tiny, 1},
		{"normpdf", 0, 0.3989422804014327}, {"normpdf", -inf, 0}, {"normpdf", 40, 0},
		{"lognormcdf", 0, -math.Ln2}, {"lognormcdf", -inf, -inf}, {"lognormcdf", -1e200, -inf}, {"lognormcdf", inf, zero},
		{"erfinv", 1, inf}, {"erfinv", -1, -inf}, {"erfinv", zero, zero}, {"erfinv", 1.5, nan}, {"erfinv", inf, nan},
		{"erfinvslope", 1, inf}, {"erfinvslope", -1, inf}, {"erfinvslope", 1.5, nan}, {"erfinvslope", -inf, nan}, {"erfinvslope", nan, nan},
		{"normquantileslope", 0, inf}, {"normquantileslope", zero, inf}, {"normquantileslope", 1, inf}, {"normquantileslope", -0.5, nan}, {"normquantileslope", inf, nan},
		{"erfcinv", zero, inf}, {"erfcinv", 0, inf}, {"erfcinv", 2, -inf}, {"erfcinv", 1, 0}, {"erfcinv", -1, nan}, {"erfcinv", 2.5, nan}, {"erfcinv", inf, nan},
		{"normquantile", 0, -inf}, {"normquantile", 1, inf}, {"normquantile", 0.5, 0}, {"normquantile", 1.1, nan}, {"normquantile", -inf, nan},
		{"gamma", 0, inf}, {"gamma", zero, -inf}, {"gamma", -1, nan}, {"gamma", -1e300, nan}, {"gamma", inf, inf}, {"gamma", -inf, nan},
		{"gamma", 1, 1}, {"gamma", 2, 1}, {"gamma", 5, 24}, {"gamma", 19, 6402373705728000}, {"gamma", 171.7, inf}, {"gamma", max, inf},
		{"gamma", -190.5, zero}, {"gamma", -191.5, 0}, {"gamma", tiny, inf}, {"gamma", -1e-309, -inf},
		{"lgamma", 0, inf}, {"lgamma", zero, inf}, {"lgamma", -3, inf}, {"lgamma", inf, inf}, {"lgamma", -inf, inf}, {"lgamma", 1, 0}, {"lgamma", 2, 0}, {"lgamma", max, inf}, {"lgamma", lgammaMax, max}, {"lgamma", math.Nextafter(lgammaMax, inf), inf}, {"lgamma", -max, inf},
		{"digamma", 0, -inf}, {"digamma", zero, inf}, {"digamma", -1, nan}, {"digamma", -inf, nan}, {"digamma", inf, inf}, {"digamma", -1e300, nan},
	} {
		if y := one[r.name](r.x); !same(y, r.want) {
			t.Errorf("%s(%v) = %v, want %v", r.name, r.x, y, r.want)
		}
	}
	two := map[string]func(x, y float64) float64{"atan2": Atan2Of, "hypot": HypotOf, "polygamma": PolygammaOf}
	for _, r := range []struct {
		name       string
		x, y, want float64
	}{
		{"atan2", 0, 0, 0}, {"atan2", zero, 0, zero}, {"atan2", 0, zero, math.Pi}, {"atan2", zero, zero, -math.Pi}, {"atan2", zero, -1, -math.Pi}, {"atan2", 0, 3, 0},
		{"atan2", 1, 0, math.Pi / 2}, {"atan2", -1, zero, -math.Pi / 2}, {"atan2", inf, inf, math.Pi / 4}, {"atan2", -inf, -inf, -3 * math.Pi / 4},
		{"atan2", 1, inf, 0}, {"atan2", -1, -inf, -math.Pi}, {"atan2", inf, -5, math.Pi / 2}, {"atan2", nan, 1, nan}, {"atan2", 1, nan, nan}, {"atan2", nan, 0, nan},
		{"atan2", tiny, max, 0}, {"atan2", max, tiny, math.Pi / 2}, {"atan2", tiny, tiny, math.Pi / 4}, {"atan2", -max, -max, -3 * math.Pi / 4}, {"atan2", tiny, -max, math.Pi},
		{"hypot", inf, nan, inf}, {"hypot", nan, -inf, inf}, {"hypot", nan, 0, nan}, {"hypot", 1, nan, nan}, {"hypot", 0, zero, 0}, {"hypot", zero, -3, 3},
		{"hypot", 3e300, 4e300, 5e300}, {"hypot", max, max, inf}, {"hypot", tiny, 0, tiny}, {"hypot", 3 * tiny, 4 * tiny, 5 * tiny}, {"hypot", 3e-300, -4e-300, 5e-300},
		{"polygamma", 0, 1, DigammaOf(1)}, {"polygamma", 1, 0, inf}, {"polygamma", 1, zero, inf}, {"polygamma", 2, 0, -inf}, {"polygamma", 2, zero, inf}, {"polygamma", 1, -3, inf}, {"polygamma", 2, -3, nan},
		{"polygamma", 1.5, 1, nan}, {"polygamma", -1, 1, nan}, {"polygamma", nan, 1, nan}, {"polygamma", 1, nan, nan}, {"polygamma", 1, inf, 0}, {"polygamma", 2, inf, zero}, {"polygamma", 1, -inf, nan},
		{"polygamma", 1, 1, math.Pi * math.Pi / 6}, {"polygamma", 1, 0.5, math.Pi * math.Pi / 2}, {"polygamma", inf, 1, nan}, {"polygamma", 3, 1e-300, inf}, {"polygamma", 1e9, -20.25, inf}, {"polygamma", 1e15, 3, -inf}, {"polygamma", 1, 1e300, 1e-300},
	} {
		if y := two[r.name](r.x, r.y); !same(y, r.want) {
			t.Errorf("%s(%v, %v) = %v, want %v", r.name, r.x, r.y, y, r.want)
		}
	}
}

// trigEdges are the arguments at which the trigonometric kernels change their ways.
func trigEdges() []float64 {
	xs := append([]float64{trigMax, 0.4375, 0.6875, 1.1875, 2.4375, 5.92, erfTop, 6, 0.1875, 0.375, 0.75}, edges...)
	for k := 1.0; k <= 64; k++ {
		xs = append(xs, k*pio16a, -k*pio16a/2, k*1e3, k*1e5, math.Ldexp(k, -30), math.Exp(k), -math.Exp(-k), k*0.09375)
	}
	for _, x := range xs[:len(xs):len(xs)] {
		xs = append(xs, math.Nextafter(x, math.Inf(1)), math.Nextafter(x, math.Inf(-1)))
	}
	return xs
}

// TestTrigTiers compares every kernel with its scalar twin; most arguments are common
// ones, so that vectors without a rare lane occur.
func TestTrigTiers(t *testing.T) {
	common := make([]float64, 3000)
	for i := range common {
		common[i] = math.Sin(float64(i)) * float64(i%40) / 3
	}
	for _, f := range trigKernels {
		checkUnary(t, f.name, f.f, f.of, trigEdges())
		checkUnary(t, f.name, f.f, f.of, common)
	}
	var directions []float64 // atan2's kernels do zeros, and what lies within 2^62 of the other
	for _, c := range []float64{0, 1, 0.4375, 0.6875, 1.1875, 2.4375, 3, 0x1p-30, 0x1p30} {
		for _, c := range []float64{c, math.Nextafter(c, 0), math.Nextafter(c, 4)} {
			if c == 0 || c > 1e-300 {
				directions = append(directions, c, -c)
			}
		}
	}
	checkBinary(t, "atan2", &Atan2, Atan2Of, directions)
	for _, f := range trigPairs[:2] {
		checkBinary(t, f.name, f.f, f.of, trigEdges())
		checkBinary(t, f.name, f.f, f.of, common)
	}
}

// TestSinCosTiers: the twin is sin and cos, into slices of its own and in place.
func TestSinCosTiers(t *testing.T) {
	xs := trigEdges()
	eachTier(t, func(t *testing.T) {
		for n := range lengths {
			for off := range 8 {
				for alias := range 3 {
					x, y, z := guard(n, off), guard(n, (off+3)%8), guard(n, (off+5)%8)
					fill(x.x, xs, n+off)
					arg := append([]float64(nil), x.x...)
					switch alias {
					case 1:
						y = x
					case 2:
						z = x
					}
					SinCos(y.x, z.x, x.x)
					for _, g := range []guarded{x, y, z} {
						g.check(t, "SinCos")
					}
					for i, a := range arg {
						if s, c := SinOf(a), CosOf(a); !same(y.x[i], s) || !same(z.x[i], c) {
							t.Fatalf("SinCos, n = %d, offset %d, alias %d: at %x = %x, %x, want %x, %x", n, off, alias, a, y.x[i], z.x[i], s, c)
						}
					}
				}
			}
		}
	})
}

// TestTrigRandom compares the tiers on many arguments of every magnitude.
func TestTrigRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 1 << 12
	x, y := make([]float64, n), make([]float64, n)
	eachTier(t, func(t *testing.T) {
		for round := range 40 {
			for i := range x {
				switch round % 4 {
				case 0:
					x[i] = math.Float64frombits(r.Uint64())
				case 1:
					x[i] = r.NormFloat64()
				case 2:
					x[i] = math.Ldexp(r.NormFloat64(), r.IntN(40)-20)
				default:
					x[i] = 2 * trigMax * (r.Float64() - 0.5)
				}
			}
			for _, f := range trigKernels[:15] {
				(*f.f)(y, x)
				for i := range x {
					if want := f.of(x[i]); !same(y[i], want) {
						t.Fatalf("%s(%x) = %x, want %x", f.name, x[i], y[i], want)
					}
				}
			}
		}
	})
}

// TestGammaPairs: on every tier pairs are those of single numbers, and add up to Lgamma and Digamma.
func TestGammaPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	x := []float64{0, -1.5, math.NaN(), math.Inf(1), gammaLeast, gammaLeast / 2, gammaMost, 2 * gammaMost, 1, 2}
	for len(x) < 1000 {
		x = append(x, math.Ldexp(1+r.Float64(), r.IntN(12)-6))
	}
	eachTier(t, func(t *testing.T) {
		for _, f := range []struct {
			name string
			pair twin
			of   func(x float64) (h, l float64)
			sum  func(x float64) float64
		}{{"lgamma", LgammaPair, LgammaPairOf, LgammaOf}, {"digamma", DigammaPair, DigammaPairOf, DigammaOf}} {
			for _, n := range []int{0, 1, 9, 40, len(x)} {
				h, l := make([]float64, n), make([]float64, n)
				f.pair(h, l, x[len(x)-n:])
				for i, x := range x[len(x)-n:] {
					if wh, wl := f.of(x); !same(h[i], wh) || !same(l[i], wl) {
						t.Fatalf("the pair of %s(%x) is %x, %x, want %x, %x", f.name, x, h[i], l[i], wh, wl)
					}
					if x >= gammaLeast && x <= gammaMost && h[i]+l[i] != f.sum(x) {
						t.Fatalf("the pair of %s(%x) adds up to %x, want %x", f.name, x, h[i]+l[i], f.sum(x))
					}
				}
			}
		}
	})
}

// TestTrigBits: the same bits on every machine. The file holds a hash of each function's
// values, and -update rewrites it.
func TestTrigBits(t *testing.T) {
	const name = "testdata/bits_trig.txt"
	text, err := os.ReadFile(name)
	if err != nil && !*update {
		t.Fatal(err)
	}
	var list strings.Builder
	check := func(f string, of func(x, y float64) float64) {
		r := rand.New(rand.NewPCG(3, 4))
		h := fnv.New64a()
		for range 5000 {
			x, y := r.NormFloat64(), math.Ldexp(r.NormFloat64(), r.IntN(60)-30)
			for _, v := range []float64{of(x, y), of(y, x), of(math.Float64frombits(r.Uint64()), x)} {
				if v != v {
					v = math.NaN()
				}
				enc.Write(h, enc.LittleEndian, v)
			}
		}
		line := fmt.Sprintf("%s %016x\n", f, h.Sum64())
		if list.WriteString(line); !*update && !strings.Contains(string(text), line) {
			t.Errorf("%s: the hash of its values is %016x, want that of %s (-update, if it was meant to change)", f, h.Sum64(), name)
		}
	}
	for _, f := range trigFunctions {
		check(f.name, func(x, _ float64) float64 { return f.of(x) })
	}
	for _, f := range trigPairs {
		check(f.name, func(x, y float64) float64 {
			if f.name == "polygamma" {
				x = math.Floor(math.Mod(math.Abs(x), 4))
			}
			return f.of(x, y)
		})
	}
	if *update {
		if err := os.WriteFile(name, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkTrig(b *testing.B) {
	const n = 1024
	x, y, z := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = 3 * math.Sin(float64(i))
	}
	run := func(name string, f func()) {
		was := tier
		defer use(was)
		for k := range best("") {
			use(k + 1)
			b.Run(name+"/"+Tier(), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
			})
		}
	}
	for _, f := range trigKernels {
		run(f.name, func() { (*f.f)(y, x) })
	}
	for i := range z {
		z[i] = 10 + 9.5*math.Sin(float64(i))
	}
	run("lgamma of positive", func() { Lgamma(y, z) })
	run("digamma of positive", func() { Digamma(y, z) })
	run("sincos", func() { SinCos(y, z, x) })
	for _, f := range trigPairs[:2] {
		for i := range z {
			z[i] = 3
		}
		run(f.name, func() { (*f.f)(y, z, x) })
	}
}

// TestBesselRows: values and derivatives from rows are those of the series in twice the precision.
func TestBesselRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	ulps := func(got, h, l float64) float64 {
		return math.Abs((got-h)-l) / (math.Nextafter(math.Abs(h), math.Inf(1)) - math.Abs(h))
	}
	for range 3000 {
		x := r.Float64() * besselFar
		var m, ml [5]float64
		for n := range m {
			m[n], ml[n] = besselMoment(float64(n), x)
		}
		for n := range besselOrders + 1 {
			sign := 1 - 2*float64(n%2)
			if u := ulps(sign*I0eDerivativeOf(float64(n), x), m[n], ml[n]); u > 0.75 {
				t.Errorf("derivative %d of i0e at %v errs by %v ulp", n, x, u)
			}
			h, l := addPair(m[n], ml[n], -m[n+1], -ml[n+1])
			if u := ulps(sign*I1eDerivativeOf(float64(n), x), h, l); u > 1 {
				t.Errorf("derivative %d of i1e at %v errs by %v ulp", n, x, u)
			}
		}
		h, l := addPair(m[0], ml[0], -2*m[1], -2*ml[1])
		h, l = addPair(h, l, m[2], ml[2])
		eh, el, k := expPair(x, 0)
		h, l = mulPair(h, l, eh, el)
		if u := ulps(I0DerivativeOf(2, x), scale(h, k), scale(l, k)); u > 1 {
			t.Errorf("second derivative of i0 at %v errs by %v ulp", x, u)
		}
	}
}

// TestHazardSeries: the gap whose third derivative has these coefficients satisfies t gap = 1 + gap' - gap^2.
func TestHazardSeries(t *testing.T) {
	var a [len(hazardSeries) + 1]float64
	a[1] = 1
	for k := 1; k < len(a); k++ {
		n := float64(k)
		if k > 1 {
			a[k] = (3 - 2*n) * a[k-1]
		}
		for i := 1; i < k; i++ {
			a[k] -= float64(a[i] * a[k-i])
		}
		if want := (2*n - 1) * 2 * n * (2*n + 1) * a[k]; hazardSeries[k-1] != want {
			t.Errorf("coefficient %d is %v, want %v", k-1, hazardSeries[k-1], want)
		}
	}
}
