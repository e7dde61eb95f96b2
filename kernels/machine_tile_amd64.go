//go:build !purego && (linux || darwin)

package kernels

import "slices"

// pointers are the registers that hold where columns begin; RCX holds the table of them,
// RAX how far the code is, R14 how far it is among the lanes, RDX where the whole vectors
// end, and R15 what is used once.
var pointers = [...]gp{rbx, rsi, rdi, r8, r9, r10, r11, r12, r13}

// Fuse makes lines one kernel of a run: a Call that reads and writes the columns whose
// places in the table of pointers the lines name. Columns that are in line lie stride
// numbers apart, in the order of their numbers. It is the caller's to keep the Machine as
// long as the call; nil: this machine has no such code.
func Fuse(lines []Line, stride int, column func(place int32) Column) (*Machine, Call) {
	return fuse(lines, stride, column, false, nil)
}

// FuseRows is Fuse for RunTiles with no call but this one, which does all of the tiles by itself: columns go along with
// them, or have a number for each. Nil also where there are not registers enough to know where all of those are.
func FuseRows(lines []Line, stride int, column func(place int32) Column) (*Machine, Call) {
	at := map[int32]bool{} // by column apart
	eachPlace(lines, func(p int32) {
		if c := column(p); c == Apart || c == Along || c == OfTile {
			at[p] = true
		}
	})
	if len(at) >= len(pointers) { // one is for what is in line
		return nil, Call{}
	}
	return fuse(lines, stride, column, false, nil)
}

// FusePieces is Fuse of as many elements as pieces have, which it does whatever the run says. A
// vector in which pieces meet takes of each what it has; so there are no shorter ones but the last.
func FusePieces(lines []Line, stride int, column func(place int32) Column, pieces []Piece) (*Machine, Call) {
	return fuse(lines, stride, column, false, pieces)
}

// Fuse32 is Fuse of columns of float32, but for those that are wide. An operation with an
// argument that is wide, FMA and the slopes of logarithms are computed in float64 and rounded
// once, the others in float32, which gives the same bits; sums are of float64.
func Fuse32(lines []Line, stride int, column func(place int32) Column) (*Machine, Call) {
	return fuse(lines, stride, column, true, nil)
}

func fuse(lines []Line, stride int, column func(place int32) Column, single bool, pieces []Piece) (*Machine, Call) {
	width := widest()
	if width == one {
		return nil, Call{}
	}
	_, size := width.elements(single)
	var room [64]int32
	layout := append(room[:0], int32(stride), size)
	eachPlace(lines, func(p int32) {
		if c := column(p); c != InLine {
			layout = append(layout, p, int32(c))
		}
	})
	layout = appendPieces(layout, pieces)
	if x := madeBefore(layout, lines); x != nil {
		return x, Call{entry: x.entry}
	}
	m := written(width, single, lines, stride, column, pieces, true)
	if m.crowded && len(m.hoisted) > 0 && pieces == nil {
		m = written(width, single, lines, stride, column, pieces, false)
	}
	x := remember(layout, lines, m.finish())
	if x == nil {
		return nil, Call{}
	}
	return x, Call{entry: x.entry}
}

// eachPlace visits the columns that lines name, line by line.
func eachPlace(lines []Line, visit func(p int32)) {
	for i := range lines {
		l := &lines[i]
		for _, p := range l.Arg[:l.args()] {
			visit(p)
		}
		visit(l.Dst)
	}
}

// elements are how many numbers a vector has, and their bytes.
func (l length) elements(single bool) (lanes, size int32) {
	if single {
		return 2 * int32(l.lanes()), 4
	}
	return int32(l.lanes()), 8
}

// written is the code of lines, with numbers in registers for all vectors where hoists says so.
func written(width length, single bool, lines []Line, stride int, column func(place int32) Column, pieces []Piece, hoists bool) *maker {
	m := &maker{width: width, single: single, column: column, pieces: pieces}
	lanes, size := width.elements(single)
	m.number(lines)
	m.findTruths()
	m.anchor(size, size*int32(stride))
	m.begin()
	m.nothing()
	if m.width == four {
		m.tail = m.take()
	}
	if single {
		m.aux = m.take()
	}
	hoists = hoists && !single // two halves want all registers
	if hoists {
		m.hoist(func(c Column) bool { return c != OfTile })
	}
	next := m.label()
	m.mark(next)
	if hoists {
		m.hoist(func(c Column) bool { return c == OfTile })
	}
	if pieces != nil {
		m.allPieces()
		return m
	}
	m.allVectors(size, lanes, next)
	return m
}

