package tape

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/matrix"
)

// Most matrices have eigenvalues, or singular values, that are far apart. The sums over pairs of their vectors are quotients
// then, to any order, and what stands in the place of these elsewhere (ops_equal.go, ops_beside.go) is not recorded: it takes
// the slopes of slopes along all axes. So second derivatives look at the values.

var opRounding, opLastKnown *Op

var spacedRows = []Op{
	// opLastKnown is a term of a third derivative, or a second one of vectors, of which the next is not known: what stands
	// in the place of quotients is right to that order. Where something asks for it, it is NaN.
	{As: &opLastKnown, Name: "last_known", Args: "X, unknown", Hidden: true, Doc: "X, whose derivative is NaN where unknown", Linear: []int{0},
		Run: func(c *run) { copy(c.out, c.args[0]) },
		Tie: func(t *Tape, r Ref) Ref {
			lead := t.Shape(r)[:len(t.Shape(r))-2]
			return t.reshape(t.broadcastTo(t.Args(r)[1], append(slices.Clone(lead), 1, 1)), lead)
		},
		TieSay: "eigenvalues or singular values that are equal, close, or several of them small: derivatives of this order are not known there",
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 1 {
				return None
			}
			ct = t.full(ct, r)
			return t.Apply(opWhere, t.Args(r)[1], t.Apply(opZMul, ct, t.Const(math.NaN())), ct)
		}},
	// opRounding is what values uᵀ a v may be off by where each element of a has another last digit or so: some ulp of
	// |u|ᵀ |a| |v|; 0 for values far apart, which are not compared with it.
	{As: &opRounding, Name: "rounding_of", Args: "A, U, V, w", Hidden: true, Doc: "rounding of singular values w, or 0 where they are far apart", Stops: "rounding",
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2, 1, 1}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				clear(dst)
				if isSpaced(x[3].Data, float64(4+len(dst))*c.epsilon(), true) {
					return
				}
				sizes := func(x matrix.Dense) matrix.Dense {
					y := h.New(x.M, x.N)
					for i, v := range x.Data {
						y.Data[i] = math.Abs(v)
					}
					return y
				}
				a, u, v := sizes(x[0]), sizes(x[1]), sizes(x[2])
				along := h.New(a.M, v.N)
				kernels.Gemm(along.Data, v.N, a.Data, a.N, false, v.Data, v.N, false, a.M, v.N, a.N, false)
				for i := range u.M {
					for j := range dst {
						dst[j] = math.FMA(u.Row(i)[j], along.Row(i)[j], dst[j])
					}
				}
				for j := range dst {
					dst[j] *= float64(4+len(dst)) * c.epsilon()
				}
			})
		}},
}

// allFar reports whether of each of the vectors w, which are in order, all values are so far apart, and, where with0, from
// 0, that none are near to each other for quotientsOf. It looks at them; where they cannot be looked at, or what has to
// run for that is large beside a decomposition, it says no.
func (t *Tape) allFar(w Ref, with0 bool) bool {
	digits := t.digits(w)
	return t.areSpaced(w, max(math.Cbrt(digits), float64(4+last(t.Shape(w)))*digits), with0)
}

// noneEqual reports whether of the values w of which r are the vectors none are equal but for rounding; where some of
// these may turn freely, whether all are far apart.
func (t *Tape) noneEqual(r, w Ref, with0 bool) bool {
	if len(t.Args(r)) > 2 {
		return t.allFar(w, with0)
	}
	return t.areSpaced(w, float64(4+last(t.Shape(w)))*t.digits(w), with0)
}

// areSpaced looks whether all are, within so much of their sum.
func (t *Tape) areSpaced(w Ref, within float64, with0 bool) bool {
	if !t.known(w) && !t.isBody {
		todo, room := t.unknownBelow(w), 0
		for _, r := range todo {
			if op := t.ins[r].Op(); op == opSeed || op == opTangent { // which have no values
				return false
			}
			room += t.size(r)
		}
		if room <= 1<<12+16*last(t.Shape(w))*t.size(w) {
			t.forceAll(todo)
		}
	}
	if !t.known(w) {
		return false
	}
	n := last(t.Shape(w))
	all := func(data []float64) bool {
		for ; len(data) > 0; data = data[n:] {
			if !isSpaced(data[:n], within, with0) {
				return false
			}
		}
		return true
	}
	data := t.data(w)
	t.log.saw(t, w, data, func(now, was []float64) bool { return all(now) == all(was) })
	return all(data)
}

