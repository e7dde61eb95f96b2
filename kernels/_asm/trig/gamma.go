package main

import "nabla/kernels/_asm/kit"

// Those of generic_lgamma.go.
const (
	gammaLeast, gammaMost = 0x1p-1000, 0x1p1000
	gammaHalf             = 0.5
	gammaFarFrom          = 8
)

// quarters gives the i-th column for every k.
var quarters func(k []v) func(i int) []v

// gammas writes what is the last part of lgamma and digamma, of vectors {x, log, rest}.
func gammas() {
	for _, f := range []struct {
		name, table string
		body        func(x [][]v) []v
	}{{"lgammaBy", "lgammaQuarters", lgammaOf}, {"digammaBy", "digammaQuarters", digammaOf}} {
		inPairs(kit.Map{
			Name: f.name, Args: "x, log, rest",
			Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = " + f.name + "Of(x, log[i], rest[i]) }\n\n" +
				"up to the first turn with an argument that is not from gammaLeast to gammaMost; it returns how many it did.",
			Setup: func() {
				setup(nil, nil)
				quarters = tableOf(f.table, columnsOf(f.table)...)
			},
			Stop: func(x []v) { stopIf(cmp(x[0], nle, c(gammaMost)), cmp(x[0], lt, c(gammaLeast))) },
		}, f.body)
	}
}

// quarterAt is quarterAt of generic_lgamma.go, at t+e.
func quarterAt(t, e []v) (h, l []v) {
	column := quarters(each(t, func(_ int, t v) v { return shiftRight(t, 50) }))
	d := each(column(0), func(i int, middle v) v { return add(sub(t[i], middle), e[i]) })
	q := evenOdd(func(i int) []v { return column(3 + i) }, 14, d, squares(d))
	at := column(1)
	l = each(column(2), func(i int, l v) v { return addMul(l, d[i], q[i]) })
	h = each(at, func(i int, at v) v { return add(at, l[i]) })
	return h, each(l, func(i int, l v) v { return sub(l, sub(h[i], at[i])) })
}

// below are 1 in the lanes of numbers below gammaHalf, which the recurrence moves, and 0 elsewhere; t + e is where.
func below(x [][]v) (shift, t, e []v) {
	for _, x := range x {
		s := set(load(c(0)), cmp(x[0], lt, c(gammaHalf)), load(c(1)))
		at := add(x[0], s)
		shift, t, e = append(shift, s), append(t, at), append(e, sub(x[0], sub(at, s)))
	}
	return shift, t, e
}

// product is (a+al)*(h+l) = y + yl.
func product(a, al, h, l v) (y, yl v) {
	y = mul(a, h)
	yl = msub(mov(a), h, y)
	addMul(yl, a, l)
	return y, addMul(yl, al, h)
}

// less makes y + yl, where x is below gammaHalf, what is left of it without q + r.
func less(x, y, yl, q, r v) (v, v) {
	small := cmp(x, lt, c(gammaHalf))
	s := sub(y, q)
	sl := add(sub(y, add(s, q)), sub(yl, r))
	return set(y, small, s), set(yl, small, sl)
}

func lgammaOf(x [][]v) []v {
	shift, t, e := below(x)
	h, l := quarterAt(t, e)
	near := each(h, func(i int, h v) v {
		x, log, rest := x[i][0], x[i][1], x[i][2]
		a, two := sub(x, sub(load(c(1)), shift[i])), sub(load(c(2)), shift[i])
		b := sub(x, two)
		bl := sub(x, add(b, two))
		p := mul(a, b)
		pl := msub(mov(a), b, p)
		addMul(pl, a, bl)
		y, yl := product(p, pl, h, l[i])
		y, yl = less(x, y, yl, log, rest)
		return add(y, yl)
	})
	z := each(t, func(i int, _ v) v { return div(load(c(1)), x[i][0]) })
	z2 := squares(z)
	series := evenOdd(same("stirling", len(z)), 12, z2, squares(z2))
	return each(near, func(i int, near v) v {
		x, log, rest := x[i][0], x[i][1], x[i][2]
		h := sub(log, c(1))
		l := add(sub(sub(log, h), c(1)), rest)
		w := sub(x, c(0.5))
		wl := sub(sub(x, w), c(0.5))
		p := mul(h, w)
		pl := msub(mov(h), w, p)
		addMul(pl, l, w)
		addMul(pl, h, wl)
		pl = add(pl, num1("halfLog2PiLo"))
		addMul(pl, z[i], series[i])
		constant := num["halfLog2PiHi"][0] - 0.5
		s := add(p, c(constant))
		y := add(s, add(sub(load(c(constant)), sub(s, p)), pl))
		return set(near, cmp(x, ge, c(gammaFarFrom)), y)
	})
}

func digammaOf(x [][]v) []v {
	_, t, e := below(x)
	h, l := quarterAt(t, e)
	z := each(t, func(i int, _ v) v { return div(load(c(1)), x[i][0]) })
	near := each(h, func(i int, h v) v {
		x := x[i][0]
		a, al := twoSum(t[i], load(c(-num["digammaZero"][0])))
		al = add(sub(al, num1("digammaZeroLo")), e[i])
		y, yl := product(a, al, h, l[i])
		y, yl = less(x, y, yl, z[i], mul(nmadd(mov(z[i]), x, c(1)), z[i]))
		return add(y, yl)
	})
	z2 := squares(z)
	series := evenOdd(same("digammaSeries", len(z)), 12, z2, squares(z2))
	return each(near, func(i int, near v) v {
		x, log, rest := x[i][0], x[i][1], x[i][2]
		u := mul(z[i], c(-0.5))
		s := add(log, u)
		y := add(s, add(sub(u, sub(s, log)), subMul(mov(rest), z2[i], series[i])))
		return set(near, cmp(x, ge, c(gammaFarFrom)), y)
	})
}
