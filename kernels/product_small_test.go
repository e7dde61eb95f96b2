package kernels

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestGemmBatch holds many products at once to as many calls.
func TestGemmBatch(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for range 600 {
			m, n, k := r.IntN(12), r.IntN(30), r.IntN(12)
			if r.IntN(8) == 0 {
				m, k = 120+r.IntN(20), 120+r.IntN(20) // about where products are cut
			}
			if r.IntN(4) == 0 {
				n = 1
			}
			checkBatch(t, r, Gemm, m, n, k)
			checkBatch(t, r, Gemm32, m, n, k)
		}
	})
}

func checkBatch[T float32 | float64](t *testing.T, r *rand.Rand, one func(c []T, ldc int, a []T, lda int, transA bool, b []T, ldb int, transB bool, m, n, k int, add bool), m, n, k int) {
	t.Helper()
	count, transA, transB, pad := r.IntN(5), r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(3)
	matrices := func(rows, cols int, trans bool) (x []T, ld, step int) {
		if trans {
			rows, cols = cols, rows
		}
		ld = cols + pad
		step = rows*ld + r.IntN(3)
		x = make([]T, step*count+1)
		for i := range x {
			x[i] = T(r.NormFloat64())
		}
		return x, ld, step * r.IntN(2)
	}
	a, lda, aStep := matrices(m, k, transA)
	b, ldb, bStep := matrices(k, n, transB)
	ldc := n + pad*r.IntN(2)
	cStep := m*ldc + 1
	got := make([]T, max(1, cStep*count))
	for i := range got {
		got[i] = T(r.NormFloat64())
	}
	want := slices.Clone(got)
	for i := range count {
		one(want[i*cStep:], ldc, a[i*aStep:], lda, transA, b[i*bStep:], ldb, transB, m, n, k, false)
	}
	GemmBatch(count, Steps{cStep, aStep, bStep}, got, ldc, a, lda, transA, b, ldb, transB, m, n, k)
	if !slices.Equal(got, want) {
		t.Fatalf("%d products of %T, m = %d, n = %d, k = %d, transA %t, transB %t, distances %d, %d: not those of as many calls", count, got[0], m, n, k, transA, transB, aStep, bStep)
	}
}

// TestManyProducts holds so many that it takes several calls to as many of their own.
func TestManyProducts(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 9))
		const count = 9000
		a, b := make([]float64, 4*count), make([]float64, 2*count)
		for i := range a {
			a[i] = r.NormFloat64()
		}
		for i := range b {
			b[i] = r.NormFloat64()
		}
		got, want := make([]float64, 2*count), make([]float64, 2*count)
		GemmBatch(count, Steps{2, 4, 2}, got, 1, a, 2, false, b, 1, false, 2, 1, 2)
		for i := range count {
			Gemm(want[2*i:], 1, a[4*i:], 2, false, b[2*i:], 1, false, 2, 1, 2, false)
		}
		if !slices.Equal(got, want) {
			t.Error("many products at once are not those of as many calls")
		}
	})
}
