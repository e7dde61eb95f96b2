package tape

import (
	"math"

	"nabla/kernels"
)

// An unbounded number is the number m·2^e: a float64 whose exponent has no bounds. It rounds as a
// float64 does, so where nothing leaves the range the bits are the same. m is in [1, 2)
// but for its sign, or zero, infinite or NaN with e = 0.
type unbounded struct {
	m float64
	e int
}

// unbound is v as an unbounded number.
func unbound(v float64) unbounded { return unbounded{v, 0}.normal() }

func (x unbounded) normal() unbounded {
	if x.special() {
		return unbounded{x.m, 0}
	}
	m, e := math.Frexp(x.m)
	return unbounded{2 * m, x.e + e - 1}
}

// special reports whether x is zero, infinite or NaN.
func (x unbounded) special() bool { return x.m == 0 || x.m-x.m != 0 }

// small reports whether x is so small that sin x is x.
func (x unbounded) small() bool { return x.m != 0 && x.finite() && x.e < -100 }

// float rounds to float64: to zero, a subnormal number or an infinity where it must.
func (x unbounded) float() float64 {
	if x.e > 2000 || x.e < -2000 {
		return math.Ldexp(x.m, max(-2000, min(2000, x.e)))
	}
	return math.Ldexp(x.m, x.e)
}

// inRange reports whether x is, with its square and its reciprocal, a normal float64.
func (x unbounded) inRange() bool { return x.special() || x.e > -500 && x.e < 500 }

// normalFloat reports whether x is a normal float64.
func (x unbounded) normalFloat() bool { return x.e > -1023 && x.e < 1024 }

func (x unbounded) add(y unbounded) unbounded {
	switch {
	case x.special() && y.special():
		return unbounded{x.m + y.m, 0}
	case x.m == 0 || !y.finite():
		return y
	case y.m == 0 || !x.finite():
		return x
	case x.e < y.e:
		x, y = y, x
	}
	if x.e-y.e > 200 {
		return x
	}
	return unbounded{x.m + math.Ldexp(y.m, y.e-x.e), x.e}.normal()
}

func (x unbounded) finite() bool              { return x.m-x.m == 0 }
func (x unbounded) neg() unbounded            { return unbounded{-x.m, x.e} }
func (x unbounded) sub(y unbounded) unbounded { return x.add(y.neg()) }
func (x unbounded) mul(y unbounded) unbounded { return unbounded{x.m * y.m, x.e + y.e}.normal() }
func (x unbounded) div(y unbounded) unbounded { return unbounded{x.m / y.m, x.e - y.e}.normal() }
func (x unbounded) inverse() unbounded        { return unbounded{1, 0}.div(x) }

func (x unbounded) zmul(y unbounded) unbounded {
	if x.m == 0 || y.m == 0 {
		return unbounded{}
	}
	return x.mul(y)
}

func (x unbounded) sqrt() unbounded {
	odd := x.e & 1
	return unbounded{math.Sqrt(math.Ldexp(x.m, odd)), (x.e - odd) / 2}.normal()
}

// exp takes the square of a root where the exponential leaves the range, to 2^±2^20.
func (x unbounded) exp() unbounded {
	v := x.float()
	if math.Abs(v) < 600 || !(math.Abs(v) < 1<<20) {
		return unbound(kernels.ExpOf(v))
	}
	half := unbound(v / 2).exp() // exact: v/2 loses nothing
	return half.mul(half)
}

func (x unbounded) log() unbounded {
	if x.inRange() || !x.finite() {
		return unbound(kernels.LogOf(x.float()))
	}
	return unbound(kernels.LogOf(x.m) + float64(float64(x.e)*math.Ln2))
}

// pow splits the power of 2^e off where x^y leaves the range.
func (x unbounded) pow(y float64) unbounded {
	if v := kernels.PowOf(x.float(), y); x.special() || x.normalFloat() && math.Abs(v) > 0x1p-1000 && math.Abs(v) < 0x1p1000 || v != v && x.inRange() {
		return unbound(v)
	}
	p := float64(float64(x.e) * y)
	whole, part := math.Modf(p)
	part += math.FMA(float64(x.e), y, -p)
	if math.Abs(y) > 512 || !(math.Abs(whole) < 1<<30) {
		return unbound(kernels.PowOf(x.float(), y))
	}
	z := unbound(kernels.PowOf(x.m, y)).mul(unbound(kernels.Exp2Of(part)))
	z.e += int(whole)
	return z
}

// powDerivative is the derivative of x^y of order n by x and k by y: with the falling
// factorial F = y (y-1) … (y-n+1), x^(y-n) times F, F log x + F' or F log² x + 2F' log x + F".
func (x unbounded) powDerivative(n, k int, y float64) unbounded {
	if v := kernels.PowDerivativeOf(float64(4096*k+n), x.float(), y); x.m <= 0 || x.special() || x.normalFloat() && math.Abs(v) > 0x1p-1000 && math.Abs(v) < 0x1p1000 {
		return unbound(v)
	}
	e, rest := kernels.PowExponent(y, n)
	l := x.log()
	f := [3]float64{1, 0, 0}
	for i := range n {
		z := y - float64(i)
		f = [3]float64{f[0] * z, float64(f[1]*z) + f[0], float64(f[2]*z) + 2*f[1]}
	}
	sum := unbound(f[0])
	switch k {
	case 1:
		sum = sum.mul(l).add(unbound(f[1]))
	case 2:
		sum = sum.mul(l).add(unbound(2 * f[1])).mul(l).add(unbound(f[2]))
	}
	return x.pow(e).mul(unbound(1 + float64(rest*l.float()))).mul(sum)
}
