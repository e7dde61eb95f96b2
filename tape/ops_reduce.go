package tape

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

var opSum, opProd, opMaxOf, opMinOf, opMedian, opMiddles, opSorted, opArgmax, opArgmin, opArgmaxOf, opArgminOf, opArgsort, opAny, opAll, opNorm, opTies *Op

var reduceRows = []Op{
	{As: &opSum, Name: "sum", Terms: (*factoring).summed, Alias: []string{"reduce_sum"}, Args: "x, axis=None, keepdims=false", Doc: "sum over axes, all by default",
		Call: func(c *call) value {
			x := c.ref(0)
			return c.t.sumTo(c.t.asNumber(x), c.axes(1, c.t.Shape(x)), c.bool(2))
		},
		Lead: true, Run: runSum, Links: linkSum,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref { return t.unreduce(ct, r) }},
	{As: &opProd, Name: "prod", Alias: []string{"reduce_prod"}, Args: "x, axis=None, keepdims=false", Doc: "product over axes; its derivative divides by nothing",
		Call: func(c *call) value {
			x := c.ref(0)
			return c.fold(opProd, x, c.axes(1, c.t.Shape(x)), c.bool(2))
		},
		Lead: true, Run: func(c *run) { c.alongColumns(kernels.Mul, 1, kernels.ProdRows) }, Links: linkFold,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			axis := t.Attr(r).along()
			x := t.swap(t.Args(r)[0], axis, -1)
			before := t.exclusive(t.cumprod(x), 1)
			after := t.reverse(t.exclusive(t.cumprod(t.reverse(x)), 1))
			return t.Apply(opZMul, t.behind(ct, r), t.swap(t.Apply(opMul, before, after), axis, -1))
		}},
	{Name: "mean", Alias: []string{"reduce_mean"}, Args: "x, axis=None, keepdims=false", Doc: "arithmetic mean over axes", Body: "sum(x, axis, keepdims) / count(x, axis)"},
	{Name: "var", Alias: []string{"reduce_variance"}, Args: "x, axis=None, keepdims=false, ddof=0", Doc: "variance over axes", Body: "count(x, axis) > ddof ? sum(square(x - mean(x, axis, true)), axis, keepdims) / (count(x, axis) - ddof) : nan * sum(x, axis, keepdims)"},
	{Name: "std", Alias: []string{"reduce_std"}, Args: "x, axis=None, keepdims=false, ddof=0", Doc: "standard deviation over axes: a norm, so 0 where all are equal", Body: "count(x, axis) > ddof ? vector_norm(x - mean(x, axis, true), 2, axis, keepdims) / sqrt(count(x, axis) - ddof) : nan * sum(x, axis, keepdims)", Note: "where all are equal: 0"},
	{Name: "count", Args: "x, axis=None", Doc: "how many elements a reduction over axes joins", Call: func(c *call) value {
		x := c.ref(0)
		n := 1
		for _, a := range c.axes(1, c.t.Shape(x)) {
			n *= c.t.Shape(x)[len(c.t.Shape(x))+a]
		}
		return c.t.Const(float64(n))
	}},
	{Name: "max", Alias: []string{"amax", "reduce_max"}, Args: "x, *more, axis=None, keepdims=false", Doc: "the largest over axes; of several arguments, elementwise", Call: func(c *call) value { return c.extreme(opMaximum, opMaxOf) }, Note: "a k-fold tie gives 1/k to each"},
	{Name: "min", Alias: []string{"amin", "reduce_min"}, Args: "x, *more, axis=None, keepdims=false", Doc: "the smallest over axes; of several arguments, elementwise", Call: func(c *call) value { return c.extreme(opMinimum, opMinOf) }, Note: "a k-fold tie gives 1/k to each"},
	{Name: "logmeanexp", Args: "x, axis=None, keepdims=false", Doc: "log(mean(exp(x))), without overflow", Body: "logsumexp(x, axis, keepdims) - log(count(x, axis))"},
	{Name: "top_k", Args: "x, k", Doc: "the k largest along the last axis, largest first", Call: func(c *call) value {
		x, k := c.ref(0), c.int(1)
		s := c.t.Shape(x)
		if len(s) == 0 || k < 0 || k > last(s) {
			c.fail("shape", "top_k of %d from shape %v", k, s)
		}
		place := c.t.Apply(opWhere, c.t.apply("isnan", x), c.t.Const(math.Inf(-1)), c.t.Apply(opNeg, x)) // as sort, which puts NaN last
		return c.t.slice(c.t.takeAlong(x, c.t.argsort(place)), -1, 0, k, 1)
	}, Note: "a tie is the first one's"},
	{Name: "ptp", Args: "x, axis=None, keepdims=false", Doc: "largest minus smallest", Body: "max(x, axis=axis, keepdims=keepdims) - min(x, axis=axis, keepdims=keepdims)"},
	{As: &opMedian, Name: "median", Args: "x, axis=None, keepdims=false", Doc: "the middle value; ties share the derivative",
		Call: func(c *call) value {
			return c.reduction(func(t *Tape, x Ref) Ref { return t.record(opMedian, lead(t.Shape(x)), Attr{}, x) })
		},
		Lead: true, Run: func(c *run) { c.medians() }, Room: sortRoom, Links: linkLast, Note: "a k-fold tie gives 1/k to each",
		Tie: func(t *Tape, r Ref) Ref { // more than the one or two in the middle are as large as these
			lo, hi := t.middles(r)
			x := t.Args(r)[0]
			hits := func(v Ref) Ref { return t.sumTo(t.cast(t.apply("equal", x, v), t.DType), []int{-1}, false) }
			most := t.Const(2)
			if last(t.Shape(x))%2 == 0 {
				both := t.reshape(t.cast(t.apply("equal", lo, hi), t.DType), t.Shape(r))
				most = t.Apply(opAdd, most, t.Apply(opAdd, both, both))
			}
			return t.apply("greater", t.Apply(opAdd, hits(lo), hits(hi)), most)
		},
		TieSay: "a tie: each takes an equal share",
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			x := t.Args(r)[0]
			ct = t.behind(ct, r)
			if last(t.Shape(x)) == 0 {
				return t.broadcastTo(ct, t.Shape(x)) // to no elements
			}
			lo, hi := t.middles(r)
			if lo == hi {
				return t.Apply(opMul, ct, t.tieShare(x, lo))
			}
			return t.Apply(opMul, ct, t.Apply(opMul, t.Const(0.5), t.Apply(opAdd, t.tieShare(x, lo), t.tieShare(x, hi))))
		}},
	{As: &opArgmax, Name: "argmax", Args: "x, axis=None, keepdims=false", Doc: "index of the first largest", Stops: "argmax is not differentiable", Call: func(c *call) value { return c.indexOf(opArgmaxOf) }},
	{As: &opArgmin, Name: "argmin", Args: "x, axis=None, keepdims=false", Doc: "index of the first smallest", Stops: "argmin is not differentiable", Call: func(c *call) value { return c.indexOf(opArgminOf) }},
	{As: &opArgsort, Room: sortRoom, Name: "argsort", Args: "x, axis=-1", Doc: "the stable permutation that sorts", Stops: "argsort is not differentiable",
		Call: func(c *call) value { return c.along(func(c *call, x Ref) Ref { return c.t.argsort(x) }) }, Lead: true,
		Run: func(c *run) {
			c.eachSorted(func(s *sorter, i int, x []float64) {
				out := c.out[i*len(x):]
				for k, p := range s.of(x) {
					out[k] = float64(p & s.places)
				}
			})
		}},
	{Name: "sort", Args: "x, axis=-1", Doc: "sorted along an axis", Call: func(c *call) value {
		return c.along(func(c *call, x Ref) Ref { return c.t.takeAlong(x, c.t.argsort(x)) })
	}, Note: "ties: the stable sort's permutation"},
	{As: &opAny, Name: "any", Alias: []string{"reduce_any"}, Args: "x, axis=None, keepdims=false", Doc: "does one hold", Stops: "any is not differentiable", Lead: true,
		Call: func(c *call) value {
			return c.reduction(func(t *Tape, x Ref) Ref { return t.recordAs(opAny, lead(t.Shape(x)), tensor.Bool, Attr{}, x) })
		},
		Run: func(c *run) {
			c.eachRow(func(x []float64) float64 {
				for _, v := range x {
					if v != 0 {
						return 1
					}
				}
				return 0
			})
		}},
	{As: &opAll, Name: "all", Alias: []string{"reduce_all"}, Args: "x, axis=None, keepdims=false", Doc: "do all hold", Stops: "all is not differentiable", Lead: true,
		Call: func(c *call) value {
			return c.reduction(func(t *Tape, x Ref) Ref { return t.recordAs(opAll, lead(t.Shape(x)), tensor.Bool, Attr{}, x) })
		},
		Run: func(c *run) {
			c.eachRow(func(x []float64) float64 {
				for _, v := range x {
					if v == 0 {
						return 0
					}
				}
				return 1
			})
		}},
	{Name: "count_nonzero", Args: "x, axis=None, keepdims=false", Doc: "how many are not 0", Body: "sum(x != 0, axis, keepdims)"},
	{Name: "norm", Args: "x, ord=None, axis=None, keepdims=false", Doc: "Euclidean norm over axes; with ord the vector norm along one axis (2, 1, inf or p), or the norm of matrices (matrix_norm)", Call: normCall, Note: "at 0: 0, the least subgradient; norm(x)^2 is smooth"},
	{Name: "vector_norm", Args: "x, ord=2, axis=None, keepdims=false", Doc: "norm of all elements, or over axes: 2, 1, inf, -inf, 0 or p", Call: func(c *call) value { return c.vectorNorm(c.num(1), c.axes(2, c.t.Shape(c.ref(0)))) }, Note: "at 0: 0, the least subgradient; its square is smooth"},
	{Name: "matrix_norm", Args: `x, ord="fro", keepdims=false`, Doc: `norm of the matrices in the last two axes: "fro" (Euclidean), "nuc" (sum of singular values), 2 and -2 (the largest and the least), 1 and -1 (of the sums of columns), inf and -inf (of rows)`, Call: func(c *call) value {
		if s := c.t.Shape(c.ref(0)); len(s) < 2 {
			c.fail("shape", "matrix_norm needs two axes, shape %v has %d", s, len(s))
		}
		return c.matrixNorm(-2, -1)
	}, Note: "at 0: 0, the least subgradient"},
	{As: &opMaxOf, Name: "max_of", Args: "x", Hidden: true, Doc: "the largest along an axis", Lead: true, Run: func(c *run) { c.alongColumns(kernels.Maximum, math.Inf(-1), eachOf(kernels.Max)) }, Links: linkFold, Adj: extremeAdj, Tie: tied, TieSay: "a tie: each takes an equal share"},
	{As: &opMinOf, Name: "min_of", Args: "x", Hidden: true, Doc: "the smallest along an axis", Lead: true, Run: func(c *run) { c.alongColumns(kernels.Minimum, math.Inf(1), eachOf(kernels.Min)) }, Links: linkFold, Adj: extremeAdj, Tie: tied, TieSay: "a tie: each takes an equal share"},
	{As: &opTies, Name: "ties", Args: "x, v", Hidden: true, Doc: "how often v is in x along an axis", Stops: "equal is not differentiable", Lead: true, Run: runTies},
	{As: &opMiddles, Room: sortRoom, Name: "middles", Args: "x", Hidden: true, Doc: "the one or two in the middle of the last axis, once it is sorted", Stops: "middles", Lead: true,
		Run: func(c *run) {
			m := last(c.shape)
			c.eachSorted(func(s *sorter, i int, x []float64) {
				for k := range m {
					c.out[i*m+k] = s.place(x, (len(x)-1)/2+k)
				}
			})
		}},
	{As: &opSorted, Room: sortRoom, Name: "sorted", Args: "x", Hidden: true, Doc: "sorted along the last axis, for the places of medians", Stops: "sorted", Lead: true,
		Run: func(c *run) {
			c.eachSorted(func(s *sorter, i int, x []float64) { s.sort(c.out[i*len(x):], x) })
		}},
	{As: &opArgmaxOf, Name: "argmax_of", Args: "x", Hidden: true, Doc: "index of the first largest along the last axis", Stops: "argmax is not differentiable", Lead: true,
		Run: func(c *run) { c.eachRow(func(x []float64) float64 { return argBest(x, kernels.Max) }) }},
	{As: &opArgminOf, Name: "argmin_of", Args: "x", Hidden: true, Doc: "index of the first smallest along the last axis", Stops: "argmin is not differentiable", Lead: true,
		Run: func(c *run) { c.eachRow(func(x []float64) float64 { return argBest(x, kernels.Min) }) }},
	{As: &opNorm, Name: "norm_of", Args: "x", Hidden: true, Doc: "Euclidean norm along an axis, without overflow", Lead: true, Links: linkFold,
		Run:    runNorm,
		Tie:    func(t *Tape, r Ref) Ref { return t.apply("equal", r, t.Const(0)) },
		TieSay: "a kink where all are 0: the least subgradient, 0",
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			x, n := t.Args(r)[0], t.behind(r, r)
			u := t.Apply(opWhere, t.apply("equal", n, t.Const(0)), t.Const(0), t.Apply(opDiv, x, n))
			return t.Apply(opZMul, t.behind(ct, r), u)
		}},
}

