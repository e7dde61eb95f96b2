package tape

import (
	"math"
	"slices"
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
	excessDoor  = func(dst, x, y []float64) { pieces(dst, x, y, excessPiece) }

	logaddexpDoor  = func(dst, x, y []float64) { pieces(dst, x, y, logaddexpPiece) }
	logaddexp2Door = func(dst, x, y []float64) { pieces(dst, x, y, logaddexp2Piece) }
	shareDoor      = func(dst, x, y []float64) { pieces(dst, x, y, sharePiece) }
	shareSlopeDoor = func(dst, x, y []float64) { pieces(dst, x, y, shareSlopePiece) }
	share2Door     = func(dst, x, y []float64) { pieces(dst, x, y, share2Piece) }

	logcoshDoor      = func(dst, x []float64) { pieces(dst, x, x, logcoshPiece) }
	log1mexpDoor     = func(dst, x []float64) { pieces(dst, x, x, log1mexpPiece) }
	expm1InverseDoor = func(dst, x []float64) { pieces(dst, x, x, expm1InversePiece) }
	tanhshrinkDoor   = func(dst, x []float64) { pieces(dst, x, x, tanhshrinkPiece) }

	sincDerivativeDoor = func(dst, n, x []float64) { pieces(dst, n, x, sincDerivativePiece) }

	secDoor  = func(dst, x []float64) { kernels.Cos(dst, x); kernels.Recip(dst, dst) }
	cscDoor  = func(dst, x []float64) { kernels.Sin(dst, x); kernels.Recip(dst, dst) }
	cotDoor  = func(dst, x []float64) { kernels.Tan(dst, x); kernels.Recip(dst, dst) }
	cothDoor = func(dst, x []float64) { kernels.Tanh(dst, x); kernels.Recip(dst, dst) }
	sechDoor = func(dst, x []float64) { pieces(dst, x, x, sechPiece) }
	cschDoor = func(dst, x []float64) { pieces(dst, x, x, cschPiece) }
)

// A bench is where kernels leave what a piece needs of them.
type bench [9][256]float64

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

// settled writes t to dst, and reports whether it is finite: what is not is looked at number by number, which
// takes about 1 ns for each.
func settled(dst, t []float64) bool {
	if s := kernels.Sum(t); s-s != 0 {
		return false
	}
	kernels.Copy(dst, t)
	return true
}

