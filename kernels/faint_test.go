package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

// faintNumbers are n numbers of about 2^exp, some of them 0.
func faintNumbers(r *rand.Rand, n, exp int) []float64 {
	x := make([]float64, n)
	for i := range x {
		if x[i] = math.Ldexp(r.NormFloat64(), exp); i > 0 && r.IntN(9) == 0 {
			x[i] = math.Copysign(0, r.NormFloat64())
		}
	}
	x[0] = math.Ldexp(1, exp) // what is looked at
	return x
}

// TestFaint: products and sums of numbers next to nothing are those of one instruction after the
// other, where they are computed among ordinary numbers and where they cannot be.
func TestFaint(t *testing.T) {
	type shape struct{ m, n, k int }
	shapes := []shape{{1, 128, 128}, {1, 65, 40}, {3, 30, 25}, {20, 10, 33}, {9, 24, 32}, {2, 5, 1100}}
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		apart, rounds := 0, 0
		for _, s := range shapes {
			m, n, k := s.m, s.n, s.k
			for _, exp := range []int{-985, -1000, -1020, -1024, -1030, -1040, -1060, -1068, -1072, -1073, -1074} {
				a, b := faintNumbers(r, m*k, exp), faintNumbers(r, k*n, r.IntN(6)-3)
				switch r.IntN(12) {
				case 0:
					b[r.IntN(len(b))] = math.Inf(1)
				case 1:
					b[r.IntN(len(b))] = math.NaN()
				case 2:
					b[r.IntN(len(b))] = 0x1p-1060
				case 3:
					a[r.IntN(len(a))] = 1
				}
				want := make([]float64, m*n)
				for i := range m {
					for j := range n {
						for p := range k {
							want[i*n+j] = math.FMA(a[i*k+p], b[p*n+j], want[i*n+j])
						}
					}
				}
				compare := func(what string, c []float64, turned bool) {
					t.Helper()
					for i := range m {
						for j := range n {
							got := c[i*n+j]
							if turned {
								got = c[j*m+i]
							}
							if !same(got, want[i*n+j]) {
								t.Fatalf("%s %d×%d×%d of 2^%d: C[%d, %d] = %x, want %x", what, m, n, k, exp, i, j, got, want[i*n+j])
							}
						}
					}
				}
				c := make([]float64, m*n)
				Gemm(c, n, a, k, false, b, n, false, m, n, k, false)
				compare("A", c, false)
				at, bt := make([]float64, m*k), make([]float64, k*n)
				TransposeLarge(at, m, a, k, m, k)
				TransposeLarge(bt, k, b, n, k, n)
				Gemm(c, m, bt, k, false, at, m, false, n, m, k, false) // C' = B' A'
				compare("B", c, true)
				if p, ok := productOf(c, n, at, m, true, bt, k, true, m, n, k, false); ok {
					if rounds++; multiplyFaint(Alone, p) {
						apart++
						compare("A', B'", c, false)
					}
				}
				var right Right[float64]
				right.Pack(make([]float64, PackedSize[float64](k, n)), b, n, false, k, n)
				clear(c)
				right.Multiply(c, n, a, k, m)
				compare("Right", c, false)
				if k <= gemmDepth {
					clear(c)
					for i := range (n + multiply.width - 1) / multiply.width {
						right.Part(i, 2, c, a, m)
					}
					compare("Part", c, false)
				}
			}
		}
		if apart < rounds/3 || apart > rounds*3/4 {
			t.Errorf("%d of %d products were computed among ordinary numbers", apart, rounds)
		}
	})
}

// TestFaintOuter: what is next to nothing is left out of sums only where it changes none.
func TestFaintOuter(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for range 400 {
			m, n, k, back := 1+r.IntN(20), 1+r.IntN(40), 1+r.IntN(12), r.IntN(2) == 0
			exps := []int{-960 - r.IntN(60), -1010 - r.IntN(60), r.IntN(40)}
			a, b, c := make([]float64, m*k), make([]float64, n*k), make([]float64, m*n)
			for p := range k {
				ea, eb := r.IntN(3), exps[r.IntN(3)]
				if r.IntN(2) == 0 {
					ea, eb = eb, ea
				}
				copy(a[p*m:], faintNumbers(r, m, ea))
				copy(b[p*n:], faintNumbers(r, n, eb))
			}
			for i := range c {
				switch r.IntN(30) {
				case 0:
					c[i] = math.Copysign(0, r.NormFloat64())
				case 1:
					c[i] = math.Ldexp(r.NormFloat64(), -880-r.IntN(200))
				default:
					c[i] = r.NormFloat64()
				}
			}
			want := append([]float64(nil), c...)
			for p := range k {
				if back {
					p = k - 1 - p
				}
				for i := range m {
					for j := range n {
						want[i*n+j] += float64(a[p*m+i] * b[p*n+j])
					}
				}
			}
			Outer(c, n, a, m, b, n, m, n, k, back)
			for i := range want {
				if !same(c[i], want[i]) {
					t.Fatalf("%d matrices %d×%d, back %t: C[%d, %d] = %x, want %x", k, m, n, back, i/n, i%n, c[i], want[i])
				}
			}
		}
	})
}
