package tape

import (
	"math"
	"slices"
	"strings"

	"nabla/tape/puiseux"
)

// mostShifts is how far from a pole at 0 limits are looked for at others.
const mostShifts = 32

// polar is the gamma function, or one that is made of it, of series at a pole. False: it is none,
// or at no pole.
func polar(op *Op, args []puiseux.Series) (y puiseux.Series, ok bool) {
	if !atPoles(op, args) {
		return y, false
	}
	switch op.Name {
	case "gamma", "lgamma", "digamma", "polygamma":
		return shifted(op, args)
	}
	return ofGammas(op, args)
}

// atPoles reports whether series are at a pole of an operation where its own do not serve: one that
// moves, or several at once.
func atPoles(op *Op, args []puiseux.Series) bool {
	moving, poles := 0, false
	for _, x := range args {
		v, _ := x.Limit()
		poles = poles || isPole(v)
		if !x.Constant() {
			moving++
		}
	}
	if n := len(args); n > 1 && (strings.HasPrefix(op.Name, "beta") || strings.HasSuffix(op.Name, "_fall")) { // made of gamma functions of the sum
		v, _ := args[n-2].Add(args[n-1]).Limit()
		poles = poles || isPole(v)
	}
	return moving > 1 || poles && moving > 0
}

// onSeries is an operation of the table on series.
func onSeries(name string, args ...puiseux.Series) puiseux.Series {
	var x [3]puiseux.Series
	copy(x[:], args)
	return seriesOf(table.find(name), x)
}

// ofGammas is an operation of two series that is made of the gamma function and its kin.
func ofGammas(op *Op, args []puiseux.Series) (y puiseux.Series, ok bool) {
	of := onSeries
	add := func(x, y puiseux.Series) puiseux.Series { return x.Add(y) }
	less := func(x, y puiseux.Series) puiseux.Series { return of("subtract", x, y) }
	times := func(x, y puiseux.Series) puiseux.Series { return x.Mul(y) }
	if len(args) < 2 {
		return y, false
	}
	a, b := args[len(args)-2], args[len(args)-1]
	switch op.Name {
	case "beta":
		return times(times(of("gamma", a), of("gamma", b)), of("reciprocal", of("gamma", add(a, b)))), true
	case "betaln":
		return less(add(of("lgamma", a), of("lgamma", b)), of("lgamma", add(a, b))), true
	case "digamma_fall":
		return less(of("digamma", a), of("digamma", add(a, b))), true
	case "polygamma_fall":
		n := args[0]
		return less(of("polygamma", n, a), of("polygamma", n, add(a, b))), true
	case "beta_slope":
		return times(of("beta", a, b), of("digamma_fall", a, b)), true
	case "beta_curve":
		fall := of("digamma_fall", a, b)
		return times(of("beta", a, b), add(times(fall, fall), of("polygamma_fall", puiseux.Of(1), a, b))), true
	case "beta_mixed":
		falls := times(of("digamma_fall", a, b), of("digamma_fall", b, a))
		return times(of("beta", a, b), less(falls, of("polygamma", puiseux.Of(1), add(a, b)))), true
	case "beta_mixed_slope":
		fall, psi := of("digamma_fall", a, b), func(n float64) puiseux.Series { return of("polygamma", puiseux.Of(n), add(a, b)) }
		slope := less(less(times(of("polygamma_fall", puiseux.Of(1), a, b), of("digamma_fall", b, a)), times(fall, psi(1))), psi(2))
		return add(times(of("beta_mixed", a, b), fall), times(of("beta", a, b), slope)), true
	}
	return y, false
}

// shifted is the gamma function or one of its kin at a pole: by recurrence what it is at numbers
// beyond 0 (NIST DLMF 5.5.1, 5.5.2, 5.15.5).
func shifted(op *Op, args []puiseux.Series) (y puiseux.Series, ok bool) {
	of := onSeries
	less := func(x, y puiseux.Series) puiseux.Series { return of("subtract", x, y) }
	x := args[len(args)-1]
	v, known := x.Limit()
	if !known || x.Constant() || !isPole(v) || v < -mostShifts {
		return y, false
	}
	y = of(op.Name, append(slices.Clone(args[:len(args)-1]), x.Add(puiseux.Of(1-v)))...)
	for j := range int(1 - v) {
		at := x.Add(puiseux.Of(float64(j)))
		switch op.Name {
		case "gamma":
			y = y.Mul(of("reciprocal", at))
		case "lgamma":
			y = less(y, of("log", of("abs", at)))
		case "digamma":
			y = less(y, of("reciprocal", at))
		case "polygamma":
			n, _ := args[0].Limit()
			f := math.Gamma(n + 1)
			if math.Mod(n, 2) != 0 {
				f = -f
			}
			y = less(y, puiseux.Of(f).Mul(of("power", at, puiseux.Of(-n-1))))
		}
	}
	return y, true
}
