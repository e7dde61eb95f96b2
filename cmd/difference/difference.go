// Package difference estimates derivatives from values alone, by gonum's finite
// differences at shrinking steps and Ridders' extrapolation to step zero. Each
// estimate says how far it may be off.
package difference

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/diff/fd"
)

// An Estimate is a derivative and its uncertainty. OneSided are the derivatives
// from the left and from the right, NaN where they were not taken or not found;
// Kink says that they differ by far more than their errors.
type Estimate struct {
	Value, Err float64
	OneSided   [2]float64
	Kink       bool
	Evals      int // values of the function that it took
}

// Settings say what is known of a function beside its values. The zero value knows nothing.
type Settings struct {
	// Noise is the error of a single value, if it is more than the rounding of the
	// result: (1 - cos(x))/x^2 is exact to 1e-6 at x = 1e-5, though its values have 16 digits.
	// What is not known is measured, too.
	Noise float64
}

const (
	levels  = 14    // differences in one table, each at half the step of the one before
	retries = 42    // halvings of the first step until the values around x are finite
	sharp   = 1e-11 // a relative error below which nobody looks closer
	finest  = 48    // the last rung: beyond it x plus a step is x again
	eps     = 0x1p-52

	// Steps are powers of two times this: no multiple of a period that people use, and
	// of so few bits that x plus a step is still exact.
	odd = 811. / 1024
)

// windows are the places in the ladder of steps where a table starts. The first
// looks at the function from far; what happens close to x only the others see.
var windows = []int{0, 7, 14}

// Derivative estimates the derivative of f at x; order is 1 or 2.
func (s Settings) Derivative(f func(x float64) (float64, error), x float64, order int) Estimate {
	return s.along(f, x, math.Abs(x), order)
}

// along is Derivative with the size of x given. Steps in proportion to a tiny x
// may drown in rounding, as in exp(1e-20): then steps in proportion to 1 are
// tried, and believed if they do not contradict.
func (s Settings) along(f func(x float64) (float64, error), x, size float64, order int) Estimate {
	if size < 0x1p-1000 { // there is no room for steps: x is as good as 0
		x, size = 0, 0
	}
	near := s.around(f, x, size, order)
	if size == 0 || size > 0.125 || near.Err <= 1e3*sharp*math.Abs(near.Value) {
		return near
	}
	far := s.around(f, x, 1, order)
	far.Evals += near.Evals
	if far.Err < near.Err && (math.IsInf(near.Err, 1) || math.Abs(far.Value-near.Value) <= 5*(far.Err+near.Err)) {
		return far
	}
	near.Evals = far.Evals
	return near
}

// around is Derivative with a first step of about a tenth of size.
func (s Settings) around(f func(x float64) (float64, error), x, size float64, order int) Estimate {
	if order != 1 && order != 2 {
		panic(fmt.Sprintf("difference: order %d", order))
	}
	p := &probe{f: f, x: x, seen: map[float64]float64{}, noise: s.Noise}
	p.scale(size)
	nothing := Estimate{Err: math.Inf(1), Value: math.NaN(), OneSided: [2]float64{math.NaN(), math.NaN()}}
	if !finite(x) || !finite(p.at(0)) {
		nothing.Evals = p.evals
		return nothing
	}
	p.lower()
	central, left, right := p.ladder(0, order), p.ladder(-1, order), p.ladder(+1, order)
	both := central.settle(p.first)
	if both {
		// All three start where both sides of x exist.
		left.start, right.start = central.start, central.start
	} else {
		left.settle(p.first)
		right.settle(p.first)
	}
	c, l, r := central.table(0), left.table(0), right.table(0)
	out := Estimate{}
	if !(c.Err <= sharp*math.Abs(c.Value)) || !central.holds(c) || apart(l, r) {
		if p.scattered = p.scatter(); math.IsInf(p.scattered, 1) {
			return p.unscale(Estimate{Value: c.Value, Err: math.Inf(1), OneSided: [2]float64{l.Value, r.Value}, Evals: p.evals}, order)
		}
		out.Kink = true
		for _, w := range windows[1:] {
			out.Kink = out.Kink && apart(left.table(w), right.table(w))
		}
		c, l, r = central.best(), left.best(), right.best()
		out.Kink = out.Kink && apart(l, r)
	}
	out.Value, out.Err = c.Value, c.Err
	out.OneSided = [2]float64{l.Value, r.Value}
	if !both {
		// x is at an edge of the domain: one side is all there is.
		out.Value, out.Err, out.Kink = l.Value, l.Err, false
		if !(l.Err <= r.Err) {
			out.Value, out.Err = r.Value, r.Err
		}
	}
	out.Evals = p.evals
	return p.unscale(out, order)
}

