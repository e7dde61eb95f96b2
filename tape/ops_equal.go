package tape

import (
	"math"

	"nabla/kernels"
	"nabla/tape/matrix"
	"nabla/tape/tensor"
)

// Equal eigenvalues, and such as are but for rounding, or so close that the difference of two slopes
// has fewer digits than their own slopes. A symmetric function f of them is as smooth there as
// anywhere, but its derivatives, as sums over pairs of eigenvectors, have quotients 0/0, for which there
// are limits. With d the slopes of f, s theirs, and pairs i, j of a group of equal values:
//
//   - In the second derivative an element of the cotangent, between the vectors, is multiplied by
//     z_ij = (d_j - d_i)/(w_j - w_i), in the limit (s_ii + s_jj)/2 - s_ij, which is right to first order.
//   - The elements of the diagonal go the way of the eigenvalues. Where these are equal, the third
//     derivative needs that they are treated as those beside it, as far as they can: a part z_ii of each,
//     smooth and in the limit z_ij, is taken from that way (opApart).
//   - The vectors of a group may then turn into each other freely. What it costs that the sum as it
//     stands does not see them turn, is put in its place (opTurned).
//
// Fourth derivatives are NaN there where something asks the vectors to turn.

var opTurned, opVectorsTurned, opVectorsFactor, opGrouped, opApart, opShares *Op

var equalRows = []Op{
	// opTurned has in its slope, for vectors i and j of a group, the sum over k of the products of cotangents
	// (x_ik y_kj + y_ik x_kj) times (z_kj - z_ki)/(w_j - w_i).
	{As: &opTurned, Name: "turned", Args: "A, F, X, z, zii, w, near", Hidden: true, Doc: "0, the part of spectral's derivative where vectors of equal eigenvalues turn", Run: runZeros, Linear: []int{2},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			args := t.Args(r)
			a, f, x, z, own, w, near := args[0], args[1], args[2], args[3], args[4], args[5], args[6]
			ct = t.full(ct, r)
			switch {
			case i == 2:
				return t.record(opTurned, t.Shape(r), Attr{}, a, f, ct, z, own, w, near)
			case i > 0:
				return None
			}
			v := t.eigvecs(a, f, None)
			x, y := t.within(v, t.symmetrized(x)), t.within(v, t.symmetrized(ct))
			g := t.Apply(opAdd, t.turnedFar(x, y, z, w, near), t.turnedFar(y, x, z, w, near))
			if third := t.bendWithin(own, w); third != None {
				g = t.Apply(opAdd, g, t.turnedNear(x, y, near, third))
			}
			g = t.turnedWhere(near, g, z, x, y)
			return t.lastKnown(t.symmetrized(t.between(v, g, v)), near)
		}},
	// opVectorsTurned has in its slope, for vectors i and j of a group of which nothing is asked, the sum over k of
	// -2 q_ki c_kj/(w_i - w_k) for a cotangent c; as a function of q it has one, too.
	{As: &opVectorsTurned, Name: "vectors_turned", Args: "A, F, q, w, near", Hidden: true, Doc: "0, the part of the derivative of eigenvectors where others, of equal eigenvalues, turn", Run: runZeros, Linear: []int{2}, Adj: vectorsTurned},
	{As: &opVectorsFactor, Name: "vectors_factor", Args: "A, F, X, w, near", Hidden: true, Doc: "0, the cotangent of q in vectors_turned", Run: runZeros, Linear: []int{2}, Adj: vectorsTurned},
	// opGrouped marks the pairs of which one is near to the other by way of others: sums over those of a group take them for
	// all near to each other.
	{As: &opGrouped, Name: "grouped", Args: "near", Hidden: true, Doc: "near, and what is near to something near", Stops: "grouped",
		Run: func(c *run) {
			c.eachOf([]int{2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				n := x[0].N
				copy(dst, x[0].Data)
				group, todo := make([]int, n), make([]int, 0, n) // 0: none yet
				for i := range n {
					if group[i] > 0 {
						continue
					}
					group[i], todo = i+1, append(todo, i)
					for len(todo) > 0 {
						j := todo[len(todo)-1]
						todo = todo[:len(todo)-1]
						for k := range n {
							if group[k] == 0 && (x[0].Row(j)[k] != 0 || x[0].Row(k)[j] != 0) {
								group[k], todo = i+1, append(todo, k)
							}
						}
					}
				}
				for i := range n {
					for j := range n {
						if group[i] == group[j] && i != j {
							dst[i*n+j] = 1
						}
					}
				}
			})
		}},
	// opApart is the cotangent of eigenvalues that is taken from that of slopes.
	{As: &opApart, Name: "apart", Args: "x, y, near, zero, kink", Hidden: true, Doc: "-x*y, of eigenvalues of which some are near to each other", Linear: []int{0, 1},
		Run: func(c *run) {
			for i, x := range c.args[0] {
				c.out[i] = 0
				if y := c.args[1][i]; x != 0 && y != 0 {
					c.out[i] = -float64(x * y)
				}
			}
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if args := t.Args(r); i < 2 {
				return t.takenApart(t.full(ct, r), args[1-i], args[2], args[3], args[4])
			}
			return None
		}},
	// opShares is what the derivative of eigenvalues along X is.
	{As: &opShares, Name: "shares", Args: "A, F, X, w, near", Hidden: true, Doc: "the diagonal of V.T X V for the eigenvectors V of A",
		Linear: []int{2}, Zeros: func(c *run) { c.zerosOf(2, 2, 2, 2, 1, 2, 1) },
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2, 1, 2, 1}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				n := x[0].N
				v := x[1].Data[n:]
				along := h.New(n, n)
				kernels.Gemm(along.Data, n, x[2].Data, n, false, v, n, false, n, n, n, false)
				for i := range dst {
					dst[i] = 0
					for k := range n {
						dst[i] = math.FMA(v[k*n+i], along.Data[k*n+i], dst[i])
					}
				}
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, f, x, w, near := t.Args(r)[0], t.Args(r)[1], t.Args(r)[2], t.Args(r)[3], t.Args(r)[4]
			ct = t.full(ct, r)
			switch i {
			case 0:
				part := t.partOf(ct)
				if part == None && !t.seeded(ct) || t.allFar(w, false) {
					return t.spectralAlong(a, f, ct, w, x)
				}
				v := t.eigvecs(a, f, None)
				z := t.quotientsApart(ct, w, near, t.slopes(ct, w), part)
				return t.lastKnown(t.timesWithin(v, x, z), near)
			case 3:
				if turned := t.latest(opTurned, r, x); turned > ct && t.ins[t.Args(turned)[4]].Op() != opConst {
					return t.takenApart(r, t.whereKnown(t.Args(turned)[4]), t.Args(turned)[6], t.Const(0), t.Const(0))
				}
			case 2:
				return t.record(opSpectral, t.joinLead(1, t.Shape(a), ct), Attr{Strong: t.strongly()}, a, f, ct, w)
			}
			return None
		}},
}

