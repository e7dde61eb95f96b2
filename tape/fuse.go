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
// joins the group of what it adds up. A chain is a group; phases follow one another. A loop
// that runs again for the way back has a level behind all before it.
func passFuse(p *Plan) {
	t := p.t
	level := t.desk.places.of(len(p.live))
	p.home = t.desk.places.of(len(p.live))
	for i := range p.home {
		p.home[i] = -1
	}
	var latest []int32                // by level: its elementwise group begun last, which names the one before
	floor, top := int32(0), int32(-1) // levels of this phase begin at floor
	p.steps = t.desk.steps.of(min(len(p.order)+len(p.chains), 256))[:0]
	var now [2]int32
	var exps exponentials
	var picks map[Ref]*pickedSum
	for _, r := range p.byPhase() {
		in := &t.ins[r]
		single := t.single(r)
		if p.chains != nil && now != [2]int32{p.phase[r], p.chain[r]} {
			now = [2]int32{p.phase[r], p.chain[r]}
			floor = top + 1
			if c := p.chain[r]; c != 0 {
				p.steps[p.newStep(stepChain, floor)].chain = p.chains[c-1]
			}
		}
		if now[1] != 0 {
			level[r], top = floor, floor
			p.join(r, int32(len(p.steps)-1))
			continue
		}
		if picks == nil && p.mayPick(r) {
			picks = p.findPicked()
		}
		pick := picks[r]
		if pick != nil && r != pick.sum {
			continue // in the step of the sum
		}
		lv := floor
		elementwise := in.Op().elementwise()
		closes := !elementwise && pick == nil && p.closes(r)
		args := t.Args(r)
		if pick != nil {
			args = []Ref{t.Args(pick.top)[0], p.besides(pick.product, pick.top)}
		}
		for _, a := range args {
			a = p.same[a]
			for _, w := range p.panes(a) {
				if p.home[w.ref] >= 0 {
					lv = max(lv, level[w.ref]+1)
				}
			}
			if p.home[a] < 0 {
				continue
			}
			switch {
			case closes, elementwise && t.ins[a].Op().elementwise() && t.sameSpace(a, r, single):
				lv = max(lv, level[a])
			default:
				lv = max(lv, level[a]+1)
			}
		}
		if in.Op() == opLoop && t.Attr(r).Loop.late {
			lv = max(lv, top+1)
		}
		level[r], top = lv, max(top, lv)
		switch {
		case elementwise:
			for int(lv) >= len(latest) {
				latest = append(latest, -1)
			}
			g := latest[lv]
			for g >= 0 && !p.takes(g, r, single) {
				g = p.steps[g].before
			}
			if g < 0 {
				kind := stepTile
				if single {
					kind = stepNumbers
				}
				g = p.newStep(kind, lv)
				p.steps[g].before, latest[lv] = latest[lv], g
			}
			p.join(r, g)
		case closes:
			p.join(r, p.home[p.same[t.Args(r)[0]]])
		case pick != nil:
			g := p.newStep(stepOne, lv)
			for _, part := range []Ref{pick.top, pick.product, r} {
				p.join(part, g)
				level[part] = lv
			}
		default:
			g := exps.beside(p, r, lv)
			if g < 0 {
				g = p.newStep(stepOne, lv)
				exps.note(p, r, g)
			}
			p.join(r, g)
		}
	}
	p.wait()
	p.gather()
	p.sortSteps(top)
}

// mostWaits is how often groups are looked through for such as wait: each look takes all of the plan.
const mostWaits = 8

// wait lets groups that only later ones wait for join the first of these that is of their space: what
// they make is not written to memory then, as the ties that a gradient of max has found before its cotangent
// has the right shape. Those stay whose arguments would have to be kept for longer and take more: of what
// adds up products, each would wait with its product for the last (a gradient through 60 steps of 512
// units took 122 MB, not 11).
func (p *Plan) wait() {
	for n := 0; n < mostWaits && p.several(); n++ {
		join := p.later()
		if !slices.ContainsFunc(join, isStep) {
			return
		}
		for g, more := range p.takeMore() {
			if more {
				join[g] = -1
			}
		}
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
	join = make([]int32, len(p.steps))
	limit := make([]int32, len(p.steps)) // the level of the first other step that reads it
	for g := range join {
		join[g], limit[g] = -1, math.MaxInt32
	}
	read := func(a, r Ref, beside bool) {
		from, to := p.home[a], p.home[r]
		if from < 0 || from == to || p.steps[from].kind != stepTile {
			return
		}
		lv := p.steps[to].level
		if !beside || p.steps[to].kind != stepTile || !t.ins[a].Op().elementwise() || !t.sameSpace(a, r, false) {
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

// takeMore tells of groups whether the arguments that nothing later reads take much more memory, half
// as much again, than what others read of the group.
func (p *Plan) takeMore() []bool {
	t := p.t
	last := make([]int32, len(p.live)) // by value: the level that reads it last
	by := make([]int32, len(p.live))   // the group that counted it, from 1
	each := func(f func(a Ref, reader int32)) {
		for _, r := range p.order {
			for _, a := range t.Args(r) {
				if a = p.same[a]; p.home[a] >= 0 && p.home[a] != p.home[r] && !t.single(a) {
					f(a, p.home[r])
				}
			}
		}
	}
	each(func(a Ref, g int32) { last[a] = max(last[a], p.steps[g].level) })
	for _, o := range p.outs {
		if o != None {
			last[p.same[o]] = math.MaxInt32
		}
	}
	reads, makes := make([]int64, len(p.steps)), make([]int64, len(p.steps))
	each(func(a Ref, g int32) {
		if by[a] == 0 {
			makes[p.home[a]] += t.bytes(a)
		}
		if by[a] != g+1 && last[a] <= p.steps[g].level {
			reads[g] += t.bytes(a)
		}
		by[a] = g + 1
	})
	more := make([]bool, len(p.steps))
	for g := range more {
		more[g] = 2*reads[g] > 3*makes[g]
	}
	return more
}

// several reports whether there is more than one elementwise group.
func (p *Plan) several() bool {
	tiles := 0
	for i := range p.steps {
		if p.steps[i].kind == stepTile {
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

// takes reports whether the elementwise r belongs to group g of its level: of single
// numbers, or of one layout.
func (p *Plan) takes(g int32, r Ref, single bool) bool {
	s := &p.steps[g]
	if single || s.kind == stepNumbers {
		return single && s.kind == stepNumbers
	}
	x, y := &p.t.ins[s.first], &p.t.ins[r]
	return x.shape == y.shape && x.batch == y.batch
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
func (t *Tape) sameSpace(a, r Ref, single bool) bool {
	if single {
		return t.single(a)
	}
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
	return p.home[a] >= 0 && p.steps[p.home[a]].kind == stepTile && t.ins[a].Op().elementwise() && t.ins[a].batch == 0 && !t.single(a) && len(t.Attr(r).Axes) == len(t.Shape(a))
}
