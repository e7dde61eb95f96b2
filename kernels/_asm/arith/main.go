// Command arith writes the elementwise kernels of arithmetic, comparison and
// choice.
package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	. "nabla/kernels/_asm/kit"
)

// A row is a kernel: dst[i] is result, and emit computes a vector of it.
type row struct {
	name, args, result string
	emit               func(x []V) V
	consts             []*constant // in registers during the loop
	scalars, sig       string      // as in Map
}

func main() {
	Start()
	if Single {
		unit.bits, minus.bits, inf.bits = 0x3f800000, 0xbf800000, 0x7f800000
		sign.bits, rest.bits = 1<<31, 1<<31-1
	}
	for _, r := range []row{
		{name: "neg", args: "x", result: "-x[i]", emit: func(x []V) V { return negative(x[0]) }, consts: use(sign)},
		{name: "abs", args: "x", result: "math.Abs(x[i])", emit: func(x []V) V { return abs(x[0]) }, consts: use(rest)},
		{name: "sign", args: "x", result: "SignOf(x[i])", emit: signOf, consts: use(zero, unit, minus)},
		{name: "sqrt", args: "x", result: "math.Sqrt(x[i])", emit: one(Sqrt)},
		{name: "recip", args: "x", result: "1 / x[i]", emit: func(x []V) V { return Div(unit.v, x[0]) }, consts: use(unit)},
		{name: "logSlope", args: "x", result: "LogSlopeOf(x[i])", emit: slope, consts: use(zero, unit, nan)},
		{name: "log1pSlope", args: "x", result: "LogSlopeOf(1 + x[i])", emit: func(x []V) V { return slope([]V{Add(unit.v, x[0])}) }, consts: use(zero, unit, nan)},
		{name: "square", args: "x", result: "x[i] * x[i]", emit: func(x []V) V { return Mul(x[0], x[0]) }},
		{name: "cube", args: "x", result: "CubeOf(x[i])", emit: func(x []V) V { return power(x[0], false) }, consts: use(sign)},
		{name: "fourth", args: "x", result: "FourthOf(x[i])", emit: func(x []V) V { return power(x[0], true) }},
		{name: "floor", args: "x", result: "math.Floor(x[i])", emit: one(Floor)},
		{name: "ceil", args: "x", result: "math.Ceil(x[i])", emit: one(Ceil)},
		{name: "trunc", args: "x", result: "math.Trunc(x[i])", emit: one(Trunc)},
		{name: "round", args: "x", result: "math.RoundToEven(x[i])", emit: one(Round)},
		{name: "float32", args: "x", result: "float64(float32(x[i]))", emit: one(RoundFloat32)},
		{name: "not", args: "x", result: "b2f(x[i] == 0)", emit: func(x []V) V { return number(Compare(x[0], EQ, zero.v)) }, consts: use(zero, unit)},
		{name: "isNaN", args: "x", result: "b2f(x[i] != x[i])", emit: func(x []V) V { return number(Compare(x[0], UN, x[0])) }, consts: use(unit)},
		{name: "isInf", args: "x", result: "b2f(math.Abs(x[i]) == math.Inf(1))", emit: func(x []V) V { return number(Compare(abs(x[0]), EQ, inf.v)) }, consts: use(rest, inf, unit)},
		{name: "isFinite", args: "x", result: "b2f(math.Abs(x[i]) < math.Inf(1))", emit: func(x []V) V { return number(Compare(abs(x[0]), LT, inf.v)) }, consts: use(rest, inf, unit)},

		{name: "add", args: "x, y", result: "x[i] + y[i]", emit: two(Add)},
		{name: "sub", args: "x, y", result: "x[i] - y[i]", emit: two(Sub)},
		{name: "mul", args: "x, y", result: "x[i] * y[i]", emit: two(Mul)},
		{name: "div", args: "x, y", result: "x[i] / y[i]", emit: two(Div)},
		{name: "zMul", args: "x, y", result: "ZMulOf(x[i], y[i])", emit: zmul, consts: use(zero)},
		{name: "maximum", args: "x, y", result: "max(x[i], y[i])", emit: extreme(Max, And)},
		{name: "minimum", args: "x, y", result: "min(x[i], y[i])", emit: extreme(Min, Or)},
		{name: "lt", args: "x, y", result: "b2f(x[i] < y[i])", emit: is(LT), consts: use(unit)},
		{name: "le", args: "x, y", result: "b2f(x[i] <= y[i])", emit: is(LE), consts: use(unit)},
		{name: "gt", args: "x, y", result: "b2f(x[i] > y[i])", emit: is(GT), consts: use(unit)},
		{name: "ge", args: "x, y", result: "b2f(x[i] >= y[i])", emit: is(GE), consts: use(unit)},
		{name: "eq", args: "x, y", result: "b2f(x[i] == y[i])", emit: is(EQ), consts: use(unit)},
		{name: "ne", args: "x, y", result: "b2f(x[i] != y[i])", emit: is(NE), consts: use(unit)},
		{name: "and", args: "x, y", result: "b2f(x[i] != 0 && y[i] != 0)", emit: func(x []V) V { return number(nonzero(Both, x)) }, consts: use(zero, unit)},
		{name: "or", args: "x, y", result: "b2f(x[i] != 0 || y[i] != 0)", emit: func(x []V) V { return number(nonzero(Either, x)) }, consts: use(zero, unit)},

		{name: "fma", args: "x, y, z", result: "math.FMA(x[i], y[i], z[i])", emit: func(x []V) V { return AddMul(x[2], x[0], x[1]) }},
		{name: "where", args: "c, x, y", result: "WhereOf(c[i], x[i], y[i])", emit: func(x []V) V { return Choose(Compare(x[0], NE, zero.v), x[1], x[2]) }, consts: use(zero)},

		{name: "addScalar", args: "x", scalars: "s", result: "x[i] + s", emit: two(Add)},
		{name: "mulScalar", args: "x", scalars: "s", result: "x[i] * s", emit: two(Mul)},
		{name: "divScalar", args: "x", scalars: "s", result: "x[i] / s", emit: two(Div)},
		{name: "multiple", args: "x", scalars: "s", result: "math.FMA(x[i], s, 0)", emit: func(x []V) V { return AddMul(And(zero.v, zero.v), x[0], x[1]) }, consts: use(zero)},
		{name: "fill", scalars: "v", result: "v", emit: func(x []V) V { return x[0] }},
		{name: "accumulate", args: "dst, x", result: "dst[i] + x[i]", emit: two(Add)},
		{name: "accumulate4", args: "dst, x, y, z, w", result: "dst[i] + x[i] + y[i] + z[i] + w[i]", emit: func(x []V) V {
			return Add(Add(Add(Add(x[0], x[1]), x[2]), x[3]), x[4])
		}},
		{name: "axpy", args: "dst, x", scalars: "a", sig: "func(dst []float64, a float64, x []float64)", result: "math.FMA(a, x[i], dst[i])",
			emit: func(x []V) V { return AddMul(x[0], x[2], x[1]) }},
		{name: "axpy4", args: "dst, x, y, z, w", scalars: "a, b, c, d", sig: "func(dst []float64, a, b, c, d float64, x, y, z, w []float64)",
			result: "math.FMA(d, w[i], math.FMA(c, z[i], math.FMA(b, y[i], math.FMA(a, x[i], dst[i]))))",
			emit: func(x []V) V {
				z := x[0]
				for i := range 4 {
					z = AddMul(z, x[5+i], x[1+i])
				}
				return z
			}},
	} {
		m := Map{
			Name: r.name, Args: r.args, Scalars: r.scalars, Sig: r.sig, Unroll: 4,
			Doc:   "\tfor i := range dst { dst[i] = " + r.result + " }",
			Setup: func() { load(r.consts) },
			Body:  func(x []V) []V { return []V{r.emit(x)} },
		}
		if r.args != "" && r.scalars == "" && !strings.Contains(r.args, "dst") {
			m.Of = twin(r.name)
		}
		if Single {
			if slices.Contains(doubles, r.name) {
				continue
			}
			m.Doc = strings.ReplaceAll(m.Doc, "math.", "")
			m.Packed = true
		}
		m.Write()
	}
	if Single {
		conversions()
		Finish()
		return
	}
	powers()
	Map{Name: "copy", Args: "x", Unroll: 4, Doc: "\tfor i := range dst { dst[i] = x[i] }", Body: same}.Write()
	Map{Name: "rotate", Dst: "x, y", Args: "x, y", Scalars: "s, tau", Unroll: 4,
		Doc: "\tfor i, g := range x { x[i], y[i] = math.FMA(-s, math.FMA(tau, g, y[i]), g), math.FMA(s, math.FMA(-tau, y[i], g), y[i]) }",
		Body: func(x []V) []V {
			g, h, s, tau := x[0], x[1], x[2], x[3]
			t, u := AddMul(Copy(h), tau, g), SubMul(Copy(g), tau, h)
			return []V{SubMul(g, s, t), AddMul(h, s, u)}
		}}.Write()
	Map{Name: "diagonalize", Dst: "p, q, off, s, tau", Args: "p, q, off", Scalars: "much",
		Doc:   "\tfor i, o := range off { p[i], q[i], s[i], tau[i] = DiagonalizeOf(p[i], q[i], o, much); off[i] = 0 }",
		Setup: FindConstants, Body: diagonalized}.Write()
	Entry("fill" + Suffix)
	for _, f := range links[:4] {
		for _, g := range links {
			Map{
				Name: f.name + g.then, Args: "x, y, z", Unroll: 4,
				Doc:   fmt.Sprintf("\tfor i := range dst { dst[i] = %s }", fmt.Sprintf(g.result, fmt.Sprintf(f.result, "x[i]", "y[i]"), "z[i]")),
				Setup: func() { load(use(zero)) },
				Body:  func(x []V) []V { return []V{g.emit([]V{f.emit(x[:2]), x[2]})} },
			}.Write()
		}
	}
	Map{
		Name: "mod", Of: "ModOf", Args: "x, y", Doc: "\tfor ; done < len(dst); done++ { dst[done] = ModOf(x[done], y[done]) } // stops at quotients from 2^53, at 0, inf, NaN",
		Setup: func() { load(use(zero, rest, sign, inf, limit)) },
		Stop:  quotient(limit),
		Body:  func(x []V) []V { m, _, _ := remainder(x); return []V{m} },
	}.Write()
	Map{
		Name: "floorDiv", Of: "FloorDivOf", Args: "x, y", Doc: "\tfor ; done < len(dst); done++ { dst[done] = FloorDivOf(x[done], y[done]) } // stops where mod does, and from 2^50",
		Setup: func() { load(use(zero, rest, sign, inf, limit50, unit)) },
		Stop:  quotient(limit50),
		Body:  floorDiv,
	}.Write()
	Finish()
}

