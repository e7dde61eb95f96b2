package tape

import (
	"cmp"
	"math"
	"slices"
)

// passFuse groups instructions into steps. The level of an elementwise instruction is
// that of its arguments in the same space, and one more than any other's; instructions
// of one level and one space are a group, and groups run by level. Forward and backward
// elementwise work over one shape, with no reduction between, is one group. A full sum
// joins the group of what it adds up, and so does one over the leading or the last axes. A chain is a group; phases follow one another. A loop
// that runs again for the way back has a level behind all before it.
func passFuse(p *Plan) {
	t := p.t
	f := fusing{Plan: p, level: t.desk.places.of(len(p.live)), top: -1}
	p.home = t.desk.places.of(len(p.live))
	for i := range p.home {
		p.home[i] = -1
	}
	p.steps = t.desk.steps.of(min(len(p.order)+len(p.chains), 256))[:0]
	for _, r := range p.byPhase() {
		f.add(r)
	}
	p.wait()
	p.linger()
	p.gather()
	p.sortSteps(f.top)
}

// A fusing is a plan while its steps are found.
type fusing struct {
	*Plan
	level      []int32
	latest     []int32  // by level: its elementwise group begun last, which names the one before
	floor, top int32    // levels of this phase begin at floor
	now        [2]int32 // this phase, and its chain
	exps       exponentials
	picks      map[Ref]*pickedSum
}

// add puts r into a step.
func (f *fusing) add(r Ref) {
	t := f.t
	if f.chains != nil {
		f.enter(f.phase[r], f.chain[r])
	}
	if f.now[1] != 0 {
		f.level[r], f.top = f.floor, f.floor
		f.join(r, int32(len(f.steps)-1))
		return
	}
	if f.picks == nil && f.mayPick(r) {
		f.picks = f.findPicked()
	}
	pick := f.picks[r]
	if pick != nil && r != pick.sum {
		return // in the step of the sum
	}
	elementwise := t.ins[r].Op().elementwise()
	closes := !elementwise && pick == nil && (f.closes(r) || f.closesAlong(r))
	lv := f.levelOf(r, pick, closes)
	f.level[r], f.top = lv, max(f.top, lv)
	switch {
	case elementwise:
		f.join(r, f.group(r, lv))
	case closes:
		f.join(r, f.home[f.same[t.Args(r)[0]]])
	case pick != nil:
		g := f.newStep(stepOne, lv)
		for _, part := range []Ref{pick.top, pick.product, r} {
			f.join(part, g)
			f.level[part] = lv
		}
	default:
		g := f.exps.beside(f.Plan, r, lv)
		if g < 0 {
			g = f.newStep(stepOne, lv)
			f.exps.note(f.Plan, r, g)
		}
		f.join(r, g)
	}
}

// enter begins another phase, if it is one: its levels are behind all before. A chain is one step.
func (f *fusing) enter(phase, chain int32) {
	if f.now == [2]int32{phase, chain} {
		return
	}
	f.now = [2]int32{phase, chain}
	f.floor = f.top + 1
	if chain != 0 {
		f.steps[f.newStep(stepChain, f.floor)].chain = f.chains[chain-1]
	}
}

// levelOf is the level of r, which may be the sum of what is picked, or close what it adds up.
func (f *fusing) levelOf(r Ref, pick *pickedSum, closes bool) int32 {
	t, lv := f.t, f.floor
	args := t.Args(r)
	if pick != nil {
		args = []Ref{t.Args(pick.top)[0], f.besides(pick.product, pick.top)}
	}
	elementwise := t.ins[r].Op().elementwise()
	for _, a := range args {
		a = f.same[a]
		for _, w := range f.panes(a) {
			if f.home[w.ref] >= 0 {
				lv = max(lv, f.level[w.ref]+1)
			}
		}
		if f.home[a] < 0 {
			continue
		}
		switch {
		case closes, elementwise && t.ins[a].Op().elementwise() && t.sameSpace(a, r):
			lv = max(lv, f.level[a])
		default:
			lv = max(lv, f.level[a]+1)
		}
	}
	if t.ins[r].Op() == opLoop && t.Attr(r).Loop.late {
		lv = max(lv, f.top+1)
	}
	return lv
}

