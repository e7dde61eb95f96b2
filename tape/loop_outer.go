package tape

import (
	"fmt"
	"slices"

	"nabla/expr"
	"nabla/tape/tensor"
)

// An outerArray stands, in a body, for a tensor of the program around it.
type outerArray struct {
	lo *rolling
	r  Ref
}

// slotOf translates what an outer name is bound to.
func (ro *rolling) slotOf(x *slot) *slot {
	if y, ok := ro.seen[x]; ok {
		return y
	}
	y := &slot{}
	ro.seen[x], ro.versioned[y] = y, x.state != nil && !x.state.plain(x.val)
	y.val = ro.translate(x.val)
	return y
}

// translate is what a value of the program around is in the body: numbers are placeholders, larger
// tensors stay outside, and functions see names as steps have them.
func (ro *rolling) translate(v value) value {
	switch v := v.(type) {
	case Ref:
		return ro.constant(v)
	case *tuple:
		out := &tuple{}
		for _, e := range v.elems {
			out.elems = append(out.elems, ro.translate(e))
		}
		return out
	case *record:
		out := &record{names: v.names}
		for _, e := range v.elems {
			out.elems = append(out.elems, ro.translate(e))
		}
		return out
	case *closure:
		if v.grad != nil {
			panic(&notRolled{"a custom gradient"})
		}
		f := *v
		f.scope = &scope{names: map[string]*slot{}}
		if ro.within(v.scope) {
			f.scope.parent = ro.frame
		}
		var used map[string]bool
		if v.result != nil {
			used = usedNames(nil, v.result)
		} else {
			used = usedNames(v.body, nil)
		}
		for name := range used {
			if x := v.scope.find(name); x != nil && !ro.rebinds(name, x) {
				f.scope.names[name] = ro.slotOf(x)
			}
		}
		return &f
	case string, *none:
		return v
	}
	panic(&notRolled{"a value that a loop cannot hold"})
}

// within reports whether names of the loop's own scope are seen in a scope.
func (ro *rolling) within(s *scope) bool {
	for ; ro.frame != nil && s != nil; s = s.parent {
		if s == ro.outer.scope {
			return true
		}
	}
	return false
}

// rebinds reports whether steps bind the name of slot x: a function reads what it is then.
func (ro *rolling) rebinds(name string, x *slot) bool {
	return ro.frame != nil && x == ro.outer.scope.names[name] && (ro.indexes[name] != nil || slices.Contains(ro.assigned, name))
}

// constant gives an outer tensor its place: a number a placeholder, another an array.
func (ro *rolling) constant(r Ref) value {
	t := ro.outer.t
	in := &t.ins[r]
	if in.batch != 0 {
		panic(&notRolled{"a batch"})
	}
	if in.shape != 0 {
		return &outerArray{ro, r}
	}
	return ro.whole(r)
}

// whole is the placeholder of an outer value.
func (ro *rolling) whole(r Ref) Ref {
	t := ro.outer.t
	if c, ok := t.constant(r); ok && t.ins[r].shape == 0 {
		return ro.sub.constOf(c, t.DTypeOf(r))
	}
	if p, ok := ro.consts[r]; ok {
		return p
	}
	if !t.canCarry(r) {
		panic(&notRolled{"a large tensor"})
	}
	p := ro.slot(r)
	ro.consts[r] = p
	ro.l.consts = append(ro.l.consts, p)
	ro.args = append(ro.args, r)
	return p
}

// slot makes a placeholder in the body for values like the outer r.
func (ro *rolling) slot(r Ref) Ref {
	t := ro.outer.t
	return ro.placeholder(t.DTypeOf(r), t.Shape(r), t.Active(r))
}

// placeholder is a value that each step is given.
func (ro *rolling) placeholder(dt tensor.DType, s tensor.Shape, active bool) Ref {
	r := ro.sub.push(Instr{op: opSlot.id(), shape: ro.sub.shapeID(s), dtype: dt, Pos: expr.NoPos})
	if dt.IsFloat() && active {
		ro.sub.ins[r].flags |= flagActive
	}
	return r
}

// indexSlot makes the placeholder of the index.
func (ro *rolling) indexSlot() Ref {
	ro.l.index = ro.placeholder(tensor.Int64, nil, false)
	return ro.l.index
}

// load records x[i] of an outer tensor.
func (a *outerArray) load(i Ref) Ref {
	ro := a.lo
	t := ro.outer.t
	if ro.sub.ins[i].shape != 0 || ro.sub.DTypeOf(i) == tensor.Bool {
		panic(&notRolled{"an index tensor"})
	}
	return ro.sub.load(a.placeholder(), ro.masked(i, t.Shape(a.r)[0]))
}

