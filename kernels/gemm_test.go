package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

// gemmLoop is Gemm, obviously.
func gemmLoop(c []float64, ldc int, a []float64, lda int, transA bool, b []float64, ldb int, transB bool, m, n, k int, add bool) {
	aRow, aCol, bRow, bCol := lda, 1, ldb, 1
	if transA {
		aRow, aCol = 1, lda
	}
	if transB {
		bRow, bCol = 1, ldb
	}
	for i := range m {
		for j := range n {
			s := 0.0
			if add {
				s = c[i*ldc+j]
			}
			for l := range k {
				s = math.FMA(a[i*aRow+l*aCol], b[l*bRow+j*bCol], s)
			}
			c[i*ldc+j] = s
		}
	}
}

// crowd is n workers that begin all at once.
func crowd(n int) Workers {
	return Workers{n, func(n int, f func(i int)) {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { f(i) })
		}
		wg.Wait()
	}}
}

func b2i(b bool) int { return int(b2f(b)) }

func checkGemm(t *testing.T, r *rand.Rand, m, n, k, pad int, transA, transB, add bool) {
	t.Helper()
	rowsA, colsA, rowsB, colsB := m, k, k, n
	if transA {
		rowsA, colsA = k, m
	}
	if transB {
		rowsB, colsB = n, k
	}
	lda, ldb, ldc := colsA+pad, colsB+2*pad, n+3*pad
	last := func(rows, cols, ld int) int { return max(0, (rows-1)*ld+cols) * b2i(rows > 0 && cols > 0) }
	ga, gb, gc := guard(last(rowsA, colsA, lda), r.IntN(8)), guard(last(rowsB, colsB, ldb), r.IntN(8)), guard(last(m, n, ldc), r.IntN(8))
	for _, g := range []guarded{ga, gb, gc} {
		for i := range g.x {
			g.x[i] = r.NormFloat64()
		}
	}
	if r.IntN(4) == 0 {
		for _, g := range []guarded{ga, gb, gc} {
			for i := 0; i < len(g.x); i += 17 {
				g.x[i] = edges[r.IntN(len(edges))]
			}
		}
	}
	old := append([]float64(nil), gc.x...)
	want := append([]float64(nil), gc.x...)
	gemmLoop(want, ldc, ga.x, lda, transA, gb.x, ldb, transB, m, n, k, add)
	Gemm(gc.x, ldc, ga.x, lda, transA, gb.x, ldb, transB, m, n, k, add)
	what := fmt.Sprintf("Gemm(m = %d, n = %d, k = %d, pad %d, transA %t, transB %t, add %t)", m, n, k, pad, transA, transB, add)
	gc.check(t, what)
	if r.IntN(4) == 0 {
		copy(gc.x, old)
		GemmShared(crowd(1+r.IntN(5)), gc.x, ldc, ga.x, lda, transA, gb.x, ldb, transB, m, n, k, add)
		what += ", shared"
	}
	for i := range want {
		if !same(gc.x[i], want[i]) {
			t.Fatalf("%s: C[%d, %d] = %v, want %v", what, i/ldc, i%ldc, gc.x[i], want[i])
		}
	}
}

