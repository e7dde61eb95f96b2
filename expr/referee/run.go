package referee

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A frame holds the names of one function call, or of the program. A block is not
// a frame: what it binds stays visible.
type frame struct {
	vars  map[string]any
	state map[string]bool // which of them are variables: inputs and var
	up    *frame
}

func (f *frame) lookup(name string) (any, bool) {
	if f = f.home(name); f == nil {
		return nil, false
	}
	return f.vars[name], true
}

// home is the innermost frame that has the name; nil if none has it.
func (f *frame) home(name string) *frame {
	for ; f != nil; f = f.up {
		if _, ok := f.vars[name]; ok {
			return f
		}
	}
	return nil
}

// variable says whether a name of f is a variable from here on.
func (f *frame) variable(name string, is bool) {
	if f.state[name] == is {
		return
	}
	if f.state == nil {
		f.state = map[string]bool{}
	}
	f.state[name] = is
}

// A machine is one run of a program.
type machine struct {
	*barriers
	e       *Evaluator
	top     *frame
	depth   int            // of calls
	levels  int            // of expressions being evaluated
	steps   int            // expressions evaluated so far
	count   map[string]int // bindings of each name at the top of the program
	touched []touch        // every binding, in order
	last    any            // the value bound last
	bound   bool

	// What sources stand for. Where = gives the name of an input to another value, the source
	// stays the input.
	given map[string]*tensor.Value // the inputs
	anew  map[string]bool          // names that = has bound
	turns map[string]int           // the changes of each source
	ends  map[string]any           // what the last of them gave
}

// A touch is one binding.
type touch struct {
	f    *frame
	name string
}

// Where a run is refused: a recursion that deep, so many levels of expressions
// on govaluate's stack at once (each takes about a kilobyte), so many expressions evaluated.
const (
	maxCalls  = 2000
	maxLevels = 200_000
	maxSteps  = 2_000_000
)

// barriers are the values that passed a barrier, in order: written by the run at
// the base point, replayed by every other.
type barriers struct {
	tape   []any
	next   int
	replay bool
	pins   map[string]*tensor.Value
	last   map[string]int
}

// pass gives what a barrier lets through: v itself, or what passed at the base point.
func (b *barriers) pass(v any) any {
	switch {
	case b == nil:
		return v
	case !b.replay:
		b.tape = append(b.tape, v)
		return v
	case b.next == len(b.tape):
		fail("the program takes another path than at the point itself")
	}
	b.next++
	return b.tape[b.next-1]
}

// barrier is the one operation that needs to know the run.
const barrier = "stop_gradient"

func (m *machine) stop(pos []any, kw map[string]any) any {
	if len(pos) != 1 || len(kw) > 0 {
		fail("%s takes one argument", barrier)
	}
	return m.pass(pos[0])
}

// names notes every name that the program gives a meaning, and whether it assigns to state.
func (e *Evaluator) names() {
	expr.Walk(e.prog, func(n any) bool {
		switch n := n.(type) {
		case *expr.Bind:
			e.state = e.state || n.Op != expr.Assign
			for _, t := range n.Targets {
				e.bound[t.Name] = true
			}
		case *expr.FuncDef:
			e.bound[n.Name] = true
			e.params(n.Params)
		case *expr.Lambda:
			e.params(n.Params)
		case *expr.For:
			for _, t := range n.Names {
				e.bound[t.Name] = true
			}
		}
		return true
	})
}

func (e *Evaluator) params(ps []expr.Param) {
	for _, p := range ps {
		e.bound[p.Name] = true
	}
}

// block runs statements. Its value is that of the expression at its end, or what
// was bound last.
func (m *machine) block(stmts []expr.Stmt, f *frame) (any, bool) {
	var out any
	var ok bool
	for i, s := range stmts {
		out, ok = m.stmt(s, f, i == len(stmts)-1)
	}
	if ok {
		return out, true
	}
	return m.last, m.bound
}

