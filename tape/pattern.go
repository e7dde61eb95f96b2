package tape

import (
	"slices"

	"nabla/tape/tensor"
)

// A pattern says which elements of a source each element of a value may depend on: a
// matrix of zeros and ones, a row for each element of the value, a column for each of
// the source. It may say too much, never too little.
//
// Programs on tensors depend on their sources along straight lines: x[1:] by one line
// whatever its length, a stencil by one for each of its arms. So a pattern is a union of
// bands; only what has no such form (a gather) is a list of every entry.
type pattern struct {
	rows, cols int
	bands      []band
	list       *entries // in place of bands
}

// A band is the entries (row + Σ k·walk.row, col + Σ k·walk.col) with 0 ≤ k < walk.n for
// each walk. A walk that stays in its row is a sum, one that stays in its column repeats.
type band struct {
	row, col int
	walks    []walk
}

type walk struct{ n, row, col int }

// entries are the rows of a pattern one by one, ascending: row i has the columns
// col[ptr[i]:ptr[i+1]].
type entries struct{ ptr, col []int32 }

// most bounds the bands of a pattern, and what is listed for each row and column of one.
const (
	mostBands   = 256
	mostEntries = 64
)

func identity(n int) *pattern {
	if n == 0 {
		return &pattern{}
	}
	return &pattern{rows: n, cols: n, bands: []band{band{walks: []walk{{n, 1, 1}}}.normal()}}
}

// everything is the pattern of which nothing is known.
func everything(rows, cols int) *pattern {
	if rows == 0 || cols == 0 {
		return &pattern{rows: rows, cols: cols}
	}
	return &pattern{rows: rows, cols: cols, bands: []band{band{walks: []walk{{rows, 1, 0}, {cols, 0, 1}}}.normal()}}
}

// count bounds the number of entries from above.
func (p *pattern) count() float64 {
	if p.list != nil {
		return float64(len(p.list.col))
	}
	n := 0.0
	for i := range p.bands {
		n += p.bands[i].count()
	}
	return n
}

func (b *band) count() float64 {
	n := 1.0
	for _, w := range b.walks {
		n *= float64(w.n)
	}
	return n
}

// normal writes a band in one way: walks go down, or else right, the longest first, and
// two that go on in each other are one.
func (b band) normal() band {
	ws := make([]walk, 0, len(b.walks))
	for _, w := range b.walks {
		if w.n == 1 || w.row == 0 && w.col == 0 {
			continue
		}
		if w.row < 0 || w.row == 0 && w.col < 0 {
			b.row, b.col = b.row+(w.n-1)*w.row, b.col+(w.n-1)*w.col
			w.row, w.col = -w.row, -w.col
		}
		ws = append(ws, w)
	}
	slices.SortFunc(ws, func(x, y walk) int {
		if x.row != y.row {
			return y.row - x.row
		}
		return y.col - x.col
	})
	for i := len(ws) - 2; i >= 0; i-- {
		if x, y := ws[i], ws[i+1]; x.row == y.n*y.row && x.col == y.n*y.col {
			ws[i] = walk{x.n * y.n, y.row, y.col}
			ws = slices.Delete(ws, i+1, i+2)
		}
	}
	b.walks = ws
	return b
}

// add puts a normal band into the pattern, joined with one that it goes on in.
func (p *pattern) add(b band) {
	for i := range p.bands {
		if joined, ok := joinBands(p.bands[i], b); ok {
			p.bands[i] = joined
			return
		}
	}
	p.bands = append(p.bands, b)
}

