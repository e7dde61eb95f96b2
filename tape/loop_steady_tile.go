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
	tp    *tileProgram
	code  *tileCode
	calls []kernels.Call
	parts []steadyPart // its tiles, if it is done by calls
	loads [][]float64  // what is spread out

	direct [][]float64 // operands in memory, where it is not; else nil
}

// A steadyPart is one tile.
type steadyPart struct {
	room
	place int // where in the table its places begin
	from  int // its first element
}

// mostTiles is how many tiles of a program are done by calls.
const mostTiles = 4

// tile notes a tile program. It is done by calls where it has few tiles, and little is spread
// out in them.
func (y *steadyRun) tile(tp *tileProgram) {
	code := tp.linkedFor(int64(tp.n) * int64(y.x.l.n))
	w := &steadyTile{tp: tp, code: code, calls: code.calls[:min(len(code.calls), len(code.micros)+len(tp.sums))]}
	w.slots = arena64.take(tp.slots * slotStride)
	for i := range tp.loads {
		switch l := &tp.loads[i]; {
		case l.ref == None:
			w.loads = append(w.loads, unsafe.Slice(&l.num, 1))
		default:
			w.loads = append(w.loads, y.x.each.data(l.ref))
		}
	}
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
			y.fills(y.fixedPlace(unsafe.Pointer(&w.slot(l.slot)[0])), y.number(l.ref), n)
		}
	}
	w.parts = make([]steadyPart, (tp.n+tileSize-1)/tileSize)
	for i := range w.parts {
		y.tilePart(w, i)
	}
	for i, s := range tp.sums {
		lanes := &w.lanes[i]
		to, from := y.number(s.ref), y.fixedPlace(unsafe.Pointer(lanes))
		y.call(func(int) { y.value(to, 1)[0] = lanes.Fold() }, kernels.SumTo(int32(to), int32(from)).Of(len(lanes), 0))
	}
}

// tilePart notes tile k.
func (y *steadyRun) tilePart(w *steadyTile, k int) {
	tp, part := w.tp, &w.parts[k]
	part.from = k * tileSize
	n, direct := min(tileSize, tp.n-part.from), len(tp.direct)
	part.slots, part.lanes = w.slots, w.lanes
	part.place = y.newPlaces(direct + tp.slots + len(w.lanes) + 1)
	for i, r := range tp.direct {
		at := part.place + direct - 1 - i
		if k := y.p.slot[r]; k >= 0 {
			y.where[k] = append(y.where[k], steadyPlace{at, part.from})
		} else {
			y.at[at] = unsafe.Pointer(&y.p.t.big[r][part.from])
		}
	}
	for i := range tp.loads {
		l := &tp.loads[i]
		switch {
		case l.sp == nil || y.fixed(l.ref):
		case l.inPlace(part.from, n):
			y.where[y.p.slot[l.ref]] = append(y.where[y.p.slot[l.ref]], steadyPlace{part.place + direct + int(l.slot), part.from % l.turn})
		default:
			slot := w.slot(l.slot)
			from := make([]int, y.p.t.size(l.ref))
			for j := range from {
				from[j] = j + 1
			}
			y.moved(func(off int) int { return y.fixedPlace(unsafe.Pointer(&slot[off])) }, spreadTo(l.sp, from, n), []Ref{l.ref})
		}
	}
	for k, c := range w.calls {
		y.call(func(done int) { tp.micro(w.code, &part.room, direct, k, done, n) }, c.Of(n, part.place+direct))
	}
}

// byCalls reports whether a tile program can be done by calls alone. The slots of more than one
// tile do not hold what is spread out.
func (y *steadyRun) byCalls(tp *tileProgram) bool {
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
	return !slices.ContainsFunc(tp.sums, func(s sumOf) bool { return y.p.t.ins[s.ref].dtype != tensor.Float64 })
}

// fixed reports whether no step changes r.
func (y *steadyRun) fixed(r Ref) bool {
	return y.p.home[r] < 0 && !slices.ContainsFunc(y.in, func(v steadyIn) bool { return v.r == r && (v.slot >= 0 || v.at >= 0) })
}

// begin fills its slots, and of one that is done by calls the table.
func (w *steadyTile) begin(y *steadyRun) {
	tp, direct := w.tp, len(w.tp.direct)
	if w.direct != nil {
		w.prepare(tp, direct)
		w.fill(tp, w.code, w.loads)
		return
	}
	w.fill(tp, w.code, w.loads)
	for k := range w.parts {
		w.parts[k].begin(y, w)
	}
}

// begin fills the table.
func (part *steadyPart) begin(y *steadyRun, w *steadyTile) {
	tp, direct := w.tp, len(w.tp.direct)
	part.at = y.at[part.place : part.place+direct+tp.slots+len(part.lanes)+1]
	at := part.at[direct:]
	for i := range tp.slots {
		if at[i] == nil {
			at[i] = unsafe.Pointer(&w.slots[i*slotStride])
		}
	}
	for i := range part.lanes {
		at[tp.slots+i] = unsafe.Pointer(&part.lanes[i])
	}
	for i := range tp.loads {
		if l := &tp.loads[i]; l.sp != nil && y.fixed(l.ref) {
			spreadLoad(l, at, w.loads[i], w.slot, part.from, min(tileSize, tp.n-part.from))
		}
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
	w.block(tp, w.code, w.calls, 0, w.direct, w.loads)
	for i, s := range tp.sums {
		t.num[s.ref] = round(t.ins[s.ref].dtype, w.lanes[i].Fold())
	}
}
