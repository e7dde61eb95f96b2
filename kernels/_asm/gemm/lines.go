package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

// lineVectors are the sums that lines keeps in registers: enough to hide how long an addition takes.
const lineVectors = 12

// lines writes the product of one row with a matrix, row-major, of few columns, into C or added to it:
// its rows are read one after the other, each once, and may lie in descending order.
func lines() {
	name := "lines" + kit.Suffix
	TEXT(name, NOSPLIT, "func(c, a, b *float64, ldb, n, k int, add bool)")
	kit.Equals(name, fmt.Sprintf(`	// 0 < n <= %d, k > 0
	for j := range n { if !add { c[j] = 0 }; for p := range k { c[j] = math.FMA(a[p], b[p*ldb+j], c[j]) } }`, lineVectors*lanes))
	Pragma("noescape")

	c, a, b, ldb, n, k := param("c"), param("a"), param("b"), param("ldb"), param("n"), param("k")
	SHLQ(Imm(3), ldb)
	add := GP8()
	Load(Param("add"), add)
	for vectors := 1; vectors <= lineVectors; vectors++ {
		label := func(s string) string { return fmt.Sprintf("%s%d", s, vectors) }
		if vectors < lineVectors {
			CMPQ(n, Imm(uint64(vectors*lanes)))
			JGT(LabelRef(label("wider")))
		}
		rest := GP64()
		MOVQ(n, rest)
		SUBQ(Imm(uint64((vectors-1)*lanes)), rest)
		mask := kit.FirstLanes(rest)
		var sums []v
		for range vectors {
			sums = append(sums, kit.New())
			kit.Zero(sums[len(sums)-1])
		}
		CMPB(add, Imm(0))
		JEQ(LabelRef(label("row")))
		for j, s := range sums {
			if j < vectors-1 {
				VMOVUPD(column8(c, j), s)
			} else {
				kit.LoadMasked(column8(c, j), mask, s)
			}
		}
		Label(label("row"))
		x := kit.New()
		VBROADCASTSD(Mem{Base: a}, x)
		for j, s := range sums {
			if j < vectors-1 {
				VFMADD231PD(column8(b, j), x, s)
				continue
			}
			t := kit.New()
			kit.LoadMasked(column8(b, j), mask, t)
			VFMADD231PD(t, x, s)
		}
		ADDQ(Imm(8), a)
		ADDQ(ldb, b)
		DECQ(k)
		JNZ(LabelRef(label("row")))
		for j, s := range sums {
			if j < vectors-1 {
				VMOVUPD(s, column8(c, j))
			} else {
				kit.StoreMasked(s, mask, column8(c, j))
			}
		}
		VZEROUPPER()
		RET()
		if vectors < lineVectors {
			Label(label("wider"))
		}
	}
}

// column8 is the j-th vector of float64 from base on.
func column8(base reg.GPVirtual, j int) Mem { return Mem{Base: base, Disp: 8 * lanes * j} }