// twin is the Go function of single numbers.
func twin(name string) string {
	if name == "fma" {
		return "FMAOf"
	}
	return strings.ToUpper(name[:1]) + name[1:] + "Of"
}

// doubles are the kernels that float32 has not, or has as float64.
var doubles = []string{"logSlope", "log1pSlope", "cube", "fourth", "float32", "fma", "accumulate", "accumulate4", "axpy", "addScalar", "mulScalar", "divScalar", "multiple", "axpy4"}

func same(x []V) []V { return x }

// conversions are the kernels between float32 and float64. A product of two float32 is
// a float64, so that fma is rounded to 53 bits and to 24, as the portable one.
func conversions() {
	Map{Name: "widen", Args: "x", Narrow: "x", Sig: "func(dst []float64, x []float32)", Unroll: 4,
		Doc: "\tfor i := range dst { dst[i] = float64(x[i]) }", Body: same}.Write()
	Map{Name: "narrow", Args: "x", Narrow: "dst", Sig: "func(dst []float32, x []float64)", Unroll: 4,
		Doc: "\tfor i := range dst { dst[i] = float32(x[i]) }", Body: same}.Write()
	Map{Name: "fma", Args: "x, y, z", Narrow: "dst, x, y, z", Unroll: 2,
		Doc:  "\tfor i := range dst { dst[i] = float32(FMAOf(float64(x[i]), float64(y[i]), float64(z[i]))) }",
		Body: func(x []V) []V { return []V{AddMul(x[2], x[0], x[1])} }}.Write()
}

