package tape

// What of a matrix A is beside the singular vectors of what is not 0, N = P A Q with P and Q the
// projections off them, is 0, but has a slope, where several singular values are 0 or the matrix is
// not square. Derivatives of functions of singular values meet it in sums that are 0 and linear in
// it: third ones of values, second ones of vectors. An instruction stands for each such sum, whose
// value nobody has to compute. This is all to first order: higher derivatives hold along matrices
// that keep their rank. Where U₀ᵀ A V₀ is diagonal, the rules have its elements already: opSigned.

var opBeside, opBesideFactor, opBesideLeft, opBesideRight, opBesideLeftFactor, opBesideRightFactor *Op

var besideRows = []Op{
	// The derivative of spread has R Xᵀ N + N Xᵀ R, for the cotangent X and R = U diag(d/s² - e/s) Vᵀ with e the
	// slope of d at 0.
	{As: &opBeside, Name: "beside", Args: "A, F, R, X, zero", Hidden: true, Doc: "0, the part of spread's derivative beside singular vectors", Run: runZeros, Linear: []int{3},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, f, d, x, zero := t.Args(r)[0], t.Args(r)[1], t.Args(r)[2], t.Args(r)[3], t.Args(r)[4]
			ct = t.full(ct, r)
			switch i {
			case 0:
				return t.offCorner(a, f, zero, t.threefold(d, x, ct))
			case 2:
				return t.record(opBesideFactor, t.Shape(r), Attr{}, a, f, x, ct, zero)
			case 3:
				return t.record(opBeside, t.Shape(r), Attr{}, a, f, d, ct, zero)
			}
			return None
		}},
	// As a function of R it is X Nᵀ Y + Y Nᵀ X for the two cotangents.
	{As: &opBesideFactor, Name: "beside_factor", Args: "A, F, X, Y, zero", Hidden: true, Doc: "0, the cotangent of R in beside", Run: runZeros, Linear: []int{2, 3},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, f, x, y, zero := t.Args(r)[0], t.Args(r)[1], t.Args(r)[2], t.Args(r)[3], t.Args(r)[4]
			ct = t.full(ct, r)
			switch i {
			case 0:
				return t.offCorner(a, f, zero, t.threefold(ct, x, y))
			case 2:
				return t.record(opBeside, t.Shape(r), Attr{}, a, f, ct, y, zero)
			case 3:
				return t.record(opBeside, t.Shape(r), Attr{}, a, f, ct, x, zero)
			}
			return None
		}},
	// That of left singular vectors has U S⁻² (ctᵀ P - Uᵀ ct₀ U₀ᵀ) N, where U₀ are those of 0; its cotangent of ct is 0
	// for the same reason.
	{As: &opBesideLeft, Name: "beside_left", Args: "A, F, ct, zero", Hidden: true, Doc: "0, the part of the derivative of left singular vectors beside them", Run: runZeros, Linear: []int{2}, Adj: besideVectors},
	{As: &opBesideLeftFactor, Name: "beside_left_factor", Args: "A, F, X, zero", Hidden: true, Doc: "0, the cotangent of ct in beside_left", Run: runZeros, Linear: []int{2}, Adj: besideVectors},
	{As: &opBesideRight, Name: "beside_right", Args: "A, F, ct, zero", Hidden: true, Doc: "0, the part of the derivative of right singular vectors beside them", Run: runZeros, Linear: []int{2}, Adj: besideVectors},
	{As: &opBesideRightFactor, Name: "beside_right_factor", Args: "A, F, X, zero", Hidden: true, Doc: "0, the cotangent of ct in beside_right", Run: runZeros, Linear: []int{2}, Adj: besideVectors},
}

// besideVectors is the adjoint of what is beside singular vectors: each is the cotangent of the other's linear argument.
func besideVectors(t *Tape, r Ref, i int, ct Ref) Ref {
	a, f, x, zero := t.Args(r)[0], t.Args(r)[1], t.Args(r)[2], t.Args(r)[3]
	ct = t.full(ct, r)
	op, other := t.ins[r].Op(), opBesideRight
	switch op {
	case opBesideLeft:
		other = opBesideLeftFactor
	case opBesideLeftFactor:
		other = opBesideLeft
	case opBesideRight:
		other = opBesideRightFactor
	}
	of, y := x, ct // the cotangent of the vectors, and that of the value
	if op == opBesideLeftFactor || op == opBesideRightFactor {
		of, y = ct, x
	}
	switch {
	case i == 2:
		return t.record(other, t.Shape(x), Attr{}, a, f, ct, zero)
	case i > 0:
		return None
	case op == opBesideLeft || op == opBesideLeftFactor:
		return t.turnedLeft(a, f, of, y, zero)
	}
	return t.turnedRight(a, f, of, y, zero)
}

