package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "nabla/kernels/_asm/kit"
)

// erfTop is that of generic_erf.go.
const erfTop = 5.96

// erf writes the error function, two vectors a turn on AVX-512: they share the
// reading of its many tables.
func erf() {
	inPairs(Map{
		Name: "erf", Of: "ErfOf", Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = ErfOf(x) }", Args: "x",
		Setup: func() {
			columns := append([][]float64{num["erfPoint"], num["erfAt"]}, columnsOf("erfPoly")...)
			setup(nil, []float64{Magic, 0.1875, 8.0 / 3, erfTop})
			erfTable = tableOf("erfRows", columns...)
		},
	}, func(x [][]V) []V { return erfOf(firsts(x)) })
}

// erfTable gives the i-th column for every k.
var erfTable func(k []V) func(i int) []V

func erfOf(x []V) []V {
	var k, d []V
	for _, x := range x {
		t := Min(Abs(x), cr(erfTop))
		d = append(d, t)
		k = append(k, Madd(Sub(t, c(0.1875)), cr(8.0/3), c(Magic)))
	}
	column := erfTable(k)
	for i, p := range column(0) {
		d[i] = Sub(d[i], p)
	}
	at := column(1)
	for i := range at {
		Set(at[i], Compare(at[i], EQ, c(0)), d[i])
	}
	q := evenOdd(func(i int) []V { return column(3 + i) }, 12, d, squares(d))
	for i, p := range column(2) {
		Madd(q[i], d[i], p)
	}
	for i := range q {
		q[i] = WithSign(Madd(q[i], d[i], at[i]), x[i])
	}
	return q
}

// erfcTable and gaussTable give the i-th column for every k.
var erfcTable, gaussTable func(k []V) func(i int) []V

// erfc writes a kernel of erfc's kind.
func erfc(name, of string, cases []func(x []V), body func(x []V) []V) {
	inPairs(Map{
		Name: name, Of: of + "Of", Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = " + of + "Of(x) }", Args: "x",
		Setup: func() {
			setup(nil, []float64{Magic})
			erfcTable = tableOf("erfcRows", columnsOf("erfcxTable")...)
			gaussTable = tableOf("gaussRows", num["gaussHi"], num["gaussLo"])
		},
		Cases: cases,
	}, func(x [][]V) []V { return body(firsts(x)) })
}

// erfcOf is 2^-half erfc(x+xl), half 0 or 1; xl may be nil.
func erfcOf(x, xl []V, half float64) []V {
	one := math.Ldexp(1, int(-half))
	near := func(i int, x V) V {
		z := Mul(x, x)
		q := horner(num["erfNear"], z)
		if xl == nil {
			q = Mul(q, x)
		} else {
			e := Madd(Mul(z, c(0.5)), Copy(c(1)), c(-1))
			e = Mul(Madd(e, z, c(1)), named("twoOverSqrtPiHi"))
			q = Madd(q, x, Mul(e, xl[i]))
		}
		h := Sub(Copy(c(1)), x)
		q = Add(h, Sub(Sub(Sub(Copy(c(1)), h), x), q))
		if half != 0 {
			q = Mul(q, c(one))
		}
		return q
	}
	if Case == 1 {
		return each(x, near)
	}
	a := each(x, func(_ int, x V) V { return Min(Abs(x), Copy(c(28))) })
	t, tl := erfcxParts(a)
	g, gl, n := expMinus(square(a))
	return each(x, func(i int, x V) V {
		h := Mul(g[i], t[i])
		l := Msub(Copy(t[i]), g[i], h)
		AddMul(l, g[i], tl[i])
		AddMul(l, gl[i], Add(t[i], tl[i]))
		left := Compare(x, LT, c(0))
		if xl != nil {
			e := Mul(xl[i], named("twoOverSqrtPiHi"))
			SubMul(l, Flip(e, x), Add(g[i], gl[i]))
		}
		y := scale(Add(h, l), n[i], half)
		Set(y, left, Sub(Copy(c(2*one)), y))
		if Case == 2 {
			return y
		}
		q := near(i, x)
		return Set(y, Compare(Abs(x), LT, c(0.5)), q)
	})
}

