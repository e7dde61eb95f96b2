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
		return rowColumns, p.n, 512
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
		Multiple(p.c[i*p.ldc:][:p.n], p.b, p.a[i*p.aRow])
	}
}

// isRow reports whether the product is a row of numbers with a matrix so large that it is best read
// along its rows, four at a time: panels of it in turns took 1.6 times as long at 1000×1000 numbers.
func (p *product[T]) isRow() bool {
	const large, long = 128 * 128, 96
	return p.m == 1 && p.aCol == 1 && p.bCol == 1 && p.n >= long && p.n*p.k > large && !p.add
}

// rowColumns is a row times the rows of B, some columns at a time: four rows are added to sums that
// stay near.
func rowColumns(p *product[float64], from, to int) {
	const near = 2048 // sums that stay in the first cache
	for ; from < to; from += near {
		c := p.c[from:min(from+near, to)]
		clear(c)
		row := func(k int) []float64 { return p.b[k*p.bRow+from:][:len(c)] }
		k := 0
		for ; k+4 <= p.k; k += 4 {
			a := p.a[k:][:4]
			Axpy4(c, a[0], a[1], a[2], a[3], row(k), row(k+1), row(k+2), row(k+3))
		}
		for ; k < p.k; k++ {
			Axpy(c, p.a[k], row(k))
		}
	}
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
	by.Share(parts, func(i int) { some(&q, n*i/parts, n*(i+1)/parts) })
	return true
}
