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

// longTurns is how many numbers more than a tile are laid out of a turn that is shorter: tiles go on along them in one call.
const longTurns = 4 * tileSize

// laid is how many numbers of a load of a program are laid out for tiles of a size.
func (l *load) laid(tp *tileProgram, tile int) int {
	switch {
	case l.cycle+l.row == 0:
		return 0
	case l.cycle > 0 && !l.same:
		return max(l.cycle, min(longTurns, tp.n)) + tile
	}
	return l.cycle + l.row + tile
}

// turnFirst gives the first slots to what is laid out and goes on from tile to tile: there the table of operands has them
// beside those in memory, which do, too.
func (b *tileBuilder) turnFirst() {
	tp := b.tileProgram
	if tp.single {
		return
	}
	to := b.p.t.desk.places.of(tp.slots) // by slot: its new number, from 1
	for i := range tp.loads {
		if l := &tp.loads[i]; l.cycle > 0 && !l.same {
			tp.turning++
			to[l.slot] = int32(tp.turning)
		}
	}
	if tp.turning == 0 {
		return
	}
	next := int32(tp.turning)
	for i := range to {
		if to[i] == 0 {
			next++
			to[i] = next
		}
	}
	move := func(place *int32) {
		if *place >= 0 && int(*place) < tp.slots {
			*place = to[*place] - 1
		}
	}
	for i := range tp.code {
		m := &tp.code[i]
		for _, place := range []*int32{&m.dst, &m.dst2, &m.arg[0], &m.arg[1], &m.arg[2]} {
			move(place)
		}
	}
	for i := range tp.loads {
		move(&tp.loads[i].slot)
	}
	for i := range tp.moved {
		move(&tp.moved[i].slot)
	}
	for _, list := range [][]sumOf{tp.sums, tp.kept} {
		for i := range list {
			move(&list[i].arg)
		}
	}
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
// of whole turns of lanes. Jacobians and Hessians through steps of Burgers' equation on a ring of 60 took .88 and .92 of the
// time; with tiles of whole rows that repeat batch Jacobians of running sums of 30 numbers take .78, deviations along
// a middle axis .83.
func (tp *tileProgram) wholeTurns() int {
	const line = 8
	// Where something is written tile by tile each is a call of its own, and less in it is lost.
	alone := slices.ContainsFunc(tp.loads, func(l load) bool { return l.sp != nil && l.cycle == 0 && l.still == 0 })
	parts := func(n int) bool { // some turn, or row
		return slices.ContainsFunc(tp.loads, func(l load) bool {
			return l.cycle > 0 && n%l.cycle != 0 && (alone || l.cycle <= tileSize) || !alone && l.row > 0 && n%l.row != 0
		})
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
		all += tp.loads[i].laid(tp, tile)
	}
	u.room = grown(u.room, all)
	room := u.room
	for i := range tp.loads {
		l := &tp.loads[i]
		size := l.cycle + l.row
		if size == 0 {
			continue
		}
		turn := room[:l.laid(tp, tile)]
		room = room[len(turn):]
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
