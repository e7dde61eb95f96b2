package kernels

import (
	"math"
	"math/bits"
)

const signBit = 1 << 63

// withSign is |x| with the sign bit of s.
func withSign(x float64, s uint64) float64 {
	return math.Float64frombits(math.Float64bits(x)&^signBit | s&signBit)
}

// flip is x with its sign changed where s has the sign bit.
func flip(x float64, s uint64) float64 {
	return math.Float64frombits(math.Float64bits(x) ^ s&signBit)
}

// Arguments up to trigMax are reduced with three parts of pi/16; beyond it, by
// the digits of 1/(2 pi).
const trigMax = 0x1p19

// reduce is x = k pi/16 + r + rl with |r| <= pi/32 and |rl| below an ulp of r,
// for 0 <= x <= trigMax, to 2^-110. The first difference is exact; so is the
// second where it cancels, since k has at most 22 bits and pio16b has 30.
func reduce(x float64) (k uint64, r, rl float64) {
	kd := math.FMA(x, inv16pi, magic)
	k = math.Float64bits(kd)
	n := kd - magic
	a := math.FMA(-n, pio16a, x)
	r = math.FMA(-n, pio16b, a)
	return k, r, math.FMA(-n, pio16c, math.FMA(-n, pio16b, a-r))
}

// reducePi is reduce of pi x, for any finite x >= 0.
func reducePi(x float64) (k uint64, r, rl float64) {
	x -= 2 * math.Floor(x/2)
	n := math.RoundToEven(x * 16)
	x -= n / 16
	r = float64(x * onePiHi)
	return uint64(int64(n)), r, math.FMA(x, onePiLo, math.FMA(x, onePiHi, -r))
}

// sinAt is sin(k pi/16 + r + rl) but for the sign, which is bit 4 of k.
func sinAt(k uint64, r, rl float64) float64 {
	j := k & 15
	z := float64(r * r)
	a, b := sinTail(r, rl, z), cosTail(z)
	s, c := sinHi[j], cosHi[j]
	l := math.FMA(c, a, math.FMA(cosLo[j], r, sinLo[j]))
	l = math.FMA(c, r, math.FMA(s, b, l))
	return s + l
}

// cosAt is cos(k pi/16 + r + rl) but for the sign, which is bit 4 of k.
func cosAt(k uint64, r, rl float64) float64 {
	j := k & 15
	z := float64(r * r)
	a, b := sinTail(r, rl, z), cosTail(z)
	s, c := sinHi[j], cosHi[j]
	l := math.FMA(-s, a, math.FMA(-sinLo[j], r, cosLo[j]))
	l = math.FMA(-s, r, math.FMA(c, b, l))
	return c + l
}

// sinTail is sin(r+rl) - r, and cosTail is cos(r) - 1, for z = r^2.
func sinTail(r, rl, z float64) float64 {
	p := math.FMA(math.FMA(math.FMA(sinPoly[3], z, sinPoly[2]), z, sinPoly[1]), z, sinPoly[0])
	return math.FMA(float64(r*z), p, rl)
}

func cosTail(z float64) float64 {
	p := math.FMA(math.FMA(math.FMA(cosPoly[3], z, cosPoly[2]), z, cosPoly[1]), z, cosPoly[0])
	return float64(z * p)
}

// sinPair is the whole of sinAt, sign included, as h + l to about 2^-58.
func sinPair(k uint64, r, rl float64) (h, l float64) {
	j := k & 15
	z := float64(r * r)
	h, l = rotated(sinHi[j], sinLo[j], cosHi[j], cosLo[j], r, sinTail(r, rl, z))
	l = math.FMA(sinHi[j], cosTail(z), l)
	s := h + l
	l -= s - h
	return flip(s, k<<59), flip(l, k<<59)
}

// cosPair is sinPair a quarter of a turn on.
func cosPair(k uint64, r, rl float64) (h, l float64) { return sinPair(k+8, r, rl) }

