package tape

import (
	"fmt"
	"math"
	"slices"

	"nabla/tape/tensor"
)

// A seriesBuilder finds out which values need a series, and of how many coefficients.
type seriesBuilder struct {
	t      *Tape
	x      Ref
	known  []seriesValue // of the instructions from x on
	same   map[seriesKey]Ref
	nodes  map[Ref]*seriesWant
	work   []*seriesWant // of which more is wanted than was looked at
	args   []Ref         // of taylor
	argOf  map[Ref]int32
	kinks  map[Ref][]kinkSite
	weight float64
}

// A seriesValue is what is known of an instruction: the first one with its value, and
// whether that depends on the variable, and on a tangent.
type seriesValue struct {
	first          Ref
	varies, lagged bool
	met            bool
}

// A seriesKey tells values apart that may be different.
type seriesKey struct {
	op           *Op
	args         [3]Ref
	shape, batch int32
	dtype        tensor.DType
	attr         string
}

// A seriesWant is a node while it is found out what it needs.
type seriesWant struct {
	seriesNode
	needs   []Ref // its arguments
	slopeOf Ref   // the derivative, once it is recorded
	queued  bool
	degree  int // of a polynomial; -1 until it is known
	index   int32
}

// noPolynomial is the degree of what is none.
const noPolynomial = math.MaxInt32

func newSeriesBuilder(t *Tape, x Ref) *seriesBuilder {
	return &seriesBuilder{t: t, x: x, same: map[seriesKey]Ref{}, nodes: map[Ref]*seriesWant{}, argOf: map[Ref]int32{}, kinks: map[Ref][]kinkSite{}}
}

// plan is how the derivative of y of an order comes about; nil where y does not depend on x.
func (b *seriesBuilder) plan(y Ref, order int) *series {
	if y < b.x {
		return nil
	}
	for r := b.x; r <= y; r++ { // in order, so that of needs no deep recursion
		b.of(r)
	}
	y = b.of(y)
	if !b.at(y).varies {
		return nil
	}
	target := b.want(y, order)
	for len(b.work) > 0 {
		w := b.work[len(b.work)-1]
		b.work = b.work[:len(b.work)-1]
		w.queued = false
		b.look(w)
		if b.t.check != nil {
			b.t.check()
		}
	}
	return b.finish(target, order)
}

func (b *seriesBuilder) stop(format string, args ...any) {
	panic(&noSeries{fmt.Sprintf(format, args...)})
}

// at is what is known of r, which is not before x.
func (b *seriesBuilder) at(r Ref) *seriesValue {
	if r < b.x {
		return &seriesValue{first: r, met: true}
	}
	return &b.known[r-b.x]
}

// of is the first instruction that is known to have the value of r.
func (b *seriesBuilder) of(r Ref) Ref {
	t := b.t
	if r < b.x {
		return r
	}
	for len(b.known) < len(t.ins)-int(b.x) {
		b.known = append(b.known, seriesValue{})
	}
	if v := b.known[r-b.x]; v.met {
		return v.first
	}
	v := seriesValue{first: r, met: true}
	in := t.ins[r]
	v.varies = r == b.x || in.Op() == opTangent
	v.lagged = in.Op() == opTangent
	key := seriesKey{op: in.Op(), args: in.args, shape: in.shape, batch: in.batch, dtype: in.dtype}
	for i, a := range t.Args(r) {
		a = b.of(a)
		if i < len(key.args) {
			key.args[i] = a
		}
		x := b.at(a)
		v.varies = v.varies || x.varies && t.passes(in.Op(), i) && in.dtype.IsFloat()
		v.lagged = v.lagged || x.lagged
	}
	b.known[r-b.x] = v
	recast := None
	if v.varies && r != b.x {
		recast = t.recast(r)
	}
	switch {
	case recast != None:
		v.first = b.of(recast)
	case r == b.x || in.n == 0 || in.n > 3:
	default:
		if a := t.Attr(r); in.attr != 0 {
			if a.Value != nil || a.Adj != nil || a.Loop != nil || a.Series != nil || a.Colour != nil || a.Lines != nil || a.Places != nil {
				break
			}
			key.attr = fmt.Sprint(a.Axes, a.Ints, a.Num, a.Text, a.Flag, a.Flag2, a.Upper, a.Axis, a.Shape)
		}
		if old, ok := b.same[key]; ok {
			v.first = old
		} else {
			b.same[key] = r
		}
	}
	b.known[r-b.x] = v
	if v.varies {
		b.watch(r, v.first)
	}
	return v.first
}

