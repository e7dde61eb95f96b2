package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

// countRows writes how many numbers of each row equal one of its own: the bits of comparisons are counted.
func countRows() {
	const equal = 0 // ordered, quiet
	name := "countRows" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x, v *float64, n, rows int)")
	kit.Equals(name, "\t// n > 0, rows > 0\n\tfor i := range rows { dst[i] = float64(how many of x[i*n:][:n] == v[i]) }")
	Pragma("noescape")
	dst, x, v, n, rows := parameter("dst"), parameter("x"), parameter("v"), parameter("n"), parameter("rows")
	rest := GP64()
	MOVQ(n, rest)
	ANDQ(Imm(uint64(kit.Lanes-1)), rest)
	SUBQ(rest, n)
	mask, bits := kit.FirstLanes(rest), GP64()
	MOVQ(I64(-1), bits)
	BZHIQ(rest, bits, bits)
	SHLQ(Imm(3), n)
	SHLQ(Imm(3), rest)
	i, like := GP64(), kit.New()

	// hits adds the lanes of y that equal the number, or those of them that bits leave, to the count.
	hits := func(y Op, count reg.GPVirtual, few bool) {
		h := GP64()
		if kit.Wide {
			k := K()
			VCMPPD(U8(equal), y, like, k)
			KMOVB(k, h.As32())
		} else {
			t := kit.New()
			VCMPPD(U8(equal), y, like, t)
			VMOVMSKPD(t, h.As32())
		}
		if few {
			ANDQ(bits, h)
		}
		POPCNTQ(h, h)
		ADDQ(h, count)
	}

	Label("row")
	count := GP64()
	XORQ(count, count)
	VBROADCASTSD(Mem{Base: v}, like)
	XORQ(i, i)
	CMPQ(i, n)
	JGE(LabelRef("tail"))
	Label("vector")
	hits(Mem{Base: x, Index: i, Scale: 1}, count, false)
	ADDQ(Imm(uint64(8*kit.Lanes)), i)
	CMPQ(i, n)
	JLT(LabelRef("vector"))

	Label("tail")
	TESTQ(rest, rest)
	JZ(LabelRef("next"))
	y := kit.New()
	kit.LoadMasked(Mem{Base: x, Index: i, Scale: 1}, mask, y)
	hits(y, count, true)
	ADDQ(rest, i)
	Label("next")
	s := XMM()
	VXORPD(s, s, s)
	VCVTSI2SDQ(count, s, s)
	VMOVSD(s, Mem{Base: dst})
	ADDQ(i, x)
	ADDQ(Imm(8), v)
	ADDQ(Imm(8), dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
