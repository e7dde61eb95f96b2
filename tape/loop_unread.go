package tape

import "slices"

// What a loop's body binds is carried, if only to its end: a name for part of an expression is as much a variable as what
// the next step reads. Here loops are left without those that nobody reads, neither a step nor what comes after, and so
// such parts stay in the slots of tiles: 50 steps of the heat equation on 64×64 numbers, of which pad has a name, and
// their gradient take .79 of the time, three names in 70 elementwise steps .9.

// passUnread finds the loops of which a plan reads less than there is.
func passUnread(p *Plan) {
	t := p.t
	var reads map[Ref][]bool // by loop: which of its carried values are read in the end
	for _, r := range p.order {
		if t.ins[r].Op() == opLoop && len(t.Attr(r).Loop.next) > 1 {
			if reads == nil {
				reads = map[Ref][]bool{}
			}
			reads[r] = make([]bool, len(t.Attr(r).Loop.next))
		}
	}
	if reads == nil {
		return
	}
	for _, o := range p.outs {
		if o != None {
			delete(reads, p.same[o]) // all of it is wanted
		}
	}
	for _, y := range p.order {
		for _, a := range t.Args(y) {
			r := p.same[a]
			switch read := reads[r]; {
			case read == nil:
			case t.ins[y].Op() != opBlock:
				delete(reads, r)
			default:
				l, from := t.Attr(r).Loop, int(t.ins[y].args[1])
				for k := range read {
					read[k] = read[k] || from < l.nextAt(k)+l.body.size(l.next[k]) && l.nextAt(k) < from+t.size(y)
				}
			}
		}
	}
	for r, read := range reads {
		if l := t.Attr(r).Loop.without(read); l != nil && l.planned() {
			if p.loops == nil {
				p.loops = map[Ref]*Attr{}
			}
			p.loops[r] = &Attr{Loop: l}
		}
	}
}

// without is l in which carried values stay as they are that are not read, neither in the end nor by steps; nil where
// all are.
func (l *loop) without(read []bool) *loop {
	all := true
	for k, r := range l.next {
		all = all && (read[k] || r == l.carry[k])
	}
	if all {
		return nil
	}
	rest := *l
	for more := true; more; {
		rest.next, more = nil, false
		for k, r := range l.next {
			if read[k] {
				rest.next = append(rest.next, r)
			}
		}
		live := l.body.live(rest.wanted())
		for k, c := range l.carry {
			if !read[k] && int(c) < len(live) && live[c] {
				read[k], more = true, true
			}
		}
	}
	if len(rest.next) == len(l.next) {
		return nil
	}
	rest.codes, rest.next = &loopCodes{}, slices.Clone(l.next)
	for k, yes := range read {
		if !yes {
			rest.next[k] = l.carry[k]
		}
	}
	return &rest
}

// loopOf is loop r as the plan runs it.
func (p *Plan) loopOf(r Ref) *Attr {
	if a := p.loops[r]; a != nil {
		return a
	}
	return p.t.Attr(r)
}
