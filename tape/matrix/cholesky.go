package matrix

import (
	"math"

	"nabla/kernels"
)

// Cholesky is the lower triangle l with l lᵀ = a. A pivot that is not positive ends
// it: k names it.
func (h *Solver) Cholesky(a Dense) (l Dense, k int, pivot float64) {
	n := a.N
	if n <= exactRows {
		return choleskyFew(a)
	}
	u := a.Clone()
	if k, pivot = h.choleskyUpper(u.all()); k >= 0 {
		return u, k, pivot
	}
	for i := range n {
		clear(u.Row(i)[:i])
	}
	return u.T(), -1, 0
}

// choleskyUpper overwrites the upper triangle of a with lᵀ.
func (h *Solver) choleskyUpper(a part) (k int, pivot float64) {
	const few = 32
	n := a.m
	if n <= few {
		b := New(n, n)
		kernels.TransposeLarge(b.Data, n, a.d, a.ld, n, n)
		l, k, pivot := choleskyFew(b)
		for i := range n {
			for j := i; j < n; j++ {
				a.d[i*a.ld+j] = l.Data[j*n+i]
			}
		}
		return k, pivot
	}
	p := (n/2 + few - 1) / few * few
	top, right, rest := a.at(0, 0, p, p), a.at(0, p, p, n-p), a.at(p, p, n-p, n-p)
	if k, pivot = h.choleskyUpper(top); k >= 0 {
		return k, pivot
	}
	h.triSolve(top, right, true, true, false)
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

// choleskyFew computes its elements from sums with twice the digits.
func choleskyFew(a Dense) (l Dense, k int, pivot float64) {
	n := a.N
	l = New(n, n)
	for j := range n {
		lj := l.Row(j)
		p := residual(a.Data[j*n+j], lj[:j], lj[:j])
		if p <= 0 {
			return l, j, p
		}
		d := math.Sqrt(p)
		lj[j] = d
		for i := j + 1; i < n; i++ {
			li := l.Row(i)
			li[j] = residual(a.Data[i*n+j], li[:j], lj[:j]) / d
		}
	}
	return l, -1, 0
}
