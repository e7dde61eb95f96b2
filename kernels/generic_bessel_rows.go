package kernels

import (
	"math"
	"sync/atomic"
)

// Near 0, where their series take tens of terms in twice the precision, the Bessel functions are Taylor's series around
// the next eighth. With M_n(x) the mean of (1 - cos θ)^n exp(-x (1 - cos θ)), which is (-1)^n times the n-th derivative
// of M_0 = exp(-x) I0(x), all of a row are positive, and so are N_n = 2 M_(n+1) - M_(n+2), which are that of
// N_0 = exp(-x) I1(x)/x. Of one number 20 ns and not 300 to 1100.

// A besselRow is M and N at a place, as pairs.
type besselRow struct{ m, ml, n, nl [besselMoments]float64 }

const (
	besselTerms   = 11 // (2/16)^11/11! is below 2^-58
	besselOrders  = 3  // of derivatives that rows serve
	besselMoments = 1 + besselTerms + besselOrders
	besselWithin  = besselFar + 2*besselOrders
)

// besselRows are those that have been asked for, at eighths.
var besselRows [8*besselWithin + 1]atomic.Pointer[besselRow]

// besselAt is the row next to x, of 0 to besselWithin, and how far x is from it.
func besselAt(x float64) (row *besselRow, d float64) {
	i := int(8*x + 0.5)
	if row = besselRows[i].Load(); row == nil {
		row = newBesselRow(float64(i) / 8)
		besselRows[i].Store(row)
	}
	return row, x - float64(i)/8
}

// newBesselRow is the row at x, downwards from the two last moments by x M_(n+2) = (n + 1 + 2x) M_(n+1) - (2n + 1) M_n,
// the n-th derivative of the equation of exp(-x) I0(x).
func newBesselRow(x float64) *besselRow {
	var h, l [besselMoments + 2]float64
	for i := len(h) - 1; i >= 0; i-- {
		n := float64(i)
		if i >= len(h)-2 {
			h[i], l[i] = besselMoment(n, x)
			continue
		}
		h[i], l[i] = mulPair(h[i+1], l[i+1], n+1+2*x, 0)
		mh, ml := mulPair(h[i+2], l[i+2], -x, 0)
		h[i], l[i] = addPair(h[i], l[i], mh, ml)
		h[i], l[i] = divPair(h[i], l[i], 2*n+1, 0)
	}
	row := &besselRow{}
	for i := range besselMoments {
		row.m[i], row.ml[i] = h[i], l[i]
		row.n[i], row.nl[i] = addPair(2*h[i+1], 2*l[i+1], -h[i+2], -l[i+2])
	}
	return row
}

// moment is M_n at d from the row.
func (r *besselRow) moment(n int, d float64) (h, l float64) {
	return besselTaylor((*[besselTerms + 1]float64)(r.m[n:]), (*[2]float64)(r.ml[n:]), d)
}

// ratio is N_n at d from the row.
func (r *besselRow) ratio(n int, d float64) (h, l float64) {
	return besselTaylor((*[besselTerms + 1]float64)(r.n[n:]), (*[2]float64)(r.nl[n:]), d)
}

// besselTaylor is the series of a function whose derivatives are c + low and alternate in sign, as a pair: exact to
// 2^-61 or so of c, for what is a difference of two of them.
func besselTaylor(c *[besselTerms + 1]float64, low *[2]float64, d float64) (h, l float64) {
	s := c[besselTerms]
	for i := besselTerms; i > 2; i-- {
		s = math.FMA(float64(-d*besselInverse[i]), s, c[i-1])
	}
	t := float64(-0.5 * d * s)
	s = c[1] + t
	sl := (t - (s - c[1])) + low[1]
	p := float64(-d * s)
	h = c[0] + p
	return h, (p - (h - c[0])) + (math.FMA(-d, s, -p) - float64(d*sl) + low[0])
}

// besselInverse are 1/i.
var besselInverse = [besselTerms + 1]float64{0, 1, 1. / 2, 1. / 3, 1. / 4, 1. / 5, 1. / 6, 1. / 7, 1. / 8, 1. / 9, 1. / 10, 1. / 11}

// besselPairNear is besselPair of 0 <= x < besselFar.
func besselPairNear(order, x float64) (h, l float64) {
	row, d := besselAt(x)
	if order == 0 {
		return row.moment(0, d)
	}
	h, l = row.ratio(0, d)
	p := float64(x * h)
	return p, math.FMA(x, h, -p) + float64(x*l)
}
