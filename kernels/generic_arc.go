package kernels

import "math"

// Atan is the arc tangent of every element, within [-pi/2, pi/2].
var Atan = func(dst, x []float64) { each(dst, x, AtanOf) }

// AtanOf is Atan of one number: atan x = atan c + atan u, u = (x-c)/(1+cx), for the
// nearest c of 0, 1/2, 1, 3/2 and infinity.
func AtanOf(x float64) float64 {
	a := math.Abs(x)
	j, c := 0, 0.0
	switch {
	case a < 0.4375:
	case a < 0.6875:
		j, c = 1, 0.5
	case a < 1.1875:
		j, c = 2, 1
	case a < 2.4375:
		j, c = 3, 1.5
	default:
		j = 4
	}
	n, d := a-c, math.FMA(c, a, 1)
	if j == 4 {
		n, d = -1, a
	}
	u := n / d
	z := float64(u * u)
	t := math.FMA(float64(u*z), atanTail(z), atanLo[j])
	return withSign(atanHi[j]+(u+t), math.Float64bits(x))
}

// atanTail is (atan u - u)/u^3 for z = u^2.
func atanTail(z float64) float64 {
	return evenOdd(atanPoly[:], z, float64(z*z))
}

// Atan2 is the angle of the point (y, x): the first argument is the ordinate.
var Atan2 = func(dst, y, x []float64) { eachPair(dst, y, x, Atan2Of) }

// Atan2Of is Atan2 of one pair.
func Atan2Of(y, x float64) float64 {
	ay, ax, left := math.Abs(y), math.Abs(x), math.Signbit(x)
	sign := math.Float64bits(y)
	switch {
	case y != y || x != x:
		return math.NaN()
	case ay > math.MaxFloat64 && ax > math.MaxFloat64: // the diagonals
		ay, ax = 1, 1
	case ay == 0 || ax > math.MaxFloat64:
		if left {
			return withSign(onePiHi, sign)
		}
		return withSign(0, sign)
	case ax == 0 || ay > math.MaxFloat64:
		return withSign(halfPiHi, sign)
	}
	ey, ex := exponent(ay), exponent(ax)
	switch {
	case ey-ex > 64:
		return withSign(halfPiHi, sign)
	case ex-ey > 64 && left:
		return withSign(onePiHi, sign)
	case ex-ey > 64:
		return withSign(ay/ax, sign)
	case ex < -900 || ey < -900:
		ay, ax = ay*0x1p200, ax*0x1p200
	case ex > 900 || ey > 900:
		ay, ax = ay*0x1p-200, ax*0x1p-200
	}
	h, l := atanPair(ay, ax)
	if left {
		s := onePiHi - h
		h, l = s, ((onePiHi-s)-h)+(onePiLo-l)
	}
	return withSign(h+l, sign)
}

// exponent is floor(log2 x) for normal x, and no more than -1023 for others.
func exponent(x float64) int { return int(math.Float64bits(x)>>52) - 1023 }

// atanPair is atan(y/x) = h + l for positive y, x whose products do not overflow.
func atanPair(y, x float64) (h, l float64) {
	j, c := 0, 0.0
	switch {
	case y < 0.4375*x:
	case y < 0.6875*x:
		j, c = 1, 0.5
	case y < 1.1875*x:
		j, c = 2, 1
	case y < 2.4375*x:
		j, c = 3, 1.5
	default:
		j, y, x = 4, -x, y
	}
	nh, nl := twoSum(y, float64(-c*x))
	dh, dl := twoSum(x, float64(c*y))
	nl -= math.FMA(c, x, -float64(c*x))
	dl += math.FMA(c, y, -float64(c*y))
	u := nh / dh
	ul := (math.FMA(-u, dh, nh) + math.FMA(-u, dl, nl)) / dh
	z := float64(u * u)
	t := math.FMA(float64(u*z), atanTail(z), math.FMA(-ul, z, ul)) + atanLo[j]
	h = atanHi[j] + u
	return h, (u - (h - atanHi[j])) + t
}

// asinTail is (asin u - u)/u^3 for z = u^2 <= 1/4.
func asinTail(z float64) float64 {
	return evenOdd(asinPoly[:], z, float64(z*z))
}

// halfAcos is acos(x)/2 = s + t for 1/2 <= x <= 1: the arc sine of sqrt((1-x)/2).
func halfAcos(x float64) (s, t float64) {
	z := (1 - x) / 2
	if z == 0 {
		return 0, 0
	}
	s = math.Sqrt(z)
	return s, math.FMA(float64(s*z), asinTail(z), math.FMA(-s, s, z)/(2*s))
}

// Asin is the arc sine of every element; NaN outside [-1, 1].
var Asin = func(dst, x []float64) { each(dst, x, AsinOf) }

// AsinOf is Asin of one number.
func AsinOf(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a <= 0.5:
		z := float64(x * x)
		return math.FMA(float64(x*z), asinTail(z), x)
	case a <= 1:
		s, t := halfAcos(a)
		h := halfPiHi - 2*s
		l := ((halfPiHi - h) - 2*s) + (halfPiLo - 2*t)
		return withSign(h+l, math.Float64bits(x))
	}
	return math.NaN()
}

