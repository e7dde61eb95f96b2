//go:build (!amd64 && !arm64) || purego

package kernels

func panel(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, bRow, m, n, k int, add bool) {
	gemmPanel(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)
}
