// Package referee evaluates a program a second time, by other means: statements
// run in a small plain loop, and every expression is handed to govaluate, as
// tokens and never as text, fully parenthesised. It shares no code with the
// tape, so that a value or a derivative on which both agree is worth something.
//
// Where every variable is a real scalar the tokens are govaluate's own operators;
// where tensors occur each operator is a function, a plain loop over plain slices.
// Everything is computed in float64, whatever the dtype of the inputs.
package referee

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"sync"

	"nabla/expr"
	"nabla/tape/tensor"
)

// Unsupported is what the referee cannot judge. What names it: "grad", "randn".
type Unsupported struct{ What string }

func (e *Unsupported) Error() string { return "the referee has no " + e.What }

// An Evaluator holds one program. It may be used by several goroutines at once.
type Evaluator struct {
	prog   *expr.Program
	bound  map[string]bool // every name that the program itself gives a meaning
	mu     sync.Mutex
	cache  map[key]*compiled
	thunks []expr.Expr // what the variables "$0", "$1", … stand for
	used   map[expr.Expr]mode
	types  sync.Map   // of typ, by expression
	jitter *rand.Rand // not nil: every rounding is a random one
	state  bool       // the program assigns to state, so nothing may run twice
}

func newEvaluator(p *expr.Program) *Evaluator {
	return &Evaluator{prog: p, bound: map[string]bool{}, cache: map[key]*compiled{}, used: map[expr.Expr]mode{}}
}

// Compile prepares a program. What the referee cannot do is found out when it is
// met, since a branch that does not run does no harm.
func Compile(p *expr.Program) (e *Evaluator, err error) {
	defer rescue(&err)
	if p == nil || len(p.Stmts) == 0 {
		return nil, errors.New("an empty program has no value")
	}
	if len(p.Text) > maxText {
		return nil, &Unsupported{fmt.Sprintf("room for a program of %d bytes", len(p.Text))}
	}
	e = newEvaluator(p)
	e.names()
	return e, nil
}

// The length at which a program is refused: its tree may be as deep as it is long,
// and is walked by recursion.
const maxText = 1 << 21

// Eval is the value of the program's target.
func (e *Evaluator) Eval(vars map[string]*tensor.Value) (*tensor.Value, error) {
	v, _, err := e.run(vars, nil, "")
	return v, err
}

// Frozen is a program whose barriers keep the values they had at one point. What
// passes stop_gradient, no_gradient, an assignment to state or a reset is a
// constant for a derivative, so it has to be one for a difference too.
type Frozen struct {
	e    *Evaluator
	name string
	tape []any
	pins map[string]int           // how often the base run changed what each source stands for
	end  map[string]*tensor.Value // and to what in the end
}

// Freeze runs the program once, at the point where it will be differenced, and
// keeps what passed its barriers. An empty name is the program's target.
func (e *Evaluator) Freeze(name string, vars map[string]*tensor.Value) (*Frozen, error) {
	b := &barriers{}
	_, m, err := e.run(vars, b, name)
	if err != nil {
		return nil, err
	}
	f := &Frozen{e: e, name: name, tape: b.tape, pins: m.turns, end: map[string]*tensor.Value{}}
	for k, v := range m.ends {
		f.end[k] = orNil(v)
	}
	return f, nil
}

// orNil is v as it leaves the package, nil if it holds a function.
func orNil(v any) (out *tensor.Value) {
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	return toValue(v)
}

// Eval is the target's value at another point.
func (f *Frozen) Eval(vars map[string]*tensor.Value) (*tensor.Value, error) {
	return f.evalPinned(vars, nil)
}

// evalPinned is Eval with the last binding of some names replaced, to difference
// with respect to a value that the program computes.
func (f *Frozen) evalPinned(vars, pins map[string]*tensor.Value) (*tensor.Value, error) {
	b := &barriers{tape: f.tape, replay: true, pins: pins, last: f.pins}
	v, _, err := f.e.run(vars, b, f.name)
	return v, err
}

