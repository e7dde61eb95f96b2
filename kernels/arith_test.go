package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestUnary(t *testing.T) {
	for _, k := range []struct {
		name   string
		kernel *unary
		of     func(x float64) float64
	}{
		{"Neg", &Neg, NegOf}, {"Abs", &Abs, AbsOf}, {"Sign", &Sign, SignOf}, {"Sqrt", &Sqrt, SqrtOf},
		{"Recip", &Recip, RecipOf}, {"LogSlope", &LogSlope, LogSlopeOf}, {"Log1pSlope", &Log1pSlope, Log1pSlopeOf}, {"Square", &Square, SquareOf}, {"Cube", &Cube, CubeOf}, {"Fourth", &Fourth, FourthOf}, {"Floor", &Floor, FloorOf}, {"Ceil", &Ceil, CeilOf},
		{"Trunc", &Trunc, TruncOf}, {"Round", &Round, RoundOf}, {"Float32", &Float32, Float32Of}, {"Copy", &Copy, CopyOf},
		{"Not", &Not, NotOf}, {"IsNaN", &IsNaN, IsNaNOf}, {"IsInf", &IsInf, IsInfOf}, {"IsFinite", &IsFinite, IsFiniteOf},
	} {
		t.Run(k.name, func(t *testing.T) { checkUnary(t, k.name, k.kernel, k.of, edges) })
	}
}

// TestWholePowers: x^3 and x^4 are what exact products round to, or next to it where they are tiny;
// signs of zeros and infinities are theirs as well.
func TestWholePowers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, k := range []struct {
		name string
		of   func(float64) float64
		n    int
	}{{"CubeOf", CubeOf, 3}, {"FourthOf", FourthOf, 4}} {
		x := append([]float64(nil), edges...)
		for range 20000 {
			x = append(x, math.Ldexp(r.Float64()*2-1, r.IntN(800)-400))
		}
		for _, x := range x {
			want := math.Pow(x, float64(k.n)) // of what is no number, infinite or 0
			if x-x == 0 && x != 0 {
				y := big.NewFloat(1).SetPrec(300)
				for range k.n {
					y.Mul(y, big.NewFloat(x))
				}
				want, _ = y.Float64()
			}
			got := k.of(x)
			if math.Abs(got) < 0x1p-960 && math.Nextafter(got, want) == want { // what was lost is itself rounded there
				continue
			}
			if !same(got, want) {
				t.Errorf("%s(%v) = %v, want %v", k.name, x, got, want)
			}
		}
	}
}

func TestBinary(t *testing.T) {
	for _, k := range []struct {
		name   string
		kernel *binary
		of     func(x, y float64) float64
	}{
		{"Add", &Add, AddOf}, {"Sub", &Sub, SubOf}, {"Mul", &Mul, MulOf}, {"Div", &Div, DivOf},
		{"ZMul", &ZMul, ZMulOf}, {"Maximum", &Maximum, MaximumOf}, {"Minimum", &Minimum, MinimumOf},
		{"Mod", &Mod, ModOf}, {"FloorDiv", &FloorDiv, FloorDivOf},
		{"Lt", &Lt, LtOf}, {"Le", &Le, LeOf}, {"Gt", &Gt, GtOf}, {"Ge", &Ge, GeOf}, {"Eq", &Eq, EqOf}, {"Ne", &Ne, NeOf},
		{"And", &And, AndOf}, {"Or", &Or, OrOf},
	} {
		t.Run(k.name, func(t *testing.T) { checkBinary(t, k.name, k.kernel, k.of, edges) })
	}
}

func TestTernary(t *testing.T) {
	for _, k := range []struct {
		name   string
		kernel *ternary
		of     func(x, y, z float64) float64
	}{
		{"FMA", &FMA, FMAOf}, {"Where", &Where, WhereOf},
	} {
		t.Run(k.name, func(t *testing.T) { checkTernary(t, k.name, k.kernel, k.of, edges) })
	}
}

func TestPairs(t *testing.T) {
	links := []func(x, y float64) float64{AddOf, SubOf, MulOf, ZMulOf, func(x, y float64) float64 { return y - x }}
	for f := range Pairs {
		for g := range Pairs[f] {
			name := fmt.Sprintf("Pairs[%d][%d]", f, g)
			t.Run(name, func(t *testing.T) {
				checkTernary(t, name, &Pairs[f][g], func(x, y, z float64) float64 { return links[g](links[f](x, y), z) }, edges)
			})
		}
	}
}

