package tape

import (
	"maps"
	"slices"

	"nabla/expr"
	"nabla/kernels"
)

// Where values of the body are large, a step is the run of a plan (plan.go): tiles that stay
// in L1, kernels, threads, as for a program without loops. The plan is made once. What a step
// hands on is written to where the next one reads it: what is kept for the way back, to its
// column. What no step changes is computed before the first.

// plannedFrom is the size of a value from which on the steps of its loop are planned: at 65
// numbers a planned step took 0.8 times as long as its code, at 1000 0.4 to 0.5 times. Tests
// set it low.
var plannedFrom = 65

// A plannedStep is a body as a plan. Its tape is a copy of the body's, with the same Refs,
// in which placeholders are known: it serves one run at a time.
type plannedStep struct {
	l    *loop
	t    *Tape
	once *Plan // what does not change from step to step; nil when there is nothing
	each *Plan
	cond *Plan // the condition of a while loop

	shared []Ref        // results of once that each reads
	ins    []Ref        // placeholders of large values that plans read, and such results
	loads  []plannedRow // that are pieces of arrays
	ends   []plannedEnd // results: next, outs, then what is added to sums

	carried int64 // numbers of room for what is carried
}

// A plannedRow is an element or a row of an array at the index plus off.
type plannedRow struct {
	r          Ref
	array, off int
}

// A plannedEnd is a result of a step.
type plannedEnd struct {
	r     Ref  // what computes it
	whole bool // it can be computed where it is wanted,
	over  bool // a carried value even where it was before
}

// planned reports whether the steps of l are to be planned.
func (l *loop) planned(extra ...Ref) bool {
	for r, on := range l.body.live(l.wanted(extra...)) {
		if on && !slices.Contains(l.arrays, Ref(r)) && l.body.size(Ref(r)) >= plannedFrom {
			return true
		}
	}
	return false
}

// rowNames are the derivatives that have many rows.
var rowNames = []string{"jacobian", "batch_jacobian", "hessian"}

// asksForRows reports whether there may be derivatives with many rows of what is recorded.
// The plan of a step does one row at a time, where steps on the tape do many.
func (lo *lowering) asksForRows() bool {
	rows := lo.rows
	expr.Walk(lo.prog, func(n any) bool {
		x, ok := n.(*expr.Name)
		rows = rows || ok && slices.Contains(rowNames, x.Name)
		return !rows
	})
	return rows
}

// wanted are what a step computes for others: next, outs, extra, then what is added, and where.
func (l *loop) wanted(extra ...Ref) []Ref {
	want := slices.Concat(l.next, l.outs, extra)
	for _, a := range l.adds {
		want = append(want, a.value, a.at)
	}
	return want
}

// plan makes the plans of l's steps. A while loop has a condition, which comes first.
func (l *loop) plan(limit int64, cond Ref) *plannedStep {
	want := l.wanted()
	if cond != None {
		want = append(want, cond)
	}
	body := l.body
	live := body.live(want)
	s := &plannedStep{l: l, t: New()}
	t := s.t
	t.ins = slices.Clone(body.ins[:len(live)])
	t.more, t.shapes, t.attrs = slices.Clip(body.more), slices.Clip(body.shapes), slices.Clip(body.attrs)
	t.num, t.big = slices.Clone(body.num), maps.Clone(body.big)
	t.num = append(t.num, make([]float64, max(0, len(t.ins)-len(t.num)))...)
	t.DType, t.Limit = body.DType, limit
	if s.shared = s.invariant(live, want); len(s.shared) > 0 {
		s.once = t.plan(s.shared)
		s.slots(s.once)
		for _, r := range s.shared {
			s.given(r)
		}
	}
	if cond != None {
		s.cond = t.plan([]Ref{cond})
		s.slots(s.cond)
	}
	s.each = t.plan(l.wanted())
	taken := map[Ref]bool{}
	for _, r := range l.wanted() {
		r = s.each.same[r]
		k := s.each.slot[r]
		e := plannedEnd{r: r, whole: k >= 0 && s.each.home[r] >= 0 && !s.each.view[k] && !s.each.narrow[r] && !taken[r]}
		taken[r] = true
		s.ends = append(s.ends, e)
	}
	for k, c := range l.carry {
		e := &s.ends[k]
		e.over = e.whole && s.takesOver(e.r, c)
		if s.carried += int64(body.size(c)); !e.over {
			s.carried += int64(body.size(c))
		}
	}
	s.slots(s.each)
	return s
}

