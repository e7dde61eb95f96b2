package tape

import (
	"math"
	"slices"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/tensor"
)

var opReshape, opBroadcast, opTranspose, opConcat, opCast *Op

var shapeRows = []Op{
	{As: &opReshape, Name: "reshape", Terms: (*factoring).reshaped, Args: "x, shape", Doc: "the same numbers in another shape; one size may be -1", Lead: true, Run: runCopy, Links: linkSame,
		Call: func(c *call) value {
			x := c.ref(0)
			return c.t.reshape(x, c.target(c.ints(1), c.t.Shape(x).Size()))
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if len(t.Shape(ct)) == 0 {
				return ct
			}
			return t.reshape(t.full(ct, r), t.Shape(t.Args(r)[0]))
		}},
	{As: &opBroadcast, Name: "broadcast_to", Terms: (*factoring).broadcast, Args: "x, shape", Doc: "repeated along new axes and axes of size 1", Run: runBroadcast, Links: linkRepeat,
		Call: func(c *call) value {
			x, s := c.ref(0), c.noNegative(c.ints(1))
			if b, ok := broadcast(c.t.Shape(x), s); !ok || !b.Equal(s) {
				c.fail("shape", "shape %v does not broadcast to %v", c.t.Shape(x), s)
			}
			return c.t.broadcastTo(x, s)
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.unbroadcast(ct, t.ins[r].shape, t.ins[t.Args(r)[0]].shape)
		}},
	// opTranspose holds its permutation from the right, so that axes in front do not matter.
	{As: &opTranspose, Name: "transpose", Terms: (*factoring).transposed, Alias: []string{"permute", "permute_dims"}, Args: "x, axes=None", Doc: "axes permuted, reversed by default", Lead: true, Run: runTranspose, Links: linkTranspose,
		Call: func(c *call) value {
			x := c.ref(0)
			n := len(c.t.Shape(x))
			perm := make([]int, n)
			for i := range perm {
				perm[i] = n - 1 - i
			}
			if c.given(1) {
				perm = c.ints(1)
				if len(perm) != n {
					c.fail("shape", "transpose of %d axes needs %d numbers, not %d", n, n, len(perm))
				}
				seen := make([]bool, n)
				for i, a := range perm {
					perm[i] = c.axis(a, n, 1) + n
					if seen[perm[i]] {
						c.fail("shape", "transpose names axis %d twice", perm[i])
					}
					seen[perm[i]] = true
				}
			}
			return c.t.transpose(x, perm)
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if len(t.Shape(ct)) == 0 {
				return ct
			}
			n := len(t.Shape(r))
			back := make([]int, n)
			for i, p := range t.Attr(r).Ints {
				back[n+p] = i
			}
			return t.transpose(t.full(ct, r), back)
		}},
	{Name: "ravel", Alias: []string{"flatten"}, Args: "x", Doc: "all elements in one axis", Call: func(c *call) value {
		x := c.ref(0)
		return c.t.reshape(x, tensor.Shape{c.t.Shape(x).Size()})
	}},
	{Name: "swapaxes", Args: "x, a, b", Doc: "two axes exchanged", Call: func(c *call) value {
		x := c.ref(0)
		n := len(c.t.Shape(x))
		return c.t.swap(x, c.axis(c.int(1), n, 1), c.axis(c.int(2), n, 2))
	}},
	{Name: "moveaxis", Args: "x, source, destination", Doc: "an axis, or several, moved to another place", Call: func(c *call) value {
		x := c.ref(0)
		n := len(c.t.Shape(x))
		from, to := c.distinct(c.ints(1), n, 1), c.distinct(c.ints(2), n, 2)
		if len(from) != len(to) {
			c.fail("shape", "%d axes cannot move to %s", len(from), expr.Plural(len(to), "place"))
		}
		perm := make([]int, n)
		rest := 0
		for i := range perm {
			if k := slices.Index(to, i-n); k >= 0 {
				perm[i] = from[k] + n
				continue
			}
			for slices.Contains(from, rest-n) {
				rest++
			}
			perm[i] = rest
			rest++
		}
		return c.t.transpose(x, perm)
	}},
	{Name: "expand_dims", Args: "x, axis", Doc: "a new axis of size 1, or several, where the result has them", Call: func(c *call) value {
		x := c.ref(0)
		s := slices.Clone(c.t.Shape(x))
		axes := c.ints(1)
		n := len(s) + len(axes)
		axes = c.distinct(axes, n, 1)
		slices.Sort(axes)
		for _, a := range axes {
			s = slices.Insert(s, a+n, 1)
		}
		return c.t.reshape(x, s)
	}},
	{Name: "squeeze", Args: "x, axis=None", Doc: "axes of size 1 left out", Call: func(c *call) value {
		x := c.ref(0)
		s := c.t.Shape(x)
		out := tensor.Shape{}
		var axes []int
		if c.given(1) {
			axes = c.axes(1, s)
			for _, a := range axes {
				if s[len(s)+a] != 1 {
					c.fail("shape", "axis %d of shape %v has size %d, not 1", a+len(s), s, s[len(s)+a])
				}
			}
		}
		for i, d := range s {
			if c.given(1) && !slices.Contains(axes, i-len(s)) || !c.given(1) && d != 1 {
				out = append(out, d)
			}
		}
		return c.t.reshape(x, out)
	}},
	// opConcat joins along Axes[0], from the right; Ints are where the parts begin.
	{As: &opConcat, Name: "concat", Terms: (*factoring).joined, Alias: []string{"concatenate"}, Args: "xs, axis=0", Doc: "tensors joined along an axis", Seq: true, Run: runConcat, Links: linkConcat,
		Call: func(c *call) value {
			xs := c.refs(c.vals[0], c.where(0))
			if len(xs) == 0 {
				c.fail("shape", "concat of nothing")
			}
			n := len(c.t.Shape(xs[0]))
			if n == 0 {
				c.fail("shape", "concat joins along an axis, these are scalars: stack makes a vector of them")
			}
			a := c.axis(c.int(1), n, 1) + n
			for i, x := range xs[1:] {
				s, first := c.t.Shape(x), c.t.Shape(xs[0])
				ok := len(s) == n
				for k := range n {
					ok = ok && (k == a || s[k] == first[k])
				}
				if !ok {
					c.fail("shape", "shapes %v and %v do not join along axis %d (part %d)", first, s, a, i+1)
				}
			}
			c.lo.mark(c.at, c.at.Mark())
			return c.t.concat(xs, a)
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			axis, starts := t.Attr(r).Axes[0], t.Attr(r).Ints
			if s := t.Shape(ct); -axis > len(s) || s[len(s)+axis] == 1 { // every part has the same; filled up for each of n of them it would take n²
				return ct
			}
			s := t.Shape(t.Args(r)[i])
			return t.slice(ct, axis, starts[i], starts[i]+s[len(s)+axis], 1)
		}},
	{Name: "stack", Args: "xs, axis=0", Doc: "tensors of one shape along a new axis", Seq: true, Call: func(c *call) value {
		xs := c.refs(c.vals[0], c.where(0))
		if len(xs) == 0 {
			c.fail("shape", "stack of nothing")
		}
		for _, x := range xs {
			if !c.t.Shape(x).Equal(c.t.Shape(xs[0])) {
				c.fail("shape", "shapes %v and %v do not stack", c.t.Shape(xs[0]), c.t.Shape(x))
			}
		}
		n := len(c.t.Shape(xs[0])) + 1
		return c.t.stack(xs, c.axis(c.int(1), n, 1)+n)
	}},
	{Name: "vstack", Alias: []string{"row_stack"}, Args: "xs", Doc: "rows on top of each other", Seq: true, Call: func(c *call) value { return c.joined(0) }},
	{Name: "hstack", Args: "xs", Doc: "side by side", Seq: true, Call: func(c *call) value { return c.joined(1) }},
	{Name: "column_stack", Args: "xs", Doc: "vectors as columns, and matrices, side by side", Seq: true, Call: func(c *call) value {
		xs := c.refs(c.vals[0], c.where(0))
		for i, x := range xs {
			if s := c.t.Shape(x); len(s) < 2 {
				xs[i] = c.t.reshape(x, tensor.Shape{s.Size(), 1})
			}
		}
		return c.joining(xs, 1)
	}},
	{Name: "dstack", Args: "xs", Doc: "joined along a third axis", Seq: true, Call: func(c *call) value {
		xs := c.refs(c.vals[0], c.where(0))
		for i, x := range xs {
			switch s := c.t.Shape(x); len(s) {
			case 0, 1:
				xs[i] = c.t.reshape(x, tensor.Shape{1, s.Size(), 1})
			case 2:
				xs[i] = c.t.reshape(x, append(slices.Clone(s), 1))
			}
		}
		return c.joining(xs, 2)
	}},
	{Name: "append", Args: "x, values, axis=None", Doc: "values behind x along an axis, or behind all elements in one", Call: func(c *call) value {
		xs := []Ref{c.ref(0), c.ref(1)}
		if c.given(2) {
			return c.joining(xs, c.axis(c.int(2), len(c.t.Shape(xs[0])), 2)+len(c.t.Shape(xs[0])))
		}
		for i, x := range xs {
			xs[i] = c.t.reshape(x, tensor.Shape{c.t.Shape(x).Size()})
		}
		return c.t.concat(xs, 0)
	}},
	{Name: "split", Args: "x, parts, axis=0", Doc: "a tuple of equal parts, or cut before the places given", Call: splitCall},
	{Name: "vsplit", Args: "x, parts", Doc: "split along the first axis", Body: "split(x, parts, 0)"},
	{Name: "hsplit", Args: "x, parts", Doc: "split along the second axis, that of a vector", Body: "split(x, parts, x.ndim > 1 ? 1 : 0)"},
	{Name: "dsplit", Args: "x, parts", Doc: "split along the third axis", Body: "split(x, parts, 2)"},
	{Name: "tile", Args: "x, reps", Doc: "the whole repeated along axes", Call: func(c *call) value {
		x, reps := c.ref(0), c.ints(1)
		s := slices.Clone(c.t.Shape(x))
		for len(s) < len(reps) {
			s = slices.Insert(s, 0, 1)
		}
		for len(reps) < len(s) {
			reps = slices.Insert(reps, 0, 1)
		}
		one, many, out := tensor.Shape{}, tensor.Shape{}, tensor.Shape{}
		for i, d := range s {
			if reps[i] < 0 {
				c.fail("shape", "cannot repeat %d times", reps[i])
			}
			one, many, out = append(one, 1, d), append(many, reps[i], d), append(out, reps[i]*d)
		}
		return c.t.reshape(c.t.broadcastTo(c.t.reshape(x, one), many), out)
	}},
	{Name: "repeat", Args: "x, repeats, axis=None", Doc: "each element repeated, as often as all or as its own number says", Call: func(c *call) value {
		x, ks := c.ref(0), c.ints(1)
		if !c.given(2) {
			x = c.t.reshape(x, tensor.Shape{c.t.Shape(x).Size()})
		}
		s := c.t.Shape(x)
		a := 0
		if c.given(2) {
			a = c.axis(c.int(2), len(s), 2) + len(s)
		}
		for _, k := range ks {
			if k < 0 {
				c.fail("shape", "cannot repeat %d times", k)
			}
		}
		if len(ks) != 1 {
			return c.t.take(x, c.t.Tensor(c.repeated(ks, s[a])), a)
		}
		k := ks[0]
		one, many, out := slices.Insert(slices.Clone(s), a+1, 1), slices.Insert(slices.Clone(s), a+1, k), slices.Clone(s)
		out[a] *= k
		return c.t.reshape(c.t.broadcastTo(c.t.reshape(x, one), many), out)
	}},
	{Name: "flip", Args: "x, axis=None", Doc: "axes backwards, all by default", Call: func(c *call) value {
		x := c.ref(0)
		for _, a := range c.axes(1, c.t.Shape(x)) {
			x = c.t.swap(c.t.reverse(c.t.swap(x, a, -1)), a, -1)
		}
		return x
	}},
	{Name: "roll", Args: "x, shift, axis=None", Doc: "elements moved along an axis, or several, coming in again at its start", Call: func(c *call) value {
		x, shifts := c.ref(0), c.ints(1)
		shape := c.t.Shape(x)
		if !c.given(2) {
			for _, k := range shifts {
				x = c.rolled(c.t.reshape(x, tensor.Shape{shape.Size()}), k, -1)
			}
			return c.t.reshape(x, shape)
		}
		axes := c.ints(2)
		if n := len(shifts); n == 0 || len(axes) == 0 || n != len(axes) && n != 1 && len(axes) != 1 {
			c.fail("shape", "%s cannot go along %d axes", expr.Plural(n, "shift"), len(axes))
		}
		for i := range max(len(shifts), len(axes)) {
			x = c.rolled(x, shifts[i%len(shifts)], c.axis(axes[i%len(axes)], len(shape), 2))
		}
		return x
	}},
	{Name: "pad", Args: `x, width, value=0, mode="constant"`, Doc: `a border of one width, (before, after), or a pair for each axis: of a value, or with mode "edge", "reflect", "symmetric" or "wrap" of what is inside`, Call: padCall},
	{Name: "unstack", Args: "x, axis=0", Doc: "a tuple of the parts along an axis", Call: func(c *call) value {
		x := c.ref(0)
		s := c.t.Shape(x)
		if len(s) == 0 {
			c.fail("shape", "unstack of a scalar")
		}
		a := c.axis(c.int(1), len(s), 1)
		out := &tuple{}
		rest := slices.Delete(slices.Clone(s), len(s)+a, len(s)+a+1)
		for i := range s[len(s)+a] {
			out.elems = append(out.elems, c.t.reshape(c.t.slice(x, a, i, i+1, 1), rest))
		}
		return out
	}},
	{Name: "fliplr", Args: "x", Doc: "columns backwards", Body: "flip(x, 1)"},
	{Name: "flipud", Args: "x", Doc: "rows backwards", Body: "flip(x, 0)"},
	{Name: "rot90", Args: "x, k=1", Doc: "a matrix turned k quarters counterclockwise, in the first two axes", Body: "for i in range(k % 4) { x = flip(swapaxes(x, 0, 1), 0) }; x"},
	{Name: "vander", Args: "x, n=None, increasing=false", Doc: "the Vandermonde matrix, highest power first, or last", Call: func(c *call) value {
		x := c.ref(0)
		s := c.t.Shape(x)
		if len(s) != 1 {
			c.fail("shape", "vander takes a vector, this has shape %v", s)
		}
		n := s[0]
		if c.given(1) {
			n = c.int(1)
		}
		powers := tensor.New(c.checkedShape([]int{1, n})...)
		for k := range n {
			powers.Data[k] = float64(n - 1 - k)
			if c.bool(2) {
				powers.Data[k] = float64(k)
			}
		}
		return c.t.Apply(opPow, c.t.reshape(x, tensor.Shape{s[0], 1}), c.t.Tensor(powers))
	}},
	{Name: "block_diag", Args: "xs", Doc: "matrices along a diagonal", Seq: true, Call: func(c *call) value {
		xs := c.refs(c.vals[0], c.where(0))
		if len(xs) == 0 {
			c.fail("shape", "block_diag of nothing")
		}
		rows, cols := 0, 0
		for _, x := range xs {
			if s := c.t.Shape(x); len(s) != 2 {
				c.fail("shape", "block_diag takes matrices, shape %v is none", s)
			}
			rows, cols = rows+c.t.Shape(x)[0], cols+c.t.Shape(x)[1]
		}
		var parts []Ref
		at := 0
		for _, x := range xs {
			s := c.t.Shape(x)
			parts = append(parts, c.padded(x, [][2]int{{0, 0}, {at, cols - at - s[1]}}))
			at += s[1]
		}
		return c.t.concat(parts, 0)
	}},
	{Name: "diag", Args: "x, k=0", Doc: "the diagonal of a matrix, or the matrix with a diagonal", Call: diagCall},
	{Name: "diagonal", Args: "x, k=0", Doc: "the diagonal of the last two axes", Call: func(c *call) value { return c.t.diagonal(c.ref(0), c.int(1), c) }},
	{Name: "diagflat", Args: "x, k=0", Doc: "the matrix with all elements on a diagonal", Body: "diag(ravel(x), k)"},
	{Name: "trace", Args: "x, k=0", Doc: "sum of the diagonal of the last two axes", Body: "sum(diagonal(x, k), axis=-1)"},
	{Name: "tril", Args: "x, k=0", Doc: "the lower triangle, zeros above", Call: func(c *call) value { return c.triangle(func(i, j, k int) bool { return j <= i+k }) }},
	{Name: "triu", Args: "x, k=0", Doc: "the upper triangle, zeros below", Call: func(c *call) value { return c.triangle(func(i, j, k int) bool { return j >= i+k }) }},
	{As: &opCast, Name: "cast", Alias: []string{"astype"}, Args: "x, dtype", Doc: "the same numbers in another dtype",
		Call: func(c *call) value {
			d, ok := tensor.ParseDType(c.str(1))
			if !ok {
				c.fail("type", "there is no dtype %q: float64, float32, int64, bool", c.str(1))
			}
			return c.t.cast(c.ref(0), d)
		},
		Lead: true, Links: linkSame,
		Run: func(c *run) {
			switch c.t.ins[c.r].dtype {
			case tensor.Int64:
				for i, v := range c.args[0] {
					c.out[i] = math.Trunc(v)
				}
			case tensor.Bool:
				for i, v := range c.args[0] {
					c.out[i] = 0
					if v != 0 {
						c.out[i] = 1
					}
				}
			default:
				copy(c.out, c.args[0])
			}
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if x := t.Args(r)[0]; t.ins[x].dtype.IsFloat() && t.ins[r].dtype.IsFloat() {
				if t.ins[ct].dtype != t.ins[x].dtype {
					return t.cast(ct, t.ins[x].dtype)
				}
				return ct
			}
			return None
		}},
	{Name: "float64", Alias: []string{"float"}, Args: "x", Doc: "as float64", Call: func(c *call) value { return c.t.cast(c.ref(0), tensor.Float64) }},
	{Name: "float32", Args: "x", Doc: "rounded to float32", Call: func(c *call) value { return c.t.cast(c.ref(0), tensor.Float32) }},
	{Name: "int64", Alias: []string{"int"}, Args: "x", Doc: "truncated to int64", Call: func(c *call) value { return c.t.cast(c.ref(0), tensor.Int64) }},
	{Name: "bool", Args: "x", Doc: "is it not 0", Call: func(c *call) value { return c.t.cast(c.ref(0), tensor.Bool) }},
	{Name: "shape", Args: "x", Doc: "the sizes of the axes", Call: func(c *call) value {
		return c.lo.field(&expr.Field{Span: c.at.Span, X: c.where(0), Name: "shape", NamePos: c.at.Start})
	}},
}

