package tape

import (
	"slices"

	"nabla/expr"
	"nabla/tape/tensor"
)

// Kinks in the body of a loop are met in its steps: by the backward loop, or by the loop
// itself where its body takes derivatives. A carried value more counts how often.

// A loopPass is a loop that meets kinks.
type loopPass interface {
	// tape is the body, and instruction the loop itself.
	tape() *Tape
	instruction() Ref
	met() []kinkSite // in the body
	// again is the loop once more, with what it carries in, but without what it puts out:
	// it carries no more than what the value where of its body depends on, or all it did.
	again(where Ref) (b *loop, inits []Ref)
	// fill gives b what else it reads, and lists all its arguments.
	fill(b *loop, inits []Ref) []Ref
}

// A loopSite is a kink in the body of a loop.
type loopSite struct {
	kinkSite
	pass    loopPass
	counted Ref // how often the loop met it, or None
}

// counter records, in a body, a carried value that counts how often hits hold.
func (t *Tape) counter(hits Ref) (slot, next Ref) {
	slot = t.push(Instr{op: opSlot.id(), dtype: t.DType, Pos: expr.NoPos})
	return slot, t.Apply(opAdd, slot, t.hitCount(hits))
}

// count makes a loop of t carry, for each kink of its body that nothing else tells of, how
// often it is met: in which places it does, or -1, and what these begin with.
func (l *loop) count(t *Tape, sites []kinkSite) (at []int, inits []Ref) {
	at = make([]int, len(sites))
	for i := range sites {
		s := &sites[i]
		if at[i] = -1; s.finite(l.body.opAt(s)) {
			at[i] = len(l.carry)
			slot, next := l.body.counter(s.condition(l.body, s.ct != None))
			l.carry, l.next, inits = append(l.carry, slot), append(l.next, next), append(inits, t.Const(0))
		}
	}
	return at, inits
}

// taken reports whether only where a derivative was taken counts.
func (s *loopSite) taken(t *Tape, site *kinkSite) bool {
	return site.ct != None && len(t.Axes(s.pass.instruction())) == 0
}

// count appends in how many steps, and places, the site is at its kink.
func (s *loopSite) count(t *Tape, site *kinkSite) Ref {
	taken := s.taken(t, site)
	if taken && s.counted != None {
		return s.counted
	}
	if !taken && s.told(t) {
		return t.Const(0)
	}
	where := s.where(taken, site.ct != None)
	b, in := s.pass.again(where)
	slot, next := s.pass.tape().counter(where)
	b.carry, b.next = append(b.carry, slot), append(b.next, next)
	g := t.loop(b, s.pass.fill(b, append(in, t.Const(0))))
	n := t.loopPart(g, b.nextAt(len(b.next)-1), t.DType, nil)
	for _, a := range t.Axes(n) { // rows of cotangents, in each of which it may be met
		n = t.sumBatch(n, int(a))
	}
	return n
}

// told reports whether a sweep without rows went through the site, and its cotangents tell: rows
// of second derivatives are no news of equal eigenvalues.
func (s *loopSite) told(t *Tape) bool {
	op, _ := s.called(s.pass.tape())
	return (op == opEigvals || op == opSingular) && slices.ContainsFunc(t.sites, func(x kinkSite) bool {
		return x.loop != nil && x.loop.r == s.r && x.loop.pass.tape() == s.pass.tape() && len(t.Axes(x.loop.pass.instruction())) == 0
	})
}

// where appends to the body where the site is at its kink. A condition may ask for the cotangents
// of its pass: those of others, which the body has had since, are not in its loop, and forward they are
// unknown.
func (s *loopSite) where(taken, known bool) Ref {
	body := s.pass.tape()
	sites := body.sites
	body.sites = s.pass.met()
	if !known {
		body.sites = slices.Clone(body.sites)
		for i := range body.sites {
			body.sites[i].ct = None
		}
	}
	body.inner++
	defer func() { body.inner--; body.sites = sites }()
	return s.condition(body, taken)
}

// seen is where a pass met the site first: the places, the argument there and their shape.
func (s *loopSite) seen(t *Tape, site *kinkSite) (hits, arg []float64, shape tensor.Shape) {
	body, taken := s.pass.tape(), s.taken(t, site)
	where := s.where(taken, site.ct != None)
	b, in := s.pass.again(where)
	_, of := s.called(body)
	first := of[0]
	body.inner++
	hit, count := body.counter(where)
	found := body.apply("greater", hit, body.Const(0))
	b.carry, b.next, in = append(b.carry, hit), append(b.next, count), append(in, t.Const(0))
	for _, r := range []Ref{where, first} { // what they were when it was met first
		slot := body.push(Instr{op: opSlot.id(), shape: body.ins[r].shape, dtype: body.ins[r].dtype, Pos: expr.NoPos})
		b.carry, b.next = append(b.carry, slot), append(b.next, body.Apply(opWhere, found, slot, r))
		in = append(in, t.broadcastTo(t.Const(0), body.Shape(r)))
	}
	body.inner--
	g := t.loop(b, s.pass.fill(b, in))
	t.force(g)
	n, data := len(b.next), t.data(g)
	return data[b.nextAt(n-2):b.nextAt(n-1)], data[b.nextAt(n-1):b.sumAt(0)], body.Shape(where)
}

func (x *loopBack) tape() *Tape      { return x.l.body }
func (x *loopBack) instruction() Ref { return x.g }
func (x *loopBack) met() []kinkSite  { return x.sites }

// again is the loop that runs back once more and puts nothing out, and what it begins with. It
// carries what where depends on: cotangents, where what is taken matters, or where the value at
// the kink is made of them.
func (x *loopBack) again(where Ref) (b *loop, inits []Ref) {
	b = x.b.bare()
	b.carry, b.next = nil, nil
	wanted, roots := make([]bool, len(x.inits)), []Ref{where}
	for grown := true; grown; {
		grown = false
		live := x.l.body.live(roots)
		for i, c := range x.b.carry[:len(x.inits)] {
			if !wanted[i] && int(c) < len(live) && live[c] {
				wanted[i], grown = true, true
				roots = append(roots, x.b.next[i])
			}
		}
	}
	for i, on := range wanted {
		if on {
			b.carry, b.next, inits = append(b.carry, x.b.carry[i]), append(b.next, x.b.next[i]), append(inits, x.inits[i])
		}
	}
	return b, inits
}

// bare is a copy of a loop that puts nothing out.
func (l *loop) bare() *loop {
	b := *l
	b.outs, b.adds, b.sums = nil, nil, nil
	b.carry, b.next = slices.Clone(b.carry), slices.Clone(b.next)
	return &b
}
