package tape

import (
	"math"
	"slices"
	"unsafe"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// A steadyTile is a tile program at work in every step.
type steadyTile struct {
	room
	*steadyProgram
	code   *tileCode
	calls  []kernels.Call
	parts  []*steadyPart // what it is done by, if that is calls
	loads  [][]float64   // what is spread out
	whole  bool          // it is one call, whatever its length
	stride int           // from one slot to the next

	direct [][]float64 // operands in memory, where it is not; else nil
}

// A steadyPart is a tile, or a piece of one, and its part of the table.
type steadyPart struct {
	room
	place   int // where in the table its places begin
	from    int // its first element
	n       int
	tile, m int // the first element of its tile, and how many that has
}

// mostTiles is how many tiles of a program are done by calls.
const mostTiles = 4

// tile notes a tile program. It is done by calls where it has few tiles, and little is spread
// out in them.
func (y *steadyRun) tile(z *steadyProgram) {
	tp := z.tp
	code := y.codeOf(tp)
	w := &steadyTile{steadyProgram: z, code: code, calls: code.calls[:min(len(code.calls), len(code.micros)+len(tp.sums))]}
	w.whole, w.stride = tp.pieces && len(code.machines) == len(code.calls), slotStride
	if w.whole {
		w.stride = tp.stride()
	}
	w.slots = arena64.take(tp.slots * w.stride)
	w.loads = make([][]float64, len(tp.loads))
	y.tiles = append(y.tiles, w)
	if !y.byCalls(tp) {
		w.direct = make([][]float64, len(tp.direct))
		y.goes(func() { w.run(y) })
		return
	}
	w.lanes = make([]kernels.Lanes, len(tp.sums)+len(tp.kept))
	for i := range tp.sums {
		y.fills(y.fixedPlace(unsafe.Pointer(&w.lanes[i])), y.zeroPlace(), len(w.lanes[i]))
	}
	for i := range tp.loads {
		if l := &tp.loads[i]; l.ref != None && l.sp == nil && !y.fixed(l.ref) {
			n := 1
			if code.fills[i] {
				n = min(tp.n, tileSize)
			}
			y.fills(y.fixedPlace(unsafe.Pointer(w.slotAt(l.slot, 0))), y.number(l.ref), n)
		}
	}
	size := tileSize
	if w.whole {
		size = tp.n
	}
	for from := 0; from < tp.n; from += size {
		y.tileCalls(w, from, min(size, tp.n-from))
	}
	for i, s := range tp.sums {
		lanes := &w.lanes[i]
		to, from := y.number(s.ref), y.fixedPlace(unsafe.Pointer(lanes))
		y.call(func(int) { y.value(to, 1)[0] = lanes.Fold() }, kernels.SumTo(int32(to), int32(from)).Of(len(lanes), 0))
	}
}

// tileCalls notes the calls of a tile: of n elements from one on. What is read in pieces is
// computed in pieces.
func (y *steadyRun) tileCalls(w *steadyTile, from, n int) {
	tp := w.tp
	for i := range tp.loads {
		l := &tp.loads[i]
		if l.sp == nil || y.fixed(l.ref) || l.inPlace(from, n) {
			continue
		}
		all := make([]int, y.p.t.size(l.ref))
		for j := range all {
			all[j] = j + 1
		}
		y.moved(func(off int) int { return y.fixedPlace(unsafe.Pointer(w.slotAt(l.slot, off))) }, spreadTo(l.sp, all, n), []Ref{l.ref})
	}
	parts := map[int]*steadyPart{} // by their piece, or -1
	part := func(piece, first, end int) *steadyPart {
		if parts[piece] == nil {
			parts[piece] = y.tilePart(w, piece, &steadyPart{from: first, n: end - first, tile: from, m: n})
		}
		return parts[piece]
	}
	note := func(k int, v *steadyPart) {
		c, direct := w.calls[k], len(tp.direct)
		y.call(func(done int) { tp.micro(w.code, &v.room, direct, k, done, v.n) }, c.Of(v.n, v.place+direct))
	}
	for k := range w.calls {
		if !w.apart(k) {
			note(k, part(-1, from, from+n))
			continue
		}
		for i := range w.cuts {
			if first, end := w.piece(i, from, from+n); first < end {
				note(k, part(i, first, end))
			}
		}
	}
}

// tilePart notes where a piece, or without one a tile, finds its operands in memory.
func (y *steadyRun) tilePart(w *steadyTile, piece int, v *steadyPart) *steadyPart {
	tp, direct := w.tp, len(w.tp.direct)
	v.slots, v.lanes = w.slots, w.lanes
	v.place = y.newPlaces(direct + tp.slots + len(w.lanes) + 1)
	read := w.operandsIn(piece >= 0)
	for i, r := range tp.direct {
		at, from := v.place+direct-1-i, v.from
		if !read[i] {
			continue
		}
		if i < len(w.reads) && w.reads[i] != nil {
			if piece < 0 {
				continue // joined pieces know
			}
			r, from = w.reads[i][piece].from, from+w.reads[i][piece].by
		}
		switch {
		case i < len(w.masks) && w.masks[i] != nil:
			y.at[at] = unsafe.Pointer(&w.masks[i][from])
		case r == None:
			y.at[at] = unsafe.Pointer(&blank[0])
		default:
			y.lies(at, r, from)
		}
	}
	for i := range tp.loads {
		if l := &tp.loads[i]; l.sp != nil && !y.fixed(l.ref) && l.inPlace(v.tile, v.m) {
			y.lies(v.place+direct+int(l.slot), l.ref, v.from%l.turn)
		}
	}
	w.parts = append(w.parts, v)
	return v
}

// apart reports whether call k is one for each piece.
func (w *steadyTile) apart(k int) bool {
	return w.inPieces(w.code.span(k)) && !(k < len(w.code.joined) && w.code.joined[k])
}

// operandsIn says which operands in memory the calls read or write that are done in pieces, or
// those that are not.
func (w *steadyTile) operandsIn(pieces bool) []bool {
	read := make([]bool, len(w.tp.direct))
	for k := range w.calls {
		from, end := w.code.span(k)
		if w.apart(k) != pieces {
			continue
		}
		for i := from; i < end; i++ {
			m := &w.tp.code[i]
			var room [5]int32
			places := append(append(room[:0], m.dst), m.operands()...)
			if m.both != nil {
				places = append(places, m.dst2)
			}
			for _, o := range places {
				if o < 0 {
					read[-1-o] = true
				}
				if !pieces && w.inPieces(from, end) {
					for _, o := range w.tp.bases(o) {
						read[-1-o] = true
					}
				}
			}
		}
	}
	if !pieces {
		for _, s := range w.tp.sums {
			if s.arg < 0 {
				read[-1-s.arg] = true
			}
		}
	}
	return read
}

// slotAt is where element off of a slot is.
func (w *steadyTile) slotAt(slot int32, off int) *float64 {
	return &w.slots[int(slot)*w.stride+off]
}

// shifts reports whether the elements of a piece have their own in a slot: numbers are the same
// in all, and where one call does all, others are its own.
func (w *steadyTile) shifts(slot int) bool {
	return !w.whole || slices.ContainsFunc(w.tp.loads, func(l load) bool { return l.sp != nil && int(l.slot) == slot })
}

// byCalls reports whether a tile program can be done by calls alone. The slots of more than one
// tile do not hold what is spread out.
func (x *steadyStep) byCalls(tp *tileProgram) bool {
	if tp.n > mostTiles*tileSize {
		return false
	}
	for from := 0; tp.n > tileSize && from < tp.n; from += tileSize {
		for i := range tp.loads {
			if l := &tp.loads[i]; l.sp != nil && !l.inPlace(from, min(tileSize, tp.n-from)) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(tp.sums, func(s sumOf) bool { return x.p.t.ins[s.ref].dtype != tensor.Float64 })
}

// fixed reports whether no step changes r.
func (y *steadyRun) fixed(r Ref) bool {
	return y.p.home[r] < 0 && !slices.ContainsFunc(y.in, func(v steadyIn) bool { return v.r == r && (v.slot >= 0 || v.at >= 0) })
}

// begin fills its slots, and of one that is done by calls the table.
func (w *steadyTile) begin(y *steadyRun) {
	tp, direct := w.tp, len(w.tp.direct)
	for i := range tp.loads {
		if l := &tp.loads[i]; l.ref == None {
			w.loads[i] = unsafe.Slice(&l.num, 1)
		} else {
			w.loads[i] = y.x.each.data(l.ref)
		}
	}
	if w.direct != nil {
		w.prepare(tp, w.code, direct)
		w.fill(tp, w.code, w.loads)
		return
	}
	for i := range tp.loads {
		if l := &tp.loads[i]; l.sp == nil {
			n := 1
			if w.code.fills[i] {
				n = tileSize
			}
			kernels.Fill(unsafe.Slice(w.slotAt(l.slot, 0), n), w.loads[i][0])
		}
	}
	for _, v := range w.parts {
		v.begin(y, w)
	}
}

// begin fills the table.
func (v *steadyPart) begin(y *steadyRun, w *steadyTile) {
	tp, direct := w.tp, len(w.tp.direct)
	v.at = y.at[v.place : v.place+direct+tp.slots+len(v.lanes)+1]
	at := v.at[direct:]
	for i := range tp.loads {
		if l := &tp.loads[i]; l.sp != nil && y.fixed(l.ref) {
			if l.inPlace(v.tile, v.m) {
				at[l.slot] = unsafe.Pointer(&w.loads[i][v.from%l.turn])
			} else {
				fillSpread(l.sp, unsafe.Slice(w.slotAt(l.slot, 0), v.m), w.loads[i], v.tile)
			}
		}
	}
	for i := range tp.slots {
		if at[i] == nil {
			off := 0
			if w.shifts(i) {
				off = v.from - v.tile
			}
			at[i] = unsafe.Pointer(w.slotAt(int32(i), off))
		}
	}
	for i := range v.lanes {
		at[tp.slots+i] = unsafe.Pointer(&v.lanes[i])
	}
}

// run runs one that is not.
func (w *steadyTile) run(y *steadyRun) {
	tp, t := w.tp, y.p.t
	for i, r := range tp.direct {
		w.direct[i] = y.valueOf(r)
	}
	for i := range tp.loads {
		switch l := &tp.loads[i]; {
		case l.ref == None:
		case l.sp != nil:
			w.loads[i] = y.valueOf(l.ref)
		default:
			s, v := w.slot(l.slot), t.num[l.ref]
			if math.Float64bits(s[0]) == math.Float64bits(v) {
				continue
			}
			if s[0] = v; w.code.fills[i] {
				kernels.Fill(s[:min(tp.n, tileSize)], v)
			}
		}
	}
	w.block(tp, w.code, w.calls, 0, &tiling{direct: w.direct, loads: w.loads})
	for i, s := range tp.sums {
		t.num[s.ref] = round(t.ins[s.ref].dtype, w.lanes[i].Fold())
	}
}
