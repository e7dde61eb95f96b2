package main

import (
	"fmt"
	"math"
	"math/bits"

	"nabla/kernels/_asm/kit"
)

var exponents = []float64{
	5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
	-2, -3, -4, -5, -6, -7, -8, -9, -10,
	0.5, 1.5, 2.5, 3.5,
	-0.5, -1.5, -2.5, -3.5,
}

var (
	half     = &constant{bits: 0x3fe << 52}
	minusInf = &constant{bits: 0xfff << 52}
)

// powers are the kernels of powers. AVX-512 takes those of AVX2, and arm64 those of Go: neither was at hand.
func powers() {
	if kit.Wide || kit.Neon {
		return
	}
	for _, p := range exponents {
		name := powerName(p)
		of := "P" + name[1:] + "Of"
		consts, body := use(sign), func(x v) v { return wholePower(x, int(p)) }
		switch {
		case p < 0 && p == math.Floor(p):
			consts = use(unit, sign)
		case p != math.Floor(p):
			consts, body = use(half, unit, inf, minusInf, rest), func(x v) v { return halfPower(x, int(2*p)) }
		}
		kit.Map{
			Name: name, Of: of, Args: "x",
			Doc:   "\tfor i := range dst { dst[i] = " + of + "(x[i]) }",
			Setup: func() { load(consts) },
			Body:  func(x []v) []v { return []v{body(x[0])} },
		}.Write()
	}
}

// powerName is power5, powerMinus2, powerHalf or power3Halves.
func powerName(p float64) string {
	name := "power"
	if p < 0 {
		name, p = name+"Minus", -p
	}
	switch {
	case p == 0.5:
		return name + "Half"
	case p != math.Floor(p):
		return fmt.Sprint(name, 2*p, "Halves")
	}
	return fmt.Sprint(name, p)
}

// A pair is a number and what it lost in rounding; nil: nothing.
type pair struct{ h, l v }

func wholePower(x v, n int) v {
	y := pair{x, nil}
	if n < 0 {
		q := kit.Div(unit.v, x)
		y = pair{q, kit.Mul(kit.SubMul(kit.Copy(unit.v), q, x), q)}
		n = -n
	}
	y = y.power(n)
	z := y.sum()
	if n%2 != 0 {
		return kit.Or(z, kit.And(x, sign.v))
	}
	return z
}

func halfPower(x v, n int) v {
	x = kit.Set(kit.Copy(x), kit.Compare(x, kit.EQ, minusInf.v), inf.v)
	s := kit.Sqrt(x)
	if n == 1 {
		return abs(s)
	}
	q := kit.Div(unit.v, s)
	lost := kit.Mul(kit.Mul(kit.SubMul(kit.Copy(x), s, s), half.v), q)
	if n < 0 {
		l := kit.SubMul(kit.SubMul(kit.Copy(unit.v), q, s), q, lost)
		return abs(pair{q, kit.Mul(l, q)}.power(-n).sum())
	}
	y := pair{s, lost}
	for range n / 2 {
		y = y.times(pair{x, nil})
	}
	return abs(y.sum())
}

// power is the power n, at least 1, by repeated squares.
func (x pair) power(n int) pair {
	y := x
	for bit := bits.Len(uint(n)) - 2; bit >= 0; bit-- {
		p := kit.Mul(y.h, y.h)
		l := kit.Msub(kit.Copy(y.h), y.h, p)
		if y.l != nil {
			l = kit.AddMul(l, kit.Add(y.h, y.h), y.l)
		}
		y = pair{p, l}
		if n>>bit&1 != 0 {
			y = y.times(x)
		}
	}
	return y
}

func (x pair) times(y pair) pair {
	p := kit.Mul(x.h, y.h)
	l := kit.Msub(kit.Copy(x.h), y.h, p)
	if x.l != nil {
		l = kit.AddMul(l, x.l, y.h)
	}
	if y.l != nil {
		l = kit.AddMul(l, x.h, y.l)
	}
	return pair{p, l}
}

// sum is the pair rounded once; its number alone where that is not finite.
func (x pair) sum() v {
	z := kit.Add(x.h, x.l)
	return kit.Choose(kit.Compare(z, kit.UN, z), x.h, z)
}
