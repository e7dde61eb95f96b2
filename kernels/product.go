package kernels

import (
	"cmp"
	"runtime"
	"sync/atomic"
	"unsafe"

	"nabla/kernels/pages"
)

// A product is a call of Gemm; element (i, j) of A is a[i*aRow+j*aCol], and so
// with B.
type product[T float32 | float64] struct {
	c, a, b                     []T
	ldc, aRow, aCol, bRow, bCol int
	m, n, k                     int
	add                         bool
	swapped                     bool // A is B', and so with B: a column of numbers is a row
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
	p = product[T]{c, a, b, ldc, lda, 1, ldb, 1, m, n, k, add, false}
	if transA {
		p.aRow, p.aCol = 1, lda
	}
	if transB {
		p.bRow, p.bCol = 1, ldb
	}
	_, _ = a[(m-1)*p.aRow+(k-1)*p.aCol], b[(k-1)*p.bRow+(n-1)*p.bCol]
	if p.n == 1 && p.ldc == 1 { // C' = B' A' fills whole vectors
		p.a, p.aRow, p.aCol, p.b, p.bRow, p.bCol, p.m, p.n, p.swapped = p.b, p.bCol, p.bRow, p.a, p.aCol, p.aRow, 1, p.m, true
	}
	return p, true
}

// Workers share the parts of a product.
type Workers struct {
	Count int
	Share func(n int, f func(i int)) // runs f(0) … f(n-1), in any order, best some in a row by each, and returns when all are done
}

// Alone is one worker.
var Alone Workers

// narrow reports whether a product of a transposed A with few columns is computed the other way
// round, C' = B' A: that reads the rows of A as vectors, where tiles of C read eight numbers of
// each, from a page of its own where A is wide, and leave lanes of the last vector of columns
// empty. Of the time in the usual order, A in the second cache: 500×300 with 2, 4, 9 and 12
// columns 0.7, 0.65, 0.7 and 0.9, with 7, 8 and 16 1.1, 1.2 and 1.4; 512×512 with 10 0.85, after
// other large products 0.6 (the best of many, in turns, with AVX-512; AVX2 gains half of that).
func narrow(m, n, k int) bool {
	last := n % 8
	return n > 1 && n <= mostNarrow && last > 0 && last < 7 && m >= leastTurned && k >= leastTurned
}

// narrows reports whether a product is computed so.
func (g *blocking[T]) narrows(p product[T]) bool {
	return g.thin > 0 && p.aRow == 1 && p.aCol > 1 && p.bCol == 1 && !p.add && narrow(p.m, p.n, p.k)
}

// flattens reports whether a product with B stored transposed has so few rows that it is computed as
// C' = B A': that reads B as it is stored, and transposes A and C, which are smaller, instead of it. Of
// the time in the usual order, on a Xeon with AVX-512, 2, 4, 8, 16, 32, 64 and 100 rows by 512×512
// .35, .33, .42, .51, .74, .85 and .94; by 128×128 .73, .86, .69 and .79, then 1; by 64×64 4 rows 1.3. Of
// float32 4 rows by 128×128 and by 512×512 took 1.6 and 1, 8 and 16 rows by 512×512 .89 and .71.
func (g *blocking[T]) flattens(p product[T]) bool {
	const least = 128 * 128
	return p.bRow == 1 && p.bCol > 1 && p.aCol == 1 && !p.add && p.m >= g.flat && p.n*p.k >= least && 2*p.m*(p.n+p.k) <= p.n*p.k
}

// crowding is how many lines k rows, or columns, that lie step numbers apart put into each set of the
// second cache that they meet: of 2048 sets, wherever this was measured, with 8 lines or 16. Where
// those are full, what a panel asked for is gone before it is read, and so a block is less deep, unless
// panels are packed as they are read (keepsPanel). Of
// the time in whole blocks, on a Xeon with AVX-512: 512×512×512 .92 to .99, with A transposed .89 to .95;
// 256, 128 and 64 rows by 512×512 .9, .83 and .73; 16 rows by 1024×1024 .6.
func crowding[T float32 | float64](step, unit, k int) int {
	if unit != 1 { // the lines are those of rows
		return 0
	}
	const way = 2048 * 64
	step *= int(unsafe.Sizeof(T(0)))
	return k * min(way, step&-step) / way
}

