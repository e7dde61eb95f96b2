package main

import . "nabla/kernels/_asm/kit"

// Those of generic_lgamma.go.
const (
	gammaLeast, gammaMost = 0x1p-1000, 0x1p1000
	gammaHalf             = 0.5
	gammaFarFrom          = 8
)

// quarters gives the i-th column for every k.
var quarters func(k []V) func(i int) []V

// gammas writes what is the last part of lgamma and digamma, of vectors {x, log, rest}.
func gammas() {
	for _, f := range []struct {
		name, table string
		body        func(x [][]V) []V
	}{{"lgammaBy", "lgammaQuarters", sums(lgammaPair)}, {"digammaBy", "digammaQuarters", sums(digammaPair)}} {
		inPairs(Map{
			Name: f.name, Args: "x, log, rest",
			Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = " + f.name + "Of(x, log[i], rest[i]) }\n\n" +
				"up to the first turn with an argument that is not from gammaLeast to gammaMost; it returns how many it did.",
			Setup: gammaSetup(f.table),
			Stop:  gammaStop,
		}, f.body)
	}
	for _, f := range []struct {
		name, of, table string
		body            func(x [][]V) (h, l []V)
	}{{"lgammaPairBy", "lgammaPair", "lgammaQuarters", lgammaPair}, {"digammaPairBy", "digammaPair", "digammaQuarters", digammaPair}} {
		sideBySide(Map{
			Name: f.name, Dst: "log, rest", Args: "x, log, rest",
			Doc: "\tfor i, x := range x[:len(log)] { log[i], rest[i] = " + f.of + "(x, log[i], rest[i]) }\n\n" +
				"up to the first turn with an argument that is not from gammaLeast to gammaMost; it returns how many it did.",
			Setup: gammaSetup(f.table),
			Stop:  gammaStop,
		}, func(x [][]V) (y [][]V) {
			h, l := f.body(x)
			for i, h := range h {
				y = append(y, []V{h, l[i]})
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
func gammaStop(x []V) { StopIf(Compare(x[0], NLE, c(gammaMost)), Compare(x[0], LT, c(gammaLeast))) }

// sums are h + l of a function of pairs.
func sums(pair func(x [][]V) (h, l []V)) func(x [][]V) []V {
	return func(x [][]V) []V {
		h, l := pair(x)
		return each(h, func(i int, h V) V { return Add(h, l[i]) })
	}
}

// quarterAt is quarterAt of generic_lgamma.go, at t+e.
func quarterAt(t, e []V) (h, l []V) {
	column := quarters(each(t, func(_ int, t V) V { return ShiftRight(t, 50) }))
	d := each(column(0), func(i int, middle V) V { return Add(Sub(t[i], middle), e[i]) })
	q := evenOdd(func(i int) []V { return column(3 + i) }, 14, d, squares(d))
	at := column(1)
	l = each(column(2), func(i int, l V) V { return AddMul(l, d[i], q[i]) })
	h = each(at, func(i int, at V) V { return Add(at, l[i]) })
	return h, each(l, func(i int, l V) V { return Sub(l, Sub(h[i], at[i])) })
}

// below are 1 in the lanes of numbers below gammaHalf, which the recurrence moves, and 0 elsewhere; t + e is where.
func below(x [][]V) (shift, t, e []V) {
	for _, x := range x {
		s := Set(Copy(c(0)), Compare(x[0], LT, c(gammaHalf)), Copy(c(1)))
		at := Add(x[0], s)
		shift, t, e = append(shift, s), append(t, at), append(e, Sub(x[0], Sub(at, s)))
	}
	return shift, t, e
}

// product is (a+al)*(h+l) = y + yl.
func product(a, al, h, l V) (y, yl V) {
	y = Mul(a, h)
	yl = Msub(Copy(a), h, y)
	AddMul(yl, a, l)
	return y, AddMul(yl, al, h)
}

// less makes y + yl, where x is below gammaHalf, what is left of it without q + r.
func less(x, y, yl, q, r V) (V, V) {
	small := Compare(x, LT, c(gammaHalf))
	s := Sub(y, q)
	sl := Add(Sub(y, Add(s, q)), Sub(yl, r))
	return Set(y, small, s), Set(yl, small, sl)
}

// far takes h + l, for numbers below gammaFarFrom, or the series that follows.
func far(x, h, l, seriesH, seriesL V) (V, V) {
	beyond := Compare(x, GE, c(gammaFarFrom))
	return Set(h, beyond, seriesH), Set(l, beyond, seriesL)
}

func lgammaPair(x [][]V) (h, l []V) {
	shift, t, e := below(x)
	h, l = quarterAt(t, e)
	for i, x := range x {
		x, log, rest := x[0], x[1], x[2]
		a, two := Sub(x, Sub(Copy(c(1)), shift[i])), Sub(Copy(c(2)), shift[i])
		b := Sub(x, two)
		bl := Sub(x, Add(b, two))
		p := Mul(a, b)
		pl := Msub(Copy(a), b, p)
		AddMul(pl, a, bl)
		y, yl := product(p, pl, h[i], l[i])
		h[i], l[i] = less(x, y, yl, log, rest)
	}
	z := each(t, func(i int, _ V) V { return Div(Copy(c(1)), x[i][0]) })
	z2 := squares(z)
	series := evenOdd(same("stirling", len(z)), 12, z2, squares(z2))
	for i, x := range x {
		x, log, rest := x[0], x[1], x[2]
		logLess := Sub(log, c(1))
		lost := Add(Sub(Sub(log, logLess), c(1)), rest)
		w := Sub(x, c(0.5))
		wl := Sub(Sub(x, w), c(0.5))
		p := Mul(logLess, w)
		pl := Msub(Copy(logLess), w, p)
		AddMul(pl, lost, w)
		AddMul(pl, logLess, wl)
		pl = Add(pl, named("halfLog2PiLo"))
		AddMul(pl, z[i], series[i])
		constant := num["halfLog2PiHi"][0] - 0.5
		s := Add(p, c(constant))
		h[i], l[i] = far(x, h[i], l[i], s, Add(Sub(Copy(c(constant)), Sub(s, p)), pl))
	}
	return h, l
}

func digammaPair(x [][]V) (h, l []V) {
	_, t, e := below(x)
	h, l = quarterAt(t, e)
	z := each(t, func(i int, _ V) V { return Div(Copy(c(1)), x[i][0]) })
	for i, x := range x {
		a, al := twoSum(t[i], Copy(c(-num["digammaZero"][0])))
		al = Add(Sub(al, named("digammaZeroLo")), e[i])
		y, yl := product(a, al, h[i], l[i])
		h[i], l[i] = less(x[0], y, yl, z[i], Mul(Nmadd(Copy(z[i]), x[0], c(1)), z[i]))
	}
	z2 := squares(z)
	series := evenOdd(same("digammaSeries", len(z)), 12, z2, squares(z2))
	for i, x := range x {
		x, log, rest := x[0], x[1], x[2]
		u := Mul(z[i], c(-0.5))
		s := Add(log, u)
		h[i], l[i] = far(x, h[i], l[i], s, Add(Sub(u, Sub(s, log)), SubMul(Copy(rest), z2[i], series[i])))
	}
	return h, l
}
