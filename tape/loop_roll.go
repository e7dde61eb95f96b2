package tape

import (
	"slices"

	"nabla/expr"
)

// notRolled is what a body panics with that cannot be one instruction.
type notRolled struct{ why string }

// rollTries is how many first steps run by themselves while it changes which carried
// values depend on a source.
const rollTries = 8

// rolling is the attempt to record one body.
type rolling struct {
	outer *lowering
	inner *lowering
	l     *loop
	sub   *Tape

	args   []Ref          // constants of the outer program
	consts map[Ref]Ref    // outer value → placeholder
	turned map[string]Ref // outer tensors with other axes in front, by name
	vecs   []Ref          // vectors of the outer program
	seen   map[*slot]*slot

	inits []Ref    // what is carried into the first step
	keys  []string // what the carried values are called

	know     *known
	frame    *scope           // of a for or while loop
	assigned []string         // names that its body binds
	indexes  map[string]value // names that the loop itself binds
	fresh    map[string]value // of these, those that no step has bound before
	late     []string         // their names, in the order in which they became carried
	deciding bool             // the condition of a while loop is being recorded

	states    map[Ref]*slot  // variables that it assigns to, as the program around has them, by what is carried
	derived   []derivation   // derivatives that the body takes
	versioned map[*slot]bool // names of variables that have had several values
}

// A rollResult is what became of an attempt.
type rollResult int

const (
	rollNever rollResult = iota // it is given up
	rollLater                   // it is made again after one more step
	rollAgain                   // it is made again at once, with what is known now
	rollDone
)

// attempt records a loop of n steps: body is given its lowering to record one, and use
// the outer program's place for the results. Nothing is changed unless it succeeds.
func (lo *lowering) attempt(n int, body func(ro *rolling) rollResult) (result rollResult) {
	know := &known{outcomes: map[string]int{}, active: map[string]bool{}}
	for range mostAttempts {
		if result = lo.attemptOnce(n, know, body); result != rollAgain {
			return result
		}
	}
	return rollNever
}

// mostAttempts bounds how often a body is recorded again: for what it was found to decide,
// and for each carried value that was found to depend on a source.
const mostAttempts = 8

// attemptOnce records the body, knowing what earlier attempts have found. What cannot be one
// instruction panics, and so ends the attempt; time and memory that run out end the program.
func (lo *lowering) attemptOnce(n int, know *known, body func(ro *rolling) rollResult) (result rollResult) {
	pos, cur := lo.t.pos, lo.cur
	defer func() {
		if p := recover(); p != nil {
			lo.t.pos, lo.cur = pos, cur
			switch m := p.(type) {
			case *notRolled, *badLoad:
				result = rollNever
			case *Misuse:
				if m.stops() { // so it would be unrolled
					panic(p)
				}
				result = rollNever // unrolled, the mistake will be found again, with its step
			default:
				panic(p)
			}
		}
	}()
	ro := &rolling{outer: lo, sub: lo.t.desk.body(), l: &loop{n: n, index: None}, know: know, consts: map[Ref]Ref{}, seen: map[*slot]*slot{}, versioned: map[*slot]bool{}}
	ro.sub.Conventions, ro.sub.kinksOn, ro.sub.strong = lo.t.Conventions, lo.t.kinksOn, lo.t.strong
	ro.sub.DType, ro.sub.Limit, ro.sub.Recorded = lo.t.DType, lo.t.Limit, lo.t.Recorded
	ro.l.body, ro.sub.isBody = ro.sub, true
	in := newLowering(ro.sub, lo.prog)
	in.rolled, in.check, in.body, in.depth, in.grads, in.mode, in.zero, in.dtype = true, lo.check, lo.body, lo.depth, lo.grads, lo.mode, lo.zero, lo.dtype
	in.warn = func(Warning) { panic(&notRolled{"a warning"}) }
	ro.inner, in.ro = in, ro
	return body(ro)
}

// runSteps runs the n steps of a loop: one by one, or from an early one on as one
// instruction, when roll can record the steps from first on so.
func (t *Tape) runSteps(n int, step func(i int), roll func(first int) rollResult) {
	before, around := len(t.ins), len(t.walks)
	t.walks = append(t.walks, walk{steps: n, from: len(t.ins)})
	defer func() { t.walks = t.walks[:around] }()
	for i, try := 0, true; i < n; i++ {
		t.walked(i)
		// One step runs by itself: it binds every name, and says what depends on a source.
		if try && i > 0 {
			r := rollNever
			if left := n - i; left >= fewFrom && (left >= rollFrom || left*(len(t.ins)-before) >= leastRecorded*i) {
				r = roll(i)
			}
			if r == rollDone {
				return
			}
			try = r == rollLater && i < rollTries
		}
		step(i)
	}
}

