package tape

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// ask appends what is asked.
func (s *session) ask() {
	q := s.q
	s.target()
	if q.Op == "eval" {
		return
	}
	tree := s.sources()
	for i := range s.targets {
		a := &s.targets[i]
		s.lo.cur = a.expr
		if a.expr.Where().Start < 0 {
			s.lo.cur = nil
		}
		s.t.pos = expr.NoPos
		if n, ok := a.val.(*none); ok {
			a.payload = mapLeaves(tree, func(value) value { return n })
		} else {
			a.payload = s.derive(a, tree)
		}
		if q.Zero {
			a.payload = s.connected(a, tree)
		}
	}
}

// derive appends the derivatives of a target by the sources in tree.
func (s *session) derive(a *asked, tree *record) value {
	q, lo := s.q, s.lo
	op := q.Op
	switch {
	case op == "grad" && q.Order > 1:
		return s.higher(a, tree)
	case op == "grad" && q.With != nil:
		op = "vjp"
	case op == "hessian" && q.Diagonal:
		return s.hessianDiagonal(a, tree)
	case q.Sparse && (op == "jacobian" || op == "hessian"):
		return s.sparse(a, tree)
	}
	var v value
	switch op {
	case "vjp":
		v = s.upstream(a)
	case "jvp", "hvp":
		v = s.tangentTree(tree)
	}
	return lo.derive(op, a.val, tree, v, asTarget(a.expr))
}

// sparse is a Jacobian or a Hessian as matrices of their entries.
func (s *session) sparse(a *asked, tree *record) value {
	y, ok := a.val.(Ref)
	if !ok {
		return s.lo.derive(s.q.Op, a.val, tree, nil, asTarget(a.expr)) // which says what is wrong
	}
	if s.q.Op == "jacobian" {
		return s.sparseRow(y, tree, s.lo.mode, -1)
	}
	s.lo.scalarTarget(y, a.expr, "a Hessian")
	first := s.lo.perSource([]Ref{y}, tree, func(srcs []Ref) []Ref { return s.t.Gradient([]Ref{y}, srcs) })
	var gs []value
	eachLeaf(first, func(v value) { gs = append(gs, v) })
	k := -1
	return mapLeaves(first, func(v value) value {
		k++
		g, ok := v.(Ref)
		if !ok {
			return v
		}
		i := -1
		return mapLeaves(s.sparseRow(g, tree, s.lo.hessianMode(), k), func(v value) value {
			if i++; isNone(gs[i]) {
				return gs[i]
			}
			return s.emptied(v, g)
		})
	})
}

// sparseRow is the Jacobian of one tensor by each source; y is the gradient by source
// number of, or none is. Of a single number, or of few by many sources, one sweep is the rows of
// every source.
func (s *session) sparseRow(y Ref, tree value, mode string, of int) value {
	if mode != "forward" && s.fewRows(y, tree) {
		return s.rowsTogether(y, tree)
	}
	k := -1
	return mapLeaves(tree, func(v value) value {
		k++
		src := v.(*source)
		if src.why != "" {
			return &none{why: src.why}
		}
		if m, ok := s.compressed(y, src.refs, mode, k == of); ok {
			if m == nil {
				return &none{why: s.lo.whyNone([]Ref{y}, src), of: src}
			}
			return m
		}
		v = s.lo.perSource([]Ref{y}, src, func(srcs []Ref) []Ref { return s.t.Jacobian(y, srcs, mode) })
		switch v := v.(type) {
		case Ref:
			return &sparse{t: s.t, sums: v, y: s.t.Shape(y), x: s.t.Shape(src.current()), dtype: s.t.ins[v].dtype}
		case *none:
			v.of = src
		}
		return v
	})
}

// compressed is sparseJacobian, unless matrices are to be whole.
func (s *session) compressed(y Ref, srcs []Ref, mode string, symmetric bool) (m *sparse, ok bool) {
	if s.whole {
		return nil, false
	}
	return s.t.sparseJacobian(y, srcs, mode, symmetric)
}

// fewRows reports whether y has so few numbers, and so many sources, each with few, that matrices
// for each pair of them are computed sooner than their patterns are found.
func (s *session) fewRows(y Ref, tree value) bool {
	const most, sources = 16, 4
	rows, list := s.t.Shape(y).Size(), flatten(tree)
	return rows == 1 || rows <= most && len(list) >= sources && !slices.ContainsFunc(list, func(src *source) bool {
		return src.why == "" && rows*s.t.Shape(src.current()).Size() >= leastCompressed
	})
}

