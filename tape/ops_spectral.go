package tape

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/matrix"
	"nabla/tape/tensor"
)

// Eigenvalues and singular values. Where two are equal, what symmetric functions of them
// need is taken from those functions' own slopes (ops_equal.go).

var (
	opEighOf, opEigvals, opEigvecs, opSpectral, opNear                       *Op
	opSVDOf, opSingular, opSigned, opLeft, opRight, opSpread, opPinv, opRank *Op
)

var spectralRows = []Op{
	{Name: "eigvalsh", Alias: []string{"self_adjoint_eigvals"}, Args: "A", Doc: "eigenvalues of the symmetric part of A, ascending",
		Note: "of equal eigenvalues, symmetric functions have exact derivatives, to the third; a second derivative of one of them alone is NaN",
		Call: func(c *call) value { return c.ofMatrix(func(t *Tape, a Ref) Ref { return t.eigvals(a, t.eighOf(a)) }) }},
	{Name: "eigh", Alias: []string{"self_adjoint_eig"}, Args: "A", Doc: "eigenvalues, ascending, and eigenvectors, as columns, of the symmetric part of A",
		Note: "eigenvectors of equal eigenvalues have no derivative: NaN",
		Call: func(c *call) value {
			a := c.matrix(true)
			f := c.t.eighOf(a)
			return &tuple{elems: []value{c.t.eigvals(a, f), c.t.eigvecs(a, f, None)}}
		}},
	{Name: "svdvals", Args: "A", Doc: "singular values, descending", Note: "at 0: 0, the least subgradient; of equal ones, and ones of 0, smooth symmetric functions have exact derivatives, to the third",
		Call: func(c *call) value {
			a := c.matrix(false)
			return c.t.singular(a, c.t.svdOf(a))
		}},
	{Name: "svd", Args: "A", Doc: "U, s and V.T with (U * s) @ V.T = A, as few columns as possible", Note: "vectors of equal singular values have no derivative: NaN",
		Call: func(c *call) value {
			a := c.matrix(false)
			f := c.t.svdOf(a)
			return &tuple{elems: []value{c.t.left(a, f, bound), c.t.singular(a, f), c.t.mT(c.t.right(a, f, bound))}}
		}},
	{As: &opPinv, Matrices: 16, Name: "pinv", Args: "A", Doc: "pseudo-inverse; its derivative is that at constant rank", Lead: true,
		Call: func(c *call) value {
			a := c.matrix(false)
			s := slices.Clone(c.t.Shape(a))
			n := len(s)
			s[n-1], s[n-2] = s[n-2], s[n-1]
			return c.t.record(opPinv, s, Attr{}, a)
		},
		Run: func(c *run) {
			c.eachMatrix(func(h *matrix.Solver, dst []float64, a matrix.Dense) {
				u, s, v := h.SVD(a)
				d := make([]float64, len(s))
				for i, x := range s {
					if x > c.rankTolerance(a, s) || x != x {
						d[i] = 1 / x
					}
				}
				h.SpreadInto(dst, v, d, u)
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			// dP = -P dA P + P Pᵀ dAᵀ (1 - A P) + (1 - P A) dAᵀ Pᵀ P
			a, p := t.Args(r)[0], r
			ct = t.full(ct, r)
			g := t.Apply(opNeg, t.mm(t.mm(p, ct, true, false), p, false, true))
			// each product is of the size of the result: P Pᵀ, and P three times, may leave the range
			x := t.mm(ct, p, true, false) // ctᵀ P
			g = t.Apply(opAdd, g, t.mm(t.Apply(opSub, x, t.mm(a, t.mm(p, x, false, false), false, false)), p, false, true))
			y := t.mm(p, ct, false, true) // P ctᵀ
			return t.Apply(opAdd, g, t.mm(p, t.Apply(opSub, y, t.mm(t.mm(y, p, false, false), a, false, false)), true, false))
		}},
	{As: &opRank, Matrices: 16, Name: "matrix_rank", Args: "A", Doc: "how many singular values exceed rounding", Stops: "matrix_rank is not differentiable", Lead: true,
		Call: func(c *call) value {
			a := c.matrix(false)
			s := c.t.Shape(a)
			return c.t.recordAs(opRank, s[:len(s)-2], tensor.Int64, Attr{}, a)
		},
		Run: func(c *run) {
			c.eachMatrix(func(h *matrix.Solver, dst []float64, a matrix.Dense) {
				_, s, _ := h.SVD(a)
				dst[0] = 0
				for _, x := range s {
					if x > c.rankTolerance(a, s) {
						dst[0]++
					}
				}
			})
		}},
	{Name: "cond", Args: "A", Doc: "condition number: the largest singular value over the least; equal ones take equal shares", Body: "s = svdvals(A); max(s, axis=-1) / min(s, axis=-1)"},
	// opEighOf holds the eigenvalues in its first row and the eigenvectors as columns below.
	{As: &opEighOf, Matrices: 10, Name: "eigh_of", Args: "A", Hidden: true, Doc: "eigenvalues and eigenvectors of the symmetric part of A", Stops: "factors", Lead: true,
		Run: func(c *run) {
			if n := last(c.shapes[0]); c.sideBySide(matrix.LanedEigh(n)) {
				c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) { h.Eighs(dst, x[0], n, g) })
				return
			}
			c.eachMatrix(func(h *matrix.Solver, dst []float64, a matrix.Dense) {
				w, v := h.Eigh(h.Symmetric(a))
				copy(dst, w)
				copy(dst[a.N:], v.T().Data)
			})
		}},
	{As: &opEigvals, Name: "eigvals_of", Args: "A, F", Hidden: true, Doc: "eigenvalues, given the decomposition",
		Tie: apartAmongEqual, TieSay: "equal eigenvalues, not all treated alike: the derivative is that of one choice of eigenvectors",
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 1}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) { copy(dst, x[1].Data) })
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref { return t.valuesAdj(opSpectral, r, ct) }},
	{As: &opEigvecs, Name: "eigvecs_of", Args: "A, F", Hidden: true, Doc: "eigenvectors, given the decomposition",
		Tie:    func(t *Tape, r Ref) Ref { return t.mixed(r, t.eigvals(t.Args(r)[0], t.Args(r)[1]), t.equalEigenvalues) },
		TieSay: "equal eigenvalues: their eigenvectors have no derivative",
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2, 2}[3-len(c.args):], func(h *matrix.Solver, dst []float64, x []matrix.Dense) { copy(dst, x[1].Data[x[0].N:]) })
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			// V (K / gap) Vᵀ with K the skew part of Vᵀ V̄
			a, f := t.Args(r)[0], t.Args(r)[1]
			w, free := t.eigvals(a, f), None
			ct = t.full(ct, r)
			if t.noneEqual(r, w, false) {
				return t.symmetrized(t.between(r, t.overSpaced(t.skew(t.mm(r, ct, true, false)), w), r))
			}
			near := t.equalEigenvalues(a, f)
			if args := t.Args(r); len(args) > 2 {
				free = args[2]
			}
			v, idle := r, t.idle(ct, near)
			if idle != None {
				v = t.eigvecs(a, f, idle)
			}
			m := t.mm(v, ct, true, false)
			q := t.overGaps(t.skew(m), m, w, near, free)
			g := t.symmetrized(t.between(v, q, v))
			if idle == None {
				return g
			}
			return t.Apply(opAdd, g, t.record(opVectorsTurned, t.Shape(g), Attr{}, a, f, q, w, idle))
		}},
	// opSpectral is V diag(d) Vᵀ: what the derivative of a function of eigenvalues is.
	// Its last argument are the eigenvalues themselves, for the rule only.
	{As: &opSpectral, Name: "spectral", Args: "A, F, d, w", Hidden: true, Doc: "V diag(d) V.T for the eigenvectors V of A",
		Linear: []int{2}, Zeros: func(c *run) { c.zerosOf(2, 2, 2, 1, 1, 2) },
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 1, 1, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				n := x[0].N
				spreadColumns(dst, x[1].Data[n:], x[2].Data, x[1].Data[n:], n, n, n)
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, f, d, w := t.Args(r)[0], t.Args(r)[1], t.Args(r)[2], t.Args(r)[3]
			part := t.partOf(d)
			switch {
			case i == 2:
				return t.shares(r, ct)
			case i == 3:
				turned := t.turnedOf(r, ct)
				if part != None || turned == None || t.ins[t.Args(turned)[4]].Op() == opConst {
					return None
				}
				return t.takenApart(t.shares(r, ct), t.whereKnown(t.Args(turned)[4]), t.Args(turned)[6], t.Const(0), t.Const(0))
			case part != None:
				v := t.eigvecs(a, f, None)
				near := t.Args(part)[2]
				return t.lastKnown(t.timesWithin(v, t.full(ct, r), t.quotientsApart(d, w, near, t.slopes(d, w), part)), near)
			}
			return t.spectralAlong(a, f, d, w, t.full(ct, r))
		}},
	// opNear marks equal eigenvalues, the diagonal among them: neighbours within rounding.
	{As: &opNear, Name: "near", Args: "x, y", Hidden: true, Doc: "equal but for rounding", Stops: "near", Gives: givesBool,
		Kernel: binary(nil, nearOf)},
	// opSVDOf holds a row for each singular value: itself, its left and its right vector.
	{As: &opSVDOf, Matrices: 16, Name: "svd_of", Args: "A", Hidden: true, Doc: "thin singular value decomposition", Stops: "factors", Lead: true,
		Run: func(c *run) {
			c.eachMatrix(func(h *matrix.Solver, dst []float64, a matrix.Dense) {
				u, s, v := h.SVD(a)
				for i := range s {
					row := dst[i*(1+a.M+a.N):]
					row[0] = s[i]
					copy(row[1:], u.Row(i))
					copy(row[1+a.M:], v.Row(i))
				}
			})
		}},
	{As: &opSingular, Name: "singular_of", Args: "A, F", Hidden: true, Doc: "singular values, given the decomposition",
		Tie: func(t *Tape, r Ref) Ref {
			return t.apply("logical_or", t.apply("equal", r, t.Const(0)), apartAmongEqual(t, r))
		},
		TieSay: "a singular value of 0 (the least subgradient, 0), or equal ones not all treated alike",
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 1}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				for i := range dst {
					dst[i] = x[1].Row(i)[0]
				}
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref { return t.valuesAdj(opSpread, r, ct) }},
	// opSigned are the same numbers as elements of a diagonal, which pass through 0 without a kink.
	{As: &opSigned, Name: "signed_of", Args: "A, F", Hidden: true, Doc: "singular values as the diagonal of U.T A V",
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 1}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				for i := range dst {
					dst[i] = x[1].Row(i)[0]
				}
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, f := t.Args(r)[0], t.Args(r)[1]
			free := t.withZeros(a, f, bound)
			u := t.Apply(opZMul, t.left(a, f, free), t.across(t.full(ct, r)))
			return t.mm(u, t.right(a, f, free), false, true)
		}},
	// opLeft, and opRight, may be asked for vectors of which some turn freely (freely).
	{As: &opLeft, Name: "left_of", Args: "A, F", Hidden: true, Doc: "left singular vectors, given the decomposition",
		Tie:    func(t *Tape, r Ref) Ref { return t.mixed(r, t.singular(t.Args(r)[0], t.Args(r)[1]), t.equalSingular) },
		TieSay: "equal singular values, or one of 0: their vectors have no derivative",
		Run: func(c *run) {
			c.eachOf(vectorTails(c), func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				vectorsFrom(dst, x[1], 1, x[0].M)
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, f := t.Args(r)[0], t.Args(r)[1]
			ct = t.full(ct, r)
			if s := t.singular(a, f); t.noneEqual(r, s, true) {
				v, m := t.right(a, f, bound), t.mm(r, ct, true, false)
				g := t.between(r, t.overSquaresSpaced(t.skew(m), s, t.across(s)), v)
				if sh := t.Shape(a); sh[len(sh)-2] > last(sh) {
					g = t.Apply(opAdd, g, t.mm(t.beyond(r, ct, m, s, bound), v, false, true))
				}
				return g
			}
			free := t.withZeros(a, f, t.freeOf(r))
			s, u, v := t.smooth(a, f, free.zero), t.left(a, f, free), t.right(a, f, free)
			m := t.mm(u, ct, true, false)
			// J S with J symmetric: J_ij = (M_ij - M_ji) / (s_j² - s_i²)
			g := t.between(u, t.overSquares(r, t.skew(m), m, s, t.across(s), free, 1), v)
			if sh := t.Shape(a); sh[len(sh)-2] > last(sh) {
				g = t.Apply(opAdd, g, t.mm(t.beyond(u, ct, m, s, t.freeOf(r)), v, false, true))
			}
			return t.Apply(opAdd, g, t.record(opBesideLeft, t.Shape(g), Attr{}, a, f, ct, free.zero))
		}},
	{As: &opRight, Name: "right_of", Args: "A, F", Hidden: true, Doc: "right singular vectors, given the decomposition",
		Tie:    func(t *Tape, r Ref) Ref { return t.mixed(r, t.singular(t.Args(r)[0], t.Args(r)[1]), t.equalSingular) },
		TieSay: "equal singular values, or one of 0: their vectors have no derivative",
		Run: func(c *run) {
			c.eachOf(vectorTails(c), func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				vectorsFrom(dst, x[1], 1+x[0].M, x[0].N)
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, f := t.Args(r)[0], t.Args(r)[1]
			ct = t.full(ct, r)
			if s := t.singular(a, f); t.noneEqual(r, s, true) {
				u, m := t.left(a, f, bound), t.mm(r, ct, true, false)
				g := t.between(u, t.overSquaresSpaced(t.skew(m), s, t.down(s)), r)
				if sh := t.Shape(a); sh[len(sh)-2] < last(sh) {
					g = t.Apply(opAdd, g, t.mm(u, t.beyond(r, ct, m, s, bound), false, true))
				}
				return g
			}
			free := t.withZeros(a, f, t.freeOf(r))
			s, u, v := t.smooth(a, f, free.zero), t.left(a, f, free), t.right(a, f, free)
			m := t.mm(v, ct, true, false)
			g := t.between(u, t.overSquares(r, t.skew(m), m, s, t.down(s), free, -1), v)
			if sh := t.Shape(a); sh[len(sh)-2] < last(sh) {
				g = t.Apply(opAdd, g, t.mm(u, t.beyond(v, ct, m, s, t.freeOf(r)), false, true))
			}
			return t.Apply(opAdd, g, t.record(opBesideRight, t.Shape(g), Attr{}, a, f, ct, free.zero))
		}},
	// opSpread is U diag(d) Vᵀ: what the derivative of a function of singular values is.
	// A singular value that is 0 has a kink, and the least subgradient there is 0.
	{As: &opSpread, Name: "spread", Args: "A, F, d, s", Hidden: true, Doc: "U diag(d) V.T for the singular vectors of A",
		Linear: []int{2}, Zeros: func(c *run) { c.zerosOf(2, 2, 2, 1, 1, 2) },
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 1, 1, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				m, n, k := x[0].M, x[0].N, x[1].M
				u, v, d := h.New(k, m), h.New(k, n), make([]float64, k)
				for i := range k {
					copy(u.Row(i), x[1].Row(i)[1:])
					copy(v.Row(i), x[1].Row(i)[1+m:])
					if x[3].Data[i] != 0 {
						d[i] = x[2].Data[i]
					}
				}
				h.SpreadInto(dst, u, d, v)
			})
		},
		Adj: (*Tape).spreadAdj},
}

