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

// unboundedOp computes an operation whose arguments or result may leave the range; false:
// float64 does as well.
func unboundedOp(op *Op, x, y, z unbounded) (unbounded, bool) {
	one := unbounded{1, 0}
	small := x.m != 0 && x.finite() && x.e < -100
	large := x.finite() && x.e > 500
	switch op.Name {
	case "name", "stop_gradient":
		return x, true
	case "add":
		return x.add(y), true
	case "subtract":
		return x.sub(y), true
	case "multiply":
		return x.mul(y), true
	case "zmul":
		return x.zmul(y), true
	case "divide", "quotient":
		return x.div(y), true
	case "fma":
		if x.mul(y).inRange() && z.inRange() {
			return unbounded{}, false
		}
		return x.mul(y).add(z), true
	case "negative":
		return x.neg(), true
	case "square":
		return x.mul(x), true
	case "reciprocal":
		return one.div(x), true
	case "log_slope":
		if x.m < 0 {
			return unbounded{math.NaN(), 0}, true
		}
		return one.div(x), true
	case "abs":
		return unbounded{math.Abs(x.m), x.e}, true
	case "where":
		if x.m != 0 {
			return y, true
		}
		return z, true
	case "power":
		if y.inRange() || y.e < 0 {
			return x.pow(y.float()), true
		}
	case "power_derivative":
		if n, k := int(x.float())&4095, int(x.float())>>12; n < 64 && k <= 2 && (z.inRange() || z.e < 0) && math.Abs(z.float()) < 512 {
			return y.powDerivative(n, k, z.float()), true
		}
	case "sqrt":
		return x.sqrt(), true
	case "rsqrt":
		return one.div(x.sqrt()), true
	case "exp":
		return x.exp(), true
	case "exp2":
		if v := x.float(); math.Abs(v) > 1000 && math.Abs(v) < 1<<20 {
			whole, part := math.Modf(v)
			r := unbound(kernels.Exp2Of(part))
			r.e += int(whole)
			return r, true
		}
	case "gamma":
		if v := x.float(); math.Abs(v) > 160 && math.Abs(v) < 1<<16 && v != math.Floor(v) || v > 160 && v < 1<<16 {
			y, e := kernels.GammaFar(v)
			r := unbound(y)
			r.e += e
			return r, true
		}
	case "cbrt", "cbrt_slope":
		third := ((x.e % 3) + 3) % 3
		if !x.special() {
			y := unbounded{kernels.CbrtOf(math.Ldexp(x.m, third)), (x.e - third) / 3}.normal()
			if op.Name == "cbrt_slope" {
				return one.div(unbound(3).mul(y.mul(y))), true
			}
			return y, true
		}
	case "xlogy":
		if y.m > 0 && !y.special() {
			return x.zmul(y.log()), true
		}
	case "share", "share_slope":
		if d := x.sub(y); d.finite() && !d.special() {
			v := d.float()
			if v < -600 && v > -1<<20 || v > 600 && v < 1<<20 && op.Name == "share_slope" {
				return unbounded{-math.Abs(d.m), d.e}.exp(), true
			}
		}
	case "sinh", "cosh", "expm1":
		if v := x.float(); math.Abs(v) > 600 && x.finite() && (v > 0 || op.Name != "expm1") {
			r := unbounded{math.Abs(x.m), x.e}.exp()
			if op.Name != "expm1" {
				r.e--
			}
			if op.Name == "sinh" && v < 0 {
				r = r.neg()
			}
			return r, true
		}
		if small && op.Name != "cosh" {
			return x, true
		}
	case "csc", "cot", "coth":
		if small {
			return one.div(x), true
		}
	case "sech", "csch":
		if small && op.Name == "csch" {
			return one.div(x), true
		}
		if v := math.Abs(x.float()); v > 600 && x.finite() {
			r := unbound(-v).exp()
			r.e++
			if op.Name == "csch" {
				r.m = math.Copysign(r.m, x.m)
			}
			return r, true
		}
	case "expm1_inverse":
		if v := x.float(); v > 600 && x.finite() {
			return unbound(-v).exp(), true
		}
	case "sech2":
		if v := math.Abs(x.float()); v > 300 && x.finite() {
			r := unbound(-2 * v).exp()
			r.e += 2
			return r, true
		}
	case "sigmoid", "sigmoid_slope":
		if v := x.float(); x.finite() && (v < -600 || v > 600 && op.Name == "sigmoid_slope") {
			return unbound(-math.Abs(v)).exp(), true
		}
	case "softplus":
		if v := x.float(); x.finite() && v < -600 {
			return x.exp(), true
		}
	case "gauss", "normpdf":
		if v := x.float(); math.Abs(v) > 20 && math.Abs(v) < 1e3 { // the square as two numbers
			s := v * v
			lo := math.FMA(v, v, -s)
			if op.Name == "gauss" {
				return unbound(-s).exp().mul(unbound(1 - lo)), true
			}
			return unbound(-s / 2).exp().mul(unbound(0.3989422804014327 * (1 - lo/2))), true
		}
	case "log":
		if x.m > 0 {
			return x.log(), true
		}
	case "log2", "log10":
		if x.m > 0 && x.finite() && !x.inRange() {
			if op.Name == "log2" {
				return unbound(kernels.Log2Of(x.m) + float64(x.e)), true
			}
			return unbound(kernels.Log10Of(x.m) + float64(float64(x.e)*(math.Ln2/math.Ln10))), true
		}
	case "sin", "tan", "asin", "atan", "tanh", "asinh", "atanh", "log1p":
		switch {
		case small:
			return x, true
		case op.Name == "log1p" && large && x.m > 0:
			return x.log(), true
		}
	case "atan_slope":
		if large {
			return one.div(x).div(x), true
		}
	case "log1p_slope", "acosh_slope":
		if large && x.m > 0 {
			return one.div(x), true
		}
	case "hypot", "unit":
		h := x.mul(x).add(y.mul(y)).sqrt()
		if x.inRange() && y.inRange() || !h.finite() || h.m == 0 {
			break
		}
		if op.Name == "unit" {
			return x.div(h), true
		}
		return h, true
	}
	return unbounded{}, false
}
