package matrix

import (
	"math"

	"nabla/kernels"
)

// Small matrices of a batch are worked on side by side: number (i, j) of all matrices of a group
// stands together, so that vectors of kernels go across matrices, where the rows of one are too
// short for them, and each sum waits for itself. Each matrix takes the steps, and has the bits, that
// it has alone.

// mostLaned is how many rows such matrices have at most, mostLanedInverse of determinants and inverses, and mostLanedFactors of
// many systems with one right side. Side by side, 200 systems of 14 and 16 rows took half of the time, their Cholesky factors
// .6 and .7, inverses as long and 1.2 times as long.
const (
	leastLaned       = 2
	mostLaned        = 16
	mostLanedInverse = 12
	mostLanedFactors = 40
)

// LanesAtOnce is how many matrices are a group: four vectors.
const LanesAtOnce = 32

// A laned is g matrices of so many rows of n numbers each.
type laned struct {
	d    []float64
	n, g int
}

// at are numbers (i, j), and from all from there on.
func (x laned) at(i, j int) []float64   { return x.d[(i*x.n+j)*x.g:][:x.g:x.g] }
func (x laned) from(i, j int) []float64 { return x.d[(i*x.n+j)*x.g:] }

// laned is room for g matrices of m rows of n numbers.
func (h *Solver) laned(m, n, g int) laned { return laned{h.raw(m*n, g).Data, n, g} }

// lanes puts g matrices of rows of n numbers, one behind the other, side by side.
func (h *Solver) lanes(src []float64, n, g int) laned {
	size := len(src) / g
	x := h.laned(size/n, n, g)
	kernels.TransposeLarge(x.d, x.g, src, size, g, size)
	return x
}

// zeros is laned with zeros.
func (h *Solver) zeros(m, n, g int) laned {
	x := h.laned(m, n, g)
	clear(x.d)
	return x
}

// apart writes them one behind the other, size apart.
func (x laned) apart(dst []float64, size int) {
	kernels.TransposeLarge(dst, size, x.d, x.g, len(x.d)/x.g, x.g)
}

// minus takes from (i, j) of x the products of m numbers of a row of y with as many of a column of z.
func (x laned) minus(i, j int, y laned, yi, yj int, z laned, zi, zj, m int) {
	if m > 0 {
		kernels.ResidualsApart(x.at(i, j), y.from(yi, yj), z.from(zi, zj), y.g, z.n*z.g, m)
	}
}

// Laned reports whether matrices of n rows are worked on side by side, for their factors.
func Laned(n int) bool { return n >= leastLaned && n <= mostLaned }

// LanedDeterminant reports whether their determinants by these are found side by side.
func LanedDeterminant(n int) bool { return n >= leastLaned && n <= mostLanedInverse }

// LanedInverse reports whether their inverses are.
func LanedInverse(n int) bool { return LanedDeterminant(n) }

// LanedFactors reports whether LU factors of so many matrices of n rows are found side by side. With solutions by them, 100
// systems of 17 rows took .46 of the time, of 24 rows .67, of 40 rows .91; 8 systems of 24 rows, and 20 of 40, longer.
func LanedFactors(n, matrices int) bool {
	switch {
	case n <= mostLaned:
		return Laned(n)
	case n <= 24:
		return matrices >= LanesAtOnce/2
	}
	return n <= mostLanedFactors && matrices >= LanesAtOnce
}