// erfcxParts is erfcxParts of generic_erf.go.
func erfcxParts(x []V) (t, l []V) {
	column := erfcTable(each(x, func(_ int, x V) V { return ShiftRight(x, 51) }))
	d := column(0)
	d = each(x, func(i int, x V) V { return Sub(x, d[i]) })
	t, slope := column(1), column(2)
	l = each(d, func(i int, d V) V {
		at := t[i]
		t[i] = Madd(Copy(d), slope[i], at)
		return Madd(slope[i], d, Sub(at, t[i]))
	})
	d2 := squares(d)
	p := evenOdd(func(i int) []V { return column(3 + i) }, 16, d, d2)
	for i := range p {
		l[i] = AddMul(l[i], d2[i], p[i])
	}
	return t, l
}

// square is x*x = y + yl.
func square(x []V) (y, yl []V) {
	y = squares(x)
	return y, each(x, func(i int, x V) V { return Msub(Copy(x), x, y[i]) })
}

// expMinus is exp(-(y+yl)) = 2^floor(n/16) * (t + l), n with Magic added.
func expMinus(y, yl []V) (t, l, n []V) {
	n = each(y, func(_ int, y V) V { return Madd(Copy(c(-num["gaussInv"][0])), y, c(Magic)) })
	nf := each(n, func(_ int, n V) V { return Sub(n, c(Magic)) })
	s := each(y, func(i int, y V) V {
		r, rl := NegSubMul(y, nf[i], named("gaussLn2Hi")), NegSubMul(yl[i], nf[i], named("gaussLn2Lo"))
		s := Add(r, rl)
		yl[i] = Sub(rl, Sub(s, r))
		return s
	})
	s2 := squares(s)
	p := evenOdd(same("gaussPoly", len(s)), 6, s, s2)
	column := gaussTable(n)
	t, l = column(0), column(1)
	for i := range l {
		AddMul(l[i], t[i], Madd(p[i], s2[i], yl[i]))
		AddMul(l[i], t[i], s[i])
	}
	return t, l, n
}

// scale is y * 2^(floor(n/16) - half), n with Magic added.
func scale(y, n V, half float64) V {
	if Wide {
		z := New()
		VSCALEFPD(Madd(Sub(n, c(Magic)), Copy(c(1.0/16)), c(-half)), y, z)
		return z
	}
	// In the place of an exponent; two steps, the first exact.
	e := ShiftLeft(AndInt(n, Word(^uint64(15))), 48)
	if half != 0 {
		e = SubInt(e, Word(1<<52))
	}
	if Case > 0 { // y and the result are normal
		return AddInt(y, e)
	}
	first := HalfExponent(e)
	rest := SubInt(e, first)
	return Mul(Mul(y, AddInt(first, c(1))), AddInt(rest, c(1)))
}

func normCdfOf(x []V) []V {
	x = clamp(x, 40)
	var z, zl []V
	for _, x := range x {
		p := Mul(x, named("sqrtHalfHi"))
		l := Msub(Copy(named("sqrtHalfHi")), x, p)
		AddMul(l, x, named("sqrtHalfLo"))
		z, zl = append(z, Xor(p, Word(SignBit))), append(zl, Xor(l, Word(SignBit)))
	}
	return erfcOf(z, zl, 1)
}

func gaussOf(x []V) []V {
	t, l, n := expMinus(square(clamp(x, 28)))
	return each(t, func(i int, t V) V { return scale(Add(t, l[i]), n[i], 0) })
}

func normPdfOf(x []V) []V {
	y, yl := square(clamp(x, 39.6))
	half := func(_ int, x V) V { return Mul(x, c(0.5)) }
	t, l, n := expMinus(each(y, half), each(yl, half))
	return each(t, func(i int, t V) V {
		h := Mul(t, named("rootHi"))
		e := Msub(Copy(named("rootHi")), t, h)
		AddMul(e, t, named("rootLo"))
		AddMul(e, l[i], named("rootHi"))
		return scale(Add(h, e), n[i], 0)
	})
}
