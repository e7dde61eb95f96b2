package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

// unrolled runs f with every loop recorded step by step.
func unrolled(f func()) {
	saved, most := fewFrom, mostUnbounded
	fewFrom, mostUnbounded = math.MaxInt, 0 // loops have no other numbers than float64
	defer func() { fewFrom, mostUnbounded = saved, most }()
	f()
}

// loopAnswer is what a question's program and derivatives are, and whether a loop of
// it is one instruction.
func loopAnswer(q *Question) (out [][]float64, rolled bool, warned []string, err error) {
	s := &session{q: q}
	defer s.rescue(&err)
	s.start()
	s.program()
	s.ask()
	for i := range s.t.ins {
		rolled = rolled || s.t.ins[i].Op() == opLoop
	}
	a := s.finish()
	for _, x := range a.Targets {
		out = append(out, numbers(x.Value))
		if x.Payload != nil {
			out = append(out, numbers(x.Payload))
		}
		for _, u := range x.Unconnected {
			warned = append(warned, "none "+u.Path+": "+u.Why)
		}
	}
	for _, w := range a.Warnings {
		warned = append(warned, fmt.Sprint(w.Pos, w.Msg))
	}
	return out, rolled, warned, nil
}

// inPieces runs f with every loop as several, which keep nothing of what they carry.
func inPieces(f func()) {
	whole, piece, most, joined := wholeKept, pieceKept, mostLoops, mostJoined
	wholeKept, pieceKept, mostLoops, mostJoined = 0, 1, 3, math.Inf(1)
	defer func() { wholeKept, pieceKept, mostLoops, mostJoined = whole, piece, most, joined }()
	f()
}

// hastened runs f with machine code of every knot, or of none.
func hastened(all bool, f func()) {
	savedHaste, savedCosts := impatience, planCosts
	impatience, planCosts = 0, math.Inf(1)
	if !all {
		impatience = math.Inf(1)
	}
	defer func() { impatience, planCosts = savedHaste, savedCosts }()
	f()
}

// planned runs f with the steps of every loop planned.
func planned(f func()) {
	saved := plannedFrom
	plannedFrom = 1
	defer func() { plannedFrom = saved }()
	f()
}

// pointsTogether runs f with all points of a batch in each step, where they can be.
func pointsTogether(f func()) {
	saved := planCosts
	planCosts = 0
	defer func() { planCosts = saved }()
	f()
}

// compareLoops holds a program with loops to the same program unrolled: the same bits
// but for the sign of a zero; what takes two sweeps, to rounding.
func compareLoops(t *testing.T, text string, ops []string, q func(op string) *Question) (rolled bool) {
	t.Helper()
	return compareLoopsTo(t, 0, text, ops, q)
}

// compareLoopsTo is compareLoops for first derivatives too that are to rounding, within so
// much of their size.
func compareLoopsTo(t *testing.T, tol float64, text string, ops []string, q func(op string) *Question) (rolled bool) {
	t.Helper()
	for _, op := range ops {
		var got [][]float64
		var warns []string
		var err error
		second := op == "hessian" || op == "hvp" || op == "jvp" || strings.Contains(text, "grad(")
		hastened(false, func() { got, rolled, warns, err = loopAnswer(q(op)) })
		near, strict, alike := 0.0, true, true
		other := func(how string, by func(f func())) {
			var fast [][]float64
			var fastWarns []string
			var fastErr error
			by(func() { fast, _, fastWarns, fastErr = loopAnswer(q(op)) })
			warns := slices.Clone(warns)
			if !strict { // pieces meet kinks in another order
				slices.Sort(warns)
				slices.Sort(fastWarns)
			}
			if fmt.Sprint(err) != fmt.Sprint(fastErr) || alike && !slices.Equal(warns, fastWarns) {
				t.Errorf("%s of %q: %v, warns %q; %s %v, warns %q", op, text, err, warns, how, fastErr, fastWarns)
			}
			for i := range fast {
				if !slices.EqualFunc(got[i], fast[i], func(x, y float64) bool {
					return x == y || x != x && y != y || math.Abs(x-y) <= near*(1+math.Abs(x))
				}) {
					t.Errorf("%s of %q: part %d: %v, %s %v", op, text, i, got[i], how, fast[i])
				}
			}
		}
		other("as machine code", func(f func()) { hastened(true, f) })
		other("planned", planned)
		other("side by side", pointsTogether)
		if near = tol; second { // two sweeps go through pieces
			near, alike = 1e-9, op == "grad"
		}
		strict = false
		other("in pieces", inPieces)
		var want [][]float64
		var slowErr error
		var slowWarns []string
		unrolled(func() { want, _, slowWarns, slowErr = loopAnswer(q(op)) })
		if none, slowNone := pathsOfNone(warns), pathsOfNone(slowWarns); !slices.Equal(none, slowNone) {
			t.Errorf("%s of %q: none %q, unrolled %q", op, text, none, slowNone)
		}
		if (err == nil) != (slowErr == nil) {
			t.Errorf("%s of %q: rolled %v, unrolled %v", op, text, err, slowErr)
			return rolled
		}
		for i := range want {
			for k, v := range want[i] {
				if len(got[i]) != len(want[i]) || got[i][k] != v && (got[i][k] == got[i][k] || v == v) && !(op != "eval" && math.Abs(got[i][k]-v) <= near*(1+math.Abs(v))) {
					t.Errorf("%s of %q: part %d, element %d: rolled %v, unrolled %v", op, text, i, k, got[i], want[i])
					return rolled
				}
			}
		}
		slices.Sort(warns) // several kinks at one step are met in another order than at several
		slices.Sort(slowWarns)
		// a second sweep goes through a loop once more, and knows less about what is taken
		if (op == "eval" || op == "grad") && !slices.Equal(warns, slowWarns) {
			t.Errorf("%s of %q warns %q, unrolled %q", op, text, warns, slowWarns)
		}
	}
	return rolled
}