// rowsTogether is the sparseRow of few numbers, whose patterns need no look: a program with
// many sources has many pairs of them. Hessians of 60 vectors of 10 numbers, and of 200 of 3, took
// .28 and .10 of the time.
func (s *session) rowsTogether(y Ref, tree value) value {
	row := s.lo.perSource([]Ref{y}, tree, func(srcs []Ref) []Ref {
		if s.t.Shape(y).Size() == 1 {
			return s.t.Gradient([]Ref{y}, srcs)
		}
		return s.t.Jacobian(y, srcs, "reverse")
	})
	list, k := flatten(tree), -1
	return mapLeaves(row, func(v value) value {
		k++
		src := list[k]
		switch v := v.(type) {
		case Ref:
			return &sparse{t: s.t, sums: v, y: s.t.Shape(y), x: s.t.Shape(src.current()), dtype: s.t.ins[v].dtype}
		case *none:
			if src.why == "" {
				v.of = src
			}
		}
		return v
	})
}

// emptied is a second derivative, 0 where only the first one exists.
func (s *session) emptied(v value, g Ref) value {
	n, ok := v.(*none)
	if !ok || n.of == nil {
		return v
	}
	return s.noEntries(s.t.Shape(g), s.t.Shape(n.of.current()))
}

// noEntries is a matrix of zeros, kept as its entries.
func (s *session) noEntries(y, x tensor.Shape) *sparse {
	return &sparse{t: s.t, y: y, x: x, got: &tensor.Sparse{Shape: slices.Concat(y, x), Rows: y.Size(), Cols: x.Size(), Ptr: make([]int32, y.Size()+1)}}
}

// connected is lowering.connected of a question.
func (s *session) connected(a *asked, tree *record) value {
	op := s.q.Op
	if op == "hessian" && s.q.Diagonal {
		op = "grad" // in the shape of each source
	}
	return s.lo.connected(op, a.val, tree, a.payload, s.zeroBlock)
}

// connected is a derivative of y with zeros for none, in the shape that it would have: --unconnected zero. A matrix of
// them is made by matrix.
func (lo *lowering) connected(op string, val, tree, v value, matrix func(y tensor.Shape, src *source) value) value {
	t := lo.t
	y, ok := val.(Ref)
	switch op {
	case "value_and_grad":
		both := v.(*tuple)
		return &tuple{elems: []value{both.elems[0], lo.connected("grad", val, tree, both.elems[1], matrix)}}
	case "jvp", "jacobian", "batch_jacobian":
		if !ok {
			return v
		}
	}
	if isNone(v) && op == "jvp" {
		return t.zero(t.DTypeOf(y), t.Shape(y))
	}
	return bySource(tree, v, func(src *source, v value) value {
		if len(src.refs) == 0 {
			return v
		}
		x := t.Shape(src.current())
		block := func(col *source, v value) value {
			if isNone(v) && len(col.refs) > 0 {
				return matrix(x, col)
			}
			return v
		}
		switch {
		case !isNone(v) && op == "hessian":
			return bySource(tree, v, block)
		case !isNone(v):
			return v
		case op == "jacobian":
			return matrix(t.Shape(y), src)
		case op == "batch_jacobian" && len(x) > 0:
			return t.zero(t.DTypeOf(src.current()), slices.Concat(t.Shape(y), x[1:]))
		case op == "hessian":
			return mapLeaves(tree, func(col value) value { return block(col.(*source), v) })
		}
		return t.zero(t.DTypeOf(src.current()), x)
	})
}

func isNone(v value) bool { _, ok := v.(*none); return ok }

// zeroBlock is the Jacobian of what has the shape y and does not depend on a source.
func (s *session) zeroBlock(y tensor.Shape, src *source) value {
	r := src.current()
	if s.q.Sparse {
		return s.noEntries(y, s.t.Shape(r))
	}
	return s.t.zeroBlock(y, src)
}

func (t *Tape) zeroBlock(y tensor.Shape, src *source) value {
	r := src.current()
	return t.zero(t.DTypeOf(r), slices.Concat(y, t.Shape(r)))
}

