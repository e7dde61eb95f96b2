package kernels

import "math"

// magic added to a small number rounds it to an integer, which is then the low
// bits of the sum.
const (
	magic     = 0x1.8p52
	magicBits = 0x4338000000000000
)

// Beyond these arguments exp is infinite or zero, with room to spare: the
// clamps keep the exponent's arithmetic small.
const expMax, expMin = 720, -760

// reduced is x - log(t*2^n), exact up to the part of n*ln 2 that ln2by16Lo stands for:
// that much is whole*ln2by16Lo.
func reduced(x float64) (t, r, whole float64, n int64) {
	kd := math.FMA(x, invLn2x16, magic)
	k := int64(math.Float64bits(kd)) - magicBits
	j := k & 15
	r = math.FMA(-(kd-magic), ln2by16Hi, x) - expStep[j]
	return expTable[j], r, math.Float64frombits(math.Float64bits(kd)&^15) - magic, k >> 4
}

// expCore is exp(x) = 2^n * (t + b + bl) for 0 <= x <= 800: t has 52 bits, |b| < 0.022*t,
// and bl is what b lacks. The relative error is 2^-59; where n is 0 that of t - 1 + b + bl.
func expCore(x float64) (t, b, bl float64, n int64) {
	t, r, whole, n := reduced(x)
	r = math.FMA(-whole, ln2by16Lo, r)
	a := float64(t * r)
	r2 := float64(r * r)
	tail := math.FMA(t, float64(r2*expQuotient(r, r2)), math.FMA(t, r, -a))
	b = a + tail
	return t, b, tail - (b - a), n
}

// expCoreLong is exp(x+xl) likewise, to about 2^-64, for x of either sign and xl below an
// ulp of it.
func expCoreLong(x, xl float64) (t, b, bl float64, n int64) {
	t, r, whole, n := reduced(x)
	l := math.FMA(-whole, ln2by16Lo, xl)
	s := r + l
	l -= s - r
	a := float64(t * s)
	s2 := float64(s * s)
	tail := math.FMA(t, math.FMA(s2, expQuotient(s, s2), l), math.FMA(t, s, -a))
	b = a + tail
	return t, b, tail - (b - a), n
}

// expQuotient is (exp(r)-1-r)/r^2.
func expQuotient(r, r2 float64) float64 {
	even := math.FMA(math.FMA(expPoly[4], r2, expPoly[2]), r2, expPoly[0])
	odd := math.FMA(math.FMA(expPoly[5], r2, expPoly[3]), r2, expPoly[1])
	return math.FMA(odd, r, even)
}

// expPair is exp(x+xl) = 2^n * (h + l) with |l| at most half an ulp of h.
func expPair(x, xl float64) (h, l float64, n int64) {
	t, b, bl, n := expCoreLong(x, xl)
	p, pl := pair(t, b, bl)
	h = p + pl
	return h, pl - (h - p), n
}

// ExpFar is exp(x+xl) = y * 2^n for |x| up to 2^56, wherever the exponential leaves the range.
func ExpFar(x, xl float64) (y float64, n int64) {
	const rest = 2.3190468138462996e-17 // of log 2, that float64 leaves out
	w := math.Round(x / math.Ln2)
	p := float64(w * math.Ln2)
	return ExpOf(x - p - math.FMA(w, math.Ln2, -p) - float64(w*rest) + xl), int64(w)
}

// pair is t + b + bl = h + l with |l| at most an ulp of h.
func pair(t, b, bl float64) (h, l float64) {
	h = t + b
	return h, (b - (h - t)) + bl
}

// power is 2^-n down to 2^-100.
func power(n int64) float64 { return math.Float64frombits(uint64(1023-min(n, 100)) << 52) }

// twoSum is x + y without an error.
func twoSum(x, y float64) (s, e float64) {
	s = x + y
	v := s - x
	return s, (x - (s - v)) + (y - v)
}

// scale is y*2^n rounded once, for y in (2^-400, 4) or n in -1..0, |n| < 1200.
func scale(y float64, n int64) float64 {
	m := n >> 1
	y = float64(y * math.Float64frombits(uint64(m+1023)<<52))
	return float64(y * math.Float64frombits(uint64(n-m+1023)<<52))
}

// clamp keeps x within the bounds; a NaN passes.
func clamp(x, lo, hi float64) float64 {
	if x < lo {
		x = lo
	}
	if x > hi {
		x = hi
	}
	return x
}

// Exp is exp of every element.
var Exp = func(dst, x []float64) { each(dst, x, ExpOf) }

// ExpOf is Exp of one number.
func ExpOf(x float64) float64 {
	x = clamp(x, expMin, expMax)
	kd := math.FMA(x, invLn2x16, magic)
	k := int64(math.Float64bits(kd)) - magicBits
	kd -= magic
	r := math.FMA(-kd, ln2by16Hi, x) - expOffset[k&15]
	return expScaled(math.FMA(-kd, ln2by16Lo, r), k)
}

// Exp2 is 2^x of every element.
var Exp2 = func(dst, x []float64) { each(dst, x, Exp2Of) }

// Exp2Of is Exp2 of one number.
func Exp2Of(x float64) float64 {
	x = clamp(x, -1100, 1040)
	kd := math.FMA(x, 16, magic)
	k := int64(math.Float64bits(kd)) - magicBits
	kd -= magic
	r := math.FMA(kd, -0.0625, x)
	return expScaled(math.FMA(r, ln2, -expOffset[k&15]), k)
}

// expScaled is 2^(k>>4) * expTable[k&15] * exp(r).
func expScaled(r float64, k int64) float64 {
	r2 := float64(r * r)
	p := math.FMA(r2, expQuotient(r, r2), r)
	t := expTable[k&15]
	return scale(math.FMA(t, p, t), k>>4)
}

// Expm1 is exp(x)-1 of every element.
var Expm1 = func(dst, x []float64) { each(dst, x, Expm1Of) }

// Expm1Of is Expm1 of one number.
func Expm1Of(x float64) float64 {
	t, b, bl, n := expCoreLong(clamp(x, -40, expMax), 0)
	u, e := twoSum(t, -power(n))
	h := u + b
	return math.Copysign(scale(h+((b-(h-u))+(bl+e)), n), x)
}
