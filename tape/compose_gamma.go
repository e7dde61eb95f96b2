package tape

import (
	"math"

	"nabla/kernels"
)

// The logarithm of beta and its derivative are differences of lgamma and digamma in two parts each. What these
// lose too much of, and what is not positive, is done by other formulas, number by number.
var (
	betalnDoor      = func(dst, a, b []float64) { pieces(dst, a, b, betalnPiece) }
	digammaFallDoor = func(dst, a, b []float64) { pieces(dst, a, b, digammaFallPiece) }
)

// sumPair is x + y in two parts.
func sumPair(x, y float64) (h, l float64) {
	h = x + y
	t := h - x
	return h, (x - (h - t)) + (y - t)
}

// A gammaPart is lgamma or digamma of a number, in two parts.
type gammaPart struct{ h, l float64 }

func lgammaPart(x float64) gammaPart {
	h, l := kernels.LgammaPairOf(x)
	return gammaPart{h, l}
}

func digammaPart(x float64) gammaPart {
	h, l := kernels.DigammaPairOf(x)
	return gammaPart{h, l}
}

// betalnOf is log |beta(a, b)|.
func betalnOf(a, b float64) float64 {
	s, lost := sumPair(a, b)
	return betaln(a, b, s, lost, kernels.LogOf(s), lgammaPart(a), lgammaPart(b), lgammaPart(s))
}

func betalnPiece(dst, a, b []float64, r *bench) {
	n := len(dst)
	s, lost, log := r[0][:n], r[1][:n], r[2][:n]
	ah, al, bh, bl, sh, sl := r[3][:n], r[4][:n], r[5][:n], r[6][:n], r[7][:n], r[8][:n]
	for i, v := range a {
		s[i], lost[i] = sumPair(v, b[i])
	}
	kernels.Log(log, s)
	kernels.LgammaPair(ah, al, a)
	kernels.LgammaPair(bh, bl, b)
	kernels.LgammaPair(sh, sl, s)
	for i, v := range s {
		dst[i] = betaln(a[i], b[i], v, lost[i], log[i], gammaPart{ah[i], al[i]}, gammaPart{bh[i], bl[i]}, gammaPart{sh[i], sl[i]})
	}
}

// betaln is lgamma(a) + lgamma(b) - lgamma(s + lost), of which they are given at s; digamma(s) is about
// log(s) - 1/2s. Parts are exact to about 2^-63 s and 2^-57.
func betaln(a, b, s, lost, log float64, x, y, z gammaPart) float64 {
	const most = 256
	t, te := sumPair(x.h, y.h)
	h, he := sumPair(t, -z.h)
	h += te + he + (x.l + y.l - z.l) - float64(lost*(log-0.5/s))
	if s <= most*max(math.Abs(h), 1) {
		return h
	}
	return betalnElsewhere(a, b)
}

// digammaFallOf is digamma(a) - digamma(a+b).
func digammaFallOf(a, b float64) float64 {
	s, lost := sumPair(a, b)
	return digammaFall(a, b, s, lost, digammaPart(a), digammaPart(s))
}

func digammaFallPiece(dst, a, b []float64, r *bench) {
	n := len(dst)
	s, lost := r[0][:n], r[1][:n]
	ah, al, sh, sl := r[2][:n], r[3][:n], r[4][:n], r[5][:n]
	for i, v := range a {
		s[i], lost[i] = sumPair(v, b[i])
	}
	kernels.DigammaPair(ah, al, a)
	kernels.DigammaPair(sh, sl, s)
	for i, v := range s {
		dst[i] = digammaFall(a[i], b[i], v, lost[i], gammaPart{ah[i], al[i]}, gammaPart{sh[i], sl[i]})
	}
}

// digammaFall is digamma(a) - digamma(s + lost). The derivative of digamma at s is about 1/s^2 + 1/u + 1/2u^2 for
// u = s + 1.
func digammaFall(a, b, s, lost float64, x, y gammaPart) float64 {
	h, l := sumPair(x.h, -y.h)
	u := s + 1
	l += x.l - y.l - float64(lost/s)*(1/s+float64(s/u)*(1+0.5/u))
	if d := math.Abs(h); d >= max(math.Abs(x.h), math.Abs(y.h))/4 || a >= 8 && b > 0 && d >= 0x1p-6 {
		return h + l
	}
	if min(a, s) > -mostRaised && s <= math.MaxFloat64 && !isPole(a) && !isPole(s) {
		return digammaFallClose(a, b)
	}
	return polygammaOf(0, a) - polygammaOf(0, s)
}

// digammaFallClose is digammaFall where the difference of logarithms in the asymptotic series is that of a ratio,
// and those of powers are sums, so that nothing cancels however small b is; the recurrence leads there.
func digammaFallClose(a, b float64) float64 {
	const far = 12
	near := 0.0
	for ; min(a, a+b) < far; a++ {
		near += b / a / (a + b)
	}
	u, v := 1/a, 1/(a+b)
	p, q := 0.0, 0.0 // of u^2, and its divided difference to v^2
	for _, c := range &digammaSeriesTerms {
		q = p + float64(q*(v*v))
		p = c + float64(p*(u*u))
	}
	q = p + float64(q*(v*v))
	return -(kernels.Log1pOf(b/a) + (near + float64(b*u)*v*(0.5+(u+v)*q)))
}

// digammaSeriesTerms are B(2k)/2k for k = 8, …, 1.
var digammaSeriesTerms = [...]float64{-3617. / 8160, 1. / 12, -691. / 32760, 1. / 132, -1. / 240, 1. / 252, -1. / 120, 1. / 12}
