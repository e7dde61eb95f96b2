package tape

import (
	"slices"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A form is a built-in that is not an operation: it takes functions, names of sources
// or structures. Without a call it is a derivative, which sees its arguments unevaluated.
type form struct {
	FormDoc
	call func(lo *lowering, args []value, at *expr.Call) value
}

// A FormDoc describes a built-in form for listings.
type FormDoc struct{ Name, Args, Doc string }

var formRows = []form{
	{FormDoc: FormDoc{"batch_jacobian", "y, x", "the blocks dy[b]/dx[b]"}},
	{FormDoc: FormDoc{"grad", "y, x", "the gradient of sum(y) with respect to x; grad(f) is a function"}},
	{FormDoc: FormDoc{"hessian", "y, x", "the second derivatives of a scalar"}},
	{FormDoc: FormDoc{"hvp", "y, x, v", "the Hessian of y times v"}},
	{FormDoc: FormDoc{"jacobian", "y, x", "dy/dx, of shape y.shape + x.shape"}},
	{FormDoc: FormDoc{"jvp", "y, x, v", "dy/dx · v"}},
	{FormDoc{"len", "x", "the size of the leading axis"}, formLen},
	{FormDoc{"range", "n", "0, 1, … n-1, for loops"}, formRange},
	{FormDoc{"scan", "f, init, xs", "carry, y = f(carry, x) along the leading axis: the last carry and the stacked ys"}, formScan},
	{FormDoc: FormDoc{"value_and_grad", "y, x", "the pair of y and its gradient"}},
	{FormDoc: FormDoc{"vjp", "y, x, g", "g · dy/dx"}},
	{FormDoc{"vmap", "f", "f applied to every row of the leading axis, at once"}, formVmap},
}

// forms is formRows, for what they know.
var forms []form

func init() { forms = formRows }

// formNamed is the form of a name, or nil.
func formNamed(name string) *form {
	for i := range forms {
		if forms[i].Name == name {
			return &forms[i]
		}
	}
	return nil
}

// apply calls a form with values.
func (f *form) apply(lo *lowering, args []value, at *expr.Call) value {
	if f.call == nil {
		lo.fail(at, "type", "%s is called with names: %s(y, x)", f.Name, f.Name)
	}
	return f.call(lo, args, at)
}

// Forms lists the built-in forms by name.
func Forms() (docs []FormDoc) {
	for _, f := range forms {
		docs = append(docs, f.FormDoc)
	}
	return docs
}

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
		if x := lo.scope.find(e.Name); x != nil && x.state != nil {
			return lo.slotSource(e.Name, x)
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
		lo.failWith(e, &Misuse{Kind: "type", Msg: "a derivative is taken by a name, not by " + expr.Sprint(e), Hint: "give it a name first: u = " + expr.Sprint(e), Pos: expr.NoPos})
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

// asSource turns a value into a tree of sources.
func (lo *lowering) asSource(name string, v value) value {
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
			s.why = name + " is a constant: it depends on no watched variable"
			if lo.t.ins[v].Op == opStop {
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
func flatten(v value) []*source {
	var out []*source
	eachLeaf(v, func(x value) {
		if s, ok := x.(*source); ok {
			out = append(out, s)
		}
	})
	return out
}

// rebuild gives results the structure of their sources, taking them in order.
func rebuild(tree value, next func() value) value {
	return mapLeaves(tree, func(value) value { return next() })
}

// tensorsOf lists the tensors of a target: a structure stands for all its parts.
func (lo *lowering) tensorsOf(v value, e expr.Expr) []Ref {
	switch v := v.(type) {
	case Ref:
		return []Ref{v}
	case *tuple:
		var out []Ref
		for _, x := range v.elems {
			out = append(out, lo.tensorsOf(x, e)...)
		}
		return out
	case *record:
		var out []Ref
		for _, x := range v.elems {
			out = append(out, lo.tensorsOf(x, e)...)
		}
		return out
	}
	lo.noTensor(v, e, "the target of a derivative is a tensor")
	return nil
}

// perSource calls engine with the versions of all sources that are one, and adds up
// each source's versions; none with the reason where nothing comes back.
func (lo *lowering) perSource(ys []Ref, tree value, engine func(srcs []Ref) []Ref) value {
	list := flatten(tree)
	var srcs []Ref
	for _, s := range list {
		if s.why == "" {
			srcs = append(srcs, s.refs...)
		}
	}
	var got []Ref
	if len(srcs) > 0 {
		got = engine(srcs)
	}
	at := 0
	i := 0
	return rebuild(tree, func() value {
		s := list[i]
		i++
		if s.why != "" {
			return &none{why: s.why}
		}
		sum := None
		for range s.refs {
			g := got[at]
			at++
			switch {
			case g == None:
			case sum == None:
				sum = g
			default:
				sum = lo.t.Apply(opAdd, sum, g)
			}
		}
		if sum == None {
			return &none{why: lo.whyNone(ys, s)}
		}
		return sum
	})
}

// derivative lowers grad(y, x) and its relatives. With one argument, a function, it is
// the function of that derivative.
func (lo *lowering) derivative(name string, e *expr.Call) value {
	if lo.rolled {
		panic(&notRolled{"a derivative"})
	}
	want := 2
	if name == "vjp" || name == "jvp" || name == "hvp" {
		want = 3
	}
	for _, a := range e.Args {
		if a.Name != "" {
			lo.fail(spanOf(a.NamePos, len(a.Name)), "type", "arguments of %s have no names", name)
		}
	}
	if len(e.Args) == 1 {
		f, ok := lo.eval(e.Args[0].Value).(callable)
		if !ok {
			lo.fail(e, "type", "%s takes %d arguments (%s), or one function", name, want, formNamed(name).Args)
		}
		return &builtin{name: name, f: func(lo *lowering, args []value, at *expr.Call) value {
			return lo.derivedCall(name, f, args, at)
		}}
	}
	if len(e.Args) != want {
		lo.arity(e, name, want, len(e.Args))
	}
	y := lo.eval(e.Args[0].Value)
	tree := lo.sourceTree(e.Args[1].Value)
	var v value
	if want == 3 {
		v = lo.eval(e.Args[2].Value)
	}
	lo.mark(e, e.Mark())
	return lo.stopped(lo.derive(name, y, tree, v, e))
}

// derivedCall calls grad(f) and the like: the derivative by the first argument.
func (lo *lowering) derivedCall(name string, f callable, args []value, at *expr.Call) value {
	n := 1
	if name == "vjp" || name == "jvp" || name == "hvp" {
		n = 2
	}
	if len(args) < n {
		lo.arity(at, name+"(f)", n, len(args))
	}
	xs := slices.Clone(args)
	var v value
	if n == 2 { // grad-like(f)(x…, v)
		v, xs = xs[len(xs)-1], xs[:len(xs)-1]
	}
	xs[0] = mapRefs(xs[0], func(r Ref) Ref {
		if !lo.t.DTypeOf(r).IsFloat() {
			return r
		}
		a := lo.t.add(opAlias, lo.t.ins[r].shape, lo.t.ins[r].dtype, 0, r)
		lo.t.ins[a].flags |= flagActive
		return a
	})
	off := lo.off
	lo.off = nil
	y := f.call(lo, xs, at)
	tree := lo.asSource("the argument", xs[0])
	lo.mark(at, at.Mark())
	out := lo.derive(name, y, tree, v, at)
	lo.off = off
	return lo.stopped(out)
}

// derive appends one derivative.
func (lo *lowering) derive(name string, y, tree, v value, e expr.Expr) value {
	t := lo.t
	at := func(i int) expr.Expr {
		if c, ok := e.(*expr.Call); ok && i < len(c.Args) {
			return c.Args[i].Value
		}
		return e
	}
	switch name {
	case "grad", "value_and_grad":
		ys := lo.tensorsOf(y, at(0))
		g := lo.perSource(ys, tree, func(srcs []Ref) []Ref { return t.Gradient(ys, srcs) })
		if name == "grad" {
			return g
		}
		return &tuple{elems: []value{y, g}}
	case "vjp":
		ys := lo.tensorsOf(y, at(0))
		gs := lo.matching(ys, v, at(2), "the upstream gradient")
		return lo.perSource(ys, tree, func(srcs []Ref) []Ref { return t.shaped(t.VJP(ys, gs, srcs), srcs) })
	}
	r, ok := y.(Ref)
	if !ok {
		lo.failWith(at(0), &Misuse{Kind: "type", Msg: "a " + formTitle(name) + " wants one tensor as its target, not " + describe(y), Hint: "stack([…]) makes one of several of a shape", Pos: expr.NoPos})
	}
	switch name {
	case "jacobian":
		return lo.perSource([]Ref{r}, tree, func(srcs []Ref) []Ref { return t.Jacobian(r, srcs, lo.mode) })
	case "batch_jacobian":
		return lo.perSource([]Ref{r}, tree, func(srcs []Ref) []Ref {
			out := make([]Ref, len(srcs))
			for i, x := range srcs {
				lo.checkBatch(r, x, e)
				out[i] = t.BatchJacobian(r, x)
			}
			return out
		})
	case "hessian":
		return lo.hessian(r, tree, e)
	case "jvp", "hvp":
		list := flatten(tree)
		vs := lo.tangents(list, v, at(2))
		var srcs, tan []Ref
		for i, s := range list {
			if s.why == "" {
				for range s.refs {
					tan = append(tan, vs[i])
				}
				srcs = append(srcs, s.refs...)
			}
		}
		if name == "jvp" {
			dy := t.JVP([]Ref{r}, srcs, tan)[0]
			if dy == None {
				return &none{why: lo.whyNoTangent(r, list)}
			}
			return dy
		}
		lo.scalarTarget(r, e, "a Hessian-vector product")
		return lo.perSource([]Ref{r}, tree, func([]Ref) []Ref { return t.HVP(r, srcs, tan) })
	}
	panic("tape: derivative " + name)
}

func formTitle(name string) string {
	switch name {
	case "jacobian":
		return "Jacobian"
	case "batch_jacobian":
		return "batch Jacobian"
	case "hessian":
		return "Hessian"
	}
	return name
}

// scalarTarget demands a scalar.
func (lo *lowering) scalarTarget(r Ref, e expr.Expr, what string) {
	if lo.t.Shape(r).Size() != 1 {
		lo.failWith(e, &Misuse{Kind: "shape", Msg: what + " needs a scalar target, this one has shape " + lo.t.Shape(r).String(),
			Hint: "sum(…) or mean(…) gives a scalar; jacobian(grad(…), x) has all second derivatives", Pos: expr.NoPos})
	}
}

// matching demands one tensor for each of ys, broadcasting to its shape.
func (lo *lowering) matching(ys []Ref, v value, e expr.Expr, what string) []Ref {
	vs := lo.tensorsOf(v, e)
	if len(vs) == 1 && len(ys) > 1 {
		for len(vs) < len(ys) {
			vs = append(vs, vs[0])
		}
	}
	if len(vs) != len(ys) {
		lo.fail(e, "shape", "%s has %d parts, the target has %d", what, len(vs), len(ys))
	}
	for i, g := range vs {
		want := lo.t.Shape(ys[i])
		if s, ok := broadcast(lo.t.Shape(g), want); !ok || !s.Equal(want) {
			lo.fail(e, "shape", "%s has shape %v, the target has %v", what, lo.t.Shape(g), want)
		}
	}
	return vs
}

// tangents demands a tensor for each source, in its shape.
func (lo *lowering) tangents(list []*source, v value, e expr.Expr) []Ref {
	vs := lo.tensorsOf(v, e)
	if len(vs) != len(list) {
		lo.fail(e, "shape", "%d tangents for %d sources", len(vs), len(list))
	}
	for i, s := range list {
		if s.why != "" {
			continue
		}
		want := lo.t.Shape(s.current())
		if got, ok := broadcast(lo.t.Shape(vs[i]), want); !ok || !got.Equal(want) {
			lo.fail(e, "shape", "the tangent of %s has shape %v, %s has %v", s.name, lo.t.Shape(vs[i]), s.name, want)
		}
		vs[i] = lo.t.broadcastTo(vs[i], want)
	}
	return vs
}

// hessian appends the blocks of second derivatives: one tensor for one source, a
// structure of structures for several.
func (lo *lowering) hessian(y Ref, tree value, e expr.Expr) value {
	lo.scalarTarget(y, e, "a Hessian")
	first := lo.perSource([]Ref{y}, tree, func(srcs []Ref) []Ref { return lo.t.Gradient([]Ref{y}, srcs) })
	var gs []value
	eachLeaf(first, func(v value) { gs = append(gs, v) })
	i := 0
	var blocks [][]value
	h := rebuild(tree, func() value {
		g := gs[i]
		i++
		r, ok := g.(Ref)
		if !ok {
			blocks = append(blocks, nil)
			return g
		}
		row := lo.zeros(lo.perSource([]Ref{r}, tree, func(srcs []Ref) []Ref { return lo.t.Jacobian(r, srcs, lo.hessianMode()) }), r, tree)
		var leaves []value
		eachLeaf(row, func(v value) { leaves = append(leaves, v) })
		blocks = append(blocks, leaves)
		return row
	})
	lo.mirror(blocks, gs)
	return h
}

func (lo *lowering) hessianMode() string {
	if lo.mode == "" {
		return "reverse"
	}
	return lo.mode
}

// zeros replaces what is not connected in a second derivative by zeros where both
// first derivatives exist: the Hessian of a linear function is 0, not missing.
func (lo *lowering) zeros(row value, g Ref, tree value) value {
	list := flatten(tree)
	i := 0
	return mapLeaves(row, func(v value) value {
		s := list[i]
		i++
		if _, ok := v.(*none); ok && s.why == "" {
			shape := append(slices.Clone(lo.t.Shape(g)), lo.t.Shape(s.current())...)
			return lo.t.broadcastTo(lo.t.Const(0), shape)
		}
		return v
	})
}

// eachLeaf visits the leaves of a value in order.
func eachLeaf(v value, visit func(value)) {
	var elems []value
	switch v := v.(type) {
	case *tuple:
		elems = v.elems
	case *record:
		elems = v.elems
	default:
		visit(v)
	}
	for _, e := range elems {
		eachLeaf(e, visit)
	}
}

// mapLeaves replaces every leaf of a structure.
func mapLeaves(v value, f func(value) value) value {
	switch v := v.(type) {
	case *tuple:
		out := &tuple{elems: make([]value, 0, len(v.elems))}
		for _, e := range v.elems {
			out.elems = append(out.elems, mapLeaves(e, f))
		}
		return out
	case *record:
		out := &record{names: v.names, elems: make([]value, 0, len(v.elems))}
		for _, e := range v.elems {
			out.elems = append(out.elems, mapLeaves(e, f))
		}
		return out
	}
	return f(v)
}

// checkBatch demands equal leading axes, and warns where rows are not independent.
func (lo *lowering) checkBatch(y, x Ref, e expr.Expr) {
	ys, xs := lo.t.Shape(y), lo.t.Shape(x)
	source := "the source"
	if n := lo.t.names[x]; n != "" {
		source += " " + n
	}
	switch {
	case len(ys) == 0 || len(xs) == 0:
		lo.fail(e, "shape", "a batch Jacobian needs a leading batch axis: the target has shape %v, %s %v", ys, source, xs)
	case ys[0] != xs[0]:
		lo.failWith(e, &Misuse{Kind: "shape", Pos: expr.NoPos,
			Msg:  "the batch sizes differ: the target has shape " + ys.String() + ", " + source + " " + xs.String() + ", leading axes " + itoa(ys[0]) + " and " + itoa(xs[0]),
			Hint: "--wrt names the sources that have the batch axis; jacobian takes any shapes"})
	}
	if r := lo.t.mixes(y, x); r != None && lo.warn != nil {
		name := lo.nameAt(lo.t.ins[r].Pos, lo.t.ins[r].Op.Name)
		lo.warn(Warning{Op: name, Pos: lo.t.ins[r].Pos, Msg: "the rows are not independent: " + name + " mixes the batch axis; what one row takes from the others is added in",
			Hint: "jacobian has every pair of rows"})
	}
}

// nameAt is the word of the program at a position: an operation as its user wrote it.
func (lo *lowering) nameAt(p expr.Pos, fallback string) string {
	if p < 0 || int(p) >= len(lo.prog.Text) {
		return fallback
	}
	s := lo.prog.Text[p:]
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	if n == 0 {
		return fallback
	}
	return s[:n]
}

func formLen(lo *lowering, args []value, at *expr.Call) value {
	if len(args) != 1 {
		lo.arity(at, "len", 1, len(args))
	}
	if r, ok := args[0].(Ref); ok && len(lo.t.Shape(r)) > 0 {
		return lo.t.constOf(float64(lo.t.Shape(r)[0]), tensor.Int64)
	}
	return lo.t.constOf(float64(len(lo.elements(args[0], at))), tensor.Int64)
}

// formRange makes a tensor of the numbers that a loop would walk.
func formRange(lo *lowering, args []value, at *expr.Call) value {
	from, step, n := lo.rangeOf(at)
	lo.mark(at, at.Mark())
	c := &call{lo: lo, t: lo.t, op: table.find("arange"), at: at}
	out := &tensor.Tensor{DType: tensor.Int64, Shape: c.checkedShape([]int{n})}
	for i := range n {
		out.Data = append(out.Data, from+step*float64(i))
	}
	return lo.t.Tensor(out)
}

// formScan is a loop that carries a value along the leading axis and stacks results.
func formScan(lo *lowering, args []value, at *expr.Call) value {
	if len(args) != 3 {
		lo.arity(at, "scan", 3, len(args))
	}
	f, ok := args[0].(callable)
	if !ok {
		lo.fail(lo.argExpr(at, 0), "type", "scan takes a function first, this is %s", describe(args[0]))
	}
	carry := args[1]
	n := -1
	eachLeaf(args[2], func(v value) {
		r := lo.ref(v, lo.argExpr(at, 2))
		s := lo.t.Shape(r)
		if len(s) == 0 {
			lo.fail(lo.argExpr(at, 2), "shape", "scan walks a leading axis, this is a scalar")
		}
		if n >= 0 && n != s[0] {
			lo.fail(lo.argExpr(at, 2), "shape", "scan needs leading axes of one size, these are %d and %d", n, s[0])
		}
		n = s[0]
	})
	var outs []value
	var rest value // of all steps that run as one instruction
	runSteps(max(n, 0), func(i int) {
		lo.tick()
		x := mapRefs(args[2], func(r Ref) Ref { return lo.t.pick(r, i) })
		p, ok := f.call(lo, []value{carry, x}, at).(*tuple)
		if !ok || len(p.elems) != 2 {
			lo.fail(lo.argExpr(at, 0), "type", "the function of scan returns a pair: (carry, y)")
		}
		carry = p.elems[0]
		outs = append(outs, p.elems[1])
	}, func(first int) rollResult {
		last, ys, r := lo.rollScan(f, carry, args[2], first, n, at)
		if r == rollDone {
			carry, rest = last, ys
		}
		return r
	})
	if len(outs) == 0 {
		return &tuple{elems: []value{carry, lo.t.Tensor(&tensor.Tensor{DType: lo.t.DType, Shape: tensor.Shape{0}})}}
	}
	ys := lo.stackValues(outs, at)
	if rest != nil {
		if !sameStructure(ys, rest) {
			lo.fail(at, "type", "the results have different structures")
		}
		var more []Ref
		eachLeaf(rest, func(v value) { more = append(more, v.(Ref)) })
		i := -1
		ys = mapRefs(ys, func(r Ref) Ref {
			i++
			if s, m := lo.t.Shape(r), lo.t.Shape(more[i]); !s[1:].Equal(m[1:]) {
				lo.fail(at, "shape", "results of shapes %v and %v do not stack", s[1:], m[1:])
			}
			return lo.t.concat([]Ref{r, more[i]}, 0)
		})
	}
	return &tuple{elems: []value{carry, ys}}
}

// stackValues stacks equal structures leaf by leaf.
func (lo *lowering) stackValues(vs []value, at *expr.Call) value {
	leaves := make([][]value, len(vs))
	for i, v := range vs {
		eachLeaf(v, func(x value) { leaves[i] = append(leaves[i], x) })
	}
	k := 0
	return mapLeaves(vs[0], func(value) value {
		refs := make([]Ref, len(vs))
		for i := range vs {
			if k >= len(leaves[i]) {
				lo.fail(at, "type", "the results have different structures")
			}
			refs[i] = lo.ref(leaves[i][k], at)
			if !lo.t.Shape(refs[i]).Equal(lo.t.Shape(refs[0])) {
				lo.fail(at, "shape", "results of shapes %v and %v do not stack", lo.t.Shape(refs[0]), lo.t.Shape(refs[i]))
			}
		}
		k++
		return lo.t.stack(refs, 0)
	})
}

// formVmap applies a function to every row of its arguments along a batch axis. Points
// that disagree about a condition are split into groups, each recorded on its own.
func formVmap(lo *lowering, args []value, at *expr.Call) value {
	if len(args) != 1 {
		lo.arity(at, "vmap", 1, len(args))
	}
	f, ok := args[0].(callable)
	if !ok {
		lo.fail(at, "type", "vmap takes a function, this is %s", describe(args[0]))
	}
	if lo.rolled {
		panic(&notRolled{"vmap"})
	}
	return &builtin{name: "vmap", f: func(lo *lowering, args []value, at *expr.Call) value {
		n := -1
		for i, a := range args {
			eachLeaf(a, func(v value) {
				s := lo.t.Shape(lo.ref(v, lo.argExpr(at, i)))
				switch {
				case len(s) == 0:
					lo.fail(lo.argExpr(at, i), "shape", "vmap maps over a leading axis, this is a scalar")
				case n >= 0 && n != s[0]:
					lo.fail(lo.argExpr(at, i), "shape", "vmap needs leading axes of one size, these are %d and %d", n, s[0])
				}
				n = s[0]
			})
		}
		if n < 0 {
			lo.fail(at, "type", "a mapped function needs an argument")
		}
		points := make([]int, n)
		for i := range points {
			points[i] = i
		}
		return lo.mapPoints(f, args, points, n, at)
	}}
}

// mapPoints runs f over the rows given, splitting them where they diverge.
func (lo *lowering) mapPoints(f callable, args []value, points []int, n int, at *expr.Call) value {
	t := lo.t
	axis := t.NewAxis(len(points))
	xs := make([]value, len(args))
	for i, a := range args {
		xs[i] = mapRefs(a, func(r Ref) Ref {
			if len(points) != n {
				r = t.takeRows(r, points)
			}
			return t.rebatch(r, axis, 1)
		})
	}
	out, split := lo.tryPoints(f, xs, at, axis)
	if split == nil {
		return mapRefs(out, func(r Ref) Ref { return t.unbatch(r, axis, tensor.Shape{len(points)}) })
	}
	var parts []value
	var order []int
	for _, group := range split {
		rows := make([]int, len(group))
		for i, k := range group {
			rows[i] = points[k]
		}
		parts = append(parts, lo.mapPoints(f, args, rows, n, at))
		order = append(order, group...)
	}
	back := make([]int, len(order))
	for i, k := range order {
		back[k] = i
	}
	leaves := make([][]Ref, len(parts))
	for i, p := range parts {
		eachLeaf(p, func(v value) { leaves[i] = append(leaves[i], lo.ref(v, at)) })
	}
	k := 0
	return mapLeaves(parts[0], func(value) value {
		refs := make([]Ref, len(parts))
		for i := range parts {
			if k >= len(leaves[i]) || !t.Shape(leaves[i][k])[1:].Equal(t.Shape(leaves[0][k])[1:]) {
				lo.fail(at, "shape", "the branches of a mapped function give results of different shapes")
			}
			refs[i] = leaves[i][k]
		}
		k++
		return t.takeRows(t.concat(refs, 0), back)
	})
}

// tryPoints runs f; where the points of axis disagree it returns the groups to split into.
func (lo *lowering) tryPoints(f callable, xs []value, at *expr.Call, axis int) (out value, groups [][]int) {
	scope, depth, body, off := lo.scope, lo.depth, lo.body, lo.off
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		dv, ok := p.(*diverged)
		if !ok {
			panic(p)
		}
		g := lo.groups(dv, axis)
		if g == nil {
			panic(p)
		}
		lo.scope, lo.depth, lo.body, lo.off = scope, depth, body, off
		groups = g
	}()
	return f.call(lo, xs, at), nil
}

// groups splits the points of an axis by a condition's value; nil leaves it to an axis
// farther out. Where other axes mix the answer of every point, each point stands alone.
func (lo *lowering) groups(dv *diverged, axis int) [][]int {
	pos := slices.Index(dv.axes, int32(axis))
	if pos < 0 {
		return nil
	}
	n := lo.t.axes[axis]
	inner := 1
	for _, a := range dv.axes[pos+1:] {
		inner *= lo.t.axes[a]
	}
	outer := len(dv.data) / (n * inner)
	var yes, no []int
	mixed := false
	for k := range n {
		var some, all bool = false, true
		for o := range outer {
			for i := range inner {
				b := dv.data[(o*n+k)*inner+i] != 0
				some, all = some || b, all && b
			}
		}
		switch {
		case some && !all:
			mixed = true
		case some:
			yes = append(yes, k)
		default:
			no = append(no, k)
		}
	}
	if !mixed {
		if len(yes) == 0 || len(no) == 0 {
			return nil
		}
		return [][]int{yes, no}
	}
	if pos > 0 || n == 1 {
		return nil
	}
	out := make([][]int, n)
	for k := range out {
		out[k] = []int{k}
	}
	return out
}
