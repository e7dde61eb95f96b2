// Command trig writes the kernels of sine, cosine, tangent, arc tangent and the
// error function: the arithmetic of generic_trig.go and generic_special.go,
// operation by operation.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"nabla/kernels/_asm/kit"
)

// Sin, cos and tan stop at a vector with an argument beyond trigMax.
const trigMax = 0x1p19

func main() {
	kit.Start()
	doc := func(name string) string {
		return "\tfor i, x := range x[:len(dst)] { dst[i] = " + name + "Of(x) }"
	}
	const until = "\n\nup to the first turn with an argument above trigMax, where it stops; it returns how many it did."
	for _, f := range []struct {
		name, dst, doc string
		body           func(x []v) [][]v
	}{
		{"sin", "dst", doc("Sin"), sinOf},
		{"cos", "dst", doc("Cos"), cosOf},
		{"sinCos", "sin, cos", "\tfor i, x := range x[:len(sin)] { sin[i], cos[i] = SinCosOf(x) }", sinCosOf},
		{"tan", "dst", doc("Tan"), tanOf},
	} {
		m := kit.Map{
			Name: f.name, Doc: f.doc + until, Dst: f.dst, Args: "x",
			Setup: func() {
				setup([]string{"sinHi", "sinLo", "cosHi", "cosLo"}, []float64{magic, num["pio16a"][0], num["pio16b"][0], num["pio16c"][0]})
			},
			Stop: func([]v) {}, // absolute does it, for all vectors of a turn at once
			Body: func(x []v) []v { return f.body(x)[0] },
		}
		if kit.Wide {
			m.Unroll = 2
			m.Together = func(x [][]v) [][]v { return f.body([]v{x[0][0], x[1][0]}) }
		}
		m.Write()
	}
	kit.Map{
		Name: "atan", Doc: doc("Atan"), Args: "x",
		Setup: atanSetup,
		Body:  func(x []v) []v { return []v{atanOf(x[0])} },
	}.Write()
	erf()
	erfc("erfc", "Erfc", func(x []v) []v { return erfcOf(x, nil, 0) })
	erfc("normCdf", "NormCdf", normCdfOf)
	erfc("gauss", "Gauss", gaussOf)
	erfc("normPdf", "NormPdf", normPdfOf)
	for _, f := range []struct {
		name, of string
		body     func(x v) v
	}{{"asin", "Asin", asinOf}, {"acos", "Acos", acosOf}, {"cbrt", "Cbrt", cbrtOf}} {
		kit.Map{
			Name: f.name, Doc: doc(f.of), Args: "x",
			Setup: func() { setup(nil, nil) },
			Body:  func(x []v) []v { return []v{f.body(x[0])} },
		}.Write()
	}
	kit.Map{
		Name: "hypot", Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = HypotOf(x, y[i]) }", Args: "x, y",
		Setup: func() { setup(nil, nil) },
		Body:  func(x []v) []v { return []v{hypotOf(x[0], x[1])} },
	}.Write()
	Generate()
}

// reduce is reduce of generic_trig.go, k with magic added.
func reduce(x []v) (k, r, rl []v) {
	p1, p2, p3 := num1("pio16a"), num1("pio16b"), num1("pio16c")
	k = each(x, func(_ int, x v) v { return madd(mov(cr(num["inv16pi"][0])), x, c(magic)) })
	n := each(k, func(_ int, k v) v { return sub(k, c(magic)) })
	a := each(x, func(i int, x v) v { return subMul(x, n[i], p1) })
	r = each(a, func(i int, a v) v { return subMul(mov(a), n[i], p2) })
	rl = each(a, func(i int, a v) v { return sub(a, r[i]) })
	each(rl, func(i int, l v) v { return subMul(l, n[i], p2) })
	each(rl, func(i int, l v) v { return subMul(l, n[i], p3) })
	return k, r, rl
}

// horners is p(x).
func horners(p []float64, x []v) []v {
	y := each(x, func(int, v) v { return load(c(p[len(p)-1])) })
	for i := len(p) - 2; i >= 0; i-- {
		each(y, func(j int, y v) v { return madd(y, x[j], c(p[i])) })
	}
	return y
}

// tail is r^3 p(r^2) + rl, and z = r^2.
func tail(p []float64, r, rl []v) (t, z []v) {
	z = squares(r)
	t = horners(p, z)
	return each(t, func(i int, t v) v { return madd(t, mul(r[i], z[i]), rl[i]) }), z
}

