package tape

import (
	"math"
	"slices"

	"nabla/kernels"
)

// The dense factorisations behind linear algebra, on numbers alone. Every loop has one
// order and every product that is added goes through math.FMA or float64(), so that no
// machine gives other bits; a library's assembly would.

// A mat is a dense matrix, row by row.
type mat struct {
	d    []float64
	m, n int
}

func newMat(m, n int) mat { return mat{make([]float64, m*n), m, n} }

func eyeMat(n int) mat {
	a := newMat(n, n)
	for i := range n {
		a.d[i*n+i] = 1
	}
	return a
}

func (a mat) row(i int) []float64 { return a.d[i*a.n : (i+1)*a.n : (i+1)*a.n] }
func (a mat) clone() mat          { return mat{slices.Clone(a.d), a.m, a.n} }

func (a mat) t() mat {
	b := newMat(a.n, a.m)
	if len(a.d) > 0 {
		transposeBlock(b.d, a.d, a.m, a.n)
	}
	return b
}

func (a mat) times(b mat) mat {
	c := newMat(a.m, b.n)
	kernels.Gemm(c.d, b.n, a.d, a.n, false, b.d, b.n, false, a.m, b.n, a.n, false)
	return c
}

// scale multiplies by a power of two: exact but for underflow.
func (a mat) scale(e int) {
	for i, v := range a.d {
		a.d[i] = math.Ldexp(v, e)
	}
}

// exponent is the e for which the largest entry lies in [2^(e-1), 2^e); 0 for zeros,
// and where an entry is not finite.
func (a mat) exponent() int {
	big := kernels.Max(absAll(a.d))
	if len(a.d) == 0 || big == 0 || big-big != 0 {
		return 0
	}
	_, e := math.Frexp(big)
	return e
}

func absAll(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Abs(v)
	}
	return y
}

// tame reports whether products of three cannot overflow, nor lose digits at the other end.
func tame(x []float64) bool {
	for _, v := range x {
		if v = math.Abs(v); v != 0 && !(v > 1e-90 && v < 1e90) {
			return false
		}
	}
	return true
}

func finite(x []float64) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// symmetric is (a + aᵀ)/2.
func (a mat) symmetric() mat {
	s := newMat(a.n, a.n)
	for i := range a.n {
		for j := range i + 1 {
			v := float64(0.5*a.d[i*a.n+j]) + float64(0.5*a.d[j*a.n+i])
			if x, y := a.d[i*a.n+j], a.d[j*a.n+i]; x == y {
				v = x // subnormal halves would be rounded
			}
			s.d[i*a.n+j], s.d[j*a.n+i] = v, v
		}
	}
	return s
}

// axpy is y += a x.
func axpy(y []float64, a float64, x []float64) {
	for i, v := range x {
		y[i] = math.FMA(a, v, y[i])
	}
}

// plusDot2 is c + sign x·y as if computed with twice the digits (Ogita, Rump, Oishi 2005).
func plusDot2(c, sign float64, x, y []float64) float64 {
	s, low := c, 0.0
	for i, v := range x {
		v *= sign
		p := float64(v * y[i])
		e := math.FMA(v, y[i], -p)
		t := s + p
		b := t - s
		e += (s - (t - b)) + (p - b)
		low += e
		s = t
	}
	if r := s + low; r-r == 0 {
		return r
	}
	return s // the correction of an overflow is NaN
}

// dot2 is x·y with twice the digits.
func dot2(x, y []float64) float64 { return plusDot2(0, 1, x, y) }

// residual is c - x·y with twice the digits.
func residual(c float64, x, y []float64) float64 { return plusDot2(c, -1, x, y) }

// cross2 is a d - b c within 1.5 ulp (Kahan).
func cross2(a, b, c, d float64) float64 {
	w := float64(b * c)
	e := math.FMA(-b, c, w)
	return math.FMA(a, d, -w) + e
}

// LU

// exactRows is the size up to which factors are computed from sums with twice the
// digits, one at a time: pivots are then within an ulp or so of what the rounded
// factors before them say. Beyond it that costs too much.
const exactRows = 64

