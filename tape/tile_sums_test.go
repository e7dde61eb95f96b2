package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"nabla/tape/tensor"
)

// alongSmall has sums over axes of few numbers be made along with what makes them, until the test ends.
func alongSmall(t *testing.T) {
	least, split, aside, longest := leastAlong, leastSplit, worthAside, longestWhole
	t.Cleanup(func() { leastAlong, leastSplit, worthAside, longestWhole = least, split, aside, longest })
	leastAlong = 1
}

// A sumsWriter writes random programs over a matrix x, or an array of three axes, with rows b and g, a column c and others of
// its shape, y.
type sumsWriter struct{ *rand.Rand }

func (w sumsWriter) pick(s ...string) string { return s[w.IntN(len(s))] }

func (w sumsWriter) expr(depth int) string {
	if depth == 0 {
		return w.pick("x", "x", "y", "b", "g", "c", "(x - mean(x, axis=0))", "(x - y)")
	}
	a, b := w.expr(depth-1), w.expr(w.IntN(depth))
	return fmt.Sprintf(w.pick("(%s*%s)", "(%s + %s)", "(%s - tanh(%s))", "(%s*%s + b)", "max(%s, %s)", "(%s/(1 + %s^2))", "sigmoid(%s + x)*%s", "(%s*(%s > 0.3))"), a, b)
}

func (w sumsWriter) program() string {
	sum := func(axes string) string { return "sum(" + w.expr(1+w.IntN(3)) + " + x*0, axis=" + axes + ")" }
	switch w.IntN(8) {
	case 6:
		return "sum(" + sum(w.pick("-1", "(-2, -1)")) + "^2) + sum(" + sum("0") + "^2)"
	case 7:
		return "sum(tanh(" + sum("-1") + ")*sin(" + sum("-1") + "))"
	case 0:
		return "mean((" + w.expr(3) + " - y)^2)"
	case 1:
		return "sum(" + sum("0") + "^2)"
	case 2:
		return "z = x - mean(x, axis=0, keepdims=true); v = mean(z^2, axis=0); sum((z/sqrt(v + 0.1)*g + b - y)^3)"
	case 3:
		return "sum(tanh(" + sum("0") + ")) + sum(" + sum("-1") + "*2)"
	case 4:
		return "sum(log(1 + " + sum("0") + "^2)*" + sum("0") + ") + sum(x*y)"
	}
	return "sum(exp(-" + w.expr(2) + "^2)) + sum(max(x + b, axis=0))"
}

// TestAxisSums: sums over axes that are made along with what makes them have the bits of sums by themselves, on one thread and on
// two.
func TestAxisSums(t *testing.T) {
	alongSmall(t)
	compared, summed := 0, 0
	n := rounds(400)
	for seed := range uint64(n) {
		w := sumsWriter{rand.New(rand.NewPCG(seed, 83))}
		movingSmall(t, []int64{1, 1 << 40}[seed%2])
		leastSplit = []int{1, 1 << 28}[seed/4%2]
		worthAside, leastStraight = []int{1, 1 << 30}[seed/2%2], max(leastStraight, 8)
		longestWhole = []int{alongPart, 1 + w.IntN(50)}[seed/8%2]
		rows, inner := 4+w.IntN(40), 1+w.IntN(40)
		switch w.IntN(4) {
		case 0:
			rows, inner = 100+w.IntN(900), 1+w.IntN(40)
		case 1:
			rows, inner = 4+w.IntN(150), 200+w.IntN(400)
		case 2:
			rows, inner = 512, 16*(1+w.IntN(8))
		}
		s, row, column := tensor.Shape{rows, inner}, tensor.Shape{inner}, tensor.Shape{rows, 1}
		if w.IntN(5) == 0 {
			k := 2 + w.IntN(3)
			s, row, column = tensor.Shape{rows, k, inner}, tensor.Shape{k, inner}, tensor.Shape{rows, 1, 1}
		}
		op, text := w.pick("grad", "grad", "hvp", "eval"), w.program()
		vars := []variable{{"x", s}, {"y", s}, {"b", row}, {"g", row}, {"c", column}}
		same, some := compareOverNoise(t, seed, op, text, vars, func(tp *tileProgram) bool { return len(tp.along) > 0 })
		compared, summed = compared+same, summed+some
	}
	if compared < n*8/10 || summed < n/2 {
		t.Errorf("of %d programs %d could be compared, and %d add up over axes along with others", n, compared, summed)
	}
}

// compareOverNoise compares the plan of a program over random numbers, now and then odd ones, of x and what else of vars it names. It counts
// whether it could, and whether the plan has such a tile program.
func compareOverNoise(t *testing.T, seed uint64, op, text string, vars []variable, is func(tp *tileProgram) bool) (compared, has int) {
	q := func() *Question {
		q := question(t, op, text)
		q.Limit = 256 << 20
		values := rand.New(rand.NewPCG(seed, 84))
		for _, v := range vars {
			x := noise(values, v.shape)
			if seed%16 == 15 {
				x.Data[values.IntN(len(x.Data))] = []float64{math.NaN(), math.Inf(1), math.Copysign(0, -1), 1e308}[values.IntN(4)]
			}
			if named := regexp.MustCompile(`\b` + v.name + `\b`); named.MatchString(text) {
				q.Inputs = append(q.Inputs, Input{Name: v.name, Value: tensor.Of(x), Const: v.name == "y" || op == "hvp" && v.name != "x"})
			}
		}
		if op == "hvp" {
			q.With = tensor.Of(noise(values, vars[0].shape))
		}
		return q
	}
	if comparePlanAs(t, q) {
		compared = 1
	}
	if t.Failed() {
		t.Fatalf("seed %d: %s of %v", seed, text, vars[0].shape)
	}
	if s, want, err := recorded(q()); err == nil && slices.ContainsFunc(s.t.plan(want).steps, func(st step) bool { return st.tile != nil && is(st.tile) }) {
		has = 1
	}
	return compared, has
}
