package tape

import (
	"fmt"
	"slices"
)

// A loopReach is how the parts of a loop's value are reached: as they would be if each step
// had been recorded by itself.
type loopReach struct {
	e     *explaining
	l     *loop
	args  []Ref
	live  []bool
	how   []access // of the values of a step
	state []access // of what is carried
	outs  []access
}

// part is the reach of the part of loop a at off.
func (e *explaining) part(a Ref, off int) access {
	x, ok := e.loops[a]
	if !ok {
		x = e.loop(a)
		e.loops[a] = x
	}
	for i := range x.state {
		if x.l.nextAt(i) == off {
			return x.state[i]
		}
	}
	for i := range x.outs {
		if x.l.outAt(i) == off {
			return x.outs[i]
		}
	}
	return e.t.reachOf(a, nil, e.of)
}

// loop follows the steps of loop a.
func (e *explaining) loop(a Ref) *loopReach {
	l, args := e.t.Attr(a).Loop, e.t.Args(a)
	x := &loopReach{e: e, l: l, args: args, how: make([]access, len(l.body.ins)), outs: make([]access, len(l.outs))}
	x.live = l.body.live(slices.Concat(l.next, l.outs))
	for i := range l.carry {
		x.state = append(x.state, e.of(args[i]))
	}
	if l.course == nil { // every step does the same
		for i, changed := 0, true; changed && i < l.n; i++ {
			changed = x.step(0, false)
		}
		return x
	}
	c := l.course()
	seen := map[int32]bool{} // paths since the last change
	c.steps(nil, func(path int32, _ func(int) bool) bool {
		if !seen[path] {
			seen[path] = true
			if x.step(c.paths[path], true) {
				clear(seen)
			}
		}
		return true
	})
	return x
}

// step follows one step; it reports whether anything is reached otherwise than before.
func (x *loopReach) step(outcomes uint64, decided bool) (changed bool) {
	l, body := x.l, x.l.body
	k, m := len(l.carry), len(l.consts)
	given := func(rs []Ref, from int) {
		for i, r := range rs {
			x.how[r] = x.e.of(x.args[from+i])
		}
	}
	given(l.consts, k)
	given(l.arrays, k+m)
	given(l.columns, k+m+len(l.arrays))
	for i, r := range l.carry {
		x.how[r] = x.state[i]
	}
	of := func(a Ref) access { return x.how[a] }
	for r, on := range x.live {
		in := &body.ins[r]
		switch {
		case !on || in.Op() == opSlot:
		case in.Op() == opLoad:
			x.how[r] = x.how[in.args[1]]
		case in.Op() == opChoose && decided:
			x.how[r] = x.how[in.args[2-outcomes>>body.Attr(Ref(r)).Axis&1]]
		default:
			x.how[r] = body.reachOf(Ref(r), body, of)
		}
	}
	for i, y := range l.outs {
		if was, now := &x.outs[i], x.how[y]; was.how != 1 && now.how == 1 || was.how == 0 && now.how != 0 {
			*was, changed = now, true
		}
	}
	for i, y := range l.next {
		if now := x.how[y]; now != x.state[i] {
			x.state[i], changed = now, true
		}
	}
	return changed
}

// A loopLive is what of a loop's steps their results depend on, as if each had been
// recorded by itself.
type loopLive struct {
	live     [][]bool // of the instructions of the body, by kind of step
	at       []int32  // the kind of the step that runs after i others
	folded   [][]bool // which would be numbers that are known while recording
	foldedAt []int32
}

// liveThrough marks everything that ys, none above top, are computed from, known or not:
// through loops what is carried into steps that matter.
func (t *Tape) liveThrough(ys []Ref, top Ref) (live []bool, loops map[Ref]*loopLive) {
	live, loops = make([]bool, top+1), map[Ref]*loopLive{}
	for _, y := range ys {
		live[y] = true
	}
	for r := top; r >= 0; r-- {
		if !live[r] {
			continue
		}
		into := func(i int) bool { return true }
		if t.ins[r].Op() == opLoop {
			l := t.Attr(r).Loop
			x := t.liveSteps(r, live)
			loops[r] = x
			first := x.live[x.at[0]]
			into = func(i int) bool { return i >= len(l.carry) || first[l.carry[i]] }
		}
		for i, a := range t.Args(r) {
			live[a] = live[a] || into(i)
		}
	}
	return live, loops
}

