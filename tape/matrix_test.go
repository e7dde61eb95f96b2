package tape

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nabla/tape/pool"
	"nabla/tape/tensor"
)

func drawn(rng *rand.Rand, m, n int, kind string) mat {
	return mat{drawnMatrix(rng, tensor.Shape{m, n}, kind).Data, m, n}
}

// eliminated is LU column by column, by rows of the whole matrix.
func eliminated(a mat) (lu mat, perm []int) {
	lu, n := a.clone(), a.n
	for i := range n {
		perm = append(perm, i)
	}
	for k := range n {
		p := k
		for i := k; i < n; i++ {
			if math.Abs(lu.row(i)[k]) > math.Abs(lu.row(p)[k]) {
				p = i
			}
		}
		for j := range n {
			lu.row(k)[j], lu.row(p)[j] = lu.row(p)[j], lu.row(k)[j]
		}
		perm[k], perm[p] = perm[p], perm[k]
		for i := k + 1; i < n; i++ {
			r := lu.row(i)
			r[k] /= lu.row(k)[k]
			axpy(r[k+1:], -r[k], lu.row(k)[k+1:])
		}
	}
	return lu, perm
}

// furthest is the largest difference of two matrices.
func furthest(a, b mat) float64 {
	most := 0.0
	for i, v := range a.d {
		if d := math.Abs(v - b.d[i]); d > most || d != d {
			most = d
		}
	}
	return most
}

var blockedSizes = []int{65, 80, 97, 128, 130, 201}

// TestBlockedLU holds recursive LU to elimination, bit for bit, and what is solved by it to
// its equations.
func TestBlockedLU(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	h := new(hands)
	for _, n := range blockedSizes {
		a := drawn(rng, n, n, "any")
		lu, perm, _ := h.luOf(a)
		want, wantPerm := eliminated(a)
		if !slices.Equal(perm, wantPerm) || sameBits(lu.d, want.d) >= 0 {
			t.Errorf("LU of %d rows differs from elimination", n)
		}
		inv := newMat(n, n)
		h.inverse(inv.d, a, lu, perm)
		if d := furthest(a.times(inv), eyeMat(n)); !(d < 1e-10) {
			t.Errorf("%d rows times their inverse is %v off", n, d)
		}
		for _, trans := range []bool{false, true} {
			for _, k := range []int{1, 3, 4, 40} {
				x := drawn(rng, n, k, "any")
				b := a.times(x)
				if trans {
					b = a.t().times(x)
				}
				// b is rounded, n 2⁻⁵³ of it, and the condition is some thousands
				if d := furthest(h.refined(a, lu, perm, b, trans), x); !(d < 1e-9) {
					t.Errorf("solution with %d rows, %d right sides, transposed %v: %v off", n, k, trans, d)
				}
			}
		}
	}
}

// TestResiduals holds residuals by products to those by sums with twice the digits.
func TestResiduals(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	h := new(hands)
	for _, n := range blockedSizes {
		a, x := drawn(rng, n, n, "any"), drawn(rng, n, 5, "any")
		for i := range n { // graded, as what is computed from other units
			for j := range n {
				a.d[i*n+j] *= math.Ldexp(1, 3*(i%7)-5*(j%11))
			}
			for j := range 5 {
				x.d[i*5+j] *= math.Ldexp(1, 5*(i%11))
			}
		}
		b := a.times(x) // the residual is the rounding alone
		r := newMat(n, 5)
		h.residualProducts(r, a, x, b)
		xt := x.t()
		for i := range n {
			for j := range 5 {
				want, size := residual(b.d[i*5+j], a.row(i), xt.row(j)), math.Abs(b.d[i*5+j])
				for k := range n {
					size = max(size, math.Abs(a.d[i*n+k]*x.d[k*5+j]))
				}
				// keep is 21 bits or more, so that n 2⁻⁵³⁻²¹ is left of the largest term
				if d := math.Abs(r.d[i*5+j] - want); !(d <= size*float64(n)*0x1p-72) {
					t.Fatalf("residual (%d, %d) of %d rows is %v, sums with twice the digits say %v", i, j, n, r.d[i*5+j], want)
				}
			}
		}
	}
}

// TestTriangles holds all forms of recursive triangular solves to the plain loops.
func TestTriangles(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	h := new(hands)
	for _, n := range append([]int{1, 5, 16, 17, 40, 64}, blockedSizes...) {
		l := drawn(rng, n, n, "any")
		for i := range l.d {
			l.d[i] /= float64(n) // so that solutions with ones on the diagonal stay small
		}
		for i := range n {
			l.d[i*n+i] += 2
		}
		for _, k := range []int{1, 7, 15, 16, 30} {
			b := drawn(rng, n, k, "any")
			for form := range 8 {
				upper, trans, unit := form&1 > 0, form&2 > 0, form&4 > 0
				got, want := b.clone(), b.clone()
				h.triSolve(l.all(), got.all(), upper, trans, unit)
				triSolveFew(l.all(), want.all(), upper, trans, unit)
				if d := furthest(got, want); !(d < 1e-14) { // chains in another order; entries are of size 1
					t.Errorf("triangle of %d rows, %d right sides, upper %v, transposed %v, ones %v: %v off", n, k, upper, trans, unit, d)
				}
			}
		}
	}
}