// valuesAdj is the cotangent of the matrix whose eigenvalues or singular values are r: op of the vectors and ct.
func (t *Tape) valuesAdj(op *Op, r, ct Ref) Ref {
	a, f := t.Args(r)[0], t.Args(r)[1]
	ct = t.full(ct, r)
	return t.record(op, t.joinLead(1, t.Shape(a), ct), Attr{Strong: t.strongly()}, a, f, ct, r)
}

// spectralAlong is the cotangent of a in the sum of x times V diag(d) Vᵀ.
func (t *Tape) spectralAlong(a, f, d, w, x Ref) Ref {
	if t.allFar(w, false) {
		return t.timesWithin(t.eigvecs(a, f, None), x, t.overSpaced(t.differences(d), w))
	}
	q := t.quotientsOf(d, w, t.slopes(d, w), t.equalEigenvalues(a, f))
	z, own := q.z, t.Const(0)
	if q.own != None {
		z, own = t.Apply(opWhere, t.offDiagonal(last(t.Shape(w))), q.z, t.down(t.whereKnown(q.own))), q.own
	}
	v := t.eigvecs(a, f, q.near)
	g := t.timesWithin(v, x, z)
	return t.Apply(opAdd, g, t.record(opTurned, t.Shape(g), Attr{}, a, f, x, q.z, own, w, q.near))
}