// spills reports whether a panel of B, k rows that lie step numbers apart, is too much for the first
// cache of processors without AVX-512, 64 sets of 8 lines, or meets too few of its sets; many says of
// how many rows of A on it is packed then, which fewer do not repay. Rows of C lie as those of B do,
// and loads wait for stores to other pages' same places: with rows a page apart, or half of one, 8 of B are
// too many. Of the time in place, on a Zen 3, in turns, operands at pages and 512 bytes off: 12, 24 and
// 64 rows by 16×512 .63/.81, .73/.89 and .59/.78, by 8×1024 .63/.95, .49/.85 and .39/.74, by 64×1024
// .62/.74, .71/.58 and .44/.52; 24 and 64 by 8×256 .75/.92 and .54/1.1, by 16×768 .83/.99 and .55/.89; by
// 4×512 24 rows .55/1.2. Best of many, 64 rows by 32×128 .96, by 64×64 1; 32, 64 and 128 rows by 128×128
// 1.03, .91 and .94, by 384×384 1, .96 and .92; by 144×144 and 176×176, which stay, 1.14, 1.06 and 1.03.
func (g *blocking[T]) spills(step, k int) (many int, ok bool) {
	const page, cache = 4096, 64 * 64 * 8 // bytes
	if !g.near {
		return 0, false
	}
	step *= int(unsafe.Sizeof(T(0)))
	even := step & -step
	switch {
	case even >= page && k >= 8:
		return 12, true
	case even == page/2 && k >= 8:
		return 24, true
	case k*min(page, even) >= cache && even > 2*64:
		return 48, true
	}
	return 64, 2*64*k > cache // a row of a panel lies in two lines
}

// pagesApart reports whether rows, or columns, that lie step numbers apart meet one set of such a first
// cache. Of the time in place, a transposed A of 512 and 1024 columns took by 64×48 .87 and .7, by 64×128
// .89, by 64×512 .85 and .88, by 32×48 1 and .6 to .75, by 32×128 and 32×512 1 and .92; of 500 by 64×64 1.02.
func (g *blocking[T]) pagesApart(step int) bool {
	return g.near && step*int(unsafe.Sizeof(T(0)))%4096 == 0
}

const (
	mostNarrow  = 16
	leastTurned = 128
)

// A blocking is how products that are not small are cut, and by what their parts are
// multiplied. A block of B of depth × cols, in panels of depth × width, and bands of A of
// rows × depth are packed where that pays: a panel of B by the part that comes to it first,
// for all workers, and a band of A by its part. What has just been packed is in the second
// cache when it is multiplied; the block of B stays in the last.
type blocking[T float32 | float64] struct {
	*multiplier[T]
	panel     func(c []T, ldc int, a []T, aRow, aCol int, b []T, bRow, bGap int, apart tiles, m, n, k int, add bool, next ahead[T], by rowsOf[T])
	vectors   func(by Workers, p product[T]) bool // multiplies if the product is of vectors; nil: as others
	transpose *func(dst []T, ldd int, x []T, ldx, m, n int)

	depth, rows int
	cols        int
	small       int // a factor up to here is best read in place
	common      int // and a B that many rows of A meet up to here
	thin        int // depth for a row or two of A, bound by reading B along its rows; 0: as others
	narrow      int // depth for few columns: pages of so many rows of A are found in the first table; 0: as others
	deep        int // depth for two tall operands; 0: as others
	crowded     int // depth where rows crowd a few sets of the second cache, half of it in place; 0: as others
	flat        int // as many rows of A as that may be transposed in place of B
	pad         int // at least so much more than the depth lie rows of A apart (bandStride)

	blocks spares[packed[T]]
	bands  spares[[]T]
}

