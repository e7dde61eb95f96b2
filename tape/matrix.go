package tape

import (
	"math"
	"slices"

	"nabla/kernels"
)

// The dense factorisations behind linear algebra, on numbers alone. Every loop has one
// order and every product that is added goes through math.FMA or float64(), so that no
// machine gives other bits; a library's assembly would.

// A mat is a dense matrix, row by row.
type mat struct {
	d    []float64
	m, n int
}

func newMat(m, n int) mat { return mat{make([]float64, m*n), m, n} }

func eyeMat(n int) mat {
	a := newMat(n, n)
	for i := range n {
		a.d[i*n+i] = 1
	}
	return a
}

func (a mat) row(i int) []float64 { return a.d[i*a.n : (i+1)*a.n : (i+1)*a.n] }
func (a mat) clone() mat          { return mat{slices.Clone(a.d), a.m, a.n} }

func (a mat) t() mat {
	b := newMat(a.n, a.m)
	if len(a.d) > 0 {
		transposeBlock(b.d, a.d, a.m, a.n)
	}
	return b
}

// scale multiplies by a power of two: exact but for underflow.
func (a mat) scale(e int) {
	for i, v := range a.d {
		a.d[i] = math.Ldexp(v, e)
	}
}

// exponent is the e for which the largest entry lies in [2^(e-1), 2^e); 0 for zeros,
// and where an entry is not finite.
func (a mat) exponent() int {
	big := kernels.Max(absAll(a.d))
	if len(a.d) == 0 || big == 0 || big-big != 0 {
		return 0
	}
	_, e := math.Frexp(big)
	return e
}

func absAll(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Abs(v)
	}
	return y
}

// tame reports whether products of three cannot overflow, nor lose digits at the other end.
func tame(x []float64) bool {
	for _, v := range x {
		if v = math.Abs(v); v != 0 && !(v > 1e-90 && v < 1e90) {
			return false
		}
	}
	return true
}

func finite(x []float64) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// symmetric is (a + aᵀ)/2.
func (a mat) symmetric() mat {
	s := a.t()
	for i, y := range s.d {
		if x := a.d[i]; x != y { // subnormal halves would be rounded
			s.d[i] = float64(0.5*x) + float64(0.5*y)
		}
	}
	return s
}

// axpy is y += a x.
func axpy(y []float64, a float64, x []float64) {
	for i, v := range x {
		y[i] = math.FMA(a, v, y[i])
	}
}

// plusDot2 is c + sign x·y as if computed with twice the digits (Ogita, Rump, Oishi 2005).
func plusDot2(c, sign float64, x, y []float64) float64 {
	s, low := c, 0.0
	for i, v := range x {
		v *= sign
		p := float64(v * y[i])
		e := math.FMA(v, y[i], -p)
		t := s + p
		b := t - s
		e += (s - (t - b)) + (p - b)
		low += e
		s = t
	}
	if r := s + low; r-r == 0 {
		return r
	}
	return s // the correction of an overflow is NaN
}

// dot2 is x·y with twice the digits.
func dot2(x, y []float64) float64 { return plusDot2(0, 1, x, y) }

// residual is c - x·y with twice the digits.
func residual(c float64, x, y []float64) float64 { return plusDot2(c, -1, x, y) }

// cross2 is a d - b c within 1.5 ulp (Kahan).
func cross2(a, b, c, d float64) float64 {
	w := float64(b * c)
	e := math.FMA(-b, c, w)
	return math.FMA(a, d, -w) + e
}
