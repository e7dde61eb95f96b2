package tape

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestParallel(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 1000} {
		ran := make([]atomic.Int32, n)
		parallel(2, n, func(i int) { ran[i].Add(1) })
		for i := range ran {
			if k := ran[i].Load(); k != 1 {
				t.Errorf("%d parts: part %d ran %d times, want once", n, i, k)
			}
		}
	}
}

// Small work is shared only while a worker looks for some.
func TestWorthSharing(t *testing.T) {
	parallel(2, 4, func(int) {})
	for until := time.Now().Add(10 * time.Second); workersAwake(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("a worker without work looks for some after 10 s")
		}
	}
	if worthSharing(99, 100) || !worthSharing(100, 100) {
		t.Error("all workers sleep: work of 99 of 100 is shared, or of 100 is not")
	}
}
