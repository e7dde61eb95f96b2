package matrix

import (
	"math"

	"nabla/kernels"
)

// Cholesky is the lower triangle l with l lᵀ = a. A pivot that is not positive ends
// it: k names it.
func (h *Solver) Cholesky(a Dense) (l Dense, k int, pivot float64) {
	n, u := a.N, h.clone(a)
	if n <= exactRows {
		k, pivot = h.choleskyFew(u.all())
	} else {
		k, pivot = h.choleskyUpper(u.all())
	}
	if k >= 0 {
		return u, k, pivot
	}
	for i := range n {
		clear(u.Row(i)[:i])
	}
	return h.transposed(u), -1, 0
}

// choleskyUpper overwrites the upper triangle of a with lᵀ.
func (h *Solver) choleskyUpper(a part) (k int, pivot float64) {
	const few = 32
	n := a.m
	if n <= few {
		return h.choleskyFew(a)
	}
	p := (n/2 + few - 1) / few * few
	top, right, rest := a.at(0, 0, p, p), a.at(0, p, p, n-p), a.at(p, p, n-p, n-p)
	if k, pivot = h.choleskyUpper(top); k >= 0 {
		return k, pivot
	}
	h.triSolve(triangle{part: top, upper: true, trans: true}, right)
	h.minusSquare(rest, right)
	if k, pivot = h.choleskyUpper(rest); k >= 0 {
		k += p
	}
	return k, pivot
}

// minusSquare is the upper triangle of c -= aᵀ a.
func (h *Solver) minusSquare(c, a part) {
	n := c.m
	if n <= 64 {
		h.sumProduct(c, a, true, a, false, true)
		return
	}
	p := n / 2
	x, y := a.at(0, 0, a.m, p), a.at(0, p, a.m, n-p)
	h.minusSquare(c.at(0, 0, p, p), x)
	h.sumProduct(c.at(0, p, p, n-p), x, true, y, false, true)
	h.minusSquare(c.at(p, p, n-p, n-p), y)
}

// choleskyFew is choleskyUpper from sums with twice the digits.
func (h *Solver) choleskyFew(a part) (k int, pivot float64) {
	defer h.free(h.used)
	column := h.raw(1, a.m).Data
	for j := range a.m {
		for i := range j {
			column[i] = a.d[i*a.ld+j]
		}
		row := a.row(j)[j:]
		kernels.Residuals(row, column[:j], a.d[j:], a.ld)
		if row[0] <= 0 {
			return j, row[0]
		}
		row[0] = math.Sqrt(row[0])
		divide(row[1:], row[0])
	}
	return -1, 0
}
