package referee

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/Knetic/govaluate"

	"nabla/expr"
)

// A mode says how operators are written.
type mode uint8

const (
	general mode = iota // every operator is a function of values of any kind
	scalar              // govaluate's own operators; every variable is a float64
)

// A key names one rendering of one expression.
type key struct {
	x expr.Expr
	m mode
}

// compiled is an expression that govaluate has planned.
type compiled struct {
	eval *govaluate.EvaluableExpression
	free []string // variables that have to be real scalars, in scalar mode
	call []string // the program's own functions that it calls, in scalar mode

	depth int
}

// The depth at which an expression is refused: govaluate recurses about twelve
// frames a level, and a goroutine's stack ends at 1 GB.
const maxDepth = 10000

// errNotScalar says that a function of the program gave something that govaluate's
// operators do not take; the expression is then evaluated in general mode.
var errNotScalar = errors.New("not a real scalar")

// A typ is what govaluate's operators will see in scalar mode.
type typ uint8

const (
	noType typ = iota // scalar mode cannot write it
	realType
	boolType
)

var binaryNames = [1 << 8]string{
	expr.Plus: "add", expr.Minus: "sub", expr.Times: "mul", expr.Divide: "div", expr.FloorDiv: "floor_divide",
	expr.Mod: "mod", expr.MatMul: "matmul", expr.Pow: "pow",
	expr.Lt: "less", expr.Le: "less_equal", expr.Gt: "greater", expr.Ge: "greater_equal", expr.Eq: "equal", expr.Ne: "not_equal",
	expr.And: "and", expr.Or: "or",
}

// What govaluate writes itself. Its % is C's, its ^ is exclusive or: neither is here.
var (
	modifiers   = [1 << 8]string{expr.Plus: "+", expr.Minus: "-", expr.Times: "*", expr.Divide: "/", expr.Pow: "**"}
	comparators = [1 << 8]string{expr.Lt: "<", expr.Le: "<=", expr.Gt: ">", expr.Ge: ">=", expr.Eq: "==", expr.Ne: "!="}
	logicals    = [1 << 8]string{expr.And: "&&", expr.Or: "||"}
)

// scalar is the type that x has in scalar mode, noType if it has no form there.
func (e *Evaluator) scalar(x expr.Expr) typ {
	if e.jitter != nil {
		return noType // govaluate's own operators round as they must
	}
	if t, ok := e.types.Load(x); ok {
		return t.(typ)
	}
	t := e.scalarType(x)
	e.types.Store(x, t)
	return t
}

func (e *Evaluator) scalarType(x expr.Expr) typ {
	switch x := x.(type) {
	case *expr.Num:
		return realType
	case *expr.Name:
		if x.Name == "true" || x.Name == "false" {
			return boolType
		}
		return realType
	case *expr.Field:
		if _, ok := dotted(x); ok {
			return realType
		}
	case *expr.Unary:
		if e.scalar(x.X) == noType {
			return noType
		}
		if x.Op == expr.Not {
			return boolType
		}
		return realType
	case *expr.Binary:
		if e.scalar(x.X) == noType || e.scalar(x.Y) == noType {
			return noType
		}
		if modifiers[x.Op] != "" || x.Op == expr.Mod || x.Op == expr.FloorDiv {
			return realType
		}
		if comparators[x.Op] != "" || logicals[x.Op] != "" {
			return boolType
		}
	case *expr.Cond:
		if a := e.scalar(x.A); e.scalar(x.C) != noType && a == e.scalar(x.B) {
			return a
		}
	case *expr.Call:
		f, ok := x.Fun.(*expr.Name)
		if !ok {
			return noType
		}
		for _, a := range x.Args {
			if a.Name != "" || e.scalar(a.Value) == noType {
				return noType
			}
		}
		if e.own(f.Name) || scalarOp(f.Name, len(x.Args)) != nil {
			return realType
		}
	}
	return noType
}

// own reports whether a called name is looked up when it is called.
func (e *Evaluator) own(name string) bool { return e.bound[name] || name == barrier }

