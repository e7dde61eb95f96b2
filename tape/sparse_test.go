package tape

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nabla/expr"
	"nabla/tape/tensor"
)

// sparsePrograms have structure that a pattern should see, or should at least not miss:
// the least number of colours that is good enough, 0 when nothing is asked.
var sparsePrograms = []struct {
	op, text string
	colours  int
	inputs   []string
}{
	{"jacobian", "x[:-2] - 2*x[1:-1] + x[2:] + exp(x[1:-1])", 3, xs("x=randn(90)")},
	{"jacobian", "sin(x)^2", 1, xs("x=randn(90)")},
	{"jacobian", "roll(x, 1)*x - roll(x, -2)", 4, xs("x=randn(80)")},
	{"jacobian", "flip(x)*x", 2, xs("x=randn(80)")},
	{"jacobian", "x[::2]*x[1::2]", 2, xs("x=randn(160)")},
	{"jacobian", "pad(x, 1)[1:]*2 + pad(x, (0, 1))", 1, xs("x=randn(80)")},
	{"jacobian", "diff(x, axis=-1)^3", 2, xs("x=randn(100)")},
	{"jacobian", "u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1] - 4*u[1:-1, 1:-1]^2", 7, xs("u=randn(9, 11)")},
	{"jacobian", "roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1)*u", 8, xs("u=randn(10, 10)")},
	{"jacobian", "roll(u, 3)*u", 2, xs("u=randn(9, 10)")},
	{"jacobian", "conv1d(reshape(x, [1, 1, -1]), w)", 5, xs("x=randn(80)", "const w=randn(1, 1, 3)")},
	{"jacobian", "conv2d(exp(reshape(x, [1, 1, 9, 9])), w, 1, 1)", 16, xs("x=randn(81)", "const w=randn(1, 1, 3, 3)")},
	{"jacobian", "conv2d(conv2d(x, w, 1, 1), w, 2)", 0, xs("x=randn(1, 9, 9)", "const w=randn(1, 1, 3, 3)")},
	{"jacobian", "avg_pool2d(reshape(x, [10, 10]), 2)^2", 1, xs("x=randn(100)")},
	{"jacobian", "max_pool2d(reshape(x, [10, 10]), 2)", 1, xs("x=randn(100)")},
	{"jacobian", "x[i]*x[j]", 0, xs("x=randn(80)", "const i=int(floor(uniform(80)*80))", "const j=int(floor(uniform(80)*80))")},
	{"jacobian", "segment_sum(x^2, i, 9)", 1, xs("x=randn(90)", "const i=int(floor(uniform(90)*9))")},
	{"jacobian", "concat([sin(x), x[:40]*x[40:], cos(x)])", 0, xs("x=randn(80)")},
	{"jacobian", "reshape(transpose(reshape(x, [8, 10])), -1)*x", 3, xs("x=randn(80)")},
	{"jacobian", "sum(reshape(x, [20, 4])^2, axis=1)", 1, xs("x=randn(80)")},
	{"jacobian", "sum(reshape(x, [4, 20])^2, axis=0)", 1, xs("x=randn(80)")},
	{"jacobian", "softmax(reshape(x, [20, 4]), -1)", 4, xs("x=randn(80)")},
	{"jacobian", "cumsum(reshape(x, [20, 4]), 1)", 4, xs("x=randn(80)")},
	{"jacobian", "reshape(x, [20, 4]) @ w", 3, xs("x=randn(80)", "const w=randn(4, 3)")},
	{"jacobian", "w @ reshape(x, [4, 20])", 3, xs("x=randn(80)", "const w=randn(3, 4)")},
	{"jacobian", "reshape(x, [5, 4, 4]) @ w", 0, xs("x=randn(80)", "const w=randn(5, 4, 3)")},
	{"jacobian", "f(v) = cumsum(v^2, 0)\nvmap(f)(reshape(x, [20, 4]))", 4, xs("x=randn(80)")},
	{"jacobian", "vmap(v -> broadcast_to(v^2, 80))(x)", 1, xs("x=randn(80)")},                                 // a number of each point, repeated
	{"jacobian", "vmap(v -> v @ c)(reshape(x, [10, 4, 2]))", 4, xs("x=randn(80)", "const c=randn(10, 2, 3)")}, // a matrix of each point by several
	{"jacobian", "vmap(v -> c @ v)(reshape(x, [10, 4, 2]))", 4, xs("x=randn(80)", "const c=randn(10, 3, 4)")},
	{"jacobian", "x*sum(x)", 0, xs("x=randn(80)")},
	{"jacobian", "where(x > 0, x, 2*x)*c", 0, xs("x=randn(80)", "c=1.5")},
	{"jacobian", "max(x, 0) + min(x, flip(x))", 2, xs("x=randn(80)")},
	{"jacobian", "sort(x)", 0, xs("x=randn(80)")},
	{"jacobian", "diag(x) @ x", 0, xs("x=randn(80)")},
	{"jacobian", "diag(x)", 1, xs("x=randn(80)")},
	{"jacobian", "diagonal(outer(x, x))", 0, xs("x=randn(80)")},
	{"jacobian", "repeat(x, 3)*tile(x, 3)", 5, xs("x=randn(80)")},
	{"jacobian", "stack([x, x^2], 1)", 1, xs("x=randn(80)")},
	{"jacobian", "grad(sum(x[1:]*x[:-1]^2), x)", 3, xs("x=randn(80)")},
	{"jacobian", "x[3:50:4] * x[50:3:-4]", 2, xs("x=randn(80)")},
	{"jacobian", "triu(reshape(x, [10, 10]))*2", 1, xs("x=randn(100)")},
	{"jacobian", "take_along_axis(reshape(x, [10, 10]), i, 1)", 1, xs("x=randn(100)", "const i=int(floor(uniform(10, 10)*10))")},
	{"jacobian", "stop_gradient(x)*x", 1, xs("x=randn(100)")},
	{"jacobian", "reshape(x, [20, 5])[:, 1:-1] - mean(reshape(x, [20, 5]), 1, true)", 5, xs("x=randn(100)")},
	{"hessian", "sum(100*(x[1:]-x[:-1]^2)^2+(1-x[:-1])^2)", 3, xs("x=randn(80)")},
	{"hessian", "sum(sin(x))", 1, xs("x=randn(80)")},
	{"hessian", "sum(x^3) + sum(x[:2])^2", 0, xs("x=randn(80)")},
	{"hessian", "prod(x[:3]) + sum(x[3:]^4)", 3, xs("x=randn(80)")},
	{"hessian", "sum((u[1:] - u[:-1])^4) + sum((u[:, 1:] - u[:, :-1])^4)", 0, xs("u=randn(9, 9)")},
	{"hessian", "sum(logsumexp(reshape(x, [20, 4]), 1))", 4, xs("x=randn(80)")},
	{"hessian", "sum(x[i]^2*x[j])", 0, xs("x=randn(80)", "const i=int(floor(uniform(40)*80))", "const j=int(floor(uniform(40)*80))")},
	{"hessian", "sum(conv1d(reshape(x, [1, 1, -1]), w)^3)", 0, xs("x=randn(80)", "const w=randn(1, 1, 3)")},
	{"hessian", "x[0]*sum(x)", 3, xs("x=randn(80)")},
	{"hessian", "x[7]*sum(x^2) + x[3]^2*sum(sin(x)) + sum(x[1:]*x[:-1]^2)", 5, xs("x=randn(80)")},
	{"hessian", "f(v) = sum(v); gradient f(v; g) = g*concat([[5*sum(v^2)], 2*v[0]*v[1:]]); f(x)", 0, xs("x=randn(80)")}, // not symmetric
	{"hessian", "sum(jacobian(x[1:]*x[:-1]^2, x)^2)", 0, xs("x=randn(70)")},
	{"jacobian", "f(v) = v[1:]*v[:-1]\njacobian(f(x), x) @ x", 0, xs("x=randn(70)")},
	{"jacobian", "float32(x)[1:]*float32(x)[:-1]^2", 2, xs("x=randn(70)")},
	{"jacobian", "concat([x[1:]*x[:-1], [sum(x)]])", 4, xs("x=randn(80)")},
	{"jacobian", "x[1:]*x[:-1] + x[0]", 4, xs("x=randn(80)")},
	{"jacobian", "sqrt(x)^2", 0, xs("x=arange(70)")}, // limits are taken where slopes are infinite
	{"hessian", "sum(sqrt(x)^4)", 0, xs("x=[0, 0, 1]")},
	{"hessian", "sum(acosh(x)^2)", 0, xs("x=[1, 1, 2]")},
	{"hessian", "norm(x)^4 + sum(cosh(abs(x)))", 0, xs("x=[0, 0]")}, // and what bends has no kink
	{"hessian", "sum(abs(x)*x^2) + sum(abs(x - 1))", 0, xs("x=[0, 1]")},
	{"jacobian", "exp(x + 800)*exp(-2*x - 800)", 0, xs("x=[0, 1, 2]")},                                                                                     // numbers leave the range
	{"hessian", "a = x; b = y; for i in range(70) { a = 0.9*a + 0.1*sin(a); b = 0.9*b + 0.1*cos(b) }; sum(a) + sum(b)", 0, xs("x=randn(9)", "y=randn(9)")}, // no pattern of a loop, and no a in b
}