// compareRows is compareLoops for rows, in every mode.
func compareRows(t *testing.T, rows []loopRow) {
	t.Helper()
	for i, r := range rows {
		if spared(i) {
			continue
		}
		rolled := compareLoops(t, r.text, []string{"eval", "grad", "hessian"}, func(op string) *Question { return loopQuestion(t, op, r.text) })
		if rolled == r.no {
			t.Errorf("%q: rolled is %v", r.text, rolled)
		}
		compareLoops(t, r.text, []string{"hvp", "jvp"}, func(op string) *Question { return loopQuestion(t, op, r.text) })
		compareSingle(t, r.text)
	}
}

// compareSingle is compareLoops of float32, among numbers of float64 and with float32 alone.
func compareSingle(t *testing.T, text string) {
	t.Helper()
	for _, d := range []tensor.DType{tensor.Float64, tensor.Float32} {
		compareLoops(t, text, []string{"eval", "grad"}, func(op string) *Question {
			q := singles32(loopQuestion(t, op, text))
			q.DType = d
			return q
		})
	}
}

// pathsOfNone are the sources without a derivative.
func pathsOfNone(warned []string) (paths []string) {
	for _, w := range warned {
		if p, ok := strings.CutPrefix(w, "none "); ok {
			path, _, _ := strings.Cut(p, ":")
			paths = append(paths, path)
		}
	}
	return paths
}

var loopInputs = []string{"x=0.7", "y=-0.4", "v=0.1 + 0.01*arange(100)", "w=cos(arange(100))", "u=[0.3, -0.1, 0.5, 2, 1, 0, 0.2]", "const k=3"}

// A loopRow is a program with a loop, which is one instruction but where no says otherwise.
type loopRow struct {
	text string
	no   bool
}

