package tape

import (
	"math"

	"nabla/kernels"
)

// Doors of operations that are arithmetic alone: one kernel after the other, or a loop without calls.
var (
	rsqrtDoor     = func(dst, x []float64) { kernels.Sqrt(dst, x); kernels.Recip(dst, dst) }
	fracDoor      = func(dst, x []float64) { pieces(dst, x, x, fracPiece) }
	belowZeroDoor = func(dst, x []float64) { pieces(dst, x, x, belowZeroPiece) }
	softsignDoor  = func(dst, x []float64) { pieces(dst, x, x, softsignPiece) }

	oneMinusSquareDoor = func(dst, x []float64) { pieces(dst, x, x, oneMinusSquarePiece) }
	cbrtSlopeDoor      = func(dst, x []float64) { pieces(dst, x, x, cbrtSlopePiece) }
	atanSlopeDoor      = func(dst, x []float64) { pieces(dst, x, x, atanSlopePiece) }
	atanhSlopeDoor     = func(dst, x []float64) { pieces(dst, x, x, atanhSlopePiece) }
	acoshSlopeDoor     = func(dst, x []float64) { pieces(dst, x, x, acoshSlopePiece) }

	copysignDoor = func(dst, x, y []float64) {
		y = y[:len(dst)]
		for i, v := range x[:len(dst)] {
			dst[i] = math.Copysign(v, y[i])
		}
	}
	signOfDoor = func(dst, x []float64) {
		for i, v := range x[:len(dst)] {
			dst[i] = math.Copysign(1, v)
		}
	}
)

func fracPiece(dst, x, _ []float64, b *bench) {
	whole := b[0][:len(dst)]
	kernels.Trunc(whole, x)
	kernels.Sub(dst, x, whole)
}

func belowZeroPiece(dst, x, _ []float64, b *bench) {
	zero := b[0][:len(dst)]
	clear(zero)
	kernels.Minimum(dst, x, zero)
}

func softsignPiece(dst, x, _ []float64, b *bench) {
	t := b[0][:len(dst)]
	kernels.Abs(t, x)
	kernels.AddScalar(t, t, 1)
	kernels.Div(t, x, t)
	if settled(dst, t) {
		return
	}
	for i, s := range t {
		if s != s {
			s = softsignOf(x[i])
		}
		dst[i] = s
	}
}

func oneMinusSquarePiece(dst, x, _ []float64, b *bench) {
	less := b[0][:len(dst)]
	kernels.Neg(less, x)
	kernels.AddScalar(less, less, 1)
	kernels.AddScalar(dst, x, 1)
	kernels.Mul(dst, less, dst)
}

func cbrtSlopePiece(dst, x, _ []float64, b *bench) {
	kernels.Cbrt(dst, x)
	kernels.Square(dst, dst)
	kernels.MulScalar(dst, dst, 3)
	kernels.Recip(dst, dst)
}

func atanSlopePiece(dst, x, _ []float64, b *bench) {
	t := b[0][:len(dst)]
	kernels.Square(t, x)
	kernels.AddScalar(t, t, 1)
	kernels.Recip(t, t)
	for i, s := range t {
		if v := x[i]; math.Abs(v) > atanFar {
			s = atanSlopeOf(v)
		}
		dst[i] = s
	}
}

func atanhSlopePiece(dst, x, _ []float64, b *bench) {
	t := b[1][:len(dst)]
	oneMinusSquarePiece(t, x, x, b)
	kernels.Recip(t, t)
	for i, s := range t {
		if math.Abs(x[i]) > 1 {
			s = math.NaN()
		}
		dst[i] = s
	}
}

func acoshSlopePiece(dst, x, _ []float64, b *bench) {
	t := b[0][:len(dst)]
	kernels.AddScalar(t, x, -1)
	kernels.Sqrt(t, t)
	kernels.AddScalar(dst, x, 1)
	kernels.Sqrt(dst, dst)
	kernels.Mul(dst, t, dst)
	kernels.Recip(dst, dst)
}
