package tape

import (
	"math"

	"nabla/kernels"
)

// A pair is a matrix x and its derivative along some direction; of none, dx has no numbers.
type pair struct{ x, dx mat }

func (h *hands) pairTimes(a, b pair) pair {
	c := pair{x: h.times(a.x, b.x)}
	if a.dx.d != nil {
		c.dx = h.times(a.x, b.dx)
		h.product(c.dx.all(), a.dx.all(), false, b.x.all(), false, true)
	}
	return c
}

// axpy is a += c b.
func (a pair) axpy(c float64, b pair) {
	axpy(a.x.d, c, b.x.d)
	axpy(a.dx.d, c, b.dx.d)
}

func (a pair) clone() pair { return pair{a.x.clone(), a.dx.clone()} }

// norm1 is the largest sum of absolute values of a column of [x dx; 0 x].
func (a pair) norm1() float64 {
	sums := make([]float64, a.x.n)
	for i := range a.x.n {
		for j, v := range a.x.row(i) {
			sums[j] += math.Abs(v)
		}
		if a.dx.d != nil {
			for j, v := range a.dx.row(i) {
				sums[j] += math.Abs(v)
			}
		}
	}
	norm := 0.0
	for _, s := range sums {
		norm = max(norm, s)
	}
	return norm
}

// expmOf is the matrix exponential by scaling, the Padé approximant of degree 13 and
// squaring (Higham 2005), and its derivative, by the rule of products at every step
// (Al-Mohy and Higham 2009).
func (h *hands) expmOf(a pair) pair {
	n := a.x.n
	norm := a.norm1()
	if n == 1 && a.dx.d == nil {
		return pair{x: mat{[]float64{kernels.ExpOf(a.x.d[0])}, 1, 1}}
	}
	if norm-norm != 0 {
		a = a.clone()
		for _, x := range [][]float64{a.x.d, a.dx.d} {
			kernels.Fill(x, math.NaN())
		}
		return a
	}
	squarings := 0
	if norm > 5.371920351148152 {
		_, squarings = math.Frexp(norm / 5.371920351148152)
	}
	x := a.clone()
	x.x.scale(-squarings)
	x.dx.scale(-squarings)
	b := [14]float64{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
		10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}
	x2 := h.pairTimes(x, x)
	x4 := h.pairTimes(x2, x2)
	x6 := h.pairTimes(x4, x2)
	sum := func(c0, c2, c4, c6 float64) pair {
		out := pair{x: newMat(n, n)}
		if x.dx.d != nil {
			out.dx = newMat(n, n)
		}
		out.axpy(c6, x6)
		out.axpy(c4, x4)
		out.axpy(c2, x2)
		for i := range n {
			out.x.d[i*n+i] += c0
		}
		return out
	}
	high := h.pairTimes(x6, sum(0, b[9], b[11], b[13]))
	odd := sum(b[1], b[3], b[5], b[7])
	odd.axpy(1, high)
	odd = h.pairTimes(x, odd)
	high = h.pairTimes(x6, sum(0, b[8], b[10], b[12]))
	even := sum(b[0], b[2], b[4], b[6])
	even.axpy(1, high)
	// (even - odd) r = even + odd
	den, num := even.clone(), even
	den.axpy(-1, odd)
	num.axpy(1, odd)
	lu, perm, _ := h.luOf(den.x)
	r := pair{x: h.refined(den.x, lu, perm, num.x, false)}
	if x.dx.d != nil { // den dr = dnum - dden r
		h.minus(num.dx.all(), den.dx.all(), false, r.x.all(), false)
		r.dx = h.refined(den.x, lu, perm, num.dx, false)
	}
	for range squarings {
		r = h.pairTimes(r, r)
	}
	return r
}