// joinBands is the union of two bands where that is one: they differ in the length of one
// walk and lie on one line, touching each other.
func joinBands(a, b band) (band, bool) {
	if len(a.walks) < len(b.walks) {
		a, b = b, a
	}
	row, col := b.row-a.row, b.col-a.col
	if len(a.walks) == 0 && (row != 0 || col != 0) {
		return band{a.row, a.col, []walk{{2, row, col}}}.normal(), true
	}
	if slices.Equal(a.walks, b.walks) {
		if row == 0 && col == 0 {
			return a, true
		}
		for i, w := range a.walks {
			if k, ok := w.steps(row, col); ok && k <= w.n && k >= -w.n {
				return a.extended(i, k, w.n), true
			}
		}
		return a, false
	}
	for i, w := range a.walks { // all walks are the same but this
		n := 1
		switch {
		case len(a.walks) == len(b.walks):
			if v := b.walks[i]; v.row != w.row || v.col != w.col || !slices.Equal(a.walks[i+1:], b.walks[i+1:]) {
				continue
			}
			n = b.walks[i].n
		case len(a.walks) != len(b.walks)+1 || !slices.Equal(a.walks[i+1:], b.walks[i:]):
			continue
		}
		if k, ok := w.steps(row, col); ok && slices.Equal(a.walks[:i], b.walks[:i]) && k <= w.n && k+n >= 0 {
			return a.extended(i, k, n), true
		}
	}
	return a, false
}

// extended is the band with n steps from step k on added to walk i.
func (b band) extended(i, k, n int) band {
	w := b.walks[i]
	first := min(0, k)
	ws := slices.Clone(b.walks)
	ws[i].n = max(w.n, k+n) - first
	return band{b.row + first*w.row, b.col + first*w.col, ws}.normal()
}

// steps is how many steps of the walk lead along (row, col).
func (w walk) steps(row, col int) (int, bool) {
	by, way := w.row, row
	if by == 0 {
		by, way = w.col, col
	}
	if way%by != 0 {
		return 0, false
	}
	k := way / by
	return k, k*w.row == row && k*w.col == col
}

// union adds what q says to p; both may be nil, and are not changed.
func (p *pattern) union(q *pattern) *pattern {
	switch {
	case p == nil || p == q:
		return q
	case q == nil:
		return p
	}
	if p.list == nil && q.list == nil {
		out := &pattern{rows: p.rows, cols: p.cols, bands: slices.Clone(p.bands)}
		for _, b := range q.bands {
			out.add(b)
		}
		if len(out.bands) <= mostBands {
			return out
		}
		p, q = out, &pattern{rows: p.rows, cols: p.cols}
	}
	if x, y := p.listed(), q.listed(); x != nil && y != nil {
		z := &entries{ptr: make([]int32, 1, p.rows+1)}
		for i := range p.rows {
			z.col = mergeSorted(z.col, x.row(i), y.row(i))
			z.ptr = append(z.ptr, int32(len(z.col)))
		}
		return &pattern{rows: p.rows, cols: p.cols, list: z}
	}
	return everything(p.rows, p.cols)
}

func (e *entries) row(i int) []int32 { return e.col[e.ptr[i]:e.ptr[i+1]] }

// mergeSorted appends the union of two ascending lists.
func mergeSorted(dst, x, y []int32) []int32 {
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0] < y[0]:
			dst, x = append(dst, x[0]), x[1:]
		case x[0] > y[0]:
			dst, y = append(dst, y[0]), y[1:]
		default:
			dst, x, y = append(dst, x[0]), x[1:], y[1:]
		}
	}
	return append(append(dst, x...), y...)
}

// listed lists the entries of a pattern on the way; nil when there are too many.
func (p *pattern) listed() *entries {
	if p.list != nil {
		return p.list
	}
	if p.count() > mostEntries*float64(p.rows+p.cols) {
		return nil
	}
	return p.entries()
}

