package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"nabla/kernels/_asm/kit"
)

// A tile is some rows of C, of the columns of a panel, at work.
type tile struct {
	*gemm
	rows int
	sums [][]v
	full bool // as many rows as fill the registers, of products: it asks for what comes next

	b, k    reg.GPVirtual // the row of B, and how many more there are
	a0, a4  reg.GPVirtual // in the column of A, rows 0 and 4
	ahead   reg.GPVirtual // a line of what comes next
	nextCol Op            // how far it moves with every column of A
	kept    reg.GPVirtual // where the row of B is written down
	b3      reg.GPVirtual // three rows of B, where steps are taken four at a time
	second  reg.GPVirtual // how far its second vector is from its first, if a call may say so
}

// multiply computes a tile.
func (p *gemm) multiply(rows int) {
	t := &tile{gemm: p, rows: rows, sums: make([][]v, rows), full: rows >= min(even, tiles(p.vectors, p.rounds)[0]) && !p.rounds}
	for i := range t.sums {
		for range p.vectors {
			t.sums[i] = append(t.sums[i], kit.New())
		}
	}
	t.begin()
	if t.full {
		t.prefetch()
	}
	t.b, t.k, t.a0, t.a4 = p.load("b"), p.load("k"), GP64(), GP64()
	MOVQ(p.a, t.a0)
	if rows > 4 {
		LEAQ(Mem{Base: t.a0, Index: p.aRow, Scale: 4}, t.a4)
	}
	if t.full {
		t.ahead = p.load("next")
		if t.nextCol = p.field("nextCol"); !t.parted() {
			t.nextCol = p.load("nextCol")
		}
	}
	if p.keeps {
		t.kept = p.load("keep")
	}
	if t.parted() {
		t.second = p.load("second")
	}
	// A masked load, though the mask be full: an 8×8×8 product took 33 ns, 22 without.
	if kit.Wide {
		CMPQ(p.field("n"), Imm(uint64(p.vectors*lanes)))
		JE(t.ref("whole"))
		CMPQ(p.field("n"), Imm(uint64(p.vectors*lanes-lanes/2)))
		JLE(t.ref("half"))
		t.steps(masked)
		JMP(t.ref("store"))
		t.steps(half)
		JMP(t.ref("store"))
	}
	t.steps(whole)

	t.label("store")
	t.end()
	t.label("written")
	p.below(p.c, p.ldc, rows, "cTile")
	t.label("moved")
	p.below(p.a, p.aRow, rows, "aTile")
	if p.apart(rows) {
		p.advance("b", "bTile")
	}
	if t.full {
		p.advance("next", "nextTile")
	}
}

func (t *tile) name(s string) string  { return fmt.Sprintf("%s%d", s, t.rows) }
func (t *tile) label(s string)        { Label(t.name(s)) }
func (t *tile) ref(s string) LabelRef { return LabelRef(t.name(s)) }

// begin makes the sums 0, or what C holds.
func (t *tile) begin() {
	if !kit.Single {
		if !t.rounds {
			CMPB(t.field("add"), Imm(0))
			JE(t.ref("zero"))
		}
		mask := t.lastMask()
		t.eachC(func(x v, m Mem, last bool) {
			if last {
				kit.LoadMasked(m, mask, x)
			} else {
				VMOVUPD(m, x)
			}
		})
		if t.rounds {
			return
		}
		JMP(t.ref("start"))
		t.label("zero")
	}
	for i := range t.sums {
		for _, x := range t.sums[i] {
			kit.Zero(x)
		}
	}
	if !kit.Single {
		t.label("start")
	}
}

// eachC visits the sums beside their places in C.
func (t *tile) eachC(f func(x v, m Mem, last bool)) {
	row := GP64()
	MOVQ(t.c, row)
	for i := range t.sums {
		t.eachOf(i, row, f)
	}
}

// eachOf visits those of row i, and moves on to the next.
func (t *tile) eachOf(i int, row reg.GPVirtual, f func(x v, m Mem, last bool)) {
	for j, x := range t.sums[i] {
		f(x, Mem{Base: row, Disp: size * lanes * j}, j == t.vectors-1)
	}
	if i < t.rows-1 {
		ADDQ(t.ldc, row)
	}
}

