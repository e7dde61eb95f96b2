package kernels

import "math"

// mulPair is (ah+al)*(bh+bl) to about 2^-104.
func mulPair(ah, al, bh, bl float64) (h, l float64) {
	p := float64(ah * bh)
	l = math.FMA(ah, bh, -p) + math.FMA(ah, bl, float64(al*bh))
	h = p + l
	return h, l - (h - p)
}

// addPair is (ah+al)+(bh+bl).
func addPair(ah, al, bh, bl float64) (h, l float64) {
	s, e := twoSum(ah, bh)
	e += al + bl
	h = s + e
	return h, e - (h - s)
}

// divPair is (ah+al)/(bh+bl).
func divPair(ah, al, bh, bl float64) (h, l float64) {
	q, r := ratio(ah, al, bh, bl)
	h = q + r
	return h, r - (h - q)
}

// poly is p[0] + p[1] x + …
func poly(p []float64, x float64) float64 {
	y := p[len(p)-1]
	for i := len(p) - 2; i >= 0; i-- {
		y = math.FMA(y, x, p[i])
	}
	return y
}

// evenOdd is poly(p, x), the even and the odd powers side by side; x2 is x*x.
func evenOdd(p []float64, x, x2 float64) float64 {
	n := len(p) - 1
	y, z := p[n], p[n-1]
	for i := n - 2; i > 0; i -= 2 {
		y = math.FMA(y, x2, p[i])
		z = math.FMA(z, x2, p[i-1])
	}
	if n%2 == 0 { // p[0] is left, and belongs to y
		return math.FMA(z, x, math.FMA(y, x2, p[0]))
	}
	return math.FMA(y, x, z)
}

// rowAt evaluates a row {value in two parts, polynomial of the divided difference}
// at distance d.
func rowAt(row []float64, d float64) (h, l float64) {
	h = row[0]
	l = math.FMA(d, poly(row[2:], d), row[1])
	s := h + l
	return s, l - (s - h)
}

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
var Erf = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ErfOf(x)
	}
}

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
var Gauss = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = GaussOf(x)
	}
}

// GaussOf is Gauss of one number.
func GaussOf(x float64) float64 {
	x = clamp(x, -28, 28)
	y := float64(x * x)
	t, l, n := expMinus(y, math.FMA(x, x, -y))
	return scale(t+l, n)
}

// NormPdf is the standard normal density exp(-x^2/2)/sqrt(2 pi) of every element.
var NormPdf = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = NormPdfOf(x)
	}
}

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
var Erfc = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ErfcOf(x)
	}
}

// ErfcOf is Erfc of one number.
func ErfcOf(x float64) float64 {
	h, l, n := erfcPair(x, 0)
	return scale(h+l, n)
}

// Erfcx is exp(x^2) erfc(x) of every element.
var Erfcx = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ErfcxOf(x)
	}
}

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
var NormCdf = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = NormCdfOf(x)
	}
}

// NormCdfOf is NormCdf of one number.
func NormCdfOf(x float64) float64 {
	x = clamp(x, -40, 40)
	z := -float64(x * sqrtHalfHi)
	zl := -math.FMA(x, sqrtHalfLo, math.FMA(x, sqrtHalfHi, z))
	h, l, n := erfcPair(z, zl)
	return scale(h+l, n-1)
}

// LogNormCdf is the logarithm of NormCdf, of every element.
var LogNormCdf = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = LogNormCdfOf(x)
	}
}

// LogNormCdfOf is LogNormCdf of one number.
func LogNormCdfOf(x float64) float64 {
	if x > -1 {
		return Log1pOf(-NormCdfOf(-x))
	}
	if x < -0x1p500 {
		return -0.5 * x * x
	}
	z := float64(-x * sqrtHalfHi)
	h, l := LogOf(0.5*ErfcxOf(z)), 0.0
	x2 := float64(x * x)
	l = math.FMA(x, x, -x2)
	s, e := twoSum(h, -0.5*x2)
	return s + (e - 0.5*l)
}

// Erfinv is the inverse of Erf, of every element; NaN outside [-1, 1].
var Erfinv = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ErfinvOf(x)
	}
}

