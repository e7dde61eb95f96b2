package tape

import (
	"slices"
	"unsafe"

	"nabla/kernels"
)

// Edges are the columns in which what drifts, as a shift along the rows of a grid, is elsewhere than in the others.
// A program over such rows reads what drifts where it lies, and so computes wrong numbers in a few columns of each
// row; these are computed before, number by number from what they should be read of, and written when all others are.
// So tiles need not be copied, nor end with rows: 40 steps of the heat equation and back take .70 to .54 of the time on 64
// rows of 24 to 400 numbers, .49 on 400×400, .53 on 64×512, .73 on 16×1000.
type edges struct {
	width   int // of the rows
	columns []int
	pieces  []edgePiece // column by column, of each what is moved one after the other
	part    int         // so many numbers have no more of them than a tile
	writes  []bool      // by operand in memory: it is a result
}

// An edgePiece is a column of a pane of a moved operand: some rows, of which the first lies at off.
type edgePiece struct {
	column, operand, pane int
	off                   int
	rows                  ticks
}

// edgeShare is of how many columns one may be an edge: what is read for these lies apart. Of 4 in 24 steps took .79 of
// the time, of 6 in 24 1.3. Tests set it low.
var edgeShare = 6

// findEdges finds those of a program; nil where there are none, or too many, or where a wrong number would be seen.
func (tp *tileProgram) findEdges() *edges {
	e := &edges{}
	for i := range tp.moved {
		if lay := tp.moved[i].lay; lay.drifting > 0 {
			e.width = lay.dims[1]
		}
	}
	if e.width == 0 || tp.single || len(tp.sums)+len(tp.along) > 0 {
		return nil
	}
	for i := range tp.loads {
		if sp := tp.loads[i].sp; sp != nil && (len(sp.dims) != 2 || sp.dims[1] != e.width) {
			return nil
		}
	}
	for i := range tp.moved {
		if !e.add(tp.moved[i].lay) {
			return nil
		}
	}
	e.part = (tileSize/max(len(e.columns), 1) - 1) * e.width &^ (tileSize - 1)
	if e.part == 0 || edgeShare*len(e.columns) > e.width {
		return nil
	}
	slices.Sort(e.columns)
	for _, c := range e.columns {
		for i := range tp.moved {
			lay := tp.moved[i].lay
			for k := range lay.panes {
				if p := (edgePiece{column: c, operand: i, pane: k}); p.cut(lay, e.width) {
					e.pieces = append(e.pieces, p)
				}
			}
		}
	}
	e.writes = make([]bool, len(tp.direct))
	for i := range tp.code {
		m := &tp.code[i]
		if m.dst < 0 {
			e.writes[-1-m.dst] = true
		}
		if m.both != nil && m.dst2 < 0 {
			e.writes[-1-m.dst2] = true
		}
	}
	return e
}

// add adds the columns of a layout, and reports whether it has such.
func (e *edges) add(lay *layout) bool {
	if len(lay.dims) == 1 {
		return !slices.ContainsFunc(lay.panes, func(w pane) bool { return w.axes[0].gap > 1 })
	}
	if len(lay.dims) != 2 || lay.dims[1] != e.width {
		return false
	}
	if lay.drifting > 0 {
		main := &lay.panes[lay.drifting-1].axes[1]
		for c := range e.width {
			if (c < main.first || c >= main.end()) && !slices.Contains(e.columns, c) {
				e.columns = append(e.columns, c)
			}
		}
	}
	return true
}

// rows are those in which a column has numbers between from and end.
func (e *edges) rows(column, from, end int) (first, after int) {
	first = ceilDiv(from-column, e.width)
	return first, max(first, ceilDiv(end-column, e.width))
}

