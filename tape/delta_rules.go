package tape

import (
	"slices"

	"nabla/tape/tensor"
)

// The rules: an operation whose row names none has no form.

func (f *factoring) same(r Ref) []*term { return f.of(r, 0) }

// basis is the seed of a Jacobian: 1 where the place of a row is that of the element, and that is
// all of it.
func (f *factoring) basis(r Ref) []*term {
	s := f.t.Shape(r)
	if s.Size() == 0 {
		panic(noForm{})
	}
	x := &term{num: 1, desk: f.t.desk}
	step := s.Size()
	for _, n := range s {
		p := x.whole(n)
		x.axes = append(x.axes, p)
		step /= n
		if n > 1 {
			x.seed.walks = append(x.seed.walks, stride{p.walks[0].label, step})
		}
	}
	return []*term{x}
}

func (f *factoring) negated(r Ref) []*term { return scaled(f.of(r, 0), -1) }

func scaled(xs []*term, by float64) []*term {
	return each(xs, func(x *term) *term {
		x.num *= by
		return x
	})
}

func (f *factoring) broadcast(r Ref) []*term { return f.expanded(r, 0) }

// expanded is the terms of argument i, broadcast to the shape of r.
func (f *factoring) expanded(r Ref, i int) []*term {
	from, to := f.t.Shape(f.t.Args(r)[i]), f.t.Shape(r)
	xs := f.of(r, i)
	if from.Equal(to) {
		return xs
	}
	return each(xs, func(x *term) *term {
		axes := make([]reach, len(to))
		for k, n := range to {
			j := k - (len(to) - len(from))
			switch {
			case j < 0 || from[j] == 1 && n != 1:
				axes[k] = x.whole(n)
			default:
				axes[k] = x.axes[j]
			}
		}
		x.axes = axes
		return x
	})
}

// added is the terms of both arguments; one without a seed has to be 0.
func (f *factoring) added(r Ref) []*term {
	var out []*term
	for i, a := range f.t.Args(r) {
		if !f.seeded(a) {
			if v, ok := f.t.constant(a); !ok || v != 0 {
				panic(noForm{})
			}
			continue
		}
		xs := f.expanded(r, i)
		if i == 1 && f.t.ins[r].Op() == opSub {
			xs = scaled(xs, -1)
		}
		out = append(out, xs...)
	}
	return out
}

// multiplied is a product with what the seed does not reach.
func (f *factoring) multiplied(r Ref) []*term {
	args := f.t.Args(r)
	i := 0
	if !f.seeded(args[0]) {
		i = 1
	}
	if f.seeded(args[1-i]) {
		panic(noForm{})
	}
	return f.timed(f.expanded(r, i), args[1-i])
}

func (f *factoring) divided(r Ref) []*term {
	if f.seeded(f.t.Args(r)[1]) {
		panic(noForm{})
	}
	return f.timed(f.expanded(r, 0), f.t.Apply(opRecip, f.t.Args(r)[1]))
}

// chosen is a sum of two products with zeros and ones: a condition is never seeded, as no comparison has terms.
func (f *factoring) chosen(r Ref) []*term {
	t := f.t
	c := t.Args(r)[0]
	var out []*term
	for i, a := range t.Args(r)[1:] {
		if !f.seeded(a) {
			if v, ok := t.constant(a); !ok || v != 0 {
				panic(noForm{})
			}
			continue
		}
		yes, no := t.Const(1), t.Const(0)
		if i == 1 {
			yes, no = no, yes
		}
		out = append(out, f.timed(f.expanded(r, i+1), t.Apply(opWhere, c, yes, no))...)
	}
	return out
}

// timed multiplies terms with a tensor whose axes are the last of theirs.
func (f *factoring) timed(xs []*term, y Ref) []*term {
	if f.t.ins[y].dtype != tensor.Float64 {
		panic(noForm{})
	}
	if v, ok := f.t.constant(y); ok {
		return scaled(xs, v)
	}
	n := len(f.t.Shape(y))
	return each(xs, func(x *term) *term {
		f.times(x, f.picked(x, y, x.axes[len(x.axes)-n:]))
		return x
	})
}

// times adds a factor; one with the labels of another is multiplied with it.
func (f *factoring) times(x *term, y operand) {
	for i, o := range x.factors {
		if len(o.labels) == len(y.labels) && !slices.ContainsFunc(y.labels, func(l rune) bool { return !slices.Contains(o.labels, l) }) {
			x.factors[i].r = f.t.Apply(opMul, o.r, f.arranged(y, o.labels))
			return
		}
	}
	if x.factors = append(x.factors, y); len(x.factors) > mostFactors {
		panic(noForm{})
	}
}

