package matrix

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nabla/kernels"
	"nabla/tape/pool"
)

// Tests run on the kernels of this CPU, or on those that NABLA_CPU names.
func init() { kernels.Choose() }

// drawn is a matrix of thousandths from -1 to 1.
func drawn(rng *rand.Rand, m, n int) Dense {
	a := New(m, n)
	for i := range a.Data {
		a.Data[i] = math.Round(2000*rng.Float64()-1000) / 1000
	}
	return a
}

// positive is a positive definite matrix.
func positive(rng *rand.Rand, n int) Dense {
	a := new(Solver).Symmetric(drawn(rng, n, n))
	for i := range n {
		a.Row(i)[i] += float64(n) + 1.5*float64(i)
	}
	return a
}

// eliminated is LU column by column, by rows of the whole matrix.
func eliminated(a Dense) (lu Dense, perm []int) {
	lu, n := a.Clone(), a.N
	for i := range n {
		perm = append(perm, i)
	}
	for k := range n {
		p := k
		for i := k; i < n; i++ {
			if math.Abs(lu.Row(i)[k]) > math.Abs(lu.Row(p)[k]) {
				p = i
			}
		}
		for j := range n {
			lu.Row(k)[j], lu.Row(p)[j] = lu.Row(p)[j], lu.Row(k)[j]
		}
		perm[k], perm[p] = perm[p], perm[k]
		for i := k + 1; i < n; i++ {
			r := lu.Row(i)
			r[k] /= lu.Row(k)[k]
			axpy(r[k+1:], -r[k], lu.Row(k)[k+1:])
		}
	}
	return lu, perm
}

