package main

import (
	"maps"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

// The functions of float32 compute in float64, in which a short polynomial is enough,
// and stop where its error might change the rounding: the result is the one that the
// kernel of float64 gives, rounded (A. Ziv, Fast evaluation of elementary mathematical
// functions with correctly rounded last bit, 1991). Errors are relative; lg is the
// logarithm of one in units in the last place of float64.

// A function32 is a kernel of float32.
type function32 struct {
	name, dst, doc string
	setup          func()
	body           func(x v) []v
	lg             []int // of every result; 0 where it is that of the kernel of float64
	low            []int // the results, never negative, that may be subnormal for arguments that are not
}

func singles() {
	maps.Copy(num, kit.Numbers("../table_trig.go"))
	one := func(f func(x v) v) func(x v) []v { return func(x v) []v { return []v{f(x)} } }
	for _, f := range []function32{
		{name: "exp", doc: "ExpOf(x)", setup: func() { exps32(append(exp32Poly, -105, 89, 0x1p-126)...) }, body: one(exp32), lg: []int{16}, low: []int{0}},
		{name: "expm1", doc: "Expm1Of(x)", setup: func() { exps32(append(expm132Poly, -40, 89, 1)...) }, body: one(expm132), lg: []int{15}},
		{name: "log", doc: "LogOf(x)", setup: func() { logs32(log32Poly...) }, body: one(log32), lg: []int{16}},
		{name: "log1p", doc: "Log1pOf(x)", setup: func() { logs32(log32Poly...) }, body: func(x v) []v { return log1p32(x, false) }, lg: []int{16}},
		{name: "log1pTwin", dst: "y, d", doc: "Log1pOf(x), slope(x)", setup: func() { logs32(log32Poly...) }, body: func(x v) []v { return log1p32(x, true) }, lg: []int{16, 0}},
		{name: "sigmoid", doc: "SigmoidOf(x)", setup: func() { exps32(append(exp32Poly, -110, 1, 0x1p-126)...) }, body: func(x v) []v { return sigmoid32(x)[:1] }, lg: []int{16}, low: []int{0}},
		{name: "sigmoidSlope", doc: "SigmoidSlopeOf(x)", setup: func() { exps32(append(exp32Poly, -110, 1, 0x1p-126)...) }, body: func(x v) []v { return sigmoid32(x)[1:] }, lg: []int{16}, low: []int{0}},
		{name: "sigmoidTwin", dst: "y, d", doc: "SigmoidOf(x), SigmoidSlopeOf(x)", setup: func() { exps32(append(exp32Poly, -110, 1, 0x1p-126)...) }, body: sigmoid32, lg: []int{16, 16}, low: []int{0, 1}},
		{name: "softplus", doc: "SoftplusOf(x)", setup: func() { exps32(-110, 1, 0x1p-126, ln2); tables32("logRecip", "logHi") }, body: one(softplus32), lg: []int{17}, low: []int{0}},
		{name: "tanh", doc: "TanhOf(x)", setup: func() { exps32(append(expm132Poly, -110, 1, 4, 0x1p-126)...) }, body: func(x v) []v { return tanh32(x)[:1] }, lg: []int{16}},
		{name: "sech2", doc: "Sech2Of(x)", setup: func() { exps32(append(expm132Poly, -110, 1, 4, 0x1p-126)...) }, body: func(x v) []v { return tanh32(x)[1:] }, lg: []int{16}, low: []int{0}},
		{name: "tanhSech2", dst: "y, d", doc: "TanhOf(x), Sech2Of(x)", setup: func() { exps32(append(expm132Poly, -110, 1, 4, 0x1p-126)...) }, body: tanh32, lg: []int{16, 16}, low: []int{1}},
		{name: "sin", doc: "SinOf(x)", setup: turns32, body: func(x v) []v { return sinCos32(x)[:1] }, lg: []int{14}},
		{name: "cos", doc: "CosOf(x)", setup: turns32, body: func(x v) []v { return sinCos32(x)[1:] }, lg: []int{14}},
		{name: "sinCos", dst: "y, d", doc: "SinOf(x), CosOf(x)", setup: turns32, body: sinCos32, lg: []int{14, 14}},
		{name: "tan", doc: "TanOf(x)", setup: turns32, body: func(x v) []v { y := sinCos32(x); return []v{div(y[0], y[1])} }, lg: []int{14}},
	} {
		f.write()
	}
	kit.Finish()
}

func (f function32) write() {
	m := kit.Map{
		Name: f.name, Args: "x", Dst: "dst", Narrow: "dst, x", Unroll: 2,
		Setup: func() {
			f.setup()
			kit.Hold(math.Float64frombits(1<<28+1<<f.lg[0]), math.Float64frombits(1<<29-1<<(f.lg[0]+1)))
		},
		Doc:  "\tfor i, x := range x[:len(dst)] { dst[i] = " + f.doc + " }",
		Stop: func([]v) {}, // sure does it
	}
	if f.dst != "" {
		m.Dst, m.Narrow = f.dst, f.dst+", x"
		m.Doc = "\tfor i, x := range x[:len(y)] { y[i], d[i] = " + f.doc + " }"
	}
	if kit.Wide {
		m.Unroll = 4 // took 6 % less than 2 for sin, cos and tanh, and no more for the others (BenchmarkSingle)
	}
	m.Doc += "\n\nrounded, up to a turn where that is not sure; it returns how many it did."
	m.Together = func(xs [][]v) [][]v {
		ys := make([][]v, len(xs))
		for i, x := range xs {
			ys[i] = f.body(x[0])
		}
		f.sure(ys)
		return ys
	}
	m.Body = func(x []v) []v { return m.Together([][]v{x})[0] }
	m.Write()
}

// sure stops where a result might be rounded either way.
func (f function32) sure(ys [][]v) {
	var d, l kit.Bool
	for _, y := range ys {
		for i, y := range y {
			if f.lg[i] > 0 {
				d = either(d, between(y, f.lg[i]))
			}
			if slices.Contains(f.low, i) && !kit.Neon {
				l = either(l, compare(y, lt, c(0x1p-126)))
			}
		}
	}
	if f.low == nil {
		kit.StopIf(d)
		return
	}
	if kit.Neon {
		for _, i := range f.low {
			l = either(l, kit.Both(compare(ys[0][i], lt, c(0x1p-126)), compare(ys[0][i], gt, c(0x1p-151))))
		}
		kit.StopIf(d, l)
		return
	}
	// Few results are small, so what that means is found out aside.
	fine := label("fine")
	if kit.Wide {
		KORTESTB(d.Register, l.Register)
	} else {
		VPTEST(or(d, l), or(d, l))
	}
	JZ(LabelRef(fine))
	kit.StopIf(d)
	for _, y := range ys {
		for _, i := range f.low {
			m := compare(y[i], lt, c(0x1p-126))
			kit.StopIf(kit.Both(m, compare(y[i], gt, c(0x1p-151))))
		}
	}
	Label(fine)
}

var labels = 0

func label(name string) string {
	labels++
	return name + string(rune('a'+labels/26)) + string(rune('a'+labels%26))
}

func or(x, y kit.Bool) v { return kit.Or(x.Register, y.Register) }

// either is m, if there is one, or n.
func either(m, n kit.Bool) kit.Bool {
	if m.Register == nil {
		return n
	}
	return kit.Either(m, n)
}

// between is whether y is within 2^lg units of the middle of two float32.
func between(y v, lg int) kit.Bool {
	return kit.Lacks(addInt(y, bits(1<<28+1<<lg)), bits(1<<29-1<<(lg+1)))
}

// table32 is the tables of the kernel being written.
var table32 map[string]kit.Table

func tables32(names ...string) {
	for _, n := range names {
		table32[n] = kit.Lookup16(n, num[n])
	}
}

func setup32(xs ...float64) {
	table32 = map[string]kit.Table{}
	kit.FindConstants()
	kit.Hold(xs...)
}

// exps32 makes the table of exp ready: 2^(j/16), from whose exponent j/16 is taken.
func exps32(hold ...float64) {
	setup32(append([]float64{magic, num["invLn2x16"][0], ln2by16}, hold...)...)
	var xs []float64
	for j, x := range exp32Table {
		xs = append(xs, math.Float64frombits(math.Float64bits(x)-uint64(j)<<48))
	}
	table32["exp"] = kit.Lookup16("exp32Table", xs)
}

func logs32(hold ...float64) {
	setup32(append([]float64{1, ln2}, hold...)...)
	tables32("logRecip", "logHi")
}

func turns32() {
	setup32(append(append([]float64{1, magic, num["inv16pi"][0], num["pio16a"][0], num["pio16b"][0], 0x1p19}, sin32Poly...), cos32Poly...)...)
	tables32("sinHi", "cosHi")
}

// horner is p(x).
func horner(p []float64, x v) v {
	y := load(c(p[len(p)-1]))
	for i := len(p) - 2; i >= 0; i-- {
		y = madd(y, x, c(p[i]))
	}
	return y
}

// exponential is exp(x) = s + s*p.
func exponential(x v, poly []float64) (s, p v) {
	kd := madd(load(x), k("invLn2x16"), c(magic))
	r := subMul(load(x), sub(kd, c(magic)), c(ln2by16))
	s = addInt(table32["exp"].At(kd), shiftLeft(kd, 48))
	return s, mul(horner(poly, r), r)
}

func exp32(x v) v {
	s, p := exponential(clamp(x, -105, 89), exp32Poly)
	return madd(p, s, s)
}

func expm132(x v) v {
	s, p := exponential(clamp(x, -40, 89), expm132Poly)
	y := madd(p, s, sub(s, c(1)))
	return withSign(y, x)
}

// logarithm is log(x) for positive finite x.
func logarithm(x v) v {
	m, e, j := split(x, false)
	f := msub(table32["logRecip"].At(j), m, c(1))
	f2 := mul(f, f)
	t := madd(e, c(ln2), table32["logHi"].At(j))
	return add(t, madd(horner(log32Poly, f), f2, f))
}

func log32(x v) v { return special(logarithm(x), x) }

// log1p32 is log1p(x) and its slope, NaN below -1.
func log1p32(x v, slope bool) []v {
	u := add(x, c(1))
	low := sub(x, sub(u, c(1))) // of tiny x; the sum is exact, or 1 does not matter
	low = set(low, compare(x, gt, c(1)), c(0))
	y := withSign(special(add(logarithm(u), low), u), x)
	if !slope {
		return []v{y}
	}
	d := div(c(1), u)
	return []v{y, set(d, compare(u, lt, c(0)), bits(0x7ff8<<48))}
}

// decay is z = exp(-|x|) and 1/(1+z).
func decay(x v) (z, w v) {
	s, p := exponential(max(kit.Or(x, bits(signBit)), c(-110)), exp32Poly)
	z = madd(p, s, s)
	return z, div(c(1), add(z, c(1)))
}

func sigmoid32(x v) []v {
	z, w := decay(x)
	left := mul(z, w)
	d := mul(left, w)
	return []v{set(w, compare(x, lt, c(0)), left), d}
}

func softplus32(x v) v {
	s, p := exponential(max(kit.Or(x, bits(signBit)), c(-110)), exp32Poly)
	z := madd(p, s, s)
	u := add(z, c(1))
	low := sub(z, sub(u, c(1)))
	return add(max(x, c(0)), add(logarithm(u), low))
}

// tanh32 is tanh(x) = (1-z)/(1+z) and 4z/(1+z)^2, z = exp(-2|x|).
func tanh32(x v) []v {
	a := kit.Or(x, bits(signBit))
	s, p := exponential(max(add(a, a), c(-110)), expm132Poly)
	m := madd(load(p), s, sub(s, c(1)))
	z := madd(p, s, s)
	w := div(c(1), add(z, c(1)))
	y := withSign(mul(m, w), x)
	z4 := mul(z, c(4))
	return []v{y, mul(mul(z4, w), w)}
}

// sinCos32 is sin(x) and cos(x), for |x| up to trigMax.
func sinCos32(x v) []v {
	a := abs(x)
	kit.StopIf(compare(a, nle, c(0x1p19)))
	kd := madd(load(a), k("inv16pi"), c(magic))
	n := sub(kd, c(magic))
	r := subMul(subMul(load(a), n, k("pio16a")), n, k("pio16b"))
	z := mul(r, r)
	p := mul(madd(horner(sin32Poly, z), z, c(1)), r) // sin(r)
	q := mul(horner(cos32Poly, z), z)                // cos(r) - 1
	s, co := table32["sinHi"].At(kd), table32["cosHi"].At(kd)
	y := addMul(addMul(load(s), s, q), co, p)
	d := subMul(addMul(load(co), co, q), s, p)
	turn := shiftLeft(kd, 59)
	return []v{kit.Flip(y, xor(turn, x)), kit.Flip(d, turn)}
}
