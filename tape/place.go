package tape

import (
	"fmt"
	"slices"

	"nabla/tape/tensor"
)

// passPlace finds out when values die, builds the tile programs and adds up memory.
func passPlace(p *Plan) {
	scratch := tileScratches.Get().(*tileScratch)
	defer tileScratches.Put(scratch)
	scratch.sized(len(p.live))
	p.findLast(scratch)
	p.findNarrow(scratch.keep)
	p.bury(scratch.last, scratch.keep)
	p.addUp(scratch)
	t := p.t
	if need := p.peak + t.held; t.Limit > 0 && need > t.Limit { // with the inputs, and what a condition keeps
		panic(&Misuse{Kind: "memory", Pos: -1,
			Msg:  fmt.Sprintf("the program needs %s at once, more than the limit of %s", Bytes(float64(need)), Bytes(float64(t.Limit))),
			Hint: "jvp, vjp and hvp give products without the matrix; --max-memory raises the limit"})
	}
	t.Stats.Peak = max(t.Stats.Peak, p.peak)
}

// findLast finds the step that reads each value last, what is kept, and the slots of values,
// among them the views: what a view reads is read until the view is dead.
func (p *Plan) findLast(scratch *tileScratch) {
	t, last, keep := p.t, scratch.last, scratch.keep
	for i := range p.steps { // what is read by none but its own step ends there
		s := &p.steps[i]
		for _, refs := range [2][]Ref{s.refs, s.again} {
			for _, r := range refs {
				for _, a := range t.Args(r) {
					if a = p.same[a]; s.makesAgain(a) {
						continue
					}
					last[a] = int32(i)
					for _, w := range p.panes(a) {
						last[w.ref] = int32(i)
					}
				}
			}
		}
	}
	for _, r := range p.outs {
		if r != None {
			keep[p.same[r]] = true
		}
	}
	p.slot = t.desk.places.of(len(p.live))
	for i := range p.slot {
		p.slot[i] = -1
	}
	for _, r := range p.order {
		if !t.single(r) {
			p.slot[r] = int32(p.slots)
			p.slots++
		}
	}
	p.view = t.desk.marks.of(p.slots)
	p.noteWindows(last, keep)
	for k := len(p.order) - 1; k >= 0; k-- {
		if r := p.order[k]; p.isView(r, keep) {
			p.view[p.slot[r]] = true
			a := p.same[t.Args(r)[0]]
			last[a] = max(last[a], last[r])
			scratch.seen[a] = true
			keep[a] = keep[a] || keep[r]
		}
	}
}

// findNarrow finds the steps that compute on float32, and what of theirs nobody else wants.
func (p *Plan) findNarrow(keep []bool) {
	t := p.t
	p.single = t.desk.marks.of(len(p.steps))
	p.narrow = t.desk.marks.of(len(p.live))
	for i := range p.steps {
		s := &p.steps[i]
		if p.single[i] = p.isSingle(s); p.single[i] {
			for _, r := range s.refs {
				p.narrow[r] = !keep[r] && p.slot[r] >= 0
			}
		}
	}
}

// addUp counts instructions and operations, builds the tile programs, which may write over
// what they read, and finds the most memory that is taken at once.
func (p *Plan) addUp(scratch *tileScratch) {
	t, last, keep := p.t, scratch.last, scratch.keep
	var now int64
	for i := range p.steps {
		s := &p.steps[i]
		p.count += len(s.refs)
		var beside int64
		for _, r := range s.refs {
			switch op := t.ins[r].Op(); {
			case op == opLoop:
				p.flops += p.loopOf(r).Loop.flops(t.Limit)
			case op.elementwise():
				p.flops += float64(t.size(r))
			case op.Flops != nil:
				p.flops += op.Flops(t, r)
			}
			beside = max(beside, p.room(r))
		}
		if s.kind == stepTile {
			s.tile = p.buildTile(s, int32(i), scratch)
		}
		for _, r := range s.refs {
			if !t.single(r) && !p.view[p.slot[r]] && (keep[r] || last[r] > p.home[r] || s.kind == stepOne && !s.isPicked()) {
				now += p.bytes(r)
			}
		}
		if s.tile != nil {
			for _, a := range s.tile.over {
				if a != None {
					now -= p.bytes(a)
				}
			}
		}
		p.peak = max(p.peak, now+beside)
		if c := s.chain; c != nil {
			p.peak = max(p.peak, now+int64(min(t.threads(), c.parts))*c.peak)
		}
		for _, r := range s.free {
			if !p.view[p.slot[r]] && (s.tile == nil || !slices.Contains(s.tile.over, r)) {
				now -= p.bytes(r)
			}
		}
	}
}

