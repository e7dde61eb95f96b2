package tape

import "nabla/tape/tensor"

// A loop of many steps is one instruction. Its body is recorded once (loop_roll.go), on a tape
// of its own, with placeholders for what changes from step to step, and memory grows by the
// carried values alone. Over numbers and small tensors its code (loop_code.go) runs at a few
// nanoseconds an operation; where values are larger each step is the run of one plan
// (loop_planned.go).
//
// The adjoint of a loop is a loop (loop_grad.go): it runs backwards, reads the carried
// values that the forward loop kept, computes the body again and then the body's VJP.
// So derivatives of every order stay loops. Where they would keep much, a loop is recorded as
// several, one behind the other, of which the way back runs each again and keeps what it
// carries until it has gone back through that one: through 1e5 steps over 1000 numbers memory
// fell from 776 to 50 MB, and time, with it, from 2.8 s to 0.5 s; through 1e6 from 7.7 GB and
// 38 s to 0.26 GB and 6 s; and through a scan of 1e5 that puts out their sum, from 800 to 60 MB.
//
// Whatever does not fit — very large tensors that change, matrices of derivatives or random
// numbers inside — is unrolled step by step as ever; nothing but speed tells the two apart.
// Conditions on what changes are forks of the body (loop_forks.go), and derivatives in it
// are recorded where nothing reaches them from the steps before (loop_derive.go).

// A loop describes one.
type loop struct {
	body *Tape
	n    int
	back bool // steps run from n-1 down to 0

	loops bool // its body holds what could be loops itself
	again bool // what it carries is not kept: it runs again where that is asked for
	late  bool // it is such a run: nothing recorded before it comes after
	many  bool // there may be derivatives with many rows of it

	from, by float64 // the value of the index: from + by * (first + step)
	first    int
	before   int // steps of the pieces that come before it, where it is one
	index    Ref // its placeholder, or None

	carry   []Ref // placeholders of carried values
	next    []Ref // what they become
	consts  []Ref // placeholders of values that do not change
	arrays  []Ref // placeholders of arrays that loads read
	columns []Ref // placeholders that take element i of an array at step i
	sums    []loopSum
	adds    []loopAddend // what every step adds to sums, in order
	outs    []Ref        // what every step puts out, a column each
	at      []int        // where these parts begin in the value of the loop, and where the last ends

	codes *loopCodes // of a loop that is an instruction
	lanes int        // points that its code takes at once; 0: one

	// Of a loop with forks, what the carried values depend on in the end, then outs: a bit
	// for each argument that is active. nil: on all that they may depend on.
	links []uint64
	bits  []int // by argument: its bit, or -1

	course func() *course // what its steps decide, once more
}

// A loopSum is an array that a loop adds to: zeros, or from an argument. It is float64, also of
// float32, where assemble rounds it.
type loopSum struct {
	shape tensor.Shape
	from  bool
}

// A loopAddend is a value that goes to the element at of a sum.
type loopAddend struct {
	sum       int
	value, at Ref
}

// The arguments of a loop instruction: carried values, constants, arrays of loads,
// arrays of columns, what sums start from. Its value: the last carried values, the
// sums, then the columns of outs.

var opLoop, opSlot, opLoad *Op

var loopRows = []Op{
	{As: &opLoop, Name: "loop", Args: "*x", Hidden: true, Doc: "a loop whose body is recorded once", Run: runLoop, Whole: wholeLoop,
		Flops: func(t *Tape, r Ref) float64 { return t.Attr(r).Loop.flops(t.Limit) },
		Room:  func(t *Tape, r Ref) int64 { return t.Attr(r).Loop.room(t.Limit) + t.turned(r) },
		Adj:   func(*Tape, Ref, int, Ref) Ref { panic("tape: a sweep sends the cotangents of a loop back itself") }},
	{As: &opSlot, Name: "slot", Hidden: true, Doc: "a placeholder in the body of a loop", Stops: "a placeholder", Run: runLeaf},
	{As: &opLoad, Name: "load", Args: "at, array", Hidden: true, Doc: "an element of an array in the body of a loop", Stops: "an index is not differentiable", Run: runLoad},
}

// loop records a loop instruction. Its value is float64: its parts have the dtypes of what they are
// of, and are numbers of these already. From then on the loop is its own: who wants one that
// differs copies it, and records the copy.
func (t *Tape) loop(l *loop, args []Ref) Ref {
	l.codes = &loopCodes{}
	l.laid()
	return t.add(opLoop, t.shapeID(tensor.Shape{l.outAt(len(l.outs))}), tensor.Float64, t.newAttr(Attr{Loop: l}), args...)
}

// laid finds where the parts of the loop's value begin.
func (l *loop) laid() {
	l.at = make([]int, 1, len(l.next)+len(l.sums)+len(l.outs)+1)
	for _, r := range l.next {
		l.part(l.body.size(r))
	}
	for _, s := range l.sums {
		l.part(s.shape.Size())
	}
	for _, r := range l.outs {
		l.part(l.n * l.body.size(r))
	}
}

// part puts a part of so many numbers at the end of the value.
func (l *loop) part(size int) { l.at = append(l.at, l.at[len(l.at)-1]+size) }

// nextAt is where the i-th carried value is in the value of the loop.
func (l *loop) nextAt(i int) int { return l.at[i] }

// sumAt is where sum i begins.
func (l *loop) sumAt(i int) int { return l.at[len(l.next)+i] }

// outAt is where the column of out i begins.
func (l *loop) outAt(i int) int { return l.at[len(l.next)+len(l.sums)+i] }

// column is the shape of y's values in every step.
func (l *loop) column(y Ref) tensor.Shape {
	return append(tensor.Shape{l.n}, l.body.Shape(y)...)
}

// loopPart takes a part of a loop's value.
func (t *Tape) loopPart(r Ref, off int, d tensor.DType, s tensor.Shape) Ref {
	if !fitsBlock(off) {
		fail("memory", "a loop of %d steps keeps too much", t.Attr(r).Loop.n)
	}
	x := t.add(opBlock, t.shapeID(s), d, 0, r)
	t.ins[x].args[1] = Ref(off)
	return x
}

// loopPartOf is the part that holds values of y of the body.
func (t *Tape) loopPartOf(r, y Ref, off int, s tensor.Shape) Ref {
	body := t.Attr(r).Loop.body
	x := t.loopPart(r, off, body.DTypeOf(y), s)
	if l := t.Attr(r).Loop; !body.Active(y) || !l.linkedAny(off) {
		t.ins[x].flags &^= flagActive
	}
	return x
}

// canCarry reports whether a loop can carry or use r whole.
func (t *Tape) canCarry(r Ref) bool {
	n := t.size(r)
	return t.ins[r].batch == 0 && n > 0
}

// load records an element or a row of an array in a body.
func (t *Tape) load(array, at Ref) Ref { return t.loadAs(array, at, t.Shape(array)[1:]) }

// loadAs records what begins at an element or a row of an array in a body, in shape s: that element or row,
// or several, of which it is known where they begin.
func (t *Tape) loadAs(array, at Ref, s tensor.Shape) Ref {
	r := t.add(opLoad, t.shapeID(s), t.ins[array].dtype, 0, at, array)
	t.ins[r].flags &^= flagActive
	t.ins[r].flags |= t.ins[array].flags & flagActive
	return r
}
