package tape

import (
	"fmt"
	"math"
	"strconv"

	"nabla/expr"
)

var opNorm *Op

var normRows = []Op{
	{Name: "norm", Args: "x, #ord=None, #axis=None, #keepdims=false", Doc: "Euclidean norm over axes; with ord the vector norm along one axis (2, 1, inf or p), or the norm of matrices (matrix_norm)", Call: normCall, Note: "at 0: 0, the least subgradient; norm(x)^2 is smooth"},
	{Name: "vector_norm", Args: "x, #ord=2, #axis=None, #keepdims=false", Doc: "norm of all elements, or over axes: 2, 1, inf, -inf, 0 or p", Call: func(c *call) value { return c.vectorNorm(c.num(1), c.axes(2, c.t.Shape(c.ref(0)))) }, Note: "at 0: 0, the least subgradient; its square is smooth"},
	{Name: "matrix_norm", Args: `x, #ord="fro", #keepdims=false`, Doc: `norm of the matrices in the last two axes: "fro" (Euclidean), "nuc" (sum of singular values), 2 and -2 (the largest and the least), 1 and -1 (of the sums of columns), inf and -inf (of rows)`, Call: func(c *call) value {
		if s := c.t.Shape(c.ref(0)); len(s) < 2 {
			c.fail("shape", "matrix_norm needs two axes, shape %v has %d", s, len(s))
		}
		return c.matrixNorm(-2, -1)
	}, Note: "at 0: 0, the least subgradient"},
	{As: &opNorm, Name: "norm_of", Args: "x", Hidden: true, Doc: "Euclidean norm along an axis, without overflow", Lead: true, Links: linkFold,
		Run:    runNorm,
		Tie:    func(t *Tape, r Ref) Ref { return t.apply("equal", r, t.Const(0)) },
		TieSay: "a kink where all are 0: the least subgradient, 0",
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			x, n := t.Args(r)[0], t.behind(r, r)
			u := t.Apply(opWhere, t.apply("equal", n, t.Const(0)), t.Const(0), t.Apply(opDiv, x, n))
			return t.Apply(opZMul, t.behind(ct, r), u)
		}},
}

// normCall is NumPy's: without ord the Euclidean norm of all that is joined, with it that of
// vectors where one axis is, that of matrices where two are.
func normCall(c *call) value {
	s := c.t.Shape(c.ref(0))
	axes := c.axes(2, s)
	switch {
	case !c.given(1):
		return c.vectorNorm(2, axes)
	case len(axes) == 2 && c.given(2):
		pair := c.distinct(c.ints(2), len(s), 2) // in the order given
		return c.matrixNorm(pair[0], pair[1])
	case len(axes) == 2:
		return c.matrixNorm(-2, -1)
	}
	if text, ok := c.vals[1].(string); ok && (text != "fro" || len(s) == 0) {
		m := &Misuse{Kind: "type", Msg: fmt.Sprintf("the norm of a vector has an order that is a number, not %q", text), Pos: expr.NoPos}
		if len(s) > 2 && !c.given(2) {
			m.Msg, m.Hint = fmt.Sprintf("norm %q is one of matrices, shape %v has %d axes", text, s, len(s)), "axis=(-2, -1) names those of the matrices"
		}
		c.lo.failWith(c.where(1), m)
	} else if ok {
		return c.vectorNorm(2, axes)
	}
	return c.vectorNorm(c.num(1), axes)
}

