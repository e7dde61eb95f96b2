package kernels

import "math"

// The logarithm of gamma and its derivative of positive numbers. From 1/2 to 8 they are their zeros' factors times
// tables of what is left; below 1/2 the recurrence leads there; from 8 on there are the asymptotic series, with the
// logarithm in two parts. What vectors cannot do, negative numbers and the ends of the range, is in generic_gamma.go.

const (
	gammaLeast, gammaMost = 0x1p-1000, 0x1p1000 // what vectors do
	gammaHalf             = 0.5                 // below this the recurrence is used once
	gammaFarFrom          = 8                   // from here on a series
)

// quarterAt evaluates a row {middle, value in two parts, polynomial of the divided difference} at distance d of its
// middle.
func quarterAt(row []float64, d float64) (h, l float64) {
	l = math.FMA(d, evenOdd(row[3:], d, float64(d*d)), row[2])
	h = row[1] + l
	return h, l - (h - row[1])
}

// quarterOf is the number of the row of x in a table of quarters of octaves from 1/2 to 8.
func quarterOf(x float64) uint64 { return math.Float64bits(x) >> 50 & 15 }

// Parts of Lgamma and Digamma that are assembly: of numbers and their logarithms in two parts.
var (
	lgammaBy  = func(dst, x, log, rest []float64) { eachTriple(dst, x, log, rest, lgammaEither) }
	digammaBy = func(dst, x, log, rest []float64) { eachTriple(dst, x, log, rest, digammaEither) }
)

// Parts of LgammaPair and DigammaPair that are assembly: log and rest become the result.
var (
	lgammaPairBy  = func(log, rest, x []float64) { eachWithin(lgammaPair, log, rest, x) }
	digammaPairBy = func(log, rest, x []float64) { eachWithin(digammaPair, log, rest, x) }
)

// Lgamma is log|gamma| of every element: infinite at 0 and negative integers.
var Lgamma = func(dst, x []float64) {
	inPieces(dst, x, func(dst, x, _, rest, log []float64) {
		logTwin(log, rest, x)
		lgammaBy(dst, x, log, rest)
	})
}

// LgammaOf is Lgamma of one number.
func LgammaOf(x float64) float64 {
	log, rest := logTwinOf(x)
	return lgammaEither(x, log, rest)
}

// Digamma is the logarithmic derivative of the gamma function, of every element: NaN at
// negative integers, infinite with the sign of -x at 0.
var Digamma = func(dst, x []float64) {
	inPieces(dst, x, func(dst, x, _, rest, log []float64) {
		logTwin(log, rest, x)
		digammaBy(dst, x, log, rest)
	})
}

// DigammaOf is Digamma of one number.
func DigammaOf(x float64) float64 {
	log, rest := logTwinOf(x)
	return digammaEither(x, log, rest)
}

// LgammaPair is Lgamma as h + l, to about 2^-56 of itself, of every element from gammaLeast to gammaMost; NaN
// elsewhere. x is apart from the others.
var LgammaPair = func(h, l, x []float64) {
	logTwin(h, l, x)
	lgammaPairBy(h, l, x)
}

// LgammaPairOf is LgammaPair of one number.
func LgammaPairOf(x float64) (h, l float64) {
	log, rest := logTwinOf(x)
	return pairWithin(lgammaPair, x, log, rest)
}

// DigammaPair is Digamma likewise; from gammaFarFrom on to about 2^-61, however small it is.
var DigammaPair = func(h, l, x []float64) {
	logTwin(h, l, x)
	digammaPairBy(h, l, x)
}

// DigammaPairOf is DigammaPair of one number.
func DigammaPairOf(x float64) (h, l float64) {
	log, rest := logTwinOf(x)
	return pairWithin(digammaPair, x, log, rest)
}

func eachWithin(pair func(x, log, rest float64) (h, l float64), log, rest, x []float64) {
	rest = rest[:len(log)]
	for i, x := range x[:len(log)] {
		log[i], rest[i] = pairWithin(pair, x, log[i], rest[i])
	}
}

