package main

// ratio is (nh+nl)/(dh+dl) = q + r; nl may be nil.
func ratio(nh, nl, dh, dl v) (q, r v) {
	inv := div(c(1), dh)
	q = mul(nh, inv)
	rem := nmadd(load(dh), q, nh)
	var low v
	if nl == nil {
		low = nmadd(load(dl), q, c(0))
	} else {
		low = nmadd(load(dl), q, nl)
	}
	return q, mul(add(rem, low), inv)
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

func sigmoidOf(x v) v {
	t, b, bl, n := expCore(min(abs(x), c(760)), nil)
	d := power(n)
	h, l := plus(t, b, bl, d)
	q, r := recip(h, l)
	left := scale(add(q, r), n, -1, 0)
	q = mul(q, d)
	r = mul(r, d)
	s := sub(c(1), q)
	y := add(s, sub(sub(sub(c(1), s), q), r))
	return set(y, cmp(x, lt, c(0)), left)
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
	q, r := ratio(th, tl, eh, el)
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

// exp2x is the core of exp(2|x|) and d.
func exp2x(x v) (t, b, bl, d, n v) {
	z := min(abs(x), c(380))
	t, b, bl, n = expCore(add(z, z), nil)
	return t, b, bl, power(n), n
}

func tanhOf(x v) v {
	t, b, bl, d, _ := exp2x(x)
	nh, nl := minus(t, b, bl, d)
	dh, dl := plus(t, b, bl, d)
	q, r := ratio(nh, nl, dh, dl)
	return withSign(add(q, r), x)
}

func sech2Of(x v) v {
	t, b, bl, d, n := exp2x(x)
	h, l := plus(t, b, bl, d)
	q, r := recip(h, l)
	return sech2(q, r, d, n)
}

// sech2 is 4q(1-q), where q + r is 1/(exp(2x)+1) over d.
func sech2(q, r, d, n v) v {
	p := mul(q, d)
	s := sub(c(1), p)
	e := sub(sub(sub(c(1), s), p), mul(r, d))
	r = mul(r, s)
	return scale(madd(s, q, madd(e, q, r)), n, -1, 2)
}
