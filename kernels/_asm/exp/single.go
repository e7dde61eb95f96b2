package main

import (
	"maps"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "nabla/kernels/_asm/kit"
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
	body           func(x V) []V
	lg             []int // of every result; 0 where it is that of the kernel of float64
	low            []int // the results, never negative, that may be subnormal for arguments that are not
}

func singles() {
	maps.Copy(num, Numbers("../table_trig.go"))
	one := func(f func(x V) V) func(x V) []V { return func(x V) []V { return []V{f(x)} } }
	for _, f := range []function32{
		{name: "exp", doc: "ExpOf(x)", setup: func() { exps32(append(exp32Poly, -105, 89, 0x1p-126)...) }, body: one(exp32), lg: []int{16}, low: []int{0}},
		{name: "expm1", doc: "Expm1Of(x)", setup: func() { exps32(append(expm132Poly, -40, 89, 1)...) }, body: one(expm132), lg: []int{15}},
		{name: "log", doc: "LogOf(x)", setup: func() { logs32(log32Poly...) }, body: one(log32), lg: []int{16}},
		{name: "log1p", doc: "Log1pOf(x)", setup: func() { logs32(log32Poly...) }, body: func(x V) []V { return log1p32(x, false) }, lg: []int{16}},
		{name: "log1pTwin", dst: "y, d", doc: "Log1pOf(x), slope(x)", setup: func() { logs32(log32Poly...) }, body: func(x V) []V { return log1p32(x, true) }, lg: []int{16, 0}},
		{name: "sigmoid", doc: "SigmoidOf(x)", setup: func() { exps32(append(exp32Poly, -110, 1, 0x1p-126)...) }, body: func(x V) []V { return sigmoid32(x)[:1] }, lg: []int{16}, low: []int{0}},
		{name: "sigmoidSlope", doc: "SigmoidSlopeOf(x)", setup: func() { exps32(append(exp32Poly, -110, 1, 0x1p-126)...) }, body: func(x V) []V { return sigmoid32(x)[1:] }, lg: []int{16}, low: []int{0}},
		{name: "sigmoidTwin", dst: "y, d", doc: "SigmoidOf(x), SigmoidSlopeOf(x)", setup: func() { exps32(append(exp32Poly, -110, 1, 0x1p-126)...) }, body: sigmoid32, lg: []int{16, 16}, low: []int{0, 1}},
		{name: "softplus", doc: "SoftplusOf(x)", setup: func() { exps32(-110, 1, 0x1p-126, ln2); tables32("logRecip", "logHi") }, body: one(softplus32), lg: []int{17}, low: []int{0}},
		{name: "tanh", doc: "TanhOf(x)", setup: func() { exps32(append(expm132Poly, -110, 1, 4, 0x1p-126)...) }, body: func(x V) []V { return tanh32(x)[:1] }, lg: []int{16}},
		{name: "sech2", doc: "Sech2Of(x)", setup: func() { exps32(append(expm132Poly, -110, 1, 4, 0x1p-126)...) }, body: func(x V) []V { return tanh32(x)[1:] }, lg: []int{16}, low: []int{0}},
		{name: "tanhSech2", dst: "y, d", doc: "TanhOf(x), Sech2Of(x)", setup: func() { exps32(append(expm132Poly, -110, 1, 4, 0x1p-126)...) }, body: tanh32, lg: []int{16, 16}, low: []int{1}},
		{name: "sin", doc: "SinOf(x)", setup: turns32, body: func(x V) []V { return sinCos32(x)[:1] }, lg: []int{14}},
		{name: "cos", doc: "CosOf(x)", setup: turns32, body: func(x V) []V { return sinCos32(x)[1:] }, lg: []int{14}},
		{name: "sinCos", dst: "y, d", doc: "SinOf(x), CosOf(x)", setup: turns32, body: sinCos32, lg: []int{14, 14}},
		{name: "tan", doc: "TanOf(x)", setup: turns32, body: func(x V) []V { y := sinCos32(x); return []V{Div(y[0], y[1])} }, lg: []int{14}},
	} {
		f.write()
	}
	Finish()
}

