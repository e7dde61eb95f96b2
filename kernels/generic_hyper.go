package kernels

import "math"

// ratio is (nh+nl)/(dh+dl) = q + r, with |r| at most an ulp of q.
func ratio(nh, nl, dh, dl float64) (q, r float64) {
	inv := 1 / dh
	q = float64(nh * inv)
	return q, float64((math.FMA(-q, dh, nh) + math.FMA(-q, dl, nl)) * inv)
}

// plus is t + b + d and minus is t + b + bl - d, for d = 2^-n, n >= 0. For n <= 51 t + d
// is exact; beyond, d belongs to the low part.
func plus(t, b, d float64) (h, l float64) {
	d, dl := split51(d)
	v := t + d
	h = v + b
	return h, (b - (h - v)) + dl
}

func minus(t, b, bl, d float64) (h, l float64) {
	d, dl := split51(d)
	u := t - d
	h = u + b
	return h, (b - (h - u)) + (bl - dl)
}

func split51(d float64) (h, l float64) {
	if d < 0x1p-51 {
		return 0, d
	}
	return d, 0
}

// Sigmoid is 1/(1+exp(-x)) of every element.
var Sigmoid = func(dst, x []float64) { each(dst, x, SigmoidOf) }

// SigmoidOf is Sigmoid of one number: with q = 1/(1+exp|x|) it is q on the left and
// 1-q on the right.
func SigmoidOf(x float64) float64 {
	q, r, d, n := logistic(math.Abs(x))
	if x < 0 {
		return scale(q+r, -n)
	}
	h, l := rest(q, r, d)
	return h + l
}

// logistic is 1/(1+exp(x)) = 2^-n * (q + r), d being 2^-n; x is not negative.
func logistic(x float64) (q, r, d float64, n int64) {
	t, b, _, n := expCore(clamp(x, 0, 760))
	d = power(n)
	q, r = recip(plus(t, b, d))
	return q, r, d, n
}

// rest is 1 - d*(q+r) = h + l.
func rest(q, r, d float64) (h, l float64) {
	h = math.FMA(-q, d, 1)
	return h, math.FMA(-r, d, math.FMA(-q, d, 1-h))
}

// slope is q+r times 1 - d*(q+r).
func slope(q, r, d float64) float64 {
	h, l := rest(q, r, d)
	return math.FMA(q, h, math.FMA(q, l, float64(r*h)))
}

// SigmoidSlope is sigmoid(x)*sigmoid(-x) of every element, the derivative of sigmoid.
var SigmoidSlope = func(dst, x []float64) { each(dst, x, SigmoidSlopeOf) }

// SigmoidSlopeOf is SigmoidSlope of one number.
func SigmoidSlopeOf(x float64) float64 {
	q, r, d, n := logistic(math.Abs(x))
	return scale(slope(q, r, d), -n)
}

// SigmoidTwin is Sigmoid and SigmoidSlope of every element.
var SigmoidTwin = func(y, d, x []float64) { eachTwin(y, d, x, SigmoidTwinOf) }

// SigmoidTwinOf is SigmoidTwin of one number.
func SigmoidTwinOf(x float64) (y, d float64) { return SigmoidOf(x), SigmoidSlopeOf(x) }

// recip is 1/(h+l) = q + r.
func recip(h, l float64) (q, r float64) {
	q = 1 / h
	return q, float64(math.FMA(-q, l, math.FMA(-q, h, 1)) * q)
}

// Softplus is log(1+exp(x)) of every element.
var Softplus = func(dst, x []float64) { each(dst, x, SoftplusOf) }

// SoftplusOf is Softplus of one number: max(x, 0) + log1p(exp(-|x|)).
func SoftplusOf(x float64) float64 {
	if x != x || x > 100 {
		return x
	}
	t, b, bl, n := expCoreLong(clamp(-math.Abs(x), expMin, 0), 0)
	eh, el := pair(t, b, bl)
	eh, el = scale(eh, n), scale(el, n)
	u := 1 + eh
	c := (eh - (u - 1)) + el
	h, l := logPair(u, c/u, 0)
	m := 0.0
	if x > 0 {
		m = x
	}
	s := m + h
	v := s - m
	e := (m - (s - v)) + (h - v)
	return s + (e + l)
}

// Sinh is sinh of every element.
var Sinh = func(dst, x []float64) { each(dst, x, SinhOf) }

// SinhOf is Sinh of one number: with t = expm1|x| it is (t + t/(t+1))/2.
func SinhOf(x float64) float64 {
	t, b, bl, n := expCore(clamp(math.Abs(x), 0, expMax))
	d := power(n)
	eh, el := pair(t, b, bl)
	th, tl := minus(t, b, bl, d)
	q, r := ratio(th, tl, eh, el)
	q = float64(q * d)
	h := th + q
	l := (q - (h - th)) + math.FMA(r, d, tl)
	return math.Copysign(scale(h+l, n-1), x)
}

