package tape

import (
	"math"

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

// linkSame is for operations that change neither the number nor the order of elements.
func linkSame(_ *link, p *pattern) *pattern { return p }

// linkRepeat is broadcasting.
func linkRepeat(k *link, p *pattern) *pattern {
	from := make(tensor.Shape, len(k.out))
	for i := range from {
		from[i] = 1
	}
	copy(from[len(k.out)-len(k.in):], k.in)
	return p.repeated(from, k.out)
}

// repeated is the pattern after axes of size 1 are repeated to those of a larger shape.
func (p *pattern) repeated(from, to tensor.Shape) *pattern {
	if from.Equal(to) {
		return p
	}
	return p.through(from, to, func(x *box) fate {
		for a := range from {
			if from[a] != to[a] {
				x.repeat(a, to[a])
			}
		}
		return kept
	})
}

// linkSum is a sum over the axes of the attribute.
func linkSum(k *link, p *pattern) *pattern {
	return p.summed(k.in, k.attr().Axes...)
}

// summed sums over axes from the right, keeping them.
func (p *pattern) summed(s tensor.Shape, axes ...int) *pattern {
	to := reduced(s, axes, true)
	return p.through(s, to, func(x *box) fate {
		for _, a := range axes {
			x.sum(len(s) + a)
		}
		return kept
	})
}

// linkLast is a reduction of the last axis, linkAlong a function of all of it.
func linkLast(k *link, p *pattern) *pattern { return p.summed(k.in, -1) }

func linkAlong(k *link, p *pattern) *pattern {
	if q := p.summed(k.in, -1); q != nil {
		return q.repeated(reduced(k.in, []int{-1}, true), k.out)
	}
	return nil
}

func linkReverse(k *link, p *pattern) *pattern {
	a := len(k.in) - 1
	return p.through(k.in, k.out, func(x *box) fate { return x.slice(a, k.in[a]-1, k.in[a], -1) })
}

func linkTranspose(k *link, p *pattern) *pattern {
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
	return p.through(k.in, k.out, func(x *box) fate {
		y := x.clone()
		for i, a := range from {
			x.at[i] = y.at[a]
		}
		for i := range x.walks {
			if w := &x.walks[i]; w.axis >= 0 {
				w.axis = back[w.axis]
			}
		}
		return kept
	})
}

// along3 splits a shape at an axis from the right: what is before, the axis, what is behind.
func along3(s tensor.Shape, axis int) tensor.Shape {
	outer, n, inner := outerInner(s, axis)
	return tensor.Shape{outer, n, inner}
}

func linkSlice(k *link, p *pattern) *pattern {
	a := k.attr()
	return p.through(along3(k.in, a.Axes[0]), along3(k.out, a.Axes[0]), func(x *box) fate {
		return x.slice(1, a.Ints[0], a.Ints[1], a.Ints[2])
	})
}

func linkUnslice(k *link, p *pattern) *pattern {
	a := k.attr()
	return p.through(along3(k.in, a.Axes[0]), along3(k.out, a.Axes[0]), func(x *box) fate {
		x.stretch(1, a.Ints[0], a.Ints[2])
		return kept
	})
}

func linkConcat(k *link, p *pattern) *pattern {
	axis := k.attr().Axes[0]
	from := 0
	for _, x := range k.t.Args(k.r)[:k.i] {
		s := k.t.Shape(x)
		from += s[len(s)+axis]
	}
	return p.through(along3(k.in, axis), along3(k.out, axis), func(x *box) fate {
		x.stretch(1, from, 1)
		return kept
	})
}

// linkBlock keeps a contiguous piece: rows of the leading axis, or elements of one.
func linkBlock(k *link, p *pattern) *pattern {
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
	return p.through(from, to, func(x *box) fate { return x.slice(1, off/row, m/row, 1) })
}

func linkAssemble(k *link, p *pattern) *pattern {
	off := k.attr().Ints[k.i]
	points := k.t.points(k.r)
	from, to := tensor.Shape{points, k.in.Size() / max(points, 1)}, tensor.Shape{points, k.out.Size() / max(points, 1)}
	return p.through(from, to, func(x *box) fate {
		x.stretch(1, off, 1)
		return kept
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
func linkMatmul(k *link, p *pattern) *pattern {
	if p = p.summed(k.in, k.attr().contracted(k.i)); p == nil {
		return nil
	}
	n := len(k.out)
	from := make(tensor.Shape, n)
	for i := range from {
		from[i] = 1
	}
	copy(from[n-len(k.in):], k.in[:len(k.in)-2])
	// what is left of the matrix is a column of the result, or a row
	if k.i == 0 {
		from[n-2] = k.out[n-2]
	} else {
		from[n-1] = k.out[n-1]
	}
	return p.repeated(from, k.out)
}

// linkTake and linkPut pick along an axis, by an index that is known.
func linkTake(k *link, p *pattern) *pattern { return k.picked(p, true) }
func linkPut(k *link, p *pattern) *pattern  { return k.picked(p, false) }

func (k *link) picked(p *pattern, take bool) *pattern {
	t, a := k.t, k.attr()
	if k.i == 1 {
		return &pattern{rows: k.out.Size(), cols: p.cols}
	}
	idx := t.Args(k.r)[1]
	wide, narrow := k.in, k.out // the side that is picked from
	if !take {
		wide, narrow = narrow, wide
	}
	outer, n, inner := outerInner(wide, a.Axes[0])
	if outer*n*inner == 0 || narrow.Size() == 0 {
		return &pattern{rows: k.out.Size(), cols: p.cols}
	}
	m := narrow.Size() / (outer * inner)
	full, part := tensor.Shape{outer, n, inner}, tensor.Shape{outer, m, inner}
	if !t.known(idx) || t.ins[idx].batch != 0 { // any of them
		from, to := full, part
		if !take {
			from, to = part, full
		}
		if p = p.summed(from, -2); p != nil {
			p = p.repeated(tensor.Shape{outer, 1, inner}, to)
		}
		return p
	}
	at := func(v float64) int {
		if v < 0 {
			v += float64(n)
		}
		return int(v)
	}
	data := t.data(idx)
	t.log.saw(t, idx, data, sameNumbers)
	if first, step, ok := progression(data, at); ok && !a.Flag {
		if !take {
			return p.through(part, full, func(x *box) fate {
				x.stretch(1, first, step)
				return kept
			})
		}
		if step != 0 {
			return p.through(full, part, func(x *box) fate { return x.slice(1, first, m, step) })
		}
	}
	list := &entries{ptr: make([]int32, k.out.Size()+1)}
	if max(k.in.Size(), k.out.Size()) > math.MaxInt32 {
		return nil
	}
	each := func(f func(wide, narrow int)) {
		for o := range outer {
			for j := range m {
				v := 0
				if a.Flag {
					v = at(data[(o*m+j)%len(data)])
				} else {
					v = at(data[j])
				}
				for i := range inner {
					f((o*n+v)*inner+i, (o*m+j)*inner+i)
				}
			}
		}
	}
	list.col = make([]int32, narrow.Size())
	if take {
		for i := range list.ptr {
			list.ptr[i] = int32(i)
		}
		each(func(w, i int) { list.col[i] = int32(w) })
	} else {
		each(func(w, _ int) { list.ptr[w+1]++ })
		next := int32(0)
		for i := 1; i < len(list.ptr); i++ {
			next, list.ptr[i] = next+list.ptr[i], next
		}
		each(func(w, i int) {
			list.col[list.ptr[w+1]] = int32(i)
			list.ptr[w+1]++
		})
	}
	rel := &pattern{rows: k.out.Size(), cols: k.in.Size(), list: list}
	if p.isIdentity() {
		return rel
	}
	if e := p.listed(); e != nil {
		return e.behind(rel, p.cols)
	}
	return nil
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

func (p *pattern) isIdentity() bool {
	return p.list == nil && len(p.bands) == 1 && p.rows == p.cols && slicesEqualWalk(p.bands[0], p.rows)
}

func slicesEqualWalk(b band, n int) bool {
	return b.row == 0 && b.col == 0 && (n == 1 && len(b.walks) == 0 || len(b.walks) == 1 && b.walks[0] == walk{n, 1, 1})
}

// through is the union, over the places (a, b) of a window, of what move makes of p.
func (v window) through(p *pattern, from, to tensor.Shape, move func(x *box, a, b int) fate) *pattern {
	out := &pattern{rows: to.Size(), cols: p.cols}
	for a := range v.kh {
		for b := range v.kw {
			q := p.through(from, to, func(x *box) fate { return move(x, a, b) })
			if q == nil {
				return nil
			}
			for _, b := range q.bands {
				out.add(b)
			}
		}
	}
	if len(out.bands) > mostBands {
		return nil
	}
	return out
}

// linkWindows places what stands at each place of a window beside each other, linkUnwindows
// back where it came from.
func linkWindows(k *link, p *pattern) *pattern {
	v := windowOf(k.attr().Ints)
	planes := k.in.Size() / max(1, v.h*v.w)
	from, to := tensor.Shape{planes, v.h, v.w}, tensor.Shape{planes, v.kh * v.kw, v.oh, v.ow}
	return v.through(p, from, to, func(x *box, a, b int) fate {
		f := x.slice(1, a*v.dh-v.ph, v.oh, v.sh)
		if f == kept {
			f = x.slice(2, b*v.dw-v.pw, v.ow, v.sw)
		}
		x.at = []int{x.at[0], a*v.kw + b, x.at[1], x.at[2]}
		for i := range x.walks {
			if w := &x.walks[i]; w.axis > 0 {
				w.axis++
			}
		}
		return f
	})
}

func linkUnwindows(k *link, p *pattern) *pattern {
	v := windowOf(k.attr().Ints)
	planes := k.out.Size() / max(1, v.h*v.w)
	from, to := tensor.Shape{planes, v.kh * v.kw, v.oh, v.ow}, tensor.Shape{planes, v.h, v.w}
	return v.through(p, from, to, func(x *box, a, b int) fate {
		if f := x.slice(1, a*v.kw+b, 1, 1); f != kept {
			return f
		}
		walks := x.walks[:0]
		for _, w := range x.walks {
			if w.axis != 1 { // one element is left of that axis
				if w.axis > 1 {
					w.axis--
				}
				walks = append(walks, w)
			}
		}
		x.at, x.walks = []int{x.at[0], x.at[2], x.at[3]}, walks
		x.stretch(1, a*v.dh-v.ph, v.sh)
		x.stretch(2, b*v.dw-v.pw, v.sw)
		f := x.slice(1, 0, v.h, 1)
		if f == kept {
			f = x.slice(2, 0, v.w, 1)
		}
		return f
	})
}
