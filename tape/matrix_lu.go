package tape

import (
	"math"

	"nabla/kernels"
)

// exactRows is the size up to which factors are computed from sums with twice the
// digits, one at a time: pivots are then within an ulp or so of what the rounded
// factors before them say. Beyond it that costs too much.
const exactRows = 64

// luOf factors a = P L U with partial pivoting. perm names the row of a that is row i of L U.
func (h *hands) luOf(a mat) (lu mat, perm []int, sign float64) {
	n := a.n
	f := &luFactors{lu: a.clone(), perm: make([]int, n), sign: 1}
	for i := range f.perm {
		f.perm[i] = i
	}
	if n <= exactRows {
		f.exact()
	} else {
		f.panel = make([]float64, n*luPanel)
		f.columns(h, 0, n)
	}
	return f.lu, f.perm, f.sign
}

// luFactors are LU factors that are being computed.
type luFactors struct {
	lu    mat
	perm  []int
	sign  float64
	panel []float64 // of the columns at work
}

// exact computes the factors from sums with twice the digits.
func (f *luFactors) exact() {
	lu, n := f.lu, f.lu.n
	ut := newMat(n, n) // the columns of U, as rows
	for k := range n {
		for i := k; i < n; i++ {
			r := lu.row(i)
			r[k] = residual(r[k], r[:k], ut.row(k))
		}
		p, best := pivot(lu.d[k*n+k:], n)
		f.swap(k+p, k)
		top := lu.row(k)
		for j := k + 1; j < n; j++ {
			top[j] = residual(top[j], top[:k], ut.row(j))
			ut.row(j)[k] = top[j]
		}
		if best == 0 {
			continue
		}
		for i := k + 1; i < n; i++ {
			lu.row(i)[k] /= top[k]
		}
	}
}

// pivot is the largest number of those of x that are ld apart, or the first NaN.
func pivot(x []float64, ld int) (p int, best float64) {
	best = math.Abs(x[0])
	for i := 1; i*ld < len(x); i++ {
		if v := math.Abs(x[i*ld]); v > best || v != v && best == best {
			p, best = i, v
		}
	}
	return p, best
}

// swap exchanges two rows.
func (f *luFactors) swap(p, k int) {
	if p == k {
		return
	}
	x, y := f.lu.row(p), f.lu.row(k)
	for j := range x {
		x[j], y[j] = y[j], x[j]
	}
	f.perm[p], f.perm[k] = f.perm[k], f.perm[p]
	f.sign = -f.sign
}

// luPanel is how many columns are factored as rows of their own.
const luPanel = 16

// columns factors w columns from column c on, where those before have been: the left half,
// what it leaves of the right half, and that. Elements are the same chains as those of
// elimination column by column.
func (f *luFactors) columns(h *hands, c, w int) {
	if w <= luPanel {
		f.few(h, c, w)
		return
	}
	n, a := f.lu.n, f.lu.all()
	p := (w/2 + luPanel - 1) / luPanel * luPanel
	f.columns(h, c, p)
	right := a.at(c, c+p, p, w-p)
	h.triSolve(a.at(c, c, p, p), right, false, false, true)
	h.minus(a.at(c+p, c+p, n-c-p, w-p), a.at(c+p, c, n-c-p, p), false, right, false)
	f.columns(h, c+p, w-p)
}

// few is columns for those of a panel, which are rows meanwhile.
func (f *luFactors) few(h *hands, c, w int) {
	n := f.lu.n
	m := n - c
	t := part{f.panel, m, w, m}
	kernels.Transpose(t.d, m, f.lu.d[c*n+c:], n, m, w)
	var pivots [luPanel]int
	t.eliminate(h, 0, w, &pivots)
	for k := range w {
		f.swap(c+pivots[k], c+k)
	}
	kernels.Transpose(f.lu.d[c*n+c:], n, t.d, m, w, m)
}

// eliminate factors the columns from, …, to-1 of the matrix with the rows of t for columns.
func (t part) eliminate(h *hands, from, to int, pivots *[luPanel]int) {
	if to-from == 1 {
		k, x := from, t.row(from)
		p, best := pivot(x[k:], 1)
		p += k
		pivots[k] = p
		for j := range t.m {
			r := t.row(j)
			r[p], r[k] = r[k], r[p]
		}
		if best != 0 {
			divide(x[k+1:], x[k])
		}
		return
	}
	mid := (from + to) / 2
	t.eliminate(h, from, mid, pivots)
	for j := mid; j < to; j++ {
		x := t.row(j)
		for p := from; p < mid; p++ {
			for q := from; q < p; q++ {
				x[p] = math.FMA(-t.d[q*t.ld+p], x[q], x[p])
			}
		}
	}
	h.minus(t.at(mid, mid, to-mid, t.n-mid), t.at(mid, from, to-mid, mid-from), false, t.at(from, mid, mid-from, t.n-mid), false)
	t.eliminate(h, mid, to, pivots)
}