// multiplied is the blocking of float64. Of the peak at 512, 700 and 1024, by depth/rows, on
// a shared Zen 4, best of many calls: 512/88 0.94, 0.91, 0.92; 768/64 0.94, 0.92, 0.92; 1024/64
// 0.95, 0.93, 0.94; 1024/88 and 1024/48 as that, and so half as many columns, but where A is
// packed. Rows of 48 to 176 do not differ at 512. Asking for the rows that are packed next was
// worth nothing, and at 1024, where they crowd one set of the cache, cost 0.02; asking for one
// line with every column of A, in the kernel, is worth it (ahead).
// A B of 256×512 in place: 0.92 of the peak with AVX-512 and 0.56 with AVX2, packed for 512 rows 0.96
// and 0.92; of 300×300 0.97 and 0.91, 0.96 and 0.95, but for 128 rows 0.97 and 0.93, 0.93 and 0.92.
// Two panels of two vectors in place of three and one, where n is 8 more than threes of
// vectors, changed nothing: 57.9 of 59.0 GFLOP/s at 1024×128×128 both ways.
var multiplied = blocking[float64]{multiplier: &multiply, panel: panel, vectors: multiplyVectors, transpose: &Transpose,
	depth: gemmDepth, rows: 64, cols: 1008, small: 400 * 400, common: 320 * 320, thin: 16, narrow: 48, deep: 128, crowded: 256, flat: 2, pad: 8}

const (
	gemmDepth = 1024
	uncrowded = 8 // lines of a set

	// A transposed A larger than this is packed where many panels read it, or its columns crowd. Of the
	// time in place, on a Xeon, 256×512 by 512×512 took .73, 256³ .94, 300³ .92 and 350³ .95, with
	// AVX2 .85, .86, .77 and .87; 200×500 by 48 columns 1.1.
	smallTurned = 200 * 200
)

// isDeep reports whether a product is A'B of two operands so tall that they come from memory, into
// a C that stays in the second cache: what a batch adds up for the weights of a narrow layer. It
// is read in place, each time deep rows of both while the next deep ones come. Of the peak, four
// products of each shape in turns, by A's columns × rows × B's columns, without and with it:
// 64×4096×10 0.22 and 0.54, 64×4096×24 0.44 and 0.77, 64×4096×64 0.54 and 0.82, 128×2048×128 0.76
// and 0.87, 64×2048×256 0.53 and 0.84, 512×1024×64 0.71 and 0.78. What bounds it: 16×4096×16, no
// more than that cache holds, 0.96 and 0.86; 256×1024×256 0.87 and 0.85. With 64 rows at a time it
// was no faster, with 256 slower. Workers share its rows, and need two tiles each.
func (g *blocking[T]) isDeep(p product[T], workers int) bool {
	const many, few, near = 1 << 17, 1 << 15, 512 // numbers of A and B, of C, and from row to row
	return g.deep > 0 && g.tall > 0 && p.aRow == 1 && p.bCol == 1 && p.m >= g.tall && (workers <= 1 || p.m >= 2*g.tall*workers) && p.n > 1 &&
		(p.m+p.n)*p.k > many && p.m*p.n <= few && p.k >= 2*g.deep && max(p.aCol, p.bRow) <= near
}

// multiplied32 is the blocking of float32. Its depth is that of a chain. Factors of up to 200×200 in
// place, not of 100×100: of the peak with AVX-512, A transposed at 112, 128, 150 and 200 from 0.87, 0.91,
// 0.88 and 0.92 to 0.97, 0.98, 0.95 and 0.97, others at 128 and 150 from 0.94 and 0.91 to 0.98 and 0.95;
// with AVX2 300×300 would take 1.05 times as long.
var multiplied32 = blocking[float32]{multiplier: &multiply32, panel: panel32, transpose: &Transpose32,
	depth: Gemm32Block, rows: 120, cols: 2016, small: 200 * 200, common: 100 * 100, flat: 8, pad: 16}

