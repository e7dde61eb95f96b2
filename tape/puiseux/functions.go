package puiseux

import (
	"math"

	"nabla/kernels"
)

// pow is x^p, by x y' = p x' y.
func (x Series) pow(p float64) Series {
	switch low := p * float64(x.low); {
	case x.Undefined() || p != p:
		return undefined
	case x.log != 0:
		return Unknown
	case x.Zero() && !x.cut && p > 0:
		return Series{}
	case x.Zero() || low != math.Floor(low) || math.Abs(low) > 1<<20:
		return Unknown
	case x.c[0] < 0 && p != math.Floor(p):
		return undefined
	}
	y := Series{low: int(p * float64(x.low)), c: []float64{kernels.PowOf(x.c[0], p)}}
	if len(x.c) == 1 && !x.cut {
		return y.normal()
	}
	y.cut = true
	n := terms
	if x.cut {
		n = len(x.c)
	}
	for k := 1; k < n; k++ {
		var s total
		for j := 1; j <= min(k, len(x.c)-1); j++ {
			if x.c[j] != 0 {
				s.add(float64((float64(p*float64(j)) - float64(k-j)) * float64(x.c[j]*y.c[k-j])))
			}
		}
		y.c = append(y.c, s.value()/(float64(k)*x.c[0]))
	}
	return y.normal()
}

// cbrt is the cube root of x, which is negative where x is.
func (x Series) cbrt() Series {
	if !x.Zero() && x.c[0] < 0 {
		return x.neg().pow(1. / 3).neg()
	}
	return x.pow(1. / 3)
}

// abs is the size of x on this side.
func (x Series) abs() Series {
	if v, _ := x.sign().Limit(); v < 0 {
		return x.neg()
	}
	return x
}

// sign is -1, 0 or 1: what x is on this side.
func (x Series) sign() Series {
	switch {
	case x.log != 0 && !x.Undefined() && (x.low >= 0 || len(x.c) == 0 && !x.cut):
		return Of(math.Copysign(1, -x.log))
	case x.Zero() && x.cut:
		return Unknown
	case x.Zero() || x.Undefined():
		return x
	}
	return Of(math.Copysign(1, x.c[0]))
}

// slope is the derivative of x by t.
func (x Series) slope() Series {
	c := make([]float64, len(x.c))
	for k, v := range x.c {
		c[k] = float64(x.low+k) * v
	}
	return Series{low: x.low - 1, c: c, cut: x.cut}.normal()
}

// along is f(x), f being v at the limit of x and its derivative there df: the integral of
// df times the slope of x, which must not be a logarithm.
func (x Series) along(f func(float64) float64, df Series) Series {
	v, ok := x.Limit()
	switch {
	case x.Undefined() || df.Undefined():
		return undefined
	case !ok || math.IsInf(v, 0):
		return Unknown
	}
	y := df.Mul(x.slope())
	if y.low < 0 && !y.Zero() || y.cut && y.end() < 0 {
		return Unknown
	}
	c := make([]float64, len(y.c))
	for k, v := range y.c {
		c[k] = v / float64(y.low+k+1)
	}
	return Of(f(v)).Add(Series{low: y.low + 1, c: c, cut: y.cut}.normal())
}

// Compose is a function of x whose value and derivatives are d at the limit of x.
func (x Series) Compose(d []float64) Series {
	v, ok := x.Limit()
	if !ok || v-v != 0 {
		return Unknown
	}
	u := x.sub(Of(v))
	low := max(u.low, 1)
	power, y := Of(1), Series{low: len(d) * low, cut: true}
	for k, f := range d {
		y = y.Add(power.times(f))
		power = power.Mul(u).times(1 / float64(k+1))
	}
	return y
}

// angle is that of the point (x, y): the integral of the slope of the arc
// tangent of y/x, or of minus that of x/y.
func angle(y, x Series) Series {
	v, _ := y.Limit()
	w, _ := x.Limit()
	ratio, sign := y.div(x), 1.0
	switch {
	case x.Undefined() || y.Undefined():
		return undefined
	case math.Abs(v) > math.Abs(w):
		ratio, sign = x.div(y), -1
	case w == 0:
		return Unknown
	}
	slope := Of(1).Add(ratio.Mul(ratio)).inverse().times(sign)
	return ratio.along(func(float64) float64 { return kernels.Atan2Of(v, w) }, slope)
}

