package tape

import "slices"

// cutsOf tells along which axis of its memory each argument of r is cut where r is cut along
// axis p of its own, of size rows or a multiple: -1 where it is read whole. It is not ok where
// rows of r need more than their own rows of such arguments.
func (t *Tape) cutsOf(r Ref, p, rows int) (q []int, ok bool) {
	in := &t.ins[r]
	args, s, front := t.Args(r), t.Shape(r), len(t.Axes(r))
	all := func(cut func(a Ref) int) ([]int, bool) {
		for _, a := range args {
			q = append(q, cut(a))
		}
		return q, true
	}
	same := func(a Ref) int { return t.sameAxis(a, r, p) }
	// logical axis i of a
	logical := func(i int) ([]int, bool) { return all(func(a Ref) int { return len(t.Axes(a)) + i }) }
	i := p - front
	switch op := in.Op(); {
	case op.elementwise(), op == opBroadcast:
		return all(same)
	case op == opBasis, op == opGroups:
		return nil, i < 0
	case op == opRebatch && i < 0 && int(t.Axes(r)[p]) == t.Attr(r).Axis:
		if len(t.Attr(r).Shape) != 1 {
			return nil, false
		}
		return logical(0)
	case op == opMatmul:
		if k := len(s) - i; k == 1 || k == 2 && t.Attr(r).Flag {
			return nil, false
		} else if k == 2 {
			return []int{same(args[0]), -1}, true
		}
		return all(same)
	case op == opReshape:
		return t.cutOfReshaped(r, p, rows)
	case op != opTies && !rowwise(op):
		return nil, false
	case i < 0:
		return all(same)
	case op == opTies:
		if i >= len(s)+1+t.Attr(r).along() {
			return []int{front + i + 1, p}, true
		}
		return []int{p, p}, true
	case op == opUnbatch:
		if lead := len(t.Attr(r).Shape); i >= lead {
			return logical(i - lead)
		}
		k := slices.Index(t.Axes(args[0]), int32(t.Attr(r).Axis))
		return []int{k}, k >= 0 && len(t.Attr(r).Shape) == 1
	case op == opRebatch:
		return logical(i + len(t.Attr(r).Shape))
	case op == opSumBatch, op == opCast:
		return logical(i)
	case op == opTranspose:
		return logical(len(s) + t.Attr(r).Ints[i])
	case op == opSlice, op == opUnslice, op == opConcat:
		if i == len(s)+t.Attr(r).Axes[0] {
			return nil, false
		}
		return logical(i)
	case op == opSum:
		j, ok := t.axisBeforeSum(r, i)
		if !ok {
			return nil, false
		}
		return logical(j)
	}
	as := t.Shape(args[0])
	switch along := len(as) + t.Attr(r).along(); {
	case len(as) > len(s) && i >= along: // the axis it works along is gone
		i++
	case i == along:
		return nil, false
	}
	return logical(i)
}

// sameAxis is the axis of a that is broadcast to axis p of r, -1 where none is.
func (t *Tape) sameAxis(a, r Ref, p int) int {
	as, front := t.Shape(a), len(t.Axes(r))
	if p < front {
		return slices.Index(t.Axes(a), t.Axes(r)[p])
	}
	k := front + len(t.Shape(r)) - p // from the right
	if k > len(as) || as[len(as)-k] == 1 {
		return -1
	}
	return len(t.Axes(a)) + len(as) - k
}

// cutOfReshaped is the cut of what r reshapes: the axis with as many elements before it as axis p has.
func (t *Tape) cutOfReshaped(r Ref, p, rows int) (q []int, ok bool) {
	outer, before := t.physical(r)[:p].Size(), 1
	for i, d := range t.physical(t.Args(r)[0]) {
		if before == outer && d != 1 {
			return []int{i}, d%rows == 0
		}
		before *= d
	}
	return nil, false
}

// axisBeforeSum is the logical axis that is axis i of the sum r, unless that was summed over.
func (t *Tape) axisBeforeSum(r Ref, i int) (j int, ok bool) {
	as := t.Shape(t.Args(r)[0])
	for j := range as {
		gone := slices.Contains(t.Attr(r).Axes, j-len(as))
		if i == 0 && !gone {
			return j, true
		}
		if !gone || len(as) == len(t.Shape(r)) {
			i--
		}
	}
	return 0, false
}

// rowwise reports whether an operation of one argument knows no rows but its own: where
// cutsOf does not say otherwise, because it works along one axis.
func rowwise(op *Op) bool {
	switch op {
	case opUnbatch, opRebatch, opSumBatch, opCast, opTranspose, opSlice, opUnslice, opConcat, opSum, opProd, opMaxOf, opMinOf, opNorm,
		opLogsumexp, opSoftmax, opLogSoftmax, opOneHotMax, opCumsum, opCumprod, opAny, opAll, opArgmaxOf, opArgminOf, opReverse:
		return true
	}
	return false
}
