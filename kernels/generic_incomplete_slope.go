package kernels

import "math"

// Derivatives of the incomplete gamma function by its parameter are integrals: that of order n is
//
//	∂ⁿP/∂aⁿ = ∫ B_n(λ) p(t) dt from 0 to x, or less that from x on,
//
// where p(t) = t^(a-1) exp(-t)/Γ(a), λ = log(t) - ψ(a), B_1 = λ and B_2 = λ² - ψ'(a). λ is of one sign on one side of
// x: on that side the sum of a quadrature for the first derivative has terms of one sign. The trapezoidal rule in
// coordinates like logarithms (halfLine) takes the same nodes everywhere, of a unit that p falls in, for p falls off
// like an exponential or faster.

// mostShaped is the highest order of derivatives by parameters.
const mostShaped = 30

// GammaincDerivativeOf is the n-th derivative (n = 1, 2, …) of P(a,x) by a; NaN where n is no order.
func GammaincDerivativeOf(n, a, x float64) float64 {
	switch {
	case !(a >= 0 && x >= 0) || a == 0 && x == 0 || a > math.MaxFloat64 && x > math.MaxFloat64 || !(n >= 1 && n <= mostShaped) || n != math.Floor(n):
		return math.NaN()
	case x == 0 || x > math.MaxFloat64 || a > math.MaxFloat64:
		return 0
	}
	rise := logOverGammaOf(a, x)
	switch {
	case a < 1 && (rise < 0 || x < 0.1):
		return gammaByShapeNear(int(n), a, x)
	case rise < 0:
		return gammaByShapeBelow(int(n), a, x, rise)
	}
	return gammaByShapeAbove(int(n), a, x)
}

// GammaDensity is GammaDensityOf of every triple.
var GammaDensity = func(dst, n, a, x []float64) {
	n, a, x = n[:len(dst)], a[:len(dst)], x[:len(dst)]
	var of lastShape
	for i := range dst {
		dst[i] = of.densityBy(n[i], a[i], x[i])
	}
}

// GammaDensityOf is the n-th derivative (n = 0, 1, …) of p(x) = x^(a-1) exp(-x)/Γ(a) by a, and 0 for negative n. The slope
// of p at 0 is p of a-1 less that of a, and so on: at 0 a may be anything, elsewhere p of negative a is 0.
func GammaDensityOf(n, a, x float64) float64 {
	var of lastShape
	return of.densityBy(n, a, x)
}

// densityBy is GammaDensityOf.
func (of *lastShape) densityBy(n, a, x float64) float64 {
	switch {
	case x != x || a != a || x < 0 || a > math.MaxFloat64 && x > math.MaxFloat64 || !(n <= mostShaped) || n != math.Floor(n):
		return math.NaN()
	case n < 0 || a < 0 && x > 0:
		return 0
	case x == 0:
		return gammaDensityAt0(int(n), a)
	case x > math.MaxFloat64 || a > math.MaxFloat64:
		return 0
	}
	if n == 0 {
		return of.density(a, x)
	}
	f := gammaShape(int(n), a, x)
	if f.h == 0 {
		return 0
	}
	return byUnit(f.h, f.l, f.n, 1, f.of(f.rise))
}

// density is p(x), of positive numbers.
func (of *lastShape) density(a, x float64) float64 {
	if a >= 0.5 {
		h, l, n := of.factor(a, x, true)
		return scale(h+l, n)
	}
	h, l := of.logDensity(a, x)
	if h < -780 {
		return 0
	}
	h, l, n := expPair(h, l)
	return byUnit(h, l, n, 1, a)
}

// logDensity is log(p(x)/a).
func (of *lastShape) logDensity(a, x float64) (h, l float64) {
	h, l = of.power(a, x, true)
	return addPair(h, l, -x, 0)
}