// Acos is the arc cosine of every element; NaN outside [-1, 1].
var Acos = func(dst, x []float64) { each(dst, x, AcosOf) }

// AcosOf is Acos of one number.
func AcosOf(x float64) float64 {
	switch {
	case math.Abs(x) <= 0.5:
		z := float64(x * x)
		h := halfPiHi - x
		return h + (((halfPiHi - h) - x) + math.FMA(-float64(x*z), asinTail(z), halfPiLo))
	case x > 0 && x <= 1:
		s, t := halfAcos(x)
		return 2 * (s + t)
	case x < 0 && x >= -1:
		s, t := halfAcos(-x)
		h := onePiHi - 2*s
		return h + (((onePiHi - h) - 2*s) + (onePiLo - 2*t))
	}
	return math.NaN()
}

// Hypot is sqrt(x^2 + y^2) without overflow or underflow, for every pair.
var Hypot = func(dst, x, y []float64) { eachPair(dst, x, y, HypotOf) }

// HypotOf is Hypot of one pair: the root of the rounded sum, corrected by what the
// squares lost (Borges 2020).
func HypotOf(x, y float64) float64 {
	x, y = math.Abs(x), math.Abs(y)
	if x < y {
		x, y = y, x
	}
	switch {
	case x > math.MaxFloat64 || y > math.MaxFloat64:
		return math.Inf(1) // even beside NaN
	case x != x || y != y:
		return math.NaN()
	case y <= x*0x1p-28: // or zero
		return x
	}
	unit := 1.0
	switch {
	case x > 0x1p500:
		unit = 0x1p600
	case y < 0x1p-450:
		unit = 0x1p-600
	}
	x, y = x/unit, y/unit
	x2, y2 := float64(x*x), float64(y*y)
	h := math.Sqrt(x2 + y2)
	h2 := float64(h * h)
	e := (h2 - x2) - y2
	e += math.FMA(h, h, -h2) - math.FMA(x, x, -x2) - math.FMA(y, y, -y2)
	return (h - e/(2*h)) * unit
}

// Unit is x/hypot(x, y) of every pair, 0 where both are 0.
var Unit = func(dst, x, y []float64) { overHypot(dst, x, y, 1) }

// UnitOf is Unit of one pair.
func UnitOf(x, y float64) float64 { return unitBy(x, HypotOf(x, y)) }

// Turn is x/(x^2 + y^2) of every pair: how fast the angle of (x, y) turns with y.
var Turn = func(dst, x, y []float64) { overHypot(dst, x, y, 2) }

// TurnOf is Turn of one pair.
func TurnOf(x, y float64) float64 {
	h := HypotOf(x, y)
	return unitBy(x, h) / h
}

// overHypot is every x over the hypot of its pair, the first time by unitBy; where all of a piece are ordinary that
// divides, too: .4 to .54 of the time one by one.
func overHypot(dst, x, y []float64, times int) {
	piece := pieces.take()
	defer pieces.give(piece)
	for len(dst) > 0 {
		h := piece[:min(len(dst), len(piece))]
		Hypot(h, x[:len(h)], y[:len(h)])
		if Min(h) >= 0x1p-1021 && Max(h) <= math.MaxFloat64 {
			Div(dst[:len(h)], x[:len(h)], h)
		} else {
			eachPair(dst[:len(h)], x, h, unitBy)
		}
		for range times - 1 {
			Div(dst[:len(h)], dst[:len(h)], h)
		}
		dst, x, y = dst[len(h):], x[len(h):], y[len(h):]
	}
}

// unitBy is x/h, where h is the hypotenuse of x and another: 0 by 0, and infinities one by the
// other.
func unitBy(x, h float64) float64 {
	switch {
	case h == 0:
		return 0
	case math.IsInf(h, 0) && math.IsInf(x, 0):
		return math.Copysign(1, x)
	case h < 0x1p-1021:
		return x * 0x1p60 / (h * 0x1p60)
	}
	return x / h
}

// Cbrt is the cube root of every element.
var Cbrt = func(dst, x []float64) { each(dst, x, CbrtOf) }

// CbrtOf is Cbrt of one number: a guess from a third of the exponent, two steps of
// Halley, one of Newton with the residual exact.
func CbrtOf(x float64) float64 {
	a, unit := math.Abs(x), 1.0
	switch {
	case !(a <= math.MaxFloat64) || a == 0:
		return x
	case a < 0x1p-600:
		a, unit = a*0x1p600, 0x1p-200
	case a > 0x1p600:
		a, unit = a*0x1p-600, 0x1p200
	}
	g := math.FMA(float64(math.Float64bits(a)>>20), 1./3, 0x2a9f7893782)
	y := math.Float64frombits(uint64(g) << 20)
	for range 2 {
		c := float64(float64(y*y) * y)
		y -= float64(y*(c-a)) / (2*c + a)
	}
	y2 := float64(y * y)
	e := math.FMA(y2, y, -a) + float64(math.FMA(y, y, -y2)*y)
	return withSign((y-e/(3*y2))*unit, math.Float64bits(x))
}
