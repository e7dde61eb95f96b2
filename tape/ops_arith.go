package tape

import (
	"math"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// clipCall puts an infinity in the place of a bound that is left out.
func clipCall(c *call) value {
	if !c.given(1) && !c.given(2) {
		c.advise("type", "clip(x, lo, hi), clip(x, lo) and clip(x, hi=…)", "clip needs a bound: %s", c.op.Signature())
	}
	for i := 1; i < 3; i++ {
		if !c.given(i) {
			c.vals[i] = c.t.Const(math.Inf(2*i - 3))
		}
	}
	return c.written()
}

// kernelsFloat32 rounds to float32.
func kernelsFloat32(dst, x []float64) { kernels.Float32(dst, x) }

// Functions of rows are named: a literal would be put in its row each time nabla starts.
func oneOf(float64) float64       { return 1 }
func belowZero(x float64) float64 { return min(x, 0) }

var opConst, opInput, opSeed, opAlias, opZMul, opNeg, opAdd, opSub, opMul, opDiv, opQuotient, opPow, opPowZero, opSquare, opCube, opFourth, opRecip, opSqrt, opAbs, opHypot, opWhere, opMaximum, opMinimum, opStopGradient *Op

// quotientAdj divides ct times out again, where out/y by itself may leave the range.
func quotientAdj(t *Tape, r Ref, i int, ct Ref) Ref {
	q := t.Apply(opRecip, t.Args(r)[1])
	if i == 0 {
		return t.Apply(opZMul, ct, q)
	}
	return t.Apply(opNeg, t.Apply(opZMul, t.Apply(opZMul, ct, r), q))
}

// squareOfOut multiplies by -out twice: what reaches a reciprocal is as small as the
// reciprocal is large, while its square may overflow.
func squareOfOut(t *Tape, r Ref, i int, ct Ref) Ref {
	return t.Apply(opNeg, t.Apply(opZMul, t.Apply(opZMul, ct, r), r))
}

func runLeaf(c *run) { panic("tape: a leaf without a value ran") }

// runSeed is what a custom gradient comes to that looks at the upstream gradient.
func runSeed(c *run) { panic(notLinear(c.t.pos)) }

// powPartial differentiates x^y. A written exponent keeps its own rule, so that
// integer powers end exactly, unless one less is no float64: its rounding would be
// multiplied by log(x). Otherwise the conventions of power_derivative hold.
func powPartial(t *Tape, r Ref, i int) Ref {
	x, y := t.Args(r)[0], t.Args(r)[1]
	if i == 0 {
		if c, _ := t.constant(y); t.written(y) && c-1+1 == c && math.Abs(c) < 1<<53 {
			return t.Apply(opMul, t.Const(c), t.Apply(opPow, x, t.Const(c-1)))
		}
		return t.apply("power_derivative", t.Const(1), x, y)
	}
	if t.Active(x) {
		return t.apply("power_derivative", t.Const(4096), x, y)
	}
	p := t.Apply(opMul, r, t.apply("log", x))
	atZero := t.apply("logical_and", t.apply("equal", x, t.Const(0)), t.apply("greater_equal", y, t.Const(0)))
	return t.Apply(opWhere, atZero, t.Const(0), p)
}

// written reports whether an exponent is a number of the program.
func (t *Tape) written(y Ref) bool {
	_, ok := t.constant(y)
	return ok && t.ins[y].shape == 0
}

// extremePartial differentiates maximum (win "greater") and minimum ("less"): 1 for the
// one taken, at a tie 1/2 for each of two variables, 1/k in a call of several (their number
// so far is in Num), and 0 against a constant, where the subdifferential is all of [0, 1].
func (t *Tape) extremePartial(r Ref, i int, win string) Ref {
	me, other := t.Args(r)[i], t.Args(r)[1-i]
	tie := t.Const(0)
	switch {
	case !t.Active(me) || !t.Active(other):
	case t.Attr(r).Num > 0:
		n := int(t.Attr(r).Num)
		all, mine := t.tiedIn(r, n+1, win), t.tiedIn(me, 1+(n-1)*(1-i), win)
		tie = t.Apply(opWhere, t.apply("isinf", all), t.Const(0), t.Apply(opDiv, mine, all))
	default:
		tie = t.Const(0.5)
	}
	rest := t.Apply(opWhere, t.apply("equal", me, other), tie,
		t.Apply(opWhere, t.apply("isnan", r), t.Const(math.NaN()), t.Const(0)))
	return t.Apply(opWhere, t.apply(win, me, other), t.Const(1), rest)
}

// tiedIn counts the variables among which r, the extreme of the first n arguments of a
// call, is tied; infinite with a constant.
func (t *Tape) tiedIn(r Ref, n int, win string) Ref {
	switch {
	case !t.Active(r):
		return t.Const(math.Inf(1))
	case n == 1:
		return t.Const(1)
	}
	x, y := t.Args(r)[0], t.Args(r)[1]
	nx, ny := t.tiedIn(x, n-1, win), t.tiedIn(y, 1, win)
	return t.Apply(opWhere, t.apply(win, x, y), nx, t.Apply(opWhere, t.apply("equal", x, y), t.Apply(opAdd, nx, ny), ny))
}

var leafRows = []Op{
	{As: &opConst, Name: "const", Hidden: true, Doc: "a number or tensor written in the program", Stops: "a constant", Run: runLeaf},
	{As: &opInput, Name: "input", Hidden: true, Doc: "a variable", Run: runLeaf},
	{As: &opSeed, Name: "seed", Hidden: true, Doc: "stands for a cotangent that forward mode transposes away", Run: runSeed},
	{As: &opAlias, Name: "name", Terms: (*factoring).same, Args: "x", Hidden: true, Doc: "a value under a name: its own source of derivatives",
		Grad: d("1"), Kernel: unary(&kernels.Copy, kernels.CopyOf), Gives: givesSameExact},
	// opZMul multiplies a cotangent and a partial. What is not reached contributes
	// exactly 0, even where its partial is infinite or NaN.
	{As: &opZMul, Name: "zmul", Terms: (*factoring).multiplied, Args: "x, y", Hidden: true, Doc: "the product of cotangent and partial: 0 where either is 0",
		Grad: d("y", "x"), Kernel: binary(&kernels.ZMul, kernels.ZMulOf)},
	{As: &opPowZero, Name: "power_zero", Args: "x", Hidden: true, Doc: "x^0: 1, connected, with the gradient 0",
		Grad: d("0"), Kernel: unary(nil, oneOf)},
}

var arithRows = []Op{
	{As: &opAdd, Name: "add", Terms: (*factoring).added, Args: "x, y", Doc: "x + y",
		Grad: d("1", "1"), Kernel: binary(&kernels.Add, kernels.AddOf), Gives: givesSame, Try: at2(1, 2, -3, 0.5)},
	{As: &opSub, Name: "subtract", Terms: (*factoring).added, Alias: []string{"sub"}, Args: "x, y", Doc: "x - y",
		Grad: d("1", "-1"), Kernel: binary(&kernels.Sub, kernels.SubOf), Gives: givesSame, Try: at2(1, 2, -3, 0.5)},
	{As: &opMul, Name: "multiply", Terms: (*factoring).multiplied, Alias: []string{"mul", "scalar_mul"}, Args: "x, y", Doc: "x * y",
		Grad: d("y", "x"), Kernel: binary(&kernels.Mul, kernels.MulOf), Gives: givesSame, Try: at2(1, 2, -3, 0.5, 0, 4)},
	{As: &opDiv, Name: "divide", Terms: (*factoring).divided, Alias: []string{"div", "true_divide", "truediv"}, Args: "x, y", Doc: "x / y",
		Grad: d("reciprocal(y)", "-quotient(out, y)"), Says: d("1 / y", "-out / y"), Kernel: binary(&kernels.Div, kernels.DivOf), Try: at2(1, 2, -3, 0.5, 2, -7),
		Kinks: []Kink{{"y == 0", "the divisor is 0", false}}},
	{As: &opQuotient, Name: "quotient", Terms: (*factoring).divided, Args: "x, y", Hidden: true, Doc: "x / y, in a derivative", Grad: d("reciprocal(y)", "-out * reciprocal(y)"), Adj: quotientAdj,
		Kernel: binary(&kernels.Div, kernels.DivOf), Try: at2(1, 2, -3, 0.5, 2, -7)},
	{As: &opPow, Name: "power", Alias: []string{"pow", "float_power"}, Args: "x, y", Doc: "x to the power y",
		Partial: powPartial, Says: d("y * x^(y - 1)", "out * log(x)"), Kernel: binary(&kernels.Pow, kernels.PowOf), Try: at2(2, 3, 0.5, -1.5, 3, 0.25),
		Kinks: []Kink{{"x < 0 && y != floor(y)", "a negative number to a fractional power is not real", false}, {"x == 0 && y < 0", "a pole", false}, {"x == 0 && y >= 0 && y < 1", "a vertical tangent", false},
			{"x < 0 && y == floor(y)", "a power of a negative number has no derivative by the exponent", false}},
		LastBy: 2,
		Note:   "x^0, x^1, x^2 and every written integer power are exact at 0, to every order; at (0, 0) the partials are 0, 0; d/dy at a negative x is NaN"},
	{Name: "power_derivative", Args: "#n, x, y", Hidden: true, Doc: "derivative of x^y of order n by x; 4096 times an order by y is added to n",
		Grad: d("", "power_derivative(n + 1, x, y)", "power_derivative(n + 4096, x, y)"), Kernel: ternary(&kernels.PowDerivative, kernels.PowDerivativeOf), Try: at3(1, 2, 3, 2, 0.5, -1.5, 4097, 3, 0.25)},
	{As: &opNeg, Name: "negative", Terms: (*factoring).negated, Alias: []string{"neg"}, Args: "x", Doc: "-x",
		Grad: d("-1"), Kernel: unary(&kernels.Neg, kernels.NegOf), Gives: givesSame, Try: at(-2, 0, 3)},
	{As: &opSquare, Name: "square", Args: "x", Doc: "x * x",
		Grad: d("2 * x"), Kernel: unary(&kernels.Square, kernels.SquareOf), Gives: givesSame, Try: at(-2, 0, 1.5)},
	{As: &opCube, Name: "cube", Exponent: 3, Hidden: true, Args: "x", Doc: "x^3, rounded as if once",
		Grad: d("3 * square(x)"), Kernel: unary(&kernels.Cube, kernels.CubeOf), Try: at(-2, 0, 1.5)},
	{As: &opFourth, Name: "fourth", Exponent: 4, Hidden: true, Args: "x", Doc: "x^4, rounded as if once",
		Grad: d("4 * cube(x)"), Kernel: unary(&kernels.Fourth, kernels.FourthOf), Try: at(-2, 0, 1.5)},
	{As: &opRecip, Name: "reciprocal", Args: "x", Doc: "1 / x",
		Grad: d("-square(out)"), Adj: squareOfOut, Kernel: unary(&kernels.Recip, kernels.RecipOf), Try: at(-2, 0.3, 5),
		Kinks: []Kink{{"x == 0", "the divisor is 0", false}}},
	{As: &opSqrt, Name: "sqrt", Args: "x", Doc: "square root",
		Grad: d("0.5 / (out + 0)"), Says: d("0.5 / out"), Kernel: unary(&kernels.Sqrt, kernels.SqrtOf), Try: at(0.25, 2, 9),
		Kinks: []Kink{{"x < 0", "the square root of a negative number is not real", false}, {"x == 0", "a vertical tangent", false}},
		Note:  "at 0: inf, by continuity, at -0 too; sqrt(x)^2 is x"},
	{Name: "positive", Args: "x", Doc: "+x", Body: "x"},
	{Name: "floor_divide", Alias: []string{"floordiv", "floor_div"}, Args: "x, y", Doc: "floor(x / y), as x // y", Stops: "floor_divide is not differentiable",
		Kernel: binary(&kernels.FloorDiv, kernels.FloorDivOf), Gives: givesSame, Try: at2(7, 2, -7, 2)},
	{Name: "mod", Alias: []string{"remainder", "floormod"}, Args: "x, y", Doc: "x - y * floor(x / y), as x % y: the sign of the divisor",
		Grad: d("where(isnan(out), out, 1)", "where(isnan(out), out, -floor_divide(x, y))"), Says: d("1", "-floor_divide(x, y)"), Kernel: binary(&kernels.Mod, kernels.ModOf), Gives: givesSame, Try: at2(7, 2.5, -7.25, 2),
		Kinks: []Kink{{"out == 0", "a jump: the derivative is taken from inside", true}},
		Note:  "at a jump, such as (6, 3), the one-sided derivatives 1, -2"},
	{Name: "fmod", Args: "x, y", Doc: "the remainder with the sign of x (C's fmod)", Body: "d = y * sign_of(y); where(x < 0, -mod(-x, d), mod(x, d))"},
	{As: &opMaximum, Name: "maximum", Args: "x, y", Doc: "the larger of x and y",
		Partial: func(t *Tape, r Ref, i int) Ref { return t.extremePartial(r, i, "greater") }, Says: d("1 where x > y", "1 where y > x"), Kernel: binary(&kernels.Maximum, kernels.MaximumOf), Gives: givesSame, Try: at2(1, 2, 3, -1),
		Kinks: []Kink{{"x == y", "a tie: each takes an equal share", true}},
		Note:  "a tie gives 1/2 to each variable; against a constant 0, the least subgradient"},
	{As: &opMinimum, Name: "minimum", Args: "x, y", Doc: "the smaller of x and y",
		Partial: func(t *Tape, r Ref, i int) Ref { return t.extremePartial(r, i, "less") }, Says: d("1 where x < y", "1 where y < x"), Kernel: binary(&kernels.Minimum, kernels.MinimumOf), Gives: givesSame, Try: at2(1, 2, 3, -1),
		Kinks: []Kink{{"x == y", "a tie: each takes an equal share", true}},
		Note:  "a tie gives 1/2 to each variable; against a constant 0, the least subgradient"},
	{Name: "fma", Args: "x, y, z", Doc: "x * y + z, rounded once",
		Grad: d("y", "x", "1"), Kernel: ternary(&kernels.FMA, kernels.FMAOf), Try: at3(2, 3, 4, -1, 0.5, 2)},
	{As: &opAbs, Name: "abs", Alias: []string{"fabs", "absolute"}, Args: "x", Doc: "absolute value",
		Grad: d("abs_slope(x)"), Says: d("sign(x)"), Kernel: unary(&kernels.Abs, kernels.AbsOf), Gives: givesSame, Try: at(-2, 0.5, 3),
		Kinks: []Kink{{"x == 0", "a kink: the least subgradient, 0", true}}, Note: "at 0: 0"},
	{Name: "sign", Args: "x", Doc: "-1, 0 or 1", Grad: d("where(x == x, 0, nan)"), Says: d("0"), Kernel: unary(&kernels.Sign, kernels.SignOf), Gives: givesSame,
		Try: at(-2, 3), Note: "0 everywhere, connected; NaN at NaN, as the value"},
	{Name: "abs_slope", Args: "x", Hidden: true, Doc: "sign(x), whose derivative is 0 without a look at x", Grad: d("0"), Kernel: unary(&kernels.Sign, kernels.SignOf), Gives: givesSame,
		Try: at(-2, 3)},
	{As: &opWhere, Name: "where", Terms: (*factoring).chosen, Args: "c, x, y", Doc: "x where c holds, y elsewhere; only what is taken is differentiated",
		Grad: d("", "where(c, 1, 0)", "where(c, 0, 1)"), Kernel: ternary(&kernels.Where, kernels.WhereOf), Gives: givesFirst,
		Note: "what was not taken contributes exactly 0, even where its derivative is inf or NaN"},
	{Name: "clip", Alias: []string{"clip_by_value", "clamp"}, Args: "x, lo=None, hi=None", Doc: "x kept between lo and hi, or on one side of either",
		Call: clipCall, Body: "minimum(maximum(x, lo), hi)", Note: "at a bound: 0"},
	{As: &opHypot, Name: "hypot", Args: "x, y", Doc: "sqrt(x^2 + y^2) without overflow",
		Grad: d("unit(x, y)", "unit(y, x)"), Kernel: binary(&kernels.Hypot, kernels.HypotOf), Try: at2(3, 4, -1, 0.1),
		Kinks: []Kink{{"out == 0", "a kink: the least subgradient, 0", true}}, Note: "at (0, 0): 0, 0"},
	{Name: "unit", Args: "x, y", Hidden: true, Doc: "x / hypot(x, y), 0 at the origin",
		Grad: d("where(hypot(x, y) == 0, 0, square(unit(y, x)) / hypot(x, y))", "where(hypot(x, y) == 0, 0, -out * unit(y, x) / hypot(x, y))"), Kernel: binary(&kernels.Unit, kernels.UnitOf), Try: at2(3, 4, -1, 0.1)},
	{Name: "gap", Args: "x, y", Hidden: true, Doc: "x - y, 0 where they are equal infinities",
		Grad: d("1", "-1"), Kernel: binary(nil, gapOf), Try: at2(3, 4)},
	{Name: "rsqrt", Args: "x", Doc: "1 / sqrt(x)", Grad: d("-0.5 * out / x"), Kernel: unary(&rsqrtDoor, rsqrtOf), Try: at(0.25, 2, 9),
		Kinks: []Kink{{"x < 0", "the square root of a negative number is not real", false}, {"x == 0", "a pole", false}}},
	{Name: "fmax", Args: "x, y", Doc: "the larger, ignoring NaN", Body: "where(isnan(x) && !isnan(y), y, where(isnan(y) && !isnan(x), x, maximum(x, y)))"},
	{Name: "fmin", Args: "x, y", Doc: "the smaller, ignoring NaN", Body: "where(isnan(x) && !isnan(y), y, where(isnan(y) && !isnan(x), x, minimum(x, y)))"},
	{Name: "squared_difference", Args: "x, y", Doc: "(x - y)^2", Body: "square(x - y)"},
	{Name: "divide_no_nan", Alias: []string{"div_no_nan"}, Args: "x, y", Doc: "x / y, 0 where y is 0", Body: "where(y == 0, 0, x / where(y == 0, 1, y))"},
	{Name: "multiply_no_nan", Alias: []string{"mul_no_nan"}, Args: "x, y", Doc: "x * y, 0 where y is 0 even if x is not finite", Body: "where(y == 0 && !isfinite(x), 0, x * y)"},
	{Name: "copysign", Args: "x, y", Doc: "|x| with the sign of y", Grad: d("abs_slope(x) * sign_of(y)", "0"), Kernel: binary(&copysignDoor, math.Copysign), Try: at2(2, -3, -1, 4),
		Kinks: []Kink{{"x == 0", "a kink: the least subgradient, 0", true}}},
	{Name: "sign_of", Args: "x", Hidden: true, Doc: "the sign bit as -1 or 1", Stops: "a sign bit is not differentiable", Kernel: unary(&signOfDoor, signOf)},
	{Name: "heaviside", Args: "x, h", Doc: "0 below 0, h at 0, 1 above", Body: "where(x < 0, 0, where(x == 0, h, where(x > 0, 1, sign(x))))"},
	{Name: "nan_to_num", Args: "x, nan=0, posinf=None, neginf=None", Doc: "NaN and infinities replaced, these by the largest finite numbers if nothing is said", Call: func(c *call) value {
		largest := math.MaxFloat64
		if c.t.ins[c.ref(0)].dtype == tensor.Float32 {
			largest = math.MaxFloat32
		}
		for i, v := range []float64{2: largest, 3: -largest} {
			if v != 0 && !c.given(i) {
				c.vals[i] = c.t.constOf(v, c.t.ins[c.ref(0)].dtype)
			}
		}
		return c.written()
	}, Body: "where(isnan(x), nan, where(x == inf, posinf, where(x == -inf, neginf, x)))"},
	{Name: "frac", Args: "x", Doc: "x - trunc(x)", Grad: d("where(isnan(out), out, 1)"), Says: d("1"), Kernel: unary(&fracDoor, fracOf), Gives: givesSame, Try: at(-1.25, 0.5, 3.75),
		Kinks: []Kink{{"out == 0 && x != 0", "a jump: the derivative is taken from inside", true}}},
	{Name: "lerp", Args: "a, b, t", Doc: "a + t (b - a)", Body: "a + t * (b - a)"},
	{Name: "floor", Args: "x", Doc: "the largest integer not above x", Stops: "floor is not differentiable", Kernel: unary(&kernels.Floor, kernels.FloorOf), Gives: givesSame, Try: at(-1.5, 2.5)},
	{Name: "ceil", Args: "x", Doc: "the smallest integer not below x", Stops: "ceil is not differentiable", Kernel: unary(&kernels.Ceil, kernels.CeilOf), Gives: givesSame, Try: at(-1.5, 2.5)},
	{Name: "trunc", Alias: []string{"fix"}, Args: "x", Doc: "x without its fraction", Stops: "trunc is not differentiable", Kernel: unary(&kernels.Trunc, kernels.TruncOf), Gives: givesSame, Try: at(-1.5, 2.5)},
	{Name: "round", Alias: []string{"rint", "around"}, Args: "x", Doc: "the nearest integer, halves to even", Stops: "round is not differentiable", Kernel: unary(&kernels.Round, kernels.RoundOf), Gives: givesSame, Try: at(-1.5, 2.5)},
	{As: &opStopGradient, Name: "stop_gradient", Args: "x", Doc: "x, through which no gradient passes", Stops: "stop_gradient", Kernel: unary(&kernels.Copy, kernels.CopyOf), Gives: givesSameExact},
}

func gapOf(x, y float64) float64 {
	if x == y {
		return 0
	}
	return x - y
}

func fracOf(x float64) float64 { return x - math.Trunc(x) }

func rsqrtOf(x float64) float64 { return 1 / math.Sqrt(x) }

func signOf(x float64) float64 { return math.Copysign(1, x) }
