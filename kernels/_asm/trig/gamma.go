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
	}{{"lgammaBy", "lgammaQuarters", sums(lgammaPair)}, {"digammaBy", "digammaQuarters", sums(digammaPair)}} {
		inPairs(kit.Map{
			Name: f.name, Args: "x, log, rest",
			Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = " + f.name + "Of(x, log[i], rest[i]) }\n\n" +
				"up to the first turn with an argument that is not from gammaLeast to gammaMost; it returns how many it did.",
			Setup: gammaSetup(f.table),
			Stop:  gammaStop,
		}, f.body)
	}
	for _, f := range []struct {
		name, of, table string
		body            func(x [][]v) (h, l []v)
	}{{"lgammaPairBy", "lgammaPair", "lgammaQuarters", lgammaPair}, {"digammaPairBy", "digammaPair", "digammaQuarters", digammaPair}} {
		sideBySide(kit.Map{
			Name: f.name, Dst: "log, rest", Args: "x, log, rest",
			Doc: "\tfor i, x := range x[:len(log)] { log[i], rest[i] = " + f.of + "(x, log[i], rest[i]) }\n\n" +
				"up to the first turn with an argument that is not from gammaLeast to gammaMost; it returns how many it did.",
			Setup: gammaSetup(f.table),
			Stop:  gammaStop,
		}, func(x [][]v) (y [][]v) {
			h, l := f.body(x)
			for i, h := range h {
				y = append(y, []v{h, l[i]})
			}
			return y
		})
	}
}

func gammaSetup(table string) func() {
	return func() {
		setup(nil, nil)
		quarters = tableOf(table, columnsOf(table)...)
	}
}

// gammaStop stops at what is not from gammaLeast to gammaMost.
func gammaStop(x []v) { stopIf(cmp(x[0], nle, c(gammaMost)), cmp(x[0], lt, c(gammaLeast))) }

// sums are h + l of a function of pairs.
func sums(pair func(x [][]v) (h, l []v)) func(x [][]v) []v {
	return func(x [][]v) []v {
		h, l := pair(x)
		return each(h, func(i int, h v) v { return add(h, l[i]) })
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

// far takes h + l, for numbers below gammaFarFrom, or the series that follows.
func far(x, h, l, seriesH, seriesL v) (v, v) {
	beyond := cmp(x, ge, c(gammaFarFrom))
	return set(h, beyond, seriesH), set(l, beyond, seriesL)
}

func lgammaPair(x [][]v) (h, l []v) {
	shift, t, e := below(x)
	h, l = quarterAt(t, e)
	for i, x := range x {
		x, log, rest := x[0], x[1], x[2]
		a, two := sub(x, sub(load(c(1)), shift[i])), sub(load(c(2)), shift[i])
		b := sub(x, two)
		bl := sub(x, add(b, two))
		p := mul(a, b)
		pl := msub(mov(a), b, p)
		addMul(pl, a, bl)
		y, yl := product(p, pl, h[i], l[i])
		h[i], l[i] = less(x, y, yl, log, rest)
	}
	z := each(t, func(i int, _ v) v { return div(load(c(1)), x[i][0]) })
	z2 := squares(z)
	series := evenOdd(same("stirling", len(z)), 12, z2, squares(z2))
	for i, x := range x {
		x, log, rest := x[0], x[1], x[2]
		logLess := sub(log, c(1))
		lost := add(sub(sub(log, logLess), c(1)), rest)
		w := sub(x, c(0.5))
		wl := sub(sub(x, w), c(0.5))
		p := mul(logLess, w)
		pl := msub(mov(logLess), w, p)
		addMul(pl, lost, w)
		addMul(pl, logLess, wl)
		pl = add(pl, num1("halfLog2PiLo"))
		addMul(pl, z[i], series[i])
		constant := num["halfLog2PiHi"][0] - 0.5
		s := add(p, c(constant))
		h[i], l[i] = far(x, h[i], l[i], s, add(sub(load(c(constant)), sub(s, p)), pl))
	}
	return h, l
}

func digammaPair(x [][]v) (h, l []v) {
	_, t, e := below(x)
	h, l = quarterAt(t, e)
	z := each(t, func(i int, _ v) v { return div(load(c(1)), x[i][0]) })
	for i, x := range x {
		a, al := twoSum(t[i], load(c(-num["digammaZero"][0])))
		al = add(sub(al, num1("digammaZeroLo")), e[i])
		y, yl := product(a, al, h[i], l[i])
		h[i], l[i] = less(x[0], y, yl, z[i], mul(nmadd(mov(z[i]), x[0], c(1)), z[i]))
	}
	z2 := squares(z)
	series := evenOdd(same("digammaSeries", len(z)), 12, z2, squares(z2))
	for i, x := range x {
		x, log, rest := x[0], x[1], x[2]
		u := mul(z[i], c(-0.5))
		s := add(log, u)
		h[i], l[i] = far(x, h[i], l[i], s, add(sub(u, sub(s, log)), subMul(mov(rest), z2[i], series[i])))
	}
	return h, l
}
