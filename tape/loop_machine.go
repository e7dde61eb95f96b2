package tape

import (
	"math"
	"math/bits"
	"sync"

	"nabla/kernels"
)

// A knot that runs often enough becomes machine code: operations on numbers in registers,
// where the interpreter writes and reads memory for each, and finds out what it is. What
// such code cannot do in a step, an index that is out of range or a function of an unusual
// argument, the interpreter does instead.

// What machine code costs and saves, in nanoseconds: the making of a piece and of each
// operation in it, in a process that makes its first, and each operation in a step. In a knot the
// interpreter takes 2 to 4 for one on numbers and 20 for a function, machine code .7 and 6 to 10; on
// columns it saves no more than calls and memory that is near. So knots of 4 operations pay from
// 1140 steps on, of 20 from 340, of 70 from 200; on columns 2 from 43,000, 50 from 4400. A process
// that has made some makes a piece in pieceMade and an operation in lineMade.
const (
	pieceCosts  = 20e3
	lineCosts   = 700
	knotSaves   = 5
	columnSaves = 0.25

	pieceMade = 5e3
	lineMade  = 150
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
	h := hastenings.Get().(*hastening)
	h.begin(c)
	defer func() { h.c = nil; hastenings.Put(h) }()
	fast := *c
	fast.stages = make([]*loopStage, 0, len(c.stages))
	for from, to := 0, 0; from < len(c.stages); from = to {
		for to = from; to < len(c.stages) && h.joins(from, to); to++ {
			s := c.stages[to]
			h.column(s.dst - int32(s.size)).left = int32(from) + 1
		}
		if n := to - from; n > 1 && worthMaking(n, steps*c.lanes(), columnSaves) {
			if s := h.fuse(from, to); s != nil {
				fast.stages = append(fast.stages, s)
				continue
			}
		}
		to = max(to, from+1)
		fast.stages = append(fast.stages, c.stages[from:to]...)
		if s := c.stages[to-1]; s.knot != nil && worthMaking(len(s.knot), steps, knotSaves) {
			if m := h.machine(to - 1); m != nil {
				made := *s
				made.machine, fast.stages[len(fast.stages)-1] = m, &made
			}
		}
	}
	return &fast
}

// A hastening is the search for what of a loop's code becomes machine code. Its lists are kept
// from one to the next.
type hastening struct {
	c       *loopCode
	columns []columnUse // a hash table with open addressing, of a power of two
	turn    int32       // of the uses that are c's: others are none
	lines   []kernels.Line
}

var hastenings = sync.Pool{New: func() any { return new(hastening) }}

// A columnUse tells by which stages a column is read first and last, and from which stage on, counted
// from 1, a piece leaves it to the next step. Who asked for the loop, and the steps of the
// next batch, come after all stages.
type columnUse struct {
	turn, col   int32
	first, last int32
	left        int32
}

// column is what is known of a column.
func (h *hastening) column(col int32) *columnUse {
	const golden = 0x9e3779b9 // 2^32 by the golden ratio
	mask := uint32(len(h.columns) - 1)
	for at := uint32(col) * golden >> 16; ; at++ {
		u := &h.columns[at&mask]
		if u.turn != h.turn {
			*u = columnUse{turn: h.turn, col: col, first: -1, last: -1}
			return u
		}
		if u.col == col {
			return u
		}
	}
}

// begin finds from which stage to which each column of c is read.
func (h *hastening) begin(c *loopCode) {
	h.c = c
	// What stages write, and leave to the next step, and where loads and adds say what is none.
	columns := len(c.numbers) + len(c.consts) + len(c.columns) + len(c.fixed) + 2*len(c.next) + len(c.extra) + 2
	for _, s := range c.stages {
		columns += 4 + 2*len(s.knot)
	}
	for _, ps := range c.adds {
		columns += len(ps)
	}
	if len(h.columns) < 2*columns || h.turn == math.MaxInt32 {
		h.columns, h.turn = make([]columnUse, 512<<bits.Len(uint(columns/256))), 0
	}
	h.turn++
	for i, s := range c.stages {
		for k := range s.knot {
			o := &s.knot[k]
			h.reads(i, o.a, o.b, o.c)
			if o.stage != nil {
				h.reads(i, o.stage.reads()...)
			}
		}
		if s.knot == nil {
			h.reads(i, s.reads()...)
		}
	}
	end := len(c.stages)
	for _, ps := range c.adds {
		for _, p := range ps {
			h.reads(end, p.value, p.at)
		}
	}
	for _, p := range c.next {
		h.reads(end, p.col)
	}
	for _, p := range c.outs {
		h.reads(end, p.col)
	}
	h.reads(end, c.extra...)
}

// reads notes that a stage reads columns, and maybe others that are none. Stages come in order.
func (h *hastening) reads(stage int, cols ...int32) {
	for _, col := range cols {
		if col < 0 {
			continue
		}
		u := h.column(col)
		if u.first < 0 {
			u.first = int32(stage)
		}
		u.last = int32(stage)
	}
}

// outside reports whether others read a column than the stages from from to to-1.
func (h *hastening) outside(col int32, from, to int) bool {
	u := h.column(col)
	return u.first >= 0 && (int(u.first) < from || int(u.last) >= to)
}

// joins reports whether stage i can be one piece of code with those from from on. What a
// step leaves to the next one, in columns of the piece, is not there in the same vector.
func (h *hastening) joins(from, i int) bool {
	s := h.c.stages[i]
	if s.knot != nil || s.load != nil || s.general != nil || s.twin != nil || s.size != h.c.stages[from].size || s.op.does() == kernels.DoNothing {
		return false
	}
	for k := range s.op.arity() {
		if h.column(s.arg[k]).left == int32(from)+1 {
			return false
		}
	}
	return true
}

// listed is room for n lines.
func (h *hastening) listed(n int) []kernels.Line {
	h.lines = grown(h.lines, n)
	clear(h.lines)
	return h.lines
}

// fuse makes one stage of those between from and to, or nil where there is no such machine code.
func (h *hastening) fuse(from, to int) *loopStage {
	first := h.c.stages[from].arg[0]
	lines := h.listed(to - from)
	for i, s := range h.c.stages[from:to] {
		l := &lines[i]
		l.Do, l.Dst, l.Keep = s.op.does(), s.dst-first, h.outside(s.dst, from, to)
		for k := range s.op.arity() {
			l.Arg[k] = s.arg[k] - first
		}
	}
	m, call := kernels.Fuse(lines, h.c.lanes(), func(int32) kernels.Column { return kernels.InLine })
	if m == nil {
		return nil
	}
	return &loopStage{machine: m, calls: []kernels.Call{call}, dst: first, size: h.c.stages[from].size}
}

// machine is the machine code of stage at, a knot, or nil where there is none.
func (h *hastening) machine(at int) *kernels.Machine {
	s := h.c.stages[at]
	lanes := h.c.lanes()
	if len(s.knot) == 1 && s.knot[0].kind == loopAdd && lanes == 1 {
		return nil // accumulate
	}
	lines := h.listed(len(s.knot))
	for i := range s.knot {
		o := &s.knot[i]
		l := &lines[i]
		*l = kernels.Line{Do: o.does(), Dst: o.dst, Arg: [3]int32{o.a, o.b, o.c}, Array: o.array, Keep: h.outside(o.dst, at, at+1)}
		if l.Do == kernels.DoNothing {
			l.Do, l.Leaf = o.leaf()
		}
		if l.Do == kernels.DoNothing {
			return nil
		}
	}
	if lanes > 1 {
		return kernels.MakeLanes(lines)
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