// steps go through the columns of A, and so through the rows of B, where they have so many numbers in
// the last vector. Of a tile that is staggered the last two come with what is stored.
func (t *tile) steps(last part) {
	name := [...]string{"whole", "part", "half"}[last]
	staggered := t.staggered(last)
	if t.unrolls() {
		t.fours()
	}
	t.label(name)
	if staggered {
		SUBQ(t.field("late"), t.k)
		name += "Step"
		t.label(name)
	}
	if t.full && !t.unrolls() {
		PREFETCHT1(Mem{Base: t.ahead})
		if t.keeps {
			t.further()
		}
		ADDQ(t.nextCol, t.ahead)
	}
	y := t.row(last)
	if t.keeps {
		t.keep(y)
	}
	if t.full && !t.unrolls() && t.vectors == 3 {
		t.soon()
	}
	for i := range t.rows {
		t.add(i, t.at(t.a0, t.a4, i), y)
	}
	t.along(t.aCol)
	ADDQ(t.bRow, t.b)
	DECQ(t.k)
	JNZ(t.ref(name))
	if t.unrolls() {
		t.label("multiplied")
	}
	if staggered {
		t.late(last, name+"Stored")
		t.label(name + "Stored")
	}
	if t.staggers() { // else they are asked for before
		t.askRows()
	}
}

// unrolls reports whether steps are taken four at a time, and rows of B not asked for soon. Other work on
// the same core takes half of the instructions that may begin in a cycle, and a step had 27 for its twelve
// sums; so it has 20, or 21 where something comes next. Of the time before on a Zen 3, in turns a millisecond
// long, medians, at the core's best and with a neighbour at work: 64 and 100 numbers 1.02 and 1 alone, .77 and
// .73 beside it, 256 to 1024 .97 to 1 and .75 to .78, with A transposed .76 to .79, into few columns .82 to .9. With
// rows of B asked for soon, as with AVX-512, the neighbour's part was .9, and nothing was gained alone.
func (t *tile) unrolls() bool { return !kit.Wide && t.full && !t.rounds }

// fours takes four steps at a time while there are so many: with A along its rows, where
// something comes next and where nothing does, and with A in any way.
func (t *tile) fours() {
	const along, alone, anyhow = "along", "asksNone", "anyhow"
	t.b3 = GP64()
	LEAQ(Mem{Base: t.bRow, Index: t.bRow, Scale: 2}, t.b3)
	SUBQ(Imm(4), t.k)
	JLT(t.ref("rest"))
	CMPQ(t.aCol, Imm(uint64(size)))
	JNE(t.ref(anyhow))
	CMPQ(t.field("next"), Imm(0))
	JE(t.ref(alone))
	t.four(along, true, true)
	JMP(t.ref("rest"))
	t.four(anyhow, false, true)
	JMP(t.ref("rest"))
	t.four(alone, true, false)
	t.label("rest")
	ADDQ(Imm(4), t.k)
	JZ(t.ref("multiplied"))
}

// four writes such a loop: A is near where it lies along its rows.
func (t *tile) four(name string, near, asks bool) {
	t.label(name)
	for step := range 4 {
		if asks {
			m := Mem{Base: t.ahead}
			if step%2 == 1 {
				m.Index, m.Scale = t.nextCol.(reg.Register), 1
			}
			PREFETCHT1(m)
			if step%2 == 1 {
				LEAQ(Mem{Base: t.ahead, Index: t.nextCol.(reg.Register), Scale: 2}, t.ahead)
			}
		}
		var y []Op
		for j := range t.vectors {
			x := kit.New()
			m := []Mem{{Base: t.b}, {Base: t.b, Index: t.bRow, Scale: 1}, {Base: t.b, Index: t.bRow, Scale: 2}, {Base: t.b, Index: t.b3, Scale: 1}}[step]
			m.Disp = size * lanes * j
			VMOVUPD(m, x)
			y = append(y, x)
		}
		for i := range t.rows {
			m := t.at(t.a0, t.a4, i)
			if near {
				m.Disp += size * step
			}
			t.add(i, m, y)
		}
		if !near {
			t.along(t.aCol)
		}
	}
	if near {
		t.along(Imm(uint64(4 * size)))
	}
	LEAQ(Mem{Base: t.b, Index: t.bRow, Scale: 4}, t.b)
	SUBQ(Imm(4), t.k)
	JGE(t.ref(name))
}

// along goes further in the columns of A.
func (t *tile) along(by Op) {
	ADDQ(by, t.a0)
	if t.rows > 4 {
		ADDQ(by, t.a4)
	}
}

