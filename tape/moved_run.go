package tape

import "unsafe"

// A movedArg is an operand of a tile program that is read where its panes lie. Where a tile
// of it lies together it is read in place, elsewhere it is filled into a slot.
type movedArg struct {
	ref   Ref
	place int // among what is direct
	slot  int32
	lay   *layout
	first int // the values of its panes, among those of the program
}

// A cursor is numbers of a layout that lie together, from the first to one before the end:
// number i is number i+by of a pane's value.
type cursor struct {
	first, end int
	by, pane   int // or noPane, otherwise
	row, at    int // of two axes: where along the first, and which number is the first there
}

const (
	noPane    = -1 // the numbers are 0
	otherwise = -2 // they are one pane's, but do not lie together
)

// whereMoved says where n numbers of m from i on are: where they lie, or else in the slot; and
// how many there are. The cursor stands where the numbers before ended. Of values that lie in
// windows so many numbers are gone. What drifts may be read with its edges wrong. Of what is scattered all of the slot is
// filled.
func whereMoved[T real](m *movedArg, c *cursor, values [][]T, gone []int, slot []T, i, n int, edges bool) (at unsafe.Pointer, many int) {
	values = values[m.first:]
	if gone != nil {
		gone = gone[m.first:]
	}
	if m.lay.drifting > 0 && (edges || m.lay.dims[1] < leastTogether) {
		if edges {
			if at, many = drifted(m.lay, values, gone, i); many >= n {
				return at, many
			}
		}
		fillDrift(m.lay, slot[:n], values, gone, i)
		return unsafe.Pointer(&slot[0]), n
	}
	if m.lay.scattered {
		fillMoved(m.lay, slot, values, gone, i)
		return unsafe.Pointer(&slot[0]), len(slot)
	}
	if i < c.first || i >= c.end {
		m.lay.seek(c, i)
	}
	if c.pane >= 0 && i+n <= c.end {
		x, by := values[c.pane], c.by-goneOf(gone, c.pane)
		x = x[i+by : min(c.end+by, len(x))]
		return unsafe.Pointer(&x[0]), len(x)
	}
	for k := 0; k < n; {
		if i+k >= c.end {
			m.lay.seek(c, i+k)
		}
		to := slot[k:min(n, c.end-i)]
		switch c.pane {
		case noPane:
			clear(to)
		case otherwise:
			fillMoved(m.lay, to, values, gone, i+k)
		default:
			copy(to, values[c.pane][i+k+c.by-goneOf(gone, c.pane):])
		}
		k += len(to)
	}
	return unsafe.Pointer(&slot[0]), n
}

// isFilled reports whether tiles of m are written to its slot.
func (m *movedArg) isFilled() bool { return m.lay.scattered && m.lay.drifting == 0 }

// ahead is how many numbers of each such operand are written at a time, some tiles if these stay in the first cache.
func (tp *tileProgram) ahead() int {
	const most = 4
	filled := 0
	for i := range tp.moved {
		if tp.moved[i].isFilled() {
			filled++
		}
	}
	if filled == 0 {
		return 0
	}
	return tileSize * min(most, max(1, slotsInAll/(tileSize*filled)))
}

// What is moved along rows of leastTogether numbers or more is read where it lies: tiles end where rows
// do, or somewhat later where less than leastStraight of a row is left. Elsewhere tiles that go on in the
// next row are copied, which costs as much as one tile more for each row of 400. Tests set them low.
var leastTogether, leastStraight = 450, 48

// together is how many of n numbers from one on make a tile.
func (w *room) together(tp *tileProgram, code *tileCode, from, n int, edges bool) int {
	const line = 8
	short := 0
	for i := range tp.moved {
		m, c := &tp.moved[i], &w.paths[i]
		if m.lay.scattered || m.lay.dims[len(m.lay.dims)-1] < leastTogether || edges && m.lay.drifting > 0 {
			continue
		}
		if from < c.first || from >= c.end {
			m.lay.seek(c, from)
		}
		switch left := c.end - from; {
		case left >= n || c.pane == otherwise:
		case left < leastStraight:
			short = max(short, left)
		case code.aside != nil: // what is written past the caches is whole lines
			n = left &^ (line - 1)
		default:
			n = left
		}
	}
	if short > 0 {
		n = min(n, (from+short+line-1)&^(line-1)-from)
	}
	return n
}

