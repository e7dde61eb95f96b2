package tape

import (
	"math"
	"slices"

	"nabla/tape/tensor"
)

// regain computes derivatives of small programs again, without bounds, where factors on
// the way may have left the range and come back, or not, in another order. What it finds
// stands in the answer where float64 lost it; the tape keeps what float64 gives, and so
// does the value: it is that of the formula as written.
func (s *session) regain() {
	t := s.t
	if s.regained = false; !s.exceeds() && !s.wanders() {
		return
	}
	most := mostUnbounded
	if s.lost() {
		most = mostNumbers
	}
	again, held := t.unbounded(s.unfactored(), nil, most)
	s.regained = again != nil && held
	for i, xs := range again {
		r := s.slopes[i]
		for k, x := range xs {
			near := 0x1p-49
			if len(xs) > 1 {
				near = 0x1p-36 // sums are added in another order
			}
			was, is := t.data(r)[k], x.Float()
			if len(xs) > 1 && !x.Finite() && was-was == 0 {
				continue // a guard of an operation on tensors, which works on float64
			}
			if x.Finite() && math.IsInf(is, 0) {
				near = 0 // to what is too large for float64; an infinity of its own is a pole, of either sign
			}
			if is == is && was != is && !(math.Abs(was-is) <= near*math.Abs(is)) {
				s.owned(r)[k] = is
			}
		}
	}
}

// exceeds reports whether something may have left the range, by what is seen of it. Many numbers are
// not looked at one by one: something has if values or derivatives are not finite.
func (s *session) exceeds() bool {
	if s.many {
		return s.lost() && !s.givenNaN()
	}
	seen := func(rs []Ref, odd func(v float64) bool) bool {
		return slices.ContainsFunc(rs, func(r Ref) bool { return slices.ContainsFunc(s.t.data(r), odd) })
	}
	if seen(s.exposed, extreme) || seen(s.slopes, extreme) {
		return true
	}
	// Among many numbers some are always 0, or between 100 and 1000.
	several := func(r Ref) bool { return s.t.size(r) != 1 }
	return !slices.ContainsFunc(s.exposed, several) && !slices.ContainsFunc(s.slopes, several) &&
		(seen(s.exposed, exponential) || seen(s.slopes, func(v float64) bool { return v == 0 }))
}

// wanders reports whether a number on the way may have met others outside the range: x^12 does
// where neither x nor what is made of it tells. Single numbers are looked at; of those of
// tensors, which are nowhere, what they are made of tells.
func (s *session) wanders() bool {
	if len(s.slopes) == 0 || s.many {
		return false
	}
	unseen := s.x == nil || s.parts
	if s.x != nil {
		num := s.t.num
		for i := range s.x.p.steps {
			p := &s.x.p.steps[i]
			if p.kind != stepNumbers {
				unseen = true
				continue
			}
			for _, r := range p.refs {
				if v := num[r]; math.Float64bits(v)>>52&0x7ff-823 >= 400 && v != 0 { // extreme, in a third of the time
					return true
				}
			}
		}
	}
	return unseen && slices.ContainsFunc(s.exposed, func(r Ref) bool { return slices.ContainsFunc(s.t.data(r), large) })
}

// givenNaN reports whether an input has a NaN: then results are no sign of anything.
func (s *session) givenNaN() bool {
	for r := range s.t.ins {
		if s.t.ins[r].Op() == opInput && s.outside(Ref(r)) {
			return true
		}
	}
	return false
}

// lost reports whether a derivative or a value, or what else is looked at, is not finite.
func (s *session) lost() bool { return !s.finite(s.slopes) || !s.finite(s.exposed) }

// cramped reports whether something may have left the range, or met a limit, in loops that
// regain and approach do not look into, and could if each step were recorded.
func (s *session) cramped() bool {
	if len(s.slopes) == 0 {
		return false
	}
	size, extremes := s.unrolledSize()
	return size > 0 && size+len(s.t.ins) <= mostUnbounded && (extremes || s.doubtful || s.exceeds() || !s.finite(s.slopes))
}

