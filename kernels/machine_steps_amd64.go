//go:build !purego && (linux || darwin)

package kernels

import (
	"runtime"
	"slices"
	"unsafe"
)

// Registers of steps: RBX is where columns begin, R12 the step, counted in the numbers of a column, R14 where steps end,
// and at 8(RSP) stands where arrays are. Leaves leave them alone.

// MakeSteps makes code that does lines step by step: in step i columns are at their
// number plus i. Nil: this machine has no such code, or not for these lines.
func MakeSteps(lines []Line) *Machine {
	if widest() == one {
		return nil
	}
	return madeSteps(lines, one)
}

// MakeLanes is MakeSteps for StepLanes points at once, each with numbers of its own: where MakeSteps has a number, there
// are those of all points side by side. Nil also where lines load.
func MakeLanes(lines []Line) *Machine {
	if widest() == one || slices.ContainsFunc(lines, func(l Line) bool { return l.Do == DoLoad }) {
		return nil
	}
	return madeSteps(lines, widest())
}

// StepLanes is how many points MakeLanes takes at once.
func StepLanes() int {
	if w := widest(); w != one {
		return w.lanes()
	}
	return restLanes
}

func madeSteps(lines []Line, width length) *Machine {
	var room [1]int32
	layout := room[:0]
	if width != one {
		layout = append(layout, -int32(width))
	}
	if x := madeBefore(layout, lines); x != nil {
		return x
	}
	lanes := int32(width.lanes())
	m := &maker{width: width}
	m.place = func(p int32) operand {
		return operand{reg: -1, base: rbx, index: r12, scaled: true, at: 8 * lanes * p}
	}
	m.number(lines)
	for i := range lines {
		m.calls = max(m.calls, lines[i].Leaf.vectors)
	}
	m.begin()
	m.carries()
	m.nothing()
	state := m.in
	loop, end := m.label(), m.label()
	m.odd = m.label()
	m.general(cmpWith, r12, register(int8(r14)))
	m.jump(ifNotLess, end)
	for _, c := range m.carry {
		m.load(c.reg, m.place(m.values[c.before].place))
	}
	for len(m.text)%32 != 0 {
		m.bytes(0x90)
	}
	m.mark(loop)
	m.again(state)
	m.zeroed = m.calls == 0
	for _, c := range m.carry {
		m.values[c.before].reg, m.values[c.before].fixed = c.reg, true
	}
	m.body()
	for _, c := range m.carry {
		if v := &m.values[c.after]; v.reg >= 0 {
			m.move(c.reg, v.reg)
		} else {
			m.load(c.reg, m.place(v.place))
		}
	}
	m.immediate(0, r12, lanes)
	m.general(cmpWith, r12, register(int8(r14)))
	m.jump(ifLess, loop)
	m.mark(end)
	m.mark(m.odd)
	m.ret()
	x := m.finish()
	if x != nil {
		x.lanes = int(lanes)
	}
	return remember(layout, lines, x)
}

// carries finds columns that lines read one step behind and gives registers to some that
// leaves do not change.
func (m *maker) carries() {
	most := min(6, int(m.zero)-m.calls)
	made := map[int32]int32{}
	for _, v := range m.made {
		made[m.values[v].place] = v
	}
	for i := range m.values {
		v := &m.values[i]
		after, ok := made[v.place+1]
		if !ok || v.line >= 0 || len(m.carry) >= most {
			continue
		}
		m.carry = append(m.carry, carried{int32(i), after, m.take()})
		m.values[after].uses = append(m.values[after].uses, len(m.lines)) // the end of the step
	}
}

// element writes a load: number arg of an array, counted from its end if it is negative.
// It leaves what is not an element to Go.
func (m *maker) element(l *Line) {
	a, t := m.arg(0), m.scratch()
	array := memory(rcx, 16*l.Array)
	size := memory(rcx, 16*l.Array+8)
	m.vector(opcode{m0F, pF2, 0x2c, 1}, one, int8(rax), 0, register(a), 0, false, -1) // RAX = int(a)
	m.vector(opcode{m0F, pF2, 0x2a, 1}, one, t, t, register(int8(rax)), 0, false, -1) // float64(RAX)
	m.vector(opcode{m0F, p66, 0x2e, 0}, one, t, 0, register(a), 0, false, -1)         // compare
	m.jump(ifNotEqual, m.odd)
	m.jump(ifParity, m.odd)
	m.general(movFrom, rcx, memory(rsp, 8))
	within := m.label()
	m.general(testBy, rax, register(int8(rax)))
	m.jump(ifNotSign, within)
	m.general(addTo, rax, size)
	m.mark(within)
	m.general(cmpWith, rax, size)
	m.jump(ifNotCarry, m.odd)
	m.general(movFrom, rcx, array)
	d := m.result(false)
	m.vector(opcode{m0F, pF2, 0x10, 0}, one, d, 0, operand{reg: -1, base: rcx, index: rax, scaled: true}, 0, false, -1)
}

