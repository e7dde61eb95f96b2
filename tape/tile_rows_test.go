package tape

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"nabla/tape/tensor"
)

// A rowsWriter writes random programs over a matrix x, others of its shape, y, a column c, and a row b.
type rowsWriter struct{ sumsWriter }

func (w rowsWriter) leaf() string {
	return w.pick("x", "y", "c", "c", "b", "x[:, :1]", "mean(x, axis=1, keepdims=true)", "norm(x, axis=1)[:, newaxis]", "max(y*x, axis=1, keepdims=true)")
}

func (w rowsWriter) expr(depth int) string {
	if depth == 0 {
		return w.leaf()
	}
	a, b := w.expr(depth-1), w.expr(w.IntN(depth))
	return fmt.Sprintf(w.pick("(%s*%s)", "(%s + %s)", "(%s - %s)", "(%s*%s + x)", "(%s/(1 + %s^2))", "max(%s, %s)", "sin(%s - x)*%s", "tanh(%s)*%s", "where(%s > %s, x, y)"), a, b)
}

// TestRowTiles: tiles that are rows have the bits of one instruction after the other, on one thread and on two.
func TestRowTiles(t *testing.T) {
	compared, rowwise := 0, 0
	n := rounds(400)
	aside := worthAside
	defer func() { worthAside = aside }()
	for seed := range uint64(n) {
		w := rowsWriter{sumsWriter{rand.New(rand.NewPCG(seed, 85))}}
		movingSmall(t, 1)
		worthAside, leastStraight = []int{1, 1 << 30}[seed%2], max(leastStraight, 8)
		s := tensor.Shape{2 + w.IntN(60), []int{8 * (2 + w.IntN(60)), 32 * (1 + w.IntN(20)), leastEach + w.IntN(mostEach-leastEach), vectorEach}[w.IntN(4)]}
		op := w.pick("grad", "grad", "hvp", "eval")
		text := fmt.Sprintf(w.pick("sum(%s + x)", "mean((%s - y)^2)", "sum(sum(%s + x, axis=1)^2)", "sum(logsumexp(%s + x, axis=1))", "sum(max(%s - x, axis=0))"), w.expr(2+w.IntN(2)))
		if op == "eval" && w.IntN(2) == 0 {
			text = "[" + w.expr(3) + " + x, " + text + "]"
		}
		vars := []variable{{"x", s}, {"y", s}, {"b", s[1:]}, {"c", tensor.Shape{s[0], 1}}}
		same, some := compareOverNoise(t, seed, op, text, vars, func(tp *tileProgram) bool {
			each, _ := tp.eachRow(tp.aside())
			return each > 0
		})
		compared, rowwise = compared+same, rowwise+some
	}
	if compared < n*8/10 || rowwise < n/3 {
		t.Errorf("of %d programs %d could be compared, and %d have tiles that are rows", n, compared, rowwise)
	}
}
