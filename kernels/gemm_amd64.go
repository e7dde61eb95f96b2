//go:build !purego

package kernels

import "unsafe"

func avx2Gemm() []override {
	return []override{
		&at[multiplier[float32]]{&multiply32, multiplier[float32]{tier: avx2, width: 24, plain: looks(8, plain32AVX2), ragged: 7, near: true, groups: true, pack: func(dst, x []float32, ldx, m, n int) {
			pack32AVX2(&dst[0], &x[0], ldx, m, n)
		}}},
		&at[transposer32]{&Transpose32, transposeBlocks32},
		&at[multiplier[float64]]{&multiply, multiplier[float64]{tier: avx2, width: 12, plain: looks(4, plainAVX2), ragged: 3, near: true, groups: true, pack: func(dst, x []float64, ldx, m, n int) {
			packAVX2(&dst[0], &x[0], ldx, m, n)
		}}},
		&at[transposer]{&Transpose, spreads(transposeBlocks)},
		&at[columnar]{&timesColumn, columnOf(columnAVX2)},
		&at[liner]{&timesLines, linesOf(4, linesAVX2)},
		&at[func(int) float64]{&fmas, func(n int) float64 { peakAVX2(n); return 2 * 12 * 4 * float64(n) }},
	}
}

func avx512Gemm() []override {
	return []override{
		&at[multiplier[float32]]{&multiply32, multiplier[float32]{tier: avx512, width: 48, plain: looks(16, plain32AVX512), thin: 16, tall: 8, keep: keeper(keep32AVX512), pack: func(dst, x []float32, ldx, m, n int) {
			pack32AVX512(&dst[0], &x[0], ldx, m, n)
		}}},
		&at[multiplier[float64]]{&multiply, multiplier[float64]{tier: avx512, width: 24, plain: looks(8, plainAVX512), thin: 8, tall: 8, keep: keeper(keepAVX512), columnRow: columnRow, pack: func(dst, x []float64, ldx, m, n int) {
			packAVX512(&dst[0], &x[0], ldx, m, n)
		}}},
		&at[transposer]{&Transpose, spreads(transposeAll())},
		&at[columnar]{&timesColumn, columnOf(columnAVX512)},
		&at[liner]{&timesLines, linesOf(8, linesAVX512)},
		&at[func(int) float64]{&fmas, func(n int) float64 { peakAVX512(n); return 2 * 12 * 8 * float64(n) }},
	}
}

// looks is the plain of a multiplier, by so many numbers at a time.
func looks[T float32 | float64](lanes int, others func(x *T, n int) int) func(x []T) int {
	return func(x []T) int {
		n := len(x) / lanes * lanes
		if n > 0 && others(&x[0], n) != 0 {
			return -1
		}
		return n
	}
}

const (
	avx2 = 1 + iota
	avx512
)

// A call is what a panel of machine code is told, and uses up: distances are in bytes.
type call[T float32 | float64] struct {
	c          *T
	ldc        int
	a          *T
	aRow, aCol int
	b          *T
	bRow       int

	m, n, k             int
	aTile, bTile, cTile int // from one tile of 8 rows to the next; AVX2 does without
	tall                int // rows left from which on tiles are of 9
	second              int // from the first to the second vector of a row of B, where there are two; AVX2 does without

	next              *T // ahead; AVX2 does without where A lies along its rows
	nextCol, nextTile int

	by    *T // the row of it that is next, or nil
	ldby  int
	first *T      // of its rows
	end   uintptr // of them

	more, rows          int // products after this one, of one vector of columns, and m of each
	aNext, bNext, cNext int // from one to the next

	late int // columns of A, two, that are left for when rows are stored
	keep *T  // where the panel of B is packed

	plain int // not 0 where no number of by is 0, infinite or NaN
	add   bool
}

type (
	call64 = call[float64]
	call32 = call[float32]
)

// times has the panel multiplied by rows, of n numbers.
func (x *call[T]) times(by rowsOf[T], n int) {
	size := int(unsafe.Sizeof(*x.c))
	_ = by.x[(by.n-1)*by.ld+n-1]
	x.by, x.ldby, x.first = &by.x[by.at*by.ld], size*by.ld, &by.x[0]
	x.end = uintptr(unsafe.Pointer(x.first)) + uintptr(x.ldby*by.n)
	if by.plain {
		x.plain = 1
	}
}

