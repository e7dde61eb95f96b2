package tape

import (
	"slices"

	"nabla/tape/sparsity"
	"nabla/tape/tensor"
)

// transposed has the axes of the terms in the order of the result.
func (f *factoring) transposed(r Ref) []*term {
	return each(f.of(r, 0), func(x *term) *term {
		axes := make([]reach, len(x.axes))
		for i, p := range f.t.Attr(r).Ints {
			axes[i] = x.axes[len(axes)+p]
		}
		x.axes = axes
		return x
	})
}

// reshaped has the terms in another shape.
func (f *factoring) reshaped(r Ref) []*term {
	from, to := f.t.Shape(f.t.Args(r)[0]), f.t.Shape(r)
	return each(f.of(r, 0), func(x *term) *term {
		f.reshape(x, from, to)
		return x
	})
}

// reshape finds the reaches in another shape of as many elements. A label that goes over
// the end of an axis becomes two.
func (f *factoring) reshape(x *term, from, to tensor.Shape) {
	d := x.desk
	all := 0
	for _, p := range x.axes {
		all += len(p.walks)
	}
	flat := reach{walks: d.walks.of(all)[:0]}
	for i, st := range from.Strides() {
		flat.base += x.axes[i].base * st
		for _, w := range x.axes[i].walks {
			flat.walks = append(flat.walks, stride{w.label, w.step * st})
		}
	}
	x.axes = d.reaches.of(1) // what splitting a label changes
	x.axes[0] = flat
	strides := to.Strides()
	axes := d.reaches.of(len(to))
	for a, st := range strides {
		axes[a].base = flat.base / st % to[a]
	}
	for k := 0; k < len(x.axes[0].walks); k++ {
		w := x.axes[0].walks[k]
		a := 0
		for a < len(to) && (to[a] == 1 || strides[a] > w.step) {
			a++
		}
		if a == len(to) || w.step%strides[a] != 0 {
			panic(noForm{})
		}
		step := w.step / strides[a]
		if n := x.sizes[w.label]; axes[a].base+(n-1)*step >= to[a] {
			per := to[a] / step
			if to[a]%step != 0 || per < 2 || n%per != 0 || n == per {
				panic(noForm{})
			}
			f.split(x, w.label, per)
			k--
			continue
		}
	}
	for _, w := range x.axes[0].walks {
		a := 0
		for to[a] == 1 || strides[a] > w.step {
			a++
		}
		axes[a].walks = append(axes[a].walks, stride{w.label, w.step / strides[a]})
	}
	for a := range axes {
		slices.SortStableFunc(axes[a].walks, func(v, w stride) int { return w.step - v.step })
		if x.last(axes[a]) >= to[a] {
			panic(noForm{})
		}
	}
	x.axes = axes
}

// split makes two labels of one, the second of size n.
func (f *factoring) split(x *term, l rune, n int) {
	inner := x.label(n)
	outer := x.sizes[l] / n
	x.sizes[l] = outer
	x.reaches(func(p *reach) {
		for i, w := range p.walks {
			if w.label == l {
				p.walks = slices.Replace(p.walks, i, i+1, stride{l, w.step * n}, stride{inner, w.step})
				return
			}
		}
	})
	for i, o := range x.factors {
		if k := slices.Index(o.labels, l); k >= 0 {
			s := slices.Replace(slices.Clone(f.t.Shape(o.r)), k, k+1, outer, n)
			x.factors[i] = operand{f.reshaping(o.r, s), slices.Insert(slices.Clone(o.labels), k+1, inner)}
		}
	}
}

// restrict keeps n values of a label, from the given one on.
func (f *factoring) restrict(x *term, l rune, from, n, step int) {
	if from == 0 && n == x.sizes[l] {
		return
	}
	x.sizes[l] = n
	x.reaches(func(p *reach) {
		for i, w := range p.walks {
			if w.label != l {
				continue
			}
			p.base += from * w.step
			if p.walks[i].step *= step; n == 1 {
				p.walks = slices.Delete(p.walks, i, i+1)
			}
			return
		}
	})
	for i, o := range x.factors {
		k := slices.Index(o.labels, l)
		if k < 0 {
			continue
		}
		y := f.t.slice(o.r, k-len(o.labels), from, from+(n-1)*step+1, step)
		labels := o.labels
		if n == 1 {
			labels = slices.Delete(slices.Clone(labels), k, k+1)
			y = f.t.reshape(y, slices.Delete(slices.Clone(f.t.Shape(y)), k, k+1))
		}
		x.factors[i] = operand{y, labels}
	}
}

