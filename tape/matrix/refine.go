package matrix

import (
	"math"

	"nabla/kernels"
	"nabla/tape/pool"
)

// Right sides of a large system: from how many on residuals are products, from how many on solutions
// are, and how many are solved together.
const (
	manySides    = 48
	manyColumns  = 16
	mostTogether = 128
)

// Refined solves op(a) x = b by the factors of a, op being the transpose if trans is set, and corrects x once by the residual, taken
// with twice the digits: the error of a well-conditioned system falls below an ulp or two.
func (h *Solver) Refined(a, lu Dense, perm []int, b Dense, trans bool) Dense {
	x := h.clone(b)
	if isFew(a.N, b.N) {
		h.system.set(a, lu, perm, trans)
		var side few
		for j := range b.N {
			for i := range b.M {
				side[i] = b.Data[i*b.N+j]
			}
			h.system.refine(side[:b.M])
			for i := range b.M {
				x.Data[i*b.N+j] = side[i]
			}
		}
		return x
	}
	columns := h.columnsFor(lu, b, trans)
	h.luSolveBy(lu, columns, perm, x, x.N, trans)
	if !finite(x.Data) {
		return x
	}
	r := h.Residuals(a, x, b, trans)
	h.luSolveBy(lu, columns, perm, r, r.N, trans)
	if finite(r.Data) {
		kernels.Accumulate(x.Data, r.Data)
	}
	return x
}

// isFew reports whether a system of n rows is solved for so many right sides as a fewSystem, for one by one.
func isFew(n, sides int) bool { return sides == 1 && n <= fewUnknowns || lanedSides(n, sides) }

// SolvesTogether reports whether so many systems of n rows, with so many right sides each, are solved together
// by RefinedAll. Many right sides are enough by themselves.
func SolvesTogether(n, sides, systems int) bool {
	const leastFew = 3 // right sides of few rows, of which each is a loop over numbers
	if isFew(n, sides) {
		return n > 0 && systems*sides >= leastFew
	}
	return n > shortSide && sides > 0 && (n <= exactRows || sides < manySides)
}

// RefinedAll is Refined of each of many right sides of k columns, which stand one behind the other in b
// as the solutions in dst: the same bits. Together they are products of matrices, or of their rows.
func (h *Solver) RefinedAll(dst []float64, a, lu Dense, perm []int, b []float64, k int, trans bool) {
	all := together{a, lu, perm, k, trans}
	each := a.N * k
	many := len(b) / each
	group := max(1, mostTogether/k)
	if many <= group { // without a function that would leave the stack: this is a step of a loop as well
		all.refine(h, dst, b)
		return
	}
	pool.Split(h.Threads, 8*a.N*len(b), (many+group-1)/group, func(lo, hi int) {
		own := Borrow(1, h.Check)
		for g := lo; g < hi; g++ {
			from, to := g*group*each, min((g+1)*group, many)*each
			own.Begin()
			all.refine(own, dst[from:to], b[from:to])
		}
		own.Return()
	})
}

// A together is one matrix, with its factors, of systems of k right sides each that are solved at once.
type together struct {
	a, lu Dense
	perm  []int
	k     int
	trans bool
}

// refine is RefinedAll of so many systems that one solver takes them at once.
func (s together) refine(h *Solver, dst, b []float64) {
	n := s.a.N
	many := len(b) / (n * s.k)
	side := h.raw(n, many*s.k)
	swapBlocks(side.Data, b, many, n, s.k)
	x, a := h.clone(side), s.a
	if s.trans {
		a = h.transposed(a)
	}
	s.solve(h, x)
	for i := range n {
		kernels.Residuals(side.Row(i), a.Row(i), x.Data, x.N)
	}
	s.solve(h, side)
	if isFew(n, s.k) {
		h.correctEach(x, side, 1)
	} else {
		h.correctEach(x, side, s.k)
	}
	swapBlocks(dst, x.Data, n, many, s.k)
}

// solve overwrites x with the solutions by the factors alone.
func (s together) solve(h *Solver, x Dense) {
	if isFew(s.lu.N, s.k) {
		h.luSolveFew(s.lu, s.perm, x, s.trans)
	} else {
		h.luSolve(s.lu, s.perm, x, s.trans)
	}
}

// swapBlocks writes m rows of n blocks of k numbers as n rows of m blocks. With four numbers at a time in place of calls to copy,
// Jacobians of Cholesky factors took 1.2 times as long.
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

// SharesInverse reports whether determinants and inverses of n rows are both found by what FirstInverse writes.
func SharesInverse(n int) bool { return n > mostLanedInverse && n <= exactRows }