// tails is sin(r+rl) - r and cos(r) - 1.
func tails(r, rl []v) (a, b []v) {
	a, z := tail(num["sinPoly"], r, rl)
	b = horners(num["cosPoly"], z)
	return a, each(b, func(i int, b v) v { return mul(z[i], b) })
}

// rows is the table of the turns on AVX2.
var rows kit.Rows

// A turn is a rotation by a multiple of pi/16.
type turn struct{ s, sl, c, cl v }

func turned(k v) turn {
	if !kit.Wide {
		r := rows.At(k)
		return turn{r(0), r(1), r(2), r(3)}
	}
	return turn{table["sinHi"].At(k), table["sinLo"].At(k), table["cosHi"].At(k), table["cosLo"].At(k)}
}

func turns(k []v) []turn {
	var t []turn
	for _, k := range k {
		t = append(t, turned(k))
	}
	return t
}

// sines is sin of the turn by k and r; sign has its sign, besides bit 4 of k.
func sines(t []turn, r, a, b []v) []v {
	l := each(r, func(i int, r v) v { return addMul(mov(t[i].sl), t[i].cl, r) })
	each(l, func(i int, l v) v { return addMul(l, t[i].c, a[i]) })
	each(l, func(i int, l v) v { return addMul(l, t[i].s, b[i]) })
	each(l, func(i int, l v) v { return addMul(l, t[i].c, r[i]) })
	return each(l, func(i int, l v) v { return add(t[i].s, l) })
}

func cosines(t []turn, r, a, b []v) []v {
	l := each(r, func(i int, r v) v { return subMul(mov(t[i].cl), t[i].sl, r) })
	each(l, func(i int, l v) v { return subMul(l, t[i].s, a[i]) })
	each(l, func(i int, l v) v { return addMul(l, t[i].c, b[i]) })
	each(l, func(i int, l v) v { return subMul(l, t[i].s, r[i]) })
	return each(l, func(i int, l v) v { return add(t[i].c, l) })
}

func sinOf(x []v) [][]v {
	k, r, rl := reduce(absolute(x))
	a, b := tails(r, rl)
	y := sines(turns(k), r, a, b)
	return results(each(y, func(i int, y v) v { return flip(y, xor(shiftLeft(k[i], 59), x[i])) }))
}

func cosOf(x []v) [][]v {
	k, r, rl := reduce(absolute(x))
	a, b := tails(r, rl)
	y := cosines(turns(k), r, a, b)
	return results(each(y, func(i int, y v) v { return flip(y, shiftLeft(k[i], 59)) }))
}

func sinCosOf(x []v) [][]v {
	k, r, rl := reduce(absolute(x))
	a, b := tails(r, rl)
	t := turns(k)
	y, z := sines(t, r, a, b), cosines(t, r, a, b)
	k = each(k, func(_ int, k v) v { return shiftLeft(k, 59) })
	y = each(y, func(i int, y v) v { return flip(y, xor(k[i], x[i])) })
	return results(y, each(z, func(i int, z v) v { return flip(z, k[i]) }))
}

// absolute is |x|; it stops if one is above trigMax.
func absolute(x []v) []v {
	y := each(x, func(_ int, x v) v { return abs(x) })
	var m []mask
	for _, y := range y {
		m = append(m, cmp(y, nle, c(trigMax)))
	}
	stopIf(m[0], m[len(m)-1])
	return y
}

// results are the results of each vector.
func results(y ...[]v) [][]v {
	out := make([][]v, len(y[0]))
	for _, y := range y {
		for i, y := range y {
			out[i] = append(out[i], y)
		}
	}
	return out
}

// rotated is s + c*(r+t) = h + l, normalised; minus makes it s - c*(r+t).
func rotated(s, sl, c, cl, r, t v, minus bool) (h, l v) {
	p := mul(c, r)
	e := msub(mov(c), r, p)
	if minus {
		h = sub(s, p)
		l = add(sub(sub(s, h), p), sub(sl, e))
		subMul(l, cl, r)
		subMul(l, c, t)
	} else {
		h = add(s, p)
		l = add(sub(p, sub(h, s)), add(e, sl))
		addMul(l, cl, r)
		addMul(l, c, t)
	}
	n := add(h, l)
	return n, sub(l, sub(n, h))
}

