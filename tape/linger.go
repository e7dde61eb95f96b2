package tape

// linger lets single instructions wait that only one later elementwise group of their space reads, and that themselves
// read one leaf at most: as the slope 2x of the x^2 of which rows are added up first. That group reads the leaf in place of
// what they make, which is not written to memory then: the gradient of sum(sum(x^2, 1)^2) takes .7 of the time. Those stay
// that are computed along with another.
func (p *Plan) linger() {
	if !p.several() {
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
	moved := false
	for i := len(p.order) - 1; i >= 0; i-- {
		r := p.order[i]
		if h := reader[r] - 1; h >= 0 && h != p.home[r] && p.mayLinger(r, h) {
			p.home[r], moved = h, true
		}
		home := p.home[r] + 1
		tile := p.steps[home-1].kind == stepTile && t.ins[r].Op().elementwise()
		for _, a := range t.Args(r) {
			a = p.same[a]
			for _, w := range p.panes(a) {
				reader[w.ref] = several
			}
			if !tile || !t.sameLayout(a, r) || t.ins[a].dtype != t.ins[r].dtype || reader[a] != 0 && reader[a] != home {
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