// timesWithin is symmetric x with its numbers between vectors v multiplied by those of z.
func (t *Tape) timesWithin(v, x, z Ref) Ref {
	return t.symmetrized(t.between(v, t.Apply(opZMul, t.within(v, t.symmetrized(x)), z), v))
}

// spreadColumns writes U diag(d) Vᵀ for vectors in columns.
func spreadColumns(dst, u, d, v []float64, m, n, k int) {
	w := make([]float64, m*k)
	for i := range w {
		w[i] = float64(u[i] * d[i%k])
	}
	kernels.Gemm(dst, n, w, k, false, v, k, true, m, n, k, false)
}

// rankTolerance is the size below which a singular value of a is rounding.
func (c *run) rankTolerance(a matrix.Dense, s []float64) float64 {
	return float64(float64(max(a.M, a.N))*c.epsilon()) * s[0]
}

// epsilon is what 1 and the next number of the first argument's dtype differ by.
func (c *run) epsilon() float64 {
	return c.t.digits(c.t.Args(c.r)[0])
}

// nearOf reports whether two numbers are equal but for the last bits.
func nearOf(x, y float64) float64 {
	if math.Abs(x-y) <= float64(0x1p-50*max(math.Abs(x), math.Abs(y))) {
		return 1
	}
	return 0
}

