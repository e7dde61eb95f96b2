package tape

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"nabla/tape/tensor"
)

// What the calls below are about: numbers without ties, away from kinks.
var given = map[string]string{
	"s": "0.7",
	"u": "[0.3, -1.2, 2.5]",
	"v": "[1.1, 0.4, -0.6]",
	"p": "[0.8, 1.7, 0.25, 1.2]",
	"m": "[[0.5, -1.5, 2], [1.25, 0.75, -0.4]]",
	"n": "[[1.5, 0.3], [-0.7, 2.1], [0.9, -1.1]]",
	"q": "[[2, 0.5, 0.1], [0.3, 1.5, -0.2], [0.7, -0.4, 1.1]]",
	"c": "[[[0.5, -1, 2, 0.3], [1.5, 0.7, -0.4, 1.3], [0.2, 2.2, 0.9, -0.8]], [[-0.6, 1.1, 0.35, 1.9], [0.45, -1.7, 1.6, 0.15], [2.4, -0.25, 0.65, 1.4]]]",
}

// structural are calls of operations that are not elementwise, by operation; every name
// in given is a variable. Each call is differentiated in full.
var structural = map[string][]string{
	// reductions
	"sum":          {"sum(m)", "sum(m, axis=0)", "sum(m, 1)", "sum(m, axis=-1, keepdims=true)", "sum(c, axis=(0, 2))", "sum(c, axis=1)", "sum(s)", "sum(c, axis=(0, 1), keepdims=true)"},
	"prod":         {"prod(u)", "prod(m, axis=0)", "prod(m, axis=1, keepdims=true)", "prod(m)", "prod([s])", "prod(c, axis=(0, 2))"},
	"mean":         {"mean(m)", "mean(m, axis=0)", "mean(c, axis=(0, -1), keepdims=true)"},
	"var":          {"var(p)", "var(m, axis=1)", "var(c, axis=(1, 2), ddof=1)", "var(m, axis=0, keepdims=true)"},
	"std":          {"std(p)", "std(m, axis=1)", "std(c, axis=(1, 2), ddof=1)", "std(m, keepdims=true)"},
	"max":          {"max(m)", "max(m, axis=0)", "max(c, axis=(0, 2), keepdims=true)", "max(u, v)", "max(u, v, s)"},
	"min":          {"min(m)", "min(m, axis=0)", "min(c, axis=1)", "min(u, v)", "min(m, v, s)"},
	"ptp":          {"ptp(m)", "ptp(m, axis=0)", "ptp(c, axis=1, keepdims=true)"},
	"median":       {"median(u)", "median(p)", "median(m, axis=0)", "median(c, axis=(0, 1), keepdims=true)"},
	"sort":         {"sort(p)", "sort(m, axis=0)", "sort(m)"},
	"logsumexp":    {"logsumexp(p)", "logsumexp(m, axis=0)", "logsumexp(c, axis=(0, 2), keepdims=true)", "logsumexp(s)"},
	"softmax":      {"softmax(p)", "softmax(m, axis=0)", "softmax(c, axis=1)"},
	"log_softmax":  {"log_softmax(p)", "log_softmax(m, axis=0)", "log_softmax(c, axis=(0, 2))", "log_softmax(m, axis=None)", "log_softmax(c, axis=1)"},
	"cumsum":       {"cumsum(p)", "cumsum(m)", "cumsum(m, axis=0)", "cumsum(c, axis=1)"},
	"cumprod":      {"cumprod(p)", "cumprod(m)", "cumprod(m, axis=0)", "cumprod(c, axis=1)"},
	"logcumsumexp": {"logcumsumexp(p)"},
	"amax":         {"amax(m, 1)", "reduce_max(c, (0, 2), true)"},
	"amin":         {"amin(m)", "reduce_min(m, -1)"},
	"diff":         {"diff(p)", "diff(m)", "diff(c, axis=1)", "diff(p, 2)"},
	"norm":         {"norm(u)", "norm(m)", "norm(m, axis=0)", "norm(c, 2, (0, 1), true)", "norm(u, 1)", "norm(u, inf)", "norm(p, 3)", "norm(m, 4, axis=1)", `norm(m, "fro")`, "norm(m, 2)", "norm(c, inf, axis=(1, 2))", "norm(s)", "norm(u, -inf)"},
	// shapes
	"reshape":         {"reshape(m, (3, 2))", "reshape(c, (-1, 4))", "reshape(s, 1)", "reshape(m, -1)"},
	"broadcast_to":    {"broadcast_to(u, (2, 3))", "broadcast_to(s, (2, 2))", "broadcast_to(m[:, :1], (2, 3))", "broadcast_to(c[:, :1], (2, 5, 4))"},
	"transpose":       {"transpose(m)", "transpose(c, (1, 2, 0))", "m.T", "c.T", "transpose(c, (0, 2, 1))"},
	"ravel":           {"ravel(m)", "ravel(s)"},
	"swapaxes":        {"swapaxes(c, 0, 2)", "swapaxes(c, 1, -1)"},
	"moveaxis":        {"moveaxis(c, 0, -1)", "moveaxis(c, 2, 0)"},
	"expand_dims":     {"expand_dims(m, 0)", "expand_dims(m, -1)", "expand_dims(m, 1)"},
	"squeeze":         {"squeeze(m[:, newaxis])", "squeeze(m[newaxis], 0)"},
	"concat":          {"concat([u, v])", "concat([m, q])", "concat([m, n.T, m], axis=1)", "concat((c, c), axis=-1)"},
	"stack":           {"stack([u, v])", "stack([u, v, u], axis=1)", "stack([m, m], axis=-1)", "[u, v]", "[s, s^2, 1]"},
	"vstack":          {"vstack([u, v])", "vstack([m, q])"},
	"hstack":          {"hstack([u, v, p])", "hstack([m, n.T])"},
	"split":           {"split(p, 2)[1]", "split(m, 3, axis=1)[0]", "split(p, [1, 3])[1]"},
	"tile":            {"tile(u, 2)", "tile(m, (2, 1))", "tile(u, (2, 2))"},
	"repeat":          {"repeat(u, 2)", "repeat(m, 3, axis=0)", "repeat(m, 2, axis=1)"},
	"flip":            {"flip(u)", "flip(m, axis=0)", "flip(m)", "flip(c, axis=(0, 2))"},
	"roll":            {"roll(p, 1)", "roll(m, -1, axis=1)", "roll(m, 2)"},
	"pad":             {"pad(u, 1)", "pad(m, (1, 2))", "pad(m, ((1, 0), (0, 2)), 3)", `pad(m, (1, 2), mode="reflect")`, `pad(u, 2, "wrap")`},
	"take":            {"take(p, [2, 0, 2])", "take(m, [1, 0], axis=1)", "take(p, 1)", "take(c, [[0, 2], [2, 1]], axis=1)"},
	"take_along_axis": {"take_along_axis(m, [[2, 0], [1, 1]])", "take_along_axis(m, [[0, 1, 0]], axis=0)"},
	"segment_sum":     {"segment_sum(p, [1, 0, 1, 2], 4)", "segment_sum(n, [0, 0, 1], 2)"},
	"segment_mean":    {"segment_mean(p, [1, 0, 1, 2], 4)", "segment_mean(n, [0, 0, 1])"},
	"segment_max":     {"segment_max(p, [1, 0, 1, 2])", "segment_max(n, [0, 0, 1])", "segment_max(c, [2, 2], 3)[2]"},
	"segment_min":     {"segment_min(p, [1, 0, 1, 2])", "segment_min(n, [0, 0, 1], 2)"},
	"atleast_1d":      {"atleast_1d(s)", "atleast_1d(m)"},
	"atleast_2d":      {"atleast_2d(s)", "atleast_2d(u)", "atleast_2d(c)"},
	"atleast_3d":      {"atleast_3d(s)", "atleast_3d(u)", "atleast_3d(m)"},
	"diag":            {"diag(u)", "diag(q)", "diag(u, 1)", "diag(q, -1)"},
	"diagonal":        {"diagonal(q)", "diagonal(m, 1)", "diagonal(c)"},
	"trace":           {"trace(q)", "trace(q, 1)"},
	"tril":            {"tril(q)", "tril(m, 1)", "tril(c, -1)"},
	"triu":            {"triu(q)", "triu(m, -1)", "triu(c, 1)"},
	"cast":            {`cast(u, "float64")`},
	"float64":         {"float64(u)"},
	"meshgrid":        {"meshgrid(u, v)[0]", "meshgrid(u, v)[1] * meshgrid(u, v)[0]", `meshgrid(u, v, p, indexing="ij")[2]`},
	// products
	"matmul":    {"m @ n", "u @ q", "q @ u", "u @ v", "c @ p", "u @ c[0]", "c[:, :, :3] @ q", "q @ c", "c @ swapaxes(c, 1, 2)", "matmul(m, n)", "m.T @ m", "m @ m.T", "c[:1] @ c[0].T", "dot(s, m)"},
	"inner":     {"inner(u, v)"},
	"vdot":      {"vdot(m, m + 1)", "vdot(m, n)"},
	"outer":     {"outer(u, v)", "outer(u, p)"},
	"kron":      {"kron(m, n)", "kron(q, m)", "kron(u, v)", "kron(m, u)"},
	"cross":     {"cross(u, v)", "cross(m, u)", "cross(u[:2], n)"},
	"tensordot": {"tensordot(m, n, 1)", "tensordot(c, c[0], 2)", "tensordot(m, n, (1, 0))", "tensordot(c, c, ([0, -1], [0, 2]))", "tensordot(c, m, ([], []))"},
	"einsum":    {`einsum("ij,jk->ik", m, n)`, `einsum("ii->i", q)`, `einsum("ii", q)`, `einsum("ij->ji", m)`, `einsum("bij,bkj->bik", c, c)`, `einsum("i,j,ij->", m[:, 0], u, m)`, `einsum("ij,ij->j", m, m)`, `einsum("...ij,jk->...ik", c, c[0].T)`},
	"multi_dot": {"multi_dot([m, n, m])"},
	// networks
	"relu":                  {"relu(m)"},
	"relu6":                 {"relu6(3.1*m)"},
	"leaky_relu":            {"leaky_relu(m)", "leaky_relu(m, 0.2)"},
	"elu":                   {"elu(m)", "elu(m, alpha=0.5)"},
	"selu":                  {"selu(m)"},
	"celu":                  {"celu(m)", "celu(m, 2)"},
	"gelu":                  {"gelu(m)"},
	"silu":                  {"silu(m)"},
	"mish":                  {"mish(m)"},
	"hard_sigmoid":          {"hard_sigmoid(2.1*m)"},
	"hard_tanh":             {"hard_tanh(m)"},
	"hard_swish":            {"hard_swish(2.1*m)"},
	"tanhshrink":            {"tanhshrink(m)"},
	"glu":                   {"glu(p)", "glu(c)", "glu(m, axis=0)"},
	"clip_by_norm":          {"clip_by_norm(u, 1)", "clip_by_norm(u, 10)", "clip_by_norm(m, 2, axis=1)"},
	"normalize":             {"normalize(u)", "normalize(m, axis=0)"},
	"l2_normalize":          {"l2_normalize(m)", "l2_normalize(m, 1)"},
	"cumulative_logsumexp":  {"cumulative_logsumexp(m)", "cumlogsumexp(m, 1)"},
	"standardize":           {"standardize(m)", "standardize(p, eps=0.1)", "standardize(m, axis=0)"},
	"mse":                   {"mse(u, v)"},
	"huber":                 {"huber(m)", "huber(m, 1.6)"},
	"softmax_cross_entropy": {"softmax_cross_entropy(p, [0, 1, 0, 0])", "softmax_cross_entropy(m, [[0, 0, 1], [1, 0, 0]])", "softmax_cross_entropy(m, softmax(m, axis=0))"},
	"sigmoid_cross_entropy": {"sigmoid_cross_entropy(m, [[1, 0, 1], [0, 1, 0]])", "sigmoid_cross_entropy(u, v)"},
	"dropout":               {"dropout(m, 0.5)"},
	// elementwise functions that are written in nabla
	"positive":           {"+m"},
	"fmod":               {"fmod(7*p, 1.5)"},
	"clip":               {"clip(m, -1, 1)", "clip(m, v, 1.8)", "clip(m, hi=s)", "clip(m, None, s)", "clip(m, s)"},
	"degrees":            {"degrees(u)"},
	"radians":            {"radians(u)"},
	"log_sigmoid":        {"log_sigmoid(m)"},
	"logit":              {"logit(p / 2)"},
	"logaddexp2":         {"logaddexp2(u, v)"},
	"beta":               {"beta(p, 1.5)", "beta(0.5, p)"},
	"betaln":             {"betaln(p, s)"},
	"entr":               {"entr(p)"},
	"rel_entr":           {"rel_entr(p, 0.5)", "rel_entr(s, p)"},
	"logspace":           {"m * logspace(0, 1, 3)", "m * logspace(0, 1, 3, base=s, endpoint=false)"},
	"tensor":             {"tensor(m)"},
	"fmax":               {"fmax(u, v)", "fmax(m, s)"},
	"fmin":               {"fmin(u, v)"},
	"squared_difference": {"squared_difference(m, v)"},
	"divide_no_nan":      {"divide_no_nan(u, v)"},
	"multiply_no_nan":    {"multiply_no_nan(u, v)"},
	"heaviside":          {"heaviside(u, 0.5) * v"},
	"nan_to_num":         {"nan_to_num(u)"},
	"frac":               {"frac(u)"},
	"lerp":               {"lerp(u, v, s)"},
	"sec":                {"sec(p)"},
	"csc":                {"csc(p)"},
	"cot":                {"cot(p)"},
	"sech":               {"sech(u)"},
	"csch":               {"csch(p)"},
	"coth":               {"coth(p)"},
	"kl_div":             {"kl_div(p, 0.5)", "kl_div(s, p)"},
	"xdivy":              {"xdivy(u, v)"},
	"ndtri":              {"ndtri(p / 2)"},
	"erfcinv":            {"erfcinv(p)"},
	"multigammaln":       {"multigammaln(s + 2, 3)"},
	// more reductions, shapes and networks
	"logmeanexp":                   {"logmeanexp(p)", "logmeanexp(m, axis=0, keepdims=true)"},
	"nansum":                       {"nansum(m, axis=1)"},
	"nanmean":                      {"nanmean(m)", "nanmean(m, axis=0)"},
	"trapezoid":                    {"trapezoid(p)", "trapezoid(p, dx=s)", "trapezoid(p, [0, 1, 3, 4])", "trapezoid(c, axis=1)", "trapezoid(m, u, axis=1)", "trapezoid(c, c^2, axis=0)"},
	"quantile":                     {"quantile(p, 0.3)", "quantile(m, 0.5, axis=1)", "quantile(c, 0.9, axis=0)", "quantile(m, [0.1, 0.7], axis=1)", "quantile(p, [0.2, 0.6])"},
	"percentile":                   {"percentile(p, 80)", "percentile(m, [[10, 40], [50, 80]], axis=0, keepdims=true)"},
	"average":                      {"average(m)", "average(c, (0, 2))", "average(m, weights=m^2)", "average(m, 1, u^2, keepdims=true)"},
	"cov":                          {"cov(m)", "cov(u, v)", "cov(n, rowvar=false)", "cov(p, bias=true)", "cov(m, q)"},
	"corrcoef":                     {"corrcoef(q)", "corrcoef(u, v)", "corrcoef(c[0], rowvar=false)"},
	"nanprod":                      {"nanprod(where(m > 1.9, nan, m), axis=1)"},
	"nanvar":                       {"nanvar(where(m > 1.9, nan, m), axis=1)", "nanvar(where(c > 1.95, nan, c), (0, 2), ddof=1)", "nanvar(p, keepdims=true)"},
	"nanstd":                       {"nanstd(where(m > 1.9, nan, m), axis=1)", "nanstd(p, ddof=1)"},
	"nanmax":                       {"nanmax(where(m > 1.9, nan, m), axis=1)"},
	"nanmin":                       {"nanmin(where(m > 1.9, nan, m), keepdims=true)"},
	"nanmedian":                    {"nanmedian(where(c > 1.95, nan, c), axis=2)", "nanmedian(where(c > 1.95, nan, c))"},
	"nanquantile":                  {"nanquantile(where(c > 1.95, nan, c), 0.3, axis=2)", "nanquantile(where(c > 1.95, nan, c), [0.2, 0.7], axis=(0, 1))"},
	"nanpercentile":                {"nanpercentile(where(m > 1.9, nan, m), 30, axis=1)"},
	"nancumsum":                    {"nancumsum(where(m > 1.9, nan, m), axis=1)"},
	"nancumprod":                   {"nancumprod(where(m > 1.9, nan, m))"},
	"polyval":                      {"polyval(p, s)", "polyval(u, m)", "polyval([3, 0, 1], u)"},
	"polyder":                      {"polyder(p)"},
	"polyint":                      {"polyint(p)"},
	"polymul":                      {"polymul(p, u)"},
	"polyfit":                      {"polyfit(p, p^2*s, 1)", "polyfit([0, 1, 2], u, 2)"},
	"convolve":                     {"convolve(p, u)", `convolve(u, p, "same")`, `convolve(p, u, "valid")`},
	"correlate":                    {`correlate(p, u, "full")`, `correlate(u, p, "same")`, "correlate(u, p)"},
	"interp":                       {"interp(v, [-1, 0, 1, 2], p)", "interp(m, u[:1], v[:1])", "interp([0.1, 2, 9], cumsum(p), p^2)", "interp(s, [0, 1], u[:2])"},
	"fliplr":                       {"fliplr(m)"},
	"flipud":                       {"flipud(c)"},
	"diagflat":                     {"diagflat(m)"},
	"column_stack":                 {"column_stack([u, v])", "column_stack((n, u))"},
	"dstack":                       {"dstack([m, m^2])", "dstack((u, v))"},
	"append":                       {"append(m, u)", "append(m, q, 0)"},
	"vsplit":                       {"vsplit(q, [1])[1]"},
	"hsplit":                       {"hsplit(q, [1])[1]", "hsplit(p, 2)[1]"},
	"dsplit":                       {"dsplit(c, 2)[1]"},
	"vector_norm":                  {"vector_norm(m)", "vector_norm(m, 1)", "vector_norm(c, 3, (0, 2))"},
	"matrix_norm":                  {"matrix_norm(m)", `matrix_norm(q, "nuc")`, "matrix_norm(q, 2)", "matrix_norm(c, -2)", "matrix_norm(m, 1)", "matrix_norm(m, -1)", "matrix_norm(c, inf, keepdims=true)", "matrix_norm(q, -inf)"},
	"top_k":                        {"top_k(p, 2)", "top_k(c, 3)"},
	"cummax":                       {"cummax(u)", "cummax(m, axis=1)"},
	"cummin":                       {"cummin(u)", "cummin(m, axis=0)"},
	"gather_nd":                    {"gather_nd(m, [[0, 1], [1, 2]])", "gather_nd(c, [[1], [0]])"},
	"scatter_add":                  {"scatter_add(m, [1, 1], n.T)", "scatter_add(p, [0, 2, 0], u)"},
	"unstack":                      {"unstack(m)[1]", "unstack(m, axis=1)[2]"},
	"rot90":                        {"rot90(m)", "rot90(c, -1)"},
	"vander":                       {"vander(u)", "vander(u, 2)", "vander(u, 3, increasing=true)"},
	"block_diag":                   {"block_diag([m, q])"},
	"geomspace":                    {"m * geomspace(1, 8, 3)"},
	"mae":                          {"mae(u, v)"},
	"hinge":                        {"hinge(u, v)"},
	"smooth_l1":                    {"smooth_l1(u)", "smooth_l1(u, 0.5)"},
	"gelu_tanh":                    {"gelu_tanh(m)"},
	"hardshrink":                   {"hardshrink(u)"},
	"softshrink":                   {"softshrink(u)", "softshrink(u, 2)"},
	"threshold":                    {"threshold(u, 0.1, 20)"},
	"layer_norm":                   {"layer_norm(m)"},
	"batch_norm":                   {"batch_norm(n)"},
	"dense":                        {"dense(m, n, v[:2])"},
	"embedding":                    {"embedding(n, [2, 0, 2])"},
	"conv1d":                       {"conv1d(c, c[:, :, :2])", "conv1d(c[:, :1], c[:1, :1, :3])"},
	"conv2d":                       {"conv2d(c[newaxis], c[newaxis, :, :2, :2])", "conv2d(c[:, newaxis], q[newaxis, newaxis, :2])"},
	"max_pool1d":                   {"max_pool1d(c, 2)"},
	"max_pool2d":                   {"max_pool2d(c[newaxis], 2)"},
	"avg_pool1d":                   {"avg_pool1d(c, 2)", "avg_pool1d(c, 3)"},
	"avg_pool2d":                   {"avg_pool2d(c[newaxis], 2)"},
	"conv_transpose1d":             {"conv_transpose1d(c, c[0, :, newaxis, :2])"},
	"conv_transpose2d":             {"conv_transpose2d(c[newaxis], q[:2, newaxis, :2, newaxis])"},
	"cosine_similarity":            {"cosine_similarity(u, v)", "cosine_similarity(m, u)"},
	"sparse_softmax_cross_entropy": {"sparse_softmax_cross_entropy(m, [2, 0])"},
	// indexing, control flow and functions: the same laws
	"[]":      {"p[1]", "p[-2:]", "m[:, 0]", "m[::-1, ::2]", "c[..., 1]", "c[1, :, newaxis]", "p[[2, 0, 0]]", "m[[0, 1, 1], [2, 0, 2]]", "m[[true, false]]", "p[p > 1]", "c[:, [0, 2], 1]", "c[0, ..., [1, 3]]"},
	"if":      {"if s > 0 { y = m^2 } else { y = m }\ny", "s > 1 ? m : sin(m)"},
	"while":   {"y = u\ni = 0\nwhile i < 3 { y = sin(y)*v; i = i + 1 }\ny"},
	"for":     {"y = 1\nfor z in p { y = y*z + s }\ny", "y = 0\nfor i in range(3) { y = y + u[i]^i }\ny"},
	"f":       {"f(x) = x^3 * s\nf(u) + f(m)", "f(x, n) { if n < 1 { y = x } else { y = sin(f(x, n - 1)) }\ny }\nf(m, 3)"},
	"vmap":    {"vmap(r -> r^2 * sum(r))(m)", "vmap((a, b) -> a @ b)(m, m^2)", "vmap(a -> vmap(b -> sum(a*b))(q))(q)", "vmap(r -> r[0] > 1 ? sin(r) : r^3)(m)"},
	"scan":    {"scan((k, x) -> (k*x + s, k^2), 1, p)[1]", "scan((k, x) -> (k*x + s, k^2), 1, p)[0]"},
	"grad":    {"grad(sum(m^3 * s), m)", "grad(x -> sum(sin(x)*x))(u)", "value_and_grad(prod(u), u)[1]"},
	"jac":     {"jacobian(sin(u)*s, u)", "jacobian(m @ u, u)", "hessian(prod(p), p)", "batch_jacobian(sin(m) * m[:, :1], m)"},
	"vectors": {"jvp(u^3, u, v)", "vjp(m @ u, u, m[:, 0])", "hvp(prod(u), u, v)", "jvp(f -> sum(f^2))(u, v)"},
}

