// Command gemm writes the matrix product's panel kernel and the transposition.
package main

import (
	"fmt"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

type v = kit.V

// tiles lists, for panels of one, two and three vectors, how many rows of C are
// held in registers together: as many as fill them, then what is left over. One that
// rounds its products keeps one more register for them.
func tiles(vectors int, rounds bool) []int {
	switch {
	case kit.Wide && !rounds:
		return []int{taller, even, 4, 2, 1}
	case kit.Wide:
		return []int{even, 4, 2, 1}
	case rounds && vectors == 3:
		return []int{2, 1}
	}
	return [][]int{nil, {8, 4, 2, 1}, {6, 4, 2, 1}, {4, 2, 1}}[vectors]
}

// AVX-512 has tiles of 8 rows, which the call may set apart, and taller ones that each take in a row
// that would be left over, as the call says: a tile of one row would wait for its chains, one of two
// reads as much of B as one of 9.
const even, taller = 8, 9

// An element is size bytes, and a vector lanes of them.
var size, lanes = 8, 4

// of is the instruction for the kernels' type.
func of[F any](double, single F) F {
	if kit.Single {
		return single
	}
	return double
}

func main() {
	kit.Start()
	kit.Declare("call64")
	kit.Declare("call32")
	if lanes = kit.Lanes; kit.Single {
		size, lanes = 4, 2*kit.Lanes
	}
	for vectors := 1; vectors <= 3; vectors++ {
		panel(vectors, false)
	}
	pack()
	if !kit.Single {
		for vectors := 1; vectors <= 3; vectors++ {
			panel(vectors, true)
		}
		row()
		column()
		peak()
	}
	if !kit.Wide { // AVX-512 falls through to it; 8×8 blocks were not tried
		of(transpose, transpose32)()
	}
	Generate()
}

// panel writes C = A B or C += A B for the last columns of C: vectors-1 whole
// vectors and one that may be shorter. Of float64 the chain of each element goes on
// from C; of float32 it starts anew, and its end is added to C. One that rounds adds
// matrices of rank one to C: its products are rounded first.
func panel(vectors int, rounds bool) {
	name := fmt.Sprintf(of("gemm%d%s", "gemm%[2]sx%[1]d"), vectors, kit.Suffix)
	call, after := of("gemmPanel", "gemmPanel32")+"(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add) // of each tile", "\n\trowsOf{by, …}.times(c, ldc, m, n)"
	if rounds {
		name = fmt.Sprintf("outer%d%s", vectors, kit.Suffix)
		call, after = "outerPanel(c, ldc, a, aRow, aCol, b, bRow, m, n, k)", ""
	}
	TEXT(name, NOSPLIT, of("func(x *call64)", "func(x *call32)"))
	readable := ""
	if !kit.Wide {
		readable = ", the rows of B readable up to whole vectors, tiles not apart"
	}
	if vectors == 1 && !rounds {
		after += "\n\t// and so for more products, of which each begins at aNext, bNext, cNext from the one before"
	}
	kit.Equals(name, fmt.Sprintf("\t// %d < n <= %d%s; it uses x up\n\t%s%s", (vectors-1)*lanes, vectors*lanes, readable, call, after))
	Pragma("noescape")

	p := &gemm{vectors: vectors, rounds: rounds, call: param("x")}
	for _, f := range []struct {
		r    *reg.GPVirtual
		name string
	}{{&p.c, "c"}, {&p.ldc, "ldc"}, {&p.a, "a"}, {&p.aRow, "aRow"}, {&p.aCol, "aCol"}, {&p.bRow, "bRow"}} {
		*f.r = p.load(f.name)
	}
	p.aRow3 = GP64()
	LEAQ(Mem{Base: p.aRow, Index: p.aRow, Scale: 2}, p.aRow3)
	if kit.Wide {
		p.mask = kit.FirstLanes(p.tail())
	}
	heights := tiles(vectors, rounds)
	for i, rows := range heights {
		label := fmt.Sprintf("rows%d", rows)
		next := "end"
		if i+1 < len(heights) {
			next = fmt.Sprintf("rows%d", heights[i+1])
		}
		Label(label)
		CMPQ(p.field("m"), Imm(uint64(rows)))
		JLT(LabelRef(next))
		if rows == taller {
			CMPQ(p.load("m"), p.field("tall"))
			JGT(LabelRef(next))
		}
		p.tile(rows)
		SUBQ(Imm(uint64(rows)), p.field("m"))
		if kit.Wide && rows == even {
			label = fmt.Sprintf("rows%d", heights[0])
		}
		JMP(LabelRef(label))
	}
	Label("end")
	if vectors == 1 && !rounds {
		p.again(fmt.Sprintf("rows%d", heights[0]))
	}
	VZEROUPPER()
	RET()
}

// again goes to a label for the next of several products, where there are more.
func (p *gemm) again(label string) {
	DECQ(p.field("more"))
	JLT(LabelRef("all"))
	for _, f := range []struct{ at, step string }{{"c", "cNext"}, {"a", "aNext"}, {"b", "bNext"}} {
		p.advance(f.at, f.step)
	}
	MOVQ(p.field("c"), p.c)
	MOVQ(p.field("a"), p.a)
	m := p.load("rows")
	MOVQ(m, p.field("m"))
	JMP(LabelRef(label))
	Label("all")
}

func param(name string) reg.GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}

