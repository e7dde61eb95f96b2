package tape

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Work below these sizes stays on one thread: in a run of its own the second one has to
// be woken first, and lost on anything shorter than half a millisecond (100000 elements
// of twenty operations: 0.74 ms alone, 1.01 with help). Tests set them low.
var (
	shareTiles    = 3 << 20 // element operations of a tile program
	shareProducts = 1 << 24 // floating-point operations of a matrix product
)

// parallel runs f(0) … f(n-1), f(0) here and the others on the pool's workers, and
// returns when all are done. A panic in one is raised here.
//
// Waking a parked goroutine on another core costs 30 to 100 µs, a spinning one takes
// over in well under one; so workers spin for a while after their last work, and park
// when nothing more comes.
func parallel(n int, f func(i int)) {
	if n <= 1 {
		if n == 1 {
			f(0)
		}
		return
	}
	pool.once.Do(startPool)
	j := &job{f: f, n: int32(n)}
	j.left.Store(int32(n))
	helpers := min(n-1, len(pool.workers))
	for i := range helpers {
		w := &pool.workers[i]
		if w.state.CompareAndSwap(idleSpin, hasJob) {
			w.job.Store(j)
			continue
		}
		if w.state.CompareAndSwap(idlePark, hasJob) {
			w.job.Store(j)
			w.wake <- struct{}{}
		}
	}
	j.work()
	for spin := 0; j.left.Load() > 0; spin++ {
		if spin > 1000 {
			runtime.Gosched()
		}
	}
	if p := j.failed.Load(); p != nil {
		panic(*p)
	}
}

// A job is one parallel call; its parts are taken from next.
type job struct {
	f      func(i int)
	n      int32
	next   atomic.Int32
	left   atomic.Int32
	failed atomic.Pointer[any]
}

// work takes parts until there are none.
func (j *job) work() {
	for {
		i := j.next.Add(1) - 1
		if i >= j.n {
			return
		}
		j.part(int(i))
	}
}

func (j *job) part(i int) {
	defer j.left.Add(-1)
	defer func() {
		if p := recover(); p != nil {
			j.failed.CompareAndSwap(nil, &p)
		}
	}()
	j.f(i)
}

const (
	idlePark int32 = iota
	idleSpin
	hasJob
)

type worker struct {
	state atomic.Int32
	job   atomic.Pointer[job]
	wake  chan struct{}
}

var pool struct {
	once    sync.Once
	workers []worker
}

func startPool() {
	pool.workers = make([]worker, max(0, runtime.GOMAXPROCS(0)-1))
	for i := range pool.workers {
		w := &pool.workers[i]
		w.wake = make(chan struct{}, 1)
		go w.loop()
	}
}

// spins bounds how long a worker waits for work before it parks: about 50 µs.
const spins = 20000

func (w *worker) loop() {
	for {
		<-w.wake
		for {
			for w.job.Load() == nil { // the job follows the state at once
				runtime.Gosched()
			}
			j := w.job.Swap(nil)
			j.work()
			w.state.Store(idleSpin)
			got := false
			for range spins {
				if w.state.Load() == hasJob {
					got = true
					break
				}
			}
			if !got && w.state.CompareAndSwap(idleSpin, idlePark) {
				break
			}
		}
	}
}
