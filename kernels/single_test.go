package kernels

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// same32 is same for float32.
func same32(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

// edges32 are the edges as float32, and its own.
var edges32 = func() []float32 {
	xs := []float32{1e-45, -1e-45, 0x1p-126, -0x1p-126, 0x1.fffffcp-127, math.MaxFloat32, -math.MaxFloat32,
		0x1p23, 0x1p23 + 1, -0x1p22 - 0.5, 0x1p24, 0.49999997, -0.49999997, 8388607.5, 1e-30, 1e30, 88.7, -87.4, -103.9, 0x1.fffffep-1, 0x1.000002p0}
	for _, x := range edges {
		xs = append(xs, float32(x))
	}
	return xs
}()

// A kernel32 is a kernel of float32 in any form, beside what defines it.
type kernel32 struct {
	name   string
	kernel func(dst [][]float32, args [][]float32)
	of     func(a [3]float64) [2]float64
	dsts   int
	args   int
}

func unaryOf(name string, k *unary32, of func(x float64) float64) kernel32 {
	return kernel32{name, func(d, a [][]float32) { (*k)(d[0], a[0]) }, func(a [3]float64) [2]float64 { return [2]float64{of(a[0])} }, 1, 1}
}

func binaryOf(name string, k *binary32, of func(x, y float64) float64) kernel32 {
	return kernel32{name, func(d, a [][]float32) { (*k)(d[0], a[0], a[1]) }, func(a [3]float64) [2]float64 { return [2]float64{of(a[0], a[1])} }, 1, 2}
}

func ternaryOf(name string, k *ternary32, of func(x, y, z float64) float64) kernel32 {
	return kernel32{name, func(d, a [][]float32) { (*k)(d[0], a[0], a[1], a[2]) }, func(a [3]float64) [2]float64 { return [2]float64{of(a[0], a[1], a[2])} }, 1, 3}
}

var arith32 = []kernel32{
	unaryOf("Neg", &Single.Neg, NegOf), unaryOf("Abs", &Single.Abs, AbsOf), unaryOf("Sign", &Single.Sign, SignOf),
	unaryOf("Sqrt", &Single.Sqrt, SqrtOf), unaryOf("Recip", &Single.Recip, RecipOf), unaryOf("Square", &Single.Square, SquareOf),
	unaryOf("Floor", &Single.Floor, FloorOf), unaryOf("Ceil", &Single.Ceil, CeilOf), unaryOf("Trunc", &Single.Trunc, TruncOf), unaryOf("Round", &Single.Round, RoundOf),
	unaryOf("Not", &Single.Not, NotOf), unaryOf("IsNaN", &Single.IsNaN, IsNaNOf), unaryOf("IsInf", &Single.IsInf, IsInfOf), unaryOf("IsFinite", &Single.IsFinite, IsFiniteOf),
	binaryOf("Add", &Single.Add, AddOf), binaryOf("Sub", &Single.Sub, SubOf), binaryOf("Mul", &Single.Mul, MulOf), binaryOf("Div", &Single.Div, DivOf),
	binaryOf("ZMul", &Single.ZMul, ZMulOf), binaryOf("Maximum", &Single.Maximum, MaximumOf), binaryOf("Minimum", &Single.Minimum, MinimumOf),
	binaryOf("Lt", &Single.Lt, LtOf), binaryOf("Le", &Single.Le, LeOf), binaryOf("Gt", &Single.Gt, GtOf), binaryOf("Ge", &Single.Ge, GeOf),
	binaryOf("Eq", &Single.Eq, EqOf), binaryOf("Ne", &Single.Ne, NeOf), binaryOf("And", &Single.And, AndOf), binaryOf("Or", &Single.Or, OrOf),
	ternaryOf("FMA", &Single.FMA, FMAOf), ternaryOf("Where", &Single.Where, WhereOf),
}

func TestSingle(t *testing.T) {
	for _, k := range arith32 {
		t.Run(k.name, func(t *testing.T) { k.check(t, edges32) })
	}
}

// check compares a kernel with its definition on every tier, at every length 0..257,
// eight alignments, into slices of its own and into each argument.
func (k kernel32) check(t *testing.T, xs []float32) {
	t.Helper()
	eachTier(t, func(t *testing.T) {
		for n := range lengths {
			for off := range 8 {
				for alias := -1; alias < k.args; alias++ {
					k.checkAt(t, xs, n, off, alias)
				}
			}
		}
	})
}

func (k kernel32) checkAt(t *testing.T, xs []float32, n, off, alias int) {
	t.Helper()
	const sentinel = -0x1.badbadp+99
	all := make([][]float32, k.dsts+k.args)
	slices := make([][]float32, k.dsts+k.args)
	lo := func(i int) int { return 8 + (off+3*i)%8 }
	for i := range all {
		all[i] = make([]float32, n+32)
		for j := range all[i] {
			all[i][j] = sentinel
		}
		slices[i] = all[i][lo(i) : lo(i)+n : lo(i)+n]
	}
	dst, args := slices[:k.dsts:k.dsts], slices[k.dsts:]
	before := make([][]float32, k.args)
	for i := range args {
		for j := range args[i] {
			args[i][j] = xs[(j*7+j/len(xs)+(n+off+5*i)*13)%len(xs)]
		}
		before[i] = append([]float32(nil), args[i]...)
	}
	if alias >= 0 {
		dst = append([][]float32{args[alias]}, dst[1:]...)
	}
	k.kernel(dst, args)
	what := fmt.Sprintf("%s, n = %d, offset %d, dst aliasing %d,", k.name, n, off, alias)
	for i := range all {
		for j, v := range all[i] {
			if (j < lo(i) || j >= lo(i)+n) && v != sentinel {
				t.Fatalf("%s wrote %v at element %d of %d", what, v, j-lo(i), n)
			}
		}
	}
	for j := range n {
		var a [3]float64
		for i := range args {
			a[i] = float64(before[i][j])
			if i != alias && !same32(args[i][j], before[i][j]) {
				t.Fatalf("%s changed argument %d at element %d", what, i, j)
			}
		}
		want := k.of(a)
		for i := range dst {
			if !same32(dst[i][j], float32(want[i])) {
				t.Fatalf("%s element %d: of %x is %x, want %x", what, j, a[:k.args], dst[i][j], float32(want[i]))
			}
		}
	}
}

// TestSinglePairs meets random numbers of every size: subnormal and overflowing
// products and quotients among them.
func TestSinglePairs(t *testing.T) {
	const n = 1 << 15
	args := make([][]float32, 3)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range args {
		args[i] = make([]float32, n)
		for j := range args[i] {
			args[i][j] = math.Float32frombits(r.Uint32())
			if j%3 == 0 && i > 0 {
				args[i][j] = float32(math.Ldexp(float64(args[0][j]), r.IntN(80)-40)) * (1 + r.Float32())
			}
		}
	}
	dst := [][]float32{make([]float32, n)}
	eachTier(t, func(t *testing.T) {
		for _, k := range arith32 {
			k.kernel(dst, args)
			for j, got := range dst[0] {
				a := [3]float64{float64(args[0][j]), float64(args[1][j]), float64(args[2][j])}
				if want := float32(k.of(a)[0]); !same32(got, want) {
					t.Fatalf("%s%x = %x, want %x", k.name, a[:k.args], got, want)
				}
			}
		}
	})
}

func TestConversions(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for n := range lengths {
			for off := range 8 {
				wide, back := guard(n, off), make([]float32, n+32)
				x := make([]float32, n)
				for i := range x {
					x[i] = edges32[(i+n+off)%len(edges32)]
				}
				Widen(wide.x, x)
				wide.check(t, "Widen")
				for i, v := range x {
					if !same(wide.x[i], float64(v)) {
						t.Fatalf("Widen of %v is %v", v, wide.x[i])
					}
				}
				fill(wide.x, edges, n)
				for i := range back {
					back[i] = 7
				}
				Narrow(back[8+off:8+off+n], wide.x)
				for i, v := range back {
					want := float32(7)
					if j := i - 8 - off; j >= 0 && j < n {
						want = float32(wide.x[j])
					}
					if !same32(v, want) {
						t.Fatalf("Narrow: element %d of %d is %v, want %v", i-8-off, n, v, want)
					}
				}
			}
		}
	})
}