func last(s tensor.Shape) int          { return s[len(s)-1] }
func lead(s tensor.Shape) tensor.Shape { return s[:len(s)-1] }

// asFloat makes integers and bools floats.
func (t *Tape) asFloat(r Ref) Ref {
	if t.ins[r].dtype.IsFloat() {
		return r
	}
	return t.cast(r, t.DType)
}

// asNumber makes bools integers.
func (t *Tape) asNumber(r Ref) Ref {
	if t.ins[r].dtype != tensor.Bool {
		return r
	}
	return t.cast(r, tensor.Int64)
}

// sumTo sums over axes (from the right).
func (t *Tape) sumTo(x Ref, axes []int, keep bool) Ref {
	if len(axes) == 0 {
		return x
	}
	s := t.Shape(x)
	n := 1
	for _, a := range axes {
		n *= s[len(s)+a]
	}
	if n == 1 {
		return t.reshape(x, reduced(s, axes, keep))
	}
	return t.record(opSum, reduced(s, axes, keep), Attr{Axes: slices.Clone(axes), Flag: keep}, x)
}

// unreduce gives the cotangent of a reduction the axes back, as ones.
func (t *Tape) unreduce(ct, r Ref) Ref {
	if len(t.Shape(ct)) == 0 {
		return ct
	}
	a := t.Attr(r)
	ct = t.full(ct, r)
	if a.Flag {
		return ct
	}
	return t.reshape(ct, reduced(t.Shape(t.Args(r)[0]), a.Axes, true))
}