// placeholder is that of an array that loads read.
func (a *outerArray) placeholder() Ref {
	ro := a.lo
	t := ro.outer.t
	k := slices.Index(ro.vecs, a.r)
	if k < 0 {
		if s := t.Shape(a.r); t.ins[a.r].batch != 0 || len(s) == 0 || s[1:].Size() == 0 {
			panic(&notRolled{"large rows"})
		}
		k = len(ro.vecs)
		ro.vecs, ro.l.arrays = append(ro.vecs, a.r), append(ro.l.arrays, ro.slot(a.r))
	}
	return ro.l.arrays[k]
}

// sliced is some elements or rows of an outer tensor, if items begin with a slice of these and it may have a
// derivative: its cotangents are added up where they belong, as those of the same slice in unrolled steps,
// not in zeros of the whole shape. The slice that is left of items takes all of it.
func (lo *lowering) sliced(a *outerArray, items []expr.Item) (v value, left []expr.Item) {
	t := a.lo.outer.t
	s := t.Shape(a.r)
	if len(items) == 0 || items[0].Kind != expr.ItemSlice || len(s) == 0 || s.Size() == 0 || !t.Active(a.r) {
		return a, items
	}
	from, to, step := lo.sliceOf(items[0], s[0])
	if step != 1 || to <= from || to-from == s[0] {
		return a, items
	}
	left = slices.Clone(items)
	left[0].Lo, left[0].Hi, left[0].Step = nil, nil, nil
	s = slices.Clone(s)
	s[0] = to - from
	return lo.t.loadAs(a.placeholder(), lo.t.constOf(float64(from), tensor.Int64), s), left
}

// loaded is what numbers of an index load that change from step to step, or the first of all,
// and what is left of the index: of x[:, i] column i, a row of x with its axes in another order;
// of x[i, j] one number. Of what has a derivative the first axis alone is loaded: cotangents of
// rows in two orders would be added up one after the other, where those of steps alternate.
func (lo *lowering) loaded(a *outerArray, items []expr.Item, given []value) (v value, left []expr.Item, of []value) {
	t, s := lo.t, a.lo.outer.t.Shape(a.r)
	vals, uses := lo.subscripts(items, given)
	var at []Ref
	var axes []int
	axis := 0
	for i, it := range items {
		switch {
		case it.Kind == expr.ItemEllipsis:
			axis += len(s) - uses
		case it.Kind == expr.ItemNewaxis:
		case it.Kind == expr.ItemExpr && (t.DTypeOf(vals[i]) == tensor.Bool || len(t.Shape(vals[i])) > 0):
			return a, items, given // several are picked together
		case it.Kind == expr.ItemExpr && (i == 0 || !t.known(vals[i]) && !a.lo.outer.t.Active(a.r)):
			at, axes = append(at, vals[i]), append(axes, axis)
			axis++
			continue
		default:
			axis++
		}
		left, of = append(left, it), append(of, given[i])
	}
	if uses > len(s) || len(at) == 0 {
		return a, items, given
	}
	return a.element(at, axes), left, of
}

// element loads what stands at places on axes: where these are not the first alone, a row of the
// array with them in front as one. What each is times the size of what follows it is loaded,
// too, since that looks whether it is one.
func (a *outerArray) element(at []Ref, axes []int) Ref {
	if len(axes) == 1 && axes[0] == 0 {
		return a.load(at[0])
	}
	ro, t := a.lo, a.lo.outer.t
	rows, sizes := ro.inFront(a.r, axes)
	if len(at) == 1 {
		return rows.load(at[0])
	}
	joint := None
	for i, n := range sizes {
		table, size := make([]float64, n), tensor.Shape(sizes[i+1:]).Size()
		for k := range table {
			table[k] = float64(k * size)
		}
		place := (&outerArray{ro, t.Tensor(tensor.From(table, n))}).load(at[i])
		if joint == None {
			joint = place
		} else {
			joint = ro.sub.Apply(opAdd, joint, place)
		}
	}
	return rows.load(joint)
}

// inFront is an outer tensor with some axes in front of the others, as one, and their sizes.
func (ro *rolling) inFront(r Ref, axes []int) (rows *outerArray, sizes []int) {
	t := ro.outer.t
	s := t.Shape(r)
	var perm, rest []int
	for _, k := range axes {
		perm, sizes = append(perm, k), append(sizes, s[k])
	}
	for k, n := range s {
		if !slices.Contains(axes, k) {
			perm, rest = append(perm, k), append(rest, n)
		}
	}
	name := fmt.Sprint(r, axes)
	x, ok := ro.turned[name]
	if !ok {
		x = t.reshape(t.transpose(r, perm), append(tensor.Shape{tensor.Shape(sizes).Size()}, rest...))
		if ro.turned == nil {
			ro.turned = map[string]Ref{}
		}
		ro.turned[name] = x
	}
	return &outerArray{ro, x}, sizes
}
