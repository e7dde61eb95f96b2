package tape

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// What moves numbers is no operation where elementwise ones over many numbers are its only
// readers: slices, what is put back into zeros, parts joined together. Their tile program
// reads the numbers where they lie. So a stencil is one program that reads the same memory at
// several distances, and on the way back another one, which adds up its cotangents.

// A pane is numbers of a value where they lie in the memory of another, ref, by the axes of
// the value. Several of them, which share no number, are all of it; elsewhere it is 0.
type pane struct {
	ref  Ref
	off  int // where in the memory the first one lies
	axes []ticks
}

// Ticks are places along an axis: count of them from first on, gap apart, which lie stride
// apart in memory.
type ticks struct{ first, count, gap, stride int }

// end is behind the last place.
func (c *ticks) end() int { return c.first + (c.count-1)*c.gap + 1 }

// isEmpty reports whether w has no places. The end of none is behind the first only where no gap lies between places.
func (w pane) isEmpty() bool {
	return slices.ContainsFunc(w.axes, func(c ticks) bool { return c.count == 0 })
}

// leastMoved is how many numbers a value has that is read where it lies: of fewer a copy is
// in the cache, and steps of loops read them in ways of their own (loop_steady_reads.go).
// Tests set it low.
var leastMoved = kernels.SumBlock/4 + 1

// leastRead is leastMoved where values may be those of many points, all rows of a Jacobian or all points of a loop's step: their
// copies go point by point. Jacobians and Hessians through 200 steps of the heat equation on rings of 10 to 60, of 1025 to 2048
// numbers, take half the time, those of Lorenz' equations of 1996 on a ring of 40 .58 and .46.
func (t *Tape) leastRead() int {
	if t.wide > 1 || len(t.axes) > 0 {
		return max(leastMoved/4, min(leastMoved, 2)) // single numbers are not read so
	}
	return leastMoved
}

// leastShifted is that of r, which moves: shapes and transpositions alone are not worth it, and keep steps from being
// steady. Jacobians through a hundred steps of an equation of 30 unknowns took 1.25 of the time.
func (t *Tape) leastShifted(r Ref) int {
	switch t.ins[r].Op() {
	case opSlice, opUnslice, opConcat, opBlock:
		return t.leastRead()
	}
	return leastMoved
}

// mostPanes is how many panes a value has that is read so.
const mostPanes = 12

// passMoved finds what is read where it lies, and takes it out of what runs.
func passMoved(p *Plan) {
	t := p.t
	if t.isStrip || !p.findPanes() {
		return
	}
	inMemory := t.desk.marks.of(len(p.live))
	for _, r := range p.outs {
		if r != None {
			inMemory[p.same[r]] = true
		}
	}
	for k := len(p.order) - 1; k >= 0; k-- { // all that reads r comes before it here
		r := p.order[k]
		if ws := p.panes(r); ws != nil && !inMemory[r] {
			for i := range ws {
				inMemory[ws[i].ref] = true
			}
			continue
		}
		p.moved[r] = 0
		for _, a := range t.Args(r) {
			if a = p.same[a]; p.moved[a] == 0 || t.size(a) < t.leastRead() || !p.readsMoved(r) || areTurned(p.panes(a)) {
				inMemory[a] = true
			}
		}
	}
	p.order = slices.DeleteFunc(p.order, func(r Ref) bool { return p.moved[r] != 0 })
}

// findPanes finds the panes of large values that move, and of what they are made of; false
// where there are none.
func (p *Plan) findPanes() bool {
	t := p.t
	var wanted []bool
	for k := len(p.order) - 1; k >= 0; k-- {
		r := p.order[k]
		if !p.mayMove(r) || t.size(r) < t.leastShifted(r) && (wanted == nil || !wanted[r]) {
			continue
		}
		if wanted == nil {
			wanted = t.desk.marks.of(len(p.live))
		}
		wanted[r] = true
		for _, a := range t.Args(r) {
			wanted[p.same[a]] = true
		}
	}
	if wanted == nil {
		return false
	}
	p.moved = t.desk.places.of(len(p.live))
	for _, r := range p.order {
		if wanted[r] && p.mayMove(r) {
			if ws := p.panesOf(r); ws != nil && len(ws) <= mostPanes {
				p.lies = append(p.lies, ws)
				p.moved[r] = int32(len(p.lies))
			}
		}
	}
	return p.lies != nil
}

