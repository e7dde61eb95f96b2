package tape

import (
	"slices"
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
