package kernels

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// The powers that are products: whole ones and halves, of few factors. They are within 0.500001 ulp; where
// the power, or x, is below 2^-960, within 1. x^3 and x^4 are Cube and Fourth. As Pow they took 8 to 20 times
// as long.
var (
	Power5            = func(dst, x []float64) { each(dst, x, Power5Of) }
	Power6            = func(dst, x []float64) { each(dst, x, Power6Of) }
	Power7            = func(dst, x []float64) { each(dst, x, Power7Of) }
	Power8            = func(dst, x []float64) { each(dst, x, Power8Of) }
	Power9            = func(dst, x []float64) { each(dst, x, Power9Of) }
	Power10           = func(dst, x []float64) { each(dst, x, Power10Of) }
	Power11           = func(dst, x []float64) { each(dst, x, Power11Of) }
	Power12           = func(dst, x []float64) { each(dst, x, Power12Of) }
	Power13           = func(dst, x []float64) { each(dst, x, Power13Of) }
	Power14           = func(dst, x []float64) { each(dst, x, Power14Of) }
	Power15           = func(dst, x []float64) { each(dst, x, Power15Of) }
	Power16           = func(dst, x []float64) { each(dst, x, Power16Of) }
	PowerMinus2       = func(dst, x []float64) { each(dst, x, PowerMinus2Of) }
	PowerMinus3       = func(dst, x []float64) { each(dst, x, PowerMinus3Of) }
	PowerMinus4       = func(dst, x []float64) { each(dst, x, PowerMinus4Of) }
	PowerMinus5       = func(dst, x []float64) { each(dst, x, PowerMinus5Of) }
	PowerMinus6       = func(dst, x []float64) { each(dst, x, PowerMinus6Of) }
	PowerMinus7       = func(dst, x []float64) { each(dst, x, PowerMinus7Of) }
	PowerMinus8       = func(dst, x []float64) { each(dst, x, PowerMinus8Of) }
	PowerMinus9       = func(dst, x []float64) { each(dst, x, PowerMinus9Of) }
	PowerMinus10      = func(dst, x []float64) { each(dst, x, PowerMinus10Of) }
	PowerHalf         = func(dst, x []float64) { each(dst, x, PowerHalfOf) }
	Power3Halves      = func(dst, x []float64) { each(dst, x, Power3HalvesOf) }
	Power5Halves      = func(dst, x []float64) { each(dst, x, Power5HalvesOf) }
	Power7Halves      = func(dst, x []float64) { each(dst, x, Power7HalvesOf) }
	PowerMinusHalf    = func(dst, x []float64) { each(dst, x, PowerMinusHalfOf) }
	PowerMinus3Halves = func(dst, x []float64) { each(dst, x, PowerMinus3HalvesOf) }
	PowerMinus5Halves = func(dst, x []float64) { each(dst, x, PowerMinus5HalvesOf) }
	PowerMinus7Halves = func(dst, x []float64) { each(dst, x, PowerMinus7HalvesOf) }
)

