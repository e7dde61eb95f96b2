package tape

import (
	"math"

	"nabla/expr"
	"nabla/tape/tensor"
)

// Input records a variable: a leaf with a value, a source if watched.
func (t *Tape) Input(name string, v *tensor.Tensor, watched bool) Ref {
	in := Instr{op: opInput.id(), shape: t.shapeID(v.Shape), dtype: v.DType, attr: t.newAttr(Attr{Text: name}), Pos: t.pos, flags: flagGiven}
	if watched && v.DType.IsFloat() {
		in.flags |= flagActive
	}
	r := t.push(in)
	t.keep(r, v.Data)
	return r
}

// Tensor records a constant tensor.
func (t *Tape) Tensor(v *tensor.Tensor) Ref {
	if len(v.Shape) == 0 {
		return t.constOf(v.Data[0], v.DType)
	}
	r := t.push(Instr{op: opConst.id(), shape: t.shapeID(v.Shape), dtype: v.DType, Pos: t.pos})
	t.keep(r, v.Data)
	return r
}

// Const records a number of the tape's dtype. Equal numbers are one instruction.
func (t *Tape) Const(v float64) Ref {
	bits, all, first := math.Float64bits(v), &t.consts[t.DType], &t.firstConsts[t.DType]
	if *all == nil {
		for _, r := range *first {
			if math.Float64bits(t.num[r]) == bits {
				return r
			}
		}
	} else if r, ok := (*all)[bits]; ok {
		return r
	}
	r := t.push(Instr{op: opConst.id(), dtype: t.DType, Pos: expr.NoPos})
	t.setNum(r, v)
	switch {
	case *all != nil:
		(*all)[bits] = r
	case len(*first) < few:
		*first = append(*first, r)
	default:
		*all = map[uint64]Ref{bits: r}
		for _, r := range *first {
			(*all)[math.Float64bits(t.num[r])] = r
		}
	}
	return r
}

// among makes numbers that are recorded from now on of dtype d, if that is of floats, and returns
// of which they were: what an operation, or the rule of a derivative, adds to float32 is float32.
func (t *Tape) among(d tensor.DType) (was tensor.DType) {
	was = t.DType
	if d.IsFloat() {
		t.DType = d
	}
	return was
}

// like records a number of the dtype of r, or of the tape's where r is no float.
func (t *Tape) like(r Ref, v float64) Ref {
	if d := t.ins[r].dtype; d.IsFloat() {
		return t.constOf(v, d)
	}
	return t.Const(v)
}

// constOf records a number of a given dtype, shared if it is a float.
func (t *Tape) constOf(v float64, d tensor.DType) Ref {
	if d.IsFloat() {
		was := t.among(d)
		r := t.Const(v)
		t.DType = was
		return r
	}
	r := t.push(Instr{op: opConst.id(), dtype: d, Pos: t.pos})
	t.setNum(r, v)
	return r
}

// ownTensor records a constant tensor of the tape's dtype.
func (t *Tape) ownTensor(v *tensor.Tensor) Ref {
	if v.DType = t.DType; v.DType == tensor.Float32 {
		kernelsFloat32(v.Data, v.Data)
	}
	return t.Tensor(v)
}

// constant is the number that r is known to be, if it is an inactive single number
// that was written down or computed from such numbers while recording. What depends on
// an input is none, even when it is known: a tape may be run again with other inputs.
func (t *Tape) constant(r Ref) (float64, bool) {
	in := &t.ins[r]
	if in.flags&(flagKnown|flagActive|flagGiven) == flagKnown && t.single(r) {
		return t.num[r], true
	}
	return 0, false
}

// isNum reports whether r is the constant v of shape ().
func (t *Tape) isNum(r Ref, v float64) bool {
	c, ok := t.constant(r)
	return ok && c == v && t.ins[r].shape == 0
}

// keep stores the value of a leaf.
func (t *Tape) keep(r Ref, data []float64) {
	if t.single(r) {
		t.setNum(r, data[0])
	} else {
		t.setBig(r, data)
	}
}

// setNum makes r, a single number, known.
func (t *Tape) setNum(r Ref, v float64) {
	if int(r) >= len(t.num) {
		grown := make([]float64, max(64, 2*int(r)))
		copy(grown, t.num)
		t.num = grown
	}
	t.num[r] = v
	t.ins[r].flags |= flagKnown
}

// setBig makes r, of several numbers, known; they count as memory that is held.
func (t *Tape) setBig(r Ref, v []float64) {
	t.checkHeld(r)
	t.held += 8 * int64(len(v))
	if t.big == nil {
		t.big = map[Ref][]float64{}
	}
	t.big[r] = v
	t.ins[r].flags |= flagKnown
}

// checkHeld refuses to hold r, too, before there is memory for it.
func (t *Tape) checkHeld(r Ref) {
	if t.Limit > 0 && !t.single(r) && t.held+8*int64(t.size(r)) > t.Limit {
		panic(&Misuse{Kind: "memory", Pos: t.ins[r].Pos,
			Msg:  "the values that the program holds need more than the limit of " + Bytes(float64(t.Limit)),
			Hint: "a condition keeps every value it was computed from; --max-memory raises the limit"})
	}
}