// TestSparse holds compressed Jacobians, as matrices and as entries, to plain ones.
func TestSparse(t *testing.T) {
	byRows(t)
	for _, r := range sparsePrograms {
		answered := func(sparse bool) *Answer {
			q := question(t, r.op, r.text, r.inputs...)
			q.Sparse = sparse
			a, err := q.Answer()
			if err != nil {
				t.Fatalf("%s of %s: %v", r.op, r.text, err)
			}
			return a
		}
		compressing = false
		want := answered(false)
		compressing = true
		for _, sparse := range []bool{false, true} {
			got := answered(sparse)
			_, after, _ := strings.Cut(got.Mode, "compressed: ")
			if n, _ := strconv.Atoi(strings.SplitN(after, " ", 2)[0]); sparse && r.colours > 0 && (n == 0 || n > r.colours) {
				t.Errorf("%s of %s: mode %q, want at most %d colours", r.op, r.text, got.Mode, r.colours)
			}
			if !reflect.DeepEqual(got.Warnings, want.Warnings) {
				t.Errorf("%s of %s, sparse %v: warnings %v, want %v", r.op, r.text, sparse, got.Warnings, want.Warnings)
			}
			x, y := leavesOf(want.Targets[0].Payload), leavesOf(got.Targets[0].Payload)
			if len(x) != len(y) {
				t.Errorf("%s of %s: %d leaves, want %d", r.op, r.text, len(y), len(x))
				continue
			}
			for i := range x {
				if !x[i].Shape.Equal(y[i].Shape) {
					t.Errorf("%s of %s: shape %v, want %v", r.op, r.text, y[i].Shape, x[i].Shape)
				}
				far := strings.Contains(got.Mode, "of one row)") // entries come from across the diagonal
				same := !far && strings.HasPrefix(got.Mode, "reverse") == (len(x[i].Shape) == 0 || want.Targets[0].Value.Tensor.Size()*want.Targets[0].Value.Tensor.Size() <= x[i].Size())
				for k, v := range x[i].Data {
					w := y[i].Data[k]
					if v == w || v != v && w != w {
						continue
					}
					if same || !(math.Abs(v-w) <= 1e-14*(1+math.Abs(v))) { // another mode rounds elsewhere
						t.Errorf("%s of %s, sparse %v: element %d is %v, want %v (%s)", r.op, r.text, sparse, k, w, v, got.Mode)
						break
					}
				}
			}
		}
	}
}

