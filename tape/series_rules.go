package tape

import (
	"math"

	"nabla/tape/double"
)

// A seriesRule says how the coefficients of a value come from those of its arguments.
type seriesRule uint8

const (
	bySlope    seriesRule = iota // y_k = y'_{k-1}/k
	fixed                        // a value that the variable does not move
	ofSource                     // x + t
	linear                       // coefficient by coefficient
	added                        // x_k + y_k
	subtracted                   // x_k - y_k
	multiplied                   // the sum of x_j y_{k-j}
	divided                      // (x_k - the sum of y_j q_{k-j}) / y_0
	raised                       // x^c: the sum of (c j - (k - j)) x_j y_{k-j} / (k x_0)
	chosen                       // by a condition
	largest                      // by the values
	smallest                     //
	folded                       // abs: with the sign of the value
	tangent                      // (k + 1) x_{k+1}
)

// seriesRuleOf is the rule of an operation.
func seriesRuleOf(op *Op) seriesRule {
	switch op {
	case opAdd:
		return added
	case opSub:
		return subtracted
	case opNeg, opSum, opReshape, opBroadcast, opTranspose, opConcat, opTake, opCast, opToFloat64, opToFloat32, opSlice, opUnslice, opPut, opReverse,
		opWindows, opUnwindows, opBlock, opAssemble, opCumsum:
		return linear
	case opMul, opZMul, opMatmul, opZMatmul:
		return multiplied
	case opDiv:
		return divided
	case opPow:
		return raised
	case opWhere:
		return chosen
	case opMaximum:
		return largest
	case opMinimum:
		return smallest
	case opAbs:
		return folded
	case opTangent:
		return tangent
	}
	return bySlope
}

// looksAtValues reports whether a rule begins with the values on the tape.
func (rule seriesRule) looksAtValues() bool {
	return rule == bySlope || rule == raised || rule.findsKinks()
}

// findsKinks reports whether a rule itself finds where there is no series.
func (rule seriesRule) findsKinks() bool {
	return rule == largest || rule == smallest || rule == folded
}

// mostWritten bounds the whole powers that are products: of a higher one x^c is raised.
const mostWritten = 1 << 16

// recast gives what r is by operations that have a rule, or None. Where the operation gives
// NaN outside its domain its value does, and nothing is asked of a series there.
func (t *Tape) recast(r Ref) Ref {
	args := t.Args(r)
	switch op := t.ins[r].Op(); op {
	case opAlias:
		return args[0]
	case opSquare:
		return t.product(args[0], args[0])
	case opQuotient:
		return t.Apply(opDiv, args[0], args[1])
	case opRecip:
		return t.Apply(opDiv, t.Const(1), args[0])
	case opPow:
		c, ok := t.constant(args[1])
		if !ok || t.ins[args[1]].shape != 0 || c != float64(int(c)) || c < 1 || c > mostWritten {
			return None
		}
		return t.wholePower(args[0], int(c))
	default:
		if c := op.Exponent; c > 0 && c == math.Floor(c) {
			return t.wholePower(args[0], int(c))
		}
		switch op.Name {
		case "log_slope":
			return t.Apply(opDiv, t.Const(1), args[0])
		case "log1p_slope":
			return t.Apply(opDiv, t.Const(1), t.Apply(opAdd, t.Const(1), args[0]))
		case "atan_slope":
			return t.Apply(opDiv, t.Const(1), t.Apply(opAdd, t.Const(1), t.product(args[0], args[0])))
		case "atanh_slope":
			return t.Apply(opDiv, t.Const(1), t.oneMinusSquare(args[0]))
		case "one_minus_square":
			return t.oneMinusSquare(args[0])
		case "hypot":
			return t.apply("sqrt", t.Apply(opAdd, t.product(args[0], args[0]), t.product(args[1], args[1])))
		case "fma":
			return t.Apply(opAdd, t.product(args[0], args[1]), args[2])
		}
	}
	return None
}

func (t *Tape) oneMinusSquare(x Ref) Ref {
	return t.product(t.Apply(opSub, t.Const(1), x), t.Apply(opAdd, t.Const(1), x))
}

// product appends x*y as it stands: not as a square, which is a product again.
func (t *Tape) product(x, y Ref) Ref {
	return t.add(opMul, t.joinShapes(opMul, t.ins[x].shape, t.ins[y].shape, []Ref{x, y}), t.outDType(opMul, []Ref{x, y}), 0, x, y)
}

// wholePower is x^n as products.
func (t *Tape) wholePower(x Ref, n int) Ref {
	y := None
	for ; ; n /= 2 {
		if n%2 == 1 {
			if y == None {
				y = x
			} else {
				y = t.product(y, x)
			}
		}
		if n == 1 {
			return y
		}
		x = t.product(x, x)
	}
}

// power is the exponent of operations that are powers.
func (op *Op) power() (double.Number, bool) {
	switch {
	case op == opSqrt:
		return double.Number{Hi: 0.5}, true
	case op.Name == "rsqrt":
		return double.Number{Hi: -0.5}, true
	case op.Name == "cbrt":
		return double.Number{Hi: 1. / 3, Lo: 1.850371707708594e-17}, true // 1/3 less the float64
	case op.Exponent != 0:
		return double.Number{Hi: op.Exponent}, true
	}
	return double.Number{}, false
}