// picked is y where the reaches of its axes lead, an axis for each of their labels. An
// axis of size 1 is the same everywhere.
func (f *factoring) picked(x *term, y Ref, at []reach) operand {
	t := f.t
	var labels []rune
	var dims tensor.Shape
	s := t.Shape(y)
	for i, p := range at {
		if s[i] == 1 {
			continue
		}
		n, step := 1, 1
		for k := len(p.walks) - 1; k >= 0; k-- {
			w := p.walks[k]
			if k == len(p.walks)-1 {
				step = w.step
			}
			if w.step != n*step || slices.Contains(labels, w.label) {
				panic(noForm{})
			}
			n *= x.sizes[w.label]
		}
		for _, w := range p.walks {
			labels, dims = append(labels, w.label), append(dims, x.sizes[w.label])
		}
		y = t.slice(y, i-len(s), p.base, p.base+(n-1)*step+1, step)
	}
	return operand{f.reshaping(y, dims), labels}
}

// summed has the axes that are summed over inside of the terms.
func (f *factoring) summed(r Ref) []*term {
	a := f.t.Attr(r)
	return each(f.of(r, 0), func(x *term) *term {
		n := len(x.axes)
		gone := make([]reach, 0, len(a.Axes))
		var axes []reach
		for i, p := range x.axes {
			switch {
			case !slices.Contains(a.Axes, i-n):
				axes = append(axes, p)
				continue
			case a.Flag:
				axes = append(axes, reach{})
			}
			gone = append(gone, p)
		}
		x.axes = axes
		f.eliminate(x, gone)
		return x
	})
}

// runningSum is the product with a triangle of ones.
func (f *factoring) runningSum(r Ref) []*term {
	t := f.t
	a, s := t.Attr(r), t.Shape(r)
	axis := len(s) + a.along()
	n := s[axis]
	f.bounded(n * n)
	y := t.Tensor(onesOfTriangle(n, n, a.Flag, 0))
	return each(f.of(r, 0), func(x *term) *term {
		inner, outer := x.axes[axis], x.whole(n)
		x.axes[axis] = outer
		f.times(x, f.picked(x, y, []reach{outer, inner}))
		f.eliminate(x, []reach{inner})
		return x
	})
}

// solved is solutions of systems whose right sides are the seed's own rows, times whatever: those of the identity, as rows
// have them. Of other right sides the sums over an inverse would not be as exact.
func (f *factoring) solved(r Ref) []*term {
	t := f.t
	args := t.Args(r)
	sides, s := len(args)-1, t.Shape(r)
	as := t.Shape(args[0])
	if !t.Shape(args[sides]).Equal(s) || !as[:len(as)-2].Equal(s[:len(s)-2]) || !f.seeded(args[sides]) {
		panic(noForm{})
	}
	for _, a := range args[:sides] {
		if f.seeded(a) {
			panic(noForm{})
		}
	}
	n := last(as)
	f.bounded(as.Size())
	ones := tensor.New(as...)
	for i := 0; i < len(ones.Data); i += n * n {
		for k := range n {
			ones.Data[i+k*(n+1)] = 1
		}
	}
	y := t.record(t.ins[r].Op(), as, *t.Attr(r), append(slices.Clone(args[:sides]), t.Tensor(ones))...)
	return each(f.of(r, sides), func(x *term) *term {
		k := len(x.axes) - 2
		inner, outer := x.axes[k], x.whole(n)
		others := slices.ContainsFunc(inner.walks, func(w stride) bool { return !x.seed.has(w.label) })
		if others || len(inner.walks) == 0 { // none: one number of each right side
			panic(noForm{})
		}
		x.axes[k] = outer
		f.times(x, f.picked(x, y, append(slices.Clone(x.axes[:k]), outer, inner)))
		return x
	})
}

// product is a matrix product with what the seed does not reach.
func (f *factoring) product(r Ref) []*term {
	t := f.t
	args, a := t.Args(r), t.Attr(r)
	i := 0
	if !f.seeded(args[0]) {
		i = 1
	}
	y := args[1-i]
	if f.seeded(y) || t.ins[y].dtype != tensor.Float64 {
		panic(noForm{})
	}
	turned := [2]bool{a.Flag, a.Flag2}
	s, ys := t.Shape(r), t.Shape(y)
	return each(f.of(r, i), func(x *term) *term {
		n := len(x.axes)
		row, col := x.axes[n-2], x.axes[n-1] // of the seeded matrix
		if turned[i] {
			row, col = col, row
		}
		inner, outer := col, row
		if i == 1 {
			inner, outer = row, col
		}
		axes := make([]reach, len(s))
		for k := range s[:len(s)-2] { // matrices in front, repeated
			j := k - (len(s) - n)
			if j >= 0 && (s[k] == 1 || t.Shape(args[i])[j] != 1) {
				axes[k] = x.axes[j]
			} else {
				axes[k] = x.whole(s[k])
			}
		}
		at := slices.Clone(axes[len(s)-len(ys) : len(s)-2])
		var free reach
		if (i == 0) != turned[1-i] { // y has the inner axis first
			free = x.whole(ys[len(ys)-1])
			at = append(at, inner, free)
		} else {
			free = x.whole(ys[len(ys)-2])
			at = append(at, free, inner)
		}
		if i == 0 {
			axes[len(s)-2], axes[len(s)-1] = outer, free
		} else {
			axes[len(s)-2], axes[len(s)-1] = free, outer
		}
		x.axes = axes
		f.times(x, f.picked(x, y, at))
		f.eliminate(x, []reach{inner})
		return x
	})
}
