package matrix

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
	w, v  Dense
	least float64 // the size of rows that are 0
	hands *Solver
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
		first := kernels.Norm2(x.w.Row(lo))
		if first <= x.least {
			clear(x.w.rows(lo, hi).Data)
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
	for hi > lo && kernels.Norm2(x.w.Row(hi-1)) < size {
		hi--
	}
	return hi
}

// turn applies the eigenvectors of w wᵀ for rows lo to hi, the longest row first.
func (x *singular) turn(lo, hi int) {
	w, v := x.w.rows(lo, hi), x.v.rows(lo, hi)
	n := hi - lo
	scaled := w.Clone()
	scaled.Scale(-w.Exponent())
	grams := New(n, n)
	x.hands.product(grams.all(), scaled.all(), false, scaled.all(), true, false)
	_, q := x.hands.Eigh(grams)
	for i := range n / 2 {
		a, b := q.Row(i), q.Row(n-1-i)
		for j := range a {
			a[j], b[j] = b[j], a[j]
		}
	}
	copy(w.Data, x.hands.times(q, w).Data)
	copy(v.Data, x.hands.times(q, v).Data)
}

// free takes from rows lo to hi what they have of others, which are all but orthogonal and
// larger: a rotation by angles whose squares are rounding.
func (x *singular) free(lo, hi, from, to int) {
	if lo == hi || from == to {
		return
	}
	small, large := x.w.rows(lo, hi), x.w.rows(from, to)
	angles := New(small.M, large.M)
	x.hands.product(angles.all(), small.all(), false, large.all(), true, false)
	for j := range large.M {
		size := kernels.Norm2(large.Row(j))
		for i := range small.M {
			angles.Data[i*large.M+j] = angles.Data[i*large.M+j] / size / size
		}
	}
	for _, a := range []Dense{x.w, x.v} {
		y, z := a.rows(lo, hi), a.rows(from, to)
		was := y.Clone()
		x.hands.minus(y.all(), angles.all(), false, z.all())
		x.hands.product(z.all(), angles.all(), true, was.all(), false, true)
	}
}

// orthonormal makes rows that are all but orthonormal so to rounding: each gives up what it
// has of those before it, to which it matters less.
func (h *Solver) orthonormal(u Dense) {
	for range 2 {
		g := New(u.M, u.M)
		h.product(g.all(), u.all(), false, u.all(), true, false)
		for i := range u.M {
			r := g.Row(i)
			clear(r[i+1:])
			negate(r[:i])
			r[i] = float64(0.5 * (1 - r[i]))
		}
		step := h.times(g, u)
		kernels.Accumulate(u.Data, step.Data)
	}
}

// rows are rows lo to hi, exclusively.
func (a Dense) rows(lo, hi int) Dense { return Dense{a.Data[lo*a.N : hi*a.N : hi*a.N], hi - lo, a.N} }

// jacobiRows turns the rows of w, and those of v with them, until they are orthogonal, by
// one-sided Jacobi rotations.
func jacobiRows(w, v Dense, tick func()) {
	n := w.M
	const eps = 0x1p-52
	tol := eps * math.Sqrt(float64(max(w.N, 4)))
	size := make([]float64, n)
	for range 60 {
		done := true
		for i := range n {
			size[i] = kernels.Norm2(w.Row(i))
		}
		for p := range n {
			tick()
			for q := p + 1; q < n; q++ {
				x, y := w.Row(p), w.Row(q)
				cos := kernels.Dot(x, y)
				if cos == 0 || math.Abs(cos) <= float64(tol*float64(size[p]*size[q])) {
					continue
				}
				c, sn := rotation(float64((size[q]-size[p])*(size[q]+size[p])) / float64(2*cos))
				kernels.Rotate(x, y, c, sn)
				kernels.Rotate(v.Row(p), v.Row(q), c, sn)
				size[p], size[q] = kernels.Norm2(x), kernels.Norm2(y)
				done = done && sn == 0
			}
		}
		if done {
			break
		}
	}
}