func sameBits(a, b Dense) bool {
	return slices.EqualFunc(a.Data, b.Data, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// furthest is the largest difference of two matrices.
func furthest(a, b Dense) float64 {
	most := 0.0
	for i, v := range a.Data {
		if d := math.Abs(v - b.Data[i]); d > most || d != d {
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
	h := new(Solver)
	for _, n := range blockedSizes {
		a := drawn(rng, n, n)
		lu, perm := h.LU(a)
		want, wantPerm := eliminated(a)
		if !slices.Equal(perm, wantPerm) || !sameBits(lu, want) {
			t.Errorf("LU of %d rows differs from elimination", n)
		}
		inv := New(n, n)
		h.Inverse(inv.Data, a, lu, perm, nil)
		if d := furthest(a.times(inv), Eye(n)); !(d < 1e-10) {
			t.Errorf("%d rows times their inverse is %v off", n, d)
		}
		for _, trans := range []bool{false, true} {
			for _, k := range []int{1, 3, 8, 60} {
				x := drawn(rng, n, k)
				b := a.times(x)
				if trans {
					b = a.T().times(x)
				}
				// b is rounded, n 2⁻⁵³ of it, and the condition is some thousands
				if d := furthest(h.Refined(a, lu, perm, b, trans), x); !(d < 1e-9) {
					t.Errorf("solution with %d rows, %d right sides, transposed %v: %v off", n, k, trans, d)
				}
			}
		}
	}
}

// TestFirstInverse holds determinants and inverses that take the first inverse from elsewhere to those that make it,
// determinants of diagonals with a product of two vectors to whole numbers, and what factors leave to their residuals.
func TestFirstInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 16))
	h := Borrow(1, nil)
	defer h.Return()
	for n := 5; n <= exactRows+1; n++ {
		h.Begin()
		a, u, v, want := New(n, n), make([]float64, n), make([]float64, n), 1.0
		for i := range n {
			u[i], v[i] = float64(rng.IntN(7)-3), float64(rng.IntN(7)-3)
			want += u[i] * v[i]
		}
		for i := range n {
			for j := range n {
				a.Row(i)[j] = u[i] * v[j]
			}
			a.Row(i)[i]++
		}
		lu, perm := h.LU(a)
		first := make([]float64, n*n)
		h.FirstInverse(first, lu, perm)
		f, e := h.DetBy(a, lu, perm, nil, Dense{})
		if got := math.Ldexp(f, e); n <= exactRows && want != 0 && !(math.Abs(got-want) <= 0x1p-50*math.Abs(want)) { // the sum of the errors of the pivots is corrected
			t.Errorf("determinant of %d rows is %v, want %v", n, got, want)
		}
		if !SharesInverse(n) {
			continue
		}
		if f2, e2 := h.DetBy(a, lu, perm, first, Dense{}); f2 != f || e2 != e {
			t.Errorf("determinant of %d rows differs with the first inverse from elsewhere", n)
		}
		if KeepsRest(n) {
			rest, b := New(n, n), drawn(rng, n, n)
			h.LUAndRest(a, rest)
			f, e := h.DetBy(a, lu, perm, first, rest)
			if got := math.Ldexp(f, e); want != 0 && !(math.Abs(got-want) <= 0x1p-50*math.Abs(want)) {
				t.Errorf("determinant of %d rows by what their factors left is %v, want %v", n, got, want)
			}
			lu, perm := h.LUAndRest(b, rest)
			if plain, _ := h.LU(b); !sameBits(lu, plain) {
				t.Errorf("factors of %d rows differ where the rest is kept", n)
			}
			for i, r := 0, h.factorRest(b, lu, perm); i < n; i++ {
				for j, w := range r.Row(i) {
					if v := rest.Row(perm[i])[j]; !(math.Abs(v-w) <= 0x1p-90) { // of sums of numbers of size 1
						t.Fatalf("factors of %d rows leave %v of element (%d, %d), want %v", n, v, perm[i], j, w)
					}
				}
			}
		}
		got, want2 := New(n, n), New(n, n)
		h.Inverse(got.Data, a, lu, perm, first)
		h.Inverse(want2.Data, a, lu, perm, nil)
		for i := range n {
			for j := range n {
				exact := -float64(u[i]*v[j]) / want // of 1 + u vᵀ
				if i == j {
					exact++
				}
				if x := want2.Row(i)[j]; x != got.Row(i)[j] || want != 0 && !(math.Abs(x-exact) <= 0x1p-50*max(math.Abs(exact), 1)) {
					t.Fatalf("element (%d, %d) of the inverse of %d rows is %v, with the first from elsewhere %v, want %v", i, j, n, x, got.Row(i)[j], exact)
				}
			}
		}
	}
	h.Begin()
	singular := drawn(rng, 20, 20)
	clear(singular.Row(3))
	lu, perm := h.LU(singular)
	first := []float64{19: 1, 399: 0}
	h.FirstInverse(first, lu, perm)
	if !sameBits(Of(first, 20, 20), New(20, 20)) {
		t.Error("the first inverse of a singular matrix is not 0")
	}
}

// TestPivot asks for the first of the largest numbers, or the first NaN, at every place of columns of many lengths.
func TestPivot(t *testing.T) {
	for n := 1; n <= 70; n++ {
		for at := range n {
			for _, v := range []float64{0, 2, -2, math.Inf(-1), math.NaN()} {
				x := make([]float64, n)
				for i := range x {
					x[i] = []float64{0, 0.5, -1, 1}[i%4]
				}
				x[at], x[n-1] = v, v
				want := slices.IndexFunc(x, func(y float64) bool {
					return y != y || v == v && math.Abs(y) == max(math.Abs(slices.Max(x)), math.Abs(slices.Min(x)))
				})
				if p, best := pivot(x); p != want || math.Abs(x[want]) != best && best == best {
					t.Errorf("the pivot of %v is %d, %v, want %d", x, p, best, want)
				}
			}
		}
	}
}

// TestResiduals holds residuals by products to those by sums with twice the digits.
func TestResiduals(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	h := new(Solver)
	for _, n := range blockedSizes {
		a, x := drawn(rng, n, n), drawn(rng, n, 5)
		for i := range n { // graded, as what is computed from other units
			for j := range n {
				a.Data[i*n+j] *= math.Ldexp(1, 3*(i%7)-5*(j%11))
			}
			for j := range 5 {
				x.Data[i*5+j] *= math.Ldexp(1, 5*(i%11))
			}
		}
		b := a.times(x) // the residual is the rounding alone
		r := New(n, 5)
		h.residualProducts(r, a, x, b)
		xt := x.T()
		for i := range n {
			for j := range 5 {
				want, size := -dot2(append(slices.Clone(a.Row(i)), -1), append(slices.Clone(xt.Row(j)), b.Data[i*5+j])), math.Abs(b.Data[i*5+j])
				for k := range n {
					size = max(size, math.Abs(a.Data[i*n+k]*x.Data[k*5+j]))
				}
				// keep is 21 bits or more, so that n 2⁻⁵³⁻²¹ is left of the largest term
				if d := math.Abs(r.Data[i*5+j] - want); !(d <= size*float64(n)*0x1p-72) {
					t.Fatalf("residual (%d, %d) of %d rows is %v, sums with twice the digits say %v", i, j, n, r.Data[i*5+j], want)
				}
			}
		}
	}
}

// TestTriangles holds all forms of recursive triangular solves to the plain loops.
func TestTriangles(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	h := new(Solver)
	for _, n := range append([]int{1, 5, 16, 17, 40, 64}, blockedSizes...) {
		l := drawn(rng, n, n)
		for i := range l.Data {
			l.Data[i] /= float64(n) // so that solutions with ones on the diagonal stay small
		}
		for i := range n {
			l.Data[i*n+i] += 2
		}
		for _, k := range []int{1, 7, 15, 16, 30} {
			b := drawn(rng, n, k)
			for form := range 8 {
				l := triangle{part: l.all(), upper: form&1 > 0, trans: form&2 > 0, unit: form&4 > 0}
				got, want := b.Clone(), b.Clone()
				h.solveTriangle(l, got.all(), k)
				triSolveSmall(l, want.all())
				if d := furthest(got, want); !(d < 1e-14) { // chains in another order; entries are of size 1
					t.Errorf("triangle of %d rows, %d right sides, upper %v, transposed %v, ones %v: %v off", n, k, l.upper, l.trans, l.unit, d)
				}
			}
		}
	}
}

// TestBlockedQR holds blocks of reflections to one after the other.
func TestBlockedQR(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	h := new(Solver)
	for _, n := range blockedSizes {
		a := drawn(rng, n+n%3*20, n)
		for i := range a.M {
			a.Row(i)[n/2] = 0 // a column that needs no reflection unless others have filled it
		}
		q, r := h.QR(a)
		if d := furthest(q.times(r), a); !(d < 1e-13*math.Sqrt(float64(n))) {
			t.Errorf("Q R of %d×%d is %v off", a.M, n, d)
		}
		if d := furthest(q.T().times(q), Eye(n)); !(d < 1e-13) {
			t.Errorf("columns of Q of %d×%d: %v from orthogonal", a.M, n, d)
		}
		_, want := h.qrFew(a)
		for i := range n / 2 {
			if d := r.Data[i*n+i] - want.Data[i*n+i]; !(math.Abs(d) < 1e-11) {
				t.Errorf("R[%d, %d] of %d×%d is %v, one by one %v", i, i, a.M, n, r.Data[i*n+i], want.Data[i*n+i])
			}
		}
	}
}

// TestBlockedCholesky holds the factor to its equation, and the pivot that ends it to its place.
func TestBlockedCholesky(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	h := new(Solver)
	for _, n := range blockedSizes {
		a := positive(rng, n)
		l, k, _ := h.Cholesky(a) // numbers are up to 2.5 n
		if d := furthest(l.times(l.T()), a); k >= 0 || !(d < 0x1p-48*2.5*float64(n)) {
			t.Errorf("L Lᵀ of %d rows is %v off, pivot %d", n, d, k)
		}
		if l.Data[1] != 0 || l.Data[n-1] != 0 {
			t.Errorf("the upper triangle of L with %d rows is not empty", n)
		}
		at := n - 10
		a.Data[at*n+at] = -1
		if _, k, p := h.Cholesky(a); k != at || !(p < -1) {
			t.Errorf("element %d of the diagonal of %d rows is -1: the pivot that ends it is %d, %v", at, n, k, p)
		}
	}
}

// TestExpmAlong holds the derivative of expm to the corner of expm([[A, E], [0, A]]).
func TestExpmAlong(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 6))
	h := new(Solver)
	for _, n := range []int{1, 2, 5, 33, 70} {
		for _, size := range []float64{2e-3, 0.05, 0.3, 0.8, 2, 30} { // each degree, and squarings
			a, e := drawn(rng, n, n), drawn(rng, n, n)
			kernels.MulScalar(a.Data, a.Data, size/h.norm1(a))
			b := New(2*n, 2*n)
			for i := range n {
				copy(b.Row(i), a.Row(i))
				copy(b.Row(i)[n:], e.Row(i))
				copy(b.Row(n + i)[n:], a.Row(i))
			}
			whole, got := h.Expm(Pair{X: b}).X, h.Expm(Pair{a, e})
			most := 0.0
			for _, v := range whole.Data {
				most = max(most, math.Abs(v))
			}
			for i := range n {
				for j := range n {
					d := max(math.Abs(got.DX.Data[i*n+j]-whole.Row(i)[n+j]), math.Abs(got.X.Data[i*n+j]-whole.Row(i)[j]))
					if !(d <= 1e-13*most) {
						t.Fatalf("expm of %d rows and its derivative: (%d, %d) is %v off, of %v", n, i, j, d, most)
					}
				}
			}
		}
	}
}