// target checks the shape of a reshape, filling in one -1.
func (c *call) target(s []int, size int) tensor.Shape {
	out := tensor.Shape(slices.Clone(s))
	free, n := -1, 1
	for i, d := range out {
		switch {
		case d == -1 && free < 0:
			free = i
		case d < 0:
			c.fail("shape", "a shape has sizes of 0 and more, and at most one -1: %v", out)
		default:
			n *= d
		}
	}
	if free >= 0 && n > 0 && size%n == 0 {
		out[free] = size / n
		n = size
	}
	if n != size {
		c.fail("shape", "%d elements of shape %v do not fit into shape %v", size, c.t.Shape(c.ref(0)), out)
	}
	return out
}

func (c *call) joined(axis int) value {
	xs := c.refs(c.vals[0], c.where(0))
	if len(xs) == 0 {
		c.fail("shape", "%s of nothing", c.op.Name)
	}
	for i, x := range xs {
		switch s := c.t.Shape(x); {
		case len(s) == 0:
			xs[i] = c.t.reshape(x, tensor.Shape{1})
		}
		if s := c.t.Shape(xs[i]); len(s) == 1 && axis == 0 {
			xs[i] = c.t.reshape(xs[i], tensor.Shape{1, s[0]})
		}
	}
	if len(c.t.Shape(xs[0])) == 1 {
		axis = 0
	}
	return c.joining(xs, axis)
}

