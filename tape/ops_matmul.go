package tape

import (
	"slices"

	"nabla/tape/tensor"
)

var opMatmul, opZMatmul *Op

// sameRows is a cotangent ct of the product r as one row, when all its rows are the same
// (a seed that is repeated over a batch); None otherwise.
func (t *Tape) sameRows(ct, r Ref) Ref {
	s, have := t.Shape(r), t.Shape(ct)
	if len(have) >= 2 && have[len(have)-2] != 1 || s[len(s)-2] == 1 {
		return None
	}
	return t.broadcastTo(ct, append(slices.Clone(have[:max(0, len(have)-2)]), 1, last(s)))
}

// matmul multiplies as NumPy's @: vectors are rows on the left and columns on the right.
func (t *Tape) matmul(x, y Ref) Ref {
	xs, ys := t.Shape(x), t.Shape(y)
	if len(xs) == 0 || len(ys) == 0 {
		panic(&Misuse{Kind: "shape", Pos: t.pos, Msg: "a matrix product needs axes: the shapes are " + xs.String() + " and " + ys.String(), Hint: "a product with a scalar is written *"})
	}
	x, y = t.asNumber(x), t.asNumber(y)
	vx, vy := len(xs) == 1, len(ys) == 1
	kx := last(xs)
	ky := ys[max(len(ys)-2, 0)]
	if kx != ky {
		panic(&Misuse{Kind: "shape", Pos: t.pos, Msg: "shapes " + xs.String() + " and " + ys.String() + " do not multiply (@)",
			Note: "inner sizes " + itoa(kx) + " and " + itoa(ky) + " differ"})
	}
	if vx && vy {
		return t.sumTo(t.Apply(opMul, x, y), []int{-1}, false)
	}
	if vx {
		x = t.reshape(x, tensor.Shape{1, kx})
	}
	if vy {
		y = t.reshape(y, tensor.Shape{ky, 1})
	}
	if _, ok := broadcast(lead(lead(t.Shape(x))), lead(lead(t.Shape(y)))); !ok {
		panic(&Misuse{Kind: "shape", Pos: t.pos, Msg: "shapes " + xs.String() + " and " + ys.String() + " do not multiply (@)",
			Note: "the leading axes do not broadcast"})
	}
	var r Ref
	n := last(t.Shape(y))
	y, ty := t.unturned(y)
	if s := t.Shape(x); len(s) > 2 && len(t.Shape(y)) == 2 {
		// many matrices times one: one tall product
		rows := lead(s).Size()
		r = t.mm(t.reshape(x, tensor.Shape{rows, last(s)}), y, false, ty)
		r = t.reshape(r, append(slices.Clone(lead(s)), n))
	} else {
		x, tx := t.unturned(x)
		r = t.mm(x, y, tx, ty)
	}
	s := t.Shape(r)
	switch {
	case vx:
		r = t.reshape(r, append(slices.Clone(s[:len(s)-2]), last(s)))
	case vy:
		r = t.reshape(r, lead(s))
	}
	return r
}

// unturned is what x is the transposed matrices of, if it is that and nothing else reads it by a name; products read it
// so themselves. The gradient of sum((transpose(x) @ v)^2) of 500×500 numbers took 2.5 times as long with transpositions of
// their own.
func (t *Tape) unturned(x Ref) (of Ref, turned bool) {
	if t.ins[x].Op() != opTranspose || t.known(x) || t.named(x) {
		return x, false
	}
	perm := t.Attr(x).Ints
	n := len(perm)
	for i, from := range perm {
		want := i - n
		switch want {
		case -1, -2:
			want = -3 - want
		}
		if from != want {
			return x, false
		}
	}
	return t.Args(x)[0], true
}

