package kit

import (
	"cmp"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The operations below are the vocabulary in which kernels are described once for
// every tier. Each makes a new vector, unless it says which one becomes the result.
// An operand is a vector or a constant.

// A step is an instruction that writes its last operand, from it and the others.
type step struct {
	write    func()
	operands []Op
	at       float64
}

// Do writes an instruction of AVX2 or AVX-512, or keeps it for Stagger.
func Do(write func(), operands ...Op) {
	if keep != nil {
		*keep = append(*keep, step{write: write, operands: operands})
	} else {
		write()
	}
}

var keep *[]step

// Stagger writes n bodies so that each runs a part of its length behind the one before.
// A body is one long chain of operations; a core holds too few instructions at a time to
// find the next body's beyond it, but sees those that stand beside it.
func Stagger(n int, lag float64, body func(u int)) {
	var all []step
	for u := range n {
		var steps []step
		keep = &steps
		body(u)
		late(steps)
		for i := range steps {
			steps[i].at += float64(u) * lag
		}
		all = append(all, steps...)
	}
	keep = nil
	slices.SortStableFunc(all, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	for _, s := range all {
		s.write()
	}
}

// late sets the latest times, from 0 to 1, at which the steps may start without
// lengthening the whole.
func late(steps []step) {
	const latency = 4
	due := map[Op]float64{} // when a register's next reader or writer starts
	first := 0.
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		last := len(s.operands) - 1
		s.at = due[s.operands[last]] - latency
		for _, o := range s.operands {
			if at, ok := due[o]; !ok || s.at < at {
				due[o] = s.at
			}
		}
		first = math.Min(first, s.at)
	}
	for i := range steps {
		steps[i].at = 1 - steps[i].at/first
	}
}

// SignBit is a constant for Word.
const SignBit = 1 << 63

// Magic is 1.5·2⁵²: added to a number of a smaller size it rounds that to a whole one, which then
// stands in the low bits of the sum.
const Magic = 0x1.8p52

// inRegister is x, loaded if it is in memory.
func inRegister(x Op) V {
	if _, ok := x.(Mem); ok {
		return Copy(x)
	}
	return x.(V)
}

// Copy is a copy of x.
func Copy(x Op) V {
	z := New()
	if Neon {
		return become(z, value(x))
	}
	Do(func() { VMOVUPD(x, z) }, x, z)
	return z
}

// one is a new vector op x, and two is x op y; fused overwrites x with what a multiply-add
// makes of x, y and z.
func one(avx func(...Op), neon code, x Op) V {
	z := New()
	if Neon {
		return become(z, record(neon, x))
	}
	Do(func() { avx(x, z) }, x, z)
	return z
}

func two(avx func(...Op), neon code, x, y Op) V {
	if Neon {
		return become(New(), record(neon, x, y))
	}
	z, r := New(), inRegister(x)
	Do(func() { avx(y, r, z) }, y, r, z)
	return z
}

func fused(avx func(...Op), x V, y, z Op) V {
	r := inRegister(y)
	Do(func() { avx(z, r, x) }, z, r, x)
	return x
}

func imm(n uint8, f func(...Op)) func(...Op) {
	return func(o ...Op) { f(append([]Op{U8(n)}, o...)...) }
}

func wide(avx512, avx2 func(...Op)) func(...Op) {
	if Wide {
		return avx512
	}
	return avx2
}

// of is the instruction for the type of the kernel being written.
func of[F any](double, single F) F {
	if packedNow {
		return single
	}
	return double
}

// scalar is the instruction on the low lane alone, which leaves have.
func scalar(leaf, other func(...Op)) func(...Op) {
	if Leaf {
		return leaf
	}
	return other
}

// twice is an instruction of one operand whose high lane is that of another.
func twice(f func(...Op)) func(...Op) { return func(o ...Op) { f(o[0], o[0], o[1]) } }

func roundScalar(o ...Op) { VROUNDSD(o[0], o[1], o[1], o[2]) }

// packedNow is Packed of the kernel being written.
var packedNow bool

// three is a function of avo's that has three operands.
func three(f func(x, y, z Op)) func(...Op) { return func(o ...Op) { f(o[0], o[1], o[2]) } }

// Arithmetic.

func Add(x, y Op) V { return two(scalar(VADDSD, of(VADDPD, VADDPS)), fadd, x, y) }
func Sub(x, y Op) V { return two(scalar(VSUBSD, of(VSUBPD, VSUBPS)), fsub, x, y) }
func Mul(x, y Op) V { return two(scalar(VMULSD, of(VMULPD, VMULPS)), fmul, x, y) }
func Div(x, y Op) V { return two(scalar(VDIVSD, of(VDIVPD, VDIVPS)), fdiv, x, y) }
func Sqrt(x V) V    { return one(scalar(twice(VSQRTSD), of(VSQRTPD, VSQRTPS)), fsqrt, x) }

// Max and Min let a NaN in x pass.
func Max(x, y Op) V { return two(scalar(VMAXSD, of(VMAXPD, VMAXPS)), fmax, y, x) }
func Min(x, y Op) V { return two(scalar(VMINSD, of(VMINPD, VMINPS)), fmin, y, x) }

// The roundings: to even, down, up, to zero.
func Round(x V) V { return one(rounding(0), frintn, x) }
func Floor(x V) V { return one(rounding(1), frintm, x) }
func Ceil(x V) V  { return one(rounding(2), frintp, x) }
func Trunc(x V) V { return one(rounding(3), frintz, x) }

// rounding is VROUNDPD without exceptions.
func rounding(mode uint8) func(...Op) {
	return imm(8|mode, scalar(roundScalar, wide(of(VRNDSCALEPD, VRNDSCALEPS), three(of(VROUNDPD, VROUNDPS)))))
}

// Madd: x becomes x*y + z.
func Madd(x V, y, z Op) V {
	if Neon {
		return become(x, record(fmla, z, x, y))
	}
	return fused(scalar(VFMADD213SD, VFMADD213PD), x, y, z)
}

// Msub: x becomes x*y - z.
func Msub(x V, y, z Op) V {
	if Neon {
		return become(x, record(fmla, minus(z), x, y))
	}
	return fused(scalar(VFMSUB213SD, VFMSUB213PD), x, y, z)
}

// Nmadd: x becomes z - x*y.
func Nmadd(x V, y, z Op) V {
	if Neon {
		return become(x, record(fmls, z, x, y))
	}
	return fused(scalar(VFNMADD213SD, VFNMADD213PD), x, y, z)
}

// AddMul: z becomes z + x*y.
func AddMul(z V, x, y Op) V {
	if Neon {
		return become(z, record(fmla, z, x, y))
	}
	return fused(scalar(VFMADD231SD, VFMADD231PD), z, x, y)
}

// SubMul: z becomes z - x*y.
func SubMul(z V, x, y Op) V {
	if Neon {
		return become(z, record(fmls, z, x, y))
	}
	return fused(scalar(VFNMADD231SD, VFNMADD231PD), z, x, y)
}

// NegSubMul: z becomes -z - x*y.
func NegSubMul(z V, x, y Op) V {
	if Neon {
		return become(z, record(fmls, minus(z), x, y))
	}
	return fused(scalar(VFNMSUB231SD, VFNMSUB231PD), z, x, y)
}

// Integers and bits.

func AddInt(x, y Op) V { return two(VPADDQ, add, x, y) }
func SubInt(x, y Op) V { return two(VPSUBQ, sub, x, y) }
func AndInt(x, y Op) V { return two(wide(VPANDQ, three(VPAND)), and, x, y) }
func OrInt(x, y Op) V  { return two(wide(VPORQ, three(VPOR)), orr, x, y) }
func And(x, y Op) V    { return two(VANDPD, and, x, y) }
func Or(x, y Op) V     { return two(VORPD, orr, x, y) }
func Xor(x, y Op) V    { return two(VXORPD, eor, x, y) }

// MinInt32 is the smaller of each half of a lane; not on AVX-512.
func MinInt32(x, y Op) V { return two(VPMINSD, smin, x, y) }

func ShiftLeft(x V, n uint8) V  { return one(imm(n, VPSLLQ), shl(n), x) }
func ShiftRight(x V, n uint8) V { return one(imm(n, VPSRLQ), ushr(n), x) }

// HalfExponent is x/2, rounded down, for an integer in the place of sign and exponent;
// not on AVX-512.
func HalfExponent(x V) V { return AndInt(one(imm(1, VPSRAD), sshr(1), x), Word(0xfff<<52)) }

func Abs(x V) V {
	if Neon {
		return become(New(), record(fabs, x))
	}
	return And(x, Word(SignBit-1))
}

func Negative(x V) V {
	if Neon {
		return become(New(), record(fneg, x))
	}
	return Xor(x, Word(SignBit))
}

// RoundFloat32 rounds to the nearest float32.
func RoundFloat32(x V) V {
	if Neon {
		return become(New(), record(fcvtl, record(fcvtn, x)))
	}
	z := New()
	Do(func() {
		switch {
		case Wide:
			VCVTPD2PS(x, z.AsY())
			VCVTPS2PD(z.AsY(), z)
		case Leaf:
			VCVTPD2PSX(x, z)
			VCVTPS2PD(z, z)
		default:
			VCVTPD2PSY(x, z.AsX())
			VCVTPS2PD(z.AsX(), z)
		}
	}, x, z)
	return z
}

// WithSign gives x the sign of y; x becomes the result.
func WithSign(x, y V) V {
	if Neon {
		return Set(x, Bool{Register: Copy(Word(SignBit))}, y)
	}
	if Wide {
		sign := Word(SignBit)
		Do(func() { VPTERNLOGQ(U8(0xd8), sign, y, x) }, y, x) // bit by bit, mask ? y : x
		return x
	}
	return Or(Abs(x), And(y, Word(SignBit)))
}

// Flip changes the sign of x where s has the sign bit; x becomes the result.
func Flip(x, s V) V {
	if Wide {
		sign := Word(SignBit)
		Do(func() { VPTERNLOGQ(U8(0x78), sign, s, x) }, s, x) // x ^ s&SignBit
		return x
	}
	return Xor(x, And(s, Word(SignBit)))
}

// A Bool is a condition in every lane: in a mask register on AVX-512, else bits all
// of them set or none.
type Bool struct {
	reg.Register
	not bool // the bits are those of the contrary, on NEON
}

// Comparisons: those with an N, and UN, are true where an argument is NaN, the others
// false. All are quiet.
const (
	EQ  = 0x00
	UN  = 0x03
	NE  = 0x04
	LT  = 0x11
	LE  = 0x12
	NLT = 0x15
	NLE = 0x16
	GE  = 0x1d
	GT  = 0x1e
)

func Compare(x V, how uint8, y Op) Bool {
	if Neon {
		return compareNeon(x, how, y)
	}
	m := reg.Register(New())
	if Wide {
		m = K()
	}
	Do(func() { scalar(VCMPSD, of(VCMPPD, VCMPPS))(U8(how), y, x, m) }, y, x, m)
	return Bool{Register: m}
}

// Set makes x y where m holds.
func Set(x V, m Bool, y Op) V {
	if Neon {
		if m.not {
			return become(x, record(sel, m.Register, x, y))
		}
		return become(x, record(sel, m.Register, y, x))
	}
	if Wide {
		Do(func() { VMOVUPD(y, m.Register, x) }, y, m.Register, x)
	} else {
		Do(func() { VBLENDVPD(m.Register, y, x, x) }, y, m.Register, x)
	}
	return x
}

// Choose is x where m holds, else y.
func Choose(m Bool, x, y V) V {
	if Neon {
		return Set(Copy(y), m, x)
	}
	z := New()
	Do(func() {
		if Wide {
			of(VBLENDMPD, VBLENDMPS)(x, y, m.Register, z)
		} else {
			of(VBLENDVPD, VBLENDVPS)(m.Register, x, y, z)
		}
	}, x, y, m.Register, z)
	return z
}

// Where is x where m holds, else 0.
func Where(m Bool, x V) V {
	z := New()
	switch {
	case Neon && m.not:
		become(z, record(bic, x, m.Register))
	case Wide:
		Do(func() { of(VMOVAPD_Z, VMOVAPS_Z)(x, m.Register, z) }, x, m.Register, z)
	default:
		return And(m.Register, x)
	}
	return z
}

// Both and Either join conditions; Without is m and not n.
func Both(m, n Bool) Bool {
	switch {
	case Neon && m.not && n.not:
		return Bool{Or(m.Register, n.Register), true}
	case Neon && m.not:
		return Without(n, Bool{m.Register, false})
	case Neon && n.not:
		return Without(m, Bool{n.Register, false})
	case Wide:
		return joined(of(KANDB, KANDW), m, n)
	}
	return Bool{Register: And(m.Register, n.Register)}
}

func Either(m, n Bool) Bool {
	if Neon { // not neither
		m.not, n.not = !m.not, !n.not
		z := Both(m, n)
		return Bool{z.Register, !z.not}
	}
	if Wide {
		return joined(of(KORB, KORW), m, n)
	}
	return Bool{Register: Or(m.Register, n.Register)}
}

func Without(m, n Bool) Bool {
	switch {
	case Neon && m.not, Neon && n.not:
		return Both(m, Bool{n.Register, !n.not})
	case Neon:
		return Bool{Register: become(New(), record(bic, m.Register, n.Register))}
	case Wide:
		return joined(KANDNB, m, n)
	}
	z := New()
	VANDNPD(m.Register, n.Register, z)
	return Bool{Register: z}
}

// joined is m op n of mask registers.
func joined(op func(m, n, k Op), m, n Bool) Bool {
	k := K()
	Do(func() { op(m.Register, n.Register, k) }, m.Register, n.Register, k)
	return Bool{Register: k}
}

// Lacks is whether x has no bit of the mask.
func Lacks(x V, mask Op) Bool {
	if Neon {
		return Bool{become(New(), record(cmtst, x, mask)), true}
	}
	if Wide {
		k := K()
		Do(func() { VPTESTNMQ(mask, x, k) }, mask, x, k)
		return Bool{Register: k}
	}
	m := AndInt(x, mask)
	VPCMPEQQ(Word(0), m, m)
	return Bool{Register: m}
}

// SignOf is whether the sign bit is set; zero is a vector of zeros.
func SignOf(x, zero V) Bool {
	z := reg.Register(New())
	switch {
	case Neon:
		become(z.(V), record(cmlt, x))
	case Wide:
		z = K()
		Do(func() { VPMOVQ2M(x, z) }, x, z)
	default:
		VPCMPGTQ(x, zero, z)
	}
	return Bool{Register: z}
}

// StopUnless goes to "stop" where a condition does not hold in a lane.
func StopUnless(m Bool) {
	switch {
	case Neon:
		m.not = !m.not
		recordStop(m)
	case Wide:
		KORTESTB(m.Register, m.Register)
		JCC(LabelRef("stop"))
	case Leaf:
		JCC(carry(m.Register, "stop"))
	default:
		lanes := GP32()
		VMOVMSKPD(m.Register, lanes)
		CMPL(lanes, Imm(15))
		JNE(LabelRef("stop"))
	}
}

// StopIf goes to "stop" where one of one or two conditions holds in a lane.
func StopIf(conditions ...Bool) {
	m, n := conditions[0], conditions[len(conditions)-1]
	switch {
	case Neon:
		recordStop(conditions...)
		return
	case Leaf:
		if len(conditions) > 1 {
			m.Register = Or(m.Register, n.Register)
		}
		JCS(carry(m.Register, "stop"))
		return
	case Wide:
		KORTESTB(m.Register, n.Register)
	case len(conditions) > 1:
		z := Or(m.Register, n.Register)
		VTESTPD(z, z)
	default:
		VTESTPD(m.Register, n.Register)
	}
	JNZ(LabelRef("stop"))
}
