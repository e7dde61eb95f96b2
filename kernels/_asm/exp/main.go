// Command exp writes the exponential, logarithmic and hyperbolic kernels: the
// arithmetic of generic_exp.go, generic_log.go, generic_pow.go and
// generic_hyper.go, operation by operation.
package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

func main() {
	kit.Start()
	for _, f := range []struct {
		name   string
		tables []group
		hold   []float64 // constants for registers; then there are none for a second vector
		body   func(x v) v
	}{
		{"exp", []group{exps}, expHold(720, -760, 1.0/16), expOf},
		{"exp2", []group{exps}, expHold(1040, -1100, 1.0/16), exp2Of},
		{"expm1", []group{exps}, nil, expm1Of},
		{"log", []group{logs}, logHold("log"), logOf},
		{"log1p", []group{logs}, nil, log1pOf},
		{"log2", []group{{"logRecip", "log2Hi", "log2Lo"}}, logHold("log2"), log2Of},
		{"log10", []group{{"logRecip", "log10Hi", "log10Lo"}}, logHold("log10"), log10Of},
		{"sigmoid", []group{exps}, nil, sigmoidOf},
		{"softplus", []group{exps, logs}, nil, softplusOf},
		{"sinh", []group{exps}, nil, sinhOf},
		{"cosh", []group{exps}, nil, coshOf},
		{"tanh", []group{exps}, nil, tanhOf},
		{"sech2", []group{exps}, nil, sech2Of},
		{"sigmoidSlope", []group{exps}, nil, sigmoidSlopeOf},
		{"asinh", []group{logs}, nil, asinhOf},
		{"acosh", []group{logs}, nil, acoshOf},
		{"atanh", []group{logs}, nil, atanhOf},
	} {
		together := 1
		if kit.Wide && f.hold == nil {
			together = 2
		}
		kit.Map{
			Name: f.name, Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = " + title(f.name) + "Of(x) }",
			Args:     "x",
			Setup:    func() { setup(f.tables, f.hold) },
			Unroll:   together,
			Together: func(x [][]kit.V) [][]kit.V { return rows(f.body(column(x, 0))) },
			Body:     func(x []kit.V) []kit.V { return rows(f.body(column([][]kit.V{x}, 0)))[0] },
		}.Write()
	}
	for _, f := range []struct {
		name, d string
		group   group
		body    func(x v) (y, d v)
	}{
		{"log1pRecip", "Log1pRecipOf(x)", logs, log1pRecip},
		{"tanhSech2", "TanhOf(x), Sech2Of(x)", exps, tanhSech2Of},
		{"sigmoidTwin", "SigmoidOf(x), SigmoidSlopeOf(x)", exps, sigmoidTwinOf},
	} {
		kit.Map{
			Name: f.name, Doc: "\tfor i, x := range x[:len(y)] { y[i], d[i] = " + f.d + " }",
			Dst: "y, d", Args: "x", Unroll: 2 * kit.Lanes / 8,
			Setup:    func() { setup([]group{f.group}, nil) },
			Together: func(x [][]kit.V) [][]kit.V { return rows(f.body(column(x, 0))) },
			Body:     func(x []kit.V) []kit.V { return rows(f.body(column([][]kit.V{x}, 0)))[0] },
		}.Write()
	}
	pow()
	writeConstants()
	Generate()
}

// column is the i-th argument of every vector; rows are the results of every vector.
func column(x [][]kit.V, i int) v {
	width = len(x)
	var z v
	for _, r := range x {
		z = append(z, r[i])
	}
	return z
}

func rows(ys ...v) [][]kit.V {
	out := make([][]kit.V, width)
	for _, y := range ys {
		for i, r := range y {
			out[i] = append(out[i], r)
		}
	}
	return out
}

func title(s string) string { return string(s[0]-'a'+'A') + s[1:] }

// A group is tables that are looked up by the same index.
type group []string

var (
	exps = group{"expTable", "expOffset"}
	logs = group{"logRecip", "logHi", "logLo"}
	pows = group{"powRecip", "powHi", "powLo"}
)

func expHold(xs ...float64) []float64 {
	return append(append([]float64{magic, num["invLn2x16"][0], num["ln2by16Hi"][0], num["ln2by16Lo"][0]}, num["expPoly"]...), xs...)
}

func logHold(name string) []float64 {
	return append([]float64{1}, num[name+"Poly"]...)
}

// lookup is the row of a table for every lane of n, which is taken modulo sixteen.
var lookup func(table string, n v) v

