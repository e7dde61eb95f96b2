package tape

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// Compute is Values with large matrices of derivatives done some rows at a time.
func (t *Tape) Compute(rs []Ref) {
	runs, rest := t.rowRuns(rs)
	t.Values(rest)
	for _, x := range runs {
		x.all()
	}
}

// Values computes rs, together, and keeps their values.
func (t *Tape) Values(rs []Ref) { t.values(rs) }

// values is Values; it returns the execution, or nil when all was known.
func (t *Tape) values(rs []Ref) *execution {
	want := t.desk.refs.of(len(rs))[:0]
	for _, r := range rs {
		if r != None && !t.known(r) {
			want = append(want, r)
		}
	}
	if len(want) == 0 {
		return nil
	}
	p := t.planned(want)
	x := t.desk.runs.one()
	x.begin(p, t.desk.values.of(p.slots))
	x.direct, x.loads, x.args, x.odd = t.desk.values.of(8), t.desk.values.of(8), t.desk.values.of(4), t.desk.odd[:]
	x.whole = true
	x.run()
	t.Stats.add(p, 1)
	for _, r := range want {
		if !t.known(r) {
			t.keep(r, x.data(p.same[r]))
			t.wasKept(r)
		}
	}
	x.release()
	return x
}

// again runs the plan once more, over the leaves as they are now. What is in memory stays
// where it is, and is written over; but not what is there as float32, too.
func (x *execution) again() {
	t, p := x.t, x.p
	if x.mem32 != nil {
		x.recycle()
	}
	x.run()
	for _, r := range p.outs {
		if !t.single(r) {
			t.big[r] = x.data(p.same[r])
		} else if s := p.same[r]; s != r {
			t.num[r] = t.num[s]
		}
	}
	x.release()
}

// An execution is one run of a plan.
type execution struct {
	p    *Plan
	t    *Tape
	mem  [][]float64    // values of more than one element computed here, by the plan's slots
	pool spare[float64] // memory of dead values, by size

	mem32  [][]float32 // mem and pool of float32
	pool32 spare[float32]
	leaves map[Ref][]float32 // leaves as float32

	from    int  // the first of the rows that run, for seeds
	workers int  // threads; 0: as many as the tape has
	whole   bool // the values are the tape's

	rights  []sharedRight    // right operands that a chain's products share
	right   map[Ref]int      // the product: its right operand
	columns map[Ref]bool     // products with a column, whose left operand it is, transposed
	times   map[Ref]epilogue // products that are multiplied before they are stored
	placed  []elsewhere      // products whose rows lie in values of the chain

	args [][]float64 // of the instruction that runs

	// of the tile program that runs:
	tiling
	spans32 tileData // of float32
}

// A tiling is where a tile program reads and writes.
type tiling struct {
	direct, loads [][]float64
	moved         [][]float64   // of what is moved, by panes
	sums          []float64     // by sum and block
	odd           []atomic.Bool // by kept result: it may not be finite

	gone, movedGone []int // of direct and moved: how many numbers lie before, in no memory; nil: none
}

// add counts n runs of a plan.
func (s *Stats) add(p *Plan, n int) {
	s.Executed += n * p.count
	s.Flops += float64(n) * p.flops
}

func newExecution(p *Plan) *execution {
	x := new(execution)
	x.begin(p, make([][]float64, p.slots))
	return x
}

// begin makes x ready to run a plan, with room for where its values are.
func (x *execution) begin(p *Plan, mem [][]float64) {
	x.p, x.t, x.mem = p, p.t, mem
	if slices.Contains(p.single, true) {
		x.mem32, x.leaves = make([][]float32, p.slots), map[Ref][]float32{}
	}
}

// recycle gives all memory back for the next run of a plan of the same sizes.
func (x *execution) recycle() {
	for i := range x.mem {
		x.free(int32(i))
	}
}

func (x *execution) threads() int {
	if x.workers > 0 {
		return x.workers
	}
	return x.t.threads()
}