// TestSparseDiagonal holds diagonals of Hessians, taken from rows that are computed together, to those
// of rows that are computed one by one.
func TestSparseDiagonal(t *testing.T) {
	for _, r := range sparsePrograms {
		if r.op != "hessian" {
			continue
		}
		answered := func(compress bool) *Answer {
			compressing = compress
			defer func() { compressing = true }()
			q := question(t, r.op, r.text, r.inputs...)
			q.Diagonal = true
			a, err := q.Answer()
			if err != nil {
				t.Fatalf("diagonal of %s: %v", r.text, err)
			}
			return a
		}
		want, got := answered(false), answered(true)
		if !reflect.DeepEqual(got.Warnings, want.Warnings) {
			t.Errorf("diagonal of %s: warnings %v, want %v", r.text, got.Warnings, want.Warnings)
		}
		_, after, _ := strings.Cut(got.Mode, "compressed: ")
		if n, _ := strconv.Atoi(strings.SplitN(after, " ", 2)[0]); r.colours > 0 && (n == 0 || n > r.colours) {
			t.Errorf("diagonal of %s: mode %q, want at most %d colours", r.text, got.Mode, r.colours)
		}
		y := leavesOf(got.Targets[0].Payload)
		for i, x := range leavesOf(want.Targets[0].Payload) {
			if !slices.EqualFunc(x.Data, y[i].Data, func(v, w float64) bool { return v == w || v != v && w != w }) {
				t.Errorf("diagonal of %s: %v, want %v", r.text, y[i].Data, x.Data)
			}
		}
	}
	q := question(t, "hessian", "sum(x[1:]*x[:-1]^2)", "x=ones(1000000)")
	q.Diagonal, q.Limit = true, 1<<30
	if a, err := q.Answer(); err != nil || a.Targets[0].Payload.Get("x").Tensor.Data[7] != 2 {
		t.Errorf("the diagonal of 10^12 numbers: %v", err)
	}
}

