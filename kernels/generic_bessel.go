package kernels

import "math"

// The modified Bessel functions of the first kind I0 and I1, themselves and times exp(-|x|), and their derivatives. All
// sums are of positive terms, or of what is small beside its first term: DLMF 10.25.2, 10.40.1, 13.2.2 and 13.7.2.

// besselFar is from where the asymptotic series are exact to rounding.
const besselFar = 20

// I0Of is I0 of one number.
func I0Of(x float64) float64 { return besselOf(0, math.Abs(x)) }

// I1Of is I1 of one number.
func I1Of(x float64) float64 { return math.Copysign(besselOf(1, math.Abs(x)), x) }

// I0eOf is exp(-|x|) I0(x) of one number.
func I0eOf(x float64) float64 { return besselScaled(0, math.Abs(x)) }

// I1eOf is exp(-|x|) I1(x) of one number.
func I1eOf(x float64) float64 { return math.Copysign(besselScaled(1, math.Abs(x)), x) }

// besselOf is I0 or I1 of a number that is not negative.
func besselOf(order, x float64) float64 {
	if x != x || x > 720 {
		return x + math.Inf(1)
	}
	h, l := besselPair(order, x)
	return timesExp(h, l, x)
}

// besselScaled is that times exp(-x).
func besselScaled(order, x float64) float64 {
	h, l := besselPair(order, x)
	return h + l
}

// besselPair is besselScaled in two parts.
func besselPair(order, x float64) (h, l float64) {
	if x < besselFar {
		return besselPairNear(order, x)
	}
	return besselSeriesFar(order, x)
}

// timesExp is (h+l) exp(x).
func timesExp(h, l, x float64) float64 {
	eh, el, n := expPair(x, 0)
	h, l = mulPair(h, l, eh, el)
	return scale(h+l, n)
}

// squareQuarter is x^2/4.
func squareQuarter(x float64) (h, l float64) {
	h = 0.25 * float64(x*x)
	return h, 0.25 * math.FMA(x, x, -float64(x*x))
}

// besselSeriesFar is the asymptotic series of exp(-x) I0(x) or I1(x).
func besselSeriesFar(order, x float64) (h, l float64) {
	last := 6.0
	switch {
	case x < 60:
		last = 36
	case x < 1000:
		last = 14
	}
	tail, most := 0.0, 4*order*order
	for k := last; k >= 1; k-- {
		odd := 2*k - 1
		tail = (odd*odd - most) / (8 * k * x) * (1 + tail)
	}
	h = 1 + tail
	return overRoot(h, tail-(h-1), x)
}

// overRoot is (h+l)/sqrt(2 pi x).
func overRoot(h, l, x float64) (float64, float64) {
	if math.IsInf(x, 1) {
		return 0, 0
	}
	s := math.Sqrt(x)
	sl := math.FMA(-s, s, x) / (2 * s)
	h, l = mulPair(h, l, rootHi, rootLo)
	return divPair(h, l, s, sl)
}

// I0DerivativeOf is the n-th derivative of I0; NaN where n is no order.
func I0DerivativeOf(n, x float64) float64 {
	a := math.Abs(x)
	switch {
	case !isOrder(n) || x != x:
		return math.NaN()
	case a > 720:
		return oddly(n, x, math.Inf(1))
	case n < 2:
		return oddly(n, x, besselOf(n, a))
	case n == 2 && a < besselFar:
		row, d := besselAt(a)
		h, l := row.s.at(d)
		return timesExp(h, l, a)
	case a < besselFar+2*n:
		h, l := i0DerivativeNear(n, a)
		return oddly(n, x, h+l)
	}
	h, l, c := 0.0, 0.0, 1.0 // the derivatives of exp(x) times exp(-x) I0(x), over exp(x)
	for j := 0.0; j <= n; j++ {
		mh, ml := besselMoment(j, a)
		mh, ml = mulPair(mh, ml, c, 0)
		h, l = addPair(h, l, mh, ml)
		c *= -(n - j) / (j + 1)
	}
	return oddly(n, x, timesExp(h, l, a))
}