// TestEveryPair meets every edge with every other, which the lengths above
// need not do.
func TestEveryPair(t *testing.T) {
	var xs, ys []float64
	for _, x := range edges {
		for _, y := range edges {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	got := make([]float64, len(xs))
	eachTier(t, func(t *testing.T) {
		for _, k := range []struct {
			name   string
			kernel binary
			of     func(x, y float64) float64
		}{
			{"Add", Add, AddOf}, {"Sub", Sub, SubOf}, {"Mul", Mul, MulOf}, {"Div", Div, DivOf},
			{"ZMul", ZMul, ZMulOf}, {"Maximum", Maximum, MaximumOf}, {"Minimum", Minimum, MinimumOf},
			{"Mod", Mod, ModOf}, {"FloorDiv", FloorDiv, FloorDivOf},
			{"Lt", Lt, LtOf}, {"Le", Le, LeOf}, {"Gt", Gt, GtOf}, {"Ge", Ge, GeOf}, {"Eq", Eq, EqOf}, {"Ne", Ne, NeOf},
			{"And", And, AndOf}, {"Or", Or, OrOf},
		} {
			k.kernel(got, xs, ys)
			for i := range got {
				if want := k.of(xs[i], ys[i]); !same(got[i], want) {
					t.Errorf("%s(%v, %v) = %v, want %v", k.name, xs[i], ys[i], got[i], want)
				}
			}
		}
	})
}

func TestArithLaws(t *testing.T) {
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"max(-0, 0)", MaximumOf(negZero, 0), 0},
		{"max(0, -0)", MaximumOf(0, negZero), 0},
		{"min(-0, 0)", MinimumOf(negZero, 0), negZero},
		{"min(0, -0)", MinimumOf(0, negZero), negZero},
		{"max(inf, NaN)", MaximumOf(inf, nan), nan}, // math.Max says inf
		{"min(NaN, -inf)", MinimumOf(nan, -inf), nan},
		{"0 times inf, strongly", ZMulOf(0, inf), 0},
		{"NaN times -0, strongly", ZMulOf(nan, negZero), 0},
		{"round 2.5", RoundOf(2.5), 2},
		{"round -0.5", RoundOf(-0.5), negZero},
		{"round 0.49999999999999994", RoundOf(0.49999999999999994), 0},
		{"not NaN", NotOf(nan), 0}, // NaN is true
		{"NaN and 1", AndOf(nan, 1), 1},
		{"sum of none", Sum(nil), 0},
		{"max of none", Max(nil), -inf},
		{"min of none", Min(nil), inf},
		{"prod of none", Prod(nil), 1},
	} {
		if !same(c.got, c.want) {
			t.Errorf("%s = %v, want %v", c.what, c.got, c.want)
		}
	}
}

// TestMod has the answers of NumPy 2's mod and floor_divide.
func TestMod(t *testing.T) {
	for _, c := range []struct{ x, y, mod, div float64 }{
		{7, 3, 1, 2},
		{-7, 3, 2, -3},
		{7, -3, -2, -3},
		{-7, -3, -1, 2},
		{6, 3, 0, 2},
		{-6, 3, 0, -2},
		{6, -3, negZero, -2},
		{0, 3, 0, 0},
		{negZero, 3, 0, negZero},
		{0, -3, negZero, negZero},
		{1, 0, nan, inf},
		{-1, 0, nan, -inf},
		{0, 0, nan, nan},
		{1, inf, 1, 0},
		{-1, inf, inf, -1},
		{1, -inf, -inf, -1},
		{-1, -inf, -1, 0},
		{inf, 1, nan, nan},
		{-inf, inf, nan, nan},
		{nan, 1, nan, nan},
		{1, nan, nan, nan},
		{1, 0.1, 0.09999999999999995, 9}, // 0.1 is above a tenth
		{-1e-20, 1, 1, -1},               // 1 - 1e-20, rounded
		{5e-324, 1, 5e-324, 0},
		{math.MaxFloat64, 5e-324, 0, inf},
	} {
		if mod, div := ModOf(c.x, c.y), FloorDivOf(c.x, c.y); !same(mod, c.mod) || !same(div, c.div) {
			t.Errorf("divmod(%v, %v) = %v, %v, want %v, %v", c.x, c.y, mod, div, c.mod, c.div)
		}
	}
}

