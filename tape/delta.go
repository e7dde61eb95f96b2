package tape

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// The structure of Jacobians. The seed of a Jacobian is an identity, and what a sweep
// makes of it is for a long way no full tensor: the tangents of x @ w along the elements
// (i, j) of w are x[b, i] where the column is j, and 0 elsewhere. Carried out row by row
// that is a tensor of four axes; it is kept here as what it is, a term.
//
// A term is a product of ordinary tensors, whose axes have labels, and says for the seed
// and for each axis of the value which element the labels stand for; everything else is
// 0. A value is a sum of terms. All that a sweep does to the seed is linear: products with
// what does not depend on the seed become factors, structural operations move places,
// sums eliminate labels. A label that the seed has too is never summed: there a
// contraction is a product. What is left at the end is spread into the matrix, once.
//
// Zeros of the seed are strong, as everywhere, and those between terms are certain where
// all factors are finite; blocks of a Hessian on either side of the diagonal mirror each
// other where all of it is. So where the answer comes out with a NaN or an infinity in it
// the matrices are computed again, row by row (session.unfactor).
type term struct {
	sizes   []int // of the labels
	seed    reach
	axes    []reach // of the value
	num     float64
	factors []operand
}

// A reach is the elements base + Σ step·label of an axis.
type reach struct {
	base  int
	walks []stride
}

type stride struct {
	label rune
	step  int
}

// Matrices that are smaller are computed as they are, and so are those whose terms take
// more than this part of the work of the rows. Tests change both.
var (
	leastFactored = 1 << 12
	pays          = 0.6
)

const (
	mostFactored = 1 << 24
	mostTerms    = 24
	mostFactors  = 12

	workElement   = 10  // an elementwise operation on one number, in floating-point operations of a product
	workStructure = 20  // moving one number
	workStep      = 2e4 // what an instruction costs by itself
)

// noForm is what a rule panics with that has none for its operation.
type noForm struct{}

// A factoring is the values along one batch axis as terms.
type factoring struct {
	t    *Tape
	at   map[Ref][]*term
	most int // elements of a factor

	shaped map[shaping]Ref
}

// A shaping is a tensor in another shape: terms that have one in common share it.
type shaping struct {
	r      Ref
	labels string // the order of its axes; or
	shape  int32
}

// reshaping is r in another shape, recorded once.
func (f *factoring) reshaping(r Ref, s tensor.Shape) Ref {
	key := shaping{r: r, shape: f.t.shapeID(s)}
	y, ok := f.shaped[key]
	if !ok {
		y = f.t.reshape(r, s)
		f.shaped[key] = y
	}
	return y
}

// arranged is a factor with its labels in the given order, recorded once.
func (f *factoring) arranged(o operand, labels []rune) Ref {
	if slices.Equal(o.labels, labels) {
		return o.r
	}
	order := make([]byte, len(labels))
	for i, l := range labels {
		order[i] = byte(slices.Index(o.labels, l))
	}
	key := shaping{r: o.r, labels: string(order)}
	y, ok := f.shaped[key]
	if !ok {
		y = f.t.arrange(o, labels)
		f.shaped[key] = y
	}
	return y
}

