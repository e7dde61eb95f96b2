package tape

import (
	"slices"

	"nabla/tape/tensor"
)

// leastAgain is how many numbers a value has that others make again: of fewer writing it costs as little. Tests set it low.
var leastAgain = 1 << 13

// mostRemade is how many instructions a value is made of again.
const mostRemade = 3

// widestAgain is how many numbers a row has that is read in place of a value: with 8000, gradients of variances of columns
// took 1.1 times as long.
const widestAgain = 2048

// passAgain finds large values that cost less to make again, in every later tile program that reads them, than to be written
// and read: few cheap instructions on what that program reads in any case, or on one other value in place of theirs, and
// on numbers of rows or columns. (Of these alone they cost more: pairwise distances took up to 1.2 times as long.) So x
// less its mean, 2y of y^2 and the slopes of variances are never in memory: gradients of variances, of what is
// standardized or goes through layer norms take .75 to .85 of the time, of softmax .83 to .97.
func passAgain(p *Plan) {
	t := p.t
	if t.isStrip || t.isBody || !p.several(leastAgain) {
		return
	}
	a := &againFinder{Plan: p, readers: map[Ref][]Ref{}, inMemory: t.desk.marks.of(len(p.live)), again: t.desk.marks.of(len(p.live)), by: map[farRead]bool{}}
	a.findReaders()
	for _, r := range p.order {
		if readers := a.readers[r]; len(readers) > 0 && !a.inMemory[r] && a.isCheap(r) && a.mayBeIn(p.home[r]) {
			a.consider(r, readers)
		}
	}
}

// makesAgain reports whether a step makes r again.
func (s *step) makesAgain(r Ref) bool { return len(s.again) > 0 && slices.Contains(s.again, r) }

// all are the instructions of a step, in order, with those that it makes again.
func (s *step) all() []Ref {
	if len(s.again) == 0 {
		return s.refs
	}
	all := slices.Concat(s.again, s.refs)
	slices.Sort(all)
	return all
}

// An againFinder finds what is made again. Slides, chains and loops' steps, which stay in the cache, are left as they are.
type againFinder struct {
	*Plan
	readers  map[Ref][]Ref    // of large values of tile programs: who reads them elsewhere
	inMemory []bool           // by Ref: somebody must find it there
	again    []bool           // by Ref: it is made again, and nowhere in memory
	by       map[farRead]bool // what tile programs read of the memory of others

	cone          []Ref // of r that is considered
	here, instead int   // values as large as r of which it is made there: read in any case, and not
}

// findReaders finds who reads what.
func (a *againFinder) findReaders() {
	p, t := a.Plan, a.t
	for _, r := range p.order {
		h := p.home[r]
		tile := p.steps[h].kind == stepTile && t.ins[r].Op().elementwise()
		for _, x := range t.Args(r) {
			x = p.same[x]
			for _, w := range p.panes(x) {
				a.inMemory[w.ref] = true
			}
			switch {
			case p.home[x] == h || t.size(x) < leastAgain:
			case !tile || !t.sameLayout(x, r) || t.ins[r].dtype != tensor.Float64 && t.ins[r].dtype != tensor.Bool || !a.mayBeIn(h):
				a.inMemory[x] = true
			default:
				a.by[farRead{x, h}] = true
				if p.home[x] >= 0 {
					a.readers[x] = append(a.readers[x], r)
				}
			}
		}
	}
	for _, o := range p.outs {
		if o != None {
			a.inMemory[p.same[o]] = true
		}
	}
}

// mayBeIn reports whether step h is a tile program of float64 that runs by itself.
func (a *againFinder) mayBeIn(h int32) bool {
	s := &a.steps[h]
	return s.kind == stepTile && s.slide == nil && !a.isSingle(s)
}

// isCheap reports whether r is of float64, and costs less than writing it.
func (a *againFinder) isCheap(r Ref) bool {
	in := &a.t.ins[r]
	if in.dtype != tensor.Float64 {
		return false
	}
	switch in.Op() {
	case opAdd, opSub, opMul, opZMul, opNeg, opSquare:
		return true
	}
	return false
}

// consider has r made again where it is read elsewhere, if it can be made there everywhere.
func (a *againFinder) consider(r Ref, readers []Ref) {
	var cones [][]Ref
	var homes []int32
	for _, o := range readers {
		h := a.home[o]
		if slices.Contains(homes, h) {
			continue
		}
		a.cone = a.cone[:0]
		a.here, a.instead = 0, 0
		if !a.isFrom(r, a.home[r], h) || a.instead > 1 || a.here+a.instead == 0 {
			return
		}
		homes, cones = append(homes, h), append(cones, slices.Clone(a.cone))
	}
	a.again[r] = true
	for i, h := range homes {
		s := &a.steps[h]
		for _, x := range cones[i] {
			if k, is := slices.BinarySearch(s.again, x); !is {
				s.again = slices.Insert(s.again, k, x)
			}
		}
		for _, x := range cones[i] { // what they read now
			for _, y := range a.t.Args(x) {
				if y = a.same[y]; !slices.Contains(cones[i], y) {
					a.by[farRead{y, h}] = true
				}
			}
		}
	}
}

// isFrom reports whether r, of step from, is made by few instructions, the cone, of what step h can read, and counts what
// is large of that.
func (a *againFinder) isFrom(r Ref, from, h int32) bool {
	p, t := a.Plan, a.t
	if slices.Contains(a.cone, r) {
		return true
	}
	if len(a.cone) == mostRemade || !a.isCheap(r) || slices.Contains(p.steps[h].refs, r) {
		return false
	}
	a.cone = append(a.cone, r)
	for _, x := range t.Args(r) {
		switch x = p.same[x]; {
		case t.single(x):
		case p.panes(x) != nil:
			return false
		case a.again[x] || p.home[x] == from && !a.inMemory[x] && len(a.readers[x]) == 0: // it is nowhere else
			if !a.isFrom(x, p.home[x], h) {
				return false
			}
		case t.ins[x].dtype != tensor.Float64:
			return false
		case a.isSmall(x, r):
		case a.by[farRead{x, h}]:
			a.here++
		default:
			a.instead++
		}
	}
	return true
}

// isSmall reports whether x is numbers of rows of r, or such a row that others leave in the first cache.
func (a *againFinder) isSmall(x, r Ref) bool {
	n, s := a.t.size(x), a.t.Shape(x)
	return 16*n <= a.t.size(r) && (n <= widestAgain || len(s) == 0 || last(s) == 1)
}
