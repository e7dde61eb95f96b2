package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nabla/kernels"
)

// symmetricOnes are symmetric matrices of a size that make trouble.
func symmetricOnes(n int, r *rand.Rand) map[string]mat {
	out := map[string]mat{}
	made := func(name string, f func(i, j int) float64) {
		a := newMat(n, n)
		for i := range n {
			for j := range i + 1 {
				v := f(i, j)
				a.d[i*n+j], a.d[j*n+i] = v, v
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
	x := newMat(n, 3)
	for i := range x.d {
		x.d[i] = r.NormFloat64()
	}
	out["rank 3"] = x.times(x.t()).symmetric()
	y := newMat(n, 4*n)
	for i := range y.d {
		y.d[i] = r.NormFloat64()
	}
	out["covariance"] = y.times(y.t()).symmetric()
	return out
}

// TestEighLarge compares eigenvalues with those of Jacobi's rotations, and asks that the
// vectors are orthogonal and give the matrix again.
func TestEighLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{64, 65, 97, 200} {
		if testing.Short() && n > 65 {
			continue
		}
		for name, a := range symmetricOnes(n, r) {
			a.scale(-a.exponent())
			h := new(hands)
			tri := h.tridiagonalOf(a.clone())
			w, v := h.conquer(tri.d, tri.e)
			tri.back(h, v)
			checkEigen(t, fmt.Sprint(name, " ", n), a, w, v)
			if n > 65 {
				continue
			}
			want, _ := eighJacobi(a, func() {})
			for i := range w {
				if d := math.Abs(w[i] - want[i]); !(d <= 0x1p-50*float64(n)) {
					t.Errorf("%s %d: eigenvalue %d is %v, want %v", name, n, i, w[i], want[i])
					break
				}
			}
		}
	}
}

func checkEigen(t *testing.T, name string, a mat, w []float64, v mat) {
	t.Helper()
	n := a.n
	if !slices.IsSorted(w) {
		t.Errorf("%s: eigenvalues do not ascend", name)
	}
	near := 0x1p-49 * float64(n)
	one := newMat(n, n)
	kernels.Gemm(one.d, n, v.d, n, false, v.d, n, true, n, n, n, false)
	for i := range n {
		one.d[i*n+i]--
	}
	if worst := norm2(one.d); !(worst <= near) {
		t.Errorf("%s: v vᵀ - 1 is %.2g", name, worst)
	}
	av := v.times(a)
	for i := range n {
		axpy(av.row(i), -w[i], v.row(i))
	}
	if worst := norm2(av.d); !(worst <= near*max(1, norm2(a.d))) {
		t.Errorf("%s: v a - w v is %.2g", name, worst)
	}
}

// TestSVDLarge compares singular values with those of Jacobi's rotations, and asks that
// the vectors are orthogonal and give the matrix again.
func TestSVDLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{64, 100} {
		if testing.Short() && n > 64 {
			continue
		}
		all := symmetricOnes(n, r)
		made := func(name string, m int, f func(i, j int) float64) {
			a := newMat(m, n)
			for i := range a.d {
				a.d[i] = f(i/n, i%n)
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
			a.scale(-a.exponent())
			u, s, v := new(hands).svdOf(a)
			checkSVD(t, name, a, u, s, v)
			w := a.t()
			jacobiRows(w, eyeMat(n), func() {})
			var want []float64
			for i := range n {
				want = append(want, norm2(w.row(i)))
			}
			slices.Sort(want)
			slices.Reverse(want)
			for i := range s {
				if d := math.Abs(s[i] - want[i]); !(d <= 0x1p-50*float64(n)*max(1, want[0])) {
					t.Errorf("%s: value %d is %v, want %v", name, i, s[i], want[i])
					break
				}
			}
		}
	}
}

func checkSVD(t *testing.T, name string, a, u mat, s []float64, v mat) {
	t.Helper()
	near := 0x1p-49 * float64(a.n)
	for what, x := range map[string]mat{"u": u, "v": v} {
		one := x.times(x.t())
		for i := range one.m {
			one.d[i*one.m+i]--
		}
		if worst := norm2(one.d); !(worst <= near) {
			t.Errorf("%s: %s is off being orthogonal by %.2g", name, what, worst)
		}
	}
	back := newMat(a.m, a.n)
	spreadInto(back.d, u, s, v)
	axpy(back.d, -1, a.d)
	if worst := norm2(back.d); !(worst <= near*max(1, norm2(a.d))) {
		t.Errorf("%s: u s v - a is %.2g", name, worst)
	}
}

func BenchmarkSpectral(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{64, 100, 300, 1000} {
		a := newMat(n, n)
		for i := range a.d {
			a.d[i] = r.NormFloat64()
		}
		sym := a.symmetric()
		b.Run(fmt.Sprint("eigh/", n), func(b *testing.B) {
			for b.Loop() {
				new(hands).eighOf(sym)
			}
		})
		b.Run(fmt.Sprint("svd/", n), func(b *testing.B) {
			for b.Loop() {
				new(hands).svdOf(a)
			}
		})
		decays := newMat(n, n)
		for i := range decays.d {
			k := i/n - i%n
			decays.d[i] = math.Exp(-float64(k*k)/900) + float64(1e-12*a.d[i])
		}
		b.Run(fmt.Sprint("svd of a kernel/", n), func(b *testing.B) {
			for b.Loop() {
				new(hands).svdOf(decays)
			}
		})
	}
}
