package kernels

import (
	"math"
	"slices"
)

// The conversions float64(x * y) keep a product apart from an addition that it
// may be inlined beside: Go would fuse them on arm64.

// Neg is -x.
var Neg = func(dst, x []float64) { each(dst, x, NegOf) }

// NegOf is Neg of one number.
func NegOf(x float64) float64 { return -x }

// Abs is |x|.
var Abs = func(dst, x []float64) { each(dst, x, AbsOf) }

// AbsOf is Abs of one number.
func AbsOf(x float64) float64 { return math.Abs(x) }

// Sign is -1, 0 or 1, a zero with its sign; NaN for NaN.
var Sign = func(dst, x []float64) { each(dst, x, SignOf) }

// SignOf is Sign of one number.
func SignOf(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// Sqrt is the square root.
var Sqrt = func(dst, x []float64) { each(dst, x, SqrtOf) }

// SqrtOf is Sqrt of one number.
func SqrtOf(x float64) float64 { return math.Sqrt(x) }

// Recip is 1/x.
var Recip = func(dst, x []float64) { each(dst, x, RecipOf) }

// RecipOf is Recip of one number.
func RecipOf(x float64) float64 { return 1 / x }

// Square is x*x.
var Square = func(dst, x []float64) { each(dst, x, SquareOf) }

// SquareOf is Square of one number.
func SquareOf(x float64) float64 { return float64(x * x) }

// Cube is x^3, rounded to nearest wherever it was tried; below 2^-960 it may be next to that.
var Cube = func(dst, x []float64) { each(dst, x, CubeOf) }

// CubeOf is Cube of one number: what the products lose in rounding is found by fused products and taken
// off (T. J. Dekker, A floating-point technique for extending the available precision, Numer. Math. 18,
// 1971). As a power it took eight times as long, and more below 0.
func CubeOf(x float64) float64 {
	p := float64(x * x)
	r := float64(p * x)
	z := r - math.FMA(math.FMA(-x, x, p), x, math.FMA(-p, x, r))
	if z != z { // r is infinite
		return r
	}
	return math.Copysign(z, x)
}

// Fourth is x^4, rounded as Cube is.
var Fourth = func(dst, x []float64) { each(dst, x, FourthOf) }

// FourthOf is Fourth of one number.
func FourthOf(x float64) float64 {
	p := float64(x * x)
	r := float64(p * p)
	lost := math.FMA(-x, x, p)
	z := r - math.FMA(lost+lost, p, math.FMA(-p, p, r))
	if z != z {
		return r
	}
	return z
}

// Floor rounds down.
var Floor = func(dst, x []float64) { each(dst, x, FloorOf) }

// FloorOf is Floor of one number.
func FloorOf(x float64) float64 { return math.Floor(x) }

// Ceil rounds up.
var Ceil = func(dst, x []float64) { each(dst, x, CeilOf) }

// CeilOf is Ceil of one number.
func CeilOf(x float64) float64 { return math.Ceil(x) }

// Trunc rounds toward 0.
var Trunc = func(dst, x []float64) { each(dst, x, TruncOf) }

// TruncOf is Trunc of one number.
func TruncOf(x float64) float64 { return math.Trunc(x) }

// Round rounds half to even.
var Round = func(dst, x []float64) { each(dst, x, RoundOf) }

// RoundOf is Round of one number.
func RoundOf(x float64) float64 { return math.RoundToEven(x) }

// Float32 rounds to the nearest float32.
var Float32 = func(dst, x []float64) { each(dst, x, Float32Of) }

// Float32Of is Float32 of one number.
func Float32Of(x float64) float64 { return float64(float32(x)) }

// Copy is x.
var Copy = func(dst, x []float64) { copy(dst, x[:len(dst)]) }

// CopyOf is Copy of one number.
func CopyOf(x float64) float64 { return x }

// Not is 1 where x is 0.
var Not = func(dst, x []float64) { each(dst, x, NotOf) }

// NotOf is Not of one number.
func NotOf(x float64) float64 { return b2f(x == 0) }

// IsNaN is 1 where x is NaN.
var IsNaN = func(dst, x []float64) { each(dst, x, IsNaNOf) }

// IsNaNOf is IsNaN of one number.
func IsNaNOf(x float64) float64 { return b2f(x != x) }

// IsInf is 1 where x is infinite.
var IsInf = func(dst, x []float64) { each(dst, x, IsInfOf) }

// IsInfOf is IsInf of one number.
func IsInfOf(x float64) float64 { return b2f(math.IsInf(x, 0)) }

// IsFinite is 1 where x is neither infinite nor NaN.
var IsFinite = func(dst, x []float64) { each(dst, x, IsFiniteOf) }

// IsFiniteOf is IsFinite of one number.
func IsFiniteOf(x float64) float64 { return b2f(x-x == 0) }

// Add is x + y.
var Add = func(dst, x, y []float64) { eachPair(dst, x, y, AddOf) }

// AddOf is Add of one pair.
func AddOf(x, y float64) float64 { return x + y }

// Sub is x - y.
var Sub = func(dst, x, y []float64) { eachPair(dst, x, y, SubOf) }

// SubOf is Sub of one pair.
func SubOf(x, y float64) float64 { return x - y }

// Mul is x*y.
var Mul = func(dst, x, y []float64) { eachPair(dst, x, y, MulOf) }

// MulOf is Mul of one pair.
func MulOf(x, y float64) float64 { return float64(x * y) }

// Div is x/y.
var Div = func(dst, x, y []float64) { eachPair(dst, x, y, DivOf) }

// DivOf is Div of one pair.
func DivOf(x, y float64) float64 { return x / y }

// ZMul is the strong-zero product of a cotangent x and a partial y: 0 where x or y
// is 0, even against an infinity or NaN; x*y elsewhere.
var ZMul = func(dst, x, y []float64) { eachPair(dst, x, y, ZMulOf) }

// ZMulOf is ZMul of one pair.
func ZMulOf(x, y float64) float64 {
	if x == 0 || y == 0 {
		return 0
	}
	return float64(x * y)
}

// A Link is one of the two operations of a pair.
type Link uint8

// The kernel of its name says what a Link does, but for the last.
const (
	LinkAdd Link = iota
	LinkSub
	LinkMul
	LinkZMul
	LinkSubFrom // y - x; only second
)

// Pairs holds chains of two: Pairs[f][g] is dst = g(f(x, y), z), both operations rounded as by their own kernels. In
// assembly it is one pass: a kernel of one operation waits for its stores.
var Pairs = pairs{
	{
		func(dst, x, y, z []float64) { both(&Add, &Add, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&Add, &Sub, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&Add, &Mul, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&Add, &ZMul, dst, x, y, z) },
		func(dst, x, y, z []float64) { bothFrom(&Add, dst, x, y, z) },
	},
	{
		func(dst, x, y, z []float64) { both(&Sub, &Add, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&Sub, &Sub, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&Sub, &Mul, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&Sub, &ZMul, dst, x, y, z) },
		func(dst, x, y, z []float64) { bothFrom(&Sub, dst, x, y, z) },
	},
	{
		func(dst, x, y, z []float64) { both(&Mul, &Add, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&Mul, &Sub, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&Mul, &Mul, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&Mul, &ZMul, dst, x, y, z) },
		func(dst, x, y, z []float64) { bothFrom(&Mul, dst, x, y, z) },
	},
	{
		func(dst, x, y, z []float64) { both(&ZMul, &Add, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&ZMul, &Sub, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&ZMul, &Mul, dst, x, y, z) },
		func(dst, x, y, z []float64) { both(&ZMul, &ZMul, dst, x, y, z) },
		func(dst, x, y, z []float64) { bothFrom(&ZMul, dst, x, y, z) },
	},
}

// both is a row of Pairs, bothFrom one with LinkSubFrom.
func both(f, g *binary, dst, x, y, z []float64) {
	z = apart(dst, z)
	(*f)(dst, x, y)
	(*g)(dst, dst, z)
}

func bothFrom(f *binary, dst, x, y, z []float64) {
	z = apart(dst, z)
	(*f)(dst, x, y)
	Sub(dst, z, dst)
}

// apart is z, or a copy where dst takes its place.
func apart(dst, z []float64) []float64 {
	if len(dst) > 0 && &dst[0] == &z[0] {
		return slices.Clone(z[:len(dst)])
	}
	return z
}

type pairs = [4][5]ternary

// Maximum is the larger of x and y; NaN if either is NaN; 0 is above -0.
var Maximum = func(dst, x, y []float64) { eachPair(dst, x, y, MaximumOf) }

// MaximumOf is Maximum of one pair.
func MaximumOf(x, y float64) float64 { return max(x, y) }

// Minimum is the smaller of x and y; NaN if either is NaN; -0 is below 0.
var Minimum = func(dst, x, y []float64) { eachPair(dst, x, y, MinimumOf) }

// MinimumOf is Minimum of one pair.
func MinimumOf(x, y float64) float64 { return min(x, y) }

// Mod is x - y*floor(x/y) computed exactly, then rounded once; it has the sign of y
// (NumPy's mod).
var Mod = func(dst, x, y []float64) { eachPair(dst, x, y, ModOf) }

// ModOf is Mod of one pair.
func ModOf(x, y float64) float64 {
	r, _ := divmod(x, y)
	return r
}

// FloorDiv is floor(x/y), consistent with Mod (NumPy's floor_divide).
var FloorDiv = func(dst, x, y []float64) { eachPair(dst, x, y, FloorDivOf) }

// FloorDivOf is FloorDiv of one pair.
func FloorDivOf(x, y float64) float64 {
	_, q := divmod(x, y)
	return q
}

// Lt is 1 where x < y.
var Lt = func(dst, x, y []float64) { eachPair(dst, x, y, LtOf) }

// LtOf is Lt of one pair.
func LtOf(x, y float64) float64 { return b2f(x < y) }

// Le is 1 where x <= y.
var Le = func(dst, x, y []float64) { eachPair(dst, x, y, LeOf) }

// LeOf is Le of one pair.
func LeOf(x, y float64) float64 { return b2f(x <= y) }

// Gt is 1 where x > y.
var Gt = func(dst, x, y []float64) { eachPair(dst, x, y, GtOf) }

// GtOf is Gt of one pair.
func GtOf(x, y float64) float64 { return b2f(x > y) }

// Ge is 1 where x >= y.
var Ge = func(dst, x, y []float64) { eachPair(dst, x, y, GeOf) }

// GeOf is Ge of one pair.
func GeOf(x, y float64) float64 { return b2f(x >= y) }

// Eq is 1 where x == y.
var Eq = func(dst, x, y []float64) { eachPair(dst, x, y, EqOf) }

// EqOf is Eq of one pair.
func EqOf(x, y float64) float64 { return b2f(x == y) }

// Ne is 1 where x != y, NaN among them.
var Ne = func(dst, x, y []float64) { eachPair(dst, x, y, NeOf) }

// NeOf is Ne of one pair.
func NeOf(x, y float64) float64 { return b2f(x != y) }

// And is 1 where x and y are both true.
var And = func(dst, x, y []float64) { eachPair(dst, x, y, AndOf) }

// AndOf is And of one pair.
func AndOf(x, y float64) float64 { return b2f(x != 0 && y != 0) }

// Or is 1 where x or y is true.
var Or = func(dst, x, y []float64) { eachPair(dst, x, y, OrOf) }

// OrOf is Or of one pair.
func OrOf(x, y float64) float64 { return b2f(x != 0 || y != 0) }

// FMA is x*y + z, rounded once.
var FMA = func(dst, x, y, z []float64) { eachTriple(dst, x, y, z, FMAOf) }

// FMAOf is FMA of one triple.
func FMAOf(x, y, z float64) float64 { return math.FMA(x, y, z) }

// Where is x where c is true, else y.
var Where = func(dst, c, x, y []float64) { eachTriple(dst, c, x, y, WhereOf) }

// WhereOf is Where of one triple.
func WhereOf(c, x, y float64) float64 {
	if c != 0 {
		return x
	}
	return y
}

// Fill sets every element of dst to v.
var Fill = func(dst []float64, v float64) {
	for i := range dst {
		dst[i] = v
	}
}

// AddScalar is x + s.
var AddScalar = func(dst, x []float64, s float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = x + s
	}
}

