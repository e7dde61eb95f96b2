package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

// plain writes a search for numbers that are 0, infinite or NaN.
func plain() {
	name := "plain" + kit.Suffix
	TEXT(name, NOSPLIT, of("func(x *float64, n int) (others int)", "func(x *float32, n int) (others int)"))
	kit.Equals(name, fmt.Sprintf("\t// n is a multiple of %d, and not 0\n\tif !arePlain(x[:n]) { others = 1 }", lanes))
	Pragma("noescape")
	x, n, others := param("x"), param("n"), GP64()
	XORQ(others, others)
	infinite := uint64(0x7ff << 52)
	if kit.Single {
		infinite = 0xff<<55 | 0xff<<23
	}
	if kit.Wide {
		plainWide(x, n, others, infinite)
	} else {
		plainNarrow(x, n, others, infinite)
	}
	VZEROUPPER()
	Store(others, ReturnIndex(0))
	RET()
}

// plainWide looks for the most of twice the bits less 1: that of 0 is more than any other's.
func plainWide(x, n, others reg.GPVirtual, infinite uint64) {
	one, most := kit.ConstBits(of(uint64(1), 1<<32|1)), kit.New()
	kit.Zero(most)
	Label("wide")
	y := kit.New()
	of(VPSLLQ, VPSLLD)(Imm(1), Mem{Base: x}, y)
	of(VPSUBQ, VPSUBD)(one, y, y)
	of(VPMAXUQ, VPMAXUD)(y, most, most)
	ADDQ(Imm(64), x)
	SUBQ(Imm(uint64(lanes)), n)
	JNZ(LabelRef("wide"))
	limit, k := kit.ConstBits(of(2*infinite-1, 2*infinite-(1<<32|1))), K()
	of(VPCMPUQ, VPCMPUD)(Imm(5), limit, most, k) // no less
	word := GP32()
	KMOVW(k, word)
	TESTL(word, word)
	SETNE(others.As8())
}

// plainNarrow compares magnitudes, which as integers are not negative.
func plainNarrow(x, n, others reg.GPVirtual, infinite uint64) {
	magnitude, limit := kit.ConstBits(of(uint64(1<<63-1), 1<<63-1-1<<31)), kit.ConstBits(infinite-of(uint64(1), 1<<32|1))
	zero, found := kit.New(), kit.New()
	kit.Zero(zero)
	kit.Zero(found)
	Label("narrow")
	y, large := kit.New(), kit.New()
	VPAND(Mem{Base: x}, magnitude, y)
	of(VPCMPGTQ, VPCMPGTD)(limit, y, large)
	of(VPCMPEQQ, VPCMPEQD)(zero, y, y)
	VPOR(large, found, found)
	VPOR(y, found, found)
	ADDQ(Imm(32), x)
	SUBQ(Imm(uint64(lanes)), n)
	JNZ(LabelRef("narrow"))
	VPTEST(found, found)
	SETNE(others.As8())
}
