// Package puiseux computes on power series in a root of the distance from a point. Where
// what a function is made of has infinite slopes, or roots of 0, numbers only come close to
// the limit of a derivative; of a series (V. Puiseux, 1850) it is a coefficient.
package puiseux

import "math"

// Root says what the series are in: t, of which t^Root is the distance, so that square, cube,
// fourth, sixth and twelfth roots of it are powers of t.
const Root = 12

// terms is how many coefficients are kept: five powers of the distance.
const terms = 5*Root + 1

// A Series is the sum of c[k] t^(low+k), with c[0] not 0; without coefficients it is 0. It may
// have log times the logarithm of t beside these, until an exponential makes it a power of t.
type Series struct {
	low int
	c   []float64
	log float64
	cut bool // terms from t^(low+len(c)) on are not known
}

// Of is the number v.
func Of(v float64) Series { return Series{c: []float64{v}}.normal() }

// Near is a number that differs from v by d times the distance.
func Near(v, d float64) Series {
	c := make([]float64, Root+1)
	c[0], c[Root] = v, d
	return Series{c: c}.normal()
}

var undefined = Series{c: []float64{math.NaN()}}

// Unknown is what has no series of this kind, such as a power of a logarithm: no term is known.
var Unknown = Series{low: -1 << 30, cut: true}

// Limit is what x comes to where the distance is 0; false where that is not known.
func (x Series) Limit() (v float64, ok bool) {
	switch {
	case x.Undefined():
		return math.NaN(), true
	case x.log != 0 && (len(x.c) > 0 || !x.cut) && x.low >= 0:
		return math.Copysign(math.Inf(1), -x.log), true
	case len(x.c) == 0:
		return 0, !x.cut || x.low > 0
	case x.low > 0:
		return 0, true
	}
	for k, v := range x.c[:min(len(x.c), -x.low)] {
		if x.matters(k, 0) {
			return math.Copysign(math.Inf(1), v), true
		}
	}
	return x.at(0), !x.cut || x.end() > 0
}

// matters reports whether coefficient k is more than rounding leaves, as of sin(pi), of those up to t^end.
// Those behind may be as large as they like, as of sin(1000 x).
func (x Series) matters(k, end int) bool {
	size := 0.0
	for _, v := range x.c[:min(len(x.c), end-x.low+1)] {
		size = max(size, math.Abs(v))
	}
	return math.Abs(x.c[k]) > 0x1p-40*size
}

// Powers are the coefficients of powers of the distance from 0 to n; false where there are
// other terms among these, or terms that are not known.
func (x Series) Powers(n int) (c []float64, ok bool) {
	if x.cut && x.end() <= n*Root || x.log != 0 || x.Undefined() {
		return nil, false
	}
	for k := range x.c {
		if at := x.low + k; at < n*Root && (at < 0 || at%Root != 0) && x.matters(k, n*Root) {
			return nil, false
		}
	}
	for k := range n + 1 {
		c = append(c, x.at(k*Root))
	}
	return c, true
}

// Slope is the n-th derivative by the distance at 0: infinite where a term between the powers
// up to n is without one; false where that is not known.
func (x Series) Slope(n int) (v float64, ok bool) {
	if x.Undefined() {
		return math.NaN(), true
	}
	if x.log != 0 {
		return 0, false
	}
	falling := func(p float64) float64 { // of t^(Root p)
		f := 1.0
		for k := range n {
			f *= p - float64(k)
		}
		return f
	}
	for k, v := range x.c {
		if at := x.low + k; at < n*Root && (at < 0 || at%Root != 0) && x.matters(k, n*Root) {
			return math.Copysign(math.Inf(1), v*falling(float64(at)/Root)), true
		}
	}
	return falling(float64(n)) * x.at(n*Root), !x.cut || x.end() > n*Root
}

// Undefined reports whether x is outside the domain of what it was computed with.
func (x Series) Undefined() bool { return len(x.c) > 0 && x.c[0] != x.c[0] }

// Zero reports whether nothing of x is there, or known.
func (x Series) Zero() bool { return len(x.c) == 0 && x.log == 0 }

