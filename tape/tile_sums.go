package tape

import (
	"runtime"
	"slices"
	"unsafe"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// An axisSum is a sum over the leading axes of a value that a tile program makes, of the columns of a matrix as the
// cotangent of a bias is, or over its last axes, of the rows. Some thousand numbers at a time are made, and added up
// while they are in the first cache, so that what only such sums read is never in memory but in a window of so many. The
// order is that of a sum by itself, sumMiddle or SumRows, and so are the bits. The gradient of sum(abs(x[:, newaxis] - y))
// over a million differences takes .4 of the time, that of mean((x*g + b - t)^2), where g and b are rows, .7.
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

// leastSplit is how many numbers values have whose full sums are made so, too, for several threads to share them, where there
// are some; one takes up to a tenth longer. Tests set it low.
var leastSplit = 1 << 16

// longestWhole is how many numbers rows have at most that are added up as a whole. Of longer ones each thread adds up what
// it makes to the lanes of a block, as full sums are: norms of 40 rows of 8000 took .8 of the time, their variances .8. Tests set it low.
var longestWhole = alongPart

const (
	widestColumns = 1 << 15 // numbers of a row whose columns are added up
	leastColumn   = 4       // and of a column
	rowsOfThread  = 4       // long rows for each thread, which has whole ones
	alongPart     = 2048    // numbers that are made before they are added up
	alongAll      = 3 << 10 // in all windows, if rows are no longer
	alongPage     = 512     // numbers of a page
	alongRoom     = alongPart + alongPage
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
		return !p.isLong(r) || s[:len(s)-k].Size() >= rowsOfThread*t.threads()
	}
	return false
}

