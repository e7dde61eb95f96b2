package tape

import "slices"

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
	if fine && len(p.rows) == 1 && p.inner == 1 && q < 0 && q >= -len(s) && s[len(s)+q] > 1 { // one row that was picked, broadcast
		p.rows = slices.Repeat(p.rows, s[len(s)+q])
	}
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
		return a.axisAfterSum(p)
	case op == opTranspose:
		k := slices.Index(a.Ints, p)
		return k - len(s), k >= 0
	case op == opMatmul:
		if p >= -2 {
			return i - 2, p != a.contracted(i)
		}
		return p, true
	case op == opBlock:
		return p, p != -len(as)
	case op == opAssemble:
		return p, p != -len(s)
	case op == opTake && !a.Flag && p < a.Axes[0]: // an index of so many axes stands in place of one
		return p + len(as) - len(s), true
	case op == opSlice, op == opUnslice, op == opTake, op == opPut, op == opConcat:
		return p, p != a.Axes[0]
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
	}
	return t.followAlong(r, i, p)
}

// axisAfterSum is the axis, from the right, that axis p of what is summed becomes, unless it is
// summed over.
func (a *Attr) axisAfterSum(p int) (int, bool) {
	gone := 0
	for _, x := range a.Axes {
		if x > p && !a.Flag {
			gone++
		}
	}
	return p + gone, !slices.Contains(a.Axes, p)
}

// followAlong is followAxis for operations that work along one axis.
func (t *Tape) followAlong(r Ref, i, p int) (int, bool) {
	a := t.Attr(r)
	switch op := t.ins[r].Op(); op {
	case opMaxOf, opMinOf, opProd, opLogsumexp, opNorm:
		if p < a.along() {
			return p + 1, true
		}
		return p, p != a.along()
	case opSoftmax, opLogSoftmax, opOneHotMax:
		return p, p != a.along()
	case opMedian, opArgmaxOf, opArgminOf, opAny, opAll:
		return p + 1, p != -1
	default:
		return p, op.Lead && len(t.Shape(t.Args(r)[i])) == len(t.Shape(r)) && p != a.along()
	}
}
