package tape

import (
	"fmt"
	"math"
	"slices"

	"nabla/tape/tensor"
)

var constructorRows = []Op{
	{Name: "zeros", Args: "*shape", Doc: "zeros of a shape: zeros(3, 4) or zeros((3, 4))", Call: func(c *call) value { return c.t.broadcastTo(c.t.Const(0), c.shapeArgs()) }},
	{Name: "ones", Args: "*shape", Doc: "ones of a shape", Call: func(c *call) value { return c.t.broadcastTo(c.t.Const(1), c.shapeArgs()) }},
	{Name: "full", Alias: []string{"fill"}, Args: "#shape, value", Doc: "one value in a shape", Call: func(c *call) value {
		return c.inShape(c.ref(1), c.checkedShape(c.ints(0)))
	}},
	{Name: "zeros_like", Args: "x", Doc: "zeros in the shape of x", Call: func(c *call) value { return c.t.broadcastTo(c.t.Const(0), c.t.Shape(c.ref(0))) }},
	{Name: "ones_like", Args: "x", Doc: "ones in the shape of x", Call: func(c *call) value { return c.t.broadcastTo(c.t.Const(1), c.t.Shape(c.ref(0))) }},
	{Name: "full_like", Args: "x, value", Doc: "one value in the shape of x", Call: func(c *call) value {
		v := c.ref(1)
		if d := c.t.DTypeOf(c.ref(0)); d.IsFloat() {
			v = c.t.cast(v, d)
		}
		return c.inShape(v, c.t.Shape(c.ref(0)))
	}},
	{Name: "eye", Alias: []string{"identity"}, Args: "#n, #m=None, #k=0", Doc: "ones on a diagonal", Call: func(c *call) value {
		n := c.int(0)
		m := n
		if c.given(1) {
			m = c.int(1)
		}
		s := c.checkedShape([]int{n, m})
		out := tensor.New(s...)
		for i := range n {
			if j := i + c.int(2); j >= 0 && j < m {
				out.Data[i*m+j] = 1
			}
		}
		return c.t.ownTensor(out)
	}},
	{Name: "arange", Args: "start, stop=None, step=1", Doc: "start, start + step, … before stop", Call: func(c *call) value {
		a, b, s := 0.0, c.num(0), c.num(2)
		if c.given(1) {
			a, b = c.num(0), c.num(1)
		}
		n := math.Max(0, math.Ceil((b-a)/s))
		switch {
		case s == 0:
			c.fail("type", "arange needs a step other than 0")
		case n != n || n > math.MaxFloat64:
			c.fail("type", "arange from %s to %s by %s has no end", formatFloat(a), formatFloat(b), formatFloat(s))
		case n > min(1<<53, math.MaxInt):
			c.tooLarge(fmt.Sprintf("arange of %v numbers", n))
		}
		out := tensor.New(c.checkedShape([]int{int(n)})...)
		for i := range out.Data {
			out.Data[i] = a + float64(i)*s
		}
		if c.lo.body > 0 || math.Max(math.Abs(a), math.Abs(b)) <= 1<<24 { // beyond, what may be places would be others as float32
			return c.t.ownTensor(out)
		}
		return c.t.Tensor(out)
	}},
	{Name: "linspace", Args: "start, stop, #num=50, #endpoint=true", Doc: "num numbers from start to stop, both included, or without the end", Call: func(c *call) value {
		n := c.int(2)
		if n < 0 {
			c.lo.fail(c.where(2), "shape", "num is at least 0, not %d", n)
		}
		if !c.bool(3) { // the first of one more
			c.checkedShape([]int{n})
			c.vals[2], c.vals[3] = c.t.Const(float64(n+1)), c.t.Const(1)
			return c.t.slice(c.lo.ref(c.op.Call(c), c.at), -1, 0, n, 1)
		}
		shape := c.checkedShape([]int{n})
		if c.t.Active(c.ref(0)) || c.t.Active(c.ref(1)) {
			return c.t.spaced(c.t.asFloat(c.one(0)), c.t.asFloat(c.one(1)), shape)
		}
		a, b := c.num(0), c.num(1)
		out := tensor.New(shape...)
		for i := range out.Data {
			switch {
			case i == n-1 && n > 1:
				out.Data[i] = b
			default:
				out.Data[i] = a + float64(float64(i)*((b-a)/math.Max(1, float64(n-1))))
			}
		}
		return c.t.ownTensor(out)
	}},
	{Name: "geomspace", Args: "start, stop, #num=50, #endpoint=true", Doc: "num numbers from start to stop with one ratio", Body: `r = stop / start; t = linspace(0, 1, num, endpoint)
			apart = isfinite(start) && isfinite(stop) && start * sign(stop) > 0 && (r == 0 || r == inf)
			any(apart) ? sign(start) * abs(start)^(1 - t) * abs(stop)^t : start * r^t`,
		Call: func(c *call) value {
			c.vals[0], c.vals[1] = c.one(0), c.one(1)
			return c.written()
		}},
	{Name: "logspace", Args: "start, stop, #num=50, #endpoint=true, base=10", Doc: "num powers of base with exponents from start to stop", Body: "base^linspace(start, stop, num, endpoint)"},
	{Name: "one_hot", Args: "#indices, #n", Doc: "1 at the index, 0 elsewhere, along a new last axis", Call: func(c *call) value {
		x := c.ref(0)
		r := c.t.reshape(x, append(slices.Clone(c.t.Shape(x)), 1))
		idx := tensor.New(c.checkedShape([]int{c.int(1)})...)
		for i := range idx.Data {
			idx.Data[i] = float64(i)
		}
		return c.t.cast(c.t.apply("equal", r, c.t.Tensor(idx)), c.t.DType)
	}},
	{Name: "tensor", Alias: []string{"array", "asarray", "as_tensor", "constant"}, Args: "x", Doc: "x itself: [1, 2] already is a tensor", Body: "x"},
	{Name: "tri", Args: "#n, #m=None, #k=0", Doc: "ones on and below a diagonal", Call: func(c *call) value {
		if !c.given(1) {
			c.vals[1] = c.vals[0]
		}
		return c.written()
	}, Body: "tril(ones(n, m), k)"},
	{Name: "meshgrid", Args: `*x, indexing="xy"`, Doc: `the grids of vectors, one for each; the first two axes stand in the order of matrices, or with indexing "ij" in that of the vectors`, Call: meshgridCall},
}