// zeroPivot is the first pivot that is 0, or -1.
func zeroPivot(lu mat) int {
	for k := range lu.n {
		if lu.d[k*lu.n+k] == 0 {
			return k
		}
	}
	return -1
}

// luSolve overwrites b with the solution of a x = b, or of aᵀ x = b.
func (h *hands) luSolve(lu mat, perm []int, b mat, trans bool) {
	n, k := lu.n, b.n
	x := newMat(n, k)
	if !trans {
		for i, p := range perm {
			copy(x.row(i), b.row(p))
		}
		h.triSolve(lu.all(), x.all(), false, false, true)
		h.triSolve(lu.all(), x.all(), true, false, false)
		copy(b.d, x.d)
		return
	}
	copy(x.d, b.d)
	h.triSolve(lu.all(), x.all(), true, true, false)
	h.triSolve(lu.all(), x.all(), false, true, true)
	for i, p := range perm {
		copy(b.row(p), x.row(i))
	}
}

// refined solves op(a) x = b by its factors and corrects x once by the residual, taken
// with twice the digits: the error of a well-conditioned system falls below an ulp or two.
func (h *hands) refined(a, lu mat, perm []int, b mat, trans bool) mat {
	x := b.clone()
	h.luSolve(lu, perm, x, trans)
	if !finite(x.d) {
		return x
	}
	if trans {
		a = a.t()
	}
	r := h.residuals(a, x, b)
	h.luSolve(lu, perm, r, trans)
	if finite(r.d) {
		kernels.Accumulate(x.d, r.d)
	}
	return x
}

// inverse writes the inverse of a. Of a large one it is U⁻¹ L⁻¹ with its columns permuted.
func (h *hands) inverse(dst []float64, a, lu mat, perm []int) {
	n := a.n
	x := eyeMat(n)
	if n <= exactRows {
		copy(dst, h.refined(a, lu, perm, x, false).d)
		return
	}
	h.triInverse(lu.all(), x.all())
	h.triSolve(lu.all(), x.all(), true, false, false)
	for i := range n {
		row := dst[i*n:][:n]
		for j, v := range x.row(i) {
			row[perm[j]] = v
		}
	}
}

// residuals is b - a x with twice the digits, or, where there is much to multiply, with
// half as many more.
func (h *hands) residuals(a, x, b mat) mat {
	r := newMat(b.m, b.n)
	if b.n >= 4 && a.n > exactRows {
		h.residualProducts(r, a, x, b)
		return r
	}
	xt := x.t()
	row, col := make([]float64, a.n+1), make([]float64, a.n+1)
	col[a.n] = -1
	for i := range b.m {
		if i&63 == 0 {
			h.tick()
		}
		copy(row, a.row(i))
		for j := range b.n {
			copy(col, xt.row(j))
			row[a.n] = b.d[i*b.n+j]
			r.d[i*b.n+j] = -dot2(row, col)
		}
	}
	return r
}

// residualProducts writes b - a x by three products of matrices (Ozaki, Ogita, Oishi, Rump
// 2012): the leading bits of a times those of x is exact, and what is left out of it is
// small. Rows of x are scaled by powers of two, and columns of a against them, so that bits are
// counted from the largest term of a row.
func (h *hands) residualProducts(r, a, x, b mat) {
	n := a.n
	_, log := math.Frexp(float64(n))
	keep := (53 - log) / 2
	high, low, xs := a.clone(), newMat(a.m, n), x.clone()
	scales := make([]float64, n)
	for i := range n {
		e := mat{xs.row(i), 1, x.n}.exponent()
		e = max(min(e, 1000), -1000)
		scales[i] = math.Ldexp(1, e)
		for j := range xs.row(i) {
			xs.d[i*x.n+j] *= 1 / scales[i]
		}
	}
	for i := range a.m {
		row := high.row(i)
		most := 0.0
		for j := range row {
			row[j] *= scales[j]
			most = max(most, math.Abs(row[j]))
		}
		_, e := math.Frexp(most)
		truncate(row, low.row(i), math.Ldexp(1.5, e-keep+52))
	}
	xh, xl := xs.clone(), newMat(n, x.n) // no scaled number is larger than 1
	truncate(xh.d, xl.d, math.Ldexp(1.5, 52-keep))
	exact := h.times(high, xh)
	h.product(r.all(), high.all(), false, xl.all(), false, false)
	h.product(r.all(), low.all(), false, xs.all(), false, true)
	for i, v := range r.d {
		r.d[i] = b.d[i] - exact.d[i] - v
	}
}