type gemm struct {
	vectors               int
	rounds                bool
	call                  reg.GPVirtual // the arguments
	c, a                  reg.GPVirtual // the tile's first rows
	ldc, aRow, aCol, bRow reg.GPVirtual // in bytes
	aRow3                 reg.GPVirtual
	mask                  kit.Mask
}

// fields are those of a call, in order, of 8 bytes each.
var fields = []string{"c", "ldc", "a", "aRow", "aCol", "b", "bRow", "m", "n", "k", "aTile", "bTile", "cTile",
	"next", "nextCol", "nextTile", "by", "ldby", "first", "end", "more", "rows", "aNext", "bNext", "cNext", "tall", "add"}

// field is where an argument is.
func (p *gemm) field(name string) Mem {
	i := slices.Index(fields, name)
	if i < 0 {
		panic(name)
	}
	return Mem{Base: p.call, Disp: 8 * i}
}

func (p *gemm) load(name string) reg.GPVirtual {
	r := GP64()
	MOVQ(p.field(name), r)
	return r
}

// tail is how many columns the last vector has.
func (p *gemm) tail() reg.GPVirtual {
	n := p.load("n")
	SUBQ(Imm(uint64((p.vectors-1)*lanes)), n)
	return n
}

// tile computes rows rows of C.
func (p *gemm) tile(rows int) {
	label := func(s string) string { return fmt.Sprintf("%s%d", s, rows) }
	acc := make([][]v, rows)
	for i := range acc {
		for range p.vectors {
			acc[i] = append(acc[i], kit.New())
		}
	}
	// eachC visits the accumulators beside their places in C.
	eachC := func(f func(x v, m Mem, last bool)) {
		row := GP64()
		MOVQ(p.c, row)
		for i := range acc {
			for j, x := range acc[i] {
				f(x, Mem{Base: row, Disp: size * lanes * j}, j == p.vectors-1)
			}
			if i < rows-1 {
				ADDQ(p.ldc, row)
			}
		}
	}

	if !kit.Single {
		if !p.rounds {
			CMPB(p.field("add"), Imm(0))
			JE(LabelRef(label("zero")))
		}
		mask := p.lastMask()
		eachC(func(x v, m Mem, last bool) {
			if last {
				kit.LoadMasked(m, mask, x)
			} else {
				VMOVUPD(m, x)
			}
		})
	}
	if !p.rounds {
		if !kit.Single {
			JMP(LabelRef(label("start")))
			Label(label("zero"))
		}
		for i := range acc {
			for _, x := range acc[i] {
				kit.Zero(x)
			}
		}
		Label(label("start"))
	}
	first := rows >= min(even, tiles(p.vectors, p.rounds)[0]) && !p.rounds
	if first {
		p.prefetch(rows)
	}
	b, k, a0, a4 := p.load("b"), p.load("k"), GP64(), GP64()
	MOVQ(p.a, a0)
	if rows > 4 {
		LEAQ(Mem{Base: a0, Index: p.aRow, Scale: 4}, a4)
	}
	at := func(i int) Mem { // A's element of row i
		if i == 8 {
			return Mem{Base: a0, Index: p.aRow, Scale: 8}
		}
		base := a0
		if i >= 4 {
			base = a4
		}
		return []Mem{{Base: base}, {Base: base, Index: p.aRow, Scale: 1}, {Base: base, Index: p.aRow, Scale: 2}, {Base: base, Index: p.aRow3, Scale: 1}}[i%4]
	}

	// A line of what comes next, with every column of A.
	var next reg.GPVirtual
	if first {
		next = p.load("next")
	}
	loop := func(label string, last part) {
		Label(label)
		if first {
			PREFETCHT1(Mem{Base: next})
			ADDQ(p.field("nextCol"), next)
		}
		var y []v
		for j := range p.vectors {
			y = append(y, kit.New())
			m := Mem{Base: b, Disp: size * lanes * j}
			switch {
			case last == whole || j < p.vectors-1:
				VMOVUPD(m, y[j])
			case last == half:
				y[j] = YMM()
				fallthrough
			default:
				loadMasked(m, p.mask, y[j])
			}
		}
		for i := range rows {
			if kit.Wide && p.vectors == 1 && !p.rounds {
				of(VFMADD231PD_BCST, VFMADD231PS_BCST)(at(i), y[0], as(y[0], acc[i][0]))
				continue
			}
			x := kit.New()
			of(VBROADCASTSD, VBROADCASTSS)(at(i), x)
			for j := range y {
				x, sum := as(y[j], x), as(y[j], acc[i][j])
				if p.rounds {
					t := as(y[j], kit.New())
					VMULPD(x, y[j], t)
					VADDPD(t, sum, sum)
					continue
				}
				of(VFMADD231PD, VFMADD231PS)(x, y[j], sum)
			}
		}
		ADDQ(p.aCol, a0)
		if rows > 4 {
			ADDQ(p.aCol, a4)
		}
		ADDQ(p.bRow, b)
		DECQ(k)
		JNZ(LabelRef(label))
	}
	// A masked load, though the mask be full: an 8×8×8 product took 33 ns, 22 without.
	if kit.Wide {
		CMPQ(p.field("n"), Imm(uint64(p.vectors*lanes)))
		JE(LabelRef(label("k")))
		CMPQ(p.field("n"), Imm(uint64(p.vectors*lanes-lanes/2)))
		JLE(LabelRef(label("half")))
		loop(label("part"), masked)
		JMP(LabelRef(label("store")))
		loop(label("half"), half)
		JMP(LabelRef(label("store")))
	}
	loop(label("k"), whole)

	Label(label("store"))
	mask := p.lastMask()
	if kit.Single {
		CMPB(p.field("add"), Imm(0))
		JE(LabelRef(label("times")))
		eachC(func(x v, m Mem, last bool) {
			if last {
				t := kit.New()
				loadMasked(m, mask, t)
				VADDPS(t, x, x)
			} else {
				VADDPS(m, x, x)
			}
		})
		Label(label("times"))
	}
	if !p.rounds {
		p.times(label("write"), acc, mask)
		JMP(LabelRef(label("written")))
		Label(label("write"))
	}
	eachC(func(x v, m Mem, last bool) {
		if last {
			storeMasked(x, mask, m)
		} else {
			VMOVUPD(x, m)
		}
	})
	if !p.rounds {
		Label(label("written"))
	}
	p.below(p.c, p.ldc, rows, "cTile")
	p.below(p.a, p.aRow, rows, "aTile")
	if p.apart(rows) {
		p.advance("b", "bTile")
	}
	if first {
		p.advance("next", "nextTile")
	}
}