// dotted is the path of names that x is: model.layer.w may be one real scalar.
func dotted(x expr.Expr) (string, bool) {
	switch x := x.(type) {
	case *expr.Name:
		return x.Name, true
	case *expr.Field:
		if up, ok := dotted(x.X); ok && !slices.Contains(attributes, x.Name) {
			return up + "." + x.Name, true
		}
	}
	return "", false
}

// attributes are the fields that every tensor has.
var attributes = []string{"T", "shape", "size", "ndim", "dtype"}

// compile plans x, once for each mode.
func (e *Evaluator) compile(x expr.Expr, m mode) (*compiled, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used[x] = m
	if c := e.cache[key{x, m}]; c != nil {
		return c, nil
	}
	w := &writer{e: e, mode: m, c: &compiled{}}
	w.expr(x)
	eval, err := govaluate.NewEvaluableExpressionFromTokens(w.tokens)
	if err != nil {
		return nil, err
	}
	w.c.eval = eval
	e.cache[key{x, m}] = w.c
	return w.c, nil
}

func (e *Evaluator) text(x expr.Expr, m mode) (text string, err error) {
	defer rescue(&err)
	e.mu.Lock()
	defer e.mu.Unlock()
	w := &writer{e: e, mode: m, c: &compiled{}, words: true}
	w.expr(x)
	return w.text.String(), nil
}

// A writer renders one expression as tokens, and as words for a reader.
type writer struct {
	e      *Evaluator
	mode   mode
	c      *compiled
	tokens []govaluate.ExpressionToken
	text   strings.Builder
	words  bool // lambdas and lazy operands are spelt out rather than numbered
	depth  int
}

func (w *writer) put(kind govaluate.TokenKind, value any, text string) {
	w.tokens = append(w.tokens, govaluate.ExpressionToken{Kind: kind, Value: value})
	w.text.WriteString(text)
}

func (w *writer) open()             { w.put(govaluate.CLAUSE, '(', "(") }
func (w *writer) close()            { w.put(govaluate.CLAUSE_CLOSE, ')', ")") }
func (w *writer) comma()            { w.put(govaluate.SEPARATOR, ",", ", ") }
func (w *writer) str(s string)      { w.put(govaluate.STRING, s, strconv.Quote(s)) }
func (w *writer) variable(n string) { w.put(govaluate.VARIABLE, n, n) }

func (w *writer) number(v float64, text string) {
	if text == "" {
		text = strconv.FormatFloat(v, 'g', -1, 64)
	}
	w.put(govaluate.NUMERIC, v, text)
}

func (w *writer) infix(kind govaluate.TokenKind, op string) { w.put(kind, op, " "+op+" ") }

// apply writes name(args…), a call of a Go function.
func (w *writer) apply(name string, f govaluate.ExpressionFunction, args ...func()) {
	w.put(govaluate.FUNCTION, f, name)
	w.open()
	for i, a := range args {
		if i > 0 {
			w.comma()
		}
		a()
	}
	w.close()
}

// op writes a call of an operation of the general mode.
func (w *writer) op(name string, args ...func()) {
	w.apply(name, function(name, w.e.jitter), args...)
}

func (w *writer) sub(x expr.Expr) func() { return func() { w.expr(x) } }

// later writes x as a variable that stands for x unevaluated.
func (w *writer) later(x expr.Expr) {
	if w.words {
		w.expr(x)
		return
	}
	w.variable("$" + strconv.Itoa(len(w.e.thunks)))
	w.e.thunks = append(w.e.thunks, x)
}

