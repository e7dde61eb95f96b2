// Package pool runs work on several threads: parts of one call, taken by whoever is free.
package pool

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"nabla/kernels"
)

// Work below these sizes stays on one thread while workers sleep, as waking one takes 30 to
// 100 µs. Where they are awake handing over costs a microsecond or two, and work of a
// sixteenth is shared. Tests set them low.
var (
	LeastElements = 1 << 19 // element operations of a tile program
	LeastFlops    = 1 << 22
)

// What is worth it is not seen from a count: an element takes from 0.1 ns, for a sum, to some 100, for a Bessel
// function, or to be sorted. So a timed part of the pieces runs first, where there are leastTimed operations. The others
// are shared if they would take as long as it takes to wake a worker, or to hand over where one is awake.
const (
	each        = 4 // pieces a thread: a core may be busy elsewhere
	timed       = 32
	leastTimed  = 1 << 14
	leastAsleep = 50 * time.Microsecond
	leastAwake  = 8 * time.Microsecond
)

// Run runs f(0) … f(n-1) on as many threads as threads says, this one among them, and
// returns when all are done. A panic in one is raised here.
//
// The work stands open for whoever is free: workers that spin take parts at once, and
// those that are being woken join late, when their time comes. Waking a parked goroutine
// on another core costs 30 to 100 µs, a spinning one takes over in well under one; so
// workers spin for a while after their last work, and park when nothing more comes.
func Run(threads, n int, f func(i int)) {
	if n <= 1 || threads <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	j := &job{f: f, n: n, next: make([]atomic.Int32, threads)}
	for s := range j.next {
		j.next[s].Store(int32(j.share(s)))
	}
	j.left.Store(int32(n))
	j.room.Store(int32(threads - 1))
	crew.open.Store(j)
	Wake(threads - 1)
	j.work(0)
	for spin := 0; j.left.Load() > 0; spin++ {
		if spin > 1000 {
			runtime.Gosched()
		}
	}
	crew.open.CompareAndSwap(j, nil)
	if p := j.failed.Load(); p != nil {
		panic(*p)
	}
}

// Split runs f over 0 … n-1 in pieces, on several threads where that is worth it: where size operations
// are, or where the pieces it begins with take so long that the others are, too.
func Split(threads, size, n int, f func(from, to int)) {
	if alone(threads, size, n) {
		f(0, n) // without a closure
		return
	}
	Share(threads, size, n, func(_, from, to int) { f(from, to) })
}

// Share is Split, with the number of each piece: in their order, and below Parts(threads).
func Share(threads, size, n int, f func(part, from, to int)) {
	switch {
	case alone(threads, size, n):
		f(0, 0, n)
	case Worth(size, LeastElements):
		cut(threads, 0, n, f)
	default:
		first := (n + timed - 1) / timed
		begin := time.Now()
		f(0, 0, first)
		if left := time.Since(begin) * time.Duration(n-first) / time.Duration(first); left >= leastAsleep || left >= leastAwake && awake() {
			cut(threads, first, n, f)
		} else {
			f(1, first, n)
		}
	}
}

// alone reports whether one thread does it all, and nothing is timed.
func alone(threads, size, n int) bool {
	return threads <= 1 || n <= 1 || size < leastTimed && !Worth(size, LeastElements)
}

// Parts is how many pieces Share makes at most.
func Parts(threads int) int { return 1 + each*threads }

// cut runs f over from … n-1 in pieces, on several threads.
func cut(threads, from, n int, f func(part, from, to int)) {
	parts := min(each*threads, n-from)
	Run(threads, parts, func(i int) { f(1+i, from+(n-from)*i/parts, from+(n-from)*(i+1)/parts) })
}

// Pieces runs f over n numbers in pieces of thousands, on several threads where they are worth that.
func Pieces(threads, n int, f func(from, to int)) {
	const piece = 1 << 14
	Split(threads, n, (n+piece-1)/piece, func(from, to int) { f(from*piece, min(to*piece, n)) })
}

