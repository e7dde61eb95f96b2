package tape

import (
	"slices"

	"nabla/tape/tensor"
)

// The instructions that know of batch axes. Everything else varies along the
// union of what its arguments vary along, and counts its own axes from the right.

// basis records the identity along a new batch axis: at index k of the axis, the k-th
// unit vector of the given shape. It is the seed of a Jacobian.
func (t *Tape) basis(axis int, s tensor.Shape, dt tensor.DType) Ref {
	return t.push(Instr{op: opBasis.id(), shape: t.shapeID(s), dtype: dt, Pos: t.pos,
		attr: t.newAttr(Attr{Axis: axis}), batch: t.setID([]int32{int32(axis)})})
}

// groups records sums of unit vectors along a new batch axis: at index k of the axis, a one
// for each element of colour k. It is the seed of a compressed Jacobian.
func (t *Tape) groups(axis int, s tensor.Shape, dt tensor.DType, colour []int32) Ref {
	return t.push(Instr{op: opGroups.id(), shape: t.shapeID(s), dtype: dt, Pos: t.pos,
		attr: t.newAttr(Attr{Axis: axis, Colour: colour}), batch: t.setID([]int32{int32(axis)})})
}

// unbatch turns a batch axis into leading logical axes of the given shape (whose size
// is the axis's). A value that does not vary along the axis is repeated.
func (t *Tape) unbatch(r Ref, axis int, lead tensor.Shape) Ref {
	x := t.unbatched(r, axis, lead)
	t.checkSize(x)
	return x
}

// unbatched is unbatch of a size that is nobody's business yet.
func (t *Tape) unbatched(r Ref, axis int, lead tensor.Shape) Ref {
	s := append(slices.Clone(lead), t.Shape(r)...)
	x := t.add(opUnbatch, t.shapeID(s), t.ins[r].dtype, t.newAttr(Attr{Axis: axis, Shape: lead}), r)
	t.ins[x].batch = t.minus(t.ins[r].batch, t.setID([]int32{int32(axis)}))
	return x
}

// rebatch turns the first n logical axes into a batch axis.
func (t *Tape) rebatch(r Ref, axis, n int) Ref {
	s := t.Shape(r)
	x := t.add(opRebatch, t.shapeID(s[n:]), t.ins[r].dtype, t.newAttr(Attr{Axis: axis, Shape: s[:n]}), r)
	t.ins[x].batch = t.union(t.ins[r].batch, t.setID([]int32{int32(axis)}))
	return x
}

// sumBatch sums along a batch axis; what does not vary along it is multiplied by its size.
func (t *Tape) sumBatch(r Ref, axis int) Ref {
	set := t.setID([]int32{int32(axis)})
	if !slices.Contains(t.Axes(r), int32(axis)) {
		return t.Apply(opMul, r, t.Const(float64(t.axes[axis])))
	}
	x := t.add(opSumBatch, t.ins[r].shape, t.ins[r].dtype, t.newAttr(Attr{Axis: axis}), r)
	t.ins[x].batch = t.minus(t.ins[r].batch, set)
	return x
}

var opBasis, opGroups, opUnbatch, opRebatch, opSumBatch *Op

// runBatch stands in the rows of the batch instructions, which the executor itself
// carries out: they alone see memory's leading axes.
func runBatch(*run) { panic("tape: a batch instruction ran as an ordinary one") }

var batchRows = []Op{
	{As: &opBasis, Name: "basis", Terms: (*factoring).basis, Hidden: true, Doc: "the identity along a batch axis", Stops: "constant", Run: runBatch},
	{As: &opGroups, Name: "groups", Hidden: true, Doc: "sums of unit vectors along a batch axis", Stops: "constant", Run: runBatch},
	{As: &opUnbatch, Name: "unbatch", Args: "x", Hidden: true, Doc: "a batch axis as leading axes", Run: runBatch,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a := t.Attr(r)
			return t.rebatch(t.full(ct, r), a.Axis, len(a.Shape))
		}},
	{As: &opRebatch, Name: "rebatch", Args: "x", Hidden: true, Doc: "leading axes as a batch axis", Run: runBatch,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a := t.Attr(r)
			return t.unbatch(t.full(ct, r), a.Axis, a.Shape)
		}},
	{As: &opSumBatch, Name: "sum_batch", Args: "x", Hidden: true, Doc: "sum along a batch axis", Run: runBatch,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref { return ct }},
}

// runBasis writes unit vectors, the first of them number from.
func (t *Tape) runBasis(r Ref, out []float64, from int) {
	n := t.Shape(r).Size()
	clear(out)
	for i := range t.axes[t.Attr(r).Axis] {
		out[i*n+from+i] = 1
	}
}

// runGroups writes sums of unit vectors, the first of them those of colour from.
func (t *Tape) runGroups(r Ref, out []float64, from int) {
	colour := t.Attr(r).Colour
	n := len(colour)
	for k := range t.axes[t.Attr(r).Axis] {
		row := out[k*n : (k+1)*n]
		for i, c := range colour {
			row[i] = 0
			if int(c) == from+k {
				row[i] = 1
			}
		}
	}
}

// runMoveAxis moves a batch axis between its sorted place and the front of the
// logical axes: a transposition of at most one axis, with repetition where the
// argument of unbatch does not vary along it.
func (t *Tape) runMoveAxis(r Ref, out, x []float64) {
	a := int32(t.Attr(r).Axis)
	wide, logical := t.Args(r)[0], r // wide: the side that has the batch axis
	if t.ins[r].Op() == opRebatch {
		wide, logical = r, t.Args(r)[0]
	}
	n := t.axes[a]
	inner := t.Shape(wide).Size()
	// batch axes of the logical side, in order: those before a, and those after it
	before, after := 1, 1
	for _, ax := range t.Axes(logical) {
		if ax < a {
			before *= t.axes[ax]
		} else {
			after *= t.axes[ax]
		}
	}
	varies := slices.Contains(t.Axes(wide), a)
	for i := range before {
		for k := range n {
			for j := range after {
				l := ((i*after+j)*n + k) * inner
				w := ((i*n+k)*after + j) * inner
				if !varies {
					w = (i*after + j) * inner
				}
				if t.ins[r].Op() == opRebatch {
					copy(out[w:w+inner], x[l:l+inner])
				} else {
					copy(out[l:l+inner], x[w:w+inner])
				}
			}
		}
	}
}

// runSumBatch adds the points of a batch axis in order.
func (t *Tape) runSumBatch(r Ref, out, x []float64, threads int) {
	a := int32(t.Attr(r).Axis)
	n := t.axes[a]
	before, inner := 1, t.Shape(r).Size()
	for _, ax := range t.Axes(r) {
		if ax < a {
			before *= t.axes[ax]
		} else {
			inner *= t.axes[ax]
		}
	}
	sumMiddle(out, x, before, n, inner, threads)
}