// panel is a switch, not a door, so that a call stays on the stack, made field by
// field: a copy of it, read at once, takes 10 ns.
func panel(c []float64, ldc int, a []float64, aRow, aCol int, b []float64, bRow, bGap int, apart tiles, m, n, k int, add bool, next ahead[float64], by rowsOf[float64]) {
	if multiply.tier == 0 {
		gemmPanel(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)
		by.times(c, ldc, m, n)
		return
	}
	const size = 8
	var x call64
	if apart == (tiles{}) {
		apart = tiles{0, multiply.tall * aRow, 0, multiply.tall * ldc}
		if by.x == nil {
			x.tall = taller(m)
		}
	} else if multiply.groups && m > apart.rows {
		x.rows, x.more, m = apart.rows, m/apart.rows-1, apart.rows
		x.aNext, x.bNext, x.cNext = size*apart.a, size*apart.b, size*apart.c
	}
	x.c, x.a, x.b, x.next = &c[0], &a[0], &b[0], next.at
	x.ldc, x.aRow, x.aCol, x.bRow = size*ldc, size*aRow, size*aCol, size*bRow
	x.m, x.n, x.k, x.add, x.second = m, n, k, add, 64+size*bGap
	x.aTile, x.bTile, x.cTile = size*apart.a, size*apart.b, size*apart.c
	x.nextCol, x.nextTile = size*next.col, size*next.tile
	if next.at == nil && (multiply.tier == avx512 || aCol != 1) {
		x.next = x.a
	}
	if k > 2 && (by.x == nil || n%8 == 0) {
		x.late = 2
	}
	if by.x != nil {
		x.times(by, n)
	}
	switch wide := multiply.tier == avx512; {
	case wide && n > 16:
		gemm3AVX512(&x)
	case wide && n > 8:
		gemm2AVX512(&x)
	case wide:
		gemm1AVX512(&x)
	case n > 8:
		gemm3AVX2(&x)
	case n > 4:
		gemm2AVX2(&x)
	default:
		gemm1AVX2(&x)
	}
}

// keeper is the keep of a multiplier, in machine code.
func keeper[T float32 | float64](tile func(x *call[T])) func(dst, c []T, ldc int, a []T, aRow, aCol int, b []T, bRow, m, n, k int, add bool) {
	return func(dst, c []T, ldc int, a []T, aRow, aCol int, b []T, bRow, m, n, k int, add bool) {
		const further = 32
		var x call[T]
		size := int(unsafe.Sizeof(*x.c))
		x.c, x.a, x.b, x.keep, x.next = &c[0], &a[0], &b[0], &dst[0], &b[min(further, k-1)*bRow]
		x.ldc, x.aRow, x.aCol, x.bRow, x.nextCol = size*ldc, size*aRow, size*aCol, size*bRow, size*bRow
		x.m, x.n, x.k, x.add = m, n, k, add
		x.aTile, x.cTile = m*x.aRow, m*x.ldc
		tile(&x)
	}
}

// columnRow is that of the multiplier.
func columnRow(c []float64, ldc int, a []float64, lda int, b []float64, panel int, by []float64, ldby, m, n int, plain bool) {
	w := multiply.width
	_, _, _, _ = c[(m-1)*ldc+n-1], a[(m-1)*lda], b[(n-1)/w*panel+(n-1)%w], by[(m-1)*ldby+n-1]
	told := 0
	if plain {
		told = 1
	}
	columnRowAVX512(&c[0], ldc, &a[0], lda, &b[0], panel, &by[0], ldby, m, n, told)
}

// several multiplies that many products whose B is one vector of columns, read in place; it reports
// whether it can.
func (g *blocking[T]) several(count int, by Steps, p product[T]) bool {
	var x call[T]
	size, wide := int(unsafe.Sizeof(*x.c)), g.tier == avx512
	lanes := 32 / size
	if wide {
		lanes *= 2
	}
	if g.tier == 0 || p.n > lanes || p.add {
		return false
	}
	_ = p.c[(count-1)*by.C:][(p.m-1)*p.ldc+p.n-1]
	_, _ = p.a[(count-1)*by.A:][(p.m-1)*p.aRow+(p.k-1)*p.aCol], p.b[(count-1)*by.B:][(p.k-1)*p.bRow+p.n-1]
	const most = 1 << 12 // in a call, which nothing interrupts
	for i := 0; i < count; i += most {
		if x.c, x.a, x.b = &p.c[i*by.C], &p.a[i*by.A], &p.b[i*by.B]; wide || p.aCol != 1 {
			x.next = x.a
		}
		x.ldc, x.aRow, x.aCol, x.bRow = size*p.ldc, size*p.aRow, size*p.aCol, size*p.bRow
		x.m, x.n, x.k, x.rows, x.tall, x.more = p.m, p.n, p.k, p.m, taller(p.m), min(most, count-i)-1
		x.aTile, x.cTile = g.tall*x.aRow, g.tall*x.ldc
		x.aNext, x.bNext, x.cNext = size*by.A, size*by.B, size*by.C
		switch at := unsafe.Pointer(&x); {
		case size == 8 && wide:
			gemm1AVX512((*call64)(at))
		case size == 8:
			gemm1AVX2((*call64)(at))
		case wide:
			gemm32AVX512x1((*call32)(at))
		default:
			gemm32AVX2x1((*call32)(at))
		}
	}
	return true
}

