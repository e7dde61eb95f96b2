package tape

import (
	"slices"

	"nabla/expr"
)

// A derivative inside the body of a loop is recorded there, as on any tape: of what a
// step computes, by what it begins with or computes itself. It is right as long as no
// path from target to source leads through the steps before; a loop with one that may
// (grad(v, s) where the last step made v of s) is unrolled.

// A derivation is a derivative that a body takes: of ys by each of srcs.
type derivation struct{ ys, srcs []Ref }

// asks notes a derivative of ys by the sources of list that the body is about to take.
func (ro *rolling) asks(name string, ys []Ref, list []*source) {
	t := ro.sub
	if t.inBranch() {
		panic(&notRolled{"a derivative in a branch"})
	}
	a := derivation{ys: ys}
	for _, s := range list {
		if s.why != "" || len(s.past) > 0 {
			panic(&notRolled{"a derivative by what is no plain source"})
		}
		a.srcs = append(a.srcs, s.refs...)
	}
	switch name {
	case "jacobian", "batch_jacobian", "hessian":
		if slices.ContainsFunc(slices.Concat(a.ys, a.srcs), func(r Ref) bool { return t.size(r) != 1 }) {
			panic(&notRolled{"rows of a Jacobian"})
		}
	}
	ro.derived = append(ro.derived, a)
}

// plain reports whether a variable is no more to a derivative than its value: it has had
// no other.
func (st *state) plain(v value) bool {
	r, ok := v.(Ref)
	return ok && st.frozen == "" && len(st.past) == 0 && (len(st.versions) == 0 || len(st.versions) == 1 && st.versions[0] == r)
}

// leaks reports whether a derivative of the body may have a path through the steps before,
// or through what the program computed in front of the loop.
func (ro *rolling) leaks() bool {
	for _, a := range ro.derived {
		for _, src := range a.srcs {
			if ro.leaksTo(src, a.ys) {
				return true
			}
		}
	}
	return false
}

// leaksTo reports whether ys may depend on src by more than the body says. What the body
// computes itself no step before knows of.
func (ro *rolling) leaksTo(src Ref, ys []Ref) bool {
	l := ro.l
	outer, made := None, None // what src is outside, and what the step before made it
	switch i, k := slices.Index(l.carry, src), slices.Index(l.consts, src); {
	case ro.states[src] != nil:
		return ro.versionsLeak(src, ys)
	case i >= 0:
		outer, made = ro.inits[i], l.next[i]
		if ro.sub.ins[made].Op() == opSlot {
			return true
		}
	case k >= 0:
		outer = ro.args[k]
		if x := ro.outer.stateOf(outer); x != nil && !x.state.plain(outer) {
			return true
		}
	default:
		return false
	}
	from := ro.reads(ys, src)
	for i := 0; i < len(from); i++ {
		p := from[i]
		given, k := None, slices.Index(l.carry, p)
		switch {
		case k >= 0:
			given = ro.inits[k]
			if made != None && ro.sub.dependsOn(l.next[k], made) {
				return true
			}
			if made == None { // src is the same in every step: any step before may have read it
				for _, more := range ro.reads([]Ref{l.next[k]}, None) {
					if more == src {
						return true
					}
					if !slices.Contains(from, more) {
						from = append(from, more)
					}
				}
			}
		case slices.Contains(l.consts, p):
			given = ro.args[slices.Index(l.consts, p)]
		default:
			given = ro.vecs[slices.Index(l.arrays, p)]
		}
		if ro.outer.t.dependsOn(given, outer) {
			return true
		}
	}
	return false
}

// versionsLeak is leaksTo for a variable that the body assigns to: ys may depend on what it was in any
// step before, or in front of the loop, by whatever is carried beside it. What a variable is made of
// passes no derivative.
func (ro *rolling) versionsLeak(src Ref, ys []Ref) bool {
	l, x := ro.l, ro.states[src]
	versions := ro.frame.names[x.state.name].state.versions
	from := ro.reads(ys, src)
	for i := 0; i < len(from); i++ {
		given := None
		switch k := slices.Index(l.carry, from[i]); {
		case k >= 0 && ro.sub.ins[l.next[k]].Op() == opAssign:
			continue
		case k >= 0:
			given = ro.inits[k]
			if ro.sub.dependsOnAny(l.next[k], versions) {
				return true
			}
			for _, more := range ro.reads([]Ref{l.next[k]}, src) {
				if !slices.Contains(from, more) {
					from = append(from, more)
				}
			}
		case slices.Contains(l.consts, from[i]):
			given = ro.args[slices.Index(l.consts, from[i])]
		default:
			given = ro.vecs[slices.Index(l.arrays, from[i])]
		}
		if ro.outer.t.dependsOnAny(given, x.state.versions) {
			return true
		}
	}
	return false
}

// reads lists the placeholders, other than but, that values of the body are computed from.
func (ro *rolling) reads(ys []Ref, but Ref) (from []Ref) {
	for r, on := range ro.sub.live(ys) {
		if on && Ref(r) != but && Ref(r) != ro.l.index && ro.sub.ins[r].Op() == opSlot {
			from = append(from, Ref(r))
		}
	}
	return from
}

// dependsOn reports whether y is x or computed from it.
func (t *Tape) dependsOn(y, x Ref) bool { return y == x || y > x && t.liveAll(y)[x] }

