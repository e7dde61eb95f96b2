package tape

import (
	"slices"
	"unsafe"

	"nabla/kernels"
)

// Turns are what is spread out and repeats after few numbers, as one row over all rows of a matrix: laid out
// once, a turn and a tile long, so that every tile reads on from its place in the first turn. With rows of 40
// numbers to write them tile by tile was a third of the time of (x - mean)^2/var and its gradient.
type turns[T real] struct {
	of   [][]T // by load; nil: it is written tile by tile, or read in place
	rows [][]T // by load: room for a row that is repeated, and a tile; nil for none
	room []T
}

// mostCycle is the longest turn that is laid out, of which with its tile the cache holds a few: of longer ones
// most tiles lie within a turn.
const mostCycle = 2048

// cycle is after how many numbers sp repeats, where they are few and it does so often enough for a turn and a tile
// to be laid out; 0 otherwise.
func (sp *spread) cycle() int {
	if len(sp.dims) < 2 || sp.strides[0] != 0 {
		return 0
	}
	n := 1
	for _, d := range sp.dims[1:] {
		if n *= d; n > mostCycle {
			return 0
		}
	}
	if min(n, tileSize)*sp.dims[0] < 2*(n+tileSize) {
		return 0
	}
	return n
}

// repeatsRows reports whether sp repeats each of several short rows, often enough for one and a tile to be laid out. To
// write rows of 60, 40 times each, tile by tile was a fifth of the time of a variance along the middle of three axes.
func (sp *spread) repeatsRows() bool {
	k := len(sp.dims) - 1
	return k > 1 && sp.strides[k] == 1 && sp.strides[k-1] == 0 && sp.dims[k] < tileSize && sp.dims[k]*sp.dims[k-1] >= 2*(sp.dims[k]+tileSize)
}

// layTiles finds how many numbers tiles have in which something is spread out, and what of it all of them read alike: then
// many are one call.
func (tp *tileProgram) layTiles() {
	tp.step = tp.wholeTurns()
	for i := range tp.loads {
		l := &tp.loads[i]
		l.same = l.cycle > 0 && tp.step%l.cycle == 0
	}
}

// wholeTurns is as many numbers as a tile may have of whole turns and lines, or as it has; where the order of sums counts, also
// of whole turns of lanes. Jacobians and Hessians through steps of Burgers' equation on a ring of 60 took .88 and .92 of the time.
func (tp *tileProgram) wholeTurns() int {
	const line = 8
	parts := func(n int) bool { // some turn
		return slices.ContainsFunc(tp.loads, func(l load) bool { return l.cycle > 0 && n%l.cycle != 0 })
	}
	n := tileSize
	for n >= tileSize*3/4 && parts(n) {
		n -= line
	}
	if n < tileSize*3/4 || tp.ordered() && n%len(kernels.Lanes{}) != 0 {
		return tileSize
	}
	return n
}

// reset makes place for n loads, of which none is laid out.
func (u *turns[T]) reset(n int) {
	u.of, u.rows = grown(u.of, n), grown(u.rows, n)
	clear(u.of)
	clear(u.rows)
}

// lay lays out what loads of a program repeat, for tiles of a size.
func (u *turns[T]) lay(tp *tileProgram, loads [][]T, tile int) {
	all := 0
	for i := range tp.loads {
		if l := &tp.loads[i]; l.cycle+l.row > 0 {
			all += l.cycle + l.row + tile
		}
	}
	u.room = grown(u.room, all)
	room := u.room
	for i := range tp.loads {
		l := &tp.loads[i]
		size := l.cycle + l.row
		if size == 0 {
			continue
		}
		turn := room[:size+tile]
		room = room[size+tile:]
		if l.row > 0 {
			u.rows[i] = turn
			continue
		}
		fillSpread(l.sp, turn[:size], loads[i], 0)
		repeat(turn, size)
		u.of[i] = turn
	}
}

// repeat repeats the first n numbers of x.
func repeat[T any](x []T, n int) {
	for n < len(x) {
		n += copy(x[n:], x[:n])
	}
}

// at is where the numbers of load i are from one on, a tile of them.
func (u *turns[T]) at(i int, l *load, from int) unsafe.Pointer {
	return unsafe.Pointer(&u.of[i][from%l.cycle])
}
