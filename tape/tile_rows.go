package tape

import (
	"slices"
	"unsafe"

	"nabla/kernels"
)

// Tiles of machine code that reads numbers of rows, as means and norms that are spread over them again, are the rows, where
// these are neither short nor long: then a call does many of them, and each number goes on to the next with its row.
// Tile by tile, two for rows of 300, most of the time went by between them: (x - mean)/std of such rows and its gradient
// takes .75 of the time. Where the program is one piece of machine code, that goes on from row to row by itself
// (kernels.FuseRows): deviations of rows of 8 to 40 numbers take .57 to .87 of the time. Of rows of 10 or 12 the rest that is no
// vector costs more than that saves. Rows that repeat, as those of a batch of running sums' slopes do, are tiles as well: batch
// Jacobians of running sums of 24 and 100 numbers take .78 and .73 of the time.

const (
	leastEach  = 16   // elements of such a row: shorter ones are written for some rows at once,
	vectorEach = 8    // but for rows that are one vector, where the code does all tiles by itself
	leastOdd   = 96   // and of rows that repeat and are no whole vectors, of which tiles hold some otherwise
	mostEach   = 1024 // in a program whose values stay in registers, but for some
	roomyEach  = 512  // in another, if its slots stay in the first cache, or a tile
	slotsInAll = 3 << 10
)

// eachRow is how many elements have the rows that tiles may be, 0 where they may not: all that is spread out
// has one number in each, or repeats with them. Where loops is true, one loop over the tiles has to do all: something is a row
// for several tiles, or repeats after several.
func (tp *tileProgram) eachRow(aside []bool) (each int, loops bool) {
	if tp.single || tp.pieces || len(tp.moved) > 0 {
		return 0, false
	}
	for i := range tp.loads {
		l := &tp.loads[i]
		switch n := l.each + l.row; {
		case n > 0 && each > 0 && n != each:
			return 0, false
		case n > 0:
			each = n
		}
	}
	turns := func(l load) bool {
		return l.sp == nil || l.each+l.row > 0 || l.cycle > 0 && each%l.cycle == 0 || each > 0 && l.period() > 0 && l.period()%each == 0
	}
	most := mostEach
	if slices.ContainsFunc(tp.code, func(m micro) bool { return !m.fusible() }) {
		most = min(roomyEach, max(tileSize, slotsInAll/max(1, tp.slots)))
	}
	switch {
	case each < leastEach && each != vectorEach, each > most, slices.ContainsFunc(tp.loads, func(l load) bool { return !turns(l) }),
		aside != nil && each%8 != 0, tp.ordered() && each%len(kernels.Lanes{}) != 0:
		return 0, false
	}
	if loops = slices.ContainsFunc(tp.loads, func(l load) bool { return l.row > 0 || l.goesOn(each) }); loops && each < leastOdd && each%8 != 0 {
		return 0, false
	}
	return each, loops
}

// period is after how many elements a load repeats, of which none is a number for all: 0 where they do not, or are not together.
func (l *load) period() int {
	if l.cycle > 0 {
		return l.cycle
	}
	return l.turn
}

// goesOn reports whether tiles of so many elements go along a load that repeats.
func (l *load) goesOn(each int) bool {
	return l.sp != nil && l.each+l.row == 0 && l.period() > 0 && each%l.period() != 0
}

// stride is from one slot to the next.
func (c *tileCode) stride() int {
	if c.each > tileSize {
		return wholeLines(c.each) + slotStride - tileSize
	}
	return slotStride
}

// rows runs tiles that are rows, and parts of the first and last one.
func (w *room) rows(tp *tileProgram, code *tileCode, calls []kernels.Call, from, end int, in *tiling) {
	at := w.at[len(in.direct):]
	for from < end {
		row, column := from/code.each, from%code.each
		n, tiles := min(code.each-column, end-from), 1
		if n == code.each {
			tiles = (end - from) / n
		}
		w.each = w.each[:0]
		for i := range tp.loads {
			switch l := &tp.loads[i]; {
			case l.sp == nil:
			case l.each > 0 && code.loops:
				at[l.slot] = unsafe.Pointer(&in.loads[i][row])
			case l.each > 0:
				to := &w.slot(l.slot)[0]
				*to = in.loads[i][row]
				w.each = append(w.each, kernels.Each{From: unsafe.Pointer(&in.loads[i][row]), To: unsafe.Pointer(to)})
			case l.row > 0: // again and again
				at[l.slot] = unsafe.Pointer(&in.loads[i][l.sp.place(from-column, nil)+column])
				tiles = min(tiles, max(1, (l.still-from%l.still)/n))
			default:
				x, first := in.loads[i], from%l.period()
				if l.cycle > 0 {
					x = w.turns.of[i]
				}
				if at[l.slot] = unsafe.Pointer(&x[first]); l.goesOn(code.each) {
					tiles = min(tiles, max(1, (len(x)-first)/n))
				}
			}
		}
		w.turn(from)
		w.point(in, from)
		from += n * w.run(tp, code, calls, len(in.direct), 0, n, tiles)
	}
	clear(w.each)
	w.each = w.each[:0]
}
