package tape

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nabla/expr"
	"nabla/tape/tensor"
)

// mistakes says how programs fail: the kind, a part of the message, the place of the
// mark, a part of the hint or the note, and the exit code where it is not 3.
var mistakes = []struct {
	text, kind, msg string
	line, col       int
	hint            string
	op              string
	inputs          []string
	code            int
}{
	// names
	{text: "x + alpa", kind: "name", msg: "unknown name alpa", line: 1, col: 5, hint: "did you mean alpha?", inputs: xs("x=1", "alpha=2")},
	{text: "a = 1\nb = a + sinn(a)", kind: "name", msg: "unknown function sinn", line: 2, col: 9, hint: "did you mean sin?"},
	{text: "x + q", kind: "name", msg: "unknown name q", line: 1, col: 5, hint: "the inputs are x", inputs: xs("x=1")},
	{text: "q", kind: "name", msg: "unknown name q", line: 1, col: 1, hint: "--at q="},
	{text: "r = {a: 1}; r.b", kind: "name", msg: "no field b", line: 1, col: 15},
	{text: "r = {a: 1}\n1 + r[0]", kind: "type", msg: "taken as x.a", line: 2, col: 6},
	{text: "[1, 2].foo", kind: "name", msg: "no attribute foo", line: 1, col: 8, hint: "shape"},
	{text: "gradient nothing(x; g) = g\n1", kind: "name", msg: "no function or operation nothing", line: 1, col: 10},
	{text: "v := 3", kind: "name", msg: "unknown name v", line: 1, col: 1},
	{text: "watch q; 1", kind: "name", msg: "unknown name q", line: 1, col: 7},
	{text: "sn(1)", kind: "name", msg: "unknown function sn", line: 1, col: 1, hint: "did you mean sin?"},
	{text: "cs(1) + mx([1, 2])", kind: "name", msg: "unknown function cs", line: 1, col: 1, hint: "did you mean cos?"},
	{text: "bincount([0, 1])", kind: "name", msg: "unknown function bincount", line: 1, col: 1, hint: "segment_sum(ones_like(ids), ids, n)"},
	{text: "eigvals([[1]])", kind: "name", msg: "unknown function eigvals", line: 1, col: 1, hint: "eigvalsh(A)"},
	{text: "nonzero([0, 1])", kind: "name", msg: "unknown function nonzero", line: 1, col: 1, hint: "x[mask]"},
	{text: "1 + lt(1, 2)", kind: "name", msg: "unknown function lt", line: 1, col: 5, hint: "write x < y"},
	{text: "clip(1, a_max=2)", kind: "type", msg: "clip has no argument a_max", line: 1, col: 9, hint: "did you mean hi?"},
	{text: "clip(1)", kind: "type", msg: "clip needs a bound", line: 1, col: 1, hint: "clip(x, hi=…)"},
	{text: "diff([1, 2], [3, 4])", kind: "type", msg: "how often is one number", line: 1, col: 14, hint: "grad(y, x) is the derivative"},
	{text: "diff([1, 2], -1)", kind: "type", msg: "-1 times", line: 1, col: 14},
	{text: "diff([1, 2], 3)", kind: "shape", msg: "too few elements", line: 1, col: 1},
	{text: "quantile([1, 2], [0.5, 1.5])", kind: "type", msg: "q between 0 and 1", line: 1, col: 18},
	{text: "quantile([1, 2], [])", kind: "shape", msg: "no q", line: 1, col: 18},
	{text: "average([[1, 2]], weights=[1, 2])", kind: "shape", msg: "weights of shape (2,) for x of shape (1, 2)", line: 1, col: 27},
	{text: "cov([1, 2], [1, 2, 3])", kind: "shape", msg: "2 and of 3 observations", line: 1, col: 13},
	{text: "cov(ones(2, 2, 2))", kind: "shape", msg: "takes a vector or a matrix", line: 1, col: 5},
	{text: "norm([[1, 2]], 3)", kind: "type", msg: "the norm of a matrix has order", line: 1, col: 16, hint: "vector_norm(x, p)"},
	{text: `norm([1, 2], "nuc")`, kind: "type", msg: "the norm of a vector", line: 1, col: 14},
	{text: `norm(ones(2, 2, 2), "nuc")`, kind: "type", msg: "is one of matrices", line: 1, col: 21, hint: "axis=(-2, -1)"},
	{text: "matrix_norm([1, 2])", kind: "shape", msg: "needs two axes", line: 1, col: 1},
	{text: "interp(1, [1, 2], [1, 2, 3])", kind: "shape", msg: "xp has shape (2,), fp (3,)", line: 1, col: 1},
	{text: `convolve([1, 2], [1], "fill")`, kind: "type", msg: `mode is "full", "same" or "valid"`, line: 1, col: 23},
	{text: "convolve(zeros(0), [1])", kind: "shape", msg: "takes vectors that have elements, this has shape (0,)", line: 1, col: 10},
	{text: "segment_sum(x, [0, 1, 1], -2)", kind: "shape", msg: "segment_sum of -2 segments", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")}, // which needed 8 bytes, more than there are
	{text: "segment_mean(x, [0, 1, 1], 0)", kind: "shape", msg: "segment id 0: there are no segments", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "reshape(3, (1, 100))", kind: "shape", msg: "1 element of shape () does not fit into shape (1, 100)", line: 1, col: 1},
	{text: "convolve([[1, 2]], [1])", kind: "shape", msg: "takes vectors", line: 1, col: 10},
	{text: `searchsorted([1, 2], 1, "up")`, kind: "type", msg: `"left" or "right"`, line: 1, col: 25},
	{text: "searchsorted([[1, 2]], 1)", kind: "shape", msg: "looks into a vector", line: 1, col: 14},
	{text: `meshgrid([1], [2], indexing="yx")`, kind: "type", msg: `"xy" or "ij"`, line: 1, col: 29},
	{text: `pad([1, 2], 1, "mirror")`, kind: "type", msg: "the mode of pad", line: 1, col: 1},
	{text: `pad([1, 2], -1, "edge")`, kind: "shape", msg: "no negative widths", line: 1, col: 1},
	{text: "trapezoid([1, 2], [1, 2, 3])", kind: "shape", msg: "a place for each value", line: 1, col: 19},
	// shapes
	{text: "x + y", kind: "shape", msg: "shapes (3,) and (4,) do not broadcast", line: 1, col: 3, hint: "equal or 1", inputs: xs("x=[1, 2, 3]", "y=[1, 2, 3, 4]")},
	{text: "a = 1\nhypot(x, y)", kind: "shape", msg: "do not broadcast in hypot", line: 2, col: 1, inputs: xs("x=[1, 2, 3]", "y=[1, 2, 3, 4]")},
	{text: "sum(x @ w)", kind: "shape", msg: "shapes (2, 3) and (2, 3) do not multiply", line: 1, col: 7, hint: "inner sizes 3 and 2", inputs: xs("x=ones(2, 3)", "w=ones(2, 3)")},
	{text: "cross(x, x[:2])", kind: "shape", msg: "cross takes vectors of 3 or of 2, shapes (3,) and (2,) were given", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "clip(x, [1, 2], 3)", kind: "shape", msg: "shapes", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "1 + inv(x)", kind: "shape", msg: "inv needs a matrix, this has shape (3,)", line: 1, col: 9, inputs: xs("x=[1, 2, 3]")},
	{text: "x @ 2", kind: "shape", msg: "matrix product needs axes", line: 1, col: 3, hint: "*", inputs: xs("x=[1, 2]")},
	{text: "[[1, 2], [3]]", kind: "shape", msg: "element 1 of the list has shape (1,)", line: 1, col: 10, hint: "a tuple (a, b)"},
	{text: "sparse_softmax_cross_entropy(x, [0, 3])", kind: "shape", msg: "label 3 is not one of 0 … 2", line: 1, col: 33, inputs: xs("x=ones(2, 3)")},
	{text: "sparse_softmax_cross_entropy(x, [0, -1])", kind: "shape", msg: "label -1 is not one of 0 … 2", line: 1, col: 33, inputs: xs("x=ones(2, 3)")},
	{text: "sparse_softmax_cross_entropy(x, [0, 0.5])", kind: "shape", msg: "label 0.5 is not one of 0 … 2", line: 1, col: 33, inputs: xs("x=ones(2, 3)")},
	{text: "sparse_softmax_cross_entropy(x, [0, 1, 2])", kind: "shape", msg: "need labels of shape (2,), one a row; these have shape (3,)", line: 1, col: 33, inputs: xs("x=ones(2, 3)")},
	{text: "sparse_softmax_cross_entropy(x, 1)", kind: "shape", msg: "needs a logit for each class, this is a scalar", line: 1, col: 1, inputs: xs("x=1")},
	{text: "interp(x, [0, 2, 1], [1, 2, 3])", kind: "type", msg: "interp needs a vector that ascends: element 2 is 1, after 2", line: 1, col: 11, hint: "argsort(xp)", inputs: xs("x=1")},
	{text: "interp(1, x, [1, 2, 3])", kind: "type", msg: "element 1 is -1, after 0", line: 1, col: 11, hint: "argsort(xp)", inputs: xs("x=[0, -1, 2]")},
	{text: "searchsorted(x, 1)", kind: "type", msg: "searchsorted needs a vector that ascends: element 1 is 1, after nan", line: 1, col: 14, hint: "sort(a)", inputs: xs("x=[nan, 1]")},
	{text: "digitize(x, [3, 1])", kind: "type", msg: "digitize: searchsorted needs a vector that ascends: element 1 is 1, after 3", line: 1, col: 1, inputs: xs("x=1")},
	{text: "conv2d(x, zeros(3, 3, 3, 7))", kind: "shape", msg: "x of shape (1, 8, 8, 3) has 8 channels, w of shape (3, 3, 3, 7) wants 3", line: 1, col: 1, inputs: xs("x=zeros(1, 8, 8, 3)"), hint: "transpose(w, (3, 2, 0, 1))"}, // TensorFlow's shapes
	{text: "conv1d(x, zeros(5, 3, 7))", kind: "shape", msg: "has 8 channels", line: 1, col: 1, inputs: xs("x=zeros(1, 8, 3)"), hint: "transpose(x, (0, 2, 1))"},
	{text: "one_hot(x, depth=3)", kind: "type", msg: "one_hot has no argument depth", line: 1, col: 12, inputs: xs("x=[0, 1]"), hint: "did you mean n?"},
	{text: "conv1d(x, zeros(5, 2, 7))", kind: "shape", msg: "has 8 channels", line: 1, col: 1, inputs: xs("x=zeros(1, 8, 3)")},
	{text: "sum(y, axis=1)", kind: "shape", msg: "axis 1 is out of range for 0 axes", line: 1, col: 13, inputs: xs("y=3"), hint: "a number has no axes"},
	{text: "x[3]", kind: "shape", msg: "index 3 is out of range for an axis of size 3", line: 1, col: 3, inputs: xs("x=[1, 2, 3]"), hint: "0 to 2, or -1 to -3"},
	{text: "(1, 2)[2]", kind: "shape", msg: "index 2 is out of range for a tuple of 2", line: 1, col: 8, hint: "0 to 1"},
	{text: "tile(x, -1)", kind: "shape", msg: "cannot repeat -1 times", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "broadcast_to(x, (-2, 3))", kind: "shape", msg: "no negative sizes", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "unwatch sin; 1", kind: "name", msg: "sin is not a variable", line: 1, col: 9},
	{text: "x[0, 0]", kind: "shape", msg: "2 indices for 1 axis: the shape is (3,)", line: 1, col: 2, inputs: xs("x=[1, 2, 3]"), hint: "as many as there are axes"},
	{text: "x[[0, 7]]", kind: "shape", msg: "index 7 is out of range", inputs: xs("x=[1, 2, 3]"), line: 1, hint: "0 to 2"},
	{text: "x[0]", kind: "shape", msg: "out of range for an axis of size 0", line: 1, col: 3, hint: "no element", inputs: xs("x=zeros(0)")},
	{text: "x[-2]", kind: "shape", msg: "out of range for an axis of size 1", line: 1, col: 3, hint: "0, or -1", inputs: xs("x=[1]")},
	{text: "x[3/2]", kind: "type", msg: "an index is a whole number, not 1.5", line: 1, col: 3, hint: "a // b", inputs: xs("x=[1, 2, 3]")},
	{text: "x[:0.5]", kind: "type", msg: "a slice bound is a whole number", line: 1, col: 4, hint: "round(x)", inputs: xs("x=[1, 2, 3]")},
	{text: "x[::0]", kind: "type", msg: "a slice step is not 0", line: 1, col: 3, hint: "-1 goes backwards", inputs: xs("x=[1, 2, 3]")},
	{text: "x[0]", kind: "shape", msg: "a scalar takes no index", line: 1, col: 2, hint: "leave the index out", inputs: xs("x=1")},
	{text: "reshape(x, (2, -1))", kind: "shape", msg: "do not fit", line: 1, col: 1, hint: "do not divide 3", inputs: xs("x=[1, 2, 3]")},
	{text: "transpose(x, (0, 0))", kind: "shape", msg: "axis 0 twice", line: 1, col: 1, hint: "each of 0 to 1 once", inputs: xs("x=[[1, 2]]")},
	{text: `sum(x, axis="rows")`, kind: "type", msg: "this is a string", line: 1, col: 13, hint: "axes have numbers", inputs: xs("x=[1, 2]")},
	{text: `einsum("i->ii", x)`, kind: "shape", msg: "names i twice", line: 1, col: 1, hint: "diag(x)", inputs: xs("x=[1, 2]")},
	{text: `einsum("iij->j", x)`, kind: "shape", msg: "axis i is 1 and 3", line: 1, col: 1, inputs: xs("x=ones(1, 3, 2)")}, // it was an internal error
	{text: `einsum("i,ii->i", ones(3), x)`, kind: "shape", msg: "axis i is 3 and 1", line: 1, col: 1, inputs: xs("x=ones(3, 1)")},
	{text: `einsum("i->k", x)`, kind: "shape", msg: "names k, no operand does", line: 1, col: 1, hint: "some of the operands'", inputs: xs("x=[1, 2]")},
	{text: `einsum("ij,jk>ik", x, x)`, kind: "shape", msg: "axes are named by letters, not '>'", line: 1, col: 1, hint: "ij,jk->ik", inputs: xs("x=[[1, 2]]")},
	{text: `einsum("ij,->ij", x, x)`, kind: "shape", msg: "no letter names an axis, operand 2 has 2", line: 1, col: 1, inputs: xs("x=[[1, 2]]")},
	{text: "gather_nd(x, [[0, 1, 2]])", kind: "shape", msg: "indices of shape (1, 3) into shape (3,)", line: 1, col: 1, hint: "at most 1 number", inputs: xs("x=[1, 2, 3]")},
	{text: "reshape(x)", kind: "type", msg: "reshape needs shape", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "reshape(x, 3, 0.5)", kind: "type", msg: "a whole number", line: 1, col: 15, inputs: xs("x=[1, 2, 3]")},
	{text: "zeros(2, shape=3)", kind: "type", msg: "shape is given twice", line: 1, col: 10},
	{text: "len(x)", kind: "type", msg: "a number has no length", line: 1, col: 5, hint: "x.size", inputs: xs("x=1")},
	{text: "len(sin)", kind: "type", msg: "a function has no length", line: 1, col: 5},
	{text: "k = 3; g = grad(x^2, k); jacobian(g, k)", kind: "type", msg: "a Jacobian wants one tensor as its target, this is none", line: 1, col: 35, hint: "watch k in front", inputs: xs("x=1")},
	{text: "x.shape + 1", kind: "type", msg: "this is a tuple of 0", line: 1, col: 3, hint: "the shape of a number", inputs: xs("x=1")},
	{text: "transpose(x, (0, 1))", kind: "shape", msg: "transpose of 1 axis needs 1 number, not 2", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	// what is written in the language itself is not told of
	{text: "fmax(x, [1, 2])", kind: "shape", msg: "shapes (3,) and (2,) do not broadcast in fmax", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "sigmoid_cross_entropy(x, [1, 2])", kind: "shape", msg: "do not broadcast in sigmoid_cross_entropy", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "for i in 3 { x = 2*x }; x", kind: "type", msg: "cannot walk over a scalar", line: 1, col: 10, hint: "range(3)", inputs: xs("x=1")},
	{text: "f(n) = f(n - 1); f(x)", kind: "type", msg: "f calls itself more than", line: 1, hint: "c ? a : f(…)", inputs: xs("x=1")},
	{text: "x[[true, false]]", kind: "shape", msg: "mask of shape (2,)", line: 1, col: 3, inputs: xs("x=[1, 2, 3]")},
	{text: "sum(x, axis=2)", kind: "shape", msg: "axis 2 is out of range", line: 1, col: 13, inputs: xs("x=[1, 2, 3]")},
	{text: "sum(x, axis=(0, 0))", kind: "shape", msg: "twice", inputs: xs("x=[1, 2, 3]"), line: 1, col: 13, hint: "leave one of them out"},
	{text: "reshape(x, (2, 2))", kind: "shape", msg: "3 elements of shape (3,) do not fit into shape (2, 2)", line: 1, col: 1, inputs: xs("x=[1, 2, 3]"), hint: "a size of -1"},
	{text: "reshape(zeros(0), (-1, 0))", kind: "shape", msg: "0 elements of shape (0,) do not fit into shape (-1, 0)", line: 1, col: 1, hint: "beside a size of 0"},
	{text: "full_like(1, [1, 2])", kind: "shape", msg: "shape (2,) does not broadcast to ()", line: 1, col: 1},
	{text: "full((2, 3), [1, 2])", kind: "shape", msg: "shape (2,) does not broadcast to (2, 3)", line: 1, col: 1},
	{text: "pad(ones(2, 2), 1, [1, 2])", kind: "shape", msg: "pad puts one number around, not a tensor of shape (2,)", line: 1, col: 20},
	{text: "split(zeros(0, 3), 1e10)", kind: "shape", msg: "0 elements do not split into 10000000000 equal parts", line: 1, col: 1},
	{text: "broadcast_to(x, (2, 2))", kind: "shape", msg: "does not broadcast", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "concat([x, [x]])", kind: "shape", msg: "do not join", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "stack([x, x[1:]])", kind: "shape", msg: "do not stack", line: 1, col: 1, inputs: xs("x=[1, 2, 3]"), hint: "concat"},
	{text: "split(x, 2)", kind: "shape", msg: "3 elements do not split into 2", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "max(zeros(0))", kind: "shape", msg: "no elements", line: 1, col: 1},
	{text: "argmax(zeros(0))", kind: "shape", msg: "no elements", line: 1, col: 1},
	{text: "zeros(-1)", kind: "shape", msg: "negative", line: 1, col: 1},
	{text: `tensordot(x, x, 1)`, kind: "shape", msg: "tensordot over axes [1] of (2, 3) and [0] of (2, 3): they do not meet", line: 1, col: 1, inputs: xs("x=ones(2, 3)")},
	{text: `tensordot(x, x, [0, 1, 2])`, kind: "shape", msg: "a pair of lists", line: 1, col: 17, inputs: xs("x=ones(2, 3)")},
	{text: `tensordot(x, x, ([0, 0], [0, 1]))`, kind: "shape", msg: "axis 0 is given twice", line: 1, col: 17, inputs: xs("x=ones(2, 3)")},
	{text: `einsum("ij,jk->ik", x, x)`, kind: "shape", msg: "", line: 1, col: 1, inputs: xs("x=ones(2, 3)")},
	{text: "if x > 0 { 1 }", kind: "shape", msg: "a condition must be a scalar, this one has shape (3,)", line: 1, col: 6, hint: "where(c, a, b)", inputs: xs("x=[1, 2, 3]")},
	{text: "while x > 0 { x = x - 1 }", kind: "shape", msg: "a condition must be a scalar", line: 1, col: 9, hint: "any(c)", inputs: xs("x=[1, 2, 3]")},
	{text: "while true {}", kind: "type", msg: "never ends", line: 1, col: 7},
	{text: "while x > 0 { y = y + 1 }", kind: "type", msg: "never ends", line: 1, col: 9, inputs: xs("x=1", "y=1")},
	{text: "vander(x, 1e12)", kind: "memory", msg: "does not fit", line: 1, col: 1, inputs: xs("x=[1, 2]"), code: 5},
	{text: "vmap(sin)(3)", kind: "shape", msg: "leading axis", line: 1, col: 11},
	{text: "vmap((a, b) -> a*b)([1, 2], [1, 2, 3])", kind: "shape", msg: "2 and 3", line: 1, col: 29},
	{text: "scan((c, x) -> (c, x), 0, 3)", kind: "shape", msg: "leading axis", line: 1, col: 27},
	{text: "hessian(x^2, x)", kind: "shape", msg: "needs a scalar target", line: 1, col: 1, hint: "sum(", inputs: xs("x=[1, 2, 3]")},
	{text: "x^2", op: "hessian", kind: "shape", msg: "needs a scalar target", line: 1, col: 2, hint: "sum(", inputs: xs("x=[1, 2, 3]")},
	{text: "sum(x)", op: "batch_jacobian", kind: "shape", msg: "leading batch axis", line: 1, col: 1, inputs: xs("x=[1, 2, 3]")},
	{text: "jvp(x^2, x, [1, 2])", kind: "shape", msg: "the tangent of x has shape (2,)", line: 1, col: 13, hint: "an array of shape (3,), or one number for every element of x", inputs: xs("x=[1, 2, 3]")},
	{text: "jvp(x^2, x, (1, 2))", kind: "shape", msg: "2 tangents for 1 source", line: 1, col: 13, hint: "in brackets: [1, 2]", inputs: xs("x=[1, 2]")},
	{text: "vjp(x^2, x, (1, 2))", kind: "shape", msg: "has 2 parts, the target has 1", line: 1, col: 13, hint: "in brackets: [1, 2]", inputs: xs("x=[1, 2]")},
	{text: "vjp(x^2, x, [1, 2])", kind: "shape", msg: "the upstream gradient has shape (2,)", line: 1, col: 13, hint: "an array of shape (3,), or one number for every element of the target", inputs: xs("x=[1, 2, 3]")},
	{text: "f(a, b) = a*b; gradient f(a, b; g) = g*b, g*a\ngrad(sum(f([1, 2], x)), x)", kind: "shape", msg: "the gradient of f for b has shape (2,), the argument has ()", line: 1, col: 44, hint: "the sum over these", inputs: xs("x=3")},
	{text: "f(a) = a^2; gradient f(a; g) = [1, 2]\ngrad(f(x), x)", kind: "shape", msg: "the gradient of f for a has shape (2,)", line: 1, col: 32, inputs: xs("x=3")},
	// types
	{text: "f(a) = a; f(1, 2)", kind: "type", msg: "f takes 1 argument, 2 were given", line: 1},
	{text: "sin(1, 2)", kind: "type", msg: "sin takes 1 argument, 2 were given", line: 1},
	{text: "sum()", kind: "type", msg: "sum", line: 1, col: 1},
	{text: "sum([1], axsi=0)", kind: "type", msg: "sum has no argument axsi", line: 1, col: 10, hint: "axis"},
	{text: "sum([1], 0, axis=0)", kind: "type", msg: "axis is given twice", line: 1, col: 13},
	{text: "concat(x, x)", kind: "type", msg: "concat takes its tensors in a list", line: 1, col: 1, hint: "concat([a, b])", inputs: xs("x=[1, 2, 3]")},
	{text: "stack(1, 2)", kind: "type", msg: "stack takes its tensors in a list", line: 1, col: 1},
	{text: "zeros(1e18)", kind: "type", msg: "1e+18 is too large for zeros", line: 1, col: 7},
	{text: "tile(x, 3, 1)", kind: "type", msg: "tile takes 2 arguments, 3 were given", line: 1, col: 10, hint: "tile(x, reps)", inputs: xs("x=[1, 2, 3]")},
	{text: "f(x) = x", op: "grad", kind: "type", msg: "this is a function", line: 1, col: 1, hint: "f(x)", inputs: xs("x=1")},
	{text: "v.assign_add(x)", kind: "name", msg: "no attribute assign_add", line: 1, col: 3, hint: "write v += …", inputs: xs("v=1", "x=1")},
	{text: "f = 1; derivative(f)", kind: "name", msg: "unknown function derivative", line: 1, col: 8, hint: "write grad(y, x)"},
	{text: "gradient f(a; g) = g; f(a) = a; 1", kind: "name", msg: "no function or operation f", line: 1, col: 10, hint: "before its gradient"},
	{text: "gradient sin(a, b; g) = g, g; 1", kind: "type", msg: "sin does not take 2 arguments, as its gradient does", line: 1, col: 10, hint: "sin(x)"},
	{text: "gradient atan2(a; g) = g; 1", kind: "type", msg: "atan2 does not take 1 argument", line: 1, col: 10, hint: "atan2(y, x)"},
	{text: "max(x, 1, keepdims=true)", kind: "type", msg: "max of several arguments compares elementwise and takes no keepdims", line: 1, col: 1, hint: "axis=", inputs: xs("x=[[1, 2]]")},
	{text: "l2_normalize(x, epsilon=1)", kind: "type", msg: "l2_normalize has no argument epsilon", line: 1, col: 17, hint: "did you mean eps?", inputs: xs("x=[1, 2]")},
	{text: "matmul(2, x)", kind: "shape", msg: "a matrix product needs axes", line: 1, col: 1, hint: "written *", inputs: xs("x=[[1, 2]]")},
	{text: "prod((x, 3))", kind: "type", msg: "a tensor is needed here, this is a tuple of 2", line: 1, col: 6, inputs: xs("x=[[1, 2]]")},
	{text: "gradient clip(a, lo, hi; g) = g, none, none; clip(x, 0)", kind: "type", msg: "clip is called with 2 arguments, its gradient has 3 parameters", line: 1, col: 46, hint: "for each argument", inputs: xs("x=3")},
	{text: "f(a) = a; gradient f(a; g) = a > 0 ? none : g\ngrad(f(x), x)", kind: "type", msg: "a tensor is needed here, this is none", line: 1, col: 30, inputs: xs("x=3")},
	{text: "f(a) = a; gradient f(a, b; g) = g, g; 1", kind: "type", msg: "f takes 1 argument, its gradient 2", line: 1, col: 20},
	{text: "atan2(1)", kind: "type", msg: "atan2 takes 2 arguments, 1 was given", line: 1, col: 1},
	{text: "x.sum()", kind: "name", msg: "a tensor has no attribute sum", line: 1, col: 3, hint: "write sum(x)", inputs: xs("x=1")},
	{text: "x.grad", kind: "name", msg: "a tensor has no attribute grad", line: 1, col: 3, hint: "write grad(y, x)", inputs: xs("x=1")},
	{text: "diff(x^2, x)", kind: "type", msg: "diff needs a whole number here, not 0.5", line: 1, col: 11, hint: "write grad(y, x) for a derivative", inputs: xs("x=0.5")},
	{text: "y = x^2; grad(y)", kind: "type", msg: "grad takes 2 arguments", line: 1, col: 10, hint: "write grad(y, x)", inputs: xs("x=1")},
	{text: "f(a) = a^2; jvp(f, x, x)", kind: "type", msg: "jvp of a function takes the function alone", line: 1, col: 17, hint: "write jvp(f)(x, v)", inputs: xs("x=1")},
	{text: "hessian(a -> a^2, x)", kind: "type", msg: "hessian of a function takes the function alone", line: 1, col: 9, hint: "write hessian(a -> a^2)(x)", inputs: xs("x=1")},
	{text: "vjp(sin, x)", kind: "type", msg: "vjp of a function takes", line: 1, col: 5, hint: "write vjp(sin)(x, g)", inputs: xs("x=1")},
	{text: "f(a, b) = a*b; grad(f, 1)(x, x)", kind: "type", msg: "grad of a function", line: 1, col: 21, hint: "grad(b -> f(a, b))(b) by the second", inputs: xs("x=1")},
	{text: "f(a, b) = a*b; grad(f, argnums=1)(x, x)", kind: "type", msg: "grad of a function", line: 1, col: 21, hint: "grad(b -> f(a, b))(b) by the second", inputs: xs("x=1")},
	{text: "f(a, b) = a*b; vmap(f, in_axes=0)(x, 2)", kind: "type", msg: "arguments of this function have no names", line: 1, col: 24, hint: "vmap(a -> f(a, b))(x)", inputs: xs("x=1")},
	{text: "f(a, b) = a*b; vmap(f, 0)(x, 2)", kind: "type", msg: "vmap takes 1 argument, 2 were given", line: 1, col: 22, hint: "vmap(a -> f(a, b))(x)", inputs: xs("x=1")},
	{text: "f(a, b) = a*b; f(b=x, a=2)", kind: "type", msg: "arguments of this function have no names", line: 1, col: 18, hint: "leave out b=: they go by their order", inputs: xs("x=1")},
	{text: "norm.cdf(x)", kind: "name", msg: "a function has no attribute cdf", line: 1, col: 6, hint: "write normcdf((x - mu)/sigma)", inputs: xs("x=1")},
	{text: "x.at[0].set(5)", kind: "name", msg: "a tensor has no attribute at", line: 1, col: 3, hint: "where(mask, value, x)", inputs: xs("x=1")},
	{text: "grad(x^2, argnums=0)", kind: "type", msg: "arguments of grad have no names", line: 1, col: 11, hint: "write grad(y, x)", inputs: xs("x=1")},
	{text: "(grad(1, x), grad(2, x))", op: "grad", kind: "type", msg: "the target of a derivative is a tensor, this is none", line: 1, col: 1, inputs: xs("x=1")},
	{text: "x.size(0)", kind: "type", msg: "this is not a function", line: 1, col: 3, hint: "write .shape[0]", inputs: xs("x=[1, 2]")},
	{text: "x.foo", kind: "name", msg: "a tensor has no attribute foo", line: 1, col: 3, hint: "T, shape", inputs: xs("x=1")},
	{text: "x[0]", kind: "shape", msg: "a scalar takes no index", line: 1, col: 2, inputs: xs("x=1")},
	{text: "1; x -> x^2", op: "eval", kind: "type", msg: "the target is a number or a tensor, this is a function", line: 1, col: 4, hint: "leave out x ->, or call it: f(x) = …; f(x)"},
	{text: "f(a) = a", op: "eval", kind: "type", msg: "the target is a number or a tensor, this is a function", line: 1, col: 1, hint: "a call is written f(a)"},
	{text: "loss(a) = a", op: "grad", kind: "type", msg: "the target of a derivative is a tensor, this is a function", line: 1, col: 1, hint: "a call is written loss(a), the derivative grad(loss)(a)", inputs: xs("x=1")},
	{text: "f = x -> x^2; f", op: "grad", kind: "type", msg: "the target of a derivative is a tensor, this is a function", line: 1, col: 15, hint: "a call is written f(x), the derivative grad(f)(x)", inputs: xs("x=1")},
	{text: "sin", op: "grad", kind: "type", msg: "the target of a derivative is a tensor, this is a function", line: 1, col: 1, hint: "a call is written sin(…)", inputs: xs("x=1")},
	{text: "t = (1, 2); t^2", kind: "type", msg: "a tensor is needed here, this is a tuple of 2", line: 1, col: 13, hint: "t[0]"},
	{text: "r = {a: 1}; r^2", kind: "type", msg: "a record (an object with the fields a)", line: 1, col: 13, hint: "r.a"},
	{text: "x(2)", kind: "type", msg: "x is not a function", line: 1, col: 1, hint: "x*", inputs: xs("x=1")},
	{text: "f(a) = a^2\ng(a) = grad(f(a), a)\ng(2)^2", kind: "type", msg: "this is none (a is a constant", line: 3, col: 1, hint: "watch a in front"},
	{text: "sin + 1", kind: "type", msg: "a tensor is needed here, this is a function", line: 1, col: 1},
	{text: "(1, 2) + 1", kind: "type", msg: "this is a tuple of 2", line: 1, col: 1},
	{text: "{a: 1}*2", kind: "type", msg: "record", line: 1, col: 1},
	{text: "a, b = [1, 2, 3]", kind: "type", msg: "2 names for 3 values", line: 1, col: 8, hint: "a name for each value"},
	{text: "a, b = 3", kind: "type", msg: "cannot unpack a scalar", line: 1, col: 8, hint: "(a, b)"},
	{text: "for i in 3 { i }", kind: "type", msg: "cannot walk over a scalar", line: 1, col: 10},
	{text: "for i in range(0, 1, 0) { i }", kind: "type", msg: "step other than 0", line: 1, col: 10},
	{text: "x[1.5]", kind: "type", msg: "whole number, not 1.5", line: 1, col: 3, inputs: xs("x=[1, 2, 3]")},
	{text: "x[::0]", kind: "type", msg: "step is not 0", line: 1, col: 3, inputs: xs("x=[1, 2, 3]")},
	{text: "grad(3*x, 2*x)", kind: "type", msg: "taken by a name, not by 2 * x", line: 1, col: 12, hint: "give it a name", inputs: xs("x=1")},
	{text: "grad(sum(x), x[0])", kind: "type", msg: "taken by a name", line: 1, inputs: xs("x=[1, 2, 3]")},
	{text: deepChain(), kind: "type", msg: "calls stand more than 5000 deep in each other", line: 1, hint: "bind the value of one of them", inputs: xs("x=1")},
	{text: "einsum(\"" + strings.Repeat("i", 1000) + "->\", x)", kind: "shape", msg: "einsum \"iiiiiiiiiiiiiiiiiiiiiiii…iiiiii->\": iiiiiiiiiiiiiiiiiiiiiiii…iiiiiiii names 1000 axes", line: 1, col: 1, inputs: xs("x=1")},
	{text: "while x < 3 { y = 2*x }; x", kind: "type", msg: "this loop never ends", line: 1, col: 9, hint: "bind a name of the condition anew", inputs: xs("x=1")},
	{text: "scan((c, a) -> (c + a, c), 0, [x, x])", kind: "shape", msg: "results of shapes () and (2,) do not stack", line: 1, col: 1, hint: "zeros_like(xs[0])", inputs: xs("x=[1, 2]")},
	{text: "f(n) = f(n + 1)\nf(0)", kind: "type", msg: "f calls itself more than 5000 times", line: 1, col: 8},
	{text: "var v = (1, 2)", kind: "type", msg: "a variable holds one tensor", line: 1, col: 9},
	{text: "vmap(3)([1])", kind: "type", msg: "vmap takes a function", line: 1},
	{text: "scan((c, x) -> c, 0, [1, 2])", kind: "type", msg: "returns a pair", line: 1, hint: "running sums"},
	{text: "randint(3, 3)", kind: "type", msg: "low < high", line: 1, col: 1},
	{text: "arange(0, 1, 0)", kind: "type", msg: "step other than 0", line: 1, col: 1},
	{text: `cast(1, "float16")`, kind: "type", msg: `no dtype "float16"`, line: 1, col: 9, hint: "write float32"},
	{text: "astype(1, sin)", kind: "type", msg: `no dtype "sin"`, line: 1, col: 11},
	{text: `zeros(3, dtype="int32")`, kind: "type", msg: "zeros has no argument dtype", line: 1, col: 10, hint: "int64(…)"},
	{text: "(1, x.dtype)", op: "eval", kind: "type", msg: `the target is the string "float64", not a number`, line: 1, col: 7, inputs: xs("x=1")},
	{text: "sin", op: "eval", kind: "type", msg: "the target is a number or a tensor, this is a function", line: 1, col: 1, hint: "a call is written sin(…)"},
	{text: "(1, a -> a)", op: "eval", kind: "type", msg: "the target is a function, not a number", line: 0},
	{text: "for i in range(40) { x = (x, x) }\nx[0]", kind: "type", msg: "a structure of more than 4194304 values", line: 1, inputs: xs("x=1")},
	{text: "y = x\nfor i in range(12) { y = (y, y) }\nhessian(x, y)", kind: "type", msg: "a Hessian by 4096 sources has 16777216 blocks", line: 3, hint: "in a tensor are one source", inputs: xs("x=1")},
	{text: "y = x\nfor i in range(19) { y = (y, y) }\ngrad(x, y)", kind: "type", msg: "a derivative by a structure of more than 262144 values", line: 2, hint: "in a tensor are one source", inputs: xs("x=1")},
	{text: "for i in range(20000) { x = {a: x} }\n1", kind: "type", msg: "structures nest deeper than 10000", line: 1, inputs: xs("x=1")},
	{text: "y = x\nfor i in range(200) { y = y[newaxis] }\nsum(y)", kind: "shape", msg: "a tensor has at most 128 axes", line: 2, col: 28, inputs: xs("x=1")},
	{text: "grad(a*b^2)", kind: "type", msg: "grad takes 2 arguments (y, x), or one function", line: 1, col: 1, hint: "write grad(a*b^2, a)", inputs: xs("a=1", "b=2")},
	{text: "vjp(x^2)", kind: "type", msg: "vjp takes 3 arguments", line: 1, col: 1, hint: "write vjp(x^2, x, g)", inputs: xs("x=1")},
	{text: "hvp(x^2, x)", kind: "type", msg: "hvp takes 3 arguments, 2 were given", line: 1, col: 1, hint: "write hvp(y, x, v)", inputs: xs("x=1")},
	{text: "log(x, 2)", kind: "type", msg: "log takes 1 argument", line: 1, col: 6, hint: "log(x)/log(b)", inputs: xs("x=1")},
	{text: "pi()*2", kind: "name", msg: "unknown function pi", line: 1, col: 1, hint: "without ()"},
	{text: "diff(x^2, x)", kind: "type", msg: "how often is one number", line: 1, col: 11, hint: "grad(y, x) is the derivative", inputs: xs("x=[1, 2]")},
	// gradients
	{text: "adjust_contrast(x, d)", op: "grad", kind: "gradient", msg: "no gradient is registered for adjust_contrast", line: 1, col: 1, hint: "gradient adjust_contrast(image, delta; g) =", inputs: xs("x=ones(2, 2, 1)", "d=2")},
	{text: "f(a) = a^2; gradient f(a; g) = clip(g, -1, 1)*a\njvp(f(x), x, 1)", kind: "gradient", msg: "linear", hint: "reverse", line: 2, inputs: xs("x=3")},
	// memory
	{text: "sum(x[:, newaxis] * x)", kind: "memory", msg: "limit", hint: "--max-memory", line: 1, inputs: xs("x=ones(3000)"), code: 5},
	{text: "zeros(1000, 1000, 1000)", kind: "memory", msg: "limit", hint: "--max-memory", line: 1, col: 1, code: 5},
	{text: "x^2", op: "jacobian", kind: "memory", msg: "a Jacobian of shape (3000, 3000)", hint: "vjp", inputs: xs("x=ones(3000)"), code: 5, line: 1},
	{text: "sum(x)^2", op: "hessian", kind: "memory", msg: "a Hessian of shape (3000, 3000)", hint: "hvp", inputs: xs("x=ones(3000)"), code: 5, line: 1},
	{text: "zeros(1e15, 1e15)", kind: "memory", line: 1, col: 1, msg: "limit", code: 5},
	{text: "eye(1e9)", kind: "memory", line: 1, col: 1, msg: "limit", code: 5},
	{text: "range(1e12)", kind: "memory", line: 1, col: 1, msg: "limit", code: 5},
	{text: "range(0, 1e30)", kind: "type", line: 1, col: 1, msg: "more than 2^53 steps"},
	{text: "range(0, 1, 0.1)", kind: "type", line: 1, col: 13, msg: "whole numbers, not 0.1", hint: "arange(0, 1, 0.1)"},
	{text: "for t in range(0.5, 2) { x = t }; x", kind: "type", line: 1, col: 16, msg: "whole numbers, not 0.5"},
	{text: "range(0, inf)", kind: "type", line: 1, col: 1, msg: "no end"},
	{text: "arange(1e18)", kind: "memory", line: 1, col: 1, msg: "arange of 1e+18 numbers does not fit", code: 5},
	{text: "arange(nan)", kind: "type", line: 1, col: 1, msg: "arange from 0 to nan by 1 has no end"},
	{text: "arange(inf)", kind: "type", line: 1, col: 1, msg: "arange from 0 to inf by 1 has no end"},
	{text: "range(0, inf)", kind: "type", line: 1, col: 1, msg: "range(0, inf, 1) has no end"},
	{text: "zeros(nan)", kind: "type", line: 1, col: 7, msg: "a whole number here, not nan"},
	{text: "logspace(0, 1, -3)", kind: "shape", line: 1, col: 1, msg: "logspace: num is at least 0, not -3"},
	{text: "arange(1e12)", kind: "memory", line: 1, col: 1, msg: "limit", code: 5},
	{text: "geomspace(1, [4, 9], 2)", kind: "type", msg: "one number is needed here, not a tensor of shape (2,)", line: 1, col: 14}, // it was [1, 9]
	{text: "linspace(x, [4, 9], 2)", kind: "type", msg: "one number is needed here, not a tensor of shape (2,)", line: 1, col: 13, inputs: xs("x=1")},
	{text: "linspace(0, 1, 1e12)", kind: "memory", line: 1, col: 1, msg: "limit", code: 5},
	{text: "rand(1e6, 1e6)", kind: "memory", line: 1, col: 1, msg: "limit", code: 5},
	{text: "tile([1, 2], 1e12)", kind: "memory", line: 1, col: 1, msg: "limit", code: 5},
	{text: "one_hot([1], 1e12)", kind: "memory", line: 1, col: 1, msg: "limit", code: 5},
}

// deepChain is a program of 6000 functions of which each calls the one before it.
func deepChain() string {
	var b strings.Builder
	b.WriteString("f0(a) = a")
	for i := 1; i < 6000; i++ {
		fmt.Fprintf(&b, "; f%d(a) = f%d(a)", i, i-1)
	}
	return b.String() + "; f5999(x)"
}

func TestMistakes(t *testing.T) {
	for _, r := range mistakes {
		op := r.op
		if op == "" {
			op = "eval"
		}
		q := question(t, op, r.text, r.inputs...)
		q.Limit = 32 << 20
		q.Deadline = time.Now().Add(20 * time.Second) // under the race detector 10000 nested records take 2.5 s of an idle machine
		a, err := q.Answer()
		if err == nil {
			t.Errorf("%s: no error, but %s", r.text, write(a.Targets[0].Value))
			continue
		}
		e, ok := AsError(err)
		if !ok {
			t.Errorf("%s: %T %v is no positioned error", r.text, err, err)
			continue
		}
		line, col := e.At.LineCol()
		code := r.code
		if code == 0 {
			code = 3
		}
		if e.At.Kind != r.kind || !strings.Contains(e.At.Msg, r.msg) || e.ExitCode() != code {
			t.Errorf("%s: %s error %q, exit %d, want %s %q, exit %d", r.text, e.At.Kind, e.At.Msg, e.ExitCode(), r.kind, r.msg, code)
		}
		if line != r.line || r.col != 0 && col != r.col {
			t.Errorf("%s: %q at %d:%d, want %d:%d", r.text, e.At.Msg, line, col, r.line, r.col)
		}
		if !strings.Contains(e.At.Hint+e.At.Note, r.hint) {
			t.Errorf("%s: hint %q %q, want %q", r.text, e.At.Hint, e.At.Note, r.hint)
		}
		if strings.Contains(e.At.Msg, "\n") || strings.HasSuffix(e.At.Msg, ".") || e.At.Msg == "" {
			t.Errorf("%s: %q is not one line without a full stop", r.text, e.At.Msg)
		}
		e.At.Render()
	}
}

// TestWrongQuestions: what is asked of a program and cannot be.
func TestWrongQuestions(t *testing.T) {
	for _, r := range []struct {
		op, text, msg string
		code          int
		set           func(q *Question)
	}{
		{"grad", "7", "no variable", 2, func(q *Question) { q.Inputs = nil }},
		{"grad", "x^2", "--wrt z: the program has no z", 3, func(q *Question) { q.Wrt = []string{"z"} }},
		{"grad", "x^2", "--of z: the program has no z", 3, func(q *Question) { q.Of = []string{"z"} }},
		{"vjp", "x^2", "needs the upstream gradient", 2, nil},
		{"jvp", "x^2", "needs a tangent", 2, nil},
		{"hvp", "sum(x^2)", "needs a tangent", 2, nil},
		{"jvp", "x^2", "--with y: it is not a source", 2, func(q *Question) {
			q.With = &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "y", Value: tensor.Of(tensor.Scalar(1))}}}
		}},
		{"vjp", "x^2", "the upstream gradient has shape (3,)", 3, func(q *Question) { q.With = tensor.Of(tensor.New(3)) }},
		{"grad", "y = x^2; z = x", "--with x: it is not a target", 2, func(q *Question) {
			q.Of = []string{"y", "z"}
			q.With = &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "x", Value: tensor.Of(tensor.Scalar(1))}}}
		}},
		{"vjp", "y = x^2; z = x", "--with gives the target z no upstream gradient", 2, func(q *Question) {
			q.Of = []string{"y", "z"}
			q.With = &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "y", Value: tensor.Of(tensor.Scalar(1))}}}
		}},
		{"grad", "exp(x) * sin(x) * abs(x - 1)", "--order 40 would need about", 5, func(q *Question) { // at a kink there is no power series
			q.Inputs[0].Value = tensor.Of(tensor.Scalar(1))
			q.Order, q.Limit = 40, 100<<20
		}},
		{"grad", "sin(x) + relu(x)", "--order 100000 would take too long", 5, func(q *Question) { // nor here
			q.Inputs[0].Value = tensor.Of(tensor.Scalar(0))
			q.Order = 100000
		}},
		{"eval", "ones(1e10, 0)", "a tensor of shape (10000000000, 0)", 5, func(q *Question) { q.Limit = 100 << 20 }}, // "[]" for each row
		{"eval", "tri(0, 1e10)", "a tensor of shape (0, 10000000000)", 5, func(q *Question) { q.Limit = 100 << 20 }},
		{"grad", "x^2", "--order 2 needs a scalar target", 3, func(q *Question) { q.Order = 2 }},
		{"grad", "sum(x^2)", "--order 2 needs scalar sources, x has shape (2,)", 3, func(q *Question) { q.Order = 2 }},
		{"eval", "f(a) = a", "the target is a number or a tensor, this is a function", 3, nil},
		{"eval", "reset", "computes nothing", 3, nil},
		{"eval", "watch x", "computes nothing", 3, nil},
	} {
		q := question(t, r.op, r.text, "x=[1, 2]")
		if r.set != nil {
			r.set(q)
		}
		_, err := q.Answer()
		e, ok := AsError(err)
		if !ok || !strings.Contains(e.At.Msg, r.msg) || e.ExitCode() != r.code {
			code := 0
			if ok {
				code = e.ExitCode()
			}
			t.Errorf("%s of %s: %v (exit %d), want %q (exit %d)", r.op, r.text, err, code, r.msg, r.code)
		}
	}
}

