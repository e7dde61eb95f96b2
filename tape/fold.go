package tape

import "slices"

// passFold finds instructions that compute the same: the same operation on the same
// arguments. Names do not matter any more, so two sources of one value meet here.
func passFold(p *Plan) {
	t := p.t
	p.same = t.desk.refs.of(len(p.live))
	for i := range p.same {
		p.same[i] = Ref(i)
	}
	// In a long tape of single numbers looking for equals costs more than computing twice.
	long := len(p.order) > 1<<15
	count := len(p.order)
	if long {
		count = 0
		for _, r := range p.order {
			if !t.single(r) {
				count++
			}
		}
	}
	seen := p.newEquals(count)
	kept := p.order[:0]
	for _, r := range p.order {
		in := &t.ins[r]
		if in.Op() == opAlias || in.Op() == opStop || in.Op() == opAssign || in.Op() == opWithGrad {
			p.same[r] = p.same[t.Args(r)[0]] // a name, not a computation
			p.live[p.same[r]] = true
			continue
		}
		if in.n > 3 || !(in.attr == 0 && in.Op().elementwise() || merges(in.Op())) || long && t.single(r) {
			kept = append(kept, r)
			continue
		}
		at := seen.find(r)
		if *at != None {
			p.same[r] = *at
			continue
		}
		*at = r
		kept = append(kept, r)
	}
	p.dropUnused(kept)
}

// equals is a hash table of instructions that compute something each, open, of a power of two.
type equals struct {
	p    *Plan
	refs []Ref
}

// newEquals makes the table for so many instructions.
func (p *Plan) newEquals(count int) equals {
	size := 16
	for size < 2*count {
		size *= 2
	}
	e := equals{p, p.t.desk.refs.of(size)}
	for i := range e.refs {
		e.refs[i] = None
	}
	return e
}

// find is where the equal of r stands in the table, or None, in its place.
func (e equals) find(r Ref) *Ref {
	t := e.p.t
	in, args := &t.ins[r], e.args(r)
	h := uint64(in.shape)*0x9e3779b97f4a7c15 ^ uint64(in.batch)<<32 ^ uint64(in.dtype)<<56 ^ uint64(in.op)*0xc2b2ae3d27d4eb4f
	for _, a := range args {
		h = (h ^ uint64(uint32(a))) * 0xff51afd7ed558ccd
		h ^= h >> 29
	}
	for k := int(h); ; k++ {
		at := &e.refs[k&(len(e.refs)-1)]
		if *at == None {
			return at
		}
		o := &t.ins[*at]
		if o.op == in.op && o.shape == in.shape && o.batch == in.batch && o.dtype == in.dtype && t.sameSwitches(r, *at) && args == e.args(*at) {
			return at
		}
	}
}

// args are the up to three arguments of r, each as the one that computes it.
func (e equals) args(r Ref) [3]Ref {
	args := [3]Ref{None, None, None}
	in := &e.p.t.ins[r]
	for i, x := range e.p.t.Args(r) {
		args[i] = e.p.same[x]
	}
	if in.Op() == opBlock {
		args[1] = in.args[1] // where it begins
	}
	return args
}

// dropUnused leaves out of what is kept what only merged instructions needed.
func (p *Plan) dropUnused(kept []Ref) {
	t := p.t
	used := t.desk.marks.of(len(p.live))
	for _, r := range p.outs {
		if r != None {
			used[p.same[r]] = true
		}
	}
	for i := len(kept) - 1; i >= 0; i-- {
		if r := kept[i]; used[r] {
			for _, a := range t.Args(r) {
				used[p.same[a]] = true
			}
		}
	}
	p.order = p.order[:0]
	for _, r := range kept {
		if used[r] {
			p.order = append(p.order, r)
		}
	}
}

// merges reports whether equal instructions of a structural operation are merged too: those that second derivatives are full of,
// factorisations, reductions, as a mean is part of a deviation, orders, and what is cut out and put together, as columns are that
// a program names more than once.
func merges(op *Op) bool {
	switch op {
	case opSlice, opUnslice, opBlock, opConcat, opBroadcast, opTake, opArgsort, opTopOf, opMatmul, opReshape, opTranspose, opLU, opFirstInverse, opDeterminant, opSum, opProd, opMaxOf, opMinOf, opTies, opNorm, opLogsumexp, opSoftmax:
		return true
	}
	return false
}

// sameSwitches reports whether two of these do the same with their arguments.
func (t *Tape) sameSwitches(r, s Ref) bool {
	a, b := t.Attr(r), t.Attr(s)
	return a == b || a.Flag == b.Flag && a.Flag2 == b.Flag2 && a.Upper == b.Upper && a.Strong == b.Strong && slices.Equal(a.Ints, b.Ints) && slices.Equal(a.Axes, b.Axes)
}