func tanOf(x []v) [][]v {
	k, r, rl := reduce(absolute(x))
	t, _ := tail(num["tanPoly"], r, rl)
	a := turns(k)
	return results(each(x, func(i int, x v) v {
		a, r, t := a[i], r[i], t[i]
		n, nl := rotated(a.s, a.sl, a.c, a.cl, r, t, false)
		d, dl := rotated(a.c, a.cl, a.s, a.sl, r, t, true)
		inv := div(load(c(1)), d)
		q := mul(n, inv)
		e := nmadd(d, q, n)
		e = add(e, nmadd(dl, q, nl))
		return flip(madd(e, inv, q), x)
	}))
}

// atanC, atanHi and atanLo are rows of five numbers, on AVX-512.
var atanC, atanHi, atanLo v

func atanSetup() {
	setup(nil, append([]float64{1}, num["atanPoly"]...))
	if kit.Wide {
		atanC, atanHi, atanLo = row8("atanC", 0, 0.5, 1, 1.5), row8("atanHi", num["atanHi"]...), row8("atanLo", num["atanLo"]...)
	}
}

func atanOf(x v) v {
	a := abs(x)
	j, cc, hi, lo := kit.New(), kit.New(), kit.New(), kit.New()
	var far mask
	if kit.Wide {
		kit.Zero(j)
		for _, b := range []float64{0.4375, 0.6875, 1.1875, 2.4375} {
			far = cmp(a, nlt, c(b))
			VPADDQ_BCST(kit.Bits(1), j, far.Register, j)
		}
		cc, hi, lo = lookup8(atanC, j), lookup8(atanHi, j), lookup8(atanLo, j)
	} else {
		kit.Zero(cc)
		kit.Zero(hi)
		kit.Zero(lo)
		for i, b := range []float64{0.4375, 0.6875, 1.1875, 2.4375} {
			far = cmp(a, nlt, c(b))
			set(cc, far, c([]float64{0.5, 1, 1.5, 0}[i]))
			set(hi, far, c(num["atanHi"][i+1]))
			set(lo, far, c(num["atanLo"][i+1]))
		}
	}
	n := set(sub(a, cc), far, c(-1))
	d := set(madd(cc, a, c(1)), far, a)
	u := div(n, d)
	z := mul(u, u)
	t := madd(one("atanPoly", z), mul(u, z), lo)
	return withSign(add(hi, add(u, t)), x)
}

// erfTop is that of generic_special.go.
const erfTop = 5.96

// erf writes the error function, two vectors a turn on AVX-512: they share the
// reading of its many tables.
func erf() {
	m := kit.Map{
		Name: "erf", Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = ErfOf(x) }", Args: "x",
		Setup: func() {
			columns := append([][]float64{num["erfPoint"], num["erfAt"]}, columnsOf("erfPoly")...)
			setup(nil, []float64{magic, 0.1875, 8.0 / 3, erfTop})
			erfTable = tableOf("erfRows", columns...)
		},
		Body: func(x []v) []v { return erfOf(x) },
	}
	if kit.Wide {
		m.Unroll = 2
		m.Together = func(x [][]v) [][]v {
			y := erfOf([]v{x[0][0], x[1][0]})
			return [][]v{{y[0]}, {y[1]}}
		}
	}
	m.Write()
}

// erfTable gives the i-th column for every k.
var erfTable func(k []v) func(i int) []v

// columnsOf is the columns of a table that has sixteen rows.
func columnsOf(name string) [][]float64 {
	xs := num[name]
	n := len(xs) / 16
	out := make([][]float64, n)
	for i, x := range xs {
		out[i%n] = append(out[i%n], x)
	}
	return out
}

func squares(x []v) []v {
	var y []v
	for _, x := range x {
		y = append(y, mul(x, x))
	}
	return y
}

// evenOdd is evenOdd of generic_special.go, with n coefficients p(i); x2 is x*x.
func evenOdd(p func(i int) []v, n int, x, x2 []v) []v {
	n--
	y := p(n)
	z := p(n - 1)
	for i := n - 2; i >= 0; i-- {
		a := y
		if (n-i)%2 == 1 {
			a = z
		}
		for j, p := range p(i) {
			madd(a[j], x2[j], p)
		}
	}
	if n%2 == 0 {
		y, z = z, y
	}
	for j := range y {
		madd(y[j], x[j], z[j])
	}
	return y
}

// same is a coefficient for every vector alike.
func same(name string, count int) func(i int) []v {
	return func(i int) []v {
		var out []v
		for range count {
			out = append(out, load(c(num[name][i])))
		}
		return out
	}
}

