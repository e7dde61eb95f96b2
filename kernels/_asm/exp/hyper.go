package main

// ratio is (nh+nl)/(dh+dl) = q + r, inv being 1/dh.
func ratio(nh, nl, dh, dl, inv v) (q, r v) {
	q = mul(nh, inv)
	r = add(nmadd(load(dh), q, nh), nmadd(load(dl), q, nl))
	return q, mul(r, inv)
}

// plus is t + b + bl + d and minus is t + b + bl - d, for d <= t.
func plus(t, b, bl, d v) (h, l v) {
	v := add(t, d)
	h = add(v, b)
	return h, add(sub(b, sub(h, v)), add(bl, add(sub(t, v), d)))
}

func minus(t, b, bl, d v) (h, l v) {
	u := sub(t, d)
	h = add(u, b)
	return h, add(sub(b, sub(h, u)), add(bl, sub(sub(t, u), d)))
}

// recip is 1/(h+l) = q + r.
func recip(h, l v) (q, r v) {
	q = div(c(1), h)
	r = nmadd(load(h), q, c(1))
	return q, mul(subMul(r, q, l), q)
}

// logistic is exp(x) and what it needs: 1/(1+exp(x)) = (q + r) * d, d = 2^-n.
type logistic struct{ t, b, bl, d, n, dh, dl v }

func newLogistic(x v) logistic {
	t, b, bl, n := expCore(min(x, c(760)), nil)
	d := power(n)
	dh, dl := plus(t, b, bl, d)
	return logistic{t, b, bl, d, n, dh, dl}
}

// rest is 1 - d*(q+r) = h + l.
func rest(q, r, d v) (h, l v) {
	q = mul(q, d)
	h = sub(c(1), q)
	return h, sub(sub(sub(c(1), h), q), mul(r, d))
}

// slope is q+r times 1 - d*(q+r), over d.
func (e logistic) slope(q, r v, plus float64) v {
	h, l := rest(q, r, e.d)
	y := madd(l, q, mul(r, h))
	return scale(madd(h, q, y), e.n, -1, plus)
}

func (e logistic) sigmoid(q, r, x v) v {
	left := scale(add(q, r), e.n, -1, 0)
	h, l := rest(q, r, e.d)
	return set(add(h, l), cmp(x, lt, c(0)), left)
}

func (e logistic) tanh(inv, x v) v {
	nh, nl := minus(e.t, e.b, e.bl, e.d)
	q, r := ratio(nh, nl, e.dh, e.dl, inv)
	return withSign(add(q, r), x)
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
	e := newLogistic(twice(abs(x)))
	return e.tanh(div(c(1), e.dh), x)
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
	a := max(negative(abs(x)), c(-760))
	t, b, bl, n := expCore(a, nil)
	eh, el := pair(t, b, bl)
	eh, el = scale(eh, n, 1, 0), scale(el, n, 1, 0)
	u := add(eh, c(1))
	rel := div(add(sub(eh, sub(u, c(1))), el), u)
	h, l := logPair(u, rel, nil, false)
	s, e := twoSum(max(c(0), x), h)
	y := add(s, add(e, l))
	return set(y, cmp(x, nle, c(100)), x)
}

func sinhOf(x v) v {
	t, b, bl, n := expCore(min(abs(x), c(720)), nil)
	d := power(n)
	eh, el := pair(t, b, bl)
	th, tl := minus(t, b, bl, d)
	q, r := ratio(th, tl, eh, el, div(c(1), eh))
	q = mul(q, d)
	h := add(th, q)
	l := add(sub(q, sub(h, th)), madd(r, d, tl))
	return withSign(scale(add(h, l), n, 1, -1), x)
}

func coshOf(x v) v {
	t, b, bl, n := expCore(min(abs(x), c(720)), nil)
	d := power(n)
	h, l := pair(t, b, bl)
	q, r := recip(h, l)
	d = mul(d, d)
	q = mul(q, d)
	s := add(h, q)
	y := add(s, add(sub(q, sub(s, h)), madd(r, d, l)))
	return scale(y, n, 1, -1)
}
