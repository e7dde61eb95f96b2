package kernels

// Outer adds matrices of rank one to C, m×n, one after the other: for the k rows p of A and of
// B, from the first to the last, or with back set from the last to the first,
//
//	c[i*ldc+j] += a[p*lda+i] * b[p*ldb+j]
//
// Each product is rounded before it is added, as if its matrix were computed first. So what
// is added up all at once has the bits that it has matrix by matrix, and C may be cut into
// rows and columns at will.
func Outer(c []float64, ldc int, a []float64, lda int, b []float64, ldb int, m, n, k int, back bool) {
	if m <= 0 || n <= 0 || k <= 0 {
		return
	}
	_, _, _ = c[(m-1)*ldc+n-1], a[(k-1)*lda+m-1], b[(k-1)*ldb+n-1]
	faint := faintRows(a, lda, b, ldb, m, n, k, back)
	if faint == 0 {
		outer(c, ldc, a, lda, b, ldb, m, n, k, back)
		return
	}
	first, last := 0, k-faint // the rows before them, and they
	if back {
		first, last = faint, 0
	}
	if k > faint {
		outer(c, ldc, a[first*lda:], lda, b[first*ldb:], ldb, m, n, k-faint, back)
	}
	addFaint(c, ldc, a[last*lda:], lda, b[last*ldb:], ldb, m, n, faint, back)
}

// outerPanel is the portable Outer: blocks of 2×4 numbers held in registers.
func outerPanel(c []float64, ldc int, a []float64, lda int, b []float64, ldb int, m, n, k int, back bool) {
	p, by := 0, 1
	if back {
		p, by = k-1, -1
	}
	for j := 0; j < n; j += 4 {
		i := 0
		if n-j >= 4 {
			for ; i+2 <= m; i += 2 {
				outer2x4(c[i*ldc+j:], ldc, a[i:], lda, b[j:], ldb, p, by, k)
			}
		}
		for ; i < m; i++ {
			row := c[i*ldc+j:][:min(4, n-j)]
			for q, left := p, k; left > 0; q, left = q+by, left-1 {
				x, y := a[q*lda+i], b[q*ldb+j:]
				for l := range row {
					row[l] += float64(x * y[l])
				}
			}
		}
	}
}

// outer2x4 is a block of Outer of two rows and four columns.
func outer2x4(c []float64, ldc int, a []float64, lda int, b []float64, ldb, p, by, k int) {
	d0, d1 := c[:4], c[ldc:][:4]
	c00, c01, c02, c03 := d0[0], d0[1], d0[2], d0[3]
	c10, c11, c12, c13 := d1[0], d1[1], d1[2], d1[3]
	for ; k > 0; p, k = p+by, k-1 {
		y, x := b[p*ldb:][:4], a[p*lda:][:2]
		c00 += float64(x[0] * y[0])
		c01 += float64(x[0] * y[1])
		c02 += float64(x[0] * y[2])
		c03 += float64(x[0] * y[3])
		c10 += float64(x[1] * y[0])
		c11 += float64(x[1] * y[1])
		c12 += float64(x[1] * y[2])
		c13 += float64(x[1] * y[3])
	}
	d0[0], d0[1], d0[2], d0[3] = c00, c01, c02, c03
	d1[0], d1[1], d1[2], d1[3] = c10, c11, c12, c13
}