// goOn goes on to the next tile, if this code does them and there is one, as run's frame says.
func (m *maker) goOn(next int) {
	const tiles = 128 // in the frame of run, and behind the address it is called from
	if len(m.along)+len(m.each) == 0 {
		return
	}
	end := m.label()
	m.bytes(0x48, 0x83, 0xbc, 0x24) // CMPQ tiles(RSP), $1
	m.word(tiles)
	m.bytes(1)
	m.jump(ifNotMore, end)
	m.bytes(0x48, 0xff, 0x8c, 0x24) // DECQ tiles(RSP)
	m.word(tiles)
	m.general(movFrom, rdx, memory(rsp, 16))
	m.scale(rdx)
	for _, r := range m.along {
		m.general(addTo, r, register(int8(rdx)))
	}
	for _, r := range m.each {
		m.immediate(0, r, 8)
	}
	m.jump(always, next)
	m.mark(end)
}

// allVectors writes the loop over whole vectors, and what is left.
func (m *maker) allVectors(size, lanes int32, next int) {
	state := m.in
	n := memory(rsp, 16) // as Run leaves it: the length of the first slice
	loop, tail, end := m.label(), m.label(), m.label()
	m.general(movFrom, rdx, n)
	m.immediate(4, rdx, -lanes)
	m.scale(rdx)
	m.general(xorWith, rax, register(int8(rax)))
	m.general(cmpWith, rax, register(int8(rdx)))
	m.jump(ifNotLess, tail)
	for len(m.text)%32 != 0 {
		m.bytes(0x90)
	}
	m.mark(loop)
	exact, done := m.label(), m.label()
	quick := m.quickly(state, exact)
	if !quick {
		m.exactly()
	}
	m.mark(done)
	m.immediate(0, rax, size*lanes)
	m.general(cmpWith, rax, register(int8(rdx)))
	m.jump(ifLess, loop)
	m.mark(tail)
	m.general(movFrom, rdx, n)
	m.immediate(4, rdx, lanes-1)
	m.jump(ifEqual, end)
	m.shorter()
	m.again(state)
	m.masked = true
	m.exactly()
	m.mark(end)
	m.goOn(next)
	m.ret()
	if quick {
		m.mark(exact)
		m.again(state)
		m.masked = false
		m.exactly()
		m.jump(always, done)
	}
}

// anchor loads pointers to columns, of which those that are in line lie so many bytes apart:
// they share a register. A column whose pointer finds none free is looked up where it is used.
func (m *maker) anchor(size, apart int32) {
	where := map[int32]gp{}
	near, at := int32(-1), gp(0)
	used := 0
	for _, p := range m.columns() {
		if _, ok := where[p]; ok || used == len(pointers) {
			continue
		}
		switch c := m.column(p); {
		case c == InLine || c.isNumber() && c != OfTile:
			if near >= 0 {
				continue
			}
			near, at = p, pointers[used]
		case c == Along:
			where[p], m.along = pointers[used], append(m.along, pointers[used])
		case c == OfTile:
			where[p], m.each = pointers[used], append(m.each, pointers[used])
		default:
			where[p] = pointers[used]
		}
		m.general(movFrom, pointers[used], memory(rcx, 8*p))
		used++
	}
	m.place = func(p int32) operand {
		o := operand{reg: -1, index: rax}
		if r := m.read(p); r != nil {
			p, o.at = r.From, size*int32(r.By)
		}
		switch base, ok := where[p]; {
		case ok:
			o.base = base
		case near >= 0 && (m.column(p) == InLine || m.column(p).isNumber()):
			o.base, o.at = at, o.at+apart*(p-near)
		default:
			m.general(movFrom, r15, memory(rcx, 8*p))
			o.base = r15
		}
		switch m.column(p) {
		case OfTile, Number, Nought, Known:
			o.same, o.index = true, noIndex
			return o
		case Wide:
			o.wide = true
		case WideNumber:
			o.wide, o.same, o.index = true, true, noIndex
			return o
		}
		if m.alone {
			o.index, o.at = noIndex, o.at+size*int32(m.from)
		}
		return o
	}
}

