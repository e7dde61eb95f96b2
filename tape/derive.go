package tape

import (
	"fmt"
	"slices"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// tensorsOf lists the tensors of a target: a structure stands for all its parts. One that
// is none adds nothing to their sum, unless all are.
func (lo *lowering) tensorsOf(v value, e expr.Expr) []Ref {
	var out []Ref
	var lacks value
	eachLeaf(v, func(x value) {
		switch x := x.(type) {
		case Ref:
			out = append(out, x)
		case *none:
			lacks = x
		default:
			lo.noTensor(x, e, "the target of a derivative is a tensor")
		}
	})
	if len(out) == 0 && lacks != nil {
		lo.noTensor(lacks, e, "the target of a derivative is a tensor")
	}
	return out
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
		if sum == None && lo.rolled {
			panic(&notRolled{"a derivative that is none"})
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
	lo.memo.forget()
	want := 2
	if name == "vjp" || name == "jvp" || name == "hvp" {
		want = 3
	}
	lo.alone(name, e)
	for _, a := range e.Args {
		if a.Name != "" {
			lo.failWith(spanOf(a.NamePos, len(a.Name)), &Misuse{Kind: "type", Msg: "arguments of " + name + " have no names",
				Hint: "write " + name + "(" + formNamed(name).Args + ")", Pos: expr.NoPos})
		}
	}
	if len(e.Args) == 1 {
		f, ok := lo.eval(e.Args[0].Value).(callable)
		if !ok {
			m := &Misuse{Kind: "type", Msg: name + " takes " + itoa(want) + " arguments (" + formNamed(name).Args + "), or one function", Pos: expr.NoPos}
			if lo.prog != nil && lo.body == 0 {
				m.Hint = "write " + name + "(" + arguments(lo.prog, e.Args[0].Value, strings.TrimPrefix(formNamed(name).Args, "y, x")) + ")"
			}
			lo.failWith(e, m)
		}
		return &builtin{name: name, f: func(lo *lowering, args []value, at *expr.Call) value {
			lo.memo.forget()
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
	return lo.stopped(lo.asked(name, y, tree, v, e))
}

// alone refuses jvp(f, x, v), as other libraries write it: of a function the derivative is a
// function, called with values.
func (lo *lowering) alone(name string, e *expr.Call) {
	if len(e.Args) < 2 {
		return
	}
	f := e.Args[0].Value
	switch f.(type) {
	case *expr.Name, *expr.Lambda:
	default:
		return
	}
	if _, ok := lo.eval(f).(callable); !ok {
		return
	}
	of := expr.Brief(expr.Sprint(f))
	hint := "write " + name + "(" + of + ")(" + strings.TrimPrefix(formNamed(name).Args, "y, ") + ")"
	if _, ok := e.Args[1].Value.(*expr.Num); ok || e.Args[1].Name != "" { // argnums
		hint = name + "(f)(x) is by the first argument, and " + name + "(b -> f(a, b))(b) by the second"
	}
	lo.advise(f, "type", hint, "%s of a function takes the function alone", name)
}

// arguments are what a derivative of y is given: y as it stands, the first name in it or x, and the rest.
func arguments(p *expr.Program, y expr.Expr, rest string) string {
	at := y.Where()
	args := expr.Brief(p.Text[at.Start:at.End]) + ", "
	for _, name := range expr.FreeNames(&expr.Program{Stmts: []expr.Stmt{&expr.ExprStmt{Span: at, X: y}}}) {
		if !expr.Binds(p, name) { // what the program computes is no variable yet
			return args + expr.Brief(name) + rest
		}
	}
	return args + "x" + rest
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
	tree := lo.asSource(theArgument, xs[0])
	lo.mark(at, at.Mark())
	out := lo.asked(name, y, tree, v, at)
	lo.off = off
	return lo.stopped(out)
}

// theArgument is what a source is called that is the argument of a function.
const theArgument = "the argument"

// asTarget is the expression of a target that is asked for from outside: where it is a call of
// a derivative, its arguments are not those of the question.
func asTarget(e expr.Expr) expr.Expr {
	if _, ok := e.(*expr.Call); ok {
		return struct{ expr.Expr }{e}
	}
	return e
}

// asked appends a derivative that a program asks for.
func (lo *lowering) asked(name string, y, tree, v value, e expr.Expr) value {
	out := lo.derive(name, y, tree, v, e)
	if lo.zero {
		return lo.connected(name, y, tree, out, lo.t.zeroBlock)
	}
	return out
}

// derive appends one derivative.
func (lo *lowering) derive(name string, y, tree, v value, e expr.Expr) value {
	at := func(i int) expr.Expr {
		if c, ok := e.(*expr.Call); ok && len(c.Args) > 1 {
			if f, ok := c.Fun.(*expr.Name); ok && f.Name == name {
				return c.Args[i].Value
			}
		}
		return e
	}
	if lo.ro != nil {
		lo.ro.asks(name, lo.tensorsOf(y, at(0)), flatten(tree))
	}
	lo.forget(y, tree)
	if from := Ref(len(lo.t.ins)); lo.ro == nil && len(lo.swept) < mostDerived {
		defer func() { lo.swept = append(lo.swept, [2]Ref{from, Ref(len(lo.t.ins))}) }()
	}
	if !lo.notes || lo.ro != nil || len(lo.derived) >= mostDerived {
		return lo.deriveBy(name, y, tree, v, e, at)
	}
	if name == "hessian" || name == "hvp" || len(lo.slopes) > 0 && lo.ofSlopes(refsOf(y)) {
		lo.twice = true
	}
	out := lo.deriveBy(name, y, tree, v, e, at)
	lo.derived, lo.slopes = append(lo.derived, refsOf(y)...), append(lo.slopes, refsOf(out)...)
	return out
}

// isSlope reports whether r is what derivatives have come to, and no more: one, or numbers of several.
func (lo *lowering) isSlope(r Ref) bool {
	seen := map[Ref]bool{}
	for list := []Ref{r}; len(list) > 0; {
		r, list = list[len(list)-1], list[:len(list)-1]
		if seen[r] || slices.Contains(lo.slopes, r) {
			continue
		}
		seen[r] = true
		args := lo.t.Args(r)
		if op := lo.t.ins[r].Op(); op != opAlias && !op.moves() || len(args) == 0 {
			return false
		}
		list = append(list, args...)
	}
	return true
}

// ofSlopes reports whether ys are made of what derivatives have come to.
func (lo *lowering) ofSlopes(ys []Ref) bool {
	from := lo.t.ancestors(ys, mostAncestors)
	return slices.ContainsFunc(lo.slopes, func(r Ref) bool { return from == nil || from[r] })
}

// deriveBy is derive for what of it the name decides; at are the arguments as they stand.
func (lo *lowering) deriveBy(name string, y, tree, v value, e expr.Expr, at func(i int) expr.Expr) value {
	t := lo.t
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
		gs := lo.matching(y, v, at(2), "the upstream gradient")
		return lo.perSource(ys, tree, func(srcs []Ref) []Ref { return t.shaped(t.VJP(ys, gs, srcs), srcs) })
	}
	r, ok := y.(Ref)
	if _, several := y.(*tuple); several {
		lo.advise(at(0), "type", "stack([…]) makes one of several of a shape", "a %s wants one tensor as its target, not %s", formTitle(name), describe(y))
	} else if !ok {
		lo.noTensor(y, at(0), "a "+formTitle(name)+" wants one tensor as its target")
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
		return lo.along(name, r, tree, v, at(2), e)
	}
	panic("tape: derivative " + name)
}

// forget leaves versions of a variable out that y does not come from, where it has had many: each step of
// a descent would look at all that were before.
func (lo *lowering) forget(y, tree value) {
	var from map[Ref]bool
	for _, s := range flatten(tree) {
		if len(s.refs) <= fewVersions {
			continue
		}
		if from == nil {
			if from = lo.t.ancestors(refsOf(y), mostAncestors); from == nil {
				return
			}
		}
		kept := []Ref{s.current()}
		for r := range from {
			if _, is := slices.BinarySearch(s.refs, r); is && r != kept[0] {
				kept = append(kept, r)
			}
		}
		slices.Sort(kept)
		s.refs = kept
	}
}

const (
	fewVersions   = 8
	mostDerived   = 64 // targets of derivatives that are noted
	mostAncestors = 4096
)

// ancestors are what takes part in ys by ways that derivatives pass; nil if it is more than so many.
func (t *Tape) ancestors(ys []Ref, most int) map[Ref]bool {
	from := map[Ref]bool{}
	list := slices.Clone(ys)
	for len(list) > 0 {
		r := list[len(list)-1]
		if list = list[:len(list)-1]; r == None || from[r] {
			continue
		}
		if from[r] = true; len(from) > most {
			return nil
		}
		for i, a := range t.Args(r) {
			if t.passes(t.ins[r].Op(), i) {
				list = append(list, a)
			}
		}
	}
	return from
}

// along appends the derivative of r, for jvp, or of its gradient, for hvp, along v, which stands at
// the expression with.
func (lo *lowering) along(name string, r Ref, tree, v value, with, e expr.Expr) value {
	list := flatten(tree)
	vs := lo.tangents(tree, v, with)
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
		dy := lo.t.JVP([]Ref{r}, srcs, tan)[0]
		if dy == None {
			return &none{why: lo.whyNoTangent(r, list)}
		}
		return dy
	}
	lo.scalarTarget(r, e, "a Hessian-vector product")
	return lo.perSource([]Ref{r}, tree, func([]Ref) []Ref { return lo.t.HVP(r, srcs, tan) })
}

// formTitle is what messages call a derivative.
func formTitle(name string) string {
	switch name {
	case "jacobian":
		return "Jacobian"
	case "batch_jacobian":
		return "batch Jacobian"
	case "hessian":
		return "Hessian"
	case "hvp":
		return "Hessian-vector product"
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

// matching demands a tensor for each one of y that broadcasts to its shape; one alone is for all of them.
func (lo *lowering) matching(y, v value, e expr.Expr, what string) []Ref {
	if r, ok := v.(Ref); ok {
		v = mapLeaves(y, func(value) value { return r })
	}
	given, ys := lo.lined(y, v, e, what), valuesOf(y)
	if len(given) != len(ys) {
		lo.advise(e, "shape", bracketsHint(len(given), len(ys)), "%s has %s, the target has %d", what, expr.Plural(len(given), "part"), len(ys))
	}
	var gs []Ref
	for i, x := range ys {
		r, ok := x.(Ref)
		if !ok {
			continue
		}
		g, want := lo.orZero(given[i], r), lo.t.Shape(r)
		if s, ok := broadcast(lo.t.Shape(g), want); !ok || !s.Equal(want) {
			lo.advise(e, "shape", shapeHint("the target", want), "%s has shape %v, the target has %v", what, lo.t.Shape(g), want)
		}
		gs = append(gs, g)
	}
	return gs
}

// orZero is x, or 0 like r where it is none.
func (lo *lowering) orZero(x value, r Ref) Ref {
	if x, ok := x.(Ref); ok {
		return x
	}
	return lo.t.broadcastTo(lo.t.like(r, 0), lo.t.Shape(r))
}

// lined is the leaves of v, which are tensors and nones, in the order of those of like: records
// go by the names of their fields.
func (lo *lowering) lined(like, v value, e expr.Expr, what string) (out []value) {
	lo.tensorsOf(v, e)
	var line func(like, v value)
	line = func(like, v value) {
		names, parts := partsOf(like)
		fields, given := partsOf(v)
		switch {
		case isNone(v):
			eachLeaf(like, func(value) { out = append(out, v) })
		case names != nil && fields != nil:
			for _, f := range fields {
				if !slices.Contains(names, f) {
					lo.advise(e, "name", "the parts are "+expr.Some(names), "%s has a part %s, which stands for nothing", what, f)
				}
			}
			for i, n := range names {
				k := slices.Index(fields, n)
				if k < 0 {
					lo.advise(e, "name", "one that is 0 is written "+n+": 0", "%s has no part %s", what, n)
				}
				line(parts[i], given[k])
			}
		case len(parts) > 0 && len(parts) == len(given):
			for i, p := range parts {
				line(p, given[i])
			}
		case parts == nil && len(valuesOf(v)) == 1 && given != nil:
			lo.advise(e, "shape", "a tensor is written whole, as in [1, 0]", "%s is %s, for one tensor", what, describe(v))
		default: // their number tells what is wrong
			out = append(out, valuesOf(v)...)
		}
	}
	line(like, v)
	return out
}

// bracketsHint is what to write where several numbers were given for one tensor.
func bracketsHint(given, want int) string {
	if given > 1 && want == 1 {
		return "numbers of one tensor stand in brackets: [1, 2], not 1, 2"
	}
	return ""
}

// shapeHint is what fits something of a shape: a number for each of its elements, or one for all.
func shapeHint(name string, want tensor.Shape) string {
	if len(want) == 0 {
		return name + " is a number: write a number"
	}
	return fmt.Sprintf("write an array of shape %v, or one number for every element of %s", want, name)
}

// tangents demands a tensor for each source that broadcasts to its shape.
func (lo *lowering) tangents(tree, v value, e expr.Expr) []Ref {
	list, given := flatten(tree), lo.lined(tree, v, e, "the tangent")
	if len(given) != len(list) {
		lo.advise(e, "shape", bracketsHint(len(given), len(list)), "%s for %s", expr.Plural(len(given), "tangent"), expr.Plural(len(list), "source"))
	}
	vs := make([]Ref, len(list))
	for i, s := range list {
		if s.why != "" {
			continue
		}
		vs[i] = lo.orZero(given[i], s.current())
		want := lo.t.Shape(s.current())
		if got, ok := broadcast(lo.t.Shape(vs[i]), want); !ok || !got.Equal(want) {
			lo.advise(e, "shape", shapeHint(s.name, want), "the tangent of %s has shape %v, %s has %v", s.name, lo.t.Shape(vs[i]), s.name, want)
		}
		vs[i] = lo.t.broadcastTo(vs[i], want)
	}
	return vs
}

// hessian appends the blocks of second derivatives: one tensor for one source, a
// structure of structures for several.
func (lo *lowering) hessian(y Ref, tree value, e expr.Expr) value {
	lo.scalarTarget(y, e, "a Hessian")
	if n := extentOf(tree).leaves; n*n > mostLeaves {
		lo.advise(e, "type", "numbers in a tensor are one source", "a Hessian by %d sources has %d blocks, more than %d", n, n*n, mostLeaves)
	}
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
		row := lo.zeros(lo.perSource([]Ref{r}, tree, func(srcs []Ref) []Ref {
			for _, x := range srcs {
				lo.t.checkMatrix("a Hessian", r, x)
			}
			return lo.t.Jacobian(r, srcs, lo.hessianMode())
		}), r, tree, gs)
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
// first derivatives, which are gs, exist: the Hessian of a linear function is 0, not missing.
func (lo *lowering) zeros(row value, g Ref, tree value, gs []value) value {
	list := flatten(tree)
	i := 0
	return mapLeaves(row, func(v value) value {
		s, first := list[i], gs[i]
		i++
		switch {
		case isNone(first):
			return first
		case isNone(v):
			shape := append(slices.Clone(lo.t.Shape(g)), lo.t.Shape(s.current())...)
			return lo.t.broadcastTo(lo.t.like(s.current(), 0), shape)
		}
		return v
	})
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
		lo.advise(e, "shape", "a sum along other axes keeps it, as in sum(x, axis=1); jacobian takes any shapes",
			"a batch Jacobian needs a leading batch axis: the target has shape %v, %s %v", ys, source, xs)
	case ys[0] != xs[0]:
		lo.advise(e, "shape", "--wrt names the sources that have the batch axis; jacobian takes any shapes",
			"the batch sizes differ: the target has shape %v, %s %v, leading axes %d and %d", ys, source, xs, ys[0], xs[0])
	}
	if r := lo.t.mixes(y, x); r != None && lo.warn != nil {
		name := lo.nameAt(lo.t.ins[r].Pos, lo.t.ins[r].Op().Name)
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
	switch {
	case n > 0:
		return s[:n]
	case fallback == "block" || fallback == "slice": // what x[0] and x[::-1] are recorded as
		return "an index"
	}
	return fallback
}
