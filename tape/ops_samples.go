package tape

import (
	"math"
	"slices"

	"nabla/tape/tensor"
)

// What is asked of samples: averages, quantiles and covariances, and reductions that leave
// out what is missing, which is NaN.

var sampleRows = []Op{
	{Name: "average", Args: "x, #axis=None, weights=None, #keepdims=false", Doc: "mean over axes, with weights for all elements or for those along one axis", Call: averageCall},
	{Name: "quantile", Args: "x, #q, #axis=None, #keepdims=false", Doc: "the q-th quantile, or one for each of several q in front, linear between neighbours", Call: func(c *call) value { return c.quantile(1, false) }, Note: tiesOfSort},
	{Name: "percentile", Args: "x, #q, #axis=None, #keepdims=false", Doc: "the q-th percentile, or several, linear between neighbours", Call: func(c *call) value { return c.quantile(100, false) }, Note: tiesOfSort},
	{Name: "cov", Args: "x, y=None, #rowvar=true, #bias=false, #ddof=None", Doc: "covariance matrix of the rows of x, and of y; of one vector its variance",
		Call: covarianceCall, Body: "d = x - mean(x, axis=1, keepdims=true); ddof < x.shape[1] ? d @ d.T / (x.shape[1] - ddof) : nan * (x @ x.T)"},
	{Name: "corrcoef", Args: "x, y=None, #rowvar=true", Doc: "correlation matrix of the rows of x, and of y",
		Call: covarianceCall, Body: "d = x - mean(x, axis=1, keepdims=true); z = d / vector_norm(d, 2, 1, true); r = z @ z.T; where(eye(x.shape[0]) == 1 && !isnan(r), 1, r)"},
	{Name: "nansum", Args: "x, #axis=None, #keepdims=false", Doc: "sum without the NaN", Body: "sum(where(isnan(x), 0, x), axis, keepdims)"},
	{Name: "nanprod", Args: "x, #axis=None, #keepdims=false", Doc: "product without the NaN", Body: "prod(where(isnan(x), 1, x), axis, keepdims)"},
	{Name: "nanmean", Args: "x, #axis=None, #keepdims=false", Doc: "mean without the NaN", Body: "sum(where(isnan(x), 0, x), axis, keepdims) / sum(where(isnan(x), 0., 1.), axis, keepdims)"},
	{Name: "nanvar", Args: "x, #axis=None, #keepdims=false, #ddof=0", Doc: "variance without the NaN",
		Body: "n = sum(where(isnan(x), 0., 1.), axis, keepdims) - ddof; where(n > 0, sum(square(nan_deviations(x, axis)), axis, keepdims) / where(n > 0, n, 1), nan)"},
	{Name: "nanstd", Args: "x, #axis=None, #keepdims=false, #ddof=0", Doc: "standard deviation without the NaN: a norm, so 0 where all are equal", Note: "where all are equal: 0",
		Body: "n = sum(where(isnan(x), 0., 1.), axis, keepdims) - ddof; where(n > 0, vector_norm(nan_deviations(x, axis), 2, axis, keepdims) / sqrt(where(n > 0, n, 1)), nan)"},
	{Name: "nan_deviations", Args: "x, #axis=None", Hidden: true, Doc: "x less its mean without the NaN, 0 where it is NaN", Body: "where(isnan(x), 0, x - nanmean(x, axis, true))"},
	{Name: "nanmax", Args: "x, #axis=None, #keepdims=false", Doc: "the largest that is not NaN", Note: "a k-fold tie gives 1/k to each",
		Body: "where(all(isnan(x), axis, keepdims), nan, max(where(isnan(x), -inf, x), axis=axis, keepdims=keepdims))"},
	{Name: "nanmin", Args: "x, #axis=None, #keepdims=false", Doc: "the smallest that is not NaN", Note: "a k-fold tie gives 1/k to each",
		Body: "where(all(isnan(x), axis, keepdims), nan, min(where(isnan(x), inf, x), axis=axis, keepdims=keepdims))"},
	{Name: "nanargmax", Args: "x, #axis=None, #keepdims=false", Doc: "index of the first largest that is not NaN; -1 where all are NaN",
		Body: "where(all(isnan(x), axis, keepdims), -1, argmax(where(isnan(x), -inf, x), axis, keepdims))"},
	{Name: "nanargmin", Args: "x, #axis=None, #keepdims=false", Doc: "index of the first smallest that is not NaN; -1 where all are NaN",
		Body: "where(all(isnan(x), axis, keepdims), -1, argmin(where(isnan(x), inf, x), axis, keepdims))"},
	{Name: "nanmedian", Args: "x, #axis=None, #keepdims=false", Doc: "the middle value of those that are not NaN; ties share the derivative", Note: "a k-fold tie gives 1/k to each",
		Call: func(c *call) value { return c.reduction(nanMedian) }},
	{Name: "nanquantile", Args: "x, #q, #axis=None, #keepdims=false", Doc: "quantile without the NaN", Call: func(c *call) value { return c.quantile(1, true) }, Note: tiesOfSort},
	{Name: "nanpercentile", Args: "x, #q, #axis=None, #keepdims=false", Doc: "percentile without the NaN", Call: func(c *call) value { return c.quantile(100, true) }, Note: tiesOfSort},
	{Name: "nancumsum", Args: "x, #axis=None", Doc: "running sums without the NaN", Body: "cumsum(where(isnan(x), 0, x), axis)"},
	{Name: "nancumprod", Args: "x, #axis=None", Doc: "running products without the NaN", Body: "cumprod(where(isnan(x), 1, x), axis)"},
}

