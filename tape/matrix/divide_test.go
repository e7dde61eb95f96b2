package matrix

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"nabla/kernels"
)

// symmetricOnes are symmetric matrices of a size that make trouble.
func symmetricOnes(n int, r *rand.Rand) map[string]Dense {
	out := map[string]Dense{}
	made := func(name string, f func(i, j int) float64) {
		a := New(n, n)
		for i := range n {
			for j := range i + 1 {
				v := f(i, j)
				a.Data[i*n+j], a.Data[j*n+i] = v, v
			}
		}
		out[name] = a
	}
	band := func(diag, off func(i int) float64) func(i, j int) float64 {
		return func(i, j int) float64 {
			switch i - j {
			case 0:
				return diag(i)
			case 1:
				return off(j)
			}
			return 0
		}
	}
	one := func(int) float64 { return 1 }
	made("normal", func(i, j int) float64 { return r.NormFloat64() })
	made("zero", func(i, j int) float64 { return 0 })
	made("one", band(one, func(int) float64 { return 0 }))
	made("ones", func(i, j int) float64 { return 1 })
	made("diagonal", band(func(i int) float64 { return float64(i % 7) }, func(int) float64 { return 0 }))
	made("second difference", band(func(int) float64 { return 2 }, func(int) float64 { return -1 }))
	made("wilkinson", band(func(i int) float64 { return math.Abs(float64(i) - float64(n-1)/2) }, one)) // pairs but for the last digits
	made("glued", band(func(i int) float64 { return math.Abs(float64(i%21) - 10) }, func(i int) float64 {
		if i%21 == 20 {
			return 1e-14
		}
		return 1
	}))
	made("clement", band(func(int) float64 { return 0 }, func(i int) float64 { return math.Sqrt(float64((i + 1) * (n - 1 - i))) }))
	made("hilbert", func(i, j int) float64 { return 1 / float64(i+j+1) })
	made("small", func(i, j int) float64 { return 1e-300 * r.NormFloat64() })
	made("large", func(i, j int) float64 { return 1e300 * r.NormFloat64() })
	x := New(n, 3)
	for i := range x.Data {
		x.Data[i] = r.NormFloat64()
	}
	out["rank 3"] = new(Solver).Symmetric(x.times(x.T()))
	y := New(n, 4*n)
	for i := range y.Data {
		y.Data[i] = r.NormFloat64()
	}
	out["covariance"] = new(Solver).Symmetric(y.times(y.T()))
	return out
}

// TestEighLarge compares eigenvalues with those of Jacobi's rotations, and asks that the
// vectors are orthogonal and give the matrix again.
func TestEighLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, leastTridiagonal - 1, leastTridiagonal, 12, 17, leastDivided, leastDivided + 1, 64, 65, 97, 200} {
		if testing.Short() && n > 65 {
			continue
		}
		for name, a := range symmetricOnes(n, r) {
			a.Scale(-a.Exponent())
			h := new(Solver)
			tri := h.tridiagonalOf(a.Clone())
			w, v := h.conquer(tri.d, tri.e)
			tri.back(h, v)
			checkEigen(t, fmt.Sprint(name, " ", n), a, w, v)
			if n > 65 {
				continue
			}
			want, _ := new(Solver).eighJacobi(a)
			for i := range w {
				if d := math.Abs(w[i] - want[i]); !(d <= 0x1p-50*float64(n)) {
					t.Errorf("%s %d: eigenvalue %d is %v, want %v", name, n, i, w[i], want[i])
					break
				}
			}
		}
	}
}

func checkEigen(t *testing.T, name string, a Dense, w []float64, v Dense) {
	t.Helper()
	n := a.N
	if !slices.IsSorted(w) {
		t.Errorf("%s: eigenvalues do not ascend", name)
	}
	near := 0x1p-49 * float64(n)
	one := New(n, n)
	kernels.Gemm(one.Data, n, v.Data, n, false, v.Data, n, true, n, n, n, false)
	for i := range n {
		one.Data[i*n+i]--
	}
	if worst := kernels.Norm2(one.Data); !(worst <= near) {
		t.Errorf("%s: v vᵀ - 1 is %.2g", name, worst)
	}
	av := v.times(a)
	for i := range n {
		axpy(av.Row(i), -w[i], v.Row(i))
	}
	if worst := kernels.Norm2(av.Data); !(worst <= near*max(1, kernels.Norm2(a.Data))) {
		t.Errorf("%s: v a - w v is %.2g", name, worst)
	}
}

