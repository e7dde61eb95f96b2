package tape

import (
	"math"
	"slices"

	"nabla/tape/tensor"
)

// apply records an elementwise operation by name.
func (t *Tape) apply(name string, args ...Ref) Ref { return t.Apply(table.find(name), args...) }

// Apply records an elementwise operation. Arguments broadcast. Operations on known
// numbers are done at once, and products with 0, 1 and -1 that change nothing are
// left out, which keeps the adjoint program close to what a person would write.
func (t *Tape) Apply(op *Op, args ...Ref) Ref {
	if r, ok := t.foldNumbers(op, args); ok {
		return r
	}
	if r, ok := t.simplify(op, args); ok {
		return r
	}
	shape := t.ins[args[0]].shape
	for _, a := range args[1:] {
		if s := t.ins[a].shape; s != shape {
			shape = t.joinShapes(op, shape, s, args)
		}
	}
	return t.add(op, shape, t.outDType(op, args), 0, args...)
}

// apart is what a message says of two shapes and an operation.
const apart = " do not broadcast in "

// joinShapes broadcasts two interned shapes.
func (t *Tape) joinShapes(op *Op, a, b int32, args []Ref) int32 {
	switch {
	case a == 0 || a == b:
		return b
	case b == 0:
		return a
	}
	s, ok := broadcast(t.shapes[a], t.shapes[b])
	if !ok {
		m := &Misuse{Kind: "shape", Pos: t.pos}
		x, y := t.shapes[a], t.shapes[b]
		if len(args) == 2 {
			x, y = t.Shape(args[0]), t.Shape(args[1])
		}
		m.Msg = "shapes " + x.String() + " and " + y.String() + apart + op.Name
		m.Hint = "sizes must be equal or 1, aligned at the last axis"
		panic(m)
	}
	return t.shapeID(s)
}

// foldNumbers does an operation on written numbers while recording. A counter of
// a loop costs no instruction. A product or quotient that leaves the range is left
// to be computed: it may meet a factor that brings it back, see regain. So is what gives no
// finite number for finite ones, which a warning names.
func (t *Tape) foldNumbers(op *Op, args []Ref) (Ref, bool) {
	var v [3]float64
	for i, a := range args {
		c, ok := t.constant(a)
		if !ok || t.ins[a].shape != 0 {
			return None, false
		}
		v[i] = c
	}
	var y float64
	switch {
	case len(args) == 1 && op.f1 != nil:
		y = op.f1(v[0])
	case len(args) == 2 && op.f2 != nil:
		y = op.f2(v[0], v[1])
	case len(args) == 3 && op.f3 != nil:
		y = op.f3(v[0], v[1], v[2])
	default:
		return None, false
	}
	if (op == opMul || op == opZMul || op == opDiv) && lost(y) && !lost(v[0]) && !lost(v[1]) {
		return None, false
	}
	if y-y != 0 && v[0]-v[0] == 0 && v[1]-v[1] == 0 && v[2]-v[2] == 0 {
		return None, false
	}
	dt := t.outDType(op, args)
	if dt == tensor.Float32 {
		y = float64(float32(y))
	}
	return t.constOf(y, dt), true
}

