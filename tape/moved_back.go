package tape

import (
	"cmp"
	"math"
	"slices"

	"nabla/tape/tensor"
)

// mostLayers is how many pieces are added so: a window of 5×5 has as many slices.
const mostLayers = 32

// addPieces is the sum of few large pieces, each in zeros of its own: a tile program reads all of
// them where they lie (moved.go). None where there are many, or they leave most of x out.
func (t *Tape) addPieces(x Ref, ps []piece) (sum Ref) {
	s := t.Shape(x)
	points := 1
	for _, p := range ps {
		points = max(points, t.points(p.ct))
	}
	if len(ps) > mostLayers || len(s) == 0 || !t.isLarge(s.Size()*points) {
		return None
	}
	inner, all := s[1:].Size(), 0
	for _, p := range ps {
		n := t.Shape(p.ct).Size()
		all += n
		if n%inner != 0 || p.off%inner != 0 {
			return None
		}
	}
	if 2*all < len(ps)*s.Size() {
		return None
	}
	sum = None
	for _, parts := range layers(t, t.merged(ps)) {
		if sum == None {
			sum = t.layer(s, inner, parts)
		} else {
			sum = t.addCotangents(sum, t.layer(s, inner, parts))
		}
	}
	return sum
}

// isLarge reports whether a value of so many numbers, at each point of a loop around it, is read where it lies.
func (t *Tape) isLarge(n int) bool { return n*max(t.wide, 1) >= t.leastRead() }

// merged adds pieces of one place before they are moved, where they are computed; what is moved
// itself is read where it lies instead.
func (t *Tape) merged(ps []piece) (all []piece) {
	for _, p := range ps {
		k := slices.IndexFunc(all, func(o piece) bool {
			return o.off == p.off && t.ins[o.ct].shape == t.ins[p.ct].shape && !t.movesOne(o.ct) && !t.movesOne(p.ct)
		})
		if k < 0 {
			all = append(all, p)
		} else {
			all[k].ct = t.Apply(opAdd, all[k].ct, p.ct)
		}
	}
	return all
}

// layers are pieces in groups, each in the order of their places, of which none lie over one
// another.
func layers(t *Tape, ps []piece) (all [][]piece) {
next:
	for _, p := range ps {
		end := p.off + t.Shape(p.ct).Size()
		for i, l := range all {
			k, _ := slices.BinarySearchFunc(l, p, func(a, b piece) int { return a.off - b.off })
			if (k == 0 || l[k-1].off+t.Shape(l[k-1].ct).Size() <= p.off) && (k == len(l) || end <= l[k].off) {
				all[i] = slices.Insert(l, k, p)
				continue next
			}
		}
		all = append(all, []piece{p})
	}
	return all
}

// layer is a value of shape s with pieces, whose places are multiples of inner, and zeros
// between them.
func (t *Tape) layer(s tensor.Shape, inner int, ps []piece) Ref {
	cuts := make([]cut, len(ps))
	for i, p := range ps {
		n := t.Shape(p.ct).Size() / inner
		cuts[i] = cut{t.reshape(p.ct, append(tensor.Shape{n}, s[1:]...)), -len(s), [3]int{p.off / inner, n, 1}}
	}
	return t.rowOf(s, cuts)
}

// A cut is the cotangent of a slice, and of which: its axis, from the right, where it begins, how
// many there are, and the step.
type cut struct {
	ct   Ref
	axis int
	of   [3]int
}

// end is behind the last place of a cut whose step is 1.
func (c *cut) end() int { return c.of[0] + c.of[1] }

// besides reports whether c, of a value of shape s, may be joined with the cut before it: it lies behind that, or both
// are some of the numbers of every group of as many as their step.
func (c *cut) besides(before *cut, s tensor.Shape) bool {
	switch {
	case c.axis != before.axis || c.of[2] != before.of[2]:
		return false
	case c.of[2] == 1:
		return before.end() <= c.of[0]
	}
	return c.isWoven(s) && before.isWoven(s) && before.of[0] < c.of[0]
}

// isWoven reports whether c is one number of every group of as many as its step.
func (c *cut) isWoven(s tensor.Shape) bool {
	return c.of[2] > 1 && c.of[0] < c.of[2] && c.of[1]*c.of[2] == s[len(s)+c.axis]
}