// behind gives ct, the cotangent of a reduction r along an axis, that axis back, as one.
func (t *Tape) behind(ct, r Ref) Ref {
	if len(t.Shape(ct)) == 0 && ct != r {
		return ct
	}
	ct = t.full(ct, r)
	s := t.Shape(ct)
	return t.reshape(ct, slices.Insert(slices.Clone(s), len(s)+1+t.Attr(r).along(), 1))
}

func runSum(c *run) {
	s := c.shapes[0]
	axes := c.attr.Axes
	x := c.args[0]
	// runs of neighbouring axes, innermost first
	for i := len(axes) - 1; i >= 0; {
		j := i
		for j > 0 && axes[j-1] == axes[j]-1 {
			j--
		}
		k := len(s) + axes[j] // outer axes before the run
		e := len(s) + axes[i] + 1
		outer, n, inner := s[:k].Size(), s[k:e].Size(), s[e:].Size()
		dst := c.out
		if j > 0 {
			dst = make([]float64, outer*inner)
		}
		if inner == 1 {
			sumLast(dst, x, n, c.threads)
		} else {
			sumMiddle(dst, x, outer, n, inner, c.threads)
		}
		if i = j - 1; i < 0 {
			break
		}
		x, s = dst, slices.Clone(s)
		for a := k; a < e; a++ {
			s[a] = 1
		}
	}
}

