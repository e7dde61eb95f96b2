package tape

import (
	le "encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	second "gonum.org/v1/gonum/mat"

	"nabla/expr"
	"nabla/tape/matrix"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// A matrix operation's tests are views of these rows: a program over A and b, what A is
// like, and its shape. Each program is turned into a number by fixed weights.
var matrixRows = []struct {
	text  string
	shape tensor.Shape
	kind  string
	b     tensor.Shape
}{
	{"solve(A, b)", tensor.Shape{3, 3}, "dominant", tensor.Shape{3}},
	{"solve(A, b)", tensor.Shape{4, 4}, "dominant", tensor.Shape{4, 2}},
	{"inv(A)", tensor.Shape{3, 3}, "dominant", nil},
	{"det(A)", tensor.Shape{1, 1}, "any", nil},
	{"det(A)", tensor.Shape{2, 2}, "any", nil},
	{"det(A)", tensor.Shape{3, 3}, "any", nil},
	{"det(A)", tensor.Shape{4, 4}, "any", nil},
	{"det(A)", tensor.Shape{3, 3}, "singular", nil},
	{"det(A)", tensor.Shape{4, 4}, "singular", nil},
	{"logdet(A)", tensor.Shape{3, 3}, "positive", nil},
	{"p = slogdet(A); p[0] * p[1]", tensor.Shape{4, 4}, "any", nil},
	{"cholesky(A)", tensor.Shape{4, 4}, "positive", nil},
	{"cho_solve(cholesky(A), b)", tensor.Shape{3, 3}, "positive", tensor.Shape{3}},
	{"triangular_solve(A, b)", tensor.Shape{3, 3}, "dominant", tensor.Shape{3, 2}},
	{"triangular_solve(A, b, lower=false)", tensor.Shape{3, 3}, "dominant", tensor.Shape{3}},
	{"triangular_solve(A, b, trans=true)", tensor.Shape{3, 3}, "dominant", tensor.Shape{3}},
	{"triangular_solve(A, b, lower=false, trans=true)", tensor.Shape{3, 3}, "dominant", tensor.Shape{3}},
	{"p = qr(A); p[0] + 0.1", tensor.Shape{4, 3}, "any", nil},
	{"p = qr(A); p[1]", tensor.Shape{4, 3}, "any", nil},
	{"p = qr(A); p[1]", tensor.Shape{3, 3}, "any", nil},
	{"p = qr(A); p[1]", tensor.Shape{2, 4}, "any", nil},
	{"p = qr(A); p[0]", tensor.Shape{2, 4}, "any", nil},
	{"lstsq(A, b)", tensor.Shape{5, 2}, "any", tensor.Shape{5}},
	{"lstsq(A, b)", tensor.Shape{4, 3}, "any", tensor.Shape{4, 2}},
	{"lstsq(A, b)", tensor.Shape{2, 4}, "any", tensor.Shape{2}},
	{"eigvalsh(A)", tensor.Shape{4, 4}, "symmetric", nil},
	{"eigvalsh(A)", tensor.Shape{3, 3}, "any", nil},
	{"p = eigh(A); p[1]", tensor.Shape{3, 3}, "symmetric", nil},
	{"p = eigh(A); p[1] * p[0]", tensor.Shape{4, 4}, "symmetric", nil},
	{"svdvals(A)", tensor.Shape{3, 4}, "any", nil},
	{"svdvals(A)", tensor.Shape{4, 3}, "any", nil},
	{"svdvals(A)", tensor.Shape{3, 3}, "any", nil},
	{"p = svd(A); p[0]", tensor.Shape{4, 3}, "any", nil},
	{"p = svd(A); p[0]", tensor.Shape{3, 4}, "any", nil},
	{"p = svd(A); p[2]", tensor.Shape{4, 3}, "any", nil},
	{"p = svd(A); p[2]", tensor.Shape{2, 4}, "any", nil},
	{"p = svd(A); (p[0] * p[1]) @ p[2]", tensor.Shape{3, 2}, "any", nil},
	{"pinv(A)", tensor.Shape{4, 2}, "any", nil},
	{"pinv(A)", tensor.Shape{2, 3}, "any", nil},
	{"cond(A)", tensor.Shape{3, 3}, "any", nil},
	{"expm(A)", tensor.Shape{3, 3}, "any", nil},
	{"expm(4*A)", tensor.Shape{3, 3}, "any", nil},
	{"matrix_power(A, 5)", tensor.Shape{3, 3}, "any", nil},
	{"matrix_power(A, -2)", tensor.Shape{3, 3}, "dominant", nil},
	{"conv1d(A, b)", tensor.Shape{2, 2, 6}, "any", tensor.Shape{3, 2, 3}},
	{"conv1d(A, b, stride=2, padding=2, dilation=2)", tensor.Shape{1, 2, 7}, "any", tensor.Shape{2, 2, 2}},
	{`conv1d(A, b, padding="same", groups=2)`, tensor.Shape{1, 4, 5}, "any", tensor.Shape{2, 2, 3}},
	{"conv2d(A, b, padding=1)", tensor.Shape{1, 1, 4, 4}, "any", tensor.Shape{2, 1, 3, 3}},
	{"conv2d(A, b, stride=(2, 1), padding=(0, 1))", tensor.Shape{2, 5, 4}, "any", tensor.Shape{1, 2, 2, 3}},
	{"conv_transpose1d(A, b, stride=2, padding=1)", tensor.Shape{1, 2, 4}, "any", tensor.Shape{2, 3, 3}},
	{"conv_transpose2d(A, b, stride=2)", tensor.Shape{1, 1, 2, 3}, "any", tensor.Shape{1, 2, 2, 2}},
	{"avg_pool1d(A, 3, 2, 1)", tensor.Shape{2, 6}, "any", nil},
	{"avg_pool2d(A, 2)", tensor.Shape{1, 1, 4, 4}, "any", nil},
	{"max_pool1d(A, 3, 1, 1)", tensor.Shape{2, 6}, "any", nil},
	{"max_pool2d(A, (2, 3))", tensor.Shape{4, 6}, "any", nil},
}

// drawnMatrix is a matrix of a kind; the last two axes are the matrix's.
func drawnMatrix(rng *rand.Rand, s tensor.Shape, kind string) *tensor.Tensor {
	x := tensor.New(s...)
	for i := range x.Data {
		x.Data[i] = math.Round(2000*rng.Float64()-1000) / 1000
	}
	if kind == "any" {
		return x
	}
	n := last(s)
	for o := 0; o < len(x.Data); o += n * n {
		a := x.Data[o : o+n*n]
		switch kind {
		case "dominant":
			for i := range n {
				a[i*n+i] += 3
			}
		case "singular": // the last row is the sum of the others
			for j := range n {
				a[(n-1)*n+j] = 0
				for i := range n - 1 {
					a[(n-1)*n+j] += a[i*n+j]
				}
			}
		case "symmetric", "positive":
			for i := range n {
				for j := range i {
					a[i*n+j] = a[j*n+i]
				}
				a[i*n+i] += 1.5 * float64(i)
				if kind == "positive" {
					a[i*n+i] += float64(n)
				}
			}
		}
	}
	return x
}

func matrixValue(x *tensor.Tensor) *tensor.Value {
	return &tensor.Value{Kind: tensor.KindTensor, Tensor: x}
}

func matrixQuestion(t testing.TB, op, text string, values map[string]*tensor.Tensor) *Question {
	t.Helper()
	p, err := expr.Parse("", text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	q := &Question{Prog: p, Op: op}
	for _, name := range []string{"A", "b"} {
		if v, ok := values[name]; ok {
			q.Inputs = append(q.Inputs, Input{Name: name, Value: matrixValue(v)})
		}
	}
	return q
}

func matrixAnswer(t testing.TB, q *Question, what string) Target {
	t.Helper()
	a, err := q.Answer()
	if err != nil {
		t.Fatalf("%s of %s: %v", q.Op, what, err)
	}
	return a.Targets[0]
}

// matrixNumber turns the target of a program into a number by fixed weights.
func matrixNumber(text string) string {
	at := strings.LastIndex(text, ";") + 1
	return text[:at] + " y = " + text[at:] + "; sum(sin(1.3 * y + reshape(cos(3.7 * arange(y.size)), y.shape)))"
}

func matrixName(i int) string {
	return fmt.Sprintf("%s with A %v", matrixRows[i].text, matrixRows[i].shape)
}

func matrixInputs(i int) map[string]*tensor.Tensor {
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	r := matrixRows[i]
	in := map[string]*tensor.Tensor{"A": drawnMatrix(rng, r.shape, r.kind)}
	if r.b != nil {
		in["b"] = drawnMatrix(rng, r.b, "any")
	}
	return in
}

func matrixGradient(t *testing.T, text, what string, in map[string]*tensor.Tensor) []float64 {
	var g []float64
	tg := matrixAnswer(t, matrixQuestion(t, "grad", text, in), what)
	for _, v := range derivatives(tg) {
		g = append(g, v...)
	}
	return g
}

// derivatives lists the numbers of a target's derivatives, tensor by tensor.
func derivatives(tg Target) [][]float64 {
	var out [][]float64
	tg.Payload.Leaves("", func(_ string, leaf *tensor.Value) {
		if leaf.Tensor != nil {
			out = append(out, leaf.Tensor.Data)
		}
	})
	return out
}

// TestMatrixGradients holds gradients to differences of values, and Hessians to
// differences of gradients; and Hessians are symmetric.
func TestMatrixGradients(t *testing.T) {
	for i, r := range matrixRows {
		text, what := matrixNumber(r.text), matrixName(i)
		in := matrixInputs(i)
		g := matrixGradient(t, text, what, in)
		// central differences with Richardson's step: truncation h⁴, cancellation eps/h
		const h = 1e-3
		k := 0
		n := len(g)
		fd := make([]float64, n)
		fd2 := make([][]float64, n)
		for _, name := range []string{"A", "b"} {
			x, ok := in[name]
			if !ok {
				continue
			}
			for j := range x.Data {
				value := func(d float64) float64 {
					old := x.Data[j]
					defer func() { x.Data[j] = old }()
					x.Data[j] += d
					return numbers(matrixAnswer(t, matrixQuestion(t, "eval", text, in), what).Value)[0]
				}
				slope := func(d float64) []float64 {
					old := x.Data[j]
					defer func() { x.Data[j] = old }()
					x.Data[j] += d
					return matrixGradient(t, text, what, in)
				}
				fd[k] = (8*(value(h)-value(-h)) - (value(2*h) - value(-2*h))) / (12 * h)
				p, m, pp, mm := slope(h), slope(-h), slope(2*h), slope(-2*h)
				fd2[k] = make([]float64, n)
				for l := range p {
					fd2[k][l] = (8*(p[l]-m[l]) - (pp[l] - mm[l])) / (12 * h)
				}
				k++
			}
		}
		const tol = 2e-6
		for k := range g {
			if d := math.Abs(g[k] - fd[k]); !(d <= tol*(1+math.Abs(fd[k]))) {
				t.Errorf("gradient of %s: element %d = %v, differences say %v", what, k, g[k], fd[k])
				break
			}
		}
		hess := hessianMatrix(matrixAnswer(t, matrixQuestion(t, "hessian", text, in), what), n, in)
		bad := 0
		for a := range n {
			for b := range n {
				x, y := hess[a*n+b], hess[b*n+a]
				if !(math.Abs(x-y) <= 1e-9*(1+math.Abs(x))) && bad == 0 {
					t.Errorf("Hessian of %s: [%d, %d] = %v, [%d, %d] = %v", what, a, b, x, b, a, y)
					bad++
				}
				if !(math.Abs(x-fd2[a][b]) <= 1e-5*(1+math.Abs(x))) && bad == 0 {
					t.Errorf("Hessian of %s: [%d, %d] = %v, differences of gradients say %v", what, a, b, x, fd2[a][b])
					bad++
				}
			}
		}
	}
}

// hessianMatrix puts the blocks of a Hessian together.
func hessianMatrix(tg Target, n int, in map[string]*tensor.Tensor) []float64 {
	h := make([]float64, n*n)
	var sizes []int
	for _, name := range []string{"A", "b"} {
		if x, ok := in[name]; ok {
			sizes = append(sizes, len(x.Data))
		}
	}
	blocks := derivatives(tg)
	k, row := 0, 0
	for _, p := range sizes {
		col := 0
		for _, q := range sizes {
			for i := range p {
				for j := range q {
					h[(row+i)*n+col+j] = blocks[k][i*q+j]
				}
			}
			k++
			col += q
		}
		row += p
	}
	return h
}

// TestMatrixModes holds the forward Jacobian to the reverse one.
func TestMatrixModes(t *testing.T) {
	for i, r := range matrixRows {
		in, what := matrixInputs(i), matrixName(i)
		var js [2][][]float64
		for k, mode := range []string{"reverse", "forward"} {
			q := matrixQuestion(t, "jacobian", r.text, in)
			q.Mode = mode
			js[k] = derivatives(matrixAnswer(t, q, what))
		}
		if len(js[0]) != len(js[1]) {
			t.Errorf("Jacobian of %s: %d tensors in reverse, %d forward", what, len(js[0]), len(js[1]))
			continue
		}
		for s := range js[0] {
			for k, x := range js[0][s] {
				if y := js[1][s][k]; !(math.Abs(x-y) <= 1e-11*(1+math.Abs(x))) {
					t.Errorf("Jacobian of %s: element %d is %v in reverse, %v forward", what, k, x, y)
					break
				}
			}
		}
	}
}

// TestMatrixBatches holds a batch, along logical axes and by vmap, to its members one by one, bit for bit.
func TestMatrixBatches(t *testing.T) {
	for i, r := range matrixRows {
		what := matrixName(i)
		rng := rand.New(rand.NewPCG(uint64(i), 8))
		const n = 3
		all := map[string]*tensor.Tensor{"A": drawnMatrix(rng, append(tensor.Shape{n}, r.shape...), r.kind)}
		if r.b != nil {
			all["b"] = drawnMatrix(rng, append(tensor.Shape{n}, r.b...), "any")
		}
		var one, grads []float64
		for k := range n {
			in := map[string]*tensor.Tensor{}
			for name, x := range all {
				s := tensor.Shape(x.Shape[1:])
				in[name] = tensor.From(x.Data[k*s.Size():(k+1)*s.Size()], s...)
			}
			one = append(one, numbers(matrixAnswer(t, matrixQuestion(t, "eval", r.text, in), what).Value)...)
			grads = append(grads, derivatives(matrixAnswer(t, matrixQuestion(t, "grad", matrixNumber(r.text), in), what))[0]...)
		}
		args := "A"
		if r.b != nil {
			args = "A, b"
		}
		mapped := "f(" + args + ") { " + r.text + " }; vmap(f)(" + args + ")"
		got := numbers(matrixAnswer(t, matrixQuestion(t, "eval", mapped, all), what).Value)
		if k := sameBits(got, one); k >= 0 {
			t.Errorf("vmap of %s: element %d = %v, alone %v", what, k, got[k], one[k])
		}
		total := "f(" + args + ") { " + matrixNumber(r.text) + " }; sum(vmap(f)(" + args + "))"
		got = derivatives(matrixAnswer(t, matrixQuestion(t, "grad", total, all), what))[0]
		if k := sameBits(got, grads); k >= 0 {
			t.Errorf("gradient through vmap of %s: element %d = %v, alone %v", what, k, got[k], grads[k])
		}
		if strings.Contains(r.text, "conv") || strings.Contains(r.text, "triangular") || len(r.b) == 1 || strings.Contains(r.text, "p[") {
			continue // a leading axis is a channel, or makes a vector of b a matrix, or p[0] is not meant
		}
		got = numbers(matrixAnswer(t, matrixQuestion(t, "eval", r.text, all), what).Value)
		if k := sameBits(got, one); k >= 0 {
			t.Errorf("%s along a leading axis: element %d = %v, alone %v", what, k, got[k], one[k])
		}
	}
}

// TestMatrixThreads holds batches of small matrices shared by threads to one thread, bit for bit,
// and finds the first one that is refused.
func TestMatrixThreads(t *testing.T) {
	defer func(n int) { pool.LeastElements = n }(pool.LeastElements)
	pool.LeastElements = 1
	for i, r := range matrixRows {
		if r.shape[0] == 1 && len(r.shape) > 2 || strings.Contains(r.text, "conv") || strings.Contains(r.text, "p[") || len(r.b) == 1 {
			continue
		}
		rng := rand.New(rand.NewPCG(uint64(i), 9))
		in := map[string]*tensor.Tensor{"A": drawnMatrix(rng, append(tensor.Shape{5, 7}, r.shape...), r.kind)}
		if r.b != nil {
			in["b"] = drawnMatrix(rng, append(tensor.Shape{7}, r.b...), "any")
		}
		answer := func(threads int) []float64 {
			q := matrixQuestion(t, "grad", matrixNumber(r.text), in)
			q.Threads = threads
			tg := matrixAnswer(t, q, matrixName(i))
			return append(numbers(tg.Value), slices.Concat(derivatives(tg)...)...)
		}
		if k := sameBits(answer(3), answer(1)); k >= 0 {
			t.Errorf("%s: number %d of value and gradient differs between one thread and three", matrixName(i), k)
		}
	}
	a := drawnMatrix(rand.New(rand.NewPCG(1, 10)), tensor.Shape{40, 3, 3}, "dominant")
	for _, r := range []struct{ cleared, first int }{{39, 39}, {21, 21}, {22, 21}, {11, 11}} {
		clear(a.Data[r.cleared*9:][:9])
		q := matrixQuestion(t, "eval", "inv(A)", map[string]*tensor.Tensor{"A": a})
		q.Threads = 3
		want := fmt.Sprintf("in matrix [%d]", r.first)
		if _, err := q.Answer(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of several singular matrices the first is not named: %v, want %s", err, want)
		}
	}
}

// TestMatrixValues compares with another library, which shares no code with ours.
func TestMatrixValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	close := func(what string, got, want []float64, tol float64) {
		t.Helper()
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= tol*(1+math.Abs(want[i]))) {
				t.Errorf("%s: element %d = %v, want %v", what, i, got[i], want[i])
				return
			}
		}
	}
	eval := func(text string, a, b *tensor.Tensor) []float64 {
		in := map[string]*tensor.Tensor{"A": a}
		if b != nil {
			in["b"] = b
		}
		return numbers(matrixAnswer(t, matrixQuestion(t, "eval", text, in), text).Value)
	}
	for _, n := range []int{1, 2, 3, 4, 5, 8, 17, 40, 70} {
		a := drawnMatrix(rng, tensor.Shape{n, n}, "any")
		b := drawnMatrix(rng, tensor.Shape{n, 3}, "any")
		pos := drawnMatrix(rng, tensor.Shape{n, n}, "positive")
		ga, gb := second.NewDense(n, n, a.Data), second.NewDense(n, 3, b.Data)
		gs := second.NewSymDense(n, pos.Data)
		tol := 1e-12 * float64(n) * second.Cond(ga, 2)
		var x second.Dense
		if err := x.Solve(ga, gb); err != nil {
			t.Fatal(err)
		}
		close(fmt.Sprint("solve ", n), eval("solve(A, b)", a, b), x.RawMatrix().Data, tol)
		x.Reset()
		x.Inverse(ga)
		close(fmt.Sprint("inv ", n), eval("inv(A)", a, nil), x.RawMatrix().Data, tol)
		close(fmt.Sprint("det ", n), eval("det(A)", a, nil), []float64{second.Det(ga)}, 1e-11)
		ld, sign := second.LogDet(ga)
		close(fmt.Sprint("slogdet ", n), eval("slogdet(A)", a, nil), []float64{sign, ld}, tol)
		var ch second.Cholesky
		if !ch.Factorize(gs) {
			t.Fatalf("sample of %d rows is not positive definite", n)
		}
		var l second.TriDense
		ch.LTo(&l)
		close(fmt.Sprint("cholesky ", n), eval("cholesky(A)", pos, nil), second.DenseCopyOf(&l).RawMatrix().Data, 1e-13)
		var eig second.EigenSym
		eig.Factorize(gs, true)
		close(fmt.Sprint("eigvalsh ", n), eval("eigvalsh(A)", pos, nil), eig.Values(nil), 1e-12)
		close(fmt.Sprint("eigh ", n), eval("p = eigh(A); (p[1] * p[0]) @ p[1].T", pos, nil), pos.Data, 1e-12)
		var e second.Dense
		e.Exp(ga)
		close(fmt.Sprint("expm ", n), eval("expm(A)", a, nil), e.RawMatrix().Data, 1e-9)
		tall := drawnMatrix(rng, tensor.Shape{n + 3, n}, "any")
		gt := second.NewDense(n+3, n, tall.Data)
		var svd second.SVD
		svd.Factorize(gt, second.SVDThin)
		close(fmt.Sprint("svdvals ", n), eval("svdvals(A)", tall, nil), svd.Values(nil), 1e-12)
		close(fmt.Sprint("svd ", n), eval("p = svd(A); (p[0] * p[1]) @ p[2]", tall, nil), tall.Data, 1e-12)
		close(fmt.Sprint("svd ", n), eval("p = svd(A); p[0].T @ p[0]", tall, nil), matrix.Eye(n).Data, 1e-13)
		var qr second.QR
		qr.Factorize(gt)
		var q, r second.Dense
		qr.QTo(&q)
		qr.RTo(&r)
		close(fmt.Sprint("qr ", n), eval("qr(A)[0]", tall, nil), second.DenseCopyOf(q.Slice(0, n+3, 0, n)).RawMatrix().Data, 1e-11)
		close(fmt.Sprint("qr ", n), eval("qr(A)[1]", tall, nil), second.DenseCopyOf(r.Slice(0, n, 0, n)).RawMatrix().Data, 1e-11)
		rhs := drawnMatrix(rng, tensor.Shape{n + 3, 2}, "any")
		var ls second.Dense
		if err := qr.SolveTo(&ls, false, second.NewDense(n+3, 2, rhs.Data)); err != nil {
			t.Fatal(err)
		}
		close(fmt.Sprint("lstsq ", n), eval("lstsq(A, b)", tall, rhs), ls.RawMatrix().Data, 1e-10)
		close(fmt.Sprint("pinv ", n), eval("pinv(A) @ b", tall, rhs), ls.RawMatrix().Data, 1e-10)
	}
}

