package kernels

import (
	bin "encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

var inf, nan, negZero = math.Inf(1), math.NaN(), math.Copysign(0, -1)

const (
	least = 5e-324 // the smallest subnormal
	most  = math.MaxFloat64
)

// expFunctions are the functions of generic_exp, generic_log and generic_hyper.
var expFunctions = []struct {
	name     string
	kernel   *unary
	of       func(float64) float64
	specials [][2]float64 // C99 Annex F, and the ends of the range
}{
	{"exp", &Exp, ExpOf, [][2]float64{
		{0, 1}, {negZero, 1}, {inf, inf}, {-inf, 0}, {least, 1}, {most, inf}, {-most, 0},
		{709.782712893384, 0x1.fffffffffff2ap+1023}, {709.7827128933841, inf}, {-745.1332191019411, least}, {-745.1332191019412, 0}}},
	{"exp2", &Exp2, Exp2Of, [][2]float64{
		{0, 1}, {negZero, 1}, {inf, inf}, {-inf, 0}, {10, 1024}, {-1022, 0x1p-1022}, {1023, 0x1p1023}, {1024, inf}, {-1074, least}, {-1075, 0}, {-1e300, 0}}},
	{"expm1", &Expm1, Expm1Of, [][2]float64{
		{0, 0}, {negZero, negZero}, {inf, inf}, {-inf, -1}, {least, least}, {-least, -least}, {-1000, -1}, {709.7827128933841, inf}}},
	{"log", &Log, LogOf, [][2]float64{
		{0, -inf}, {negZero, -inf}, {1, 0}, {-1, nan}, {-inf, nan}, {inf, inf}, {least, -744.4400719213812}, {most, 709.782712893384}}},
	{"log2", &Log2, Log2Of, [][2]float64{
		{0, -inf}, {negZero, -inf}, {1, 0}, {-1, nan}, {inf, inf}, {2, 1}, {8, 3}, {least, -1074}, {0x1p1023, 1023}}},
	{"log10", &Log10, Log10Of, [][2]float64{
		{0, -inf}, {negZero, -inf}, {1, 0}, {-1, nan}, {inf, inf}, {10, 1}, {1000, 3}, {1e15, 15}, {1e22, 22}}},
	{"log1p", &Log1p, Log1pOf, [][2]float64{
		{0, 0}, {negZero, negZero}, {-1, -inf}, {-2, nan}, {-inf, nan}, {inf, inf}, {least, least}, {-least, -least}, {most, 709.782712893384}}},
	{"sigmoid", &Sigmoid, SigmoidOf, [][2]float64{
		{0, 0.5}, {negZero, 0.5}, {inf, 1}, {-inf, 0}, {40, 1}, {-745.1332191019411, least}, {-750, 0}, {-most, 0}}},
	{"softplus", &Softplus, SoftplusOf, [][2]float64{
		{0, math.Ln2}, {negZero, math.Ln2}, {inf, inf}, {-inf, 0}, {most, most}, {-745.1332191019411, least}, {-most, 0}}},
	{"sinh", &Sinh, SinhOf, [][2]float64{
		{0, 0}, {negZero, negZero}, {inf, inf}, {-inf, -inf}, {least, least}, {-least, -least},
		{710.4758600739439, 0x1.ffffffffffd3bp+1023}, {710.475860073944, inf}, {-710.475860073944, -inf}}},
	{"cosh", &Cosh, CoshOf, [][2]float64{
		{0, 1}, {negZero, 1}, {inf, inf}, {-inf, inf}, {least, 1}, {710.4758600739439, 0x1.ffffffffffd3bp+1023}, {-710.475860073944, inf}}},
	{"tanh", &Tanh, TanhOf, [][2]float64{
		{0, 0}, {negZero, negZero}, {inf, 1}, {-inf, -1}, {least, least}, {-least, -least}, {20, 1}, {-1e300, -1}}},
	{"sech2", &Sech2, Sech2Of, [][2]float64{
		{0, 1}, {negZero, 1}, {inf, 0}, {-inf, 0}, {least, 1}, {1e300, 0}}},
	{"sigmoidslope", &SigmoidSlope, SigmoidSlopeOf, [][2]float64{
		{0, 0.25}, {negZero, 0.25}, {inf, 0}, {-inf, 0}, {least, 0.25}, {1e300, 0}, {-745.1332191019411, least}, {745.1332191019411, least}}},
	{"asinh", &Asinh, AsinhOf, [][2]float64{
		{0, 0}, {negZero, negZero}, {inf, inf}, {-inf, -inf}, {least, least}, {-least, -least}, {most, 710.475860073944}}},
	{"acosh", &Acosh, AcoshOf, [][2]float64{
		{1, 0}, {0, nan}, {0.9999999999999999, nan}, {-inf, nan}, {inf, inf}, {most, 710.475860073944}}},
	{"atanh", &Atanh, AtanhOf, [][2]float64{
		{0, 0}, {negZero, negZero}, {1, inf}, {-1, -inf}, {1.0000000000000002, nan}, {inf, nan}, {-inf, nan}, {least, least}, {-least, -least}}},
}

// TestExpAccuracy compares errors with the list that nabla ops prints, which -update
// rewrites. It was measured with
//
//	python3 _table/oracle.py 300000 2026 REF && go test -run ExpAccuracy -reference REF -update
func TestExpAccuracy(t *testing.T) {
	const name = "testdata/accuracy_exp.txt"
	known := readList(t, name)
	var list strings.Builder
	measure := func(f string, of func(a []float64) float64) {
		bound := 1.
		if !*update {
			bound, _ = strconv.ParseFloat(known[f], 64)
		}
		u := checkUlps(t, f, bound, of)
		fmt.Fprintf(&list, "%s %.2f\n", f, math.Ceil(u*100)/100)
	}
	for _, f := range expFunctions {
		measure(f.name, func(a []float64) float64 { return f.of(a[0]) })
	}
	measure("pow", func(a []float64) float64 { return PowOf(a[0], a[1]) })
	writeList(t, name, list.String())
}

// TestExpBits: the same bits on every machine, by a hash of each function's values.
func TestExpBits(t *testing.T) {
	const name = "testdata/bits_exp.txt"
	known := readList(t, name)
	var list strings.Builder
	xs := spread(20000)
	check := func(f string, of func(x, y float64) float64) {
		h := fnv.New64a()
		for i, x := range xs {
			y := of(x, xs[(i*7919)%len(xs)])
			if y != y {
				y = nan
			}
			bin.Write(h, bin.LittleEndian, y)
		}
		sum := fmt.Sprintf("%016x", h.Sum64())
		if fmt.Fprintln(&list, f, sum); !*update && known[f] != sum {
			t.Errorf("%s: the hash of its values is %s, want %s (-update, if it was meant to change)", f, sum, known[f])
		}
	}
	for _, f := range expFunctions {
		check(f.name, func(x, _ float64) float64 { return f.of(x) })
	}
	check("pow", PowOf)
	writeList(t, name, list.String())
}

// readList reads lines of a name and a value; there may be no file yet under -update.
func readList(t *testing.T, name string) map[string]string {
	text, err := os.ReadFile(name)
	if err != nil && !*update {
		t.Fatal(err)
	}
	list := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			list[key] = value
		}
	}
	return list
}

