package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// movingSmall reads what is moved where it lies however small it is, in tile programs of
// machine code, which end with short rows, or not, and by several threads.
func movingSmall(t *testing.T, fuse int64) {
	least, row, work, share, together, straight, edges := leastMoved, leastRow, worthFusing, pool.LeastElements, leastTogether, leastStraight, edgeShare
	t.Cleanup(func() {
		leastMoved, leastRow, worthFusing, pool.LeastElements, leastTogether, leastStraight, edgeShare = least, row, work, share, together, straight, edges
	})
	leastMoved, leastRow, worthFusing, pool.LeastElements, edgeShare = 2, 2, fuse, 1, 1
	if fuse == 1 {
		leastTogether, leastStraight = 5, 3
	}
}

// A movesWriter writes random programs of what moves numbers, with elementwise work between.
type movesWriter struct {
	rng  *rand.Rand
	vars []variable
	text strings.Builder
}

func (w *movesWriter) pick(s ...string) string { return s[w.rng.IntN(len(s))] }

// let makes an expression of a shape a name.
func (w *movesWriter) let(s tensor.Shape, format string, args ...any) variable {
	v := variable{fmt.Sprintf("v%d", len(w.vars)), s}
	fmt.Fprintf(&w.text, "%s = %s\n", v.name, fmt.Sprintf(format, args...))
	w.vars = append(w.vars, v)
	return v
}

// index writes a subscript that stands at one axis alone.
func index1(s tensor.Shape, axis int, text string) string {
	all := slices.Repeat([]string{":"}, len(s))
	all[axis] = text
	return "[" + strings.Join(all, ", ") + "]"
}

// move moves v.
func (w *movesWriter) move(v variable) variable {
	s := slices.Clone(v.shape)
	axis := w.rng.IntN(len(s))
	n := s[axis]
	switch w.rng.IntN(11) {
	case 0, 1, 2: // a slice that goes on
		from := w.rng.IntN((n + 1) / 2)
		to := from + 1 + w.rng.IntN(n-from)
		s[axis] = to - from
		return w.let(s, "%s%s", v.name, index1(s, axis, fmt.Sprintf("%d:%d", from, to)))
	case 3: // with steps
		step := 2 + w.rng.IntN(2)
		from := w.rng.IntN(min(n, step))
		s[axis] = (n - from + step - 1) / step
		return w.let(s, "%s%s", v.name, index1(s, axis, fmt.Sprintf("%d::%d", from, step)))
	case 4: // backwards, with steps
		step := 1 + w.rng.IntN(3)
		s[axis] = (n + step - 1) / step
		return w.let(s, "%s%s", v.name, index1(s, axis, fmt.Sprintf("::%d", -step)))
	case 5:
		return w.let(s, "roll(%s, %d, %d)", v.name, w.rng.IntN(2*n)-n, axis)
	case 6:
		widths := make([]string, len(s))
		for i := range s {
			before, after := w.rng.IntN(3), w.rng.IntN(3)
			s[i] += before + after
			widths[i] = fmt.Sprintf("(%d, %d)", before, after)
		}
		return w.let(s, "pad(%s, (%s,), %s)", v.name, strings.Join(widths, ", "), w.pick("0", "1.5"))
	case 7:
		slices.Reverse(s)
		return w.let(s, "%s.T", v.name)
	case 8:
		s[axis] *= 2
		return w.let(s, "concat([%s, "+w.pick("%s", "2*%s", "flip(%s)")+"], %d)", v.name, v.name, axis)
	}
	if w.rng.IntN(2) == 0 && len(s) > 1 { // planes, and perhaps the same ones again
		at := make([]any, 4)
		for i := range at {
			at[i] = v.name + index1(s, axis, fmt.Sprint(w.rng.IntN(min(n, 3))))
		}
		return w.let(slices.Delete(s, axis, axis+1), w.pick("%s*%s + %s*%s", "%s*%s + (%s - %s)", "%s*sin(%s) + %s - %s*2"), at...)
	}
	if len(s) == 3 { // one plane of all
		k := w.rng.IntN(n)
		return w.let(slices.Delete(s, axis, axis+1), "%s%s", v.name, index1(s, axis, fmt.Sprint(k)))
	}
	s = slices.Insert(s, axis, 1)
	v = w.let(s, "%s%s", v.name, index1(s, axis, "newaxis"))
	s = slices.Clone(s)
	s[axis] = 3
	return w.let(s, "broadcast_to(%s, %s)", v.name, shapeText(s))
}

