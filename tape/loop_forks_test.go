package tape

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// forked are programs with loops whose steps decide what they run.
var forked = []loopRow{
	{text: "s = x\nfor i in range(100) { if s > 1 { s = s*0.5 } else { s = s*1.7 + y } }\ns"},
	{text: "s = x\nn = 0\nfor i in range(100) { if s > 1 { s = s*0.5; n = n + 1 } else { s = s*1.7 + y } }\ns*n"},
	{text: "s = x\nfor i in range(100) { if s > 50 { s = sqrt(-1*s)/0 } ; s = s*0.9 + y }\ns"},                 // never taken
	{text: "s = x\nfor i in range(100) { if s > 50 { s = nothing } ; s = s*0.9 + y }\ns"},                      // wrong, but never taken
	{text: "s = x\nfor i in range(100) { if s > 50 { s = [s, s] } ; s = s*0.9 + y }\ns", no: true},             // of another shape, but never taken
	{text: "s = x\nfor i in range(100) { if s > 1 { s = 0 } else { s = s + 0.3*x + 0.1*v[i] } }\ns"},           // forgotten now and then
	{text: "s = x\nt = y\nfor i in range(100) { if s > 1 { s = t } else { s = s + 0.3 }; t = t*0.9 }\ns"},      // of one, then of the other
	{text: "s = x\nfor i in range(100) { if v[i] > 0.5 { t = s*2; s = t*0.3 } else { s = s + y*v[i] } }\ns*t"}, // a name that is bound late
	{text: "s = x\nfor i in range(100) { j = i*2; if j < 100 { s = s*0.9 + v[j]*y } }\ns"},                     // an index that is not asked for
	{text: "s = x\nfor i in range(100) { if i > 0 and v[i - 1] > 0.3 or i % 7 == 3 { s = s + v[i]*x } }\ns"},   //
	{text: "s = x\nfor i in range(100) { s = s + (w[i] > 0 ? log(w[i])*s*0.01 : sqrt(-w[i])*y) }\ns"},          //
	{text: "s = x\nfor i in range(100) { if i % 3 == 0 { s = s*0.5 } else if i % 3 == 1 { s = sin(s) + y } else { s = s*v[i] } }\ns"},
	{text: "f(a, b) { if a > b { t = a - b } else { t = b*b; if t > 0.2 { t = a } }; t }\ns = x\nfor i in range(100) { s = 0.9*f(s, y + v[i]) + 0.01*w[i] }\ns"},
	{text: "m = 0\nfor i in range(100) { if w[i]*x > m { m = w[i]*x } }\nm"}, // active when it is first bound
	{text: "m = 0\nfor i in range(100) { if v[i] > 5 { m = m + x } }\nm"},    // never
	{text: "m = 0\nfor i in range(100) { if v[i] > 0.9 { m = m + x } else { m = m*0.5 } }\nm"},
	{text: "s = x\nfor i in range(100) { if s < 0 { s = 0 }; s = s - 0.1 + sqrt(s)*0.05 }\ns", no: true}, // a root of what is reset
	{text: "s = x\nfor i in range(100) { if s < 0 { s = abs(s)*y }; s = s - 0.1 }\ns"},                   //
	{text: "s = x\nfor i in range(100) { if i % 10 == 0 { t = sqrt(s) }; s = t*t + 0.1 }\ns", no: true},  // the square of a root
	{text: "s = x\nwhile s < 500 { if s < 10 { s = s + 0.7 } else { s = s*1.01 + y*y } }\ns"},            //
	{text: "s = x\nn = 0\nwhile s < 500 and n < 1000 { s = s*1.01 + 0.1*y^2; n = n + 1 }\ns*n"},          //
	{text: "c, ys = scan((c, u) -> (c > 0.5 ? c*0.5 : c + u*y, c > 0.3 ? c*c : y*u), x, v)\nc + ys @ w"}, //
	{text: "f(c, u) { if c.a > 1 { n = c.b + 1; a = 0.3*y } else { n = c.b; a = c.a*1.1 + u*x }; ({a: a, b: n}, n) }\nc, ys = scan(f, {a: x, b: 0}, v)\nc.a*sum(ys)"},
	{text: "s = x\nfor i in range(10) { for j in range(90) { if s > 1 { s = s*0.3 } else { s = s + 0.01*v[j]*w[i] + 0.2*x } } }\ns"},
	{text: "s = x\nfor i in range(100) { for j in range(3) { if s > w[j] { s = s*0.3 } else { s = s + 0.1*v[j] } } }\ns"},
	{text: "p = [x, y]\nfor i in range(100) { if p[0] > 0.5 { p = p*[0.3, 0.7] } else { p = p + 0.1*[v[i], x] } }\np[0]*p[1]"},
	{text: "s = x\nfor i in range(100) { if s > 1 { s = s + max(s, v[i])*abs(s - s) } else { s = s*1.3 + relu(y) } ; s = s*0.9 }\ns", no: true}, // kinks
	{text: "s = x\nfor i in range(100) { if i > 50 { s = s*1e9 } else { s = s + 0.1 } }\nlog(s)*0 + s"},                                         // leaves the range
	{text: "s = x\nfor i in range(100) { if i > 90 { s = exp(s*100) } else { s = exp(-s)*1e-3 } }\ns"},
	{text: "s = x\nt = y\nfor i in range(100) { if i == 99 { s = t } }\ns"},
	{text: "s = x\nt = y\nfor i in range(100) { if i == 98 { s = t }; if i == 99 { t = s*1 ; s = 3 } }\ns + 0*v[0]"},
	{text: "s = x\nfor i in range(100) { if k > 2 { s = s*0.9 + y } else { s = s*v[i] } }\ns"},
	{text: "s = x\nfor i in range(100) { if s { s = s*0.9 + y*v[i] } }\ns"},
	{text: "s = x\nfor i in range(100) { n = s > 0.5 ? 2 : 3; s = 0.5*s^n + 0.3*v[i] }\ns", no: true}, // a power that is written in each branch
	{text: "s = x\nfor i in range(100) { if i == 80 { s = s + v[i + 50] } }\ns", no: true},            // a mistake, in its step
}

