package tape

import (
	"fmt"
	"slices"
	"testing"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// narrowLoops are programs with small layers in their steps.
var narrowLoops = []string{
	narrow + "h = b\nfor i in range(300) { h = tanh(h @ a/2 + r[i % 100]) }\nsum(h*b)",
	narrow + "h = b\nfor i in range(99) { h = tanh(h @ (a*0.5) + r[i]) }\nsum(h*b)",
	narrow + "h = b\nfor i in range(99, 9, -1) { h = tanh(a @ h + 0.1*r[i] - r[i - 9]*x) }\nsum(h*b)",
	narrow + "h = b\nfor i in range(90) { h = tanh(h @ a + 0.1*r[-i]) }\nsum(h*b)", // rows from the end
	narrow + "h = stack([b, b*x, b + y])\nfor i in range(90) { h = tanh(h @ a + r[i]) }\nsum(h[1]*b)",
	narrow + "h = b[:4]\nc = h\nfor i in range(80) { g = h @ a[:4] + r[i]; g = concat([g, g[:4]]); c = sigmoid(g[:4])*c + sigmoid(g[4:8])*tanh(g[8:12]); h = sigmoid(g[9:13])*tanh(c) }\nsum(h*c)", // a cell with gates
	narrow + "h = b\nfor i in range(80) { z = sigmoid(h @ a + r[i]); q = sigmoid(h @ a.T - r[i]); h = (1 - z)*h + z*tanh((q*h) @ a) }\nsum(h*b)",                                                   // another
	narrow + "h = b\nc = a[0]\nfor i in range(81) { t = tanh(h @ a); h = c*x; c = t }\nsum(h*c)",                                                                                                   // two that change places
	narrow + "h = b\ns = x\nfor i in range(80) { h = tanh(h @ a)*s; s = 0.9*s + 0.1*sum(h*b)/(1 + v[i]*i) }\ns + sum(h)",                                                                           // numbers beside vectors
	narrow + "h = b\nfor i in range(80) { h = sin((h + where(i == 40, 1e9, 0)) @ a) }\nsum(h*b)",                                                                                                   // elements that Go does
	narrow + "h = b\nfor i in range(80) { h = tanh(h @ a); h = h/norm(h) + 0.1*max(h) }\nsum(h*b)",
	narrow + "c, ys = scan((c, u) -> (tanh(c @ a + u), (c, sum(c*u))), b, r)\nsum(c) + sum(ys[0]^2) + sum(ys[1])",
	narrow + "h = b\nfor i in range(70) { h = tanh(h @ a + r[i]); h = h*1 }\nsum(h)",
	narrow + "h = ravel(ones(40, 1)*b)\nfor i in range(70) { h = tanh(reshape(reshape(h, (40, 13)) @ a, (520,)) + 0.1*h[0]) }\nsum(h)",                                           // more than a tile
	narrow + "h = b\nfor i in range(80) { h = tanh(h @ a)*v[i] + 0.01*b*i }\nsum(h)",                                                                                             // numbers that vary
	narrow + "h = b\ns = x\nn = 0\nfor i in range(80) { h = h*s + 0.1*b; s = sin(s)*cos(v[i]) + where(i > 40, 0.3, sum(h)*0.01); n = n + 1 }\nsum(h)*s*n",                        // and that wait
	narrow + "h = b\ns = x\nfor i in range(80) { h = tanh(h @ a)*s; s = sin(s + where(i == 40, 1e9, 0)) }\ns + sum(h)",                                                           // a number that Go does
	narrow + "h = b\nfor i in range(80) { h = concat([h[1:], h[:1]])*0.9 + 0.1*concat([h[:1], h[1:12]*x, h[12:]]) }\nsum(h*b)",                                                   // pieces
	narrow + "h = b\nfor i in range(80) { h = h[::-1]*0.9 + 0.1*concat([h[::2], h[1::2]])*x + 0.01*roll(h, 3) }\nsum(h*b)",                                                       // numbers for themselves
	narrow + "h = a\nfor i in range(80) { h = tanh(h*a[0] + 0.1*h.T + h[:, :1]*x + concat([h[5:], h[:5]])*0.1 + h[3]*v[i]) }\nsum(h*a)",                                          // rows and columns that are spread out
	narrow + "h = a\nfor i in range(80) { h = tanh(h @ a) + 0.01*sum(h, axis=0) - 0.01*sum(h, axis=1, keepdims=true) + 0.1*max(h, axis=1) }\nsum(h*a)",                           // sums of columns and of rows
	narrow + "h = b\nfor i in range(80) { h = softmax(h*4)*x + 0.1*min(h) + 0.01*logsumexp(h) + 0.1*relu(h - max(h)) }\nsum(h*b)",                                                // extremes, at times 0
	narrow + "h = a\nfor i in range(80) { h = softmax(h*4 + v[i]) + 0.1*logsumexp(h @ a, axis=0) + 0.01*logsumexp(where(h > 0.5, -1/0.0, h), axis=1, keepdims=true) }\nsum(h*a)", // of rows together
	narrow + "h = b\nq = b > 0\nfor i in range(80) { q = concat([q[3:], q[:3]]); h = where(q, h*0.9, sin(h)*x) + any(q)*0.01 }\nsum(h*b)",                                        // conditions that move
	narrow + "h = concat([v, w, v, w, v*w])*x\nfor i in range(70) { h = sin(h + where(i == 40, 1e9, 0))*v[i] + 0.01*sum(h) + 0.1*roll(h, 100) }\nsum(h)",                         // some tiles
	narrow + "h = v*reshape(w[:13], (13, 1))\nfor i in range(70) { h = 0.9*h + sin(h*h[:, :1])*h[3]*v[i] + 0.01*h[:, 3:4] }\nsum(h)",                                             // more than are calls, with rows and columns
}

// beginSteps begins a run of steady steps over zeros.
func beginSteps(s *plannedStep) (*plannedRun, *steadyRun) {
	l := s.l
	zeros := func(rs []Ref, rows int) (all [][]float64) {
		for _, r := range rs {
			all = append(all, make([]float64, rows*l.body.size(r)))
		}
		return all
	}
	x := s.begin(zeros(l.carry, 1), zeros(l.consts, 1), zeros(l.arrays, 1), zeros(l.columns, l.n), 1, nil)
	kept := make([]int, len(l.carry))
	for k, r := range l.carry {
		kept[k] = slices.Index(l.outs, r)
	}
	return x, x.steadily(make([]float64, l.outAt(len(l.outs))), kept)
}

// inGo counts the instructions of a loop's steady steps that stop in Go each time.
func inGo(l *loop) (n int) {
	x, y := beginSteps(l.plan(0, None))
	defer x.end()
	for _, c := range y.calls {
		if c.Call == (kernels.Call{}) {
			n++
		}
	}
	return n
}

// TestStaysOutside: what of a small step is left to Go.
func TestStaysOutside(t *testing.T) {
	if tier := kernels.Tier(); tier != "avx2" && tier != "avx512" {
		t.Skip("there is no list of calls on " + tier)
	}
	const state = "h = b\nc = b\n"
	for _, r := range []struct {
		step        string
		there, back int
	}{
		{"h = tanh(h @ a/2 + r[i])", 0, 0},
		{"h = tanh(h @ a)*v[i] + 0.01*i", 0, 0},
		{"h = h*x + sum(h)*0.1 - mean(h*b) + 0.1*max(h)", 0, 0},
		{"h = roll(h, 1)*0.5 + concat([h[:3], h[3:10]*x, h[10:]])", 0, 0},
		{"h = 0.5*h[::-1] + 0.1*concat([h[::2], h[1::2]])*x", 0, 0},
		{"g = concat([h @ a, c @ a, h @ a + r[i]]); c = sigmoid(g[:13])*c + g[13:26]; h = sigmoid(g[26:])*tanh(c)", 0, 0},
		{"h = h/norm(h) + b*x", 1, 0},
		{"h = softmax(h)*x", 1, 0},
		{"h = b + sum(softmax(stack([h, c, b]))*r[:3], axis=0)", 1, 0}, // of three rows
		{"h = cumsum(h)*x*0.1", 1, 1},
	} {
		loops := loopsOf(t, "grad", narrow+state+"for i in range(80) { "+r.step+" }\nsum(h*c)")
		if len(loops) != 2 {
			t.Fatalf("%q: %d loops", r.step, len(loops))
		}
		if there, back := inGo(loops[0]), inGo(loops[1]); there != r.there || back != r.back {
			t.Errorf("%q: %d and %d instructions of a step are left to Go, want %d and %d", r.step, there, back, r.there, r.back)
		}
	}
}

// narrow has a weight of 13×13, vectors of 13 and rows of them.
const narrow = "a = reshape(concat([v, w])[:169], (13, 13))*0.3\nb = w[3:16]\nr = v[:13]*reshape(w, (100, 1))\n"

// unsteady runs f with steps that find every value anew.
func unsteady(f func()) {
	saved := mostSteady
	mostSteady = -1
	defer func() { mostSteady = saved }()
	f()
}

// TestSteadyLoops holds steady steps to the same recorded one by one, and to those that find
// every value anew.
func TestSteadyLoops(t *testing.T) {
	for i, text := range narrowLoops {
		if spared(i) {
			continue
		}
		if !compareLoops(t, text, []string{"eval", "grad", "hvp"}, func(op string) *Question { return loopQuestion(t, op, text) }) {
			t.Errorf("%q is not rolled", text)
		}
	}
	for i, text := range slices.Concat(narrowLoops, largeLoops) {
		if spared(i) {
			continue
		}
		for _, op := range []string{"grad", "jvp"} {
			got, _, _, err := loopAnswer(loopQuestion(t, op, text))
			var want [][]float64
			unsteady(func() { want, _, _, _ = loopAnswer(loopQuestion(t, op, text)) })
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s of %q: %v, steady %v, %v", op, text, want, got, err)
			}
		}
	}
}

