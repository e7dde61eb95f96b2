package kernels

import (
	"math"
	"sync"
)

// Kernels of float32. Each gives what the kernel of float64 gives, rounded once: within
// 0.5000001 ulp for elementary functions, and the very bits of float32 arithmetic for
// + - * / and the square root (53 >= 2*24 + 2; S. A. Figueroa, When is double rounding
// innocuous?, 1995). So the portable kernel goes through float64, and a tier may do what
// gives the same bits: arithmetic as it is, and functions by short polynomials in
// float64 that stop where their error might change the rounding.

type (
	unary32   = func(dst, x []float32)
	binary32  = func(dst, x, y []float32)
	ternary32 = func(dst, x, y, z []float32)
	twin32    = func(y, z, x []float32)
)

// Single is the kernels of float32, each with the contract of its namesake.
var Single = struct {
	Neg, Abs, Sign, Sqrt, Recip, Square, Floor, Ceil, Trunc, Round                      unary32
	Not, IsNaN, IsInf, IsFinite                                                         unary32
	Add, Sub, Mul, Div, ZMul, Maximum, Minimum                                          binary32
	Lt, Le, Gt, Ge, Eq, Ne, And, Or                                                     binary32
	FMA, Where                                                                          ternary32
	Exp, Expm1, Log, Log1p, Sigmoid, SigmoidSlope, Softplus, Tanh, Sech2, Sin, Cos, Tan unary32

	// Log1pSlope is Log1p and its derivative, NaN below -1.
	Log1pSlope, SigmoidTwin, TanhSech2, SinCos twin32
	Fill                                       func(dst []float32, v float32)
}{
	Neg: Widened(&Neg), Abs: Widened(&Abs), Sign: Widened(&Sign), Sqrt: Widened(&Sqrt), Recip: Widened(&Recip),
	Square: Widened(&Square), Floor: Widened(&Floor), Ceil: Widened(&Ceil), Trunc: Widened(&Trunc), Round: Widened(&Round),
	Not: Widened(&Not), IsNaN: Widened(&IsNaN), IsInf: Widened(&IsInf), IsFinite: Widened(&IsFinite),
	Add: Widened2(&Add), Sub: Widened2(&Sub), Mul: Widened2(&Mul), Div: Widened2(&Div), ZMul: Widened2(&ZMul),
	Maximum: Widened2(&Maximum), Minimum: Widened2(&Minimum),
	Lt: Widened2(&Lt), Le: Widened2(&Le), Gt: Widened2(&Gt), Ge: Widened2(&Ge), Eq: Widened2(&Eq), Ne: Widened2(&Ne),
	And: Widened2(&And), Or: Widened2(&Or),
	FMA: Widened3(&FMA), Where: Widened3(&Where),
	Exp: Widened(&Exp), Expm1: Widened(&Expm1), Log: Widened(&Log), Log1p: Widened(&Log1p),
	Sigmoid: Widened(&Sigmoid), SigmoidSlope: Widened(&SigmoidSlope), Softplus: Widened(&Softplus), Tanh: Widened(&Tanh), Sech2: Widened(&Sech2),
	Sin: Widened(&Sin), Cos: Widened(&Cos), Tan: Widened(&Tan),
	Log1pSlope: WidenedTwin(&Log1pTwin), SigmoidTwin: WidenedTwin(&SigmoidTwin), TanhSech2: WidenedTwin(&TanhSech2), SinCos: WidenedTwin(&SinCos),
	Fill: func(dst []float32, v float32) {
		for i := range dst {
			dst[i] = v
		}
	},
}

// Widen copies float32 to float64.
var Widen = func(dst []float64, x []float32) {
	for i, x := range x[:len(dst)] {
		dst[i] = float64(x)
	}
}

// Narrow rounds float64 to float32.
var Narrow = func(dst []float32, x []float64) {
	for i, x := range x[:len(dst)] {
		dst[i] = float32(x)
	}
}

// room is where numbers are widened to; kernels behind doors let it escape.
type room [4][256]float64

var rooms = sync.Pool{New: func() any { return new(room) }}

// Widened is a kernel of float32 made of one of float64.
func Widened(kernel *unary) unary32 {
	return func(dst, x []float32) {
		r := rooms.Get().(*room)
		defer rooms.Put(r)
		for x = x[:len(dst)]; len(dst) > 0; {
			n := min(len(dst), len(r[0]))
			a := r[0][:n]
			Widen(a, x)
			(*kernel)(a, a)
			Narrow(dst[:n], a)
			dst, x = dst[n:], x[n:]
		}
	}
}

// Widened2 is Widened of a kernel with two arguments.
func Widened2(kernel *binary) binary32 {
	return func(dst, x, y []float32) {
		r := rooms.Get().(*room)
		defer rooms.Put(r)
		for x, y = x[:len(dst)], y[:len(dst)]; len(dst) > 0; {
			n := min(len(dst), len(r[0]))
			a, b := r[0][:n], r[1][:n]
			Widen(a, x)
			Widen(b, y)
			(*kernel)(a, a, b)
			Narrow(dst[:n], a)
			dst, x, y = dst[n:], x[n:], y[n:]
		}
	}
}

// Widened3 is Widened of a kernel with three arguments.
func Widened3(kernel *ternary) ternary32 {
	return func(dst, x, y, z []float32) {
		r := rooms.Get().(*room)
		defer rooms.Put(r)
		for x, y, z = x[:len(dst)], y[:len(dst)], z[:len(dst)]; len(dst) > 0; {
			n := min(len(dst), len(r[0]))
			a, b, c := r[0][:n], r[1][:n], r[2][:n]
			Widen(a, x)
			Widen(b, y)
			Widen(c, z)
			(*kernel)(a, a, b, c)
			Narrow(dst[:n], a)
			dst, x, y, z = dst[n:], x[n:], y[n:], z[n:]
		}
	}
}

// WidenedTwin is Widened of a kernel with two results.
func WidenedTwin(kernel *twin) twin32 {
	return func(y, z, x []float32) {
		r := rooms.Get().(*room)
		defer rooms.Put(r)
		for z, x = z[:len(y)], x[:len(y)]; len(y) > 0; {
			n := min(len(y), len(r[0]))
			a, b := r[0][:n], r[1][:n]
			Widen(a, x)
			(*kernel)(a, b, a)
			Narrow(y[:n], a)
			Narrow(z[:n], b)
			y, z, x = y[n:], z[n:], x[n:]
		}
	}
}

// fma32 is x*y + z, rounded once: the product is exact in float64, and the sum, rounded
// to odd, keeps what the second rounding asks for (S. Boldo, G. Melquiond, Emulation of a
// FMA and correctly rounded sums, 2008).
func fma32(x, y, z float32) float32 {
	p := float64(x) * float64(y)
	s := p + float64(z)
	b := math.Float64bits(s)
	if b&(1<<29-1) != 1<<28 && (s >= 0x1p-126 || s <= -0x1p-126) {
		return float32(s) // not between two float32
	}
	if _, e := twoSum(p, float64(z)); e != 0 && e == e && b&1 == 0 {
		if (e > 0) == (s > 0) {
			b++
		} else {
			b--
		}
	}
	return float32(math.Float64frombits(b))
}
