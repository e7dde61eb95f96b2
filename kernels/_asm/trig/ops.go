package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

type v = kit.V

// num is the numbers of the portable kernels.
var num = kit.Numbers("../table_trig.go")

// held is the constants that the kernel being written keeps in registers.
var held map[uint64]v

// c is a constant in every lane, in a register or in memory.
func c(x float64) Op { return bits(math.Float64bits(x)) }

func bits(w uint64) Op {
	if r, ok := held[w]; ok {
		return r
	}
	return kit.Bits(w)
}

// num1 is a named constant.
func num1(name string) Op { return c(num[name][0]) }

// table is the tables of the kernel being written.
var table map[string]kit.Table

// setup makes tables ready, and on AVX-512 keeps constants in registers.
func setup(names []string, xs []float64) {
	table, held = map[string]kit.Table{}, map[uint64]v{}
	hold(xs...)
	if !kit.Wide {
		if names != nil {
			var columns [][]float64
			for _, n := range names {
				columns = append(columns, num[n])
			}
			rows = kit.LookupRows("turns", columns...)
		}
		return
	}
	for _, n := range names {
		table[n] = kit.Lookup16(n, num[n])
	}
}

// cr is a constant in a register.
func cr(x float64) v {
	if r, ok := held[math.Float64bits(x)]; ok {
		return r
	}
	return load(c(x))
}

// hold keeps constants in registers from here on.
func hold(xs ...float64) {
	if !kit.Wide {
		return
	}
	for _, x := range xs {
		w := math.Float64bits(x)
		if held[w] == nil {
			held[w] = kit.Const(x)
		}
	}
}

const (
	magic   = 0x1.8p52
	signBit = 1 << 63
)

// Every function below makes a new register, unless it says which one it turns
// into its result.

func load(m Op) v { z := kit.New(); VMOVUPD(m, z); return z }
func mov(x v) v   { z := kit.New(); VMOVAPD(x, z); return z }

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
func abs(x v) v       { return and(x, bits(signBit-1)) }

// withSign gives x the sign of y; x becomes the result.
func withSign(x, y v) v {
	if kit.Wide {
		VPTERNLOGQ(U8(0xd8), bits(signBit), y, x) // bit by bit, mask ? y : x
		return x
	}
	x, s := abs(x), and(y, bits(signBit))
	VORPD(s, x, x)
	return x
}

// flip changes the sign of x where s has the sign bit.
func flip(x, s v) v {
	if kit.Wide {
		VPTERNLOGQ(U8(0x78), bits(signBit), s, x) // x ^ s&signBit
		return x
	}
	return xor(x, and(s, bits(signBit)))
}

func shiftLeft(x v, n uint8) v { z := kit.New(); VPSLLQ(U8(n), x, z); return z }

// A mask is a mask register on AVX-512, a vector on AVX2.
type mask struct{ reg.Register }

// Comparisons: those with an n, and un, are true where an argument is NaN, the others false.
const (
	eq  = 0x00
	lt  = 0x11
	le  = 0x12
	gt  = 0x1e
	nle = 0x16
	nlt = 0x15
	un  = 0x03
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
		VMOVUPD(y, m.Register, x)
	} else {
		VBLENDVPD(m.Register, y, x, x)
	}
	return x
}

// stopIf stops if one of two masks, or one given twice, has a lane.
func stopIf(m, n mask) {
	if kit.Wide {
		KORTESTB(m.Register, n.Register)
	} else {
		VTESTPD(m.Register, n.Register)
	}
	JNZ(LabelRef("stop"))
}

// lookup8 looks up one of eight numbers, held in a register, by the low bits of j.
func lookup8(held, j v) v { z := kit.New(); VPERMPD(held, j, z); return z }

// row8 is a register of numbers for lookup8.
func row8(name string, xs ...float64) v {
	return load(kit.Floats(name, append(xs, make([]float64, 8-len(xs))...)...))
}
