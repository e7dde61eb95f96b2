package kernels

import "sync/atomic"

// A product is a call of Gemm; element (i, j) of A is a[i*aRow+j*aCol], and so
// with B.
type product[T float32 | float64] struct {
	c, a, b                     []T
	ldc, aRow, aCol, bRow, bCol int
	m, n, k                     int
	add                         bool
}

// productOf is the product that the arguments of Gemm describe; it is none where nothing
// is left to multiply.
func productOf[T float32 | float64](c []T, ldc int, a []T, lda int, transA bool, b []T, ldb int, transB bool, m, n, k int, add bool) (p product[T], ok bool) {
	if m <= 0 || n <= 0 {
		return p, false
	}
	_ = c[(m-1)*ldc+n-1]
	if k <= 0 {
		for i := 0; i < m && !add; i++ {
			clear(c[i*ldc:][:n])
		}
		return p, false
	}
	p = product[T]{c, a, b, ldc, lda, 1, ldb, 1, m, n, k, add}
	if transA {
		p.aRow, p.aCol = 1, lda
	}
	if transB {
		p.bRow, p.bCol = 1, ldb
	}
	_, _ = a[(m-1)*p.aRow+(k-1)*p.aCol], b[(k-1)*p.bRow+(n-1)*p.bCol]
	return p, true
}

// Workers share the parts of a product.
type Workers struct {
	Count int
	Share func(n int, f func(i int)) // runs f(0) … f(n-1), in any order, and returns when all are done
}

// Alone is one worker.
var Alone Workers

// A blocking is how products that are not small are cut, and by what their parts are
// multiplied. A block of B of depth × cols, in panels of depth × width, and one of A of
// depth × tall are packed where that pays, and stay in the last cache; rows × depth of A
// stay in the second. What is packed is packed once for all workers: the parts of a block
// that they then take are rows of C.
type blocking[T float32 | float64] struct {
	*multiplier[T]
	panel     func(c []T, ldc int, a []T, aRow, aCol int, b []T, bRow, m, n, k int, add bool)
	transpose *func(dst []T, ldd int, x []T, ldx, m, n int)

	depth, rows int
	tall, cols  int
	small       int // a factor up to here is best read in place
	thin        int // depth for a row or two of A, bound by reading B along its rows; 0: as others
	pad         int // more than the depth, for A: a power of two would crowd one set of the cache
	spare       [4]atomic.Pointer[scratch[T]]
}

// multiplied is the blocking of float64. GFLOP/s of 58.5 at 1024 on a shared Zen 4, best
// of many calls (depth/rows, with 480 columns): 256/240 54.2, 512/240 54.2, 512/120 55.2.
// 1008 columns and 240 were within the noise.
// Two panels of two vectors in place of three and one, where n is 8 more than threes of
// vectors, changed nothing: 57.9 of 59.0 at 1024×128×128 both ways.
var multiplied = blocking[float64]{multiplier: &multiply, panel: panel, transpose: &Transpose,
	depth: gemmDepth, rows: 120, tall: 960, cols: 1008, small: 400 * 400, thin: 16, pad: 8}

const gemmDepth = 512

// multiplied32 is the blocking of float32. Its depth is that of a chain.
var multiplied32 = blocking[float32]{multiplier: &multiply32, panel: panel32, transpose: &Transpose32,
	depth: Gemm32Block, rows: 120, tall: 1920, cols: 2016, small: 100 * 100, pad: 16}

// A cut is one block of a product at work.
type cut[T float32 | float64] struct {
	*blocking[T]
	product[T]   // of the block
	packA, packB bool
	packed       *scratch[T]
	strips       int // of A, to be packed

	// A part is high rows of C and wide columns; there are each of them beside one another.
	// It goes steps deep into the block at a time.
	high, wide, each, step int
}

// scratch holds a packed block of B and one of A.
type scratch[T float32 | float64] struct{ b, a []T }

// packedRows is how many rows of A are packed at a time.
const packedRows = 64

