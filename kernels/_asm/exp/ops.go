package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

type v = kit.V

// num is the numbers of the portable kernels.
var num = kit.Numbers("../table_exp.go")

// c is a constant in every lane, in memory.
func c(x float64) Mem { return kit.Float(x) }

// k is a named constant, in memory; the sign of n applies to it.
func k(name string) Mem { return c(num[name][0]) }

const (
	magic    = 0x1.8p52
	signBit  = 1 << 63
	exponent = 0x7ff << 52
)

// Every function below makes a new register, unless it says which one it turns
// into its result.

func load(m Mem) v { z := kit.New(); VMOVUPD(m, z); return z }
func mov(x v) v    { z := kit.New(); VMOVAPD(x, z); return z }

func add(x v, y Op) v { z := kit.New(); VADDPD(y, x, z); return z }
func sub(x v, y Op) v { z := kit.New(); VSUBPD(y, x, z); return z }
func mul(x v, y Op) v { z := kit.New(); VMULPD(y, x, z); return z }
func div(x v, y Op) v { z := kit.New(); VDIVPD(y, x, z); return z }
func sqrt(x v) v      { z := kit.New(); VSQRTPD(x, z); return z }

// A NaN in x passes.
func max(x, y v) v { z := kit.New(); VMAXPD(x, y, z); return z }
func min(x, y v) v { z := kit.New(); VMINPD(x, y, z); return z }

// x becomes x*y + z.
func madd(x, y v, z Op) v { VFMADD213PD(z, y, x); return x }

// x becomes x*y - z.
func msub(x, y v, z Op) v { VFMSUB213PD(z, y, x); return x }

// x becomes z - x*y.
func nmadd(x, y v, z Op) v { VFNMADD213PD(z, y, x); return x }

// z becomes z + x*y.
func addMul(z, x v, y Op) v { VFMADD231PD(y, x, z); return z }

// z becomes z - x*y.
func subMul(z, x v, y Op) v { VFNMADD231PD(y, x, z); return z }

func and(x v, y Op) v { z := kit.New(); VANDPD(y, x, z); return z }
func xor(x v, y Op) v { z := kit.New(); VXORPD(y, x, z); return z }
func abs(x v) v       { return and(x, kit.Bits(signBit-1)) }

// withSign gives x the sign of y; x becomes the result.
func withSign(x, y v) v {
	if kit.Wide {
		VPTERNLOGQ(U8(0xd8), kit.Bits(signBit), y, x) // bit by bit, mask ? y : x
		return x
	}
	x, s := abs(x), and(y, kit.Bits(signBit))
	VORPD(s, x, x)
	return x
}

func addInt(x v, y Op) v {
	z := kit.New()
	VPADDQ(y, x, z)
	return z
}

func subInt(x Mem, y v) v {
	z := load(x)
	VPSUBQ(y, z, z)
	return z
}

func andInt(x v, y Op) v {
	z := kit.New()
	if kit.Wide {
		VPANDQ(y, x, z)
	} else {
		VPAND(y, x, z)
	}
	return z
}

func orInt(x v, y Op) v {
	z := kit.New()
	if kit.Wide {
		VPORQ(y, x, z)
	} else {
		VPOR(y, x, z)
	}
	return z
}

func shiftLeft(x v, n uint8) v  { z := kit.New(); VPSLLQ(U8(n), x, z); return z }
func shiftRight(x v, n uint8) v { z := kit.New(); VPSRLQ(U8(n), x, z); return z }

// A mask is a mask register on AVX-512, a vector on AVX2.
type mask struct{ reg.Register }

// Comparisons: the first three are false where an argument is NaN, the last true.
const (
	eq  = 0x00
	lt  = 0x11
	gt  = 0x1e
	nle = 0x16
	nlt = 0x15
)

func cmp(x v, how uint8, y Op) mask {
	if kit.Wide {
		m := K()
		VCMPPD(U8(how), y, x, m)
		return mask{m}
	}
	m := kit.New()
	VCMPPD(U8(how), y, x, m)
	return mask{m}
}

// set makes x y in the lanes of the mask.
func set(x v, m mask, y Op) v {
	if kit.Wide {
		VMOVAPD(y, m.Register, x)
	} else {
		VBLENDVPD(m.Register, y, x, x)
	}
	return x
}