// watch notes the kinks of an operation of the program, whose value is that of first.
func (b *seriesBuilder) watch(r, first Ref) {
	t := b.t
	if t.ins[r].flags&flagRecorded == 0 {
		return
	}
	saved, on := t.sites, t.kinksOn
	t.sites, t.kinksOn = nil, true
	t.watchKink(r, None, nil)
	b.kinks[first] = append(b.kinks[first], t.sites...)
	t.sites, t.kinksOn = saved, on
}

// want asks for the coefficients of r up to order.
func (b *seriesBuilder) want(r Ref, order int) *seriesWant {
	w := b.nodes[r]
	if w == nil {
		if len(b.nodes) == mostSeries {
			b.stop("more than %d series", mostSeries)
		}
		w = b.newNode(r)
		b.nodes[r] = w
	}
	if order > w.order {
		w.order = order
		if !w.queued {
			w.queued = true
			b.work = append(b.work, w)
		}
	}
	return w
}

// newNode is what is wanted of r: how its coefficients follow from those of its arguments.
func (b *seriesBuilder) newNode(r Ref) *seriesWant {
	t := b.t
	in := &t.ins[r]
	w := &seriesWant{seriesNode: seriesNode{r: r, slope: -1, order: -1, value: -1, size: t.size(r)}, slopeOf: None, degree: -1}
	v := b.at(r)
	switch {
	case in.batch != 0:
		b.stop("a batch")
	case r == b.x:
		w.rule = ofSource
	case !v.varies:
		w.rule = fixed
		if v.lagged {
			b.stop("a value of a tangent")
		}
	case in.Op() == opLoop || in.Op() == opBlock && t.ins[t.Args(r)[0]].Op() == opLoop:
		b.stop("a loop")
	default:
		w.rule = seriesRuleOf(in.Op())
	}
	if c, ok := in.Op().power(); ok && w.rule == bySlope {
		w.rule, w.power = raised, c
	} else if w.rule == raised {
		y := b.of(t.Args(r)[1])
		if b.at(y).varies || b.at(y).lagged {
			w.rule = bySlope
		}
	}
	return w
}

// value is the place among the arguments of taylor of the value of r on the tape.
func (b *seriesBuilder) value(r Ref) int32 {
	i, ok := b.argOf[r]
	if !ok {
		i = int32(len(b.args))
		b.args = append(b.args, r)
		b.argOf[r] = i
	}
	return i
}

// look asks for what the coefficients of w are made of.
func (b *seriesBuilder) look(w *seriesWant) {
	t := b.t
	r := w.r
	if w.rule == fixed || w.rule == ofSource {
		w.value = b.value(r)
		return
	}
	if w.needs == nil {
		b.prepare(w)
	}
	for _, a := range w.needs {
		k := w.order
		switch w.rule {
		case tangent:
			k++
		case bySlope:
			k = 0
		}
		b.want(a, k)
	}
	if w.order == 0 || w.rule != bySlope {
		return
	}
	if w.slopeOf == None {
		t.pos = t.ins[r].Pos
		w.slopeOf = b.of(b.slope(r))
		if !b.at(r).lagged && t.ins[r].Op().elementwise() {
			b.partials(w)
		}
	}
	b.want(w.slopeOf, w.order-1)
}

// prepare lists the arguments of w, and the values on the tape that its rule looks at.
func (b *seriesBuilder) prepare(w *seriesWant) {
	t := b.t
	r := w.r
	lagged := b.at(r).lagged
	op := t.ins[r].Op()
	args := slices.Clone(t.Args(r))
	w.needs = make([]Ref, 0, len(args))
	for i, a := range args {
		first := b.of(a)
		if op.elementwise() && t.size(first) != 1 && t.size(first) != w.size {
			first = b.of(t.broadcastTo(first, t.Shape(r)))
		}
		w.needs = append(w.needs, first)
		if w.rule == chosen && i == 0 || !lagged && w.rule.looksAtValues() {
			if op.elementwise() && t.size(a) != 1 && t.size(a) != w.size {
				a = t.broadcastTo(a, t.Shape(r))
			}
			w.values = append(w.values, b.value(a))
		}
	}
	if lagged {
		if w.rule.findsKinks() || w.rule == raised {
			b.stop("%s of a tangent", op.Name)
		}
	} else if w.rule.looksAtValues() {
		w.value = b.value(r)
	}
	for _, s := range b.kinks[r] {
		if called, _ := s.called(t); !s.finite(called) || w.rule.findsKinks() { // the coefficients tell
			continue
		}
		hits := s.condition(t, false)
		if t.size(hits) != 1 && t.size(hits) != w.size {
			hits = t.broadcastTo(hits, t.Shape(r))
		}
		if t.size(hits) != 1 && t.size(hits) != w.size {
			b.stop("a kink of another shape")
		}
		w.kinks = append(w.kinks, b.value(hits))
	}
}