// settle writes t to dst, but of(x, y) where it is not finite, as where infinities meet.
func settle(dst, t, x, y []float64, of func(x, y float64) float64) {
	if settled(dst, t) {
		return
	}
	for i, v := range t {
		if v-v != 0 {
			v = of(x[i], y[i])
		}
		dst[i] = v
	}
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

func logRatioPiece(dst, x, y []float64, b *bench) { ratios(dst, x, y, b) }

// ratios are log(x/y), and reports whether all of x and y are above 0 and x/y is in the range: most often so, and
// then nothing is done number by number.
func ratios(dst, x, y []float64, b *bench) (ordinary bool) {
	n := len(dst)
	near, far, apart, half := b[0][:n], b[1][:n], b[3][:n], b[4][:n]
	kernels.Sub(near, x, y)
	kernels.Div(near, near, y)
	kernels.Div(far, x, y)
	ordinary = kernels.Min(x) > 0 && kernels.Min(far) > 0x1p-1022 && kernels.Max(far) <= math.MaxFloat64
	kernels.Abs(apart, near)
	kernels.Fill(half, 0.5)
	kernels.Lt(apart, apart, half)
	kernels.Log1p(near, near)
	kernels.Log(far, far)
	if ordinary {
		kernels.Where(dst, apart, near, far)
		return true
	}
	for i, v := range x {
		dst[i] = logRatio(v, y[i], near[i], far[i])
	}
	return false
}

func relEntrPiece(dst, x, y []float64, b *bench) {
	ratio := b[2][:len(dst)]
	if ratios(ratio, x, y, b) {
		kernels.Mul(dst, x, ratio)
		return
	}
	for i, r := range ratio {
		dst[i] = timesRatio(x[i], y[i], r)
	}
}

func klDivPiece(dst, x, y []float64, b *bench) {
	n := len(dst)
	ratio, sum, apart, z := b[2][:n], b[3][:n], b[4][:n], b[0][:n]
	ordinary := ratios(ratio, x, y, b)
	kernels.Add(sum, x, y)
	if !ordinary || !(kernels.Max(sum) <= math.MaxFloat64) {
		for i, r := range ratio {
			dst[i] = klDiv(x[i], y[i], timesRatio(x[i], y[i], r))
		}
		return
	}
	kernels.Sub(apart, x, y)
	kernels.Div(z, apart, sum)
	kernels.Mul(ratio, x, ratio) // far from each other
	kernels.Sub(ratio, ratio, x)
	kernels.Add(ratio, ratio, y)
	size, third := b[5][:n], b[6][:n]
	kernels.Abs(size, z)
	if !(kernels.Min(size) < 1./3) {
		kernels.Copy(dst, ratio)
		return
	}
	kernels.Fill(third, 1./3)
	kernels.Lt(size, size, third)
	z2 := third
	kernels.Mul(z2, z, z)
	kernels.Fill(sum, klDivTerms[0])
	for _, c := range klDivTerms[1:] {
		kernels.Mul(sum, z2, sum)
		kernels.AddScalar(sum, sum, c)
	}
	kernels.AddScalar(z2, z, 1)
	kernels.Mul(z2, z2, z)
	kernels.Mul(sum, z2, sum)
	kernels.AddScalar(sum, sum, 1)
	kernels.Mul(apart, apart, z)
	kernels.Mul(apart, apart, sum)
	kernels.Where(dst, size, apart, ratio)
}

func excessPiece(dst, x, y []float64, b *bench) {
	more := b[0][:len(dst)]
	kernels.Sub(more, x, y)
	kernels.Div(dst, more, x)
}

func logaddexpPiece(dst, x, y []float64, b *bench) {
	m, more := b[0][:len(dst)], b[1][:len(dst)]
	kernels.Maximum(m, x, y)
	kernels.Sub(more, x, y)
	kernels.Abs(more, more)
	kernels.Neg(more, more)
	kernels.Exp(more, more)
	kernels.Log1p(more, more)
	kernels.Add(m, m, more)
	settle(dst, m, x, y, logaddexpOf)
}

func logaddexp2Piece(dst, x, y []float64, b *bench) {
	m, more := b[0][:len(dst)], b[1][:len(dst)]
	kernels.Maximum(m, x, y)
	kernels.Minimum(more, x, y)
	kernels.Sub(more, more, m)
	kernels.Exp2(more, more)
	kernels.Log1p(more, more)
	kernels.MulScalar(more, more, math.Log2E)
	kernels.Add(m, m, more)
	settle(dst, m, x, y, logaddexp2Of)
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
	part, lost := b[0][:len(dst)], b[1][:len(dst)]
	differences(part, lost, x, y, b)
	kernels.Sigmoid(part, part)
	for i, p := range part {
		v := p * (1 + float64((1-p)*lost[i]))
		if v != v {
			v = shareOf(x[i], y[i])
		}
		dst[i] = v
	}
}

// differences is difference of all pairs, but NaN or infinite where something is: of these what is lost
// is NaN.
func differences(d, lost, x, y []float64, b *bench) {
	t := b[2][:len(d)]
	kernels.Sub(d, x, y)
	kernels.Sub(lost, d, x)
	kernels.Add(t, y, lost)
	kernels.Sub(lost, d, lost)
	kernels.Sub(lost, x, lost)
	kernels.Sub(lost, lost, t)
}

func shareSlopePiece(dst, x, y []float64, b *bench) {
	slope, lost := b[0][:len(dst)], b[1][:len(dst)]
	differences(slope, lost, x, y, b)
	half := b[2][:len(dst)]
	kernels.MulScalar(half, slope, 0.5)
	kernels.SigmoidSlope(slope, slope)
	kernels.Tanh(half, half)
	for i, s := range slope {
		v := s * (1 - float64(half[i]*lost[i]))
		if v != v {
			v = shareSlopeOf(x[i], y[i])
		}
		dst[i] = v
	}
}

func logcoshPiece(dst, x, _ []float64, b *bench) {
	a, near, s, t := b[0][:len(dst)], b[1][:len(dst)], b[2][:len(dst)], b[3][:len(dst)]
	kernels.Abs(a, x)
	kernels.Fill(s, 1)
	kernels.Lt(near, a, s)
	kernels.Minimum(s, a, s)
	kernels.MulScalar(s, s, 0.5)
	kernels.Sinh(s, s)
	kernels.MulScalar(t, s, 2)
	kernels.Mul(s, t, s)
	kernels.MulScalar(t, a, -2)
	kernels.Exp(t, t)
	kernels.Where(t, near, s, t)
	kernels.Log1p(t, t)
	kernels.AddScalar(s, t, -math.Ln2)
	kernels.Add(s, a, s)
	kernels.Where(dst, near, t, s)
}

func log1mexpPiece(dst, x, _ []float64, b *bench) {
	near, far, small := b[0][:len(dst)], b[1][:len(dst)], b[2][:len(dst)]
	kernels.Fill(small, math.Ln2)
	kernels.Lt(small, x, small)
	kernels.Neg(near, x)
	kernels.Exp(far, near)
	kernels.Neg(far, far)
	kernels.Log1p(far, far)
	kernels.Expm1(near, near)
	kernels.Neg(near, near)
	kernels.Log(near, near)
	kernels.Where(dst, small, near, far)
}

func expm1InversePiece(dst, x, _ []float64, b *bench) {
	t := b[0][:len(dst)]
	kernels.Expm1(t, x)
	inverses(dst, t, x, 0, expm1InverseOf)
}

func sechPiece(dst, x, _ []float64, b *bench) {
	t := b[0][:len(dst)]
	kernels.Cosh(t, x)
	inverses(dst, t, x, -hyperFar, sechOf)
}

func cschPiece(dst, x, _ []float64, b *bench) {
	t := b[0][:len(dst)]
	kernels.Sinh(t, x)
	inverses(dst, t, x, -hyperFar, cschOf)
}

// inverses writes those of t, but of(x) where x is below least or beyond hyperFar.
func inverses(dst, t, x []float64, least float64, of func(float64) float64) {
	kernels.Recip(t, t)
	for i, v := range x {
		if !(v >= least && v <= hyperFar) {
			t[i] = of(v)
		}
	}
	kernels.Copy(dst, t)
}

// polynomial is the polynomial of z with these coefficients, that of the highest power first.
func polynomial(dst, z, coefficients []float64) {
	clear(dst)
	for _, c := range coefficients {
		kernels.Mul(dst, dst, z)
		kernels.AddScalar(dst, dst, c)
	}
}

func tanhshrinkPiece(dst, x, _ []float64, b *bench) {
	near, z, sum, t := b[0][:len(dst)], b[1][:len(dst)], b[2][:len(dst)], b[3][:len(dst)]
	kernels.Fill(t, tanhshrinkNear)
	kernels.Abs(z, x)
	kernels.Lt(near, z, t)
	kernels.Square(z, x)
	polynomial(sum, z, tanhshrinkTerms[:])
	kernels.Mul(sum, sum, z)
	kernels.Mul(sum, x, sum)
	kernels.Cosh(t, x)
	kernels.Div(sum, sum, t)
	kernels.Tanh(t, x)
	kernels.Sub(t, x, t)
	kernels.Where(dst, near, sum, t)
}

// sincDerivativePiece has the first derivative from kernels, others number by number.
func sincDerivativePiece(dst, n, x []float64, b *bench) {
	if slices.ContainsFunc(n, func(order float64) bool { return order != 1 }) {
		for i, order := range n {
			dst[i] = sincDerivativeOf(order, x[i])
		}
		return
	}
	far, z, t, near := b[0][:len(dst)], b[1][:len(dst)], b[2][:len(dst)], b[3][:len(dst)]
	kernels.CosPi(far, x)
	kernels.Sinc(z, x)
	kernels.Sub(far, far, z)
	kernels.MulScalar(t, x, math.Pi)
	kernels.Div(far, far, t)
	kernels.Square(z, t)
	polynomial(near, z, sincSlopeTerms[:])
	kernels.Mul(near, near, t)
	kernels.Abs(t, t)
	kernels.Fill(z, sincNear)
	kernels.Le(t, t, z)
	kernels.Where(t, t, near, far)
	kernels.MulScalar(t, t, math.Pi)
	if settled(dst, t) {
		return
	}
	for i, v := range t {
		if v != v {
			v = sincDerivativeOf(1, x[i])
		}
		dst[i] = v
	}
}
