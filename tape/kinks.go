package tape

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A kinkSite is an instruction of the program whose derivative was taken and may
// stand at a point without one. What was not taken (a cotangent of 0) is no site.
type kinkSite struct {
	r, ct Ref   // ct None: unknown, as in forward mode
	of    []Ref // the values whose derivatives are taken; nil: unknown
	kink  int   // index into the row's Kinks; -1 for the row's Tie
	hits  Ref   // where the condition holds
	count Ref   // in how many places
	meets Ref   // where it does, taken or not: what recordSingular appends
	met   Ref   // in how many places

	body *bodyCall // what was called where r is the value of a Body, or nil
	loop *loopSite // the site is in the body of loop r
}

// A bodyCall is a call of an operation with a Body, which as a whole has kinks that the
// operations in it do not tell of.
type bodyCall struct {
	op   *Op
	args []Ref
}

// watchBody notes that r is the value of a call of op.
func (t *Tape) watchBody(r Ref, op *Op, args []Ref) {
	if t.inner > 0 || !t.Active(r) || len(t.bodies) >= 4096 {
		return
	}
	if t.bodies == nil {
		t.bodies = map[Ref]*bodyCall{}
	}
	t.bodies[r] = &bodyCall{op, args}
}

// called is the operation on tape t that the site is of, and its arguments.
func (s *kinkSite) called(t *Tape) (*Op, []Ref) {
	if s.body != nil {
		return s.body.op, s.body.args
	}
	return t.ins[s.r].Op(), t.Args(s.r)
}

// condition appends where the site is at its kink; taken says whether only what was
// taken counts.
func (s *kinkSite) condition(t *Tape, taken bool) Ref {
	op, args := s.called(t)
	var hits Ref
	if s.kink >= 0 {
		hits = op.kinkRule(s.kink).of(t, slices.Clone(args), s.r)
	} else {
		hits = op.Tie(t, s.r)
	}
	if m := t.maskOf(s.r); m != None {
		hits = t.apply("logical_and", hits, m)
	}
	if taken {
		hits = s.askedFor(t, hits, s.ct)
	}
	return hits
}

// askedFor are hits where the cotangent ct is not 0: at numbers, or, of vectors, at columns, or anywhere in a matrix.
func (s *kinkSite) askedFor(t *Tape, hits, ct Ref) Ref {
	asked := t.apply("not_equal", ct, t.Const(0))
	if missing := len(t.Shape(s.r)) - len(t.Shape(hits)); s.kink < 0 && missing > 0 && len(t.Shape(ct)) > 0 {
		asked = t.sumTo(t.asNumber(t.full(asked, s.r)), []int{-2, -1}[:missing], false)
	}
	return t.apply("logical_and", hits, asked)
}

// told reports whether the cotangent tells where the derivative was taken. One that is unknown does
// not, nor one along an axis of its own: rows of a Jacobian may run apart.
func (s *kinkSite) told(t *Tape) bool {
	return s.ct != None && !slices.ContainsFunc(t.Axes(s.ct), func(a int32) bool { return !slices.Contains(t.Axes(s.r), a) })
}

// asks reports whether the site was hit and whether it was taken is still to be asked.
func (s *kinkSite) asks(t *Tape) bool { return s.hit(t) && s.loop == nil && s.of != nil && !s.told(t) }

// hit reports whether the site was met.
func (s *kinkSite) hit(t *Tape) bool { return s.count != 0 && t.known(s.count) && t.num[s.count] > 0 }

// taken asks whether one of the values depends on the site where it was hit: a cotangent tells that
// comes from all of their numbers, each with a weight of its own so that none cancel. That of a
// derivative may be 0 because the slope that was taken at the kink is: there, only one that is 0 by
// itself tells.
func (s *kinkSite) taken(t *Tape) bool {
	ct := s.weighted(t)
	if ct == None {
		return false
	}
	if slices.ContainsFunc(s.of, func(y Ref) bool { return y != None && t.ins[y].flags&flagRecorded == 0 }) {
		u := takenRun{t: t}
		return u.hit(s.hits, s.perHit(t, u.of(t.full(ct, s.r))))
	}
	s.hits = s.askedFor(t, s.hits, ct)
	s.count = t.hitCount(s.hits)
	t.Values([]Ref{s.count})
	return s.hit(t)
}

// perHit are marks of the numbers of the site, together for each place that hits have: those of a column, or a matrix.
func (s *kinkSite) perHit(t *Tape, marks []bool) []bool {
	shape := t.Shape(s.r)
	missing := len(shape) - len(t.Shape(s.hits))
	if s.kink >= 0 || missing < 1 || missing > 2 || len(marks) != t.size(s.r) {
		return marks
	}
	columns := 1
	if missing == 1 {
		columns = last(shape)
	}
	size := last(shape) * shape[len(shape)-2]
	out := make([]bool, len(marks)/max(size, 1)*columns)
	for i, m := range marks {
		if k := i/size*columns + i%columns; m {
			out[k] = true
		}
	}
	return out
}

