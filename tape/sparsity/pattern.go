// Package sparsity says which derivatives can differ from zero: patterns of Jacobians, how they
// move with the elements of a value, and colours for the rows that may be computed together.
package sparsity

import (
	"slices"
)

// A Pattern says which elements of a source each element of a value may depend on: a
// matrix of zeros and ones, a row for each element of the value, a column for each of
// the source. It may say too much, never too little.
//
// Programs on tensors depend on their sources along straight lines: x[1:] by one line
// whatever its length, a stencil by one for each of its arms. So a pattern is a union of
// bands; only what has no such form (a gather) is a list of every entry.
type Pattern struct {
	Rows, Cols int
	Bands      []Band
	List       *Entries // in place of Bands
}

// A Band is the entries (Row + Σ k·walk.Row, Col + Σ k·walk.Col) with 0 ≤ k < walk.N for
// each walk. A walk that stays in its row is a sum, one that stays in its column repeats.
type Band struct {
	Row, Col int
	Walks    []Walk
}

// A Walk is N entries, each Row rows and Col columns after the one before.
type Walk struct{ N, Row, Col int }

// MostBands bounds the bands of a pattern, mostEntries what is listed for each row and column of one.
const (
	MostBands   = 256
	mostEntries = 64
)

// Identity is the pattern of a value that depends element by element on one of its n.
func Identity(n int) *Pattern {
	if n == 0 {
		return &Pattern{}
	}
	return &Pattern{Rows: n, Cols: n, Bands: []Band{Band{Walks: []Walk{{n, 1, 1}}}.normal()}}
}

// Everything is the pattern of a value of which nothing is known.
func Everything(rows, cols int) *Pattern {
	if rows == 0 || cols == 0 {
		return &Pattern{Rows: rows, Cols: cols}
	}
	return &Pattern{Rows: rows, Cols: cols, Bands: []Band{Band{Walks: []Walk{{rows, 1, 0}, {cols, 0, 1}}}.normal()}}
}

// IsIdentity reports whether every element depends on its own of as many, and on no other.
func (p *Pattern) IsIdentity() bool {
	if p.List != nil || len(p.Bands) != 1 || p.Rows != p.Cols {
		return false
	}
	return p.Rows == 1 || slices.Equal(p.Bands[0].Walks, []Walk{{p.Rows, 1, 1}})
}

// Count bounds the number of entries from above.
func (p *Pattern) Count() float64 {
	if p.List != nil {
		return float64(len(p.List.Col))
	}
	n := 0.0
	for i := range p.Bands {
		n += p.Bands[i].count()
	}
	return n
}

// count is how many entries the band has.
func (b *Band) count() float64 {
	n := 1.0
	for _, w := range b.Walks {
		n *= float64(w.N)
	}
	return n
}

// normal writes a band in one way: walks go down, or else right, the longest first, and
// two that go on in each other are one.
func (b Band) normal() Band {
	ws := make([]Walk, 0, len(b.Walks))
	for _, w := range b.Walks {
		if w.N == 1 || w.Row == 0 && w.Col == 0 {
			continue
		}
		if w.Row < 0 || w.Row == 0 && w.Col < 0 {
			b.Row, b.Col = b.Row+(w.N-1)*w.Row, b.Col+(w.N-1)*w.Col
			w.Row, w.Col = -w.Row, -w.Col
		}
		ws = append(ws, w)
	}
	slices.SortFunc(ws, func(x, y Walk) int {
		if x.Row != y.Row {
			return y.Row - x.Row
		}
		return y.Col - x.Col
	})
	for i := len(ws) - 2; i >= 0; i-- {
		if x, y := ws[i], ws[i+1]; x.Row == y.N*y.Row && x.Col == y.N*y.Col {
			ws[i] = Walk{x.N * y.N, y.Row, y.Col}
			ws = slices.Delete(ws, i+1, i+2)
		}
	}
	b.Walks = ws
	return b
}

