package kernels

import (
	"math"
	"sync/atomic"
)

// Near 0, where their series take tens of terms in twice the precision, the Bessel functions are Taylor's series around
// the next eighth. With M_n(x) the mean of (1 - cos θ)^n exp(-x (1 - cos θ)), which is (-1)^n times the n-th derivative
// of M_0 = exp(-x) I0(x), all derivatives alternate in sign, and exp(-x) I1(x) is M_0 - M_1. Of one number 10 ns and not
// 300 to 1100.

// A besselRow is the series around a place of functions of x, with one for each difference: what is left of two series
// was too inexact for one slope of exp(-x) I1(x) in twelve, those near its top, and they took four times as long.
type besselRow struct {
	m [besselOrders + 1]besselSeries // M_n
	e [besselOrders + 1]besselSeries // M_n - M_(n+1)
	s besselSeries                   // M_0 - 2 M_1 + M_2, of the second derivative of I0
}

// A besselSeries is a Taylor series: its coefficients, and what the first two round.
type besselSeries struct {
	c   [besselTerms + 1]float64
	low [2]float64
}

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
	for n := range row.m {
		row.m[n] = newBesselSeries(func(i int) (float64, float64) { return h[n+i], l[n+i] })
		row.e[n] = newBesselSeries(func(i int) (float64, float64) { return addPair(h[n+i], l[n+i], -h[n+i+1], -l[n+i+1]) })
	}
	row.s = newBesselSeries(func(i int) (float64, float64) {
		sh, sl := addPair(h[i], l[i], -2*h[i+1], -2*l[i+1])
		return addPair(sh, sl, h[i+2], l[i+2])
	})
	return row
}

// newBesselSeries is that of a function whose i-th derivative is (-1)^i times a number.
func newBesselSeries(number func(i int) (h, l float64)) (s besselSeries) {
	over := 1.0 // (-1)^i i!
	for i := range s.c {
		h, l := number(i)
		h, l = divPair(h, l, over, 0)
		s.c[i] = h
		if i < len(s.low) {
			s.low[i] = l
		}
		over *= -float64(i + 1)
	}
	return s
}

// at is the series at d from its place, as a pair: exact to 2^-61 or so of the first term, for what is a difference of two.
func (b *besselSeries) at(d float64) (h, l float64) {
	c, z := &b.c, float64(d*d)
	even := math.FMA(math.FMA(math.FMA(math.FMA(c[10], z, c[8]), z, c[6]), z, c[4]), z, c[2])
	odd := math.FMA(math.FMA(math.FMA(math.FMA(c[11], z, c[9]), z, c[7]), z, c[5]), z, c[3])
	t := float64(d * math.FMA(odd, d, even))
	s := c[1] + t
	sl := (t - (s - c[1])) + b.low[1]
	p := float64(d * s)
	h = c[0] + p
	return h, (p - (h - c[0])) + (math.FMA(d, s, -p) + float64(d*sl) + b.low[0])
}

// besselPairNear is besselPair of 0 <= x < besselFar.
func besselPairNear(order, x float64) (h, l float64) {
	row, d := besselAt(x)
	if order == 0 {
		return row.m[0].at(d)
	}
	return row.e[0].at(d)
}