// TestMatrixEdges are the rows where formulas break.
func TestMatrixEdges(t *testing.T) {
	for _, r := range []struct{ op, text, a, want string }{
		{"grad", "det(A)", "[[1, 2], [2, 4]]", "[[4, -2], [-2, 1]]"}, // singular: the adjugate
		{"eval", "det(A)", "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]", "0"}, // exactly
		{"grad", "det(A)", "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]", "[[-3, 6, -3], [6, -12, 6], [-3, 6, -3]]"},
		{"grad", "det(A)", "[[1, 2, 0, 0], [2, 4, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]", "[[4, -2, 0, 0], [-2, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]"},
		{"eval", "det(A)", "[[1e200, 0], [0, 1e-200]]", "1"}, // no overflow on the way
		{"eval", "logdet(A)", "[[1e300, 0, 0, 0], [0, 1e300, 0, 0], [0, 0, 1e300, 0], [0, 0, 0, 1e300]]", "2763.1021115928547"},
		{"eval", "det(A)", "[[2, 1, 3, 4], [5, 6, 7, 8], [9, 1, 11, 12], [13, 14, 15, 3]]", "201"},
		{"eval", "n = 8; i = arange(n); A * det(1 / (i[:, newaxis] + i + 1))", "1", "2.7370501217557286e-33"},                      // Hilbert's matrix, condition 1.5e10; 40 digits say …557288
		{"eval", "n = 8; i = arange(n); H = A / (i[:, newaxis] + i + 1); 1e23 * grad(det(H), H)[5, 5]", "1", "1.1632303402033943"}, // by singular values 1.16323034008
		{"grad", "sum(solve(A*eye(100), zeros((100, 0))))", "2", "0"},                                                              // no right sides, of many rows
		{"grad", "sum(triangular_solve(A*eye(100), zeros((100, 0))))", "2", "0"},
		{"grad", "sum(lstsq(A*eye(100), zeros((100, 0))))", "2", "0"},
		{"eval", "logdet(A)", "[[1, 2], [2, 4]]", "-inf"},
		{"eval", "logdet(A)", "[[1, 2], [3, 4]]", "nan"}, // a negative determinant
		{"grad", "logdet(A)", "[[1, 2], [3, 4]]", "[[nan, nan], [nan, nan]]"},
		{"eval", "grad(grad(logdet([[A, 2], [2, 1]]), A), A)", "1", "nan"},
		{"grad", "sum(eigvalsh(A)^2)", "[[1, 0], [0, 1]]", "[[2, 0], [0, 2]]"}, // equal eigenvalues
		{"grad", "sum(eigvalsh(A))", "[[3, 0, 0], [0, 3, 0], [0, 0, 1]]", "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]"},
		{"hessian", "sum(eigvalsh(A)^2)", "[[1, 0], [0, 1]]", "[[[[2, 0], [0, 0]], [[0, 1], [1, 0]]], [[[0, 1], [1, 0]], [[0, 0], [0, 2]]]]"},
		{"hessian", "sum((eigvalsh(A) - 1)^2)", "[[1, 0], [0, 1]]", "[[[[2, 0], [0, 0]], [[0, 1], [1, 0]]], [[[0, 1], [1, 0]], [[0, 0], [0, 2]]]]"},
		{"hessian", "sum(eigvalsh(A)) * sum(eigvalsh(A))", "[[1, 0], [0, 1]]", "[[[[2, 0], [0, 2]], [[0, 0], [0, 0]]], [[[0, 0], [0, 0]], [[2, 0], [0, 2]]]]"},
		{"hessian", "max(eigvalsh(A))", "[[1, 0], [0, 3]]", "[[[[0, 0], [0, 0]], [[0, 0.25], [0.25, 0]]], [[[0, 0.25], [0.25, 0]], [[0, 0], [0, 0]]]]"},
		{"hessian", "sum(svdvals(A)^2)", "[[2, 0], [0, 2]]", "[[[[2, 0], [0, 0]], [[0, 2], [0, 0]]], [[[0, 0], [2, 0]], [[0, 0], [0, 2]]]]"},
		{"grad", "sum(svdvals(A))", "[[0, 0], [0, 0]]", "[[0, 0], [0, 0]]"},   // the least subgradient
		{"grad", "sum(svdvals(A)^2)", "[[1, 2], [2, 4]]", "[[2, 4], [4, 8]]"}, // rank 1
		{"hessian", "sum(svdvals(A)^2)", "[[1, 0], [0, 0]]", "[[[[2, 0], [0, 0]], [[0, 2], [0, 0]]], [[[0, 0], [2, 0]], [[0, 0], [0, 2]]]]"},
		{"hessian", "sum(svdvals(A)^2)", "[[0], [0]]", "[[[[2], [0]]], [[[0], [2]]]]"},
		{"hessian", "sum(svdvals(A)^2)", "[[0, 0], [0, 0]]", "[[[[2, 0], [0, 0]], [[0, 2], [0, 0]]], [[[0, 0], [2, 0]], [[0, 0], [0, 2]]]]"},
		{"hessian", "max(svdvals(A))", "[[3, 0], [0, 0]]", "[[[[0, 0], [0, 0]], [[0, 1/3], [0, 0]]], [[[0, 0], [1/3, 0]], [[0, 0], [0, 0]]]]"},
		{"hessian", "sum(svdvals(outer(A, [2, 0, 0])))", "[1, 2, 2]", "[[16/27, -4/27, -4/27], [-4/27, 10/27, -8/27], [-4/27, -8/27, 10/27]]"}, // rank 1 all around: the slope at 0 is 0 and stays it
		{"hessian", "sum(svdvals(outer(A, [5, 0])))", "[3, 4]", "[[0.64, -0.48], [-0.48, 0.36]]"},
		{"hessian", "sum(svdvals(A))", "[[0], [0]]", "[[[[0], [0]]], [[[0], [0]]]]"},              // as of norm
		{"eval", "s = svdvals([[1, A], [2*A, 3*A]])[0]; grad(grad(grad(s, A), A), A)", "0", "36"}, // 1 + 5/2 A^2 + 6 A^3 + …: 0 beside it is smooth
		{"eval", "s = sum(cosh(svdvals([[1, A], [2*A, 3*A]]))); grad(grad(grad(s, A), A), A)", "0", "36*sinh(1) - 36"},
		{"eval", "u = svd([[1, A], [2*A, 3*A]])[0][1, 0]; grad(grad(u, A), A)", "0", "6"},
		{"eval", "f(x) { y = eigvalsh([[x]])[newaxis]; sum(cos(y)*y) }; jvp(jvp(f(A), A, 1), A, 1)", "2", "-2*sin(2) - 2*cos(2)"}, // of one number there are no pairs
		{"eval", "svdvals(A)", "[[1, 0], [0, 1e-200]]", "[1, 1e-200]"},                                                            // small ones keep their digits
		{"eval", "eigvalsh(A)", "[[1e100, 1e-100], [1e-100, 1e-100]]", "[1e-100, 1e+100]"},
		{"eval", "matrix_rank(A)", "[[1, 2], [2, 4]]", "1"},
		{"eval", "matrix_rank(float32(A/3))", "[[1.21, 2.53], [2.53, 5.29]]", "1"}, // what rounding is depends on the dtype
		{"eval", "max(abs(pinv(float32(A/3)))) < 1", "[[1.21, 2.53], [2.53, 5.29]]", "true"},
		{"eval", "pinv(A)", "[[1, 2], [2, 4]]", "[[0.04, 0.08], [0.08, 0.16]]"},
		{"eval", "pinv(A)", "[[0, 0], [0, 0]]", "[[0, 0], [0, 0]]"},
		{"eval", "expm(A)", "[[0, 1], [0, 0]]", "[[1, 1], [0, 1]]"},
		{"eval", "solve(A, [1, 1])", "[[1e-300, 0], [0, 1]]", "[1e+300, 1]"},
		{"eval", "inv(A)", "[[nan, 0], [0, 1]]", "[[nan, nan], [nan, nan]]"},
		{"eval", "qr(A)[1]", "[[0, 0], [0, 0]]", "[[0, 0], [0, 0]]"},
		{"grad", "sum(matrix_power(A, 0))", "[[1, 2], [2, 4]]", "[[0, 0], [0, 0]]"},
		{"eval", "max_pool1d(A, 2)", "[1, 3, 2, 2]", "[3, 2]"},
		{"grad", "sum(max_pool1d(A, 2))", "[1, 3, 2, 2]", "[0, 1, 0.5, 0.5]"}, // a tie is shared
		{"eval", "max_pool1d(A, 3, 1, 1)", "[-1, -3, -2]", "[-1, -1, -2]"},    // padding is no 0
		{"eval", "avg_pool1d(A, 3, 1, 1)", "[3, 3, 3]", "[2, 3, 2]"},
		{"eval", `conv1d(A, [[[1, 10, 100]]], padding="same")`, "[[1, 2, 3]]", "[[210, 321, 32]]"},
		{"eval", `conv1d(A, [[[1, 1, 1]]], stride=2, padding="same")`, "[[1, 2, 3, 4]]", "[[6, 7]]"}, // the odd one at the end
		{"eval", "conv_transpose1d(A, [[[1, 10]]], stride=2)", "[[1, 2]]", "[[1, 10, 2, 20]]"},
	} {
		tg := ask(t, r.op, r.text, "A="+r.a).Targets[0]
		v := tg.Value
		if r.op != "eval" {
			v = tg.Payload
		}
		want, err := Eval(r.want, tensor.Float64, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, w := numbers(v), numbers(want)
		ok := len(got) == len(w)
		for i := 0; ok && i < len(w); i++ {
			ok = got[i] == w[i] || got[i] != got[i] && w[i] != w[i] || math.Abs(got[i]-w[i]) <= 4e-15*(math.Abs(w[i])+1)*min(1, math.Abs(w[i])+1e-15)+1e-15*oneIf(w[i] == 0)
		}
		if !ok {
			t.Errorf("%s of %s at %s = %v, want %v", r.op, r.text, r.a, got, r.want)
		}
	}
}

// TestMatrixUnits: in another unit, of matrices very large and very small, gradients are those in that unit.
func TestMatrixUnits(t *testing.T) {
	const square, symmetric, tall = "[[2, 0.5], [0.3, 1]]", "[[2, 0.5], [0.5, 1]]", "[[2, 0.5], [0.3, 1], [1, 1]]"
	for _, r := range []struct {
		text, a string
		degree  float64 // of the gradient
	}{
		{"sum(cholesky(A))", symmetric, -0.5},
		{"sum(solve(A, [1, 2] * s))", square, -1},
		{"sum(inv(A)) * s", square, -1},
		{"logdet(A)", square, -1},
		{"sum(qr(A)[0])", tall, -1},
		{"sum(qr(A)[1])", tall, 0},
		{"sum(svdvals(A))", tall, 0},
		{"svd(A)[0][0, 0]", tall, -1},
		{"sum(eigvalsh(A) * [1, 2])", symmetric, 0},
		{"eigh(A)[1][0, 0]^2", symmetric, -1},
		{"norm(A)", tall, 0},
		{"sum(lstsq(A, [1, 2, 3] * s))", tall, -1},
		{"sum(lstsq(A.T, [1, 2] * s))", tall, -1},
		{"sum(pinv(A)) * s", tall, -1},
		{"sum(pinv(A.T)) * s", tall, -1},
	} {
		in := func(s float64) []float64 {
			text := "s = " + formatFloat(s) + "; " + r.text
			return numbers(ask(t, "grad", text, "A="+r.a+"*"+formatFloat(s)).Targets[0].Payload)
		}
		want := in(1)
		for _, s := range []float64{0x1p-1000, 0x1p-600, 0x1p600, 0x1p1000} {
			unit := math.Pow(s, r.degree)
			for i, g := range in(s) {
				if !(math.Abs(g/unit-want[i]) <= 1e-14*(math.Abs(want[i])+1)) {
					t.Errorf("element %d of the gradient of %s of %s * %v = %v, want %v", i, r.text, r.a, s, g, want[i]*unit)
				}
			}
		}
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// TestMatrixMistakes are programs that must be refused, and in which words.
func TestMatrixMistakes(t *testing.T) {
	for _, r := range []struct{ text, says string }{
		{"solve([[1, 2, 3], [4, 5, 6]], [1, 2])", "solve needs a square matrix, this has shape (2, 3)"},
		{"inv([1, 2])", "inv needs a matrix, this has shape (2,)"},
		{"solve([[1, 2], [3, 4]], [1, 2, 3])", "solve: shapes (2, 2) and (3,) do not fit"},
		{"solve([[1, 2], [2, 4]], [1, 2])", "solve: the matrix is singular: pivot 1 is 0"},
		{"inv([[0, 0], [0, 0]])", "inv: the matrix is singular: pivot 0 is 0"},
		{"f(A) = logdet(A); grad(f)([[1., 2], [2, 4]])", "the derivative of logdet: the matrix is singular: pivot 1 is 0"},
		{"cholesky([[1, 2], [2, 1]])", "cholesky: the matrix is not positive definite: pivot 1 is -3"},
		{"triangular_solve([[1, 2], [2, 0]], [1, 2])", "triangular_solve: the triangle is singular: element 1 of its diagonal is 0"},
		{"solve([[[1, 2], [3, 4]], [[1, 2], [2, 4]], [[0, 0], [0, 0]]], [[1], [2]])", "solve: the matrix is singular: pivot 1 is 0, in matrix [1]"},
		{"cholesky([[[[1, 0], [0, 1]], [[1, 2], [2, 1]]]])", "cholesky: the matrix is not positive definite: pivot 1 is -3, in matrix [0, 1]"},
		{"triangular_solve([[1, 0], [1, 0]] * ones(4, 1, 1), [[1], [2]])", "element 1 of its diagonal is 0, in matrix [0]"},
		{"f(A) = inv(A); vmap(f)([[[1, 2], [3, 4]], [[1, 2], [2, 4]]])", "inv: the matrix is singular: pivot 1 is 0, in matrix [1]"},
		{"vmap(solve)([[[1, 0], [0, 1]], [[1, 2], [2, 4]]], [[1, 2], [1, 2]])", "solve: the matrix is singular: pivot 1 is 0, in matrix [1]"},
		{"vmap(vmap(inv))(ones(2, 3, 1, 1) - [[0, 0, 0], [0, 1, 0]][..., newaxis, newaxis])", "inv: the matrix is singular: pivot 0 is 0, in matrix [1, 1]"},
		{"vmap(L -> triangular_solve(L, [1, 2]))([[[1, 0], [2, 0]]])", "element 1 of its diagonal is 0, in matrix [0]"},
		{"vmap(L -> triangular_solve(L, ones(2, 2, 1)))([[[[1, 0], [2, 3]], [[1, 0], [2, 0]]]])", "element 1 of its diagonal is 0, in matrix [0, 1]"},
		{"vmap((A, b) -> lstsq(A, b))([[[1, 0], [0, 1]], [[1, 2], [2, 4]]], ones(2, 2))", "column 1 is a combination of those before it, or 0, in matrix [1]"},
		{"lstsq([[0, 1], [0, 2], [0, 1]], [1, 2, 3])", "lstsq: the columns are not independent: column 0 is a combination of those before it, or 0"},
		{"lstsq([[1, 2], [2, 4], [3, 6]], [1, 2, 4])", "lstsq: the columns are not independent: column 1 is"},             // rounding is left of it
		{"lstsq([[1, 2e-30], [2, 4e-30], [3, 6e-30]], [1, 2, 4])", "lstsq: the columns are not independent: column 1 is"}, // whatever its unit
		{"lstsq(float32([[1.1, 3.3], [2.3, 6.9]]/7), float32([1, 2]))", "lstsq: the columns are not independent: column 1 is"},
		{"polyfit([3, 3, 3], [1, 2, 3], 1)", "lstsq: the columns are not independent: column 1 is"},
		{"conv1d([[[1, 2, 3]]], [[[1, 2, 3, 4]]])", "conv1d: a window of (4,) does not fit into (3,) with this padding"},
		{"conv1d([[[1, 2, 3]]], [[[1], [2]]])", "conv1d: x of shape (1, 1, 3) has 1 channel, w of shape (1, 2, 1) wants 2"},
		{"conv2d([1, 2, 3], [[[[1]]]])", "conv2d needs x with 4 axes (batch, channels and 2 more), not shape (3,)"},
		{`conv1d([[[1, 2, 3]]], [[[1]]], padding="full")`, `conv1d: padding is a number, "same" or "valid", not "full"`},
		{"conv1d([[[1, 2, 3]]], [[[1]]], stride=0)", "conv1d: stride is at least 1, not 0"},
		{"max_pool1d([1, 2, 3], 2, 1, 2)", "max_pool1d: padding of 2 is more than half of the window's 2"},
	} {
		p, err := expr.Parse("", r.text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&Question{Prog: p, Op: "eval"}).Answer()
		if err == nil || !strings.Contains(err.Error(), r.says) {
			t.Errorf("%s: error %v, want %q", r.text, err, r.says)
		}
	}
}

// TestConvolution holds conv2d to its definition in loops.
func TestConvolution(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 40 {
		pick := func(lo, hi int) int { return lo + rng.IntN(hi-lo+1) }
		n, c, h, w, o := pick(1, 2), pick(1, 3), pick(3, 7), pick(3, 7), pick(1, 3)
		kh, kw, sh, sw, ph, pw, dh, dw := pick(1, 3), pick(1, 3), pick(1, 3), pick(1, 3), pick(0, 2), pick(0, 2), pick(1, 2), pick(1, 2)
		oh, ow := placed(h+2*ph, kh, sh, dh), placed(w+2*pw, kw, sw, dw)
		if oh < 1 || ow < 1 {
			continue
		}
		x, k := drawnMatrix(rng, tensor.Shape{n, c, h, w}, "any"), drawnMatrix(rng, tensor.Shape{o, c, kh, kw}, "any")
		text := fmt.Sprintf("conv2d(A, b, stride=(%d, %d), padding=(%d, %d), dilation=(%d, %d))", sh, sw, ph, pw, dh, dw)
		got := numbers(matrixAnswer(t, matrixQuestion(t, "eval", text, map[string]*tensor.Tensor{"A": x, "b": k}), text).Value)
		at := 0
		for b := range n {
			for f := range o {
				for i := range oh {
					for j := range ow {
						s := 0.0
						for ch := range c {
							for p := range kh {
								for q := range kw {
									y, z := i*sh-ph+p*dh, j*sw-pw+q*dw
									if y >= 0 && y < h && z >= 0 && z < w {
										s += x.Data[((b*c+ch)*h+y)*w+z] * k.Data[((f*c+ch)*kh+p)*kw+q]
									}
								}
							}
						}
						if !(math.Abs(got[at]-s) <= 1e-13) {
							t.Fatalf("%s of %v and %v: element %d = %v, loops say %v", text, x.Shape, k.Shape, at, got[at], s)
						}
						at++
					}
				}
			}
		}
	}
}

// TestMatrixThird holds third derivatives along a line to differences of second ones.
func TestMatrixThird(t *testing.T) {
	const line = "C = [[2, 0.3, -0.1, 0.2], [0.5, -1, 0.4, 0.1], [0.2, 0.1, 1.5, -0.3], [-0.4, 0.2, 0.6, 3]];" +
		"D = [[0.3, 1, 0.2, -0.5], [0.1, 0.4, -0.6, 0.2], [0.7, -0.2, 0.1, 0.9], [0.3, 0.5, -0.1, 0.2]]; A = C + s * D;"
	third := func(text string, order int, s float64) float64 {
		q := question(t, "grad", line+text, fmt.Sprintf("s=%v", s))
		q.Order = order
		return numbers(matrixAnswer(t, q, text).Payload)[0]
	}
	for _, text := range []string{
		"sum(sin(solve(A, [1, 2, 3, 4])))", "sum(sin(inv(A)))", "det(A)", "det(A[:3, :3])", "det(A[:2, :2])",
		"slogdet(A)[1]", "sum(sin(cholesky(A @ A.T)))", "sum(sin(qr(A)[1]))", "sum(sin(qr(A)[0]))",
		"sum(sin(lstsq(A[:, :2], [1, 2, 3, 4])))", "sum(sin(eigvalsh(A)))", "sum(sin(eigh(A)[1]))",
		"sum(sin(svdvals(A[:, :3])))", "sum(sin(svd(A)[0]))", "sum(sin(svd(A[:3, :])[2]))", "sum(sin(pinv(A[:, :2])))",
		"sum(sin(expm(A)))", "sum(sin(matrix_power(A, 3)))",
		"sum(conv1d(sin(A[newaxis, :, :]), A[newaxis, :, :2], padding=1)^2)", "sum(max_pool2d(A, 2)^3)",
	} {
		const h = 1e-3
		d := func(k float64) float64 { return third(text, 2, 0.3+k*h) }
		want := (8*(d(1)-d(-1)) - (d(2) - d(-2))) / (12 * h)
		if got := third(text, 3, 0.3); !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want))) {
			t.Errorf("third derivative of %s = %v, differences of second ones say %v", text, got, want)
		}
	}
}