// ErfinvOf is Erfinv of one number: a polynomial good to 2^-21 and one step of
// Halley, with the residual taken from erf or erfc, whichever is small.
func ErfinvOf(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a == 1:
		return withSign(math.Inf(1), math.Float64bits(x))
	case !(a < 1):
		return math.NaN()
	case a < 0x1p-500:
		return float64(x * halfSqrtPi)
	}
	w := -LogOf(float64((1 - a) * (1 + a)))
	var y float64
	if w < 6 {
		y = a * poly(erfinvMid[:], w-3)
	} else {
		y = a * poly(erfinvTail[:], math.Sqrt(w)-4)
	}
	var e float64 // erf(y) - a
	if a < 0.5 {
		t, q, d := erfParts(y)
		h, l := twoSum(t, -a)
		e = math.FMA(q, d, h) + l
	} else {
		h, l, n := erfcPair(y, 0)
		p := math.Float64frombits(uint64(1023+n) << 52)
		e = ((1 - a) - float64(h*p)) - float64(l*p)
	}
	u := e * ExpOf(float64(y*y)) * halfSqrtPi
	return withSign(y-u/(1+float64(y*u)), math.Float64bits(x))
}

// Erfcinv is the inverse of Erfc, of every element; NaN outside [0, 2].
var Erfcinv = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ErfcinvOf(x)
	}
}

// ErfcinvOf is Erfcinv of one number. Where 1-x is not exact, Newton's method solves
// log erfc(y) = log x: it starts to the right of the zero of a concave function and
// so comes down to it.
func ErfcinvOf(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(1)
	case x >= 0.5 || x != x || x < 0:
		return ErfinvOf(1 - x)
	case x > 0.25:
		y := ErfinvOf(1 - x)
		h, l, n := erfcPair(y, 0)
		p := math.Float64frombits(uint64(1023+n) << 52)
		e := (float64(h*p) - x) + float64(l*p)
		return y + float64(e*ExpOf(float64(y*y))*halfSqrtPi)
	}
	wh, wl := logLong(x)
	y := math.Sqrt(-wh)
	for {
		t, l := erfcxParts(y)
		h := t + l
		l -= h - t
		fh, fl := logPairOf(h, l)
		y2 := float64(y * y)
		fh, fl = addPair(fh, fl, -y2, -math.FMA(y, y, -y2))
		fh, _ = addPair(fh, fl, -wh, -wl)
		d := float64(fh * halfSqrtPi * h)
		y += d
		if math.Abs(d) < 0x1p-28*y {
			return y
		}
	}
}

// NormQuantile is the inverse of NormCdf, of every element; NaN outside [0, 1].
var NormQuantile = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = NormQuantileOf(x)
	}
}

// NormQuantileOf is NormQuantile of one number. What it gives to Erfinv and Erfcinv is exact.
func NormQuantileOf(x float64) float64 {
	switch {
	case x < 0.25:
		return -math.Sqrt2 * ErfcinvOf(2*x)
	case x > 0.75:
		return math.Sqrt2 * ErfcinvOf(2*(1-x))
	}
	return math.Sqrt2 * ErfinvOf(2*x-1)
}

// tooFar is where gamma and its family leave their tables for the asymptotic series.
const tooFar = 20.5

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

// lgammaFar is lgamma(x) = h + l for tooFar < x <= lgammaMax: Stirling's series.
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
var Gamma = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = GammaOf(x)
	}
}

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
	case x > tooFar:
		h, l := lgammaFar(x)
		h, l, e := expPair(h, l)
		return scale(h+l, e)
	case x < -187:
		return flip(0, uint64(int64(math.Mod(math.Floor(x), 2)))<<63)
	case x < -tooFar:
		h, l := lgammaFar(-x)
		h, l, e := expPair(-h, -l)
		sh, sl := sinPiPair(x)
		dh, dl := mulPair(sh, sl, -x, 0)
		nh, nl := mulPair(h, l, onePiHi, onePiLo)
		h, l = divPair(nh, nl, dh, dl)
		return scale(h+l, e)
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

// Lgamma is log|gamma| of every element: infinite at 0 and negative integers.
var Lgamma = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = LgammaOf(x)
	}
}

