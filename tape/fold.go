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
	size := 16
	count := len(p.order)
	if long {
		count = 0
		for _, r := range p.order {
			if !t.single(r) {
				count++
			}
		}
	}
	for size < 2*count {
		size *= 2
	}
	seen := t.desk.refs.of(size)
	for i := range seen {
		seen[i] = None
	}
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
		a := [3]Ref{None, None, None}
		h := uint64(in.shape)*0x9e3779b97f4a7c15 ^ uint64(in.batch)<<32 ^ uint64(in.dtype)<<56 ^ uint64(in.op)*0xc2b2ae3d27d4eb4f
		for i, x := range t.Args(r) {
			a[i] = p.same[x]
			h = (h ^ uint64(uint32(a[i]))) * 0xff51afd7ed558ccd
			h ^= h >> 29
		}
		k := int(h) & (size - 1)
		for ; seen[k] != None; k = (k + 1) & (size - 1) {
			o := &t.ins[seen[k]]
			if o.op == in.op && o.shape == in.shape && o.batch == in.batch && o.dtype == in.dtype && t.sameSwitches(r, seen[k]) {
				b := [3]Ref{None, None, None}
				for i, x := range t.Args(seen[k]) {
					b[i] = p.same[x]
				}
				if a == b {
					break
				}
			}
		}
		if seen[k] != None {
			p.same[r] = seen[k]
			continue
		}
		seen[k] = r
		kept = append(kept, r)
	}
	// what only merged instructions needed is dead now
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

// merges reports whether equal instructions of a structural operation are merged too: those
// that second derivatives are full of.
func merges(op *Op) bool { return op == opMatmul || op == opReshape || op == opTranspose }

// sameSwitches reports whether two of these do the same with their arguments.
func (t *Tape) sameSwitches(r, s Ref) bool {
	a, b := t.Attr(r), t.Attr(s)
	return a == b || a.Flag == b.Flag && a.Flag2 == b.Flag2 && a.Upper == b.Upper && slices.Equal(a.Ints, b.Ints)
}
