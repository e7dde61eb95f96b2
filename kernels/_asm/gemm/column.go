package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

// column writes the product of a matrix, row-major, with a column: eight rows at a time, which are
// transposed in registers, so that every sum runs in order in a lane of its own. By itself each
// product waits for the one before: eights take turns in twos, unless rows lie pages apart, of which the
// first cache has room for eight. On a Zen 3 64, 200, 256, 500 and 1000 numbers square ran at 12.4, 12.7,
// 12.4, 12.1 and 11.4 GFLOP/s, now 15.8, 16.8, 14.8, 13.7 and 12.7; 512 in twos at 6.3, not 11.8. To ask
// for the rows below made that 7.9. With AVX-512 32, 64, 100, 200 and 500 square took .78, .72, .7, .61 and
// .78 of the time; more, or many short rows, come no faster than memory gives them.
func column() {
	name := "column" + kit.Suffix
	TEXT(name, NOSPLIT, "func(c, a *float64, lda int, b *float64, m, k int)")
	kit.Equals(name, `	// m and k are at least 8
	for i := range m { c[i] = 0; for p := range k { c[i] = math.FMA(a[i*lda+p], b[p], c[i]) } }`)
	Pragma("noescape")

	x := &columns{c: param("c"), a: param("a"), lda: param("lda"), m: param("m"), b: GP64()}
	SHLQ(Imm(3), x.lda)
	x.lda3 = GP64()
	LEAQ(Mem{Base: x.lda, Index: x.lda, Scale: 2}, x.lda3)
	x.rows = append(x.rows, newEight(), newEight())
	TESTQ(U32(4095), x.lda)
	JZ(LabelRef("rest"))
	Label("sixteen")
	CMPQ(x.m, Imm(16))
	JLT(LabelRef("rest"))
	x.multiply(x.rows, "both")
	SUBQ(Imm(16), x.m)
	JMP(LabelRef("sixteen"))

	// The last eight rows may be among those that were there.
	Label("rest")
	TESTQ(x.m, x.m)
	JZ(LabelRef("end"))
	SUBQ(Imm(8), x.m)
	JGE(LabelRef("one"))
	LEAQ(Mem{Base: x.c, Index: x.m, Scale: 8}, x.c)
	IMULQ(x.lda, x.m)
	ADDQ(x.m, x.a)
	XORQ(x.m, x.m)
	Label("one")
	x.multiply(x.rows[:1], "")
	JMP(LabelRef("rest"))
	Label("end")
	VZEROUPPER()
	RET()
}

// columns is a product with a column at work.
type columns struct {
	c, a, lda, lda3, m, b reg.GPVirtual
	rows                  []*eight
}

// eight are rows of A, from the first four and the others on, and their sums.
type eight struct {
	low, high reg.GPVirtual
	acc       []v
}

func newEight() *eight {
	r := &eight{low: GP64(), high: GP64()}
	for range 8 / lanes {
		r.acc = append(r.acc, kit.New())
	}
	return r
}

// multiply computes and stores the sums of the next rows, and moves on.
func (x *columns) multiply(rows []*eight, name string) {
	for _, r := range rows {
		MOVQ(x.a, r.low)
		LEAQ(Mem{Base: x.a, Index: x.lda, Scale: 4}, r.high)
		LEAQ(Mem{Base: x.a, Index: x.lda, Scale: 8}, x.a)
		for _, y := range r.acc {
			kit.Zero(y)
		}
	}
	k := param("k")
	Load(Param("b"), x.b)
	each := func(f func(r reg.Register)) {
		f(x.b)
		for _, r := range rows {
			f(r.low)
			f(r.high)
		}
	}
	const some = 4 // columns in turn
	SUBQ(Imm(8), k)
	Label("eight" + name)
	for p := 0; p < 8; p += some {
		for _, r := range rows {
			x.add(r, p, p+some, nil, "")
		}
	}
	each(func(r reg.Register) { ADDQ(Imm(64), r) })
	SUBQ(Imm(8), k)
	JGE(LabelRef("eight" + name))

	// Where some are left, the last eight columns without those that were there.
	ADDQ(Imm(8), k)
	JZ(LabelRef("done" + name))
	back := GP64()
	MOVQ(k, back)
	SUBQ(Imm(8), back)
	SHLQ(Imm(3), back)
	each(func(r reg.Register) { ADDQ(back, r) })
	for i, r := range rows {
		x.add(r, 0, 8, k, fmt.Sprint(name, i))
	}

	Label("done" + name)
	for _, r := range rows {
		if kit.Wide {
			VSHUFF64X2(Imm(0xd8), r.acc[0], r.acc[0], r.acc[0]) // rows in order again
		}
		for i, y := range r.acc {
			VMOVUPD(y, Mem{Base: x.c, Disp: 8 * lanes * i})
		}
		ADDQ(Imm(64), x.c)
	}
}

