package tape

import (
	"math"
	"sync"

	"nabla/kernels"
)

// Doors of operations that are made of kernels: what these compute goes through a bench, a piece
// at a time, and what is left is done number by number. Their bits are those of the functions of
// single numbers, with which they share all but the kernels: number by number most take two to five
// times as long.
var (
	xlogyDoor   = func(dst, x, y []float64) { pieces(dst, x, y, xlogyPiece) }
	xlog1pyDoor = func(dst, x, y []float64) { pieces(dst, x, y, xlog1pyPiece) }
	entrDoor    = func(dst, x []float64) { pieces(dst, x, x, entrPiece) }
	relEntrDoor = func(dst, x, y []float64) { pieces(dst, x, y, relEntrPiece) }
	klDivDoor   = func(dst, x, y []float64) { pieces(dst, x, y, klDivPiece) }
	ratioDoor   = func(dst, x, y []float64) { pieces(dst, x, y, logRatioPiece) }

	logaddexpDoor  = func(dst, x, y []float64) { pieces(dst, x, y, logaddexpPiece) }
	logaddexp2Door = func(dst, x, y []float64) { pieces(dst, x, y, logaddexp2Piece) }
	shareDoor      = func(dst, x, y []float64) { pieces(dst, x, y, sharePiece) }
	shareSlopeDoor = func(dst, x, y []float64) { pieces(dst, x, y, shareSlopePiece) }
	share2Door     = func(dst, x, y []float64) { pieces(dst, x, y, share2Piece) }

	logcoshDoor      = func(dst, x []float64) { pieces(dst, x, x, logcoshPiece) }
	log1mexpDoor     = func(dst, x []float64) { pieces(dst, x, x, log1mexpPiece) }
	expm1InverseDoor = func(dst, x []float64) { pieces(dst, x, x, expm1InversePiece) }
	tanhshrinkDoor   = func(dst, x []float64) { pieces(dst, x, x, tanhshrinkPiece) }

	secDoor  = func(dst, x []float64) { kernels.Cos(dst, x); kernels.Recip(dst, dst) }
	cscDoor  = func(dst, x []float64) { kernels.Sin(dst, x); kernels.Recip(dst, dst) }
	cotDoor  = func(dst, x []float64) { kernels.Tan(dst, x); kernels.Recip(dst, dst) }
	cothDoor = func(dst, x []float64) { kernels.Tanh(dst, x); kernels.Recip(dst, dst) }
	sechDoor = func(dst, x []float64) { pieces(dst, x, x, sechPiece) }
	cschDoor = func(dst, x []float64) { pieces(dst, x, x, cschPiece) }
)

// A bench is where kernels leave what a piece needs of them.
type bench [3][256]float64

var benches = sync.Pool{New: func() any { return new(bench) }}

// pieces runs f over pieces that fit on a bench; dst may be x or y.
func pieces(dst, x, y []float64, f func(dst, x, y []float64, b *bench)) {
	b := benches.Get().(*bench)
	for len(dst) > 0 {
		n := min(len(dst), len(b[0]))
		f(dst[:n], x[:n], y[:n], b)
		dst, x, y = dst[n:], x[n:], y[n:]
	}
	benches.Put(b)
}

func xlogyPiece(dst, x, y []float64, b *bench) {
	log := b[0][:len(dst)]
	kernels.Log(log, y)
	timesLogs(dst, x, y, log)
}

func xlog1pyPiece(dst, x, y []float64, b *bench) {
	log := b[0][:len(dst)]
	kernels.Log1p(log, y)
	timesLogs(dst, x, y, log)
}

func timesLogs(dst, x, y, log []float64) {
	for i, l := range log {
		dst[i] = timesLog(x[i], y[i], l)
	}
}

func entrPiece(dst, x, _ []float64, b *bench) {
	log := b[0][:len(dst)]
	kernels.Log(log, x)
	for i, l := range log {
		dst[i] = -timesLog(x[i], x[i], l)
	}
}

func logRatioPiece(dst, x, y []float64, b *bench) {
	near, far := b[0][:len(dst)], b[1][:len(dst)]
	for i, v := range x {
		near[i], far[i] = (v-y[i])/y[i], v/y[i]
	}
	kernels.Log1p(near, near)
	kernels.Log(far, far)
	for i, v := range x {
		dst[i] = logRatio(v, y[i], near[i], far[i])
	}
}

func relEntrPiece(dst, x, y []float64, b *bench) {
	ratio := b[2][:len(dst)]
	logRatioPiece(ratio, x, y, b)
	for i, r := range ratio {
		dst[i] = timesRatio(x[i], y[i], r)
	}
}

