package tape

import (
	"math"

	"nabla/kernels"
	"nabla/tape/matrix"
)

// Derivatives of functions of singular values, by way of U diag(d) Vᵀ (opSpread), where d are their slopes.

var opSpreadTurned, opSpreadShares *Op

var spreadRows = []Op{
	// opSpreadTurned is what opTurned is, for singular values: vectors of equal ones turn together, and of the products
	// of the cotangents, between the vectors, the symmetric parts meet z and the skew ones (d_i + d_j)/(s_i + s_j).
	{As: &opSpreadTurned, Name: "spread_turned", Args: "A, F, X, z, zii, near, plus, q, s, zero, kink", Hidden: true,
		Doc: "0, the part of spread's derivative where vectors of equal singular values turn", Run: runZeros, Linear: []int{2},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			args := t.Args(r)
			a, f, x, z, own, near, plus, q, s, zero := args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7], args[8], args[9]
			ct = t.full(ct, r)
			switch {
			case i == 2:
				return t.record(opSpreadTurned, t.Shape(r), Attr{}, append([]Ref{a, f, ct}, args[3:]...)...)
			case i > 0:
				return None
			}
			free := freely{zero, None}
			u, v := t.left(a, f, free), t.right(a, f, free)
			ux, xv := t.mm(u, x, true, false), t.mm(x, v, false, false)
			uc, cv := t.mm(u, ct, true, false), t.mm(ct, v, false, false)
			e, c := t.mm(u, xv, true, false), t.mm(u, cv, true, false)
			x, y := t.symmetrized(e), t.symmetrized(c)
			g := t.Apply(opAdd, t.turnedFar(x, y, z, s, near), t.turnedFar(y, x, z, s, near))
			if third := t.bendWithin(own, s); third != None {
				g = t.Apply(opAdd, g, t.turnedNear(x, y, near, third))
			}
			x, y = t.skew(e), t.skew(c)
			g = t.Apply(opSub, g, t.Apply(opAdd, t.turnedSkew(x, y, z, plus, s, zero), t.turnedSkew(y, x, z, plus, s, zero)))
			rest := None // of directions beside all vectors
			switch sh := t.Shape(a); {
			case sh[len(sh)-2] > last(sh):
				rest = t.Apply(opSub, t.mm(cv, xv, true, false), t.mm(c, e, true, false))
			case sh[len(sh)-2] < last(sh):
				rest = t.Apply(opSub, t.mm(uc, ux, false, true), t.mm(c, e, false, true))
			}
			if rest != None {
				bend := t.over(t.Apply(opSub, z, t.across(q)), t.down(t.Apply(opWhere, zero, t.Const(1), s)))
				g = t.Apply(opAdd, g, t.Apply(opZMul, t.symmetrized(rest), bend))
			}
			g = t.turnedWhere(near, g, z, t.symmetrized(e), t.symmetrized(c))
			return t.lastOfSmall(a, s, t.lastKnown(t.between(u, t.symmetrized(g), v), near))
		}},
	// opSpreadShares is what the derivative of singular values along X is; of those of 0, which have a kink, it is 0.
	{As: &opSpreadShares, Name: "spread_shares", Args: "A, F, X, s, near, zero, kink", Hidden: true, Doc: "the diagonal of U.T X V for the singular vectors of A, 0 where zero",
		Linear: []int{2}, Zeros: func(c *run) { c.zerosOf(2, 2, 2, 2, 1, 2, 1, 1, 1) },
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2, 1, 2, 1, 1, 1}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				m, n, k := x[0].M, x[0].N, x[1].M
				v := h.New(k, n)
				for i := range k {
					copy(v.Row(i), x[1].Row(i)[1+m:])
				}
				along := h.New(k, m)
				kernels.Gemm(along.Data, m, v.Data, n, false, x[2].Data, n, true, k, m, n, false)
				for i := range k {
					dst[i] = 0
					if x[5].Data[i] == 0 {
						dst[i] = kernels.Dot(along.Row(i), x[1].Row(i)[1:1+m])
					}
				}
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			args := t.Args(r)
			a, f, x, s, near, zero, kink := args[0], args[1], args[2], args[3], args[4], args[5], args[6]
			ct = t.full(ct, r)
			switch i {
			case 0:
				if t.allFar(s, true) {
					return t.bendSpaced(a, f, ct, s).along(x, bound)
				}
				slopes := t.slopes(ct, s)
				switch {
				case kink == zero && t.seeded(ct):
					kink = t.apply("logical_and", zero, t.apply("logical_not", zero))
				case kink == zero:
					kink = t.apply("logical_and", zero, t.apply("not_equal", ct, t.Const(0)))
				}
				b := t.bendOf(a, f, ct, slopes, zero, kink, false)
				b.setMinus(t.quotientsApart(b.kept, b.s, t.apply("logical_or", near, b.both), slopes, t.partOf(ct)))
				return t.lastOfSmall(a, s, t.lastKnown(t.Apply(opAdd, b.along(x, freely{zero, None}), t.besideOf(a, f, s, b.kept, x, b.edge, zero)), near))
			case 2:
				if !t.allFar(s, true) {
					slope := t.Apply(opSub, ct, t.Apply(opStopGradient, ct)) // 0 with the slope of ct
					ct = t.Apply(opWhere, zero, slope, ct)
				}
				return t.record(opSpread, t.joinLead(1, t.Shape(a), ct), Attr{Strong: t.strongly()}, a, f, ct, s)
			}
			return None
		}},
}

