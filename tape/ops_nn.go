package tape

import (
	"math"

	"nabla/kernels"
	"nabla/tape/tensor"
)

var opContrast *Op

var nnRows = []Op{
	{Name: "relu", Args: "x", Doc: "max(x, 0)", Body: "maximum(x, 0)", Note: "at 0: 0"},
	{Name: "relu6", Args: "x", Doc: "x kept between 0 and 6", Body: "minimum(maximum(x, 0), 6)", Note: "at 0 and 6: 0"},
	{Name: "leaky_relu", Args: "x, alpha=0.01", Doc: "x above 0, alpha x below", Joins: true, Body: "where(x > 0, x, where(x <= 0, alpha * x, nan * x))",
		Kinks: []Kink{{"x == 0 && alpha != 1", "a kink: the derivative from below", true}}, Note: "at 0: alpha"},
	{Name: "elu", Args: "x, alpha=1", Doc: "x above 0, alpha (exp(x) - 1) below", Joins: true, Body: "where(x >= 0, x, alpha * expm1(minimum_to_zero(x)))",
		Kinks: []Kink{{"x == 0 && alpha != 1", "a kink: the derivative from above", true}}, Note: "at 0: 1"},
	{Name: "minimum_to_zero", Args: "x", Hidden: true, Doc: "x below 0, 0 above, the derivative left to where", Grad: d("1"), Kernel: unary(&belowZeroDoor, belowZero)},
	{Name: "selu", Args: "x", Doc: "scaled elu", Joins: true, Body: "1.0507009873554805 * where(x >= 0, x, 1.6732632423543772 * expm1(minimum_to_zero(x)))",
		Kinks: []Kink{{"x == 0", "a kink: the derivative from above", true}}, Note: "at 0: its scale, 1.0507…"},
	{Name: "celu", Args: "x, alpha=1", Doc: "continuously differentiable elu", Joins: true, Body: "where(x >= 0, x, alpha * expm1(minimum_to_zero(x) / alpha))"},
	{Name: "gelu", Args: "x", Doc: "x times the normal distribution function (the exact form)", Body: "zmul(x, normcdf(x))"},
	{Name: "silu", Alias: []string{"swish"}, Args: "x", Doc: "x sigmoid(x)", Body: "zmul(x, sigmoid(x))"},
	{Name: "mish", Args: "x", Doc: "x tanh(softplus(x))", Body: "zmul(x, tanh(softplus(x)))"},
	{Name: "softsign", Args: "x", Doc: "x / (1 + |x|)", Grad: d("square(1 / (1 + abs(x)))"), Kernel: unary(&softsignDoor, softsignOf), Try: at(-2, 0.5, 3)},
	{Name: "hard_sigmoid", Args: "x", Doc: "relu6(x + 3) / 6", Body: "(minimum(maximum(x, -3), 3) + 3) / 6"},
	{Name: "hard_tanh", Alias: []string{"hardtanh"}, Args: "x", Doc: "x kept between -1 and 1", Body: "minimum(maximum(x, -1), 1)"},
	{Name: "hard_swish", Alias: []string{"hardswish"}, Args: "x", Doc: "x hard_sigmoid(x)", Body: "zmul(x, (minimum(maximum(x, -3), 3) + 3) / 6)"},
	{Name: "tanhshrink", Args: "x", Doc: "x - tanh(x)", Grad: d("square(tanh(x))"), Kernel: unary(&tanhshrinkDoor, tanhshrinkOf), Try: at(-4, -0.5, 0, 2)},
	{Name: "glu", Args: "x, #axis=-1", Doc: "one half times the sigmoid of the other", Body: "p = split(x, 2, axis); p[0] * sigmoid(p[1])"},
	{Name: "clip_by_norm", Args: "x, limit, #axis=None", Doc: "x scaled down to at most the given norm", Body: "n = vector_norm(x, 2, axis, true); x * where(n < limit, 1, limit / where(n == 0, 1, n))"},
	{Name: "normalize", Args: "x, #axis=-1, eps=1e-12", Doc: "x divided by its norm", Body: "x / maximum(vector_norm(x, 2, axis, true), eps)"},
	{Name: "l2_normalize", Args: "x, #axis=None, eps=1e-12", Doc: "x divided by its norm, of all elements if no axis is given", Body: "x / maximum(vector_norm(x, 2, axis, true), sqrt(eps))"},
	{Name: "standardize", Args: "x, #axis=-1, eps=1e-5", Doc: "zero mean, unit variance along an axis (layer normalisation)", Body: "(x - mean(x, axis, true)) / sqrt(var(x, axis, true) + eps)"},
	{Name: "mse", Args: "x, y", Doc: "mean squared difference", Body: "mean(square(x - y))"},
	{Name: "mae", Args: "x, y", Doc: "mean absolute difference", Body: "mean(abs(x - y))"},
	{Name: "hinge", Args: "x, y", Doc: "max(0, 1 - x y)", Body: "maximum(1 - x * y, 0)"},
	{Name: "smooth_l1", Args: "x, beta=1", Doc: "quadratic near 0, linear beyond beta", Joins: true, Body: "where(abs(x) < beta, 0.5 * square(x) / beta, abs(x) - 0.5 * beta)"},
	{Name: "gelu_tanh", Args: "x", Doc: "the tanh approximation of gelu", Body: "zmul(x, sigmoid(1.5957691216057308 * (x + 0.044715 * x^3)))"},
	{Name: "hardshrink", Args: "x, lambda=0.5", Doc: "x where |x| > lambda, 0 between", Body: "where(abs(x) > lambda, x, where(abs(x) <= lambda, 0, nan * x))",
		Kinks: []Kink{{"abs(x) == lambda", "a jump: the derivative between the jumps, 0", true}}},
	{Name: "softshrink", Args: "x, lambda=0.5", Doc: "x moved towards 0 by lambda", Body: "maximum(x - lambda, 0) + minimum(x + lambda, 0)"},
	{Name: "threshold", Args: "x, t, value", Doc: "x above t, value elsewhere", Body: "where(x > t, x, where(x <= t, value, nan * x))",
		Kinks: []Kink{{"x == t", "a jump: the derivative from below", true}}},
	{Name: "cosine_similarity", Args: "x, y, #axis=-1, eps=1e-8", Doc: "cosine of the angle between vectors", Body: "sum(x * y, axis) / (maximum(vector_norm(x, 2, axis), eps) * maximum(vector_norm(y, 2, axis), eps))"},
	{Name: "layer_norm", Args: "x, #axis=-1, eps=1e-5", Doc: "zero mean, unit variance along an axis", Body: "standardize(x, axis, eps)"},
	{Name: "batch_norm", Args: "x, #axis=0, eps=1e-5", Doc: "zero mean, unit variance over the batch", Body: "standardize(x, axis, eps)"},
	{Name: "dense", Args: "x, w, b", Doc: "x @ w + b", Body: "x @ w + b"},
	{Name: "embedding", Args: "table, #indices", Doc: "rows of a table", Body: "take(table, indices, 0)"},
	{Name: "sparse_softmax_cross_entropy", Args: "logits, labels", Doc: "minus the log_softmax at each row's label", Call: sparseCrossEntropyCall, Body: "-sum(zmul(one_hot(labels, logits.shape[-1]), log_softmax(logits, -1)), axis=-1)"},
	{Name: "huber", Args: "x, delta=1", Doc: "quadratic near 0, linear beyond delta", Joins: true, Body: "where(abs(x) < delta, 0.5 * square(x), delta * (abs(x) - 0.5 * delta))"},
	{Name: "softmax_cross_entropy", Args: "logits, labels, #axis=-1", Doc: "-sum(labels * log_softmax(logits))", Body: "-sum(zmul(labels, log_softmax(logits, axis)), axis)", Note: "a label of 0 counts nothing, even at a logit of -inf"},
	{Name: "sigmoid_cross_entropy", Args: "logits, labels", Doc: "cross entropy of a probability given by its logit", Body: "p = logits > 0; softplus(where(p, -logits, logits)) + zmul(where(p, 1 - labels, -labels), logits)", Note: "0 at the infinite logit that its label means"},
	{Name: "dropout", Args: "x, #rate", Doc: "elements set to 0 by chance, the others scaled up (seeded)", Call: func(c *call) value {
		x, p := c.ref(0), c.num(1)
		if !(p >= 0 && p < 1) {
			c.fail("type", "a dropout rate is at least 0 and below 1, not %s", formatFloat(p))
		}
		mask := &tensor.Tensor{DType: c.t.DType, Shape: c.t.Shape(x), Data: make([]float64, c.t.Shape(x).Size())}
		for i := range mask.Data {
			if c.lo.rng().uniform() >= p {
				mask.Data[i] = round(c.t.DType, 1/(1-p))
			}
		}
		return c.t.Apply(opMul, x, c.t.Tensor(mask))
	}},
	// opContrast is kept without a gradient on purpose: TensorFlow's guide shows what
	// happens then, and so do we, until the program registers one.
	{As: &opContrast, Name: "adjust_contrast", Args: "image, delta", Doc: "(x - mean) * delta + mean over height and width; no gradient is registered", NoRule: true,
		Call: func(c *call) value {
			x, d := c.ref(0), c.ref(1)
			if len(c.t.Shape(x)) < 3 || len(c.t.Shape(d)) != 0 {
				c.fail("shape", "adjust_contrast takes an image (…, height, width, channels) and a scalar, shapes %v and %v were given", c.t.Shape(x), c.t.Shape(d))
			}
			return c.t.record(opContrast, c.t.Shape(x), Attr{}, x, d)
		},
		Run: func(c *run) {
			s := c.shape
			ch := last(s)
			hw := s[len(s)-2] * s[len(s)-3]
			for o := 0; hw*ch > 0 && o < len(c.out); o += hw * ch {
				for k := range ch {
					var col []float64
					for i := range hw {
						col = append(col, c.args[0][o+i*ch+k])
					}
					mean := kernels.Sum(col) / float64(hw)
					for i := range hw {
						c.out[o+i*ch+k] = (c.args[0][o+i*ch+k]-mean)*c.args[1][0] + mean
					}
				}
			}
		}},
}

