// Package double computes in twice the precision of float64 (T. J. Dekker, Numerische
// Mathematik 18, 1971), with exponents that have no bounds.
package double

import "math"

// A Number is (Hi + Lo)·2^(512 Up), where Hi is the float64 nearest to the sum, and between
// 2^-256 and 2^256 in size, or 0. Numbers that float64 holds comfortably have Up = 0. Of what
// is not finite Lo and Up are 0.
type Number struct {
	Hi, Lo float64
	Up     int
}

const (
	step = 512 // from one Up to the next, as a power of 2
	top  = 0x1p256
)

// Of is the number v.
func Of(v float64) Number { return Number{Hi: v}.bounded() }

// Sum is a + b rounded, and what the rounding lost (Knuth).
func Sum(a, b float64) Number {
	s := a + b
	c := s - a
	return Number{Hi: s, Lo: (a - (s - c)) + (b - c)}
}

// Product is a * b rounded, and what the rounding lost.
func Product(a, b float64) Number {
	p := float64(a * b)
	return Number{Hi: p, Lo: math.FMA(a, b, -p)}
}

// Normal makes Hi the nearest float64 again, of a size between the bounds.
func (x Number) Normal() Number {
	s := x.Hi + x.Lo
	if s-s != 0 {
		return Number{Hi: s}
	}
	x = Number{s, x.Lo - (s - x.Hi), x.Up}
	if h := math.Abs(s); h < top && h >= 1/top {
		return x
	}
	return x.bounded()
}

// bounded brings Hi between the bounds, in one step or, from a float64, at most three.
func (x Number) bounded() Number {
	if x.Hi == 0 || x.Hi-x.Hi != 0 {
		return Number{Hi: x.Hi}
	}
	for ; math.Abs(x.Hi) >= top; x.Up++ {
		x.Hi, x.Lo = x.Hi*0x1p-512, x.Lo*0x1p-512
	}
	for ; math.Abs(x.Hi) < 1/top; x.Up-- {
		x.Hi, x.Lo = x.Hi*0x1p512, x.Lo*0x1p512
	}
	return x
}

// Float is x rounded to float64: to zero or an infinity where it must.
func (x Number) Float() float64 {
	return math.Ldexp(x.Hi, step*max(-8, min(8, x.Up)))
}

// Finite reports whether x is neither infinite nor NaN.
func (x Number) Finite() bool { return x.Hi-x.Hi == 0 }

// Neg is -x.
func (x Number) Neg() Number { return Number{-x.Hi, -x.Lo, x.Up} }

// Add is x + y.
func (x Number) Add(y Number) Number {
	if x.Up != y.Up {
		if x, y = aligned(x, y); y.Hi == 0 {
			return x
		}
	}
	s, r := Sum(x.Hi, y.Hi), Sum(x.Lo, y.Lo)
	if s.Hi-s.Hi != 0 {
		return Number{Hi: s.Hi}
	}
	up := x.Up
	x = Number{s.Hi, s.Lo + r.Hi, 0}
	s.Hi = x.Hi + x.Lo
	s.Lo = x.Lo - (s.Hi - x.Hi)
	return Number{s.Hi, s.Lo + r.Lo, up}.Normal()
}

// aligned are two numbers to add whose Up differ, with that of the first: of the second nothing
// is left where it is beyond the precision.
func aligned(x, y Number) (Number, Number) {
	if y.Hi == 0 || !x.Finite() {
		return x, Number{}
	}
	if x.Hi == 0 || !y.Finite() {
		return y, Number{}
	}
	if x.Up < y.Up {
		x, y = y, x
	}
	if x.Up-y.Up > 1 {
		return x, Number{}
	}
	return x, Number{y.Hi * 0x1p-512, y.Lo * 0x1p-512, x.Up}
}

// Mul is x * y.
func (x Number) Mul(y Number) Number {
	p := Product(x.Hi, y.Hi)
	if p.Hi-p.Hi != 0 {
		return Number{Hi: p.Hi}
	}
	return Number{p.Hi, p.Lo + (float64(x.Hi*y.Lo) + float64(x.Lo*y.Hi)), x.Up + y.Up}.Normal()
}

// Times is x * f.
func (x Number) Times(f float64) Number { return x.Mul(Of(f)) }

// Over is x / y.
func (x Number) Over(y Number) Number {
	q := x.Hi / y.Hi
	if q-q != 0 || q == 0 {
		return Number{Hi: q}
	}
	up := x.Up - y.Up
	x.Up, y.Up = 0, 0
	q1 := Of(q)
	r := x.Add(y.Mul(q1).Neg())
	q2 := Number{Hi: r.Hi / y.Hi, Up: r.Up}.bounded()
	r = r.Add(y.Mul(q2).Neg())
	z := q1.Add(q2).Add(Number{Hi: r.Hi / y.Hi, Up: r.Up}.bounded())
	z.Up += up
	return z
}
