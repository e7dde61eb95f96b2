package tape

import (
	"slices"
	"strings"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

var opMatmul *Op

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
	if s := t.Shape(x); len(s) > 2 && len(t.Shape(y)) == 2 {
		// many matrices times one: one tall product
		rows := lead(s).Size()
		r = t.mm(t.reshape(x, tensor.Shape{rows, last(s)}), y, false, false)
		r = t.reshape(r, append(slices.Clone(lead(s)), last(t.Shape(y))))
	} else {
		r = t.mm(x, y, false, false)
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
	return t.record(opMatmul, append(slices.Clone(s), m, n), Attr{Flag: tx, Flag2: ty}, x, y)
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

// A product says how one matrix product lies in memory.
type product struct {
	m, n, k, lda, ldb, ldc int
	ta, tb                 bool
	upper                  bool // nobody reads what is below the diagonal
}

func matmulAs(xs, ys tensor.Shape, ta, tb bool) product {
	p := product{ta: ta, tb: tb, lda: last(xs), ldb: last(ys)}
	p.m, p.k = xs[len(xs)-2], last(xs)
	if ta {
		p.m, p.k = p.k, p.m
	}
	p.n = last(ys)
	if tb {
		p.n = ys[len(ys)-2]
	}
	p.ldc = p.n
	return p
}

// multiply multiplies; large products are shared by several threads. Every element is one
// chain over k, so the bits do not depend on how they are cut.
func multiply[T real](p product, out, x, y []T, threads int) {
	share := threads > 1 && pool.Worth(2*p.m*p.n*p.k, pool.LeastFlops)
	if p.m == p.n && p.m >= leastSquare && (p.upper || p.ta != p.tb && p.k > 0 && &x[0] == &y[0]) {
		if !share {
			threads = 1
		}
		half(p, out, x, y, threads)
		return
	}
	by := kernels.Alone
	if share {
		by = pool.Workers(threads)
	}
	p.gemm(by, any(out), any(x), any(y))
}

func (p *product) gemm(by kernels.Workers, out, x, y any) {
	switch out := out.(type) {
	case []float64:
		kernels.GemmShared(by, out, p.ldc, x.([]float64), p.lda, p.ta, y.([]float64), p.ldb, p.tb, p.m, p.n, p.k, false)
	case []float32:
		kernels.GemmShared32(by, out, p.ldc, x.([]float32), p.lda, p.ta, y.([]float32), p.ldb, p.tb, p.m, p.n, p.k, false)
	}
}

// leastSquare is the side from which on the product of a matrix and its own transpose is
// computed above the diagonal alone: what is below has the same bits.
const leastSquare = 96

// half is a product above its diagonal, some rows at a time, from the diagonal's first one
// on. What is below mirrors it, if anybody reads that; bands of terms read a little of it,
// for nothing, and are given zeros.
func half[T real](p product, out, x, y []T, threads int) {
	n, row, column := p.n, p.lda, 1
	if p.ta {
		row = 1
	}
	if p.tb {
		column = p.ldb
	}
	bands := min(8, n/32)
	pool.Run(threads, bands, func(i int) {
		from, to := n*i/bands, n*(i+1)/bands
		q := p
		q.m, q.n = to-from, n-from
		q.gemm(kernels.Alone, any(out[from*n+from:]), any(x[from*row:]), any(y[from*column:]))
		if p.upper {
			for r := from; r < to; r++ {
				clear(out[r*n+max(0, from-tallestBand) : r*n+from])
			}
			return
		}
		if to == n {
			return
		}
		below, right := out[to*n+from:], out[from*n+to:]
		switch below := any(below).(type) {
		case []float64:
			kernels.Transpose(below, n, any(right).([]float64), n, to-from, n-to)
		case []float32:
			kernels.Transpose32(below, n, any(right).([]float32), n, to-from, n-to)
		}
	})
}

// matmulAt multiplies one point's matrices.
func matmulAt[T real](c *run, out, x, y []T) {
	a := matmulAs(c.shapes[0], c.shapes[1], c.attr.Flag, c.attr.Flag2)
	a.upper = c.attr.Upper && !c.t.isStrip // a strip has some rows, from anywhere on
	loopMatmul(out, x, y, c.shapes[0][:len(c.shapes[0])-2], c.shapes[1][:len(c.shapes[1])-2], c.shape[:len(c.shape)-2], a, c.threads)
}

// loopMatmul multiplies for every index of the broadcast leading axes.
func loopMatmul[T real](out, x, y []T, xl, yl, ol tensor.Shape, p product, threads int) {
	n := ol.Size()
	if n == 1 {
		multiply(p, out, x, y, threads)
		return
	}
	b := &batch{n: n, at: []*spread{newSpread(xl, ol), newSpread(yl, ol)}}
	for i := range n {
		ox, oy := b.offset(0, i)*p.m*p.k, b.offset(1, i)*p.k*p.n
		multiply(p, out[i*p.m*p.n:(i+1)*p.m*p.n], x[ox:ox+p.m*p.k], y[oy:oy+p.k*p.n], threads)
	}
}

// wholeMatmul joins the batch with the rows of an operand where the other one is the same
// for all points: a Jacobian's seeds become rows of one product.
func wholeMatmul[T real](c *run, b *batch, out []T, data [][]T) bool {
	p := matmulAs(c.shapes[0], c.shapes[1], c.attr.Flag, c.attr.Flag2)
	t := c.t
	if unitMatmul(c, p, b.n, out, data) {
		return true
	}
	if len(c.shapes[0]) != 2 || len(c.shapes[1]) != 2 {
		return false
	}
	if p.ta && p.m == 1 { // a column read as a row
		p.ta, p.lda = false, p.k
	}
	batch := func(i int) int32 { return t.ins[t.Args(c.r)[i]].batch }
	all := t.ins[c.r].batch
	switch {
	case batch(0) == all && batch(1) == 0 && !p.ta:
		p.m *= b.n
		multiply(p, out, data[0], data[1], c.threads)
		return true
	case batch(0) == 0 && batch(1) == all && p.n == 1: // columns, of which the transposed product has rows
		p = product{m: b.n, n: p.m, k: p.k, lda: p.k, ldb: p.lda, ldc: p.m, tb: !p.ta}
		multiply(p, out, data[1], data[0], c.threads)
		return true
	}
	// many small products, one for each point: points to threads
	if c.threads > 1 && pool.Worth(2*b.n*p.m*p.n*p.k, pool.LeastFlops) {
		bands := min(c.threads, b.n)
		pool.Run(c.threads, bands, func(w int) {
			for k := b.n * w / bands; k < b.n*(w+1)/bands; k++ {
				ox, oy := b.offset(0, k)*p.m*p.k, b.offset(1, k)*p.k*p.n
				multiply(p, out[k*p.m*p.n:(k+1)*p.m*p.n], data[0][ox:ox+p.m*p.k], data[1][oy:oy+p.k*p.n], 1)
			}
		})
		return true
	}
	return false
}

// unitMatmul multiplies where one operand, at each point of the batch, has a single
// element that can differ from 0 — the seed of a Jacobian, or the seed times a diagonal:
// the product is one scaled row or column of the other operand — or a single column, and
// the product has the rank 1. What meets a zero of the seed contributes 0, as everywhere,
// even if it is not finite.
func unitMatmul[T real](c *run, p product, n int, out []T, data [][]T) bool {
	t := c.t
	x, y := t.Args(c.r)[0], t.Args(c.r)[1]
	if len(c.shapes[0]) != 2 || len(c.shapes[1]) != 2 {
		return false
	}
	size, nx, ny := p.m*p.n, c.shapes[0].Size(), c.shapes[1].Size()
	if size == 0 {
		return false
	}
	if off, ok := t.unitLike(y); ok && t.ins[x].batch == 0 {
		cols := c.shapes[1][1]
		for k := range n {
			dst := out[k*size : (k+1)*size]
			clear(dst)
			q := c.from + k - off
			if q < 0 || q >= ny {
				continue
			}
			v := data[1][k*ny+q]
			u, w := q/cols, q%cols // row and column of the product's right operand
			if p.tb {
				u, w = w, u
			}
			if v == 0 {
				continue
			}
			at, step := u, p.lda
			if p.ta {
				at, step = u*p.lda, 1
			}
			for m := range p.m {
				dst[m*p.n+w] = data[0][at+m*step]*v + 0 // +0 as a sum gives, not -0
			}
		}
		return true
	}
	if off, ok := t.unitColumn(x); ok && t.ins[y].batch == 0 && !p.ta {
		at, step := p.ldb, 1 // of row q of op(y)
		if p.tb {
			at, step = 1, p.ldb
		}
		row := make([]T, p.n)
		for k := range n {
			dst, q := out[k*size:(k+1)*size], c.from+k-off
			if q < 0 || q >= p.lda {
				clear(dst)
				continue
			}
			for j := range row {
				row[j] = data[1][q*at+j*step]
			}
			multiply(product{m: p.m, n: p.n, k: 1, lda: p.lda, ldb: p.n, ldc: p.n}, dst, data[0][k*nx+q:], row, 1)
		}
		return true
	}
	if off, ok := t.unitLike(x); ok && t.ins[y].batch == 0 {
		cols := c.shapes[0][1]
		for k := range n {
			dst := out[k*size : (k+1)*size]
			clear(dst)
			q := c.from + k - off
			if q < 0 || q >= nx {
				continue
			}
			v := data[0][k*nx+q]
			u, w := q/cols, q%cols
			if p.ta {
				u, w = w, u
			}
			if v == 0 {
				continue
			}
			row := dst[u*p.n : (u+1)*p.n]
			if p.tb {
				for m := range row {
					row[m] = data[1][m*p.ldb+w]*v + 0
				}
				continue
			}
			for m, b := range data[1][w*p.ldb : w*p.ldb+p.n] {
				row[m] = b*v + 0
			}
		}
		return true
	}
	return false
}

// unitLike reports whether r, at point k of the one axis it varies along, is 0 but for
// element k - off: a seed or a block of it, reshaped, or multiplied strongly or by a
// finite number.
func (t *Tape) unitLike(r Ref) (off int, ok bool) {
	for {
		in := &t.ins[r]
		args := t.Args(r)
		switch {
		case in.Op() == opBasis:
			return off, true
		case in.Op() == opBlock:
			off += int(in.args[1])
			r = args[0]
		case in.Op() == opReshape, in.Op() == opNeg:
			r = args[0]
		case in.Op() == opZMul, in.Op() == opMul:
			next := None
			for i, a := range args {
				other := args[1-i]
				_, number := t.constant(other)
				if t.ins[a].batch == in.batch && t.ins[a].shape == in.shape && (in.Op() == opZMul && t.ins[other].batch == 0 || number && t.finiteNumber(other)) {
					next = a
				}
			}
			if next == None || in.batch == 0 {
				return 0, false
			}
			r = next
		default:
			return 0, false
		}
	}
}

// unitColumn reports whether matrix r, at point k of the one axis it varies along, is 0
// but for column k - off: the seed of a vector times the slopes of a batch of such vectors.
func (t *Tape) unitColumn(r Ref) (off int, ok bool) {
	in := &t.ins[r]
	if in.Op() != opZMul {
		return 0, false
	}
	for i, a := range t.Args(r) {
		if s := t.Shape(a); len(s) > 0 && t.ins[a].batch == in.batch && t.ins[t.Args(r)[1-i]].batch == 0 && s.Size() == last(t.Shape(r)) && last(s) == last(t.Shape(r)) {
			if off, ok := t.unitLike(a); ok {
				return off, true
			}
		}
	}
	return 0, false
}

// slopesOf is the matrix whose column k is that of matrix r at point k, where unitColumn
// holds for it: what a seed that nothing was done to multiplies; None where it is not so.
func (t *Tape) slopesOf(r Ref) Ref {
	for i, a := range t.Args(r) {
		if y := t.Args(r)[1-i]; t.ins[a].Op() == opBasis && t.ins[y].batch == 0 && t.ins[y].shape == t.ins[r].shape {
			return y
		}
	}
	return None
}

func (t *Tape) finiteNumber(r Ref) bool { return t.num[r]-t.num[r] == 0 }

var matmulRows = []Op{
	// opMatmul multiplies the last two axes; leading axes broadcast. Flag and Flag2
	// say that the left or right operand is used transposed, so that adjoints of
	// products are products without copies.
	{As: &opMatmul, Name: "matmul", Terms: (*factoring).product, Alias: []string{"dot"}, Args: "x, y", Doc: "matrix product, batched over leading axes, as x @ y",
		Call: func(c *call) value {
			x, y := c.ref(0), c.ref(1)
			if c.at.Fun.Where() != (c.at.Where()) && (len(c.t.Shape(x)) == 0 || len(c.t.Shape(y)) == 0) {
				return c.t.Apply(opMul, x, y)
			}
			return c.t.matmul(x, y)
		},
		Run: func(c *run) {
			matmulAt(c, c.out, c.args[0], c.args[1])
		},
		Whole: wholeMatmul[float64], Links: linkMatmul,
		Flops: func(t *Tape, r Ref) float64 {
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
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
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
		}},
	{Name: "inner", Args: "x, y", Doc: "sums of products along the last axes, for every pair of vectors", Call: func(c *call) value {
		x, y := c.ref(0), c.ref(1)
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
	{Name: "vdot", Args: "x, y", Doc: "sum of products of all elements", Body: "sum(x * y)"},
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
	{Name: "vecdot", Args: "x, y, axis=-1", Doc: "sums of products along an axis", Body: "sum(x * y, axis)"},
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
	{Name: "tensordot", Args: "x, y, axes=2", Doc: "products summed over the last axes of x and the first of y, or over pairs: ([0], [1])", Call: tensordotCall},
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

// tensordotCall moves the axes it sums over to the end of x and to the front of y: one matrix
// product is left.
func tensordotCall(c *call) value {
	t, x, y := c.t, c.ref(0), c.ref(1)
	a, b := t.Shape(x), t.Shape(y)
	left, right := c.tensordotAxes(len(a), len(b))
	meet := len(left) == len(right)
	for i := 0; meet && i < len(left); i++ {
		meet = a[left[i]] == b[right[i]]
	}
	if !meet {
		c.fail("shape", "tensordot over axes %v of %v and %v of %v: they do not meet", left, a, right, b)
	}
	free := func(s tensor.Shape, taken []int) (axes []int, shape tensor.Shape) {
		for i, n := range s {
			if !slices.Contains(taken, i) {
				axes, shape = append(axes, i), append(shape, n)
			}
		}
		return axes, shape
	}
	rows, m := free(a, left)
	columns, k := free(b, right)
	n := 1
	for _, i := range left {
		n *= a[i]
	}
	x = t.reshape(t.transpose(x, append(rows, left...)), tensor.Shape{m.Size(), n})
	y = t.reshape(t.transpose(y, append(slices.Clone(right), columns...)), tensor.Shape{n, k.Size()})
	return t.reshape(t.mm(x, y, false, false), append(m, k...))
}

// tensordotAxes are the axes of x and of y that meet: so many of the last and of the first, or
// a pair of axes or of lists of them.
func (c *call) tensordotAxes(m, n int) (left, right []int) {
	if r, one := c.vals[2].(Ref); c.vals[2] == nil || one && c.t.Shape(r).Size() == 1 {
		k := 2
		if one {
			k = c.int(2)
		}
		if k < 0 || k > m || k > n {
			c.fail("shape", "tensordot over %d axes: x has %s, y %s", k, axes(m), axes(n))
		}
		for i := range k {
			left, right = append(left, m-k+i), append(right, i)
		}
		return left, right
	}
	if pair, ok := c.vals[2].(*tuple); ok && len(pair.elems) == 2 {
		left, right = c.intsOf(pair.elems[0], c.where(2)), c.intsOf(pair.elems[1], c.where(2))
	} else if r, ok := c.vals[2].(Ref); ok && len(c.t.Axes(r)) == 0 && len(c.t.Shape(r)) <= 2 && c.t.Shape(r)[0] == 2 {
		all := c.t.read(r)
		for i, v := range all {
			if k := c.whole(v, c.where(2)); i < len(all)/2 {
				left = append(left, k)
			} else {
				right = append(right, k)
			}
		}
	} else {
		c.lo.failWith(c.where(2), &Misuse{Kind: "shape", Msg: "the axes of tensordot are a number, or a pair of lists", Hint: "write ([0], [1]) to sum over axis 0 of x and axis 1 of y", Pos: expr.NoPos})
	}
	count := func(list []int, rank int) []int { // from the left
		for i, a := range c.distinct(list, rank, 2) {
			list[i] = a + rank
		}
		return list
	}
	return count(left, m), count(right, n)
}

// An operand of einsum: a value and the letter of each of its axes.
type operand struct {
	r      Ref
	labels []rune
}

// einsumCall contracts operands pairwise, left to right: each pair becomes one batched
// matrix product, labels that no one needs any more are summed first.
func einsumCall(c *call) value {
	t := c.t
	text := strings.ReplaceAll(c.str(0), " ", "")
	in, out, arrow := strings.Cut(text, "->")
	ops, size, dots := c.einsumOperands(text, strings.Split(in, ","))
	var want []rune
	if arrow {
		want = labelsIn(out, dots, dots)
	} else {
		want = einsumResult(ops, dots)
	}
	for i, l := range want {
		if _, ok := size[l]; !ok {
			c.fail("shape", "einsum %q: the result names %c, no operand does", text, l)
		}
		if slices.Contains(want[:i], l) {
			c.fail("shape", "einsum %q: the result names %c twice", text, l)
		}
	}
	c.lo.mark(c.at, c.at.Mark())
	for i := range ops {
		ops[i] = t.repeatedLabels(ops[i])
	}
	needed := func(l rune, from int) bool {
		if slices.Contains(want, l) {
			return true
		}
		for _, o := range ops[from:] {
			if slices.Contains(o.labels, l) {
				return true
			}
		}
		return false
	}
	acc := ops[0]
	for i := 1; i < len(ops); i++ {
		acc = t.contract(acc, ops[i], func(l rune) bool { return needed(l, i+1) })
	}
	acc = t.sumLabels(acc, func(l rune) bool { return slices.Contains(want, l) })
	return t.arrange(acc, want)
}

// einsumOperands are the operands with the labels of their axes, the size of every label,
// and how many axes the widest ellipsis stands for. parts are the subscripts of each, of text.
func (c *call) einsumOperands(text string, parts []string) (ops []operand, size map[rune]int, dots int) {
	if len(parts) != len(c.rest) {
		c.fail("shape", "einsum %q names %s, %s", text, expr.Plural(len(parts), "operand"), wereGiven(len(c.rest)))
	}
	unnamed := make([]int, len(parts)) // axes that the ellipsis stands for
	for i, part := range parts {
		r := c.lo.ref(c.rest[i], c.lo.argExpr(c.at, i+1))
		ops = append(ops, operand{r: r})
		s := c.t.Shape(r)
		named := len([]rune(strings.Replace(part, "...", "", 1)))
		n := len(s) - named
		if strings.Contains(part, "...") {
			if n < 0 {
				c.fail("shape", "einsum %q: %s needs at least %d axes, operand %d has %d: shape %v", text, part, named, i+1, len(s), s)
			}
			dots = max(dots, n)
		} else if n != 0 {
			c.fail("shape", "einsum %q: %s names %d axes, operand %d has %d: shape %v", text, part, named, i+1, len(s), s)
		}
		unnamed[i] = n
	}
	size = map[rune]int{}
	for i, part := range parts {
		s := c.t.Shape(ops[i].r)
		ops[i].labels = labelsIn(part, unnamed[i], dots)
		for k, l := range ops[i].labels {
			if !(l >= 'a' && l <= 'z' || l >= 'A' && l <= 'Z' || l >= '0' && l <= '9') {
				c.fail("shape", "einsum %q: axes are named by letters, not %q", text, l)
			}
			if old, ok := size[l]; ok && old != s[k] && old != 1 && s[k] != 1 {
				c.fail("shape", "einsum %q: axis %c is %d and %d", text, l, old, s[k])
			}
			size[l] = max(size[l], s[k])
			if s[k] == 0 {
				size[l] = 0
			}
		}
	}
	return ops, size, dots
}

// labelsIn are the labels that subscripts name. The n axes of an ellipsis are labelled by
// digits, aligned at the right with those of the widest, which has dots.
func labelsIn(subscripts string, n, dots int) []rune {
	before, after, ellipsis := strings.Cut(subscripts, "...")
	l := []rune(before)
	if ellipsis {
		for i := dots - n; i < dots; i++ {
			l = append(l, rune('0'+i))
		}
	}
	return append(l, []rune(after)...)
}

// einsumResult are the labels of a result that is not written: those of the ellipsis, then
// the letters that stand once, in order.
func einsumResult(ops []operand, dots int) []rune {
	count := map[rune]int{}
	for _, o := range ops {
		for _, l := range o.labels {
			count[l]++
		}
	}
	var once []rune
	for l, n := range count {
		if n == 1 && !(l >= '0' && l <= '9') {
			once = append(once, l)
		}
	}
	slices.Sort(once)
	return append(labelsIn("...", dots, dots), once...)
}

// repeatedLabels takes the diagonal where an operand names an axis twice.
func (t *Tape) repeatedLabels(o operand) operand {
	for i := 0; i < len(o.labels); i++ {
		j := slices.Index(o.labels[i+1:], o.labels[i])
		if j < 0 {
			continue
		}
		j += i + 1
		s := t.Shape(o.r)
		var perm []int
		var labels []rune
		for k := range s {
			if k != i && k != j {
				perm, labels = append(perm, k), append(labels, o.labels[k])
			}
		}
		x := t.transpose(o.r, append(perm, i, j))
		n := s[i]
		flat := append(slices.Clone(t.Shape(x)[:len(perm)]), n*n)
		idx := make([]float64, n)
		for k := range idx {
			idx[k] = float64(k*n + k)
		}
		x = t.take(t.reshape(x, flat), t.Tensor(tensor.From(idx, n)), len(perm))
		return t.repeatedLabels(operand{x, append(labels, o.labels[i])})
	}
	return o
}

// contract joins two operands. Labels of one operand alone that nobody needs are summed
// first; then shared needed labels are batch axes, shared others are the inner axis.
func (t *Tape) contract(x, y operand, needed func(rune) bool) operand {
	x = t.sumLabels(x, func(l rune) bool { return needed(l) || slices.Contains(y.labels, l) })
	y = t.sumLabels(y, func(l rune) bool { return needed(l) || slices.Contains(x.labels, l) })
	var batch, inner, left, right []rune
	for _, l := range x.labels {
		switch shared := slices.Contains(y.labels, l); {
		case shared && needed(l):
			batch = append(batch, l)
		case shared:
			inner = append(inner, l)
		default:
			left = append(left, l)
		}
	}
	for _, l := range y.labels {
		if !slices.Contains(x.labels, l) {
			right = append(right, l)
		}
	}
	// a side that lies the other way round is used transposed
	a, ta := x.r, slices.Equal(x.labels, slices.Concat(batch, inner, left))
	if !ta {
		a = t.arrange(x, batch, left, inner)
	}
	b, tb := y.r, slices.Equal(y.labels, slices.Concat(batch, right, inner))
	if !tb {
		b = t.arrange(y, batch, inner, right)
	}
	as, bs := t.Shape(a), t.Shape(b)
	nb := len(batch)
	outer := func(s tensor.Shape, first bool, n int) (these, others tensor.Shape) {
		if first {
			return s[nb : nb+n], s[nb+n:]
		}
		return s[len(s)-n:], s[nb : len(s)-n]
	}
	// axes of size 1 stretch: give both sides the joint sizes of shared labels
	bat, _ := broadcast(as[:nb], bs[:nb])
	ls, ia := outer(as, !ta, len(left))
	rs, ib := outer(bs, tb, len(right))
	in, _ := broadcast(ia, ib)
	matrix := func(r Ref, rows, cols tensor.Shape) Ref {
		return t.reshape(t.broadcastTo(r, slices.Concat(bat, rows, cols)), slices.Concat(bat, tensor.Shape{rows.Size(), cols.Size()}))
	}
	labels := slices.Concat(batch, left, right)
	shape := slices.Concat(bat, ls, rs)
	if len(inner) == 0 {
		ones := func(s tensor.Shape) tensor.Shape { return slices.Repeat(tensor.Shape{1}, len(s)) }
		return operand{t.Apply(opMul, t.reshape(t.broadcastTo(a, slices.Concat(bat, ls)), slices.Concat(bat, ls, ones(rs))),
			t.reshape(t.broadcastTo(b, slices.Concat(bat, rs)), slices.Concat(bat, ones(ls), rs))), labels}
	}
	if ta {
		a = matrix(a, in, ls)
	} else {
		a = matrix(a, ls, in)
	}
	if tb {
		b = matrix(b, rs, in)
	} else {
		b = matrix(b, in, rs)
	}
	return operand{t.reshape(t.mm(a, b, ta, tb), shape), labels}
}

func (t *Tape) sumLabels(o operand, keep func(rune) bool) operand {
	var axes []int
	var labels []rune
	for i, l := range o.labels {
		if keep(l) {
			labels = append(labels, l)
		} else {
			axes = append(axes, i-len(o.labels))
		}
	}
	if len(axes) == 0 {
		return o
	}
	return operand{t.sumTo(o.r, axes, false), labels}
}

// arrange transposes an operand to the given order of labels.
func (t *Tape) arrange(o operand, groups ...[]rune) Ref {
	var perm []int
	for _, g := range groups {
		for _, l := range g {
			perm = append(perm, slices.Index(o.labels, l))
		}
	}
	return t.transpose(o.r, perm)
}
