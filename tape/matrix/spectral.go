package matrix

import (
	"math"
	"slices"

	"nabla/kernels"
)

// signedSVD is the decomposition of a square matrix, singular vectors as rows, with
// the determinant of both bases together.
func (h *Solver) signedSVD(a Dense) (u Dense, s []float64, v Dense, sign float64) {
	u, s, v = h.SVD(a)
	f, _ := h.Det(u)
	g, _ := h.Det(v)
	return u, s, v, math.Copysign(1, f) * math.Copysign(1, g)
}

// productWithout is the product of all numbers but those at some places.
func productWithout(s []float64, left ...int) float64 {
	p := 1.0
	for j, v := range s {
		if !slices.Contains(left, j) {
			p = float64(p * v)
		}
	}
	return p
}

// SpreadInto writes Σ d_i u_i v_iᵀ for vectors in rows.
func (h *Solver) SpreadInto(dst []float64, u Dense, d []float64, v Dense) {
	w := h.clone(u)
	for i := range w.M {
		for j := range w.Row(i) {
			w.Row(i)[j] *= d[i]
		}
	}
	h.Product(Dense{dst, u.N, v.N}, w, true, v, false)
}

// leastTridiagonal is the size from which on a symmetric matrix is brought to tridiagonal
// form, and mostGraded up to which one whose columns are of very different sizes is not. From leastCorrected
// rows on, what rotations say of eigenvalues is corrected: one matrix of 8 rows took 1.15 times as long as by
// its tridiagonal form, and .28 where many go side by side.
const (
	leastCorrected   = 8
	leastTridiagonal = 9
	mostGraded       = 256
)

// turnsAndCorrects reports whether matrices of n rows are diagonalised by rotations, and what these say corrected.
func turnsAndCorrects(n int) bool { return n >= leastCorrected && n < leastTridiagonal }

// leastTall is the size of a matrix from which on one of many rows has its singular values
// taken from its triangle R.
const leastTall = 1 << 12

// Eigh diagonalises a symmetric matrix: eigenvalues ascending, eigenvectors as rows, the
// largest entry of each positive.
func (h *Solver) Eigh(a Dense) (w []float64, v Dense) {
	if n := a.N; n < leastTridiagonal || !finite(a.Data) || n <= mostGraded && h.graded(a) {
		return h.eighJacobi(a)
	}
	a = h.clone(a)
	e := a.Exponent()
	a.Scale(-e)
	w, v = h.eighTridiagonal(h.clone(a))
	if a.N <= exactRows {
		h.correct(a, v, w, v)
		order := h.ascending(w)
		w, v = h.ordered(Of(w, a.N, 1), order).Data, h.ordered(v, order)
	}
	for i := range w {
		w[i] = math.Ldexp(w[i], e)
		if leading(v.Row(i)) < 0 {
			negate(v.Row(i))
		}
	}
	return w, v
}

// eighTridiagonal is Eigh by the tridiagonal form, of a matrix that it overwrites and whose
// entries are not far from 1; eigenvectors have any sign.
func (h *Solver) eighTridiagonal(a Dense) (w []float64, v Dense) {
	t := h.tridiagonalOf(a)
	w, v = h.conquer(t.d, t.e)
	t.back(h, v)
	return w, v
}

// correct adds to values s, of Σ s v uᵀ for the rows of u and v, what the residuals a v - s u,
// taken with twice the digits, have of u: what is wrong with the vectors counts by its square,
// so that values are within some ulp, however small. a is the transpose of the sum. What is
// not larger than rounding of the first value stays: it has no vector of its own.
func (h *Solver) correct(a, u Dense, s []float64, v Dense) {
	most := 0.0
	for _, x := range s {
		most = max(most, math.Abs(x))
	}
	b, factors, rest := h.raw(a.M+1, a.N), h.raw(1, a.M+1).Data, h.raw(1, a.N).Data
	copy(b.Data, a.Data)
	for i, x := range s {
		if h.tick(); math.Abs(x) < 0x1p-50*most {
			continue
		}
		copy(b.Row(a.M), u.Row(i))
		copy(factors, v.Row(i))
		factors[a.M] = -x
		clear(rest)
		kernels.Residuals(rest, factors, b.Data, a.N)
		wrong := kernels.Dot(rest, u.Row(i))
		if &u.Data[0] != &v.Data[0] {
			wrong += float64(0.5 * x * (short(u.Row(i)) - short(v.Row(i))))
		}
		s[i] -= wrong
	}
}

// short is 1 - x·x, with twice the digits: the vectors of a value may be of lengths that are some
// ulp from 1.
func short(x []float64) float64 {
	rest := [1]float64{1}
	kernels.Residuals(rest[:], x, x, 1)
	return rest[0]
}

