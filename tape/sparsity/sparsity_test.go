package sparsity

import (
	"math/rand/v2"
	"slices"
	"testing"

	"nabla/tape/tensor"
)

// A matrix is a pattern entry by entry.
type matrix [][]bool

func newMatrix(rows, cols int) matrix {
	m := make(matrix, rows)
	for i := range m {
		m[i] = make([]bool, cols)
	}
	return m
}

// matrixOf follows the walks of each band.
func matrixOf(p *Pattern) matrix {
	m := newMatrix(p.Rows, p.Cols)
	if p.List != nil {
		for i := range m {
			for _, j := range p.List.Row(i) {
				m[i][j] = true
			}
		}
	}
	var follow func(row, col int, walks []Walk)
	follow = func(row, col int, walks []Walk) {
		if len(walks) == 0 {
			m[row][col] = true
			return
		}
		w := walks[0]
		for k := range w.N {
			follow(row+k*w.Row, col+k*w.Col, walks[1:])
		}
	}
	for _, b := range p.Bands {
		follow(b.Row, b.Col, b.Walks)
	}
	return m
}

func (m matrix) equal(n matrix) bool {
	return slices.EqualFunc(m, n, func(x, y []bool) bool { return slices.Equal(x, y) })
}

// drawn is a pattern of some boxes in a value of a shape, with walks both ways and at times two
// along one axis.
func drawn(rng *rand.Rand, s tensor.Shape, cols int) *Pattern {
	p := &Pattern{Rows: s.Size(), Cols: cols}
	for range 1 + rng.IntN(3) {
		x := &Box{At: make([]int, len(s)), Col: rng.IntN(cols)}
		left, right := x.Col, cols-1-x.Col // columns on either side
		walk := func(a, room, step int) {
			w := BoxWalk{1 + room, a, step, rng.IntN(3) - 1}
			switch {
			case w.Col > 0:
				w.N = min(w.N, 1+right)
				right -= w.N - 1
			case w.Col < 0:
				w.N = min(w.N, 1+left)
				left -= w.N - 1
			}
			x.Walks = append(x.Walks, w)
		}
		for a, n := range s {
			x.At[a] = rng.IntN(n)
			step := 1 + rng.IntN(2)
			switch rng.IntN(6) {
			case 0, 1, 2:
				walk(a, (n-1-x.At[a])/step, step)
			case 3:
				walk(a, x.At[a]/step, -step)
			case 4:
				walk(a, x.At[a]/step, -step)
				walk(a, rng.IntN(n-x.At[a]), 1)
			}
		}
		if rng.IntN(3) == 0 {
			x.Walks = append(x.Walks, BoxWalk{1 + right, -1, 0, 1})
		}
		p.Add(x.band(s))
	}
	return p
}

// TestIsIdentity knows the pattern of a value that depends element by element on another.
func TestIsIdentity(t *testing.T) {
	of := func(rows, cols int, bands ...Band) *Pattern { return &Pattern{Rows: rows, Cols: cols, Bands: bands} }
	for _, r := range []struct {
		p    *Pattern
		want bool
	}{
		{Identity(1), true},
		{Identity(4), true},
		{Everything(1, 1), true},
		{Everything(3, 3), false},
		{Everything(1, 3), false},
		{of(1, 1), false}, // no entry
		{of(3, 3, Band{Walks: []Walk{{2, 1, 1}}}), false},
		{of(3, 3, Band{Row: 1, Walks: []Walk{{2, 1, 1}}}), false},
		{of(3, 3, Band{Row: 2, Walks: []Walk{{3, -1, 1}}}), false},
		{of(3, 3, Band{Walks: []Walk{{3, 1, 1}}}, Band{Col: 2}), false},
		{of(3, 4, Band{Walks: []Walk{{3, 1, 1}}}), false},
	} {
		if got := r.p.IsIdentity(); got != r.want {
			t.Errorf("%+v is an identity: %v, want %v", r.p, got, r.want)
		}
	}
}

