package main

import (
	"fmt"
	"math"
	"math/bits"

	. "nabla/kernels/_asm/kit"
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
	if Wide || Neon {
		return
	}
	for _, p := range exponents {
		name := powerName(p)
		of := "P" + name[1:] + "Of"
		consts, body := use(sign), func(x V) V { return wholePower(x, int(p)) }
		switch {
		case p < 0 && p == math.Floor(p):
			consts = use(unit, sign)
		case p != math.Floor(p):
			consts, body = use(half, unit, inf, minusInf, rest), func(x V) V { return halfPower(x, int(2*p)) }
		}
		Map{
			Name: name, Of: of, Args: "x",
			Doc:   "\tfor i := range dst { dst[i] = " + of + "(x[i]) }",
			Setup: func() { load(consts) },
			Body:  func(x []V) []V { return []V{body(x[0])} },
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
type pair struct{ h, l V }

func wholePower(x V, n int) V {
	y := pair{x, nil}
	if n < 0 {
		q := Div(unit.v, x)
		y = pair{q, Mul(SubMul(Copy(unit.v), q, x), q)}
		n = -n
	}
	y = y.power(n)
	z := y.sum()
	if n%2 != 0 {
		return Or(z, And(x, sign.v))
	}
	return z
}

func halfPower(x V, n int) V {
	x = Set(Copy(x), Compare(x, EQ, minusInf.v), inf.v)
	s := Sqrt(x)
	if n == 1 {
		return abs(s)
	}
	q := Div(unit.v, s)
	lost := Mul(Mul(SubMul(Copy(x), s, s), half.v), q)
	if n < 0 {
		l := SubMul(SubMul(Copy(unit.v), q, s), q, lost)
		return abs(pair{q, Mul(l, q)}.power(-n).sum())
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
		p := Mul(y.h, y.h)
		l := Msub(Copy(y.h), y.h, p)
		if y.l != nil {
			l = AddMul(l, Add(y.h, y.h), y.l)
		}
		y = pair{p, l}
		if n>>bit&1 != 0 {
			y = y.times(x)
		}
	}
	return y
}

func (x pair) times(y pair) pair {
	p := Mul(x.h, y.h)
	l := Msub(Copy(x.h), y.h, p)
	if x.l != nil {
		l = AddMul(l, x.l, y.h)
	}
	if y.l != nil {
		l = AddMul(l, x.h, y.l)
	}
	return pair{p, l}
}

// sum is the pair rounded once; its number alone where that is not finite.
func (x pair) sum() V {
	z := Add(x.h, x.l)
	return Choose(Compare(z, UN, z), x.h, z)
}