func TestGemm(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		each := func(m, n, k int) {
			for bits := range 8 {
				if testing.Short() && m*n*k > 100_000 && bits != n%8 {
					continue // one way of each large size
				}
				checkGemm(t, r, m, n, k, r.IntN(3), bits&1 != 0, bits&2 != 0, bits&4 != 0)
			}
		}
		for m := range 18 {
			for n := range 51 {
				each(m, n, []int{0, 1, 2, 3, 7, 8, 20}[r.IntN(7)])
			}
		}
		for m := 18; m < 76; m++ { // ways to make tiles of 8 and 9
			each(m, 1+r.IntN(50), 1+r.IntN(9))
		}
		for range 20 { // panels of products that are not cut
			each(1+r.IntN(165), 1+r.IntN(175), 1+r.IntN(165))
		}
		for _, s := range [][3]int{ // sizes about the blocks' edges
			{1, 500, 600}, {500, 1, 600}, {3, 481, 513}, {241, 25, 515}, {121, 49, 130}, {66, 245, 700}, {325, 30, 517}, {970, 25, 170}, {65, 1030, 160}, {5, 200, 1027}, {67, 30, 1030}, {70, 410, 1025},
			{80, 401, 410}, {73, 404, 401}, {66, 407, 399}, // panels that their first tile packs, the last of 17, 20 and 23 columns
			{128, 2, 128}, {131, 14, 130}, {300, 10, 1100}, {133, 3, 2100}, {131, 15, 130}, {13, 77, 400}, {300, 60, 259},
			{8, 1, 8}, {15, 1, 9}, {16, 1, 23}, {203, 1, 17}, {9, 1, 4}, {70, 95, 1}, {70, 97, 1}, {300, 130, 1}, {1, 130, 131}, {1, 4100, 5}, {1, 97, 200}, // products of vectors
			{1, 48, 5}, {1, 49, 30}, {1, 96, 3}, {1, 300, 9}, {1, 512, 300}, {1, 131, 17000}, // lines of one strip and more, the last from memory
			{16, 192, 3}, {25, 200, 41}, {45, 222, 128}, {140, 264, 30}, {131, 315, 20}, {300, 256, 10}, {261, 1040, 100}, // along the rows of C, B in place and packed, and in blocks
		} {
			each(s[0], s[1], s[2])
		}
		for _, s := range [][3]int{{70, 512, 530}, {5, 256, 1100}, {512, 30, 520}, {260, 66, 170}, {256, 40, 1100}} { // rows that crowd sets of the cache, where nothing lies between
			for bits := range 8 {
				if !testing.Short() || bits == s[1]%7 {
					checkGemm(t, r, s[0], s[1], s[2], 0, bits&1 != 0, bits&2 != 0, bits&4 != 0)
				}
			}
		}
	})
}

// TestOuter holds sums of matrices of rank one to the matrices, added one by one.
func TestOuter(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		check := func(m, n, k int, back bool) {
			lda, ldb, ldc := m+r.IntN(3), n+r.IntN(3), n+r.IntN(3)
			a, b, c := guard(max(0, (k-1)*lda+m), r.IntN(8)), guard(max(0, (k-1)*ldb+n), r.IntN(8)), guard(max(0, (m-1)*ldc+n), r.IntN(8))
			for _, g := range []guarded{a, b, c} {
				fill(g.x, edges, r.IntN(100))
				for i := range g.x {
					if r.IntN(8) > 0 {
						g.x[i] = r.NormFloat64()
					}
				}
			}
			want := append([]float64(nil), c.x...)
			for p := range k {
				if back {
					p = k - 1 - p
				}
				for i := range m {
					for j := range n {
						want[i*ldc+j] += float64(a.x[p*lda+i] * b.x[p*ldb+j])
					}
				}
			}
			Outer(c.x, ldc, a.x, lda, b.x, ldb, m, n, k, back)
			what := fmt.Sprintf("Outer(m = %d, n = %d, k = %d, lda %d, ldb %d, ldc %d, back %t)", m, n, k, lda, ldb, ldc, back)
			c.check(t, what)
			for i := range want {
				if !same(c.x[i], want[i]) {
					t.Fatalf("%s: C[%d, %d] = %v, want %v", what, i/ldc, i%ldc, c.x[i], want[i])
				}
			}
		}
		for m := range 18 {
			for n := range 51 {
				k := []int{0, 1, 2, 3, 7, 20}[r.IntN(6)]
				check(m, n, k, false)
				check(m, n, k, true)
			}
		}
		check(70, 110, 33, true)
	})
}

func TestTranspose(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for m := range 35 {
			for n := range 35 {
				ldx, ldd := n+m%3*b2i(m%4 > 0), m+n%5*b2i(n%4 > 0) // thin ones without and with others beside them
				x, g := make([]float64, m*ldx), guard(max(0, (n-1)*ldd+m)*b2i(m > 0 && n > 0), (m+n)%8)
				for i := range x {
					x[i] = float64(i)
				}
				for i := range g.x {
					g.x[i] = -1
				}
				Transpose(g.x, ldd, x, ldx, m, n)
				g.check(t, fmt.Sprintf("Transpose %d×%d", m, n))
				for p := range g.x {
					j, i := p/max(ldd, 1), p%max(ldd, 1)
					want := -1.0
					if i < m {
						want = x[i*ldx+j]
					}
					if g.x[p] != want {
						t.Fatalf("Transpose %d×%d: element (%d, %d) = %v, want %v", m, n, j, i, g.x[p], want)
					}
				}
			}
		}
	})
}

