package tape

import (
	"math"
	"slices"
	"strings"
	"testing"

	"nabla/expr"
)

// factoredPrograms are programs whose matrices have a form as terms that pays, or not.
var factoredPrograms = []struct {
	op, text string
	form     string
	inputs   []string
}{
	{"hessian", "w1 = reshape(p[:30], (3, 10)); b1 = p[30:40]; w2 = reshape(p[40:], (10, 4)); mean((tanh(x @ w1 + b1) @ w2 - t)^2)", "yes", xs("p=randn(80)", "const x=randn(90, 3)", "const t=randn(90, 4)")},
	{"hessian", "w1 = reshape(p[:30], (3, 10)); b1 = p[30:40]; w2 = reshape(p[40:], (10, 4)); sum(log_softmax(tanh(x @ w1 + b1) @ w2)*t)", "yes", xs("p=randn(80)", "const x=randn(90, 3)", "const t=randn(90, 4)")},
	{"hessian", "mean((tanh(tanh(x @ w1) @ w2 + b) @ w3 - t)^2)", "yes", xs("w1=randn(6, 12)", "w2=randn(12, 12)", "b=randn(12)", "w3=randn(12, 8)", "const x=randn(9, 6)", "const t=randn(9, 8)")},
	{"hessian", "sum(tanh(tanh(x @ w) @ w.T)^2)", "yes", xs("w=randn(9, 8)", "const x=randn(100, 9)")},
	{"hessian", "sum((x @ w - t)^2)", "yes", xs("w=randn(20, 4)", "const x=randn(30, 20)", "const t=randn(30, 4)")},
	{"hessian", "sum(logsumexp(x @ w, 1))", "yes", xs("w=randn(20, 4)", "const x=randn(30, 20)")},
	{"hessian", "sum(logsumexp(1e5*(x @ w)^3, 1))", "no", xs("w=randn(20, 4)", "const x=randn(30, 20)")},                                                       // terms cancel
	{"jacobian", "softmax(x @ w + c) @ m", "no", xs("w=randn(20, 4)", "const x=randn(30, 20)", "const c=zeros(30, 4) + [90, 0, 0, 0]", "const m=randn(4, 4)")}, // terms cancel on the way
	{"hessian", "sum((x @ w)^2 / (1 + (x @ w)^2))", "yes", xs("w=randn(20, 4)", "const x=randn(30, 20)")},
	{"hessian", "sum(where(x @ w > 0, (x @ w)^3, sin(x @ w)))", "yes", xs("w=randn(20, 4)", "const x=randn(30, 20)")},
	{"hessian", "sum(softmax(q @ k.T) @ v)", "yes", xs("q=randn(10, 8)", "k=randn(10, 8)", "v=randn(10, 8)")},
	{"jacobian", "x @ w", "yes", xs("w=randn(10, 8)", "const x=randn(12, 10)")},
	{"jacobian", "x @ tanh(w) + w[:8].T", "yes", xs("w=randn(10, 8)", "const x=randn(8, 10)")},
	{"jacobian", "tanh(x @ w)[::2, 1:5]", "yes", xs("w=randn(10, 8)", "const x=randn(30, 10)")},
	{"jacobian", "u = x @ w; grad(sum(u[::2]^3), u)[2::2, 1:]", "yes", xs("w=randn(10, 8)", "const x=randn(30, 10)")}, // a slice of what a slice spread out
	{"jacobian", "concat([x @ w[:6], (x @ w[4:])[:, ::-1]], 1)", "no", xs("w=randn(10, 8)", "const x=randn(12, 6)")},  // nor for steps backwards
	{"jacobian", `einsum("bi,bj,ijk->bk", x, y, w)`, "yes", xs("w=randn(6, 5, 7)", "const x=randn(20, 6)", "const y=randn(20, 5)")},
	{"jacobian", "outer(u, v)", "yes", xs("u=randn(80)", "const v=randn(60)")},
	{"jacobian", "u[:, newaxis]*m + u", "yes", xs("u=randn(70)", "const m=randn(70, 70)")},
	{"jacobian", "swapaxes(c, 1, 2) @ w", "yes", xs("w=randn(9, 8)", "const c=randn(3, 9, 4)")},
	{"jacobian", "w @ c", "yes", xs("w=randn(9, 8)", "const c=randn(3, 8, 4)")},
	{"jacobian", "reshape(x @ reshape(w, (10, 8)), (6, 4, 8))[1:, :, ::3]", "yes", xs("w=randn(80)", "const x=randn(24, 10)")},
	{"jacobian", "kron(a, b)", "yes", xs("a=randn(8, 9)", "const b=randn(4, 3)")},
	{"batch_jacobian", "tanh(tanh(x @ w1) @ w2)", "yes", xs("x=randn(40, 16)", "const w1=randn(16, 16)", "const w2=randn(16, 16)")},
	{"batch_jacobian", "x/sqrt(sum(x^2, axis=1, keepdims=true))", "yes", xs("x=randn(400, 5)")},
	{"batch_jacobian", "x * sin(x)", "yes", xs("x=randn(40, 16)")},
	{"jacobian", "(sum(b)*d) @ d.T", "no", xs("b=randn(3)", "const d=randn(2, 1)")}, // a seed that became a number
	{"jacobian", "u = w[2:2]; (u.T @ (u*u))[:2]", "yes", xs("w=randn(3, 64)")},      // what is empty has no terms
	{"jacobian", "cumsum(x @ w, 1)", "yes", xs("w=randn(10, 8)", "const x=randn(12, 10)")},
	{"jacobian", "cumsum(x @ w, 0)^2", "yes", xs("w=randn(10, 8)", "const x=randn(12, 10)")},
	{"batch_jacobian", "cumsum(x^2, 1)", "yes", xs("x=randn(40, 16)")},
	{"jacobian", "grad(sum(cumsum(x*b, 0)^3), x)", "yes", xs("x=randn(9, 8)", "const b=randn(8)")}, // backwards, too
	{"jacobian", "cumsum(x, 1)[:, ::3] @ d", "yes", xs("x=randn(9, 12)", "const d=randn(4, 5)")},
	{"jacobian", "cumprod(x, 1)", "no", xs("x=randn(12, 10)")},                               // no rule for recurrences
	{"jacobian", "float32(x) @ w", "no", xs("w=randn(10, 8)", "const x=randn(12, 10)")},      // of float32
	{"jacobian", "vmap(r -> r @ w)(x)", "no", xs("w=randn(10, 8)", "const x=randn(12, 10)")}, // nor for two axes
	{"jacobian", "solve(8*eye(70) + a + outer(x, x), b)", "yes", xs("x=randn(70)", "const a=randn(70, 70)", "const b=randn(70)")},
	{"jacobian", "solve(8*eye(70) + a*x, b)", "yes", xs("x=randn(70)", "const a=randn(70, 70)", "const b=randn(70)")},
	{"jacobian", "solve(8*eye(70) + a, x^2)", "no", xs("x=randn(70)", "const a=randn(70, 70)")},
	{"jacobian", "solve_triangular(8*eye(70) + tril(outer(x, x)), b, lower=true)", "yes", xs("x=randn(70)", "const b=randn(70)")},
	{"jacobian", "solve(8*eye(7) + a, x)", "yes", xs("x=randn(12, 7, 2)", "const a=randn(12, 7, 7)")},
	{"jacobian", "inv(eye(8) + 0.1*(w.T @ w))", "yes", xs("w=randn(10, 8)")},
	{"jacobian", "f(v) = v^2\ngradient f(v; g) = g/(1 + v^2)\nf(x @ w)", "yes", xs("w=randn(10, 16)", "const x=randn(9, 10)")}, // quotients of seeds, which rows of ours do not make
	{"jacobian", "f(v) = v^2\ngradient f(v; g) = (1 + v^2)/g\nf(x @ w)", "no", xs("w=randn(10, 16)", "const x=randn(9, 10)")},
	{"jacobian", "f(v) = v^2\ngradient f(v; g) = where(v > 0, 0, g)\nf(x @ w)", "yes", xs("w=randn(10, 16)", "const x=randn(9, 10)")},
	{"jacobian", "f(v) = v^2\ngradient f(v; g) = where(v > 0, 1, g)\nf(x @ w)", "no", xs("w=randn(10, 16)", "const x=randn(9, 10)")},
	{"jacobian", "f(v) = v^2\ngradient f(v; g) = where(g > 0, v, 0)\nf(x @ w)", "no", xs("w=randn(10, 16)", "const x=randn(9, 10)")},
	{"jacobian", "f(v) = v^2\ngradient f(v; g) = g*g\nf(x @ w)", "no", xs("w=randn(10, 16)", "const x=randn(9, 10)")},
	{"jacobian", "f(v) = v^2\ngradient f(v; g) = v + g\nf(x @ w)", "no", xs("w=randn(10, 16)", "const x=randn(9, 10)")},
	{"jacobian", "times(u, v) { h = 2*u*v; k = +h; k }\nf(v) = v^2\ngradient f(v; g) = times(g, v)\nf(x @ w)", "yes", xs("w=randn(10, 16)", "const x=randn(9, 10)")}, // a seed under a name
	{"hessian", "sum(conv1d(x, w)^2)", "yes", xs("w=randn(8, 4, 3)", "const x=randn(3, 4, 20)")},
	{"hessian", "c = 0\nfor i in range(3) { c = tanh(c + x @ w) }\nsum(c^2)", "yes", xs("w=randn(10, 8)", "const x=randn(12, 10)")},
}

