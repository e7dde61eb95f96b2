package kernels

// Gemm32 is Gemm of float32. The chain of an element is cut: k runs in blocks of
// Gemm32Block, each a chain of FMA from 0, and their ends are added in order, to what C
// holds where add is set. The error so grows with the block and the number of blocks,
// not with k; the peers' products are bounded likewise.
func Gemm32(c []float32, ldc int, a []float32, lda int, transA bool, b []float32, ldb int, transB bool, m, n, k int, add bool) {
	if !transB && m > 0 && n > 1 && n <= multiply32.width && n&multiply32.ragged == 0 && k > 0 && k <= Gemm32Block {
		aRow, aCol := lda, 1
		if transA {
			aRow, aCol = 1, lda
		}
		_, _, _ = c[(m-1)*ldc+n-1], a[(m-1)*aRow+(k-1)*aCol], b[(k-1)*ldb+n-1]
		panel32(c, ldc, a, aRow, aCol, b, ldb, 0, tiles{}, m, n, k, add, below(a, aRow, aCol, multiply32.tall, m), rowsOf[float32]{})
	} else if p, ok := productOf(c, ldc, a, lda, transA, b, ldb, transB, m, n, k, add); ok {
		multiplied32.alone(p)
	}
}

// GemmShared32 is GemmShared of float32.
func GemmShared32(by Workers, c []float32, ldc int, a []float32, lda int, transA bool, b []float32, ldb int, transB bool, m, n, k int, add bool) {
	if by.Count <= 1 {
		Gemm32(c, ldc, a, lda, transA, b, ldb, transB, m, n, k, add)
	} else if p, ok := productOf(c, ldc, a, lda, transA, b, ldb, transB, m, n, k, add); ok {
		multiplied32.large(by, p)
	}
}

// Gemm32Block is how far a chain goes before it is added to the others.
const Gemm32Block = 256

const portableWidth32 = 48

var multiply32 = multiplier[float32]{width: portableWidth32, pack: packRows32}

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