// joining is concat of tensors that may not fit together.
func (c *call) joining(xs []Ref, axis int) value {
	if len(xs) == 0 {
		c.fail("shape", "%s of nothing", c.op.Name)
	}
	for _, x := range xs[1:] {
		s, f := slices.Clone(c.t.Shape(x)), slices.Clone(c.t.Shape(xs[0]))
		if len(s) == len(f) {
			s[axis], f[axis] = 0, 0
		}
		if !tensor.Shape(s).Equal(f) {
			c.fail("shape", "shapes %v and %v do not join along axis %d", c.t.Shape(xs[0]), c.t.Shape(x), axis)
		}
	}
	return c.t.concat(xs, axis)
}

func splitCall(c *call) value {
	x := c.ref(0)
	s := c.t.Shape(x)
	axis := c.axis(c.int(2), len(s), 2)
	n := s[len(s)+axis]
	var cuts []int
	if r, ok := c.vals[1].(Ref); ok && len(c.t.Shape(r)) == 0 {
		k := c.int(1)
		if k <= 0 || n%k != 0 {
			c.fail("shape", "%d elements do not split into %d equal parts", n, k)
		}
		for i := 1; i < k; i++ {
			cuts = append(cuts, n/k*i)
		}
	} else {
		cuts = slices.Clone(c.ints(1))
		for i, at := range cuts {
			if at < 0 && at >= -n {
				cuts[i] += n // from the end
			}
		}
	}
	out := &tuple{}
	from := 0
	for _, to := range append(cuts, n) {
		if to < from || to > n {
			c.fail("shape", "cannot cut %d elements before %d", n, to)
		}
		out.elems = append(out.elems, c.t.slice(x, axis, from, to, 1))
		from = to
	}
	return out
}

