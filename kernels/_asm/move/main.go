// Command move writes the kernels that put numbers where they are wanted, and read which places those are.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

func main() {
	kit.Start()
	places()
	pick()
	addAt()
	rowsAt("pickRows", true)
	rowsAt("addRowsAt", false)
	runs()
	reverse()
	if kit.Wide {
		stretch()
		strided()
		toStrided()
		copyEvery()
		copyRows()
		thin(2)
		thin(3)
	} else {
		repeat()
		stridedOnes()
		toStridedOnes()
		copyEveryOnes()
		copyRowsTwice()
	}
	kit.Finish()
}

// at is the j-th vector after base.
func at(base reg.Register, j int) Mem { return Mem{Base: base, Disp: 8 * kit.Lanes * j} }

func load(name string) reg.GPVirtual { r := GP64(); Load(Param(name), r); return r }

// places reads indices: what is added to a number below 2^52 to see it whole stands before its
// bits. Those of AVX-512 are looked at as integers, which are large where the number is negative or none: a comparison
// with a mask register for each of three took 1.7 times as long.
func places() {
	name := "places" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst *int, x *float64, n int, vectors int) (all bool)")
	kit.Equals(name, "\t// vectors > 0\n\tfor i := range vectors of x { dst[i], whole = int(x[i]), and 0 <= x[i] < n }")
	Pragma("noescape")
	dst, x, vectors := load("dst"), load("x"), load("vectors")
	big, bad, most, n := kit.ConstBits(0x433<<52), kit.New(), kit.New(), kit.New()
	kit.Zero(bad)
	if kit.Wide {
		kit.Zero(most)
		VPBROADCASTQ(kit.Addr("n"), n)
	} else {
		kit.Zero(n)
		VCVTSI2SDQ(kit.Addr("n"), n.AsX(), n.AsX())
		VBROADCASTSD(n.AsX(), n)
	}
	Label("vector")
	y, sum, back := kit.New(), kit.New(), kit.New()
	VMOVUPD(at(x, 0), y)
	VADDPD(big, y, sum)
	VSUBPD(big, sum, back)
	if kit.Wide {
		VSUBPD(y, back, back)
		VPORQ(back, bad, bad)
		VPXORQ(big, sum, sum)
		VPMAXUQ(sum, most, most)
	} else {
		zero := kit.New()
		kit.Zero(zero)
		for _, c := range []struct {
			than  reg.VecVirtual
			holds uint64
		}{{back, kit.EQ}, {zero, kit.GE}, {n, kit.LT}} {
			t := kit.New()
			VCMPPD(Imm(not(c.holds)), c.than, y, t)
			VORPD(t, bad, bad)
		}
		VXORPD(big, sum, sum)
	}
	VMOVUPD(sum, at(dst, 0))
	ADDQ(Imm(uint64(8*kit.Lanes)), x)
	ADDQ(Imm(uint64(8*kit.Lanes)), dst)
	DECQ(vectors)
	JNZ(LabelRef("vector"))
	all := GP32()
	if kit.Wide {
		odd, far := K(), K()
		VPTESTMQ(bad, bad, odd)
		VPCMPUQ(Imm(5), n, most, far) // not below
		KORW(odd, far, odd)
		KMOVW(odd, all)
	} else {
		VMOVMSKPD(bad, all)
	}
	TESTL(all, all)
	ok := GP8()
	SETEQ(ok)
	Store(ok, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// each writes a loop over n numbers, eight at a time and then one by one, between whose turns some registers move by as many.
func each(n reg.GPVirtual, turn func(some int), moving ...reg.GPVirtual) {
	for _, some := range []int{8, 1} {
		label, done := fmt.Sprintf("some%d", some), fmt.Sprintf("done%d", some)
		SUBQ(Imm(uint64(some)), n)
		JLT(LabelRef(done))
		Label(label)
		turn(some)
		for _, r := range moving {
			ADDQ(Imm(uint64(8*some)), r)
		}
		SUBQ(Imm(uint64(some)), n)
		JGE(LabelRef(label))
		Label(done)
		ADDQ(Imm(uint64(some)), n)
	}
	VZEROUPPER()
	RET()
}

// pick reads numbers at places, two of them for a half of a vector: to gather eight at once takes longer.
func pick() {
	name := "pick" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, places *int, n int)")
	kit.Equals(name, "\tfor i := range n { dst[i] = x[places[i]] }")
	Pragma("noescape")
	dst, x, places, n := load("dst"), load("x"), load("places"), load("n")
	each(n, func(some int) {
		for j := 0; j < some; j += 2 {
			k, z := GP64(), XMM()
			MOVQ(Mem{Base: places, Disp: 8 * j}, k)
			VMOVSD(Mem{Base: x, Index: k, Scale: 8}, z)
			if some == 1 {
				VMOVSD(z, Mem{Base: dst})
				return
			}
			l := GP64()
			MOVQ(Mem{Base: places, Disp: 8*j + 8}, l)
			VMOVHPD(Mem{Base: x, Index: l, Scale: 8}, z, z)
			VMOVUPD(z, Mem{Base: dst, Disp: 8 * j})
		}
	}, dst, places)
}

