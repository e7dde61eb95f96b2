package tape

import (
	"fmt"
	"math/rand/v2"
	"nabla/tape/pool"
	"slices"
	"testing"
)

// TestSquare: the product of a matrix and its own transpose has the bits of that of two
// matrices.
func TestSquare(t *testing.T) {
	share := pool.LeastFlops
	defer func() { pool.LeastFlops = share }()
	pool.LeastFlops = 1
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

// TestSeedsAreRows: a matrix times the vectors of a batch has the bits of the products with
// each of them, however the matrix and the vectors lie.
func TestSeedsAreRows(t *testing.T) {
	for _, f := range []string{"a @ v", "transpose(b) @ v", "v @ b", "v @ transpose(a)", "reshape(v, (1, 9)) @ b", "a @ reshape(v, (9, 1))",
		"grad(sum((a @ p)^2*u), p)*sum(v)", "hvp(sum(sin(a @ p)), p, v)", "grad(sum(sin(p @ b)*p[:7]), p) * v"} {
		for _, dtype := range []string{"float64", "float32"} {
			const given = "u = arange(7.); w = ones(7); "
			program := given + "f(v) = " + f + "; "
			inputs := []string{"a=" + dtype + "(randn(7, 9))", "b=" + dtype + "(randn(9, 7))", "s=" + dtype + "(randn(12, 9))", "p=linspace(0, 1, 9)"}
			value := func(text string) []float64 {
				a, err := question(t, "eval", text, inputs...).Answer()
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				return numbers(a.Targets[0].Value)
			}
			got := value(program + "vmap(f)(s)")
			for i := range 12 {
				want := value(program + fmt.Sprintf("f(s[%d])", i))
				if k := len(want); !slices.Equal(got[i*k:(i+1)*k], want) {
					t.Errorf("%s of %s, vector %d: %v in a batch, %v alone", f, dtype, i, got[i*k:(i+1)*k], want)
				}
			}
		}
	}
}
