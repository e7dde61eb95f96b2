//go:build !purego && (linux || darwin)

package kernels

import "math"

// A maker writes the machine code of lines. Values live in registers while there are any;
// the one whose next reader is farthest gives way (Belady, A study of replacement
// algorithms, 1966), into the column that it belongs to.
type maker struct {
	code
	width  length
	lines  []Line
	values []value
	args   [][3]int32 // of lines, as values
	made   []int32    // the values of lines

	in     [32]int32 // what a register holds: a value, or free, or taken
	locked uint32    // registers that the line being written uses
	now    int       // that line
	zero   int8      // holds 0,
	zeroed bool      // from some place on
	tail   int8      // on AVX2 the lanes of a shorter vector
	masks  int8      // mask registers in use
	place  func(p int32) operand
	column func(p int32) Column
	masked bool // the last, shorter vector
	single bool // numbers are float32, twice as many of them a vector
	half   *half
	aux    int8 // between float32 and float64
	quick  *quick
	carry  []carried
	odd    int // the label of where code goes that cannot do a step
	calls  int // how many registers leaves may change
}

// A value is a column as the lines find it, or what a line makes of it.
type value struct {
	place int32
	line  int // that makes it; -1: none does
	uses  []int
	next  int // the first of uses that is to come
	reg   int8
	saved bool // it is in its column
	fixed bool // it stays in its register
}

const (
	free  = -1
	taken = -2
)

// A carried is a value that a step leaves to the next one, in a register of its own.
type carried struct {
	before int32 // the value as the step finds it
	after  int32 // as it leaves it
	reg    int8
}

// number makes values of columns.
func (m *maker) number(lines []Line) {
	m.lines = lines
	m.values = make([]value, 0, 2*len(lines))
	last := make(map[int32]int32, 2*len(lines))
	find := func(p int32) int32 {
		v, ok := last[p]
		if !ok {
			v = int32(len(m.values))
			m.values = append(m.values, value{place: p, line: -1})
			last[p] = v
		}
		return v
	}
	m.args, m.made = make([][3]int32, len(lines)), make([]int32, len(lines))
	for i := range lines {
		l := &lines[i]
		for k := range l.args() {
			v := find(l.Arg[k])
			m.args[i][k] = v
			if u := m.values[v].uses; len(u) == 0 || u[len(u)-1] != i {
				m.values[v].uses = append(u, i)
			}
		}
		m.made[i] = int32(len(m.values))
		m.values = append(m.values, value{place: l.Dst, line: i})
		last[l.Dst] = m.made[i]
	}
}

// begin forgets what registers hold, before lines are written.
func (m *maker) begin() {
	for r := range m.in {
		m.in[r] = taken
	}
	for r := range m.width.registers() {
		m.in[r] = free
	}
	for i := range m.values {
		v := &m.values[i]
		v.next, v.reg, v.saved = 0, -1, v.line < 0
	}
	m.zero, m.zeroed, m.locked = m.take(), false, 0
}

// take reserves the last free register.
func (m *maker) take() int8 {
	for r := m.width.registers() - 1; ; r-- {
		if m.in[r] == free {
			m.in[r] = taken
			return r
		}
	}
}

// alloc gives a register to v, or to nobody where v is negative; the line keeps it.
func (m *maker) alloc(v int32) int8 {
	best, far := int8(-1), -1
	for i := range m.width.registers() {
		r := (i + int8(m.calls)) % m.width.registers() // those first that calls leave alone
		switch w := m.in[r]; {
		case m.locked>>r&1 != 0 || w == taken:
		case w == free && far < 1<<30:
			best, far = r, 1<<30
		case w >= 0 && !m.values[w].fixed && m.values[w].until() > far:
			best, far = r, m.values[w].until()
		}
	}
	if w := m.in[best]; w >= 0 {
		m.save(w)
		m.values[w].reg = -1
	}
	m.in[best] = v
	if v >= 0 {
		m.values[v].reg = best
	} else {
		m.in[best] = free
	}
	m.locked |= 1 << best
	return best
}

// until is the line that reads v next.
func (v *value) until() int {
	if v.next == len(v.uses) {
		return 1 << 29
	}
	return v.uses[v.next]
}

