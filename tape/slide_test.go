package tape

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

// slidingSoon has programs of a block and more run side by side.
func slidingSoon(t *testing.T) {
	saved := leastSlid
	t.Cleanup(func() { leastSlid = saved })
	leastSlid = 8192
}

// noise fills a tensor.
func noise(rng *rand.Rand, s tensor.Shape) *tensor.Tensor {
	x := tensor.New(s...)
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	return x
}

// TestSlide: programs that run side by side have the bits of one instruction after the other, on
// one thread and on two.
func TestSlide(t *testing.T) {
	slidingSoon(t)
	compared, slid := 0, 0
	n := rounds(120)
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 79))
		movingSmall(t, []int64{1, 1 << 40}[seed%2])
		s := [...]tensor.Shape{
			{20_000 + rng.IntN(40_000)},
			{100 + rng.IntN(200), 200 + rng.IntN(100)},
			{30 + rng.IntN(30), 20 + rng.IntN(20), 30 + rng.IntN(20)},
		}[rng.IntN(3)]
		w := &movesWriter{rng: rng, vars: []variable{{"x", s}}}
		for range 1 + rng.IntN(3) {
			w.stencil()
		}
		for range rng.IntN(3) {
			if v := w.vars[rng.IntN(len(w.vars))]; rng.IntN(2) == 0 {
				w.work(v)
			} else {
				w.move(v)
			}
		}
		op := []string{"grad", "grad", "hvp"}[rng.IntN(3)]
		text := w.program(0)
		q := func() *Question {
			q := question(t, op, text)
			q.Limit = 256 << 20
			values := rand.New(rand.NewPCG(seed, 80))
			q.Inputs = []Input{{Name: "x", Value: tensor.Of(noise(values, s))}}
			if op == "hvp" {
				q.With = tensor.Of(noise(values, s))
			}
			return q
		}
		if comparePlanAs(t, q) {
			compared++
		}
		if s, want, err := recorded(q()); err != nil {
			t.Fatalf("%s: %v", text, err)
		} else if slices.ContainsFunc(s.t.plan(want).steps, func(st step) bool { return st.slide != nil }) {
			slid++
		}
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, text)
		}
	}
	if compared < n*9/10 || slid < n/2 {
		t.Errorf("of %d programs %d could be compared, and %d had some that run side by side", n, compared, slid)
	}
}

// stencil writes elementwise work of slices of the last name that are shifted a little.
func (w *movesWriter) stencil() {
	v := w.vars[len(w.vars)-1]
	s := slices.Clone(v.shape)
	reach := make([]int, len(s))
	for i := range s {
		reach[i] = w.rng.IntN(4)
		s[i] -= reach[i]
	}
	at := make([]any, 3)
	for i := range at {
		cut := make([]string, len(s))
		for k := range s {
			from := w.rng.IntN(reach[k] + 1)
			cut[k] = itoa(from) + ":" + itoa(from+s[k])
		}
		at[i] = v.name + "[" + strings.Join(cut, ", ") + "]"
	}
	w.let(s, w.pick("%s - 2*%s + %s", "%s*sin(%s) - %s", "%s^2*%s - tanh(%s)", "abs(%s - %s)*%s"), at...)
}

// TestSlideSteps: which steps of everyday programs run side by side.
func TestSlideSteps(t *testing.T) {
	slidingSoon(t)
	for _, row := range []struct {
		op, text string
		want     string // of the plan's steps: how many run side by side, or - for one alone
	}{
		{"grad", "sum(100*(x[1:] - x[:-1]^2)^2 + (1 - x[:-1])^2)", "2"},
		{"grad", "mean(diff(x)^2)", "2 -"},     // the mean comes behind
		{"grad", "mean(diff(x)^2)^2", "- - 2"}, // the way back waits for the mean
		{"hvp", "sum((x[2:] - 2*x[1:-1] + x[:-2])^4)", "2"},
		{"grad", "y = x[1:] - x[:-1]^2; sum((y[1:]*y[:-1])^2)", "4"},
		{"grad", "sum((roll(x, 1) - x)^2)", "- -"},      // the first one wants the last
		{"grad", "sum((flip(x)*x[::-1])[1:]^2)", "3 -"}, // the last one reads backwards
		{"grad", "sum((m[2:, 1:-1] + m[:-2, 1:-1] + m[1:-1, 2:] + m[1:-1, :-2] - 4*m[1:-1, 1:-1])^2)", "2"},
		{"grad", "sum((w[:, 1:] - w[:, :-1])^2)", "- -"},                                   // a row is longer than a window
		{"eval", "y = sin(x); [sum((y[1:] - y[:-1])^2), sum(cumsum(y))]", "- - - - - - -"}, // another one reads y
	} {
		q := question(t, row.op, row.text)
		rng := rand.New(rand.NewPCG(5, 6))
		for _, v := range []variable{{"x", tensor.Shape{200_000}}, {"m", tensor.Shape{300, 400}}, {"w", tensor.Shape{2, 150_000}}} {
			if strings.Contains(row.text, v.name+"[") || strings.Contains(row.text, "("+v.name) {
				x := noise(rng, v.shape)
				q.Inputs = append(q.Inputs, Input{Name: v.name, Value: tensor.Of(x)})
				if row.op == "hvp" {
					q.With = tensor.Of(x)
				}
			}
		}
		s, want, err := recorded(q)
		if err != nil {
			t.Fatalf("%s: %v", row.text, err)
		}
		var got []string
		p := s.t.plan(want)
		for i := 0; i < len(p.steps); i++ {
			if x := p.steps[i].slide; x != nil {
				got = append(got, itoa(len(x.steps)))
				i += len(x.steps) - 1
			} else {
				got = append(got, "-")
			}
		}
		if got := strings.Join(got, " "); got != row.want {
			t.Errorf("%s of %q: steps side by side are %q, want %q\n%s", row.op, row.text, got, row.want, p.Dump())
		}
	}
}

// TestFollow: what elements want of another program is what they read there, one by one.
func TestFollow(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		rows, row := 1+rng.IntN(9), 1+rng.IntN(5)
		c := ticks{rng.IntN(4), 1 + rng.IntN(5), 1 + rng.IntN(3), 1 + rng.IntN(7)}
		if c.end() > rows {
			continue
		}
		f := follow{row: row, rows: c, low: 20, high: 21 + rng.IntN(4)}
		for e := range rows*row + 1 {
			end, begin := 0, math.MaxInt // one behind the last that elements before e read, the first that others read
			for i := range c.count {
				if r := c.first + i*c.gap; e > r*row {
					end = f.high + i*c.stride
				}
				if r := c.first + i*c.gap; e < (r+1)*row && begin == math.MaxInt {
					begin = f.low + i*c.stride
				}
			}
			if e > 0 && f.end(e) != end {
				t.Errorf("%+v: the first %d elements want %d, want %d", f, e, f.end(e), end)
			}
			if got := f.begin(e); got != begin {
				t.Errorf("%+v: elements from %d on want those from %d on, want %d", f, e, got, begin)
			}
		}
	}
}
