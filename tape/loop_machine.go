package tape

import (
	"slices"

	"nabla/kernels"
)

// A knot that runs often enough becomes machine code: operations on numbers in registers,
// where the interpreter writes and reads memory for each, and finds out what it is. What
// such code cannot do in a step, an index that is out of range or a function of an unusual
// argument, the interpreter does instead.

// What machine code costs and saves, in nanoseconds: the making of a piece and of each
// operation in it, and each operation in a step. In a knot it saves the interpreter, on
// columns no more than calls and memory that is near. So knots of 4 operations pay from
// 2850 steps on, of 20 from 850, of 70 from 500; on columns 2 from 43,000, 50 from 4400.
const (
	pieceCosts  = 20e3
	lineCosts   = 700
	knotSaves   = 2
	columnSaves = 0.25
)

// impatience is what the costs of machine code are multiplied with; tests change it.
var impatience = 1.0

// worthMaking reports whether machine code of so many operations pays for so many steps.
func worthMaking(operations, steps int, saves float64) bool {
	n := float64(operations)
	return n*float64(steps)*saves >= impatience*(pieceCosts+n*lineCosts)
}

// hastened is the code with all machine code that pays for so many steps: of knots, and of
// operations on columns that follow one another.
func (c *loopCode) hastened(steps int) *loopCode {
	if !worthMaking(c.ops, steps, knotSaves) {
		return c
	}
	fast := *c
	fast.stages = make([]loopStage, 0, len(c.stages))
	read := c.reads()
	before := map[int32]bool{} // columns that stages of the piece leave to the next step
	for from, to := 0, 0; from < len(c.stages); from = to {
		clear(before)
		for to = from; to < len(c.stages) && c.joins(from, to, before); to++ {
			before[c.stages[to].dst-int32(c.stages[to].size)] = true
		}
		if n := to - from; n > 1 && worthMaking(n, steps, columnSaves) {
			if s, ok := c.fuse(from, to, read); ok {
				fast.stages = append(fast.stages, s)
				continue
			}
		}
		to = max(to, from+1)
		fast.stages = append(fast.stages, c.stages[from:to]...)
		if s := &fast.stages[len(fast.stages)-1]; s.knot != nil && worthMaking(len(s.knot), steps, knotSaves) {
			s.machine = c.machine(from, read)
		}
	}
	return &fast
}

// joins reports whether stage i can be one piece of code with those from from on. What a
// step leaves to the next one, in columns of before, is not there in the same vector.
func (c *loopCode) joins(from, i int, before map[int32]bool) bool {
	s := &c.stages[i]
	if s.knot != nil || s.load != nil || s.general != nil || s.twin != nil || s.size != c.stages[from].size || s.op.does() == kernels.DoNothing {
		return false
	}
	for k := range s.op.arity() {
		if before[s.arg[k]] {
			return false
		}
	}
	return true
}

// fuse makes one stage of those between from and to.
func (c *loopCode) fuse(from, to int, read columnReads) (loopStage, bool) {
	first := c.stages[from].arg[0]
	lines := make([]kernels.Line, 0, to-from)
	for _, s := range c.stages[from:to] {
		l := kernels.Line{Do: s.op.does(), Dst: s.dst - first, Keep: read.outside(s.dst, from, to)}
		for k := range s.op.arity() {
			l.Arg[k] = s.arg[k] - first
		}
		lines = append(lines, l)
	}
	m, call := kernels.Fuse(lines, 1, func(int32) kernels.Column { return kernels.InLine })
	return loopStage{machine: m, calls: []kernels.Call{call}, dst: first, size: c.stages[from].size}, m != nil
}

// machine is the machine code of stage at, a knot, or nil where there is none.
func (c *loopCode) machine(at int, read columnReads) *kernels.Machine {
	s := &c.stages[at]
	if len(s.knot) == 1 && s.knot[0].kind == loopAdd {
		return nil // accumulate
	}
	lines := make([]kernels.Line, len(s.knot))
	for i := range s.knot {
		o := &s.knot[i]
		l := &lines[i]
		*l = kernels.Line{Do: o.does(), Dst: o.dst, Arg: [3]int32{o.a, o.b, o.c}, Array: o.array, Keep: read.outside(o.dst, at, at+1)}
		if l.Do == kernels.DoNothing {
			l.Do, l.Leaf = o.leaf()
		}
		if l.Do == kernels.DoNothing {
			return nil
		}
	}
	return kernels.MakeSteps(lines)
}

// does is what an operation of a knot does in machine code.
func (o *loopOp) does() kernels.Do {
	switch o.kind {
	case loopLoad:
		return kernels.DoLoad
	case loopTensor:
		return kernels.DoNothing
	}
	return o.op.does()
}

// leaf is the operation as a function that machine code can call.
func (o *loopOp) leaf() (kernels.Do, kernels.Leaf) {
	var f kernels.Leaf
	var ok bool
	switch {
	case o.f1 != nil:
		f, ok = kernels.LeafOf(o.f1, 1)
	case o.f2 != nil:
		f, ok = kernels.LeafOf(o.f2, 2)
	case o.f3 != nil:
		f, ok = kernels.LeafOf(o.f3, 3)
	}
	if !ok {
		return kernels.DoNothing, f
	}
	return kernels.DoLeaf, f
}

// does is what an elementwise operation does in machine code.
func (op *Op) does() kernels.Do {
	switch {
	case op.k1 != nil:
		return kernels.DoOf(op.k1)
	case op.k2 != nil:
		return kernels.DoOf(op.k2)
	case op.k3 != nil:
		return kernels.DoOf(op.k3)
	}
	return kernels.DoNothing
}

// A columnReads tells which columns are read, and by whom: the stages that do so first
// and last. Who asked for the loop, and the steps of the next batch, come after all stages.
type columnReads map[int32]struct{ first, last int }

// reads finds from which stage to which each column is read.
func (c *loopCode) reads() columnReads {
	read := columnReads{}
	add := func(stage int, cols ...int32) {
		for _, col := range cols {
			r, ok := read[col]
			if !ok {
				r.first = stage
			}
			r.last = stage // stages come in order
			read[col] = r
		}
	}
	for i := range c.stages {
		s := &c.stages[i]
		for k := range s.knot {
			o := &s.knot[k]
			add(i, o.a, o.b, o.c)
			if o.stage != nil {
				add(i, o.stage.reads()...)
			}
		}
		if s.knot == nil {
			add(i, s.reads()...)
		}
	}
	end := len(c.stages)
	for _, ps := range c.adds {
		for _, p := range ps {
			add(end, p.value, p.at)
		}
	}
	for _, p := range slices.Concat(c.next, c.outs) {
		add(end, p.col)
	}
	add(end, c.extra...)
	return read
}

// outside reports whether others read a column than the stages from from to to-1.
func (read columnReads) outside(col int32, from, to int) bool {
	r, ok := read[col]
	return ok && (r.first < from || r.last >= to)
}

// reads are the columns that a stage reads, and maybe others.
func (s *loopStage) reads() []int32 {
	cols := s.arg[:]
	if s.general != nil {
		cols = s.general.args
	}
	if s.load != nil {
		cols = append(cols[:len(cols):len(cols)], s.load.at)
	}
	return cols
}
