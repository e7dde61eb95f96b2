package matrix

import (
	"math"

	"nabla/kernels"
)

// exactRows is the size up to which factors are computed from sums with twice the
// digits, one at a time: pivots are then within an ulp or so of what the rounded
// factors before them say. Beyond it that costs too much.
const exactRows = 64

// LU factors a = P L U with partial pivoting: U and, below its diagonal, L, whose own are ones.
// perm names the row of a that is row i of L U.
func (h *Solver) LU(a Dense) (lu Dense, perm []int) { return h.LUAndRest(a, Dense{}) }

// KeepsRest reports whether LUAndRest says what is left of a matrix of n rows.
func KeepsRest(n int) bool { return n > mostLaned && n <= exactRows }

// LUAndRest is LU, and writes to rest, if it has numbers, what rounding has left: a - PᵀL U, up to what is small beside it.
func (h *Solver) LUAndRest(a, rest Dense) (lu Dense, perm []int) {
	n := a.N
	f := luFactors{lu: h.clone(a), perm: h.Order(n), rest: rest}
	switch {
	case n <= fewRows:
		f.few()
	case n <= exactRows:
		f.exact(h)
	default:
		f.panel = h.raw(luPanel, n).Data
		f.columns(h, 0, n)
	}
	return f.lu, f.perm
}

// luFactors are LU factors that are being computed.
type luFactors struct {
	lu    Dense
	perm  []int
	panel []float64 // of the columns at work
	rest  Dense     // what exact leaves, in the order of the matrix; without numbers: it is not kept
}

// exact computes the factors from sums with twice the digits, a column of L and a row of U at
// a time.
func (f *luFactors) exact(h *Solver) {
	defer h.free(h.used)
	lu, n := f.lu, f.lu.N
	lt, u := h.raw(n, n), h.raw(1, n).Data // the columns of L, as rows, and a column of U
	keeps := f.rest.Data != nil
	left, was := h.raw(1, n).Data, h.raw(1, n).Data // of a column
	for k := range n {
		column, known := lt.Row(k)[k:], u[:k]
		kernels.Strided(known, lu.Data[k:], n)
		kernels.Strided(column, lu.Data[k*n+k:], n)
		if keeps {
			kernels.ResidualsRest(column, left[:n-k], known, lt.Data[k:], n)
		} else {
			kernels.Residuals(column, known, lt.Data[k:], n)
		}
		p, best := pivot(column)
		if p > 0 {
			exchange(lu.Row(k)[k+1:], lu.Row(k + p)[k+1:])
			f.perm[k], f.perm[k+p] = f.perm[k+p], f.perm[k]
			left[0], left[p] = left[p], left[0]
			for j := k; j < (k+1)*n; j += n {
				lt.Data[j], lt.Data[j+p] = lt.Data[j+p], lt.Data[j]
			}
		}
		top, from := lu.Row(k), lu.Data[min(k+1, n-1):]
		kernels.Strided(known, lt.Data[k:], n)
		if keeps {
			rest := f.rest.Row(f.perm[k])
			rest[k] = left[0]
			kernels.ResidualsRest(top[k+1:], rest[k+1:], known, from, n)
			copy(was, column[1:])
		} else {
			kernels.Residuals(top[k+1:], known, from, n)
		}
		if top[k] = column[0]; best != 0 {
			divide(column[1:], top[k])
		}
		if keeps { // and of the quotients
			was := was[:n-k-1]
			kernels.Axpy(was, -top[k], column[1:])
			for i, v := range was {
				f.rest.Data[f.perm[k+1+i]*n+k] = v + left[1+i]
			}
		}
	}
	l := h.transposed(lt)
	for i := range n {
		copy(lu.Row(i)[:i], l.Row(i))
	}
}

// exchange exchanges the numbers of x with those of y.
func exchange(x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		x[i], y[i] = y[i], v
	}
}

// pivot is the first of the largest numbers of x, or the first NaN.
func pivot(x []float64) (p int, best float64) {
	best = kernels.MaxAbs(x)
	for i, v := range x {
		if v = math.Abs(v); v == best || v != v {
			return i, best
		}
	}
	return 0, best
}

// swap exchanges two rows.
func (f *luFactors) swap(p, k int) {
	if p == k {
		return
	}
	exchange(f.lu.Row(p), f.lu.Row(k))
	f.perm[p], f.perm[k] = f.perm[k], f.perm[p]
}

// luPanel is how many columns are factored as rows of their own.
const luPanel = 16

// columns factors w columns from column c on, where those before have been: the left half,
// what it leaves of the right half, and that. Elements are the same chains as those of
// elimination column by column.
func (f *luFactors) columns(h *Solver, c, w int) {
	if w <= luPanel {
		f.narrow(h, c, w)
		return
	}
	n, a := f.lu.N, f.lu.all()
	p := (w/2 + luPanel - 1) / luPanel * luPanel
	f.columns(h, c, p)
	right := a.at(c, c+p, p, w-p)
	h.triSolve(triangle{part: a.at(c, c, p, p), unit: true}, right)
	h.minus(a.at(c+p, c+p, n-c-p, w-p), a.at(c+p, c, n-c-p, p), false, right)
	f.columns(h, c+p, w-p)
}

