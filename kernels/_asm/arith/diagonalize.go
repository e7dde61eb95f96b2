package main

import . "nabla/kernels/_asm/kit"

// diagonalized is the Body of DiagonalizeOf.
func diagonalized(x []V) []V {
	p, q, o, much := x[0], x[1], x[2], x[3]
	one, zero := Number(1), Number(0)
	h := Sub(q, p)
	zeta := Div(Mul(h, Number(0.5)), o)
	size := Abs(zeta)
	t := Div(WithSign(Copy(one), zeta), Add(size, Sqrt(Madd(Copy(zeta), zeta, one))))
	t = Choose(Compare(size, LT, Number(0x1p500)), t, Div(Copy(Number(0.5)), zeta))
	c := Div(Copy(one), Sqrt(Madd(Copy(t), t, one)))
	s := Mul(t, c)
	t = Div(s, c)
	finite := Compare(size, LT, Word(0x7ff<<52))
	s, t = Where(finite, s), Choose(finite, t, Div(o, h))
	tau := Div(s, Add(c, one))

	g := Mul(Abs(o), much)
	same := func(x V) Bool { x = Abs(x); return Compare(Add(x, g), EQ, x) }
	busy := Without(Compare(o, NE, zero), Both(same(p), same(q)))
	return []V{
		Choose(busy, SubMul(Copy(p), t, o), p), Choose(busy, AddMul(Copy(q), t, o), q), Copy(zero), Where(busy, s), Where(busy, tau),
	}
}