func (t *Tape) eighOf(a Ref) Ref { return t.factors(opEighOf, withRows(t.Shape(a), 1), a) }

func (t *Tape) eigvals(a, f Ref) Ref { return t.view(opEigvals, lead(t.Shape(a)), a, f) }

// eigvecs are the eigenvectors; those that free marks may be any of their space. None: all are what they are.
func (t *Tape) eigvecs(a, f, free Ref) Ref {
	if free == None {
		return t.view(opEigvecs, t.Shape(a), a, f)
	}
	return t.view(opEigvecs, t.Shape(a), a, f, free)
}

func (t *Tape) svdOf(a Ref) Ref {
	s := t.Shape(a)
	m, n := s[len(s)-2], last(s)
	return t.factors(opSVDOf, append(slices.Clone(s[:len(s)-2]), min(m, n), 1+m+n), a)
}

// thin is the shape of a with another last axis: as many as singular values.
func (t *Tape) thin(a Ref, axis int) tensor.Shape {
	s := t.Shape(a)
	k := min(s[len(s)-2], last(s))
	out := slices.Clone(s[:len(s)-2])
	if axis != 0 {
		out = append(out, s[len(s)+axis])
	}
	return append(out, k)
}

func (t *Tape) singular(a, f Ref) Ref { return t.view(opSingular, t.thin(a, 0), a, f) }

