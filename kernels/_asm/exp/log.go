package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

// split is x = 2^e * m, m in [3/4, 3/2), for a positive finite x; small says that x
// may be subnormal.
func split(x v, small bool) (m, e, j v) {
	if kit.Wide {
		m, e = kit.New(), kit.New()
		VGETMANTPD(U8(3), x, m)
		VGETEXPPD(x, e)
		t := kit.New()
		VGETEXPPD(m, t)
		return m, sub(e, t), shiftRight(m, 48)
	}
	bias := load(c(0x1p52 + 1023))
	if small {
		sub := cmp(x, lt, c(0x1p-1022))
		x = set(mov(x), sub, mul(x, c(0x1p54)))
		bias = set(bias, sub, load(c(0x1p52+1023+54)))
	}
	t := addInt(x, kit.Bits(1<<51))
	e = orInt(shiftRight(t, 52), c(0x1p52))
	VSUBPD(bias, e, e)
	m = andInt(t, kit.Bits(0xfff<<52))
	VPSUBQ(m, x, m)
	VPADDQ(c(1), m, m)
	return m, e, shiftRight(m, 48)
}

// logPair is log(x) = h + l; rel may be nil, and so may double.
func logPair(x, rel, double v, small bool) (h, l v) {
	m, e, j := split(x, small)
	if double != nil {
		e = add(e, double)
	}
	f := msub(table["logRecip"].At(j), m, c(1))
	f2 := mul(f, f)
	p := polynomial(num["logPoly"], f, f2)
	l = addMul(table["logLo"].At(j), e, k("ln2Lo"))
	if rel != nil {
		l = add(l, rel)
	}
	addMul(l, f2, p)
	s := addMul(table["logHi"].At(j), e, k("ln2Hi"))
	h = add(s, f)
	return h, add(l, sub(f, sub(h, s)))
}

// special puts in the logarithms of what is not positive and finite; y becomes
// the result.
func special(y, x v) v {
	if kit.Wide {
		// NaN stays, zero gives -Inf, a negative number NaN, Inf itself.
		VFIXUPIMMPD(U8(0), kit.Bits(0x03530422), x, y)
		return y
	}
	y = set(y, cmp(x, nle, c(0x1.fffffffffffffp1023)), x)
	y = set(y, cmp(x, lt, c(0)), load(kit.Bits(0x7ff8<<48)))
	return set(y, cmp(x, eq, c(0)), load(kit.Bits(0xfff0<<48)))
}

func logOf(x v) v {
	h, l := logPair(x, nil, nil, true)
	return special(add(h, l), x)
}

func log2Of(x v) v { return logBase(x, "log2", num["log2eHi"][0], num["log2eLo"][0], 1, 0) }
func log10Of(x v) v {
	return logBase(x, "log10", num["log10eHi"][0], num["log10eLo"][0], num["log10of2Hi"][0], num["log10of2Lo"][0])
}

func logBase(x v, name string, eHi, eLo, twoHi, twoLo float64) v {
	m, e, j := split(x, true)
	f := msub(table["logRecip"].At(j), m, c(1))
	s := addMul(table[name+"Hi"].At(j), e, c(twoHi))
	l := table[name+"Lo"].At(j)
	if twoLo != 0 {
		addMul(l, e, c(twoLo))
	}
	g := mul(f, c(eHi))
	gl := msub(load(c(eHi)), f, g)
	addMul(gl, f, c(eLo))
	l = add(gl, l)
	f2 := mul(f, f)
	l = addMul(l, f2, polynomial(num[name+"Poly"], f, f2))
	h := add(s, g)
	return special(add(h, add(l, sub(g, sub(h, s)))), x)
}

func log1pOf(x v) v {
	u := add(x, c(1))
	rel := div(sub(x, sub(u, c(1))), u)
	h, l := logPair(u, rel, nil, false)
	return withSign(special(add(h, l), u), x)
}

const tiny, huge = 0x1p-28, 0x1p28

// rootPair is sqrt(x+xl) = q + r.
func rootPair(x, xl v) (q, r v) {
	q = sqrt(x)
	r = add(nmadd(mov(q), q, x), xl)
	return q, div(r, add(q, q))
}

// doubled is 1 in the lanes of the mask, elsewhere 0.
func doubled(m mask) v { return set(load(c(0)), m, load(c(1))) }

func asinhOf(x v) v {
	a := abs(x)
	p := mul(a, a)
	pl := msub(mov(a), a, p)
	s, sl := twoSum(p, load(c(1)))
	q, ql := rootPair(s, add(sl, pl))
	u, ul := twoSum(q, a)
	rel := div(add(ul, ql), u)
	big := cmp(a, gt, c(huge))
	h, l := logPair(set(u, big, a), set(rel, big, load(c(0))), doubled(big), false)
	y := withSign(add(h, l), x)
	y = set(y, cmp(a, lt, c(tiny)), x)
	return set(y, cmp(a, nle, c(0x1.fffffffffffffp1023)), x)
}

func acoshOf(x v) v {
	d := sub(x, c(1))
	s, sl := twoSum(x, load(c(1)))
	p := mul(d, s)
	pl := msub(mov(d), s, p)
	addMul(pl, d, sl)
	q, ql := rootPair(p, pl)
	u, ul := twoSum(x, q)
	rel := div(add(ul, ql), u)
	big := cmp(x, gt, c(huge))
	h, l := logPair(set(u, big, x), set(rel, big, load(c(0))), doubled(big), false)
	y := add(h, l)
	y = set(y, cmp(x, eq, c(1)), load(c(0)))
	y = set(y, cmp(x, lt, c(1)), load(kit.Bits(0x7ff8<<48)))
	return set(y, cmp(x, nle, c(0x1.fffffffffffffp1023)), x)
}

func atanhOf(x v) v {
	a := abs(x)
	one := load(c(1))
	nh, nl := twoSum(one, a)
	dh, dl := twoSum(one, xor(a, kit.Bits(signBit)))
	u, ul := ratio(nh, nl, dh, dl)
	h, l := logPair(u, div(ul, u), nil, false)
	y := withSign(mul(add(h, l), c(0.5)), x)
	y = set(y, cmp(a, eq, c(1)), withSign(load(kit.Bits(exponent)), x))
	y = set(y, cmp(a, gt, c(1)), load(kit.Bits(0x7ff8<<48)))
	return set(y, cmp(a, lt, c(tiny)), x)
}
