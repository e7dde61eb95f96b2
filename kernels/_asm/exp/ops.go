package main

import (
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

// A v is the vectors of one turn, which go through every operation side by side:
// two on AVX-512, where one chain of operations leaves half of the units idle.
type v []kit.V

// width is how many vectors a turn has.
var width int

func fresh() v {
	z := make(v, width)
	for i := range z {
		z[i] = kit.New()
	}
	return z
}

// An operand is a v or a constant (kit.V or Mem).
type operand any

// part is what operation i of a turn takes from an operand.
func part(y operand, i int) Op {
	switch y := y.(type) {
	case v:
		return y[i]
	case Op:
		return y
	}
	panic("exp: not an operand")
}

// num is the numbers of the portable kernels.
var num = kit.Numbers("../table_exp.go")

// held is the constants that the kernel being written keeps in registers.
var held map[uint64]kit.V

// c is a constant in every lane, in a register or in memory.
func c(x float64) Op { return bits(math.Float64bits(x)) }

func bits(w uint64) Op {
	if r, ok := held[w]; ok {
		return r
	}
	return constant(w)
}

// The constants stand sixteen times each, so that from the right offset on, a
// multiple of 64, eight of them are a vector that does not cross a cache line: the
// linker aligns data to 32 bytes only, and a split load costs two.
var (
	constants []uint64
	base      reg.GPVirtual
)

const stride = 128

func constant(w uint64) Mem {
	i := slices.Index(constants, w)
	if i < 0 {
		i = len(constants)
		constants = append(constants, w)
	}
	return Mem{Base: base, Disp: stride * i}
}

// findConstants points base to the constants; writeConstants writes them.
func findConstants() {
	base = GP64()
	LEAQ(NewDataAddr(Symbol{Name: "constants", Static: true}, 0), base)
	ADDQ(Imm(63), base)
	ANDQ(I8(-64), base)
}

func writeConstants() {
	var words []uint64
	for _, w := range constants {
		words = append(words, slices.Repeat([]uint64{w}, stride/8)...)
	}
	kit.Words("constants", words...)
}

// k is a named constant.
func k(name string) Op { return c(num[name][0]) }

// hold keeps constants in registers from here on.
func hold(xs ...float64) {
	for _, x := range xs {
		if w := math.Float64bits(x); held[w] == nil {
			held[w] = load(c(x))[0]
		}
	}
}

const (
	magic    = 0x1.8p52
	signBit  = 1 << 63
	exponent = 0x7ff << 52
)

// two makes z = x op y.
func two(op func(...Op), x, y operand) v {
	z := fresh()
	for i := range z {
		op(part(y, i), part(inRegister(x), i), z[i])
	}
	return z
}

// inRegister is x, loaded if it is in memory.
func inRegister(x operand) operand {
	if m, ok := x.(Mem); ok {
		z := kit.New()
		VMOVUPD(m, z)
		return z
	}
	return x
}

// load is a copy of x.
func load(x operand) v {
	z := fresh()
	for i := range z {
		VMOVUPD(part(x, i), z[i])
	}
	return z
}

func add(x, y operand) v { return two(VADDPD, x, y) }
func sub(x, y operand) v { return two(VSUBPD, x, y) }
func mul(x, y operand) v { return two(VMULPD, x, y) }
func div(x, y operand) v { return two(VDIVPD, x, y) }
func and(x, y operand) v { return two(VANDPD, x, y) }
func xor(x, y operand) v { return two(VXORPD, x, y) }

// A NaN in x passes.
func max(x, y operand) v { return two(VMAXPD, y, x) }
func min(x, y operand) v { return two(VMINPD, y, x) }

func addInt(x, y operand) v { return two(VPADDQ, x, y) }
func subInt(x, y operand) v { return two(VPSUBQ, x, y) }

func andInt(x, y operand) v {
	if kit.Wide {
		return two(VPANDQ, x, y)
	}
	return two(func(o ...Op) { VPAND(o[0], o[1], o[2]) }, x, y)
}

func orInt(x, y operand) v {
	if kit.Wide {
		return two(VPORQ, x, y)
	}
	return two(func(o ...Op) { VPOR(o[0], o[1], o[2]) }, x, y)
}

func one(f func(...Op), x operand) v {
	z := fresh()
	for i := range z {
		f(part(x, i), z[i])
	}
	return z
}

func sqrt(x v) v { return one(VSQRTPD, x) }

func imm(n uint8, f func(...Op)) func(...Op) {
	return func(o ...Op) { f(append([]Op{U8(n)}, o...)...) }
}

func shiftLeft(x v, n uint8) v  { return one(imm(n, VPSLLQ), x) }
func shiftRight(x v, n uint8) v { return one(imm(n, VPSRLQ), x) }

func abs(x v) v      { return and(x, bits(signBit-1)) }
func negative(x v) v { return xor(x, bits(signBit)) }

// three makes x = x op y op z.
func three(op func(...Op), x v, y, z operand) v {
	for i := range x {
		op(part(z, i), part(inRegister(y), i), x[i])
	}
	return x
}

// x becomes x*y + z.
func madd(x v, y, z operand) v { return three(VFMADD213PD, x, y, z) }

// x becomes x*y - z.
func msub(x v, y, z operand) v { return three(VFMSUB213PD, x, y, z) }

// x becomes z - x*y.
func nmadd(x v, y, z operand) v { return three(VFNMADD213PD, x, y, z) }

// z becomes z + x*y.
func addMul(z v, x, y operand) v { return three(VFMADD231PD, z, x, y) }

// z becomes z - x*y.
func subMul(z v, x, y operand) v { return three(VFNMADD231PD, z, x, y) }

// withSign gives x the sign of y; x becomes the result.
func withSign(x, y v) v {
	if kit.Wide {
		for i := range x {
			VPTERNLOGQ(U8(0xd8), part(bits(signBit), i), y[i], x[i]) // bit by bit, mask ? y : x
		}
		return x
	}
	return two(VORPD, abs(x), and(y, bits(signBit)))
}

// A mask is a mask register on AVX-512, a vector on AVX2.
type mask []reg.Register

// Comparisons: the first three are false where an argument is NaN, the last true.
const (
	eq  = 0x00
	lt  = 0x11
	gt  = 0x1e
	nle = 0x16
	nlt = 0x15
)

// vector is a mask of AVX2 as numbers.
func (m mask) vector() v {
	z := make(v, len(m))
	for i := range z {
		z[i] = m[i].(kit.V)
	}
	return z
}

func cmp(x v, how uint8, y operand) mask {
	m := make(mask, len(x))
	for i := range x {
		if kit.Wide {
			m[i] = K()
		} else {
			m[i] = kit.New()
		}
		VCMPPD(U8(how), part(y, i), x[i], m[i])
	}
	return m
}

// set makes x y in the lanes of the mask.
func set(x v, m mask, y operand) v {
	for i := range x {
		if kit.Wide {
			VMOVUPD(part(y, i), m[i], x[i])
		} else {
			VBLENDVPD(m[i], part(y, i), x[i], x[i])
		}
	}
	return x
}