// FirstInverse writes the inverse by the factors alone, of those with a pivot of 0 zeros.
func (h *Solver) FirstInverse(dst []float64, lu Dense, perm []int) {
	switch n := lu.N; {
	case ZeroPivot(lu) >= 0:
		clear(dst)
	case n <= mostLanedInverse: // by sums with twice the digits
		x := Of(dst, n, n)
		clear(dst)
		for i := range n {
			dst[i*n+i] = 1
		}
		h.luSolve(lu, perm, x, false)
	case n <= exactRows:
		h.inverseRows(Of(dst, n, n), lu, perm)
	default:
		h.inverseBy(Of(dst, n, n), lu, perm)
	}
}

// inverseRows is inverseBy row by row, each a sum of those before it: for 40 rows, products of matrices took twice the time.
func (h *Solver) inverseRows(x, lu Dense, perm []int) {
	defer h.free(h.used)
	n := lu.N
	negated := h.raw(1, n).Data
	clear(x.Data)
	for i, p := range perm { // L⁻¹ P
		row, factors := x.Row(i), negated[:i]
		row[p] = 1
		kernels.Neg(factors, lu.Row(i)[:i])
		if i > 0 {
			kernels.Combine(row, factors, x.Data, 0, n)
		}
	}
	for i := n - 1; i >= 0; i-- { // U⁻¹ of that
		row, factors := x.Row(i), negated[i+1:]
		kernels.Neg(factors, lu.Row(i)[i+1:])
		if i+1 < n {
			kernels.Combine(row, factors, x.Data, (i+1)*n, n)
		}
		divide(row, lu.Row(i)[i])
	}
}

// Inverse writes the inverse of a, by its factors, to dst. Of first, which may be nil, it takes the first inverse.
func (h *Solver) Inverse(dst []float64, a, lu Dense, perm []int, first []float64) {
	if a.N <= exactRows {
		copy(dst, h.refinedInverse(a, lu, perm, first).Data)
		return
	}
	h.FirstInverse(dst, lu, perm)
}

// inverseBy writes the inverse by the factors alone: U⁻¹ L⁻¹ with its columns permuted.
func (h *Solver) inverseBy(dst, lu Dense, perm []int) {
	defer h.free(h.used)
	x := h.eye(lu.N)
	h.triInverse(triangle{part: lu.all(), unit: true}, x.all())
	h.triSolve(triangle{part: lu.all(), upper: true}, x.all())
	for i := range lu.N {
		row := dst.Row(i)
		for j, v := range x.Row(i) {
			row[perm[j]] = v
		}
	}
}

// refinedInverse is the inverse x of a, corrected as Refined is: x times the residual says as
// much as another solution would, in half the time.
func (h *Solver) refinedInverse(a, lu Dense, perm []int, first []float64) Dense {
	n := a.N
	if n <= fewInverse {
		one := h.eye(n)
		h.system.set(a, lu, perm, true) // whose solutions are the rows
		for i := range n {
			h.system.refine(one.Row(i))
		}
		return one
	}
	x := h.firstInverse(lu, perm, first)
	if !finite(x.Data) {
		return x
	}
	r := h.Residuals(a, x, h.eye(n), false)
	if r = h.times(x, r); finite(r.Data) {
		kernels.Accumulate(r.Data, x.Data)
		return r
	}
	return x
}

// firstInverse is what FirstInverse has written, or writes.
func (h *Solver) firstInverse(lu Dense, perm []int, first []float64) Dense {
	if first != nil {
		return Of(first, lu.N, lu.N)
	}
	x := h.raw(lu.N, lu.N)
	h.FirstInverse(x.Data, lu, perm)
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
		row := xs.Row(i)
		scales[i] = math.Ldexp(1, max(min(exponent(row), 1000), -1000))
		kernels.MulScalar(row, row, 1/scales[i])
	}
	for i := range a.M {
		row := high.Row(i)
		kernels.Mul(row, row, scales)
		truncate(row, low.Row(i), math.Ldexp(1.5, exponent(row)-keep+52))
	}
	xh, xl := h.clone(xs), h.raw(n, x.N) // no scaled number is larger than 1
	truncate(xh.Data, xl.Data, math.Ldexp(1.5, 52-keep))
	exact := h.times(high, xh)
	h.product(r.all(), high.all(), false, xl.all(), false, false)
	h.product(r.all(), low.all(), false, xs.all(), false, true)
	kernels.Sub(exact.Data, b.Data, exact.Data)
	kernels.Sub(r.Data, exact.Data, r.Data)
}

// truncate leaves of x what is a multiple of the last bit of big, and moves the rest to low.
func truncate(x, low []float64, big float64) {
	copy(low, x)
	kernels.AddScalar(x, x, big)
	kernels.AddScalar(x, x, -big)
	kernels.Sub(low, low, x)
}
