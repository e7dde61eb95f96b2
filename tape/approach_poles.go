package tape

import (
	"math"
	"slices"
	"strings"

	"nabla/tape/puiseux"
)

// mostShifts is how far from a pole at 0 limits are looked for at others.
const mostShifts = 32

// polar is the gamma function, or one that is made of it, of series at a pole: by recurrence
// what it is at numbers beyond 0 (NIST DLMF 5.5.1, 5.5.2, 5.15.5), and of several series what
// gives beta. False: it is none, or at no pole.
func polar(op *Op, args []puiseux.Series) (y puiseux.Series, ok bool) {
	of := func(name string, args ...puiseux.Series) puiseux.Series {
		var x [3]puiseux.Series
		copy(x[:], args)
		return seriesOf(table.find(name), x)
	}
	add := func(x, y puiseux.Series) puiseux.Series { return x.Add(y) }
	less := func(x, y puiseux.Series) puiseux.Series { return of("subtract", x, y) }
	times := func(x, y puiseux.Series) puiseux.Series { return x.Mul(y) }
	moving, poles := 0, false
	for _, x := range args {
		v, _ := x.Limit()
		poles = poles || isPole(v)
		if !x.Constant() {
			moving++
		}
	}
	if n := len(args); n > 1 && (strings.HasPrefix(op.Name, "beta") || strings.HasSuffix(op.Name, "_fall")) { // made of gamma functions of the sum
		v, _ := add(args[n-2], args[n-1]).Limit()
		poles = poles || isPole(v)
	}
	if moving == 0 || !poles && moving == 1 {
		return y, false
	}
	switch op.Name {
	case "gamma", "lgamma", "digamma", "polygamma":
	case "beta":
		a, b := args[0], args[1]
		return times(times(of("gamma", a), of("gamma", b)), of("reciprocal", of("gamma", add(a, b)))), true
	case "betaln":
		a, b := args[0], args[1]
		return less(add(of("lgamma", a), of("lgamma", b)), of("lgamma", add(a, b))), true
	case "digamma_fall":
		return less(of("digamma", args[0]), of("digamma", add(args[0], args[1]))), true
	case "polygamma_fall":
		n, a, b := args[0], args[1], args[2]
		return less(of("polygamma", n, a), of("polygamma", n, add(a, b))), true
	case "beta_slope":
		return times(of("beta", args...), of("digamma_fall", args...)), true
	case "beta_curve":
		fall := of("digamma_fall", args...)
		return times(of("beta", args...), add(times(fall, fall), of("polygamma_fall", puiseux.Of(1), args[0], args[1]))), true
	case "beta_mixed":
		a, b := args[0], args[1]
		falls := times(of("digamma_fall", a, b), of("digamma_fall", b, a))
		return times(of("beta", a, b), less(falls, of("polygamma", puiseux.Of(1), add(a, b)))), true
	default:
		return y, false
	}
	x := args[len(args)-1]
	v, known := x.Limit()
	if !known || x.Constant() || !isPole(v) || v < -mostShifts {
		return y, false
	}
	up := puiseux.Of(1 - v)
	y = of(op.Name, append(slices.Clone(args[:len(args)-1]), add(x, up))...)
	for j := range int(1 - v) {
		at := add(x, puiseux.Of(float64(j)))
		switch op.Name {
		case "gamma":
			y = times(y, of("reciprocal", at))
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
			y = less(y, times(puiseux.Of(f), of("power", at, puiseux.Of(-n-1))))
		}
	}
	return y, true
}
