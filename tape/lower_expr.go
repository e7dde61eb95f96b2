package tape

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

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
		if len(v.elems) == 0 {
			m.Hint = "so is the shape of a number: x.ndim is 0"
		}
	case *record:
		if len(v.names) > 0 {
			m.Hint = text + "." + v.names[0] + " is its first field"
		}
	case *none:
		name, constant := strings.CutSuffix(v.why, constantSource)
		if !constant {
			name, _, constant = strings.Cut(v.why, notWatched)
			constant = constant && !strings.ContainsAny(name, ".[") // a part is watched with the whole
		}
		if constant {
			m.Hint = "watch " + name + " in front makes it a source; grad(f)(a) is the derivative of a function f at any a"
		}
	case callable:
		f, user := v.(*closure)
		user = user && lo.body == 0 // in a body the name is the row's own
		if user && f.body != nil {
			text = f.name // it is perhaps the last statement
		} else if text == "it" || text == "" || lo.body > 0 {
			text = "f"
		}
		arguments := "…"
		if user {
			names := make([]string, len(f.params))
			for i, p := range f.params {
				names[i] = p.Name
			}
			arguments = strings.Join(names, ", ")
		}
		m.Hint = "a call is written " + text + "(" + arguments + ")"
		if user && len(f.params) == 1 {
			m.Hint += ", the derivative grad(" + text + ")(" + arguments + ")"
		}
		if f, ok := e.(*expr.Lambda); ok && len(f.Params) == 1 {
			x := f.Params[0].Name
			m.Hint = "leave out " + x + " ->, or call it: f(" + x + ") = …; f(" + x + ")"
		}
	}
	lo.failWith(e, m)
}

// literal is a number of the program's text. Inside of an operation it takes the dtype of what that
// is of.
func (lo *lowering) literal(v float64) Ref {
	if lo.body > 0 {
		return lo.t.Const(v)
	}
	return lo.t.constOf(v, lo.dtype)
}

// evalRef lowers an expression that must be a tensor. Most are known for one by their form:
// in no wrapping, they are no garbage.
func (lo *lowering) evalRef(e expr.Expr) Ref {
	switch e := e.(type) {
	case *expr.Num:
		return lo.literal(e.Value)
	case *expr.Unary:
		return lo.unary(e)
	case *expr.Binary:
		return lo.binary(e)
	case *expr.Call:
		if r, ok := lo.elementwise(e); ok {
			return r
		}
		return lo.ref(lo.otherCall(e), e)
	}
	return lo.ref(lo.eval(e), e)
}

// isOne demands that r has one number.
func (lo *lowering) isOne(r Ref, e expr.Expr) {
	if lo.t.size(r) != 1 {
		lo.fail(e, "type", "one number is needed here, not a tensor of shape %v", lo.t.Shape(r))
	}
}

// number demands a known single number.
func (lo *lowering) number(v value, e expr.Expr) float64 {
	r := lo.ref(v, e)
	lo.isOne(r, e)
	if _, written := lo.t.constant(r); !written && lo.steps == 0 && !lo.rolled && e != nil {
		lo.plain.note(r, e.Mark())
	}
	return lo.t.read(r)[0]
}

// eval lowers an expression.
func (lo *lowering) eval(e expr.Expr) value {
	switch e := e.(type) {
	case *expr.Num, *expr.Unary, *expr.Binary:
		return lo.evalRef(e)
	case *expr.Name:
		return lo.lookup(e)
	case *expr.Str:
		return e.Value
	case *expr.Cond:
		if lo.rolled {
			r := lo.evalRef(e.C)
			lo.mark(e.C, e.C.Mark())
			v, _ := lo.fork(r, func() (value, bool) { return lo.eval(e.A), true }, func() (value, bool) { return lo.eval(e.B), true })
			return v
		}
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
		return lo.structure(out, e)
	case *expr.Record:
		out := &record{}
		given := map[string]bool{}
		for _, f := range e.Fields {
			if given[f.Name] {
				lo.fail(spanOf(f.NamePos, len(f.Name)), "name", "the field %s is given twice", f.Name)
			}
			given[f.Name] = true
			out.names, out.elems = append(out.names, f.Name), append(out.elems, lo.eval(f.Value))
		}
		return lo.structure(out, e)
	case *expr.Lambda:
		return &closure{name: "function", params: e.Params, result: e.Body, scope: lo.scope}
	}
	panic(fmt.Sprintf("tape: expression %T", e))
}

