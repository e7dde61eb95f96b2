package matrix

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/pool"
)

// exactRows is the size up to which factors are computed from sums with twice the
// digits, one at a time: pivots are then within an ulp or so of what the rounded
// factors before them say. Beyond it that costs too much.
const exactRows = 64

// Right sides of a large system: from how many on residuals are products, from how many on solutions
// are, and how many are solved together.
const (
	manySides    = 48
	manyColumns  = 16
	mostTogether = 128
)

// Expanded is the number of rows up to which a determinant needs no factors.
const Expanded = 3

// LU factors a = P L U with partial pivoting: U and, below its diagonal, L, whose own are ones.
// perm names the row of a that is row i of L U.
func (h *Solver) LU(a Dense) (lu Dense, perm []int) {
	n := a.N
	f := luFactors{lu: h.clone(a), perm: h.Order(n)}
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
}

// exact computes the factors from sums with twice the digits, a column of L and a row of U at
// a time.
func (f *luFactors) exact(h *Solver) {
	defer h.free(h.used)
	lu, n := f.lu, f.lu.N
	lt, u := h.raw(n, n), h.raw(1, n).Data // the columns of L, as rows, and a column of U
	for k := range n {
		column := lt.Row(k)[k:]
		for i := range n {
			if v := lu.Data[i*n+k]; i < k {
				u[i] = v
			} else {
				column[i-k] = v
			}
		}
		kernels.Residuals(column, u[:k], lt.Data[k:], n)
		p, best := pivot(column, 1)
		f.swap(k+p, k)
		for j := range k + 1 {
			r := lt.Row(j)
			r[k], r[k+p] = r[k+p], r[k]
		}
		top := lu.Row(k)
		kernels.Residuals(top[k+1:], top[:k], lu.Data[min(k+1, n-1):], n)
		if top[k] = column[0]; best != 0 {
			divide(column[1:], top[k])
		}
		for i, v := range column[1:] {
			lu.Data[(k+1+i)*n+k] = v
		}
	}
}

// pivot is the largest number of those of x that are ld apart, or the first NaN.
func pivot(x []float64, ld int) (p int, best float64) {
	best = math.Abs(x[0])
	for i := 1; i*ld < len(x); i++ {
		if v := math.Abs(x[i*ld]); v > best || v != v && best == best {
			p, best = i, v
		}
	}
	return p, best
}

