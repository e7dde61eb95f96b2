package main

import (
	"fmt"

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

// transposeWide writes the transposition of whole 8×8 blocks: rows of two are interleaved, and quarters of
// those exchanged twice. Put together of pairs of numbers as they are read, as 4×4 blocks are, they
// would take more instructions; halves of rows two apart put together so, with 16 shuffles, not 24, made no
// difference to products with B transposed of 16 to 1024 numbers on a Zen 4.
func transposeWide() {
	eights("float64", "Transpose", func(from, to func(i int) Mem) {
		var pairs [2][4]v // even and odd columns of rows 0 and 1, 2 and 3, …
		for i := range 4 {
			x, y := ZMM(), ZMM()
			VMOVUPD(from(2*i), x)
			VMOVUPD(from(2*i+1), y)
			pairs[0][i], pairs[1][i] = ZMM(), ZMM()
			VUNPCKLPD(y, x, pairs[0][i])
			VUNPCKHPD(y, x, pairs[1][i])
		}
		const lowQuarters, highQuarters = 0x88, 0xdd // 0 and 2, 1 and 3
		for odd, p := range pairs {
			for far, which := range []uint8{lowQuarters, highQuarters} { // columns 0 and 4, 2 and 6, or each one further
				a, b := ZMM(), ZMM()
				VSHUFF64X2(Imm(uint64(which)), p[1], p[0], a)
				VSHUFF64X2(Imm(uint64(which)), p[3], p[2], b)
				for half, which := range []uint8{lowQuarters, highQuarters} {
					c := ZMM()
					VSHUFF64X2(Imm(uint64(which)), b, a, c)
					VMOVUPD(c, to(odd+2*far+4*half))
				}
			}
		}
	})
}

// block transposes four rows of four numbers: halves of rows two apart are put together as they are
// read, which no shuffle has to do then.
func block(from, to [4]Mem) {
	for h := range 2 {
		var r [2]v
		for i := range r {
			r[i] = YMM()
			halves(from[i].Offset(16*h), from[i+2].Offset(16*h), r[i])
		}
		even, odd := YMM(), YMM()
		VUNPCKLPD(r[1], r[0], even) // x00 x10 x20 x30
		VUNPCKHPD(r[1], r[0], odd)  // x01 x11 x21 x31
		VMOVUPD(even, to[2*h])
		VMOVUPD(odd, to[2*h+1])
	}
}

// halves reads the two halves of a vector.
func halves(low, high Mem, y v) {
	VMOVUPD(low, y.AsX())
	VINSERTF128(Imm(1), high, y, y)
}

// transpose32 writes the transposition of whole 8×8 blocks of float32.
func transpose32() {
	eights("float32", "Transpose32", func(from, to func(i int) Mem) {
		for h := range 2 {
			var r, t [4]v
			for i := range r {
				r[i], t[i] = YMM(), YMM()
				halves(from(i).Offset(16*h), from(i+4).Offset(16*h), r[i])
			}
			for i := 0; i < 4; i += 2 {
				VUNPCKLPS(r[i+1], r[i], t[i])   // of columns 0 and 1
				VUNPCKHPS(r[i+1], r[i], t[i+1]) // of columns 2 and 3
			}
			for i := range 2 {
				VUNPCKLPD(t[i+2], t[i], r[2*i])
				VUNPCKHPD(t[i+2], t[i], r[2*i+1])
			}
			for i := range r {
				VMOVUPS(r[i], to(4*h+i))
			}
		}
	})
}

// eights writes a transposition of whole 8×8 blocks, each of them done by body from rows to rows.
func eights(typ, equals string, body func(from, to func(i int) Mem)) {
	name := "transpose" + kit.Suffix
	TEXT(name, NOSPLIT, fmt.Sprintf("func(dst *%[1]s, ldd int, x *%[1]s, ldx, m, n int)", typ))
	kit.Equals(name, "\t// m and n are multiples of 8\n\t"+equals+"(dst, ldd, x, ldx, m, n)")
	Pragma("noescape")
	dst, x, m := param("dst"), param("x"), param("m")
	ldd, ldx := param("ldd"), param("ldx")
	SHLQ(of(Imm(3), Imm(2)), ldd)
	SHLQ(of(Imm(3), Imm(2)), ldx)
	ldd3, ldx3 := GP64(), GP64()
	LEAQ(Mem{Base: ldd, Index: ldd, Scale: 2}, ldd3)
	LEAQ(Mem{Base: ldx, Index: ldx, Scale: 2}, ldx3)
	from, to, n := [2]reg.GPVirtual{GP64(), GP64()}, [2]reg.GPVirtual{GP64(), GP64()}, GP64()
	rows := func(p [2]reg.GPVirtual, ld, ld3 reg.Register) func(i int) Mem {
		return func(i int) Mem {
			return []Mem{{Base: p[i/4]}, {Base: p[i/4], Index: ld, Scale: 1}, {Base: p[i/4], Index: ld, Scale: 2}, {Base: p[i/4], Index: ld3, Scale: 1}}[i%4]
		}
	}

	Label("strip")
	SUBQ(Imm(8), m)
	JLT(LabelRef("end"))
	MOVQ(x, from[0])
	MOVQ(dst, to[0])
	MOVQ(kit.Addr("n"), n)
	Label("block")
	LEAQ(Mem{Base: from[0], Index: ldx, Scale: 4}, from[1])
	LEAQ(Mem{Base: to[0], Index: ldd, Scale: 4}, to[1])
	body(rows(from, ldx, ldx3), rows(to, ldd, ldd3))
	ADDQ(Imm(uint64(8*size)), from[0])
	LEAQ(Mem{Base: to[0], Index: ldd, Scale: 8}, to[0])
	SUBQ(Imm(8), n)
	JNZ(LabelRef("block"))
	LEAQ(Mem{Base: x, Index: ldx, Scale: 8}, x)
	ADDQ(Imm(uint64(8*size)), dst)
	JMP(LabelRef("strip"))
	Label("end")
	VZEROUPPER()
	RET()
}
