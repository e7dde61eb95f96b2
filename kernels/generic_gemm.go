package kernels

import (
	"math"
	"sync"
)

// Gemm is C = op(A) op(B), or C += op(A) op(B) with add set, row-major: op(A) is
// m×k, op(B) k×n, C m×n with row strides lda, ldb, ldc; op is the transposition
// where transA, transB are set (then A is stored k×m, B n×k). For every element k
// runs in order, one FMA each, from 0 or from what C holds. So C may be cut into
// rows and columns at will, among threads too: every cut has the same bits.
func Gemm(c []float64, ldc int, a []float64, lda int, transA bool, b []float64, ldb int, transB bool, m, n, k int, add bool) {
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
	if bCol == 1 && n > 1 && n <= multiply.width && n&multiply.ragged == 0 && k <= gemmDepth {
		panel(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)
		return
	}
	multiplied.large(product[float64]{c, a, b, ldc, aRow, aCol, bRow, bCol, m, n, k, add})
}

// GemmPart is the part of Gemm with rows i0 to i1 and columns j0 to j1 of C. Parts
// of a multiple of 8 rows and 24 columns waste nothing.
func GemmPart(i0, i1, j0, j1 int, c []float64, ldc int, a []float64, lda int, transA bool, b []float64, ldb int, transB bool, k int, add bool) {
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
	Gemm(c[i0*ldc+j0:], ldc, a, lda, transA, b, ldb, transB, i1-i0, j1-j0, k, add)
}

// A product is a call of Gemm; element (i, j) of A is a[i*aRow+j*aCol], and so
// with B.
type product[T float32 | float64] struct {
	c, a, b                     []T
	ldc, aRow, aCol, bRow, bCol int
	m, n, k                     int
	add                         bool
}

// A multiplier is what a tier brings to Gemm, beside its case in panel, which
// multiplies into at most width columns of C, with rows of B that are contiguous.
type multiplier[T float32 | float64] struct {
	tier   int // selects the case; 0 is gemmPanel
	width  int
	pack   func(dst, x []T, ldx, m, n int) // copies m rows of n ≤ width to a distance of width
	ragged int                             // panel reads the rows of B up to where n & ragged is 0
}

const portableWidth = 24

var multiply = multiplier[float64]{width: portableWidth, pack: packRows}

// A blocking is how products that are not small are cut, and by what their parts are
// multiplied. The blocks stay in the caches: depth × cols of B, in panels of depth ×
// width, beside rows × depth of A.
type blocking[T float32 | float64] struct {
	*multiplier[T]
	panel     func(c []T, ldc int, a []T, aRow, aCol int, b []T, bRow, m, n, k int, add bool)
	transpose *func(dst []T, ldd int, x []T, ldx, m, n int)

	depth, rows, cols int
	small             int // a factor up to here is best read in place
	thin              int // depth for a row or two of A, bound by reading B along its rows; 0: as others
	pad               int // more than the depth, for A: a power of two would crowd one set of the cache
	scratch           sync.Pool
}

// multiplied is the blocking of float64. GFLOP/s of 58.5 at 1024 on a shared Zen 4, best
// of many calls (depth/rows/cols): 256/240/480 54.2, 512/240/480 54.2, 512/120/480
// 55.2, 512/240/240 55.3. 512/120/240 joins the better halves; itself it was
// measured on transposed factors only, 53.8 to 55.8.
// Two panels of two vectors in place of three and one, where n is 8 more than threes of
// vectors, changed nothing: 57.9 of 59.0 at 1024×128×128 both ways.
var multiplied = blocking[float64]{multiplier: &multiply, panel: panel, transpose: &Transpose,
	depth: gemmDepth, rows: 120, cols: 240, small: 400 * 400, thin: 16, pad: 8}

const gemmDepth = 512

// large reads small factors in place, and so a B that few rows of A meet.
func (g *blocking[T]) large(p product[T]) {
	if p.n == 1 && p.ldc == 1 {
		// A column of numbers is a row: C' = B' A' fills whole vectors.
		p.a, p.aRow, p.aCol, p.b, p.bRow, p.bCol, p.m, p.n = p.b, p.bCol, p.bRow, p.a, p.aCol, p.aRow, 1, p.m
	}
	n, k, w := p.n, p.k, g.width
	packA := p.aCol != 1 && p.m*k > g.small && n > w
	packB := p.bCol != 1 || n&g.ragged != 0 || p.m > 64 && n*k > g.small
	if packA || packB {
		g.packed(p, packA)
		return
	}
	depth := g.depth
	if g.thin > 0 && p.m <= 2 && n*k > 128*128 {
		depth = g.thin
	}
	for ic := 0; ic < p.m; ic += g.rows {
		for pc := 0; pc < k; pc += depth {
			for j := 0; j < n; j += w {
				g.panel(p.c[ic*p.ldc+j:], p.ldc, p.a[ic*p.aRow+pc*p.aCol:], p.aRow, p.aCol, p.b[pc*p.bRow+j:], p.bRow,
					min(g.rows, p.m-ic), min(w, n-j), min(depth, k-pc), p.add || pc > 0)
			}
		}
	}
}

