package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"nabla/kernels/_asm/kit"
)

// erfTop is that of generic_erf.go.
const erfTop = 5.96

// erf writes the error function, two vectors a turn on AVX-512: they share the
// reading of its many tables.
func erf() {
	inPairs(kit.Map{
		Name: "erf", Of: "ErfOf", Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = ErfOf(x) }", Args: "x",
		Setup: func() {
			columns := append([][]float64{num["erfPoint"], num["erfAt"]}, columnsOf("erfPoly")...)
			setup(nil, []float64{magic, 0.1875, 8.0 / 3, erfTop})
			erfTable = tableOf("erfRows", columns...)
		},
	}, func(x [][]v) []v { return erfOf(firsts(x)) })
}

// erfTable gives the i-th column for every k.
var erfTable func(k []v) func(i int) []v

func erfOf(x []v) []v {
	var k, d []v
	for _, x := range x {
		t := min(abs(x), cr(erfTop))
		d = append(d, t)
		k = append(k, madd(sub(t, c(0.1875)), cr(8.0/3), c(magic)))
	}
	column := erfTable(k)
	for i, p := range column(0) {
		d[i] = sub(d[i], p)
	}
	at := column(1)
	for i := range at {
		set(at[i], cmp(at[i], eq, c(0)), d[i])
	}
	q := evenOdd(func(i int) []v { return column(3 + i) }, 12, d, squares(d))
	for i, p := range column(2) {
		madd(q[i], d[i], p)
	}
	for i := range q {
		q[i] = withSign(madd(q[i], d[i], at[i]), x[i])
	}
	return q
}

// erfcTable and gaussTable give the i-th column for every k.
var erfcTable, gaussTable func(k []v) func(i int) []v

// erfc writes a kernel of erfc's kind.
func erfc(name, of string, cases []func(x []v), body func(x []v) []v) {
	inPairs(kit.Map{
		Name: name, Of: of + "Of", Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = " + of + "Of(x) }", Args: "x",
		Setup: func() {
			setup(nil, []float64{magic})
			erfcTable = tableOf("erfcRows", columnsOf("erfcxTable")...)
			gaussTable = tableOf("gaussRows", num["gaussHi"], num["gaussLo"])
		},
		Cases: cases,
	}, func(x [][]v) []v { return body(firsts(x)) })
}

// erfcOf is 2^-half erfc(x+xl), half 0 or 1; xl may be nil.
func erfcOf(x, xl []v, half float64) []v {
	one := math.Ldexp(1, int(-half))
	near := func(i int, x v) v {
		z := mul(x, x)
		q := horner(num["erfNear"], z)
		if xl == nil {
			q = mul(q, x)
		} else {
			e := madd(mul(z, c(0.5)), load(c(1)), c(-1))
			e = mul(madd(e, z, c(1)), num1("twoOverSqrtPiHi"))
			q = madd(q, x, mul(e, xl[i]))
		}
		h := sub(load(c(1)), x)
		q = add(h, sub(sub(sub(load(c(1)), h), x), q))
		if half != 0 {
			q = mul(q, c(one))
		}
		return q
	}
	if kit.Case == 1 {
		return each(x, near)
	}
	a := each(x, func(_ int, x v) v { return min(abs(x), load(c(28))) })
	t, tl := erfcxParts(a)
	g, gl, n := expMinus(square(a))
	return each(x, func(i int, x v) v {
		h := mul(g[i], t[i])
		l := msub(mov(t[i]), g[i], h)
		addMul(l, g[i], tl[i])
		addMul(l, gl[i], add(t[i], tl[i]))
		left := cmp(x, lt, c(0))
		if xl != nil {
			e := mul(xl[i], num1("twoOverSqrtPiHi"))
			subMul(l, flip(e, x), add(g[i], gl[i]))
		}
		y := scale(add(h, l), n[i], half)
		set(y, left, sub(load(c(2*one)), y))
		if kit.Case == 2 {
			return y
		}
		q := near(i, x)
		return set(y, cmp(abs(x), lt, c(0.5)), q)
	})
}

