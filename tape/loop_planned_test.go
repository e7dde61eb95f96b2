package tape

import (
	"fmt"
	"math/rand/v2"
	"nabla/tape/pool"
	"slices"
	"strings"
	"testing"
)

// largeLoops are programs whose loops have large values.
var largeLoops = []string{
	"p = v\nfor i in range(70) { p = p - 0.01*(2*p*sum(p*w) - w)*x }\nsum(p^2)",
	"p = v\nfor i in range(70) { q = p; p = 0.9*w + 0.05*p*y; w = q }\nsum(p*w)", // two that change places
	"p = v\nfor i in range(70) { p = p + 0.1*(concat([p[1:], p[:1]]) - 2*p + concat([p[-1:], p[:-1]])) }\np @ w",
	"m = reshape(v, (10, 10))\na = reshape(w, (10, 10))\nfor i in range(70) { m = tanh(m @ a)*x + 0.1*m.T }\nsum(m*a)",
	"p = v\nfor i in range(70) { p = softmax(p*w)*x + 0.9*p/norm(p) + 0.01*cumsum(p) - max(p)*y*0.1 }\nsum(p^2)",
	"r = v*reshape(w, (100, 1))\np = v\nfor i in range(70) { p = 0.9*p + r[i]*x - 0.1*r[99 - i] + 0.01*r[i + 5]*r[i // 2] }\nsum(p^2)", // rows
	"r = v*reshape(w, (100, 1))\np = w\nj = 0\nfor i in range(70) { p = 0.9*p + r[j]*x; j = (j*3 + floor(p[0])*0 + 1) % 50 }\nsum(p^2)",
	"c, ys = scan((c, u) -> (tanh(0.5*c*u + w*x), (sum(c), c*u)), v, v*reshape(w, (100, 1)))\nsum(c) + sum(ys[0]) + sum(ys[1]^2)",
	"p = v\nn = 0\nwhile sum(p) > 1 { p = p*(0.97 + 0.001*sin(w)*x); n = n + 1 }\nsum(p*w)*n",
	"p = v\nfor i in range(70) { if sum(p) > 50 { p = p*0.5 } else { p = p*1.1*x } }\nsum(p*w)",
	"p = v\nq = exp(w)\nfor i in range(70) { p = 0.9*p + 0.01*sin(q*x)*sqrt(v) + sum(exp(q))*0.01 }\nsum(p^2)", // what no step changes
	"p = v\nfor i in range(70) { p = 0.9*p + 0.1*grad(sum(sin(p)*w*x) + sum(p^3)/3, p) }\nsum(p^2)",
	"p = v\nfor i in range(70) { p = abs(p - 0.55) + relu(w*0)*y }\nsum(p)", // kinks
	"p = v\nfor i in range(70) { p = p*p*w*20 }\nsum(p)",                    // leaves the range
	"p = v\nfor i in range(70) { w = w }\nsum(p*w)*x",
	"p = v\nq = w\nfor i in range(70) { p = q*x; q = q*0.99 }\nsum(p*q)",
	"p = v\nfor i in range(70) { p = p + concat([[0], 0.1*(w[1:-1]*(p[2:] - 2*p[1:-1] + p[:-2]) + w[2:]*p[1:-1]*x), [0]]) }\nsum(p^2) + w[3]", // slices that are most of it
	"p = v\nfor i in range(70) { p = 0.9*p + 0.1*sum(w[:9]*w[4:13])*x }\nsum(p*w)",                                                            // or little
	"s = 0\nfor i in range(70) { s = s + sum(reshape(v, (10, 10)) @ reshape(w, (10, 10))*(x + i)) }\ns",
	"l = 0\na = reshape(w, (10, 10))\nb = v[:10]\nfor i in range(70) { l = mean((tanh(a @ b) - x)^2); g = grad(l, [a, b]); a = a - 0.1*g[0]; b = b - 0.1*g[1] }\nl",
	layer + "h = v\nfor i in range(70) { h = tanh(h @ a + x*w) }\nsum(h*w)",
	layer + "h = v\nfor i in range(80) { h = tanh(a @ h - 0.1*(h @ b) + r[i]) }\nsum(h*w)",                  // columns, and both ways round
	layer + "h = v\nfor i in range(66) { h = tanh(h @ a + 0.5*(tanh(h*x) @ a)) }\nsum(h*w)",                 // a weight that is used twice in a step
	layer + "h = v\nfor i in range(66) { h = tanh(h @ a + 0.3*(tanh(h*x) @ a.T) + 0.1*(a @ h)) }\nsum(h*w)", // and transposed
	layer + "h = reshape(concat([v, w, v*w]), (3, 100))\nfor i in range(66) { h = tanh(h @ a + 0.3*(h @ a.T)) }\nsum(h[1]*w)",
	layer + "h = v\nfor i in range(66) { h = tanh(h @ a + 0.5*(tanh(h*x)*a[3]) + a[i, 5]) }\nsum(h*w)", // and not only in products
	layer + "h = v\nc = w\nfor i in range(70) { f = sigmoid(h @ a + r[i] @ b); u = tanh(r[i] @ a); c = f*c + u*x; h = f*tanh(c) }\nsum(h*c)",
	layer + "s = 0*v\nfor i in range(70) { s = s + tanh(r[i] @ a)*x }\nsum(s^2)", // nothing waits
	layer + "s = x\nfor i in range(99) { s = s + sum(tanh(r[i] @ a)^2)*i; t = r[i] }\ns*sum(t)",
	layer + "h = reshape(concat([v, w, v*w]), (3, 100))\nfor i in range(70) { h = tanh(h @ a + r[i] + x) }\nsum(h[1]*w)",
	layer + "h = v\nfor i in range(90, 20, -1) { h = tanh(h*0.5 + r[i] @ a*i/90) + r[i - 95] }\nsum(h*w)", // rows from the end
	layer + "h = w\nfor i in range(70) { h = 0.9*h + r[i]*abs(r[i] - r[40])*x }\nsum(h)",                  // kinks ahead
	layer + "c, ys = scan((c, u) -> (tanh(c @ a + u), (u @ b, c*u, u)), v, r)\nsum(c) + sum(ys[0]*ys[1]) + sum(ys[2]^2)",
}