// stmt runs one statement and gives its value, if it has one.
func (m *machine) stmt(s expr.Stmt, f *frame, end bool) (any, bool) {
	switch s := s.(type) {
	case *expr.ExprStmt:
		return m.eval(s.X, f), true
	case *expr.Bind:
		m.bind(s, f)
	case *expr.FuncDef:
		f.vars[s.Name] = &closure{m: m, name: s.Name, params: s.Params, body: s.Body.Stmts, up: f}
	case *expr.If:
		if truth(m.eval(s.Cond, f)) {
			return m.inside(s.Then.Stmts, f, end)
		} else if s.Else != nil {
			return m.stmt(s.Else, f, end)
		}
	case *expr.Block:
		return m.inside(s.Stmts, f, end)
	case *expr.While:
		for truth(m.eval(s.Cond, f)) {
			m.inside(s.Body.Stmts, f, false)
		}
	case *expr.For:
		for _, v := range items(m.eval(s.In, f)) {
			m.unpack(s.Names, v, f)
			m.inside(s.Body.Stmts, f, false)
		}
	case *expr.NoGradient:
		start := len(m.touched)
		out, ok := m.inside(s.Body.Stmts, f, end)
		names := map[string]any{}
		for _, t := range m.touched[start:] {
			if t.f == f {
				names[t.name] = nil
			}
		}
		for _, k := range keys(names) {
			f.vars[k] = m.pass(f.vars[k])
		}
		if ok {
			out = m.pass(out)
		}
		return out, ok
	case *expr.Reset:
		// Everything so far is a constant from here on, except the inputs themselves,
		// and those are the names that no statement has bound.
		for _, k := range keys(f.vars) {
			if m.count[k] > 0 {
				f.vars[k] = m.pass(f.vars[k])
			}
		}
	case *expr.GradDef, *expr.Watch:
	default:
		unsupported(fmt.Sprintf("statement like %q", m.source(s)))
	}
	return nil, false
}

func (m *machine) source(s expr.Stmt) string {
	w := s.Where()
	if p := m.e.prog; p != nil && w.Start >= 0 && int(w.End) <= len(p.Text) && w.Start <= w.End {
		return p.Text[w.Start:w.End]
	}
	return "this"
}

// inside runs the statements of a block within the program or a function.
func (m *machine) inside(stmts []expr.Stmt, f *frame, end bool) (any, bool) {
	var out any
	var ok bool
	for i, s := range stmts {
		out, ok = m.stmt(s, f, end && i == len(stmts)-1)
	}
	return out, ok
}

func (m *machine) bind(s *expr.Bind, f *frame) {
	v := m.eval(s.Value, f)
	if s.Op == expr.Assign {
		if s.Var {
			v = m.pass(v)
		}
		m.unpack(s.Targets, v, f)
		f.variable(s.Targets[0].Name, s.Var)
		return
	}
	name := s.Targets[0].Name
	home := f.home(name)
	if home == nil {
		fail("%s is not a variable", name)
	}
	switch s.Op {
	case expr.AddState:
		v = function2("add", home.vars[name], v)
	case expr.SubState:
		v = function2("sub", home.vars[name], v)
	}
	if home.state[name] {
		m.set(name, m.pass(v), home)
	} else {
		m.set(name, v, f)
	}
}

func (m *machine) unpack(names []*expr.Name, v any, f *frame) {
	for _, n := range names {
		f.variable(n.Name, false)
		if f.up == nil {
			m.anew[n.Name] = true
		}
	}
	if len(names) == 1 {
		m.set(names[0].Name, v, f)
		return
	}
	parts := items(v)
	if len(parts) != len(names) {
		fail("%d values for %d names", len(parts), len(names))
	}
	for i, n := range names {
		m.set(n.Name, parts[i], f)
	}
}

func (m *machine) set(name string, v any, f *frame) {
	if f.up == nil {
		m.count[name]++
		if m.given[name] == nil || !m.anew[name] {
			m.turns[name]++
			if b := m.barriers; b != nil && b.replay && b.pins[name] != nil && m.turns[name] == b.last[name] {
				v = fromValue(b.pins[name])
			}
			m.ends[name] = v
		}
	}
	f.vars[name] = v
	m.touched = append(m.touched, touch{f, name})
	m.last, m.bound = v, true
}

// eval hands one expression to govaluate.
func (m *machine) eval(x expr.Expr, f *frame) any {
	if l, ok := x.(*expr.Lambda); ok {
		return &closure{m: m, params: l.Params, expr: l.Body, up: f}
	}
	if m.e.scalar(x) != noType {
		v, err := m.try(x, f, scalar)
		if err == nil {
			return v
		}
		if !errors.Is(err, errNotScalar) {
			panic(failure{err})
		}
	}
	v, err := m.try(x, f, general)
	if err != nil {
		panic(failure{err})
	}
	return v
}

