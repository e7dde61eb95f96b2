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

// chainInputs are the data of small networks: a batch of 61 rows, and others.
func chainInputs(special float64) []Input {
	in := []Input{
		{Name: "x", Value: normals(1, 61, 6)}, {Name: "w", Value: normals(0.4, 6, 8), Const: true}, {Name: "v", Value: normals(0.3, 8, 8)},
		{Name: "u", Value: normals(0.3, 8, 5), Const: true}, {Name: "b", Value: normals(1, 8)}, {Name: "t", Value: normals(1, 61, 5), Const: true},
		{Name: "s", Value: normals(1, 20, 3, 6)}, {Name: "big", Value: normals(1, 8, 61)},
	}
	if special == 0 {
		return in
	}
	for i, x := range in {
		x.Value.Tensor.Data[i] = special
	}
	return in
}

func chainQuestion(t *testing.T, op, text string, special float64) func() *Question {
	return func() *Question {
		q := question(t, op, text)
		q.Inputs = chainInputs(special)
		q.Prog.Text = text
		if op == "batch_jacobian" || op == "jacobian" || op == "hessian" {
			for i := range q.Inputs {
				q.Inputs[i].Const = q.Inputs[i].Name != "x"
			}
		}
		return q
	}
}

// countChains is how many chains the plan of a question has.
func countChains(t *testing.T, q *Question) (n int) {
	s, want, err := recorded(q)
	if err != nil {
		t.Fatalf("%s of %q: %v", q.Op, q.Prog.Text, err)
	}
	for _, st := range s.t.plan(want).steps {
		if st.kind == stepChain {
			n++
		}
	}
	return n
}

// countEpilogues is how many products of a question's chains are multiplied by slopes.
func countEpilogues(t *testing.T, q *Question) (n int) {
	s, want, err := recorded(q)
	if err != nil {
		t.Fatalf("%s of %q: %v", q.Op, q.Prog.Text, err)
	}
	for _, st := range s.t.plan(want).steps {
		if st.kind == stepChain {
			n += len(st.chain.strips[0].times)
		}
	}
	return n
}

// TestEpilogues: where rows fill tiles, products are multiplied by slopes while they are
// stored, with the bits of instructions that run one by one.
func TestEpilogues(t *testing.T) {
	for _, r := range []struct {
		op, text string
		rows     int
		want     int
	}{
		{"batch_jacobian", "tanh(tanh(x @ w + b) @ v) @ u", 64, 1},
		{"batch_jacobian", "tanh(tanh(tanh(x @ w + b) @ v) @ u)", 64, 2}, // the first by a column of the seeds
		{"batch_jacobian", "relu(relu(relu(x @ w + b) @ v) @ u)", 64, 2},
		{"batch_jacobian", "h = relu(x @ w); tanh(h @ v) / h", 64, -1},
		{"batch_jacobian", "tanh(tanh(tanh(x @ w + b) @ v) @ u)", 61, -1}, // rows that fill no tiles
		{"grad", "mean((tanh(tanh(x @ w + b) @ v) @ u)^2)", 64, -1},
	} {
		for i, special := range []float64{0, math.NaN(), math.Inf(1), 0, math.NaN()} {
			q := chainQuestion(t, r.op, r.text, special)
			cut := func() *Question {
				q := q()
				if i > 2 {
					q.DType = tensor.Float32
				}
				x := normals(1, r.rows, 6)
				clear(x.Tensor.Data[:12])
				if special != 0 {
					x.Tensor.Data[20] = special
				}
				q.Inputs[0].Value = x
				return q
			}
			if n := countEpilogues(t, cut()); r.want >= 0 && n != r.want {
				t.Errorf("%s of %q on %d rows: %d products are multiplied by slopes, want %d", r.op, r.text, r.rows, n, r.want)
			}
			comparePlan(t, cut)
		}
	}
}