// slope appends the derivative of r by the variable, in the shape of r.
func (b *seriesBuilder) slope(r Ref) Ref {
	t := b.t
	op := t.ins[r].Op()
	if op.NoRule || op == opWithGrad {
		b.stop("%s", op.Name)
	}
	args := slices.Clone(t.Args(r))
	varies := make([]bool, len(args))
	for i, a := range args {
		varies[i] = b.at(b.of(a)).varies && t.passes(op, i)
	}
	var d Ref
	switch {
	case op == opPow:
		d = b.powerSlope(r, varies)
	case op.elementwise():
		d = None
		for i, a := range args {
			if !varies[i] {
				continue
			}
			term := t.Apply(opZMul, b.tangent(a), t.partial(r, i))
			if d == None {
				d = term
			} else {
				d = t.Apply(opAdd, d, term)
			}
		}
	default:
		d = b.slopeOfTensor(r, varies)
	}
	return t.full(d, r)
}

// tangent appends the derivative of x by the variable.
func (b *seriesBuilder) tangent(x Ref) Ref {
	t := b.t
	x = b.of(x)
	return t.add(opTangent, t.ins[x].shape, t.ins[x].dtype, 0, x)
}

// powerSlope differentiates x^y = exp(y log x), whose exponent varies: x^y (y' log x + y x'/x).
// Where x is not positive the logarithm has no series.
func (b *seriesBuilder) powerSlope(r Ref, varies []bool) Ref {
	t := b.t
	x, y := t.Args(r)[0], t.Args(r)[1]
	d := t.Apply(opMul, b.tangent(y), t.apply("log", x))
	if varies[0] {
		d = t.Apply(opAdd, d, t.Apply(opMul, y, t.Apply(opDiv, b.tangent(x), x)))
	}
	return t.Apply(opMul, r, d)
}

// slopeOfTensor differentiates an operation on tensors as forward mode does: through the
// transpose of its adjoint. Its arguments are renamed, so that what one of them is made of
// does not lead to another.
func (b *seriesBuilder) slopeOfTensor(r Ref, varies []bool) Ref {
	t := b.t
	if b.weight += float64(len(t.ins)); b.weight > mostSeriesWork/8 {
		b.stop("a long program")
	}
	args := slices.Clone(t.Args(r))
	var srcs, vs []Ref
	for i, a := range args {
		if !varies[i] {
			continue
		}
		args[i] = t.add(opAlias, t.ins[a].shape, t.ins[a].dtype, 0, a)
		srcs, vs = append(srcs, args[i]), append(vs, b.tangent(a))
	}
	in := t.ins[r]
	y := t.add(in.Op(), in.shape, in.dtype, in.attr, args...)
	b.of(y)
	b.known[y-b.x].first = r
	d := t.JVP([]Ref{y}, srcs, vs)[0]
	if d == None {
		b.stop("%s has no derivative here", in.Op().Name)
	}
	return d
}

// partials notes where the values of an operation's partials are.
func (b *seriesBuilder) partials(w *seriesWant) {
	t := b.t
	op := t.ins[w.r].Op()
	for i, a := range slices.Clone(t.Args(w.r)) {
		p := int32(-1)
		if b.at(b.of(a)).varies && t.passes(op, i) && op != opPow {
			d := t.partial(w.r, i)
			if t.size(d) == 1 || t.size(d) == w.size {
				p = b.value(d)
			}
		}
		w.partials = append(w.partials, p)
	}
}

