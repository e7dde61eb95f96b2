//go:build !purego && (linux || darwin)

package kernels

import "slices"

// A quick is the other way to write a body: one for vectors where no product of 0 meets a NaN
// or an infinity. There a strong zero product is fma(x, y, 0), which makes +0 of a product that
// is a zero, and the product of all others. Where it is not one of them it is NaN, and what is
// made of it, too, if lines in between let a NaN pass; so it is looked at where that ends. All
// of the lines are done before anything is written, and a vector with a NaN, or where nothing
// may be infinite an infinity, is done once more, by the exact body.
type quick struct {
	watched []bool // by value: looked at
	reg     int8   // NaN where one of them was not finite
	some    bool
	failed  bool // something was written before the end
}

// quickly writes the quick body, which goes to exact where it does not hold. It writes
// nothing, and is false, where that is no use, or there are too few registers.
func (m *maker) quickly(in [32]int32, exact int) bool {
	q := &quick{watched: m.watched()}
	if !slices.Contains(q.watched, true) {
		return false
	}
	text, pool, fixes, marks := len(m.text), len(m.pool), len(m.fixes), len(m.marks)
	uses := make([]int, len(m.values))
	for i := range m.values {
		uses[i] = len(m.values[i].uses)
	}
	for i := range m.lines {
		if l := &m.lines[i]; l.Do == DoSum {
			m.lasts(m.args[i][0])
		} else if l.Keep {
			m.lasts(m.made[i])
		}
	}
	m.again(in)
	q.reg = m.take()
	m.quick = q
	m.body()
	m.locked, m.masks = 0, 0
	if m.width == eight {
		k := m.compare(q.reg, isUnordered, register(q.reg))
		m.vector(m.masking(0x98), one, int8(k), 0, register(int8(k)), 0, false, -1) // KORTESTB
	} else {
		m.vector(m.packed(m0F, 0xc2), m.width, q.reg, q.reg, register(q.reg), 0, false, isUnordered)
		m.vector(m.packed(m0F, 0x50), m.width, int8(r15), 0, register(q.reg), 0, false, -1) // VMOVMSKPD
		m.general(testBy, r15, register(int8(r15)))
	}
	m.jump(ifNotEqual, exact)
	m.amongLanes(DoSum)
	for i := range m.lines {
		if m.now, m.locked = i, 0; m.lines[i].Do == DoSum {
			m.sum(&m.lines[i])
		}
	}
	m.quick = nil
	for i := range m.lines {
		if m.lines[i].Keep {
			m.save(m.made[i])
		}
	}
	for i := range m.values {
		m.values[i].uses = m.values[i].uses[:uses[i]]
	}
	if q.failed {
		m.text, m.pool, m.fixes, m.marks = m.text[:text], m.pool[:pool], m.fixes[:fixes], m.marks[:marks]
		m.again(in)
	}
	return !q.failed
}

// lasts keeps v in its register to the end of the lines.
func (m *maker) lasts(v int32) { m.values[v].uses = append(m.values[v].uses, len(m.lines)) }

// do writes a line in its quick form, if it has one.
func (q *quick) do(m *maker, l *Line) bool {
	switch l.Do {
	case DoSum: // after all others
	case DoOdd:
		if v := m.args[m.now][0]; m.values[v].line < 0 {
			q.look(m, m.arg(0))
		}
	case DoZMul:
		if m.isDoubled(l) {
			m.halves(l)
		} else {
			m.quickProduct()
		}
	default:
		m.do(l)
	}
	if v := m.made[m.now]; q.watched[v] {
		q.look(m, m.values[v].reg)
	}
	return true
}

// quickProduct writes a strong zero product where it is an ordinary one.
func (m *maker) quickProduct() {
	a, b := m.arg(0), m.arg(1)
	switch {
	case m.ends(0): // VFMADD213PD
		m.vector(m.packed(m0F38, 0xa8), m.width, m.takeOver(0), b, register(m.nothing()), 0, false, -1)
	case m.ends(1):
		m.vector(m.packed(m0F38, 0xa8), m.width, m.takeOver(1), a, register(m.nothing()), 0, false, -1)
	default:
		d := m.result(true)
		m.move(d, m.nothing())
		m.multiplyAdd(added, d, a, register(b))
	}
}

// look makes q.reg NaN where r is not finite.
func (q *quick) look(m *maker, r int8) {
	if q.some {
		m.multiplyAdd(added, q.reg, r, register(m.nothing()))
	} else {
		m.arith(mulOp, q.reg, r, register(m.nothing()))
	}
	q.some = true
}

// watched says which values a quick body looks at: those that have to be finite, and such
// that of every strong zero product one shows whether it is NaN.
func (m *maker) watched() []bool {
	watched, doubtful := make([]bool, len(m.values)), make([]bool, len(m.values))
	for i := range m.lines {
		l := &m.lines[i]
		switch {
		case l.Do == DoOdd:
			watched[m.args[i][0]] = true
		case l.Do == DoZMul:
			doubtful[m.made[i]] = true
		}
		if !l.Do.showsNaN() {
			continue
		}
		for k := range l.args() {
			if doubtful[m.args[i][k]] {
				doubtful[m.made[i]] = true
			}
		}
	}
	shown := slices.Clone(watched)
	for i := len(m.lines) - 1; i >= 0; i-- {
		l, v := &m.lines[i], m.made[i]
		if doubtful[v] && !shown[v] {
			watched[v], shown[v] = true, true
		}
		if !shown[v] || !l.Do.showsNaN() {
			continue
		}
		for k := range l.args() {
			shown[m.args[i][k]] = true
		}
	}
	return watched
}

// showsNaN reports whether the result is NaN wherever an argument is.
func (d Do) showsNaN() bool {
	switch d {
	case DoNot, DoIsNaN, DoIsInf, DoIsFinite, DoLt, DoLe, DoGt, DoGe, DoEq, DoNe, DoAnd, DoOr, DoWhere, DoLoad, DoLeaf, DoSum, DoOdd, DoNear, DoMine:
		return false
	}
	return true
}