// LUs writes to dst the factors of g matrices of n rows, as LU has them, each with its permutation in a
// row below, and below that, if it is wanted, the rest that LUAndRest says.
func (h *Solver) LUs(dst, a []float64, n, g int, keeps bool) {
	x, perm := h.lanes(a, n, g), h.laned(n, 1, g)
	size := n*n + n
	var rest laned // rows in the order of the factors
	if keeps {
		size += n * n
		rest = h.laned(n, n, g)
	}
	minus := func(i, j, m int) { // from (i, j) the products of m numbers of its row and column
		if keeps {
			kernels.ResidualsApartRest(x.at(i, j), rest.at(i, j), x.from(i, 0), x.from(0, j), g, n*g, m)
		} else {
			x.minus(i, j, x, i, 0, x, 0, j, m)
		}
	}
	best, divisor := h.raw(1, g).Data, h.raw(1, g).Data
	sizes, first := h.laned(n, 1, g), h.Order(g)
	for i := range n {
		kernels.Fill(perm.at(i, 0), float64(i))
	}
	for k := range n {
		for i := k; i < n; i++ {
			minus(i, k, k)
		}
		for i := k; i < n; i++ {
			kernels.Abs(sizes.at(i, 0), x.at(i, k))
		}
		if !kernels.Tallest(best, first, nil, sizes.from(k, 0), g, n-k) { // the first NaN
			for l := range g {
				first[l], best[l] = 0, sizes.at(k, 0)[l]
				for i := k + 1; i < n; i++ {
					if v := sizes.at(i, 0)[l]; v > best[l] || v != v && best[l] == best[l] {
						first[l], best[l] = i-k, v
					}
				}
			}
		}
		for l, p := range first {
			if p == 0 {
				continue
			}
			at, to := k*n*g+l, (k+p)*n*g+l
			for j := range n {
				x.d[at], x.d[to] = x.d[to], x.d[at]
				if keeps && j <= k {
					rest.d[at], rest.d[to] = rest.d[to], rest.d[at]
				}
				at, to = at+g, to+g
			}
			u, v := perm.at(k+p, 0), perm.at(k, 0)
			u[l], v[l] = v[l], u[l]
		}
		for j := k + 1; j < n; j++ {
			minus(k, j, k)
		}
		for l, v := range x.at(k, k) {
			if divisor[l] = v; best[l] == 0 {
				divisor[l] = 1
			}
		}
		was, negative := sizes.at(0, 0), best
		kernels.Neg(negative, x.at(k, k))
		for i := k + 1; i < n; i++ {
			v := x.at(i, k)
			if !keeps {
				kernels.Div(v, v, divisor)
				continue
			}
			copy(was, v)
			kernels.Div(v, v, divisor)
			kernels.FMA(was, negative, v, was) // what is left of the quotients
			kernels.Add(rest.at(i, k), was, rest.at(i, k))
		}
	}
	x.apart(dst, size)
	perm.apart(dst[n*n:], size)
	if keeps {
		left := h.raw(g, n*n)
		rest.apart(left.Data, n*n)
		for l := range g {
			one := dst[l*size+n*n:]
			for i, p := range one[:n] {
				copy(one[n+int(p)*n:][:n], left.Row(l)[i*n:])
			}
		}
	}
}

// Dets calls f with the determinant of each of g matrices of n rows, as DetBy has it by factors that LUs
// wrote.
func (h *Solver) Dets(a, factors []float64, n, g int, f func(l int, f float64, e int)) {
	rest, lu := h.permuted(a, factors, n, g), h.lanes(factors, n, g)
	u, l := h.laned(n, n, g), h.laned(1, n, g)
	copy(u.d, lu.d)
	for i := range n {
		clear(u.d[i*n*u.g:][:i*u.g])
	}
	for i := range n {
		copy(l.d, lu.from(i, 0)[:i*lu.g])
		kernels.Fill(l.at(0, i), 1)
		for j := range n {
			rest.minus(i, j, l, 0, 0, u, 0, j, i+1)
		}
	}
	lu.solve(rest, false, false, true)
	lu.solve(rest, true, false, false)
	trace := h.New(1, g).Data
	for i := range n {
		kernels.Add(trace, trace, rest.at(i, i))
	}
	for k := range g {
		one := factors[k*(n*n+n):][:n*n+n]
		was := h.placed
		perm := h.Order(n)
		for i := range perm {
			perm[i] = int(one[n*n+i])
		}
		by := defect(trace[k])
		if ZeroPivot(Of(one[:n*n], n, n)) >= 0 {
			by = 1
		}
		v, e := h.pivots(Of(one[:n*n], n, n), perm, by)
		f(k, v, e)
		h.placed = was
	}
}

