package kit

import (
	"log"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A core looks for work among the instructions that it holds at a time, some two hundred, and most of a
// body is one chain of a hundred, each waiting for the one before. AVX-512 has the registers to let
// bodies run side by side (Stagger). With AVX2 some vectors go through the first part of a body one after
// the other, then through the next, and what that reads of them waits in memory: the chain of a part is
// short, and those of several vectors are held at a time. In as many parts as were fastest functions took
// on a Zen 1 of the time whole: cosh .69, tanh and sigmoid with their slopes .79 and .75, log .81, exp .83,
// pow .85; log1p, its twin and the inverse hyperbolic functions 1.

// mostWaiting is how many bytes may wait, and stackTaken how many are taken so that vectors lie in one line: a
// kernel and what takes its arguments to it have 792 of the stack.
const (
	mostWaiting = stackTaken - 32
	stackTaken  = 640

	mostVectors = 4 // of a block
)

// A span is where steps write and read an operand.
type span struct {
	of     Op
	before bool  // it is there before them
	writes []int // the steps that do
	last   int   // the last step that does either
}

// spansOf are the spans of the operands of steps, in the order in which these come.
func spansOf(steps []step) (all []*span) {
	of := map[Op]*span{}
	for i, s := range steps {
		for k, o := range s.operands {
			x, result := of[o], k == len(s.operands)-1
			if x == nil {
				x = &span{of: o, before: !result}
				of[o] = x
				all = append(all, x)
			}
			if x.last = i; result {
				x.writes = append(x.writes, i)
			}
		}
	}
	return all
}

// waits reports whether what the span is of is made before a step and read from there on.
func (x *span) waits(at int) bool { return !x.before && x.writes[0] < at && x.last >= at }

// again reports whether it is one of those arguments, as it was loaded.
func (x *span) again(args []V) (arg int, ok bool) {
	v, _ := x.of.(V)
	arg = slices.Index(args, v)
	return arg, arg >= 0 && len(x.writes) == 1
}

// ends are where parts of steps end, and at first 0: up to count parts of about one length, between which
// few vectors wait that are not loaded again, and nothing else does.
func ends(steps []step, spans []*span, count int, args []V) []int {
	waiting := func(at int) (n int, ok bool) {
		for _, x := range spans {
			if !x.waits(at) {
				continue
			}
			if v, ok := x.of.(V); !ok || v.Size() != 32 {
				return 0, false
			}
			if _, ok := x.again(args); !ok {
				n++
			}
		}
		return n, true
	}
	at := []int{0}
	for k := 1; k < count; k++ {
		ideal, best, least := len(steps)*k/count, -1, 0
		for away := range len(steps) / (3 * count) {
			for _, end := range []int{ideal - away, ideal + away} {
				if n, ok := waiting(end); ok && (best < 0 || n < least) {
					best, least = end, n
				}
			}
		}
		if best > at[len(at)-1] {
			at = append(at, best)
		}
	}
	return append(at, len(steps))
}

// A waiter is a vector that parts find in memory.
type waiter struct {
	v        V
	arg      int // it is this argument; -1: none
	from, to int // the first and the last part that find it
	place    int
	changes  []bool // by part: it writes the vector
}

// waiters are the vectors of spans that wait between parts, and how many places they need.
func waiters(spans []*span, ends []int, args []V) (all []*waiter, places int) {
	part := func(step int) int {
		i, _ := slices.BinarySearch(ends, step+1)
		return i - 1
	}
	var busy []int // by place: the last part that finds what is there
	for _, x := range spans {
		if x.before || part(x.writes[0]) == part(x.last) {
			continue
		}
		w := &waiter{v: x.of.(V), from: part(x.writes[0]) + 1, to: part(x.last), changes: make([]bool, len(ends))}
		all = append(all, w)
		for _, i := range x.writes {
			w.changes[part(i)] = true
		}
		if arg, ok := x.again(args); ok {
			w.arg = arg
			continue
		}
		w.arg = -1
		w.place = slices.IndexFunc(busy, func(to int) bool { return to < w.from })
		if w.place < 0 {
			w.place = len(busy)
			busy = append(busy, 0)
		}
		busy[w.place] = w.to
	}
	return all, len(busy)
}

// blocks writes the loop over blocks of vectors that go through the parts of a body. Parts are not loops over
// the vectors of a block: those end after so few turns that a core that does other things in between
// mistakes where, and exp took 1.4 of its time.
func (l *loops) blocks() {
	var steps []step
	var args []V
	u := 0 // the vector at hand
	keep = &steps
	for _, a := range l.args {
		v := New()
		Do(func() { l.load(a, u, v) }, v)
		args = append(args, v)
	}
	for d, v := range l.Body(append(slices.Clone(args), l.fixed...)) {
		Do(func() { l.store(l.dst[d], u, v) }, v)
	}
	keep = nil
	spans := spansOf(steps)
	cuts := ends(steps, spans, l.Parts, args)
	waiting, places := waiters(spans, cuts, args)
	vectors := min(mostWaiting/(32*max(places, 1)), mostVectors)
	if vectors < 2 {
		log.Fatalf("%s: %d vectors wait", l.Name, places)
	}
	size, base := l.lanes*vectors, GP64()
	where := func(w *waiter) Mem { return Mem{Base: base, Disp: 32 * (vectors*w.place + u)} }
	SUBQ(Imm(uint64(size)), l.n)
	JLT(LabelRef("blockdone"))
	Label("block")
	if l.Stop != nil {
		for u := range vectors {
			l.Stop(l.arguments(u))
		}
	}
	moveStack(stackTaken)
	Instruction(&ir.Instruction{Opcode: "MOVQ", Operands: []Op{reg.StackPointer, base}, Inputs: []Op{reg.StackPointer}, Outputs: []Op{base}})
	ADDQ(Imm(31), base)
	ANDQ(I32(-32), base)
	for i, end := range cuts[1:] {
		for u = range vectors {
			for _, w := range waiting {
				switch {
				case i < w.from || i > w.to:
				case w.arg >= 0:
					l.load(l.args[w.arg], u, w.v)
				default:
					VMOVUPD(where(w), w.v)
				}
			}
			for _, s := range steps[cuts[i]:end] {
				s.write()
			}
			for _, w := range waiting {
				if w.arg < 0 && w.changes[i] && i < w.to {
					VMOVUPD(w.v, where(w))
				}
			}
		}
	}
	moveStack(-stackTaken)
	ADDQ(Imm(uint64(size)), l.i)
	SUBQ(Imm(uint64(size)), l.n)
	JGE(LabelRef("block"))
	Label("blockdone")
	ADDQ(Imm(uint64(size)), l.n)
}

// moveStack makes so many bytes of the stack the kernel's, or gives them back.
func moveStack(bytes int) {
	Instruction(&ir.Instruction{Opcode: "ADJSP", Operands: []Op{I32(bytes)}})
}
