package tape

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nabla/kernels"
)

// stencilLoops are programs whose steps read neighbours, and how many moves are left in a step
// there and back.
var stencilLoops = []struct {
	text        string
	there, back int
}{
	{"p = v\nfor i in range(70) { p = p + 0.2*x*(roll(p, 1) - 2*p + roll(p, -1)) }\nsum(p^2)", 0, 0},
	{"p = v\nfor i in range(70) { p = p + 0.2*w*(roll(p, 1) - 2*p + roll(p, -1)) }\nsum(p^2)", 0, 0},
	{"p = v\nfor i in range(70) { p = p + 0.1*(concat([p[1:], p[:1]]) - 2*p + concat([p[-1:], p[:-1]]))*x }\nsum(p*w)", 0, 0},
	{"p = v\nfor i in range(70) { p = concat([p[:1], p[1:-1] + 0.2*x*(p[2:] - 2*p[1:-1] + p[:-2]), p[-1:]]) }\nsum(p^2)", 1, 0},
	{"p = v\nfor i in range(70) { p = p + 0.2*x*(concat([[0], p[:-1]]) - 2*p + concat([p[1:], [0]])) }\nsum(p^2)", 0, 0}, // nothing beyond the ends
	{"p = v\nfor i in range(70) { p = p + 0.2*x*(concat([[p[0]], p[:-1]]) - 2*p + concat([p[1:], [p[99]*y]])) }\nsum(p^2)", 0, 0},
	{"p = v\nq = w\nfor i in range(70) { q = 0.99*q + 0.2*x*(roll(p, 1) - 2*p + roll(p, -1)); p = p + q }\nsum(p*q)", 0, 0},
	{"p = v\nfor i in range(70) { p = where(roll(p, 1) > p, 0.9*p + 0.1*roll(p, -1)*x, p*0.99) }\nsum(p^2)", 0, 0},
	{"p = v\nfor i in range(70) { p = 0.9*p + 0.1*(p + roll(p, 1) + roll(p, 2) + roll(p, 3))/4*sigmoid(p*x) }\nsum(p^2)", 0, 0},
	{"p = v\nfor i in range(70) { p = 0.5*p + 0.4*roll(roll(p, 3)[::1], -1)*x + 0.1*sum(roll(p, 2)*w) }\nsum(p^2)", 0, 0}, // a move of a move, and sums
	{"p = v\nfor i in range(70) { p = sin(p + where(i == 40, 1e9, 0))*0.5 + roll(p, 2)*0.3*x }\nsum(p*w)", 0, 0},          // elements that Go does
	{"p = reshape(v, (10, 10))\nfor i in range(70) { p = p + 0.1*x*(roll(p, 1, 0) + roll(p, -1, 0) + roll(p, 1, 1) + roll(p, -1, 1) - 4*p) }\nsum(p^2)", 0, 0},
	{"p = reshape(v, (10, 10))\nfor i in range(70) { p = 0.9*p + 0.1*x*roll(roll(p, 1, 0), -1, 1)*p[3] }\nsum(p^2)", 0, 0},
	{"p = concat([v, w, v*w, v, v, v])\nfor i in range(70) { p = p + 0.2*x*(roll(p, 1) - 2*p + roll(p, -300)) }\nsum(p^2)", 0, 0}, // more than a tile
	{"p = concat([v, w, v*w, v, v, v])\nfor i in range(70) { p = p + 0.2*sin(x*roll(p, 1) - 2*p + roll(p, -300))*v[i] }\nsum(p^2)", 0, 0},
	{"p = concat([v, w, v*w, v, v, v])\nfor i in range(70) { p = p*0.5 + 0.2*roll(p, 1)*x + 0.001*sum(roll(p, 7)*p) }\nsum(p^2)", 0, 0},
	{"p = v\nfor i in range(70) { p = 0.8*p + 0.1*p[::-1] + roll(p, 5)*0.1*x }\nsum(p*w)", 1, 1}, // backwards is not in runs
	{"p = v\nfor i in range(70) { q = roll(p, 5)*x; p = 0.8*p + 0.1*q/norm(q) + 0.01*max(roll(p, 1)) }\nsum(p*w)", 1, 0},
	{"p = v\nfor i in range(70) { p = roll(p, 1)*0.9 + 0.1*x*roll(w, 3) }\nsum(p*w)", 0, 0},       // of what no step changes
	{"p = v\nfor i in range(70) { p = roll(p*v[i], 1)*x; p = p + roll(p, 2)*0.1 }\nsum(p)", 0, 0}, // written over while it is read elsewhere
	{"p = v\nfor i in range(70) { q = sin(p)*x; q = q*0.4 + roll(q, 1)*0.5; p = q + p }\nsum(p)", 0, 0},
	{"p = reshape(v, (10, 10))\nfor i in range(70) { p = 0.5*p + 0.4*roll(p, 1, 1)*x }\nsum(p^2)", 0, 0},                                                       // which what is carried is not, here,
	{"p = reshape(v, (10, 10))\nfor i in range(70) { q = sin(p)*x; q = roll(q, 1, 1) - q; q = sin(q + roll(q, 2, 1)); p = p + 0.1*q*sum(q) }\nsum(p^2)", 0, 0}, // nor what is made in between
}