// spreadAdj are the cotangents of U diag(d) Vᵀ.
func (t *Tape) spreadAdj(r Ref, i int, ct Ref) Ref {
	a, f, d, s := t.Args(r)[0], t.Args(r)[1], t.Args(r)[2], t.Args(r)[3]
	part := t.partOf(d)
	switch i {
	case 1:
		return None
	case 2:
		return t.spreadShares(r, ct)
	case 3:
		turned := t.latest(opSpreadTurned, r, ct)
		if part != None || turned == None || t.ins[t.Args(turned)[4]].Op() == opConst {
			return None
		}
		args := t.Args(turned)
		return t.takenApart(t.spreadShares(r, ct), t.whereKnown(args[4]), args[5], args[9], args[10])
	}
	x := t.full(ct, r)
	if t.allFar(s, true) {
		return t.bendSpaced(a, f, d, s).along(x, bound)
	}
	slopes := t.slopes(d, s)
	if part != None {
		near, zero, kink := t.Args(part)[2], t.Args(part)[3], t.Args(part)[4]
		b := t.bendOf(a, f, d, slopes, zero, kink, true)
		b.setMinus(t.quotientsApart(b.kept, b.s, t.apply("logical_or", near, b.both), slopes, part))
		return t.lastOfSmall(a, s, t.lastKnown(t.Apply(opAdd, b.along(x, freely{zero, None}), t.besideOf(a, f, s, b.kept, x, b.edge, zero)), near))
	}
	zero, kink := t.zeroOf(a, f, d, s, slopes)
	b := t.bendOf(a, f, d, slopes, zero, kink, true)
	q := t.quotientsOf(b.kept, b.s, slopes, t.equalSingular(a, f))
	near, own := t.besideZero(q.near, s), t.Const(0)
	lines := t.offDiagonal(last(t.Shape(s)))
	if z := q.z; slopes != None {
		own = t.ownOf(slopes, t.apply("logical_and", near, lines))
		b.setMinus(t.Apply(opWhere, lines, z, t.down(t.whereKnown(own))))
	} else {
		b.setMinus(z)
	}
	g := b.along(x, freely{zero, near})
	g = t.Apply(opAdd, g, t.record(opSpreadTurned, t.Shape(g), Attr{}, a, f, x, q.z, own, near, b.plus, b.q, s, zero, kink))
	return t.Apply(opAdd, g, t.besideOf(a, f, s, b.kept, x, b.edge, zero))
}

// zeroOf marks the singular values that are 0, or so but for rounding where there are directions beside their vectors
// and d is smooth, and those of them at which d has a kink.
func (t *Tape) zeroOf(a, f, d, s, slopes Ref) (zero, kink Ref) {
	sum := func(x Ref) Ref { return t.sumTo(t.apply("abs", x), []int{-1}, true) }
	zero = t.apply("equal", s, t.Const(0))
	kink = t.apply("logical_and", zero, t.apply("not_equal", d, t.Const(0)))
	scale := sum(d)
	if slopes != None {
		scale = t.Apply(opAdd, scale, t.Apply(opMul, sum(t.diagonal(slopes, 0, nil)), sum(s)))
	}
	small := t.apply("less_equal", t.apply("abs", d), t.Apply(opMul, t.Const(math.Cbrt(t.digits(s))), scale))
	// Third derivatives have quotients by small values, of which those of 0 need none: at a value v that is taken for 0 they
	// are off by about v, at one that is not by its share of the rounding of a.
	digits := math.Cbrt(t.digits(s))
	tiny := t.apply("less_equal", s, t.Apply(opMul, t.Const(digits*digits), sum(s)))
	tiny = t.apply("logical_or", tiny, t.tinyOf(a, f, s))
	tiny = t.apply("logical_and", tiny, t.apply("logical_and", small, t.others(a, tiny)))
	return t.apply("logical_or", zero, tiny), kink
}

