package tape

import (
	"fmt"
	"math"
	"slices"

	"nabla/tape/double"
	"nabla/tape/tensor"
)

// A derivative of high order is a coefficient of a power series. Where f(x + t) is the sum
// of c_k t^k, the n-th derivative of f at x is n! c_n, and each operation of the program
// takes the series of its arguments to that of its result, coefficient by coefficient, in
// O(n²); differentiating n times makes the program longer by a factor each time
// (A. Griewank and A. Walther, Evaluating Derivatives, chapter 13).
//
// A sum, or any operation that is linear, works on the coefficients one by one; a product
// convolves them; a quotient and a power have a recurrence (series_rules.go). Every other
// operation y = f(x) goes through its derivative: y' = f'(x) x' is a value of the tape, of
// which one coefficient less is needed, so that y_k = y'_{k-1}/k. The tangent x' stands on
// the tape as an instruction, f'(x) x' comes from the row, as text or as the transpose of
// its adjoint, and what it is made of has a series in its turn. Equal values are one, so
// that sin leads to cos and back (series_build.go).
//
// All of it is one instruction, taylor, whose arguments are the values that series begin
// with. It runs in twice the precision, because differences of large coefficients are what
// high derivatives are made of (series_run.go, package double).
//
// At a kink there is no series, nor where a coefficient is not finite: taylor gives NaN
// there, and the question is answered anew by differentiating again and again, which knows
// the conventions and warns of them.

// seriesFrom is the order from which derivatives are taken by series. The first two have the
// bits of hessian and of programs that take them themselves; from the third on series are
// as fast, and more accurate.
const seriesFrom = 3

const (
	mostSeries     = 1 << 15 // values that have a series
	mostSeriesWork = 1 << 31 // products of coefficients: about ten seconds
)

// A series is the plan of an instruction taylor.
type series struct {
	t      *Tape
	nodes  []seriesNode // each after what it needs in the same round
	order  int
	source int32 // the node of the variable
	target int32
	rounds int
	bytes  int64
	work   float64
}

// A seriesNode is a value with a series.
type seriesNode struct {
	r        Ref
	rule     seriesRule
	args     []int32
	slope    int32         // the derivative of the value; none is -1
	order    int           // the last coefficient that is computed; those after it are 0 or not asked for
	lag      int           // coefficient k is computed in round k + lag: a tangent needs one more of its value
	size     int           // how many numbers a coefficient is
	value    int32         // which argument of taylor is its value on the tape; -1
	values   []int32       // and those of its arguments
	partials []int32       // and of its partials by them
	kinks    []int32       // and of conditions under which there is no series
	power    double.Number // of a power with a written exponent
}

var opTaylor, opTangent *Op

var seriesRows = []Op{
	{As: &opTaylor, Name: "taylor", Args: "*x", Hidden: true, Doc: "a derivative of high order, from power series", Stops: "a derivative of high order", Run: runTaylor,
		Flops: func(t *Tape, r Ref) float64 { return t.Attr(r).Series.work },
		Room:  func(t *Tape, r Ref) int64 { return t.Attr(r).Series.bytes }},
	{As: &opTangent, Name: "tangent", Args: "x", Hidden: true, Doc: "the derivative of x by what its power series is in", Stops: "a derivative of high order", Run: runLeaf},
}

// taylor appends the derivative of the number y by the number x of an order, from power
// series, and what part of it moves with rounding; None, and why, where there are none or
// they would take too much.
func (t *Tape) taylor(y, x Ref, order int) (d Ref, why string) {
	if t.Conventions != "" { // which are for points without a derivative, and for what is near them
		return None, "the conventions of " + t.Conventions
	}
	b := newSeriesBuilder(t, x)
	pos := t.pos
	t.inner++
	defer func() {
		t.inner--
		t.pos = pos
		switch p := recover().(type) {
		case nil:
		case *noSeries:
			d, why = None, p.why
		case *Misuse:
			if p.stops() {
				panic(p)
			}
			d, why = None, p.Msg // differentiating again and again says where
		default:
			panic(p)
		}
	}()
	s := b.plan(y, order)
	if s == nil {
		return None, ""
	}
	return t.recordAs(opTaylor, tensor.Shape{2}, t.ins[x].dtype, Attr{Series: s}, b.args...), ""
}

// noSeries is what building panics with where there is no series.
type noSeries struct{ why string } // after "there is no power series for"

// bySeries is the derivative of y by a source from power series; None where it is not taken so.
func (s *session) bySeries(y Ref, src *source) Ref {
	if s.nested || s.q.Order < seriesFrom || len(src.refs) != 1 || src.why != "" {
		return None
	}
	var d Ref
	if d, s.noSeries = s.t.taylor(y, src.current(), s.q.Order); d == None {
		if n := s.t.steps(); n > 0 && !s.unrolled && stepsPay(n, s.q.Order) {
			panic(stepByStep{})
		}
		return None
	}
	s.taylors = append(s.taylors, d)
	return s.t.reshape(s.t.slice(d, -1, 0, 1, 1), s.t.Shape(src.current()))
}

// stepByStep ends an attempt at a series of what a loop has computed, which is to be recorded step by step.
type stepByStep struct{}

// stepsPay reports whether a series of the n instructions that loops would be takes less than an order of
// derivatives of derivatives. Of sin(y)*0.5 + x the eighth took .13 s that way, for any number of steps, the
// tenth 5 s; the series .02 s for 1000 steps, .4 s for 10,000.
func stepsPay(n, order int) bool { return order >= 8 && n <= 1<<13 || order >= 10 && n <= 1<<17 }

// steps is how many instructions the loops of a tape would be, if each step were recorded.
func (t *Tape) steps() (n int) {
	for i := range t.ins {
		if t.ins[i].Op() == opLoop {
			l := t.Attr(Ref(i)).Loop
			n += l.n * len(l.body.ins)
		}
	}
	return n
}

// expanded reports whether every series that was asked for is there.
func (s *session) expanded() bool {
	return !slices.ContainsFunc(s.taylors, func(r Ref) bool { return s.t.data(r)[0] != s.t.data(r)[0] })
}

// leastDigits is how many decimal digits of a derivative may be left without a warning.
const leastDigits = 4

// shaky warns of derivatives of which rounding leaves few digits: where f has no pole but is
// computed with one, as x/expm1(x) near 0, each order loses some.
func (s *session) shaky() (found []Warning) {
	for _, r := range s.taylors {
		d := s.t.data(r)
		if !(d[1] > math.Pow(10, -leastDigits)) {
			continue
		}
		digits := max(0, int(-math.Log10(d[1])))
		w := Warning{Op: "taylor", Pos: s.t.ins[r].Pos, Value: d[0],
			Msg: fmt.Sprintf("the derivative of order %d: rounding of the values it is computed from leaves %d of its digits", s.q.Order, digits)}
		found = append(found, w)
	}
	return found
}