// TestSingularThird: where singular values are 0, or equal, or so but for rounding, derivatives of functions that are
// smooth there are those of the same functions written without singular values, whichever way they are taken.
func TestSingularThird(t *testing.T) {
	const program = "m = shape(A)[0]; n = shape(A)[1]; i = arange(m)[:, newaxis]; j = arange(n);" +
		"f(x, y, z) { B = A + x*cos(3*i + 5*j) + y*sin(2*i - j + 1) + z*cos(i - 4*j); %s }; "
	second := []string{"grad(grad(f(x, y, z), x), y)", "jvp(grad(f(x, y, z), x), y, 1)", "grad(jvp(f(x, y, z), x, 1), y)", "jvp(jvp(f(x, y, z), x, 1), y, 1)"}
	third := []string{"grad(grad(grad(f(x, y, z), x), y), z)", "grad(grad(grad(f(x, y, z), x), x), x)", "jvp(grad(grad(f(x, y, z), x), x), x, 1)", "jvp(jvp(grad(f(x, y, z), x), y, 1), z, 1)", "jvp(jvp(jvp(f(x, y, z), x, 1), y, 1), z, 1)", "grad(jvp(jvp(f(x, y, z), x, 1), x, 1), y)", "hessian(grad(f(x, y, z), x), y)"}
	for _, r := range []struct {
		text, same  string
		first       bool // of what belongs to the first one
		derivatives []string
	}{
		{"sum(svdvals(B)^4)", "trace(B.T @ B @ B.T @ B)", false, slices.Concat(second, third)},
		{"sum(svdvals(B)^2)^2", "sum(B^2)^2", false, slices.Concat(second, third)},
		{"prod(1 + svdvals(B)^2)", "det(eye(n) + B.T @ B)", false, third},
		{"sum(cosh(svdvals(B)))", "trace(expm(concat([concat([zeros((m, m)), B], 1), concat([B.T, zeros((n, n))], 1)], 0))) / 2", false, third},
		{"max(svdvals(B))", "sqrt(max(eigvalsh(B @ B.T)))", true, third},
		{"sum(svdvals(B)[0]^4 * svdvals(B)[1:]^2)", "w = eigvalsh(B @ B.T); w[-1]^2 * (trace(B @ B.T) - w[-1])", true, third},
		{"sum(cos(i[:, 0]) * svd(B)[0][:, 0]^2)", "P = matrix_power(B @ B.T, 32); sum(cos(i[:, 0]) * diagonal(P)) / trace(P)", true, second},
		{"sum(cos(j) * svd(B)[2][0]^2)", "P = matrix_power(B.T @ B, 32); sum(cos(j) * diagonal(P)) / trace(P)", true, second},
	} {
		for k, a := range []string{
			"[[3, 0], [0, 0]]", "[[3, 0, 0], [0, 0, 0], [0, 0, 0]]", "[[0, 0, 0, 0], [0, 3, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]",
			"[[2, 0], [0, 0], [0, 0], [0, 0]]", "[[1, 0, 0, 0], [0, 3, 0, 0], [0, 0, 0, 0]]", "[[1, 1, 1], [1, 1, 1], [1, 1, 1]]",
			"outer([0.1, 0.3, 0.7], [0.2, 0.9, 0.6])", // of rank 1 but for rounding
			"2*eye(3)", "[[2, 0], [0, 2], [0, 0]]", "[[0, 2, 0, 0], [1, 0, 0, 0], [0, 0, 2, 0]]", "[[2, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]]", "eye(4) - ones((4, 4))/4",
			"diag([3, 1e-16, 2e-16])", "diag([3, 1e-14, 3e-14])", // not 0, but cancelled by rounding
		} {
			for _, d := range r.derivatives {
				if r.first && k > 6 {
					continue
				}
				of := func(text string) float64 {
					return numbers(ask(t, "eval", fmt.Sprintf(program, text)+d, "A="+a, "x=0", "y=0", "z=0").Targets[0].Value)[0]
				}
				got, want := of(r.text), of(r.same)
				if !(math.Abs(got-want) <= 1e-12*(10+math.Abs(want))) {
					t.Errorf("%s of %s at %s = %v, of %s it is %v", d, r.text, a, got, r.same, want)
				}
			}
		}
	}
}