// advance moves a pointer of the call.
func (p *gemm) advance(ptr, step string) {
	r := p.load(step)
	ADDQ(r, p.field(ptr))
}

// times writes the products of the tile with its rows of by, 0 where either is 0, if there
// are such; else it goes on at label none. At the end the first row is next.
func (p *gemm) times(none string, acc [][]v, mask kit.Mask) {
	by := p.load("by")
	TESTQ(by, by)
	JZ(LabelRef(none))
	ldby, c := p.load("ldby"), GP64()
	MOVQ(p.c, c)
	zero := kit.New()
	kit.Zero(zero)
	for i := range acc {
		for j, x := range acc[i] {
			last := j == p.vectors-1
			y, from, to := kit.New(), Mem{Base: by, Disp: size * lanes * j}, Mem{Base: c, Disp: size * lanes * j}
			if last {
				loadMasked(from, mask, y)
			} else {
				VMOVUPD(from, y)
			}
			if kit.Wide {
				k := K()
				of(VCMPPD, VCMPPS)(Imm(kit.NE), zero, x, k)
				of(VCMPPD, VCMPPS)(Imm(kit.NE), zero, y, k, k)
				of(VMULPD_Z, VMULPS_Z)(y, x, k, x)
			} else { // the last registers
				z := kit.New()
				of(VMULPD, VMULPS)(y, x, z)
				of(VCMPPD, VCMPPS)(Imm(kit.NE), zero, y, y)
				of(VCMPPD, VCMPPS)(Imm(kit.NE), zero, x, x)
				VANDPD(y, z, z)
				VANDPD(z, x, x)
			}
			if last {
				storeMasked(x, mask, to)
			} else {
				VMOVUPD(x, to)
			}
		}
		if i < len(acc)-1 {
			ADDQ(p.ldc, c)
		}
		ADDQ(ldby, by)
	}
	CMPQ(by, p.field("end"))
	CMOVQEQ(p.field("first"), by)
	MOVQ(by, p.field("by"))
}

