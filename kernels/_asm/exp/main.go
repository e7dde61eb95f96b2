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
	. "nabla/kernels/_asm/kit"
)

func main() {
	Start()
	if Single {
		singles()
		return
	}
	for _, f := range []struct {
		name   string
		tables []group
		hold   []float64 // constants to keep in registers
		lag    float64   // how far each vector runs behind the one before, the least for which there are registers
		parts  int       // of the body with AVX2, as were fastest
		body   func(x V) V
		check  func(x V) // of ordinary arguments
	}{
		{"exp", []group{exp1}, expHold(720, expLeast), 0, 2, expOf, sized(0, 690)},
		{"exp2", []group{exp1}, expHold(1040, exp2Least), 0, 2, exp2Of, sized(0, 1000)},
		{"expm1", []group{exps}, nil, 0.24, 0, expm1Of, sized(0, 40)},
		{"log", []group{logs}, logHold("log"), 0, 4, logOf, positive},
		{"log1p", []group{logs}, nil, 0.4, 0, log1pOf, aboveMinusOne},
		{"log2", []group{{"logRecip", "log2Hi", "log2Lo"}}, logHold("log2"), 0, 4, log2Of, positive},
		{"log10", []group{{"logRecip", "log10Hi", "log10Lo"}}, logHold("log10"), 0, 4, log10Of, positive},
		{"sigmoid", []group{exps}, nil, 0.26, 3, sigmoidOf, sized(0, 690)},
		{"softplus", []group{exps, logs}, nil, 0.36, 2, softplusOf, sized(0, 100)},
		{"sinh", []group{exps}, nil, 0.26, 3, sinhOf, sized(0x1p-900, 690)},
		{"cosh", []group{exps}, nil, 0.22, 3, coshOf, sized(0, 690)},
		{"tanh", []group{exps}, nil, 0.22, 3, tanhOf, sized(0, 30)},
		{"sech2", []group{exps}, nil, 0.24, 3, sech2Of, sized(0, 340)},
		{"sigmoidSlope", []group{exps}, nil, 0.24, 3, sigmoidSlopeOf, sized(0, 690)},
		{"asinh", []group{logs}, nil, 0.28, 0, asinhOf, sized(tiny, huge)},
		{"acosh", []group{logs}, nil, 0.28, 0, acoshOf, func(x V) { Within(x, 1.0625, huge) }},
		{"atanh", []group{logs}, nil, 0.3, 0, atanhOf, sized(tiny, 1)},
	} {
		write(Map{
			Name: f.name, Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = " + title(f.name) + "Of(x) }",
			Dst:   "dst",
			Parts: f.parts,
			Of:    title(f.name) + "Of",
			Setup: func() { setup(f.tables, f.hold) },

			Cases: []func(x []V){func(x []V) { f.check(x[0]) }},
		}, f.lag, func(x V) []V { return []V{f.body(x)} })
	}
	for _, f := range []struct {
		name, d string
		group   group
		lag     float64
		parts   int
		body    func(x V) (y, d V)
		check   func(x V)
	}{
		{"log1pTwin", "Log1pTwinOf(x)", logs, 0.4, 0, log1pTwin, aboveMinusOne},
		{"tanhSech2", "TanhSech2Of(x)", exps, 0.28, 3, tanhSech2Of, sized(0, 30)},
		{"sigmoidTwin", "SigmoidTwinOf(x)", exps, 0.3, 4, sigmoidTwinOf, sized(0, 690)},
	} {
		write(Map{
			Name: f.name, Doc: "\tfor i, x := range x[:len(y)] { y[i], d[i] = " + f.d + " }",
			Dst:   "y, d",
			Parts: f.parts,
			Of:    title(f.name) + "Of",
			Setup: func() { setup([]group{f.group}, nil) },

			Cases: []func(x []V){func(x []V) { f.check(x[0]) }},
		}, f.lag, func(x V) []V { y, d := f.body(x); return []V{y, d} })
	}
	write(Map{
		Name: "logTwin", Doc: "\tfor i, x := range x[:len(y)] { y[i], rest[i] = logTwinOf(x) }",
		Dst:   "y, rest",
		Setup: func() { setup([]group{logs}, nil) },
	}, 0.4, logTwinOf)
	pow()
	Finish()
}

