package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "nabla/kernels/_asm/kit"
)

// split is x = 2^e * m, m in [3/4, 3/2), for a positive finite x; small says that x
// may be subnormal.
func split(x V, small bool) (m, e, j V) {
	if Wide {
		one := func(op func(...Op), x V) V {
			z := New()
			Do(func() { op(x, z) }, x, z)
			return z
		}
		m = one(func(o ...Op) { VGETMANTPD(U8(3), o[0], o[1]) }, x)
		return m, Sub(one(VGETEXPPD, x), one(VGETEXPPD, m)), ShiftRight(m, 48)
	}
	bias := Copy(c(0x1p52 + 1023))
	if small && Case == 0 {
		sub := Compare(x, LT, c(0x1p-1022))
		x = Set(Copy(x), sub, Mul(x, c(0x1p54)))
		bias = Set(bias, sub, c(0x1p52+1023+54))
	}
	t := AddInt(x, Word(1<<51))
	e = Sub(OrInt(ShiftRight(t, 52), c(0x1p52)), bias)
	m = AddInt(SubInt(x, AndInt(t, Word(0xfff<<52))), c(1))
	if Case > 0 {
		return m, e, ShiftRight(x, 48) // the same four bits, earlier
	}
	return m, e, ShiftRight(m, 48)
}

// logPair is log(x) = h + l; rel may be nil, and so may double.
func logPair(x, rel, double V, small bool) (h, l V) {
	m, e, j := split(x, small)
	if double != nil {
		e = Add(e, double)
	}
	f := Msub(lookup("logRecip", j), m, c(1))
	f2 := Mul(f, f)
	p := polynomial(num["logPoly"], f, f2)
	l = AddMul(lookup("logLo", j), e, named("ln2Lo"))
	if rel != nil {
		l = Add(l, rel)
	}
	AddMul(l, f2, p)
	s := AddMul(lookup("logHi", j), e, named("ln2Hi"))
	h = Add(s, f)
	return h, Add(l, Sub(f, Sub(h, s)))
}

// special puts in the logarithms of what is not positive and finite; y becomes
// the result.
func special(y, x V) V {
	if Case > 0 {
		return y
	}
	if Wide {
		// NaN stays, zero gives -Inf, a negative number NaN, Inf itself.
		Do(func() { VFIXUPIMMPD(U8(0), Word(0x03530422), x, y) }, x, y)
		return y
	}
	y = Set(y, Compare(x, NLE, c(0x1.fffffffffffffp1023)), x)
	y = Set(y, Compare(x, LT, c(0)), Word(0x7ff8<<48))
	return Set(y, Compare(x, EQ, c(0)), Word(0xfff0<<48))
}

func logOf(x V) V {
	h, l := logPair(x, nil, nil, true)
	return special(Add(h, l), x)
}

// logTwinOf is logTwinOf of generic_log.go.
func logTwinOf(x V) []V {
	h, l := logPair(x, nil, nil, true)
	sum := Add(h, l)
	l = Sub(l, Sub(sum, h))
	y := special(sum, x)
	return []V{y, Set(Copy(c(0)), Compare(Sub(y, y), EQ, c(0)), l)}
}

func log2Of(x V) V { return logBase(x, "log2", num["log2eHi"][0], num["log2eLo"][0], 1, 0) }
func log10Of(x V) V {
	return logBase(x, "log10", num["log10eHi"][0], num["log10eLo"][0], num["log10of2Hi"][0], num["log10of2Lo"][0])
}

func logBase(x V, name string, eHi, eLo, twoHi, twoLo float64) V {
	m, e, j := split(x, true)
	f := Msub(lookup("logRecip", j), m, c(1))
	s := AddMul(lookup(name+"Hi", j), e, c(twoHi))
	l := lookup(name+"Lo", j)
	if twoLo != 0 {
		AddMul(l, e, c(twoLo))
	}
	g := Mul(f, c(eHi))
	gl := Msub(Copy(c(eHi)), f, g)
	AddMul(gl, f, c(eLo))
	l = Add(gl, l)
	f2 := Mul(f, f)
	l = AddMul(l, f2, polynomial(num[name+"Poly"], f, f2))
	h := Add(s, g)
	return special(Add(h, Add(l, Sub(g, Sub(h, s)))), x)
}