func shapeText(s tensor.Shape) string {
	return "(" + strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(s)), " ", ", "), "[]") + ",)"
}

// work is something elementwise of v, and of another where one is cut to the same shape.
func (w *movesWriter) work(v variable) variable {
	o := w.vars[w.rng.IntN(len(w.vars))]
	if len(o.shape) != len(v.shape) {
		return w.let(v.shape, w.pick("sin(%s)", "-%s", "%s^2", "3*%s", "%s/4", "abs(%[1]s) + %[1]s", "where(%[1]s > 0, %[1]s, 0.3)"), v.name)
	}
	s := slices.Clone(v.shape)
	cut := func(v variable) string {
		at := make([]string, len(s))
		for i := range s {
			from := w.rng.IntN(v.shape[i] - s[i] + 1)
			at[i] = fmt.Sprintf("%d:%d", from, from+s[i])
		}
		return v.name + "[" + strings.Join(at, ", ") + "]"
	}
	for i := range s {
		s[i] = min(s[i], o.shape[i])
	}
	x, y := cut(v), cut(o)
	return w.let(s, w.pick("%s + %s", "%s - %s", "%s * %s", "2*%s - %s", "tanh(%s) - %s", "where(%[1]s > %[2]s, %[1]s, %[2]s)"), x, y)
}

// program writes a sum over a few of the names.
func (w *movesWriter) program(steps int) string {
	for range steps {
		v := w.vars[len(w.vars)-1]
		if w.rng.IntN(3) == 0 {
			v = w.vars[w.rng.IntN(len(w.vars))]
		}
		if w.rng.IntN(2) == 0 {
			w.move(v)
		} else {
			w.work(v)
		}
	}
	n := len(w.vars)
	fmt.Fprintf(&w.text, "sum(%s^2)", w.vars[n-1].name)
	for range 2 {
		fmt.Fprintf(&w.text, " + sum(sin(%s))", w.vars[w.rng.IntN(n)].name)
	}
	return w.text.String()
}

// TestMovedBackwards: short rows that are repeated and read backwards are read where they lie.
func TestMovedBackwards(t *testing.T) {
	for _, text := range []string{
		"sum(sin(x) * broadcast_to(flip(y), (3000, 7)))",
		"sum(sin(x) * broadcast_to(y, (3000, 7))[:, ::-1])",
		"sum(sin(z) * broadcast_to(flip(y), (500, 6, 7)))",
	} {
		if !comparePlan(t, func() *Question {
			q := question(t, "grad", text)
			for _, v := range []variable{{"x", tensor.Shape{3000, 7}}, {"y", tensor.Shape{7}}, {"z", tensor.Shape{500, 6, 7}}} {
				q.Inputs = append(q.Inputs, Input{Name: v.name, Value: tensor.Of(noise(rand.New(rand.NewPCG(1, 2)), v.shape))})
			}
			return q
		}) {
			t.Errorf("%s: nothing to compare", text)
		}
	}
}

// TestWoven: cotangents of every second, third … number are put beside one another as if each were added to zeros.
func TestWoven(t *testing.T) {
	for _, text := range []string{
		"sum(x[::2]*x[1::2]^2)",
		"sum(x[::3]*x[2::3]) + sum(sin(x))",           // one of three is 0
		"sum(x[::4]*x[2::4]) + sum(x[::2]*x[1::2])/9", // half of them are
		"sum(x[::4]*x[::4]) + sum(x[1:][::2])",
		"sum(y[::2, ::2]*y[1::2, 1::2]) + sum(y[::2, 1::2]*y[1::2, ::2]^2)",
		"sum(tanh(y[:, ::3])*y[:, 1::3] + y[:, 2::3]^3)",
		"sum(z[:, ::2]*z[:, 1::2]*w[1::2])",
		"sum(z[:, ::5]*z[:, 4::5])", // most are left out
		"sum(x[::2][::2]*x[1::2][::2]*x[1::2][1::2])",
	} {
		compareAdjoints(t, func() *Question {
			q := question(t, "grad", text)
			for _, v := range []variable{{"x", tensor.Shape{240}}, {"y", tensor.Shape{20, 30}}, {"z", tensor.Shape{3, 20, 4}}, {"w", tensor.Shape{20, 4}}} {
				q.Inputs = append(q.Inputs, Input{Name: v.name, Value: tensor.Of(noise(rand.New(rand.NewPCG(1, 2)), v.shape))})
			}
			return q
		})
	}
}

