package pool

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 9} {
		for _, n := range []int{0, 1, 2, 7, 1000} {
			ran := make([]atomic.Int32, n)
			Run(threads, n, func(i int) { ran[i].Add(1) })
			for i := range ran {
				if k := ran[i].Load(); k != 1 {
					t.Errorf("%d parts on %d threads: part %d ran %d times, want once", n, threads, i, k)
				}
			}
		}
	}
}

// Small work is shared only while a worker looks for some.
func TestWorth(t *testing.T) {
	Run(2, 4, func(int) {})
	for until := time.Now().Add(10 * time.Second); awake(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("a worker without work looks for some after 10 s")
		}
	}
	if Worth(99, 100) || !Worth(100, 100) {
		t.Error("all workers sleep: work of 99 of 100 is shared, or of 100 is not")
	}
}

// TestShare: the pieces are all there once, in the order of their numbers, whatever is found out about their time.
func TestShare(t *testing.T) {
	for _, size := range []int{0, leastTimed, LeastElements} {
		for _, slow := range []time.Duration{0, 100 * time.Microsecond} {
			for _, threads := range []int{1, 2, 5} {
				for _, n := range []int{0, 1, 2, 31, 33, 100} {
					froms, tos := make([]int, Parts(threads)), make([]int, Parts(threads))
					Share(threads, size, n, func(part, from, to int) {
						froms[part], tos[part] = from, to
						time.Sleep(slow)
					})
					at := 0
					for part := range froms {
						if tos[part] == 0 {
							continue
						}
						if froms[part] != at {
							t.Fatalf("%d of size %d on %d threads: piece %d begins at %d, want %d", n, size, threads, part, froms[part], at)
						}
						at = tos[part]
					}
					if at != n {
						t.Errorf("%d of size %d on %d threads: the pieces end at %d", n, size, threads, at)
					}
				}
			}
		}
	}
}

// TestShareSlow: what takes long is shared though its size is no reason, and what does not is not.
func TestShareSlow(t *testing.T) {
	pieces := func(slow time.Duration) (n int) {
		var got atomic.Int32
		Share(2, leastTimed, 100, func(_, from, to int) {
			got.Add(1)
			time.Sleep(slow * time.Duration(to-from))
		})
		return int(got.Load())
	}
	if n := pieces(20 * time.Microsecond); n != Parts(2) {
		t.Errorf("2 ms of work are in %d pieces, want %d", n, Parts(2))
	}
	shared := 0
	for range 100 {
		if pieces(0) > 2 {
			shared++
		}
	}
	if shared > 50 {
		t.Errorf("work of no time was shared %d times of 100", shared)
	}
}