// given makes r a leaf, whose value is set before a plan runs.
func (s *plannedStep) given(r Ref) {
	s.t.ins[r].flags |= flagKnown | flagGiven
	if !s.t.single(r) {
		s.ins = append(s.ins, r)
	}
}

// invariant makes leaves of what a step is given, and lists what no step changes of all that
// steps read and want.
func (s *plannedStep) invariant(live []bool, want []Ref) (shared []Ref) {
	t, l := s.t, s.l
	varies := make([]bool, len(live))
	change := func(r Ref) {
		if r != None && int(r) < len(varies) {
			varies[r] = true
		}
	}
	for i, c := range l.carry {
		if l.next[i] != c {
			change(c)
		}
	}
	for _, c := range l.columns {
		change(c)
	}
	change(l.index)
	for i, on := range live {
		r := Ref(i)
		switch op := t.ins[r].Op(); {
		case !on || t.known(r):
		case op == opSlot:
			s.given(r)
		case op == opLoad && s.isRow(r):
			s.given(r)
			change(r)
		default:
			varies[r] = slices.ContainsFunc(t.Args(r), func(a Ref) bool { return varies[a] })
		}
	}
	fixed := func(r Ref) {
		if !varies[r] && !t.known(r) {
			shared = append(shared, r)
		}
	}
	for r, on := range live {
		if on && varies[r] && !t.known(Ref(r)) {
			for _, a := range t.Args(Ref(r)) {
				fixed(a)
			}
		}
	}
	for _, r := range want {
		fixed(r)
	}
	slices.Sort(shared)
	return slices.Compact(shared)
}

// takesOver reports whether r can be written over c, which a step is given: the tile program
// of r reads c last, number by number, before it writes r there.
func (s *plannedStep) takesOver(r, c Ref) bool {
	t, p := s.t, s.each
	if t.size(r) != t.size(c) || slices.ContainsFunc(s.ends, func(e plannedEnd) bool { return e.r == c }) {
		return false
	}
	last := p.home[r]
	tp := p.steps[last].tile
	if tp == nil || tp.single {
		return false
	}
	for _, y := range p.order {
		for _, a := range t.Args(y) {
			if p.same[a] == c && (p.home[y] > last || p.slot[y] >= 0 && p.view[p.slot[y]]) {
				return false
			}
		}
	}
	to, from := -1-int32(slices.Index(tp.direct, r)), -1-int32(slices.Index(tp.direct, c))
	if from == 0 { // it is spread, or not read there at all
		return !slices.ContainsFunc(tp.loads, func(l load) bool { return l.ref == c })
	}
	written := false
	for i := range tp.code {
		m := &tp.code[i]
		reads := slices.Contains(m.arg[:], from)
		switch writes := m.dst == to || m.both != nil && m.dst2 == to; {
		case reads && (written || writes && (m.both != nil || m.pair != nil && m.arg[2] == from)):
			return false
		case writes:
			written = true
		}
	}
	return true
}

// slots gives what comes from outside slots in a plan.
func (s *plannedStep) slots(p *Plan) {
	for _, r := range s.ins {
		if int(r) < len(p.slot) {
			p.slot[r] = int32(p.slots)
			p.view = append(p.view, true)
			p.slots++
		}
	}
}

// isRow notes a load whose place moves with the index.
func (s *plannedStep) isRow(r Ref) bool {
	args := s.l.body.Args(r)
	off, ok := s.l.affine(args[0])
	if ok {
		s.loads = append(s.loads, plannedRow{r: r, array: slices.Index(s.l.arrays, args[1]), off: off})
	}
	return ok
}

// A plannedRun is one run of a loop whose steps are planned.
type plannedRun struct {
	*plannedStep
	runs  []*execution // of once, cond and each
	each  *execution
	cond  *execution
	carry [][]float64    // what is carried into the step
	room  [2][][]float64 // where carried values are by turns, where nothing else keeps them
	to    [][]float64    // by end: where it is wanted
}