// dependsOnAny is dependsOn for one of several.
func (t *Tape) dependsOnAny(y Ref, xs []Ref) bool {
	if len(xs) == 0 || y < slices.Min(xs) {
		return false
	}
	live := t.liveAll(y)
	return slices.ContainsFunc(xs, func(x Ref) bool { return x <= y && live[x] })
}

// counted records the loop, which loop does, with counters of the kinks that derivatives
// of its body meet.
func (ro *rolling) counted(loop func() Ref) Ref {
	l, t, sub := ro.l, ro.outer.t, ro.sub
	sites := slices.Clone(sub.sites)
	sub.kinksOn = false
	sub.inner++
	counts, zeros := l.count(t, sites)
	sub.inner--
	sub.sites = sub.sites[:0]
	ro.inits = append(ro.inits, zeros...)
	r := loop()
	for i, s := range sites {
		x := &loopSite{pass: &loopForth{t: t, l: l, r: r, sites: sites}, kinkSite: s, counted: None}
		if counts[i] >= 0 {
			x.counted = t.loopPart(r, l.nextAt(counts[i]), t.DType, nil)
		}
		t.sites = append(t.sites, kinkSite{r: r, ct: s.ct, kink: s.kink, loop: x})
	}
	return r
}

// A loopForth is a loop whose body takes derivatives.
type loopForth struct {
	t *Tape
	l *loop
	r Ref

	sites []kinkSite // kinks of the body
}

func (x *loopForth) tape() *Tape      { return x.l.body }
func (x *loopForth) instruction() Ref { return x.r }
func (x *loopForth) met() []kinkSite  { return x.sites }

func (x *loopForth) again(Ref) (*loop, []Ref) {
	return x.l.bare(), slices.Clone(x.t.Args(x.r)[:len(x.l.carry)])
}

func (x *loopForth) fill(_ *loop, inits []Ref) []Ref {
	return append(inits, x.t.Args(x.r)[len(x.l.carry):]...)
}

// asksBy reports whether a derivative is asked for, outside of a loop, by one of the names
// that it binds, or by what may be the same value: what a loop leaves under one name knows
// nothing of another.
func (lo *lowering) asksBy(loop any, names ...string) bool {
	if lo.by == nil {
		lo.by = namesAskedBy(lo.prog, lo.wrt, nil)
	}
	in := func(by map[string]bool) bool {
		return slices.ContainsFunc(names, func(name string) bool { return by[name] })
	}
	return in(lo.by) && in(namesAskedBy(lo.prog, lo.wrt, loop))
}

// scanned stands, among names, for the results of a scan.
const scanned = "scan()"

// An askedNames gathers the names of a program that may stand for a source of a derivative.
type askedNames struct {
	but       any // what is not looked into
	by        map[string]bool
	arguments bool // a parameter of a function is one: whatever is handed to functions
}

// namesAskedBy are the names of a program that may stand for a source of a derivative
// outside of a part of it, besides wrt.
func namesAskedBy(prog *expr.Program, wrt []string, but any) map[string]bool {
	a := &askedNames{but: but, by: map[string]bool{}}
	for _, name := range wrt {
		if e, _, err := expr.ParseExpr("", name); err == nil {
			a.add(e, nil)
		}
	}
	for had, args := -1, false; had != len(a.by) || args != a.arguments; {
		had, args = len(a.by), a.arguments
		a.look(prog, nil)
	}
	return a.by
}

// add adds the names in e, in a function of these parameters.
func (a *askedNames) add(e any, params []string) {
	expr.Walk(e, func(n any) bool {
		if x, ok := n.(*expr.Name); ok {
			if slices.Contains(params, x.Name) {
				a.arguments = true
			} else {
				a.by[x.Name] = true
			}
			a.by[scanned] = a.by[scanned] || x.Name == "scan"
		}
		return true
	})
}

// look adds what n asks by.
func (a *askedNames) look(n any, params []string) {
	within := func(ps []expr.Param, body any) {
		inner := slices.Clone(params)
		for _, p := range ps {
			inner = append(inner, p.Name)
		}
		a.look(body, inner)
	}
	expr.Walk(n, func(n any) bool {
		switch n := n.(type) {
		case *expr.Call:
			a.call(n, params)
		case *expr.Bind:
			if slices.ContainsFunc(n.Targets, func(x *expr.Name) bool { return a.by[x.Name] }) {
				a.add(n.Value, params)
			}
		case *expr.FuncDef:
			within(n.Params, n.Body)
			return false
		case *expr.Lambda:
			within(n.Params, n.Body)
			return false
		}
		return n != a.but
	})
}

// call adds what a derivative is taken by, and, where a parameter is a source, what is
// handed to a function of the program.
func (a *askedNames) call(n *expr.Call, params []string) {
	f, named := n.Fun.(*expr.Name)
	if named && formNamed(f.Name) != nil && formNamed(f.Name).call == nil && len(n.Args) > 1 {
		a.add(n.Args[1].Value, params)
	}
	if named {
		if _, isOp := Lookup(f.Name); isOp {
			return
		}
	}
	if a.arguments {
		for _, x := range n.Args {
			a.add(x.Value, params)
		}
	}
}