// mayMove reports whether r moves numbers and does nothing else to them.
func (p *Plan) mayMove(r Ref) bool {
	t := p.t
	in := &t.ins[r]
	if in.shape == 0 && in.batch == 0 || p.inChain(r) {
		return false
	}
	switch in.Op() {
	case opSlice, opUnslice, opConcat, opReverse, opBlock, opReshape, opBroadcast, opTranspose:
	default:
		return false
	}
	for _, a := range t.Args(r) {
		if t.ins[a].dtype != in.dtype || in.dtype == tensor.Float32 && !t.exact(a) { // it would be rounded
			return false
		}
	}
	return true
}

func (p *Plan) inChain(r Ref) bool { return p.chain != nil && p.chain[r] != 0 }

// readsMoved reports whether r reads its arguments where they lie.
func (p *Plan) readsMoved(r Ref) bool {
	return p.t.ins[r].Op().elementwise() && !p.inChain(r) && p.t.size(r) >= p.t.leastRead()
}

// panes are those of r; nil where it is in memory itself.
func (p *Plan) panes(r Ref) []pane {
	if p.lies == nil || p.moved[r] == 0 {
		return nil
	}
	return p.lies[p.moved[r]-1]
}

// panesOf finds the panes of r, which moves numbers; nil where they are none.
func (p *Plan) panesOf(r Ref) (all []pane) {
	t := p.t
	at, args := t.Attr(r), t.Args(r)
	switch op := t.ins[r].Op(); op {
	case opReshape:
		return p.reshaped(r)
	case opBlock:
		return p.blockOf(r)
	case opConcat:
		for i, a := range args {
			ws := p.liesIn(a, r)
			for _, w := range ws {
				w.axes[len(w.axes)+at.Axes[0]].first += at.Ints[i]
			}
			if all = append(all, ws...); len(all) > mostPanes {
				return nil
			}
		}
		return all
	case opBroadcast:
		return t.broadcastPanes(p.liesIn(args[0], r), args[0], r)
	case opTranspose:
		all = p.liesIn(args[0], r)
		for i := range all {
			all[i].transpose(at.Ints)
		}
		return all
	case opReverse:
		all = p.liesIn(args[0], r)
		for i := range all {
			all[i].reverse(len(all[i].axes)-1, last(t.Shape(r)))
		}
		return all
	case opUnslice:
		all = p.liesIn(args[0], r)
		for i := range all {
			all[i].unslice(len(all[i].axes)+at.Axes[0], at.Ints[0], at.Ints[1], at.Ints[2])
		}
		return all
	}
	return slicePanes(p.liesIn(args[0], r), at.Axes[0], at.Ints[0], at.Ints[1], at.Ints[2])
}

// liesIn are the panes of argument a of r that have places, by the batch axes of r and its own axes.
func (p *Plan) liesIn(a, r Ref) []pane {
	t := p.t
	a = p.same[a]
	var all []pane
	if ws := p.panes(a); ws != nil {
		all = slices.Clone(ws)
		for i := range all {
			all[i].axes = slices.Clone(all[i].axes)
		}
	} else {
		all = []pane{{a, 0, wholeTicks(t.physical(a))}}
	}
	if t.ins[a].batch != t.ins[r].batch {
		for i, axis := range t.Axes(r) {
			if !slices.Contains(t.Axes(a), axis) {
				for k := range all {
					all[k].axes = slices.Insert(all[k].axes, i, ticks{0, t.axes[axis], 1, 0})
				}
			}
		}
	}
	return slices.DeleteFunc(all, pane.isEmpty)
}

