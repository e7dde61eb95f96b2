package matrix

import (
	"slices"

	"nabla/kernels"
	"nabla/tape/pool"
)

// Factorisations of large matrices halve their columns until few are left: almost all of
// their work is then in products of matrices (Toledo 1997; Elmroth and Gustavson 2000). An
// element is a chain of fused products in one order wherever a product is cut, so that
// the bits are those of the plain loops, or at least depend on the size alone.

// A part is m rows of n numbers of a matrix, ld apart.
type part struct {
	d        []float64
	ld, m, n int
}

func (a Dense) all() part { return part{a.Data, a.N, a.M, a.N} }

// at is m rows of n numbers of p, from row i and column j on.
func (p part) at(i, j, m, n int) part {
	if m <= 0 || n <= 0 {
		return part{nil, p.ld, max(m, 0), max(n, 0)}
	}
	return part{p.d[i*p.ld+j:], p.ld, m, n}
}

func (p part) row(i int) []float64 { return p.d[i*p.ld:][:p.n:p.n] }

// Product is c = op(a) op(b); op is the transpose where ta or tb says so.
func (h *Solver) Product(c, a Dense, ta bool, b Dense, tb bool) {
	h.product(c.all(), a.all(), ta, b.all(), tb, false)
}

// product is c = op(a) op(b), or c += op(a) op(b).
func (h *Solver) product(c, a part, ta bool, b part, tb, add bool) {
	h.tick()
	k, by := a.n, kernels.Alone
	if ta {
		k = a.m
	}
	if threads := h.Threads; threads > 1 && pool.Worth(2*c.m*c.n*k, pool.LeastFlops) {
		by = pool.Workers(threads)
	}
	kernels.GemmShared(by, c.d, c.ld, a.d, a.ld, ta, b.d, b.ld, tb, c.m, c.n, k, add)
}

// minus is c -= op(a) b.
func (h *Solver) minus(c, a part, ta bool, b part) {
	if a.m*a.n <= b.m*b.n {
		a = h.negative(a)
	} else {
		b = h.negative(b)
	}
	h.product(c, a, ta, b, false, true)
}

// longest is the longest chain of sumProduct. Sums of sums of so many err as little as dot
// products in lanes do: L Lᵀ of 300 rows was 6 times as far off by one chain.
const longest = 128

// sumProduct is c = op(a) op(b), or c -= op(a) op(b), by chains that are cut and begin at 0.
func (h *Solver) sumProduct(c, a part, ta bool, b part, tb, minus bool) {
	k := a.n
	if ta {
		k = a.m
	}
	h.chunk = slices.Grow(h.chunk[:0], c.m*c.n)[:c.m*c.n]
	sum := part{h.chunk, c.n, c.m, c.n}
	for from := 0; from < k; from += longest {
		n := min(longest, k-from)
		var x, y part
		if ta {
			x = a.at(from, 0, n, a.n)
		} else {
			x = a.at(0, from, a.m, n)
		}
		if tb {
			y = b.at(0, from, b.m, n)
		} else {
			y = b.at(from, 0, n, b.n)
		}
		if from == 0 && !minus {
			h.product(c, x, ta, y, tb, false)
			continue
		}
		h.product(sum, x, ta, y, tb, false)
		for i := range c.m {
			if minus {
				kernels.Sub(c.row(i), c.row(i), sum.row(i))
			} else {
				kernels.Add(c.row(i), c.row(i), sum.row(i))
			}
		}
	}
}

// negative is -p, until it is asked for the next time.
func (h *Solver) negative(p part) part {
	h.negated = slices.Grow(h.negated[:0], p.m*p.n)[:p.m*p.n]
	for i := range p.m {
		kernels.Neg(h.negated[i*p.n:][:p.n], p.row(i))
	}
	return part{h.negated, p.n, p.m, p.n}
}

// times is a b.
func (h *Solver) times(a, b Dense) Dense {
	c := h.raw(a.M, b.N)
	h.product(c.all(), a.all(), false, b.all(), false, false)
	return c
}

// divide is x /= d.
func divide(x []float64, d float64) {
	if len(x) >= 4 {
		kernels.DivScalar(x, x, d)
		return
	}
	for i := range x {
		x[i] /= d
	}
}