// expr writes x between parentheses, or as a word that needs none.
func (w *writer) expr(x expr.Expr) {
	if w.depth++; w.depth > maxDepth {
		unsupported("expression nested deeper than " + strconv.Itoa(maxDepth))
	}
	w.c.depth = max(w.c.depth, w.depth)
	defer func() { w.depth-- }()
	if w.mode == scalar {
		w.real(x)
		return
	}
	switch x := x.(type) {
	case *expr.Num:
		w.number(x.Value, x.Text)
	case *expr.Name:
		w.name(x)
	case *expr.Str:
		w.str(x.Value)
	case *expr.Unary:
		w.op(map[expr.Kind]string{expr.Minus: "neg", expr.Plus: "pos", expr.Not: "not"}[x.Op], w.sub(x.X))
	case *expr.Binary:
		if logicals[x.Op] != "" {
			w.op(binaryNames[x.Op], w.sub(x.X), func() { w.later(x.Y) })
			return
		}
		w.op(binaryNames[x.Op], w.sub(x.X), w.sub(x.Y))
	case *expr.Cond:
		w.open()
		w.op("truth", w.sub(x.C))
		w.infix(govaluate.TERNARY, "?")
		w.expr(x.A)
		w.infix(govaluate.TERNARY, ":")
		w.expr(x.B)
		w.close()
	case *expr.Call:
		w.call(x)
	case *expr.Index:
		args := []func(){w.sub(x.X)}
		for i := range x.Items {
			it := &x.Items[i]
			args = append(args, func() { w.item(it) })
		}
		w.op("index", args...)
	case *expr.Field:
		w.op("field", w.sub(x.X), func() { w.str(x.Name) })
	case *expr.List:
		w.many("list", x.Elems)
	case *expr.Tuple:
		w.many("tuple", x.Elems)
	case *expr.Record:
		var args []func()
		for _, f := range x.Fields {
			args = append(args, func() { w.str(f.Name) }, w.sub(f.Value))
		}
		w.op("record", args...)
	case *expr.Lambda:
		if w.words {
			w.text.WriteString("{…}")
			return
		}
		w.later(x)
	default:
		unsupported("rendering of this expression")
	}
}

// many writes a list or a tuple; an empty one still has one argument, for govaluate's sake.
func (w *writer) many(name string, elems []expr.Expr) {
	if len(elems) == 0 {
		w.op(name, func() { w.str("") })
		return
	}
	var args []func()
	for _, x := range elems {
		args = append(args, w.sub(x))
	}
	w.op(name, args...)
}

func (w *writer) name(x *expr.Name) {
	switch x.Name {
	case "true":
		w.put(govaluate.BOOLEAN, true, "true")
	case "false":
		w.put(govaluate.BOOLEAN, false, "false")
	default:
		w.variable(x.Name)
	}
}

func (w *writer) item(it *expr.Item) {
	part := func(x expr.Expr) func() {
		if x == nil {
			return func() { w.str("") }
		}
		return w.sub(x)
	}
	switch it.Kind {
	case expr.ItemSlice:
		w.op("slice", part(it.Lo), part(it.Hi), part(it.Step))
	case expr.ItemEllipsis:
		w.str("...")
	case expr.ItemNewaxis:
		w.str("newaxis")
	default:
		w.expr(it.X)
	}
}

// call writes f(x), or call(f, x) when f is the program's own or a value.
func (w *writer) call(x *expr.Call) {
	var args []func()
	for _, a := range x.Args {
		if a.Name == "" {
			args = append(args, w.sub(a.Value))
			continue
		}
		args = append(args, func() {
			w.op("named", func() { w.str(a.Name) }, w.sub(a.Value))
		})
	}
	if f, ok := x.Fun.(*expr.Name); ok && !w.e.own(f.Name) {
		if len(args) == 0 {
			w.op("nullary", func() { w.str(f.Name) })
			return
		}
		w.op(f.Name, args...)
		return
	} else if ok {
		w.op("call", append([]func(){func() { w.variable(f.Name + "()") }}, args...)...)
		return
	}
	w.op("call", append([]func(){w.sub(x.Fun)}, args...)...)
}