// swap exchanges two rows.
func (f *luFactors) swap(p, k int) {
	if p == k {
		return
	}
	x, y := f.lu.Row(p), f.lu.Row(k)
	for j := range x {
		x[j], y[j] = y[j], x[j]
	}
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
	h.triSolve(a.at(c, c, p, p), right, false, false, true)
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

// eliminate factors the columns from, …, to-1 of the matrix with the rows of t for columns.
func (t part) eliminate(h *Solver, from, to int, pivots *[luPanel]int) {
	if to-from == 1 {
		k, x := from, t.row(from)
		p, best := pivot(x[k:], 1)
		p += k
		pivots[k] = p
		for j := range t.m {
			r := t.row(j)
			r[p], r[k] = r[k], r[p]
		}
		if best != 0 {
			divide(x[k+1:], x[k])
		}
		return
	}
	mid := (from + to) / 2
	t.eliminate(h, from, mid, pivots)
	for j := mid; j < to; j++ {
		x := t.row(j)
		for p := from; p < mid; p++ {
			for q := from; q < p; q++ {
				x[p] = math.FMA(-t.d[q*t.ld+p], x[q], x[p])
			}
		}
	}
	h.minus(t.at(mid, mid, to-mid, t.n-mid), t.at(mid, from, to-mid, mid-from), false, t.at(from, mid, mid-from, t.n-mid))
	t.eliminate(h, mid, to, pivots)
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
	h.luSolveBy(lu, h.columnsFor(lu, b, trans), perm, b, trans)
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

// luSolveBy is luSolve with what columnsFor says.
func (h *Solver) luSolveBy(lu, columns Dense, perm []int, b Dense, trans bool) {
	n, solve := lu.N, h.solveTriangle
	if n > shortSide {
		solve = h.triSolve
	}
	defer h.free(h.used)
	x := h.raw(n, b.N)
	if !trans {
		for i, p := range perm {
			copy(x.Row(i), b.Row(p))
		}
	} else {
		copy(x.Data, b.Data)
	}
	if columns.Data != nil {
		y := h.transposed(x)
		h.triSolveNarrow(columns, y, true, !trans)
		h.triSolveNarrow(columns, y, false, trans)
		kernels.TransposeLarge(x.Data, x.N, y.Data, n, x.N, n)
	} else {
		solve(lu.all(), x.all(), trans, trans, !trans)
		solve(lu.all(), x.all(), !trans, trans, trans)
	}
	if !trans {
		copy(b.Data, x.Data)
		return
	}
	for i, p := range perm {
		copy(b.Row(p), x.Row(i))
	}
}

// Refined solves op(a) x = b by the factors of a, op being the transpose if trans is set, and corrects x once by the residual, taken
// with twice the digits: the error of a well-conditioned system falls below an ulp or two.
func (h *Solver) Refined(a, lu Dense, perm []int, b Dense, trans bool) Dense {
	x := h.clone(b)
	if b.N == 1 && a.N <= fewRows {
		h.system.set(a, lu, perm, trans)
		h.system.refine(x.Data)
		return x
	}
	columns := h.columnsFor(lu, b, trans)
	h.luSolveBy(lu, columns, perm, x, trans)
	if !finite(x.Data) {
		return x
	}
	r := h.Residuals(a, x, b, trans)
	h.luSolveBy(lu, columns, perm, r, trans)
	if finite(r.Data) {
		kernels.Accumulate(x.Data, r.Data)
	}
	return x
}

// SolvesTogether reports whether systems of n rows and so many right sides each are solved together
// by RefinedAll. Of few rows each is a loop over numbers, and many right sides are enough by
// themselves.
func SolvesTogether(n, sides int) bool {
	return n > shortSide && sides > 0 && (n <= exactRows || sides < manySides)
}

// RefinedAll is Refined of each of many right sides of k columns, which stand one behind the other in b
// as the solutions in dst: the same bits. Together they are products of matrices.
func (h *Solver) RefinedAll(dst []float64, a, lu Dense, perm []int, b []float64, k int, trans bool) {
	n := a.N
	each := n * k
	if trans {
		a = a.T()
	}
	many := len(b) / each
	group := max(1, mostTogether/k)
	pool.Split(h.Threads, 8*n*len(b), (many+group-1)/group, func(lo, hi int) {
		own := Borrow(1, h.Check)
		for g := lo; g < hi; g++ {
			from, to := g*group, min((g+1)*group, many)
			b, dst := b[from*each:to*each], dst[from*each:to*each]
			own.Begin()
			side := own.raw(n, (to-from)*k)
			swapBlocks(side.Data, b, to-from, n, k)
			x := own.clone(side)
			own.luSolve(lu, perm, x, trans)
			r := own.clone(side)
			for i := range n {
				kernels.Residuals(r.Row(i), a.Row(i), x.Data, x.N)
			}
			own.luSolve(lu, perm, r, trans)
			own.correctEach(x, r, k)
			swapBlocks(dst, x.Data, n, to-from, k)
		}
		own.Return()
	})
}

// swapBlocks writes m rows of n blocks of k numbers as n rows of m blocks.
func swapBlocks(dst, src []float64, m, n, k int) {
	if k == 1 {
		kernels.TransposeLarge(dst, m, src, n, m, n)
		return
	}
	for i := range m {
		for j := range n {
			copy(dst[(j*m+i)*k:][:k], src[(i*n+j)*k:][:k])
		}
	}
}

// correctEach adds to solutions of k columns each their corrections, where both are finite.
func (h *Solver) correctEach(x, r Dense, k int) {
	if finite(x.Data) && finite(r.Data) {
		kernels.Accumulate(x.Data, r.Data)
		return
	}
	for from := 0; from < x.N; from += k {
		ok := true
		for i := 0; i < x.M && ok; i++ {
			ok = finite(x.Row(i)[from:from+k]) && finite(r.Row(i)[from:from+k])
		}
		for i := 0; i < x.M && ok; i++ {
			for j, v := range r.Row(i)[from : from+k] {
				x.Row(i)[from+j] += v
			}
		}
	}
}

// Inverse writes the inverse of a, by its factors, to dst. Of a large one it is U⁻¹ L⁻¹ with its
// columns permuted.
func (h *Solver) Inverse(dst []float64, a, lu Dense, perm []int) {
	n := a.N
	if n <= exactRows {
		copy(dst, h.refinedInverse(a, lu, perm, false).Data)
		return
	}
	x := h.eye(n)
	h.triInverse(lu.all(), x.all())
	h.triSolve(lu.all(), x.all(), true, false, false)
	for i := range n {
		row := dst[i*n:][:n]
		for j, v := range x.Row(i) {
			row[perm[j]] = v
		}
	}
}

// refinedInverse is the inverse x of op(a), corrected as Refined is: x times the residual says as
// much as another solution would, in half the time.
func (h *Solver) refinedInverse(a, lu Dense, perm []int, trans bool) Dense {
	one := h.eye(a.N)
	if a.N <= fewInverse {
		h.system.set(a, lu, perm, !trans) // whose solutions are the rows
		for i := range a.N {
			h.system.refine(one.Row(i))
		}
		return one
	}
	x := h.clone(one)
	h.luSolve(lu, perm, x, trans)
	if !finite(x.Data) {
		return x
	}
	r := h.Residuals(a, x, one, trans)
	if r = h.times(x, r); finite(r.Data) {
		kernels.Accumulate(x.Data, r.Data)
	}
	return x
}

// Residuals is b - op(a) x with twice the digits, or, where there is much to multiply, with
// half as many more; op is the transpose if trans is set.
func (h *Solver) Residuals(a, x, b Dense, trans bool) Dense {
	h.tick()
	const few = 8 // right sides, below which what is a vector is a column
	r := h.clone(b)
	switch {
	case b.N == 1:
		r, x = Of(r.Data, 1, b.M), Of(x.Data, 1, x.M)
	case b.N < few:
		r, x = h.transposed(r), h.transposed(x)
	}
	if trans != (b.N < few) {
		a = h.transposed(a)
	}
	if b.N >= manySides && a.N > exactRows {
		h.residualProducts(r, a, x, b)
		return r
	}
	if b.N >= few {
		pool.Split(h.Threads, 8*len(a.Data)*x.N, a.M, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				kernels.Residuals(r.Row(i), a.Row(i), x.Data, x.N)
			}
		})
		return r
	}
	pool.Split(h.Threads, 8*len(a.Data)*x.M, a.N, func(lo, hi int) {
		for j := range x.M {
			kernels.Residuals(r.Row(j)[lo:hi], x.Row(j), a.Data[lo:], a.N)
		}
	})
	if b.N == 1 {
		return Of(r.Data, b.M, 1)
	}
	return h.transposed(r)
}