// edges computes the columns of a part of a block. The results wait.
func (w *room) edges(tp *tileProgram, code *tileCode, calls []kernels.Call, from, end int, in *tiling) {
	e, n := tp.edges, 0
	pieces := e.pieces
	w.aside = grown(w.aside, len(in.direct)*tileSize)
	for _, c := range e.columns {
		row, after := e.rows(c, from, end)
		for i, d := range in.direct {
			if d != nil && !e.writes[i] {
				lay(w.waiting(i), n, 1, d, row*e.width+c-goneOf(in.gone, i), e.width, after-row)
			}
		}
		for i := range tp.moved {
			m := &tp.moved[i]
			dst := w.slot(m.slot)[n:][:after-row]
			if !m.lay.whole {
				clear(dst)
			}
			for ; len(pieces) > 0 && pieces[0].column == c && pieces[0].operand == i; pieces = pieces[1:] {
				k := m.first + pieces[0].pane
				pieces[0].fill(dst, in.moved[k], goneOf(in.movedGone, k), row)
			}
		}
		for i := range tp.loads {
			if l := &tp.loads[i]; l.sp != nil {
				by := l.sp.strides
				lay(w.slot(l.slot), n, 1, in.loads[i], row*by[0]+c*by[1], by[0], after-row)
			}
		}
		n += after - row
	}
	if n == 0 {
		return
	}
	for i := range in.direct {
		w.at[len(in.direct)-1-i] = unsafe.Pointer(&w.waiting(i)[0])
	}
	for i := range tp.moved {
		m := &tp.moved[i]
		w.at[len(in.direct)-1-m.place] = unsafe.Pointer(&w.slot(m.slot)[0])
	}
	for i := range tp.loads {
		if l := &tp.loads[i]; l.sp != nil {
			w.at[len(in.direct)+int(l.slot)] = unsafe.Pointer(&w.slot(l.slot)[0])
			w.still[i].filled = false
		}
	}
	w.run(tp, code, calls, len(in.direct), 0, n, 1)
}

// waiting is where the numbers of an operand in memory are that edges have.
func (w *room) waiting(i int) []float64 { return w.aside[i*tileSize:][:tileSize] }

// putEdges writes the results that wait.
func (w *room) putEdges(e *edges, from, end int, in *tiling) {
	n := 0
	for _, c := range e.columns {
		row, after := e.rows(c, from, end)
		for i, d := range in.direct {
			if e.writes[i] {
				lay(d, row*e.width+c-goneOf(in.gone, i), e.width, w.waiting(i), n, 1, after-row)
			}
		}
		n += after - row
	}
}

// cut finds the rows of the piece; false where there are none.
func (p *edgePiece) cut(lay *layout, width int) bool {
	w := &lay.panes[p.pane]
	r, c := w.axes[0], &w.axes[len(w.axes)-1]
	p.off, p.rows = w.off, r
	if len(lay.dims) == 1 {
		first := ceilDiv(r.first-p.column, width)
		p.off += (first*width + p.column - r.first) * r.stride
		p.rows = ticks{first, ceilDiv(r.end()-p.column, width) - first, 1, width * r.stride}
		return p.rows.count > 0
	}
	p.off += (p.column - c.first) / c.gap * c.stride
	return c.first <= p.column && p.column < c.end() && (p.column-c.first)%c.gap == 0
}

// fill writes what the piece has of the rows from one on.
func (p *edgePiece) fill(dst, x []float64, gone, row int) {
	r := &p.rows
	above := max(row-r.first, 0)
	if r.gap > 1 { // else without a division
		above = ceilDiv(above, r.gap)
	}
	at := r.first + above*r.gap - row
	count := len(dst) - at
	if r.gap > 1 {
		count = ceilDiv(count, r.gap)
	}
	if count = min(count, r.count-above); count > 0 {
		lay(dst, at, r.gap, x, p.off-gone+above*r.stride, r.stride, count)
	}
}

// drifted says where numbers of what drifts are from number i on, wrong ones in its edges, and how many; none where
// rows begin or end that are not as far from their places.
func drifted[T real](l *layout, values [][]T, gone []int, i int) (at unsafe.Pointer, many int) {
	x, by := values[l.drifting-1], l.driftsBy(gone)
	r, width := &l.panes[l.drifting-1].axes[0], l.dims[1]
	if first, end := max(r.first*width, -by), min(r.end()*width, len(x)-by); first <= i && i < end {
		return unsafe.Pointer(&x[i+by]), end - i
	}
	return nil, 0
}
