package tape

import "unsafe"

// Turns are what is spread out and repeats after few numbers, as one row over all rows of a matrix: laid out
// once, a turn and a tile long, so that every tile reads on from its place in the first turn. With rows of 40
// numbers to write them tile by tile was a third of the time of (x - mean)^2/var and its gradient.
type turns[T real] struct {
	of   [][]T // by load; nil: it is written tile by tile, or read in place
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

// reset makes place for n loads, of which none is laid out.
func (u *turns[T]) reset(n int) {
	u.of = grown(u.of, n)
	clear(u.of)
}

// lay lays out what loads of a program repeat, for tiles of a size.
func (u *turns[T]) lay(tp *tileProgram, loads [][]T, tile int) {
	all := 0
	for i := range tp.loads {
		if k := tp.loads[i].cycle; k > 0 {
			all += k + tile
		}
	}
	u.room = grown(u.room, all)
	room := u.room
	for i := range tp.loads {
		l := &tp.loads[i]
		if l.cycle == 0 {
			continue
		}
		turn := room[:l.cycle+tile]
		room = room[l.cycle+tile:]
		fillSpread(l.sp, turn[:l.cycle], loads[i], 0)
		for k := l.cycle; k < len(turn); {
			k += copy(turn[k:], turn[:k])
		}
		u.of[i] = turn
	}
}

// at is where the numbers of load i are from one on, a tile of them.
func (u *turns[T]) at(i int, l *load, from int) unsafe.Pointer {
	return unsafe.Pointer(&u.of[i][from%l.cycle])
}
