package tape

import (
	"math"
	"slices"
	"testing"
)

// TestDesk: a question gives the same bits on a desk that others have left as on a new one,
// and an answer stays what it was when others are asked.
func TestDesk(t *testing.T) {
	rows := []struct{ op, text string }{
		{"grad", "sum(sin(x)*exp(-x^2/2) + log1p(x^2))"},
		{"hessian", "sum(tanh(reshape(x, (8, 8)) @ reshape(x[:24], (8, 3)))^2)"}, // terms
		{"grad", "s = x[0]; for i in range(200) { s = s + sin(s*x[i % 64]) }\ns"},
		{"eval", "(sum(x), x[0], x > 0)"},
		{"jacobian", "x[1:]*x[:-1]"},
		{"grad", "a = x[0]; while a < 3 { a = a*a + 1 }\na*sum(abs(x))"},
		{"hessian", "u = sum(x); v = u^2; grad(v, u)*u + max(x)"},
		{"grad", "f(a, b) = a*b + softplus(a); f(x, 2*x).T @ x"},
		{"grad", "s = 0*x[0]\nfor i in range(300) { s = where(s > 1, s - 1, s + x[i % 64]^2) }\ns"},
	}
	ask := func(i int) *Question {
		q := question(t, rows[i].op, rows[i].text)
		q.Inputs = []Input{{Name: "x", Value: normals(1, 64)}}
		return q
	}
	answered := func(i int, a *Answer, err error) (all []float64) {
		if err != nil {
			t.Fatalf("%s of %s: %v", rows[i].op, rows[i].text, err)
		}
		for _, x := range a.Targets {
			all = append(all, numbers(x.Value)...)
			if x.Payload != nil {
				all = append(all, numbers(x.Payload)...)
			}
		}
		return all
	}
	var want [][]float64
	for i := range rows {
		a, err := (&session{q: ask(i)}).answered()
		want = append(want, answered(i, a, err))
	}
	same := func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }
	held := map[*Answer]int{}
	for turn := range 4 {
		for k := range rows {
			i := (k*(turn+1) + turn) % len(rows)
			a, err := ask(i).Answer()
			if got := answered(i, a, err); !slices.EqualFunc(got, want[i], same) {
				t.Errorf("turn %d: %s of %s is %v, on a new desk %v", turn, rows[i].op, rows[i].text, got, want[i])
			}
			held[a] = i
		}
	}
	for a, i := range held {
		if got := answered(i, a, nil); !slices.EqualFunc(got, want[i], same) {
			t.Errorf("%s of %s has become %v, was %v", rows[i].op, rows[i].text, got, want[i])
		}
	}
}

// TestSweepsLetGo: a sweep that is over holds no list of the tape's length, of which there is
// one a step where a loop takes derivatives.
func TestSweepsLetGo(t *testing.T) {
	s, _, err := recorded(question(t, "hessian", "x^2*y + grad(x^3, x)", "x=2", "y=3"))
	if err != nil {
		t.Fatal(err)
	}
	if s.t.desk.sweeps.at < 3 {
		t.Fatalf("%d sweeps, want 3 or more", s.t.desk.sweeps.at)
	}
	for i, v := range s.t.desk.sweeps.all {
		if v.need != nil || v.bar != nil {
			t.Errorf("sweep %d holds on to %d marks", i, len(v.need))
		}
	}
}