// notSmooth are operations without a derivative of their own; their values are checked
// in semantics_test.go.
var notSmooth = strings.Fields("count argmax argmin argsort any all count_nonzero nanargmax nanargmin searchsorted digitize isposinf isneginf signbit isclose allclose tri logical_xor float32 int64 bool shape ndim adjust_contrast " +
	"zeros ones full zeros_like ones_like full_like eye arange linspace one_hot rand randn randint")

func TestStructuralTableIsComplete(t *testing.T) {
	for _, op := range All() {
		if op.elementwise() || slices.Contains(notSmooth, op.Name) || strings.Contains(op.Group(), "linear") {
			continue
		}
		if structural[op.Name] == nil {
			t.Errorf("%s (%s) has no calls to differentiate", op.Name, op.Group())
		}
	}
}

// A function is a call as a function of the numbers of the variables in it.
type function struct {
	names []string
	sizes []int
	q     func(op, text string, at []float64) *Question
	x     []float64
}

func newFunction(t *testing.T, text string) *function {
	f := &function{}
	var vars []*tensor.Tensor
	for _, name := range []string{"s", "u", "v", "p", "m", "n", "q", "c"} {
		if !mentions(text, name) {
			continue
		}
		v, err := Eval(given[name], tensor.Float64, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.names = append(f.names, name)
		vars = append(vars, v.Tensor)
		f.sizes = append(f.sizes, v.Tensor.Size())
		f.x = append(f.x, v.Tensor.Data...)
	}
	f.q = func(op, text string, at []float64) *Question {
		q := question(t, op, text)
		for i, n := range f.names {
			x := *vars[i]
			x.Data, at = at[:f.sizes[i]], at[f.sizes[i]:]
			q.Inputs = append(q.Inputs, Input{Name: n, Value: tensor.Of(&x)})
		}
		return q
	}
	return f
}

// mentions reports whether a text uses a name.
func mentions(text, name string) bool {
	word := func(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	for i := 0; i+len(name) <= len(text); i++ {
		if text[i:i+len(name)] == name && (i == 0 || !word(text[i-1]) && text[i-1] != '"') && (i+len(name) == len(text) || !word(text[i+len(name)])) {
			if rest := strings.TrimLeft(text[i+len(name):], " "); strings.HasPrefix(rest, "->") || strings.HasPrefix(rest, ") {") {
				return false // a parameter
			}
			return true
		}
	}
	return false
}

// target puts a call at the end of its statements into a formula with %s.
func target(text, formula string) string {
	i := strings.LastIndexByte(text, '\n') + 1
	return text[:i] + fmt.Sprintf(formula, text[i:])
}

func (f *function) ask(t *testing.T, op, text string, at []float64) []float64 {
	a, err := f.q(op, text, slices.Clone(at)).Answer()
	if err != nil {
		t.Fatalf("%s of %q: %v", op, text, err)
	}
	if op == "eval" {
		return numbers(a.Targets[0].Value)
	}
	var out []float64 // what is not connected has the gradient 0
	for i, g := range a.Targets[0].Payload.Fields {
		if g.Value.Tensor == nil {
			out = append(out, make([]float64, f.sizes[i])...)
		} else {
			out = append(out, g.Value.Tensor.Data...)
		}
	}
	return out
}

// TestStructure holds for every call f: the gradients of sum(f) and of sum(f²) are what
// differences say, and so is the Hessian of sum(f²), which is symmetric.
func TestStructure(t *testing.T) {
	for name, calls := range structural {
		t.Run(name, func(t *testing.T) {
			for i, text := range calls {
				if spared(i) {
					continue
				}
				f := newFunction(t, text)
				for _, formula := range []string{"sum(%s)", "sum((%s)^2)"} {
					y := target(text, formula)
					got := f.ask(t, "grad", y, f.x)
					for i := range f.x {
						at := func(x float64) float64 { return f.ask(t, "eval", y, with(f.x, i, x))[0] }
						if want := slope(at, f.x[i]); !near(got[i], want, at(f.x[i])) {
							t.Errorf("gradient of %s by element %d of %v = %v, differences say %v", y, i, f.names, got[i], want)
						}
					}
				}
				f.hessian(t, target(text, "sum((%s)^2)"))
			}
		})
	}
}

func (f *function) hessian(t *testing.T, y string) {
	n := len(f.x)
	a, err := f.q("hessian", y, slices.Clone(f.x)).Answer()
	if err != nil {
		t.Errorf("hessian of %s: %v", y, err)
		return
	}
	h := make([]float64, n*n) // from blocks to one matrix
	row := 0
	for i, r := range a.Targets[0].Payload.Fields {
		col := 0
		for j, c := range r.Value.Fields {
			if c.Value.Tensor != nil {
				for k, v := range c.Value.Tensor.Data {
					h[(row+k/f.sizes[j])*n+col+k%f.sizes[j]] = v
				}
			}
			col += f.sizes[j]
		}
		row += f.sizes[i]
	}
	for i := range n {
		for j := range i {
			if x, z := h[i*n+j], h[j*n+i]; !(math.Abs(x-z) <= 1e-12*(1+math.Abs(x))) {
				t.Errorf("Hessian of %s: element %d, %d is %v and its mirror %v", y, i, j, x, z)
			}
		}
	}
	for j := range n {
		var up, down, up2, down2 []float64
		at := func(d float64) []float64 { return f.ask(t, "grad", y, with(f.x, j, f.x[j]+d)) }
		up, down, up2, down2 = at(hop), at(-hop), at(2*hop), at(-2*hop)
		for i := range n {
			want := (8*(up[i]-down[i]) - (up2[i] - down2[i])) / (12 * hop)
			if !near(h[i*n+j], want, up[i]) {
				t.Errorf("Hessian of %s: element %d, %d = %v, differences of the gradient say %v", y, i, j, h[i*n+j], want)
			}
		}
	}
}

// TestModesAgree: the Jacobian of every call is the same in reverse and forward.
func TestModesAgree(t *testing.T) {
	for _, calls := range structural {
		for _, text := range calls {
			f := newFunction(t, text)
			var got [2][]float64
			for i, mode := range []string{"reverse", "forward"} {
				q := f.q("jacobian", text, slices.Clone(f.x))
				q.Mode = mode
				a, err := q.Answer()
				if err != nil {
					t.Errorf("%s Jacobian of %s: %v", mode, text, err)
					continue
				}
				got[i] = numbers(a.Targets[0].Payload)
			}
			if len(got[0]) != len(got[1]) {
				t.Errorf("Jacobian of %s: %d numbers in reverse, %d forward", text, len(got[0]), len(got[1]))
				continue
			}
			for i, v := range got[0] {
				if w := got[1][i]; !(math.Abs(v-w) <= 1e-13*(1+math.Abs(v))) { // some roundings of sums in another order
					t.Errorf("Jacobian of %s, element %d: reverse %v, forward %v", text, i, v, w)
					break
				}
			}
		}
	}
}

// TestMappedCalls: vmap of a call is the call at each row, bit for bit, with its gradient.
func TestMappedCalls(t *testing.T) {
	for name, calls := range structural {
		for _, text := range calls {
			if strings.Contains(text, "\n") || name == "dropout" || text == "p[p > 1]" {
				continue // one expression; no randomness; no sizes that differ by row
			}
			f := newFunction(t, text)
			var rows, params []string
			for _, n := range f.names {
				rows = append(rows, fmt.Sprintf("stack([%s, %s*0.5, %s + 0.125])", n, n, n))
				params = append(params, n)
			}
			ps, rs := strings.Join(params, ", "), strings.Join(rows, ", ")
			for _, of := range []string{"%s", "grad((" + ps + ") -> sum((%s)^2))(" + ps + ")"} {
				body := fmt.Sprintf(of, text)
				a, err := f.q("eval", "vmap(("+ps+") -> "+body+")("+rs+")", slices.Clone(f.x)).Answer()
				if err != nil {
					t.Errorf("vmap of %s: %v", body, err)
					continue
				}
				got := numbers(a.Targets[0].Value)
				var want []float64
				for _, k := range []string{"%s", "%s*0.5", "%s + 0.125"} {
					at := make([]string, len(params))
					for i, n := range params {
						at[i] = fmt.Sprintf(k, n)
					}
					w, err := f.q("eval", "f("+ps+") = "+body+"\nf("+strings.Join(at, ", ")+")", slices.Clone(f.x)).Answer()
					if err != nil {
						t.Errorf("%s: %v", body, err)
						break
					}
					want = append(want, numbers(w.Targets[0].Value)...)
				}
				if i := sameBits(got, want); i >= 0 && i < len(got) && i < len(want) {
					t.Errorf("vmap of %s: element %d is %v, alone %v", body, i, got[i], want[i])
				} else if i >= 0 {
					t.Errorf("vmap of %s gives %d numbers, alone %d", body, len(got), len(want))
				}
			}
		}
	}
}

// needless are calls whose rows are independent though nothing short of their numbers says
// so: elements are picked one by one, or what joins them is 0 or 1 where they are.
var needless = []string{
	"avg_pool1d(c, 2)", "avg_pool1d(c, 3)", "max_pool1d(c, 2)", "clip_by_norm(u, 10)", "conv2d(c[:, newaxis], q[newaxis, newaxis, :2])",
	"diag(u)", "diag(q)", "diagonal(q)", "diagonal(m, 1)", `einsum("ii->i", q)`, "gather_nd(m, [[0, 1], [1, 2]])",
	"jacobian(sin(u)*s, u)", "jacobian(m @ u, u)", "batch_jacobian(sin(m) * m[:, :1], m)",
}

// TestWarnsOfMixedRows: the batch Jacobian of rows that depend on other rows of a source
// says so, and hardly another one does.
func TestWarnsOfMixedRows(t *testing.T) {
	payload := func(a *Answer) (x *tensor.Tensor) {
		if v := a.Targets[0].Payload; v != nil {
			v.Leaves("", func(_ string, leaf *tensor.Value) { x = leaf.Tensor })
		}
		return x
	}
	compared := 0
	for _, calls := range structural {
		for _, text := range calls {
			f := newFunction(t, text)
			for _, source := range f.names {
				by := func(op string) (*Answer, error) {
					q := f.q(op, text, f.x)
					q.Wrt = []string{source}
					return q.Answer()
				}
				batch, err := by("batch_jacobian")
				if err != nil {
					continue // other leading axes
				}
				full, err := by("jacobian")
				if err != nil {
					t.Fatalf("jacobian of %s: %v", text, err)
				}
				y, j := full.Targets[0].Value.Tensor, payload(full)
				if y == nil || j == nil {
					continue
				}
				compared++
				n, cols := y.Shape[0], j.Shape[len(y.Shape)+1:].Size()
				mixed := false
				for i, v := range j.Data {
					mixed = mixed || v != 0 && i/cols%n != i/(len(j.Data)/n)
				}
				warned := slices.ContainsFunc(batch.Warnings, func(w Warning) bool { return strings.Contains(w.Msg, "rows are not independent") })
				if warned != mixed && !(warned && slices.Contains(needless, text)) {
					t.Errorf("rows of %s depend on other rows of %s: %v; a warning says so: %v", text, source, mixed, warned)
				}
			}
		}
	}
	if compared < 200 {
		t.Errorf("only %d batch Jacobians were looked at", compared)
	}
}