// one is evenOdd of numbers, for one vector.
func one(name string, x v) v {
	return evenOdd(same(name, 1), len(num[name]), []v{x}, []v{mul(x, x)})[0]
}

// tableOf makes a table of sixteen rows ready. On AVX-512 a column is read from
// memory when it is asked for.
func tableOf(name string, columns ...[]float64) func(k []v) func(i int) []v {
	if !kit.Wide {
		rows := kit.LookupRows(name, columns...)
		return func(k []v) func(i int) []v {
			all := rows.At(k[0])
			return func(i int) []v { return []v{all(i)} }
		}
	}
	return func(k []v) func(i int) []v {
		return func(i int) []v {
			m := kit.Floats(fmt.Sprintf("%s%d", name, i), columns[i]...)
			low, high := load(m), load(m.Offset(64))
			var out []v
			for _, k := range k {
				z := mov(k)
				VPERMI2PD(high, low, z)
				out = append(out, z)
			}
			return out
		}
	}
}

func erfOf(x []v) []v {
	var k, d []v
	for _, x := range x {
		t := min(abs(x), cr(erfTop))
		d = append(d, t)
		k = append(k, madd(sub(t, c(0.1875)), cr(8.0/3), c(magic)))
	}
	column := erfTable(k)
	for i, p := range column(0) {
		d[i] = sub(d[i], p)
	}
	at := column(1)
	for i := range at {
		set(at[i], cmp(at[i], eq, c(0)), d[i])
	}
	q := evenOdd(func(i int) []v { return column(3 + i) }, 12, d, squares(d))
	for i, p := range column(2) {
		madd(q[i], d[i], p)
	}
	for i := range q {
		q[i] = withSign(madd(q[i], d[i], at[i]), x[i])
	}
	return q
}

// arc is both ways to the arc sine of a = |x|: for a <= 1/2, where the mask has no
// lane, asin x is x + xz*p; otherwise it is pi/2 - 2*(s + t).
func arc(x, a v) (xz, p, s, t v, big mask) {
	big = cmp(a, nle, c(0.5))
	far := mul(sub(load(c(1)), a), c(0.5))
	z := set(mul(x, x), big, far)
	p = one("asinPoly", z)
	s = sqrt(z)
	e := div(nmadd(mov(s), s, z), add(s, s))
	set(e, cmp(z, eq, c(0)), c(0))
	return mul(x, z), p, s, madd(mul(s, z), p, e), big
}

// from is pi - y - tail, for pi = hi + lo; restLo is lo - tail.
func from(name string, y, restLo v) v {
	pi := load(num1(name))
	h := sub(pi, y)
	return add(h, add(sub(sub(pi, h), y), restLo))
}

func asinOf(x v) v {
	xz, p, s, t, big := arc(x, abs(x))
	y := from("halfPiHi", add(s, s), sub(load(num1("halfPiLo")), add(t, t)))
	return set(madd(xz, p, x), big, withSign(y, x))
}

func acosOf(x v) v {
	xz, p, s, t, big := arc(x, abs(x))
	y := from("halfPiHi", x, nmadd(xz, p, num1("halfPiLo")))
	VADDPD(s, s, s)
	VADDPD(t, t, t)
	set(y, big, add(s, t))
	return set(y, cmp(x, lt, c(-0.5)), from("onePiHi", s, sub(load(num1("onePiLo")), t)))
}

func cbrtOf(x v) v {
	a := abs(x)
	unit := load(c(1))
	low, high := cmp(a, lt, c(0x1p-600)), cmp(a, gt, c(0x1p600))
	set(unit, low, c(0x1p-200))
	set(unit, high, c(0x1p200))
	by := load(c(1))
	set(by, low, c(0x1p600))
	set(by, high, c(0x1p-600))
	VMULPD(by, a, a)
	const whole = 0x1p52
	g := kit.New()
	VPSRLQ(U8(20), a, g)
	VPADDQ(cr(whole), g, g)
	VSUBPD(cr(whole), g, g)
	// Truncated as the portable conversion is: g is positive.
	madd(g, cr(1.0/3), c(0x2a9f7893782))
	y := kit.New()
	if kit.Wide {
		VRNDSCALEPD(U8(3), g, y)
	} else {
		VROUNDPD(U8(3), g, y)
	}
	VADDPD(cr(whole), y, y)
	y = shiftLeft(y, 20)
	for range 2 {
		t := mul(mul(y, y), y)
		e := mul(y, sub(t, a))
		VADDPD(t, t, t)
		VADDPD(a, t, t)
		VSUBPD(div(e, t), y, y)
	}
	y2 := mul(y, y)
	e := add(msub(mov(y), y2, a), mul(msub(mov(y), y, y2), y))
	VMULPD(cr(3), y2, y2)
	VSUBPD(div(e, y2), y, y)
	VMULPD(unit, y, y)
	y = withSign(y, x)
	set(y, cmp(x, eq, c(0)), x)
	return set(y, cmp(abs(x), nle, c(math.MaxFloat64)), x)
}

