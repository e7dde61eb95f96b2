package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
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
	var mask kit.Mask
	if !kit.Wide {
		mask = kit.FirstLanes(rest)
	}
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
	if kit.Wide {
		axpyParts(rest, i, by, num, to, from)
	} else {
		TESTQ(rest, rest)
		JZ(LabelRef("next"))
		t, y = kit.New(), kit.New()
		kit.LoadMasked(from, mask, t)
		kit.LoadMasked(to, mask, y)
		VMULPD(t, by, t)
		VFMADD231PD(t, num, y)
		kit.StoreMasked(y, mask, to)
	}
	Label("next")
	ADDQ(ldd, dst)
	ADDQ(lds, s)
	ADDQ(ldx, x)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// axpyParts adds the last rest numbers of a row, up to seven, four, two and one at a time: what is stored through a mask
// is not forwarded to what is read near it, the beginning of the next row. Rows of 20 took 3.5 times as long.
func axpyParts(rest, i reg.GPVirtual, by, num kit.V, to, from Mem) {
	for _, part := range []int{4, 2, 1} {
		label := fmt.Sprintf("less%d", part)
		TESTQ(U32(uint32(part)), rest)
		JZ(LabelRef(label))
		t, y := kit.New(), kit.New()
		switch part {
		case 4:
			VMULPD(from, by.AsY(), t.AsY())
			VMOVUPD(to, y.AsY())
			VFMADD231PD(t.AsY(), num.AsY(), y.AsY())
			VMOVUPD(y.AsY(), to)
		case 2:
			VMULPD(from, by.AsX(), t.AsX())
			VMOVUPD(to, y.AsX())
			VFMADD231PD(t.AsX(), num.AsX(), y.AsX())
			VMOVUPD(y.AsX(), to)
		case 1:
			VMULSD(from, by.AsX(), t.AsX())
			VMOVSD(to, y.AsX())
			VFMADD231SD(t.AsX(), num.AsX(), y.AsX())
			VMOVSD(y.AsX(), to)
		}
		ADDQ(Imm(uint64(8*part)), i)
		Label(label)
	}
}