// sumLast sums rows of n numbers of x. Threads have rows each.
func sumLast(dst, x []float64, n, threads int) {
	if threads <= 1 {
		kernels.SumRows(dst, x, n)
		return
	}
	pool.Split(threads, len(x), len(dst), func(from, to int) {
		kernels.SumRows(dst[from:to], x[from*n:to*n], n)
	})
}

// sumMiddle sums the middle axis of x, of shape (outer, n, inner): rows in order, in
// blocks of 128 whose sums are added in order, which keeps the error of long sums small.
// Threads have columns each.
func sumMiddle(dst, x []float64, outer, n, inner, threads int) {
	const columns = 128 // which are as fast as more
	if inner <= columns {
		sumColumns(dst, x, outer, n, inner, 0, inner)
		return
	}
	pool.Split(threads, len(x), (inner+columns-1)/columns, func(from, to int) {
		sumColumns(dst, x, outer, n, inner, from*columns, min(to*columns, inner))
	})
}

// sumColumns is sumMiddle of columns left to right-1.
func sumColumns(dst, x []float64, outer, n, inner, left, right int) {
	const block = 128
	var part []float64
	if n > block {
		part = make([]float64, right-left)
	}
	for o := range outer {
		d := dst[o*inner+left : o*inner+right]
		clear(d)
		for from := 0; from < n; from += block {
			to := min(from+block, n)
			acc := d
			if n > block {
				acc = part
				clear(acc)
			}
			kernels.AccumulateRows(acc, x[(o*n+from)*inner+left:], inner, to-from)
			if n > block {
				kernels.Accumulate(d, part)
			}
		}
	}
}