// layer has weights for layers of 100 numbers, and rows that come in.
const layer = "a = reshape(v, (100, 1))*w*0.02\nb = a.T + 0.01*x\nr = v*reshape(w, (100, 1))\n"

// TestBlocks: what of a step waits for the one before, and how many steps there are in a block.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		text                    string
		forward, back           int // steps of a block
		forwardWaits, backWaits int // instructions of a step
		totals, products        int // of the way back, and those of rank one
	}{
		{text: "h = v\nfor i in range(100) { h = tanh(h @ a/2 + r[i]) }\nsum(h)", forward: 1, back: 64, forwardWaits: 6, backWaits: 5, totals: 1, products: 1},
		{text: "c = a[:13, :13]\nh = v[:13]\nfor i in range(300) { h = tanh(h @ c) }\nsum(h)", forward: 1, back: 64, forwardWaits: 4, backWaits: 4, totals: 1, products: 1},
		{text: "h = v\nfor i in range(100) { h = tanh(a @ h) }\nsum(h)", forward: 1, back: 64, forwardWaits: 4, backWaits: 4, totals: 1, products: 1},
		{text: "h = v\nfor i in range(100) { h = tanh(h @ a.T) }\nsum(h)", forward: 1, back: 64, forwardWaits: 4, backWaits: 4, totals: 1, products: 1},
		{text: "h = reshape(concat([v, w, v*w]), (3, 100))\nfor i in range(100) { h = tanh(h @ a) }\nsum(h)", forward: 1, back: 64, forwardWaits: 2, backWaits: 2, totals: 1, products: 1},
		{text: "s = x\nfor i in range(70) { s = s + sum(tanh(r[i] @ a)) }\ns", forward: 64, back: 64, totals: 1, products: 1},
		{text: "h = v\nfor i in range(100) { h = tanh(h*w) }\nsum(h)", forward: 1, back: 64, forwardWaits: 2, backWaits: 2, totals: 1},
	} {
		var steps []*plannedStep
		for _, l := range loopsOf(t, "grad", layer+c.text) {
			steps = append(steps, l.plan(0, None))
		}
		if len(steps) != 2 {
			t.Fatalf("%q: %d loops", c.text, len(steps))
		}
		waits := func(s *plannedStep) int {
			if s.each == nil {
				return 0
			}
			return s.each.count
		}
		there, back := steps[0], steps[1]
		for _, s := range steps {
			if s.each != nil && s.settled == nil {
				t.Errorf("%q: steps are not steady", c.text)
			}
		}
		if there.block.n != c.forward || back.block.n != c.back || waits(there) != c.forwardWaits || waits(back) != c.backWaits {
			t.Errorf("%q: blocks of %d and %d steps, of which %d and %d instructions wait; want %d, %d, %d, %d", c.text,
				there.block.n, back.block.n, waits(there), waits(back), c.forward, c.back, c.forwardWaits, c.backWaits)
		}
		products := 0
		for _, x := range back.totals {
			if slices.ContainsFunc(x.terms, func(e totalTerm) bool { return e.x != None }) {
				products++
			}
		}
		if len(back.totals) != c.totals || products != c.products {
			t.Errorf("%q: %d totals, %d of products; want %d, %d", c.text, len(back.totals), products, c.totals, c.products)
		}
	}
}

