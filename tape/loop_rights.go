package tape

import (
	"nabla/kernels"
	"nabla/tape/tensor"
)

// heldRights are right operands of a plan's products that are the same in all its runs, and
// packed once for them.
type heldRights struct {
	packed []packedRight
	right  map[Ref]int  // the product: its operand
	column map[Ref]bool // products with a column: a row times the left operand, transposed
}

// heldRights lists those that are leaves and fixed.
func (p *Plan) heldRights(fixed func(Ref) bool) heldRights {
	t := p.t
	h := heldRights{right: map[Ref]int{}, column: map[Ref]bool{}}
	for _, r := range p.order {
		if p.chain != nil && p.chain[r] > 0 || t.ins[r].Op() != opMatmul {
			continue
		}
		x, y, m := p.same[t.Args(r)[0]], p.same[t.Args(r)[1]], t.productOf(r)
		o := packedRight{r: y, ld: m.ldb, turned: m.tb, k: m.k, n: m.n, single: t.singleProduct(r)}
		switch {
		case t.packs(r) && m.n > 1 && t.known(y) && fixed(y):
		case m.n == 1 && m.k > 0 && t.ins[r].dtype == tensor.Float64 && t.ins[r].batch == 0 && len(t.Shape(x)) == 2 && len(t.Shape(y)) == 2 && t.known(x) && fixed(x):
			o = packedRight{r: x, ld: m.lda, turned: !m.ta, k: m.k, n: m.m}
			h.column[r] = true
		default:
			continue
		}
		h.right[r] = len(h.packed)
		h.packed = append(h.packed, o)
	}
	return h
}

// size is how many numbers they take.
func (h *heldRights) size() (n int64) {
	for i := range h.packed {
		n += int64(kernels.PackedSize[float64](h.packed[i].k, h.packed[i].n))
	}
	return n
}

// hold packs operands for the runs of x, to where those of its runs before were.
func (x *execution) hold(h *heldRights, value func(r Ref) []float64) {
	if x.rights == nil {
		x.right, x.columns, x.rights = h.right, h.column, make([]sharedRight, len(h.packed))
	}
	for i := range h.packed {
		x.rights[i].pack(&h.packed[i], value(h.packed[i].r))
	}
}

// drop gives their memory back.
func (x *execution) drop() {
	for i := range x.rights {
		x.rights[i].release()
	}
	x.rights, x.right = nil, nil
}