// prefetch asks for what the next tile begins with, C's rows and A's first
// columns. Its gain is not established: 56.1 GFLOP/s with it and 55.1 without at
// 512, on a machine too busy to tell. C's rows for the first tile too, before it: no
// difference in the gradient of a network, whose C are cold (four pairs of runs).
func (p *gemm) prefetch(rows int) {
	for _, m := range []struct {
		base, step reg.GPVirtual
		tile       string
		bytes      int
	}{{p.c, p.ldc, "cTile", size * lanes * p.vectors}, {p.a, p.aRow, "aTile", 1}} {
		next := GP64()
		MOVQ(m.base, next)
		p.below(next, m.step, rows, m.tile)
		for i := range rows {
			for line := 0; line < m.bytes; line += 64 {
				PREFETCHT0(Mem{Base: next, Disp: line})
			}
			if i < rows-1 {
				ADDQ(m.step, next)
			}
		}
	}
}

// A part says what there is of the last vector of columns. Where that is half of one or less, it is
// multiplied in the lower halves of registers, in half of the time: with that and taller tiles products
// of 65 to 68 numbers went from 0.83, 0.85, 0.85 and 0.88 of the peak to 0.87, 0.90, 0.90 and 0.94.
type part int

const (
	whole part = iota
	masked
	half
)

// as is x, or the half of it that y has.
func as(y, x v) v {
	if y.Size() < x.Size() {
		return x.AsY().(v)
	}
	return x
}

// apart reports whether the call says how far tiles of so many rows are apart.
func (p *gemm) apart(rows int) bool {
	return kit.Wide && rows == even
}

// below advances a pointer to the next tile.
func (p *gemm) below(ptr, step reg.GPVirtual, rows int, tile string) {
	if p.apart(rows) {
		ADDQ(p.field(tile), ptr)
	} else {
		skip(ptr, step, rows)
	}
}

// skip advances a pointer by a tile's rows.
func skip(ptr, step reg.GPVirtual, rows int) {
	if rows == 6 {
		LEAQ(Mem{Base: ptr, Index: step, Scale: 4}, ptr)
		rows = 2
	}
	if rows == taller {
		ADDQ(step, ptr)
		rows--
	}
	LEAQ(Mem{Base: ptr, Index: step, Scale: uint8(rows)}, ptr)
}

// lastMask is the mask of the last vector; AVX2 makes it when registers are free.
func (p *gemm) lastMask() kit.Mask {
	if kit.Wide {
		return p.mask
	}
	return of(kit.FirstLanes, kit.FirstLanes32)(p.tail())
}

func loadMasked(m Mem, mask kit.Mask, x v)  { of(kit.LoadMasked, kit.LoadMasked32)(m, mask, x) }
func storeMasked(x v, mask kit.Mask, m Mem) { of(kit.StoreMasked, kit.StoreMasked32)(x, mask, m) }
