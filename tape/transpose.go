package tape

import (
	"slices"
	"sync"

	"nabla/kernels"
	"nabla/tape/pool"
)

// A turn is a transposition of more than two axes: numbers that follow one another along the last axis
// are far apart before, and those that do so before come to lie far apart. Both axes together are
// matrices, which kernels transpose, as many as all others have places.
type turn struct {
	others  []turned // the axes beside the two, as they are gone through
	m, from int      // the last axis: how many, and how far apart they lie before
	n, to   int      // the one that is the last before: how many, and how far apart they come to lie
	places  []int    // where the rows of a block lie, or are to lie; nil: one of the two is no block
	rows    bool     // blocks are gathered from rows, and not scattered to them
}

// A turned axis has n places, from apart before and to apart afterwards.
type turned struct{ n, from, to int }

const (
	fewTurned = 8       // an axis of fewer is transposed together with others
	mostTurns = 64      // rows of a block
	turnRoom  = 1 << 13 // numbers of a block
)

// leastTurn is how many numbers are transposed so: what a turn is made of takes as long as 200 by themselves. Tests
// set it low.
var leastTurn = 1 << 9

var turnRooms = sync.Pool{New: func() any { return new([turnRoom]float64) }}

// newTurn is the turn of n numbers that a spread is which has each once and no neighbours in order; nil where
// these are few, or rows stay as they are.
func newTurn(sp *spread, n int) *turn {
	last := len(sp.dims) - 1
	if n < leastTurn || sp.strides[last] == 1 {
		return nil
	}
	t := &turn{m: sp.dims[last], from: sp.strides[last]}
	to := 1
	for i := last; i >= 0; i-- {
		a := turned{sp.dims[i], sp.strides[i], to}
		switch to *= a.n; {
		case a.from == 1:
			t.n, t.to = a.n, a.to
		case i != last:
			t.others = append([]turned{a}, t.others...)
		}
	}
	if min(t.m, t.n) < fewTurned {
		t.rows = t.m < t.n
		t.join()
	}
	return t
}

// join makes blocks: of the shorter of the two axes and such others as lie next to it.
func (t *turn) join() {
	t.places = []int{0}
	block := turned{t.n, 1, t.to}
	if t.rows {
		block = turned{t.m, t.from, 1}
	}
	for k := 0; k >= 0; {
		t.repeat(block)
		k = slices.IndexFunc(t.others, func(a turned) bool {
			next := a.from
			if t.rows {
				next = a.to
			}
			return next == len(t.places) && next*a.n <= mostTurns
		})
		if k >= 0 {
			block = t.others[k]
			t.others = slices.Delete(t.others, k, k+1)
		}
	}
}

// repeat has the places of a block along one axis more.
func (t *turn) repeat(a turned) {
	step := a.to
	if t.rows {
		step = a.from
	}
	some := t.places
	for i := 1; i < a.n; i++ {
		for _, p := range some {
			t.places = append(t.places, p+i*step)
		}
	}
}

// count is how many matrices or blocks there are.
func (t *turn) count() int {
	n := 1
	for _, a := range t.others {
		n *= a.n
	}
	return n
}

// run transposes some of them.
func (t *turn) run(dst, x []float64, first, end int) {
	var room *[turnRoom]float64
	if t.places != nil {
		room = turnRooms.Get().(*[turnRoom]float64)
		defer turnRooms.Put(room)
	}
	for k := first; k < end; k++ {
		from, to, rest := 0, 0, k
		for i := len(t.others) - 1; i >= 0; i-- {
			a := &t.others[i]
			from += rest % a.n * a.from
			to += rest % a.n * a.to
			rest /= a.n
		}
		switch {
		case t.places == nil:
			kernels.TransposeLarge(dst[to:], t.to, x[from:], t.from, t.m, t.n)
		case t.rows:
			t.gather(dst[to:], x[from:], room[:])
		default:
			t.scatter(dst[to:], x[from:], room[:])
		}
	}
}

// gather transposes a block of rows of n numbers.
func (t *turn) gather(dst, x, room []float64) {
	rows := len(t.places)
	for at, some := 0, min(t.n, turnRoom/rows); at < t.n; at += some {
		some = min(some, t.n-at)
		for i, p := range t.places {
			copy(room[i*some:][:some], x[p+at:])
		}
		kernels.Transpose(dst[at*t.to:], t.to, room, some, rows, some)
	}
}

// scatter transposes a block to rows of m numbers.
func (t *turn) scatter(dst, x, room []float64) {
	rows := len(t.places)
	for at, some := 0, min(t.m, turnRoom/rows); at < t.m; at += some {
		some = min(some, t.m-at)
		kernels.Transpose(room, some, x[at*t.from:], t.from, some, rows)
		for i, p := range t.places {
			copy(dst[p+at:][:some], room[i*some:])
		}
	}
}

// turnAll is run of all, on threads where there is much to write.
func (c *run) turnAll(t *turn) {
	if !c.shared() {
		t.run(c.out, c.args[0], 0, t.count())
		return
	}
	pool.Split(c.threads, len(c.out), t.count(), func(from, to int) { t.run(c.out, c.args[0], from, to) })
}