// dense is the tensor that s stands for.
func dense(s *tensor.Sparse) *tensor.Tensor {
	x := tensor.New(s.Shape...)
	for i := range s.Rows {
		for k := s.Ptr[i]; k < s.Ptr[i+1]; k++ {
			x.Data[i*s.Cols+int(s.Col[k])] = s.Data[k]
		}
	}
	return x
}

func leavesOf(v *tensor.Value) (out []*tensor.Tensor) {
	v.Leaves("", func(_ string, leaf *tensor.Value) {
		switch {
		case leaf.Sparse != nil:
			out = append(out, dense(leaf.Sparse))
		case leaf.Tensor != nil:
			out = append(out, leaf.Tensor)
		}
	})
	return out
}

// TestSparseOdd: what is not finite in a product stays in the rows that it belongs to, though
// rows are computed together, and what is outside of the pattern is 0.
func TestSparseOdd(t *testing.T) {
	for _, r := range []struct {
		op, text string
		inputs   []string
	}{
		{"jacobian", "x @ w", xs("x=[1, 2]", "const w=[[1, nan], [3, inf]]")},
		{"jacobian", "x.T @ w", xs("x=ones(12, 8)", "const w=where(reshape(arange(108), (12, 9)) == 40, nan, 2)")},
		{"jacobian", "w @ x", xs("x=ones(12, 8)", "const w=where(reshape(arange(108), (9, 12)) == 40, inf, 2)")},
		{"jacobian", "cbrt(x).T @ exp(x)", xs("x=reshape(arange(72), (9, 8)) - 11")}, // a slope is infinite
		{"hessian", "sum(gamma(x)*w)", xs("x=zeros(2)", "const w=[1, -2]")},          // of what is no number
	} {
		for _, mode := range []string{"reverse", "forward"} {
			answered := func(compress, sparse bool) []float64 {
				compressing = compress
				defer func() { compressing = true }()
				q := question(t, r.op, r.text, r.inputs...)
				q.Mode, q.Sparse = mode, sparse
				a, err := q.Answer()
				if err != nil {
					t.Fatal(err)
				}
				return leavesOf(a.Targets[0].Payload)[0].Data
			}
			want := answered(false, false)
			for _, sparse := range []bool{false, true} {
				for k, v := range answered(true, sparse) {
					if w := want[k]; v != w && (v == v || w == w) && (v != 0 || w == w) {
						t.Errorf("%s of %s, %s, sparse %v: element %d is %v, row by row %v", r.op, r.text, mode, sparse, k, v, w)
						break
					}
				}
			}
		}
	}
}