// A cut is one block of a product at work.
type cut[T float32 | float64] struct {
	*blocking[T]
	product[T]   // of the block
	packA, packB bool
	keeping      bool       // panels are packed by the first tile that reads them
	awaits       bool       // what is read of B comes into the second cache before that
	packed       *packed[T] // B
	workers      int
	parts        int // of the block

	// A part is high rows of C and wide calls; there are each of them beside one another.
	// It goes steps deep into the block at a time, and asks for the steps after those where
	// it is deep.
	high, wide, each, step int
	deep                   bool
	across                 bool // tiles follow one another along the rows of C
}

// packed is a packed block of B.
type packed[T float32 | float64] struct {
	panels []T
	state  []atomic.Uint32 // of each panel
}

// States of a panel.
const (
	panelRaw   = iota
	panelTaken // somebody packs it
	panelReady
)

// large cuts a product into blocks, and those into parts. It reads small factors in place,
// and so a B that few rows of A meet.
func (g *blocking[T]) large(by Workers, p product[T]) {
	if g.vectors != nil && g.vectors(by, p) {
		return
	}
	narrows := g.narrows(p)
	if narrows || g.flattens(p) {
		turned := g.bands.take()
		defer g.bands.give(turned)
		grow(turned, p.m*p.n)
		defer func(c []T, ldc, m, n int) { (*g.transpose)(c, ldc, *turned, m, n, m) }(p.c, p.ldc, p.m, p.n)
		p.c, p.ldc = *turned, p.m
		p.a, p.aRow, p.aCol, p.b, p.bRow, p.bCol, p.m, p.n = p.b, p.bCol, p.bRow, p.a, p.aCol, p.aRow, p.n, p.m
	}
	m, n, k, w := p.m, p.n, p.k, g.width
	crowdA, crowdB := crowding[T](p.aCol, p.aRow, k), crowding[T](p.bRow, p.bCol, k)
	crowded := g.crowded > 0 && max(crowdA, crowdB) > uncrowded
	largeA := m*k > g.small || m*k > smallTurned && (crowdA >= uncrowded/2 || n >= 8*w) || g.pagesApart(p.aCol) && k >= 32 && n >= 4*w
	x := cut[T]{blocking: g, product: p, step: g.depth, packA: p.aCol != 1 && largeA && n > w,
		packB: p.bCol != 1 || n&g.ragged != 0 || m > 64 && n*k > g.small || m >= 256 && n*k > g.common}
	if many, ok := g.spills(p.bRow, k); ok && m >= many {
		x.packB = true
	}
	if x.across = x.goesAcross(); x.across {
		x.packB = x.packB || x.packsAcross()
	}
	x.keeping = x.packB && p.bCol == 1 && g.keep != nil
	if x.awaits = !x.keeping || crowdB <= uncrowded; crowded && !x.keeping {
		x.step = g.crowded
	}
	if !narrows && g.isDeep(p, by.Count) {
		x.packA, x.packB, x.deep, x.step = false, false, true, g.deep
		x.block(by)
		return
	}
	if !x.packA && !x.packB {
		if g.thin > 0 && m <= 2 && n*k > 128*128 {
			x.step = g.thin
		} else if narrows && g.narrow > 0 {
			x.step = g.narrow
		} else if crowded && m > cmp.Or(g.tall, 4) { // else each row of B is read once
			x.step = g.crowded / 2
		}
		x.block(by)
		return
	}
	cols := n
	if x.packB {
		most := g.cols
		if x.across {
			most = min(most, acrossBytes/(k*int(unsafe.Sizeof(T(0)))))
		}
		blocks := (n + most - 1) / most
		panels := ((n+blocks-1)/blocks + w - 1) / w
		cols = panels * w
		x.packed = g.blocks.take()
		defer g.blocks.give(x.packed)
		grow(&x.packed.panels, cols*min(k, x.step))
		if len(x.packed.state) < panels {
			x.packed.state = make([]atomic.Uint32, panels)
		}
	}
	for jc := 0; jc < n; jc += cols {
		for pc := 0; pc < k; pc += x.step {
			x.c, x.a, x.b = p.c[jc:], p.a[pc*p.aCol:], p.b[pc*p.bRow+jc*p.bCol:]
			x.n, x.k, x.add = min(cols, n-jc), min(x.step, k-pc), p.add || pc > 0
			x.block(by)
		}
	}
}