// TestMoved: what is read where it lies are the numbers that are copied there.
func TestMoved(t *testing.T) {
	compared, moved := 0, 0
	n := rounds(600)
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 77))
		movingSmall(t, []int64{1, 1 << 40}[seed%2])
		leastRow += int(seed % 3 * 7)
		op := []string{"grad", "grad", "grad", "eval", "hessian", "jacobian"}[rng.IntN(6)]
		most := []int{6, 40, 40, 40, 6, 6}[rng.IntN(6)]
		if op == "hessian" || op == "jacobian" {
			most = 4
		}
		w := &movesWriter{rng: rng}
		for i := range 2 {
			s := make(tensor.Shape, 1+rng.IntN(3))
			for k := range s {
				s[k] = 2 + rng.IntN(most)
			}
			if len(s) == 1 && most == 40 {
				s[0] *= 20
			}
			w.vars = append(w.vars, variable{string(rune('x' + i)), s})
		}
		inputs := slices.Clone(w.vars)
		text := w.program(2 + rng.IntN(8))
		q := func() *Question {
			q := question(t, op, text)
			q.Limit = 256 << 20
			values := rand.New(rand.NewPCG(seed, 78))
			for _, v := range inputs {
				x := tensor.New(v.shape...)
				for i := range x.Data {
					x.Data[i] = values.NormFloat64()
				}
				q.Inputs = append(q.Inputs, Input{Name: v.name, Value: tensor.Of(x)})
			}
			return q
		}
		if comparePlan(t, q) {
			compared++
		}
		compareAdjoints(t, q)
		if s, want, err := recorded(q()); err == nil {
			if p := s.t.plan(want); p.lies != nil {
				moved++
			}
		} else {
			t.Fatalf("%s: %v", text, err)
		}
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, text)
		}
	}
	if compared < n*9/10 || moved < n*2/3 {
		t.Errorf("of %d programs %d could be compared, and %d read something where it lies", n, compared, moved)
	}
}

// windowOf3 is the sum of the nine slices of a window.
var windowOf3 = "y[:-2, :-2] + y[:-2, 1:-1]*2 + y[:-2, 2:] + y[1:-1, :-2]*2 + y[1:-1, 1:-1]*4 + y[1:-1, 2:]*2 + y[2:, :-2] + y[2:, 1:-1]*2 + y[2:, 2:]"