// TestSparseTheirs: by a convention under which zeros of a seed times infinities are NaN, the
// entries are those of the matrix.
func TestSparseTheirs(t *testing.T) {
	q := question(t, "jacobian", "x*[inf, 1]", "x=[3, 4]")
	for _, q.Conventions = range []string{"tf", "jax", "torch"} {
		for _, q.Sparse = range []bool{false, true} {
			a, err := q.Answer()
			if err != nil {
				t.Fatal(err)
			}
			if got := leavesOf(a.Targets[0].Payload)[0].Data; !(got[0] > 1 && got[1] == 0 && got[2] != got[2] && got[3] == 1) {
				t.Errorf("as %s has it, sparse %v: %v, want Inf, 0, NaN, 1", q.Conventions, q.Sparse, got)
			}
		}
	}
}

// TestStreamed holds the rows of a compressed matrix that are computed as they are read to
// the matrix.
func TestStreamed(t *testing.T) {
	for _, mode := range []string{"forward", "reverse"} {
		q := question(t, "jacobian", "x[1:]*x[:-1]^2", "x=randn(1100)")
		q.Mode = mode
		a, err := q.Answer()
		if err != nil {
			t.Fatal(err)
		}
		q.Stream = true
		b, err := q.Answer()
		if err != nil {
			t.Fatal(err)
		}
		if b.Targets[0].Rows == nil {
			t.Fatalf("%s: no rows, mode %s", mode, b.Mode)
		}
		var got []float64
		if err := b.Targets[0].Rows.Each(func(part []float64) error { got = append(got, part...); return nil }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, numbers(a.Targets[0].Payload)) {
			t.Errorf("%s: other numbers", mode)
		}
	}
}

// TestSparseLimit asks for matrices that would not fit as they are.
func TestSparseLimit(t *testing.T) {
	for _, r := range []struct {
		op, text string
		n        int
	}{
		{"jacobian", "concat([x[1:]*x[:-1], [sum(x^2)]]) + x[0]", 3*3000 + 3000}, // neither rows nor columns go together
		{"hessian", "sum(x[1:]^2*x[:-1]) + x[0]^3", 3*3000 - 2},
	} {
		q := question(t, r.op, r.text, "x=randn(3000)")
		q.Limit, q.Threads = 48<<20, 2
		if _, err := q.Answer(); err == nil || !strings.Contains(err.(*Error).At.Hint, "--sparse") {
			t.Errorf("%s of %s: %v", r.op, r.text, err)
		}
		q.Sparse = true
		a, err := q.Answer()
		if err != nil {
			t.Errorf("%s of %s: %v", r.op, r.text, err)
			continue
		}
		if got := len(numbers(a.Targets[0].Payload)); got < r.n-8 || got > r.n {
			t.Errorf("%s of %s: %d entries, want about %d (%s)", r.op, r.text, got, r.n, a.Mode)
		}
	}
}

