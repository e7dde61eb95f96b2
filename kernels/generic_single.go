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

	Log1pTwin, SigmoidTwin, TanhSech2, SinCos twin32
	Fill                                      func(dst []float32, v float32)
}{
	Neg:          func(dst, x []float32) { widened(&Neg, dst, x) },
	Abs:          func(dst, x []float32) { widened(&Abs, dst, x) },
	Sign:         func(dst, x []float32) { widened(&Sign, dst, x) },
	Sqrt:         func(dst, x []float32) { widened(&Sqrt, dst, x) },
	Recip:        func(dst, x []float32) { widened(&Recip, dst, x) },
	Square:       func(dst, x []float32) { widened(&Square, dst, x) },
	Floor:        func(dst, x []float32) { widened(&Floor, dst, x) },
	Ceil:         func(dst, x []float32) { widened(&Ceil, dst, x) },
	Trunc:        func(dst, x []float32) { widened(&Trunc, dst, x) },
	Round:        func(dst, x []float32) { widened(&Round, dst, x) },
	Not:          func(dst, x []float32) { widened(&Not, dst, x) },
	IsNaN:        func(dst, x []float32) { widened(&IsNaN, dst, x) },
	IsInf:        func(dst, x []float32) { widened(&IsInf, dst, x) },
	IsFinite:     func(dst, x []float32) { widened(&IsFinite, dst, x) },
	Add:          func(dst, x, y []float32) { widened2(&Add, dst, x, y) },
	Sub:          func(dst, x, y []float32) { widened2(&Sub, dst, x, y) },
	Mul:          func(dst, x, y []float32) { widened2(&Mul, dst, x, y) },
	Div:          func(dst, x, y []float32) { widened2(&Div, dst, x, y) },
	ZMul:         func(dst, x, y []float32) { widened2(&ZMul, dst, x, y) },
	Maximum:      func(dst, x, y []float32) { widened2(&Maximum, dst, x, y) },
	Minimum:      func(dst, x, y []float32) { widened2(&Minimum, dst, x, y) },
	Lt:           func(dst, x, y []float32) { widened2(&Lt, dst, x, y) },
	Le:           func(dst, x, y []float32) { widened2(&Le, dst, x, y) },
	Gt:           func(dst, x, y []float32) { widened2(&Gt, dst, x, y) },
	Ge:           func(dst, x, y []float32) { widened2(&Ge, dst, x, y) },
	Eq:           func(dst, x, y []float32) { widened2(&Eq, dst, x, y) },
	Ne:           func(dst, x, y []float32) { widened2(&Ne, dst, x, y) },
	And:          func(dst, x, y []float32) { widened2(&And, dst, x, y) },
	Or:           func(dst, x, y []float32) { widened2(&Or, dst, x, y) },
	FMA:          func(dst, x, y, z []float32) { widened3(&FMA, dst, x, y, z) },
	Where:        func(dst, x, y, z []float32) { widened3(&Where, dst, x, y, z) },
	Exp:          func(dst, x []float32) { widened(&Exp, dst, x) },
	Expm1:        func(dst, x []float32) { widened(&Expm1, dst, x) },
	Log:          func(dst, x []float32) { widened(&Log, dst, x) },
	Log1p:        func(dst, x []float32) { widened(&Log1p, dst, x) },
	Sigmoid:      func(dst, x []float32) { widened(&Sigmoid, dst, x) },
	SigmoidSlope: func(dst, x []float32) { widened(&SigmoidSlope, dst, x) },
	Softplus:     func(dst, x []float32) { widened(&Softplus, dst, x) },
	Tanh:         func(dst, x []float32) { widened(&Tanh, dst, x) },
	Sech2:        func(dst, x []float32) { widened(&Sech2, dst, x) },
	Sin:          func(dst, x []float32) { widened(&Sin, dst, x) },
	Cos:          func(dst, x []float32) { widened(&Cos, dst, x) },
	Tan:          func(dst, x []float32) { widened(&Tan, dst, x) },
	Log1pTwin:    func(y, z, x []float32) { widenedTwin(&Log1pTwin, y, z, x) },
	SigmoidTwin:  func(y, z, x []float32) { widenedTwin(&SigmoidTwin, y, z, x) },
	TanhSech2:    func(y, z, x []float32) { widenedTwin(&TanhSech2, y, z, x) },
	SinCos:       func(y, z, x []float32) { widenedTwin(&SinCos, y, z, x) },
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

// widened computes float32 with a kernel of float64.
func widened(kernel *unary, dst, x []float32) {
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

// widened2 is widened for a kernel with two arguments.
func widened2(kernel *binary, dst, x, y []float32) {
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

// widened3 is widened for a kernel with three arguments.
func widened3(kernel *ternary, dst, x, y, z []float32) {
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

// widenedTwin is widened for a kernel with two results.
func widenedTwin(kernel *twin, y, z, x []float32) {
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