// TestStencils holds steps that read neighbours to the same steps recorded one by one, and to
// those that find every value anew, with machine code and without.
func TestStencils(t *testing.T) {
	for i, r := range stencilLoops {
		if spared(i) {
			continue
		}
		if !compareLoopsTo(t, 1e-12, r.text, []string{"eval", "grad"}, func(op string) *Question { return loopQuestion(t, op, r.text) }) {
			t.Errorf("%q is not rolled", r.text)
		}
		compareSteady(t, r.text, "eval", "grad", "jvp")
		loops := loopsOf(t, "grad", r.text)
		if len(loops) != 2 {
			t.Fatalf("%q: %d loops", r.text, len(loops))
		}
		if there, back := movesLeft(loops[0]), movesLeft(loops[1]); there != r.there || back != r.back {
			t.Errorf("%q: %d and %d moves of a step are left, want %d and %d", r.text, there, back, r.there, r.back)
		}
	}
}

// TestMovingSteps: steps compute all that is their own where what could be computed for many
// at once is elementwise and moves.
func TestMovingSteps(t *testing.T) {
	for _, r := range []struct {
		text  string
		alone bool // on the way back
	}{
		{"p = v\nfor i in range(70) { p = p + 0.2*w*(roll(p, 1) - 2*p + roll(p, -1)) }\nsum(p^2)", true},
		{"p = v\nfor i in range(70) { p = where(roll(p, 1) > p, 0.9*p + 0.1*roll(p, -1), p*0.99) }\nsum(p^2)", true},
		{"p = v\nfor i in range(70) { p = 0.9*p + sin(p*w)*x }\nsum(p^2)", false},                                             // nothing moves
		{"p = v\nfor i in range(70) { p = tanh(p*reshape(roll(p, 1), (1, 100)) @ reshape(w, (100, 1)))*v }\nsum(p^2)", false}, // a product
		{"p = v\nfor i in range(70) { p = 0.5*p + 0.1*cumsum(roll(p*p, 1))*x }\nsum(p^2)", false},
		{"p = concat([v, w, v, w, v, w, v, w, v, w, v, w])\nfor i in range(70) { p = p*roll(p, 1)*x }\nsum(p^2)", false}, // large
		{"p = v\nfor i in range(70) { p = p*roll(p, 1)*w[floor(9*p[3]) % 5] }\nsum(p^2)", false},                         // adds to an element
	} {
		loops := loopsOf(t, "grad", r.text)
		if len(loops) != 2 {
			t.Fatalf("%q: %d loops", r.text, len(loops))
		}
		if s := loops[1].plan(0, None); s.alone != r.alone || r.alone != (s.block.n == 1 && s.block.ahead == nil && s.block.behind == nil) {
			t.Errorf("%q: a step alone is %v, want %v, in blocks of %d", r.text, s.alone, r.alone, s.block.n)
		}
	}
}

// TestStencilCalls: how many calls a step is that runs as machine code.
func TestStencilCalls(t *testing.T) {
	if tier := kernels.Tier(); tier != "avx2" && tier != "avx512" {
		t.Skip("there is no machine code on " + tier)
	}
	saved := worthFusing
	defer func() { worthFusing = saved }()
	worthFusing = 1
	for _, r := range []struct {
		step        string
		there, back int
	}{
		{"p = p + 0.2*(roll(p, 1) - 2*p + roll(p, -1))", 1, 1},                                      // the cotangent's products are computed again
		{"p = p + 0.2*w*(concat([[0], p[:-1]]) - 2*p + concat([p[1:], [0]]))", 1, 2},                // but none with a vector
		{"p = p + 0.1*p*(roll(p, 1) - roll(p, -1))", 1, 2},                                          // and what steps keep
		{"p = p*0.9; p = p + 0.1*roll(p, 1)", 1, 1},                                                 // of what a step makes itself
		{"p = sin(p); p = p + 0.1*roll(p, 1)", 3, 3},                                                // functions are no machine code
		{"p = 0.9*p + 0.01*(roll(p, 1) + roll(p, 2) + roll(p, 3) + roll(p, 4) + roll(p, 5))", 1, 2}, // too many to do again
	} {
		loops := loopsOf(t, "grad", "p = v\nfor i in range(80) { "+r.step+" }\nsum(p*w)")
		if len(loops) != 2 {
			t.Fatalf("%q: %d loops", r.step, len(loops))
		}
		var calls [2]int
		for i, l := range loops {
			x, y := beginSteps(l.plan(0, None))
			calls[i] = len(y.calls)
			x.end()
		}
		if calls != [2]int{r.there, r.back} {
			t.Errorf("%q: %d and %d calls a step, want %d and %d", r.step, calls[0], calls[1], r.there, r.back)
		}
	}
}

