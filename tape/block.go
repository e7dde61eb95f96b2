package tape

import (
	"math"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// A block is a contiguous piece of a tensor: x[i], or x[a:b] of the leading axis. It
// has its own instruction because loops take a tensor apart number by number: an
// adjoint that put each number back into zeros of the whole shape would make a loop
// of n steps cost n². Instead a sweep collects the pieces of one tensor and puts them
// together once (assemble).
var opBlock, opAssemble *Op

var blockRows = []Op{
	// The offset, in elements, stands in the second argument's place: a million of
	// these need no attributes.
	{As: &opBlock, Name: "block", Terms: (*factoring).block, Args: "x", Hidden: true, Doc: "a contiguous piece of the elements", Links: linkBlock,
		Run: func(c *run) {
			off := int(c.t.ins[c.r].args[1])
			copy(c.out, c.args[0][off:off+len(c.out)])
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref { // used only where no sweep collects
			return t.assemble(t.Args(r)[0], []piece{{t.full(ct, r), int(t.ins[r].args[1])}})
		}},
	// Ints holds the offset of each piece.
	{As: &opAssemble, Name: "assemble", Terms: (*factoring).assembled, Args: "*pieces", Hidden: true, Doc: "pieces added into zeros", Links: linkAssemble,
		Run: runAssemble,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.blockOf(t.full(ct, r), t.Attr(r).Ints[i], t.Shape(t.Args(r)[i]))
		}},
}

// runAssemble adds few pieces a stretch of the result at a time, which stays in the cache: the
// gradient through a stencil of three slices of 1e6 numbers takes 0.8 of the time.
func runAssemble(c *run) {
	const few, stretch = 64, 4096
	if n := len(c.out); len(c.args) <= few && n > stretch {
		pool.Split(c.threads, n*len(c.args), (n+stretch-1)/stretch, func(from, to int) {
			for at := from * stretch; at < min(to*stretch, n); at += stretch {
				c.assembleStretch(at, min(at+stretch, n))
			}
		})
		return
	}
	c.assembleStretch(0, len(c.out))
}

// assembleStretch assembles elements at to end-1.
func (c *run) assembleStretch(at, end int) {
	clear(c.out[at:end])
	for i, x := range c.args {
		off := c.attr.Ints[i]
		if lo, hi := max(at, off), min(end, off+len(x)); lo < hi {
			add(c.out[lo:hi], x[lo-off:hi-off])
		}
	}
}

// add adds x to dst.
func add(dst, x []float64) {
	if len(x) >= mostShort {
		kernels.Accumulate(dst, x)
		return
	}
	for k, v := range x {
		dst[k] += v
	}
}

// blockOf takes the elements from off on, in shape s.
func (t *Tape) blockOf(x Ref, off int, s tensor.Shape) Ref {
	id := t.shapeID(s)
	if t.Shape(x).Size() == s.Size() { // all of it
		return t.reshape(x, s)
	}
	r := t.add(opBlock, id, t.ins[x].dtype, 0, x)
	t.ins[r].args[1] = Ref(off)
	return r
}

// fitsBlock reports whether an offset can stand in an argument's place.
func fitsBlock(off int) bool { return off <= math.MaxInt32 }

// A piece is the cotangent of a block, and where it belongs.
type piece struct {
	ct  Ref
	off int
}

// assemble puts pieces of the cotangent of x together.
func (t *Tape) assemble(x Ref, ps []piece) Ref {
	if sum := t.addPieces(x, ps); sum != None {
		return sum
	}
	return t.assembleAs(x, ps, t.ins[x].dtype)
}

// assembleSum is assemble of what more is added to: of float32 it is float64, which is rounded in the
// end.
func (t *Tape) assembleSum(x Ref, ps []piece) Ref {
	if t.ins[x].dtype == tensor.Float32 {
		return t.assembleAs(x, ps, tensor.Float64)
	}
	return t.assemble(x, ps)
}

func (t *Tape) assembleAs(x Ref, ps []piece, d tensor.DType) Ref {
	const most = 1 << 15
	sum := None
	for len(ps) > 0 {
		k := min(len(ps), most)
		args := make([]Ref, k)
		at := make([]int, k)
		for i, p := range ps[:k] {
			args[i], at[i] = p.ct, p.off
		}
		ps = ps[k:]
		r := t.add(opAssemble, t.ins[x].shape, d, t.newAttr(Attr{Ints: at}), args...)
		if sum != None {
			r = t.Apply(opAdd, sum, r)
		}
		sum = r
	}
	return sum
}
