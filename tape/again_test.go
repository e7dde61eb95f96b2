package tape

import (
	"math/rand/v2"
	"testing"

	"nabla/tape/tensor"
)

// TestAgain: what is cheap to make of what is read in any case is in no memory, and comes out with the same bits.
func TestAgain(t *testing.T) {
	for _, r := range []struct {
		op, text string
		again    int // instructions
		direct   int // values in memory of tile programs
	}{
		{"grad", "sum(var(x, 1)^2)", 5, 12},
		{"grad", "c = x - mean(x); sum(sin(c*sum(c^3)))", 4, 8},
		{"grad", "sum(softmax(x, 1)^2)", 1, 8},                      // a step that is no tile program reads the other one,
		{"grad", "y = 2*x + 1; sum(y^2, 1) @ sum(sin(y), 1)", 3, 9}, // a cosine stays in memory
		{"grad", "y = 2*x + 1; sum(sum(y^2, 1)^3) + sum(y)", 3, 6},
		{"eval", "y = 2*x + 1; y*sum(y^2, 1, keepdims=true) + 3*y", 3, 4},
		{"eval", "y = 2*x + 1; [y*sum(y^2, 1, keepdims=true), y]", 0, 5}, // y is an answer
		{"eval", "y = 2*x + z; y*sum(y^2, 1, keepdims=true)", 0, 6},      // two values in place of one
		{"eval", "y = exp(x); y*sum(y^2, 1, keepdims=true)", 0, 5},
	} {
		q := func() *Question {
			q := question(t, r.op, r.text)
			for _, name := range []string{"x", "z"} {
				q.Inputs = append(q.Inputs, Input{Name: name, Value: tensor.Of(noise(rand.New(rand.NewPCG(1, 2)), tensor.Shape{40, 300}))})
			}
			q.Wrt = []string{"x"}
			return q
		}
		if !comparePlan(t, q) {
			t.Errorf("%s: nothing to compare", r.text)
		}
		s, want, err := recorded(q())
		if err != nil {
			t.Fatal(err)
		}
		p, again, direct := s.t.plan(want), 0, 0
		for _, s := range p.steps {
			if again += len(s.again); s.kind == stepTile {
				direct += len(s.tile.direct)
			}
		}
		if again != r.again || direct != r.direct {
			t.Errorf("%s of %q makes %d again, of %d values in memory, not %d and %d\n%s", r.op, r.text, again, direct, r.again, r.direct, p.Dump())
		}
	}
}
