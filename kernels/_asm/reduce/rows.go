package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

func parameter(name string) reg.GPVirtual { r := GP64(); Load(Param(name), r); return r }

// sumRows writes the sums of rows, whose lanes stay in registers.
func sumRows() {
	const lanes = 32
	name := "sumRows" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, n, rows int)")
	kit.Equals(name, "\t// 0 < n <= SumBlock, rows > 0\n\tfor i := range rows { dst[i] = sumBlock(x[i*n:][:n]) }")
	Pragma("noescape")
	dst, x, all, rows := parameter("dst"), parameter("x"), parameter("n"), parameter("rows")
	rest := GP64()
	MOVQ(all, rest)
	ANDQ(Imm(uint64(kit.Lanes-1)), rest)
	mask := kit.FirstLanes(rest)
	acc := make([]v, lanes/kit.Lanes)

	Label("row")
	n := GP64()
	MOVQ(all, n)
	for j := range acc {
		acc[j] = kit.New()
		kit.Zero(acc[j])
	}
	SUBQ(Imm(lanes), n)
	JLT(LabelRef("tail"))
	Label("turn")
	for j := range acc {
		VADDPD(at(x, j), acc[j], acc[j])
	}
	ADDQ(I32(8*lanes), x)
	SUBQ(Imm(lanes), n)
	JGE(LabelRef("turn"))

	// Whole vectors one by one, and where they end, a part of one.
	Label("tail")
	ADDQ(Imm(lanes), n)
	part := func(j int) string { return fmt.Sprintf("part%d", j) }
	for j := range acc[1:] {
		CMPQ(n, Imm(uint64(kit.Lanes)))
		JLT(LabelRef(part(j)))
		VADDPD(at(x, j), acc[j], acc[j])
		SUBQ(Imm(uint64(kit.Lanes)), n)
	}
	for j := len(acc) - 1; j >= 0; j-- {
		Label(part(j))
		t := kit.New()
		kit.LoadMasked(at(x, j), mask, t)
		LEAQ(Mem{Base: x, Index: n, Scale: 8, Disp: 8 * kit.Lanes * j}, x)
		VADDPD(t, acc[j], acc[j]) // + 0: a lane is never -0
		if j > 0 {
			JMP(LabelRef("done"))
		}
	}

	Label("done")
	for h := len(acc) / 2; h > 0; h /= 2 {
		for i := range h {
			VADDPD(acc[i+h], acc[i], acc[i])
		}
	}
	VMOVSD(horizontal(acc[0], VADDPD, VADDSD), Mem{Base: dst})
	ADDQ(Imm(8), dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// sumShortRows writes the sums of short rows, as many at once as a vector has lanes: what is left of each, a vector,
// is added up with those of the others.
func sumShortRows() {
	const lanes = 32
	name := "sumShortRows" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, n, groups int)")
	kit.Equals(name, fmt.Sprintf("\t// 0 < n <= %d, groups > 0\n\tfor i := range %d * groups { dst[i] = sumBlock(x[i*n:][:n]) }", lanes, kit.Lanes))
	Pragma("noescape")
	dst, x, n, groups := parameter("dst"), parameter("x"), parameter("n"), parameter("groups")
	zero := kit.New()
	kit.Zero(zero)
	for vectors := 1; vectors <= lanes/kit.Lanes; vectors++ {
		label := fmt.Sprintf("vectors%d", vectors)
		if vectors < lanes/kit.Lanes {
			CMPQ(n, Imm(uint64(vectors*kit.Lanes)))
			JGT(LabelRef(label + "not"))
		}
		last := GP64()
		MOVQ(n, last)
		SUBQ(Imm(uint64((vectors-1)*kit.Lanes)), last)
		mask := kit.FirstLanes(last)
		Label(label)
		var rows []v
		for range kit.Lanes {
			part := make([]v, lanes/kit.Lanes)
			for j := range vectors {
				part[j] = kit.New()
				if j < vectors-1 {
					VMOVUPD(at(x, j), part[j])
				} else {
					kit.LoadMasked(at(x, j), mask, part[j])
				}
			}
			LEAQ(Mem{Base: x, Index: n, Scale: 8}, x)
			for h := len(part) / 2; h > 0; h /= 2 {
				for i := range h {
					if part[i+h] != nil {
						VADDPD(part[i+h], part[i], part[i])
					}
				}
			}
			rows = append(rows, part[0])
		}
		sum := together(rows)
		VADDPD(zero, sum, sum) // of zeros no -0
		VMOVUPD(sum, Mem{Base: dst})
		ADDQ(Imm(uint64(8*kit.Lanes)), dst)
		DECQ(groups)
		JNZ(LabelRef(label))
		VZEROUPPER()
		RET()
		if vectors < lanes/kit.Lanes {
			Label(label + "not")
		}
	}
}