// rolled is x with its elements moved k places along an axis.
func (c *call) rolled(x Ref, k, axis int) Ref {
	s := c.t.Shape(x)
	n := s[len(s)+axis]
	if n == 0 || k%n == 0 {
		return x
	}
	k = ((k % n) + n) % n
	return c.t.concat([]Ref{c.t.slice(x, axis, n-k, n, 1), c.t.slice(x, axis, 0, n-k, 1)}, len(s)+axis)
}

// repeated lists each of n places as often as ks says.
func (c *call) repeated(ks []int, n int) *tensor.Tensor {
	if len(ks) != n {
		c.fail("shape", "repeat has %s for an axis of %d", expr.Plural(len(ks), "number"), n)
	}
	size := 0
	for _, k := range ks {
		size += c.checkedShape([]int{size + k})[0] - size
	}
	at := tensor.New(size)
	at.DType = tensor.Int64
	size = 0
	for i, k := range ks {
		for range k {
			at.Data[size] = float64(i)
			size++
		}
	}
	return at
}

func padCall(c *call) value {
	x := c.ref(0)
	s := c.t.Shape(x)
	widths := make([][2]int, len(s))
	r, ok := c.vals[1].(Ref)
	if tup, isTuple := c.vals[1].(*tuple); isTuple && len(tup.elems) > 0 {
		if _, nested := tup.elems[0].(*tuple); nested {
			if len(tup.elems) != len(s) {
				c.fail("shape", "pad of %d axes needs %d pairs", len(s), len(s))
			}
			for i, e := range tup.elems {
				w := c.intsOf(e, c.where(1))
				if len(w) != 2 {
					c.fail("shape", "pad needs pairs (before, after)")
				}
				widths[i] = [2]int{w[0], w[1]}
			}
			return c.padded(x, widths)
		}
	}
	if ok && len(c.t.Shape(r)) == 2 {
		w := c.t.read(r)
		if len(w) != 2*len(s) {
			c.fail("shape", "pad of %d axes needs %d pairs", len(s), len(s))
		}
		for i := range widths {
			widths[i] = [2]int{int(w[2*i]), int(w[2*i+1])}
		}
		return c.padded(x, widths)
	}
	w := c.ints(1)
	if len(w) == 1 {
		w = append(w, w[0])
	}
	if len(w) != 2 {
		c.fail("shape", "pad needs one width, (before, after), or a pair for each axis")
	}
	for i := range widths {
		widths[i] = [2]int{w[0], w[1]}
	}
	return c.padded(x, widths)
}

