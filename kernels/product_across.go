package kernels

import "unsafe"

// mostAcross is the depth up to which tiles may follow one another along the rows of C, not down its
// columns, and acrossBytes what they then read of B at a time, which stays in the second cache: such a product
// spends its time on C, whose rows lie pages apart. Of the time down the columns, on a Xeon, B packed from
// many rows and columns on: 512×512 with a depth of 3, 10, 32, 64 and 128 .74, .70, .66, .73 and .78; 512×256
// .60, .73, .88, .93 and .91; 256×1000 .88, .76, .75 and, in two blocks, .91 and .95; 32×512, B in place, .73, .81,
// .88, .92 and .92; 200×200 .80, .89, .95, .96 and .98; 128×128 1. Of deeper ones 512×512×256 took 1.06 and
// 256×1000×192 as long; 64×1000×128 in blocks 1.1. On a Zen 5 a deeper B that was packed beforehand took, by groups
// of panels that fill half of the second cache, .94 to .98 of the time; on that Xeon, with 4 KB from row to row of
// A in a first cache of 32, as much or more.
const (
	mostAcross  = 128
	acrossBytes = 512 << 10

	manyRows    = 256 // repay blocks of B
	packedRows  = 128 // and packing it
	packedBytes = 256 * 8
)

// goesAcross reports whether a product is multiplied along the rows of C.
func (x *cut[T]) goesAcross() bool {
	return x.tall > 0 && !x.packA && x.k <= mostAcross && x.m >= 2*x.tall && x.n >= 8*x.width &&
		(x.m >= manyRows || x.n*x.k*int(unsafe.Sizeof(T(0))) <= acrossBytes)
}

// packsAcross reports whether a B that could be read in place is packed for that.
func (x *cut[T]) packsAcross() bool {
	return x.m >= packedRows && x.n*int(unsafe.Sizeof(T(0))) >= packedBytes
}

// multiplyAcross multiplies a block along the rows of C.
func (x *cut[T]) multiplyAcross(by Workers) {
	panels := x.panels(x.n)
	if by.Count <= 1 {
		for p := 0; p < panels && x.packB; p++ {
			x.packOne(p)
		}
		x.rowsAcross(0, x.m)
		return
	}
	shared := *x // which leaves the stack
	if x.packB {
		by.Share(panels, shared.packOne)
	}
	high := x.band(4 * by.Count)
	by.Share((x.m+high-1)/high, func(i int) { shared.rowsAcross(i*high, min((i+1)*high, x.m)) })
}

// rowsAcross multiplies rows top to end-1 of A by the block: whole panels in tiles of eight rows along C, what
// rows are left, as tiles of nine, and what columns, down C.
func (x *cut[T]) rowsAcross(top, end int) {
	calls := x.panels(x.n)
	whole := calls
	for x.starts(whole, x.n)-x.starts(whole-1, x.n) < x.width {
		whole--
	}
	b, bRow, apart := x.b, x.bRow, tiles{x.tall, 0, x.width, x.width}
	if x.packB {
		b, bRow, apart.b = x.packed.panels, x.width, x.width*x.k
	}
	left := end - taller(end-top)
	for i := top; i < left; i += x.tall {
		x.panel(x.c[i*x.ldc:], x.ldc, x.a[i*x.aRow:], x.aRow, x.aCol, b, bRow, 0, apart, whole*x.tall, x.width, x.k, x.add, ahead[T]{}, rowsOf[T]{})
	}
	for call := range calls {
		from := top
		if call < whole {
			from = left
		}
		if from == end {
			continue
		}
		j, right := x.starts(call, x.n), x.starts(call+1, x.n)
		at, gap := j, 0
		if x.packB {
			at, gap = x.place(j, x.k)
		}
		x.panel(x.c[from*x.ldc+j:], x.ldc, x.a[from*x.aRow:], x.aRow, x.aCol, b[at:], bRow, gap, tiles{}, end-from, right-j, x.k, x.add, ahead[T]{}, rowsOf[T]{})
	}
}
