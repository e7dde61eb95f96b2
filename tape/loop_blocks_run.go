package tape

import (
	"slices"

	"nabla/kernels"
	"nabla/tape/pool"
)

// A blockRun is what a run has of the block at work.
type blockRun struct {
	ahead, behind *execution
	threads       int
	at            int         // the first of its rows, in the order of columns
	low, high     int         // those that this block is the first to have
	kept          [][]float64 // rows of what is kept
	rows          [][]float64 // of loads: of the array, or
	gathered      [][]float64 // put together
	index         []float64
	left, right   []steppedValue // of what is added up
}

// newBlocks makes room for what blocks keep.
func (x *plannedRun) newBlocks() {
	b := &x.block
	for _, r := range b.kept {
		x.kept = append(x.kept, arena64.take(b.n*x.l.body.size(r)))
	}
	x.rows, x.gathered = make([][]float64, len(b.loads)), make([][]float64, len(b.loads))
	x.index = make([]float64, b.n)
	if b.ahead != nil {
		x.ahead = newExecution(b.ahead)
	}
	if b.behind != nil {
		x.behind = newExecution(b.behind)
	}
}

// blocks are the executions of whole blocks.
func (x *plannedRun) blocks() (all []*execution) {
	if x.ahead != nil {
		all = append(all, x.ahead)
	}
	if x.behind != nil {
		all = append(all, x.behind)
	}
	return all
}

// beginBlocks takes what no step changes.
func (x *plannedRun) beginBlocks(threads int, check func()) {
	b := &x.block
	x.threads, x.at = threads, -1
	if b.t == nil {
		return
	}
	b.t.check = check
	for _, e := range x.blocks() {
		e.workers = threads
		for r, v := range x.fixed {
			if int(r) >= len(b.t.ins) {
				continue
			}
			if b.t.single(r) {
				b.t.num[r] = v[0]
			} else {
				e.put(r, v)
			}
		}
	}
	if x.ahead != nil {
		x.ahead.hold(&b.aheadRights, x.fixedData)
	}
	if x.behind != nil {
		x.behind.hold(&b.behindRights, x.fixedData)
	}
}

// enterBlock computes what is ahead of the next steps, those from i on. It returns the step
// that comes after them; while it works, i is the step whose values it reads. The last block
// has rows of the one before it.
func (x *plannedRun) enterBlock(i *int) (end int) {
	l, b, first := x.l, &x.block, *i
	end = min(first+b.n, l.n)
	if x.idle() {
		end = l.n
	}
	at := min(first, l.n-b.n)
	x.low, x.high = first, end
	if l.back {
		at = max(0, l.n-first-b.n)
		x.low, x.high = l.n-end, l.n-first
	}
	if x.at >= 0 {
		for k, r := range b.kept { // rows that were in the block before
			size := l.body.size(r)
			if shift := (at - x.at) * size; shift > 0 && x.at+b.n > at {
				copy(x.kept[k], x.kept[k][shift:])
			} else if -shift < len(x.kept[k]) && shift < 0 {
				copy(x.kept[k][-shift:], x.kept[k])
			}
		}
	}
	x.at = at
	for row := range b.n {
		x.index[row] = l.indexAt(at + row)
	}
	for k := range b.loads {
		x.rows[k] = x.gather(k, i, first, end)
	}
	*i = first
	if x.ahead != nil {
		x.enterRows(x.ahead)
		x.ahead.anew()
	}
	return end
}

// idle reports whether there is nothing between a step and the next.
func (s *plannedStep) idle() bool {
	b := &s.block
	return b.n == 1 && len(b.outs)+len(b.kept)+len(b.loads)+len(s.totals)+len(s.l.adds) == 0
}

// gather is the rows of a load for the block: as they lie in the array, or put together.
func (x *plannedRun) gather(k int, i *int, first, end int) []float64 {
	l, b, p := x.l, &x.block, &x.block.loads[k]
	size, array := l.body.size(p.r), x.arrays[p.array]
	place := func(row int) int { return l.placeAt(row) + p.off }
	for *i = first; *i < end; *i++ { // the first that is not there tells
		rowOf(array, size, float64(place(l.step(*i))))
	}
	if from := place(x.at); l.by == 1 && from >= 0 {
		return array[from*size : (from+b.n)*size]
	}
	if x.gathered[k] == nil {
		x.gathered[k] = arena64.take(b.n * size)
	}
	rows := x.gathered[k]
	for row := range b.n {
		copy(rowAt(rows, size, row), rowOf(array, size, float64(place(x.at+row))))
	}
	return rows
}

// enterRows sets what a plan reads for the block.
func (x *plannedRun) enterRows(e *execution) {
	l, b := x.l, &x.block
	if l.index != None && int(l.index) < len(b.t.ins) {
		e.put(l.index, x.index)
	}
	for _, k := range b.columns {
		v, _ := x.blockRows(l.columns[k])
		e.put(l.columns[k], v)
	}
	for k := range b.loads {
		e.put(b.loads[k].r, x.rows[k])
	}
}

// enterRow sets what a step reads of what is ahead.
func (x *plannedRun) enterRow(row int) {
	for _, r := range x.block.given {
		x.set(r, rowAt(x.ahead.data(x.ahead.p.same[r]), x.l.body.size(r), row-x.at))
	}
}

// keepRow says where a step's values are kept for what is behind.
func (x *plannedRun) keepRow(row int, to [][]float64) {
	for k, r := range x.block.kept {
		to[k] = rowAt(x.kept[k], x.l.body.size(r), row-x.at)
	}
}

