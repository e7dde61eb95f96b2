package tape

import (
	"fmt"
	"slices"

	"nabla/expr"
	"nabla/tape/tensor"
)

// notRolled is what a body panics with that cannot be one instruction.
type notRolled struct{ why string }

// rollTries is how many first steps run by themselves while it changes which carried
// values depend on a source.
const rollTries = 8

// An outerArray stands, in a body, for a tensor of the program around it.
type outerArray struct {
	lo *rolling
	r  Ref
}

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

	derived   []derivation   // derivatives that the body takes
	versioned map[*slot]bool // names of variables that have had several values
}

// A rolled attempt: done, to be tried again after one more step, or given up.
type rollResult int

const (
	rollNever rollResult = iota
	rollLater
	rollAgain // at once, with what is known now
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

func (lo *lowering) attemptOnce(n int, know *known, body func(ro *rolling) rollResult) (result rollResult) {
	pos, cur := lo.t.pos, lo.cur
	defer func() {
		if p := recover(); p != nil {
			lo.t.pos, lo.cur = pos, cur
			switch m := p.(type) {
			case *notRolled, *badLoad:
				result = rollNever
			case *Misuse:
				if m.Code == 5 || m.Code == 130 { // out of memory or time: so it would be unrolled
					panic(p)
				}
				result = rollNever // unrolled, the mistake will be found again, with its step
			default:
				panic(p)
			}
		}
	}()
	ro := &rolling{outer: lo, sub: lo.t.desk.body(), l: &loop{n: n, index: None}, know: know, consts: map[Ref]Ref{}, seen: map[*slot]*slot{}, versioned: map[*slot]bool{}}
	ro.sub.Conventions, ro.sub.kinksOn = lo.t.Conventions, lo.t.kinksOn
	ro.sub.DType, ro.sub.Limit = lo.t.DType, lo.t.Limit
	ro.l.body, ro.sub.isBody = ro.sub, true
	in := newLowering(ro.sub, lo.prog)
	in.rolled, in.check, in.body, in.depth, in.grads, in.mode = true, lo.check, lo.body, lo.depth, lo.grads, lo.mode
	in.warn = func(Warning) { panic(&notRolled{"a warning"}) }
	ro.inner, in.ro = in, ro
	return body(ro)
}

// runSteps runs the n steps of a loop: one by one, or from an early one on as one
// instruction, when roll can record the steps from first on so.
func runSteps(n int, step func(i int), roll func(first int) rollResult) {
	for i, try := 0, true; i < n; i++ {
		// One step runs by itself: it binds every name, and says what depends on a source.
		if try && i > 0 {
			r := rollNever
			if n-i >= fewFrom {
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

// rolls reports whether loops here become instructions: not in what is one already.
func (lo *lowering) rolls() bool {
	if lo.rolled {
		lo.ro.l.loops = true
	}
	return !lo.rolled && !lo.unrolled && len(lo.off) == 0
}

// roll records the steps of a for loop from first on, out of n: index makes the value of
// the loop's variable.
func (lo *lowering) roll(s *expr.For, first, n int, index func(ro *rolling) value) rollResult {
	if !lo.rolls() {
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
	if !lo.rolls() {
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
	if !lo.rolls() {
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
	frame := &scope{names: map[string]*slot{}}
	in.top, in.scope = frame, frame
	ro.frame, ro.assigned, ro.indexes = frame, assigned, bound
	var names []string
	var trees []value
	before := map[string]bool{}
	for _, name := range assigned {
		if bound[name] != nil {
			return rollNever
		}
		x := lo.scope.names[name]
		if x == nil {
			continue // bound in a branch that has not run yet
		}
		if x.val == nil || x.state != nil {
			return rollNever
		}
		v, ok := ro.carried(x.val, name)
		if !ok {
			return rollNever
		}
		names, trees = append(names, name), append(trees, v)
		before[name], frame.names[name] = true, &slot{val: v}
	}
	for name, v := range bound {
		frame.names[name] = &slot{val: v}
	}
	for name := range usedNames(b, cond) {
		if _, mine := frame.names[name]; mine {
			continue
		}
		if x := lo.scope.find(name); x != nil {
			frame.names[name] = ro.slotOf(x)
		}
	}
	again := None
	if cond != nil {
		ro.deciding = true
		again = in.evalRef(cond)
		ro.deciding = false
	}
	in.block(b.Stmts)
	var next []value
	for _, name := range names {
		next = append(next, frame.names[name].val)
	}
	for _, name := range assigned {
		if x := frame.names[name]; x != nil && !before[name] && ro.fresh[name] == nil {
			return rollNever
		}
	}
	for _, name := range ro.late {
		x := frame.names[name]
		if x == nil { // a branch that failed after it
			return rollNever
		}
		names, trees, next = append(names, name), append(trees, ro.fresh[name]), append(next, x.val)
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
			lo.set(name, inOrder(trees[i], results[:n]))
			results = results[n:]
		}
	})
	return rollDone
}

// rebind binds names to what they are after the last step. The name that was bound last is that
// of the step before.
func (lo *lowering) rebind(bind func()) {
	last := lo.bound
	bind()
	lo.bound = last
}

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

// finish records the loop instruction: the last carried values, and outs as columns.
func (ro *rolling) finish(cond Ref, outs []Ref) (last, columns []Ref, result rollResult) {
	l, t := ro.l, ro.outer.t
	l.outs, l.many = outs, ro.outer.asksForRows()
	if !l.compilable(cond) || l.many && l.planned() || l.n < rollFrom && !l.fewPay(cond) {
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
		if l.n = steps(); l.n < fewFrom {
			return nil, nil, rollNever
		}
		n := l.n
		t.log.found(func() bool { return steps() == n })
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
	r := ro.counted(func() Ref { return t.loop(l, slices.Concat(ro.inits, ro.args, ro.vecs)) })
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

// slot makes a placeholder in the body for values like the outer r.
func (ro *rolling) slot(r Ref) Ref {
	t := ro.outer.t
	return ro.placeholder(t.DTypeOf(r), t.Shape(r), t.Active(r))
}

func (ro *rolling) placeholder(dt tensor.DType, s tensor.Shape, active bool) Ref {
	r := ro.sub.push(Instr{op: opSlot.id(), shape: ro.sub.shapeID(s), dtype: dt, Pos: expr.NoPos})
	if dt.IsFloat() && active {
		ro.sub.ins[r].flags |= flagActive
	}
	return r
}

// indexSlot makes the placeholder of the index.
func (ro *rolling) indexSlot() Ref {
	ro.l.index = ro.placeholder(tensor.Int64, nil, false)
	return ro.l.index
}

// slotOf translates what an outer name is bound to.
func (ro *rolling) slotOf(x *slot) *slot {
	if y, ok := ro.seen[x]; ok {
		return y
	}
	y := &slot{}
	ro.seen[x], ro.versioned[y] = y, x.state != nil && !x.state.plain(x.val)
	y.val = ro.translate(x.val)
	return y
}

func (ro *rolling) translate(v value) value {
	switch v := v.(type) {
	case Ref:
		return ro.constant(v)
	case *tuple:
		out := &tuple{}
		for _, e := range v.elems {
			out.elems = append(out.elems, ro.translate(e))
		}
		return out
	case *record:
		out := &record{names: v.names}
		for _, e := range v.elems {
			out.elems = append(out.elems, ro.translate(e))
		}
		return out
	case *closure:
		if v.grad != nil {
			panic(&notRolled{"a custom gradient"})
		}
		f := *v
		f.scope = &scope{names: map[string]*slot{}}
		if ro.within(v.scope) {
			f.scope.parent = ro.frame
		}
		var used map[string]bool
		if v.result != nil {
			used = usedNames(nil, v.result)
		} else {
			used = usedNames(v.body, nil)
		}
		for name := range used {
			if x := v.scope.find(name); x != nil && !ro.rebinds(name, x) {
				f.scope.names[name] = ro.slotOf(x)
			}
		}
		return &f
	case string, *none:
		return v
	}
	panic(&notRolled{"a value that a loop cannot hold"})
}

// within reports whether names of the loop's own scope are seen in a scope.
func (ro *rolling) within(s *scope) bool {
	for ; ro.frame != nil && s != nil; s = s.parent {
		if s == ro.outer.scope {
			return true
		}
	}
	return false
}

// rebinds reports whether steps bind the name of slot x: a function reads what it is then.
func (ro *rolling) rebinds(name string, x *slot) bool {
	return ro.frame != nil && x == ro.outer.scope.names[name] && (ro.indexes[name] != nil || slices.Contains(ro.assigned, name))
}

// constant gives an outer tensor its place: a number a placeholder, another an array.
func (ro *rolling) constant(r Ref) value {
	t := ro.outer.t
	in := &t.ins[r]
	if in.batch != 0 {
		panic(&notRolled{"a batch"})
	}
	if in.shape != 0 {
		return &outerArray{ro, r}
	}
	return ro.whole(r)
}

// whole is the placeholder of an outer value.
func (ro *rolling) whole(r Ref) Ref {
	t := ro.outer.t
	if c, ok := t.constant(r); ok && t.ins[r].shape == 0 {
		return ro.sub.constOf(c, t.DTypeOf(r))
	}
	if p, ok := ro.consts[r]; ok {
		return p
	}
	if !t.canCarry(r) {
		panic(&notRolled{"a large tensor"})
	}
	p := ro.slot(r)
	ro.consts[r] = p
	ro.l.consts = append(ro.l.consts, p)
	ro.args = append(ro.args, r)
	return p
}

// load records x[i] of an outer tensor.
func (a *outerArray) load(i Ref) Ref {
	ro := a.lo
	t := ro.outer.t
	if ro.sub.ins[i].shape != 0 || ro.sub.DTypeOf(i) == tensor.Bool {
		panic(&notRolled{"an index tensor"})
	}
	k := slices.Index(ro.vecs, a.r)
	if k < 0 {
		if s := t.Shape(a.r); t.ins[a.r].batch != 0 || len(s) == 0 || s[1:].Size() == 0 {
			panic(&notRolled{"large rows"})
		}
		k = len(ro.vecs)
		ro.vecs, ro.l.arrays = append(ro.vecs, a.r), append(ro.l.arrays, ro.slot(a.r))
	}
	return ro.sub.load(ro.l.arrays[k], ro.masked(i, t.Shape(a.r)[0]))
}

// loaded is what numbers of an index load that change from step to step, or the first of all,
// and what is left of the index: of x[:, i] column i, a row of x with its axes in another order;
// of x[i, j] one number. Of what has a derivative the first axis alone is loaded: cotangents of
// rows in two orders would be added up one after the other, where those of steps alternate.
func (lo *lowering) loaded(a *outerArray, items []expr.Item, given []value) (v value, left []expr.Item, of []value) {
	t, s := lo.t, a.lo.outer.t.Shape(a.r)
	vals, uses := lo.subscripts(items, given)
	var at []Ref
	var axes []int
	axis := 0
	for i, it := range items {
		switch {
		case it.Kind == expr.ItemEllipsis:
			axis += len(s) - uses
		case it.Kind == expr.ItemNewaxis:
		case it.Kind == expr.ItemExpr && (t.DTypeOf(vals[i]) == tensor.Bool || len(t.Shape(vals[i])) > 0):
			return a, items, given // several are picked together
		case it.Kind == expr.ItemExpr && (i == 0 || !t.known(vals[i]) && !a.lo.outer.t.Active(a.r)):
			at, axes = append(at, vals[i]), append(axes, axis)
			axis++
			continue
		default:
			axis++
		}
		left, of = append(left, it), append(of, given[i])
	}
	if uses > len(s) || len(at) == 0 {
		return a, items, given
	}
	return a.element(at, axes), left, of
}

// element loads what stands at places on axes: where these are not the first alone, a row of the
// array with them in front as one. What each is times the size of what follows it is loaded,
// too, since that looks whether it is one.
func (a *outerArray) element(at []Ref, axes []int) Ref {
	if len(axes) == 1 && axes[0] == 0 {
		return a.load(at[0])
	}
	ro, t := a.lo, a.lo.outer.t
	rows, sizes := ro.inFront(a.r, axes)
	if len(at) == 1 {
		return rows.load(at[0])
	}
	joint := None
	for i, n := range sizes {
		table, size := make([]float64, n), tensor.Shape(sizes[i+1:]).Size()
		for k := range table {
			table[k] = float64(k * size)
		}
		place := (&outerArray{ro, t.Tensor(tensor.From(table, n))}).load(at[i])
		if joint == None {
			joint = place
		} else {
			joint = ro.sub.Apply(opAdd, joint, place)
		}
	}
	return rows.load(joint)
}

// inFront is an outer tensor with some axes in front of the others, as one, and their sizes.
func (ro *rolling) inFront(r Ref, axes []int) (rows *outerArray, sizes []int) {
	t := ro.outer.t
	s := t.Shape(r)
	var perm, rest []int
	for _, k := range axes {
		perm, sizes = append(perm, k), append(sizes, s[k])
	}
	for k, n := range s {
		if !slices.Contains(axes, k) {
			perm, rest = append(perm, k), append(rest, n)
		}
	}
	name := fmt.Sprint(r, axes)
	x, ok := ro.turned[name]
	if !ok {
		x = t.reshape(t.transpose(r, perm), append(tensor.Shape{tensor.Shape(sizes).Size()}, rest...))
		if ro.turned == nil {
			ro.turned = map[string]Ref{}
		}
		ro.turned[name] = x
	}
	return &outerArray{ro, x}, sizes
}

// assignedNames lists the names that statements bind, in order; false when there is a
// statement that a rolled body cannot have. A function that every step defines is the same in
// all of them: it reads names when it is called.
func assignedNames(stmts []expr.Stmt) (names []string, ok bool) {
	seen := map[string]bool{}
	var functions []string
	for _, s := range stmts {
		if name := definedBy(s); name != "" {
			functions = append(functions, name)
		}
	}
	add := func(list []*expr.Name) {
		for _, n := range list {
			if !seen[n.Name] {
				seen[n.Name], names = true, append(names, n.Name)
			}
		}
	}
	var visit func(s expr.Stmt) bool
	each := func(stmts []expr.Stmt) bool {
		return !slices.ContainsFunc(stmts, func(s expr.Stmt) bool { return !visit(s) })
	}
	visit = func(s expr.Stmt) bool {
		switch s := s.(type) {
		case *expr.FuncDef:
			return slices.Contains(functions, s.Name)
		case *expr.Bind:
			if slices.Contains(functions, s.Targets[0].Name) && definedBy(s) != "" {
				return true
			}
			add(s.Targets)
			return !s.Var
		case *expr.For:
			add(s.Names)
			return each(s.Body.Stmts)
		case *expr.If:
			return each(s.Then.Stmts) && (s.Else == nil || visit(s.Else))
		case *expr.Block:
			return each(s.Stmts)
		case *expr.ExprStmt:
			return true
		}
		return false
	}
	ok = each(stmts) && !slices.ContainsFunc(functions, func(name string) bool { return seen[name] })
	return names, ok
}

// definedBy is the name of the function that a statement defines, or nothing.
func definedBy(s expr.Stmt) string {
	switch s := s.(type) {
	case *expr.FuncDef:
		return s.Name
	case *expr.Bind:
		if _, is := s.Value.(*expr.Lambda); is && len(s.Targets) == 1 && s.Op == expr.Assign && !s.Var {
			return s.Targets[0].Name
		}
	}
	return ""
}

// usedNames are all names that stand in a body or an expression.
func usedNames(b *expr.Block, e expr.Expr) map[string]bool {
	used := map[string]bool{}
	visit := func(n any) bool {
		if x, ok := n.(*expr.Name); ok {
			used[x.Name] = true
		}
		return true
	}
	if b != nil {
		for _, s := range b.Stmts {
			expr.Walk(s, visit)
		}
	}
	if e != nil {
		expr.Walk(e, visit)
	}
	return used
}
