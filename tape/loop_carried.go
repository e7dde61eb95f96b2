package tape

import "slices"

// carried makes placeholders for the numbers of a structure.
func (ro *rolling) carried(v value, name string) (value, bool) {
	ok := true
	i := 0
	tree := mapLeaves(v, func(x value) value {
		r, isRef := x.(Ref)
		if !isRef || !ro.outer.t.canCarry(r) {
			ok = false
			return x
		}
		key := carryKey(name, i)
		i++
		p := ro.placeholder(ro.outer.t.DTypeOf(r), ro.outer.t.Shape(r), ro.outer.t.Active(r) || ro.know.active[key])
		ro.l.carry = append(ro.l.carry, p)
		ro.inits, ro.keys = append(ro.inits, r), append(ro.keys, key)
		return p
	})
	return tree, ok
}

// becomes takes what carried values become in a step.
func (ro *rolling) becomes(trees, next []value) rollResult {
	sub, again := ro.sub, false
	for i := range trees {
		if !sameStructure(trees[i], next[i]) {
			return rollNever
		}
		eachLeaf(next[i], func(v value) { ro.l.next = append(ro.l.next, v.(Ref)) })
	}
	for i, r := range ro.l.next {
		c := ro.l.carry[i]
		if sub.ins[r].shape != sub.ins[c].shape || sub.ins[r].batch != 0 || sub.DTypeOf(r) != sub.DTypeOf(c) {
			return rollNever
		}
		if sub.Active(r) != sub.Active(c) {
			if sub.forks == nil || sub.Active(c) {
				return rollLater
			}
			ro.know.active[ro.keys[i]], again = true, true
		}
		// simplify would see through the step here
		if from := sub.ins[r].Op(); sub.rooted(from) && sub.readBy(c, opSquare) || from == opNeg && sub.readBy(c, opNeg) {
			return rollNever
		}
	}
	if again {
		return rollAgain
	}
	for r := range sub.ins {
		// a power whose exponent is a known number in each step has a rule of its own there
		in := &sub.ins[r]
		if in.Op() != opPow || sub.known(in.args[1]) {
			continue
		}
		if !sub.Active(in.args[1]) || sub.forks != nil && !slices.Contains(ro.l.consts, in.args[1]) {
			return rollNever
		}
	}
	if sub.forks != nil && (ro.squaresRoots() || len(ro.derived) > 0) || ro.leaks() {
		return rollNever
	}
	return rollDone
}

// squaresRoots reports whether a square is taken of what may be a square root or a norm
// that a branch has left, or a step: the square is smooth where the root is not.
func (ro *rolling) squaresRoots() bool {
	t, l := ro.sub, ro.l
	root := make([]bool, len(t.ins))
	is := func(r Ref) bool { return root[r] || t.rooted(t.ins[r].Op()) }
	for grown := true; grown; {
		grown = false
		for i, c := range l.carry {
			if !root[c] && is(l.next[i]) {
				root[c], grown = true, true
			}
		}
		for r := range t.ins {
			in := &t.ins[r]
			if (in.Op() == opChoose || in.Op() == opAlias) && !root[r] && slices.ContainsFunc(t.Args(Ref(r)), is) {
				root[r], grown = true, true
			}
		}
	}
	for r := range t.ins {
		in := &t.ins[r]
		if in.Op() == opSquare && root[in.args[0]] || in.Op() == opMul && (root[in.args[0]] || root[in.args[1]]) && is(in.args[0]) && is(in.args[1]) {
			return true
		}
	}
	return false
}

// readBy reports whether op is applied to r.
func (t *Tape) readBy(r Ref, op *Op) bool {
	for i := range t.ins {
		if t.ins[i].Op() == op && slices.Contains(t.Args(Ref(i)), r) {
			return true
		}
	}
	return false
}

// sameStructure reports whether two values are of one structure of tensors.
func sameStructure(x, y value) bool {
	switch x := x.(type) {
	case *tuple:
		y, ok := y.(*tuple)
		return ok && slices.EqualFunc(x.elems, y.elems, sameStructure)
	case *record:
		y, ok := y.(*record)
		return ok && slices.Equal(x.names, y.names) && slices.EqualFunc(x.elems, y.elems, sameStructure)
	case Ref:
		_, ok := y.(Ref)
		return ok
	}
	return false
}