func (e *Evaluator) run(vars map[string]*tensor.Value, b *barriers, name string) (out *tensor.Value, m *machine, err error) {
	defer rescue(&err)
	m = &machine{e: e, barriers: b, given: vars, count: map[string]int{}, turns: map[string]int{}, ends: map[string]any{}, anew: map[string]bool{}}
	top := &frame{vars: make(map[string]any, len(vars)+8)}
	m.top = top
	for k, v := range vars {
		top.vars[k] = fromValue(v)
		top.variable(k, true)
	}
	v, ok := m.block(e.prog.Stmts, top)
	if name != "" {
		if v, ok = top.lookup(name); !ok {
			return nil, nil, fmt.Errorf("the program binds no name %q", name)
		}
	}
	if !ok {
		return nil, nil, errors.New("the program has no value")
	}
	return toValue(v), m, nil
}

// Noise tells how far rounding may put the value of a target off, an empty name
// being the program's: the spread of a few runs in which every operation that
// rounds is off by up to a unit in the last place, at random but the same each time.
func (e *Evaluator) Noise(name string, vars map[string]*tensor.Value) (*tensor.Value, error) {
	exact, _, err := e.run(vars, nil, name)
	if err != nil {
		return nil, err
	}
	n := newEvaluator(e.prog)
	n.names()
	n.jitter = rand.New(rand.NewPCG(1, 2))
	spread := zeroLike(exact)
	for range samples {
		v, _, err := n.run(vars, nil, name)
		if err != nil {
			return nil, err
		}
		widen(spread, exact, v)
	}
	return spread, nil
}

// samples of three already find the size of the noise; two more find it surely.
const samples = 5

func zeroLike(v *tensor.Value) *tensor.Value {
	out := &tensor.Value{Kind: v.Kind, Why: v.Why}
	switch v.Kind {
	case tensor.KindTensor:
		out.Tensor = tensor.New(v.Tensor.Shape...)
	case tensor.KindList:
		for _, e := range v.List {
			out.List = append(out.List, zeroLike(e))
		}
	case tensor.KindRecord:
		for _, f := range v.Fields {
			out.Fields = append(out.Fields, tensor.Field{Name: f.Name, Value: zeroLike(f.Value)})
		}
	}
	return out
}

// widen lets spread cover the distance between two values of one form.
func widen(spread, a, b *tensor.Value) {
	var xs, ys []*tensor.Value
	a.Leaves("", func(_ string, leaf *tensor.Value) { xs = append(xs, leaf) })
	b.Leaves("", func(_ string, leaf *tensor.Value) { ys = append(ys, leaf) })
	i := 0
	spread.Leaves("", func(_ string, leaf *tensor.Value) {
		if i < len(xs) && i < len(ys) && leaf.Kind == tensor.KindTensor && ys[i].Kind == tensor.KindTensor && len(ys[i].Tensor.Data) == len(leaf.Tensor.Data) {
			for k := range leaf.Tensor.Data {
				if d := math.Abs(xs[i].Tensor.Data[k] - ys[i].Tensor.Data[k]); d > leaf.Tensor.Data[k] {
					leaf.Tensor.Data[k] = d
				}
			}
		}
		i++
	})
}

// Text writes every expression statement and binding of the program as govaluate
// sees it, one a line, in the form that the last evaluation used.
func (e *Evaluator) Text() string {
	var b strings.Builder
	e.mu.Lock()
	used := maps.Clone(e.used)
	e.mu.Unlock()
	for _, s := range e.prog.Stmts {
		var x expr.Expr
		switch s := s.(type) {
		case *expr.Bind:
			x = s.Value
			for i, t := range s.Targets {
				if i > 0 {
					b.WriteString(", ")
				}
				b.WriteString(t.Name)
			}
			b.WriteString(" = ")
		case *expr.ExprStmt:
			x = s.X
		default:
			continue
		}
		m, ran := used[x]
		if !ran && e.scalar(x) != noType {
			m = scalar
		}
		text, err := e.text(x, m)
		if err != nil {
			text = "(" + err.Error() + ")"
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// A failure carries an error up to the edge of the package.
type failure struct{ error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func unsupported(what string) { panic(failure{&Unsupported{what}}) }

// rescue turns every panic, ours or govaluate's, into an error.
func rescue(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.error
	default:
		*err = fmt.Errorf("the referee gave up: %v", r)
	}
}