// simplify finds an instruction that already is the result.
func (t *Tape) simplify(op *Op, args []Ref) (Ref, bool) {
	switch op {
	case opZMul:
		if r, ok := t.simplifyWeighed(args[0], args[1]); ok {
			return r, true
		}
		return t.simplifyWeighed(args[1], args[0])
	case opMul:
		x, y := args[0], args[1]
		if t.sameRoot(x, y) {
			return t.Apply(opSquare, x), true
		}
		for range 2 {
			if t.isNum(y, 1) && t.ins[x].dtype.IsFloat() {
				return t.cast(x, promote(t.ins[x].dtype, t.ins[y].dtype)), true
			}
			x, y = y, x
		}
	case opNeg:
		if x := args[0]; t.ins[x].Op() == opNeg && !t.named(x) {
			return t.Args(x)[0], true
		}
	case opPow:
		return t.simplifyPower(args[0], args[1])
	case opSquare:
		// The squares of norm, sqrt, abs and hypot are smooth where they are not; see also backSquare.
		if t.named(args[0]) {
			break
		}
		switch x := args[0]; t.ins[x].Op() {
		case opNorm:
			return t.sumTo(t.Apply(opSquare, t.Args(x)[0]), []int{t.Attr(x).along()}, false), true
		case opSqrt:
			in := t.Args(x)[0]
			return t.Apply(opWhere, t.apply("less", in, t.like(in, 0)), t.like(in, math.NaN()), in), true
		case opAbs:
			if t.rooted(opAbs) {
				return t.Apply(opSquare, t.Args(x)[0]), true
			}
		case opHypot:
			if t.rooted(opHypot) {
				a, b := t.Args(x)[0], t.Args(x)[1]
				return t.Apply(opAdd, t.Apply(opSquare, a), t.Apply(opSquare, b)), true
			}
		}
	}
	return None, false
}

// simplifyWeighed is simplify of the strong product of ct with p.
func (t *Tape) simplifyWeighed(ct, p Ref) (Ref, bool) {
	c, ok := t.constant(p)
	switch {
	case !ok || t.ins[p].shape != 0:
		return None, false
	case c == 1 && t.ins[ct].dtype.IsFloat():
		return ct, true
	case c == 0:
		return t.like(ct, 0), true
	case c == -1:
		return t.Apply(opNeg, ct), true
	case !math.IsInf(c, 0) && c == c:
		return t.Apply(opMul, ct, p), true // a finite factor needs no strong zero
	}
	return None, false
}

// rooted reports whether op has a kink or a vertical tangent that its square has not. Other
// conventions for abs and hypot are those of their systems, which look at no square.
func (t *Tape) rooted(op *Op) bool {
	return op == opSqrt || op == opNorm || (op == opAbs || op == opHypot) && t.Conventions == ""
}

// sameRoot reports two square roots, norms or absolute values of one value, whose product
// is smooth.
func (t *Tape) sameRoot(x, y Ref) bool {
	op := t.ins[x].Op()
	return t.rooted(op) &&
		(x == y || op != opNorm && t.ins[y].Op() == op && slices.Equal(t.Args(x), t.Args(y)) && !t.named(x) && !t.named(y))
}

// simplifyPower records x^c for a written exponent c by the cheapest exact way.
func (t *Tape) simplifyPower(x, y Ref) (Ref, bool) {
	c, ok := t.constant(y)
	if !ok || t.ins[y].shape != 0 || !t.ins[x].dtype.IsFloat() {
		return None, false
	}
	switch c {
	case 0:
		// 1, also at 0; a product keeps the value connected, with the gradient 0
		return t.Apply(opPowZero, x), true
	case 1:
		return x, true
	case 2:
		return t.Apply(opSquare, x), true
	case -1:
		return t.Apply(opRecip, x), true
	}
	if t.ins[x].Op() == opAbs && math.Mod(c, 2) == 0 && t.rooted(opAbs) && !t.named(x) { // smooth where abs is not
		return t.Apply(opPow, t.Args(x)[0], y), true
	}
	switch c {
	case 3:
		return t.Apply(opCube, x), true
	case 4:
		return t.Apply(opFourth, x), true
	}
	if op := powerOf(c); op != nil {
		return t.Apply(op, x), true
	}
	return None, false
}

// record appends a structural instruction.
func (t *Tape) record(op *Op, shape tensor.Shape, attr Attr, args ...Ref) Ref {
	dt := t.DType
	if len(args) > 0 {
		dt = t.ins[args[0]].dtype
		for _, a := range args[1:] {
			dt = promote(dt, t.ins[a].dtype)
		}
	}
	return t.recordAs(op, shape, dt, attr, args...)
}

// recordAs appends a structural instruction with a dtype of its own.
func (t *Tape) recordAs(op *Op, shape tensor.Shape, dt tensor.DType, attr Attr, args ...Ref) Ref {
	return t.add(op, t.shapeID(shape), dt, t.newAttr(attr), args...)
}