// loops are programs with loops that are one instruction, and some that are not.
var loops = []loopRow{
	{text: "s = x\nfor i in range(100) { s = 0.7*s + 0.2*sum(tanh(u)) + 0.01*u[i % 7] }\ns*sum(u)"}, // of u and of its elements
	{text: "p = u\nfor i in range(100) { p = 0.7*p + 0.2*tanh(p*u) + 0.01*u[i % 7] }\nsum(p*u)"},
	{text: "s = x\nfor i in range(100) { s = s + y*s }\ns"},
	{text: "s = 0\nfor i in range(99) { s = s + 100*(v[i + 1] - v[i]^2)^2 + (1 - v[i])^2 }\ns"},
	{text: "a = x\nb = y\nfor i in range(90) { c = a*b + sin(a); d = exp(-a*a) - b/3; a = a + 0.01*(c*d - tanh(b)); b = b + 0.01*(cos(c) + d*d - a*c) }\na + b*c"},
	{text: "a = x\nb = y\nfor i in range(77) { t = a; a = b; b = t*0.99 }\na*b + t"},                          // a swap
	{text: "a = x\nb = y\nfor i in range(90) { t = a; a = b; b = t*0.99 }\na"},                                // which ends with what was there
	{text: "a = x\nb = y\nc = y\nfor i in range(91) { t = a; a = b; b = c*x; c = t*0.99 }\nsum(u*c) + a"},     // three, in a circle
	{text: "s = x\nq = stop_gradient(y)\nfor i in range(90) { s = s*0.9 + x; q = q*1.01 }\ns + abs(q - q)*s"}, // a kink that nothing leads to
	{text: "c, ys = scan((c, u) -> ((c[1]*u, c[0]), c[0]), (x, y), v)\nys[0] + c[1]"},
	{text: "a = sin(y)\nb = a\nq = a*0.7\nfor i in range(90) { t = b; b = q*a + 0.1*t; q = sin(t)*0.9 + 0.3*v[i] }\nb*a + a*x"}, // what is carried in, read by each step, and later
	{text: "a = x\nb = a\nfor i in range(77) { a = a*b*0.9 + x; b = a }\na*b"},                                                  // two names of one value
	{text: "m = 0\nfor i in range(100) { m = max(m, w[i]*x) }\nm"},                                                              // active from the second step on
	{text: "s = 0\nt = x\nfor i in range(100) { s += v[i]*t; t -= 0.01*w[i] }\ns"},
	{text: "s = 0\nfor i in range(99, 9, -1) { s = s*x + v[i]*w[i - 9] }\ns"},                          // down
	{text: "s = 0\nfor i in range(0, 100) { s = s + where(w[i] > 0, v[i]*x, sqrt(v[i])*y) }\ns"},       // a choice
	{text: "s = 1\nfor i in range(80) { s = s + v[-1 - i]*s*0.1 }\ns"},                                 // from the end
	{text: "s = 0\nfor i in range(0, 80) { j = floor(abs(w[i])*20); s = s + v[j]*v[i]*x }\ns + v[3]"},  // anywhere
	{text: "s = 0\np = 0\nfor i in range(100) { s = s + v[i]*p; p = w[i] }\ns*p"},                      // the step before
	{text: "s = 0\nfor i in range(100) { s = s + v[i]*i*x }\nsum(v*w) + s + v[5]^2"},                   // sources used before and after
	{text: "s = 0\nfor i in range(100) { s = 0.5*s + k*v[i]^2 }\ns"},                                   // an integer that does not change
	{text: "f(a, b) = a*b + sin(a)\ns = x\nfor i in range(100) { s = f(s, v[i])*0.3 }\ns"},             // functions
	{text: "p = (x, y)\nfor i in range(100) { p = (p[0]*0.9 + p[1], sin(p[0])) }\np[0]*p[1]"},          // a structure
	{text: "s = x\nwhile s < 50 { s = s*1.01 + 0.1*y^2 }\ns"},                                          //
	{text: "a = concat([v, w])\ns = x\ni = 0\nwhile i < 200 { s = s*0.9 + a[i]*y; i += 1 }\ns"},        // the step after the last would read past the end
	{text: "s = x\nn = 0\nwhile s < 50 { s = s*1.01 + 0.1*y^2; n = n + 1 }\ns*n"},                      // counts
	{text: "var n = 0\ns = x\nfor i in range(100) { s = sin(s) + 0.01*v[i]; n += s*y }\ns*n*x"},        // variables, that nothing else reads
	{text: "for i in range(100) { x += 0.01*v[i]; y := x*y*0.3 }\nx^2 + y*x"},                          // of inputs, and of others
	{text: "var n = y\ns = x\nwhile n < 90 { s = s*0.9 + y; n += 1 }\ns*n"},                            // which the condition reads
	{text: "var p = u\ns = x\nfor i in range(100) { p := 0.9*p + s*u; s = tanh(s*1.1) }\ns*sum(p)"},    // tensors
	{text: "var n = 0\ns = x\nfor i in range(100) { n += 1; s = sin(s) + n*0.01 }\ns*n"},               //
	{text: "var n = x\ns = 0\nfor i in range(100) { n := n*0.9; k = n; s = k*0.1 }\ns*n"},              //
	{text: "s = 0\nfor i in range(100) { x := x*0.9; k = x; s = k*0.1 }\ns*x", no: true},               // a derivative by an input is one by every value of it
	{text: "var n = x\ns = 0\nfor i in range(100) { n := n*0.9; s = n*y }\ngrad(s*n, n)*x", no: true},  // and so by a variable, where one is asked for
	{text: "var n = x\nfor i in range(100) { if i > 50 { n := n*0.9 } }\nn*y", no: true},               //
	{text: "s = x\nfor i in range(100) { for j in range(3) { s = s*0.99 + 0.01*v[i]*w[j] } }\ns"},      // loops in loops
	{text: "s = x\nfor i in range(3) { for j in range(90) { s = s*0.99 + 0.01*v[j]*w[i] } }\ns"},       //
	{text: "s = 0\nfor i in range(70) { s = s + x }\nfor i in range(70) { s = s*1.01 + y*s }\ns^2"},    // one after the other
	{text: "s = x\nfor i in range(100) { s = abs(s - 0.2)*1.01 }\ns"},                                  // kinks, not hit
	{text: "s = x\nfor i in range(100) { s = s + exp(-s)*sigmoid(y)*log1p(v[i]) + softplus(s)/9 }\ns"}, // twins
	{text: "s = x\nfor i in range(100) { s = s*0.9 + hypot(s, y) + atan2(v[i], s)*fma(s, y, 2) - s % 3 }\ns"},
	{text: "s = x\nfor i in range(100) { s = s + [v[i], 1] @ [y, s]*0.001 }\ns"}, // vectors
	{text: "p = [x, y]\nfor i in range(100) { p = p + 0.01*[p[1], -sin(p[0])*v[i]] }\np[0]*p[1]"},
	{text: "p = v[:3]\na = reshape(w[:9], (3, 3))\nfor i in range(100) { p = tanh(a @ p)*x + 0.1*w[i] }\nsum(p^2)"},
	{text: "p = v[:3]\na = reshape(w[:9], (3, 3))\nfor i in range(100) { p = softmax(a @ p) + p*sum(p)*y*0.1 }\nsum(p^2)"},
	{text: "a = reshape(v, (25, 4))\nu = w[1:5]\ns = 0\nfor i in range(100) { s = s*x + sum(a[i // 4]*u) + a[i // 4, 2] }\ns"},
	{text: "a = reshape(w[:9], (3, 3))\nm = eye(3)*x\nfor i in range(70) { m = m @ a*0.3 + m.T*v[i] }\nsum(m*a)"},
	{text: "s = 0\nfor i in range(100) { s = s + abs(w[i] - w[40])*max(x, w[i]*0 + 0.7) }\ns"}, // kinks
	{text: "s = 0\nfor i in range(100) { s = s + sqrt(v[i] - 0.1) + relu(y + 0.004*i)*v[i] }\ns*x"},
	{text: "s = x\nfor i in range(100) { p = [s, y]; s = s + 0*max(p) + norm(p*0)*v[i] + abs(p)[0]*0.1 - abs(p*0) @ p }\ns"},
	{text: "s = x\nfor i in range(100) { s = s + 1/(w[i] - w[50]) }\ns"},
	{text: "s = x\nfor i in range(100) { s = s*s*1.5 }\nmin(s, 1e300)"},
	{text: "s = x\nfor i in range(100) { s = s + log(x - 0.01*i)*y }\ns"},
	{text: "s = x\nfor u in v { s = s*u + y }\ns*u"}, // the elements of a vector
	{text: "s = x\nfor u in reshape(concat([v, w, v, w]), (100, 4)) { s = s*u[1] + y*u[2:] @ u[:2] }\ns"},
	{text: "s = x\nfor a, b in reshape(concat([v, w]), (100, 2)) { s = s*a + y*b }\ns*a"},
	{text: "c, ys = scan((c, u) -> (c*u + y, c^2), x, v)\nc*ys @ w"},
	{text: "c, ys = scan((c, u) -> (c*0.5 + u[0]*y, (c, sin(c)*u[1])), x, (v, w))\nc + sum(ys[0]*ys[1])"},
	{text: "f(c, u) = ({a: c.a*u.p + c.b, b: sin(c.b)*y}, {r: c.a, s: [c.b, u.q, 1]})\nc, ys = scan(f, {a: x, b: y}, {p: v, q: w})\nc.a + sum(ys.s) + ys.r @ v"},
	{text: "c, ys = scan((c, u) -> (tanh(c*x + u), c[0]), v[:2], reshape(w, (50, 2))[:, ::-1])\nsum(c) + sum(ys)"}, // short
	{text: "c, ys = scan((c, u) -> (tanh(c*x + u), c[0]), v[:2], concat([reshape(w, (50, 2)), reshape(v, (50, 2))]))\nsum(c) + sum(ys^2)"},
	{text: "s = x\nfor i in range(100) { s = scan((c, t) -> (c*0.9 + 0.01*t^2*v[i], c), s, u)[0] }\ns"}, // what is walked in each step is of the program around
	{text: "s = x\nfor i in range(100) { t = scan((c, r) -> (c*0.9 + 0.01*sum(r.p)*r.q, c*y), s, {p: u, q: w[:7]}); s = t[0] + 0.1*sum(t[1]) }\ns"},
	{text: "s = x\nfor i in range(100) { s = 0.9*s + 0.1*sum(v[:6]*v[3:9])*y + 0.01*v[i] }\ns + sum(v^2)"}, // slices that overlap, and elements, of what is used elsewhere
	{text: "a = reshape(w*x, (20, 5))\ns = y\nfor i in range(100) { s = s*0.9 + sum(a[2:5, 1]*a[3:6, ::-1][0, 1:4])*0.1 + a[i % 20, 2] }\ns + a[3] @ a[4]"},
	{text: "p = u[:3]\nfor i in range(100) { p = tanh(p*u[1:4] + u[2:5]*y) }\nsum(p*u[2:5])"},                                 // slices that are most of it
	{text: "s = x\nfor i in range(100) { s = 0.5*s + max(cumsum(u[2:5]))*y - u[2]; s = s + u[1]*prod(u[1:3] - 0.2)*0.1 }\ns"}, // and elements where they begin
	{text: "p = u[:3]\nfor i in range(100) { if i % 3 > 0 { p = tanh(p*u[1:4] + u[:3]*y) } else { p = p*0.9 + v[i] } }\nsum(p^2)"},
	{text: "f(c, t) = scan((d, r) -> (d*0.9 + r*t*0.01, d*r), c, u)\nc, ys = scan(f, x, v)\nc + 0.1*sum(ys)"},
	{text: "s = x\nfor i in range(100) { no_gradient { a = u }; s = s*0.9 + sum(a)*y*0.01 + u[1]*0.1 }\ns", no: true},
	{text: "s = x\nfor i in range(100) { for t in u { s = s*0.9 + t*0.1 }; s = s + y*len(u)*0.01 }\ns"},
	{text: "a = reshape(w[:6], (2, 3))\ns = x\nfor i in range(100) { b, c = a; for p, q, r in a { s = s*0.9 + p*q*r*0.1 }; s = s + b @ c*0.1 }\ns"},
	{text: "q = w[:7]*y\ns = x\nfor i in range(100) { p = i % 2 == 0 ? u : q; if i % 3 == 0 { r = u } else { r = q }; s = s*0.9 + p @ r*0.01 }\ns"},
	{text: "u2 = u\nfor i in range(70) { u2 = u*(u2 - x) }\nsum(u2) + 0.5*sum(u)"},                         // a cotangent that is one number for all of u
	{text: "p = y\na = x\nfor i in range(70) { p = sin(p) + 0.1*p; a = abs(a) }\ng = grad(p + a, y)\ng*y"}, // kinks of what leads to no source
	{text: "s = x\nf(a) = a*s\nfor i in range(100) { s = f(0.5) + 0.01*s + 1 }\ns"},                        // a function reads what steps bind
	{text: "s = x\ni = 5\nf(a) = a*i*0.1\nfor i in range(100) { s = s*0.5 + f(y) }\ns + f(1)"},
	{text: "s = x\nf(a) = a*s\ng(a) = f(a) + s\nfor i in range(100) { s = 0.1*g(0.5) + 0.01*s + y }\ns"},
	{text: "h(x) { s = x; f(a) = a*s*w[0]; for i in range(100) { s = f(0.5) + 0.01*s + 1 }; s }\ns = y\nh(x)*s"},
	{text: "s = x\nf(a) = a*s\nwhile s < 500 { s = f(0.001) + s + 1 }\ns"},
	{text: "s = x\nf(a) = a*s\nfor i in range(100) { t = s*0.9; s = f(0.5) + t; if s > 1 { s = f(0.3)*y } }\ns"},
	{text: "s = x\nfor i in range(100) { f(a) = a*s + i*0.1; s = f(0.5)*0.1 + 0.01*s + 1 }\ns + f(1)"}, // a function is defined in each step
	{text: "s = x\nfor i in range(100) { f = a -> a*s + i*0.1; s = f(0.5)*0.1 + 0.01*s + 1 }\ns + f(1)"},
	{text: "s = x\nfor i in range(100) { f(a) { b = a*s; b*b + a }; g(a) = f(a) + s; s = 0.1*g(0.5) + 0.01*s + y }\ns + g(1)"},
	{text: "s = x\nf(a) = a\nfor i in range(100) { s = f(s)*0.9; f(a) = a + 0.1*y }\ns*f(1)"}, // called before
	{text: "s = x\nfor i in range(100) { f(a) = sin(a)*y; t = s*1; s = s - 0.1*grad(f(t), t) }\ns"},
	{text: "s = x\nfor i in range(100) { if i > 3 { f(a) = a*s } else { f(a) = a }; s = f(0.5) + 0.1*s }\ns + f(1)", no: true}, // not in every step
	{text: "s = x\nfor i in range(100) { f = a -> a*s; s = f(0.5) + 0.1*s; f = s }\ns + f", no: true},                          // nor a function all the time
	{text: "s = x\nfor i in range(100) { f(a) = a*s; gradient f(a; g) = 2*g; s = f(0.5) + 0.1*s }\ns", no: true},
	{text: "a = x\nb = y\nfor i in range(100) { a = a*0.9; b = b*0.5 + a; a = a + 0.1 }"}, // the name bound last is the target
	{text: "a = x\nb = y\nwhile b < 500 { a = a*0.9; b = b + 1; a = a + 0.1*b }"},
	{text: "a = x\nb = y\nfor u in v { a = a*0.9; b = b*0.5 + a*u; a = a + 0.1 }"},
	{text: "s = x\nfor i in range(100) { s = s + x^i*0.01 }\ns", no: true}, // a written power in each step
	{text: "s = x\nfor i in range(100) { if s > 1 { s = s*0.5 } else { s = s*1.7 } }\ns"},
	{text: "s = x\nfor i in range(100) { t = sin(s); s = s*0.9 + t }\ngrad(s, t)*s", no: true},                           // by a name of the last step
	{text: "a = reshape(w[:40]*x, (5, 8))\ns = y\nfor i in range(100) { s = s*0.9 + a[:, i % 8] @ u[:5] }\ns + a[1, 2]"}, // columns
	{text: "a = reshape(w*x, (5, 20))\ns = y\nfor i in range(100) { s = s*0.9 + a[i // 20, i % 20] + a[3, i % 20]*a[i % 5, 2] }\ns"},
	{text: "a = reshape(v*x, (5, 20))\nb = reshape(arange(100)/50, (5, 20))\ns = y\nfor i in range(100) { s = s*0.9 + a[i % 5 - 5, -1 - i % 20]*v[i]; if s > 1 { s = s - b[2:, i % 20][1] } }\ns"}, // from the end
	{text: "a = reshape(v[:60]*x, (3, 4, 5))\ns = y\nfor i in range(100) { s = s*0.5 + sum(a[:, i % 4, ::-1] @ u[:5]) + sum(a[..., i % 5][i % 3]^2) }\ns"},
	{text: "s = x\nfor i in range(100) { s = s*0.9 + u[0]*v[i] + u[3]*s*0.01 + u[0]*u[-1]*0.01 }\ns + u[3]"}, // the same elements in every step
	{text: "s = x\nfor i in range(100) { s = s*0.9 + v[7]*v[i]*s + v[-3]*v[99 - i]*0.1 }\ns"},
	{text: "a = reshape(w[:9]*x, (3, 3))\ns = y\nfor i in range(100) { s = s*0.9 + a[1] @ a[-1]*v[i] + a[1, 2] + a[0] @ a[1] }\ns*a[2, 2]"},
	{text: "a = reshape(w[:9]*x, (3, 3))\np = v[:3]\nfor i in range(100) { p = softmax(p*a[1] + a[0]) + p[0]*a[1]*0.01 }\nsum(p^2)"},
	{text: "s = x\nn = 0\nwhile s < 50 { s = s*1.01 + u[1]^2 + u[3]*0.1; n = n + u[0] }\ns*n"},
	{text: "p = v[:5]\ns = 0\nfor i in range(100) { p = p*0.9 + 0.1*w[i]; s = s*0.9 + p[i % 5]*y + (p*x)[-1 - i % 5] }\ns*p[2]"}, // of what is carried
	{text: "a = reshape(arange(100)/50, (5, 20))\ns = x\nfor i in range(100) { s = s*0.9 + a[:, i % 20] @ u[:5] + a[i // 20, i % 20]*y + a[3, i % 20]*a[i % 5, 2] + sum(a[-1, 2:, newaxis]*a[1:3, i % 20]) }\ns"},
	{text: "a = reshape(arange(100)/50, (5, 4, 5))\ns = y\nfor i in range(100) { s = s*0.5 + sum(a[i % 5, :, i // 30] + a[..., i % 4, i % 5][2] + a[2, i % 4, ::-1][newaxis, :4])*x }\ns"},
	{text: "a = reshape(arange(100), (5, 20))\ns = y\nfor i in range(100) { s = s + a[i // 21, i % 21] }\ns"},
	{text: "a = reshape(v*x, (5, 20))\ns = y\nfor i in range(100) { s = s + a[i // 21, i % 21] }\ns"}, // no such column
	{text: "p = v[:5]\ns = 0\nfor i in range(100) { p = p*0.9; s = s + p[i % 6] }\ns"},
	{text: "s = x\nt = y\nfor i in range(100) { u = t^2*0.9; t = sqrt(s); s = u + 0.1 }\ns*t", no: true}, // sqrt(s)^2 in the next step
}

