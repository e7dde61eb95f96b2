package tape

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// approached are derivatives where an infinite slope meets a factor 0: the limits, from the
// closed forms at the end of the lines, or what is told of them; "" wants no warning.
var approached = []struct {
	op, text, x, want, warn string
}{
	{"grad", "cbrt(x)^3", "0", "1", ""}, // x
	{"grad", "x + cbrt(x)^3", "0", "2", ""},
	{"hessian", "cbrt(x)^3", "0", "0", ""},
	{"grad", "exp(log(x))", "0", "1", ""},
	{"grad", "2^log2(x)", "0", "1", ""},
	{"grad", "(x^0.5)^2", "0", "1", ""},
	{"grad", "sqrt(x)*sin(sqrt(x))", "0", "1", ""}, // x - x²/6
	{"grad", "1/(1/x)", "0", "1", ""},
	{"grad", "where(x > 0, 1/(1/x), x)", "0", "1", ""}, // the branch is that of the value
	{"hessian", "sqrt(x)^4", "0", "2", ""},             // x²
	{"hessian", "sqrt(x^4)", "0", "2", ""},
	{"hessian", "exp(3*log(x))", "0", "0", ""},
	{"jvp", "cbrt(x)^3", "0", "1", ""},
	{"grad", "sum(cbrt(x)^3)", "[0, 8, 0]", "[1, 1, 1]", ""},
	{"grad", "cbrt(x[0]*x[1])^3", "[0, 3]", "[3, 0]", ""},
	{"grad", "sqrt(x)^1.5", "0", "inf", "sqrt: an infinite slope meets a factor 0: a vertical tangent"}, // x^¾
	{"grad", "exp(log(x)/2)", "0", "inf", "a vertical tangent"},
	{"grad", "sqrt(x^2)", "0", "0", "sqrt: an infinite slope meets a factor 0: 0 is taken"}, // |x|
	{"grad", "sqrt((x - 1)^2)", "1", "0", "0 is taken"},
	{"grad", "sqrt(sum(x^2))", "[0, 0]", "[0, 0]", "0 is taken"},
	{"grad", "sqrt(sum(x^2))", "[0, 1e-9]", "[0, 1]", ""},
	{"grad", "cbrt(x)^2", "0", "0", "0 is taken"}, // a cusp
	{"hessian", "x*sqrt(x^2)", "0", "0", "0 is taken"},
	{"grad", "x*sqrt(x^2)", "0", "0", ""},                        // x|x|
	{"grad", "acosh(x)^2", "1", "0", "acosh: an infinite slope"}, // 2
	{"grad", "cbrt(x - 1)^3", "1", "0", "cbrt: an infinite slope"},
	{"hessian", "acosh(x)^4", "1", "0", "acosh: an infinite slope"}, // 8
	{"grad", "acos(x)^3", "1", "0", ""},                             // -3 acos(x)²/sqrt(1-x²)
	{"grad", "sqrt(1 - cos(x))", "0", "0", "0 is taken"},            // |sin(x/2)| sqrt(2), where cos is 1 nearby
	{"grad", "where(x > 0, log(x), 0)", "0", "0", ""},
	{"grad", "where(x > 0, x*log(x), 0)", "0", "0", ""},
	{"grad", "0*sqrt(x)", "0", "0", ""},
	{"grad", "sqrt(x*0 + 4)*x", "0", "2", ""},
}

func TestApproach(t *testing.T) {
	for _, c := range approached {
		q := question(t, c.op, c.text, "x="+c.x)
		if c.op == "jvp" {
			q.With = question(t, "eval", "x", "x=1").Inputs[0].Value
		}
		a, err := q.Answer()
		if err != nil {
			t.Errorf("%s of %s at %s: %v", c.op, c.text, c.x, err)
			continue
		}
		want := strings.Trim(c.want, "[]")
		got := numbers(a.Targets[0].Payload)
		for i, w := range strings.Split(want, ", ") {
			if len(got) <= i || !(math.Abs(got[i]-floats(w)[0]) <= 0x1p-50) && got[i] != floats(w)[0] {
				t.Errorf("%s of %s at %s is %v, want %s", c.op, c.text, c.x, got, c.want)
				break
			}
		}
		said := fmt.Sprint(a.Warnings)
		if c.warn == "" && len(a.Warnings) > 0 || !strings.Contains(said, c.warn) {
			t.Errorf("%s of %s at %s warns %q, want %q", c.op, c.text, c.x, said, c.warn)
		}
	}
}

// TestApproachPrepared: the second point of a prepared question has the limit and the warning too.
func TestApproachPrepared(t *testing.T) {
	for _, c := range approached {
		if c.op != "grad" {
			continue
		}
		q := question(t, c.op, c.text, "x="+c.x)
		p := q.Prepare()
		for _, x := range []string{c.x, strings.ReplaceAll(strings.ReplaceAll(c.x, "1", "7"), "0", "6"), c.x} {
			q := question(t, c.op, c.text, "x="+x)
			want, err := q.Answer()
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Answer(q.Inputs)
			if err != nil {
				t.Fatal(err)
			}
			if payload(got) != payload(want) || fmt.Sprint(got.Warnings) != fmt.Sprint(want.Warnings) {
				t.Errorf("%s at %s, prepared: %s %v, want %s %v", c.text, x, payload(got), got.Warnings, payload(want), want.Warnings)
			}
		}
	}
}
