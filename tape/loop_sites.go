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
	// again is the loop once more, with what it carries in, but without what it puts out:
	// where nothing has to be taken, it may be no more than its direction.
	again(taken bool) (b *loop, inits []Ref)
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
	b, in := s.pass.again(taken)
	slot, next := s.pass.tape().counter(s.where(taken))
	b.carry, b.next = append(b.carry, slot), append(b.next, next)
	g := t.loop(b, s.pass.fill(b, append(in, t.Const(0))))
	return t.loopPart(g, b.nextAt(len(b.next)-1), nil)
}

// where appends to the body where the site is at its kink.
func (s *loopSite) where(taken bool) Ref {
	body := s.pass.tape()
	body.inner++
	defer func() { body.inner-- }()
	return s.condition(body, taken)
}

// seen is where a pass met the site first: the places, the argument there and their shape.
func (s *loopSite) seen(t *Tape, site *kinkSite) (hits, arg []float64, shape tensor.Shape) {
	body, taken := s.pass.tape(), s.taken(t, site)
	b, in := s.pass.again(taken)
	where := s.where(taken)
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

// again is the loop that runs back once more and puts nothing out, and what it begins with; where
// it does not matter what is taken, it carries no cotangents.
func (x *loopBack) again(taken bool) (b *loop, inits []Ref) {
	b = x.b.bare()
	if !taken {
		b.carry, b.next = nil, nil
		return b, nil
	}
	n := len(x.inits)
	b.carry, b.next = b.carry[:n:n], b.next[:n:n]
	return b, slices.Clone(x.inits)
}

// bare is a copy of a loop that puts nothing out.
func (l *loop) bare() *loop {
	b := *l
	b.outs, b.adds, b.sums = nil, nil, nil
	b.carry, b.next = slices.Clone(b.carry), slices.Clone(b.next)
	return &b
}
