package tape

import (
	"fmt"

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
	lent     bool   // a constant that a statement watches, until a reset
	input    bool
}

type scope struct {
	names  map[string]*slot
	parent *scope
}

// find is the slot of a name, here or in a scope around, or nil.
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
	grads    map[*Op]*gradRule // for operations
	cur      expr.Expr         // what is being lowered, for errors
	dtype    tensor.DType      // of numbers that the program writes
	body     int               // inside how many operations' bodies: positions stay at the call
	depth    int               // of calls
	off      []string          // reasons of the no_gradient blocks around, innermost last
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
	zero     bool          // nones of derivatives in the program are zeros
	leaves   map[Ref]*slot // the inputs inside structures, by their first value
	ends     []Ref         // of leadsTo
	above    []bool
	decided  conditions
	plain    conditions // values that are read as plain numbers: orders, axes, sizes and places
	swept    [][2]Ref   // from where to where derivatives that the program takes are recorded
	memo     memo
	steps    int // inside how many steps of loops

	notes   bool  // whether derivatives that the program takes are noted:
	derived []Ref // of what,
	slopes  []Ref // what they are,
	twice   bool  // and whether there are some of second order
}

const maxDepth = 5000

func newLowering(t *Tape, prog *expr.Program) *lowering {
	lo := &lowering{t: t, prog: prog, leaves: map[Ref]*slot{}, dtype: t.DType}
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

// failWith stops with an error at e, or, inside an operation's body, at the call.
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
		op, _ := Lookup(s.Name)
		if g := lo.grads[op]; g != nil {
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
		return lo.taken(s)
	case *expr.Block:
		return lo.branch(s)
	case *expr.While:
		lo.whileLoop(s)
	case *expr.For:
		lo.forLoop(s)
	case *expr.NoGradient:
		lo.memo.forget()
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

// taken lowers the branch of an if that the values take.
func (lo *lowering) taken(s *expr.If) (v value, ok bool) {
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
}

func (lo *lowering) whileLoop(s *expr.While) {
	w := lo.t.waits()
	for n := 0; lo.cond(s.Cond); n++ {
		w.step(lo.t, n)
		if n == 1 && lo.endless(s) { // not at once: of many loops in each other, most take one step
			lo.advise(s.Cond, "type", "bind a name of the condition anew in its body, as in x = x + 1", "this loop never ends: nothing in it changes the condition")
		}
		if (n == whileFrom || n == rollFrom) && n >= fewFrom && lo.rollWhile(s, n) == rollDone {
			break
		}
		lo.step(func() { lo.block(s.Body.Stmts) })
		lo.tick()
	}
}

// step is one of a loop that runs.
func (lo *lowering) step(f func()) {
	lo.steps++
	f()
	lo.steps--
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

// gradDef registers a gradient: with the function of the program that it is of, or for an
// operation.
func (lo *lowering) gradDef(s *expr.GradDef) {
	lo.memo.forget()
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
		lo.grads = map[*Op]*gradRule{}
	}
	lo.grads[op] = g
}

func spanOf(p expr.Pos, n int) *expr.Name {
	return &expr.Name{Span: expr.Span{Start: p, End: p + expr.Pos(n)}}
}

// cond evaluates a condition to a truth value now.
func (lo *lowering) cond(e expr.Expr) bool {
	r := lo.evalRef(e)
	lo.mark(e, e.Mark())
	return lo.decide(r)
}

// decide is the truth of the condition r.
func (lo *lowering) decide(r Ref) bool {
	if lo.steps == 0 && !lo.rolled { // a loop that becomes one instruction knows no more
		lo.decided.note(r, lo.t.pos)
	}
	return lo.t.Bool(r)
}