// apart reports whether two one-sided derivatives differ by far more than their errors.
func apart(l, r Estimate) bool {
	gap := math.Abs(l.Value - r.Value)
	return gap > 30*(l.Err+r.Err) && gap > 1e-5*math.Max(math.Abs(l.Value), math.Abs(r.Value))
}

// Gradient estimates every partial derivative of f at x.
func (s Settings) Gradient(f func(x []float64) (float64, error), x []float64) []Estimate {
	out := make([]Estimate, len(x))
	for i := range x {
		out[i] = s.Derivative(func(v float64) (float64, error) {
			at := append([]float64(nil), x...)
			at[i] = v
			return f(at)
		}, x[i], 1)
	}
	return out
}

// Along estimates the derivative of f at x in the direction v.
func (s Settings) Along(f func(x []float64) (float64, error), x, v []float64) Estimate {
	return s.directional(f, x, v, 1)
}

// Curvature estimates the second derivative of f at x in the direction v.
func (s Settings) Curvature(f func(x []float64) (float64, error), x, v []float64) Estimate {
	return s.directional(f, x, v, 2)
}

// directional differentiates f at x along v, once or twice.
func (s Settings) directional(f func(x []float64) (float64, error), x, v []float64, order int) Estimate {
	// The step in t moves each x[i] by t v[i]; a tenth of the smallest |x[i]/v[i]|
	// keeps every coordinate on its side of zero.
	size := math.Inf(1)
	for i := range x {
		if r := math.Abs(x[i] / v[i]); r > 0 && r < size {
			size = r
		}
	}
	if math.IsInf(size, 1) {
		size = 0
	}
	return s.along(func(t float64) (float64, error) {
		at := make([]float64, len(x))
		for i := range x {
			at[i] = x[i] + t*v[i]
		}
		return f(at)
	}, 0, size, order)
}

// Jacobian estimates df[i]/dx[j]; row i belongs to output i. Every point is
// evaluated once for all outputs.
func (s Settings) Jacobian(f func(x []float64) ([]float64, error), x []float64) ([][]Estimate, error) {
	y, err := f(x)
	if err != nil {
		return nil, err
	}
	out := make([][]Estimate, len(y))
	for i := range out {
		out[i] = make([]Estimate, len(x))
	}
	for j := range x {
		type result struct {
			y   []float64
			err error
		}
		seen := map[float64]result{}
		for i := range y {
			out[i][j] = s.Derivative(func(v float64) (float64, error) {
				r, ok := seen[v]
				if !ok {
					at := append([]float64(nil), x...)
					at[j] = v
					r.y, r.err = f(at)
					if r.err == nil && len(r.y) != len(y) {
						r.err = fmt.Errorf("%d values, then %d", len(y), len(r.y))
					}
					seen[v] = r
				}
				if r.err != nil {
					return 0, r.err
				}
				return r.y[i], nil
			}, x[j], 1)
		}
	}
	return out, nil
}

// A probe evaluates f at u units from x. In units of its own size x is about 1,
// so that steps and their squares neither overflow nor underflow; a unit is a
// power of two, so that x plus a step is exact and the step the one that was meant.
type probe struct {
	f         func(float64) (float64, error)
	x         float64
	exp       int // the unit is 2^exp
	down      int // values are read as f/2^down, so that differences for each unit do not overflow
	first     int // the first step is odd*2^-first units
	noise     float64
	scattered float64 // the noise that was measured
	seen      map[float64]float64
	evals     int
}