// entries lists all entries, row by row, each once. The caller knows that there are few
// enough.
func (p *pattern) entries() *entries {
	if p.list != nil {
		return p.list
	}
	if e := p.diagonals(); e != nil {
		return e
	}
	bands := slices.Clone(p.bands) // from left to right, so that most rows come out in order
	slices.SortStableFunc(bands, func(x, y band) int { return (x.col - x.row) - (y.col - y.row) })
	e := &entries{ptr: make([]int32, p.rows+1)}
	total := 0
	for i := range bands {
		bands[i].lines(func(row, _, n, step, _ int) {
			total += n
			if step == 0 {
				e.ptr[row+1] += int32(n)
				return
			}
			for ; n > 0; n-- {
				e.ptr[row+1]++
				row += step
			}
		})
	}
	e.col = make([]int32, total)
	next := int32(0) // ptr[i+1] becomes where row i starts, then where it ends
	for i := 1; i < len(e.ptr); i++ {
		next, e.ptr[i] = next+e.ptr[i], next
	}
	for i := range bands {
		bands[i].lines(func(row, col, n, step, by int) {
			for ; n > 0; n-- {
				e.col[e.ptr[row+1]] = int32(col)
				e.ptr[row+1]++
				row, col = row+step, col+by
			}
		})
	}
	e.tidy()
	return e
}

