package tape

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSquare: the product of a matrix and its own transpose has the bits of that of two
// matrices.
func TestSquare(t *testing.T) {
	share := shareProducts
	defer func() { shareProducts = share }()
	shareProducts = 1
	testSquare[float64](t)
	testSquare[float32](t)
}

func testSquare[T real](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{95, 96, 97, 130, 257} {
		for _, k := range []int{1, 2, 63, 300} {
			x := make([]T, n*k)
			for i := range x {
				x[i] = T(rng.NormFloat64())
			}
			for _, ta := range []bool{false, true} {
				p := product{m: n, n: n, k: k, lda: k, ldb: k, ldc: n, tb: true}
				if ta {
					p = product{m: n, n: n, k: k, lda: n, ldb: n, ldc: n, ta: true}
				}
				want, got := make([]T, n*n), make([]T, n*n)
				multiply(p, want, x, slices.Clone(x), 1)
				for threads := 1; threads <= 3; threads++ {
					multiply(p, got, x, x, threads)
					if !slices.Equal(got, want) {
						t.Errorf("%d×%d, transposed %v, on %d threads: not the product of two", n, k, ta, threads)
					}
				}
			}
		}
	}
}
