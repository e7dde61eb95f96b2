package tape

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"nabla/kernels"
	"nabla/tape/pool"
)

// A tiling is where a tile program reads and writes.
type tiling struct {
	direct, loads [][]float64
	moved         [][]float64   // of what is moved, by panes
	sums          []float64     // by sum and block
	odd           []atomic.Bool // by kept result: it may not be finite

	gone, movedGone []int // of direct and moved: how many numbers lie before, in no memory; nil: none
}

// tiles runs a tile program over its whole space, block by block; with several
// threads each takes every other run of blocks. Sums are kept by block and added in
// order, so the bits do not depend on who did what.
func (x *execution) tiles(tp *tileProgram) {
	var in *tileData
	code := tp.linked()
	if tp.single {
		in = x.tileData(tp)
		if !code.aligned32(in) {
			code = tp.plain
		}
	} else {
		x.operands(tp, &x.tiling)
		if !code.aligned(x.direct) {
			code = tp.plain
		}
	}
	blocks := tp.blocks()
	x.results(tp, &x.tiling)
	if len(tp.along) > 0 {
		x.alongTiles(tp, code)
		return
	}
	switch {
	case x.threads() > 1 && blocks > 1:
		x.split(tp, code, in, blocks)
	case tp.single:
		x.blocks32(tp, code, in, 0, blocks)
	default:
		x.blocks(tp, code, &x.tiling, 0, blocks)
	}
	x.close(tp, &x.tiling)
}

// split runs blocks of a program on several threads, if that is worth it. What runs on one has no closure.
func (x *execution) split(tp *tileProgram, code *tileCode, in *tileData, blocks int) {
	run := func(from, to int) { x.blocks(tp, code, &x.tiling, from, to) }
	if tp.single {
		run = func(from, to int) { x.blocks32(tp, code, in, from, to) }
	}
	pool.Split(x.threads(), tp.n*len(tp.code), blocks, run)
}

// blocks is how many blocks of SumBlock elements a program has.
func (tp *tileProgram) blocks() int { return ceilDiv(tp.n, kernels.SumBlock) }

// operands finds where a program reads and writes; what lies in windows has no memory.
func (x *execution) operands(tp *tileProgram, at *tiling) {
	at.direct, at.loads, at.moved = grown(at.direct, len(tp.direct))[:0], grown(at.loads, len(tp.loads))[:0], at.moved[:0]
	for i, r := range tp.direct {
		if r == None || x.p.inWindow(r) {
			at.direct = append(at.direct, nil)
			continue
		}
		if s := x.p.slot[r]; i < len(tp.over) && tp.over[i] != None {
			from := x.p.slot[tp.over[i]]
			x.free(s) // of the run before
			x.mem[s], x.mem[from] = x.mem[from], nil
		} else if s >= 0 && !x.p.narrow[r] {
			x.result(r)
		}
		at.direct = append(at.direct, x.data(r))
	}
	for i := range tp.loads {
		l := &tp.loads[i]
		if l.ref == None {
			at.loads = append(at.loads, unsafe.Slice(&l.num, 1))
			continue
		}
		at.loads = append(at.loads, x.data(l.ref))
	}
	for i := range tp.moved {
		for _, w := range tp.moved[i].lay.panes {
			if x.p.inWindow(w.ref) {
				at.moved = append(at.moved, nil)
				continue
			}
			at.moved = append(at.moved, x.data(w.ref))
		}
	}
}

// results makes room for a program's sums, and for what is seen of its results.
func (x *execution) results(tp *tileProgram, at *tiling) {
	if n := tp.blocks() * len(tp.sums); len(at.sums) < n {
		at.sums = make([]float64, n)
	}
	at.odd = at.odd[:0]
	if x.whole {
		at.odd = grown(at.odd, len(tp.kept))
		clear(at.odd)
	}
}

// close adds up a program's sums, and notes which results are finite.
func (x *execution) close(tp *tileProgram, at *tiling) {
	t, blocks := x.t, tp.blocks()
	for i := range at.odd {
		t.isSane(tp.kept[i].ref, !at.odd[i].Load())
	}
	for i, s := range tp.sums {
		t.num[s.ref] = round(t.ins[s.ref].dtype, sumOfBlocks(at.sums[i*blocks:(i+1)*blocks]))
	}
}

// sumOfBlocks adds up blocks of a sum in order, which begins with the first one's own.
func sumOfBlocks(blocks []float64) (total float64) {
	for b, v := range blocks {
		if b == 0 {
			total = v
		} else {
			total += v
		}
	}
	return total
}

