package tape

import (
	"runtime"
	"slices"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// An axisSum is a sum over the leading axes of a value that a tile program makes, of the columns of a matrix as the
// cotangent of a bias is, or over its last axes, of the rows. Some thousand numbers at a time are made, and added up
// while they are in the first cache, so that what only such sums read is never in memory but in a window of so many. The
// order is that of a sum by itself, sumMiddle or SumRows, and so are the bits. The gradient of mean((x*g + b - t)^2),
// where g and b are rows, takes half of the time.
//
// Where there are such sums a full sum may be one, too: then threads have whole rows, which begin anywhere in a block, and
// tiles may be rows. On one thread that takes up to a tenth more than lanes that tiles add to.
type axisSum struct {
	ref    Ref
	place  int  // of the value, among what is direct
	inner  int  // numbers of a row
	last   bool // rows are added up, not columns
	all    bool // or everything
	window bool // the value has no memory
}

// sumRowsOf is how many rows sumMiddle adds up before it adds up their sums.
const sumRowsOf = 128

// leastAlong is how many numbers are added up along with what makes them, in columns whose sums stay in the cache, or in
// rows that do. Tests set it low.
var leastAlong = 1 << 13

// leastSplit is how many numbers values have of which several threads make the most. Tests set it low.
var leastSplit = 1 << 18

const (
	widestColumns = 1 << 15 // numbers of a row whose columns are added up
	leastColumn   = 4       // and of a column
	alongPart     = 2048    // numbers that are made before they are added up, and of a row that is
	alongAll      = 3 << 10 // in all windows, if rows are no longer
	alongRoom     = alongPart + slotStride - tileSize
)

// closesAlong reports whether r is a sum over some axes that can join the tile program of what it adds up.
func (p *Plan) closesAlong(r Ref) bool {
	return !p.t.single(r) && p.isAlong(r) && p.isTiled(p.same[p.t.Args(r)[0]])
}

// isAlong reports whether r is such a sum but for where what it adds up is computed.
func (p *Plan) isAlong(r Ref) bool {
	t := p.t
	if t.ins[r].Op() != opSum || t.ins[r].batch != 0 || t.ins[r].dtype != tensor.Float64 {
		return false
	}
	a := p.same[t.Args(r)[0]]
	if !t.ins[a].Op().elementwise() || t.ins[a].dtype != tensor.Float64 || t.size(a) < leastAlong || t.maySteady(a) {
		return false
	}
	s, axes := t.Shape(a), t.Attr(r).Axes
	k := len(axes)
	if axes[k-1]-axes[0] != k-1 {
		return false
	}
	switch {
	case axes[0] == -len(s):
		return s[:k].Size() >= leastColumn && s[k:].Size() <= widestColumns
	case axes[k-1] == -1:
		return s[len(s)-k:].Size() <= alongPart
	}
	return false
}

// isTiled reports whether a is an elementwise value without batch axes, of more than one element, that is computed here.
func (p *Plan) isTiled(a Ref) bool {
	return p.home[a] >= 0 && p.steps[p.home[a]].kind == stepTile && p.t.ins[a].Op().elementwise() && p.t.ins[a].batch == 0 && !p.t.single(a)
}

// noteAlong notes the values of step i that only sums over some axes read: they have no memory.
func (p *Plan) noteAlong(i int, last []int32, keep []bool) {
	along, full := p.hasAlong(&p.steps[i])
	for _, r := range p.steps[i].refs {
		if !along || !p.sumsAlong(r, full) {
			continue
		}
		if a := p.same[p.t.Args(r)[0]]; !keep[a] && last[a] == int32(i) {
			p.noteWindow(a)
		}
	}
}

// hasAlong reports whether a step adds up over some axes along with what it makes, and full sums so, too.
func (p *Plan) hasAlong(s *step) (along, full bool) {
	t := p.t
	if s.kind != stepTile || !slices.ContainsFunc(s.refs, func(r Ref) bool { return t.ins[r].Op() == opSum && !t.single(r) }) {
		return false, false
	}
	if t.size(s.first) >= leastSplit {
		return true, true
	}
	spread := func(r Ref) bool { // numbers of rows are spread over r, and rows are no whole lanes
		if !t.ins[r].Op().elementwise() || last(t.Shape(r))%len(kernels.Lanes{}) == 0 {
			return false
		}
		return slices.ContainsFunc(t.Args(r), func(a Ref) bool { return !t.single(a) && last(t.Shape(a)) < last(t.Shape(r)) })
	}
	return true, slices.ContainsFunc(s.refs, spread)
}

// sumsAlong reports whether r is a sum that a step with such sums makes so: of the full ones, if any, those whose order counts.
func (p *Plan) sumsAlong(r Ref, full bool) bool {
	return p.t.ins[r].Op() == opSum && (!p.t.single(r) || full && !p.t.counts(p.same[p.t.Args(r)[0]]))
}

// sumAlong notes the sum r of a, which is at a place in memory, or in a window.
func (b *tileBuilder) sumAlong(r, a Ref) {
	s, axes := b.p.t.Shape(a), b.p.t.Attr(r).Axes
	x := axisSum{ref: r, place: int(-1 - b.where[a]), window: !b.lives(a)}
	switch {
	case b.p.t.single(r):
		x.inner, x.all = 1, true
	case axes[0] > -len(s):
		x.inner, x.last = s[len(s)-len(axes):].Size(), true
	default:
		x.inner = s[len(axes):].Size()
	}
	b.along = append(b.along, x)
}

// isSummed reports whether r is added up so.
func (b *tileBuilder) isSummed(r Ref) bool {
	return b.alongs && slices.ContainsFunc(b.refs, func(u Ref) bool { return b.p.sumsAlong(u, b.full) && b.p.same[b.p.t.Args(u)[0]] == r })
}

// An alongRun is one run of a tile program with sums over some axes: of each its parts, for columns sumRowsOf rows each,
// one after the other.
type alongRun struct {
	x      *execution
	tp     *tileProgram
	code   *tileCode
	parts  [][]float64   // by sum; where there is one, the result
	full   [][]blockSums // by worker, the full sums among them
	counts [][]float64   // by worker, counts of the block in which it begins
}

// blockSums are the blocks of a full sum that a worker has come by.
type blockSums struct {
	head   []float64     // the numbers up to the first block that begins there
	blocks []float64     // sums of whole ones
	lanes  kernels.Lanes // of the last one
	at     int           // how many numbers it has so far
}

// alongTiles runs a tile program with sums over some axes. Threads have whole parts of the sums each and, where there are
// full sums, too, whole blocks of those.
func (x *execution) alongTiles(tp *tileProgram, code *tileCode) {
	c := &alongRun{x: x, tp: tp, code: code, parts: make([][]float64, len(tp.along))}
	unit := 1 // elements that are whole parts
	for i := range tp.along {
		s := &tp.along[i]
		if s.all {
			continue
		}
		c.parts[i] = x.result(s.ref)
		if s.last {
			unit = common(unit, s.inner)
			continue
		}
		unit = common(unit, sumRowsOf*s.inner)
		if n := s.parts(tp.n); n > 1 {
			c.parts[i] = arena64.take(n * s.inner)
		}
		clear(c.parts[i])
	}
	if tp.ordered() {
		unit = common(unit, kernels.SumBlock)
	}
	units, workers := ceilDiv(tp.n, unit), 1
	if x.threads() > 1 && pool.Worth(tp.n*len(tp.code), pool.LeastElements) {
		workers = min(4*x.threads(), units)
	}
	c.full, c.counts = make([][]blockSums, workers), make([][]float64, workers)
	pool.Run(x.threads(), workers, func(w int) {
		if from, to := units*w/workers*unit, min(units*(w+1)/workers*unit, tp.n); from < to {
			c.full[w], c.counts[w] = make([]blockSums, len(tp.along)), make([]float64, len(tp.sums))
			c.part(w, from, to)
		}
	})
	runtime.KeepAlive(code)
	x.close(tp, &x.tiling)
	for i, s := range tp.sums {
		for _, counts := range c.counts {
			if counts != nil {
				x.t.num[s.ref] = round(x.t.ins[s.ref].dtype, x.t.num[s.ref]+counts[i])
			}
		}
	}
	for i := range tp.along {
		c.close(i)
	}
}

// close makes of its parts the sum i.
func (c *alongRun) close(i int) {
	s, t := &c.tp.along[i], c.x.t
	switch n := s.parts(c.tp.n); {
	case s.all:
		t.num[s.ref] = round(t.ins[s.ref].dtype, c.total(i))
	case !s.last && n > 1:
		sum := c.x.result(s.ref)
		clear(sum)
		for k := range n {
			kernels.Accumulate(sum, c.parts[i][k*s.inner:][:s.inner])
		}
		arena64.give(c.parts[i])
	}
}

// total is the full sum i, of the blocks of all workers in their order.
func (c *alongRun) total(i int) (total float64) {
	var now blockSums
	for _, full := range c.full {
		if full == nil {
			continue
		}
		next := &full[i]
		now.add(next.head)
		if now.blocks = append(now.blocks, next.blocks...); now.at == 0 {
			now.lanes, now.at = next.lanes, next.at
		}
	}
	if now.at > 0 {
		now.blocks = append(now.blocks, now.lanes.Fold())
	}
	for k, v := range now.blocks {
		if k == 0 {
			total = v
		} else {
			total += v
		}
	}
	return total
}

// add adds the next numbers.
func (b *blockSums) add(x []float64) {
	for len(x) > 0 {
		n := min(len(x), kernels.SumBlock-b.at)
		k := 0 // numbers up to the first lane
		for ; k < n && (b.at+k)%len(b.lanes) > 0; k++ {
			b.lanes[(b.at+k)%len(b.lanes)] += x[k]
		}
		kernels.SumLanes(&b.lanes, x[k:n])
		if b.at, x = b.at+n, x[n:]; b.at == kernels.SumBlock {
			b.blocks = append(b.blocks, b.lanes.Fold())
			b.lanes, b.at = kernels.Lanes{}, 0
		}
	}
}

// parts is how many parts the sums of columns of n numbers have.
func (s *axisSum) parts(n int) int { return ceilDiv(n/s.inner, sumRowsOf) }

// common is the least number of which both are divisors.
func common(x, y int) int {
	d, r := x, y
	for r > 0 {
		d, r = r, d%r
	}
	return x / d * y
}

// part runs tiles of the elements from one on, and adds them up.
func (c *alongRun) part(worker, from, end int) {
	x, tp := c.x, c.tp
	at := x.tiling
	at.direct, at.gone = slices.Clone(at.direct), make([]int, len(at.direct))
	var windows []int // the places of values that have no memory
	row := 1
	for i := range tp.along {
		s := &tp.along[i]
		if s.window && !slices.Contains(windows, s.place) {
			windows = append(windows, s.place)
		}
		if s.last || s.inner <= alongPart && (c.code.aside == nil || s.inner%8 == 0) { // whole rows are added at once, and written by lines
			row = common(row, s.inner)
		}
	}
	some := alongPart
	for some*len(windows) > alongAll && some/2 >= max(row, tileSize) {
		some /= 2
	}
	room := arena64.take(len(windows) * alongRoom)
	defer arena64.give(room)
	poison(room)
	for i, k := range windows {
		at.direct[k] = room[i*alongRoom:][:alongPart]
	}
	w := takeRoom(tp, c.code, len(at.direct))
	defer w.leave()
	w.fill(tp, c.code, at.loads)
	w.turns.lay(tp, at.loads, w.tile())
	clear(w.lanes)
	w.turned = from
	calls := c.code.callsFor(tp, &at)
	first := from
	for n := 0; from < end; n++ {
		if x.t.check != nil && n&1023 == 1023 {
			x.t.check()
		}
		to := min(from+some/row*row, end)
		for _, k := range windows {
			at.gone[k] = from
		}
		for now := from; now < to; {
			b := now / kernels.SumBlock
			all := min((b+1)*kernels.SumBlock, tp.n)
			next := min(to, all)
			w.tiles(tp, c.code, calls, now, next, &at)
			if next == all || next == end {
				w.turn(0)
				if first > b*kernels.SumBlock { // the worker before has the block
					w.foldApart(tp, c.counts[worker], at.odd)
				} else {
					w.fold(tp, b, at.sums, at.odd)
				}
			}
			now = next
		}
		for i := range tp.along {
			s := &tp.along[i]
			x := at.direct[s.place][from-at.gone[s.place]:][:to-from]
			if !s.all {
				s.add(c.parts[i], x, from, to)
				continue
			}
			full := &c.full[worker][i]
			if n := min(ceilDiv(first, kernels.SumBlock)*kernels.SumBlock, to) - from; n > 0 {
				full.head = append(full.head, x[:n]...)
				x = x[n:]
			}
			full.add(x)
		}
		from = to
	}
}

// add adds numbers from one on, which are the first of x, to the parts of a sum; of rows they are whole ones.
func (s *axisSum) add(parts, x []float64, from, to int) {
	n := s.inner
	if s.last {
		kernels.SumRows(parts[from/n:to/n], x[:to-from], n)
		return
	}
	for from < to {
		row, column := from/n, from%n
		part := parts[row/sumRowsOf*n:][:n]
		rows := min((to-from)/n, sumRowsOf-row%sumRowsOf)
		some := rows * n
		if column > 0 || rows == 0 { // a part of a row
			some = min(n-column, to-from)
			kernels.Accumulate(part[column:column+some], x[:some])
		} else {
			kernels.AccumulateRows(part, x, n, rows)
		}
		from, x = from+some, x[some:]
	}
}