// matrices answers a question with terms, wherever there is a form, or row by row; used
// reports whether there were any.
func matrices(t *testing.T, q *Question, terms bool) (values []float64, used bool, err error) {
	t.Helper()
	if !terms {
		defer byRows(t)()
	}
	s := &session{q: q}
	a, err := s.answered()
	if err != nil {
		return nil, false, err
	}
	for _, x := range s.taken {
		_, is := s.plain[x.r]
		used = used || is
	}
	for _, x := range a.Targets {
		values = append(values, numbers(x.Payload)...)
	}
	return values, used, nil
}

// sameMatrices compares terms with rows. They round in other places: numbers may differ by
// 16 roundings of what is added up, which may be so much larger than what is left. What is
// not finite must be the same.
func sameMatrices(t *testing.T, q func() *Question, got, want []float64) {
	t.Helper()
	what := q().Op + " of " + q().Prog.Text
	scale := 1.0
	for _, v := range want {
		if v-v == 0 {
			scale = max(scale, math.Abs(v))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	tol := 16 * 0x1p-53 * cancels * scale
	for i, v := range want {
		if w := got[i]; v != w && (v == v || w == w) && !(math.Abs(v-w) <= tol) {
			t.Fatalf("%s: element %d is %v, row by row %v", what, i, w, v)
		}
	}
}

// TestFactored holds matrices as terms to the rows of a seeded sweep.
func TestFactored(t *testing.T) {
	defer func() { compressing = true }()
	compressing = false // which would find some of the zeros
	for _, r := range factoredPrograms {
		q := func() *Question { return question(t, r.op, r.text, r.inputs...) }
		if used := agreesWithRows(t, q); used != (r.form == "yes") {
			t.Errorf("%s of %s: used %v", r.op, r.text, used)
		}
	}
}

// agreesWithRows compares matrices with what rows give, and reports whether there were terms.
func agreesWithRows(t *testing.T, q func() *Question) (used bool) {
	t.Helper()
	var values [2][]float64
	for i := range values {
		var err error
		if values[i], used, err = matrices(t, q(), i == 1); err != nil {
			t.Fatalf("%s of %s: %v", q().Op, q().Prog.Text, err)
		}
	}
	sameMatrices(t, q, values[1], values[0])
	return used
}

// TestHalved: a matrix product of which a Hessian takes what is above the diagonal is computed
// there alone, and gives the bits of the whole.
func TestHalved(t *testing.T) {
	hessian := func(whole bool) ([]float64, int) {
		q := question(t, "hessian", smallLoss)
		q.Inputs = []Input{{Name: "p", Value: normals(0.04, 600)}, {Name: "x", Value: normals(1, 64, 10), Const: true}, {Name: "t", Value: normals(1, 64, 4), Const: true}}
		s := &session{q: q}
		s.start()
		s.program()
		s.ask()
		s.factor()
		halves := 0
		for i := range s.t.attrs {
			if s.t.attrs[i].Upper {
				halves++
				s.t.attrs[i].Upper = !whole
			}
		}
		return numbers(s.finish().Targets[0].Payload), halves
	}
	got, halves := hessian(false)
	want, _ := hessian(true)
	if halves == 0 {
		t.Error("no product is halved")
	}
	if i := slices.IndexFunc(got, func(v float64) bool { return v != v }); i >= 0 || !slices.Equal(got, want) {
		t.Errorf("of %d halves, the Hessian is not that of the whole; the first NaN is element %d", halves, i)
	}
}

// TestMirrored: blocks of a Hessian on either side of its diagonal are the same numbers.
func TestMirrored(t *testing.T) {
	const n = 80
	values, used, err := matrices(t, question(t, "hessian", factoredPrograms[0].text, factoredPrograms[0].inputs...), true)
	if err != nil || !used {
		t.Fatalf("used %v: %v", used, err)
	}
	for i := range 30 { // the first block is on the diagonal
		for j := 30; j < n; j++ {
			if a, b := values[i*n+j], values[j*n+i]; a != b {
				t.Fatalf("element [%d, %d] is %v, [%d, %d] is %v", i, j, a, j, i, b)
			}
		}
	}
	r := factoredPrograms[2]
	s := &session{q: question(t, r.op, r.text, r.inputs...)}
	if _, err := s.answered(); err != nil {
		t.Fatal(err)
	}
	turned := 0
	for _, x := range s.taken {
		if in := &s.t.ins[x.r]; in.Op() == opTranspose && s.t.ins[in.args[0]].Op() == opTerms {
			turned++
		}
	}
	if turned == 0 {
		t.Errorf("of %d blocks with a mirror none is a transpose", len(s.t.mirrors))
	}
}

// TestMirrorsOfNumber: blocks beside a number are one another's images without a
// transposition, and come back row by row each for itself.
func TestMirrorsOfNumber(t *testing.T) {
	everyForm(t)
	q := func() *Question {
		return question(t, "hessian", "t = fma(y, x, where(x < y, y, y))\nsum(t*[1, 2, 3]) + sum(x/t)", "x=[-1, 1e308, 2]", "y=2")
	}
	got, _, err := matrices(t, q(), true)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := matrices(t, q(), false)
	if err != nil {
		t.Fatal(err)
	}
	if k := sameBits(got, want); k >= 0 {
		t.Errorf("element %d is %v, row by row %v", k, got[k], want[k])
	}
}

// byRows has no matrix computed as terms, until the test or what it returns ends.
func byRows(t *testing.T) func() {
	least, heavy := leastFactored, leastHeavy
	leastFactored, leastHeavy = math.MaxInt, math.MaxInt
	back := func() { leastFactored, leastHeavy = least, heavy }
	t.Cleanup(back)
	return back
}

// everyForm has every matrix with a form computed as terms, until the test ends.
func everyForm(t *testing.T) {
	least, heavy, part, dense := leastFactored, leastHeavy, pays, compressing
	leastFactored, leastHeavy, pays, compressing = 1, 1, math.Inf(1), false
	t.Cleanup(func() { leastFactored, leastHeavy, pays, compressing = least, heavy, part, dense })
}

// TestManySmall holds many small matrices as terms, of which lines have a number each, to rows.
func TestManySmall(t *testing.T) {
	everyForm(t)
	for _, text := range []string{"softmax(x, axis=1)", "log_softmax(x, axis=1)*x", "x/sqrt(sum(x^2, axis=1, keepdims=true))", "x*softmax(x @ w, axis=1)",
		"standardize(x)", "cumsum(x, axis=1)*x", "sum(x, axis=1, keepdims=true)*x*x[:, ::-1]"} {
		for _, size := range []string{"400, 5", "150, 12", "30, 3"} {
			q := func() *Question {
				return question(t, "batch_jacobian", text, "x=randn("+size+")", "const w=randn("+strings.Fields(size)[1]+", "+strings.Fields(size)[1]+")")
			}
			agreesWithRows(t, q)
		}
	}
}

// odd are numbers that make zeros matter.
var odd = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e308, 5e-324}

// TestFactoredPrograms is TestFactored for every structural operation and for random
// programs, with ordinary numbers and with some that are not.
func TestFactoredPrograms(t *testing.T) {
	everyForm(t)
	count := 0
	compare := func(q func() *Question) {
		t.Helper()
		want, _, err := matrices(t, q(), false)
		if err != nil {
			return // nothing to compare
		}
		got, used, err := matrices(t, q(), true)
		if err != nil {
			t.Fatalf("%s of %s: %v", q().Op, q().Prog.Text, err)
		}
		if used {
			count++
		}
		sameMatrices(t, q, got, want)
	}
	for _, calls := range structural {
		for i, text := range calls {
			if spared(i) {
				continue
			}
			f := newFunction(t, text)
			for k := -1; k < len(odd); k++ {
				if spared(k + 1) {
					continue
				}
				x := slices.Clone(f.x)
				if k >= 0 {
					x[k%len(x)] = odd[k]
				}
				for _, mode := range []string{"reverse", "forward"} {
					compare(func() *Question {
						q := f.q("jacobian", target(text, "%s"), slices.Clone(x))
						q.Mode = mode
						return q
					})
				}
				compare(func() *Question { return f.q("hessian", target(text, "sum((%s)^2)"), slices.Clone(x)) })
			}
		}
	}
	n := rounds(300)
	for seed := range n {
		w := newWriter(uint64(seed))
		w.vars = w.vars[:5] // no long ones
		text := w.matrix(2 + seed%4)
		if _, err := expr.Parse("", text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, op := range []string{"jacobian", "hessian"} {
			compare(func() *Question {
				q := about(text, op)()
				q.Inputs = q.Inputs[:5]
				if seed%3 == 0 {
					q.Inputs[1].Value.Tensor.Data[0] = odd[seed/3%len(odd)]
				}
				if op == "hessian" {
					p, _ := expr.Parse("", target(text, "sum(%s)"))
					q.Prog = p
				}
				return q
			})
		}
	}
	t.Logf("%d with terms", count)
	if count < n {
		t.Errorf("only %d matrices had a form", count)
	}
}

// matrix writes n statements and the last value as the target.
func (w *writer) matrix(n int) string {
	for i := range n {
		name := "t" + itoa(i)
		text, shape := w.expr(3)
		w.text.WriteString(name + " = " + text + "\n")
		w.vars = append(w.vars, variable{name, shape})
	}
	last := w.vars[len(w.vars)-1].name
	return strings.TrimSpace(w.text.String()) + "\n" + last
}
