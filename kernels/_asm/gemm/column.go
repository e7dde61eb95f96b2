package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

// column writes the product of a matrix, row-major, with a column: eight rows at a time, which are
// transposed in registers, so that every sum runs in order in a lane of its own.
func column() {
	name := "column" + kit.Suffix
	TEXT(name, NOSPLIT, "func(c, a *float64, lda int, b *float64, m, k int)")
	kit.Equals(name, `	// m and k are at least 8
	for i := range m { c[i] = 0; for p := range k { c[i] = math.FMA(a[i*lda+p], b[p], c[i]) } }`)
	Pragma("noescape")

	x := &columns{c: param("c"), a: param("a"), lda: param("lda"), m: param("m")}
	SHLQ(Imm(3), x.lda)
	x.lda3 = GP64()
	LEAQ(Mem{Base: x.lda, Index: x.lda, Scale: 2}, x.lda3)
	for range 8 / lanes {
		x.acc = append(x.acc, kit.New())
	}
	Label("rows")
	x.low, x.high, x.b = GP64(), GP64(), param("b")
	MOVQ(x.a, x.low)
	LEAQ(Mem{Base: x.a, Index: x.lda, Scale: 4}, x.high)
	for _, y := range x.acc {
		kit.Zero(y)
	}
	k := param("k")
	SUBQ(Imm(8), k)
	Label("eight")
	x.eight(nil)
	for _, r := range []reg.Register{x.low, x.high, x.b} {
		ADDQ(Imm(64), r)
	}
	SUBQ(Imm(8), k)
	JGE(LabelRef("eight"))

	// Where some are left, the last eight columns without those that were there.
	ADDQ(Imm(8), k)
	JZ(LabelRef("done"))
	back := GP64()
	MOVQ(k, back)
	SUBQ(Imm(8), back)
	SHLQ(Imm(3), back)
	for _, r := range []reg.Register{x.low, x.high, x.b} {
		ADDQ(back, r)
	}
	x.eight(k)

	Label("done")
	if kit.Wide {
		VSHUFF64X2(Imm(0xd8), x.acc[0], x.acc[0], x.acc[0]) // rows in order again
	}
	for i, y := range x.acc {
		VMOVUPD(y, Mem{Base: x.c, Disp: 8 * lanes * i})
	}

	// The last eight rows may be among those that were there.
	SUBQ(Imm(8), x.m)
	JZ(LabelRef("end"))
	step := GP64()
	MOVQ(U32(8), step)
	CMPQ(x.m, step)
	CMOVQLT(x.m, step)
	LEAQ(Mem{Base: x.c, Index: step, Scale: 8}, x.c)
	IMULQ(x.lda, step)
	ADDQ(step, x.a)
	CMPQ(x.m, Imm(8))
	JGE(LabelRef("rows"))
	MOVQ(U32(8), x.m)
	JMP(LabelRef("rows"))
	Label("end")
	VZEROUPPER()
	RET()
}

// columns is a product with a column at work: rows 0 to 3 are at low, 4 to 7 at high.
type columns struct {
	c, a, lda, lda3, m reg.GPVirtual
	low, high, b       reg.GPVirtual
	acc                []v
}

// row is where eight numbers of row i are, from the j-th on.
func (x *columns) row(i, j int) Mem {
	base := x.low
	if i >= 4 {
		base = x.high
	}
	m := []Mem{{Base: base}, {Base: base, Index: x.lda, Scale: 1}, {Base: base, Index: x.lda, Scale: 2}, {Base: base, Index: x.lda3, Scale: 1}}[i%4]
	m.Disp = 8 * j
	return m
}

// eight adds the products of eight columns, or where last is given of as many of the last of them.
func (x *columns) eight(last reg.Register) {
	add := func(p int, column []v) {
		after := fmt.Sprintf("after%d", p)
		if last != nil {
			CMPQ(last, Imm(uint64(8-p)))
			JLT(LabelRef(after))
		}
		b := Mem{Base: x.b, Disp: 8 * p}
		if kit.Wide {
			VFMADD231PD_BCST(b, column[0], x.acc[0])
		} else {
			t := kit.New()
			VBROADCASTSD(b, t)
			for i, y := range column {
				VFMADD231PD(y, t, x.acc[i])
			}
		}
		if last != nil {
			Label(after)
		}
	}
	if !kit.Wide {
		for p := 0; p < 8; p += 2 {
			var even, odd []v
			for i := 0; i < 8; i += 4 {
				t, e, o := [2]v{kit.New(), kit.New()}, kit.New(), kit.New()
				for h := range t {
					VBROADCASTF128(x.row(i+h, p), t[h])
					VINSERTF128(Imm(1), x.row(i+h+2, p), t[h], t[h])
				}
				VUNPCKLPD(t[1], t[0], e)
				VUNPCKHPD(t[1], t[0], o)
				even, odd = append(even, e), append(odd, o)
			}
			add(p, even)
			add(p+1, odd)
		}
		return
	}
	for half := 0; half < 8; half += 4 {
		var t, u, y [4]v
		for i := range t {
			t[i], u[i], y[i] = kit.New(), kit.New(), kit.New()
			VBROADCASTF64X4(x.row(i, half), t[i])
			VINSERTF64X4(Imm(1), x.row(i+4, half), t[i], t[i])
		}
		for i := 0; i < 4; i += 2 {
			VUNPCKLPD(t[i+1], t[i], u[i])   // of columns 0 and 2
			VUNPCKHPD(t[i+1], t[i], u[i+1]) // of columns 1 and 3
		}
		for p := range y { // rows 0, 1, 4, 5, 2, 3, 6, 7
			VSHUFF64X2(Imm([]uint64{0x88, 0x88, 0xdd, 0xdd}[p]), u[2+p%2], u[p%2], y[p])
		}
		for p := range y {
			add(half+p, []v{y[p]})
		}
	}
}
