// Package assert decides conditions such as "norm < 1e-6 && finite" over named
// facts. The text is nabla's, so that 1e-6 and ^ mean what they mean everywhere;
// the rule is govaluate's to evaluate, by way of the referee.
package assert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"nabla/expr"
	"nabla/expr/referee"
	"nabla/output"
	"nabla/tape/tensor"
)

// Facts are numbers (float64) and truths (bool) by name. A dotted name such as
// "grad.x" is written so in a condition too.
type Facts map[string]any

// several in the place of a fact is how many numbers a tensor has that a condition may not name.
type several int

// Eval decides a condition.
func Eval(cond string, facts Facts) (bool, error) {
	x, p, err := expr.ParseExpr("", cond)
	if err != nil {
		return false, err
	}
	e, err := referee.Compile(p)
	if err != nil {
		return false, err
	}
	if err := facts.know(x, p); err != nil {
		return false, err
	}
	v, err := e.Eval(facts.vars())
	if u := (*referee.Unsupported)(nil); errors.As(err, &u) {
		if unknown := facts.noFunction(u.What, x, p); unknown != nil {
			return false, unknown
		}
	}
	if err != nil {
		return false, fmt.Errorf("condition %q: %w", cond, err)
	}
	if v.Kind != tensor.KindTensor || v.Tensor.Size() != 1 {
		return false, fmt.Errorf("condition %q is neither true nor false", cond)
	}
	// A fact such as "finite" is a number to the referee, but may stand alone.
	if name, ok := path(x); v.Tensor.DType != tensor.Bool && !(ok && isBool(facts[name])) {
		return false, fmt.Errorf("condition %q is a number; compare it, as in %q", cond, cond+" < 1e-6")
	}
	return v.Tensor.Item() != 0, nil
}

// Of gathers the facts of a result. Payload is what op computed, in the structure
// of its sources; its scalars are facts by their own names. Without a payload they
// are facts about the value.
//
//	value                  the target, where it is a scalar
//	norm max min absmax    over all numbers of the payload, or of the value
//	finite                 whether there is neither NaN nor infinity
//	size zeros nnz nan     how many numbers, zeros, others, NaNs
//	none                   how many sources are not connected
//	grad.x, x              an entry that is a scalar
func Of(op string, value, payload *tensor.Value) Facts {
	f := Facts{}
	if payload == nil {
		op, payload = "value", value
	}
	var all []float64
	none, away := 0, 0 // away: zeros of sparse matrices
	payload.Leaves("", func(name string, leaf *tensor.Value) {
		switch leaf.Kind {
		case tensor.KindTensor:
		case tensor.KindSparse:
			all = append(all, leaf.Sparse.Data...)
			away += leaf.Sparse.Rows*leaf.Sparse.Cols - len(leaf.Sparse.Data)
			return
		default:
			none++
			return
		}
		all = append(all, leaf.Tensor.Data...)
		if name == "" {
			return
		}
		f[name] = fact(leaf.Tensor)
		f[op+"."+name] = f[name]
	})
	maps.Copy(f, about(all, away))
	f["none"] = float64(none)
	if value != nil && value.Kind == tensor.KindTensor {
		f["value"] = fact(value.Tensor)
	}
	return f
}

// about gathers the facts of numbers, and of so many zeros beside them.
func about(all []float64, away int) Facts {
	big, most, least, zeros, nans := 0.0, math.Inf(-1), math.Inf(1), away, 0
	finite := true
	for _, v := range all {
		big, most, least = math.Max(big, math.Abs(v)), math.Max(most, v), math.Min(least, v)
		finite = finite && !math.IsNaN(v) && !math.IsInf(v, 0)
		if v == 0 {
			zeros++
		}
		if math.IsNaN(v) {
			nans++
		}
	}
	if away > 0 {
		most, least = math.Max(most, 0), math.Min(least, 0)
	}
	size := len(all) + away
	if size == 0 {
		most, least = math.NaN(), math.NaN()
	}
	sum := 0.0
	for _, v := range all {
		if big > 0 {
			sum += (v / big) * (v / big)
		}
	}
	norm := big * math.Sqrt(sum)
	if math.IsInf(big, 0) {
		norm = big
	}
	return Facts{
		"norm": norm, "max": most, "min": least, "absmax": big, "finite": finite,
		"size": float64(size), "zeros": float64(zeros), "nnz": float64(size - zeros), "nan": float64(nans),
	}
}

// fact is a number, or how many numbers there are.
func fact(t *tensor.Tensor) any {
	if t.Size() == 1 {
		return t.Item()
	}
	return several(t.Size())
}

