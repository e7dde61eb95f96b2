package tape

import "math"

// A double is a number in twice the precision: hi + lo, where hi is the float64 nearest to
// the sum. Of what is not finite lo is 0. (T. J. Dekker, Numerische Mathematik 18, 1971.)
type double struct{ hi, lo float64 }

// twoSum is a + b rounded, and what the rounding lost (Knuth).
func twoSum(a, b float64) double {
	s := a + b
	c := s - a
	return double{s, (a - (s - c)) + (b - c)}
}

// twoProduct is a * b rounded, and what the rounding lost.
func twoProduct(a, b float64) double {
	p := float64(a * b)
	return double{p, math.FMA(a, b, -p)}
}

// normal makes hi the nearest float64 again.
func (x double) normal() double {
	s := x.hi + x.lo
	if s-s != 0 {
		return double{s, 0}
	}
	return double{s, x.lo - (s - x.hi)}
}

func (x double) finite() bool { return x.hi-x.hi == 0 }
func (x double) neg() double  { return double{-x.hi, -x.lo} }

func (x double) add(y double) double {
	s, r := twoSum(x.hi, y.hi), twoSum(x.lo, y.lo)
	if s.hi-s.hi != 0 {
		return double{s.hi, 0}
	}
	s = double{s.hi, s.lo + r.hi}.normal()
	return double{s.hi, s.lo + r.lo}.normal()
}

func (x double) mul(y double) double {
	p := twoProduct(x.hi, y.hi)
	if p.hi-p.hi != 0 {
		return double{p.hi, 0}
	}
	return double{p.hi, p.lo + (float64(x.hi*y.lo) + float64(x.lo*y.hi))}.normal()
}

// times is x * f.
func (x double) times(f float64) double { return x.mul(double{f, 0}) }

// over is x / y.
func (x double) over(y double) double {
	q := x.hi / y.hi
	if q-q != 0 || q == 0 {
		return double{q, 0}
	}
	r := x.add(y.times(q).neg())
	q2 := r.hi / y.hi
	r = r.add(y.times(q2).neg())
	return double{q, q2}.normal().add(double{r.hi / y.hi, 0})
}
