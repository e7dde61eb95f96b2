package tape

import (
	"math"
	"slices"

	"nabla/tape/sparsity"
	"nabla/tape/tensor"
)

// How a structural operation moves patterns: a row's Links makes of the pattern of one
// argument that of the result, or nil when it has no bands for it. Without Links every
// element of the result depends on all of the argument.

// A link is one argument of one instruction, with shapes as in memory: batch axes first,
// the same for both.
type link struct {
	t       *Tape
	r       Ref
	i       int
	in, out tensor.Shape
}

func (k *link) attr() *Attr { return k.t.Attr(k.r) }

// aligned is in with an axis of size 1 for each that the result has more: behind the batch axes,
// in front of the argument's own.
func (k *link) aligned() tensor.Shape {
	s, own := slices.Clone(k.out), k.t.Shape(k.t.Args(k.r)[k.i])
	for i := range k.t.Shape(k.r) {
		s[len(s)-1-i] = 1
	}
	copy(s[len(s)-len(own):], own)
	return s
}

// linkSame is for operations that change neither the number nor the order of elements.
func linkSame(_ *link, p *sparsity.Pattern) *sparsity.Pattern { return p }

// linkRepeat is broadcasting.
func linkRepeat(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	return p.Repeated(k.aligned(), k.out)
}

// linkSum is a sum over the axes of the attribute.
func linkSum(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	return p.Summed(k.in, k.attr().Axes...)
}

// linkLast is a reduction of the last axis.
func linkLast(k *link, p *sparsity.Pattern) *sparsity.Pattern { return p.Summed(k.in, -1) }

func linkReverse(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	a := len(k.in) - 1
	return p.Through(k.in, k.out, func(x *sparsity.Box) sparsity.Fate { return x.Slice(a, k.in[a]-1, k.in[a], -1) })
}

// linkTranspose has the axes of a pattern's rows in the order of the result.
func linkTranspose(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	perm := k.attr().Ints
	n := len(k.in)
	from := make([]int, n) // which axis of the argument each axis of the result is
	for i := range from {
		from[i] = i
		if j := i - (n - len(perm)); j >= 0 {
			from[i] = n + perm[j]
		}
	}
	back := make([]int, n)
	for i, a := range from {
		back[a] = i
	}
	return p.Through(k.in, k.out, func(x *sparsity.Box) sparsity.Fate {
		y := x.Clone()
		for i, a := range from {
			x.At[i] = y.At[a]
		}
		for i := range x.Walks {
			if w := &x.Walks[i]; w.Axis >= 0 {
				w.Axis = back[w.Axis]
			}
		}
		return sparsity.Kept
	})
}

// along3 splits a shape at an axis from the right: what is before, the axis, what is behind.
func along3(s tensor.Shape, axis int) tensor.Shape {
	outer, n, inner := outerInner(s, axis)
	return tensor.Shape{outer, n, inner}
}

func linkSlice(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	a := k.attr()
	return p.Through(along3(k.in, a.Axes[0]), along3(k.out, a.Axes[0]), func(x *sparsity.Box) sparsity.Fate {
		return x.Slice(1, a.Ints[0], a.Ints[1], a.Ints[2])
	})
}

// linkUnslice places a slice where it was taken.
func linkUnslice(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	a := k.attr()
	return p.Through(along3(k.in, a.Axes[0]), along3(k.out, a.Axes[0]), func(x *sparsity.Box) sparsity.Fate {
		x.Stretch(1, a.Ints[0], a.Ints[2])
		return sparsity.Kept
	})
}

// linkConcat places what is joined where it begins along the axis.
func linkConcat(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	axis := k.attr().Axes[0]
	from := 0
	for _, x := range k.t.Args(k.r)[:k.i] {
		s := k.t.Shape(x)
		from += s[len(s)+axis]
	}
	return p.Through(along3(k.in, axis), along3(k.out, axis), func(x *sparsity.Box) sparsity.Fate {
		x.Stretch(1, from, 1)
		return sparsity.Kept
	})
}

// linkBlock keeps a contiguous piece: rows of the leading axis, or elements of one.
func linkBlock(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	off := int(k.t.ins[k.r].args[1])
	points := k.t.points(k.r)
	n, m := k.in.Size()/max(points, 1), k.out.Size()/max(points, 1)
	s := k.t.Shape(k.t.Args(k.r)[0])
	row := 1
	if len(s) > 1 {
		row = s[1:].Size()
	}
	if row == 0 || off%row != 0 || m%row != 0 {
		row = 1
	}
	from, to := tensor.Shape{points, n / row, row}, tensor.Shape{points, m / row, row}
	return p.Through(from, to, func(x *sparsity.Box) sparsity.Fate { return x.Slice(1, off/row, m/row, 1) })
}

