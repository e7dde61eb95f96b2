package kernels

import "math"

// ErfcxDerivativeOf is the n-th derivative of Erfcx at x; NaN where n is no order. The
// derivatives obey D(n) = 2x D(n-1) + 2(n-1) D(n-2), D(1) = 2x D(0) - 2/sqrt(pi)
// (DLMF 7.18.3 and 7.18.7). To the right of 0 that subtracts what is nearly equal.
func ErfcxDerivativeOf(nf, x float64) float64 {
	if nf != math.Trunc(nf) || nf < 0 || nf > 1000 || x != x {
		return math.NaN()
	}
	n := int(nf)
	switch {
	case n == 0:
		return ErfcxOf(x)
	case x < 0.5 || x < 2.7 && n <= 2:
		d := erfcxLow(n, x)
		if d-d != 0 { // too large: the signs alternate
			return flip(math.Inf(1), uint64(n)<<63)
		}
		return d
	}
	d := ErfcxOf(x)
	if d == 0 {
		return 0
	}
	for _, r := range erfcxRatios(n, x) {
		d *= -r
	}
	return d
}

// erfcxLow is the recurrence in pairs, from which it loses some of the low half.
func erfcxLow(n int, x float64) float64 {
	h, l := erfcxPair(x)
	ph, pl := h, l
	h, l = mulPair(2*x, 0, h, l)
	h, l = addPair(h, l, -twoOverSqrtPiHi, -twoOverSqrtPiLo)
	for k := 2; k <= n; k++ {
		th, tl := mulPair(2*x, 0, h, l)
		qh, ql := mulPair(float64(2*(k-1)), 0, ph, pl)
		ph, pl = h, l
		h, l = addPair(th, tl, qh, ql)
	}
	return h + l
}

// erfcxPair is Erfcx as a pair, for x < 32; not finite below -27.
func erfcxPair(x float64) (h, l float64) {
	if x >= 0.5 {
		t, tl := erfcxParts(x)
		h = t + tl
		return h, tl - (h - t)
	}
	if x < -27 {
		return math.Inf(1), 0
	}
	h, l, _ = erfcPair(x, 0)
	x2 := float64(x * x)
	eh, el, n := expPair(x2, math.FMA(x, x, -x2))
	h, l = mulPair(h, l, eh, el)
	return scale(h, n), scale(l, n)
}

// erfcxRatios lists r(1) … r(n), r(k) = -D(k)/D(k-1), for x >= 1/2. Read downward the
// recurrence is r(k) = 2k/(2x + r(k+1)), all terms positive.
func erfcxRatios(n int, x float64) []float64 {
	out := make([]float64, n)
	last := n + 24 + int(400/math.Min(x*x, 400))
	r := math.Sqrt(math.FMA(x, x, 2*float64(last))) - x
	for k := last; k >= 1; k-- {
		r = 2 * float64(k) / (2*x + r)
		if k <= n {
			out[k-1] = r
		}
	}
	return out
}

// erfcxFrom is from where the logarithm of NormCdf, and its derivative, are taken from Erfcx, going down.
const erfcxFrom = -1

// LogNormCdf is the logarithm of NormCdf, of every element.
var LogNormCdf = func(dst, x []float64) {
	inPieces(dst, x, func(dst, x, right, far, half []float64) {
		Neg(right, x)
		NormCdf(right, right)
		Neg(right, right)
		Log1p(right, right)
		erfcxBelow(far, half, x)
		MulScalar(far, far, 0.5)
		Log(far, far)
		logNormCdfBy(dst, x, far, right)
	})
}

// LogNormCdfOf is LogNormCdf of one number.
func LogNormCdfOf(x float64) float64 {
	if x > erfcxFrom {
		return logNormCdfByOf(x, 0, Log1pOf(-NormCdfOf(-x)))
	}
	return logNormCdfByOf(x, LogOf(0.5*ErfcxOf(float64(-x*sqrtHalfHi))), 0)
}

// Hazard is NormPdf/NormCdf, the derivative of LogNormCdf, of every element.
var Hazard = func(dst, x []float64) {
	inPieces(dst, x, func(dst, x, ratio, far, cdf []float64) {
		erfcxBelow(far, cdf, x)
		NormCdf(cdf, x)
		NormPdf(ratio, x)
		Div(ratio, ratio, cdf)
		hazardBy(dst, x, far, ratio)
	})
}

// HazardOf is Hazard of one number.
func HazardOf(x float64) float64 {
	if x > erfcxFrom {
		return hazardByOf(x, 1, NormPdfOf(x)/NormCdfOf(x))
	}
	return hazardByOf(x, ErfcxOf(float64(-x*sqrtHalfHi)), 0)
}

// erfcxBelow is erfcx(-x/sqrt(2)) of what is not above erfcxFrom.
func erfcxBelow(dst, room, x []float64) {
	MulScalar(dst, x, -sqrtHalfHi)
	Fill(room, 0.5)
	Maximum(dst, dst, room)
	Erfcx(dst, dst)
}

// Parts of LogNormCdf and Hazard that are assembly: of numbers, the logarithm of half of erfcx(-x/sqrt(2)), or
// itself, and what stands above erfcxFrom.
var (
	logNormCdfBy = func(dst, x, log, right []float64) { eachTriple(dst, x, log, right, logNormCdfByOf) }
	hazardBy     = func(dst, x, far, right []float64) { eachTriple(dst, x, far, right, hazardByOf) }
)