// TestHaste: a loop that runs for one row after the other, on machine code from some row
// on, has the bits that it has without, on one thread and on two.
func TestHaste(t *testing.T) {
	text := "c, ys = scan((c, u) -> (sin(c)*u + y*c/(1 + c*c) + x, c^2*u), x, v)\nys*c"
	answer := func(costs float64, threads int) [][]float64 {
		saved := impatience
		impatience = costs
		defer func() { impatience = saved }()
		q := loopQuestion(t, "jacobian", text)
		q.Threads = threads
		out, rolled, _, err := loopAnswer(q)
		if err != nil || !rolled {
			t.Fatalf("rolled %v, %v", rolled, err)
		}
		return out
	}
	want := answer(math.Inf(1), 1)
	for _, costs := range []float64{0, 0.01, 0.1, 0.4, 1} { // later and later
		for threads := 1; threads <= 2; threads++ {
			for i, part := range answer(costs, threads) {
				if !slices.EqualFunc(part, want[i], func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }) {
					t.Errorf("impatience %v, %d threads: part %d is %v, want %v", costs, threads, i, part, want[i])
				}
			}
		}
	}
}

// loopQuestion is op about a loop, with a direction for each source.
func loopQuestion(t *testing.T, op, text string) *Question {
	q := question(t, op, text, loopInputs...)
	if op == "hvp" || op == "jvp" {
		q.With = &tensor.Value{Kind: tensor.KindRecord}
		for _, in := range q.Inputs {
			if !in.Const {
				q.With.Fields = append(q.With.Fields, tensor.Field{Name: in.Name, Value: normals(1, in.Value.Tensor.Shape...)})
			}
		}
	}
	return q
}