// mirrored is x with a border of what is inside.
func (c *call) mirrored(x Ref, widths [][2]int, mode string) Ref {
	inside := map[string]func(i, n int) int{
		"edge":      func(i, n int) int { return min(max(i, 0), n-1) },
		"wrap":      func(i, n int) int { return (i%n + n) % n },
		"symmetric": func(i, n int) int { i = (i%(2*n) + 2*n) % (2 * n); return min(i, 2*n-1-i) },
		"reflect": func(i, n int) int {
			period := max(2*(n-1), 1)
			i = (i%period + period) % period
			return min(i, period-i) % n
		},
	}[mode]
	if inside == nil {
		c.fail("type", `the mode of pad is "constant", "edge", "reflect", "symmetric" or "wrap", not %q`, mode)
	}
	for axis, w := range widths {
		n := c.t.Shape(x)[axis]
		if w[0] < 0 || w[1] < 0 {
			c.fail("shape", "pad has no negative widths: %v", w)
		}
		if n == 0 && w[0]+w[1] > 0 {
			c.fail("shape", "pad of no elements: shape %v", c.t.Shape(x))
		}
		s := slices.Clone(c.t.Shape(x))
		s[axis] = w[0] + n + w[1]
		c.checkedShape(s)
		idx := tensor.New(s[axis])
		for i := range idx.Data {
			idx.Data[i] = float64(inside(i-w[0], n))
		}
		x = c.t.take(x, c.t.Tensor(idx), axis)
	}
	return x
}

