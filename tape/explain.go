package tape

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nabla/expr"
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
	for i, a := range t.Args(r) {
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
	case in.Op() == opCast:
		return "a cast to " + in.dtype.String() + where + " is not differentiable"
	case in.Op().Stops != "":
		return in.Op().Stops + where
	case in.Op() == opWhere:
		return "only a condition depends on it" + where
	case !in.dtype.IsFloat():
		return in.Op().said() + where + " gives " + in.dtype.String()
	}
	return in.Op().said() + where + " passes no gradient to it"
}

// A batchPlace is where a batch axis stands in a value: the outer part of axis at, from the
// right, whose inner part has that many elements; or, where at is above 0, the axis of a
// vmap that it became, counted from 1. Rows says which row stands at each place along it, no
// row with -1; nil: each in its own.
type batchPlace struct {
	at, inner int
	rows      []int
}

// row is the row at place k.
func (p batchPlace) row(k int) int {
	if p.rows == nil {
		return k
	}
	return p.rows[k]
}

// places is how many places there are along it, of an axis that had that size.
func (p batchPlace) places(size int) int {
	if p.rows == nil {
		return size
	}
	return len(p.rows)
}

// among is p with the rows given, of that many: nil where all are in their own places.
func (p batchPlace) among(rows []int, size int) batchPlace {
	p.rows = rows
	for k, row := range rows {
		if row != k {
			return p
		}
	}
	if len(rows) == size {
		p.rows = nil
	}
	return p
}

// joined is the place of what has rows of p and of q; false where two differ.
func (p batchPlace) joined(q batchPlace, size int) (batchPlace, bool) {
	if p.at != q.at || p.inner != q.inner {
		return p, false
	}
	if p.rows == nil && q.rows == nil {
		return p, true
	}
	n := p.places(size)
	if n != q.places(size) {
		return p, false
	}
	rows := make([]int, n)
	for k := range rows {
		a, b := p.row(k), q.row(k)
		if rows[k] = max(a, b); a >= 0 && b >= 0 && a != b {
			return p, false
		}
	}
	return p.among(rows, size), true
}

// mixes finds an instruction between x and y that joins different rows of the leading
// axis of x: a reduction, a product or a movement across it. None when rows stay apart.
func (t *Tape) mixes(y, x Ref) Ref {
	size := t.Shape(x)[0]
	if size == 1 {
		return None
	}
	places := map[Ref]batchPlace{x: {at: -len(t.Shape(x)), inner: 1}} // of what depends on x
	if r := t.followTo(places, x+1, []Ref{y}, size); r != None {
		return r
	}
	if q, ok := places[y]; ok {
		if _, fine := q.joined(batchPlace{at: -len(t.Shape(y)), inner: 1}, size); !fine {
			return y
		}
	}
	return None
}

// followTo finds places of what ys are computed from, from instruction from on, and the
// first instruction that mixes rows.
func (t *Tape) followTo(places map[Ref]batchPlace, from Ref, ys []Ref, size int) Ref {
	var live []bool
	for r := from; r <= slices.Max(ys); r++ {
		if t.size(r) == 0 { // nothing passes through it
			continue
		}
		for i, a := range t.Args(r) {
			p, ok := places[a]
			if !ok || !t.passes(t.ins[r].Op(), i) || t.ins[a].Op() == opLoop {
				continue
			}
			var q batchPlace
			fine := true
			switch op := t.ins[r].Op(); {
			case op == opLoop:
				q, fine = p, t.followLoop(places, r, size)
			case op == opConcat && t.Attr(r).Axes[0] == p.at && p.inner == 1:
				q, fine = t.followConcat(places, r, p, size)
			default:
				q, fine = t.follow(r, i, p, size)
			}
			if !fine {
				if live == nil {
					live = t.liveAll(ys...)
				}
				if live[r] {
					return r
				}
				continue
			}
			if old, has := places[r]; has && t.ins[r].Op() != opLoop {
				if q, fine = q.joined(old, size); !fine {
					return r
				}
			}
			places[r] = q
		}
	}
	return None
}

// followLoop finds places of what loop r carries, in the pieces that are taken from it;
// false where its steps mix rows, or where it is not seen whether they do.
func (t *Tape) followLoop(places map[Ref]batchPlace, r Ref, size int) bool {
	l := t.Attr(r).Loop
	inside := map[Ref]batchPlace{}
	for i, a := range t.Args(r) {
		p, ok := places[a]
		switch {
		case !ok:
		case i < len(l.carry):
			inside[l.carry[i]] = p
		case i < len(l.carry)+len(l.consts):
			inside[l.consts[i-len(l.carry)]] = p
		default:
			return false
		}
	}
	if len(l.next) == 0 || len(l.outs)+len(l.sums) > 0 {
		return false
	}
	for changed := true; changed; {
		if l.body.followTo(inside, 0, l.next, size) != None {
			return false
		}
		changed = false
		for i, y := range l.next {
			p, ok := inside[y]
			was, has := inside[l.carry[i]]
			switch {
			case !ok:
			case !has:
				inside[l.carry[i]], changed = p, true
			case was.at != p.at || was.inner != p.inner || !slices.Equal(was.rows, p.rows):
				return false
			}
		}
	}
	from := 0
	for _, c := range l.carry {
		if p, ok := inside[c]; ok {
			for k := r + 1; k < Ref(len(t.ins)); k++ {
				if in := &t.ins[k]; in.Op() == opBlock && in.args[0] == r && int(in.args[1]) == from && t.Shape(k).Equal(l.body.Shape(c)) {
					places[k] = p
				}
			}
		}
		from += l.body.size(c)
	}
	return true
}