// Cosh is cosh of every element.
var Cosh = func(dst, x []float64) { each(dst, x, CoshOf) }

// CoshOf is Cosh of one number: with E = exp|x| it is (E + 1/E)/2.
func CoshOf(x float64) float64 {
	t, b, bl, n := expCore(clamp(math.Abs(x), 0, expMax))
	d := power(n)
	h, l := pair(t, b, bl)
	q, r := recip(h, l)
	d = float64(d * d)
	q = float64(q * d)
	s := h + q
	return scale(s+((q-(s-h))+math.FMA(r, d, l)), n-1)
}

// Tanh is tanh of every element.
var Tanh = func(dst, x []float64) { each(dst, x, TanhOf) }

// TanhOf is Tanh of one number: with E = exp(2|x|) it is (E-1)/(E+1).
func TanhOf(x float64) float64 {
	t, b, bl, n := expCore(clamp(2*math.Abs(x), 0, 760))
	d := power(n)
	nh, nl := minus(t, b, bl, d)
	dh, dl := plus(t, b, d)
	inv := 1 / dh
	q := float64(nh * inv)
	return math.Copysign(math.FMA(math.FMA(-q, dh, nh)+math.FMA(-q, dl, nl), inv, q), x)
}

// Sech2 is 1/cosh(x)^2 of every element, the derivative of tanh.
var Sech2 = func(dst, x []float64) { each(dst, x, Sech2Of) }

// Sech2Of is Sech2 of one number: with q = 1/(1+exp(2|x|)) it is 4q(1-q).
func Sech2Of(x float64) float64 {
	q, r, d, n := logistic(2 * math.Abs(x))
	return scale(slope(q, r, d), 2-n)
}

// TanhSech2 is Tanh and Sech2, its derivative, of every element.
var TanhSech2 = func(y, d, x []float64) { eachTwin(y, d, x, TanhSech2Of) }

// TanhSech2Of is TanhSech2 of one number.
func TanhSech2Of(x float64) (y, d float64) { return TanhOf(x), Sech2Of(x) }

// Inverse functions take log(u + ul), u + ul of about twice the digits; what is
// below tiny is its own image, above huge only the leading term is left.
const tiny, huge = 0x1p-28, 0x1p28

// Asinh is asinh of every element.
var Asinh = func(dst, x []float64) { each(dst, x, AsinhOf) }

// AsinhOf is Asinh of one number: log(x + sqrt(x^2+1)).
func AsinhOf(x float64) float64 {
	a := math.Abs(x)
	if !(a >= tiny && a <= math.MaxFloat64) {
		return x
	}
	if a > huge {
		h, l := logPair(a, 0, 1)
		return math.Copysign(h+l, x)
	}
	p := float64(a * a)
	pl := math.FMA(a, a, -p)
	s, sl := twoSum(p, 1)
	q, ql := rootPair(s, sl+pl)
	u, ul := twoSum(q, a)
	h, l := logPair(u, (ul+ql)/u, 0)
	return math.Copysign(h+l, x)
}

// rootPair is sqrt(x+xl) = q + r.
func rootPair(x, xl float64) (q, r float64) {
	q = math.Sqrt(x)
	return q, (math.FMA(-q, q, x) + xl) / (2 * q)
}

// Acosh is acosh of every element.
var Acosh = func(dst, x []float64) { each(dst, x, AcoshOf) }

// AcoshOf is Acosh of one number: log(x + sqrt((x-1)(x+1))).
func AcoshOf(x float64) float64 {
	switch {
	case x < 1:
		return math.NaN()
	case x == 1:
		return 0
	case !(x <= math.MaxFloat64):
		return x
	case x > huge:
		h, l := logPair(x, 0, 1)
		return h + l
	}
	d := x - 1
	s, sl := twoSum(x, 1)
	p := float64(d * s)
	pl := math.FMA(d, sl, math.FMA(d, s, -p))
	q, ql := rootPair(p, pl)
	u, ul := twoSum(x, q)
	h, l := logPair(u, (ul+ql)/u, 0)
	return h + l
}

// Atanh is atanh of every element.
var Atanh = func(dst, x []float64) { each(dst, x, AtanhOf) }

// AtanhOf is Atanh of one number: log((1+x)/(1-x))/2.
func AtanhOf(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a >= tiny):
		return x
	case a > 1:
		return math.NaN()
	case a == 1:
		return math.Copysign(math.Inf(1), x)
	}
	nh, nl := twoSum(1, a)
	dh, dl := twoSum(1, -a)
	u, ul := ratio(nh, nl, dh, dl)
	h, l := logPair(u, ul/u, 0)
	return math.Copysign(0.5*(h+l), x)
}
