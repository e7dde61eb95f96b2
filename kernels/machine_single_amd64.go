//go:build !purego && (linux || darwin)

package kernels

// Lines on columns of float32, beside which there may be some of float64.

// A half is half of a vector of float32, as float64, of which a line is written.
type half struct {
	args   [3]int8
	result int8
}

// bytes is the length of a vector.
func (l length) bytes() int32 { return 8 * int32(l.lanes()) }

// doubled reports whether a line computes on float64: a copy only converts, and what
// closes a tile does that on its own.
func (m *maker) doubled(l *Line) bool {
	switch l.Do {
	case DoFMA, DoLogSlope, DoLog1pSlope, DoCube, DoFourth:
		return true
	case DoCopy, DoSum, DoOdd, DoNear, DoMine:
		return false
	}
	for k := range l.args() {
		if m.column(l.Arg[k]) >= Wide {
			return true
		}
	}
	return false
}

// halves writes a line on float64, one half of the vector after the other.
func (m *maker) halves(l *Line) {
	var args [3]int8
	for k := range l.args() {
		if args[k] = -1; m.column(l.Arg[k]) < Wide {
			args[k] = m.arg(k)
		}
	}
	var made [2]int8
	for h := range int8(2) {
		made[h] = m.scratch()
		locked := m.locked
		m.half = &half{result: made[h]}
		for k := range l.args() {
			t := m.scratch()
			if args[k] < 0 {
				m.loadHalf(t, m.place(l.Arg[k]), h)
			} else {
				m.widen(t, args[k], h)
			}
			m.half.args[k] = t
		}
		m.single = false
		if m.quick == nil || l.Do != DoZMul {
			m.do(l)
		} else {
			m.quickProduct()
		}
		m.single, m.half, m.locked = true, nil, locked
		m.vector(opcode{m0F, p66, 0x5a, 1}, m.width, made[h], 0, register(made[h]), 0, false, -1) // VCVTPD2PS
	}
	m.insert(m.result(false), made[0], made[1])
}

// widen writes dst = half h of src, as float64.
func (m *maker) widen(dst, src, h int8) {
	if h > 0 { // VEXTRACTF64X4, VEXTRACTF128
		o := opcode{m0F3A, p66, 0x1b, 1}
		if m.width == four {
			o = opcode{m0F3A, p66, 0x19, 0}
		}
		m.vector(o, m.width, src, 0, register(dst), 0, false, 1)
		src = dst
	}
	m.vector(opcode{m0F, none, 0x5a, 0}, m.width, dst, 0, register(src), 0, false, -1) // VCVTPS2PD
}

// insert writes dst, of two halves.
func (m *maker) insert(dst, low, high int8) {
	o := opcode{m0F3A, p66, 0x1a, 1} // VINSERTF64X4
	if m.width == four {
		o = opcode{m0F3A, p66, 0x18, 0} // VINSERTF128
	}
	m.vector(o, m.width, dst, low, register(high), 0, false, 1)
}

// loadWide writes r = float64 in memory, as float32.
func (m *maker) loadWide(r int8, at operand) {
	for h, to := range []int8{r, m.aux} {
		m.loadHalf(to, at, int8(h))
		m.vector(opcode{m0F, p66, 0x5a, 1}, m.width, to, 0, register(to), 0, false, -1)
	}
	m.insert(r, r, m.aux)
}

// storeWide writes r, as float64, to memory.
func (m *maker) storeWide(at operand, r int8, aside bool) {
	for h := range int8(2) {
		m.widen(m.aux, r, h)
		m.storeHalf(at, m.aux, h, aside)
	}
}

// loadHalf loads half h of a vector's float64 into r.
func (m *maker) loadHalf(r int8, at operand, h int8) {
	if at.same { // VBROADCASTSD
		m.vector(opcode{m0F38, p66, 0x19, byte(m.width) >> 1}, m.width, r, 0, at, 0, false, -1)
		return
	}
	at.at += int32(h) * m.width.bytes()
	switch {
	case !m.masked:
		m.vector(opcode{m0F, p66, 0x10, 1}, m.width, r, 0, at, 0, false, -1)
	case m.width == eight:
		m.vector(opcode{m0F, p66, 0x10, 1}, eight, r, 0, at, 7-byte(h), true, -1)
	default:
		m.halfTail(h, func() { m.vector(opcode{m0F38, p66, 0x2d, 0}, four, r, m.zero, at, 0, false, -1) })
	}
}

// storeHalf stores the float64 of r as half h of a vector.
func (m *maker) storeHalf(at operand, r int8, h int8, aside bool) {
	at.at += int32(h) * m.width.bytes()
	switch {
	case aside:
		m.vector(opcode{m0F, p66, 0x2b, 1}, m.width, r, 0, at, 0, false, -1) // VMOVNTPD
	case !m.masked:
		m.vector(opcode{m0F, p66, 0x11, 1}, m.width, r, 0, at, 0, false, -1)
	case m.width == eight:
		m.vector(opcode{m0F, p66, 0x11, 1}, eight, r, 0, at, 7-byte(h), false, -1)
	default:
		m.halfTail(h, func() { m.vector(opcode{m0F38, p66, 0x2f, 0}, four, r, m.zero, at, 0, false, -1) })
	}
}

// halfTail does what wants the lanes of half h of a shorter vector in the register of 0.
func (m *maker) halfTail(h int8, do func()) {
	tail := m.tail
	if h > 0 {
		m.vector(opcode{m0F3A, p66, 0x19, 0}, four, tail, 0, register(m.zero), 0, false, 1) // VEXTRACTF128
		tail = m.zero
	}
	m.vector(opcode{m0F38, p66, 0x25, 0}, four, m.zero, 0, register(tail), 0, false, -1) // VPMOVSXDQ
	do()
	m.bits(xorOp, m.zero, m.zero, register(m.zero))
}
