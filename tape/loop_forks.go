package tape

import (
	"maps"
	"slices"
	"strconv"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/tensor"
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

// A torn value is one that the branches of a fork do not agree about.
type torn struct{}

// A branched recording is what one branch of a fork left behind.
type branched struct {
	v      value
	ok     bool
	names  map[string]slot
	failed any
}

// fork records what the condition r decides between.
func (lo *lowering) fork(r Ref, yes, no func() (value, bool)) (value, bool) {
	t := lo.t
	if lo.ro == nil || t.known(r) || t.Shape(r).Size() != 1 || t.Conventions != "" { // without strong zeros what did not run shows
		if lo.t.Bool(r) {
			return yes()
		}
		return no()
	}
	k := lo.newFork(r)
	f := t.forks
	switch f.list[k].only {
	case outcomeFalse:
		return lo.recorded(k, false, no)
	case outcomeTrue:
		return lo.recorded(k, true, yes)
	}
	before := lo.scope.snapshot()
	a := lo.branched(k, true, yes)
	lo.scope.restore(before)
	b := lo.branched(k, false, no)
	switch {
	case a.failed != nil && (b.failed != nil || lo.ro.deciding):
		panic(a.failed)
	case b.failed != nil && lo.ro.deciding:
		panic(b.failed)
	case a.failed != nil:
		f.list[k].only = outcomeFalse
		return b.v, b.ok
	case b.failed != nil:
		f.list[k].only = outcomeTrue
		lo.scope.restore(a.names)
		return a.v, a.ok
	}
	lo.join(k, a.names, b.names)
	if !a.ok && !b.ok {
		return nil, false
	}
	if v, ok := lo.choose(k, a.v, b.v); ok {
		return v, true
	}
	return torn{}, true
}

// newFork notes a fork at the condition r, and which outcomes are known to be met.
func (lo *lowering) newFork(r Ref) (k int) {
	t := lo.t
	if t.forks == nil {
		t.forks = &forks{branches: make([]branch, 1)}
	}
	f := t.forks
	switch {
	case lo.ro.l.n < rollFrom:
		panic(&notRolled{"conditions in few steps"})
	case len(f.list) == mostForks:
		panic(&notRolled{"many conditions"})
	}
	if t.ins[r].dtype != tensor.Bool {
		r = t.apply("not_equal", r, t.Const(0))
	}
	if len(t.Shape(r)) > 0 {
		r = t.reshape(r, nil)
	}
	here := &f.branches[f.here]
	key := here.key + "," + strconv.Itoa(here.inner)
	here.inner++
	x := fork{cond: r, in: f.here, only: bothOutcomes, key: key, last: lo.ro.deciding}
	if only := lo.ro.know.outcomes[key]; only != 0 && !lo.ro.deciding {
		x.only = only
	}
	f.list = append(f.list, x)
	return len(f.list) - 1
}

// forkIf is an if of a body.
func (lo *lowering) forkIf(s *expr.If) (value, bool) {
	r := lo.evalRef(s.Cond)
	lo.mark(s.Cond, s.Cond.Mark())
	return lo.fork(r, func() (value, bool) { return lo.branch(s.Then) }, func() (value, bool) {
		switch e := s.Else.(type) {
		case *expr.If:
			return lo.forkIf(e)
		case *expr.Block:
			return lo.branch(e)
		}
		return nil, false
	})
}

// recorded records a branch.
func (lo *lowering) recorded(k int, yes bool, run func() (value, bool)) (v value, ok bool) {
	f, t := lo.t.forks, lo.t
	from := f.here
	f.branches = append(f.branches, branch{fork: k, yes: yes, key: f.list[k].key + strconv.FormatBool(yes)[:1]})
	f.enter(t, len(f.branches)-1)
	v, ok = run()
	f.enter(t, from)
	return v, ok
}

// branched records one of two branches; a mistake in it is none unless it is made.
func (lo *lowering) branched(k int, yes bool, run func() (value, bool)) (b branched) {
	saved, from, inner := *lo, lo.t.forks.here, lo.t.inner
	pos := lo.t.pos
	defer func() {
		p := recover()
		switch m := p.(type) {
		case nil:
			return
		case *notRolled:
		case *Misuse:
			if m.Kind == "timeout" || m.Kind == "interrupted" {
				panic(p)
			}
		default:
			panic(p)
		}
		lo.scope, lo.cur, lo.body, lo.depth, lo.off, lo.bound = saved.scope, saved.cur, saved.body, saved.depth, saved.off, saved.bound
		lo.t.pos, lo.t.inner = pos, inner
		lo.t.forks.enter(lo.t, from)
		b = branched{failed: p}
	}()
	b.v, b.ok = lo.recorded(k, yes, run)
	b.names = lo.scope.snapshot()
	return b
}

// snapshot is what the names of a scope are bound to.
func (s *scope) snapshot() map[string]slot {
	out := make(map[string]slot, len(s.names))
	for name, x := range s.names {
		out[name] = *x
	}
	return out
}

// restore binds the names of a scope as they were.
func (s *scope) restore(names map[string]slot) {
	for name, x := range s.names {
		if old, ok := names[name]; ok {
			*x = old
		} else {
			delete(s.names, name)
		}
	}
	for name, old := range names {
		if s.names[name] == nil {
			s.names[name] = &old
		}
	}
}

// join binds what two branches of fork k have bound.
func (lo *lowering) join(k int, a, b map[string]slot) {
	for _, name := range joinedNames(a, b) {
		x, inA := a[name]
		y, inB := b[name]
		if !inA || !inB {
			only := x
			if inB {
				only = y
			}
			other, ok := lo.ro.unbound(lo, name, only.val)
			if !ok {
				lo.scope.names[name] = &slot{} // whoever reads it finds nothing
				continue
			}
			if x, y = only, (slot{val: other, unsure: true}); inB {
				x, y = y, x
			}
		}
		now := slot{state: x.state, unsure: x.unsure || y.unsure}
		v, ok := lo.choose(k, x.val, y.val)
		if now.val = v; !ok {
			now.val = torn{}
		}
		eachLeaf(now.val, func(v value) {
			if r, ok := v.(Ref); ok {
				lo.t.ins[r].flags |= flagNamed
			}
		})
		if s := lo.scope.names[name]; s != nil {
			*s = now
		} else {
			lo.scope.names[name] = &now
		}
	}
}

func joinedNames(a, b map[string]slot) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// choose is x where fork k has the outcome true, y elsewhere; false when there is no such
// value.
func (lo *lowering) choose(k int, x, y value) (value, bool) {
	t := lo.t
	if a, ok := x.(*outerArray); ok {
		if b, ok := y.(*outerArray); ok && a.r == b.r {
			return x, true
		}
		x = within(x)
	}
	switch x := x.(type) {
	case Ref:
		y, ok := within(y).(Ref)
		if !ok || t.ins[x].shape != t.ins[y].shape || t.ins[x].dtype != t.ins[y].dtype {
			return nil, false
		}
		if x == y {
			return x, true
		}
		return t.choice(opChoose, k, t.forks.list[k].cond, x, y), true
	case *tuple:
		y, ok := y.(*tuple)
		if !ok || len(x.elems) != len(y.elems) {
			return nil, false
		}
		elems, ok := lo.chooseAll(k, x.elems, y.elems)
		return &tuple{elems: elems}, ok
	case *record:
		y, ok := y.(*record)
		if !ok || !slices.Equal(x.names, y.names) {
			return nil, false
		}
		elems, ok := lo.chooseAll(k, x.elems, y.elems)
		return &record{names: x.names, elems: elems}, ok
	case nil:
		return nil, false
	}
	return x, x == y
}

// chooseAll is choose, part by part.
func (lo *lowering) chooseAll(k int, x, y []value) (out []value, ok bool) {
	for i := range x {
		v, ok := lo.choose(k, x[i], y[i])
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// unbound is what a name of the body that one branch binds to v, and the other does not,
// has been bound to in a step before.
func (ro *rolling) unbound(lo *lowering, name string, v value) (value, bool) {
	if lo.scope != ro.frame || ro.assigned == nil || !slices.Contains(ro.assigned, name) {
		return nil, false
	}
	if old, ok := ro.fresh[name]; ok {
		return old, true
	}
	ok := true
	eachLeaf(v, func(v value) {
		r, isRef := v.(Ref)
		ok = ok && isRef && lo.t.ins[r].shape == 0
	})
	if !ok {
		return nil, false
	}
	i := 0
	old := mapRefs(v, func(r Ref) Ref {
		dt := lo.t.DTypeOf(r)
		p := ro.placeholder(dt, nil, ro.know.active[carryKey(name, i)])
		ro.l.carry, ro.inits = append(ro.l.carry, p), append(ro.inits, ro.outer.t.constOf(0, dt))
		ro.keys = append(ro.keys, carryKey(name, i))
		i++
		return p
	})
	if ro.fresh == nil {
		ro.fresh = map[string]value{}
	}
	ro.fresh[name], ro.late = old, append(ro.late, name)
	return old, true
}

func carryKey(name string, i int) string { return name + "#" + itoa(i) }

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
