package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

// AVX2 takes no lanes of several vectors at once, and its masked stores take some twenty of the machine's own
// instructions each: numbers apart go one by one there, four a turn, and the end of a row once more with what
// stands before it.

// steps are four numbers so far apart.
type steps struct{ by, thrice reg.GPVirtual }

// stepsOf are those of a stride in numbers, which becomes one in bytes.
func stepsOf(stride reg.GPVirtual) steps {
	SHLQ(Imm(3), stride)
	s := steps{stride, GP64()}
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, s.thrice)
	return s
}

// at is the i-th of the four from base on.
func (s steps) at(base reg.Register, i int) Mem {
	switch i {
	case 0:
		return Mem{Base: base}
	case 3:
		return Mem{Base: base, Index: s.thrice, Scale: 1}
	}
	return Mem{Base: base, Index: s.by, Scale: uint8(i)}
}

// on moves base to the next four.
func (s steps) on(base reg.Register) { LEAQ(Mem{Base: base, Index: s.by, Scale: 4}, base) }

// fours writes a kernel of numbers apart, given what it does with four of them.
func fours(name, does string, four func(dst, x reg.GPVirtual, s steps)) {
	name += kit.Suffix
	TEXT(name, NOSPLIT, "func(dst, x *float64, stride, fours int)")
	kit.Equals(name, "\t// fours > 0\n\tfor i := range 4 * fours { "+does+" }")
	Pragma("noescape")
	dst, x, fours := load("dst"), load("x"), load("fours")
	s := stepsOf(load("stride"))
	Label("four")
	four(dst, x, s)
	DECQ(fours)
	JNZ(LabelRef("four"))
	VZEROUPPER()
	RET()
}

// stridedOnes reads numbers apart.
func stridedOnes() {
	fours("strided", "dst[i] = x[i*stride]", func(dst, x reg.GPVirtual, s steps) {
		y, high := YMM(), XMM()
		VMOVSD(s.at(x, 0), y.AsX())
		VMOVHPD(s.at(x, 1), y.AsX(), y.AsX())
		VMOVSD(s.at(x, 2), high)
		VMOVHPD(s.at(x, 3), high, high)
		VINSERTF128(Imm(1), high, y, y)
		VMOVUPD(y, at(dst, 0))
		s.on(x)
		ADDQ(Imm(32), dst)
	})
}

// toStridedOnes writes numbers apart.
func toStridedOnes() {
	fours("toStrided", "dst[i*stride] = x[i]", func(dst, x reg.GPVirtual, s steps) {
		y, high := YMM(), XMM()
		VMOVUPD(at(x, 0), y)
		VEXTRACTF128(Imm(1), y, high)
		VMOVSD(y.AsX(), s.at(dst, 0))
		VMOVHPD(y.AsX(), s.at(dst, 1))
		VMOVSD(high, s.at(dst, 2))
		VMOVHPD(high, s.at(dst, 3))
		s.on(dst)
		ADDQ(Imm(32), x)
	})
}

// copyEveryOnes copies numbers apart to their own places.
func copyEveryOnes() {
	fours("copyEvery", "dst[i*stride] = x[i*stride]", func(dst, x reg.GPVirtual, s steps) {
		for i := range 4 {
			y := XMM()
			VMOVSD(s.at(x, i), y)
			VMOVSD(y, s.at(dst, i))
		}
		s.on(x)
		s.on(dst)
	})
}

// copyRowsTwice copies short rows: what is left of a row after whole vectors is copied with what stands before it.
func copyRowsTwice() {
	name := "copyRows" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst *float64, ldd int, x *float64, ldx, n, count int)")
	kit.Equals(name, "\t// n > 0, count > 0, dst and x apart\n\tfor i := range count { copy(dst[i*ldd:][:n], x[i*ldx:]) }")
	Pragma("noescape")
	dst, ldd, x, ldx, n, count := load("dst"), load("ldd"), load("x"), load("ldx"), load("n"), load("count")
	for _, bytes := range []reg.GPVirtual{ldd, ldx, n} {
		SHLQ(Imm(3), bytes)
	}
	rows := func(label string, row func()) {
		Label(label)
		row()
		ADDQ(ldx, x)
		ADDQ(ldd, dst)
		DECQ(count)
		JNZ(LabelRef(label))
		VZEROUPPER()
		RET()
	}
	end := func(base reg.Register, size int) Mem { return Mem{Base: base, Index: n, Scale: 1, Disp: -size} }
	CMPQ(n, Imm(8))
	JEQ(LabelRef("ones"))
	CMPQ(n, Imm(32))
	JLT(LabelRef("pairs"))
	CMPQ(n, Imm(64))
	JLE(LabelRef("fours"))

	whole := GP64()
	LEAQ(Mem{Base: n, Disp: -1}, whole)
	ANDQ(I32(-32), whole)
	rows("longer", func() {
		i := GP64()
		XORQ(i, i)
		Label("vector")
		z := YMM()
		VMOVUPD(Mem{Base: x, Index: i, Scale: 1}, z)
		VMOVUPD(z, Mem{Base: dst, Index: i, Scale: 1})
		ADDQ(Imm(32), i)
		CMPQ(i, whole)
		JNE(LabelRef("vector"))
		VMOVUPD(end(x, 32), z)
		VMOVUPD(z, end(dst, 32))
	})
	rows("fours", func() {
		first, last := YMM(), YMM()
		VMOVUPD(Mem{Base: x}, first)
		VMOVUPD(end(x, 32), last)
		VMOVUPD(first, Mem{Base: dst})
		VMOVUPD(last, end(dst, 32))
	})
	rows("pairs", func() {
		first, last := XMM(), XMM()
		VMOVUPD(Mem{Base: x}, first)
		VMOVUPD(end(x, 16), last)
		VMOVUPD(first, Mem{Base: dst})
		VMOVUPD(last, end(dst, 16))
	})
	rows("ones", func() {
		z := XMM()
		VMOVSD(Mem{Base: x}, z)
		VMOVSD(z, Mem{Base: dst})
	})
}