// luOf factors a = P L U with partial pivoting. perm names the row of a that is row i of L U.
func luOf(a mat) (lu mat, perm []int, sign float64) {
	lu, sign = a.clone(), 1
	n := a.n
	perm = make([]int, n)
	for i := range perm {
		perm[i] = i
	}
	var ut mat // the columns of U, as rows
	if n <= exactRows {
		ut = newMat(n, n)
	}
	for k := range n {
		if n <= exactRows {
			for i := k; i < n; i++ {
				r := lu.row(i)
				r[k] = residual(r[k], r[:k], ut.row(k))
			}
		}
		p, best := k, math.Abs(lu.d[k*n+k])
		for i := k + 1; i < n; i++ {
			if v := math.Abs(lu.d[i*n+k]); v > best || v != v && best == best {
				p, best = i, v
			}
		}
		if p != k {
			x, y := lu.row(p), lu.row(k)
			for j := range x {
				x[j], y[j] = y[j], x[j]
			}
			perm[p], perm[k] = perm[k], perm[p]
			sign = -sign
		}
		top := lu.row(k)
		if n <= exactRows {
			for j := k + 1; j < n; j++ {
				top[j] = residual(top[j], top[:k], ut.row(j))
				ut.row(j)[k] = top[j]
			}
		}
		if best == 0 {
			continue
		}
		for i := k + 1; i < n; i++ {
			r := lu.row(i)
			l := r[k] / top[k]
			r[k] = l
			if l != 0 && n > exactRows {
				axpy(r[k+1:], -l, top[k+1:])
			}
		}
	}
	return lu, perm, sign
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
func luSolve(lu mat, perm []int, b mat, trans bool) {
	n, k := lu.n, b.n
	x := newMat(n, k)
	if !trans {
		for i, p := range perm {
			copy(x.row(i), b.row(p))
		}
		triSolve(lu, x, false, false, true)
		triSolve(lu, x, true, false, false)
		copy(b.d, x.d)
		return
	}
	copy(x.d, b.d)
	triSolve(lu, x, true, true, false)
	triSolve(lu, x, false, true, true)
	for i, p := range perm {
		copy(b.row(p), x.row(i))
	}
}

// triSolve overwrites b with the solution of op(l) x = b. Only one triangle of l is
// read: the upper one if upper is set; its diagonal counts as ones if unit is.
func triSolve(l, b mat, upper, trans, unit bool) {
	n := l.n
	forward := upper == trans
	for s := range n {
		i := s
		if !forward {
			i = n - 1 - s
		}
		x := b.row(i)
		if !trans { // what stands left of x is known already
			if forward {
				for j := range i {
					axpy(x, -l.d[i*n+j], b.row(j))
				}
			} else {
				for j := i + 1; j < n; j++ {
					axpy(x, -l.d[i*n+j], b.row(j))
				}
			}
		}
		if !unit {
			d := l.d[i*n+i]
			for k := range x {
				x[k] /= d
			}
		}
		if trans { // x is known: taken out of what is not
			if forward {
				for j := i + 1; j < n; j++ {
					axpy(b.row(j), -l.d[i*n+j], x)
				}
			} else {
				for j := range i {
					axpy(b.row(j), -l.d[i*n+j], x)
				}
			}
		}
	}
}

// refined solves op(a) x = b by its factors and corrects x once by the residual, taken
// with twice the digits: the error of a well-conditioned system falls below an ulp or two.
func refined(a, lu mat, perm []int, b mat, trans bool) mat {
	x := b.clone()
	luSolve(lu, perm, x, trans)
	if !finite(x.d) {
		return x
	}
	if trans {
		a = a.t()
	}
	xt := x.t()
	r := newMat(b.m, b.n)
	row, col := make([]float64, a.n+1), make([]float64, a.n+1)
	col[a.n] = -1
	for i := range b.m {
		copy(row, a.row(i))
		for j := range b.n {
			copy(col, xt.row(j))
			row[a.n] = b.d[i*b.n+j]
			r.d[i*b.n+j] = -dot2(row, col)
		}
	}
	luSolve(lu, perm, r, trans)
	if finite(r.d) {
		for i, v := range r.d {
			x.d[i] += v
		}
	}
	return x
}

// detOf is the determinant as f 2^e with |f| in [1/2, 1), so that no product overflows.
// Up to three rows it is the expansion, with its products kept exact: whole numbers
// give whole numbers, and singular matrices of them 0.
func detOf(a mat) (f float64, e int) {
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
	lu, perm, f := luOf(a)
	if n <= exactRows {
		f = float64(f * defect(a, lu, perm))
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
func defect(a, lu mat, perm []int) float64 {
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
	triSolve(lu, r, false, false, true)
	triSolve(lu, r, true, false, false)
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
func cofactors(dst []float64, a mat, tick func()) {
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
	if lu, perm, _ := luOf(a); wellPivoted(lu) {
		f, e := detOf(a)
		inv := refined(a, lu, perm, eyeMat(n), true)
		for i, v := range inv.d {
			dst[i] = math.Ldexp(float64(f*v), e)
		}
		return
	}
	// a = U S Vᵀ: the cofactors of S are products of all but one singular value
	u, s, v, sign := signedSVD(a, tick)
	c := make([]float64, n)
	for i := range c {
		c[i] = float64(sign * productWithout(s, i, i))
	}
	spreadInto(dst, u, c, v)
}

// cofactors2 writes the directional derivative of the cofactors of a along g, which is
// bilinear for three rows: exact where a is singular.
func cofactors2(dst []float64, a, g mat, tick func()) {
	n := a.n
	u, s, v, sign := signedSVD(a, tick)
	// in the basis of the singular vectors: e = Uᵀ g V
	e := u.times(g).times(v.t())
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
	copy(dst, u.t().times(z).times(v).d)
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

// choleskyOf is the lower triangle l with l lᵀ = a. A pivot that is not positive ends
// it: k names it.
func choleskyOf(a mat) (l mat, k int, pivot float64) {
	n := a.n
	l = newMat(n, n)
	for j := range n {
		lj := l.row(j)
		p := a.d[j*n+j] - kernels.Dot(lj[:j], lj[:j])
		if n <= exactRows {
			p = residual(a.d[j*n+j], lj[:j], lj[:j])
		}
		if p <= 0 {
			return l, j, p
		}
		d := math.Sqrt(p)
		lj[j] = d
		for i := j + 1; i < n; i++ {
			li := l.row(i)
			if n <= exactRows {
				li[j] = residual(a.d[i*n+j], li[:j], lj[:j]) / d
			} else {
				li[j] = (a.d[i*n+j] - kernels.Dot(li[:j], lj[:j])) / d
			}
		}
	}
	return l, -1, 0
}

// qrOf is the thin QR decomposition of a tall matrix by Householder's reflections,
// with LAPACK's signs.
func qrOf(a mat) (q, r mat) {
	m, n := a.m, a.n
	w := a.t() // columns as rows
	tau := make([]float64, n)
	for k := range n {
		x := w.row(k)
		tail := x[k+1:]
		rest := norm2(tail)
		if rest == 0 {
			continue
		}
		beta := -math.Copysign(kernels.HypotOf(x[k], rest), x[k])
		tau[k] = (beta - x[k]) / beta
		scale := x[k] - beta
		for i := range tail {
			tail[i] /= scale
		}
		x[k] = beta
		for j := k + 1; j < n; j++ {
			reflect(w.row(j)[k:], tail, tau[k])
		}
	}
	r = newMat(n, n)
	for i := range n {
		for j := i; j < n; j++ {
			r.d[i*n+j] = w.d[j*m+i]
		}
	}
	qt := newMat(n, m)
	for j := range n {
		qt.d[j*m+j] = 1
		for k := j; k >= 0; k-- {
			reflect(qt.row(j)[k:], w.row(k)[k+1:], tau[k])
		}
	}
	return qt.t(), r
}

// reflect applies 1 - tau (1, v)(1, v)ᵀ.
func reflect(x, v []float64, tau float64) {
	if tau == 0 {
		return
	}
	s := float64(tau * (x[0] + kernels.Dot(x[1:], v)))
	x[0] -= s
	axpy(x[1:], -s, v)
}

// expmOf is the matrix exponential by scaling, the Padé approximant of degree 13 and
// squaring (Higham 2005).
func expmOf(a mat) mat {
	n := a.n
	norm := 0.0
	for _, r := range rowsOf(a.t()) {
		norm = max(norm, kernels.Sum(absAll(r)))
	}
	if n == 1 {
		return mat{[]float64{kernels.ExpOf(a.d[0])}, 1, 1}
	}
	if norm-norm != 0 {
		out := newMat(n, n)
		for i := range out.d {
			out.d[i] = math.NaN()
		}
		return out
	}
	squarings := 0
	if norm > 5.371920351148152 {
		_, squarings = math.Frexp(norm / 5.371920351148152)
	}
	x := a.clone()
	x.scale(-squarings)
	b := [14]float64{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
		10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}
	x2 := x.times(x)
	x4 := x2.times(x2)
	x6 := x4.times(x2)
	id := eyeMat(n)
	sum := func(c0, c2, c4, c6 float64) mat {
		out := newMat(n, n)
		axpy(out.d, c6, x6.d)
		axpy(out.d, c4, x4.d)
		axpy(out.d, c2, x2.d)
		axpy(out.d, c0, id.d)
		return out
	}
	high := x6.times(sum(0, b[9], b[11], b[13]))
	odd := sum(b[1], b[3], b[5], b[7])
	axpy(odd.d, 1, high.d)
	odd = x.times(odd)
	high = x6.times(sum(0, b[8], b[10], b[12]))
	even := sum(b[0], b[2], b[4], b[6])
	axpy(even.d, 1, high.d)
	// (even - odd) r = even + odd
	den, num := even.clone(), even
	axpy(den.d, -1, odd.d)
	axpy(num.d, 1, odd.d)
	lu, perm, _ := luOf(den)
	r := refined(den, lu, perm, num, false)
	for range squarings {
		r = r.times(r)
	}
	return r
}

func rowsOf(a mat) [][]float64 {
	out := make([][]float64, a.m)
	for i := range out {
		out[i] = a.row(i)
	}
	return out
}
