package matrix

import (
	"math"

	"nabla/kernels"
	"nabla/tape/pool"
)

// Large symmetric matrices are brought to tridiagonal form by Householder's reflections,
// which is taken apart (divide.go); the reflections turn its eigenvectors into
// those of the matrix. Jacobi's rotations, which keep the digits of small eigenvalues of
// graded matrices, take a hundred times as long at a size of 300.

// panelRows is how many reflections are applied together, as matrix products.
const panelRows = 32

// mostDirect is up to how many rows each reflection changes all rows behind it at once: .76 of the time for matrices of
// 12 to 50 rows, .88 for 128, as long for 200.
const mostDirect = 128

// A tridiagonal is a symmetric matrix Q T Qᵀ: the diagonal and the one beside it of T, and
// the reflections 1 - tau v vᵀ whose product is Q; v[k] is 0 up to place k.
type tridiagonal struct {
	d, e, tau []float64
	v         Dense
}

// tridiagonalOf reduces a symmetric matrix, which it overwrites, a panel of rows at a time
// (Dongarra, Hammarling, Sorensen 1989; LAPACK's dlatrd): within a panel the matrix stands
// as a - Σ (v wᵀ + w vᵀ), so that all but one product with a vector a row is a product of
// matrices.
func (h *Solver) tridiagonalOf(a Dense) *tridiagonal {
	n := a.N
	t := &tridiagonal{d: h.raw(1, n).Data, e: h.raw(1, n-1).Data, tau: h.raw(1, n-1).Data, v: h.New(n-1, n)}
	if n <= mostDirect {
		y := h.raw(1, n).Data
		for k := range n {
			h.tick()
			t.step(a, y, k)
		}
		return t
	}
	w := h.New(panelRows, n)
	both, other := h.raw(2*panelRows, n), h.raw(2*panelRows, n)
	for from := 0; from < n; from += panelRows {
		to := min(from+panelRows, n)
		for k := from; k < to; k++ {
			h.tick()
			t.row(h, a, w, from, k)
		}
		if to == n {
			continue
		}
		m, rest := to-from, n-to
		for i := range m {
			v, w := t.v.Row(from + i)[to:], w.Row(i)[to:]
			copy(both.Data[i*rest:], v)
			copy(both.Data[(m+i)*rest:], w)
			copy(other.Data[i*rest:], w)
			copy(other.Data[(m+i)*rest:], v)
		}
		h.minus(a.all().at(to, to, rest, rest), part{both.Data, rest, 2 * m, rest}, true, part{other.Data, rest, 2 * m, rest})
	}
	return t
}

// step reduces row k: d[k], e[k], the reflection k, and what it leaves of the rows behind it. y is room.
func (t *tridiagonal) step(a Dense, y []float64, k int) {
	n := a.N
	x, m := a.Row(k)[k:], n-k-1
	if t.d[k] = x[0]; m == 0 {
		return
	}
	v, y := t.v.Row(k)[k+1:], y[:m]
	copy(v, x[1:])
	t.tau[k], t.e[k] = reflection(v), v[0]
	if t.tau[k] == 0 {
		clear(v)
		return
	}
	v[0] = 1
	first := (k + 1) * (n + 1)
	rest := a.Data[first:]
	clear(y)
	kernels.Combine(y, v, a.Data, first, n)
	kernels.MulScalar(y, y, t.tau[k])
	kernels.Axpy(y, float64(-0.5*t.tau[k])*kernels.Dot(y, v), v)
	kernels.AxpyRows(rest, n, -1, v, 1, y, 0, m, m)
	kernels.AxpyRows(rest, n, -1, y, 1, v, 0, m, m)
}

// row reduces row k of the panel that begins at row from: d[k], e[k], the reflection k, and
// row k - from of w.
func (t *tridiagonal) row(h *Solver, a, w Dense, from, k int) {
	n := a.N
	x := a.Row(k)[k:]
	for i := range k - from {
		v, w := t.v.Row(from + i)[k:], w.Row(i)[k:]
		kernels.Axpy(x, -w[0], v)
		kernels.Axpy(x, -v[0], w)
	}
	t.d[k] = x[0]
	if k == n-1 {
		return
	}
	v, y := t.v.Row(k), w.Row(k-from)
	clear(y)
	v, y = v[k+1:], y[k+1:]
	copy(v, x[1:])
	t.tau[k], t.e[k] = reflection(v), v[0]
	if t.tau[k] == 0 {
		clear(v)
		return
	}
	v[0] = 1
	pool.Split(h.Threads, len(y)*len(y), len(y), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			y[i] = kernels.Dot(a.Row(k + 1 + i)[k+1:], v)
		}
	})
	for i := range k - from {
		u, w := t.v.Row(from + i)[k+1:], w.Row(i)[k+1:]
		p, q := kernels.Dot(w, v), kernels.Dot(u, v)
		kernels.Axpy(y, -p, u)
		kernels.Axpy(y, -q, w)
	}
	for i := range y {
		y[i] *= t.tau[k]
	}
	kernels.Axpy(y, float64(-0.5*t.tau[k])*kernels.Dot(y, v), v)
}

// back turns rows y, eigenvectors of T, into those of the matrix: y Qᵀ.
func (t *tridiagonal) back(h *Solver, y Dense) { h.reflectAll(y, t.v, t.tau, 1) }

// reflectAll multiplies rows y by the product of reflections 1 - tau v vᵀ, the last one first,
// where row k of v is 0 up to place k+shift. Reflections that stand together are 1 - Vᵀ U V
// (Schreiber, Van Loan 1989).
func (h *Solver) reflectAll(y, v Dense, tau []float64, shift int) {
	n := y.N
	defer h.free(h.used)
	for from := (len(tau) - 1) / panelRows * panelRows; from >= 0; from -= panelRows {
		m, rest := min(panelRows, len(tau)-from), n-from-shift
		v := v.all().at(from, from+shift, m, rest)
		grams := h.raw(m, m)
		h.product(grams.all(), v, false, v, true, false)
		u := h.New(m, m)
		for i := range m {
			tau := tau[from+i]
			u.Data[i*m+i] = tau
			for p := range i {
				s := 0.0
				for q := p; q < i; q++ {
					s = math.FMA(u.Data[p*m+q], grams.Data[q*m+i], s)
				}
				u.Data[p*m+i] = float64(-tau * s)
			}
		}
		x, z := h.raw(y.M, m), h.raw(y.M, m)
		turned := y.all().at(0, from+shift, y.M, rest)
		h.product(x.all(), turned, false, v, true, false)
		h.product(z.all(), x.all(), false, u.all(), true, false)
		h.minus(turned, z.all(), false, v)
	}
}
