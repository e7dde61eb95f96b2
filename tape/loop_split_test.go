package tape

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSplit: which bodies have a column for each number of their tensors. TestLoops holds
// the numbers to those of whole tensors.
func TestSplit(t *testing.T) {
	for _, r := range []struct {
		text  string
		whole bool
	}{
		{text: "p = [x, y]\nfor i in range(100) { p = p + 0.01*[p[1], -sin(p[0])*v[i]] }\np[0]*p[1]"},
		{text: "p = v[:3]\na = reshape(w[:9], (3, 3))\nfor i in range(100) { p = tanh(a @ p)*x + 0.1*w[i] }\nsum(p^2)"},
		{text: "p = v[:8]\na = reshape(w[:64], (8, 8))\nfor i in range(100) { p = tanh(p @ a.T) + y*sum(p) }\nsum(p^2)"},
		{text: "m = eye(3)*x\na = reshape(w[:9], (3, 3))\nfor i in range(100) { m = m @ a*0.3 + m.T*v[i] + sum(m, axis=0) }\nsum(m*a)"},
		{text: "p = v[:6]\nfor i in range(100) { p = concat([p[4:]*x, p[::-1][:4]]) + reshape(reshape(p, (2, 3)).T, (6,))*0.1 }\nsum(p^2)"},
		{text: "p = [x, y]\nr = reshape(concat([v, w]), (100, 2))\nfor i in range(100) { p = 0.9*p + r[i]*x - r[99 - i] }\nsum(p^2)"},                              // rows
		{text: "p = [x, y]\nr = reshape(concat([v, w]), (100, 2))\nj = 0\nfor i in range(100) { p = 0.9*p + r[j]; j = (j*3 + floor(p[0])*0 + 1) % 50 }\nsum(p^2)"}, // rows anywhere, step by step
		{text: "p = v[:3]\nfor i in range(100) { p = softmax(p*x) }\nsum(p^2)", whole: true},
		{text: "m = reshape(w[:64], (8, 8))\nfor i in range(100) { m = m @ m.T @ m*1e-3 @ m @ m*x*1e-4 + 0.5*m }\nsum(m)", whole: true}, // too much
	} {
		for _, op := range []string{"eval", "grad"} {
			compareLoops(t, r.text, []string{op}, func(op string) *Question { return loopQuestion(t, op, r.text) })
			loops := loopsOf(t, op, r.text)
			for _, l := range loops {
				m, code := l.make(true)
				if m.split == r.whole {
					t.Errorf("%s of %q: split is %v", op, r.text, m.split)
				}
				if wide := func(p loopPlace) bool { return p.wide > 1 }; slices.ContainsFunc(code.next, wide) != r.whole {
					t.Errorf("%s of %q: wide columns: %v", op, r.text, code.next)
				}
				m.done()
			}
			if len(loops) == 0 {
				t.Errorf("%s of %q is not rolled", op, r.text)
			}
		}
	}
}

// TestEqualNodes: nodes of one key are one, and found by it, in bodies of few operations and of
// many; that others are not taken for them shows in the numbers.
func TestEqualNodes(t *testing.T) {
	var long strings.Builder
	for i := range 300 {
		fmt.Fprintf(&long, "s = s/%d + sin(s*%d); ", 2+i%200, 2+i%100)
	}
	for _, body := range []string{
		"s = s*x + v[i]*sin(s) + sin(s)*cos(s) + 0.5*v[i]",
		"p = p + 0.1*sin(p)*p[::-1] + sin(p); s = sum(p) + p[1] + p[2] + s",
		long.String(),
	} {
		text := "s = x\np = v[:9]\nfor i in range(80) { " + body + " }\ns + sum(p)"
		compareLoops(t, text, []string{"eval"}, func(op string) *Question { return loopQuestion(t, op, text) })
		for _, l := range loopsOf(t, "grad", text) {
			m := &loopMaker{l: l, code: &loopCode{l: l}, apart: true, split: true}
			live := l.body.live(l.wanted())
			for range 2 { // the second time in the table of the first
				m.record(live)
				first := map[loopKey]int{}
				for k := range m.nodes {
					key := m.nodes[k].key()
					if other, ok := first[key]; ok {
						t.Errorf("%.40s: nodes %d and %d are %+v", body, other, k, key)
					}
					first[key] = k
					if found, _ := m.find(key); int(found) != k {
						t.Errorf("%.40s: node %d is found at %d", body, k, found)
					}
				}
				if len(first) < 10 {
					t.Errorf("%.40s: %d nodes", body, len(first))
				}
			}
		}
	}
}