// vectorsTurned is the adjoint of vectors_turned and vectors_factor: each is the cotangent of the other's linear argument.
func vectorsTurned(t *Tape, r Ref, i int, ct Ref) Ref {
	a, f, x, w, near := t.Args(r)[0], t.Args(r)[1], t.Args(r)[2], t.Args(r)[3], t.Args(r)[4]
	ct = t.full(ct, r)
	other, q, y := opVectorsFactor, x, ct
	if t.ins[r].Op() == opVectorsFactor {
		other, q, y = opVectorsTurned, ct, x
	}
	switch i {
	case 0:
		return t.lastKnown(t.turnedBeside(a, f, q, y, w, near), near)
	case 2:
		return t.record(other, t.Shape(x), Attr{}, a, f, ct, w, near)
	}
	return None
}

// idle marks the pairs near to each other of vectors of which the cotangent ct asks nothing, so that they may turn into
// each other; None where ct stands for numbers to come.
func (t *Tape) idle(ct, near Ref) Ref {
	if t.seeded(ct) {
		return None
	}
	none := t.apply("equal", t.sumTo(t.apply("abs", ct), []int{-2}, false), t.Const(0))
	return t.apply("logical_and", near, t.apply("logical_and", t.across(none), t.down(none)))
}

// turnedBeside is the cotangent of the matrix in vectors_turned.
func (t *Tape) turnedBeside(a, f, q, x, w, near Ref) Ref {
	v := t.eigvecs(a, f, None)
	c := t.within(v, t.symmetrized(x))
	gap := t.Apply(opWhere, near, t.Const(1), t.differences(w))
	over := t.Apply(opWhere, near, t.Const(0), t.over(t.Apply(opMul, t.Const(-2), q), gap))
	lines := t.apply("logical_and", near, t.offDiagonal(last(t.Shape(w))))
	return t.between(v, t.Apply(opWhere, lines, t.symmetrized(t.mm(over, c, true, false)), t.Const(0)), v)
}

