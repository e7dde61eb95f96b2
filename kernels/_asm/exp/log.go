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
		one := func(op func(...Op), x v) v {
			z := kit.New()
			kit.Do(func() { op(x, z) }, x, z)
			return z
		}
		m = one(func(o ...Op) { VGETMANTPD(U8(3), o[0], o[1]) }, x)
		return m, sub(one(VGETEXPPD, x), one(VGETEXPPD, m)), shiftRight(m, 48)
	}
	bias := load(c(0x1p52 + 1023))
	if small && kit.Case == 0 {
		sub := compare(x, lt, c(0x1p-1022))
		x = set(load(x), sub, mul(x, c(0x1p54)))
		bias = set(bias, sub, c(0x1p52+1023+54))
	}
	t := addInt(x, bits(1<<51))
	e = sub(orInt(shiftRight(t, 52), c(0x1p52)), bias)
	m = addInt(subInt(x, andInt(t, bits(0xfff<<52))), c(1))
	if kit.Case > 0 {
		return m, e, shiftRight(x, 48) // the same four bits, earlier
	}
	return m, e, shiftRight(m, 48)
}

// logPair is log(x) = h + l; rel may be nil, and so may double.
func logPair(x, rel, double v, small bool) (h, l v) {
	m, e, j := split(x, small)
	if double != nil {
		e = add(e, double)
	}
	f := msub(lookup("logRecip", j), m, c(1))
	f2 := mul(f, f)
	p := polynomial(num["logPoly"], f, f2)
	l = addMul(lookup("logLo", j), e, k("ln2Lo"))
	if rel != nil {
		l = add(l, rel)
	}
	addMul(l, f2, p)
	s := addMul(lookup("logHi", j), e, k("ln2Hi"))
	h = add(s, f)
	return h, add(l, sub(f, sub(h, s)))
}

// special puts in the logarithms of what is not positive and finite; y becomes
// the result.
func special(y, x v) v {
	if kit.Case > 0 {
		return y
	}
	if kit.Wide {
		// NaN stays, zero gives -Inf, a negative number NaN, Inf itself.
		kit.Do(func() { VFIXUPIMMPD(U8(0), bits(0x03530422), x, y) }, x, y)
		return y
	}
	y = set(y, compare(x, nle, c(0x1.fffffffffffffp1023)), x)
	y = set(y, compare(x, lt, c(0)), bits(0x7ff8<<48))
	return set(y, compare(x, eq, c(0)), bits(0xfff0<<48))
}

func logOf(x v) v {
	h, l := logPair(x, nil, nil, true)
	return special(add(h, l), x)
}

// logTwinOf is logTwinOf of generic_log.go.
func logTwinOf(x v) []v {
	h, l := logPair(x, nil, nil, true)
	sum := add(h, l)
	l = sub(l, sub(sum, h))
	y := special(sum, x)
	return []v{y, set(load(c(0)), compare(sub(y, y), eq, c(0)), l)}
}

func log2Of(x v) v { return logBase(x, "log2", num["log2eHi"][0], num["log2eLo"][0], 1, 0) }
func log10Of(x v) v {
	return logBase(x, "log10", num["log10eHi"][0], num["log10eLo"][0], num["log10of2Hi"][0], num["log10of2Lo"][0])
}

func logBase(x v, name string, eHi, eLo, twoHi, twoLo float64) v {
	m, e, j := split(x, true)
	f := msub(lookup("logRecip", j), m, c(1))
	s := addMul(lookup(name+"Hi", j), e, c(twoHi))
	l := lookup(name+"Lo", j)
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

func log1pOf(x v) v { y, _ := log1pTwin(x); return y }

// log1pTwin is log1p(x) and its slope 1/(1+x), NaN below -1.
func log1pTwin(x v) (y, d v) {
	u := add(x, c(1))
	w := sub(u, c(1))
	low := sub(x, w)
	d = div(c(1), u)
	h, l := logPair(u, nmadd(mul(w, d), low, low), nil, false)
	if kit.Case > 0 {
		return withSign(add(h, l), x), d
	}
	if kit.Wide { // NaN for what is negative
		kit.Do(func() { VFIXUPIMMPD(U8(0), bits(0x03030000), u, d) }, u, d)
	} else {
		d = set(d, compare(u, lt, c(0)), bits(0x7ff8<<48))
	}
	return withSign(special(add(h, l), u), x), d
}

const tiny, huge = 0x1p-28, 0x1p28

// rootPair is sqrt(x+xl) = q + r.
func rootPair(x, xl v) (q, r v) {
	q = sqrt(x)
	r = add(nmadd(load(q), q, x), xl)
	return q, div(r, add(q, q))
}

// doubled is 1 in the lanes of the mask, elsewhere 0.
func doubled(m mask) v { return set(load(c(0)), m, load(c(1))) }

func asinhOf(x v) v {
	a := abs(x)
	p := mul(a, a)
	pl := msub(load(a), a, p)
	s, sl := twoSum(p, c(1))
	q, ql := rootPair(s, add(sl, pl))
	u, ul := twoSum(q, a)
	rel := div(add(ul, ql), u)
	if kit.Case > 0 {
		h, l := logPair(u, rel, nil, false)
		return withSign(add(h, l), x)
	}
	big := compare(a, gt, c(huge))
	h, l := logPair(set(u, big, a), set(rel, big, c(0)), doubled(big), false)
	y := withSign(add(h, l), x)
	y = set(y, compare(a, lt, c(tiny)), x)
	return set(y, compare(a, nle, c(0x1.fffffffffffffp1023)), x)
}

func acoshOf(x v) v {
	d := sub(x, c(1))
	s, sl := twoSum(x, c(1))
	p := mul(d, s)
	pl := msub(load(d), s, p)
	addMul(pl, d, sl)
	q, ql := rootPair(p, pl)
	u, ul := twoSum(x, q)
	rel := div(add(ul, ql), u)
	if kit.Case > 0 {
		h, l := logPair(u, rel, nil, false)
		return add(h, l)
	}
	big := compare(x, gt, c(huge))
	h, l := logPair(set(u, big, x), set(rel, big, c(0)), doubled(big), false)
	y := add(h, l)
	y = set(y, compare(x, eq, c(1)), c(0))
	y = set(y, compare(x, lt, c(1)), bits(0x7ff8<<48))
	return set(y, compare(x, nle, c(0x1.fffffffffffffp1023)), x)
}

func atanhOf(x v) v {
	a := abs(x)
	nh, nl := twoSum(c(1), a)
	dh, dl := twoSum(c(1), negative(a))
	u, ul := ratio(nh, nl, dh, dl, div(c(1), dh))
	h, l := logPair(u, div(ul, u), nil, false)
	y := withSign(mul(add(h, l), c(0.5)), x)
	if kit.Case > 0 {
		return y
	}
	y = set(y, compare(a, eq, c(1)), withSign(load(bits(exponent)), x))
	y = set(y, compare(a, gt, c(1)), bits(0x7ff8<<48))
	return set(y, compare(a, lt, c(tiny)), x)
}
