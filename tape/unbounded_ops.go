package tape

import (
	"math"

	"nabla/kernels"
)

// unboundedOp computes an operation whose arguments or result may leave the range; false:
// float64 does as well.
func unboundedOp(op *Op, x, y, z unbounded) (unbounded, bool) {
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
		return x.inverse(), true
	case "log_slope":
		if x.m < 0 {
			return unbounded{math.NaN(), 0}, true
		}
		return x.inverse(), true
	case "abs":
		return unbounded{math.Abs(x.m), x.e}, true
	case "where":
		if x.m != 0 {
			return y, true
		}
		return z, true
	case "sqrt":
		return x.sqrt(), true
	case "rsqrt":
		return x.sqrt().inverse(), true
	}
	if v, ok := unboundedPower(op, x, y, z); ok {
		return v, true
	}
	if v, ok := unboundedPole(op, x, y); ok {
		return v, true
	}
	return unboundedExponential(op, x, y)
}

// unboundedPower computes powers, logarithms and what is one of them far from 1.
func unboundedPower(op *Op, x, y, z unbounded) (unbounded, bool) {
	large := x.finite() && x.e > 500
	switch op.Name {
	case "power":
		if y.inRange() || y.e < 0 {
			return x.pow(y.float()), true
		}
	case "power_derivative":
		if n, k := int(x.float())&4095, int(x.float())>>12; n < 64 && k <= 2 && (z.inRange() || z.e < 0) && math.Abs(z.float()) < 512 {
			return y.powDerivative(n, k, z.float()), true
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
				return unbound(3).mul(y.mul(y)).inverse(), true
			}
			return y, true
		}
	case "xlogy":
		if y.m > 0 && !y.special() {
			return x.zmul(y.log()), true
		}
	case "csc", "cot", "coth":
		if x.small() {
			return x.inverse(), true
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
		case x.small():
			return x, true
		case op.Name == "log1p" && large && x.m > 0:
			return x.log(), true
		}
	case "atan_slope":
		if large {
			return x.inverse().div(x), true
		}
	case "log1p_slope", "acosh_slope":
		if large && x.m > 0 {
			return x.inverse(), true
		}
	case "hypot", "unit", "turn":
		h := x.mul(x).add(y.mul(y)).sqrt()
		if x.inRange() && y.inRange() || !h.finite() || h.m == 0 {
			break
		}
		switch op.Name {
		case "unit":
			return x.div(h), true
		case "turn":
			return x.div(h).div(h), true
		}
		return h, true
	case "one_minus_square":
		if large {
			return x.mul(x).neg(), true
		}
	}
	return unbounded{}, false
}

// unboundedPole computes the gamma function and its relatives next to their pole at 0.
func unboundedPole(op *Op, x, y unbounded) (unbounded, bool) {
	switch op.Name {
	case "gamma":
		if x.small() {
			return x.inverse(), true
		}
	case "lgamma":
		if x.small() {
			return unbounded{math.Abs(x.m), x.e}.log().neg(), true
		}
	case "digamma":
		if x.small() {
			return x.inverse().neg(), true
		}
	case "polygamma": // n! (-1/x)^(n+1)
		if n := x.float(); y.small() && n == math.Floor(n) && n >= 0 && n <= 170 {
			v := y.inverse().neg()
			each := v
			for k := 1.0; k <= n; k++ {
				v = v.mul(each).mul(unbound(k))
			}
			return v, true
		}
	}
	return unbounded{}, false
}

// unboundedExponential computes what grows or vanishes as an exponential does.
func unboundedExponential(op *Op, x, y unbounded) (unbounded, bool) {
	switch op.Name {
	case "exp":
		return x.exp(), true
	case "exp2":
		if v := x.float(); math.Abs(v) > 1000 && math.Abs(v) < 1<<20 {
			whole, part := math.Modf(v)
			r := unbound(kernels.Exp2Of(part))
			r.e += int(whole)
			return r, true
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
		if x.small() && op.Name != "cosh" {
			return x, true
		}
	case "sech", "csch":
		if x.small() && op.Name == "csch" {
			return x.inverse(), true
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
	case "gauss", "normpdf", "erfc", "normcdf":
		v := x.float()
		if !(math.Abs(v) > 20 && math.Abs(v) < 1e3) {
			break
		}
		switch {
		case op.Name == "gauss":
			return bell(v, 1), true
		case op.Name == "normpdf":
			return bell(v, 0.5).mul(unbound(0.3989422804014327)), true
		case op.Name == "erfc" && v > 0:
			return bell(v, 1).mul(unbound(kernels.ErfcxOf(v))), true
		case op.Name == "normcdf" && v < 0:
			return bell(v, 0.5).mul(unbound(0.5 * kernels.ErfcxOf(-v*math.Sqrt2/2))), true
		}
	}
	return unbounded{}, false
}

// bell is exp(-c v²), with the square as two numbers.
func bell(v, c float64) unbounded {
	s := v * v
	return unbound(-c * s).exp().mul(unbound(1 - c*math.FMA(v, v, -s)))
}
