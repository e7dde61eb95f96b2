package tape

import (
	"math"
	"slices"

	"nabla/tape/sparsity"
	"nabla/tape/tensor"
)

// dependence is the pattern of y by a source, which may have several versions; nil when y
// does not depend on it.
func (t *Tape) dependence(y Ref, srcs []Ref) *sparsity.Pattern {
	lo := slices.Min(srcs)
	if lo > y {
		return nil
	}
	w := t.way(y, lo, srcs)
	if !w.live[y-lo] {
		return nil
	}
	cols := t.Shape(srcs[0]).Size()
	if w.size > mostTraced || cols > math.MaxInt32 || t.size(y) > math.MaxInt32 {
		return sparsity.Everything(t.size(y), cols)
	}
	at := make([]*sparsity.Pattern, y-lo+1)
	for r := lo; r <= y; r++ {
		if !w.live[r-lo] {
			continue
		}
		if t.check != nil && r&1023 == 0 {
			t.check()
		}
		var p *sparsity.Pattern
		if slices.Contains(srcs, r) {
			p = sparsity.Identity(cols)
		}
		op := t.ins[r].Op()
		for i, a := range t.Args(r) {
			if a < lo || !w.need[a-lo] {
				continue
			}
			if at[a-lo] != nil && t.passes(op, i) && t.ins[r].dtype.IsFloat() && !(op == opWithGrad && i == 0) {
				p = p.Union(t.linked(r, i, at[a-lo]))
			}
			if w.used[a-lo]--; w.used[a-lo] == 0 {
				at[a-lo] = nil
			}
		}
		at[r-lo] = p
	}
	return at[y-lo]
}

// A way is what leads from sources to a value: all by the distance from lo, the first source.
type way struct {
	need []bool  // depends on a source
	live []bool  // and the value on it
	used []int32 // how many instructions on the way read it
	size int     // how many instructions
}

// way finds what leads from srcs, the first of which is lo, to y.
func (t *Tape) way(y, lo Ref, srcs []Ref) *way {
	n := y - lo + 1
	w := &way{need: make([]bool, n), live: make([]bool, n), used: make([]int32, n)}
	for _, s := range srcs {
		if s <= y {
			w.need[s-lo] = true
		}
	}
	v := sweep{t: t, lo: lo, need: w.need}
	for r := lo; r <= y; r++ {
		w.need[r-lo] = w.need[r-lo] || v.reaches(r)
	}
	w.live[y-lo] = w.need[y-lo]
	for r := y; r >= lo; r-- {
		if !w.live[r-lo] {
			continue
		}
		w.size++
		for _, a := range t.Args(r) {
			if a >= lo && w.need[a-lo] {
				w.live[a-lo] = true
				w.used[a-lo]++
			}
		}
	}
	return w
}

// mostTraced bounds the instructions that a pattern is followed through: a long tape of
// single numbers has its structure in its length.
const mostTraced = 1 << 15

// linked is the pattern of r as far as it comes through argument i, whose pattern is p.
func (t *Tape) linked(r Ref, i int, p *sparsity.Pattern) *sparsity.Pattern {
	if t.size(r) == 0 || p.List == nil && len(p.Bands) == 0 {
		return &sparsity.Pattern{Rows: t.size(r), Cols: p.Cols}
	}
	if q := t.moved(r, i, p); q != nil {
		return q
	}
	// element by element
	if rel := t.moved(r, i, sparsity.Identity(p.Rows)); rel != nil {
		if list := p.Listed(); list != nil {
			if q := list.Behind(rel, p.Cols); q != nil {
				return q
			}
		}
	}
	return sparsity.Everything(t.size(r), p.Cols)
}

// moved is linked as bands; nil when there are none that say it.
func (t *Tape) moved(r Ref, i int, p *sparsity.Pattern) *sparsity.Pattern {
	op := t.ins[r].Op()
	a := t.Args(r)[i]
	switch {
	case op.elementwise():
		return p.Repeated(t.alignedTo(a, r), t.physical(r))
	case op == opUnbatch || op == opRebatch:
		wide, logical := a, r
		if op == opRebatch {
			wide, logical = r, a
		}
		axis := int32(t.Attr(r).Axis)
		before := 1
		for _, x := range t.Axes(logical) {
			if x > axis {
				return nil
			}
			before *= t.axes[x]
		}
		if slices.Contains(t.Axes(wide), axis) {
			return p
		}
		inner := t.Shape(wide).Size()
		return p.Repeated(tensor.Shape{before, 1, inner}, tensor.Shape{before, t.axes[axis], inner})
	case op == opSumBatch:
		axis := int32(t.Attr(r).Axis)
		s := tensor.Shape{1, t.axes[axis], t.Shape(r).Size()}
		for _, x := range t.Axes(r) {
			if x < axis {
				s[0] *= t.axes[x]
			} else {
				s[2] *= t.axes[x]
			}
		}
		return p.Summed(s, -2)
	case op.Links == nil:
		return nil
	}
	if t.ins[a].batch != t.ins[r].batch { // repeated along the batch
		var from, to tensor.Shape
		for _, x := range t.Axes(r) {
			to = append(to, t.axes[x])
			if slices.Contains(t.Axes(a), x) {
				from = append(from, t.axes[x])
			} else {
				from = append(from, 1)
			}
		}
		if p = p.Repeated(append(from, t.Shape(a)...), append(to, t.Shape(a)...)); p == nil {
			return nil
		}
	}
	k := &link{t: t, r: r, i: i, out: t.physical(r)}
	k.in = append(slices.Clone(k.out[:len(k.out)-len(t.Shape(r))]), t.Shape(a)...)
	return op.Links(k, p)
}