// together folds vectors, as many as they have lanes, in halves: a lane is what is left of each.
func together(rows []v) v {
	// both adds what two instructions choose of a and b.
	both := func(a, b v, lower, upper func(b, a, z Op)) v {
		low, high := kit.New(), kit.New()
		lower(b, a, low)
		upper(b, a, high)
		VADDPD(high, low, low)
		return low
	}
	chosen := func(op func(i, b, a, z Op), bits uint64) func(b, a, z Op) {
		return func(b, a, z Op) { op(U8(bits), b, a, z) }
	}
	low, high := func(b, a, z Op) { VUNPCKLPD(b, a, z) }, func(b, a, z Op) { VUNPCKHPD(b, a, z) }
	if !kit.Wide {
		half := func(a, b v) v {
			op := func(i, b, a, z Op) { VPERM2F128(i, b, a, z) }
			return both(a, b, chosen(op, 0x20), chosen(op, 0x31))
		}
		return both(half(rows[0], rows[2]), half(rows[1], rows[3]), low, high)
	}
	op := func(i, b, a, z Op) { VSHUFF64X2(i, b, a, z) }
	half := func(a, b v) v { return both(a, b, chosen(op, 0x44), chosen(op, 0xee)) }
	quarter := func(a, b v) v { return both(a, b, chosen(op, 0x88), chosen(op, 0xdd)) }
	return both(quarter(half(rows[0], rows[2]), half(rows[4], rows[6])), quarter(half(rows[1], rows[3]), half(rows[5], rows[7])), low, high)
}

// tallest writes the extremes of columns.
func tallest() {
	name := "tallest" + kit.Suffix
	TEXT(name, NOSPLIT, "func(top *float64, first *int, less, x *float64, ld, n, w int) (ordered bool)")
	kit.Equals(name, "\t// n > 0, w > 0\n\tTallest(top[:w], first[:w], less, x, ld, n); a zero has either sign")
	Pragma("noescape")
	top, first, less, x, ld, w := parameter("top"), parameter("first"), parameter("less"), parameter("x"), parameter("ld"), parameter("w")
	width := GP64()
	MOVQ(w, width)
	SHLQ(Imm(3), width)
	SHLQ(Imm(3), ld)
	bad, one := kit.New(), kit.ConstBits(1)
	kit.Zero(bad)
	var bads reg.Register
	if kit.Wide {
		bads = K()
		KXORB(bads, bads, bads)
	}
	// checked notes the lanes with a NaN.
	checked := func(x v) {
		const unordered = 3
		if kit.Wide {
			k := K()
			VCMPPD(Imm(unordered), x, x, k)
			KORB(k, bads, bads)
			return
		}
		t := kit.New()
		VCMPPD(Imm(unordered), x, x, t)
		VORPD(t, bad, bad)
	}
	columns := func(label string, mask *kit.Mask) {
		get := func(from reg.Register, t v) {
			if mask == nil {
				VMOVUPD(Mem{Base: from}, t)
			} else {
				kit.LoadMasked(Mem{Base: from}, *mask, t)
			}
		}
		put := func(t v, to reg.Register) {
			if mask == nil {
				VMOVUPD(t, Mem{Base: to})
			} else {
				kit.StoreMasked(t, *mask, Mem{Base: to})
			}
		}
		most, place, i := kit.ConstBits(0xfff<<52), kit.New(), kit.New()
		kit.Zero(place)
		kit.Zero(i)
		row, left := GP64(), parameter("n")
		MOVQ(x, row)
		Label(label + "row")
		t := kit.New()
		get(row, t)
		checked(t)
		if kit.Wide {
			k := K()
			VCMPPD(Imm(kit.GT), most, t, k)
			VMOVAPD(t, k, most)
			VMOVDQA64(i, k, place)
		} else {
			k := kit.New()
			VCMPPD(Imm(kit.GT), most, t, k)
			VBLENDVPD(k, t, most, most)
			VBLENDVPD(k, i, place, place)
		}
		VPADDQ(one, i, i)
		ADDQ(ld, row)
		DECQ(left)
		JNZ(LabelRef(label + "row"))
		put(most, top)
		put(place, first)

		TESTQ(less, less)
		JZ(LabelRef(label + "done"))
		to, again := GP64(), parameter("n")
		MOVQ(x, row)
		MOVQ(less, to)
		Label(label + "less")
		u := kit.New()
		get(row, u)
		VSUBPD(most, u, u)
		put(u, to)
		ADDQ(ld, row)
		ADDQ(width, to)
		DECQ(again)
		JNZ(LabelRef(label + "less"))
		size := Imm(uint64(8 * kit.Lanes))
		if mask == nil {
			ADDQ(size, less)
		}
		Label(label + "done")
		if mask == nil {
			ADDQ(size, x)
			ADDQ(size, top)
			ADDQ(size, first)
		}
	}
	SUBQ(Imm(uint64(kit.Lanes)), w)
	JLT(LabelRef("rest"))
	Label("vector")
	columns("whole", nil)
	SUBQ(Imm(uint64(kit.Lanes)), w)
	JGE(LabelRef("vector"))
	Label("rest")
	ADDQ(Imm(uint64(kit.Lanes)), w)
	JZ(LabelRef("end"))
	mask := kit.FirstLanes(w)
	columns("part", &mask)

	Label("end")
	returnNone(bad, bads)
}