// save writes v to its column, unless it is there.
func (m *maker) save(v int32) {
	if w := &m.values[v]; !w.saved {
		if m.quick != nil {
			m.quick.failed = true
		}
		was := m.single
		m.single = was || m.half != nil
		switch at, aside := m.place(w.place), w.line >= 0 && m.lines[w.line].Aside && !m.masked; {
		case at.wide:
			m.storeWide(at, w.reg, aside)
		case aside:
			m.vector(m.packed(m0F, 0x2b), m.width, w.reg, 0, at, 0, false, -1) // VMOVNTPD
		default:
			m.storeAt(at, w.reg)
		}
		m.single, w.saved = was, true
	}
}

func (m *maker) storeAt(at operand, r int8) {
	switch {
	case m.width == one:
		m.vector(opcode{m0F, pF2, 0x11, 0}, one, r, 0, at, 0, false, -1)
	case m.masked && m.width == four:
		m.vector(m.moved(0x2f), four, r, m.tail, at, 0, false, -1)
	default:
		k := byte(0)
		if m.masked {
			k = 7
		}
		m.vector(m.packed(m0F, 0x11), m.width, r, 0, at, k, false, -1)
	}
}

func (m *maker) load(r int8, at operand) {
	switch {
	case m.width == one:
		m.vector(opcode{m0F, pF2, 0x10, 0}, one, r, 0, at, 0, false, -1)
	case at.wide && m.single:
		m.loadWide(r, at)
	case at.same && m.single: // VBROADCASTSS
		m.vector(opcode{m0F38, p66, 0x18, 0}, m.width, r, 0, at, 0, false, -1)
	case at.same: // VBROADCASTSD
		m.vector(opcode{m0F38, p66, 0x19, byte(m.width) >> 1}, m.width, r, 0, at, 0, false, -1)
	case m.masked && m.width == four && at.base != inPool:
		m.vector(m.moved(0x2d), four, r, m.tail, at, 0, false, -1)
	default:
		k := byte(0)
		if m.masked && at.base != inPool {
			k = 7
		}
		m.vector(m.packed(m0F, 0x10), m.width, r, 0, at, k, k != 0, -1)
	}
}

// arg is the register of argument k of the line.
func (m *maker) arg(k int) int8 {
	if m.half != nil {
		return m.half.args[k]
	}
	i := m.args[m.now][k]
	v := &m.values[i]
	if v.reg < 0 {
		m.load(m.alloc(i), m.place(v.place))
	}
	m.locked |= 1 << v.reg
	return v.reg
}

// either is argument k where an instruction can read it: in memory if nobody needs it
// in a register, and nothing that comes before the instruction moves what points there.
func (m *maker) either(k int) operand {
	if m.half != nil {
		return register(m.half.args[k])
	}
	v := &m.values[m.args[m.now][k]]
	if v.reg < 0 && !m.masked && v.uses[len(v.uses)-1] == m.now {
		if at := m.place(v.place); at.base != r15 && !at.same && !at.wide {
			return at
		}
	}
	return register(m.arg(k))
}

// result is a register for what the line makes; one of an argument that nobody reads
// later where early is false, so the line's last instruction writes it.
func (m *maker) result(early bool) int8 {
	if m.half != nil {
		return m.half.result
	}
	if !early {
		m.release()
	}
	r := m.alloc(m.made[m.now])
	return r
}

// release gives the registers of arguments back that nobody reads later.
func (m *maker) release() {
	for k := range m.lines[m.now].args() {
		v := &m.values[m.args[m.now][k]]
		if v.reg >= 0 && !v.fixed && v.uses[len(v.uses)-1] <= m.now {
			m.in[v.reg] = free
			m.locked &^= 1 << v.reg
			v.reg = -1
		}
	}
}

// scratch is a register for the line alone.
func (m *maker) scratch() int8 { return m.alloc(-1) }

