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