func (f function32) write() {
	m := Map{
		Name: f.name, Args: "x", Dst: "dst", Narrow: "dst, x", Unroll: 2,
		Setup: func() {
			f.setup()
			Hold(math.Float64frombits(1<<28+1<<f.lg[0]), math.Float64frombits(1<<29-1<<(f.lg[0]+1)))
		},
		Doc:  "\tfor i, x := range x[:len(dst)] { dst[i] = " + f.doc + " }",
		Stop: func([]V) {}, // sure does it
	}
	if f.dst != "" {
		m.Dst, m.Narrow = f.dst, f.dst+", x"
		m.Doc = "\tfor i, x := range x[:len(y)] { y[i], d[i] = " + f.doc + " }"
	}
	if Wide {
		m.Unroll = 4 // took 6 % less than 2 for sin, cos and tanh, and no more for the others (BenchmarkSingle)
	}
	m.Doc += "\n\nrounded, up to a turn where that is not sure; it returns how many it did."
	m.Together = func(xs [][]V) [][]V {
		ys := make([][]V, len(xs))
		for i, x := range xs {
			ys[i] = f.body(x[0])
		}
		f.sure(ys)
		return ys
	}
	m.Body = func(x []V) []V { return m.Together([][]V{x})[0] }
	m.Write()
}

// sure stops where a result might be rounded either way.
func (f function32) sure(ys [][]V) {
	var d, l Bool
	for _, y := range ys {
		for i, y := range y {
			if f.lg[i] > 0 {
				d = either(d, between(y, f.lg[i]))
			}
			if slices.Contains(f.low, i) && !Neon {
				l = either(l, Compare(y, LT, c(0x1p-126)))
			}
		}
	}
	if f.low == nil {
		StopIf(d)
		return
	}
	if Neon {
		for _, i := range f.low {
			l = either(l, Both(Compare(ys[0][i], LT, c(0x1p-126)), Compare(ys[0][i], GT, c(0x1p-151))))
		}
		StopIf(d, l)
		return
	}
	// Few results are small, so what that means is found out aside.
	fine := label("fine")
	if Wide {
		KORTESTB(d.Register, l.Register)
	} else {
		VPTEST(or(d, l), or(d, l))
	}
	JZ(LabelRef(fine))
	StopIf(d)
	for _, y := range ys {
		for _, i := range f.low {
			m := Compare(y[i], LT, c(0x1p-126))
			StopIf(Both(m, Compare(y[i], GT, c(0x1p-151))))
		}
	}
	Label(fine)
}

var labels = 0

func label(name string) string {
	labels++
	return name + string(rune('a'+labels/26)) + string(rune('a'+labels%26))
}

func or(x, y Bool) V { return Or(x.Register, y.Register) }

// either is m, if there is one, or n.
func either(m, n Bool) Bool {
	if m.Register == nil {
		return n
	}
	return Either(m, n)
}

// between is whether y is within 2^lg units of the middle of two float32.
func between(y V, lg int) Bool {
	return Lacks(AddInt(y, Word(1<<28+1<<lg)), Word(1<<29-1<<(lg+1)))
}

// table32 is the tables of the kernel being written.
var table32 map[string]Table

func tables32(names ...string) {
	for _, n := range names {
		table32[n] = Lookup16(n, num[n])
	}
}

func setup32(xs ...float64) {
	table32 = map[string]Table{}
	FindConstants()
	Hold(xs...)
}

// exps32 makes the table of exp ready: 2^(j/16), from whose exponent j/16 is taken.
func exps32(hold ...float64) {
	setup32(append([]float64{Magic, num["invLn2x16"][0], ln2by16}, hold...)...)
	var xs []float64
	for j, x := range exp32Table {
		xs = append(xs, math.Float64frombits(math.Float64bits(x)-uint64(j)<<48))
	}
	table32["exp"] = Lookup16("exp32Table", xs)
}

func logs32(hold ...float64) {
	setup32(append([]float64{1, ln2}, hold...)...)
	tables32("logRecip", "logHi")
}

func turns32() {
	setup32(append(append([]float64{1, Magic, num["inv16pi"][0], num["pio16a"][0], num["pio16b"][0], 0x1p19}, sin32Poly...), cos32Poly...)...)
	tables32("sinHi", "cosHi")
}

// horner is p(x).
func horner(p []float64, x V) V {
	y := Copy(c(p[len(p)-1]))
	for i := len(p) - 2; i >= 0; i-- {
		y = Madd(y, x, c(p[i]))
	}
	return y
}

