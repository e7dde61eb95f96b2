package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestColumn: products with a column have the bits of the portable ones and write nothing else, however
// many rows there are in all, in twos of eights and among those that were there, and however far apart.
func TestColumn(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		numbers := func(n int) []float64 {
			x := make([]float64, n)
			for i := range x {
				x[i] = r.NormFloat64()
			}
			return x
		}
		for m := 8; m <= 41; m++ {
			for _, k := range []int{8, 9, 12, 13, 15, 16, 23, 40} {
				for _, lda := range []int{k, k + 3, 512} { // rows a page apart, the last
					a, b := numbers(m*lda), numbers(k)
					got, want := make([]float64, m+2), make([]float64, m+2)
					timesColumn(got[1:m+1], a, lda, b, m, k)
					columnRows(want[1:m+1], a, lda, b, m, k)
					for i := range want {
						if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
							t.Fatalf("%d×%d, rows %d apart: number %d is %v, want %v", m, k, lda, i-1, got[i], want[i])
						}
					}
				}
			}
		}
	})
}