// TestEqualThird: where eigenvalues are equal, or so but for rounding, or close, derivatives of symmetric functions of
// them are those of the same functions written without eigenvalues.
func TestEqualThird(t *testing.T) {
	const program = "n = shape(A)[0]; i = arange(n)[:, newaxis]; j = arange(n); D = cos(3*i + 5*j); E = sin(2*i - j + 1); F = cos(i - 4*j);" +
		"f(x, y, z) { B = A + x*(D + D.T) + y*(E + E.T) + z*(F + F.T); %s };"
	const turned = "(eye(4) - 2*outer(cos(arange(4)), cos(arange(4)))/sum(cos(arange(4))^2))" // orthogonal
	for _, a := range []struct {
		a   string
		tol float64 // of third derivatives
	}{
		{"[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", 1e-13},
		{"[[2, 0, 0], [0, 5, 0], [0, 0, 2]]", 1e-13},
		{"zeros((3, 3))", 1e-13},
		{"ones((5, 5))", 1e-13},
		{"outer([0.1, 0.3, 0.7], [0.1, 0.3, 0.7])", 1e-13},                          // of rank 1 but for rounding
		{"[[2, -1, 0, -1], [-1, 2, -1, 0], [0, -1, 2, -1], [-1, 0, -1, 2]]", 1e-13}, // a cycle
		{"roll(eye(5), 1, 0) + roll(eye(5), -1, 0)", 1e-13},                         // of which two pairs are equal
		{"eye(4) - ones((4, 4))/4", 1e-13},                                          // a projection
		{turned + " @ diag([1, 1, 3, 3]) @ " + turned, 1e-13},
		{turned + " @ diag([1, 1 + 1e-9, 3, 3 + 1e-12]) @ " + turned, 1e-7},
		{"[[1, 0, 0], [0, 1 + 1e-8, 0], [0, 0, 1 + 3e-8]]", 1e-7},
		{"diag([2, 2 + 1e-5, 2 - 1e-5])", 3e-5}, // of which one pair is less near than the others
	} {
		for _, r := range [][2]string{
			{"sum(eigvalsh(B)^3)", "trace(B @ B @ B)"},
			{"sum(exp(eigvalsh(B)))", "trace(expm(B))"},
			{"sum(eigvalsh(B)^2)^2", "sum(B^2)^2"},
			{"prod(2 + eigvalsh(B))", "det(2*eye(n) + B)"},
			{"log(sum(exp(eigvalsh(B)))) * sum(eigvalsh(B)^4)", "log(trace(expm(B))) * trace(B @ B @ B @ B)"},
		} {
			for _, d := range []struct {
				text string
				tol  float64
			}{
				{"grad(grad(f(x, y, z), x), y)", 1e-11},
				{"grad(grad(grad(f(x, y, z), x), y), z)", a.tol},
				{"grad(grad(grad(f(x, y, z), x), x), x)", a.tol},
				{"jvp(grad(grad(f(x, y, z), x), x), x, 1)", a.tol},
				{"jvp(jvp(jvp(f(x, y, z), x, 1), y, 1), z, 1)", a.tol}, // of which cotangents are not known yet
				{"grad(jvp(jvp(f(x, y, z), x, 1), x, 1), y)", a.tol},
				{"hessian(grad(f(x, y, z), x), y)", a.tol},
			} {
				of := func(text string) float64 {
					return numbers(ask(t, "eval", fmt.Sprintf(program, text)+d.text, "A="+a.a, "x=0", "y=0", "z=0").Targets[0].Value)[0]
				}
				got, want := of(r[0]), of(r[1])
				if !(math.Abs(got-want) <= d.tol*(100+math.Abs(want))) {
					t.Errorf("%s of %s at %s = %v, of %s it is %v", d.text, r[0], a.a, got, r[1], want)
				}
			}
		}
	}
}