func hypotOf(x, y v) v {
	x, y = abs(x), abs(y)
	a, b := max(x, y), min(x, y)
	// Where neither is NaN: a >= b. Where one is, the end puts things right.
	by, unit := load(c(1)), load(c(1))
	low, high := cmp(b, lt, c(0x1p-450)), cmp(a, gt, c(0x1p500))
	set(by, low, c(0x1p600))
	set(unit, low, c(0x1p-600))
	set(by, high, c(0x1p-600))
	set(unit, high, c(0x1p600))
	p, q := mul(a, by), mul(b, by)
	p2, q2 := mul(p, p), mul(q, q)
	h := sqrt(add(p2, q2))
	h2 := mul(h, h)
	e := sub(sub(h2, p2), q2)
	f := msub(mov(h), h, h2)
	VSUBPD(msub(p, p, p2), f, f)
	VSUBPD(msub(q, q, q2), f, f)
	VADDPD(f, e, e)
	z := mul(sub(h, div(e, add(h, h))), unit)
	set(z, cmp(b, le, mul(a, c(0x1p-28))), a)
	sum := add(x, y)
	set(z, cmp(x, un, y), sum)
	set(z, cmp(x, eq, c(math.Inf(1))), c(math.Inf(1)))
	return set(z, cmp(y, eq, c(math.Inf(1))), c(math.Inf(1)))
}

// erfcTable and gaussTable give the i-th column for every k.
var erfcTable, gaussTable func(k []v) func(i int) []v

// erfc writes a kernel of erfc's kind.
func erfc(name, of string, body func(x []v) []v) {
	m := kit.Map{
		Name: name, Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = " + of + "Of(x) }", Args: "x",
		Setup: func() {
			setup(nil, []float64{magic})
			erfcTable = tableOf("erfcRows", columnsOf("erfcxTable")...)
			gaussTable = tableOf("gaussRows", num["gaussHi"], num["gaussLo"])
		},
		Body: func(x []v) []v { return body(x) },
	}
	if kit.Wide {
		m.Unroll = 2
		m.Together = func(x [][]v) [][]v {
			y := body([]v{x[0][0], x[1][0]})
			return [][]v{{y[0]}, {y[1]}}
		}
	}
	m.Write()
}

func each(x []v, f func(i int, x v) v) []v {
	y := make([]v, len(x))
	for i := range x {
		y[i] = f(i, x[i])
	}
	return y
}

// erfcOf is 2^-half erfc(x+xl), half 0 or 1; xl may be nil.
func erfcOf(x, xl []v, half float64) []v {
	a := each(x, func(_ int, x v) v { return min(abs(x), load(c(28))) })
	k := each(a, func(_ int, a v) v { z := kit.New(); VPSRLQ(U8(51), a, z); return z })
	column := erfcTable(k)
	d := column(0)
	d = each(a, func(i int, a v) v { return sub(a, d[i]) })
	t, slope := column(1), column(2)
	tl := each(d, func(i int, d v) v {
		at := t[i]
		t[i] = madd(mov(d), slope[i], at)
		return madd(slope[i], d, sub(at, t[i]))
	})
	d2 := squares(d)
	p := evenOdd(func(i int) []v { return column(3 + i) }, 16, d, d2)
	for i := range p {
		tl[i] = addMul(tl[i], d2[i], p[i])
	}
	g, gl, n := expMinus(square(a))
	return each(x, func(i int, x v) v {
		h := mul(g[i], t[i])
		l := msub(mov(t[i]), g[i], h)
		addMul(l, g[i], tl[i])
		addMul(l, gl[i], add(t[i], tl[i]))
		left := cmp(x, lt, c(0))
		if xl != nil {
			e := mul(xl[i], num1("twoOverSqrtPiHi"))
			subMul(l, flip(e, x), add(g[i], gl[i]))
		}
		y := scale(add(h, l), n[i], half)
		one := math.Ldexp(1, int(-half))
		set(y, left, sub(load(c(2*one)), y))

		z := mul(x, x)
		q := horner(num["erfNear"], z)
		if xl == nil {
			q = mul(q, x)
		} else {
			e := madd(mul(z, c(0.5)), load(c(1)), c(-1))
			e = mul(madd(e, z, c(1)), num1("twoOverSqrtPiHi"))
			q = madd(q, x, mul(e, xl[i]))
		}
		h = sub(load(c(1)), x)
		q = add(h, sub(sub(sub(load(c(1)), h), x), q))
		if half != 0 {
			q = mul(q, c(one))
		}
		return set(y, cmp(abs(x), lt, c(0.5)), q)
	})
}

