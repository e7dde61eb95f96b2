// Package matrix has the dense factorisations behind linear algebra, on numbers alone. Every loop
// has one order and every product that is added goes through math.FMA or float64(), so that no
// machine and no number of threads gives other bits; a library's assembly would.
package matrix

import (
	"cmp"
	"math"
	"slices"

	"nabla/kernels"
)

// A Solver is what works on matrices: threads, a check that may stop it, and memory. The zero
// value works on one thread. It serves one caller at a time.
type Solver struct {
	Threads int
	Check   func() // called now and then, and may panic; nil: none
	negated []float64
	chunk   []float64

	room   []float64 // for matrices on the way
	missed int       // what did not fit
	wanted int       // of room, the next time
	used   int       // of room
	places []int     // for permutations
	placed int       // of places
	system fewSystem

	factors [max(leastHalved, shortSide)]float64 // of a row, which would leave the stack for a kernel

	operands []Dense // of who borrowed it
}

func (h *Solver) tick() {
	if h.Check != nil {
		h.Check()
	}
}

// A Dense is a matrix of M rows of N numbers, row by row.
type Dense struct {
	Data []float64
	M, N int
}

// Of is the matrix of m rows of n numbers in data, which it shares.
func Of(data []float64, m, n int) Dense { return Dense{data, m, n} }

// New is a matrix of zeros.
func New(m, n int) Dense { return Dense{make([]float64, m*n), m, n} }

// Eye is the identity of n rows.
func Eye(n int) Dense {
	a := New(n, n)
	for i := range n {
		a.Data[i*n+i] = 1
	}
	return a
}

// Row is row i, which shares a's numbers.
func (a Dense) Row(i int) []float64 { return a.Data[i*a.N : (i+1)*a.N : (i+1)*a.N] }

// Clone is a copy with numbers of its own.
func (a Dense) Clone() Dense { return Dense{slices.Clone(a.Data), a.M, a.N} }

// T is the transpose, a copy.
func (a Dense) T() Dense {
	b := New(a.N, a.M)
	if len(a.Data) > 0 {
		kernels.TransposeLarge(b.Data, a.M, a.Data, a.N, a.M, a.N)
	}
	return b
}

// Scale multiplies a by 2^e, in place: exact but for underflow.
func (a Dense) Scale(e int) {
	if e >= -1000 && e <= 1000 {
		kernels.MulScalar(a.Data, a.Data, math.Ldexp(1, e))
		return
	}
	for i, v := range a.Data {
		a.Data[i] = math.Ldexp(v, e)
	}
}

// Exponent is the e for which the largest entry lies in [2^(e-1), 2^e); 0 for zeros,
// and where an entry is not finite.
func (a Dense) Exponent() int { return exponent(a.Data) }

// fewNumbers are looked at one by one, more by kernels: for matrices of 3 rows calls took a quarter of the time.
const fewNumbers = 16

// exponent is that of all numbers of x.
func exponent(x []float64) int {
	if len(x) == 0 {
		return 0
	}
	big := 0.0
	if len(x) < fewNumbers {
		for _, v := range x {
			if v = math.Abs(v); v > big || v != v {
				big = v
			}
		}
	} else {
		big = kernels.MaxAbs(x)
	}
	if big == 0 || big-big != 0 {
		return 0
	}
	_, e := math.Frexp(big)
	return e
}

// Sizes between which products of three cannot overflow, nor lose digits at the other end.
const (
	leastTame = 1e-90
	mostTame  = 1e90
)

// tame reports whether all numbers that are not 0 lie between them.
func tame(x []float64) bool {
	for _, v := range x {
		if v = math.Abs(v); v != 0 && !(v > leastTame && v < mostTame) {
			return false
		}
	}
	return true
}

// finite reports whether all numbers are.
func finite(x []float64) bool {
	if len(x) < fewNumbers {
		return finiteFew(x)
	}
	most := kernels.MaxAbs(x)
	return most-most == 0
}

// finiteFew is finite for few numbers; it stands where it is called.
func finiteFew(x []float64) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// Symmetric is (a + aᵀ)/2, until Begin.
func (h *Solver) Symmetric(a Dense) Dense {
	s := h.transposed(a)
	for i, y := range s.Data {
		s.Data[i] = middle(a.Data[i], y)
	}
	return s
}

// middle is (x + y)/2; subnormal halves of what is equal would be rounded.
func middle(x, y float64) float64 {
	if x == y {
		return y
	}
	return float64(0.5*x) + float64(0.5*y)
}

// axpy is y += a x.
func axpy(y []float64, a float64, x []float64) {
	for i, v := range x {
		y[i] = math.FMA(a, v, y[i])
	}
}

// dot2 is x·y as if computed with twice the digits (Ogita, Rump, Oishi 2005).
func dot2(x, y []float64) float64 {
	s, low := 0.0, 0.0
	for i, v := range x {
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

// cross2 is a d - b c within 1.5 ulp (Kahan).
func cross2(a, b, c, d float64) float64 {
	w := float64(b * c)
	e := math.FMA(-b, c, w)
	return math.FMA(a, d, -w) + e
}

// ascending lists the places of x in the ascending order of its numbers; equal ones stay in theirs.
func (h *Solver) ascending(x []float64) []int {
	return h.sorted(len(x), func(i, j int) int { return cmp.Compare(x[i], x[j]) })
}

// descending is ascending the other way round; equal ones stay in their order here, too.
func (h *Solver) descending(x []float64) []int {
	return h.sorted(len(x), func(i, j int) int { return cmp.Compare(x[j], x[i]) })
}