// addCuts adds the cotangents of slices to that of what they were cut from. Those of one slice, which a
// program writes more than once, are added before they are moved, and those that lie beside one another
// are joined: nothing is added to zeros. The gradient of cross products of 1e5 pairs, whose columns are
// read four times each, takes half the time.
func (v *sweep) addCuts(a Ref, cuts []cut) {
	t := v.t
	type place struct {
		axis int
		of   [3]int
	}
	first := map[place]int{}
	var all []cut
	for _, c := range cuts {
		at := place{c.axis, c.of}
		k, ok := first[at]
		if !ok || t.isMoved(all[k].ct) || t.isMoved(c.ct) {
			first[at] = len(all)
			all = append(all, c)
		} else {
			all[k].ct = t.addAlike(all[k].ct, c.ct)
		}
	}
	slices.SortStableFunc(all, func(a, b cut) int { return cmp.Or(a.axis-b.axis, a.of[0]-b.of[0]) })
	s := t.Shape(a)
	for len(all) > 0 {
		var beside, rest []cut
		for _, c := range all {
			if k := len(beside); k == 0 || c.besides(&beside[k-1], s) {
				beside = append(beside, c)
			} else {
				rest = append(rest, c)
			}
		}
		all = rest
		v.addBeside(a, s, beside)
	}
}

// addBeside adds cuts along one axis that do not overlap: together, if they leave less than half out.
func (v *sweep) addBeside(a Ref, s tensor.Shape, cuts []cut) {
	left := s[len(s)+cuts[0].axis]
	for _, c := range cuts {
		left -= c.of[1]
	}
	if len(cuts) > 1 && 2*left <= s[len(s)+cuts[0].axis] {
		v.add(a, v.t.rowOf(s, cuts))
		return
	}
	for i := range cuts {
		v.add(a, v.t.rowOf(s, cuts[i:i+1]))
	}
}

// addAlike is the sum of x and y, in the shape in which both were computed where that is one: a program
// over tiles of that shape adds them.
func (t *Tape) addAlike(x, y Ref) Ref {
	if t.ins[x].Op() == opReshape && t.ins[y].Op() == opReshape && !t.known(x) && !t.known(y) {
		a, b := t.Args(x)[0], t.Args(y)[0]
		if t.ins[a].shape == t.ins[b].shape && t.ins[x].shape == t.ins[y].shape {
			return t.reshape(t.addAlike(a, b), t.Shape(x))
		}
	}
	return t.Apply(opAdd, x, y)
}

// rowOf is a value of shape s that cuts along one axis make up, with zeros between them. Several
// are in order, and lie beside one another.
func (t *Tape) rowOf(s tensor.Shape, cuts []cut) Ref {
	axis := len(s) + cuts[0].axis
	c := cuts[0]
	if len(cuts) == 1 && (c.of[1] < s[axis] || c.of[2] != 1) {
		return t.record(opUnslice, s, Attr{Axes: []int{c.axis}, Ints: slices.Clone(c.of[:])}, c.ct)
	}
	if c.of[2] > 1 {
		return t.woven(s, cuts)
	}
	var parts []Ref
	at := 0
	zeros := func(to int) {
		if to > at {
			gap := slices.Clone(s)
			gap[axis] = to - at
			parts = append(parts, t.broadcastTo(t.constOf(0, t.ins[cuts[0].ct].dtype), gap))
		}
	}
	for _, c := range cuts {
		zeros(c.of[0])
		parts = append(parts, c.ct)
		at = c.end()
	}
	zeros(s[axis])
	if len(parts) == len(cuts) && t.isLarge(s.Size()*t.points(parts[0])) {
		return t.concatMoved(parts, axis)
	}
	return t.concat(parts, axis)
}

// concatMoved is concat of parts that leave nothing out, as roll has them on its way back. Where all are moved of one value
// that is a multiple, what it is a multiple of is moved, and multiplied here: so the terms of a stencil's cotangent are
// read where the one of its result lies, and none is written down. Jacobians through the heat equation on a ring of
// 60, and its gradient on one of 20,000, take .66 of the time, a Hessian through Burgers' equation .8.
func (t *Tape) concatMoved(parts []Ref, axis int) Ref {
	from := func(x Ref) Ref {
		moved := make([]Ref, len(parts))
		for i, p := range parts {
			moved[i] = t.movedAs(p, x)
		}
		return t.concatMoved(moved, axis)
	}
	if v := t.movedFrom(parts); v != None && !t.known(v) {
		switch in, args := &t.ins[v], t.Args(v); in.Op() {
		case opNeg:
			return t.Apply(opNeg, from(args[0]))
		case opMul, opZMul:
			op, x, y := in.Op(), args[0], args[1]
			switch {
			case t.isFactor(y, x, v):
				return t.Apply(op, from(x), y)
			case t.isFactor(x, y, v):
				return t.Apply(op, x, from(y))
			case t.isLighter(y, x, v), t.isLighter(x, y, v):
				return t.Apply(op, from(x), from(y))
			}
		}
	}
	return t.concat(parts, axis)
}

