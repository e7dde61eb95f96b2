package tape

import (
	"runtime"
	"unsafe"

	"nabla/kernels"
)

// Programs of tiles that compute on float32.

// Operands that get their places when a program is complete: what is wide, whole loads, stores.
const (
	wideBase  = 1 << 28
	wholeBase = 2 * wideBase
	storeBase = 3 * wideBase
)

// tileSize32 makes a tile of float32 as large as one of float64, and slotStride32 as far from
// the next.
const (
	tileSize32   = 2 * tileSize
	slotStride32 = 2 * slotStride
)

// A store is a result of a tile program of float32 that is wanted as float64.
type store struct {
	ref  Ref
	slot int32
}

// tiles32 is how many tiles of float64 a program of float32 has behind its slots: for the
// arguments of an operation on float64, and its results. The lanes of the sums come after them,
// and then what is wide.
const tiles32 = 5

// place is where an operand is in the end. Before what is direct come whole loads and stores,
// last to first.
func (tp *tileProgram) place(o int32) int32 {
	switch {
	case o >= storeBase:
		return -1 - int32(len(tp.direct)+len(tp.loads)) - (o - storeBase)
	case o >= wholeBase:
		return -1 - int32(len(tp.direct)) - (o - wholeBase)
	case o >= wideBase:
		return int32(tp.slots+tiles32+len(tp.sums)+len(tp.kept)) + o - wideBase
	}
	return o
}

// places gives operands their places.
func (tp *tileProgram) places() {
	for i := range tp.code {
		m := &tp.code[i]
		m.dst, m.dst2 = tp.place(m.dst), tp.place(m.dst2)
		for k, a := range m.arg {
			m.arg[k] = tp.place(a)
		}
	}
}

// isWide reports whether numbers at a place are of float64.
func (tp *tileProgram) isWide(place int32) bool {
	return place < -int32(len(tp.direct)) || place >= int32(tp.slots)
}

// link32 makes a program of float32 one of calls.
func (tp *tileProgram) link32(d *desk) *tileCode {
	c := d.codes.one()
	size := len(tp.code) + 2*(len(tp.sums)+len(tp.kept))
	for i := range tp.code {
		if tp.code[i].single == nil {
			size += tiles32
		}
	}
	c.micros, c.calls, c.reads = d.micros.of(size)[:0], d.calls.of(size)[:0], d.places.of(3 * size)[:0]
	for i := range tp.code {
		tp.append32(c, &tp.code[i])
	}
	room := int32(tp.slots)
	lane := room + tiles32
	for _, list := range [][]sumOf{tp.sums, tp.kept} {
		for _, s := range list { // of what the program computes, which is never wide
			tp.call32(c, micro{single: kernels.Widen, dst: room, arg: [3]int32{s.arg}})
			tp.call32(c, micro{single: kernels.SumLanes, dst: lane, arg: [3]int32{room}})
			lane++
		}
	}
	c.fills = d.marks.of(len(tp.loads))
	c.fill(tp.loads)
	return c
}

// append32 appends a micro-operation to code; one that has no kernel of float32, or not for
// these arguments, computes on float64.
func (tp *tileProgram) append32(c *tileCode, m *micro) {
	if m.single != nil {
		tp.call32(c, *m)
		return
	}
	room, out := int32(tp.slots), int32(tp.slots+3)
	w := micro{op: m.op, single: m.op.kernel(), dst: out, arg: m.arg}
	arity := m.op.arity()
	if m.both != nil {
		w.single, w.twin, w.dst2, arity = m.both, true, out+1, 1
	}
	for i, a := range m.arg[:arity] {
		if !tp.isWide(a) {
			tp.call32(c, micro{single: kernels.Widen, dst: room + int32(i), arg: [3]int32{a}})
			w.arg[i] = room + int32(i)
		}
	}
	tp.call32(c, w)
	tp.call32(c, micro{single: kernels.Narrow, dst: m.dst, arg: [3]int32{out}})
	if m.both != nil {
		tp.call32(c, micro{single: kernels.Narrow, dst: m.dst2, arg: [3]int32{out + 1}})
	}
}

// call32 appends the call of a micro-operation; there is none where Go does it.
func (tp *tileProgram) call32(c *tileCode, m micro) {
	arity, call := callOf[float32](m.single, &m)
	if arity == 0 {
		arity, call = callOf[float64](m.single, &m)
	}
	switch f := m.single.(type) {
	case func(dst []float32, x []float64):
		arity, call = 1, kernels.CallOf(f, m.dst, m.arg[0])
	case func(dst []float64, x []float32):
		arity, call = 1, kernels.CallOf(f, m.dst, m.arg[0])
	case func(to *kernels.Lanes, x []float64):
		arity, call = 1, kernels.CallOf(f, m.dst, m.arg[0])
	case nil: // Go does it
		arity = m.op.arity()
	}
	c.micros, c.calls = append(c.micros, m), append(c.calls, call)
	c.reads = append(c.reads, m.arg[:arity]...)
}