// addAt adds numbers to those at places, one after the other.
func addAt() {
	name := "addAt" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, places *int, n int)")
	kit.Equals(name, "\tfor i := range n { dst[places[i]] += x[i] }")
	Pragma("noescape")
	dst, x, places, n := load("dst"), load("x"), load("places"), load("n")
	each(n, func(some int) {
		for j := range some {
			k, z := GP64(), XMM()
			MOVQ(Mem{Base: places, Disp: 8 * j}, k)
			VMOVSD(Mem{Base: x, Disp: 8 * j}, z)
			VADDSD(Mem{Base: dst, Index: k, Scale: 8}, z, z)
			VMOVSD(z, Mem{Base: dst, Index: k, Scale: 8})
		}
	}, x, places)
}

// rowsAt copies rows at places, or adds rows to those: a row of few vectors is too short for a call.
func rowsAt(name string, picks bool) {
	name += kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, places *int, n, count int)")
	if picks {
		kit.Equals(name, "\t// n > 0, count > 0\n\tfor i := range count { copy(dst[i*n:][:n], x[places[i]*n:]) }")
	} else {
		kit.Equals(name, "\t// n > 0, count > 0\n\tfor i := range count { dst[places[i]*n:][:n] += x[i*n:] }")
	}
	Pragma("noescape")
	dst, x, places, n, count := load("dst"), load("x"), load("places"), load("n"), load("count")
	line := uint64(8 * kit.Lanes)
	left, whole := GP64(), GP64()
	MOVQ(n, left)
	ANDQ(Imm(uint64(kit.Lanes-1)), left)
	var tail kit.Mask
	if kit.Wide {
		tail = kit.FirstLanes(left)
	}
	SHLQ(Imm(3), n)
	MOVQ(n, whole)
	ANDQ(I32(-int32(line)), whole)
	Label("row")
	from, to, i, z := GP64(), GP64(), GP64(), kit.New()
	MOVQ(Mem{Base: places}, i)
	ADDQ(Imm(8), places)
	IMULQ(n, i)
	MOVQ(x, from)
	MOVQ(dst, to)
	if picks {
		ADDQ(i, from)
	} else {
		ADDQ(i, to)
	}
	XORQ(i, i)
	CMPQ(i, whole)
	JEQ(LabelRef("end"))
	Label("vector")
	read, write := Mem{Base: from, Index: i, Scale: 1}, Mem{Base: to, Index: i, Scale: 1}
	if picks {
		VMOVUPD(read, z)
	} else {
		VMOVUPD(write, z)
		VADDPD(read, z, z)
	}
	VMOVUPD(z, write)
	ADDQ(Imm(line), i)
	CMPQ(i, whole)
	JNE(LabelRef("vector"))
	Label("end")
	if kit.Wide {
		TESTQ(left, left)
		JZ(LabelRef("next"))
		kit.LoadMasked(read, tail, z)
		if !picks {
			t := kit.New()
			kit.LoadMasked(write, tail, t)
			VADDPD(z, t, z)
		}
		kit.StoreMasked(z, tail, write)
	} else {
		CMPQ(i, n)
		JEQ(LabelRef("next"))
		Label("number")
		one := XMM()
		if picks {
			VMOVSD(read, one)
		} else {
			VMOVSD(write, one)
			VADDSD(read, one, one)
		}
		VMOVSD(one, write)
		ADDQ(Imm(8), i)
		CMPQ(i, n)
		JNE(LabelRef("number"))
	}
	Label("next")
	if picks {
		ADDQ(n, dst)
	} else {
		ADDQ(n, x)
	}
	DECQ(count)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// reverse writes numbers in descending order, four vectors at a time and then one.
