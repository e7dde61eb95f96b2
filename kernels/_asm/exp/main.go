// Command exp writes the exponential, logarithmic and hyperbolic kernels: the
// arithmetic of generic_exp.go, generic_log.go, generic_pow.go and
// generic_hyper.go, operation by operation.
package main

import (
	"math"
	"slices"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

func main() {
	kit.Start()
	if kit.Single {
		singles()
		return
	}
	for _, f := range []struct {
		name   string
		tables []group
		hold   []float64 // constants to keep in registers
		lag    float64   // how far each vector runs behind the one before, the least for which there are registers
		body   func(x v) v
		check  func(x v) // of ordinary arguments
	}{
		{"exp", []group{exp1}, expHold(720, expLeast), 0, expOf, sized(0, 690)},
		{"exp2", []group{exp1}, expHold(1040, exp2Least), 0, exp2Of, sized(0, 1000)},
		{"expm1", []group{exps}, nil, 0.24, expm1Of, sized(0, 40)},
		{"log", []group{logs}, logHold("log"), 0, logOf, positive},
		{"log1p", []group{logs}, nil, 0.4, log1pOf, aboveMinusOne},
		{"log2", []group{{"logRecip", "log2Hi", "log2Lo"}}, logHold("log2"), 0, log2Of, positive},
		{"log10", []group{{"logRecip", "log10Hi", "log10Lo"}}, logHold("log10"), 0, log10Of, positive},
		{"sigmoid", []group{exps}, nil, 0.26, sigmoidOf, sized(0, 690)},
		{"softplus", []group{exps, logs}, nil, 0.36, softplusOf, sized(0, 100)},
		{"sinh", []group{exps}, nil, 0.26, sinhOf, sized(0x1p-900, 690)},
		{"cosh", []group{exps}, nil, 0.22, coshOf, sized(0, 690)},
		{"tanh", []group{exps}, nil, 0.22, tanhOf, sized(0, 30)},
		{"sech2", []group{exps}, nil, 0.24, sech2Of, sized(0, 340)},
		{"sigmoidSlope", []group{exps}, nil, 0.24, sigmoidSlopeOf, sized(0, 690)},
		{"asinh", []group{logs}, nil, 0.28, asinhOf, sized(tiny, huge)},
		{"acosh", []group{logs}, nil, 0.28, acoshOf, func(x v) { kit.Within(x, 1.0625, huge) }},
		{"atanh", []group{logs}, nil, 0.3, atanhOf, sized(tiny, 1)},
	} {
		write(kit.Map{
			Name: f.name, Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = " + title(f.name) + "Of(x) }",
			Dst:   "dst",
			Of:    title(f.name) + "Of",
			Setup: func() { setup(f.tables, f.hold) },

			Cases: []func(x []v){func(x []v) { f.check(x[0]) }},
		}, f.lag, func(x v) []v { return []v{f.body(x)} })
	}
	for _, f := range []struct {
		name, d string
		group   group
		lag     float64
		body    func(x v) (y, d v)
		check   func(x v)
	}{
		{"log1pTwin", "Log1pTwinOf(x)", logs, 0.4, log1pTwin, aboveMinusOne},
		{"tanhSech2", "TanhSech2Of(x)", exps, 0.28, tanhSech2Of, sized(0, 30)},
		{"sigmoidTwin", "SigmoidTwinOf(x)", exps, 0.3, sigmoidTwinOf, sized(0, 690)},
	} {
		write(kit.Map{
			Name: f.name, Doc: "\tfor i, x := range x[:len(y)] { y[i], d[i] = " + f.d + " }",
			Dst:   "y, d",
			Of:    title(f.name) + "Of",
			Setup: func() { setup([]group{f.group}, nil) },

			Cases: []func(x []v){func(x []v) { f.check(x[0]) }},
		}, f.lag, func(x v) []v { y, d := f.body(x); return []v{y, d} })
	}
	write(kit.Map{
		Name: "logTwin", Doc: "\tfor i, x := range x[:len(y)] { y[i], rest[i] = logTwinOf(x) }",
		Dst:   "y, rest",
		Setup: func() { setup([]group{logs}, nil) },
	}, 0.4, logTwinOf)
	pow()
	kit.Finish()
}

// write writes a kernel of one argument; on AVX-512 eight bodies stagger if there is a lag.
func write(m kit.Map, lag float64, body func(x v) []v) {
	m.Args = "x"
	m.Body = func(x []v) []v { return body(x[0]) }
	if lag > 0 {
		m.Unroll, m.Lag = 8, lag
	}
	m.Write()
}

func title(s string) string { return string(s[0]-'a'+'A') + s[1:] }

// A group is tables that are looked up by the same index.
type group []string

var (
	exps = group{"expTable", "expStep"}
	exp1 = group{"expTable", "expOffset"}
	logs = group{"logRecip", "logHi", "logLo"}
	pows = group{"powRecip", "powHi", "powLo"}
)