// TestFmodExact compares with integers of any size.
func TestFmodExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	exact := func(x, y float64) float64 {
		const shift = 1074 // every float64 is a multiple of 2^-1074
		whole := func(v float64) *big.Int {
			z, _ := new(big.Float).SetMantExp(big.NewFloat(v), shift).Int(nil)
			return z
		}
		z := new(big.Int).Rem(whole(x), whole(y))
		f, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(z), -shift).Float64()
		return math.Copysign(f, x)
	}
	var xs, ys []float64
	for range 20000 {
		x := math.Float64frombits(r.Uint64())
		y := math.Float64frombits(r.Uint64())
		if r.IntN(2) == 0 { // quotients about 1 and about 2^53
			y = x * (1 + 4*r.Float64()) * math.Ldexp(1, -r.IntN(56))
		}
		if r.IntN(4) == 0 { // near multiples
			y = x / float64(1+r.IntN(1000))
		}
		if x-x != 0 || y-y != 0 || y == 0 {
			continue
		}
		if got, want := fmod(x, y), exact(x, y); !same(got, want) {
			t.Fatalf("fmod(%v, %v) = %v, want %v", x, y, got, want)
		}
		xs, ys = append(xs, x), append(ys, y)
	}
	eachTier(t, func(t *testing.T) {
		mod, div := make([]float64, len(xs)), make([]float64, len(xs))
		Mod(mod, xs, ys)
		FloorDiv(div, xs, ys)
		for i, x := range xs {
			if m, d := ModOf(x, ys[i]), FloorDivOf(x, ys[i]); !same(mod[i], m) || !same(div[i], d) {
				t.Fatalf("divmod(%v, %v) = %v, %v, want %v, %v", x, ys[i], mod[i], div[i], m, d)
			}
		}
	})
}

func TestInPlace(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for n := range lengths {
			for off := range 8 {
				dst, x := guard(n, off), guard(n, (off+3)%8)
				fill(dst.x, edges, n)
				fill(x.x, edges, n+off)
				d0 := append([]float64(nil), dst.x...)
				for _, k := range []struct {
					name string
					run  func()
					want func(i int) float64
				}{
					{"Fill", func() { Fill(dst.x, 2.5) }, func(int) float64 { return 2.5 }},
					{"AddScalar", func() { AddScalar(dst.x, x.x, 0.7) }, func(i int) float64 { return x.x[i] + 0.7 }},
					{"multiple", func() { multiple(dst.x, dst.x, -0.3) }, func(i int) float64 { return math.FMA(d0[i], -0.3, 0) }},
					{"MulScalar", func() { MulScalar(dst.x, dst.x, -0.7) }, func(i int) float64 { return d0[i] * -0.7 }},
					{"DivScalar", func() { DivScalar(dst.x, dst.x, -0.7) }, func(i int) float64 { return d0[i] / -0.7 }},
					{"Accumulate", func() { Accumulate(dst.x, x.x) }, func(i int) float64 { return d0[i] + x.x[i] }},
					{"Accumulate4", func() { Accumulate4(dst.x, x.x, d0, x.x, d0) }, func(i int) float64 { return d0[i] + x.x[i] + d0[i] + x.x[i] + d0[i] }},
					{"axpy4", func() { axpy4(dst.x, -1.5, 0.5, 3, -0.3, x.x, d0, x.x, d0) }, func(i int) float64 {
						return math.FMA(-0.3, d0[i], math.FMA(3, x.x[i], math.FMA(0.5, d0[i], math.FMA(-1.5, x.x[i], d0[i]))))
					}},
					{"Axpy", func() { Axpy(dst.x, -1.5, x.x) }, func(i int) float64 { return math.FMA(-1.5, x.x[i], d0[i]) }},
				} {
					copy(dst.x, d0)
					k.run()
					dst.check(t, k.name)
					x.check(t, k.name)
					for i := range n {
						if want := k.want(i); !same(dst.x[i], want) {
							t.Fatalf("%s, n = %d: element %d = %v, want %v", k.name, n, i, dst.x[i], want)
						}
					}
				}
			}
		}
	})
}

func TestShortArgument(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("Add of a short argument did not panic")
			}
		}()
		Add(make([]float64, 9), make([]float64, 9), make([]float64, 8))
	})
}

func BenchmarkArith(b *testing.B) {
	for _, k := range []struct {
		name   string
		kernel *binary
	}{
		{"Add", &Add}, {"Mul", &Mul}, {"Div", &Div}, {"ZMul", &ZMul}, {"Maximum", &Maximum}, {"Lt", &Lt}, {"Mod", &Mod},
	} {
		was := tier
		defer use(was)
		for t := range best("") {
			use(t + 1)
			for _, n := range []int{8, 256, 4096} {
				b.Run(fmt.Sprintf("%s/%s/%d", k.name, Tier(), n), func(b *testing.B) {
					x, y, z := make([]float64, n), make([]float64, n), make([]float64, n)
					for i := range x {
						x[i], y[i] = float64(i%19)+0.25, float64(i%7)+1.5
					}
					for b.Loop() {
						(*k.kernel)(z, x, y)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/elem")
				})
			}
		}
	}
}