// truncate leaves of x what is a multiple of the last bit of big, and moves the rest to low.
func truncate(x, low []float64, big float64) {
	for i, v := range x {
		x[i] = (v + big) - big
		low[i] = v - x[i]
	}
}

// detOf is the determinant as f 2^e with |f| in [1/2, 1), so that no product overflows.
// Up to three rows it is the expansion, with its products kept exact: whole numbers
// give whole numbers, and singular matrices of them 0.
func (h *hands) detOf(a mat) (f float64, e int) {
	n, x := a.n, a.d
	if n <= 3 && tame(x) {
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
	lu, perm, sign := h.luOf(a)
	return h.detBy(a, lu, perm, sign)
}

// detBy is the determinant by LU factors, whose permutation has the sign f.
func (h *hands) detBy(a, lu mat, perm []int, f float64) (float64, int) {
	n, e := a.n, 0
	if n <= exactRows {
		f = float64(f * h.defect(a, lu, perm))
	}
	for i := range n {
		k := 0
		f, k = math.Frexp(float64(f * lu.d[i*n+i]))
		e += k
	}
	if f == 0 {
		return 0, 0
	}
	return f, e
}

// defect is det(a) / det(L U) to first order: 1 + the trace of (L U)⁻¹ (P a - L U).
func (h *hands) defect(a, lu mat, perm []int) float64 {
	n := a.n
	if zeroPivot(lu) >= 0 {
		return 1
	}
	r, ut, l := newMat(n, n), lu.t(), make([]float64, n)
	for i := range n {
		copy(l, lu.row(i)[:i])
		l[i] = 1
		for j := range n {
			k := min(i, j) + 1
			r.d[i*n+j] = residual(a.d[perm[i]*n+j], l[:k], ut.row(j)[:k])
		}
	}
	h.triSolve(lu.all(), r.all(), false, false, true)
	h.triSolve(lu.all(), r.all(), true, false, false)
	trace := 0.0
	for i := range n {
		trace += r.d[i*n+i]
	}
	if trace-trace != 0 {
		return 1
	}
	return 1 + trace
}

// cofactors writes det(a) a⁻ᵀ, which exists for singular matrices too: the derivative
// of the determinant.
func (h *hands) cofactors(dst []float64, a mat) {
	n, x := a.n, a.d
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
	if lu, perm, sign := h.luOf(a); wellPivoted(lu) {
		f, e := h.detBy(a, lu, perm, sign)
		inv := h.refined(a, lu, perm, eyeMat(n), true)
		for i, v := range inv.d {
			dst[i] = math.Ldexp(float64(f*v), e)
		}
		return
	}
	// a = U S Vᵀ: the cofactors of S are products of all but one singular value
	u, s, v, sign := h.signedSVD(a)
	c := make([]float64, n)
	for i := range c {
		c[i] = float64(sign * productWithout(s, i, i))
	}
	spreadInto(dst, u, c, v)
}

// cofactors2 writes the directional derivative of the cofactors of a along g, which is
// bilinear for three rows: exact where a is singular.
func (h *hands) cofactors2(dst []float64, a, g mat) {
	n := a.n
	u, s, v, sign := h.signedSVD(a)
	// in the basis of the singular vectors: e = Uᵀ g V
	e := h.times(h.times(u, g), v.t())
	z := newMat(n, n)
	for i := range n {
		for k := range n {
			if i == k {
				continue
			}
			p := float64(sign * productWithout(s, i, k))
			z.d[i*n+i] = math.FMA(p, e.d[k*n+k], z.d[i*n+i])
			z.d[i*n+k] = -float64(p * e.d[k*n+i])
		}
	}
	copy(dst, h.times(h.times(u.t(), z), v).d)
}

// wellPivoted reports whether the pivots are alike enough to divide by them.
func wellPivoted(lu mat) bool {
	small, big := math.Inf(1), 0.0
	for k := range lu.n {
		v := math.Abs(lu.d[k*lu.n+k])
		small, big = min(small, v), max(big, v)
	}
	return small > 1e-6*big
}