// wholeTicks are those of all of a shape.
func wholeTicks(s tensor.Shape) []ticks {
	axes, stride := make([]ticks, len(s)), 1
	for i := len(s) - 1; i >= 0; i-- {
		axes[i] = ticks{0, s[i], 1, stride}
		stride *= s[i]
	}
	return axes
}

// broadcastPanes spreads panes of a, by the batch axes of r, over the shape of r.
func (t *Tape) broadcastPanes(all []pane, a, r Ref) []pane {
	from, to, front := t.Shape(a), t.Shape(r), len(t.Axes(r))
	for k := range all {
		w := &all[k]
		w.axes = slices.Insert(w.axes, front, make([]ticks, len(to)-len(from))...)
		for i, d := range to {
			if j := i - len(to) + len(from); j < 0 || from[j] == 1 && d != 1 {
				w.axes[front+i] = ticks{0, d, 1, 0}
			}
		}
	}
	return all
}

// reshaped finds the panes of another shape of a value: that lies as it is, or whose axes are some of its own joined,
// or get or lose axes of one place.
func (p *Plan) reshaped(r Ref) []pane {
	t := p.t
	a := p.same[t.Args(r)[0]]
	to := t.physical(r)
	if p.panes(a) == nil {
		return []pane{{a, 0, wholeTicks(to)}}
	}
	from := t.physical(a)
	all := p.liesIn(a, r)
	for k := range all {
		if !all[k].reshape(from, to) {
			return nil
		}
	}
	return all
}

// reshape makes axes of a shape those of another; false where they would be no axes.
func (w *pane) reshape(from, to tensor.Shape) bool {
	axes, i := make([]ticks, len(to)), 0
	for j, d := range to {
		c, n := ticks{0, 1, 1, 0}, 1
		for ; n < d && i < len(from); i++ {
			var ok bool
			if c, ok = c.joined(w.axes[i], from[i]); !ok {
				return false
			}
			n *= from[i]
		}
		if n != d {
			return false
		}
		axes[j] = c
	}
	w.axes = axes
	return from[i:].Size() == 1
}

// joined are the places along an axis and the next one, of d places, as one.
func (c ticks) joined(next ticks, d int) (both ticks, ok bool) {
	both = ticks{c.first*d + next.first, next.count, next.gap, next.stride}
	switch {
	case c.count == 1:
	case next.count == 1:
		both.count, both.gap, both.stride = c.count, c.gap*d, c.stride
	case next.count == d && c.gap == 1 && c.stride == next.stride*d:
		both.count *= c.count
	default:
		return ticks{}, false
	}
	return both, true
}

// blockOf finds the panes of a block.
func (p *Plan) blockOf(r Ref) []pane {
	t := p.t
	a, off := p.same[t.Args(r)[0]], int(t.ins[r].args[1])
	from, to := t.Shape(a), t.Shape(r)
	if p.panes(a) == nil {
		axes, stride := wholeTicks(t.physical(r)), from.Size()
		for i := len(t.Axes(r)) - 1; i >= 0; i-- {
			axes[i].stride = stride
			stride *= axes[i].count
		}
		return []pane{{a, off, axes}}
	}
	if len(from) == 0 {
		return nil
	}
	inner := tensor.Shape(from[1:]).Size()
	if off%inner != 0 || to.Size()%inner != 0 {
		return nil
	}
	n := to.Size() / inner
	drop := n == 1 && to.Equal(from[1:])
	if !drop && !to.Equal(append(tensor.Shape{n}, from[1:]...)) {
		return nil
	}
	all := slicePanes(p.liesIn(a, r), -len(from), off/inner, n, 1)
	if drop {
		for k := range all {
			i := len(all[k].axes) - len(from)
			all[k].axes = slices.Delete(all[k].axes, i, i+1)
		}
	}
	return all
}