// zero is a derivative by something of a dtype that is 0 everywhere.
func (t *Tape) zero(d tensor.DType, shape tensor.Shape) Ref {
	if !d.IsFloat() {
		d = t.DType
	}
	return t.broadcastTo(t.constOf(0, d), shape)
}

// bySource rebuilds a derivative, which has the structure of its sources, from what f
// makes of the part of each.
func bySource(tree, v value, f func(src *source, v value) value) value {
	switch tree := tree.(type) {
	case *source:
		return f(tree, v)
	case *tuple:
		if v, ok := v.(*tuple); ok {
			out := &tuple{}
			for i, e := range v.elems {
				out.elems = append(out.elems, bySource(tree.elems[i], e, f))
			}
			return out
		}
	case *record:
		if v, ok := v.(*record); ok {
			out := &record{names: v.names}
			for i, e := range v.elems {
				out.elems = append(out.elems, bySource(tree.elems[i], e, f))
			}
			return out
		}
	}
	return v
}

// given records a value from outside as constants.
func (s *session) given(v *tensor.Value) value {
	if v == nil {
		return nil
	}
	return structured("", v, func(_ string, v *tensor.Value) value {
		if v.Kind == tensor.KindNone {
			return &none{why: v.Why}
		}
		return s.t.Tensor(v.Tensor)
	})
}

// structured gives a value from outside its form in a program: tuples and records of
// what leaf makes of each tensor or none, which it is told the path of.
func structured(path string, v *tensor.Value, leaf func(path string, v *tensor.Value) value) value {
	switch v.Kind {
	case tensor.KindList:
		out := &tuple{}
		for i, e := range v.List {
			out.elems = append(out.elems, structured(path+"["+itoa(i)+"]", e, leaf))
		}
		return out
	case tensor.KindRecord:
		out := &record{}
		for _, f := range v.Fields {
			out.names = append(out.names, f.Name)
			out.elems = append(out.elems, structured(tensor.Join(path, f.Name), f.Value, leaf))
		}
		return out
	}
	return leaf(path, v)
}

// upstream is the part of --with that is a target's: a record has it by name where several
// targets are asked for.
func (s *session) upstream(a *asked) value {
	w := s.q.With
	if w == nil {
		panic(&Misuse{Kind: "usage", Msg: "vjp needs the upstream gradient", Hint: "--with VALUE, in the shape of the target", Pos: expr.NoPos})
	}
	if _, one := a.val.(Ref); w.Kind != tensor.KindRecord || !one && len(s.q.Of) < 2 && w.Get(a.name) == nil {
		return s.filled(a.name, a.val, w, aPart)
	}
	var names []string
	for _, t := range s.targets {
		names = append(names, t.name)
	}
	for _, f := range w.Fields {
		if !slices.Contains(names, f.Name) {
			m := notAmong(f.Name, aTarget, names)
			if len(names) == 1 {
				m.Hint = "write --with VALUE for the only target"
			}
			panic(m)
		}
	}
	g := w.Get(a.name)
	if g == nil && len(names) == 1 {
		panic(&Misuse{Kind: "usage", Msg: "vjp needs the upstream gradient", Hint: "--with VALUE, in the shape of the target", Pos: expr.NoPos})
	}
	if g == nil {
		panic(&Misuse{Kind: "usage", Msg: "--with gives the target " + a.name + " no upstream gradient", Hint: "--with " + a.name + "=…, in its shape", Pos: expr.NoPos})
	}
	return s.filled(a.name, a.val, g, aPart)
}

