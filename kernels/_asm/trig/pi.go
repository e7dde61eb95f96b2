package main

// reducePi is reducePi of generic_trig.go, k with magic added.
func reducePi(x v) (k, r, rl v) {
	x = sub(x, twice(floor(mul(x, c(0.5)))))
	k = madd(mov(x), cr(16), c(magic))
	x = subMul(x, sub(k, c(magic)), c(1./16))
	pi := num1("onePiHi")
	r = mul(x, pi)
	return k, r, madd(x, cr(num["onePiLo"][0]), msub(mov(x), cr(num["onePiHi"][0]), r))
}

// sinPair is sin(k pi/16 + r + rl) = h + l but for the sign, which is bit 4 of k.
func sinPair(k, r, rl v) (h, l v) {
	a, z := tail(num["sinPoly"], []v{r}, []v{rl})
	b := mul(z[0], horner(num["cosPoly"], z[0]))
	t := turned(k)
	h, l = rotated(t.s, t.sl, t.c, t.cl, r, a[0], false)
	return normal(h, addMul(l, t.s, b))
}

func sinPiOf(x v) v {
	a := abs(x)
	k, r, rl := reducePi(a)
	h, l := sinPair(k, r, rl)
	y := flip(add(h, l), xor(shiftLeft(k, 59), x))
	y = set(y, cmp(h, eq, c(0)), and(x, bits(signBit)))
	near := madd(mov(x), cr(num["onePiHi"][0]), mul(x, num1("onePiLo")))
	return set(y, cmp(a, lt, c(0x1p-30)), near)
}

func cosPiOf(x v) v {
	k, r, rl := reducePi(abs(x))
	k = add(k, c(8)) // a quarter of a turn on
	h, l := sinPair(k, r, rl)
	return add(flip(add(h, l), shiftLeft(k, 59)), c(0)) // never -0
}

func sincOf(x v) v {
	x = abs(x)
	k, r, rl := reducePi(x)
	h, l := sinPair(k, r, rl)
	s := shiftLeft(k, 59)
	h, l = flip(h, s), flip(l, s)
	p := mul(x, num1("onePiHi"))
	pl := madd(mov(x), cr(num["onePiLo"][0]), msub(mov(x), cr(num["onePiHi"][0]), p))
	inv := div(load(c(1)), p)
	q := mul(h, inv)
	e := mul(add(nmadd(mov(q), p, h), nmadd(mov(q), pl, l)), inv)
	y := add(add(q, e), c(0)) // never -0
	y = set(y, cmp(x, lt, c(0x1p-30)), c(1))
	return set(y, cmp(x, ge, c(0x1p53)), c(0))
}

func twice(x v) v { return add(x, x) }