// mostNearRows is how large a Jacobian is that takes the place of a derivative along a direction.
const mostNearRows = 1 << 22

// meetsNear reports whether the ys, which are few, are made of eigenvalues or singular values that are near to each
// other, or of their vectors. Functions of them are smooth, but what a cotangent that is not known yet comes to is a sum
// of quotients of its elements, the third derivative loses all digits in, and of which none is known where values are
// equal: the gradients of the ys are taken instead.
func (t *Tape) meetsNear(ys, srcs []Ref) bool {
	rows, columns := 0, 0
	for _, y := range ys {
		rows += t.Shape(y).Size()
	}
	for _, x := range srcs {
		columns += t.Shape(x).Size()
	}
	if columns == 0 || rows > len(ys) && (t.isBody || rows*columns > mostNearRows) {
		return false
	}
	first, live := slices.Min(srcs), t.liveAll(ys...)
	for r := Ref(len(live)) - 1; r >= first; r-- {
		if !live[r] {
			continue
		}
		switch args := t.Args(r); t.ins[r].Op() {
		case opEigvals, opEigvecs, opSpectral, opShares:
			if !t.allFar(t.eigvals(args[0], args[1]), false) {
				return true
			}
		case opSingular, opLeft, opRight, opSpread, opSpreadShares:
			if !t.allFar(t.singular(args[0], args[1]), true) {
				return true
			}
		}
	}
	return false
}

// lastKnown is x, of which the derivative is not known where any of the pairs are near to each other.
func (t *Tape) lastKnown(x, near Ref) Ref {
	pairs := t.apply("logical_and", near, t.offDiagonal(last(t.Shape(near))))
	count := t.sumTo(t.asNumber(pairs), []int{-1, -2}, true)
	return t.record(opLastKnown, t.Shape(x), Attr{}, x, t.apply("greater", count, t.Const(0)))
}

// lastOfSmall is x, of which it is not known where several of the singular values s of a are small, or one is and a is
// not square.
func (t *Tape) lastOfSmall(a, s, x Ref) Ref {
	small := t.apply("less_equal", s, t.Apply(opMul, t.Const(math.Cbrt(t.digits(s))), t.sumTo(t.apply("abs", s), []int{-1}, true)))
	return t.record(opLastKnown, t.Shape(x), Attr{}, x, t.down(t.others(a, small)))
}

// isSpaced reports whether values in order are further apart, and where with0 from 0, than within times the sum of their
// sizes, which is no less than the norm of the matrix.
func isSpaced(w []float64, within float64, with0 bool) bool {
	sum := 0.0
	for _, x := range w {
		sum += math.Abs(x)
	}
	for i, x := range w {
		if with0 && !(math.Abs(x) > float64(within*sum)) || i > 0 && !(math.Abs(x-w[i-1]) > float64(within*sum)) {
			return false
		}
	}
	return true
}

// differences are d_j - d_i.
func (t *Tape) differences(d Ref) Ref { return t.Apply(opSub, t.across(d), t.down(d)) }

// overSpaced is x_ij/(w_j - w_i), for values that are apart, and 0 on the diagonal.
func (t *Tape) overSpaced(x, w Ref) Ref {
	n := last(t.Shape(w))
	if n == 1 {
		return t.full(t.Const(0), t.down(w))
	}
	off := t.offDiagonal(n)
	return t.Apply(opWhere, off, t.over(x, t.Apply(opWhere, off, t.differences(w), t.Const(1))), t.Const(0))
}

// overSquaresSpaced is 2 k part/(s_j² - s_i²) for values that are apart, and 0 on the diagonal, as overSquares.
func (t *Tape) overSquaresSpaced(k, s, part Ref) Ref {
	q := t.overSpaced(t.Apply(opMul, t.Const(2), k), s)
	return t.Apply(opZMul, q, t.over(part, t.Apply(opAdd, t.across(s), t.down(s))))
}

// bendSpaced is the bend of d where singular values are apart.
func (t *Tape) bendSpaced(a, f, d, s Ref) *bend {
	sums := t.Apply(opAdd, t.across(s), t.down(s))
	return &bend{t: t, a: a, f: f, s: s, kept: d, minus: t.overSpaced(t.differences(d), s),
		plus: t.over(t.Apply(opAdd, t.across(d), t.down(d)), sums), q: t.over(d, s)}
}
