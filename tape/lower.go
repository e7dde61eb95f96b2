package tape

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A value is what an expression stands for while it is lowered: a Ref, or
// *tuple, *record, callable, string, *none.
type value any

type tuple struct{ elems []value }

type record struct {
	names []string
	elems []value
}

// none is a gradient that does not exist, with the reason.
type none struct {
	why string
	of  *source // a source that the target only is not connected to
}

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
	val   value
	state *state // for variables: inputs and var
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
	t      *Tape
	prog   *expr.Program
	top    *scope
	scope  *scope
	grads  map[string]*gradRule // for operations
	cur    expr.Expr            // what is being lowered, for errors
	body   int                  // inside how many operations' bodies: positions stay at the call
	depth  int                  // of calls
	off    []string             // reasons of the no_gradient blocks around, innermost last
	random *stream
	seed   uint64
	check  func() // called now and then: panics when time is up
	ticks  int
	inputs []string
	rolled bool   // this is the body of a loop that becomes one instruction
	bound  string // the name bound last
	warn   func(w Warning)
	mode   string        // auto (""), forward or reverse, for Jacobians
	leaves map[Ref]*slot // the inputs inside structures, by their first value
	ends   []Ref         // of leadsTo
	above  []bool
}

const maxDepth = 5000

func newLowering(t *Tape, prog *expr.Program) *lowering {
	lo := &lowering{t: t, prog: prog, grads: map[string]*gradRule{}, leaves: map[Ref]*slot{}}
	lo.top = &scope{names: map[string]*slot{}}
	lo.scope = lo.top
	return lo
}