// takenApart is -x*y.
func (t *Tape) takenApart(x, y, near, zero, kink Ref) Ref {
	return t.record(opApart, t.Shape(x), Attr{}, x, y, near, zero, kink)
}

// within is vᵀ x v.
func (t *Tape) within(v, x Ref) Ref { return t.mm(t.mm(v, x, true, false), v, false, false) }

// turnedFar is the sum over k not near to i and j of x_ik y_kj (z_ij - z_kj)/(w_j - w_k).
func (t *Tape) turnedFar(x, y, z, w, near Ref) Ref {
	gap := t.differences(w)
	gap = t.Apply(opWhere, t.apply("logical_or", near, t.apply("equal", gap, t.Const(0))), t.Const(1), gap)
	far := t.Apply(opWhere, near, t.Const(0), t.over(y, gap))
	return t.Apply(opSub, t.Apply(opZMul, z, t.mm(x, far, false, false)), t.mm(x, t.Apply(opZMul, z, far), false, false))
}

// turnedNear is the sum over k near to i and j of x_ik y_kj + y_ik x_kj, times third.
func (t *Tape) turnedNear(x, y, near, third Ref) Ref {
	inside := func(x Ref) Ref { return t.Apply(opWhere, near, x, t.Const(0)) }
	x, y = inside(x), inside(y)
	return t.Apply(opZMul, t.Apply(opAdd, t.mm(x, y, false, false), t.mm(y, x, false, false)), third)
}

// turnedWhere is g for pairs that are near to each other, and NaN for those of which z is, as far as something asks for
// them.
func (t *Tape) turnedWhere(near, g, z, x, y Ref) Ref {
	nan := t.Apply(opWhere, t.apply("isnan", z), z, t.Const(0))
	g = t.Apply(opAdd, g, t.Apply(opZMul, t.Apply(opAdd, t.mm(x, y, false, false), t.mm(y, x, false, false)), nan))
	return t.Apply(opWhere, t.apply("logical_and", near, t.offDiagonal(last(t.Shape(g)))), g, t.Const(0))
}

// bendWithin is (z_kj - z_ki)/(w_j - w_i) for i, j and k of a group, given what is each one's own of z: half of
// what own_i has for a slope by w_i more than by w_j. None where there is no slope.
func (t *Tape) bendWithin(own, w Ref) Ref {
	j := t.slopes(own, w)
	if j == None {
		return None
	}
	return t.Apply(opMul, t.Const(0.5), t.symmetrized(t.Apply(opSub, t.down(t.diagonal(j, 0, nil)), j)))
}

// Quotients are (d_j - d_i)/(w_j - w_i) for slopes d of a function of values w.
type quotients struct {
	z    Ref // 0 on the diagonal
	near Ref // marks the pairs that are equal, or all but equal, the diagonal among them
	own  Ref // what the slope of each d by its w has of z, where there are others near to it; None: nothing
}