// TestMovedIsNoOperation: what everyday programs move is no operation of their plans.
func TestMovedIsNoOperation(t *testing.T) {
	inputs := []variable{{"x", tensor.Shape{20_000}}, {"y", tensor.Shape{150, 200}}, {"z", tensor.Shape{30, 25, 40}}, {"U", tensor.Shape{20_000, 3}}}
	for _, row := range []struct {
		op, text string
		left     string // operations that are left
	}{
		{"grad", "sum((x[2:] - 2*x[1:-1] + x[:-2])^2)", ""},
		{"grad", "sum(100*(x[1:] - x[:-1]^2)^2 + (1 - x[:-1])^2)", ""},
		{"grad", "sum(abs(y[1:] - y[:-1])) + sum(abs(y[:, 1:] - y[:, :-1]))", ""},
		{"grad", "sum((y[2:, 1:-1] + y[:-2, 1:-1] + y[1:-1, 2:] + y[1:-1, :-2] - 4*y[1:-1, 1:-1])^2)", ""},
		{"grad", "sum((z[2:, 1:-1, 1:-1] - z[:-2, 1:-1, 1:-1]*z[1:-1, 2:, 1:-1] + z[1:-1, 1:-1, :-2])^2)", ""},
		{"grad", "sum((roll(y, 1, 0) + roll(y, -1, 0) + roll(y, 1, 1) + roll(y, -1, 1) - 4*y)^2)", ""},
		{"grad", "sum(x[::2]*x[1::2]) + sum(x[:10000]*x[10000:])", ""},
		{"grad", "sum(x[::2]*x[1::2])", "slice slice reshape reshape concat reshape"}, // nothing is added to zeros
		{"grad", "sum(sin(concat([x, 2*x])))", ""},
		{"grad", "p = pad(y, 1); sum((p[2:, 1:-1]*p[1:-1, :-2])^2)", ""}, // nor the slice of the answer
		{"grad", "sum(flip(x)*x)", ""},
		{"grad", "sum(flip(y, 0)*y)", ""},
		{"grad", "sum(permute(z, [1, 0, 2])^3)", "transpose transpose"},
		{"grad", "sum(y.T^3)", "transpose transpose"}, // is faster in blocks
		{"grad", "sum((" + windowOf3 + ")^3)", ""},
		{"grad", "sum((x[2:] + x[1:-1] + x[:-2])^3/27)", ""},
		{"hvp", "sum((x[2:] - 2*x[1:-1] + x[:-2])^4)", ""},
		{"grad", "sum((U[:, 0]*U[:, 1] - U[:, 1]*U[:, 2])^2 + U[:, 0])", "reshape reshape concat"}, // added up before they are joined
		{"grad", "sum((U[:, 2]*U[:, 2] - U[:, 1])^2)", "broadcast_to reshape reshape concat"},
		{"eval", "a = x[1:]; sum(a^2*x[:-1]) + sum(cumsum(a))", "block cumsum sum"}, // others want the slice
	} {
		q := question(t, row.op, row.text)
		rng := rand.New(rand.NewPCG(5, 6))
		for _, v := range inputs {
			x := tensor.New(v.shape...)
			for i := range x.Data {
				x.Data[i] = rng.NormFloat64()
			}
			if in := (Input{Name: v.name, Value: tensor.Of(x)}); strings.Contains(row.text, v.name) {
				q.Inputs = append(q.Inputs, in)
				if row.op == "hvp" {
					q.With = in.Value
				}
			}
		}
		s, want, err := recorded(q)
		if err != nil {
			t.Fatalf("%s: %v", row.text, err)
		}
		var left []string
		for _, st := range s.t.plan(want).steps {
			if r := st.refs[0]; st.kind == stepOne {
				left = append(left, s.t.ins[r].Op().Name)
			}
		}
		if got := strings.Join(left, " "); got != row.left {
			t.Errorf("%s of %q: the plan is left with %q, want %q\n%s", row.op, row.text, got, row.left, s.t.plan(want).Dump())
		}
	}
}

// compareAdjoints holds the derivatives of what is moved, whose tape is another one for large
// values, to those for small ones.
func compareAdjoints(t *testing.T, q func() *Question) {
	t.Helper()
	answer := func(least int) [][]float64 {
		defer func(saved int) { leastMoved = saved }(leastMoved)
		leastMoved = least
		s, want, err := recorded(q())
		if err != nil {
			t.Fatalf("%s: %v", q().Prog.Text, err)
		}
		out, err := s.run(want, true, 1)
		if err != nil {
			return nil
		}
		return out
	}
	got, want := answer(2), answer(math.MaxInt)
	for k := range min(len(got), len(want)) {
		scale := 0.0
		for _, v := range want[k] {
			scale = max(scale, math.Abs(v))
		}
		for i, v := range want[k] {
			if d := math.Abs(got[k][i] - v); !(d <= 1e-12*scale) && !(v != v && got[k][i] != got[k][i]) { // sums of a few terms, in another order
				t.Errorf("%s of %q: value %d, element %d is %v, and %v as for small values", q().Op, q().Prog.Text, k, i, got[k][i], v)
				return
			}
		}
	}
}