func TestForks(t *testing.T) { compareRows(t, forked) }

// condition is a random one.
func (w *loopWriter) condition(depth int) string {
	if depth > 0 && w.rng.IntN(4) == 0 {
		return w.pick("(", "not (") + w.condition(depth-1) + ")" + w.pick(" and ", " or ") + w.condition(depth-1)
	}
	return w.pick(w.expr(1)+" > "+w.expr(1), "i % 3 == 1", "i > 40", "w[i] > 0", w.pick(w.names...)+" < 0.4", w.expr(2), w.expr(1)+" >= 0.5", "v[i] > 0.95", "i == 60")
}

// own is an expression whose value is no other name's.
func (w *loopWriter) own() string {
	if w.aliases {
		return w.pick(w.expr(2), w.pick(append(w.names, "x", "y")...))
	}
	return w.pick("sin", "cos", "-", "softplus", "exp", "log", "sqrt") + "(" + w.expr(2) + ")"
}

// statement is a random one of the body of a loop over n names.
func (w *loopWriter) statement(b *strings.Builder, n, depth int) {
	switch name := w.names[w.rng.IntN(n)]; w.rng.IntN(5 - min(1, 2-depth)) {
	case 0:
		fmt.Fprintf(b, "t = %s\n", w.expr(2))
	case 1:
		fmt.Fprintf(b, "%s = 0.7*tanh(%s) + 0.1*(%s ? %s : %s)\n", name, w.expr(2), w.condition(1), w.own(), w.own())
	case 2:
		fmt.Fprintf(b, "%s = %s\n", name, w.pick("0", "1", w.own(), "0.3*"+name, "v[i]", "0.5*tanh("+w.expr(2)+")"))
	case 3:
		fmt.Fprintf(b, "%s = 0.7*tanh(%s) + 0.1*(%s)\n", name, w.expr(3), w.expr(2))
	default:
		fmt.Fprintf(b, "if %s {\n", w.condition(1))
		for range 1 + w.rng.IntN(2) {
			w.statement(b, n, depth-1)
		}
		b.WriteString("}")
		for range w.rng.IntN(3) {
			fmt.Fprintf(b, " else if %s {\n", w.condition(1))
			w.statement(b, n, depth-1)
			b.WriteString("}")
		}
		if w.rng.IntN(2) == 0 {
			b.WriteString(" else {\n")
			w.statement(b, n, depth-1)
			b.WriteString("}")
		}
		b.WriteString("\n")
	}
}

func (w *loopWriter) forkedProgram() string {
	var b strings.Builder
	n := 1 + w.rng.IntN(3)
	for i := range n {
		name := string(rune('a' + i))
		w.names = append(w.names, name)
		starts := []string{"sin(x)", "x*y", "0", "v[7]", "1"}
		if w.aliases {
			starts = append(starts, "x", "y")
		}
		fmt.Fprintf(&b, "%s = %s\n", name, w.pick(starts...))
	}
	all := w.names
	if w.rng.IntN(3) == 0 {
		b.WriteString("t = y*0.3\n")
		w.names = append(w.names, "t")
	}
	fmt.Fprintf(&b, "for i in range(%d) {\n", 66+w.rng.IntN(30))
	for range 1 + w.rng.IntN(3) {
		w.statement(&b, n, 2)
	}
	fmt.Fprintf(&b, "}\n%s", w.pick("sum(sin("+strings.Join(all, " + ")+")) + v[3]*x", "("+strings.Join(all, ", ")+", 1)", all[0]))
	return b.String()
}

// TestRandomForks holds random loops with branches to the same steps recorded one by one.
func TestRandomForks(t *testing.T) {
	compareRandom(t, rounds(forkSeeds), func(seed uint64) (text string, tol float64, scalar bool) {
		w := &loopWriter{rng: rand.New(rand.NewPCG(seed, 7)), aliases: seed%2 == 1}
		if w.aliases { // the cotangents of two names of one value are summed in another order
			tol = 1e-12
		}
		text = w.forkedProgram()
		return text, tol, strings.HasSuffix(text, ")") && !strings.HasSuffix(text, ", 1)")
	})
}

const forkSeeds = 60