// turnedLeft is the cotangent of the matrix in beside_left, for a cotangent ct of left vectors and one of the result.
func (t *Tape) turnedLeft(a, f, ct, x, zero Ref) Ref {
	u, _ := t.notOfZero(a, f, zero)
	y := t.turning(t.singular(a, f), zero, t.left(a, f, freely{zero, None}), ct)
	return t.offCorner(a, f, zero, t.mm(y, t.mm(u, x, true, false), false, false))
}

// turnedRight is that in beside_right.
func (t *Tape) turnedRight(a, f, ct, x, zero Ref) Ref {
	_, v := t.notOfZero(a, f, zero)
	y := t.turning(t.singular(a, f), zero, t.right(a, f, freely{zero, None}), ct)
	return t.offCorner(a, f, zero, t.mm(t.mm(x, v, false, false), y, false, true))
}

// threefold is x dᵀ y + y dᵀ x.
func (t *Tape) threefold(d, x, y Ref) Ref {
	return t.Apply(opAdd, t.mm(x, t.mm(d, y, true, false), false, false), t.mm(y, t.mm(d, x, true, false), false, false))
}

// runZeros is a value of 0.
func runZeros(c *run) { clear(c.out) }

// besideOf is beside for the matrix, the factors and the values of r, which is spread or of its arguments: with d, 0
// where values are, its slope at such places, and the cotangent x.
func (t *Tape) besideOf(a, f, s, kept, x, edge, zero Ref) Ref {
	u, v := t.notOfZero(a, f, zero)
	e := t.sumTo(t.Apply(opWhere, zero, edge, t.Const(0)), []int{-1}, true)
	e = t.over(e, t.Apply(opMaximum, t.count(zero), t.Const(1)))
	safe := t.Apply(opWhere, zero, t.Const(1), s)
	d := t.over(t.Apply(opSub, t.over(kept, safe), e), safe)
	d = t.Apply(opWhere, zero, t.Const(0), d)
	return t.record(opBeside, t.joinLead(2, t.Shape(a), x), Attr{}, a, f, t.mm(t.Apply(opZMul, u, t.across(d)), v, false, true), x, zero)
}

// count is how many are marked of vectors.
func (t *Tape) count(marks Ref) Ref {
	return t.sumTo(t.Apply(opWhere, marks, t.Const(1), t.Const(0)), []int{-1}, true)
}

// notOfZero are the singular vectors of what is not 0, and zeros.
func (t *Tape) notOfZero(a, f, zero Ref) (u, v Ref) {
	row, free := t.across(zero), freely{zero, None}
	return t.Apply(opWhere, row, t.Const(0), t.left(a, f, free)), t.Apply(opWhere, row, t.Const(0), t.right(a, f, free))
}

// corner is P y Q, for vectors of what is not 0.
func (t *Tape) corner(u, v, y Ref) Ref {
	y = t.Apply(opSub, y, t.mm(u, t.mm(u, y, true, false), false, false))
	return t.Apply(opSub, y, t.mm(t.mm(y, v, false, false), v, false, true))
}

// offCorner is P y Q without the diagonal of U₀ᵀ y V₀, where there is anything else of it.
func (t *Tape) offCorner(a, f, zero, y Ref) Ref {
	u, v := t.notOfZero(a, f, zero)
	y = t.corner(u, v, y)
	free := freely{zero, None}
	u, v = t.left(a, f, free), t.right(a, f, free)
	on := t.diagonal(t.mm(u, t.mm(y, v, false, false), true, false), 0, nil)
	on = t.Apply(opWhere, zero, on, t.Const(0))
	y = t.Apply(opSub, y, t.mm(t.Apply(opZMul, u, t.across(on)), v, false, true))
	others := t.down(t.others(a, zero))
	return t.record(opLastKnown, t.Shape(y), Attr{}, t.Apply(opWhere, others, y, t.Const(0)), others)
}

// others reports whether there are directions beside singular vectors: of more than one value of 0, or of one and a
// matrix that is not square.
func (t *Tape) others(a, zero Ref) Ref {
	most := 0.0
	if s := t.Shape(a); s[len(s)-2] == last(s) {
		most = 1
	}
	return t.apply("greater", t.count(zero), t.Const(most))
}

// turning is (P ct - U₀ ct₀ᵀ U) S⁻² for the vectors r, of which those of 0 are U₀.
func (t *Tape) turning(s, zero, r, ct Ref) Ref {
	row := t.across(zero)
	u := t.Apply(opWhere, row, t.Const(0), r)
	y := t.Apply(opSub, ct, t.mm(u, t.mm(u, ct, true, false), false, false))
	y = t.Apply(opSub, y, t.mm(t.Apply(opWhere, row, r, t.Const(0)), t.mm(t.Apply(opWhere, row, ct, t.Const(0)), u, true, false), false, false))
	inverse := t.across(t.Apply(opWhere, zero, t.Const(0), t.apply("reciprocal", s)))
	return t.Apply(opZMul, t.Apply(opZMul, y, inverse), inverse)
}
