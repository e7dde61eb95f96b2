package matrix

import (
	"math"

	"nabla/kernels"
)

// TriSolve overwrites b with the solution of op(l) x = b; op is the transpose if trans is set.
// Only one triangle of l is read, the upper one if upper is set.
func (h *Solver) TriSolve(l, b Dense, upper, trans bool) {
	h.solveTriangle(triangle{part: l.all(), upper: upper, trans: trans}, b.all(), b.N)
}

// SolvesTrianglesTogether reports whether many systems of one triangle of n rows, with k right sides each, are solved together
// by TriSolveAll.
func SolvesTrianglesTogether(n, k int) bool { return k <= shortRows && isShort(n, k) || k >= 16 }

// TriSolveAll is TriSolve of each of many right sides of k columns, which stand one behind the other in b as the solutions
// in dst: the same bits.
func (h *Solver) TriSolveAll(dst []float64, l Dense, b []float64, k int, upper, trans bool) {
	h.inGroups(l.N, l.N*k, len(b), func(own *Solver, from, to int) {
		x := own.raw(l.N, (to-from)/l.N)
		swapBlocks(x.Data, b[from:to], x.N/k, l.N, k)
		own.solveTriangle(triangle{part: l.all(), upper: upper, trans: trans}, x.all(), k)
		swapBlocks(dst[from:to], x.Data, l.N, x.N/k, k)
	})
}

// A triangle is one of a square part; the other is not read.
type triangle struct {
	part
	upper bool
	trans bool // it stands for its transpose
	unit  bool // its diagonal counts as ones
}

// corner is the triangle of n rows that begins at element (i, i).
func (l triangle) corner(i, n int) triangle {
	l.part = l.at(i, i, n, n)
	return l
}

// forward reports whether the first unknown is the first that a solution finds.
func (l triangle) forward() bool { return l.upper == l.trans }

// step is which of n unknowns is found in step s, and which are known by then: from … to-1.
func step(s, n int, forward bool) (i, from, to int) {
	if forward {
		return s, 0, s
	}
	return n - 1 - s, n - s, n
}

// solveTriangle is triSolve where nobody counts on the order of its sums: few right sides are
// dot products and multiples of rows. Right sides are solved as so many are that belong together.
func (h *Solver) solveTriangle(l triangle, b part, sides int) {
	switch {
	case sides <= shortRows && isShort(l.m, sides):
		h.triSolveShort(l, b)
	case sides < 16:
		h.triSolveFew(l, b)
	default:
		h.triSolve(l, b)
	}
}

// Small triangles, and the lengths of rows for which a sum with twice the digits takes no longer
// than preparing a product.
const (
	shortSide = 16
	shortRows = 64
)

// isShort reports whether n rows with k right sides are solved by such sums.
func isShort(n, k int) bool { return n <= shortSide && (k > 4 || n <= fewRows) }

// triSolveShort solves row by row by such sums.
func (h *Solver) triSolveShort(l triangle, b part) {
	n := l.m
	for s := range n {
		i, from, to := step(s, n, l.forward())
		known := h.factors[:to-from]
		for j := range known {
			if l.trans {
				known[j] = l.d[(from+j)*l.ld+i]
			} else {
				known[j] = l.d[i*l.ld+from+j]
			}
		}
		if len(known) > 0 {
			kernels.Residuals(b.row(i), known, b.d[from*b.ld:], b.ld)
		}
		if !l.unit {
			divide(b.row(i), l.d[i*l.ld+i])
		}
	}
}

// leastHalved is the size up to which a triangle is not halved: below, halving costs more than it saves,
// and so do products with fewer right sides: 10,000 inverses of 8 rows took 1.6 times as long with them.
const leastHalved = 16

// halfOf is the size of the first half of a triangle of n rows.
func halfOf(n int) int { return (n/2 + leastHalved - 1) / leastHalved * leastHalved }

// triSolve overwrites b with the solution of l x = b.
func (h *Solver) triSolve(l triangle, b part) {
	n := l.m
	switch {
	case b.n < 16 && n <= exactRows:
		triSolveSmall(l, b)
		return
	case n <= leastHalved:
		h.triSolveRows(l, b)
		return
	}
	p := halfOf(n)
	x, y := b.at(0, 0, p, b.n), b.at(p, 0, n-p, b.n)
	l1, l2 := l.corner(0, p), l.corner(p, n-p)
	off := l.at(p, 0, n-p, p)
	if l.upper {
		off = l.at(0, p, p, n-p)
	}
	if l.forward() {
		h.triSolve(l1, x)
		h.minus(y, off, l.trans, x)
		h.triSolve(l2, y)
	} else {
		h.triSolve(l2, y)
		h.minus(x, off, l.trans, y)
		h.triSolve(l1, x)
	}
}