// residualProducts writes b - a x by three products of matrices (Ozaki, Ogita, Oishi, Rump
// 2012): the leading bits of a times those of x is exact, and what is left out of it is
// small. Rows of x are scaled by powers of two, and columns of a against them, so that bits are
// counted from the largest term of a row.
func (h *Solver) residualProducts(r, a, x, b Dense) {
	n := a.N
	_, log := math.Frexp(float64(n))
	keep := (53 - log) / 2
	high, low, xs := h.clone(a), h.raw(a.M, n), h.clone(x)
	scales := h.raw(1, n).Data
	for i := range n {
		e := Dense{xs.Row(i), 1, x.N}.Exponent()
		e = max(min(e, 1000), -1000)
		scales[i] = math.Ldexp(1, e)
		for j := range xs.Row(i) {
			xs.Data[i*x.N+j] *= 1 / scales[i]
		}
	}
	for i := range a.M {
		row := high.Row(i)
		most := 0.0
		for j := range row {
			row[j] *= scales[j]
			most = max(most, math.Abs(row[j]))
		}
		_, e := math.Frexp(most)
		truncate(row, low.Row(i), math.Ldexp(1.5, e-keep+52))
	}
	xh, xl := h.clone(xs), h.raw(n, x.N) // no scaled number is larger than 1
	truncate(xh.Data, xl.Data, math.Ldexp(1.5, 52-keep))
	exact := h.times(high, xh)
	h.product(r.all(), high.all(), false, xl.all(), false, false)
	h.product(r.all(), low.all(), false, xs.all(), false, true)
	for i, v := range r.Data {
		r.Data[i] = b.Data[i] - exact.Data[i] - v
	}
}

