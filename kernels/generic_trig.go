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
var Sin = func(dst, x []float64) { each(dst, x, SinOf) }

// SinOf is Sin of one number.
func SinOf(x float64) float64 {
	k, r, rl := reduceAny(math.Abs(x))
	return flip(sinAt(k, r, rl), k<<59^math.Float64bits(x))
}

// Cos is the cosine of every element, in radians.
var Cos = func(dst, x []float64) { each(dst, x, CosOf) }

// CosOf is Cos of one number.
func CosOf(x float64) float64 {
	k, r, rl := reduceAny(math.Abs(x))
	return flip(cosAt(k, r, rl), k<<59)
}

// SinCos is Sin and Cos of every element.
var SinCos = func(sin, cos, x []float64) { eachTwin(sin, cos, x, SinCosOf) }

// SinCosOf is SinCos of one number.
func SinCosOf(x float64) (sin, cos float64) {
	k, r, rl := reduceAny(math.Abs(x))
	return flip(sinAt(k, r, rl), k<<59^math.Float64bits(x)), flip(cosAt(k, r, rl), k<<59)
}

// Tan is the tangent of every element, in radians.
var Tan = func(dst, x []float64) { each(dst, x, TanOf) }

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
	// Where sine or cosine is small f0 is not 0: no float64 is that near to a multiple of pi/2.
	z := uint(bits.LeadingZeros64(f0))
	f0 = f0<<z | f1>>(64-z)
	f1 = f1<<z | f2>>(64-z)
	unit := math.Float64frombits(uint64(1023-z) << 52)
	// The fraction is f0, f1 after the point: its first 53 bits and 53 more.
	h := float64(f0>>11) * 0x1p-53
	l := float64(f0<<53>>11|f1>>22) * 0x1p-106
	r = float64(h * twoPiHi)
	rl = math.FMA(h, twoPiHi, -r) + math.FMA(h, twoPiLo, float64(l*twoPiHi))
	return k, flip(r*unit, neg), flip(rl*unit, neg)
}

// sinPiPair is sin(pi x) = h + l.
func sinPiPair(x float64) (h, l float64) {
	h, l = sinPair(reducePi(math.Abs(x)))
	return flip(h, math.Float64bits(x)), flip(l, math.Float64bits(x))
}

// SinPiOf is sin(pi x), exact at the multiples of 1/2.
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
var CosPi = func(dst, x []float64) { each(dst, x, CosPiOf) }

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
var Sinc = func(dst, x []float64) { each(dst, x, SincOf) }

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