// slicePanes are panes of a slice, of an axis from the right; nil where they are none.
func slicePanes(all []pane, axis, from, n, step int) []pane {
	kept := all[:0]
	for _, w := range all {
		some, ok := w.slice(len(w.axes)+axis, from, n, step)
		if !ok {
			return nil
		}
		if some {
			kept = append(kept, w)
		}
	}
	return kept
}

// transpose makes its last axes those that ints names, from the right.
func (w *pane) transpose(ints []int) {
	n := len(w.axes)
	from := slices.Clone(w.axes)
	for i, k := range ints {
		w.axes[n-len(ints)+i] = from[n+k]
	}
}

// areTurned reports whether axes lie in another order than they have. A transposition by itself
// is faster there: it keeps both sides in the cache, and rows of a hundred numbers that lie far
// apart, read by a program with sines, took 1.4 times as long.
func areTurned(all []pane) bool {
	return slices.ContainsFunc(all, func(w pane) bool {
		before := math.MaxInt // the stride of the axis before
		for _, c := range w.axes {
			if c.count == 1 || c.stride == 0 {
				continue
			}
			if stride := max(c.stride, -c.stride); stride > before {
				return true
			} else {
				before = stride
			}
		}
		return false
	})
}

// reverse turns axis k, of n places, around.
func (w *pane) reverse(k, n int) {
	c := &w.axes[k]
	w.off += c.stride * (c.count - 1)
	c.first, c.stride = n-c.end(), -c.stride
}

// unslice makes place i of axis k, which has n, place from + step*i.
func (w *pane) unslice(k, from, n, step int) {
	if step < 0 {
		w.reverse(k, n)
		from, step = from+step*(n-1), -step
	}
	c := &w.axes[k]
	c.first, c.gap = from+step*c.first, c.gap*step
}

// slice makes place from + step*i of axis k place i, of n, and reports whether some are left;
// not ok: what is left is no pane.
func (w *pane) slice(k, from, n, step int) (some, ok bool) {
	if step < 0 {
		some, ok = w.slice(k, from+step*(n-1), n, -step)
		if some {
			w.reverse(k, n)
		}
		return some, ok
	}
	c := &w.axes[k]
	if c.count == 1 {
		c.gap = 1
	}
	var first, end int // of the places, which are left
	pace := 1          // from one that is left to the next
	switch {
	case c.gap == step: // one meets each of the other, or none
		if (c.first-from)%step != 0 {
			return false, true
		}
		first, end = ceilDiv(from-c.first, step), ceilDiv(from+step*n-c.first, step)
		first, end = max(first, 0), min(end, c.count)
		c.first, c.gap = (c.first+first*step-from)/step, 1
	case step == 1:
		first, end = max(ceilDiv(from-c.first, c.gap), 0), min(ceilDiv(from+n-c.first, c.gap), c.count)
		c.first += first*c.gap - from
	case c.gap == 1:
		i := max(ceilDiv(c.first-from, step), 0) // of the slice, the first one that is a place
		first, end = from+step*i-c.first, min(from+step*n-c.first, c.count)
		c.first, pace = i, step
	default:
		return false, false
	}
	if first >= end {
		return false, true
	}
	w.off += first * c.stride
	c.count, c.stride = (end-first+pace-1)/pace, c.stride*pace
	return true, true
}

// ceilDiv is x/y rounded up, of a y above 0.
func ceilDiv(x, y int) int {
	if x <= 0 {
		return -(-x / y)
	}
	return (x + y - 1) / y
}

// A layout is a moved value as a tile program reads it: its panes by the axes of the
// program's space, of which such are joined that go on.
type layout struct {
	dims      []int
	panes     []pane
	whole     bool // nothing of it is 0 beside them
	scattered bool // few of its numbers lie together
	drifting  int  // the pane whose numbers lie equally far from their places in all rows, from 1; or 0
}

// leastRow is how many numbers a row has that is copied by itself. Tests set it low.
var leastRow = 72

