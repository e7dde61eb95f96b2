package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

// columnRow writes the product of a column with a row that lies in panels, times rows of factors; AVX-512 only.
func columnRow() {
	const vectors = 3
	name := "columnRow" + kit.Suffix
	TEXT(name, NOSPLIT, "func(c *float64, ldc int, a *float64, lda int, b *float64, panel int, by *float64, ldby, m, n, plain int)")
	kit.Equals(name, "\t// m > 0, n > 0; plain is not 0 where no factor is 0, infinite or NaN\n\tfor i := range m { for j := range n { c[ldc*i+j] = ZMulOf(a[lda*i]*b[panel*(j/24)+j%24], by[ldby*i+j]) } }")
	Pragma("noescape")
	c, a, b, by, n := param("c"), param("a"), param("b"), param("by"), param("n")
	ldc, lda, panel, ldby, m, plain := param("ldc"), param("lda"), param("panel"), param("ldby"), param("m"), param("plain")
	for _, distance := range []reg.GPVirtual{ldc, lda, panel, ldby} {
		SHLQ(Imm(3), distance)
	}
	zero := kit.New()
	kit.Zero(zero)

	rows := func(label string, masks []kit.Mask) {
		at := [3]reg.GPVirtual{GP64(), GP64(), GP64()}
		MOVQ(c, at[0])
		MOVQ(a, at[1])
		MOVQ(by, at[2])
		left := GP64()
		MOVQ(m, left)
		var row [vectors]v
		load := func(m Mem, j int, x v) {
			if masks == nil {
				VMOVUPD(m, x)
			} else {
				kit.LoadMasked(m, masks[j], x)
			}
		}
		for j := range row {
			row[j] = kit.New()
			load(Mem{Base: b, Disp: size * lanes * j}, j, row[j])
		}
		times := func(label string, plain bool) {
			Label(label)
			x := kit.New()
			VBROADCASTSD(Mem{Base: at[1]}, x)
			for j := range row {
				product, factor, k := kit.New(), kit.New(), K()
				VMULPD(row[j], x, product)
				load(Mem{Base: at[2], Disp: size * lanes * j}, j, factor)
				if plain {
					VFMADD213PD(zero, factor, product)
				} else {
					VCMPPD(Imm(kit.NE), zero, product, k)
					VCMPPD(Imm(kit.NE), zero, factor, k, k)
					VMULPD_Z(factor, product, k, product)
				}
				to := Mem{Base: at[0], Disp: size * lanes * j}
				if masks == nil {
					VMOVUPD(product, to)
				} else {
					kit.StoreMasked(product, masks[j], to)
				}
			}
			ADDQ(ldc, at[0])
			ADDQ(lda, at[1])
			ADDQ(ldby, at[2])
			DECQ(left)
			JNZ(LabelRef(label))
		}
		CMPQ(plain, Imm(0))
		JE(LabelRef(label + "Strong"))
		times(label, true)
		JMP(LabelRef(label + "Done"))
		times(label+"Strong", false)
		Label(label + "Done")
	}

	Label("panel")
	CMPQ(n, Imm(uint64(vectors*lanes)))
	JLT(LabelRef("part"))
	rows("row", nil)
	ADDQ(Imm(uint64(size*lanes*vectors)), c)
	ADDQ(Imm(uint64(size*lanes*vectors)), by)
	ADDQ(panel, b)
	SUBQ(Imm(uint64(vectors*lanes)), n)
	JNZ(LabelRef("panel"))
	JMP(LabelRef("end"))
	Label("part")
	var masks []kit.Mask
	for j := range vectors { // of more numbers than a vector has lanes the mask has all
		left, none := GP64(), GP64()
		XORQ(none, none)
		MOVQ(n, left)
		SUBQ(Imm(uint64(lanes*j)), left)
		CMOVQLT(none, left)
		masks = append(masks, kit.FirstLanes(left))
	}
	rows("partRow", masks)
	Label("end")
	VZEROUPPER()
	RET()
}
