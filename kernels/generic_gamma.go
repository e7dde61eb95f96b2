package kernels

import "math"

// tooFar is where gamma, and its family below 0, leave their tables for the asymptotic series;
// seriesFrom is where the series of logarithm and derivatives reach 2^-62.
const (
	tooFar     = 20.5
	seriesFrom = 9.5
)

// nearest is x = n + f with |f| <= 1/2, exactly.
func nearest(x float64) (n, f float64) {
	n = math.RoundToEven(x)
	return n, x - n
}

// row is the number of f's row in a table about multiples of 1/8, and the distance.
func row(f float64) (j int, d float64) {
	c := math.RoundToEven(8 * f)
	return int(c) + 4, f - c/8
}

// rising is the product of i + f for lo <= i < hi.
func rising(f, lo, hi float64) (h, l float64) {
	h = 1
	for i := lo; i < hi; i++ {
		s, e := twoSum(i, f)
		h, l = mulPair(h, l, s, e)
	}
	return h, l
}

// lgammaMax is where lgamma overflows.
const lgammaMax = 0x1.754d9278b51a7p+1014

// lgammaFar is lgamma(x) = h + l for seriesFrom <= x <= lgammaMax: Stirling's series. lgammaByOf has it,
// too, rounded as vectors do it; one for both would change the bits of one.
func lgammaFar(x float64) (h, l float64) {
	h, l = logLong(x)
	h, l = addPair(h, l, -1, 0)
	w, wl := twoSum(x, -0.5)
	p, e := mulPair(h, l, w, wl)
	z := 1 / x
	return addPair(p, e, halfLog2PiHi-0.5, halfLog2PiLo+float64(z*poly(stirling[:], float64(z*z))))
}

// Gamma is the gamma function of every element: NaN at negative integers, an infinity
// of the argument's sign at 0.
var Gamma = func(dst, x []float64) { each(dst, x, GammaOf) }

// GammaOf is Gamma of one number.
func GammaOf(x float64) float64 {
	n, f := nearest(x)
	switch {
	case x != x || x < 0 && (f == 0 || x < -math.MaxFloat64):
		return math.NaN()
	case math.Abs(x) < 0x1p-60:
		return 1 / x
	case x > 172:
		return math.Inf(1)
	case x < -187:
		return flip(0, uint64(int64(math.Mod(math.Floor(x), 2)))<<63)
	case math.Abs(x) > tooFar:
		y, e := GammaFar(x)
		return scale(y, int64(e))
	}
	j, d := row(f)
	h, l := rowAt(gammaTable[j][:], d)
	if n > 2 {
		ph, pl := rising(f, 2, n)
		h, l = mulPair(h, l, ph, pl)
	} else if n < 2 {
		ph, pl := rising(f, n, 2)
		h, l = divPair(h, l, ph, pl)
	}
	return h + l
}

// GammaFar is gamma(x) = y * 2^e for |x| > tooFar, where gamma itself may leave the range.
func GammaFar(x float64) (y float64, e int) {
	h, l := lgammaFar(math.Abs(x))
	switch {
	case x > 1<<16:
		y, n := ExpFar(h, l)
		return y, int(n)
	case x > 0:
		h, l, n := expPair(h, l)
		return h + l, int(n)
	case x < -1<<16:
		y, n := ExpFar(-h, -l)
		s, _ := sinPiPair(x)
		return y * onePiHi / float64(s*-x), int(n)
	}
	h, l, n := expPair(-h, -l)
	sh, sl := sinPiPair(x)
	dh, dl := mulPair(sh, sl, -x, 0)
	nh, nl := mulPair(h, l, onePiHi, onePiLo)
	h, l = divPair(nh, nl, dh, dl)
	return h + l, int(n)
}

