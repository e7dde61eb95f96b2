//go:build !purego && (linux || darwin)

package kernels

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
	truths []bool     // by value: it is a mask; nil: none is
	held   []int8     // by value, with AVX-512: the register of that mask

	in      [32]int32 // what a register holds: a value, or free, or taken
	locked  uint32    // registers that the line being written uses
	now     int       // that line
	zero    int8      // holds 0,
	zeroed  bool      // from some place on
	tail    int8      // on AVX2 the lanes of a shorter vector
	masks   int8      // mask registers in use
	place   func(p int32) operand
	column  func(p int32) Column
	masked  bool // the last, shorter vector
	single  bool // numbers are float32, twice as many of them a vector
	half    *half
	aux     int8 // between float32 and float64
	quick   *quick
	carry   []carried
	pieces  []Piece
	piece   *Piece        // at work, or nil
	meet    []pieceInside // of a vector in which pieces meet; else nil
	hoisted []hoisted
	along   []gp // the pointers that go on by a tile,
	each    []gp // and by a number, from tile to tile
	crowded bool // a value gave way that is read later
	alone   bool // a body is that of one vector,
	from    int  // which begins there
	odd     int  // the label of where code goes that cannot do a step
	calls   int  // how many registers leaves may change
}

// A value is a column as the lines find it, or what a line makes of it.
type value struct {
	place  int32
	line   int // that makes it; -1: none does
	uses   []int
	next   int // the first of uses that is to come
	reg    int8
	saved  bool   // it is in its column
	column Column // of what no line makes
	fixed  bool   // it stays in its register
}

const (
	free  = -1
	taken = -2
)

// A hoisted value stays in a register for all bodies.
type hoisted struct {
	value int
	reg   int8
}

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
			if m.column != nil {
				m.values[v].column = m.column(p)
			}
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
		m.crowded = m.crowded || m.values[w].until() < 1<<29
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
	if m.numberAt(k) == Nought {
		return m.nothing()
	}
	if v.reg < 0 {
		if r := m.alloc(i); m.meet != nil && m.isRead(v.place) {
			m.loadMet(r, v.place)
		} else {
			m.load(r, m.place(v.place))
		}
	}
	m.locked |= 1 << v.reg
	return v.reg
}

// numberAt is the column of argument k if that is a number, else InLine.
func (m *maker) numberAt(k int) Column {
	if m.half != nil {
		return InLine
	}
	if c := m.values[m.args[m.now][k]].column; c.isNumber() {
		return c
	}
	return InLine
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
	return m.alloc(m.made[m.now])
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

// ends reports whether nobody reads argument k later, so that its register may become the result's.
func (m *maker) ends(k int) bool {
	if m.half != nil {
		return false
	}
	v := &m.values[m.args[m.now][k]]
	return v.reg >= 0 && !v.fixed && v.uses[len(v.uses)-1] <= m.now
}

// takeOver makes the register of argument k that of the result.
func (m *maker) takeOver(k int) int8 {
	v, made := &m.values[m.args[m.now][k]], m.made[m.now]
	r := v.reg
	m.in[r], m.values[made].reg, v.reg = made, r, -1
	return r
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