// TestSVDLarge compares singular values with those of Jacobi's rotations, and asks that
// the vectors are orthogonal and give the matrix again.
func TestSVDLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{2, 9, leastSingular - 1, leastSingular, 64, 65, 100} {
		if testing.Short() && n > 64 {
			continue
		}
		all := symmetricOnes(n, r)
		made := func(name string, m int, f func(i, j int) float64) {
			a := New(m, n)
			for i := range a.Data {
				a.Data[i] = f(i/n, i%n)
			}
			all[name] = a
		}
		made("square", n, func(i, j int) float64 { return r.NormFloat64() })
		made("tall", 2*n, func(i, j int) float64 { return r.NormFloat64() })
		made("very tall", 4*n, func(i, j int) float64 { return r.NormFloat64() })
		made("very tall, of columns that shrink", 4*n, func(i, j int) float64 { return math.Ldexp(r.NormFloat64(), -j) })
		made("columns that shrink", n+5, func(i, j int) float64 { return math.Ldexp(r.NormFloat64(), -j) })
		made("kernel", n, func(i, j int) float64 { return math.Exp(-float64((i-j)*(i-j)) / 900) })
		made("one row", n, func(i, j int) float64 {
			if i > 0 {
				return 0
			}
			return float64(j + 1)
		})
		made("twice the same column", n+1, func(i, j int) float64 { return math.Sin(float64(i * (j/2 + 1))) })
		for name, a := range all {
			name = fmt.Sprint(name, " ", n)
			a.Scale(-a.Exponent())
			u, s, v := new(Solver).SVD(a)
			checkSVD(t, name, a, u, s, v)
			w := a.T()
			new(Solver).jacobiRows(w, Eye(n))
			var want []float64
			for i := range n {
				want = append(want, kernels.Norm2(w.Row(i)))
			}
			slices.Sort(want)
			slices.Reverse(want)
			for i := range s {
				size := max(1, want[0])
				if n <= mostGraded && new(Solver).graded(a) { // small ones keep their digits
					size = want[i]
				}
				if d := math.Abs(s[i] - want[i]); !(d <= 0x1p-50*float64(n)*size) {
					t.Errorf("%s: value %d is %v, want %v", name, i, s[i], want[i])
					break
				}
			}
		}
	}
}

// TestCorrect holds small eigenvalues and singular values to the truth, which of second
// differences has a formula: without correction they are a hundred ulp off.
func TestCorrect(t *testing.T) {
	for _, n := range []int{leastCorrected, leastSingular, 40, exactRows} {
		a := New(n, n)
		for i := range n {
			a.Data[i*n+i] = 2
			if i > 0 {
				a.Data[i*n+i-1], a.Data[i*n-n+i] = -1, -1
			}
		}
		h := new(Solver)
		w, _ := h.Eigh(a)
		_, s, _ := h.SVD(a)
		for i := range n {
			x := math.Sin(float64(i+1) * math.Pi / float64(2*(n+1)))
			want := 4 * x * x
			for what, got := range map[string]float64{"eigenvalue": w[i], "singular value": s[n-1-i]} {
				// some ulp of the formula
				if d := math.Abs(got - want); !(d <= 0x1p-50*want) {
					t.Errorf("%s %d of %d second differences is %v, want %v", what, i, n, got, want)
				}
			}
		}
	}
}

// TestGradedValues holds singular values of orthogonal columns to their lengths, which many
// reflections and vectors that are not quite of length 1 have rounded.
func TestGradedValues(t *testing.T) {
	for _, m := range []int{32, 64, 128} {
		n := m - m/4
		a := New(m, n)
		for i := range a.Data {
			row, column := i/n, i%n // of Hadamard's matrix
			a.Data[i] = math.Ldexp(1+float64(column%7)/8, -column/2)
			if bits.OnesCount(uint(row&column))%2 == 1 {
				a.Data[i] = -a.Data[i]
			}
		}
		var want []float64
		for j := range n {
			want = append(want, a.Data[j]*math.Sqrt(float64(m)))
		}
		slices.Sort(want)
		slices.Reverse(want)
		_, s, _ := new(Solver).SVD(a)
		for i, v := range s {
			if d := math.Abs(v - want[i]); !(d <= 0x1p-52*want[i]) { // of which the wanted one's rounding is half
				t.Errorf("singular value %d of %d×%d is %v, want %v", i, m, n, v, want[i])
			}
		}
	}
}

func checkSVD(t *testing.T, name string, a, u Dense, s []float64, v Dense) {
	t.Helper()
	near := 0x1p-49 * float64(a.N)
	for what, x := range map[string]Dense{"u": u, "v": v} {
		one := x.times(x.T())
		for i := range one.M {
			one.Data[i*one.M+i]--
		}
		if worst := kernels.Norm2(one.Data); !(worst <= near) {
			t.Errorf("%s: %s is off being orthogonal by %.2g", name, what, worst)
		}
	}
	back := New(a.M, a.N)
	new(Solver).SpreadInto(back.Data, u, s, v)
	axpy(back.Data, -1, a.Data)
	if worst := kernels.Norm2(back.Data); !(worst <= near*max(1, kernels.Norm2(a.Data))) {
		t.Errorf("%s: u s v - a is %.2g", name, worst)
	}
}

func BenchmarkSpectral(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{64, 100, 300, 1000} {
		a := New(n, n)
		for i := range a.Data {
			a.Data[i] = r.NormFloat64()
		}
		sym := new(Solver).Symmetric(a)
		b.Run(fmt.Sprint("eigh/", n), func(b *testing.B) {
			for b.Loop() {
				new(Solver).Eigh(sym)
			}
		})
		b.Run(fmt.Sprint("svd/", n), func(b *testing.B) {
			for b.Loop() {
				new(Solver).SVD(a)
			}
		})
		decays := New(n, n)
		for i := range decays.Data {
			k := i/n - i%n
			decays.Data[i] = math.Exp(-float64(k*k)/900) + float64(1e-12*a.Data[i])
		}
		b.Run(fmt.Sprint("svd of a kernel/", n), func(b *testing.B) {
			for b.Loop() {
				new(Solver).SVD(decays)
			}
		})
	}
}