// movesLeft counts the instructions of a loop's steady step that only move or assemble several numbers.
func movesLeft(l *loop) (n int) {
	s := l.plan(0, None)
	x := s.settled
	for i := range x.p.steps {
		r := x.p.steps[i].refs[0]
		op, k := s.t.ins[r].Op(), x.p.slot[r]
		if (op.moves() || op == opAssemble) && !s.t.single(r) && x.tiles[i] == nil && !slices.Contains(x.gone, r) && (k < 0 || !x.p.view[k]) {
			n++
		}
	}
	return n
}

// compareSteady holds steady steps to such that find every value anew: the same bits, with
// machine code of tile programs and without.
func compareSteady(t *testing.T, text string, ops ...string) {
	t.Helper()
	saved := worthFusing
	defer func() { worthFusing = saved }()
	for _, op := range ops {
		var want [][]float64
		unsteady(func() { want, _, _, _ = loopAnswer(loopQuestion(t, op, text)) })
		for _, worthFusing = range []int64{saved, 1} {
			got, _, _, err := loopAnswer(loopQuestion(t, op, text))
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s of %q: %v, steady %v, %v (machine code from %d elements on)", op, text, want, got, err, worthFusing)
			}
		}
	}
}

// A stencilWriter writes random steps of vectors and matrices that move.
type stencilWriter struct {
	rng    *rand.Rand
	n      int // of a vector,
	width  int // or of a matrix's rows; 0
	states []string
}

func (w *stencilWriter) pick(s ...string) string { return s[w.rng.IntN(len(s))] }

// some is a number between 1 and the length that can be moved by, less one.
func (w *stencilWriter) some() int {
	n := w.n
	if w.width > 0 {
		n = min(w.width, w.n/w.width)
	}
	return 1 + w.rng.IntN(min(n-1, []int{2, 5, 300}[w.rng.IntN(3)]))
}

func (w *stencilWriter) expr(depth int) string {
	if depth == 0 {
		return w.pick(append(w.states, "c", "x", "v[i]")...)
	}
	x, y, k := w.moved(depth-1), w.moved(depth-1), w.rng.IntN(9)
	switch k {
	case 0, 1:
		return "(" + x + " + " + y + ")"
	case 2:
		return "(" + x + " - " + y + ")"
	case 3:
		return x + "*" + y
	case 4:
		return "where(" + x + " > " + y + ", " + x + ", 0.5*" + y + ")"
	case 5:
		return w.pick("max", "min") + "(" + x + ", " + y + ")"
	case 6:
		return "sin(" + x + ")"
	case 7:
		return "(" + x + " + 0.01*sum(" + y + "*c))"
	}
	return "-" + x
}

// moved is a state or what is made of some, mostly with its numbers elsewhere.
func (w *stencilWriter) moved(depth int) string {
	e := "(" + w.expr(depth) + "*ones_like(c))"
	if w.rng.IntN(2) == 0 {
		e = w.pick(w.states...)
	}
	k := w.some()
	if w.width > 0 {
		switch w.rng.IntN(6) {
		case 0, 1, 2:
			return fmt.Sprintf("roll(%s, %d, %d)", e, k, w.rng.IntN(2))
		case 3:
			return fmt.Sprintf("concat([%s[%d:], %s[:%d]*x])", e, k, e, k)
		case 4:
			return fmt.Sprintf("transpose(concat([transpose(%s)[%d:], zeros(%d, %d)]))", e, k, k, w.n/w.width)
		}
		return e
	}
	switch w.rng.IntN(9) {
	case 0, 1, 2:
		return fmt.Sprintf("roll(%s, %s%d)", e, w.pick("", "-"), k)
	case 3:
		return fmt.Sprintf("concat([%s[%d:], zeros(%d)])", e, k, k)
	case 4:
		return fmt.Sprintf("concat([%s[:%d]*x, %s[%d:]])", e, k, e, k)
	case 5:
		return fmt.Sprintf("concat([[x], %s[:-1]])", e)
	case 6:
		return fmt.Sprintf("%s[::-1]", e)
	case 7:
		return fmt.Sprintf("concat([[%s[0]], %s[%d:], %s[1:%d]])", e, e, k, e, k)
	}
	return e
}

