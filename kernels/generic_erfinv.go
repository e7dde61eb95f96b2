package kernels

import "math"

// The inverses of erf, erfc and the normal distribution, and the derivatives of these: near the middle polynomials in
// the square of a = erf(y), farther out tables of w = sqrt(-log(1-|a|)), which is nearly y, so that an error of the
// logarithm counts by half. One step of Halley from a guess, with the residual in pairs, took twenty times as long.

// inverseOf is the y of erf(y) = a, log + more being that of 1-|a|, or what else tables have of it; NaN where log is.
func inverseOf(near []float64, far *[16][20]float64, a, log, more float64) float64 {
	if math.Abs(a) < 0.5 {
		z := float64(a * a)
		q := evenOdd(near[1:], z, float64(z*z))
		return withSign(math.FMA(a, near[0], float64(a*q)), math.Float64bits(a))
	}
	w := math.Sqrt(-log)
	if w > math.MaxFloat64 {
		return withSign(w, math.Float64bits(a))
	}
	row := &far[math.Float64bits(w)>>51&15]
	return withSign(farAt(row[:], w, -log, more), math.Float64bits(a))
}

// farAt is what a row of a table has for the root of t-less, w being the rounded one of t.
func farAt(row []float64, w, t, less float64) float64 {
	d := w - row[0]
	h := math.FMA(d, row[2], row[1])
	l := math.FMA(d, row[2], row[1]-h)
	l = math.FMA(math.FMA(-w, w, t)-less, math.FMA(d, row[4], row[3]), l)
	d2 := float64(d * d)
	return h + math.FMA(d2, evenOdd(row[5:], d, d2), l)
}

// The parts of those that are assembly: of numbers a and the logarithms, in two parts, of 1-|a|, or of s where that is
// 1-|a| without its rounding; or of one part of these, and s.
var (
	erfinvBy      = func(dst, a, log, more []float64) { eachTriple(dst, a, log, more, erfinvByOf) }
	quantileBy    = func(dst, a, log, more []float64) { eachTriple(dst, a, log, more, quantileByOf) }
	erfinvSlopeBy = func(dst, a, log, s []float64) { eachTriple(dst, a, log, s, erfinvSlopeByOf) }
)

func erfinvByOf(a, log, more float64) float64 {
	return inverseOf(erfinvNear[:], &erfinvFar, a, log, more)
}

func quantileByOf(a, log, more float64) float64 {
	return inverseOf(quantileNear[:], &quantileFar, a, log, more)
}

// erfinvSlopeByOf divides sqrt(pi)/2 exp(y^2) erfc(y), which is about 1/2y, by erfc(y): exp would multiply the rounding of y.
func erfinvSlopeByOf(a, log, s float64) float64 {
	if math.Abs(a) < 0.5 {
		z := float64(a * a)
		return erfinvSlopeNear[0] + evenOdd(erfinvSlopeNear[1:], z, float64(z*z))
	}
	w := math.Sqrt(-log)
	if w > math.MaxFloat64 {
		return w
	}
	row := &erfinvSlopeFar[math.Float64bits(w)>>51&15]
	return farAt(row[:], w, -log, 0) / s
}

// ErfinvOf is Erfinv of one number.
func ErfinvOf(x float64) float64 {
	log, more := logTwinOf(1 - math.Abs(x))
	return erfinvByOf(x, log, more)
}

// ErfinvSlopeOf is ErfinvSlope of one number.
func ErfinvSlopeOf(x float64) float64 {
	s := 1 - math.Abs(x)
	return erfinvSlopeByOf(x, LogOf(s), s)
}

// ErfcinvOf is Erfcinv of one number.
func ErfcinvOf(x float64) float64 {
	log, more := logTwinOf(min(x, 2-x))
	return erfinvByOf(1-x, log, more)
}

// NormQuantileOf is NormQuantile of one number.
func NormQuantileOf(x float64) float64 {
	s := min(x, 1-x)
	log, more := logTwinOf(s + s)
	return quantileByOf((x+x)-1, log, more)
}

// NormQuantileSlopeOf is NormQuantileSlope of one number.
func NormQuantileSlopeOf(x float64) float64 {
	s := min(x, 1-x)
	s += s
	y := erfinvSlopeByOf((x+x)-1, LogOf(s), s)
	return math.FMA(y, twoRoots2Hi, float64(y*twoRoots2Lo))
}

// 2 sqrt(2) in two parts of one sign, so that infinity times it is one.
const (
	twoRoots2Hi = 0x1.6a09e667f3bccp+1
	twoRoots2Lo = 0x1.21165f626cdd5p-52
)

// inPieces runs f on pieces of dst and x, with room for three pieces more.
func inPieces(dst, x []float64, f func(dst, x, a, s, log []float64)) {
	x = x[:len(dst)]
	a, s, log := pieces.take(), pieces.take(), pieces.take()
	for len(dst) > 0 {
		n := min(len(dst), pieceLength)
		f(dst[:n], x[:n], a[:n], s[:n], log[:n])
		dst, x = dst[n:], x[n:]
	}
	pieces.give(a)
	pieces.give(s)
	pieces.give(log)
}

// besideOne is 1-|x|.
func besideOne(s, x []float64) {
	Abs(s, x)
	Neg(s, s)
	AddScalar(s, s, 1)
}

// tails are 2x-1, and twice the lesser of x and 1-x.
func tails(a, s, x []float64) {
	Neg(s, x)
	AddScalar(s, s, 1)
	Minimum(s, s, x)
	Add(s, s, s)
	Add(a, x, x)
	AddScalar(a, a, -1)
}

// Erfinv is the inverse of Erf, of every element; NaN outside [-1, 1].
var Erfinv = func(dst, x []float64) {
	inPieces(dst, x, func(dst, x, _, s, log []float64) {
		besideOne(s, x)
		logTwin(log, s, s)
		erfinvBy(dst, x, log, s)
	})
}

// ErfinvSlope is the derivative of Erfinv, of every element.
var ErfinvSlope = func(dst, x []float64) {
	inPieces(dst, x, func(dst, x, _, s, log []float64) {
		besideOne(s, x)
		Log(log, s)
		erfinvSlopeBy(dst, x, log, s)
	})
}

// Erfcinv is the inverse of Erfc, of every element; NaN outside [0, 2].
var Erfcinv = func(dst, x []float64) {
	inPieces(dst, x, func(dst, x, a, s, log []float64) {
		Neg(a, x)
		AddScalar(s, a, 2)
		Minimum(s, s, x)
		logTwin(log, s, s)
		AddScalar(a, a, 1)
		erfinvBy(dst, a, log, s)
	})
}

// NormQuantile is the inverse of NormCdf, of every element; NaN outside [0, 1].
var NormQuantile = func(dst, x []float64) {
	inPieces(dst, x, func(dst, x, a, s, log []float64) {
		tails(a, s, x)
		logTwin(log, s, s)
		quantileBy(dst, a, log, s)
	})
}

// NormQuantileSlope is the derivative of NormQuantile, of every element.
var NormQuantileSlope = func(dst, x []float64) {
	inPieces(dst, x, func(dst, x, a, s, log []float64) {
		tails(a, s, x)
		Log(log, s)
		erfinvSlopeBy(dst, a, log, s)
		Fill(log, twoRoots2Hi)
		MulScalar(s, dst, twoRoots2Lo)
		FMA(dst, dst, log, s)
	})
}
