package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

// rotateApart turns pairs of rows, a vector of each after the other.
func rotateApart() {
	name := "rotateApart" + kit.Suffix
	TEXT(name, NOSPLIT, "func(x, y, s, tau []float64, ldx, ldy, m int)")
	kit.Equals(name, "\t// m > 0\n\tfor k := range m { for j, s := range s { if s != 0 { x[k*ldx+j], y[k*ldy+j] = turned by s and tau[j], as Rotate says } } }")
	Pragma("noescape")
	x, y, s, tau, n := GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("x").Base(), x)
	Load(Param("y").Base(), y)
	Load(Param("s").Base(), s)
	Load(Param("s").Len(), n)
	Load(Param("tau").Base(), tau)
	ldx, ldy, m := parameter("ldx"), parameter("ldy"), parameter("m")
	SHLQ(Imm(3), ldx)
	SHLQ(Imm(3), ldy)

	part := func(label string, load func(m Mem) v, store func(x v, m Mem)) {
		sine, half := load(Mem{Base: s}), load(Mem{Base: tau})
		turns := kit.Compare(sine, kit.NE, zero())
		p, q, k := GP64(), GP64(), GP64()
		MOVQ(x, p)
		MOVQ(y, q)
		MOVQ(m, k)
		Label(label)
		g, h := load(Mem{Base: p}), load(Mem{Base: q})
		t, u := kit.AddMul(kit.Copy(h), half, g), kit.SubMul(kit.Copy(g), half, h)
		store(kit.Choose(turns, kit.SubMul(kit.Copy(g), sine, t), g), Mem{Base: p})
		store(kit.Choose(turns, kit.AddMul(kit.Copy(h), sine, u), h), Mem{Base: q})
		ADDQ(ldx, p)
		ADDQ(ldy, q)
		DECQ(k)
		JNZ(LabelRef(label))
	}
	size := uint64(kit.Lanes)
	SUBQ(Imm(size), n)
	JLT(LabelRef("last"))
	Label("vector")
	part("row", func(m Mem) v { z := kit.New(); VMOVUPD(m, z); return z }, func(x v, m Mem) { VMOVUPD(x, m) })
	for _, at := range []Op{x, y, s, tau} {
		ADDQ(Imm(8*size), at)
	}
	SUBQ(Imm(size), n)
	JGE(LabelRef("vector"))
	Label("last")
	ADDQ(Imm(size), n)
	JZ(LabelRef("end"))
	mask := kit.FirstLanes(n)
	part("lastrow", func(m Mem) v { z := kit.New(); kit.LoadMasked(m, mask, z); return z }, func(x v, m Mem) { kit.StoreMasked(x, mask, m) })
	Label("end")
	VZEROUPPER()
	RET()
}
