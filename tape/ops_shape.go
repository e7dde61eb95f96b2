package tape

import (
	"slices"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

var opReshape, opBroadcast, opTranspose, opCast, opToFloat64, opToFloat32 *Op

var shapeRows = []Op{
	{As: &opReshape, Name: "reshape", Terms: (*factoring).reshaped, Args: "x, *shape", Doc: "the same numbers in another shape; one size may be -1", Lead: true, Run: runCopy, Links: linkSame,
		Call: func(c *call) value {
			x := c.ref(0)
			return c.t.reshape(x, c.target(c.sizes(), c.t.Shape(x).Size()))
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if len(t.Shape(ct)) == 0 {
				return ct
			}
			return t.reshape(t.full(ct, r), t.Shape(t.Args(r)[0]))
		}},
	{As: &opBroadcast, Name: "broadcast_to", Terms: (*factoring).broadcast, Args: "x, *shape", Doc: "repeated along new axes and axes of size 1", Run: runBroadcast, Links: linkRepeat,
		Call: func(c *call) value {
			return c.inShape(c.ref(0), c.noNegative(c.sizes()))
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.unbroadcast(ct, t.ins[r].shape, t.ins[t.Args(r)[0]].shape)
		}},
	// opTranspose holds its permutation from the right, so that axes in front do not matter.
	{As: &opTranspose, Name: "transpose", Terms: (*factoring).transposed, Alias: []string{"permute", "permute_dims"}, Args: "x, #axes=None", Doc: "axes permuted, reversed by default", Lead: true, Run: runTranspose, Links: linkTranspose,
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
					c.fail("shape", "transpose of %s needs %s, not %d", axes(n), expr.Plural(n, "number"), len(perm))
				}
				seen := make([]bool, n)
				for i, a := range perm {
					perm[i] = c.axis(a, n, 1) + n
					if seen[perm[i]] {
						c.advise("shape", "write each of 0 to "+itoa(n-1)+" once", "transpose names axis %d twice", perm[i])
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
			c.fail("shape", "%s cannot move to %s", axes(len(from)), expr.Plural(len(to), "place"))
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
	{Name: "expand_dims", Args: "x, #axis", Doc: "a new axis of size 1, or several, where the result has them", Call: func(c *call) value {
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
	{Name: "squeeze", Args: "x, #axis=None", Doc: "axes of size 1 left out", Call: func(c *call) value {
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
	{As: &opCast, Name: "cast", Alias: []string{"astype"}, Args: "x, dtype", Doc: "the same numbers in another dtype",
		Call: func(c *call) value {
			return c.t.cast(c.ref(0), c.dtype(1))
		},
		Lead: true, Links: linkSame,
		Run: func(c *run) {
			if c.t.ins[c.r].dtype == tensor.Int64 {
				kernels.Trunc(c.out, c.args[0])
				return
			}
			for i, v := range c.args[0] {
				c.out[i] = 0
				if v != 0 {
					c.out[i] = 1
				}
			}
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref { return None }},
	// Casts to floats are elementwise, so that they run with what is before and after them.
	{As: &opToFloat64, Name: "float64", Alias: []string{"float"}, Args: "x", Doc: "as float64", Call: func(c *call) value { return c.t.cast(c.ref(0), tensor.Float64) },
		Grad: d("1"), Adj: castBack, Kernel: unary(&kernels.Copy, kernels.CopyOf), Gives: givesFloat64, Try: at(-2, 0.5)},
	{As: &opToFloat32, Name: "float32", Args: "x", Doc: "rounded to float32", Call: func(c *call) value { return c.t.cast(c.ref(0), tensor.Float32) },
		Grad: d("1"), Adj: castBack, Kernel: unary(&kernels.Copy, kernels.CopyOf), Gives: givesFloat32, Try: at(-2, 0.5)},
	{Name: "int64", Alias: []string{"int"}, Args: "x", Doc: "truncated to int64", Call: func(c *call) value { return c.t.cast(c.ref(0), tensor.Int64) }},
	{Name: "bool", Args: "x", Doc: "is it not 0", Call: func(c *call) value { return c.t.cast(c.ref(0), tensor.Bool) }},
	{Name: "shape", Args: "x", Doc: "the sizes of the axes", Call: func(c *call) value {
		return c.lo.field(&expr.Field{Span: c.at.Span, X: c.where(0), Name: "shape", NamePos: c.at.Start})
	}},
	{Name: "ndim", Args: "x", Doc: "how many axes it has", Call: func(c *call) value {
		return c.t.constOf(float64(len(c.t.Shape(c.ref(0)))), tensor.Int64)
	}},
	{Name: "atleast_1d", Args: "x", Doc: "a number as a vector of one", Call: func(c *call) value {
		s := c.t.Shape(c.ref(0))
		return c.t.reshape(c.ref(0), append(ofOne(1-len(s)), s...))
	}},
	{Name: "atleast_2d", Args: "x", Doc: "a number or a vector as a matrix of one row", Call: func(c *call) value {
		s := c.t.Shape(c.ref(0))
		return c.t.reshape(c.ref(0), append(ofOne(2-len(s)), s...))
	}},
	{Name: "atleast_3d", Args: "x", Doc: "a vector as a matrix of one row, and axes of size 1 behind two", Call: func(c *call) value {
		s := c.t.Shape(c.ref(0))
		front := ofOne(min(1, 2-len(s)))
		out := append(front, s...)
		return c.t.reshape(c.ref(0), append(out, ofOne(3-len(out))...))
	}},
}

// ofOne is so many axes of size 1, none of a negative number.
func ofOne(n int) tensor.Shape { return slices.Repeat(tensor.Shape{1}, max(0, n)) }

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
		return out
	}
	if n != size || free >= 0 {
		hint := "a size of -1 is what the others leave"
		if free >= 0 {
			hint = "the other sizes do not divide " + itoa(size)
		}
		if n == size {
			hint = "beside a size of 0 a size of -1 may be any: write which"
		}
		do := "do"
		if size == 1 {
			do = "does"
		}
		c.advise("shape", hint, "%s of shape %v %s not fit into shape %v", expr.Plural(size, "element"), c.t.Shape(c.ref(0)), do, out)
	}
	return out
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

// inShape repeats x to shape s, if it can be.
func (c *call) inShape(x Ref, s tensor.Shape) Ref {
	if b, ok := broadcast(c.t.Shape(x), s); !ok || !b.Equal(s) {
		c.fail("shape", "shape %v does not broadcast to %v", c.t.Shape(x), s)
	}
	return c.t.broadcastTo(x, s)
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

func (t *Tape) reverse(x Ref) Ref { return t.record(opReverse, t.Shape(x), Attr{}, x) }

// cast changes the dtype.
func (t *Tape) cast(x Ref, d tensor.DType) Ref {
	if t.ins[x].dtype == d {
		return x
	}
	if v, ok := t.constant(x); ok && t.ins[x].shape == 0 && d.IsFloat() {
		return t.constOf(round(d, v), d)
	}
	switch d {
	case tensor.Float64:
		return t.Apply(opToFloat64, x)
	case tensor.Float32:
		return t.Apply(opToFloat32, x)
	}
	return t.recordAs(opCast, t.Shape(x), d, Attr{}, x)
}

// castBack gives a cotangent the dtype of what was cast.
func castBack(t *Tape, r Ref, i int, ct Ref) Ref {
	if x := t.Args(r)[0]; t.ins[x].dtype.IsFloat() {
		return t.cast(ct, t.ins[x].dtype)
	}
	return None
}

// runBroadcast writes the argument as often as the shape says.
func runBroadcast(c *run) {
	from, to := c.shapes[0], c.shape
	sp := newSpread(from, to)
	if sp == nil {
		if len(c.args[0]) == len(c.out) {
			copy(c.out, c.args[0])
		}
		return
	}
	c.spreadOut(sp)
}

// spreadOut writes the argument as it is spread out, on threads where it is much.
func (c *run) spreadOut(sp *spread) {
	if !c.shared() {
		if !sp.layAtOnce(c.out, c.args[0]) {
			fillSpread(sp, c.out, c.args[0], 0)
		}
		return
	}
	pool.Pieces(c.threads, len(c.out), func(from, to int) { fillSpread(sp, c.out[from:to], c.args[0], from) })
}

// runTranspose copies the elements in their new order; axes of a batch in front stay.
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
		c.transposeAll(s[n-2], s[n-1])
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
		c.transposeAll(sp.dims[1], sp.dims[0])
	default:
		if t := newTurn(sp, len(c.out)); t != nil {
			c.turnAll(t)
		} else {
			c.spreadOut(sp)
		}
	}
}

// identityBefore reports whether the axes in perm, the first ones of n, stay where they are.
func identityBefore(perm []int, n int) bool {
	for i, p := range perm {
		if p != i-n {
			return false
		}
	}
	return true
}

// transposeAll writes the transposes of r×q matrices, on threads where they are large: some columns each.
func (c *run) transposeAll(r, q int) {
	x := c.args[0]
	if !c.shared() {
		for o := 0; o < len(c.out); o += r * q {
			kernels.TransposeLarge(c.out[o:], r, x[o:], q, r, q)
		}
		return
	}
	const columns = 128
	each := (q + columns - 1) / columns
	pool.Split(c.threads, len(c.out), len(c.out)/(r*q)*each, func(from, to int) {
		for k := from; k < to; k++ {
			o, left := k/each*r*q, k%each*columns
			kernels.TransposeLarge(c.out[o+left*r:], r, x[o+left:], q, r, min(columns, q-left))
		}
	})
}