// names are those of the facts.
func (f Facts) names() (have []string) {
	for name, v := range f {
		if _, many := v.(several); !many {
			have = append(have, name)
		}
	}
	slices.Sort(have)
	return have
}

// vars are the facts as the referee takes them: a dotted name is a record's entry.
func (f Facts) vars() map[string]*tensor.Value {
	out := map[string]*tensor.Value{}
	for _, name := range f.names() {
		v, ok := f[name].(float64)
		if b, _ := f[name].(bool); !ok && b {
			v = 1
		}
		parts := strings.Split(name, ".")
		if len(parts) == 1 {
			if out[name] == nil {
				out[name] = tensor.Of(tensor.Scalar(v))
			}
			continue
		}
		if out[parts[0]] == nil || out[parts[0]].Kind != tensor.KindRecord {
			out[parts[0]] = &tensor.Value{Kind: tensor.KindRecord}
		}
		at := out[parts[0]]
		for _, p := range parts[1 : len(parts)-1] {
			next := at.Get(p)
			if next == nil || next.Kind != tensor.KindRecord {
				next = &tensor.Value{Kind: tensor.KindRecord}
				at.Fields = append(at.Fields, tensor.Field{Name: p, Value: next})
			}
			at = next
		}
		at.Fields = append(at.Fields, tensor.Field{Name: parts[len(parts)-1], Value: tensor.Of(tensor.Scalar(v))})
	}
	return out
}

// know makes sure that every name of a condition is a fact.
func (f Facts) know(x expr.Expr, p *expr.Program) error {
	var e *expr.Error
	names(x, func(name string, at expr.Expr) {
		n, many := f[name].(several)
		if f[name] != nil && !many || slices.Contains(constants, name) || e != nil {
			return
		}
		if many {
			e = &expr.Error{Prog: p, Kind: "type", Where: at.Where(), Mark: at.Where().Start, Msg: fmt.Sprintf("%s is a tensor of %s", name, expr.Plural(int(n), "number")),
				Hint: "norm, absmax, max, min and the like are facts of all numbers together"}
			return
		}
		have := f.names()
		e = &expr.Error{Prog: p, Kind: "name", Where: at.Where(), Mark: at.Where().Start, Msg: "no fact " + name, Hint: expr.DidYouMean(name, have)}
		if e.Hint == "" {
			e.Hint = "there are " + expr.Some(have)
		}
	})
	if e == nil {
		return nil
	}
	return e
}

// noFunction is the error of a call of what conditions do not have; nil where there is none.
func (f Facts) noFunction(name string, x expr.Expr, p *expr.Program) (e *expr.Error) {
	expr.Walk(x, func(n any) bool {
		if c, ok := n.(*expr.Call); ok && e == nil {
			if fun, ok := c.Fun.(*expr.Name); ok && fun.Name == name {
				e = &expr.Error{Prog: p, Kind: "name", Where: fun.Span, Mark: fun.Start, Msg: "no function " + name + " for conditions",
					Hint: cmp.Or(expr.DidYouMean(name, f.names()), "they compare numbers, as in abs(value - 1) < 1e-6")}
			}
		}
		return true
	})
	return e
}

// Show is what the facts of a condition are: "norm is 2, finite is true".
func (f Facts) Show(cond string) string {
	x, _, err := expr.ParseExpr("", cond)
	if err != nil {
		return ""
	}
	var list []string
	names(x, func(name string, _ expr.Expr) {
		v, ok := f[name]
		if x, isNumber := v.(float64); isNumber {
			v = output.Text(x, tensor.Float64, 17)
		}
		if say := fmt.Sprintf("%s is %v", name, v); ok && !slices.Contains(list, say) {
			list = append(list, say)
		}
	})
	return strings.Join(list, ", ")
}

// names calls visit with each dotted name of a condition; what is called is none.
func names(x expr.Expr, visit func(name string, at expr.Expr)) {
	expr.Walk(x, func(n any) bool {
		if c, ok := n.(*expr.Call); ok {
			if _, ok := c.Fun.(*expr.Name); ok {
				for _, a := range c.Args {
					names(a.Value, visit)
				}
				return false
			}
		}
		y, ok := n.(expr.Expr)
		if !ok {
			return true
		}
		if name, ok := path(y); ok {
			visit(name, y)
			return false
		}
		return true
	})
}

var constants = []string{"true", "false", "inf", "nan", "pi", "π", "e", "tau"}

// path is the dotted name that x is, if it is one.
func path(x expr.Expr) (string, bool) {
	switch x := x.(type) {
	case *expr.Name:
		return x.Name, true
	case *expr.Field:
		if up, ok := path(x.X); ok {
			return up + "." + x.Name, true
		}
	}
	return "", false
}

func isBool(v any) bool {
	_, ok := v.(bool)
	return ok
}