var every = flag.Bool("every", false, "try functions of float32 at every float32, not one in some thousand")

// functions32 are the functions of one argument, beside the kernels that define them.
var functions32 = []struct {
	name   string
	kernel *unary32
	wide   *unary
	of     func(x float64) float64
}{
	{"exp", &Single.Exp, &Exp, ExpOf}, {"expm1", &Single.Expm1, &Expm1, Expm1Of}, {"log", &Single.Log, &Log, LogOf}, {"log1p", &Single.Log1p, &Log1p, Log1pOf},
	{"sigmoid", &Single.Sigmoid, &Sigmoid, SigmoidOf}, {"sigmoidslope", &Single.SigmoidSlope, &SigmoidSlope, SigmoidSlopeOf},
	{"softplus", &Single.Softplus, &Softplus, SoftplusOf}, {"tanh", &Single.Tanh, &Tanh, TanhOf}, {"sech2", &Single.Sech2, &Sech2, Sech2Of},
	{"sin", &Single.Sin, &Sin, SinOf}, {"cos", &Single.Cos, &Cos, CosOf}, {"tan", &Single.Tan, &Tan, TanOf},
}

// twins32 are the kernels with two results.
var twins32 = []struct {
	name   string
	kernel *twin32
	wide   *twin
	of     func(x float64) (y, z float64)
}{
	{"log1ptwin", &Single.Log1pTwin, &Log1pTwin, Log1pTwinOf},
	{"sigmoidtwin", &Single.SigmoidTwin, &SigmoidTwin, func(x float64) (y, z float64) { return SigmoidOf(x), SigmoidSlopeOf(x) }},
	{"tanhsech2", &Single.TanhSech2, &TanhSech2, func(x float64) (y, z float64) { return TanhOf(x), Sech2Of(x) }},
	{"sincos", &Single.SinCos, &SinCos, SinCosOf},
}