// TestVectorsBesideEqual: second derivatives of an eigenvector are there where others belong to equal eigenvalues.
func TestVectorsBesideEqual(t *testing.T) {
	const program = "n = shape(A)[0]; i = arange(n)[:, newaxis]; j = arange(n); D = cos(3*i + 5*j); E = sin(2*i - j + 1);" +
		"f(x, y) { B = A + x*(D + D.T) + y*(E + E.T); %s }; "
	const turned = "(eye(4) - 2*outer(cos(arange(4)), cos(arange(4)))/sum(cos(arange(4))^2))" // orthogonal
	for _, a := range []string{
		"ones((3, 3))", "diag([1, 1, 4])", "outer([0.1, 0.3, 0.7], [0.1, 0.3, 0.7])", turned + " @ diag([1, 1, 1, 3]) @ " + turned,
		"[[2, 1, 0, 1], [1, 2, 1, 0], [0, 1, 2, 1], [1, 0, 1, 2]]", // a cycle
	} {
		for _, d := range []string{"grad(f(x, y), x)", "grad(grad(f(x, y), x), y)", "grad(grad(f(x, y), x), x)", "jvp(grad(f(x, y), x), y, 1)"} {
			of := func(text string) float64 {
				return numbers(ask(t, "eval", fmt.Sprintf(program, text)+d, "A="+a, "x=0", "y=0").Targets[0].Value)[0]
			}
			got, want := of("sum(cos(j) * eigh(B)[1][:, -1]^2)"), of("P = matrix_power(B, 64); sum(cos(j) * diagonal(P)) / trace(P)")
			if !(math.Abs(got-want) <= 1e-11*(1+math.Abs(want))) {
				t.Errorf("%s of the last eigenvector at %s = %v, of powers it is %v", d, a, got, want)
			}
		}
	}
}