// besideZero marks those of the pairs near to each other that are far from 0: that vectors turn apart costs digits by
// how small the values are.
func (t *Tape) besideZero(near, s Ref) Ref {
	x, y := t.across(s), t.down(s)
	sum := t.Apply(opAdd, x, y)
	close := t.apply("less_equal", t.apply("abs", t.Apply(opSub, x, y)), t.Apply(opMul, t.Const(0x1p-10), sum))
	large := t.apply("greater", sum, t.Apply(opMul, t.Const(math.Cbrt(t.digits(s))/4), t.total(s)))
	return t.apply("logical_and", near, t.apply("logical_and", close, large))
}

// spreadShares are the elements of the diagonal of Uᵀ ct V for the cotangent of r; recorded once, as shares.
func (t *Tape) spreadShares(r, ct Ref) Ref {
	a, f, d, s := t.Args(r)[0], t.Args(r)[1], t.Args(r)[2], t.Args(r)[3]
	var near, zero, kink Ref
	if t.allFar(s, true) {
		near = t.apply("logical_not", t.offDiagonal(last(t.Shape(s))))
		zero = t.apply("equal", s, t.Const(0))
		kink = zero
	} else if part := t.partOf(d); part != None {
		near, zero, kink = t.Args(part)[2], t.Args(part)[3], t.Args(part)[4]
	} else if turned := t.latest(opSpreadTurned, r, ct); turned != None {
		if s := t.latest(opSpreadShares, r, ct); s > turned {
			return s
		}
		near, zero, kink = t.Args(turned)[5], t.Args(turned)[9], t.Args(turned)[10]
	} else { // the matrix is not asked for
		near, zero = t.equalSingular(a, f), t.apply("equal", s, t.Const(0))
		kink = zero // not known
	}
	x := t.full(ct, r)
	return t.record(opSpreadShares, t.thin(x, 0), Attr{Strong: t.strongly()}, a, f, x, s, near, zero, kink)
}

// A bend is the derivative of U diag(d) Vᵀ along matrices: of what these have between the vectors, the symmetric part
// meets (d_i - d_j)/(s_i - s_j), the skew part (d_i + d_j)/(s_i + s_j), and what they have beside all vectors d/s. At 0
// the limit of each is d's own slope, if d is 0 there; else there is a kink, and of its slope, which is 0, the
// derivative is 0, as that of abs.
type bend struct {
	t              *Tape
	a, f           Ref
	s              Ref // singular values, with a slope at 0
	edge           Ref // the slope at 0
	kept           Ref // d, 0 where zero, with its slope
	both           Ref // marks pairs of values of 0
	atZero         Ref
	minus, plus, q Ref
}

// bendOf is the bend of d, given its slopes, but for minus. With check it is NaN where slopes at 0 differ.
func (t *Tape) bendOf(a, f, d, slopes, zero, kink Ref, check bool) *bend {
	b := &bend{t: t, a: a, f: f, s: t.smooth(a, f, zero), edge: t.Const(0)}
	if slopes != None {
		b.edge = t.diagonal(slopes, 0, nil)
	}
	slope := b.edge
	b.edge = t.Apply(opWhere, kink, t.Const(0), b.edge)
	b.kept = t.Apply(opWhere, zero, t.Apply(opZMul, b.edge, b.s), d)
	b.both = t.apply("logical_and", t.across(zero), t.down(zero))
	b.atZero = t.across(b.edge)
	if check {
		apart := t.apply("abs", t.differences(b.edge))
		alike := t.apply("less_equal", apart, t.Apply(opMul, t.Const(1e-8), t.total(t.full(slope, b.s))))
		b.atZero = t.Apply(opWhere, alike, b.atZero, t.Const(math.NaN()))
	}
	one := t.Const(1)
	b.plus = t.over(t.Apply(opAdd, t.across(b.kept), t.down(b.kept)), t.Apply(opWhere, b.both, one, t.Apply(opAdd, t.across(b.s), t.down(b.s))))
	b.plus = t.Apply(opWhere, b.both, b.atZero, b.plus)
	b.q = t.Apply(opWhere, zero, b.edge, t.over(b.kept, t.Apply(opWhere, zero, one, b.s)))
	return b
}

// setMinus takes (d_i - d_j)/(s_i - s_j), where these are not both 0.
func (b *bend) setMinus(z Ref) { b.minus = b.t.Apply(opWhere, b.both, b.atZero, z) }