// narrow is columns for those of a panel, which are rows meanwhile.
func (f *luFactors) narrow(h *Solver, c, w int) {
	n := f.lu.N
	m := n - c
	t := part{f.panel, m, w, m}
	kernels.Transpose(t.d, m, f.lu.Data[c*n+c:], n, m, w)
	var pivots [luPanel]int
	t.eliminate(h, 0, w, &pivots)
	for k := range w {
		f.swap(c+pivots[k], c+k)
	}
	kernels.Transpose(f.lu.Data[c*n+c:], n, t.d, m, w, m)
}

// fewColumns is how many are taken out of others one after the other, not as a product: systems of 100 and 200 rows
// took 1.02 times as long with 1 and with 8.
const fewColumns = 4

// eliminate factors the columns from, …, to-1 of the matrix with the rows of p for columns.
func (p part) eliminate(h *Solver, from, to int, pivots *[luPanel]int) {
	if to-from == 1 {
		k, x := from, p.row(from)
		i, best := pivot(x[k:])
		i += k
		pivots[k] = i
		for at := 0; i != k && at < p.m*p.ld; at += p.ld {
			p.d[at+i], p.d[at+k] = p.d[at+k], p.d[at+i]
		}
		if best != 0 {
			divide(x[k+1:], x[k])
		}
		return
	}
	mid := (from + to) / 2
	p.eliminate(h, from, mid, pivots)
	for j := mid; j < to; j++ {
		x := p.row(j)
		for k := from; k < mid; k++ { // nothing that is left waits for another
			v, left := -x[k], x[k+1:mid]
			for i, f := range p.row(k)[k+1 : mid] {
				left[i] = math.FMA(f, v, left[i])
			}
		}
		if mid-from <= fewColumns {
			factors := h.factors[:mid-from]
			for k := range factors {
				factors[k] = -x[from+k]
			}
			kernels.Combine(x[mid:], factors, p.d, from*p.ld+mid, p.ld)
		}
	}
	if mid-from > fewColumns {
		h.minus(p.at(mid, mid, to-mid, p.n-mid), p.at(mid, from, to-mid, mid-from), false, p.at(from, mid, mid-from, p.n-mid))
	}
	p.eliminate(h, mid, to, pivots)
}

// ZeroPivot is the first pivot that is 0, or -1.
func ZeroPivot(lu Dense) int {
	for k := range lu.N {
		if lu.Data[k*lu.N+k] == 0 {
			return k
		}
	}
	return -1
}

// luSolve overwrites b with the solution of a x = b, or of aᵀ x = b. That of a large system is the
// same for a right side alone and among others.
func (h *Solver) luSolve(lu Dense, perm []int, b Dense, trans bool) {
	h.luSolveBy(lu, h.columnsFor(lu, b, trans), perm, b, b.N, trans)
}

// columnsFor are the columns of op(lu), as rows, if a solution by them wants these.
func (h *Solver) columnsFor(lu, b Dense, trans bool) Dense {
	switch {
	case lu.N <= shortSide || b.N >= manyColumns:
		return Dense{}
	case trans:
		return lu
	}
	return h.transposed(lu)
}

// luSolveBy is luSolve with what columnsFor says, for right sides of which so many belong together.
func (h *Solver) luSolveBy(lu, columns Dense, perm []int, b Dense, sides int, trans bool) {
	n := lu.N
	defer h.free(h.used)
	x := h.raw(n, b.N)
	switch {
	case trans:
		copy(x.Data, b.Data)
	case b.N == 1:
		for i, p := range perm {
			x.Data[i] = b.Data[p]
		}
	default:
		for i, p := range perm {
			copy(x.Row(i), b.Row(p))
		}
	}
	if columns.Data != nil {
		y := Of(x.Data, 1, n)
		if b.N != 1 {
			y = h.transposed(x)
		}
		h.triSolveNarrow(columns, y, true, !trans)
		h.triSolveNarrow(columns, y, false, trans)
		if b.N != 1 {
			kernels.TransposeLarge(x.Data, x.N, y.Data, n, x.N, n)
		}
	} else {
		l, u := triangle{part: lu.all(), trans: trans, unit: true}, triangle{part: lu.all(), upper: true, trans: trans}
		if trans { // Uᵀ is before Lᵀ
			l, u = u, l
		}
		for _, tri := range []triangle{l, u} {
			if n > shortSide {
				h.triSolve(tri, x.all())
			} else {
				h.solveTriangle(tri, x.all(), sides)
			}
		}
	}
	switch {
	case !trans:
		copy(b.Data, x.Data)
	case b.N == 1:
		for i, p := range perm {
			b.Data[p] = x.Data[i]
		}
	default:
		for i, p := range perm {
			copy(b.Row(p), x.Row(i))
		}
	}
}
