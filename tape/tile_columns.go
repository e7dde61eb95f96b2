package tape

import (
	"runtime"
	"slices"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// A columnSum is a sum over the leading axes of a value that a tile program makes: of the columns of a matrix, as the
// cotangent of a bias is. Some thousand numbers at a time are made, and added up while they are in the first cache, so
// that what only such sums read is never in memory but in a window of so many. The rows are added in the order of
// sumMiddle: the bits are those of a sum by itself. The gradient of mean((x*g + b - t)^2), where g and b are rows, takes
// half of the time.
type columnSum struct {
	ref    Ref
	place  int // of the value, among what is direct
	rows   int
	inner  int  // numbers of a row
	window bool // the value has no memory
}

// sumRowsOf is how many rows sumMiddle adds up before it adds up their sums.
const sumRowsOf = 128

// leastColumned is how many numbers are added up along with what makes them, in rows of at most widestColumned, whose sums
// stay in the cache. Tests set it low.
var leastColumned = 1 << 13

const (
	widestColumned = 1 << 15
	columnedPart   = 2048 // numbers that are made before they are added up
	columnedRoom   = columnedPart + slotStride - tileSize
	leastSumsRows  = 4
)

// closesColumns reports whether r is a sum of columns that can join the tile program of what it adds up.
func (p *Plan) closesColumns(r Ref) bool {
	t := p.t
	if t.ins[r].Op() != opSum || t.ins[r].batch != 0 || t.single(r) || t.ins[r].dtype != tensor.Float64 {
		return false
	}
	a := p.same[t.Args(r)[0]]
	s, axes := t.Shape(a), t.Attr(r).Axes
	if !p.isTiled(a) || t.ins[a].dtype != tensor.Float64 || s.Size() < leastColumned || t.maySteady(a) {
		return false
	}
	for i, k := range axes {
		if k != i-len(s) {
			return false
		}
	}
	return s[:len(axes)].Size() >= leastSumsRows && s[len(axes):].Size() <= widestColumned
}

// isTiled reports whether a is an elementwise value without batch axes, of more than one element, that is computed here.
func (p *Plan) isTiled(a Ref) bool {
	return p.home[a] >= 0 && p.steps[p.home[a]].kind == stepTile && p.t.ins[a].Op().elementwise() && p.t.ins[a].batch == 0 && !p.t.single(a)
}

// noteColumned notes the values of step i that only sums of their columns read: they have no memory.
func (p *Plan) noteColumned(i int, last []int32, keep []bool) {
	for _, r := range p.steps[i].refs {
		if !p.sumsColumns(r) || p.steps[i].kind != stepTile {
			continue
		}
		if a := p.same[p.t.Args(r)[0]]; !keep[a] && last[a] == int32(i) {
			p.noteWindow(a)
		}
	}
}

// sumsColumns reports whether r, of a tile program, is no elementwise value and no single number.
func (p *Plan) sumsColumns(r Ref) bool { return p.t.ins[r].Op() == opSum && !p.t.single(r) }

// hasColumns reports whether a step adds up columns along with what it makes.
func (p *Plan) hasColumns(s *step) bool {
	return s.kind == stepTile && slices.ContainsFunc(s.refs, p.sumsColumns)
}

// column notes a sum of columns of what is at a place in memory, or in a window.
func (b *tileBuilder) column(r, a Ref) {
	s := b.p.t.Shape(a)
	k := len(b.p.t.Attr(r).Axes)
	b.columns = append(b.columns, columnSum{r, int(-1 - b.where[a]), s[:k].Size(), s[k:].Size(), !b.lives(a)})
}

// columned reports whether columns of r are added up.
func (b *tileBuilder) columned(r Ref) bool {
	return slices.ContainsFunc(b.refs, func(u Ref) bool { return b.p.sumsColumns(u) && b.p.same[b.p.t.Args(u)[0]] == r })
}

// A columnRun is one run of a tile program that adds up columns: of each sum its parts, sumRowsOf rows each, one after
// the other.
type columnRun struct {
	x     *execution
	tp    *tileProgram
	code  *tileCode
	parts [][]float64 // by sum; of one part the result
}

// addColumns runs a tile program that adds up columns. Threads have whole parts of the sums each and, where there are full
// sums, too, whole blocks of those.
func (x *execution) addColumns(tp *tileProgram, code *tileCode) {
	c := &columnRun{x, tp, code, make([][]float64, len(tp.columns))}
	inner := tp.columns[0].inner
	parts := ceilDiv(tp.n/inner, sumRowsOf)
	for i := range tp.columns {
		s := &tp.columns[i]
		if c.parts[i] = x.result(s.ref); parts > 1 {
			c.parts[i] = arena64.take(parts * inner)
		}
		clear(c.parts[i])
	}
	each := 1 // parts whose numbers are whole blocks
	for len(tp.sums) > 0 && each*sumRowsOf*inner%kernels.SumBlock != 0 {
		each *= 2
	}
	units, workers := ceilDiv(parts, each), 1
	if x.threads() > 1 && pool.Worth(tp.n*len(tp.code), pool.LeastElements) {
		workers = min(4*x.threads(), units)
	}
	pool.Run(x.threads(), workers, func(w int) {
		unit := each * sumRowsOf * inner
		if from, to := units*w/workers*unit, min(units*(w+1)/workers*unit, tp.n); from < to {
			c.part(from, to)
		}
	})
	runtime.KeepAlive(code)
	x.close(tp, &x.tiling)
	for i := range tp.columns {
		if parts == 1 {
			continue
		}
		sum := x.result(tp.columns[i].ref)
		clear(sum)
		for k := range parts {
			kernels.Accumulate(sum, c.parts[i][k*inner:][:inner])
		}
		arena64.give(c.parts[i])
	}
}

// part runs tiles of the elements from one on, and adds up their columns.
func (c *columnRun) part(from, end int) {
	x, tp := c.x, c.tp
	at := x.tiling
	at.direct, at.gone = slices.Clone(at.direct), make([]int, len(at.direct))
	windows := 0
	for i := range tp.columns {
		if s := &tp.columns[i]; s.window && at.direct[s.place] == nil {
			at.direct[s.place] = []float64{}
			windows++
		}
	}
	w := takeRoom(tp, c.code, len(at.direct))
	defer w.leave()
	room := arena64.take(windows * columnedRoom)
	defer arena64.give(room)
	poison(room)
	for i, d := range at.direct {
		if d != nil && len(d) == 0 {
			windows--
			at.direct[i] = room[windows*columnedRoom:][:columnedPart]
		}
	}
	w.fill(tp, c.code, at.loads)
	w.turns.lay(tp, at.loads, w.tile())
	clear(w.lanes)
	w.turned = from
	calls := c.code.callsFor(tp, &at)
	for n := 0; from < end; n++ {
		if x.t.check != nil && n&1023 == 1023 {
			x.t.check()
		}
		b := from / kernels.SumBlock
		all := min((b+1)*kernels.SumBlock, tp.n)
		to := min(from+columnedPart, all, end)
		for i := range tp.columns {
			if s := &tp.columns[i]; s.window {
				at.gone[s.place] = from
			}
		}
		w.tiles(tp, c.code, calls, from, to, &at)
		for i := range tp.columns {
			s := &tp.columns[i]
			s.add(c.parts[i], at.direct[s.place][from-at.gone[s.place]:], from, to)
		}
		if to == all || to == end {
			w.turn(0)
			w.fold(tp, b, at.sums, at.odd)
		}
		from = to
	}
}

// add adds numbers from one on, which are the first of x, to the parts of a sum.
func (s *columnSum) add(parts, x []float64, from, to int) {
	for n := s.inner; from < to; {
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
