package kernels

import "math"

// Stubs over Go's math until the kernels proper are written.

// Cbrt is cbrt of every element.
var Cbrt = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = CbrtOf(x)
	}
}

// CbrtOf is Cbrt of one number.
func CbrtOf(x float64) float64 { return math.Cbrt(x) }

// Sin is sin of every element.
var Sin = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SinOf(x)
	}
}

// SinOf is Sin of one number.
func SinOf(x float64) float64 { return math.Sin(x) }

// Cos is cos of every element.
var Cos = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = CosOf(x)
	}
}

// CosOf is Cos of one number.
func CosOf(x float64) float64 { return math.Cos(x) }

// Tan is tan of every element.
var Tan = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = TanOf(x)
	}
}

// TanOf is Tan of one number.
func TanOf(x float64) float64 { return math.Tan(x) }

// Asin is asin of every element.
var Asin = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AsinOf(x)
	}
}

// AsinOf is Asin of one number.
func AsinOf(x float64) float64 { return math.Asin(x) }

// Acos is acos of every element.
var Acos = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AcosOf(x)
	}
}

// AcosOf is Acos of one number.
func AcosOf(x float64) float64 { return math.Acos(x) }

// Atan is atan of every element.
var Atan = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AtanOf(x)
	}
}

// AtanOf is Atan of one number.
func AtanOf(x float64) float64 { return math.Atan(x) }

// Erf is erf of every element.
var Erf = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ErfOf(x)
	}
}

// ErfOf is Erf of one number.
func ErfOf(x float64) float64 { return math.Erf(x) }

// Erfc is erfc of every element.
var Erfc = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ErfcOf(x)
	}
}

// ErfcOf is Erfc of one number.
func ErfcOf(x float64) float64 { return math.Erfc(x) }

// Erfinv is erfinv of every element.
var Erfinv = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ErfinvOf(x)
	}
}

// ErfinvOf is Erfinv of one number.
func ErfinvOf(x float64) float64 { return math.Erfinv(x) }

// Gamma is gamma of every element.
var Gamma = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = GammaOf(x)
	}
}

// GammaOf is Gamma of one number.
func GammaOf(x float64) float64 { return math.Gamma(x) }

// Lgamma is log|gamma(x)|.
var Lgamma = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = LgammaOf(x)
	}
}

// LgammaOf is Lgamma of one number.
func LgammaOf(x float64) float64 { return lgamma(x) }

// Digamma is digamma of every element.
var Digamma = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = DigammaOf(x)
	}
}

// DigammaOf is Digamma of one number.
func DigammaOf(x float64) float64 { return math.NaN() }

// Sinc is sin(pi x)/(pi x), 1 at 0 (NumPy's).
var Sinc = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SincOf(x)
	}
}

// SincOf is Sinc of one number.
func SincOf(x float64) float64 { return 1 }

// NormCdf is the normal distribution function, erfc(-x/sqrt2)/2.
var NormCdf = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = NormCdfOf(x)
	}
}

// NormCdfOf is NormCdf of one number.
func NormCdfOf(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// Atan2 is the angle of the point (y, x): the first argument is the ordinate.
var Atan2 = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = Atan2Of(x, y[i])
	}
}

// Atan2Of is Atan2 of one pair.
func Atan2Of(x, y float64) float64 { return math.Atan2(x, y) }

// Hypot is x hypot y for every pair of elements.
var Hypot = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = HypotOf(x, y[i])
	}
}

// HypotOf is Hypot of one pair.
func HypotOf(x, y float64) float64 { return math.Hypot(x, y) }

// Polygamma is the x-th derivative (x = 0, 1, 2, …) of digamma at y.
var Polygamma = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = PolygammaOf(x, y[i])
	}
}

// PolygammaOf is Polygamma of one pair.
func PolygammaOf(x, y float64) float64 { return math.NaN() }

func lgamma(x float64) float64 { v, _ := math.Lgamma(x); return v }