// Each is its power of one number.
func Power5Of(x float64) float64            { return wholePower(x, 5) }
func Power6Of(x float64) float64            { return wholePower(x, 6) }
func Power7Of(x float64) float64            { return wholePower(x, 7) }
func Power8Of(x float64) float64            { return wholePower(x, 8) }
func Power9Of(x float64) float64            { return wholePower(x, 9) }
func Power10Of(x float64) float64           { return wholePower(x, 10) }
func Power11Of(x float64) float64           { return wholePower(x, 11) }
func Power12Of(x float64) float64           { return wholePower(x, 12) }
func Power13Of(x float64) float64           { return wholePower(x, 13) }
func Power14Of(x float64) float64           { return wholePower(x, 14) }
func Power15Of(x float64) float64           { return wholePower(x, 15) }
func Power16Of(x float64) float64           { return wholePower(x, 16) }
func PowerMinus2Of(x float64) float64       { return wholePower(x, -2) }
func PowerMinus3Of(x float64) float64       { return wholePower(x, -3) }
func PowerMinus4Of(x float64) float64       { return wholePower(x, -4) }
func PowerMinus5Of(x float64) float64       { return wholePower(x, -5) }
func PowerMinus6Of(x float64) float64       { return wholePower(x, -6) }
func PowerMinus7Of(x float64) float64       { return wholePower(x, -7) }
func PowerMinus8Of(x float64) float64       { return wholePower(x, -8) }
func PowerMinus9Of(x float64) float64       { return wholePower(x, -9) }
func PowerMinus10Of(x float64) float64      { return wholePower(x, -10) }
func PowerHalfOf(x float64) float64         { return halfPower(x, 1) }
func Power3HalvesOf(x float64) float64      { return halfPower(x, 3) }
func Power5HalvesOf(x float64) float64      { return halfPower(x, 5) }
func Power7HalvesOf(x float64) float64      { return halfPower(x, 7) }
func PowerMinusHalfOf(x float64) float64    { return halfPower(x, -1) }
func PowerMinus3HalvesOf(x float64) float64 { return halfPower(x, -3) }
func PowerMinus5HalvesOf(x float64) float64 { return halfPower(x, -5) }
func PowerMinus7HalvesOf(x float64) float64 { return halfPower(x, -7) }

// PowerNamed is the exponent of a power by its name, "power_" and the exponent.
func PowerNamed(name string) (p float64, ok bool) {
	if name, ok = strings.CutPrefix(name, "power_"); !ok {
		return 0, false
	}
	p, err := strconv.ParseFloat(name, 64)
	return p, err == nil
}

// wholePower is x^n by repeated squares. What the products lose in rounding is carried along, to first
// order, and added at the end. Of a negative power the base is 1/x, so that nothing leaves the range on
// the way but what the power does.
func wholePower(x float64, n int) float64 {
	h, l := x, 0.0
	if n < 0 {
		h = 1 / x
		l = float64(math.FMA(-h, x, 1) * h)
		n = -n
	}
	h, l = wholeOfPair(h, l, n)
	z := h + l
	if z != z { // h is infinite, or 1/x was
		z = h
	}
	if n%2 != 0 {
		return math.Copysign(z, x)
	}
	return z
}

// halfPower is x^(n/2) for an odd n: of x^(1/2), or of x^(-1/2), and what it lost in rounding, the
// whole power.
func halfPower(x float64, n int) float64 {
	if math.IsInf(x, -1) { // as C99 has it
		x = math.Inf(1)
	}
	s := math.Sqrt(x)
	if n == 1 {
		return math.Abs(s)
	}
	q := 1 / s
	lost := float64(float64(math.FMA(-s, s, x)*0.5) * q)
	h, l := s, lost
	if n < 0 {
		h, l = q, float64(math.FMA(-q, lost, math.FMA(-q, s, 1))*q)
		n = -n
		h, l = wholeOfPair(h, l, n)
	} else {
		for range n / 2 { // times x, which is exact
			p := float64(h * x)
			l = math.FMA(l, x, math.FMA(h, x, -p))
			h = p
		}
	}
	z := h + l
	if z != z {
		z = h
	}
	return math.Abs(z)
}

// wholeOfPair is the power n, at least 1, of h + l, which is little.
func wholeOfPair(x, xl float64, n int) (h, l float64) {
	h, l = x, xl
	for bit := bits.Len(uint(n)) - 2; bit >= 0; bit-- {
		p := float64(h * h)
		l = math.FMA(h+h, l, math.FMA(h, h, -p))
		h = p
		if n>>bit&1 != 0 {
			p := float64(h * x)
			l = math.FMA(h, xl, math.FMA(l, x, math.FMA(h, x, -p)))
			h = p
		}
	}
	return h, l
}