// body writes all lines.
func (m *maker) body() {
	for i := range m.lines {
		m.now, m.locked = i, 0
		l := &m.lines[i]
		if m.quick == nil || !m.quick.do(m, l) {
			m.do(l)
		}
		m.release()
		for k := range l.args() {
			v := &m.values[m.args[i][k]]
			for v.next < len(v.uses) && v.uses[v.next] <= i {
				v.next++
			}
		}
		v := &m.values[m.made[i]]
		if l.Keep && m.quick == nil {
			m.save(m.made[i])
		}
		if len(v.uses) == 0 && v.reg >= 0 {
			m.in[v.reg] = free
			v.reg = -1
		}
	}
}

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
	andOp, orOp, xorOp                       = 0x54, 0x56, 0x57
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
		kand := m.masking(0x41) // KANDB
		if op == orOp {
			kand.op = 0x45 // KORB
		}
		m.vector(kand, four, int8(x), int8(x), register(int8(y)), 0, false, -1)
	} else {
		m.bits(op, int8(x), int8(x), register(int8(y)))
	}
	return x
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
	if m.single && m.doubled(l) {
		m.halves(l)
		return
	}
	switch l.Do {
	case DoCopy:
		a := m.arg(0)
		m.move(m.result(true), a)
	case DoNeg:
		a := m.arg(0)
		m.bits(xorOp, m.result(false), a, m.pattern(signMask))
	case DoAbs:
		a := m.arg(0)
		m.bits(andOp, m.result(false), a, m.pattern(restMask))
	case DoSign:
		a, c, t := m.arg(0), m.scratch(), m.scratch()
		m.load(c, m.pattern(unitBits))
		m.choose(t, m.compare(a, isMore, register(m.nothing())), register(c), a)
		k := m.compare(a, isLess, register(m.nothing()))
		m.load(c, m.pattern(minusBits))
		m.choose(m.result(false), k, register(c), t)
	case DoSqrt:
		a := m.arg(0)
		src := int8(0)
		if m.width == one {
			src = a
		}
		m.arith(0x51, m.result(false), src, register(a))
	case DoRecip:
		c := m.scratch()
		m.load(c, m.pattern(unitBits))
		rm := m.either(0)
		m.arith(divOp, m.result(false), c, rm)
	case DoLogSlope, DoLog1pSlope:
		a, c, t := m.arg(0), m.scratch(), m.scratch()
		m.load(c, m.pattern(unitBits))
		if l.Do == DoLog1pSlope {
			m.arith(addOp, t, c, register(a))
			a = t
		}
		k := m.compare(a, isLess, register(m.nothing()))
		m.arith(addOp, t, a, register(m.nothing()))
		m.arith(divOp, t, c, register(t))
		m.load(c, m.pattern(nanBits))
		m.choose(m.result(false), k, register(c), t)
	case DoSquare:
		a := m.arg(0)
		m.arith(mulOp, m.result(false), a, register(a))
	case DoFloor:
		m.round(1)
	case DoCeil:
		m.round(2)
	case DoTrunc:
		m.round(3)
	case DoRound:
		m.round(0)
	case DoFloat32:
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
	case DoNot:
		m.truth(m.compare(m.arg(0), isEqual, register(m.nothing())))
	case DoIsNaN:
		a := m.arg(0)
		m.truth(m.compare(a, isUnordered, register(a)))
	case DoIsInf, DoIsFinite:
		a, t := m.arg(0), m.scratch()
		m.bits(andOp, t, a, m.pattern(restMask))
		how := isEqual
		if l.Do == DoIsFinite {
			how = isLess
		}
		m.truth(m.compare(t, how, m.pattern(infBits)))
	case DoAdd:
		m.two(addOp)
	case DoSub:
		m.two(subOp)
	case DoMul:
		m.two(mulOp)
	case DoDiv:
		m.two(divOp)
	case DoZMul:
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
	case DoMaximum:
		m.extreme(maxOp, andOp)
	case DoMinimum:
		m.extreme(minOp, orOp)
	case DoLt, DoLe, DoGt, DoGe, DoEq, DoNe:
		a := m.arg(0)
		how := [...]int{isLess, isAtMost, isMore, isAtLeast, isEqual, isNotEqual}[l.Do-DoLt]
		m.truth(m.compare(a, how, m.either(1)))
	case DoAnd:
		m.truth(m.both(andOp, m.arg(0), m.arg(1)))
	case DoOr:
		m.truth(m.both(orOp, m.arg(0), m.arg(1)))
	case DoFMA:
		a, b, c := m.arg(0), m.arg(1), m.arg(2)
		d := m.result(true)
		m.move(d, c)
		op := byte(0xb8)
		if m.width == one {
			op = 0xb9
		}
		m.vector(m.packed(m0F38, op), m.width, d, a, register(b), 0, false, -1)
	case DoWhere:
		c, x, y := m.arg(0), m.arg(1), m.arg(2)
		k := m.compare(c, isNotEqual, register(m.nothing()))
		m.choose(m.result(false), k, register(x), y)
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
// second of two zeros, and where one is NaN.
func (m *maker) extreme(op, join byte) {
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
