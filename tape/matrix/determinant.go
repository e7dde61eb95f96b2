package matrix

import (
	"math"
	"slices"

	"nabla/kernels"
)

// Expanded is the number of rows up to which a determinant needs no factors.
const Expanded = 3

// Det is the determinant as f 2^e with |f| in [1/2, 1), so that no product overflows.
// Up to Expanded rows it is the expansion, with its products kept exact: whole numbers
// give whole numbers, and singular matrices of them 0.
func (h *Solver) Det(a Dense) (f float64, e int) {
	n, x := a.N, a.Data
	if n <= Expanded && tame(x) {
		switch n {
		case 0:
			f = 1
		case 1:
			f = x[0]
		case 2:
			f = cross2(x[0], x[1], x[2], x[3])
		case 3:
			f = dot2(x[:3], []float64{
				cross2(x[4], x[5], x[7], x[8]), cross2(x[5], x[3], x[8], x[6]), cross2(x[3], x[4], x[6], x[7])})
		}
		return math.Frexp(f)
	}
	lu, perm := h.LU(a)
	return h.DetBy(a, lu, perm, nil, Dense{})
}

// DetBy is Det by LU factors. Of first and rest, which may have no numbers, it takes the first inverse, and what LUAndRest
// has left.
func (h *Solver) DetBy(a, lu Dense, perm []int, first []float64, rest Dense) (f float64, e int) {
	if a.N > exactRows || ZeroPivot(lu) >= 0 {
		return h.pivots(lu, perm, 1)
	}
	r, trace := rest, 0.0
	if r.Data == nil {
		r = h.factorRest(a, lu, perm)
	}
	if SharesInverse(a.N) {
		inv := h.transposed(h.firstInverse(lu, perm, first))
		for i, p := range perm {
			if rest.Data != nil { // whose rows are those of a
				i = p
			}
			trace += kernels.Dot(inv.Row(p), r.Row(i))
		}
	} else {
		h.solveTriangle(triangle{part: lu.all(), unit: true}, r.all(), r.N)
		h.solveTriangle(triangle{part: lu.all(), upper: true}, r.all(), r.N)
		for i := range r.N {
			trace += r.Row(i)[i]
		}
	}
	return h.pivots(lu, perm, defect(trace))
}

// pivots is the product of the pivots, of the sign of the permutation, and of f.
func (h *Solver) pivots(lu Dense, perm []int, by float64) (f float64, e int) {
	n := lu.N
	f = float64(h.parity(perm) * by)
	for i := range n {
		k := 0
		f, k = math.Frexp(float64(f * lu.Data[i*n+i]))
		e += k
	}
	if f == 0 {
		return 0, 0
	}
	return f, e
}

// parity is the determinant of a permutation: each exchange on the way to it changes the sign.
func (h *Solver) parity(perm []int) float64 {
	sign, left := 1.0, h.Order(len(perm))
	copy(left, perm)
	for i := range left {
		for j := left[i]; j != i; j = left[i] {
			left[i], left[j] = left[j], j
			sign = -sign
		}
	}
	return sign
}

// defect is det(a) / det(L U) to first order, given the trace of (L U)⁻¹ (P a - L U).
func defect(trace float64) float64 {
	if trace-trace != 0 {
		return 1
	}
	return 1 + trace
}

// factorRest is P a - L U, which rounding has left.
func (h *Solver) factorRest(a, lu Dense, perm []int) Dense {
	n := a.N
	r := h.raw(n, n)
	defer h.free(h.used)
	u, l := h.clone(lu), h.raw(1, n).Data
	for i := range n {
		clear(u.Row(i)[:i])
		copy(l, lu.Row(i)[:i])
		l[i] = 1
		copy(r.Row(i), a.Row(perm[i]))
		kernels.Residuals(r.Row(i), l[:i+1], u.Data, n)
	}
	return r
}

// Cofactors writes det(a) a⁻ᵀ, which exists for singular matrices too: the derivative
// of the determinant, f 2^e. Up to Expanded rows it needs neither factors nor that. Of first, which may be nil, it takes
// the first inverse.
func (h *Solver) Cofactors(dst []float64, a, lu Dense, perm []int, f float64, e int, first []float64) {
	n, x := a.N, a.Data
	switch n {
	case 1:
		dst[0] = 1
		return
	case 2:
		dst[0], dst[1], dst[2], dst[3] = x[3], -x[2], -x[1], x[0]
		return
	case 3:
		for i := range 3 {
			for j := range 3 {
				p, q := (i+1)%3*3, (i+2)%3*3
				r, s := (j+1)%3, (j+2)%3
				dst[i*3+j] = cross2(x[p+r], x[p+s], x[q+r], x[q+s])
			}
		}
		return
	}
	if wellPivoted(lu) {
		spreadCofactors(dst, h.refinedInverse(a, lu, perm, first).Data, n, f, e)
		return
	}
	if inv, ok := h.sureInverse(a, lu, perm, first); ok {
		spreadCofactors(dst, inv.Data, n, f, e)
		return
	}
	// a = U S Vᵀ: the cofactors of S are products of all but one singular value
	u, s, v, sign := h.signedSVD(a)
	c := make([]float64, n)
	for i := range c {
		c[i] = float64(sign * productWithout(s, i))
	}
	h.SpreadInto(dst, u, c, v)
}

