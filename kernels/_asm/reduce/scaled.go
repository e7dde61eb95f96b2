package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

// axpyRows adds rows to rows, each times a number of its own.
func axpyRows() {
	name := "axpyRows" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst *float64, ldd int, num float64, s *float64, lds int, x *float64, ldx, n, rows int)")
	kit.Equals(name, "\t// n > 0, rows > 0\n\tfor i := range rows { for j := range n { dst[i*ldd+j] = math.FMA(num, float64(s[i*lds]*x[i*ldx+j]), dst[i*ldd+j]) } }")
	Pragma("noescape")
	dst, ldd, s, lds, x, ldx, n, rows := parameter("dst"), parameter("ldd"), parameter("s"), parameter("lds"), parameter("x"), parameter("ldx"), parameter("n"), parameter("rows")
	num := kit.New()
	VBROADCASTSD(kit.Addr("num"), num)
	rest := GP64()
	MOVQ(n, rest)
	ANDQ(Imm(uint64(kit.Lanes-1)), rest)
	SUBQ(rest, n)
	mask := kit.FirstLanes(rest)
	for _, step := range []Op{ldd, lds, ldx, n} {
		SHLQ(Imm(3), step)
	}
	i := GP64()
	to, from := Mem{Base: dst, Index: i, Scale: 1}, Mem{Base: x, Index: i, Scale: 1}

	Label("row")
	by := kit.New()
	VBROADCASTSD(Mem{Base: s}, by)
	XORQ(i, i)
	CMPQ(i, n)
	JGE(LabelRef("tail"))
	Label("vector")
	t, y := kit.New(), kit.New()
	VMULPD(from, by, t)
	VMOVUPD(to, y)
	VFMADD231PD(t, num, y)
	VMOVUPD(y, to)
	ADDQ(Imm(uint64(8*kit.Lanes)), i)
	CMPQ(i, n)
	JLT(LabelRef("vector"))

	Label("tail")
	TESTQ(rest, rest)
	JZ(LabelRef("next"))
	t, y = kit.New(), kit.New()
	kit.LoadMasked(from, mask, t)
	kit.LoadMasked(to, mask, y)
	VMULPD(t, by, t)
	VFMADD231PD(t, num, y)
	kit.StoreMasked(y, mask, to)
	Label("next")
	ADDQ(ldd, dst)
	ADDQ(lds, s)
	ADDQ(ldx, x)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