// A link is an operation that kernels of two are made of, each with its own rounding.
type link struct {
	name, then, result string
	emit               func(x []V) V
}

var links = []link{
	{"add", "Add", "float64(%s + %s)", two(Add)},
	{"sub", "Sub", "float64(%s - %s)", two(Sub)},
	{"mul", "Mul", "float64(%s * %s)", two(Mul)},
	{"zMul", "ZMul", "ZMulOf(%s, %s)", zmul},
	{"", "SubFrom", "%[2]s - %[1]s", func(x []V) V { return Sub(x[1], x[0]) }},
}

// A constant is in every lane of a register while a kernel uses it.
type constant struct {
	bits uint64
	v    V
}

var (
	zero  = &constant{bits: 0}
	unit  = &constant{bits: 0x3ff << 52}
	minus = &constant{bits: 0xbff << 52}
	nan   = &constant{bits: 0x7ff8 << 48}
	inf   = &constant{bits: 0x7ff << 52}
	sign  = &constant{bits: 1 << 63}
	rest  = &constant{bits: 1<<63 - 1}
	limit = &constant{bits: (1023 + 53) << 52} // 2^53

	limit50 = &constant{bits: (1023 + 50) << 52}
)

func use(cs ...*constant) []*constant { return cs }

func load(cs []*constant) {
	for _, c := range cs {
		if Single {
			c.v = ConstBits(c.bits<<32 | c.bits)
		} else {
			c.v = ConstBits(c.bits)
		}
	}
}