// weighted is the cotangent at the site that comes from all numbers of the values, each with a weight of
// its own.
func (s *kinkSite) weighted(t *Tape) Ref {
	cts := make([]Ref, len(s.of))
	for i, y := range s.of {
		if cts[i] = None; y != None && t.ins[y].dtype.IsFloat() {
			w := tensor.New(t.Shape(y)...)
			for k := range w.Data {
				_, f := math.Modf(float64(i+k+1) * math.Phi)
				w.Data[k] = 1 + f
			}
			cts[i] = t.cast(t.Tensor(w), t.ins[y].dtype)
		}
	}
	return t.VJP(s.of, cts, []Ref{s.r})[0]
}

// finite reports whether the derivative taken at the kink is finite, so that nothing
// else tells.
func (s *kinkSite) finite(op *Op) bool { return s.kink < 0 || op.Kinks[s.kink].Finite }

// hitCount appends in how many places hits hold.
func (t *Tape) hitCount(hits Ref) Ref {
	n := t.cast(hits, tensor.Float64)
	if shape := t.Shape(n); len(shape) > 0 {
		n = t.sumTo(n, allAxes(shape), false)
	}
	for _, a := range t.Axes(n) {
		n = t.sumBatch(n, int(a))
	}
	return n
}

// watchKink notes that the derivative of r was asked for, on the way back from of.
func (t *Tape) watchKink(r, ct Ref, of []Ref) {
	in := &t.ins[r]
	op := in.Op()
	if !t.kinksOn || in.flags&flagRecorded == 0 && op != opLastKnown || len(t.sites) >= 4096 {
		return
	}
	if b := t.bodies[r]; b != nil {
		for i := range b.op.Kinks {
			if t.mayKink(b.op, i, b.args) {
				t.sites = append(t.sites, kinkSite{r: r, ct: ct, of: of, kink: i, body: b})
			}
		}
	}
	if t.sites == nil && len(op.Kinks) > 0 {
		t.sites = make([]kinkSite, 0, 8)
	}
	for i := range op.Kinks {
		if t.mayKink(op, i, t.Args(r)) {
			t.sites = append(t.sites, kinkSite{r: r, ct: ct, of: of, kink: i})
		}
	}
	if op.Tie != nil {
		t.sites = append(t.sites, kinkSite{r: r, ct: ct, of: of, kink: -1})
	}
}

// mayKink reports whether kink i of an operation is one with these arguments.
func (t *Tape) mayKink(op *Op, i int, args []Ref) bool {
	switch {
	case i < len(op.Kinks)-1:
		return true
	case op.Joint:
		return t.ofOne(args[0], args[1])
	}
	return op.LastBy == 0 || t.Active(args[op.LastBy-1])
}

// ofOne reports whether x and y are made, number by number, of one value that derivatives may be taken by:
// functions of one variable, where both move together. It looks at so many instructions.
func (t *Tape) ofOne(x, y Ref) bool {
	const most = 1 << 10
	roots := func(x Ref) map[Ref]bool {
		seen := map[Ref]bool{}
		for list := []Ref{x}; len(list) > 0 && len(seen) < most; {
			r := list[len(list)-1]
			list = list[:len(list)-1]
			if seen[r] || !t.Active(r) {
				continue
			}
			seen[r] = true
			if t.ins[r].Op().elementwise() {
				list = append(list, t.Args(r)...)
			}
		}
		return seen
	}
	of := roots(x)
	for r := range roots(y) {
		if of[r] {
			return true
		}
	}
	return false
}

// recordKinks appends the conditions of the sites; those whose derivative is finite
// must be looked at always, the others only when something is not finite.
func (t *Tape) recordKinks(finiteOnly bool) []Ref {
	t.kinksOn = false
	var out []Ref
	for i := range t.sites {
		s := &t.sites[i]
		if s.count != 0 || s.finite(t.opAt(s)) != finiteOnly {
			continue
		}
		if s.loop != nil {
			s.count = s.loop.count(t, s)
		} else {
			s.hits = s.condition(t, s.told(t))
			s.count = t.hitCount(s.hits)
		}
		out = append(out, s.count)
	}
	return out
}

// opAt is the operation at a site.
func (t *Tape) opAt(s *kinkSite) *Op {
	op, _ := s.calledIn(t)
	return op
}

// calledIn is what the site is of, on tape t or in a loop of it.
func (s *kinkSite) calledIn(t *Tape) (*Op, []Ref) {
	if s.loop != nil {
		return s.loop.called(s.loop.pass.tape())
	}
	return s.called(t)
}

// allAxes are all axes of a shape, from the right.
func allAxes(s tensor.Shape) []int {
	var axes []int
	for i := range s {
		axes = append(axes, i-len(s))
	}
	return axes
}

