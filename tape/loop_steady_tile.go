package tape

import (
	"math"
	"unsafe"

	"nabla/kernels"
)

// A steadyTile is a tile program at work in every step.
type steadyTile struct {
	room
	tp    *tileProgram
	code  *tileCode
	calls []kernels.Call
	from  int         // where in the table its places begin, if it is done by calls
	loads [][]float64 // what is spread out

	direct [][]float64 // operands in memory, where it is not; else nil
}

// tile notes a tile program. It is done by calls where it is a single tile, whose slots hold
// what no step changes.
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
		y.goes(func(int) { w.run(y) })
		return
	}
	w.lanes = make([]kernels.Lanes, len(tp.kept))
	w.from = y.newPlaces(len(tp.direct) + tp.slots + len(w.lanes) + 1)
	for i, r := range tp.direct {
		at := w.from + len(tp.direct) - 1 - i
		if k := y.p.slot[r]; k >= 0 {
			y.where[k] = append(y.where[k], steadyPlace{at, 0})
		} else {
			y.at[at] = unsafe.Pointer(&y.p.t.big[r][0])
		}
	}
	for k, c := range w.calls {
		y.call(func(done, _ int) { tp.micro(code, &w.room, len(tp.direct), k, done, tp.n) }, c.Of(tp.n, w.from+len(tp.direct)))
	}
}

// byCalls reports whether a tile program can be done by calls alone.
func (y *steadyRun) byCalls(tp *tileProgram) bool {
	if tp.n > tileSize || len(tp.sums) > 0 {
		return false
	}
	for i := range tp.loads {
		if r := tp.loads[i].ref; r != None && !y.fixed(r) {
			return false
		}
	}
	return true
}

// fixed reports whether no step changes r.
func (y *steadyRun) fixed(r Ref) bool {
	if y.p.home[r] >= 0 || r == y.x.l.index {
		return false
	}
	for _, v := range y.in {
		if v.r == r && (v.slot >= 0 || v.at >= 0) {
			return false
		}
	}
	return true
}

// begin fills its slots, and of one that is done by calls the table.
func (w *steadyTile) begin(y *steadyRun) {
	tp, direct := w.tp, len(w.tp.direct)
	if w.direct != nil {
		w.prepare(tp, direct)
		w.fill(tp, w.code, w.loads)
		return
	}
	w.at = y.at[w.from : w.from+direct+tp.slots+len(w.lanes)+1]
	at := w.at[direct:]
	for i := range tp.slots {
		at[i] = unsafe.Pointer(&w.slots[i*slotStride])
	}
	for i := range w.lanes {
		at[tp.slots+i] = unsafe.Pointer(&w.lanes[i])
	}
	w.fill(tp, w.code, w.loads)
	spreadLoads(tp, at, w.loads, w.slot, 0, tp.n)
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