const tiesOfSort = "ties: the stable sort's permutation"

// averageCall takes weights in the shape of x, or a vector of them along one axis.
func averageCall(c *call) value {
	t, x := c.t, c.t.asFloat(c.ref(0))
	s := t.Shape(x)
	axes, keep := c.axes(1, s), c.bool(3)
	if !c.given(2) {
		return t.Apply(opDiv, t.sumTo(x, axes, keep), t.Const(float64(reducedSize(s, axes))))
	}
	w := t.asFloat(c.ref(2))
	if ws := t.Shape(w); !ws.Equal(s) {
		if len(axes) != 1 || len(ws) != 1 || ws[0] != s[len(s)+axes[0]] {
			c.lo.fail(c.where(2), "shape", "weights of shape %v for x of shape %v: as many are needed as x has elements, or as it has along one axis", ws, s)
		}
		along := slices.Repeat(tensor.Shape{1}, len(s))
		along[len(s)+axes[0]] = ws[0]
		w = t.broadcastTo(t.reshape(w, along), s)
	}
	return t.Apply(opDiv, t.sumTo(t.Apply(opMul, x, w), axes, keep), t.sumTo(w, axes, keep))
}

// covarianceCall makes the rows of x and y one matrix; that of one row is a number.
func covarianceCall(c *call) value {
	t := c.t
	rows := func(i int) Ref {
		x := t.asFloat(c.ref(i))
		s := t.Shape(x)
		switch {
		case len(s) < 1 || len(s) > 2:
			c.lo.fail(c.where(i), "shape", "%s takes a vector or a matrix, this has shape %v", c.op.Name, s)
		case len(s) == 1:
			x = t.reshape(x, tensor.Shape{1, s[0]})
		case !c.bool(2) && s[0] != 1:
			x = t.mT(x)
		}
		return x
	}
	x := rows(0)
	if c.given(1) {
		y := rows(1)
		if n, m := last(t.Shape(x)), last(t.Shape(y)); n != m {
			c.lo.fail(c.where(1), "shape", "%s of %d and of %d observations", c.op.Name, n, m)
		}
		x = t.concat([]Ref{x, y}, 0)
	}
	c.vals[0] = x
	if len(c.vals) > 4 && !c.given(4) {
		ddof := 1.0
		if c.bool(3) {
			ddof = 0
		}
		c.vals[4] = t.Const(ddof)
	}
	r := c.lo.ref(c.written(), c.at)
	if t.Shape(r).Size() == 1 {
		r = t.reshape(r, tensor.Shape{})
	}
	return r
}

// quantile interpolates between order statistics, NumPy's linear method; unit is what
// q counts: 1 or 100. Of several q the results stand one after the other in front. With
// missing, NaN are left out, so that each row has an end of its own.
func (c *call) quantile(unit float64, missing bool) value {
	t, x, by := c.t, c.ref(0), c.ref(1)
	s, qs := t.Shape(x), t.Shape(by)
	if len(t.Axes(by)) > 0 {
		c.lo.fail(c.where(1), "type", "%s needs one q for all that is mapped: several in one tensor are fine", c.op.Name)
	}
	for _, q := range t.read(by) {
		if q /= unit; !(q >= 0 && q <= 1) {
			c.lo.fail(c.where(1), "type", "%s needs q between 0 and %v", c.op.Name, unit)
		}
	}
	axes := c.axes(2, s)
	if reducedSize(s, axes) == 0 {
		c.fail("shape", "%s of no elements: shape %v", c.op.Name, s)
	}
	x = t.lastAxis(x, axes)
	sorted := t.takeAlong(x, t.argsort(x))
	of := t.order
	if missing {
		of = t.orderOfNumbers
	}
	flat := t.reshape(by, tensor.Shape{qs.Size()})
	var parts []Ref
	for i, q := range t.data(by) {
		parts = append(parts, of(sorted, t.Apply(opDiv, t.asFloat(t.pick(flat, i)), t.Const(unit)), q/unit))
	}
	if len(parts) == 0 {
		c.lo.fail(c.where(1), "shape", "%s for no q", c.op.Name)
	}
	return t.reshape(t.stack(parts, 0), append(slices.Clone(qs), reduced(s, axes, c.bool(3))...))
}

