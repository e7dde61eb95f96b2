package tape

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// lanedLoops are loops of which lanes take points, for what comes into their steps, leaves them, and is done in them.
var lanedLoops = []string{
	"h = x\nfor i in range(300) { h = h + 0.01*sin(h*y) + 0.001*v[0] - 0.001*v[1]*h }\n[h, h*x, y*h^2]",
	"h = v[:7]\nfor i in range(70) { h = h + 0.2*(roll(h, 1) - 2*h + roll(h, -1))*x }\nh",
	"h = v[:5]\nfor i in range(90) { h = h*0.99 + 0.01*tanh(h)*(i % 3 < 1) + x*v[i % 2] }\nh",
	"h = v[:3]\nfor i in range(70) { h = sum(h) > 0.5 ? h*0.9 : h + 0.1*w[:3] }\nh*x",
	"h = v[:4]\nj = 0\nfor i in range(70) { h = 0.9*h + v[j]*x*w[2*j % 7]; j = (j*3 + 1) % 50 }\nh^2", // at places that are computed
	"h = 1\nk = 0.1\nfor i in range(75) { h = h + 0.05*k*v[i]; k = k - 0.05*exp(-h)*w[99 - i]*x }\n[h, k, h*k]",
	"c, ys = scan((c, u) -> (0.3*c + u*x, c^2*u), 0.1, w)\n[c, sum(ys), ys[3]*c]",
	"c, ys = scan((c, u) -> (0.3*c + u*v[:3], sum(c*u)), v[3:6], w)\nc*ys[5] + sum(ys)",
	"h = v[:4]\nfor i in range(70) { h = max(h)*x > 1 ? log(abs(h) + 1) : h^1.5*0.5 }\nh", // a leaf leaves odd arguments to Go
	"s = 0\nfor i in range(64) { for j in range(3) { s = 0.9*s + v[i]*v[j]*x } }\n[s, s^2, x*s]",
	"h = v[:10]\nfor i in range(70) { h = floor(h*4)/8 + 0.1*h*x - 0.3*(h != 0) + sqrt(abs(h)) }\nh",
}

// inLanes runs f with all points in lanes that may be, which are paid for or not.
func inLanes(all bool, f func()) {
	savedFew, savedCost := fewestLaned, lanesCost
	if fewestLaned, lanesCost = 2, 0; !all {
		fewestLaned = math.MaxInt
	}
	defer func() { fewestLaned, lanesCost = savedFew, savedCost }()
	f()
}

// lanedAnswer is loopAnswer, and how many loops have code for lanes.
func lanedAnswer(t *testing.T, q *Question) (out [][]float64, took int) {
	t.Helper()
	out, codes := answerAndCodes(q)
	for _, c := range codes {
		if c.inLanes.codes != nil {
			took++
		}
	}
	return out, took
}

// TestLanes: points that lanes take through a loop have the bits of those that go through it one after the other, by the
// interpreter and as machine code, on one thread and on two.
func TestLanes(t *testing.T) {
	defer func(least float64) { leastShared = least }(leastShared)
	leastShared = 0
	texts := slices.Clone(lanedLoops)
	for _, c := range alongLoops {
		texts = append(texts, c.text)
	}
	for i, text := range texts {
		if spared(i) {
			continue
		}
		for _, op := range []string{"jacobian", "hessian"} {
			text := text
			if op == "hessian" {
				at := strings.LastIndex(text, "\n") + 1
				text = text[:at] + "sum((" + text[at:] + ")*sqrt(x^2 + 1))"
			}
			for _, machine := range []bool{false, true} {
				hastened(machine, func() {
					var alone [][]float64
					inLanes(false, func() { alone, _ = lanedAnswer(t, loopQuestion(t, op, text)) })
					for threads := 1; threads <= 2; threads++ {
						q := loopQuestion(t, op, text)
						q.Threads = threads
						var got [][]float64
						took := 0
						inLanes(true, func() { got, took = lanedAnswer(t, q) })
						if took == 0 && i < len(lanedLoops) {
							t.Errorf("%s of %q: lanes take no loop", op, text)
						}
						for k := range got {
							if at := sameBits(got[k], alone[k]); at >= 0 {
								t.Errorf("%s of %q, machine code %v, %d threads: part %d, element %d: %v, alone %v", op, text, machine, threads, k, at, got[k][at], alone[k][at])
							}
						}
					}
				})
			}
		}
	}
}

// TestRowsRoll: what a step makes anew, and carries only since it has a name, is no state of a loop that many rows of
// derivatives go through: Runge and Kutta's steps are recorded once.
func TestRowsRoll(t *testing.T) {
	text := "f(u) = (roll(u, -1) - roll(u, 2))*roll(u, 1) - u + 8\nu = v[:40]\n" +
		"for i in range(50) { a = f(u); b = f(u + 0.005*a); c = f(u + 0.005*b); d = f(u + 0.01*c); u = u + 0.01/6*(a + 2*b + 2*c + d) }\nu"
	for _, r := range []string{text, strings.TrimSuffix(text, "\nu") + "\nsum(u^2)"} {
		op := "jacobian"
		if r != text {
			op = "hessian"
		}
		if _, rolled, _, err := loopAnswer(loopQuestion(t, op, r)); err != nil || !rolled {
			t.Errorf("%s of %q: rolled is %v, %v", op, r, rolled, err)
		}
	}
}
