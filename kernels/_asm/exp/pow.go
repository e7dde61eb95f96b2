package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "nabla/kernels/_asm/kit"
)

func pow() {
	if !Wide && !Neon && !Leaf {
		powHalves()
		return
	}
	m := Map{
		Name: "pow", Of: "PowOf",
		Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = PowOf(x, y[i]) }\n\n" +
			"up to where y is not finite or x is -Inf; it returns how many it did.",
		Args:  "x, y",
		Setup: func() { setup([]group{logs, pows, exps}, nil) },
		Cases: []func(x []V){func(x []V) { positive(x[0]); WithinAbs(x[1], 0, 0x1p1000) }},
		Stop:  func(x []V) { powStop(x[0], x[1]) },
		Body:  func(x []V) []V { return []V{powOf(func(i int) V { return x[i] })} },
	}
	if Wide {
		m.Unroll = 6
		m.Turn = func(load, store func(u, i int, v V)) {
			arg := func(u, i int) V {
				z := New()
				Do(func() { load(u, i, z) }, z)
				return z
			}
			for u := range m.Unroll {
				powStop(arg(u, 0), arg(u, 1))
			}
			Stagger(m.Unroll, 0.3, func(u int) {
				z := powOf(func(i int) V { return arg(u, i) })
				Do(func() { store(u, 0, z) }, z)
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
	Map{
		Name: "powLog",
		Doc: "\tfor i, x := range x[:len(p)] { p[i], q[i] = y[i]*log(x) }\n\n" +
			"as a pair that exp takes, up to where y is not finite or x is -Inf; it returns how many it did.",
		Dst: "p, q", Args: "x, y", Parts: 4,
		Setup: func() { // "" keeps apart what is not wanted together
			setup([]group{{"logRecip", "", "logHi", "logLo"}, {"powRecip", "", "powHi", "powLo"}}, nil)
		},
		Stop: func(x []V) { powStop(x[0], x[1]) },
		Body: func(x []V) []V {
			p, pl := powLog(func(i int) V { return x[i] })
			return []V{p, pl}
		},
	}.Write()
	Map{
		Name: "powExp", Args: "p, q, x, y", Parts: 4,
		Doc:   "\tfor i, x := range x[:len(dst)] { dst[i] = exp(p[i]+q[i]) } // with the sign of the power, 1 where y is 0, and NaN",
		Setup: func() { setup([]group{exps}, nil) },
		Body:  func(x []V) []V { return []V{powExp(x[0], x[1], func(i int) V { return x[2+i] })} },
	}.Write()
}

// powStop goes to "stop" if y is not finite in a lane, or x is -Inf.
func powStop(x, y V) {
	if Wide {
		a, b := K(), K()
		VFPCLASSPDZ(U8(0x10), x, a)
		VFPCLASSPDZ(U8(0x99), y, b)
		KORTESTB(a, b)
		JNZ(LabelRef("stop"))
		return
	}
	StopIf(Compare(x, EQ, Word(0xfff0<<48)), Compare(Abs(y), NLE, c(0x1.fffffffffffffp1023)))
}

// powOf is x^y for finite y. It asks for its arguments again at the end, for they may
// be in memory.
func powOf(arg func(i int) V) V {
	if Case > 0 {
		h, l := logLong(arg(0))
		p := Mul(h, arg(1))
		WithinAbs(p, 0, 690)
		t, b, bl, i := expCoreLong(p, Madd(l, arg(1), Msub(h, arg(1), p)))
		e, el := pair(t, b, bl)
		return scaleNormal(Add(e, el), i.exponent(1, 0))
	}
	p, pl := powLog(arg)
	return powExp(p, pl, arg)
}

// powLog is y log(x) in two parts, as far as it is not 0 or infinite.
func powLog(arg func(i int) V) (p, pl V) {
	ax, y := Abs(arg(0)), arg(1)
	h, l := logLong(ax)
	h = special(h, ax)
	p = Mul(h, y)
	pl = Madd(l, y, Msub(h, y, p))
	far := Compare(Abs(p), NLT, c(800))
	p = Max(Min(p, c(800)), c(-800))
	return p, Set(pl, far, c(0))
}

// powExp is x^y by y log(x).
func powExp(p, pl V, arg func(i int) V) V {
	t, b, bl, i := expCoreLong(p, pl)
	e, el := pair(t, b, bl)
	z := scale(Add(e, el), i.exponent(1, 0))

	// Below 0 there are whole powers only; odd ones have the sign of x.
	x, y := arg(0), arg(1)
	half := Mul(y, c(0.5))
	even := Compare(half, EQ, Floor(half))
	whole := Compare(y, EQ, Floor(y))
	signed := Set(Xor(z, And(x, Word(SignBit))), even, z)
	z = Set(z, Compare(x, LT, c(0)), Word(0x7ff8<<48))
	z = Set(z, whole, signed)
	return Set(z, Compare(y, EQ, c(0)), c(1))
}

// early is whether logLong looks up all columns of a table at once, for AVX2, which has few registers.
var early bool

// logLong is log(x) = h + l to about 2^-68 of itself.
func logLong(x V) (h, l V) {
	m, e, j := split(x, true)
	var hi, lo V
	f1 := Msub(lookup("logRecip", j), m, c(1))
	if early {
		hi, lo = AddMul(lookup("logHi", j), e, named("ln2Hi")), AddMul(lookup("logLo", j), e, named("ln2Lo"))
	}
	i := Madd(Copy(f1), c(128), c(Magic))
	g := lookup("powRecip", i)
	if early {
		hi, lo = Add(hi, lookup("powHi", i)), Add(lo, lookup("powLo", i))
	}
	p := Mul(f1, g)
	fl := Msub(f1, g, p)
	g = Sub(g, c(1))
	f := Add(p, g)
	fl = Add(fl, Sub(p, Sub(f, g)))
	f2 := Mul(f, f)
	f2l := Msub(Copy(f), f, f2)
	q := polynomial(num["powPoly"], f, f2)
	if l = lo; !early {
		l = Add(AddMul(lookup("logLo", j), e, named("ln2Lo")), lookup("powLo", i))
	}
	l = Madd(q, Mul(f2, f), l)
	l = Add(AddMul(l, f2l, c(-0.5)), Nmadd(Copy(fl), f, fl))
	s := hi
	if !early {
		s = Add(AddMul(lookup("logHi", j), e, named("ln2Hi")), lookup("powHi", i))
	}
	t := Add(s, f)
	l = Add(l, Sub(f, Sub(t, s)))
	h = AddMul(Copy(t), f2, c(-0.5))
	l = Add(l, AddMul(Sub(t, h), f2, c(-0.5)))
	s = Add(h, l)
	return s, Sub(l, Sub(s, h))
}
