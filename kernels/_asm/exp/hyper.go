package main

import "nabla/kernels/_asm/kit"

// ratio is (nh+nl)/(dh+dl) = q + r, inv being 1/dh.
func ratio(nh, nl, dh, dl, inv v) (q, r v) {
	q = mul(nh, inv)
	r = add(nmadd(load(dh), q, nh), nmadd(load(dl), q, nl))
	return q, mul(r, inv)
}

// A near is d = 2^-n, split: beyond n = 51 it is low.
type near struct{ d, h, l v }

func newNear(d v) near {
	far := compare(d, lt, c(0x1p-51))
	h := set(load(d), far, c(0))
	return near{d, h, sub(d, h)}
}

// plus is t + b + d and minus is t + b + bl - d, for d <= t.
func plus(t, b v, d near) (h, l v) {
	v := add(t, d.h)
	h = add(v, b)
	return h, add(sub(b, sub(h, v)), d.l)
}

func minus(t, b, bl v, d near) (h, l v) {
	u := sub(t, d.h)
	h = add(u, b)
	return h, add(sub(b, sub(h, u)), sub(bl, d.l))
}

// recip is 1/(h+l) = q + r.
func recip(h, l v) (q, r v) {
	q = div(c(1), h)
	r = nmadd(load(h), q, c(1))
	return q, mul(subMul(r, q, l), q)
}

// logistic is exp(x) and what it needs: 1/(1+exp(x)) = (q + r) * d, d = 2^-n.
type logistic struct {
	t, b, bl v
	i        index
	d        near
	dh, dl   v
}

func newLogistic(x v) logistic {
	t, b, bl, i := expCore(below(x, 760))
	d := newNear(i.power())
	dh, dl := plus(t, b, d)
	return logistic{t, b, bl, i, d, dh, dl}
}

// rest is 1 - d*(q+r) = h + l.
func rest(q, r, d v) (h, l v) {
	h = nmadd(load(d), q, c(1))
	l = subMul(sub(c(1), h), q, d)
	return h, subMul(l, r, d)
}

// slope is q+r times 1 - d*(q+r), over d.
func (e logistic) slope(q, r v, plus float64) v {
	h, l := rest(q, r, e.d.d)
	y := madd(l, q, mul(r, h))
	return scaleNormal(madd(h, q, y), e.i.exponent(-1, plus))
}

func (e logistic) sigmoid(q, r, x v) v {
	left := scaleNormal(add(q, r), e.i.exponent(-1, 0))
	h, l := rest(q, r, e.d.d)
	return set(add(h, l), compare(x, lt, c(0)), left)
}

func (e logistic) tanh(inv, x v) v {
	nh, nl := minus(e.t, e.b, e.bl, e.d)
	q := mul(nh, inv)
	r := add(nmadd(load(e.dh), q, nh), nmadd(load(e.dl), q, nl))
	return withSign(madd(r, inv, q), x)
}

func sigmoidOf(x v) v {
	e := newLogistic(abs(x))
	q, r := recip(e.dh, e.dl)
	return e.sigmoid(q, r, x)
}

func sigmoidSlopeOf(x v) v {
	e := newLogistic(abs(x))
	q, r := recip(e.dh, e.dl)
	return e.slope(q, r, 0)
}

func sigmoidTwinOf(x v) (y, d v) {
	e := newLogistic(abs(x))
	q, r := recip(e.dh, e.dl)
	return e.sigmoid(q, r, x), e.slope(q, r, 0)
}

func twice(x v) v { return add(x, x) }

func tanhOf(x v) v {
	t, b, bl, i := expCore(below(twice(abs(x)), 60)) // from where on tanh is 1
	d := newNear(subInt(c(1), shiftLeft(i.bits, 48)))
	dh, dl := plus(t, b, d)
	return logistic{t, b, bl, i, d, dh, dl}.tanh(div(c(1), dh), x)
}

func sech2Of(x v) v {
	e := newLogistic(twice(abs(x)))
	q, r := recip(e.dh, e.dl)
	return e.slope(q, r, 2)
}

func tanhSech2Of(x v) (y, d v) {
	e := newLogistic(twice(abs(x)))
	q, r := recip(e.dh, e.dl)
	return e.tanh(q, x), e.slope(q, r, 2)
}

func softplusOf(x v) v {
	a := above(negative(abs(x)), -760)
	t, b, bl, i := expCoreLong(a, nil)
	eh, el := pair(t, b, bl)
	e := i.exponent(1, 0)
	eh, el = scaleNormal(eh, e), scale(el, e)
	u := add(eh, c(1))
	rel := div(add(sub(eh, sub(u, c(1))), el), u)
	h, l := logPair(u, rel, nil, false)
	s, low := twoSum(max(c(0), x), h)
	y := add(s, add(low, l))
	if kit.Case > 0 {
		return y
	}
	return set(y, compare(x, nle, c(100)), x)
}

func sinhOf(x v) v {
	t, b, bl, i := expCore(below(abs(x), 720))
	d := i.power()
	eh, el := pair(t, b, bl)
	th, tl := minus(t, b, bl, newNear(d))
	q, r := ratio(th, tl, eh, el, div(c(1), eh))
	q = mul(q, d)
	h := add(th, q)
	l := add(sub(q, sub(h, th)), madd(r, d, tl))
	return withSign(scaleNormal(add(h, l), i.exponent(1, -1)), x)
}

func coshOf(x v) v {
	t, b, bl, i := expCore(below(abs(x), 720))
	d := i.power()
	h, l := pair(t, b, bl)
	q, r := recip(h, l)
	d = mul(d, d)
	q = mul(q, d)
	s := add(h, q)
	y := add(s, add(sub(q, sub(s, h)), madd(r, d, l)))
	return scaleNormal(y, i.exponent(1, -1))
}