// TestPatterns holds lists, unions and patterns behind others to the entries one by one.
func TestPatterns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		s := tensor.Shape{1 + rng.IntN(4), 1 + rng.IntN(5)}
		cols := 1 + rng.IntN(12)
		p, q := drawn(rng, s, cols), drawn(rng, s, cols)
		m, n := matrixOf(p), matrixOf(q)
		e := p.Entries()
		if got := matrixOf(&Pattern{Rows: p.Rows, Cols: cols, List: e}); !got.equal(m) {
			t.Fatalf("%+v lists %v, want %v", p.Bands, got, m)
		}
		for i := range p.Rows {
			if r := e.Row(i); !slices.IsSorted(r) || len(slices.Compact(slices.Clone(r))) != len(r) {
				t.Fatalf("%+v: row %d is %v", p.Bands, i, r)
			}
		}
		if e.Widest() > cols || e.Meeting(cols) != e.Transposed(cols).Widest() {
			t.Fatalf("%+v: %d in a column, of its transpose %d in a row", p.Bands, e.Meeting(cols), e.Transposed(cols).Widest())
		}
		both, behind := newMatrix(p.Rows, cols), newMatrix(p.Rows, p.Rows)
		for i := range both {
			for j := range cols {
				both[i][j] = m[i][j] || n[i][j]
				for k := range p.Rows { // p behind the transpose of q
					behind[i][k] = behind[i][k] || m[i][j] && n[k][j]
				}
			}
		}
		if got := matrixOf(p.Union(q)); !got.equal(both) {
			t.Fatalf("%+v and %+v are %v, want %v", p.Bands, q.Bands, got, both)
		}
		listed := &Pattern{Rows: p.Rows, Cols: cols, List: e}
		if !matrixOf(listed.Union(q)).equal(both) || !matrixOf(q.Union(listed)).equal(both) {
			t.Fatalf("the list of %+v and %+v are %v, want %v", p.Bands, q.Bands, matrixOf(listed.Union(q)), both)
		}
		if got := q.Entries().Transposed(cols).Behind(p, p.Rows); !matrixOf(got).equal(behind) {
			t.Fatalf("%+v behind the transpose of %+v is %v, want %v", p.Bands, q.Bands, matrixOf(got), behind)
		}
	}
}

// TestManyBands: a pattern of many bands, none of which goes on in another, becomes a list.
func TestManyBands(t *testing.T) {
	const n = 64
	var p [2]Pattern
	want := newMatrix(n, n)
	for k := range n * n / 8 { // pairs with gaps between them, on no line
		row := k * 8 / n
		col := k*8%n + row*row%7
		p[k%2].Rows, p[k%2].Cols = n, n
		p[k%2].Bands = append(p[k%2].Bands, Band{Row: row, Col: col, Walks: []Walk{{2, 0, 1}}})
		want[row][col], want[row][col+1] = true, true
	}
	got := p[0].Union(&p[1])
	if !matrixOf(got).equal(want) || got.List == nil {
		t.Errorf("%d and %d bands have a union of %d, which is no list, or other entries", len(p[0].Bands), len(p[1].Bands), len(got.Bands))
	}
}

