package tape

import (
	"sync"
)

// Theirs is what other systems do at the points where they differ from nabla: their
// partials, or a body whose partials are theirs. At all other points the derivative is the
// same.
type Theirs struct {
	In     []string // "tf", "jax", "torch"
	Grad   []string // as in Op
	Body   string   // as in Op
	At     string   // where Body has a kink that the row's own body need not name
	Strong int      // of so many of the first arguments a cotangent or partial of 0 gives 0, whatever the other is
	Says   string   // the difference, for people
}

// theirs are the differences by operation, as TensorFlow 2.21, JAX 0.10.2 and PyTorch 2.15
// were measured in float64. Not imitated: what Says calls so, and what rounding, overflow
// and infinite arguments make of their formulas.
var theirs = lazy[map[string][]Theirs]{make: func() map[string][]Theirs {
	in := func(names ...string) []string { return names }
	all := in("tf", "jax", "torch")
	zero := []Theirs{{In: in("jax", "torch"), Grad: d("0"), Says: "0, connected"}}
	return map[string][]Theirs{
		"abs": {
			{In: in("jax"), Grad: d("where(x >= 0, 1, -1)"), Says: "1 at 0"},
			{In: in("torch"), Grad: d("where(isnan(x), 0, sign(x))"), Says: "0 at NaN"}},
		"maximum": {
			{In: in("tf"), Grad: d("where(x >= y, 1, 0)", "where(x >= y, 0, 1)"), Strong: 2, Says: "a tie is the first argument's"},
			{In: in("jax"), Grad: d("where(x == y, 0.5, where(x > y, 1, 0))", "where(x == y, 0.5, where(y > x, 1, 0))"), Says: "a tie gives 1/2, against a constant too"},
			{In: in("torch"), Grad: d("where(x == y, 0.5, where(x < y, 0, 1))", "where(x == y, 0.5, where(y < x, 0, 1))"), Strong: 2, Says: "a tie gives 1/2, against a constant too"}},
		"minimum": {
			{In: in("tf"), Grad: d("where(x <= y, 1, 0)", "where(x <= y, 0, 1)"), Strong: 2, Says: "a tie is the first argument's"},
			{In: in("jax"), Grad: d("where(x == y, 0.5, where(x < y, 1, 0))", "where(x == y, 0.5, where(y < x, 1, 0))"), Says: "a tie gives 1/2, against a constant too"},
			{In: in("torch"), Grad: d("where(x == y, 0.5, where(x > y, 0, 1))", "where(x == y, 0.5, where(y > x, 0, 1))"), Strong: 2, Says: "a tie gives 1/2, against a constant too"}},
		"clip": {
			{In: in("tf"), Body: "m = where(x > hi, hi, x); where(m < lo, lo, m)", At: "x == lo || x == hi", Says: "1 at a bound; lo where it is above hi"},
			{In: in("jax"), Body: "minimum(maximum(x, lo), hi)", Says: "1/2 at a bound"},
			{In: in("torch"), Body: "m = where(x > lo, x, where(x <= lo, lo, stop_gradient(x))); where(m >= hi, hi, m)", At: "x == lo || x == hi"}},
		"relu": {
			{In: in("torch"), Body: "where(x <= 0, 0, x)", At: "x == 0"},
			{In: in("jax"), Body: "where(x <= 0, 0, where(x > 0, x, stop_gradient(x)))", At: "x == 0"},
			{In: in("tf"), Body: "where(isnan(x), stop_gradient(x), zmul(x, where(x > 0, 1, 0)))", At: "x == 0"}},
		"relu6": {
			{In: in("torch"), Body: "where(x <= 0, 0, where(x >= 6, 6, x))", At: "x == 0 || x == 6"},
			{In: in("jax"), Body: "where(x <= 0, 0, where(x >= 6, 6, where(x > 0, x, stop_gradient(x))))", At: "x == 0 || x == 6"},
			{In: in("tf"), Body: "where(x >= 6, 6, relu(x))", At: "x == 0 || x == 6"}},
		"hard_sigmoid": {
			{In: in("tf"), Body: "relu6(x + 3) / 6", At: "abs(x) == 3"},
			{In: in("jax", "torch"), Body: "where(x > -3, where(x < 3, (x + 3) / 6, 1), where(x <= -3, 0, stop_gradient(x)))", At: "abs(x) == 3"}},
		"hard_swish": {
			{In: in("tf", "jax"), Body: "zmul(x, hard_sigmoid(x))"},
			{In: in("torch"), Body: "m = where(x > -3 && x < 3, x, 0); where(x > -3 && x < 3, m * (m + 3) / 6, where(x <= -3, 0, x))", At: "abs(x) == 3"}},
		"hard_tanh": {
			{In: in("jax"), Body: "where(x > 1, 1, where(x < -1, -1, x))", At: "abs(x) == 1", Says: "1 at a bound"},
			{In: in("tf", "torch"), Body: "where(x <= -1, -1, where(x >= 1, 1, x))", At: "abs(x) == 1"}},
		"leaky_relu": {
			{In: in("jax"), Body: "where(x >= 0, x, alpha * x)", Says: "1 at 0"},
			{In: in("tf", "torch"), Body: "where(x > 0, x, alpha * x)"}},
		"elu": {
			{In: in("jax"), Body: "where(x > 0, x, alpha * expm1(minimum_to_zero(x)))", Says: "alpha at 0"},
			{In: in("torch"), Body: "where(x < 0, alpha * expm1(where(x < 0, x, 0)), where(x == 0, alpha * x, x))", Says: "alpha at 0"}},
		"celu": {
			{In: in("jax"), Body: "maximum(x, 0) + alpha * expm1(minimum(x, 0) / alpha)"},
			{In: in("torch"), Body: "where(x < 0, alpha * expm1(where(x < 0, x, 0) / alpha), x)"}},
		"selu": {
			{In: in("jax"), Body: "1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * expm1(minimum_to_zero(x)))", Says: "its scale times 1.673… at 0"},
			{In: in("torch"), Body: "1.0507009873554805 * where(x < 0, 1.6732632423543772 * expm1(where(x < 0, x, 0)), where(x == 0, 1.6732632423543772 * x, x))", Says: "its scale times 1.673… at 0"}},
		"mod": {{In: all, Grad: d("1", "-floor_divide(x, y)"), Says: "1 and infinite at (2, 0)"}},
		"fmod": {{In: in("jax", "torch"), Body: "d = y * sign_of(y); p = x - zmul(y, stop_gradient(trunc(x / y))); stop_gradient(where(x < 0, -mod(-x, d), mod(x, d)) - p) + p",
			Says: "1 and infinite at (2, 0)"}},
		"frac":  {{In: in("torch"), Grad: d("1"), Says: "1 at an infinity"}},
		"floor": zero, "ceil": zero, "trunc": zero, "round": zero, "sign": {{In: all, Grad: d("0")}}, "floor_divide": {{In: in("jax", "torch"), Grad: d("0", "0"), Says: "0, connected"}},
		"power": {
			{In: in("jax"), Grad: d("y * x^(y - 1)", "out * log(where(x == 0, 1, x))"), Says: "NaN at (0, 0) for the base"},
			{In: in("torch"), Grad: d("where(y == 0, 0, y * x^(y - 1))", "where(x == 0 && y >= 0, 0, out * log(x))")},
			{In: in("tf"), Grad: d("y * x^(y - 1)", "out * log(where(x > 0, x, 1))"), Says: "NaN at (0, 0) for the base; 0 for the exponent of a negative base"}},
		"power_zero": {{In: in("tf"), Grad: d("where(x == 0 || isnan(x), nan * x, 0)"), Says: "NaN at 0"}},
		"hypot": {
			{In: in("jax"), Grad: d("where(out == 0, 0.5, unit(x, y))", "where(out == 0, 0.5, unit(y, x))"), Says: "1/2, 1/2 at (0, 0)"},
			{In: in("torch"), Grad: d("where(out == 0, nan, unit(x, y))", "where(out == 0, nan, unit(y, x))"), Says: "NaN at (0, 0)"}},
		"atan2": {{In: in("torch"), Grad: d("where(x == 0 && y == 0, 0, unit(x, y) / hypot(x, y))", "where(x == 0 && y == 0, 0, -unit(y, x) / hypot(x, y))"), Says: "0 at (0, 0)"}},
		"xlogy": {
			{In: in("torch"), Grad: d("where(x == 0 && y <= 0, 0, log(y))", "x / y"), Strong: 1, Says: "0, NaN at (0, 0)"},
			{In: in("jax"), Grad: d("log(y)", "x / y"), Says: "-inf, NaN at (0, 0)"},
			{In: in("tf"), Grad: d("where(x == 0, 0, log(y))", "where(x == 0, 0, x / y)"), Says: "0, 0 wherever x is 0"}},
		"xlog1py": {
			{In: in("torch"), Grad: d("where(x == 0 && y <= -1, 0, log1p(y))", "x / (1 + y)"), Strong: 1, Says: "0, NaN at (0, -1)"},
			{In: in("jax"), Grad: d("log1p(y)", "x / (1 + y)"), Says: "-inf, NaN at (0, -1)"},
			{In: in("tf"), Grad: d("where(x == 0, 0, log1p(y))", "where(x == 0, 0, x / (1 + y))"), Says: "0, 0 wherever x is 0"}},
		"xdivy":    {{In: in("tf"), Grad: d("where(x == 0, 0, 1 / y)", "where(x == 0, 0, -quotient(out, y))"), Says: "0, 0 wherever x is 0"}},
		"kl_div":   {{In: in("jax"), Grad: d("where(x > 0 && y > 0, log_ratio(x, y), -1)", "where(x > 0 && y > 0, excess(y, x), 1)"), Says: "-1 for x and 1 for y wherever one is not above 0"}},
		"rel_entr": {{In: in("jax"), Grad: d("where(x > 0 && y > 0, 1 + log_ratio(x, y), 0)", "where(x > 0 && y > 0, -x / y, 0)"), Says: "0 for both wherever one is not above 0"}},
		// The slope of a formula where the function itself is not real.
		"log":          {{In: all, Grad: d("1 / x"), Says: "1/x below 0 too"}},
		"log2":         {{In: all, Grad: d("1.4426950408889634 * (1 / x)"), Says: "as 1/x below 0 too"}},
		"log10":        {{In: all, Grad: d("0.4342944819032518 * (1 / x)"), Says: "as 1/x below 0 too"}},
		"log1p":        {{In: all, Grad: d("1 / (1 + x)"), Says: "1/(1 + x) below -1 too"}},
		"atanh":        {{In: all, Grad: d("1 / one_minus_square(x)"), Says: "1/(1 - x^2) beyond 1 too"}},
		"lgamma":       {{In: in("tf", "jax"), Grad: d("where(x == 0, nan, digamma(x))"), Says: "NaN at 0"}},
		"copysign":     {{In: in("jax"), Grad: d("where(x >= 0, 1, -1) * sign_of(y)", "0"), Says: "±1 at 0"}},
		"logaddexp":    {{In: in("torch"), Grad: d("sigmoid(x - y)", "sigmoid(y - x)"), Says: "NaN where both are the same infinity"}},
		"hardshrink":   {{In: all, Body: "where(abs(x) <= lambda, 0, x)", Says: "1 at NaN"}},
		"threshold":    {{In: all, Body: "where(x <= t, value, x)", Says: "1 at NaN"}},
		"softshrink":   {{In: in("torch"), Body: "where(abs(x) <= lambda, 0, x - lambda * sign_of(x))", At: "abs(x) == lambda"}},
		"acosh":        {{In: in("jax", "torch"), Grad: d("where(x < 0, 1 / sqrt(square(x) - 1), 1 / (sqrt(x - 1) * sqrt(x + 1)))"), Says: "1/sqrt(x^2 - 1) below -1 too"}},
		"sqrt":         {{In: in("tf"), Strong: 1, Says: "0 where it is not taken, as here"}},
		"rsqrt":        {{In: in("tf"), Strong: 1, Says: "0 where it is not taken, as here"}},
		"reciprocal":   {{In: in("jax", "torch"), Grad: d("-square(out)")}},
		"clip_by_norm": {{In: in("tf"), Body: "s = sum(square(x), axis, true); x * limit / maximum(where(s > 0, sqrt(where(s > 0, s, 1)), s), limit)"}},
		"fmax": {
			{In: in("jax"), Body: "where(x > y || isnan(y), x, y)", At: "x == y", Says: "a tie is the second argument's"},
			{In: in("torch"), Body: "where(isnan(y), x, where(isnan(x), y, maximum(x, y)))"}},
		"fmin": {
			{In: in("jax"), Body: "where(x < y || isnan(y), x, y)", At: "x == y", Says: "a tie is the second argument's"},
			{In: in("torch"), Body: "where(isnan(y), x, where(isnan(x), y, minimum(x, y)))"}},
		"logsumexp":  {{In: all, Says: "NaN at an infinity that is the largest"}}, // its rule
		"norm":       {{In: in("tf", "jax"), Says: "NaN at 0"}},                   // normCall
		"std":        {{In: in("tf", "jax"), Says: "NaN where all are equal"}},
		"max_pool1d": {{In: all, Says: "a tie is the first's"}}, // extremeAdj
		"max_pool2d": {{In: all, Says: "a tie is the first's"}},
		"median":     {{In: in("jax", "torch"), Says: "a tie is one element's: not imitated"}},
		"cummax":     {{In: in("torch"), Says: "a tie is the last's"}, {In: in("jax"), Says: "ties are shared as its scan meets them: not imitated"}},
		"cummin":     {{In: in("torch"), Says: "a tie is the last's"}, {In: in("jax"), Says: "ties are shared as its scan meets them: not imitated"}},
		"interp": {{In: in("jax"), Body: `i = searchsorted(xp, x, "right"); k = maximum(i - 1, 0); slopes = concat([[0.], diff(fp) / diff(xp), [0.]])
			slope = take(slopes, where(x == xp[-1], k, i)); d = x - take(xp, k); take(fp, k) + where(slope == 0 && !isnan(d), 0, slope * d)`,
			Says: "the slope behind a knot, before the last one"}},
		"cumprod": {{In: in("tf"), Says: "0 behind a 0, which is wrong: not imitated"}},
		"gamma":   {{In: in("jax"), Grad: d("where(x == 0, nan, out * digamma(x))"), Says: "NaN at 0"}},
		"logit": {
			{In: in("tf", "jax"), Body: "log(x) - log1p(-x)"},
			{In: in("torch"), Body: "log(x) - log1p(-x) + x * where(x < 0 || x > 1, nan, 0)", Says: "NaN outside 0 to 1"}},
		"ndtri": {{In: in("jax"), Grad: d("where(x == 0 || x == 1, 0, ndtri_slope(x))"), Says: "0 at 0 and 1"}},
		"where": {{In: all, Strong: 3, Says: "what was not taken is multiplied by 0, which is NaN for infinities and NaN"}}, // weighed
	}
}}

