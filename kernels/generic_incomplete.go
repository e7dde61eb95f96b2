package kernels

import "math"

// The regularised incomplete gamma functions. What is small is computed, P = γ(a,x)/Γ(a) or Q = Γ(a,x)/Γ(a), and the
// other is 1 less it, so that nothing cancels in the tails. For P there is the power series (DLMF 8.11.4), for Q Legendre's
// continued fraction (8.9.2), or for small x the power series less its first term; for large a near x Temme's
// expansion (8.12). The factor x^a exp(-x)/Γ(a+1) of all of them is the exponential of a number in two parts.

// Gammainc is P(a,x) of every pair.
var Gammainc = func(dst, a, x []float64) {
	a, x = a[:len(dst)], x[:len(dst)]
	var of lastShape
	for i := range dst {
		dst[i] = of.incomplete(a[i], x[i], false)
	}
}

// Gammaincc is Q(a,x) of every pair.
var Gammaincc = func(dst, a, x []float64) {
	a, x = a[:len(dst)], x[:len(dst)]
	var of lastShape
	for i := range dst {
		dst[i] = of.incomplete(a[i], x[i], true)
	}
}

// GammaincOf is P(a,x), and GammainccOf is Q(a,x) = 1 - P(a,x).
func GammaincOf(a, x float64) float64 {
	var of lastShape
	return of.incomplete(a, x, false)
}

// GammainccOf is GammaincOf from the other side.
func GammainccOf(a, x float64) float64 {
	var of lastShape
	return of.incomplete(a, x, true)
}

// A lastShape is what the last of several calls found of a alone, log(Γ(a+1)): often all of them have the same.
type lastShape struct{ a, h, l float64 }

// above is lgammaAbove(a).
func (of *lastShape) above(a float64) (h, l float64) {
	if of.a != a { // which is not 0
		h, l = lgammaAbove(a)
		*of = lastShape{a, h, l}
	}
	return of.h, of.l
}

// incomplete is P(a,x), or Q(a,x).
func (of *lastShape) incomplete(a, x float64, upper bool) float64 {
	v, isUpper := of.tail(a, x)
	if isUpper != upper {
		return 1 - v
	}
	return v
}

const (
	temmeFrom   = 25  // a from which there is Temme's expansion,
	temmeBelow  = 0.3 // for x from a (1 - this)
	temmeAbove  = 0.4 // to a (1 + this)
	smallX      = 1.1 // below this Q is a power series
	powersBelow = 7   // a from which Γ(a) is Stirling's series
)

// tail is P(a,x), or Q(a,x) where upper is true: of the two the small one, but for rounding.
func (of *lastShape) tail(a, x float64) (v float64, upper bool) {
	switch {
	case !(a >= 0 && x >= 0) || a == 0 && x == 0 || a > math.MaxFloat64 && x > math.MaxFloat64:
		return math.NaN(), false
	case a == 0 || x > math.MaxFloat64:
		return 0, true
	case x == 0 || a > math.MaxFloat64:
		return 0, false
	case x < smallX:
		if x < 0.5 && a < -0.4/LogOf(x) || x >= 0.5 && a < x {
			return of.upperNear(a, x), true
		}
		return of.series(a, x), false
	case a >= temmeFrom && x > (1-temmeBelow)*a && x < (1+temmeAbove)*a:
		return gammaTemme(a, x), x >= a
	case x < a:
		return of.series(a, x), false
	}
	return of.fraction(a, x), true
}

// series is P(a,x) for x that is not much larger than a: x^a exp(-x)/Γ(a+1) (1 + x/(a+1) (1 + x/(a+2) (1 + …))).
func (of *lastShape) series(a, x float64) float64 {
	h, l, n := of.factor(a, x, false)
	if h == 0 {
		return 0
	}
	var factors [40]float64 // of x/(a+k) the first, which are most: no sum waits for a division
	last := 1
	for least := 1.0; least > 0x1p-56; last++ {
		q := x / (a + float64(last))
		if last < len(factors) {
			factors[last] = q
		}
		least *= q
	}
	sum := 1 + x/(a+float64(last))
	for k := last - 1; k > 1; k-- {
		if k < len(factors) {
			sum = math.FMA(factors[k], sum, 1)
		} else {
			sum = math.FMA(x/(a+float64(k)), sum, 1)
		}
	}
	// the first factor with what x/(a+1) rounds
	d, dl := twoSum(a, 1)
	q, r := ratio(x, 0, d, dl)
	p := float64(q * sum)
	s := 1 + p
	rest := (p - (s - 1)) + math.FMA(q, sum, -p) + float64(r*sum)
	if p > 1 {
		rest = (1 - (s - p)) + math.FMA(q, sum, -p) + float64(r*sum)
	}
	return scale(math.FMA(h, s, math.FMA(h, rest, float64(l*s))), n)
}