// meshgridCall broadcasts each vector along an axis of its own, the first two in the order that
// indexing says.
func meshgridCall(c *call) value {
	indexing := c.str(1)
	if indexing != "xy" && indexing != "ij" {
		c.lo.fail(c.where(1), "type", `indexing is "xy" or "ij", not %q`, indexing)
	}
	xs := make([]Ref, len(c.rest))
	s := make(tensor.Shape, len(c.rest))
	place := func(i int) int { // the axis of vector i
		if i < 2 && indexing == "xy" && len(s) > 1 {
			return 1 - i
		}
		return i
	}
	for i, v := range c.rest {
		xs[i] = c.lo.ref(v, c.at)
		n := c.t.Shape(xs[i])
		if len(n) > 1 {
			c.fail("shape", "meshgrid takes vectors, this has shape %v", n)
		}
		s[place(i)] = n.Size()
	}
	c.lo.mark(c.at, c.at.Mark())
	c.checkedShape(s)
	out := &tuple{}
	for i, x := range xs {
		one := slices.Repeat(tensor.Shape{1}, len(s))
		one[place(i)] = s[place(i)]
		out.elems = append(out.elems, c.t.broadcastTo(c.t.reshape(x, one), s))
	}
	return out
}

// shapeArgs reads zeros(3, 4) and zeros((3, 4)).
func (c *call) shapeArgs() tensor.Shape { return c.checkedShape(c.sizes()) }

// sizes are the numbers of a shape that stands last, one by one or in one tuple.
func (c *call) sizes() (s []int) {
	first := len(c.vals) - 1
	if first > 0 && c.rest == nil {
		c.lo.fail(c.at, "type", "%s needs %s: %s", c.op.Name, c.op.signature()[first].name, c.op.Signature())
	}
	for i, v := range c.rest {
		s = append(s, c.intsOf(v, c.lo.argExpr(c.at, first+i))...)
	}
	return s
}

// noNegative refuses sizes below 0.
func (c *call) noNegative(s tensor.Shape) tensor.Shape {
	for _, d := range s {
		if d < 0 {
			c.fail("shape", "a shape has no negative sizes: %v", s)
		}
	}
	return s
}

// checkedShape refuses a shape with more numbers than there may be.
func (c *call) checkedShape(s []int) tensor.Shape {
	n, ok := c.noNegative(s).CheckedExtent()
	if !ok || c.t.Limit > 0 && int64(n) > c.t.Limit/8 {
		c.tooLarge("a tensor of shape " + tensor.Shape(s).String())
	}
	return s
}

// tooLarge refuses what would not fit into memory.
func (c *call) tooLarge(what string) {
	m := &Misuse{Kind: "memory", Pos: c.t.pos, Msg: what + " does not fit into the limit of " + Bytes(float64(c.t.Limit)), Hint: "--max-memory raises the limit"}
	if c.t.Limit == 0 {
		m.Msg = what + " does not fit into any memory"
	}
	panic(m)
}

// spaced is linspace from a to b, of which derivatives are taken.
func (t *Tape) spaced(a, b Ref, shape tensor.Shape) Ref {
	n := shape.Size()
	index, last := tensor.New(shape...), tensor.New(shape...)
	for i := range n {
		index.Data[i] = float64(i)
	}
	if n > 1 {
		last.Data[n-1] = 1
	}
	step := t.Apply(opDiv, t.Apply(opSub, b, a), t.Const(math.Max(1, float64(n-1))))
	return t.Apply(opWhere, t.apply("not_equal", t.Tensor(last), t.Const(0)), b, t.Apply(opAdd, a, t.Apply(opMul, t.ownTensor(index), step)))
}
