package tape

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

// What the systems themselves say, in float64: TensorFlow 2.21, JAX 0.10.2, PyTorch 2.15.
// A row is expression, point, and the partials in each; none is a missing gradient, "-" no
// such operation there.
func TestTheirs(t *testing.T) {
	for _, r := range []struct{ text, at, torch, jax, tf string }{
		{"abs(x)", "0", "0", "1", "0"},
		{"sign(x)", "0", "0", "0", "0"},
		{"x^0", "0", "0", "0", "NaN"},
		{"x^0", "2", "0", "0", "0"},
		{"norm([x, y], 3)", "0 0", "0 0", "NaN NaN", "NaN NaN"},
		{"norm([x, y], 3)", "0 2", "0 1", "0 1", "0 1"},
		{"relu(x)", "0", "0", "0", "0"},
		{"relu6(x)", "0", "0", "0", "0"},
		{"relu6(x)", "6", "0", "0", "0"},
		{"leaky_relu(x)", "0", "0.01", "1", "0.01"},
		{"elu(x)", "0", "1", "1", "1"},
		{"selu(x)", "0", "1.7580993408473766", "1.7580993408473766", "1.0507009873554805"},
		{"celu(x)", "0", "1", "1", "-"},
		{"hard_sigmoid(x)", "3", "0", "0", "-"},
		{"hard_sigmoid(x)", "-3", "0", "0", "-"},
		{"hard_swish(x)", "3", "1", "1", "-"},
		{"hard_swish(x)", "-3", "0", "0", "-"},
		{"hard_tanh(x)", "1", "0", "1", "-"},
		{"hard_tanh(x)", "-1", "0", "1", "-"},
		{"max(x, y)", "1 1", "0.5 0.5", "0.5 0.5", "1 0"},
		{"min(x, y)", "1 1", "0.5 0.5", "0.5 0.5", "1 0"},
		{"max(x, 0)", "0", "0.5", "0.5", "1"},
		{"max(0, x)", "0", "0.5", "0.5", "0"},
		{"min(x, 0)", "0", "0.5", "0.5", "1"},
		{"clip(x, 0, 1)", "0", "0", "0.5", "1"},
		{"clip(x, 0, 1)", "1", "0", "0.5", "1"},
		{"clip(x, y, 1)", "0 2", "0 0", "0 0", "0 1"},
		{"clip(x, -1, y)", "0 -2", "0 1", "0 1", "0 0"},
		{"abs(x)", "NaN", "0", "-1", "NaN"},
		{"hardshrink(x)", "NaN", "1", "-", "-"},
		{"threshold(x, 1, 20)", "NaN", "1", "-", "-"},
		{"logaddexp2(x, 0)", "0", "0.5", "0.5", "-"},
		{"floor(x)", "1.5", "0", "0", "none"},
		{"ceil(x)", "1.5", "0", "0", "none"},
		{"round(x)", "1.5", "0", "0", "none"},
		{"trunc(x)", "1.5", "0", "0", "-"},
		{"x^y", "0 0", "0 0", "NaN 0", "NaN 0"},
		{"x^y", "0 1", "1 0", "1 0", "1 0"},
		{"x^y", "0 0.5", "+Inf 0", "+Inf 0", "+Inf 0"},
		{"x^y", "0 2", "0 0", "0 0", "0 0"},
		{"x^y", "0 -1", "-Inf -Inf", "-Inf NaN", "-Inf NaN"},
		{"x^y", "-2 3", "12 NaN", "12 NaN", "12 0"},
		{"x^y", "-1 0.5", "NaN NaN", "NaN NaN", "NaN NaN"},
		{"sqrt(x)", "0", "+Inf", "+Inf", "+Inf"},
		{"hypot(x, y)", "0 0", "NaN NaN", "0.5 0.5", "-"},
		{"atan2(x, y)", "0 0", "0 0", "NaN NaN", "NaN NaN"},
		{"xlogy(x, y)", "0 0", "0 NaN", "-Inf NaN", "0 0"},
		{"xlogy(x, y)", "0 2", "0.6931471805599453 0", "0.6931471805599453 0", "0 0"},
		{"mod(x, y)", "6 3", "1 -2", "1 -2", "1 -2"},
		{"sinc(x)", "0", "0", "0", "-"},
		{"softplus(x)", "0", "0.5", "0.5", "0.5"},
		{"acosh(x)", "1", "+Inf", "+Inf", "+Inf"},
		{"cbrt(x)", "0", "-", "+Inf", "-"},
		{"xlog1py(x, y)", "0 -1", "0 NaN", "-Inf NaN", "0 0"},
		{"xlog1py(x, y)", "0 1", "0.6931471805599453 0", "0.6931471805599453 0", "0 0"},
		{"xdivy(x, y)", "0 2", "-", "-", "0 0"},
		{"kl_div(x, y)", "0 1", "-", "-1 1", "-"},
		{"rel_entr(x, y)", "0 1", "-", "0 0", "-"},
		{"kl_div(x, y)", "-1 2", "-", "-1 1", "-"},
		{"kl_div(x, y)", "1 0", "-", "-1 1", "-"},
		{"rel_entr(x, y)", "-1 2", "-", "0 0", "-"},
		{"rel_entr(x, y)", "1 0", "-", "0 0", "-"},
		{"mod(x, y)", "2 0", "1 -Inf", "1 -Inf", "1 -Inf"},
		{"relu(x)", "NaN", "1", "0", "0"},
		{"acosh(x)", "-2", "0.5773502691896258", "0.5773502691896258", "NaN"},
		{"clip_by_norm([x, y], 1)", "0 0", "-", "-", "1 1"},
		{"log(x)", "-1", "-1", "-1", "-1"},
		{"log2(x)", "-1", "-1.4426950408889634", "-1.4426950408889634", "-"},
		{"log10(x)", "-1", "-0.4342944819032518", "-0.4342944819032518", "-"},
		{"log1p(x)", "-2", "-1", "-1", "-1"},
		{"atanh(x)", "2", "-0.3333333333333333", "-0.3333333333333333", "-0.3333333333333333"},
		{"lgamma(x)", "0", "-Inf", "NaN", "NaN"},
		{"copysign(x, y)", "0 -1", "0 0", "-1 0", "-"},
		{"logaddexp(x, y)", "-Inf -Inf", "NaN NaN", "-", "-"},
		{"softshrink(x)", "0.5", "0", "-", "-"},
		{"softshrink(x)", "-0.5", "0", "-", "-"},
		{"fmax(x, y)", "1 1", "0.5 0.5", "0 1", "-"},
		{"fmin(x, y)", "1 1", "0.5 0.5", "0 1", "-"},
		{"fmax(x, y)", "NaN NaN", "1 0", "1 0", "-"},
		{"fmin(x, y)", "NaN NaN", "1 0", "1 0", "-"},
		{"fmin(x, y)", "NaN 1", "0 1", "0 1", "-"},
		{"fmod(x, y)", "2 0", "1 -Inf", "1 -Inf", "-"},
		{"fmod(x, y)", "-2 0", "1 +Inf", "1 +Inf", "-"},
		{"fmod(x, y)", "6 3", "1 -2", "1 -2", "-"},
		{"fmod(x, y)", "7 -2", "1 3", "1 3", "-"},
		{"elu(x, 2)", "0", "2", "2", "-"},
		{"celu(x, 2)", "0", "1", "1", "-"},
		{"elu(x)", "NaN", "1", "NaN", "-"},
		{"celu(x)", "NaN", "1", "NaN", "-"},
		{"selu(x)", "NaN", "1.0507009873554805", "NaN", "-"},
		{"hard_swish(x)", "NaN", "1", "NaN", "-"},
		{"interp(x, [0, 1, 2], [1, 3, 2])", "0", "-", "2", "-"},
		{"interp(x, [0, 1, 2], [1, 3, 2])", "1", "-", "-1", "-"},
		{"interp(x, [0, 1, 2], [1, 3, 2])", "2", "-", "-1", "-"},
		{"interp(x, [0, 1, 2], [1, 3, 2])", "3", "-", "0", "-"},
		{"sum(cummax([x, x, y, x])*[1, 10, 100, 1000])", "2 1", "1111 0", "-", "-"},
		{"sum(cummax([x, y, y])*[1, 10, 100])", "2 2", "1 110", "-", "-"},
		{"sum(cummin([y, x, y])*[1, 10, 100])", "2 2", "10 101", "-", "-"},
		{"sum(cummax([x, y, x])*[1, 10, 100])", "1 NaN", "1 110", "-", "-"},
		{"logsumexp([x, y])", "-Inf -Inf", "NaN NaN", "NaN NaN", "NaN NaN"},
		{"logsumexp([x, y])", "+Inf 0", "NaN 0", "NaN 0", "NaN 0"},
		{"logsumexp([x, y])", "-Inf 0", "0 1", "0 1", "0 1"},
		{"norm([x, y])", "0 0", "0 0", "NaN NaN", "NaN NaN"},
		{"max([x, y])", "1 1", "0.5 0.5", "0.5 0.5", "0.5 0.5"},
		{"std([x, y])", "1 1", "0 0", "NaN NaN", "NaN NaN"},
		{"prod([x, y, 3])", "2 0", "0 6", "0 6", "0 6"},
		{"where(x > 0, log(x), 0)", "0", "NaN", "NaN", "NaN"},
		{"where(x > 0, sqrt(x), x)", "0", "NaN", "NaN", "1"},
		{"where(x > 0, rsqrt(x), x)", "-1", "NaN", "NaN", "1"},
		{"where(x > 0, reciprocal(x), x)", "0", "NaN", "NaN", "1"},
		{"where(x > 0, xlogy(x, y), y)", "-1 -2", "0 1", "NaN 1", "NaN 1"},
		// An infinite cotangent meets what was not taken: some select, others multiply.
		{"sqrt(where(x > 0, x, 0))", "-1", "0", "0", "0"},
		{"sqrt(where(x > 0, x, 0*x))", "-1", "NaN", "NaN", "NaN"},
		{"log(relu(x))", "-1", "0", "0", "NaN"},
		{"1/relu6(x)", "-1", "0", "0", "NaN"},
		{"sqrt(max(x, 0))", "-1", "0", "NaN", "0"},
		{"sqrt(1 - min(x, 1))", "2", "0", "NaN", "0"},
		{"sqrt(clip(x, 0, 1))", "-1", "0", "NaN", "0"},
		{"sqrt(elu(x))", "0", "+Inf", "+Inf", "+Inf"},
		{"log(hard_sigmoid(x))", "-6", "0", "0", "NaN"},
		{"log(hard_swish(x))", "-6", "0", "NaN", "NaN"},
		{"gamma(x)", "0", "-", "NaN", "-"},
		{"logit(x)", "2", "NaN", "-0.5", "-"},
		{"logit(x)", "0.5", "4", "4", "-"},
		{"logit(x)", "1", "+Inf", "+Inf", "-"},
		{"ndtri(x)", "0", "+Inf", "0", "+Inf"},
		{"max(x, y)", "1 NaN", "1 1", "0 0", "0 1"},
		{"min(x, y)", "NaN 1", "1 1", "0 0", "0 1"},
		{"sign(x)*x", "+Inf", "1", "1", "1"},
		{"sign(x)", "NaN", "0", "0", "0"},
		{"x^y", "1 +Inf", "+Inf 0", "+Inf 0", "+Inf 0"},
		{"sum(max_pool1d([[[x, y, x, y]]], 2))", "1 1", "2 0", "2 0", "2 0"},
		{"a = [x]; for i in range(40) { a = abs(a) }; sum(a)", "0", "0", "1", "0"},
		{"a = x; for i in range(40) { a = max(a, 0) + x }; a", "0", "1.9999999999990905", "1.9999999999990905", "41"}, // a rolled loop
	} {
		for convention, want := range map[string]string{"torch": r.torch, "jax": r.jax, "tf": r.tf} {
			if want == "-" {
				continue
			}
			q := question(t, "grad", r.text)
			q.Conventions = convention
			for i, v := range floats(r.at) {
				q.Inputs = append(q.Inputs, Input{Name: "xy"[i : i+1], Value: tensor.Of(tensor.Scalar(v))})
			}
			a, err := q.Answer()
			if err != nil {
				t.Errorf("%s: %v", r.text, err)
				continue
			}
			got := ""
			for _, f := range a.Targets[0].Payload.Fields {
				if f.Value.Kind == tensor.KindNone {
					got += " none"
					continue
				}
				v := f.Value.Tensor.Data[0]
				if v == 0 {
					v = math.Abs(v)
				}
				got += fmt.Sprint(" ", v)
			}
			if got != " "+want {
				t.Errorf("%s at %s in %s: %s, want %s", r.text, r.at, convention, got[1:], want)
			}
		}
	}
}