// spares keep the memory of a few at once for those that come. With a sync.Pool a gradient
// of a network on two threads allocated 2 MB more a run, about one packed block.
type spares[S any] [8]atomic.Pointer[S]

// take is a spare one, or new.
func (l *spares[S]) take() *S {
	for i := range l {
		if s := l[i].Swap(nil); s != nil {
			return s
		}
	}
	return new(S)
}

// give keeps one, if there is a place for it.
func (l *spares[S]) give(s *S) {
	for i := range l {
		if l[i].CompareAndSwap(nil, s) {
			return
		}
	}
}

// grow makes room for n numbers, whatever they are.
func grow[T float32 | float64](s *[]T, n int) {
	if len(*s) < n {
		*s = pages.Fresh[T](n)
	}
}

// block multiplies a block.
func (x *cut[T]) block(by Workers) {
	if x.across {
		x.multiplyAcross(by)
		return
	}
	panels := x.panels(x.n)
	x.workers = max(1, by.Count)
	x.high, x.each = x.rows, 1
	if x.deep {
		// Every part reads all of B: one for each worker, as many rows as stay beside it.
		x.high = min(2*x.rows, ((x.m+x.workers-1)/x.workers+7)&^7)
	} else if by.Count > 1 {
		// Some parts for each worker: one may be busy elsewhere. A part of few rows would
		// read B all too often, one of few columns pack A.
		parts := 4 * by.Count
		x.high = min(x.rows, x.band(parts))
		bands := (x.m + x.high - 1) / x.high
		least := 1
		if x.packA {
			least = 8
		}
		x.each = max(1, min(panels/least, (parts+bands-1)/bands))
	}
	bands := (x.m + x.high - 1) / x.high
	x.wide = (panels + x.each - 1) / x.each
	x.parts = bands * x.each
	if x.packB {
		for i := range panels {
			x.packed.state[i].Store(panelRaw)
		}
	}
	if by.Count > 1 {
		shared := *x // which leaves the stack
		by.Share(x.parts, shared.part)
		return
	}
	for i := range x.parts {
		x.part(i)
	}
}

// band is how many rows each of so many parts has, in tiles, and at least 32.
func (x *cut[T]) band(parts int) int { return max(32, ((x.m+parts-1)/parts+7)&^7) }

// packOne packs panel p of B.
func (x *cut[T]) packOne(p int) {
	j := p * x.width
	x.packPanel(x.packed.panels[j*x.k:], x.b[j*x.bCol:], x.bRow, x.bCol, x.k, min(x.width, x.n-j))
}

// packPanel packs k rows of up to a panel's width.
func (g *blocking[T]) packPanel(dst, b []T, bRow, bCol, k, n int) {
	if bCol == 1 {
		g.pack(dst, b, bRow, k, n)
	} else {
		(*g.transpose)(dst, g.width, b, bCol, n, k)
	}
}

// packedPanels are the columns from j to end-1, in one panel or two; they are packed here if they are not.
func (x *cut[T]) packedPanels(j, end int) (b []T, bRow, gap int) {
	for from := j / x.width * x.width; from < end; from += x.width {
		x.beReady(from)
	}
	at, gap := x.place(j, x.k)
	return x.packed.panels[at:], x.width, gap
}

// beReady waits for the panel from column j on, or packs it.
func (x *cut[T]) beReady(j int) {
	state := &x.packed.state[j/x.width]
	for spin := 0; ; spin++ {
		switch state.Load() {
		case panelReady:
			return
		case panelRaw:
			if state.CompareAndSwap(panelRaw, panelTaken) {
				x.makeReady(state, j)
			}
		default:
			if spin > 1000 {
				runtime.Gosched()
			}
		}
	}
}

// makeReady packs a panel that is taken. Where B cannot be read the panel is raw again, and
// whoever waits for it fails as well.
func (x *cut[T]) makeReady(state *atomic.Uint32, j int) {
	left := uint32(panelRaw)
	defer func() { state.Store(left) }()
	x.packOne(j / x.width)
	left = panelReady
}

