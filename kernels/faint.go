package kernels

import "math"

// A gradient that vanishes through many steps is subnormal in some tens of them, and numbers like
// that cost some processors 150 cycles an instruction: through 1000 steps of a recurrent layer of 128
// thirty of them took two thirds of the time. Flushing them to 0 would be wrong. But as long as
// sums are subnormal themselves they lie on one grid, that of the multiples of 2^-1074, and what rounds
// to it as well are sums that begin at a number whose last bit is worth as much: everything 2^600
// times as large, from 1.5·2^52 of that grid on, the same instructions compute the same sums, of
// ordinary numbers.

const (
	faintBelow = 0x1p-990 // an operand is looked at that begins so
	faintUnit  = 0x1p-474 // 2^600 of the least number
	faintStart = 1.5 * 0x1p52 * faintUnit
	faintNorm  = 0x1p-425 // products of norms up to here are sums up to a fourth of what there is room for

	// Of fewer products nobody looks.
	leastFaint = 32 * 32
)

// magnitude orders numbers by their absolute value, without computing with them: NaN come last.
func magnitude(x float64) uint64 { return math.Float64bits(x) << 1 }

// isFaint reports whether a number is next to nothing, and not 0.
func isFaint(x float64) bool { return magnitude(x)-1 < magnitude(faintBelow)-1 }

// mayBeFaint reports whether a factor of a product m×k by k×n begins so.
func mayBeFaint(a, b []float64, m, n, k int) bool {
	return m*n*k >= leastFaint && (isFaint(a[0]) || isFaint(b[0]))
}

// looksFaint reports whether the m×n numbers of an operand may all be next to nothing.
func looksFaint(x []float64, row, col, m, n int) bool {
	return isFaint(x[0]) || x[0] == 0 && isFaint(x[(m-1)*row+(n-1)*col])
}

// A grid is an operand m×n on which sums are computed that are subnormal.
type grid struct {
	x    []float64 // 2^600 times as large, row by row
	n    int
	norm float64 // of the longest row, or column
}

var grids spares[grid]

// set takes in an operand whose numbers are next to nothing, and finds the longest of its columns or
// rows; it reports whether they are.
func (g *grid) set(x []float64, row, col, m, n int, columns bool) bool {
	grow(&g.x, m*n+n)
	norms := g.x[m*n : m*n+n]
	clear(norms)
	g.n, g.norm = n, 0
	for i := range m {
		to, norm := g.x[i*n:][:n], 0.0
		for j := range to {
			v := x[i*row+j*col]
			if magnitude(v) >= magnitude(faintBelow) {
				return false
			}
			v = times600(v)
			to[j] = v
			if columns {
				norms[j] = math.FMA(v, v, norms[j])
			} else {
				norm = math.FMA(v, v, norm)
			}
		}
		g.norm = max(g.norm, norm)
	}
	for _, norm := range norms {
		g.norm = max(g.norm, norm)
	}
	g.norm = math.Sqrt(g.norm)
	return true
}

// times600 is x times 2^600; of a subnormal number by its bits.
func times600(x float64) float64 {
	const exponents = 0x7ff << 52
	b := math.Float64bits(x)
	if b&exponents != 0 {
		return x * 0x1p600
	}
	return math.Copysign(float64(int64(b&(1<<52-1)))*faintUnit, x)
}

// norms is the norm of the longest of the n columns of k numbers that at has; not a number where
// it has one that is none.
func norms(k, n int, at func(p, j int) float64) (most float64) {
	for j := range n {
		norm := 0.0
		for p := range k {
			v := at(p, j)
			norm = math.FMA(v, v, norm)
		}
		most = max(most, norm)
	}
	return math.Sqrt(most)
}

// leave makes of sums, that began at faintStart, those that they stand for: a and b have their
// factors.
func leave(c []float64, ldc, m, n, k int, a, b func(i, j int) float64) {
	start := int64(math.Float64bits(faintStart))
	for i := range m {
		row := c[i*ldc:][:n]
		for j, v := range row {
			units := int64(math.Float64bits(v)) - start
			switch {
			case units > 0:
				row[j] = math.Float64frombits(uint64(units))
			case units < 0:
				row[j] = math.Float64frombits(uint64(-units) | 1<<63)
			default:
				row[j] = zeroOf(k, func(p int) (x, y float64) { return a(i, p), b(p, j) })
			}
		}
	}
}

// zeroOf is the zero that a sum of k products is: its sign is that of the sum before it was rounded.
func zeroOf(k int, at func(p int) (x, y float64)) float64 {
	sum, was := faintStart, 0.0
	for p := range k {
		x, y := at(p)
		exact := math.FMA(x, y, was)
		if sum = math.FMA(x, y, sum); sum == faintStart {
			was = math.Copysign(0, exact)
		} else {
			was = sum - faintStart
		}
	}
	return was
}

