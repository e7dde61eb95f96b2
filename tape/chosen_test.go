package tape

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"nabla/kernels"
)

// TestChosen asks a question in a process of its own, in which nobody has asked before:
// questions about single numbers do without the kernels of vectors, and all others have
// those of the best tier before they are planned.
func TestChosen(t *testing.T) {
	const program, input = "NABLA_TEST_PROGRAM", "NABLA_TEST_INPUT"
	if text := os.Getenv(program); text != "" {
		ask(t, os.Getenv("NABLA_TEST_OP"), text, os.Getenv(input))
		fmt.Println("chosen:", kernels.Chosen())
		return
	}
	for i, row := range []struct {
		op, program, input string
		want               bool
	}{
		{"grad", "x^2*sin(x)", "x=3", false},
		{"hessian", "exp(x)/tanh(x) + where(x > 0, x, 0)", "x=3", false},
		{"grad", "y = x; for i in range(5) { y = y*x }; y", "x=3", false}, // unrolled
		{"eval", "x^2", "x=[1, 2]", true},
		{"grad", "sum(sin(x))", "x=[1, 2]", true},
		{"eval", "sum([x, 1])", "x=3", true},
		{"eval", "zeros(3)", "x=3", true},
		{"grad", "y = x; for i in range(5000) { y = sin(y*x) }; y", "x=3", true}, // a loop, whose steps become columns
		{"grad", "sum(vmap(t -> t^2)([x, 2]))", "x=3", true},
	} {
		if spared(i) {
			continue
		}
		c := exec.Command(os.Args[0], "-test.run=^TestChosen$", "-test.v")
		c.Env = append(os.Environ(), program+"="+row.program, input+"="+row.input, "NABLA_TEST_OP="+row.op)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s of %q: %v\n%s", row.op, row.program, err, out)
		} else if want := fmt.Sprintln("chosen:", row.want); !strings.Contains(string(out), want) {
			t.Errorf("%s of %q at %s: want %s, got %s", row.op, row.program, row.input, want, out)
		}
	}
}