// smooth is singular as the derivatives of smooth functions need it: a value of 0, which zero marks, has a slope.
func (t *Tape) smooth(a, f, zero Ref) Ref {
	return t.Apply(opWhere, zero, t.view(opSigned, t.thin(a, 0), a, f), t.singular(a, f))
}

// left and right are the singular vectors, of which some may turn freely.
func (t *Tape) left(a, f Ref, free freely) Ref {
	return t.view(opLeft, t.thin(a, -2), free.args(a, f)...)
}

func (t *Tape) right(a, f Ref, free freely) Ref {
	return t.view(opRight, t.thin(a, -1), free.args(a, f)...)
}

// vectorsFrom sets the columns of dst to n numbers of each row of a decomposition, from a place on.
func vectorsFrom(dst []float64, f matrix.Dense, from, n int) {
	for i := range f.M {
		for j := range n {
			dst[j*f.M+i] = f.Row(i)[from+j]
		}
	}
}

// beyond is the part of ct that does not lie in the span of the vectors u, where m is uᵀ ct, over the singular values s.
func (t *Tape) beyond(u, ct, m, s Ref, free freely) Ref {
	out := t.Apply(opSub, ct, t.mm(u, m, false, false))
	inverse := t.apply("reciprocal", s)
	if free.zero != None {
		inverse = t.Apply(opWhere, free.zero, t.Const(0), inverse)
	}
	return t.Apply(opZMul, out, t.across(inverse))
}