// Workers are so many threads for a matrix product.
func Workers(threads int) kernels.Workers {
	return kernels.Workers{Count: threads, Share: func(n int, f func(i int)) { Run(threads, n, f) }}
}

// Wake has up to n workers look for work, now and for a while. Who knows that there
// will be some calls it early.
func Wake(n int) {
	crew.once.Do(start)
	for i := range min(n, len(crew.workers)) {
		w := &crew.workers[i]
		w.until.Store(crew.calls.Add(1))
		if w.parked.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}

// Worth reports whether work of a size is to be shared that is from least on.
func Worth(size, least int) bool {
	return size >= least || size >= least/16 && awake()
}

// awake reports whether a worker looks for work.
func awake() bool {
	if crew.calls.Load() == 0 {
		return false // and there may be none
	}
	for i := range crew.workers {
		if !crew.workers[i].parked.Load() {
			return true
		}
	}
	return false
}

// A job is one parallel call. Each thread has a share of the parts, in a row, the same of every
// call: what it wrote in the one before is in its cache. Who has done its own helps others.
// Where two cores have no last cache in common, so that a word goes from one to the other in
// 150 ns, the gradient of a network took 16.2 and 15.7 ms so, 17.1 and 16.4 where everybody
// took the next part; where it goes in 28 ns, 12.1 and 12.4 against 12.9 and 12.0. A copy of
// the packed operand for each core was no faster at all, and slower in the second case.
type job struct {
	f      func(i int)
	n      int
	next   []atomic.Int32 // of each share
	left   atomic.Int32
	room   atomic.Int32 // for more threads
	failed atomic.Pointer[any]
}

// share is where the share of a thread begins.
func (j *job) share(thread int) int { return j.n * thread / len(j.next) }

// work takes parts until there are none, as one of the threads.
func (j *job) work(thread int) {
	for k := range j.next {
		s := (thread + k) % len(j.next)
		for end := j.share(s + 1); ; {
			i := int(j.next[s].Add(1)) - 1
			if i >= end {
				break
			}
			j.part(i)
		}
	}
}

// part runs part i; a panic in it is kept for who waits.
func (j *job) part(i int) {
	defer j.left.Add(-1)
	defer func() {
		if p := recover(); p != nil {
			j.failed.CompareAndSwap(nil, &p)
		}
	}()
	j.f(i)
}

// A worker is a goroutine that takes parts of jobs, and sleeps where there is none for a while.
type worker struct {
	parked atomic.Bool
	until  atomic.Int64 // changes when there may be work
	wake   chan struct{}
}

var crew struct {
	once    sync.Once
	open    atomic.Pointer[job] // the one begun last, while it has parts to take
	calls   atomic.Int64
	workers []worker
}

// start starts a worker for every other processor; they sleep until there is work.
func start() {
	crew.workers = make([]worker, max(0, runtime.GOMAXPROCS(0)-1))
	for i := range crew.workers {
		w := &crew.workers[i]
		w.wake = make(chan struct{}, 1)
		w.parked.Store(true)
		go w.loop(i + 1)
	}
}

// spins bounds how long a worker looks for work before it parks: about 50 µs. With 2.5 times
// that, calls in a row gained nothing and the collector lost the core.
const spins = 20000

// loop takes parts of jobs as long as there are some, looks for more for a while, and sleeps.
func (w *worker) loop(thread int) {
	debug.SetPanicOnFault(true) // numbers of a file that is cut short: Run's caller hears of it
	var last *job               // whose parts have been taken
	for range w.wake {
		seen := w.until.Load()
		for spin := 0; ; spin++ {
			if j := crew.open.Load(); j != nil && j != last {
				if last = j; j.room.Add(-1) >= 0 {
					j.work(thread)
				}
				spin = 0
			}
			if last != nil && last.left.Load() > 0 {
				spin = 0 // what comes next waits for others, too
			}
			if spin < spins {
				continue
			}
			w.parked.Store(true)
			// who opened work before this saw an awake worker
			now := w.until.Load()
			if now == seen || !w.parked.CompareAndSwap(true, false) {
				break
			}
			seen, spin = now, 0
		}
		last = nil
	}
}
