package kernels

import "math"

// Gemm is C = op(A) op(B), or C += op(A) op(B) with add set, row-major: op(A) is
// m×k, op(B) k×n, C m×n with row strides lda, ldb, ldc; op is the transposition
// where transA, transB are set (then A is stored k×m, B n×k). For every element k
// runs in order, one FMA each, from 0 or from what C holds. So C may be cut into
// rows and columns at will, among threads too: every cut has the same bits.
//
// Where B is one panel, every tile asks for the rows of A below it: of the peak, four products
// from memory in turns without and with that, 4096×64×8 0.22 and 0.87, 4096×64×24 0.40 and 0.74,
// 4096×256×10 0.32 and 0.51, 512×512×10 0.49 and 0.55; 4096×16×16, which stays near, 0.93 both.
func Gemm(c []float64, ldc int, a []float64, lda int, transA bool, b []float64, ldb int, transB bool, m, n, k int, add bool) {
	turned := transA && !add && narrow(m, n, k)
	lines := m == 1 && !add && timesLines.most > 0
	faint := mayBeFaint(a, b, m, n, k)
	if !transB && !turned && !lines && !faint && m > 0 && n > 1 && n <= multiply.width && n&multiply.ragged == 0 && k > 0 && k <= gemmDepth {
		aRow, aCol := lda, 1
		if transA {
			aRow, aCol = 1, lda
		}
		_, _, _ = c[(m-1)*ldc+n-1], a[(m-1)*aRow+(k-1)*aCol], b[(k-1)*ldb+n-1]
		panel(c, ldc, a, aRow, aCol, b, ldb, 0, tiles{}, m, n, k, add, below(a, aRow, aCol, multiply.tall, m), rowsOf[float64]{})
	} else if p, ok := productOf(c, ldc, a, lda, transA, b, ldb, transB, m, n, k, add); !ok {
		return
	} else if faint && multiplyFaint(Alone, p) {
		return
	} else if p.isColumn() {
		timesColumn(p.c, p.b, p.bCol, p.a, p.n, p.k)
	} else if p.isRow() {
		rowColumns(&p, 0, p.n)
	} else {
		multiplied.alone(p)
	}
}

// GemmShared is Gemm by several workers.
func GemmShared(by Workers, c []float64, ldc int, a []float64, lda int, transA bool, b []float64, ldb int, transB bool, m, n, k int, add bool) {
	if by.Count <= 1 {
		Gemm(c, ldc, a, lda, transA, b, ldb, transB, m, n, k, add)
	} else if p, ok := productOf(c, ldc, a, lda, transA, b, ldb, transB, m, n, k, add); ok && !(mayBeFaint(a, b, m, n, k) && multiplyFaint(by, p)) {
		multiplied.large(by, p)
	}
}

// A multiplier is what a tier brings to Gemm, beside its case in panel, which
// multiplies into at most width columns of C, with rows of B that are contiguous.
type multiplier[T float32 | float64] struct {
	//lint:ignore U1000 where no tier is, 0 is the only case
	tier   int // selects the case; 0 is gemmPanel
	width  int
	pack   func(dst, x []T, ldx, m, n int) // copies m rows of n ≤ width to a distance of width
	tall   int                             // rows of tiles that may lie apart, of every panel; 0: they differ
	groups bool                            // rows may lie apart in groups of any number
	ragged int                             // panel reads the rows of B up to where n & ragged is 0
	thin   int                             // columns that are too few to be multiplied by themselves
	near   bool                            // panels of B are packed that would leave the first cache

	// keep is panel of tall rows of A and more than two thirds of the width, which packs B to dst as it
	// reads it; nil: there is none.
	keep func(dst, c []T, ldc int, a []T, aRow, aCol int, b []T, bRow, m, n, k int, add bool)

	// plain is arePlain, of some of the first numbers that it returns, or -1 where those are not; nil: it has none.
	plain func(x []T) int

	// columnRow is the product of a column with a row of panels so many numbers apart, times rows of factors, 0 where
	// either is 0; nil: it is multiplied as others are.
	columnRow func(c []T, ldc int, a []T, lda int, b []T, panel int, by []T, ldby, m, n int, plain bool)
}

