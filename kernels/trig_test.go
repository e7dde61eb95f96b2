package kernels

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/accuracy_trig.txt")

// The bounds are the contract's; testdata/accuracy_trig.txt has what was measured.
var trigFunctions = []struct {
	name  string
	f     *unary
	of    func(float64) float64
	bound float64
}{
	{"sin", &Sin, SinOf, 1},
	{"cos", &Cos, CosOf, 1},
	{"tan", &Tan, TanOf, 1},
	{"asin", &Asin, AsinOf, 1},
	{"acos", &Acos, AcosOf, 1},
	{"atan", &Atan, AtanOf, 1},
	{"sinc", &Sinc, SincOf, 1},
	{"cbrt", &Cbrt, CbrtOf, 1},
	{"erf", &Erf, ErfOf, 1},
	{"erfc", &Erfc, ErfcOf, 1},
	{"erfcx", &Erfcx, ErfcxOf, 1},
	{"normcdf", &NormCdf, NormCdfOf, 1},
	{"lognormcdf", &LogNormCdf, LogNormCdfOf, 4},
	{"erfinv", &Erfinv, ErfinvOf, 4},
	{"gamma", &Gamma, GammaOf, 4},
	{"lgamma", &Lgamma, LgammaOf, 4},
	{"digamma", &Digamma, DigammaOf, 4},
}

var trigPairs = []struct {
	name  string
	f     *binary
	of    func(x, y float64) float64
	bound float64
}{
	{"atan2", &Atan2, Atan2Of, 1},
	{"hypot", &Hypot, HypotOf, 1},
	{"polygamma", &Polygamma, PolygammaOf, 4},
}

// TestTrigAccuracy measures every function. The list it compares with, and rewrites
// under -update, is what nabla ops prints; it was measured with
//
//	python3 _table/trig_oracle.py 50000 7 REF && go test -run TrigAccuracy -reference REF -update
func TestTrigAccuracy(t *testing.T) {
	const name = "testdata/accuracy_trig.txt"
	known := map[string]float64{}
	if text, err := os.ReadFile(name); err == nil {
		for line := range strings.Lines(string(text)) {
			var f string
			var u float64
			fmt.Sscan(line, &f, &u)
			known[f] = u
		}
	}
	var list strings.Builder
	measure := func(f string, bound float64, of func(a []float64) float64) {
		if !*update {
			bound = min(bound, known[f])
		}
		u := checkUlps(t, f, bound, of)
		fmt.Fprintf(&list, "%s %.2f\n", f, math.Ceil(u*100)/100)
	}
	for _, f := range trigFunctions {
		measure(f.name, f.bound, func(a []float64) float64 { return f.of(a[0]) })
	}
	for _, f := range trigPairs {
		measure(f.name, f.bound, func(a []float64) float64 { return f.of(a[0], a[1]) })
	}
	if *update {
		if err := os.WriteFile(name, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