// doneOn does what callOf calls, on the operands of their kind; false if it is no such kernel.
func doneOn[T real](m *micro, operand func(place int32) []T) bool {
	switch f := m.single.(type) {
	case func(dst, x []T):
		f(operand(m.dst), operand(m.arg[0]))
	case func(dst, x, y []T):
		if m.twin {
			f(operand(m.dst), operand(m.dst2), operand(m.arg[0]))
		} else {
			f(operand(m.dst), operand(m.arg[0]), operand(m.arg[1]))
		}
	case func(dst, x, y, z []T):
		f(operand(m.dst), operand(m.arg[0]), operand(m.arg[1]), operand(m.arg[2]))
	default:
		return false
	}
	return true
}

// A room32 is what a room has beside for programs of float32.
type room32 struct {
	slots []float32
	wides []float64 // single numbers, and what is spread out
	tiles [tiles32][slotStride32]float64
	turns turns[float32]
}

func (m *room32) slot(i int32) []float32 { return m.slots[int(i)*slotStride32:][:tileSize32] }
func (m *room32) wide(i int) []float64   { return m.wides[i*slotStride32:][:tileSize32] }

// blocks32 is blocks for a program of float32. Sums are of float64.
func (x *execution) blocks32(tp *tileProgram, code *tileCode, in *tileData, from, to int) {
	w := rooms.Get().(*room)
	defer w.leave()
	wides := w.prepare32(tp, len(in.moving))
	w.single.fill(tp, code, x.t.num, wides)
	w.single.turns.reset(len(tp.loads))
	w.single.turns.lay(tp, in.loads, tileSize32)
	calls := code.calls
	if code == tp.plain && len(x.odd) == 0 {
		calls = calls[:len(calls)-2*len(tp.kept)]
	}
	for b := from; b < to; b++ {
		if x.t.check != nil && b&255 == 255 {
			x.t.check()
		}
		w.block32(tp, code, calls, b, in, wides)
		w.fold(tp, b, x.sums, x.odd)
	}
	runtime.KeepAlive(code)
}

// prepare32 makes room for the tiles of a program with so many operands in memory, and returns
// where the places of what is wide stand.
func (w *room) prepare32(tp *tileProgram, direct int) (wides []unsafe.Pointer) {
	if w.single == nil {
		w.single = new(room32)
	}
	m := w.single
	m.slots, m.wides = grown(m.slots, tp.slots*slotStride32), grown(m.wides, len(tp.wides)*slotStride32)
	lanes := len(tp.sums) + len(tp.kept)
	w.at, w.lanes = grown(w.at, direct+tp.slots+tiles32+lanes+len(tp.wides)), grown(w.lanes, lanes)
	w.paths = grown(w.paths, len(tp.moved))
	clear(w.paths)
	at := w.at[direct:]
	for i := range tp.slots {
		at[i] = unsafe.Pointer(&m.slots[i*slotStride32])
	}
	for i := range m.tiles {
		at[tp.slots+i] = unsafe.Pointer(&m.tiles[i])
	}
	for i := range lanes {
		at[tp.slots+tiles32+i] = unsafe.Pointer(&w.lanes[i])
	}
	return at[tp.slots+tiles32+lanes:]
}

// fill writes the numbers that do not change from tile to tile.
func (m *room32) fill(tp *tileProgram, code *tileCode, num []float64, wides []unsafe.Pointer) {
	for i := range tp.loads {
		switch l := &tp.loads[i]; {
		case l.sp != nil || l.whole:
		case code.fills[i]:
			kernels.Single.Fill(m.slot(l.slot), float32(num[l.ref]))
		default:
			m.slot(l.slot)[0] = float32(num[l.ref])
		}
	}
	for i, v := range tp.wides {
		wides[i] = unsafe.Pointer(&m.wide(i)[0])
		if v.one {
			kernels.Fill(m.wide(i), num[v.ref])
		}
	}
}

