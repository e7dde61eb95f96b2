package tape

import (
	"math"

	"nabla/kernels"
)

// Singular values of large matrices. The eigenvectors of w wᵀ turn the rows of w into
// orthogonal ones, but for those that are much smaller than the first: of them only the
// rounding of its square is seen. So rows are finished as long as they are a quarter of
// the first. Rows down to 2^-13 of it are known to half the digits: a rotation by a small
// angle takes what the smaller ones have of them; then they are few, and begin anew by
// themselves, as do the smaller ones, with squares of their own size.

// A singular is a matrix on the way to orthogonal rows: w = v a for an orthogonal v.
type singular struct {
	w, v  mat
	least float64 // the size of rows that are 0
	hands *hands
}

// leastSingular is the number of rows below which Jacobi's rotations do the work.
const leastSingular = 24

// finish makes rows lo to hi, exclusively, orthogonal.
func (x *singular) finish(lo, hi int) {
	for lo < hi {
		if hi-lo < leastSingular {
			jacobiRows(x.w.rows(lo, hi), x.v.rows(lo, hi), x.hands.tick)
			return
		}
		x.turn(lo, hi)
		first := norm2(x.w.row(lo))
		if first <= x.least {
			clear(x.w.rows(lo, hi).d)
			return
		}
		x.least = max(x.least, first*0x1p-70) // less is rounding of rounding
		here := x.from(lo, hi, first/4)
		x.free(here, hi, lo, here)
		there := x.from(here, hi, first*0x1p-13)
		if there == hi {
			lo = here
			continue
		}
		// What is a 16th of the other is free of it when this was done three times; what is
		// more comes again with the smaller ones.
		for range 3 {
			x.free(there, hi, here, there)
		}
		x.finish(here, there)
		lo = x.from(here, there, first*0x1p-9)
	}
}

// from is the first of rows lo to hi from which on all are shorter than size.
func (x *singular) from(lo, hi int, size float64) int {
	for hi > lo && norm2(x.w.row(hi-1)) < size {
		hi--
	}
	return hi
}

// turn applies the eigenvectors of w wᵀ for rows lo to hi, the longest row first.
func (x *singular) turn(lo, hi int) {
	w, v := x.w.rows(lo, hi), x.v.rows(lo, hi)
	n := hi - lo
	scaled := w.clone()
	scaled.scale(-w.exponent())
	grams := newMat(n, n)
	x.hands.product(grams.all(), scaled.all(), false, scaled.all(), true, false)
	_, q := x.hands.eighOf(grams)
	for i := range n / 2 {
		a, b := q.row(i), q.row(n-1-i)
		for j := range a {
			a[j], b[j] = b[j], a[j]
		}
	}
	copy(w.d, x.hands.times(q, w).d)
	copy(v.d, x.hands.times(q, v).d)
}

// free takes from rows lo to hi what they have of others, which are all but orthogonal and
// larger: a rotation by angles whose squares are rounding.
func (x *singular) free(lo, hi, from, to int) {
	if lo == hi || from == to {
		return
	}
	small, large := x.w.rows(lo, hi), x.w.rows(from, to)
	angles := newMat(small.m, large.m)
	x.hands.product(angles.all(), small.all(), false, large.all(), true, false)
	for j := range large.m {
		size := norm2(large.row(j))
		for i := range small.m {
			angles.d[i*large.m+j] = angles.d[i*large.m+j] / size / size
		}
	}
	for _, a := range []mat{x.w, x.v} {
		y, z := a.rows(lo, hi), a.rows(from, to)
		was := y.clone()
		x.hands.minus(y.all(), angles.all(), false, z.all(), false)
		x.hands.product(z.all(), angles.all(), true, was.all(), false, true)
	}
}

// orthonormal makes rows that are all but orthonormal so to rounding: each gives up what it
// has of those before it, to which it matters less.
func (h *hands) orthonormal(u mat) {
	for range 2 {
		g := newMat(u.m, u.m)
		h.product(g.all(), u.all(), false, u.all(), true, false)
		for i := range u.m {
			r := g.row(i)
			clear(r[i+1:])
			negate(r[:i])
			r[i] = float64(0.5 * (1 - r[i]))
		}
		step := h.times(g, u)
		kernels.Accumulate(u.d, step.d)
	}
}

// rows are rows lo to hi, exclusively.
func (a mat) rows(lo, hi int) mat { return mat{a.d[lo*a.n : hi*a.n : hi*a.n], hi - lo, a.n} }

// jacobiRows turns the rows of w, and those of v with them, until they are orthogonal, by
// one-sided Jacobi rotations.
func jacobiRows(w, v mat, tick func()) {
	n := w.m
	const eps = 0x1p-52
	tol := eps * math.Sqrt(float64(max(w.n, 4)))
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
				rotate(v.row(p), v.row(q), c, sn)
				size[p], size[q] = norm2(x), norm2(y)
				done = done && sn == 0
			}
		}
		if done {
			break
		}
	}
}
