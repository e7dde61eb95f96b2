//go:build (!amd64 && !arm64) || purego

package kernels

func panel(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, bRow, _ int, _ tiles, m, n, k int, add bool, _ ahead[float64], by rowsOf[float64]) {
	gemmPanel(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)
	by.times(c, ldc, m, n)
}

func panel32(c []float32, ldc int, a []float32, aRow, aCol int, b []float32, bRow, _ int, _ tiles, m, n, k int, add bool, _ ahead[float32], by rowsOf[float32]) {
	gemmPanel32(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)
	by.times(c, ldc, m, n)
}

// outer is portable: its blocks stay in registers.
func outer(c []float64, ldc int, a []float64, lda int, b []float64, ldb int, m, n, k int, back bool) {
	outerPanel(c, ldc, a, lda, b, ldb, m, n, k, back)
}

// several leaves products to be multiplied one by one.
func (g *blocking[T]) several(count int, by Steps, p product[T]) bool { return false }
