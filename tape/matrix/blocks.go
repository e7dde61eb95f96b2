package matrix

import (
	"math"
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
	if len(x) >= 64 {
		kernels.DivScalar(x, x, d)
		return
	}
	for i := range x {
		x[i] /= d
	}
}

// TriSolve overwrites b with the solution of op(l) x = b; op is the transpose if trans is set.
// Only one triangle of l is read, the upper one if upper is set.
func (h *Solver) TriSolve(l, b Dense, upper, trans bool) {
	h.solveTriangle(l.all(), b.all(), upper, trans, false)
}

// solveTriangle is triSolve where nobody counts on the order of its sums: few right sides are
// dot products and multiples of rows.
func (h *Solver) solveTriangle(l, b part, upper, trans, unit bool) {
	switch {
	case b.n <= shortRows && l.m <= shortSide && (b.n > 4 || l.m <= fewRows):
		triSolveShort(l, b, upper, trans, unit)
	case b.n < 16:
		h.triSolveFew(l, b, upper, trans, unit)
	default:
		h.triSolve(l, b, upper, trans, unit)
	}
}

// Small triangles, and the lengths of rows for which a sum with twice the digits takes no longer
// than preparing a product.
const (
	shortSide = 16
	shortRows = 64
)

// triSolveShort solves row by row by such sums.
func triSolveShort(l, b part, upper, trans, unit bool) {
	n := l.m
	var factors [shortSide]float64
	for s := range n {
		i, from, to := s, 0, s
		if upper != trans {
			i, from, to = n-1-s, n-s, n
		}
		known := factors[:to-from]
		for j := range known {
			if trans {
				known[j] = l.d[(from+j)*l.ld+i]
			} else {
				known[j] = l.d[i*l.ld+from+j]
			}
		}
		if len(known) > 0 {
			kernels.Residuals(b.row(i), known, b.d[from*b.ld:], b.ld)
		}
		if !unit {
			divide(b.row(i), l.d[i*l.ld+i])
		}
	}
}

// leastHalved is the size up to which a triangle is not halved: below, halving costs more than it saves,
// and so do products with fewer right sides: 10,000 inverses of 8 rows took 1.6 times as long with them.
const leastHalved = 16

// halfOf is the size of the first half of a triangle of n rows.
func halfOf(n int) int { return (n/2 + leastHalved - 1) / leastHalved * leastHalved }

// triSolve is TriSolve of parts; the diagonal of l counts as ones if unit is set.
func (h *Solver) triSolve(l, b part, upper, trans, unit bool) {
	n := l.m
	switch {
	case b.n < 16 && n <= exactRows:
		triSolveSmall(l, b, upper, trans, unit)
		return
	case n <= leastHalved:
		h.triSolveRows(l, b, upper, trans, unit)
		return
	}
	p := halfOf(n)
	x, y := b.at(0, 0, p, b.n), b.at(p, 0, n-p, b.n)
	l1, l2 := l.at(0, 0, p, p), l.at(p, p, n-p, n-p)
	off := l.at(p, 0, n-p, p)
	if upper {
		off = l.at(0, p, p, n-p)
	}
	if upper == trans {
		h.triSolve(l1, x, upper, trans, unit)
		h.minus(y, off, trans, x)
		h.triSolve(l2, y, upper, trans, unit)
	} else {
		h.triSolve(l2, y, upper, trans, unit)
		h.minus(x, off, trans, y)
		h.triSolve(l1, x, upper, trans, unit)
	}
}

// triSolveRows solves row by row: what is known times a row of l is one product.
func (h *Solver) triSolveRows(l, b part, upper, trans, unit bool) {
	n, forward := l.m, upper == trans
	for s := range n {
		i, from, to := s, 0, s
		if !forward {
			i, from, to = n-1-s, n-s, n
		}
		if k := to - from; k > 0 {
			a := l.at(i, from, 1, k)
			if trans {
				a = l.at(from, i, k, 1)
			}
			h.minus(b.at(i, 0, 1, b.n), a, trans, b.at(from, 0, k, b.n))
		}
		if !unit {
			divide(b.row(i), l.d[i*l.ld+i])
		}
	}
}

// triSolveFew is for few right sides, which are rows meanwhile.
func (h *Solver) triSolveFew(l, b part, upper, trans, unit bool) {
	n := l.m
	defer h.free(h.used)
	x := h.raw(b.n, n)
	kernels.TransposeLarge(x.Data, n, b.d, b.ld, n, b.n)
	for s := range n {
		i := s
		if upper != trans {
			i = n - 1 - s
		}
		from, to := 0, i // beside the diagonal: what is known already, or if trans is to be
		if upper {
			from, to = i+1, n
		}
		row, d := l.row(i)[from:to], l.d[i*l.ld+i]
		for k := range x.M {
			y := x.Row(k)
			if !trans {
				y[i] -= kernels.Dot(row, y[from:to])
			}
			if !unit {
				y[i] /= d
			}
			if trans {
				kernels.Axpy(y[from:to], -y[i], row)
			}
		}
	}
	kernels.TransposeLarge(b.d, b.ld, x.Data, n, b.n, n)
}

