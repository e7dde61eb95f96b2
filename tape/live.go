package tape

import "slices"

// passLive marks what outs depend on; known values are leaves.
func passLive(p *Plan) {
	p.live = p.t.live(p.outs)
	n := 0
	for r, on := range p.live {
		if on && !p.t.known(Ref(r)) {
			n++
		}
	}
	p.order = p.t.desk.refs.of(n)[:0]
	for r, on := range p.live {
		if on && !p.t.known(Ref(r)) {
			p.order = append(p.order, Ref(r))
		}
	}
}

// live marks what the values of rs depend on.
func (t *Tape) live(rs []Ref) []bool {
	top := Ref(-1)
	for _, r := range rs {
		top = max(top, r)
	}
	live := t.desk.marks.of(int(top) + 1)
	for _, r := range rs {
		if r != None {
			live[r] = true
		}
	}
	for r := top; r >= 0; r-- {
		if live[r] && !t.known(r) {
			for _, a := range t.Args(r) {
				live[a] = true
			}
		}
	}
	return live
}

// liveAll marks everything ys were computed from, known or not.
func (t *Tape) liveAll(ys ...Ref) []bool {
	top := slices.Max(ys)
	live := make([]bool, top+1)
	for _, y := range ys {
		live[y] = true
	}
	for r := top; r >= 0; r-- {
		if live[r] {
			for _, a := range t.Args(r) {
				live[a] = true
			}
		}
	}
	return live
}
