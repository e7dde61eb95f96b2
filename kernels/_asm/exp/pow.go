package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

func pow() {
	m := kit.Map{
		Name: "pow", Of: "PowOf",
		Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = PowOf(x, y[i]) }\n\n" +
			"up to where y is not finite or x is -Inf; it returns how many it did.",
		Args:  "x, y",
		Setup: func() { setup([]group{logs, pows, exps}, nil) },
		Cases: []func(x []v){func(x []v) { positive(x[0]); kit.WithinAbs(x[1], 0, 0x1p1000) }},
		Stop:  func(x []v) { powStop(x[0], x[1]) },
		Body:  func(x []v) []v { return []v{powOf(func(i int) v { return x[i] })} },
	}
	if kit.Wide {
		m.Unroll = 6
		m.Turn = func(load, store func(u, i int, v v)) {
			arg := func(u, i int) v {
				z := kit.New()
				kit.Do(func() { load(u, i, z) }, z)
				return z
			}
			for u := range m.Unroll {
				powStop(arg(u, 0), arg(u, 1))
			}
			kit.Stagger(m.Unroll, 0.3, func(u int) {
				z := powOf(func(i int) v { return arg(u, i) })
				kit.Do(func() { store(u, 0, z) }, z)
			})
		}
	}
	m.Write()
}

// powStop goes to "stop" if y is not finite in a lane, or x is -Inf.
func powStop(x, y v) {
	if kit.Wide {
		a, b := K(), K()
		VFPCLASSPDZ(U8(0x10), x, a)
		VFPCLASSPDZ(U8(0x99), y, b)
		KORTESTB(a, b)
		JNZ(LabelRef("stop"))
		return
	}
	kit.StopIf(compare(x, eq, bits(0xfff0<<48)), compare(abs(y), nle, c(0x1.fffffffffffffp1023)))
}

// powOf is x^y for finite y. It asks for its arguments again at the end, for they may
// be in memory.
func powOf(arg func(i int) v) v {
	if kit.Case > 0 {
		h, l := logLong(arg(0))
		p := mul(h, arg(1))
		kit.WithinAbs(p, 0, 690)
		t, b, bl, i := expCoreLong(p, madd(l, arg(1), msub(h, arg(1), p)))
		e, el := pair(t, b, bl)
		return scaleNormal(add(e, el), i.exponent(1, 0))
	}
	ax, y := abs(arg(0)), arg(1)
	h, l := logLong(ax)
	h = special(h, ax)
	p := mul(h, y)
	pl := madd(l, y, msub(h, y, p))
	far := compare(abs(p), nlt, c(800))
	p = max(min(p, c(800)), c(-800))
	t, b, bl, i := expCoreLong(p, set(pl, far, c(0)))
	e, el := pair(t, b, bl)
	z := scale(add(e, el), i.exponent(1, 0))

	// Below 0 there are whole powers only; odd ones have the sign of x.
	x := arg(0)
	y = arg(1)
	half := mul(y, c(0.5))
	even := compare(half, eq, floor(half))
	whole := compare(y, eq, floor(y))
	signed := set(xor(z, and(x, bits(signBit))), even, z)
	z = set(z, compare(x, lt, c(0)), bits(0x7ff8<<48))
	z = set(z, whole, signed)
	return set(z, compare(y, eq, c(0)), c(1))
}

// logLong is log(x) = h + l to about 2^-68 of itself.
func logLong(x v) (h, l v) {
	m, e, j := split(x, true)
	f1 := msub(lookup("logRecip", j), m, c(1))
	i := madd(load(f1), c(128), c(magic))
	g := lookup("powRecip", i)
	p := mul(f1, g)
	fl := msub(f1, g, p)
	g = sub(g, c(1))
	f := add(p, g)
	fl = add(fl, sub(p, sub(f, g)))
	f2 := mul(f, f)
	f2l := msub(load(f), f, f2)
	q := polynomial(num["powPoly"], f, f2)
	l = add(addMul(lookup("logLo", j), e, k("ln2Lo")), lookup("powLo", i))
	l = madd(q, mul(f2, f), l)
	l = add(addMul(l, f2l, c(-0.5)), nmadd(load(fl), f, fl))
	s := add(addMul(lookup("logHi", j), e, k("ln2Hi")), lookup("powHi", i))
	t := add(s, f)
	l = add(l, sub(f, sub(t, s)))
	h = addMul(load(t), f2, c(-0.5))
	l = add(l, addMul(sub(t, h), f2, c(-0.5)))
	s = add(h, l)
	return s, sub(l, sub(s, h))
}
