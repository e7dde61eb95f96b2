package tape

import (
	"math"
	"slices"

	"nabla/tape/tensor"
	"nabla/tape/unbounded"
)

// Where an operation has an infinite slope and what comes back to it is 0, the rules take
// 0: cbrt(x)^3 at 0 is 3·0²·∞. What is near there tells whether that is the derivative.
// Where inputs are 0 they are moved by numbers so small that what they are added to
// does not change, which numbers without bounds still multiply and divide; the limit,
// if all sides have the same, is the derivative. Inputs that are not 0 can be moved by
// no less than some ulps: that shows that 0 is no limit, but not what the limit is.

// recordSingular appends in how many places the slopes of operations of the program are
// infinite, or none, whether they are taken or not.
func (t *Tape) recordSingular() (counts []Ref) {
	type place struct {
		r    Ref
		kink int
		body *bodyCall
	}
	seen := map[place]bool{}
	for i := range t.sites {
		s := &t.sites[i]
		p := place{s.r, s.kink, s.body}
		if len(t.ins) > mostUnbounded || s.loop != nil || s.finite(t.opAt(s)) || t.size(s.r) > mostExposed || seen[p] {
			continue
		}
		seen[p] = true
		s.met = t.hitCount(s.condition(t, false))
		counts = append(counts, s.met)
	}
	return counts
}

// How far numbers are moved, as powers of 1/2: of what is 0 the square and cube roots are
// exact, and nothing but the limit is left of a sum; what is not 0 keeps half of its digits.
var (
	fromZero   = [2]int{180, 360}
	fromOthers = [2]int{22, 26}
)

// approach takes the limits of derivatives where slopes are infinite on the way. A warning
// names the operation where there is none, or only something that is not.
func (s *session) approach() (w Warning, doubtful bool) {
	t := s.t
	at := slices.IndexFunc(t.sites, func(x kinkSite) bool { return x.met != 0 && t.num[x.met] > 0 })
	if len(s.slopes) == 0 || at < 0 || !s.finite(s.exposed) || !s.finite(s.slopes) { // which is told
		return w, false
	}
	m := s.mover()
	say := ""
	if m.zeros {
		say = s.takeLimits(m)
	}
	if say == "" && s.strays(m) {
		say = noLimit
	}
	if say == "" {
		return w, false
	}
	x := &t.sites[at]
	w = Warning{Op: s.lo.nameAt(t.ins[x.r].Pos, t.opAt(x).Name), Pos: t.ins[x.r].Pos}
	w.Msg = w.Op + ": an infinite slope meets a factor 0: " + say
	return w, true
}

const (
	noLimit  = "0 is taken, which is not the limit from every side"
	infinite = "a vertical tangent"
)

// A mover moves the numbers that derivatives are taken by.
type mover struct {
	from  map[Ref]int // the place of each input's first number among all
	sides int
	zeros bool // some numbers are 0

	side     int
	distance int   // as a power of 1/2
	only     bool  // what is 0
	summand  int64 // the exponent of the largest number that was added to another
}

func (s *session) mover() *mover {
	t := s.t
	m := &mover{from: map[Ref]int{}, sides: 2}
	n := 0
	for r := range t.ins {
		if x := Ref(r); t.ins[r].Op() == opInput && t.Active(x) && t.ins[r].dtype == tensor.Float64 {
			m.from[x] = n
			n += t.size(x)
			m.zeros = m.zeros || slices.Contains(t.data(x), 0)
		}
	}
	if n > 1 {
		m.sides = 4
	}
	return m
}

// moved is number k of an input, which is v. On the first two sides all numbers move the
// same way, on others neighbours move apart; none moves as far as its neighbours.
func (m *mover) moved(r Ref, k int, v float64) unbounded.Number {
	from, ok := m.from[r]
	if !ok || m.only && v != 0 {
		return unbounded.Of(v)
	}
	at := from + k
	d := 1 + float64(at*5%8)/8
	if m.side&1 != 0 != (m.side&2 != 0 && at&1 != 0) {
		d = -d
	}
	if v == 0 {
		return unbounded.Number{M: d, E: int64(-m.distance)}.Normal()
	}
	return unbounded.Of(v + v*math.Ldexp(d, -m.distance))
}

// near computes the slopes at two distances on each side; nil where that cannot be told.
func (s *session) near(m *mover, distances [2]int, only bool) (sides [][2][][]unbounded.Number) {
	rows := s.unfactored()
	m.summand = math.MinInt32
	for m.side = range m.sides {
		var at [2][][]unbounded.Number
		for i, d := range distances {
			m.distance, m.only = d, only
			if at[i] = s.t.unbounded(rows, m); at[i] == nil {
				return nil
			}
		}
		sides = append(sides, at)
	}
	return sides
}

// takeLimits puts limits in place of slopes that are not, and says what else there is.
func (s *session) takeLimits(m *mover) (say string) {
	sides := s.near(m, fromZero, true)
	if sides == nil {
		return ""
	}
	for i, r := range s.slopes {
		for k, was := range s.data(r) {
			limit := math.NaN()
			same := true
			for _, at := range sides {
				a, b := at[0][i][k], at[1][i][k]
				if a.M != a.M && b.M != b.M {
					continue // outside the domain
				}
				l := limitOf(a, b)
				same = same && l == l && (limit != limit || agree(l, limit, 0x1p-40))
				limit = l
			}
			switch {
			case !same:
				say = noLimit
			case math.IsInf(limit, 0):
				s.owned(r)[k] = limit
				say = infinite
			case limit == limit && !agree(was, limit, 0x1p-36):
				s.owned(r)[k] = limit
			}
		}
	}
	return say
}

// agree reports whether a is b, or as close to it as rel says.
func agree(a, b, rel float64) bool {
	return a == b || !math.IsInf(a, 0) && math.Abs(a-b) <= rel*math.Abs(b)
}

// limitOf is the limit of what is a close to a point and b still closer; NaN where that
// does not tell.
func limitOf(a, b unbounded.Number) float64 {
	switch {
	case !a.Finite() || !b.Finite() || a.M == 0 && b.M != 0:
		return math.NaN()
	case b.M == 0 || a.E-b.E > 40:
		return 0
	case b.E-a.E > 40:
		return math.Copysign(math.Inf(1), b.M)
	}
	x, y := a.Float(), b.Float()
	if !agree(x, y, 0x1p-40) {
		return math.NaN()
	}
	// exp(log(x)) rounds by 60 ulp at 2^-180.
	frac, e := math.Frexp(x)
	if short := math.Round(frac*0x1p20) / 0x1p20; math.Abs(short-frac) <= 0x1p-46 {
		return math.Ldexp(short, e)
	}
	return x
}

// strays reports whether slopes are not what they come close to nearby, as far as differences
// leave digits.
func (s *session) strays(m *mover) bool {
	sides := s.near(m, fromOthers, false)
	rounding := math.Ldexp(1, int(max(-5000, min(5000, m.summand-44))))
	for _, at := range sides {
		for i, r := range s.slopes {
			for k, was := range s.data(r) {
				far, near := at[0][i][k].Float(), at[1][i][k].Float()
				off := math.Abs(near - was)
				if off > rounding && off > 0x1p-12*max(math.Abs(near), math.Abs(was)) && off > .7*math.Abs(far-was) {
					return true
				}
			}
		}
	}
	return false
}