// group is the elementwise group of a level that r joins.
func (f *fusing) group(r Ref, lv int32) int32 {
	for int(lv) >= len(f.latest) {
		f.latest = append(f.latest, -1)
	}
	for g := f.latest[lv]; g >= 0; g = f.steps[g].before {
		if f.t.sameSpace(f.steps[g].first, r) {
			return g
		}
	}
	kind := stepTile
	if f.t.single(r) {
		kind = stepNumbers
	}
	g := f.newStep(kind, lv)
	f.steps[g].before, f.latest[lv] = f.latest[lv], g
	return g
}

// mostWaits is how often groups are looked through for such as wait: each look takes all of the plan.
const mostWaits = 8

// wait lets groups that only later ones wait for join the first of these that is of their space: what
// they make is not written to memory then, as the ties that a gradient of max has found before its cotangent
// has the right shape. Those stay whose arguments would have to be kept for longer and take more: of what
// adds up products, each would wait with its product for the last (a gradient through 60 steps of 512
// units took 122 MB, not 11).
func (p *Plan) wait() {
	for n := 0; n < mostWaits && p.several(0); n++ {
		join := p.later()
		if !slices.ContainsFunc(join, isStep) {
			return
		}
		p.stayWhoTakeMore(join)
		if !slices.ContainsFunc(join, isStep) {
			return
		}
		p.regroup(join)
	}
}

func isStep(i int32) bool { return i >= 0 }

// later says of each group which one it may join: the first later one of its space that reads it, if
// no other step reads it before; or -1.
func (p *Plan) later() (join []int32) {
	t := p.t
	join = t.desk.places.of(len(p.steps))
	limit := t.desk.places.of(len(p.steps)) // the level of the first other step that reads it
	for g := range join {
		join[g], limit[g] = -1, math.MaxInt32
	}
	read := func(a, r Ref, beside bool) {
		from, to := p.home[a], p.home[r]
		if from < 0 || from == to || p.steps[from].kind != stepTile {
			return
		}
		lv := p.steps[to].level
		if !beside || p.steps[to].kind != stepTile || !t.ins[a].Op().elementwise() || !t.sameLayout(a, r) {
			limit[from] = min(limit[from], lv)
		} else if join[from] < 0 || lv < p.steps[join[from]].level {
			join[from] = to
		}
	}
	for _, r := range p.order {
		for _, a := range t.Args(r) {
			a = p.same[a]
			read(a, r, true)
			for _, w := range p.panes(a) {
				read(w.ref, r, false)
			}
		}
	}
	for g, h := range join {
		if h >= 0 && p.steps[h].level >= limit[g] {
			join[g] = -1
		}
	}
	return join
}

// regroup moves what is in groups that join others there, all at once, and drops those that are empty then.
func (p *Plan) regroup(join []int32) {
	for i := range p.steps {
		p.steps[i].count = 0
	}
	for _, r := range p.order {
		if h := join[p.home[r]]; h >= 0 {
			p.home[r] = h
		}
	}
	for _, r := range p.order {
		p.join(r, p.home[r])
	}
	to := int32(0) // those that are left move up
	for g := range p.steps {
		if join[g] = to; p.steps[g].count > 0 {
			p.steps[to] = p.steps[g]
			to++
		}
	}
	for _, r := range p.order {
		p.home[r] = join[p.home[r]]
	}
	p.steps = p.steps[:to]
}

// stayWhoTakeMore lets those groups join none whose arguments that nothing later reads take much more
// memory, half as much again, than what others read of the group.
func (p *Plan) stayWhoTakeMore(join []int32) {
	t := p.t
	last := t.desk.places.of(len(p.live)) // by value: the level that reads it last
	by := t.desk.places.of(len(p.live))   // the group that counted it, from 1
	for _, r := range p.order {
		lv := p.steps[p.home[r]].level
		for _, a := range t.Args(r) {
			if a = p.same[a]; p.home[a] != p.home[r] {
				last[a] = max(last[a], lv)
			}
		}
	}
	for _, o := range p.outs {
		if o != None {
			last[p.same[o]] = math.MaxInt32
		}
	}
	reads, makes := t.desk.sizes.of(len(p.steps)), t.desk.sizes.of(len(p.steps)) // bytes
	for _, r := range p.order {
		g := p.home[r]
		for _, a := range t.Args(r) {
			a = p.same[a]
			from := p.home[a]
			if from < 0 || from == g || join[g] < 0 && join[from] < 0 || t.single(a) {
				continue
			}
			if by[a] == 0 {
				makes[from] += int(t.bytes(a))
			}
			if by[a] != g+1 && last[a] <= p.steps[g].level {
				reads[g] += int(t.bytes(a))
			}
			by[a] = g + 1
		}
	}
	for g := range join {
		if 2*reads[g] > 3*makes[g] {
			join[g] = -1
		}
	}
}