// begin takes what no step changes. The value of a loop keeps carried values where kept has
// their column: it has no room of its own.
func (s *plannedStep) begin(carry, consts, arrays [][]float64, threads int, check func()) *plannedRun {
	s.t.check = check
	x := &plannedRun{plannedStep: s, carry: slices.Clone(carry), to: make([][]float64, len(s.ends))}
	for _, p := range []*Plan{s.once, s.cond, s.each} {
		if p == nil {
			continue
		}
		e := newExecution(p)
		if e.workers = threads; p == s.cond {
			x.cond = e
		}
		x.runs, x.each = append(x.runs, e), e
	}
	for i, c := range s.l.consts {
		x.set(c, consts[i])
	}
	for i, a := range s.l.arrays {
		x.set(a, arrays[i])
	}
	for i, c := range s.l.carry {
		x.set(c, carry[i])
	}
	if s.once != nil {
		once := x.runs[0]
		once.run()
		for _, r := range s.shared {
			x.set(r, once.data(s.once.same[r]))
		}
	}
	return x
}

// set says what a placeholder is.
func (x *plannedRun) set(r Ref, v []float64) {
	if int(r) >= len(x.t.ins) {
		return // of no use
	}
	if x.t.single(r) {
		x.t.num[r] = v[0]
		return
	}
	for _, e := range x.runs {
		if int(r) < len(e.p.slot) && e.p.slot[r] >= 0 && e.p.home[r] < 0 {
			e.free(e.p.slot[r])
			e.mem[e.p.slot[r]] = v
		}
	}
}

// enter sets what the step after i others reads.
func (x *plannedRun) enter(i int, columns, arrays [][]float64) {
	l, row := x.l, x.l.step(i)
	if l.index != None && int(l.index) < len(x.t.num) {
		x.t.num[l.index] = l.from + l.by*float64(l.first+row)
	}
	for k, c := range l.columns {
		size := l.body.size(c)
		x.set(c, columns[k][row*size:(row+1)*size])
	}
	for k := range x.loads {
		p := &x.loads[k]
		v := rowOf(arrays[p.array], l.body.size(p.r), float64(l.placeAt(row)+p.off))
		x.set(p.r, v)
	}
	for k, c := range l.carry {
		if l.next[k] != c {
			x.set(c, x.carry[k])
		}
	}
}

// placeAt is the index, a whole number, at a step.
func (l *loop) placeAt(step int) int { return int(l.from) + int(l.by)*(l.first+step) }

// rowOf is the element, or the row, of so many numbers of an array.
func rowOf(array []float64, row int, at float64) []float64 {
	k := elementOf(len(array)/row, at, -1)
	return array[k*row : (k+1)*row]
}

// runLoad is a load whose place is computed.
func runLoad(c *run) { copy(c.out, rowOf(c.args[1], len(c.out), c.args[0][0])) }

// step runs the step, its results to where they are wanted.
func (x *plannedRun) step() {
	e := x.each
	for k := range x.ends {
		if end := &x.ends[k]; end.whole && x.to[k] != nil {
			e.mem[e.p.slot[end.r]] = x.to[k]
		}
	}
	e.run()
	for k := range x.ends {
		if end := &x.ends[k]; x.to[k] != nil && !end.whole {
			copy(x.to[k], e.data(end.r))
		}
	}
}

// leave carries on what the step has computed, and frees the rest.
func (x *plannedRun) leave() {
	e := x.each
	for k := range x.carry {
		if x.to[k] != nil {
			x.carry[k] = x.to[k]
		}
	}
	for k := range x.ends {
		end := &x.ends[k]
		slot := e.p.slot[end.r]
		if slot < 0 || e.p.home[end.r] < 0 {
			continue
		}
		if end.whole && x.to[k] != nil {
			e.mem[slot] = nil
		}
		e.free(slot)
	}
}

// own is room for carried value k after step i.
func (x *plannedRun) own(k, i int) []float64 {
	if x.ends[k].over {
		i = 0
	}
	if x.room[i&1] == nil {
		x.room[i&1] = make([][]float64, len(x.carry))
	}
	v := &x.room[i&1][k]
	if *v == nil {
		*v = arena64.take(x.l.body.size(x.l.carry[k]))
	}
	return *v
}