func (f *factoring) sliced(r Ref) []*term {
	a := f.t.Attr(r)
	return each(f.of(r, 0), func(x *term) *term {
		return f.slice(x, len(x.axes)+a.Axes[0], a.Ints[0], a.Ints[1], a.Ints[2])
	})
}

// slice keeps the elements from, from + step, … of an axis, n of them; nil when the term
// reaches none.
func (f *factoring) slice(x *term, axis, from, n, step int) *term {
	if step < 1 || n == 0 {
		panic(noForm{})
	}
	p := &x.axes[axis]
	if p.base >= from && x.last(*p) < from+n && step == 1 { // all is inside
		p.base -= from
		return x
	}
	if p.base > from+(n-1)*step || x.last(*p) < from {
		return nil
	}
	if len(p.walks) == 0 {
		if p.base -= from; p.base%step != 0 {
			return nil
		}
		p.base /= step
		return x
	}
	w := p.walks[0] // the longest steps; what stands behind must be taken whole
	inner := x.last(reach{walks: p.walks[1:]})
	if inner >= w.step || step > 1 && len(p.walks) > 1 {
		panic(noForm{})
	}
	skip := 1
	switch {
	case w.step%step == 0:
		if (p.base-from)%step != 0 {
			return nil
		}
	case w.step == 1:
		skip = step
	default:
		panic(noForm{})
	}
	end := from + (n-1)*step
	clip := func(v int) int { return min(max(v, 0), x.sizes[w.label]) }
	lo, hi := clip(sparsity.CeilDiv(from-p.base, w.step)), clip(sparsity.FloorDiv(end-inner-p.base, w.step)+1)
	if inner > 0 && (lo != clip(sparsity.CeilDiv(from-p.base-inner, w.step)) || hi != clip(sparsity.FloorDiv(end-p.base, w.step)+1)) {
		panic(noForm{})
	}
	for skip > 1 && (p.base+lo-from)%step != 0 {
		lo++
	}
	if lo >= hi {
		return nil
	}
	f.restrict(x, w.label, lo, (hi-1-lo)/skip+1, skip)
	p.base = (p.base - from) / step
	for i := range p.walks {
		p.walks[i].step /= step
	}
	return x
}

// unsliced puts the terms where a slice was taken from; steps backwards have no form.
func (f *factoring) unsliced(r Ref) []*term {
	a := f.t.Attr(r)
	return each(f.of(r, 0), func(x *term) *term {
		if a.Ints[2] < 1 {
			panic(noForm{})
		}
		x.axes[len(x.axes)+a.Axes[0]].stretch(a.Ints[0], a.Ints[2])
		return x
	})
}

// stretch puts element i at from + step·i.
func (p *reach) stretch(from, step int) {
	p.base = from + step*p.base
	for i := range p.walks {
		p.walks[i].step *= step
	}
}

// asRows is how off elements of n stand in a tensor of shape s: rows of its leading axis.
func asRows(s tensor.Shape, off, n int) (first, count int, rows tensor.Shape) {
	row := s[1:].Size()
	if row == 0 || off%row != 0 || n%row != 0 {
		panic(noForm{})
	}
	return off / row, n / row, append(tensor.Shape{n / row}, s[1:]...)
}

// block is a slice of the elements in their order, as one of rows.
func (f *factoring) block(r Ref) []*term {
	t := f.t
	off := int(t.ins[r].args[1])
	first, n, rows := asRows(t.Shape(t.Args(r)[0]), off, t.Shape(r).Size())
	return each(f.of(r, 0), func(x *term) *term {
		if x = f.slice(x, 0, first, n, 1); x != nil {
			f.reshape(x, rows, t.Shape(r))
		}
		return x
	})
}

// assembled has the terms of each part at the place of the part, as rows.
func (f *factoring) assembled(r Ref) []*term {
	t := f.t
	var out []*term
	for i, a := range t.Args(r) {
		first, _, rows := asRows(t.Shape(r), t.Attr(r).Ints[i], t.Shape(a).Size())
		out = append(out, each(f.of(r, i), func(x *term) *term {
			f.reshape(x, t.Shape(a), rows)
			x.axes[0].stretch(first, 1)
			return x
		})...)
	}
	return out
}

// joined has the terms of each part where the part begins along the axis.
func (f *factoring) joined(r Ref) []*term {
	t := f.t
	var out []*term
	axis, from := t.Attr(r).Axes[0], 0
	for i, a := range t.Args(r) {
		out = append(out, each(f.of(r, i), func(x *term) *term {
			x.axes[len(x.axes)+axis].stretch(from, 1)
			return x
		})...)
		s := t.Shape(a)
		from += s[len(s)+axis]
	}
	return out
}