// Second derivatives at 0, as the systems were measured.
func TestTheirsTwice(t *testing.T) {
	for _, r := range []struct{ text, torch, jax, tf string }{
		{"elu(x)", "0", "1", "0"},
		{"elu(x, 2)", "0", "2", "-"},
		{"selu(x)", "0", "1.7580993408473766", "0"},
		{"celu(x)", "0", "0.25", "-"},
		{"celu(x, 2)", "0", "0.125", "-"},
		{"x^0", "0", "0", "NaN"},
		{"x^2", "2", "2", "2"},
		{"relu(x)^2", "0", "0", "0"},
		{"max(x, 0)^2", "0.5", "0.5", "2"},
		{"x*abs(x)", "0", "2", "0"},
	} {
		for convention, want := range map[string]string{"torch": r.torch, "jax": r.jax, "tf": r.tf} {
			if want == "-" {
				continue
			}
			q := question(t, "hessian", r.text, "x=0")
			q.Conventions = convention
			a, err := q.Answer()
			if err != nil {
				t.Errorf("%s: %v", r.text, err)
				continue
			}
			if got := fmt.Sprint(numbers(a.Targets[0].Payload)[0]); got != want {
				t.Errorf("%s at 0 in %s, twice: %s, want %s", r.text, convention, got, want)
			}
		}
	}
}