// fraction is Q(a,x) for x that is not much less than a, by Legendre's continued fraction. It is x^a exp(-x)/Γ(a)/g_0,
// where g_(k-1) = x + (k-a) g_k/(g_k+k) for k > a, and f_k = g_k + k, f_(k-1) = x + 2k-1 - a + k(a-k)/f_k before: all
// sums are of positive numbers.
func (of *lastShape) fraction(a, x float64) float64 {
	h, l, n := of.factor(a, x, false)
	if h == 0 {
		return 0
	}
	k := math.Ceil(9 + 66/x + min(a, 16)) // terms enough for 2^-55, by trial
	g := float64(x/2) + math.Sqrt(float64(x*(float64(0.25*x)+k)))
	last := max(a, 1)
	if x < 6 {
		last = max(last, 9)
	}
	below := 1.0 // g is a quotient, of one division in the end: with one in each step they took twice as long
	for ; k >= last; k-- {
		g, below = math.FMA(x+(k-a), g, float64(x*k)*below), math.FMA(k, below, g)
	}
	g /= below
	rest := 0.0
	for ; k >= max(a, 1); k-- { // of small x roundings add up
		dh, dl := addPair(k, 0, g, rest)
		dh, dl = divPair(g, rest, dh, dl)
		ch, cl := twoSum(k, -a)
		dh, dl = mulPair(dh, dl, ch, cl)
		g, rest = addPair(x, 0, dh, dl)
	}
	for f := g + k; k >= 1; k-- {
		f = (x - a) + (2*k - 1) + k*(a-k)/f
		g, rest = f, 0
	}
	h, l = mulPair(h, l, a, 0)
	h, l = divPair(h, l, g, rest)
	return scale(h+l, n)
}

// upperNear is Q(a,x) for small x: with E = x^a/Γ(a+1), it is (1-E) + E a (x/(a+1) - x^2/2!(a+2) + …).
func (of *lastShape) upperNear(a, x float64) float64 {
	gh, gl := of.power(a, x, false)
	uh, ul := expm1Pair(gh, gl)
	sum := 0.0
	for k := 18.0; k > 1; k-- {
		sum = 1/(a+k) - float64(x/(k+1)*sum)
	}
	d, dl := twoSum(a, 1)
	vh, vl := divPair(1, 0, d, dl)
	vh, vl = addPair(vh, vl, -float64(0.5*x*sum), 0)
	vh, vl = mulPair(vh, vl, x, 0)
	vh, vl = mulPair(vh, vl, a, 0)
	eh, el := addPair(1, 0, uh, ul)
	vh, vl = mulPair(vh, vl, eh, el)
	uh, ul = addPair(-uh, -ul, vh, vl)
	return uh + ul
}

// gammaTemme is P(a,x) where x < a, and Q(a,x) elsewhere: with φ = (x-a)/a - log(x/a) and η^2 = 2φ it is
// exp(-aφ) (erfcx(√(aφ))/2 ± Σ c_k(η) a^-k / √(2πa)).
func gammaTemme(a, x float64) float64 {
	ph, pl := logExcess(a, x)
	eta := math.Sqrt(2 * ph)
	if a*ph > 780 {
		return 0
	}
	ph, pl = mulPair(ph, pl, a, 0)
	eh, el, n := expPair(-ph, -pl)
	half := float64(0.5 * ErfcxOf(math.Sqrt(ph)))
	if x < a {
		eta = -eta
	}
	z, sum := 1/a, 0.0
	for k := min(len(temme), temmeTerms(a)) - 1; k >= 0; k-- {
		sum = math.FMA(sum, z, poly(temme[k], eta))
	}
	sum = float64(sum * (rootHi / math.Sqrt(a)))
	if x < a {
		sum = -sum
	}
	s := half + sum
	return scale(math.FMA(eh, s, math.FMA(eh, sum-(s-half), float64(el*s))), n)
}

// temmeTerms is how many terms matter.
func temmeTerms(a float64) int {
	switch {
	case a > 1e9:
		return 3
	case a > 1e4:
		return 5
	case a > 500:
		return 7
	}
	return len(temme)
}