// Add puts a normal band into the pattern, joined with one that it goes on in.
func (p *Pattern) Add(b Band) {
	for i := range p.Bands {
		if joined, ok := joinBands(p.Bands[i], b); ok {
			p.Bands[i] = joined
			return
		}
	}
	p.Bands = append(p.Bands, b)
}

// joinBands is the union of two bands where that is one: they differ in the length of one
// walk and lie on one line, touching each other.
func joinBands(a, b Band) (Band, bool) {
	if len(a.Walks) < len(b.Walks) {
		a, b = b, a
	}
	row, col := b.Row-a.Row, b.Col-a.Col
	if len(a.Walks) == 0 && (row != 0 || col != 0) {
		return Band{a.Row, a.Col, []Walk{{2, row, col}}}.normal(), true
	}
	if slices.Equal(a.Walks, b.Walks) {
		if row == 0 && col == 0 {
			return a, true
		}
		for i, w := range a.Walks {
			if k, ok := w.steps(row, col); ok && k <= w.N && k >= -w.N {
				return a.extended(i, k, w.N), true
			}
		}
		return a, false
	}
	for i, w := range a.Walks { // all walks are the same but this
		n := 1
		switch {
		case len(a.Walks) == len(b.Walks):
			if v := b.Walks[i]; v.Row != w.Row || v.Col != w.Col || !slices.Equal(a.Walks[i+1:], b.Walks[i+1:]) {
				continue
			}
			n = b.Walks[i].N
		case len(a.Walks) != len(b.Walks)+1 || !slices.Equal(a.Walks[i+1:], b.Walks[i:]):
			continue
		}
		if k, ok := w.steps(row, col); ok && slices.Equal(a.Walks[:i], b.Walks[:i]) && k <= w.N && k+n >= 0 {
			return a.extended(i, k, n), true
		}
	}
	return a, false
}

// extended is the band with n steps from step k on added to walk i.
func (b Band) extended(i, k, n int) Band {
	w := b.Walks[i]
	first := min(0, k)
	ws := slices.Clone(b.Walks)
	ws[i].N = max(w.N, k+n) - first
	return Band{b.Row + first*w.Row, b.Col + first*w.Col, ws}.normal()
}

// steps is how many steps of the walk lead along (row, col).
func (w Walk) steps(row, col int) (int, bool) {
	by, way := w.Row, row
	if by == 0 {
		by, way = w.Col, col
	}
	if way%by != 0 {
		return 0, false
	}
	k := way / by
	return k, k*w.Row == row && k*w.Col == col
}

// Union adds what q says to p; both may be nil, and are not changed.
func (p *Pattern) Union(q *Pattern) *Pattern {
	switch {
	case p == nil || p == q:
		return q
	case q == nil:
		return p
	}
	if p.List == nil && q.List == nil {
		out := &Pattern{Rows: p.Rows, Cols: p.Cols, Bands: slices.Clone(p.Bands)}
		for _, b := range q.Bands {
			out.Add(b)
		}
		if len(out.Bands) <= MostBands {
			return out
		}
		p, q = out, &Pattern{Rows: p.Rows, Cols: p.Cols}
	}
	if x, y := p.Listed(), q.Listed(); x != nil && y != nil {
		z := &Entries{Ptr: make([]int32, 1, p.Rows+1)}
		for i := range p.Rows {
			z.Col = mergeSorted(z.Col, x.Row(i), y.Row(i))
			z.Ptr = append(z.Ptr, int32(len(z.Col)))
		}
		return &Pattern{Rows: p.Rows, Cols: p.Cols, List: z}
	}
	return Everything(p.Rows, p.Cols)
}

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

// Listed lists the entries of a pattern on the way; nil when there are too many.
func (p *Pattern) Listed() *Entries {
	if p.List != nil {
		return p.List
	}
	if p.Count() > mostEntries*float64(p.Rows+p.Cols) {
		return nil
	}
	return p.Entries()
}