// diagonals is entries where every band has at most one entry in a row and goes from row
// to row: between the rows where one begins or ends the same bands are in each row.
func (p *pattern) diagonals() *entries {
	cuts, total := []int{0, p.rows}, 0
	for _, b := range p.bands {
		n := 1
		if len(b.walks) > 0 {
			n = b.walks[0].n
		}
		if len(b.walks) > 1 || len(b.walks) == 1 && b.walks[0].row != 1 {
			return nil
		}
		cuts, total = append(cuts, b.row, b.row+n), total+n
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	e := &entries{ptr: make([]int32, p.rows+1), col: make([]int32, total)}
	k, crossed := 0, false
	for s := range cuts[1:] {
		from, to := cuts[s], cuts[s+1]
		var here []walk // the columns in row from, and their steps
		for _, b := range p.bands {
			w := walk{n: 1}
			if len(b.walks) > 0 {
				w = b.walks[0]
			}
			if b.row <= from && from < b.row+w.n {
				here = append(here, walk{0, b.col + (from-b.row)*w.col, w.col})
			}
		}
		slices.SortFunc(here, func(x, y walk) int { return x.row - y.row })
		for i := range here {
			crossed = crossed || i > 0 && (here[i].row == here[i-1].row || here[i].col != here[i-1].col)
		}
		for i, w := range here {
			at, col := k+i, w.row
			for range to - from {
				e.col[at] = int32(col)
				at, col = at+len(here), col+w.col
			}
		}
		for i := from; i < to; i++ {
			k += len(here)
			e.ptr[i+1] = int32(k)
		}
	}
	if crossed {
		e.tidy()
	}
	return e
}

// lines calls f for the entries of each line along the longest walk.
func (b *band) lines(f func(row, col, n, step, by int)) {
	if len(b.walks) == 0 {
		f(b.row, b.col, 1, 0, 0)
		return
	}
	long := 0
	for i, w := range b.walks {
		if w.n > b.walks[long].n {
			long = i
		}
	}
	rest := slices.Delete(slices.Clone(b.walks), long, long+1)
	w := b.walks[long]
	k := make([]int, len(rest))
	row, col := b.row, b.col
	for {
		f(row, col, w.n, w.row, w.col)
		i := len(rest) - 1
		for ; i >= 0; i-- {
			row, col = row+rest[i].row, col+rest[i].col
			if k[i]++; k[i] < rest[i].n {
				break
			}
			row, col = row-k[i]*rest[i].row, col-k[i]*rest[i].col
			k[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// tidy sorts each row and leaves out what is there twice.
func (e *entries) tidy() {
	to := int32(0)
	from := int32(0)
	for i := range len(e.ptr) - 1 {
		end := e.ptr[i+1]
		row := e.col[from:end]
		for k := 1; k < len(row); k++ {
			if row[k] <= row[k-1] {
				slices.Sort(row)
				row = slices.Compact(row)
				break
			}
		}
		if to != from {
			copy(e.col[to:], row)
		}
		to += int32(len(row))
		e.ptr[i+1] = to
		from = end
	}
	e.col = e.col[:to]
}

// transposed lists the columns as rows.
func (e *entries) transposed(cols int) *entries {
	out, _ := e.turned(nil, cols)
	return out
}

// widest is the largest number of entries in a row.
func (e *entries) widest() int {
	most := int32(0)
	for i := 1; i < len(e.ptr); i++ {
		most = max(most, e.ptr[i]-e.ptr[i-1])
	}
	return int(most)
}

// behind is the pattern of a value that depends by rel on one that depends by e on the
// source; nil when there is too much of it.
func (e *entries) behind(rel *pattern, cols int) *pattern {
	r := rel.listed()
	if r == nil {
		return nil
	}
	out := &entries{ptr: make([]int32, 1, rel.rows+1)}
	limit := mostEntries * (rel.rows + cols)
	for i := range rel.rows {
		from := len(out.col)
		args := r.row(i)
		for _, a := range args {
			out.col = append(out.col, e.row(int(a))...)
		}
		if row := out.col[from:]; len(args) > 1 {
			slices.Sort(row)
			out.col = out.col[:from+len(slices.Compact(row))]
		}
		if len(out.col) > limit {
			return nil
		}
		out.ptr = append(out.ptr, int32(len(out.col)))
	}
	return &pattern{rows: rel.rows, cols: cols, list: out}
}

// A box is a band whose walks go along one axis each of a value's shape (-1: they stay
// in their row).
type box struct {
	at    []int // the first row, as an index
	col   int
	walks []boxWalk
}

type boxWalk struct{ n, axis, step, col int }

func stridesOf(s tensor.Shape) []int {
	out := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		out[i] = n
		n *= s[i]
	}
	return out
}

// boxes appends the band as boxes of a value of shape s; false when it has no such form,
// as the diagonal of a matrix.
func (b band) boxes(s tensor.Shape, list []box) ([]box, bool) {
	stride := stridesOf(s)
	lists := make([]int, 3*len(s))
	x := box{at: lists[:len(s):len(s)], col: b.col, walks: make([]boxWalk, 0, len(b.walks))}
	rest := b.row
	for a, st := range stride {
		x.at[a], rest = rest/st, rest%st
	}
	reach, count := lists[len(s):2*len(s)], lists[2*len(s):]
	copy(reach, x.at)
	for _, w := range b.walks {
		if w.row == 0 {
			x.walks = append(x.walks, boxWalk{w.n, -1, 0, w.col})
			continue
		}
		a := 0
		for a < len(s) && (s[a] == 1 || stride[a] > w.row) {
			a++
		}
		if a == len(s) || w.row%stride[a] != 0 {
			return list, false
		}
		step := w.row / stride[a]
		x.walks = append(x.walks, boxWalk{w.n, a, step, w.col})
		reach[a] += (w.n - 1) * step
		count[a]++
	}
	for i, w := range b.walks { // a walk over the end of its axis goes on in the next row
		a := x.walks[i].axis
		if a < 0 || reach[a] < s[a] {
			continue
		}
		step := x.walks[i].step
		if count[a] > 1 || s[a]%step != 0 {
			return list, false
		}
		per := s[a] / step
		head := 0
		if x.at[a] >= step {
			head = min(w.n, (s[a]-x.at[a]+step-1)/step)
		}
		full, tail := (w.n-head)/per, (w.n-head)%per
		ok := true
		piece := func(from int, ws ...walk) {
			p := band{b.row + from*w.row, b.col + from*w.col, slices.Replace(slices.Clone(b.walks), i, i+1, ws...)}
			if ok {
				list, ok = p.boxes(s, list)
			}
		}
		if head > 0 {
			piece(0, walk{head, w.row, w.col})
		}
		if full > 0 {
			piece(head, walk{full, per * w.row, per * w.col}, walk{per, w.row, w.col})
		}
		if tail > 0 {
			piece(head+full*per, walk{tail, w.row, w.col})
		}
		return list, ok
	}
	return append(list, x), true
}

// band is the box in a value of shape s.
func (x *box) band(s tensor.Shape) band {
	b := band{col: x.col, walks: make([]walk, 0, len(x.walks))}
	stride := stridesOf(s)
	for a, i := range x.at {
		b.row += i * stride[a]
	}
	for _, w := range x.walks {
		row := 0
		if w.axis >= 0 {
			row = w.step * stride[w.axis]
		}
		b.walks = append(b.walks, walk{w.n, row, w.col})
	}
	return b.normal()
}

// A fate is what becomes of a box.
type fate uint8

const (
	kept fate = iota
	gone
	unclear // there is no box that says it
)

// through is the pattern of a value of shape to whose elements are those of one of shape
// from, moved as f moves a box; nil when there is no band that says it.
func (p *pattern) through(from, to tensor.Shape, f func(x *box) fate) *pattern {
	if p.list != nil {
		return nil
	}
	out := &pattern{rows: to.Size(), cols: p.cols}
	var list []box
	ok := true
	for _, b := range p.bands {
		if list, ok = b.boxes(from, list); !ok || len(list) > 16*mostBands {
			return nil
		}
	}
	for i := range list {
		switch f(&list[i]) {
		case kept:
			out.add(list[i].band(to))
		case unclear:
			return nil
		}
	}
	if len(out.bands) > mostBands {
		return nil
	}
	return out
}

// clone is a box of its own with n axes more in front of axis a.
func (x *box) clone() *box { return &box{slices.Clone(x.at), x.col, slices.Clone(x.walks)} }

// slice keeps the elements from, from+step, … of an axis, n at most; they are counted anew.
func (x *box) slice(axis, from, n, step int) fate {
	by := -1
	for i := range x.walks {
		if x.walks[i].axis != axis {
			continue
		}
		if by >= 0 {
			return x.shift(axis, from, n, step)
		}
		by = i
	}
	c := x.at[axis] - from
	if by < 0 {
		if c%step != 0 || c/step < 0 || c/step >= n {
			return gone
		}
		x.at[axis] = c / step
		return kept
	}
	w := &x.walks[by]
	first, skip := 0, 1 // the steps of the walk that hit the slice
	if s := max(step, -step); s > 1 {
		for first < s && (c+first*w.step)%s != 0 {
			first++
		}
		if first == s {
			return gone
		}
		skip = s / gcd(s, max(w.step, -w.step))
	}
	if first >= w.n {
		return gone
	}
	at, d := (c+first*w.step)/step, skip*w.step/step
	lo, hi := 0, (w.n-1-first)/skip
	if d > 0 {
		lo, hi = max(lo, ceilDiv(-at, d)), min(hi, floorDiv(n-1-at, d))
	} else {
		lo, hi = max(lo, ceilDiv(at-(n-1), -d)), min(hi, floorDiv(at, -d))
	}
	if lo > hi {
		return gone
	}
	x.at[axis] = at + lo*d
	x.col += (first + lo*skip) * w.col
	*w = boxWalk{hi - lo + 1, axis, d, skip * w.col}
	return kept
}

// shift is slice for an axis with several walks: all of it is kept, or none.
func (x *box) shift(axis, from, n, step int) fate {
	lo, hi := x.at[axis], x.at[axis]
	for _, w := range x.walks {
		if w.axis == axis {
			lo, hi = lo+min(0, (w.n-1)*w.step), hi+max(0, (w.n-1)*w.step)
		}
	}
	switch {
	case step != 1:
		return unclear
	case hi < from || lo >= from+n:
		return gone
	case lo < from || hi >= from+n:
		return unclear
	}
	x.at[axis] -= from
	return kept
}

// stretch puts element i of an axis at from + i·step.
func (x *box) stretch(axis, from, step int) {
	x.at[axis] = from + step*x.at[axis]
	for i := range x.walks {
		if x.walks[i].axis == axis {
			x.walks[i].step *= step
		}
	}
}

// sum makes one element of an axis, repeat n of one.
func (x *box) sum(axis int) {
	x.at[axis] = 0
	for i := range x.walks {
		if w := &x.walks[i]; w.axis == axis {
			w.axis, w.step = -1, 0
		}
	}
}

func (x *box) repeat(axis, n int) { x.walks = append(x.walks, boxWalk{n, axis, 1, 0}) }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func ceilDiv(a, b int) int { return -floorDiv(-a, b) }
