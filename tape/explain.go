package tape

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A Warning is something a user should know about a result that was computed.
type Warning struct {
	Op    string // the operation it speaks of, as the program calls it
	Msg   string
	Hint  string   // the likely fix, if there is one
	Pos   expr.Pos // where in the program; NoPos when nowhere
	Index []int    // the element
	Value float64  // the number there
	Known bool     // whether Value is known
}

// whyNone says why no derivative of ys comes back to a source: it looks for a way from
// the source to the target that would exist if nothing stopped gradients, and names
// what stands across it.
func (lo *lowering) whyNone(ys []Ref, s *source) string {
	t := lo.t
	if len(s.refs) == 0 {
		return s.name + " is not used"
	}
	low := s.refs[0]
	all := append(slices.Clone(s.refs), s.past...)
	for _, r := range all {
		low = min(low, r)
	}
	top := Ref(-1)
	for _, y := range ys {
		top = max(top, y)
	}
	if low > top && lo.leaves[low] == nil && !strings.HasPrefix(s.name, theArgument) {
		return s.name + " was bound after the target was computed"
	}
	if low > top || !slices.ContainsFunc(all, lo.leadsTo(ys)) {
		return lo.whyApart(s, all)
	}
	e := &explaining{t: t, low: low, how: make([]access, top-low+1), loops: map[Ref]*loopReach{}}
	for _, r := range all {
		if r <= top {
			e.how[r-low].how = 1
		}
	}
	for r := low; r <= top; r++ {
		if e.how[r-low].how == 0 {
			e.how[r-low] = e.reach(r)
		}
	}
	for _, y := range ys {
		if y >= low && e.how[y-low].how == 2 {
			return lo.blockText(e.how[y-low])
		}
	}
	return lo.whyApart(s, all)
}

// whyApart says why no target is computed from a source of these values.
func (lo *lowering) whyApart(s *source, values []Ref) string {
	if at, ok := lo.decided.from(lo.t, values); ok {
		return "only a condition depends on it at " + lo.place(at)
	}
	if at, ok := lo.plain.from(lo.t, values); ok { // an order, a size or a place
		return "it is read as a plain number at " + lo.place(at)
	}
	if x := lo.top.names[s.name]; x != nil && x.state == nil && slices.Contains(lo.inputs, s.name) {
		return s.name + " is bound anew: the target does not depend on the input"
	}
	return "the target does not depend on " + s.name
}

// An access says how a value is reached from a source.
type access struct {
	how   uint8 // 0 unreached, 1 by a derivative, 2 only across a block
	block Ref   // the first one
	body  *Tape // it is in this body of a loop, or nil
}

// An explaining finds how the values from low on are reached from a source.
type explaining struct {
	t     *Tape
	low   Ref
	how   []access
	loops map[Ref]*loopReach
}

// of is the reach of a value below the one at hand.
func (e *explaining) of(r Ref) access {
	if r < e.low {
		return access{}
	}
	return e.how[r-e.low]
}

// reach is how r is reached from a source.
func (e *explaining) reach(r Ref) access {
	t := e.t
	if t.ins[r].Op() == opBlock {
		if a := t.Args(r)[0]; t.ins[a].Op() == opLoop {
			return e.part(a, int(t.ins[r].args[1]))
		}
	}
	return t.reachOf(r, nil, e.of)
}

// reachOf is the reach of r, given that of its arguments.
func (t *Tape) reachOf(r Ref, body *Tape, of func(a Ref) access) (out access) {
	op := t.ins[r].Op()
	args := t.Args(r)
	for i := range args {
		if op == opWithGrad { // its value, which passes nothing, last: an argument may say why
			i = (i + 1) % len(args)
		}
		a := args[i]
		x := of(a)
		switch {
		case x.how == 0:
		case x.how == 2:
			if out.how == 0 {
				out = x
			}
		case t.passes(op, i) && t.ins[r].dtype.IsFloat() && !(op == opWithGrad && i == 0) && t.ins[a].dtype.IsFloat():
			out.how = 1
			return out
		default:
			if out.how == 0 {
				out = access{2, r, body}
			}
		}
	}
	return out
}

// noneItself is the reason of a none that the program wrote down.
const noneItself = "none is written there"