// one and two are kernels of a single operation.
func one(f func(x V) V) func(x []V) V { return func(x []V) V { return f(x[0]) } }

func two(f func(x, y operand.Op) V) func(x []V) V {
	return func(x []V) V { return f(x[0], x[1]) }
}

func abs(x V) V {
	if Neon {
		return Abs(x)
	}
	return And(x, rest.v)
}

func negative(x V) V {
	if Neon {
		return Negative(x)
	}
	return Xor(x, sign.v)
}

// nonzero joins the truths of x[0] and x[1].
func nonzero(join func(m, n Bool) Bool, x []V) Bool {
	return join(Compare(x[0], NE, zero.v), Compare(x[1], NE, zero.v))
}

// number is 1 where p holds, else 0.
func number(p Bool) V { return Where(p, unit.v) }

func is(predicate uint8) func(x []V) V {
	return func(x []V) V { return number(Compare(x[0], predicate, x[1])) }
}

// slope is 1/x, NaN below 0; x + 0 makes 0 of -0.
func slope(x []V) V {
	return Set(Div(unit.v, Add(x[0], zero.v)), Compare(x[0], LT, zero.v), nan.v)
}

// signOf leaves zeros and NaN as they are.
func signOf(x []V) V {
	z := Choose(Compare(x[0], GT, zero.v), unit.v, x[0])
	return Choose(Compare(x[0], LT, zero.v), minus.v, z)
}

func zmul(x []V) V { return Where(nonzero(Both, x), Mul(x[0], x[1])) }

// extreme mends the instructions of amd64, which return x for two zeros and for a NaN
// in y: of equals the sign bits are joined, and a NaN y is y.
func extreme(f, join func(x, y operand.Op) V) func(x []V) V {
	if Neon {
		return two(f)
	}
	return func(x []V) V {
		z := f(x[1], x[0])
		z = Choose(Compare(x[0], EQ, x[1]), join(x[0], x[1]), z)
		return Choose(Compare(x[0], UN, x[0]), x[0], z)
	}
}

// power is x^3 or x^4: the product of the rounded square and x, or itself, and what that and the square
// lost in rounding; the product alone where it is not finite.
func power(x V, fourth bool) V {
	p := Mul(x, x)
	lost := SubMul(Copy(p), x, x)
	y := x
	if fourth {
		y, lost = p, Add(lost, lost)
	}
	r := Mul(p, y)
	lost = AddMul(SubMul(Copy(r), p, y), lost, y)
	z := Sub(r, lost)
	none := Compare(z, UN, z)
	if !fourth {
		z = Or(z, And(x, sign.v))
	}
	return Choose(none, r, z)
}

// quot is |x|/|y|, from quotient to remainder.
var quot V

// quotient stops where |x|/|y| is not below the limit or y is infinite.
func quotient(limit *constant) func(x []V) {
	return func(x []V) {
		a := abs(x[1])
		quot = Div(abs(x[0]), a)
		StopUnless(Both(Compare(quot, LT, limit.v), Compare(a, LT, inf.v)))
	}
}

// remainder is divmod's mod: r = x - trunc(x/y)*y exactly, as in fmod, and what is
// added to it; wrong is where that is y, up where the quotient was rounded up.
func remainder(x []V) (mod V, wrong, up Bool) {
	a := abs(x[1])
	r := SubMul(abs(x[0]), Trunc(quot), a)
	up = SignOf(r, zero.v)
	r = Choose(up, Add(r, a), r)
	r = Or(r, And(x[0], sign.v))

	none := Compare(r, EQ, zero.v)
	wrong = SignOf(Xor(r, x[1]), zero.v)
	mod = Add(Where(wrong, x[1]), r)
	mod = Choose(none, And(x[1], sign.v), mod)
	return mod, Without(wrong, none), up
}

// floorDiv is the whole quotient, which below 2^50 is what divmod's division rounds to.
func floorDiv(x []V) []V {
	_, wrong, up := remainder(x)
	k := Sub(Trunc(quot), number(up))
	k = Or(k, And(Xor(x[0], x[1]), sign.v))
	return []V{Sub(k, number(wrong))}
}