// soon asks for the row of B eight steps further, which comes from the second cache or the last where
// the panel is large: of the time at the peak, a quarter of the calls on a busy machine, products of
// 512×512×256 and 512×512×512 went from 1.15 and 1.12 to 1.12 and 1.10; 24 steps were worth no more.
func (t *tile) soon() {
	for line := 0; line < size*lanes*t.vectors; line += 64 {
		PREFETCHT0(Mem{Base: t.b, Index: t.bRow, Scale: 8, Disp: line})
	}
}

// further asks for the other lines of a row of B that comes next.
func (t *tile) further() {
	end := size * lanes * t.vectors
	for line := 64; line < end; line += 64 {
		PREFETCHT1(Mem{Base: t.ahead, Disp: line})
	}
	PREFETCHT1(Mem{Base: t.ahead, Disp: end - 1})
}

// keep writes a row of B down.
func (t *tile) keep(y []Op) {
	for j, x := range y {
		VMOVUPD(x, Mem{Base: t.kept, Disp: size * lanes * j})
	}
	ADDQ(Imm(uint64(size*lanes*t.vectors)), t.kept)
}

// at is A's element of row i in the column where rows 0 and 4 are at a0 and a4.
func (t *tile) at(a0, a4 reg.GPVirtual, i int) Mem {
	if i == 8 {
		return Mem{Base: a0, Index: t.aRow, Scale: 8}
	}
	base := a0
	if i >= 4 {
		base = a4
	}
	return []Mem{{Base: base}, {Base: base, Index: t.aRow, Scale: 1}, {Base: base, Index: t.aRow, Scale: 2}, {Base: base, Index: t.aRow3, Scale: 1}}[i%4]
}

// parted reports whether a call may say that the two vectors of B's rows lie apart.
func (t *tile) parted() bool { return kit.Wide && t.vectors == 2 && !t.rounds }

// vector is where vector j of B's row is.
func (t *tile) vector(j int) Mem {
	if j == 1 && t.parted() {
		return Mem{Base: t.b, Index: t.second, Scale: 1}
	}
	return Mem{Base: t.b, Disp: size * lanes * j}
}

// row is B's row.
func (t *tile) row(last part) (y []Op) {
	for j := range t.vectors {
		x, m := kit.New(), t.vector(j)
		switch {
		case last == whole || j < t.vectors-1:
			VMOVUPD(m, x)
		case last == half:
			x = YMM()
			fallthrough
		default:
			loadMasked(m, t.mask, x)
		}
		y = append(y, x)
	}
	return y
}

// add adds the products of an element of A with a row of B to the sums of row i.
func (t *tile) add(i int, m Mem, y []Op) {
	if kit.Wide && t.vectors == 1 && !t.rounds {
		y := y[0].(v)
		of(VFMADD231PD_BCST, VFMADD231PS_BCST)(m, y, as(y, t.sums[i][0]))
		return
	}
	x := kit.New()
	of(VBROADCASTSD, VBROADCASTSS)(m, x)
	for j := range y {
		x, sum := x, t.sums[i][j]
		if y, ok := y[j].(v); ok {
			x, sum = as(y, x), as(y, sum)
		}
		if t.rounds {
			product := as(x, kit.New())
			VMULPD(x, y[j], product)
			VADDPD(product, sum, sum)
			continue
		}
		of(VFMADD231PD, VFMADD231PS)(y[j], x, sum)
	}
}

// staggered reports whether the tile may be stored row by row between the last products, of which
// every sum then has two to come: with 24 stores in a row, more than may wait, the products of the
// next tile began about 40 cycles late, and more while something else ran on the same core. Of the
// time at the peak, 64×24 with 32 and 64 steps took 1.09 and 1.043, now 1.05 and 1.022, a product of
// 64 numbers 1.055, now 1.028. Fewer instructions between tiles, steps unrolled by four, and what is
// asked for spread over the first steps changed nothing.
func (t *tile) staggered(last part) bool {
	return t.staggers() && (t.rows == even || t.vectors == 2 || last == whole)
}

// staggers reports whether some are.
func (t *tile) staggers() bool { return kit.Wide && t.full && !t.keeps && t.vectors > 1 }

// late multiplies the last two steps row by row, and stores each row when it is done, if the call says
// that they are left.
func (t *tile) late(last part, not string) {
	CMPQ(t.field("late"), Imm(0))
	JE(t.ref(not))
	if last == whole && t.rows == even { // taller ones are not multiplied
		CMPQ(t.field("by"), Imm(0))
		JE(t.ref("alone"))
		CMPQ(t.field("plain"), Imm(0))
		JE(t.ref("strong"))
		t.rowByRow(last, t.factors(t.mask, true))
		JMP(t.ref("moved"))
		t.label("strong")
		t.rowByRow(last, t.factors(t.mask, false))
		JMP(t.ref("moved"))
		t.label("alone")
	}
	t.rowByRow(last, nil)
	JMP(t.ref("moved"))
}

