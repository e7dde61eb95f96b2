package matrix

import (
	"math"

	"nabla/kernels"
	"nabla/tape/pool"
)

// A Pair is a matrix X and its derivatives DX along directions, side by side; along none, DX has no numbers.
type Pair struct{ X, DX Dense }

// pairTimes is the product of pairs: of the matrices, and its derivatives.
func (h *Solver) pairTimes(a, b Pair) Pair {
	c := Pair{X: h.times(a.X, b.X)}
	if a.DX.Data != nil {
		c.DX = h.times(a.X, b.DX)
		h.product(c.DX.apart(a.X.N).all(), a.DX.apart(a.X.N).all(), false, b.X.all(), false, true)
	}
	return c
}

// apart are the rows, of n numbers, of matrices that stand side by side: a product with all from the right is one product.
func (a Dense) apart(n int) Dense { return Of(a.Data, len(a.Data)/n, n) }

// pairSum is c[0] times the identity and the sum of c[i+1] x[i], which are added from the last on.
func (h *Solver) pairSum(c []float64, x []Pair) Pair {
	n := x[0].X.N
	sum := func(of func(p Pair) Dense) Dense {
		k := len(x) - 1
		a := h.raw(n, of(x[k]).N)
		kernels.MulScalar(a.Data, of(x[k]).Data, c[k+1])
		for ; k > 0; k-- {
			kernels.Axpy(a.Data, c[k], of(x[k-1]).Data)
		}
		return a
	}
	a := Pair{X: sum(func(p Pair) Dense { return p.X })}
	for i := range n {
		a.X.Data[i*n+i] += c[0]
	}
	if x[0].DX.Data != nil {
		a.DX = sum(func(p Pair) Dense { return p.DX })
	}
	return a
}

// add is a += b.
func (a Pair) add(b Pair) {
	kernels.Accumulate(a.X.Data, b.X.Data)
	kernels.Accumulate(a.DX.Data, b.DX.Data)
}

// pairClone is a copy of a pair, until Begin.
func (h *Solver) pairClone(a Pair) Pair {
	b := Pair{X: h.clone(a.X)}
	if a.DX.Data != nil {
		b.DX = h.clone(a.DX)
	}
	return b
}

// norm1 is the largest sum of absolute values of a column.
func (h *Solver) norm1(a Dense) float64 {
	sums, size := h.numbers(a.N), h.raw(1, a.N).Data
	for i := range a.M {
		kernels.Abs(size, a.Row(i))
		kernels.Accumulate(sums, size)
	}
	norm := 0.0
	for _, s := range sums {
		norm = max(norm, s)
	}
	return norm
}

// The Padé approximants of exp: the coefficients of their numerators, and the norm up to which
// what they leave out is far below rounding, also of the derivative (half of what Al-Mohy and
// Higham allow, but for the last).
var pade = []struct {
	norm float64
	b    []float64
}{
	{5.4e-3, []float64{120, 60, 12, 1}},
	{0.1, []float64{30240, 15120, 3360, 420, 30, 1}},
	{0.39, []float64{17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}},
	{0.89, []float64{17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1}},
	{4.74, []float64{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
		10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}},
}

// ExpmAlong writes the derivatives of the matrix exponential at a along directions e, one behind the other, each of
// which is brought to the size of 1: together they are products of matrices, with the bits that each has alone.
func (h *Solver) ExpmAlong(dst []float64, a Dense, e []float64) {
	n, size := a.N, len(a.Data)
	many := len(e) / size
	defer h.free(h.used)
	if many > 1 && !finite(e) {
		for k := range many {
			h.ExpmAlong(rowOf(dst, size, k), a, rowOf(e, size, k))
		}
		return
	}
	shifts, x := h.raw(1, many).Data, h.raw(n, many*n)
	y := h.raw(many*n, n)
	copy(y.Data, e)
	for k := range many {
		one := Of(rowOf(y.Data, size, k), n, n)
		shift := max(min(one.Exponent(), 1000), -1000)
		one.Scale(-shift)
		shifts[k] = float64(shift)
	}
	swapBlocks(x.Data, y.Data, many, n, n)
	swapBlocks(dst, h.Expm(Pair{a, x}).DX.Data, n, many, n)
	for k, shift := range shifts {
		Of(rowOf(dst, size, k), n, n).Scale(int(shift))
	}
}

// TakesTogether reports whether ExpmAlongAll takes directions from a matrix of n rows together.
func TakesTogether(n int) bool { return mostTaken/(n*n) > 1 }

// ExpmAlongAll is ExpmAlong of any number of directions.
func (h *Solver) ExpmAlongAll(dst []float64, a Dense, e []float64) {
	h.inGroups(a.N, len(a.Data), len(e), func(own *Solver, from, to int) { own.ExpmAlong(dst[from:to], a, e[from:to]) })
}