// A room is what tiles of one goroutine work with, kept from one program, and question,
// to the next.
type room struct {
	slots  []float64
	stride int              // from one slot to the next
	at     []unsafe.Pointer // where operands begin: direct, last to first, slots, lanes
	lanes  []kernels.Lanes  // of sums, and of results that are looked at
	turned int              // the element from which on lanes are in their order
	paths  []cursor         // of what is moved
	filled []float64        // of that what is written there
	ahead  int              // how many numbers of each at a time
	still  []stillRow       // by load: what of it has one number
	turns  turns[float64]   // of what is spread out
	each   []kernels.Each   // of tiles that are rows
	aside  []float64        // what edges read and write in memory
	along  []float64        // windows of what is added up along with the tiles

	single *room32
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// blocks runs a tile program over blocks from to to-1. It notes in odd which of the kept
// results may not be finite: those of a block with a NaN or an infinity, or such a sum.
func (x *execution) blocks(tp *tileProgram, code *tileCode, at *tiling, from, to int) {
	w := takeRoom(tp, code, len(at.direct))
	defer w.leave()
	w.fill(tp, code, at.loads)
	w.turns.lay(tp, at.loads, w.tile())
	for i, d := range at.direct {
		if tp.direct[i] != None {
			_ = d[:tp.n]
		}
	}
	calls := code.callsFor(tp, at)
	for b := from; b < to; b++ {
		if x.t.check != nil && b&255 == 255 {
			x.t.check()
		}
		w.block(tp, code, calls, b, at)
		w.fold(tp, b, at.sums, at.odd)
	}
	runtime.KeepAlive(code)
}

// callsFor are the calls of code that are wanted: whether results are finite may be of no interest.
func (c *tileCode) callsFor(tp *tileProgram, at *tiling) []kernels.Call {
	return c.calls[:min(len(c.calls), len(c.micros)+len(tp.sums)+len(at.odd))]
}

// takeRoom is a room for the tiles of a program, of one of its codes.
func takeRoom(tp *tileProgram, code *tileCode, direct int) *room {
	w := rooms.Get().(*room)
	w.prepare(tp, code, direct)
	return w
}

// prepare makes room for the tiles of a program with so many operands in memory.
func (w *room) prepare(tp *tileProgram, code *tileCode, direct int) {
	lanes := len(tp.sums) + len(tp.kept)
	w.stride = code.stride()
	w.slots = grown(w.slots, tp.slots*w.stride)
	w.at = grown(w.at, direct+tp.slots+lanes+1)
	w.lanes = grown(w.lanes, lanes)
	w.paths, w.still = grown(w.paths, len(tp.moved)), grown(w.still, len(tp.loads))
	clear(w.paths)
	clear(w.still)
	if w.ahead = tp.ahead(); w.ahead > 0 {
		w.filled = grown(w.filled, len(tp.moved)*(w.ahead+slotStride-tileSize))
	}
	w.turns.reset(len(tp.loads))
	at := w.at[direct:]
	for i := range tp.slots {
		at[i] = unsafe.Pointer(&w.slots[i*w.stride])
	}
	for i := range lanes {
		at[tp.slots+i] = unsafe.Pointer(&w.lanes[i])
	}
}

// leave gives the room to who comes next.
func (w *room) leave() {
	clear(w.at)
	rooms.Put(w)
}

func (w *room) slot(i int32) []float64 { return w.slots[int(i)*w.stride:][:w.tile()] }

// tile is how many numbers a slot has room for.
func (w *room) tile() int { return w.stride - slotStride + tileSize }

// fill writes the numbers that do not change from tile to tile.
func (w *room) fill(tp *tileProgram, code *tileCode, loads [][]float64) {
	for i := range tp.loads {
		l := &tp.loads[i]
		switch s := w.slot(l.slot); {
		case l.sp != nil:
		case code.fills[i]:
			kernels.Fill(s, loads[i][0])
		default:
			s[0] = loads[i][0]
		}
	}
}

// varies reports whether something is spread out that differs from tile to tile.
func (tp *tileProgram) varies() bool {
	for i := range tp.loads {
		if tp.loads[i].sp != nil {
			return true
		}
	}
	return false
}

// block runs the tiles of block b.
func (w *room) block(tp *tileProgram, code *tileCode, calls []kernels.Call, b int, in *tiling) {
	w.tiles(tp, code, calls, b*kernels.SumBlock, min((b+1)*kernels.SumBlock, tp.n), in)
	w.turn(0)
}

// tiles runs the tiles of a part of a block, from its first on or from where the part before ended.
func (w *room) tiles(tp *tileProgram, code *tileCode, calls []kernels.Call, from, end int, in *tiling) {
	if from%kernels.SumBlock == 0 {
		clear(w.lanes)
		w.turned = 0
	}
	e := tp.edges
	if e == nil || code.aside != nil || code.rows {
		w.straight(tp, code, calls, from, end, in, false)
		return
	}
	for ; from < end; from += e.part {
		to := min(from+e.part, end)
		w.edges(tp, code, calls, from, to, in)
		w.straight(tp, code, calls, from, to, in, true)
		w.putEdges(e, from, to, in)
	}
}

// straight runs tiles one after the other, with edges wrong or as they are.
func (w *room) straight(tp *tileProgram, code *tileCode, calls []kernels.Call, from, end int, in *tiling, edges bool) {
	if code.each > 0 {
		w.rows(tp, code, calls, from, end, in)
		return
	}
	varies, direct := tp.varies(), in.direct
	at := w.at[len(direct):]
	for from < end {
		n, tiles := min(tileSize, end-from), 1
		if varies {
			n, tiles = w.spread(tp, code, at, in.loads, from, end)
		} else {
			n = w.together(tp, code, from, n, edges)
			if tiles = max(1, (end-from)/n); n < tileSize {
				tiles = 1
			}
		}
		w.turn(from)
		w.point(in, from)
		for i := range tp.moved {
			if m := &tp.moved[i]; !m.isFilled() {
				at, many := whereMoved(m, &w.paths[i], in.moved, in.movedGone, w.slot(m.slot)[:n], from, n, edges)
				w.at[len(direct)-1-m.place] = at
				tiles = min(tiles, many/n)
			}
		}
		tiles = w.fillTiles(tp, in, from, n, tiles)
		from += n * w.run(tp, code, calls, len(direct), tp.turning, n, tiles)
	}
}

// fillTiles writes tiles of n numbers from one on of what does not lie together, as many as there is room for.
func (w *room) fillTiles(tp *tileProgram, in *tiling, from, n, tiles int) int {
	if w.ahead == 0 {
		return tiles
	}
	tiles = max(1, min(tiles, w.ahead/n))
	stride := w.ahead + slotStride - tileSize
	k := 0
	for i := range tp.moved {
		if m := &tp.moved[i]; m.isFilled() {
			at, _ := whereMoved(m, &w.paths[i], in.moved, in.movedGone, w.filled[k*stride:][:n*tiles], from, n, false)
			w.at[len(in.direct)-1-m.place] = at
			k++
		}
	}
	return tiles
}

// point has operands in memory begin at an element.
func (w *room) point(in *tiling, from int) {
	for i, d := range in.direct {
		if d != nil {
			w.at[len(in.direct)-1-i] = unsafe.Pointer(&d[from-goneOf(in.gone, i)])
		}
	}
}

// run runs tiles of n numbers that follow one another, and returns how many: fewer than there are where Go has
// a part in the last one. What is direct goes on with them, and so do the first slots.
func (w *room) run(tp *tileProgram, code *tileCode, calls []kernels.Call, direct, turning, n, tiles int) int {
	at := w.at[direct:]
	k, done, left := kernels.RunTiles(calls, &at[0], n, tiles, w.at[:direct+turning], w.each)
	tiles -= left
	if left > 0 {
		tiles++
	}
	for ; k < len(calls); k++ {
		tp.micro(code, w, direct, k, done, n)
		var ran int
		ran, done = kernels.Run(calls[k+1:], &at[0], n)
		k += ran
	}
	return tiles
}

// turn has the next tile, from an element on, add to the first lane what begins it: tiles that end with
// rows begin anywhere in a block.
func (w *room) turn(from int) {
	by := (from - w.turned) & (len(kernels.Lanes{}) - 1)
	if w.turned = from; by == 0 {
		return
	}
	for i := range w.lanes {
		l := &w.lanes[i]
		was := *l
		copy(l[copy(l[:], was[by:]):], was[:by])
	}
}

// goneOf is how many numbers lie before the memory of value i.
func goneOf(gone []int, i int) int {
	if gone == nil {
		return 0
	}
	return gone[i]
}

// A stillRow are elements of a load that have one number each, or one row again and again, from the first to one before
// the end.
type stillRow struct {
	first, end int
	filled     bool // its number is in the slot, or its row laid out
}

// isStill reports whether load i has such elements, and room for its row.
func (w *room) isStill(i int, l *load) bool {
	return l.still > 0 && (l.row == 0 || w.turns.rows[i] != nil)
}

// rest is how many of its elements there are from one on.
func (s *stillRow) rest(l *load, from int) int {
	if from < s.first || from >= s.end {
		first := from - from%l.still
		*s = stillRow{first, first + l.still, false}
	}
	return s.end - from
}

// spread spreads what broadcasts over the next n numbers before end, as many as a tile holds, or over tiles of so many:
// of a matrix over whose rows a number each is spread, say, the number is written once a row. Where code reads it as
// a number, or nothing wants whole tiles, these end with rows; what is written past the caches wants whole lines.
func (w *room) spread(tp *tileProgram, code *tileCode, at []unsafe.Pointer, loads [][]float64, from, end int) (n, tiles int) {
	const line = 8
	step := tp.step
	n, tiles = min(step, end-from), 1
	all := end - from // that need nothing else to be written
	for i := range tp.loads {
		l := &tp.loads[i]
		switch {
		case l.sp == nil:
		case w.turns.of[i] != nil && l.same: // every tile reads the same
		case w.turns.of[i] != nil:
			all = min(all, len(w.turns.of[i])-from%l.cycle)
		case w.isStill(i, l):
			rest := w.still[i].rest(l, from)
			if code.aside != nil && rest < n {
				rest &^= line - 1
			}
			if rest < n && (rest == 0 || len(tp.sums) > 0 && !code.rows) {
				rest = n
			}
			if l.row > 0 && step%l.row != 0 { // the next tile begins elsewhere in it
				rest = min(rest, n)
			}
			all = min(all, rest)
		default:
			all = min(all, n)
		}
	}
	switch n = min(n, all); {
	case n == tileSize: // by a constant
		tiles = all / tileSize
	case n == step:
		tiles = all / step
	}
	for i := range tp.loads {
		switch l, s := &tp.loads[i], &w.still[i]; {
		case l.sp == nil:
		case w.turns.of[i] != nil:
			at[l.slot] = w.turns.at(i, l, from)
		case !w.isStill(i, l) || s.end-from < n:
			spreadLoad(l, at, loads[i], w.slot, from, n)
			s.filled = false
		case l.row > 0:
			row := w.turns.rows[i]
			if !s.filled {
				repeat(row, copy(row, loads[i][l.sp.place(s.first, nil):][:l.row]))
			}
			at[l.slot] = unsafe.Pointer(&row[(from-s.first)%l.row])
			s.filled = true
		case !s.filled:
			slot, v := w.slot(l.slot), loads[i][l.sp.place(from, nil)]
			if slot[0] = v; code.fills[i] || !code.rows {
				kernels.Fill(slot, v)
			}
			s.filled = true
		}
	}
	return n, tiles
}

// spreadLoad says where n numbers from one on are of what is spread out: in a row of x, or in its slot.
func spreadLoad[T real](l *load, at []unsafe.Pointer, x []T, slot func(int32) []T, from, n int) {
	if l.inPlace(from, n) {
		at[l.slot] = unsafe.Pointer(&x[from%l.turn])
		return
	}
	s := slot(l.slot)[:n]
	at[l.slot] = unsafe.Pointer(&s[0])
	fillSpread(l.sp, s, x, from)
}

// inPlace reports whether n numbers from one on of what is spread out lie together.
func (l *load) inPlace(from, n int) bool { return l.turn > 0 && from%l.turn+n <= l.turn }

// fold closes the sums of block b, and notes which of the kept results may not be finite.
func (w *room) fold(tp *tileProgram, b int, sums []float64, odd []atomic.Bool) {
	w.foldOdd(tp, odd)
	all := tp.blocks()
	for i := range tp.sums {
		sums[i*all+b] = w.lanes[i].Fold()
	}
}

// foldApart is fold of the end of a block, for sums that are counts: they are added to others.
func (w *room) foldApart(tp *tileProgram, counts []float64, odd []atomic.Bool) {
	w.foldOdd(tp, odd)
	for i := range counts {
		counts[i] += w.lanes[i].Fold()
	}
}

func (w *room) foldOdd(tp *tileProgram, odd []atomic.Bool) {
	for i := range odd {
		if v := w.lanes[len(tp.sums)+i].Fold(); v-v != 0 {
			odd[i].Store(true)
		}
	}
}

// micro does what a run left to Go: call k from its element done on, of n.
func (tp *tileProgram) micro(code *tileCode, w *room, direct, k, done, n int) {
	operand := func(o int32) []float64 {
		return unsafe.Slice((*float64)(w.at[direct+int(o)]), n)[done:]
	}
	if k -= len(code.micros); k >= 0 {
		if k < len(tp.sums) {
			kernels.SumLanes(&w.lanes[k], operand(tp.sums[k].arg))
		} else {
			kernels.SumLanes(&w.lanes[k], operand(tp.kept[k-len(tp.sums)].arg))
		}
		return
	}
	m := &code.micros[k+len(code.micros)]
	dst := operand(m.dst)
	switch op := m.op; {
	case m.both != nil:
		m.both(dst, operand(m.dst2), operand(m.arg[0]))
	case m.pair != nil:
		m.pair(dst, operand(m.arg[0]), operand(m.arg[1]), operand(m.arg[2]))
	default:
		var x [3][]float64
		for i := range op.arity() {
			x[i] = operand(m.arg[i])
		}
		op.call(dst, x[0], x[1], x[2])
	}
	if m.float32 {
		kernels.Float32(dst, dst)
	}
}