func log1pOf(x V) V { y, _ := log1pTwin(x); return y }

// log1pTwin is log1p(x) and its slope 1/(1+x), NaN below -1.
func log1pTwin(x V) (y, d V) {
	u := Add(x, c(1))
	w := Sub(u, c(1))
	low := Sub(x, w)
	d = Div(c(1), u)
	h, l := logPair(u, Nmadd(Mul(w, d), low, low), nil, false)
	if Case > 0 {
		return WithSign(Add(h, l), x), d
	}
	if Wide { // NaN for what is negative
		Do(func() { VFIXUPIMMPD(U8(0), Word(0x03030000), u, d) }, u, d)
	} else {
		d = Set(d, Compare(u, LT, c(0)), Word(0x7ff8<<48))
	}
	return WithSign(special(Add(h, l), u), x), d
}

const tiny, huge = 0x1p-28, 0x1p28

// rootPair is sqrt(x+xl) = q + r.
func rootPair(x, xl V) (q, r V) {
	q = Sqrt(x)
	r = Add(Nmadd(Copy(q), q, x), xl)
	return q, Div(r, Add(q, q))
}

// doubled is 1 in the lanes of the mask, elsewhere 0.
func doubled(m Bool) V { return Set(Copy(c(0)), m, Copy(c(1))) }

func asinhOf(x V) V {
	a := Abs(x)
	p := Mul(a, a)
	pl := Msub(Copy(a), a, p)
	s, sl := twoSum(p, c(1))
	q, ql := rootPair(s, Add(sl, pl))
	u, ul := twoSum(q, a)
	rel := Div(Add(ul, ql), u)
	if Case > 0 {
		h, l := logPair(u, rel, nil, false)
		return WithSign(Add(h, l), x)
	}
	big := Compare(a, GT, c(huge))
	h, l := logPair(Set(u, big, a), Set(rel, big, c(0)), doubled(big), false)
	y := WithSign(Add(h, l), x)
	y = Set(y, Compare(a, LT, c(tiny)), x)
	return Set(y, Compare(a, NLE, c(0x1.fffffffffffffp1023)), x)
}

func acoshOf(x V) V {
	d := Sub(x, c(1))
	s, sl := twoSum(x, c(1))
	p := Mul(d, s)
	pl := Msub(Copy(d), s, p)
	AddMul(pl, d, sl)
	q, ql := rootPair(p, pl)
	u, ul := twoSum(x, q)
	rel := Div(Add(ul, ql), u)
	if Case > 0 {
		h, l := logPair(u, rel, nil, false)
		return Add(h, l)
	}
	big := Compare(x, GT, c(huge))
	h, l := logPair(Set(u, big, x), Set(rel, big, c(0)), doubled(big), false)
	y := Add(h, l)
	y = Set(y, Compare(x, EQ, c(1)), c(0))
	y = Set(y, Compare(x, LT, c(1)), Word(0x7ff8<<48))
	return Set(y, Compare(x, NLE, c(0x1.fffffffffffffp1023)), x)
}

func atanhOf(x V) V {
	a := Abs(x)
	nh, nl := twoSum(c(1), a)
	dh, dl := twoSum(c(1), Negative(a))
	u, ul := ratio(nh, nl, dh, dl, Div(c(1), dh))
	h, l := logPair(u, Div(ul, u), nil, false)
	y := WithSign(Mul(Add(h, l), c(0.5)), x)
	if Case > 0 {
		return y
	}
	y = Set(y, Compare(a, EQ, c(1)), WithSign(Copy(Word(exponent)), x))
	y = Set(y, Compare(a, GT, c(1)), Word(0x7ff8<<48))
	return Set(y, Compare(a, LT, c(tiny)), x)
}
