package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestFMA32 compares with sums of any precision.
func TestFMA32(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 300000 {
		x, y, z := math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32())
		if i%2 == 0 { // a sum between two float32, or nearly
			x, y = 1+float32(r.IntN(1<<12))/(1<<12), 1+float32(r.IntN(1<<13))/(1<<12)
			z = float32(math.Ldexp(r.Float64()-0.5, -r.IntN(60)))
		}
		if i%4 == 0 { // a subnormal one
			x *= 0x1p-70
			y *= 0x1p-60
			z *= 0x1p-126
		}
		if i%8 == 1 { // the product is half an ulp of a subnormal z but for 2^-2k of it, or less
			d, half := math.Ldexp(1, -1-r.IntN(23)), -150-r.IntN(8)*r.IntN(2)
			x, y = float32(math.Ldexp(1+d, half/2)), float32(math.Ldexp(d-1, half-half/2))
			z = float32(math.Ldexp(float64(r.IntN(1<<24)-1<<23), -149))
		}
		if z == 0 || x-x != 0 || y-y != 0 || z-z != 0 {
			continue
		}
		s := new(big.Float).SetPrec(600).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
		want, _ := s.Add(s, big.NewFloat(float64(z))).Float32()
		if got := fma32(x, y, z); got != want {
			t.Fatalf("fma32(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
}

// gemmLoop32 is Gemm32, obviously.
func gemmLoop32(c []float32, ldc int, a []float32, lda int, transA bool, b []float32, ldb int, transB bool, m, n, k int, add bool) {
	aRow, aCol, bRow, bCol := lda, 1, ldb, 1
	if transA {
		aRow, aCol = 1, lda
	}
	if transB {
		bRow, bCol = 1, ldb
	}
	for i := range m {
		for j := range n {
			total, begun := c[i*ldc+j], add
			for l := 0; l < k || !begun; l += Gemm32Block {
				s := float32(0)
				for p := l; p < min(k, l+Gemm32Block); p++ {
					s = fma32(a[i*aRow+p*aCol], b[p*bRow+j*bCol], s)
				}
				if begun {
					s += total
				}
				total, begun = s, true
			}
			c[i*ldc+j] = total
		}
	}
}

func checkGemm32(t *testing.T, r *rand.Rand, m, n, k, pad int, transA, transB, add bool) {
	t.Helper()
	rowsA, colsA, rowsB, colsB := m, k, k, n
	if transA {
		rowsA, colsA = k, m
	}
	if transB {
		rowsB, colsB = n, k
	}
	lda, ldb, ldc := colsA+pad, colsB+2*pad, n+3*pad
	numbers := func(rows, cols, ld int) []float32 {
		x := make([]float32, max(0, (rows-1)*ld+cols)*b2i(rows > 0 && cols > 0))
		for i := range x {
			x[i] = float32(r.NormFloat64())
			if r.IntN(40) == 0 && m%4 == 0 {
				x[i] = edges32[r.IntN(len(edges32))]
			}
		}
		return x
	}
	a, b, c := numbers(rowsA, colsA, lda), numbers(rowsB, colsB, ldb), numbers(m, n, ldc)
	old := append([]float32(nil), c...)
	want := append([]float32(nil), c...)
	gemmLoop32(want, ldc, a, lda, transA, b, ldb, transB, m, n, k, add)
	got := append(append([]float32{9}, c...), 9)
	c = got[1 : len(got)-1 : len(got)-1]
	Gemm32(c, ldc, a, lda, transA, b, ldb, transB, m, n, k, add)
	what := fmt.Sprintf("Gemm32(m = %d, n = %d, k = %d, pad %d, transA %t, transB %t, add %t)", m, n, k, pad, transA, transB, add)
	if got[0] != 9 || got[len(got)-1] != 9 {
		t.Fatalf("%s wrote beyond C", what)
	}
	if r.IntN(4) == 0 {
		copy(c, old)
		GemmShared32(crowd(1+r.IntN(5)), c, ldc, a, lda, transA, b, ldb, transB, m, n, k, add)
		what += ", shared"
	}
	for i := range want {
		if !same32(c[i], want[i]) {
			t.Fatalf("%s: C[%d, %d] = %v, want %v", what, i/ldc, i%ldc, c[i], want[i])
		}
	}
}

func TestGemm32(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		each := func(m, n, k int) {
			for bits := range 8 {
				if testing.Short() && m*n*k > 100_000 && bits != n%8 {
					continue // one way of each large size
				}
				checkGemm32(t, r, m, n, k, r.IntN(3), bits&1 != 0, bits&2 != 0, bits&4 != 0)
			}
		}
		for m := range 18 {
			for n := range 51 {
				each(m, n, []int{0, 1, 2, 3, 7, 8, 20}[r.IntN(7)])
			}
		}
		for n := 51; n < 100; n++ {
			each(9, n, 5)
		}
		for m := 18; m < 76; m++ { // ways to make tiles of 8 and 9
			each(m, 1+r.IntN(100), 1+r.IntN(9))
		}
		for range 6 { // panels of products that are not cut
			each(1+r.IntN(165), 1+r.IntN(245), 1+r.IntN(165))
		}
		for _, s := range [][3]int{{1, 500, 600}, {500, 1, 600}, {3, 481, 257}, {121, 49, 130}, {66, 245, 300}, {125, 30, 517}, {1930, 50, 10}, {65, 2050, 10}, {73, 225, 230}, {66, 239, 200},
			{25, 384, 41}, {133, 535, 20}, {260, 1000, 66}} { // along the rows of C
			each(s[0], s[1], s[2])
		}
	})
}

