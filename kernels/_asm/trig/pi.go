package main

import . "nabla/kernels/_asm/kit"

// reducePi is reducePi of generic_trig.go, k with Magic added.
func reducePi(x V) (k, r, rl V) {
	x = Sub(x, twice(Floor(Mul(x, c(0.5)))))
	k = Madd(Copy(x), cr(16), c(Magic))
	x = SubMul(x, Sub(k, c(Magic)), c(1./16))
	pi := named("onePiHi")
	r = Mul(x, pi)
	return k, r, Madd(x, cr(num["onePiLo"][0]), Msub(Copy(x), cr(num["onePiHi"][0]), r))
}

// sinPair is sin(k pi/16 + r + rl) = h + l but for the sign, which is bit 4 of k.
func sinPair(k, r, rl V) (h, l V) {
	a, z := tail(num["sinPoly"], []V{r}, []V{rl})
	b := Mul(z[0], horner(num["cosPoly"], z[0]))
	t := turned(k)
	h, l = rotated(t.s, t.sl, t.c, t.cl, r, a[0], false)
	return normal(h, AddMul(l, t.s, b))
}

func cosPiOf(x V) V {
	k, r, rl := reducePi(Abs(x))
	k = Add(k, c(8)) // a quarter of a turn on
	h, l := sinPair(k, r, rl)
	return Add(Flip(Add(h, l), ShiftLeft(k, 59)), c(0)) // never -0
}

func sincOf(x V) V {
	x = Abs(x)
	k, r, rl := reducePi(x)
	h, l := sinPair(k, r, rl)
	s := ShiftLeft(k, 59)
	h, l = Flip(h, s), Flip(l, s)
	p := Mul(x, named("onePiHi"))
	pl := Madd(Copy(x), cr(num["onePiLo"][0]), Msub(Copy(x), cr(num["onePiHi"][0]), p))
	inv := Div(Copy(c(1)), p)
	q := Mul(h, inv)
	e := Mul(Add(Nmadd(Copy(q), p, h), Nmadd(Copy(q), pl, l)), inv)
	y := Add(Add(q, e), c(0)) // never -0
	y = Set(y, Compare(x, LT, c(0x1p-30)), c(1))
	return Set(y, Compare(x, GE, c(0x1p53)), c(0))
}

func twice(x V) V { return Add(x, x) }
