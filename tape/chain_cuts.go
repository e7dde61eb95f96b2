package tape

import "slices"

// cutsOf tells along which axis of its memory each argument of r is cut where r is cut along
// axis p of its own, of size rows or a multiple: -1 where it is read whole. It is not ok where
// rows of r need more than their own rows of such arguments.
func (t *Tape) cutsOf(r Ref, p, rows int) (q []int, ok bool) {
	op, i := t.ins[r].Op(), p-len(t.Axes(r)) // i is the logical axis, below 0 where p is a batch axis
	switch {
	case op.elementwise(), op == opBroadcast:
		return t.sameCuts(r, p), true
	case op == opBasis, op == opGroups:
		return nil, i < 0
	case op == opRebatch && i < 0 && int(t.Axes(r)[p]) == t.Attr(r).Axis:
		if len(t.Attr(r).Shape) != 1 {
			return nil, false
		}
		return t.logicalCuts(r, 0), true
	case op == opMatmul:
		return t.cutsOfProduct(r, p)
	case op == opReshape:
		return t.cutOfReshaped(r, p, rows)
	case op != opTies && !rowwise(op):
		return nil, false
	case i < 0:
		return t.sameCuts(r, p), true
	case op == opTies:
		if i >= len(t.Shape(r))+1+t.Attr(r).along() {
			return []int{p + 1, p}, true
		}
		return []int{p, p}, true
	case op == opUnbatch && i < len(t.Attr(r).Shape):
		k := slices.Index(t.Axes(t.Args(r)[0]), int32(t.Attr(r).Axis))
		return []int{k}, k >= 0 && len(t.Attr(r).Shape) == 1
	}
	k, ok := t.axisBefore(r, i)
	if !ok {
		return nil, false
	}
	return t.logicalCuts(r, k), true
}

// sameCuts are the cuts of arguments that are broadcast to r: along the axis that becomes p.
func (t *Tape) sameCuts(r Ref, p int) (q []int) {
	for _, a := range t.Args(r) {
		q = append(q, t.sameAxis(a, r, p))
	}
	return q
}

// logicalCuts are the cuts of all arguments of r along their logical axis i.
func (t *Tape) logicalCuts(r Ref, i int) (q []int) {
	for _, a := range t.Args(r) {
		q = append(q, len(t.Axes(a))+i)
	}
	return q
}

// cutsOfProduct are the cuts of the factors of a product of matrices: its rows are those of the
// first, which must not lie transposed.
func (t *Tape) cutsOfProduct(r Ref, p int) (q []int, ok bool) {
	switch fromRight := len(t.Axes(r)) + len(t.Shape(r)) - p; {
	case fromRight == 1, fromRight == 2 && t.Attr(r).Flag:
		return nil, false
	case fromRight == 2:
		return []int{t.sameAxis(t.Args(r)[0], r, p), -1}, true
	}
	return t.sameCuts(r, p), true
}

// axisBefore is the logical axis of the arguments that is axis i of r, an operation that knows no
// rows but its own, unless it works along that.
func (t *Tape) axisBefore(r Ref, i int) (k int, ok bool) {
	a, s, as := t.Attr(r), t.Shape(r), t.Shape(t.Args(r)[0])
	switch t.ins[r].Op() {
	case opUnbatch:
		return i - len(a.Shape), true
	case opRebatch:
		return i + len(a.Shape), true
	case opSumBatch, opCast:
		return i, true
	case opTranspose:
		return len(s) + a.Ints[i], true
	case opSlice, opUnslice, opConcat:
		return i, i != len(s)+a.Axes[0]
	case opSum:
		return t.axisBeforeSum(r, i)
	}
	switch along := len(as) + a.along(); {
	case len(as) > len(s) && i >= along: // the axis it works along is gone
		return i + 1, true
	default:
		return i, i != along
	}
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
