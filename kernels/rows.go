package kernels

import "math"

// What rows of softmax and of matrices that are turned need: kernels beside a number, a piece of
// the row at a time.

// pieces are the memory that rows pass through; the kernels' doors would move it from the stack.
var pieces spares[[pieceLength]float64]

const pieceLength = 256

// SumExpRest is the sum of exp(x-m) over x, in the order of Sum for every 256 elements, without
// the first of them that is m.
func SumExpRest(x []float64, m float64) float64 {
	piece := pieces.take()
	defer pieces.give(piece)
	sum, whole := 0.0, true
	for len(x) > 0 {
		t := piece[:min(len(x), len(piece))]
		AddScalar(t, x, -m)
		if whole {
			for i, v := range x[:len(t)] {
				if v == m {
					t[i], whole = math.Inf(-1), false
					break
				}
			}
		}
		Exp(t, t)
		sum += Sum(t)
		x = x[len(t):]
	}
	return sum
}

// SumRest is the sum of x without element k, in the order of SumExpRest.
func SumRest(x []float64, k int) float64 {
	sum, v := 0.0, x[k]
	x[k] = 0
	for piece := x; len(piece) > 0; {
		n := min(len(piece), pieceLength)
		sum += Sum(piece[:n])
		piece = piece[n:]
	}
	x[k] = v
	return sum
}

// AccumulateRows adds m rows, which begin ldx apart in x, to acc, one after the other.
func AccumulateRows(acc, x []float64, ldx, m int) {
	n := len(acc)
	switch {
	case n == 0 || m <= 0:
	case n <= mostHeld:
		accumulateNarrow(acc, x, ldx, m)
	default:
		accumulateWide(acc, x, ldx, m)
	}
}

// accumulateWide is AccumulateRows four rows at a time, which took 0.65 of the time of one by one, columns of 128 from the
// last cache.
func accumulateWide(acc, x []float64, ldx, m int) {
	n, i := len(acc), 0
	for ; i+4 <= m; i += 4 {
		x := x[i*ldx:]
		Accumulate4(acc, x[:n], x[ldx:][:n], x[2*ldx:][:n], x[3*ldx:][:n])
	}
	for ; i < m; i++ {
		Accumulate(acc, x[i*ldx:][:n])
	}
}

// mostHeld is how many sums machine code holds in registers, some after the others: of 50 columns it takes half of the
// time of four rows at a time.
const mostHeld = 64

// accumulateNarrow is AccumulateRows of few numbers each: 250000 rows of three took 0.2 ms, and as
// many calls of Accumulate 2.
var accumulateNarrow = func(acc, x []float64, ldx, m int) {
	const few = 16
	if len(acc) > few {
		accumulateWide(acc, x, ldx, m)
		return
	}
	for i := range m {
		for j, v := range x[i*ldx:][:len(acc)] {
			acc[j] += v
		}
	}
}

// Rotate turns two rows, x = c x - s y and y = s x + c y, in the form that keeps the errors of
// small angles small.
func Rotate(x, y []float64, c, s float64) { rotate(x, y, s, s/(1+c)) }

// RotateBy is Rotate by the sine of an angle and half the tangent, as DiagonalizeOf says them.
func RotateBy(x, y []float64, s, tau float64) { rotate(x, y, s, tau) }

// Turned are two numbers after Rotate, by the sine of the angle and half the tangent.
func Turned(g, h, s, tau float64) (x, y float64) {
	return math.FMA(-s, math.FMA(tau, g, h), g), math.FMA(s, math.FMA(-tau, h, g), h)
}

var rotate = func(x, y []float64, s, tau float64) {
	y = y[:len(x)]
	for i, g := range x {
		x[i], y[i] = Turned(g, y[i], s, tau)
	}
}

// RotateApart turns m pairs of rows as Rotate does, where each of their numbers has an angle of its own, of sine s[j] and half
// the tangent tau[j]: row k begins at x[k*ldx] and y[k*ldy]. Where the sine is 0 they stay.
func RotateApart(x, y, s, tau []float64, ldx, ldy, m int) {
	if n := len(s); n > 0 && m > 0 {
		_, _, _ = x[(m-1)*ldx+n-1], y[(m-1)*ldy+n-1], tau[n-1]
		rotateApart(x, y, s, tau, ldx, ldy, m)
	}
}

var rotateApart = func(x, y, s, tau []float64, ldx, ldy, m int) {
	for k := range m {
		x, y := x[k*ldx:][:len(s)], y[k*ldy:][:len(s)]
		for j, s := range s {
			if s != 0 {
				x[j], y[j] = Turned(x[j], y[j], s, tau[j])
			}
		}
	}
}

// Rotation is the cosine and sine of Jacobi's rotation for the cotangent of twice its angle.
func Rotation(zeta float64) (c, s float64) {
	t := 0.5 / zeta
	if math.Abs(zeta) < 0x1p500 {
		t = math.Copysign(1, zeta) / (math.Abs(zeta) + math.Sqrt(math.FMA(zeta, zeta, 1)))
	}
	c = 1 / math.Sqrt(math.FMA(t, t, 1))
	return c, float64(t * c)
}