// Entries lists all entries, row by row, each once. The caller knows that there are few
// enough.
func (p *Pattern) Entries() *Entries {
	if p.List != nil {
		return p.List
	}
	if e := p.diagonals(); e != nil {
		return e
	}
	bands := slices.Clone(p.Bands) // from left to right, so that most rows come out in order
	slices.SortStableFunc(bands, func(x, y Band) int { return (x.Col - x.Row) - (y.Col - y.Row) })
	e := &Entries{Ptr: make([]int32, p.Rows+1)}
	total := 0
	for i := range bands {
		bands[i].lines(func(row, _, n, step, _ int) {
			total += n
			if step == 0 {
				e.Ptr[row+1] += int32(n)
				return
			}
			for ; n > 0; n-- {
				e.Ptr[row+1]++
				row += step
			}
		})
	}
	e.Col = make([]int32, total)
	next := int32(0) // ptr[i+1] becomes where row i starts, then where it ends
	for i := 1; i < len(e.Ptr); i++ {
		next, e.Ptr[i] = next+e.Ptr[i], next
	}
	for i := range bands {
		bands[i].lines(func(row, col, n, step, by int) {
			for ; n > 0; n-- {
				e.Col[e.Ptr[row+1]] = int32(col)
				e.Ptr[row+1]++
				row, col = row+step, col+by
			}
		})
	}
	e.tidy()
	return e
}

// diagonals is entries where every band has at most one entry in a row and goes from row
// to row: between the rows where one begins or ends the same bands are in each row.
func (p *Pattern) diagonals() *Entries {
	cuts, total := []int{0, p.Rows}, 0
	for _, b := range p.Bands {
		n := 1
		if len(b.Walks) > 0 {
			n = b.Walks[0].N
		}
		if len(b.Walks) > 1 || len(b.Walks) == 1 && b.Walks[0].Row != 1 {
			return nil
		}
		cuts, total = append(cuts, b.Row, b.Row+n), total+n
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	e := &Entries{Ptr: make([]int32, p.Rows+1), Col: make([]int32, total)}
	k, crossed := 0, false
	for s := range cuts[1:] {
		from, to := cuts[s], cuts[s+1]
		var here []Walk // the columns in row from, and their steps
		for _, b := range p.Bands {
			w := Walk{N: 1}
			if len(b.Walks) > 0 {
				w = b.Walks[0]
			}
			if b.Row <= from && from < b.Row+w.N {
				here = append(here, Walk{0, b.Col + (from-b.Row)*w.Col, w.Col})
			}
		}
		slices.SortFunc(here, func(x, y Walk) int { return x.Row - y.Row })
		for i := range here {
			crossed = crossed || i > 0 && (here[i].Row == here[i-1].Row || here[i].Col != here[i-1].Col)
		}
		for i, w := range here {
			at, col := k+i, w.Row
			for range to - from {
				e.Col[at] = int32(col)
				at, col = at+len(here), col+w.Col
			}
		}
		for i := from; i < to; i++ {
			k += len(here)
			e.Ptr[i+1] = int32(k)
		}
	}
	if crossed {
		e.tidy()
	}
	return e
}

// lines calls f for the entries of each line along the longest walk.
func (b *Band) lines(f func(row, col, n, step, by int)) {
	if len(b.Walks) == 0 {
		f(b.Row, b.Col, 1, 0, 0)
		return
	}
	long := 0
	for i, w := range b.Walks {
		if w.N > b.Walks[long].N {
			long = i
		}
	}
	rest := slices.Delete(slices.Clone(b.Walks), long, long+1)
	w := b.Walks[long]
	k := make([]int, len(rest))
	row, col := b.Row, b.Col
	for {
		f(row, col, w.N, w.Row, w.Col)
		i := len(rest) - 1
		for ; i >= 0; i-- {
			row, col = row+rest[i].Row, col+rest[i].Col
			if k[i]++; k[i] < rest[i].N {
				break
			}
			row, col = row-k[i]*rest[i].Row, col-k[i]*rest[i].Col
			k[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// FloorDiv is the quotient of whole numbers rounded down.
func FloorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// CeilDiv is the quotient of whole numbers rounded up.
func CeilDiv(a, b int) int { return -FloorDiv(-a, b) }