// LanedExpansion reports whether determinants and cofactors of n rows, which need no factors, are found side by side.
func LanedExpansion(n int) bool { return n >= leastLaned && n <= Expanded }

// ExpandedDets calls f with the determinant of each of g matrices of n rows, as Det has it without factors.
func (h *Solver) ExpandedDets(a []float64, n, g int, f func(l int, f float64, e int)) {
	x, t := h.lanes(a, n, g), h.laned(n, n, g)
	if kernels.Abs(t.d, x.d); !(kernels.Min(t.d) > leastTame && kernels.Max(t.d) < mostTame) {
		for l := range g {
			v, e := h.Det(Of(a[l*n*n:][:n*n], n, n))
			f(l, v, e)
		}
		return
	}
	det := h.New(1, g).Data
	if n == 2 {
		kernels.Neg(t.d, x.d)
		h.crossLanes(det, x.at(0, 0), x.at(0, 1), x.at(1, 0), x.at(1, 1), t.at(0, 1))
	} else {
		h.cofactorRows(t, x, 1)
		kernels.ResidualsApart(det, x.d, t.d, g, g, 3)
		kernels.Sub(det, h.numbers(g), det)
	}
	for l, v := range det {
		v, e := math.Frexp(v)
		f(l, v, e)
	}
}

// ExpandedCofactors writes the cofactors of g matrices of n rows, as Cofactors has them without factors.
func (h *Solver) ExpandedCofactors(dst, a []float64, n, g int) {
	x, c := h.lanes(a, n, g), h.laned(n, n, g)
	if n == 2 {
		copy(c.at(0, 0), x.at(1, 1))
		copy(c.at(1, 1), x.at(0, 0))
		kernels.Neg(c.at(0, 1), x.at(1, 0))
		kernels.Neg(c.at(1, 0), x.at(0, 1))
	} else {
		h.cofactorRows(c, x, 3)
	}
	c.apart(dst, n*n)
}

// cofactorRows writes rows of the cofactors of matrices of three rows: a row at once, for which columns come
// round again.
func (h *Solver) cofactorRows(c, x laned, rows int) {
	g := x.g
	round, minus := h.laned(3, 5, g), h.laned(3, 5, g)
	for i := range 3 {
		row := round.from(i, 0)[:5*g]
		copy(row[copy(row, x.from(i, 0)[:3*g]):], row[:2*g])
	}
	kernels.Neg(minus.d, round.d)
	for i := range rows {
		from := func(i, j int) []float64 { return round.from(i%3, j)[:3*g] }
		h.crossLanes(c.from(i, 0)[:3*g], from(i+1, 1), from(i+1, 2), from(i+2, 1), from(i+2, 2), minus.from((i+1)%3, 2)[:3*g])
	}
}

// crossLanes is cross2 of numbers side by side, given -b too.
func (h *Solver) crossLanes(dst, a, b, c, d, minusB []float64) {
	defer h.free(h.used)
	w, e := h.raw(1, len(dst)).Data, h.raw(1, len(dst)).Data
	kernels.Mul(w, b, c)
	kernels.FMA(e, minusB, c, w)
	kernels.Mul(w, minusB, c)
	kernels.FMA(dst, a, d, w)
	kernels.Add(dst, dst, e)
}

// Solutions writes the solutions of g systems of n rows with k right sides each, as Refined has them by
// factors that LUs or LU wrote.
func (h *Solver) Solutions(dst, a, factors, b []float64, n, k, g int, trans bool) {
	s, x, side := h.lanedSystemOf(a, factors, n, g, trans), h.lanes(b, k, g), h.laned(n, 1, g)
	for j := range k {
		for i := range n {
			copy(side.at(i, 0), x.at(i, j))
		}
		s.refine(h, side)
		for i := range n {
			copy(x.at(i, j), side.at(i, 0))
		}
	}
	x.apart(dst, n*k)
}