// overGaps divides k, the skew part of m, by w_j - w_i. Vectors of equal values, which near marks, have no derivative:
// NaN, unless nothing asks for it or they are free to turn.
func (t *Tape) overGaps(k, m, w, near, free Ref) Ref {
	none := t.unknown(m)
	if free != None {
		none, near = t.Apply(opWhere, free, t.Const(0), none), t.apply("logical_or", near, free)
	}
	q := t.over(k, t.Apply(opWhere, near, t.Const(1), t.differences(w)))
	return t.Apply(opWhere, near, none, q)
}

// unknown is NaN for the pairs of vectors that something asks to turn into each other, 0 for others: m is Vᵀ V̄, in
// which it is linear.
func (t *Tape) unknown(m Ref) Ref {
	nan := t.Apply(opWhere, t.offDiagonal(last(t.Shape(m))), t.Const(math.NaN()), t.Const(0))
	return t.Apply(opAdd, t.Apply(opZMul, m, nan), t.Apply(opZMul, t.mT(m), nan))
}

// asked marks these pairs.
func (t *Tape) asked(m Ref) Ref {
	either := t.apply("logical_or", t.apply("not_equal", m, t.Const(0)), t.apply("not_equal", t.mT(m), t.Const(0)))
	return t.apply("logical_and", either, t.offDiagonal(last(t.Shape(m))))
}

// mixed marks those of the vectors r, in columns, that have no derivative: something asks them to turn
// into another of the same value in w, where overGaps is NaN, or away from all where their own is 0.
func (t *Tape) mixed(r, w Ref, equal func(a, f Ref) Ref) Ref {
	pairs, alone := t.offDiagonal(last(t.Shape(w))), None
	for _, s := range t.sites {
		if s.r != r || s.ct == None || len(t.Axes(s.ct)) > 0 {
			continue
		}
		ct := t.full(s.ct, r)
		m := t.mm(r, ct, true, false)
		pairs = t.asked(m)
		if sh := t.Shape(r); sh[len(sh)-2] > last(sh) {
			out := t.Apply(opSub, ct, t.mm(r, m, false, false))
			out = t.sumTo(t.apply("abs", out), []int{-2}, false)
			alone = t.apply("logical_and", t.apply("equal", w, t.Const(0)), t.apply("not_equal", out, t.Const(0)))
		}
	}
	hits := t.amongPairs(t.apply("logical_and", pairs, equal(t.Args(r)[0], t.Args(r)[1])))
	if alone != None {
		hits = t.apply("logical_or", hits, alone)
	}
	return hits
}

