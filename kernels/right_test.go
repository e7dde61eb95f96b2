package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestRight: products with an operand that was packed once are those of Gemm.
func TestRight(t *testing.T) {
	eachTier(t, func(t *testing.T) { checkRight(t, Gemm) })
}

// TestRight32: and of Gemm32.
func TestRight32(t *testing.T) {
	eachTier(t, func(t *testing.T) { checkRight(t, Gemm32) })
}

func checkRight[T float32 | float64](t *testing.T, gemm func(c []T, ldc int, a []T, lda int, transA bool, b []T, ldb int, transB bool, m, n, k int, add bool)) {
	r := rand.New(rand.NewPCG(3, 4))
	depth := blockingOf[T]().depth
	var right Right[T]
	for _, s := range [][3]int{{1, 1, 1}, {5, 7, 3}, {8, 24, 16}, {130, 33, 20}, {130, 60, 20}, {40, 100, 300}, {9, 1, 40}, {16, 30, 20}, {8, 130, 1100}, {40, 64, 128}, {3, 25, 513}, {125, 49, 1030}, {4, 3, 0}} {
		for _, turned := range []bool{false, true} {
			m, n, k := s[0], s[1], s[2]
			if testing.Short() && m*n*k > 200_000 {
				continue
			}
			ldb, lda, ldc := n+2, k+1, n+3
			size := k * ldb
			if turned {
				ldb = k + 2
				size = n * ldb
			}
			a, b := make([]T, m*lda), make([]T, size)
			for i := range a {
				a[i] = T(r.NormFloat64())
			}
			for i := range b {
				b[i] = T(r.NormFloat64())
			}
			if len(a) > 4*lda {
				clear(a[lda : 2*lda])
				a[3*lda] = T(math.Inf(1))
			}
			c, want := make([]T, m*ldc), make([]T, m*ldc)
			for i := range c {
				c[i], want[i] = 7, 7
			}
			gemm(want, ldc, a, lda, false, b, ldb, turned, m, n, k, false)
			right.Pack(make([]T, PackedSize[T](k, n)), b, ldb, turned, k, n)
			right.Multiply(c, ldc, a, lda, m)
			for i := range c {
				if !sameAs(c[i], want[i]) {
					t.Fatalf("%d×%d×%d, transposed %t: C[%d, %d] = %v, want %v", m, n, k, turned, i/ldc, i%ldc, c[i], want[i])
				}
			}
			group := 1 + r.IntN(m+2)
			if turned {
				group = (group + 7) &^ 7
			}
			for _, group := range []int{group, 8} {
				for _, d := range [][2]int{{ldc, group * ldc}, {ldc, group*ldc + 1}, {(m + 2) * ldc, ldc}} { // beside one another, or interleaved
					ld, gap := d[0], d[1]
					spread := make([]T, min(m, group)*ld+(m-1)/group*gap)
					for _, by := range [][]T{nil, slopes[T](r, group*n), plain(slopes[T](r, group*n))} {
						right.MultiplyGroups(spread, ld, group, gap, a, lda, m, by)
						for at := range m * n {
							i, j := at/n, at%n
							want := want[i*ldc+j]
							if by != nil {
								want = zmulOf(want, by[i%group*n+j])
							}
							if got := spread[i/group*gap+i%group*ld+j]; !sameAs(got, want) {
								t.Fatalf("%d×%d×%d in groups of %d, multiplied %t: C[%d, %d] = %v, want %v", m, n, k, group, by != nil, i, j, got, want)
							}
						}
					}
				}
			}
			if k == 0 {
				continue
			}
			count := 1 + r.IntN(min(k, 40))
			q, step := r.IntN(k-count+1), r.IntN(3)
			if k > depth {
				q = min(depth-count/2, k-count) // rows of two blocks
			}
			c, want = make([]T, count*m*ldc), make([]T, count*m*ldc)
			a = append(a, slopes[T](r, q+count*step)...)
			for p := range count {
				row := b[q+p:]
				if !turned {
					row = b[(q+p)*ldb:]
				}
				gemm(want[p*m*ldc:], ldc, a[q+p*step:], lda, false, row, ldb, turned, m, n, 1, false)
			}
			for _, by := range [][]T{nil, slopes[T](r, m*n), plain(slopes[T](r, m*n)), slopes[T](r, count*m*n)} {
				right.Rows(c, ldc, a[q:], lda, step, m, q, count, by)
				for i := range c {
					want := want[i]
					if j := i % ldc; by != nil && j < n {
						want = zmulOf(want, by[i/ldc*n%len(by)+j])
					}
					if !sameAs(c[i], want) {
						t.Fatalf("rows %d to %d of %d×%d×%d, transposed %t, multiplied by %d: C[%d, %d] = %v, want %v", q, q+count, m, n, k, turned, len(by), i/ldc, i%ldc, c[i], want)
					}
				}
			}
		}
	}
}

// sameAs is same of either type: a float32 is the float64 that it is.
func sameAs[T float32 | float64](x, y T) bool { return same(float64(x), float64(y)) }

// zmulOf is the product of two numbers, rounded once, 0 where either is 0.
func zmulOf[T float32 | float64](x, y T) T { return T(ZMulOf(float64(x), float64(y))) }

// slopes are numbers, some of them zeros, infinite or NaN.
func slopes[T float32 | float64](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		if x[i] = T(r.NormFloat64()); r.IntN(3) == 0 {
			x[i] = T(edges[r.IntN(len(edges))])
		}
	}
	return x
}

// plain are numbers without any that are 0, infinite or NaN.
func plain[T float32 | float64](x []T) []T {
	for i, v := range x {
		if v == 0 || v-v != 0 {
			x[i] = T(1+i%7) * -0x1p-120
		}
	}
	return x
}

// TestArePlain looks at a number of each kind among others that are plain, at each place.
func TestArePlain(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		checkArePlain[float64](t)
		checkArePlain[float32](t)
	})
}

func checkArePlain[T float32 | float64](t *testing.T) {
	g := blockingOf[T]()
	for n := range 40 {
		x := make([]T, n)
		for i := range x {
			x[i] = T(i) - 100
		}
		if !g.arePlain(x) {
			t.Errorf("arePlain(%v) is false", x)
		}
		for _, v := range edges {
			v, at := T(v), (7*n+3)%max(1, n)
			want := n == 0 || v != 0 && v-v == 0
			if n > 0 {
				x[at] = v
			}
			if g.arePlain(x) != want {
				t.Errorf("arePlain(%v) of %T is %t", x, v, !want)
			}
		}
	}
}

// BenchmarkRight is BenchmarkGemm with the right operand packed before.
func BenchmarkRight(b *testing.B) {
	peak := Peak(1) / 1e9
	for _, s := range [][3]int{{128, 128, 128}, {256, 128, 128}, {256, 64, 128}, {512, 128, 128}, {1024, 128, 128}} {
		m, n, k := s[0], s[1], s[2]
		b.Run(fmt.Sprintf("%dx%dx%d", m, n, k), func(b *testing.B) {
			x, y, z := make([]float64, m*k), make([]float64, k*n), make([]float64, m*n)
			var r Right[float64]
			r.Pack(make([]float64, PackedSize[float64](k, n)), y, n, false, k, n)
			for b.Loop() {
				r.Multiply(z, n, x, k, m)
			}
			b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9/peak, "of-peak")
		})
	}
}