// keepsPanel multiplies the first tile of rows from top on by a panel that it packs as it goes, if that is
// not packed yet and a tile can. What is read of B is then asked for 32 rows ahead, and need not wait in the
// second cache, which rows that crowd it would not; so blocks are as deep as others. Of the peak on a Zen 5, in
// turns, packed beforehand and so: 512×512×512 .91 and .95, with A transposed .90 and .93, 1024³ .89 and .95, .89
// and .93, 256 rows by 512×512 .90 and .94; 504³, whose rows crowd nothing, .956 and .964; of float32 512³
// .964 and .974. Without any packing of B they would reach .97. A transposed A packed by eights of rows, as the
// tiles read it, was no faster than one that is transposed. Tiles that copy a vector of the next panel with every
// other of their steps, so that what is read is spread, won .005 at 512³ and 1024³ and lost .04 at 700³. Two workers
// that pack B each for itself, on cores half a microsecond from each other, took 1.06 of the time.
func (x *cut[T]) keepsPanel(j, end, top, rows int, a []T, aRow, aCol int) bool {
	state, n := &x.packed.state[j/x.width], end-j
	if !x.keeping || rows < x.tall || 3*n <= 2*x.width || !state.CompareAndSwap(panelRaw, panelTaken) {
		return false
	}
	left := uint32(panelRaw)
	defer func() { state.Store(left) }()
	x.keep(x.packed.panels[j*x.k:], x.c[top*x.ldc+j:], x.ldc, a, aRow, aCol, x.b[j:], x.bRow, x.tall, n, x.k, x.add)
	left = panelReady
	return true
}

// An ahead is memory that comes into the second cache while a panel multiplies: with every
// column of A a line of it, col numbers after the one before, and tile numbers further with
// every tile of rows. Products of 512 with operands in memory went from 0.92 to 0.94 of the
// peak with it, with A transposed from 0.90 to 0.92, and where only 256 rows share what is
// packed from 0.82 to 0.92.
type ahead[T float32 | float64] struct {
	at        *T
	col, tile int
}

// aheadOf is the matrix from x on that a panel of the same depth will be packed of, or read,
// so many rows of it with every tile: of a line of eight at least an eighth.
func aheadOf[T float32 | float64](x []T, row, col, rows int) ahead[T] {
	if col == 1 {
		return ahead[T]{&x[0], rows, rows * row}
	}
	return ahead[T]{&x[0], col, rows}
}

// below is what is wanted with a panel whose tiles each want the rows of A below them, of m in all.
func below[T float32 | float64](a []T, row, col, tall, m int) ahead[T] {
	if tall == 0 || tall >= m {
		return ahead[T]{}
	}
	return aheadOf(a[tall*row:], row, col, tall)
}

// next is what is wanted after a panel that rest others follow, the next from column j on: that of
// B, from row pc on, if it is not packed, and where B is read in place if no rows above brought it;
// or else the rows of A that come after these, as they do to this worker, a quarter with each of
// the four panels before the last, and with the last those for which B left no time; or else of the
// panel that is packed, which many others have pushed out of the second cache since: of the time at
// the peak, a quarter of the calls on a busy machine, products of 512, 700 and 1000 took 1.15, 1.19
// and 1.135, and take 1.125, 1.125 and 1.105. What B in place is worth, of the peak, four products
// of a shape in turns without and with it: 64×512×512 0.60 and 0.87, 32×512×512 0.46 and 0.81,
// 24×256×512 0.39 and 0.90, 48×300×300 0.45 and 0.87, 16×512×512 0.36 and 0.40, 128×256×512 0.72 and
// 0.82; 128×128×128, which stay near, 0.97 and 0.96.
func (x *cut[T]) next(top, j, pc, rest int) ahead[T] {
	after, tall := top+x.high, cmp.Or(x.tall, 4)
	raw := top == 0 || x.m <= x.rows
	if x.packB {
		raw = x.packed.state[j/x.width].Load() == panelRaw
	}
	rows := min(x.high, max(x.m, tall))
	each := (x.width*tall + rows - 1) / rows // of a panel's columns, with every tile
	if rest > 0 && raw && x.awaits {
		return aheadOf(x.b[pc*x.bRow+j*x.bCol:], x.bCol, x.bRow, each)
	}
	const parts = 4
	if rest > 0 {
		after += (parts - rest) * x.high / parts
		tall = (tall + parts - 1) / parts
	}
	if rest <= parts && after < x.m {
		return aheadOf(x.a[after*x.aRow:], x.aRow, x.aCol, tall)
	}
	if rest > 0 && x.packB {
		return ahead[T]{&x.packed.panels[j*x.k], each, each * x.k}
	}
	return ahead[T]{}
}