// sureInverse is the inverse of a matrix whose pivots differ much, if what another correction would change is small: by
// singular values the cofactors of Hilbert's matrix of 9 rows were off by 6e-9, by its inverse they are by 1e-14.
func (h *Solver) sureInverse(a, lu Dense, perm []int, first []float64) (inv Dense, ok bool) {
	if ZeroPivot(lu) >= 0 {
		return Dense{}, false
	}
	inv = h.refinedInverse(a, lu, perm, first)
	rest := h.times(inv, h.Residuals(a, inv, h.eye(a.N), false))
	size, off := 0.0, 0.0
	for i, x := range inv.Data {
		size, off = max(size, math.Abs(x)), max(off, math.Abs(rest.Data[i]))
	}
	return inv, off <= 0x1p-40*size && size < math.Inf(1)
}

// spreadCofactors writes f 2^e times the transpose of an inverse.
func spreadCofactors(dst, inv []float64, n int, f float64, e int) {
	kernels.TransposeLarge(dst, n, inv, n, n, n)
	kernels.MulScalar(dst, dst, f)
	Of(dst, n, n).Scale(e)
}

// A Diagonal is a matrix in the basis of its singular vectors, for derivatives of its cofactors along any directions.
type Diagonal struct {
	u, v, ut, vt Dense
	s            []float64
	sign         float64 // the determinant of both bases together
	pairs        Dense   // of the cofactors, products of all singular values but two, with that sign
}

// DiagonalOf is that of a square matrix, in memory of its own.
func (h *Solver) DiagonalOf(a Dense) *Diagonal {
	u, s, v, sign := h.signedSVD(a)
	w := &Diagonal{u.Clone(), v.Clone(), u.T(), v.T(), slices.Clone(s), sign, New(u.N, u.N)}
	for i := range s {
		for j := range s {
			w.pairs.Row(i)[j] = w.without(i, j)
		}
	}
	return w
}

// without is the product of all singular values but those at some places, with the sign of the bases.
func (w *Diagonal) without(left ...int) float64 {
	return float64(w.sign * productWithout(w.s, left...))
}

// CofactorsAlong writes the derivative of the cofactors of a matrix along directions g, the
// second, third, … derivative of the determinant: no inverse, so that it may be singular.
// In the basis of the singular vectors it is a diagonal, and the determinant of what has one
// row of each direction, one row left out and the others of the matrix is a sum over the
// permutations of those rows.
func (h *Solver) CofactorsAlong(dst []float64, w *Diagonal, g []Dense) {
	n := w.u.N
	e := make([]Dense, len(g)) // Uᵀ g V
	for d := range g {
		e[d] = h.times(h.times(w.u, g[d]), w.vt)
	}
	z := h.New(n, n)
	if len(g) == 1 {
		w.alongOne(z, e[0])
	} else {
		w.alongMany(z, e)
	}
	copy(dst, h.times(h.times(w.ut, z), w.v).Data)
}

// alongOne is alongMany of one direction.
func (w *Diagonal) alongOne(z, e Dense) {
	n := z.N
	for i := range n {
		row, pairs := z.Row(i), w.pairs.Row(i)
		for j, p := range pairs {
			if j != i {
				row[i] = math.FMA(p, e.Data[j*n+j], row[i])
				row[j] = math.FMA(p, -e.Data[j*n+i], row[j])
			}
		}
	}
}

// alongMany adds to z the derivatives of the cofactors of the diagonal along directions.
func (w *Diagonal) alongMany(z Dense, along []Dense) {
	n := z.N
	all := permutations(len(along) + 1)
	rows := make([]int, 0, len(along)+1) // the row left out, and that of each direction
	var choose func()
	choose = func() {
		if len(rows) < cap(rows) {
			for i := range n {
				if !slices.Contains(rows, i) {
					rows = append(rows, i)
					choose()
					rows = rows[:len(rows)-1]
				}
			}
			return
		}
		p := w.without(rows...)
		for k, to := range all {
			term := 1.0
			for d, m := range along {
				term *= m.Data[rows[d+1]*n+rows[to[d+1]]]
			}
			if k%2 == 1 {
				term = -term
			}
			at := rows[0]*n + rows[to[0]]
			z.Data[at] = math.FMA(p, term, z.Data[at])
		}
	}
	choose()
}

// permutations lists those of 0 … n-1, each one exchange from the one before, so that even
// and odd ones alternate (B. R. Heap, Computer Journal 6, 1963).
func permutations(n int) (all [][]int) {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	var first func(k int) // all of the first k places
	first = func(k int) {
		if k <= 1 {
			all = append(all, slices.Clone(p))
			return
		}
		for i := range k {
			first(k - 1)
			if i < k-1 {
				j := i * (1 - k%2)
				p[j], p[k-1] = p[k-1], p[j]
			}
		}
	}
	first(n)
	return all
}

// wellPivoted reports whether the pivots are alike enough to divide by them.
func wellPivoted(lu Dense) bool {
	small, big := math.Inf(1), 0.0
	for k := range lu.N {
		v := math.Abs(lu.Data[k*lu.N+k])
		small, big = min(small, v), max(big, v)
	}
	return small > 1e-6*big
}
