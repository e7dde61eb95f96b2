package kernels

// Gemm32 is Gemm of float32. The chain of an element is cut: k runs in blocks of
// Gemm32Block, each a chain of FMA from 0, and their ends are added in order, to what C
// holds where add is set. The error so grows with the block and the number of blocks,
// not with k; the peers' products are bounded likewise.
func Gemm32(c []float32, ldc int, a []float32, lda int, transA bool, b []float32, ldb int, transB bool, m, n, k int, add bool) {
	if m <= 0 || n <= 0 {
		return
	}
	_ = c[(m-1)*ldc+n-1]
	if k <= 0 {
		for i := 0; i < m && !add; i++ {
			clear(c[i*ldc:][:n])
		}
		return
	}
	aRow, aCol := lda, 1
	if transA {
		aRow, aCol = 1, lda
	}
	bRow, bCol := ldb, 1
	if transB {
		bRow, bCol = 1, ldb
	}
	_, _ = a[(m-1)*aRow+(k-1)*aCol], b[(k-1)*bRow+(n-1)*bCol]
	if bCol == 1 && n > 1 && n <= multiply32.width && n&multiply32.ragged == 0 && k <= Gemm32Block {
		panel32(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)
		return
	}
	multiplied32.large(product[float32]{c, a, b, ldc, aRow, aCol, bRow, bCol, m, n, k, add})
}

// Gemm32Block is how far a chain goes before it is added to the others.
const Gemm32Block = 256

// GemmPart32 is GemmPart of float32; its columns waste nothing in multiples of 48.
func GemmPart32(i0, i1, j0, j1 int, c []float32, ldc int, a []float32, lda int, transA bool, b []float32, ldb int, transB bool, k int, add bool) {
	if i0 >= i1 || j0 >= j1 {
		return
	}
	if k > 0 {
		if transA {
			a = a[i0:]
		} else {
			a = a[i0*lda:]
		}
		if transB {
			b = b[j0*ldb:]
		} else {
			b = b[j0:]
		}
	}
	Gemm32(c[i0*ldc+j0:], ldc, a, lda, transA, b, ldb, transB, i1-i0, j1-j0, k, add)
}

const portableWidth32 = 48

var multiply32 = multiplier[float32]{width: portableWidth32, pack: packRows32}

// multiplied32 is the blocking of float32. Its depth is that of a chain.
var multiplied32 = blocking[float32]{multiplier: &multiply32, panel: panel32, transpose: &Transpose32,
	depth: Gemm32Block, rows: 120, cols: 480, small: 100 * 100, pad: 16}

// packRows32 is the portable pack.
func packRows32(dst, x []float32, ldx, m, n int) {
	for i := range m {
		copy(dst[i*portableWidth32:][:n], x[i*ldx:])
	}
}

// Transpose32 is Transpose of float32.
var Transpose32 = transpose[float32]

// gemmPanel32 is the portable panel32, for k up to Gemm32Block.
func gemmPanel32(c []float32, ldc int, a []float32, aRow, aCol int, b []float32, bRow, m, n, k int, add bool) {
	for i := range m {
		row := c[i*ldc:][:n]
		for j := range row {
			s := float32(0)
			for p := range k {
				s = fma32(a[i*aRow+p*aCol], b[p*bRow+j], s)
			}
			if add {
				s += row[j]
			}
			row[j] = s
		}
	}
}
