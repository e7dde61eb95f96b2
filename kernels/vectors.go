package kernels

import "math"

// A columnar is what multiplies a matrix, m rows of k numbers, with a column: C = A b, each sum in
// order from 0, as Gemm does it.
type columnar = func(c, a []float64, lda int, b []float64, m, k int)

var timesColumn columnar = columnRows

// columnRows is the portable columnar: sums of four rows at a time, none of which waits for another.
func columnRows(c, a []float64, lda int, b []float64, m, k int) {
	i := 0
	for ; i+4 <= m; i += 4 {
		r0, r1, r2, r3 := a[i*lda:][:k], a[(i+1)*lda:][:k], a[(i+2)*lda:][:k], a[(i+3)*lda:][:k]
		var s0, s1, s2, s3 float64
		for p, x := range b[:k] {
			s0 = math.FMA(r0[p], x, s0)
			s1 = math.FMA(r1[p], x, s1)
			s2 = math.FMA(r2[p], x, s2)
			s3 = math.FMA(r3[p], x, s3)
		}
		c[i], c[i+1], c[i+2], c[i+3] = s0, s1, s2, s3
	}
	for ; i < m; i++ {
		s := 0.0
		for p, x := range a[i*lda:][:k] {
			s = math.FMA(x, b[p], s)
		}
		c[i] = s
	}
}

// vectorProduct is what a product of vectors is made by: of the sums, rows or columns from one to
// another; nil for others. There are n of them, and at least so many are worth a worker.
func (p *product[T]) vectorProduct() (some func(p *product[float64], from, to int), n, least int) {
	switch {
	case p.isColumn():
		return columnSums, p.n, 32
	case p.isOuter():
		return outerRows, p.m, 32
	case p.isRow():
		return rowColumns, p.n, p.leastColumns()
	}
	return nil, 0, 0
}

// isColumn reports whether the product is a row of numbers with a matrix that is stored transposed,
// so that its sums run along rows of memory. To transpose the matrix first took seven times as long
// at 1000×1000 numbers, 1.5 at 16×16.
func (p *product[T]) isColumn() bool {
	const least = 8
	return p.m == 1 && p.aCol == 1 && p.bRow == 1 && p.bCol != 1 && p.n >= least && p.k >= least && !p.add
}

func columnSums(p *product[float64], from, to int) {
	timesColumn(p.c[from:], p.b[from*p.bCol:], p.bCol, p.a, to-from, p.k)
}

// isOuter reports whether the product is one of a column and a row long enough that its rows are
// best written one after the other: bound by memory, 1000×1000 numbers took 0.6 of the time.
func (p *product[T]) isOuter() bool {
	const long = 96
	return p.k == 1 && p.bCol == 1 && p.n >= long && !p.add
}

func outerRows(p *product[float64], from, to int) {
	for i := from; i < to; i++ {
		multiple(p.c[i*p.ldc:][:p.n], p.b, p.a[i*p.aRow])
	}
}

// A liner multiplies a row of numbers with a matrix of few columns, whose rows are read one after the
// other, each once: times is Combine, or without add Gemm with m = 1, of as many columns as c has.
type liner struct {
	most  int // columns; 0: there is none
	times func(c, a, b []float64, at, ldb int, add bool)
}

var timesLines liner

// strips is times of any number of columns, cut into strips that are alike.
func (l *liner) strips(c, a, b []float64, at, ldb int, add bool) {
	parts := max(1, (len(c)+l.most-1)/l.most)
	some := ((len(c)+parts-1)/parts + 7) &^ 7 // whole vectors
	for from := 0; from < len(c); from += some {
		l.times(c[from:min(from+some, len(c))], a, b, at+from, ldb, add)
	}
}

// isRow reports whether the product is a row of numbers with a matrix that is best read along its rows,
// not in panels. Of the time in panels, lines of 50 columns took with AVX-512 .22 of 16, .37 of 64, .54 of
// 1000 and .8 of 10,000, with AVX2 .13, .16, .29 and .74; of 24 columns .66, .77, 1 and .7, and .18, .3,
// .35 and .5. Without them, rows added to sums in memory four at a time took .6 at 1000×1000 numbers.
func (p *product[T]) isRow() bool {
	const large, long = 128 * 128, 96
	return p.m == 1 && p.aCol == 1 && p.bCol == 1 && !p.add && (timesLines.most > 0 || p.n >= long && p.n*p.k > large)
}

// rowColumns is a row times the rows of B, some columns at a time: lines of as many as are kept in
// registers, or else four rows are added to sums that stay near. Of a matrix that leaves the second cache
// a row is best read at once. Of the time that the sums took, lines of 100 columns took .5 of 64, .8
// of 256, .85 of 1000 and 1.2 of 4000, of 300 .87, 1, 1.15 and 1.3, of 1000 .9 of 64 and 1 of 256.
func rowColumns(p *product[float64], from, to int) {
	const inCache = 1 << 17
	if n := to - from; n <= timesLines.most || timesLines.most > 0 && n*p.k < inCache {
		timesLines.strips(p.c[from:to], p.a[:p.k], p.b, from, p.bRow, false)
		return
	}
	const near = 2048 // sums that stay in the first cache
	for ; from < to; from += near {
		c := p.c[from:min(from+near, to)]
		clear(c)
		row := func(k int) []float64 { return p.b[k*p.bRow+from:][:len(c)] }
		k := 0
		for ; k+4 <= p.k; k += 4 {
			a := p.a[k:][:4]
			axpy4(c, a[0], a[1], a[2], a[3], row(k), row(k+1), row(k+2), row(k+3))
		}
		for ; k < p.k; k++ {
			Axpy(c, p.a[k], row(k))
		}
	}
}

// Combine adds to c rows of b times the numbers of a, one after the other: to c[j] a[p] times
// b[at+p*ld+j], rounded once each. Rows may lie in descending order.
func Combine(c, a, b []float64, at, ld int) {
	if timesLines.most == 0 {
		for p, x := range a {
			Axpy(c, x, b[at+p*ld:][:len(c)])
		}
		return
	}
	timesLines.strips(c, a, b, at, ld, true)
}

// leastColumns is of how many columns a worker should have a part of a row: of a matrix that is far from
// memory it shares none. Of the time of one, two workers took at 100×10,000 numbers 1.2, at 512×1000
// 1.15, at 100×40,000 .8, at 1000×4000 .7.
func (p *product[T]) leastColumns() int {
	const fromMemory = 1 << 21
	if p.n*p.k < fromMemory {
		return p.n
	}
	return max(64, p.n/4)
}

// multiplyVectors multiplies a product of vectors, if it is one. Workers have a part of it each.
func multiplyVectors(by Workers, p product[float64]) bool {
	some, n, least := p.vectorProduct()
	if some == nil {
		return false
	}
	q, parts := p, min(4*by.Count, n/least) // q leaves the stack
	if by.Count <= 1 || parts <= 1 {
		some(&q, 0, n)
		return true
	}
	by.Share(parts, func(i int) {
		from, to := n*i/parts&^7, n*(i+1)/parts&^7 // whole vectors
		if i == parts-1 {
			to = n
		}
		some(&q, from, to)
	})
	return true
}