// unrolledSize is how many instructions loops would be if each of their steps were recorded: 0
// without loops, and more than mostUnbounded where there are more. An instruction of a body that
// several loops run is one, since steps back read what steps forth have. Extremes says whether
// there are written numbers in them that may have met others outside the range. Nothing of that
// depends on inputs: it is found again only where more was recorded.
func (s *session) unrolledSize() (size int, extremes bool) {
	if s.bodies.of == len(s.t.ins) {
		return s.bodies.size, s.bodies.extremes
	}
	defer func() { s.bodies.of, s.bodies.size, s.bodies.extremes = len(s.t.ins), size, extremes }()
	ran := map[*Tape][]int{} // steps, by Ref
	for i := range s.t.ins {
		if in := &s.t.ins[i]; in.Op() != opLoop {
			continue
		}
		l := s.t.Attr(Ref(i)).Loop
		steps := ran[l.body]
		if steps == nil {
			steps = make([]int, len(l.body.ins))
		}
		for r, on := range l.body.live(l.wanted()) {
			if !on || l.n <= steps[r] || l.body.ins[r].Op() == opSlot {
				continue
			}
			if v, written := l.body.constant(Ref(r)); written {
				extremes = extremes || v-v == 0 && extreme(v)
				continue
			}
			size, steps[r] = size+l.n-steps[r], l.n
		}
		if ran[l.body] = steps; size > mostUnbounded {
			break
		}
	}
	return size, extremes
}

// unfactored are the derivatives as instructions: matrices that are known as terms are made
// of more.
func (s *session) unfactored() []Ref {
	rows := slices.Clone(s.slopes)
	for i, r := range rows {
		if m, ok := s.plain[r]; ok {
			rows[i] = m
		}
	}
	return rows
}

// numbers lists what regain looks at: derivatives, and the inputs, written numbers and
// values that tell whether something may have left the range. Of many numbers, values tell.
func (s *session) numbers() (slopes, exposed []Ref) {
	t := s.t
	if len(t.ins) > mostUnbounded || t.DType != tensor.Float64 || t.Conventions != "" || !s.derives() {
		return nil, nil
	}
	size := 0
	leaves := func(v value, rs *[]Ref) {
		eachLeaf(v, func(v value) {
			if m, ok := v.(*sparse); ok && m.isWhole() {
				v = m.sums
			}
			if r, ok := v.(Ref); ok && t.known(r) && len(s.taylors) == 0 { // numbers of series have exponents without bounds
				*rs = append(*rs, r)
				size += t.size(r)
			}
		})
	}
	for _, a := range s.targets {
		if s.q.Op == "eval" { // of derivatives that are computed with; what is made of them has limits of its own
			for _, r := range refsOf(a.val) {
				if s.lo.isSlope(r) {
					leaves(r, &slopes)
				}
			}
			for _, y := range s.lo.derived {
				leaves(y, &exposed)
			}
		} else {
			leaves(a.val, &exposed)
		}
		if a.payload != nil {
			leaves(a.payload, &slopes)
		}
	}
	if s.vast = size > mostNumbers; s.vast || len(slopes) == 0 {
		return nil, nil
	}
	values := len(exposed)
	for r := range t.ins {
		switch t.ins[r].Op() {
		case opInput:
			exposed = append(exposed, Ref(r))
			size += t.size(Ref(r))
		case opConst: // what it meets may be seen in no value
			if !t.single(Ref(r)) { // a tangent, say, which is a derivative where the target is an input
				continue
			}
			if v := t.num[r]; v-v == 0 && extreme(v) {
				exposed = append(exposed, Ref(r))
				size++
			}
		}
	}
	if s.many = size > mostExposed; s.many {
		exposed = exposed[:values]
	}
	return slopes, exposed
}

// mostUnbounded is the length of tapes that regain looks at, and how many numbers it
// computes, each in some 65 nanoseconds: a quarter of a millisecond at most. A variable
// for tests.
var mostUnbounded = 1 << 12

const (
	mostExposed = 1 << 8  // inputs, values and derivatives that are looked at one by one
	mostNumbers = 1 << 20 // numbers that are computed where many of these are not finite: 70 milliseconds
)

// extreme reports whether numbers of that size may have met others outside the range.
func extreme(v float64) bool {
	v = math.Abs(v)
	return v != 0 && !(v > 0x1p-200 && v < 0x1p200)
}

// large reports whether powers of v may have, up to the 25th.
func large(v float64) bool {
	v = math.Abs(v)
	return v != 0 && !(v > 0x1p-40 && v < 0x1p40)
}

// exponential reports whether the exponential of v may have.
func exponential(v float64) bool { return math.Abs(v) > 100 && math.Abs(v) < 1000 }
