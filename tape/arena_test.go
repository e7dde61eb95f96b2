package tape

import (
	"slices"
	"sync"
	"testing"

	"nabla/tape/tensor"
)

// TestArenaAnswersStay holds answers while others are computed, by several goroutines at
// once, in memory that each leaves to the others.
func TestArenaAnswersStay(t *testing.T) {
	rows := []struct{ op, text string }{
		{"grad", "sum(tanh(x @ x) @ x)"},
		{"grad", "sum(cumsum(sin(x) @ cos(x))^2)"},
		{"jacobian", "sum(tanh(x @ x), axis=0)"},
		{"eval", "sort(x @ x)[::2] * 2"},
	}
	for _, dtype := range []tensor.DType{tensor.Float64, tensor.Float32} {
		var wg sync.WaitGroup
		for k := range 4 {
			wg.Go(func() {
				var held, want [][]float64
				for i := range 3 * len(rows) {
					r := rows[(i+k)%len(rows)]
					q := question(t, r.op, r.text)
					q.DType, q.Threads = dtype, 1+k%2
					q.Inputs = []Input{{Name: "x", Value: normals(0.1, 24+8*(i%2), 24+8*(i%2))}}
					a, err := q.Answer()
					if err != nil {
						t.Errorf("%s of %q: %v", r.op, r.text, err)
						return
					}
					v := a.Targets[0].Value
					if a.Targets[0].Payload != nil {
						v = a.Targets[0].Payload
					}
					v.Leaves("", func(_ string, v *tensor.Value) {
						held, want = append(held, v.Tensor.Data), append(want, slices.Clone(v.Tensor.Data))
					})
				}
				for i := range held {
					if !sameNumbers(held[i], want[i]) {
						t.Errorf("dtype %v, goroutine %d: answer %d changed while others were computed", dtype, k, i)
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestArenaBound gives an arena more than it may hold, of every size.
func TestArenaBound(t *testing.T) {
	var a arena[float64]
	for k := range 200 {
		a.give(make([]float64, 1<<18+k%50))
		held := 0
		for _, l := range a.idle {
			for _, m := range l {
				held += len(m)
			}
		}
		if held != a.held || held > mostKept {
			t.Fatalf("after %d: holds %d numbers and counts %d, of at most %d", k, held, a.held, mostKept)
		}
	}
	m := make([]float64, 1<<18)
	a.give(m)
	if got := a.take(len(m)); &got[0] != &m[0] {
		t.Error("take does not give what was given last")
	}
	if _, there := a.idle[len(m)]; there && len(a.idle[len(m)]) == 0 {
		t.Error("an empty list stays")
	}
}