// square is x*x = y + yl.
func square(x []v) (y, yl []v) {
	y = squares(x)
	return y, each(x, func(i int, x v) v { return msub(mov(x), x, y[i]) })
}

// expMinus is exp(-(y+yl)) = 2^floor(n/16) * (t + l), n with magic added.
func expMinus(y, yl []v) (t, l, n []v) {
	n = each(y, func(_ int, y v) v { return madd(load(c(-num["gaussInv"][0])), y, c(magic)) })
	nf := each(n, func(_ int, n v) v { return sub(n, c(magic)) })
	minus := func(y, n v, name string) v { VFNMSUB231PD(num1(name), n, y); return y } // -n*c - y
	s := each(y, func(i int, y v) v {
		r, rl := minus(y, nf[i], "gaussLn2Hi"), minus(yl[i], nf[i], "gaussLn2Lo")
		s := add(r, rl)
		yl[i] = sub(rl, sub(s, r))
		return s
	})
	s2 := squares(s)
	p := evenOdd(same("gaussPoly", len(s)), 6, s, s2)
	column := gaussTable(n)
	t, l = column(0), column(1)
	for i := range l {
		addMul(l[i], t[i], madd(p[i], s2[i], yl[i]))
		addMul(l[i], t[i], s[i])
	}
	return t, l, n
}

// scale is y * 2^(floor(n/16) - half), n with magic added.
func scale(y, n v, half float64) v {
	if kit.Wide {
		z := kit.New()
		VSCALEFPD(madd(sub(n, c(magic)), load(c(1.0/16)), c(-half)), y, z)
		return z
	}
	// In the place of an exponent; two steps, the first exact.
	e := kit.New()
	VPAND(kit.Bits(^uint64(15)), n, e)
	e = shiftLeft(e, 48)
	if half != 0 {
		VPSUBQ(kit.Bits(1<<52), e, e)
	}
	first := kit.New()
	VPSRAD(U8(1), e, first)
	VPAND(kit.Bits(0xfff<<52), first, first)
	VPSUBQ(first, e, e)
	VPADDQ(kit.Float(1), first, first)
	VPADDQ(kit.Float(1), e, e)
	return mul(mul(y, first), e)
}

func normCdfOf(x []v) []v {
	x = clamp(x, 40)
	var z, zl []v
	for _, x := range x {
		p := mul(x, num1("sqrtHalfHi"))
		l := msub(load(num1("sqrtHalfHi")), x, p)
		addMul(l, x, num1("sqrtHalfLo"))
		z, zl = append(z, xor(p, bits(signBit))), append(zl, xor(l, bits(signBit)))
	}
	return erfcOf(z, zl, 1)
}

// horner is p(x).
func horner(p []float64, x v) v { return horners(p, []v{x})[0] }

func clamp(x []v, bound float64) []v {
	return each(x, func(_ int, x v) v { return min(max(x, load(c(-bound))), load(c(bound))) })
}

func gaussOf(x []v) []v {
	t, l, n := expMinus(square(clamp(x, 28)))
	return each(t, func(i int, t v) v { return scale(add(t, l[i]), n[i], 0) })
}

func normPdfOf(x []v) []v {
	y, yl := square(clamp(x, 39.6))
	half := func(_ int, x v) v { return mul(x, c(0.5)) }
	t, l, n := expMinus(each(y, half), each(yl, half))
	return each(t, func(i int, t v) v {
		h := mul(t, num1("rootHi"))
		e := msub(load(num1("rootHi")), t, h)
		addMul(e, t, num1("rootLo"))
		addMul(e, l[i], num1("rootHi"))
		return scale(add(h, e), n[i], 0)
	})
}