// mm records op(x) op(y) of operands with at least two axes.
func (t *Tape) mm(x, y Ref, tx, ty bool) Ref {
	xs, ys := t.Shape(x), t.Shape(y)
	s, _ := broadcast(xs[:len(xs)-2], ys[:len(ys)-2])
	m, n := xs[len(xs)-2], last(ys)
	if tx {
		m = last(xs)
	}
	if ty {
		n = ys[len(ys)-2]
	}
	op := opMatmul
	if t.strongly() {
		op = opZMatmul
	}
	return t.record(op, append(slices.Clone(s), m, n), Attr{Flag: tx, Flag2: ty, Strong: t.strongly()}, x, y)
}

// mmFolded is mm for a result of two axes: leading axes of the operands, over which it
// is summed, become part of the inner size of one product.
func (t *Tape) mmFolded(x, y Ref, tx, ty bool, want tensor.Shape) Ref {
	xs, ys := t.Shape(x), t.Shape(y)
	if len(want) == 2 && len(xs) > 2 && tx && !ty && slices.Equal(xs[:len(xs)-1], ys[:len(ys)-1]) {
		k := lead(xs).Size()
		return t.mm(t.reshape(x, tensor.Shape{k, last(xs)}), t.reshape(y, tensor.Shape{k, last(ys)}), true, false)
	}
	return t.mm(x, y, tx, ty)
}

var matmulRows = []Op{
	// opMatmul multiplies the last two axes; leading axes broadcast. Flag and Flag2
	// say that the left or right operand is used transposed, so that adjoints of
	// products are products without copies.
	{As: &opMatmul, Name: "matmul", Switches: [2]string{"x.T", "y.T"}, Linear: []int{0, 1}, Terms: (*factoring).product, Args: "x, y", Doc: "matrix product, batched over leading axes, as x @ y",
		Call: func(c *call) value { return c.t.matmul(c.ref(0), c.ref(1)) },
		Run: func(c *run) {
			matmulAt(c, c.out, c.args[0], c.args[1])
		},
		Whole: wholeMatmul[float64], Links: linkMatmul,
		Flops: matmulFlops, Adj: matmulAdj},
	// opZMatmul is the same on the way of a cotangent, of which zeros are strong (strong.go).
	{As: &opZMatmul, Name: "zmatmul", Switches: [2]string{"x.T", "y.T"}, Args: "x, y", Hidden: true, Doc: "x @ y of a cotangent and a partial: what meets a 0 contributes 0",
		Run: runZMatmul, Linear: []int{0, 1}, Zeros: zerosOfProduct, Links: linkMatmul, Flops: matmulFlops, Adj: matmulAdj},
	{Name: "dot", Args: "x, y", Doc: "x @ y; of tensors every matrix with every matrix, and the product with a number", Body: "x.ndim == 0 or y.ndim == 0 ? x * y : y.ndim > 2 ? tensordot(x, y, ([-1], [-2])) : x @ y"},
	{Name: "inner", Args: "x, y", Doc: "sums of products along the last axes, for every pair of vectors", Call: func(c *call) value {
		x, y := c.number(0), c.number(1)
		a, b := c.t.Shape(x), c.t.Shape(y)
		switch {
		case len(a) == 0 || len(b) == 0:
			return c.t.Apply(opMul, x, y)
		case last(a) != last(b):
			c.fail("shape", "inner: the last axes of %v and %v differ", a, b)
		case len(a) == 1 && len(b) == 1:
			return c.t.sumTo(c.t.Apply(opMul, x, y), []int{-1}, false)
		}
		n := last(a)
		p := c.t.mm(c.t.reshape(x, tensor.Shape{a[:len(a)-1].Size(), n}), c.t.reshape(y, tensor.Shape{b[:len(b)-1].Size(), n}), false, true)
		return c.t.reshape(p, append(slices.Clone(lead(a)), lead(b)...))
	}},
	{Name: "vdot", Args: "x, y", Doc: "sum of products of all elements", Body: "sum(ravel(x) * ravel(y))"},
	{Name: "outer", Args: "x, y", Doc: "every product of two vectors' elements", Body: "ravel(x)[:, newaxis] * ravel(y)[newaxis, :]"},
	{Name: "kron", Args: "x, y", Doc: "Kronecker product of matrices, vectors or tensors", Call: func(c *call) value {
		x, y := c.ref(0), c.ref(1)
		a, b := c.t.Shape(x), c.t.Shape(y)
		n := max(len(a), len(b))
		a, b = append(slices.Repeat(tensor.Shape{1}, n-len(a)), a...), append(slices.Repeat(tensor.Shape{1}, n-len(b)), b...)
		var left, right, out tensor.Shape
		for i := range n {
			left, right, out = append(left, a[i], 1), append(right, 1, b[i]), append(out, a[i]*b[i])
		}
		return c.t.reshape(c.t.Apply(opMul, c.t.reshape(x, left), c.t.reshape(y, right)), out)
	}},
	{Name: "vecdot", Args: "x, y, #axis=-1", Doc: "sums of products along an axis", Body: "sum(x * y, axis)"},
	{Name: "cross", Args: "x, y", Doc: "cross product of vectors of 3; of vectors of 2 its third element", Call: func(c *call) value {
		a, b := c.t.Shape(c.ref(0)), c.t.Shape(c.ref(1))
		if len(a) > 0 && len(b) > 0 && last(a) == 2 && last(b) == 2 {
			return c.lo.runBody(table.find("flat_cross"), c)
		}
		if len(a) == 0 || len(b) == 0 || last(a) != 3 || last(b) != 3 {
			c.fail("shape", "cross takes vectors of 3 or of 2, shapes %v and %v were given", a, b)
		}
		return c.written()
	}, Body: `stack([x[..., 1]*y[..., 2] - x[..., 2]*y[..., 1], x[..., 2]*y[..., 0] - x[..., 0]*y[..., 2], x[..., 0]*y[..., 1] - x[..., 1]*y[..., 0]], axis=-1)`},
	{Name: "flat_cross", Args: "x, y", Hidden: true, Doc: "cross of vectors of 2", Body: "x[..., 0]*y[..., 1] - x[..., 1]*y[..., 0]"},
	{Name: "tensordot", Args: "x, y, #axes=2", Doc: "products summed over the last axes of x and the first of y, or over pairs: ([0], [1])", Call: tensordotCall},
	{Name: "einsum", Args: "subscripts, *x", Doc: `sum of products by named axes: einsum("ij,jk->ik", a, b)`, Call: einsumCall},
	{Name: "multi_dot", Args: "xs", Doc: "product of a list of matrices", Seq: true, Call: func(c *call) value {
		xs := c.refs(c.vals[0], c.where(0))
		if len(xs) == 0 {
			c.fail("shape", "multi_dot of nothing")
		}
		r := xs[0]
		for _, x := range xs[1:] {
			r = c.t.matmul(r, x)
		}
		return r
	}},
}

