package tape

import (
	"fmt"
	"slices"
)

// Check says what is wrong with a tape, or nil: the definition of well-formed.
//   - arguments come before what uses them
//   - a value varies along every batch axis of its arguments, but for the instructions
//     that close one
//   - shapes of elementwise results are the broadcast of their arguments' shapes
func (t *Tape) Check() error {
	for i := range t.ins {
		r := Ref(i)
		in := &t.ins[r]
		if in.op == 0 {
			return fmt.Errorf("instruction %d has no operation", r)
		}
		for _, a := range t.Args(r) {
			if a < 0 || a >= r {
				return fmt.Errorf("%%%d %s has the argument %%%d", r, in.Op().Name, a)
			}
			if t.minus(t.ins[a].batch, in.batch) != 0 && in.Op() != opUnbatch && in.Op() != opSumBatch {
				return fmt.Errorf("%%%d %s does not vary along an axis of its argument %%%d", r, in.Op().Name, a)
			}
		}
		if in.Op().elementwise() {
			s := t.Shape(t.Args(r)[0])
			for _, a := range t.Args(r)[1:] {
				b, ok := broadcast(s, t.Shape(a))
				if !ok {
					return fmt.Errorf("%%%d %s: shapes do not broadcast", r, in.Op().Name)
				}
				s = b
			}
			if !s.Equal(t.Shape(r)) {
				return fmt.Errorf("%%%d %s has shape %v, its arguments give %v", r, in.Op().Name, t.Shape(r), s)
			}
		}
	}
	return nil
}

// readFrom is where a is read: at itself, or where its panes lie.
func (p *Plan) readFrom(a Ref) (all []Ref) {
	ws := p.panes(a)
	if ws == nil {
		return []Ref{a}
	}
	for _, w := range ws {
		all = append(all, w.ref)
	}
	return all
}

// verify panics when a plan breaks a law after the named pass: tests only.
func (p *Plan) verify(after string) {
	bad := func(format string, args ...any) {
		panic("plan after " + after + ": " + fmt.Sprintf(format, args...))
	}
	if err := p.t.Check(); err != nil {
		bad("%v", err)
	}
	for i := 1; i < len(p.order); i++ {
		if p.order[i] <= p.order[i-1] {
			bad("order is not ascending at %d", i)
		}
	}
	if p.home == nil {
		return
	}
	p.verifyOrder(bad)
	p.verifyMemory(bad)
}

// verifyOrder holds everything to running once, after its arguments.
func (p *Plan) verifyOrder(bad func(format string, args ...any)) {
	place := make(map[Ref]int) // when it runs
	for i := range p.steps {
		for _, r := range p.steps[i].refs {
			if _, twice := place[r]; twice {
				bad("%%%d runs twice", r)
			}
			place[r] = len(place)
		}
	}
	for _, r := range p.order {
		at, ok := place[r]
		if !ok {
			bad("%%%d does not run", r)
		}
		for _, a := range p.t.Args(r) {
			for _, a := range p.readFrom(p.same[a]) {
				if p.t.known(a) {
					continue
				}
				if b, ok := place[a]; !ok || b >= at {
					bad("%%%d runs before its argument %%%d", r, a)
				}
			}
		}
	}
}

// verifyMemory holds steps to reading nothing that one before has freed, and to writing only over
// what is free and has been read.
func (p *Plan) verifyMemory(bad func(format string, args ...any)) {
	freed := map[Ref]bool{}
	for i := range p.steps {
		for _, r := range p.steps[i].all() {
			for _, a := range p.t.Args(r) {
				if p.steps[i].makesAgain(p.same[a]) {
					continue
				}
				for _, a := range p.readFrom(p.same[a]) {
					if freed[a] {
						bad("step %d reads %%%d, which is gone", i, a)
					}
					if from := p.home[a]; from >= 0 && int(from) != i && p.slot != nil && p.inWindow(a) && (p.steps[i].slide == nil || p.steps[i].slide != p.steps[from].slide) {
						bad("step %d reads %%%d, which is in a window of another", i, a)
					}
				}
			}
		}
		for _, r := range p.steps[i].free {
			freed[r] = true
		}
		p.verifyOver(i, freed, bad)
	}
}

// verifyOver holds a tile program to taking the memory of what is free, of its size, and read at
// the places that are written.
func (p *Plan) verifyOver(i int, freed map[Ref]bool, bad func(format string, args ...any)) {
	tp := p.steps[i].tile
	if tp == nil {
		return
	}
	for k, a := range tp.over {
		if a == None {
			continue
		}
		if r := tp.direct[k]; !freed[a] || p.t.size(a) != p.t.size(r) || p.home[r] != int32(i) || p.home[a] >= int32(i) {
			bad("%%%d takes the memory of %%%d in step %d", r, a, i)
		}
		for m := range tp.moved {
			if slices.Contains(p.readFrom(tp.moved[m].ref), a) {
				bad("step %d writes over %%%d, which it reads at other places", i, a)
			}
		}
	}
}
