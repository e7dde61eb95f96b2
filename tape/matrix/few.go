package matrix

import (
	"math"

	"nabla/kernels"
)

// Systems of few rows are worked on by plain loops over single numbers: a call for a vector of
// them costs more than what it does.

// fewRows is the size up to which they are, and fewUnknowns for one right side.
const (
	fewRows     = 8
	fewUnknowns = 16
)

// fewInverse is the size up to which an inverse is so many systems.
const fewInverse = 4

// A few is as many numbers as they have.
type few [fewUnknowns]float64

// few computes the factors as exact does, bit for bit.
func (f *luFactors) few() {
	var columns [fewRows]few // of U
	lu, n := f.lu.Data, f.lu.N
	for k := range n {
		best, p := 0.0, k
		for i := k; i < n; i++ {
			row := lu[i*n:][:n]
			v := residual(row[k], row[:k], columns[k][:k])
			row[k] = v
			if v = math.Abs(v); i == k || v > best || v != v && best == best {
				best, p = v, i
			}
		}
		f.swap(p, k)
		row := lu[k*n:][:n]
		for j := k + 1; j < n; j++ {
			v := residual(row[j], row[:k], columns[j][:k])
			row[j], columns[j][k] = v, v
		}
		if best != 0 {
			for i := k + 1; i < n; i++ {
				lu[i*n+k] /= row[k]
			}
		}
	}
}

// residual is s minus a·b as kernels.Residuals computes it.
func residual(s float64, a, b []float64) float64 {
	if len(a) == 0 { // -0 stays
		return s
	}
	low := 0.0
	b = b[:len(a)]
	for k, v := range a {
		y := b[k]
		p := float64(-v * y)
		e := math.FMA(-v, y, -p)
		t := s + p
		u := t - s
		low += e + ((s - (t - u)) + (p - u))
		s = t
	}
	if r := s + low; r-r == 0 {
		return r
	}
	return s
}

// A fewSystem is one of few rows, with its factors.
type fewSystem struct {
	rows  [fewUnknowns]few // of op(a)
	lu    []float64
	perm  []int
	n     int
	trans bool
}

// set makes s the system of a, or of its transpose, with its factors.
func (s *fewSystem) set(a, lu Dense, perm []int, trans bool) {
	s.lu, s.perm, s.n, s.trans = lu.Data, perm, a.N, trans
	for i := range s.n {
		if !trans {
			copy(s.rows[i][:s.n], a.Row(i))
			continue
		}
		for j, v := range a.Row(i) {
			s.rows[j&(fewUnknowns-1)][i] = v
		}
	}
}

// refine overwrites b with the solution, as Refined does.
func (s *fewSystem) refine(b []float64) {
	var rest few
	n := s.n
	copy(rest[:], b)
	s.solve(b)
	if !finiteFew(b) {
		return
	}
	for i := range n {
		rest[i] = residual(rest[i], b, s.rows[i][:n])
	}
	if s.solve(rest[:n]); finiteFew(rest[:n]) {
		for i := range b {
			b[i] += rest[i]
		}
	}
}

// solve overwrites b with the solution by the factors alone.
func (s *fewSystem) solve(b []float64) {
	var x few
	n := s.n
	if s.trans {
		copy(x[:], b)
		s.substitute(&x, 1, n, true, false)
		s.substitute(&x, 1, n, false, true)
		for i, p := range s.perm {
			b[p] = x[i&(fewUnknowns-1)]
		}
		return
	}
	for i, p := range s.perm {
		x[i&(fewUnknowns-1)] = b[p]
	}
	s.substitute(&x, n, 1, true, true)
	s.substitute(&x, n, 1, false, false)
	copy(b, x[:])
}

// substitute solves with a triangle of the factors, whose rows are down apart and whose columns
// right, from the first row on or from the last; its diagonal counts as ones if unit is set. What
// is known is taken out of all equations that are left at once: none waits for another. The
// products are rounded, which is what residuals are for.
func (s *fewSystem) substitute(x *few, down, right int, forward, unit bool) {
	n, lu := s.n, s.lu
	for k := range n {
		i, from, to := k, k+1, n
		if !forward {
			i = n - 1 - k
			from, to = 0, i
		}
		v := x[i&(fewUnknowns-1)]
		if !unit {
			v /= lu[i*(n+1)]
			x[i&(fewUnknowns-1)] = v
		}
		at := i*right + from*down
		for j := from; j < to; j++ {
			x[j&(fewUnknowns-1)] -= float64(v * lu[at])
			at += down
		}
	}
}

// luSolveFew overwrites each column of b with the solution, as fewSystem.solve does.
func (h *Solver) luSolveFew(lu Dense, perm []int, b Dense, trans bool) {
	defer h.free(h.used)
	x, n := h.raw(b.M, b.N), lu.N
	if trans {
		copy(x.Data, b.Data)
		h.substituteFew(lu.Data, x, 1, n, true, false)
		h.substituteFew(lu.Data, x, 1, n, false, true)
		for i, p := range perm {
			copy(b.Row(p), x.Row(i))
		}
		return
	}
	for i, p := range perm {
		copy(x.Row(i), b.Row(p))
	}
	h.substituteFew(lu.Data, x, n, 1, true, true)
	h.substituteFew(lu.Data, x, n, 1, false, false)
	copy(b.Data, x.Data)
}

// substituteFew is fewSystem.substitute for each column of x.
func (h *Solver) substituteFew(lu []float64, x Dense, down, right int, forward, unit bool) {
	defer h.free(h.used)
	n, t := x.M, h.raw(1, x.N).Data
	for k := range n {
		i, from, to := k, k+1, n
		if !forward {
			i = n - 1 - k
			from, to = 0, i
		}
		v := x.Row(i)
		if !unit {
			kernels.Fill(t, lu[i*(n+1)])
			kernels.Div(v, v, t)
		}
		at := i*right + from*down
		for j := from; j < to; j++ {
			kernels.MulScalar(t, v, lu[at])
			kernels.Sub(x.Row(j), x.Row(j), t)
			at += down
		}
	}
}