// rows runs f, which takes many rows of the last axis at once.
func (c *run) rows(f func(dst, x []float64, n int)) {
	n := last(c.shapes[0])
	pool.Split(c.threads, len(c.args[0]), len(c.out), func(from, to int) {
		f(c.out[from:to], c.args[0][from*n:to*n], n)
	})
}

// eachRow runs f on every row of the last axis.
func (c *run) eachRow(f func(x []float64) float64) {
	n := last(c.shapes[0])
	pool.Split(c.threads, len(c.args[0]), len(c.out), func(from, to int) {
		for i := from; i < to; i++ {
			c.out[i] = f(c.args[0][i*n : (i+1)*n])
		}
	})
}

// eachOf is f for many rows of n numbers.
func eachOf(f func(x []float64) float64) func(dst, x []float64, n int) {
	return func(dst, x []float64, n int) {
		for i := range dst {
			dst[i] = f(x[i*n : (i+1)*n])
		}
	}
}

// eachLine runs f on every row of the last axis, giving a row.
func (c *run) eachLine(f func(dst, x []float64)) {
	n := last(c.shape)
	if n == 0 {
		return
	}
	pool.Split(c.threads, len(c.out), len(c.out)/n, func(from, to int) {
		for i := from * n; i < to*n; i += n {
			f(c.out[i:i+n], c.args[0][i:i+n])
		}
	})
}

// lastAxis brings the given axes (from the right, ascending) together as the last one.
func (t *Tape) lastAxis(x Ref, axes []int) Ref {
	perm := towardsLast(t.Shape(x), axes)
	y := t.transpose(x, perm)
	s, kept := t.Shape(y), len(perm)-len(axes)
	return t.reshape(y, append(slices.Clone(s[:kept]), s[kept:].Size()))
}

// backFrom is the inverse of lastAxis, for an x of shape s.
func (t *Tape) backFrom(y Ref, s tensor.Shape, axes []int) Ref {
	perm := towardsLast(s, axes)
	apart, back := make(tensor.Shape, len(s)), make([]int, len(s))
	for i, p := range perm {
		apart[i], back[p] = s[p], i
	}
	return t.transpose(t.reshape(y, apart), back)
}

// towardsLast is the order in which axes, counted from the right, stand behind the others.
func towardsLast(s tensor.Shape, axes []int) (perm []int) {
	for i := range s {
		if !slices.Contains(axes, i-len(s)) {
			perm = append(perm, i)
		}
	}
	for _, a := range axes {
		perm = append(perm, len(s)+a)
	}
	return perm
}

// reduction lowers f(x, axis, keepdims) for a reduction f along the last axis: the axes are
// brought there as one.
func (c *call) reduction(f func(t *Tape, x Ref) Ref) value {
	x := c.ref(0)
	return c.reduce(x, c.axes(1, c.t.Shape(x)), c.bool(2), f)
}

func (c *call) reduce(x Ref, axes []int, keep bool, f func(t *Tape, x Ref) Ref) Ref {
	s := c.t.Shape(x)
	y := f(c.t, c.t.lastAxis(x, axes))
	if keep {
		y = c.t.reshape(y, reduced(s, axes, true))
	}
	return y
}