// factored records the matrix r, an unbatched axis, as a sum of terms. None when that has
// no form or does not pay.
func (t *Tape) factored(r Ref) (m Ref) {
	out, arg, ok := t.rowOutOf(r)
	if size := t.Shape(r).Size(); !ok || size < leastFactored || size > mostFactored || t.Limit > 0 && 256*int64(size) > t.Limit {
		return None
	}
	set := t.ins[arg].batch
	live := t.live([]Ref{arg})
	rows := t.work(r) // of computing row by row
	if t.ins[r].Op != opUnbatch {
		rows += t.work(t.Args(r)[0])
	}
	for i, on := range live {
		x := Ref(i)
		if !on || t.known(x) || t.ins[x].batch == 0 {
			continue
		}
		if t.ins[x].batch != set || t.ins[x].dtype != tensor.Float64 || t.ins[x].Op.Terms == nil {
			return None
		}
		rows += t.work(x)
	}
	defer func() {
		if p := recover(); p != nil {
			if _, no := p.(noForm); !no {
				panic(p)
			}
			m = None
		}
	}()
	t.inner++
	defer func() { t.inner-- }()
	first := Ref(len(t.ins))
	f := &factoring{t: t, at: map[Ref][]*term{}, most: 2 * t.Shape(r).Size(), shaped: map[shaping]Ref{}}
	count := 0
	for i, on := range live {
		if x := Ref(i); on && !t.known(x) && t.ins[x].batch != 0 {
			f.at[x] = f.sum(t.ins[x].Op.Terms(f, x))
			if count++; len(t.ins)-int(first) > 100+16*count {
				return None
			}
		}
	}
	m = f.spread(out, f.at[arg])
	terms := 0.0
	for i, on := range t.live([]Ref{m}) {
		if x := Ref(i); on && x >= first {
			terms += t.work(x)
		}
	}
	if terms > pays*rows {
		return None
	}
	return m
}

// work is about what computing x costs.
func (t *Tape) work(x Ref) float64 {
	n := float64(t.size(x))
	switch op := t.ins[x].Op; {
	case op.elementwise():
		return workElement*n + workStep
	case op.Flops != nil:
		return op.Flops(t, x) + workStructure*n + workStep
	case op == opReshape || op == opBlock:
		return 0
	case op == opTerms: // zeros are cheap
		n /= 4
		for _, p := range t.Attr(x).Places {
			n += float64(p.size())
		}
	}
	return workStructure*n + workStep
}

// seeded reports whether r varies along the axis.
func (f *factoring) seeded(r Ref) bool { return f.t.ins[r].batch != 0 }

// of is the terms of argument i of r.
func (f *factoring) of(r Ref, i int) []*term {
	a := f.t.Args(r)[i]
	if !f.seeded(a) {
		panic(noForm{})
	}
	return f.at[a]
}

// each changes a copy of every term; one that f gives back as nil is 0.
func each(xs []*term, f func(x *term) *term) []*term {
	var out []*term
	for _, x := range xs {
		if y := f(x.clone()); y != nil {
			out = append(out, y)
		}
	}
	return out
}

func (x *term) clone() *term {
	y := *x
	y.sizes, y.factors = slices.Clone(x.sizes), slices.Clone(x.factors)
	y.seed = x.seed.clone()
	y.axes = make([]reach, len(x.axes))
	for i := range x.axes {
		y.axes[i] = x.axes[i].clone()
	}
	return &y
}

func (p reach) clone() reach { return reach{p.base, slices.Clone(p.walks)} }

// label adds a label of size n.
func (x *term) label(n int) rune {
	x.sizes = append(x.sizes, n)
	return rune(len(x.sizes) - 1)
}

// whole is all of an axis of size n, by a new label.
func (x *term) whole(n int) reach {
	if n == 1 {
		return reach{}
	}
	return reach{walks: []stride{{x.label(n), 1}}}
}

// reaches visits where the labels are used.
func (x *term) reaches(visit func(p *reach)) {
	visit(&x.seed)
	for i := range x.axes {
		visit(&x.axes[i])
	}
}

func (p *reach) has(l rune) bool {
	return slices.ContainsFunc(p.walks, func(w stride) bool { return w.label == l })
}

// last is the last element reached.
func (x *term) last(p reach) int {
	at := p.base
	for _, w := range p.walks {
		at += (x.sizes[w.label] - 1) * w.step
	}
	return at
}

// The rules: an operation whose row names none has no form.

func (f *factoring) same(r Ref) []*term { return f.of(r, 0) }

