package tape

import (
	"math"
	"slices"
	"strconv"

	"nabla/expr"
	"nabla/tape/tensor"
)

func itoa(i int) string { return strconv.Itoa(i) }

// formatFloat writes a number in the language's own words.
func formatFloat(v float64) string { return formatDigits(v, -1) }

// formatDigits writes it with so many digits, all that it needs for -1.
func formatDigits(v float64, digits int) string {
	switch {
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case v != v:
		return "nan"
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// index lowers x[items]: slices and integers first, as slices and reshapes, then
// integer and bool tensors, as takes.
func (lo *lowering) index(e *expr.Index) value {
	v := lo.eval(e.X)
	switch s := v.(type) {
	case *tuple:
		return lo.tupleIndex(s, e)
	case *record:
		if len(s.names) == 0 {
			lo.fail(e, "type", "an empty record has nothing to index")
		}
		lo.fail(e, "type", "a record is not indexed: its fields are taken as x.%s", s.names[0])
	}
	items, given := lo.items(e)
	if a, ok := v.(*outerArray); ok {
		if v, items = lo.sliced(a, items); v == a {
			v, items, given = lo.loaded(a, items, given)
		}
		if len(items) == 0 {
			return v
		}
	}
	x := lo.ref(v, e.X)
	t := lo.t
	rank := len(t.Shape(x))
	vals, uses := lo.subscripts(items, given)
	lo.mark(e, e.Mark())
	if uses > rank && rank == 0 {
		lo.advise(e, "shape", "leave the index out", "a scalar takes no index")
	}
	if uses > rank {
		lo.advise(e, "shape", "write as many as there are axes, or fewer", "%d indices for %s: the shape is %v", uses, axes(rank), t.Shape(x))
	}
	p := indexing{x: x}
	for i, it := range items {
		s := t.Shape(p.x)
		switch it.Kind {
		case expr.ItemEllipsis:
			p.axis += rank - uses
		case expr.ItemNewaxis:
			p.x = t.reshape(p.x, slices.Insert(slices.Clone(s), p.axis, 1))
			p.axis++
		case expr.ItemSlice:
			from, to, step := lo.sliceOf(it, s[p.axis])
			lo.mark(e, e.Mark()) // the bounds have left their own
			p.x = t.slice(p.x, p.axis-len(s), from, to, step)
			p.axis++
		case expr.ItemExpr:
			lo.pickItem(&p, vals[i], it)
		}
	}
	lo.mark(e, e.Mark())
	return lo.pickLater(&p, e, isApart(items))
}

// pickLater is what the tensors of an index pick, once all else of it is done.
func (lo *lowering) pickLater(p *indexing, e *expr.Index, apart bool) Ref {
	switch {
	case len(p.later) == 0:
		return p.x
	case len(p.later) == 1 && !apart:
		one := p.later[0]
		lo.mark(&expr.Name{Span: one.item.Span}, e.Mark())
		return lo.t.take(p.x, one.idx, one.axis)
	}
	return lo.pickTogether(p.x, p.later, apart)
}

// An indexing is a tensor of which some items of an index are taken.
type indexing struct {
	x     Ref
	axis  int      // of the next item, from the left, in the shape so far
	later []picked // tensors, which pick when all else is done
}

// pickItem takes what r picks: a number at once, which leaves no axis.
func (lo *lowering) pickItem(p *indexing, r Ref, it expr.Item) {
	t, s := lo.t, lo.t.Shape(p.x)
	switch {
	case t.DTypeOf(r) == tensor.Bool:
		p.x, r = lo.mask(p.x, r, p.axis, it)
		p.later = append(p.later, picked{p.axis, r, it})
		p.axis++
	case len(t.Shape(r)) > 0 || len(t.Axes(r)) > 0:
		p.later = append(p.later, picked{p.axis, lo.wholeIndex(r, it), it})
		p.axis++
	case t.isBody && !t.known(r):
		p.x = t.take(p.x, r, p.axis)
	default:
		k := lo.within(r, s[p.axis], "an axis of size", it)
		if p.axis == 0 {
			p.x = t.pick(p.x, k)
		} else {
			p.x = t.reshape(t.slice(p.x, p.axis-len(s), k, k+1, 1), slices.Delete(slices.Clone(s), p.axis, p.axis+1))
		}
	}
}

// isApart reports whether something else stands between the items of an index that are
// numbers and tensors: then what these pick comes first, as in NumPy.
func isApart(items []expr.Item) bool {
	picks := func(it expr.Item) bool { return it.Kind == expr.ItemExpr }
	first := slices.IndexFunc(items, picks)
	if first < 0 {
		return false
	}
	gap := false
	for _, it := range items[first:] {
		if picks(it) && gap {
			return true
		}
		gap = gap || !picks(it)
	}
	return false
}

// items evaluates the items of an index that are expressions. A tuple on its own is
// several, as in NumPy: x[(1, 2)] is x[1, 2].
func (lo *lowering) items(e *expr.Index) (items []expr.Item, vals []value) {
	items, vals = e.Items, make([]value, len(e.Items))
	for i, it := range items {
		if it.Kind == expr.ItemExpr {
			vals[i] = lo.eval(it.X)
		}
	}
	if len(items) == 1 {
		if tup, ok := vals[0].(*tuple); ok {
			return slices.Repeat(items, len(tup.elems)), tup.elems
		}
	}
	return items, vals
}

// subscripts are the items of an index that are expressions as tensors, and how many axes
// all of them take, for ....
func (lo *lowering) subscripts(items []expr.Item, given []value) (vals []Ref, uses int) {
	t := lo.t
	dots := false
	vals = make([]Ref, len(items))
	for i, it := range items {
		vals[i] = None
		switch it.Kind {
		case expr.ItemEllipsis:
			if dots {
				lo.failItem(it, "shape", "an index has at most one ...")
			}
			dots = true
		case expr.ItemSlice:
			uses++
		case expr.ItemExpr:
			vals[i] = lo.itemRef(it, given[i])
			if t.DTypeOf(vals[i]) == tensor.Bool {
				uses += len(t.Shape(vals[i]))
			} else {
				uses++
			}
		}
	}
	return vals, uses
}

// A picked is an axis that an index tensor picks from.
type picked struct {
	axis int // from the left
	idx  Ref
	item expr.Item
}

// pickTogether picks by several index tensors: their axes are brought side by side and
// joined to one, along which their joint index takes.
func (lo *lowering) pickTogether(x Ref, later []picked, apart bool) Ref {
	t := lo.t
	shape := t.Shape(later[0].idx)
	for _, p := range later[1:] {
		s, ok := broadcast(shape, t.Shape(p.idx))
		if !ok {
			lo.failItem(p.item, "shape", "index tensors of shapes %v and %v do not broadcast", shape, t.Shape(p.idx))
		}
		shape = s
	}
	s := t.Shape(x)
	place := later[0].axis
	if apart {
		place = 0
	}
	var from, perm []int
	for _, p := range later {
		from = append(from, p.axis)
	}
	for i := range s {
		if !slices.Contains(from, i) {
			perm = append(perm, i)
		}
	}
	perm = slices.Insert(perm, place, from...)
	joint := t.constOf(0, tensor.Float64)
	n := 1
	for _, p := range later {
		joint = t.behindPlace(joint, p.idx, s[p.axis])
		n *= s[p.axis]
	}
	x = t.transpose(x, perm)
	flat := slices.Replace(slices.Clone(t.Shape(x)), place, place+len(from), n)
	return t.take(t.reshape(x, flat), t.broadcastTo(joint, shape), place)
}

// itemRef is a subscript of the value v; a tuple of numbers is an index tensor.
func (lo *lowering) itemRef(it expr.Item, v value) Ref {
	if tup, ok := v.(*tuple); ok {
		var refs []Ref
		for _, x := range tup.elems {
			refs = append(refs, lo.ref(x, it.X))
		}
		return lo.t.stack(refs, 0)
	}
	return lo.ref(v, it.X)
}

func (lo *lowering) failItem(it expr.Item, kind, format string, args ...any) {
	lo.adviseItem(it, kind, "", format, args...)
}

// adviseItem is failItem with what to write instead.
func (lo *lowering) adviseItem(it expr.Item, kind, hint, format string, args ...any) {
	lo.advise(&expr.Name{Span: it.Span}, kind, hint, format, args...)
}

// axes is a number of axes, as messages say it.
func axes(n int) string {
	if n == 1 {
		return "1 axis"
	}
	return itoa(n) + " axes"
}

// wholeHint is for those whose number has a fraction where none may be.
const wholeHint = "a // b divides to a whole number, round(x) gives the nearest"

// indicesOf says which indices an axis of size n has.
func indicesOf(n int) string {
	switch n {
	case 0:
		return "it has no element"
	case 1:
		return "the index is 0, or -1"
	}
	return "indices are 0 to " + itoa(n-1) + ", or -1 to -" + itoa(n) + " from the end"
}

// within is a known integer index, made positive.
func (lo *lowering) within(r Ref, n int, what string, it expr.Item) int {
	v := lo.t.read(r)[0]
	k := int(v)
	if float64(k) != v {
		lo.adviseItem(it, "type", wholeHint, "an index is a whole number, not %s", formatFloat(v))
	}
	if k < -n || k >= n {
		lo.adviseItem(it, "shape", indicesOf(n), "index %d is out of range for %s %d", k, what, n)
	}
	if k < 0 {
		k += n
	}
	return k
}

func (lo *lowering) wholeIndex(r Ref, it expr.Item) Ref { return lo.t.index(r, it.X, lo) }

// mask turns a bool index over several axes into an integer one over their join.
func (lo *lowering) mask(x, m Ref, axis int, it expr.Item) (Ref, Ref) {
	t := lo.t
	s, ms := t.Shape(x), t.Shape(m)
	if len(t.Axes(m)) > 0 {
		lo.failItem(it, "type", "a mask that varies along a batch gives rows of different sizes: use where")
	}
	if axis+len(ms) > len(s) || !s[axis:axis+len(ms)].Equal(ms) {
		lo.failItem(it, "shape", "a mask of shape %v does not fit shape %v", ms, s)
	}
	t.force(m)
	t.log.saw(t, m, t.data(m), sameTruth)
	var idx []float64
	for i, v := range t.data(m) {
		if v != 0 {
			idx = append(idx, float64(i))
		}
	}
	x = t.reshape(x, slices.Replace(slices.Clone(s), axis, axis+len(ms), ms.Size()))
	return x, t.Tensor(tensor.From(idx, len(idx)))
}

// sliceOf reads lo:hi:step by Python's rules for an axis of size n.
func (lo *lowering) sliceOf(it expr.Item, n int) (from, to, step int) {
	bound := func(e expr.Expr, def int) int {
		if e == nil {
			return def
		}
		v := lo.number(lo.eval(e), e)
		k := int(v)
		if float64(k) != v {
			lo.advise(e, "type", wholeHint, "a slice bound is a whole number, not %s", formatFloat(v))
		}
		return k
	}
	step = bound(it.Step, 1)
	if step == 0 {
		lo.adviseItem(it, "type", "leave it out for every element; -1 goes backwards", "a slice step is not 0")
	}
	step = min(max(step, -n-1), n+1) // what goes farther takes one element too, and no sum of steps overflows
	clampTo := func(k, low, high int) int {
		if k < 0 {
			k += n
		}
		return min(max(k, low), high)
	}
	if step > 0 {
		from, to = clampTo(bound(it.Lo, 0), 0, n), clampTo(bound(it.Hi, n), 0, n)
		return from, max(from, to), step
	}
	from, to = n-1, -1
	if it.Lo != nil {
		from = clampTo(bound(it.Lo, 0), -1, n-1)
	}
	if it.Hi != nil {
		to = clampTo(bound(it.Hi, 0), -1, n-1)
	}
	return from, min(from, to), step
}

// tupleIndex is an element of a tuple, or some as another.
func (lo *lowering) tupleIndex(s *tuple, e *expr.Index) value {
	if len(e.Items) == 1 {
		switch it := e.Items[0]; it.Kind {
		case expr.ItemExpr:
			return s.elems[lo.within(lo.itemRef(it, lo.eval(it.X)), len(s.elems), "a tuple of", it)]
		case expr.ItemSlice:
			from, to, step := lo.sliceOf(it, len(s.elems))
			out := &tuple{}
			for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
				out.elems = append(out.elems, s.elems[i])
			}
			return out
		}
	}
	lo.fail(e, "type", "a tuple takes one index")
	return nil
}
