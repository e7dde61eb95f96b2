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
	if x.ct == None || t.physical(x.ct).Size() != t.size(x.meets) || len(t.Axes(x.ct)) > len(t.Axes(x.r)) {
		return true
	}
	marks := u.of(x.ct)
	if marks == nil {
		return true
	}
	t.force(x.meets)
	hits := t.data(x.meets)
	return slices.ContainsFunc(both(marks, u.where(x.meets, func(k int) bool { return hits[k] != 0 })), func(m bool) bool { return m })
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
	}
	return nil
}

// spread marks the numbers of a where r takes them.
func (u *takenRun) spread(a, r Ref) []bool {
	marks := u.of(a)
	if marks == nil {
		return nil
	}
	return spreadTo(u.t.spreadOf(a, r), marks, u.t.size(r))
}

func (u *takenRun) where(r Ref, holds func(k int) bool) []bool {
	marks := make([]bool, u.t.size(r))
	for k := range marks {
		marks[k] = holds(k)
	}
	return marks
}

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
