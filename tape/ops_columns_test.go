package tape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

// columnValue is a number of TestAlongColumns: of few values, so that there are ties, or odd.
func columnValue(rng *rand.Rand, odd bool) float64 {
	if odd && rng.IntN(20) == 0 {
		return []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 0, -1e308, 710}[rng.IntN(7)]
	}
	if rng.IntN(4) == 0 {
		return float64(rng.IntN(5))
	}
	return 3 * rng.NormFloat64()
}

// TestAlongColumns holds what is taken where its columns lie to what is transposed before and after, what
// short rows are to what each is alone, and plans to one instruction at a time: values bit for bit, and
// derivatives but for the order of sums.
func TestAlongColumns(t *testing.T) {
	defer func(n int) { leastColumns, turning = n, true }(leastColumns)
	rng := rand.New(rand.NewPCG(3, 5))
	for round := range 60 {
		shape, axis := []int{1 + rng.IntN(70), 1 + rng.IntN(300)}, "0"
		switch round % 6 {
		case 0:
			shape, axis = []int{1 + rng.IntN(4), 1 + rng.IntN(40), 1 + rng.IntN(20)}, "1"
		case 1:
			shape, axis = []int{1 + rng.IntN(4), 1 + rng.IntN(20), 1 + rng.IntN(40)}, "(0, 1)"
		case 2:
			shape = []int{250 + rng.IntN(600), 1 + rng.IntN(5)} // several pieces
		case 3:
			shape, axis = []int{1 + rng.IntN(3), 1 + rng.IntN(20), 1 + rng.IntN(4), 1 + rng.IntN(9)}, "-3"
		case 4:
			shape, axis = []int{leastTurned + rng.IntN(300), 2 + rng.IntN(longestTurned)}, "-1"
		case 5:
			shape, axis = []int{2 + rng.IntN(200), 2 + rng.IntN(longestTogether+10)}, "-1"
		}
		if round == 8 {
			shape = []int{8200 + rng.IntN(9000), 2} // several blocks of Sum
		}
		x := tensor.New(shape...)
		odd := rng.IntN(2) == 0
		for i := range x.Data {
			x.Data[i] = columnValue(rng, odd)
		}
		for _, c := range []struct {
			text  string
			exact bool // derivatives, too
		}{
			{"logsumexp(x, %s)", true},
			{"softmax(x, %s)", false},
			{"log_softmax(x, %s)", false},
			{"max(x, axis=%s)", true},
			{"min(x, axis=%s, keepdims=true)", true},
			{"logsumexp(x, %s) + 0*sum(softmax(x, 0)) - max(x, axis=%[1]s)", false},
			{"vector_norm(x, inf, %s)", true},
			{"vector_norm(x, 2, %s)", true},
			{"std(x, %s)", false},
			{"prod(1 + x/20, %s)", false},
			{"cumsum(x, %s)", true},
			{"cumprod(1 + x/20, %s)", true},
			{"grad(sum(cumprod(1 + x/20, %s)^2), x)", false},
		} {
			if axis == "(0, 1)" && strings.Contains(c.text, "cum") {
				continue // they run along one axis
			}
			text := fmt.Sprintf(c.text, axis)
			for _, op := range []string{"eval", "grad"} {
				program := text
				if op == "grad" {
					program = "y = " + text + "; sum(y*sin(y))"
				}
				ask := func(least int) *Question {
					leastColumns, turning = least, least == 1
					q := question(t, op, program)
					q.Inputs = []Input{{Name: "x", Value: tensor.Of(x)}}
					return q
				}
				answer := func(least int) []float64 {
					a, err := ask(least).Answer()
					if err != nil {
						t.Fatalf("%s of %q, shape %v: %v", op, program, shape, err)
					}
					if op == "eval" {
						return numbers(a.Targets[0].Value)
					}
					return numbers(a.Targets[0].Payload)
				}
				got, want := answer(1), answer(1<<30)
				if op == "eval" || c.exact {
					if i := sameBits(got, want); i >= 0 {
						t.Fatalf("%s of %q, shape %v: element %d is %v where columns lie, %v of transposed ones", op, program, shape, i, got[i], want[i])
					}
				} else {
					const tol = 1e-12 // sums of at most 1e4 products of size 10, in another order
					for i := range got {
						if d := math.Abs(got[i] - want[i]); d > tol*(1+math.Abs(want[i])) || (got[i] != got[i]) != (want[i] != want[i]) {
							t.Fatalf("%s of %q, shape %v: element %d is %v where columns lie, %v of transposed ones", op, program, shape, i, got[i], want[i])
						}
					}
				}
				if round < 12 && !comparePlan(t, func() *Question { return ask(1) }) {
					t.Fatalf("%s of %q, shape %v could not be compared", op, program, shape)
				}
			}
		}
	}
}

// TestColumnsAreTaken holds that nothing is transposed where columns lie together.
func TestColumnsAreTaken(t *testing.T) {
	for _, c := range []struct {
		op, text, x string
		moves       bool
	}{
		{"grad", "sum(logsumexp(x, 0)^2)", "x=ones([5, 40])", false},
		{"grad", "sum(softmax(x, 1)^2)", "x=ones([2, 5, 40])", false},
		{"grad", "sum(log_softmax(x, 0)^2)", "x=ones([5, 40])", false},
		{"grad", "sum(max(x, axis=(0, 1))^2)", "x=ones([2, 5, 40])", false},
		{"grad", "sum(min(x, axis=0)^2)", "x=ones([5, 40])", false},
		{"grad", "sum(softmax(x, 0)^2)", "x=ones([40, 5])", true}, // few lie together
		{"grad", "sum(max(x, axis=(0, 2))^2)", "x=ones([5, 6, 40])", true},
		{"grad", "sum(norm(x, 2, 0))", "x=ones([5, 40])", false},
		{"grad", "sum(sin(vector_norm(x, 2, (0, 1))))", "x=ones([2, 5, 40])", false},
		{"eval", "prod(x, 0)", "x=ones([5, 40])", false},
		{"grad", "sum(prod(x, 0)^2)", "x=ones([5, 40])", false},
		{"hessian", "sum(cumsum(x, 1)*cumprod(x, 1))", "x=ones([2, 5, 40])", false},
		{"grad", "sum(diff(x, 2, 1)^2)", "x=ones([2, 5, 7])", false},
	} {
		s, _, err := recorded(question(t, c.op, c.text, c.x))
		if err != nil {
			t.Fatal(err)
		}
		moves := slices.ContainsFunc(s.t.ins, func(i Instr) bool { return i.Op() == opTranspose })
		if moves != c.moves {
			t.Errorf("%s of %s at %s: a transposition is there: %t, want %t", c.op, c.text, c.x, moves, c.moves)
		}
	}
}

// TestColumnsWithoutBounds holds a derivative that is computed without bounds to that of rows.
func TestColumnsWithoutBounds(t *testing.T) {
	defer func(n int) { leastColumns = n }(leastColumns)
	grad := func(least int) []float64 {
		leastColumns = least
		a, err := question(t, "grad", "sum(norm(x, 2, 0)^3)/sum(x)^3", "x=[[3e200, 5e200, 0], [4e200, 12e200, 1]]").Answer()
		if err != nil {
			t.Fatal(err)
		}
		return numbers(a.Targets[0].Payload)
	}
	got, want := grad(1), grad(1<<30)
	if i := sameBits(got, want); i >= 0 || got[0] == 0 {
		t.Errorf("gradients %v where columns lie, %v of transposed ones", got, want)
	}
}