// mostDims is how many axes a reading's index has room for without memory of its own.
const mostDims = 8

// index is number i by the axes.
func (lay *layout) index(i int, room *[mostDims]int) []int {
	index := room[:]
	if len(lay.dims) > len(index) {
		index = make([]int, len(lay.dims))
	}
	index = index[:len(lay.dims)]
	for k := len(index) - 1; k > 0; k-- {
		i, index[k] = i/lay.dims[k], i%lay.dims[k]
	}
	index[0] = i
	return index
}

// row is where in memory the first number of a pane is with an index but along the last axis;
// false where it has none.
func (w *pane) row(index []int) (off int, ok bool) {
	off = w.off
	for k := range len(index) - 1 {
		c := &w.axes[k]
		i := index[k] - c.first
		if c.gap > 1 {
			if i%c.gap != 0 {
				return 0, false
			}
			i /= c.gap
		}
		if uint(i) >= uint(c.count) {
			return 0, false
		}
		off += i * c.stride
	}
	return off, true
}

// seek moves a cursor to the numbers that lie together with number i, in a row. Of two axes it goes on without
// a division: differences along rows of 100 take .95 of the time.
func (lay *layout) seek(c *cursor, i int) {
	var room [mostDims]int
	index, last := room[:2], len(lay.dims)-1
	if last == 1 && i == c.end {
		if c.at+lay.dims[1] <= i {
			c.row, c.at = c.row+1, i
		}
		index[0], index[1] = c.row, i-c.at
	} else {
		index = lay.index(i, &room)
		c.row, c.at = index[0], i-index[last]
	}
	j := index[last]
	c.first, c.end, c.by, c.pane = i, c.at+lay.dims[last], 0, noPane // zeros up to the next pane
	for k := range lay.panes {
		w := &lay.panes[k]
		a := &w.axes[last]
		if j >= a.end() {
			continue
		}
		off, ok := w.row(index)
		switch begin := c.at + a.first; { // where the row begins
		case !ok:
		case j < a.first:
			c.end = min(c.end, begin)
		case a.stride == 1:
			c.first, c.end, c.by, c.pane = begin, begin+a.count, off-begin, k
			return
		default:
			c.first, c.end, c.by, c.pane = begin, begin+a.count, 0, otherwise
			return
		}
	}
}

// fillMoved writes to dst what a layout has from number i on; values are those of its panes.
func fillMoved[T real](lay *layout, dst []T, values [][]T, gone []int, i int) {
	if !lay.whole {
		clear(dst)
	}
	if len(lay.dims) == 1 {
		for k := range lay.panes {
			w := &lay.panes[k]
			c := &w.axes[0]
			if first, end := max(i, c.first), min(i+len(dst), c.end()); first < end {
				fillTicks(c, dst[first-i:end-i], values[k], w.off-goneOf(gone, k), first)
			}
		}
		return
	}
	var room [mostDims]int
	index := lay.index(i, &room)
	last := len(index) - 1
	for inner := lay.dims[last]; len(dst) > 0; {
		j := index[last]
		rows, n := 1, min(inner-j, len(dst)) // as many at once as stand in the last axis but one
		if last > 0 && j == 0 && n == inner {
			rows = min(lay.dims[last-1]-index[last-1], len(dst)/inner)
			n = rows * inner
		}
		for k := range lay.panes {
			w := &lay.panes[k]
			c := &w.axes[last]
			if first, end := max(j, c.first), min(j+min(n, inner), c.end()); first < end {
				fillRows(w, dst[:n], values[k], goneOf(gone, k), index, rows, inner, first, end-first, first-j)
			}
		}
		dst = dst[n:]
		index[last] = 0
		if last > 0 {
			index[last-1] += rows - 1
		}
		for k := last - 1; k >= 0; k-- {
			if index[k]++; index[k] < lay.dims[k] {
				break
			}
			index[k] = 0
		}
	}
}

// driftsBy is how far the numbers of the pane that drifts lie from their places: number p is number p+by of its value.
func (lay *layout) driftsBy(gone []int) (by int) {
	w := &lay.panes[lay.drifting-1]
	return w.off - goneOf(gone, lay.drifting-1) - w.axes[0].first*lay.dims[1] - w.axes[1].first
}