// real writes x with govaluate's own operators.
func (w *writer) real(x expr.Expr) {
	switch x := x.(type) {
	case *expr.Num:
		w.number(x.Value, x.Text)
	case *expr.Name:
		w.name(x)
		if x.Name != "true" && x.Name != "false" {
			w.c.free = append(w.c.free, x.Name)
		}
	case *expr.Field:
		name, _ := dotted(x)
		w.variable(name)
		w.c.free = append(w.c.free, name)
	case *expr.Unary:
		if x.Op == expr.Plus {
			w.number1(x.X)
			return
		}
		w.open()
		if x.Op == expr.Not {
			w.put(govaluate.PREFIX, "!", "!")
			w.truth(x.X)
		} else {
			w.put(govaluate.PREFIX, "-", "-")
			w.number1(x.X)
		}
		w.close()
	case *expr.Binary:
		if x.Op == expr.Mod || x.Op == expr.FloorDiv {
			name := binaryNames[x.Op]
			w.apply(name, realFunction(scalarOp(name, 2)), func() { w.number1(x.X) }, func() { w.number1(x.Y) })
			return
		}
		w.open()
		switch {
		case modifiers[x.Op] != "":
			w.number1(x.X)
			w.infix(govaluate.MODIFIER, modifiers[x.Op])
			w.number1(x.Y)
		case comparators[x.Op] != "":
			w.number1(x.X)
			w.infix(govaluate.COMPARATOR, comparators[x.Op])
			w.number1(x.Y)
		default:
			w.truth(x.X)
			w.infix(govaluate.LOGICALOP, logicals[x.Op])
			w.truth(x.Y)
		}
		w.close()
	case *expr.Cond:
		w.open()
		w.truth(x.C)
		w.infix(govaluate.TERNARY, "?")
		w.expr(x.A)
		w.infix(govaluate.TERNARY, ":")
		w.expr(x.B)
		w.close()
	case *expr.Call:
		f := x.Fun.(*expr.Name)
		var args []func()
		if w.e.own(f.Name) {
			args = append(args, func() { w.variable(f.Name + "()") })
			w.c.call = append(w.c.call, f.Name)
		}
		for _, a := range x.Args {
			args = append(args, func() { w.number1(a.Value) })
		}
		if w.e.own(f.Name) {
			w.apply("call", realCall, args...)
			return
		}
		w.apply(f.Name, realFunction(scalarOp(f.Name, len(x.Args))), args...)
	}
}

// number1 writes x where a number is wanted: a bool counts as 0 or 1.
func (w *writer) number1(x expr.Expr) {
	if w.e.scalar(x) != boolType {
		w.expr(x)
		return
	}
	w.open()
	w.expr(x)
	w.infix(govaluate.TERNARY, "?")
	w.number(1, "1")
	w.infix(govaluate.TERNARY, ":")
	w.number(0, "0")
	w.close()
}

// truth writes x where a bool is wanted.
func (w *writer) truth(x expr.Expr) {
	if w.e.scalar(x) == boolType {
		w.expr(x)
		return
	}
	w.open()
	w.expr(x)
	w.infix(govaluate.COMPARATOR, "!=")
	w.number(0, "0")
	w.close()
}

// realFunction makes a function of numbers one that govaluate can call.
func realFunction(f func([]float64) float64) govaluate.ExpressionFunction {
	return func(args ...any) (any, error) {
		x := make([]float64, len(args))
		for i, a := range args {
			v, ok := a.(float64)
			if !ok {
				return nil, errNotScalar
			}
			x[i] = v
		}
		return f(x), nil
	}
}

// realCall calls a function of the program, which has to give a number.
func realCall(args ...any) (out any, err error) {
	defer rescue(&err)
	switch v := apply(args[0], args[1:], nil).(type) {
	case float64:
		return v, nil
	default:
		return nil, errNotScalar
	}
}

// function finds an operation of the general mode. One that does not exist is an
// error when it is called, not before.
func function(name string, jitter *rand.Rand) govaluate.ExpressionFunction {
	return func(args ...any) (out any, err error) {
		defer rescue(&err)
		c := &call{name: name}
		for _, a := range args {
			if k, ok := a.(keyword); ok {
				if c.kw == nil {
					c.kw = map[string]any{}
				}
				c.kw[k.name] = k.value
				continue
			}
			c.pos = append(c.pos, a)
		}
		if jitter == nil {
			return c.do(), nil
		}
		return c.shaken(jitter), nil
	}
}