// row is where eight numbers of row i are, from the j-th on.
func (x *columns) row(r *eight, i, j int) Mem {
	base := r.low
	if i >= 4 {
		base = r.high
	}
	m := []Mem{{Base: base}, {Base: base, Index: x.lda, Scale: 1}, {Base: base, Index: x.lda, Scale: 2}, {Base: base, Index: x.lda3, Scale: 1}}[i%4]
	m.Disp = 8 * j
	return m
}

// add adds the products of columns to the sums, of the next eight those from one to another, or where
// last is given of as many of the last of them.
func (x *columns) add(r *eight, from, to int, last reg.Register, name string) {
	for p := from; p < to; p += 4 {
		for i, column := range x.four(r, p) {
			p, after := p+i, fmt.Sprintf("after%d%s", p+i, name)
			if last != nil {
				CMPQ(last, Imm(uint64(8-p)))
				JLT(LabelRef(after))
			}
			b := Mem{Base: x.b, Disp: 8 * p}
			if kit.Wide {
				VFMADD231PD_BCST(b, column[0], r.acc[0])
			} else {
				t := kit.New()
				VBROADCASTSD(b, t)
				for i, y := range column {
					VFMADD231PD(y, t, r.acc[i])
				}
			}
			if last != nil {
				Label(after)
			}
		}
	}
}

// four are four columns of the rows, from p on.
func (x *columns) four(r *eight, p int) (columns [4][]v) {
	if kit.Wide {
		var t, u [4]v
		for i := range t {
			t[i], u[i] = kit.New(), kit.New()
			VBROADCASTF64X4(x.row(r, i, p), t[i])
			VINSERTF64X4(Imm(1), x.row(r, i+4, p), t[i], t[i])
		}
		for i := 0; i < 4; i += 2 {
			VUNPCKLPD(t[i+1], t[i], u[i])   // of columns 0 and 2
			VUNPCKHPD(t[i+1], t[i], u[i+1]) // of columns 1 and 3
		}
		for i := range columns { // rows 0, 1, 4, 5, 2, 3, 6, 7
			y := kit.New()
			VSHUFF64X2(Imm([]uint64{0x88, 0x88, 0xdd, 0xdd}[i]), u[2+i%2], u[i%2], y)
			columns[i] = []v{y}
		}
		return columns
	}
	for i := 0; i < 8; i += 4 {
		var t, u [4]v
		for h := range t {
			t[h], u[h] = kit.New(), kit.New()
			VMOVUPD(x.row(r, i+h, p), t[h])
		}
		for h := 0; h < 4; h += 2 {
			VUNPCKLPD(t[h+1], t[h], u[h])   // of columns 0 and 2
			VUNPCKHPD(t[h+1], t[h], u[h+1]) // of columns 1 and 3
		}
		for h := range columns {
			y := kit.New()
			VPERM2F128(Imm([]uint64{0x20, 0x20, 0x31, 0x31}[h]), u[2+h%2], u[h%2], y)
			columns[h] = append(columns[h], y)
		}
	}
	return columns
}