// rolls reports whether loops here, of so many steps, become instructions: not in what is one
// already, which notes those that would be long.
func (lo *lowering) rolls(steps int) bool {
	if lo.rolled {
		lo.ro.l.loops = lo.ro.l.loops || steps >= whileFrom
	}
	return !lo.rolled && !lo.unrolled && len(lo.off) == 0
}

// roll records the steps of a for loop from first on, out of n: index makes the value of
// the loop's variable.
func (lo *lowering) roll(s *expr.For, first, n int, index func(ro *rolling) value) rollResult {
	if !lo.rolls(n - first) {
		return rollNever
	}
	return lo.attempt(n-first, func(ro *rolling) rollResult {
		ro.l.by, ro.l.first = 1, first
		bound := map[string]value{}
		v := index(ro)
		if len(s.Names) == 1 {
			bound[s.Names[0].Name] = v
		} else {
			parts := ro.inner.elements(v, s.In)
			if len(parts) != len(s.Names) {
				return rollNever
			}
			for i, name := range s.Names {
				bound[name.Name] = parts[i]
			}
		}
		return ro.statements(s, s.Body, bound, nil)
	})
}

// rollScan records the steps of scan from first on, out of n.
func (lo *lowering) rollScan(f, carry, xs value, first, n int, at *expr.Call) (last, outs value, result rollResult) {
	if !lo.rolls(n - first) {
		return nil, nil, rollNever
	}
	if lo.asksBy(at, scanned) {
		return nil, nil, rollNever
	}
	result = lo.attempt(n-first, func(ro *rolling) rollResult {
		ro.l.by, ro.l.first = 1, first
		tree, ok := ro.carried(carry, "")
		if !ok {
			return rollNever
		}
		i := ro.indexSlot()
		x := mapRefs(xs, func(r Ref) Ref { return (&outerArray{ro, r}).load(i) })
		p, ok := ro.translate(f).(callable).call(ro.inner, []value{tree, x}, at).(*tuple)
		if !ok || len(p.elems) != 2 {
			return rollNever
		}
		if r := ro.becomes([]value{tree}, p.elems[:1]); r != rollDone {
			return r
		}
		var ys []Ref
		y := mapLeaves(p.elems[1], func(v value) value { ys = append(ys, ro.inner.ref(v, at)); return v })
		ends, columns, r := ro.finish(None, ys)
		if r == rollDone {
			last, outs = inOrder(tree, ends), inOrder(y, columns)
		}
		return r
	})
	return last, outs, result
}

// inOrder gives values the structure of tree.
func inOrder(tree value, rs []Ref) value {
	i := -1
	return rebuild(tree, func() value { i++; return rs[i] })
}

// rollWhile is roll for while, of which n steps ran: as many as there are more, at least. How
// many there are is found by running it.
func (lo *lowering) rollWhile(s *expr.While, n int) rollResult {
	if !lo.rolls(n) {
		return rollNever
	}
	return lo.attempt(n, func(ro *rolling) rollResult { return ro.statements(s, s.Body, nil, s.Cond) })
}

// statements records the body b of s, a for or while loop: names that it binds are carried,
// but for those of the loop itself.
func (ro *rolling) statements(s expr.Stmt, b *expr.Block, bound map[string]value, cond expr.Expr) rollResult {
	assigned, fits := assignedNames(b.Stmts)
	if !fits || ro.outer.asksBy(s, assigned...) {
		return rollNever
	}
	lo, in := ro.outer, ro.inner
	ro.frame, ro.assigned, ro.indexes = &scope{names: map[string]*slot{}}, assigned, bound
	in.top, in.scope = ro.frame, ro.frame
	names, trees, ok := ro.enter()
	if !ok {
		return rollNever
	}
	ro.see(usedNames(b, cond))
	again := None
	if cond != nil {
		ro.deciding = true
		again = in.evalRef(cond)
		ro.deciding = false
	}
	in.block(b.Stmts)
	names, trees, next, ok := ro.leave(names, trees)
	if !ok {
		return rollNever
	}
	if r := ro.becomes(trees, next); r != rollDone {
		return r
	}
	results, _, r := ro.finish(again, nil)
	if r != rollDone {
		return r
	}
	lo.rebind(func() {
		for i, name := range names {
			n := 0
			eachLeaf(trees[i], func(value) { n++ })
			if x := lo.scope.names[name]; x != nil && x.state != nil {
				lo.t.name(lo.assigned(x, results[0], ro.sub.Attr(next[i].(Ref)).Text), name)
			} else {
				lo.set(name, inOrder(trees[i], results[:n]))
			}
			results = results[n:]
		}
	})
	return rollDone
}