// TestLargeLoops holds loops whose steps are planned to the same steps recorded one by one.
func TestLargeLoops(t *testing.T) {
	for i, text := range largeLoops {
		if spared(i) {
			continue
		}
		if !compareLoops(t, text, []string{"eval", "grad"}, func(op string) *Question { return loopQuestion(t, op, text) }) {
			t.Errorf("%q is not rolled", text)
		}
		compareLoops(t, text, []string{"hvp", "jvp"}, func(op string) *Question { return loopQuestion(t, op, text) })
		compareSingle(t, text)
	}
}

// TestWhatRolls: which loops over many numbers are one instruction.
func TestWhatRolls(t *testing.T) {
	for _, r := range []struct {
		text   string
		limit  int64
		rolled bool
	}{
		{"m = ones(400, 300)*x\nfor i in range(70) { m = 0.9*m + 0.1*sin(m) }\nsum(m)", 0, false}, // better fused
		{"m = ones(400, 300)*x\nfor i in range(70) { m = 0.9*m + reshape(v, (100, 1)).T[0, 0]*ones(400, 1) @ ones(1, 300) }\nsum(m)", 0, true},
		{"p = ones(10000)*x\nfor i in range(70) { p = 0.9*p + 0.1*sin(p) }\nsum(p)", 6_000_000, false}, // 69 times 80,000 bytes would be kept
		{"p = ones(10000)*x\nfor i in range(70) { p = 0.9*p + 0.1*sin(p) }\nsum(p)", 7_000_000, true},
		{"p = ones(10000)*x\nfor i in range(70) { p = 0.9*p + 0.1*mean(p) }\nsum(p)", 6_000_000, true},
	} {
		q := loopQuestion(t, "grad", r.text)
		q.Limit = r.limit
		if _, rolled, _, err := loopAnswer(q); err != nil || rolled != r.rolled {
			t.Errorf("%q within %d bytes: rolled is %v, %v", r.text, r.limit, rolled, err)
		}
	}
}

// TestRowsUnrolled: where a derivative has many rows, steps over many numbers are unrolled.
func TestRowsUnrolled(t *testing.T) {
	loop := "p = v\nfor i in range(70) { p = 0.9*p + 0.1*sin(p) }\n"
	for _, r := range []struct{ op, text string }{
		{"jacobian", loop + "p"},
		{"hessian", loop + "sum(p)"},
		{"eval", loop + "jacobian(p, v)"},
	} {
		if _, rolled, _, err := loopAnswer(loopQuestion(t, r.op, r.text)); err != nil || rolled {
			t.Errorf("%s of %q: rolled is %v, %v", r.op, r.text, rolled, err)
		}
	}
}

