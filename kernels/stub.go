package kernels

import "math"

// Stubs over Go's math until the kernels proper are written.

// Neg is neg of every element.
var Neg = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = NegOf(x)
	}
}

// NegOf is Neg of one number.
func NegOf(x float64) float64 { return -x }

// Abs is abs of every element.
var Abs = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AbsOf(x)
	}
}

// AbsOf is Abs of one number.
func AbsOf(x float64) float64 { return math.Abs(x) }

// Sign is -1, 0 or 1; NaN for NaN.
var Sign = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SignOf(x)
	}
}

// SignOf is Sign of one number.
func SignOf(x float64) float64 { return sign(x) }

// Sqrt is sqrt of every element.
var Sqrt = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SqrtOf(x)
	}
}

// SqrtOf is Sqrt of one number.
func SqrtOf(x float64) float64 { return math.Sqrt(x) }

// Cbrt is cbrt of every element.
var Cbrt = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = CbrtOf(x)
	}
}

// CbrtOf is Cbrt of one number.
func CbrtOf(x float64) float64 { return math.Cbrt(x) }

// Recip is recip of every element.
var Recip = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = RecipOf(x)
	}
}

// RecipOf is Recip of one number.
func RecipOf(x float64) float64 { return 1 / x }

// Square is square of every element.
var Square = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SquareOf(x)
	}
}

// SquareOf is Square of one number.
func SquareOf(x float64) float64 { return x * x }

// Floor is floor of every element.
var Floor = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = FloorOf(x)
	}
}

// FloorOf is Floor of one number.
func FloorOf(x float64) float64 { return math.Floor(x) }

// Ceil is ceil of every element.
var Ceil = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = CeilOf(x)
	}
}

// CeilOf is Ceil of one number.
func CeilOf(x float64) float64 { return math.Ceil(x) }

// Trunc is trunc of every element.
var Trunc = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = TruncOf(x)
	}
}

// TruncOf is Trunc of one number.
func TruncOf(x float64) float64 { return math.Trunc(x) }

// Round rounds half to even.
var Round = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = RoundOf(x)
	}
}

// RoundOf is Round of one number.
func RoundOf(x float64) float64 { return math.RoundToEven(x) }

// Not is not of every element.
var Not = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = NotOf(x)
	}
}

// NotOf is Not of one number.
func NotOf(x float64) float64 { return b2f(x == 0) }

// IsNaN is isnan of every element.
var IsNaN = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = IsNaNOf(x)
	}
}

// IsNaNOf is IsNaN of one number.
func IsNaNOf(x float64) float64 { return b2f(x != x) }

// IsInf is isinf of every element.
var IsInf = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = IsInfOf(x)
	}
}

// IsInfOf is IsInf of one number.
func IsInfOf(x float64) float64 { return b2f(math.IsInf(x, 0)) }

// IsFinite is isfinite of every element.
var IsFinite = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = IsFiniteOf(x)
	}
}

// IsFiniteOf is IsFinite of one number.
func IsFiniteOf(x float64) float64 { return b2f(x-x == 0) }

// Float32 rounds to the nearest float32.
var Float32 = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = Float32Of(x)
	}
}

// Float32Of is Float32 of one number.
func Float32Of(x float64) float64 { return float64(float32(x)) }

// Copy is copy of every element.
var Copy = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = CopyOf(x)
	}
}

// CopyOf is Copy of one number.
func CopyOf(x float64) float64 { return x }

// Exp is exp of every element.
var Exp = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ExpOf(x)
	}
}

// ExpOf is Exp of one number.
func ExpOf(x float64) float64 { return math.Exp(x) }

// Exp2 is exp2 of every element.
var Exp2 = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = Exp2Of(x)
	}
}

// Exp2Of is Exp2 of one number.
func Exp2Of(x float64) float64 { return math.Exp2(x) }

// Expm1 is expm1 of every element.
var Expm1 = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = Expm1Of(x)
	}
}

// Expm1Of is Expm1 of one number.
func Expm1Of(x float64) float64 { return math.Expm1(x) }

// Log is log of every element.
var Log = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = LogOf(x)
	}
}

// LogOf is Log of one number.
func LogOf(x float64) float64 { return math.Log(x) }

// Log2 is log2 of every element.
var Log2 = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = Log2Of(x)
	}
}

// Log2Of is Log2 of one number.
func Log2Of(x float64) float64 { return math.Log2(x) }

// Log10 is log10 of every element.
var Log10 = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = Log10Of(x)
	}
}

// Log10Of is Log10 of one number.
func Log10Of(x float64) float64 { return math.Log10(x) }

// Log1p is log1p of every element.
var Log1p = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = Log1pOf(x)
	}
}

// Log1pOf is Log1p of one number.
func Log1pOf(x float64) float64 { return math.Log1p(x) }

// Sigmoid is sigmoid of every element.
var Sigmoid = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SigmoidOf(x)
	}
}