// order is the element of each row of sorted numbers that the part q of them is below, and
// NaN where one of them is; by is q, in which it is a line between two of them.
func (t *Tape) order(sorted, by Ref, q float64) Ref {
	s := t.Shape(sorted)
	n := last(s)
	element := func(i int) Ref { return t.reshape(t.slice(sorted, -1, i, i+1, 1), lead(s)) }
	at := q * float64(n-1)
	i := min(int(at), max(n-2, 0))
	w := at - float64(i)
	a := element(i)
	if active := t.Active(by); (w != 0 || active) && n > 1 {
		left, right := t.Const(1-w), t.Const(w)
		if active {
			right = t.Apply(opSub, t.Apply(opMul, by, t.Const(float64(n-1))), t.Const(float64(i)))
			left = t.Apply(opSub, t.Const(1), right)
		}
		a = t.Apply(opAdd, t.Apply(opMul, left, a), t.Apply(opMul, right, element(i+1)))
	}
	return t.Apply(opMul, a, t.Apply(opWhere, t.apply("isnan", element(n-1)), t.Const(math.NaN()), t.Const(1)))
}

// orderOfNumbers is order among what is not NaN, which stands in front.
func (t *Tape) orderOfNumbers(sorted, by Ref, q float64) Ref {
	n := t.numbers(sorted)
	at := t.Apply(opMul, by, t.Apply(opSub, n, t.Const(1)))
	i := t.apply("floor", t.Apply(opMinimum, t.Apply(opStopGradient, at), t.Apply(opSub, n, t.Const(2))))
	i = t.Apply(opMaximum, i, t.Const(0))
	next := t.Apply(opMinimum, t.Apply(opAdd, i, t.Const(1)), t.Apply(opMaximum, t.Apply(opSub, n, t.Const(1)), t.Const(0)))
	w := t.Apply(opSub, at, i)
	a, b := t.element(sorted, i), t.element(sorted, next)
	between := t.Apply(opAdd, t.Apply(opMul, t.Apply(opSub, t.Const(1), w), a), t.Apply(opMul, w, b))
	if t.Active(by) {
		return between
	}
	return t.Apply(opWhere, t.apply("equal", w, t.Const(0)), a, between) // whatever the neighbour is
}

// numbers counts what is not NaN in each row.
func (t *Tape) numbers(x Ref) Ref {
	return t.sumTo(t.Apply(opWhere, t.apply("isnan", x), t.Const(0), t.Const(1)), []int{-1}, false)
}

// element takes from each row the element at an index of its own.
func (t *Tape) element(x, i Ref) Ref {
	s := t.Shape(x)
	i = t.cast(t.broadcastTo(i, lead(s)), tensor.Int64)
	return t.reshape(t.takeAlong(x, t.reshape(i, append(slices.Clone(lead(s)), 1))), lead(s))
}

// nanMedian is the mean of the one or two in the middle of each row; each of these shares
// its derivative among all that equal it.
func nanMedian(t *Tape, x Ref) Ref {
	if last(t.Shape(x)) == 0 {
		return t.broadcastTo(t.Const(math.NaN()), lead(t.Shape(x)))
	}
	n, sorted := t.numbers(x), t.sorted(x)
	middle := func(above float64) Ref {
		i := t.apply("floor", t.Apply(opMul, t.Const(0.5), t.Apply(opSub, n, t.Const(above))))
		m := t.element(sorted, t.Apply(opMaximum, i, t.Const(0)))
		hit := t.apply("equal", x, t.behind(m, m))
		hit = t.apply("logical_and", hit, t.apply("isfinite", x))
		off := t.Apply(opWhere, hit, t.Apply(opSub, x, t.behind(m, m)), t.Const(0)) // 0, and in a tie the derivative of all
		k := t.Apply(opMaximum, t.sumTo(t.cast(hit, t.DType), []int{-1}, false), t.Const(1))
		return t.Apply(opAdd, m, t.Apply(opDiv, t.sumTo(off, []int{-1}, false), k))
	}
	a, b := middle(1), middle(0)
	between := t.Apply(opAdd, a, t.Apply(opMul, t.Const(0.5), t.Apply(opSub, b, a)))
	return t.Apply(opWhere, t.apply("equal", a, b), a, between)
}
