package unbounded

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFar: powers and what is made of exponentials keep their digits however far out, as 400 bits
// have them.
func TestFar(t *testing.T) {
	for _, c := range []struct {
		op   string
		x, y float64
		want Number
	}{
		{"exp2", 2000000.5, 0, Number{1.4142135623730951, 2000000}},
		{"power", 2, 2000000.5, Number{1.4142135623730951, 2000000}},
		{"power", 3, 1e6, Number{1.4149206583050478, 1584962}},
		{"power", 1.7, 1e12, Number{1.968399010537491, 765534746362}},
		{"power", -3, 1001, Number{-1.461513567365327, 1586}},
		{"power", 1e-300, 1e5, Number{1.1121713895180696, -99657843}},
		{"gamma", 1e6, 0, Number{1.851120884233971, 18488864}},
		{"gamma", 1 << 40, 0, Number{1.100923302707636, 42394205138229}},
		{"erfc", 1e5, 0, Number{1.5965717478048131, -14426950427}},
		{"erfc", 12345678.9, 0, Number{1.8773121222709384, -219889500782210}},
	} {
		got, ok := Apply(c.op, Of(c.x), Of(c.y), Number{})
		if !ok || got.E != c.want.E || !(math.Abs(got.M-c.want.M) < 0x1p-38*math.Abs(c.want.M)) { // 1e12 log(1.7) has 39 bits in front of the point, and 68 + 39 in all
			t.Errorf("%s(%v, %v) = %v, want %v", c.op, c.x, c.y, got, c.want)
		}
	}
}

// TestBits: within the range, numbers have the bits of float64.
func TestBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a := math.Ldexp(rng.Float64()-0.5, rng.IntN(60)-30)
		b := math.Ldexp(rng.Float64()-0.5, rng.IntN(60)-30)
		x, y := Of(a), Of(b)
		for i, c := range [][2]float64{
			{x.Float(), a}, {x.Add(y).Float(), a + b}, {x.sub(y).Float(), a - b}, {x.Mul(y).Float(), a * b}, {x.div(y).Float(), a / b},
			{x.Mul(x).Sqrt().Float(), math.Sqrt(a * a)},
		} {
			if c[0] != c[1] {
				t.Fatalf("operation %d of %v and %v: %v, want %v", i, a, b, c[0], c[1])
			}
		}
	}
	inf, nan := math.Inf(1), math.NaN()
	special := []float64{0, math.Copysign(0, -1), 1, -3, inf, -inf, nan, 5e-324, math.MaxFloat64}
	for _, a := range special {
		for _, b := range special {
			x, y := Of(a), Of(b)
			for i, c := range [][2]float64{{x.Add(y).Float(), a + b}, {x.Mul(y).Float(), a * b}, {x.div(y).Float(), a / b}} {
				if c[0] != c[1] && (c[0] == c[0] || c[1] == c[1]) {
					t.Errorf("operation %d of %v and %v: %v, want %v", i, a, b, c[0], c[1])
				}
			}
		}
	}
}

// TestExp: exponentials far out of the range keep their digits, and those whose exponents
// leave what an int holds are infinite or 0. Truth: mpmath, 200 bits.
func TestExp(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want Number
	}{
		{800.25, Number{1.43068540526476, 1154}},
		{-1e5, Number{1.4102110630722473, -144270}},
		{123456789.125, Number{1.3516409903093995, 178110497}},
		{1e10, Number{1.8527061422137765, 14426950408}},
		{-4e14, Number{1.5551524682430558, -577078016355586}},
		{1e15, Number{1.326256594555387, 1442695040888963}},
		{1e16, Number{1.0523387944418132, 14426950408889634}},
		{-6e16, Number{1.4726397196519816, -86561702453337805}},
		{1e17, Number{math.Inf(1), 0}},
		{-1e300, Number{}},
	} {
		got := Of(c.v).exp()
		if got.E != c.want.E || got.M != c.want.M && !(math.Abs(got.M-c.want.M) < 0x1p-51) {
			t.Errorf("exp(%v) = %v, want %v", c.v, got, c.want)
		}
	}
	x := Of(1e15).exp()
	for range 10 {
		x = x.Mul(x)
	}
	if !math.IsInf(x.M, 1) || x.inverse().M != 0 {
		t.Errorf("exp(1e15)^1024 = %v, its inverse %v", x, x.inverse())
	}
}
