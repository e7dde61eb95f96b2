package tape

import (
	"math"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// A product says how one matrix product lies in memory.
type product struct {
	m, n, k, lda, ldb, ldc int
	ta, tb                 bool
	upper                  bool // nobody reads what is below the diagonal
}

// matmulAs is the product of matrices stored in shapes xs and ys, transposed where ta and tb say
// so.
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

func (p *product) flops() int { return 2 * p.m * p.n * p.k }

// worth reports whether threads had better share the product: it computes, reads or writes much.
func (p *product) worth() bool {
	return pool.Worth(p.flops(), pool.LeastFlops) || pool.Worth(p.m*p.k+p.k*p.n+p.m*p.n, pool.LeastElements)
}

// mirrors reports whether the product of x and y, a matrix and its own transpose, is best computed by half.
func (p *product) mirrors(same bool) bool {
	return p.m == p.n && p.m >= leastSquare && (p.upper || same && p.ta != p.tb && p.k >= leastDeep)
}

// multiply multiplies; large products are shared by several threads. Every element is one
// chain over k, so the bits do not depend on how they are cut.
func multiply[T real](p product, out, x, y []T, threads int) {
	share := threads > 1 && p.worth()
	if p.mirrors(len(x) > 0 && len(y) > 0 && &x[0] == &y[0]) {
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

// gemm multiplies by as many workers, in the precision of out.
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

// leastDeep is the depth from which on that is worth mirroring what is above: the outer product of a
// vector with itself waits for memory.
const leastDeep = 16

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
	switch {
	case n == 1:
		multiply(p, out, x, y, threads)
	case yl.Size() == 1 && xl.Size() == n && !p.ta: // rows of one product
		p.m *= n
		multiply(p, out, x, y, threads)
	default:
		products(p, &batch{n: n, at: []*spread{newSpread(xl, ol), newSpread(yl, ol)}}, out, x, y, threads)
	}
}

// products multiplies at every point of a batch. Threads share the points where there are many, or each product
// where that is worth it.
func products[T real](p product, b *batch, out, x, y []T, threads int) {
	if p.m == p.n && p.m >= leastSquare || b.n < 4*threads && pool.Worth(p.flops(), pool.LeastFlops) {
		for i := range b.n {
			ox, oy := b.offset(0, i)*p.m*p.k, b.offset(1, i)*p.k*p.n
			multiply(p, out[i*p.m*p.n:(i+1)*p.m*p.n], x[ox:ox+p.m*p.k], y[oy:oy+p.k*p.n], threads)
		}
		return
	}
	const call = 2000 // what the smallest takes, in flops
	if bands := min(threads, b.n); bands > 1 && pool.Worth(b.n*max(p.flops(), call), pool.LeastFlops) {
		shareProducts(p, b, out, x, y, bands)
	} else {
		productsBetween(p, b, out, x, y, 0, b.n)
	}
}

// shareProducts multiplies on so many threads. It is a function of its own because what they are given leaves the
// stack, which steps of loops would pay for, too.
func shareProducts[T real](p product, b *batch, out, x, y []T, threads int) {
	pool.Run(threads, threads, func(w int) { productsBetween(p, b, out, x, y, b.n*w/threads, b.n*(w+1)/threads) })
}

// productsBetween multiplies at the points from … to-1.
func productsBetween[T real](p product, b *batch, out, x, y []T, from, to int) {
	for from < to {
		n, dx, dy := b.straight(from, to)
		ox, oy := b.offset(0, from)*p.m*p.k, b.offset(1, from)*p.k*p.n
		by := kernels.Steps{C: p.m * p.n, A: dx * p.m * p.k, B: dy * p.k * p.n}
		kernels.GemmBatch(n, by, out[from*p.m*p.n:], p.ldc, x[ox:], p.lda, p.ta, y[oy:], p.ldb, p.tb, p.m, p.n, p.k)
		from += n
	}
}

// wholeMatmul joins the batch with the rows of an operand where the other one is the same
// for all points: a Jacobian's seeds become rows of one product.
func wholeMatmul[T real](c *run, b *batch, out []T, data [][]T) bool {
	t, p := c.t, matmulAs(c.shapes[0], c.shapes[1], c.attr.Flag, c.attr.Flag2)
	if len(c.shapes[0]) != 2 || len(c.shapes[1]) != 2 {
		return false
	}
	if unitMatmul(c, p, out[:b.n*p.m*p.n], data) {
		return true
	}
	batch := func(i int) bool { return t.ins[t.Args(c.r)[i]].batch == t.ins[c.r].batch }
	none := func(i int) bool { return t.ins[t.Args(c.r)[i]].batch == 0 }
	p, first, joined := p.joined(batch(0) && none(1), none(0) && batch(1), b.n)
	if joined {
		multiply(p, out, data[first], data[1-first], c.threads)
		return true
	}
	p.upper = c.attr.Upper && !t.isStrip
	products(p, b, out, data[0], data[1], c.threads)
	return true
}

// joined is one product that is p at n points, if the left operand alone has these, or the right one alone; first is
// which of them is its left one.
func (p product) joined(left, right bool, n int) (all product, first int, ok bool) {
	if p.ta && p.m == 1 { // a column read as a row
		p.ta, p.lda = false, p.k
	}
	switch {
	case left && !p.ta:
		p.m *= n
		return p, 0, true
	case right && p.n == 1: // columns, of which the transposed product has rows
		return product{m: n, n: p.m, k: p.k, lda: p.k, ldb: p.lda, ldc: p.m, tb: !p.ta}, 1, true
	}
	return p, 0, false
}

// unitMatmul multiplies where one operand, at each point of the batch, has a single
// element that can differ from 0 — the seed of a Jacobian, or the seed times a diagonal:
// the product is one scaled row or column of the other operand — or a single column, and
// the product has the rank 1. What meets a zero of the seed contributes 0, as everywhere,
// even if it is not finite.
func unitMatmul[T real](c *run, p product, out []T, data [][]T) bool {
	t := c.t
	x, y := t.Args(c.r)[0], t.Args(c.r)[1]
	if p.m*p.n == 0 {
		return false
	}
	if off, ok := t.unitLike(y); ok && t.ins[x].batch == 0 {
		unitRight(p, c.from-off, c.shapes[1], out, data[0], data[1])
		return true
	}
	if off, ok := t.unitColumn(x); ok && t.ins[y].batch == 0 && !p.ta {
		unitColumns(p, c.from-off, c.shapes[0].Size(), out, data[0], data[1])
		return true
	}
	if off, ok := t.unitLike(x); ok && t.ins[y].batch == 0 {
		unitLeft(p, c.from-off, c.shapes[0], out, data[0], data[1])
		return true
	}
	return false
}

// unitRight multiplies x by matrices y of shape s, of which the first has its one number at
// element from, the next behind it: a column of the product is one of x, scaled.
func unitRight[T real](p product, from int, s tensor.Shape, out, x, y []T) {
	size, ny := p.m*p.n, s.Size()
	if out, ok := any(out).([]float64); ok && p.n == 1 && from >= 0 && from+len(out)/size <= ny {
		unitVectors(out, any(x).([]float64), p.lda, !p.ta, any(y).([]float64), ny, from, size)
		return
	}
	for k := 0; k*size < len(out); k++ {
		dst, q := out[k*size:(k+1)*size], from+k
		clear(dst)
		if q < 0 || q >= ny || y[k*ny+q] == 0 {
			continue
		}
		v, u, w := y[k*ny+q], q/s[1], q%s[1] // row and column of the product's right operand
		if p.tb {
			u, w = w, u
		}
		at, step := u, p.lda
		if p.ta {
			at, step = u*p.lda, 1
		}
		for m := range p.m {
			dst[m*p.n+w] = x[at+m*step]*v + 0 // +0 as a sum gives, not -0
		}
	}
}

// unitVectors multiplies a matrix by vectors of length n, of which the first has its one number at element from, the next
// behind it: rows of the matrix, one behind the other, each times a number, or its columns. A Hessian of a logistic
// loss over 60 weights takes .66 of the time.
func unitVectors(out, matrix []float64, ld int, columns bool, vectors []float64, n, from, size int) {
	rows := len(out) / size
	if columns {
		kernels.Transpose(out, size, matrix[from:], ld, size, rows)
	}
	for k := range rows {
		dst, v := out[k*size:][:size], vectors[k*n+from+k]
		if !columns {
			copy(dst, matrix[(from+k)*ld:])
		}
		switch v {
		case 0:
			clear(dst)
		case 1:
		default:
			kernels.MulScalar(dst, dst, v)
		}
	}
	kernels.AddScalar(out, out, 0) // +0 as a sum gives, not -0
}

// unitLeft multiplies such matrices x by y: a row of the product is one of y, scaled.
func unitLeft[T real](p product, from int, s tensor.Shape, out, x, y []T) {
	size, nx := p.m*p.n, s.Size()
	if out, ok := any(out).([]float64); ok && p.m == 1 && from >= 0 && from+len(out)/size <= nx {
		unitVectors(out, any(y).([]float64), p.ldb, p.tb, any(x).([]float64), nx, from, size)
		return
	}
	for k := 0; k*size < len(out); k++ {
		dst, q := out[k*size:(k+1)*size], from+k
		clear(dst)
		if q < 0 || q >= nx || x[k*nx+q] == 0 {
			continue
		}
		v, u, w := x[k*nx+q], q/s[1], q%s[1]
		if p.ta {
			u, w = w, u
		}
		row := dst[u*p.n : (u+1)*p.n]
		if p.tb {
			for m := range row {
				row[m] = y[m*p.ldb+w]*v + 0
			}
			continue
		}
		for m, b := range y[w*p.ldb : w*p.ldb+p.n] {
			row[m] = b*v + 0
		}
	}
}

// unitColumns multiplies matrices x of nx elements each, of which the first has its one column
// at from, the next behind it, by y: the product is that column times a row.
func unitColumns[T real](p product, from, nx int, out, x, y []T) {
	at, step := p.ldb, 1 // of row q of op(y)
	if p.tb {
		at, step = 1, p.ldb
	}
	row := make([]T, p.n)
	size := p.m * p.n
	for k := 0; k*size < len(out); k++ {
		dst, q := out[k*size:(k+1)*size], from+k
		if q < 0 || q >= p.lda {
			clear(dst)
			continue
		}
		for j := range row {
			row[j] = y[q*at+j*step]
		}
		multiply(product{m: p.m, n: p.n, k: 1, lda: p.lda, ldb: p.n, ldc: p.n}, dst, x[k*nx+q:], row, 1)
	}
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

// leastBounded is how many times larger than its operands together a product, or what repeats
// numbers, is that is not read again to see whether it is finite: 1000×1000 numbers of a column
// and a row took a sixth of the time of a matrix–vector product with its gradient, and a third of
// that of the means of the rows of as many with theirs.
const leastBounded = 4

// boundedProduct reports whether products of these operands are finite for their largest numbers
// alone: a sum has no more terms than either has numbers, and each rounding less than doubles it.
func boundedProduct(x, y []float64) bool {
	return kernels.MaxAbs(x)*kernels.MaxAbs(y)*2*float64(min(len(x), len(y))) <= math.MaxFloat64
}