// i0DerivativeNear is the derivative term by term.
func i0DerivativeNear(n, x float64) (h, l float64) {
	z, zl := squareQuarter(x)
	first := math.Ceil(n / 2)
	h, l = 1, 0
	for k := first + 12 + math.Ceil(float64(1.5*x)+n/2); k > first; k-- {
		h, l = mulPair(h, l, z, zl)
		h, l = mulPair(h, l, 2*k*(2*k-1), 0)
		h, l = divPair(h, l, (2*k-n)*(2*k-1-n), 0)
		h, l = divPair(h, l, k*k, 0)
		h, l = addPair(1, 0, h, l)
	}
	for j := 1.0; j <= first; j++ {
		h, l = mulPair(h, l, 2*j-1, 0)
		h, l = divPair(h, l, 2*j, 0)
	}
	if 2*first > n {
		h, l = mulPair(h, l, x, 0)
	}
	return h, l
}

// I0eDerivativeOf is the n-th derivative of exp(-|x|) I0(x); at 0, where it has a kink, that between both sides.
func I0eDerivativeOf(n, x float64) float64 {
	switch {
	case !isOrder(n) || x != x:
		return math.NaN()
	case x == 0 && oddOrder(n):
		return 0
	}
	h, l := besselMomentOf(n, math.Abs(x))
	return alternating(n, x, h+l)
}

// besselMomentOf is besselMoment, by rows where they serve.
func besselMomentOf(n, x float64) (h, l float64) {
	if n <= besselOrders && x < besselFar+2*n {
		row, d := besselAt(x)
		return row.m[int(n)].at(d)
	}
	return besselMoment(n, x)
}

// I1eDerivativeOf is the n-th derivative of exp(-|x|) I1(x), likewise.
func I1eDerivativeOf(n, x float64) float64 {
	switch {
	case !isOrder(n) || x != x:
		return math.NaN()
	case x == 0 && !oddOrder(n):
		return 0
	}
	h, l := besselFall(n, math.Abs(x))
	if x < 0 {
		return -alternating(n, x, h+l)
	}
	return alternating(n, x, h+l)
}

// besselFall is M_n less M_(n+1), (-1)^n times the n-th derivative of exp(-x) I1(x), by rows where they are exact enough.
func besselFall(n, x float64) (h, l float64) {
	if n <= besselOrders && x < besselWithin {
		row, d := besselAt(x)
		e := &row.e[int(n)]
		if h, l = e.at(d); math.Abs(h) >= math.Abs(e.c[0])/128 {
			return h, l
		}
	}
	mh, ml := besselMoment(n, x)
	nh, nl := besselMoment(n+1, x)
	return addPair(mh, ml, -nh, -nl)
}

// besselMoment is (-1)^n times the n-th derivative of exp(-x) I0(x) for x >= 0: the mean of (1 - cos θ)^n exp(-x (1 - cos θ)).
func besselMoment(n, x float64) (h, l float64) {
	if x < besselFar+2*n {
		h, l = 1, 0
		for k := math.Ceil(2*x+float64(9.5*math.Sqrt(2*x))) + 30; k >= 1; k-- {
			h, l = mulPair(h, l, x, 0)
			h, l = mulPair(h, l, 2*k-1, 0)
			h, l = divPair(h, l, (n+k)*k, 0)
			h, l = addPair(1, 0, h, l)
		}
		for k := 1.0; k <= n; k++ {
			h, l = mulPair(h, l, 2*k-1, 0)
			h, l = divPair(h, l, k, 0)
		}
		eh, el, p := expPair(-2*x, 0)
		h, l = mulPair(h, l, eh, el)
		return scale(h, p), scale(l, p)
	}
	tail := 0.0
	for s := 60.0; s >= 1; s-- {
		tail = float64((n+s-0.5)*(s-0.5)) / float64(2*s*x) * (1 + tail)
	}
	h = 1 + tail
	h, l = overRoot(h, tail-(h-1), x)
	for k := 1.0; k <= n && h > 0; k++ {
		h, l = mulPair(h, l, k-0.5, 0)
		h, l = divPair(h, l, x, 0)
	}
	return h, l
}

// isOrder reports whether n is an order of derivatives.
func isOrder(n float64) bool { return n == math.Trunc(n) && n >= 0 && n <= 1000 }

func oddOrder(n float64) bool { return int(n)&1 != 0 }

// oddly is y with the sign of x where n is odd.
func oddly(n, x, y float64) float64 {
	if oddOrder(n) && x < 0 {
		return -y
	}
	return y
}

// alternating is y, from x = 0 on with the sign of (-1)^n.
func alternating(n, x, y float64) float64 {
	if oddOrder(n) && x >= 0 {
		return -y
	}
	return y
}