func (f *factoring) basis(r Ref) []*term {
	s := f.t.Shape(r)
	if s.Size() == 0 {
		panic(noForm{})
	}
	x := &term{num: 1}
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
		if i == 1 && f.t.ins[r].Op == opSub {
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

// chosen is a sum of two products with zeros and ones.
func (f *factoring) chosen(r Ref) []*term {
	t := f.t
	c := t.Args(r)[0]
	if f.seeded(c) {
		panic(noForm{})
	}
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
	flat := reach{}
	for i, st := range stridesOf(from) {
		flat.base += x.axes[i].base * st
		for _, w := range x.axes[i].walks {
			flat.walks = append(flat.walks, stride{w.label, w.step * st})
		}
	}
	x.axes = []reach{flat} // what splitting a label changes
	strides := stridesOf(to)
	axes := make([]reach, len(to))
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
	lo, hi := clip(ceilDiv(from-p.base, w.step)), clip(floorDiv(end-inner-p.base, w.step)+1)
	if inner > 0 && (lo != clip(ceilDiv(from-p.base-inner, w.step)) || hi != clip(floorDiv(end-p.base, w.step)+1)) {
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
		free := x.whole(ys[len(ys)-1-btoi((1-i == 1) == turned[1-i])])
		at := slices.Clone(axes[len(s)-len(ys) : len(s)-2])
		if (i == 0) != turned[1-i] { // y has the inner axis first
			at = append(at, inner, free)
		} else {
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

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// eliminate sums over the labels of reaches that the seed and the value no longer have.
func (f *factoring) eliminate(x *term, gone []reach) {
	var labels []rune
	for _, p := range gone {
		for _, w := range p.walks {
			used := slices.Contains(labels, w.label)
			x.reaches(func(q *reach) { used = used || q.has(w.label) })
			if !used {
				labels = append(labels, w.label)
			}
		}
	}
	if len(labels) == 0 {
		return
	}
	var those, rest []operand
	for _, o := range x.factors {
		if slices.ContainsFunc(o.labels, func(l rune) bool { return slices.Contains(labels, l) }) {
			those = append(those, o)
		} else {
			rest = append(rest, o)
		}
	}
	for _, l := range labels {
		if !slices.ContainsFunc(those, func(o operand) bool { return slices.Contains(o.labels, l) }) {
			x.num *= float64(x.sizes[l])
		}
	}
	if x.factors = rest; len(those) > 0 {
		f.times(x, f.contracted(x, those, labels))
	}
}

// contracted multiplies factors and sums over labels: as one matrix product of two of
// their products, chosen so that these are small.
func (f *factoring) contracted(x *term, those []operand, labels []rune) operand {
	keep := func(l rune) bool { return !slices.Contains(labels, l) }
	if len(those) == 1 {
		return f.t.sumLabels(those[0], keep)
	}
	if len(those) > 6 {
		panic(noForm{})
	}
	best, least := 0, math.Inf(1)
	part := func(mask int) (sides [2][]operand) {
		for i, o := range those {
			sides[mask>>i&1] = append(sides[mask>>i&1], o)
		}
		return sides
	}
	for mask := 1; mask < 1<<len(those)-1; mask += 2 {
		cost, shared := 0.0, 1
		sides := part(mask)
		unions := [2][]rune{union(sides[0]), union(sides[1])}
		for i, side := range sides {
			if n := x.count(unions[i]); len(side) > 1 {
				cost += 2 * workElement * float64(n)
			}
		}
		for _, l := range unions[0] {
			if keep(l) && slices.Contains(unions[1], l) {
				shared *= x.sizes[l]
			}
		}
		all := union(append(slices.Clone(sides[0]), sides[1]...))
		cost += 2 * float64(x.count(all))
		if shared > 1 {
			cost += 5000*float64(shared) + workStructure*float64(x.count(unions[0])+x.count(unions[1]))
		}
		if cost < least {
			best, least = mask, cost
		}
	}
	sides := part(best)
	order := x.order()
	rank := func(os []operand) int {
		return slices.IndexFunc(order, func(l rune) bool { return slices.Contains(union(os), l) })
	}
	if rank(sides[1]) >= 0 && rank(sides[1]) < rank(sides[0]) {
		sides[0], sides[1] = sides[1], sides[0]
	}
	// axes of both, which are few, then those that are summed, then the others as the result has them
	var first []rune
	for _, l := range order {
		if slices.Contains(union(sides[0]), l) && slices.Contains(union(sides[1]), l) {
			first = append(first, l)
		}
	}
	first = slices.Concat(first, labels, order)
	f.bounded(x.count(slices.DeleteFunc(union(those), func(l rune) bool { return !keep(l) })))
	return f.t.contract(f.joint(x, sides[0], first), f.joint(x, sides[1], first), keep)
}

// order lists the labels as the seed and the value have them.
func (x *term) order() (labels []rune) {
	x.reaches(func(p *reach) {
		for _, w := range p.walks {
			if !slices.Contains(labels, w.label) {
				labels = append(labels, w.label)
			}
		}
	})
	return labels
}

// bounded gives up where a factor would be larger than a few matrices.
func (f *factoring) bounded(n int) {
	if n > f.most {
		panic(noForm{})
	}
}

// union lists the labels of factors.
func union(os []operand) (labels []rune) {
	for _, o := range os {
		for _, l := range o.labels {
			if !slices.Contains(labels, l) {
				labels = append(labels, l)
			}
		}
	}
	return labels
}

func (x *term) count(labels []rune) int {
	n := 1
	for _, l := range labels {
		n *= x.sizes[l]
	}
	return n
}

// joint is the product of factors as one, with the labels that come first in front.
func (f *factoring) joint(x *term, os []operand, first []rune) operand {
	if len(os) == 1 {
		return os[0]
	}
	var labels []rune
	all := union(os)
	for _, l := range slices.Concat(first, all) {
		if slices.Contains(all, l) && !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	return f.productOf(x, os, labels)
}

// productOf multiplies factors into a tensor with the given labels.
func (f *factoring) productOf(x *term, os []operand, labels []rune) operand {
	f.bounded(x.count(labels))
	t := f.t
	os = slices.Clone(os)
	slices.SortStableFunc(os, func(a, b operand) int { return t.size(a.r) - t.size(b.r) })
	r := None
	for _, o := range os {
		var order []rune
		s := make(tensor.Shape, len(labels))
		for i, l := range labels {
			s[i] = 1
			if slices.Contains(o.labels, l) {
				order, s[i] = append(order, l), x.sizes[l]
			}
		}
		y := f.reshaping(f.arranged(o, order), s)
		if r == None {
			r = y
		} else {
			r = t.Apply(opMul, r, y)
		}
	}
	return operand{r, labels}
}

// sum joins terms of one form into one, and writes their labels in one way.
func (f *factoring) sum(xs []*term) []*term {
	var out []*term
next:
	for _, x := range xs {
		x = x.normal()
		for i, y := range out {
			if y.like(x) {
				if z := f.plus(y, x); z != nil {
					out[i] = z
					continue next
				}
			}
		}
		out = append(out, x)
	}
	if len(out) > mostTerms {
		panic(noForm{})
	}
	return out
}

// like reports whether two terms differ in their factors alone.
func (x *term) like(y *term) bool {
	return slices.Equal(x.sizes, y.sizes) && x.seed.like(y.seed) && slices.EqualFunc(x.axes, y.axes, reach.like)
}

func (p reach) like(q reach) bool { return p.base == q.base && slices.Equal(p.walks, q.walks) }

// normal counts the labels in the order in which the seed and the value have them.
func (x *term) normal() *term {
	y := x.clone()
	to := make([]rune, len(x.sizes))
	for i := range to {
		to[i] = -1
	}
	y.sizes = y.sizes[:0]
	y.reaches(func(p *reach) {
		for i := range p.walks {
			l := &p.walks[i].label
			if to[*l] < 0 {
				to[*l] = y.label(x.sizes[*l])
			}
			*l = to[*l]
		}
	})
	for i, o := range y.factors {
		labels := slices.Clone(o.labels)
		for k, l := range labels {
			labels[k] = to[l]
		}
		y.factors[i].labels = labels
	}
	return y
}

// plus adds two terms of one form; nil when they had better stay apart. What both are
// multiplied with stays a factor.
func (f *factoring) plus(x, y *term) *term {
	t := f.t
	same := func(a, b operand) bool { return a.r == b.r && slices.Equal(a.labels, b.labels) }
	out := x.clone()
	out.num, out.factors = 1, nil
	mine, its := []operand{}, slices.Clone(y.factors)
	for _, o := range x.factors {
		if k := slices.IndexFunc(its, func(b operand) bool { return same(o, b) }); k >= 0 {
			out.factors = append(out.factors, o)
			its = slices.Delete(its, k, k+1)
		} else {
			mine = append(mine, o)
		}
	}
	labels := union(append(slices.Clone(mine), its...))
	slices.Sort(labels)
	large := 1
	for _, o := range append(slices.Clone(x.factors), y.factors...) {
		large = max(large, t.size(o.r))
	}
	if x.count(labels) > 8*large {
		return nil
	}
	var parts [2]Ref
	for i, os := range [2][]operand{mine, its} {
		num := [2]float64{x.num, y.num}[i]
		parts[i] = t.Const(num)
		if len(os) == 0 {
			continue
		}
		p := f.productOf(x, os, labels).r
		switch num {
		case 1:
			parts[i] = p
		case -1:
			parts[i] = t.Apply(opNeg, p)
		default:
			parts[i] = t.Apply(opMul, parts[i], p)
		}
	}
	if len(labels) == 0 {
		if v, ok := t.constant(t.Apply(opAdd, parts[0], parts[1])); ok {
			out.num = v
			return out
		}
	}
	s := make(tensor.Shape, len(labels))
	for i, l := range labels {
		s[i] = x.sizes[l]
	}
	f.times(out, operand{t.broadcastTo(t.Apply(opAdd, parts[0], parts[1]), s), labels})
	return out
}

// A placing says where the numbers of a term belong in a matrix.
type placing struct {
	num     float64
	base    int
	factors int
	paces   []pace // the longest steps first
}

// A pace is a label that steps through the matrix and through each factor.
type pace struct {
	n, to int
	from  [mostSpread]int
}

// mostSpread bounds the factors that are multiplied on the way into the matrix.
const mostSpread = 3

var opTerms *Op

var deltaRows = []Op{
	{As: &opTerms, Name: "terms", Args: "*factors", Hidden: true, Doc: "a matrix as a sum of products, each where it belongs", Stops: "a matrix of derivatives", Run: runTerms},
}

// spread records the matrix.
func (f *factoring) spread(out rowOut, xs []*term) Ref {
	t := f.t
	s := t.Shape(out.r)
	at := out.at
	if at == nil {
		at = stridesOf(append(slices.Clone(out.lead), out.rest...))
	}
	step := 1 // from one element of the seed to the next
	if n := len(out.lead); n > 0 {
		step = at[n-1]
		for i := range n - 1 {
			if out.lead[i] > 1 && at[i] != at[i+1]*out.lead[i+1] {
				panic(noForm{})
			}
		}
	}
	var args []Ref
	var places []placing
	place := func(x *term, axes []int, step int) {
		p := x.placed(axes, step)
		for k, o := range x.factors {
			for i, st := range stridesOf(t.Shape(o.r)) {
				p.paces[o.labels[i]].from[k] = st
			}
			args = append(args, o.r)
		}
		p.join()
		places = append(places, p)
	}
	axes := at[len(out.lead):]
	symmetric := t.mirrors[out.r].of == out.r && inBlocks(xs, axes)
	for _, x := range xs {
		first, _ := x.reach(axes)
		if symmetric && x.seed.base > first {
			continue // the mirror image of another
		}
		for len(x.factors) > mostSpread { // the two that make the smallest product
			f.join(x)
		}
		place(x, axes, step)
		if symmetric && x.seed.base < first {
			turned := make([]int, len(axes))
			for i, st := range axes {
				turned[i] = st * step
			}
			place(x, turned, 1)
		}
	}
	return t.recordAs(opTerms, s, tensor.Float64, Attr{Places: places}, args...)
}

// reach is the first and the last element of the flat value, whose axes step so.
func (x *term) reach(axes []int) (first, last int) {
	for i, p := range x.axes {
		first += p.base * axes[i]
		last += x.last(p) * axes[i]
	}
	return first, last
}

// inBlocks reports whether all terms lie in blocks of one partition of rows and columns,
// so that those on one side of the diagonal mirror the others.
func inBlocks(xs []*term, axes []int) bool {
	var ranges [][2]int
	add := func(r [2]int) bool {
		for _, o := range ranges {
			if r == o {
				return true
			}
			if r[0] <= o[1] && o[0] <= r[1] {
				return false
			}
		}
		ranges = append(ranges, r)
		return true
	}
	for _, x := range xs {
		first, last := x.reach(axes)
		if !add([2]int{first, last}) || !add([2]int{x.seed.base, x.last(x.seed)}) {
			return false
		}
	}
	return true
}

// placed is where a term belongs in a matrix with steps for the axes and for the seed.
func (x *term) placed(axes []int, step int) placing {
	p := placing{num: x.num, base: x.seed.base * step, factors: len(x.factors), paces: make([]pace, len(x.sizes))}
	for l, n := range x.sizes {
		p.paces[l].n = n
	}
	for _, w := range x.seed.walks {
		p.paces[w.label].to += w.step * step
	}
	for i, q := range x.axes {
		p.base += q.base * axes[i]
		for _, w := range q.walks {
			p.paces[w.label].to += w.step * axes[i]
		}
	}
	return p
}

// join puts the longest paces first and makes one of two that go on in each other.
func (p *placing) join() {
	slices.SortStableFunc(p.paces, func(a, b pace) int { return b.to - a.to })
	joined := p.paces[:0]
	for _, d := range p.paces {
		if k := len(joined) - 1; k >= 0 && joined[k].goesOn(d) {
			d.n *= joined[k].n
			joined[k] = d
			continue
		}
		joined = append(joined, d)
	}
	p.paces = joined
}

// size is how many numbers there are.
func (p *placing) size() int {
	n := 1
	for _, d := range p.paces {
		n *= d.n
	}
	return n
}

// goesOn reports whether the pace and the next shorter one are one.
func (p *pace) goesOn(d pace) bool {
	for k, st := range d.from {
		if p.from[k] != d.n*st {
			return false
		}
	}
	return p.to == d.n*d.to
}

// join multiplies the two factors whose product is smallest.
func (f *factoring) join(x *term) {
	best, least := [2]int{}, math.MaxInt
	for i := range x.factors {
		for j := range i {
			if n := x.count(union([]operand{x.factors[i], x.factors[j]})); n < least {
				best, least = [2]int{j, i}, n
			}
		}
	}
	j, i := best[0], best[1]
	x.factors[j] = f.joint(x, []operand{x.factors[j], x.factors[i]}, x.order())
	x.factors = slices.Delete(x.factors, i, i+1)
}

func runTerms(c *run) {
	clear(c.out)
	w := &spreader{out: c.out}
	args := c.args
	for i := range c.attr.Places {
		p := &c.attr.Places[i]
		w.args, args = args[:p.factors], args[p.factors:]
		w.num = p.num
		outer := w.begin(p.paces)
		w.spread(p.base, [mostSpread]int{}, outer)
	}
}

// A spreader adds one term after the other to the matrix, line by line.
type spreader struct {
	out  []float64
	args [][]float64
	num  float64

	line    pace
	vectors bool // lines are long, and lie together everywhere
	product []float64
}

// leastVector is the length from which on kernels are called for a line.
const leastVector = 12

// begin takes the shortest steps for lines; it returns the other paces.
func (w *spreader) begin(paces []pace) (outer []pace) {
	w.line = pace{n: 1, to: 1}
	if k := len(paces) - 1; k >= 0 {
		if paces[k].n < leastVector && k > 0 && paces[k-1].n > paces[k].n { // lines are long
			paces = slices.Clone(paces)
			paces[k-1], paces[k] = paces[k], paces[k-1]
		}
		w.line, outer = paces[k], paces[:k]
	}
	w.vectors = w.line.to == 1 && w.line.n >= leastVector
	for i := range w.args {
		w.vectors = w.vectors && w.line.from[i] <= 1
	}
	if len(w.product) < w.line.n {
		w.product = make([]float64, w.line.n)
	}
	return outer
}

// spread adds what the paces reach from places in the matrix and in the factors.
func (w *spreader) spread(to int, from [mostSpread]int, paces []pace) {
	if len(paces) == 0 {
		w.add(to, &from)
		return
	}
	p := &paces[0]
	for range p.n {
		if len(paces) == 1 {
			w.add(to, &from)
		} else {
			w.spread(to, from, paces[1:])
		}
		to += p.to
		for i, st := range p.from {
			from[i] += st
		}
	}
}

// add adds one line. Every number is fma(num, the product of the factors in their order,
// what was there), whichever way: a mirror image has the same bits.
func (w *spreader) add(to int, from *[mostSpread]int) {
	if w.vectors {
		w.vector(w.out[to:][:w.line.n], from)
		return
	}
	var x [mostSpread][]float64
	for i, a := range w.args {
		x[i] = a[from[i]:]
	}
	dst, step := w.out[to:], &w.line.from
	switch len(w.args) {
	case 1:
		for k := range w.line.n {
			d := &dst[k*w.line.to]
			*d = math.FMA(w.num, x[0][k*step[0]], *d)
		}
	case 2:
		for k := range w.line.n {
			d := &dst[k*w.line.to]
			*d = math.FMA(w.num, float64(x[0][k*step[0]]*x[1][k*step[1]]), *d)
		}
	case 3:
		for k := range w.line.n {
			d := &dst[k*w.line.to]
			*d = math.FMA(w.num, float64(float64(x[0][k*step[0]]*x[1][k*step[1]])*x[2][k*step[2]]), *d)
		}
	default:
		for k := range w.line.n {
			dst[k*w.line.to] += w.num
		}
	}
}

// vector is add for a line whose numbers lie together, or are one number.
func (w *spreader) vector(dst []float64, from *[mostSpread]int) {
	s, product := 1.0, w.product[:len(dst)]
	var x []float64 // the product so far, if it is no number
	for i, a := range w.args {
		switch y := a[from[i]:]; {
		case w.line.from[i] == 0 && x == nil:
			s *= y[0]
		case w.line.from[i] == 0:
			kernels.MulScalar(product, x, y[0])
			x = product
		case x != nil:
			kernels.Mul(product, x, y[:len(dst)])
			x = product
		case i > 0:
			kernels.MulScalar(product, y[:len(dst)], s)
			x = product
		default:
			x = y[:len(dst)]
		}
	}
	if x == nil {
		for k, y := range dst {
			dst[k] = math.FMA(w.num, s, y)
		}
		return
	}
	kernels.Axpy(dst, w.num, x)
}

// String is the printed form: where the term begins, and how many steps of what length
// its labels make.
func (p placing) String() string {
	var b strings.Builder
	b.WriteString(itoa(p.base))
	for _, d := range p.paces {
		fmt.Fprintf(&b, "+%d×%d", d.n, d.to)
	}
	if p.num != 1 {
		fmt.Fprintf(&b, " times %v", p.num)
	}
	return b.String()
}