func reverse() {
	name := "reverse" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, vectors int)")
	kit.Equals(name, fmt.Sprintf("\t// vectors > 0\n\tn := %d * vectors\n\tfor i := range n { dst[i] = x[n-1-i] }", kit.Lanes))
	Pragma("noescape")
	dst, x, vectors := load("dst"), load("x"), load("vectors")
	end := GP64()
	MOVQ(vectors, end)
	IMUL3Q(Imm(uint64(8*kit.Lanes)), end, end)
	ADDQ(end, x)
	var order kit.V
	if kit.Wide {
		order = kit.New()
		VMOVDQU64(kit.Words("descending", 7, 6, 5, 4, 3, 2, 1, 0), order)
	}
	for _, some := range []int{4, 1} {
		label, done := fmt.Sprintf("some%d", some), fmt.Sprintf("done%d", some)
		SUBQ(Imm(uint64(some)), vectors)
		JLT(LabelRef(done))
		Label(label)
		for j := range some {
			y := kit.New()
			if kit.Wide {
				VPERMPD(at(x, -1-j), order, y)
			} else {
				VPERMPD(Imm(0x1b), at(x, -1-j), y)
			}
			VMOVUPD(y, at(dst, j))
		}
		SUBQ(I32(int32(8*kit.Lanes*some)), x)
		ADDQ(I32(int32(8*kit.Lanes*some)), dst)
		SUBQ(Imm(uint64(some)), vectors)
		JGE(LabelRef(label))
		Label(done)
		ADDQ(Imm(uint64(some)), vectors)
	}
	VZEROUPPER()
	RET()
}

// not is the comparison that holds where another does not, of NaN too.
func not(c uint64) uint64 { return c ^ 4 }

// stretch writes numbers several times each, eight of them at once; which is in each lane a table says.
func stretch() {
	name := "stretch" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, places *[64]uint64, n, eights int)")
	kit.Equals(name, "\t// places[i] is i / n, 0 < n <= 8, eights > 0\n\tfor i := range 8 * n * eights { dst[i] = x[i/n] }")
	Pragma("noescape")
	dst, x, eights := load("dst"), load("x"), load("eights")
	Label("eight")
	places, n, numbers := load("places"), load("n"), kit.New()
	VMOVUPD(at(x, 0), numbers)
	Label("vector")
	i, z := kit.New(), kit.New()
	VMOVDQU64(at(places, 0), i)
	VPERMPD(numbers, i, z)
	VMOVUPD(z, at(dst, 0))
	ADDQ(Imm(64), places)
	ADDQ(Imm(64), dst)
	DECQ(n)
	JNZ(LabelRef("vector"))
	ADDQ(Imm(64), x)
	DECQ(eights)
	JNZ(LabelRef("eight"))
	VZEROUPPER()
	RET()
}

