package matrix

import (
	"math"

	"nabla/kernels"
)

// QR is the thin QR decomposition of a tall matrix by Householder's reflections,
// with LAPACK's signs. Of many columns some at a time become one block of reflections,
// 1 - V T Vᵀ (Schreiber and Van Loan 1989), by halves (Elmroth and Gustavson 2000).
func (h *Solver) QR(a Dense) (q, r Dense) {
	m, n := a.M, a.N
	if n <= qrBlock {
		return h.qrFew(a)
	}
	f := qrFactors{w: h.transposed(a).all(), v: h.New(n, m).all(), t: h.New(n, qrBlock).all(),
		product: h.raw(n, qrBlock).Data, turned: h.raw(n, qrBlock).Data}
	for c := 0; c < n; c += qrBlock {
		k := min(qrBlock, n-c)
		f.columns(h, c, 0, k)
		f.apply(h, f.w.at(c+k, c, n-c-k, m-c), c, 0, k, false)
	}
	r = h.New(n, n)
	for i := range n {
		for j := i; j < n; j++ {
			r.Data[i*n+j] = f.w.d[j*m+i]
		}
	}
	qt := h.New(n, m)
	for j := range n {
		qt.Data[j*m+j] = 1
	}
	for c := (n - 1) / qrBlock * qrBlock; c >= 0; c -= qrBlock {
		f.apply(h, qt.all().at(c, c, n-c, m-c), c, 0, min(qrBlock, n-c), true)
	}
	return h.transposed(qt), r
}

// qrBlock is how many reflections are applied at once.
const qrBlock = 48

// qrFactors are the reflections of a QR decomposition that is being computed. w holds the
// columns of the matrix as rows, v those of V, and t the triangles T of the blocks, one
// below the other.
type qrFactors struct {
	w, v, t         part
	product, turned []float64
}

// columns reduces columns from, …, to-1 of the block that begins at c.
func (f *qrFactors) columns(h *Solver, c, from, to int) {
	if to-from == 1 {
		k := c + from
		x, v := f.w.row(k)[k:], f.v.row(k)[k:]
		f.t.row(k)[from] = reflection(x)
		v[0] = 1
		copy(v[1:], x[1:])
		return
	}
	m, mid := f.w.n, (from+to)/2
	f.columns(h, c, from, mid)
	f.apply(h, f.w.at(c+mid, c+from, to-mid, m-c-from), c, from, mid, false)
	f.columns(h, c, mid, to)
	// T of both: the upper right is -T₁ V₁ᵀ V₂ T₂
	p, q := mid-from, to-mid
	between, turned := part{f.product, q, p, q}, part{f.turned, q, p, q}
	h.sumProduct(between, f.v.at(c+from, c+mid, p, m-c-mid), false, f.v.at(c+mid, c+mid, q, m-c-mid), true, false)
	h.product(turned, between, false, f.t.at(c+mid, mid, q, q), false, false)
	h.minus(f.t.at(c+from, mid, p, q), f.t.at(c+from, from, p, p), false, turned)
}

// apply multiplies rows x, which begin at column c+from, by reflections from, …, to-1 of the
// block at c: x -= x V op(T) Vᵀ.
func (f *qrFactors) apply(h *Solver, x part, c, from, to int, trans bool) {
	if x.m == 0 {
		return
	}
	k := to - from
	v := f.v.at(c+from, c+from, k, x.n)
	xv, turned := part{f.product, k, x.m, k}, part{f.turned, k, x.m, k}
	h.sumProduct(xv, x, false, v, true, false)
	h.product(turned, xv, false, f.t.at(c+from, from, k, k), trans, false)
	h.sumProduct(x, turned, false, v, false, true)
}

// qrFew is QR with one reflection after the other.
func (h *Solver) qrFew(a Dense) (q, r Dense) {
	m, n := a.M, a.N
	w := h.transposed(a) // columns as rows
	tau := h.raw(1, n).Data
	for k := range n {
		tau[k] = reflection(w.Row(k)[k:])
		tail := w.Row(k)[k+1:]
		for j := k + 1; j < n; j++ {
			reflect(w.Row(j)[k:], tail, tau[k])
		}
	}
	r = h.New(n, n)
	for i := range n {
		for j := i; j < n; j++ {
			r.Data[i*n+j] = w.Data[j*m+i]
		}
	}
	qt := h.New(n, m)
	for j := range n {
		qt.Data[j*m+j] = 1
		for k := j; k >= 0; k-- {
			reflect(qt.Row(j)[k:], w.Row(k)[k+1:], tau[k])
		}
	}
	return h.transposed(qt), r
}

// pivotedQR reduces a matrix, whose columns are the rows of w, by reflections, of the columns
// that are left always the largest first: perm names them in this order. Left in w is Rᵀ; row k
// of v is the vector of a reflection, 0 up to place k. What is left of a column when no more than
// the rounding of it is 0: reflections of rounding would be of a size, and no direction.
func (h *Solver) pivotedQR(w Dense) (v Dense, tau []float64, perm []int) {
	n := w.M
	v, tau, perm = h.New(n, w.N), h.raw(1, n).Data, h.Order(n)
	size, whole := h.raw(1, n).Data, h.numbers(n)
	for k := range n {
		h.tick()
		best := k
		for j := k; j < n; j++ {
			rest := w.Row(j)[k:]
			size[j] = kernels.Norm2(rest)
			if whole[j] = max(whole[j], size[j]); size[j] <= 0x1p-52*whole[j] {
				clear(rest)
				size[j] = 0
			}
			if size[j] > size[best] {
				best = j
			}
		}
		x, y := w.Row(k), w.Row(best)
		if best != k {
			for i, t := range x {
				x[i], y[i] = y[i], t
			}
			perm[k], perm[best] = perm[best], perm[k]
			whole[best] = whole[k]
		}
		tau[k] = reflection(x[k:])
		copy(v.Row(k)[k:], x[k:])
		v.Row(k)[k] = 1
		clear(x[k+1:])
		for j := k + 1; j < n; j++ {
			reflect(w.Row(j)[k:], v.Row(k)[k+1:], tau[k])
		}
	}
	return v, tau, perm
}

// reflection overwrites x with the number that its reflection leaves of it and, behind that,
// v: 1 - tau (1, v)(1, v)ᵀ.
func reflection(x []float64) (tau float64) {
	tail := x[1:]
	rest := kernels.Norm2(tail)
	if rest == 0 {
		return 0
	}
	beta := -math.Copysign(kernels.HypotOf(x[0], rest), x[0])
	tau = (beta - x[0]) / beta
	divide(tail, x[0]-beta)
	x[0] = beta
	return tau
}

// reflect applies 1 - tau (1, v)(1, v)ᵀ.
func reflect(x, v []float64, tau float64) {
	if tau == 0 {
		return
	}
	s := float64(tau * (x[0] + kernels.Dot(x[1:], v)))
	x[0] -= s
	kernels.Axpy(x[1:], -s, v)
}
