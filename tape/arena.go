package tape

import (
	"math"
	"math/bits"
	"sync"

	"nabla/kernels/pages"
)

// An arena keeps memory of dead values for executions to come, by size. Fresh memory costs
// more than what is computed in it: 1.2 µs for each page of 4 KB that is touched first, and
// clearing it where the collector has it back.
//
// Values that died inside an execution come here, and what left with an answer only when that is released: nobody else
// knows who holds it. The gradient of 1e5 numbers, answered and released again and again, takes .65 of the time, the
// Hessian of 600 parameters .76.
type arena[T real] struct {
	mu   sync.Mutex
	idle map[int][][]T // by size
	held int           // numbers in idle
}

const (
	leastKept = 1 << 9  // shorter memory is as quickly made
	mostKept  = 1 << 23 // numbers that an arena holds: 64 MB of float64
)

var (
	arena64 arena[float64]
	arena32 arena[float32]
)

// An arena's memory has lengths of which each is at most an eighth more than the one before, so
// that values of about one length use each other's, as those do that grow step by step.

// lengthStep is how far lengths of memory for about n numbers are apart.
func lengthStep(n int) int {
	if n < leastKept || n > mostKept {
		return 1
	}
	return 1 << (bits.Len(uint(n-1)) - 4)
}

// roomFor is how much memory is made for n numbers.
func roomFor(n int) int { return (n + lengthStep(n) - 1) &^ (lengthStep(n) - 1) }

// takenFor is the memory that was taken for m; or, where it was made elsewhere, as much of m as has such a length.
func takenFor[T real](m []T) []T {
	if room := roomFor(len(m)); room == cap(m) {
		return m[:room]
	}
	return m[:len(m)&^(lengthStep(len(m))-1)]
}

// take is memory for n numbers, whatever they are.
func (a *arena[T]) take(n int) []T {
	room := roomFor(n)
	if n >= leastKept && n <= mostKept {
		a.mu.Lock()
		if l := a.idle[room]; len(l) > 0 {
			m := l[len(l)-1]
			l[len(l)-1] = nil
			if a.idle[room] = l[:len(l)-1]; len(l) == 1 {
				delete(a.idle, room)
			}
			a.held -= room
			a.mu.Unlock()
			return m[:n]
		}
		a.mu.Unlock()
	}
	if pages.Scarce[T](room) {
		a.empty()
	}
	m := pages.Fresh[T](room)[:n:room]
	poison(m)
	return m
}

// empty leaves all its memory to the collector.
func (a *arena[T]) empty() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.idle, a.held = nil, 0
}

// give takes back memory that nobody reads any more. Where there is too much, other sizes
// make room.
func (a *arena[T]) give(m []T) {
	if len(m) < leastKept || len(m) > mostKept {
		return
	}
	m = takenFor(m)
	n := len(m)
	a.mu.Lock()
	defer a.mu.Unlock()
	for size, l := range a.idle {
		if a.held+n <= mostKept {
			break
		}
		a.held -= size * len(l)
		delete(a.idle, size)
	}
	if a.idle == nil {
		a.idle = map[int][][]T{}
	}
	a.idle[n] = append(a.idle[n], m)
	a.held += n
}

// A spare keeps memory of dead values for what one execution computes next, by size. There are few sizes as a rule, and those
// asked for often come first: a map took a tenth of the time of programs over some ten numbers each.
type spare[T real] struct {
	idle []sized[T]
	held int // numbers in idle
}

// A sized is memory of one size.
type sized[T real] struct {
	room int
	list [][]T
}

// of is the memory of so many numbers; nil where there never was some.
func (s *spare[T]) of(room int) *sized[T] {
	for i := range s.idle {
		if s.idle[i].room != room {
			continue
		}
		if i > 0 {
			s.idle[i-1], s.idle[i] = s.idle[i], s.idle[i-1]
			i--
		}
		return &s.idle[i]
	}
	return nil
}

// take is memory of a dead value of that size, or else that of another execution.
func (s *spare[T]) take(n int, more *arena[T]) []T {
	room := roomFor(n)
	if x := s.of(room); x != nil && len(x.list) > 0 {
		last := len(x.list) - 1
		m := x.list[last]
		x.list = x.list[:last]
		s.held -= room
		return m[:n]
	}
	if pages.Scarce[T](room) {
		s.clear(0)
	}
	return more.take(n)
}

// keep keeps memory of a dead value. Where there is more than most numbers, as when every value
// is a little longer than the one before, other sizes make room.
func (s *spare[T]) keep(m []T, most int) {
	poison(m)
	m = takenFor(m)
	n := len(m)
	if s.held+n > most {
		s.clear(most - n)
	}
	x := s.of(n)
	if x == nil {
		s.idle = append(s.idle, sized[T]{room: n})
		x = &s.idle[len(s.idle)-1]
	}
	x.list = append(x.list, m)
	s.held += n
}

// clear leaves memory of some sizes, or of all, to the collector, until at most so many numbers
// are kept.
func (s *spare[T]) clear(most int) {
	for len(s.idle) > 0 && s.held > most {
		last := len(s.idle) - 1
		s.held -= s.idle[last].room * len(s.idle[last].list)
		s.idle[last] = sized[T]{}
		s.idle = s.idle[:last]
	}
}

// release gives what is not short to the executions to come.
func (s *spare[T]) release(to *arena[T]) {
	for i := range s.idle {
		x := &s.idle[i]
		if x.room < leastKept {
			continue
		}
		for _, m := range x.list {
			to.give(m)
		}
		clear(x.list)
		s.held -= x.room * len(x.list)
		x.list = x.list[:0]
	}
}

// poison makes dead values show where they are read: in tests alone.
func poison[T real](m []T) {
	if checking {
		for i := range m {
			m[i] = T(math.NaN())
		}
	}
}