// rotated is s + c*(r+t) = h + l, for t far below r and |c r| <= |s| or s = 0.
func rotated(s, sl, c, cl, r, t float64) (h, l float64) {
	p := float64(c * r)
	e := math.FMA(c, r, -p)
	h = s + p
	l = (p - (h - s)) + (e + sl)
	return h, math.FMA(c, t, math.FMA(cl, r, l))
}

// Sin is the sine of every element, in radians.
var Sin = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SinOf(x)
	}
}

// SinOf is Sin of one number.
func SinOf(x float64) float64 {
	k, r, rl := reduceAny(math.Abs(x))
	return flip(sinAt(k, r, rl), k<<59^math.Float64bits(x))
}

// Cos is the cosine of every element, in radians.
var Cos = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = CosOf(x)
	}
}

// CosOf is Cos of one number.
func CosOf(x float64) float64 {
	k, r, rl := reduceAny(math.Abs(x))
	return flip(cosAt(k, r, rl), k<<59)
}

// A twin is a kernel with two results.
type twin = func(y, z, x []float64)

// SinCos is Sin and Cos of every element.
var SinCos = func(sin, cos, x []float64) {
	for i, x := range x[:len(sin)] {
		sin[i], cos[i] = SinCosOf(x)
	}
}

// SinCosOf is SinCos of one number.
func SinCosOf(x float64) (sin, cos float64) {
	k, r, rl := reduceAny(math.Abs(x))
	return flip(sinAt(k, r, rl), k<<59^math.Float64bits(x)), flip(cosAt(k, r, rl), k<<59)
}

// Tan is the tangent of every element, in radians.
var Tan = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = TanOf(x)
	}
}

// TanOf is Tan of one number.
func TanOf(x float64) float64 {
	k, r, rl := reduceAny(math.Abs(x))
	return flip(tanAt(k, r, rl), math.Float64bits(x))
}

// tanAt is tan(k pi/16 + r + rl), as (s + c t)/(c - s t) for t = tan(r + rl).
func tanAt(k uint64, r, rl float64) float64 {
	j := k & 15
	z := float64(r * r)
	p := math.FMA(math.FMA(math.FMA(math.FMA(tanPoly[4], z, tanPoly[3]), z, tanPoly[2]), z, tanPoly[1]), z, tanPoly[0])
	t := math.FMA(float64(r*z), p, rl)
	s, c := sinHi[j], cosHi[j]
	nh, nl := rotated(s, sinLo[j], c, cosLo[j], r, t)
	dh, dl := rotated(c, cosLo[j], -s, -sinLo[j], r, t)
	n := nh + nl
	nl -= n - nh
	d := dh + dl
	dl -= d - dh
	inv := 1 / d
	q := float64(n * inv)
	e := math.FMA(-q, d, n) + math.FMA(-q, dl, nl)
	return math.FMA(e, inv, q)
}

// reduceAny is reduce for every x >= 0; infinity and NaN give NaN.
func reduceAny(x float64) (k uint64, r, rl float64) {
	if x <= trigMax {
		return reduce(x)
	}
	return reduceFar(x)
}

