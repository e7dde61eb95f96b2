//go:build !purego

package kernels

const neon = 1

// panel is a switch, not a door, so that the assembly gets its arguments straight.
// What is left of eights of columns is portable.
func panel(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, bRow, m, n, k int, add bool) {
	j := 0
	if multiply.tier == neon {
		for ; j+8 <= n; j += 8 {
			gemm8NEON(&c[j], ldc, &a[0], aRow, aCol, &b[j], bRow, m, k, add)
		}
	}
	if j < n {
		gemmPanel(c[j:], ldc, a, aRow, aCol, b[j:], bRow, m, n-j, k, add)
	}
}