// TestRings: of a stencil on a ring each step writes its result alone, on the way back too. Its terms are made where they
// are added, of what is read at several distances.
func TestRings(t *testing.T) {
	movingSmall(t, 1<<40)
	for _, r := range []struct {
		op, text string
		values   int // that tile programs read and write
	}{
		{"grad", "for i in range(5) { x = x + 0.2*(roll(x, 1) - 2*x + roll(x, -1)) }; sum(x^2)", 40},
		{"grad", "for i in range(5) { x = x - 0.2*(-(roll(x, 2)*3) + 2*x) }; sum(x^2)", 30},
		{"grad", "for i in range(5) { y = y + 0.1*(roll(y, 1, 0) + roll(y, -1, 0) + roll(y, 1, 1) + roll(y, -1, 1) - 4*y) }; sum(y^2)", 60},
		{"jacobian", "for i in range(3) { x = x - 0.01*x*(roll(x, -1) - roll(x, 1)) + 0.05*(roll(x, 1) - 2*x + roll(x, -1)) }; x[:7]", 0},
		{"hessian", "for i in range(3) { x = x + 0.2*tanh(roll(x, 1) - 2*x) }; sum(x[:8]^3)", 0},
		{"grad", "z = 3*(x - 1); for i in range(3) { z = roll(z, 1)*2 - roll(z, 3)*roll(z, 1) }; sum(z*x) + sum(roll(-z, 5)*x^2)", 0},
	} {
		q := func() *Question {
			q := question(t, r.op, r.text)
			for _, v := range []variable{{"x", tensor.Shape{200}}, {"y", tensor.Shape{14, 15}}} {
				q.Inputs = append(q.Inputs, Input{Name: v.name, Value: tensor.Of(noise(rand.New(rand.NewPCG(1, 2)), v.shape))})
			}
			return q
		}
		compareAdjoints(t, q)
		if !comparePlan(t, q) {
			t.Errorf("%s: nothing to compare", r.text)
		}
		s, want, err := recorded(q())
		if err != nil {
			t.Fatal(err)
		}
		p, values := s.t.plan(want), 0
		for _, s := range p.steps {
			if s.kind == stepTile {
				values += len(s.tile.direct)
			}
		}
		if r.values > 0 && values != r.values {
			t.Errorf("tile programs of %s of %q read and write %d values, not %d\n%s", r.op, r.text, values, r.values, p.Dump())
		}
	}
}

// TestMovedWide: a program of float32 reads where they lie what is no float32, too.
func TestMovedWide(t *testing.T) {
	movingSmall(t, 1)
	for _, text := range []string{
		"sum(where(k[1:] > k[:-1], x[1:]^2, 3*x[:-1]))",
		"sum(where(roll(k, 3) < l[::-1], sin(x), x*roll(x, 1)))",
	} {
		if !comparePlan(t, func() *Question {
			x, k, l := tensor.New(1000), tensor.New(1000), tensor.New(1000)
			x.DType, k.DType, l.DType = tensor.Float32, tensor.Int64, tensor.Int64
			for i := range x.Data {
				x.Data[i], k.Data[i] = float64(float32(math.Sin(float64(i)))), float64(i*i%17)+1e9
				l.Data[i] = 2e9 - k.Data[i]
			}
			q := question(t, "grad", text)
			q.Inputs = []Input{{Name: "x", Value: tensor.Of(x)}, {Name: "k", Value: tensor.Of(k)}, {Name: "l", Value: tensor.Of(l)}}
			return q
		}) {
			t.Errorf("%s could not be compared", text)
		}
	}
}

