package kernels

import "math"

// PolygammaOf is the n-th derivative (n = 0, 1, 2, …) of digamma at x; NaN for another n. At
// the poles odd derivatives are +Inf, even ones NaN, but at 0 of the sign of -x. It is
// (-1)^s n! times the sum of 1/(x+k)^s over k = 0, 1, …, for s = n+1.
func PolygammaOf(n, x float64) float64 {
	m, f := nearest(x)
	odd := math.Mod(n, 2) == 1
	s := n + 1
	switch {
	case !(n >= 0) || n != math.Floor(n) || n > 0x1p50 || x != x || x < -math.MaxFloat64:
		return math.NaN()
	case n == 0:
		return DigammaOf(x)
	case x <= 0 && f == 0:
		switch {
		case odd:
			return math.Inf(1)
		case x == 0:
			return math.Inf(-1) * math.Copysign(1, x)
		}
		return math.NaN()
	}
	if n == 1 {
		return trigamma(x)
	}
	sign := 1.0
	if !odd {
		sign = -1
	}
	switch {
	case x > math.MaxFloat64:
		return math.Copysign(0, sign)
	case x >= zetaFar(s):
		return sign * factorialOver(n-1, n, x, zetaTail(s, x))
	case x > 0.5:
		return sign * factorialOver(n, s, x, zetaSum(s, 0, x, x))
	}
	// With r = |f| as the unit, what is right of m, the point itself, what is left.
	r := math.Abs(f)
	if !odd && x < 0 && n <= mostReflected && (n <= 12 && r > 0.3 || zetaTerm(s, 1, -r, r) > 0.25) {
		return polygammaReflected(n, x, f)
	}
	sum := zetaSum(s, 1, f, r)
	if odd || f > 0 {
		sum++
	} else {
		sum--
	}
	left := 0.0
	if m < -16 {
		left = zetaSum(s, 1, -f, r) - zetaSum(s, 1-m, -f, r)
	} else {
		for i := 1.0; i <= -m; i++ {
			left += zetaTerm(s, i, -f, r)
		}
	}
	return sign * factorialOver(n, s, r, sum+sign*left)
}

// mostReflected is the highest order that is reflected: the coefficients are less than 1e260.
const mostReflected = 140

// polygammaReflected is polygamma of even order n at negative x, f from the nearest
// integer: polygamma(n, 1-x) less the n-th derivative of pi cot(pi x) (DLMF 5.15.6).
// Both are small next to their zeros, which are near f = 1/2, while the terms of the sum
// to the left and to the right are not. The m-th derivative of cot is p(cot) with
// p' (-1 - cot^2) for the next; an even one is odd in cot, all its terms of one sign.
// Rounding of the coefficients adds up to some ulp at the highest orders, where that form
// is for the points at which the two nearest terms of the sum nearly cancel.
func polygammaReflected(n, x, f float64) float64 {
	c := TanOf(math.Pi * (0.5 - math.Abs(f))) // exact but for the roundings of pi and tan
	var p [mostReflected + 2]float64
	p[1] = 1
	for m := 1; m <= int(n); m++ {
		var next [mostReflected + 2]float64
		for k := 1; k <= m; k++ {
			next[k-1] -= float64(float64(k) * p[k])
			next[k+1] -= float64(float64(k) * p[k])
		}
		p = next
	}
	return PolygammaOf(n, 1-x) - float64(math.Pow(math.Pi, n+1)*math.Copysign(poly(p[:int(n)+2], c), f))
}

// trigammaFar is trigamma(x) = h + l for x >= seriesFrom, where 1/x does not underflow.
func trigammaFar(x float64) (h, l float64) {
	h, l = divPair(1, 0, x, 0)
	z2 := float64(h * h)
	return addPair(h, l, 0.5*z2, float64(float64(z2*h)*poly(bernoulli[:], z2)))
}

