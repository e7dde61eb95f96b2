package tape

import (
	"slices"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A Warning is something a user should know about a result that was computed.
type Warning struct {
	Op    string
	Msg   string
	Hint  string
	Pos   expr.Pos // where in the program; NoPos when nowhere
	Index []int    // the element
	Value float64
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
	if low > top && lo.leaves[low] == nil {
		return s.name + " was bound after the target was computed"
	}
	if low > top || !slices.ContainsFunc(all, lo.leadsTo(ys)) {
		return "the target does not depend on " + s.name
	}
	// how: 0 unreached, 1 reached by a derivative, 2 reached only across a block
	how := make([]uint8, top-low+1)
	block := make([]Ref, top-low+1)
	for _, r := range all {
		if r <= top {
			how[r-low] = 1
		}
	}
	for r := low; r <= top; r++ {
		if how[r-low] == 1 {
			continue
		}
		op := t.ins[r].Op
		for i, a := range t.Args(r) {
			if a < low || how[a-low] == 0 {
				continue
			}
			switch {
			case how[a-low] == 2:
				if how[r-low] == 0 {
					how[r-low], block[r-low] = 2, block[a-low]
				}
			case t.passes(op, i) && t.ins[r].dtype.IsFloat() && !(op == opWithGrad && i == 0) && t.ins[a].dtype.IsFloat():
				how[r-low] = 1
			default:
				if how[r-low] == 0 {
					how[r-low], block[r-low] = 2, r
				}
			}
		}
	}
	for _, y := range ys {
		if y >= low && how[y-low] == 2 {
			return lo.blockText(block[y-low])
		}
	}
	return "the target does not depend on " + s.name
}

// noneItself is the reason of a none that the program wrote down.
const noneItself = "None"

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
func (lo *lowering) blockText(r Ref) string {
	t := lo.t
	in := &t.ins[r]
	where := ""
	if in.Pos >= 0 {
		where = " at " + lo.place(in.Pos)
	}
	switch {
	case in.Op == opStop || in.Op == opAssign:
		return t.Attr(r).Text
	case in.Op == opStopGradient:
		return "stop_gradient" + where
	case in.Op == opCast:
		return "a cast to " + in.dtype.String() + where + " is not differentiable"
	case in.Op.Stops != "":
		return in.Op.Stops + where
	case in.Op == opWhere:
		return "only a condition depends on it" + where
	case !in.dtype.IsFloat():
		return in.Op.Name + where + " gives " + in.dtype.String()
	}
	return in.Op.Name + where + " passes no gradient to it"
}

// mixes finds an instruction between x and y that joins different rows of the leading
// axis of x: a reduction, a product or a movement across it. None when rows stay apart.
func (t *Tape) mixes(y, x Ref) Ref {
	// at[r] is where the axis stands in r: from the right, or 1 + the batch axis that it has
	// become. Joined with axes after it, it stands where they do.
	at := map[Ref]int{x: -len(t.Shape(x))}
	size := t.Shape(x)[0]
	for r := x + 1; r <= y; r++ {
		for i, a := range t.Args(r) {
			p, ok := at[a]
			if !ok || !t.passes(t.ins[r].Op, i) {
				continue
			}
			q, fine := t.follow(r, i, p, size)
			if !fine {
				if t.reachesFrom(r, y) {
					return r
				}
				continue
			}
			if old, has := at[r]; has && old != q {
				return r
			}
			at[r] = q
		}
	}
	if q, ok := at[y]; ok && q != -len(t.Shape(y)) {
		return y
	}
	return None
}

func (t *Tape) reachesFrom(r, y Ref) bool {
	live := t.liveAll(y)
	return live[r]
}

// liveAll marks everything y was computed from, known or not.
func (t *Tape) liveAll(y Ref) []bool {
	live := make([]bool, y+1)
	live[y] = true
	for r := y; r >= 0; r-- {
		if live[r] {
			for _, a := range t.Args(r) {
				live[a] = true
			}
		}
	}
	return live
}

// follow says where the axis of mixes, at p in argument i, stands in r; false when r mixes
// its rows.
func (t *Tape) follow(r Ref, i, p, size int) (int, bool) {
	in := &t.ins[r]
	op := in.Op
	s, as := t.Shape(r), t.Shape(t.Args(r)[i])
	a := t.Attr(r)
	switch {
	case op == opRebatch && p == -len(as):
		return 1 + a.Axis, true
	case op == opUnbatch && p == 1+a.Axis:
		return -len(s), true
	case op == opSumBatch && p == 1+a.Axis:
		return 0, size == 1
	case p > 0, op == opRebatch, op == opUnbatch, op == opSumBatch:
		return p, true
	case op.elementwise(), op == opStop, op == opAssign, op == opWithGrad, op == opCast:
		return p, true
	case op == opBroadcast:
		return p, true
	case op == opSum:
		gone := 0
		for _, x := range a.Axes {
			if x == p {
				return 0, size == 1
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
	case op == opReshape:
		// the axis survives, or is the outer part of another, when the sizes before it multiply to the same
		before := tensor.Shape(as[:len(as)+p]).Size()
		n := 1
		for k, d := range s {
			if n == before && (d == size || size > 1 && d > 0 && d%size == 0) {
				return k - len(s), true
			}
			n *= d
		}
	case op == opMatmul:
		tr := a.Flag
		if i == 1 {
			tr = a.Flag2
		}
		inner := -1 // the contracted axis of x
		if i == 1 {
			inner = -2
		}
		if tr {
			inner = -3 - inner
		}
		if p == inner {
			return 0, size == 1
		}
		if p >= -2 {
			if i == 0 {
				return -2, true
			}
			return -1, true
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
	case op == opProd || op == opMaxOf || op == opMinOf || op == opMedian || op == opNorm || op == opLogsumexp || op == opArgmaxOf || op == opArgminOf || op == opAny || op == opAll:
		if p == -1 {
			return 0, size == 1
		}
		return p + 1, true
	case op.Lead && len(as) == len(s): // along the last axis
		return p, p != -1
	case op == opRecur || op == opRecurBack:
		return p, p != -1
	}
	return 0, false
}