// fewSides is how many right sides of a system of few rows are solved one by one: 2 to 4 in .66 to .95 of the time that
// it takes together, 8 in .9 to 1.6. Side by side, 1000 systems of 3 rows and 2 sides took .13 of the time alone.
const fewSides = 4

// lanedSides reports whether systems of n rows with k right sides each are solved side by side, and alone as so many
// systems of few rows.
func lanedSides(n, k int) bool { return Laned(n) && k > 0 && k <= fewSides }

// LanedSolutions reports whether so many systems are solved side by side.
func LanedSolutions(n, k, matrices int) bool {
	return lanedSides(n, k) || k == 1 && LanedFactors(n, matrices)
}

// correctLanes adds to each of the numbers side by side their corrections, where all of both are finite.
func (h *Solver) correctLanes(x, more laned) {
	odd, t := h.New(1, x.g).Data, h.raw(1, x.g).Data // not 0 where something is not finite
	for _, y := range []laned{x, more} {
		for i := 0; i < len(y.d); i += y.g {
			kernels.Sub(t, y.d[i:i+y.g], y.d[i:i+y.g])
			kernels.Add(odd, odd, t)
		}
	}
	for l, v := range odd {
		for i := l; i < len(more.d) && v != 0; i += more.g {
			more.d[i] = math.Copysign(0, x.d[i]) // which adds nothing
		}
	}
	kernels.Add(x.d, x.d, more.d)
}

// A lanedSystem are systems of op(a), for matrices a side by side, and their factors, each with its permutation in a row below.
type lanedSystem struct {
	a, lu laned
	trans bool
	t     []float64
	more  laned
	from  []int // where each number of a right side is in the order of the factors
}

// lanedSystemOf is that of g matrices of n rows with factors that LUs or LU wrote.
func (h *Solver) lanedSystemOf(a, factors []float64, n, g int, trans bool) *lanedSystem {
	s := &lanedSystem{h.lanes(a, n, g), h.lanes(factors, n, g), trans, h.raw(1, g).Data, h.laned(n, 1, g), h.Order(n * g)}
	for i, p := range s.lu.from(n, 0)[:n*g] {
		s.from[i] = int(p)*g + i%g
	}
	return s
}

// refine overwrites one right side of each with the solution, as fewSystem.refine does.
func (s *lanedSystem) refine(h *Solver, side laned) {
	n, g, rest := s.a.n, side.g, s.more
	copy(rest.d, side.d)
	s.solve(h, side)
	for i := range n {
		row, apart := s.a.from(i, 0), g
		if s.trans {
			row, apart = s.a.from(0, i), n*g
		}
		kernels.ResidualsApart(rest.at(i, 0), side.d, row, g, apart, n)
	}
	s.solve(h, rest)
	h.correctLanes(side, rest)
}

// solve overwrites x with the solutions by the factors alone, as fewSystem.solve does.
func (s *lanedSystem) solve(h *Solver, x laned) {
	defer h.free(h.used)
	n, g, trans := s.lu.n, x.g, s.trans
	y := h.laned(n, 1, g)
	if trans {
		copy(y.d, x.d)
		s.substitute(y, trans, true, false)
		s.substitute(y, trans, false, true)
		for i, p := range s.from {
			x.d[p] = y.d[i]
		}
		return
	}
	for i, p := range s.from {
		y.d[i] = x.d[p]
	}
	s.substitute(y, trans, true, true)
	s.substitute(y, trans, false, false)
	copy(x.d, y.d)
}

