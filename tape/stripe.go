package tape

import (
	"sync"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// stripeWidth is how many columns are a stripe: of 1000 rows these are a core's cache, and their
// lanes the first one. 64 and 256 took as long.
const stripeWidth = 128

// widestStripe is how many columns are a stripe at most where these are read once: of so many the 32 lanes stay in the
// second cache.
const widestStripe = 1024

// wideStripe is how many of the columns of an array of shape s along an axis are such a stripe, so that all threads have
// some. Whole rows, one behind the other, come sooner from memory than parts of them: of 1000×1000 numbers that are not in a
// cache in .6 of the time.
func wideStripe(threads int, s tensor.Shape, axis int) int {
	_, _, inner := around(s, axis)
	return min(widestStripe, max(stripeWidth, wholeLines(ceilDiv(inner, threads))))
}

// stripeRows is how many rows of a stripe go through a kernel at once; 32 is a multiple.
const stripeRows = 8

// A stripe is some columns of an array.
type stripe struct {
	x    []float64 // from its first number on
	ld   int       // from one row to the next
	n, w int       // rows and columns

	top     []float64 // the largest of each column
	first   []int     // its first place
	places  []int     // those of some rows
	heads   []int     // a column whose first place is in so many rows, or -1,
	chained []int     // and another one for each, or -1
	sum     []float64 // of each column's exponentials
	rest    []float64 // the same without the first of the largest

	tops, some, sums, rests []float64
	lanes, others           []float64 // partial sums of both

	turned  []float64    // rows as columns
	made    [2][]float64 // what is made of them
	repeats [2][]float64 // numbers of columns for a piece of rows

	less  []float64 // x without the largest of each column, where it is turned
	short bool      // x is turned
}

var stripes = sync.Pool{New: func() any {
	room := func(rows int) []float64 { return make([]float64, rows*stripeWidth) }
	const lanes = len(kernels.Lanes{})
	return &stripe{first: make([]int, stripeWidth), places: make([]int, stripeWidth), tops: room(2), some: room(lanes),
		sums: room(1), rests: room(1), lanes: room(lanes), others: room(lanes),
		turned: room(lanes), made: [2][]float64{room(lanes), room(lanes)}}
}}

// longestTurned and leastTurned are how long rows of the last axis are at most, and how many there are at
// least, for some of them to be turned into a stripe of columns: a kernel has little to do with each alone.
const (
	longestTurned = len(kernels.Lanes{})
	leastTurned   = 16
)

// turning is off in tests.
var turning = true

// inStripes reports whether what lies along an axis of shape s is taken as columns of stripes.
func inStripes(s tensor.Shape, axis int) bool {
	return axis != -1 || turning && 1 < last(s) && last(s) <= longestTurned && lead(s).Size() >= leastTurned
}

// around is how many numbers of an array of shape s lie before, along and behind an axis.
func around(s tensor.Shape, axis int) (outer, n, inner int) {
	k := len(s) + axis
	return s[:k].Size(), s[k], s[k+1:].Size()
}

// eachStripe runs f on all columns of x along an axis, so many at a time: on those whose first
// number has a place in x, and which begin at another in what has a number for each column.
func eachStripe(threads, width int, x []float64, s tensor.Shape, axis int, f func(s *stripe, line, at int)) {
	outer, n, inner := around(s, axis)
	if outer*inner == 0 {
		return
	}
	if axis == -1 {
		eachTurned(threads, x, n, f)
		return
	}
	each := (inner + width - 1) / width
	pool.Split(threads, len(x), outer*each, func(from, to int) {
		s := stripes.Get().(*stripe)
		for k := from; k < to; k++ {
			left := k % each * width
			at := k/each*inner + left
			line := k/each*n*inner + left
			s.ld, s.n, s.w, s.short = inner, n, min(width, inner-left), false
			if s.x = nil; n > 0 {
				s.x = x[line:]
			}
			f(s, line, at)
		}
		s.x = nil
		stripes.Put(s)
	})
}

// eachTurned is eachStripe for rows of n numbers.
func eachTurned(threads int, x []float64, n int, f func(s *stripe, line, at int)) {
	rows := len(x) / n
	pool.Split(threads, len(x), ceilDiv(rows, stripeWidth), func(from, to int) {
		s := stripes.Get().(*stripe)
		for at := from * stripeWidth; at < min(to*stripeWidth, rows); at += stripeWidth {
			w := min(stripeWidth, rows-at)
			s.ld, s.n, s.w, s.short, s.x = w, n, w, true, s.turned[:n*w]
			kernels.Transpose(s.x, w, x[at*n:], n, w, n)
			f(s, at*n, at)
		}
		s.x = nil
		stripes.Put(s)
	})
}

// in is where value k of the form of the stripe, the first or second, is made that begins at a place of dst, and out
// puts it there.
func (s *stripe) in(k int, dst []float64, line int) []float64 {
	if s.short {
		return s.made[k][:s.n*s.w]
	}
	return dst[line:]
}

func (s *stripe) out(k int, dst []float64, line int) {
	if s.short {
		kernels.Transpose(dst[line:], s.n, s.made[k], s.w, s.n, s.w)
	}
}

// place is where element i of column j lies in the value that the stripe is of, from its own first one on.
func (s *stripe) place(i, j int) int {
	if s.short {
		return j*s.n + i
	}
	return i*s.ld + j
}

// row is the part of row i of x, which lies as the stripe does.
func (s *stripe) row(x []float64, i int) []float64 { return x[i*s.ld:][:s.w] }

// longPiece is of how many numbers rows that lie together are one: with a call for each of 8000 rows of 40 numbers
// gradients of their columns' maxima took 1.4 times as long, of softmax and log_softmax 1.1 and 1.2 times.
const longPiece = 256

// several is how many rows of the stripe are such a piece, as they lie.
func (s *stripe) several() int {
	if s.ld != s.w {
		return 1
	}
	return max(1, longPiece/s.w)
}

// pieces goes through rows from to end-1, several at a time.
func (s *stripe) pieces(from, end int, f func(i, rows int)) {
	for i, m := from, s.several(); i < end; i += m {
		f(i, min(m, end-i))
	}
}

// rows are the parts of some rows of x, one or a piece of several.
func (s *stripe) rows(x []float64, i, rows int) []float64 { return x[i*s.ld:][:rows*s.w] }

// repeated is a number of each column for each row of a piece, in the first buffer or the second.
func (s *stripe) repeated(k int, x []float64) []float64 {
	m := s.several()
	if m == 1 {
		return x
	}
	s.repeats[k] = grown(s.repeats[k], m*s.w)
	for i := range m {
		copy(s.repeats[k][i*s.w:], x)
	}
	return s.repeats[k]
}

// extremes writes the largest or smallest of each column to dst.
func (s *stripe) extremes(dst []float64, pair func(dst, x, y []float64), first float64) {
	long := s.several() * s.w
	s.lanes = grown(s.lanes, long)
	all := s.lanes[:long]
	kernels.Fill(all, first)
	s.pieces(0, s.n, func(i, rows int) {
		pair(all[:rows*s.w], all[:rows*s.w], s.rows(s.x, i, rows))
	})
	copy(dst, all)
	for k := s.w; k < long; k += s.w {
		pair(dst, dst, all[k:][:s.w])
	}
}

// column is a copy of column j.
func (s *stripe) column(j int) []float64 {
	x := make([]float64, s.n)
	for i := range x {
		x[i] = s.x[i*s.ld+j]
	}
	return x
}

// put makes the numbers of x column j of dst, which lies as the stripe does.
func (s *stripe) put(dst, x []float64, j int) {
	for i, v := range x {
		dst[i*s.ld+j] = v
	}
}
