package matrix

import (
	"math"

	"nabla/kernels"
)

// A Pair is a matrix X and its derivative DX along some direction; of none, DX has no numbers.
type Pair struct{ X, DX Dense }

func (h *Solver) pairTimes(a, b Pair) Pair {
	c := Pair{X: h.times(a.X, b.X)}
	if a.DX.Data != nil {
		c.DX = h.times(a.X, b.DX)
		h.product(c.DX.all(), a.DX.all(), false, b.X.all(), false, true)
	}
	return c
}

// axpy is a += c b.
func (a Pair) axpy(c float64, b Pair) {
	axpy(a.X.Data, c, b.X.Data)
	axpy(a.DX.Data, c, b.DX.Data)
}

func (a Pair) clone() Pair { return Pair{a.X.Clone(), a.DX.Clone()} }

// norm1 is the largest sum of absolute values of a column of [x dx; 0 x].
func (a Pair) norm1() float64 {
	sums := make([]float64, a.X.N)
	for i := range a.X.N {
		for j, v := range a.X.Row(i) {
			sums[j] += math.Abs(v)
		}
		if a.DX.Data != nil {
			for j, v := range a.DX.Row(i) {
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

// Expm is the matrix exponential by scaling, the Padé approximant of degree 13 and
// squaring (Higham 2005), and its derivative, by the rule of products at every step
// (Al-Mohy and Higham 2009).
func (h *Solver) Expm(a Pair) Pair {
	n := a.X.N
	norm := a.norm1()
	if n == 1 && a.DX.Data == nil {
		return Pair{X: Dense{[]float64{kernels.ExpOf(a.X.Data[0])}, 1, 1}}
	}
	if norm-norm != 0 {
		a = a.clone()
		for _, x := range [][]float64{a.X.Data, a.DX.Data} {
			kernels.Fill(x, math.NaN())
		}
		return a
	}
	squarings := 0
	if norm > 5.371920351148152 {
		_, squarings = math.Frexp(norm / 5.371920351148152)
	}
	x := a.clone()
	x.X.Scale(-squarings)
	x.DX.Scale(-squarings)
	b := [14]float64{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
		10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}
	x2 := h.pairTimes(x, x)
	x4 := h.pairTimes(x2, x2)
	x6 := h.pairTimes(x4, x2)
	sum := func(c0, c2, c4, c6 float64) Pair {
		out := Pair{X: New(n, n)}
		if x.DX.Data != nil {
			out.DX = New(n, n)
		}
		out.axpy(c6, x6)
		out.axpy(c4, x4)
		out.axpy(c2, x2)
		for i := range n {
			out.X.Data[i*n+i] += c0
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
	lu, perm := h.LU(den.X)
	r := Pair{X: h.Refined(den.X, lu, perm, num.X, false)}
	if x.DX.Data != nil { // den dr = dnum - dden r
		h.minus(num.DX.all(), den.DX.all(), false, r.X.all())
		r.DX = h.Refined(den.X, lu, perm, num.DX, false)
	}
	for range squarings {
		r = h.pairTimes(r, r)
	}
	return r
}