// exactly writes the lines, after where they are among the lanes.
func (m *maker) exactly() {
	m.amongLanes(DoSum, DoOdd)
	m.body()
}

// amongLanes makes R14 how far the code is among the lanes, if one of the lines is such a one.
func (m *maker) amongLanes(what ...Do) {
	if slices.ContainsFunc(m.lines, func(l Line) bool { return slices.Contains(what, l.Do) }) {
		m.general(movFrom, r14, register(int8(rax)))
		if m.single {
			m.general(addTo, r14, register(int8(r14)))
		}
		m.immediate(4, r14, 8*int32(len(Lanes{})-1))
	}
}

// shorter makes the mask of the last vector, of as many numbers as RDX says.
func (m *maker) shorter() {
	if m.width == four {
		m.scale(rdx)
		m.general(lea, r15, m.words([poolWords]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}))
		m.general(subFrom, r15, register(int8(rdx)))
		m.vector(opcode{m0F, p66, 0x10, 0}, four, m.tail, 0, memory(r15, 32), 0, false, -1)
		return
	}
	m.bytes(0x49, 0xc7, 0xc7, 0xff, 0xff, 0xff, 0xff)                                                    // R15 = -1
	m.vector(opcode{m0F38, none, 0xf5, 0}, one, int8(r15), int8(rdx), register(int8(r15)), 0, false, -1) // BZHI
	m.vector(m.masking(0x92), one, 7, 0, register(int8(r15)), 0, false, -1)                              // KMOVB
	if m.single {                                                                                        // KSHIFTRW
		m.vector(opcode{m0F3A, p66, 0x30, 1}, one, 6, 0, register(7), 0, false, 8)
	}
}

// sum writes the addition to lanes. What a shorter vector has beyond its end goes nowhere.
func (m *maker) sum(l *Line) {
	a, t := m.counted(), m.scratch()
	at := m.place(l.Dst)
	at.index = r14
	if m.single {
		at.wide = false
		for h := range int8(2) {
			m.widen(m.aux, a, h)
			o := at
			o.at += int32(h) * m.width.bytes()
			m.vector(opcode{m0F, p66, addOp, 1}, m.width, m.aux, m.aux, o, 0, false, -1)
			m.storeHalf(at, m.aux, h, false)
		}
		return
	}
	if m.masked {
		m.load(t, at)
		m.arith(addOp, t, t, register(a))
	} else {
		m.arith(addOp, t, a, at)
	}
	m.storeAt(at, t)
}

// ahead writes a prefetch: 0F 18 /1, or to write 0F 0D /1, which every machine of 64 bits
// takes at least for nothing.
func (m *maker) ahead(l *Line, op byte) {
	if m.masked {
		return
	}
	at, size, vectors := m.place(l.Dst), int32(8), 1
	switch {
	case at.wide:
		vectors = 2
	case m.single:
		size = 4
	}
	at.at += size * l.Far
	for range vectors {
		m.bytes(0x40|byte(at.index)>>3<<1|byte(at.base)>>3, 0x0f, op)
		m.modrm(1, at, 0)
		at.at += m.width.bytes()
	}
}

// again begins the lines anew, with the registers that are reserved.
func (m *maker) again(in [32]int32) {
	zero := m.zero
	m.begin()
	m.in, m.zero, m.zeroed = in, zero, true
	for _, h := range m.hoisted {
		m.values[h.value].reg = h.reg
	}
}

// scale makes a number of numbers one of bytes.
func (m *maker) scale(r gp) {
	by := byte(3)
	if m.single {
		by = 2
	}
	m.bytes(0x48|byte(r)>>3, 0xc1, 0xe0|byte(r&7), by)
}

// widest is the length of vectors that the tier in use has.
func widest() length {
	switch Tier() {
	case "avx512":
		return eight
	case "avx2":
		return four
	}
	return one
}