// TestOutsideArrays: the way back meets an index first that no element has.
func TestOutsideArrays(t *testing.T) {
	for _, text := range []string{
		"s = x\nfor i in range(180) { s = s*0.9 + v[i] }\ns",
		"s = x\nfor i in range(180) { s = s*0.9 + v[2*i] }\ns",
		"r = reshape(v, (50, 2))\np = u[:2]\nfor i in range(180) { p = p*0.9 + r[i] }\nsum(p)",
		"r = v*reshape(w, (100, 1))\np = v\nfor i in range(180) { p = p*0.9 + r[i] }\nsum(p)",
		"r = v*reshape(w, (100, 1))\np = v\nfor i in range(180) { p = p*0.9 + r[2*i] }\nsum(p)",
	} {
		if _, _, _, err := loopAnswer(loopQuestion(t, "grad", text)); err == nil || !strings.Contains(err.Error(), "out of range for an axis of size") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestOutsideStep: an index that no element has is found in its step, though no step waits for it.
// Steps are those of the loop, in pieces too.
func TestOutsideStep(t *testing.T) {
	for _, r := range []struct{ text, want string }{
		{"s = 0\nfor i in range(180) { s = s + v[i*i]*sum(v*x) }\ns", "in step 9 of the loop"},
		{"s = x\nfor i in range(180) { s = s*0.9 + v[i - i % 100]*v[i] }\ns", "in step 99 of the loop"},
	} {
		answer := func() {
			if _, _, _, err := loopAnswer(loopQuestion(t, "eval", r.text)); err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("%q: %v, want %s", r.text, err, r.want)
			}
		}
		answer()
		inPieces(answer)
	}
}

// largeExpr is an expression for a vector of 100 numbers.
func (w *loopWriter) largeExpr(depth int) string {
	if depth == 0 || w.rng.IntN(6) == 0 {
		return w.pick(append(w.names, "v", "w", "v*x", "(w - y)", "r[i]", "r[99 - i]", "r[i // 2]", "r[(3*i) % 100]", "v[i]", "i/50", "x", "u[i % 7]")...)
	}
	x, y := w.largeExpr(depth-1), w.largeExpr(depth-1)
	switch w.rng.IntN(16) {
	case 0, 1:
		return "(" + x + " + " + y + ")"
	case 2, 3:
		return "(" + x + ")*(" + y + ")"
	case 4:
		return "(" + x + ")/(1.5 + (" + y + ")^2)"
	case 5:
		return "where(" + x + " > " + y + ", " + y + ", " + x + ")"
	case 6:
		return w.pick("sum", "mean", "max", "norm") + "((" + x + ")*ones(100))*0.1"
	case 7:
		return w.pick("softmax", "cumsum", "sort") + "((" + x + ")*ones(100))"
	case 8:
		return "reshape(reshape((" + x + ")*ones(100), (10, 10)) @ reshape((" + y + ")*ones(100), (10, 10)), (100,))*0.1"
	case 9:
		return "reshape(reshape((" + x + ")*ones(100), (10, 10)).T, (100,))"
	case 10:
		return "concat([((" + x + ")*ones(100))[50:], ((" + y + ")*ones(100))[:50]])"
	case 11:
		return "((" + x + ")*ones(100))[::-1]"
	}
	return w.pick("sin", "cos", "tanh", "exp", "sigmoid", "abs", "relu", "softplus", "square") + "(" + x + ")"
}

func (w *loopWriter) largeProgram() string {
	var b strings.Builder
	n := 1 + w.rng.IntN(3)
	b.WriteString("r = v*reshape(w, (100, 1))\n")
	for i := range n {
		name := string(rune('a' + i))
		w.names = append(w.names, name)
		fmt.Fprintf(&b, "%s = %s\n", name, w.pick("v*x", "w", "v*y + w", "zeros(100)", "x"))
	}
	fmt.Fprintf(&b, "for i in range(%d) {\n", 18+w.rng.IntN(78))
	for range 1 + w.rng.IntN(4) {
		if w.rng.IntN(4) == 0 {
			fmt.Fprintf(&b, "t = %s\n", w.largeExpr(2))
			w.names = append(w.names, "t")
			continue
		}
		name := w.names[w.rng.IntN(n)]
		fmt.Fprintf(&b, "%s = 0.7*tanh(%s) + 0.1*(%s)\n", name, w.largeExpr(3), w.largeExpr(2))
	}
	fmt.Fprintf(&b, "}\nsum(sin(%s)) + v[3]*x", strings.Join(w.names, " + "))
	return b.String()
}

// TestRandomLargeLoops is TestRandomLoops for vectors.
func TestRandomLargeLoops(t *testing.T) {
	saved := pool.LeastElements
	defer func() { pool.LeastElements = saved }()
	for seed := range uint64(rounds(15)) {
		pool.LeastElements = []int{1, saved}[seed%2]
		w := &loopWriter{rng: rand.New(rand.NewPCG(seed, 7))}
		text := w.largeProgram()
		compareLoops(t, text, []string{"eval", "grad", []string{"hvp", "jvp"}[seed/2%2]}, func(op string) *Question { return loopQuestion(t, op, text) })
		if t.Failed() {
			return
		}
	}
}

// TestWhatIsPlanned: whether the steps of a loop are planned, for the sizes of what is in them.
func TestWhatIsPlanned(t *testing.T) {
	for _, r := range []struct {
		text        string
		want, large bool
	}{
		{"h = v\nfor i in range(80) { h = tanh(h*x) }\nsum(h)", true, true},
		{"h = v[:2]\nfor i in range(80) { h = tanh(h*x) }\nsum(h)", false, false},
		{"h = v[:3]\nfor i in range(800) { h = tanh(h*x) }\nsum(h)", true, false},                                 // for long
		{"h = v[:2]\nfor i in range(80000) { h = h*x + 0.1*h*h }\nsum(h)", false, false},                          // numbers do as well
		{"s = x\nfor i in range(80000) { s = tanh(s*y) }\ns", false, false},                                       //
		{"h = v[:8]\nfor i in range(80) { h = tanh(h*x) }\nsum(h)", true, false},                                  //
		{"h = v[:32]\ns = x\nfor i in range(80) { s = s + sin(s)*cos(s); h = tanh(h*s) }\nsum(h)", true, false},   // numbers beside
		{"h = v[:2]\ns = x\nfor i in range(800) { s = s + sin(s)*cos(s); h = h*s }\nsum(h)", false, false},        // and little else
		{"h = v[:8]\na = reshape(w[:64], (8, 8))\nfor i in range(80) { h = tanh(h @ a) }\nsum(h)", true, false},   // products with what is packed
		{"a = reshape(w[:16], (4, 4))\nfor i in range(800) { a = a @ a.T }\nsum(a)", false, false},                // and with what is not
		{"h = v[:12]\nfor i in range(80) { h = roll(h, 1) }\nsum(h)", false, false},                               // what code has for nothing
		{"h = v[:4]\nfor i in range(800) { h = h/norm(h) + max(h) }\nsum(h)", true, false},                        // what code asks a kernel for, too
		{"h = v[:6]\na = reshape(w[:36], (6, 6))\nfor i in range(99) { h = h @ a }\nsum(h)", true, false},         // one operation is planned soon
		{"h = v[:60]\nfor i in range(20) { h = h + 0.2*(roll(h, 1) - 2*h + roll(h, -1)) }\nsum(h)", true, true},   // sooner than code for 60 is made
		{"h = v[:10]\nfor i in range(20) { h = h + 0.2*(roll(h, 1) - 2*h + roll(h, -1)) }\nsum(h)", false, false}, // but not for 10
		{"h = v[:4]\nfor i in range(1000) { h = h - 0.1*h*sum(h^2) }\nsum(h)", false, false},                      // sums that code splits up
	} {
		for _, op := range []string{"eval", "hessian"} { // many rows are not for plans
			loops := loopsOf(t, op, r.text)
			for _, l := range loops {
				if got := l.planned(); got != (r.want && op == "eval") {
					t.Errorf("%s of %q: planned is %v", op, r.text, got)
				}
			}
			if unrolled := op == "hessian" && r.large; (len(loops) == 0) != unrolled {
				t.Errorf("%s of %q: %d loops", op, r.text, len(loops))
			}
		}
	}
}

// Few steps are rolled where recording them takes longer than they do.
func TestFewSteps(t *testing.T) {
	first, second := []string{"eval", "grad"}, []string{"hessian"}
	for _, c := range []struct {
		text   string
		steps  int // of which so many are rolled, one step fewer is not
		inputs []string
		ops    []string
	}{
		{"u = x; for i in range(N) { u = r*u*(1 - u) }; u", 28, []string{"x=0.3", "r=3.1"}, first},
		{"u = x; k = 0; while k < N { u = u - (u^3 - 2)/(3*u^2); k = k + 1 }; u", 27, []string{"x=2"}, first},
		{"u = x; for i in range(N) { u = u + 0.2*(roll(u, 1) - 2*u + roll(u, -1)) }; sum(u^2)", 9, []string{"x=linspace(0, 1, 100)"}, first},
		{"u = x; for i in range(N) { u = u + 0.2*(roll(u, 1) - 2*u + roll(u, -1)) }; sum(u^2)", 65, []string{"x=linspace(0, 1, 10000)"}, first},
		{"u = x; for i in range(N) { u = sin(u)*u + 1 }; sum(u)", 65, []string{"x=linspace(0, 1, 1000)"}, first},
		{"u = x; for i in range(N) { u = u + 0.1*[u[1] - u[0], u[0]*(3 - u[2]) - u[1], u[0]*u[1] - u[2]] }; sum(u^2)", 6, []string{"x=[1, 2, 3]"}, second},
		{"u = x; for i in range(N) { u = u - 0.1*(u^3 - x) }; sum(u^2)", 1002, []string{"x=linspace(0, 1, 64)"}, second},
		{"u = x; for i in range(N) { u = u - 0.1*(u^3 - x) }; sum(u^2)", 13, []string{"x=linspace(0, 1, 10)"}, second},
		{"u = x; for i in range(N) { if u > 1 { u = u/2 } else { u = u*1.7 } }; u", 65, []string{"x=0.3"}, first},
	} {
		for _, n := range []int{c.steps - 1, c.steps} {
			text := strings.ReplaceAll(c.text, "N", fmt.Sprint(n))
			rolled := compareLoops(t, text, c.ops, func(op string) *Question { return question(t, op, text, c.inputs...) })
			if rolled != (n == c.steps) {
				t.Errorf("%s: rolled %v", text, rolled)
			}
		}
	}
}

// The way back of a loop in pieces has what is carried into the steps of one at a time.
func TestLoopsInPieces(t *testing.T) {
	for _, text := range []string{
		"u = x; for i in range(3200) { u = u + 0.001*sin(u) }; sum(u^2)",
		"u = x; k = 0; while k < 3200 { u = u + 0.001*sin(u); k = k + 1 }; sum(u^2)",
		"u = sum(x); for i in range(100000) { u = u + 0.001*sin(u)*x[i % 3] }; u",
		"f(u, t) { n = u + 0.001*sin(u)*t; (n, (sum(u^2), n[::20])) }; u, ys = scan(f, x, linspace(0, 1, 3200)); sum(u^2) + sum(ys[0])/9 + sum(ys[1]^2)",
	} {
		peak := func(whole float64, limit int64) (int64, []float64) {
			saved, piece := wholeKept, pieceKept
			wholeKept, pieceKept = whole, 1.6e5
			defer func() { wholeKept, pieceKept = saved, piece }()
			q := question(t, "grad", text, "x=linspace(0.1, 1, 100)")
			q.Limit = limit
			a, err := q.Answer()
			if err != nil {
				t.Fatal(text, err)
			}
			return a.Stats.Peak, numbers(a.Targets[0].Payload)
		}
		most, want := peak(1e9, 0)
		for _, limit := range []int64{0, most / 2} {
			little, got := peak(0, limit)
			if little > most/3 || !slices.Equal(got, want) {
				t.Errorf("%s: %d bytes in pieces, %d in one; %v, want %v", text, little, most, got, want)
			}
		}
		if _, got := peak(1e9, most/2); !slices.Equal(got, want) {
			t.Errorf("%s: %v with little memory, want %v", text, got, want)
		}
	}
}