// loopsOf records a question and returns its loops that are one instruction each.
func loopsOf(t *testing.T, op, text string) (loops []*loop) {
	t.Helper()
	s := &session{q: loopQuestion(t, op, text)}
	s.start()
	s.program()
	s.ask()
	for i := range s.t.ins {
		if s.t.ins[i].Op() == opLoop {
			loops = append(loops, s.t.Attr(Ref(i)).Loop)
		}
	}
	return loops
}

// TestLoops holds rolled loops to the same steps recorded one by one.
func TestLoops(t *testing.T) { compareRows(t, loops) }

// loopWriter writes random loops: numbers and small vectors that are carried, elements
// that are read before and behind, choices, temporaries.
type loopWriter struct {
	rng   *rand.Rand
	names []string

	aliases bool // branches that give a name the value of another
	derives bool // steps that take derivatives
	vars    int  // how many names are those of variables
}

func (w *loopWriter) pick(s ...string) string { return s[w.rng.IntN(len(s))] }

func (w *loopWriter) expr(depth int) string {
	if depth == 0 || w.rng.IntN(6) == 0 {
		return w.pick(append(w.names, "x", "y", "v[i]", "v[i + 1]", "w[99 - i]", "w[-i]", "u[i % 7]", "i/9", "0.5", "-2*x", "k")...)
	}
	x, y, z := w.expr(depth-1), w.expr(depth-1), w.expr(depth-1)
	switch w.rng.IntN(14) {
	case 0, 1:
		return "(" + x + " + " + y + ")"
	case 2, 3, 4:
		return "(" + x + ")*(" + y + ")"
	case 5:
		return "(" + x + " - " + y + ")"
	case 6:
		return "(" + x + ")/(1.5 + (" + y + ")^2)"
	case 7:
		return "where(" + x + " > " + y + ", " + y + ", " + z + ")"
	case 8:
		return w.pick("max", "min", "hypot", "logaddexp", "atan2") + "(" + x + ", " + y + ")"
	case 9:
		return "fma(" + x + ", " + y + ", " + z + ")"
	case 10:
		return "-(" + x + ")"
	}
	return w.pick("sin", "cos", "tanh", "exp", "sigmoid", "abs", "sqrt", "relu", "softplus", "square", "log1p", "floor", "stop_gradient", "asinh") + "(" + x + ")"
}

