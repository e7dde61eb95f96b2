// Command exp writes the exponential, logarithmic and hyperbolic kernels: the
// arithmetic of generic_exp.go, generic_log.go, generic_pow.go and
// generic_hyper.go, operation by operation.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

func main() {
	kit.Start()
	for _, f := range []struct {
		name   string
		tables []string
		body   func(x v) v
	}{
		{"exp", exps, expOf},
		{"exp2", exps, exp2Of},
		{"expm1", exps, expm1Of},
		{"log", logs, logOf},
		{"log1p", logs, log1pOf},
		{"log2", []string{"logRecip", "log2Hi", "log2Lo"}, log2Of},
		{"log10", []string{"logRecip", "log10Hi", "log10Lo"}, log10Of},
		{"sigmoid", exps, sigmoidOf},
		{"softplus", append(append([]string{}, exps...), logs...), softplusOf},
		{"sinh", exps, sinhOf},
		{"cosh", exps, coshOf},
		{"tanh", exps, tanhOf},
		{"sech2", exps, sech2Of},
		{"asinh", logs, asinhOf},
		{"acosh", logs, acoshOf},
		{"atanh", logs, atanhOf},
	} {
		kit.Map{
			Name: f.name, Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = " + title(f.name) + "Of(x) }",
			Args:  "x",
			Setup: func() { setup(f.tables) },
			Body:  func(x []v) []v { return []v{f.body(x[0])} },
		}.Write()
	}
	Generate()
}

func title(s string) string { return string(s[0]-'a'+'A') + s[1:] }

var (
	exps = []string{"expHi", "expLo"}
	logs = []string{"logRecip", "logHi", "logLo"}
)

// table is the tables of the kernel being written.
var table map[string]kit.Table

func setup(names []string) {
	table = map[string]kit.Table{}
	for _, n := range names {
		table[n] = kit.Lookup16(n, num[n])
	}
}

// polynomial is p(x), even and odd powers apart; x2 is x*x.
func polynomial(p []float64, x, x2 v) v {
	var half [2]v
	for i := len(p) - 1; i >= 0; i-- {
		if h := &half[i%2]; i >= len(p)-2 {
			*h = load(c(p[i]))
		} else {
			madd(*h, x2, c(p[i]))
		}
	}
	return madd(half[1], x, half[0])
}

func clamp(x v, lo, hi float64) v { return min(max(x, load(c(lo))), load(c(hi))) }

// sum3 is sum3 of generic_exp.go; z is lost.
func sum3(x, y, z v) (h, l v) {
	s, z := sumFast(x, y, z)
	h = add(s, z)
	return h, sub(z, sub(h, s))
}

// sumFast is x + y + z = s + e, not normalised.
func sumFast(x, y, z v) (s, e v) {
	s = add(x, y)
	return s, add(z, sub(y, sub(s, x)))
}

func twoSum(x, y v) (s, e v) {
	s = add(x, y)
	t := sub(s, x)
	return s, add(sub(x, sub(s, t)), sub(y, t))
}

// reduce is n = round(x*16/ln2), as a number that has magic added and as it is.
func reduce(x v, by Mem) (n, nf v) {
	n = madd(load(by), x, c(magic))
	return n, sub(n, c(magic))
}

// expParts is exp(x+xl) = 2^(n/16) ...; xl may be nil.
func expParts(x v, xl v) (t, a, tail, n v) {
	n, nf := reduce(x, k("invLn2x16"))
	r := subMul(mov(x), nf, k("ln2by16Hi"))
	var rl v
	if xl == nil {
		rl = mul(nf, c(-num["ln2by16Lo"][0]))
	} else {
		rl = subMul(mov(xl), nf, k("ln2by16Lo"))
	}
	s := add(r, rl)
	rl = sub(rl, sub(s, r))
	s2 := mul(s, s)
	tail = madd(polynomial(num["expPoly"], s, s2), s2, rl)
	t = table["expHi"].At(n)
	a = mul(t, s)
	l := table["expLo"].At(n)
	l = addMul(mov(l), l, s)
	tail = add(madd(tail, t, l), msub(s, t, a))
	return t, a, tail, n
}

// scale is y * 2^(sign*floor(n/16) + plus), n with magic added.
func scale(y, n v, sign, plus float64) v {
	z := kit.New()
	whole := andInt(n, kit.Bits(^uint64(15)))
	if kit.Wide {
		VSUBPD(c(magic), whole, whole)
		if plus == 0 {
			VMULPD(c(sign/16), whole, whole)
		} else {
			VFMADD213PD(c(plus), load(c(sign/16)), whole)
		}
		VSCALEFPD(whole, y, z)
		return z
	}
	e := shiftLeft(whole, 48)
	if sign < 0 {
		e = subInt(kit.Bits(uint64(int64(plus)<<52)), e)
	} else if plus != 0 {
		e = addInt(e, kit.Bits(uint64(int64(plus)<<52)))
	}
	return scaleBits(y, e)
}

// scaleBits is y * 2^e for AVX2, e being in the place of an exponent: two steps, the
// first exact.
func scaleBits(y, e v) v {
	half := kit.New()
	VPSRAD(U8(1), e, half)
	half = andInt(half, kit.Bits(uint64(0xfff)<<52))
	rest := kit.New()
	VPSUBQ(half, e, rest)
	one := kit.Float(1)
	return mul(mul(y, addInt(half, one)), addInt(rest, one))
}

// power is 2^-floor(n/16), at least 2^-100.
func power(n v) v {
	e := shiftLeft(andInt(n, kit.Bits(^uint64(15))), 48)
	VPMINSD(kit.Bits(100<<52), e, e)
	return subInt(kit.Float(1), e)
}

func expOf(x v) v {
	x = clamp(x, -760, 720)
	n, nf := reduce(x, k("invLn2x16"))
	r := subMul(mov(x), nf, k("ln2by16Hi"))
	subMul(r, nf, k("ln2by16Lo"))
	return expScaled(r, n, nf)
}

func exp2Of(x v) v {
	x = clamp(x, -1100, 1040)
	n, nf := reduce(x, c(16))
	r := mul(subMul(mov(x), nf, c(0.0625)), k("ln2"))
	return expScaled(r, n, nf)
}

func expScaled(r, n, nf v) v {
	r2 := mul(r, r)
	p := madd(polynomial(num["expPoly"], r, r2), r2, r)
	t, l := table["expHi"].At(n), table["expLo"].At(n)
	y := add(t, madd(p, t, l))
	if kit.Wide {
		z := kit.New()
		VSCALEFPD(mul(nf, c(0.0625)), y, z) // VSCALEF rounds n/16 down
		return z
	}
	return scale(y, n, 1, 0)
}

// minus1 is 2^(n/16) (t + a + tail) - 1, d = power(n).
func minus1(t, a, tail, d v) (h, l v) {
	s, e := twoSum(t, xor(d, kit.Bits(signBit)))
	return sum3(s, a, add(e, tail))
}

func expm1Of(x v) v {
	t, a, tail, n := expParts(clamp(x, -40, 720), nil)
	h, _ := minus1(t, a, tail, power(n))
	return withSign(scale(h, n, 1, 0), x)
}