// gammaDensityAt0 is a limit of x^(a-1) log(x)^n/Γ(a), or of the derivative of 1/Γ(a) where that is 0.
func gammaDensityAt0(n int, a float64) float64 {
	switch pole := a <= 0 && a == math.Floor(a); {
	case a > 1 || pole && n == 0:
		return 0
	case a == 1 && n == 0:
		return 1
	case pole:
		return math.Inf(1 - 2*((n-1+int(math.Mod(-a, 2)))&1))
	}
	return math.Inf(1-2*(n&1)) * GammaOf(a)
}

// A shaped is the factor of p(x), 2^n (h+l), and what it is multiplied by in its derivative by a. For small a, ψ is
// about -1/a and Γ(a) too: there the factor is that of a+1, the derivative a B_k + k B_(k-1), of λ + 1/a.
type shaped struct {
	h, l      float64
	n         int64
	rise      float64 // log(x) - ψ(a), or of a+1
	small     bool    // a is
	a         float64
	order     int
	cumulants [mostShaped + 1]float64 // less polygamma(k-1, a), for k = 2, …
}

func gammaShape(order int, a, x float64) *shaped {
	var of lastShape
	f := &shaped{order: order}
	if f.small = a < 0.5; f.small {
		f.h, f.l = of.logDensity(a, x)
		if f.h < -780 {
			return &shaped{}
		}
		f.h, f.l, f.n = expPair(f.h, f.l)
		f.a = a
		a++
	} else {
		f.h, f.l, f.n = of.factor(a, x, true)
	}
	f.rise = logOverGammaOf(a, x)
	f.polygammas(a)
	return f
}

func (f *shaped) polygammas(a float64) {
	for k := 2; k <= f.order; k++ {
		f.cumulants[k] = -PolygammaOf(float64(k-1), a)
	}
}

// of is what the factor is multiplied by, at λ.
func (f *shaped) of(by float64) float64 {
	switch {
	case f.small:
		y, before := bell(f.order, by, &f.cumulants)
		return float64(f.a*y) + float64(float64(f.order)*before)
	case f.order == 1:
		return by
	case f.order == 2:
		return float64(by*by) + f.cumulants[2]
	}
	y, _ := bell(f.order, by, &f.cumulants)
	return y
}

// bell is the complete Bell polynomial B_n of first and the others of the cumulants, and that before it.
func bell(n int, first float64, cumulants *[mostShaped + 1]float64) (y, before float64) {
	var b [mostShaped + 1]float64
	b[0] = 1
	for m := 1; m <= n; m++ {
		sum, c := float64(first*b[m-1]), 1.0
		for k := 2; k <= m; k++ {
			c = c * float64(m-k+1) / float64(k-1) // m-1 over k-1
			sum += float64(c * cumulants[k] * b[m-k])
		}
		b[m] = sum
	}
	if n == 0 {
		return 1, 0
	}
	return b[n], b[n-1]
}

// gammaByShapeBelow integrates from 0 to x, for a >= 1: with t = x exp(-u), p(t) dt is
// p(x) x exp(-(a-x) u - x (exp(-u)-1+u)) du.
func gammaByShapeBelow(order int, a, x, rise float64) float64 {
	var of lastShape
	h, l, n := of.factor(a, x, false)
	if h == 0 {
		return 0
	}
	f := shaped{order: order}
	f.polygammas(a)
	fall := a - x
	unit := 2 / (fall + math.Sqrt(float64(fall*fall)+float64(2*x)))
	sum := 0.0
	for i := range &halfLine {
		u := float64(halfLine[i][0] * unit)
		w := halfLine[i][1] * ExpOf(-float64(fall*u)-float64(x*expm1Excess(-u)))
		sum += float64(w * f.of(rise-u))
	}
	return byUnit(h, l, n, a*unit, sum)
}

