package tape

import (
	"runtime/debug"
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

// TestRelease: the memory of a released answer serves the next one, and is that of nothing else: not of the inputs, nor of an
// answer that is still held.
func TestRelease(t *testing.T) {
	x := normals(0.1, 32, 32)
	was := slices.Clone(x.Tensor.Data)
	numbers := func(a *Answer) (all []float64) {
		for _, r := range a.Targets {
			for _, v := range []*tensor.Value{r.Value, r.Payload} {
				if v != nil {
					v.Leaves("", func(_ string, v *tensor.Value) {
						if v.Tensor != nil {
							all = append(all, v.Tensor.Data...)
						}
					})
				}
			}
		}
		return all
	}
	for _, r := range []struct {
		op, text string
		none     bool // no numbers but those of the inputs
	}{
		{op: "eval", text: "x", none: true},
		{op: "eval", text: "x[1:-2]"},
		{op: "eval", text: "y = sin(x); (y, y, y.T, y[2:], x)"},
		{op: "eval", text: "y = sort(x); z = y*1; (reshape(z, (4, 256)), z)"},
		{op: "eval", text: "ones(30, 30) + 2"},
		{op: "grad", text: "sum(x)"},
		{op: "grad", text: "sum(x*x.T)"},
		{op: "grad", text: "sum(x*stop_gradient(x))"},
		{op: "grad", text: "sum(tanh(x @ x) @ x)"},
		{op: "grad", text: "y = x; for i in range(9) { y = tanh(y @ x) }; sum(y^2)"},
		{op: "grad", text: "sum(svdvals(x))"},
		{op: "jacobian", text: "x"},
		{op: "jacobian", text: "sum(tanh(x @ x), axis=0)"},
		{op: "batch_jacobian", text: "tanh(x @ ones(32, 40))"},
		{op: "hessian", text: "sum(x^3) + sum(x[0] @ x)^2"},
		{op: "hessian", text: "sum(sin(x @ x))"}, // 1024×1024, in parts
	} {
		for _, dtype := range []tensor.DType{tensor.Float64, tensor.Float32} {
			for threads := 1; threads <= 2; threads++ {
				ask := func() *Answer {
					q := question(t, r.op, r.text)
					q.DType, q.Threads, q.Inputs = dtype, threads, []Input{{Name: "x", Value: x}}
					a, err := q.Answer()
					if err != nil {
						t.Fatalf("%s of %q: %v", r.op, r.text, err)
					}
					return a
				}
				held := ask()
				want := numbers(held)
				for range 3 {
					a := ask()
					if got := numbers(a); !sameNumbers(got, want) {
						t.Errorf("%s of %q (%v): the numbers are not what they were before others were released", r.op, r.text, dtype)
					}
					if r.none != (len(a.memory) == 0) {
						t.Errorf("%s of %q (%v) has %d pieces of memory of its own", r.op, r.text, dtype, len(a.memory))
					}
					a.Release()
					a.Release()
					if len(numbers(a)) > 0 && !r.none {
						t.Errorf("%s of %q (%v): numbers of a released answer", r.op, r.text, dtype)
					}
				}
				if !sameNumbers(numbers(held), want) {
					t.Errorf("%s of %q (%v): an answer changed when others were released", r.op, r.text, dtype)
				}
				if !sameNumbers(x.Tensor.Data, was) {
					t.Fatalf("%s of %q (%v): the inputs changed", r.op, r.text, dtype)
				}
				before := arena64.held
				if !r.none {
					if held.Release(); arena64.held <= before {
						t.Errorf("%s of %q (%v): the arena has no more for a released answer", r.op, r.text, dtype)
					}
				}
			}
		}
	}
}

// TestSpareBound: of values that are each a little longer than the one before an execution keeps
// as much memory as it may, and of values of one length all that.
func TestSpareBound(t *testing.T) {
	var s spare[float64]
	var more arena[float64]
	for n := 1; n < 3000; n++ {
		s.keep(s.take(n, &more), 1e5)
		held := 0
		for _, x := range s.idle {
			held += x.room * len(x.list)
		}
		if held != s.held || held > 1e5 {
			t.Fatalf("after %d values it keeps %d numbers and counts %d, may keep 1e5", n, held, s.held)
		}
	}
	m := s.take(2999, &more)
	s.keep(m, 1e5)
	if again := s.take(2999, &more); &again[0] != &m[0] {
		t.Error("memory of the length is there, and another is made")
	}
	s.release(&more)
	for _, x := range s.idle {
		if x.room >= leastKept && len(x.list) > 0 {
			t.Errorf("of length %d some is kept after all was given to the others", x.room)
		}
	}
}

// TestSpareGrowth: values that grow step by step, two of them at a time, are computed in memory
// of those before: some 30000 of them, as list = concat([list, [x]]) gives, left 3.6 GB to the collector.
func TestSpareGrowth(t *testing.T) {
	var s spare[float64]
	var more arena[float64]
	made := map[*float64]bool{}
	last := s.take(leastKept, &more)
	for n := leastKept + 1; n < 1<<13; n++ {
		m := s.take(n, &more)
		if len(m) != n || cap(m) > n+n/8 {
			t.Fatalf("memory for %d numbers has %d, and room for %d", n, len(m), cap(m))
		}
		made[&m[0]] = true
		s.keep(last, mostKept)
		last = m
	}
	const lengths = 4 * 8 // an eighth apart, from 1<<9 to 1<<13
	if len(made) > 3*lengths {
		t.Errorf("values of %d to %d numbers lay in %d places", leastKept, 1<<13, len(made))
	}
}

// What was made elsewhere has whatever lies behind it, which is not to be written over.
func TestArenaTail(t *testing.T) {
	var a arena[float64]
	all := make([]float64, 2000)
	a.give(all[:1000])
	if m := a.take(1000); &m[0] == &all[0] {
		t.Error("1000 numbers serve as room for 1024")
	}
	if m := a.take(960); &m[0] != &all[0] {
		t.Error("1000 numbers serve no value of 960")
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

// TestArenaScarce: what an execution and those before it keep makes room for what does not fit beside it.
func TestArenaScarce(t *testing.T) {
	const n = 1 << 18
	var s spare[float64]
	var more arena[float64]
	s.keep(s.take(n, &more), n)
	more.give(more.take(n))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1))
	if s.take(2*n, &more); s.held != 0 || more.held != 0 {
		t.Errorf("%d and %d numbers are kept where nothing is left", s.held, more.held)
	}
}