// TestExpmTogether holds derivatives of expm along many directions, of any size, to those along each, bit for bit: beside one
// that is not finite, too.
func TestExpmTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 14))
	h := Borrow(1, nil)
	defer h.Return()
	for _, n := range []int{1, 2, 3, 8, 16, 17, 40} {
		for _, size := range []float64{2e-3, 0.05, 0.3, 0.8, 2, 30} {
			for _, many := range []int{2, 5, 33} {
				a, e := drawn(rng, n, n), drawn(rng, many*n, n)
				kernels.MulScalar(a.Data, a.Data, size/h.norm1(a))
				for k := range many {
					Of(rowOf(e.Data, n*n, k), n, n).Scale(rng.IntN(2000) - 1000)
				}
				if many == 5 {
					e.Data[rng.IntN(len(e.Data))] = math.Inf(1)
				}
				got, want := New(many*n, n), New(n, n)
				h.ExpmAlong(got.Data, a, e.Data)
				for k := range many {
					h.Begin()
					h.ExpmAlong(want.Data, a, rowOf(e.Data, n*n, k))
					if !slices.EqualFunc(rowOf(got.Data, n*n, k), want.Data, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y }) {
						t.Fatalf("the derivative of expm of %d rows, of norm %v, along direction %d of %d differs from that alone", n, size, k, many)
					}
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
	one, two := new(Solver), &Solver{Threads: 2}
	a, pos := drawn(rng, 150, 150), positive(rng, 150)
	same := func(what string, f func(h *Solver) Dense) {
		t.Helper()
		if !sameBits(f(two), f(one)) {
			t.Errorf("%s differs between one thread and two", what)
		}
	}
	same("LU", func(h *Solver) Dense { lu, _ := h.LU(a); return lu })
	same("solve", func(h *Solver) Dense { lu, perm := h.LU(a); return h.Refined(a, lu, perm, pos, true) })
	same("cholesky", func(h *Solver) Dense { l, _, _ := h.Cholesky(pos); return l })
	same("qr", func(h *Solver) Dense { q, _ := h.QR(a); return q })
	same("expm", func(h *Solver) Dense { return h.Expm(Pair{a, pos}).DX })
}

// TestFew holds the factors and solutions of few rows to those of kernels.
func TestFew(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 8))
	h := new(Solver)
	for n := 1; n <= fewRows; n++ {
		for range 50 {
			a := drawn(rng, n, n)
			if n > 1 && rng.IntN(5) == 0 {
				copy(a.Row(rng.IntN(n)), a.Row(0)) // singular, perhaps
			}
			few, exact := luFactors{lu: a.Clone(), perm: h.Order(n)}, luFactors{lu: a.Clone(), perm: h.Order(n)}
			few.few()
			exact.exact(h)
			if !sameBits(few.lu, exact.lu) || !slices.Equal(few.perm, exact.perm) {
				t.Fatalf("factors of %v are %v %v, by kernels %v %v", a, few.lu, few.perm, exact.lu, exact.perm)
			}
			if ZeroPivot(few.lu) >= 0 || !wellPivoted(few.lu) {
				continue
			}
			for _, trans := range []bool{false, true} {
				b := drawn(rng, n, 9) // as many columns are solved together
				want := h.Refined(a, few.lu, few.perm, b, trans)
				for j := range b.N {
					x := h.Refined(a, few.lu, few.perm, Of(b.T().Row(j), n, 1), trans)
					for i, v := range x.Data {
						if w := want.Row(i)[j]; !(math.Abs(v-w) <= 0x1p-51*math.Abs(w)) { // both within an ulp
							t.Errorf("solution %d of %v, transposed %v: %v, together with others %v", j, a, trans, v, w)
						}
					}
				}
				if trans {
					continue
				}
				inv, want := h.refinedInverse(a, few.lu, few.perm, nil), h.Refined(a, few.lu, few.perm, Eye(n), false)
				for i, v := range inv.Data {
					if w := want.Data[i]; !(math.Abs(v-w) <= 0x1p-51*math.Abs(w)) {
						t.Errorf("element %d of the inverse of %v: %v, as a solution %v", i, a, v, w)
					}
				}
			}
		}
	}
}