// isLong reports whether such a sum is of rows that are longer than is added up at once.
func (p *Plan) isLong(r Ref) bool {
	s, axes := p.t.Shape(p.same[p.t.Args(r)[0]]), p.t.Attr(r).Axes
	return axes[0] > -len(s) && s[len(s)-len(axes):].Size() > longestWhole
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
	if n := t.size(s.first); n >= 4*leastSplit || n >= leastSplit && t.threads() > 1 {
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
	x := axisSum{ref: r, place: int(-1 - b.where[a]), window: b.p.inWindow(a)}
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

// An alongRun is one run of a tile program with sums over some axes.
type alongRun struct {
	x     *execution
	tp    *tileProgram
	code  *tileCode
	parts [][]float64 // by sum: for columns sumRowsOf rows each, one after the other; where there is one, the result
	at    []alongWorker
}

// An alongWorker is a part of such a run: elements that begin anywhere in a block of the full sums.
type alongWorker struct {
	*alongRun
	from    int
	room    *room
	tiling  tiling
	calls   []kernels.Call
	windows []int       // the places of values that have no memory
	begin   []int       // numbers into a page where they do, after the lead
	row     int         // elements that are added up together
	some    int         // elements that are made before they are
	full    []blockSums // by sum, the full ones, and of long rows that of the row at hand
	counts  []float64   // counts of the block in which it begins
}

// blockSums are the blocks of a full sum that a worker has come by.
type blockSums struct {
	head   []float64     // the numbers up to the first block that begins there
	blocks []float64     // sums of whole ones
	lanes  kernels.Lanes // of the last one
	at     int           // how many numbers it has so far
}

// alongTiles runs a tile program with sums over some axes. Threads have whole parts of the sums each and, where tiles add to
// lanes of full sums, whole blocks of those.
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
	c.at = make([]alongWorker, pool.Parts(x.threads()))
	piece := max(unit, kernels.SumBlock)
	pieces := ceilDiv(tp.n, piece)
	begin := func(k int) int { // with whole parts, and little of the block before, which waits for its sum
		if k == pieces {
			return tp.n
		}
		return k * piece / unit * unit
	}
	pool.Share(x.threads(), tp.n*len(tp.code), pieces, func(w, from, to int) {
		if from, to = begin(from), begin(to); from < to {
			c.at[w] = alongWorker{alongRun: c, from: from, full: make([]blockSums, len(tp.along)), counts: make([]float64, len(tp.sums))}
			c.at[w].run(to)
		}
	})
	runtime.KeepAlive(code)
	x.close(tp, &x.tiling)
	for i, s := range tp.sums {
		for w := range c.at {
			if c.at[w].counts != nil {
				x.t.num[s.ref] += c.at[w].counts[i]
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
func (c *alongRun) total(i int) float64 {
	var now blockSums
	for w := range c.at {
		if c.at[w].full == nil {
			continue
		}
		next := &c.at[w].full[i]
		now.add(next.head)
		if now.blocks = append(now.blocks, next.blocks...); now.at == 0 {
			now.lanes, now.at = next.lanes, next.at
		}
	}
	return now.close()
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

// run runs tiles of the elements up to an end, and adds them up.
func (w *alongWorker) run(end int) {
	x, tp := w.x, w.tp
	w.tiling = x.tiling
	w.tiling.direct, w.tiling.gone = slices.Clone(w.tiling.direct), make([]int, len(w.tiling.direct))
	w.settle()
	w.room = takeRoom(tp, w.code, len(w.tiling.direct))
	defer w.room.leave()
	w.room.along = grown(w.room.along, len(w.windows)*alongRoom) // of its core, as what the others used is in their caches
	poison(w.room.along)
	w.spreadWindows()
	w.room.fill(tp, w.code, w.tiling.loads)
	w.room.turns.lay(tp, w.tiling.loads, w.room.tile())
	clear(w.room.lanes)
	w.room.turned = w.from
	w.calls = w.code.callsFor(tp, &w.tiling)
	for n, from := 0, w.from; from < end; n++ {
		if x.t.check != nil && n&1023 == 1023 {
			x.t.check()
		}
		to := min(from+w.some/w.row*w.row, end)
		w.place(from)
		w.make(from, to, end)
		for i := range tp.along {
			w.add(i, from, to)
		}
		from = to
	}
}

// isFixed reports whether operand k is a value in memory, and no window.
func (w *alongWorker) isFixed(k int) bool {
	return w.tiling.direct[k] != nil && w.tp.direct[k] != None && !slices.Contains(w.windows, k)
}

// lead is where element from is of the first value in memory that is no window.
func (w *alongWorker) lead(from int) uintptr {
	for k, d := range w.tiling.direct {
		if w.isFixed(k) {
			return uintptr(unsafe.Pointer(&d[from-w.tiling.gone[k]]))
		}
	}
	return 0
}

// spreadWindows finds how far into a page windows begin, from where the lead does, so that none begins where another one
// or a value in memory does: lines that lie equally far into their pages push each other out of the first cache of a Zen 5,
// though it has room. With windows of four pages, and parts as long, norms of rows of 512 took 1.7 times as long, var of
// rows of 8000 1.5 times.
func (w *alongWorker) spreadWindows() {
	const line, lines, apart = 64, 64, 2
	var taken [lines]bool
	lead := w.lead(w.from)
	for k, d := range w.tiling.direct {
		if w.isFixed(k) {
			taken[(uintptr(unsafe.Pointer(&d[w.from-w.tiling.gone[k]]))-lead)/line%lines] = true
		}
	}
	w.begin = make([]int, len(w.windows))
	next := lines / 2
	for i := range w.begin {
		for tries := 0; taken[next%lines] && tries < lines; tries++ {
			next += apart
		}
		w.begin[i], next = next%lines*line/8, next+apart
	}
}

// place has the windows begin with element from, there.
func (w *alongWorker) place(from int) {
	lead := w.lead(from)
	for i, k := range w.windows {
		room := w.room.along[i*alongRoom:][:alongRoom]
		by := (int((lead-uintptr(unsafe.Pointer(&room[0])))/8%alongPage) + w.begin[i]) % alongPage &^ 7
		w.tiling.direct[k], w.tiling.gone[k] = room[by:][:alongPart], from
	}
}

// settle finds which values lie in windows, and how many elements are made at a time.
func (w *alongWorker) settle() {
	w.row, w.some = 1, alongPart
	for i := range w.tp.along {
		s := &w.tp.along[i]
		if s.window && !slices.Contains(w.windows, s.place) {
			w.windows = append(w.windows, s.place)
		}
		if s.last && s.inner <= longestWhole || !s.last && s.inner <= alongPart && (w.code.aside == nil || s.inner%8 == 0) { // whole rows are added at once, and written by lines
			w.row = common(w.row, s.inner)
		}
	}
	for w.some*len(w.windows) > alongAll && w.some/2 >= max(w.row, tileSize) {
		w.some /= 2
	}
}

// make runs the tiles of some elements, and folds the blocks that end there or at the worker's end.
func (w *alongWorker) make(from, to, end int) {
	tp := w.tp
	for from < to {
		b := from / kernels.SumBlock
		all := min((b+1)*kernels.SumBlock, tp.n)
		next := min(to, all)
		w.room.tiles(tp, w.code, w.calls, from, next, &w.tiling)
		switch {
		case next < all && next < end:
		case w.from > b*kernels.SumBlock: // the worker before has the block
			w.room.turn(0)
			w.room.foldApart(tp, w.counts, w.tiling.odd)
		default:
			w.room.turn(0)
			w.room.fold(tp, b, w.tiling.sums, w.tiling.odd)
		}
		from = next
	}
}

// add adds the elements that were made to sum i.
func (w *alongWorker) add(i, from, to int) {
	s := &w.tp.along[i]
	x := w.tiling.direct[s.place][from-w.tiling.gone[s.place]:][:to-from]
	full := &w.full[i]
	switch {
	case s.last && s.inner > longestWhole:
		s.addLong(w.parts[i], x, from, to, full)
		return
	case !s.all:
		s.add(w.parts[i], x, from, to)
		return
	}
	if n := min(ceilDiv(w.from, kernels.SumBlock)*kernels.SumBlock, to) - from; n > 0 {
		full.head = append(full.head, x[:n]...)
		x = x[n:]
	}
	full.add(x)
}

// addLong adds numbers from one on, which are the first of x, to the blocks of their row, and writes the sums of rows that end.
func (s *axisSum) addLong(sums, x []float64, from, to int, row *blockSums) {
	for from < to {
		some := min(to, (from/s.inner+1)*s.inner) - from
		row.add(x[:some])
		if from, x = from+some, x[some:]; from%s.inner == 0 {
			sums[from/s.inner-1] = row.close()
		}
	}
}

// close is the sum of all blocks, after which there are none.
func (b *blockSums) close() (total float64) {
	if b.at > 0 {
		b.blocks = append(b.blocks, b.lanes.Fold())
	}
	total = sumOfBlocks(b.blocks)
	b.blocks, b.lanes, b.at = b.blocks[:0], kernels.Lanes{}, 0
	return total
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