// noDerivative is for those to whom diff is a derivative.
const noDerivative = "diff subtracts neighbours along an axis; grad(y, x) is the derivative"

// along lowers f(x, axis) for an operation along the last axis that keeps it; where None is
// written for the axis, of all elements in one row, as NumPy does.
func (c *call) along(f func(c *call, x Ref) Ref) value {
	x, a := c.lineOf(1)
	return c.t.swap(f(c, c.t.swap(x, a, -1)), a, -1)
}

// lineOf is x and, from the right, the axis that argument i is; where None is written, of all elements
// in one row.
func (c *call) lineOf(i int) (x Ref, axis int) {
	x = c.ref(0)
	rank := len(c.t.Shape(x))
	if rank == 0 {
		m := &Misuse{Kind: "shape", Msg: c.op.Name + " needs an axis, this is a scalar", Pos: expr.NoPos}
		if c.op.Name == "diff" {
			m.Hint = noDerivative
		}
		c.lo.failWith(c.at, m)
	}
	if !c.given(i) {
		return c.t.reshape(x, tensor.Shape{c.t.Shape(x).Size()}), -1
	}
	return x, c.axis(c.int(i), rank, i)
}

func (c *call) extreme(pair, of *Op) value {
	x := c.ref(0)
	if len(c.rest) > 0 {
		if c.given(2) {
			c.fail("type", "%s of several arguments compares elementwise and takes no axis", c.op.Name)
		}
		n := 1 // arguments that x is the extreme of, none of them dropped
		for _, v := range c.rest {
			y := c.lo.ref(v, c.at)
			c.lo.mark(c.at, c.at.Mark())
			from := Ref(len(c.t.ins))
			x = c.t.Apply(pair, x, y)
			switch {
			case x < from || c.t.ins[x].Op() != pair:
				n = 0
			case n > 1:
				c.t.ins[x].attr = c.t.newAttr(Attr{Num: float64(n)})
			}
			n++
		}
		return x
	}
	axes := c.axes(2, c.t.Shape(x))
	n := 1
	for _, a := range axes {
		n *= c.t.Shape(x)[len(c.t.Shape(x))+a]
	}
	if n == 0 {
		c.fail("shape", "%s of no elements: shape %v", c.op.Name, c.t.Shape(x))
	}
	return c.fold(of, x, axes, c.bool(3))
}

func (c *call) indexOf(of *Op) value {
	x := c.ref(0)
	s := c.t.Shape(x)
	axes := c.axes(1, s)
	if reducedSize(s, axes) == 0 {
		c.fail("shape", "%s of no elements: shape %v", c.op.Name, s)
	}
	return c.reduce(x, axes, c.bool(2), func(t *Tape, x Ref) Ref { return t.recordAs(of, lead(t.Shape(x)), tensor.Int64, Attr{}, x) })
}

func reducedSize(s tensor.Shape, axes []int) int {
	n := 1
	for _, a := range axes {
		n *= s[len(s)+a]
	}
	return n
}

// extremeAdj shares the cotangent of max_of and min_of among the tied.
func extremeAdj(t *Tape, r Ref, i int, ct Ref) Ref {
	x := t.Args(r)[0]
	if t.Attr(r).Flag { // of a pool under the conventions of others
		return t.Apply(opZMul, t.behind(ct, r), t.record(opOneHotMax, t.Shape(x), Attr{}, x))
	}
	hit := t.Apply(opWhere, t.apply("equal", x, t.behind(r, r)), t.Const(1), t.Const(0)) // of which, unlike a cast, tile programs are made
	return t.Apply(opZMul, t.behind(ct, r), t.Apply(opDiv, hit, t.behind(t.ties(r), r)))
}

// tied marks the rows whose extreme is reached more than once.
func tied(t *Tape, r Ref) Ref { return t.apply("greater", t.ties(r), t.Const(1)) }

// ties counts how often extremes r are reached.
func (t *Tape) ties(r Ref) Ref {
	return t.record(opTies, t.Shape(r), Attr{Axes: t.Attr(r).Axes}, t.Args(r)[0], r)
}

// tieShare is 1/k at the k elements of each row of x that equal v, 0 elsewhere, NaN in a row without any.
func (t *Tape) tieShare(x, v Ref) Ref {
	hit := t.cast(t.apply("equal", x, v), t.DType)
	return t.Apply(opDiv, hit, t.sumTo(hit, []int{-1}, true))
}