// TestTransposeSpreads: rows that begin equally far into their pages are those of a transposition, and nothing beside them is written.
func TestTransposeSpreads(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 86))
		for range 60 {
			ldd := 128 * (1 + r.IntN(4))
			m, n := 1+r.IntN(ldd), 1+r.IntN(100)
			ldx := n + r.IntN(3)
			x, g := make([]float64, m*ldx), guard((n-1)*ldd+m, r.IntN(8))
			for i := range x {
				x[i] = float64(i)
			}
			for i := range g.x {
				g.x[i] = -1
			}
			Transpose(g.x, ldd, x, ldx, m, n)
			g.check(t, fmt.Sprintf("Transpose %d×%d to rows of %d", m, n, ldd))
			for p, got := range g.x {
				want := -1.0
				if i := p % ldd; i < m {
					want = x[i*ldx+p/ldd]
				}
				if got != want {
					t.Fatalf("Transpose %d×%d to rows of %d: number %d is %v, want %v", m, n, ldd, p, got, want)
				}
			}
		}
	})
}

// BenchmarkOuter are sums of 64 matrices of rank one.
func BenchmarkOuter(b *testing.B) {
	for _, n := range []int{64, 128, 512} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const k = 64
			x, y, c := make([]float64, k*n), make([]float64, k*n), make([]float64, n*n)
			for b.Loop() {
				Outer(c, n, x, n, y, n, n, n, k, true)
			}
			b.ReportMetric(2*k*float64(n)*float64(n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}

// BenchmarkGemm reports GFLOP/s, and their part of the peak.
func BenchmarkGemm(b *testing.B) {
	peak := Peak(1) / 1e9
	for _, s := range [][3]int{{4, 4, 4}, {8, 8, 8}, {16, 16, 16}, {24, 24, 24}, {32, 32, 32}, {64, 64, 64}, {100, 100, 100}, {128, 128, 128}, {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024},
		{512, 512, 256}, {512, 10, 512}, {256, 512, 512}, {1024, 128, 64}, {1, 512, 512}, {512, 1, 512}, {4, 512, 512}} {
		m, n, k := s[0], s[1], s[2]
		for bits, trans := range []string{"", "A'", "B'", "A'B'"} {
			b.Run(fmt.Sprintf("%dx%dx%d%s", m, n, k, trans), func(b *testing.B) {
				transA, transB := bits&1 != 0, bits&2 != 0
				x, y, z := make([]float64, m*k), make([]float64, k*n), make([]float64, m*n)
				for i := range x {
					x[i] = float64(i % 7)
				}
				for i := range y {
					y[i] = float64(i % 5)
				}
				lda, ldb := k, n
				if transA {
					lda = m
				}
				if transB {
					ldb = k
				}
				for b.Loop() {
					Gemm(z, n, x, lda, transA, y, ldb, transB, m, n, k, false)
				}
				speed := 2 * float64(m) * float64(n) * float64(k) * float64(b.N) / b.Elapsed().Seconds() / 1e9
				b.ReportMetric(speed, "GFLOP/s")
				b.ReportMetric(speed/peak, "of-peak")
			})
		}
	}
}

// BenchmarkCold are products, four in turns, which therefore come from memory: A'B of tall
// operands, of few rows, and into few columns.
func BenchmarkCold(b *testing.B) {
	peak := Peak(1) / 1e9
	for _, r := range []struct {
		m, n, k int
		transA  bool
	}{
		{32, 32, 4096, true}, {64, 64, 4096, true}, {128, 128, 2048, true}, {512, 64, 1024, true}, {64, 256, 2048, true}, {64, 10, 4096, true},
		{16, 512, 512, false}, {64, 512, 512, false}, {48, 300, 300, false}, {128, 512, 256, false}, {4096, 8, 64, false}, {4096, 10, 256, false},
	} {
		b.Run(fmt.Sprintf("%dx%dx%d,%t", r.m, r.n, r.k, r.transA), func(b *testing.B) {
			lda := r.k
			if r.transA {
				lda = r.m
			}
			var x, y, z [4][]float64
			for i := range x {
				x[i], y[i], z[i] = make([]float64, r.m*r.k), make([]float64, r.k*r.n), make([]float64, r.m*r.n)
				for _, a := range [][]float64{x[i], y[i]} { // what was never written is one page of zeros
					for j := range a {
						a[j] = float64(j % 7)
					}
				}
			}
			for i := 0; b.Loop(); i++ {
				Gemm(z[i%4], r.n, x[i%4], lda, r.transA, y[i%4], r.n, false, r.m, r.n, r.k, false)
			}
			speed := 2 * float64(r.m) * float64(r.n) * float64(r.k) * float64(b.N) / b.Elapsed().Seconds() / 1e9
			b.ReportMetric(speed, "GFLOP/s")
			b.ReportMetric(speed/peak, "of-peak")
		})
	}
}