// TestEqualUnknown: derivatives that are not there where eigenvalues or singular values are equal are NaN, whichever way
// they are taken.
func TestEqualUnknown(t *testing.T) {
	const program = "f(x) { B = eye(3) + x*[[1, 2, 0.5], [2, -1, 0.3], [0.5, 0.3, 0.7]]; %s }; "
	for _, text := range []string{"eigvalsh(B)[0]", "eigvalsh(B)[0]^2", "sum(eigh(B)[1][0]^3)", "svdvals(B)[0]^2", "sum(svd(B)[0][0]^3)"} {
		for _, d := range []string{"grad(grad(f(x), x), x)", "grad(jvp(f(x), x, 1), x)", "jvp(grad(f(x), x), x, 1)", "grad(grad(grad(f(x), x), x), x)", "jvp(jvp(grad(f(x), x), x, 1), x, 1)", "grad(jvp(grad(f(x), x), x, 1), x)"} {
			if got := numbers(ask(t, "eval", fmt.Sprintf(program, text)+d, "x=0").Targets[0].Value)[0]; got == got {
				t.Errorf("%s of %s = %v, want NaN", d, text, got)
			}
		}
	}
	// fourth ones, and third ones of vectors beside such, which were sums of quotients by what is near 0
	for _, r := range [][2]string{
		{"sum(eigvalsh(B)^4)", "eye(3)"}, {"sum(svdvals(B)^4)", "eye(3)"}, {"sum(exp(eigvalsh(B)))", "diag([1, 1 + 1e-9, 3])"},
		{"log(sum(exp(eigvalsh(B))))", "diag([2, 2 + 1e-5, 2 - 1e-5])"}, {"sum(cosh(svdvals(B)))", "diag([3, 3 + 1e-7, 1])"},
		{"sum(svdvals(B)^2)^2", "diag([3, 1e-9, 2e-9])"}, {"sum(svdvals(B[:2])^4)", "diag([3, 0, 1])"}, {"sum(svdvals(B)^4)", "diag([3, 0, 0])"},
		{"grad(sum(cos(eigh(B)[1][:, 2])), x)", "diag([3, 1, 1])"}, {"grad(sum(cos(svd(B)[0][:, 0])), x)", "diag([3, 0, 0])"},
	} {
		a := ask(t, "eval", "B = ("+r[1]+") + x*[[1, 2, 0.5], [2, -1, 0.3], [0.5, 0.3, 0.7]]; y = "+strings.Replace(r[0], "; ", "; y = ", 1)+"; d = grad(grad(grad(y, x), x), x); "+
			map[bool]string{true: "d", false: "grad(d, x)"}[strings.Contains(r[0], ";")], "x=0")
		told := slices.ContainsFunc(a.Warnings, func(w Warning) bool { return strings.Contains(w.Msg, "derivatives of this order are not known") })
		if got := numbers(a.Targets[0].Value)[0]; got == got || !told {
			t.Errorf("the fourth derivative of %s at %s = %v, warnings %v; want NaN and why", r[0], r[1], got, a.Warnings)
		}
	}
}