// multiplyFaint multiplies a product of which a factor is next to nothing, if it can.
func multiplyFaint(by Workers, p product[float64]) bool {
	g := grids.take()
	defer grids.give(g)
	q, other := p, 0.0
	a := func(i, j int) float64 { return q.a[i*q.aRow+j*q.aCol] }
	b := func(i, j int) float64 { return q.b[i*q.bRow+j*q.bCol] }
	switch {
	case p.add || p.k == 1:
		return false
	case looksFaint(p.a, p.aRow, p.aCol, p.m, p.k) && g.set(p.a, p.aRow, p.aCol, p.m, p.k, false):
		q.a, q.aRow, q.aCol = g.x, p.k, 1
		other = norms(p.k, p.n, b)
	case looksFaint(p.b, p.bRow, p.bCol, p.k, p.n) && g.set(p.b, p.bRow, p.bCol, p.k, p.n, true):
		q.b, q.bRow, q.bCol = g.x, p.n, 1
		other = norms(p.k, p.m, func(j, i int) float64 { return a(i, j) })
	default:
		return false
	}
	if !(g.norm*other <= faintNorm) {
		return false
	}
	for i := range p.m {
		Fill(p.c[i*p.ldc:][:p.n], faintStart)
	}
	q.add = true
	multiplied.large(by, q)
	leave(p.c, p.ldc, p.m, p.n, p.k, a, b)
	return true
}

// faint makes calls from to to-1 of those that multiply by the packed operand, as multiplyCalls does, if it can
// and A is next to nothing.
func (r *Right[T]) faint(c []T, ldc int, a []T, lda, m, from, to int) bool {
	x, ok := any(r).(*Right[float64])
	return ok && m > 0 && from < to && x.k > 0 && multiplyFaintRight(x, any(c).([]float64), ldc, any(a).([]float64), lda, m, from, to)
}

func multiplyFaintRight(r *Right[float64], c []float64, ldc int, a []float64, lda, m, from, to int) bool {
	if !looksFaint(a, lda, 1, m, r.k) {
		return false
	}
	g := grids.take()
	defer grids.give(g)
	if !g.set(a, lda, 1, m, r.k, false) || !(g.norm*r.longest() <= faintNorm) {
		return false
	}
	left, right := multiply.starts(from, r.n), multiply.starts(to, r.n)
	for i := range m {
		Fill(c[i*ldc+left:][:right-left], faintStart)
	}
	r.multiplyCalls(c, ldc, g.x, r.k, m, from, to, true)
	leave(c[left:], ldc, m, right-left, r.k, func(i, p int) float64 { return g.x[i*r.k+p] }, func(p, j int) float64 { return r.at(p, left+j) })
	return true
}

// at is a number of the packed operand.
func (r *Right[T]) at(p, j int) T {
	g := blockingOf[T]()
	w := g.width
	wide, pc := g.panels(r.n)*w, p/g.depth*g.depth
	return r.panels[pc*wide+j/w*w*min(g.depth, r.k-pc)+(p-pc)*w+j%w]
}

// longest is the norm of the longest column of the packed operand, found when it is first asked for.
func (r *Right[T]) longest() float64 {
	if b := r.norm.Load(); b != 0 {
		return math.Float64frombits(b)
	}
	norm := norms(r.k, r.n, func(p, j int) float64 { return float64(r.at(p, j)) })
	r.norm.Store(math.Float64bits(norm) | 1)
	return norm
}

// Of what Outer adds up, rows that change no sum, since they are next to nothing beside them.
const (
	faintProduct = 30       // an operand up to 2^30 times one below faintBelow is below 2^-960,
	faintBeside  = 0x1p-900 // of which that is less than a quarter of the last bit
)

// faintRows counts those of the k rows of A and B, from the last that is added to the first, whose
// products are next to nothing.
func faintRows(a []float64, lda int, b []float64, ldb int, m, n, k int, back bool) (rows int) {
	for rows < k {
		p := k - 1 - rows
		if back {
			p = rows
		}
		x, y := a[p*lda:][:m], b[p*ldb:][:n]
		if !(allBelow(y, faintBelow) && allBelow(x, 1<<faintProduct) || allBelow(x, faintBelow) && allBelow(y, 1<<faintProduct)) {
			break
		}
		rows++
	}
	return rows
}

func allBelow(x []float64, most float64) bool {
	for _, v := range x {
		if magnitude(v) >= magnitude(most) {
			return false
		}
	}
	return true
}

// addFaint adds products that are next to nothing to the rows of C in which that may change a number.
func addFaint(c []float64, ldc int, a []float64, lda int, b []float64, ldb int, m, n, k int, back bool) {
	large := func(row []float64) bool {
		for _, v := range row {
			if magnitude(v) < magnitude(faintBeside) {
				return false
			}
		}
		return true
	}
	for i := 0; i < m; i++ {
		first := i
		for i < m && !large(c[i*ldc:][:n]) {
			i++
		}
		if first < i {
			outer(c[first*ldc:], ldc, a[first:], lda, b, ldb, i-first, n, k, back)
		}
	}
}