// ordered is the rows of a in the order given, until Begin.
func (h *Solver) ordered(a Dense, order []int) Dense {
	b := h.raw(len(order), a.N)
	for k, i := range order {
		copy(b.Row(k), a.Row(i))
	}
	return b
}

// graded reports whether columns that are not 0 differ in size by more than 2^10.
func (h *Solver) graded(a Dense) bool {
	least, most := math.Inf(1), 0.0
	defer h.free(h.used)
	columns := h.transposed(a)
	for i := range columns.M {
		if s := kernels.Norm2(columns.Row(i)); s != 0 {
			least, most = min(least, s), max(most, s)
		}
	}
	return most > 0x1p10*least
}

// eighJacobi is Eigh by Jacobi's cyclic rotations. Small eigenvalues of a graded matrix
// keep their digits, which a tridiagonal form loses.
func (h *Solver) eighJacobi(a Dense) (w []float64, v Dense) {
	n := a.N
	v = h.eye(n)
	w = h.raw(1, n).Data
	if !finite(a.Data) {
		kernels.Fill(w, math.NaN())
		kernels.Fill(v.Data, math.NaN())
		return w, v
	}
	a = h.clone(a)
	e := a.Exponent()
	a.Scale(-e)
	whole := a
	if turnsAndCorrects(n) {
		whole = h.clone(a)
	}
	if n <= fewRows {
		h.jacobiFew(a, v)
	} else {
		h.jacobiSweeps(a, v)
	}
	values := h.raw(1, n).Data
	for i := range values {
		values[i] = a.Data[i*n+i]
	}
	if turnsAndCorrects(n) {
		h.correct(whole, v, values, v)
	}
	out := h.raw(n, n)
	for k, i := range h.ascending(values) {
		w[k] = math.Ldexp(values[i], e)
		copy(out.Row(k), v.Row(i))
		if leading(out.Row(k)) < 0 {
			negate(out.Row(k))
		}
	}
	return w, out
}

// jacobiSweeps makes a diagonal, turning the rows of v.
func (h *Solver) jacobiSweeps(a, v Dense) {
	n := a.N
	for sweep := range mostSweeps {
		done, much := true, negligible(sweep)
		for p := range n {
			h.tick()
			for q := p + 1; q < n; q++ {
				done = !jacobi(a, v, p, q, much) && done
			}
		}
		if done {
			return
		}
	}
}

// jacobi makes a[p][q] zero, as kernels.DiagonalizeOf says. It reports whether that took a rotation.
func jacobi(a, v Dense, p, q int, much float64) bool {
	n := a.N
	x, y := a.Row(p), a.Row(q)
	off := x[q]
	if off == 0 {
		return false
	}
	app, aqq, s, tau := kernels.DiagonalizeOf(x[p], y[q], off, much)
	if s != 0 {
		kernels.RotateBy(x, y, s, tau)
		for k := range n {
			a.Data[k*n+p], a.Data[k*n+q] = x[k], y[k]
		}
		kernels.RotateBy(v.Row(p), v.Row(q), s, tau)
	}
	x[p], y[q] = app, aqq
	x[q], y[p] = 0, 0
	return s != 0
}

// mostSweeps is how many sweeps of rotations there are at most.
const mostSweeps = 60

// negligible is how many times its size an entry is dropped by which the diagonal does not change, in a sweep: at first none is.
func negligible(sweep int) float64 {
	if sweep > 3 {
		return 128
	}
	return math.Inf(1)
}

// leading is the first of the entries that are, but for rounding, the largest.
func leading(x []float64) float64 {
	big := 0.0
	for _, v := range x {
		big = max(big, math.Abs(v))
	}
	for _, v := range x {
		if math.Abs(v) >= 0.999*big {
			return v
		}
	}
	return 0
}

func negate(x []float64) {
	for i, v := range x {
		x[i] = -v
	}
}

// SVD is the thin singular value decomposition: singular values descending, left and
// right vectors as rows, the largest entry of each of the shorter ones positive. Small
// matrices, and graded ones, are turned by one-sided Jacobi rotations, which keep the
// digits of small values.
func (h *Solver) SVD(a Dense) (u Dense, s []float64, v Dense) {
	if a.M < a.N {
		v, s, u = h.SVD(h.transposed(a))
		return u, s, v
	}
	m, n := a.M, a.N
	if !finite(a.Data) {
		u, s, v = New(n, m), make([]float64, n), New(n, n)
		for _, x := range [][]float64{u.Data, s, v.Data} {
			kernels.Fill(x, math.NaN())
		}
		return u, s, v
	}
	e := a.Exponent()
	if m > 2*n && m*n >= leastTall { // rotations of short rows
		a = h.clone(a)
		a.Scale(-e)
		q, r := h.QR(a)
		short, s, v := h.SVD(r)
		for i := range s {
			s[i] = math.Ldexp(s[i], e)
		}
		u = h.raw(n, m)
		h.product(u.all(), short.all(), false, q.all(), true, false)
		return u, s, v
	}
	w := h.transposed(a)
	w.Scale(-e)
	if n >= leastSingular && !(n <= mostGraded && h.graded(a)) {
		u, s, v = h.svdLarge(w)
	} else {
		u, s, v = h.svdJacobi(w)
	}
	for i := range s {
		s[i] = math.Ldexp(s[i], e)
		if leading(v.Row(i)) < 0 {
			negate(v.Row(i))
			negate(u.Row(i))
		}
	}
	return u, s, v
}