// truncate leaves of x what is a multiple of the last bit of big, and moves the rest to low.
func truncate(x, low []float64, big float64) {
	for i, v := range x {
		x[i] = (v + big) - big
		low[i] = v - x[i]
	}
}

// Det is the determinant as f 2^e with |f| in [1/2, 1), so that no product overflows.
// Up to Expanded rows it is the expansion, with its products kept exact: whole numbers
// give whole numbers, and singular matrices of them 0.
func (h *Solver) Det(a Dense) (f float64, e int) {
	n, x := a.N, a.Data
	if n <= Expanded && tame(x) {
		switch n {
		case 0:
			f = 1
		case 1:
			f = x[0]
		case 2:
			f = cross2(x[0], x[1], x[2], x[3])
		case 3:
			f = dot2(x[:3], []float64{
				cross2(x[4], x[5], x[7], x[8]), cross2(x[5], x[3], x[8], x[6]), cross2(x[3], x[4], x[6], x[7])})
		}
		return math.Frexp(f)
	}
	lu, perm := h.LU(a)
	return h.DetBy(a, lu, perm)
}

// DetBy is Det by LU factors.
func (h *Solver) DetBy(a, lu Dense, perm []int) (f float64, e int) {
	if a.N > exactRows || ZeroPivot(lu) >= 0 {
		return h.pivots(lu, perm, 1)
	}
	r := h.factorRest(a, lu, perm)
	h.solveTriangle(lu.all(), r.all(), false, false, true)
	h.solveTriangle(lu.all(), r.all(), true, false, false)
	trace := 0.0
	for i := range r.N {
		trace += r.Row(i)[i]
	}
	return h.pivots(lu, perm, defect(trace))
}

// pivots is the product of the pivots, of the sign of the permutation, and of f.
func (h *Solver) pivots(lu Dense, perm []int, by float64) (f float64, e int) {
	n := lu.N
	f = float64(h.parity(perm) * by)
	for i := range n {
		k := 0
		f, k = math.Frexp(float64(f * lu.Data[i*n+i]))
		e += k
	}
	if f == 0 {
		return 0, 0
	}
	return f, e
}

// parity is the determinant of a permutation: each exchange on the way to it changes the sign.
func (h *Solver) parity(perm []int) float64 {
	sign, left := 1.0, h.Order(len(perm))
	copy(left, perm)
	for i := range left {
		for j := left[i]; j != i; j = left[i] {
			left[i], left[j] = left[j], j
			sign = -sign
		}
	}
	return sign
}

// defect is det(a) / det(L U) to first order, given the trace of (L U)⁻¹ (P a - L U).
func defect(trace float64) float64 {
	if trace-trace != 0 {
		return 1
	}
	return 1 + trace
}

// factorRest is P a - L U, which rounding has left.
func (h *Solver) factorRest(a, lu Dense, perm []int) Dense {
	n := a.N
	r := h.raw(n, n)
	defer h.free(h.used)
	u, l := h.clone(lu), h.raw(1, n).Data
	for i := range n {
		clear(u.Row(i)[:i])
		copy(l, lu.Row(i)[:i])
		l[i] = 1
		copy(r.Row(i), a.Row(perm[i]))
		kernels.Residuals(r.Row(i), l[:i+1], u.Data, n)
	}
	return r
}