// followConcat is follow for rows that r joins again, as those of the points that a vmap has split:
// rows of what does not depend on x are none.
func (t *Tape) followConcat(places map[Ref]batchPlace, r Ref, p batchPlace, size int) (batchPlace, bool) {
	var rows []int
	for _, a := range t.Args(r) {
		q, ok := places[a]
		if ok && (q.at != p.at || q.inner != p.inner) {
			return p, false
		}
		s := t.Shape(a)
		for k := range s[len(s)+p.at] {
			row := -1
			if ok {
				row = q.row(k)
			}
			rows = append(rows, row)
		}
	}
	return p.among(rows, size), true
}

// liveAll marks everything ys were computed from, known or not.
func (t *Tape) liveAll(ys ...Ref) []bool {
	top := slices.Max(ys)
	live := make([]bool, top+1)
	for _, y := range ys {
		live[y] = true
	}
	for r := top; r >= 0; r-- {
		if live[r] {
			for _, a := range t.Args(r) {
				live[a] = true
			}
		}
	}
	return live
}

// follow says where the batch axis of that size, at p in argument i, stands in r; false
// when r mixes its rows.
func (t *Tape) follow(r Ref, i int, p batchPlace, size int) (batchPlace, bool) {
	op := t.ins[r].Op()
	s, as := t.Shape(r), t.Shape(t.Args(r)[i])
	a := t.Attr(r)
	switch {
	case op == opUnbatch && p.at == a.Axis+1:
		return batchPlace{-len(s), 1, p.rows}, len(a.Shape) == 1
	case op == opSumBatch && p.at == a.Axis+1:
		return p, false
	case p.at > 0:
		return p, true
	case op == opRebatch && p.at < -len(s):
		return batchPlace{a.Axis + 1, 1, p.rows}, len(a.Shape) == 1 && p.inner == 1
	case op == opReshape: // the same place in the order of elements
		size = p.places(size)
		step := p.inner * as[len(as)+p.at+1:].Size()
		for k, d := range s {
			if rest := s[k+1:].Size(); d*rest == size*step && step%rest == 0 {
				return batchPlace{k - len(s), step / rest, p.rows}, true
			}
		}
		return p, false
	case op == opTake && !a.Flag && a.Axes[0] == p.at && p.inner == 1:
		return t.followTake(r, p, size)
	}
	q, fine := t.followAxis(r, i, p.at)
	return batchPlace{q, p.inner, p.rows}, fine
}

// followTake is follow for rows that an index of the recording picks, as those of the points that
// take one branch.
func (t *Tape) followTake(r Ref, p batchPlace, size int) (batchPlace, bool) {
	idx := t.Args(r)[1]
	if !t.known(idx) || t.ins[idx].flags&flagGiven != 0 || t.ins[idx].batch != 0 || len(t.Shape(idx)) != 1 {
		return p, false
	}
	s := t.Shape(t.Args(r)[0])
	rows := make([]int, t.size(idx))
	for k, v := range t.data(idx) {
		if v < 0 {
			v += float64(s[len(s)+p.at])
		}
		rows[k] = p.row(int(v))
	}
	return p.among(rows, size), true
}

// followAxis is follow for axis p as a whole, from the right.
func (t *Tape) followAxis(r Ref, i, p int) (int, bool) {
	op := t.ins[r].Op()
	s, as := t.Shape(r), t.Shape(t.Args(r)[i])
	a := t.Attr(r)
	switch {
	case op.elementwise(), op == opUnbatch, op == opRebatch, op == opSumBatch, op == opStop, op == opAssign, op == opWithGrad, op == opCast, op == opBroadcast:
		return p, true
	case op == opSum:
		gone := 0
		for _, x := range a.Axes {
			if x == p {
				return 0, false
			}
			if x > p && !a.Flag {
				gone++
			}
		}
		return p + gone, true
	case op == opTranspose:
		for k, x := range a.Ints {
			if x == p {
				return k - len(s), true
			}
		}
	case op == opMatmul:
		if p == a.contracted(i) {
			return 0, false
		}
		if p >= -2 {
			return i - 2, true
		}
		return p, true
	case op == opBlock:
		return p, p != -len(as)
	case op == opAssemble:
		return p, p != -len(s)
	case op == opSlice || op == opUnslice || op == opTake || op == opPut || op == opConcat:
		if a.Axes[0] == p {
			return 0, false
		}
		if op == opTake && !a.Flag {
			if p < a.Axes[0] {
				return p + len(as) - len(s), true
			}
		}
		return p, true
	case op == opMaxOf || op == opMinOf || op == opProd || op == opLogsumexp || op == opNorm:
		if p < a.along() {
			return p + 1, true
		}
		return p, p != a.along()
	case op == opSoftmax || op == opLogSoftmax || op == opOneHotMax:
		return p, p != a.along()
	case op == opMedian || op == opArgmaxOf || op == opArgminOf || op == opAny || op == opAll:
		return p + 1, p != -1
	case op == opWindows:
		return p - 1, p < -1
	case op == opUnwindows:
		return p + 1, p < -2
	case op.Group() == "linear algebra": // of matrices, which stand in the last two axes
		lead := 0
		for _, b := range t.Args(r) {
			lead = max(lead, len(t.Shape(b))-2)
		}
		return lead + p + 2 - len(s), p < -2
	case op.Lead && len(as) == len(s):
		return p, p != a.along()
	}
	return 0, false
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