// gammaByShapeAbove integrates from x on: with t = x + v, p(t) dt is
// p(x) exp(-(x-a+1)/x v - (a-1) (v/x - log(1+v/x))) dv.
func gammaByShapeAbove(order int, a, x float64) float64 {
	f := gammaShape(order, a, x)
	if f.h == 0 {
		return 0
	}
	fall, bend := ((x-a)+1)/x, a-1
	unit := 1.0
	if bend > 0 {
		unit = 2 / (fall + math.Sqrt(float64(fall*fall)+2*bend/x/x))
	}
	sum := 0.0
	for i := range &halfLine {
		v := halfLine[i][0] * unit
		z := v / x
		w := halfLine[i][1] * ExpOf(-float64(fall*v)-float64(bend*log1pExcessOf(z)))
		sum += float64(w * f.of(f.rise+Log1pOf(z)))
	}
	return byUnit(f.h, f.l, f.n, -unit, sum)
}

// gammaByShapeNear differentiates P = E (1 - aV) of upperNear, E = x^a/Γ(a+1), for a < 1 and small x. The derivatives
// of E are E B_k of log(x) - ψ(a+1), and aV is the sum of (-x)^j/j! (j/(a+j) - 1).
func gammaByShapeNear(order int, a, x float64) float64 {
	var of lastShape
	h, l := of.power(a, x, false)
	if h < -780 {
		return 0
	}
	h, l, n := expPair(h, l)
	f := shaped{order: order}
	f.polygammas(a + 1)
	rise := logOverGammaOf(a+1, x)
	sum, c, sign := 0.0, 1.0, 1.0
	for k := 0; k <= order; k++ {
		v, term := 0.0, 1.0 // of the k-th derivative of 1 - aV, over (-1)^k k!
		for j := 1.0; j < 20; j++ {
			term *= -x / j
			if k == 0 {
				v += float64(term * a / (a + j))
				continue
			}
			d := float64(term*j) / (a + j)
			for range k {
				d /= a + j
			}
			v -= d
		}
		if k == 0 {
			v++
		}
		y, _ := bell(order-k, rise, &f.cumulants)
		sum += float64(sign * c * v * y)
		c *= float64(order - k) // order!/(order-k)!
		sign = -sign
	}
	return byUnit(h, l, n, 1, sum)
}

// byUnit is 2^n (h+l) unit sum, where unit and sum may be small.
func byUnit(h, l float64, n int64, unit, sum float64) float64 {
	h, l = mulPair(h, l, unit, 0)
	return scale(float64(h*sum)+float64(l*sum), n)
}

// logOverGammaOf is log(x) - digamma(a): the derivative of log(x^(a-1)/Γ(a)) by a.
func logOverGammaOf(a, x float64) float64 {
	d := (x - a) / a
	if !(a >= gammaFarFrom && math.Abs(d) < 0.5) {
		if !(a >= gammaLeast && x > 0 && x <= math.MaxFloat64 && a <= gammaMost) {
			return LogOf(x) - DigammaOf(a)
		}
		h, l := logLong(x)
		gh, gl := DigammaPairOf(a)
		h, l = addPair(h, l, -gh, -gl)
		return h + l
	}
	z := 1 / a
	z2 := float64(z * z)
	return Log1pOf(d) + (float64(0.5*z) + float64(z2*poly(digammaSeries[:], z2)))
}

// expm1Excess is exp(w) - 1 - w.
func expm1Excess(w float64) float64 {
	if math.Abs(w) > 0.6 {
		return Expm1Of(w) - w
	}
	return float64(w*w) * poly(expExcess[:], w)
}

// expExcess are 1/(k+2)!: what is behind them is below 2^-57 of 1/2 for 0.6.
var expExcess = [...]float64{1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600,
	1. / 6227020800, 1. / 87178291200, 1. / 1307674368000}

// log1pExcessOf is z - log(1+z) for z >= 0, as log1pExcess.
func log1pExcessOf(z float64) float64 {
	if z > 0.3 {
		return z - Log1pOf(z)
	}
	s := z / (2 + z)
	s2 := float64(s * s)
	return float64(s * (z - 2*float64(s2*(1./3+float64(s2*poly(atanhFar[:], s2))))))
}