func klDivPiece(dst, x, y []float64, b *bench) {
	ratio := b[2][:len(dst)]
	logRatioPiece(ratio, x, y, b)
	for i, r := range ratio {
		dst[i] = klDiv(x[i], y[i], timesRatio(x[i], y[i], r))
	}
}

func logaddexpPiece(dst, x, y []float64, b *bench) {
	t := b[0][:len(dst)]
	for i, v := range x {
		m, n := ordered(v, y[i])
		t[i] = n - m
	}
	kernels.Exp(t, t)
	kernels.Log1p(t, t)
	for i, v := range x {
		dst[i] = logaddexp(v, y[i], t[i])
	}
}

func logaddexp2Piece(dst, x, y []float64, b *bench) {
	t := b[0][:len(dst)]
	for i, v := range x {
		t[i] = min(v, y[i]) - max(v, y[i])
	}
	kernels.Exp2(t, t)
	kernels.Log1p(t, t)
	for i, v := range x {
		dst[i] = logaddexp2(v, y[i], t[i])
	}
}

func share2Piece(dst, x, y []float64, b *bench) {
	part, lost, e := b[0][:len(dst)], b[1][:len(dst)], b[2][:len(dst)]
	for i, v := range x {
		part[i], lost[i] = difference(v, y[i])
		e[i] = -math.Abs(part[i])
	}
	kernels.Exp2(e, e)
	for i, d := range part {
		dst[i] = share2(d, lost[i], e[i])
	}
}

func sharePiece(dst, x, y []float64, b *bench) {
	part, rest, lost := b[0][:len(dst)], b[1][:len(dst)], b[2][:len(dst)]
	for i, v := range x {
		d, l := difference(v, y[i])
		part[i], rest[i], lost[i] = d, -d, l
	}
	kernels.Sigmoid(part, part)
	kernels.Sigmoid(rest, rest)
	for i, p := range part {
		dst[i] = p * (1 + float64(rest[i]*lost[i]))
	}
}

func shareSlopePiece(dst, x, y []float64, b *bench) {
	slope, half, lost := b[0][:len(dst)], b[1][:len(dst)], b[2][:len(dst)]
	for i, v := range x {
		d, l := difference(v, y[i])
		slope[i], half[i], lost[i] = d, d/2, l
	}
	kernels.SigmoidSlope(slope, slope)
	kernels.Tanh(half, half)
	for i, s := range slope {
		dst[i] = s * (1 - float64(half[i]*lost[i]))
	}
}

func logcoshPiece(dst, x, _ []float64, b *bench) {
	t, s := b[0][:len(dst)], b[1][:len(dst)]
	for i, v := range x {
		a := math.Abs(v)
		t[i], s[i] = -2*a, min(a, 1)/2
	}
	kernels.Exp(t, t)
	kernels.Sinh(s, s)
	for i, v := range x {
		if math.Abs(v) < 1 {
			t[i] = float64(2 * s[i] * s[i])
		}
	}
	kernels.Log1p(t, t)
	for i, v := range x {
		dst[i] = logcosh(v, t[i])
	}
}

func log1mexpPiece(dst, x, _ []float64, b *bench) {
	near, far := b[0][:len(dst)], b[1][:len(dst)]
	for i, v := range x {
		near[i] = -v
	}
	kernels.Exp(far, near)
	kernels.Expm1(near, near)
	for i := range near {
		near[i], far[i] = -near[i], -far[i]
	}
	kernels.Log(near, near)
	kernels.Log1p(far, far)
	for i, v := range x {
		if v < math.Ln2 {
			dst[i] = near[i]
		} else {
			dst[i] = far[i]
		}
	}
}

func expm1InversePiece(dst, x, _ []float64, b *bench) {
	e, far := b[0][:len(dst)], b[1][:len(dst)]
	for i, v := range x {
		far[i] = -v
	}
	kernels.Exp(far, far)
	kernels.Expm1(e, x)
	for i, v := range x {
		dst[i] = expm1Inverse(v, e[i], far[i])
	}
}

func sechPiece(dst, x, _ []float64, b *bench) {
	t := b[0][:len(dst)]
	kernels.Cosh(t, x)
	for i, v := range x {
		dst[i] = sech(v, t[i])
	}
}

func cschPiece(dst, x, _ []float64, b *bench) {
	t := b[0][:len(dst)]
	kernels.Sinh(t, x)
	for i, v := range x {
		dst[i] = csch(v, t[i])
	}
}

func tanhshrinkPiece(dst, x, _ []float64, b *bench) {
	tanh, cosh := b[0][:len(dst)], b[1][:len(dst)]
	kernels.Tanh(tanh, x)
	kernels.Cosh(cosh, x)
	for i, v := range x {
		dst[i] = tanhshrink(v, tanh[i], cosh[i])
	}
}