// triSolveNarrow is triSolve for few right sides, which are the rows of x, by the same chains: what is
// known is taken out of all that a half has left by one product. Row k of columns is column
// k; forward says that l is a lower triangle, after op.
func (h *Solver) triSolveNarrow(columns, x Dense, forward, unit bool) {
	h.narrowPart(columns, x, 0, columns.N, forward, unit)
}

// narrowPart solves unknowns lo … hi-1.
func (h *Solver) narrowPart(columns, x Dense, lo, hi int, forward, unit bool) {
	if hi-lo <= leastHalved {
		narrowFew(columns, x, lo, hi, forward, unit)
		return
	}
	mid := lo + halfOf(hi-lo)
	from, to, left, end := lo, mid, mid, hi // known, and what is left
	if !forward {
		from, to, left, end = mid, hi, lo, mid
	}
	h.narrowPart(columns, x, from, to, forward, unit)
	h.minus(x.all().at(0, left, x.M, end-left), x.all().at(0, from, x.M, to-from), false, columns.all().at(from, left, to-from, end-left))
	h.narrowPart(columns, x, left, end, forward, unit)
}

// narrowFew is narrowPart of few unknowns, of four right sides at a time: a chain waits for itself.
func narrowFew(columns, x Dense, lo, hi int, forward, unit bool) {
	const sides = 4
	m := hi - lo
	var l [leastHalved][leastHalved]float64 // -op(l)
	for k := range m {
		for i, v := range columns.Row(lo + k)[lo:hi] {
			l[i&(leastHalved-1)][k&(leastHalved-1)] = -v
		}
	}
	for r := 0; r < x.M; r += sides {
		var y [leastHalved][sides]float64
		n := min(sides, x.M-r)
		for c := range n {
			for i, v := range x.Row(r + c)[lo:hi] {
				y[i&(leastHalved-1)][c&(sides-1)] = v
			}
		}
		for s := range m {
			i, from, to := s, 0, s
			if !forward {
				i, from, to = m-1-s, m-s, m
			}
			row, v := &l[i], &y[i]
			a, b, c, d := v[0], v[1], v[2], v[3]
			for k := from; k < to; k++ {
				f, o := row[k], &y[k]
				a, b, c, d = math.FMA(f, o[0], a), math.FMA(f, o[1], b), math.FMA(f, o[2], c), math.FMA(f, o[3], d)
			}
			if !unit {
				by := -row[i]
				a, b, c, d = a/by, b/by, c/by, d/by
			}
			*v = [sides]float64{a, b, c, d}
		}
		for c := range n {
			for i := range m {
				x.Row(r + c)[lo+i] = y[i][c]
			}
		}
	}
}

// triSolveSmall is for small triangles and few right sides.
func triSolveSmall(l, b part, upper, trans, unit bool) {
	n := l.m
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
					axpy(x, -l.d[i*l.ld+j], b.row(j))
				}
			} else {
				for j := i + 1; j < n; j++ {
					axpy(x, -l.d[i*l.ld+j], b.row(j))
				}
			}
		}
		if !unit {
			d := l.d[i*l.ld+i]
			for k := range x {
				x[k] /= d
			}
		}
		if trans { // x is known: taken out of what is not
			if forward {
				for j := i + 1; j < n; j++ {
					axpy(b.row(j), -l.d[i*l.ld+j], x)
				}
			} else {
				for j := range i {
					axpy(b.row(j), -l.d[i*l.ld+j], x)
				}
			}
		}
	}
}

// triInverse overwrites b, the identity, with the inverse of the lower triangle l, whose
// diagonal counts as ones.
func (h *Solver) triInverse(l, b part) {
	n := l.m
	if n <= 16 {
		h.triSolveRows(l, b, false, false, true)
		return
	}
	p := (n/2 + 15) / 16 * 16
	x, y := b.at(0, 0, p, p), b.at(p, 0, n-p, p)
	l2 := l.at(p, p, n-p, n-p)
	h.triInverse(l.at(0, 0, p, p), x)
	h.minus(y, l.at(p, 0, n-p, p), false, x)
	h.triSolve(l2, y, false, false, true)
	h.triInverse(l2, b.at(p, p, n-p, n-p))
}
