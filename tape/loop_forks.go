package tape

import (
	"slices"

	"nabla/kernels"
)

// A condition on what changes from step to step is a fork in the body of a loop. Both of
// its branches are recorded, one after the other, and what they bind differently is chosen
// between (if-conversion: Allen, Kennedy, Porterfield and Warren, Conversion of Control
// Dependence to Data Dependence, 1983). So a body stays straight, and all that is known of
// straight bodies holds: code, adjoints of every order, kinks.
//
// What did not run must not be seen. The value and the cotangent of a branch that does not
// run are thrown away: a cotangent is exactly 0 there, which contributes exactly 0. An
// index that is not asked for is 0 (masked). Kinks and overflows count only where they ran
// (mask). And before a loop is recorded it runs once, which tells what branches its steps
// take: one that none of them takes is left out, and what the carried values depend on in
// the end, which none and zero are told apart by, is followed from step to step.

// forks are those of a body, and which branch of which one every instruction stands in.
type forks struct {
	list     []fork
	branches []branch // the first is the body itself
	here     int      // the branch that is being recorded
	spans    []span   // where the branch changes, ascending
	masks    []Ref    // by branch: whether it runs
}

// A fork is a condition.
type fork struct {
	cond Ref
	in   int // the branch that it stands in
	only int // the outcomes that are recorded
	key  string
	last bool // of the condition of a while loop, which is asked once more after the last step
}

// A branch is one of the outcomes of a fork.
type branch struct {
	fork  int
	yes   bool
	inner int // how many forks it has met
	key   string
}

// A span is the instructions from one on, up to the next span.
type span struct {
	from   Ref
	branch int
}

// The outcomes of a condition, as a set.
const (
	outcomeFalse = 1 << iota
	outcomeTrue
	bothOutcomes = outcomeFalse | outcomeTrue
)

const (
	mostForks    = 64
	mostBranched = 1 << 15 // instructions of a body with forks, and statements
)

// known is what attempts to record a body learn for the next one.
type known struct {
	outcomes map[string]int  // of forks: those that steps have
	active   map[string]bool // carried values that come to depend on a source
}

var opChoose, opGate *Op

var forkRows = []Op{
	{As: &opChoose, Name: "choose", Args: "c, x, y", Hidden: true, Doc: "what the branch that ran has bound",
		Grad: d("", "where(c, 1, 0)", "where(c, 0, 1)"), Kernel: ternary(&kernels.Where, kernels.WhereOf), Gives: givesFirst, Adj: backChoose},
	{As: &opGate, Name: "gate", Args: "c, x, y", Hidden: true, Doc: "a cotangent that reaches the branch that ran",
		Grad: d("", "where(c, 1, 0)", "where(c, 0, 1)"), Kernel: ternary(&kernels.Where, kernels.WhereOf), Gives: givesFirst, Adj: backChoose},
}

// backChoose lets a cotangent through to the branch that ran.
func backChoose(t *Tape, r Ref, i int, ct Ref) Ref {
	c, zero := t.Args(r)[0], t.Const(0)
	if i == 1 {
		return t.choice(opGate, t.Attr(r).Axis, c, ct, zero)
	}
	return t.choice(opGate, t.Attr(r).Axis, c, zero, ct)
}

// choice records opChoose or opGate, of fork k.
func (t *Tape) choice(op *Op, k int, c, x, y Ref) Ref {
	shape := t.ins[x].shape
	if shape == 0 {
		shape = t.ins[y].shape
	}
	return t.add(op, shape, t.ins[x].dtype, t.newAttr(Attr{Axis: k}), c, x, y)
}

// enter begins a branch.
func (f *forks) enter(t *Tape, b int) {
	f.here = b
	if n := len(f.spans); n > 0 && f.spans[n-1].from == Ref(len(t.ins)) {
		f.spans[n-1].branch = b
		return
	}
	f.spans = append(f.spans, span{Ref(len(t.ins)), b})
}

// of is the branch that instruction r stands in.
func (f *forks) of(r Ref) int {
	i, found := slices.BinarySearchFunc(f.spans, r, func(s span, r Ref) int { return int(s.from - r) })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return f.spans[i].branch
}

// runs reports whether branch b runs where the forks have these outcomes.
func (f *forks) runs(b int, outcomes uint64) bool {
	for ; b > 0; b = f.list[f.branches[b].fork].in {
		if x := &f.branches[b]; outcomes>>x.fork&1 == 1 != x.yes {
			return false
		}
	}
	return true
}

// mask is whether branch b runs, as a value of the body; None for the body itself.
func (f *forks) mask(t *Tape, b int) Ref {
	if b == 0 {
		return None
	}
	for len(f.masks) < len(f.branches) {
		f.masks = append(f.masks, None)
	}
	if f.masks[b] == None {
		x := &f.branches[b]
		m := f.list[x.fork].cond
		if !x.yes {
			m = t.apply("logical_not", m)
		}
		if outer := f.mask(t, f.list[x.fork].in); outer != None {
			m = t.apply("logical_and", outer, m)
		}
		f.masks[b] = m
	}
	return f.masks[b]
}

// maskOf is whether instruction r of a body runs; None when it always does.
func (t *Tape) maskOf(r Ref) Ref {
	if t.forks == nil {
		return None
	}
	return t.forks.mask(t, t.forks.of(r))
}

// inBranch reports whether a branch of a body is being recorded.
func (t *Tape) inBranch() bool { return t.forks != nil && t.forks.here != 0 }

// masked is an index of an array of n rows, 0 where the branch that it stands in does not
// run.
func (ro *rolling) masked(i Ref, n int) Ref {
	t := ro.sub
	if !t.inBranch() {
		return i
	}
	if from, to, ok := ro.between(i); ok && from >= -float64(n) && to < float64(n) {
		return i
	}
	return t.Apply(opWhere, t.forks.mask(t, t.forks.here), i, t.constOf(0, t.ins[i].dtype))
}

// between is between which numbers a value of the body lies that moves with the index.
func (ro *rolling) between(r Ref) (from, to float64, ok bool) {
	t, l := ro.sub, ro.l
	in := &t.ins[r]
	switch {
	case r == l.index:
		a, b := l.from+l.by*float64(l.first), l.from+l.by*float64(l.first+l.n-1)
		return min(a, b), max(a, b), true
	case t.known(r):
		v := t.num[r]
		return v, v, true
	case in.Op() == opAdd || in.Op() == opSub:
		a, b, ok1 := ro.between(in.args[0])
		c, d, ok2 := ro.between(in.args[1])
		if in.Op() == opSub {
			c, d = -d, -c
		}
		return a + c, b + d, ok1 && ok2
	}
	return 0, 0, false
}

// plainInBranch reports whether what stands in branches can be run where it is not asked
// for: no more than arithmetic, which never fails and of a cotangent of 0 makes nothing
// else.
func (t *Tape) plainInBranch(r Ref) bool {
	op := t.ins[r].Op()
	switch op {
	case opLoad, opReshape, opBroadcast, opCast, opAlias, opStop, opStopGradient, opBlock, opConcat, opSlice:
		return true
	}
	return op.elementwise() || t.known(r)
}
