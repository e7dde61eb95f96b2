//go:build !purego

package kernels

// columnOf is a columnar by machine code that takes eight rows and columns at least; where there
// are fewer it is the portable one.
func columnOf(kernel func(c, a *float64, lda int, b *float64, m, k int)) columnar {
	return func(c, a []float64, lda int, b []float64, m, k int) {
		if m < 8 || k < 8 {
			columnRows(c, a, lda, b, m, k)
			return
		}
		_, _, _ = c[m-1], a[(m-1)*lda+k-1], b[k-1]
		kernel(&c[0], &a[0], lda, &b[0], m, k)
	}
}

// linesOf is a liner by machine code, of twelve vectors of so many numbers.
func linesOf(lanes int, kernel func(c, a, b *float64, ldb, n, k int, add bool)) liner {
	return liner{12 * lanes, func(c, a, b []float64, at, ldb int, add bool) {
		if len(c) == 0 || len(a) == 0 {
			if !add {
				clear(c)
			}
			return
		}
		_, _ = b[at:][:len(c)], b[at+(len(a)-1)*ldb:][:len(c)]
		kernel(&c[0], &a[0], &b[at], ldb, len(c), len(a), add)
	}}
}
