package tape

import (
	"fmt"
	"slices"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A source is what a derivative is taken by: all versions of a variable, or one value.
type source struct {
	name string
	refs []Ref  // the versions; the last one is the current
	past []Ref  // versions forgotten by a reset: no source, but a reason
	why  string // why it is no source
}

func (s *source) current() Ref { return s.refs[len(s.refs)-1] }

// sourceTree resolves the expression that names sources, in its structure: the leaves
// are *source.
func (lo *lowering) sourceTree(e expr.Expr) value {
	switch e := e.(type) {
	case *expr.Tuple:
		out := &tuple{}
		for _, x := range e.Elems {
			out.elems = append(out.elems, lo.sourceTree(x))
		}
		return out
	case *expr.List:
		out := &tuple{}
		for _, x := range e.Elems {
			out.elems = append(out.elems, lo.sourceTree(x))
		}
		return out
	case *expr.Record:
		out := &record{}
		for _, f := range e.Fields {
			out.names, out.elems = append(out.names, f.Name), append(out.elems, lo.sourceTree(f.Value))
		}
		return out
	case *expr.Name:
		x := lo.scope.find(e.Name)
		if x != nil && x.state != nil {
			return lo.slotSource(e.Name, x)
		}
		if lo.ro != nil && lo.ro.versioned[x] {
			panic(&notRolled{"a derivative by a variable of several values"})
		}
	case *expr.Field, *expr.Index:
		if v, ok := lo.part(e); ok {
			return lo.asSource(expr.Sprint(e), v)
		}
		if x, ok := e.(*expr.Index); ok {
			lo.failWith(e, &Misuse{Kind: "type", Msg: "a derivative is taken by a name, and " + expr.Sprint(e) + " is computed anew here",
				Hint: "take it by " + expr.Sprint(x.X) + " and index the result", Pos: expr.NoPos})
		}
	case *expr.Num, *expr.Unary, *expr.Binary, *expr.Call:
		lo.advise(e, "type", "give it a name first: u = "+expr.Sprint(e), "a derivative is taken by a name, not by %s", expr.Sprint(e))
	}
	return lo.asSource(expr.Sprint(e), lo.eval(e))
}

// part finds p[0] or m.w inside a structure without computing anything.
func (lo *lowering) part(e expr.Expr) (value, bool) {
	switch e := e.(type) {
	case *expr.Name:
		if x := lo.scope.find(e.Name); x != nil {
			return x.val, true
		}
	case *expr.Field:
		if v, ok := lo.part(e.X); ok {
			if rec, ok := v.(*record); ok {
				if i := slices.Index(rec.names, e.Name); i >= 0 {
					return rec.elems[i], true
				}
			}
		}
	case *expr.Index:
		if v, ok := lo.part(e.X); ok && len(e.Items) == 1 {
			if tup, ok := v.(*tuple); ok && e.Items[0].Kind == expr.ItemExpr {
				if i := int(lo.number(lo.eval(e.Items[0].X), e)); i >= -len(tup.elems) && i < len(tup.elems) {
					return tup.elems[(i+len(tup.elems))%len(tup.elems)], true
				}
			}
		}
	}
	return nil, false
}

// slotSource is a variable as a source: all its versions.
func (lo *lowering) slotSource(name string, x *slot) value {
	s := &source{name: name, refs: x.state.versions, past: x.state.past, why: x.state.frozen}
	if r, ok := x.val.(Ref); ok {
		if d := lo.t.DTypeOf(r); !d.IsFloat() {
			s.why = map[tensor.DType]string{tensor.Int64: "an int64", tensor.Bool: "a bool"}[d] + " has no gradient"
			lo.integerSource(name, d)
		}
		if len(s.refs) == 0 {
			s.refs = []Ref{r}
		}
		if s.why == "" && !slices.ContainsFunc(s.refs, lo.t.Active) {
			s.why = name + " is a constant"
		}
	}
	return s
}

// constantSource is why there is no derivative by a name that was bound to a constant.
const constantSource = " is a constant: it depends on no watched variable"

// asSource turns a value into a tree of sources.
func (lo *lowering) asSource(name string, v value) value {
	if extentOf(v).leaves > mostSources {
		panic(&Misuse{Kind: "type", Pos: lo.t.pos, Msg: fmt.Sprintf("a derivative by a structure of more than %d values", mostSources),
			Hint: "numbers in a tensor are one source"})
	}
	switch v := v.(type) {
	case Ref:
		if x := lo.stateOf(v); x != nil {
			return lo.slotSource(name, x)
		}
		s := &source{name: name, refs: []Ref{v}}
		switch {
		case !lo.t.DTypeOf(v).IsFloat():
			s.why = lo.t.DTypeOf(v).String() + " values have no gradient"
			lo.integerSource(name, lo.t.DTypeOf(v))
		case !lo.t.Active(v):
			s.why = name + constantSource
			if lo.t.ins[v].Op() == opStop {
				s.why = lo.t.Attr(v).Text
			} else if f, ok := lo.t.frozen[v]; ok {
				s.why = f
			}
		}
		return s
	case *tuple:
		out := &tuple{}
		for i, e := range v.elems {
			out.elems = append(out.elems, lo.asSource(name+"["+itoa(i)+"]", e))
		}
		return out
	case *record:
		out := &record{names: v.names}
		for i, e := range v.elems {
			out.elems = append(out.elems, lo.asSource(name+"."+v.names[i], e))
		}
		return out
	}
	return &source{name: name, why: describe(v) + " has no gradient"}
}

// stateOf finds the variable whose current value is r.
func (lo *lowering) stateOf(r Ref) *slot {
	if x, ok := lo.leaves[r]; ok {
		return x
	}
	return nil
}

func (lo *lowering) integerSource(name string, d tensor.DType) {
	if lo.warn != nil {
		lo.warn(Warning{Op: "watch", Msg: name + " is " + d.String() + ": only floats have gradients", Hint: `give it as a float, or with "dtype": "float64"`})
	}
}

// flatten lists the sources of a tree in order.
func flatten(v value) []*source { return flattened(make([]*source, 0, 4), v) }

// flattened appends them to list.
func flattened(list []*source, v value) []*source {
	switch v := v.(type) {
	case *source:
		return append(list, v)
	case *tuple:
		for _, e := range v.elems {
			list = flattened(list, e)
		}
	case *record:
		for _, e := range v.elems {
			list = flattened(list, e)
		}
	}
	return list
}

// rebuild gives results the structure of their sources, taking them in order.
func rebuild(tree value, next func() value) value {
	return mapLeaves(tree, func(value) value { return next() })
}
