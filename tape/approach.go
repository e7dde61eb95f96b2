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
//
// The same is looked at where the slope of something that bends was taken, for a convention, though
// nothing bends in the whole: max(x, 0) + min(x, 0) has the slope 1 on both sides of 0.

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
		finite := s.finite(t.opAt(s))
		if finite && (order < 2 || !t.opAt(s).bends() || t.size(s.r) > mostNumbers) {
			continue
		}
		if len(t.ins) > mostUnbounded || s.loop != nil || seen[p] {
			continue
		}
		seen[p] = true
		if s.meets = s.condition(t, false); t.never(s.meets) {
			continue
		}
		s.met = t.hitCount(s.meets)
		counts = append(counts, s.met)
	}
	return counts
}

// bends reports whether op is continuous and has kinks, which what is made of it need not have.
func (op *Op) bends() bool {
	return op == opAbs || op == opMaximum || op == opMinimum || op == opHypot || op == opNorm || op.Joins
}

// approach takes the limits of derivatives where slopes are infinite on the way. A warning
// names the operation where there is none, or only something that is not.
func (s *session) approach() (w Warning, doubtful bool) {
	t := s.t
	log, stats := t.log, t.Stats
	t.log = nil // what is looked at here decides nothing that is recorded
	defer func() { t.log, t.Stats = log, stats }()
	s.settled = false
	at := s.met(false)
	if (s.vast || s.q.Op == "eval" && len(s.slopes) == 0) && at >= 0 && s.finite(s.wanted) { // elsewhere a vertical tangent is told
		return s.unlimited(at, unseen), true
	}
	exact := s.finite(s.slopes) // known without a look, as a rule
	none := !exact && slices.ContainsFunc(s.slopes, s.outside)
	high := s.q.Order >= seriesFrom && s.nested && s.noSeries != ""
	if len(s.slopes) == 0 || s.q.Op == "eval" && len(s.lo.derived) == 0 || at < 0 && !none && !high && s.met(true) < 0 && !s.bent() || s.unknown() { // which is told
		return w, false
	}
	m := s.mover()
	m.together = at < 0 && exact && !high && s.order() == 1
	if at < 0 || high || !exact { // so are kinks, and infinite slopes, unless they are none
		say, known := s.takeTerms(m)
		s.settle(say, known)
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
	s.settle(say, known)
	if !known {
		say = s.takeNear(m)
	}
	if say == "" {
		return w, false
	}
	return s.unlimited(at, say), true
}

// unlimited is the warning of an infinite slope, at a site, of which the limit is not what was taken.
func (s *session) unlimited(at int, say string) Warning {
	x := &s.t.sites[at]
	w := Warning{Op: s.lo.nameAt(s.t.ins[x.r].Pos, s.t.opAt(x).Name), Pos: s.t.ins[x.r].Pos}
	w.Msg = w.Op + ": an infinite slope meets a factor 0: " + say
	return w
}

// unknown reports whether a value is NaN, or an input no number.
func (s *session) unknown() bool {
	return slices.ContainsFunc(s.exposed, func(r Ref) bool {
		return s.outside(r) || s.t.ins[r].Op() == opInput && !finiteNumbers(s.data(r))
	})
}

// settle notes whether derivatives are the limits of those from all sides: then what bends on the
// way is no kink of the targets, as in max(x, 0) + min(x, 0) and, of second order, in norm(x)^4.
func (s *session) settle(say string, known bool) {
	s.settled = known && say == "" && s.order() <= 2 && s.finite(s.slopes)
}

// bent reports whether a first derivative of few numbers was taken where something bends, which what
// is made of it need not do: max(x, 0) + min(x, 0) is x. A hundred numbers take a tenth of a millisecond.
func (s *session) bent() bool {
	t := s.t
	if s.order() != 1 || s.many || t.DType != tensor.Float64 || t.Conventions != "" || !slices.ContainsFunc(t.sites, func(x kinkSite) bool {
		return x.loop == nil && x.count != 0 && t.num[x.count] > 0 && t.opAt(&x).bends()
	}) {
		return false
	}
	size := 0
	for r := range t.ins {
		size += t.size(Ref(r))
	}
	return size <= mostBent
}

// mostBent is how many numbers are computed on all sides of a kink.
const mostBent = 1 << 8

// met is the first site where a slope is infinite, or one that is finite, or -1.
func (s *session) met(finite bool) int {
	taken := takenRun{t: s.t}
	return slices.IndexFunc(s.t.sites, func(x kinkSite) bool {
		return x.met != 0 && s.t.num[x.met] > 0 && x.finite(s.t.opAt(&x)) == finite && taken.at(&x)
	})
}

// reached reports whether something comes back from the values to one of the sites where a slope is infinite,
// other than zeros by themselves: forward, what is not taken shows at the end.
func (s *session) reached() bool {
	t := s.t
	if s.q.Op != "jvp" {
		return true
	}
	taken := takenRun{t: t}
	return slices.ContainsFunc(t.sites, func(x kinkSite) bool {
		if x.met == 0 || !(t.num[x.met] > 0) || x.finite(t.opAt(&x)) || !taken.at(&x) {
			return false
		}
		ct := x.weighted(t)
		return ct != None && taken.hit(x.meets, taken.of(t.full(ct, x.r)))
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
	unseen   = "0 is taken, and not known to be the limit"
)

// near computes the slopes at some distances on each side; nil where that cannot be told.
func (s *session) near(m *mover, distances []int64, only bool) (sides [][][][]unbounded.Number) {
	rows := s.unfactored()
	m.summand = math.MinInt32
	for m.side = range m.sides {
		var at [][][]unbounded.Number
		for _, d := range distances {
			m.distance, m.only = d, only
			slopes, _ := s.t.unbounded(rows, m, mostUnbounded)
			if slopes == nil {
				return nil
			}
			at = append(at, slopes)
		}
		sides = append(sides, at)
	}
	return sides
}

// takeNear takes limits from what is nearby, as far as that tells.
func (s *session) takeNear(m *mover) (say string) {
	limits, looked := false, false
	if m.zeros {
		say, limits = s.takeLimits(m)
	}
	if say == "" && (m.others || !limits) {
		var stray bool
		if stray, looked = s.strays(m); stray {
			return noLimit
		}
	}
	if say == "" && !limits && !looked {
		return unseen
	}
	return say
}

// takeLimits puts limits in place of slopes that are not, and says what else there is; false: it
// cannot look.
func (s *session) takeLimits(m *mover) (say string, looked bool) {
	sides := s.near(m, fromZero, true)
	if sides == nil {
		return "", false
	}
	var slow [][][][]unbounded.Number
	unknown := false
	say = s.takeAll(m, len(sides), func(side, i, k int) (v float64, inside bool) {
		a, b := sides[side][0][i][k], sides[side][1][i][k]
		if v = limitOf(a, b); v != v && a.Finite() && b.Finite() {
			if slow == nil {
				slow = s.near(m, muchCloser, true)
			}
			if slow != nil {
				v = slowLimitOf(a, slow[side][0][i][k], slow[side][1][i][k])
			}
			if math.IsInf(v, 0) && m.sides > 2 { // it may be of the line that several numbers move on
				v = math.NaN()
			}
		}
		inside = a.M == a.M || b.M == b.M
		unknown = unknown || inside && v != v
		return v, inside
	})
	if say == noLimit && unknown {
		say = unseen
	}
	return say, true
}

// slowLimitOf is the limit of what is a close to a point, b and c so much closer that logarithms of the
// distance and their powers have come to theirs; NaN where that does not tell.
func slowLimitOf(a, b, c unbounded.Number) float64 {
	const much = 8 // bits, by which square roots of logarithms change
	switch {
	case !b.Finite() || !c.Finite() || a.M == 0 || b.M == 0:
		return math.NaN()
	case c.M == 0 || a.E-b.E > much && b.E-c.E > much:
		return 0
	case b.E-a.E > much && c.E-b.E > much:
		return math.Copysign(math.Inf(1), c.M)
	}
	x, y, z := a.Float(), b.Float(), c.Float()
	if last := math.Abs(z - y); !(last*last <= 0x1p-42*math.Abs(z)*math.Abs(y-x)) {
		return math.NaN()
	}
	return neat(z)
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
	order := s.lowOrder()
	smooth := s.smooth(m, order-1) // what is continuous has the limits of slopes for slopes
	kink := !smooth && order > 1
	wants := s.limits(m)
	sides := s.sidesOf(s.unfactored(), m, wants)
	if sides == nil {
		return "", false
	}
	known = true
	say = s.takeAll(m, len(sides), func(side, i, k int) (v float64, inside bool) {
		if wants != nil && wants[i] != nil && !wants[i][k] {
			return v, false
		}
		v, ok := sides[side][i][k].Series().Limit()
		known = known && ok
		told := smooth || v-v != 0 || agree(s.data(s.slopes[i])[k], v, 0x1p-36) // which is no news
		if !ok || !told || kink {
			return math.NaN(), true
		}
		return neat(v), v == v
	})
	if !known {
		say = ""
	}
	return say, known
}

// limits marks which numbers of the slopes may be limits; nil: all. What comes to no place that
// matters has none, if it is differentiated by once.
func (s *session) limits(m *mover) (wants [][]bool) {
	if m.stays == nil || s.order() > 1 {
		return nil
	}
	for _, r := range s.slopes {
		var some []bool
		for x := range m.from {
			if s.t.size(x) != s.t.size(r) || s.t.size(r) <= 1 {
				continue
			}
			if some == nil {
				some = make([]bool, s.t.size(r))
			}
			for k := range some {
				some[k] = some[k] || m.moves(x, k)
			}
		}
		wants = append(wants, some)
	}
	return wants
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
	sides := s.sidesOf(s.values(), m, nil)
	if sides == nil {
		return "", false
	}
	known = true
	smooth := s.smooth(m, order)
	x := 0.0
	for r := range m.from {
		x = s.t.data(r)[0]
	}
	say = s.takeAll(m, len(sides), func(side, i, k int) (v float64, inside bool) {
		v, ok := sides[side][i][k].Series().Slope(order)
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
func (s *session) order() int { return max(s.lowOrder(), s.q.Order) }

// lowOrder is order up to 2.
func (s *session) lowOrder() int {
	if s.lo.twice {
		return 2
	}
	return s.q.order()
}

// values are the targets, or what a program whose value is asked for takes derivatives of.
func (s *session) values() (values []Ref) {
	if s.q.Op == "eval" {
		return s.lo.derived
	}
	for _, a := range s.targets {
		values = append(values, refsOf(a.val)...)
	}
	return values
}

// sidesOf are the terms of rs on all sides; nil where there are none.
func (s *session) sidesOf(rs []Ref, m *mover, wants [][]bool) (sides [][][]puiseux.Term) {
	for m.side = range m.sides {
		at := s.t.terms(rs, m, wants)
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
	sides := s.sidesOf(values, m, nil)
	for side := 0; side < len(sides); side += 2 {
		for i := range values {
			for k := range sides[side][i] {
				x, y := sides[side][i][k].Series(), sides[side+1][i][k].Series()
				a, ok := x.Powers(order)
				b, too := y.Powers(order)
				if !ok && !x.Undefined() || !too && !y.Undefined() {
					return false
				}
				for j := 1; j < min(len(a), len(b)); j++ { // across a jump, too
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
// agree: NaN is none. Those of what bends are taken together, or not at all: next to the point, where
// all are equal, the slope of the middle of three numbers by one of them may be 0 on all sides.
func (s *session) takeAll(m *mover, sides int, limit func(side, i, k int) (v float64, inside bool)) (say string) {
	type change struct {
		r Ref
		k int
		v float64
	}
	var changes []change
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
				changes = append(changes, change{r, k, v})
				say = infinite
			case v == v && !agree(was, v, 0x1p-36):
				changes = append(changes, change{r, k, v})
			}
		}
	}
	if m.together && say != "" {
		return noLimit
	}
	for _, c := range changes {
		s.owned(c.r)[c.k] = c.v
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
// leave digits; false, false: it cannot look.
func (s *session) strays(m *mover) (stray, looked bool) {
	sides := s.near(m, fromOthers, false)
	rounding := math.Ldexp(1, int(max(-5000, min(5000, m.summand-44))))
	for _, at := range sides {
		for i, r := range s.slopes {
			for k, was := range s.data(r) {
				far, near := at[0][i][k].Float(), at[1][i][k].Float()
				off := math.Abs(near - was)
				if off > rounding && off > 0x1p-12*max(math.Abs(near), math.Abs(was)) && off > .7*math.Abs(far-was) {
					return true, true
				}
			}
		}
	}
	return false, sides != nil
}