// sorted is x sorted along its last axis, a constant: for the places of medians.
func (t *Tape) sorted(x Ref) Ref {
	return t.record(opSorted, t.Shape(x), Attr{}, t.stop(x, "the median's place"))
}

// argBest is the index of the first NaN of a row, or else of the first that is the best of it.
func argBest(x []float64, best func(x []float64) float64) float64 {
	m := best(x)
	if m != m {
		return float64(slices.IndexFunc(x, func(v float64) bool { return v != v }))
	}
	return float64(max(0, slices.Index(x, m)))
}

// middles are those of the rows of what r is the median of, along an axis of length 1: one, or two
// of an even number.
func (t *Tape) middles(r Ref) (lo, hi Ref) {
	x := t.Args(r)[0]
	n := last(t.Shape(x))
	m := t.record(opMiddles, append(slices.Clone(lead(t.Shape(x))), 2-n%2), Attr{}, t.stop(x, "the median's place"))
	if n%2 == 1 {
		return m, m
	}
	return t.slice(m, -1, 0, 1, 1), t.slice(m, -1, 1, 2, 1)
}

// medians are the means of the one or two in the middle of each row; NaN where one is NaN or
// there is none.
func (c *run) medians() {
	if last(c.shapes[0]) == 0 {
		for i := range c.out {
			c.out[i] = math.NaN()
		}
	}
	c.eachSorted(func(s *sorter, i int, x []float64) {
		n := len(x)
		if kernels.Max(x) != kernels.Max(x) {
			c.out[i] = math.NaN()
			return
		}
		m := s.place(x, (n-1)/2)
		if n%2 == 0 {
			if hi := s.place(x, n/2); hi != m {
				m += float64((hi - m) / 2)
			}
		}
		c.out[i] = m
	})
}

// normCall is NumPy's: without ord the Euclidean norm of all that is joined, with it that of
// vectors where one axis is, that of matrices where two are.
func normCall(c *call) value {
	s := c.t.Shape(c.ref(0))
	axes := c.axes(2, s)
	switch {
	case !c.given(1):
		return c.vectorNorm(2, axes)
	case len(axes) == 2 && c.given(2):
		pair := c.distinct(c.ints(2), len(s), 2) // in the order given
		return c.matrixNorm(pair[0], pair[1])
	case len(axes) == 2:
		return c.matrixNorm(-2, -1)
	}
	if text, ok := c.vals[1].(string); ok && (text != "fro" || len(s) == 0) {
		m := &Misuse{Kind: "type", Msg: fmt.Sprintf("the norm of a vector has an order that is a number, not %q", text), Pos: expr.NoPos}
		if len(s) > 2 && !c.given(2) {
			m.Msg, m.Hint = fmt.Sprintf("norm %q is one of matrices, shape %v has %d axes", text, s, len(s)), "axis=(-2, -1) names those of the matrices"
		}
		c.lo.failWith(c.where(1), m)
	} else if ok {
		return c.vectorNorm(2, axes)
	}
	return c.vectorNorm(c.num(1), axes)
}

// matrixNorm is the norm of x as matrices with these axes, from the right.
func (c *call) matrixNorm(row, column int) value {
	t, x := c.t, c.t.asFloat(c.ref(0))
	s := t.Shape(x)
	keep := c.bool(len(c.vals) - 1)
	joined := func(x Ref, of *Op, axis int) Ref {
		if reducedSize(t.Shape(x), []int{axis}) == 0 {
			c.fail("shape", "%s of no elements: shape %v", c.op.Name, s)
		}
		return c.fold(of, x, []int{axis}, true)
	}
	lines := func(of *Op, along, other int) Ref {
		return joined(t.sumTo(t.apply("abs", x), []int{along}, true), of, other)
	}
	singular := func() Ref { // along the last axis
		var perm []int
		for i := range s {
			if i != len(s)+row && i != len(s)+column {
				perm = append(perm, i)
			}
		}
		m := t.transpose(x, append(perm, len(s)+row, len(s)+column))
		return t.singular(m, t.svdOf(m))
	}
	text, named := c.vals[1].(string)
	p := 0.0
	if !named {
		p = c.num(1)
	}
	axes := []int{min(row, column), max(row, column)}
	kept := reduced(s, axes, true)
	var y Ref
	switch {
	case text == "fro":
		return c.vectorNorm(2, axes)
	case text == "nuc":
		y = t.sumTo(singular(), []int{-1}, true)
	case p == 2:
		y = joined(singular(), opMaxOf, -1)
	case p == -2:
		y = joined(singular(), opMinOf, -1)
	case p == 1:
		y = lines(opMaxOf, row, column)
	case p == -1:
		y = lines(opMinOf, row, column)
	case math.IsInf(p, 1):
		y = lines(opMaxOf, column, row)
	case math.IsInf(p, -1):
		y = lines(opMinOf, column, row)
	default:
		c.lo.advise(c.where(1), "type", "vector_norm(x, p) is that of all elements",
			`the norm of a matrix has order "fro", "nuc", 1, 2 or inf, these with a minus too, not %v`, describeOrder(text, p))
	}
	if keep {
		return t.reshape(y, kept)
	}
	return t.reshape(y, reduced(s, axes, false))
}

