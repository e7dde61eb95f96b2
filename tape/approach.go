package tape

import (
	"fmt"
	"math"
	"slices"

	"nabla/tape/puiseux"
	"nabla/tape/tensor"
	"nabla/tape/unbounded"
)

// Where an operation has an infinite slope and what comes back to it is 0, the rules take
// 0: cbrt(x)^3 at 0 is 3·0²·∞. What is near there tells whether that is the derivative. It is
// the limit of what the rules come to on power series in a root of the distance, if all sides
// have the same; of one number by another it is a coefficient of the number's own series, to
// any order. Where there is no such series, inputs that are 0 are moved by numbers so small that
// what they are added to does not change, which numbers without bounds still multiply and
// divide. Inputs that are not 0 can be moved by no less than some ulps: that shows that 0 is
// no limit, but not what the limit is.

// recordSingular appends in how many places the slopes of operations of the program are
// infinite, or none, whether they are taken or not; and, for second derivatives, where
// an absolute value, a norm or an extreme has its kink: cos(abs(x)), cosh(norm(x)) and relu(x^2)
// have none.
func (t *Tape) recordSingular(order int) (counts []Ref) {
	type place struct {
		r    Ref
		kink int
		body *bodyCall
	}
	seen := map[place]bool{}
	for i := range t.sites {
		s := &t.sites[i]
		p := place{s.r, s.kink, s.body}
		if op := t.opAt(s); s.finite(op) && (order < 2 || op != opAbs && op != opMaximum && op != opMinimum && op != opHypot && op != opNorm) {
			continue
		}
		if len(t.ins) > mostUnbounded || s.loop != nil || t.size(s.r) > mostExposed || seen[p] {
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
	at := s.met(false)
	exact := s.finite(s.slopes) // known without a look, as a rule
	none := !exact && slices.ContainsFunc(s.slopes, s.outside)
	high := s.q.Order >= seriesFrom && s.nested && s.noSeries != ""
	if len(s.slopes) == 0 || at < 0 && !none && !high && s.met(true) < 0 || !s.finite(s.exposed) { // which is told
		return w, false
	}
	m := s.mover()
	if at < 0 || high || !exact { // so are kinks, and infinite slopes, unless they are none
		say, _ := s.takeTerms(m)
		told := at >= 0 && !s.finite(s.slopes) || slices.ContainsFunc(s.counts, func(n Ref) bool { return t.num[n] > 0 })
		switch {
		case say == "" || told || say == noLimit && none:
			return w, false
		case say == noLimit:
			say = notOne
		}
		in := &t.ins[s.values()[0]]
		w = Warning{Op: s.lo.nameAt(in.Pos, in.Op().Name), Pos: in.Pos}
		w.Msg = fmt.Sprintf("%s: the derivative of order %d: %s", w.Op, s.order(), say)
		return w, true
	}
	say, known := s.takeTerms(m)
	if !known && m.zeros {
		say = s.takeLimits(m)
	}
	if !known && say == "" && s.strays(m) {
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

// met is the first site where a slope is infinite, or one that is finite, or -1.
func (s *session) met(finite bool) int {
	t := s.t
	return slices.IndexFunc(t.sites, func(x kinkSite) bool {
		return x.met != 0 && t.num[x.met] > 0 && x.finite(t.opAt(&x)) == finite
	})
}

// order is how often the targets are differentiated, up to 2.
func (q *Question) order() int {
	if q.Op == "hessian" || q.Op == "hvp" || q.Order == 2 {
		return 2
	}
	return 1
}

const (
	noLimit  = "0 is taken, which is not the limit from every side"
	notOne   = "it is not the same from every side"
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
	d := m.direction(from + k)
	if v == 0 {
		return unbounded.Number{M: d, E: int64(-m.distance)}.Normal()
	}
	return unbounded.Of(v + v*math.Ldexp(d, -m.distance))
}

// direction is how far the number at a place among all moves, by the side.
func (m *mover) direction(at int) float64 {
	d := 1 + float64(at*5%8)/8
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

// near computes the slopes at two distances on each side; nil where that cannot be told.
func (s *session) near(m *mover, distances [2]int, only bool) (sides [][2][][]unbounded.Number) {
	rows := s.unfactored()
	m.summand = math.MinInt32
	for m.side = range m.sides {
		var at [2][][]unbounded.Number
		for i, d := range distances {
			m.distance, m.only = d, only
			if at[i] = s.t.unbounded(rows, m, mostUnbounded); at[i] == nil {
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
	return s.takeAll(len(sides), func(side, i, k int) (v float64, inside bool) {
		a, b := sides[side][0][i][k], sides[side][1][i][k]
		return limitOf(a, b), a.M == a.M || b.M == b.M
	})
}

// takeTerms does the same by the first terms of series, if all of them are known. A finite
// limit is one of differences only where the targets are smooth, and an infinite one where
// no slope jumps: norm(x) has no curvature at 0.
func (s *session) takeTerms(m *mover) (say string, known bool) {
	if s.alone(m) {
		return s.takePowers(m)
	}
	if s.q.Order >= seriesFrom {
		return "", false
	}
	order := s.q.order()
	smooth := s.smooth(m, order)
	kink := !smooth && order > 1 && !s.smooth(m, order-1)
	sides := s.sidesOf(s.unfactored(), m)
	if sides == nil {
		return "", false
	}
	known = true
	say = s.takeAll(len(sides), func(side, i, k int) (v float64, inside bool) {
		v, ok := sides[side][i][k].Limit()
		known = known && ok
		if !ok || !smooth && v-v == 0 || kink {
			return math.NaN(), true
		}
		return neat(v), v == v
	})
	if !known {
		say = ""
	}
	return say, known
}

// alone reports whether derivatives of one number by the only number that moves are asked for.
func (s *session) alone(m *mover) bool {
	one := func(rs []Ref) bool { return len(rs) == 1 && s.t.size(rs[0]) == 1 }
	return m.sides == 2 && len(m.from) == 1 && one(s.slopes) && len(s.lo.wrt) == 0 && s.q.With == nil && one(s.values()) &&
		slices.Contains([]string{"grad", "hessian", "jacobian"}, s.q.Op)
}

// takePowers takes the derivative of one number by another from the series of the number itself.
func (s *session) takePowers(m *mover) (say string, known bool) {
	order := s.order()
	sides := s.sidesOf(s.values(), m)
	if sides == nil {
		return "", false
	}
	known = true
	smooth := s.smooth(m, order)
	x := 0.0
	for r := range m.from {
		x = s.t.data(r)[0]
	}
	say = s.takeAll(len(sides), func(side, i, k int) (v float64, inside bool) {
		v, ok := sides[side][i][k].Slope(order)
		known = known && ok
		if !ok || !smooth && v-v == 0 {
			return math.NaN(), true
		}
		m.side = side
		for range order {
			v /= m.rate(0, x)
		}
		return neat(v), v == v
	})
	if !known {
		say = ""
	}
	return say, known
}

// order is how often the targets are differentiated.
func (s *session) order() int { return max(s.q.order(), s.q.Order) }

// values are the targets.
func (s *session) values() (values []Ref) {
	for _, a := range s.targets {
		values = append(values, refsOf(a.val)...)
	}
	return values
}

// sidesOf are the terms of rs on all sides; nil where there are none.
func (s *session) sidesOf(rs []Ref, m *mover) (sides [][][]puiseux.Series) {
	for m.side = range m.sides {
		at := s.t.terms(rs, m)
		if at == nil {
			return nil
		}
		sides = append(sides, at)
	}
	return sides
}

// smooth reports whether the targets are, along the lines that m moves inputs on, as often
// as they are differentiated: what they are on one side of the point goes on on the other.
func (s *session) smooth(m *mover, order int) bool {
	values := s.values()
	sides := s.sidesOf(values, m)
	for side := 0; side < len(sides); side += 2 {
		for i := range values {
			for k, x := range sides[side][i] {
				y := sides[side+1][i][k]
				a, ok := x.Powers(order)
				b, too := y.Powers(order)
				if !ok && !x.Undefined() || !too && !y.Undefined() {
					return false
				}
				for j := range min(len(a), len(b)) {
					if j%2 == 1 {
						b[j] = -b[j]
					}
					if !agree(a[j], b[j], 0x1p-36) {
						return false
					}
				}
			}
		}
	}
	return sides != nil
}

// takeAll takes the limits of slope i, number k from each side, where all inside the domain
// agree: NaN is none.
func (s *session) takeAll(sides int, limit func(side, i, k int) (v float64, inside bool)) (say string) {
	for i, r := range s.slopes {
		for k, was := range s.data(r) {
			v := math.NaN()
			same := true
			for side := range sides {
				l, inside := limit(side, i, k)
				if !inside {
					continue
				}
				same = same && l == l && (v != v || agree(l, v, 0x1p-40))
				v = l
			}
			switch {
			case !same:
				say = noLimit
			case math.IsInf(v, 0):
				s.owned(r)[k] = v
				say = infinite
			case v == v && !agree(was, v, 0x1p-36):
				s.owned(r)[k] = v
			}
		}
	}
	return say
}

// terms are what rs are as series in a root of the distance that inputs have moved, in the
// direction that m says; nil where there is no series.
func (t *Tape) terms(rs []Ref, m *mover) [][]puiseux.Series {
	u := &numberRun[puiseux.Series]{t: t, most: mostUnbounded, number: puiseux.Of}
	u.apply = func(op *Op, x [3]puiseux.Series, w [3]float64) (puiseux.Series, bool) {
		if y, ok := puiseux.Apply(op.Name, x[0], x[1], x[2]); ok {
			return y, true
		}
		if x[0].Constant() && x[1].Constant() && x[2].Constant() {
			return puiseux.Of(op.one(w)), true
		}
		return puiseux.Unknown, true // which may be what is not taken
	}
	u.decide = func(op *Op, x [3]puiseux.Series, w [3]float64, own bool) (puiseux.Series, bool) {
		here, ok := puiseux.Logic(op.Name, x[0], x[1])
		if ok {
			return here, true
		}
		if here, ok = puiseux.Compare(op.Name, x[0], x[1]); !ok || w[0] != w[1] {
			return here, false
		}
		if own && (!here.Constant() || here.Zero() != (op.one(w) == 0)) {
			return puiseux.Unknown, true // the branch is that of the value, which others are only next to
		}
		return here, true
	}
	u.place = func(r Ref, k int, v float64) puiseux.Series {
		from, ok := m.from[r]
		if !ok {
			return puiseux.Of(v)
		}
		return puiseux.Near(v, m.rate(from+k, v))
	}
	return u.run(rs)
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
	return neat(x)
}

// neat is x, or the number of few digits that it rounds from: exp(log(x)) rounds by 60 ulp
// at 2^-180.
func neat(x float64) float64 {
	frac, e := math.Frexp(x)
	if few := math.Round(frac*0x1p20) / 0x1p20; math.Abs(few-frac) <= 0x1p-46 {
		return math.Ldexp(few, e)
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