// TestSpaced: slopes of slopes are taken where values are near to each other alone.
func TestSpaced(t *testing.T) {
	for _, r := range [][2]string{
		{"f(x) { sum(exp(eigvalsh(A + x*ones((4, 4))))) }; grad(grad(grad(f(x), x), x), x)", "diag([1, 1, 3, 3])"},
		{"f(x) { sum(exp(svdvals(A + x*ones((4, 4))))) }; grad(grad(grad(f(x), x), x), x)", "diag([1, 1, 3, 3])"},
		{"f(x) { eigh(A + x*ones((4, 4)))[1][0, 3] }; grad(grad(f(x), x), x)", "diag([1, 1, 3, 3])"},
		{"f(x) { sum(svd(A + x*ones((4, 4)))[0][:, 0]) }; grad(grad(f(x), x), x)", "diag([9, 3, 0, 0])"},
	} {
		near, far := ask(t, "eval", r[0], "x=0", "A="+r[1]), ask(t, "eval", r[0], "x=0", "A=diag([9, 4, 2, 1])")
		if n, m := near.Stats.Instructions, far.Stats.Instructions; 5*m > 4*n {
			t.Errorf("%s is %d instructions at values far apart, %d at %s", r[0], m, n, r[1])
		}
	}
}

// matrixBits is the hash of the values and Jacobians of all rows: the same on every
// machine. It changes with the algorithms, and only with them.
const matrixBits = 0x94a6b4a702d1ab36

func TestMatrixBits(t *testing.T) {
	h := fnv.New64a()
	for i, r := range matrixRows {
		tg := matrixAnswer(t, matrixQuestion(t, "jacobian", r.text, matrixInputs(i)), matrixName(i))
		for _, x := range append(derivatives(tg), numbers(tg.Value)) {
			le.Write(h, le.LittleEndian, x)
		}
	}
	large := map[string]*tensor.Tensor{"A": drawnMatrix(rand.New(rand.NewPCG(1, 1)), tensor.Shape{80, 80}, "positive")}
	for _, text := range []string{"inv(A)", "logdet(A)", "cholesky(A)", "qr(A)[1]", "eigh(A)[1]", "svd(A)[0]", "expm(A / 100)"} {
		le.Write(h, le.LittleEndian, numbers(matrixAnswer(t, matrixQuestion(t, "eval", text, large), text).Value))
	}
	if got := h.Sum64(); got != matrixBits {
		t.Errorf("values and Jacobians of all rows hash to %#x on %s, want %#x", got, runtime.GOARCH, uint64(matrixBits))
	}
}

// TestOneFactorisation holds plans to one factorisation of a matrix, and one determinant, whatever is asked of it.
func TestOneFactorisation(t *testing.T) {
	in := map[string]*tensor.Tensor{"A": drawnMatrix(rand.New(rand.NewPCG(1, 2)), tensor.Shape{5, 5}, "positive"), "b": tensor.New(5)}
	for _, text := range []string{
		"b @ solve(A, b) + logdet(A)",
		"sum(inv(A)) + sum(solve(A, b)) + slogdet(A)[1]",
		"sum(solve(A + A, b)) * logdet(A + A)", // equal, but twice in the program
		"det(A) + slogdet(A)[0] * slogdet(A)[1]",
		"det(A + A) * logdet(A + A)",
	} {
		s, want, err := recorded(matrixQuestion(t, "grad", text, in))
		if err != nil {
			t.Fatal(err)
		}
		count := map[*Op]int{}
		p := s.t.plan(want)
		for _, st := range p.order {
			count[s.t.ins[st].Op()]++
		}
		if count[opLU] != 1 || count[opDeterminant] != 1 {
			t.Errorf("the gradient of %s factorises %d times and takes %d determinants", text, count[opLU], count[opDeterminant])
		}
	}
}

// TestMatrixExtremes runs every row, and its gradient, on entries from the edges of the
// number line: an answer or a refusal, never a crash, and never a hang.
func TestMatrixExtremes(t *testing.T) {
	edges := []float64{0, 0, 1, -1, 2, 1e300, -1e300, 1e-300, 5e-324, 1e154, math.Inf(1), math.NaN()}
	for i, r := range matrixRows {
		rng := rand.New(rand.NewPCG(uint64(i), 11))
		for k := range 60 {
			in := matrixInputs(i)
			usable := len(edges) - rng.IntN(4)
			for _, x := range in {
				for j := range x.Data {
					if rng.IntN(3) > 0 {
						x.Data[j] = edges[rng.IntN(usable)]
					}
				}
				if n := last(x.Shape); len(x.Shape) == 2 && x.Shape[0] == n && k%2 == 0 {
					copy(x.Data, new(matrix.Solver).Symmetric(matrix.Of(x.Data, n, n)).Data)
				}
			}
			for _, op := range []string{"eval", "grad"} {
				if _, err := matrixQuestion(t, op, matrixNumber(r.text), in).Answer(); err != nil {
					if _, ok := AsError(err); !ok {
						t.Errorf("%s of %s at %v: %v", op, matrixName(i), in, err)
					}
				}
			}
		}
	}
}