func logNormCdfByOf(x, log, right float64) float64 {
	switch {
	case x > erfcxFrom:
		return right
	case x < -0x1p500:
		return -0.5 * x * x
	}
	x2 := float64(x * x)
	s, e := twoSum(log, -0.5*x2)
	return s + (e - 0.5*math.FMA(x, x, -x2))
}

// hazardByOf is sqrt(2/pi)/erfcx(z+zl) for -x/sqrt(2) = z + zl, to first order in zl.
func hazardByOf(x, far, right float64) float64 {
	switch {
	case x > erfcxFrom:
		return right
	case x < -0x1p27: // -x + 1/-x and less
		return -x
	}
	p := float64(x * sqrtHalfHi)
	zl := -math.FMA(x, sqrtHalfLo, math.FMA(x, sqrtHalfHi, -p))
	h := 2 * rootHi / far
	u := math.FMA(h, -2*sqrtHalfHi, -2*p)
	return math.FMA(-h, float64(zl*u), h)
}

// HazardGapOf is x + HazardOf(x), which for negative x is nearly 1/-x.
func HazardGapOf(x float64) float64 {
	if x < 0 {
		if x < -0x1p53 {
			return -1 / x
		}
		return erfcxRatio(-x*sqrtHalfHi) * sqrtHalfHi
	}
	return x + HazardOf(x)
}

// HazardGapSlopeOf is the derivative of HazardGapOf, 1 - hazard gap.
func HazardGapSlopeOf(x float64) float64 {
	z := -x * sqrtHalfHi
	switch {
	case x > 40:
		return 1
	case z > 0x1p500:
		return 0
	case z < 0.5:
		return 1 - float64(HazardOf(x)*HazardGapOf(x))
	case z < 2:
		d0, d1, d2 := ErfcxOf(z), erfcxLow(1, z), erfcxLow(2, z)
		// with r1 = -d1/d0 and r2 = -d2/d1: r1 (r2 - r1) / 2
		return 0.5 * (d2 - float64(d1*d1)/d0) / d0
	}
	r := erfcxRatios(2, z)
	return 0.5 * r[0] * (r[1] - r[0])
}

// HazardCurveOf is the second derivative of HazardOf, hazard (gap^2 - gap'). In the ratios
// r(k) at -x/sqrt(2) the bracket is r1^2 r2 (r3 - r2)/4, and r3 - r2 does not cancel either
// when it is taken from r3 and r4.
func HazardCurveOf(x float64) float64 {
	z := -x * sqrtHalfHi
	if z < 0.5 {
		h, g := HazardOf(x), HazardGapOf(x)
		if h == 0 {
			return 0
		}
		return h * (float64(g*g) - HazardGapSlopeOf(x))
	}
	if z > 0x1p400 { // about 1/z^3
		return 0
	}
	r := erfcxRatios(4, z)
	up := (2*z + 6*r[2] - float64(4*r[3]) + 2*z) / ((2*z + r[3]) * (2*z + r[2]))
	return HazardOf(x) * r[0] * (r[0] * r[1] * up) / 4
}

// hazardSeries are the coefficients of the asymptotic series of HazardBendOf in t = -x: the sum of c[k] t^(-2k-4). That of the
// gap, a[1]/t + a[2]/t^3 + …, satisfies t gap = 1 + gap' - gap^2.
var hazardSeries = [...]float64{
	6, -120, 2100, -37296, 698940, -1.4005992e+07,
	3.014193e+08, -6.97024752e+09, 1.72978511724e+11, -4.59677878716e+12, 1.304641987341e+14, -3.9435513573732e+15,
	1.265945509944063e+17, -4.3040496164980644e+18, 1.5457179841699122e+20, -5.849163380192117e+21, 2.3267811718823653e+23, -9.708932144619558e+24,
	4.240948244845806e+26, -1.9355899304198238e+28, 9.214322325633846e+29, -4.5677979986738585e+31, 2.3544321792819945e+33, -1.260050820089037e+35,
	6.992618689756882e+36, -4.0188878135377654e+38, 2.3893750082337896e+40, -1.4679261087055537e+42, 9.309424808993192e+43, -6.088685419195475e+45,
}

// HazardBendOf is the third derivative of HazardOf, hazard (3 gap gap' - gap^3 - curve). These cancel as 1/x^2 does: far
// out it is the derivative of the asymptotic series, whose terms from 12 on fall below the last digit.
func HazardBendOf(x float64) float64 {
	if x > -12 {
		h, g := HazardOf(x), HazardGapOf(x)
		if h == 0 {
			return 0
		}
		return h*(float64(3*g*HazardGapSlopeOf(x))-float64(g*g*g)) - float64(h*HazardCurveOf(x))
	}
	u := 1 / x / x
	sum := 0.0
	for k := len(hazardSeries) - 1; k >= 0; k-- {
		sum = float64(sum*u) + hazardSeries[k]
	}
	return float64(sum*u) * u
}

// erfcxRatio is -D(1)/D(0) of erfcx for z >= 0.
func erfcxRatio(z float64) float64 {
	if z < 2.7 {
		return -erfcxLow(1, z) / ErfcxOf(z)
	}
	return erfcxRatios(1, z)[0]
}