// enter binds what names of the body are before a step: those that it assigns to and that are
// bound already, which it lists with their placeholders, and those of the loop itself. It is not
// ok where one cannot be carried.
func (ro *rolling) enter() (names []string, trees []value, ok bool) {
	for _, name := range ro.assigned {
		if ro.indexes[name] != nil {
			return nil, nil, false
		}
		x := ro.outer.scope.names[name]
		if x == nil {
			continue // bound in a branch that has not run yet
		}
		if x.val == nil {
			return nil, nil, false
		}
		if x.state != nil {
			y, ok := ro.variable(name, x)
			if !ok {
				return nil, nil, false
			}
			names, trees = append(names, name), append(trees, y.val)
			ro.frame.names[name] = y
			continue
		}
		v, ok := ro.carried(x.val, name)
		if !ok {
			return nil, nil, false
		}
		names, trees = append(names, name), append(trees, v)
		ro.frame.names[name] = &slot{val: v}
	}
	for name, v := range ro.indexes {
		ro.frame.names[name] = &slot{val: v}
	}
	return names, trees, true
}

// variable carries the variable x into a step, as a source if it is one. What it is made of is none:
// its state blocks the gradient.
func (ro *rolling) variable(name string, x *slot) (*slot, bool) {
	source := x.state.frozen == ""
	if source {
		ro.know.active[carryKey(name, 0)] = true
	}
	v, ok := ro.carried(mapRefs(x.val, func(r Ref) Ref { return ro.outer.t.stop(r, blocks) }), name)
	if !ok {
		return nil, false
	}
	y := &slot{val: v, state: &state{name: name, frozen: x.state.frozen}}
	if source {
		p := v.(Ref)
		y.state.versions, y.state.past = []Ref{p}, x.state.past
		if ro.states == nil {
			ro.states = map[Ref]*slot{}
		}
		ro.states[p] = x
	}
	return y, true
}

// see binds the names of the program around the body that it uses.
func (ro *rolling) see(used map[string]bool) {
	for name := range used {
		if _, mine := ro.frame.names[name]; mine {
			continue
		}
		if x := ro.outer.scope.find(name); x != nil {
			ro.frame.names[name] = ro.slotOf(x)
		}
	}
}

// leave adds to the names that are carried those that became so in a branch, and says what each is
// after the step. It is not ok where the step bound another one, or a branch failed.
func (ro *rolling) leave(names []string, trees []value) (all []string, before, after []value, ok bool) {
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	for _, name := range ro.assigned {
		if ro.frame.names[name] != nil && ro.fresh[name] == nil && !known[name] {
			return nil, nil, nil, false
		}
	}
	for _, name := range ro.late {
		names, trees = append(names, name), append(trees, ro.fresh[name])
	}
	for _, name := range names {
		x := ro.frame.names[name]
		if x == nil { // a branch that failed after it
			return nil, nil, nil, false
		}
		if y := ro.outer.scope.names[name]; (x.state != nil) != (y != nil && y.state != nil) {
			return nil, nil, nil, false
		}
		after = append(after, x.val)
	}
	if ro.readsStates(names, trees, after) {
		return nil, nil, nil, false
	}
	return names, trees, after, true
}