// run carries the steps out, in order.
func (x *execution) run() {
	t := x.t
	if n := len(t.ins); n > len(t.num) {
		t.num = append(t.num, make([]float64, n-len(t.num))...)
	}
	for i := range x.p.steps {
		s := &x.p.steps[i]
		if t.check != nil && i&63 == 0 {
			t.check()
		}
		switch s.kind {
		case stepNumbers:
			x.numbers(s.refs)
		case stepTile:
			switch {
			case s.slide == nil:
				x.tiles(s.tile)
			case s.slide.first == i:
				x.slide(s.slide)
			}
		case stepOne:
			switch {
			case x.p.single[i]:
				x.product(s.refs[0])
			case s.isPicked():
				x.pick(s.refs[0], s.refs[1], s.refs[2])
			case len(s.refs) > 1:
				x.softmaxes(s.refs[0], s.refs[1])
			default:
				x.one(s.refs[0])
			}
		case stepChain:
			x.carry(s.chain)
		}
		for _, r := range s.free {
			x.free(x.p.slot[r])
		}
	}
}

// alloc gives memory for n numbers, unspecified.
func (x *execution) alloc(n int) []float64 { return x.pool.take(n, &arena64) }

// spares is how many numbers of dead values the execution keeps: what the plan takes at once,
// or as many as an arena, in a quarter of what is allowed.
func (x *execution) spares() int {
	most := max(mostKept, int(x.p.peak/8))
	if limit := x.t.Limit; limit > 0 {
		most = min(most, int(limit/(4*8)))
	}
	return most
}

// release gives memory of dead values to the executions to come. What is short stays with this
// one, for its next run.
func (x *execution) release() {
	x.freeSingles()
	x.pool.release(&arena64)
	x.pool32.release(&arena32)
}

// result is memory for r: that which it has already, or else new.
func (x *execution) result(r Ref) []float64 {
	s := x.p.slot[r]
	if x.mem[s] == nil {
		x.mem[s] = x.alloc(x.t.size(r))
	}
	return x.mem[s]
}

// data is the value of r: a leaf, or computed here.
func (x *execution) data(r Ref) []float64 {
	if x.t.single(r) {
		return x.t.num[r : r+1 : r+1]
	}
	if s := x.p.slot[r]; s >= 0 {
		if x.p.narrow[r] {
			return x.widen(r)
		}
		return x.mem[s]
	}
	return x.t.big[r]
}

// numbers runs elementwise operations on single numbers.
func (x *execution) numbers(refs []Ref) {
	t, same := x.t, x.p.same
	num := t.num
	for _, r := range refs {
		in := &t.ins[r]
		op := in.Op()
		var v float64
		switch {
		case op.f2 != nil:
			v = op.f2(num[same[in.args[0]]], num[same[in.args[1]]])
		case op.f1 != nil:
			v = op.f1(num[same[in.args[0]]])
		case op.f3 != nil:
			v = op.f3(num[same[in.args[0]]], num[same[in.args[1]]], num[same[in.args[2]]])
		default:
			var a [3]float64
			for i, y := range t.Args(r) {
				a[i] = num[same[y]]
			}
			v = op.one(a)
		}
		if in.dtype == tensor.Float32 {
			v = float64(float32(v))
		}
		num[r] = v
	}
}