// Cofactors writes det(a) a⁻ᵀ, which exists for singular matrices too: the derivative
// of the determinant. Up to Expanded rows it needs no factors.
func (h *Solver) Cofactors(dst []float64, a, lu Dense, perm []int) {
	n, x := a.N, a.Data
	switch n {
	case 1:
		dst[0] = 1
		return
	case 2:
		dst[0], dst[1], dst[2], dst[3] = x[3], -x[2], -x[1], x[0]
		return
	case 3:
		for i := range 3 {
			for j := range 3 {
				p, q := (i+1)%3*3, (i+2)%3*3
				r, s := (j+1)%3, (j+2)%3
				dst[i*3+j] = cross2(x[p+r], x[p+s], x[q+r], x[q+s])
			}
		}
		return
	}
	if wellPivoted(lu) {
		inv, by := Dense{}, 1.0
		if n <= exactRows {
			inv = h.refinedInverse(a, lu, perm, true)
			r, trace := h.factorRest(a, lu, perm), 0.0
			for i, p := range perm {
				trace += kernels.Dot(r.Row(i), inv.Row(p))
			}
			by = defect(trace)
		} else {
			inv = h.Refined(a, lu, perm, h.eye(n), true)
		}
		f, e := h.pivots(lu, perm, by)
		for i, v := range inv.Data {
			dst[i] = float64(f * v)
		}
		Of(dst, n, n).Scale(e)
		return
	}
	// a = U S Vᵀ: the cofactors of S are products of all but one singular value
	u, s, v, sign := h.signedSVD(a)
	c := make([]float64, n)
	for i := range c {
		c[i] = float64(sign * productWithout(s, i))
	}
	h.SpreadInto(dst, u, c, v)
}

// CofactorsAlong writes the derivative of the cofactors of a along directions g, the
// second, third, … derivative of the determinant: no inverse, so that a may be singular.
// In the basis of the singular vectors a is a diagonal, and the determinant of what has one
// row of each direction, one row left out and the others of a is a sum over the
// permutations of those rows.
func (h *Solver) CofactorsAlong(dst []float64, a Dense, g []Dense) {
	n := a.N
	u, s, v, sign := h.signedSVD(a)
	e := make([]Dense, len(g)) // Uᵀ g V
	for d := range g {
		e[d] = h.times(h.times(u, g[d]), v.T())
	}
	z := New(n, n)
	all := permutations(len(g) + 1)
	rows := make([]int, 0, len(g)+1) // the row left out, and that of each direction
	var choose func()
	choose = func() {
		if len(rows) < cap(rows) {
			for i := range n {
				if !slices.Contains(rows, i) {
					rows = append(rows, i)
					choose()
					rows = rows[:len(rows)-1]
				}
			}
			return
		}
		p := float64(sign * productWithout(s, rows...))
		for k, to := range all {
			term := 1.0
			for d, m := range e {
				term *= m.Data[rows[d+1]*n+rows[to[d+1]]]
			}
			if k%2 == 1 {
				term = -term
			}
			at := rows[0]*n + rows[to[0]]
			z.Data[at] = math.FMA(p, term, z.Data[at])
		}
	}
	choose()
	copy(dst, h.times(h.times(u.T(), z), v).Data)
}

// permutations lists those of 0 … n-1, each one exchange from the one before, so that even
// and odd ones alternate (B. R. Heap, Computer Journal 6, 1963).
func permutations(n int) (all [][]int) {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	var first func(k int) // all of the first k places
	first = func(k int) {
		if k <= 1 {
			all = append(all, slices.Clone(p))
			return
		}
		for i := range k {
			first(k - 1)
			if i < k-1 {
				j := i * (1 - k%2)
				p[j], p[k-1] = p[k-1], p[j]
			}
		}
	}
	first(n)
	return all
}

// wellPivoted reports whether the pivots are alike enough to divide by them.
func wellPivoted(lu Dense) bool {
	small, big := math.Inf(1), 0.0
	for k := range lu.N {
		v := math.Abs(lu.Data[k*lu.N+k])
		small, big = min(small, v), max(big, v)
	}
	return small > 1e-6*big
}
