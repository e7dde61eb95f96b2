package main

import "nabla/kernels/_asm/kit"

// ratio is (nh+nl)/(dh+dl) = q + r; nl may be nil.
func ratio(nh, nl, dh, dl v) (q, r v) {
	inv := div(load(c(1)), dh)
	q = mul(nh, inv)
	rem := nmadd(mov(dh), q, nh)
	var low v
	if nl == nil {
		low = nmadd(mov(dl), q, c(0))
	} else {
		low = nmadd(mov(dl), q, nl)
	}
	return q, mul(add(rem, low), inv)
}

func expPair(x v) (h, l, n v) {
	t, a, tail, n := expParts(x, nil)
	h, l = sum3(t, a, tail)
	return h, l, n
}

// expPlus1 is exp(x) = h + l and exp(x)+1 = dh + dl, all over 2^(n/16).
func expPlus1(x v) (h, l, dh, dl, n v) {
	h, l, n = expPair(x)
	d := power(n)
	dh = add(h, d)
	return h, l, dh, add(sub(d, sub(dh, h)), l), n
}

func sigmoidOf(x v) v {
	h, l, dh, dl, n := expPlus1(min(abs(x), load(c(760))))
	left := cmp(x, lt, c(0))
	q, r := ratio(set(h, left, load(c(1))), set(l, left, load(c(0))), dh, dl)
	y := add(q, r)
	return set(y, left, scale(y, n, -1, 0))
}

func softplusOf(x v) v {
	a := max(xor(abs(x), kit.Bits(signBit)), load(c(-760)))
	eh, el, n := expPair(a)
	eh, el = scale(eh, n, 1, 0), scale(el, n, 1, 0)
	u := add(eh, c(1))
	rel := div(add(sub(eh, sub(u, c(1))), el), u)
	h, l := logPair(u, rel, nil, false)
	s, e := twoSum(max(load(c(0)), x), h)
	y := add(s, add(e, l))
	return set(y, cmp(x, nle, c(100)), x)
}

func sinhOf(x v) v {
	t, a, tail, n := expParts(min(abs(x), load(c(720))), nil)
	d := power(n)
	eh, el := sum3(t, a, tail)
	th, tl := minus1(t, a, tail, d)
	q, r := ratio(th, tl, eh, el)
	q = mul(q, d)
	h := add(th, q)
	l := add(sub(q, sub(h, th)), addMul(mov(tl), r, d))
	return withSign(scale(add(h, l), n, 1, -1), x)
}

func coshOf(x v) v {
	h, l, n := expPair(min(abs(x), load(c(720))))
	d := power(n)
	q, r := ratio(mul(d, d), nil, h, l)
	s := add(h, q)
	return scale(add(s, add(sub(q, sub(s, h)), add(l, r))), n, 1, -1)
}

func tanhOf(x v) v {
	z := min(abs(x), load(c(30)))
	t, a, tail, n := expParts(add(z, z), nil)
	d := power(n)
	eh, el := sum3(t, a, tail)
	dh := add(eh, d)
	dl := add(sub(d, sub(dh, eh)), el)
	th, tl := minus1(t, a, tail, d)
	q, r := ratio(th, tl, dh, dl)
	return withSign(add(q, r), x)
}

func sech2Of(x v) v {
	z := min(abs(x), load(c(380)))
	h, l, dh, dl, n := expPlus1(add(z, z))
	ph := mul(dh, dh)
	pl := msub(mov(dh), dh, ph)
	addMul(pl, add(dh, dh), dl)
	q, r := ratio(h, l, ph, pl)
	return scale(add(q, r), n, -1, 2)
}
