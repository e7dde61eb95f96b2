package main

import . "nabla/kernels/_asm/kit"

// erfcxFrom is that of generic_mills.go.
const erfcxFrom = -1

// mills writes erfcx, and the last parts of the logarithm of the normal distribution function and of its derivative.
func mills() {
	inPairs(Map{
		Name: "erfcx", Args: "x",
		Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = ErfcxOf(x) }\n\n" +
			"up to the first turn with an argument that is not from 1/2 to 32; it returns how many it did.",
		Setup: func() {
			setup(nil, nil)
			erfcTable = tableOf("erfcRows", columnsOf("erfcxTable")...)
		},
		Stop: func(x []V) { StopIf(Compare(x[0], NLT, c(32)), Compare(x[0], LT, c(0.5))) },
	}, func(x [][]V) []V {
		t, l := erfcxParts(firsts(x))
		return each(t, func(i int, t V) V { return Add(t, l[i]) })
	})
	for _, f := range []struct {
		name, args string
		body       func(x []V) V
	}{{"logNormCdfBy", "x, log, right", logNormCdfBy}, {"hazardBy", "x, far, right", hazardBy}} {
		Map{
			Name: f.name, Args: f.args, Unroll: 2, Lag: 0.5,
			Doc:   "\tfor i, x := range x[:len(dst)] { dst[i] = " + f.name + "Of(x, " + f.args[3:len(f.args)-len(", right")] + "[i], right[i]) }",
			Setup: func() { setup(nil, nil) },
			Body:  func(x []V) []V { return []V{f.body(x)} },
		}.Write()
	}
}

func logNormCdfBy(x []V) V {
	a, log, right := x[0], x[1], x[2]
	half := Mul(a, c(-0.5))
	tail := Mul(half, a)
	x2 := Mul(a, a)
	l := Msub(Copy(a), a, x2)
	s, e := twoSum(log, Mul(x2, c(-0.5)))
	y := Add(s, Sub(e, Mul(l, c(0.5))))
	y = Set(y, Compare(a, LT, c(-0x1p500)), tail)
	return Set(y, Compare(a, GT, c(erfcxFrom)), right)
}

func hazardBy(x []V) V {
	a, far, right := x[0], x[1], x[2]
	p := Mul(a, named("sqrtHalfHi"))
	zl := Msub(Copy(named("sqrtHalfHi")), a, p)
	AddMul(zl, a, named("sqrtHalfLo"))
	h := Div(Copy(c(2*num["rootHi"][0])), far)
	u := Madd(Copy(c(-2*num["sqrtHalfHi"][0])), h, Mul(p, c(-2)))
	zl = Negative(zl)
	y := Nmadd(Mul(zl, u), h, h)
	y = Set(y, Compare(a, LT, c(-0x1p27)), Negative(a))
	return Set(y, Compare(a, GT, c(erfcxFrom)), right)
}
