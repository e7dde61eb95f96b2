//go:build !purego

package kernels

var avx2Gemm = []override{
	&at[multiplier[float32]]{&multiply32, multiplier[float32]{tier: avx2, width: 24, ragged: 7, pack: func(dst, x []float32, ldx, m, n int) {
		pack32AVX2(&dst[0], &x[0], ldx, m, n)
	}}},
	&at[transposer32]{&Transpose32, transposeBlocks32},
	&at[multiplier[float64]]{&multiply, multiplier[float64]{tier: avx2, width: 12, ragged: 3, pack: func(dst, x []float64, ldx, m, n int) {
		packAVX2(&dst[0], &x[0], ldx, m, n)
	}}},
	&at[transposer]{&Transpose, transposeBlocks},
	&at[func(int) float64]{&fmas, func(n int) float64 { peakAVX2(n); return 2 * 12 * 4 * float64(n) }},
}

var avx512Gemm = []override{
	&at[multiplier[float32]]{&multiply32, multiplier[float32]{tier: avx512, width: 48, pack: func(dst, x []float32, ldx, m, n int) {
		pack32AVX512(&dst[0], &x[0], ldx, m, n)
	}}},
	&at[multiplier[float64]]{&multiply, multiplier[float64]{tier: avx512, width: 24, tall: 8, pack: func(dst, x []float64, ldx, m, n int) {
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

type transposer32 = func(dst []float32, ldd int, x []float32, ldx, m, n int)

// transposeBlocks32 transposes whole 8×8 blocks, and the edges one by one.
func transposeBlocks32(dst []float32, ldd int, x []float32, ldx, m, n int) {
	m8, n8 := m&^7, n&^7
	if m8 > 0 && n8 > 0 {
		_, _ = dst[(n-1)*ldd+m-1], x[(m-1)*ldx+n-1]
		transpose32AVX2(&dst[0], ldd, &x[0], ldx, m8, n8)
	}
	if m8 < m && n > 0 {
		transpose(dst[m8:], ldd, x[m8*ldx:], ldx, m-m8, n)
	}
	if n8 < n && m8 > 0 {
		transpose(dst[n8*ldd:], ldd, x[n8:], ldx, m8, n-n8)
	}
}

const (
	avx2 = 1 + iota
	avx512
)

// panel is a switch, not a door, so that the assembly gets its arguments straight.
func panel(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, bRow int, apart tiles, m, n, k int, add bool, next ahead[float64], by rowsOf[float64]) {
	if next.at == nil {
		next.at = &a[0]
	}
	if apart == (tiles{}) {
		apart = tiles{multiply.tall * aRow, 0, multiply.tall * ldc}
	}
	var row, first *float64
	if by.x != nil {
		_ = by.x[(by.n-1)*by.ld+n-1]
		row, first = &by.x[by.at*by.ld], &by.x[0]
	}
	switch multiply.tier {
	case avx512:
		switch {
		case n > 16:
			gemm3AVX512(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, 8*apart.a, 8*apart.b, 8*apart.c, m, n, k, add, next.at, 8*next.col, 8*next.tile, row, 8*by.ld, first, 8*by.ld*by.n)
		case n > 8:
			gemm2AVX512(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, 8*apart.a, 8*apart.b, 8*apart.c, m, n, k, add, next.at, 8*next.col, 8*next.tile, row, 8*by.ld, first, 8*by.ld*by.n)
		default:
			gemm1AVX512(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, 8*apart.a, 8*apart.b, 8*apart.c, m, n, k, add, next.at, 8*next.col, 8*next.tile, row, 8*by.ld, first, 8*by.ld*by.n)
		}
	case avx2:
		switch {
		case n > 8:
			gemm3AVX2(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add, next.at, 8*next.col, 8*next.tile, row, 8*by.ld, first, 8*by.ld*by.n)
		case n > 4:
			gemm2AVX2(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add, next.at, 8*next.col, 8*next.tile, row, 8*by.ld, first, 8*by.ld*by.n)
		default:
			gemm1AVX2(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add, next.at, 8*next.col, 8*next.tile, row, 8*by.ld, first, 8*by.ld*by.n)
		}
	default:
		gemmPanel(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)
		by.times(c, ldc, m, n)
	}
}

// panel32 is panel of float32.
func panel32(c []float32, ldc int, a []float32, aRow, aCol int, b []float32, bRow int, _ tiles, m, n, k int, add bool, _ ahead[float32], _ rowsOf[float32]) {
	switch multiply32.tier {
	case avx512:
		switch {
		case n > 32:
			gemm32AVX512x3(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		case n > 16:
			gemm32AVX512x2(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		default:
			gemm32AVX512x1(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		}
	case avx2:
		switch {
		case n > 16:
			gemm32AVX2x3(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		case n > 8:
			gemm32AVX2x2(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		default:
			gemm32AVX2x1(&c[0], ldc, &a[0], aRow, aCol, &b[0], bRow, m, n, k, add)
		}
	default:
		gemmPanel32(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)
	}
}
