package unbounded

import (
	"math"

	"nabla/kernels"
)

// Apply computes the operation of that name, whose arguments or result may leave the range; false:
// float64 does as well.
func Apply(op string, x, y, z Number) (Number, bool) {
	switch op {
	case "name", "stop_gradient":
		return x, true
	case "add":
		return x.Add(y), true
	case "subtract":
		return x.sub(y), true
	case "multiply":
		return x.Mul(y), true
	case "zmul":
		return x.zmul(y), true
	case "divide", "quotient":
		return x.div(y), true
	case "fma":
		if x.Mul(y).inRange() && z.inRange() {
			return Number{}, false
		}
		return x.Mul(y).Add(z), true
	case "negative":
		return x.neg(), true
	case "square":
		return x.Mul(x), true
	case "cube":
		return x.Mul(x).Mul(x), true
	case "fourth":
		return x.Mul(x).Mul(x.Mul(x)), true
	case "reciprocal":
		return x.inverse(), true
	case "log_slope":
		if x.M < 0 {
			return Number{math.NaN(), 0}, true
		}
		return x.inverse(), true
	case "abs":
		return Number{math.Abs(x.M), x.E}, true
	case "sign", "abs_slope":
		if x.Special() {
			return Number{}, false
		}
		return Number{math.Copysign(1, x.M), 0}, true
	case "where":
		if x.M != 0 {
			return y, true
		}
		return z, true
	case "sqrt":
		return x.Sqrt(), true
	case "rsqrt":
		return x.Sqrt().inverse(), true
	}
	if p, ok := kernels.PowerNamed(op); ok {
		return x.pow(p), true
	}
	if v, ok := power(op, x, y, z); ok {
		return v, true
	}
	if v, ok := logarithm(op, x, y); ok {
		return v, true
	}
	if v, ok := pole(op, x, y); ok {
		return v, true
	}
	if v, ok := poles(op, x, y, z); ok {
		return v, true
	}
	return exponential(op, x, y)
}

// power computes powers, and what is one far from 1.
func power(op string, x, y, z Number) (Number, bool) {
	large := x.Finite() && x.E > 500
	switch op {
	case "power":
		if y.inRange() || y.E < 0 {
			return x.pow(y.Float()), true
		}
	case "power_derivative":
		n, k := int(x.Float())&4095, int(x.Float())>>12
		if n > 0 && n < 64 && k == 0 && !z.Special() && z.E < -1000 { // a factor that float64 would round
			return y.powDerivative(n, 1, 0).Mul(z), true
		}
		if n < 64 && k <= 2 && (z.inRange() || z.E < 0) {
			return y.powDerivative(n, k, z.Float()), true
		}
	case "gamma":
		if v := x.Float(); math.Abs(v) > 160 && math.Abs(v) < 1<<44 && (v > 0 || v != math.Floor(v)) {
			y, e := kernels.GammaFar(v)
			return far(y, int64(e)), true
		}
	case "cbrt", "cbrt_slope":
		third := ((x.E % 3) + 3) % 3
		if !x.Special() {
			y := Number{kernels.CbrtOf(math.Ldexp(x.M, int(third))), (x.E - third) / 3}.Normal()
			if op == "cbrt_slope" {
				return Of(3).Mul(y.Mul(y)).inverse(), true
			}
			return y, true
		}
	case "csc", "cot", "coth":
		if x.small() {
			return x.inverse(), true
		}
	case "sin", "tan", "asin", "atan", "tanh", "asinh", "atanh", "log1p":
		switch {
		case x.small():
			return x, true
		case op == "log1p" && large && x.M > 0:
			return x.log(), true
		}
	case "atan_slope":
		if large {
			return x.inverse().div(x), true
		}
	case "log1p_slope", "acosh_slope":
		if large && x.M > 0 {
			return x.inverse(), true
		}
	case "hypot", "unit", "turn":
		h := x.Mul(x).Add(y.Mul(y)).Sqrt()
		if x.inRange() && y.inRange() || !h.Finite() || h.M == 0 {
			break
		}
		switch op {
		case "unit":
			return x.div(h), true
		case "turn":
			return x.div(h).div(h), true
		}
		return h, true
	case "one_minus_square":
		if large {
			return x.Mul(x).neg(), true
		}
	}
	return Number{}, false
}

// logarithm computes logarithms.
func logarithm(op string, x, y Number) (Number, bool) {
	switch op {
	case "log":
		if x.M > 0 {
			return x.log(), true
		}
	case "log2", "log10":
		if x.M > 0 && x.Finite() && !x.inRange() {
			if op == "log2" {
				return Of(kernels.Log2Of(x.M) + float64(x.E)), true
			}
			return Of(kernels.Log10Of(x.M) + float64(float64(x.E)*(math.Ln2/math.Ln10))), true
		}
	case "xlogy":
		if y.M > 0 && !y.Special() {
			return x.zmul(y.log()), true
		}
	}
	return Number{}, false
}

// pole computes the gamma function and its relatives next to their pole at 0, and those that
// are powers far out, there.
func pole(op string, x, y Number) (Number, bool) {
	switch op {
	case "gamma":
		if x.small() {
			return x.inverse(), true
		}
	case "lgamma":
		if x.small() {
			return Number{math.Abs(x.M), x.E}.log().neg(), true
		}
	case "digamma":
		if x.small() {
			return x.inverse().neg(), true
		}
		if x.far() {
			return x.log(), true
		}
	case "polygamma":
		n := x.Float()
		if n != math.Floor(n) || n < 0 || n > 170 {
			break
		}
		if y.small() {
			return poleOf(n+1, y), true
		}
		if y.far() && n > 0 {
			return poleOf(n, y).neg(), true
		}
	}
	return Number{}, false
}