// readsStates reports whether what is carried beside inputs that are assigned to is made of their values
// in the steps: a derivative by an input is one by all of them, and a loop puts out the last alone. Of
// other variables asksBy knows whether one is asked for.
func (ro *rolling) readsStates(names []string, before, after []value) bool {
	reads := make([]bool, len(ro.sub.ins))
	isState := func(i int) bool { return ro.frame.names[names[i]].state != nil }
	any := false
	for i := range names {
		if isState(i) && ro.outer.scope.names[names[i]].state.input {
			any, reads[before[i].(Ref)] = true, true
		}
	}
	if !any {
		return false
	}
	for r := range reads {
		if ro.sub.ins[r].Op() == opAssign || slices.ContainsFunc(ro.sub.Args(Ref(r)), func(a Ref) bool { return reads[a] }) {
			reads[r] = true
		}
	}
	for i, v := range after {
		if !isState(i) && slices.ContainsFunc(refsOf(v), func(r Ref) bool { return reads[r] }) {
			return true
		}
	}
	return false
}

// rebind binds names to what they are after the last step. The name that was bound last is that
// of the step before.
func (lo *lowering) rebind(bind func()) {
	last := lo.bound
	bind()
	lo.bound = last
}

// finish records the loop instruction: the last carried values, and outs as columns.
func (ro *rolling) finish(cond Ref, outs []Ref) (last, columns []Ref, result rollResult) {
	l, t := ro.l, ro.outer.t
	l.outs, l.many = outs, ro.outer.asksForRows()
	if !l.compilable(cond) || l.n < rollFrom && !l.fewPay(cond) || cond == None && l.rowsLose() {
		return nil, nil, rollNever
	}
	if l.many && l.planned() && float64(l.pieces()) > mostLoops { // rows of what hardly fits
		return nil, nil, rollNever
	}
	if cond != None {
		for _, x := range slices.Concat(ro.inits, ro.args, ro.vecs) {
			t.force(x)
		}
		data := func(rs []Ref) (out [][]float64) {
			for _, x := range rs {
				out = append(out, t.data(x))
			}
			return out
		}
		count, inits, args, vecs := l.counter(cond, t), ro.inits, ro.args, ro.vecs
		steps := func() int { return count(data(inits), data(args), data(vecs)) }
		if l.n = steps(); l.n < fewFrom || l.n < rollFrom && !l.fewPay(cond) {
			return nil, nil, rollNever
		}
		n := l.n
		t.log.found(func() bool { return steps() == n })
	}
	if cond == None {
		l.checkSteps(t)
	}
	if ro.sub.forks != nil {
		if r := ro.decide(); r != rollDone {
			return nil, nil, r
		}
	}
	if n := l.pieces(); n > 1 && ro.sub.forks == nil && len(ro.sub.sites) == 0 {
		last, columns = ro.inPieces(n)
		return last, columns, rollDone
	}
	r := ro.counted(func() Ref {
		if ro.sub.forks == nil {
			ro.link()
		}
		return t.loop(l, slices.Concat(ro.inits, ro.args, ro.vecs))
	})
	return ro.ends(r), ro.columnsOf(r), rollDone
}

// inPieces records n loops, one behind the other, in place of one: their ways back, which run
// each of them again, keep what is carried into the steps of one at a time.
func (ro *rolling) inPieces(n int) (last, columns []Ref) {
	whole := *ro.l
	last = ro.inits
	parts := make([][]Ref, len(whole.outs))
	for k := range n {
		l := whole
		from := k*(whole.n/n) + min(k, whole.n%n)
		l.n, l.first, l.before, l.again = whole.n/n, whole.first+from, from, true
		if k < whole.n%n {
			l.n++
		}
		part := *ro
		part.l, part.inits = &l, last
		part.link()
		r := ro.outer.t.loop(&l, slices.Concat(last, ro.args, ro.vecs))
		last = ro.ends(r)
		for i, c := range ro.columnsOf(r) {
			parts[i] = append(parts[i], c)
		}
	}
	for _, p := range parts {
		columns = append(columns, ro.outer.t.concat(p, 0))
	}
	return last, columns
}

// columnsOf are what the steps of loop r put out.
func (ro *rolling) columnsOf(r Ref) (columns []Ref) {
	t := ro.outer.t
	l := t.Attr(r).Loop
	for i, y := range l.outs {
		columns = append(columns, t.loopPartOf(r, y, l.outAt(i), l.column(y)))
	}
	return columns
}

// ends are the last carried values of loop r.
func (ro *rolling) ends(r Ref) (last []Ref) {
	t := ro.outer.t
	l := t.Attr(r).Loop
	for i, y := range l.next[:len(ro.keys)] {
		last = append(last, t.loopPartOf(r, y, l.nextAt(i), l.body.Shape(y)))
	}
	return last
}