func writeList(t *testing.T, name, text string) {
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestExpSpecials(t *testing.T) {
	for _, f := range expFunctions {
		for _, s := range append(f.specials, [2]float64{nan, nan}) {
			if got := f.of(s[0]); !same(got, s[1]) {
				t.Errorf("%s(%v) = %v, want %v", f.name, s[0], got, s[1])
			}
		}
	}
}

func TestPowSpecials(t *testing.T) {
	for _, r := range [][3]float64{
		{0, 3, 0}, {negZero, 3, negZero}, {negZero, 2, 0}, {0, -3, inf}, {negZero, -3, -inf}, {negZero, -2, inf},
		{0, -inf, inf}, {negZero, -inf, inf}, {0, inf, 0}, {0, 0.5, 0}, {negZero, 0.5, 0}, {negZero, -0.5, inf},
		{-1, inf, 1}, {-1, -inf, 1}, {1, nan, 1}, {1, inf, 1}, {nan, 0, 1}, {nan, negZero, 1}, {inf, 0, 1}, {0, 0, 1},
		{nan, 1, nan}, {2, nan, nan}, {nan, nan, nan}, {-8, 1.0 / 3, nan}, {-1e-300, 0.5, nan},
		{0.5, -inf, inf}, {2, -inf, 0}, {0.5, inf, 0}, {-2, inf, inf}, {-0.5, -inf, inf},
		{-inf, -3, negZero}, {-inf, -2, 0}, {-inf, 3, -inf}, {-inf, 2, inf}, {-inf, 0.5, inf}, {-inf, -0.5, 0},
		{inf, -1e-300, 0}, {inf, 1e-300, inf}, {inf, inf, inf}, {-inf, inf, inf}, {-inf, -inf, 0},
		{-2, 3, -8}, {-2, -1, -0.5}, {-2, 0x1p53, inf}, {-2, -1075, negZero}, {-2, -1074, least}, {-2, 1023, -0x1p1023}, {-2, 1025, -inf},
		{most, most, inf}, {most, -most, 0}, {0.5, most, 0}, {least, most, 0}, {0.9999999999999999, 1e300, 0}, {1.0000000000000002, 1e300, inf},
		{2, least, 1}, {most, least, 1}, {least, 1, least}, {least, -least, 1}, {most, 1, most}, {3.7, 1, 3.7},
		{1.0000001, 1e9, 0x1.349445c228792p+144}, {2, 0.5, math.Sqrt2}, {least, 0.5, 0x1p-537},
	} {
		if got := PowOf(r[0], r[1]); !same(got, r[2]) {
			t.Errorf("pow(%v, %v) = %v, want %v", r[0], r[1], got, r[2])
		}
	}
}

// Powers that are float64 are exact.
func TestPowExact(t *testing.T) {
	for x := 1.0; x < 2000; x++ {
		p := 1.0
		for n := 0.0; p < 0x1p53; n++ {
			if got := PowOf(x, n); got != p {
				t.Errorf("pow(%v, %v) = %v, want %v", x, n, got, p)
			}
			if got := PowOf(-x/1024, n); got != p*math.Ldexp(1-2*math.Mod(n, 2), int(-10*n)) {
				t.Errorf("pow(%v, %v) = %v is not exact", -x/1024, n, got)
			}
			if got := PowOf(p, 1/n); n == 2 && got != x {
				t.Errorf("pow(%v, %v) = %v, want %v", p, 1/n, got, x)
			}
			if p *= x; x == 1 && n == 9 {
				break
			}
		}
	}
}

// spread is every kind of argument at which a kernel could differ from its twin:
// the edges, the ends of the range, random bits, and many numbers near 1 and 0.
func spread(n int) []float64 {
	xs := append([]float64(nil), edges...)
	for _, f := range expFunctions {
		for _, s := range f.specials {
			xs = append(xs, s[0])
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for len(xs) < n {
		u := r.Float64()
		xs = append(xs, math.Float64frombits(r.Uint64()),
			float64(40*u)-20, float64(1500*u)-750, 1+(u-0.5)/8, 1+(u-0.5)*0x1p-40, u, -u, 2*u, 1/u,
			math.Ldexp(u-0.5, r.IntN(80)-70), math.Ldexp(u, -1020-r.IntN(50)), math.Float64frombits(0x3ff0000000000000+r.Uint64N(40)<<47))
	}
	return xs[:n]
}

func TestExpTiers(t *testing.T) {
	xs := spread(1 << 17)
	for _, f := range expFunctions {
		checkUnary(t, f.name, f.kernel, f.of, xs[:1021])
		eachTier(t, func(t *testing.T) {
			dst := make([]float64, len(xs))
			(*f.kernel)(dst, xs)
			bad := 0
			for i, x := range xs {
				if want := f.of(x); !same(dst[i], want) && bad < 5 {
					t.Errorf("%s(%x) = %x, want %x", f.name, x, dst[i], want)
					bad++
				}
			}
		})
	}
}

// expTwins are the kernels with two results, which other kernels give one by one.
var expTwins = []struct {
	name   string
	kernel *twin
	y, d   func(float64) float64
}{
	{"log1ptwin", &Log1pTwin, Log1pOf, Log1pSlopeOf},
	{"logtwin", &logTwin, LogOf, func(x float64) float64 { _, rest := logTwinOf(x); return rest }},
	{"tanhsech2", &TanhSech2, TanhOf, Sech2Of},
	{"sigmoidtwin", &SigmoidTwin, SigmoidOf, SigmoidSlopeOf},
}

func TestExpTwins(t *testing.T) {
	xs := spread(1 << 15)
	for _, f := range expTwins {
		eachTier(t, func(t *testing.T) {
			for n := range lengths {
				for off := range 8 {
					g := []guarded{guard(n, off), guard(n, (off+3)%8), guard(n, (off+5)%8)}
					y, d, x := g[0].x, g[1].x, g[2].x
					for _, alias := range []*[]float64{nil, &y, &d} {
						fill(x, xs, n+off)
						want := append([]float64(nil), x...)
						if alias != nil {
							*alias = x
						}
						(*f.kernel)(y, d, x)
						for i, x := range want {
							if !same(y[i], f.y(x)) || !same(d[i], f.d(x)) {
								t.Fatalf("%s(%x) = %x, %x, want %x, %x", f.name, x, y[i], d[i], f.y(x), f.d(x))
							}
						}
						for _, g := range g {
							g.check(t, f.name)
						}
						y, d = g[0].x, g[1].x
					}
				}
			}
			y, d := make([]float64, len(xs)), make([]float64, len(xs))
			(*f.kernel)(y, d, xs)
			for i, x := range xs {
				if !same(y[i], f.y(x)) || !same(d[i], f.d(x)) {
					t.Fatalf("%s(%x) = %x, %x, want %x, %x", f.name, x, y[i], d[i], f.y(x), f.d(x))
				}
			}
		})
	}
}

func TestPowTiers(t *testing.T) {
	checkBinary(t, "pow", &Pow, PowOf, spread(1021))
	xs := spread(1 << 17)
	ys := make([]float64, len(xs))
	r := rand.New(rand.NewPCG(3, 4))
	for i, x := range xs {
		switch u := r.Float64(); i % 5 {
		case 0:
			ys[i] = float64(r.IntN(41) - 20)
		case 1:
			ys[i] = 10 * (u - 0.5)
		case 2:
			ys[i] = 1500 * (u - 0.5) / math.Log(math.Abs(x))
		case 3:
			ys[i] = float64(r.IntN(2000)-1000) / 2
		default:
			ys[i] = xs[r.IntN(len(xs))]
		}
		if y := ys[i]; i%997 > 3 && y-y != 0 {
			ys[i] = 0x1p53 * r.Float64()
		}
	}
	eachTier(t, func(t *testing.T) {
		dst := make([]float64, len(xs))
		Pow(dst, xs, ys)
		bad := 0
		for i, x := range xs {
			if want := PowOf(x, ys[i]); !same(dst[i], want) && bad < 5 {
				t.Errorf("pow(%x, %x) = %x, want %x", x, ys[i], dst[i], want)
				bad++
			}
		}
	})
}

func BenchmarkExp(b *testing.B) {
	x, y, dst := make([]float64, 1024), make([]float64, 1024), make([]float64, 1024)
	for i := range x {
		x[i], y[i] = 0.01+float64(i)/103, float64(i%64)/9
	}
	run := func(name string, kernel func()) {
		was := tier
		defer use(was)
		for n := range best("") {
			use(n + 1)
			b.Run(name+"/"+Tier(), func(b *testing.B) {
				for b.Loop() {
					kernel()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/element")
			})
		}
	}
	for _, f := range expFunctions {
		run(f.name, func() { (*f.kernel)(dst, x) })
	}
	for _, f := range expTwins {
		run(f.name, func() { (*f.kernel)(y, dst, x) })
	}
	run("pow", func() { Pow(dst, x, y) })
}

// TestPowDerivative: tiles give the bits of single numbers, wherever these lie.
func TestPowDerivative(t *testing.T) {
	xs := spread(700)
	ys := []float64{0.1, 2.7, -0.3, 1. / 3, -1e-17, 3, 0, -440, 1e16, inf, nan}
	n := len(xs)
	order, y, dst := make([]float64, n), make([]float64, n), make([]float64, n)
	for _, k := range []float64{0, 1, 2, 5, 4096, 4097, 2*4096 + 3, 8 * 4096, -1, 0.5, nan} {
		for shift := range ys {
			for i := range n {
				order[i], y[i] = k, ys[(shift+i/600*i)%len(ys)] // one exponent, then many
				if i > 650 {
					order[i] = float64(i % 3)
				}
			}
			PowDerivative(dst, order, xs, y)
			for i, got := range dst {
				if want := PowDerivativeOf(order[i], xs[i], y[i]); !same(got, want) {
					t.Fatalf("derivative %v of %v^%v = %v in a tile, %v by itself", order[i], xs[i], y[i], got, want)
				}
			}
		}
	}
	for m := range 100 { // by y alone it is x^y log(x)^m
		if got, want := PowDerivativeOf(float64(m)*powOrder, 2, 3), 8*math.Pow(math.Ln2, float64(m)); !(math.Abs(got-want) <= 1e-13*want) {
			t.Errorf("derivative of 2^3 of order %d by the exponent = %v, want %v", m, got, want)
		}
	}
	if got := PowDerivativeOf(2, 0.5, 1e160); got != 0 { // y² is infinite, and x^y 0
		t.Errorf("second derivative of x^1e160 at 0.5 = %v, want 0", got)
	}
	if got := PowDerivativeOf(1, -1.0000000000000002, 1e16); !(got < 0) {
		t.Errorf("derivative of x^1e16 at -1.0000000000000002 = %v, want a negative number", got)
	}
}
