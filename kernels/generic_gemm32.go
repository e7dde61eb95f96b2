package kernels

import "sync"

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
	gemmLarge32(product32{c, a, b, ldc, aRow, aCol, bRow, bCol, m, n, k, add})
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

type product32 struct {
	c, a, b                     []float32
	ldc, aRow, aCol, bRow, bCol int
	m, n, k                     int
	add                         bool
}

type multiplier32 struct {
	tier   int
	width  int
	pack   func(dst, x []float32, ldx, m, n int)
	ragged int
}

const portableWidth32 = 48

var multiply32 = multiplier32{width: portableWidth32, pack: packRows32}

const (
	gemmRows32  = 120
	gemmCols32  = 480
	gemmSmall32 = 100 * 100
)

// gemmLarge32 is gemmLarge.
func gemmLarge32(p product32) {
	if p.n == 1 && p.ldc == 1 {
		p.a, p.aRow, p.aCol, p.b, p.bRow, p.bCol, p.m, p.n = p.b, p.bCol, p.bRow, p.a, p.aCol, p.aRow, 1, p.m
	}
	n, k, w := p.n, p.k, multiply32.width
	packA := p.aCol != 1 && p.m*k > gemmSmall32 && n > w
	packB := p.bCol != 1 || n&multiply32.ragged != 0 || p.m > 64 && n*k > gemmSmall32
	if packA || packB {
		gemmPacked32(p, packA)
		return
	}
	for ic := 0; ic < p.m; ic += gemmRows32 {
		for pc := 0; pc < k; pc += Gemm32Block {
			for j := 0; j < n; j += w {
				panel32(p.c[ic*p.ldc+j:], p.ldc, p.a[ic*p.aRow+pc*p.aCol:], p.aRow, p.aCol, p.b[pc*p.bRow+j:], p.bRow,
					min(gemmRows32, p.m-ic), min(w, n-j), min(Gemm32Block, k-pc), p.add || pc > 0)
			}
		}
	}
}

type scratch32 struct {
	b [Gemm32Block * gemmCols32]float32
	a [(Gemm32Block + 16) * gemmRows32]float32
}

var scratches32 = sync.Pool{New: func() any { return new(scratch32) }}

// gemmPacked32 is gemmPacked.
func gemmPacked32(p product32, packA bool) {
	s := scratches32.Get().(*scratch32)
	defer scratches32.Put(s)
	w := multiply32.width
	for jc := 0; jc < p.n; jc += gemmCols32 {
		nc := min(gemmCols32, p.n-jc)
		for pc := 0; pc < p.k; pc += Gemm32Block {
			kc := min(Gemm32Block, p.k-pc)
			for j := 0; j < nc; j += w {
				b := p.b[pc*p.bRow+(jc+j)*p.bCol:]
				if p.bCol == 1 {
					multiply32.pack(s.b[j*kc:], b, p.bRow, kc, min(w, nc-j))
				} else {
					Transpose32(s.b[j*kc:], w, b, p.bCol, min(w, nc-j), kc)
				}
			}
			for ic := 0; ic < p.m; ic += gemmRows32 {
				mc := min(gemmRows32, p.m-ic)
				a, aRow, aCol := p.a[ic*p.aRow+pc*p.aCol:], p.aRow, p.aCol
				if packA {
					Transpose32(s.a[:], kc+16, a, aCol, kc, mc)
					a, aRow, aCol = s.a[:], kc+16, 1
				}
				for j := 0; j < nc; j += w {
					panel32(p.c[ic*p.ldc+jc+j:], p.ldc, a, aRow, aCol, s.b[j*kc:], w, mc, min(w, nc-j), kc, p.add || pc > 0)
				}
			}
		}
	}
}

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
