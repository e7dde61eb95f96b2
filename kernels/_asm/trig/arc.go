package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "nabla/kernels/_asm/kit"
)

// atanC, atanHi and atanLo are rows of five numbers, on AVX-512.
var atanC, atanHi, atanLo V

func atanSetup() {
	setup(nil, append([]float64{1}, num["atanPoly"]...))
	if Wide {
		atanC, atanHi, atanLo = row8("atanC", 0, 0.5, 1, 1.5), row8("atanHi", num["atanHi"]...), row8("atanLo", num["atanLo"]...)
	}
}

func atanOf(x V) V {
	a := Abs(x)
	if Case > 0 { // u is a
		z := Mul(x, x)
		t := Madd(one("atanPoly", z), Mul(a, z), c(num["atanLo"][0]))
		return WithSign(Add(a, t), x)
	}
	j, cc, hi, lo := New(), New(), New(), New()
	var far Bool
	if Wide {
		Zero(j)
		for _, b := range []float64{0.4375, 0.6875, 1.1875, 2.4375} {
			far = Compare(a, NLT, c(b))
			VPADDQ_BCST(Bits(1), j, far.Register, j)
		}
		cc, hi, lo = lookup8(atanC, j), lookup8(atanHi, j), lookup8(atanLo, j)
	} else {
		Zero(cc)
		Zero(hi)
		Zero(lo)
		for i, b := range []float64{0.4375, 0.6875, 1.1875, 2.4375} {
			far = Compare(a, NLT, c(b))
			Set(cc, far, c([]float64{0.5, 1, 1.5, 0}[i]))
			Set(hi, far, c(num["atanHi"][i+1]))
			Set(lo, far, c(num["atanLo"][i+1]))
		}
	}
	n := Set(Sub(a, cc), far, c(-1))
	d := Set(Madd(cc, a, c(1)), far, a)
	u := Div(n, d)
	z := Mul(u, u)
	t := Madd(one("atanPoly", z), Mul(u, z), lo)
	return WithSign(Add(hi, Add(u, t)), x)
}

// absolutes is |y| and |x|, of which the second is 1 where both are 0.
func absolutes(y, x V) (ay, ax V) {
	ay, ax = Abs(y), Abs(x)
	if Case > 0 {
		return ay, ax
	}
	return ay, Set(Copy(ax), Compare(Add(ay, ax), EQ, c(0)), c(1))
}

// atan2Stop goes to "stop" unless both arguments are finite, the larger about 1 and the
// smaller not much below it or 0.
func atan2Stop(y, x V) {
	y, x = absolutes(y, x)
	large, small := Max(y, x), Min(y, x)
	near := Either(Compare(small, GE, Mul(large, c(0x1p-62))), Compare(small, EQ, c(0)))
	finite := Both(Compare(y, LE, c(0x1p900)), Compare(x, LE, c(0x1p900)))
	StopUnless(Both(Both(near, finite), Compare(large, GE, c(0x1p-800))))
}

func atan2Of(y, x V) V {
	a, b := absolutes(y, x)
	cc, hi, lo := New(), New(), New()
	Zero(cc)
	Zero(hi)
	Zero(lo)
	var far Bool
	for i, t := range []float64{0.4375, 0.6875, 1.1875, 2.4375} {
		far = Compare(a, NLT, Mul(b, c(t)))
		Set(cc, far, c([]float64{0.5, 1, 1.5, 0}[i]))
		Set(hi, far, c(num["atanHi"][i+1]))
		Set(lo, far, c(num["atanLo"][i+1]))
	}
	n, d := Set(Copy(a), far, Negative(b)), Set(Copy(b), far, a)
	p, q := Mul(cc, d), Mul(cc, n)
	nh, nl := twoSum(n, Negative(p))
	dh, dl := twoSum(d, q)
	nl = Sub(nl, Msub(Copy(cc), d, p))
	dl = Add(dl, Msub(Copy(cc), n, q))
	u := Div(nh, dh)
	ul := Div(Add(Nmadd(Copy(u), dh, nh), Nmadd(Copy(u), dl, nl)), dh)
	z := Mul(u, u)
	t := Madd(one("atanPoly", z), Mul(u, z), Nmadd(Copy(ul), z, ul))
	t = Add(t, lo)
	h := Add(hi, u)
	l := Add(Sub(u, Sub(h, hi)), t)

	if Case == 1 { // on the right
		return WithSign(Add(h, l), y)
	}
	pi := Copy(named("onePiHi"))
	s := Sub(pi, h)
	if Case == 2 { // on the left
		l = Add(Sub(Sub(pi, s), h), Sub(Copy(named("onePiLo")), l))
		return WithSign(Add(s, l), y)
	}
	left := SignOf(x, Const(0))
	l = Set(l, left, Add(Sub(Sub(pi, s), h), Sub(Copy(named("onePiLo")), l)))
	h = Set(h, left, s)
	return WithSign(Add(h, l), y)
}

func twoSum(x, y V) (s, e V) {
	s = Add(x, y)
	t := Sub(s, x)
	return s, Add(Sub(x, Sub(s, t)), Sub(y, t))
}