func TestSingleFunctions(t *testing.T) {
	for _, f := range functions32 {
		t.Run(f.name, func(t *testing.T) {
			unaryOf(f.name, f.kernel, f.of).check(t, edges32)
			everywhere(t, f.name, func(y, _, x []float32) { (*f.kernel)(y, x) }, func(y, _, x []float64) { (*f.wide)(y, x) })
		})
	}
	for _, f := range twins32 {
		t.Run(f.name, func(t *testing.T) {
			kernel32{f.name, func(d, a [][]float32) { (*f.kernel)(d[0], d[1], a[0]) },
				func(a [3]float64) [2]float64 { y, z := f.of(a[0]); return [2]float64{y, z} }, 2, 1}.check(t, edges32)
			everywhere(t, f.name, func(y, z, x []float32) { (*f.kernel)(y, z, x) }, func(y, z, x []float64) { (*f.wide)(y, z, x) })
		})
	}
}

// everywhere compares a kernel with that of float64 on every tier, from one end of
// float32 to the other; it logs how often the kernel had to be helped.
func everywhere(t *testing.T, name string, kernel func(y, z, x []float32), wide func(y, z, x []float64)) {
	const n = 4096
	step := uint64(2503)
	if testing.Short() {
		step = 20011
	}
	if *every {
		step = 1
	}
	eachTier(t, func(t *testing.T) {
		if Tier() == "generic" {
			return // is the other
		}
		var x, y, z [n]float32
		var w, u, v [n]float64
		bad := 0
		for b := uint64(0); b < 1<<32 && bad < 5; {
			for i := range x {
				x[i] = math.Float32frombits(uint32(b))
				b += step
			}
			kernel(y[:], z[:], x[:])
			Widen(w[:], x[:])
			wide(u[:], v[:], w[:])
			for i := range x {
				if !same32(y[i], float32(u[i])) || !same32(z[i], float32(v[i])) {
					t.Errorf("%s(%x) = %x, %x, want %x, %x", name, x[i], y[i], z[i], u[i], v[i])
					if bad++; bad == 5 {
						break
					}
				}
			}
		}
	})
}

func BenchmarkSingle(b *testing.B) {
	const n = 512
	x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
	w, u, v := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = 0.01 + float32(i)/103
		w[i] = float64(x[i])
	}
	run := func(name string, f func()) {
		was := tier
		defer use(was)
		for n := 1; n < best(""); n++ {
			use(n + 1)
			b.Run(name+"/"+Tier(), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/element")
			})
		}
	}
	run("mul/float32", func() { Single.Mul(y, x, z) })
	run("mul/float64", func() { Mul(u, w, v) })
	run("widen", func() { Widen(u, x) })
	run("narrow", func() { Narrow(y, w) })
	for _, f := range functions32 {
		run(f.name+"/float32", func() { (*f.kernel)(y, x) })
		run(f.name+"/float64", func() { (*f.wide)(u, w) })
	}
	for _, f := range twins32 {
		run(f.name+"/float32", func() { (*f.kernel)(y, z, x) })
		run(f.name+"/float64", func() { (*f.wide)(u, v, w) })
	}
}
