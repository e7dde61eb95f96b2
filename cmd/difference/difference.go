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
	Evals      int
}

const (
	levels  = 14    // differences in one table, each at half the step of the one before
	retries = 60    // halvings of the first step until the values around x are finite
	sharp   = 1e-11 // a relative error below which nobody looks closer
	eps     = 0x1p-52
)

// windows are the places in the ladder of steps where a table starts. The first
// looks at the function from far; what happens close to x only the others see.
var windows = []int{0, 7, 14}

// Derivative estimates the derivative of f at x; order is 1 or 2.
func Derivative(f func(x float64) (float64, error), x float64, order int) Estimate {
	return along(f, x, math.Abs(x), order)
}

// along is Derivative with the size of x given: the first step is about a tenth of it.
func along(f func(x float64) (float64, error), x, size float64, order int) Estimate {
	if order != 1 && order != 2 {
		panic(fmt.Sprintf("difference: order %d", order))
	}
	p := &probe{f: f, x: x, seen: map[float64]float64{}}
	p.scale(size)
	best := Estimate{Err: math.Inf(1), Value: math.NaN(), OneSided: [2]float64{math.NaN(), math.NaN()}}
	if !finite(x) || !finite(p.at(0)) {
		best.Evals = p.evals
		return best
	}
	p.lower()
	central, left, right := p.ladder(0, order), p.ladder(-1, order), p.ladder(+1, order)
	if start := central.settle(p.first); start >= 0 {
		// All three start where both sides of x exist.
		left.start, right.start = start, start
	} else {
		left.settle(p.first)
		right.settle(p.first)
	}
	c, l, r := central.table(windows[0]), left.table(windows[0]), right.table(windows[0])
	if !(c.Err <= sharp*math.Abs(c.Value)) || !central.holds(c) || apart(l, r) {
		best.Kink = true
		for _, w := range windows[1:] {
			lw, rw := left.table(w), right.table(w)
			best.Kink = best.Kink && apart(lw, rw)
			c, l, r = better(c, central.table(w)), better(l, lw), better(r, rw)
		}
	}
	best.Value, best.Err = c.Value, c.Err
	best.OneSided = [2]float64{l.Value, r.Value}
	if !finite(c.Value) {
		// x is at an edge of the domain: one side is all there is.
		edge := better(l, r)
		best.Value, best.Err = edge.Value, edge.Err
	}
	best.Evals = p.evals
	return p.unscale(best, order)
}

func better(a, b Estimate) Estimate {
	if b.Err < a.Err {
		return b
	}
	return a
}

// apart reports whether two one-sided derivatives differ by far more than their errors.
func apart(l, r Estimate) bool {
	gap := math.Abs(l.Value - r.Value)
	return gap > 20*(l.Err+r.Err) && gap > 1e-5*math.Max(math.Abs(l.Value), math.Abs(r.Value))
}

// Gradient estimates every partial derivative of f at x.
func Gradient(f func(x []float64) (float64, error), x []float64) []Estimate {
	out := make([]Estimate, len(x))
	for i := range x {
		out[i] = Derivative(func(v float64) (float64, error) {
			at := append([]float64(nil), x...)
			at[i] = v
			return f(at)
		}, x[i], 1)
	}
	return out
}

// Along estimates the derivative of f at x in the direction v.
func Along(f func(x []float64) (float64, error), x, v []float64) Estimate {
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
	return along(func(t float64) (float64, error) {
		at := make([]float64, len(x))
		for i := range x {
			at[i] = x[i] + t*v[i]
		}
		return f(at)
	}, 0, size, 1)
}

// Jacobian estimates df[i]/dx[j]; row i belongs to output i. Every point is
// evaluated once for all outputs.
func Jacobian(f func(x []float64) ([]float64, error), x []float64) ([][]Estimate, error) {
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
			out[i][j] = Derivative(func(v float64) (float64, error) {
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
	f     func(float64) (float64, error)
	x     float64
	exp   int // the unit is 2^exp
	down  int // values are read as f/2^down, so that differences for each unit do not overflow
	first int // the first step is 2^-first units
	seen  map[float64]float64
	evals int
}

// scale chooses the unit. Where x is 0 nothing says how large it may be: 1.
func (p *probe) scale(size float64) {
	if size == 0 {
		size = 1
	}
	p.first = 3
	_, p.exp = math.Frexp(size)
	p.exp = max(p.exp, -1000) // a subnormal x has room for few steps
}

// lower brings large values down to about 1.
func (p *probe) lower() {
	if y := p.at(0); math.Abs(y) > 0x1p500 {
		_, p.down = math.Frexp(y)
		p.seen[0] = math.Ldexp(y, -p.down)
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

// unscale turns a derivative for each unit into one for each x.
func (p *probe) unscale(e Estimate, order int) Estimate {
	for _, v := range []*float64{&e.Value, &e.Err, &e.OneSided[0], &e.OneSided[1]} {
		*v = math.Ldexp(*v, p.down-order*p.exp)
	}
	return e
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// formulas by order and side; the one-sided ones have errors in every power of the step.
var formulas = map[int]map[int]fd.Formula{
	1: {-1: fd.Backward, 0: fd.Central, +1: fd.Forward},
	2: {-1: fd.Backward2nd, 0: fd.Central2nd, +1: fd.Forward2nd},
}

// A ladder is the differences of one formula at the steps 2^-start, 2^-start-1, …
type ladder struct {
	p       *probe
	formula fd.Formula
	start   int
	ratio   float64 // by which one halving reduces the leading error
}

func (p *probe) ladder(side, order int) *ladder {
	l := &ladder{p: p, formula: formulas[order][side], start: p.first, ratio: 2}
	if side == 0 {
		l.ratio = 4
	}
	return l
}

// settle finds the first rung, from a given one on, where the difference is finite.
func (l *ladder) settle(start int) int {
	for l.start = start; l.start < start+retries; l.start++ {
		if d, _ := l.rung(0); finite(d) {
			return l.start
		}
	}
	return -1
}

// rung is one difference, and the rounding of the values that it is made of.
func (l *ladder) rung(i int) (d, noise float64) {
	h := math.Ldexp(1, -l.start-i)
	big := 0.0
	for _, q := range l.formula.Stencil {
		big = math.Max(big, math.Abs(q.Coeff*l.p.at(q.Loc*h)))
	}
	d = fd.Derivative(l.p.at, 0, &fd.Settings{Formula: l.formula, Step: h})
	return d, eps * big / math.Pow(h, float64(l.formula.Derivative))
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
			if e = math.Max(e, worst[k]/4); e < best.Err {
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

// holds reports whether a difference much closer to x tells the same.
func (l *ladder) holds(e Estimate) bool {
	d, noise := l.rung(19)
	return math.Abs(d-e.Value) <= 8*noise+10*e.Err+1e-6*math.Abs(e.Value)
}
