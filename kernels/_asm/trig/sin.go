package main

import (
	. "nabla/kernels/_asm/kit"
)

// reduce is reduce of generic_trig.go, k with Magic added.
func reduce(x []V) (k, r, rl []V) {
	p1, p2, p3 := named("pio16a"), named("pio16b"), named("pio16c")
	k = each(x, func(_ int, x V) V { return Madd(Copy(cr(num["inv16pi"][0])), x, c(Magic)) })
	n := each(k, func(_ int, k V) V { return Sub(k, c(Magic)) })
	a := each(x, func(i int, x V) V { return SubMul(x, n[i], p1) })
	r = each(a, func(i int, a V) V { return SubMul(Copy(a), n[i], p2) })
	rl = each(a, func(i int, a V) V { return Sub(a, r[i]) })
	each(rl, func(i int, l V) V { return SubMul(l, n[i], p2) })
	each(rl, func(i int, l V) V { return SubMul(l, n[i], p3) })
	return k, r, rl
}

// tail is r^3 p(r^2) + rl, and z = r^2.
func tail(p []float64, r, rl []V) (t, z []V) {
	z = squares(r)
	t = horners(p, z)
	return each(t, func(i int, t V) V { return Madd(t, Mul(r[i], z[i]), rl[i]) }), z
}

// tails is sin(r+rl) - r and cos(r) - 1.
func tails(r, rl []V) (a, b []V) {
	a, z := tail(num["sinPoly"], r, rl)
	b = horners(num["cosPoly"], z)
	return a, each(b, func(i int, b V) V { return Mul(z[i], b) })
}

// rows is the table of the turns on AVX2.
var rows Rows

// A turn is a rotation by a multiple of pi/16.
type turn struct{ s, sl, c, cl V }

func turned(k V) turn {
	if !Wide {
		r := rows.At(k)
		return turn{r(0), r(1), r(2), r(3)}
	}
	return turn{table["sinHi"].At(k), table["sinLo"].At(k), table["cosHi"].At(k), table["cosLo"].At(k)}
}

func turns(k []V) []turn {
	var t []turn
	for _, k := range k {
		t = append(t, turned(k))
	}
	return t
}

// sines is sin of the turn by k and r; sign has its sign, besides bit 4 of k.
func sines(t []turn, r, a, b []V) []V {
	l := each(r, func(i int, r V) V { return AddMul(Copy(t[i].sl), t[i].cl, r) })
	each(l, func(i int, l V) V { return AddMul(l, t[i].c, a[i]) })
	each(l, func(i int, l V) V { return AddMul(l, t[i].s, b[i]) })
	each(l, func(i int, l V) V { return AddMul(l, t[i].c, r[i]) })
	return each(l, func(i int, l V) V { return Add(t[i].s, l) })
}

func cosines(t []turn, r, a, b []V) []V {
	l := each(r, func(i int, r V) V { return SubMul(Copy(t[i].cl), t[i].sl, r) })
	each(l, func(i int, l V) V { return SubMul(l, t[i].s, a[i]) })
	each(l, func(i int, l V) V { return AddMul(l, t[i].c, b[i]) })
	each(l, func(i int, l V) V { return SubMul(l, t[i].s, r[i]) })
	return each(l, func(i int, l V) V { return Add(t[i].c, l) })
}

func sinOf(x []V) [][]V {
	k, r, rl := reduce(absolute(x))
	a, b := tails(r, rl)
	y := sines(turns(k), r, a, b)
	return results(each(y, func(i int, y V) V { return Flip(y, Xor(ShiftLeft(k[i], 59), x[i])) }))
}

func cosOf(x []V) [][]V {
	k, r, rl := reduce(absolute(x))
	a, b := tails(r, rl)
	y := cosines(turns(k), r, a, b)
	return results(each(y, func(i int, y V) V { return Flip(y, ShiftLeft(k[i], 59)) }))
}

func sinCosOf(x []V) [][]V {
	k, r, rl := reduce(absolute(x))
	a, b := tails(r, rl)
	t := turns(k)
	y, z := sines(t, r, a, b), cosines(t, r, a, b)
	k = each(k, func(_ int, k V) V { return ShiftLeft(k, 59) })
	y = each(y, func(i int, y V) V { return Flip(y, Xor(k[i], x[i])) })
	return results(y, each(z, func(i int, z V) V { return Flip(z, k[i]) }))
}

// absolute is |x|; it stops if one is above trigMax.
func absolute(x []V) []V {
	y := each(x, func(_ int, x V) V { return Abs(x) })
	var m []Bool
	for _, y := range y {
		m = append(m, Compare(y, NLE, c(trigMax)))
	}
	StopIf(m...)
	return y
}

// rotated is s + c*(r+t) = h + l; minus makes it s - c*(r+t).
func rotated(s, sl, c, cl, r, t V, minus bool) (h, l V) {
	p := Mul(c, r)
	e := Msub(Copy(c), r, p)
	if minus {
		h = Sub(s, p)
		l = Add(Sub(Sub(s, h), p), Sub(sl, e))
		SubMul(l, cl, r)
		SubMul(l, c, t)
	} else {
		h = Add(s, p)
		l = Add(Sub(p, Sub(h, s)), Add(e, sl))
		AddMul(l, cl, r)
		AddMul(l, c, t)
	}
	return h, l
}

// normal is h + l with l at most half an ulp of h.
func normal(h, l V) (n, nl V) {
	n = Add(h, l)
	return n, Sub(l, Sub(n, h))
}

func tanOf(x []V) [][]V {
	k, r, rl := reduce(absolute(x))
	t, _ := tail(num["tanPoly"], r, rl)
	a := turns(k)
	return results(each(x, func(i int, x V) V {
		a, r, t := a[i], r[i], t[i]
		n, nl := normal(rotated(a.s, a.sl, a.c, a.cl, r, t, false))
		d, dl := normal(rotated(a.c, a.cl, a.s, a.sl, r, t, true))
		inv := Div(Copy(c(1)), d)
		q := Mul(n, inv)
		e := Nmadd(d, q, n)
		e = Add(e, Nmadd(dl, q, nl))
		return Flip(Madd(e, inv, q), x)
	}))
}