// Constant reports whether x is a number.
func (x Series) Constant() bool { return !x.cut && len(x.c) <= 1 && x.low == 0 && x.log == 0 }

// end is where the terms of x end.
func (x Series) end() int { return x.low + len(x.c) }

// normal leaves out zeros in front and behind, and terms that are too many.
func (x Series) normal() Series {
	for _, v := range x.c {
		if v-v != 0 {
			return undefined
		}
	}
	for len(x.c) > 0 && x.c[0] == 0 {
		x.low, x.c = x.low+1, x.c[1:]
	}
	if len(x.c) > terms {
		x.c, x.cut = x.c[:terms], true
	}
	for n := len(x.c); !x.cut && n > 0 && x.c[n-1] == 0; n-- {
		x.c = x.c[:n-1]
	}
	if len(x.c) == 0 && !x.cut {
		x.low = 0
	}
	return x
}

// A total is a sum that knows the size of its terms: what is left of a difference by rounding
// is 0, or the first term would be one that is not there.
type total struct{ sum, size float64 }

func (s *total) add(v float64) {
	s.sum += v
	s.size = max(s.size, math.Abs(v))
}

func (s *total) value() float64 {
	if math.Abs(s.sum) <= 0x1p-46*s.size {
		return 0
	}
	return s.sum
}

// at is the coefficient of t^k.
func (x Series) at(k int) float64 {
	if k -= x.low; k < 0 || k >= len(x.c) {
		return 0
	}
	return x.c[k]
}

// Add is x + y.
func (x Series) Add(y Series) Series {
	switch {
	case x.Undefined() || y.Undefined():
		return undefined
	case x.Zero() && !x.cut:
		return y
	case y.Zero() && !y.cut:
		return x
	}
	low, end := min(x.low, y.low), max(x.end(), y.end())
	if x.cut {
		end = min(end, x.end())
	}
	if y.cut {
		end = min(end, y.end())
	}
	var logs total
	logs.add(x.log)
	logs.add(y.log)
	z := Series{low: low, c: make([]float64, max(0, end-low)), log: logs.value(), cut: x.cut || y.cut}
	if end < low {
		z.low = end
	}
	for k := range z.c {
		var s total
		s.add(x.at(low + k))
		s.add(y.at(low + k))
		z.c[k] = s.value()
	}
	return z.normal()
}

// Mul is x * y.
func (x Series) Mul(y Series) Series {
	switch {
	case x.Undefined() || y.Undefined():
		return undefined
	case x.Zero() && !x.cut || y.Zero() && !y.cut:
		return Series{}
	case x.log != 0 && !y.Constant() || y.log != 0 && !x.Constant():
		return Unknown
	case x.log != 0 || y.log != 0:
		if x.log == 0 {
			x, y = y, x
		}
		z := Series{low: x.low, c: x.c, cut: x.cut}.Mul(y)
		z.log = x.log * y.c[0]
		return z
	}
	n := len(x.c) + len(y.c) - 1
	if x.cut {
		n = min(n, len(x.c))
	}
	if y.cut {
		n = min(n, len(y.c))
	}
	z := Series{low: x.low + y.low, c: make([]float64, max(0, n)), cut: x.cut || y.cut}
	sums := make([]total, len(z.c))
	for i, a := range x.c {
		if a == 0 {
			continue
		}
		for j, b := range y.c[:max(0, min(len(y.c), n-i))] {
			if b != 0 {
				sums[i+j].add(float64(a * b))
			}
		}
	}
	for k := range sums {
		z.c[k] = sums[k].value()
	}
	return z.normal()
}

// Sqrt is the square root of x.
func (x Series) Sqrt() Series { return x.pow(0.5) }

func (x Series) times(v float64) Series { return x.Mul(Of(v)) }
func (x Series) neg() Series            { return x.times(-1) }
func (x Series) sub(y Series) Series    { return x.Add(y.neg()) }
func (x Series) inverse() Series        { return x.pow(-1) }
func (x Series) div(y Series) Series    { return x.Mul(y.inverse()) }
