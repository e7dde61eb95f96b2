package tape

import (
	"math"
	"slices"

	"nabla/tape/puiseux"
	"nabla/tape/tensor"
	"nabla/tape/unbounded"
)

// How far numbers are moved, as powers of 1/2: of what is 0 the square and cube roots are
// exact, and nothing but the limit is left of a sum; what is not 0 keeps half of its digits. Much
// closer, one over the logarithm is as good as 0, but exponentials of logarithms have no digits left.
var (
	fromZero   = []int64{180, 360}
	muchCloser = []int64{180 << 20, 180 << 42}
	fromOthers = []int64{22, 26}
)

// A mover moves the numbers that derivatives are taken by.
type mover struct {
	from  map[Ref]int    // the place of each input's first number among all
	stays map[Ref][]bool // of many numbers, those that come to no place that matters
	terms puiseux.Terms
	sides int

	zeros, others bool // some numbers are 0, some are not

	together bool // limits are taken of all slopes or of none

	side     int
	distance int64 // as a power of 1/2
	only     bool  // what is 0
	summand  int64 // the exponent of the largest number that was added to another
}

// mover is one for the float64 inputs that derivatives may be taken by; they move to four sides, or
// one alone to two.
func (s *session) mover() *mover {
	t := s.t
	m := &mover{from: map[Ref]int{}, sides: 2}
	n := 0
	for r := range t.ins {
		if x := Ref(r); t.ins[r].Op() == opInput && t.Active(x) && t.ins[r].dtype == tensor.Float64 {
			m.from[x] = n
			n += t.size(x)
			m.zeros = m.zeros || slices.Contains(t.data(x), 0)
			m.others = m.others || slices.ContainsFunc(t.data(x), func(v float64) bool { return v != 0 })
		}
	}
	if n > 1 {
		m.sides = 4
	}
	if n > mostExposed {
		m.stays = s.staying()
	}
	return m
}

// staying marks the numbers of inputs that come to no place where a slope is infinite or has a kink,
// as far as operations on one number at a time tell.
func (s *session) staying() (stays map[Ref][]bool) {
	t := s.t
	comes := make([][]bool, len(t.ins)) // what does
	mark := func(r Ref, at func(k int) bool) {
		if comes[r] == nil {
			comes[r] = make([]bool, t.size(r))
		}
		for k := range comes[r] {
			comes[r][k] = comes[r][k] || at(k)
		}
	}
	all := func(int) bool { return true }
	for i := range t.sites {
		x := &t.sites[i]
		if x.met == 0 || !(t.num[x.met] > 0) {
			continue
		}
		t.force(x.meets)
		hits := t.data(x.meets)
		_, args := x.called(t)
		for _, a := range args {
			if t.size(a) == len(hits) && t.spreadOf(a, x.meets) == nil {
				mark(a, func(k int) bool { return hits[k] != 0 })
			} else {
				mark(a, all)
			}
		}
	}
	stays = map[Ref][]bool{}
	for r := Ref(len(t.ins)) - 1; r >= 0; r-- {
		if comes[r] == nil {
			continue
		}
		if t.ins[r].Op() == opInput {
			for k, c := range comes[r] {
				comes[r][k] = !c
			}
			stays[r] = comes[r]
			continue
		}
		own := t.ins[r].Op().elementwise()
		for _, a := range t.Args(r) {
			if own && t.spreadOf(a, r) == nil {
				mark(a, func(k int) bool { return comes[r][k] })
			} else {
				mark(a, all)
			}
		}
	}
	return stays
}

// moves reports whether number k of input r does.
func (m *mover) moves(r Ref, k int) bool {
	if m.stays == nil {
		return true
	}
	s, ok := m.stays[r]
	return ok && !s[k]
}

// moved is number k of an input, which is v. On the first two sides all numbers move the
// same way, on others neighbours move apart, in other proportions; none moves as far as its neighbours.
func (m *mover) moved(r Ref, k int, v float64) unbounded.Number {
	from, ok := m.from[r]
	if !ok || m.only && v != 0 || !m.moves(r, k) {
		return unbounded.Of(v)
	}
	d := m.direction(from + k)
	if v == 0 {
		return unbounded.Number{M: d, E: -m.distance}.Normal()
	}
	return unbounded.Of(v + v*math.Ldexp(d, -int(m.distance)))
}

// direction is how far the number at a place among all moves, by the side. On the last two the
// proportions are others: x^2/(x^2 + y^2) is the same wherever one of both changes its sign.
func (m *mover) direction(at int) float64 {
	eighths := at * 5
	if m.side&2 != 0 {
		eighths += 3
	}
	d := 1 + float64(eighths%8)/8
	if m.side&1 != 0 != (m.side&2 != 0 && at&1 != 0) {
		return -d
	}
	return d
}

// rate is how far it moves on series, by the distance, where it is v.
func (m *mover) rate(at int, v float64) float64 {
	d := m.direction(at)
	if v != 0 {
		d *= math.Abs(v)
	}
	return d
}

// see notes how large the terms of a sum, or of a difference, are, x and y where inputs have
// moved and a and b where they are, and reports whether it has lost more than a limit can do
// without.
func (m *mover) see(sum, x, y unbounded.Number, a, b float64) (lost bool) {
	if x.Special() || y.Special() || x == unbounded.Of(a) && y == unbounded.Of(b) {
		return false
	}
	larger := max(x.E, y.E)
	m.summand = max(m.summand, larger)
	return m.only && (sum.M == 0 || sum.E < larger-10)
}