// trigamma is the derivative of digamma at x, which is no pole: positive everywhere.
func trigamma(x float64) float64 {
	n, f := nearest(x)
	switch {
	case x > 0x1p100:
		return 1 / x
	case x >= seriesFrom:
		h, l := trigammaFar(x)
		return h + l
	case math.Abs(x) < 0x1p-60:
		return 1 / x / x
	case x < -tooFar: // (pi/sin(pi x))^2 - trigamma(-x) + 1/x^2
		sh, sl := sinPiPair(f)
		sh, sl = divPair(onePiHi, onePiLo, sh, sl)
		sh, sl = mulPair(sh, sl, sh, sl)
		h, l := trigammaFar(-x)
		h, l = addPair(1/x/x, 0, -h, -l)
		h, l = addPair(sh, sl, h, l)
		return h + l
	}
	j, d := row(f)
	h, l := rowAt(trigammaTable[9*(int(max(n, 2))-2)+j][:], d)
	for i := n; i < 2; i++ {
		s, e := twoSum(i, f)
		s, e = mulPair(s, e, s, e)
		s, e = divPair(1, 0, s, e)
		h, l = addPair(h, l, s, e)
	}
	return h + l
}

// factorialOver is n! / x^s * y.
func factorialOver(n, s, x, y float64) float64 {
	if s <= mostMultiplied && x > 0x1p-40 && x < 0x1p40 {
		f := 1.0
		for k := 2.0; k <= n; k++ {
			f *= k
		}
		h, l := powerPair(x, 0, int(s))
		h, l = divPair(f, 0, h, l)
		return math.FMA(h, y, float64(l*y))
	}
	h, l := logLong(x)
	h, l = mulPair(h, l, -s, 0)
	var gh, gl float64
	if n > tooFar {
		gh, gl = lgammaFar(n + 1)
	} else {
		gh, gl = logPairOf(rising(0, 2, n+1))
	}
	h, l = addPair(gh, gl, h, l)
	switch {
	case h > 750:
		return math.Copysign(math.Inf(1), y)
	case h < -780:
		return math.Copysign(0, y)
	}
	h, l, e := expPair(h, l)
	return scale(math.FMA(h, y, float64(l*y)), e)
}

// zetaFar is from where zetaTail serves.
func zetaFar(s float64) float64 { return s + 10 }

// zetaTail is (s-1) x^(s-1) times the sum of 1/(x+k)^s, by Euler and Maclaurin.
func zetaTail(s, x float64) float64 {
	z := 1 / x
	c := float64((s - 1) * z)
	sum := 0.5 * c
	for j, b := range zetaSeries {
		i := float64(2 * j)
		c *= float64((s + i) * z)
		sum += float64(b * c)
		c *= float64((s + i + 1) * z)
	}
	return 1 + sum
}

// zetaSum is the sum of (r/(i+f))^s over i = lo, lo+1, …
func zetaSum(s, lo, f, r float64) float64 {
	far := zetaFar(s)
	sum, low, i := 0.0, 0.0, lo
	for ; i+f < far; i++ {
		t := zetaTerm(s, i, f, r)
		s, e := twoSum(sum, t)
		sum, low = s, low+e
		if t <= 0x1p-60*sum { // or both are 0
			return sum + low
		}
	}
	t := float64(zetaTerm(s, i, f, r) * zetaTail(s, i+f))
	return sum + (low + float64(t*((i+f)/(s-1))))
}

// zetaTerm is (r/(i+f))^s; f is r or -r, so that the distance i+f-r is almost exact.
func zetaTerm(s, i, f, r float64) float64 {
	if s == 2 {
		q := r / (i + f)
		return float64(q * q)
	}
	if s <= mostMultiplied {
		d, e := twoSum(i, f)
		q := r / d
		missing := math.FMA(-q, d, r) - float64(q*e) // r - q(d+e)
		h, l := powerPair(q, missing/d, int(s))
		return h + l
	}
	return ExpOf(-s * Log1pOf((i+(f-r))/r))
}

// mostMultiplied is up to which powers are products: polygamma(2, x) took 2.7 times as long with a logarithm and
// an exponential for each term.
const mostMultiplied = 8

// powerPair is (xh+xl)^n for n > 0.
func powerPair(xh, xl float64, n int) (h, l float64) {
	for ; n%2 == 0; n /= 2 {
		xh, xl = mulPair(xh, xl, xh, xl)
	}
	h, l = xh, xl
	for n /= 2; n > 0; n /= 2 {
		xh, xl = mulPair(xh, xl, xh, xl)
		if n%2 == 1 {
			h, l = mulPair(h, l, xh, xl)
		}
	}
	return h, l
}