// seeds of FuzzProgram are the texts of all tables.
func seeds() []string {
	var out []string
	for _, r := range values {
		out = append(out, r.text)
	}
	for _, r := range gradients {
		out = append(out, r.text)
	}
	for _, r := range mistakes {
		out = append(out, r.text)
	}
	for _, r := range asking {
		out = append(out, r.text)
	}
	for _, r := range kinks {
		out = append(out, r.text)
	}
	for _, calls := range structural {
		out = append(out, calls...)
	}
	return out
}

// misuses call everything there is with arguments of many kinds, few of which fit.
func misuses() []string {
	var out []string
	for _, op := range All() {
		out = append(out, op.Name+"(x)", op.Name+"(x, y)", op.Name+"(m, 2)", op.Name+"(m, x, z)", op.Name+"()", op.Name+"(m, m, m, m)", op.Name+"([])", op.Name+"((x, x))",
			op.Name+"(inf)", op.Name+"(1e300)", op.Name+"(-1)", op.Name+"(1, -1)", op.Name+"(m, nan)", op.Name+`("a", x)`, op.Name+"(zeros(0))", op.Name+"(zeros(2, 0))", op.Name+"(())", op.Name+"(m, ())", op.Name+"(m, x, ())")
	}
	for _, f := range forms {
		n := f.Name
		out = append(out, n+"(x)", n+"(x, x)", n+"(x, x, x)", n+"(sin)(x)", n+"(sin, x, x)", n+"(x^2, m)", n+"("+n+")", n+"()")
	}
	return out
}