// TestMemory holds what a solver makes in memory that it has used before to what is made anew.
func TestMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	h := Borrow(1, nil)
	for _, n := range []int{1, 2, 3, 5, 8, 9, 17, 30, 50, 70, 100, 20, 4} { // some do not fit at first
		a, s := drawn(rng, n, n), positive(rng, n)
		tall := drawn(rng, n+3, n)
		for what, f := range map[string]func(h *Solver) []Dense{
			"LU": func(h *Solver) []Dense { lu, _ := h.LU(a); return []Dense{lu} },
			"inverse": func(h *Solver) []Dense {
				x := New(n, n)
				lu, p := h.LU(a)
				h.Inverse(x.Data, a, lu, p, nil)
				return []Dense{x}
			},
			"solve": func(h *Solver) []Dense { lu, p := h.LU(a); return []Dense{h.Refined(a, lu, p, s, true)} },
			"det":   func(h *Solver) []Dense { f, e := h.Det(a); return []Dense{Of([]float64{f, float64(e)}, 1, 2)} },
			"cofactor": func(h *Solver) []Dense {
				x := New(n, n)
				lu, p := h.LU(a)
				f, e := h.DetBy(a, lu, p, nil, Dense{})
				h.Cofactors(x.Data, a, lu, p, f, e, nil)
				return []Dense{x}
			},
			"cholesky": func(h *Solver) []Dense { l, _, _ := h.Cholesky(s); return []Dense{l} },
			"qr":       func(h *Solver) []Dense { q, r := h.QR(tall); return []Dense{q, r} },
			"eigh":     func(h *Solver) []Dense { w, v := h.Eigh(s); return []Dense{Of(w, n, 1), v} },
			"svd":      func(h *Solver) []Dense { u, s, v := h.SVD(tall); return []Dense{u, Of(s, n, 1), v} },
			"expm":     func(h *Solver) []Dense { x := h.Expm(Pair{a, s}); return []Dense{x.X, x.DX} },
		} {
			want := f(new(Solver))
			for range 2 {
				h.Return()
				h = Borrow(1, nil)
				kernels.Fill(h.room, math.NaN())
				if !slices.EqualFunc(f(h), want, sameBits) {
					t.Errorf("%s of %d rows differs in memory that was used before", what, n)
				}
			}
		}
	}
}