// finish puts the nodes in order.
func (b *seriesBuilder) finish(target *seriesWant, order int) *series {
	s := &series{t: b.t, order: order}
	var all []*seriesWant
	for _, w := range b.nodes {
		all = append(all, w)
	}
	slices.SortFunc(all, func(x, y *seriesWant) int { return int(x.r) - int(y.r) })
	for _, w := range b.sorted(all, func(w *seriesWant, visit func(*seriesWant)) {
		for _, a := range w.needs {
			visit(b.nodes[a])
		}
	}) {
		b.measure(w)
	}
	ordered := b.sorted(all, func(w *seriesWant, visit func(*seriesWant)) {
		for _, a := range w.needs {
			if x := b.nodes[a]; x.lag == w.lag || w.rule == tangent {
				visit(x)
			}
		}
		if w.slopeOf != None {
			if x := b.nodes[w.slopeOf]; x.lag > w.lag {
				visit(x)
			}
		}
	})
	for i, w := range ordered {
		w.index = int32(i)
	}
	for _, w := range ordered {
		for _, a := range w.needs {
			w.args = append(w.args, b.nodes[a].index)
		}
		if w.slopeOf != None {
			w.slope = b.nodes[w.slopeOf].index
		}
		s.rounds = max(s.rounds, w.order+w.lag+1)
		s.bytes += 20 * int64(w.order+1) * int64(w.size)
		s.work += w.terms(b)
		s.nodes = append(s.nodes, w.seriesNode)
	}
	if limit := b.t.Limit; s.work > mostSeriesWork || limit > 0 && s.bytes > limit/2 {
		b.stop("what takes %.2g products and %s", s.work, Bytes(float64(s.bytes)))
	}
	s.source, s.target = b.nodes[b.x].index, target.index
	return s
}

// measure finds the degree and the lag of w, given those of its arguments. A polynomial has
// no coefficients after its degree.
func (b *seriesBuilder) measure(w *seriesWant) {
	w.degree = noPolynomial
	top := 0
	for i, a := range w.needs {
		x := b.nodes[a]
		w.lag = max(w.lag, x.lag)
		if w.rule != chosen || i > 0 {
			top = max(top, x.degree)
		}
	}
	switch w.rule {
	case fixed:
		w.degree = 0
	case ofSource:
		w.degree = 1
	case linear, added, subtracted, chosen:
		w.degree = top
	case multiplied:
		x, y := b.nodes[w.needs[0]].degree, b.nodes[w.needs[1]].degree
		w.degree = min(x+y, noPolynomial)
	case divided:
		if b.nodes[w.needs[1]].degree == 0 {
			w.degree = top
		}
	case tangent:
		w.lag++
		w.degree = top
		if top != noPolynomial {
			w.degree = max(0, top-1)
		}
	}
	if len(w.kinks) > 0 {
		w.degree = noPolynomial
	}
	w.order = min(w.order, w.degree)
}

// terms is how many products the coefficients of w take.
func (w *seriesWant) terms(b *seriesBuilder) float64 {
	n := float64(w.order + 1)
	size := float64(w.size)
	switch w.rule {
	case multiplied, divided, raised:
		least := noPolynomial
		for _, a := range w.needs {
			if x := b.nodes[a]; w.rule == multiplied || a == w.needs[len(w.needs)-1] || w.rule == raised && x.rule != fixed {
				least = min(least, x.order)
			}
		}
		if op := b.t.ins[w.r].Op(); op == opMatmul || op == opZMatmul {
			size = opMatmul.Flops(b.t, w.r) / 2
		}
		return size * n * float64(min(least, w.order)+1)
	}
	return size * n
}

// sorted lists nodes after those that each one names.
func (b *seriesBuilder) sorted(all []*seriesWant, names func(w *seriesWant, visit func(*seriesWant))) []*seriesWant {
	type state uint8
	const begun, done state = 1, 2
	seen := make(map[*seriesWant]state, len(all))
	out := make([]*seriesWant, 0, len(all))
	var stack []*seriesWant
	for _, w := range all {
		stack = append(stack, w)
		for len(stack) > 0 {
			top := stack[len(stack)-1]
			switch seen[top] {
			case done:
				stack = stack[:len(stack)-1]
			case begun:
				seen[top] = done
				out = append(out, top)
				stack = stack[:len(stack)-1]
			default:
				seen[top] = begun
				names(top, func(x *seriesWant) {
					if seen[x] == 0 {
						stack = append(stack, x)
					}
				})
			}
		}
	}
	return out
}
