package tape

import (
	"fmt"
	"slices"
	"testing"
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
	narrow + "h = ravel(ones(40, 1)*b)\nfor i in range(70) { h = tanh(reshape(reshape(h, (40, 13)) @ a, (520,)) + 0.1*h[0]) }\nsum(h)", // more than a tile
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
