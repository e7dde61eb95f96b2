package main

import . "nabla/kernels/_asm/kit"

// ratio is (nh+nl)/(dh+dl) = q + r, inv being 1/dh.
func ratio(nh, nl, dh, dl, inv V) (q, r V) {
	q = Mul(nh, inv)
	r = Add(Nmadd(Copy(dh), q, nh), Nmadd(Copy(dl), q, nl))
	return q, Mul(r, inv)
}

// A near is d = 2^-n, split: beyond n = 51 it is low.
type near struct{ d, h, l V }

func newNear(d V) near {
	far := Compare(d, LT, c(0x1p-51))
	h := Set(Copy(d), far, c(0))
	return near{d, h, Sub(d, h)}
}

// plus is t + b + d and minus is t + b + bl - d, for d <= t.
func plus(t, b V, d near) (h, l V) {
	v := Add(t, d.h)
	h = Add(v, b)
	return h, Add(Sub(b, Sub(h, v)), d.l)
}

func minus(t, b, bl V, d near) (h, l V) {
	u := Sub(t, d.h)
	h = Add(u, b)
	return h, Add(Sub(b, Sub(h, u)), Sub(bl, d.l))
}

// recip is 1/(h+l) = q + r.
func recip(h, l V) (q, r V) {
	q = Div(c(1), h)
	r = Nmadd(Copy(h), q, c(1))
	return q, Mul(SubMul(r, q, l), q)
}

// logistic is exp(x) and what it needs: 1/(1+exp(x)) = (q + r) * d, d = 2^-n.
type logistic struct {
	t, b, bl V
	i        index
	d        near
	dh, dl   V
}

func newLogistic(x V) logistic {
	t, b, bl, i := expCore(below(x, 760))
	d := newNear(i.power())
	dh, dl := plus(t, b, d)
	return logistic{t, b, bl, i, d, dh, dl}
}

// rest is 1 - d*(q+r) = h + l.
func rest(q, r, d V) (h, l V) {
	h = Nmadd(Copy(d), q, c(1))
	l = SubMul(Sub(c(1), h), q, d)
	return h, SubMul(l, r, d)
}

// slope is q+r times 1 - d*(q+r), over d.
func (e logistic) slope(q, r V, plus float64) V {
	h, l := rest(q, r, e.d.d)
	y := Madd(l, q, Mul(r, h))
	return scaleNormal(Madd(h, q, y), e.i.exponent(-1, plus))
}

func (e logistic) sigmoid(q, r, x V) V {
	left := scaleNormal(Add(q, r), e.i.exponent(-1, 0))
	h, l := rest(q, r, e.d.d)
	return Set(Add(h, l), Compare(x, LT, c(0)), left)
}

func (e logistic) tanh(inv, x V) V {
	nh, nl := minus(e.t, e.b, e.bl, e.d)
	q := Mul(nh, inv)
	r := Add(Nmadd(Copy(e.dh), q, nh), Nmadd(Copy(e.dl), q, nl))
	return WithSign(Madd(r, inv, q), x)
}

func sigmoidOf(x V) V {
	e := newLogistic(Abs(x))
	q, r := recip(e.dh, e.dl)
	return e.sigmoid(q, r, x)
}

func sigmoidSlopeOf(x V) V {
	e := newLogistic(Abs(x))
	q, r := recip(e.dh, e.dl)
	return e.slope(q, r, 0)
}

func sigmoidTwinOf(x V) (y, d V) {
	e := newLogistic(Abs(x))
	q, r := recip(e.dh, e.dl)
	return e.sigmoid(q, r, x), e.slope(q, r, 0)
}

func twice(x V) V { return Add(x, x) }

func tanhOf(x V) V {
	t, b, bl, i := expCore(below(twice(Abs(x)), 60)) // from where on tanh is 1
	d := newNear(SubInt(c(1), ShiftLeft(i.bits, 48)))
	dh, dl := plus(t, b, d)
	return logistic{t, b, bl, i, d, dh, dl}.tanh(Div(c(1), dh), x)
}

func sech2Of(x V) V {
	e := newLogistic(twice(Abs(x)))
	q, r := recip(e.dh, e.dl)
	return e.slope(q, r, 2)
}

func tanhSech2Of(x V) (y, d V) {
	e := newLogistic(twice(Abs(x)))
	q, r := recip(e.dh, e.dl)
	return e.tanh(q, x), e.slope(q, r, 2)
}

func softplusOf(x V) V {
	a := above(Negative(Abs(x)), -760)
	t, b, bl, i := expCoreLong(a, nil)
	eh, el := pair(t, b, bl)
	e := i.exponent(1, 0)
	eh, el = scaleNormal(eh, e), scale(el, e)
	u := Add(eh, c(1))
	rel := Div(Add(Sub(eh, Sub(u, c(1))), el), u)
	h, l := logPair(u, rel, nil, false)
	s, low := twoSum(Max(c(0), x), h)
	y := Add(s, Add(low, l))
	if Case > 0 {
		return y
	}
	return Set(y, Compare(x, NLE, c(100)), x)
}

func sinhOf(x V) V {
	t, b, bl, i := expCore(below(Abs(x), 720))
	d := i.power()
	eh, el := pair(t, b, bl)
	th, tl := minus(t, b, bl, newNear(d))
	q, r := ratio(th, tl, eh, el, Div(c(1), eh))
	q = Mul(q, d)
	h := Add(th, q)
	l := Add(Sub(q, Sub(h, th)), Madd(r, d, tl))
	return WithSign(scaleNormal(Add(h, l), i.exponent(1, -1)), x)
}

func coshOf(x V) V {
	t, b, bl, i := expCore(below(Abs(x), 720))
	d := i.power()
	h, l := pair(t, b, bl)
	q, r := recip(h, l)
	d = Mul(d, d)
	q = Mul(q, d)
	s := Add(h, q)
	y := Add(s, Add(Sub(q, Sub(s, h)), Madd(r, d, l)))
	return scaleNormal(y, i.exponent(1, -1))
}
