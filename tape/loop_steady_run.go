package tape

import (
	"slices"
	"unsafe"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// A steadyRun is a run of steady steps. In its table of pointers a value has its place by its
// slot; then come those of numbers, of parts of values, of results that are copied, and for
// each tile program those of its operands and slots.
type steadyRun struct {
	*steadyStep
	x    *plannedRun
	out  []float64 // of the loop
	kept []int     // by carried value: the column that keeps it, or -1
	room []float64
	now  []int // by carried value: at which of its turns it is

	at      []unsafe.Pointer
	where   [][]steadyPlace       // by slot: where in the table it is
	numbers map[Ref]int           // where numbers are
	beside  map[Ref][]steadyPlace // where else they are
	in      []steadyIn            // columns, loads, what is ahead, carried values, then the index
	given   []steadyIn            // those of them that are numbers
	index   []float64             // its values in the steps at work
	to      []int                 // by end: where in the table its copy is, or -1
	goals   [][][]steadyPlace     // by end: the places of it
	tiles   []*steadyTile
	calls   []kernels.RepeatedCall
	inGo    []func(done int) // by call: it, from an element on
	moves   []kernels.Move
	most    int // steps before somebody looks whether to stop
}

// A steadyPlace is a place in the table, for what begins off numbers into a value.
type steadyPlace struct{ at, off int }

// A steadyIn is a placeholder and where it is: its slot, or its place in the table, or -1.
type steadyIn struct {
	r        Ref
	slot, at int
}

// stepFlops is how many operations run before somebody looks whether to stop: a tenth of a
// millisecond.
const stepFlops = 1 << 21

// steadily is how steps run to out: as in the run before, or found out now.
func (x *plannedRun) steadily(out []float64, kept []int) *steadyRun {
	y := x.steady
	if y != nil && y.isStale() {
		y.end()
		y = nil
	}
	if y == nil {
		y = x.settled.begin(x, kept)
		x.steady = y
	}
	y.out = out
	clear(y.now)
	y.fill()
	return y
}

// begin settles what does not depend on where values of this run are.
func (x *steadyStep) begin(run *plannedRun, kept []int) *steadyRun {
	p := x.p
	y := &steadyRun{steadyStep: x, x: run, kept: kept, room: arena64.take(x.size), now: make([]int, len(kept)), numbers: map[Ref]int{}, beside: map[Ref][]steadyPlace{}}
	y.most = max(1, min(mostRows, int(stepFlops/max(1, p.flops))))
	y.at = make([]unsafe.Pointer, p.slots, 4*p.slots+32)
	y.where = make([][]steadyPlace, p.slots)
	const most = 4 // places of most values
	places := make([]steadyPlace, most*p.slots)
	for k := range y.where {
		y.where[k] = append(places[most*k:most*k:most*(k+1)], steadyPlace{k, 0})
	}
	y.calls, y.inGo = make([]kernels.RepeatedCall, 0, 2*len(p.steps)), make([]func(int), 0, 2*len(p.steps))
	y.takeIn()
	for i := range p.steps {
		switch st := &p.steps[i]; {
		case x.waits[i]:
		case x.tiles[i] != nil:
			y.tile(x.tiles[i])
		case st.kind == stepNumbers:
			y.onNumbers(st.refs)
		case !slices.Contains(x.gone, st.refs[0]):
			for _, r := range st.refs {
				y.one(r)
			}
		}
	}
	y.copyOut()
	y.settle()
	return y
}

// isStale reports whether a tile program has become machine code meanwhile.
func (y *steadyRun) isStale() bool {
	return slices.ContainsFunc(y.tiles, func(w *steadyTile) bool { return y.codeOf(w.tp) != w.code })
}

// codeOf is the code of a tile program for the steps of one more run.
func (y *steadyRun) codeOf(tp *tileProgram) *tileCode {
	return tp.linkedFor(int64(tp.n) * int64(y.x.l.n))
}

// leave forgets where values were that Go computed.
func (y *steadyRun) leave() {
	for _, r := range y.p.order {
		if k := y.p.slot[r]; k >= 0 {
			y.x.each.mem[k] = nil
		}
	}
}

// end gives memory back.
func (y *steadyRun) end() {
	for _, w := range y.tiles {
		arena64.give(w.slots)
	}
	arena64.give(y.room)
}

// newPlaces are n more places in the table.
func (y *steadyRun) newPlaces(n int) int {
	at := len(y.at)
	y.at = append(y.at, make([]unsafe.Pointer, n)...)
	return at
}

// number is the place of a number: where the tape has it, if no step is given it elsewhere.
func (y *steadyRun) number(r Ref) int {
	at, ok := y.numbers[r]
	if !ok {
		at = y.newPlaces(1)
		y.at[at], y.numbers[r] = unsafe.Pointer(&y.p.t.num[r]), at
	}
	return at
}

// part is the place of r from its element off on.
func (y *steadyRun) part(r Ref, off int) int {
	if y.p.t.single(r) {
		return y.number(r)
	}
	if k := y.p.slot[r]; k >= 0 && off == 0 {
		return int(k)
	}
	at := y.newPlaces(1)
	y.lies(at, r, off)
	return at
}

// lies makes a place one of r, from its element off on.
func (y *steadyRun) lies(at int, r Ref, off int) {
	switch k := y.p.slot[r]; {
	case y.p.t.single(r):
		y.at[at] = unsafe.Pointer(&y.p.t.num[r])
		y.beside[r] = append(y.beside[r], steadyPlace{at, 0})
	case k < 0:
		y.at[at] = unsafe.Pointer(&y.p.t.big[r][off])
	default:
		y.where[k] = append(y.where[k], steadyPlace{at, off})
	}
}

// value is what is in the table at a place.
func (y *steadyRun) value(at, size int) []float64 {
	return unsafe.Slice((*float64)(y.at[at]), size)
}

// valueOf is the value of r, which is no number.
func (y *steadyRun) valueOf(r Ref) []float64 {
	if k := y.p.slot[r]; k >= 0 {
		return y.value(int(k), y.p.t.size(r))
	}
	return y.p.t.big[r]
}

// call notes a call that can be done in Go, too.
func (y *steadyRun) call(do func(done int), call kernels.RepeatedCall) {
	y.calls, y.inGo = append(y.calls, call), append(y.inGo, do)
}

// goes notes what only Go can do.
func (y *steadyRun) goes(do func()) { y.call(y.withNumbers(do), kernels.RepeatedCall{}) }

// withNumbers does what reads numbers from the tape.
func (y *steadyRun) withNumbers(do func()) func(done int) {
	return func(int) {
		for _, v := range y.given {
			y.p.t.num[v.r] = *(*float64)(y.at[v.at])
		}
		do()
	}
}

// takeIn finds what each step is given.
func (y *steadyRun) takeIn() {
	x, p, t := y.x, y.p, y.p.t
	in := func(r Ref) {
		v := steadyIn{r, -1, -1}
		switch {
		case !p.reads(r) && !slices.Contains(p.outs, r):
		case t.single(r):
			v.at = y.newPlaces(1)
			y.numbers[r] = v.at
			y.given = append(y.given, v)
		default:
			v.slot = int(p.slot[r])
		}
		y.in = append(y.in, v)
	}
	for _, k := range x.plannedStep.columns {
		in(x.l.columns[k])
	}
	for i := range x.loads {
		in(x.loads[i].r)
	}
	for _, r := range x.block.given {
		in(r)
	}
	for k, c := range x.l.carry {
		if x.ends[k].r == None {
			y.in = append(y.in, steadyIn{c, -1, -1})
		} else {
			in(c)
		}
	}
	if x.l.index != None {
		if in(x.l.index); y.in[len(y.in)-1].at >= 0 {
			y.index = make([]float64, y.most)
		}
	}
}

// copyOut copies results that are not computed where they are wanted.
func (y *steadyRun) copyOut() {
	x := y.x
	for k := range x.ends {
		at := -1
		if r := x.ends[k].r; r != None && len(y.ends[k]) == 0 {
			at = y.newPlaces(1)
			y.copies(at, y.part(r, 0), y.p.t.size(r))
		}
		y.to = append(y.to, at)
	}
}

// onNumbers are operations on numbers: kernels do one element of each.
func (y *steadyRun) onNumbers(refs []Ref) {
	p, t, e := y.p, y.p.t, y.x.each
	for i, r := range refs {
		in := &t.ins[r]
		m := micro{op: in.Op(), dst: int32(y.number(r)), float32: in.dtype == tensor.Float32}
		for k, a := range t.Args(r) {
			m.arg[k] = int32(y.number(p.same[a]))
		}
		y.call(y.withNumbers(func() { e.numbers(refs[i : i+1]) }), m.call().Of(1, 0))
	}
}

// one is a structural instruction.
func (y *steadyRun) one(r Ref) {
	p, t, e := y.p, y.p.t, y.x.each
	if !t.single(r) && p.view[p.slot[r]] {
		return // settled with its argument
	}
	if i, left, ok := y.packed(r); ok {
		o, right := &y.x.rights.packed[i], &e.rights[i].wide
		to, from, rows := int(p.slot[r]), int(p.slot[left]), t.size(r)/o.n
		calls := right.Repeated(to, from, rows)
		for i, call := range calls {
			y.call(func(int) {
				right.Part(i, len(calls), y.value(to, rows*o.n), y.value(from, rows*o.k), rows)
			}, call)
		}
		return
	}
	if y.byParts(r) {
		return
	}
	var has []Ref
	for _, a := range append([]Ref{r}, t.Args(r)...) {
		if a = p.same[a]; !t.single(a) && p.slot[a] >= 0 {
			has = append(has, a)
		}
	}
	y.goes(func() {
		for _, a := range has {
			e.mem[p.slot[a]] = y.valueOf(a)
		}
		e.one(r)
	})
}

// packed is the packed operand of a product, and its other one, which has a slot.
func (y *steadyRun) packed(r Ref) (i int, left Ref, ok bool) {
	p, t, held := y.p, y.p.t, &y.x.rights
	if i, ok = held.right[r]; !ok || held.packed[i].single || t.ins[r].batch != 0 || t.single(r) {
		return 0, None, false
	}
	if left = p.same[t.Args(r)[0]]; held.column[r] {
		left = p.same[t.Args(r)[1]]
	} else if _, column := t.unitColumn(left); column {
		return 0, None, false
	}
	return i, left, !t.single(left) && p.slot[left] >= 0
}

// settle puts in the table what stays where it is: the room, and views with their arguments.
func (y *steadyRun) settle() {
	p, t := y.p, y.p.t
	for i := len(p.order) - 1; i >= 0; i-- { // a view is where its argument is
		r := p.order[i]
		k := p.slot[r]
		if k < 0 || !p.view[k] {
			continue
		}
		a, off := p.same[t.Args(r)[0]], 0
		if t.ins[r].Op() == opBlock {
			off = int(t.ins[r].args[1])
		}
		if p.slot[a] < 0 {
			y.lay(y.where[k], t.big[a], off, t.size(r))
			continue
		}
		for _, w := range y.where[k] {
			y.where[p.slot[a]] = append(y.where[p.slot[a]], steadyPlace{w.at, w.off + off})
		}
	}
	for _, r := range p.order {
		if k := p.slot[r]; k >= 0 && y.place[k] >= 0 {
			y.lay(y.where[k], y.room, y.place[k], t.size(r))
		}
	}
	for end, slots := range y.ends {
		var all [][]steadyPlace
		if at := y.to[end]; at >= 0 {
			all = append(all, []steadyPlace{{at, 0}})
		}
		for _, k := range slots {
			all = append(all, y.where[k])
		}
		y.goals = append(y.goals, all)
	}
}

// fill puts in the table what no step of this run changes, and what is carried into the first.
func (y *steadyRun) fill() {
	x := y.x
	for k, v := range x.each.mem {
		if len(v) > 0 {
			y.lay(y.where[k], v, 0, len(v))
		}
	}
	for _, w := range y.tiles {
		w.begin(y)
	}
	for k, at := range y.turns {
		if at >= 0 {
			copy(y.room[at:], x.carry[k])
		}
	}
}

// lay puts size numbers of v, from one on, to places.
func (y *steadyRun) lay(places []steadyPlace, v []float64, from, size int) {
	v = v[from : from+size]
	for _, w := range places {
		y.at[w.at] = unsafe.Pointer(&v[w.off])
	}
}
