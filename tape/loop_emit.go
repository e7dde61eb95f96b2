package tape

import (
	"cmp"
	"slices"
)

// What code waits for, and where: nodes that lead back to themselves are a knot, everything
// else is a stage of its own, and every node that is wanted gets a column.

// emit puts the nodes that are needed in order, and gives them columns.
func (m *loopMaker) emit(extra []Ref) {
	c := m.code
	m.putLoads()
	roots := m.roots(extra)
	if m.apart {
		for _, r := range roots {
			m.visit(r)
		}
	} else {
		m.together(roots)
	}
	all := slices.Clone(m.stages)
	c.stages = make([]*loopStage, len(all))
	for i := range all {
		c.stages[i] = &all[i]
	}
	m.columns()
	m.placeStages()
	m.placeResults(extra)
	for i := range c.adds {
		c.apart = append(c.apart, m.placeAdds(c.adds[i]))
	}
}

// putLoads describes what loads take: those whose element moves with the index wait for
// nothing, unless everything is to run step by step.
func (m *loopMaker) putLoads() {
	for i := range m.nodes {
		n := &m.nodes[i]
		n.seen, n.col = -1, -1
		if n.kind == nodeLoad {
			if n.put.affine = n.put.affine && m.apart; n.put.affine {
				n.n = 0
			}
		}
	}
}

// roots are the nodes that something outside of a step wants; what is added to sums is
// described.
func (m *loopMaker) roots(extra []Ref) []int32 {
	l, c := m.l, m.code
	roots := slices.Clone(m.state)
	for _, r := range slices.Concat(l.outs, extra) {
		roots = append(roots, m.of(r)...)
	}
	c.adds = make([][]loopPut, len(l.sums))
	for _, a := range l.adds {
		s, wide := l.sums[a.sum].shape, m.wide(a.value)
		for e, k := range m.of(a.value) {
			p := m.put(a.sum, s[0], a.at, s[1:].Size(), e*wide, wide)
			p.value = k
			if roots = append(roots, p.value); !p.affine && !p.fixed {
				roots = append(roots, p.at)
			}
			c.adds[a.sum] = append(c.adds[a.sum], p)
		}
	}
	return roots
}

// columns gives every node its column, and lists those that come from outside.
func (m *loopMaker) columns() {
	l, c := m.l, m.code
	total := 1
	for i := range m.nodes {
		if n := &m.nodes[i]; n.done && n.kind != nodeCarry {
			total += n.size
		}
	}
	lanes := l.width()
	c.batch = min(max(loopColumns/(total*lanes)&^7, min(64, mostColumns/(total*lanes)), 1), tileSize, max(l.n, 1))
	for i := range m.nodes {
		if n := &m.nodes[i]; n.done && n.kind != nodeCarry {
			c.size += wholeLines(n.size) // the step before, and room between columns
			n.col = int32(c.size)
			c.size += c.batch * n.size
		}
	}
	c.index = -1
	for i := range m.nodes {
		n := &m.nodes[i]
		if !n.done {
			continue
		}
		switch n.kind {
		case nodeCarry:
			n.col = m.nodes[m.state[n.i]].col - int32(n.size)
		case nodeStill:
			c.still = append(c.still, n.i)
		case nodeNumber:
			c.numbers = append(c.numbers, filled{n.col, n.num})
		case nodeConst:
			c.consts = append(c.consts, n.place(l.body.size(l.consts[n.i])))
		case nodeFixed:
			c.fixed = append(c.fixed, fixedLoad{n.col, int(n.i), int(n.e), n.size})
		case nodeColumn:
			c.columns = append(c.columns, n.place(l.body.size(l.columns[n.i])))
		case nodeIndex:
			c.index = n.col
		}
	}
}

// col turns a node into its column.
func (m *loopMaker) col(k *int32) { *k = m.nodes[*k].col }