// outer is Outer, panel by panel. What is left of whole vectors is portable where they cannot
// be masked.
func outer(c []float64, ldc int, a []float64, lda int, b []float64, ldb int, m, n, k int, back bool) {
	const size = 8
	j, w := 0, multiply.width
	for whole := n &^ multiply.ragged; multiply.tier != 0 && j < whole; j += w {
		var x call64
		x.c, x.ldc, x.m, x.n, x.k = &c[j], size*ldc, m, min(w, whole-j), k
		x.a, x.aRow, x.aCol, x.b, x.bRow = &a[0], size, size*lda, &b[j], size*ldb
		if back {
			x.a, x.aCol, x.b, x.bRow = &a[(k-1)*lda], -x.aCol, &b[(k-1)*ldb+j], -x.bRow
		}
		x.aTile, x.cTile = multiply.tall*x.aRow, multiply.tall*x.ldc
		switch wide := multiply.tier == avx512; {
		case wide && x.n > 16:
			outer3AVX512(&x)
		case wide && x.n > 8:
			outer2AVX512(&x)
		case wide:
			outer1AVX512(&x)
		case x.n > 8:
			outer3AVX2(&x)
		case x.n > 4:
			outer2AVX2(&x)
		default:
			outer1AVX2(&x)
		}
	}
	if j = min(j, n&^multiply.ragged); j < n {
		outerPanel(c[j:], ldc, a, lda, b[j:], ldb, m, n-j, k, back)
	}
}

// panel32 is panel of float32, its fields set here, too: one function that does it for both
// takes 4 to 5 ns, of 40 for a product of 8×8×8.
func panel32(c []float32, ldc int, a []float32, aRow, aCol int, b []float32, bRow, bGap int, apart tiles, m, n, k int, add bool, next ahead[float32], by rowsOf[float32]) {
	if multiply32.tier == 0 {
		gemmPanel32(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)
		by.times(c, ldc, m, n)
		return
	}
	const size = 4
	var x call32
	if apart == (tiles{}) {
		apart = tiles{0, multiply32.tall * aRow, 0, multiply32.tall * ldc}
		if by.x == nil {
			x.tall = taller(m)
		}
	} else if multiply32.groups && m > apart.rows {
		x.rows, x.more, m = apart.rows, m/apart.rows-1, apart.rows
		x.aNext, x.bNext, x.cNext = size*apart.a, size*apart.b, size*apart.c
	}
	x.c, x.a, x.b, x.next = &c[0], &a[0], &b[0], next.at
	x.ldc, x.aRow, x.aCol, x.bRow = size*ldc, size*aRow, size*aCol, size*bRow
	x.m, x.n, x.k, x.add, x.second = m, n, k, add, 64+size*bGap
	x.aTile, x.bTile, x.cTile = size*apart.a, size*apart.b, size*apart.c
	x.nextCol, x.nextTile = size*next.col, size*next.tile
	if next.at == nil && (multiply32.tier == avx512 || aCol != 1) {
		x.next = x.a
	}
	if k > 2 && !add && (by.x == nil || n%16 == 0) {
		x.late = 2
	}
	if by.x != nil {
		x.times(by, n)
	}
	switch wide := multiply32.tier == avx512; {
	case wide && n > 32:
		gemm32AVX512x3(&x)
	case wide && n > 16:
		gemm32AVX512x2(&x)
	case wide:
		gemm32AVX512x1(&x)
	case n > 16:
		gemm32AVX2x3(&x)
	case n > 8:
		gemm32AVX2x2(&x)
	default:
		gemm32AVX2x1(&x)
	}
}