func expHold(xs ...float64) []float64 {
	return append(append([]float64{sixteenths, num["invLn2x16"][0] / 16, 16 * num["ln2by16Hi"][0], 16 * num["ln2by16Lo"][0]}, num["expPoly"]...), xs...)
}

func logHold(name string) []float64 {
	return append([]float64{1}, num[name+"Poly"]...)
}

// lookup is the row of a table for every lane of n, which is taken modulo sixteen.
var lookup func(table string, n v) v

// setup makes tables ready, and on AVX-512 keeps constants in registers. For AVX2 two groups are rows where
// they say so by a column "", of nothing.
func setup(groups []group, xs []float64) {
	if kit.Wide && len(groups) > 2 { // half of every table stays in memory
		half := map[string]kit.V{}
		for _, g := range groups {
			for _, t := range g {
				half[t] = load(kit.Floats(t, num[t]...))
			}
		}
		lookup = func(t string, n v) v {
			z := kit.New()
			kit.Do(func() {
				VMOVAPD(n, z)
				VPERMI2PD(kit.Floats(t, num[t]...).Offset(64), half[t], z)
			}, n, z)
			return z
		}
	} else if kit.Wide || !kit.Neon && len(groups) > 1 && !slices.Contains(groups[0], "") { // rows want registers that long kernels lack
		tables := map[string]kit.Table{}
		for _, g := range groups {
			for _, t := range g {
				tables[t] = kit.Lookup16(t, num[t])
			}
		}
		lookup = func(t string, n v) v {
			z := kit.New()
			kit.Do(func() { tables[t].Into(n, z) }, n, z)
			return z
		}
	} else {
		type place struct {
			rows          kit.Rows
			group, column int
		}
		type row struct {
			group int
			n     kit.V
		}
		places, read := map[string]place{}, map[row]func(int) kit.V{}
		var tables [][][]float64
		for _, g := range groups {
			var columns [][]float64
			for _, t := range g {
				columns = append(columns, num[t])
			}
			tables = append(tables, columns)
		}
		var shared []kit.Rows
		if len(groups) > 1 && !kit.Neon {
			shared = kit.LookupTables("tables", tables...)
		}
		for j, g := range groups {
			var rows kit.Rows
			if shared != nil {
				rows = shared[j]
			} else {
				rows = kit.LookupRows(strings.Join(g, "_"), tables[j]...)
			}
			for i, t := range g {
				places[t] = place{rows, j, i}
			}
		}
		lookup = func(t string, n v) v {
			p := places[t]
			r := row{p.group, n}
			if read[r] == nil {
				read[r] = p.rows.At(n)
			}
			return read[r](p.column)
		}
	}
	kit.FindConstants()
	kit.Hold(xs...)
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

// What is ordinary for the arguments of leaves: x, or |x|, within bounds.
func positive(x v) { kit.Within(x, 0x1p-1022, math.Inf(1)) }

func aboveMinusOne(x v) { positive(add(x, c(1))) }

func sized(lo, hi float64) func(x v) { return func(x v) { kit.WithinAbs(x, lo, hi) } }

// below, above and clamp keep x within bounds.
func below(x v, hi float64) v {
	if kit.Case > 0 {
		return x
	}
	return min(x, c(hi))
}

func above(x v, lo float64) v {
	if kit.Case > 0 {
		return x
	}
	return max(x, c(lo))
}

func clamp(x v, lo, hi float64) v { return below(above(x, lo), hi) }

func twoSum(x, y Op) (s, e v) {
	s = add(x, y)
	t := sub(s, x)
	return s, add(sub(x, sub(s, t)), sub(y, t))
}

// sixteenths added to a number rounds it to sixteenths: its bits are then those of magic
// and sixteen times the number, and the exponent comes out without a product.
const sixteenths = magic / 16

// reduce is n = round(x*16/ln2) with magic added, but for the exponent, and n/16.
func reduce(x v) (n, nf v) {
	n = madd(load(c(num["invLn2x16"][0]/16)), x, c(sixteenths))
	return n, sub(n, c(sixteenths))
}

// less is x less nf times a part of ln2, of which name is a sixteenth; x becomes the result.
func less(x, nf v, name string) v { return subMul(x, nf, c(16*num[name][0])) }

// An index is 16*floor(n/16), as n from reduce, and floor(n/16).
type index struct{ bits, whole v }

func newIndex(n v) index {
	w := andInt(n, bits(^uint64(15)))
	return index{w, sub(w, c(sixteenths))}
}

// expCore is exp(x) = 2^(i/16) * (t + b + bl) for x >= 0.
func expCore(x v) (t, b, bl v, i index) {
	n, nf := reduce(x)
	r := less(load(x), nf, "ln2by16Hi")
	r = sub(r, lookup("expStep", n))
	i = newIndex(n)
	less(r, i.whole, "ln2by16Lo")
	r2 := mul(r, r)
	w := mul(polynomial(num["expPoly"], r, r2), r2)
	t = lookup("expTable", n)
	b, bl = expTail(t, r, w)
	return t, b, bl, i
}

// expTail is t*(s + w) = b + bl.
func expTail(t, s, w v) (b, bl v) {
	a := mul(t, s)
	tail := madd(w, t, msub(s, t, a))
	b = add(a, tail)
	return b, sub(tail, sub(b, a))
}

// expCoreLong is exp(x+xl) likewise, for any x; xl may be nil.
func expCoreLong(x, xl v) (t, b, bl v, i index) {
	n, nf := reduce(x)
	r := less(load(x), nf, "ln2by16Hi")
	r = sub(r, lookup("expStep", n))
	i = newIndex(n)
	var l v
	if xl == nil {
		l = mul(i.whole, c(-16*num["ln2by16Lo"][0]))
	} else {
		l = less(load(xl), i.whole, "ln2by16Lo")
	}
	s := add(r, l)
	l = sub(l, sub(s, r))
	s2 := mul(s, s)
	w := madd(polynomial(num["expPoly"], s, s2), s2, l)
	t = lookup("expTable", n)
	b, bl = expTail(t, s, w)
	return t, b, bl, i
}

// pair is t + b + bl = h + l.
func pair(t, b, bl v) (h, l v) {
	h = add(t, b)
	return h, add(sub(b, sub(h, t)), bl)
}

// exponent is sign*i/16 + plus, for scale.
func (i index) exponent(sign, plus float64) v {
	if kit.Wide {
		switch {
		case sign < 0 && plus == 0:
			return sub(c(sixteenths), i.bits)
		case sign < 0:
			return sub(c(plus), i.whole)
		case plus != 0:
			return add(i.whole, c(plus))
		}
		return i.whole
	}
	e := shiftLeft(i.bits, 48)
	if sign < 0 {
		e = subInt(bits(uint64(int64(plus)<<52)), e)
	} else if plus != 0 {
		e = addInt(e, bits(uint64(int64(plus)<<52)))
	}
	return e
}

// scale is y * 2^e.
func scale(y, e v) v {
	if kit.Wide {
		return scalef(y, e)
	}
	return scaleBits(y, e)
}

func scalef(y, e v) v {
	z := kit.New()
	kit.Do(func() { VSCALEFPD(e, y, z) }, e, y, z)
	return z
}

// scaleBits is y * 2^e without VSCALEFPD, e being in the place of an exponent: two steps, the
// first exact.
func scaleBits(y, e v) v {
	if kit.Case > 0 {
		return mul(y, addInt(e, c(1)))
	}
	half := kit.HalfExponent(e)
	rest := subInt(e, half)
	return mul(mul(y, addInt(half, c(1))), addInt(rest, c(1)))
}

// scaleNormal is scale of what is never 0 or subnormal, before and after where it is quick.
func scaleNormal(y, e v) v {
	if kit.Case > 0 {
		return addInt(y, e)
	}
	return scale(y, e)
}

// power is 2^(-i/16), at least 2^-100.
func (i index) power() v {
	return subInt(c(1), kit.MinInt32(shiftLeft(i.bits, 48), bits(100<<52)))
}

// Arguments from which on results are 0.
const expLeast, exp2Least = -746, -1076

func expOf(x v) v {
	x, seen := notZero(x, expLeast, -760, 720)
	n, nf := reduce(x)
	r := less(load(x), nf, "ln2by16Hi")
	r = sub(r, lookup("expOffset", n))
	less(r, nf, "ln2by16Lo")
	return expScaled(r, n, nf, seen)
}

func exp2Of(x v) v {
	x, seen := notZero(x, exp2Least, -1100, 1040)
	n := add(x, c(sixteenths))
	nf := sub(n, c(sixteenths))
	r := sub(x, nf)
	r = msub(r, c(num["ln2"][0]), lookup("expOffset", n))
	return expScaled(r, n, nf, seen)
}

// notZero is x clamped, with AVX-512 from above only: there seen says where the result is not 0. What underflows
// takes that processor twenty times as long as other results, unless its lane is left out. For what lags that
// asks for more masks than there are: sigmoid, softplus and their slopes wait where arguments are beyond 708.
func notZero(x v, least, lo, hi float64) (y v, seen kit.Bool) {
	if kit.Wide {
		seen = compare(x, nlt, c(least))
		return below(x, hi), seen
	}
	return clamp(x, lo, hi), seen
}

func expScaled(r, n, nf v, seen kit.Bool) v {
	r2 := mul(r, r)
	p := madd(polynomial(num["expPoly"], r, r2), r2, r)
	t := lookup("expTable", n)
	y := madd(p, t, t)
	if kit.Wide {
		z := kit.New()
		kit.Do(func() { VSCALEFPD_Z(nf, y, seen.Register, z) }, nf, y, seen.Register, z) // rounds the exponent down
		return z
	}
	return scaleNormal(y, newIndex(n).exponent(1, 0))
}

func expm1Of(x v) v {
	t, b, bl, i := expCoreLong(clamp(x, -40, 720), nil)
	u, e := twoSum(t, negative(i.power()))
	h := add(u, b)
	y := add(h, add(sub(b, sub(h, u)), add(bl, e)))
	return withSign(scale(y, i.exponent(1, 0)), x)
}