// runs writes numbers many times each, the first and the last perhaps fewer times.
func runs() {
	name := "runs" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, n, first, count int)")
	kit.Equals(name, "\t// 0 < first <= n, count > 0\n\tfor i := range count { dst[i] = x[(i+n-first)/n] }")
	Pragma("noescape")
	dst, x, n, left, count := load("dst"), load("x"), load("n"), load("first"), load("count")
	CMPQ(left, count)
	CMOVQGT(count, left)
	v := kit.New()
	Label("number")
	VBROADCASTSD(Mem{Base: x}, v)
	ADDQ(Imm(8), x)
	SUBQ(left, count)
	SUBQ(Imm(uint64(kit.Lanes)), left)
	JLT(LabelRef("rest"))
	Label("vector")
	VMOVUPD(v, at(dst, 0))
	ADDQ(Imm(uint64(8*kit.Lanes)), dst)
	SUBQ(Imm(uint64(kit.Lanes)), left)
	JGE(LabelRef("vector"))
	Label("rest")
	ADDQ(Imm(uint64(kit.Lanes)), left)
	JZ(LabelRef("whole"))
	if kit.Wide {
		kit.StoreMasked(v, kit.FirstLanes(left), at(dst, 0))
	} else {
		CMPQ(left, Imm(2))
		JLT(LabelRef("one"))
		VMOVUPD(v.AsX(), at(dst, 0))
		VMOVSD(v.AsX(), Mem{Base: dst, Index: left, Scale: 8, Disp: -8})
		JMP(LabelRef("written"))
		Label("one")
		VMOVSD(v.AsX(), at(dst, 0))
		Label("written")
	}
	LEAQ(Mem{Base: dst, Index: left, Scale: 8}, dst)
	Label("whole")
	MOVQ(n, left)
	CMPQ(left, count)
	CMOVQGT(count, left)
	TESTQ(count, count)
	JNZ(LabelRef("number"))
	VZEROUPPER()
	RET()
}

// repeat writes numbers many times each, in whole vectors: the last of a number may reach into the room of the next,
// which is written after it.
func repeat() {
	name := "repeat" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, n, count int)")
	kit.Equals(name, "\t// n > 0, count > 0; up to three numbers after the last are written, too\n\tfor i := range n * count { dst[i] = x[i/n] }")
	Pragma("noescape")
	dst, x, n, count := load("dst"), load("x"), load("n"), load("count")
	v, to, next := kit.New(), GP64(), GP64()
	Label("number")
	VBROADCASTSD(Mem{Base: x}, v)
	LEAQ(Mem{Base: dst, Index: n, Scale: 8}, next)
	MOVQ(dst, to)
	Label("vector")
	VMOVUPD(v, at(to, 0))
	ADDQ(Imm(32), to)
	CMPQ(to, next)
	JCS(LabelRef("vector"))
	MOVQ(next, dst)
	ADDQ(Imm(8), x)
	DECQ(count)
	JNZ(LabelRef("number"))
	VZEROUPPER()
	RET()
}

// held is how many vectors of eight numbers apart are read or written with what is wanted of each in
// registers: for three, in half the time.
const held = 4

// strided reads each second, third … number, eight of them from as many vectors as numbers apart;
// from the second vector on a table says which lanes stay and which come from it.
func strided() {
	name := "strided" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, places *[64]uint64, stride, eights int)")
	kit.Equals(name, "\t// places[8*j+i] is what lane i takes of vectors up to j, 1 < stride <= 8, eights > 0\n\tfor i := range 8 * eights { dst[i] = x[i*stride] }")
	Pragma("noescape")
	dst, x, places, stride, eights := load("dst"), load("x"), load("places"), load("stride"), load("eights")
	for s := 2; s <= held; s++ {
		label := fmt.Sprintf("stride%d", s)
		CMPQ(stride, Imm(uint64(s)))
		JNE(LabelRef(label + "not"))
		var which []kit.V
		for j := 1; j < s; j++ {
			which = append(which, kit.New())
			VMOVDQU64(at(places, j), which[j-1])
		}
		Label(label)
		z := kit.New()
		VMOVUPD(at(x, 0), z)
		for j, i := range which {
			VPERMT2PD(at(x, j+1), i, z)
		}
		VMOVUPD(z, at(dst, 0))
		ADDQ(U32(uint32(64*s)), x)
		ADDQ(Imm(64), dst)
		DECQ(eights)
		JNZ(LabelRef(label))
		JMP(LabelRef("end"))
		Label(label + "not")
	}

	Label("eight")
	which, n, z := GP64(), GP64(), kit.New()
	MOVQ(places, which)
	MOVQ(stride, n)
	VMOVUPD(at(x, 0), z)
	DECQ(n)
	Label("vector")
	i := kit.New()
	ADDQ(Imm(64), x)
	ADDQ(Imm(64), which)
	VMOVDQU64(at(which, 0), i)
	VPERMT2PD(at(x, 0), i, z)
	DECQ(n)
	JNZ(LabelRef("vector"))
	VMOVUPD(z, at(dst, 0))
	ADDQ(Imm(64), x)
	ADDQ(Imm(64), dst)
	DECQ(eights)
	JNZ(LabelRef("eight"))
	Label("end")
	VZEROUPPER()
	RET()
}