// LgammaOf is Lgamma of one number.
func LgammaOf(x float64) float64 {
	n, f := nearest(x)
	switch {
	case x != x:
		return x
	case x > lgammaMax, x < -math.MaxFloat64, f == 0 && n <= 0:
		return math.Inf(1)
	case x > tooFar:
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
	j, d := row(f)
	if n >= 2 {
		h, l := rowAt(lgamma2Table[j][:], d)
		if n == 2 {
			return math.FMA(f, h, float64(f*l))
		}
		h, l = mulPair(h, l, f, 0)
		ph, pl := logPairOf(rising(f, 2, n))
		h, l = addPair(ph, pl, h, l)
		return h + l
	}
	if x < -2 {
		if y, ok := lgammaNearZero(x, n, f); ok {
			return y
		}
	}
	h, l := rowAt(lgamma1Table[j][:], d)
	if n == 1 {
		return math.FMA(f, h, float64(f*l))
	}
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

// digammaFar is digamma(x) = h + l for x > tooFar.
func digammaFar(x float64) (h, l float64) {
	z := 1 / x
	z2 := float64(z * z)
	h, l = logLong(x)
	return addPair(h, l, -0.5*z, -float64(z2*poly(digammaSeries[:], z2)))
}

// Digamma is the logarithmic derivative of the gamma function, of every element: NaN at
// negative integers, infinite with the sign of -x at 0.
var Digamma = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = DigammaOf(x)
	}
}

