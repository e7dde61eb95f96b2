package kernels

import "unsafe"

// A Call is a kernel of a run and the places of its slices, in the order of its
// parameters: numbers of a table of pointers.
type Call struct {
	entry uintptr // the machine code; 0: there is none, and the run ends here
	done  int64   // where in its frame a kernel says how far it came; 0: it goes to the end; below 0: what its frame is
	at    [4]int32
}

// What the frame of a kernel is where it is not that of slices alone. Run has only the first of
// them, Repeat has all.
const (
	inLanes   = -1 // the first parameter is *Lanes
	inPanel   = -2 // a panel of a product
	inNumber  = -3 // the second parameter is a number
	inSum     = -4 // a slice comes in, and a number out
	inExtreme = -5 // the same, but a number that is 0 is left to Go
	inMoves   = -6 // no kernel, but numbers that move
)

// CallOf is the call of a kernel, as its door has it. A run ends before a kernel that is
// not assembly.
func CallOf[F any](kernel F, at ...int32) (c Call) {
	c.entry, c.done = entryOf(*(*unsafe.Pointer)(unsafe.Pointer(&kernel)))
	copy(c.at[:], at)
	return c
}

// Run does calls, one after the other, without coming back to Go in between: a call costs
// 2 ns instead of 8. All slices have n elements and begin where the table says, of which
// at is the place numbered 0. It returns how many calls it has done; the next one, if
// there is one, it has done for the first elements only, and Go does the rest.
func Run(calls []Call, at *unsafe.Pointer, n int) (ran, done int) {
	if len(calls) == 0 {
		return 0, 0
	}
	ran, done, _ = run(&calls[0], len(calls), at, n, 1, nil, 0, nil, 0)
	return ran, done
}

// An Each is a number of each tile: that of the tile that runs, behind which the next ones are, and where calls
// read it, which is filled for the first tile.
type Each struct{ From, To unsafe.Pointer }

// RunTiles does Run for tiles of float64 that follow one another: from one to the next
// the pointers in moving, a part of the table, go on by n elements, and numbers that each tile
// has one of by one. It returns how many tiles are left where a call of the first of them is not
// done; they stand there.
func RunTiles(calls []Call, at *unsafe.Pointer, n, tiles int, moving []unsafe.Pointer, each []Each) (ran, done, left int) {
	if len(calls) == 0 {
		return 0, 0, 0
	}
	return run(&calls[0], len(calls), at, n, tiles, unsafe.SliceData(moving), len(moving), unsafe.SliceData(each), len(each))
}
