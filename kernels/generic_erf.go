package kernels

import "math"

// erfParts is erf(x) = t + q*d for x >= 0, with t exact; x may be NaN.
func erfParts(x float64) (t, q, d float64) {
	if x > erfTop {
		x = erfTop
	}
	kd := math.FMA(x-0.1875, 8./3, magic)
	j := math.Float64bits(kd) & 15
	d = x - erfPoint[j]
	q = math.FMA(d, evenOdd(erfPoly[j][1:], d, float64(d*d)), erfPoly[j][0])
	if j == 0 {
		return d, q, d
	}
	return erfAt[j], q, d
}

// From erfTop on erf is 1.
const erfTop = 5.96

// Erf is the error function of every element.
var Erf = func(dst, x []float64) { each(dst, x, ErfOf) }

// ErfOf is Erf of one number.
func ErfOf(x float64) float64 {
	t, q, d := erfParts(math.Abs(x))
	return withSign(math.FMA(q, d, t), math.Float64bits(x))
}

// erfcxParts is erfcx(x) = t + l for 1/2 <= x < 32; x may be NaN.
func erfcxParts(x float64) (t, l float64) {
	j := math.Float64bits(x) >> 51 & 15
	row := &erfcxTable[j]
	d := x - row[0]
	t = math.FMA(d, row[2], row[1])
	d2 := float64(d * d)
	return t, math.FMA(d2, evenOdd(row[3:], d, d2), math.FMA(d, row[2], row[1]-t))
}

// expMinus is exp(-(y+yl)) = 2^n * (t + l) for 0 <= y <= 785 and yl below an ulp of y.
func expMinus(y, yl float64) (t, l float64, n int64) {
	kd := math.FMA(y, -gaussInv, magic)
	k := int64(math.Float64bits(kd)) - magicBits
	kd -= magic
	r := math.FMA(-kd, gaussLn2Hi, -y) // exact
	rl := math.FMA(-kd, gaussLn2Lo, -yl)
	s := r + rl
	rl -= s - r
	s2 := float64(s * s)
	t = gaussHi[k&15]
	l = math.FMA(t, math.FMA(s2, evenOdd(gaussPoly[:], s, s2), rl), gaussLo[k&15])
	return t, math.FMA(t, s, l), k >> 4
}

// Gauss is exp(-x^2) of every element.
var Gauss = func(dst, x []float64) { each(dst, x, GaussOf) }

// GaussOf is Gauss of one number.
func GaussOf(x float64) float64 {
	x = clamp(x, -28, 28)
	y := float64(x * x)
	t, l, n := expMinus(y, math.FMA(x, x, -y))
	return scale(t+l, n)
}

// NormPdf is the standard normal density exp(-x^2/2)/sqrt(2 pi) of every element.
var NormPdf = func(dst, x []float64) { each(dst, x, NormPdfOf) }

// NormPdfOf is NormPdf of one number.
func NormPdfOf(x float64) float64 {
	x = clamp(x, -39.6, 39.6)
	y := float64(x * x)
	t, l, n := expMinus(0.5*y, 0.5*math.FMA(x, x, -y))
	h := float64(t * rootHi)
	l = math.FMA(l, rootHi, math.FMA(t, rootLo, math.FMA(t, rootHi, -h)))
	return scale(h+l, n)
}

// From erfcTop on erfc is 0.
const erfcTop = 28

// erfcPair is erfc(x+xl) = 2^n * (h + l) for xl below an ulp of x.
func erfcPair(x, xl float64) (h, l float64, n int64) {
	a := math.Abs(x)
	if a < 0.5 {
		z := float64(x * x)
		p := poly(erfNear[:], z)
		// The slope of erf is 2/sqrt(pi) (1 - z + z^2/2) or so.
		slope := twoOverSqrtPiHi * math.FMA(z, math.FMA(0.5, z, -1), 1)
		h = 1 - x
		return h, ((1 - h) - x) - math.FMA(x, p, float64(slope*xl)), 0
	}
	if a > erfcTop {
		a = erfcTop
	}
	t, tl := erfcxParts(a)
	a2 := float64(a * a)
	g, gl, n := expMinus(a2, math.FMA(a, a, -a2))
	if x < 0 {
		xl = -xl
	}
	h = float64(g * t)
	l = math.FMA(g, tl, math.FMA(g, t, -h))
	l = math.FMA(gl, t+tl, l)
	l = math.FMA(-float64(twoOverSqrtPiHi*xl), g+gl, l)
	if x < 0 {
		e := scale(h+l, n)
		h = 2 - e
		return h, (2 - h) - e, 0
	}
	return h, l, n
}

// Erfc is 1 - erf, without its cancellation, of every element.
var Erfc = func(dst, x []float64) { each(dst, x, ErfcOf) }

// ErfcOf is Erfc of one number.
func ErfcOf(x float64) float64 {
	h, l, n := erfcPair(x, 0)
	return scale(h+l, n)
}

// Erfcx is exp(x^2) erfc(x) of every element.
var Erfcx = func(dst, x []float64) { each(dst, x, ErfcxOf) }

// ErfcxOf is Erfcx of one number.
func ErfcxOf(x float64) float64 {
	switch {
	case x < -27:
		return math.Inf(1)
	case x < 0.5:
		h, l, _ := erfcPair(x, 0)
		x2 := float64(x * x)
		eh, el, n := expPair(x2, math.FMA(x, x, -x2))
		h, l = mulPair(h, l, eh, el)
		return scale(h+l, n)
	case x < 32:
		h, l := erfcxParts(x)
		return h + l
	case x < 0x1p500:
		z := 1 / float64(x*x)
		const c, cl = twoOverSqrtPiHi / 2, twoOverSqrtPiLo / 2
		h := c / x
		l := (math.FMA(-h, x, c) + cl) / x
		return h + math.FMA(h, float64(z*poly(erfcxFar[:], z)), l)
	}
	return twoOverSqrtPiHi / 2 / x
}

// erfcxFar is the asymptotic series of sqrt(pi) x erfcx x - 1 in 1/x^2.
var erfcxFar = [...]float64{-1. / 2, 3. / 4, -15. / 8, 105. / 16, -945. / 32, 10395. / 64, -135135. / 128}

// NormCdf is the standard normal distribution function of every element.
var NormCdf = func(dst, x []float64) { each(dst, x, NormCdfOf) }

// NormCdfOf is NormCdf of one number.
func NormCdfOf(x float64) float64 {
	x = clamp(x, -40, 40)
	z := -float64(x * sqrtHalfHi)
	zl := -math.FMA(x, sqrtHalfLo, math.FMA(x, sqrtHalfHi, z))
	h, l, n := erfcPair(z, zl)
	return scale(h+l, n-1)
}