// deeper is what is wanted with panel p of a deep part of so many rows from top on: of what its
// steps from at on read, A with the first panel, what each tile reads itself, and B with the
// others, a line with each tile.
func (x *cut[T]) deeper(at, p, top, rows int) ahead[T] {
	if at >= x.k {
		return ahead[T]{}
	}
	if p == 0 {
		return ahead[T]{&x.a[at*x.aCol+top], x.aCol, x.tall}
	}
	const line = 8
	if j := (p - 1) * rows / x.tall * line; j < x.n {
		return ahead[T]{&x.b[at*x.bRow+j], x.bRow, line}
	}
	return ahead[T]{}
}

// bandStride is from one row of a packed band of A to the next: a line or more beside pages and halves of them, since rows
// that begin equally far into their pages push each other out of the first cache. Of the peak on a Zen 5, with a pad alone and
// so, A transposed of 248, 504 and 1016 rows: .82 and .90, .86 and .93, .87 and .93.
func (x *cut[T]) bandStride() int {
	const half, line = 4096 / 2, 64
	size := int(unsafe.Sizeof(T(0)))
	ld := x.k + x.pad
	for ld*size%half < line || half-ld*size%half < line {
		ld += line / size
	}
	return ld
}

// part multiplies some rows of A with some panels of B.
func (x *cut[T]) part(i int) {
	top, left := i/x.each*x.high, i%x.each*x.wide
	rows, right := min(x.high, x.m-top), min(left+x.wide, x.panels(x.n))
	if left >= right {
		return
	}
	a, aRow, aCol := x.a[top*x.aRow:], x.aRow, x.aCol
	if x.packA {
		band, ld := x.bands.take(), x.bandStride()
		defer x.bands.give(band)
		grow(band, rows*ld)
		(*x.transpose)(*band, ld, a, aCol, x.k, rows)
		a, aRow, aCol = *band, ld, 1
	}
	panels := right - left
	worker := i * x.workers / x.parts    // if parts in a row are shared out
	first := worker * panels / x.workers // the others begin elsewhere, and so all pack
	for pc := 0; pc < x.k; pc += x.step {
		for p := range panels {
			call := left + (first+p)%panels
			j, end := x.starts(call, x.n), x.starts(call+1, x.n)
			b, bRow, gap := x.b, x.bRow, 0
			at, rows, a := top, rows, a
			if x.packB {
				if x.keepsPanel(j, end, at, rows, a, aRow, aCol) {
					if at, rows = at+x.tall, rows-x.tall; rows == 0 {
						continue
					}
					a = a[x.tall*aRow:]
				}
				b, bRow, gap = x.packedPanels(j, end)
			} else {
				b = b[pc*bRow+j:]
			}
			var next ahead[T]
			if x.deep {
				next = x.deeper(pc+x.step, p, top, rows)
			} else {
				next = x.next(top, x.starts(left+(first+p+1)%panels, x.n), pc, panels-1-p)
			}
			x.panel(x.c[at*x.ldc+j:], x.ldc, a[pc*aCol:], aRow, aCol, b, bRow, gap, tiles{}, rows, end-j, min(x.step, x.k-pc), x.add || pc > 0, next, rowsOf[T]{})
		}
	}
}
