package tape

// What of a matrix A is beside the singular vectors of what is not 0, N = P A Q with P and Q the
// projections off them, is 0, but has a slope, where several singular values are 0 or the matrix is
// not square. Derivatives of functions of singular values meet it in sums that are 0 and linear in
// it: third ones of values, second ones of vectors. An instruction stands for each such sum, whose
// value nobody has to compute. This is all to first order: higher derivatives hold along matrices
// that keep their rank. Where U₀ᵀ A V₀ is diagonal, the rules have its elements already: opSigned.

var opBeside, opBesideLeft, opBesideRight *Op

var besideRows = []Op{
	// The derivative of spread has R Xᵀ N + N Xᵀ R, for the cotangent X and R = U diag(d/s² - e/s) Vᵀ with e the
	// slope of d at 0, and the change of d by that of e, times the product of N and X.
	{As: &opBeside, Name: "beside", Args: "A, F, R, X, e, s", Hidden: true, Doc: "0, the part of spread's derivative beside singular vectors", Run: runZeros, Linear: []int{3},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			args := t.Args(r)
			a, f, spread, x, e, s := args[0], args[1], args[2], args[3], args[4], args[5]
			ct = t.full(ct, r)
			switch i {
			case 0:
				x = t.full(x, r)
				y := t.Apply(opAdd, t.mm(x, t.mm(spread, ct, true, false), false, false), t.mm(ct, t.mm(spread, x, true, false), false, false))
				g := t.offCorner(a, f, y)
				if slope := t.slopeOf(e, s); slope != None {
					u, v := t.notOfZero(a, f)
					c := t.diagonal(t.mm(u, t.mm(ct, v, false, false), true, false), 0, nil)
					c = t.sumTo(t.Apply(opMul, t.full(slope, s), c), []int{-1}, true)
					g = t.Apply(opAdd, g, t.Apply(opZMul, t.corner(u, v, x), t.down(c)))
				}
				return g
			case 3:
				return t.record(opBeside, t.Shape(r), Attr{}, a, f, spread, ct, e, s)
			}
			return None
		}},
	// That of left singular vectors has U S⁻² (ctᵀ P - Uᵀ ct₀ U₀ᵀ) N, where U₀ are those of 0.
	{As: &opBesideLeft, Name: "beside_left", Args: "A, F, ct", Hidden: true, Doc: "0, the part of the derivative of left singular vectors beside them", Run: runZeros, Linear: []int{2},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i != 0 {
				return None
			}
			a, f, x := t.Args(r)[0], t.Args(r)[1], t.Args(r)[2]
			u, _ := t.notOfZero(a, f)
			return t.offCorner(a, f, t.mm(t.turning(a, f, t.left(a, f, true), x), t.mm(u, t.full(ct, r), true, false), false, false))
		}},
	{As: &opBesideRight, Name: "beside_right", Args: "A, F, ct", Hidden: true, Doc: "0, the part of the derivative of right singular vectors beside them", Run: runZeros, Linear: []int{2},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i != 0 {
				return None
			}
			a, f, x := t.Args(r)[0], t.Args(r)[1], t.Args(r)[2]
			_, v := t.notOfZero(a, f)
			return t.offCorner(a, f, t.mm(t.mm(t.full(ct, r), v, false, false), t.turning(a, f, t.right(a, f, true), x), false, true))
		}},
}

// runZeros is a value of 0.
func runZeros(c *run) { clear(c.out) }

// besideOf is beside for the arguments of spread's derivative: d, 0 where s is, its slope at such places, and the
// cotangent x.
func (t *Tape) besideOf(r Ref, kept, x, edge, zero Ref) Ref {
	a, f, s := t.Args(r)[0], t.Args(r)[1], t.Args(r)[3]
	u, v := t.notOfZero(a, f)
	e := t.sumTo(t.Apply(opWhere, zero, edge, t.Const(0)), []int{-1}, true)
	e = t.over(e, t.Apply(opMaximum, t.zeros(zero), t.Const(1)))
	safe := t.Apply(opWhere, zero, t.Const(1), s)
	d := t.over(t.Apply(opSub, t.over(kept, safe), e), safe)
	d = t.Apply(opWhere, zero, t.Const(0), d)
	return t.record(opBeside, t.joinLead(2, t.Shape(a), x), Attr{}, a, f, t.mm(t.Apply(opZMul, u, t.across(d)), v, false, true), x, e, s)
}

// zeros counts what is marked in vectors.
func (t *Tape) zeros(zero Ref) Ref {
	return t.sumTo(t.Apply(opWhere, zero, t.Const(1), t.Const(0)), []int{-1}, true)
}

// notOfZero are the singular vectors of what is not 0, and zeros.
func (t *Tape) notOfZero(a, f Ref) (u, v Ref) {
	zero := t.across(t.apply("equal", t.singular(a, f), t.Const(0)))
	return t.Apply(opWhere, zero, t.Const(0), t.left(a, f, true)), t.Apply(opWhere, zero, t.Const(0), t.right(a, f, true))
}

// corner is P y Q, for vectors of what is not 0.
func (t *Tape) corner(u, v, y Ref) Ref {
	y = t.Apply(opSub, y, t.mm(u, t.mm(u, y, true, false), false, false))
	return t.Apply(opSub, y, t.mm(t.mm(y, v, false, false), v, false, true))
}

// offCorner is P y Q without the diagonal of U₀ᵀ y V₀, where there is anything else of it.
func (t *Tape) offCorner(a, f, y Ref) Ref {
	zero := t.apply("equal", t.singular(a, f), t.Const(0))
	u, v := t.notOfZero(a, f)
	most := 0.0
	if s := t.Shape(a); s[len(s)-2] == last(s) {
		most = 1
	}
	others := t.apply("greater", t.down(t.zeros(zero)), t.Const(most))
	y = t.corner(u, v, y)
	u, v = t.left(a, f, true), t.right(a, f, true)
	on := t.diagonal(t.mm(u, t.mm(y, v, false, false), true, false), 0, nil)
	on = t.Apply(opWhere, zero, on, t.Const(0))
	y = t.Apply(opSub, y, t.mm(t.Apply(opZMul, u, t.across(on)), v, false, true))
	return t.Apply(opWhere, others, y, t.Const(0))
}

// turning is (P ct - U₀ ct₀ᵀ U) S⁻² for the vectors r, of which those of 0 are U₀.
func (t *Tape) turning(a, f, r, ct Ref) Ref {
	s := t.singular(a, f)
	zero := t.apply("equal", s, t.Const(0))
	row := t.across(zero)
	u := t.Apply(opWhere, row, t.Const(0), r)
	y := t.Apply(opSub, ct, t.mm(u, t.mm(u, ct, true, false), false, false))
	y = t.Apply(opSub, y, t.mm(t.Apply(opWhere, row, r, t.Const(0)), t.mm(t.Apply(opWhere, row, ct, t.Const(0)), u, true, false), false, false))
	inverse := t.Apply(opWhere, zero, t.Const(0), t.apply("reciprocal", s))
	return t.Apply(opZMul, t.Apply(opZMul, y, t.across(inverse)), t.across(inverse))
}

// slopeOf is the slope of numbers e, one for each vector of s, by s; None where there is none, or it is unknown.
func (t *Tape) slopeOf(e, s Ref) Ref {
	if t.sloping {
		return None
	}
	t.sloping = true
	defer func() { t.sloping = false }()
	return t.VJP([]Ref{e}, []Ref{t.Const(1)}, []Ref{s})[0]
}