// checkAtLeast holds bounds of chains to the chains, and counts those that bound.
func checkAtLeast(t *testing.T, q *Question) (n int) {
	s, want, err := recorded(q)
	if err != nil {
		t.Fatalf("%s of %q: %v", q.Op, q.Prog.Text, err)
	}
	p := &Plan{t: s.t, outs: want}
	passLive(p)
	passFold(p)
	f := p.spaces(true)
	if f == nil || f.rows == nil {
		return 0
	}
	chains, _ := f.chains()
	for _, c := range chains {
		weights, strips := f.atLeast(c)
		if len(c.strips) > 0 && (weights > c.weights() || strips > int64(c.parts)) {
			t.Errorf("%s of %q: a chain of at least %d strips that read %d bytes of weights has %d, and they read %d", q.Op, q.Prog.Text, strips, weights, c.parts, c.weights())
		}
		if len(c.strips) > 0 && weights > 0 {
			n++
		}
	}
	return n
}

// TestChains: rows that go through a chain some at a time have the bits of instructions
// that run one by one.
func TestChains(t *testing.T) {
	for i, r := range []struct {
		op, text string
		chains   int // -1: any number, of float32 too
	}{
		{"eval", "tanh(tanh(x @ w + b) @ v) @ u", 1},
		{"batch_jacobian", "tanh(tanh(x @ w + b) @ v) @ u", 1},
		{"grad", "mean((tanh(tanh(x @ w + b) @ v) @ u - t)^2)", -1},
		{"eval", "softmax(tanh(x @ w) @ v) @ u + logsumexp(x @ w, -1, true)", 1},
		{"eval", "h = tanh(x @ w); m = h - mean(h, -1, true); g = m / sqrt(mean(m^2, -1, true) + 1e-5); tanh(g @ v) @ u", 1},
		{"eval", "h = tanh(x @ w); m = h - mean(h, 0, true); tanh(tanh(tanh(m @ v) @ v) @ v) @ u", -1}, // the mean stands between two chains
		{"eval", "h = tanh(tanh(s @ w) @ v) @ v; sum(h, 1) @ u", -1},                                   // rows of a product that belong together
		{"eval", "h = tanh(s @ w); a = softmax(h @ permute(h, [0, 2, 1]), -1); tanh(a @ h @ v) @ u", -1},
		{"eval", "h = tanh(x @ w) @ v; concat([h[:, 2:], h[:, ::-1], cumsum(h, 1)], 1) @ concat([v, v, v], 0)[:22] ", -1},
		{"eval", "permute(tanh(tanh(x @ w) @ v) @ v, [1, 0])", 1},                                             // what leaves is transposed
		{"eval", "h = tanh(x @ w) @ v; h @ permute(h, [1, 0])", -1},                                           // rows that meet all others
		{"eval", "g(r) = tanh(tanh(r @ w) @ v) @ u; vmap(g)(x)", -1},                                          // rows of a batch axis
		{"jacobian", "sum(tanh(tanh(x @ w) @ v) @ u, 1)", -1},                                                 // seeds and rows
		{"hessian", "sum(tanh(tanh(x @ w) @ v) @ u)", -1},                                                     //
		{"batch_jacobian", "relu(x @ w) @ v / (x @ w) + (1 / relu(x @ w)) @ v", -1},                           // infinities meet zeros of seeds
		{"eval", "permute(tanh(permute(big, [1, 0]) @ v) @ v, [1, 0])", -1},                                   // what comes in is transposed
		{"eval", "h = tanh(x @ w) @ v; concat([h @ zeros((8, 0)), h], 1) @ v + h[:, :0] @ zeros((0, 8))", -1}, // nothing, cut
		{"eval", "h = reshape(tanh(x @ w) @ v, (1, 61, 8)); concat([h, h[:0], h], 0) @ v", -1},
		{"eval", "h = x @ w; for i in range(4) { h = tanh(h @ v) }; sum(h)", -1},
	} {
		for k, special := range []float64{0, math.NaN(), math.Inf(1)} {
			if spared(i + 2*k) { // each row of five, and each value, is met
				continue
			}
			q := chainQuestion(t, r.op, r.text, special)
			if n := countChains(t, q()); r.chains >= 0 && n != r.chains {
				t.Errorf("%s of %q has %d chains, want %d", r.op, r.text, n, r.chains)
			}
			if !comparePlan(t, q) && !t.Failed() {
				t.Errorf("%s of %q: nothing was compared", r.op, r.text)
			}
			comparePlan(t, func() *Question {
				q := q()
				q.DType = tensor.Float32
				return q
			})
		}
	}
}

