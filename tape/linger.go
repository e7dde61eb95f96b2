package tape

// linger lets single instructions wait that only one later elementwise group of their space reads, and that themselves
// read one leaf at most: as the slope 2x of the x^2 of which rows are added up first. That group reads the leaf in place of
// what they make, which is not written to memory then: the gradient of sum(sum(x^2, 1)^2) takes .7 of the time. Those stay
// that are computed along with another.
func (p *Plan) linger() {
	if !p.several(0) {
		return
	}
	t := p.t
	reader := t.desk.places.of(len(p.live)) // by value: the step that reads it, from 1, or several
	const several = -1
	for _, o := range p.outs {
		if o != None {
			reader[p.same[o]] = several
		}
	}
	moved, far := false, p.farReads()
	for i := len(p.order) - 1; i >= 0; i-- {
		r := p.order[i]
		if h := reader[r] - 1; h >= 0 && h != p.home[r] {
			switch {
			case p.mayLinger(r, h):
				p.home[r], moved = h, true
			case far.follow(r, p.home[r], h):
				moved = true
			}
		}
		home := p.home[r] + 1
		tile := p.steps[home-1].kind == stepTile && t.ins[r].Op().elementwise()
		for _, a := range t.Args(r) {
			a = p.same[a]
			for _, w := range p.panes(a) {
				reader[w.ref] = several
			}
			if !tile || !t.isAlike(a, r) || reader[a] != 0 && reader[a] != home {
				reader[a] = several
			} else {
				reader[a] = home
			}
		}
	}
	if moved {
		none := t.desk.places.of(len(p.steps))
		for i := range none {
			none[i] = -1
		}
		p.regroup(none)
	}
}

// mayLinger reports whether r may be computed in step h, which alone reads it.
func (p *Plan) mayLinger(r Ref, h int32) bool {
	t := p.t
	from, to := &p.steps[p.home[r]], &p.steps[h]
	op := t.ins[r].Op()
	if from.kind != stepTile || to.kind != stepTile || from.level >= to.level || !op.elementwise() || op.Twin.both != nil {
		return false
	}
	leaves := 0
	for _, a := range t.Args(r) {
		switch a = p.same[a]; {
		case t.single(a):
		case p.home[a] >= 0 || p.panes(a) != nil:
			return false
		default:
			leaves++
		}
	}
	return leaves <= 1
}

// farReads are what steps read of the memory of others, at places of their own (moved.go). What a step of a stencil makes of
// its result for the next one, which reads that in any case, is made there: steps u + k (… - 4u) of the heat equation do not
// write 4u, nor their cotangents the term that is not moved. Gradients through twenty of them on grids of 128 and 500 rows
// take .84 and .83 of the time, and half of the memory.
type farReads struct {
	p    *Plan
	uses []int32 // by value: how often it is read
	by   map[farRead]bool
	cone []coneUse // instructions that would wait together
}

// A coneUse is an instruction of a cone, and how many arguments in it are its value.
type coneUse struct {
	r    Ref
	uses int32
}

type farRead struct {
	r    Ref
	step int32
}

// farReads is nil where there are none.
func (p *Plan) farReads() *farReads {
	if p.lies == nil {
		return nil
	}
	f := &farReads{p: p, uses: p.t.desk.places.of(len(p.live)), by: map[farRead]bool{}}
	for _, r := range p.order {
		for _, a := range p.t.Args(r) {
			a = p.same[a]
			f.uses[a]++
			for _, w := range p.panes(a) {
				f.uses[w.ref]++
				f.by[farRead{w.ref, p.home[r]}] = true
			}
		}
	}
	for _, o := range p.outs {
		if o != None {
			f.uses[p.same[o]]++
		}
	}
	return f
}

// follow has r, of step from, computed in the later step h, which alone reads it, if that can be: of numbers that h
// reads in any case, with the instructions of from in between, which nothing else needs.
func (f *farReads) follow(r Ref, from, h int32) bool {
	if f == nil {
		return false
	}
	p := f.p
	if p.steps[from].kind != stepTile || p.steps[h].kind != stepTile || p.steps[from].level >= p.steps[h].level {
		return false
	}
	f.cone = f.cone[:0]
	if !f.isFrom(r, from, h) {
		return false
	}
	for _, c := range f.cone {
		if c.r != r && c.uses != f.uses[c.r] {
			return false
		}
	}
	for _, c := range f.cone {
		p.home[c.r] = h
	}
	return true
}

// mostFollowing is how many instructions wait so for one value.
const mostFollowing = 12

// isFrom reports whether r is computed, by at most so many instructions, from what h reads.
func (f *farReads) isFrom(r Ref, from, h int32) bool {
	p, t := f.p, f.p.t
	for i := range f.cone {
		if f.cone[i].r == r {
			f.cone[i].uses++
			return true
		}
	}
	op := t.ins[r].Op()
	if len(f.cone) == mostFollowing || !op.elementwise() || op.Twin.both != nil {
		return false
	}
	f.cone = append(f.cone, coneUse{r, 1})
	for _, a := range t.Args(r) {
		switch a = p.same[a]; {
		case t.single(a), f.by[farRead{a, h}]:
		case p.panes(a) != nil || p.home[a] != from || !f.isFrom(a, from, h):
			return false
		}
	}
	return true
}