// linkAssemble places a part where its elements begin.
func linkAssemble(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	off := k.attr().Ints[k.i]
	points := k.t.points(k.r)
	from, to := tensor.Shape{points, k.in.Size() / max(points, 1)}, tensor.Shape{points, k.out.Size() / max(points, 1)}
	return p.Through(from, to, func(x *sparsity.Box) sparsity.Fate {
		x.Stretch(1, off, 1)
		return sparsity.Kept
	})
}

// contracted is the axis, from the right, of operand i that a matmul with these attributes
// sums over.
func (a *Attr) contracted(i int) int {
	axis, turned := -1, a.Flag
	if i == 1 {
		axis, turned = -2, a.Flag2
	}
	if turned {
		axis = -3 - axis
	}
	return axis
}

// linkMatmul: an element of the product depends on a row of the left operand and on a
// column of the right one.
func linkMatmul(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	if p = p.Summed(k.in, k.attr().contracted(k.i)); p == nil {
		return nil
	}
	n, from := len(k.out), k.aligned()
	// what is left of the matrix is a column of the result, or a row
	if k.i == 0 {
		from[n-2], from[n-1] = k.out[n-2], 1
	} else {
		from[n-2], from[n-1] = 1, k.out[n-1]
	}
	return p.Repeated(from, k.out)
}

// linkTake and linkPut pick along an axis, by an index that is known.
func linkTake(k *link, p *sparsity.Pattern) *sparsity.Pattern { return k.picked(p, true) }
func linkPut(k *link, p *sparsity.Pattern) *sparsity.Pattern  { return k.picked(p, false) }

// picked follows indices along an axis: what is taken for each, or, where take is not set, where
// each is put.
func (k *link) picked(p *sparsity.Pattern, take bool) *sparsity.Pattern {
	t, a := k.t, k.attr()
	if k.i == 1 {
		return &sparsity.Pattern{Rows: k.out.Size(), Cols: p.Cols}
	}
	idx := t.Args(k.r)[1]
	wide, narrow := k.in, k.out // the side that is picked from
	if !take {
		wide, narrow = narrow, wide
	}
	outer, n, inner := outerInner(wide, a.Axes[0])
	if outer*n*inner == 0 || narrow.Size() == 0 {
		return &sparsity.Pattern{Rows: k.out.Size(), Cols: p.Cols}
	}
	m := narrow.Size() / (outer * inner)
	full, part := tensor.Shape{outer, n, inner}, tensor.Shape{outer, m, inner}
	if !t.known(idx) || t.ins[idx].batch != 0 {
		return pickedAnywhere(p, full, part, take)
	}
	at := func(v float64) int {
		if v < 0 {
			v += float64(n)
		}
		return int(v)
	}
	data := t.data(idx)
	t.log.saw(t, idx, data, sameNumbers)
	if first, step, ok := progression(data, at); ok && !a.Flag && (step != 0 || !take) {
		return pickedEvenly(p, full, part, first, step, take)
	}
	if max(k.in.Size(), k.out.Size()) > math.MaxInt32 {
		return nil
	}
	rel := &sparsity.Pattern{Rows: k.out.Size(), Cols: k.in.Size(), List: pickedEntries(outer, n, m, inner, take, func(o, j int) int {
		if a.Flag {
			return at(data[(o*m+j)%len(data)])
		}
		return at(data[j])
	})}
	if p.IsIdentity() {
		return rel
	}
	if e := p.Listed(); e != nil {
		return e.Behind(rel, p.Cols)
	}
	return nil
}

// pickedAnywhere is picked where the indices are not known: any of those along the axis.
func pickedAnywhere(p *sparsity.Pattern, full, part tensor.Shape, take bool) *sparsity.Pattern {
	from, to := full, part
	if !take {
		from, to = part, full
	}
	if p = p.Summed(from, -2); p != nil {
		p = p.Repeated(tensor.Shape{full[0], 1, full[2]}, to)
	}
	return p
}

// pickedEvenly is picked of indices from first on by step, which is not 0 for what is taken.
func pickedEvenly(p *sparsity.Pattern, full, part tensor.Shape, first, step int, take bool) *sparsity.Pattern {
	if take {
		return p.Through(full, part, func(x *sparsity.Box) sparsity.Fate { return x.Slice(1, first, part[1], step) })
	}
	return p.Through(part, full, func(x *sparsity.Box) sparsity.Fate {
		x.Stretch(1, first, step)
		return sparsity.Kept
	})
}

