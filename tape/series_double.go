package tape

import "math"

// A double is a number in twice the precision whose exponent has no bounds:
// (hi + lo)·2^(512 up), where hi is the float64 nearest to the sum, and between 2^-256 and
// 2^256 in size, or 0. Numbers that float64 holds comfortably have up = 0. Of what is not
// finite lo and up are 0. (T. J. Dekker, Numerische Mathematik 18, 1971.)
type double struct {
	hi, lo float64
	up     int
}

const (
	doubleStep = 512 // from one up to the next, as a power of 2
	doubleTop  = 0x1p256
)

// single is the float64 v.
func single(v float64) double { return double{hi: v}.bounded() }

// twoSum is a + b rounded, and what the rounding lost (Knuth).
func twoSum(a, b float64) double {
	s := a + b
	c := s - a
	return double{hi: s, lo: (a - (s - c)) + (b - c)}
}

// twoProduct is a * b rounded, and what the rounding lost.
func twoProduct(a, b float64) double {
	p := float64(a * b)
	return double{hi: p, lo: math.FMA(a, b, -p)}
}

// normal makes hi the nearest float64 again, of a size between the bounds.
func (x double) normal() double {
	s := x.hi + x.lo
	if s-s != 0 {
		return double{hi: s}
	}
	x = double{s, x.lo - (s - x.hi), x.up}
	if h := math.Abs(s); h < doubleTop && h >= 1/doubleTop {
		return x
	}
	return x.bounded()
}

// bounded brings hi between the bounds, in one step or, from a float64, at most three.
func (x double) bounded() double {
	if x.hi == 0 || x.hi-x.hi != 0 {
		return double{hi: x.hi}
	}
	for ; math.Abs(x.hi) >= doubleTop; x.up++ {
		x.hi, x.lo = x.hi*0x1p-512, x.lo*0x1p-512
	}
	for ; math.Abs(x.hi) < 1/doubleTop; x.up-- {
		x.hi, x.lo = x.hi*0x1p512, x.lo*0x1p512
	}
	return x
}

// float is x rounded to float64: to zero or an infinity where it must.
func (x double) float() float64 {
	return math.Ldexp(x.hi, doubleStep*max(-8, min(8, x.up)))
}

func (x double) finite() bool { return x.hi-x.hi == 0 }
func (x double) neg() double  { return double{-x.hi, -x.lo, x.up} }

func (x double) add(y double) double {
	if x.up != y.up {
		if x, y = aligned(x, y); y.hi == 0 {
			return x
		}
	}
	s, r := twoSum(x.hi, y.hi), twoSum(x.lo, y.lo)
	if s.hi-s.hi != 0 {
		return double{hi: s.hi}
	}
	up := x.up
	x = double{s.hi, s.lo + r.hi, 0}
	s.hi = x.hi + x.lo
	s.lo = x.lo - (s.hi - x.hi)
	return double{s.hi, s.lo + r.lo, up}.normal()
}

// aligned are two numbers to add, with the exponent of the first: of the second nothing is
// left where it is beyond the precision.
func aligned(x, y double) (double, double) {
	if y.hi == 0 || !x.finite() && y.finite() {
		return x, double{}
	}
	if x.hi == 0 || !y.finite() && x.finite() {
		return y, double{}
	}
	if x.up < y.up {
		x, y = y, x
	}
	if x.up-y.up > 1 {
		return x, double{}
	}
	return x, double{y.hi * 0x1p-512, y.lo * 0x1p-512, x.up}
}

func (x double) mul(y double) double {
	p := twoProduct(x.hi, y.hi)
	if p.hi-p.hi != 0 {
		return double{hi: p.hi}
	}
	return double{p.hi, p.lo + (float64(x.hi*y.lo) + float64(x.lo*y.hi)), x.up + y.up}.normal()
}

// times is x * f.
func (x double) times(f float64) double { return x.mul(single(f)) }

// over is x / y.
func (x double) over(y double) double {
	q := x.hi / y.hi
	if q-q != 0 || q == 0 {
		return double{hi: q}
	}
	up := x.up - y.up
	x.up, y.up = 0, 0
	q1 := single(q)
	r := x.add(y.mul(q1).neg())
	q2 := double{hi: r.hi / y.hi, up: r.up}.bounded()
	r = r.add(y.mul(q2).neg())
	z := q1.add(q2).add(double{hi: r.hi / y.hi, up: r.up}.bounded())
	z.up += up
	return z
}
