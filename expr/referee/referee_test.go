package referee

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"nabla/expr"
	"nabla/tape/tensor"
)

// vars reads "x=3; w=[[1,2],[3,4]]" with the referee itself: constants are simple enough.
func vars(t *testing.T, text string) map[string]*tensor.Value {
	t.Helper()
	out := map[string]*tensor.Value{}
	for _, part := range strings.Split(text, ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			continue
		}
		out[strings.TrimSpace(name)] = eval(t, value, nil)
	}
	return out
}

func program(t *testing.T, text string) *Evaluator {
	t.Helper()
	p, err := expr.Parse("", text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	e, err := Compile(p)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

func eval(t *testing.T, text string, vars map[string]*tensor.Value) *tensor.Value {
	t.Helper()
	v, err := program(t, text).Eval(vars)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return tensor.None("")
	}
	return v
}

// show writes a value in one line, to twelve digits.
func show(v *tensor.Value) string {
	switch v.Kind {
	case tensor.KindTensor:
		return nested(v.Tensor.Shape, v.Tensor.Data, v.Tensor.DType)
	case tensor.KindList:
		var parts []string
		for _, e := range v.List {
			parts = append(parts, show(e))
		}
		return "(" + strings.Join(parts, " ") + ")"
	case tensor.KindRecord:
		var parts []string
		for _, f := range v.Fields {
			parts = append(parts, f.Name+":"+show(f.Value))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return "none"
}

func nested(s tensor.Shape, data []float64, d tensor.DType) string {
	if len(s) == 0 {
		if d == tensor.Bool {
			return fmt.Sprint(data[0] != 0)
		}
		return fmt.Sprintf("%.12g", data[0]+0)
	}
	var parts []string
	n := tensor.Shape(s[1:]).Size()
	for i := range s[0] {
		parts = append(parts, nested(s[1:], data[i*n:(i+1)*n], d))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func TestOperations(t *testing.T) {
	at := "x=3; y=-2; v=[1,2,3]; w=[4,5,6]; A=[[1,2],[3,4]]; B=[[0,1,2],[3,4,5]]; S=[[2,1],[1,3]]; T=reshape(arange(24),(2,3,4)); m=[true,false,true]"
	rows := []struct{ text, want string }{
		// operators
		{"-x^2", "-9"}, {"2^3^2", "512"}, {"2^-1", "0.5"}, {"7 % 3", "1"}, {"-7 % 3", "2"}, {"7 % -3", "-2"},
		{"-7 // 2", "-4"}, {"x / 0", "+Inf"}, {"x - -y", "1"}, {"!(x > 1)", "false"}, {"x > 1 and y > 1", "false"},
		{"(x > 1) * 5", "5"}, {"+x", "3"}, {"(x > 1) == (y < 0)", "true"}, {"x ? 1 : 2", "1"},
		{"x > 5 ? 1 : x > 2 ? 2 : 3", "2"}, {"not x", "false"},
		{"-v", "[-1 -2 -3]"}, {"v + 1", "[2 3 4]"}, {"v * w", "[4 10 18]"}, {"v < 2", "[true false false]"},
		{"v % 2", "[1 0 1]"}, {"v // 2", "[0 1 1]"}, {"v ^ 2", "[1 4 9]"}, {"v @ w", "32"}, {"A @ A", "[[7 10] [15 22]]"},
		{"A @ [1, 1]", "[3 7]"}, {"[1, 1] @ A", "[4 6]"}, {"v > 1 && w < 6", "[false true false]"}, {"!m", "[false true false]"},
		// laziness: what is not taken has no value here
		{"x > 1 ? x : nowhere", "3"}, {"x > 1 || nowhere", "true"}, {"x < 1 && nowhere", "false"},
		{"x > 1 ? v : nowhere(v)", "[1 2 3]"}, {"sum(v) > 100 && grad(v) > 0", "false"},
		// broadcasting
		{"[[1], [2]] + [10, 20, 30]", "[[11 21 31] [12 22 32]]"}, {"B * [[1], [10]]", "[[0 1 2] [30 40 50]]"},
		{"broadcast_to(v, (2, 3))", "[[1 2 3] [1 2 3]]"}, {"sum(zeros((0, 3)), axis=0)", "[0 0 0]"},
		// structure
		{"[x, y]", "[3 -2]"}, {"[v, w]", "[[1 2 3] [4 5 6]]"}, {"(x, v)", "(3 [1 2 3])"}, {"(x, v)[1]", "[1 2 3]"},
		{"{a: x, b: v}", "{a:3 b:[1 2 3]}"}, {"{a: x, b: v}.b", "[1 2 3]"}, {"A.T", "[[1 3] [2 4]]"}, {"T.shape", "(2 3 4)"},
		{"T.shape[1]", "3"}, {"T.size", "24"}, {"T.ndim", "3"}, {"reshape(v, v.shape)", "[1 2 3]"},
		// indexing
		{"v[0]", "1"}, {"v[-1]", "3"}, {"v[1:]", "[2 3]"}, {"v[::-1]", "[3 2 1]"}, {"v[::2]", "[1 3]"}, {"v[5:]", "[]"},
		{"B[1]", "[3 4 5]"}, {"B[:, 1]", "[1 4]"}, {"B[1, -1]", "5"}, {"B[..., 0]", "[0 3]"}, {"v[:, newaxis]", "[[1] [2] [3]]"},
		{"v[[0, 0, 2]]", "[1 1 3]"}, {"v[m]", "[1 3]"}, {"v[v > 1]", "[2 3]"}, {"B[[0, 1], [2, 0]]", "[2 3]"},
		{"B[:, [2, 0]]", "[[2 0] [5 3]]"}, {"B[[1, 0]][:, 0]", "[3 0]"}, {"T[0, [0, 2], 1]", "[1 9]"}, {"T[[0, 1], :, [1, 3]].shape", "(2 3)"},
		{"T[:, [0, 1], [1, 2]].shape", "(2 2)"}, {"B[B > 2]", "[3 4 5]"}, {"v[-10:2]", "[1 2]"}, {"v[2:0:-1]", "[3 2]"},
		// reductions
		{"sum(B)", "15"}, {"sum(B, axis=0)", "[3 5 7]"}, {"sum(B, axis=-1, keepdims=true)", "[[3] [12]]"}, {"mean(B)", "2.5"},
		{"sum(T, axis=(0, 2))", "[60 92 124]"}, {"prod(v)", "6"}, {"var(v)", "0.666666666667"}, {"var(v, ddof=1)", "1"}, {"std(B, axis=0)", "[1.5 1.5 1.5]"},
		{"max(B)", "5"}, {"max(B, axis=1)", "[2 5]"}, {"max(x, y)", "3"}, {"max(v, 2)", "[2 2 3]"}, {"min(v, w, 2)", "[1 2 2]"}, {"amax(v)", "3"},
		{"cumsum(v)", "[1 3 6]"}, {"cumprod(w)", "[4 20 120]"}, {"cumsum(B, axis=0)", "[[0 1 2] [3 5 7]]"}, {"cumsum(A)", "[1 3 6 10]"},
		{"logsumexp([1000, 1000])", "1000.69314718"}, {"softmax([0, log(3)])", "[0.25 0.75]"}, {"log_softmax([0, 0])", "[-0.69314718056 -0.69314718056]"},
		{"softmax([[0, log(3)], [0, 0]], axis=None)", "[[0.166666666667 0.5] [0.166666666667 0.166666666667]]"}, {"log_softmax([[[0], [0]], [[0], [0]]], (0, 1))[1, 0]", "[-1.38629436112]"}, {"softmax(3, None)", "1"},
		{"normalize([[3, 0], [0, 4]], None)", "[[0.6 0] [0 0.8]]"}, {"standardize([[1], [3]], axis=(0, 1), eps=0)", "[[-1] [1]]"}, {"logcumsumexp([[0], [0]], None)", "[0 0.69314718056]"},
		{"softmax(A, axis=0)[1, 0]", "0.880797077978"}, {"norm([3, 4])", "5"}, {"norm(A, axis=0)", "[3.16227766017 4.472135955]"}, {"norm([1e200, 1e200])", "1.41421356237e+200"},
		{"norm(v, 1)", "6"}, {"any(v > 2)", "true"}, {"all(v > 2)", "false"}, {"argmax(v)", "2"}, {"argmin(B, axis=1)", "[0 0]"}, {"argsort([3, 1, 2])", "[1 2 0]"},
		{"sort([3, 1, 2])", "[1 2 3]"}, {"median([4, 1, 2, 3])", "2.5"}, {"trace(A)", "5"}, {"reduce_sum(v)", "6"}, {"diff(v^2)", "[3 5]"},
		// shapes
		{"reshape(B, (3, 2))", "[[0 1] [2 3] [4 5]]"}, {"reshape(B, 3, -1)", "[[0 1] [2 3] [4 5]]"}, {"transpose(B)", "[[0 3] [1 4] [2 5]]"},
		{"transpose(T, (2, 0, 1)).shape", "(4 2 3)"}, {"swapaxes(T, 0, -1).shape", "(4 3 2)"}, {"concat([v, w])", "[1 2 3 4 5 6]"}, {"concat([v, [9]])", "[1 2 3 9]"},
		{"concat([A, A], axis=1)", "[[1 2 1 2] [3 4 3 4]]"}, {"stack([v, w], axis=1)", "[[1 4] [2 5] [3 6]]"}, {"squeeze([[1, 2]])", "[1 2]"}, {"expand_dims(v, 0)", "[[1 2 3]]"},
		{"tile(v, 2)", "[1 2 3 1 2 3]"}, {"tile(A, (1, 2))", "[[1 2 1 2] [3 4 3 4]]"}, {"repeat(v, 2)", "[1 1 2 2 3 3]"}, {"repeat(A, 2, axis=0)", "[[1 2] [1 2] [3 4] [3 4]]"},
		{"flip(v)", "[3 2 1]"}, {"roll(v, 1)", "[3 1 2]"}, {"take(v, [2, 0])", "[3 1]"}, {"take(B, [2, 0], axis=1)", "[[2 0] [5 3]]"}, {"diag(A)", "[1 4]"}, {"diag(v)[2]", "[0 0 3]"},
		{"tril(A)", "[[1 0] [3 4]]"}, {"triu(A)", "[[1 2] [0 4]]"}, {"outer(v, [1, 2])", "[[1 2] [2 4] [3 6]]"}, {"kron([1, 2], [1, 10])", "[1 10 2 20]"}, {"dot(v, w)", "32"},
		{"inner(A, A)", "[[5 11] [11 25]]"}, {"inner(zeros(2, 0), zeros(1, 0))", "[[0] [0]]"}, {"lstsq([[1, 0, 0], [0, 2, 0]], [3, 4])", "[3 2 0]"}, {"zeros(2, 1)", "[[0] [0]]"}, {"ones((2,))", "[1 1]"}, {"full((2,), 7)", "[7 7]"}, {"eye(2)", "[[1 0] [0 1]]"}, {"arange(3)", "[0 1 2]"},
		{"arange(1, 2, 0.5)", "[1 1.5]"}, {"linspace(0, 1, 3)", "[0 0.5 1]"}, {"one_hot([1, 0], 3)", "[[0 1 0] [1 0 0]]"}, {"where(v > 1, v, 0)", "[0 2 3]"}, {"pad(v, 1)", "[0 1 2 3 0]"},
		{"segment_sum([1, 2, 3], [0, 0, 1])", "[3 3]"}, {"segment_max([1, 2, 3], [0, 0, 1])", "[2 3]"}, {"segment_min([[1, 9], [2, 3]], [0, 0], n=1)", "[[1 3]]"}, {"split(arange(4), 2)", "([0 1] [2 3])"}, {"moveaxis(T, 0, -1).shape", "(3 4 2)"},
		// linear algebra
		{"solve(A, [5, 11])", "[1 2]"}, {"inv(A)", "[[-2 1] [1.5 -0.5]]"}, {"det(A)", "-2"}, {"logdet(S)", "1.60943791243"}, {"cholesky([[4, 2], [2, 5]])", "[[2 0] [1 2]]"}, {"cholesky([[4, 3], [1, 5]])", "[[2 0] [1 2]]"}, {"eigvalsh([[0, 2], [0, 0]])", "[-1 1]"},
		{"eigvalsh(S)", "[1.38196601125 3.61803398875]"}, {"svdvals([[3, 0], [0, 4]])", "[4 3]"}, {"expm([[0, 1], [-1, 0]])[0, 0]", "0.540302305868"}, {"expm([[1, 0], [0, 2]])", "[[2.71828182846 0] [0 7.38905609893]]"},
		{`einsum("ij,jk->ik", A, A)`, "[[7 10] [15 22]]"}, {`einsum("ii", A)`, "5"}, {`einsum("...i->...", B)`, "[3 12]"}, {"det(stack([A, S]))", "[-2 5]"},
		// networks
		{"conv1d([[[1, 2, 3, 4]]], [[[1, 1]]])", "[[[3 5 7]]]"}, {"conv1d([[[1, 2, 3]]], [[[1, 1]]], stride=2, padding=1)", "[[[1 5]]]"}, {"avg_pool2d([[[[1, 2], [3, 4]]]], 2)", "[[[[2.5]]]]"},
		{"conv2d([[[[1, 2], [3, 4]]]], [[[[1, 0], [0, 1]]]])", "[[[[5]]]]"}, {"relu(y)", "0"}, {"leaky_relu(-2, 0.1)", "-0.2"}, {"elu([-1, 1])", "[-0.632120558829 1]"}, {"clip_by_norm([3, 4], 1)", "[0.6 0.8]"},
		{"clip(v, 1.5, 2.5)", "[1.5 2 2.5]"}, {"clip_by_value(7, 0, 5)", "5"}, {"relu6([7, -1])", "[6 0]"}, {"stop_gradient(x) + 1", "4"}, {"adjust_contrast([[[1], [3]]], 2)", "[[[0] [4]]]"},
		{"glu([1, 2, 0, 0])", "[0.5 1]"}, {"huber([0.5, 3])", "[0.125 2.5]"}, {"mse(v, w)", "9"}, {"softmax_cross_entropy([0, 0], [1, 0])", "0.69314718056"}, {"standardize([1, 3], eps=0)", "[-1 1]"},
		{"sigmoid_cross_entropy(0, 1)", "0.69314718056"}, {"clip_by_norm([[3, 4], [0, 0.5]], 1, axis=1)", "[[0.6 0.8] [0 0.5]]"}, {"normalize([3, 4])", "[0.6 0.8]"},
		{"l2_normalize([[0, 3], [4, 0]])", "[[0 0.6] [0.8 0]]"}, {"l2_normalize([[0, 3], [4, 0]], 1)", "[[0 1] [1 0]]"}, {"l2_normalize([0, 1e-7])", "[0 0.1]"},
		{"logcumsumexp([[0, 0], [0, 0]])", "[[0 0.69314718056] [0 0.69314718056]]"}, {"cumlogsumexp([[0, 0], [0, 0]])", "[[0 0] [0.69314718056 0.69314718056]]"},
		{"reduce_max([[1, 5], [3, 2]], 1)", "[5 3]"}, {"amin([[1, 5], [3, 2]], 0, true)", "[[1 2]]"}, {"amax(3)", "3"}, {"isnan(polygamma([0.5, 1], 1))", "[true false]"}, {"max(A, 2)", "[[2 2] [3 4]]"},
		{"solve_triangular([[1, 5], [3, 2]], [1, 2])", "[-4 1]"}, {"solve_triangular([[1, 5], [3, 2]], [1, 2], true)", "[1 -1.5]"}, {"triangular_solve([[1, 5], [3, 2]], [1, 2])", "[1 -0.5]"}, {"triangular_solve([[1, 5], [3, 2]], [1, 2], trans=true)", "[-2 1]"},
		{"sum(v, axis=None)", "6"}, {"cast(v > 1, int64)", "[0 1 1]"}, {"multi_dot([A, A, A])", "[[37 54] [81 118]]"}, {"count(B, axis=1)", "3"}, {"tensor([1, 2])", "[1 2]"},
		// functions as values
		{"vmap(r -> sum(r))(B)", "[3 12]"}, {"vmap((a, b) -> a @ b)(A, A)", "[5 25]"}, {"(z -> z^2)(x)", "9"}, {"scan((c, z) -> (c + z, c), 0, v)", "(6 [0 1 3])"}, {"vmap(sin)(v) - sin(v)", "[0 0 0]"}, {"vmap(stop_gradient)(v)", "[1 2 3]"},
		{"scan((c, z) -> (c + z[0] * z[1], c), 0, (v, w))", "(32 [0 4 14])"},
		// statements
		{"f(a, b) = a * b + 1; f(x, y)", "-5"}, {"f(a) { b = a + 1; b * b }; f(v)", "[4 9 16]"}, {"f(n) = n < 2 ? 1 : n * f(n - 1); f(5)", "120"},
		{"q, r = (x, v); r * q", "[3 6 9]"}, {"if x > 0 { z = 1 } else { z = 2 }\nz", "1"}, {"if x < 0 { z = 1 } else if x < 4 { z = 2 } else { z = 3 }\nz", "2"},
		{"z = 1; i = 0\nwhile i < 3 { z = z*x; i = i + 1 }\nz", "27"}, {"z = 1\nfor i in range(3) { z = z*x }\nz", "27"}, {"z = 0\nfor r in B { z = z + r }\nz", "[3 5 7]"},
		{"no_gradient { z = x + 1 }\nz * 2", "8"}, {"var s = x; s += 2; s *1", "5"}, {"x += 1; x", "4"}, {"s = 1; s = s + x", "4"}, {"z = x*x; reset; z + 1", "10"},
		{"watch x; x", "3"}, {"g(h, a) = h(h(a)); g(z -> z * 2, x)", "12"}, {"f(a) = a + y; f(x)", "1"}, {"gradient st(a; g) = g\nst(a) = round(a)\nst(2.7)", "3"},
		{"k(a) = a^2\nk(x) + k(y)", "13"}, {"max = 4; max", "4"}, {"pi = 3; pi", "3"}, {"sum(v)/v.size", "2"},
	}
	in := vars(t, at)
	for _, r := range rows {
		if got := show(eval(t, r.text, in)); got != r.want {
			t.Errorf("%s = %s, want %s", r.text, got, r.want)
		}
	}
}

// Every function of numbers against values computed elsewhere, to 40 digits.
func TestFunctions(t *testing.T) {
	rows := []struct {
		text string
		want float64
	}{
		{"exp(709.7)", 1.6549840276802644e308}, {"exp2(10)", 1024}, {"expm1(1e-10)", 1.00000000005e-10}, {"log2(8)", 3}, {"log10(1000)", 3}, {"log1p(1e-10)", 9.9999999995e-11},
		{"log2(1.0000000000000002)", 3.2034265038149175e-16}, {"sinh(710.2)", 1.3643036845527108e308}, {"cosh(710.2)", 1.3643036845527108e308}, {"sech(20)", 4.1223072448771156e-09},
		{"asin(0.5)", math.Pi / 6}, {"arccos(0.5)", math.Pi / 3}, {"acos(1 - 1e-10)", 1.4142136208911564e-05}, {"atan2(1, -1)", 3 * math.Pi / 4}, {"arctan2(1, 1)", math.Pi / 4},
		{"asinh(1)", 0.881373587019543}, {"acosh(2)", 1.3169578969248166}, {"atanh(0.5)", 0.5493061443340548}, {"cbrt(-27)", -3}, {"hypot(3, 4)", 5},
		{"erf(0.5)", 0.5204998778130465}, {"erfc(5)", 1.5374597944280349e-12}, {"gamma(5)", 24}, {"lgamma(100)", 359.1342053695754}, {"gammaln(0.5)", 0.5723649429247001},
		{"digamma(1)", -0.5772156649015329}, {"digamma(0.1)", -10.423754940411076}, {"digamma(-0.5)", 0.03648997397857652}, {"digamma(100)", 4.600161852738087},
		{"polygamma(1, 1)", math.Pi * math.Pi / 6}, {"polygamma(2, 1)", -2.4041138063191886}, {"sigmoid(-800)", 0}, {"sigmoid(2)", 0.8807970779778824}, {"softplus(-40)", 4.248354255291589e-18},
		{"softplus(800)", 800}, {"logsigmoid(-800)", -800}, {"gelu(1)", 0.8413447460685429}, {"selu(-1)", -1.1113307378125625}, {"silu(1)", 0.7310585786300049}, {"mish(1)", 0.8650983882673103},
		{"softsign(-3)", -0.75}, {"hardtanh(-3)", -1}, {"logaddexp(1000, 1000)", 1000.6931471805599}, {"xlogy(0, 0)", 0}, {"xlogy(2, 3)", 2 * math.Log(3)}, {"sign(-3)", -1}, {"round(2.5)", 2},
		{"trunc(-1.5)", -1}, {"ceil(-1.5)", -1}, {"floor(-1.5)", -2}, {"mod(-7, 3)", 2}, {"maximum(1, 2)", 2}, {"minimum(1, 2)", 1}, {"pow(2, 10)", 1024}, {"power(2, 0.5)", math.Sqrt2},
		{"threshold(3, 1, 7)", 3}, {"threshold(1, 1, 7)", 7}, {"sinc(1)", 0}, {"sinc(-710)", 0}, {"sinc(inf)", 0}, {"sinc(2.5)", 0.12732395447351627}, {"softsign(-inf)", -1}, {"silu(-inf)", 0}, {"gelu(-inf)", 0}, {"mish(-inf)", 0},
		{"log(1e-320)", -736.8272408909739}, {"log10(1e-320)", -320.000004834948}, {"lgamma(-1e-320)", 736.8272408909739}, {"lgamma(-inf)", math.Inf(1)}, {"digamma(0)", math.Inf(-1)}, {"radians(1e308)", 1.7453292519943295e306},
		{"beta(710, 2)", 1.9809433252114655e-06}, {"tanhshrink(-2.99e-9)", -8.910299666666665e-27}, {"tanhshrink(0.03)", 8.9967611798554131e-06}, {"tanhshrink(0.5)", 0.037882842739990241}, {"polygamma(1, -861786.009610652)", 10829.945447435857}, {"betaln(1e15, 2)", -69.07755278982137}, {"inf // 2", math.NaN()},
		{"pow(1.0000001, 1e9)", 2.6881038582144646e43}, {"sinc(0.5)", 2 / math.Pi}, {"logit(0.5)", 0}, {"fabs(-2)", 2}, {"square(3)", 9}, {"rsqrt(4)", 0.5}, {"tan(1)", 1.5574077246549023}, {"copysign(3, -1)", -3},
	}
	for _, r := range rows {
		v := eval(t, r.text, nil)
		if v.Kind != tensor.KindTensor {
			continue
		}
		tol := 1e-14 // a few ulp, and the reference's own last digits
		if strings.HasPrefix(r.text, "pow(1.0") || strings.Contains(r.text, "sh(71") || strings.HasPrefix(r.text, "sinh(71") {
			tol = 1e-12 // a product of 1e9 and a logarithm; half of an exponential near its limit
		}
		if got := v.Tensor.Item(); !same64(got, r.want) && !(math.Abs(got-r.want) <= math.Max(1e-17, tol*math.Abs(r.want))) {
			t.Errorf("%s = %.17g, want %.17g", r.text, got, r.want)
		}
	}
}

// A tree is an expression and what it is worth, built together.
type tree struct {
	text string
	f    func(x, y float64) float64
}

func grow(rng *rand.Rand, depth int) tree {
	if depth == 0 || rng.Intn(8) == 0 {
		switch rng.Intn(3) {
		case 0:
			return tree{"x", func(x, _ float64) float64 { return x }}
		case 1:
			return tree{"y", func(_, y float64) float64 { return y }}
		}
		c := math.Round(rng.Float64()*1e4) / 1e3
		return tree{fmt.Sprint(c), func(_, _ float64) float64 { return c }}
	}
	a, b := grow(rng, depth-1), grow(rng, depth-1)
	infix := func(op string, f func(p, q float64) float64) tree {
		return tree{"(" + a.text + ")" + op + "(" + b.text + ")", func(x, y float64) float64 { return f(a.f(x, y), b.f(x, y)) }}
	}
	prefix := func(name string, f func(p float64) float64) tree {
		return tree{name + "(" + a.text + ")", func(x, y float64) float64 { return f(a.f(x, y)) }}
	}
	choose := func(cond string, f func(p, q float64) bool) tree {
		c := grow(rng, depth-1)
		return tree{"(" + a.text + cond + c.text + " ? " + b.text + " : " + a.text + ")", func(x, y float64) float64 {
			if f(a.f(x, y), c.f(x, y)) {
				return b.f(x, y)
			}
			return a.f(x, y)
		}}
	}
	switch rng.Intn(14) {
	case 0:
		return infix(" + ", func(p, q float64) float64 { return p + q })
	case 1:
		return infix("-", func(p, q float64) float64 { return p - q })
	case 2:
		return infix("*", func(p, q float64) float64 { return p * q })
	case 3:
		return infix("/", func(p, q float64) float64 { return p / q })
	case 4:
		return infix("^", math.Pow)
	case 5:
		return infix("%", mod)
	case 6:
		return prefix("-", func(p float64) float64 { return -p })
	case 7:
		return prefix("sin", math.Sin)
	case 8:
		return prefix("tanh", math.Tanh)
	case 9:
		return prefix("abs", math.Abs)
	case 10:
		a.text, b.text = "("+a.text+")", "("+b.text+")"
		return choose(" < ", func(p, q float64) bool { return p < q })
	case 11:
		a.text, b.text = "("+a.text+")", "("+b.text+")"
		return choose(" >= ", func(p, q float64) bool { return p >= q })
	case 12:
		return tree{"max(" + a.text + ", " + b.text + ")", func(x, y float64) float64 { return maximum(a.f(x, y), b.f(x, y)) }}
	}
	return infix(" > 0 && ", nil).logic(a, b)
}

// logic is 0 or 1 by a condition of both operands, to put bools among numbers.
func (t tree) logic(a, b tree) tree {
	text := "2*((" + a.text + ") > 0 && !((" + b.text + ") > 1) || (" + a.text + ") != (" + b.text + "))"
	return tree{text, func(x, y float64) float64 {
		p, q := a.f(x, y), b.f(x, y)
		return 2 * b2f(p > 0 && !(q > 1) || p != q)
	}}
}

func same64(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// govaluate's operators, on tokens, against Go's, on random trees: the same bits.
func TestRandomTrees(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	n := 20000
	if testing.Short() {
		n = 2000
	}
	for range n {
		tr := grow(rng, 1+rng.Intn(5))
		x, y := rng.NormFloat64()*2, rng.NormFloat64()*2
		in := map[string]*tensor.Value{"x": tensor.Of(tensor.Scalar(x)), "y": tensor.Of(tensor.Scalar(y))}
		e := program(t, tr.text)
		v, err := e.Eval(in)
		want := tr.f(x, y)
		if err != nil || !same64(v.Tensor.Item(), want) {
			t.Fatalf("%s at x=%v y=%v = %v (%v), want %v", tr.text, x, y, v, err, want)
		}
		for node, m := range e.used {
			if m != scalar {
				t.Fatalf("%s is not written with govaluate's operators: %s", tr.text, tokens(node))
			}
		}
		// The same with functions of tensors: x of shape (1,).
		in["x"] = tensor.Of(tensor.From([]float64{x}, 1))
		if strings.Contains(tr.text, "?") {
			continue // a condition may not be a tensor of many, but one of one is fine for the referee
		}
		v, err = e.Eval(in)
		if err != nil || !close64(v.Tensor.Data[0], want) {
			t.Fatalf("%s at x=[%v] y=%v = %v (%v), want %v", tr.text, x, y, v, err, want)
		}
	}
}

// close64 allows what pow's other path costs.
func close64(a, b float64) bool {
	return same64(a, b) || math.Abs(a-b) <= 1e-9*math.Abs(b) || math.Abs(b) > 1e15
}

func TestUnsupported(t *testing.T) {
	in := vars(t, "x=[1,2]")
	for text, what := range map[string]string{
		"grad(sum(x), x)":         "grad",
		"jacobian(x, x)":          "jacobian",
		"hessian(sum(x), x)":      "hessian",
		"x + randn(2)":            "randn",
		"frobnicate(x)":           "frobnicate",
		"grad(z -> z^2)(x)":       "grad",
		"sum(x, weights=x)":       "argument weights of sum",
		"f(a) = grad(a, x); f(x)": "grad",
		"while true { x = x }; x": "time for more than 2000000 steps",
		"f(a) = f(a); f(1)":       "room for f, which calls itself more than 2000 times deep",
	} {
		_, err := program(t, text).Eval(in)
		var u *Unsupported
		if !errors.As(err, &u) || u.What != what {
			t.Errorf("%s: %v, want the referee to have no %s", text, err, what)
		}
	}
}

func TestErrors(t *testing.T) {
	in := vars(t, "x=[1,2]; y=[1,2,3]; s=3")
	for _, text := range []string{
		"x + y", "x @ y", "x[2]", "x[0, 0]", "nowhere", "s(1)", "sum(x, axis=1)", "sin(x, x)", "sin()", "reshape(x, (3,))",
		"solve([[1, 1], [1, 1]], x)", "cholesky([[-1]])", "a, b = y", "x ? 1 : 2", "z := 1", `einsum("ij", x)`,
		"stack([x, y])", "while x { }", "for i in s { }", "sqrt((x, y))", "max()", "{a: 1}.b", "zeros(1000000, 1000000)", "ones(-1)", "arange(1e12)", "scan((c, z) -> c, 0, x)",
		"repeat(x, -1)", "tile(x, -1)", "eye(-1)", "conv1d(x, x)", "pad(x, -5)", "split(x, 3)", "expand_dims(x, 5)", "x.nothing",
	} {
		if v, err := program(t, text).Eval(in); err == nil {
			t.Errorf("%s = %s, want an error", text, show(v))
		} else if strings.Contains(err.Error(), "gave up") {
			t.Errorf("%s: %v, want an error in our own words", text, err)
		}
	}
}

// tokens is the govaluate expression that stands for x: its own operators if
// x can be read as an expression of real scalars, else functions.
func tokens(x expr.Expr) string {
	e := newEvaluator(nil)
	m := general
	if e.scalar(x) != noType {
		m = scalar
	}
	text, err := e.text(x, m)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return text
}

func TestTokens(t *testing.T) {
	rows := []struct{ text, want string }{
		{"x^2*sin(x)", "((x ** 2) * sin(x))"},
		{"-x^2", "(-(x ** 2))"},
		{"2^3^2", "(2 ** (3 ** 2))"},
		{"x % 2 > 1e-3 ? x : y", "((mod(x, 2) > 1e-3) ? x : y)"},
		{"(x > 0) * 2", "(((x > 0) ? 1 : 0) * 2)"},
		{"!x && y", "((!(x != 0)) && (y != 0))"},
		{"A @ b", "matmul(A, b)"},
		{"sum(x, axis=0)[1:]", `index(sum(x, named("axis", 0)), slice(1, "", ""))`},
		{"x.T + model.w", `add(field(x, "T"), field(model, "w"))`},
		{"model.w ^ 2", "(model.w ** 2)"},
	}
	for _, r := range rows {
		x, _, err := expr.ParseExpr("", r.text)
		if err != nil {
			t.Fatal(r.text, err)
		}
		if got := tokens(x); got != r.want {
			t.Errorf("tokens of %s = %s, want %s", r.text, got, r.want)
		}
	}
	e := program(t, "y = x^2; sum(y)")
	if _, err := e.Eval(vars(t, "x=[1,2]")); err != nil {
		t.Fatal(err)
	}
	if got, want := e.Text(), "y = pow(x, 2)\nsum(y)\n"; got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
}

func TestTargets(t *testing.T) {
	e := program(t, "y0 = x^2; y1 = 1/x")
	in := vars(t, "x=2")
	for name, want := range map[string]string{"y0": "4", "y1": "0.5"} {
		f, err := e.Freeze(name, in)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := f.Eval(in); err != nil || show(v) != want {
			t.Errorf("%s = %v, %v, want %s", name, v, err, want)
		}
	}
	if v, err := e.Eval(in); err != nil || show(v) != "0.5" {
		t.Errorf("target = %v, %v, want the last bound name, 0.5", v, err)
	}
	if _, err := e.Freeze("z", in); err == nil {
		t.Error("the target z has a value, want an error")
	}
}

// A barrier keeps the value of the base point, so that a difference sees what a derivative sees.
func TestFreeze(t *testing.T) {
	rows := []struct{ text, base, moved, want string }{
		{"x * stop_gradient(x)", "x=3", "x=4", "12"},
		{"no_gradient { y = x^2 }\nx + y", "x=3", "x=4", "13"},
		{"y = x^2; reset; x + y", "x=3", "x=4", "13"},
		{"s += x; s * x", "x=3; s=1", "x=5; s=1", "20"},
		{"var s = x; s * x", "x=3", "x=5", "15"},
		{"s = x; s += x; s", "x=3", "x=5", "10"}, // a name that = binds is no state
		{"z = x - stop_gradient(max(x)); exp(z)[0]", "x=[0, 1]", "x=[1, 1]", "1"},
		{"x^2", "x=3", "x=4", "16"},
	}
	for _, r := range rows {
		f, err := program(t, r.text).Freeze("", vars(t, r.base))
		if err != nil {
			t.Errorf("%s: %v", r.text, err)
			continue
		}
		for range 2 { // twice: a replay leaves the tape as it was
			if v, err := f.Eval(vars(t, r.moved)); err != nil || show(v) != r.want {
				t.Errorf("%s frozen at %s, evaluated at %s = %v, %v, want %s", r.text, r.base, r.moved, v, err, r.want)
			}
		}
	}
	f, err := program(t, "y = x*x; y = y + 1; z = y*y; z").Freeze("", vars(t, "x=3"))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := f.evalPinned(vars(t, "x=3"), vars(t, "y=7")); err != nil || show(v) != "49" {
		t.Errorf("z with y pinned to 7 = %v, %v, want 49", v, err)
	}
}

func TestSource(t *testing.T) {
	in := vars(t, "x=3; m={w: [1, 2], b: 5}; l=([1], [2, 3])")
	rows := []struct{ text, path, base, moved, want string }{
		{"x^2", "x", "[3]", "[4]", "[16]"},
		{"sum(m.w * m.b)", "m.w", "[1 2]", "[1 3]", "[20]"},
		{"m.w * m.b", "m.b", "[5]", "[2]", "[2 4]"},
		{"sum(l[1]) + x", "l[1]", "[2 3]", "[2 4]", "[9]"},
		{"y = x*x; z = y*y; z", "y", "[9]", "[2]", "[4]"},
		{"(x, 2*x)", "x", "[3]", "[1]", "[1 2]"},
		{"x += 1; x^2", "x", "[4]", "[5]", "[25]"},           // the variable, not what it was before
		{"x = x^2; x = x + 1; x", "x", "[3]", "[4]", "[17]"}, // the input, whatever its name is bound to later
		{"for i in range(2) { x = x^2 }\nx", "x", "[3]", "[2]", "[16]"},
		{"x += 1; x = x^2; x", "x", "[4]", "[5]", "[25]"}, // the variable, when it was one
		{"y = x; y = y^2; y + 1", "y", "[9]", "[5]", "[6]"},
		{"g(a) = a*x; g(2)", "x", "[3]", "[5]", "[10]"},
		{"x * stop_gradient(x)", "x", "[3]", "[4]", "[12]"},
		{"p = (z -> z, 1); p[0](x)", "x", "[3]", "[4]", "[4]"},
		{"sum(none) + x", "x", "[3]", "[4]", "[4]"},
	}
	in["none"] = tensor.Of(&tensor.Tensor{Shape: tensor.Shape{2, 0}}) // as a file gives it
	for _, r := range rows {
		f, err := program(t, r.text).Freeze("", in)
		if err != nil {
			t.Errorf("%s: %v", r.text, err)
			continue
		}
		x, y, err := f.Source(in, r.path)
		if err != nil || fmt.Sprint(x.Data) != r.base {
			t.Errorf("%s: source %s = %v, %v, want %s", r.text, r.path, x, err, r.base)
			continue
		}
		to := eval(t, strings.ReplaceAll(r.moved, " ", ", "), nil).Tensor.Data
		if got, err := y(to); err != nil || fmt.Sprint(got) != r.want {
			t.Errorf("%s with %s at %s = %v, %v, want %s", r.text, r.path, r.moved, got, err, r.want)
		}
		if again, _ := y(x.Data); fmt.Sprint(again) == r.want {
			t.Errorf("%s: moving %s changed the base point", r.text, r.path)
		}
	}
	f, _ := program(t, "x").Freeze("", in)
	if x, _, err := f.Source(in, "none"); err != nil || len(x.Data) != 0 {
		t.Errorf("a tensor without numbers as a source: %v, %v", x, err)
	}
	for _, path := range []string{"q", "m", "m.q", "l[7]", "x.w"} {
		if _, _, err := f.Source(in, path); err == nil {
			t.Errorf("there is a source %s, want an error", path)
		}
	}
	if got := fmt.Sprint(program(t, "f(a) = a\ngradient f(a; g) = 2*g\nf(x)").Custom()); got != "[f]" {
		t.Errorf("custom gradients of %s, want [f]", got)
	}
}

// A deep chain and a long sum: govaluate recurses, the referee must not crash.
func TestDeep(t *testing.T) {
	long := strings.Repeat("x + ", 3000) + "x"
	if v := eval(t, long, vars(t, "x=1")); show(v) != "3001" {
		t.Errorf("a sum of 3001 ones = %s", show(v))
	}
	if v := eval(t, long, vars(t, "x=[1]")); show(v) != "[3001]" {
		t.Errorf("a sum of 3001 vectors = %s", show(v))
	}
	e := program(t, strings.Repeat("x + ", 20000)+"x")
	var u *Unsupported
	if _, err := e.Eval(vars(t, "x=1")); !errors.As(err, &u) {
		t.Errorf("a chain of 20001 terms: %v, want it refused", err)
	}
}

// One evaluator serves many goroutines.
func TestConcurrent(t *testing.T) {
	e := program(t, "f(a) = a^2 > 4 ? sum(a * v) : a; g = z -> f(z) + x; if x > 0 { y = g(x) } else { y = vmap(g)(v)[0] }\ny && x ? y : 0")
	in := vars(t, "v=[1,2,3]")
	var wait sync.WaitGroup
	for k := range 8 {
		wait.Go(func() {
			for i := range 50 {
				x := float64(k+i%5) - 3
				at := map[string]*tensor.Value{"v": in["v"], "x": tensor.Of(tensor.Scalar(x))}
				f := func(a float64) float64 {
					if a*a > 4 {
						return 6 * a
					}
					return a
				}
				want := f(x) + x
				if x <= 0 {
					want = f(1) + x
				}
				if want == 0 || x == 0 {
					want = 0
				}
				if v, err := e.Eval(at); err != nil || v.Tensor.Item() != want {
					t.Errorf("at x=%v: %v, %v, want %v", x, v, err, want)
					return
				}
			}
		})
	}
	wait.Wait()
}

// What rounding may do to a value, within a factor of ten either way.
func TestNoise(t *testing.T) {
	rows := []struct {
		text, at string
		want     float64
	}{
		{"(1 - cos(x)) / x^2", "x=1e-5", 1e-6},
		{"(1 - cos(x)) / x^2", "x=1", 1e-16},
		{"1 - x", "x=0.999999", 0}, // exact
		{"3 * x", "x=2", 0},
		{"x[0] * 2 + max(x)", "x=[1, 2]", 0},
		{"(1e8 + x) - 1e8", "x=0.3", 1e-8},
		{"sum(x)", "x=[0.1, 0.2]", 4e-17},
		{"(x + 3) / 3", "x=2.5e-12", 2e-16}, // less than half a unit each time rounded back
		{"float32(x) * 3", "x=0.1", 1e-8},
		{`cast(x, "float32") * [3, 3] @ [1, 0]`, "x=0.1", 1e-8},
		{"solve([[1, 1], [1, 1.000001]], x)[0]", "x=[1, 1.7]", 1e-4},
		{"if x > 0 { y = exp(x) }\ny - 1 - x", "x=1e-8", 1e-16},
	}
	for _, r := range rows {
		v, err := program(t, r.text).Noise("", vars(t, r.at))
		if err != nil {
			t.Errorf("%s: %v", r.text, err)
			continue
		}
		if got := v.Tensor.Item(); got > 10*r.want || got < r.want/10 {
			t.Errorf("noise of %s at %s = %.3g, want about %.3g", r.text, r.at, got, r.want)
		}
	}
	e := program(t, "exp(sin(x) * 3)")
	a, _ := e.Noise("", vars(t, "x=2"))
	b, _ := e.Noise("", vars(t, "x=2"))
	if a.Tensor.Item() != b.Tensor.Item() || a.Tensor.Item() == 0 {
		t.Errorf("noise is %v, then %v, want the same and not 0", a.Tensor.Item(), b.Tensor.Item())
	}
}

// Whatever parses is evaluated or refused; nothing panics past the package's edge.
func FuzzEval(f *testing.F) {
	for _, text := range []string{
		"x^2*sin(x)", "A @ v + 1", "sum(A[:, ::-1], axis=-1)", "f(a, b) = a * b; f(x, v)", "vmap(z -> z^2)(v)", "{a: x, b: v}.b[0]",
		"for i in range(3) { x = x * 2 }\nx", "x > 1 ? x : v", `einsum("ij,j->i", A, v)`, "q, r = (x, v)", "no_gradient { y = x }\ny", "A[[0, 1], [1, 0]]",
		"take(A, [1], axis=1)", "reshape(A, -1)", "pad(v, (1, 2))", "conv1d([[v]], [[v]])", "x += 1; reset; x", "scan((c, z) -> (c, z), x, A)", "roll(v, 1)", "split(v, 3)",
	} {
		f.Add(text)
	}
	in := map[string]*tensor.Value{
		"x": tensor.Of(tensor.Scalar(1.5)), "v": tensor.Of(tensor.From([]float64{1, 2, 3}, 3)),
		"A": tensor.Of(tensor.From([]float64{1, 2, 3, 4, 5, 6}, 2, 3)),
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "while") || len(text) > 200 {
			return // loops without end, and sizes that only take time
		}
		p, err := expr.Parse("", text)
		if err != nil {
			return
		}
		e, err := Compile(p)
		if err != nil {
			return
		}
		v, err := e.Eval(in)
		if err != nil {
			if strings.Contains(err.Error(), "gave up") {
				t.Errorf("%s: %v", text, err)
			}
			return
		}
		v.Leaves("", func(_ string, leaf *tensor.Value) {
			if leaf.Kind == tensor.KindTensor && leaf.Tensor.Shape.Size() != len(leaf.Tensor.Data) {
				t.Errorf("%s has %d numbers for shape %v", text, len(leaf.Tensor.Data), leaf.Tensor.Shape)
			}
		})
		e.Text()
	})
}

// Every operation with arguments of every kind gives a value or an error in words.
func TestAnyArguments(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	pool := []any{
		0.0, 1.0, -1.0, 2.0, 2.5, math.NaN(), math.Inf(1), true, "fro", "ij,jk->ik", none{}, tuple{}, tuple{[]any{1.0, 2.0}}, tuple{[]any{0.0}},
		tensor.New(0), tensor.New(2, 0), tensor.From([]float64{1, 2, 3}, 3), tensor.From([]float64{0, 2, 1}, 3), tensor.From([]float64{1, 2, 3, 4}, 2, 2),
		tensor.From([]float64{1, 2, 3, 4, 5, 6}, 1, 2, 3), tensor.From([]float64{1, 2, 3, 4}, 1, 1, 2, 2), builtin("sin"), &record{}, slice{"", "", ""},
		&tensor.Tensor{DType: tensor.Bool, Shape: tensor.Shape{3}, Data: []float64{1, 0, 1}},
	}
	words := []string{"axis", "keepdims", "ddof", "stride", "padding", "k", "n", "shape"}
	for _, name := range slices.Sorted(maps.Keys(ops())) {
		if slices.Contains([]string{"field", "named", "nullary", "record"}, name) {
			continue // written by the renderer alone
		}
		for range 1000 {
			c := &call{name: name, kw: map[string]any{}}
			for range rng.Intn(5) {
				c.pos = append(c.pos, pool[rng.Intn(len(pool))])
			}
			if rng.Intn(3) == 0 {
				c.kw[words[rng.Intn(len(words))]] = pool[rng.Intn(len(pool))]
			}
			shown := fmt.Sprint(name, c.pos, c.kw)
			func() {
				var err error
				defer func() {
					if err != nil && strings.Contains(err.Error(), "gave up") {
						t.Errorf("%s: %v", shown, err)
					}
				}()
				defer rescue(&err)
				if out, ok := c.do().(*tensor.Tensor); ok && out.Shape.Size() != len(out.Data) {
					t.Errorf("%s has %d numbers for shape %v", shown, len(out.Data), out.Shape)
				}
			}()
		}
	}
}

func BenchmarkScalar(b *testing.B) {
	p, _ := expr.Parse("", "x^2*sin(x) + exp(-x) / (1 + x*y)")
	e, _ := Compile(p)
	in := map[string]*tensor.Value{"x": tensor.Of(tensor.Scalar(3)), "y": tensor.Of(tensor.Scalar(2))}
	for b.Loop() {
		if _, err := e.Eval(in); err != nil {
			b.Fatal(err)
		}
	}
}
