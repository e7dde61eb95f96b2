package unbounded

import (
	"math"
	"math/rand/v2"
	"testing"
)

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
		{1e16, Number{math.Inf(1), 0}},
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
