package tape

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// derived are programs with loops whose steps take derivatives.
var derived = []loopRow{
	{text: "s = x\nfor i in range(100) { s = s - 0.01*grad(s^4/4 - s^2/2, s) }\ns"},
	{text: "s = x\nfor i in range(100) { s = s + grad(s^2*y, y)*0.1 }\ns"},                                            // s^2, which is not of y
	{text: "s = x\nfor i in range(100) { s = s*0.9 + grad(v[i]*y^2, y)*0.1 }\ns"},                                     //
	{text: "z = 2*y\ns = x\nfor i in range(66) { s = s*0.9 + 0.01*stop_gradient(grad(z*s*y^2, y)) }\ns", no: true},    // z is of y
	{text: "s = x\nfor i in range(66) { s = s*y + 0.01*stop_gradient(grad(s^2, y)) }\ns", no: true},                   // s of the step before is of y, too
	{text: "z = 2*x\ns = v[3]\nfor i in range(66) { s = s*0.9 + 0.01*grad(z*v[i]*y^2, y) }\ns"},                       //
	{text: "s = x\nt = y\nfor i in range(66) { g = grad(t*s, s); s = 0.9*s + 0.01*g; t = 0.1*s^2 }\ns", no: true},     // t of the step before is of s
	{text: "s = x\nt = y\nfor i in range(66) { g = grad(t*s, s); t = 0.1*s^2; s = 0.9*s + 0.01*g }\ns"},               // of the one before
	{text: "s = x\nt = s\nfor i in range(66) { t = 0.9*t; s = 0.9*s + 0.1*grad(t*s, s) }\ns"},                         // but in the first step
	{text: "a = x\nb = y\nfor i in range(66) { t = a; a = b; b = 0.99*t + 0.01*grad(a*b^2, a) }\na*b"},                // a swap
	{text: "a = x\nb = y\nfor i in range(66) { a = 0.9*a + 0.01*stop_gradient(grad(a*b, b)); b = b }\na*b", no: true}, //
	{text: "f(t) = t^4/4 - y*t^2/2\ns = x\nfor i in range(100) { s = s - 0.01*grad(f)(s) }\ns"},
	{text: "f(s) = s - 0.1*grad(s^3 - s*y, s)/(1 + hessian(s^3 - s*y, s)^2)\ns = x\nfor i in range(100) { s = f(s) }\ns"},
	{text: "s = x\nwhile abs(grad(s^4/4 - s, s)) > 1e-3 { s = s - 0.002*grad(s^4/4 - s, s)*k }\ns*y"},
	{text: "s = x\nfor i in range(100) { s = s - 0.01*grad(abs(s) + relu(s - y), s) }\ns"},            // a kink that no step meets
	{text: "s = x\nfor i in range(100) { s = s - 0.01*grad(abs(s) + relu(w[i] - w[40]), s)*0 }\ns"},   //
	{text: "s = x\nfor i in range(100) { t = w[i] - w[40]; s = s*0.9 + 0.1*grad(abs(t)*s, t) }\ns*y"}, // in one
	{text: "s = x\nfor i in range(100) { t = floor(3*w[i])*y; s = s*0.9 + 0.1*grad(abs(t)*s + max(t, 0), t) }\ns*y"},
	{text: "s = x\nfor i in range(100) { t = floor(3*w[i])*y; s = s*0.9 + 0.1*grad(sqrt(t)*s, t) }\ns*y"}, // with an infinite slope
	{text: "s = x\nfor i in range(100) { s = s - 0.01*jvp(sin(s)*y, s, 0.5) + 0.1*hvp(sin(s), s, v[i]) - 0.1*vjp(s*y, s, 2) }\ns"},
	{text: "p = (x, y)\nfor i in range(100) { g = grad(p[0]^2*p[1] + p[1]^4, p); p = (p[0] - 0.01*g[0], p[1] - 0.01*g[1]) }\np[0] + p[1]"},
	{text: "s = [x, y, 1]\nfor i in range(80) { t, g = value_and_grad(mean(tanh(s)^2), s); s = s - g*t }\nsum(s*v[:3])"},
	{text: "s = [x, y, 1]\nfor i in range(70) { s = s - 0.01*jacobian(tanh(s)^2, s) @ s }\nsum(s)", no: true}, // rows of a Jacobian
	{text: "s = x\nfor i in range(70) { s = s*1.01 - 0.001*(s > y ? grad(s^2, s) : grad(s^3, s)) }\ns", no: true},
	{text: "s = x\nfor i in range(70) { s = 0.9*s + 0.1*grad(s*y, s) }\ngrad(s^2, x)*s"},
	{text: "s = x\nfor i in range(70) { u = s^2; s = 0.99*s + 0.1*grad(u*s, s) }\ngrad(u*s, s)*x", no: true}, // by a name of the last step
	{text: "s = x\nfor i in range(80) { for j in range(9) { s = s - 0.01*grad(s^3*y*w[j], s) } }\ns"},
	{text: "c, ys = scan((c, u) -> (c - 0.1*grad(c^2*u, c), grad(c*u^2*y, u)), x, v)\nc + ys @ w"},
	{text: "var a = x\nfor i in range(70) { a = a - 0.1*grad(a^2*y, a) }\na*y"},
	{text: "var n = x\nfor i in range(100) { n -= 0.1*grad(n^2*y, n) }\nn*y"}, // by a variable
	{text: "var n = u\nvar m = 0*u\nfor i in range(100) { t, g = value_and_grad(sum((n - u*y)^2), n); m := 0.9*m + g; n -= 0.01*m }\nt*sum(n)"},
	{text: "var a = x\nvar b = y\nfor i in range(100) { a -= 0.1*grad(a^2*b^2, a); b -= 0.1*grad(a^2*b^2, b) }\na*b*x"},
	{text: "var a = x\ns = y\nfor i in range(100) { a := 0.9*a; s = 0.9*s + 0.1*grad(a^2*v[i]*y, a); a := a + 0.01*grad(a^2, a) }\na*s"},
	{text: "for i in range(100) { x -= 0.01*grad(x^2*y, x) }\nx^2*y"},
	{text: "var a = x\ns = y\nfor i in range(70) { g = grad(a^2*s, a); s = 0.5*a; a -= 0.01*g }\na*s", no: true},                   // s is of what a was
	{text: "var a = x\ns = y\nt = y\nfor i in range(70) { g = grad(a^2*s, a); s = 0.9*t; t = 0.5*a; a -= 0.01*g }\na*s", no: true}, // two steps before
	{text: "var a = x\ns = a*y\nfor i in range(70) { a -= 0.01*grad(a^2*s, a) }\na*s", no: true},                                   // in front of the loop
	{text: "var a = x\ns = y\nfor i in range(70) { a := 0.9*a; b = a; a := 0.5*a; g = grad(a*s, a); s = 0.1*b + 0*g }\na*s", no: true},
	{text: "reset\ns = x\nfor i in range(70) { s = 0.9*s + 0.1*grad(v[i]*y^2, y) }\ns", no: true}, // of what y has been, too
	{text: "m = 0\ns = x\nfor i in range(1, 90) { g = grad(s^4/4 - y*s, s); m = 0.9*m + 0.1*g; s = s - 0.1*m/(1 - exp(-i)) }\ns"},
}