// moves are statements that random programs are made of; v and w stand for values before,
// n, a and b for small numbers.
var moves = []string{
	"sin(v)", "v*w", "v + w", "exp(-v^2)", "v*2 - 1", "where(v > 0, v, w)", "max(v, w)", "v / (1 + w^2)",
	"v[a:]", "v[:-n]", "v[::n]", "v[::-1]", "v[n]", "v[:, a:]", "v[:, ::-n]", "v[..., n]", "v[..., ::n]", "v[a:, n:]", "v[newaxis]", "v[:, newaxis]",
	"flip(v)", "roll(v, n)", "roll(v, -n, 0)", "roll(v, n, -1)", "transpose(v)", "swapaxes(v, 0, -1)", "moveaxis(v, 0, -1)",
	"reshape(v, -1)", "reshape(v, [a, -1])", "reshape(v, [-1, n])", "reshape(v, [a, n, -1])", "reshape(v, [n, -1, b])", "ravel(v)[n:]",
	"concat([v, w])", "concat([v, w, v], -1)", "concat([v, zeros(n)])", "stack([v, w], -1)", "stack([w, v])", "pad(v, n)", "pad(v, (a, n))", "tile(v, n)", "repeat(v, n, 0)",
	"sum(v, 0)", "sum(v, -1)", "v - mean(v, 0, true)", "v * sum(v, -1, true)", "cumsum(v, -1)", "cumsum(v, 0)", "softmax(v)", "sort(v)", "prod(v, -1)", "max(v, axis=0)", "norm(v, 2, -1)", "median(v, 0)",
	"take(v, [0, n, 1, n], 0)", "take(v, [1, 1, 0], -1)", "v[[n, 0, a]]", "v[[0, 1], [1, 0]]", "gather_nd(v, [[0, 1], [1, 1]])", "scatter_add(v, [0, n], v[:2])",
	"segment_sum(v, int(floor(rand(len(v))*n)), n)", "v @ transpose(v)", "v @ w", "w @ v", "v @ v", "outer(v, w)", "diag(v)", "diagonal(v)", "tril(v)", "triu(v, 1)", "block_diag([v, w])",
	"conv1d(reshape(v, [1, 1, -1]), randn(2, 1, n), a, b)", "conv2d(reshape(v, [1, 1, a, -1]), randn(1, 1, 2, n), 1, n)", "conv_transpose1d(reshape(v, [1, 1, -1]), randn(1, 2, n), a)",
	"avg_pool1d(v, n)", "max_pool1d(v, n, 1)", "vmap(f)(v)", "vmap(f)(transpose(v))", "inv(v + 9*eye(len(v)))", "grad(sum(v^3), x)", "grad(sum(v*w), x)", "stop_gradient(v)*w", "floor(v)*w",
	"meshgrid(v, w)[1]", "diff(v)", "trapezoid(v)*w", "v + x[n]", "x[n]*x[a]", "stack([x[n], x[a], x[b]])", "jvp(v, x, x)", "take_along_axis(v, argsort(w), -1)",
}

// randomProgram is a program of some moves on a source x; statements that fail are left out.
func randomProgram(t *testing.T, rng *rand.Rand) (text string, input Input) {
	shapes := [][]int{{12}, {24}, {17}, {4, 6}, {5, 5}, {3, 8}, {2, 3, 4}, {1, 12}, {6, 1}, {2, 2, 2, 3}}
	x := tensor.New(shapes[rng.IntN(len(shapes))]...)
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	input = Input{Name: "x", Value: tensor.Of(x)}
	text = "f(v) = cumsum(v*2, -1)*v\nv0 = x"
	names := []string{"x", "v0"}
	for k := 1; k <= 5; k++ {
		s := moves[rng.IntN(len(moves))]
		v, w := names[len(names)-1], names[rng.IntN(len(names))]
		var b strings.Builder
		for i, c := range s {
			word := func(i int) bool { return i >= 0 && i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] == '_') }
			put := map[rune]string{'v': v, 'w': w, 'n': strconv.Itoa(1 + rng.IntN(3)), 'a': strconv.Itoa(1 + rng.IntN(2)), 'b': strconv.Itoa(rng.IntN(3))}[c]
			if put == "" || word(i-1) || word(i+1) {
				put = string(c)
			}
			b.WriteString(put)
		}
		next := text + "\nv" + strconv.Itoa(k) + " = " + b.String()
		p, err := expr.Parse("", next)
		if err != nil {
			t.Fatalf("%s: %v", next, err)
		}
		a, err := (&Question{Prog: p, Op: "eval", Inputs: []Input{input}}).Answer()
		if err != nil || a.Targets[0].Value.Kind != tensor.KindTensor || !a.Targets[0].Value.Tensor.DType.IsFloat() {
			continue
		}
		if n := a.Targets[0].Value.Tensor.Size(); n == 0 || n > 150 {
			continue
		}
		text = next
		names = append(names, "v"+strconv.Itoa(k))
	}
	return text, input
}

