package tape

import (
	"math"
	"testing"
)

// What tells whether equal eigenvalues are treated alike are cotangents, of the loop that met them:
// it carries them where their rows are counted, too. A Jacobian or a Hessian through more than 64
// steps asked for those of another loop, which was an internal error.
func TestCotangentsTellKinks(t *testing.T) {
	const steps = "s = x; for i in range(12) { s = sin(s)*0.5 + 0.6*eigvalsh(A*s)/norm(s) }; "
	saved, few := rollFrom, fewFrom
	rollFrom, fewFrom = 8, 8
	defer func() { rollFrom, fewFrom = saved, few }()
	for op, of := range map[string]string{"jacobian": "s", "hessian": "sum(s^2)"} {
		for in, met := range map[string]bool{"A=[[3, 1, 0.5], [1, 2, 0.2], [0.5, 0.2, 1]]": false, "A=[[3, 0, 0], [0, 3, 0], [0, 0, 1]]": true} {
			ask := func() (numbers []float64, rolled bool, warned []string) {
				q := question(t, op, steps+of, "x=[1, 1, 0.3]", in)
				q.Wrt = []string{"x"}
				out, rolled, warned, err := loopAnswer(q)
				if err != nil {
					t.Fatal(op, in, err)
				}
				return out[1], rolled, warned
			}
			got, rolled, warned := ask()
			var want []float64
			var wantWarned []string
			unrolled(func() { want, _, wantWarned = ask() })
			if !rolled || (len(warned) > 0) != met || (len(wantWarned) > 0) != met {
				t.Errorf("%s with %s: rolled %v, warns %q, unrolled %q", op, in, rolled, warned, wantWarned)
			}
			largest := 0.0
			for _, v := range want {
				largest = max(largest, math.Abs(v))
			}
			for i, v := range got {
				if !(math.Abs(v-want[i]) <= 1e-9*largest) { // 12 steps of roundings, in another order
					t.Errorf("%s with %s: element %d is %v, unrolled %v", op, in, i, v, want[i])
				}
			}
		}
	}
}