// quotientsOf are those of slopes d, given theirs; None where d does not depend on w. They are NaN where w_i and w_j
// are equal and d_i and d_j are not: no symmetric function made them. Those that same marks are equal but for rounding.
func (t *Tape) quotientsOf(d, w, slopes, same Ref) quotients {
	abs := func(x Ref) Ref { return t.apply("abs", x) }
	add := func(x, y Ref) Ref { return t.Apply(opAdd, x, y) }
	sub := func(x, y Ref) Ref { return t.Apply(opSub, x, y) }
	mul := func(x, y Ref) Ref { return t.Apply(opMul, x, y) }
	and := func(x, y Ref) Ref { return t.apply("logical_and", x, y) }
	or := func(x, y Ref) Ref { return t.apply("logical_or", x, y) }
	atMost := func(x, y Ref) Ref { return t.apply("less_equal", x, y) }

	n := last(t.Shape(w))
	if n == 1 {
		return quotients{z: t.full(t.Const(0), t.down(w)), near: t.Apply(opNear, t.down(w), t.down(w)), own: None}
	}
	x, y, dx, dy := t.across(w), t.down(w), t.across(d), t.down(d)
	gap, rise, most := sub(x, y), sub(dx, dy), t.total(w)
	limit, size, bend, scale := t.Const(0), t.Const(0), t.Const(0), t.total(d)
	if slopes != None {
		limit = t.limits(slopes)
		s := t.diagonal(slopes, 0, nil)
		size = add(add(abs(t.across(s)), abs(t.down(s))), abs(t.symmetrized(slopes)))
		bend = abs(sub(t.across(s), t.down(s)))
		scale = add(scale, mul(t.total(s), most))
	}
	// Where d is smooth, a difference that is rounding is none, and one for which the limit, off by about the square of
	// the bend, is nearer to the quotient than its rounding.
	digits := t.digits(w)
	rough := math.Cbrt(digits)
	equal, lines := t.Apply(opNear, x, y), t.offDiagonal(n)
	rounding := and(same, and(atMost(abs(rise), mul(t.Const(rough/4), scale)), atMost(mul(bend, most), mul(t.Const(rough/4), scale))))
	sizes := add(abs(dx), abs(dy))
	closer := and(atMost(mul(mul(bend, bend), abs(gap)), mul(mul(t.Const(digits), size), add(sizes, mul(size, t.Apply(opMaximum, abs(x), abs(y)))))),
		and(atMost(abs(gap), mul(t.Const(rough), most)),
			atMost(abs(sub(rise, mul(limit, gap))), add(mul(t.Const(0x1p-10), mul(size, abs(gap))), mul(t.Const(16*digits), sizes)))))

	q := quotients{near: or(equal, or(rounding, closer)), own: None}
	q.near = t.recordAs(opGrouped, t.Shape(q.near), tensor.Bool, Attr{}, q.near)
	value := t.over(rise, t.Apply(opWhere, equal, t.Const(1), gap))
	still := func(x Ref) Ref { return t.Apply(opStopGradient, x) }
	near := t.Apply(opWhere, or(equal, closer), limit, add(still(value), sub(limit, still(limit)))) // with the slope of the limit
	near = t.Apply(opWhere, and(equal, t.apply("logical_not", t.alike(d))), t.Const(math.NaN()), near)
	q.z = t.Apply(opWhere, lines, t.Apply(opWhere, q.near, near, value), t.Const(0))
	if slopes != None {
		q.own = t.ownOf(slopes, and(q.near, lines))
	}
	return q
}

// ownOf is, for values with others near to them, what their quotients have as a limit, as a smooth function of each,
// that is z_ij where w_i and w_j are equal: s_ii less twice the mean of s_ij, and the mean of s_jk.
func (t *Tape) ownOf(slopes, near Ref) Ref {
	sum := func(x Ref) Ref { return t.sumTo(x, []int{-1}, false) }
	zero := t.Const(0)
	others := sum(t.Apply(opWhere, near, t.Const(1), zero))
	beside := sum(t.Apply(opWhere, near, t.symmetrized(slopes), zero))
	among := t.Apply(opSub, sum(t.Apply(opWhere, near, t.across(beside), zero)), beside)
	several, none := t.apply("greater", others, t.Const(1)), t.apply("equal", others, zero)
	pairs := t.Apply(opWhere, several, t.Apply(opMul, others, t.Apply(opSub, others, t.Const(1))), t.Const(1))
	mean := t.Apply(opDiv, beside, t.Apply(opWhere, none, t.Const(1), others))
	own := t.Apply(opSub, t.diagonal(slopes, 0, nil), mean)
	own = t.Apply(opAdd, own, t.Apply(opWhere, several, t.Apply(opSub, t.Apply(opDiv, among, pairs), mean), zero))
	return t.Apply(opWhere, none, zero, own)
}

// limits are what quotients become where w_i and w_j, and d_i and d_j, are equal, right to first order; slopes may be
// None.
func (t *Tape) limits(slopes Ref) Ref {
	if slopes == None {
		return t.Const(0)
	}
	s := t.diagonal(slopes, 0, nil)
	return t.Apply(opSub, t.Apply(opMul, t.Const(0.5), t.Apply(opAdd, t.across(s), t.down(s))), t.symmetrized(slopes))
}

// quotientsWhere are (d_j - d_i)/(w_j - w_i), their limits where w_i and w_j are near to each other, and 0 on the
// diagonal.
func (t *Tape) quotientsWhere(d, w, near, limits Ref) Ref {
	if last(t.Shape(w)) == 1 {
		return t.full(t.Const(0), t.down(w))
	}
	gap := t.Apply(opWhere, near, t.Const(1), t.differences(w))
	z := t.Apply(opWhere, near, limits, t.over(t.differences(d), gap))
	return t.Apply(opWhere, t.offDiagonal(last(t.Shape(w))), z, t.Const(0))
}

// digits is what 1 and the next number of the dtype of x differ by.
func (t *Tape) digits(x Ref) float64 {
	if t.ins[x].dtype == tensor.Float32 {
		return 0x1p-23
	}
	return 0x1p-52
}

// total is the sum of the sizes of vectors, as a matrix.
func (t *Tape) total(x Ref) Ref { return t.down(t.sumTo(t.apply("abs", x), []int{-1}, true)) }