func matmulFlops(t *Tape, r Ref) float64 {
	x := t.Args(r)[0]
	k := last(t.Shape(x))
	if t.Attr(r).Flag {
		k = t.Shape(x)[len(t.Shape(x))-2]
	}
	flops := 2 * float64(t.size(r)) * float64(k)
	if t.Attr(r).Upper {
		flops /= 2
	}
	return flops
}

// matmulAdj is ct yᵀ or xᵀ ct.
func matmulAdj(t *Tape, r Ref, i int, ct Ref) Ref {
	x, y := t.Args(r)[0], t.Args(r)[1]
	a := t.Attr(r)
	tx, ty := a.Flag, a.Flag2
	if rows := t.sameRows(ct, r); i == 0 && !tx && rows != None {
		return t.mm(rows, y, false, !ty) // the same for every row: one row is enough
	}
	ct = t.full(ct, r)
	if i == 0 {
		if tx { // out = xᵀ y' : x̄ = y' ctᵀ
			return t.mm(y, ct, ty, true)
		}
		return t.mm(ct, y, false, !ty)
	}
	if ty { // out = x' yᵀ : ȳ = ctᵀ x'
		return t.mmFolded(ct, x, true, tx, t.Shape(y))
	}
	return t.mmFolded(x, ct, !tx, false, t.Shape(y))
}
