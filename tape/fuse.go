package tape

import (
	"cmp"
	"slices"
)

// passFuse groups instructions into steps. The level of an elementwise instruction is
// that of its arguments in the same space, and one more than any other's; instructions
// of one level and one space are a group, and groups run by level. Forward and backward
// elementwise work over one shape, with no reduction between, is one group. A full sum
// joins the group of what it adds up. A chain is a group; phases follow one another.
func passFuse(p *Plan) {
	t := p.t
	table := make([]int32, 2*len(p.live))
	level := table[:len(p.live)]
	p.home = table[len(p.live):]
	for i := range p.home {
		p.home[i] = -1
	}
	type key struct {
		level        int32
		shape, batch int32
	}
	var groups map[key]int32
	numbers := []int32{}              // groups of single numbers by level, without hashing
	floor, top := int32(0), int32(-1) // levels of this phase begin at floor
	var now [2]int32
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
			p.home[r] = int32(len(p.steps) - 1)
			p.steps[p.home[r]].refs = append(p.steps[p.home[r]].refs, r)
			continue
		}
		lv := floor
		elementwise := in.Op.elementwise()
		closes := !elementwise && p.closes(r)
		for _, a := range t.Args(r) {
			a = p.same[a]
			if p.home[a] < 0 {
				continue
			}
			switch {
			case closes, elementwise && t.ins[a].Op.elementwise() && t.sameSpace(a, r, single):
				lv = max(lv, level[a])
			default:
				lv = max(lv, level[a]+1)
			}
		}
		level[r], top = lv, max(top, lv)
		var g int32
		switch {
		case elementwise && single:
			for int(lv) >= len(numbers) {
				numbers = append(numbers, -1)
			}
			if numbers[lv] < 0 {
				numbers[lv] = p.newStep(stepNumbers, lv)
			}
			g = numbers[lv]
		case elementwise:
			k := key{lv, in.shape, in.batch}
			id, ok := groups[k]
			if !ok {
				id = p.newStep(stepTile, lv)
				p.steps[id].refs = make([]Ref, 0, min(len(p.order), 32))
				if groups == nil {
					groups = map[key]int32{}
				}
				groups[k] = id
			}
			g = id
		case closes:
			g = p.home[p.same[t.Args(r)[0]]]
		default:
			g = p.newStep(stepOne, lv)
		}
		p.home[r] = g
		p.steps[g].refs = append(p.steps[g].refs, r)
	}
	if slices.IsSortedFunc(p.steps, func(a, b step) int { return cmp.Compare(a.level, b.level) }) {
		return
	}
	// by level; a stable sort keeps the order of first instructions
	perm := make([]int, len(p.steps))
	for i := range perm {
		perm[i] = i
	}
	slices.SortStableFunc(perm, func(i, j int) int { return cmp.Compare(p.steps[i].level, p.steps[j].level) })
	sorted := make([]step, len(p.steps))
	to := make([]int32, len(p.steps))
	for i, k := range perm {
		sorted[i], to[k] = p.steps[k], int32(i)
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
	if t.ins[r].Op != opSum || t.ins[r].batch != 0 || !t.single(r) {
		return false
	}
	a := p.same[t.Args(r)[0]]
	return p.home[a] >= 0 && p.steps[p.home[a]].kind == stepTile && t.ins[a].Op.elementwise() && t.ins[a].batch == 0 && !t.single(a) && len(t.Attr(r).Axes) == len(t.Shape(a))
}