// along is the derivative along x, by vectors of which some turn freely.
func (b *bend) along(x Ref, free freely) Ref {
	t := b.t
	u, v := t.left(b.a, b.f, free), t.right(b.a, b.f, free)
	xv := t.mm(x, v, false, false)
	e := t.mm(u, xv, true, false)
	z := t.Apply(opAdd, t.Apply(opZMul, t.symmetrized(e), b.minus), t.Apply(opZMul, t.skew(e), b.plus))
	g := t.between(u, z, v)
	switch sh := t.Shape(b.a); {
	case sh[len(sh)-2] > last(sh):
		out := t.Apply(opSub, xv, t.mm(u, e, false, false))
		g = t.Apply(opAdd, g, t.mm(t.Apply(opZMul, out, t.across(b.q)), v, false, true))
	case sh[len(sh)-2] < last(sh):
		out := t.Apply(opSub, t.mm(x, u, true, false), t.mm(v, e, false, true))
		g = t.Apply(opAdd, g, t.mm(u, t.Apply(opZMul, out, t.across(b.q)), false, true))
	}
	return g
}

// turnedSkew is the sum over k of x_ik y_kj (z_ij - plus_kj)/(s_j + s_k).
func (t *Tape) turnedSkew(x, y, z, plus, s, zero Ref) Ref {
	both := t.apply("logical_and", t.across(zero), t.down(zero))
	over := t.over(y, t.Apply(opWhere, both, t.Const(1), t.Apply(opAdd, t.across(s), t.down(s))))
	over = t.Apply(opWhere, both, t.Const(0), over)
	return t.Apply(opSub, t.Apply(opZMul, z, t.mm(x, over, false, false)), t.mm(x, t.Apply(opZMul, plus, over), false, false))
}

// freely says which singular vectors may turn: those of 0, which zero marks, into each other, left and right ones by
// themselves, and those of the pairs that near marks, the left ones as the right ones. What is made of them does not
// depend on that, or it is seen to otherwise. None: they are what they are.
type freely struct{ zero, near Ref }

var bound = freely{None, None}

// args are the arguments of vectors.
func (x freely) args(a, f Ref) []Ref {
	switch {
	case x.zero == None:
		return []Ref{a, f}
	case x.near == None:
		return []Ref{a, f, x.zero}
	}
	return []Ref{a, f, x.zero, x.near}
}

// freeOf is how freely the vectors r turn.
func (t *Tape) freeOf(r Ref) freely {
	free, args := bound, t.Args(r)
	if len(args) > 2 {
		free.zero = args[2]
	}
	if len(args) > 3 {
		free.near = args[3]
	}
	return free
}

// withZeros is free, and of 0 are, where it does not say, singular values that are so but for rounding, if there are
// directions beside their vectors.
func (t *Tape) withZeros(a, f Ref, free freely) freely {
	if free.zero == None {
		s := t.singular(a, f)
		tiny := t.tinyOf(a, f, s)
		free.zero = t.apply("logical_or", t.apply("equal", s, t.Const(0)), t.apply("logical_and", tiny, t.others(a, tiny)))
	}
	return free
}

// tinyOf marks singular values that are rounding.
func (t *Tape) tinyOf(a, f, s Ref) Ref {
	return t.apply("less_equal", s, t.roundingOf(a, t.left(a, f, bound), t.right(a, f, bound), s))
}

// vectorTails are the axes of the arguments of vectors, and of theirs.
func vectorTails(c *run) []int { return append([]int{2, 2, 1, 2}[:len(c.args)], 2) }

// overSquares is 2 k part/(s_j² - s_i²) for k, the skew part of m: not by squares, which may leave the range. Vectors r
// of equal values have no derivative: NaN, unless nothing asks for it or they are free to turn. Of those that turn
// together what is left is that they turn apart, sign k/(s_i + s_j).
func (t *Tape) overSquares(r, k, m, s, part Ref, free freely, sign float64) Ref {
	x, y, zero := t.across(s), t.down(s), t.Const(0)
	sum := t.Apply(opAdd, x, y)
	near := t.equalSingular(t.Args(r)[0], t.Args(r)[1])
	none := t.Apply(opZMul, t.unknown(m), part)
	turned := t.apply("logical_and", t.across(free.zero), t.down(free.zero))
	apart := t.apply("logical_or", near, turned)
	none = t.Apply(opWhere, turned, zero, none)
	if free.near != None {
		apart = t.apply("logical_or", apart, free.near)
		rest := t.over(t.Apply(opMul, t.Const(sign), k), t.Apply(opWhere, free.near, sum, t.Const(1)))
		none = t.Apply(opWhere, free.near, rest, none)
	}
	q := t.over(t.Apply(opMul, t.Const(2), k), t.Apply(opWhere, apart, t.Const(1), t.Apply(opSub, x, y)))
	q = t.Apply(opZMul, q, t.over(part, t.Apply(opWhere, apart, t.Const(1), sum)))
	return t.Apply(opWhere, apart, none, q)
}