// toStrided writes each second, third … number.
func toStrided() {
	name := "toStrided" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, places *[64]uint64, lanes *[8]uint8, stride, eights int)")
	kit.Equals(name, "\t// places[i] is i / stride, bit i of lanes whether i % stride is 0, 1 < stride <= 8, eights > 0\n\tfor i := range 8 * eights { dst[i*stride] = x[i] }")
	Pragma("noescape")
	dst, x, places, lanes, stride, eights := load("dst"), load("x"), load("places"), load("lanes"), load("stride"), load("eights")
	take := func(places, lanes reg.GPVirtual, j int) (which kit.V, some reg.Register) {
		i, bits, k := kit.New(), GP32(), K()
		VMOVDQU64(at(places, j), i)
		MOVBLZX(Mem{Base: lanes, Disp: j}, bits)
		KMOVW(bits, k)
		return i, k
	}
	for s := 2; s <= held; s++ {
		label := fmt.Sprintf("stride%d", s)
		CMPQ(stride, Imm(uint64(s)))
		JNE(LabelRef(label + "not"))
		which, some := make([]kit.V, s), make([]reg.Register, s)
		for j := range s {
			which[j], some[j] = take(places, lanes, j)
		}
		Label(label)
		numbers := kit.New()
		VMOVUPD(at(x, 0), numbers)
		for j := range s {
			z := kit.New()
			VPERMPD(numbers, which[j], z)
			VMOVUPD(z, some[j], at(dst, j))
		}
		ADDQ(U32(uint32(64*s)), dst)
		ADDQ(Imm(64), x)
		DECQ(eights)
		JNZ(LabelRef(label))
		JMP(LabelRef("end"))
		Label(label + "not")
	}

	Label("eight")
	placesNow, lanesNow, n, numbers := GP64(), GP64(), GP64(), kit.New()
	MOVQ(places, placesNow)
	MOVQ(lanes, lanesNow)
	MOVQ(stride, n)
	VMOVUPD(at(x, 0), numbers)
	Label("vector")
	i, k := take(placesNow, lanesNow, 0)
	z := kit.New()
	VPERMPD(numbers, i, z)
	VMOVUPD(z, k, at(dst, 0))
	ADDQ(Imm(64), placesNow)
	INCQ(lanesNow)
	ADDQ(Imm(64), dst)
	DECQ(n)
	JNZ(LabelRef("vector"))
	ADDQ(Imm(64), x)
	DECQ(eights)
	JNZ(LabelRef("eight"))
	Label("end")
	VZEROUPPER()
	RET()
}

// copyEvery copies each second, third … number to its own place.
func copyEvery() {
	name := "copyEvery" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, lanes *[8]uint8, stride, eights int)")
	kit.Equals(name, "\t// bit i of lanes says whether i % stride is 0, 1 < stride <= 8, eights > 0\n\tfor i := range 8 * eights { dst[i*stride] = x[i*stride] }")
	Pragma("noescape")
	dst, x, eights := load("dst"), load("x"), load("eights")
	Label("eight")
	lanes, n := load("lanes"), load("stride")
	Label("vector")
	bits, k, z := GP32(), K(), kit.New()
	MOVBLZX(Mem{Base: lanes}, bits)
	KMOVW(bits, k)
	VMOVUPD_Z(at(x, 0), k, z)
	VMOVUPD(z, k, at(dst, 0))
	INCQ(lanes)
	ADDQ(Imm(64), x)
	ADDQ(Imm(64), dst)
	DECQ(n)
	JNZ(LabelRef("vector"))
	DECQ(eights)
	JNZ(LabelRef("eight"))
	VZEROUPPER()
	RET()
}

