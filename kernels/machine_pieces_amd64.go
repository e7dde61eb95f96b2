//go:build !purego && (linux || darwin)

package kernels

import (
	"math"
	"slices"
)

// A pieceInside is what a vector has of a piece: its lanes from first on, up to end.
type pieceInside struct {
	*Piece
	first, end int
}

// appendPieces makes pieces part of a layout.
func appendPieces(layout []int32, pieces []Piece) []int32 {
	for i := range pieces {
		layout = append(layout, math.MinInt32, int32(pieces[i].End))
		for _, r := range pieces[i].Reads {
			layout = append(layout, r.Column, r.From, int32(r.By))
		}
	}
	return layout
}

// columns are the places of values, and of those that pieces read for them.
func (m *maker) columns() (all []int32) {
	for i := range m.values {
		if p := m.values[i].place; !m.isRead(p) {
			all = append(all, p)
		}
	}
	for i := range m.pieces {
		for _, r := range m.pieces[i].Reads {
			all = append(all, r.From)
		}
	}
	return all
}

// isRead reports whether a column is read elsewhere, in any piece.
func (m *maker) isRead(p int32) bool {
	return slices.ContainsFunc(m.pieces, func(x Piece) bool { return x.read(p) != nil })
}

// read says where a column is in the piece at work; nil: where it is.
func (m *maker) read(p int32) *Read {
	if m.piece == nil {
		return nil
	}
	return m.piece.read(p)
}

// mostUnrolled is how many lines the bodies of all vectors have that are written one by one.
const mostUnrolled = 400

// allPieces writes the code of all pieces. Of short ones it writes the body of every vector, from
// both ends to the middle. A vector that reads its neighbours, as the step before left them, has
// to wait until these are in the cache; so they come as late as can be, also those around the
// end of a ring. (Not tried to the end: to put such a vector together of the two that were written,
// which need not wait for the cache.) Of long ones it writes loops over the vectors that lie in one
// of them.
func (m *maker) allPieces() {
	p := &piecesMaker{maker: m, state: m.in}
	lanes, n := m.width.lanes(), m.pieces[len(m.pieces)-1].End
	if count := (n + lanes - 1) / lanes; count*len(m.lines) <= mostUnrolled {
		for i := range count {
			at := i / 2 * lanes
			if i%2 == 1 {
				at = (count - 1 - i/2) * lanes
			}
			p.vector(at, min(at+lanes, n))
		}
	} else {
		for at := 0; at < n; {
			at = p.vectors(at, n)
		}
	}
	m.ret()
	for _, write := range p.later {
		write()
	}
}

// hoist loads numbers for all bodies, as long as enough registers are left.
func (m *maker) hoist(what func(c Column) bool) {
	for i := range m.values {
		if v := &m.values[i]; v.column.isNumber() && v.column != Nought && what(v.column) && len(m.hoisted) < int(m.width.registers())/4 {
			r := m.take()
			m.load(r, m.place(v.place))
			v.fixed = true
			m.hoisted = append(m.hoisted, hoisted{i, r})
		}
	}
}

// A piecesMaker writes the code of pieces.
type piecesMaker struct {
	*maker
	state [32]int32
	later []func() // exact bodies, behind the end
}

// vectors writes a loop over the vectors that lie in one piece, from an element on, or the one
// in which several meet, and returns where that ends.
func (p *piecesMaker) vectors(at, n int) int {
	m, lanes := p.maker, p.width.lanes()
	inside := m.inside(at, min(at+lanes, n))
	if len(inside) > 1 || inside[0].end < lanes {
		p.meeting(at, inside)
		return at + lanes
	}
	m.piece = inside[0].Piece
	end := at + (m.piece.End-at)/lanes*lanes
	m.set(rax, 8*at)
	for len(m.text)%32 != 0 {
		m.bytes(0x90)
	}
	loop := m.label()
	m.mark(loop)
	p.body()
	m.immediate(0, rax, 8*int32(lanes))
	m.immediate(7, rax, 8*int32(end))
	m.jump(ifLess, loop)
	return end
}

// vector writes the body of the elements from one on, up to end, by itself.
func (p *piecesMaker) vector(at, end int) {
	inside := p.inside(at, end)
	if len(inside) > 1 || inside[0].end < p.width.lanes() {
		p.meeting(at, inside)
		return
	}
	p.piece = inside[0].Piece
	p.alone, p.from = true, at
	p.body()
	p.alone = false
}

// body writes that of whole vectors in the piece at work.
func (p *piecesMaker) body() {
	m := p.maker
	exact, next := m.label(), m.label()
	m.again(p.state)
	if !m.quickly(p.state, exact) {
		m.exactly()
		return
	}
	m.mark(next)
	piece, alone, from := m.piece, m.alone, m.from
	p.later = append(p.later, func() {
		m.mark(exact)
		m.piece, m.alone, m.from = piece, alone, from
		m.again(p.state)
		m.exactly()
		m.jump(always, next)
	})
}

// meeting writes the body of one vector, of as many lanes as pieces have there.
func (p *piecesMaker) meeting(at int, inside []pieceInside) {
	m := p.maker
	count := inside[len(inside)-1].end
	if m.width == four {
		m.vector(opcode{m0F, p66, 0x10, 0}, four, m.tail, 0, m.lanesFrom(0, count), 0, false, -1)
	} else {
		m.setMask(7, 0, count)
	}
	m.again(p.state)
	m.meet, m.masked, m.alone, m.from = inside, true, true, at
	m.exactly()
	m.meet, m.masked, m.alone = nil, false, false
}

// inside is what the elements from one on, up to end, have of pieces.
func (m *maker) inside(from, end int) (all []pieceInside) {
	first := 0
	for i := range m.pieces {
		x := &m.pieces[i]
		if lo, hi := max(first, from), min(x.End, end); lo < hi {
			all = append(all, pieceInside{x, lo - from, hi - from})
		}
		first = x.End
	}
	return all
}

// loadMet puts together in r what a vector reads of a column in the pieces that meet in it.
func (m *maker) loadMet(r int8, p int32) {
	if m.width == four {
		t := m.scratch()
		for i, x := range m.meet {
			m.load(t, m.lanesFrom(x.first, x.end))
			m.piece = x.Piece
			if at := m.place(p); i == 0 {
				m.vector(m.moved(0x2d), four, r, t, at, 0, false, -1)
			} else {
				m.vector(m.moved(0x2d), four, t, t, at, 0, false, -1)
				m.bits(orOp, r, r, register(t))
			}
		}
		return
	}
	for i, x := range m.meet {
		m.setMask(6, x.first, x.end)
		m.piece = x.Piece
		m.vector(m.packed(m0F, 0x10), m.width, r, 0, m.place(p), 6, i == 0, -1)
	}
}

// lanesFrom is a mask of AVX2: all bits in the lanes from one on, up to end.
func (m *maker) lanesFrom(first, end int) operand {
	var v [poolWords]uint64
	for i := first; i < end; i++ {
		v[i] = ^uint64(0)
	}
	return m.words(v)
}

// setMask makes a mask register one of the lanes from one on, up to end.
func (m *maker) setMask(k int8, first, end int) {
	m.set(r15, 1<<end-1<<first)
	m.vector(m.masking(0x92), one, k, 0, register(int8(r15)), 0, false, -1) // KMOVB
}

// set makes a general register a number.
func (m *maker) set(r gp, x int) {
	m.bytes(0x48|byte(r)>>3, 0xc7, 0xc0|byte(r&7))
	m.word(int32(x))
}
