//go:build !purego && (linux || darwin)

package kernels

import "math"

// A mask says for every lane yes or no: a register of vectors, or with AVX-512 one of
// masks.
type mask int8

// Predicates of comparisons, none of which signals.
const (
	isEqual     = 0x00
	isUnordered = 0x03
	isNotEqual  = 0x04
	isLess      = 0x11
	isAtMost    = 0x12
	isAtLeast   = 0x1d
	isMore      = 0x1e
)

// packed is an instruction on vectors of the numbers at hand.
func (m *maker) packed(mm, op byte) opcode {
	switch {
	case !m.single:
		return opcode{mm, p66, op, 1}
	case mm == m0F:
		return opcode{mm, none, op, 0}
	}
	return opcode{mm, p66, op, 0}
}

// moved is a masked move of AVX2, of which op is that for float64.
func (m *maker) moved(op byte) opcode {
	if m.single {
		op--
	}
	return opcode{m0F38, p66, op, 0}
}

// arith writes dst = src op rm.
func (m *maker) arith(op byte, dst, src int8, rm operand) {
	o := m.packed(m0F, op)
	if m.width == one {
		o.pp = pF2
	}
	m.vector(o, m.width, dst, src, rm, 0, false, -1)
}

const (
	addOp, mulOp, subOp, minOp, divOp, maxOp = 0x58, 0x59, 0x5c, 0x5d, 0x5e, 0x5f
	andOp, andNotOp, orOp, xorOp             = 0x54, 0x55, 0x56, 0x57 // andNotOp: not the first
)

// bits writes dst = src op rm, of bits.
func (m *maker) bits(op byte, dst, src int8, rm operand) {
	m.vector(m.packed(m0F, op), m.width, dst, src, rm, 0, false, -1)
}

func (m *maker) move(dst, src int8) {
	m.vector(m.packed(m0F, 0x28), m.width, dst, 0, register(src), 0, false, -1)
}

// compare writes a comparison of x with rm.
func (m *maker) compare(x int8, how int, rm operand) mask {
	o := m.packed(m0F, 0xc2)
	if m.width == one {
		o.pp = pF2
	}
	to := int8(0)
	if m.width == eight {
		m.masks++
		to = m.masks
	} else {
		to = m.scratch()
	}
	m.vector(o, m.width, to, x, rm, 0, false, how)
	return mask(to)
}

// join writes the and, or the or, of masks, in place of the first.
func (m *maker) join(op byte, x, y mask) mask {
	if m.width == eight {
		m.joined(op, x, x, y)
	} else {
		m.bits(op, int8(x), int8(x), register(int8(y)))
	}
	return x
}

// joined writes the and, or the or, of x and y, mask registers of AVX-512, to another.
func (m *maker) joined(op byte, to, x, y mask) {
	kand := m.masking(0x41) // KANDB
	if op == orOp {
		kand.op = 0x45 // KORB
	}
	m.vector(kand, four, int8(to), int8(x), register(int8(y)), 0, false, -1)
}

// masking is an instruction on masks, of as many lanes as vectors have of the numbers at hand.
func (m *maker) masking(op byte) opcode {
	if m.single {
		return opcode{m0F, none, op, 0}
	}
	return opcode{m0F, p66, op, 0}
}

// where writes dst = x where the mask says yes, else 0.
func (m *maker) where(dst int8, k mask, x operand) {
	if m.width == eight {
		m.vector(m.packed(m0F, 0x10), eight, dst, 0, x, byte(k), true, -1)
	} else {
		m.bits(andOp, dst, int8(k), x)
	}
}

// choose writes dst = x where the mask says yes, else y.
func (m *maker) choose(dst int8, k mask, x operand, y int8) {
	if m.width == eight {
		m.vector(m.packed(m0F38, 0x65), eight, dst, y, x, byte(k), false, -1)
	} else {
		o := opcode{m0F3A, p66, 0x4b, 0}
		if m.single {
			o.op--
		}
		m.vector(o, m.width, dst, y, x, 0, false, int(k)<<4)
	}
}

// A pattern is the bits of a constant, as float64 and as float32.
type pattern struct {
	double uint64
	single uint32
}

var (
	unitBits  = pattern{math.Float64bits(1), math.Float32bits(1)}
	minusBits = pattern{math.Float64bits(-1), math.Float32bits(-1)}
	infBits   = pattern{0x7ff0 << 48, 0x7f80 << 16}
	nanBits   = pattern{0x7ff8 << 48, 0x7fc0 << 16}
	signMask  = pattern{1 << 63, 1 << 31}
	restMask  = pattern{1<<63 - 1, 1<<31 - 1}
	zeroIs0   = pattern{8 << 8, 8 << 8} // what VFIXUPIMMPD makes of a zero
)

func (m *maker) pattern(p pattern) operand {
	if m.single {
		return m.constant(uint64(p.single)<<32 | uint64(p.single))
	}
	return m.constant(p.double)
}