func (a Dense) times(b Dense) Dense { return new(Solver).times(a, b) }

// TestRefinedAll holds solutions of many systems of one matrix to those of each, bit for bit: on
// two threads, and beside one that is not finite.
func TestRefinedAll(t *testing.T) {
	defer func(n int) { pool.LeastElements = n }(pool.LeastElements)
	pool.LeastElements = 1
	rng := rand.New(rand.NewPCG(4, 9))
	for _, n := range []int{1, 2, 3, 4, 8, 12, 16, 17, 33, 64, 65, 130} {
		h := &Solver{Threads: 2}
		a := drawn(rng, n, n)
		lu, perm := h.LU(a)
		for _, k := range []int{1, 2, 4, 5, 17} {
			for _, many := range []int{1, 3, 20, 150} {
				if !SolvesTogether(n, k, many) || testing.Short() && n*many > 2600 {
					continue
				}
				trans := rng.IntN(2) == 0
				b, got := drawn(rng, many*n, k), New(many*n, k)
				if many == 20 {
					b.Data[rng.IntN(len(b.Data))] = math.Inf(1)
				}
				h.RefinedAll(got.Data, a, lu, perm, b.Data, k, trans)
				for s := range many {
					from, to := s*n*k, (s+1)*n*k
					want := new(Solver).Refined(a, lu, perm, Of(b.Data[from:to], n, k), trans)
					if !slices.EqualFunc(got.Data[from:to], want.Data, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y }) {
						t.Fatalf("system %d of %d with %d rows, %d right sides, transposed %v, differs from that alone", s, many, n, k, trans)
					}
				}
			}
		}
	}
}

