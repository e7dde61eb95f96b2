package tape

import (
	"fmt"
	"strings"
	"sync"

	"nabla/kernels"
)

// The code of a loop. What a step computes falls into two parts. An operation that its
// own result of the step before leads back to has to wait for it: such operations, one
// knot of carried values at a time, run step by step. Everything else — in the adjoint
// of a loop that is nearly everything — runs many steps at a time, in the kernels that
// work on whole tensors (loop distribution: Allen and Kennedy, Optimizing Compilers for
// Modern Architectures, chapter 2; the knots are strongly connected components).
//
// Small tensors are taken apart into their numbers (loop_split.go). Every value has a
// column of numbers, one for each step of a batch of steps. A carried value is the column
// of what it becomes, one step behind: nothing is moved.

// A loopCode is the code of one loop.
type loopCode struct {
	l      *loop
	batch  int // steps that run at a time
	size   int // numbers in all columns
	stages []*loopStage
	ops    int // of a step

	generals int // operations on tensors that are general

	index   int32       // column of the index; -1: none
	numbers []filled    // constants of the body
	next    []loopPlace // what carried values become
	still   []int32     // which of these never change
	consts  []loopPlace // the loop's constants that are read
	columns []loopPlace // the loop's columns that are read
	fixed   []fixedLoad
	outs    []loopPlace
	adds    [][]loopPut // by sum
	apart   []bool      // by sum: its adds can run one after the other
	extra   []int32
}

// loopCodes is what is made of a loop that is an instruction: its code, when it is first
// wanted, with more machine code the longer the loop has run. Code that is in use never
// changes.
type loopCodes struct {
	mu    sync.Mutex // rows of a batch may run at once
	plain *loopCode
	fast  *loopCode
	steps int // that have begun,
	pays  int // and for how many fast was made

	known, planned bool           // whether the steps are planned
	idle           []*plannedStep // plans of them that nobody uses

	wide []alongKey // loops whose steps take all points of a batch

	inLanes laneCodes
}

// steps is a plan of l's steps that nobody else uses; nil where they have code.
func (l *loop) steps(limit int64) *plannedStep {
	c := l.codes
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isPlanned(l) {
		return nil
	}
	if n := len(c.idle); n > 0 {
		s := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return s
	}
	return l.plan(limit, None)
}

// isPlanned reports whether the steps of l are planned. The lock is its caller's.
func (c *loopCodes) isPlanned(l *loop) bool {
	if !c.known {
		c.known, c.planned = true, l.planned()
	}
	return c.planned
}

// give takes a plan back.
func (c *loopCodes) give(s *plannedStep) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, s)
}

// code is the code for so many steps more.
func (l *loop) code(steps int) *loopCode {
	c := l.codes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plain == nil {
		c.plain = l.compile(true)
		c.fast = c.plain
	}
	return c.after(steps)
}

func codesOf(c *loopCode) *loopCodes { return &loopCodes{plain: c, fast: c} }

// after is the code for so many steps more.
func (c *loopCodes) after(steps int) *loopCode {
	if c.steps += steps; c.steps >= 2*c.pays {
		c.pays = c.steps
		c.fast = c.plain.hastened(c.steps)
	}
	return c.fast
}

type filled struct {
	col int32
	v   []float64
}

// A loopPlace is the column of a value that comes from outside the loop or leaves it, or of
// one number of it: wide numbers in each step, from the at-th on, out of size.
type loopPlace struct {
	col            int32
	of             int // which carried value, constant, column or out
	at, wide, size int
}

// part are the numbers of the place in a value of so many lanes.
func (p *loopPlace) part(v []float64, lanes int) []float64 {
	return v[p.at*lanes : (p.at+p.wide)*lanes]
}

// A loopStage is one operation on columns, or a knot of operations step by step.
type loopStage struct {
	op       *Op
	dst, alt int32 // alt: the column of the twin
	arg      [3]int32
	size     int // of the result
	twin     func(y, d, x []float64)
	load     *loopPut
	knot     []loopOp
	general  *loopGeneral
	machine  *kernels.Machine // of the knot,
	calls    []kernels.Call   // or of several operations on columns; dst is where their table begins
}

// A loopGeneral is an operation on tensors other than elementwise on tensors of one
// shape: it runs as on a tape.
type loopGeneral struct {
	r     Ref
	at    int // how many come before it
	args  []int32
	sizes []int
	near  bool // elementwise, and what is not of the result's shape is one number
}

// A loopPut is an element of an array, or a row of several numbers, or wide numbers of a
// row, at every step: index + off of the loop when affine, off when fixed, else what stands in
// the column at.
type loopPut struct {
	array  int
	row    int
	from   int // the first of the row's numbers
	wide   int
	value  int32
	at     int32
	affine bool
	fixed  bool
	off    int
}

// A fixedLoad is the column of numbers of an array that every step reads.
type fixedLoad struct {
	col             int32
	array, at, wide int
}

// A loopOp is one operation of a knot.
type loopOp struct {
	kind         loopKind
	dst, a, b, c int32
	array        int32
	stage        *loopStage // loopTensor: what runs
	op           *Op        // what f1, f2 or f3 is of
	f1           func(x float64) float64
	f2           func(x, y float64) float64
	f3           func(x, y, z float64) float64
}

type loopKind uint8

const (
	loopCall1 loopKind = iota
	loopCall2
	loopCall3
	loopAdd
	loopSub
	loopMul
	loopZMul
	loopDiv
	loopNeg
	loopSquare
	loopWhere
	loopCopy
	loopLoad
	loopTensor
)

// name is that of the operation.
func (o *loopOp) name() string {
	op := o.op
	if o.stage != nil {
		op = o.stage.op
	}
	if op == nil {
		return "load"
	}
	return op.Name
}

// knotKind says how a knot carries out op, of n arguments: most without a call.
func knotKind(op *Op, n int8) loopKind {
	switch op {
	case opAdd:
		return loopAdd
	case opSub:
		return loopSub
	case opMul:
		return loopMul
	case opZMul:
		return loopZMul
	case opDiv, opQuotient:
		return loopDiv
	case opNeg:
		return loopNeg
	case opSquare:
		return loopSquare
	case opWhere, opChoose, opGate:
		return loopWhere
	case opCopy:
		return loopCopy
	}
	return loopKind(n - 1)
}

// opRound32 and opCopy are what a loop does where a program has no operation.
var (
	opRound32 = &Op{Name: "float32", Args: "x", Kernel: unary(&kernels.Float32, kernels.Float32Of)}
	opCopy    = &Op{Name: "copy", Args: "x", Kernel: unary(&kernels.Copy, kernels.CopyOf)}
)

// String writes the loop for people: its steps, and its code, each stage in brackets.
// What runs step by step begins with a *.
func (l *loop) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%d steps", l.n)
	if l.back {
		b.WriteString(" back")
	}
	if l.planned() {
		return b.String() + "; planned]"
	}
	c := l.compile(true)
	for _, s := range c.stages {
		switch {
		case s.knot != nil:
			b.WriteString("; *")
			for k := range s.knot {
				b.WriteString(" " + s.knot[k].name())
			}
		case s.load != nil:
			b.WriteString("; load")
		case s.twin != nil:
			b.WriteString("; " + s.op.Name + " and " + s.op.Twin.with)
		default:
			b.WriteString("; " + s.op.Name)
		}
	}
	return b.String() + "]"
}
