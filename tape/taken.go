package tape

import "slices"

// What a cotangent is made of tells whether it is 0 by itself: that of log(x) in
// where(x > 0, x*log(x), 0) is x times 0 wherever x is not above 0, and its infinite slope
// means nothing there; that of acosh(x) in acosh(x)^2 is 0 at 1 and nowhere near.

// A takenRun marks the numbers of values that are not 0 by themselves; nil: all.
type takenRun struct {
	t     *Tape
	known map[Ref][]bool
}

// at reports whether what comes back to a place that the site is at is more than a 0 by itself.
func (u *takenRun) at(x *kinkSite) bool {
	t := u.t
	var marks []bool
	if x.ct != None && t.physical(x.ct).Size() == t.size(x.meets) && len(t.Axes(x.ct)) <= len(t.Axes(x.r)) {
		marks = u.of(x.ct)
	}
	if op, args := x.called(t); op.elementwise() && x.body == nil {
		marks = both(marks, u.any(args, x.r, 8))
	}
	if marks == nil {
		return true
	}
	return u.hit(x.meets, marks)
}

// hit reports whether one of the places where hits hold may be marked.
func (u *takenRun) hit(hits Ref, marks []bool) bool {
	t := u.t
	if len(marks) != t.size(hits) {
		return true
	}
	t.force(hits)
	for k, v := range t.data(hits) {
		if v != 0 && marks[k] {
			return true
		}
	}
	return false
}

// moving marks the numbers of r that move where inputs do; nil: all. That of max(x, 0) does not
// where x is below 0.
func (u *takenRun) moving(r Ref, deep int) []bool {
	t, args := u.t, u.t.Args(r)
	op := t.ins[r].Op()
	switch {
	case op == opConst:
		return make([]bool, t.size(r))
	case deep == 0 || t.size(r) > mostNumbers || op == opInput:
	case op == opMaximum || op == opMinimum:
		var v [2][]float64
		var m [2][]bool
		for i, a := range args {
			t.force(a)
			v[i] = spreadTo(t.spreadOf(a, r), t.data(a), t.size(r))
			if m[i] = u.moving(a, deep-1); m[i] != nil {
				m[i] = spreadTo(t.spreadOf(a, r), m[i], t.size(r))
			}
		}
		return u.where(r, func(k int) bool {
			x, y := m[0] == nil || m[0][k], m[1] == nil || m[1][k]
			switch first := v[0][k] > v[1][k]; {
			case !(v[0][k] != v[1][k]):
				return x || y
			case first == (op == opMaximum):
				return x
			}
			return y
		})
	case len(args) > 0 && op.elementwise():
		return u.any(args, r, deep-1)
	}
	return nil
}

// any marks the numbers of r of whose arguments one moves; nil: all.
func (u *takenRun) any(args []Ref, r Ref, deep int) []bool {
	marks := make([]bool, u.t.size(r))
	for _, a := range args {
		m := u.moving(a, deep)
		if m == nil {
			return nil
		}
		for k, v := range spreadTo(u.t.spreadOf(a, r), m, len(marks)) {
			marks[k] = marks[k] || v
		}
	}
	return marks
}

// of marks the numbers of r.
func (u *takenRun) of(r Ref) []bool {
	marks, ok := u.known[r]
	if !ok {
		if u.known == nil {
			u.known = map[Ref][]bool{}
		}
		marks = u.compute(r)
		u.known[r] = marks
	}
	return marks
}

// compute marks which elements of r may be other than 0, as far as its operation tells; nil: all.
func (u *takenRun) compute(r Ref) []bool {
	t, args := u.t, u.t.Args(r)
	op := t.ins[r].Op()
	switch {
	case len(args) == 0 && op != opInput && t.known(r):
		return u.where(r, func(k int) bool { return t.data(r)[k] != 0 })
	case op == opMul || op == opZMul:
		return both(u.spread(args[0], r), u.spread(args[1], r))
	case op == opDiv || op == opQuotient || op == opNeg:
		return u.spread(args[0], r)
	case op == opWhere && t.ins[args[0]].flags&flagRecorded != 0: // those of partials look at what is next to them
		t.force(args[0])
		c := spreadTo(t.spreadOf(args[0], r), t.data(args[0]), t.size(r))
		x, y := u.spread(args[1], r), u.spread(args[2], r)
		if x == nil && y == nil {
			return nil
		}
		return u.where(r, func(k int) bool {
			if c[k] != 0 {
				return x == nil || x[k]
			}
			return y == nil || y[k]
		})
	case op == opAdd || op == opSub || op.Name == "logical_or":
		return either(u.spread(args[0], r), u.spread(args[1], r))
	case op.Name == "logical_and":
		return both(u.spread(args[0], r), u.spread(args[1], r))
	case op.Name == "not_equal" && t.isNum(args[1], 0):
		return u.spread(args[0], r)
	case op == opWhere:
		return either(both(u.spread(args[0], r), u.spread(args[1], r)), u.spread(args[2], r))
	case len(op.Linear) > 0:
		if slices.ContainsFunc(op.Linear, func(i int) bool { return u.none(args[i]) }) {
			return make([]bool, t.size(r))
		}
	case op.moves() || op == opSum || op == opSumBatch || op == opCumsum || op == opUnwindows || op == opAssemble || op == opPut:
		for i, a := range args {
			if !t.isIndex(r, i) && !(op == opPut && i == 1) && !u.none(a) {
				return nil
			}
		}
		return make([]bool, t.size(r))
	}
	return nil
}

// none reports whether r is 0 by itself, all of it.
func (u *takenRun) none(r Ref) bool {
	marks := u.of(r)
	return marks != nil && !slices.Contains(marks, true)
}

// spread marks the numbers of a where r takes them.
func (u *takenRun) spread(a, r Ref) []bool {
	marks := u.of(a)
	if marks == nil {
		return nil
	}
	return spreadTo(u.t.spreadOf(a, r), marks, u.t.size(r))
}

// where marks the elements of r for which something holds.
func (u *takenRun) where(r Ref, holds func(k int) bool) []bool {
	marks := make([]bool, u.t.size(r))
	for k := range marks {
		marks[k] = holds(k)
	}
	return marks
}

// either marks what x or y marks; nil marks everything.
func either(x, y []bool) []bool {
	if x == nil || y == nil {
		return nil
	}
	z := make([]bool, len(x))
	for k := range z {
		z[k] = x[k] || y[k]
	}
	return z
}

// both marks what x and y both mark; nil marks everything.
func both(x, y []bool) []bool {
	if x == nil || y == nil {
		return append(x, y...)
	}
	z := make([]bool, len(x))
	for k := range z {
		z[k] = x[k] && y[k]
	}
	return z
}
