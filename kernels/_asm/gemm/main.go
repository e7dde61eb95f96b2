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
// rounds its products keeps one more register for them. With AVX2 on a Zen 3 twelve rows of one vector
// changed nothing at 16 to 256 numbers (120×4 .97 of the time, 1024×4 1.2).
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
	plain()
	if kit.Wide {
		keep()
	}
	if !kit.Single {
		for vectors := 1; vectors <= 3; vectors++ {
			panel(vectors, true)
		}
		row()
		column()
		lines()
		peak()
		if kit.Wide {
			columnRow()
		}
	}
	switch { // float32 falls through to AVX2
	case !kit.Wide:
		of(transpose, transpose32)()
	case !kit.Single:
		transposeWide()
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
	goesOn := !rounds && (vectors == 1 || !kit.Wide)
	if goesOn {
		after += "\n\t// and so for more products, of which each begins at aNext, bNext, cNext from the one before"
	}
	kit.Equals(name, fmt.Sprintf("\t// %d < n <= %d%s; it uses x up\n\t%s%s", (vectors-1)*lanes, vectors*lanes, readable, call, after))
	Pragma("noescape")

	p := &gemm{vectors: vectors, rounds: rounds}
	p.begin()
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
		if rows == 6 && !rounds { // of 8 and 9 two by four, not one by six: what is left waits for its chains
			left := p.load("m")
			SUBQ(Imm(8), left)
			CMPQ(left, Imm(1))
			JLS(LabelRef(next))
		}
		p.multiply(rows)
		SUBQ(Imm(uint64(rows)), p.field("m"))
		if kit.Wide && rows == even {
			label = fmt.Sprintf("rows%d", heights[0])
		}
		JMP(LabelRef(label))
	}
	Label("end")
	if goesOn {
		p.again(fmt.Sprintf("rows%d", heights[0]))
	}
	VZEROUPPER()
	RET()
}

// keep writes the tile that a panel of B is packed by: it reads the rows of B where they lie, and
// writes each of them down as it comes.
func keep() {
	const vectors = 3
	name := "keep" + kit.Suffix
	TEXT(name, NOSPLIT, of("func(x *call64)", "func(x *call32)"))
	kit.Equals(name, fmt.Sprintf("\t// %d < n <= %d, m = %d; it uses x up\n\tpack(keep, b, bRow, k, n)\n\t%s(c, ldc, a, aRow, aCol, b, bRow, m, n, k, add)",
		(vectors-1)*lanes, vectors*lanes, even, of("gemmPanel", "gemmPanel32")))
	Pragma("noescape")
	p := &gemm{vectors: vectors, keeps: true}
	p.begin()
	p.multiply(even)
	VZEROUPPER()
	RET()
}

// begin loads the arguments.
func (p *gemm) begin() {
	p.call = param("x")
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

// A gemm is a panel being written.
type gemm struct {
	vectors               int
	rounds, keeps         bool
	call                  reg.GPVirtual // the arguments
	c, a                  reg.GPVirtual // the tile's first rows
	ldc, aRow, aCol, bRow reg.GPVirtual // in bytes
	aRow3                 reg.GPVirtual
	mask                  kit.Mask
}

// fields are those of a call, in order, of 8 bytes each.
var fields = []string{"c", "ldc", "a", "aRow", "aCol", "b", "bRow", "m", "n", "k", "aTile", "bTile", "cTile", "tall", "second",
	"next", "nextCol", "nextTile", "by", "ldby", "first", "end", "more", "rows", "aNext", "bNext", "cNext", "late", "keep", "plain", "add"}

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

// advance moves a pointer of the call.
func (p *gemm) advance(ptr, step string) {
	r := p.load(step)
	ADDQ(r, p.field(ptr))
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