// one runs a structural instruction.
func (x *execution) one(r Ref) {
	t := x.t
	args := t.Args(r)
	x.args = grown(x.args, len(args))
	data := x.args
	for i, a := range args {
		data[i] = x.data(x.p.same[a])
	}
	in := &t.ins[r]
	if s := x.p.slot[r]; s >= 0 && x.p.view[s] {
		off := 0
		if in.Op() == opBlock {
			off = int(in.args[1])
		}
		x.mem[s] = data[0][off : off+t.size(r)]
		if sane, seen := t.sane[x.p.same[args[0]]]; seen && x.whole {
			t.isSane(r, sane)
		}
		return
	}
	var out []float64
	if t.single(r) {
		out = t.num[r : r+1 : r+1]
	} else {
		if x.packedProduct(r) {
			return
		}
		out = x.result(r)
	}
	t.runStructural(r, out, data, x.threads(), x.from)
	if x.whole && in.Op() == opMatmul && in.dtype == tensor.Float64 && len(out) > leastBounded*(len(data[0])+len(data[1])) {
		t.isSane(r, boundedProduct(data[0], data[1]))
	}
	if in.dtype == tensor.Float32 {
		kernelsFloat32(out, out)
	}
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
	workers := 1
	if x.threads() > 1 && pool.Worth(tp.n*len(tp.code), pool.LeastElements) {
		workers = min(4*x.threads(), blocks) // more parts than threads: a core may be busy elsewhere
	}
	switch {
	case workers <= 1 && tp.single:
		x.blocks32(tp, code, in, 0, blocks, x.sums, x.odd)
	case workers <= 1:
		x.blocks(tp, code, &x.tiling, 0, blocks)
	case tp.single:
		pool.Run(x.threads(), workers, func(w int) { x.blocks32(tp, code, in, blocks*w/workers, blocks*(w+1)/workers, x.sums, x.odd) })
	default:
		pool.Run(x.threads(), workers, func(w int) { x.blocks(tp, code, &x.tiling, blocks*w/workers, blocks*(w+1)/workers) })
	}
	x.close(tp, &x.tiling)
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
		total := 0.0
		for b, v := range at.sums[i*blocks : (i+1)*blocks] {
			if b == 0 {
				total = v
			} else {
				total += v
			}
		}
		t.num[s.ref] = round(t.ins[s.ref].dtype, total)
	}
}

// isSane notes whether all of a result was seen to be finite.
func (t *Tape) isSane(r Ref, yes bool) {
	if t.sane == nil {
		t.sane = map[Ref]bool{}
	}
	t.sane[r] = yes
}