// matrixNorm is the norm of x as matrices with these axes, from the right.
func (c *call) matrixNorm(row, column int) value {
	t, x := c.t, c.t.asFloat(c.ref(0))
	s := t.Shape(x)
	keep := c.bool(len(c.vals) - 1)
	joined := func(x Ref, of *Op, axis int) Ref {
		if reducedSize(t.Shape(x), []int{axis}) == 0 {
			c.fail("shape", "%s of no elements: shape %v", c.op.Name, s)
		}
		return c.fold(of, x, []int{axis}, true)
	}
	lines := func(of *Op, along, other int) Ref {
		return joined(t.sumTo(t.apply("abs", x), []int{along}, true), of, other)
	}
	singular := func() Ref { // along the last axis
		var perm []int
		for i := range s {
			if i != len(s)+row && i != len(s)+column {
				perm = append(perm, i)
			}
		}
		m := t.transpose(x, append(perm, len(s)+row, len(s)+column))
		return t.singular(m, t.svdOf(m))
	}
	text, named := c.vals[1].(string)
	p := 0.0
	if !named {
		p = c.num(1)
	}
	axes := []int{min(row, column), max(row, column)}
	kept := reduced(s, axes, true)
	var y Ref
	switch {
	case text == "fro":
		return c.vectorNorm(2, axes)
	case text == "nuc":
		y = t.sumTo(singular(), []int{-1}, true)
	case p == 2:
		y = joined(singular(), opMaxOf, -1)
	case p == -2:
		y = joined(singular(), opMinOf, -1)
	case p == 1:
		y = lines(opMaxOf, row, column)
	case p == -1:
		y = lines(opMinOf, row, column)
	case math.IsInf(p, 1):
		y = lines(opMaxOf, column, row)
	case math.IsInf(p, -1):
		y = lines(opMinOf, column, row)
	default:
		c.lo.advise(c.where(1), "type", "vector_norm(x, p) is that of all elements",
			`the norm of a matrix has order "fro", "nuc", 1, 2 or inf, these with a minus too, not %v`, describeOrder(text, p))
	}
	if keep {
		return t.reshape(y, kept)
	}
	return t.reshape(y, reduced(s, axes, false))
}

func describeOrder(text string, p float64) string {
	if text != "" {
		return strconv.Quote(text)
	}
	return formatFloat(p)
}

// vectorNorm is the norm of order p over axes; the last argument of the call says whether
// they stay.
func (c *call) vectorNorm(p float64, axes []int) value {
	t, x := c.t, c.t.asFloat(c.ref(0))
	keep := c.bool(len(c.vals) - 1)
	if len(t.Shape(x)) == 0 {
		return t.apply("abs", x)
	}
	switch {
	case p == 2 && t.Conventions != "" && t.Conventions != "torch": // its slope at 0 is theirs: inf times 0
		return t.Apply(opSqrt, t.sumTo(t.Apply(opSquare, x), axes, keep))
	case p == 2:
		return c.fold(opNorm, x, axes, keep)
	case p == 1:
		return t.sumTo(t.apply("abs", x), axes, keep)
	case math.IsInf(p, 0) && reducedSize(t.Shape(x), axes) == 0:
		c.fail("shape", "%s of no elements: shape %v", c.op.Name, t.Shape(x))
	case math.IsInf(p, 1):
		return c.fold(opMaxOf, t.apply("abs", x), axes, keep)
	case math.IsInf(p, -1):
		return c.fold(opMinOf, t.apply("abs", x), axes, keep)
	case p == 0:
		return t.sumTo(t.asNumber(t.apply("not_equal", x, t.Const(0))), axes, keep)
	}
	return c.powerNorm(t.apply("abs", x), p, axes, keep)
}

// powerNorm is the norm of order p of y, which is not negative. Where a power would leave
// the range, all is measured by what counts most, the largest, or the least for a negative p: a
// factor that the derivative need not know. It is no subnormal number, of which 1/unit is infinite.
func (c *call) powerNorm(y Ref, p float64, axes []int, keep bool) Ref {
	t := c.t
	if t.size(y) == 0 {
		return t.Apply(opPow, t.sumTo(t.Apply(opPow, y, t.Const(p)), axes, keep), t.Const(1/p))
	}
	most := opMaxOf
	if p < 0 {
		most = opMinOf
	}
	m := t.Apply(opStopGradient, c.fold(most, y, axes, true)) // stopped behind the maximum, a few numbers are copied
	far := t.apply("greater", t.apply("abs", t.apply("log", m)), t.Const(400/math.Max(1, math.Abs(p))))
	far = t.apply("logical_and", far, t.apply("isfinite", t.apply("log", m)))
	unit := t.Apply(opWhere, far, t.Apply(opMaximum, m, t.Const(0x1p-1022)), t.Const(1))
	n := t.sumTo(t.Apply(opPow, t.Apply(opDiv, y, unit), t.Const(p)), axes, true)
	if t.Conventions == "torch" { // 0 at 0, where the slope of the root would meet it
		zero := t.asNumber(t.apply("equal", n, t.Const(0)))
		n = t.Apply(opSub, t.Apply(opPow, t.Apply(opAdd, n, zero), t.Const(1/p)), zero)
	} else {
		n = t.Apply(opPow, n, t.Const(1/p))
	}
	n = t.Apply(opMul, n, unit)
	if keep {
		return n
	}
	return t.sumTo(n, axes, false) // of one each
}