func describeOrder(text string, p float64) string {
	if text != "" {
		return strconv.Quote(text)
	}
	return formatFloat(p)
}

// vectorNorm is the norm of order p over axes; the last argument of the call says whether
// they stay.
func (c *call) vectorNorm(p float64, axes []int) value {
	t, x := c.t, c.t.asFloat(c.ref(0))
	keep := c.bool(len(c.vals) - 1)
	if len(t.Shape(x)) == 0 {
		return t.apply("abs", x)
	}
	switch {
	case p == 2 && t.Conventions != "" && t.Conventions != "torch": // its slope at 0 is theirs: inf times 0
		return t.Apply(opSqrt, t.sumTo(t.Apply(opSquare, x), axes, keep))
	case p == 2:
		return c.fold(opNorm, x, axes, keep)
	case p == 1:
		return t.sumTo(t.apply("abs", x), axes, keep)
	case math.IsInf(p, 0) && reducedSize(t.Shape(x), axes) == 0:
		c.fail("shape", "%s of no elements: shape %v", c.op.Name, t.Shape(x))
	case math.IsInf(p, 1):
		return c.fold(opMaxOf, t.apply("abs", x), axes, keep)
	case math.IsInf(p, -1):
		return c.fold(opMinOf, t.apply("abs", x), axes, keep)
	case p == 0:
		return t.sumTo(t.asNumber(t.apply("not_equal", x, t.Const(0))), axes, keep)
	}
	return c.powerNorm(t.apply("abs", x), p, axes, keep)
}

// powerNorm is the norm of order p of y, which is not negative. Where a power would leave
// the range, all is measured by the largest: a factor that the derivative need not know.
func (c *call) powerNorm(y Ref, p float64, axes []int, keep bool) Ref {
	t := c.t
	if t.size(y) == 0 {
		return t.Apply(opPow, t.sumTo(t.Apply(opPow, y, t.Const(p)), axes, keep), t.Const(1/p))
	}
	m := t.Apply(opStopGradient, c.fold(opMaxOf, y, axes, true)) // stopped behind the maximum, a few numbers are copied
	far := t.apply("greater", t.apply("abs", t.apply("log", m)), t.Const(400/math.Max(1, math.Abs(p))))
	far = t.apply("logical_and", far, t.apply("isfinite", t.apply("log", m)))
	unit := t.Apply(opWhere, far, m, t.Const(1))
	n := t.sumTo(t.Apply(opPow, t.Apply(opDiv, y, unit), t.Const(p)), axes, true)
	if t.Conventions == "torch" { // 0 at 0, where the slope of the root would meet it
		zero := t.asNumber(t.apply("equal", n, t.Const(0)))
		n = t.Apply(opSub, t.Apply(opPow, t.Apply(opAdd, n, zero), t.Const(1/p)), zero)
	} else {
		n = t.Apply(opPow, n, t.Const(1/p))
	}
	n = t.Apply(opMul, n, unit)
	if keep {
		return n
	}
	return t.sumTo(n, axes, false) // of one each
}

func (t *Tape) argsort(x Ref) Ref { return t.recordAs(opArgsort, t.Shape(x), tensor.Int64, Attr{}, x) }