// block32 runs the tiles of block b.
func (w *room) block32(tp *tileProgram, code *tileCode, calls []kernels.Call, b int, in *tileData, wides []unsafe.Pointer) {
	m, before := w.single, len(in.moving)
	at, slot := w.at[before:], m.slot
	clear(w.lanes)
	end := min((b+1)*kernels.SumBlock, tp.n)
	for from := b * kernels.SumBlock; from < end; from += tileSize32 {
		n := min(tileSize32, end-from)
		for i := range tp.loads {
			switch l := &tp.loads[i]; {
			case l.sp == nil:
			case m.turns.of[i] != nil:
				at[l.slot] = m.turns.at(i, l, from)
			default:
				spreadLoad(l, at, in.loads[i], slot, from, n)
			}
		}
		for i := range tp.moved {
			v := &tp.moved[i]
			w.at[before-1-v.place], _ = whereMoved(v, &w.paths[i], in.moved, nil, m.slot(v.slot)[:n], from, n, false)
		}
		for i, v := range tp.wides {
			switch {
			case v.one:
			case v.lay != nil:
				fillMoved(v.lay, m.wide(i)[:n], in.wideMoved[v.first:], nil, from)
			case v.sp == nil:
				wides[i] = unsafe.Pointer(&in.wides[i][from : from+n][0])
			default:
				fillSpread(v.sp, m.wide(i)[:n], in.wides[i], from)
			}
		}
		for i, v := range in.moving {
			if v.at != nil {
				w.at[before-1-i] = unsafe.Add(v.at, uintptr(from)*v.size)
			}
		}
		for k := 0; k < len(calls); k++ {
			ran, done := kernels.Run(calls[k:], &at[0], n)
			if k += ran; k < len(calls) {
				code.micros[k].on32(w.at, before, done, n)
			}
		}
	}
}

// on32 does what a run left to Go: the rest of a call, from its element done on, of n.
func (m *micro) on32(at []unsafe.Pointer, before, done, n int) {
	place := func(o int32) unsafe.Pointer { return at[before+int(o)] }
	single := func(o int32) []float32 { return unsafe.Slice((*float32)(place(o)), n)[done:] }
	wide := func(o int32) []float64 { return unsafe.Slice((*float64)(place(o)), n)[done:] }
	if doneOn(m, single) || doneOn(m, wide) {
		return
	}
	switch f := m.single.(type) {
	case func(dst []float32, x []float64):
		f(single(m.dst), wide(m.arg[0]))
	case func(dst []float64, x []float32):
		f(wide(m.dst), single(m.arg[0]))
	case func(to *kernels.Lanes, x []float64):
		f((*kernels.Lanes)(place(m.dst)), wide(m.arg[0]))
	default:
		var x [3][]float64
		for i := range m.op.arity() {
			x[i] = wide(m.arg[i])
		}
		m.op.call(wide(m.dst), x[0], x[1], x[2])
	}
}

// tileData is where a tile program of float32 reads and writes.
type tileData struct {
	moving []stretch // what is direct, loads that are whole, stores
	loads  [][]float32
	wides  [][]float64

	moved     [][]float32 // of what is moved, by panes
	wideMoved [][]float64 // of that which is wide
}

// A stretch is memory that tiles go along.
type stretch struct {
	at   unsafe.Pointer
	size uintptr // of an element
}

func along[T real](x []T) stretch {
	return stretch{unsafe.Pointer(unsafe.SliceData(x)), unsafe.Sizeof(x[0])}
}

// tileData finds it; all of it has as many elements as the program, and stays alive as the
// execution's.
func (x *execution) tileData(tp *tileProgram) *tileData {
	t, in := x.t, &x.spans32
	in.moving, in.loads, in.wides = in.moving[:0], grown(in.loads, len(tp.loads)), in.wides[:0]
	for _, r := range tp.direct {
		if r == None {
			in.moving = append(in.moving, stretch{})
			continue
		}
		in.moving = append(in.moving, along(x.result32(r)[:tp.n])) // an argument has its memory
	}
	for i, l := range tp.loads {
		m := stretch{}
		if l.whole {
			m = along(x.data(l.ref)[:tp.n])
		} else if l.sp != nil {
			in.loads[i] = x.data32(l.ref)
		}
		in.moving = append(in.moving, m)
	}
	for _, s := range tp.stores {
		slot := x.p.slot[s.ref]
		if x.mem[slot] == nil {
			x.mem[slot] = x.alloc(t.size(s.ref))
		}
		in.moving = append(in.moving, along(x.mem[slot][:tp.n]))
	}
	in.moved, in.wideMoved = in.moved[:0], in.wideMoved[:0]
	for i := range tp.moved {
		for k := range tp.moved[i].lay.panes {
			in.moved = append(in.moved, x.data32(tp.moved[i].lay.panes[k].ref))
		}
	}
	for _, w := range tp.wides {
		if w.lay == nil {
			in.wides = append(in.wides, x.data(w.ref))
			continue
		}
		in.wides = append(in.wides, nil)
		for k := range w.lay.panes {
			in.wideMoved = append(in.wideMoved, x.data(w.lay.panes[k].ref))
		}
	}
	return in
}
