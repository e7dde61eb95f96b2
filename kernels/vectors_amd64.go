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