// triSolveRows solves few rows one by one: a row of l times what is known is taken out, the oldest first,
// as narrowFew does it.
func (h *Solver) triSolveRows(l triangle, b part) {
	n := l.m
	for s := range n {
		i, from, to := step(s, n, l.forward())
		known := h.factors[:to-from]
		first, down := from, 1
		if !l.forward() {
			first, down = to-1, -1
		}
		for k := range known {
			j := first + k*down
			if l.trans {
				known[k] = -l.d[j*l.ld+i]
			} else {
				known[k] = -l.d[i*l.ld+j]
			}
		}
		if len(known) > 0 {
			kernels.Combine(b.row(i), known, b.d, first*b.ld, down*b.ld)
		}
		if !l.unit {
			divide(b.row(i), l.d[i*l.ld+i])
		}
	}
}

// triSolveFew is for few right sides, which are rows meanwhile.
func (h *Solver) triSolveFew(l triangle, b part) {
	n := l.m
	defer h.free(h.used)
	x := h.raw(b.n, n)
	kernels.TransposeLarge(x.Data, n, b.d, b.ld, n, b.n)
	for s := range n {
		i, _, _ := step(s, n, l.forward())
		from, to := 0, i // beside the diagonal: what is known already, or if trans is to be
		if l.upper {
			from, to = i+1, n
		}
		row, d := l.row(i)[from:to], l.d[i*l.ld+i]
		for k := range x.M {
			y := x.Row(k)
			if !l.trans {
				y[i] -= kernels.Dot(row, y[from:to])
			}
			if !l.unit {
				y[i] /= d
			}
			if l.trans {
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
		h.narrowFew(columns, x, lo, hi, forward, unit)
		return
	}
	mid := lo + halfOf(hi-lo)
	from, to, left, end := lo, mid, mid, hi // known, and what is left
	if !forward {
		from, to, left, end = mid, hi, lo, mid
	}
	h.narrowPart(columns, x, from, to, forward, unit)
	if x.M == 1 {
		h.minusRows(x.Data[left:end], x.Data[from:to], columns.Data, from*columns.N+left, columns.N)
	} else {
		h.minus(x.all().at(0, left, x.M, end-left), x.all().at(0, from, x.M, to-from), false, columns.all().at(from, left, to-from, end-left))
	}
	h.narrowPart(columns, x, left, end, forward, unit)
}

// minusRows takes from x rows of b, ld apart from at on, times the numbers of a.
func (h *Solver) minusRows(x, a, b []float64, at, ld int) {
	kernels.Combine(x, h.negative(part{a, len(a), 1, len(a)}).d, b, at, ld)
}

// narrowFew is narrowPart of few unknowns, of four right sides at a time: a chain waits for itself. It
// begins with what has been known longest, and so waits for its end alone.
func (h *Solver) narrowFew(columns, x Dense, lo, hi int, forward, unit bool) {
	if x.M == 1 {
		h.narrowHalves(columns, x.Data, lo, hi, forward, unit)
		return
	}
	const sides = 4
	m := hi - lo
	var l [leastHalved][leastHalved]float64 // -op(l), unknowns as they are found
	for k := range m {
		for i, v := range columns.Row(lo + k)[lo:hi] {
			if forward {
				l[i&(leastHalved-1)][k&(leastHalved-1)] = -v
			} else {
				l[(m-1-i)&(leastHalved-1)][(m-1-k)&(leastHalved-1)] = -v
			}
		}
	}
	first, down := lo, 1
	if !forward {
		first, down = hi-1, -1
	}
	for r := 0; r < x.M; r += sides {
		var y [leastHalved][sides]float64
		n := min(sides, x.M-r)
		for c := range n {
			for i, row := 0, x.Row(r+c); i < m; i++ {
				y[i&(leastHalved-1)][c&(sides-1)] = row[first+i*down]
			}
		}
		for i := range m {
			row, v := &l[i&(leastHalved-1)], &y[i&(leastHalved-1)]
			a, b, c, d := v[0], v[1], v[2], v[3]
			for k := range i {
				f, o := row[k&(leastHalved-1)], &y[k&(leastHalved-1)]
				a, b, c, d = math.FMA(f, o[0], a), math.FMA(f, o[1], b), math.FMA(f, o[2], c), math.FMA(f, o[3], d)
			}
			if !unit {
				by := -row[i&(leastHalved-1)]
				a, b, c, d = a/by, b/by, c/by, d/by
			}
			*v = [sides]float64{a, b, c, d}
		}
		for c := range n {
			for i, row := 0, x.Row(r+c); i < m; i++ {
				row[first+i*down] = y[i&(leastHalved-1)][c&(sides-1)]
			}
		}
	}
}

// narrowHalves is narrowFew of one right side, some unknowns after the other: what is found of them is taken out of the others.
func (h *Solver) narrowHalves(columns Dense, x []float64, lo, hi int, forward, unit bool) {
	n := columns.N
	for lo < hi {
		m := min(hi-lo, narrowUnknowns)
		from, to, left, end, first, down := lo, lo+m, lo+m, hi, lo, 1
		if !forward {
			from, to, left, end, first, down = hi-m, hi, lo, hi-m, hi-1, -1
		}
		if m == narrowUnknowns {
			narrowEight(columns.Data, x, first*n+first, down*n, first, down, unit)
		} else {
			narrowOne(columns, x, from, to, forward, unit)
		}
		if left < end {
			factors := h.factors[:m]
			for k := range factors {
				factors[k] = -x[first+k*down]
			}
			kernels.Combine(x[left:end], factors, columns.Data, first*n+left, down*n)
		}
		lo, hi = left, end
	}
}

// narrowUnknowns is how many have variables of their own.
const narrowUnknowns = 8

// narrowEight is narrowOne of so many unknowns, the first of which is at first, and its column at o of c: the others' are
// right apart, and their numbers down apart. Through memory they took three times as long.
func narrowEight(c, x []float64, o, right, first, down int, unit bool) {
	at := func(k int) *float64 { return &x[first+k*down] }
	x0, x1, x2, x3, x4, x5, x6, x7 := *at(0), *at(1), *at(2), *at(3), *at(4), *at(5), *at(6), *at(7)
	pivot := func() float64 {
		if unit {
			return 1
		}
		return c[o]
	}
	take := func(v float64, k int, y float64) float64 { return math.FMA(c[o+k*down], -v, y) }
	next := right + down
	x0 /= pivot()
	x1, x2, x3, x4 = take(x0, 1, x1), take(x0, 2, x2), take(x0, 3, x3), take(x0, 4, x4)
	x5, x6, x7 = take(x0, 5, x5), take(x0, 6, x6), take(x0, 7, x7)
	o += next
	x1 /= pivot()
	x2, x3, x4 = take(x1, 1, x2), take(x1, 2, x3), take(x1, 3, x4)
	x5, x6, x7 = take(x1, 4, x5), take(x1, 5, x6), take(x1, 6, x7)
	o += next
	x2 /= pivot()
	x3, x4, x5, x6, x7 = take(x2, 1, x3), take(x2, 2, x4), take(x2, 3, x5), take(x2, 4, x6), take(x2, 5, x7)
	o += next
	x3 /= pivot()
	x4, x5, x6, x7 = take(x3, 1, x4), take(x3, 2, x5), take(x3, 3, x6), take(x3, 4, x7)
	o += next
	x4 /= pivot()
	x5, x6, x7 = take(x4, 1, x5), take(x4, 2, x6), take(x4, 3, x7)
	o += next
	x5 /= pivot()
	x6, x7 = take(x5, 1, x6), take(x5, 2, x7)
	o += next
	x6 /= pivot()
	x7 = take(x6, 1, x7)
	o += next
	x7 /= pivot()
	*at(0), *at(1), *at(2), *at(3), *at(4), *at(5), *at(6), *at(7) = x0, x1, x2, x3, x4, x5, x6, x7
}

// narrowOne is narrowFew of one right side: what is found is taken out of all that are left, none of which
// waits for another.
func narrowOne(columns Dense, x []float64, lo, hi int, forward, unit bool) {
	for s := range hi - lo {
		k, from, to := lo+s, lo+s+1, hi
		if !forward {
			k, from, to = hi-1-s, lo, hi-1-s
		}
		column := columns.Row(k)
		if !unit {
			x[k] /= column[k]
		}
		v, left := -x[k], x[from:to]
		for i, f := range column[from:to] {
			left[i] = math.FMA(f, v, left[i])
		}
	}
}

// triSolveSmall is for small triangles and few right sides.
func triSolveSmall(l triangle, b part) {
	n := l.m
	for s := range n {
		i, from, to := step(s, n, l.forward())
		x := b.row(i)
		if !l.trans {
			for j := from; j < to; j++ {
				axpy(x, -l.d[i*l.ld+j], b.row(j))
			}
		}
		if !l.unit {
			d := l.d[i*l.ld+i]
			for k := range x {
				x[k] /= d
			}
		}
		if l.trans { // x is known: taken out of what is not
			for j := range n {
				if j != i && (j < from || j >= to) {
					axpy(b.row(j), -l.d[i*l.ld+j], x)
				}
			}
		}
	}
}

// triInverse overwrites b, the identity, with the inverse of the lower triangle l.
func (h *Solver) triInverse(l triangle, b part) {
	n := l.m
	if n <= 16 {
		h.triSolveRows(l, b)
		return
	}
	p := (n/2 + 15) / 16 * 16
	x, y := b.at(0, 0, p, p), b.at(p, 0, n-p, p)
	l2 := l.corner(p, n-p)
	h.triInverse(l.corner(0, p), x)
	h.minus(y, l.at(p, 0, n-p, p), false, x)
	h.triSolve(l2, y)
	h.triInverse(l2, b.at(p, p, n-p, n-p))
}