// leastPlanned is how many numbers a plan is made for, to find the first that stands at a kink: operations one at a time take
// new memory for each, ten times as long for a million numbers. From some 30 on a plan takes less also where it is used once.
const leastPlanned = 1 << 5

// kinkWarnings turns the sites that were hit into warnings, one for each place in the
// program and kind of kink. Where derivatives are settled, what is continuous has none.
func (lo *lowering) kinkWarnings(settled bool) []Warning {
	t := lo.t
	var out []Warning
	type place struct {
		name, say string
		pos       expr.Pos
		op        *Op // of clip there are two
	}
	seen := map[place]bool{}
	for _, s := range t.sites {
		if !s.hit(t) {
			continue
		}
		op, args := s.calledIn(t)
		if settled && s.loop == nil && op.bends() {
			continue
		}
		body, r := s.recorded(t)
		pos := body.ins[r].Pos
		p := place{lo.nameAt(pos, op.said()), s.said(t), pos, op}
		if seen[p] || s.asks(t) && !s.taken(t) {
			continue
		}
		seen[p] = true
		h := s.found(t, args[0])
		w := Warning{Op: p.name, Pos: pos, Index: h.index()}
		w.Msg = p.name
		made := p.name != op.said() && body.ins[args[0]].Pos == pos && body.ins[args[0]].Op() != opMaximum // by the body of what was called
		if v, ok := h.argument(body.Shape(args[0])); ok && s.kink >= 0 && !made {
			w.Value, w.Known = v, true
			w.Msg += " of " + formatFloat(v)
		}
		if len(w.Index) > 0 {
			w.Msg += " at element " + bracketed(w.Index)
		}
		w.Msg += ": " + p.say
		if h.count > 1 {
			w.Msg += " (" + strconv.FormatFloat(h.count, 'f', 0, 64) + " times)"
		}
		out = append(out, w)
	}
	return out
}

// recorded is what the site is at, and the tape that it is on: in a loop, that of its body.
func (s *kinkSite) recorded(t *Tape) (*Tape, Ref) {
	if s.loop != nil {
		return s.loop.pass.tape(), s.loop.r
	}
	return t, s.r
}

// said is what a warning says of the site.
func (s *kinkSite) said(t *Tape) string {
	op, args := s.calledIn(t)
	if s.kink < 0 {
		return op.TieSay
	}
	body, _ := s.recorded(t)
	switch {
	case t.variant(op) != nil && op.Kinks[s.kink].Finite:
		return "a convention of " + t.Conventions
	case (op == opMaximum || op == opMinimum) && !(body.Active(args[0]) && body.Active(args[1])):
		return "a kink: the least subgradient, 0" // a constant has no share
	}
	return op.Kinks[s.kink].Say
}

// kinkHits are the places of a value in which a kink was met.
type kinkHits struct {
	hits  []float64 // by element of shape, in a batch of every point one behind the other; not 0 where it was met
	shape tensor.Shape
	data  []float64 // the argument that decides
	count float64   // how many
}

// found looks at where the site was hit, by its first argument arg.
func (s *kinkSite) found(t *Tape, arg Ref) kinkHits {
	if s.loop != nil {
		h := kinkHits{}
		h.hits, h.data, h.shape = s.loop.seen(t, s)
		for _, v := range h.hits {
			h.count += v
		}
		return h
	}
	if t.size(s.hits) < leastPlanned {
		t.force(s.hits)
		t.force(arg)
	} else {
		t.looks(s.hits, arg)
	}
	return kinkHits{t.data(s.hits), t.Shape(s.hits), t.data(arg), t.num[s.count]}
}

// first is the place of the first hit among all of them, and among those of its point, which have
// the shape.
func (h *kinkHits) first() (all, at int) {
	all = max(0, slices.IndexFunc(h.hits, func(v float64) bool { return v != 0 }))
	return all, all % max(1, h.shape.Size())
}

// index is the place of the first hit in the shape.
func (h *kinkHits) index() (index []int) {
	if h.shape.Size() == 0 {
		return nil
	}
	_, at := h.first()
	for i, n := range h.shape {
		index = append(index, at/h.shape[i+1:].Size()%n)
	}
	return index
}

// argument is what the argument, of shape s, is at the first hit, where its own places tell.
func (h *kinkHits) argument(s tensor.Shape) (v float64, ok bool) {
	all, at := h.first()
	switch {
	case len(h.data) == 1 || len(h.data) > 0 && all == 0:
		return h.data[0], true
	case s.Equal(h.shape) && len(h.data) == len(h.hits):
		return h.data[all], true
	case s.Equal(h.shape) && len(h.data) == h.shape.Size(): // the same for every point
		return h.data[at], true
	}
	return 0, false
}

// bracketed writes an index: [0, 2].
func bracketed(index []int) string {
	parts := make([]string, len(index))
	for i, k := range index {
		parts[i] = itoa(k)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
