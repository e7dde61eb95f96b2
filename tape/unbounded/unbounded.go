// Package unbounded computes on float64 numbers whose exponents have no bounds. A derivative
// whose factors leave the range of float64, and come back, is computed on them.
package unbounded

import (
	"math"

	"nabla/kernels"
)

// A Number is M·2^E: a float64 whose exponent has no bounds. It rounds as a float64 does, so
// where nothing leaves the range the bits are the same. M is in [1, 2) but for its sign, or
// zero, infinite or NaN with E = 0.
type Number struct {
	M float64
	E int64
}

// Of is the number v.
func Of(v float64) Number { return Number{v, 0}.Normal() }

// Normal is x with an M, of whatever size, between 1 and 2.
func (x Number) Normal() Number {
	if x.Special() {
		return Number{x.M, 0}
	}
	m, by := math.Frexp(x.M)
	e := x.E + int64(by) - 1
	if e > mostExponent || e < -mostExponent {
		return Number{2 * m * math.Ldexp(1, int(max(-2000, min(2000, e)))), 0}
	}
	return Number{2 * m, e}
}

// mostExponent leaves room for the sum of two exponents, and for those of roots and powers.
const mostExponent = 1 << 58

// Special reports whether x is zero, infinite or NaN.
func (x Number) Special() bool { return x.M == 0 || x.M-x.M != 0 }

// small reports whether x is so small that sin x is x.
func (x Number) small() bool { return x.M != 0 && x.Finite() && x.E < -100 }

// far reports whether x is positive, and so large that a series in 1/x is its first term.
func (x Number) far() bool { return x.M > 0 && x.Finite() && x.E > 100 }

// Float rounds to float64: to zero, a subnormal number or an infinity where it must.
func (x Number) Float() float64 {
	return math.Ldexp(x.M, int(max(-2000, min(2000, x.E))))
}

// inRange reports whether x is, with its square and its reciprocal, a normal float64.
func (x Number) inRange() bool { return x.Special() || x.E > -500 && x.E < 500 }

// normalFloat reports whether x is a normal float64.
func (x Number) normalFloat() bool { return x.E > -1023 && x.E < 1024 }

// Compared are float64s that compare as x and y do, and are 0, infinite or NaN where these are.
func Compared(x, y Number) (a, b float64) {
	switch {
	case x.Special() || y.Special():
		return x.M, y.M
	case x.normalFloat() && y.normalFloat():
		return x.Float(), y.Float()
	}
	return x.sub(y).M, 0
}

// Add is x + y, rounded once.
func (x Number) Add(y Number) Number {
	switch {
	case x.Special() && y.Special():
		return Number{x.M + y.M, 0}
	case x.M == 0 || !y.Finite():
		return y
	case y.M == 0 || !x.Finite():
		return x
	case x.E < y.E:
		x, y = y, x
	}
	if x.E-y.E > 200 {
		return x
	}
	return Number{x.M + math.Ldexp(y.M, int(y.E-x.E)), x.E}.Normal()
}

// Mul is x * y, rounded once.
func (x Number) Mul(y Number) Number { return Number{x.M * y.M, x.E + y.E}.Normal() }

// Finite reports whether x is neither infinite nor NaN.
func (x Number) Finite() bool { return x.M-x.M == 0 }

func (x Number) neg() Number         { return Number{-x.M, x.E} }
func (x Number) sub(y Number) Number { return x.Add(y.neg()) }
func (x Number) div(y Number) Number { return Number{x.M / y.M, x.E - y.E}.Normal() }
func (x Number) inverse() Number     { return Number{1, 0}.div(x) }

func (x Number) zmul(y Number) Number {
	if x.M == 0 || y.M == 0 {
		return Number{}
	}
	return x.Mul(y)
}

// Sqrt is the square root of x, rounded once.
func (x Number) Sqrt() Number {
	odd := x.E & 1
	return Number{math.Sqrt(math.Ldexp(x.M, int(odd))), (x.E - odd) / 2}.Normal()
}

// exp takes powers of 2 off where the exponential leaves the range, up to 2^±2^56.
func (x Number) exp() Number {
	v := x.Float()
	if math.Abs(v) < 600 || !(math.Abs(v) < mostPower) {
		return Of(kernels.ExpOf(v))
	}
	return far(kernels.ExpFar(v, 0))
}

// mostPower is how large powers of 2 may be, and logarithms.
const mostPower = 1 << 56

// far is y * 2^n.
func far(y float64, n int64) Number {
	r := Of(y)
	r.E += n
	return r.Normal()
}

func (x Number) log() Number {
	if x.inRange() || !x.Finite() {
		return Of(kernels.LogOf(x.Float()))
	}
	return Of(kernels.LogOf(x.M) + float64(float64(x.E)*math.Ln2))
}

// pow splits the power of 2^e off where x^y leaves the range.
func (x Number) pow(y float64) Number {
	if v := kernels.PowOf(x.Float(), y); x.Special() || x.normalFloat() && math.Abs(v) > 0x1p-1000 && math.Abs(v) < 0x1p1000 || v != v && x.inRange() {
		return Of(v)
	}
	p := float64(float64(x.E) * y)
	whole, part := math.Modf(p)
	part += math.FMA(float64(x.E), y, -p)
	z, n, ok := kernels.PowFar(math.Abs(x.M), y)
	if !ok || !(math.Abs(whole) < mostPower) || x.M < 0 && y != math.Floor(y) {
		return Of(kernels.PowOf(x.Float(), y))
	}
	if x.M < 0 && math.Mod(y, 2) != 0 {
		z = -z
	}
	return far(z, n+int64(whole)).Mul(Of(kernels.Exp2Of(part)))
}

// powDerivative is the derivative of x^y of order n by x and k by y: with the falling
// factorial F = y (y-1) … (y-n+1), x^(y-n) times F, F log x + F' or F log² x + 2F' log x + F".
func (x Number) powDerivative(n, k int, y float64) Number {
	if v := kernels.PowDerivativeOf(float64(4096*k+n), x.Float(), y); x.M <= 0 || x.Special() || x.normalFloat() && math.Abs(v) > 0x1p-1000 && math.Abs(v) < 0x1p1000 {
		return Of(v)
	}
	e, rest := kernels.PowExponent(y, n)
	l := x.log()
	f := [3]float64{1, 0, 0}
	for i := range n {
		z := y - float64(i)
		f = [3]float64{f[0] * z, float64(f[1]*z) + f[0], float64(f[2]*z) + 2*f[1]}
	}
	sum := Of(f[0])
	switch k {
	case 1:
		sum = sum.Mul(l).Add(Of(f[1]))
	case 2:
		sum = sum.Mul(l).Add(Of(2 * f[1])).Mul(l).Add(Of(f[2]))
	}
	return x.pow(e).Mul(Of(1 + float64(rest*l.Float()))).Mul(sum)
}