func floats(s string) (all []float64) {
	for _, f := range strings.Fields(s) {
		var v float64
		fmt.Sscan(f, &v)
		all = append(all, v)
	}
	return all
}

// Away from the points that differ, all conventions give one derivative, bit for bit.
func TestTheirsElsewhere(t *testing.T) {
	for name := range theirs.get() {
		op := table.find(name)
		if op.Try.n == 0 || slices.Contains([]string{"power", "xlogy", "xlog1py", "xdivy", "kl_div", "rel_entr"}, op.Name) { // these differ along an axis
			continue
		}
		for _, p := range pointsOf(op) {
			var got []string
			for _, convention := range []string{"", "tf", "jax", "torch"} {
				args := "x, y, z"[:3*len(pointsOf(op)[0])-2]
				q := question(t, "grad", op.Name+"("+args+")")
				q.Conventions = convention
				for i, v := range p {
					q.Inputs = append(q.Inputs, Input{Name: "xyz"[i : i+1], Value: tensor.Of(tensor.Scalar(v))})
				}
				a, err := q.Answer()
				if err != nil {
					t.Fatalf("%s: %v", op.Name, err)
				}
				text := ""
				for _, f := range a.Targets[0].Payload.Fields {
					if f.Value.Kind == tensor.KindTensor {
						text += fmt.Sprint(" ", f.Value.Tensor.Data[0])
					}
				}
				if op.Stops == "" {
					got = append(got, text)
				}
			}
			for _, g := range got {
				if g != got[0] {
					t.Errorf("%s at %v: %q", op.Name, p, got)
				}
			}
		}
	}
}
