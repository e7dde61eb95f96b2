//go:build !purego

package kernels

var avx2Gemm = []override{
	&at[multiplier]{&multiply, multiplier{panelAVX2, 12, 4}},
}

var avx512Gemm = []override{
	&at[multiplier]{&multiply, multiplier{panelAVX512, 24, 1}},
}

func panelAVX2(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, ldb, m, n, k int, add bool) {
	switch {
	case n > 8:
		gemm3AVX2(c, ldc, a, aRow, aCol, b, ldb, m, n, k, add)
	case n > 4:
		gemm2AVX2(c, ldc, a, aRow, aCol, b, ldb, m, n, k, add)
	default:
		gemm1AVX2(c, ldc, a, aRow, aCol, b, ldb, m, n, k, add)
	}
}

func panelAVX512(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, ldb, m, n, k int, add bool) {
	switch {
	case n > 16:
		gemm3AVX512(c, ldc, a, aRow, aCol, b, ldb, m, n, k, add)
	case n > 8:
		gemm2AVX512(c, ldc, a, aRow, aCol, b, ldb, m, n, k, add)
	default:
		gemm1AVX512(c, ldc, a, aRow, aCol, b, ldb, m, n, k, add)
	}
}
