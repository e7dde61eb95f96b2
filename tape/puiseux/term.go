package puiseux

import "math"

// A Term is a number where nothing has moved, or a series that it shares with all that came
// about as it did: of many equal numbers each operation is done once.
type Term struct {
	v float64
	s *Series
}

// TermOf is the number v.
func TermOf(v float64) Term { return Term{v: v} }

// Is reports whether x is the number v.
func (x Term) Is(v float64) bool { return x.s == nil && math.Float64bits(x.v) == math.Float64bits(v) }

// Series is x by itself.
func (x Term) Series() Series {
	if x.s != nil {
		return *x.s
	}
	return Of(x.v)
}

func shared(s Series) Term {
	if s.Zero() && !s.cut {
		return Term{}
	}
	return Term{s: &s}
}

// Add is x + y.
func (x Term) Add(y Term) Term {
	switch {
	case x.s == nil && y.s == nil:
		return Term{v: x.v + y.v}
	case x.Is(0):
		return y
	case y.Is(0):
		return x
	}
	return shared(x.Series().Add(y.Series()))
}

// Mul is x * y.
func (x Term) Mul(y Term) Term {
	switch {
	case x.s == nil && y.s == nil:
		return Term{v: x.v * y.v}
	case x.Is(1):
		return y
	case y.Is(1):
		return x
	}
	return shared(x.Series().Mul(y.Series()))
}

// Sqrt is the square root of x.
func (x Term) Sqrt() Term {
	if x.s == nil && x.v > 0 {
		return Term{v: math.Sqrt(x.v)}
	}
	return shared(x.Series().Sqrt())
}

// Terms are what operations on terms have come to.
type Terms struct {
	near map[place]Term
	done map[call]Term
}

type place struct{ v, d float64 }

type call struct {
	op   string
	args [3]Term
}

// most is how many operations on series are done before it is too much: some 50 milliseconds.
const most = 1 << 15

// Near is a number that differs from v by d times the distance.
func (t *Terms) Near(v, d float64) Term {
	p := place{v, d}
	x, ok := t.near[p]
	if !ok {
		if t.near == nil {
			t.near = map[place]Term{}
		}
		x = shared(Near(v, d))
		t.near[p] = x
	}
	return x
}

// Apply is f of the series of the arguments of an operation, or what it was before; false: it
// is unknown, or too much.
func (t *Terms) Apply(op string, args [3]Term, f func(x, y, z Series) (Series, bool)) (Term, bool) {
	c := call{op, args}
	if y, ok := t.done[c]; ok {
		return y, true
	}
	if len(t.done) >= most {
		return Term{}, false
	}
	s, ok := f(args[0].Series(), args[1].Series(), args[2].Series())
	if !ok {
		return Term{}, false
	}
	if t.done == nil {
		t.done = map[call]Term{}
	}
	y := shared(s)
	t.done[c] = y
	return y, true
}
