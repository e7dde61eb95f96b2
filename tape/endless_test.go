package tape

import (
	"strings"
	"testing"
	"time"
)

// A while loop is taken for endless after so much work, whatever its values are and however its
// steps run.
func TestPatience(t *testing.T) {
	work, least := mostWork, leastSteps
	defer func() { mostWork, leastSteps = work, least }()
	mostWork, leastSteps = 5e6, 50
	for _, text := range []string{
		"y = x; n = 0; while y < 9 { y = sin(y); n = n + 1 }; y",                                         // machine code
		"y = x*ones(3); n = 0; while sum(y) < 9 { y = sin(y); n = n + 1 }; sum(y)",                       // code
		"y = x*ones(300); n = 0; while sum(y) < 900 { y = sin(y); n = n + 1 }; sum(y)",                   // a plan
		"y = x*ones(30, 30); n = 0; while sum(y) < 9000 { y = tanh(y @ y); n = n + 1 }; sum(y)",          // of products
		"y = x*ones(3); n = 0; while sum(y) < 900 { y = tanh(solve(eye(3), y)); n = n + 1 }; sum(y)",     // of systems
		"y = x; while y < 9 { y = rand(1)[0] }; y",                                                       // step by step
		"y = x; while y < 9 { k = 0; while k < 10 { y = sin(y); k = k + 1 } }; y",                        // one in another
		"y = x; while y < 9 { for i in range(1000) { y = sin(y) }; y = y + rand(1)[0] }; y",              // with loops in it
		"y = x*ones(40, 40); while sum(y) < 1e9 { y = tanh(y @ y)*rand(1)[0] }; sum(y)",                  // and products
		"y = x*ones(3); n = 0; while sum(y) < 9 { y = grad(sum(sin(y)), y)/3; n = n + 1 }; sum(y)",       // and derivatives
		"y = x; n = 0; while y < 9 { if y > 0.5 { y = sin(y) } else { y = y + 0.7 }; n = n + 1 }; y",     // and branches
		"f(y, n) { while y < 9 { y = sin(y); n = n + 1 }; y }\nf(x, 0)",                                  // in a function
		"y = x; while y < 9 { y = concat([y*ones(1), rand(2)])[1]*0.1 }; y",                              //
		"y = x*ones(3); n = 0; while sum(y) < 9 { y = sin(y)[[2, 0, 1]]; n = n + 1 }; sum(y)",            //
		"y = x*ones(3); n = 0; while sum(y) < 900 { y = eigvalsh(outer(y, y))/9; n = n + 1 }; sum(y)",    //
		"y = x; n = 0; while y < 9 { for i in range(10) { y = sin(y) }; n = n + 1 }; y",                  //
		"y = x*ones(9); n = 0; while sum(y) < 900 { y = sort(cos(y))*0.5 + 0.1; n = n + 1 }; sum(y)",     //
		"y = x*ones(9); n = 0; while sum(y) < 900 { y = softmax(cumsum(y)); n = n + 1 }; sum(y)",         //
		"y = x*ones(9); n = 0; while sum(y) < 900 { y = where(y > 0.3, y*0.9, 1 - y); n = n + 1 }; y[0]", //
	} {
		start := time.Now()
		_, err := question(t, "grad", text, "x=0.4").Answer()
		if e, ok := AsError(err); !ok || e.ExitCode() != 5 || !strings.Contains(err.Error(), "does this loop end?") {
			t.Errorf("%q: after %v %v", text, time.Since(start), err)
		}
	}
	// One with a time limit ends with that, or with its last step.
	for text, kind := range map[string]string{
		"y = x; n = 0; while n < 1e6 { y = sin(y); n = n + 1 }; y":                     "",
		"y = x*ones(300); n = 0; while n < 1e4 { y = sin(y); n = n + 1 }; sum(y)":      "",
		"y = x*ones(300); n = 0; while sum(y) < 900 { y = sin(y); n = n + 1 }; sum(y)": "timeout",
		"y = x; while y < 9 { y = rand(1)[0] }; y":                                     "timeout",
	} {
		q := question(t, "grad", text, "x=0.4")
		limit := time.Minute
		if kind != "" {
			limit = 200 * time.Millisecond
		}
		q.Deadline = time.Now().Add(limit)
		_, err := q.Answer()
		if e, ok := AsError(err); (err != nil) != (kind != "") || err != nil && (!ok || e.At.Kind != kind) {
			t.Errorf("%q in %v: %v", text, limit, err)
		}
	}
}