// liveSteps is what of the steps of loop r is live, where live marks what is live around it.
func (t *Tape) liveSteps(r Ref, live []bool) *loopLive {
	l := t.Attr(r).Loop
	next, outs := make([]bool, len(l.next)), make([]bool, len(l.outs))
	for x, on := range live {
		if on && t.ins[x].Op() == opBlock && t.ins[x].args[0] == r {
			off := int(t.ins[x].args[1])
			for i := range next {
				next[i] = next[i] || l.nextAt(i) == off
			}
			for i := range outs {
				outs[i] = outs[i] || l.outAt(i) == off
			}
		}
	}
	paths := make([]int32, l.n)
	outcomes := func(path int32) (uint64, bool) { return 0, false }
	if l.course != nil {
		c := l.course()
		n := 0
		c.steps(nil, func(path int32, _ func(int) bool) bool { paths[n] = path; n++; return true })
		outcomes = func(path int32) (uint64, bool) { return c.paths[path], true }
	}
	x := &loopLive{}
	slices.Reverse(paths)
	x.live, x.at = kindsOf(paths, next, func(path int32, next []bool) []bool {
		taken, decided := outcomes(path)
		return l.liveIn(next, outs, taken, decided)
	}, l.carry)
	slices.Reverse(paths)
	slices.Reverse(x.at)
	numbers := make([]bool, len(l.carry))
	for i := range numbers {
		_, numbers[i] = t.constant(t.Args(r)[i])
	}
	x.folded, x.foldedAt = kindsOf(paths, numbers, func(path int32, state []bool) []bool {
		taken, decided := outcomes(path)
		return l.foldedIn(state, taken, decided)
	}, l.next)
	return x
}

// kindsOf follows a state through steps: of is what holds of the instructions of the body
// in a step along a path from a state, and the state after it is what holds of some.
func kindsOf(paths []int32, state []bool, of func(path int32, state []bool) []bool, after []Ref) (kinds [][]bool, at []int32) {
	ids := map[string]int32{}
	then := map[[2]int32]int32{} // of the step before, 1 more, and the path
	at = make([]int32, len(paths))
	last := int32(0)
	for i, path := range paths {
		id, ok := then[[2]int32{last, path}]
		if !ok {
			if last > 0 {
				for k, y := range after {
					state[k] = kinds[last-1][y]
				}
			}
			name := fmt.Sprint(path, state)
			if id, ok = ids[name]; !ok {
				id = int32(len(kinds))
				kinds, ids[name] = append(kinds, of(path, state)), id
			}
			then[[2]int32{last, path}] = id
		}
		at[i], last = id, id+1
	}
	return kinds, at
}

// liveIn marks what the values that are wanted of a step depend on: what it decides, and
// where loads are, is no more than known.
func (l *loop) liveIn(next, outs []bool, outcomes uint64, decided bool) []bool {
	body := l.body
	live := make([]bool, len(body.ins))
	mark := func(rs []Ref, on []bool) {
		for i, r := range rs {
			live[r] = live[r] || on[i]
		}
	}
	mark(l.next, next)
	mark(l.outs, outs)
	for _, a := range l.adds {
		live[a.value] = true
	}
	for r := Ref(len(live) - 1); r >= 0; r-- {
		switch in := &body.ins[r]; {
		case !live[r] || body.known(r) || in.Op() == opLoad:
		case in.Op() == opChoose && decided:
			live[in.args[2-outcomes>>body.Attr(r).Axis&1]] = true
		default:
			for _, a := range body.Args(r) {
				live[a] = true
			}
		}
	}
	return live
}

// foldedIn marks what is a known number in a step, given which of the carried values are.
func (l *loop) foldedIn(state []bool, outcomes uint64, decided bool) []bool {
	body := l.body
	on := make([]bool, len(body.ins))
	for i, c := range l.carry {
		on[c] = state[i]
	}
	if l.index != None {
		on[l.index] = true
	}
	for r := range body.ins {
		switch in := &body.ins[r]; {
		case body.known(Ref(r)):
			on[r] = true
		case in.Op() == opChoose && decided:
			on[r] = on[in.args[2-outcomes>>body.Attr(Ref(r)).Axis&1]]
		case in.Op().elementwise() && in.Op() != opAlias:
			on[r] = !slices.ContainsFunc(body.Args(Ref(r)), func(a Ref) bool { return !on[a] || body.ins[a].shape != 0 })
		}
	}
	return on
}
