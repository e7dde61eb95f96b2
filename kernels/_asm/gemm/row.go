package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

const (
	panelVectors = 3 // of a row of a packed panel
	rowVectors   = 3 * panelVectors
)

// row writes the product of one row with a packed operand: up to three panels at a time, whose
// chains hide from one another how long each link takes.
func row() {
	name := "row" + kit.Suffix
	TEXT(name, NOSPLIT, "func(x *call64)")
	kit.Equals(name, `	// it uses x up
	for j := 0; j < n; j += w { // the panels of w columns, bTile apart
		gemmPanel(c[j:], 0, a, 0, 1, b[j/w*bTile:], w, 1, min(w, n-j), k, false)
	}`)
	Pragma("noescape")

	p := &gemm{call: param("x")}
	p.c, p.a = p.load("c"), p.load("a")
	n := p.load("n")
	Label("next")
	for v := rowVectors; v > 1; v-- {
		CMPQ(n, I32(int32((v-1)*lanes)))
		JGT(LabelRef(fmt.Sprintf("row%d", v)))
	}
	for v := 1; v <= rowVectors; v++ {
		Label(fmt.Sprintf("row%d", v))
		p.row(v, n)
		if v < rowVectors {
			JMP(LabelRef("end"))
		}
	}
	ADDQ(I32(int32(rowVectors*size*lanes)), p.c)
	for range rowVectors / panelVectors {
		p.advance("b", "bTile")
	}
	SUBQ(I32(int32(rowVectors*lanes)), n)
	JG(LabelRef("next"))
	Label("end")
	VZEROUPPER()
	RET()
}

// row computes vectors of C, of which the last has what is left of n.
func (p *gemm) row(vectors int, n reg.GPVirtual) {
	panels := []reg.GPVirtual{p.load("b")}
	for len(panels)*panelVectors < vectors {
		b := GP64()
		MOVQ(panels[len(panels)-1], b)
		ADDQ(p.field("bTile"), b)
		panels = append(panels, b)
	}
	var acc []v
	for range vectors {
		acc = append(acc, kit.New())
		kit.Zero(acc[len(acc)-1])
	}
	a, k, at := GP64(), p.load("k"), GP64()
	MOVQ(p.a, a)
	XORQ(at, at)
	label := fmt.Sprintf("k%d", vectors)
	Label(label)
	x := kit.New()
	VBROADCASTSD(Mem{Base: a}, x)
	for j, y := range acc {
		VFMADD231PD(Mem{Base: panels[j/panelVectors], Index: at, Scale: 1, Disp: size * lanes * (j % panelVectors)}, x, y)
	}
	ADDQ(Imm(uint64(size)), a)
	ADDQ(I32(int32(panelVectors*size*lanes)), at)
	DECQ(k)
	JNZ(LabelRef(label))

	rest, whole := GP64(), GP64()
	MOVQ(n, rest)
	SUBQ(I32(int32((vectors-1)*lanes)), rest)
	MOVQ(U32(uint32(lanes)), whole)
	CMPQ(rest, whole)
	CMOVQGT(whole, rest)
	mask := kit.FirstLanes(rest)
	for j, y := range acc {
		if m := (Mem{Base: p.c, Disp: size * lanes * j}); j < vectors-1 {
			VMOVUPD(y, m)
		} else {
			kit.StoreMasked(y, mask, m)
		}
	}
}