// TestLoopsAgain: a loop runs again, with other numbers, as it runs for the first time: what its run
// has found out is kept, until its tile programs become machine code.
func TestLoopsAgain(t *testing.T) {
	saved := worthFusing
	defer func() { worthFusing = saved }()
	for i, text := range slices.Concat(narrowLoops, largeLoops) {
		if spared(i) {
			continue
		}
		op := []string{"grad", "hvp"}[i%2]
		if worthFusing = 1500; i >= len(narrowLoops) { // elements: in the second run, or the third
			worthFusing = 10_000
		}
		q := loopQuestion(t, op, text)
		var lines [][]Input
		for _, scale := range []float64{1, 0.75, 1.25, 1} {
			in := slices.Clone(q.Inputs)
			for k := range in {
				if x := in[k].Value.Tensor; !in[k].Const {
					y := *x
					y.Data = nil
					for _, v := range x.Data {
						y.Data = append(y.Data, scale*v)
					}
					in[k].Value = tensor.Of(&y)
				}
			}
			lines = append(lines, in)
		}
		comparePrepared(t, q, lines)
	}

	// what becomes machine code does so between two runs
	l := loopsOf(t, "grad", narrow+"h = b\nfor i in range(80) { h = tanh(h*x + v[i])*b + 0.1*h*i }\nsum(h)")[0]
	s := l.plan(0, None)
	worthFusing = 13 * 80 * 5 / 2
	var fast []bool
	for i := range 3 {
		x, y := beginSteps(s)
		fast = append(fast, !slices.ContainsFunc(y.tiles, func(w *steadyTile) bool { return w.code == w.tp.plain }))
		if s.spare != nil {
			t.Error("a run is kept while it runs")
		}
		if x.end(); (s.spare == x) != (i > 0) {
			t.Errorf("run %d is kept for the next one: %v", i, s.spare == x)
		}
	}
	if tier := kernels.Tier(); fast[0] || fast[2] != (tier == "avx2" || tier == "avx512") {
		t.Errorf("tile programs are machine code in runs: %v", fast)
	}
}
