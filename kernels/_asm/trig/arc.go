package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"nabla/kernels/_asm/kit"
)

// atanC, atanHi and atanLo are rows of five numbers, on AVX-512.
var atanC, atanHi, atanLo v

func atanSetup() {
	setup(nil, append([]float64{1}, num["atanPoly"]...))
	if kit.Wide {
		atanC, atanHi, atanLo = row8("atanC", 0, 0.5, 1, 1.5), row8("atanHi", num["atanHi"]...), row8("atanLo", num["atanLo"]...)
	}
}

func atanOf(x v) v {
	a := abs(x)
	if kit.Case > 0 { // u is a
		z := mul(x, x)
		t := madd(one("atanPoly", z), mul(a, z), c(num["atanLo"][0]))
		return withSign(add(a, t), x)
	}
	j, cc, hi, lo := kit.New(), kit.New(), kit.New(), kit.New()
	var far mask
	if kit.Wide {
		kit.Zero(j)
		for _, b := range []float64{0.4375, 0.6875, 1.1875, 2.4375} {
			far = cmp(a, nlt, c(b))
			VPADDQ_BCST(kit.Bits(1), j, far.Register, j)
		}
		cc, hi, lo = lookup8(atanC, j), lookup8(atanHi, j), lookup8(atanLo, j)
	} else {
		kit.Zero(cc)
		kit.Zero(hi)
		kit.Zero(lo)
		for i, b := range []float64{0.4375, 0.6875, 1.1875, 2.4375} {
			far = cmp(a, nlt, c(b))
			set(cc, far, c([]float64{0.5, 1, 1.5, 0}[i]))
			set(hi, far, c(num["atanHi"][i+1]))
			set(lo, far, c(num["atanLo"][i+1]))
		}
	}
	n := set(sub(a, cc), far, c(-1))
	d := set(madd(cc, a, c(1)), far, a)
	u := div(n, d)
	z := mul(u, u)
	t := madd(one("atanPoly", z), mul(u, z), lo)
	return withSign(add(hi, add(u, t)), x)
}

// absolutes is |y| and |x|, of which the second is 1 where both are 0.
func absolutes(y, x v) (ay, ax v) {
	ay, ax = abs(y), abs(x)
	if kit.Case > 0 {
		return ay, ax
	}
	return ay, set(mov(ax), cmp(add(ay, ax), eq, c(0)), c(1))
}

// atan2Stop goes to "stop" unless both arguments are finite, the larger about 1 and the
// smaller not much below it or 0.
func atan2Stop(y, x v) {
	y, x = absolutes(y, x)
	large, small := max(y, x), min(y, x)
	near := kit.Either(cmp(small, ge, mul(large, c(0x1p-62))), cmp(small, eq, c(0)))
	finite := kit.Both(cmp(y, le, c(0x1p900)), cmp(x, le, c(0x1p900)))
	kit.StopUnless(kit.Both(kit.Both(near, finite), cmp(large, ge, c(0x1p-800))))
}

func atan2Of(y, x v) v {
	a, b := absolutes(y, x)
	cc, hi, lo := kit.New(), kit.New(), kit.New()
	kit.Zero(cc)
	kit.Zero(hi)
	kit.Zero(lo)
	var far mask
	for i, t := range []float64{0.4375, 0.6875, 1.1875, 2.4375} {
		far = cmp(a, nlt, mul(b, c(t)))
		set(cc, far, c([]float64{0.5, 1, 1.5, 0}[i]))
		set(hi, far, c(num["atanHi"][i+1]))
		set(lo, far, c(num["atanLo"][i+1]))
	}
	n, d := set(mov(a), far, kit.Negative(b)), set(mov(b), far, a)
	p, q := mul(cc, d), mul(cc, n)
	nh, nl := twoSum(n, kit.Negative(p))
	dh, dl := twoSum(d, q)
	nl = sub(nl, msub(mov(cc), d, p))
	dl = add(dl, msub(mov(cc), n, q))
	u := div(nh, dh)
	ul := div(add(nmadd(mov(u), dh, nh), nmadd(mov(u), dl, nl)), dh)
	z := mul(u, u)
	t := madd(one("atanPoly", z), mul(u, z), nmadd(mov(ul), z, ul))
	t = add(t, lo)
	h := add(hi, u)
	l := add(sub(u, sub(h, hi)), t)

	if kit.Case == 1 { // on the right
		return withSign(add(h, l), y)
	}
	pi := load(num1("onePiHi"))
	s := sub(pi, h)
	if kit.Case == 2 { // on the left
		l = add(sub(sub(pi, s), h), sub(load(num1("onePiLo")), l))
		return withSign(add(s, l), y)
	}
	left := kit.SignOf(x, kit.Const(0))
	l = set(l, left, add(sub(sub(pi, s), h), sub(load(num1("onePiLo")), l)))
	h = set(h, left, s)
	return withSign(add(h, l), y)
}

func twoSum(x, y v) (s, e v) {
	s = add(x, y)
	t := sub(s, x)
	return s, add(sub(x, sub(s, t)), sub(y, t))
}