// rowByRow also asks for the rows of C of the next tile, where it leaves c.
func (t *tile) rowByRow(last part, by *factors) {
	a0, a4 := GP64(), GP64() // of the last column
	LEAQ(Mem{Base: t.a0, Index: t.aCol, Scale: 1}, a0)
	LEAQ(Mem{Base: t.a4, Index: t.aCol, Scale: 1}, a4)
	y := [][]Op{t.row(last), nil}
	ADDQ(t.bRow, t.b)
	if last == whole && t.vectors == 3 { // as few registers as may be
		for j := range t.vectors {
			y[1] = append(y[1], Mem{Base: t.b, Disp: size * lanes * j})
		}
	} else {
		y[1] = t.row(last)
	}
	row := GP64()
	MOVQ(t.c, row)
	t.below(t.c, t.ldc, t.rows, "cTile")
	store := func(x v, m Mem, last bool) { t.store(x, m, t.mask, last) }
	if by != nil {
		by.begin()
		defer by.end()
		store = by.store
	}
	for i := range t.rows {
		t.add(i, t.at(t.a0, t.a4, i), y[0])
		t.add(i, t.at(a0, a4, i), y[1])
		t.ask(t.c)
		t.eachOf(i, row, store)
		if i < t.rows-1 {
			ADDQ(t.ldc, t.c)
		}
	}
	for range t.rows - 1 {
		SUBQ(t.ldc, t.c)
	}
}

// end stores a tile that is not staggered.
func (t *tile) end() {
	if kit.Single {
		mask := t.lastMask()
		CMPB(t.field("add"), Imm(0))
		JE(t.ref("times"))
		t.eachC(func(x v, m Mem, last bool) {
			if last {
				more := kit.New()
				loadMasked(m, mask, more)
				VADDPS(more, x, x)
			} else {
				VADDPS(m, x, x)
			}
		})
		t.label("times")
	}
	if !kit.Wide {
		CMPQ(t.field("n"), Imm(uint64(t.vectors*lanes)))
		JNE(t.ref("ragged"))
		t.write(whole)
		JMP(t.ref("written"))
		t.label("ragged")
	}
	t.write(masked)
}

// write stores what each row has, times its factors if the call has them. With AVX2 a store under a
// mask is some twenty instructions of the machine's own: where every one of them was masked, products of
// 16, 32 and 100 numbers took 1.19, 1.06 and 1.04 of the time on a Zen 3.
func (t *tile) write(last part) {
	var mask kit.Mask
	if last == masked {
		mask = t.lastMask()
	}
	if !t.rounds {
		name := [...]string{"writeWhole", "write"}[last]
		CMPQ(t.field("by"), Imm(0))
		JE(t.ref(name))
		CMPQ(t.field("plain"), Imm(0))
		JE(t.ref(name + "Strong"))
		t.writeTimes(last, t.factors(mask, true))
		t.label(name + "Strong")
		t.writeTimes(last, t.factors(mask, false))
		t.label(name)
	}
	t.eachC(func(x v, m Mem, end bool) { t.store(x, m, mask, end && last == masked) })
}

// writeTimes stores what each row has times its factors.
func (t *tile) writeTimes(last part, by *factors) {
	by.begin()
	t.eachC(func(x v, m Mem, end bool) { by.store(x, m, end && last == masked) })
	by.end()
	JMP(t.ref("written"))
}

// store writes a vector of C, or the part of it that a mask has.
func (t *tile) store(x v, m Mem, mask kit.Mask, part bool) {
	if part {
		storeMasked(x, mask, m)
	} else {
		VMOVUPD(x, m)
	}
}

// factors are rows of numbers that those of a tile are multiplied by. Plain ones are neither 0 nor infinite nor NaN:
// then 0 where either is 0 is the product and +0, in one instruction, not three. Of the peak on a Zen 4, 256×128 by
// 128×128 with 8 rows of factors .968 and .979, without any .988; on a Zen 5 there was nothing to gain.
type factors struct {
	*tile
	plain bool
	mask  kit.Mask
	row   reg.GPVirtual
	at    int // the next of the row's vectors
	zero  v
}