// pickedEntries lists, for each element of outer × m × inner, the one of outer × n × inner that
// is taken for it, where at tells which of n is element j of m; or, for each of these, those that
// are put there.
func pickedEntries(outer, n, m, inner int, take bool, at func(o, j int) int) *sparsity.Entries {
	rows := outer * n * inner
	if take {
		rows = outer * m * inner
	}
	list := &sparsity.Entries{Ptr: make([]int32, rows+1), Col: make([]int32, outer*m*inner)}
	each := func(f func(wide, narrow int)) {
		for o := range outer {
			for j := range m {
				v := at(o, j)
				for i := range inner {
					f((o*n+v)*inner+i, (o*m+j)*inner+i)
				}
			}
		}
	}
	if take {
		for i := range list.Ptr {
			list.Ptr[i] = int32(i)
		}
		each(func(w, i int) { list.Col[i] = int32(w) })
		return list
	}
	each(func(w, _ int) { list.Ptr[w+1]++ })
	next := int32(0)
	for i := 1; i < len(list.Ptr); i++ {
		next, list.Ptr[i] = next+list.Ptr[i], next
	}
	each(func(w, i int) {
		list.Col[list.Ptr[w+1]] = int32(i)
		list.Ptr[w+1]++
	})
	return list
}

// progression finds the first number and the step of an index.
func progression(data []float64, at func(float64) int) (first, step int, ok bool) {
	first = at(data[0])
	if len(data) > 1 {
		step = at(data[1]) - first
	}
	for i, v := range data {
		if at(v) != first+i*step {
			return first, step, false
		}
	}
	if len(data) == 1 {
		step = 1
	}
	return first, step, true
}

// through is the union, over the places (a, b) of a window, of what move makes of p.
func (v window) through(p *sparsity.Pattern, from, to tensor.Shape, move func(x *sparsity.Box, a, b int) sparsity.Fate) *sparsity.Pattern {
	out := &sparsity.Pattern{Rows: to.Size(), Cols: p.Cols}
	for a := range v.kh {
		for b := range v.kw {
			q := p.Through(from, to, func(x *sparsity.Box) sparsity.Fate { return move(x, a, b) })
			if q == nil {
				return nil
			}
			for _, b := range q.Bands {
				out.Add(b)
			}
		}
	}
	if len(out.Bands) > sparsity.MostBands {
		return nil
	}
	return out
}

// linkWindows places what stands at each place of a window beside each other, linkUnwindows
// back where it came from.
func linkWindows(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	v := windowOf(k.attr().Ints)
	planes := k.in.Size() / max(1, v.h*v.w)
	from, to := tensor.Shape{planes, v.h, v.w}, tensor.Shape{planes, v.kh * v.kw, v.oh, v.ow}
	return v.through(p, from, to, func(x *sparsity.Box, a, b int) sparsity.Fate {
		f := x.Slice(1, a*v.dh-v.ph, v.oh, v.sh)
		if f == sparsity.Kept {
			f = x.Slice(2, b*v.dw-v.pw, v.ow, v.sw)
		}
		x.At = []int{x.At[0], a*v.kw + b, x.At[1], x.At[2]}
		for i := range x.Walks {
			if w := &x.Walks[i]; w.Axis > 0 {
				w.Axis++
			}
		}
		return f
	})
}

// linkUnwindows adds windows up where they were taken.
func linkUnwindows(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	v := windowOf(k.attr().Ints)
	planes := k.out.Size() / max(1, v.h*v.w)
	from, to := tensor.Shape{planes, v.kh * v.kw, v.oh, v.ow}, tensor.Shape{planes, v.h, v.w}
	return v.through(p, from, to, func(x *sparsity.Box, a, b int) sparsity.Fate {
		if f := x.Slice(1, a*v.kw+b, 1, 1); f != sparsity.Kept {
			return f
		}
		walks := x.Walks[:0]
		for _, w := range x.Walks {
			if w.Axis != 1 { // one element is left of that axis
				if w.Axis > 1 {
					w.Axis--
				}
				walks = append(walks, w)
			}
		}
		x.At, x.Walks = []int{x.At[0], x.At[2], x.At[3]}, walks
		x.Stretch(1, a*v.dh-v.ph, v.sh)
		x.Stretch(2, b*v.dw-v.pw, v.sw)
		f := x.Slice(1, 0, v.h, 1)
		if f == sparsity.Kept {
			f = x.Slice(2, 0, v.w, 1)
		}
		return f
	})
}
