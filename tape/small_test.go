package tape

import (
	"strconv"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

// A smallQuestion is one whose numbers take little beside recording and planning.
type smallQuestion struct {
	name, op, text string
	in             string // inputs: name=shape, separated by blanks
}

var smallQuestions = []smallQuestion{
	{"scalar", "grad", "y = sin(x)*cos(x); z = y^2 + exp(-y); log(z + 1)*y", "x="},
	{"scalarHessian", "hessian", "sin(x*y) + x^2*exp(y)", "x= y="},
	{"vector", "grad", "sum(sin(x)*exp(-x^2))", "x=10"},
	{"vectorHessian", "hessian", "sum(sin(x)*exp(-x^2))*sum(x^2)", "x=10"},
	{"rosenbrock", "grad", "sum(100*(x[1:] - x[:-1]^2)^2 + (1 - x[:-1])^2)", "x=10"},
	{"rosenbrockHessian", "hessian", "sum(100*(x[1:] - x[:-1]^2)^2 + (1 - x[:-1])^2)", "x=10"},
	{"elements", "hessian", "(x[0] + 10*x[1])^2 + 5*(x[2] - x[3])^2 + (x[1] - 2*x[2])^4 + 10*(x[0] - x[3])^4", "x=4"},
	{"jacobian", "jacobian", "[x[0]*cos(x[1]), x[0]*sin(x[1])]", "x=2"},
	{"jacobianDense", "jacobian", "tanh(w @ x)", "w=8,8 x=8"},
	{"logistic", "hessian", "mean(softplus(-y*(x @ w)))", "x=20,5 y=20 w=5"},
	{"curve", "jacobian", "a[0]*exp(-a[1]*t) + a[2]*cos(a[3]*t) - y", "a=4 t=50 y=50"},
	{"network", "grad", "mean((tanh(x @ w + b) @ v - t)^2)", "x=16,8 w=8,8 b=8 v=8 t=16"},
	{"networkHessian", "hessian", "mean((tanh(x @ reshape(p[:12], (3, 4))) @ p[12:] - t)^2)", "x=16,3 p=16 t=16"},
	{"softmax", "jacobian", "softmax(w @ x)", "w=5,5 x=5"},
	{"attention", "grad", "sum(tanh(softmax(q @ k.T/8, -1) @ v))", "q=8,4 k=8,4 v=8,4"},
	{"hvp", "hvp", "sum(sin(x)*exp(-x^2))*sum(x^2)", "x=10"},
	{"jvp", "jvp", "tanh(w @ x)", "w=8,8 x=8"},
	{"solve", "grad", "sum(solve(a + 5*eye(4), b)^2)", "a=4,4 b=4"},
	{"logdet", "hessian", "logdet(exp(-(x[:, newaxis] - x[newaxis, :])^2) + eye(4))", "x=4"},
	{"cholesky", "grad", "sum(cholesky(a @ a.T + 5*eye(4)))", "a=4,4"},
	{"if", "grad", "y = sum(x)\nif y > 100 { y = y^2 } else { y = sin(y) }\ny", "x=10"},
	{"while", "grad", "y = x\nfor i in range(6) { y = y - (y^2 - 2 - x^2)/(2*y + 3) }\ny", "x="},
	{"function", "hessian", "f(a, b) { c = a*b; sin(c) + c^2 }\nf(x, y) + f(y, x)", "x= y="},
	{"vmap", "grad", "f(a) = exp(-a^2)*sin(a)\nsum(vmap(f)(x))", "x=10"},
	{"loop", "grad", "a = x[0]; b = x[1]\nfor i in range(100) { c = a*b + sin(a); d = exp(-a*a) - b/3; a = a + 1e-3*(c*d - tanh(b)); b = b + 1e-3*(cos(c) + d*d - a*c) }\na + b", "x=2"},
	{"pendulum", "grad", "f(s) = [s[1], -sin(s[0])]\ns = x\nfor i in range(100) { k = f(s); l = f(s + 0.005*k); m = f(s + 0.005*l); s = s + 0.01/6*(k + 2*l + 2*m + f(s + 0.01*m)) }\nsum(s)", "x=2"},
	{"layers", "grad", "h = x[0]\nfor i in range(100) { h = tanh(h @ w/2 + x[i]) }\nsum(h)", "x=100,16 w=16,16"},
	{"rnn", "grad", "f(h, x) { h = tanh(w @ h + u @ x); (h, sum(h)) }\nsum(scan(f, zeros(8), x)[1])", "x=100,4 w=8,8 u=8,4"},
	{"gru", "grad", "f(h, x) { z = sigmoid(a @ h + u @ x); r = sigmoid(b @ h + u @ x); c = tanh(w @ (r*h) + u @ x); h = z*h + (1 - z)*c; (h, sum(h)) }\nsum(scan(f, zeros(8), x)[1])", "x=100,4 w=8,8 a=8,8 b=8,8 u=8,4"},
	{"heat", "grad", "u = x\nfor i in range(100) { u = u + 0.2*(roll(u, 1) - 2*u + roll(u, -1)) }\nsum(u^2)", "x=100"},
	{"markov", "grad", "f(h, y) { a = (h @ softmax(w, -1))*exp(-(m - y)^2); s = sum(a); (a/s, log(s)) }\nsum(scan(f, ones(4)/4, y)[1])", "w=4,4 m=4 y=100"},
	{"kalman", "grad", "m = zeros(2); p = eye(2); l = 0\nfor i in range(100) { m = f @ m; p = f @ p @ f.T + q; s = p[0, 0] + 1; k = p[:, 0]/s; r = y[i] - m[0]; m = m + k*r; p = p - outer(k, p[0, :]); l = l + log(s) + r^2/s }\nl", "f=2,2 q=2,2 y=100"},
	{"garch", "grad", "v = 1; l = 0\nfor i in range(100) { v = exp(p[0]) + 0.1*tanh(p[1])^2*y[i]^2 + 0.8*v; l = l + log(v) + y[i]^2/v }\nl", "p=2 y=100"},
	{"newton", "grad", "y = 1 + 0*x\nfor i in range(20) { y = y - grad(y^4/4 - x*y, y)/(3*y^2) }\ny", "x="},
	{"loopHessian", "hessian", "a = x[0]; b = x[1]\nfor i in range(100) { c = a*b + sin(a); a = a + 1e-3*(c - tanh(b)); b = b + 1e-3*cos(c) }\na + b", "x=2"},
}

// question is the question with random numbers of its shapes, times scale.
func (s *smallQuestion) question(t testing.TB, scale float64) *Question {
	q := question(t, s.op, s.text)
	q.Threads = 1
	for _, f := range strings.Fields(s.in) {
		name, text, _ := strings.Cut(f, "=")
		v := tensor.Of(tensor.Scalar(0.7 * scale))
		if text != "" {
			var shape []int
			for _, d := range strings.Split(text, ",") {
				n, err := strconv.Atoi(d)
				if err != nil {
					t.Fatal(err)
				}
				shape = append(shape, n)
			}
			v = normals(0.5*scale, shape...)
		}
		q.Inputs = append(q.Inputs, Input{Name: name, Value: v})
	}
	if s.op == "jvp" || s.op == "hvp" {
		q.With = &tensor.Value{Kind: tensor.KindRecord}
		for _, in := range q.Inputs {
			q.With.Fields = append(q.With.Fields, tensor.Field{Name: in.Name, Value: in.Value})
		}
	}
	return q
}

// TestSmall: what is typical is recorded once for all inputs of its form, with the bits of a
// question that is asked anew.
func TestSmall(t *testing.T) {
	for _, s := range smallQuestions {
		var lines [][]Input
		for _, scale := range []float64{1, 0.9, 1.1, 1} {
			lines = append(lines, s.question(t, scale).Inputs)
		}
		q := s.question(t, 1)
		comparePrepared(t, q, lines)
		p := q.Prepare()
		for _, in := range lines {
			p.Answer(in)
		}
		if len(p.kept) != 1 {
			t.Errorf("%s keeps %d recordings", s.name, len(p.kept))
			continue
		}
		for _, in := range lines {
			if serves, a := p.kept[0].fits(in), (*Answer)(nil); serves {
				if serves, a = p.kept[0].again(); serves && a != nil {
					continue
				}
			}
			t.Errorf("%s is recorded anew", s.name)
		}
	}
}

// BenchmarkSmall asks small questions anew, and prepared. What is recorded anew took .92 of the
// time, by the geometric mean of all, and what is prepared .82, when short memory of dead values
// stayed with a plan, spreads and lists of a run were kept from one to the next, and plans of
// steps used desks that others had used.
func BenchmarkSmall(b *testing.B) {
	for _, s := range smallQuestions {
		q := s.question(b, 1)
		b.Run(s.name+"/anew", func(b *testing.B) {
			b.ReportAllocs()
			var a *Answer
			var err error
			for b.Loop() {
				if a, err = q.Answer(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(a.Stats.Instructions), "instructions")
		})
		b.Run(s.name+"/prepared", func(b *testing.B) {
			p := q.Prepare()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Answer(q.Inputs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