func pairWithin(pair func(x, log, rest float64) (h, l float64), x, log, rest float64) (h, l float64) {
	if x >= gammaLeast && x <= gammaMost {
		return pair(x, log, rest)
	}
	return math.NaN(), 0
}

func lgammaEither(x, log, rest float64) float64 {
	if x >= gammaLeast && x <= gammaMost {
		return lgammaByOf(x, log, rest)
	}
	return lgammaElsewhere(x)
}

func digammaEither(x, log, rest float64) float64 {
	if x >= gammaLeast && x <= gammaMost {
		return digammaByOf(x, log, rest)
	}
	return digammaElsewhere(x)
}

// lgammaByOf is lgamma(x) for gammaLeast <= x <= gammaMost, the logarithm of x being log + rest.
func lgammaByOf(x, log, rest float64) float64 {
	h, l := lgammaPair(x, log, rest)
	return h + l
}

// lgammaPair is that as h + l, to about 2^-56 of itself.
func lgammaPair(x, log, rest float64) (h, l float64) {
	if x >= gammaFarFrom { // Stirling's series: (x-1/2)(log x - 1) + log(2 pi)/2 - 1/2 + …
		h := log - 1
		l := (log - h) - 1 + rest
		w := x - 0.5
		wl := (x - w) - 0.5
		p := float64(h * w)
		pl := math.FMA(h, wl, math.FMA(l, w, math.FMA(h, w, -p)))
		z := 1 / x
		z2 := float64(z * z)
		pl = math.FMA(z, evenOdd(stirling[:], z2, float64(z2*z2)), pl+halfLog2PiLo)
		s := p + (halfLog2PiHi - 0.5)
		return s, (halfLog2PiHi - 0.5 - (s - p)) + pl
	}
	t, e, a, c := x, 0.0, x-1, 2.0
	if x < gammaHalf { // lgamma(1+x) - log x
		t = 1 + x
		e = x - (t - 1)
		a, c = x, 1
	}
	b := x - c
	bl := x - (b + c)
	p := float64(a * b)
	pl := math.FMA(a, bl, math.FMA(a, b, -p))
	row := &lgammaQuarters[quarterOf(t)]
	h, l = quarterAt(row[:], (t-row[0])+e)
	y := float64(p * h)
	yl := math.FMA(pl, h, math.FMA(p, l, math.FMA(p, h, -y)))
	if x < gammaHalf {
		s := y - log
		yl = y - (s + log) + (yl - rest)
		y = s
	}
	return y, yl
}

// digammaByOf is digamma(x) for gammaLeast <= x <= gammaMost, the logarithm of x being log + rest.
func digammaByOf(x, log, rest float64) float64 {
	h, l := digammaPair(x, log, rest)
	return h + l
}

// digammaPair is that as h + l, to about 2^-56 of itself.
func digammaPair(x, log, rest float64) (h, l float64) {
	z := 1 / x
	if x >= gammaFarFrom { // log x - 1/2x - …
		z2 := float64(z * z)
		u := -0.5 * z
		s := log + u
		return s, (u - (s - log)) + math.FMA(-z2, evenOdd(digammaSeries[:], z2, float64(z2*z2)), rest)
	}
	t, e := x, 0.0
	if x < gammaHalf { // digamma(1+x) - 1/x
		t = 1 + x
		e = x - (t - 1)
	}
	a, al := twoSum(t, -digammaZero)
	al = (al - digammaZeroLo) + e
	row := &digammaQuarters[quarterOf(t)]
	h, l = quarterAt(row[:], (t-row[0])+e)
	y := float64(a * h)
	yl := math.FMA(al, h, math.FMA(a, l, math.FMA(a, h, -y)))
	if x < gammaHalf {
		s := y - z
		return s, y - (s + z) + (yl - float64(math.FMA(-z, x, 1)*z))
	}
	return y, yl
}