// layoutOf is how r reads a, which is moved.
func (p *Plan) layoutOf(a, r Ref) *layout {
	t := p.t
	lay := &layout{panes: t.broadcastPanes(p.liesIn(a, r), a, r)}
	left := 0
	for i, d := range t.physical(r) {
		if d == 1 {
			continue
		}
		for k := range lay.panes { // those that stay are moved to the front
			axes := lay.panes[k].axes
			axes[left] = axes[i]
		}
		lay.dims = append(lay.dims, d)
		if left++; left > 1 && lay.join(left-2) {
			left--
		}
	}
	count := 0
	for k := range lay.panes {
		w := &lay.panes[k]
		w.axes = w.axes[:left]
		n := 1
		for i := range w.axes {
			n *= w.axes[i].count
		}
		count += n
		c := &w.axes[left-1]
		if c.count == 1 {
			c.gap, c.stride = 1, 1
		}
		lay.scattered = lay.scattered || c.gap > 1 || c.stride != 1 && c.stride != 0
	}
	lay.scattered = lay.scattered || lay.dims[left-1] < leastRow
	lay.whole = count == t.size(r)
	lay.drifting = lay.drift()
	return lay
}

// mostBeside is how many places of a row are beside the drifting pane at most.
const mostBeside = 8

// longestDrifting is how many numbers rows have at most of which that matters: rows of 4000 are read as fast one by one.
const longestDrifting = 2048

// drift finds the pane that has most of every row but a few, where it lies as a whole so far from its places: it is
// read as a whole, with edges (edges.go), or all of it is copied at once, and what stands in between put over that; but
// rows of leastTogether are then read where they lie.
func (lay *layout) drift() int {
	if len(lay.dims) != 2 || lay.dims[1] > longestDrifting {
		return 0
	}
	main := 0
	for k := range lay.panes {
		r, c := &lay.panes[k].axes[0], &lay.panes[k].axes[1]
		if r.gap != 1 || c.gap != 1 {
			return 0
		}
		if c.stride == 1 && r.stride == lay.dims[1] && 2*r.count > lay.dims[0] && c.count > mostBeside && lay.dims[1]-c.count <= mostBeside {
			main = k + 1
		}
	}
	return main
}

// join makes axis k and the last one, which comes after it, one, if they go on in every pane.
func (lay *layout) join(k int) bool {
	d := lay.dims[k+1]
	for i := range lay.panes {
		x, y := &lay.panes[i].axes[k], &lay.panes[i].axes[k+1]
		if y.count != d || x.count > 1 && (x.gap != 1 || x.stride != y.stride*d) {
			return false
		}
	}
	for i := range lay.panes {
		x, y := &lay.panes[i].axes[k], &lay.panes[i].axes[k+1]
		*x = ticks{x.first * d, x.count * d, 1, y.stride}
	}
	lay.dims = lay.dims[:k+1]
	lay.dims[k] *= d
	return true
}

// equal reports whether two readings are of the same numbers.
func (lay *layout) equal(o *layout) bool {
	return slices.Equal(lay.dims, o.dims) && slices.EqualFunc(lay.panes, o.panes, func(v, w pane) bool {
		return v.ref == w.ref && v.off == w.off && slices.Equal(v.axes, w.axes)
	})
}

// spread is a layout that is one value, from its first number on, spread over more axes; nil where it is none.
func (lay *layout) spread() *spread {
	if len(lay.panes) != 1 || !lay.whole || lay.panes[0].off != 0 {
		return nil
	}
	w := &lay.panes[0]
	sp := &spread{dims: lay.dims}
	next, spreads := 1, false // the stride of an axis, and whether there is one that has none
	for i := len(lay.dims) - 1; i >= 0; i-- {
		switch w.axes[i].stride {
		case 0:
			spreads = true
		case next:
			next *= lay.dims[i]
		default:
			return nil
		}
	}
	if !spreads {
		return nil
	}
	for i := range lay.dims {
		sp.strides = append(sp.strides, w.axes[i].stride)
	}
	return sp
}
