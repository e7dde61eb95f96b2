package tape

import (
	"fmt"
	"slices"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// evalCall lowers f(args).
func (lo *lowering) evalCall(e *expr.Call) value {
	if r, ok := lo.elementwise(e); ok {
		return r
	}
	return lo.otherCall(e)
}

// elementwise lowers the call of an elementwise operation with its arguments in order: most
// calls are of one.
func (lo *lowering) elementwise(e *expr.Call) (Ref, bool) {
	n, named := e.Fun.(*expr.Name)
	if !named || len(e.Args) == 0 {
		return None, false
	}
	op, ok := lo.operation(n.Name)
	if !ok || op.Seq || lo.registered(op) != nil || op.arity() != len(e.Args) || slices.ContainsFunc(e.Args, func(a expr.Arg) bool { return a.Name != "" }) {
		return None, false
	}
	if x := lo.scope.find(n.Name); x != nil {
		if _, mine := x.val.(callable); mine {
			return None, false
		}
	}
	var r [3]Ref
	for i, a := range e.Args {
		r[i] = lo.evalRef(a.Value)
	}
	lo.mark(e, e.Mark())
	return lo.t.Apply(op, r[:len(e.Args)]...), true
}

// otherCall lowers the calls that are not elementwise's.
func (lo *lowering) otherCall(e *expr.Call) value {
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
			return lo.operate(op, args, names, e)
		}
		if x != nil {
			lo.advise(n, "type", "a product is written "+n.Name+"*(…), an element "+n.Name+"[…]", "%s is not a function: it is %s", n.Name, describe(x.val))
		}
		m := &Misuse{Kind: "name", Msg: "unknown function " + n.Name, Pos: expr.NoPos}
		if lo.prog != nil && expr.Binds(lo.prog, n.Name) {
			m.Msg = n.Name + " is called before it is defined"
			m.Hint = "move its definition in front of what uses it"
		} else if m.Hint = expr.Foreign(n.Name); m.Hint != "" {
		} else if _, ok := namedConstant(strings.ToLower(n.Name)); ok {
			m.Hint = "it is a number: write " + strings.ToLower(n.Name) + " without ()"
		} else if g := expr.Nearest(n.Name, append(lo.functionNames(), callNames()...)); g != "" {
			m.Hint = "did you mean " + g + "?"
		} else {
			m.Hint = "nabla ops lists every operation"
		}
		lo.failWith(n, m)
	}
	f, ok := lo.eval(e.Fun).(callable)
	if !ok {
		m := &Misuse{Kind: "type", Msg: "this is not a function", Pos: expr.NoPos}
		if f, ok := e.Fun.(*expr.Field); ok && len(e.Args) == 0 {
			m.Hint = "write ." + f.Name + " without ()"
		} else if ok && f.Name == "size" { // of an axis, to PyTorch
			m.Hint = "write .shape[0]"
		}
		lo.failWith(e.Fun, m)
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

// registered is the gradient that the program registers for an operation, by whichever of its
// names; nil is the operation's own. What an operation is made of keeps its own.
func (lo *lowering) registered(op *Op) *gradRule {
	if lo.body > 0 {
		return nil
	}
	return lo.grads[op]
}

// operate applies an operation under the gradient that is registered for it.
func (lo *lowering) operate(op *Op, args []value, names []string, at *expr.Call) value {
	run := func(xs []value) value { return lo.applyOp(op, xs, names, at) }
	if g := lo.registered(op); g != nil {
		return lo.withRule(g, args, at, run)
	}
	return run(args)
}

// operator applies the operation of an operator where a gradient is registered for it and an
// operand has one.
func (lo *lowering) operator(name string, e expr.Expr, operands []expr.Expr, xs ...Ref) (Ref, bool) {
	if len(lo.grads) == 0 || !slices.ContainsFunc(xs, lo.t.Active) {
		return None, false
	}
	op := table.find(name)
	if lo.registered(op) == nil {
		return None, false
	}
	at := &expr.Call{Span: expr.Span{Start: e.Mark(), End: e.Where().End}, Fun: spanOf(e.Mark(), 1)}
	args := make([]value, len(xs))
	for i, x := range operands {
		at.Args = append(at.Args, expr.Arg{Value: x})
		args[i] = xs[i]
	}
	return lo.ref(lo.operate(op, args, nil, at), e), true
}

// functionNames are the functions of the program that are in sight.
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
			hint := "leave out " + n + "=: they go by their order"
			if f, ok := e.Fun.(*expr.Name); ok && wider(f.Name) != "" {
				hint = wider(f.Name)
			}
			lo.advise(spanOf(e.Args[i].NamePos, len(n)), "type", hint, "arguments of this function have no names")
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
		f.under++
		if lo.depth++; lo.depth > maxDepth {
			if f.under == 1 {
				lo.advise(at, "type", "bind the value of one of them to a name, and go on from there", "calls stand more than %d deep in each other", maxDepth)
			}
			lo.advise(at, "type", "a condition ends it: c ? a : "+f.name+"(…)", "%s calls itself more than %d times", f.name, maxDepth)
		}
		key, kept := lo.called(f, xs, at)
		if r, ok := lo.memo.given[key]; kept && ok {
			lo.depth--
			f.under--
			return r
		}
		events := lo.memo.events
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
		f.under--
		if v == nil {
			lo.fail(at, "type", "%s gives no value", f.name)
		}
		if kept {
			lo.memo.keep(key, v, events)
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
	if lo.scope.find(name) == nil {
		if op, ok := Lookup(name); ok {
			m.Note = op.Signature()
		}
		m.Hint = wider(name)
	}
	if f := formNamed(name); f != nil && f.call == nil {
		m.Hint = "write " + name + "(" + f.Args + ")"
	}
	lo.failWith(e, m)
}

// wider is what to write for arguments that a function has in other languages alone.
// It is no map, which would be filled each time nabla starts.
func wider(name string) string {
	switch name {
	case "log":
		return "log(x)/log(b) is the logarithm to base b; log2 and log10 are there"
	case "round":
		return "round(x*100)/100 keeps two digits"
	case "vmap":
		return "vmap(a -> f(a, b))(x) is f with the same b for every row"
	}
	return ""
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
			lo.fail(lo.argExpr(at, i), "type", "a function with a custom gradient takes tensors, this is %s", describe(a))
		}
		refs = append(refs, r)
	}
	if len(args) != len(g.def.Params) { // of an operation, which may be called with more or fewer
		lo.advise(at, "type", "give its gradient a parameter for each argument here", "%s is called with %s, its gradient has %s", g.def.Name, expr.Plural(len(args), "argument"), expr.Plural(len(g.def.Params), "parameter"))
	}
	for i, b := range g.def.Bodies {
		if g.writesNone(b) {
			refs[1+i] = t.stop(refs[1+i], "the gradient of "+g.def.Name+" is none at "+lo.place(b.Where().Start))
		}
	}
	given := run(args)
	parts, several := given.(*tuple)
	v := lo.packed(given, at)
	lo.mark(at, at.Mark())
	refs[0] = v
	rule := func(i int, ct Ref) Ref {
		if g.writesNone(g.def.Bodies[i]) {
			return None
		}
		off := lo.off
		lo.off = nil
		out := lo.byPoints(func(xs []value) Ref {
			if several {
				xs = append(slices.Clone(xs[:len(args)]), t.unpacked(xs[len(args)].(Ref), parts))
			}
			return lo.runRule(g, i, xs)
		}, append(slices.Clone(args), ct), len(t.axes), at)
		lo.off = off
		want := t.Shape(refs[1+i])
		if s, ok := broadcast(t.Shape(out), want); !ok || !s.Equal(want) {
			hint, name := "", g.def.Params[i].Name
			if s, ok := broadcast(want, t.Shape(out)); ok && s.Equal(t.Shape(out)) && s.Equal(t.Shape(v)) {
				hint = name + " is repeated over the axes that it lacks, or has one of: its gradient is the sum over these"
			}
			lo.advise(g.def.Bodies[i], "shape", hint, "the gradient of %s for %s has shape %v, the argument has %v", g.def.Name, name, t.Shape(out), want)
		}
		return out
	}
	out := t.add(opWithGrad, t.ins[v].shape, t.ins[v].dtype, t.newAttr(Attr{Text: g.def.Name, Adj: rule}), refs...)
	for _, r := range refs[1:] {
		if t.Active(r) && t.ins[v].dtype.IsFloat() {
			t.ins[out].flags |= flagActive
		}
	}
	if several {
		return t.unpacked(out, parts)
	}
	return out
}