// Theirs lists what other systems do differently.
func (op *Op) Theirs() []Theirs { return theirs.get()[op.Name] }

// variants are the rows of a convention that differ, as rows of their own.
var variants = lazy[map[string]map[*Op]*Op]{make: func() map[string]map[*Op]*Op {
	all := map[string]map[*Op]*Op{"tf": {}, "jax": {}, "torch": {}}
	for name, list := range theirs.get() {
		op := table.find(name)
		for _, th := range list {
			for _, convention := range th.In {
				v := &Op{Name: op.Name, Args: op.Args, Grad: th.Grad, Body: th.Body, strong: th.Strong}
				if th.Body != "" {
					v.Kinks = th.kinks(op, "a convention of "+convention)
				}
				all[convention][op] = v
			}
		}
	}
	return all
}}

// kinks are those of th's body: at At, and where the row has some of its own.
func (th *Theirs) kinks(op *Op, say string) (list []Kink) {
	for _, k := range op.Kinks {
		list = append(list, Kink{k.When, say, k.Finite})
	}
	if th.At != "" {
		list = append(list, Kink{th.At, say, true})
	}
	return list
}

// variant is the row of op under the tape's conventions, if that differs; or nil.
func (t *Tape) variant(op *Op) *Op {
	if t.Conventions == "" {
		return nil
	}
	return variantOf(op, t.Conventions)
}

func variantOf(op *Op, conventions string) *Op { return variants.get()[conventions][op] }

// passes is Op.passes under the tape's conventions.
func (t *Tape) passes(op *Op, i int) bool {
	if v := t.variant(op); v != nil && v.Grad != nil {
		return v.passes(i)
	}
	return op.passes(i)
}

// weighed is the product of a cotangent and a partial: a strong zero, which other systems
// do not have but for a few operations and where the partial is no formula.
func (t *Tape) weighed(ct, partial Ref, strong bool) Ref {
	if strong || t.Conventions == "" {
		return t.Apply(opZMul, ct, partial)
	}
	return t.Apply(opMul, ct, partial)
}

// A lazy value is made when it is first asked for. sync.OnceValue would make a closure
// each time nabla starts.
type lazy[T any] struct {
	make func() T
	once sync.Once
	made T
}

func (l *lazy[T]) get() T {
	l.once.Do(func() { l.made = l.make() })
	return l.made
}