// softsignOf is x / (1 + |x|), 1 or -1 at infinities.
func softsignOf(x float64) float64 {
	if x != x || x-x != 0 && x == x {
		if x > 0 {
			return 1
		} else if x < 0 {
			return -1
		}
		return x
	}
	if x < 0 {
		return x / (1 - x)
	}
	return x / (1 + x)
}

// tanhshrinkOf is (x cosh x - sinh x)/cosh x near 0, where the power series of the
// numerator, Σ x^(2k+1) 2k/(2k+1)!, has terms of one sign.
func tanhshrinkOf(x float64) float64 {
	if !(math.Abs(x) < tanhshrinkNear) {
		return x - kernels.TanhOf(x)
	}
	z := float64(x * x)
	sum := 0.0
	for _, c := range &tanhshrinkTerms {
		sum = float64(sum*z) + c
	}
	return x * float64(sum*z) / kernels.CoshOf(x)
}

const tanhshrinkNear = 1.5

// tanhshrinkTerms are 2k/(2k+1)! for k = 11, …, 1: tanhshrinkNear^22 24/25! is below 2^-66 of the last one.
var tanhshrinkTerms = [...]float64{22. / 25852016738884976640000, 20. / 51090942171709440000, 18. / 121645100408832000, 16. / 355687428096000,
	14. / 1307674368000, 12. / 6227020800, 10. / 39916800, 8. / 362880, 6. / 5040, 4. / 120, 2. / 6}

// sparseCrossEntropyCall looks whether each row has a label, and all are places in a row: of a label that is
// none, the loss would be 0.
func sparseCrossEntropyCall(c *call) value {
	t, s, labels := c.t, c.t.Shape(c.ref(0)), c.ref(1)
	if len(s) == 0 {
		c.fail("shape", "sparse_softmax_cross_entropy needs a logit for each class, this is a scalar")
	}
	of := t.Shape(labels)
	if b, ok := broadcast(of, lead(s)); !ok || !b.Equal(lead(s)) {
		c.lo.fail(c.where(1), "shape", "logits of shape %v need labels of shape %v, one a row; these have shape %v", s, lead(s), of)
	}
	if len(t.Axes(labels)) > 0 {
		return c.written()
	}
	n := last(s)
	t.force(labels)
	t.log.saw(t, labels, []float64{0, float64(n)}, sameRange)
	if !arePlaces(t.data(labels), n) {
		for _, v := range t.data(labels) {
			if v != math.Trunc(v) || v < 0 || v >= float64(n) {
				c.lo.fail(c.where(1), "shape", "label %v is not one of 0 … %d, the classes of logits of shape %v", v, n-1, s)
			}
		}
	}
	return c.written()
}
