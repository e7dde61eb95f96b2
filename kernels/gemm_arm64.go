//go:build !purego

package kernels

const neon = 1

// panel is a switch, not a door, so that the assembly gets its arguments straight.
// What is left of eights of columns is portable.
func panel(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, bRow, _ int, _ tiles, m, n, k int, add bool, _ ahead[float64], by rowsOf[float64]) {
	j := 0
	if multiply.tier == neon {
		for ; j+8 <= n; j += 8 {
			gemm8NEON(&c[j], ldc, &a[0], aRow, aCol, &b[j], bRow, m, k, add)
		}
	}
	if j < n {
		gemmPanel(c[j:], ldc, a, aRow, aCol, b[j:], bRow, m, n-j, k, add)
	}
	by.times(c, ldc, m, n)
}

// panel32 is panel of float32, all of it assembly: a portable FMA of float32 is many
// instructions.
func panel32(c []float32, ldc int, a []float32, aRow, aCol int, b []float32, bRow, _ int, _ tiles, m, n, k int, add bool, _ ahead[float32], by rowsOf[float32]) {
	defer by.times(c, ldc, m, n)
	if multiply32.tier != neon {
		gemmPanel32(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)
		return
	}
	j := 0
	for ; j+16 <= n; j += 16 {
		gemm32NEONx16(&c[j], ldc, &a[0], aRow, aCol, &b[j], bRow, m, k, add)
	}
	if n&8 != 0 {
		gemm32NEONx8(&c[j], ldc, &a[0], aRow, aCol, &b[j], bRow, m, k, add)
		j += 8
	}
	if n&4 != 0 {
		gemm32NEONx4(&c[j], ldc, &a[0], aRow, aCol, &b[j], bRow, m, k, add)
		j += 4
	}
	if n&2 != 0 {
		gemm32NEONx2(&c[j], ldc, &a[0], aRow, aCol, &b[j], bRow, m, k, add)
		j += 2
	}
	if n&1 != 0 {
		gemm32NEONx1(&c[j], ldc, &a[0], aRow, aCol, &b[j], bRow, m, k, add)
	}
}

// outer is portable: its blocks stay in registers.
func outer(c []float64, ldc int, a []float64, lda int, b []float64, ldb int, m, n, k int, back bool) {
	outerPanel(c, ldc, a, lda, b, ldb, m, n, k, back)
}

// several leaves products to be multiplied one by one.
func (g *blocking[T]) several(count int, by Steps, p product[T]) bool { return false }