// panels counts those that n columns are packed in, and the calls that multiply by them.
func (g *multiplier[T]) panels(n int) int { return (n + g.width - 1) / g.width }

// starts is the first of the columns that call p multiplies by, of n, and n after the last call. Those are
// a panel's, but a thin last one is multiplied together with the last vector of the panel before: one
// vector alone has no more chains than there may be multiplications under way. Of the peak on a Zen 5, tiles
// of 24, 16 and 8 columns from a panel run at .98, .97 and .8.
func (g *multiplier[T]) starts(p, n int) int {
	j := p * g.width
	switch {
	case j >= n:
		return n
	case p > 0 && n-j <= g.thin:
		return j - g.thin
	}
	return j
}

// place is where the columns that a call begins with lie in panels of k rows, and how much further than beside
// it their second vector lies.
func (g *multiplier[T]) place(j, k int) (at, gap int) {
	at = j/g.width*g.width*k + j%g.width
	if j%g.width > 0 {
		gap = g.width * (k - 1)
	}
	return at, gap
}

// tiles says how far each so many rows begin after those before, in A, B and C; where it is zero
// they go on, by the same B.
type tiles struct{ rows, a, b, c int }

// inTiles reports whether m rows that lie together may be told as tiles.
func (g *multiplier[T]) inTiles(m int) bool { return g.groups || g.tall > 0 && m == g.tall }

// taller says of how many rows from the end on tiles are of 9, not of 8: each takes in one that would
// be left over. Where they cannot take in all, four may be left, or two.
func taller(m int) int {
	tiles, left := m/8, m%8
	switch {
	case tiles >= left:
		tiles = left
	case left > 4 && tiles >= left-4:
		tiles = left - 4
	default:
		tiles = min(tiles, left&1)
	}
	return 8*tiles + left
}

const portableWidth = 24

var multiply = multiplier[float64]{width: portableWidth, pack: packRows}

// packRows is the portable pack.
func packRows(dst, x []float64, ldx, m, n int) {
	for i := range m {
		copy(dst[i*portableWidth:][:n], x[i*ldx:])
	}
}

// Transpose writes the transpose of x, m×n with row stride ldx, to dst, n×m with
// row stride ldd.
var Transpose = transpose[float64]

// TransposeLarge is Transpose for matrices of any size: some columns at a time, so
// that the lines of the cache that they become are there until they are full.
func TransposeLarge(dst []float64, ldd int, x []float64, ldx, m, n int) {
	const columns = 64
	for j := 0; j < n && m > 0; j += columns { // of no rows x has no column j
		Transpose(dst[j*ldd:], ldd, x[j:], ldx, m, min(columns, n-j))
	}
}

// transpose is the portable Transpose: four rows at a time.
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

// A rowsOf is n rows of numbers that those of a panel are multiplied by when it is done, where x
// is not nil: 0 where either is 0. Its first row meets row at, and after the last the first is next. Few rows are
// met by many of C; to multiply a whole product of 64 to 512 numbers square by as many slopes, on the way back through
// a layer, took 1 to 1.04 of the time of a step of its own on a Zen 4, with the slopes asked for beforehand, too.
type rowsOf[T float32 | float64] struct {
	x         []T
	ld, n, at int
	plain     bool // none of its numbers is 0, infinite or NaN
}

// arePlain reports whether no number is 0, infinite or NaN.
func arePlain[T float32 | float64](x []T) bool {
	for _, v := range x {
		if v == 0 || v-v != 0 {
			return false
		}
	}
	return true
}

// arePlain is the other, by what the tier brings: of 1024 numbers .05 µs, not 1.
func (g *multiplier[T]) arePlain(x []T) bool {
	looked := 0
	if g.plain != nil {
		looked = g.plain(x)
	}
	return looked >= 0 && arePlain(x[looked:])
}

// times multiplies a panel of C.
func (by rowsOf[T]) times(c []T, ldc, m, n int) {
	for i := 0; i < m && by.x != nil; i++ {
		x := any(by.x[(by.at+i)%by.n*by.ld:][:n])
		switch row := any(c[i*ldc:][:n]).(type) {
		case []float64:
			ZMul(row, row, x.([]float64))
		case []float32:
			Single.ZMul(row, row, x.([]float32))
		}
	}
}

// gemm2x4 is a block of C of two rows and four columns.
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
