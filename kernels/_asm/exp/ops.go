package main

import (
	"cmp"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

type v = kit.V

// An operand is a register or a constant in memory.
type operand = Op

// A step is an instruction that writes its last operand, from it and the others.
type step struct {
	write    func()
	operands []Op
	at       float64
}

// do writes an instruction, or keeps it for stagger.
func do(write func(), operands ...Op) {
	if keep != nil {
		*keep = append(*keep, step{write: write, operands: operands})
	} else {
		write()
	}
}

var keep *[]step

// stagger writes n bodies so that each runs a part of its length behind the one before.
// A body is one long chain of operations; a core holds too few instructions at a time to
// find the next body's beyond it, but sees those that stand beside it.
func stagger(n int, lag float64, body func(u int)) {
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
			held[w] = load(c(x))
		}
	}
}

const (
	magic    = 0x1.8p52
	signBit  = 1 << 63
	exponent = 0x7ff << 52
)

// inRegister is x, loaded if it is in memory.
func inRegister(x operand) v {
	if _, ok := x.(Mem); ok {
		return load(x)
	}
	return x.(v)
}

// load is a copy of x.
func load(x operand) v {
	z := kit.New()
	do(func() { VMOVUPD(x, z) }, x, z)
	return z
}

// one makes z = op x, two z = x op y, three x = x op y op z.
func one(op func(...Op), x operand) v {
	z := kit.New()
	do(func() { op(x, z) }, x, z)
	return z
}

func two(op func(...Op), x, y operand) v {
	z, r := kit.New(), inRegister(x)
	do(func() { op(y, r, z) }, y, r, z)
	return z
}

func three(op func(...Op), x v, y, z operand) v {
	r := inRegister(y)
	do(func() { op(z, r, x) }, z, r, x)
	return x
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

func sqrt(x v) v { return one(VSQRTPD, x) }

func imm(n uint8, f func(...Op)) func(...Op) {
	return func(o ...Op) { f(append([]Op{U8(n)}, o...)...) }
}

func shiftLeft(x v, n uint8) v  { return one(imm(n, VPSLLQ), x) }
func shiftRight(x v, n uint8) v { return one(imm(n, VPSRLQ), x) }

func abs(x v) v      { return and(x, bits(signBit-1)) }
func negative(x v) v { return xor(x, bits(signBit)) }

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
		do(func() { VPTERNLOGQ(U8(0xd8), bits(signBit), y, x) }, y, x) // bit by bit, mask ? y : x
		return x
	}
	return two(VORPD, abs(x), and(y, bits(signBit)))
}

// A mask is a mask register on AVX-512, a vector on AVX2.
type mask = reg.Register

// Comparisons: the first three are false where an argument is NaN, the others true.
const (
	eq  = 0x00
	lt  = 0x11
	gt  = 0x1e
	nle = 0x16
	nlt = 0x15
)

func compare(x v, how uint8, y operand) mask {
	m := mask(kit.New())
	if kit.Wide {
		m = K()
	}
	do(func() { VCMPPD(U8(how), y, x, m) }, y, x, m)
	return m
}

// set makes x y in the lanes of the mask.
func set(x v, m mask, y operand) v {
	if kit.Wide {
		do(func() { VMOVUPD(y, m, x) }, y, m, x)
	} else {
		do(func() { VBLENDVPD(m, y, x, x) }, y, m, x)
	}
	return x
}