// offDiagonal marks all of an n by n matrix but its diagonal.
func (t *Tape) offDiagonal(n int) Ref {
	mask := tensor.New(n, n)
	mask.DType = tensor.Bool
	for i := range mask.Data {
		if i%(n+1) != 0 {
			mask.Data[i] = 1
		}
	}
	return t.Tensor(mask)
}

// apartAmongEqual marks those of equal values w whose cotangent differs from another's:
// no symmetric function asked for them.
func apartAmongEqual(t *Tape, w Ref) Ref {
	pairs := t.offDiagonal(last(t.Shape(w)))
	for _, s := range t.sites {
		if s.r == w && s.ct != None && len(t.Axes(s.ct)) == 0 {
			pairs = t.apply("logical_and", pairs, t.apply("logical_not", t.alike(t.full(s.ct, w))))
		}
	}
	return t.amongEqual(pairs, w)
}

// amongEqual marks the values w that are in a pair of equal ones, among the pairs that are given.
func (t *Tape) amongEqual(pairs, w Ref) Ref {
	return t.amongPairs(t.apply("logical_and", t.Apply(opNear, t.across(w), t.down(w)), pairs))
}

// amongPairs marks what is in one of the pairs.
func (t *Tape) amongPairs(pairs Ref) Ref {
	return t.apply("greater", t.sumTo(t.Apply(opMul, pairs, t.Const(1)), []int{-1}, false), t.Const(0))
}

// alike marks the pairs of a vector that are equal but for the errors of a computation.
func (t *Tape) alike(d Ref) Ref {
	x, y := t.across(d), t.down(d)
	return t.apply("less_equal", t.apply("abs", t.Apply(opSub, x, y)),
		t.Apply(opMul, t.Const(1e-8), t.Apply(opMaximum, t.apply("abs", x), t.apply("abs", y))))
}

// slopes is ∂d_k/∂w_j as a matrix [k, j] for each set of leading axes, which are taken
// to be independent; None where d does not depend on w. They count where values are equal. On
// the way from d to w there may be other decompositions; looking for their slopes, too, would
// double the tape at each, so there they are unknown: NaN.
func (t *Tape) slopes(d, w Ref) Ref {
	n := last(t.Shape(w))
	if t.sloping {
		return t.broadcastTo(t.Const(math.NaN()), append(slices.Clone(t.Shape(w)), n))
	}
	t.sloping = true
	defer func() { t.sloping = false }()
	j := t.slopeRows(d, w, n)
	if j == None {
		return None
	}
	rank := len(t.Shape(j))
	perm := make([]int, 0, rank)
	for i := 1; i < rank-1; i++ {
		perm = append(perm, i)
	}
	return t.transpose(j, append(perm, 0, rank-1))
}

// slopeRows is ∂d_k/∂w as [k, …, j]: by one sweep along an axis for k, or, in the body of a loop,
// which has no batch axes, by one for each.
func (t *Tape) slopeRows(d, w Ref, n int) Ref {
	dtype := t.ins[w].dtype
	if !t.isBody {
		axis := t.NewAxis(n)
		j := t.VJP([]Ref{d}, []Ref{t.basis(axis, tensor.Shape{n}, dtype)}, []Ref{w})[0]
		if j == None {
			return None
		}
		return t.unbatch(t.full(j, w), axis, tensor.Shape{n})
	}
	rows := make([]Ref, n)
	for k := range rows {
		unit := tensor.New(n)
		unit.Data[k] = 1
		g := t.VJP([]Ref{d}, []Ref{t.cast(t.Tensor(unit), dtype)}, []Ref{w})[0]
		if g == None {
			return None
		}
		rows[k] = t.reshape(t.full(g, w), append(tensor.Shape{1}, t.Shape(w)...))
	}
	return t.concat(rows, 0)
}