// whyNoTangent says why y has no derivative along any of the sources: the reason of the
// first, unless others have others.
func (lo *lowering) whyNoTangent(y Ref, sources []*source) (why string) {
	for i, s := range sources {
		own := s.why
		if own == "" {
			own = lo.whyNone([]Ref{y}, s)
		}
		if i > 0 && own != why {
			return "the target does not depend on the sources"
		}
		why = own
	}
	return why
}

// leadsTo reports whether some ys are computed from a value, stopped or not. The last
// answer is kept: a target may have very many sources that it does not depend on.
func (lo *lowering) leadsTo(ys []Ref) func(r Ref) bool {
	if !slices.Equal(lo.ends, ys) || lo.above == nil {
		lo.ends, lo.above = slices.Clone(ys), make([]bool, slices.Max(ys)+1)
		for _, y := range ys {
			lo.above[y] = true
		}
		for r := slices.Max(ys); r >= 0; r-- {
			for _, a := range lo.t.Args(r) {
				lo.above[a] = lo.above[a] || lo.above[r]
			}
		}
	}
	return func(r Ref) bool { return int(r) < len(lo.above) && lo.above[r] }
}

// blockText names what stops a gradient, and where.
func (lo *lowering) blockText(x access) string {
	t, r := lo.t, x.block
	if x.body != nil {
		t = x.body
	}
	in := &t.ins[r]
	where := ""
	if in.Pos >= 0 {
		where = " at " + lo.place(in.Pos)
	}
	switch {
	case in.Op() == opStop || in.Op() == opAssign:
		return t.Attr(r).Text
	case in.Op() == opStopGradient:
		return "stop_gradient" + where
	case in.Op() == opWithGrad && !in.dtype.IsFloat():
		return t.Attr(r).Text + where + " gives " + in.dtype.String() + ", and so nothing asks for its gradient"
	case in.Op() == opWithGrad:
		return t.Attr(r).Text + " has a gradient of its own, and takes it from outside" + where
	case in.Op() == opCast:
		return "a cast to " + in.dtype.String() + where + " is not differentiable"
	case in.dtype == tensor.Bool && x.body == nil && lo.ofRule(r): // xlogy(x, y) has the slope log(y), where x and y are not both 0
		return "only a condition of " + lo.nameAt(in.Pos, "the operation") + " depends on it" + where
	case in.Op().Stops != "":
		return in.Op().Stops + where
	case in.Op() == opWhere:
		return "only a condition depends on it" + where
	case !in.dtype.IsFloat():
		return in.Op().said() + where + " gives " + in.dtype.String()
	}
	return in.Op().said() + where + " passes no gradient to it"
}

// ofRule reports whether a value was recorded by the rules of derivatives, and is not the program's.
func (lo *lowering) ofRule(r Ref) bool {
	return slices.ContainsFunc(lo.swept, func(s [2]Ref) bool { return s[0] <= r && r < s[1] })
}

// since says of each source whose adjoint is so where it became so: at the instructions on the
// way back from the target whose own adjoint is not. One says it where there is one way from
// there, many where there are several.
func (x *Explanation) since(adjoints [][]float64, so func([]float64) bool, one, many string) (all []Reason) {
	for i, source := range x.Rows {
		if source.Op != "input" || !slices.Contains(x.Answer.Watched, source.Name) || !so(adjoints[i]) {
			continue
		}
		on := map[int]bool{source.Ref: true} // what is so, on the ways from the source
		ways := 0
		var places []string
		for j := i + 1; j < len(x.Rows); j++ {
			r, n := &x.Rows[j], 0
			for _, a := range r.Args {
				if on[a] {
					n++
				}
			}
			switch {
			case n == 0 || adjoints[j] == nil:
			case so(adjoints[j]):
				on[r.Ref] = true
			default:
				ways += n
				places = append(places, fmt.Sprintf("%s at %d:%d", expr.Brief(cmp.Or(strings.Join(strings.Fields(r.Text), " "), r.Op)), r.Line, r.Column))
			}
		}
		say := one
		if ways > 1 {
			say = many
		}
		if ways > 0 {
			all = append(all, Reason{source.Name, fmt.Sprintf(say, expr.Some(slices.Compact(places)))})
		}
	}
	return all
}

func allZero(v []float64) bool {
	return len(v) > 0 && !slices.ContainsFunc(v, func(x float64) bool { return x != 0 })
}

func anyNaN(v []float64) bool { return slices.ContainsFunc(v, math.IsNaN) }