func (w *loopWriter) program() string {
	var b strings.Builder
	n := 1 + w.rng.IntN(3)
	for i := range n {
		name := string(rune('a' + i))
		w.names = append(w.names, name)
		if i < w.vars {
			b.WriteString("var ")
		}
		fmt.Fprintf(&b, "%s = %s\n", name, w.pick("x", "y", "0", "x*y", "[x, y, 0.3]", "1"))
	}
	fmt.Fprintf(&b, "for i in range(%d) {\n", 18+w.rng.IntN(78))
	for range 1 + w.rng.IntN(4) {
		switch w.rng.IntN(4) {
		case 0:
			value := w.expr(2)
			if w.derives {
				value = w.derivative()
			}
			fmt.Fprintf(&b, "t = %s\n", value)
			if !slices.Contains(w.names, "t") {
				w.names = append(w.names, "t")
			}
		default:
			i := w.rng.IntN(n)
			fmt.Fprintf(&b, "%s %s 0.7*tanh(%s) + 0.1*(%s)\n", w.names[i], map[bool]string{true: ":=", false: "="}[i < w.vars], w.expr(3), w.expr(2))
		}
	}
	fmt.Fprintf(&b, "}\nsum(sin(%s)) + v[3]*x", strings.Join(w.names, " + "))
	return b.String()
}