// large cuts a product into blocks, and those into parts. It reads small factors in place,
// and so a B that few rows of A meet.
func (g *blocking[T]) large(by Workers, p product[T]) {
	if p.n == 1 && p.ldc == 1 {
		// A column of numbers is a row: C' = B' A' fills whole vectors.
		p.a, p.aRow, p.aCol, p.b, p.bRow, p.bCol, p.m, p.n = p.b, p.bCol, p.bRow, p.a, p.aCol, p.aRow, 1, p.m
	}
	m, n, k, w := p.m, p.n, p.k, g.width
	x := cut[T]{blocking: g, product: p, step: g.depth, packA: p.aCol != 1 && m*k > g.small && n > w,
		packB: p.bCol != 1 || n&g.ragged != 0 || m > 64 && n*k > g.small}
	if !x.packA && !x.packB {
		if g.thin > 0 && m <= 2 && n*k > 128*128 {
			x.step = g.thin
		}
		x.block(by, false)
		return
	}
	x.packed = g.take()
	defer g.give(x.packed)
	cols, tall := n, m
	if x.packB {
		cols = min(n, g.cols/w*w)
		grow(&x.packed.b, (cols+w-1)/w*w*min(k, g.depth))
	}
	if x.packA {
		tall = min(m, g.tall)
		grow(&x.packed.a, tall*(min(k, g.depth)+g.pad))
	}
	for jc := 0; jc < n; jc += cols {
		for pc := 0; pc < k; pc += g.depth {
			for ic := 0; ic < m; ic += tall {
				x.c, x.a, x.b = p.c[ic*p.ldc+jc:], p.a[ic*p.aRow+pc*p.aCol:], p.b[pc*p.bRow+jc*p.bCol:]
				x.m, x.n, x.k, x.add = min(tall, m-ic), min(cols, n-jc), min(g.depth, k-pc), p.add || pc > 0
				x.block(by, x.packB && ic == 0)
			}
		}
	}
}

// take and give keep the scratch of a few products at once for those that come. With a
// sync.Pool a gradient of a network on two threads allocated 2 MB more a run, about one
// packed block.
func (g *blocking[T]) take() *scratch[T] {
	for i := range g.spare {
		if s := g.spare[i].Swap(nil); s != nil {
			return s
		}
	}
	return &scratch[T]{}
}

func (g *blocking[T]) give(s *scratch[T]) {
	for i := range g.spare {
		if g.spare[i].CompareAndSwap(nil, s) {
			return
		}
	}
}

func grow[T any](s *[]T, n int) {
	if len(*s) < n {
		*s = make([]T, n)
	}
}

// block multiplies a block; what its B is packed to may be there from the block above.
func (x *cut[T]) block(by Workers, packB bool) {
	w := x.width
	panels := (x.n + w - 1) / w
	pieces := 0
	if x.strips = 0; x.packA {
		x.strips = (x.m + packedRows - 1) / packedRows
		pieces += x.strips
	}
	if packB {
		pieces += panels
	}
	// Some parts for each worker: one may be busy elsewhere. A part of few rows would read
	// B all too often.
	x.high, x.each = x.rows, 1
	parts := 4 * by.Count
	if by.Count > 1 {
		x.high = min(x.rows, max(32, ((x.m+parts-1)/parts+7)&^7))
	}
	bands := (x.m + x.high - 1) / x.high
	if by.Count > 1 {
		x.each = min(panels, (parts+bands-1)/bands)
	}
	x.wide = (panels + x.each - 1) / x.each * w
	parts = bands * x.each
	if by.Count > 1 {
		shared := *x // which leaves the stack
		if pieces > 0 {
			by.Share(pieces, shared.pack)
		}
		by.Share(parts, shared.part)
		return
	}
	for i := range pieces {
		x.pack(i)
	}
	for i := range parts {
		x.part(i)
	}
}

// pack packs a strip of A, or a panel of B.
func (x *cut[T]) pack(i int) {
	if i < x.strips {
		from := i * packedRows
		ld := x.k + x.pad
		(*x.transpose)(x.packed.a[from*ld:], ld, x.a[from*x.aRow:], x.aCol, x.k, min(packedRows, x.m-from))
		return
	}
	w := x.width
	j := (i - x.strips) * w
	b, dst := x.b[j*x.bCol:], x.packed.b[j*x.k:]
	x.packPanel(dst, b, x.bRow, x.bCol, x.k, min(w, x.n-j))
}

// packPanel packs k rows of up to a panel's width.
func (g *blocking[T]) packPanel(dst, b []T, bRow, bCol, k, n int) {
	if bCol == 1 {
		g.pack(dst, b, bRow, k, n)
	} else {
		(*g.transpose)(dst, g.width, b, bCol, n, k)
	}
}

// part multiplies some rows of A with some panels of B.
func (x *cut[T]) part(i int) {
	w := x.width
	top, left := i/x.each*x.high, i%x.each*x.wide
	rows := min(x.high, x.m-top)
	a, aRow, aCol := x.a, x.aRow, x.aCol
	if x.packA {
		a, aRow, aCol = x.packed.a, x.k+x.pad, 1
	}
	right := min(left+x.wide, x.n)
	for pc := 0; pc < x.k; pc += x.step {
		for j := left; j < right; j += w {
			b, bRow := x.b, x.bRow
			if x.packB {
				b, bRow = x.packed.b[j*x.k:], w
			} else {
				b = b[pc*bRow+j:]
			}
			x.panel(x.c[top*x.ldc+j:], x.ldc, a[top*aRow+pc*aCol:], aRow, aCol, b, bRow, rows, min(w, x.n-j), min(x.step, x.k-pc), x.add || pc > 0)
		}
	}
}
