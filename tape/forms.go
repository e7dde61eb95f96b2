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

// forms is formRows, for what they know (see init in op.go).
var forms []form

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

// formLen is len(x): the size of the leading axis, or how many parts a structure has.
func formLen(lo *lowering, args []value, at *expr.Call) value {
	if len(args) != 1 {
		lo.arity(at, "len", 1, len(args))
	}
	if s, _ := lo.shapeOf(args[0]); len(s) > 0 {
		return lo.t.constOf(float64(s[0]), tensor.Int64)
	}
	switch args[0].(type) {
	case *tuple, *record:
	default:
		what := describe(args[0])
		if _, ok := args[0].(Ref); ok {
			what = "a number"
		}
		lo.advise(lo.argExpr(at, 0), "type", "x.size is the number of elements", "%s has no length", what)
	}
	return lo.t.constOf(float64(len(lo.elements(args[0], at))), tensor.Int64)
}

// formRange makes a tensor of the numbers that a loop would walk.
func formRange(lo *lowering, args []value, at *expr.Call) value {
	from, step, n := lo.rangeOf(at)
	lo.mark(at, at.Mark())
	c := &call{lo: lo, t: lo.t, op: table.find("arange"), at: at}
	out := &tensor.Tensor{DType: tensor.Int64, Shape: c.checkedShape([]int{n})}
	out.Data = make([]float64, n)
	for i := range out.Data {
		if i&0xffff == 0 && lo.check != nil {
			lo.check()
		}
		out.Data[i] = from + float64(step*float64(i))
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
	n := lo.scanned(args[2], lo.argExpr(at, 2))
	var outs []value
	var rest value // of all steps that run as one instruction
	lo.t.runSteps(max(n, 0), func(i int) {
		lo.tick()
		lo.mark(at, at.Mark())
		x := mapLeaves(args[2], func(v value) value { return lo.row(v, i) })
		var y value
		lo.step(func() { y = f.call(lo, []value{carry, x}, at) })
		p, ok := y.(*tuple)
		if !ok || len(p.elems) != 2 {
			lo.advise(lo.argExpr(at, 0), "type", "write (c, x) -> (c + x, c) for running sums", "the function of scan returns a pair: (carry, y)")
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
		ys = lo.joined(ys, rest, at)
	}
	return &tuple{elems: []value{carry, ys}}
}

// scanned is the size of the leading axes that scan walks, or -1 of nothing.
func (lo *lowering) scanned(xs value, at expr.Expr) int {
	n := -1
	eachLeaf(xs, func(v value) {
		s, ok := lo.shapeOf(v)
		if !ok {
			lo.ref(v, at) // which says so
		}
		if len(s) == 0 {
			lo.fail(at, "shape", "scan walks a leading axis, this is a scalar")
		}
		if n >= 0 && n != s[0] {
			lo.fail(at, "shape", "scan needs leading axes of one size, these are %d and %d", n, s[0])
		}
		n = s[0]
	})
	return n
}

// joined is what the first steps of a scan put out with what the others did behind it.
func (lo *lowering) joined(ys, rest value, at *expr.Call) value {
	if !sameStructure(ys, rest) {
		lo.fail(at, "type", "the results have different structures")
	}
	var more []Ref
	eachLeaf(rest, func(v value) { more = append(more, v.(Ref)) })
	i := -1
	return mapRefs(ys, func(r Ref) Ref {
		i++
		if s, m := lo.t.Shape(r), lo.t.Shape(more[i]); !s[1:].Equal(m[1:]) {
			lo.fail(at, "shape", "results of shapes %v and %v do not stack", s[1:], m[1:])
		}
		return lo.t.concat([]Ref{r, more[i]}, 0)
	})
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
				hint := ""
				if f, ok := at.Fun.(*expr.Name); ok && f.Name == "scan" {
					hint = "begin with a carry of the shape that it keeps, as zeros_like(xs[0])"
				}
				lo.advise(at, "shape", hint, "results of shapes %v and %v do not stack", lo.t.Shape(refs[0]), lo.t.Shape(refs[i]))
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
	out, dv := lo.agreed(func() value { return f.call(lo, xs, at) })
	if dv != nil {
		if groups = lo.groups(dv, axis); groups == nil {
			panic(dv)
		}
	}
	return out, groups
}

// agreed runs f; where points of a batch disagree about a condition it returns that instead.
func (lo *lowering) agreed(f func() value) (out value, dv *diverged) {
	scope, depth, body, off := lo.scope, lo.depth, lo.body, lo.off
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		d, ok := p.(*diverged)
		if !ok {
			panic(p)
		}
		lo.scope, lo.depth, lo.body, lo.off = scope, depth, body, off
		lo.memo.forget()
		dv = d
	}()
	return f(), nil
}

// byPoints runs f on xs, which may vary along batch axes that others own, those below
// limit. Where their points disagree about a condition it runs once for each group that agrees.
func (lo *lowering) byPoints(f func(xs []value) Ref, xs []value, limit int, at *expr.Call) Ref {
	out, dv := lo.agreed(func() value { return f(xs) })
	if dv == nil {
		return out.(Ref)
	}
	t := lo.t
	for _, a := range dv.axes {
		axis, n := int(a), t.axes[a]
		if axis >= limit || lo.groups(dv, axis) == nil {
			continue
		}
		rows, points := make([]value, len(xs)), make([]int, n)
		for i, x := range xs {
			rows[i] = t.unbatch(x.(Ref), axis, tensor.Shape{n})
		}
		for i := range points {
			points[i] = i
		}
		again := &builtin{f: func(lo *lowering, xs []value, at *expr.Call) value { return lo.byPoints(f, xs, limit, at) }}
		r := lo.mapPoints(again, rows, points, n, at).(Ref)
		if !slices.Contains(t.Axes(r), a) { // f sees the axis only through xs
			return t.rebatch(r, axis, 1)
		}
	}
	panic(dv)
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