// TestRandomLoops holds random loops to the same steps recorded one by one.
func TestRandomLoops(t *testing.T) {
	compareRandom(t, rounds(40), func(seed uint64) (text string, tol float64, scalar bool) {
		w := &loopWriter{rng: rand.New(rand.NewPCG(seed, 6))}
		return w.program(), 0, true
	})
}

// compareRandom holds random programs to the same steps recorded one by one, to a relative
// error; of what is no scalar there are first derivatives only. Half of the programs at
// least must have a loop that is one instruction.
func compareRandom(t *testing.T, n int, program func(seed uint64) (text string, tol float64, scalar bool)) {
	rolled := 0
	for seed := range uint64(n) {
		text, tol, scalar := program(seed)
		ops := []string{"eval", "grad", []string{"hessian", "hvp", "jvp"}[seed%3]}
		if !scalar {
			ops = ops[:2]
		}
		if compareLoopsTo(t, tol, text, ops, func(op string) *Question { return loopQuestion(t, op, text) }) {
			rolled++
		}
		if t.Failed() {
			return
		}
	}
	if rolled < n/2 {
		t.Errorf("%d of %d random loops are rolled", rolled, n)
	}
}

// TestLongBody: a loop whose body is long is one instruction, as a short one is, if what
// makes it long is not a loop itself.
func TestLongBody(t *testing.T) {
	for _, r := range []struct {
		body         string
		rolled, most int
	}{
		{strings.Repeat("s = s*x\n", 5000), 5000, 20000},
		{"for j in range(5000) { s = s*x }\n", 0, 2000}, // the inner loop is one
	} {
		q := question(t, "eval", "s = 1\nfor i in range(70) {\n"+r.body+"}\ns", "x=1")
		a, err := q.Answer()
		if err != nil {
			t.Fatal(err)
		}
		if n := a.Stats.Instructions; n < r.rolled || n > r.most {
			t.Errorf("70 times %.30q…: %d instructions, want %d to %d", r.body, n, r.rolled, r.most)
		}
	}
}