// TestMoves holds patterns whose elements move to where each of them goes. What has no
// bands any more is nothing: of slices and stretches one in ten at most.
func TestMoves(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	moved, all := 0, 0
	for range 3000 {
		s := tensor.Shape{1 + rng.IntN(4), 1 + rng.IntN(6)}
		p := drawn(rng, s, 1+rng.IntN(12))
		axis := rng.IntN(2)
		n, to := s[axis], slices.Clone(s)
		var got *Pattern
		var where func(i int) []int // the elements of an axis that element i becomes
		switch rng.IntN(4) {
		case 0: // a slice, forward or backward
			from, step := rng.IntN(n), 1+rng.IntN(2)
			if rng.IntN(2) == 0 {
				step = -step
			}
			count := 1 + (n-1-from)/step
			if step < 0 {
				count = 1 + from/-step
			}
			count = 1 + rng.IntN(count)
			to[axis] = count
			got = p.Through(s, to, func(x *Box) Fate { return x.Slice(axis, from, count, step) })
			where = func(i int) []int {
				if k := (i - from) / step; (i-from)%step == 0 && k >= 0 && k < count {
					return []int{k}
				}
				return nil
			}
			all++
			if got != nil {
				moved++
			}
		case 1: // the adjoint of one
			from, step := rng.IntN(3), 1+rng.IntN(2)
			to[axis] = from + (n-1)*step + 1
			got = p.Through(s, to, func(x *Box) Fate { x.Stretch(axis, from, step); return Kept })
			where = func(i int) []int { return []int{from + i*step} }
		case 2:
			to[axis] = 1
			got = p.Summed(s, axis-2)
			where = func(int) []int { return []int{0} }
		case 3:
			if n > 1 {
				continue
			}
			to[axis] = 1 + rng.IntN(4)
			got = p.Repeated(s, to)
			where = func(int) []int { return []int{0, 1, 2, 3}[:to[axis]] }
		}
		if got == nil {
			continue
		}
		m, want := matrixOf(p), newMatrix(to.Size(), p.Cols)
		for row := range m {
			at := []int{row / s[1], row % s[1]}
			for _, i := range where(at[axis]) {
				at[axis] = i
				for j, v := range m[row] {
					want[at[0]*to[1]+at[1]][j] = want[at[0]*to[1]+at[1]][j] || v
				}
			}
		}
		if have := matrixOf(got); !have.equal(want) {
			t.Fatalf("%+v of %v, axis %d to %v: %v, want %v", p.Bands, s, axis, to, have, want)
		}
	}
	if moved < all*9/10 {
		t.Errorf("%d of %d slices have bands", moved, all)
	}
}

// TestColours demands that rows of one colour share no column, and that few colours are those
// of the general way.
func TestColours(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	few := 0
	for range 500 {
		rows, cols := 1+rng.IntN(150), 1+rng.IntN(150)
		e := &Entries{Ptr: make([]int32, 1, rows+1)}
		chance := rng.Float64() * rng.Float64()
		for range rows {
			for j := range cols {
				if rng.Float64() < chance {
					e.Col = append(e.Col, int32(j))
				}
			}
			e.Ptr = append(e.Ptr, int32(len(e.Col)))
		}
		colour := make([]int32, rows)
		n, ok := e.Coloured(colour, cols, rows)
		if !ok || n < e.Meeting(cols) || n > rows || int(slices.Max(colour)) != n-1 {
			t.Fatalf("%d×%d: %d colours (%v), the last %d, where %d rows meet", rows, cols, n, ok, slices.Max(colour), e.Meeting(cols))
		}
		for c := range int32(n) {
			seen := make([]bool, cols)
			for i := range rows {
				for _, j := range e.Row(i) {
					if colour[i] == c && seen[j] {
						t.Fatalf("%d×%d: two rows of colour %d have column %d", rows, cols, c, j)
					}
					seen[j] = seen[j] || colour[i] == c
				}
			}
		}
		if _, ok := e.Coloured(colour, cols, n-1); ok {
			t.Fatalf("%d×%d: %d colours where at most %d are wanted", rows, cols, n, n-1)
		}
		e.Coloured(colour, cols, rows)
		other := make([]int32, rows)
		k, ok := e.FewColours(other, cols)
		if ok != (n <= 8) || ok && (k != n || !slices.Equal(other, colour)) {
			t.Fatalf("%d×%d: %d colours, by the few %d (%v)", rows, cols, n, k, ok)
		}
		if ok {
			few++
		}
	}
	if few == 0 {
		t.Error("no pattern needs few colours")
	}
}