// DiagonalizeOf is Jacobi's rotation that makes off 0 in the symmetric matrix of p, off and q: what p and q become, the sine of
// its angle, and half the tangent. It is none where off is 0, or so small that much times its size changes neither p nor q; much is
// positive or infinite.
func DiagonalizeOf(p, q, off, much float64) (np, nq, s, tau float64) {
	if x, y, small := math.Abs(p), math.Abs(q), float64(much*math.Abs(off)); off == 0 || x+small == x && y+small == y {
		return p, q, 0, 0
	}
	h := q - p
	zeta := float64(0.5*h) / off
	c, s := Rotation(zeta)
	t := s / c
	if math.IsInf(zeta, 0) {
		s, t = 0, off/h
	}
	return math.FMA(-t, off, p), math.FMA(t, off, q), s, s / (1 + c)
}

// Diagonalize is DiagonalizeOf of each of the numbers, which become what it says, and off 0.
func Diagonalize(p, q, off, s, tau []float64, much float64) { diagonalize(p, q, off, s, tau, much) }

var diagonalize = func(p, q, off, s, tau []float64, much float64) {
	for i, o := range off {
		p[i], q[i], s[i], tau[i] = DiagonalizeOf(p[i], q[i], o, much)
		off[i] = 0
	}
}

// Residuals is dst[j] minus the sum of a[k] b[k*ld+j] over k, with twice the digits: what
// products and sums lose is added apart, in the order of k (Ogita, Rump, Oishi 2005), but where
// that is not finite.
func Residuals(dst, a, b []float64, ld int) {
	if len(dst) > 0 && len(a) > 0 {
		_ = b[(len(a)-1)*ld+len(dst)-1]
		residuals(dst, a, b, ld)
	}
}

var residuals = func(dst, a, b []float64, ld int) { residualsOf(dst, nil, a, b, ld) }

// ResidualsRest is Residuals, and writes to rest what rounding left out of each.
func ResidualsRest(dst, rest, a, b []float64, ld int) {
	rest = rest[:len(dst)]
	switch {
	case len(a) == 0:
		clear(rest)
	case len(dst) > 0:
		_ = b[(len(a)-1)*ld+len(dst)-1]
		residualsRest(dst, rest, a, b, ld)
	}
}

var residualsRest = residualsOf

// residualsOf is ResidualsRest, without a rest where it is nil.
func residualsOf(dst, rest, a, b []float64, ld int) {
	var lows [64]float64
	for from := 0; from < len(dst); from += len(lows) {
		n := min(len(dst)-from, len(lows))
		sums, low := dst[from:from+n], lows[:n]
		clear(low)
		for k, v := range a {
			for j, y := range b[k*ld+from:][:n] {
				s := sums[j]
				p := float64(-v * y)
				e := math.FMA(-v, y, -p)
				t := s + p
				u := t - s
				low[j] += e + ((s - (t - u)) + (p - u))
				sums[j] = t
			}
		}
		for j, s := range sums {
			r := s + low[j]
			if r-r != 0 {
				r = s
			}
			if sums[j] = r; rest != nil {
				rest[from+j] = (s - r) + low[j]
			}
		}
	}
}

// ResidualsApart is Residuals where each number has factors of its own: dst[j] minus the sum of
// a[k*lda+j] b[k*ldb+j] over k from 0 to m-1.
func ResidualsApart(dst, a, b []float64, lda, ldb, m int) {
	if len(dst) > 0 && m > 0 {
		_, _ = a[(m-1)*lda+len(dst)-1], b[(m-1)*ldb+len(dst)-1]
		residualsApart(dst, a, b, lda, ldb, m)
	}
}

var residualsApart = func(dst, a, b []float64, lda, ldb, m int) { residualsApartOf(dst, nil, a, b, lda, ldb, m) }

// ResidualsApartRest is ResidualsApart, and writes to rest what rounding left out of each.
func ResidualsApartRest(dst, rest, a, b []float64, lda, ldb, m int) {
	rest = rest[:len(dst)]
	switch {
	case m <= 0:
		clear(rest)
	case len(dst) > 0:
		_, _ = a[(m-1)*lda+len(dst)-1], b[(m-1)*ldb+len(dst)-1]
		residualsApartRest(dst, rest, a, b, lda, ldb, m)
	}
}

var residualsApartRest = residualsApartOf

// residualsApartOf is ResidualsApartRest, without a rest where it is nil.
func residualsApartOf(dst, rest, a, b []float64, lda, ldb, m int) {
	for j, s := range dst {
		low := 0.0
		for k := range m {
			v, y := a[k*lda+j], b[k*ldb+j]
			p := float64(-v * y)
			e := math.FMA(-v, y, -p)
			t := s + p
			u := t - s
			low += e + ((s - (t - u)) + (p - u))
			s = t
		}
		r := s + low
		if r-r != 0 {
			r = s
		}
		if dst[j] = r; rest != nil {
			rest[j] = (s - r) + low
		}
	}
}
