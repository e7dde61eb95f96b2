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
	for until := time.Now().Add(10 * time.Second); Awake(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("a worker without work looks for some after 10 s")
		}
	}
	if Worth(99, 100) || !Worth(100, 100) {
		t.Error("all workers sleep: work of 99 of 100 is shared, or of 100 is not")
	}
}