// DivScalar is x/s of every element.
var DivScalar = func(dst, x []float64, s float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = x / s
	}
}

// MulScalar is x*s.
var MulScalar = func(dst, x []float64, s float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = x * s
	}
}

// multiple is fma(x, s, 0): x*s as the first term of a sum, which no exact product leaves at -0.
var multiple = func(dst, x []float64, s float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = math.FMA(x, s, 0)
	}
}

// Accumulate is dst[i] += x[i].
var Accumulate = func(dst, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] += x
	}
}

// Accumulate4 is Accumulate of x, y, z and w, one after the other.
var Accumulate4 = func(dst, x, y, z, w []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = dst[i] + x + y[i] + z[i] + w[i]
	}
}

// Axpy is dst[i] = fma(a, x[i], dst[i]).
var Axpy = func(dst []float64, a float64, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = math.FMA(a, x, dst[i])
	}
}

// axpy4 is Axpy of x, y, z and w, one after the other.
var axpy4 = func(dst []float64, a, b, c, d float64, x, y, z, w []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = math.FMA(d, w[i], math.FMA(c, z[i], math.FMA(b, y[i], math.FMA(a, x, dst[i]))))
	}
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// divmod is NumPy's divmod: mod has the sign of y, and div*y + mod is x as nearly
// as float64 allows. mod(-1, inf) is inf: it is the limit of large y.
func divmod(x, y float64) (mod, div float64) {
	mod = fmod(x, y)
	if y == 0 {
		return mod, x / y
	}
	div = (x - mod) / y
	switch {
	case mod == 0:
		mod = math.Copysign(0, y)
	case (mod < 0) != (y < 0):
		mod += y
		div--
	}
	if div == 0 {
		return mod, math.Copysign(0, x/y)
	}
	// div is an integer but for rounding.
	if f := math.Floor(div); div-f > 0.5 {
		return mod, f + 1
	} else {
		return mod, f
	}
}

// fmod is C's, exact. math.Mod is too, but takes off one bit a turn.
func fmod(x, y float64) float64 {
	if y == 0 || x-x != 0 || y != y {
		return math.NaN()
	}
	r, a := math.Abs(x), math.Abs(y)
	for r >= a {
		// A multiple of y that goes into r less than 2^53 times: the quotient
		// is then right or one too large, and r - q*step is a float64.
		step := a
		if r/a >= 0x1p53 {
			_, er := math.Frexp(r)
			_, ea := math.Frexp(a)
			step = math.Ldexp(a, er-ea-52)
		}
		r = math.FMA(-math.Trunc(r/step), step, r)
		if r < 0 {
			r += step
		}
	}
	return math.Copysign(r, x)
}
