package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

// transpose writes the transposition of whole 4×4 blocks, in strips of eight
// rows so that a line of dst is filled at once, then of four.
func transpose() {
	name := "transpose" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst *float64, ldd int, x *float64, ldx, m, n int)")
	kit.Equals(name, "\t// m and n are multiples of 4\n\tTranspose(dst, ldd, x, ldx, m, n)")
	Pragma("noescape")
	dst, x, m := param("dst"), param("x"), param("m")
	ldd, ldx := param("ldd"), param("ldx")
	SHLQ(Imm(3), ldd)
	SHLQ(Imm(3), ldx)
	ldd3, ldx3 := GP64(), GP64()
	LEAQ(Mem{Base: ldd, Index: ldd, Scale: 2}, ldd3)
	LEAQ(Mem{Base: ldx, Index: ldx, Scale: 2}, ldx3)

	rows := func(p reg.Register, ld, ld3 reg.Register, disp int) [4]Mem {
		return [4]Mem{
			{Base: p, Disp: disp},
			{Base: p, Index: ld, Scale: 1, Disp: disp},
			{Base: p, Index: ld, Scale: 2, Disp: disp},
			{Base: p, Index: ld3, Scale: 1, Disp: disp},
		}
	}
	strip := func(label, next string, height int) {
		Label(label)
		CMPQ(m, Imm(uint64(height)))
		JLT(LabelRef(next))
		from, to, n := []reg.Register{GP64()}, GP64(), param("n")
		MOVQ(x, from[0])
		if height == 8 {
			from = append(from, GP64())
			LEAQ(Mem{Base: x, Index: ldx, Scale: 4}, from[1])
		}
		MOVQ(dst, to)
		Label(label + "block")
		for h, f := range from {
			block(rows(f, ldx, ldx3, 0), rows(to, ldd, ldd3, 32*h))
			ADDQ(Imm(32), f)
		}
		LEAQ(Mem{Base: to, Index: ldd, Scale: 4}, to)
		SUBQ(Imm(4), n)
		JNZ(LabelRef(label + "block"))
		LEAQ(Mem{Base: x, Index: ldx, Scale: uint8(height)}, x)
		ADDQ(Imm(uint64(8*height)), dst)
		SUBQ(Imm(uint64(height)), m)
		JMP(LabelRef(label))
	}
	strip("eight", "four", 8)
	strip("four", "end", 4)
	Label("end")
	VZEROUPPER()
	RET()
}

// block transposes four rows of four numbers.
func block(from, to [4]Mem) {
	var r, t [4]v
	for i := range r {
		r[i], t[i] = YMM(), YMM()
		VMOVUPD(from[i], r[i])
	}
	VUNPCKLPD(r[1], r[0], t[0]) // x00 x10 x02 x12
	VUNPCKHPD(r[1], r[0], t[1]) // x01 x11 x03 x13
	VUNPCKLPD(r[3], r[2], t[2]) // x20 x30 x22 x32
	VUNPCKHPD(r[3], r[2], t[3]) // x21 x31 x23 x33
	VPERM2F128(Imm(0x20), t[2], t[0], r[0])
	VPERM2F128(Imm(0x20), t[3], t[1], r[1])
	VPERM2F128(Imm(0x31), t[2], t[0], r[2])
	VPERM2F128(Imm(0x31), t[3], t[1], r[3])
	for i := range r {
		VMOVUPD(r[i], to[i])
	}
}

// transpose32 writes the transposition of whole 8×8 blocks of float32.
func transpose32() {
	name := "transpose" + kit.Suffix
	TEXT(name, NOSPLIT, "func(dst *float32, ldd int, x *float32, ldx, m, n int)")
	kit.Equals(name, "\t// m and n are multiples of 8\n\tTranspose32(dst, ldd, x, ldx, m, n)")
	Pragma("noescape")
	dst, x, m := param("dst"), param("x"), param("m")
	ldd, ldx := param("ldd"), param("ldx")
	SHLQ(Imm(2), ldd)
	SHLQ(Imm(2), ldx)
	ldd3, ldx3 := GP64(), GP64()
	LEAQ(Mem{Base: ldd, Index: ldd, Scale: 2}, ldd3)
	LEAQ(Mem{Base: ldx, Index: ldx, Scale: 2}, ldx3)
	from, to, n := [2]reg.GPVirtual{GP64(), GP64()}, [2]reg.GPVirtual{GP64(), GP64()}, GP64()

	Label("strip")
	SUBQ(Imm(8), m)
	JLT(LabelRef("end"))
	MOVQ(x, from[0])
	MOVQ(dst, to[0])
	MOVQ(kit.Addr("n"), n)
	Label("block")
	LEAQ(Mem{Base: from[0], Index: ldx, Scale: 4}, from[1])
	LEAQ(Mem{Base: to[0], Index: ldd, Scale: 4}, to[1])
	row := func(p [2]reg.GPVirtual, ld, ld3 reg.Register, i int) Mem {
		return []Mem{{Base: p[i/4]}, {Base: p[i/4], Index: ld, Scale: 1}, {Base: p[i/4], Index: ld, Scale: 2}, {Base: p[i/4], Index: ld3, Scale: 1}}[i%4]
	}
	var r, t [8]v
	for i := range r {
		r[i], t[i] = YMM(), YMM()
		VMOVUPS(row(from, ldx, ldx3, i), r[i])
	}
	for i := 0; i < 8; i += 2 {
		VUNPCKLPS(r[i+1], r[i], t[i])   // of columns 0, 1 and 4, 5
		VUNPCKHPS(r[i+1], r[i], t[i+1]) // of columns 2, 3 and 6, 7
	}
	for i := 0; i < 8; i += 4 {
		VUNPCKLPD(t[i+2], t[i], r[i]) // four rows of columns 0 and 4, and so on
		VUNPCKHPD(t[i+2], t[i], r[i+1])
		VUNPCKLPD(t[i+3], t[i+1], r[i+2])
		VUNPCKHPD(t[i+3], t[i+1], r[i+3])
	}
	for i := range 4 {
		VPERM2F128(Imm(0x20), r[i+4], r[i], t[i])
		VPERM2F128(Imm(0x31), r[i+4], r[i], t[i+4])
	}
	for i := range t {
		VMOVUPS(t[i], row(to, ldd, ldd3, i))
	}
	ADDQ(Imm(32), from[0])
	LEAQ(Mem{Base: to[0], Index: ldd, Scale: 8}, to[0])
	SUBQ(Imm(8), n)
	JNZ(LabelRef("block"))
	LEAQ(Mem{Base: x, Index: ldx, Scale: 8}, x)
	ADDQ(Imm(32), dst)
	JMP(LabelRef("strip"))
	Label("end")
	VZEROUPPER()
	RET()
}