// movedFrom is what all parts are slices of, None where that is not one value.
func (t *Tape) movedFrom(parts []Ref) Ref {
	v := None
	for _, p := range parts {
		op := t.ins[p].Op()
		if op != opBlock && op != opSlice || t.known(p) || v != None && t.Args(p)[0] != v {
			return None
		}
		v = t.Args(p)[0]
	}
	return v
}

// isFactor reports whether k is a constant number, and x of the form of their product.
func (t *Tape) isFactor(k, x, product Ref) bool {
	_, number := t.constant(k)
	return number && t.isAlike(x, product)
}

// isLighter reports whether y has the shape of its product with x, but is at fewer points, or no cotangent of a step's.
func (t *Tape) isLighter(y, x, product Ref) bool {
	return t.isAlike(x, product) && t.ins[y].shape == t.ins[product].shape && t.ins[y].dtype == t.ins[product].dtype &&
		(t.points(y) < t.points(product) || y < t.forth)
}

// isAlike reports whether x and y have the same axes and dtype.
func (t *Tape) isAlike(x, y Ref) bool {
	return t.sameLayout(x, y) && t.ins[x].dtype == t.ins[y].dtype
}

// woven is rowOf for cuts of every group of numbers: these are put beside one another along an axis of their own. The
// gradient of sum(x[::2]*x[1::2]) over 1e5 numbers takes half the time of one that adds them, each between zeros.
func (t *Tape) woven(s tensor.Shape, cuts []cut) Ref {
	axis, step := len(s)+cuts[0].axis, cuts[0].of[2]
	groups := slices.Concat(s[:axis], tensor.Shape{s[axis] / step, step}, s[axis+1:])
	one := slices.Clone(groups)
	one[axis+1] = 1
	each := make([]cut, len(cuts))
	for i, c := range cuts {
		each[i] = cut{t.reshape(c.ct, one), axis + 1 - len(groups), [3]int{c.of[0], 1, 1}}
	}
	return t.reshape(t.rowOf(groups, each), s)
}

// sliceSum is a slice of a cotangent: of a large sum of what is moved the sum of slices, which a tile program reads
// where the numbers lie. So the sum is not computed beside what the slice leaves out, nor kept: the gradient
// through steps of the heat equation on 64×64, with zeros put around by pad, takes .6 of the time.
func (t *Tape) sliceSum(ct Ref, axis, from, to int) Ref {
	if left := mostLayers; t.isLarge(t.size(ct)) && t.ins[ct].Op() == opAdd && t.isSumOfMoved(ct, &left) {
		return t.slicedSum(ct, axis, from, to)
	}
	return t.slice(ct, axis, from, to, 1)
}

// isSumOfMoved reports whether r is a sum of at most so many values that are moved, or multiples of such.
func (t *Tape) isSumOfMoved(r Ref, left *int) bool {
	if t.known(r) {
		return false
	}
	switch in := &t.ins[r]; in.Op() {
	case opAdd, opSub:
		for _, a := range t.Args(r) {
			if t.ins[a].shape != in.shape || t.ins[a].batch != in.batch || !t.isSumOfMoved(a, left) {
				return false
			}
		}
		return true
	case opMul:
		_, number := t.constant(in.args[1])
		return number && t.ins[in.args[0]].shape == in.shape && t.isSumOfMoved(in.args[0], left)
	case opConcat:
	default:
		if !t.movesOne(r) {
			return false
		}
	}
	*left--
	return *left >= 0
}

// slicedSum is the slice of such a sum.
func (t *Tape) slicedSum(r Ref, axis, from, to int) Ref {
	switch op, args := t.ins[r].Op(), t.Args(r); op {
	case opAdd, opSub:
		x := t.slicedSum(args[0], axis, from, to)
		return t.Apply(op, x, t.slicedSum(args[1], axis, from, to))
	case opMul:
		k := args[1]
		return t.Apply(op, t.slicedSum(args[0], axis, from, to), k)
	}
	return t.slice(r, axis, from, to, 1)
}

// isMoved reports whether r is read where another value lies, in another shape or not.
func (t *Tape) isMoved(r Ref) bool {
	for t.ins[r].Op() == opReshape && !t.known(r) {
		r = t.Args(r)[0]
	}
	return t.movesOne(r)
}

