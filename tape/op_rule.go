package tape

import (
	"slices"
	"sync"

	"nabla/expr"
)

// A rule is a compiled partial derivative: steps over the arguments and the result.
type rule struct {
	steps []ruleStep
	last  int16
}

// A ruleStep applies op to earlier steps (≥ 0), arguments (-1-i) or constants.
type ruleStep struct {
	op   *Op // nil: a constant
	num  float64
	args [3]int16
	n    int8
}

const ruleOut = -100 // names the operation's own result in a rule

// partialRule compiles Grad[i] on first use.
func (op *Op) partialRule(i int) *rule { return op.rule(i, op.Grad[i]) }

// kinkRule is the condition of a kink.
func (op *Op) kinkRule(i int) *rule { return op.rule(len(op.Grad)+i, op.Kinks[i].When) }

// rule compiles a text on first use, and keeps it at i.
func (op *Op) rule(i int, text string) *rule {
	rulesMu.Lock()
	defer rulesMu.Unlock()
	if op.rules == nil {
		op.rules = make([]*rule, len(op.Grad)+len(op.Kinks))
	}
	if op.rules[i] == nil {
		op.rules[i] = compileRule(op, text)
	}
	return op.rules[i]
}

var rulesMu sync.Mutex

// compileRule turns a text over an operation's arguments and out into steps.
func compileRule(op *Op, text string) *rule {
	e, _, err := expr.ParseExpr(op.Name, text)
	if err != nil {
		panic("rule of " + op.Name + ": " + text + ": " + err.Error())
	}
	m := &ruleMaker{op: op, text: text, rule: &rule{}}
	m.last = m.of(e)
	return m.rule
}

// A ruleMaker makes the rule of a text.
type ruleMaker struct {
	*rule
	op   *Op
	text string
}

// of appends the steps of an expression, and returns what names its value.
func (m *ruleMaker) of(e expr.Expr) int16 {
	switch e := e.(type) {
	case *expr.Num:
		return m.step(ruleStep{num: e.Value})
	case *expr.Name:
		if e.Name == "out" {
			return ruleOut
		}
		if i := slices.IndexFunc(m.op.signature(), func(p param) bool { return p.name == e.Name }); i >= 0 {
			return int16(-1 - i)
		}
		if v, ok := namedConstant(e.Name); ok {
			return m.step(ruleStep{num: v})
		}
	case *expr.Unary:
		switch e.Op {
		case expr.Minus:
			if n, ok := e.X.(*expr.Num); ok {
				return m.step(ruleStep{num: -n.Value})
			}
			return m.apply("neg", e.X)
		case expr.Not:
			return m.apply("not", e.X)
		}
	case *expr.Binary:
		return m.apply(binaryOps[e.Op], e.X, e.Y)
	case *expr.Call:
		if n, ok := e.Fun.(*expr.Name); ok {
			var xs []expr.Expr
			for _, a := range e.Args {
				xs = append(xs, a.Value)
			}
			return m.apply(n.Name, xs...)
		}
	}
	panic("rule of " + m.op.Name + ": cannot use " + m.text)
}

// apply appends the steps of arguments, then an elementwise operation of them.
func (m *ruleMaker) apply(name string, xs ...expr.Expr) int16 {
	op := table.find(name)
	if op == nil || !op.elementwise() || len(xs) != op.arity() {
		panic("rule of " + m.op.Name + ": no elementwise operation " + name + " of " + m.text)
	}
	s := ruleStep{op: op, n: int8(len(xs))}
	for i, x := range xs {
		s.args[i] = m.of(x)
	}
	return m.step(s)
}

// step appends a step.
func (m *ruleMaker) step(s ruleStep) int16 {
	m.steps = append(m.steps, s)
	return int16(len(m.steps) - 1)
}

// binaryOps names the row of each infix operator.
var binaryOps = [1 << 8]string{
	expr.Plus: "add", expr.Minus: "subtract", expr.Times: "multiply", expr.Divide: "divide",
	expr.FloorDiv: "floor_divide", expr.Mod: "mod", expr.Pow: "power", expr.MatMul: "matmul",
	expr.Lt: "less", expr.Le: "less_equal", expr.Gt: "greater", expr.Ge: "greater_equal",
	expr.Eq: "equal", expr.Ne: "not_equal", expr.And: "logical_and", expr.Or: "logical_or",
}

// record replays a rule on the tape for instruction r.
func (ru *rule) record(t *Tape, r Ref) Ref { return ru.of(t, nil, r) }

// of appends the rule for the result r of args; nil: of those of its instruction.
func (ru *rule) of(t *Tape, args []Ref, r Ref) Ref {
	var local [16]Ref
	vals := local[:0]
	get := func(i int16) Ref {
		switch {
		case i >= 0:
			return vals[i]
		case i == ruleOut:
			return r
		case args != nil:
			return args[-1-i]
		}
		return t.Args(r)[-1-i]
	}
	for i := range ru.steps {
		s := &ru.steps[i]
		if s.op == nil {
			vals = append(vals, t.Const(s.num))
			continue
		}
		switch s.n {
		case 1:
			vals = append(vals, t.Apply(s.op, get(s.args[0])))
		case 2:
			vals = append(vals, t.Apply(s.op, get(s.args[0]), get(s.args[1])))
		default:
			vals = append(vals, t.Apply(s.op, get(s.args[0]), get(s.args[1]), get(s.args[2])))
		}
	}
	return get(ru.last)
}

// Terms explains the internal operations that the text of a partial names.
func Terms(partial string) []string {
	e, _, err := expr.ParseExpr("", partial)
	if err != nil {
		return nil
	}
	var out []string
	expr.Walk(e, func(n any) bool {
		if c, ok := n.(*expr.Call); ok {
			if f, ok := c.Fun.(*expr.Name); ok {
				if op := table.find(f.Name); op != nil && op.Hidden {
					if s := op.Signature() + " is " + op.Doc; !slices.Contains(out, s) {
						out = append(out, s)
					}
				}
			}
		}
		return true
	})
	return out
}