// svdJacobi is the decomposition of the transpose of w by one-sided Jacobi rotations of the
// rows of its triangle R, which are all but orthogonal where its columns were pivoted: a few
// sweeps (Drmač and Veselić 2008).
func (h *Solver) svdJacobi(w Dense) (u Dense, s []float64, v Dense) {
	n := w.M
	var whole Dense
	if n >= leastSingular {
		whole = h.clone(w)
	}
	reflections, tau, perm := h.pivotedQR(w)
	r, j := h.transposed(h.square(w)), h.eye(n)
	h.jacobiRows(r, j)
	order, s, zeros := h.bySize(r)
	u, v = h.New(n, w.N), h.New(n, n)
	for k, i := range order {
		copy(u.Row(k), j.Row(i))
		if s[k] != 0 {
			divide(r.Row(i), s[k])
			for c, x := range r.Row(i) {
				v.Row(k)[perm[c]] = x
			}
		}
	}
	h.reflectAll(u, reflections, tau, 0)
	h.completeRows(v, zeros)
	if n >= leastSingular { // many reflections have rounded
		return h.corrected(whole, u, s, v, zeros)
	}
	return u, s, v
}

// corrected is a decomposition of the transpose of w with its values, as many as are not 0, made
// exact to an ulp or so.
func (h *Solver) corrected(w, u Dense, s []float64, v Dense, zeros int) (Dense, []float64, Dense) {
	h.correct(w, u, s[:zeros], v)
	order := h.descending(s)
	return h.ordered(u, order), h.ordered(Of(s, len(s), 1), order).Data, h.ordered(v, order)
}

// square is the first columns of a, as many as it has rows, until Begin.
func (h *Solver) square(a Dense) Dense {
	b := h.raw(a.M, a.M)
	for i := range a.M {
		copy(b.Row(i), a.Row(i))
	}
	return b
}

// svdLarge is the decomposition of the transpose of w by products of matrices.
func (h *Solver) svdLarge(w Dense) (u Dense, s []float64, v Dense) {
	n := w.M
	x := &singular{w: h.clone(w), v: h.eye(n), hands: h}
	x.finish(0, n)
	h.orthonormal(x.v)
	order, s, zeros := h.bySize(x.w)
	u, v = h.ordered(x.w, order), h.ordered(x.v, order)
	for i, size := range s[:zeros] {
		divide(u.Row(i), size)
	}
	zeros = h.apart(u.rows(0, zeros))
	h.orthonormal(u.rows(0, zeros))
	clear(u.rows(zeros, n).Data)
	h.completeRows(u, zeros)
	if n <= exactRows {
		return h.corrected(w, u, s, v, zeros)
	}
	return u, s, v
}

// bySize lists the rows of w, the longest first, with their lengths; from place zeros on these
// are 0.
func (h *Solver) bySize(w Dense) (order []int, size []float64, zeros int) {
	lengths := h.numbers(w.M)
	for i := range lengths {
		if l := kernels.Norm2(w.Row(i)); l >= 0x1p-900 { // what is left of 0 has no direction
			lengths[i] = l
			zeros++
		}
	}
	order = h.descending(lengths)
	return order, h.ordered(Of(lengths, w.M, 1), order).Data, zeros
}

// completeRows makes the rows of u from some on unit vectors orthogonal to those before.
func (h *Solver) completeRows(u Dense, from int) {
	if from == u.M {
		return
	}
	rest := h.raw(1, u.N).Data // of each unit vector, squared, when the rows are taken away
	for e := range rest {
		rest[e] = 1
	}
	less := func(x []float64) {
		for e, v := range x {
			rest[e] -= float64(v * v)
		}
	}
	for i := range from {
		less(u.Row(i))
	}
	for k := from; k < u.M; k++ {
		best, at := 0.0, 0
		for e, v := range rest {
			if size := math.Sqrt(max(v, 0)); size > best+0.01 {
				best, at = size, e
			}
		}
		x := u.Row(k)
		clear(x)
		x[at] = 1
		for range 2 {
			for i := range k {
				kernels.Axpy(x, -kernels.Dot(u.Row(i), x), u.Row(i))
			}
		}
		divide(x, kernels.Norm2(x))
		less(x)
	}
}