// copyRows copies short rows, the ends of which are parts of vectors.
func copyRows() {
	name := "copyRows" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst *float64, ldd int, x *float64, ldx, n, count int)")
	kit.Equals(name, "\t// n > 0, count > 0\n\tfor i := range count { copy(dst[i*ldd:][:n], x[i*ldx:]) }")
	Pragma("noescape")
	dst, ldd, x, ldx, n, count := load("dst"), load("ldd"), load("x"), load("ldx"), load("n"), load("count")
	SHLQ(Imm(3), ldd)
	SHLQ(Imm(3), ldx)
	left, whole := GP64(), GP64()
	MOVQ(n, left)
	ANDQ(Imm(7), left)
	tail := kit.FirstLanes(left)
	MOVQ(n, whole)
	SHLQ(Imm(3), whole)
	ANDQ(I32(-64), whole)
	Label("row")
	i, z := GP64(), kit.New()
	XORQ(i, i)
	CMPQ(i, whole)
	JEQ(LabelRef("end"))
	Label("vector")
	VMOVUPD(Mem{Base: x, Index: i, Scale: 1}, z)
	VMOVUPD(z, Mem{Base: dst, Index: i, Scale: 1})
	ADDQ(Imm(64), i)
	CMPQ(i, whole)
	JNE(LabelRef("vector"))
	Label("end")
	TESTQ(left, left)
	JZ(LabelRef("next"))
	kit.LoadMasked(Mem{Base: x, Index: i, Scale: 1}, tail, z)
	kit.StoreMasked(z, tail, Mem{Base: dst, Index: i, Scale: 1})
	Label("next")
	ADDQ(ldx, x)
	ADDQ(ldd, dst)
	DECQ(count)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// thin makes as many vectors of few at a time, of which each has numbers of all.
func thin(n int) {
	name := fmt.Sprintf("thin%d%s", n, kit.Suffix)
	TEXT(name, NOSPLIT, "func(dst *float64, dstBy, dstOn int, x *float64, xBy, xOn int, places *uint64, eights int)")
	kit.Equals(name, fmt.Sprintf("\t// places are, of each result, which lanes it takes of the vectors up to the second, third …; eights > 0\n\tfor range eights { dst[k*dstBy+i] = lanes of x[j*xBy:], for all j, k < %d; dst, x = dst[dstOn:], x[xOn:] }", n))
	Pragma("noescape")
	dst, dstBy, dstOn := load("dst"), load("dstBy"), load("dstOn")
	x, xBy, xOn := load("x"), load("xBy"), load("xOn")
	places, eights := load("places"), load("eights")
	for _, bytes := range []reg.GPVirtual{dstBy, dstOn, xBy, xOn} {
		SHLQ(Imm(3), bytes)
	}
	which := make([]kit.V, n*(n-1))
	for i := range which {
		which[i] = kit.New()
		VMOVDQU64(at(places, i), which[i])
	}
	apart := func(base, by reg.GPVirtual, k int) Mem {
		if k == 0 {
			return Mem{Base: base}
		}
		return Mem{Base: base, Index: by, Scale: uint8(k)}
	}
	Label("eight")
	read := make([]kit.V, n)
	for j := range n {
		read[j] = kit.New()
		VMOVUPD(apart(x, xBy, j), read[j])
	}
	for k := range n {
		z := kit.New()
		VMOVAPD(read[0], z)
		for j := 1; j < n; j++ {
			VPERMT2PD(read[j], which[k*(n-1)+j-1], z)
		}
		VMOVUPD(z, apart(dst, dstBy, k))
	}
	ADDQ(xOn, x)
	ADDQ(dstOn, dst)
	DECQ(eights)
	JNZ(LabelRef("eight"))
	VZEROUPPER()
	RET()
}