func TestTranspose32(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for m := range 35 {
			for n := range 35 {
				ldx, ldd := n+m%3, m+n%5
				x, got := make([]float32, m*ldx), make([]float32, max(0, (n-1)*ldd+m)*b2i(m > 0 && n > 0))
				for i := range x {
					x[i] = float32(i)
				}
				for i := range got {
					got[i] = -1
				}
				Transpose32(got, ldd, x, ldx, m, n)
				for p := range got {
					j, i := p/max(ldd, 1), p%max(ldd, 1)
					want := float32(-1)
					if i < m {
						want = x[i*ldx+j]
					}
					if got[p] != want {
						t.Fatalf("Transpose32 %d×%d: element (%d, %d) = %v, want %v", m, n, j, i, got[p], want)
					}
				}
			}
		}
	})
}

// BenchmarkGemm32 is BenchmarkGemm.
func BenchmarkGemm32(b *testing.B) {
	peak := 0.0
	{
		w := multiply32.width
		x, y, z := make([]float32, 8*128), make([]float32, w*128), make([]float32, 8*w)
		for range 200 {
			start := time.Now()
			for range 20 {
				panel32(z, w, x, 128, 1, y, w, 0, tiles{}, 8, w, 128, false, ahead[float32]{}, rowsOf[float32]{})
			}
			peak = max(peak, 20*2*8*float64(w)*128/time.Since(start).Seconds()/1e9)
		}
	}
	for _, s := range [][3]int{{8, 8, 8}, {16, 16, 16}, {32, 32, 32}, {64, 64, 64}, {128, 128, 128}, {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024},
		{512, 512, 256}, {512, 10, 512}, {256, 512, 512}, {1, 512, 512}, {512, 1, 512}} {
		m, n, k := s[0], s[1], s[2]
		for bits, trans := range []string{"", "A'", "B'", "A'B'"} {
			b.Run(fmt.Sprintf("%dx%dx%d%s", m, n, k, trans), func(b *testing.B) {
				transA, transB := bits&1 != 0, bits&2 != 0
				x, y, z := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
				for i := range x {
					x[i] = float32(i % 7)
				}
				for i := range y {
					y[i] = float32(i % 5)
				}
				lda, ldb := k, n
				if transA {
					lda = m
				}
				if transB {
					ldb = k
				}
				for b.Loop() {
					Gemm32(z, n, x, lda, transA, y, ldb, transB, m, n, k, false)
				}
				speed := 2 * float64(m) * float64(n) * float64(k) * float64(b.N) / b.Elapsed().Seconds() / 1e9
				b.ReportMetric(speed, "GFLOP/s")
				b.ReportMetric(speed/peak, "of-peak")
			})
		}
	}
}

// TestShared32: products of float32 that workers share have the bits of those that one makes alone.
func TestShared32(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		two := Workers{Count: 2, Share: func(n int, f func(int)) {
			for i := range n {
				f(n - 1 - i)
			}
		}}
		for _, s := range [][3]int{{1, 1, 1499}, {1, 2, 1499}, {2, 1, 1499}, {3, 3, 700}, {1, 30, 600}, {30, 1, 600}, {8, 8, 300}, {1, 100, 1000}, {100, 1, 1000}, {70, 50, 600}, {300, 5, 600}} {
			m, n, k := s[0], s[1], s[2]
			for bits := range 4 {
				transA, transB := bits&1 != 0, bits&2 != 0
				a, b, alone, shared := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n), make([]float32, m*n)
				for _, x := range [][]float32{a, b} {
					for i := range x {
						x[i] = float32(rng.NormFloat64())
					}
				}
				lda, ldb := k, n
				if transA {
					lda = m
				}
				if transB {
					ldb = k
				}
				Gemm32(alone, n, a, lda, transA, b, ldb, transB, m, n, k, false)
				GemmShared32(two, shared, n, a, lda, transA, b, ldb, transB, m, n, k, false)
				if !slices.Equal(alone, shared) {
					t.Errorf("%d×%d by %d×%d, transposed %t and %t: %v shared, %v alone", m, k, k, n, transA, transB, shared[0], alone[0])
				}
			}
		}
	})
}