// SigmoidOf is Sigmoid of one number.
func SigmoidOf(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// Softplus is softplus of every element.
var Softplus = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SoftplusOf(x)
	}
}

// SoftplusOf is Softplus of one number.
func SoftplusOf(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// Sinh is sinh of every element.
var Sinh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SinhOf(x)
	}
}

// SinhOf is Sinh of one number.
func SinhOf(x float64) float64 { return math.Sinh(x) }

// Cosh is cosh of every element.
var Cosh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = CoshOf(x)
	}
}

// CoshOf is Cosh of one number.
func CoshOf(x float64) float64 { return math.Cosh(x) }

// Tanh is tanh of every element.
var Tanh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = TanhOf(x)
	}
}

// TanhOf is Tanh of one number.
func TanhOf(x float64) float64 { return math.Tanh(x) }

// Sech2 is 1/cosh(x)^2, the derivative of tanh, accurate for every x.
var Sech2 = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = Sech2Of(x)
	}
}

// Sech2Of is Sech2 of one number.
func Sech2Of(x float64) float64 { return 1 / (math.Cosh(x) * math.Cosh(x)) }

// Asinh is asinh of every element.
var Asinh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AsinhOf(x)
	}
}

// AsinhOf is Asinh of one number.
func AsinhOf(x float64) float64 { return math.Asinh(x) }

// Acosh is acosh of every element.
var Acosh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AcoshOf(x)
	}
}

// AcoshOf is Acosh of one number.
func AcoshOf(x float64) float64 { return math.Acosh(x) }

// Atanh is atanh of every element.
var Atanh = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AtanhOf(x)
	}
}

// AtanhOf is Atanh of one number.
func AtanhOf(x float64) float64 { return math.Atanh(x) }

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

// Add is x add y for every pair of elements.
var Add = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AddOf(x, y[i])
	}
}

// AddOf is Add of one pair.
func AddOf(x, y float64) float64 { return x + y }

// Sub is x sub y for every pair of elements.
var Sub = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = SubOf(x, y[i])
	}
}

// SubOf is Sub of one pair.
func SubOf(x, y float64) float64 { return x - y }

// Mul is x mul y for every pair of elements.
var Mul = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = MulOf(x, y[i])
	}
}

// MulOf is Mul of one pair.
func MulOf(x, y float64) float64 { return x * y }

// Div is x div y for every pair of elements.
var Div = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = DivOf(x, y[i])
	}
}

// DivOf is Div of one pair.
func DivOf(x, y float64) float64 { return x / y }

// ZMul is the strong-zero product of a cotangent x and a partial y: 0 where x or y is 0, even against an infinity or NaN; x*y elsewhere.
var ZMul = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ZMulOf(x, y[i])
	}
}

// ZMulOf is ZMul of one pair.
func ZMulOf(x, y float64) float64 { return zmul(x, y) }

// Pow is x pow y for every pair of elements.
var Pow = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = PowOf(x, y[i])
	}
}

// PowOf is Pow of one pair.
func PowOf(x, y float64) float64 { return math.Pow(x, y) }

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

// Maximum is the larger of x and y; NaN if either is NaN.
var Maximum = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = MaximumOf(x, y[i])
	}
}

// MaximumOf is Maximum of one pair.
func MaximumOf(x, y float64) float64 { return math.Max(x, y) }

// Minimum is the smaller of x and y; NaN if either is NaN.
var Minimum = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = MinimumOf(x, y[i])
	}
}

// MinimumOf is Minimum of one pair.
func MinimumOf(x, y float64) float64 { return math.Min(x, y) }

// Mod is x - y*floor(x/y) computed exactly; the result has the sign of y (NumPy's mod).
var Mod = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = ModOf(x, y[i])
	}
}

// ModOf is Mod of one pair.
func ModOf(x, y float64) float64 { return mod(x, y) }

// FloorDiv is floor(x/y), consistent with Mod (NumPy's floor_divide).
var FloorDiv = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = FloorDivOf(x, y[i])
	}
}

// FloorDivOf is FloorDiv of one pair.
func FloorDivOf(x, y float64) float64 { return math.Floor(x / y) }

// Lt is x lt y for every pair of elements.
var Lt = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = LtOf(x, y[i])
	}
}

// LtOf is Lt of one pair.
func LtOf(x, y float64) float64 { return b2f(x < y) }

// Le is x le y for every pair of elements.
var Le = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = LeOf(x, y[i])
	}
}

// LeOf is Le of one pair.
func LeOf(x, y float64) float64 { return b2f(x <= y) }

// Gt is x gt y for every pair of elements.
var Gt = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = GtOf(x, y[i])
	}
}

// GtOf is Gt of one pair.
func GtOf(x, y float64) float64 { return b2f(x > y) }

// Ge is x ge y for every pair of elements.
var Ge = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = GeOf(x, y[i])
	}
}

