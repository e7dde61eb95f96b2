package tape

import (
	"math/rand/v2"
	"slices"
	"testing"

	"nabla/tape/tensor"
)

// TestPickedSums holds sums that are picked to those of all products, one instruction at a time, and
// to being there.
func TestPickedSums(t *testing.T) {
	defer func(n, c int) { leastPicked, leastColumns = n, c }(leastPicked, leastColumns)
	leastPicked, leastColumns = 1, 2
	rng := rand.New(rand.NewPCG(7, 5))
	for _, c := range []struct {
		op, text string
		picks    bool
	}{
		{"grad", "sum(softmax(x, -1)^2)", true},
		{"grad", "sum(softmax(x, 0)*sin(x))", true},
		{"grad", "sum(softmax(x[newaxis], 1)*sin(x))", true},
		{"grad", "sum(sin(softmax(softmax(x, 0), 1)))", true},
		{"grad", "p = softmax(x, -1); sum(p*(log(p) - log_softmax(2*x, -1)))", true},
		{"grad", "sum(softmax(x @ x.T, -1) @ x)", true},
		{"grad", "sum(softmax(x, (0, 1))^3)", true},
		{"grad", "sum(softmax(x, -1)[:, 0])", true},
		{"hessian", "sum(softmax(x, 0)^3)", false}, // the seeds vary along an axis of their own
		{"jacobian", "softmax(x, 1)", false},
		{"grad", "s = x; for i in range(300) { s = s - 0.1*softmax(s, 0) }; sum(s^2)", true},
		{"grad", "sum(softmax(x, -1))", true},
		{"grad", "y = softmax(x, 0); sum(y*sin(x))*sum(grad(sum(y^3), x)^2)", true}, // some ones are read twice
	} {
		found := false
		for round := range max(3, rounds(12)) {
			x := tensor.New(2+rng.IntN(6), 2+rng.IntN(5))
			if c.op == "grad" && round%3 == 0 {
				x = tensor.New(2+rng.IntN(rounds(40)), 2+rng.IntN(rounds(300)))
			}
			for i := range x.Data {
				x.Data[i] = columnValue(rng, round%2 == 1)
			}
			q := func() *Question {
				q := question(t, c.op, c.text)
				q.Inputs = []Input{{Name: "x", Value: tensor.Of(x)}}
				return q
			}
			if !comparePlan(t, q) {
				t.Fatalf("%s of %q, shape %v could not be compared", c.op, c.text, x.Shape)
			}
			s, want, err := recorded(q())
			if err != nil {
				t.Fatal(err)
			}
			found = found || slices.ContainsFunc(s.t.plan(want).steps, func(s step) bool { return s.isPicked() })
		}
		if found != c.picks {
			t.Errorf("%s of %q: a sum is picked: %t, want %t", c.op, c.text, found, c.picks)
		}
	}
}
