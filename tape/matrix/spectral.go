package matrix

import (
	"cmp"
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
func SpreadInto(dst []float64, u Dense, d []float64, v Dense) {
	w := u.Clone()
	for i := range w.M {
		for j := range w.Row(i) {
			w.Row(i)[j] *= d[i]
		}
	}
	kernels.Gemm(dst, v.N, w.Data, w.N, true, v.Data, v.N, false, u.N, v.N, u.M, false)
}

// rotation is the Jacobi rotation for the cotangent of twice its angle.
func rotation(zeta float64) (c, s float64) {
	t := math.Copysign(1, zeta) / (math.Abs(zeta) + kernels.HypotOf(1, zeta))
	c = 1 / math.Sqrt(math.FMA(t, t, 1))
	return c, float64(t * c)
}

// leastTridiagonal is the size from which on a symmetric matrix is brought to tridiagonal
// form, and mostGraded up to which one whose columns are of very different sizes is not.
const (
	leastTridiagonal = 64
	mostGraded       = 256
)

// leastTall is the size of a matrix from which on one of many rows has its singular values
// taken from its triangle R.
const leastTall = 1 << 12

// Eigh diagonalises a symmetric matrix: eigenvalues ascending, eigenvectors as rows, the
// largest entry of each positive.
func (h *Solver) Eigh(a Dense) (w []float64, v Dense) {
	if n := a.N; n < leastTridiagonal || !finite(a.Data) || n <= mostGraded && a.graded() {
		return eighJacobi(a, h.tick)
	}
	a = a.Clone()
	e := a.Exponent()
	a.Scale(-e)
	t := h.tridiagonalOf(a)
	w, v = h.conquer(t.d, t.e)
	t.back(h, v)
	for i := range w {
		w[i] = math.Ldexp(w[i], e)
		if leading(v.Row(i)) < 0 {
			negate(v.Row(i))
		}
	}
	return w, v
}

// graded reports whether columns that are not 0 differ in size by more than 2^10.
func (a Dense) graded() bool {
	least, most := math.Inf(1), 0.0
	columns := a.T()
	for i := range columns.M {
		if s := kernels.Norm2(columns.Row(i)); s != 0 {
			least, most = min(least, s), max(most, s)
		}
	}
	return most > 0x1p10*least
}

// eighJacobi is eighOf by Jacobi's cyclic rotations. Small eigenvalues of a graded matrix
// keep their digits, which a tridiagonal form loses.
func eighJacobi(a Dense, tick func()) (w []float64, v Dense) {
	n := a.N
	v = Eye(n)
	w = make([]float64, n)
	if !finite(a.Data) {
		kernels.Fill(w, math.NaN())
		kernels.Fill(v.Data, math.NaN())
		return w, v
	}
	a = a.Clone()
	e := a.Exponent()
	a.Scale(-e)
	for sweep := range 60 {
		done := true
		for p := range n {
			tick()
			for q := p + 1; q < n; q++ {
				done = !jacobi(a, v, p, q, sweep > 3) && done
			}
		}
		if done {
			break
		}
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = a.Data[i*n+i]
	}
	out := New(n, n)
	for k, i := range ascending(values) {
		w[k] = math.Ldexp(values[i], e)
		copy(out.Row(k), v.Row(i))
		if leading(out.Row(k)) < 0 {
			negate(out.Row(k))
		}
	}
	return w, out
}

// jacobi makes a[p][q] zero; late, entries that no longer change the diagonal are
// dropped. It reports whether it had anything to do.
func jacobi(a, v Dense, p, q int, late bool) bool {
	n := a.N
	off := a.Data[p*n+q]
	if off == 0 {
		return false
	}
	x, y := a.Row(p), a.Row(q)
	app, aqq := x[p], y[q]
	g := 128 * math.Abs(off)
	if late && math.Abs(app)+g == math.Abs(app) && math.Abs(aqq)+g == math.Abs(aqq) {
		x[q], y[p] = 0, 0
		return false
	}
	h := aqq - app
	zeta := float64(0.5*h) / off
	c, s := rotation(zeta)
	t := s / c
	if math.IsInf(zeta, 0) {
		c, s, t = 1, 0, off/h
	}
	kernels.Rotate(x, y, c, s)
	x[p], y[q] = math.FMA(-t, off, app), math.FMA(t, off, aqq)
	x[q], y[p] = 0, 0
	for k := range n {
		if k != p && k != q {
			a.Data[k*n+p], a.Data[k*n+q] = x[k], y[k]
		}
	}
	kernels.Rotate(v.Row(p), v.Row(q), c, s)
	return true
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
		v, s, u = h.SVD(a.T())
		return u, s, v
	}
	m, n := a.M, a.N
	s = make([]float64, n)
	if !finite(a.Data) {
		u, v = New(n, m), New(n, n)
		for _, x := range [][]float64{u.Data, s, v.Data} {
			kernels.Fill(x, math.NaN())
		}
		return u, s, v
	}
	e := a.Exponent()
	if m > 2*n && m*n >= leastTall { // rotations of short rows
		a = a.Clone()
		a.Scale(-e)
		q, r := h.QR(a)
		short, s, v := h.SVD(r)
		for i := range s {
			s[i] = math.Ldexp(s[i], e)
		}
		u = New(n, m)
		h.product(u.all(), short.all(), false, q.all(), true, false)
		return u, s, v
	}
	w, v0 := a.T(), Eye(n)
	w.Scale(-e)
	large := n >= leastTridiagonal && !(n <= mostGraded && a.graded())
	if large {
		x := &singular{w: w, v: v0, hands: h}
		x.finish(0, n)
		h.orthonormal(v0)
	} else {
		jacobiRows(w, v0, h.tick)
	}
	order, size := make([]int, n), make([]float64, n)
	zeros := n // from where on
	for i := range order {
		order[i] = i
		if size[i] = kernels.Norm2(w.Row(i)); size[i] < 0x1p-900 { // what is left of 0 has no direction
			size[i] = 0
			zeros--
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(size[j], size[i]) })
	u, v = New(n, m), New(n, n)
	for k, i := range order {
		s[k] = math.Ldexp(size[i], e)
		copy(v.Row(k), v0.Row(i))
		x := u.Row(k)
		copy(x, w.Row(i))
		if leading(v.Row(k)) < 0 {
			negate(v.Row(k))
			negate(x)
		}
		if size[i] != 0 {
			divide(x, size[i])
		}
	}
	if large {
		h.orthonormal(u.rows(0, zeros))
	}
	completeRows(u, zeros)
	return u, s, v
}

// completeRows makes the rows of u from some on unit vectors orthogonal to those before.
func completeRows(u Dense, from int) {
	if from == u.M {
		return
	}
	rest := make([]float64, u.N) // of each unit vector, squared, when the rows are taken away
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