// inGroups has threads work on size numbers, those from one to before another at a time with a solver of their own: some of
// the many things of each numbers for which a matrix of n rows is worked with.
func (h *Solver) inGroups(n, each, size int, f func(own *Solver, from, to int)) {
	if size == 0 { // nor has each any
		return
	}
	group := max(1, mostTaken/each) * each
	pool.Split(h.Threads, 8*n*size, (size+group-1)/group, func(lo, hi int) {
		own := Borrow(1, h.Check)
		for from := lo * group; from < min(hi*group, size); from += group {
			own.Begin()
			f(own, from, min(from+group, size))
		}
		own.Return()
	})
}

// mostTaken is how many numbers are worked on together: with half as many, Jacobians of expm of 8 and 20 rows took 1.1 and 1.2 times as
// long, with twice as many as long.
const mostTaken = 1 << 12

// rowOf is row k of n numbers each.
func rowOf(x []float64, n, k int) []float64 { return x[k*n:][:n:n] }

// Expm is the matrix exponential by scaling, a Padé approximant and squaring (Higham 2005), and
// its derivatives, by the rule of products at every step (Al-Mohy and Higham 2009). DX, in which
// the derivative is linear, is of any size.
func (h *Solver) Expm(a Pair) Pair {
	n := a.X.N
	if n == 1 && a.DX.Data == nil {
		return Pair{X: Dense{[]float64{kernels.ExpOf(a.X.Data[0])}, 1, 1}}
	}
	norm := h.norm1(a.X)
	x := h.pairClone(a)
	if norm-norm != 0 || !finite(a.DX.Data) {
		for _, x := range [][]float64{x.X.Data, x.DX.Data} {
			kernels.Fill(x, math.NaN())
		}
		return x
	}
	squarings, degree := 0, 0
	for degree < len(pade)-1 && norm > pade[degree].norm {
		degree++
	}
	if most := pade[degree].norm; norm > most {
		_, squarings = math.Frexp(norm / most)
	}
	x.X.Scale(-squarings)
	x.DX.Scale(-squarings)
	even, odd := h.padeOf(x, pade[degree].b)
	// 1 + 2r of (even - odd) r = odd: what is rounded is as small as x.
	den := Pair{X: h.raw(n, n)}
	kernels.Sub(den.X.Data, even.X.Data, odd.X.Data)
	lu, perm := h.LU(den.X)
	r := Pair{X: odd.X}
	h.luSolve(lu, perm, r.X, false)
	if x.DX.Data != nil { // den dr = dodd - dden r
		den.DX = h.raw(n, odd.DX.N)
		kernels.Sub(den.DX.Data, even.DX.Data, odd.DX.Data)
		kernels.Sub(odd.DX.Data, odd.DX.Data, h.times(den.DX.apart(n), r.X).Data)
		r.DX = odd.DX
		h.luSolveBy(lu, Dense{}, perm, r.DX, n, false)
	}
	r.X.Scale(1)
	r.DX.Scale(1)
	for i := range n {
		r.X.Data[i*n+i]++
	}
	for range squarings {
		r = h.pairTimes(r, r)
	}
	return r
}

// padeOf is the numerator with the coefficients b in two parts, the even powers and the odd ones.
func (h *Solver) padeOf(x Pair, b []float64) (even, odd Pair) {
	var evens, odds [7]float64
	for i, v := range b {
		if i%2 == 0 {
			evens[i/2] = v
		} else {
			odds[i/2] = v
		}
	}
	powers := append(make([]Pair, 0, 4), h.pairTimes(x, x)) // x², x⁴, …
	high := len(b)/2 > 5                                    // beyond x⁶ as multiples of it
	for len(powers) < 3 && len(powers) < len(b)/2-1 || !high && len(powers) < len(b)/2-1 {
		powers = append(powers, h.pairTimes(powers[len(powers)-1], powers[0]))
	}
	k := len(powers) + 1
	first := odds[0]
	odds[0] = 0
	even, odd = h.pairSum(evens[:k], powers), h.pairSum(odds[:k], powers)
	if high {
		even.add(h.pairTimes(powers[2], h.pairSum(append([]float64{0}, evens[k:]...), powers)))
		odd.add(h.pairTimes(powers[2], h.pairSum(append([]float64{0}, odds[k:]...), powers)))
	}
	// The largest term is not one of the sums of products, each of which would round it.
	odd = h.pairTimes(x, odd)
	kernels.Axpy(odd.X.Data, first, x.X.Data)
	kernels.Axpy(odd.DX.Data, first, x.DX.Data)
	return even, odd
}