// fail stops with an error at e.
func (lo *lowering) fail(e interface{ Where() expr.Span }, kind, format string, args ...any) {
	m := &Misuse{Kind: kind, Msg: fmt.Sprintf(format, args...), Pos: expr.NoPos}
	lo.failWith(e, m)
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
	switch s := s.(type) {
	case *expr.ExprStmt:
		return lo.stopped(lo.eval(s.X)), true
	case *expr.Bind:
		return lo.bind(s), true
	case *expr.FuncDef:
		f := &closure{name: s.Name, params: s.Params, body: s.Body, scope: lo.scope}
		if g := lo.grads[s.Name]; g != nil {
			f.grad = g
		}
		lo.set(s.Name, f)
	case *expr.GradDef:
		lo.gradDef(s)
	case *expr.If:
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
				lo.fail(s.Cond, "type", "this loop never ends: nothing in it changes the condition")
			}
			if n == rollFrom && lo.rollWhile(s) == rollDone {
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

// bind runs an assignment.
func (lo *lowering) bind(s *expr.Bind) value {
	if s.Op != expr.Assign || s.Var {
		return lo.assign(s)
	}
	before := Ref(lo.t.Len())
	v := lo.eval(s.Value)
	if len(s.Targets) == 1 {
		return lo.set(s.Targets[0].Name, lo.named(v, before, s.Value))
	}
	parts := lo.elements(v, s.Value)
	if len(parts) != len(s.Targets) {
		lo.fail(s.Value, "type", "%d names for %d values", len(s.Targets), len(parts))
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

// mapRefs replaces every tensor of a structure.
func mapRefs(v value, f func(Ref) Ref) value {
	return mapLeaves(v, func(x value) value {
		if r, ok := x.(Ref); ok {
			return f(r)
		}
		return x
	})
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
		x.val = v
	} else { // a variable's slot stays with the variable
		lo.scope.names[name] = &slot{val: v}
	}
	lo.bound = name
	if r, ok := v.(Ref); ok && lo.body == 0 {
		lo.t.name(r, name)
	}
	return v
}

// assign runs var v = e, v := e, v += e and v -= e.
func (lo *lowering) assign(s *expr.Bind) value {
	name := s.Targets[0]
	x := lo.scope.find(name.Name)
	if s.Var {
		x = &slot{state: &state{name: name.Name}}
		lo.scope.names[name.Name] = x
	} else if x == nil {
		lo.unknown(name)
	}
	v := lo.eval(s.Value)
	if s.Op == expr.AddState || s.Op == expr.SubState {
		op := opAdd
		if s.Op == expr.SubState {
			op = opSub
		}
		lo.mark(name, s.OpPos)
		v = lo.t.Apply(op, lo.ref(x.val, name), lo.ref(v, s.Value))
	}
	r, ok := v.(Ref)
	if !ok {
		lo.fail(s.Value, "type", "a variable holds one tensor, not %s", describe(v))
	}
	if x.state == nil { // a name bound by = becomes a variable
		x.state = &state{name: name.Name}
		if old, ok := x.val.(Ref); ok && lo.t.Active(old) {
			x.state.versions = []Ref{old}
		}
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
		if x.state == nil {
			x.state = &state{name: n.Name, versions: []Ref{r}}
		}
		if s.Off {
			x.val = lo.t.stop(r, "unwatch "+n.Name+" at "+lo.place(s.Start))
			continue
		}
		if !lo.t.DTypeOf(r).IsFloat() {
			lo.fail(n, "type", "%s is %v: only floats have gradients", n.Name, lo.t.DTypeOf(r))
		}
		if x.state.frozen != "" {
			x.state.versions = nil
		}
		w := lo.t.add(opAlias, lo.t.ins[r].shape, lo.t.ins[r].dtype, 0, r)
		lo.t.ins[w].flags |= flagActive
		x.val, x.state.frozen = w, ""
		x.state.versions = append(x.state.versions, w)
	}
}

func (lo *lowering) gradDef(s *expr.GradDef) {
	g := &gradRule{def: s, scope: lo.scope}
	if len(s.Bodies) != len(s.Params) {
		lo.fail(spanOf(s.NamePos, len(s.Name)), "type", "gradient %s gives %d expressions for %d arguments", s.Name, len(s.Bodies), len(s.Params))
	}
	if x := lo.scope.find(s.Name); x != nil {
		f, ok := x.val.(*closure)
		if !ok {
			lo.fail(spanOf(s.NamePos, len(s.Name)), "type", "%s is not a function", s.Name)
		}
		if len(f.params) != len(s.Params) {
			lo.fail(spanOf(s.NamePos, len(s.Name)), "type", "%s takes %d arguments, its gradient %d", s.Name, len(f.params), len(s.Params))
		}
		f.grad = g
		return
	}
	if _, ok := Lookup(s.Name); !ok {
		lo.failWith(spanOf(s.NamePos, len(s.Name)), &Misuse{Kind: "name", Msg: "there is no function or operation " + s.Name, Hint: "a function is defined before its gradient", Pos: expr.NoPos})
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
					bind(index(n - 1))
				}
				return r
			})
			return
		}
	}
	v := lo.eval(s.In)
	if r, ok := v.(Ref); ok {
		shape := lo.t.Shape(r)
		if len(shape) == 0 {
			lo.fail(s.In, "type", "cannot walk over a scalar: for walks the leading axis of a tensor")
		}
		runSteps(shape[0], func(i int) { each(lo.t.pick(r, i)) }, func(first int) rollResult {
			done := lo.roll(s, first, shape[0], func(ro *rolling) value {
				return (&outerArray{ro, r}).load(ro.indexSlot())
			})
			if done == rollDone {
				bind(lo.t.pick(r, shape[0]-1))
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
	count := math.Ceil((to - from) / step)
	if count != count || count > 1<<53 {
		lo.fail(c, "type", "range(%v, %v, %v) has no end", from, to, step)
	}
	return from, step, int(max(count, 0))
}

// elements takes a tuple, a record or the leading axis of a tensor apart.
func (lo *lowering) elements(v value, e expr.Expr) []value {
	switch v := v.(type) {
	case *tuple:
		return v.elems
	case *record:
		return v.elems
	case Ref:
		s := lo.t.Shape(v)
		if len(s) > 0 {
			var out []value
			for i := range s[0] {
				out = append(out, lo.t.pick(v, i))
			}
			return out
		}
	}
	what := describe(v)
	if _, ok := v.(Ref); ok {
		what = "a scalar"
	}
	lo.fail(e, "type", "cannot unpack %s", what)
	return nil
}

// describe says what a value is.
func describe(v value) string {
	switch v := v.(type) {
	case Ref:
		return "a tensor"
	case *tuple:
		return fmt.Sprintf("a tuple of %d", len(v.elems))
	case *record:
		if len(v.names) == 0 {
			return "an empty record (an object without fields)"
		}
		return "a record (an object with the fields " + expr.Some(v.names) + ")"
	case string:
		return "a string"
	case *none:
		return "none (" + v.why + ")"
	case nil:
		return "nothing"
	}
	return "a function"
}

// mark sets what errors and recorded instructions point at.
func (lo *lowering) mark(e expr.Expr, p expr.Pos) {
	if lo.body == 0 {
		lo.cur, lo.t.pos = e, p
	}
}

// ref demands a tensor.
func (lo *lowering) ref(v value, e expr.Expr) Ref {
	switch v := v.(type) {
	case Ref:
		return v
	case *outerArray:
		return v.lo.whole(v.r)
	}
	lo.noTensor(v, e, "a tensor is needed here")
	return None
}

// noTensor reports a value of another kind, and how one gets a tensor from it.
func (lo *lowering) noTensor(v value, e expr.Expr, needed string) {
	m := &Misuse{Kind: "type", Msg: needed + ", this is " + describe(v), Pos: expr.NoPos}
	text := "it"
	if n, ok := e.(*expr.Name); ok {
		text = n.Name
	}
	switch v := v.(type) {
	case *tuple:
		m.Hint = text + "[0] is its first part; a tensor is written [a, b]"
	case *record:
		if len(v.names) > 0 {
			m.Hint = text + "." + v.names[0] + " is its first field"
		}
	case callable:
		if text == "it" || text == "" {
			text = "f"
		}
		m.Hint = "a call is written " + text + "(…)"
	}
	lo.failWith(e, m)
}

func (lo *lowering) evalRef(e expr.Expr) Ref { return lo.ref(lo.eval(e), e) }

// number demands a known single number.
func (lo *lowering) number(v value, e expr.Expr) float64 {
	r := lo.ref(v, e)
	if lo.t.size(r) != 1 {
		lo.fail(e, "type", "one number is needed here, not a tensor of shape %v", lo.t.Shape(r))
	}
	return lo.t.read(r)[0]
}

// eval lowers an expression.
func (lo *lowering) eval(e expr.Expr) value {
	switch e := e.(type) {
	case *expr.Num:
		return lo.t.Const(e.Value)
	case *expr.Name:
		return lo.lookup(e)
	case *expr.Str:
		return e.Value
	case *expr.Unary:
		x := lo.evalRef(e.X)
		lo.mark(e, e.Mark())
		switch e.Op {
		case expr.Minus:
			return lo.t.Apply(opNeg, x)
		case expr.Not:
			return lo.t.apply("logical_not", x)
		}
		return x
	case *expr.Binary:
		return lo.binary(e)
	case *expr.Cond:
		if lo.cond(e.C) {
			return lo.eval(e.A)
		}
		return lo.eval(e.B)
	case *expr.Call:
		return lo.evalCall(e)
	case *expr.Index:
		return lo.index(e)
	case *expr.Field:
		return lo.field(e)
	case *expr.List:
		return lo.list(e)
	case *expr.Tuple:
		out := &tuple{}
		for _, x := range e.Elems {
			out.elems = append(out.elems, lo.eval(x))
		}
		return out
	case *expr.Record:
		out := &record{}
		for _, f := range e.Fields {
			if slices.Contains(out.names, f.Name) {
				lo.fail(spanOf(f.NamePos, len(f.Name)), "name", "the field %s is given twice", f.Name)
			}
			out.names, out.elems = append(out.names, f.Name), append(out.elems, lo.eval(f.Value))
		}
		return out
	case *expr.Lambda:
		return &closure{name: "function", params: e.Params, result: e.Body, scope: lo.scope}
	}
	panic(fmt.Sprintf("tape: expression %T", e))
}

// binary lowers a chain of infix operators, iteratively along its left spine: a sum
// of 200000 terms must not need as deep a stack.
func (lo *lowering) binary(e *expr.Binary) value {
	var spine []*expr.Binary
	var x expr.Expr = e
	for {
		b, ok := x.(*expr.Binary)
		if !ok || b.Op == expr.And || b.Op == expr.Or {
			break
		}
		spine = append(spine, b)
		x = b.X
	}
	if len(spine) == 0 {
		return lo.lazy(e)
	}
	left := lo.eval(x)
	var at *expr.Binary // the operator at work
	var l, r Ref
	defer func() {
		if p := recover(); p != nil {
			if m, ok := p.(*Misuse); ok && at != nil && m.Kind == "shape" {
				m.Note = lo.operands(at, l, r, m.Note)
			}
			panic(p)
		}
	}()
	for i := len(spine) - 1; i >= 0; i-- {
		b := spine[i]
		l = lo.ref(left, b.X)
		r = lo.evalRef(b.Y)
		lo.mark(b, b.OpPos)
		at = b
		left = lo.infix(b.Op, l, r)
		at = nil
	}
	return left
}

// operands says which named operand has which shape, before what else there is to note.
func (lo *lowering) operands(b *expr.Binary, l, r Ref, note string) string {
	x, okX := b.X.(*expr.Name)
	y, okY := b.Y.(*expr.Name)
	if !okX || !okY || lo.body > 0 {
		return note
	}
	s := x.Name + " is " + lo.t.Shape(l).String() + ", " + y.Name + " is " + lo.t.Shape(r).String()
	if note != "" {
		s += ": " + note
	}
	return s
}

func (lo *lowering) infix(op expr.Kind, x, y Ref) Ref {
	switch op {
	case expr.Plus:
		return lo.t.Apply(opAdd, x, y)
	case expr.Minus:
		return lo.t.Apply(opSub, x, y)
	case expr.Times:
		return lo.t.Apply(opMul, x, y)
	case expr.Divide:
		return lo.t.Apply(opDiv, x, y)
	case expr.Pow:
		return lo.t.Apply(opPow, x, y)
	case expr.MatMul:
		return lo.t.matmul(x, y)
	}
	return lo.t.apply(binaryOps[op], x, y)
}

// lazy lowers && and ||: on scalars the right side runs only when it matters.
func (lo *lowering) lazy(e *expr.Binary) value {
	x := lo.evalRef(e.X)
	if lo.t.Shape(x).Size() == 1 && len(lo.t.Shape(x)) == 0 && len(lo.t.Axes(x)) == 0 {
		lo.mark(e, e.OpPos)
		if lo.t.Bool(x) == (e.Op == expr.Or) {
			return lo.t.constOf(map[bool]float64{true: 1, false: 0}[e.Op == expr.Or], tensor.Bool)
		}
		y := lo.evalRef(e.Y)
		lo.mark(e, e.OpPos)
		return lo.t.apply("not_equal", y, lo.t.Const(0))
	}
	y := lo.evalRef(e.Y)
	lo.mark(e, e.OpPos)
	return lo.t.apply(binaryOps[e.Op], x, y)
}

func (lo *lowering) lookup(e *expr.Name) value {
	if x := lo.scope.find(e.Name); x != nil {
		if x.val == nil {
			lo.unknown(e)
		}
		return x.val
	}
	switch e.Name {
	case "true":
		return lo.t.constOf(1, tensor.Bool)
	case "false":
		return lo.t.constOf(0, tensor.Bool)
	case "None", "none", "newaxis":
		return &none{why: noneItself}
	case "int64", "float64", "float32", "bool":
		if _, ok := Lookup(e.Name); ok {
			return &builtin{name: e.Name, f: func(lo *lowering, args []value, at *expr.Call) value {
				return lo.applyOp(table.find(e.Name), args, nil, at)
			}}
		}
	}
	if v, ok := namedConstant(e.Name); ok {
		return lo.t.Const(v)
	}
	if f := formNamed(e.Name); f != nil {
		return &builtin{name: e.Name, f: f.apply}
	}
	if op, ok := Lookup(e.Name); ok {
		return &builtin{name: e.Name, f: func(lo *lowering, args []value, at *expr.Call) value { return lo.applyOp(op, args, nil, at) }}
	}
	lo.unknown(e)
	return nil
}

// Known reports whether the language itself has a meaning for a name: what lookup finds
// in no scope.
func Known(name string) bool {
	switch name {
	case "true", "false", "None", "none", "newaxis":
		return true
	}
	_, isConst := namedConstant(name)
	_, isOp := Lookup(name)
	return isConst || isOp || formNamed(name) != nil
}

// unknown reports a name that nothing knows.
func (lo *lowering) unknown(e *expr.Name) {
	var names []string
	for s := lo.scope; s != nil; s = s.parent {
		for n := range s.names {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	m := &Misuse{Kind: "name", Msg: "unknown name " + e.Name, Pos: expr.NoPos}
	if Known(e.Name) {
		m.Msg = e.Name + " is not a variable"
	} else if hint := expr.Foreign(e.Name); hint != "" {
		m.Hint = hint
	} else if g := expr.Suggest(e.Name, names); g != "" {
		m.Hint = "did you mean " + g + "?"
	} else if g := expr.Suggest(e.Name, callNames()); g != "" {
		m.Hint = "did you mean the function " + g + "?"
	} else if len(lo.inputs) > 0 {
		m.Hint = "the inputs are " + expr.Some(lo.inputs)
	} else {
		m.Hint = "give it a value: --at " + e.Name + "=…"
	}
	lo.failWith(e, m)
}

// callNames lists what can be called.
func callNames() []string {
	var names []string
	for _, op := range All() {
		names = append(append(names, op.Name), op.Alias...)
	}
	for _, f := range forms {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// field lowers x.name.
func (lo *lowering) field(e *expr.Field) value {
	v := lo.eval(e.X)
	if rec, ok := v.(*record); ok {
		for i, n := range rec.names {
			if n == e.Name {
				return rec.elems[i]
			}
		}
		lo.failWith(e, &Misuse{Kind: "name", Msg: "no field " + e.Name + ": the record has " + expr.Some(rec.names), Hint: expr.DidYouMean(e.Name, rec.names), Pos: expr.NoPos})
	}
	r := lo.ref(v, e.X)
	s := lo.t.Shape(r)
	lo.mark(e, e.NamePos)
	switch e.Name {
	case "T":
		perm := make([]int, len(s))
		for i := range perm {
			perm[i] = len(s) - 1 - i
		}
		return lo.t.transpose(r, perm)
	case "shape":
		out := &tuple{}
		for _, d := range s {
			out.elems = append(out.elems, lo.t.constOf(float64(d), tensor.Int64))
		}
		return out
	case "size":
		return lo.t.constOf(float64(s.Size()), tensor.Int64)
	case "ndim":
		return lo.t.constOf(float64(len(s)), tensor.Int64)
	case "dtype":
		return lo.t.DTypeOf(r).String()
	}
	m := &Misuse{Kind: "name", Msg: "a tensor has no attribute " + e.Name, Hint: "T, shape, size, ndim, dtype", Pos: expr.NoPos}
	if Known(e.Name) {
		x := "x"
		if n, ok := e.X.(*expr.Name); ok {
			x = n.Name
		}
		m.Hint = "write " + e.Name + "(" + x + ")"
	} else if hint := expr.Foreign(e.Name); hint != "" {
		m.Hint = hint
	}
	lo.failWith(e, m)
	return nil
}

// list lowers [a, b, …]: written numbers become one constant, anything else is stacked.
func (lo *lowering) list(e *expr.List) value {
	refs := make([]Ref, len(e.Elems))
	written := true
	for i, x := range e.Elems {
		refs[i] = lo.evalRef(x)
		written = written && lo.t.ins[refs[i]].Op == opConst
	}
	lo.mark(e, e.Mark())
	if len(refs) == 0 {
		return lo.t.Tensor(&tensor.Tensor{DType: lo.t.DType, Shape: tensor.Shape{0}})
	}
	first := lo.t.Shape(refs[0])
	for i, r := range refs {
		if !lo.t.Shape(r).Equal(first) {
			lo.fail(e.Elems[i], "shape", "element %d of the list has shape %v, the first has %v", i, lo.t.Shape(r), first)
		}
	}
	if written {
		out := &tensor.Tensor{DType: lo.t.DTypeOf(refs[0]), Shape: append(tensor.Shape{len(refs)}, first...)}
		for _, r := range refs {
			out.DType = promote(out.DType, lo.t.DTypeOf(r))
			out.Data = append(out.Data, lo.t.data(r)...)
		}
		return lo.t.Tensor(out)
	}
	return lo.t.stack(refs, 0)
}

// evalCall lowers f(args).
func (lo *lowering) evalCall(e *expr.Call) value {
	n, named := e.Fun.(*expr.Name)
	if named {
		x := lo.scope.find(n.Name)
		if x != nil {
			if f, ok := x.val.(callable); ok {
				return f.call(lo, lo.plainArgs(e), e)
			}
		}
		if f := formNamed(n.Name); f != nil {
			if f.call == nil {
				return lo.derivative(f.Name, e)
			}
			return f.call(lo, lo.plainArgs(e), e)
		}
		if op, ok := lo.operation(n.Name); ok {
			args, names := lo.opArgs(op, e)
			if g := lo.grads[n.Name]; g != nil {
				return lo.withRule(g, args, e, func(xs []value) value { return lo.applyOp(op, xs, names, e) })
			}
			return lo.applyOp(op, args, names, e)
		}
		if x != nil {
			lo.failWith(n, &Misuse{Kind: "type", Msg: n.Name + " is not a function: it is " + describe(x.val), Hint: "a product is written " + n.Name + "*(…)", Pos: expr.NoPos})
		}
		m := &Misuse{Kind: "name", Msg: "unknown function " + n.Name, Pos: expr.NoPos}
		if m.Hint = expr.Foreign(n.Name); m.Hint != "" {
		} else if g := expr.Suggest(n.Name, append(lo.functionNames(), callNames()...)); g != "" {
			m.Hint = "did you mean " + g + "?"
		} else {
			m.Hint = "nabla ops lists every operation"
		}
		lo.failWith(n, m)
	}
	f, ok := lo.eval(e.Fun).(callable)
	if !ok {
		lo.fail(e.Fun, "type", "this is not a function")
	}
	return f.call(lo, lo.plainArgs(e), e)
}

// operation finds a row; bodies of rows may use the hidden ones.
func (lo *lowering) operation(name string) (*Op, bool) {
	if lo.body > 0 {
		op := table.find(name)
		return op, op != nil
	}
	return Lookup(name)
}

func (lo *lowering) functionNames() []string {
	var names []string
	for s := lo.scope; s != nil; s = s.parent {
		for n, x := range s.names {
			if _, ok := x.val.(callable); ok {
				names = append(names, n)
			}
		}
	}
	return names
}

// args evaluates arguments and their names, which are nil when there are none.
func (lo *lowering) args(e *expr.Call) (vals []value, names []string) {
	vals = make([]value, len(e.Args))
	for i, a := range e.Args {
		vals[i] = lo.eval(a.Value)
		if a.Name != "" {
			if names == nil {
				names = make([]string, len(e.Args))
			}
			names[i] = a.Name
		}
	}
	return vals, names
}

// opArgs is args for an operation: the list of a concat is not stacked.
func (lo *lowering) opArgs(op *Op, e *expr.Call) ([]value, []string) {
	if !op.Seq || len(e.Args) == 0 {
		return lo.args(e)
	}
	l, ok := e.Args[0].Value.(*expr.List)
	if !ok {
		return lo.args(e)
	}
	rest := *e
	rest.Args = e.Args[1:]
	vals, names := lo.args(&rest)
	xs := &tuple{}
	for _, x := range l.Elems {
		xs.elems = append(xs.elems, lo.eval(x))
	}
	if names != nil || e.Args[0].Name != "" {
		names = append([]string{e.Args[0].Name}, append(names, make([]string, len(vals)-len(names))...)...)
	}
	return append([]value{xs}, vals...), names
}

// plainArgs evaluates positional arguments.
func (lo *lowering) plainArgs(e *expr.Call) []value {
	vals, names := lo.args(e)
	for i, n := range names {
		if n != "" {
			lo.fail(spanOf(e.Args[i].NamePos, len(n)), "type", "arguments of this function have no names")
		}
	}
	return vals
}

func (b *builtin) call(lo *lowering, args []value, at *expr.Call) value { return b.f(lo, args, at) }

// call runs a user's function: its names are its own, its scope is where it was written.
func (f *closure) call(lo *lowering, args []value, at *expr.Call) value {
	if len(args) != len(f.params) {
		lo.arity(at, f.name, len(f.params), len(args))
	}
	run := func(xs []value) value {
		if lo.depth++; lo.depth > maxDepth {
			lo.fail(at, "type", "%s calls itself more than %d times", f.name, maxDepth)
		}
		saved := lo.scope
		lo.scope = &scope{names: make(map[string]*slot, len(xs)), parent: f.scope}
		for i, p := range f.params {
			lo.scope.names[p.Name] = &slot{val: lo.own(xs[i])}
		}
		var v value
		if f.result != nil {
			v = lo.eval(f.result)
		} else {
			v = lo.block(f.body.Stmts)
		}
		lo.scope = saved
		lo.depth--
		if v == nil {
			lo.fail(at, "type", "%s gives no value", f.name)
		}
		return v
	}
	if f.grad != nil {
		return lo.withRule(f.grad, args, at, run)
	}
	return run(args)
}

// arity reports a wrong number of arguments, at the first one too many or the end.
func (lo *lowering) arity(at *expr.Call, name string, want, got int) {
	var e interface{ Where() expr.Span } = at
	if got > want && want > 0 && at != nil && len(at.Args) > want {
		end := at.Args[want-1].Value.Where().End
		e = &expr.Name{Span: expr.Span{Start: end, End: at.Where().End - 1}}
	}
	m := &Misuse{Kind: "type", Msg: name + " takes " + expr.Plural(want, "argument") + ", " + wereGiven(got), Pos: expr.NoPos}
	if op, ok := Lookup(name); ok && lo.scope.find(name) == nil {
		m.Note = op.Signature()
	}
	lo.failWith(e, m)
}

// wereGiven says how many arguments there are where others are wanted.
func wereGiven(n int) string {
	if n == 1 {
		return "1 was given"
	}
	return fmt.Sprintf("%d were given", n)
}

// withRule runs a function under a registered gradient: its value passes through, the
// cotangent of each argument is the user's text.
func (lo *lowering) withRule(g *gradRule, args []value, at *expr.Call, run func([]value) value) value {
	t := lo.t
	refs := make([]Ref, 0, len(args)+1)
	refs = append(refs, None)
	for i, a := range args {
		r, ok := a.(Ref)
		if !ok {
			lo.fail(at.Args[i].Value, "type", "a function with a custom gradient takes tensors, this is %s", describe(a))
		}
		refs = append(refs, r)
	}
	if len(args) != len(g.def.Params) {
		lo.arity(at, g.def.Name, len(g.def.Params), len(args))
	}
	v, ok := run(args).(Ref)
	if !ok {
		lo.fail(at, "type", "a function with a custom gradient gives one tensor")
	}
	lo.mark(at, at.Mark())
	refs[0] = v
	rule := func(i int, ct Ref) Ref {
		saved, depth := lo.scope, lo.depth
		off := lo.off
		lo.off = nil
		lo.scope = &scope{names: map[string]*slot{}, parent: g.scope}
		for k, p := range g.def.Params {
			lo.scope.names[p.Name] = &slot{val: refs[1+k]}
		}
		lo.scope.names[g.def.Upstream.Name] = &slot{val: ct}
		if lo.depth++; lo.depth > maxDepth {
			lo.fail(at, "type", "the gradient of %s needs itself more than %d times", g.def.Name, maxDepth)
		}
		out := lo.evalRef(g.def.Bodies[i])
		lo.scope, lo.depth, lo.off = saved, depth, off
		want := t.Shape(refs[1+i])
		if s, ok := broadcast(t.Shape(out), want); !ok || !s.Equal(want) {
			lo.fail(g.def.Bodies[i], "shape", "the gradient of %s for %s has shape %v, the argument has %v", g.def.Name, g.def.Params[i].Name, t.Shape(out), want)
		}
		return out
	}
	out := t.add(opWithGrad, t.ins[v].shape, t.ins[v].dtype, t.newAttr(Attr{Text: g.def.Name, Adj: rule}), refs...)
	for _, r := range refs[1:] {
		if t.Active(r) && t.ins[v].dtype.IsFloat() {
			t.ins[out].flags |= flagActive
		}
	}
	return out
}

var opStop, opAssign, opWithGrad *Op

func runCopy(c *run) { copy(c.out, c.args[0]) }

var controlRows = []Op{
	{As: &opStop, Name: "stop", Args: "x", Hidden: true, Doc: "a value through which no gradient passes, with the reason", Stops: "stopped", Run: runCopy},
	{As: &opAssign, Name: "assign", Args: "x", Hidden: true, Doc: "a new value of a variable: its history is forgotten", Stops: "state", Run: runCopy},
	{As: &opWithGrad, Name: "with_grad", Args: "value, *x", Hidden: true, Doc: "a value whose gradient is a user's text", Run: runCopy,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 0 {
				return None
			}
			return t.Attr(r).Adj(i-1, t.full(ct, r))
		}},
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

// A call gives an operation's Call its arguments by position in the signature.
type call struct {
	lo   *lowering
	t    *Tape
	op   *Op
	at   *expr.Call
	vals []value // nil where left out
	rest []value // of a variadic parameter
}

// applyOp calls an operation of the table.
func (lo *lowering) applyOp(op *Op, args []value, names []string, at *expr.Call) value {
	params := op.signature()
	if op.elementwise() && names == nil || op.elementwise() && len(args) == op.arity() && allEmpty(names) {
		if len(args) != op.arity() {
			lo.arity(at, op.Name, op.arity(), len(args))
		}
		var r [3]Ref
		for i, a := range args {
			r[i] = lo.ref(a, lo.argExpr(at, i))
		}
		lo.mark(at, at.Mark())
		return lo.t.Apply(op, r[:len(args)]...)
	}
	c := &call{lo: lo, t: lo.t, op: op, at: at, vals: make([]value, len(params))}
	next := 0
	for i, a := range args {
		if names != nil && names[i] != "" {
			k := slices.IndexFunc(params, func(p param) bool { return p.name == names[i] })
			if k < 0 {
				var have []string
				for _, p := range params {
					have = append(have, p.name)
				}
				m := &Misuse{Kind: "type", Msg: op.Name + " has no argument " + names[i], Hint: expr.DidYouMean(names[i], have), Note: op.Signature(), Pos: expr.NoPos}
				lo.failWith(spanOf(at.Args[i].NamePos, len(names[i])), m)
			}
			if c.vals[k] != nil {
				lo.fail(spanOf(at.Args[i].NamePos, len(names[i])), "type", "%s is given twice", names[i])
			}
			c.vals[k] = a
			continue
		}
		switch {
		case next < len(params) && params[next].variadic:
			c.rest = append(c.rest, a)
		case next >= len(params):
			required := 0
			for _, p := range params {
				if p.def == nil {
					required++
				}
			}
			if required < len(params) {
				end := lo.argExpr(at, len(params)-1).Where().End
				lo.fail(&expr.Name{Span: expr.Span{Start: end, End: at.Where().End - 1}}, "type", "%s takes at most %d arguments, %d were given: %s", op.Name, len(params), len(args), op.Signature())
			}
			lo.arity(at, op.Name, len(params), len(args))
		default:
			c.vals[next] = a
			next++
		}
	}
	for i, p := range params {
		if c.vals[i] != nil || p.variadic {
			continue
		}
		if p.def == nil {
			required := 0
			for _, q := range params {
				if q.def == nil && !q.variadic {
					required++
				}
			}
			if required == len(params) {
				lo.arity(at, op.Name, required, len(args))
			}
			lo.fail(at, "type", "%s needs %s: %s", op.Name, p.name, op.Signature())
		}
		lo.body++
		c.vals[i] = lo.eval(p.def)
		lo.body--
	}
	if op.Seq {
		c.oneList(args, names)
	}
	lo.mark(at, at.Mark())
	variant := lo.t.variant(op)
	switch {
	case variant != nil && variant.Body != "":
		return lo.runBody(variant, c)
	case op.elementwise():
		var r [3]Ref
		for i := range c.vals {
			r[i] = c.ref(i)
		}
		return lo.t.Apply(op, r[:len(c.vals)]...)
	case op.Call == nil:
		return lo.runBody(op, c)
	}
	return op.Call(c)
}

func allEmpty(names []string) bool {
	for _, n := range names {
		if n != "" {
			return false
		}
	}
	return true
}

// runBody calls an operation that is written in nabla's own language.
func (lo *lowering) runBody(op *Op, c *call) value {
	saved := lo.scope
	lo.scope = &scope{names: map[string]*slot{}}
	for i, p := range op.signature() {
		lo.scope.names[p.name] = &slot{val: c.vals[i]}
	}
	if lo.body == 0 {
		defer func() { // what is wrong inside is told of what the user called
			p := recover()
			if m, ok := p.(*Misuse); ok && !strings.Contains(m.Msg, op.Name) {
				m.Msg = op.Name + ": " + m.Msg
			}
			if p != nil {
				panic(p)
			}
		}()
	}
	lo.body++
	off := lo.off
	lo.off = nil
	v := lo.block(op.body().Stmts)
	lo.off = off
	lo.body--
	lo.scope = saved
	return v
}

// body parses Body on first use.
func (op *Op) body() *expr.Program {
	rulesMu.Lock()
	defer rulesMu.Unlock()
	if op.prog == nil {
		p, err := expr.Parse(op.Name, op.Body)
		if err != nil {
			panic("body of " + op.Name + ": " + err.Error())
		}
		op.prog = p
	}
	return op.prog
}

func (lo *lowering) argExpr(at *expr.Call, i int) expr.Expr {
	if at != nil && i < len(at.Args) {
		return at.Args[i].Value
	}
	if at != nil {
		return at
	}
	return &expr.Name{}
}

// given reports whether argument i was given and is not None.
func (c *call) given(i int) bool {
	_, isNone := c.vals[i].(*none)
	return c.vals[i] != nil && !isNone
}

// where is the text of argument i, or the call.
func (c *call) where(i int) expr.Expr {
	name := c.op.signature()[i].name
	pos := 0
	for _, a := range c.at.Args {
		if a.Name == name || a.Name == "" && pos == i {
			return a.Value
		}
		if a.Name == "" {
			pos++
		}
	}
	return c.at
}

func (c *call) ref(i int) Ref {
	r := c.lo.ref(c.vals[i], c.where(i))
	c.lo.mark(c.at, c.at.Mark())
	return r
}

// oneList refuses concat(a, b), where tensors stand one by one instead of in a list.
func (c *call) oneList(args []value, names []string) {
	if len(args) < 2 || !allEmpty(names) {
		return
	}
	x, ok1 := args[0].(Ref)
	y, ok2 := args[1].(Ref)
	if ok1 && ok2 && (len(c.t.Shape(x)) == 0 || len(c.t.Shape(y)) > 0) {
		c.lo.failWith(c.at, &Misuse{Kind: "type", Msg: c.op.Name + " takes its tensors in a list", Hint: "write " + c.op.Name + "([a, b])", Pos: expr.NoPos})
	}
}

// refs takes a tuple, a list or the arguments themselves: concat([a, b]), concat((a, b)).
func (c *call) refs(v value, e expr.Expr) []Ref {
	switch v := v.(type) {
	case *tuple:
		out := make([]Ref, len(v.elems))
		for i, x := range v.elems {
			out[i] = c.lo.ref(x, e)
		}
		return out
	case Ref:
		if s := c.t.Shape(v); len(s) > 0 {
			var out []Ref
			for i := range s[0] {
				out = append(out, c.t.pick(v, i))
			}
			return out
		}
	}
	c.lo.fail(e, "type", "a list of tensors is needed here, this is %s", describe(v))
	return nil
}

// num is a known number.
func (c *call) num(i int) float64 { return c.lo.number(c.vals[i], c.where(i)) }

// int is a known whole number.
func (c *call) int(i int) int { return c.whole(c.num(i), c.where(i)) }

func (c *call) whole(v float64, e expr.Expr) int {
	switch {
	case v != math.Trunc(v) || math.IsInf(v, 0):
		c.lo.fail(e, "type", "%s needs a whole number here, not %v", c.op.Name, v)
	case math.Abs(v) > 1<<53:
		c.lo.fail(e, "type", "%v is too large for %s", v, c.op.Name)
	}
	return int(v)
}

func (c *call) bool(i int) bool { return c.num(i) != 0 }

func (c *call) str(i int) string {
	s, ok := c.vals[i].(string)
	if !ok {
		c.lo.fail(c.where(i), "type", "%s needs a string here", c.op.Name)
	}
	return s
}

// ints is a known list of whole numbers: 3, (3, 4) or [3, 4].
func (c *call) ints(i int) []int { return c.intsOf(c.vals[i], c.where(i)) }

func (c *call) intsOf(v value, e expr.Expr) []int {
	switch v := v.(type) {
	case *tuple:
		out := []int{}
		for _, x := range v.elems {
			out = append(out, c.whole(c.lo.number(x, e), e))
		}
		return out
	case Ref:
		if len(c.t.Shape(v)) > 1 || len(c.t.Axes(v)) > 0 {
			break
		}
		out := []int{}
		for _, x := range c.t.read(v) {
			out = append(out, c.whole(x, e))
		}
		return out
	}
	c.lo.fail(e, "type", "%s needs whole numbers here, this is %s", c.op.Name, describe(v))
	return nil
}

// axes is the axis argument of a reduction, from the right; all axes when left out.
func (c *call) axes(i int, s tensor.Shape) []int {
	if !c.given(i) {
		var all []int
		for a := range s {
			all = append(all, a-len(s))
		}
		return all
	}
	var out []int
	for _, a := range c.ints(i) {
		x := c.axis(a, len(s), i)
		if slices.Contains(out, x) {
			c.lo.fail(c.where(i), "shape", "axis %d is given twice", a)
		}
		out = append(out, x)
	}
	slices.Sort(out)
	return out
}

func (c *call) axis(a, rank, i int) int {
	if a < -rank || a >= rank {
		c.lo.fail(c.where(i), "shape", "axis %d is out of range for %s", a, axes(rank))
	}
	if a >= 0 {
		a -= rank
	}
	return a
}

// fail reports a misuse of the operation at the call.
func (c *call) fail(kind, format string, args ...any) { c.lo.fail(c.at, kind, format, args...) }
