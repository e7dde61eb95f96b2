package tape

import (
	"fmt"

	"nabla/tape/puiseux"
	"nabla/tape/tensor"
)

// terms are what rs are as series in a root of the distance that inputs have moved, in the
// direction that m says; nil where there is no series.
func (t *Tape) terms(rs []Ref, m *mover, wants [][]bool) [][]puiseux.Term {
	u := &numberRun[puiseux.Term]{t: t, most: min(mostNumbers, mostUnbounded<<8), number: puiseux.TermOf, plain: puiseux.Term.Is, wants: wants}
	u.apply = func(op *Op, x [3]puiseux.Term, w [3]float64) (puiseux.Term, bool) {
		return m.terms.Apply(op.Name, x, func(x, y, z puiseux.Series) (puiseux.Series, bool) {
			return seriesOf(op, [3]puiseux.Series{x, y, z}), true
		})
	}
	u.decide = func(op *Op, x [3]puiseux.Term, w [3]float64, own bool) (puiseux.Term, bool) {
		branch := op.one(w) != 0
		same := w[0] == w[1]
		name := "decide " + op.Name
		if own {
			name = fmt.Sprintf("take %s %v", op.Name, branch)
		}
		_, logic := puiseux.Logic(op.Name, puiseux.Series{}, puiseux.Series{})
		_, known := puiseux.Compare(op.Name, puiseux.Series{}, puiseux.Series{})
		if !logic && (!known || !same) {
			return puiseux.Term{}, false
		}
		return m.terms.Apply(name, x, func(x, y, _ puiseux.Series) (puiseux.Series, bool) {
			if here, ok := puiseux.Logic(op.Name, x, y); ok {
				return here, true
			}
			here, _ := puiseux.Compare(op.Name, x, y)
			if own && (!here.Constant() || here.Zero() == branch) {
				return puiseux.Unknown, true // the branch is that of the value, which others are only next to
			}
			return here, true
		})
	}
	u.place = func(r Ref, k int, v float64) puiseux.Term {
		from, ok := m.from[r]
		if !ok || !m.moves(r, k) {
			return puiseux.TermOf(v)
		}
		return m.terms.Near(v, m.rate(from+k, v))
	}
	return u.run(rs)
}

// seriesOf is an operation on series, those that it does not take being 0.
func seriesOf(op *Op, x [3]puiseux.Series) puiseux.Series {
	if y, ok := puiseux.Apply(op.Name, x[0], x[1], x[2]); ok {
		return y
	}
	var at [3]float64
	constant := true
	for i, s := range x {
		if s.Undefined() {
			return s
		}
		at[i], _ = s.Limit()
		constant = constant && (i >= op.arity() || s.Constant())
	}
	switch y, ok := polar(op, x[:op.arity()]); {
	case constant:
		return puiseux.Of(op.one(at))
	case ok:
		return y
	}
	return analytic(op, x[:op.arity()]...)
}

// analytic is a special function of one series and numbers, by its derivatives at the limit of the
// series: unknown, which may be what is not taken, where these are not finite.
func analytic(op *Op, args ...puiseux.Series) puiseux.Series {
	at, where := -1, make([]float64, op.arity())
	for i := range where {
		v, ok := args[i].Limit()
		if !ok || v-v != 0 || !args[i].Constant() && at >= 0 {
			return puiseux.Unknown
		}
		if !args[i].Constant() {
			at = i
		}
		where[i] = v
	}
	if at < 0 || !op.special() {
		return puiseux.Unknown
	}
	t := New()
	refs := make([]Ref, len(where))
	for i, v := range where {
		refs[i] = t.Input("", tensor.Scalar(v), i == at)
	}
	const most = 6 // of cube roots these are two powers of the distance
	var derivatives []float64
	for r, x := t.Apply(op, refs...), refs[at]; ; r = t.Gradient([]Ref{r}, []Ref{x})[0] {
		if r == None {
			return puiseux.Unknown
		}
		v := t.Force(r).Item()
		if v-v != 0 {
			return puiseux.Unknown
		}
		if derivatives = append(derivatives, v); len(derivatives) > most {
			return args[at].Compose(derivatives)
		}
	}
}

// special reports whether op is a special function, which is smooth where its derivatives are finite.
func (op *Op) special() bool {
	for i := range specialRows {
		if specialRows[i].Name == op.Name {
			return true
		}
	}
	return false
}