// DigammaOf is Digamma of one number.
func DigammaOf(x float64) float64 {
	n, f := nearest(x)
	switch {
	case x != x || x < 0 && (f == 0 || x < -math.MaxFloat64):
		return math.NaN()
	case x > math.MaxFloat64:
		return x
	case math.Abs(x) < 0x1p-60:
		return -1 / x
	case x > tooFar:
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
	i, radius := 0, 0x1p-4
	if x < 0 {
		i, radius = -int(math.Floor(x)), 0x1p-5
	}
	if i < len(digammaZeros) {
		z := &digammaZeros[i]
		if d := x - z[0]; math.Abs(d) <= radius {
			d -= z[1]
			return float64(d * poly(z[2:], d))
		}
	}
	j, d := row(f)
	h, l := rowAt(digammaTable[j][:], d)
	for i := 2.0; i < n; i++ {
		s, e := twoSum(i, f)
		s, e = divPair(1, 0, s, e)
		h, l = addPair(h, l, s, e)
	}
	for i := n; i < 2; i++ {
		s, e := twoSum(i, f)
		s, e = divPair(-1, 0, s, e)
		h, l = addPair(h, l, s, e)
	}
	return h + l
}

// Polygamma is the x-th derivative (x = 0, 1, 2, …) of digamma at y; NaN for
// another x. At the poles odd derivatives are +Inf, even ones NaN, but at 0 of the
// sign of -y.
var Polygamma = func(dst, x, y []float64) {
	y = y[:len(dst)]
	for i, x := range x[:len(dst)] {
		dst[i] = PolygammaOf(x, y[i])
	}
}

// PolygammaOf is Polygamma of one pair: (-1)^s n! times the sum of 1/(x+k)^s over
// k = 0, 1, …, for s = n+1.
func PolygammaOf(n, x float64) float64 {
	m, f := nearest(x)
	odd := math.Mod(n, 2) == 1
	s := n + 1
	switch {
	case !(n >= 0) || n != math.Floor(n) || n > 0x1p50 || x != x || x < -math.MaxFloat64:
		return math.NaN()
	case n == 0:
		return DigammaOf(x)
	case x <= 0 && f == 0:
		switch {
		case odd:
			return math.Inf(1)
		case x == 0:
			return math.Inf(-1) * math.Copysign(1, x)
		}
		return math.NaN()
	}
	if n == 1 {
		return trigamma(x)
	}
	sign := 1.0
	if !odd {
		sign = -1
	}
	switch {
	case x > math.MaxFloat64:
		return math.Copysign(0, sign)
	case x >= zetaFar(s):
		return sign * factorialOver(n-1, n, x, zetaTail(s, x))
	case x > 0.5:
		return sign * factorialOver(n, s, x, zetaSum(s, 0, x, x))
	}
	// With r = |f| as the unit, what is right of m, the point itself, what is left.
	r := math.Abs(f)
	sum := zetaSum(s, 1, f, r)
	if odd || f > 0 {
		sum++
	} else {
		sum--
	}
	left := 0.0
	if m < -16 {
		left = zetaSum(s, 1, -f, r) - zetaSum(s, 1-m, -f, r)
	} else {
		for i := 1.0; i <= -m; i++ {
			left += zetaTerm(s, i, -f, r)
		}
	}
	return sign * factorialOver(n, s, r, sum+sign*left)
}

// trigammaFar is trigamma(x) = h + l for x > tooFar, where 1/x does not underflow.
func trigammaFar(x float64) (h, l float64) {
	h, l = divPair(1, 0, x, 0)
	z2 := float64(h * h)
	return addPair(h, l, 0.5*z2, float64(float64(z2*h)*poly(bernoulli[:], z2)))
}

// trigamma is the derivative of digamma at x, which is no pole: positive everywhere.
func trigamma(x float64) float64 {
	n, f := nearest(x)
	switch {
	case x > 0x1p100:
		return 1 / x
	case x > tooFar:
		h, l := trigammaFar(x)
		return h + l
	case math.Abs(x) < 0x1p-60:
		return 1 / x / x
	case x < -tooFar: // (pi/sin(pi x))^2 - trigamma(-x) + 1/x^2
		sh, sl := sinPiPair(f)
		sh, sl = divPair(onePiHi, onePiLo, sh, sl)
		sh, sl = mulPair(sh, sl, sh, sl)
		h, l := trigammaFar(-x)
		h, l = addPair(1/x/x, 0, -h, -l)
		h, l = addPair(sh, sl, h, l)
		return h + l
	}
	j, d := row(f)
	h, l := rowAt(trigammaTable[j][:], d)
	sign := -1.0
	lo, hi := 2.0, n
	if n < 2 {
		sign, lo, hi = 1, n, 2
	}
	for i := lo; i < hi; i++ {
		s, e := twoSum(i, f)
		s, e = mulPair(s, e, s, e)
		s, e = divPair(sign, 0, s, e)
		h, l = addPair(h, l, s, e)
	}
	return h + l
}

// factorialOver is n! / x^s * y.
func factorialOver(n, s, x, y float64) float64 {
	h, l := logLong(x)
	h, l = mulPair(h, l, -s, 0)
	var gh, gl float64
	if n > tooFar {
		gh, gl = lgammaFar(n + 1)
	} else {
		gh, gl = logPairOf(rising(0, 2, n+1))
	}
	h, l = addPair(gh, gl, h, l)
	switch {
	case h > 750:
		return math.Copysign(math.Inf(1), y)
	case h < -780:
		return math.Copysign(0, y)
	}
	h, l, e := expPair(h, l)
	return scale(math.FMA(h, y, float64(l*y)), e)
}

// zetaFar is from where zetaTail serves.
func zetaFar(s float64) float64 { return s + 10 }

// zetaTail is (s-1) x^(s-1) times the sum of 1/(x+k)^s, by Euler and Maclaurin.
func zetaTail(s, x float64) float64 {
	z := 1 / x
	c := float64((s - 1) * z)
	sum := 0.5 * c
	for j, b := range zetaSeries {
		i := float64(2 * j)
		c *= float64((s + i) * z)
		sum += float64(b * c)
		c *= float64((s + i + 1) * z)
	}
	return 1 + sum
}

// zetaSum is the sum of (r/(i+f))^s over i = lo, lo+1, …
func zetaSum(s, lo, f, r float64) float64 {
	far := zetaFar(s)
	sum, low, i := 0.0, 0.0, lo
	for ; i+f < far; i++ {
		t := zetaTerm(s, i, f, r)
		s, e := twoSum(sum, t)
		sum, low = s, low+e
		if t < 0x1p-60*sum {
			return sum + low
		}
	}
	t := float64(zetaTerm(s, i, f, r) * zetaTail(s, i+f))
	return sum + (low + float64(t*((i+f)/(s-1))))
}

// zetaTerm is (r/(i+f))^s; f is r or -r, so that the distance i+f-r is almost exact.
func zetaTerm(s, i, f, r float64) float64 {
	if s == 2 {
		q := r / (i + f)
		return float64(q * q)
	}
	return ExpOf(-s * Log1pOf((i+(f-r))/r))
}
