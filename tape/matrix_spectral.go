package tape

import (
	"cmp"
	"math"
	"slices"

	"nabla/kernels"
)

// signedSVD is the decomposition of a square matrix, singular vectors as rows, with
// the determinant of both bases together.
func (h *hands) signedSVD(a mat) (u mat, s []float64, v mat, sign float64) {
	u, s, v = h.svdOf(a)
	f, _ := h.detOf(u)
	g, _ := h.detOf(v)
	return u, s, v, math.Copysign(1, f) * math.Copysign(1, g)
}

func productWithout(s []float64, i, k int) float64 {
	p := 1.0
	for j, v := range s {
		if j != i && j != k {
			p = float64(p * v)
		}
	}
	return p
}

// spreadInto writes Σ d_i u_i v_iᵀ for vectors in rows.
func spreadInto(dst []float64, u mat, d []float64, v mat) {
	w := u.clone()
	for i := range w.m {
		for j := range w.row(i) {
			w.row(i)[j] *= d[i]
		}
	}
	kernels.Gemm(dst, v.n, w.d, w.n, true, v.d, v.n, false, u.n, v.n, u.m, false)
}

// rotation is the Jacobi rotation for the cotangent of twice its angle.
func rotation(zeta float64) (c, s float64) {
	t := math.Copysign(1, zeta) / (math.Abs(zeta) + kernels.HypotOf(1, zeta))
	c = 1 / math.Sqrt(math.FMA(t, t, 1))
	return c, float64(t * c)
}

// rotate turns two rows: x = c x - s y, y = s x + c y, in the form that keeps the
// errors of small angles small.
func rotate(x, y []float64, c, s float64) {
	tau := s / (1 + c)
	for i, g := range x {
		h := y[i]
		x[i] = math.FMA(-s, math.FMA(g, tau, h), g)
		y[i] = math.FMA(s, math.FMA(-h, tau, g), h)
	}
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

// eighOf diagonalises a symmetric matrix: eigenvalues ascending, eigenvectors as rows, the
// largest entry of each positive. h.tick is called now and then.
func (h *hands) eighOf(a mat) (w []float64, v mat) {
	if n := a.n; n < leastTridiagonal || !finite(a.d) || n <= mostGraded && a.graded() {
		return eighJacobi(a, h.tick)
	}
	a = a.clone()
	e := a.exponent()
	a.scale(-e)
	t := h.tridiagonalOf(a)
	w, v = h.conquer(t.d, t.e)
	t.back(h, v)
	for i := range w {
		w[i] = math.Ldexp(w[i], e)
		if leading(v.row(i)) < 0 {
			negate(v.row(i))
		}
	}
	return w, v
}

// graded reports whether columns that are not 0 differ in size by more than 2^10.
func (a mat) graded() bool {
	least, most := math.Inf(1), 0.0
	columns := a.t()
	for i := range columns.m {
		if s := norm2(columns.row(i)); s != 0 {
			least, most = min(least, s), max(most, s)
		}
	}
	return most > 0x1p10*least
}

// eighJacobi is eighOf by Jacobi's cyclic rotations. Small eigenvalues of a graded matrix
// keep their digits, which a tridiagonal form loses.
func eighJacobi(a mat, tick func()) (w []float64, v mat) {
	n := a.n
	v = eyeMat(n)
	w = make([]float64, n)
	if !finite(a.d) {
		kernels.Fill(w, math.NaN())
		kernels.Fill(v.d, math.NaN())
		return w, v
	}
	a = a.clone()
	e := a.exponent()
	a.scale(-e)
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
		values[i] = a.d[i*n+i]
	}
	out := newMat(n, n)
	for k, p := range new(sorter).of(values) {
		i := int(p.at)
		w[k] = math.Ldexp(values[i], e)
		copy(out.row(k), v.row(i))
		if leading(out.row(k)) < 0 {
			negate(out.row(k))
		}
	}
	return w, out
}

// jacobi makes a[p][q] zero; late, entries that no longer change the diagonal are
// dropped. It reports whether it had anything to do.
func jacobi(a, v mat, p, q int, late bool) bool {
	n := a.n
	off := a.d[p*n+q]
	if off == 0 {
		return false
	}
	x, y := a.row(p), a.row(q)
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
	rotate(x, y, c, s)
	x[p], y[q] = math.FMA(-t, off, app), math.FMA(t, off, aqq)
	x[q], y[p] = 0, 0
	for k := range n {
		if k != p && k != q {
			a.d[k*n+p], a.d[k*n+q] = x[k], y[k]
		}
	}
	rotate(v.row(p), v.row(q), c, s)
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

// svdOf is the thin singular value decomposition: singular values descending, left and
// right vectors as rows, the largest entry of each of the shorter ones positive. Small
// matrices, and graded ones, are turned by one-sided Jacobi rotations, which keep the
// digits of small values. h.tick is called now and then.
func (h *hands) svdOf(a mat) (u mat, s []float64, v mat) {
	if a.m < a.n {
		v, s, u = h.svdOf(a.t())
		return u, s, v
	}
	m, n := a.m, a.n
	s = make([]float64, n)
	if !finite(a.d) {
		u, v = newMat(n, m), newMat(n, n)
		for _, x := range [][]float64{u.d, s, v.d} {
			kernels.Fill(x, math.NaN())
		}
		return u, s, v
	}
	e := a.exponent()
	if m > 2*n && m*n >= leastTall { // rotations of short rows
		a = a.clone()
		a.scale(-e)
		q, r := h.qrOf(a)
		short, s, v := h.svdOf(r)
		for i := range s {
			s[i] = math.Ldexp(s[i], e)
		}
		u = newMat(n, m)
		h.product(u.all(), short.all(), false, q.all(), true, false)
		return u, s, v
	}
	w, v0 := a.t(), eyeMat(n)
	w.scale(-e)
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
		if size[i] = norm2(w.row(i)); size[i] < 0x1p-900 { // what is left of 0 has no direction
			size[i] = 0
			zeros--
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(size[j], size[i]) })
	u, v = newMat(n, m), newMat(n, n)
	for k, i := range order {
		s[k] = math.Ldexp(size[i], e)
		copy(v.row(k), v0.row(i))
		x := u.row(k)
		copy(x, w.row(i))
		if leading(v.row(k)) < 0 {
			negate(v.row(k))
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
func completeRows(u mat, from int) {
	if from == u.m {
		return
	}
	rest := make([]float64, u.n) // of each unit vector, squared, when the rows are taken away
	for e := range rest {
		rest[e] = 1
	}
	less := func(x []float64) {
		for e, v := range x {
			rest[e] -= float64(v * v)
		}
	}
	for i := range from {
		less(u.row(i))
	}
	for k := from; k < u.m; k++ {
		best, at := 0.0, 0
		for e, v := range rest {
			if size := math.Sqrt(max(v, 0)); size > best+0.01 {
				best, at = size, e
			}
		}
		x := u.row(k)
		clear(x)
		x[at] = 1
		for range 2 {
			for i := range k {
				kernels.Axpy(x, -kernels.Dot(u.row(i), x), u.row(i))
			}
		}
		divide(x, norm2(x))
		less(x)
	}
}