// survive answers every question about a text: it may fail, it may not panic, and it
// must end.
func survive(t *testing.T, text string) {
	p, err := expr.Parse("", text)
	if err != nil {
		return
	}
	for _, op := range []string{"eval", "grad", "jacobian", "batch_jacobian", "hessian", "jvp", "vjp", "hvp"} {
		q := &Question{Prog: p, Op: op, Limit: 64 << 20, Deadline: time.Now().Add(time.Second)}
		q.Inputs = append(q.Inputs, []Input{
			{Name: "x", Value: tensor.Of(tensor.From([]float64{1, 0.5, -2}, 3))},
			{Name: "y", Value: tensor.Of(tensor.Scalar(2))},
			{Name: "m", Value: tensor.Of(tensor.From([]float64{1, 2, 3, 4, 5, 6}, 2, 3))},
			{Name: "z", Value: tensor.Of(tensor.From([]float64{0, 1}, 2)), Const: true},
			{Name: "p", Value: &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "w", Value: tensor.Of(tensor.Scalar(1))}}}},
		}...)
		switch op {
		case "vjp":
			q.With = tensor.Of(tensor.Scalar(1))
		case "jvp", "hvp":
			q.With = &tensor.Value{Kind: tensor.KindRecord, Fields: []tensor.Field{{Name: "x", Value: tensor.Of(tensor.From([]float64{1, 2, 3}, 3))}}}
		}
		start := time.Now()
		whole := true
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s of %q panics: %v", op, text, p)
					whole = false
				}
			}()
			if _, err := q.Answer(); err != nil {
				if e, ok := AsError(err); !ok || e.At.Msg == "" || e.ExitCode() == 0 {
					t.Errorf("%s of %q: the error %T %v", op, text, err, err)
				} else {
					e.At.Render()
				}
			}
		}()
		if !whole {
			return
		}
		if d := time.Since(start); d > 4*time.Second {
			t.Errorf("%s of %q took %v in spite of its deadline of 1 s", op, text, d)
		}
	}
}