// arc is both ways to the arc sine of a = |x|: for a <= 1/2, where the mask has no
// lane, asin x is x + xz*p; otherwise it is pi/2 - 2*(s + t).
func arc(x, a v) (xz, p, s, t v, big mask) {
	if kit.Case == 1 { // small
		z := mul(x, x)
		return mul(x, z), one("asinPoly", z), nil, nil, mask{}
	}
	big = cmp(a, nle, c(0.5))
	far := mul(sub(load(c(1)), a), c(0.5))
	z := far
	if kit.Case == 0 {
		z = set(mul(x, x), big, far)
	}
	p = one("asinPoly", z)
	s = sqrt(z)
	e := div(nmadd(mov(s), s, z), add(s, s))
	if kit.Case == 2 { // and not 1
		return nil, p, s, madd(mul(s, z), p, e), big
	}
	set(e, cmp(z, eq, c(0)), c(0))
	return mul(x, z), p, s, madd(mul(s, z), p, e), big
}

// from is pi - y - tail, for pi = hi + lo; restLo is lo - tail.
func from(name string, y, restLo v) v {
	pi := load(num1(name))
	h := sub(pi, y)
	return add(h, add(sub(sub(pi, h), y), restLo))
}

func asinOf(x v) v {
	xz, p, s, t, big := arc(x, abs(x))
	if kit.Case == 1 {
		return madd(xz, p, x)
	}
	y := from("halfPiHi", add(s, s), sub(load(num1("halfPiLo")), add(t, t)))
	if kit.Case == 2 {
		return withSign(y, x)
	}
	return set(madd(xz, p, x), big, withSign(y, x))
}

func acosOf(x v) v {
	xz, p, s, t, big := arc(x, abs(x))
	var y v
	if kit.Case < 2 {
		y = from("halfPiHi", x, nmadd(xz, p, num1("halfPiLo")))
	}
	if kit.Case == 1 {
		return y
	}
	s, t = add(s, s), add(t, t)
	if kit.Case == 2 {
		y = add(s, t)
	} else {
		set(y, big, add(s, t))
	}
	return set(y, cmp(x, lt, c(-0.5)), from("onePiHi", s, sub(load(num1("onePiLo")), t)))
}

func cbrtOf(x v) v {
	a := abs(x)
	var unit v
	if kit.Case == 0 {
		unit = load(c(1))
		low, high := cmp(a, lt, c(0x1p-600)), cmp(a, gt, c(0x1p600))
		set(unit, low, c(0x1p-200))
		set(unit, high, c(0x1p200))
		by := load(c(1))
		set(by, low, c(0x1p600))
		set(by, high, c(0x1p-600))
		a = mul(a, by)
	}
	const whole = 0x1p52
	g := sub(addInt(shiftRight(a, 20), cr(whole)), cr(whole))
	// Truncated as the portable conversion is: g is positive.
	madd(g, cr(1.0/3), c(0x2a9f7893782))
	y := shiftLeft(add(trunc(g), cr(whole)), 20)
	for range 2 {
		t := mul(mul(y, y), y)
		e := mul(y, sub(t, a))
		y = sub(y, div(e, add(add(t, t), a)))
	}
	y2 := mul(y, y)
	e := add(msub(mov(y), y2, a), mul(msub(mov(y), y, y2), y))
	y = sub(y, div(e, mul(y2, cr(3))))
	if kit.Case > 0 {
		return withSign(y, x)
	}
	y = withSign(mul(y, unit), x)
	set(y, cmp(x, eq, c(0)), x)
	return set(y, cmp(abs(x), nle, c(math.MaxFloat64)), x)
}

func hypotOf(x, y v) v {
	x, y = abs(x), abs(y)
	a, b := max(x, y), min(x, y)
	// Where neither is NaN: a >= b. Where one is, the end puts things right.
	p, q, unit := a, b, v(nil)
	if kit.Case == 0 {
		by := load(c(1))
		unit = load(c(1))
		low, high := cmp(b, lt, c(0x1p-450)), cmp(a, gt, c(0x1p500))
		set(by, low, c(0x1p600))
		set(unit, low, c(0x1p-600))
		set(by, high, c(0x1p-600))
		set(unit, high, c(0x1p600))
		p, q = mul(a, by), mul(b, by)
	}
	p2, q2 := mul(p, p), mul(q, q)
	h := sqrt(add(p2, q2))
	h2 := mul(h, h)
	e := sub(sub(h2, p2), q2)
	f := msub(mov(h), h, h2)
	f = sub(sub(f, msub(p, p, p2)), msub(q, q, q2))
	e = add(e, f)
	z := sub(h, div(e, add(h, h)))
	if kit.Case > 0 {
		return z
	}
	z = mul(z, unit)
	set(z, cmp(b, le, mul(a, c(0x1p-28))), a)
	sum := add(x, y)
	set(z, cmp(x, un, y), sum)
	set(z, cmp(x, eq, c(math.Inf(1))), c(math.Inf(1)))
	return set(z, cmp(y, eq, c(math.Inf(1))), c(math.Inf(1)))
}