// TestDrifting: rows that are shifted by a few places, with zeros or others in their place, are read as they lie.
func TestDrifting(t *testing.T) {
	for _, text := range []string{
		"sum(sin(x) * roll(y, 1, axis=1))",
		"sum(sin(x) * (roll(y, -2, axis=1) - roll(x, 3, axis=1)) * roll(roll(y, 1, axis=0), 1, axis=1))",
		"sum(sin(x) * concatenate([zeros((ROWS, 2)), y[:, :-2]], axis=1))",
		"sum(sin(x) * concatenate([y[:, 3:], zeros((ROWS, 3))], axis=1))",
		"y = exp(y)\nsum(sin(x) * concatenate([y[:, 3:], zeros((ROWS, 3))], axis=1))",
		"y = exp(y)\nsum(sin(x) * concatenate([zeros((ROWS, 2)), y[:, :-2]], axis=1))",
		"y = exp(y)\nsum(sin(x[1:]) * concatenate([zeros((ROWS - 1, 1)), y[:-1][:, :-1]], axis=1))",
		"y = exp(y)\nsum(sin(x) * concatenate([y[:, 3:], x[:, :1], flip(y, 1)[:, :2]], axis=1))",
		"sum(sin(x) * concatenate([x[:, :1]*2, y[:, 2:], y[:, 4:5]], axis=1))",
		"sum(sin(x) * concatenate([zeros((1, COLUMNS)), concatenate([zeros((ROWS - 1, 1)), y[:-1, :-1]], axis=1)], axis=0))",
		"sum(sin(x) * concatenate([concatenate([zeros((ROWS - 1, 1)), y[1:, :-1]], axis=1), zeros((1, COLUMNS))], axis=0))",
		"sum(sin(x) * concatenate([concatenate([y[2:, 1:], y[2:, :1]], axis=1), x[:2]], axis=0))",
		"for i in range(3) { x = x + 0.1*(roll(x, 1, axis=1) - roll(y, 1, axis=0)*roll(x, -1, axis=1)) }\nsum(x^2)",
		// without sums: edges by themselves
		"y = exp(y)\nsin(x) * roll(y, 1, axis=1)",
		"y = exp(y)\n[sin(x) * (roll(y, -2, axis=1) - roll(y, 3, axis=1)) * roll(roll(y, 1, axis=0), 1, axis=1), x/roll(y, 1, axis=1)]",
		"y = exp(y)\nz = pad(y, 1)\nx*y + z[2:, 1:-1]*z[:-2, 1:-1] - z[1:-1, 2:]/(z[1:-1, :-2] + 2)",
		"y = exp(y)\nz = pad(y, ((0, 3), (2, 1)))\nx*y + z[:-3, 3:]*z[2:-1, 1:-2]",
		"y = exp(y)\nx/(y - concatenate([zeros((ROWS, 2)), y[:, 2:]], axis=1) - roll(y, 1, axis=1))", // not finite, but in edges
		"y = exp(y)\nx*y[3] + roll(y, 1, axis=1)*x[:, 2:3] - roll(x, -1, axis=1)*sum(x)",
		"y = exp(y)\n(x - mean(x, axis=1, keepdims=true))*roll(y, 1, axis=1)*y[1]",
		"y = exp(y)\nx/(y - concatenate([y[:, :1]*2, y[:, :-1]], axis=1))",
		"y = exp(y)\nx*concatenate([concatenate([zeros((ROWS - 2, 1)), y[:-2, :-1]], axis=1), x[:2]], axis=0)", // y goes on behind
		"y = exp(y)\nx*concatenate([x[:2], concatenate([y[2:, 1:], x[2:, :1]], axis=1)], axis=0)",              // and in front
		"z = exp(y)*x\nsum(z[::2]^2) + sum(z[:, ::3]*2) + sum(roll(z, 1, axis=1)*sin(x))",
		"y = exp(y)\nconcatenate([y[:, 3:], x[:, :1], flip(y, 1)[:, :2]], axis=1) - x",
		"for i in range(70) { z = pad(x, 1)\nx = x + 0.1*(z[2:, 1:-1] + z[:-2, 1:-1] + z[1:-1, 2:] + z[1:-1, :-2] - 4*x) + 0.01*y }\nsum(x^2)",
		"for i in range(70) { x = x + 0.1*(roll(x, 1, axis=1) - tanh(roll(y, 1, axis=0))*roll(x, -1, axis=1)) }\nsum(x^2)",
	} {
		for seed := range uint64(12) {
			rng := rand.New(rand.NewPCG(seed, 79))
			movingSmall(t, []int64{1, 1 << 40}[seed/2%2])
			leastTogether = []int{450, 5}[seed/4%2] // rows are shorter than those that are read one by one, or not
			s := tensor.Shape{4 + rng.IntN(30), 11 + rng.IntN(90)}
			compared := comparePlan(t, func() *Question {
				q := question(t, []string{"grad", "eval"}[seed%2], strings.NewReplacer("ROWS", itoa(s[0]), "COLUMNS", itoa(s[1])).Replace(text))
				values := rand.New(rand.NewPCG(seed, 80))
				for _, name := range []string{"x", "y"} {
					q.Inputs = append(q.Inputs, Input{Name: name, Value: tensor.Of(noise(values, s))})
				}
				return q
			})
			if !compared {
				t.Errorf("%s: nothing to compare", text)
			}
		}
	}
}