func TestDerivativesInLoops(t *testing.T) { compareRows(t, derived) }

// TestRandomDerivativesInLoops holds random loops that take derivatives to the same steps
// recorded one by one.
func TestRandomDerivativesInLoops(t *testing.T) {
	compareRandom(t, rounds(40), func(seed uint64) (text string, tol float64, scalar bool) {
		w := &loopWriter{rng: rand.New(rand.NewPCG(seed, 8)), derives: true, vars: int(seed % 4)}
		text = w.program()
		if w.vars > 0 { // whether derivatives hold beside what is nan is found out of short programs
			text = strings.NewReplacer("sqrt(", "cbrt(", "log1p(", "log1p(2 + ").Replace(text)
		}
		return text, 0, true
	})
}

// derivative is a random one by a name.
func (w *loopWriter) derivative() string {
	by := w.pick(append(w.names, "y")...)
	of := fmt.Sprintf("sum(%s*sin(%s) + %s)", by, by, strings.ReplaceAll(w.expr(2), "stop_gradient", "tanh"))
	switch w.rng.IntN(5) {
	case 0:
		return "vjp(" + of + ", " + by + ", 0.3)"
	case 1:
		return "hvp(" + of + ", " + by + ", 0.5*" + by + ")"
	case 2:
		return "value_and_grad(" + of + ", " + by + ")[1]"
	}
	return "grad(" + of + ", " + by + ")"
}

// TestManyVersions: a derivative by a variable that has had many values looks at those alone that the
// target comes from.
func TestManyVersions(t *testing.T) {
	s := &session{q: question(t, "eval", "var w = 0.5; for i in range(50000) { w -= 0.01*grad((w*x - 1)^2, w) }; grad((w*x - 1)^2, w); (w*x - 1)^2", "x=2")}
	s.start()
	s.program()
	by := s.lo.slotSource("w", s.lo.top.names["w"]).(*source)
	if n := len(by.refs); n != 50001 {
		t.Errorf("w has had %d values, want 50001", n)
	}
	if s.lo.forget(s.last, by); len(by.refs) != 1 || by.refs[0] != s.lo.top.names["w"].val {
		t.Errorf("%d of them are looked at, want the last alone", len(by.refs))
	}
	a, err := question(t, "grad", "var w = x; y = w^2; for i in range(50) { w := w + 1 }; y + w*grad(y + 2*w, w)", "x=3").Answer()
	if err != nil || a.Targets[0].Value.Tensor.Item() != 9+53*8 {
		t.Errorf("a derivative by the first of 51 values: %v", err)
	}
}