func TestNothingPanics(t *testing.T) {
	for i, text := range append(seeds(), misuses()...) {
		if spared(i) || spared(i/5) {
			continue
		}
		survive(t, text)
	}
}

func FuzzProgram(f *testing.F) {
	for i, s := range append(seeds(), misuses()...) {
		if i%20 == 0 { // all of them run in TestNothingPanics
			f.Add(s)
		}
	}
	f.Fuzz(survive)
}

// TestListIsLight: the gradient of a list of many numbers takes memory for one list.
func TestListIsLight(t *testing.T) {
	const n = 4000
	a, err := question(t, "grad", "sum(["+strings.Repeat("x, ", n)+"x])", "x=3").Answer()
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(10 * 8 * n); a.Stats.Peak > most {
		t.Errorf("the gradient of a list of %d numbers has %d bytes alive at once, want at most %d", n, a.Stats.Peak, most)
	}
}

// A while loop whose values come again is an error at once: it never ends.
func TestCircles(t *testing.T) {
	for text, endless := range map[string]bool{
		"while x > 0 { x = sqrt(x) }\nx":                                                                 true,
		"while x != 7 { x = x % 2 == 0 ? x/2 : 3*x + 1 }\nx":                                             true, // 4, 2, 1
		"y = x; while abs(y^2 - x) > 1e-300 { y = (y + x/y)/2 }\ny":                                      true,
		"y = x*ones(100); while norm(y^2 - x) > 1e-300 { y = (y + x/y)/2 }\nsum(y)":                      true,
		"y = x*ones(100, 100); while norm(y) > 0 { y = y/norm(y) }\nsum(y)":                              true,
		"i = 0; while i < 5000 { i = i + 1 }\nx*i":                                                       false,
		"i = 0; y = x; while i < 5000 { i = i + 1; y = sqrt(y) }\ny":                                     false,
		"v = arange(5000); i = 0; s = x; while v[i] < 4000 { i = i + 1 }\ns*i":                           false,
		"i = 0; y = x*ones(100); while i < 500 { i = i + 1; y = y/norm(y) }\nsum(y)":                     false,
		"v = arange(500); i = 0; y = x*ones(100); while v[i] < 400 { i = i + 1; y = y/norm(y) }\nsum(y)": false,
	} {
		_, err := question(t, "grad", text, "x=3").Answer()
		if e, ok := AsError(err); (err != nil) != endless || endless && (!ok || e.ExitCode() != 5 || !strings.Contains(err.Error(), "come again")) {
			t.Errorf("%q: error %v, endless is %v", text, err, endless)
		}
	}
}