// scratch holds a packed block of B and one of A.
type scratch[T float32 | float64] struct{ b, a []T }

// packed copies B, and A where packA says so, block by block to where its
// panels are contiguous.
func (g *blocking[T]) packed(p product[T], packA bool) {
	s, _ := g.scratch.Get().(*scratch[T])
	if s == nil {
		s = &scratch[T]{make([]T, g.depth*g.cols), make([]T, (g.depth+g.pad)*g.rows)}
	}
	defer g.scratch.Put(s)
	w := g.width
	for jc := 0; jc < p.n; jc += g.cols {
		nc := min(g.cols, p.n-jc)
		for pc := 0; pc < p.k; pc += g.depth {
			kc := min(g.depth, p.k-pc)
			for j := 0; j < nc; j += w {
				b := p.b[pc*p.bRow+(jc+j)*p.bCol:]
				if p.bCol == 1 {
					g.pack(s.b[j*kc:], b, p.bRow, kc, min(w, nc-j))
				} else {
					(*g.transpose)(s.b[j*kc:], w, b, p.bCol, min(w, nc-j), kc)
				}
			}
			for ic := 0; ic < p.m; ic += g.rows {
				mc := min(g.rows, p.m-ic)
				a, aRow, aCol := p.a[ic*p.aRow+pc*p.aCol:], p.aRow, p.aCol
				if packA {
					(*g.transpose)(s.a, kc+g.pad, a, aCol, kc, mc)
					a, aRow, aCol = s.a, kc+g.pad, 1
				}
				for j := 0; j < nc; j += w {
					g.panel(p.c[ic*p.ldc+jc+j:], p.ldc, a, aRow, aCol, s.b[j*kc:], w, mc, min(w, nc-j), kc, p.add || pc > 0)
				}
			}
		}
	}
}

// packRows is the portable pack.
func packRows(dst, x []float64, ldx, m, n int) {
	for i := range m {
		copy(dst[i*portableWidth:][:n], x[i*ldx:])
	}
}

// Transpose writes the transpose of x, m×n with row stride ldx, to dst, n×m with
// row stride ldd.
var Transpose = transpose[float64]

func transpose[T float32 | float64](dst []T, ldd int, x []T, ldx, m, n int) {
	i := 0
	for ; i+4 <= m; i += 4 {
		r0, r1, r2, r3 := x[i*ldx:][:n], x[(i+1)*ldx:][:n], x[(i+2)*ldx:][:n], x[(i+3)*ldx:][:n]
		for j := range r0 {
			d := dst[j*ldd+i:][:4]
			d[0], d[1], d[2], d[3] = r0[j], r1[j], r2[j], r3[j]
		}
	}
	for ; i < m; i++ {
		for j, v := range x[i*ldx:][:n] {
			dst[j*ldd+i] = v
		}
	}
}

// gemmPanel is the portable panel: blocks of 2×4 numbers held in registers.
func gemmPanel(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, bRow, m, n, k int, add bool) {
	for j := 0; j < n; j += 4 {
		i := 0
		if n-j >= 4 {
			for ; i+2 <= m; i += 2 {
				gemm2x4(c[i*ldc+j:], ldc, a[i*aRow:], aRow, aCol, b[j:], bRow, k, add)
			}
		}
		for ; i < m; i++ {
			gemmRow(c[i*ldc+j:][:min(4, n-j)], a[i*aRow:], aCol, b[j:], bRow, k, add)
		}
	}
}

func gemm2x4(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, ldb, k int, add bool) {
	var c00, c01, c02, c03, c10, c11, c12, c13 float64
	d0, d1 := c[:4], c[ldc:][:4]
	if add {
		c00, c01, c02, c03 = d0[0], d0[1], d0[2], d0[3]
		c10, c11, c12, c13 = d1[0], d1[1], d1[2], d1[3]
	}
	for p := range k {
		y := b[p*ldb:][:4]
		x0, x1 := a[p*aCol], a[p*aCol+aRow]
		c00 = math.FMA(x0, y[0], c00)
		c01 = math.FMA(x0, y[1], c01)
		c02 = math.FMA(x0, y[2], c02)
		c03 = math.FMA(x0, y[3], c03)
		c10 = math.FMA(x1, y[0], c10)
		c11 = math.FMA(x1, y[1], c11)
		c12 = math.FMA(x1, y[2], c12)
		c13 = math.FMA(x1, y[3], c13)
	}
	d0[0], d0[1], d0[2], d0[3] = c00, c01, c02, c03
	d1[0], d1[1], d1[2], d1[3] = c10, c11, c12, c13
}

// gemmRow is one row of at most four elements.
func gemmRow(c, a []float64, aCol int, b []float64, ldb, k int, add bool) {
	for j := range c {
		s := 0.0
		if add {
			s = c[j]
		}
		for p := range k {
			s = math.FMA(a[p*aCol], b[p*ldb+j], s)
		}
		c[j] = s
	}
}