func (c *call) padded(x Ref, widths [][2]int) Ref {
	v := c.t.Const(0)
	if c.op.Name == "pad" {
		mode, behind := c.vals[2].(string) // NumPy has it there
		if !behind {
			mode = c.str(3)
			v = c.ref(2)
		}
		if mode != "constant" {
			return c.mirrored(x, widths, mode)
		}
	}
	for i, w := range widths {
		s := slices.Clone(c.t.Shape(x))
		parts := []Ref{}
		for side, k := range w {
			if k < 0 {
				c.fail("shape", "pad widths are 0 or more, not %d", k)
			}
			if side == 1 {
				parts = append(parts, x)
			}
			if k > 0 {
				s[i] = k
				parts = append(parts, c.t.broadcastTo(v, s))
			}
		}
		if len(parts) > 1 {
			x = c.t.concat(parts, i)
		}
	}
	return x
}

func diagCall(c *call) value {
	x := c.ref(0)
	k := c.int(1)
	s := c.t.Shape(x)
	switch len(s) {
	case 1:
		n := s[0] + max(k, -k)
		idx := tensor.New(s[0])
		for i := range idx.Data {
			idx.Data[i] = float64((i+max(-k, 0))*n + i + max(k, 0))
		}
		flat := c.t.record(opPut, tensor.Shape{n * n}, Attr{Axes: []int{-1}}, x, c.t.Tensor(idx))
		return c.t.reshape(flat, tensor.Shape{n, n})
	case 0:
		c.fail("shape", "diag needs a vector or a matrix, this is a scalar")
	}
	return c.t.diagonal(x, k, c)
}