// pair are functions f and g of x whose derivatives are g and sign·f: sine and cosine, or
// their hyperbolic cousins.
func (x Series) pair(f, g func(float64) float64, sign float64) (y, z Series) {
	v, ok := x.Limit()
	switch {
	case x.Undefined():
		return undefined, undefined
	case !ok || math.IsInf(v, 0):
		return Unknown, Unknown
	}
	n := terms
	switch {
	case x.cut:
		n = min(n, x.end())
	case x.Constant():
		n = 1
	}
	a, b := make([]float64, n), make([]float64, n)
	a[0], b[0] = f(v), g(v)
	for _, y := range []*float64{&a[0], &b[0]} {
		if math.Abs(*y) <= 0x1p-52*math.Abs(v) { // v may stand for a multiple of pi/2
			*y = 0
		}
	}
	for k := 1; k < n; k++ {
		var s, t total
		for j := 1; j <= k; j++ {
			if u := float64(j) * x.at(j); u != 0 {
				s.add(float64(u * b[k-j]))
				t.add(float64(u * a[k-j]))
			}
		}
		a[k], b[k] = s.value()/float64(k), sign*t.value()/float64(k)
	}
	cut := !x.Constant()
	return Series{c: a, cut: cut}.normal(), Series{c: b, cut: cut}.normal()
}

// exp is the exponential: of a logarithm of the distance a power of it, if that is whole.
func (x Series) exp() Series {
	y, _ := Series{low: x.low, c: x.c, cut: x.cut}.pair(kernels.ExpOf, kernels.ExpOf, 1)
	power := math.Round(x.log)
	if math.Abs(x.log-power) > 0x1p-40*math.Abs(power) || math.Abs(power) > 1<<20 {
		return Unknown
	}
	y.low += int(power)
	return y
}

func (x Series) sincos() (sin, cos Series) { return x.pair(kernels.SinOf, kernels.CosOf, -1) }

// sinhcosh are the hyperbolic sine and cosine.
func (x Series) sinhcosh() (sinh, cosh Series) {
	if x.log != 0 {
		up, down := x.exp(), x.neg().exp()
		return up.sub(down).times(0.5), up.Add(down).times(0.5)
	}
	return x.pair(kernels.SinhOf, kernels.CoshOf, 1)
}

// expm1 is exp(x) - 1.
func (x Series) expm1() Series {
	if x.log != 0 {
		return x.exp().sub(Of(1))
	}
	return x.along(kernels.Expm1Of, x.exp())
}

// log1p is log(1 + x).
func (x Series) log1p() Series {
	y := Of(1).Add(x)
	if v, ok := y.Limit(); ok && v == 0 {
		return y.logarithm()
	}
	return x.along(kernels.Log1pOf, y.onlyPositive().inverse())
}

// softplus is log(1 + exp(x)).
func (x Series) softplus() Series {
	if x.log != 0 {
		return Of(1).Add(x.exp()).logarithm()
	}
	return x.along(kernels.SoftplusOf, x.sigmoid())
}

func (x Series) sigmoid() Series { return Of(1).Add(x.neg().exp()).inverse() }

// area is the inverse hyperbolic sine of x, which is f with the slope df; or, for the sign -1,
// the inverse hyperbolic cosine.
func (x Series) area(f func(float64) float64, df Series, sign float64) Series {
	if v, ok := x.Limit(); !ok || !math.IsInf(v, 0) {
		return x.along(f, df)
	}
	a := x.abs()
	if sign < 0 {
		a = x
	}
	return x.sign().Mul(a.Add(a.Mul(a).Add(Of(sign)).Sqrt()).logarithm())
}

// logarithm is log(x): the power of the distance in front becomes a multiple of its logarithm.
func (x Series) logarithm() Series {
	if x.Zero() || x.Undefined() {
		return x.along(kernels.LogOf, x.inverse())
	}
	first := Series{c: x.c, cut: x.cut}
	y := first.along(kernels.LogOf, first.onlyPositive().inverse())
	if !y.Undefined() {
		y.log = float64(x.low)
	}
	return y
}

// onlyPositive is x, or undefined where x is negative.
func (x Series) onlyPositive() Series {
	if !x.Zero() && x.c[0] < 0 {
		return undefined
	}
	return x
}