// arc is both ways to the arc sine of a = |x|: for a <= 1/2, where the mask has no
// lane, asin x is x + xz*p; otherwise it is pi/2 - 2*(s + t).
func arc(x, a V) (xz, p, s, t V, big Bool) {
	if Case == 1 { // small
		z := Mul(x, x)
		return Mul(x, z), one("asinPoly", z), nil, nil, Bool{}
	}
	big = Compare(a, NLE, c(0.5))
	far := Mul(Sub(Copy(c(1)), a), c(0.5))
	z := far
	if Case == 0 {
		z = Set(Mul(x, x), big, far)
	}
	p = one("asinPoly", z)
	s = Sqrt(z)
	e := Div(Nmadd(Copy(s), s, z), Add(s, s))
	if Case == 2 { // and not 1
		return nil, p, s, Madd(Mul(s, z), p, e), big
	}
	Set(e, Compare(z, EQ, c(0)), c(0))
	return Mul(x, z), p, s, Madd(Mul(s, z), p, e), big
}

// from is pi - y - tail, for pi = hi + lo; restLo is lo - tail.
func from(name string, y, restLo V) V {
	pi := Copy(named(name))
	h := Sub(pi, y)
	return Add(h, Add(Sub(Sub(pi, h), y), restLo))
}

func asinOf(x V) V {
	xz, p, s, t, big := arc(x, Abs(x))
	if Case == 1 {
		return Madd(xz, p, x)
	}
	y := from("halfPiHi", Add(s, s), Sub(Copy(named("halfPiLo")), Add(t, t)))
	if Case == 2 {
		return WithSign(y, x)
	}
	return Set(Madd(xz, p, x), big, WithSign(y, x))
}

func acosOf(x V) V {
	xz, p, s, t, big := arc(x, Abs(x))
	var y V
	if Case < 2 {
		y = from("halfPiHi", x, Nmadd(xz, p, named("halfPiLo")))
	}
	if Case == 1 {
		return y
	}
	s, t = Add(s, s), Add(t, t)
	if Case == 2 {
		y = Add(s, t)
	} else {
		Set(y, big, Add(s, t))
	}
	return Set(y, Compare(x, LT, c(-0.5)), from("onePiHi", s, Sub(Copy(named("onePiLo")), t)))
}

func cbrtOf(x V) V {
	a := Abs(x)
	var unit V
	if Case == 0 {
		unit = Copy(c(1))
		low, high := Compare(a, LT, c(0x1p-600)), Compare(a, GT, c(0x1p600))
		Set(unit, low, c(0x1p-200))
		Set(unit, high, c(0x1p200))
		by := Copy(c(1))
		Set(by, low, c(0x1p600))
		Set(by, high, c(0x1p-600))
		a = Mul(a, by)
	}
	const whole = 0x1p52
	g := Sub(AddInt(ShiftRight(a, 20), cr(whole)), cr(whole))
	// Truncated as the portable conversion is: g is positive.
	Madd(g, cr(1.0/3), c(0x2a9f7893782))
	y := ShiftLeft(Add(Trunc(g), cr(whole)), 20)
	for range 2 {
		t := Mul(Mul(y, y), y)
		e := Mul(y, Sub(t, a))
		y = Sub(y, Div(e, Add(Add(t, t), a)))
	}
	y2 := Mul(y, y)
	e := Add(Msub(Copy(y), y2, a), Mul(Msub(Copy(y), y, y2), y))
	y = Sub(y, Div(e, Mul(y2, cr(3))))
	if Case > 0 {
		return WithSign(y, x)
	}
	y = WithSign(Mul(y, unit), x)
	Set(y, Compare(x, EQ, c(0)), x)
	return Set(y, Compare(Abs(x), NLE, c(math.MaxFloat64)), x)
}

func hypotOf(x, y V) V {
	x, y = Abs(x), Abs(y)
	a, b := Max(x, y), Min(x, y)
	// Where neither is NaN: a >= b. Where one is, the end puts things right.
	p, q, unit := a, b, V(nil)
	if Case == 0 {
		by := Copy(c(1))
		unit = Copy(c(1))
		low, high := Compare(b, LT, c(0x1p-450)), Compare(a, GT, c(0x1p500))
		Set(by, low, c(0x1p600))
		Set(unit, low, c(0x1p-600))
		Set(by, high, c(0x1p-600))
		Set(unit, high, c(0x1p600))
		p, q = Mul(a, by), Mul(b, by)
	}
	p2, q2 := Mul(p, p), Mul(q, q)
	h := Sqrt(Add(p2, q2))
	h2 := Mul(h, h)
	e := Sub(Sub(h2, p2), q2)
	f := Msub(Copy(h), h, h2)
	f = Sub(Sub(f, Msub(p, p, p2)), Msub(q, q, q2))
	e = Add(e, f)
	z := Sub(h, Div(e, Add(h, h)))
	if Case > 0 {
		return z
	}
	z = Mul(z, unit)
	Set(z, Compare(b, LE, Mul(a, c(0x1p-28))), a)
	sum := Add(x, y)
	Set(z, Compare(x, UN, y), sum)
	Set(z, Compare(x, EQ, c(math.Inf(1))), c(math.Inf(1)))
	return Set(z, Compare(y, EQ, c(math.Inf(1))), c(math.Inf(1)))
}