// erfcxParts is erfcxParts of generic_erf.go.
func erfcxParts(x []v) (t, l []v) {
	column := erfcTable(each(x, func(_ int, x v) v { return shiftRight(x, 51) }))
	d := column(0)
	d = each(x, func(i int, x v) v { return sub(x, d[i]) })
	t, slope := column(1), column(2)
	l = each(d, func(i int, d v) v {
		at := t[i]
		t[i] = madd(mov(d), slope[i], at)
		return madd(slope[i], d, sub(at, t[i]))
	})
	d2 := squares(d)
	p := evenOdd(func(i int) []v { return column(3 + i) }, 16, d, d2)
	for i := range p {
		l[i] = addMul(l[i], d2[i], p[i])
	}
	return t, l
}

// square is x*x = y + yl.
func square(x []v) (y, yl []v) {
	y = squares(x)
	return y, each(x, func(i int, x v) v { return msub(mov(x), x, y[i]) })
}

// expMinus is exp(-(y+yl)) = 2^floor(n/16) * (t + l), n with magic added.
func expMinus(y, yl []v) (t, l, n []v) {
	n = each(y, func(_ int, y v) v { return madd(load(c(-num["gaussInv"][0])), y, c(magic)) })
	nf := each(n, func(_ int, n v) v { return sub(n, c(magic)) })
	s := each(y, func(i int, y v) v {
		r, rl := negSubMul(y, nf[i], num1("gaussLn2Hi")), negSubMul(yl[i], nf[i], num1("gaussLn2Lo"))
		s := add(r, rl)
		yl[i] = sub(rl, sub(s, r))
		return s
	})
	s2 := squares(s)
	p := evenOdd(same("gaussPoly", len(s)), 6, s, s2)
	column := gaussTable(n)
	t, l = column(0), column(1)
	for i := range l {
		addMul(l[i], t[i], madd(p[i], s2[i], yl[i]))
		addMul(l[i], t[i], s[i])
	}
	return t, l, n
}

// scale is y * 2^(floor(n/16) - half), n with magic added.
func scale(y, n v, half float64) v {
	if kit.Wide {
		z := kit.New()
		VSCALEFPD(madd(sub(n, c(magic)), load(c(1.0/16)), c(-half)), y, z)
		return z
	}
	// In the place of an exponent; two steps, the first exact.
	e := shiftLeft(andInt(n, bits(^uint64(15))), 48)
	if half != 0 {
		e = subInt(e, bits(1<<52))
	}
	if kit.Case > 0 { // y and the result are normal
		return addInt(y, e)
	}
	first := kit.HalfExponent(e)
	rest := subInt(e, first)
	return mul(mul(y, addInt(first, c(1))), addInt(rest, c(1)))
}

func normCdfOf(x []v) []v {
	x = clamp(x, 40)
	var z, zl []v
	for _, x := range x {
		p := mul(x, num1("sqrtHalfHi"))
		l := msub(load(num1("sqrtHalfHi")), x, p)
		addMul(l, x, num1("sqrtHalfLo"))
		z, zl = append(z, xor(p, bits(signBit))), append(zl, xor(l, bits(signBit)))
	}
	return erfcOf(z, zl, 1)
}

func gaussOf(x []v) []v {
	t, l, n := expMinus(square(clamp(x, 28)))
	return each(t, func(i int, t v) v { return scale(add(t, l[i]), n[i], 0) })
}

func normPdfOf(x []v) []v {
	y, yl := square(clamp(x, 39.6))
	half := func(_ int, x v) v { return mul(x, c(0.5)) }
	t, l, n := expMinus(each(y, half), each(yl, half))
	return each(t, func(i int, t v) v {
		h := mul(t, num1("rootHi"))
		e := msub(load(num1("rootHi")), t, h)
		addMul(e, t, num1("rootLo"))
		addMul(e, l[i], num1("rootHi"))
		return scale(add(h, e), n[i], 0)
	})
}