func (t *Tape) threads() int {
	if t.Threads > 0 {
		return t.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// A room is what tiles of one goroutine work with, kept from one program, and question,
// to the next.
type room struct {
	slots []float64
	at    []unsafe.Pointer // where operands begin: direct, last to first, slots, lanes
	lanes []kernels.Lanes  // of sums, and of results that are looked at
	paths []cursor         // of what is moved
	still []int            // by load: the run of one number, from 1, that fills its slot; or 0

	single *room32
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// blocks runs a tile program over blocks from to to-1. It notes in odd which of the kept
// results may not be finite: those of a block with a NaN or an infinity, or such a sum.
func (x *execution) blocks(tp *tileProgram, code *tileCode, at *tiling, from, to int) {
	w := takeRoom(tp, len(at.direct))
	defer w.leave()
	w.fill(tp, code, at.loads)
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
func (code *tileCode) callsFor(tp *tileProgram, at *tiling) []kernels.Call {
	return code.calls[:min(len(code.calls), len(code.micros)+len(tp.sums)+len(at.odd))]
}

// takeRoom is a room for the tiles of a program.
func takeRoom(tp *tileProgram, direct int) *room {
	w := rooms.Get().(*room)
	w.prepare(tp, direct)
	return w
}

// prepare makes room for the tiles of a program with so many operands in memory.
func (w *room) prepare(tp *tileProgram, direct int) {
	lanes := len(tp.sums) + len(tp.kept)
	w.slots = grown(w.slots, tp.slots*slotStride)
	w.at = grown(w.at, direct+tp.slots+lanes+1)
	w.lanes = grown(w.lanes, lanes)
	w.paths, w.still = grown(w.paths, len(tp.moved)), grown(w.still, len(tp.loads))
	clear(w.paths)
	clear(w.still)
	at := w.at[direct:]
	for i := range tp.slots {
		at[i] = unsafe.Pointer(&w.slots[i*slotStride])
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

func (w *room) slot(i int32) []float64 { return w.slots[int(i)*slotStride:][:tileSize] }

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
	varies, direct := tp.varies(), in.direct
	at := w.at[len(direct):]
	clear(w.lanes)
	end := min((b+1)*kernels.SumBlock, tp.n)
	for from := b * kernels.SumBlock; from < end; {
		n, tiles := min(tileSize, end-from), 1
		if varies {
			n, tiles = w.spread(tp, at, in.loads, from, end)
		} else {
			tiles = max(1, (end-from)/tileSize)
		}
		for i, d := range direct {
			if d != nil {
				w.at[len(direct)-1-i] = unsafe.Pointer(&d[from-goneOf(in.gone, i)])
			}
		}
		for i := range tp.moved {
			m := &tp.moved[i]
			at, many := whereMoved(m, &w.paths[i], in.moved, in.movedGone, w.slot(m.slot), from, n)
			w.at[len(direct)-1-m.place] = at
			tiles = min(tiles, many/n)
		}
		k, done, left := kernels.RunTiles(calls, &at[0], n, tiles, w.at[:len(direct)])
		for from += (tiles - left) * n; k < len(calls); k++ {
			tp.micro(code, w, len(direct), k, done, n)
			var ran int
			ran, done = kernels.Run(calls[k+1:], &at[0], n)
			k += ran
		}
		if left > 0 {
			from += n
		}
	}
}

// goneOf is how many numbers lie before the memory of value i.
func goneOf(gone []int, i int) int {
	if gone == nil {
		return 0
	}
	return gone[i]
}

// spread is spreadLoads of the next n numbers before end, as many as a tile holds, or of tiles of so many:
// of a matrix over whose rows a number each is spread, say, the number is written once a row.
func (w *room) spread(tp *tileProgram, at []unsafe.Pointer, loads [][]float64, from, end int) (n, tiles int) {
	n, tiles = min(tileSize, end-from), 1
	all := end - from // that need nothing else to be written
	for i := range tp.loads {
		if l := &tp.loads[i]; l.sp != nil {
			if rest := l.rest(from); rest >= n || len(tp.sums) == 0 && rest > 0 { // sums take whole tiles
				all = min(all, rest)
			} else {
				all = min(all, n)
			}
		}
	}
	if n = min(n, all); n == tileSize {
		tiles = all / tileSize
	}
	for i := range tp.loads {
		switch l := &tp.loads[i]; {
		case l.sp == nil:
		case l.rest(from) < n:
			spreadLoad(l, at, loads[i], w.slot, from, n)
			w.still[i] = 0
		case w.still[i] != from/l.still+1:
			s := w.slot(l.slot)
			spreadLoad(l, at, loads[i], w.slot, from, 1)
			kernels.Fill(s, s[0])
			w.still[i] = from/l.still + 1
		}
	}
	return n, tiles
}

// rest is how many elements from one on have the same number in a run of a tile or more; 0 for none.
func (l *load) rest(from int) int {
	if l.still == 0 {
		return 0
	}
	return l.still - from%l.still
}

// spreadLoads says where n numbers from one on are of what is spread out.
func spreadLoads[T real](tp *tileProgram, at []unsafe.Pointer, loads [][]T, slot func(int32) []T, from, n int) {
	for i := range tp.loads {
		if l := &tp.loads[i]; l.sp != nil {
			spreadLoad(l, at, loads[i], slot, from, n)
		}
	}
}

// spreadLoad is spreadLoads of one: they are in a row of x, or in its slot.
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
	for i := range odd {
		if v := w.lanes[len(tp.sums)+i].Fold(); v-v != 0 {
			odd[i].Store(true)
		}
	}
	all := (tp.n + kernels.SumBlock - 1) / kernels.SumBlock
	for i := range tp.sums {
		sums[i*all+b] = w.lanes[i].Fold()
	}
}

// grown is x, or a longer slice, of n numbers.
func grown[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
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
