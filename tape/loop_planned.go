package tape

import (
	"maps"
	"slices"
)

// Where values of the body are large, a step is the run of a plan (plan.go): tiles that stay
// in L1, kernels, threads, as for a program without loops. The plan is made once. What a step
// hands on is written to where the next one reads it: what is kept for the way back, to its
// column. What no step changes is computed before the first, and what steps do not wait for
// many steps at a time (loop_blocks.go).

// A plannedStep is a body as a plan. Its tape is a copy of the body's, with the same Refs,
// in which placeholders are known: it serves one run at a time.
type plannedStep struct {
	l    *loop
	t    *Tape
	once *Plan // what does not change from step to step; nil when there is nothing
	each *Plan // nil when no step waits for another
	cond *Plan // the condition of a while loop

	totals []total
	alone  bool // each step computes all that is its own
	block  stepBlock

	shared  []Ref        // results of once that others read
	ins     []Ref        // placeholders of large values that plans read, and such results
	columns []int        // that each reads
	loads   []plannedRow // that are pieces of arrays, and that each reads
	ends    []plannedEnd // results of each: next, outs, then what its block keeps
	rights  heldRights   // of each
	settled *steadyStep  // each, where its values are small; or nil

	carried int64       // numbers of room for what is carried
	spare   *plannedRun // a run that is over, for the next one; or nil
	ran     bool        // there was one
}

// mostSpare is how many numbers of room a run may have that is kept for the next one: there may
// be a hundred loops, as pieces of a long one, and where there are more numbers they take longer
// than finding out where each is. Gradients through a hundred steps of layers of 8 and 16 and of
// the heat equation on a ring of 100, asked again and again, took half to three quarters of the time.
// Of the first run memory is given back, as most loops run once: their gradients, asked anew, would
// take a tenth longer.
const mostSpare = 1 << 15

// A plannedRow is an element or a row of an array at the index plus off.
type plannedRow struct {
	r          Ref
	array, off int
}