// poles computes beta and its relatives where their first argument is next to 0: beta is 1/a
// there, and 1/b more where b is next to 0, too.
func poles(op string, x, y, z Number) (Number, bool) {
	if op == "polygamma_fall" {
		n := x.Float()
		if n != math.Floor(n) || n < 1 || n > 170 || !y.small() || z.Special() || z.E < y.E-3 || z.M < 0 {
			return Number{}, false // of small steps nothing would be left
		}
		return poleOf(n+1, y).sub(poleOf(n+1, y.Add(z))), true
	}
	if y.small() && !x.small() && (op == "beta" || op == "betaln") {
		x, y = y, x
	}
	if !x.small() || y.Special() || y.M < 0 && !y.small() || y == x.neg() {
		return Number{}, false
	}
	switch op {
	case "beta":
		return x.Add(y).div(x).div(y), true
	case "betaln":
		v := x.Add(y).div(x).div(y)
		return Number{math.Abs(v.M), v.E}.log(), true
	case "beta_slope":
		return poleOf(2, x).neg(), true
	case "beta_curve":
		return poleOf(3, x).neg(), true
	case "digamma_fall":
		return y.div(x.Add(y)).div(x).neg(), true
	}
	return Number{}, false
}

// poleOf is (n-1)! (-1/x)^n: what polygamma n-1 is next to 0, and less polygamma n far out.
func poleOf(n float64, x Number) Number {
	each := x.inverse().neg()
	v := each
	for k := 1.0; k < n; k++ {
		v = v.Mul(each).Mul(Of(k))
	}
	return v
}

const sqrtPiInverse = 0.5641895835477563

// exponential computes what grows or vanishes as an exponential does.
func exponential(op string, x, y Number) (Number, bool) {
	switch op {
	case "exp":
		return x.exp(), true
	case "exp2":
		if v := x.Float(); math.Abs(v) > 1000 && math.Abs(v) < mostPower {
			whole, part := math.Modf(v)
			return far(kernels.Exp2Of(part), int64(whole)), true
		}
	case "share", "share_slope":
		if d := x.sub(y); d.Finite() && !d.Special() {
			v, a, b := d.Float(), x.Float(), y.Float()
			if v < -600 && v > -mostPower || v > 600 && v < mostPower && op == "share_slope" {
				r := Number{-math.Abs(d.M), d.E}.exp()
				back := v - a
				lost := (a - (v - back)) - (b + back) // by rounding, as float64 would (Knuth's TwoSum)
				return Number{r.M * (1 - float64(math.Copysign(1, v)*lost)), r.E}.Normal(), true
			}
		}
	case "expm1_inverse":
		if v := x.Float(); v > 600 && x.Finite() {
			return Of(-v).exp(), true
		}
	case "sigmoid", "sigmoid_slope":
		if v := x.Float(); x.Finite() && (v < -600 || v > 600 && op == "sigmoid_slope") {
			return Of(-math.Abs(v)).exp(), true
		}
	case "softplus":
		if v := x.Float(); x.Finite() && v < -600 {
			return x.exp(), true
		}
	}
	if v, ok := hyperbolic(op, x); ok {
		return v, true
	}
	return normal(op, x, y)
}

// hyperbolic computes hyperbolic functions, and exp(x) - 1.
func hyperbolic(op string, x Number) (Number, bool) {
	switch op {
	case "sinh", "cosh", "expm1":
		if v := x.Float(); math.Abs(v) > 600 && x.Finite() && (v > 0 || op != "expm1") {
			r := Number{math.Abs(x.M), x.E}.exp()
			if op != "expm1" {
				r.E--
			}
			if op == "sinh" && v < 0 {
				r = r.neg()
			}
			return r, true
		}
		if x.small() && op != "cosh" {
			return x, true
		}
	case "sech", "csch":
		if x.small() && op == "csch" {
			return x.inverse(), true
		}
		if v := math.Abs(x.Float()); v > 600 && x.Finite() {
			r := Of(-v).exp()
			r.E++
			if op == "csch" {
				r.M = math.Copysign(r.M, x.M)
			}
			return r, true
		}
	case "sech2":
		if v := math.Abs(x.Float()); v > 300 && x.Finite() {
			r := Of(-2 * v).exp()
			r.E += 2
			return r, true
		}
	}
	return Number{}, false
}

// normal computes the bell curve, and what is under its tails.
func normal(op string, x, y Number) (Number, bool) {
	switch op {
	case "erfcx":
		if x.far() {
			return x.inverse().Mul(Of(sqrtPiInverse)), true
		}
	case "erfcx_derivative":
		if n := x.Float(); y.far() && n >= 0 && n <= 170 {
			return poleOf(n+1, y).neg().Mul(Of(sqrtPiInverse)), true // of 1/(sqrt(pi) y)
		}
	case "gauss", "normpdf", "erfc", "normcdf":
		v := x.Float()
		if !(math.Abs(v) > 20 && math.Abs(v) < 1<<27) {
			break
		}
		switch {
		case op == "gauss":
			return bell(v, 1), true
		case op == "normpdf":
			return bell(v, 0.5).Mul(Of(0.3989422804014327)), true
		case op == "erfc" && v > 0:
			return bell(v, 1).Mul(Of(kernels.ErfcxOf(v))), true
		case op == "normcdf" && v < 0:
			return bell(v, 0.5).Mul(Of(0.5 * kernels.ErfcxOf(-v*math.Sqrt2/2))), true
		}
	}
	return Number{}, false
}

// bell is exp(-c v²), with the square as two numbers.
func bell(v, c float64) Number {
	s := v * v
	return far(kernels.ExpFar(-c*s, -c*math.FMA(v, v, -s)))
}