// leaf writes a call. Values that are read later leave the registers that it may change.
func (m *maker) leaf(l *Line) {
	if m.width != one {
		m.leaves(l)
		return
	}
	var moves [][2]int8 // to, from
	for k := range l.args() {
		if r := m.arg(k); r != int8(k) {
			moves = append(moves, [2]int8{int8(k), r})
		}
	}
	changed := int8(l.Leaf.vectors)
	m.leave(changed)
	for len(moves) > 0 {
		k := slices.IndexFunc(moves, func(a [2]int8) bool {
			return !slices.ContainsFunc(moves, func(b [2]int8) bool { return b[1] == a[0] })
		})
		if k >= 0 {
			m.move(moves[k][0], moves[k][1])
			moves = slices.Delete(moves, k, k+1)
			continue
		}
		m.move(m.zero, moves[0][0]) // a cycle
		m.zeroed = false
		for i := range moves {
			if moves[i][1] == moves[0][0] {
				moves[i][1] = m.zero
			}
		}
	}
	m.callTo(l.Leaf.code)
	m.jump(ifCarry, m.odd)
	m.lose(changed)
	v := m.made[m.now]
	m.in[0], m.values[v].reg = v, 0
}

// leave saves what is read later and lies in one of the first registers, so many.
func (m *maker) leave(changed int8) {
	for r := range changed {
		if v := m.in[r]; v >= 0 && m.values[v].uses[len(m.values[v].uses)-1] > m.now {
			m.save(v)
		}
	}
}

// lose forgets what was in the first registers.
func (m *maker) lose(changed int8) {
	for r := range changed {
		if v := m.in[r]; v >= 0 {
			m.values[v].reg, m.in[r] = -1, free
		}
	}
	m.zeroed = m.zeroed && m.zero >= changed
	m.locked = 0
}

// leaves writes a call for each lane, by way of the columns of what is read and made.
func (m *maker) leaves(l *Line) {
	for k := range l.args() {
		if v := m.args[m.now][k]; m.values[v].reg >= 0 {
			m.save(v)
		}
	}
	changed := int8(l.Leaf.vectors)
	m.leave(changed)
	for i := range int32(m.width.lanes()) {
		lane := func(v int32) operand {
			at := m.place(m.values[v].place)
			at.at += 8 * i
			return at
		}
		for k := range l.args() { // VMOVSD
			m.vector(opcode{m0F, pF2, 0x10, 0}, one, int8(k), 0, lane(m.args[m.now][k]), 0, false, -1)
		}
		m.callTo(l.Leaf.code)
		m.jump(ifCarry, m.odd)
		m.vector(opcode{m0F, pF2, 0x11, 0}, one, 0, 0, lane(m.made[m.now]), 0, false, -1)
	}
	m.lose(changed)
	m.values[m.made[m.now]].saved = true
}

// Steps does the steps from one to another with the columns in mem, of as many points as it was made for. It returns at which it
// is: where that is not to, a line could not be done, and Go does the step. An array that
// lines load from is where it begins and how many numbers it has.
func (x *Machine) Steps(mem []float64, arrays [][]float64, from, to int) int {
	var table [4]span
	list := table[:0]
	for _, a := range arrays {
		list = append(list, span{unsafe.SliceData(a), len(a)})
	}
	at := runSteps(x.entry, unsafe.SliceData(mem), unsafe.SliceData(list), from*x.lanes, to*x.lanes)
	runtime.KeepAlive(x)
	return at / x.lanes
}

type span struct {
	at *float64
	n  int
}

//go:noescape
func runSteps(entry uintptr, mem *float64, arrays *span, from, to int) int