func (t *tile) factors(mask kit.Mask, plain bool) *factors {
	return &factors{tile: t, plain: plain, mask: mask}
}

// begin finds the first row.
func (by *factors) begin() {
	by.row, by.zero = by.load("by"), kit.New()
	kit.Zero(by.zero)
}

// store writes the product of the next of the vectors, 0 where either is 0. Rows might be asked for at the beginning
// of a tile: that gained nothing on a Zen 5.
func (by *factors) store(x v, to Mem, part bool) {
	factor := Op(Mem{Base: by.row, Disp: size * lanes * by.at})
	if part || !by.plain {
		y := kit.New()
		if part {
			loadMasked(factor.(Mem), by.mask, y)
		} else {
			VMOVUPD(factor, y)
		}
		factor = y
	}
	switch {
	case by.plain:
		of(VFMADD132PD, VFMADD132PS)(factor, by.zero, x)
	case kit.Wide:
		y, k := factor.(v), K()
		of(VCMPPD, VCMPPS)(Imm(kit.NE), by.zero, x, k)
		of(VCMPPD, VCMPPS)(Imm(kit.NE), by.zero, y, k, k)
		of(VMULPD_Z, VMULPS_Z)(y, x, k, x)
	default: // the last registers
		y, z := factor.(v), kit.New()
		of(VMULPD, VMULPS)(y, x, z)
		of(VCMPPD, VCMPPS)(Imm(kit.NE), by.zero, y, y)
		of(VCMPPD, VCMPPS)(Imm(kit.NE), by.zero, x, x)
		VANDPD(y, z, z)
		VANDPD(z, x, x)
	}
	by.tile.store(x, to, by.mask, part)
	if by.at++; by.at == by.vectors {
		ADDQ(by.field("ldby"), by.row)
		by.at = 0
	}
}

// end says which row the next tile meets: after the last the first.
func (by *factors) end() {
	CMPQ(by.row, by.field("end"))
	CMOVQEQ(by.field("first"), by.row)
	MOVQ(by.row, by.field("by"))
}

// prefetch asks for what the next tile begins with: A's first columns, and C's rows where they are not asked for
// row by row. Lines of C come from memory, and to the second cache: asked for into the first, 24 at once, they
// held up what the tile itself reads. Of the peak on a Zen 4, 256×128 by 128×64 and by 128×128 into a C of 16 MB
// .949 and .948 so, now .981, .979 into the second cache before each tile and .915 unasked; into a C that is
// near .982, .988 and .989. C's rows for the first tile too, before it, made no difference to the gradient
// of a network, whose C are cold (four pairs of runs).
func (t *tile) prefetch() {
	if !t.staggers() {
		t.askRows()
	}
	rows := t.next(t.a, t.aRow, "aTile")
	for i := range t.rows {
		PREFETCHT0(Mem{Base: rows})
		if i < t.rows-1 {
			ADDQ(t.aRow, rows)
		}
	}
}

// next is where the next tile begins.
func (t *tile) next(base, step reg.GPVirtual, tile string) reg.GPVirtual {
	next := GP64()
	MOVQ(base, next)
	t.below(next, step, t.rows, tile)
	return next
}

// askRows asks for all rows of C of the next tile.
func (t *tile) askRows() {
	rows := t.next(t.c, t.ldc, "cTile")
	for i := range t.rows {
		t.ask(rows)
		if i < t.rows-1 {
			ADDQ(t.ldc, rows)
		}
	}
}

// ask asks for a row of C. With AVX2, whose tiles are small, the second cache took 1.03 to 1.1 of the time where
// operands come from memory.
func (t *tile) ask(row reg.GPVirtual) {
	for line := 0; line < size*lanes*t.vectors; line += 64 {
		if m := (Mem{Base: row, Disp: line}); kit.Wide {
			PREFETCHT1(m)
		} else {
			PREFETCHT0(m)
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

// lastMask is the mask of the last vector; AVX2 makes it when registers are free.
func (p *gemm) lastMask() kit.Mask {
	if kit.Wide {
		return p.mask
	}
	return of(kit.FirstLanes, kit.FirstLanes32)(p.tail())
}

func loadMasked(m Mem, mask kit.Mask, x v)  { of(kit.LoadMasked, kit.LoadMasked32)(m, mask, x) }
func storeMasked(x v, mask kit.Mask, m Mem) { of(kit.StoreMasked, kit.StoreMasked32)(x, mask, m) }