// factor is x^a exp(-x)/Γ(a+1), or that times a/x, as 2^n (h + l); 0 where it is below 2^-1100.
func (of *lastShape) factor(a, x float64, density bool) (h, l float64, n int64) {
	if a < powersBelow {
		h, l = of.power(a, x, density)
		h, l = addPair(h, l, -x, 0)
		if h < -780 {
			return 0, 0, 0
		}
		h, l, n = expPair(h, l)
		if density {
			h, l = mulPair(h, l, a, 0)
		}
		return h, l, n
	}
	h, l = logExcess(a, x)
	if a*h > 1000 {
		return 0, 0, 0
	}
	h, l = mulPair(h, l, -a, 0)
	h, l = addPair(h, l, -stirlingRest(a), 0)
	if density {
		rh, rl := divPair(x, 0, a, 0)
		rh, rl = logPairOf(rh, rl)
		h, l = addPair(h, l, -rh, -rl)
	}
	if h < -780 {
		return 0, 0, 0
	}
	h, l, n = expPair(h, l)
	h, l = overRoot(h, l, a)
	return h, l, n
}

// stirlingRest is log(Γ(a)) less (a-1/2) log(a) - a + log(2π)/2, for a >= powersBelow.
func stirlingRest(a float64) float64 {
	z := 1 / a
	return float64(z * poly(stirling[:], float64(z*z)))
}

// power is log(x^a/Γ(a+1)), or less log(x), for a < powersBelow.
func (of *lastShape) power(a, x float64, less bool) (h, l float64) {
	ph, pl := a, 0.0
	if less {
		ph, pl = twoSum(a, -1)
	}
	h, l = logLong(x)
	h, l = mulPair(h, l, ph, pl)
	gh, gl := of.above(a)
	return addPair(h, l, -gh, -gl)
}

// lgammaAbove is log(Γ(a+1)) for 0 < a < powersBelow, to about 2^-56 of itself.
func lgammaAbove(a float64) (h, l float64) {
	t, e := twoSum(a, 1)
	b, bl := twoSum(a, -1)
	ph, pl := mulPair(b, bl, a, 0)
	row := &lgammaQuarters[quarterOf(t)]
	h, l = quarterAt(row[:], (t-row[0])+e)
	return mulPair(h, l, ph, pl)
}

// logExcess is (x-a)/a - log(x/a), for positive numbers; some large number where it is beyond 600.
func logExcess(a, x float64) (h, l float64) {
	if q := x / a; !(q > 0x1p-900 && q < 0x1p900) {
		return 0x1p10, 0
	}
	dh, dl := twoSum(x, -a)
	mh, ml := divPair(dh, dl, a, 0)
	if math.Abs(mh) > 0.3 {
		rh, rl := divPair(x, 0, a, 0)
		rh, rl = logPairOf(rh, rl)
		return addPair(mh, ml, -rh, -rl)
	}
	return log1pExcess(mh, ml)
}

// log1pExcess is m - log(1+m) for |m| <= 0.3: with s = m/(2+m), m s - 2s^3 (1/3 + s^2/5 + s^4/7 + …).
func log1pExcess(mh, ml float64) (h, l float64) {
	dh, dl := addPair(2, 0, mh, ml)
	sh, sl := divPair(mh, ml, dh, dl)
	zh, zl := mulPair(sh, sl, sh, sl)
	h, l = addPair(thirdHi, thirdLo, float64(zh*poly(atanhFar[:], zh)), 0)
	h, l = mulPair(h, l, zh, zl)
	h, l = mulPair(h, l, -2*sh, -2*sl)
	mh, ml = mulPair(mh, ml, sh, sl)
	return addPair(mh, ml, h, l)
}

const thirdHi, thirdLo = 0x1.5555555555555p-2, 0x1.5555555555555p-56

// atanhFar are 1/(2k + 5): what is behind them is below 2^-62 of 1/3 for s = 0.18.
var atanhFar = [...]float64{1. / 5, 1. / 7, 1. / 9, 1. / 11, 1. / 13, 1. / 15, 1. / 17, 1. / 19, 1. / 21, 1. / 23, 1. / 25}

// expm1Pair is exp(x+xl) - 1, to about 2^-59 of itself, for x in the middle of the range.
func expm1Pair(x, xl float64) (h, l float64) {
	t, b, bl, n := expCoreLong(max(x, -40), xl)
	u, e := twoSum(t, -power(n))
	h = u + b
	l = (b - (h - u)) + (bl + e)
	return scale(h, n), scale(l, n)
}