// addCotangents is the sum of x and y. Two large ones that are put back into zeros beside each
// other are one value. Where one is a multiple of what another is of, as in a stencil, the
// factor is applied here and not before it is moved: then they are one value in memory, read
// at several distances. Where nothing is put that gives -0 instead of 0, which leaves the other
// one as it is; so of one alone the factor is applied before.
func (t *Tape) addCotangents(x, y Ref) Ref {
	if !t.isLarge(t.size(y)) {
		return t.Apply(opAdd, x, y)
	}
	if r := t.joined(x, y); r != None {
		return r
	}
	if t.ins[x].Op() == opAdd && !t.known(x) {
		if r := t.joined(t.Args(x)[1], y); r != None {
			return t.addCotangents(t.Args(x)[0], r)
		}
	}
	for _, p := range [2][2]Ref{{x, y}, {y, x}} {
		base := t.root(p[0])
		if base == p[0] && t.ins[p[1]].Op() != opUnslice {
			continue
		}
		switch v, k, ok := t.multipleOf(p[1], base); {
		case !ok || k == 1:
		case k == -1:
			return t.Apply(opSub, p[0], v)
		default:
			return t.Apply(opAdd, p[0], t.Apply(opMul, v, t.constOf(k, t.ins[v].dtype)))
		}
	}
	return t.Apply(opAdd, x, y)
}

// joined is x + y where these fill the zeros of each other along an axis, None elsewhere.
func (t *Tape) joined(x, y Ref) Ref {
	if t.ins[x].Op() != opUnslice || t.ins[y].Op() != opUnslice || t.known(x) || t.known(y) ||
		t.ins[x].shape != t.ins[y].shape || t.ins[x].batch != t.ins[y].batch || t.Attr(x).Axes[0] != t.Attr(y).Axes[0] {
		return None
	}
	s := t.Shape(x)
	a, b, axis := t.Attr(x).Ints, t.Attr(y).Ints, len(s)+t.Attr(x).Axes[0]
	if a[0] > b[0] {
		x, y, a, b = y, x, b, a
	}
	if a[0] != 0 || b[0] != a[1] || a[1]+b[1] != s[axis] || a[2] != 1 || b[2] != 1 {
		return None
	}
	return t.concat([]Ref{t.Args(x)[0], t.Args(y)[0]}, axis)
}

// movesOne reports whether r moves its one argument, and is not known.
func (t *Tape) movesOne(r Ref) bool {
	switch t.ins[r].Op() {
	case opSlice, opUnslice, opBlock, opReshape:
		return !t.known(r)
	}
	return false
}

// root is what r, a sum or a multiple of what is moved, was last made of.
func (t *Tape) root(r Ref) Ref {
	for {
		switch op := t.ins[r].Op(); {
		case t.known(r):
			return r
		case op == opAdd, op == opSub:
			r = t.Args(r)[1]
		case op == opConcat, t.movesOne(r):
			r = t.Args(r)[0]
		case op == opMul && t.movesOne(t.Args(r)[0]):
			r = t.Args(r)[0]
		default:
			return r
		}
	}
}

// multipleOf says what r, which is moved, is a multiple of: of base, moved as r is.
func (t *Tape) multipleOf(r, base Ref) (v Ref, k float64, ok bool) {
	if r == base {
		return r, 1, true
	}
	if t.known(r) || r < base {
		return None, 0, false
	}
	in, args := &t.ins[r], t.Args(r)
	switch in.Op() {
	case opNeg:
		v, k, ok = t.multipleOf(args[0], base)
		return v, -k, ok
	case opMul:
		for i, a := range args {
			o := args[1-i]
			if c, number := t.constant(a); number && c-c == 0 && t.isAlike(o, r) {
				v, k, ok = t.multipleOf(o, base)
				return v, c * k, ok && (math.Abs(c) == 1 || math.Abs(k) == 1)
			}
		}
	}
	if t.movesOne(r) {
		if v, k, ok = t.multipleOf(args[0], base); ok && v != args[0] {
			v = t.movedAs(r, v)
		} else if ok {
			v = r
		}
		return v, k, ok
	}
	return None, 0, false
}

// movedAs moves v as r moves its argument.
func (t *Tape) movedAs(r, v Ref) Ref {
	if t.ins[r].Op() == opBlock {
		return t.blockOf(v, int(t.ins[r].args[1]), t.Shape(r))
	}
	return t.record(t.ins[r].Op(), t.Shape(r), *t.Attr(r), v)
}
