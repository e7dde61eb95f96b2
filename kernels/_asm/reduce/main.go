// Command reduce writes the kernels that make one number, or 32 lanes, of many.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

type v = kit.V

func main() {
	kit.Start()
	kit.Declare("Lanes")
	sum(false, true)
	sum(false, false)
	sum(true, true)
	extreme("max", VMAXPD, VMAXSD, 0xfff<<52)
	extreme("min", VMINPD, VMINSD, 0x7ff<<52)
	residuals(false, false)
	residuals(false, true)
	residuals(true, false)
	residuals(true, true)
	rotateApart()
	narrow()
	sumRows()
	sumShortRows()
	tallest()
	tallestOfRows()
	axpyRows()
	countRows()
	for _, name := range []string{"sumLanes", "sumBlock", "max", "min"} {
		kit.Entry(name + kit.Suffix)
	}
	kit.Finish()
}

// at is the j-th vector after base.
func at(base reg.Register, j int) Mem { return Mem{Base: base, Disp: 8 * kit.Lanes * j} }

// sum writes sumBlock or dotBlock, which fold, or sumLanes, which leaves the
// lanes in memory.
func sum(dot, fold bool) {
	const lanes = 32
	name, args := "sum", "x"
	if dot {
		name, args = "dot", "x, y"
	}
	if fold {
		TEXT(name+"Block"+kit.Suffix, NOSPLIT, "func("+args+" []float64) float64")
		kit.Equals(name+"Block"+kit.Suffix, fmt.Sprintf("\tvar l Lanes\n\t%sLanes(&l, %s)\n\treturn l.Fold()", name, args))
	} else {
		TEXT(name+"Lanes"+kit.Suffix, NOSPLIT, "func(l *Lanes, "+args+" []float64)")
		kit.Equals(name+"Lanes"+kit.Suffix, fmt.Sprintf("\t%sLanes(l, %s)", name, args))
	}
	Pragma("noescape")

	n, x, y, l := GP64(), GP64(), GP64(), GP64()
	Load(Param("x").Len(), n)
	Load(Param("x").Base(), x)
	if dot {
		kit.CheckLengths(n, "y")
		Load(Param("y").Base(), y)
	}
	acc := make([]v, lanes/kit.Lanes)
	if !fold {
		Load(Param("l"), l)
	}
	for j := range acc {
		acc[j] = kit.New()
		if fold {
			kit.Zero(acc[j])
		} else {
			VMOVUPD(at(l, j), acc[j])
		}
	}
	add := func(j int) {
		if dot {
			t := kit.New()
			VMOVUPD(at(x, j), t)
			VFMADD231PD(at(y, j), t, acc[j])
		} else {
			VADDPD(at(x, j), acc[j], acc[j])
		}
	}

	SUBQ(Imm(lanes), n)
	JLT(LabelRef("tail"))
	Label("turn")
	for j := range acc {
		add(j)
	}
	ADDQ(I32(8*lanes), x)
	if dot {
		ADDQ(I32(8*lanes), y)
	}
	SUBQ(Imm(lanes), n)
	JGE(LabelRef("turn"))

	// Whole vectors one by one, and where they end, a part of one.
	Label("tail")
	ADDQ(Imm(lanes), n)
	part := func(j int) string { return fmt.Sprintf("part%d", j) }
	for j := range acc[1:] {
		CMPQ(n, Imm(uint64(kit.Lanes)))
		JLT(LabelRef(part(j)))
		add(j)
		SUBQ(Imm(uint64(kit.Lanes)), n)
	}
	for j := len(acc) - 1; j >= 0; j-- {
		Label(part(j))
		mask := kit.FirstLanes(n)
		t := kit.New()
		kit.LoadMasked(at(x, j), mask, t)
		if dot {
			u := kit.New()
			kit.LoadMasked(at(y, j), mask, u)
			kit.FMAMasked(t, u, mask, acc[j])
		} else {
			VADDPD(t, acc[j], acc[j]) // + 0: a lane is never -0
		}
		if j > 0 {
			JMP(LabelRef("done"))
		}
	}

	Label("done")
	if fold {
		for h := len(acc) / 2; h > 0; h /= 2 {
			for i := range h {
				VADDPD(acc[i+h], acc[i], acc[i])
			}
		}
		s := horizontal(acc[0], VADDPD, VADDSD)
		Store(s, ReturnIndex(0))
	} else {
		for j := range acc {
			VMOVUPD(acc[j], at(l, j))
		}
	}
	VZEROUPPER()
	RET()
	if dot {
		kit.Short()
	}
}

// horizontal folds a vector in halves.
func horizontal(z v, packed, single func(...Op)) reg.Register {
	x, y, t := z.AsX(), z.AsY(), YMM()
	if kit.Wide {
		VEXTRACTF64X4(Imm(1), z, t)
		packed(t, y, y)
	}
	VEXTRACTF128(Imm(1), y, t.AsX())
	packed(t.AsX(), x, x)
	VUNPCKHPD(x, x, t.AsX())
	single(t.AsX(), x, x)
	return x
}

