package tape

import (
	"slices"

	"nabla/kernels"
	"nabla/tape/pool"
)

// A pickedSum is that of what is multiplied by a 1 at the largest of each row, or column, and by 0
// elsewhere, as in every gradient of softmax: the number at that place. It is taken from there, where
// nothing else reads the ones or the products; all three are one step.
type pickedSum struct{ top, product, sum Ref }

// leastPicked is how many elements there are for a sum to be picked: fewer are fast anyway, and
// loops keep those steps' calls ready. Tests set it low.
var leastPicked = 1 << 12

// isPicked reports whether the step picks sums.
func (s *step) isPicked() bool { return s.kind == stepOne && len(s.refs) == 3 }

// mayPick reports whether r may be the ones of a picked sum.
func (p *Plan) mayPick(r Ref) bool {
	return p.t.ins[r].Op() == opOneHotMax && p.t.size(r) >= leastPicked
}

// findPicked finds the picked sums, by each of what they are made of.
func (p *Plan) findPicked() map[Ref]*pickedSum {
	t := p.t
	found := map[Ref]*pickedSum{}
	reads := map[Ref]int{}
	for _, r := range p.order {
		for _, a := range t.Args(r) {
			a = p.same[a]
			f := found[a]
			if f != nil || p.mayPick(a) {
				reads[a]++
			}
			switch {
			case t.known(a):
			case p.mayPick(a) && t.ins[r].Op() == opZMul:
				if ct := p.besides(r, a); p.t.isAlike(r, a) && p.together(r, a) && p.t.isAlike(r, ct) && p.panes(ct) == nil && p.panes(p.same[t.Args(a)[0]]) == nil {
					f := &pickedSum{a, r, None}
					found[a], found[r] = f, f
				}
			case f != nil && f.product == a && t.ins[r].Op() == opSum:
				if slices.Equal(t.Attr(r).Axes, []int{t.Attr(f.top).along()}) && p.together(r, a) && p.panes(a) == nil {
					f.sum = r
					found[r] = f
				}
			}
		}
	}
	for _, o := range p.outs {
		if o != None {
			reads[p.same[o]]++
		}
	}
	for r, f := range found {
		if f.sum == None || found[f.top] != f || found[f.product] != f || reads[f.top] != 1 || reads[f.product] != 1 {
			delete(found, r)
		}
	}
	return found
}

// besides is the argument of r, which has two, that is not a.
func (p *Plan) besides(r, a Ref) Ref {
	args := p.t.Args(r)
	if b := p.same[args[0]]; b != a {
		return b
	}
	return p.same[args[1]]
}

// together reports whether r and what it reads, a, have the same batch axes and type, and run in one
// phase outside of chains.
func (p *Plan) together(r, a Ref) bool {
	x, y := &p.t.ins[r], &p.t.ins[a]
	return x.batch == y.batch && x.dtype == y.dtype &&
		(p.chains == nil || p.chain[r] == 0 && p.chain[a] == 0 && p.phase[r] == p.phase[a])
}

// pick runs a picked sum.
func (x *execution) pick(top, product, sum Ref) {
	t := x.t
	of := x.p.same[t.Args(top)[0]]
	y, from := x.data(of), x.data(x.p.besides(product, top))
	var out []float64
	if t.single(sum) {
		out = t.num[sum : sum+1 : sum+1]
	} else {
		out = x.result(sum)
	}
	at := func(i int) float64 { return from[i] + 0 } // of zeros no -0, as Sum
	s, axis := t.physical(of), t.Attr(top).along()
	if !inStripes(s, axis) {
		n := last(s)
		pool.Split(x.threads(), len(y), len(out), func(first, end int) {
			for i := first; i < end; i++ {
				out[i] = at(i*n + int(argBest(y[i*n:(i+1)*n], kernels.Max)))
			}
		})
		return
	}
	eachStripe(x.threads(), stripeWidth, y, s, axis, func(s *stripe, line, to int) {
		for j, k := range s.firsts() {
			out[to+j] = at(line + s.place(k, j))
		}
	})
}
