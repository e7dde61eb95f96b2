package tape

import (
	"math"
	"slices"
	"sync/atomic"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// A tileProgram is a group as register code: micro-operations on tiles of tileSize
// numbers. Values that only the group uses live in slots, which stay in L1.
type tileProgram struct {
	n       int // elements
	code    []micro
	loads   []load     // arguments that broadcast, spread into slots
	direct  []Ref      // arguments and results read and written in place
	over    []Ref      // of each in direct: the argument whose memory it takes, or None; nil for none at all
	moved   []movedArg // those of direct that are None: read where they lie
	edges   *edges     // of what is moved, or nil
	step    int        // how many numbers a tile has, where something is spread out
	windows []Ref      // those of direct that it makes and that lie in windows of a slide
	slots   int
	turning int // the first of them, which go on from tile to tile
	sums    []sumOf
	kept    []sumOf // results that were asked for, and where they are
	along   []axisSum

	plain *tileCode
	fused atomic.Pointer[tileCode]
	work  atomic.Int64 // elements so far

	pieces bool            // elements are computed in pieces: the sums are no part of machine code
	joined []kernels.Piece // those, where a call of machine code does all of them; else nil
	single bool            // all is float32
	wides  []wide
	stores []store
}

// A micro-operation. Operands ≥ 0 are slots, others are places in direct: -1-i.
type micro struct {
	op      *Op
	dst     int32
	arg     [3]int32
	pair    func(dst, x, y, z []float64) // of two operations, in place of op
	links   [2]kernels.Link              // those
	both    func(y, d, x []float64)      // a twin: dst and dst2 at once
	dst2    int32
	float32 bool
	single  any  // the kernel of float32, in a program of float32
	twin    bool // single has two results
}

// A load fills a slot of a tile program: with an argument that broadcasts, spread out, or with a number.
type load struct {
	ref   Ref // None: the number
	slot  int32
	sp    *spread // nil: one number, filled in once
	whole bool    // in a program of float32: an argument stored as float64
	num   float64 // of one number that is known
	known bool
	same  bool // every tile reads the same of what is laid out
	each  int  // rows of so many elements have one number each, which lie one behind the other; 0 when they do not
	still int  // so many elements, a tile or more, have one number each; 0 when they do not
	turn  int  // the argument repeats whole after so many elements: read in place; 0 when it does not
	cycle int  // it repeats after so few elements that they are laid out once for all tiles; 0 when it does not
	row   int  // the still elements are no number but a short row of so many, again and again, laid out once for them; else 0
}

type sumOf struct {
	ref   Ref
	arg   int32
	count bool // of truths, which is exact in any order
}

// ordered reports whether the order counts in which a program adds up.
func (tp *tileProgram) ordered() bool {
	return slices.ContainsFunc(tp.sums, func(s sumOf) bool { return !s.count })
}

// counts reports whether what a sum adds up are truths as numbers.
func (t *Tape) counts(a Ref) bool {
	return t.ins[a].Op() == opToFloat64 && t.ins[t.Args(a)[0]].dtype == tensor.Bool
}

// tileSize is a number of float64: 256 of them in about nine slots are 18 KB and stay
// in L1; 64 to 2048 are within 15 % (design measurements). 512 took 3 % less on W2, which
// has six slots; more of them would not fit. Making the slices of a tile's operands once
// instead of in every tile changed nothing: what is left between kernels is their start.
const tileSize = 256

// slotStride is from one slot to the next: sixteen of them begin at different multiples
// of 256 bytes in a page of 4096. A kernel that reads a little behind where it writes, as
// the last twelve bits of the addresses go, waits for its own stores: adding tiles took
// 0.10 ns an element with this stride, 0.14 to 0.34 with 256 and other strides.
const slotStride = 288

// call is the call of a micro-operation; one that cannot be called where Go does it.
func (m *micro) call() kernels.Call {
	switch {
	case m.float32:
		return kernels.Call{}
	case m.both != nil:
		return kernels.CallOf(m.both, m.dst, m.dst2, m.arg[0])
	case m.pair != nil:
		return kernels.CallOf(m.pair, m.dst, m.arg[0], m.arg[1], m.arg[2])
	}
	_, call := callOf[float64](m.op.kernel(), m)
	return call
}

// callOf is the call of a kernel for m on one kind of numbers, and how many arguments it has;
// none if it is no such kernel.
func callOf[T real](kernel any, m *micro) (arity int, call kernels.Call) {
	switch f := kernel.(type) {
	case func(dst, x []T):
		return 1, kernels.CallOf(f, m.dst, m.arg[0])
	case func(dst, x, y []T):
		if m.twin {
			return 1, kernels.CallOf(f, m.dst, m.dst2, m.arg[0])
		}
		return 2, kernels.CallOf(f, m.dst, m.arg[0], m.arg[1])
	case func(dst, x, y, z []T):
		return 3, kernels.CallOf(f, m.dst, m.arg[0], m.arg[1], m.arg[2])
	}
	return 0, kernels.Call{}
}

// kernel is the kernel of an operation, nil where it has none for slices.
func (k *Kernel) kernel() any {
	switch {
	case k.k2 != nil:
		return *k.k2
	case k.k1 != nil:
		return *k.k1
	case k.k3 != nil:
		return *k.k3
	}
	return nil
}

// number is the slot of a number.
func (tp *tileProgram) number(v float64, slot func() int32) int32 {
	for _, l := range tp.loads {
		if l.ref == None && math.Float64bits(l.num) == math.Float64bits(v) {
			return l.slot
		}
	}
	l := load{ref: None, slot: slot(), num: v, known: true}
	tp.loads = append(tp.loads, l)
	return l.slot
}
