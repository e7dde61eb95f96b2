// Command arith writes the elementwise kernels of arithmetic, comparison and
// choice.
package main

import (
	"slices"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

type v = kit.V

// A row is a kernel: dst[i] is result, and emit computes a vector of it.
type row struct {
	name, args, result string
	emit               func(x []v) v
	consts             []*constant // in registers during the loop
	scalars, sig       string      // as in kit.Map
}

func main() {
	kit.Start()
	if kit.Single {
		one.bits, minus.bits, inf.bits = 0x3f800000, 0xbf800000, 0x7f800000
		sign.bits, rest.bits = 1<<31, 1<<31-1
	}
	for _, r := range []row{
		{name: "neg", args: "x", result: "-x[i]", emit: func(x []v) v { return bits(xor, x[0], sign.v) }, consts: use(sign)},
		{name: "abs", args: "x", result: "math.Abs(x[i])", emit: func(x []v) v { return abs(x[0]) }, consts: use(rest)},
		{name: "sign", args: "x", result: "SignOf(x[i])", emit: signOf, consts: use(zero, one, minus)},
		{name: "sqrt", args: "x", result: "math.Sqrt(x[i])", emit: func(x []v) v { of(VSQRTPD, VSQRTPS)(x[0], x[0]); return x[0] }},
		{name: "recip", args: "x", result: "1 / x[i]", emit: func(x []v) v { of(VDIVPD, VDIVPS)(x[0], one.v, x[0]); return x[0] }, consts: use(one)},
		{name: "square", args: "x", result: "x[i] * x[i]", emit: func(x []v) v { of(VMULPD, VMULPS)(x[0], x[0], x[0]); return x[0] }},
		{name: "floor", args: "x", result: "math.Floor(x[i])", emit: round(1)},
		{name: "ceil", args: "x", result: "math.Ceil(x[i])", emit: round(2)},
		{name: "trunc", args: "x", result: "math.Trunc(x[i])", emit: round(3)},
		{name: "round", args: "x", result: "math.RoundToEven(x[i])", emit: round(0)},
		{name: "float32", args: "x", result: "float64(float32(x[i]))", emit: float32Of},
		{name: "not", args: "x", result: "b2f(x[i] == 0)", emit: func(x []v) v { return number(compare(eq, x[0], zero.v)) }, consts: use(zero, one)},
		{name: "isNaN", args: "x", result: "b2f(x[i] != x[i])", emit: func(x []v) v { return number(compare(unordered, x[0], x[0])) }, consts: use(one)},
		{name: "isInf", args: "x", result: "b2f(math.Abs(x[i]) == math.Inf(1))", emit: func(x []v) v { return number(compare(eq, abs(x[0]), inf.v)) }, consts: use(rest, inf, one)},
		{name: "isFinite", args: "x", result: "b2f(math.Abs(x[i]) < math.Inf(1))", emit: func(x []v) v { return number(compare(lt, abs(x[0]), inf.v)) }, consts: use(rest, inf, one)},

		{name: "add", args: "x, y", result: "x[i] + y[i]", emit: op(of(VADDPD, VADDPS))},
		{name: "sub", args: "x, y", result: "x[i] - y[i]", emit: op(of(VSUBPD, VSUBPS))},
		{name: "mul", args: "x, y", result: "x[i] * y[i]", emit: op(of(VMULPD, VMULPS))},
		{name: "div", args: "x, y", result: "x[i] / y[i]", emit: op(of(VDIVPD, VDIVPS))},
		{name: "zMul", args: "x, y", result: "ZMulOf(x[i], y[i])", emit: zmul, consts: use(zero)},
		{name: "maximum", args: "x, y", result: "max(x[i], y[i])", emit: extreme(of(VMAXPD, VMAXPS), and)},
		{name: "minimum", args: "x, y", result: "min(x[i], y[i])", emit: extreme(of(VMINPD, VMINPS), or)},
		{name: "lt", args: "x, y", result: "b2f(x[i] < y[i])", emit: is(lt), consts: use(one)},
		{name: "le", args: "x, y", result: "b2f(x[i] <= y[i])", emit: is(le), consts: use(one)},
		{name: "gt", args: "x, y", result: "b2f(x[i] > y[i])", emit: is(gt), consts: use(one)},
		{name: "ge", args: "x, y", result: "b2f(x[i] >= y[i])", emit: is(ge), consts: use(one)},
		{name: "eq", args: "x, y", result: "b2f(x[i] == y[i])", emit: is(eq), consts: use(one)},
		{name: "ne", args: "x, y", result: "b2f(x[i] != y[i])", emit: is(ne), consts: use(one)},
		{name: "and", args: "x, y", result: "b2f(x[i] != 0 && y[i] != 0)", emit: func(x []v) v { return number(nonzero(both, x)) }, consts: use(zero, one)},
		{name: "or", args: "x, y", result: "b2f(x[i] != 0 || y[i] != 0)", emit: func(x []v) v { return number(nonzero(either, x)) }, consts: use(zero, one)},

		{name: "fma", args: "x, y, z", result: "math.FMA(x[i], y[i], z[i])", emit: func(x []v) v { VFMADD231PD(x[1], x[0], x[2]); return x[2] }},
		{name: "where", args: "c, x, y", result: "WhereOf(c[i], x[i], y[i])", emit: func(x []v) v { return choose(compare(ne, x[0], zero.v), x[1], x[2]) }, consts: use(zero)},

		{name: "addScalar", args: "x", scalars: "s", result: "x[i] + s", emit: op(of(VADDPD, VADDPS))},
		{name: "mulScalar", args: "x", scalars: "s", result: "x[i] * s", emit: op(of(VMULPD, VMULPS))},
		{name: "fill", scalars: "v", result: "v", emit: func(x []v) v { return x[0] }},
		{name: "accumulate", args: "dst, x", result: "dst[i] + x[i]", emit: op(of(VADDPD, VADDPS))},
		{name: "axpy", args: "dst, x", scalars: "a", sig: "func(dst []float64, a float64, x []float64)", result: "math.FMA(a, x[i], dst[i])",
			emit: func(x []v) v { VFMADD231PD(x[1], x[2], x[0]); return x[0] }},
	} {
		m := kit.Map{
			Name: r.name, Args: r.args, Scalars: r.scalars, Sig: r.sig, Unroll: 4,
			Doc:   "\tfor i := range dst { dst[i] = " + r.result + " }",
			Setup: func() { load(r.consts) },
			Body:  func(x []v) []v { return []v{r.emit(x)} },
		}
		if kit.Single {
			if slices.Contains(doubles, r.name) {
				continue
			}
			m.Doc = strings.ReplaceAll(m.Doc, "math.", "")
			m.Packed = true
		}
		m.Write()
	}
	if kit.Single {
		conversions()
		Generate()
		return
	}
	kit.Map{
		Name: "mod", Args: "x, y", Doc: "\tfor ; done < len(dst); done++ { dst[done] = ModOf(x[done], y[done]) } // stops at quotients from 2^53, at 0, inf, NaN",
		Setup: func() { load(use(zero, rest, sign, inf, limit)) },
		Stop:  quotient,
		Body:  func(x []v) []v { m, _, _ := remainder(x); return []v{m} },
	}.Write()
	kit.Map{
		Name: "floorDiv", Args: "x, y", Doc: "\tfor ; done < len(dst); done++ { dst[done] = FloorDivOf(x[done], y[done]) } // stops where mod does",
		Setup: func() { load(use(zero, rest, sign, inf, limit, one)) },
		Stop:  quotient,
		Body:  floorDiv,
	}.Write()
	Generate()
}

// doubles are the kernels that float32 has not, or has as float64.
var doubles = []string{"float32", "fma", "accumulate", "axpy", "addScalar", "mulScalar"}

// conversions are the kernels between float32 and float64. A product of two float32 is
// a float64, so that fma is rounded to 53 bits and to 24, as the portable one.
func conversions() {
	same := func(x []v) []v { return x }
	kit.Map{Name: "widen", Args: "x", Narrow: "x", Sig: "func(dst []float64, x []float32)", Unroll: 4,
		Doc: "\tfor i := range dst { dst[i] = float64(x[i]) }", Body: same}.Write()
	kit.Map{Name: "narrow", Args: "x", Narrow: "dst", Sig: "func(dst []float32, x []float64)", Unroll: 4,
		Doc: "\tfor i := range dst { dst[i] = float32(x[i]) }", Body: same}.Write()
	kit.Map{Name: "fma", Args: "x, y, z", Narrow: "dst, x, y, z", Unroll: 2,
		Doc:  "\tfor i := range dst { dst[i] = float32(FMAOf(float64(x[i]), float64(y[i]), float64(z[i]))) }",
		Body: func(x []v) []v { VFMADD231PD(x[1], x[0], x[2]); return x[2:] }}.Write()
}

// of is the instruction for the kernels' type.
func of[F any](double, single F) F {
	if kit.Single {
		return single
	}
	return double
}

// A constant is in every lane of a register while a kernel uses it.
type constant struct {
	bits uint64
	v    v
}

var (
	zero  = &constant{bits: 0}
	one   = &constant{bits: 0x3ff << 52}
	minus = &constant{bits: 0xbff << 52}
	inf   = &constant{bits: 0x7ff << 52}
	sign  = &constant{bits: 1 << 63}
	rest  = &constant{bits: 1<<63 - 1}
	limit = &constant{bits: (1023 + 53) << 52} // 2^53
)

func use(cs ...*constant) []*constant { return cs }

func load(cs []*constant) {
	for _, c := range cs {
		if kit.Single {
			c.v = kit.ConstBits(c.bits<<32 | c.bits)
		} else {
			c.v = kit.ConstBits(c.bits)
		}
	}
}

// op applies an instruction z = x op y, whose operands avo takes as y, x, z.
func op(f func(...Op)) func(x []v) v {
	return func(x []v) v { f(x[1], x[0], x[0]); return x[0] }
}

// A bitwise operation of whole vectors.
type bitwise func(x, y, z Op)

func xor(x, y, z Op) { wide(VPXORQ, VXORPD)(x, y, z) }
func and(x, y, z Op) { wide(VPANDQ, VANDPD)(x, y, z) }
func or(x, y, z Op)  { wide(VPORQ, VORPD)(x, y, z) }

func wide(avx512, avx2 func(...Op)) func(...Op) {
	if kit.Wide {
		return avx512
	}
	return avx2
}

func bits(f bitwise, x, y v) v {
	z := kit.New()
	f(x, y, z)
	return z
}

func abs(x v) v { return bits(and, x, rest.v) }

// round is the rounding mode's number in VROUNDPD, without exceptions.
func round(mode uint64) func(x []v) v {
	return func(x []v) v {
		if kit.Wide {
			of(VRNDSCALEPD, VRNDSCALEPS)(Imm(8|mode), x[0], x[0])
		} else {
			of(VROUNDPD, VROUNDPS)(Imm(8|mode), x[0], x[0])
		}
		return x[0]
	}
}

func float32Of(x []v) v {
	if kit.Wide {
		VCVTPD2PS(x[0], x[0].AsY())
		VCVTPS2PD(x[0].AsY(), x[0])
	} else {
		VCVTPD2PSY(x[0], x[0].AsX())
		VCVTPS2PD(x[0].AsX(), x[0])
	}
	return x[0]
}

// The predicates of VCMPPD; all are quiet, and NaN is only unequal.
const (
	eq        = 0x00
	unordered = 0x03
	ne        = 0x04
	lt        = 0x11
	le        = 0x12
	ge        = 0x1d
	gt        = 0x1e
)

// compare makes a truth per lane: a mask register on AVX-512, a vector of all
// ones or none on AVX2.
func compare(predicate uint64, x, y v) Op {
	if kit.Wide {
		k := K()
		of(VCMPPD, VCMPPS)(Imm(predicate), y, x, k)
		return k
	}
	z := kit.New()
	of(VCMPPD, VCMPPS)(Imm(predicate), y, x, z)
	return z
}

func both(p, q Op) Op   { return join(of(KANDB, KANDW), VANDPD, p, q) }
func either(p, q Op) Op { return join(of(KORB, KORW), VORPD, p, q) }

func join(avx512 func(p, q, r Op), avx2 func(...Op), p, q Op) Op {
	if kit.Wide {
		avx512(p, q, p)
	} else {
		avx2(p, q, p)
	}
	return p
}

// nonzero joins the truths of x[0] and x[1].
func nonzero(f func(p, q Op) Op, x []v) Op {
	return f(compare(ne, x[0], zero.v), compare(ne, x[1], zero.v))
}

// number is 1 where p holds, else 0.
func number(p Op) v { return where(p, one.v) }

// where is x where p holds, else 0.
func where(p Op, x v) v {
	z := kit.New()
	if kit.Wide {
		of(VMOVAPD_Z, VMOVAPS_Z)(x, p, z)
	} else {
		VANDPD(p, x, z)
	}
	return z
}

// choose is x where p holds, else y.
func choose(p Op, x, y v) v {
	z := kit.New()
	if kit.Wide {
		of(VBLENDMPD, VBLENDMPS)(x, y, p, z)
	} else {
		of(VBLENDVPD, VBLENDVPS)(p, x, y, z)
	}
	return z
}

func is(predicate uint64) func(x []v) v {
	return func(x []v) v { return number(compare(predicate, x[0], x[1])) }
}

// signOf leaves zeros and NaN as they are.
func signOf(x []v) v {
	z := choose(compare(gt, x[0], zero.v), one.v, x[0])
	return choose(compare(lt, x[0], zero.v), minus.v, z)
}

func zmul(x []v) v {
	p := nonzero(both, x)
	of(VMULPD, VMULPS)(x[1], x[0], x[0])
	return where(p, x[0])
}

// extreme mends the instruction, which returns y for two zeros and for a NaN in
// x: of equals the sign bits are joined, and a NaN x is x.
func extreme(f func(...Op), join bitwise) func(x []v) v {
	return func(x []v) v {
		z := kit.New()
		f(x[1], x[0], z)
		z = choose(compare(eq, x[0], x[1]), bits(join, x[0], x[1]), z)
		return choose(compare(unordered, x[0], x[0]), x[0], z)
	}
}

// quot is |x|/|y|, from quotient to remainder.
var quot v

// quotient stops where |x|/|y| is not below 2^53 or y is infinite.
func quotient(x []v) {
	a := abs(x[1])
	quot = kit.New()
	VDIVPD(a, abs(x[0]), quot)
	p := both(compare(lt, quot, limit.v), compare(lt, a, inf.v))
	if kit.Wide {
		KORTESTB(p, p)
		JCC(LabelRef("stop"))
		return
	}
	m := GP32()
	VMOVMSKPD(p, m)
	CMPL(m, Imm(15))
	JNE(LabelRef("stop"))
}

// remainder is divmod's mod: r = x - trunc(x/y)*y exactly, as in fmod, and what is
// added to it; wrong is where that is y.
func remainder(x []v) (mod, r v, wrong Op) {
	a := abs(x[1])
	r = abs(x[0])
	t := round(3)([]v{quot})
	VFNMADD231PD(a, t, r)
	s := kit.New()
	VADDPD(a, r, s)
	r = choose(negative(r), s, r) // the quotient was rounded up
	r = bits(or, r, bits(and, x[0], sign.v))

	none := compare(eq, r, zero.v)
	wrong = negative(bits(xor, r, x[1]))
	mod = where(wrong, x[1])
	VADDPD(r, mod, mod)
	mod = choose(none, bits(and, x[1], sign.v), mod)
	return mod, r, without(wrong, none)
}

func floorDiv(x []v) []v {
	_, r, wrong := remainder(x)
	div := kit.New()
	VSUBPD(r, x[0], div)
	VDIVPD(x[1], div, div)
	VSUBPD(number(wrong), div, div)

	f, up := kit.New(), kit.New()
	VMOVAPD(div, f)
	f = round(1)([]v{f})
	VSUBPD(f, div, up)
	up = number(compare(gt, up, kit.Const(0.5)))
	VADDPD(up, f, f)
	return []v{choose(compare(eq, div, zero.v), bits(and, bits(xor, x[0], x[1]), sign.v), f)}
}

// negative is the truth of x's sign bit.
func negative(x v) Op {
	if kit.Wide {
		k := K()
		VPMOVQ2M(x, k)
		return k
	}
	z := kit.New()
	VPCMPGTQ(x, zero.v, z)
	return z
}

// without is p and not q.
func without(p, q Op) Op {
	z := kit.New()
	if kit.Wide {
		k := K()
		KANDNB(p, q, k)
		return k
	}
	VANDNPD(p, q, z)
	return z
}
