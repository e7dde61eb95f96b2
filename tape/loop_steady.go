package tape

import (
	"slices"

	"nabla/kernels"
)

// Of a step over some hundred numbers a run of its plan spends more on what is where than on
// the numbers: memory is asked for and given back, operands and packed weights are looked up.
// In a steady step all that is settled before the first one. A value has its place for the
// whole run, and what comes in or goes out lies in rows, of which each step takes the next. So
// instructions are calls of kernels by one table of pointers, some of which move from step to
// step, and kernels.Repeat does many steps without coming back to Go.

// mostSteady is how many numbers the values of a steady step take: of larger ones the rest is
// little. Tests set it low.
var mostSteady = 1 << 15

// A steadyStep is the plan of a step with a place for every value.
type steadyStep struct {
	p     *Plan
	size  int              // numbers of room
	place []int            // by slot: where in the room it is, or -1
	ends  [][]int32        // by end: the slots that are where it is wanted; none where it is copied there
	gone  []Ref            // results that are where they are wanted before they are computed
	turns []int            // by carried value: where in the room it is by turns; -1 where it is kept outside
	tiles []*steadyProgram // by step: its tile program, if it is one
	waits []bool           // by step: its tile program is part of a later one
	until map[Ref]int      // by value that is read in pieces: the last step that does
}

// longestProgram is how many elements the tile programs of a steady step have: its calls are of tiles, and know neither columns that
// are added up nor tiles that are rows.
const longestProgram = kernels.SumBlock

// maySteady reports whether a tile program of so many elements as r may be one of a steady step.
func (t *Tape) maySteady(r Ref) bool { return t.isStep && t.size(r) <= longestProgram }

// steady makes a steady step of a plan; nil where its values are large, or not all float64, or a sum is picked.
func (s *plannedStep) steady() *steadyStep {
	p, l := s.each, s.l
	x := &steadyStep{p: p, place: make([]int, p.slots), ends: make([][]int32, len(s.ends)), tiles: make([]*steadyProgram, len(p.steps)), waits: make([]bool, len(p.steps)), until: map[Ref]int{}}
	for i := range p.steps {
		if st := &p.steps[i]; st.kind == stepChain || st.isPicked() || p.single[i] || st.kind == stepTile && (st.tile.n > longestProgram || st.tile.moved != nil) {
			return nil
		}
	}
	for r, on := range p.live {
		if on && s.t.size(Ref(r)) == 0 {
			return nil
		}
	}
	x.settleEnds(s)
	x.settleReads(l.n)
	x.settlePlaces()
	over := x.overs(s)
	for k, c := range l.carry {
		x.turns = append(x.turns, -1)
		if s.ends[k].r != None && !slices.Contains(l.outs, c) {
			x.turns[k] = x.size
			if x.size += wholeLines(l.body.size(c)); !over[k] {
				x.size += wholeLines(l.body.size(c))
			}
		}
	}
	if x.size > mostSteady {
		return nil
	}
	for k, c := range l.carry {
		if s.ends[k].over && !over[k] {
			s.ends[k].over = false
			s.carried += int64(l.body.size(c))
		}
	}
	return x
}

// wholeLines is the room for n numbers that end with a line of the cache.
func wholeLines(n int) int { return (n + 7) &^ 7 }

// settleEnds finds what is computed where it is wanted: results, and what becomes one by
// another shape or name alone. The instruction that would do that is gone.
func (x *steadyStep) settleEnds(s *plannedStep) {
	p, t := x.p, s.t
	for k := range s.ends {
		e := &s.ends[k]
		if !e.whole {
			continue
		}
		r := e.r
		x.ends[k] = append(x.ends[k], p.slot[r])
		for t.isAnother(r) && p.steps[p.home[r]].kind == stepOne {
			a := p.same[t.Args(r)[0]]
			if p.home[a] < 0 || p.slot[a] < 0 || p.view[p.slot[a]] || slices.Contains(p.outs, a) || p.overwrites(a) {
				break
			}
			x.gone = append(x.gone, r)
			x.ends[k] = append(x.ends[k], p.slot[a])
			r = a
		}
	}
}

// overs says which carried values are written over where they were: not those of which another
// element is read while that is done, or later.
func (x *steadyStep) overs(s *plannedStep) (over []bool) {
	for k, c := range s.l.carry {
		e := &s.ends[k]
		over = append(over, e.over && x.last(c) < int(x.p.home[e.r]))
	}
	return over
}

// last is the last step that reads r in pieces, or -1.
func (x *steadyStep) last(r Ref) int {
	if last, ok := x.until[r]; ok {
		return last
	}
	return -1
}

// overwrites reports whether another value takes the memory of r.
func (p *Plan) overwrites(r Ref) bool {
	return slices.ContainsFunc(p.steps, func(st step) bool { return st.tile != nil && slices.Contains(st.tile.over, r) })
}

// settlePlaces gives every other value a place: that of one that is dead, where there is one
// of its size.
func (x *steadyStep) settlePlaces() {
	for k := range x.place {
		x.place[k] = -1
	}
	steps := x.p.steps
	y := &placer{steadyStep: x, outside: slices.Concat(x.ends...), free: map[int][]int{}, dead: make([][]Ref, len(steps))}
	for i := range steps {
		var over []Ref // whose places others take
		switch st := &steps[i]; {
		case st.tile != nil:
			over = y.placeTile(i)
		case st.kind == stepOne:
			for _, r := range st.refs {
				y.give(r)
			}
		}
		for _, r := range steps[i].free {
			if !slices.Contains(over, r) {
				last := max(i, x.last(r))
				y.dead[last] = append(y.dead[last], r)
			}
		}
		y.leave(i)
	}
}

// A placer gives the values of a steady step their places.
type placer struct {
	*steadyStep
	outside []int32       // the slots that have none in the room
	free    map[int][]int // by size: places that nobody has any more
	dead    [][]Ref       // by step: whose place is free after it
}

// give gives r a place that is free, or a new one.
func (y *placer) give(r Ref) {
	p := y.p
	k := p.slot[r]
	if k < 0 || p.view[k] || slices.Contains(y.outside, k) || slices.Contains(y.gone, r) {
		return
	}
	n := wholeLines(p.t.size(r))
	if l := y.free[n]; len(l) > 0 {
		y.place[k], y.free[n] = l[len(l)-1], l[:len(l)-1]
		return
	}
	y.place[k] = y.size
	y.size += n
}

// placeTile gives the results of step i, a tile program, their places, and lists the values whose
// places these take over.
func (y *placer) placeTile(i int) (over []Ref) {
	p, tp := y.p, y.p.steps[i].tile
	for j, r := range tp.direct {
		was := None
		if j < len(tp.over) {
			was = tp.over[j]
		}
		switch {
		case p.home[r] != int32(i):
		case was != None && y.last(was) < i && !slices.Contains(y.gone, was):
			over = append(over, was)
			y.place[p.slot[r]] = y.place[p.slot[was]]
		default:
			y.give(r)
		}
	}
	return over
}

// leave frees the places of those that are dead after step i.
func (y *placer) leave(i int) {
	p := y.p
	for _, r := range y.dead[i] {
		if k := y.place[p.slot[r]]; k >= 0 {
			n := wholeLines(p.t.size(r))
			y.free[n] = append(y.free[n], k)
		}
	}
}
