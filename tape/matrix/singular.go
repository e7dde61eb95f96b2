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
			x.hands.jacobiRows(x.w.rows(lo, hi), x.v.rows(lo, hi))
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
	defer x.hands.free(x.hands.used)
	scaled := x.hands.clone(w)
	scaled.Scale(-w.Exponent())
	grams := x.hands.raw(n, n)
	x.hands.product(grams.all(), scaled.all(), false, scaled.all(), true, false)
	_, q := x.hands.eighTridiagonal(grams)
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
	defer x.hands.free(x.hands.used)
	small, large := x.w.rows(lo, hi), x.w.rows(from, to)
	angles := x.hands.raw(small.M, large.M)
	x.hands.product(angles.all(), small.all(), false, large.all(), true, false)
	for j := range large.M {
		size := kernels.Norm2(large.Row(j))
		for i := range small.M {
			angles.Data[i*large.M+j] = angles.Data[i*large.M+j] / size / size
		}
	}
	for _, a := range []Dense{x.w, x.v} {
		y, z := a.rows(lo, hi), a.rows(from, to)
		was := x.hands.clone(y)
		x.hands.minus(y.all(), angles.all(), false, z.all())
		x.hands.product(z.all(), angles.all(), true, was.all(), false, true)
	}
}

// apart is how many of the rows of u, of length 1, are all but orthogonal to those before: what
// is left of nearly dependent rows where the smallest singular values are rounding has the
// direction of others.
func (h *Solver) apart(u Dense) int {
	defer h.free(h.used)
	g := h.raw(u.M, u.M)
	h.product(g.all(), u.all(), false, u.all(), true, false)
	for i := range u.M {
		for _, x := range g.Row(i)[:i] {
			if math.Abs(x) > 0x1p-20 {
				return i
			}
		}
	}
	return u.M
}

// orthonormal makes rows that are all but orthonormal so to rounding: each gives up what it
// has of those before it, to which it matters less.
func (h *Solver) orthonormal(u Dense) {
	defer h.free(h.used)
	for range 2 {
		g := h.raw(u.M, u.M)
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
func (h *Solver) jacobiRows(w, v Dense) {
	n := w.M
	tol := 0x1p-52 * math.Sqrt(float64(max(w.N, 4)))
	defer h.free(h.used)
	square := h.raw(1, n).Data // of the lengths of rows, which rotations carry on
	for range 60 {
		done := true
		for i := range n {
			square[i] = kernels.Dot(w.Row(i), w.Row(i))
		}
		for p := range n {
			h.tick()
			x := w.Row(p)
			for q := p + 1; q < n; q++ {
				y := w.Row(q)
				cos := kernels.Dot(x, y)
				a, b := square[p], square[q]
				// Squares of less are too rough to tell an angle by, or are none.
				var c, s float64
				if a > 0x1p-400 && b > 0x1p-400 {
					if float64(cos*cos) <= float64(tol*tol)*float64(a*b) {
						continue
					}
					c, s = kernels.Rotation((b - a) / float64(2*cos))
				} else {
					sx, sy := kernels.Norm2(x), kernels.Norm2(y)
					if cos == 0 || math.Abs(cos) <= float64(tol*float64(sx*sy)) {
						continue
					}
					c, s = kernels.Rotation(float64((sy-sx)*(sy+sx)) / float64(2*cos))
				}
				kernels.Rotate(x, y, c, s)
				kernels.Rotate(v.Row(p), v.Row(q), c, s)
				// The shorter one is measured again where the difference has lost its digits.
				d := float64(s / c * cos)
				square[p], square[q] = a-d, b+d
				if square[p] < 0.125*a {
					square[p] = kernels.Dot(x, x)
				}
				if square[q] < 0.125*b {
					square[q] = kernels.Dot(y, y)
				}
				done = done && s == 0
			}
		}
		if done {
			break
		}
	}
}
