package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

func pow() {
	if !kit.Wide && !kit.Neon && !kit.Leaf {
		powHalves()
		return
	}
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

// powHalves are the kernel for AVX2 in two, which pass y log(x) through memory: of bodies half as long the
// core has twice as many at hand, and hides their latency. As one kernel, with rows for gathers, it took
// as long as before, 1.2 times as long as this.
func powHalves() {
	early = true
	kit.Map{
		Name: "powLog",
		Doc: "\tfor i, x := range x[:len(p)] { p[i], q[i] = y[i]*log(x) }\n\n" +
			"as a pair that exp takes, up to where y is not finite or x is -Inf; it returns how many it did.",
		Dst: "p, q", Args: "x, y",
		Setup: func() { // "" keeps apart what is not wanted together
			setup([]group{{"logRecip", "", "logHi", "logLo"}, {"powRecip", "", "powHi", "powLo"}}, nil)
		},
		Stop: func(x []v) { powStop(x[0], x[1]) },
		Body: func(x []v) []v {
			p, pl := powLog(func(i int) v { return x[i] })
			return []v{p, pl}
		},
	}.Write()
	kit.Map{
		Name: "powExp", Args: "p, q, x, y",
		Doc:   "\tfor i, x := range x[:len(dst)] { dst[i] = exp(p[i]+q[i]) } // with the sign of the power, 1 where y is 0, and NaN",
		Setup: func() { setup([]group{exps}, nil) },
		Body:  func(x []v) []v { return []v{powExp(x[0], x[1], func(i int) v { return x[2+i] })} },
	}.Write()
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
	p, pl := powLog(arg)
	return powExp(p, pl, arg)
}

// powLog is y log(x) in two parts, as far as it is not 0 or infinite.
func powLog(arg func(i int) v) (p, pl v) {
	ax, y := abs(arg(0)), arg(1)
	h, l := logLong(ax)
	h = special(h, ax)
	p = mul(h, y)
	pl = madd(l, y, msub(h, y, p))
	far := compare(abs(p), nlt, c(800))
	p = max(min(p, c(800)), c(-800))
	return p, set(pl, far, c(0))
}

// powExp is x^y by y log(x).
func powExp(p, pl v, arg func(i int) v) v {
	t, b, bl, i := expCoreLong(p, pl)
	e, el := pair(t, b, bl)
	z := scale(add(e, el), i.exponent(1, 0))

	// Below 0 there are whole powers only; odd ones have the sign of x.
	x, y := arg(0), arg(1)
	half := mul(y, c(0.5))
	even := compare(half, eq, floor(half))
	whole := compare(y, eq, floor(y))
	signed := set(xor(z, and(x, bits(signBit))), even, z)
	z = set(z, compare(x, lt, c(0)), bits(0x7ff8<<48))
	z = set(z, whole, signed)
	return set(z, compare(y, eq, c(0)), c(1))
}

// early is whether logLong looks up all columns of a table at once, for AVX2, which has few registers.
var early bool

// logLong is log(x) = h + l to about 2^-68 of itself.
func logLong(x v) (h, l v) {
	m, e, j := split(x, true)
	var hi, lo v
	f1 := msub(lookup("logRecip", j), m, c(1))
	if early {
		hi, lo = addMul(lookup("logHi", j), e, k("ln2Hi")), addMul(lookup("logLo", j), e, k("ln2Lo"))
	}
	i := madd(load(f1), c(128), c(magic))
	g := lookup("powRecip", i)
	if early {
		hi, lo = add(hi, lookup("powHi", i)), add(lo, lookup("powLo", i))
	}
	p := mul(f1, g)
	fl := msub(f1, g, p)
	g = sub(g, c(1))
	f := add(p, g)
	fl = add(fl, sub(p, sub(f, g)))
	f2 := mul(f, f)
	f2l := msub(load(f), f, f2)
	q := polynomial(num["powPoly"], f, f2)
	if l = lo; !early {
		l = add(addMul(lookup("logLo", j), e, k("ln2Lo")), lookup("powLo", i))
	}
	l = madd(q, mul(f2, f), l)
	l = add(addMul(l, f2l, c(-0.5)), nmadd(load(fl), f, fl))
	s := hi
	if !early {
		s = add(addMul(lookup("logHi", j), e, k("ln2Hi")), lookup("powHi", i))
	}
	t := add(s, f)
	l = add(l, sub(f, sub(t, s)))
	h = addMul(load(t), f2, c(-0.5))
	l = add(l, addMul(sub(t, h), f2, c(-0.5)))
	s = add(h, l)
	return s, sub(l, sub(s, h))
}