func (m *machine) try(x expr.Expr, f *frame, how mode) (out any, err error) {
	c, err := m.e.compile(x, how)
	if err != nil {
		return nil, err
	}
	s := scope{m, f}
	for _, name := range c.free {
		v, err := s.Get(name)
		if errors.Is(err, errNotScalar) {
			return nil, err
		}
		if _, ok := v.(float64); err == nil && !ok {
			return nil, errNotScalar
		}
	}
	if m.e.state && len(c.call) > 0 {
		return nil, errNotScalar
	}
	if m.levels += c.depth; m.levels > maxLevels {
		unsupported("stack for calls nested so deep")
	}
	if m.steps++; m.steps > maxSteps {
		unsupported(fmt.Sprintf("time for more than %d steps", maxSteps))
	}
	defer rescue(&err)
	out, err = c.eval.Eval(s)
	m.levels -= c.depth
	return out, err
}

// A scope is what govaluate asks for the value of a variable.
type scope struct {
	m *machine
	f *frame
}

var constants = sync.OnceValue(func() map[string]float64 {
	return map[string]float64{"pi": math.Pi, "π": math.Pi, "e": math.E, "tau": 2 * math.Pi, "inf": math.Inf(1), "nan": math.NaN()}
})

// Get finds the value of a name, of a function ("f()"), or of what is evaluated later ("$0").
func (s scope) Get(name string) (any, error) {
	if strings.HasPrefix(name, "$") {
		i, _ := strconv.Atoi(name[1:])
		s.m.e.mu.Lock()
		x := s.m.e.thunks[i]
		s.m.e.mu.Unlock()
		if l, ok := x.(*expr.Lambda); ok {
			return &closure{m: s.m, params: l.Params, expr: l.Body, up: s.f}, nil
		}
		return thunk{s, x}, nil
	}
	if f, ok := strings.CutSuffix(name, "()"); ok {
		for fr := s.f; fr != nil; fr = fr.up {
			if v, ok := fr.vars[f].(callable); ok {
				return v, nil
			}
		}
		if f == barrier {
			return native(s.m.stop), nil
		}
		return builtin(f), nil
	}
	if v, ok := s.f.lookup(name); ok {
		return v, nil
	}
	if path := strings.Split(name, "."); len(path) > 1 {
		v, _ := s.f.lookup(path[0])
		for _, p := range path[1:] {
			r, ok := v.(*record)
			if !ok {
				return nil, errNotScalar
			}
			v = r.get(p)
		}
		return v, nil
	}
	if v, ok := constants()[name]; ok {
		return v, nil
	}
	if name == barrier {
		return native(s.m.stop), nil
	}
	if name == "None" || name == "none" || name == "newaxis" {
		return none{}, nil
	}
	if known(name) {
		return builtin(name), nil
	}
	return nil, fmt.Errorf("no value for %s", name)
}

// A thunk is an expression that is evaluated when it is wanted.
type thunk struct {
	scope
	x expr.Expr
}

func (t thunk) force() any { return t.m.eval(t.x, t.f) }

// A callable is a function as a value.
type callable interface {
	apply(pos []any, kw map[string]any) any
}

func apply(f any, pos []any, kw map[string]any) any {
	c, ok := f.(callable)
	if !ok {
		fail("%s is not a function", kindOf(f))
	}
	return c.apply(pos, kw)
}

// A closure is a function of the program, or a lambda.
type closure struct {
	m      *machine
	name   string
	params []expr.Param
	body   []expr.Stmt
	expr   expr.Expr // of a lambda
	up     *frame
}

func (c *closure) apply(pos []any, kw map[string]any) any {
	m := c.m
	if m.depth++; m.depth > maxCalls {
		unsupported(fmt.Sprintf("room for %s, which calls itself more than %d times deep", c.name, maxCalls))
	}
	defer func() { m.depth-- }()
	f := &frame{vars: map[string]any{}, up: c.up}
	if len(pos)+len(kw) != len(c.params) {
		fail("%d arguments for %d parameters of %s", len(pos)+len(kw), len(c.params), c.name)
	}
	for i, p := range c.params {
		if i < len(pos) {
			f.vars[p.Name] = pos[i]
		} else if v, ok := kw[p.Name]; ok {
			f.vars[p.Name] = v
		} else {
			fail("%s has no argument %s", c.name, p.Name)
		}
	}
	if c.expr != nil {
		return m.eval(c.expr, f)
	}
	last, bound := m.last, m.bound
	m.bound = false
	defer func() { m.last, m.bound = last, bound }()
	v, ok := m.block(c.body, f)
	if !ok {
		fail("%s has no value", c.name)
	}
	return v
}

// A builtin is an operation as a value.
type builtin string

func (b builtin) apply(pos []any, kw map[string]any) any {
	return (&call{name: string(b), pos: pos, kw: kw}).do()
}

// A native is a function that an operation made, such as vmap(f).
type native func(pos []any, kw map[string]any) any

func (n native) apply(pos []any, kw map[string]any) any { return n(pos, kw) }
