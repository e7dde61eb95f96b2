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
	x, y := matrix{a, lda, 1}, matrix{b, ldb, 1}
	if transA {
		x = x.t()
	}
	if transB {
		y = y.t()
	}
	_, _ = a[(m-1)*x.row+(k-1)*x.col], b[(k-1)*y.row+(n-1)*y.col]
	if n == 1 && ldc == 1 {
		// A column of numbers is a row: C' = B' A' fills whole vectors.
		x, y, m, n = y.t(), x.t(), 1, m
	}
	gemm(c, ldc, x, y, m, n, k, add)
}

// A matrix has element (i, j) at x[i*row+j*col].
type matrix struct {
	x        []float64
	row, col int
}

func (a matrix) t() matrix          { return matrix{a.x, a.col, a.row} }
func (a matrix) at(i, j int) matrix { return matrix{a.x[i*a.row+j*a.col:], a.row, a.col} }

// A multiplier is what a tier brings to Gemm.
type multiplier struct {
	// panel multiplies into n ≤ width columns of C, with rows of B that are
	// contiguous.
	panel func(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, ldb, m, n, k int, add bool)
	width int
	whole int // panel reads the rows of B up to a multiple of whole
}

var multiply = multiplier{gemmPanel, 32, 1}

// The blocks that stay in the caches: B in panels of depth × width, at most cols
// columns at once, beside rows × depth of A.
const (
	gemmDepth = 256
	gemmRows  = 240
	gemmCols  = 480
)

// scratch holds a packed block of B and one of A.
type scratch struct {
	b [gemmDepth * gemmCols]float64
	a [gemmDepth * gemmRows]float64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func gemm(c []float64, ldc int, a, b matrix, m, n, k int, add bool) {
	w := multiply.width
	// B is read in place while it is small or used once, or copied into panels.
	packB := b.col != 1 || m > 64 && n*k > 128*128
	packA := a.col != 1 && m*k > 64*64 && n > w
	if !packB && !packA && n%multiply.whole == 0 {
		for pc := 0; pc < k; pc += gemmDepth {
			kc := min(gemmDepth, k-pc)
			for j := 0; j < n; j += w {
				multiply.panel(c[j:], ldc, a.x[pc*a.col:], a.row, a.col, b.x[pc*b.row+j:], b.row, m, min(w, n-j), kc, add || pc > 0)
			}
		}
		return
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for jc := 0; jc < n; jc += gemmCols {
		nc := min(gemmCols, n-jc)
		for pc := 0; pc < k; pc += gemmDepth {
			kc := min(gemmDepth, k-pc)
			for j := 0; j < nc; j += w {
				pack(s.b[j*kc:], w, b.at(pc, jc+j), kc, min(w, nc-j))
			}
			for ic := 0; ic < m; ic += gemmRows {
				mc := min(gemmRows, m-ic)
				x := a.at(ic, pc)
				if packA {
					pack(s.a[:], kc, x, mc, kc)
					x = matrix{s.a[:], kc, 1}
				}
				for j := 0; j < nc; j += w {
					multiply.panel(c[ic*ldc+jc+j:], ldc, x.x, x.row, x.col, s.b[j*kc:], w, mc, min(w, nc-j), kc, add || pc > 0)
				}
			}
		}
	}
}

// pack copies the m×n matrix a to rows at a distance of ld.
func pack(dst []float64, ld int, a matrix, m, n int) {
	if a.col != 1 {
		Transpose(dst, ld, a.x, a.col, n, m)
		return
	}
	for i := range m {
		copy(dst[i*ld:][:n], a.x[i*a.row:])
	}
}

// Transpose writes the transpose of x, m×n with row stride ldx, to dst, n×m with
// row stride ldd.
var Transpose = func(dst []float64, ldd int, x []float64, ldx, m, n int) {
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
func gemmPanel(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, ldb, m, n, k int, add bool) {
	for j := 0; j < n; j += 4 {
		i := 0
		if n-j >= 4 {
			for ; i+2 <= m; i += 2 {
				gemm2x4(c[i*ldc+j:], ldc, a[i*aRow:], aRow, aCol, b[j:], ldb, k, add)
			}
		}
		for ; i < m; i++ {
			gemmRow(c[i*ldc+j:][:min(4, n-j)], a[i*aRow:], aCol, b[j:], ldb, k, add)
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