// unary lowers -x, +x and not x.
func (lo *lowering) unary(e *expr.Unary) Ref {
	x := lo.evalRef(e.X)
	lo.mark(e, e.Mark())
	switch e.Op {
	case expr.Minus:
		if r, ok := lo.operator("negative", e, []expr.Expr{e.X}, x); ok {
			return r
		}
		return lo.t.Apply(opNeg, x)
	case expr.Not:
		return lo.t.apply("logical_not", x)
	}
	return x
}

// binary lowers a chain of infix operators, iteratively along its left spine: a sum
// of 200000 terms must not need as deep a stack.
func (lo *lowering) binary(e *expr.Binary) Ref {
	var local [8]*expr.Binary
	spine := local[:0]
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
	l := lo.evalRef(x)
	for i := len(spine) - 1; i >= 0; i-- {
		b := spine[i]
		r := lo.evalRef(b.Y)
		lo.mark(b, b.OpPos)
		l = lo.infixOf(b, l, r)
	}
	return l
}

// infixOf applies an operator to its operands; where their shapes do not fit it says which
// has which. Operands are evaluated outside of it: thousands of calls deep, an error that
// each of them catches and throws again takes seconds to come out.
func (lo *lowering) infixOf(b *expr.Binary, l, r Ref) Ref {
	defer func() {
		if p := recover(); p != nil {
			if m, ok := p.(*Misuse); ok && m.Kind == "shape" {
				m.Note = lo.operands(b, l, r, m.Note)
			}
			panic(p)
		}
	}()
	if r, ok := lo.operator(binaryOps[b.Op], b, []expr.Expr{b.X, b.Y}, l, r); ok {
		return r
	}
	if x, ok := b.X.(*expr.Num); ok && b.Op == expr.Pow && x.Value == 2 && lo.t.ins[r].dtype.IsFloat() {
		if _, known := lo.t.constant(r); !known {
			// in a third of the time; not where powers are recorded, since a loop that is one
			// instruction does not know the steps in which a base that it counts is 2
			return lo.t.apply("exp2", r)
		}
	}
	return lo.infix(b.Op, l, r)
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

// infix applies an infix operator.
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
func (lo *lowering) lazy(e *expr.Binary) Ref {
	x := lo.evalRef(e.X)
	if lo.t.Shape(x).Size() == 1 && len(lo.t.Shape(x)) == 0 && len(lo.t.Axes(x)) == 0 {
		lo.mark(e, e.OpPos)
		short := func() (value, bool) {
			return lo.t.constOf(map[bool]float64{true: 1, false: 0}[e.Op == expr.Or], tensor.Bool), true
		}
		long := func() (value, bool) {
			y := lo.evalRef(e.Y)
			lo.mark(e, e.OpPos)
			return lo.t.apply("not_equal", y, lo.t.Const(0)), true
		}
		if e.Op == expr.Or {
			v, _ := lo.fork(x, short, long)
			return lo.ref(v, e)
		}
		v, _ := lo.fork(x, long, short)
		return lo.ref(v, e)
	}
	y := lo.evalRef(e.Y)
	lo.mark(e, e.OpPos)
	return lo.t.apply(binaryOps[e.Op], x, y)
}

// lookup is what a name means: a truth value, what it is bound to, a constant or an operation.
func (lo *lowering) lookup(e *expr.Name) value {
	switch e.Name { // whatever an input is called
	case "true":
		return lo.t.constOf(1, tensor.Bool)
	case "false":
		return lo.t.constOf(0, tensor.Bool)
	}
	if x := lo.scope.find(e.Name); x != nil {
		if x.val == nil {
			lo.unknown(e)
		}
		if x.unsure {
			panic(&notRolled{"a name that may not be bound yet"})
		}
		return x.val
	}
	switch e.Name {
	case "None", "none", "newaxis":
		return &none{why: noneItself}
	case "int64", "float64", "float32", "bool":
		if _, ok := Lookup(e.Name); ok {
			return &builtin{name: e.Name, f: func(lo *lowering, args []value, at *expr.Call) value {
				return lo.operate(table.find(e.Name), args, nil, at)
			}}
		}
	}
	if v, ok := namedConstant(e.Name); ok {
		return lo.literal(v)
	}
	if f := formNamed(e.Name); f != nil {
		return &builtin{name: e.Name, f: f.apply}
	}
	if op, ok := Lookup(e.Name); ok {
		return &builtin{name: e.Name, f: func(lo *lowering, args []value, at *expr.Call) value { return lo.operate(op, args, nil, at) }}
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
	} else if expr.Binds(lo.prog, e.Name) {
		m.Msg = e.Name + " has no value: nothing that binds it has run"
		m.Hint = "bind it before the if or the loop that need not run, as in " + e.Name + " = 0"
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
		has := cmp.Or(expr.Some(rec.names), "none")
		lo.advise(e, "name", expr.DidYouMean(e.Name, rec.names), "no field %s: the record has %s", e.Name, has)
	}
	if _, ok := v.(callable); ok && expr.Foreign(e.Name) != "" { // norm.cdf, as SciPy has it
		lo.advise(e, "name", expr.Foreign(e.Name), "a function has no attribute %s", e.Name)
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
	lo.noAttribute(e)
	return nil
}

// noAttribute says what a tensor has instead.
func (lo *lowering) noAttribute(e *expr.Field) {
	m := &Misuse{Kind: "name", Msg: "a tensor has no attribute " + e.Name, Hint: "T, shape, size, ndim, dtype", Pos: expr.NoPos}
	if Known(e.Name) {
		x := "x"
		if n, ok := e.X.(*expr.Name); ok {
			x = n.Name
		}
		if rest := lo.prog.Text[e.Where().End:]; strings.HasPrefix(rest, "(") && !strings.HasPrefix(rest, "()") {
			x += ", …" // its arguments
		}
		m.Hint = "write " + e.Name + "(" + x + ")"
		if e.Name == "grad" { // as PyTorch keeps it
			m.Hint = "write grad(y, " + strings.TrimSuffix(x, ", …") + ")"
		}
	} else if hint := expr.Foreign(e.Name); hint != "" {
		m.Hint = hint
	}
	lo.failWith(e, m)
}

// list lowers [a, b, …]: written numbers become one constant, anything else is stacked.
func (lo *lowering) list(e *expr.List) value {
	refs := make([]Ref, len(e.Elems))
	written := true
	for i, x := range e.Elems {
		refs[i] = lo.evalRef(x)
		written = written && lo.t.ins[refs[i]].Op() == opConst
	}
	lo.mark(e, e.Mark())
	if len(refs) == 0 {
		return lo.t.Tensor(&tensor.Tensor{DType: lo.t.DType, Shape: tensor.Shape{0}})
	}
	first := lo.t.Shape(refs[0])
	for i, r := range refs {
		if !lo.t.Shape(r).Equal(first) {
			lo.advise(e.Elems[i], "shape", "what has several shapes stands in a tuple (a, b)", "element %d of the list has shape %v, the first has %v", i, lo.t.Shape(r), first)
		}
	}
	if written {
		out := &tensor.Tensor{DType: lo.t.DTypeOf(refs[0]), Shape: append(tensor.Shape{len(refs)}, first...)}
		for _, r := range refs {
			out.DType = promote(out.DType, lo.t.DTypeOf(r))
			out.Data = append(out.Data, lo.t.data(r)...)
		}
		if out.DType == tensor.Float32 { // single numbers keep their digits
			kernelsFloat32(out.Data, out.Data)
		}
		return lo.t.Tensor(out)
	}
	return lo.t.stack(refs, 0)
}