// truth writes the result 1 where the mask says yes, else 0.
func (m *maker) truth(k mask) {
	m.where(m.result(false), k, m.pattern(unitBits))
}

// nothing is the register of 0.
func (m *maker) nothing() int8 {
	if !m.zeroed {
		m.bits(xorOp, m.zero, m.zero, register(m.zero))
		m.zeroed = true
	}
	return m.zero
}

// do writes a line.
func (m *maker) do(l *Line) {
	m.masks = 0
	if m.isDoubled(l) {
		m.halves(l)
		return
	}
	switch l.Do {
	case DoCopy:
		if m.isTruth(m.args[m.now][0]) {
			k := m.condition(0)
			m.where(m.result(false), k, m.pattern(unitBits))
		} else {
			a := m.arg(0)
			m.move(m.result(true), a)
		}
	case DoNeg:
		a := m.arg(0)
		m.bits(xorOp, m.result(false), a, m.pattern(signMask))
	case DoAbs:
		a := m.arg(0)
		m.bits(andOp, m.result(false), a, m.pattern(restMask))
	case DoSign:
		m.sign()
	case DoSqrt:
		m.root()
	case DoRecip:
		c := m.scratch()
		m.load(c, m.pattern(unitBits))
		rm := m.either(0)
		m.arith(divOp, m.result(false), c, rm)
	case DoLogSlope, DoLog1pSlope:
		m.slope(l.Do == DoLog1pSlope)
	case DoSquare:
		a := m.arg(0)
		m.arith(mulOp, m.result(false), a, register(a))
	case DoCube, DoFourth:
		m.power(l.Do == DoFourth)
	case DoFloor, DoCeil, DoTrunc, DoRound:
		m.round([...]int{1, 2, 3, 0}[l.Do-DoFloor])
	case DoFloat32:
		m.rounded()
	case DoNot:
		m.tellNot()
	case DoIsNaN:
		a := m.arg(0)
		m.tell(a, isUnordered, register(a))
	case DoIsInf, DoIsFinite:
		a, t := m.arg(0), m.scratch()
		m.bits(andOp, t, a, m.pattern(restMask))
		m.tell(t, [...]int{isEqual, isLess}[l.Do-DoIsInf], m.pattern(infBits))
	case DoAdd, DoSub, DoMul, DoDiv:
		m.two([...]byte{addOp, subOp, mulOp, divOp}[l.Do-DoAdd])
	case DoZMul:
		m.product()
	case DoMaximum:
		m.extreme(maxOp, andOp)
	case DoMinimum:
		m.extreme(minOp, orOp)
	case DoLt, DoLe, DoGt, DoGe, DoEq, DoNe:
		a := m.arg(0)
		how := [...]int{isLess, isAtMost, isMore, isAtLeast, isEqual, isNotEqual}[l.Do-DoLt]
		m.tell(a, how, m.either(1))
	case DoAnd:
		m.tellBoth(andOp)
	case DoOr:
		m.tellBoth(orOp)
	case DoFMA:
		m.fma()
	case DoWhere:
		if m.width != eight || !m.isTruth(m.args[m.now][0]) {
			m.arg(0)
		}
		x, y := m.arg(1), m.arg(2)
		switch k := m.condition(0); {
		case m.numberAt(2) == Nought:
			m.where(m.result(false), k, register(x))
		case m.numberAt(1) == Nought && m.width != eight:
			m.bits(andNotOp, m.result(false), int8(k), register(y))
		default:
			m.choose(m.result(false), k, register(x), y)
		}
	case DoLoad:
		m.element(l)
	case DoLeaf:
		m.leaf(l)
	case DoSum, DoOdd:
		m.sum(l)
	case DoNear:
		m.ahead(l, 0x18)
	case DoMine:
		m.ahead(l, 0x0d)
	}
}

// sign writes 1, -1, or the argument where it is 0 or NaN.
func (m *maker) sign() {
	a, c, t := m.arg(0), m.scratch(), m.scratch()
	m.load(c, m.pattern(unitBits))
	m.choose(t, m.compare(a, isMore, register(m.nothing())), register(c), a)
	k := m.compare(a, isLess, register(m.nothing()))
	m.load(c, m.pattern(minusBits))
	m.choose(m.result(false), k, register(c), t)
}

// root writes a square root.
func (m *maker) root() {
	a := m.arg(0)
	src := int8(0)
	if m.width == one {
		src = a
	}
	m.arith(0x51, m.result(false), src, register(a))
}

// slope writes what LogSlope or Log1pSlope is.
func (m *maker) slope(plus1 bool) {
	a, c, t := m.arg(0), m.scratch(), m.scratch()
	m.load(c, m.pattern(unitBits))
	if plus1 {
		m.arith(addOp, t, c, register(a))
		a = t
	}
	k := m.compare(a, isLess, register(m.nothing()))
	m.arith(addOp, t, a, register(m.nothing()))
	m.arith(divOp, t, c, register(t))
	m.load(c, m.pattern(nanBits))
	m.choose(m.result(false), k, register(c), t)
}

