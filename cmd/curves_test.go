package cmd

import (
	"math"
	"testing"
)

// TestBorder: where heights end, from either side, and how high they are there.
func TestBorder(t *testing.T) {
	for _, r := range []struct {
		name      string
		f         func(float64) float64
		x, end    float64
		at, value float64
	}{
		{"sqrt from 0", math.Sqrt, 1, -2, 0, 0},
		{"asin up to 1", math.Asin, 0.3, 1.7, 1, math.Pi / 2},
		{"a hole at 3", func(x float64) float64 { return x + 0/(x-3) }, 2.5, 3, 3, 3},
	} {
		j, err := border(func(x float64) (float64, error) { return r.f(x), nil }, r.x, r.end, r.f(r.x))
		// sqrt falls as the root of 60 halvings of 3.
		if err != nil || math.Abs(j.X-r.at) > 1e-15 || math.Abs(j.From-r.value) > 1e-7 || !math.IsNaN(j.To) {
			t.Errorf("%s: %+v, %v, want %v at %v", r.name, j, err, r.value, r.at)
		}
	}
}