// A while loop that needs no memory and does not end is an error after very many steps.
func TestMostSteps(t *testing.T) {
	defer func(n int) { mostSteps = n }(mostSteps)
	mostSteps = 100_000
	for text, ends := range map[string]bool{
		"while x > 0 { x = x + 1 }\nx":                                                           false,
		"while x < 99_000 { x = x + 1 }\nx":                                                      true,
		"while x < 101_000 { x = x + 1 }\nx":                                                     false,
		"y = x*ones(100); while sum(y) > 0 { y = y + 1/(1 + norm(y)) }\nsum(y)":                  false,
		"i = 0; y = x*ones(100); while i < 9_000 { i = i + 1; y = y + 1/(1 + norm(y)) }\nsum(y)": true,
	} {
		prog, err := expr.Parse("", strings.ReplaceAll(text, "_", ""))
		if err != nil {
			t.Fatal(err)
		}
		q := &Question{Prog: prog, Op: "grad", Inputs: []Input{{Name: "x", Value: tensor.Of(tensor.Scalar(1))}}}
		_, err = q.Answer()
		if (err == nil) != ends {
			t.Errorf("%q: error %v", text, err)
		}
		if e, ok := AsError(err); err != nil && (!ok || e.ExitCode() != 5 || !strings.Contains(err.Error(), "still holds after 100000 steps") && !strings.Contains(err.Error(), "still holds after 10000 steps")) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
