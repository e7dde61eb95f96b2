package tape

import (
	"math"
	"slices"

	"nabla/kernels"
)

// signedSVD is the decomposition of a square matrix, singular vectors as rows, with
// the determinant of both bases together.
func signedSVD(a mat, tick func()) (u mat, s []float64, v mat, sign float64) {
	u, s, v = svdOf(a, tick)
	f, _ := detOf(u)
	g, _ := detOf(v)
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

// eighOf diagonalises a symmetric matrix by Jacobi's cyclic rotations: eigenvalues
// ascending, eigenvectors as rows, the largest entry of each positive. Small
// eigenvalues of a graded matrix keep their digits, which a tridiagonal form loses.
// tick is called now and then.
func eighOf(a mat, tick func()) (w []float64, v mat) {
	n := a.n
	v = eyeMat(n)
	w = make([]float64, n)
	if !finite(a.d) {
		for i := range w {
			w[i] = math.NaN()
		}
		for i := range v.d {
			v.d[i] = math.NaN()
		}
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
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return compareNaN(a.d[i*n+i], a.d[j*n+j]) })
	out := newMat(n, n)
	for k, i := range order {
		w[k] = math.Ldexp(a.d[i*n+i], e)
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

// svdOf is the thin singular value decomposition by one-sided Jacobi rotations:
// singular values descending, left and right vectors as rows, the largest entry of
// each of the shorter ones positive. tick is called now and then.
func svdOf(a mat, tick func()) (u mat, s []float64, v mat) {
	if a.m < a.n {
		v, s, u = svdOf(a.t(), tick)
		return u, s, v
	}
	m, n := a.m, a.n
	s = make([]float64, n)
	if !finite(a.d) {
		u, v = newMat(n, m), newMat(n, n)
		for _, x := range [][]float64{u.d, s, v.d} {
			for i := range x {
				x[i] = math.NaN()
			}
		}
		return u, s, v
	}
	e := a.exponent()
	w := a.t()
	w.scale(-e)
	v0 := eyeMat(n)
	const eps = 0x1p-52
	tol := eps * math.Sqrt(float64(max(m, 4)))
	size := make([]float64, n)
	for range 60 {
		done := true
		for i := range n {
			size[i] = norm2(w.row(i))
		}
		for p := range n {
			tick()
			for q := p + 1; q < n; q++ {
				x, y := w.row(p), w.row(q)
				cos := kernels.Dot(x, y)
				if cos == 0 || math.Abs(cos) <= float64(tol*float64(size[p]*size[q])) {
					continue
				}
				c, sn := rotation(float64((size[q]-size[p])*(size[q]+size[p])) / float64(2*cos))
				rotate(x, y, c, sn)
				rotate(v0.row(p), v0.row(q), c, sn)
				size[p], size[q] = norm2(x), norm2(y)
				done = done && sn == 0
			}
		}
		if done {
			break
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
		if size[i] < 0x1p-900 { // what is left of 0 has no direction
			size[i] = 0
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return compareNaN(size[j], size[i]) })
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
		if size[i] == 0 {
			completeRow(u, k)
			continue
		}
		for j := range x {
			x[j] /= size[i]
		}
	}
	return u, s, v
}

// completeRow makes row k of u a unit vector orthogonal to the rows before it.
func completeRow(u mat, k int) {
	best, x := 0.0, make([]float64, u.n)
	for e := range u.n {
		clear(x)
		x[e] = 1
		for range 2 {
			for i := range k {
				axpy(x, -kernels.Dot(u.row(i), x), u.row(i))
			}
		}
		if n := norm2(x); n > best+0.01 {
			best = n
			for j, v := range x {
				u.row(k)[j] = v / n
			}
		}
	}
}