// quotientsApart are those of d where it is known which values are near to each other: cotangents from which a part was
// taken, or None. They are NaN where they have no limit, unless d stands for numbers to come, in which all is linear.
func (t *Tape) quotientsApart(d, w, near, slopes, part Ref) Ref {
	limits := t.limits(slopes)
	if !t.seeded(d) {
		size := t.total(d)
		if part != None {
			size = t.Apply(opAdd, size, t.total(part))
		}
		rise := t.apply("abs", t.differences(d))
		alike := t.apply("less_equal", rise, t.Apply(opMul, t.Const(0x1p-10), size))
		limits = t.Apply(opWhere, alike, limits, t.Const(math.NaN()))
	}
	return t.quotientsWhere(d, w, near, limits)
}

// partOf finds what was taken apart among what a cotangent is the sum of; None: nothing.
func (t *Tape) partOf(ct Ref) Ref {
	switch t.ins[ct].Op() {
	case opApart:
		return ct
	case opAdd, opSub:
		if p := t.partOf(t.Args(ct)[1]); p != None {
			return p
		}
		return t.partOf(t.Args(ct)[0])
	}
	return None
}

// shares are the elements of the diagonal of Vᵀ ct V, for the cotangent of r; recorded once, so that all that comes back
// to them meets.
func (t *Tape) shares(r, ct Ref) Ref {
	a, f, w := t.Args(r)[0], t.Args(r)[1], t.Args(r)[3]
	near, turned := None, t.turnedOf(r, ct)
	if t.allFar(w, false) {
		near = t.apply("logical_not", t.offDiagonal(last(t.Shape(w))))
	} else if part := t.partOf(t.Args(r)[2]); part != None {
		near = t.Args(part)[2]
	} else if turned != None {
		near = t.Args(turned)[6]
		if s := t.latest(opShares, r, ct); s > turned {
			return s
		}
	} else {
		near = t.equalEigenvalues(a, f)
	}
	x := t.full(ct, r)
	return t.record(opShares, lead(t.Shape(x)), Attr{Strong: t.strongly()}, a, f, x, w, near)
}

// turnedOf is what was recorded for the cotangent of r along with that of its matrix; None: nothing.
func (t *Tape) turnedOf(r, ct Ref) Ref { return t.latest(opTurned, r, ct) }

// latest finds what was recorded for the cotangent ct of r.
func (t *Tape) latest(op *Op, r, ct Ref) Ref {
	const far = 1000
	for s := Ref(len(t.ins)) - 1; s > ct && s > Ref(len(t.ins))-far; s-- {
		if args := t.Args(s); t.ins[s].Op() == op && args[0] == t.Args(r)[0] && args[1] == t.Args(r)[1] && t.isFull(args[2], ct) {
			return s
		}
	}
	return None
}

// isFull reports whether x is ct, or ct in another shape.
func (t *Tape) isFull(x, ct Ref) bool {
	return x == ct || len(t.Args(x)) > 0 && t.Args(x)[0] == ct && t.ins[x].Op() == opBroadcast
}

// whereKnown is x, or 0 where that is not known: what is taken apart is put back.
func (t *Tape) whereKnown(x Ref) Ref {
	return t.Apply(opWhere, t.apply("isnan", x), t.Const(0), x)
}

// equalEigenvalues marks the pairs of eigenvalues that are equal, or so but for rounding.
func (t *Tape) equalEigenvalues(a, f Ref) Ref {
	v, w := t.eigvecs(a, f, None), t.eigvals(a, f)
	return t.equalBut(w, t.roundingOf(t.symmetrized(a), v, v, w))
}

// equalSingular marks such pairs of singular values.
func (t *Tape) equalSingular(a, f Ref) Ref {
	s := t.singular(a, f)
	return t.equalBut(s, t.roundingOf(a, t.left(a, f, bound), t.right(a, f, bound), s))
}

// equalBut marks the pairs of values that differ by no more than the size of their rounding.
func (t *Tape) equalBut(w, size Ref) Ref {
	x, y := t.across(w), t.down(w)
	within := t.apply("less_equal", t.apply("abs", t.Apply(opSub, x, y)), t.Apply(opMaximum, t.across(size), t.down(size)))
	return t.apply("logical_or", t.Apply(opNear, x, y), within)
}

// roundingOf is the rounding of values w, which are uᵀ a v.
func (t *Tape) roundingOf(a, u, v, w Ref) Ref {
	return t.record(opRounding, t.Shape(w), Attr{}, a, u, v, w)
}
