package tape

import (
	"math"
	"sync/atomic"
	"testing"
	"time"
)

func TestParallel(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 9} {
		for _, n := range []int{0, 1, 2, 7, 1000} {
			ran := make([]atomic.Int32, n)
			parallel(threads, n, func(i int) { ran[i].Add(1) })
			for i := range ran {
				if k := ran[i].Load(); k != 1 {
					t.Errorf("%d parts on %d threads: part %d ran %d times, want once", n, threads, i, k)
				}
			}
		}
	}
}

// Reductions have the same bits on every number of threads.
func TestSharedReductions(t *testing.T) {
	x := normals(1, 300, 301)
	for _, text := range []string{
		"sum(x, 0)", "sum(x, 1)", "sum(reshape(x, (3, 100, 301)), 1)", // 3 columns' blocks, the last short
		"logsumexp(x, 1)", "softmax(x)", "log_softmax(x)", "cumsum(x, 1)", "max(x, axis=0)", "norm(x, 2, 1)",
	} {
		var want []float64
		for _, threads := range []int{1, 2, 3} {
			q := question(t, "eval", text)
			q.Threads, q.Inputs = threads, []Input{{Name: "x", Value: x}}
			a, err := q.Answer()
			if err != nil {
				t.Fatal(err)
			}
			got := numbers(a.Targets[0].Value)
			if want == nil {
				want = got
			}
			for i, v := range want {
				if math.Float64bits(got[i]) != math.Float64bits(v) {
					t.Fatalf("%s on %d threads: element %d = %v, on one %v", text, threads, i, got[i], v)
				}
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
