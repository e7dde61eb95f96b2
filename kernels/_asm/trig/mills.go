package main

import "nabla/kernels/_asm/kit"

// erfcxFrom is that of generic_mills.go.
const erfcxFrom = -1

// mills writes erfcx, and the last parts of the logarithm of the normal distribution function and of its derivative.
func mills() {
	inPairs(kit.Map{
		Name: "erfcx", Args: "x",
		Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = ErfcxOf(x) }\n\n" +
			"up to the first turn with an argument that is not from 1/2 to 32; it returns how many it did.",
		Setup: func() {
			setup(nil, nil)
			erfcTable = tableOf("erfcRows", columnsOf("erfcxTable")...)
		},
		Stop: func(x []v) { stopIf(cmp(x[0], nlt, c(32)), cmp(x[0], lt, c(0.5))) },
	}, func(x [][]v) []v {
		t, l := erfcxParts(firsts(x))
		return each(t, func(i int, t v) v { return add(t, l[i]) })
	})
	for _, f := range []struct {
		name, args string
		body       func(x []v) v
	}{{"logNormCdfBy", "x, log, right", logNormCdfBy}, {"hazardBy", "x, far, right", hazardBy}} {
		kit.Map{
			Name: f.name, Args: f.args, Unroll: 2, Lag: 0.5,
			Doc:   "\tfor i, x := range x[:len(dst)] { dst[i] = " + f.name + "Of(x, " + f.args[3:len(f.args)-len(", right")] + "[i], right[i]) }",
			Setup: func() { setup(nil, nil) },
			Body:  func(x []v) []v { return []v{f.body(x)} },
		}.Write()
	}
}

func logNormCdfBy(x []v) v {
	a, log, right := x[0], x[1], x[2]
	half := mul(a, c(-0.5))
	tail := mul(half, a)
	x2 := mul(a, a)
	l := msub(mov(a), a, x2)
	s, e := twoSum(log, mul(x2, c(-0.5)))
	y := add(s, sub(e, mul(l, c(0.5))))
	y = set(y, cmp(a, lt, c(-0x1p500)), tail)
	return set(y, cmp(a, gt, c(erfcxFrom)), right)
}

func hazardBy(x []v) v {
	a, far, right := x[0], x[1], x[2]
	p := mul(a, num1("sqrtHalfHi"))
	zl := msub(load(num1("sqrtHalfHi")), a, p)
	addMul(zl, a, num1("sqrtHalfLo"))
	h := div(load(c(2*num["rootHi"][0])), far)
	u := madd(load(c(-2*num["sqrtHalfHi"][0])), h, mul(p, c(-2)))
	zl = kit.Negative(zl)
	y := nmadd(mul(zl, u), h, h)
	y = set(y, cmp(a, lt, c(-0x1p27)), kit.Negative(a))
	return set(y, cmp(a, gt, c(erfcxFrom)), right)
}