// several reports whether there is more than one elementwise group, over so many numbers at least.
func (p *Plan) several(least int) bool {
	tiles := 0
	for i := range p.steps {
		if s := &p.steps[i]; s.kind == stepTile && p.t.size(s.first) >= least {
			tiles++
		}
	}
	return tiles > 1
}

// exponentials are, by argument, the steps of a logsumexp or log_softmax that a softmax may share.
type exponentials map[Ref]int32

// note notes step g of r, if it is such.
func (e *exponentials) note(p *Plan, r Ref, g int32) {
	if op := p.t.ins[r].Op(); op != opLogsumexp && op != opLogSoftmax {
		return
	}
	if *e == nil {
		*e = exponentials{}
	}
	(*e)[p.same[p.t.Args(r)[0]]] = g
}

// beside is the step of level lv that r, a softmax, shares; -1 for none.
func (e exponentials) beside(p *Plan, r Ref, lv int32) int32 {
	if len(e) == 0 || p.t.ins[r].Op() != opSoftmax {
		return -1
	}
	g, ok := e[p.same[p.t.Args(r)[0]]]
	if !ok || p.steps[g].level != lv || p.steps[g].count != 1 || p.t.Attr(p.steps[g].first).along() != p.t.Attr(r).along() {
		return -1
	}
	return g
}

// sortSteps puts the steps in the order of their levels, up to top, and those of a level in
// the order of their first instructions.
func (p *Plan) sortSteps(top int32) {
	t := p.t
	if slices.IsSortedFunc(p.steps, func(a, b step) int { return cmp.Compare(a.level, b.level) }) {
		return
	}
	begin := t.desk.places.of(int(top) + 2)
	for i := range p.steps {
		begin[p.steps[i].level+1]++
	}
	for lv := range begin[1:] {
		begin[lv+1] += begin[lv]
	}
	sorted, to := t.desk.steps.of(len(p.steps)), t.desk.places.of(len(p.steps))
	for i := range p.steps {
		at := &begin[p.steps[i].level]
		sorted[*at], to[i] = p.steps[i], *at
		*at++
	}
	p.steps = sorted
	for _, r := range p.order {
		p.home[r] = to[p.home[r]]
	}
}

// byPhase is what runs, by phase; of each phase the chains come last.
func (p *Plan) byPhase() []Ref {
	if p.chains == nil {
		return p.order
	}
	order := slices.Clone(p.order)
	slices.SortStableFunc(order, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(p.phase[a], p.phase[b]), cmp.Compare(p.chain[a], p.chain[b]))
	})
	return order
}

// join puts r into step g.
func (p *Plan) join(r Ref, g int32) {
	p.home[r] = g
	s := &p.steps[g]
	if s.count == 0 {
		s.first = r
	}
	s.count++
}

// gather lists what each step runs, in order.
func (p *Plan) gather() {
	refs := p.t.desk.refs.of(len(p.order))
	for i := range p.steps {
		s := &p.steps[i]
		s.refs, refs = refs[:0:s.count], refs[s.count:]
	}
	for _, r := range p.byPhase() {
		s := &p.steps[p.home[r]]
		s.refs = append(s.refs, r)
	}
}

func (p *Plan) newStep(k stepKind, level int32) int32 {
	p.steps = append(p.steps, step{kind: k, level: level})
	return int32(len(p.steps) - 1)
}

// sameSpace reports whether a and r run in one group: both single numbers, or of one
// layout.
func (t *Tape) sameSpace(a, r Ref) bool {
	if t.single(r) {
		return t.single(a)
	}
	return t.sameLayout(a, r)
}

// sameLayout reports whether elements of a and r lie alike in memory.
func (t *Tape) sameLayout(a, r Ref) bool {
	x, y := &t.ins[a], &t.ins[r]
	return x.shape == y.shape && x.batch == y.batch
}

// closes reports whether r is a full sum that can end a tile program: of an elementwise
// value without batch axes that is computed here and has more than one element.
func (p *Plan) closes(r Ref) bool {
	t := p.t
	if t.ins[r].Op() != opSum || t.ins[r].batch != 0 || !t.single(r) {
		return false
	}
	a := p.same[t.Args(r)[0]]
	return p.isTiled(a) && len(t.Attr(r).Axes) == len(t.Shape(a))
}