// scale chooses the unit. Where x is 0 nothing says how large it may be: 1.
func (p *probe) scale(size float64) {
	if size == 0 {
		size = 1
	}
	p.first = 3
	_, p.exp = math.Frexp(size)
}

// lower brings huge and tiny values to about 1.
func (p *probe) lower() {
	if y := p.at(0); math.Abs(y) > 0x1p500 || math.Abs(y) < 0x1p-500 {
		_, p.down = math.Frexp(y)
		p.seen[0] = math.Ldexp(y, -p.down)
		p.noise = math.Ldexp(p.noise, -p.down)
	}
}

// at is f at u units from x; an error counts as a value that does not exist.
func (p *probe) at(u float64) float64 {
	if y, ok := p.seen[u]; ok {
		return y
	}
	y, err := p.f(p.x + math.Ldexp(u, p.exp))
	p.evals++
	if err != nil {
		y = math.NaN()
	}
	y = math.Ldexp(y, -p.down)
	p.seen[u] = y
	return y
}

// scatter measures the error of a value: how far values of neighbours of x are from polynomials
// of low degree. What a function loses between its terms no rounding of its result shows. Where it is a
// good part of the values, these are waves too short to be seen, or have nothing to do with each other: Inf.
func (p *probe) scatter() float64 {
	const most = 6
	worst, largest := 0.0, 0.0
	// The sides are apart, a kink at x is no noise; and where all values of one are rounded alike,
	// those of the other are not.
	for _, step := range []float64{-odd * 0x1p-28, 633 * 0x1p-37} {
		var d [most + 2]float64
		for i := range d {
			d[i] = p.at(float64(i+1) * step)
			largest = math.Max(largest, math.Abs(d[i]))
		}
		// The k-th difference of independent errors has (2k)!/(k!)² times their variance, and signs that
		// change: where they do not, it is the function's own.
		least, variance := math.Inf(1), 1.0
		for k := 1; k <= most; k++ {
			sum, low, high := 0.0, 0.0, 0.0
			for i := range len(d) - k {
				d[i] = d[i+1] - d[i]
				sum += d[i] * d[i]
				low, high = math.Min(low, d[i]), math.Max(high, d[i])
			}
			variance *= float64(2*(2*k-1)) / float64(k)
			if k >= 3 && low < 0 && high > 0 {
				least = math.Min(least, sum/float64(len(d)-k)/variance)
			}
		}
		if finite(least) {
			worst = math.Max(worst, 2*math.Sqrt(least))
		}
	}
	if worst > 0x1p-16*largest {
		return math.Inf(1)
	}
	return worst
}