// lgammaElsewhere is lgamma of what is not positive, next to 0 or far out.
func lgammaElsewhere(x float64) float64 {
	n, f := nearest(x)
	switch {
	case x != x:
		return x
	case x > lgammaMax, x < -math.MaxFloat64, f == 0 && n <= 0 && x <= 0:
		return math.Inf(1)
	case x > 1:
		h, l := lgammaFar(x)
		return h + l
	case x < -tooFar:
		h, l := sinPiPair(f)
		h, l = mulPair(math.Abs(h), flip(l, math.Float64bits(h)), -x, 0)
		h, l = logPairOf(h, l)
		gh, gl := lgammaFar(-x)
		h, l = addPair(h, l, gh, gl)
		h, l = addPair(logPiHi, logPiLo, -h, -l)
		return h + l
	case math.Abs(x) < 0x1p-60:
		return -LogOf(math.Abs(x))
	}
	if x < -2 {
		if y, ok := lgammaNearZero(x, n, f); ok {
			return y
		}
	}
	j, d := row(f)
	h, l := rowAt(lgamma1Table[j][:], d)
	h, l = mulPair(h, l, f, 0)
	ph, pl := rising(f, n, 1)
	ph, pl = logPairOf(math.Abs(ph), flip(pl, math.Float64bits(ph)))
	h, l = addPair(-ph, -pl, h, l)
	return h + l
}

// logPairOf is log(x+xl) = h + l for xl below an ulp of x.
func logPairOf(x, xl float64) (h, l float64) {
	h, l = logLong(x)
	return addPair(h, l, xl/x, 0)
}

// lgammaNearZero is lgamma around its zeros, where all other ways cancel. n is the
// nearest integer, n + f = x < -2.
func lgammaNearZero(x, n, f float64) (y float64, ok bool) {
	if n >= -4 {
		for i := range lgammaZeros {
			z := &lgammaZeros[i]
			if d := x - z[0]; math.Abs(d) < z[2] {
				d -= z[1]
				return float64(d * poly(z[3:], d)), true
			}
		}
	}
	i := 2 * (-5 - int(n))
	if f < 0 {
		i++
	}
	if n > -5 || i >= len(lgammaPoleZeros) {
		return 0, false
	}
	z := &lgammaPoleZeros[i]
	d := x - z[0]
	if math.Abs(d) > math.Abs(z[2])/4 {
		return 0, false
	}
	d -= z[1]
	return math.FMA(d, poly(z[3:], d), -Log1pOf(d/z[2])), true
}

// digammaFar is digamma(x) = h + l for x >= seriesFrom.
func digammaFar(x float64) (h, l float64) {
	z := 1 / x
	z2 := float64(z * z)
	h, l = logLong(x)
	return addPair(h, l, -0.5*z, -float64(z2*poly(digammaSeries[:], z2)))
}

// digammaElsewhere is digamma of what is not positive, next to 0 or far out.
func digammaElsewhere(x float64) float64 {
	n, f := nearest(x)
	switch {
	case x != x || x < 0 && (f == 0 || x < -math.MaxFloat64):
		return math.NaN()
	case x > math.MaxFloat64:
		return x
	case math.Abs(x) < 0x1p-60:
		return -1 / x
	case x > 1:
		h, l := digammaFar(x)
		return h + l
	case x < -tooFar: // digamma(-x) - 1/x - pi cot(pi x)
		k, r, rl := reducePi(math.Abs(f))
		sh, sl := sinPair(k, r, rl)
		ch, cl := cosPair(k, r, rl)
		ch, cl = mulPair(ch, cl, onePiHi, onePiLo)
		ch, cl = divPair(ch, cl, sh, sl)
		h, l := digammaFar(-x)
		h, l = addPair(h, l, -1/x, 0)
		h, l = addPair(-flip(ch, math.Float64bits(f)), -flip(cl, math.Float64bits(f)), h, l)
		return h + l
	}
	const radius = 0x1p-5
	if i := -1 - int(math.Floor(x)); i < len(digammaZeros) {
		z := &digammaZeros[i]
		if d := x - z[0]; math.Abs(d) <= radius {
			d -= z[1]
			return float64(d * poly(z[2:], d))
		}
	}
	j, d := row(f)
	h, l := rowAt(digammaTable[j][:], d)
	for i := n; i < 2; i++ {
		s, e := twoSum(i, f)
		s, e = divPair(-1, 0, s, e)
		h, l = addPair(h, l, s, e)
	}
	return h + l
}