// placeStages tells the stages their columns.
func (m *loopMaker) placeStages() {
	c := m.code
	for _, s := range c.stages {
		if s.knot == nil {
			m.placeStage(s)
			continue
		}
		for k := range s.knot {
			o := &s.knot[k]
			if o.stage != nil {
				m.placeStage(o.stage)
				continue
			}
			n := &m.nodes[o.dst]
			m.col(&o.dst)
			for j, p := range []*int32{&o.a, &o.b, &o.c}[:n.n] {
				*p = m.nodes[n.arg[j]].col
			}
			c.ops++
		}
	}
}

// placeStage gives a stage the columns of what it writes and reads.
func (m *loopMaker) placeStage(s *loopStage) {
	n := &m.nodes[s.dst]
	m.col(&s.dst)
	if s.twin != nil {
		m.col(&s.alt)
	}
	for k := range n.n {
		s.arg[k] = m.nodes[n.arg[k]].col
	}
	if s.load != nil && !s.load.affine {
		m.col(&s.load.at)
	}
	if s.general != nil {
		for _, a := range n.args {
			s.general.args = append(s.general.args, m.nodes[a].col)
			s.general.sizes = append(s.general.sizes, m.nodes[a].size)
		}
	}
	m.code.ops += n.size
}

// placeResults lists the columns of what leaves the loop.
func (m *loopMaker) placeResults(extra []Ref) {
	l, c := m.l, m.code
	c.next = slices.Clone(m.carry)
	for i, k := range m.state {
		c.next[i].col = m.nodes[k].col
	}
	for i, r := range l.outs {
		wide := m.wide(r)
		for e, k := range m.of(r) {
			c.outs = append(c.outs, loopPlace{col: m.nodes[k].col, of: i, at: e * wide, wide: wide, size: l.body.size(r)})
		}
	}
	for _, r := range extra {
		c.extra = append(c.extra, m.nodes[m.id[r]].col)
	}
}

// placeAdds tells the addends of one sum their columns, and whether they can be added one
// after the other, each for all steps. An element takes what comes to it in the order of
// the steps: first from where the loop comes to it first. Where all go to the same elements in
// every step, those of one element come beside one another.
func (m *loopMaker) placeAdds(ps []loopPut) (apart bool) {
	apart = true
	fixed := 0
	for k := range ps {
		m.col(&ps[k].value)
		switch {
		case ps[k].fixed:
			fixed++
		case !ps[k].affine:
			m.col(&ps[k].at)
			apart = false
		}
	}
	if fixed == len(ps) {
		for k := range ps {
			p := &ps[k]
			p.off, p.from = p.off+p.from/p.row, p.from%p.row
		}
		slices.SortStableFunc(ps, func(a, b loopPut) int { return cmp.Or(a.off-b.off, a.from-b.from) })
		for k := 1; k < len(ps); k++ { // the same elements, or others
			a, b := &ps[k-1], &ps[k]
			apart = apart && (a.off == b.off && a.from == b.from && a.wide == b.wide || a.off*a.row+a.from+a.wide <= b.off*b.row+b.from)
		}
		return apart
	}
	if !apart || fixed > 0 {
		return false
	}
	forward := m.l.by > 0 != m.l.back
	slices.SortStableFunc(ps, func(a, b loopPut) int {
		if forward {
			return b.off - a.off
		}
		return a.off - b.off
	})
	return true
}

// place is the column of a constant or a column of so many numbers.
func (n *loopNode) place(size int) loopPlace {
	return loopPlace{col: n.col, of: int(n.i), at: int(n.e), wide: n.size, size: size}
}

// loopColumns is how many numbers the columns of a loop have together, so that they
// stay near; but as many as 64 steps at a time are worth more than that, if they stay in L2.
const (
	loopColumns = 6 << 10
	mostColumns = 1 << 17
)

// deps are the nodes that node k waits for.
func (m *loopMaker) deps(k int32) []int32 {
	n := &m.nodes[k]
	if n.kind == nodeCarry {
		return m.state[n.i : n.i+1]
	}
	if n.args != nil {
		return n.args
	}
	return n.arg[:n.n]
}

