package tape

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// alongLoops are loops of whose derivatives rows go through the steps together, or not: for what they read of what
// varies from row to row, where they put it, and what of that is in the shape of one row alone.
var alongLoops = []struct {
	text  string
	apart string // the derivatives of which no rows go through together
}{
	{text: "h = v[:7]\nfor i in range(70) { h = tanh(h*x) + 0.1*roll(h, 1) }\nh"},
	{text: "h = 0.1\nfor i in range(90) { h = sin(h*v[i]) + w[i]*x }\n[h^2, h*x]"},
	{text: "h = v[:6]\na = reshape(w[:36], (6, 6))\nfor i in range(80) { h = tanh(a @ h + v[i]) }\nh"},
	{text: "h = v[:6]\na = reshape(w[:36], (6, 6))\nfor i in range(80) { h = tanh(h @ a.T)*x + 0.1*max(h) }\nsum(h^2)*h"},
	{text: "h = v[:5]\nfor i in range(70) { h = 0.9*h + 0.1*sum(w[3:9]*w[:6])*x }\nh"}, // several rows at a time
	{text: "r = v*reshape(w, (100, 1))\nh = v\nfor i in range(70) { h = 0.9*h + r[i]*x - 0.1*r[99 - i]*sum(h) }\nh*w"},
	{text: "h = v[:3]\ng = w[:3]\nfor i in range(70) { q = h; h = cos(g*x); g = 0.9*q }\nh*g"},
	{text: "h = v[:4]\nk = zeros(4)\nfor i in range(70) { h = h*0.99 + 0.01*sum(k*h)*x; k = w[:4]*i }\nh"}, // of which the last step alone matters
	{text: "c, ys = scan((c, u) -> (tanh(0.5*c*u + x), (c*u, sum(c))), v[:4], reshape(concat([w, v]), (50, 4)))\nsum(ys[0]^2) + sum(ys[1])*c"},
	{text: "h = v[:4]\nfor i in range(70) { h = sum(h) > 0.5 ? h*0.9 : h + 0.1*w[:4] }\nh*x"},
	{text: "h = v\nj = 0\nr = v*reshape(w, (100, 1))\nfor i in range(70) { h = 0.9*h + r[j]*x*sum(h); j = (j*3 + 1) % 50 }\nh^2"}, // at places that are computed
	{text: "h = x\nfor i in range(300) { h = h + 0.01*sin(h*y) }\nh", apart: "jacobian hessian"},
	{text: "h = reshape(v[:12], (3, 4))\na = reshape(w[:16], (4, 4))\nfor i in range(70) { h = softmax(h @ a)*x + 0.3*h/norm(h) + 0.01*cumsum(h, axis=0) }\nh"},
	{text: "h = v[:8]\nfor i in range(70) { h = sort(h)*x + 0.1*w[:8] }\nh"},
	{text: "h = v[:6]\nfor i in range(70) { h = abs(h - 0.3)*x + relu(w[:6] - h) }\nh"},
	{text: "h = v[:6]\nfor i in range(70) { h = h + concat([[0], 0.1*(h[2:] - 2*h[1:-1] + h[:-2])*x, [0]]) }\nh^2"},
}

// alongAnswer is loopAnswer, and how many loops took their rows together.
func alongAnswer(t *testing.T, q *Question) (out [][]float64, took int) {
	t.Helper()
	out, codes := answerAndCodes(q)
	for _, c := range codes {
		for _, k := range c.wide {
			if k.loop != nil {
				took++
			}
		}
	}
	return out, took
}

// answerAndCodes is loopAnswer, and what is made of its loops.
func answerAndCodes(q *Question) (out [][]float64, codes []*loopCodes) {
	s := &session{q: q}
	s.start()
	s.program()
	s.ask()
	for _, a := range s.finish().Targets {
		out = append(out, numbers(a.Value), numbers(a.Payload))
	}
	for i := range s.t.ins {
		if s.t.ins[i].Op() == opLoop {
			codes = append(codes, s.t.Attr(Ref(i)).Loop.codes)
		}
	}
	return out, codes
}

// alongOnTwo is alongAnswer on two threads, of which each takes some rows.
func alongOnTwo(t *testing.T, q *Question) (out [][]float64) {
	t.Helper()
	defer func(least float64) { leastShared = least }(leastShared)
	leastShared, q.Threads = 0, 2
	pointsTogether(func() { out, _ = alongAnswer(t, q) })
	return out
}

// TestPointsTogether: rows of derivatives through a loop that go through the steps together have the bits of those
// that go one after the other.
func TestPointsTogether(t *testing.T) {
	for i, c := range alongLoops {
		if spared(i) {
			continue
		}
		for _, op := range []string{"jacobian", "hessian"} {
			text := c.text
			if op == "hessian" {
				at := strings.LastIndex(text, "\n") + 1
				text = text[:at] + "sum((" + text[at:] + ")*sqrt(x^2 + 1))"
			}
			var apart, got, unr [][]float64
			var rolled bool
			var err error
			hastened(false, func() { apart, rolled, _, err = loopAnswer(loopQuestion(t, op, text)) })
			if err != nil || !rolled {
				t.Errorf("%s of %q: rolled is %v, %v", op, text, rolled, err)
				continue
			}
			took := 0
			pointsTogether(func() { got, took = alongAnswer(t, loopQuestion(t, op, text)) })
			two := alongOnTwo(t, loopQuestion(t, op, text))
			if (took == 0) != strings.Contains(c.apart, op) {
				t.Errorf("%s of %q: %d loops take their rows together", op, text, took)
			}
			unrolled(func() { unr, _, _, _ = loopAnswer(loopQuestion(t, op, text)) })
			for k := range got {
				if at := sameBits(got[k], two[k]); at >= 0 {
					t.Errorf("%s of %q: part %d, element %d: %v, on two threads %v", op, text, k, at, got[k][at], two[k][at])
				}
				if !slices.EqualFunc(got[k], apart[k], func(x, y float64) bool { return x == y || x != x && y != y }) {
					t.Errorf("%s of %q: part %d: %v, one after the other %v", op, text, k, got[k], apart[k])
				}
				for j, v := range got[k] {
					if !(math.Abs(v-unr[k][j]) <= 1e-9*(1+math.Abs(v))) && v == v {
						t.Errorf("%s of %q: part %d, element %d: %v, unrolled %v", op, text, k, j, v, unr[k][j])
						break
					}
				}
			}
		}
	}
}

// TestNoPointsTogether: a loop along a batch of no points, as rows of the Jacobian of what is empty are, has nothing to do.
func TestNoPointsTogether(t *testing.T) {
	a := ask(t, "jacobian", "t, y = scan((c, r) -> (sin(c*0.9 + a), inner(log2(r^2 + 0.5), b)), a, b); t*norm(y, axis=-2)[8:]", "a=0.3", "b=randn(8, 9)")
	for _, r := range a.Targets {
		for _, p := range numbers(r.Payload) {
			t.Errorf("the Jacobian of what is empty has %v", p)
		}
	}
}
