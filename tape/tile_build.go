package tape

import (
	"slices"
	"sync"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// tileScratch is working memory of buildTile, by Ref: where a value is, how often it is
// still read, and which node, counted from 1, may be joined with others. These are cleared
// after each tile. It is kept from one plan to the next.
type tileScratch struct {
	last                []int32 // by Ref: the last step that reads it
	keep                []bool  // by Ref: it leaves the plan
	seen                []bool  // by Ref: there is a view of its memory
	where, reads, joins []int32
	twins               []int32 // by Ref: which instruction of the step it is the argument of that may have a twin, from 1
	later               []int32 // by such an instruction: the next one of the same argument
	touched             []Ref
	nodes               []node
	builder             tileBuilder
}

var tileScratches = sync.Pool{New: func() any { return new(tileScratch) }}

// sized makes room for n values.
func (sc *tileScratch) sized(n int) {
	for _, s := range []*[]int32{&sc.last, &sc.where, &sc.reads, &sc.joins, &sc.twins} {
		*s = grown(*s, n)
		clear(*s)
	}
	for _, s := range []*[]bool{&sc.keep, &sc.seen} {
		*s = grown(*s, n)
		clear(*s)
	}
}

const nowhere = 1 << 30

// A tileBuilder gives the values of one tile program their places, and writes its code.
type tileBuilder struct {
	*tileScratch
	*tileProgram
	p      *Plan
	index  int32 // of the step
	refs   []Ref // of the step
	free   []int32
	alongs bool  // it adds up over some axes
	full   bool  // and full sums so, too
	dying  []Ref // arguments that nobody reads any more, and whose memory is free to take
	held   []Ref // what is read at other places, too

	whole   []int32 // in a program of float32: by slot, the load that fills it before it is read first, from 1
	written int     // stores whose code is there
}

// buildTile makes the program of a step.
func (p *Plan) buildTile(s *step, index int32, sc *tileScratch) *tileProgram {
	t := p.t
	b := &sc.builder
	*b = tileBuilder{tileScratch: sc, tileProgram: t.desk.tiles.one(), p: p, index: index, refs: s.all(), free: b.free[:0], dying: b.dying[:0], held: b.held[:0], whole: b.whole[:0]}
	b.direct = t.desk.refs.of(8)[:0]
	defer b.finished()
	b.single = p.single[index]
	b.alongs, b.full = p.hasAlong(s)
	if s.slide != nil {
		b.windows = s.slide.steps[int(index)-s.slide.first].windows
	}
	for _, r := range b.refs {
		b.touch(r)
		for _, a := range t.Args(r) {
			b.touch(p.same[a])
		}
	}
	b.pair()
	nodes := p.shorten(b.refs, b.single, sc, b.lives)
	size := 0
	for i := range nodes {
		if !nodes[i].gone && nodes[i].op != opSum {
			size++
		}
	}
	b.code = t.desk.micros.of(size)[:0]
	b.loads, b.kept = t.desk.loads.of(8)[:0], t.desk.kept.of(4)[:0]
	for k, r := range b.refs {
		if t.ins[r].Op() != opSum && !nodes[k].gone {
			b.n = t.size(r)
			b.arguments(r, &nodes[k])
		}
	}
	for k, r := range b.refs {
		switch o := &nodes[k]; {
		case b.alongs && p.sumsAlong(r, b.full):
			b.sumAlong(r, o.args[0])
		case t.ins[r].Op() == opSum:
			b.sums = append(b.sums, sumOf{r, b.where[o.args[0]], t.counts(p.same[t.Args(r)[0]])})
			// the slot stays taken to the end of the tile
		case o.gone || b.where[r] != nowhere: // done, as part or twin of another
		default:
			b.operation(k, o)
		}
	}
	b.layTiles()
	b.turnFirst()
	b.edges = b.findEdges()
	if b.single {
		b.places()
		b.plain = b.link32(t.desk)
	} else {
		b.plain = b.link(t.desk, b.code)
	}
	return b.tileProgram
}

// finished leaves the scratch as it was found.
func (b *tileBuilder) finished() {
	sc := b.tileScratch
	for _, r := range sc.touched {
		sc.where[r], sc.reads[r], sc.joins[r], sc.twins[r] = 0, 0, 0, 0
	}
	sc.touched = sc.touched[:0]
	*b = tileBuilder{free: b.free, dying: b.dying, held: b.held, whole: b.whole}
}

func (b *tileBuilder) touch(r Ref) {
	if b.where[r] == 0 && b.reads[r] == 0 {
		b.where[r] = nowhere
		b.touched = append(b.touched, r)
	}
}

// isHere reports whether the program makes r.
func (b *tileBuilder) isHere(r Ref) bool {
	return b.p.home[r] == b.index || b.p.steps[b.index].makesAgain(r)
}

// lives reports whether somebody else reads r.
func (b *tileBuilder) lives(r Ref) bool { return b.keep[r] || b.last[r] > b.index }

// slot is a slot that is free.
func (b *tileBuilder) slot() int32 {
	if n := len(b.free); n > 0 {
		x := b.free[n-1]
		b.free = b.free[:n-1]
		return x
	}
	b.slots++
	return int32(b.slots - 1)
}

// inMemory is the place of what is read or written where it is.
func (b *tileBuilder) inMemory(r Ref) int32 {
	b.direct = append(b.direct, r)
	return int32(-len(b.direct))
}

// result is the place for r.
func (b *tileBuilder) result(r Ref) int32 {
	switch {
	case b.alongs && b.p.inWindow(r):
		b.windows = append(b.windows, r)
		return b.inMemory(r)
	case !b.lives(r):
		return b.slot()
	}
	if b.single && !b.p.narrow[r] {
		b.stores = append(b.stores, store{r, b.slot()}) // wants its slot to the end
		d := b.stores[len(b.stores)-1].slot
		if b.keep[r] {
			b.kept = append(b.kept, sumOf{ref: r, arg: d})
		}
		return d
	}
	d := b.inMemory(r)
	if b.keep[r] && !b.single {
		b.kept = append(b.kept, sumOf{ref: r, arg: d})
	} else if n := len(b.dying); n > 0 {
		for len(b.over) < len(b.direct) {
			b.over = append(b.over, None)
		}
		b.over[len(b.direct)-1], b.dying = b.dying[n-1], b.dying[:n-1]
	}
	return d
}

// done notes that a has been read once more.
func (b *tileBuilder) done(a Ref) {
	if a == None {
		return
	}
	if b.reads[a]--; b.reads[a] > 0 || b.lives(a) {
		return
	}
	p, where := b.p, b.where[a]
	if b.isHere(a) && where >= 0 {
		b.free = append(b.free, where)
	} else if p.steps[b.index].slide == nil && p.home[a] < b.index && where < 0 && p.slot[a] >= 0 && !p.narrow[a] && !p.view[p.slot[a]] && !b.seen[a] && !b.single && !slices.Contains(b.held, a) {
		b.dying = append(b.dying, a)
	}
}

// arguments gives places to what r, a node, reads from outside the group. Those that
// broadcast keep their slots: a number is filled in once for all tiles.
func (b *tileBuilder) arguments(r Ref, o *node) {
	p, t := b.p, b.p.t
	for _, a := range o.args[:o.n] {
		if a == None {
			o.slot = b.number(o.num, b.slot)
			continue
		}
		if b.where[a] != nowhere || b.isHere(a) {
			continue
		}
		same := t.sameLayout(a, r)
		switch {
		case p.panes(a) != nil:
			b.where[a] = b.moves(a, r)
		case b.single && !t.exact(a):
			b.where[a] = wideBase + int32(len(b.wides))
			b.wides = append(b.wides, wide{ref: a, sp: t.spreadOf(a, r), one: t.single(a)})
		case b.single && same && !p.narrow[a]:
			b.where[a] = b.slot()
			b.load(load{ref: a, slot: b.where[a], whole: true})
		case same:
			b.where[a] = b.inMemory(a)
		default:
			b.spread(a, r)
		}
	}
}

// moves gives a place to an argument that is read where it lies.
func (b *tileBuilder) moves(a, r Ref) int32 {
	lay := b.p.layoutOf(a, r)
	for _, w := range lay.panes {
		b.held = append(b.held, w.ref)
	}
	if sp := lay.spread(); sp != nil && !b.single && !b.p.inWindow(lay.panes[0].ref) {
		return b.spreadOut(load{ref: lay.panes[0].ref, slot: b.slot(), sp: sp}, r)
	}
	if b.single && !b.p.t.exact(a) {
		w := wide{ref: a, lay: lay}
		for _, o := range b.wides {
			if o.lay != nil {
				w.first = o.first + len(o.lay.panes)
			}
		}
		b.wides = append(b.wides, w)
		return wideBase + int32(len(b.wides)) - 1
	}
	first := 0
	for i := range b.tileProgram.moved {
		m := &b.tileProgram.moved[i]
		if m.lay.equal(lay) {
			return int32(-1 - m.place)
		}
		first = m.first + len(m.lay.panes)
	}
	place := b.inMemory(None)
	b.tileProgram.moved = append(b.tileProgram.moved, movedArg{a, int(-1 - place), b.slot(), lay, first})
	return place
}

// spread gives a place to an argument that broadcasts to the space of r.
func (b *tileBuilder) spread(a, r Ref) {
	t := b.p.t
	l := load{ref: a, slot: b.slot()}
	if t.single(a) {
		l.num, l.known = t.constant(a)
	} else {
		if l.sp = t.spreadOf(a, r); l.sp == nil { // only ones differ: the same layout
			if !b.single || b.p.narrow[a] {
				b.free = append(b.free, l.slot)
				b.where[a] = b.inMemory(a)
				return
			}
			l.whole = true
		}
	}
	b.where[a] = b.spreadOut(l, r)
}

// spreadOut is the place of a load of the space of r.
func (b *tileBuilder) spreadOut(l load, r Ref) int32 {
	if l.sp != nil {
		k := len(l.sp.dims) - 1
		if k == 1 && l.sp.strides[0] == 0 && l.sp.strides[1] == 1 {
			l.turn = l.sp.dims[1]
		}
		l.cycle = l.sp.cycle()
		if !b.single && !b.p.t.maySteady(r) && k == 1 && l.sp.strides[0] == 1 && l.sp.strides[1] == 0 {
			l.each = l.sp.dims[1]
		}
		switch {
		case l.cycle > 0:
		case l.sp.strides[k] == 0 && l.sp.dims[k] >= tileSize:
			l.still = l.sp.dims[k]
		case !b.single && l.sp.repeatsRows():
			l.row, l.still = l.sp.dims[k], l.sp.dims[k]*l.sp.dims[k-1]
		}
	}
	b.load(l)
	return l.slot
}

// load notes a load. What is whole is loaded where it is read first.
func (b *tileBuilder) load(l load) {
	b.loads = append(b.loads, l)
	if l.whole {
		for int(l.slot) >= len(b.whole) {
			b.whole = append(b.whole, 0)
		}
		b.whole[l.slot] = int32(len(b.loads))
	}
}

// readsWhole writes the load of an argument of float32, if it is to come.
func (b *tileBuilder) readsWhole(arg int32) {
	if arg >= 0 && int(arg) < len(b.whole) && b.whole[arg] > 0 {
		b.code = append(b.code, micro{op: opCopy, single: kernels.Narrow, dst: arg, arg: [3]int32{wholeBase + b.whole[arg] - 1}})
		b.whole[arg] = 0
	}
}

// stored writes the stores of what has been made.
func (b *tileBuilder) stored() {
	for ; b.written < len(b.stores); b.written++ {
		b.code = append(b.code, micro{op: opCopy, single: kernels.Widen, dst: storeBase + int32(b.written), arg: [3]int32{b.stores[b.written].slot}})
	}
}

// operation writes node k of the step.
func (b *tileBuilder) operation(k int, o *node) {
	r := b.refs[k]
	in := &b.p.t.ins[r]
	m := micro{op: o.op, pair: o.pair, links: o.links, float32: in.dtype == tensor.Float32}
	if w := b.twinOf(k); w != None && (!m.float32 || b.single) {
		b.twin(m, o.args[0], r, w)
		return
	}
	if b.single {
		m.single = singles.get()[in.Op().Name]
	}
	for i, a := range o.args[:o.n] {
		if a == None {
			m.arg[i] = o.slot
		} else if m.arg[i] = b.where[a]; m.arg[i] >= wideBase {
			m.single = nil
		}
		b.readsWhole(m.arg[i])
	}
	first := o.n
	if o.pair != nil {
		first = 2 // what is read second must not be overwritten at first
	}
	for _, a := range o.args[:first] {
		b.done(a)
	}
	m.dst = b.result(r)
	b.where[r] = m.dst
	for _, a := range o.args[first:o.n] {
		b.done(a)
	}
	b.code = append(b.code, m)
	b.stored()
}

// twin writes r and w, which are computed together from x.
func (b *tileBuilder) twin(m micro, x, r, w Ref) {
	op := b.p.t.ins[r].Op()
	var dst [2]int32
	for i, y := range []Ref{r, w} {
		dst[i] = b.result(y)
		b.where[y] = dst[i]
	}
	m.arg[0], m.both = b.where[x], *op.Twin.both
	if b.single && m.arg[0] < wideBase {
		m.single, m.twin = singles.get()["twin "+min(op.Name, op.Twin.with)], true
	}
	m.dst, m.dst2 = dst[0], dst[1]
	if !op.Twin.first {
		m.dst, m.dst2 = dst[1], dst[0]
	}
	b.readsWhole(m.arg[0])
	b.code = append(b.code, m)
	b.stored()
	b.done(x)
	b.done(x)
}

// pair links instructions of the step that have one argument and may have a twin.
func (b *tileBuilder) pair() {
	t := b.p.t
	b.later = grown(b.later, len(b.refs))
	for k := len(b.refs) - 1; k >= 0; k-- {
		if r := b.refs[k]; t.ins[r].Op().Twin.both != nil {
			x := b.p.same[t.Args(r)[0]]
			b.later[k], b.twins[x] = b.twins[x], int32(k+1)
		}
	}
}

// twinReach is how far apart twins are computed together: the second one has a slot from
// the first one on.
const twinReach = 256

// twinOf finds, among later instructions of the step, the one that is computed along
// with the k-th: None for none.
func (b *tileBuilder) twinOf(k int) Ref {
	t := b.p.t
	w := &t.ins[b.refs[k]].Op().Twin
	if w.both == nil {
		return None
	}
	for i := b.later[k]; i != 0 && int(i-1)-k <= twinReach; i = b.later[i-1] {
		if o := b.refs[i-1]; t.ins[o].Op().Name == w.with {
			return o
		}
	}
	return None
}