// TestBlockedQR holds blocks of reflections to one after the other.
func TestBlockedQR(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	h := new(hands)
	for _, n := range blockedSizes {
		a := drawn(rng, n+n%3*20, n, "any")
		for i := range a.m {
			a.row(i)[n/2] = 0 // a column that needs no reflection unless others have filled it
		}
		q, r := h.qrOf(a)
		if d := furthest(q.times(r), a); !(d < 1e-13*math.Sqrt(float64(n))) {
			t.Errorf("Q R of %d×%d is %v off", a.m, n, d)
		}
		if d := furthest(q.t().times(q), eyeMat(n)); !(d < 1e-13) {
			t.Errorf("columns of Q of %d×%d: %v from orthogonal", a.m, n, d)
		}
		_, want := qrFew(a)
		for i := range n / 2 {
			if d := r.d[i*n+i] - want.d[i*n+i]; !(math.Abs(d) < 1e-11) {
				t.Errorf("R[%d, %d] of %d×%d is %v, one by one %v", i, i, a.m, n, r.d[i*n+i], want.d[i*n+i])
			}
		}
	}
}

// TestBlockedCholesky holds the factor to its equation, and the pivot that ends it to its place.
func TestBlockedCholesky(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	h := new(hands)
	for _, n := range blockedSizes {
		a := drawn(rng, n, n, "positive")
		l, k, _ := h.choleskyOf(a) // numbers are up to 2.5 n
		if d := furthest(l.times(l.t()), a); k >= 0 || !(d < 0x1p-48*2.5*float64(n)) {
			t.Errorf("L Lᵀ of %d rows is %v off, pivot %d", n, d, k)
		}
		if l.d[1] != 0 || l.d[n-1] != 0 {
			t.Errorf("the upper triangle of L with %d rows is not empty", n)
		}
		at := n - 10
		a.d[at*n+at] = -1
		if _, k, p := h.choleskyOf(a); k != at || !(p < -1) {
			t.Errorf("element %d of the diagonal of %d rows is -1: the pivot that ends it is %d, %v", at, n, k, p)
		}
	}
}

// TestExpmAlong holds the derivative of expm to the corner of expm([[A, E], [0, A]]).
func TestExpmAlong(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 6))
	h := new(hands)
	for _, n := range []int{1, 2, 5, 33, 70} {
		a, e := drawn(rng, n, n, "any"), drawn(rng, n, n, "any")
		b := newMat(2*n, 2*n)
		for i := range n {
			copy(b.row(i), a.row(i))
			copy(b.row(i)[n:], e.row(i))
			copy(b.row(n + i)[n:], a.row(i))
		}
		whole, got := h.expmOf(pair{x: b}).x, h.expmOf(pair{a, e})
		size := 0.0
		for _, v := range whole.d {
			size = max(size, math.Abs(v))
		}
		for i := range n {
			for j := range n {
				d := max(math.Abs(got.dx.d[i*n+j]-whole.row(i)[n+j]), math.Abs(got.x.d[i*n+j]-whole.row(i)[j]))
				if !(d <= 1e-13*size) {
					t.Fatalf("expm of %d rows and its derivative: (%d, %d) is %v off, of %v", n, i, j, d, size)
				}
			}
		}
	}
}

// TestFactorThreads holds factorisations by several threads to those by one, bit for bit.
func TestFactorThreads(t *testing.T) {
	defer func(n int) { pool.LeastFlops = n }(pool.LeastFlops)
	pool.LeastFlops = 1
	rng := rand.New(rand.NewPCG(4, 7))
	one, two := new(hands), &hands{threads: 2}
	a, pos := drawn(rng, 150, 150, "any"), drawn(rng, 150, 150, "positive")
	same := func(what string, f func(h *hands) mat) {
		t.Helper()
		if k := sameBits(f(two).d, f(one).d); k >= 0 {
			t.Errorf("%s: element %d differs between one thread and two", what, k)
		}
	}
	same("LU", func(h *hands) mat { lu, _, _ := h.luOf(a); return lu })
	same("solve", func(h *hands) mat { lu, perm, _ := h.luOf(a); return h.refined(a, lu, perm, pos, true) })
	same("cholesky", func(h *hands) mat { l, _, _ := h.choleskyOf(pos); return l })
	same("qr", func(h *hands) mat { q, _ := h.qrOf(a); return q })
	same("expm", func(h *hands) mat { return h.expmOf(pair{a, pos}).dx })
}

func (a mat) times(b mat) mat { return new(hands).times(a, b) }