// setup makes tables ready, and on AVX-512 keeps constants in registers.
func setup(groups []group, xs []float64) {
	held = map[uint64]kit.V{}
	if kit.Wide || len(groups) > 1 { // rows want registers that long kernels lack
		tables := map[string]kit.Table{}
		for _, g := range groups {
			for _, t := range g {
				tables[t] = kit.Lookup16(t, num[t])
			}
		}
		lookup = func(t string, n v) v {
			z := make(v, len(n))
			for i := range z {
				z[i] = tables[t].At(n[i])
			}
			return z
		}
	} else {
		type place struct {
			rows   kit.Rows
			column int
		}
		type row struct {
			rows kit.Rows
			n    kit.V
		}
		places, read := map[string]place{}, map[row]func(int) kit.V{}
		for _, g := range groups {
			var columns [][]float64
			for _, t := range g {
				columns = append(columns, num[t])
			}
			rows := kit.LookupRows(strings.Join(g, "_"), columns...)
			for i, t := range g {
				places[t] = place{rows, i}
			}
		}
		lookup = func(t string, n v) v {
			p := places[t]
			r := row{p.rows, n[0]}
			if read[r] == nil {
				read[r] = p.rows.At(n[0])
			}
			return v{read[r](p.column)}
		}
	}
	findConstants()
	if kit.Wide {
		width = 1
		hold(xs...)
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

func clamp(x v, lo, hi float64) v { return min(max(x, c(lo)), c(hi)) }

func twoSum(x, y operand) (s, e v) {
	s = add(x, y)
	t := sub(s, x)
	return s, add(sub(x, sub(s, t)), sub(y, t))
}

// reduce is n = round(x*16/ln2), as a number that has magic added and as it is.
func reduce(x v, by Op) (n, nf v) {
	n = madd(load(by), x, c(magic))
	return n, sub(n, c(magic))
}

// expCore is exp(x+xl) = 2^floor(n/16) * (t + b + bl), n with magic added; xl may
// be nil.
func expCore(x, xl v) (t, b, bl, n v) {
	n, nf := reduce(x, k("invLn2x16"))
	r := subMul(load(x), nf, k("ln2by16Hi"))
	r = sub(r, lookup("expOffset", n))
	var s, sl v
	if xl == nil {
		s = subMul(load(r), nf, k("ln2by16Lo"))
		sl = subMul(sub(r, s), nf, k("ln2by16Lo"))
	} else {
		l := subMul(load(xl), nf, k("ln2by16Lo"))
		s = add(r, l)
		sl = sub(l, sub(s, r))
	}
	s2 := mul(s, s)
	w := madd(polynomial(num["expPoly"], s, s2), s2, sl)
	t = lookup("expTable", n)
	a := mul(t, s)
	tail := madd(w, t, msub(s, t, a))
	b = add(a, tail)
	return t, b, sub(tail, sub(b, a)), n
}

// pair is t + b + bl = h + l.
func pair(t, b, bl v) (h, l v) {
	h = add(t, b)
	return h, add(sub(b, sub(h, t)), bl)
}

// scale is y * 2^(sign*floor(n/16) + plus), n with magic added.
func scale(y, n v, sign, plus float64) v {
	if kit.Wide {
		// VSCALEF rounds the exponent down, which is right for +n only.
		if sign < 0 {
			n = andInt(n, bits(^uint64(15)))
		}
		e := sub(n, c(magic))
		if plus == 0 {
			e = mul(e, c(sign/16))
		} else {
			madd(e, c(sign/16), c(plus))
		}
		return two(VSCALEFPD, y, e)
	}
	e := shiftLeft(andInt(n, bits(^uint64(15))), 48)
	if sign < 0 {
		e = subInt(bits(uint64(int64(plus)<<52)), e)
	} else if plus != 0 {
		e = addInt(e, bits(uint64(int64(plus)<<52)))
	}
	return scaleBits(y, e)
}

// scaleBits is y * 2^e for AVX2, e being in the place of an exponent: two steps, the
// first exact.
func scaleBits(y, e v) v {
	half := andInt(one(imm(1, VPSRAD), e), bits(uint64(0xfff)<<52))
	rest := subInt(e, half)
	return mul(mul(y, addInt(half, c(1))), addInt(rest, c(1)))
}

// power is 2^-floor(n/16), at least 2^-100.
func power(n v) v {
	e := shiftLeft(andInt(n, bits(^uint64(15))), 48)
	return subInt(c(1), two(VPMINSD, e, bits(100<<52)))
}

func expOf(x v) v {
	x = clamp(x, -760, 720)
	n, nf := reduce(x, k("invLn2x16"))
	r := subMul(load(x), nf, k("ln2by16Hi"))
	r = sub(r, lookup("expOffset", n))
	subMul(r, nf, k("ln2by16Lo"))
	return expScaled(r, n, nf)
}

func exp2Of(x v) v {
	x = clamp(x, -1100, 1040)
	n, nf := reduce(x, c(16))
	r := subMul(load(x), nf, c(0.0625))
	r = msub(r, c(num["ln2"][0]), lookup("expOffset", n))
	return expScaled(r, n, nf)
}

func expScaled(r, n, nf v) v {
	r2 := mul(r, r)
	p := madd(polynomial(num["expPoly"], r, r2), r2, r)
	t := lookup("expTable", n)
	y := madd(p, t, t)
	if kit.Wide {
		return two(VSCALEFPD, y, mul(nf, c(1./16)))
	}
	return scale(y, n, 1, 0)
}

func expm1Of(x v) v {
	t, b, bl, n := expCore(clamp(x, -40, 720), nil)
	u, e := twoSum(t, negative(power(n)))
	h := add(u, b)
	y := add(h, add(sub(b, sub(h, u)), add(bl, e)))
	return withSign(scale(y, n, 1, 0), x)
}
