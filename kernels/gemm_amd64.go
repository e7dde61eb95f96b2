//go:build !purego

package kernels

var avx2Gemm = []override{
	&at[multiplier]{&multiply, multiplier{tier: avx2, width: 12, ragged: 3, pack: func(dst, x []float64, ldx, m, n int) {
		packAVX2(&dst[0], &x[0], ldx, m, n)
	}}},
	&at[transposer]{&Transpose, transposeBlocks},
	&at[func(int) float64]{&fmas, func(n int) float64 { peakAVX2(n); return 2 * 12 * 4 * float64(n) }},
}

var avx512Gemm = []override{
	&at[multiplier]{&multiply, multiplier{tier: avx512, width: 24, pack: func(dst, x []float64, ldx, m, n int) {
		packAVX512(&dst[0], &x[0], ldx, m, n)
	}}},
	&at[func(int) float64]{&fmas, func(n int) float64 { peakAVX512(n); return 2 * 12 * 8 * float64(n) }},
}

type transposer = func(dst []float64, ldd int, x []float64, ldx, m, n int)

// transposeBlocks transposes whole 4×4 blocks, and the edges one by one.
func transposeBlocks(dst []float64, ldd int, x []float64, ldx, m, n int) {
	m4, n4 := m&^3, n&^3
	if m4 > 0 && n4 > 0 {
		_, _ = dst[(n-1)*ldd+m-1], x[(m-1)*ldx+n-1]
		transposeAVX2(&dst[0], ldd, &x[0], ldx, m4, n4)
	}
	if m4 < m && n > 0 {
		transpose(dst[m4:], ldd, x[m4*ldx:], ldx, m-m4, n)
	}
	if n4 < n && m4 > 0 {
		transpose(dst[n4*ldd:], ldd, x[n4:], ldx, m4, n-n4)
	}
}

const (
	avx2 = 1 + iota
	avx512
)

// panel is a switch, not a door, so that the assembly gets its arguments straight.
func panel(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, bRow, m, n, k int, add bool) {
	switch multiply.tier {
	case avx512:
		switch {
		case n > 16:
			gemm3AVX512(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		case n > 8:
			gemm2AVX512(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		default:
			gemm1AVX512(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		}
	case avx2:
		switch {
		case n > 8:
			gemm3AVX2(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		case n > 4:
			gemm2AVX2(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		default:
			gemm1AVX2(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		}
	default:
		gemmPanel(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)
	}
}
