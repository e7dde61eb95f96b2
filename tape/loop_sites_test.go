package tape

import (
	"math"
	"slices"
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

// A factor that is always 0 takes no derivative of max, but that its arguments were equal depends
// on the cotangent, which the loop carries for that alone. Without it there was an internal error.
func TestKinksBehindZero(t *testing.T) {
	const text = "a = x; b = y; for i in range(70) { a = max(0*b, k); b = b*0.5 + 1 }; a*b"
	for k, met := range map[string]bool{"k=1": false, "k=0": true} {
		ask := func() ([][]float64, []string) {
			q := question(t, "grad", text, "x=-1", "y=-2", k)
			q.Wrt = []string{"x", "y"}
			out, _, warned, err := loopAnswer(q)
			if err != nil {
				t.Fatal(err)
			}
			return out, warned
		}
		got, warned := ask()
		unrolled(func() {
			if want, wantWarned := ask(); !slices.Equal(warned, wantWarned) || !slices.Equal(got[1], want[1]) {
				t.Errorf("%s: %v, warns %q; unrolled %v, %q", k, got, warned, want, wantWarned)
			}
		})
		if (len(warned) > 1) != met {
			t.Errorf("%s: warns %q", k, warned)
		}
	}
}

// What stands behind the only element of an order is nothing, and a loop has no tensors of that:
// 30 steps that sort one number were an internal error.
func TestTiesOfOneInLoops(t *testing.T) {
	for text, want := range map[string]float64{
		"z = sort(x)": 1, "z = sort([x, x])": 2, "z = sort(z*0.5 + x, axis=0)": 2, "z = cummax(x)": 1, "z = top_k([0.5, 1]*x, 1)": 1, "z = top_k([1, 1]*x, 1)": 1,
	} {
		q := question(t, "grad", "z = x; for i in range(70) { "+text+" }; sum(z)", "x=[0.5]")
		a, err := q.Answer()
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := numbers(a.Targets[0].Payload)[0]; math.Abs(got-want) > 1e-15 {
			t.Errorf("%s: the gradient is %v, want %v", text, got, want)
		}
	}
}

// Second derivatives of eigenvalues in loops: where values are equal they take slopes, which a body
// has no batch axis for, and of the cotangents those of the first sweep tell whether all are
// treated alike.
func TestSecondOfEigenvaluesInLoops(t *testing.T) {
	for _, text := range []string{
		"s = x; for i in range(10) { s = 0.3*s + 0.1*eigvalsh(A*eigvalsh(A*x + eye(3)) + eye(3)) }; sum(s^2)",
		"s = x; for i in range(10) { s = 0.3*s + 0.1*eigvalsh(A*maximum(x, s) + eye(3)) }; sum(s^2)",
		"s = x; t = 0*x + 1; for i in range(10) { s = 0.3*s + 0.1*cumsum(s*t); t = 0.5*t + 0.1*eigvalsh(A*s + eye(3)) }; sum(s*t)",
	} {
		for _, in := range []string{"x=[1, 1, -1]", "x=[0, 0, 0]"} {
			ask := func() ([][]float64, bool, []string) {
				q := question(t, "hessian", text, in, "A=[[1, 0, 0], [0, 1, 0], [0, 0, 1]]")
				q.Wrt = []string{"x"}
				out, rolled, warned, err := loopAnswer(q)
				if err != nil {
					t.Fatal(text, err)
				}
				slices.Sort(warned)
				return out, rolled, warned
			}
			got, rolled, warned := ask()
			unrolled(func() {
				want, _, wantWarned := ask()
				if !rolled || !slices.Equal(warned, wantWarned) {
					t.Errorf("%s at %s: rolled %v, warns %q, unrolled %q", text, in, rolled, warned, wantWarned)
				}
				for i, v := range got[1] {
					if !(math.Abs(v-want[1][i]) <= 1e-12) {
						t.Errorf("%s at %s: element %d is %v, unrolled %v", text, in, i, v, want[1][i])
					}
				}
			})
		}
	}
}