// write writes a kernel of one argument; on AVX-512 eight bodies stagger if there is a lag.
func write(m Map, lag float64, body func(x V) []V) {
	m.Args = "x"
	m.Body = func(x []V) []V { return body(x[0]) }
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
var lookup func(table string, n V) V

// setup makes tables ready, and on AVX-512 keeps constants in registers. For AVX2 two groups are rows where
// they say so by a column "", of nothing.
func setup(groups []group, xs []float64) {
	if Wide && len(groups) > 2 { // half of every table stays in memory
		half := map[string]V{}
		for _, g := range groups {
			for _, t := range g {
				half[t] = Copy(Floats(t, num[t]...))
			}
		}
		lookup = func(t string, n V) V {
			z := New()
			Do(func() {
				VMOVAPD(n, z)
				VPERMI2PD(Floats(t, num[t]...).Offset(64), half[t], z)
			}, n, z)
			return z
		}
	} else if Wide || !Neon && len(groups) > 1 && !slices.Contains(groups[0], "") { // rows want registers that long kernels lack
		tables := map[string]Table{}
		for _, g := range groups {
			for _, t := range g {
				tables[t] = Lookup16(t, num[t])
			}
		}
		lookup = func(t string, n V) V {
			z := New()
			Do(func() { tables[t].Into(n, z) }, n, z)
			return z
		}
	} else {
		type place struct {
			rows          Rows
			group, column int
		}
		type row struct {
			group int
			n     V
		}
		places, read := map[string]place{}, map[row]func(int) V{}
		var tables [][][]float64
		for _, g := range groups {
			var columns [][]float64
			for _, t := range g {
				columns = append(columns, num[t])
			}
			tables = append(tables, columns)
		}
		var shared []Rows
		if len(groups) > 1 && !Neon {
			shared = LookupTables("tables", tables...)
		}
		for j, g := range groups {
			var rows Rows
			if shared != nil {
				rows = shared[j]
			} else {
				rows = LookupRows(strings.Join(g, "_"), tables[j]...)
			}
			for i, t := range g {
				places[t] = place{rows, j, i}
			}
		}
		lookup = func(t string, n V) V {
			p := places[t]
			r := row{p.group, n}
			if read[r] == nil {
				read[r] = p.rows.At(n)
			}
			return read[r](p.column)
		}
	}
	FindConstants()
	Hold(xs...)
}

// polynomial is p(x), even and odd powers apart; x2 is x*x.
func polynomial(p []float64, x, x2 V) V {
	var half [2]V
	for i := len(p) - 1; i >= 0; i-- {
		if h := &half[i%2]; i >= len(p)-2 {
			*h = Copy(c(p[i]))
		} else {
			Madd(*h, x2, c(p[i]))
		}
	}
	return Madd(half[1], x, half[0])
}

// What is ordinary for the arguments of leaves: x, or |x|, within bounds.
func positive(x V) { Within(x, 0x1p-1022, math.Inf(1)) }

func aboveMinusOne(x V) { positive(Add(x, c(1))) }

func sized(lo, hi float64) func(x V) { return func(x V) { WithinAbs(x, lo, hi) } }

// below, above and clamp keep x within bounds.
func below(x V, hi float64) V {
	if Case > 0 {
		return x
	}
	return Min(x, c(hi))
}

func above(x V, lo float64) V {
	if Case > 0 {
		return x
	}
	return Max(x, c(lo))
}

func clamp(x V, lo, hi float64) V { return below(above(x, lo), hi) }

func twoSum(x, y Op) (s, e V) {
	s = Add(x, y)
	t := Sub(s, x)
	return s, Add(Sub(x, Sub(s, t)), Sub(y, t))
}

// sixteenths added to a number rounds it to sixteenths: its bits are then those of Magic
// and sixteen times the number, and the exponent comes out without a product.
const sixteenths = Magic / 16

// reduce is n = round(x*16/ln2) with Magic added, but for the exponent, and n/16.
func reduce(x V) (n, nf V) {
	n = Madd(Copy(c(num["invLn2x16"][0]/16)), x, c(sixteenths))
	return n, Sub(n, c(sixteenths))
}

// less is x less nf times a part of ln2, of which name is a sixteenth; x becomes the result.
func less(x, nf V, name string) V { return SubMul(x, nf, c(16*num[name][0])) }

// An index is 16*floor(n/16), as n from reduce, and floor(n/16).
type index struct{ bits, whole V }

func newIndex(n V) index {
	w := bitsOf(n)
	return index{w, Sub(w, c(sixteenths))}
}

func bitsOf(n V) V { return AndInt(n, Word(^uint64(15))) }

// expCore is exp(x) = 2^(i/16) * (t + b + bl) for x >= 0.
func expCore(x V) (t, b, bl V, i index) {
	n, nf := reduce(x)
	r := less(Copy(x), nf, "ln2by16Hi")
	r = Sub(r, lookup("expStep", n))
	i = newIndex(n)
	less(r, i.whole, "ln2by16Lo")
	r2 := Mul(r, r)
	w := Mul(polynomial(num["expPoly"], r, r2), r2)
	t = lookup("expTable", n)
	b, bl = expTail(t, r, w)
	return t, b, bl, i
}

// expTail is t*(s + w) = b + bl.
func expTail(t, s, w V) (b, bl V) {
	a := Mul(t, s)
	tail := Madd(w, t, Msub(s, t, a))
	b = Add(a, tail)
	return b, Sub(tail, Sub(b, a))
}

// expCoreLong is exp(x+xl) likewise, for any x; xl may be nil.
func expCoreLong(x, xl V) (t, b, bl V, i index) {
	n, nf := reduce(x)
	r := less(Copy(x), nf, "ln2by16Hi")
	r = Sub(r, lookup("expStep", n))
	i = newIndex(n)
	var l V
	if xl == nil {
		l = Mul(i.whole, c(-16*num["ln2by16Lo"][0]))
	} else {
		l = less(Copy(xl), i.whole, "ln2by16Lo")
	}
	s := Add(r, l)
	l = Sub(l, Sub(s, r))
	s2 := Mul(s, s)
	w := Madd(polynomial(num["expPoly"], s, s2), s2, l)
	t = lookup("expTable", n)
	b, bl = expTail(t, s, w)
	return t, b, bl, i
}

// pair is t + b + bl = h + l.
func pair(t, b, bl V) (h, l V) {
	h = Add(t, b)
	return h, Add(Sub(b, Sub(h, t)), bl)
}

// exponent is sign*i/16 + plus, for scale.
func (i index) exponent(sign, plus float64) V {
	if Wide {
		switch {
		case sign < 0 && plus == 0:
			return Sub(c(sixteenths), i.bits)
		case sign < 0:
			return Sub(c(plus), i.whole)
		case plus != 0:
			return Add(i.whole, c(plus))
		}
		return i.whole
	}
	e := ShiftLeft(i.bits, 48)
	if sign < 0 {
		e = SubInt(Word(uint64(int64(plus)<<52)), e)
	} else if plus != 0 {
		e = AddInt(e, Word(uint64(int64(plus)<<52)))
	}
	return e
}

// scale is y * 2^e.
func scale(y, e V) V {
	if Wide {
		return scalef(y, e)
	}
	return scaleBits(y, e)
}

func scalef(y, e V) V {
	z := New()
	Do(func() { VSCALEFPD(e, y, z) }, e, y, z)
	return z
}

// scaleBits is y * 2^e without VSCALEFPD, e being in the place of an exponent: two steps, the
// first exact.
func scaleBits(y, e V) V {
	if Case > 0 {
		return Mul(y, AddInt(e, c(1)))
	}
	half := HalfExponent(e)
	rest := SubInt(e, half)
	return Mul(Mul(y, AddInt(half, c(1))), AddInt(rest, c(1)))
}

// scaleNormal is scale of what is never 0 or subnormal, before and after where it is quick.
func scaleNormal(y, e V) V {
	if Case > 0 {
		return AddInt(y, e)
	}
	return scale(y, e)
}

// power is 2^(-i/16), at least 2^-100.
func (i index) power() V {
	return SubInt(c(1), MinInt32(ShiftLeft(i.bits, 48), Word(100<<52)))
}

// Arguments from which on results are 0.
const expLeast, exp2Least = -746, -1076

func expOf(x V) V {
	x, seen := notZero(x, expLeast, -760, 720)
	n, nf := reduce(x)
	r := less(Copy(x), nf, "ln2by16Hi")
	r = Sub(r, lookup("expOffset", n))
	less(r, nf, "ln2by16Lo")
	return expScaled(r, n, nf, seen)
}

func exp2Of(x V) V {
	x, seen := notZero(x, exp2Least, -1100, 1040)
	n := Add(x, c(sixteenths))
	nf := Sub(n, c(sixteenths))
	r := Sub(x, nf)
	r = Msub(r, c(num["ln2"][0]), lookup("expOffset", n))
	return expScaled(r, n, nf, seen)
}

// notZero is x clamped, with AVX-512 from above only: there seen says where the result is not 0. What underflows
// takes that processor twenty times as long as other results, unless its lane is left out. For what lags that
// asks for more masks than there are: sigmoid, softplus and their slopes wait where arguments are beyond 708.
func notZero(x V, least, lo, hi float64) (y V, seen Bool) {
	if Wide {
		seen = Compare(x, NLT, c(least))
		return below(x, hi), seen
	}
	return clamp(x, lo, hi), seen
}

func expScaled(r, n, nf V, seen Bool) V {
	r2 := Mul(r, r)
	p := Madd(polynomial(num["expPoly"], r, r2), r2, r)
	t := lookup("expTable", n)
	y := Madd(p, t, t)
	if Wide {
		z := New()
		Do(func() { VSCALEFPD_Z(nf, y, seen.Register, z) }, nf, y, seen.Register, z) // rounds the exponent down
		return z
	}
	return scaleNormal(y, index{bits: bitsOf(n)}.exponent(1, 0))
}

func expm1Of(x V) V {
	t, b, bl, i := expCoreLong(clamp(x, -40, 720), nil)
	u, e := twoSum(t, Negative(i.power()))
	h := Add(u, b)
	y := Add(h, Add(Sub(b, Sub(h, u)), Add(bl, e)))
	return WithSign(scale(y, i.exponent(1, 0)), x)
}