// fillDrift is fillMoved where one pane drifts.
func fillDrift[T real](lay *layout, dst []T, values [][]T, gone []int, i int) {
	main, inner := lay.drifting-1, lay.dims[1]
	w, x := &lay.panes[main], values[main]
	r, c := &w.axes[0], &w.axes[1]
	by := lay.driftsBy(gone)
	if from, end := max(i, -by), min(i+len(dst), len(x)-by); from < end {
		copy(dst[from-i:end-i], x[from+by:])
	}
	first, end := i/inner, (i+len(dst)+inner-1)/inner
	if !lay.whole {
		for row := first; row < end; row++ {
			at := row*inner - i
			if row < r.first || row >= r.end() {
				clear(cutOut(dst, at, inner))
				continue
			}
			clear(cutOut(dst, at, c.first))
			clear(cutOut(dst, at+c.end(), inner-c.end()))
		}
	}
	for k := range lay.panes {
		if k == main {
			continue
		}
		w, x := &lay.panes[k], values[k]
		r, c := &w.axes[0], &w.axes[1]
		off := w.off - goneOf(gone, k)
		for row := max(first, r.first); row < min(end, r.end()); row++ {
			at := row*inner + c.first - i
			to := cutOut(dst, at, c.count)
			from := off + (row-r.first)*r.stride
			if at < 0 {
				from -= at * c.stride
			}
			for j := range to {
				to[j] = x[from+j*c.stride]
			}
		}
	}
}

// cutOut is what dst has of n numbers from place at on, which may be before it.
func cutOut[T any](dst []T, at, n int) []T {
	from, end := max(at, 0), min(at+n, len(dst))
	if from >= end {
		return nil
	}
	return dst[from:end]
}

// fillRows writes rows of a pane, from an index on and inner apart in dst: n places of each from
// the first on, which is at k in dst. Of its value gone numbers lie before x.
func fillRows[T real](w *pane, dst, x []T, gone int, index []int, rows, inner, first, n, k int) {
	c := &w.axes[len(index)-1]
	if rows == 1 {
		if off, ok := w.row(index); ok {
			fillTicks(c, dst[k:k+n], x, off-gone, first)
		}
		return
	}
	r := &w.axes[len(index)-2]
	at := index[len(index)-2]
	defer func() { index[len(index)-2] = at }()
	from, end := max(at, r.first), min(at+rows, r.end())
	if r.gap > 1 {
		from += (r.gap - (from-r.first)%r.gap) % r.gap
	}
	if from >= end {
		return
	}
	index[len(index)-2] = from
	off, ok := w.row(index)
	if !ok {
		return
	}
	off -= gone
	if n == inner && c.gap == 1 && r.gap == 1 && (c.stride == 0 && r.stride == 1 || r.stride == 0) && rowsAtOnce(n, c.stride, r.stride) { // numbers or rows, each repeated
		fillShort(dst[(from-at)*inner+k:][:(end-from)*inner], x, off, n, c.stride, r.stride)
		return
	}
	if c.gap == 1 && c.stride == 1 {
		layRows(dst, (from-at)*inner+k, r.gap*inner, x, off+first-c.first, r.stride, n, (end-from+r.gap-1)/r.gap)
		return
	}
	if n <= mostShort && c.gap == 1 { // column by column: a loop for each row takes twice as long
		for i := range n {
			lay(dst, (from-at)*inner+k+i, r.gap*inner, x, off+(first-c.first+i)*c.stride, r.stride, (end-from+r.gap-1)/r.gap)
		}
		return
	}
	for row := from; row < end; row += r.gap {
		fillTicks(c, dst[(row-at)*inner+k:][:n], x, off, first)
		off += r.stride
	}
}

// fillTicks writes to dst the places from first on; x[off] is at the first of all.
func fillTicks[T real](c *ticks, dst, x []T, off, first int) {
	k, gap, stride := 0, c.gap, c.stride
	if first -= c.first; gap > 1 { // the first place that is one of them
		i := (first + gap - 1) / gap
		k, first = i*gap-first, i
	}
	off += first * stride
	switch {
	case k >= len(dst):
	case gap == 1 && stride == 1:
		copy(dst, x[off:])
	case gap == 1 && stride == 0:
		fill(dst, x[off])
	default:
		lay(dst, k, gap, x, off, stride, (len(dst)-k+gap-1)/gap)
	}
}