// TestPatterns holds patterns of random programs to their plain Jacobians: no entry that
// is not 0 may be missing, and the answer is the same.
func TestPatterns(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	full, all := 0, 0
	for range rounds(400) {
		text, input := randomProgram(t, rng)
		op := "jacobian"
		if rng.IntN(3) == 0 {
			op, text = "hessian", text+"\nsum(v0^3*cos(v0)) + sum(("+text[strings.LastIndex(text, "\n")+1:strings.LastIndex(text, " = ")]+")^3)"
		}
		p, err := expr.Parse("", text)
		if err != nil {
			t.Fatal(err)
		}
		q := &Question{Prog: p, Op: op, Inputs: []Input{input}}
		compressing = false
		want, err := q.Answer()
		compressing = true
		if err != nil {
			continue
		}
		payload := want.Targets[0].Payload
		x := leavesOf(payload)
		if len(x) == 0 {
			continue
		}
		s := &session{q: q}
		s.start()
		s.program()
		s.target()
		y, src := s.targets[0].val.(Ref), s.leafSource("x").(*source).refs
		if op == "hessian" {
			y = s.t.Gradient([]Ref{y}, src)[0]
		}
		pat := s.t.dependence(y, src)
		have := make([]bool, x[0].Size())
		all += len(have)
		if pat != nil {
			e := pat.Entries()
			full += len(e.Col)
			for i := range pat.Rows {
				for k, j := range e.Row(i) {
					if k > 0 && e.Row(i)[k-1] >= j {
						t.Fatalf("%s of %s: row %d is not ascending: %v", op, text, i, e.Row(i))
					}
					have[i*pat.Cols+int(j)] = true
				}
			}
		}
		for k, v := range x[0].Data {
			if v != 0 && !have[k] {
				n := input.Value.Tensor.Size()
				t.Fatalf("%s of %s\nentry (%d, %d) is %v and not in the pattern", op, text, k/n, k%n, v)
			}
		}
		for _, mode := range []string{"", "forward", "reverse"} {
			sq := *q
			sq.Sparse, sq.Mode = true, mode
			got, err := sq.Answer()
			if err != nil {
				t.Fatalf("%s of %s, %s: %v", op, text, mode, err)
			}
			z := leavesOf(got.Targets[0].Payload)[0]
			for k, v := range x[0].Data {
				if w := z.Data[k]; v != w && !(v != v && w != w) && !(math.Abs(v-w) <= 1e-9*(1+math.Abs(v))) {
					t.Fatalf("%s of %s, %s: element %d is %v, want %v", op, text, mode, k, w, v)
				}
			}
		}
	}
	t.Logf("%d of %d entries are in the patterns", full, all)
}

// TestSparseTogether asks for the Hessian by many single numbers, and by many short vectors: a sweep
// for all sources records no more than the dense one does, and gives its bits.
func TestSparseTogether(t *testing.T) {
	const n = 40
	for _, size := range []int{1, 3} {
		var terms, inputs []string
		for i := range n {
			v := "0." + strconv.Itoa(i+1)
			if size > 1 {
				v = "[" + v + ", 1." + strconv.Itoa(i) + ", -2]"
			}
			inputs = append(inputs, "x"+strconv.Itoa(i)+"="+v)
			if i > 0 {
				terms = append(terms, strings.NewReplacer("A", "x"+strconv.Itoa(i-1), "B", "x"+strconv.Itoa(i)).Replace("sum((B - A^2)^2*sum(A))"))
			}
		}
		ask := func(sparse bool) (*Answer, int) {
			q := question(t, "hessian", strings.Join(terms, " + "), inputs...)
			q.Sparse = sparse
			s, _, err := recorded(q)
			if err != nil {
				t.Fatal(err)
			}
			a, err := q.Answer()
			if err != nil {
				t.Fatal(err)
			}
			return a, len(s.t.ins)
		}
		dense, most := ask(false)
		sparse, got := ask(true)
		if got > most {
			t.Errorf("%d instructions, want at most the %d of the dense Hessian", got, most)
		}
		x, y := numbers(dense.Targets[0].Payload), numbers(sparse.Targets[0].Payload)
		if len(x) != n*n*size*size {
			t.Fatalf("%d numbers, want %d", len(x), n*n*size*size)
		}
		entries := slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return v == 0 })
		if y = slices.DeleteFunc(y, func(v float64) bool { return v == 0 }); !slices.Equal(entries, y) {
			t.Errorf("of %d numbers each: %d entries %v, want %d %v", size, len(y), y, len(entries), entries)
		}
	}
}