// reduceFar is reduce for x > trigMax (Payne and Hanek): the fraction of
// x/(2 pi), 192 bits of it, from the digits of 1/(2 pi) that matter to it.
func reduceFar(x float64) (k uint64, r, rl float64) {
	b := math.Float64bits(x)
	e := int(b>>52) - 1075 // x = m * 2^e
	if e == 0x7ff-1075 {
		return 0, math.NaN(), 0
	}
	m := b&(1<<52-1) | 1<<52
	w, s := uint(e+64)/64, uint(e+64)%64
	word := func(i uint) uint64 { return inv2pi[w+i]<<s | inv2pi[w+i+1]>>(64-s) }
	h3, _ := bits.Mul64(m, word(3))
	h2, l2 := bits.Mul64(m, word(2))
	h1, l1 := bits.Mul64(m, word(1))
	f2, c := bits.Add64(l2, h3, 0)
	f1, c := bits.Add64(l1, h2, c)
	f0, _ := bits.Add64(m*word(0), h1, c)

	k = (f0 + 1<<58) >> 59
	f0 -= k << 59
	neg := f0 & signBit
	if neg != 0 {
		f2, c = bits.Sub64(0, f2, 0)
		f1, c = bits.Sub64(0, f1, c)
		f0, _ = bits.Sub64(0, f0, c)
	}
	unit := 1.0
	if f0 == 0 {
		f0, f1, f2 = f1, f2, 0
		unit = 0x1p-64
	}
	z := uint(bits.LeadingZeros64(f0))
	f0 = f0<<z | f1>>(64-z)
	f1 = f1<<z | f2>>(64-z)
	unit *= math.Float64frombits(uint64(1023-z) << 52)
	// The fraction is f0, f1 after the point: its first 53 bits and 53 more.
	h := float64(f0>>11) * 0x1p-53
	l := float64(f0<<53>>11|f1>>22) * 0x1p-106
	r = float64(h * twoPiHi)
	rl = math.FMA(h, twoPiHi, -r) + math.FMA(h, twoPiLo, float64(l*twoPiHi))
	return k, flip(r*unit, neg), flip(rl*unit, neg)
}

// Atan is the arc tangent of every element, within [-pi/2, pi/2].
var Atan = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AtanOf(x)
	}
}

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
var Atan2 = func(dst, y, x []float64) {
	x = x[:len(dst)]
	for i, y := range y[:len(dst)] {
		dst[i] = Atan2Of(y, x[i])
	}
}

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
var Asin = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AsinOf(x)
	}
}

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
var Acos = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AcosOf(x)
	}
}

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

// sinPiPair is sin(pi x) = h + l.
func sinPiPair(x float64) (h, l float64) {
	h, l = sinPair(reducePi(math.Abs(x)))
	return flip(h, math.Float64bits(x)), flip(l, math.Float64bits(x))
}

// SinPi is sin(pi x) of every element, exact at the multiples of 1/2.
var SinPi = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SinPiOf(x)
	}
}

// SinPiOf is SinPi of one number.
func SinPiOf(x float64) float64 {
	switch a := math.Abs(x); {
	case a < 0x1p-30: // pi x, its own square is too small
		return math.FMA(x, onePiHi, float64(x*onePiLo))
	case !(a <= math.MaxFloat64):
		return math.NaN()
	}
	h, l := sinPiPair(x)
	if h == 0 {
		return withSign(0, math.Float64bits(x))
	}
	return h + l
}

// CosPi is cos(pi x) of every element, exact at the multiples of 1/2.
var CosPi = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = CosPiOf(x)
	}
}

// CosPiOf is CosPi of one number.
func CosPiOf(x float64) float64 {
	x = math.Abs(x)
	if !(x <= math.MaxFloat64) {
		return math.NaN()
	}
	h, l := cosPair(reducePi(x))
	return h + l + 0 // never -0
}

// Sinc is sin(pi x)/(pi x), 1 at 0 (NumPy's), for every element.
var Sinc = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SincOf(x)
	}
}

// SincOf is Sinc of one number.
func SincOf(x float64) float64 {
	x = math.Abs(x)
	switch {
	case x < 0x1p-30:
		return 1
	case x >= 0x1p53: // an even integer or infinite
		return 0
	}
	sh, sl := sinPair(reducePi(x))
	p := float64(x * onePiHi)
	q, r := ratio(sh, sl, p, math.FMA(x, onePiLo, math.FMA(x, onePiHi, -p)))
	return q + r + 0 // never -0
}

// Hypot is sqrt(x^2 + y^2) without overflow or underflow, for every pair.
var Hypot = func(dst, x, y []float64) {
	y = y[:len(dst)]
	for i, x := range x[:len(dst)] {
		dst[i] = HypotOf(x, y[i])
	}
}

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

// Cbrt is the cube root of every element.
var Cbrt = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = CbrtOf(x)
	}
}

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