// visit is Tarjan's search for strongly connected components, which come out after
// those that they depend on.
func (m *loopMaker) visit(k int32) {
	if m.nodes[k].seen >= 0 {
		return
	}
	m.nodes[k].seen, m.nodes[k].low, m.nodes[k].on = m.tick, m.tick, true
	m.tick++
	m.stack = append(m.stack, k)
	for _, a := range m.deps(k) {
		if m.nodes[a].seen < 0 {
			m.visit(a)
			m.nodes[k].low = min(m.nodes[k].low, m.nodes[a].low)
		} else if m.nodes[a].on {
			m.nodes[k].low = min(m.nodes[k].low, m.nodes[a].seen)
		}
	}
	if m.nodes[k].low != m.nodes[k].seen {
		return
	}
	at := len(m.stack) - 1
	for m.stack[at] != k { // from the top: a long body has a deep stack
		at--
	}
	group := m.stack[at:]
	for _, g := range group {
		m.nodes[g].on = false
	}
	if m.stack = m.stack[:at]; len(group) > 1 {
		m.knot(slices.Clone(group))
	} else if !m.nodes[k].done {
		m.nodes[k].done = true
		m.column(k)
	}
}

// column emits one operation on columns.
func (m *loopMaker) column(k int32) {
	n := &m.nodes[k]
	if n.kind != nodeOp && n.kind != nodeLoad {
		return
	}
	s := m.stage(k)
	if n.kind == nodeOp && n.flat && n.size == 1 && n.op.Twin.both != nil {
		w := &n.op.Twin
		other, _ := m.find(loopKey{op: table.find(w.with), arg: n.arg})
		if other >= 0 && m.nodes[other].seen < 0 {
			m.nodes[other].seen, m.nodes[other].done = m.tick, true
			s.twin, s.alt = *w.both, other
			if !w.first {
				s.dst, s.alt = other, k
			}
		}
	}
	m.stages = append(m.stages, s)
}

// stage is node k as an operation on columns.
func (m *loopMaker) stage(k int32) loopStage {
	n := &m.nodes[k]
	s := loopStage{op: n.op, dst: k, size: n.size}
	switch {
	case n.kind == nodeLoad:
		p := n.put
		s.load = &p
	case !n.flat:
		t := m.l.body
		s.general = &loopGeneral{r: n.ref, at: m.code.generals, near: n.op.elementwise()}
		m.code.generals++
		for _, a := range t.Args(n.ref) {
			s.general.near = s.general.near && (t.ins[a].shape == t.ins[n.ref].shape || t.size(a) == 1)
		}
	}
	return s
}

// knot emits operations that run step by step, in the order of the body.
func (m *loopMaker) knot(group []int32) {
	slices.Sort(group)
	ops := make([]loopOp, 0, len(group))
	for _, k := range group {
		n := &m.nodes[k]
		n.done = true
		switch {
		case n.kind == nodeOp && (!n.flat || n.size > 1), n.kind == nodeLoad && n.put.row > 1:
			s := m.stage(k)
			ops = append(ops, loopOp{kind: loopTensor, stage: &s})
		case n.kind == nodeOp:
			ops = append(ops, loopOp{kind: knotKind(n.op, n.n), dst: k, op: n.op, f1: n.op.f1, f2: n.op.f2, f3: n.op.f3})
		case n.kind == nodeLoad:
			ops = append(ops, loopOp{kind: loopLoad, dst: k, array: n.i})
		}
	}
	m.stages = append(m.stages, loopStage{knot: ops})
}

// together makes one knot of everything.
func (m *loopMaker) together(roots []int32) {
	var group []int32
	todo := slices.Clone(roots)
	for len(todo) > 0 {
		k := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if m.nodes[k].on {
			continue
		}
		m.nodes[k].on = true
		group = append(group, k)
		todo = append(todo, m.deps(k)...)
	}
	m.knot(group)
}