func (w *stencilWriter) program() string {
	var b strings.Builder
	b.WriteString("z = concat([v, w, v*w, v + w, 1 - v])\n")
	shape := fmt.Sprintf("[:%d]", w.n)
	if w.width > 0 {
		fmt.Fprintf(&b, "s(z) = reshape(z, (%d, %d))\n", w.n/w.width, w.width)
	} else {
		b.WriteString("s(z) = z\n")
	}
	fmt.Fprintf(&b, "c = s(z[7:]%s)\n", shape)
	for _, name := range w.states {
		fmt.Fprintf(&b, "%s = s((z*%s)%s)\n", name, w.pick("x", "y", "0.5"), shape)
	}
	b.WriteString("for i in range(70) {\n")
	for range 1 + w.rng.IntN(3) {
		fmt.Fprintf(&b, "%s = 0.5*tanh(%s) + 0.1*%s\n", w.pick(w.states...), w.expr(2), w.moved(1))
	}
	fmt.Fprintf(&b, "}\nsum((%s)*c)", strings.Join(w.states, " + "))
	return b.String()
}

// TestRandomStencils holds random steps that read neighbours to the same steps recorded one by
// one, and to those that find every value anew.
func TestRandomStencils(t *testing.T) {
	moves, left := 0, 0
	for seed := range uint64(rounds(60)) {
		rng := rand.New(rand.NewPCG(seed, 7))
		w := &stencilWriter{rng: rng, n: []int{13, 70, 100, 300}[rng.IntN(4)], states: []string{"p", "q"}[:1+rng.IntN(2)]}
		if seed%3 == 0 {
			w.n, w.width = 60, []int{4, 5, 10, 12, 15}[rng.IntN(5)]
		}
		text := w.program()
		if seed%4 == 0 {
			compareLoopsTo(t, 1e-12, text, []string{"eval", "grad"}, func(op string) *Question { return loopQuestion(t, op, text) })
		}
		compareSteady(t, text, "grad", "eval")
		if t.Failed() {
			return
		}
		for _, l := range loopsOf(t, "grad", text) {
			if s := l.plan(0, None).settled; s != nil {
				moves += len(s.gone)
				left += movesLeft(l)
			}
		}
	}
	if moves < left {
		t.Errorf("%d moves are left of %d", left, moves+left)
	}
}

// TestReadings: what runs say, number by number, is what readings of them say, and what masks
// choose.
func TestReadings(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	several := 0
	for range 3000 {
		var runs []strand
		n := 0
		by := []int{rng.IntN(5), rng.IntN(9), rng.IntN(30)}[:1+rng.IntN(3)]
		for range 1 + rng.IntN(14) {
			s := strand{Ref(rng.IntN(2)), by[rng.IntN(len(by))], n, n + 1 + rng.IntN(4)}
			if rng.IntN(4) == 0 {
				s.from, s.by = None, 0
			}
			runs, n = joinRun(runs, s), s.end
		}
		x := readingOf(runs)
		if x.most == 0 {
			continue
		}
		z := &steadyProgram{tp: &tileProgram{n: n}, cuts: cutsOf(n, []reading{x})}
		place, code := z.chosen(x)
		z.grow()
		if len(code) > 0 {
			several++
		}
		at := func(o int32, i int) strand { // what operand o is at element i
			k, _ := slices.BinarySearch(z.cuts, i+1)
			s := z.reads[-1-o][k-1]
			return strand{from: s.from, by: s.by}
		}
		for _, s := range runs {
			for i := s.first; i < s.end; i++ {
				o := place
				for k := len(code) - 1; k >= 0 && o == code[k].dst; k-- {
					if o = code[k].arg[2]; z.masks[-1-code[k].arg[0]][i] != 0 {
						o = code[k].arg[1]
					}
				}
				if got := at(o, i); got.from != s.from || got.by != s.by {
					t.Fatalf("%v: element %d is that at %v", runs, i, got)
				}
			}
		}
		for o, list := range z.reads { // all that is read is there, chosen or not
			for k, s := range list {
				first, end := z.cuts[k], n
				if k+1 < len(z.cuts) {
					end = z.cuts[k+1]
				}
				if !slices.ContainsFunc(x.strands, func(r strand) bool {
					return r.from == s.from && r.by == s.by && r.first <= first && end <= r.end
				}) {
					t.Fatalf("%v: operand %d reads %v for elements %d to %d", runs, o, s, first, end)
				}
			}
		}
	}
	if several < 300 {
		t.Errorf("masks choose in %d of 3000 readings", several)
	}
}