// TestChainsAgain: a prepared question carries its chains out with other numbers.
func TestChainsAgain(t *testing.T) {
	q := chainQuestion(t, "batch_jacobian", "tanh(tanh(x @ w + b*sum(b)) @ v) @ u", 0)
	p := q().Prepare()
	for seed := range 3 {
		in := chainInputs(0)
		for i := range in {
			in[i].Const = in[i].Name != "x"
			for k := range in[i].Value.Tensor.Data {
				in[i].Value.Tensor.Data[k] *= 1 + float64(seed)/3
			}
		}
		got, err := p.Answer(in)
		if err != nil {
			t.Fatal(err)
		}
		again := q()
		again.Inputs = in
		want, err := again.Answer()
		if err != nil {
			t.Fatal(err)
		}
		if i := sameBits(numbers(got.Targets[0].Payload), numbers(want.Targets[0].Payload)); i >= 0 {
			t.Errorf("run %d: element %d differs from that of a fresh answer", seed, i)
		}
	}
}

// TestRandomChains does to random layers what TestChains does to known ones.
func TestRandomChains(t *testing.T) {
	n := rounds(150)
	chains, bounded := 0, 0
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var text strings.Builder
		text.WriteString("h0 = x @ w\n")
		k := 1 + rng.IntN(7)
		for i := range k {
			h, g := fmt.Sprintf("h%d", i), fmt.Sprintf("h%d", rng.IntN(i+1))
			layer := []string{"tanh(%s) @ v", "%s @ v + %s", "%s * sigmoid(%s)", "%s + b", "softmax(%s) * %s", "%s - mean(%s, -1, true)", "%s - mean(%s, 0, true)",
				"concat([%s[:, 1:], %s[:, :1]], 1)", "(%s)[:, ::-1] + %s", "max(%s, -1, true) * %s", "permute(permute(%s, [1, 0]) + 1, [1, 0]) * %s", "reshape(reshape(%s, (61, 4, 2)) * 2, (61, 8)) @ v",
				"(%s[::-1] + %s) @ v", "where(%s > 0, %s, 0.1)", "cumsum(%s, 1) @ v", "(%s @ permute(%s, [1, 0])) @ x @ w / 100"}[rng.IntN(16)]
			fmt.Fprintf(&text, "h%d = %s\n", i+1, strings.ReplaceAll(strings.Replace(layer, "%s", h, 1), "%s", g))
		}
		fmt.Fprintf(&text, "h%d", k)
		for _, op := range []string{"eval", "batch_jacobian", "grad"} {
			full := text.String()
			if op == "grad" {
				full += fmt.Sprintf("\nsum(h%d^2)", k)
			}
			of := chainQuestion(t, op, full, []float64{0, 0, math.Inf(-1)}[seed%3])
			q := func() *Question {
				q := of()
				if seed%4 == 1 {
					q.DType = tensor.Float32
				}
				return q
			}
			chains += countChains(t, q())
			bounded += checkAtLeast(t, q())
			comparePlan(t, q)
		}
		if t.Failed() {
			return
		}
	}
	if chains < n || bounded < n {
		t.Errorf("%d chains in %d programs, %d with bounds", chains, n, bounded)
	}
}

