package tape

import (
	"slices"
	"unsafe"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// Instructions that move numbers, sums and extremes are calls, too, in a steady step: one for
// each part that lies together there and here, or for each row.

// mostRowCalls is how many rows of a sum or an extreme are calls: in Go an instruction takes a
// tenth of a microsecond more, and a call 3 ns.
const mostRowCalls = 32

// worthMoving is how many numbers each part has on average where parts are calls: one by one
// a number takes 0.6 ns.
const worthMoving = 5

// zero is what numbers are filled with that come from nowhere.
var zero float64

// zeroPlace is a place of it.
func (y *steadyRun) zeroPlace() int { return y.fixedPlace(unsafe.Pointer(&zero)) }

// fixedPlace is a place for what does not move.
func (y *steadyRun) fixedPlace(x unsafe.Pointer) int {
	at := y.newPlaces(1)
	y.at[at] = x
	return at
}

// copies notes that n numbers are copied from one place to another.
func (y *steadyRun) copies(to, from, n int) {
	y.call(func(int) { copy(y.value(to, n), y.value(from, n)) }, kernels.CallOf(kernels.Copy, int32(to), int32(from)).Of(n, 0))
}

// adds notes that n numbers are added to those at another place.
func (y *steadyRun) adds(to, from, n int) {
	y.call(func(int) { kernels.Accumulate(y.value(to, n), y.value(from, n)) }, kernels.CallOf(kernels.Accumulate, int32(to), int32(from)).Of(n, 0))
}

// fills notes that n numbers become the one at a place.
func (y *steadyRun) fills(to, from, n int) {
	y.call(func(int) { kernels.Fill(y.value(to, n), y.value(from, 1)[0]) }, kernels.CallOf(kernels.Fill, int32(to), int32(from)).Of(n, 0))
}

// byParts notes a structural instruction as calls, if it can be some.
func (y *steadyRun) byParts(r Ref) bool {
	p, t := y.p, y.p.t
	in := &t.ins[r]
	if in.dtype == tensor.Float32 {
		return false
	}
	var args []Ref
	same := true // all have the points of r
	for _, a := range t.Args(r) {
		same = same && t.ins[a].batch == in.batch
		args = append(args, p.same[a])
	}
	switch in.Op() {
	case opSum, opMaxOf, opMinOf, opNorm, opLogsumexp, opSoftmax:
		if !same {
			return false
		}
	}
	switch in.Op() {
	case opMaxOf, opMinOf, opLogsumexp, opSoftmax, opNorm:
		if t.Attr(r).along() != -1 {
			return false
		}
	}
	switch in.Op() {
	case opSum:
		return y.sum(r, args[0])
	case opMaxOf:
		return y.eachRow(r, args[0], kernels.Max, func(to, from int32) kernels.Call { return kernels.CallOf(kernels.Max, to, from) })
	case opMinOf:
		return y.eachRow(r, args[0], kernels.Min, func(to, from int32) kernels.Call { return kernels.CallOf(kernels.Min, to, from) })
	case opNorm:
		return y.eachRow(r, args[0], kernels.Norm2, nil)
	case opLogsumexp:
		return y.exponentials(r, args[0]) || y.eachRow(r, args[0], logsumexp, nil)
	case opSoftmax:
		return y.exponentials(r, args[0]) || y.softmax(r, args[0])
	case opAssemble:
		return y.assembled(r, args)
	case opMatmul:
		return y.product(r, args[0], args[1])
	case opBlock, opBroadcast, opTranspose, opReshape, opSlice, opUnslice, opReverse, opConcat:
		y.moved(func(off int) int { return y.part(r, off) }, t.origins(r, nil), args)
		return true
	}
	return false
}

// sum notes sums over axes that are neighbours: in the way of runSum those over the last ones
// row by row, others by adding rows.
func (y *steadyRun) sum(r, x Ref) bool {
	t := y.p.t
	s, axes := t.Shape(x), t.Attr(r).Axes
	if len(axes) == 0 || axes[len(axes)-1]-axes[0] != len(axes)-1 {
		return false
	}
	first, end := len(s)+axes[0], len(s)+axes[len(axes)-1]+1
	outer, n, inner := t.points(r)*s[:first].Size(), s[first:end].Size(), s[end:].Size()
	if inner == 1 {
		return y.eachRow(r, x, kernels.Sum, kernels.SumTo)
	}
	if outer*n > mostRowCalls {
		return false
	}
	y.fills(y.part(r, 0), y.zeroPlace(), outer*inner)
	for i := range outer * n {
		y.adds(y.part(r, i/n*inner), y.part(x, i*inner), inner)
	}
	return true
}

// product notes one of two matrices of which none is packed. Go does it: to find out in every
// step what it is took longer than a small one takes.
func (y *steadyRun) product(r, a, b Ref) bool {
	t := y.p.t
	_, unit := t.unitLike(b)
	_, seed := t.unitLike(a)
	_, column := t.unitColumn(a)
	if unit || seed || column || len(t.Shape(a)) != 2 || len(t.Shape(b)) != 2 || t.Attr(r).Upper || t.size(r) == 0 {
		return false
	}
	args := [2]Ref{a, b}
	wide := func(i int) bool { return t.ins[args[i]].batch != 0 }
	points := t.batchOf(r, new(batch))
	p, first, joined := t.productOf(r).joined(wide(0) && !wide(1), wide(1) && !wide(0), points.n)
	to, left, right := y.part(r, 0), y.part(args[first], 0), y.part(args[1-first], 0)
	m, n, k := t.size(r), t.size(args[first]), t.size(args[1-first])
	y.call(func(int) {
		out, left, right := y.value(to, m), y.value(left, n), y.value(right, k)
		if threads := y.x.each.threads(); joined || points.n == 1 {
			multiply(p, out, left, right, threads)
		} else {
			products(p, points, out, left, right, threads)
		}
	}, kernels.RepeatedCall{})
	return true
}

// assembled notes pieces that are added into zeros.
func (y *steadyRun) assembled(r Ref, pieces []Ref) bool {
	t := y.p.t
	size, points := t.Shape(r).Size(), t.points(r)
	if len(pieces)*points > mostRowCalls {
		return false
	}
	y.fills(y.part(r, 0), y.zeroPlace(), t.size(r))
	for i, x := range pieces {
		n := t.Shape(x).Size()
		for k := range points {
			from := 0
			if t.ins[x].batch != 0 {
				from = k * n
			}
			y.adds(y.part(r, k*size+t.Attr(r).Ints[i]), y.part(x, from), n)
		}
	}
	return true
}

// softmax notes that of every row of x.
func (y *steadyRun) softmax(r, x Ref) bool {
	t := y.p.t
	n := last(t.Shape(r))
	if n == 0 || t.size(r)/n > mostRowCalls {
		return false
	}
	for off := 0; off < t.size(r); off += n {
		to, from := y.part(r, off), y.part(x, off)
		y.call(func(int) { softmax(y.value(to, n), y.value(from, n), t.Attr(r).Flag) }, kernels.RepeatedCall{})
	}
	return true
}

// eachRow notes what makes one number of every row of x, by machine code or without.
func (y *steadyRun) eachRow(r, x Ref, f func([]float64) float64, call func(to, from int32) kernels.Call) bool {
	t := y.p.t
	rows := t.size(r)
	n := t.size(x) / rows
	if rows > mostRowCalls || n > kernels.SumBlock {
		return false
	}
	for i := range rows {
		to, from := y.part(r, i), y.part(x, i*n)
		var c kernels.Call
		if call != nil {
			c = call(int32(to), int32(from))
		}
		y.call(func(int) { y.value(to, 1)[0] = f(y.value(from, n)) }, c.Of(n, 0))
	}
	return true
}

// exponentials notes the softmaxes or logsumexps of several rows, which go through each kernel together.
// Through steps of logsumexps of 8×8 numbers, forward and back, they take .65 of the time that rows took
// one by one.
func (y *steadyRun) exponentials(r, x Ref) bool {
	t := y.p.t
	n, size := last(t.Shape(x)), t.size(x)
	rows := size / max(n, 1)
	if rows <= 1 || size > someNumbers || rows > stripeWidth {
		return false
	}
	to, from := y.part(r, 0), y.part(x, 0)
	sums, weights := t.ins[r].Op() == opLogsumexp, t.Attr(r).Flag
	y.call(func(int) {
		s := stripes.Get().(*stripe)
		if x := y.value(from, size); sums {
			s.sumsExpOfRows(x, n, y.value(to, rows), nil, nil, false)
		} else {
			s.sumsExpOfRows(x, n, nil, nil, y.value(to, size), weights)
		}
		stripes.Put(s)
	}, kernels.RepeatedCall{})
	return true
}

// A movedPart are numbers that move together.
type movedPart struct {
	to, n int
	arg   int // whose they are, or -1 for zeros
	off   int // where in it they are
	by    int // 0 where they are all the same one
}

// moved notes that elements of dst, which has the places of its parts, become those of args that
// from says: counted through all of them from 1, or 0 for a zero.
func (y *steadyRun) moved(dst func(off int) int, from []int, args []Ref) {
	parts := y.movedParts(from, args)
	zeros := slices.ContainsFunc(parts, func(p movedPart) bool { return p.arg < 0 })
	if len(parts) > 1 && len(parts)*worthMoving > len(from) {
		if zeros {
			y.fills(dst(0), y.zeroPlace(), len(from))
		}
		for k, a := range args {
			var moves []kernels.MovedNumber
			for _, p := range parts {
				if p.arg == k {
					for i := range p.n {
						moves = append(moves, kernels.MovedNumber{To: int32(p.to + i), From: int32(p.off + i*p.by)})
					}
				}
			}
			if len(moves) > 0 {
				y.movesNumbers(dst(0), y.part(a, 0), moves)
			}
		}
		return
	}
	for _, p := range parts {
		switch to := dst(p.to); {
		case p.arg < 0:
			y.fills(to, y.zeroPlace(), p.n)
		case p.by == 0:
			y.fills(to, y.part(args[p.arg], p.off), p.n)
		default:
			y.copies(to, y.part(args[p.arg], p.off), p.n)
		}
	}
}

// movedParts are the parts of what moves.
func (y *steadyRun) movedParts(from []int, args []Ref) (parts []movedPart) {
	place := func(k int) (arg, off int) {
		if k == 0 {
			return -1, 0
		}
		for k--; k >= y.p.t.size(args[arg]); arg++ {
			k -= y.p.t.size(args[arg])
		}
		return arg, k
	}
	for i, k := range from {
		arg, off := place(k)
		if len(parts) > 0 {
			if p := &parts[len(parts)-1]; p.arg == arg && (p.n == 1 && off-p.off <= 1 && off >= p.off || p.n > 1 && off == p.off+p.n*p.by) {
				p.by = off - p.off
				if p.n > 1 {
					p.by /= p.n
				}
				p.n++
				continue
			}
		}
		parts = append(parts, movedPart{to: i, n: 1, arg: arg, off: off, by: 1})
	}
	return parts
}

// movesNumbers notes that numbers move, each for itself.
func (y *steadyRun) movesNumbers(to, from int, moves []kernels.MovedNumber) {
	y.call(func(int) {
		for _, m := range moves {
			*(*float64)(unsafe.Add(y.at[to], 8*int(m.To))) = *(*float64)(unsafe.Add(y.at[from], 8*int(m.From)))
		}
	}, kernels.Moved(to, from, moves))
}