// bytes is how much memory r takes. Some of what is float32 is wanted as float64, too: outside
// of strips, which only ask what stays in the cache, all is taken to be. Windows take next to
// nothing.
func (p *Plan) bytes(r Ref) int64 {
	if p.inWindow(r) {
		return 0
	}
	if p.t.isStrip && p.narrow[r] {
		return 4 * int64(p.t.size(r))
	}
	return 8 * int64(p.t.size(r))
}

// room is how many bytes r takes while it runs.
func (p *Plan) room(r Ref) int64 {
	if p.t.ins[r].Op() == opLoop {
		return p.loopOf(r).Loop.room(p.t.Limit) + p.t.turned(r)
	}
	return p.t.room(r)
}

// room is how many bytes r takes while it runs, a loop with all that it carries. Of a batch of matrices one is worked on at
// a time, or, of small ones, one by each thread.
func (t *Tape) room(r Ref) int64 {
	op := t.ins[r].Op()
	switch {
	case op.Room != nil:
		return op.Room(t, r)
	case op.Matrices == 0:
		return 0
	}
	size := matrixSize(t.Shape(r))
	for _, x := range t.Args(r) {
		size = max(size, matrixSize(t.Shape(x)))
	}
	return 8 * int64(op.Matrices) * int64(size)
}

// bury lists what dies with each step: what is not kept, and read last there.
func (p *Plan) bury(last []int32, keep []bool) {
	dies := func(r Ref) bool { return !keep[r] && !p.t.single(r) && last[r] > p.home[r] }
	deaths, all := p.t.desk.places.of(len(p.steps)), int32(0)
	for _, r := range p.order {
		if dies(r) {
			deaths[last[r]]++
			all++
		}
	}
	refs := p.t.desk.refs.of(int(all))
	for i, n := range deaths {
		p.steps[i].free, refs = refs[:0:n], refs[n:]
	}
	for _, r := range p.order {
		if dies(r) {
			s := &p.steps[last[r]]
			s.free = append(s.free, r)
		}
	}
}

// isView reports whether r is read where its argument lies: a piece of it, or all of it in
// another shape. What leaves the plan has memory of its own, or that of what it is in another shape
// if nobody else is given it, and a small piece does not keep a large value alive.
func (p *Plan) isView(r Ref, keep []bool) bool {
	t := p.t
	in := &t.ins[r]
	if in.Op() != opBlock && in.Op() != opReshape && in.Op() != opUnbatch || t.single(r) || p.steps[p.home[r]].kind == stepChain {
		return false
	}
	a := p.same[t.Args(r)[0]]
	if t.single(a) || t.ins[a].dtype != tensor.Float64 {
		return false
	}
	if keep[r] && (in.Op() != opReshape || keep[a] || p.home[a] < 0 || p.inWindow(a) || t.isStrip || t.isBody) {
		return false
	}
	if in.Op() == opUnbatch { // the last of the axes in front is the first of the others
		axes := t.Axes(a)
		return len(axes) > 0 && int(axes[len(axes)-1]) == t.Attr(r).Axis
	}
	return t.ins[a].batch == in.batch && (in.Op() == opReshape || in.batch == 0) &&
		(p.slot[a] < 0 || 4*t.size(r) >= t.size(a))
}
