// Command trig writes the trigonometric kernels, roots and the error function's
// family: the arithmetic of generic_trig.go, generic_arc.go, generic_erf.go and others,
// operation by operation.
package main

import . "nabla/kernels/_asm/kit"

// Sin, cos and tan stop at a vector with an argument beyond trigMax.
const trigMax = 0x1p19

var turnTables = []string{"sinHi", "sinLo", "cosHi", "cosLo"}

func main() {
	Start()
	doc := func(name string) string {
		return "\tfor i, x := range x[:len(dst)] { dst[i] = " + name + "Of(x) }"
	}
	const until = "\n\nup to the first turn with an argument above trigMax, where it stops; it returns how many it did."
	for _, f := range []struct {
		name, of, dst, doc string
		body               func(x []V) [][]V
	}{
		{"sin", "Sin", "dst", doc("Sin"), sinOf},
		{"cos", "Cos", "dst", doc("Cos"), cosOf},
		{"sinCos", "SinCos", "sin, cos", "\tfor i, x := range x[:len(sin)] { sin[i], cos[i] = SinCosOf(x) }", sinCosOf},
		{"tan", "Tan", "dst", doc("Tan"), tanOf},
	} {
		m := Map{
			Name: f.name, Of: f.of + "Of", Doc: f.doc + until, Dst: f.dst, Args: "x",
			Setup: func() {
				setup(turnTables, []float64{Magic, num["pio16a"][0], num["pio16b"][0], num["pio16c"][0]})
			},
			Stop: func([]V) {}, // absolute does it, for all vectors of a turn at once
			Body: func(x []V) []V { return f.body(x)[0] },
		}
		if Wide {
			m.Unroll = 2
			m.Together = func(x [][]V) [][]V { return f.body([]V{x[0][0], x[1][0]}) }
		}
		m.Write()
	}
	for _, f := range []struct {
		name, of string
		body     func(x V) V
	}{{"cosPi", "CosPi", cosPiOf}, {"sinc", "Sinc", sincOf}} {
		Map{
			Name: f.name, Of: f.of + "Of", Doc: doc(f.of), Args: "x",
			Setup: func() { setup(turnTables, []float64{Magic, num["onePiHi"][0], num["onePiLo"][0]}) },
			Body:  func(x []V) []V { return []V{f.body(x[0])} },
		}.Write()
	}
	Map{
		Name: "atan", Of: "AtanOf", Doc: doc("Atan"), Args: "x",
		Setup: atanSetup,
		Body:  func(x []V) []V { return []V{atanOf(x[0])} },
		Cases: within(0, 0.4375),
	}.Write()
	Map{
		Name: "atan2", Of: "Atan2Of", Args: "y, x", Unroll: 4, Lag: 0.4,
		Doc:   "\tfor i, y := range y[:len(dst)] { dst[i] = Atan2Of(y, x[i]) }\n\nup to where an argument is far from the other, or from 1; it returns how many it did.",
		Setup: func() { setup(nil, nil) },
		Stop:  func(x []V) { atan2Stop(x[0], x[1]) },
		Body:  func(x []V) []V { return []V{atan2Of(x[0], x[1])} },
		Cases: []func(x []V){
			func(x []V) { WithinAbs(x[0], 0x1p-30, 0x1p30); Within(x[1], 0x1p-30, 0x1p30) },
			func(x []V) { WithinAbs(x[0], 0x1p-30, 0x1p30); WithinAbs(x[1], 0x1p-30, 0x1p30) },
		},
	}.Write()
	erf()
	erfinv()
	gammas()
	mills()
	erfc("erfc", "Erfc", within(0, 0.5, 0.5, 26), func(x []V) []V { return erfcOf(x, nil, 0) })
	erfc("normCdf", "NormCdf", within(0, 0.703125, 0.7109375, 36), normCdfOf)
	erfc("gauss", "Gauss", within(0, 26), gaussOf)
	erfc("normPdf", "NormPdf", within(0, 36), normPdfOf)
	for _, f := range []struct {
		name, of string
		body     func(x V) V
		lag      float64
		cases    []func(x []V)
	}{
		{"asin", "Asin", asinOf, 0.2, within(0, 0.5, 0x1.00001p-1, 1)},
		{"acos", "Acos", acosOf, 0.25, within(0, 0.5, 0x1.00001p-1, 1)},
		{"cbrt", "Cbrt", cbrtOf, 0.3, within(0x1p-600, 0x1p600)},
	} {
		Map{
			Name: f.name, Of: f.of + "Of", Doc: doc(f.of), Args: "x", Unroll: 4, Lag: f.lag,
			Setup: func() { setup(nil, nil) },
			Body:  func(x []V) []V { return []V{f.body(x[0])} },
			Cases: f.cases,
		}.Write()
	}
	Map{
		Name: "hypot", Of: "HypotOf", Doc: "\tfor i, x := range x[:len(dst)] { dst[i] = HypotOf(x, y[i]) }", Args: "x, y", Unroll: 4, Lag: 0.25,
		Setup: func() { setup(nil, nil) },
		Body:  func(x []V) []V { return []V{hypotOf(x[0], x[1])} },
		Cases: []func(x []V){func(x []V) { WithinAbs(x[0], 0x1p-14, 0x1p14); WithinAbs(x[1], 0x1p-14, 0x1p14) }},
	}.Write()
	Finish()
}

// within are cases of |x|, between two bounds each.
func within(bounds ...float64) (cases []func(x []V)) {
	for ; len(bounds) > 0; bounds = bounds[2:] {
		lo, hi := bounds[0], bounds[1]
		cases = append(cases, func(x []V) { WithinAbs(x[0], lo, hi) })
	}
	return cases
}