// diagonal takes the k-th diagonal of the last two axes.
func (t *Tape) diagonal(x Ref, k int, c *call) Ref {
	s := t.Shape(x)
	if len(s) < 2 {
		c.fail("shape", "a diagonal needs two axes, shape %v has %d", s, len(s))
	}
	n, m := s[len(s)-2], s[len(s)-1]
	var idx []float64
	for i := range n {
		if j := i + k; j >= 0 && j < m {
			idx = append(idx, float64(i*m+j))
		}
	}
	flat := t.reshape(x, append(slices.Clone(s[:len(s)-2]), n*m))
	return t.take(flat, t.Tensor(tensor.From(idx, len(idx))), len(s)-2)
}

func (c *call) triangle(in func(i, j, k int) bool) value {
	x := c.ref(0)
	s := c.t.Shape(x)
	if len(s) < 2 {
		c.fail("shape", "%s needs two axes, shape %v has %d", c.op.Name, s, len(s))
	}
	n, m := s[len(s)-2], s[len(s)-1]
	mask := &tensor.Tensor{DType: tensor.Bool, Shape: tensor.Shape{n, m}, Data: make([]float64, n*m)}
	for i := range n {
		for j := range m {
			if in(i, j, c.int(1)) {
				mask.Data[i*m+j] = 1
			}
		}
	}
	return c.t.Apply(opWhere, c.t.Tensor(mask), x, c.t.constOf(0, c.t.ins[x].dtype))
}

// reshape gives the numbers of x another shape of the same size.
func (t *Tape) reshape(x Ref, s tensor.Shape) Ref {
	if t.Shape(x).Equal(s) {
		return x
	}
	if t.Shape(x).Size() != s.Size() {
		panic("tape: reshape of " + t.Shape(x).String() + " to " + s.String())
	}
	if t.ins[x].Op() == opReshape && !t.known(x) && !t.named(x) { // only the last shape matters
		x = t.Args(x)[0]
		if t.Shape(x).Equal(s) {
			return x
		}
	}
	return t.record(opReshape, s, Attr{}, x)
}

// broadcastTo repeats x to shape s.
func (t *Tape) broadcastTo(x Ref, s tensor.Shape) Ref {
	if t.Shape(x).Equal(s) {
		return x
	}
	return t.record(opBroadcast, s, Attr{}, x)
}

// transpose permutes axes: axis i of the result is axis perm[i] of x.
func (t *Tape) transpose(x Ref, perm []int) Ref {
	s := t.Shape(x)
	n := len(s)
	out := make(tensor.Shape, n)
	right := make([]int, n)
	same := true
	for i, p := range perm {
		out[i], right[i] = s[p], p-n
		same = same && p == i
	}
	if same {
		return x
	}
	return t.record(opTranspose, out, Attr{Ints: right}, x)
}