// GeOf is Ge of one pair.
func GeOf(x, y float64) float64 { return b2f(x >= y) }

// Eq is x eq y for every pair of elements.
var Eq = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = EqOf(x, y[i])
	}
}

// EqOf is Eq of one pair.
func EqOf(x, y float64) float64 { return b2f(x == y) }

// Ne is x ne y for every pair of elements.
var Ne = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = NeOf(x, y[i])
	}
}

// NeOf is Ne of one pair.
func NeOf(x, y float64) float64 { return b2f(x != y) }

// And is x and y for every pair of elements.
var And = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = AndOf(x, y[i])
	}
}

// AndOf is And of one pair.
func AndOf(x, y float64) float64 { return b2f(x != 0 && y != 0) }

// Or is x or y for every pair of elements.
var Or = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = OrOf(x, y[i])
	}
}

// OrOf is Or of one pair.
func OrOf(x, y float64) float64 { return b2f(x != 0 || y != 0) }

// Polygamma is the x-th derivative (x = 0, 1, 2, …) of digamma at y.
var Polygamma = func(dst, x, y []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = PolygammaOf(x, y[i])
	}
}

// PolygammaOf is Polygamma of one pair.
func PolygammaOf(x, y float64) float64 { return math.NaN() }

// Where is x where c is true, else y.
var Where = func(dst, c, x, y []float64) {
	for i := range dst {
		dst[i] = WhereOf(c[i], x[i], y[i])
	}
}

// WhereOf is Where of one triple.
func WhereOf(c, x, y float64) float64 {
	if c != 0 {
		return x
	}
	return y
}

// FMA is x*y + z, rounded once.
var FMA = func(dst, x, y, z []float64) {
	for i := range dst {
		dst[i] = math.FMA(x[i], y[i], z[i])
	}
}

// FMAOf is FMA of one triple.
func FMAOf(x, y, z float64) float64 { return math.FMA(x, y, z) }

// Fill sets every element of dst to v.
var Fill = func(dst []float64, v float64) {
	for i := range dst {
		dst[i] = v
	}
}

// SumBlock is the number of elements that Sum adds lane by lane before it folds.
const SumBlock = 8192

// Sum adds the elements of x in the package's one order; 0 for none.
func Sum(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v
	}
	return s
}

// Dot is the sum of x[i]*y[i], each lane by FMA, in the order of Sum.
func Dot(x, y []float64) float64 {
	var s float64
	for i, v := range x {
		s = math.FMA(v, y[i], s)
	}
	return s
}

// Max is the largest element, NaN if any is NaN, -Inf for none.
var Max = func(x []float64) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = math.Max(m, v)
	}
	return m
}

// Min is the smallest element, NaN if any is NaN, +Inf for none.
var Min = func(x []float64) float64 {
	m := math.Inf(1)
	for _, v := range x {
		m = math.Min(m, v)
	}
	return m
}

// Prod multiplies the elements in order; 1 for none.
func Prod(x []float64) float64 {
	p := 1.0
	for _, v := range x {
		p *= v
	}
	return p
}

// Accumulate is dst[i] += x[i].
var Accumulate = func(dst, x []float64) {
	for i, v := range x {
		dst[i] += v
	}
}

// Axpy is dst[i] = fma(a, x[i], dst[i]).
var Axpy = func(dst []float64, a float64, x []float64) {
	for i, v := range x {
		dst[i] = math.FMA(a, v, dst[i])
	}
}

// Gemm is C = op(A) op(B), or C += op(A) op(B) with add set, row-major: op(A) is
// m×k, op(B) k×n, C m×n with row strides lda, ldb, ldc; op is the transposition
// where transA, transB are set (then A is stored k×m, B n×k). For every element k
// runs in order, one FMA each, from 0 or from what C holds.
func Gemm(c []float64, ldc int, a []float64, lda int, transA bool, b []float64, ldb int, transB bool, m, n, k int, add bool) {
	for i := range m {
		for j := range n {
			s := 0.0
			if add {
				s = c[i*ldc+j]
			}
			for l := range k {
				var x, y float64
				if transA {
					x = a[l*lda+i]
				} else {
					x = a[i*lda+l]
				}
				if transB {
					y = b[j*ldb+l]
				} else {
					y = b[l*ldb+j]
				}
				s = math.FMA(x, y, s)
			}
			c[i*ldc+j] = s
		}
	}
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func zmul(x, y float64) float64 {
	if x == 0 || y == 0 {
		return 0
	}
	return x * y
}

func lgamma(x float64) float64 { v, _ := math.Lgamma(x); return v }

func mod(x, y float64) float64 {
	m := math.Mod(x, y)
	if m != 0 && (m < 0) != (y < 0) {
		m += y
	}
	if m == 0 {
		m = math.Copysign(0, y)
	}
	return m
}