// writesNone reports whether the text of a gradient is the word none: the argument has no gradient.
func (g *gradRule) writesNone(body expr.Expr) bool {
	n, ok := body.(*expr.Name)
	if !ok || n.Name != "none" && n.Name != "None" || n.Name == g.def.Upstream.Name {
		return false
	}
	return g.scope.find(n.Name) == nil && !slices.ContainsFunc(g.def.Params, func(p expr.Param) bool { return p.Name == n.Name })
}

// packed is what a function with a custom gradient gives as one tensor: several one after
// another, so that one rule has the cotangents of all.
func (lo *lowering) packed(v value, at *expr.Call) Ref {
	if r, ok := v.(Ref); ok {
		return r
	}
	t := lo.t
	parts, ok := v.(*tuple)
	if !ok || len(parts.elems) == 0 {
		lo.fail(at, "type", "a function with a custom gradient gives a tensor or a tuple of tensors, this is %s", describe(v))
	}
	flat := make([]Ref, len(parts.elems))
	for i, x := range parts.elems {
		r, ok := x.(Ref)
		if !ok {
			lo.fail(at, "type", "a function with a custom gradient gives a tensor or a tuple of tensors, this tuple has %s", describe(x))
		}
		flat[i] = t.reshape(r, tensor.Shape{t.Shape(r).Size()})
		if t.DTypeOf(r) != t.DTypeOf(flat[0]) {
			lo.fail(at, "type", "the parts of a result with a custom gradient are of one type, these are %v and %v", t.DTypeOf(flat[0]), t.DTypeOf(r))
		}
	}
	return t.concat(flat, 0)
}

// unpacked is a packed tensor as a tuple of parts with the shapes of like.
func (t *Tape) unpacked(r Ref, like *tuple) *tuple {
	out, at := &tuple{elems: make([]value, len(like.elems))}, 0
	for i, x := range like.elems {
		s := t.Shape(x.(Ref))
		out.elems[i] = t.reshape(t.slice(r, -1, at, at+s.Size(), 1), s)
		at += s.Size()
	}
	return out
}

// runRule evaluates a registered gradient for argument i, given the arguments and the
// upstream gradient.
func (lo *lowering) runRule(g *gradRule, i int, xs []value) Ref {
	saved := lo.scope
	lo.scope = &scope{names: map[string]*slot{}, parent: g.scope}
	for k, p := range append(slices.Clone(g.def.Params), g.def.Upstream) {
		lo.scope.names[p.Name] = &slot{val: xs[k]}
	}
	if lo.depth++; lo.depth > maxDepth {
		lo.fail(g.def.Bodies[i], "type", "the gradient of %s needs itself more than %d times", g.def.Name, maxDepth)
	}
	out := lo.evalRef(g.def.Bodies[i])
	lo.scope = saved
	lo.depth--
	return out
}
