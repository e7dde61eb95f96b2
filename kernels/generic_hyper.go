package kernels

import "math"

// ratio is (nh+nl)/(dh+dl) = q + r, with |r| at most an ulp of q.
func ratio(nh, nl, dh, dl float64) (q, r float64) {
	inv := 1 / dh
	q = float64(nh * inv)
	rem := math.FMA(-q, dh, nh) + math.FMA(-q, dl, nl)
	return q, float64(rem * inv)
}

// expPlus1 is exp(x) = 2^n * (h + l) and exp(x)+1 = 2^n * (dh + dl), for x >= 0.
func expPlus1(x float64) (h, l, dh, dl float64, n int64) {
	h, l, n = expPair(x, 0)
	d := power(n)
	dh = h + d
	return h, l, dh, (d - (dh - h)) + l, n
}

// Sigmoid is 1/(1+exp(-x)) of every element.
var Sigmoid = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SigmoidOf(x)
	}
}

// SigmoidOf is Sigmoid of one number: with E = exp|x| it is E/(E+1) on the right and
// 1/(E+1) on the left.
func SigmoidOf(x float64) float64 {
	h, l, dh, dl, n := expPlus1(clamp(math.Abs(x), 0, 760))
	if x < 0 {
		h, l, n = 1, 0, -n
	} else {
		n = 0
	}
	q, r := ratio(h, l, dh, dl)
	return scale(q+r, n)
}

// Softplus is log(1+exp(x)) of every element.
var Softplus = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SoftplusOf(x)
	}
}

// SoftplusOf is Softplus of one number: max(x, 0) + log1p(exp(-|x|)).
func SoftplusOf(x float64) float64 {
	if x != x || x > 100 {
		return x
	}
	eh, el, n := expPair(clamp(-math.Abs(x), expMin, 0), 0)
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
var Sinh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SinhOf(x)
	}
}

// SinhOf is Sinh of one number: with t = expm1|x| it is (t + t/(t+1))/2.
func SinhOf(x float64) float64 {
	y, a, tail, n := expParts(clamp(math.Abs(x), 0, expMax), 0)
	d := power(n)
	eh, el := sum3(y, a, tail)
	th, tl := minus1(y, a, tail, d)
	q, r := ratio(th, tl, eh, el)
	q = float64(q * d)
	h := th + q
	l := (q - (h - th)) + math.FMA(r, d, tl)
	return math.Copysign(scale(h+l, n-1), x)
}

// Cosh is cosh of every element.
var Cosh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = CoshOf(x)
	}
}

// CoshOf is Cosh of one number: with E = exp|x| it is (E + 1/E)/2.
func CoshOf(x float64) float64 {
	h, l, n := expPair(clamp(math.Abs(x), 0, expMax), 0)
	d := power(n)
	q, r := ratio(float64(d*d), 0, h, l)
	s := h + q
	return scale(s+((q-(s-h))+(l+r)), n-1)
}

// Tanh is tanh of every element.
var Tanh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = TanhOf(x)
	}
}

// TanhOf is Tanh of one number: with t = expm1(2|x|) it is t/(t+2).
func TanhOf(x float64) float64 {
	y, a, tail, n := expParts(2*clamp(math.Abs(x), 0, 30), 0)
	d := power(n)
	eh, el := sum3(y, a, tail)
	dh := eh + d
	dl := (d - (dh - eh)) + el
	th, tl := minus1(y, a, tail, d)
	q, r := ratio(th, tl, dh, dl)
	return math.Copysign(q+r, x)
}

// Sech2 is 1/cosh(x)^2 of every element, the derivative of tanh.
var Sech2 = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = Sech2Of(x)
	}
}

// Sech2Of is Sech2 of one number: with E = exp(2|x|) it is 4E/(E+1)^2.
func Sech2Of(x float64) float64 {
	h, l, dh, dl, n := expPlus1(2 * clamp(math.Abs(x), 0, 380))
	ph := float64(dh * dh)
	pl := math.FMA(2*dh, dl, math.FMA(dh, dh, -ph))
	q, r := ratio(h, l, ph, pl)
	return scale(q+r, 2-n)
}

// Inverse functions take log(u + ul), u + ul of about twice the digits; what is
// below tiny is its own image, above huge only the leading term is left.
const tiny, huge = 0x1p-28, 0x1p28

// Asinh is asinh of every element.
var Asinh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AsinhOf(x)
	}
}

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
var Acosh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AcoshOf(x)
	}
}

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
var Atanh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AtanhOf(x)
	}
}

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