// swap exchanges two axes, from the right.
func (t *Tape) swap(x Ref, a, b int) Ref {
	n := len(t.Shape(x))
	perm := make([]int, n)
	for i := range perm {
		perm[i] = i
	}
	perm[n+a], perm[n+b] = n+b, n+a
	return t.transpose(x, perm)
}

// concat joins along an axis from the left.
func (t *Tape) concat(xs []Ref, axis int) Ref {
	if len(xs) == 1 {
		return xs[0]
	}
	s := slices.Clone(t.Shape(xs[0]))
	s[axis] = 0
	starts := make([]int, len(xs))
	for i, x := range xs {
		starts[i] = s[axis]
		s[axis] += t.Shape(x)[axis]
	}
	// more parts than one instruction can name are joined in bundles
	const most = math.MaxUint16
	if len(xs) > most {
		var bundles []Ref
		for len(xs) > 0 {
			k := min(len(xs), most)
			bundles = append(bundles, t.concat(xs[:k], axis))
			xs = xs[k:]
		}
		return t.concat(bundles, axis)
	}
	return t.record(opConcat, s, Attr{Axes: []int{axis - len(s)}, Ints: starts}, xs...)
}

// stack joins along a new axis.
func (t *Tape) stack(xs []Ref, axis int) Ref {
	s := slices.Insert(slices.Clone(t.Shape(xs[0])), axis, 1)
	parts := make([]Ref, len(xs))
	for i, x := range xs {
		parts[i] = t.reshape(x, s)
	}
	return t.concat(parts, axis)
}

func (t *Tape) reverse(x Ref) Ref { return t.record(opReverse, t.Shape(x), Attr{}, x) }

// cast changes the dtype.
func (t *Tape) cast(x Ref, d tensor.DType) Ref {
	if t.ins[x].dtype == d {
		return x
	}
	if v, ok := t.constant(x); ok && t.ins[x].shape == 0 && d.IsFloat() {
		return t.constOf(round(d, v), d)
	}
	return t.recordAs(opCast, t.Shape(x), d, Attr{}, x)
}

func runBroadcast(c *run) {
	from, to := c.shapes[0], c.shape
	sp := newSpread(from, to)
	if sp == nil {
		if len(c.args[0]) == len(c.out) {
			copy(c.out, c.args[0])
		}
		return
	}
	fillSpread(sp, c.out, c.args[0], 0)
}

func runTranspose(c *run) {
	s := c.shapes[0]
	n := len(s)
	perm := c.attr.Ints
	extra := n - len(perm) // batch axes in front stay
	strides := s.Strides()
	if len(c.out) == 0 {
		return
	}
	// two axes exchanged at the end is the common case: blocks keep both sides in cache
	if m := len(perm); m >= 2 && perm[m-1] == -2 && perm[m-2] == -1 && identityBefore(perm[:m-2], m) {
		r, q := s[n-2], s[n-1]
		for o := 0; o < len(c.out); o += r * q {
			transposeBlock(c.out[o:o+r*q], c.args[0][o:o+r*q], r, q)
		}
		return
	}
	sp := &spread{}
	for i := range n {
		d, st := s[i], strides[i]
		if i >= extra {
			src := n + perm[i-extra]
			d, st = s[src], strides[src]
		}
		sp.axis(d, st)
	}
	switch {
	case len(sp.dims) == 0:
		c.out[0] = c.args[0][0]
	case len(sp.dims) == 2 && sp.strides[0] == 1: // axes that are joined
		transposeBlock(c.out, c.args[0], sp.dims[1], sp.dims[0])
	default:
		fillSpread(sp, c.out, c.args[0], 0)
	}
}

func identityBefore(perm []int, n int) bool {
	for i, p := range perm {
		if p != i-n {
			return false
		}
	}
	return true
}

// transposeBlock writes the transpose of the r×q matrix x.
func transposeBlock(dst, x []float64, r, q int) {
	if len(x) > 0 {
		kernels.TransposeLarge(dst, r, x, q, r, q)
	}
}

func runConcat(c *run) {
	outer, n, inner := outerInner(c.shape, c.attr.Axes[0])
	at := 0
	for i, x := range c.args {
		_, m, _ := outerInner(c.shapes[i], c.attr.Axes[0])
		for o := range outer {
			copy(c.out[(o*n+at)*inner:(o*n+at+m)*inner], x[o*m*inner:(o+1)*m*inner])
		}
		at += m
	}
}