// narrowVectors is how many vectors of columns narrow holds.
const narrowVectors = 4

// narrow writes the sums of narrow columns, held in registers.
func narrow() {
	name := "accumulateNarrow" + kit.Suffix
	TEXT(name, NOSPLIT, "func(acc, x *float64, ldx, m, n int)")
	kit.Equals(name, fmt.Sprintf("\t// 0 < n <= %d, m > 0\n\tfor i := range m { for j := range n { acc[j] += x[i*ldx+j] } }", narrowVectors*kit.Lanes))
	Pragma("noescape")
	load := func(name string) reg.GPVirtual { r := GP64(); Load(Param(name), r); return r }
	acc, x, ldx, m, n := load("acc"), load("x"), load("ldx"), load("m"), load("n")
	SHLQ(Imm(3), ldx)
	for vectors := 1; vectors <= narrowVectors; vectors++ {
		label := func(s string) string { return fmt.Sprintf("%s%d", s, vectors) }
		if vectors < narrowVectors {
			CMPQ(n, Imm(uint64(vectors*kit.Lanes)))
			JGT(LabelRef(label("wider")))
		}
		rest := GP64()
		MOVQ(n, rest)
		SUBQ(Imm(uint64((vectors-1)*kit.Lanes)), rest)
		mask := kit.FirstLanes(rest)
		var sums []v
		for j := range vectors {
			sums = append(sums, kit.New())
			if j < vectors-1 {
				VMOVUPD(at(acc, j), sums[j])
			} else {
				kit.LoadMasked(at(acc, j), mask, sums[j])
			}
		}
		Label(label("row"))
		for j, s := range sums {
			if j < vectors-1 {
				VADDPD(at(x, j), s, s)
				continue
			}
			t := kit.New()
			kit.LoadMasked(at(x, j), mask, t)
			VADDPD(t, s, s)
		}
		ADDQ(ldx, x)
		DECQ(m)
		JNZ(LabelRef(label("row")))
		for j, s := range sums {
			if j < vectors-1 {
				VMOVUPD(s, at(acc, j))
			} else {
				kit.StoreMasked(s, mask, at(acc, j))
			}
		}
		VZEROUPPER()
		RET()
		if vectors < narrowVectors {
			Label(label("wider"))
		}
	}
}

// extreme writes the maximum or minimum but for the sign of a zero: the
// instruction does not order zeros, so a result of 0 may have either. NaNs, which
// it would lose, are counted apart.
func extreme(name string, packed, single func(...Op), start uint64) {
	TEXT(name+kit.Suffix, NOSPLIT, "func(x []float64) float64")
	kit.Equals(name+kit.Suffix, "\t"+name+" of x, NaN if there is one; a zero has either sign")
	Pragma("noescape")
	n, x := GP64(), GP64()
	Load(Param("x").Len(), n)
	Load(Param("x").Base(), x)

	const vectors = 4
	acc := make([]v, vectors)
	for j := range acc {
		acc[j] = kit.ConstBits(start)
	}
	nan := kit.New()
	kit.Zero(nan)
	var nans reg.Register
	if kit.Wide {
		nans = K()
		KXORB(nans, nans, nans)
	}
	take := func(t v, j int) {
		packed(t, acc[j], acc[j])
		if kit.Wide {
			k := K()
			VCMPPD(Imm(3), t, t, k)
			KORB(k, nans, nans)
		} else {
			VCMPPD(Imm(3), t, t, t)
			VORPD(t, nan, nan)
		}
	}
	loop := func(label string, vectors int) {
		size := uint64(vectors * kit.Lanes)
		SUBQ(Imm(size), n)
		JLT(LabelRef(label + "done"))
		Label(label)
		for j := range vectors {
			t := kit.New()
			VMOVUPD(at(x, j), t)
			take(t, j)
		}
		ADDQ(I32(int32(8*size)), x)
		SUBQ(Imm(size), n)
		JGE(LabelRef(label))
		Label(label + "done")
		ADDQ(Imm(size), n)
	}
	loop("wide", vectors)
	loop("vector", 1)
	mask := kit.FirstLanes(n)
	t := kit.ConstBits(start)
	kit.MergeMasked(at(x, 0), mask, t)
	take(t, 0)

	packed(acc[1], acc[0], acc[0])
	packed(acc[3], acc[2], acc[2])
	packed(acc[2], acc[0], acc[0])
	bits := GP32()
	if kit.Wide {
		KMOVB(nans, bits)
	} else {
		VMOVMSKPD(nan, bits)
	}
	r := horizontal(acc[0], packed, single)
	TESTL(bits, bits)
	JZ(LabelRef("number"))
	VMOVUPD(kit.Bits(0x7ff8<<48), r)
	Label("number")
	Store(r, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