// blockRows are the values of r in the steps of the block, and how far they are apart: 0 where no
// step changes it.
func (x *plannedRun) blockRows(r Ref) (v []float64, size int) {
	l, b := x.l, &x.block
	size = l.body.size(r)
	if k := slices.Index(b.kept, r); k >= 0 {
		return x.kept[k], size
	}
	for _, e := range []*execution{x.ahead, x.behind} {
		if e != nil && slices.Contains(e.p.outs, r) {
			return e.data(e.p.same[r]), size
		}
	}
	if k := slices.Index(l.columns, r); k >= 0 {
		return x.columns[k][x.at*size : (x.at+b.n)*size], size
	}
	if k := slices.IndexFunc(b.loads, func(p plannedRow) bool { return p.r == r }); k >= 0 {
		return x.rows[k], size
	}
	if r == l.index {
		return x.index, 1
	}
	return x.fixedData(r), 0
}

// leaveBlock computes what is behind the steps, puts out what they did not, and adds up.
func (x *plannedRun) leaveBlock(out []float64, sums [][]float64) {
	l, body, b := x.l, x.l.body, &x.block
	if e := x.behind; e != nil {
		x.enterRows(e)
		for k, r := range b.kept {
			e.put(r, x.kept[k])
		}
		if x.ahead != nil {
			for _, r := range b.ahead.outs {
				e.put(r, x.ahead.data(b.ahead.same[r]))
			}
		}
		e.anew()
	}
	for _, k := range b.outs {
		size := body.size(l.outs[k])
		v, by := x.blockRows(x.t.base(l.outs[k]))
		to := out[l.outAt(k):l.outAt(k+1)]
		for row := x.low; row < x.high; row++ {
			copy(rowAt(to, size, row), v[(row-x.at)*by:])
		}
	}
	for i := range x.totals {
		t := &x.totals[i]
		x.addUp(t, out[l.nextAt(t.carry):l.nextAt(t.carry+1)])
	}
	if len(l.adds) == 0 {
		return
	}
	x.left, x.right = grown(x.left, len(l.adds)), grown(x.right, len(l.adds))
	values, places := x.left, x.right
	for k, a := range l.adds {
		values[k], places[k] = x.stepped(body.base(a.value)), x.stepped(body.base(a.at))
	}
	for i := range x.high - x.low {
		row := x.rowOf(i)
		for k, a := range l.adds {
			v := values[k].in(row)
			to := fromRow(sums[a.sum], l.sums[a.sum].shape, places[k].in(row)[0])[:len(v)]
			if n := body.points(a.value); n > 1 {
				addTurned(to, v, n, len(v)/n, l.sums[a.sum].shape[1:].Size()/n)
			} else {
				kernels.Accumulate(to, v)
			}
		}
	}
}

// rowOf is the row of the step of the block that runs after i others that are new to it.
func (x *plannedRun) rowOf(i int) int {
	if x.l.back {
		i = x.high - x.low - 1 - i
	}
	return x.low - x.at + i
}

// A steppedValue is a value in the steps of a block.
type steppedValue struct {
	v        []float64
	by, size int
}

func (x *plannedRun) stepped(r Ref) steppedValue {
	v, by := x.blockRows(r)
	return steppedValue{v, by, x.l.body.size(r)}
}

// in is the value in a row of the block.
func (s *steppedValue) in(row int) []float64 { return s.v[row*s.by:][:s.size] }

// addUp adds to a total what the steps of a block add to it.
func (x *plannedRun) addUp(t *total, sum []float64) {
	k, n := x.high-x.low, len(t.terms)
	x.left, x.right = grown(x.left, n), grown(x.right, n)
	left, right := x.left, x.right
	outer := true
	for i, e := range t.terms {
		if outer = outer && e.rankOne(); e.x != None {
			left[i], right[i] = x.stepped(e.x), x.stepped(e.y)
		} else {
			left[i] = x.stepped(x.l.body.base(e.value))
		}
	}
	switch e := &t.terms[0]; {
	case outer && n == 1 && left[0].by > 0 && right[0].by > 0:
		first := x.low - x.at
		x.outer(e, sum, left[0].v[first*e.m:], right[0].v[first*e.n:], k, x.l.back)
	case outer: // the vectors of each step beside one another
		a, b := arena64.take(k*n*e.m), arena64.take(k*n*e.n)
		for i := range k {
			row := x.rowOf(i)
			for j := range t.terms {
				copy(rowAt(a, e.m, i*n+j), left[j].in(row))
				copy(rowAt(b, e.n, i*n+j), right[j].in(row))
			}
		}
		x.outer(e, sum, a, b, k*n, false)
		arena64.give(a)
		arena64.give(b)
	default:
		room := arena64.take(len(sum))
		for i := range k {
			row := x.rowOf(i)
			for j, e := range t.terms {
				term := room
				if e.x != None {
					multiply(e.product, term, left[j].in(row), right[j].in(row), x.threads)
				} else {
					term = left[j].in(row)
				}
				kernels.Accumulate(sum, term)
			}
		}
		arena64.give(room)
	}
}

// outer adds up k matrices of rank one; threads share their rows.
func (x *plannedRun) outer(e *totalTerm, sum, a, b []float64, k int, back bool) {
	if x.threads <= 1 || !pool.Worth(2*e.m*e.n*k, pool.LeastFlops) {
		kernels.Outer(sum, e.n, a, e.m, b, e.n, e.m, e.n, k, back)
		return
	}
	bands := min(4*x.threads, (e.m+7)/8)
	pool.Run(x.threads, bands, func(i int) {
		from, to := e.m*i/bands, e.m*(i+1)/bands
		kernels.Outer(sum[from*e.n:], e.n, a[from:], e.m, b, e.n, to-from, e.n, k, back)
	})
}