// substitute is fewSystem.substitute, and of more rows narrowPart.
func (s *lanedSystem) substitute(x laned, trans, forward, unit bool) {
	n := s.lu.n
	if n > mostLaned {
		s.narrow(x, 0, n, trans, forward, unit)
		return
	}
	for k := range n {
		i, from, to := k, k+1, n
		if !forward {
			i = n - 1 - k
			from, to = 0, i
		}
		v := x.at(i, 0)
		if !unit {
			kernels.Div(v, v, s.lu.at(i, i))
		}
		for j := from; j < to; j++ {
			kernels.Mul(s.t, v, s.factor(j, i, trans))
			kernels.Sub(x.at(j, 0), x.at(j, 0), s.t)
		}
	}
}

// factor is number (i, j) of the factors, or with trans of their transposes.
func (s *lanedSystem) factor(i, j int, trans bool) []float64 {
	if trans {
		i, j = j, i
	}
	return s.lu.at(i, j)
}

// narrow is narrowPart of one right side: products are taken out in its order.
func (s *lanedSystem) narrow(x laned, lo, hi int, trans, forward, unit bool) {
	if n := hi - lo; n > leastHalved {
		mid := lo + halfOf(n)
		from, to, left, end := lo, mid, mid, hi // known, and what is left
		if !forward {
			from, to, left, end = mid, hi, lo, mid
		}
		s.narrow(x, from, to, trans, forward, unit)
		for k := from; k < to; k++ {
			s.takeOut(x, k, left, end, trans)
		}
		s.narrow(x, left, end, trans, forward, unit)
		return
	}
	for k := range hi - lo {
		i, from, to := lo+k, lo+k+1, hi
		if !forward {
			i = hi - 1 - k
			from, to = lo, i
		}
		if !unit {
			kernels.Div(x.at(i, 0), x.at(i, 0), s.lu.at(i, i))
		}
		s.takeOut(x, i, from, to, trans)
	}
}

// takeOut takes unknown k out of what is left of equations from, …, to-1.
func (s *lanedSystem) takeOut(x laned, k, from, to int, trans bool) {
	kernels.Neg(s.t, x.at(k, 0))
	for j := from; j < to; j++ {
		kernels.FMA(x.at(j, 0), s.factor(j, k, trans), s.t, x.at(j, 0))
	}
}

// Choleskys writes the lower triangles of g matrices of n rows, as Cholesky has them of their symmetric
// parts, and reports whether all are positive definite.
func (h *Solver) Choleskys(dst, a []float64, n, g int) bool {
	x, l := h.lanes(a, n, g), h.zeros(n, n, g)
	for i := range n {
		for j := i + 1; j < n; j++ {
			u, v := x.at(i, j), x.at(j, i)
			for k, y := range v {
				u[k] = middle(u[k], y)
			}
		}
	}
	for j := range n {
		for c := j; c < n; c++ {
			if j > 0 {
				kernels.ResidualsApart(x.at(j, c), x.from(0, j), x.from(0, c), n*g, n*g, j)
			}
		}
		pivot := x.at(j, j)
		for _, v := range pivot {
			if v <= 0 {
				return false
			}
		}
		kernels.Sqrt(l.at(j, j), pivot)
		copy(pivot, l.at(j, j))
		for c := j + 1; c < n; c++ {
			kernels.Div(x.at(j, c), x.at(j, c), pivot)
			copy(l.at(c, j), x.at(j, c))
		}
	}
	l.apart(dst, n*n)
	return true
}

// LanedTriangle reports whether triangles of n rows are solved with k right sides each side by side.
func LanedTriangle(n, k int) bool {
	return Laned(n) && k > 0 && k <= shortRows && isShort(n, k)
}

// TriSolves writes the solutions of g triangles of n rows with k right sides each, as TriSolve does.
func (h *Solver) TriSolves(dst, l, b []float64, n, k, g int, upper, trans bool) {
	x, y := h.lanes(l, n, g), h.lanes(b, k, g)
	x.solve(y, upper, trans, false)
	y.apart(dst, n*k)
}

