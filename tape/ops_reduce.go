package tape

import (
	"slices"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

var opSum, opProd *Op

var reduceRows = []Op{
	{As: &opSum, Name: "sum", Switches: [2]string{"keepdims"}, Terms: (*factoring).summed, Alias: []string{"reduce_sum"}, Args: "x, #axis=None, #keepdims=false", Doc: "sum over axes, all by default",
		Call: func(c *call) value {
			x := c.number(0)
			return c.t.sumTo(x, c.axes(1, c.t.Shape(x)), c.bool(2))
		},
		Lead: true, Run: runSum, Links: linkSum,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref { return t.unreduce(ct, r) }},
	{As: &opProd, Name: "prod", Alias: []string{"reduce_prod"}, Args: "x, #axis=None, #keepdims=false", Doc: "product over axes; its derivative divides by nothing",
		Call: func(c *call) value {
			x := c.number(0)
			return c.fold(opProd, x, c.axes(1, c.t.Shape(x)), c.bool(2))
		},
		Lead: true, Run: func(c *run) { c.alongColumns(kernels.Mul, 1, false, kernels.ProdRows) }, Links: linkFold,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			x, axis := t.Args(r)[0], t.Attr(r).along()
			others := func(back bool) Ref {
				y := t.cumprod(x, axis, back)
				return t.exclusive(y, y, 1)
			}
			return t.Apply(opZMul, t.behind(ct, r), t.Apply(opMul, others(false), others(true)))
		}},
	{Name: "mean", Alias: []string{"reduce_mean"}, Args: "x, #axis=None, #keepdims=false", Doc: "arithmetic mean over axes", Body: "sum(x, axis, keepdims) / count(x, axis)"},
	{Name: "var", Alias: []string{"reduce_variance"}, Args: "x, #axis=None, #keepdims=false, #ddof=0", Doc: "variance over axes", Body: "count(x, axis) > ddof ? sum(square(x - mean(x, axis, true)), axis, keepdims) / (count(x, axis) - ddof) : nan * sum(x, axis, keepdims)"},
	{Name: "std", Alias: []string{"reduce_std"}, Args: "x, #axis=None, #keepdims=false, #ddof=0", Doc: "standard deviation over axes: a norm, so 0 where all are equal", Body: "count(x, axis) <= ddof ? nan * sum(x, axis, keepdims) : count(x, axis) == 1 ? sum(x - x, axis, keepdims) : vector_norm(x - mean(x, axis, true), 2, axis, keepdims) / sqrt(count(x, axis) - ddof)", Note: "where all are equal: 0"},
	{Name: "count", Alias: []string{"size", "numel"}, Args: "x, #axis=None", Doc: "how many elements a reduction over axes joins", Call: func(c *call) value {
		s := c.t.Shape(c.ref(0))
		return c.t.Const(float64(reducedSize(s, c.axes(1, s))))
	}},
}

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
	if reducedSize(s, axes) == 1 {
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

// runSum sums neighbouring axes as one, the innermost first.
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

// reduce brings axes together as the last one, reduces it by f and, where they are kept, leaves
// ones.
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
