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

// expParts splits exp(x+xl), |x| <= 800 and xl below an ulp of x:
//
//	exp(x+xl) = 2^n * (t + a + tail),  t = 2^(j/16),  |a| < 0.022*t,  |tail| < 2^-11*t
//
// to about 2^-64. Where n = j = 0, t is 1 and a is x itself.
func expParts(x, xl float64) (t, a, tail float64, n int64) {
	kd := math.FMA(x, invLn2x16, magic)
	k := int64(math.Float64bits(kd)) - magicBits
	kd -= magic
	r := math.FMA(-kd, ln2by16Hi, x) // exact
	rl := math.FMA(-kd, ln2by16Lo, xl)
	s := r + rl
	rl -= s - r
	t = expHi[k&15]
	a = float64(t * s)
	e := math.FMA(t, s, -a)
	l := expLo[k&15]
	tail = math.FMA(t, math.FMA(float64(s*s), expTail(s), rl), math.FMA(l, s, l)) + e
	return t, a, tail, k >> 4
}

// expTail is (exp(r)-1-r)/r^2.
func expTail(r float64) float64 {
	r2 := float64(r * r)
	even := math.FMA(math.FMA(expPoly[4], r2, expPoly[2]), r2, expPoly[0])
	odd := math.FMA(math.FMA(expPoly[5], r2, expPoly[3]), r2, expPoly[1])
	return math.FMA(odd, r, even)
}

// expPair is exp(x+xl) = 2^n * (h + l) with |l| at most half an ulp of h.
func expPair(x, xl float64) (h, l float64, n int64) {
	t, a, tail, n := expParts(x, xl)
	h, l = sum3(t, a, tail)
	return h, l, n
}

// sum3 is x + y + z = h + l, for |x| >= |y| or x = 0, and |z| far below x + y.
func sum3(x, y, z float64) (h, l float64) {
	s := x + y
	z += y - (s - x)
	h = s + z
	return h, z - (h - s)
}

// minus1 is 2^n * (t + a + tail) - 1 = 2^n * (h + l), d being 2^-n.
func minus1(t, a, tail, d float64) (h, l float64) {
	s, e := twoSum(t, -d)
	return sum3(s, a, e+tail)
}

// twoSum is x + y without an error.
func twoSum(x, y float64) (s, e float64) {
	s = x + y
	v := s - x
	return s, (x - (s - v)) + (y - v)
}

// power is 2^-n down to 2^-100.
func power(n int64) float64 { return math.Float64frombits(uint64(1023-min(n, 100)) << 52) }

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
var Exp = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ExpOf(x)
	}
}

// ExpOf is Exp of one number.
func ExpOf(x float64) float64 {
	x = clamp(x, expMin, expMax)
	kd := math.FMA(x, invLn2x16, magic)
	k := int64(math.Float64bits(kd)) - magicBits
	kd -= magic
	r := math.FMA(-kd, ln2by16Lo, math.FMA(-kd, ln2by16Hi, x))
	return expScaled(r, k)
}

// Exp2 is 2^x of every element.
var Exp2 = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = Exp2Of(x)
	}
}

// Exp2Of is Exp2 of one number.
func Exp2Of(x float64) float64 {
	x = clamp(x, -1100, 1040)
	kd := math.FMA(x, 16, magic)
	k := int64(math.Float64bits(kd)) - magicBits
	kd -= magic
	return expScaled(float64(math.FMA(kd, -0.0625, x)*ln2), k)
}

// expScaled is 2^(k/16) * exp(r).
func expScaled(r float64, k int64) float64 {
	p := math.FMA(float64(r*r), expTail(r), r)
	t := expHi[k&15]
	return scale(t+math.FMA(t, p, expLo[k&15]), k>>4)
}

// Expm1 is exp(x)-1 of every element.
var Expm1 = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = Expm1Of(x)
	}
}

// Expm1Of is Expm1 of one number.
func Expm1Of(x float64) float64 {
	t, a, tail, n := expParts(clamp(x, -40, expMax), 0)
	h, _ := minus1(t, a, tail, power(n))
	return math.Copysign(scale(h, n), x)
}