// CofactorsBy writes the cofactors of g matrices of n rows, as Cofactors does by factors that LUs wrote and
// determinants, of each a fraction and an exponent.
func (h *Solver) CofactorsBy(dst, a, factors, dets []float64, n, g int) {
	inverses := h.raw(g, n*n)
	h.Inverses(inverses.Data, a, factors, n, g) // of what is singular they mean nothing
	for l := range g {
		to, lu, f, e := dst[l*n*n:][:n*n], Of(factors[l*(n*n+n):][:n*n], n, n), dets[2*l], int(dets[2*l+1])
		if wellPivoted(lu) {
			spreadCofactors(to, inverses.Row(l), n, f, e)
		} else {
			perm := h.Order(n)
			for i, p := range factors[l*(n*n+n)+n*n:][:n] {
				perm[i] = int(p)
			}
			h.Cofactors(to, Of(a[l*n*n:][:n*n], n, n), lu, perm, f, e, nil)
		}
	}
}

// permuted are g matrices of n rows with their rows in the order of the factors, side by side.
func (h *Solver) permuted(a, factors []float64, n, g int) laned {
	x := h.raw(g, n*n)
	for l := range g {
		one, from := x.Row(l), a[l*n*n:][:n*n]
		for i, p := range factors[l*(n*n+n)+n*n:][:n] {
			copy(one[i*n:][:n], from[int(p)*n:][:n])
		}
	}
	return h.lanes(x.Data, n, g)
}

// solve overwrites b with the solution of l x = b, or with trans of lᵀ x = b, for the triangle of x that upper
// names, as triSolveShort does; its diagonal counts as ones if unit is set.
func (x laned) solve(b laned, upper, trans, unit bool) {
	for s := range x.n {
		i, from, to := step(s, x.n, upper == trans)
		for c := range b.n {
			if known, apart := x.from(i, from), x.g; to > from {
				if trans {
					known, apart = x.from(from, i), x.n*x.g
				}
				kernels.ResidualsApart(b.at(i, c), known, b.from(from, c), apart, b.n*b.g, to-from)
			}
			if !unit {
				kernels.Div(b.at(i, c), b.at(i, c), x.at(i, i))
			}
		}
	}
}

// Inverses writes the inverses of g matrices of n rows, as Inverse does by factors that LUs wrote.
func (h *Solver) Inverses(dst, a, factors []float64, n, g int) {
	if n <= fewInverse {
		s, inv, row := h.lanedSystemOf(a, factors, n, g, true), h.laned(n, n, g), h.laned(n, 1, g)
		for j := range n {
			clear(row.d)
			kernels.Fill(row.at(j, 0), 1)
			s.refine(h, row)
			copy(inv.from(j, 0), row.d)
		}
		inv.apart(dst, n*n)
		return
	}
	x, lu := h.lanes(a, n, g), h.lanes(factors, n, g)
	one, inv := h.zeros(n, n, g), h.zeros(n, n, g)
	for i := range n {
		kernels.Fill(one.at(i, i), 1)
		for l, p := range lu.at(n, i) {
			inv.at(i, int(p))[l] = 1
		}
	}
	lu.solve(inv, false, false, true)
	lu.solve(inv, true, false, false)
	for i := range n {
		for j := range n {
			one.minus(i, j, x, i, 0, inv, 0, j, n)
		}
	}
	rest := h.raw(g, n*n)
	inv.apart(dst, n*n)
	one.apart(rest.Data, n*n)
	used := h.used
	for l := range g { // a call for each product of numbers took longer
		x := Of(rowOf(dst, n*n, l), n, n)
		if more := h.times(x, Of(rest.Row(l), n, n)); finite(x.Data) && finite(more.Data) {
			kernels.Accumulate(x.Data, more.Data)
		}
		h.free(used)
	}
}