// TestColumns: products of seeds and slopes are not computed where a product reads a column
// of the slopes instead.
func TestColumns(t *testing.T) {
	s, want, err := recorded(chainQuestion(t, "batch_jacobian", "tanh(tanh(tanh(x @ w + b) @ v) @ u)", 0)())
	if err != nil {
		t.Fatal(err)
	}
	columns := 0
	for _, c := range s.t.plan(want).chains {
		p := c.strips[0].plan
		for r := range c.strips[0].right {
			x := p.same[p.t.Args(r)[0]]
			if _, ok := p.t.unitColumn(x); !ok {
				continue
			}
			columns++
			for _, st := range p.steps {
				if slices.Contains(st.refs, x) {
					t.Errorf("%%%d is computed:\n%s", x, p.Dump())
				}
			}
		}
	}
	if columns == 0 {
		t.Error("no product has a single column")
	}
}

// TestRowChains does to random maps and reductions of rows, without a product, what TestRandomChains
// does to layers.
func TestRowChains(t *testing.T) {
	defer func(n, m int64) { chainBytes, stripBytes = n, m }(chainBytes, stripBytes)
	chainBytes, stripBytes = 1<<10, 2<<10
	n := rounds(200)
	chains := 0
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 9))
		text := "h0 = sin(x) + t[:, :1]\n"
		k := 1 + rng.IntN(6)
		for i := range k {
			h, g := fmt.Sprintf("h%d", i), fmt.Sprintf("h%d", rng.IntN(i+1))
			layer := []string{"tanh(%s) * %s", "%s / norm(%s, 2, -1, true)", "%s - mean(%s, -1, true)", "softmax(%s) * %s", "log_softmax(%s, -1) + %s",
				"%s - logsumexp(%s, -1, true)", "%s / sqrt(mean(%s^2, -1, true) + 0.1)", "max(%s, axis=-1, keepdims=true) * %s", "%s - mean(%s, 0, true)",
				"(%s - mean(%s, -1, true)) / std(x, -1, true)", "%s * w[:, 0] + sum(%s*x, -1, true)", "softmax(%s, 0) + %s", "where(%s > 0, %s, 0.1)",
				"cumsum(%s, 1) + %s", "reshape(reshape(%s, (61, 2, 3)) - mean(reshape(%s, (61, 2, 3)), -1, true), (61, 6))", "%s[::-1] + %s"}[rng.IntN(16)]
			text += fmt.Sprintf("h%d = %s\n", i+1, strings.ReplaceAll(strings.Replace(layer, "%s", h, 1), "%s", g))
		}
		for _, op := range []string{"eval", "grad", "batch_jacobian"} {
			full := text + fmt.Sprintf("h%d", k)
			if op == "grad" {
				full = text + fmt.Sprintf("sum(h%d^2) + sum(norm(h%[1]d, 2, -1))", k)
			}
			of := chainQuestion(t, op, full, []float64{0, 0, math.Inf(1), math.NaN()}[seed%4])
			q := func() *Question {
				q := of()
				if seed%3 == 1 {
					q.DType = tensor.Float32
				}
				return q
			}
			chains += countChains(t, q())
			comparePlan(t, q)
		}
		if t.Failed() {
			return
		}
	}
	if chains < n {
		t.Errorf("%d chains in %d programs", chains, n)
	}
}

// TestTiesInChains holds that ties are counted of the rows that a chain has at hand.
func TestTiesInChains(t *testing.T) {
	defer func(n, m int64) { chainBytes, stripBytes = n, m }(chainBytes, stripBytes)
	chainBytes, stripBytes = 1<<10, 2<<10
	s, want, err := recorded(chainQuestion(t, "grad", "sum(max(abs(x), axis=-1)^2)", 0)())
	if err != nil {
		t.Fatal(err)
	}
	p := s.t.plan(want)
	for _, r := range p.order {
		if s.t.ins[r].Op() == opTies && p.steps[p.home[r]].kind != stepChain {
			t.Errorf("ties are counted outside of the chain:\n%s", p.Dump())
		}
	}
}