// A plannedEnd is a result of a step.
type plannedEnd struct {
	r     Ref  // what computes it, or None where the step does not
	whole bool // it can be computed where it is wanted,
	over  bool // a carried value even where it was before
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
	s := &plannedStep{l: l}
	if cond == None {
		if len(l.body.axes) == 0 {
			s.totals = l.totals()
		}
		if s.isMoving() {
			s.alone, s.totals = true, nil
		}
	}
	want := s.results()
	if cond != None {
		want = append(want, cond)
	}
	body := l.body
	live := body.live(want)
	s.t = body.copied(len(live), limit)
	t := s.t
	var varies []bool
	if s.shared, varies = s.invariant(live, want); len(s.shared) > 0 {
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
	s.divide(live, varies)
	s.planEach(varies)
	return s
}

// copied is a copy of the first instructions of a body, so many, with the same Refs.
func (t *Tape) copied(n int, limit int64) *Tape {
	c := t.desk.another().open()
	c.ins = append(c.ins[:0], t.ins[:n]...)
	c.more, c.shapes, c.attrs = append(c.more[:0], t.more...), append(c.shapes[:0], t.shapes...), append(c.attrs[:0], t.attrs...)
	c.sets, c.axes = append(c.sets[:0], t.sets...), append(c.axes[:0], t.axes...)
	c.num = grown(c.num, max(n, len(t.num)))
	clear(c.num[copy(c.num, t.num):])
	if c.big == nil {
		c.big = make(map[Ref][]float64, len(t.big))
	}
	maps.Copy(c.big, t.big)
	c.DType, c.Limit, c.isStep = t.DType, limit, true
	return c
}

// planEach makes the plan of what runs in each step.
func (s *plannedStep) planEach(varies []bool) {
	t, l := s.t, s.l
	ends := s.endsOf()
	if want := slices.DeleteFunc(slices.Clone(ends), func(r Ref) bool { return r == None }); len(want) > 0 {
		s.each = t.plan(want)
	}
	taken := map[Ref]bool{}
	for _, r := range ends {
		e := plannedEnd{r: r}
		if r != None {
			e.r = s.each.same[r]
			k := s.each.slot[e.r]
			e.whole = k >= 0 && s.each.home[e.r] >= 0 && !s.each.view[k] && !s.each.narrow[e.r] && !taken[e.r]
			taken[e.r] = true
		}
		s.ends = append(s.ends, e)
	}
	for k, c := range l.carry {
		e := &s.ends[k]
		if e.r == None {
			continue
		}
		e.over = e.whole && s.takesOver(e.r, c)
		if s.carried += int64(l.body.size(c)); !e.over {
			s.carried += int64(l.body.size(c))
		}
	}
	for _, r := range s.block.kept {
		s.carried += int64(s.block.n * l.body.size(r))
	}
	if s.each == nil {
		return
	}
	s.slots(s.each)
	s.rights = s.each.heldRights(func(r Ref) bool { return !varies[r] })
	s.carried += s.rights.size()
	reads := func(r Ref) bool { return s.each.reads(r) || s.cond.reads(r) }
	for k, c := range l.columns {
		if reads(c) {
			s.columns = append(s.columns, k)
		}
	}
	s.loads = slices.DeleteFunc(s.loads, func(p plannedRow) bool { return !reads(p.r) })
	if s.settled = s.steady(); s.settled != nil {
		s.carried += int64(s.settled.size)
	}
}

// reads reports whether a plan, if there is one, reads leaf r.
func (p *Plan) reads(r Ref) bool { return p != nil && int(r) < len(p.live) && p.live[r] }

// given makes r a leaf, whose value is set before a plan runs.
func (s *plannedStep) given(r Ref) {
	s.t.ins[r].flags |= flagKnown | flagGiven
	if !s.t.single(r) {
		s.ins = append(s.ins, r)
	}
}

// invariant makes leaves of what a step is given, and lists what does not change from step to
// step of all that steps read and want.
func (s *plannedStep) invariant(live []bool, want []Ref) (shared []Ref, varies []bool) {
	t := s.t
	varies = s.l.varies(live)
	for i, on := range live {
		r := Ref(i)
		if !on || t.known(r) {
			continue
		}
		if op := t.ins[r].Op(); op == opSlot || op == opLoad && s.isRow(r) {
			s.given(r)
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
	return slices.Compact(shared), varies
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
	if tp == nil || tp.single || p.steps[last].slide != nil {
		return false
	}
	for _, y := range p.order {
		for _, a := range t.Args(y) {
			if p.same[a] == c && (p.home[y] > last || p.slot[y] >= 0 && p.view[p.slot[y]]) {
				return false
			}
			if p.home[y] >= last && slices.ContainsFunc(p.panes(p.same[a]), func(w pane) bool { return w.ref == c }) {
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
func (s *plannedStep) slots(p *Plan) { p.placeLeaves(s.ins) }

// placeLeaves gives leaves slots, in which their values are set before a run.
func (p *Plan) placeLeaves(leaves []Ref) {
	for _, r := range leaves {
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

// counter is what finds the number of steps of a while loop.
func (l *loop) counter(cond Ref, t *Tape) func(carry, consts, arrays [][]float64) int {
	planned := l.planned(cond)
	most := t.patience(l.stepWork(planned, cond))
	if planned {
		s := l.plan(t.Limit, cond)
		return func(carry, consts, arrays [][]float64) int {
			return s.count(carry, consts, arrays, most, t.threads(), t.check)
		}
	}
	codes := codesOf(l.compile(false, cond))
	return func(carry, consts, arrays [][]float64) int { return codes.count(carry, consts, arrays, most, t.check) }
}

// flops is how many operations on numbers all steps have.
func (l *loop) flops(limit int64) float64 { return float64(l.n) * l.cost(limit) }

// cost is how many operations on numbers a step has.
func (l *loop) cost(limit int64) float64 {
	if s := l.steps(limit); s != nil {
		defer l.codes.give(s)
		return s.flops()
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
	bytes := 8 * s.carried
	for _, p := range []*Plan{s.once, s.each, s.block.ahead, s.block.behind} {
		if p != nil {
			bytes += p.peak
		}
	}
	return bytes
}