// TestTriSolveAll holds solutions of many systems of one triangle to those of each, bit for bit, on two threads.
func TestTriSolveAll(t *testing.T) {
	defer func(n int) { pool.LeastElements = n }(pool.LeastElements)
	pool.LeastElements = 1
	rng := rand.New(rand.NewPCG(4, 15))
	h := &Solver{Threads: 2}
	for _, n := range []int{1, 2, 3, 8, 12, 16, 17, 33, 64, 65} {
		l := positive(rng, n)
		for _, k := range []int{1, 2, 4, 5, 15, 16, 17, 64, 65} {
			for form := range 4 {
				upper, trans := form&1 > 0, form&2 > 0
				for _, many := range []int{1, 3, 70} {
					if !SolvesTrianglesTogether(n, k) || testing.Short() && n*many > 2600 {
						continue
					}
					b, got := drawn(rng, many*n, k), New(many*n, k)
					h.TriSolveAll(got.Data, l, b.Data, k, upper, trans)
					for s := range many {
						want := Of(rowOf(b.Data, n*k, s), n, k).Clone()
						new(Solver).TriSolve(l, want, upper, trans)
						if !sameBits(Of(rowOf(got.Data, n*k, s), n, k), want) {
							t.Fatalf("system %d of %d with a triangle of %d rows, %d right sides, upper %v, transposed %v, differs from that alone", s, many, n, k, upper, trans)
						}
					}
				}
			}
		}
	}
}

// TestAlongOne holds the derivative of cofactors along one direction to the sum over permutations, bit for bit, of
// singular matrices too.
func TestAlongOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 13))
	h := new(Solver)
	for n := 1; n <= 6; n++ {
		for range 20 {
			a, e := drawn(rng, n, n), drawn(rng, n, n)
			if rng.IntN(2) == 0 {
				copy(a.Row(rng.IntN(n)), a.Row(0))
			}
			w, got, want := h.DiagonalOf(a), New(n, n), New(n, n)
			w.alongOne(got, e)
			w.alongMany(want, []Dense{e})
			if !sameBits(got, want) {
				t.Errorf("the derivative of the cofactors of %v along %v is %v, by permutations %v", a, e, got, want)
			}
		}
	}
}