// returnNone returns whether no lane is bad: of bads on AVX-512, else of bad.
func returnNone(bad kit.V, bads reg.Register) {
	bits, ok := GP32(), GP8()
	if kit.Wide {
		KMOVB(bads, bits)
	} else {
		VMOVMSKPD(bad, bits)
	}
	TESTL(bits, bits)
	SETEQ(ok)
	Store(ok, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// tallestOfRows writes the extremes of rows.
func tallestOfRows() {
	name := "tallestOfRows" + kit.Suffix
	TEXT(name, NOSPLIT, "func(top *float64, first *int, less, x *float64, n, rows int) (ordered bool)")
	kit.Equals(name, "\t// n > 0, rows > 0\n\tTallestOfRows(top[:rows], first[:rows], less, x, n); a zero has either sign")
	Pragma("noescape")
	top, first, less, x, all, rows := parameter("top"), parameter("first"), parameter("less"), parameter("x"), parameter("n"), parameter("rows")
	rest, whole := GP64(), GP64()
	MOVQ(all, rest)
	ANDQ(Imm(uint64(kit.Lanes-1)), rest)
	mask := kit.FirstLanes(rest)
	MOVQ(all, whole)
	SUBQ(rest, whole) // numbers in whole vectors
	lowest, bad := kit.ConstBits(0xfff<<52), kit.New()
	kit.Zero(bad)
	var bads reg.Register
	if kit.Wide {
		bads = K()
		KXORB(bads, bads, bads)
	}

	Label("row")
	most := kit.New()
	VMOVAPD(lowest, most)
	take := func(t v) {
		const unordered = 3
		VMAXPD(t, most, most)
		if kit.Wide {
			k := K()
			VCMPPD(Imm(unordered), t, t, k)
			KORB(k, bads, bads)
			return
		}
		VCMPPD(Imm(unordered), t, t, t)
		VORPD(t, bad, bad)
	}
	i := GP64()
	XORQ(i, i)
	CMPQ(i, whole)
	JGE(LabelRef("rest"))
	Label("most")
	t := kit.New()
	VMOVUPD(Mem{Base: x, Index: i, Scale: 8}, t)
	take(t)
	ADDQ(Imm(uint64(kit.Lanes)), i)
	CMPQ(i, whole)
	JLT(LabelRef("most"))
	Label("rest")
	u := kit.New()
	VMOVAPD(lowest, u)
	kit.MergeMasked(Mem{Base: x, Index: i, Scale: 8}, mask, u)
	take(u)
	m := horizontal(most, VMAXPD, VMAXSD)
	VMOVSD(m, Mem{Base: top})
	VBROADCASTSD(m.(reg.Vec).AsX(), most)

	// From the last vector to the first, so that the first place stays.
	place := GP64()
	XORQ(place, place)
	look := func(masked bool) {
		y, bits, at := kit.New(), GP32(), GP64()
		from, to := Mem{Base: x, Index: i, Scale: 8}, Mem{Base: less, Index: i, Scale: 8}
		if masked {
			kit.LoadMasked(from, mask, y)
		} else {
			VMOVUPD(from, y)
		}
		if kit.Wide {
			k := K()
			if masked {
				VCMPPD(Imm(kit.EQ), most, y, mask.K(), k)
			} else {
				VCMPPD(Imm(kit.EQ), most, y, k)
			}
			KMOVB(k, bits)
		} else {
			k := kit.New()
			VCMPPD(Imm(kit.EQ), most, y, k)
			if masked {
				VANDPD(mask.V(), k, k)
			}
			VMOVMSKPD(k, bits)
		}
		VSUBPD(most, y, y)
		if masked {
			kit.StoreMasked(y, mask, to)
		} else {
			VMOVUPD(y, to)
		}
		BSFL(bits, at.As32())
		LEAQ(Mem{Base: i, Index: at, Scale: 1}, at)
		TESTL(bits, bits)
		CMOVQNE(at, place)
	}
	look(true)
	TESTQ(i, i)
	JZ(LabelRef("looked"))
	Label("look")
	SUBQ(Imm(uint64(kit.Lanes)), i)
	look(false)
	TESTQ(i, i)
	JNZ(LabelRef("look"))
	Label("looked")
	MOVQ(place, Mem{Base: first})
	LEAQ(Mem{Base: x, Index: all, Scale: 8}, x)
	LEAQ(Mem{Base: less, Index: all, Scale: 8}, less)
	ADDQ(Imm(8), top)
	ADDQ(Imm(8), first)
	DECQ(rows)
	JNZ(LabelRef("row"))

	returnNone(bad, bads)
}
