package tape

import "testing"

// A tangent is the derivative where the target is its input: nothing ran, and it is no single number.
func TestRegainTangent(t *testing.T) {
	q := question(t, "jvp", "x", "x=[2, 3]")
	q.With = question(t, "eval", "x", "x=[5, 7]").Inputs[0].Value
	a, err := q.Answer()
	if err != nil {
		t.Fatal(err)
	}
	if got := numbers(a.Targets[0].Payload); len(got) != 2 || got[0] != 5 || got[1] != 7 {
		t.Errorf("jvp of x with [5, 7] is %v, want it", got)
	}
}