// Derivatives of det of every order are those of a polynomial, where the matrix is singular
// too: the sum over all choices of one row of each direction and the others of the matrix.
func TestDetOrders(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	text := func(m []float64, n int) string {
		rows := make([]string, n)
		for i := range rows {
			rows[i] = strings.ReplaceAll(fmt.Sprint(m[i*n:(i+1)*n]), " ", ", ")
		}
		return "[" + strings.Join(rows, ", ") + "]"
	}
	whole := func(n int) []float64 {
		m := make([]float64, n)
		for i := range m {
			m[i] = float64(rng.IntN(7) - 3)
		}
		return m
	}
	for n := 2; n <= 5; n++ {
		for rank := range n + 1 {
			a := make([]float64, n*n)
			left, right := whole(n*rank), whole(rank*n)
			for i := range n {
				for j := range n {
					for k := range rank {
						a[i*n+j] += left[i*rank+k] * right[k*n+j]
					}
				}
			}
			along := [][]float64{whole(n * n), whole(n * n), whole(n * n)}
			prog := "f0 = A -> det(A); "
			for k := range min(len(along), n-1) {
				prog += fmt.Sprintf("f%d = A -> sum(grad(f%d)(A)*%s); ", k+1, k, text(along[k], n))
				got := numbers(ask(t, "grad", prog+fmt.Sprintf("f%d(A)", k+1), "A="+text(a, n)).Targets[0].Payload)
				for e := range n * n {
					unit := make([]float64, n*n)
					unit[e] = 1
					if want := mixedDet(a, n, append([][]float64{unit}, along[:k+1]...)); math.Abs(got[e]-want) > 1e-11*(1+math.Abs(want)) {
						t.Fatalf("derivative of order %d of det at %v, of rank %d, along %v: %v, want %v", k+2, a, rank, along[:k+1], got[e], want)
					}
				}
			}
		}
	}
}

// mixedDet is the sum of the determinants of a with one row of each direction.
func mixedDet(a []float64, n int, along [][]float64) (sum float64) {
	var rows func(k int, m []float64, used int)
	rows = func(k int, m []float64, used int) {
		if k == len(along) {
			sum += leibniz(m, n, 0, 0)
			return
		}
		for i := range n {
			if used>>i&1 == 0 {
				c := slices.Clone(m)
				copy(c[i*n:(i+1)*n], along[k][i*n:])
				rows(k+1, c, used|1<<i)
			}
		}
	}
	rows(0, a, 0)
	return sum
}

// leibniz is the determinant of the rows from row on without the columns used, by expansion.
func leibniz(m []float64, n, row, used int) (sum float64) {
	if row == n {
		return 1
	}
	sign := 1.0
	for j := range n {
		if used>>j&1 == 0 {
			sum += sign * m[row*n+j] * leibniz(m, n, row+1, used|1<<j)
			sign = -sign
		}
	}
	return sum
}

// TestSpectralChain: a Hessian through eigenvalues of matrices made of eigenvalues took twice as
// long with each, and 24 of them for ever. The numbers are PyTorch's.
func TestSpectralChain(t *testing.T) {
	for _, of := range []string{"eigvalsh(A*s)", "eigvalsh((A*s + (A*s).T)/2)"} {
		q := question(t, "hessian", "s = x; for i in range(24) { s = sin(s)*0.5 + 0.1*"+of+" }; sum(s^2)", "x=[1, 0.5, 0.3]", "A=[[3, 1, 0.5], [1, 2, 0.2], [0.5, 0.2, 1]]")
		q.Wrt = []string{"x"}
		a, err := q.Answer()
		if err != nil {
			t.Fatal(err)
		}
		want := []float64{-3.5416637910516436e-9, 3.2622941926093455e-9, 4.241386980428350e-10, 3.262294192609345e-9, -3.4948678898033683e-9,
			2.1783456715842214e-9, 4.241386980428338e-10, 2.1783456715842217e-9, -6.723019290061385e-10}
		for i, g := range numbers(a.Targets[0].Payload) {
			if !(math.Abs(g-want[i]) <= 1e-13*3.5e-9) { // a few hundred roundings of the largest
				t.Errorf("element %d of the Hessian through 24 times %s is %v, want %v", i, of, g, want[i])
			}
		}
	}
}

// TestSeedsTogether: the rows of a Jacobian, which are computed together, are the products with each of the unit vectors, bit
// for bit.
func TestSeedsTogether(t *testing.T) {
	defer func(n int) { pool.LeastElements = n }(pool.LeastElements)
	pool.LeastElements = 1
	rng := rand.New(rand.NewPCG(6, 1))
	for _, row := range []struct {
		text string
		n    int
		of   string
	}{
		{"solve(a, b)", 20, "b"},
		{"expm(a)", 6, "a"},
		{"expm(a)", 17, "a"},
		{"expm(sin(a))", 4, "a"},
		{"cholesky(a @ a.T + eye(3))", 3, "a"},
		{"cholesky(a @ a.T + eye(18))", 18, "a"},
	} {
		n := row.n
		a, b := tensor.New(n, n), tensor.New(n)
		for i := range a.Data {
			a.Data[i] = rng.NormFloat64()
		}
		for i := range b.Data {
			b.Data[i] = rng.NormFloat64()
		}
		ask := func(op string, with *tensor.Value) []float64 {
			q := question(t, op, row.text)
			q.Inputs, q.Wrt, q.With = []Input{{Name: "a", Value: tensor.Of(a)}, {Name: "b", Value: tensor.Of(b)}}, []string{row.of}, with
			s, rs, err := recorded(q)
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.run(rs, false, 2)
			if err != nil {
				t.Fatal(err)
			}
			return out[len(out)-1]
		}
		jacobian := ask("jacobian", nil)
		unit := tensor.New(n, n)
		if row.of == "b" {
			unit = tensor.New(n)
		}
		size := len(unit.Data)
		for i := range size {
			clear(unit.Data)
			unit.Data[i] = 1
			if j := sameBits(ask("vjp", tensor.Of(unit)), jacobian[i*size:(i+1)*size]); j >= 0 {
				t.Errorf("row %d of the Jacobian of %s of %d rows differs from the product with a unit vector at %d", i, row.text, n, j)
			}
		}
	}
}

// TestSideBySide: matrices of a batch, which are worked on side by side, give what each gives alone, on
// one thread and on two; and one that is refused has its place in the message.
func TestSideBySide(t *testing.T) {
	defer func(n int) { pool.LeastElements = n }(pool.LeastElements)
	pool.LeastElements = 1
	rng := rand.New(rand.NewPCG(6, 2))
	ask := func(text string, a *tensor.Tensor, threads int) []float64 {
		q := question(t, "grad", text)
		q.Inputs = []Input{{Name: "a", Value: tensor.Of(a)}}
		s, rs, err := recorded(q)
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.run(rs, false, threads)
		if err != nil {
			t.Fatal(err)
		}
		return out[len(out)-1]
	}
	for _, n := range []int{4, 7, 12, 13} {
		a := tensor.New(10, 7, n, n)
		for i := range a.Data {
			a.Data[i] = rng.NormFloat64()
		}
		for _, text := range []string{"sum(det(a))", "sum(slogdet(a)[1])", "sum(inv(a)^2)"} {
			one, two := ask(text, a, 1), ask(text, a, 2)
			if j := sameBits(one, two); j >= 0 {
				t.Errorf("%s of %d rows differs at %d on two threads", text, n, j)
			}
			for l := range 70 {
				each := tensor.New(n, n)
				copy(each.Data, a.Data[l*n*n:])
				if j := sameBits(one[l*n*n:(l+1)*n*n], ask(text, each, 1)); j >= 0 {
					t.Errorf("%s of %d rows: matrix %d alone differs at %d", text, n, l, j)
				}
			}
		}
	}
	a := tensor.New(10, 7, 5, 5)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	clear(a.Data[45*25 : 46*25])
	q := question(t, "eval", "inv(a)")
	q.Inputs = []Input{{Name: "a", Value: tensor.Of(a)}}
	if _, err := q.Answer(); err == nil || !strings.Contains(err.Error(), "in matrix [6, 3]") {
		t.Errorf("a singular matrix of a batch: %v", err)
	}
}

// TestFactorsOfBoth: a solution and a determinant of one matrix read the same factors, which say what rounding has left whatever is
// asked for first.
func TestFactorsOfBoth(t *testing.T) {
	for _, text := range []string{"sum(solve(A, y)) + slogdet(A)[1]", "slogdet(A)[1] + sum(solve(A, y))"} {
		s, want, err := recorded(question(t, "grad", text, "A=randn(20, 20) + 9*eye(20)", "y=ones(20)"))
		if err != nil {
			t.Fatal(err)
		}
		var rests []bool
		for _, r := range s.t.plan(want).order {
			if s.t.ins[r].Op() == opLU {
				rests = append(rests, s.t.Attr(r).Flag)
			}
		}
		if !slices.Equal(rests, []bool{true}) {
			t.Errorf("the gradient of %s reads factors that say what is left: %v", text, rests)
		}
	}
}