// power writes what Cube or Fourth is.
func (m *maker) power(fourth bool) {
	a, p, r, lost, z := m.arg(0), m.scratch(), m.scratch(), m.scratch(), m.scratch()
	m.arith(mulOp, p, a, register(a))
	m.move(lost, p)
	m.multiplyAdd(subtracted, lost, a, register(a))
	y := a
	if fourth {
		y = p
		m.arith(addOp, lost, lost, register(lost))
	}
	m.arith(mulOp, r, p, register(y))
	m.move(z, r)
	m.multiplyAdd(subtracted, z, p, register(y))
	m.multiplyAdd(added, z, lost, register(y))
	m.arith(subOp, z, r, register(z))
	k := m.compare(z, isUnordered, register(z))
	if !fourth {
		m.bits(andOp, lost, a, m.pattern(signMask))
		m.bits(orOp, z, z, register(lost))
	}
	m.choose(m.result(false), k, register(r), z)
}

// A term of a sum, which is rounded with it once, is added or subtracted.
const added, subtracted = 0xb8, 0xbc

// multiplyAdd adds the product of x and y to dst, or subtracts it.
func (m *maker) multiplyAdd(how byte, dst, x int8, y operand) {
	if m.width == one {
		how++
	}
	m.vector(m.packed(m0F38, how), m.width, dst, x, y, 0, false, -1)
}

// rounded writes a number rounded to float32.
func (m *maker) rounded() {
	a := m.arg(0)
	d := m.result(false)
	switch {
	case m.single:
		m.move(d, a)
	case m.width == one:
		m.vector(opcode{m0F, pF2, 0x5a, 0}, one, d, a, register(a), 0, false, -1)
		m.vector(opcode{m0F, pF3, 0x5a, 0}, one, d, d, register(d), 0, false, -1)
	default:
		m.vector(opcode{m0F, p66, 0x5a, 1}, m.width, d, 0, register(a), 0, false, -1)
		m.vector(opcode{m0F, none, 0x5a, 0}, m.width, d, 0, register(d), 0, false, -1)
	}
}

// product writes what ZMul is: 0 where a factor is.
func (m *maker) product() {
	a, b := m.arg(0), m.arg(1)
	if m.width == eight {
		d := m.result(true)
		m.arith(mulOp, d, a, register(b))
		for _, x := range []int8{a, b} { // VFIXUPIMMPD: 0 where x is
			m.vector(m.packed(m0F3A, 0x54), eight, d, x, m.pattern(zeroIs0), 0, false, 0)
		}
		return
	}
	k := m.both(andOp, a, b)
	t := m.scratch()
	m.arith(mulOp, t, a, register(b))
	m.where(m.result(false), k, register(t))
}

// fma writes a product and a sum, rounded once.
func (m *maker) fma() {
	a, b, c := m.arg(0), m.arg(1), m.arg(2)
	d := c
	if m.ends(2) {
		m.takeOver(2)
	} else {
		d = m.result(true)
		m.move(d, c)
	}
	m.multiplyAdd(added, d, a, register(b))
}

// two writes an operation of two numbers.
func (m *maker) two(op byte) {
	a := m.arg(0)
	b := m.either(1)
	m.arith(op, m.result(false), a, b)
}

// both is where neither of x and y, or not both, are 0.
func (m *maker) both(op byte, x, y int8) mask {
	k := m.compare(x, isNotEqual, register(m.nothing()))
	if x == y {
		return k
	}
	return m.join(op, k, m.compare(y, isNotEqual, register(m.nothing())))
}

// extreme writes the larger or the smaller of two numbers. The instruction gives the
// second of two zeros, and where one is NaN: with a number that is neither first, that is
// the result, and with +0 first it is but for a larger -0.
func (m *maker) extreme(op, join byte) {
	for k := range 2 {
		c := m.numberAt(1 - k)
		if c != Nought && c != Known {
			continue
		}
		of := m.arg(1 - k)
		x := m.either(k)
		d := m.result(false)
		m.arith(op, d, of, x)
		if c == Nought && op == maxOp {
			m.arith(addOp, d, d, register(of))
		}
		return
	}
	x, y := m.arg(0), m.arg(1)
	z, same := m.scratch(), m.scratch()
	m.arith(op, z, x, register(y))
	m.bits(join, same, x, register(y))
	m.choose(z, m.compare(x, isEqual, register(y)), register(same), z)
	k := m.compare(x, isUnordered, register(x))
	m.choose(m.result(false), k, register(x), z)
}

// round writes a rounding to a whole number.
func (m *maker) round(mode int) {
	a := m.arg(0)
	if m.width == one {
		m.vector(opcode{m0F3A, p66, 0x0b, 0}, one, m.result(false), a, register(a), 0, false, 8|mode)
	} else {
		o := m.packed(m0F3A, 0x09)
		if m.single {
			o.op--
		}
		m.vector(o, m.width, m.result(false), 0, register(a), 0, false, 8|mode)
	}
}