// end gives all memory back.
func (x *plannedRun) end() {
	for _, e := range x.runs {
		e.recycle()
		e.release()
	}
	for _, room := range x.room {
		for _, v := range room {
			arena64.give(v)
		}
	}
	x.t.check = nil
}

// run runs all steps of loop instruction c.
func (s *plannedStep) run(c *run, sums [][]float64) {
	l, body := s.l, s.l.body
	carry, consts, arrays := l.split(c.args)
	columns := l.columnsOf(c.args)
	x := s.begin(carry, consts, arrays, c.threads, c.t.check)
	kept := make([]int, len(l.carry)) // the column that keeps a carried value
	written := make([]bool, len(l.outs))
	for k, r := range l.carry {
		if kept[k] = slices.Index(l.outs, r); kept[k] >= 0 && l.next[k] != r {
			written[kept[k]] = true
		}
	}
	column := func(k, i int) []float64 {
		at, size := l.outAt(k), body.size(l.outs[k])
		return c.out[at+l.step(i)*size:][:size:size]
	}
	for k, j := range kept {
		if j >= 0 && written[j] {
			copy(column(j, 0), carry[k])
		}
	}
	i := 0
	defer func() {
		if p := recover(); p != nil {
			if b, ok := p.(*badLoad); ok && b.step < 0 {
				b.step = l.step(i)
			}
			panic(p)
		}
	}()
	m := len(l.next)
	for ; i < l.n; i++ {
		x.enter(i, columns, arrays)
		for k, r := range l.carry {
			switch {
			case l.next[k] == r:
				x.to[k] = nil
			case i == l.n-1:
				x.to[k] = c.out[l.nextAt(k):l.nextAt(k+1)]
			case kept[k] >= 0:
				x.to[k] = column(kept[k], i+1)
			default:
				x.to[k] = x.own(k, i)
			}
		}
		for k := range l.outs {
			if x.to[m+k] = nil; !written[k] {
				x.to[m+k] = column(k, i)
			}
		}
		x.step()
		for k, a := range l.adds {
			ends := x.ends[m+len(l.outs)+2*k:]
			v := x.each.data(ends[0].r)
			kernels.Accumulate(rowOf(sums[a.sum], len(v), x.each.data(ends[1].r)[0]), v)
		}
		x.leave()
	}
	for k, r := range l.carry {
		if l.next[k] == r {
			copy(c.out[l.nextAt(k):], carry[k])
		}
	}
	x.end()
}

// count runs a while loop to find its number of steps.
func (s *plannedStep) count(carry, consts, arrays [][]float64, threads int, check func()) int {
	l := s.l
	x := s.begin(carry, consts, arrays, threads, check)
	defer x.end()
	for n := 0; n < mostSteps; n++ {
		x.enter(n, nil, arrays)
		x.cond.run()
		again := x.cond.data(s.cond.same[s.cond.outs[0]])[0] != 0
		if !again {
			return n
		}
		for k, r := range l.carry {
			if x.to[k] = nil; l.next[k] != r {
				x.to[k] = x.own(k, n)
			}
		}
		x.step()
		x.leave()
	}
	panic(endless())
}

// counter is what finds the number of steps of a while loop.
func (l *loop) counter(cond Ref, t *Tape) func(carry, consts, arrays [][]float64) int {
	if l.planned(cond) {
		s := l.plan(t.Limit, cond)
		return func(carry, consts, arrays [][]float64) int {
			return s.count(carry, consts, arrays, t.threads(), t.check)
		}
	}
	codes := codesOf(l.compile(false, cond))
	return func(carry, consts, arrays [][]float64) int { return codes.count(carry, consts, arrays, t.check) }
}

// cost is how many operations on numbers a step has.
func (l *loop) cost(limit int64) float64 {
	if s := l.steps(limit); s != nil {
		defer l.codes.give(s)
		return s.each.flops
	}
	return float64(l.code(0).ops)
}

// room is how many bytes a run of the loop takes.
func (l *loop) room(limit int64) int64 {
	s := l.steps(limit)
	if s == nil {
		return 8 * int64(l.code(0).size)
	}
	defer l.codes.give(s)
	bytes := s.each.peak + 8*s.carried
	if s.once != nil {
		bytes += s.once.peak
	}
	return bytes
}