// unscale turns a derivative for each unit into one for each x.
func (p *probe) unscale(e Estimate, order int) Estimate {
	for _, v := range []*float64{&e.Value, &e.Err, &e.OneSided[0], &e.OneSided[1]} {
		*v = math.Ldexp(*v, p.down-order*p.exp)
	}
	return e
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// A ladder is the differences of one formula at the steps 2^-start, 2^-start-1, …
type ladder struct {
	p       *probe
	formula fd.Formula
	start   int
	ratio   float64 // by which one halving reduces the leading error
}

// ladder is one of differences on a side: -1 from the left, 1 from the right, 0 from both.
func (p *probe) ladder(side, order int) *ladder {
	formulas := [2][3]fd.Formula{ // the one-sided ones have errors in every power of the step
		{fd.Backward, fd.Central, fd.Forward},
		{fd.Backward2nd, fd.Central2nd, fd.Forward2nd},
	}
	l := &ladder{p: p, formula: formulas[order-1][side+1], start: p.first, ratio: 2}
	if side == 0 {
		l.ratio = 4
	}
	return l
}

// settle finds the first rung, from a given one on, where the difference is finite.
func (l *ladder) settle(start int) bool {
	for l.start = start; l.start < start+retries; l.start++ {
		if d, _ := l.rung(0); finite(d) {
			return true
		}
	}
	return false
}

// rung is one difference, and the error of the values that it is made of.
func (l *ladder) rung(i int) (d, noise float64) {
	if l.start+i > finest {
		return math.NaN(), 0
	}
	return l.at(math.Ldexp(odd, -l.start-i), math.Max(l.p.noise, l.p.scattered))
}

// at is the difference at step h of values with an error.
func (l *ladder) at(h, err float64) (d, noise float64) {
	big := 0.0
	for _, q := range l.formula.Stencil {
		big = math.Max(big, math.Abs(q.Coeff)*math.Max(eps*math.Abs(l.p.at(q.Loc*h)), err))
	}
	d = fd.Derivative(l.p.at, 0, &fd.Settings{Formula: l.formula, Step: h})
	return d, big / math.Pow(h, float64(l.formula.Derivative))
}

// table is Ridders' method: the differences from one rung on are extrapolated to
// step zero, each column of the table free of one more power of the step. The
// entry counts that agrees best with the two it was made of; their distance is
// its error, never less than the rounding it contains.
func (l *ladder) table(first int) Estimate {
	best := Estimate{Value: math.NaN(), Err: math.Inf(1)}
	var prev, rounding []float64
	for i := range levels {
		d, noise := l.rung(first + i)
		if !finite(d) {
			break
		}
		row, worst := []float64{d}, []float64{noise}
		factor := l.ratio
		for k := 1; k <= i; k++ {
			row = append(row, row[k-1]+(row[k-1]-prev[k-1])/(factor-1))
			worst = append(worst, (factor*worst[k-1]+rounding[k-1])/(factor-1))
			e := math.Max(math.Abs(row[k]-row[k-1]), math.Abs(row[k]-prev[k-1]))
			if e = math.Max(e, worst[k]/2); e < best.Err && i > 2 { // two early rungs may agree by chance
				best.Value, best.Err = row[k], e
			}
			factor *= l.ratio
		}
		// Once the rounding of a difference alone exceeds the error there is nothing to gain.
		if i > 4 && noise > 4*best.Err {
			break
		}
		prev, rounding = row, worst
	}
	return best
}

// best weighs the windows: what is seen from far is the more precise, if it agrees
// with what is seen close to x. Where even the differences closest to x say
// something else, the estimate owns up to it.
func (l *ladder) best() Estimate {
	w := len(windows) - 1
	best := l.table(windows[w])
	for i := w - 1; i >= 0; i-- {
		e := l.table(windows[i])
		if !finite(best.Value) || e.Err < best.Err && math.Abs(e.Value-best.Value) <= 5*(e.Err+best.Err) {
			best, w = e, i
		}
	}
	if !finite(best.Value) {
		return best
	}
	for _, i := range checks {
		if i < windows[w]+levels {
			continue
		}
		if d, noise := l.rung(i); finite(d) {
			if gap := math.Abs(d-best.Value) - 8*noise; gap > 10*best.Err {
				best.Err = math.Max(best.Err, gap)
			}
		}
	}
	if !l.resolved(best) {
		best.Err = math.Inf(1)
	}
	return best
}

// resolved reports whether neighbouring float64s have neighbouring values. Where
// they do not, as with sin(1e22), no difference means anything. Second differences
// so close to x are mostly rounding; there two first differences have to agree, too. What
// was measured does not count: waves between float64s look like noise.
func (l *ladder) resolved(e Estimate) bool {
	const h = 0x1p-46 // exact at every x
	far := func(d, noise, e float64) bool { return math.Abs(d-e) > 1e6*noise+0.1*math.Abs(e) }
	d, noise := l.at(h, l.p.noise)
	if far(d, noise, e.Value) {
		return false
	}
	if l.formula.Derivative == 1 {
		return true
	}
	first := l.p.ladder(0, 1)
	d, noise = first.at(h, l.p.noise)
	wide, _ := first.at(4*h, l.p.noise)
	return !far(d, noise, wide)
}

// checks are the rungs whose differences an estimate from further away has to be compatible with.
var checks = []int{19, 27, 34}

// holds reports whether a difference much closer to x tells the same.
func (l *ladder) holds(e Estimate) bool {
	d, noise := l.rung(checks[0])
	return math.Abs(d-e.Value) <= 8*noise+10*e.Err+1e-6*math.Abs(e.Value) && l.resolved(e)
}