// tangentTree lines --with up with the sources; a bare value is for the only one.
func (s *session) tangentTree(tree *record) value {
	w := s.q.With
	if w == nil {
		hint := "--with NAME=VALUE, in the shape of NAME"
		if n := len(tree.names); n == 1 {
			hint = "--with " + tree.names[0] + "=…, in its shape"
		} else if n > 1 && n <= 4 {
			hint = "--with '" + strings.Join(tree.names, "=…, ") + "=…', each in its source's shape"
		}
		panic(&Misuse{Kind: "usage", Msg: s.q.Op + " needs a tangent for each source", Hint: hint, Pos: expr.NoPos})
	}
	if w.Kind != tensor.KindRecord {
		if n := len(tree.names); n > 1 {
			given := 1
			if w.Kind == tensor.KindList {
				given = len(w.List)
			}
			panic(&Misuse{Kind: "usage", Msg: fmt.Sprintf("%s without a name for %d sources", expr.Plural(given, "tangent"), n), Hint: "--with NAME=VALUE says of which: " + expr.Some(tree.names), Pos: expr.NoPos})
		}
		return &tuple{elems: []value{s.given(w)}}
	}
	sources := make(map[string]bool, len(tree.names))
	for _, n := range tree.names {
		sources[n] = true
	}
	w.Leaves("", func(path string, leaf *tensor.Value) {
		if leaf.Kind != tensor.KindNone && !slices.ContainsFunc(ways(path), func(p string) bool { return sources[p] }) {
			panic(notAmong(path, aSource, tree.names))
		}
	})
	given := make(map[string]*tensor.Value, len(w.Fields))
	for _, f := range w.Fields {
		given[f.Name] = f.Value
	}
	out := &tuple{}
	for i, n := range tree.names {
		v := given[n]
		if v == nil && slices.ContainsFunc(ways(n), func(p string) bool { return given[p] != nil }) {
			v = w.At(n)
		}
		out.elems = append(out.elems, s.filled(n, tree.elems[i], v, aSource))
	}
	return out
}

// ways are the paths of the structures that a path leads into, and itself: a, a.b and a.b[0] for a.b[0].
func ways(path string) []string {
	var out []string
	for i := range len(path) {
		if path[i] == '.' || path[i] == '[' {
			out = append(out, path[:i])
		}
	}
	return append(out, path)
}

// A noun is what --with names.
type noun struct{ one, many string }

var (
	aSource = noun{"source", "sources"}
	aTarget = noun{"target", "targets"}
	aPart   = noun{"part of the target", "parts of the target"}
)

// notAmong says that --with names what is none of the sources, or targets.
func notAmong(name string, what noun, names []string) *Misuse {
	return &Misuse{Kind: "usage", Msg: "--with " + name + ": it is not a " + what.one, Hint: "the " + what.many + " are " + expr.Some(names), Pos: expr.NoPos}
}

// filled is v, of --with, in the structure that like has at a path, with none for what it leaves out:
// a source without a tangent stands still.
func (s *session) filled(path string, like value, v *tensor.Value, what noun) value {
	if v == nil {
		return &none{}
	}
	switch like := like.(type) {
	case *tuple:
		if v.Kind != tensor.KindList {
			break
		}
		switch n := len(like.elems); {
		case v.Open && len(v.List) > n:
			panic(&Misuse{Kind: "usage", Msg: fmt.Sprintf("--with %s[%d]: %s has %s", path, len(v.List)-1, path, expr.Plural(n, "part")), Pos: expr.NoPos})
		case !v.Open && len(v.List) != n:
			panic(&Misuse{Kind: "usage", Msg: fmt.Sprintf("--with has %s for %s, which has %d", expr.Plural(len(v.List), "part"), cmp.Or(path, "the target"), n), Pos: expr.NoPos})
		}
		out := &tuple{}
		for i, e := range like.elems {
			var part *tensor.Value
			if i < len(v.List) {
				part = v.List[i]
			}
			out.elems = append(out.elems, s.filled(path+"["+itoa(i)+"]", e, part, what))
		}
		return out
	case *record:
		if v.Kind != tensor.KindRecord {
			break
		}
		for _, f := range v.Fields {
			if !slices.Contains(like.names, f.Name) {
				panic(notAmong(tensor.Join(path, f.Name), what, like.names))
			}
		}
		out := &record{names: like.names}
		for i, n := range like.names {
			out.elems = append(out.elems, s.filled(tensor.Join(path, n), like.elems[i], v.Get(n), what))
		}
		return out
	}
	return s.given(v)
}

