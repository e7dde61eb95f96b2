package tape

import (
	"fmt"
	"math"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A callable is a function value.
type callable interface {
	call(lo *lowering, args []value, at *expr.Call) value
}

// closure is a user's function.
type closure struct {
	name   string
	params []expr.Param
	body   *expr.Block // a definition's body
	result expr.Expr   // a lambda's
	scope  *scope
	grad   *gradRule
	under  int // calls under way
}

// A gradRule is a registered gradient: its text and where its names mean something.
type gradRule struct {
	def   *expr.GradDef
	scope *scope
}

// builtin is an operation or a built-in form used as a value.
type builtin struct {
	name string
	f    func(lo *lowering, args []value, at *expr.Call) value
}

// A slot holds what a name is bound to.
type slot struct {
	val    value
	unsure bool   // in the body of a loop: maybe nothing yet
	state  *state // for variables: inputs and var
}

// A state is a variable: every value it has had is a source, and together they are
// the variable. Assigning makes a new one that remembers no history.
type state struct {
	name     string
	versions []Ref
	past     []Ref  // versions that a reset has forgotten
	frozen   string // why it is not a source; "" for a watched variable
}

type scope struct {
	names  map[string]*slot
	parent *scope
}

func (s *scope) find(name string) *slot {
	for ; s != nil; s = s.parent {
		if x, ok := s.names[name]; ok {
			return x
		}
	}
	return nil
}

// lowering runs a program onto a tape.
type lowering struct {
	t        *Tape
	prog     *expr.Program
	top      *scope
	scope    *scope
	grads    map[string]*gradRule // for operations
	cur      expr.Expr            // what is being lowered, for errors
	body     int                  // inside how many operations' bodies: positions stay at the call
	depth    int                  // of calls
	off      []string             // reasons of the no_gradient blocks around, innermost last
	random   *stream
	seed     uint64
	check    func() // called now and then: panics when time is up
	ticks    int
	inputs   []string
	rolled   bool // this is the body of a loop that becomes one instruction
	unrolled bool // no loop becomes one
	ro       *rolling
	wrt      []string        // names of the program that derivatives are asked by
	rows     bool            // derivatives with many rows are asked for
	looked   bool            // rows takes account of the program
	by       map[string]bool // and those that may be the same, in the whole program; of asksBy
	bound    string          // the name bound last
	warn     func(w Warning)
	mode     string        // auto (""), forward or reverse, for Jacobians
	leaves   map[Ref]*slot // the inputs inside structures, by their first value
	ends     []Ref         // of leadsTo
	above    []bool
}

const maxDepth = 5000

func newLowering(t *Tape, prog *expr.Program) *lowering {
	lo := &lowering{t: t, prog: prog, leaves: map[Ref]*slot{}}
	lo.top = &scope{names: map[string]*slot{}}
	lo.scope = lo.top
	return lo
}

// fail stops with an error at e.
func (lo *lowering) fail(e interface{ Where() expr.Span }, kind, format string, args ...any) {
	lo.advise(e, kind, "", format, args...)
}

// advise is fail with what to write instead.
func (lo *lowering) advise(e interface{ Where() expr.Span }, kind, hint, format string, args ...any) {
	lo.failWith(e, &Misuse{Kind: kind, Msg: fmt.Sprintf(format, args...), Hint: hint, Pos: expr.NoPos})
}

func (lo *lowering) failWith(e interface{ Where() expr.Span }, m *Misuse) {
	if x, ok := e.(expr.Expr); ok && lo.body == 0 {
		lo.cur = x
	} else if lo.body == 0 {
		lo.cur = &expr.Name{Span: e.Where()}
	}
	panic(m)
}

// tick lets a long program be stopped.
func (lo *lowering) tick() {
	if lo.ticks++; lo.ticks&1023 == 0 && lo.check != nil {
		lo.check()
	}
	if lo.t.forks != nil && (lo.ticks > mostBranched || len(lo.t.ins) > mostBranched) {
		panic(&notRolled{"a long body"})
	}
}

// block runs statements and returns the value of the last one that has any.
func (lo *lowering) block(stmts []expr.Stmt) value {
	var last value
	for _, s := range stmts {
		if v, ok := lo.stmt(s); ok {
			last = v
		}
	}
	return last
}

// stmt runs one statement; ok is false for those without a value.
func (lo *lowering) stmt(s expr.Stmt) (v value, ok bool) {
	lo.tick()
	if lo.t.inBranch() {
		switch s.(type) {
		case *expr.ExprStmt, *expr.Bind, *expr.FuncDef, *expr.If, *expr.Block, *expr.For:
		default:
			panic(&notRolled{"a statement in a branch"})
		}
	}
	switch s := s.(type) {
	case *expr.ExprStmt:
		return lo.stopped(lo.eval(s.X)), true
	case *expr.Bind:
		return lo.bind(s), true
	case *expr.FuncDef:
		f := &closure{name: s.Name, params: s.Params, body: s.Body, scope: lo.scope}
		if g := lo.grads[s.Name]; g != nil {
			if lo.rolled {
				panic(&notRolled{"a custom gradient"})
			}
			f.grad = g
		}
		lo.set(s.Name, f)
	case *expr.GradDef:
		lo.gradDef(s)
	case *expr.If:
		if lo.rolled {
			return lo.forkIf(s)
		}
		for {
			if lo.cond(s.Cond) {
				return lo.branch(s.Then)
			}
			switch e := s.Else.(type) {
			case *expr.If:
				s = e
				continue
			case *expr.Block:
				return lo.branch(e)
			}
			return nil, false
		}
	case *expr.Block:
		return lo.branch(s)
	case *expr.While:
		for n := 0; lo.cond(s.Cond); n++ {
			if n == 0 && lo.endless(s) {
				lo.advise(s.Cond, "type", "bind a name of the condition anew in its body, as in x = x + 1", "this loop never ends: nothing in it changes the condition")
			}
			if (n == fewFrom || n == rollFrom) && lo.rollWhile(s, n) == rollDone {
				break
			}
			lo.block(s.Body.Stmts)
			lo.tick()
		}
	case *expr.For:
		lo.forLoop(s)
	case *expr.NoGradient:
		lo.off = append(lo.off, "no_gradient at "+lo.place(s.Start))
		lo.block(s.Body.Stmts)
		lo.off = lo.off[:len(lo.off)-1]
	case *expr.Reset:
		lo.reset("reset at " + lo.place(s.Start))
	case *expr.Watch:
		lo.watch(s)
	default:
		panic(fmt.Sprintf("tape: statement %T", s))
	}
	return nil, false
}

// endless reports a loop whose condition, which holds, reads nothing that its body binds.
// Functions of the program and random numbers may read more than they say.
func (lo *lowering) endless(s *expr.While) bool {
	changes := false
	read := map[string]bool{}
	expr.Walk(s.Cond, func(n any) bool {
		switch n := n.(type) {
		case *expr.Name:
			read[n.Name] = true
		case *expr.Call:
			f, _ := n.Fun.(*expr.Name)
			if f == nil || lo.scope.find(f.Name) != nil {
				changes = true
			} else if op, ok := Lookup(f.Name); !ok || op.Group() == "random numbers" || op.Name == "dropout" {
				changes = true
			}
		}
		return true
	})
	expr.Walk(s.Body, func(n any) bool {
		switch n := n.(type) {
		case *expr.Bind:
			for _, t := range n.Targets {
				changes = changes || read[t.Name]
			}
		case *expr.For:
			for _, t := range n.Names {
				changes = changes || read[t.Name]
			}
		}
		return true
	})
	return !changes
}

func (lo *lowering) branch(b *expr.Block) (value, bool) {
	v := lo.block(b.Stmts)
	return v, v != nil
}

// place writes a position for people: 2:5.
func (lo *lowering) place(p expr.Pos) string {
	e := &expr.Error{Prog: lo.prog, Mark: p, Where: expr.Span{Start: p, End: p}}
	line, col := e.LineCol()
	return fmt.Sprintf("%d:%d", line, col)
}

// bind runs an assignment. What := and += do to a variable they do not do to a name
// that = has bound: there v += e is v = v + e, and so the gradient passes.
func (lo *lowering) bind(s *expr.Bind) value {
	x := lo.scope.find(s.Targets[0].Name)
	if s.Var || s.Op != expr.Assign && (x == nil || x.state != nil) {
		return lo.assign(s, x)
	}
	before := Ref(lo.t.Len())
	v := lo.increased(s, x)
	if len(s.Targets) == 1 {
		return lo.set(s.Targets[0].Name, lo.named(v, before, s.Value))
	}
	parts := lo.elements(v, s.Value)
	if len(parts) != len(s.Targets) {
		lo.advise(s.Value, "type", "write a name for each value, or one for all and t[0], t[1], …", "%d names for %d values", len(s.Targets), len(parts))
	}
	for i, n := range s.Targets {
		lo.set(n.Name, lo.named(parts[i], before, s.Value))
	}
	return v
}

// named gives a value that is about to be bound an identity of its own: two names of
// equal but separately computed values stay two sources.
func (lo *lowering) named(v value, before Ref, from expr.Expr) value {
	r, ok := v.(Ref)
	if !ok {
		return lo.stopped(v)
	}
	if len(lo.off) > 0 {
		return lo.stopped(v)
	}
	if _, plain := from.(*expr.Name); !plain && r < before && lo.t.Active(r) {
		return lo.t.Apply(opAlias, r)
	}
	return v
}

// stopped wraps values made while recording is off.
func (lo *lowering) stopped(v value) value {
	if len(lo.off) == 0 {
		return v
	}
	why := lo.off[len(lo.off)-1]
	return mapRefs(v, func(r Ref) Ref { return lo.t.stop(r, why) })
}

// stop records r as a constant, with the reason.
func (t *Tape) stop(r Ref, why string) Ref {
	if !t.Active(r) {
		return r
	}
	return t.add(opStop, t.ins[r].shape, t.ins[r].dtype, t.newAttr(Attr{Text: why}), r)
}

// own marks a value that is about to have a name.
func (lo *lowering) own(v value) value {
	eachLeaf(v, func(x value) {
		if r, ok := x.(Ref); ok {
			lo.t.ins[r].flags |= flagNamed
		}
	})
	return v
}

func (lo *lowering) set(name string, v value) value {
	lo.own(v)
	if x, ok := lo.scope.names[name]; ok && x.state == nil {
		x.val, x.unsure = v, false
	} else { // a variable's slot stays with the variable
		lo.scope.names[name] = &slot{val: v}
	}
	lo.bound = name
	if r, ok := v.(Ref); ok && lo.body == 0 {
		lo.t.name(r, name)
	}
	return v
}

// increased is what a statement gives its name, which has the value of x: e, or by += and
// -= the sum.
func (lo *lowering) increased(s *expr.Bind, x *slot) value {
	v := lo.eval(s.Value)
	op := opAdd
	switch s.Op {
	case expr.SubState:
		op = opSub
	case expr.AddState:
	default:
		return v
	}
	name := s.Targets[0]
	lo.mark(name, s.OpPos)
	return lo.t.Apply(op, lo.ref(x.val, name), lo.ref(v, s.Value))
}

// assign runs var v = e, and v := e, v += e and v -= e of the variable x.
func (lo *lowering) assign(s *expr.Bind, x *slot) value {
	name := s.Targets[0]
	if lo.t.inBranch() {
		panic(&notRolled{"a variable in a branch"})
	}
	if x == nil && !s.Var {
		lo.unknown(name)
	}
	v := lo.increased(s, x)
	r, ok := v.(Ref)
	if !ok {
		lo.fail(s.Value, "type", "a variable holds one tensor, not %s", describe(v))
	}
	if s.Var {
		x = &slot{state: &state{name: name.Name}}
		lo.scope.names[name.Name] = x
	}
	lo.t.pos = s.OpPos
	n := lo.t.add(opAssign, lo.t.ins[r].shape, lo.t.ins[r].dtype, lo.t.newAttr(Attr{Text: "assigned to " + name.Name + " at " + lo.place(s.OpPos) + ": state blocks the gradient"}), r)
	if x.state.frozen == "" && lo.t.ins[n].dtype.IsFloat() {
		lo.t.ins[n].flags |= flagActive
	}
	x.state.versions = append(x.state.versions, n)
	x.val = n
	lo.bound = name.Name
	lo.t.name(n, name.Name)
	return n
}

func (lo *lowering) reset(why string) {
	for s := lo.scope; s != nil; s = s.parent {
		for _, x := range s.names {
			if x.state == nil {
				x.val = mapRefs(x.val, func(r Ref) Ref { return lo.t.stop(r, why) })
				continue
			}
			// a trainable variable stays watched: what was recorded of it is forgotten
			if r, ok := x.val.(Ref); ok && lo.t.Active(r) {
				n := lo.t.add(opAssign, lo.t.ins[r].shape, lo.t.ins[r].dtype, lo.t.newAttr(Attr{Text: why}), r)
				lo.t.ins[n].flags |= flagActive
				x.state.past = append(x.state.past, x.state.versions...)
				x.val, x.state.versions = n, []Ref{n}
			}
		}
	}
}

func (lo *lowering) watch(s *expr.Watch) {
	for _, n := range s.Names {
		x := lo.scope.find(n.Name)
		if x == nil {
			lo.unknown(n)
		}
		r, ok := x.val.(Ref)
		if !ok {
			lo.fail(n, "type", "only tensors are watched, %s is %s", n.Name, describe(x.val))
		}
		if s.Off {
			x.val = lo.t.stop(r, "unwatch "+n.Name+" at "+lo.place(s.Start))
			continue
		}
		if !lo.t.DTypeOf(r).IsFloat() {
			lo.fail(n, "type", "%s is %v: only floats have gradients", n.Name, lo.t.DTypeOf(r))
		}
		if lo.t.Active(r) { // a source already
			continue
		}
		w := lo.t.add(opAlias, lo.t.ins[r].shape, lo.t.ins[r].dtype, 0, r)
		lo.t.ins[w].flags |= flagActive
		x.val = w
		if x.state == nil {
			lo.t.name(w, n.Name)
			continue
		}
		if x.state.frozen != "" {
			x.state.versions = nil
		}
		x.state.frozen = ""
		x.state.versions = append(x.state.versions, w)
	}
}

func (lo *lowering) gradDef(s *expr.GradDef) {
	g := &gradRule{def: s, scope: lo.scope}
	if x := lo.scope.find(s.Name); x != nil {
		f, ok := x.val.(*closure)
		if !ok {
			lo.fail(spanOf(s.NamePos, len(s.Name)), "type", "%s is not a function", s.Name)
		}
		if len(f.params) != len(s.Params) {
			lo.fail(spanOf(s.NamePos, len(s.Name)), "type", "%s takes %s, its gradient %d", s.Name, expr.Plural(len(f.params), "argument"), len(s.Params))
		}
		f.grad = g
		return
	}
	op, ok := Lookup(s.Name)
	if !ok {
		lo.advise(spanOf(s.NamePos, len(s.Name)), "name", "a function is defined before its gradient", "there is no function or operation %s", s.Name)
	}
	if !op.takes(len(s.Params)) {
		lo.advise(spanOf(s.NamePos, len(s.Name)), "type", "it is called "+op.Signature(), "%s does not take %s, as its gradient does", s.Name, expr.Plural(len(s.Params), "argument"))
	}
	if lo.grads == nil {
		lo.grads = map[string]*gradRule{}
	}
	lo.grads[s.Name] = g
}

func spanOf(p expr.Pos, n int) *expr.Name {
	return &expr.Name{Span: expr.Span{Start: p, End: p + expr.Pos(n)}}
}

// cond evaluates a condition to a truth value now.
func (lo *lowering) cond(e expr.Expr) bool {
	r := lo.evalRef(e)
	lo.mark(e, e.Mark())
	return lo.t.Bool(r)
}

func (lo *lowering) forLoop(s *expr.For) {
	bind := func(v value) {
		if len(s.Names) == 1 {
			lo.set(s.Names[0].Name, v)
		} else {
			parts := lo.elements(v, s.In)
			if len(parts) != len(s.Names) {
				lo.fail(s.In, "type", "%d names for %d values", len(s.Names), len(parts))
			}
			for i, n := range s.Names {
				lo.set(n.Name, parts[i])
			}
		}
	}
	each := func(v value) {
		lo.tick()
		bind(v)
		lo.block(s.Body.Stmts)
	}
	if c, ok := s.In.(*expr.Call); ok {
		if n, ok := c.Fun.(*expr.Name); ok && n.Name == "range" && lo.scope.find("range") == nil {
			from, step, n := lo.rangeOf(c)
			lo.mark(c, c.Mark())
			index := func(i int) value { return lo.t.constOf(from+step*float64(i), tensor.Int64) }
			runSteps(n, func(i int) { each(index(i)) }, func(first int) rollResult {
				r := lo.roll(s, first, n, func(ro *rolling) value {
					ro.l.from, ro.l.by = from, step
					return ro.indexSlot()
				})
				if r == rollDone {
					lo.rebind(func() { bind(index(n - 1)) })
				}
				return r
			})
			return
		}
	}
	v := lo.eval(s.In)
	if a, ok := v.(*outerArray); ok {
		for _, row := range lo.elements(a, s.In) {
			each(row)
		}
		return
	}
	if r, ok := v.(Ref); ok {
		shape := lo.t.Shape(r)
		if len(shape) == 0 {
			lo.advise(s.In, "type", "range("+expr.Brief(expr.Sprint(s.In))+") counts from 0", "cannot walk over a scalar: for walks the leading axis of a tensor")
		}
		runSteps(shape[0], func(i int) { each(lo.t.pick(r, i)) }, func(first int) rollResult {
			done := lo.roll(s, first, shape[0], func(ro *rolling) value {
				return (&outerArray{ro, r}).load(ro.indexSlot())
			})
			if done == rollDone {
				lo.rebind(func() { bind(lo.t.pick(r, shape[0]-1)) })
			}
			return done
		})
		return
	}
	for _, e := range lo.elements(v, s.In) {
		each(e)
	}
}

// rangeOf reads range(to), range(from, to) or range(from, to, step): the first value,
// the step and how many there are.
func (lo *lowering) rangeOf(c *expr.Call) (from, step float64, n int) {
	var v []float64
	for _, a := range c.Args {
		v = append(v, lo.number(lo.eval(a.Value), a.Value))
	}
	step = 1
	var to float64
	switch len(v) {
	case 1:
		to = v[0]
	case 2:
		from, to = v[0], v[1]
	case 3:
		from, to, step = v[0], v[1], v[2]
	default:
		lo.fail(c, "type", "range takes 1 to 3 arguments, %d were given", len(v))
	}
	if step == 0 {
		lo.fail(c, "type", "range needs a step other than 0")
	}
	for i, a := range c.Args { // range(0, 1, 0.1) would hold fractions and call them int64
		if x := v[i]; x != math.Trunc(x) && (i != 1 && len(v) > 1) {
			lo.advise(a.Value, "type", "write a"+expr.Sprint(c)+" for fractions", "range counts in whole numbers, not %v", x)
		}
	}
	count := math.Ceil((to - from) / step)
	switch {
	case count != count || math.IsInf(count, 0):
		lo.fail(c, "type", "range(%v, %v, %v) has no end", from, to, step)
	case count > 1<<53:
		lo.fail(c, "type", "range(%v, %v, %v) has more than 2^53 steps", from, to, step)
	}
	return from, step, int(min(max(count, 0), math.MaxInt))
}

// elements takes a tuple, a record or the leading axis of a tensor apart.
func (lo *lowering) elements(v value, e expr.Expr) []value {
	switch v := v.(type) {
	case *tuple:
		return v.elems
	case *record:
		return v.elems
	}
	if s, _ := lo.shapeOf(v); len(s) > 0 {
		var out []value
		for i := range s[0] {
			out = append(out, lo.row(v, i))
		}
		return out
	}
	what := describe(v)
	if _, ok := v.(Ref); ok {
		what = "a scalar"
	}
	lo.advise(e, "type", "several values are written (a, b), or [a, b]", "cannot unpack %s", what)
	return nil
}

// shapeOf is the shape of a tensor, in a loop's body also of one of the program around it, which need
// not come into the body for that; false for what is none.
func (lo *lowering) shapeOf(v value) (tensor.Shape, bool) {
	switch v := v.(type) {
	case Ref:
		return lo.t.Shape(v), true
	case *outerArray:
		return v.lo.outer.t.Shape(v.r), true
	}
	return nil, false
}

// row is row i of such a tensor.
func (lo *lowering) row(v value, i int) Ref {
	if a, ok := v.(*outerArray); ok {
		return a.load(lo.t.constOf(float64(i), tensor.Int64))
	}
	return lo.t.pick(v.(Ref), i)
}

// name remembers what a value is called, for explain.
func (t *Tape) name(r Ref, name string) {
	if t.names == nil {
		t.names = map[Ref]string{}
	}
	if _, ok := t.names[r]; !ok && len(t.names) < 10000 {
		t.names[r] = name
	}
}
