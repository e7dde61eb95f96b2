package tape

import (
	"slices"
	"testing"
)

// TestSoftmaxesTogether holds a softmax that shares its step with a logsumexp or log_softmax to
// both of them one by one.
func TestSoftmaxesTogether(t *testing.T) {
	const x = "x=[[1, 2, 3, 2], [-inf, -inf, -inf, -inf], [3, inf, 1, inf], [nan, 1, inf, 0], [-1e308, 5, 5, -inf], [0, -0.0, 0, 0]]"
	for _, c := range []struct {
		op, text, x string
		together    bool
	}{
		{"grad", "sum(logsumexp(x, -1))", x, true},
		{"grad", "sum(logsumexp(x, 0))", x, true},
		{"grad", "logsumexp(x)", "x=sin(arange(700.))", true}, // several pieces, and one number
		{"grad", "sum(log_softmax(x, -1)[:, 1])", x, true},
		{"eval", "(logsumexp(x, -1), softmax(x))", x, true},
		{"eval", "(log_softmax(x), softmax(x))", x, true},
		{"eval", "(logsumexp(x, -1), softmax(2*x))", x, false}, // of another argument
		{"jacobian", "log_softmax(x, -1)", "x=[[1, 2], [3, 5]]", true},
		{"hessian", "sum(logsumexp(x, -1)^2)", "x=[[1, 2], [3, 5]]", true},
		{"eval", "(logsumexp(x, -1), softmax(x))", "x=[[1], [2]]", true},
		{"eval", "(logsumexp(x, -1), softmax(x))", "x=zeros([3, 0])", true},
		{"grad", "s = x; for i in range(70) { s = s - 0.01*softmax(s)*logsumexp(s) }; sum(s)", "x=[1, 2, 3, 4]", true},
		{"grad", "s = x; for i in range(300) { s = s - 0.01*softmax(s)*logsumexp(s) }; sum(s)", "x=sin(arange(40.))", true}, // in a loop, whose steps keep to one of them
	} {
		q := func() *Question { return question(t, c.op, c.text, c.x) }
		if !comparePlan(t, q) {
			t.Errorf("%s of %q at %s could not be compared", c.op, c.text, c.x)
			continue
		}
		s, want, err := recorded(q())
		if err != nil {
			t.Fatal(err)
		}
		together := slices.ContainsFunc(s.t.plan(want).steps, func(s step) bool { return s.kind == stepOne && len(s.refs) == 2 })
		if together != c.together {
			t.Errorf("%s of %q at %s: a step of two is there: %t, want %t", c.op, c.text, c.x, together, c.together)
		}
	}
}