// higher is the n-th derivative of a scalar function of a scalar.
func (s *session) higher(a *asked, tree *record) value {
	y, ok := a.val.(Ref)
	if !ok || s.t.Shape(y).Size() != 1 {
		panic(&Misuse{Kind: "shape", Msg: "--order " + itoa(s.q.Order) + " needs a scalar target", Hint: "hessian has the second derivatives of tensors", Pos: expr.NoPos})
	}
	return mapLeaves(tree, func(x value) value {
		src := x.(*source)
		if src.why == "" && s.t.Shape(src.current()).Size() != 1 {
			panic(&Misuse{Kind: "shape", Msg: "--order " + itoa(s.q.Order) + " needs scalar sources, " + src.name + " has shape " + s.t.Shape(src.current()).String(), Hint: "hessian has the second derivatives of tensors", Pos: expr.NoPos})
		}
		if d := s.bySeries(y, src); d != None {
			return d
		}
		var g value = y
		var lengths []float64
		for k := range s.q.Order {
			r := g.(Ref)
			lengths = append(lengths, float64(s.t.Len()))
			s.checkOrder(lengths)
			next := s.lo.perSource([]Ref{r}, src, func(srcs []Ref) []Ref { return s.t.Gradient([]Ref{r}, srcs) })
			if _, isNone := next.(*none); isNone {
				if k > 0 { // connected once: the derivative of a constant is 0
					return s.t.broadcastTo(s.t.like(src.current(), 0), s.t.Shape(src.current()))
				}
				return next
			}
			g = next
		}
		return g
	})
}

// checkOrder refuses an order whose tape would be far longer than the limit: each derivative
// of a product is two, and the lengths so far, one for each order, tell how fast they grow.
// Two orders are looked at together, because odd and even ones differ. Where the lengths
// grow slowly the time is bounded, about ten seconds: each derivative looks at all before it,
// so that the time grows at least as the square of the order.
func (s *session) checkOrder(lengths []float64) {
	const settled, long = 8, 1. / 64 // a polynomial's grow, too, before they vanish
	const foreseen = 256
	const mostSwept = 1 << 25 // instructions
	hint := "a lower order, or a simpler form of the function"
	if s.noSeries != "" {
		hint += "; there is no power series for " + s.noSeries
	}
	n := len(lengths) - 1
	swept := 0.0
	for _, l := range lengths {
		swept += l
	}
	if n >= foreseen {
		swept *= max(1, math.Pow(float64(s.q.Order)/float64(n), 2))
	}
	if swept > mostSwept {
		panic(&Misuse{Kind: "memory", Pos: expr.NoPos,
			Msg:  fmt.Sprintf("--order %d would take too long: each order is the derivative of the one before, and the %dth has %.0f operations", s.q.Order, n, lengths[n]),
			Hint: hint})
	}
	limit := float64(s.t.recordLimit())
	if n < settled || limit == 0 || lengths[n]*perInstr < long*limit {
		return
	}
	growth := math.Sqrt((lengths[n] - lengths[n-2]) / (lengths[n-2] - lengths[n-4]))
	need := lengths[n] * math.Pow(growth, float64(s.q.Order-n)) * perInstr
	if !(need > limit) {
		return
	}
	panic(&Misuse{Kind: "memory", Pos: expr.NoPos,
		Msg:  fmt.Sprintf("--order %d would need %s, more than %s: each order makes the derivative %.2g times as long, and the %dth has %.0f operations", s.q.Order, untold(need), s.t.theLimit(), growth, n, lengths[n]),
		Hint: hint})
}

// hessianDiagonal is the diagonal of each source's own block: v ∘ Hv summed over unit
// vectors, or over sums of those whose rows share no column, along a batch axis.
func (s *session) hessianDiagonal(a *asked, tree *record) value {
	t := s.t
	y, ok := a.val.(Ref)
	if !ok {
		panic(&Misuse{Kind: "type", Msg: "a Hessian wants one tensor as its target, not " + describe(a.val), Pos: expr.NoPos})
	}
	s.lo.scalarTarget(y, a.expr, "a Hessian")
	return s.lo.perSource([]Ref{y}, tree, func(srcs []Ref) []Ref {
		gs := t.Gradient([]Ref{y}, srcs)
		for i, g := range gs {
			if g == None {
				continue
			}
			shape := t.Shape(srcs[i])
			if shape.Size() <= 1 {
				h := t.Gradient([]Ref{g}, srcs[i:i+1])[0]
				if h == None {
					h = t.broadcastTo(t.like(srcs[i], 0), shape)
				}
				gs[i] = h
				continue
			}
			axis, e := t.diagonalSeed(g, srcs[i])
			h := t.VJP([]Ref{g}, []Ref{e}, srcs[i:i+1])[0]
			if h == None {
				gs[i] = t.broadcastTo(t.like(srcs[i], 0), shape)
				continue
			}
			gs[i] = t.sumBatch(t.full(t.Apply(opZMul, h, e), srcs[i]), axis)
		}
		return gs
	})
}
