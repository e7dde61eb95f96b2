package kernels

import "math"

// split is x = 2^e * m with m in [3/4, 3/2), for positive finite x; j is the
// number of the table row for m.
func split(x float64) (m, e float64, j uint64) {
	b := math.Float64bits(x)
	sub := 0.0
	if b < 1<<52 {
		b, sub = math.Float64bits(x*0x1p54), 54
	}
	const threeQuarters = 0x3fe8000000000000
	n := int64(b-threeQuarters) >> 52
	b -= uint64(n) << 52
	return math.Float64frombits(b), float64(n) - sub, b >> 48 & 15
}

// logPair is log(x) = h + l + its share of c: log(x + c*x) for c below an ulp,
// times 2^double. x is positive and finite.
func logPair(x, c, double float64) (h, l float64) {
	m, e, j := split(x)
	e += double
	f := math.FMA(m, logRecip[j], -1) // exact
	s := math.FMA(e, ln2Hi, logHi[j]) // exact
	l = math.FMA(e, ln2Lo, logLo[j]) + c
	f2 := float64(f * f)
	l = math.FMA(f2, logTail(&logPoly, f, f2), l)
	h = s + f
	return h, l + (f - (h - s))
}

// logTail is a polynomial of degree 9, its even and odd powers apart.
func logTail(p *[10]float64, f, f2 float64) float64 {
	even := math.FMA(math.FMA(math.FMA(math.FMA(p[8], f2, p[6]), f2, p[4]), f2, p[2]), f2, p[0])
	odd := math.FMA(math.FMA(math.FMA(math.FMA(p[9], f2, p[7]), f2, p[5]), f2, p[3]), f2, p[1])
	return math.FMA(odd, f, even)
}

// logSpecial is the logarithm of what is not positive and finite.
func logSpecial(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(-1)
	case x < 0:
		return math.NaN()
	}
	return x
}

func logOrdinary(x float64) bool { return x > 0 && x <= math.MaxFloat64 }

// Log is the natural logarithm of every element.
var Log = func(dst, x []float64) { each(dst, x, LogOf) }

// LogOf is Log of one number.
func LogOf(x float64) float64 {
	if !logOrdinary(x) {
		return logSpecial(x)
	}
	h, l := logPair(x, 0, 0)
	return h + l
}

// logTwin is Log, and what its rounding took off, 0 where that is not finite.
var logTwin = func(y, rest, x []float64) { eachTwin(y, rest, x, logTwinOf) }

// logTwinOf is logTwin of one number.
func logTwinOf(x float64) (y, rest float64) {
	if !logOrdinary(x) {
		return logSpecial(x), 0
	}
	h, l := logPair(x, 0, 0)
	y = h + l
	return y, l - (y - h)
}

// A logBase is what a logarithm of another base needs: log(e) and log(2) in
// that base, and the tables.
type logBase struct {
	eHi, eLo, twoHi, twoLo float64
	hi, lo                 *[16]float64
	poly                   *[10]float64
}

var (
	base2  = logBase{log2eHi, log2eLo, 1, 0, &log2Hi, &log2Lo, &log2Poly}
	base10 = logBase{log10eHi, log10eLo, log10of2Hi, log10of2Lo, &log10Hi, &log10Lo, &log10Poly}
)

func (b *logBase) of(x float64) float64 {
	if !logOrdinary(x) {
		return logSpecial(x)
	}
	m, e, j := split(x)
	f := math.FMA(m, logRecip[j], -1)
	s := math.FMA(e, b.twoHi, b.hi[j])
	l := math.FMA(e, b.twoLo, b.lo[j])
	g := float64(f * b.eHi)
	l = math.FMA(f, b.eLo, math.FMA(f, b.eHi, -g)) + l
	f2 := float64(f * f)
	l = math.FMA(f2, logTail(b.poly, f, f2), l)
	h := s + g
	return h + (l + (g - (h - s)))
}

// Log2 is the binary logarithm of every element, exact at powers of two.
var Log2 = func(dst, x []float64) { each(dst, x, Log2Of) }

// Log2Of is Log2 of one number.
func Log2Of(x float64) float64 { return base2.of(x) }

// Log10 is the decimal logarithm of every element, exact at powers of ten.
var Log10 = func(dst, x []float64) { each(dst, x, Log10Of) }

// Log10Of is Log10 of one number.
func Log10Of(x float64) float64 { return base10.of(x) }

// Log1p is log(1+x) of every element.
var Log1p = func(dst, x []float64) { each(dst, x, Log1pOf) }

// Log1pOf is Log1p of one number.
func Log1pOf(x float64) float64 {
	y, _ := Log1pTwinOf(x)
	return y
}

// Log1pTwin is Log1p and Log1pSlope of every element.
var Log1pTwin = func(y, d, x []float64) { eachTwin(y, d, x, Log1pTwinOf) }

// Log1pTwinOf is Log1pTwin of one number.
func Log1pTwinOf(x float64) (y, d float64) {
	u := 1 + x
	d = 1 / u
	if !logOrdinary(u) {
		return logSpecial(u), LogSlopeOf(u)
	}
	w := u - 1
	c := x - w
	h, l := logPair(u, math.FMA(-c, float64(w*d), c), 0) // c/u, which is c - c*w/u
	return math.Copysign(h+l, x), d
}

// LogSlope is the slope of the logarithm: 1/x, inf at -0 too, NaN below 0 where that is.
var LogSlope = func(dst, x []float64) { each(dst, x, LogSlopeOf) }

// LogSlopeOf is LogSlope of one number.
func LogSlopeOf(x float64) float64 {
	if x < 0 {
		return math.NaN()
	}
	return 1 / (x + 0)
}

// Log1pSlope is LogSlope of 1+x.
var Log1pSlope = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = LogSlopeOf(1 + x)
	}
}

// Log1pSlopeOf is Log1pSlope of one number.
func Log1pSlopeOf(x float64) float64 { return LogSlopeOf(1 + x) }
