package tape

import (
	"math"
	"slices"

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
// the matrices are computed again, row by row (session.unfactor). Where terms cancel, as
// those of a saturated softmax do, a NaN is put there for that (runTerms, runMeet).
type term struct {
	sizes   []int // of the labels
	seed    reach
	axes    []reach // of the value
	num     float64
	factors []operand
	of      Ref // the value it is part of
	desk    *desk
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

// Matrices that are smaller than leastFactored are computed as they are, but from leastHeavy on not where
// their rows are heavy; and so are those whose terms take more than this part of the work of the rows. Tests change them.
var (
	leastFactored = 1 << 12
	leastHeavy    = 1 << 8
	pays          = 0.6
)

const (
	mostFactored = 1 << 24
	mostTerms    = 24
	mostFactors  = 12

	workElement   = 10  // an elementwise operation on one number, in floating-point operations of a product
	workStructure = 20  // moving one number
	workStep      = 2e4 // what an instruction costs by itself
	heavyRows     = 3e6 // more than recording terms costs
)

// noForm is what a rule panics with that has none for its operation.
type noForm struct{}

// A factoring is the values along one batch axis as terms.
type factoring struct {
	t      *Tape
	at     map[Ref][]*term
	most   int // elements of a factor
	before int // axes of the value that come before that of the seed in the matrix, as of a batch Jacobian

	apart  bool // terms of one value stay apart
	met    bool // or some were added
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
	size := t.Shape(r).Size()
	if !ok || size < min(leastFactored, leastHeavy) || size > mostFactored || t.Limit > 0 && 256*int64(size) > t.Limit {
		return None
	}
	set := t.ins[arg].batch
	live := t.live([]Ref{arg})
	rows := t.work(r) // of computing row by row
	if t.ins[r].Op() != opUnbatch {
		rows += t.work(t.Args(r)[0])
	}
	for i, on := range live {
		x := Ref(i)
		if !on || t.known(x) || t.ins[x].batch == 0 {
			continue
		}
		if t.ins[x].batch != set || t.ins[x].dtype != tensor.Float64 || t.ins[x].Op().Terms == nil {
			return None
		}
		rows += t.work(x)
	}
	if size < leastFactored && rows < heavyRows {
		return None
	}
	t.inner++
	defer func() { t.inner-- }()
	f, first := &factoring{t: t}, Ref(len(t.ins))
	m, terms := f.form(out, arg, live)
	if f.met { // apart they may cancel and yet not matter
		f.apart = true
		if x, work := f.form(out, arg, live); x != None && work < 2*terms {
			m, terms = x, work
		}
	}
	if terms > pays*rows {
		return None
	}
	if m != None && t.ins[m].Op() == opTerms && t.Attr(m).Flag {
		t.halve(m, first, out.lead.Size())
	}
	return m
}

// form records the matrix, if that has a form, and says how much work it is.
func (f *factoring) form(out rowOut, arg Ref, live []bool) (m Ref, work float64) {
	defer func() {
		if p := recover(); p != nil {
			if _, no := p.(noForm); !no {
				panic(p)
			}
			m, work = None, math.Inf(1)
		}
	}()
	t := f.t
	first, count := Ref(len(t.ins)), 0
	f.at, f.most, f.shaped = map[Ref][]*term{}, 2*t.Shape(out.r).Size(), map[shaping]Ref{}
	f.before = 0
	if n := len(out.lead); n > 0 && len(out.at) > n {
		for _, step := range out.at[n:] {
			if step <= out.at[0] {
				break
			}
			f.before++
		}
	}
	for i, on := range live {
		if x := Ref(i); on && !t.known(x) && t.ins[x].batch != 0 {
			if t.size(x) > 0 { // else there are none
				f.at[x] = f.sum(t.ins[x].Op().Terms(f, x))
			}
			for _, y := range f.at[x] {
				y.of = x
			}
			if count++; len(t.ins)-int(first) > 100+16*count {
				panic(noForm{})
			}
		}
	}
	m = f.spread(out, f.at[arg])
	for i, on := range t.live([]Ref{m}) {
		if x := Ref(i); on && x >= first {
			work += t.work(x)
		}
	}
	return m, work
}

// work is about what computing x costs.
func (t *Tape) work(x Ref) float64 {
	n := float64(t.size(x))
	switch op := t.ins[x].Op(); {
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

// clone is a copy that shares nothing with x which changes.
func (x *term) clone() *term {
	d := x.desk
	y := d.terms.one()
	*y = *x
	y.sizes, y.factors, y.axes = d.sizes.copy(x.sizes, 2), d.factors.copy(x.factors, 1), d.reaches.copy(x.axes, 0)
	y.reaches(func(p *reach) { p.walks = d.walks.copy(p.walks, 0) })
	return y
}

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

// sum joins terms of one form into one, and writes their labels in one way. Where two are
// of one value rows have added them earlier, and they may cancel here.
func (f *factoring) sum(xs []*term) []*term {
	normal := make([]*term, len(xs))
	for i, x := range xs {
		normal[i] = x.normal()
	}
	late := func(x *term) bool {
		var of []Ref
		for _, y := range normal {
			if y.like(x) {
				if slices.Contains(of, y.of) {
					return true
				}
				of = append(of, y.of)
			}
		}
		return false
	}
	var out []*term
next:
	for _, x := range normal {
		for i, y := range out {
			if y.like(x) {
				if late := late(x); late && f.apart {
					break
				} else if z := f.plus(y, x, late); z != nil {
					f.met = f.met || late
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
		labels := y.desk.labels.copy(o.labels, 0)
		for k, l := range labels {
			labels[k] = to[l]
		}
		y.factors[i].labels = labels
	}
	return y
}

// plus adds two terms of one form, later than rows do or as they do; nil when they had
// better stay apart. What both are multiplied with stays a factor.
func (f *factoring) plus(x, y *term, late bool) *term {
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
	var z Ref
	if late {
		z = t.recordAs(opMeet, s, tensor.Float64, Attr{}, t.broadcastTo(parts[0], s), t.broadcastTo(parts[1], s))
	} else {
		z = t.broadcastTo(t.Apply(opAdd, parts[0], parts[1]), s)
	}
	f.times(out, operand{z, labels})
	return out
}