// exponential is exp(x) = s + s*p.
func exponential(x V, poly []float64) (s, p V) {
	kd := Madd(Copy(x), named("invLn2x16"), c(Magic))
	r := SubMul(Copy(x), Sub(kd, c(Magic)), c(ln2by16))
	s = AddInt(table32["exp"].At(kd), ShiftLeft(kd, 48))
	return s, Mul(horner(poly, r), r)
}

func exp32(x V) V {
	s, p := exponential(clamp(x, -105, 89), exp32Poly)
	return Madd(p, s, s)
}

func expm132(x V) V {
	s, p := exponential(clamp(x, -40, 89), expm132Poly)
	y := Madd(p, s, Sub(s, c(1)))
	return WithSign(y, x)
}

// logarithm is log(x) for positive finite x.
func logarithm(x V) V {
	m, e, j := split(x, false)
	f := Msub(table32["logRecip"].At(j), m, c(1))
	f2 := Mul(f, f)
	t := Madd(e, c(ln2), table32["logHi"].At(j))
	return Add(t, Madd(horner(log32Poly, f), f2, f))
}

func log32(x V) V { return special(logarithm(x), x) }

// log1p32 is log1p(x) and its slope, NaN below -1.
func log1p32(x V, slope bool) []V {
	u := Add(x, c(1))
	low := Sub(x, Sub(u, c(1))) // of tiny x; the sum is exact, or 1 does not matter
	low = Set(low, Compare(x, GT, c(1)), c(0))
	y := WithSign(special(Add(logarithm(u), low), u), x)
	if !slope {
		return []V{y}
	}
	d := Div(c(1), u)
	return []V{y, Set(d, Compare(u, LT, c(0)), Word(0x7ff8<<48))}
}

// decay is z = exp(-|x|) and 1/(1+z).
func decay(x V) (z, w V) {
	s, p := exponential(Max(Or(x, Word(SignBit)), c(-110)), exp32Poly)
	z = Madd(p, s, s)
	return z, Div(c(1), Add(z, c(1)))
}

func sigmoid32(x V) []V {
	z, w := decay(x)
	left := Mul(z, w)
	d := Mul(left, w)
	return []V{Set(w, Compare(x, LT, c(0)), left), d}
}

func softplus32(x V) V {
	s, p := exponential(Max(Or(x, Word(SignBit)), c(-110)), exp32Poly)
	z := Madd(p, s, s)
	u := Add(z, c(1))
	low := Sub(z, Sub(u, c(1)))
	return Add(Max(x, c(0)), Add(logarithm(u), low))
}

// tanh32 is tanh(x) = (1-z)/(1+z) and 4z/(1+z)^2, z = exp(-2|x|).
func tanh32(x V) []V {
	a := Or(x, Word(SignBit))
	s, p := exponential(Max(Add(a, a), c(-110)), expm132Poly)
	m := Madd(Copy(p), s, Sub(s, c(1)))
	z := Madd(p, s, s)
	w := Div(c(1), Add(z, c(1)))
	y := WithSign(Mul(m, w), x)
	z4 := Mul(z, c(4))
	return []V{y, Mul(Mul(z4, w), w)}
}

// sinCos32 is sin(x) and cos(x), for |x| up to trigMax.
func sinCos32(x V) []V {
	a := Abs(x)
	StopIf(Compare(a, NLE, c(0x1p19)))
	kd := Madd(Copy(a), named("inv16pi"), c(Magic))
	n := Sub(kd, c(Magic))
	r := SubMul(SubMul(Copy(a), n, named("pio16a")), n, named("pio16b"))
	z := Mul(r, r)
	p := Mul(Madd(horner(sin32Poly, z), z, c(1)), r) // sin(r)
	q := Mul(horner(cos32Poly, z), z)                // cos(r) - 1
	s, co := table32["sinHi"].At(kd), table32["cosHi"].At(kd)
	y := AddMul(AddMul(Copy(s), s, q), co, p)
	d := SubMul(AddMul(Copy(co), co, q), s, p)
	turn := ShiftLeft(kd, 59)
	return []V{Flip(y, Xor(turn, x)), Flip(d, turn)}
}
