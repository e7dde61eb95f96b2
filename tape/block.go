package tape

import (
	"math"

	"nabla/kernels"
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
		Run: func(c *run) {
			clear(c.out)
			for i, x := range c.args {
				dst := c.out[c.attr.Ints[i]:][:len(x)]
				if len(x) >= mostShort {
					kernels.Accumulate(dst, x)
					continue
				}
				for k, v := range x {
					dst[k] += v
				}
			}
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.blockOf(t.full(ct, r), t.Attr(r).Ints[i], t.Shape(t.Args(r)[i]))
		}},
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
		r := t.add(opAssemble, t.ins[x].shape, t.ins[x].dtype, t.newAttr(Attr{Ints: at}), args...)
		if sum != None {
			r = t.Apply(opAdd, sum, r)
		}
		sum = r
	}
	return sum
}
