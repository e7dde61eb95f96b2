package main

import (
	"nabla/kernels/_asm/kit"
)

// reduce is reduce of generic_trig.go, k with magic added.
func reduce(x []v) (k, r, rl []v) {
	p1, p2, p3 := num1("pio16a"), num1("pio16b"), num1("pio16c")
	k = each(x, func(_ int, x v) v { return madd(mov(cr(num["inv16pi"][0])), x, c(magic)) })
	n := each(k, func(_ int, k v) v { return sub(k, c(magic)) })
	a := each(x, func(i int, x v) v { return subMul(x, n[i], p1) })
	r = each(a, func(i int, a v) v { return subMul(mov(a), n[i], p2) })
	rl = each(a, func(i int, a v) v { return sub(a, r[i]) })
	each(rl, func(i int, l v) v { return subMul(l, n[i], p2) })
	each(rl, func(i int, l v) v { return subMul(l, n[i], p3) })
	return k, r, rl
}

// tail is r^3 p(r^2) + rl, and z = r^2.
func tail(p []float64, r, rl []v) (t, z []v) {
	z = squares(r)
	t = horners(p, z)
	return each(t, func(i int, t v) v { return madd(t, mul(r[i], z[i]), rl[i]) }), z
}

// tails is sin(r+rl) - r and cos(r) - 1.
func tails(r, rl []v) (a, b []v) {
	a, z := tail(num["sinPoly"], r, rl)
	b = horners(num["cosPoly"], z)
	return a, each(b, func(i int, b v) v { return mul(z[i], b) })
}

// rows is the table of the turns on AVX2.
var rows kit.Rows

// A turn is a rotation by a multiple of pi/16.
type turn struct{ s, sl, c, cl v }

func turned(k v) turn {
	if !kit.Wide {
		r := rows.At(k)
		return turn{r(0), r(1), r(2), r(3)}
	}
	return turn{table["sinHi"].At(k), table["sinLo"].At(k), table["cosHi"].At(k), table["cosLo"].At(k)}
}

func turns(k []v) []turn {
	var t []turn
	for _, k := range k {
		t = append(t, turned(k))
	}
	return t
}

// sines is sin of the turn by k and r; sign has its sign, besides bit 4 of k.
func sines(t []turn, r, a, b []v) []v {
	l := each(r, func(i int, r v) v { return addMul(mov(t[i].sl), t[i].cl, r) })
	each(l, func(i int, l v) v { return addMul(l, t[i].c, a[i]) })
	each(l, func(i int, l v) v { return addMul(l, t[i].s, b[i]) })
	each(l, func(i int, l v) v { return addMul(l, t[i].c, r[i]) })
	return each(l, func(i int, l v) v { return add(t[i].s, l) })
}

func cosines(t []turn, r, a, b []v) []v {
	l := each(r, func(i int, r v) v { return subMul(mov(t[i].cl), t[i].sl, r) })
	each(l, func(i int, l v) v { return subMul(l, t[i].s, a[i]) })
	each(l, func(i int, l v) v { return addMul(l, t[i].c, b[i]) })
	each(l, func(i int, l v) v { return subMul(l, t[i].s, r[i]) })
	return each(l, func(i int, l v) v { return add(t[i].c, l) })
}

func sinOf(x []v) [][]v {
	k, r, rl := reduce(absolute(x))
	a, b := tails(r, rl)
	y := sines(turns(k), r, a, b)
	return results(each(y, func(i int, y v) v { return flip(y, xor(shiftLeft(k[i], 59), x[i])) }))
}

func cosOf(x []v) [][]v {
	k, r, rl := reduce(absolute(x))
	a, b := tails(r, rl)
	y := cosines(turns(k), r, a, b)
	return results(each(y, func(i int, y v) v { return flip(y, shiftLeft(k[i], 59)) }))
}

func sinCosOf(x []v) [][]v {
	k, r, rl := reduce(absolute(x))
	a, b := tails(r, rl)
	t := turns(k)
	y, z := sines(t, r, a, b), cosines(t, r, a, b)
	k = each(k, func(_ int, k v) v { return shiftLeft(k, 59) })
	y = each(y, func(i int, y v) v { return flip(y, xor(k[i], x[i])) })
	return results(y, each(z, func(i int, z v) v { return flip(z, k[i]) }))
}

// absolute is |x|; it stops if one is above trigMax.
func absolute(x []v) []v {
	y := each(x, func(_ int, x v) v { return abs(x) })
	var m []mask
	for _, y := range y {
		m = append(m, cmp(y, nle, c(trigMax)))
	}
	stopIf(m...)
	return y
}

// rotated is s + c*(r+t) = h + l; minus makes it s - c*(r+t).
func rotated(s, sl, c, cl, r, t v, minus bool) (h, l v) {
	p := mul(c, r)
	e := msub(mov(c), r, p)
	if minus {
		h = sub(s, p)
		l = add(sub(sub(s, h), p), sub(sl, e))
		subMul(l, cl, r)
		subMul(l, c, t)
	} else {
		h = add(s, p)
		l = add(sub(p, sub(h, s)), add(e, sl))
		addMul(l, cl, r)
		addMul(l, c, t)
	}
	return h, l
}

// normal is h + l with l at most half an ulp of h.
func normal(h, l v) (n, nl v) {
	n = add(h, l)
	return n, sub(l, sub(n, h))
}

func tanOf(x []v) [][]v {
	k, r, rl := reduce(absolute(x))
	t, _ := tail(num["tanPoly"], r, rl)
	a := turns(k)
	return results(each(x, func(i int, x v) v {
		a, r, t := a[i], r[i], t[i]
		n, nl := normal(rotated(a.s, a.sl, a.c, a.cl, r, t, false))
		d, dl := normal(rotated(a.c, a.cl, a.s, a.sl, r, t, true))
		inv := div(load(c(1)), d)
		q := mul(n, inv)
		e := nmadd(d, q, n)
		e = add(e, nmadd(dl, q, nl))
		return flip(madd(e, inv, q), x)
	}))
}
