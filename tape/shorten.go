package tape

import (
	"math"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// A node is an instruction of a tile program before it has places: shorter code than the
// tape's, with the same bits.
type node struct {
	op    *Op
	pair  func(dst, x, y, z []float64) // of two operations, in place of op
	links [2]kernels.Link
	n     int
	args  [3]Ref // None: the number
	num   float64
	slot  int32 // of the number
	gone  bool  // nobody reads it, or another does its work

	of     Ref // the instruction is of * factor, where it scales
	factor float64
	scales bool
}

// shorten writes the nodes of a group and counts how often each value is read. Two operations of
// a chain become one kernel.
func (p *Plan) shorten(refs []Ref, single bool, sc *tileScratch, lives func(Ref) bool) []node {
	sc.nodes = grown(sc.nodes, len(refs))
	clear(sc.nodes)
	nodes, reads, at := sc.nodes, sc.reads, sc.joins
	p.scaled(refs, single, nodes, at)
	for k := len(nodes) - 1; k >= 0; k-- {
		o, r := &nodes[k], refs[k]
		if o.gone = reads[r] == 0 && !lives(r) && o.op != opSum; o.gone {
			continue
		}
		for _, a := range o.args[:o.n] {
			if a != None {
				reads[a]++
			}
		}
	}
	for k, r := range refs {
		o := &nodes[k]
		if linkOf(o.op) < 0 || at[r] == 0 || o.gone || o.op == opSquare {
			continue
		}
		best, place := int32(-1), 0 // the argument computed last that one kernel may compute, too
		for i, a := range o.args[:o.n] {
			if a == None {
				continue
			}
			j := at[a] - 1
			if j < 0 || nodes[j].gone || nodes[j].pair != nil || reads[a] != 1 || lives(a) || j <= best {
				continue
			}
			if linkOf(nodes[j].op) >= 0 && (nodes[j].n == 1 || nodes[j].args[1] != None || o.args[1] != None) {
				best, place = j, i
			}
		}
		if best >= 0 {
			o.absorb(&nodes[best], place, reads)
		}
	}
	return nodes
}

// scaled makes nodes of the instructions of a group. Scalings by -1 are merged with others, and what
// divides by a power of two multiplies: such products are exact wherever the quotient is. Of the
// instructions that others may join, at says which nodes they are, counted from 1.
func (p *Plan) scaled(refs []Ref, single bool, nodes []node, at []int32) {
	t := p.t
	for k, r := range refs {
		o := &nodes[k]
		o.op = t.ins[r].Op()
		for i, a := range t.Args(r) {
			o.args[i], o.n = p.same[a], i+1
		}
		if single || o.op == opSum || t.ins[r].dtype != tensor.Float64 {
			continue
		}
		if t.scale(o); o.scales {
			if i := at[o.of] - 1; i >= 0 && nodes[i].scales && (math.Abs(o.factor) == 1 || math.Abs(nodes[i].factor) == 1) {
				o.of, o.factor = nodes[i].of, o.factor*nodes[i].factor
				o.multiply()
			} else if o.op == opDiv {
				o.multiply()
			}
		}
		if o.scales || linkOf(o.op) >= 0 {
			at[r] = int32(k + 1)
		}
	}
}

// absorb makes o one kernel of two operations: h, which is its argument i and has no other
// reader, and its own.
func (o *node) absorb(h *node, i int, reads []int32) {
	second := kernels.Link(linkOf(o.op))
	if o.op == opSub && i == 1 {
		second = kernels.LinkSubFrom
	}
	if h.args[1] == None && h.n == 2 {
		o.num = h.num
	}
	if h.op == opSquare {
		h.args[1] = h.args[0]
		reads[h.args[0]]++
	}
	o.links = [2]kernels.Link{kernels.Link(linkOf(h.op)), second}
	o.pair = kernels.Pairs[o.links[0]][o.links[1]]
	o.args, o.n = [3]Ref{h.args[0], h.args[1], o.args[1-i]}, 3
	h.gone = true
}

// linkOf is what an operation is in a pair, or -1.
func linkOf(op *Op) int {
	switch op {
	case opAdd:
		return int(kernels.LinkAdd)
	case opSub:
		return int(kernels.LinkSub)
	case opMul, opSquare:
		return int(kernels.LinkMul)
	case opZMul:
		return int(kernels.LinkZMul)
	}
	return -1
}

// multiply makes a node the product that it is.
func (o *node) multiply() {
	o.op, o.n, o.args, o.num = opMul, 2, [3]Ref{o.of, None}, o.factor
}

// scale notes that a node is a value times a number: its negative, a product with a
// written number, a quotient by a power of two.
func (t *Tape) scale(o *node) {
	switch o.op {
	case opNeg:
		o.of, o.factor, o.scales = o.args[0], -1, true
	case opMul:
		for i, a := range o.args[:2] {
			if c, ok := t.constant(a); ok && !t.single(o.args[1-i]) {
				o.of, o.factor, o.scales = o.args[1-i], c, true
			}
		}
	case opDiv:
		if c, ok := t.constant(o.args[1]); ok && math.Abs(c) >= 0x1p-1022 && math.Abs(c) <= 0x1p1022 {
			if m, _ := math.Frexp(c); math.Abs(m) == 0.5 {
				o.of, o.factor, o.scales = o.args[0], 1/c, true
			}
		}
	}
}
