package tape

import (
	"maps"
	"slices"
	"strconv"

	"nabla/expr"
	"nabla/tape/tensor"
)

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
		if lo.decide(r) {
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
