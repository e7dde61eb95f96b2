package tape

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"nabla/kernels"
	"nabla/tape/matrix"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// Linear algebra: each operation works on the last two axes, leading axes are a batch.
//
// A factorisation is an instruction of its own that no gradient passes (lu, qr_of,
// eigh_of, svd_of); what a program sees of it are views with derivative rules, whose
// arguments are the matrix, through which they are differentiated, and the factors,
// from which they are read. So a thousand cotangents share one factorisation, and the
// rules, being compositions of views, hold to every order.

var (
	opInv, opDet, opCofactor, opCofactorAlong, opLogabsdet, opDetsign *Op
	opLU, opLUSolve, opTriSolve, opCholesky                           *Op
	opQROf, opQROrthogonal, opQRTriangle, opLstsq                     *Op
	opExpm, opExpmAlong                                               *Op
)

var linalgRows = []Op{
	{Name: "solve", Alias: []string{"matrix_solve"}, Args: "A, B", Doc: "solution X of A @ X = B; a vector B gives a vector", Call: func(c *call) value {
		a := c.matrix(true)
		b, vector := c.rightSide(a)
		return c.vectorAgain(c.t.luSolve(a, c.t.lu(a), b, false), vector)
	}},
	{Name: "inv", Alias: []string{"inverse", "matrix_inverse"}, Args: "A", Doc: "inverse of a square matrix",
		Call: func(c *call) value { return c.ofMatrix(func(t *Tape, a Ref) Ref { return t.inv(a, "inv") }) }},
	{Name: "det", Alias: []string{"matrix_determinant"}, Args: "A", Doc: "determinant; its derivative is the matrix of cofactors, for singular matrices too",
		Call: func(c *call) value {
			return c.ofMatrix(func(t *Tape, a Ref) Ref {
				return t.record(opDet, t.Shape(a)[:len(t.Shape(a))-2], Attr{}, t.withFactors(a)...)
			})
		}},
	{Name: "slogdet", Args: "A", Doc: "sign of the determinant and logarithm of its size", Call: func(c *call) value {
		a := c.matrix(true)
		s := c.t.Shape(a)[:len(c.t.Shape(a))-2]
		args := c.t.withFactors(a)
		return &tuple{elems: []value{c.t.record(opDetsign, s, Attr{}, args...), c.t.record(opLogabsdet, s, Attr{}, args...)}}
	}},
	{Name: "logdet", Alias: []string{"log_det"}, Args: "A", Doc: "logarithm of the determinant, without overflow; NaN where it is negative",
		Call: func(c *call) value {
			return c.ofMatrix(func(t *Tape, a Ref) Ref {
				return t.record(opLogabsdet, t.Shape(a)[:len(t.Shape(a))-2], Attr{Flag: true}, t.withFactors(a)...)
			})
		}},
	{As: &opCholesky, Matrices: 3, Name: "cholesky", Args: "A", Doc: "lower triangle L with L @ L.T = A, for the symmetric part of A", Lead: true,
		Note: "of a matrix that is not symmetric, the symmetric part counts, in the value and in the derivative",
		Call: func(c *call) value {
			return c.ofMatrix(func(t *Tape, a Ref) Ref { return t.record(opCholesky, t.Shape(a), Attr{}, a) })
		},
		Run: func(c *run) {
			c.eachMatrix(func(h *matrix.Solver, dst []float64, a matrix.Dense) {
				l, k, p := h.Cholesky(h.Symmetric(a))
				if k >= 0 {
					c.fail(fmt.Sprintf("cholesky: the matrix is not positive definite: pivot %d is %v", k, p),
						"eigvalsh(A) shows which eigenvalues are not positive")
				}
				copy(dst, l.Data)
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			p := t.mm(r, t.full(ct, r), true, false)
			p = t.Apply(opMul, t.Const(0.5), t.Apply(opAdd, t.triangle(p, false, 0), t.triangle(p, false, -1)))
			x := t.triSolve(r, p, false, true, "cholesky")       // L⁻ᵀ P
			y := t.triSolve(r, t.mT(x), false, true, "cholesky") // (L⁻ᵀ P L⁻¹)ᵀ
			return t.symmetrized(y)
		}},
	{Name: "cho_solve", Alias: []string{"cholesky_solve"}, Args: "L, B", Doc: "solution X of L @ L.T @ X = B", Call: func(c *call) value {
		l := c.matrix(true)
		b, vector := c.rightSide(l)
		y := c.t.triSolve(l, b, false, false, "cho_solve")
		return c.vectorAgain(c.t.triSolve(l, y, false, true, "cho_solve"), vector)
	}},
	{Name: "triangular_solve", Alias: []string{"solve_triangular"}, Args: "L, B, lower=true, trans=false", Doc: "solution X of L @ X = B for a triangle L, or of L.T @ X = B", Call: func(c *call) value {
		l := c.matrix(true)
		b, vector := c.rightSide(l)
		return c.vectorAgain(c.t.triSolve(l, b, !c.bool(2), c.bool(3), "triangular_solve"), vector)
	}},
	{Name: "qr", Args: "A", Doc: "orthogonal Q and upper triangle R with Q @ R = A; differentiable where the leading columns are independent", Call: qrCall},
	{Name: "lstsq", Args: "A, B", Doc: "X that makes the norm of A @ X - B least; of wide matrices, the shortest such X", Call: func(c *call) value {
		a := c.matrix(false)
		s := c.t.Shape(a)
		b, vector := c.rightSide(a)
		if s[len(s)-2] < last(s) {
			swapped := slices.Clone(s)
			swapped[len(s)-1], swapped[len(s)-2] = s[len(s)-2], s[len(s)-1]
			return c.vectorAgain(c.t.mm(c.t.record(opPinv, swapped, Attr{}, a), b, false, false), vector)
		}
		f := c.t.qrOf(a)
		x := c.t.record(opLstsq, append(c.t.joinLead(2, s, b)[:max(len(s), len(c.t.Shape(b)))-2], last(s), last(c.t.Shape(b))), Attr{}, a, f, b)
		return c.vectorAgain(x, vector)
	}},
	{As: &opExpm, Matrices: 16, Name: "expm", Alias: []string{"matrix_exp", "matrix_exponential"}, Args: "A", Doc: "matrix exponential", Lead: true,
		Call: func(c *call) value {
			return c.ofMatrix(func(t *Tape, a Ref) Ref { return t.record(opExpm, t.Shape(a), Attr{}, a) })
		},
		Run: func(c *run) {
			c.eachMatrix(func(h *matrix.Solver, dst []float64, a matrix.Dense) {
				copy(dst, h.Expm(matrix.Pair{X: a}).X.Data)
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.expmAlong(t.mT(t.Args(r)[0]), t.full(ct, r))
		}},
	{Name: "matrix_power", Args: "A, n", Doc: "product of n factors A; of inverses when n is negative", Call: func(c *call) value {
		a, n := c.matrix(true), c.int(1)
		return c.t.matrixPower(a, n)
	}},
	{Name: "mT", Alias: []string{"matrix_transpose"}, Args: "A", Doc: "the last two axes exchanged", Call: func(c *call) value { return c.t.mT(c.matrix(false)) }},
	// The derivative of det is the matrix of cofactors, which needs no inverse.
	{As: &opDet, Matrices: 2, Name: "det_of", Args: "A, *F", Hidden: true, Doc: "determinant, given the factors of A", Lead: true,
		Run: func(c *run) { c.eachDeterminant(math.Ldexp) },
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 1 {
				return None
			}
			return t.Apply(opZMul, t.behind2(ct, r), t.record(opCofactor, t.Shape(t.Args(r)[0]), Attr{}, t.Args(r)...))
		}},
	{As: &opCofactor, Matrices: 11, Name: "cofactor", Args: "A, *F", Hidden: true, Doc: "matrix of cofactors, det(A) inv(A).T, given the factors of A", Lead: true,
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2}[2-len(c.args):], func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				var lu matrix.Dense
				var perm []int
				if len(x) == 2 {
					lu, perm = factorsOf(h, x[1])
				}
				h.Cofactors(dst, x[0], lu, perm)
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 1 {
				return None
			}
			a := t.Args(r)[0]
			switch last(t.Shape(a)) {
			case 0, 1:
				return t.Const(0)
			case 2: // linear and its own transpose
				return t.record(opCofactor, t.Shape(a), Attr{}, t.full(ct, r))
			}
			return t.cofactorAlong(a, t.full(ct, r))
		}},
	{As: &opCofactorAlong, Name: "cofactor_along", Args: "A, *G", Hidden: true, Doc: "derivative of the cofactors of A along each G; symmetric in these, and self-adjoint",
		Run: func(c *run) {
			tails := make([]int, len(c.args)+1)
			for i := range tails {
				tails[i] = 2
			}
			c.eachOf(tails, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				h.CofactorsAlong(dst, x[0], x[1:])
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			args := slices.Clone(t.Args(r))
			ct = t.full(ct, r)
			switch {
			case i > 0:
				args[i] = ct
			case last(t.Shape(r)) == len(args)+1: // linear in A too: the n-th derivative of det is symmetric in all directions
				args = append(args[1:], ct)
			default:
				args = append(args, ct)
			}
			return t.cofactorAlong(args...)
		}},
	// opLU holds L and U in one matrix, and in a row below it the permutation. What is asked of
	// one matrix reads the same factors: its determinant, inverse and solutions.
	{As: &opLU, Matrices: 2, Name: "lu", Args: "A", Hidden: true, Doc: "LU factors of A with partial pivoting", Stops: "factors", Lead: true,
		Run: func(c *run) {
			n := last(c.shapes[0])
			if c.sideBySide(matrix.Laned(n)) {
				c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) { h.LUs(dst, x[0], n, g) })
				return
			}
			c.eachMatrix(func(h *matrix.Solver, dst []float64, a matrix.Dense) {
				lu, perm := h.LU(a)
				copy(dst, lu.Data)
				for i, p := range perm {
					dst[a.N*a.N+i] = float64(p)
				}
			})
		}},
	// opInv, like the solution, is refused where a pivot is 0; its Text says whose it is.
	{As: &opInv, Matrices: 3, Name: "inv_of", Args: "A, F", Hidden: true, Doc: "inverse of A, given its factors", Lead: true,
		Run: func(c *run) {
			n := last(c.shapes[0])
			if c.sideBySide(matrix.LanedInverse(n)) && c.areRegular() {
				c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) { h.Inverses(dst, x[0], x[1], n, g) })
				return
			}
			c.eachOf([]int{2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				lu, perm := factorsOf(h, x[1])
				c.regular(lu)
				h.Inverse(dst, x[0], lu, perm)
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 1 {
				return None
			}
			return t.Apply(opNeg, t.mm(t.mm(r, t.full(ct, r), true, false), r, false, true))
		}},
	// opLogabsdet with Flag set is logdet: NaN where the determinant is negative. Of few rows it
	// needs no factors.
	{As: &opLogabsdet, Matrices: 2, Name: "logabsdet", Args: "A, *F", Hidden: true, Doc: "logarithm of the size of the determinant, given the factors of A", Lead: true,
		Run: func(c *run) {
			c.eachDeterminant(func(f float64, e int) float64 {
				if c.attr.Flag && f < 0 {
					f = math.NaN()
				}
				f = math.Abs(f)
				if e > -1000 && e < 1000 {
					return kernels.LogOf(math.Ldexp(f, e))
				}
				return math.FMA(float64(e), math.Ln2, kernels.LogOf(f))
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 1 {
				return None
			}
			name := "slogdet"
			if t.Attr(r).Flag {
				name = "logdet"
			}
			g := t.mT(t.inv(t.Args(r)[0], "the derivative of "+name))
			if t.Attr(r).Flag {
				g = t.Apply(opWhere, t.apply("isnan", t.behind2(r, r)), t.Const(math.NaN()), g)
			}
			return t.Apply(opZMul, t.behind2(ct, r), g)
		}},
	{As: &opDetsign, Matrices: 2, Name: "detsign", Args: "A, *F", Hidden: true, Doc: "sign of the determinant, given the factors of A", Lead: true,
		Run: func(c *run) { c.eachDeterminant(func(f float64, _ int) float64 { return kernels.SignOf(f) }) },
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref { return t.Const(0) }},
	// opLUSolve solves A X = B, with Flag set Aᵀ X = B.
	{As: &opLUSolve, Room: systemRoom, Name: "lu_solve", Args: "A, F, B", Hidden: true, Doc: "solution of A X = B, given the factors of A",
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				lu, perm := factorsOf(h, x[1])
				c.regular(lu)
				copy(dst, h.Refined(x[0], lu, perm, x[2], c.attr.Flag).Data)
			})
		},
		Whole: func(c *run, b *batch, out []float64, data [][]float64) bool { // right sides of one system, as those of its Jacobian
			t, s := c.t, c.shapes[2]
			a, f := t.Args(c.r)[0], t.Args(c.r)[1]
			n := last(c.shapes[0])
			if t.ins[a].batch != 0 || t.ins[f].batch != 0 || t.ins[c.r].batch != t.ins[t.Args(c.r)[2]].batch || len(c.shapes[0]) != 2 || !matrix.SolvesTogether(n, last(s)) {
				return false
			}
			h := matrix.Borrow(c.threads, t.check)
			lu, perm := factorsOf(h, matrix.Of(data[1], n+1, n))
			c.regular(lu)
			h.RefinedAll(out, matrix.Of(data[0], n, n), lu, perm, data[2], last(s), c.attr.Flag)
			h.Return()
			return true
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, f := t.Args(r)[0], t.Args(r)[1]
			if i == 1 {
				return None
			}
			trans := t.Attr(r).Flag
			g := t.luSolve(a, f, t.full(ct, r), !trans)
			if i == 2 {
				return g
			}
			if trans {
				return t.Apply(opNeg, t.mm(r, g, false, true))
			}
			return t.Apply(opNeg, t.mm(g, r, false, true))
		}},
	// opTriSolve solves op(L) X = B; Flag: the upper triangle is meant, Flag2: transposed.
	{As: &opTriSolve, Matrices: 1, Name: "tri_solve", Args: "L, B", Hidden: true, Doc: "solution of L X = B for a triangle L",
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				if k := matrix.ZeroPivot(x[0]); k >= 0 {
					c.fail(fmt.Sprintf("%s: the triangle is singular: element %d of its diagonal is 0", c.attr.Text, k),
						"pinv(A) @ b gives the least-squares solution of least norm")
				}
				b := matrix.Of(dst, x[1].M, x[1].N)
				copy(dst, x[1].Data)
				h.TriSolve(x[0], b, c.attr.Flag, c.attr.Flag2)
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			l := t.Args(r)[0]
			a := t.Attr(r)
			upper, trans := a.Flag, a.Flag2
			g := t.triSolve(l, t.full(ct, r), upper, !trans, a.Text)
			if i == 1 {
				return g
			}
			x := r
			if trans {
				g, x = x, g
			}
			return t.triangle(t.Apply(opNeg, t.mm(g, x, false, true)), upper, 0)
		}},
	// opQROf holds Q and below it R, of a matrix with no more columns than rows.
	{As: &opQROf, Matrices: 3, Name: "qr_of", Args: "A", Hidden: true, Doc: "QR decomposition", Stops: "factors", Lead: true,
		Run: func(c *run) {
			c.eachMatrix(func(h *matrix.Solver, dst []float64, a matrix.Dense) {
				q, r := h.QR(a)
				copy(dst[copy(dst, q.Data):], r.Data)
			})
		}},
	{As: &opQROrthogonal, Name: "qr_q", Args: "A, F", Hidden: true, Doc: "orthogonal columns of a QR decomposition",
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) { copy(dst, x[1].Data) })
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 1 {
				return None
			}
			ct = t.full(ct, r)
			m := t.Apply(opNeg, t.mm(ct, r, true, false))
			return t.qrBack(t.Apply(opAdd, ct, t.mm(r, t.mirrored(m), false, false)), t.qrR(t.Args(r)[0], t.Args(r)[1]))
		}},
	{As: &opQRTriangle, Name: "qr_r", Args: "A, F", Hidden: true, Doc: "triangle of a QR decomposition",
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) { copy(dst, x[1].Data[x[0].M*x[0].N:]) })
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 1 {
				return None
			}
			m := t.mm(r, t.triangle(t.full(ct, r), true, 0), false, true)
			return t.qrBack(t.mm(t.qrQ(t.Args(r)[0], t.Args(r)[1]), t.mirrored(m), false, false), r)
		}},
	// opLstsq is the least-squares solution of A X = B for a matrix of full column rank:
	// with g = (AᵀA)⁻¹ ct, Ā = (B - A X) gᵀ - A g Xᵀ and B̄ = A g.
	{As: &opLstsq, Room: systemRoom, Name: "lstsq_of", Args: "A, F, B", Hidden: true, Doc: "least-squares solution, given the QR factors",
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				m, n, k := x[0].M, x[0].N, x[2].N
				q, r := matrix.Of(x[1].Data[:m*n], m, n), matrix.Of(x[1].Data[m*n:], n, n)
				c.fullRank(r)
				solve := func(b matrix.Dense) matrix.Dense {
					y := h.New(n, k)
					h.Product(y, q, true, b, false)
					h.TriSolve(r, y, true, false)
					return y
				}
				y := solve(x[2])
				kernels.Add(y.Data, y.Data, solve(h.Residuals(x[0], y, x[2], false)).Data)
				copy(dst, y.Data)
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, f, b := t.Args(r)[0], t.Args(r)[1], t.Args(r)[2]
			if i == 1 {
				return None
			}
			tri := t.qrR(a, f)
			g := t.triSolve(tri, t.triSolve(tri, t.full(ct, r), true, true, "lstsq"), true, false, "lstsq")
			ag := t.mm(a, g, false, false)
			if i == 2 {
				return ag
			}
			rest := t.Apply(opSub, b, t.mm(a, r, false, false))
			return t.Apply(opSub, t.mm(rest, g, false, true), t.mm(ag, r, false, true))
		}},
	// opExpmAlong is the derivative of expm at A along E, which is brought to the size of 1.
	{As: &opExpmAlong, Matrices: 32, Name: "expm_along", Args: "A, E", Hidden: true, Doc: "derivative of expm at A along E",
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				a, e := x[0], h.New(x[1].M, x[1].N)
				copy(e.Data, x[1].Data)
				shift := max(min(e.Exponent(), 1000), -1000)
				e.Scale(-shift)
				copy(dst, h.Expm(matrix.Pair{X: a, DX: e}).DX.Data)
				matrix.Of(dst, a.N, a.N).Scale(shift)
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, e := t.Args(r)[0], t.Args(r)[1]
			ct = t.full(ct, r)
			if i == 1 {
				return t.expmAlong(t.mT(a), ct)
			}
			g := t.expmAlong(t.mT(t.blocks(a, e, a)), t.blocks(None, ct, None))
			n := last(t.Shape(a))
			part := func(from int) Ref { return t.slice(t.slice(g, -2, from, from+n, 1), -1, from, from+n, 1) }
			return t.Apply(opAdd, part(0), part(n))
		}},
}

// Checks

// matrix is the first argument as floats, with at least two axes; square demands equal ones.
func (c *call) matrix(square bool) Ref {
	a := c.t.asFloat(c.ref(0))
	s := c.t.Shape(a)
	needed := ""
	switch {
	case len(s) < 2:
		needed = "a matrix"
	case square && last(s) != s[len(s)-2]:
		needed = "a square matrix"
	case last(s) == 0 || s[len(s)-2] == 0:
		needed = "a matrix with elements"
	}
	if needed != "" {
		c.lo.fail(c.where(0), "shape", "%s needs %s, this has shape %v", c.op.Name, needed, s)
	}
	return a
}

func (c *call) ofMatrix(f func(t *Tape, a Ref) Ref) value {
	return f(c.t, c.matrix(true))
}

// rightSide is the second argument as the right-hand side of a system of a: a matrix, or a
// vector that is made one.
func (c *call) rightSide(a Ref) (b Ref, vector bool) {
	t := c.t
	b = t.asFloat(c.ref(1))
	as, bs := t.Shape(a), t.Shape(b)
	rows := as[len(as)-2]
	if len(bs) == 1 && bs[0] == rows {
		return t.reshape(b, tensor.Shape{rows, 1}), true
	}
	if len(bs) >= 2 && bs[len(bs)-2] == rows {
		if _, ok := broadcast(as[:len(as)-2], bs[:len(bs)-2]); ok {
			return b, false
		}
	}
	m := &Misuse{Kind: "shape", Pos: t.pos, Msg: fmt.Sprintf("%s: shapes %v and %v do not fit", c.op.Name, as, bs),
		Note: fmt.Sprintf("%d rows are needed on the right", rows)}
	if bs.Equal(as[:len(as)-1]) && len(bs) > 1 {
		m.Hint = "a batch of vectors is a batch of matrices of one column: b[..., newaxis]"
	}
	c.lo.failWith(c.at, m)
	return None, false
}

func (c *call) vectorAgain(x Ref, vector bool) Ref {
	if !vector {
		return x
	}
	return c.t.reshape(x, lead(c.t.Shape(x)))
}

// factorsOf are the factors that an instruction of opLU holds.
func factorsOf(h *matrix.Solver, f matrix.Dense) (lu matrix.Dense, perm []int) {
	n := f.N
	perm = h.Order(n)
	for i := range perm {
		perm[i] = int(f.Data[n*n+i])
	}
	return matrix.Of(f.Data[:n*n], n, n), perm
}

// eachDeterminant writes what f makes of the determinant of every matrix.
func (c *run) eachDeterminant(f func(f float64, e int) float64) {
	if n := last(c.shapes[0]); c.sideBySide(matrix.Laned(n) && len(c.args) == 2) {
		c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) {
			h.Dets(x[0], x[1], n, g, func(l int, v float64, e int) { dst[l] = f(v, e) })
		})
		return
	}
	c.eachOf([]int{2, 2, 0}[2-len(c.args):], func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
		if len(x) == 1 {
			dst[0] = f(h.Det(x[0]))
			return
		}
		lu, perm := factorsOf(h, x[1])
		dst[0] = f(h.DetBy(x[0], lu, perm))
	})
}

// regular demands that no pivot is 0.
func (c *run) regular(lu matrix.Dense) {
	if k := matrix.ZeroPivot(lu); k >= 0 {
		c.fail(fmt.Sprintf("%s: the matrix is singular: pivot %d is 0", c.attr.Text, k),
			"pinv(A) is defined for singular matrices, lstsq(A, b) for systems with more rows than columns")
	}
}

// areRegular reports whether no pivot of the second argument's factors is 0.
func (c *run) areRegular() bool {
	n := last(c.shapes[0])
	for f := c.args[1]; len(f) > 0; f = f[n*n+n:] {
		if matrix.ZeroPivot(matrix.Of(f[:n*n], n, n)) >= 0 {
			return false
		}
	}
	return true
}

// fullRank demands of a triangle R that no column is, but for rounding, a combination of those
// before it, however its length compares to theirs: a solution would be made of rounding.
func (c *run) fullRank(r matrix.Dense) {
	n := r.N
	columns := r.T()
	for k := range n {
		if size := kernels.Norm2(columns.Row(k)); math.Abs(r.Row(k)[k]) <= float64(n)*0x1p-52*size {
			c.fail(fmt.Sprintf("lstsq: the columns are not independent: column %d is a combination of those before it, or 0", k),
				"pinv(A) @ b gives the shortest solution; a polynomial needs more different places than its degree")
		}
	}
}

// Running

// systemRoom is that of a system with factors: more where residuals are products.
func systemRoom(t *Tape, r Ref) int64 {
	a, x := matrixSize(t.Shape(t.Args(r)[0])), max(matrixSize(t.Shape(r)), matrixSize(t.Shape(t.Args(r)[2])))
	if last(t.Shape(r)) < 4 {
		return 8 * int64(a+4*x)
	}
	return 8 * int64(3*a+7*x)
}

func matrixSize(s tensor.Shape) int { return s[max(0, len(s)-2):].Size() }

// eachMatrix runs f on every matrix of the last two axes.
func (c *run) eachMatrix(f func(h *matrix.Solver, dst []float64, a matrix.Dense)) {
	s := c.shapes[0]
	c.each(s[:len(s)-2], []int{2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) { f(h, dst, x[0]) })
}

// eachOf runs f for every index of the broadcast leading axes; tails says how many axes
// of each argument, and last of the result, are f's own. A vector is a mat of one row.
func (c *run) eachOf(tails []int, f func(h *matrix.Solver, dst []float64, x []matrix.Dense)) {
	c.each(c.shape[:len(c.shape)-tails[len(tails)-1]], tails, f)
}

// each is eachOf for the leading axes given. Small matrices are worked on by several threads, one
// each; threads share the work on a large one.
func (c *run) each(lead tensor.Shape, tails []int, f func(h *matrix.Solver, dst []float64, x []matrix.Dense)) {
	own := make([]matrix.Dense, len(c.args))
	b := &batch{n: lead.Size(), at: make([]*spread, len(c.args))}
	per, work := len(c.out)/max(b.n, 1), leastWork
	for j, s := range c.shapes {
		tail := s[len(s)-tails[j]:]
		own[j] = matrix.Of(nil, 1, last(tail))
		if len(tail) == 2 {
			own[j].M = tail[0]
		}
		work += own[j].M * own[j].N * own[j].N
		b.at[j] = newSpread(s[:len(s)-tails[j]], lead)
	}
	var failed failure
	run := func(threads, from, to int) {
		h := matrix.Borrow(threads, c.t.check)
		i := from
		defer func() { failed.note(i, recover()) }()
		x := slices.Clone(own)
		for ; i < to; i++ {
			for j := range x {
				size := x[j].M * x[j].N
				o := b.offset(j, i) * size
				x[j].Data = c.args[j][o : o+size]
			}
			h.Begin()
			f(h, c.out[i*per:(i+1)*per], x)
		}
		h.Return()
	}
	if b.n == 1 || work > mostAlone {
		run(c.threads, 0, b.n)
	} else {
		pool.Split(c.threads, b.n*work, b.n, func(from, to int) { run(1, from, to) })
	}
	failed.raise(c, lead)
}

// leastLanes is how many matrices are worked on side by side.
const leastLanes = 8

// sideBySide reports whether the matrices of a batch, which all arguments have, are worked on side by
// side, if matrices of their size are.
func (c *run) sideBySide(ofSize bool) bool {
	lead := c.shapes[0][:len(c.shapes[0])-2]
	return ofSize && lead.Size() >= leastLanes &&
		!slices.ContainsFunc(c.shapes[1:], func(s tensor.Shape) bool { return !s[:len(s)-2].Equal(lead) })
}

// eachGroup runs f on groups of such matrices: on g of them, whose parts of the result and of the
// arguments are dst and x.
func (c *run) eachGroup(f func(h *matrix.Solver, g int, dst []float64, x [][]float64)) {
	n, count := last(c.shapes[0]), c.shapes[0][:len(c.shapes[0])-2].Size()
	pool.Split(c.threads, count*(n*n*n+leastWork), ceilDiv(count, matrix.LanesAtOnce), func(first, end int) {
		h := matrix.Borrow(1, c.t.check)
		x := make([][]float64, len(c.args))
		for from := first * matrix.LanesAtOnce; from < min(end*matrix.LanesAtOnce, count); from += matrix.LanesAtOnce {
			if c.t.check != nil {
				c.t.check()
			}
			to := min(from+matrix.LanesAtOnce, count)
			for j, a := range c.args {
				size := len(a) / count
				x[j] = a[from*size : to*size]
			}
			size := len(c.out) / count
			h.Begin()
			f(h, to-from, c.out[from*size:to*size], x)
		}
		h.Return()
	})
}

// The work on one matrix is taken to be the cube of its rows, in operations on elements, and some.
const (
	leastWork = 1 << 9
	mostAlone = 1 << 22 // which is not for one thread
)

// A failure is the first matrix of a batch that was refused: whichever thread came upon another
// one before.
type failure struct {
	sync.Mutex
	at  int
	why *Misuse
}

// note takes down what matrix i failed with; what is no mistake of the user's goes on.
func (f *failure) note(i int, why any) {
	if why == nil {
		return
	}
	m, ok := why.(*Misuse)
	if !ok {
		panic(why)
	}
	f.Lock()
	defer f.Unlock()
	if f.why == nil || i < f.at {
		f.at, f.why = i, m
	}
}

// raise fails with what was noted, and with the place of the matrix among the axes of the batch
// and the leading ones.
func (f *failure) raise(c *run, lead tensor.Shape) {
	if f.why == nil {
		return
	}
	if len(c.shape) > len(c.t.Shape(c.r)) { // the first of them is the batch
		lead = lead[1:]
	} else {
		f.at += c.point * lead.Size()
	}
	lead = append(c.t.physical(c.r)[:len(c.t.Axes(c.r)):len(c.t.Axes(c.r))], lead...)
	if len(lead) > 0 && f.why.Kind == "run" {
		at := make([]string, len(lead))
		for k := len(lead) - 1; k >= 0; k-- {
			at[k] = strconv.Itoa(f.at % lead[k])
			f.at /= lead[k]
		}
		f.why.Msg += ", in matrix [" + strings.Join(at, ", ") + "]"
	}
	panic(f.why)
}

// Recording

// mT exchanges the last two axes.
func (t *Tape) mT(x Ref) Ref { return t.swap(x, -1, -2) }

func (t *Tape) symmetrized(x Ref) Ref {
	return t.Apply(opMul, t.Const(0.5), t.Apply(opAdd, x, t.mT(x)))
}

// skew is (x - xᵀ)/2.
func (t *Tape) skew(x Ref) Ref {
	return t.Apply(opMul, t.Const(0.5), t.Apply(opSub, x, t.mT(x)))
}

// between is u x vᵀ.
func (t *Tape) between(u, x, v Ref) Ref { return t.mm(t.mm(u, x, false, false), v, false, true) }

// behind2 adds two axes of one behind ct, the cotangent of r.
func (t *Tape) behind2(ct, r Ref) Ref {
	if len(t.Shape(ct)) == 0 {
		return ct
	}
	ct = t.full(ct, r)
	return t.reshape(ct, append(slices.Clone(t.Shape(ct)), 1, 1))
}

// across lays a vector along rows, so that it varies with the column; down, along columns.
func (t *Tape) across(x Ref) Ref {
	s := t.Shape(x)
	return t.reshape(x, append(slices.Clone(lead(s)), 1, last(s)))
}

func (t *Tape) down(x Ref) Ref { return t.reshape(x, append(slices.Clone(t.Shape(x)), 1)) }

// joinLead is the shape s, whose last two axes are a matrix's, with the leading axes
// broadcast to those of x, of whose axes own are its own.
func (t *Tape) joinLead(own int, s tensor.Shape, x Ref) tensor.Shape {
	xs := t.Shape(x)
	l, _ := broadcast(s[:len(s)-2], xs[:len(xs)-own])
	return append(slices.Clone(l), s[len(s)-2:]...)
}

// triangle keeps the upper or the lower triangle from diagonal k on.
func (t *Tape) triangle(x Ref, upper bool, k int) Ref {
	s := t.Shape(x)
	n, m := s[len(s)-2], last(s)
	mask := tensor.New(n, m)
	mask.DType = tensor.Bool
	for i := range n {
		for j := range m {
			if upper && j >= i+k || !upper && j <= i+k {
				mask.Data[i*m+j] = 1
			}
		}
	}
	return t.Apply(opWhere, t.Tensor(mask), x, t.constOf(0, t.ins[x].dtype))
}

func (t *Tape) inv(a Ref, who string) Ref {
	return t.record(opInv, t.Shape(a), Attr{Text: who}, a, t.lu(a))
}

// cofactorAlong appends the derivative of the cofactors of a matrix, the first of args,
// along the others.
func (t *Tape) cofactorAlong(args ...Ref) Ref {
	s := t.Shape(args[0])
	for _, g := range args[1:] {
		s = t.joinLead(2, s, g)
	}
	return t.record(opCofactorAlong, s, Attr{}, args...)
}

// plus is shape s with k added to axis from the right.
func plus(s tensor.Shape, axis, k int) tensor.Shape {
	s = slices.Clone(s)
	s[len(s)+axis] += k
	return s
}

func (t *Tape) lu(a Ref) Ref { return t.factors(opLU, plus(t.Shape(a), -2, 1), a) }

// withFactors are the arguments of what reads the determinant: a and, where it is not a sum of
// few products, its factors.
func (t *Tape) withFactors(a Ref) []Ref {
	if last(t.Shape(a)) <= matrix.Expanded {
		return []Ref{a}
	}
	return []Ref{a, t.lu(a)}
}

func (t *Tape) luSolve(a, f, b Ref, trans bool) Ref {
	return t.record(opLUSolve, append(t.solved(a, b), last(t.Shape(b))), Attr{Flag: trans, Text: "solve"}, a, f, b)
}

// solved is the shape of the solution of a x = b without its last axis.
func (t *Tape) solved(a, b Ref) tensor.Shape {
	as, bs := t.Shape(a), t.Shape(b)
	l, _ := broadcast(as[:len(as)-2], bs[:len(bs)-2])
	return append(slices.Clone(l), last(as))
}

func (t *Tape) triSolve(l, b Ref, upper, trans bool, who string) Ref {
	return t.record(opTriSolve, append(t.solved(l, b), last(t.Shape(b))), Attr{Flag: upper, Flag2: trans, Text: who}, l, b)
}

// factors records one of the decompositions, or finds it: eigvalsh(A) asked for twice is
// one function of A, which its second derivative at equal eigenvalues needs to know.
func (t *Tape) factors(op *Op, s tensor.Shape, a Ref) Ref {
	const far = 1000
	for r := Ref(len(t.ins)) - 1; r > a && r > Ref(len(t.ins))-far; r-- {
		if t.ins[r].Op() == op && t.ins[r].args[0] == a {
			return r
		}
	}
	return t.record(op, s, Attr{}, a)
}

// view records what a program sees of a decomposition, or finds it.
func (t *Tape) view(op *Op, s tensor.Shape, a, f Ref) Ref {
	const far = 1000
	for r := f + 1; r < Ref(len(t.ins)) && r < f+far; r++ {
		if t.ins[r].Op() == op && t.ins[r].args[1] == f {
			return r
		}
	}
	return t.record(op, s, Attr{}, a, f)
}

func qrCall(c *call) value {
	a := c.matrix(false)
	t := c.t
	s := t.Shape(a)
	m, n := s[len(s)-2], last(s)
	if m >= n {
		f := t.qrOf(a)
		return &tuple{elems: []value{t.qrQ(a, f), t.qrR(a, f)}}
	}
	// the first columns decide; the others are seen in their basis
	square := t.slice(a, -1, 0, m, 1)
	f := t.qrOf(square)
	q := t.qrQ(square, f)
	rest := t.mm(q, t.slice(a, -1, m, n, 1), true, false)
	return &tuple{elems: []value{q, t.concat([]Ref{t.qrR(square, f), rest}, len(s)-1)}}
}

func (t *Tape) qrOf(a Ref) Ref {
	s := t.Shape(a)
	return t.factors(opQROf, plus(s, -2, last(s)), a)
}

func (t *Tape) qrQ(a, f Ref) Ref { return t.view(opQROrthogonal, t.Shape(a), a, f) }

func (t *Tape) qrR(a, f Ref) Ref {
	s := slices.Clone(t.Shape(a))
	s[len(s)-2] = last(s)
	return t.view(opQRTriangle, s, a, f)
}

// mirrored is the symmetric matrix with the lower triangle of x.
func (t *Tape) mirrored(x Ref) Ref {
	return t.Apply(opAdd, t.triangle(x, false, 0), t.mT(t.triangle(x, false, -1)))
}

// qrBack is y R⁻ᵀ.
func (t *Tape) qrBack(y, r Ref) Ref {
	return t.mT(t.triSolve(r, t.mT(y), true, false, "the derivative of qr"))
}

func (t *Tape) expmAlong(a, e Ref) Ref {
	return t.record(opExpmAlong, t.joinLead(2, t.Shape(a), e), Attr{}, a, e)
}

// blocks is [[a, b], [0, d]]; None is zeros.
func (t *Tape) blocks(a, b, d Ref) Ref {
	s := t.Shape(b)
	for _, x := range []Ref{a, d} {
		if x != None {
			s = t.joinLead(2, s, x)
		}
	}
	zero := t.broadcastTo(t.constOf(0, t.ins[b].dtype), s)
	part := func(x Ref) Ref {
		if x == None {
			return zero
		}
		return t.broadcastTo(x, s)
	}
	n := len(s)
	return t.concat([]Ref{t.concat([]Ref{part(a), part(b)}, n-1), t.concat([]Ref{zero, part(d)}, n-1)}, n-2)
}

// matrixPower multiplies by repeated squaring.
func (t *Tape) matrixPower(a Ref, n int) Ref {
	if n < 0 {
		a, n = t.inv(a, "matrix_power"), -n
	}
	out := None
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			if out == None {
				out = a
			} else {
				out = t.mm(out, a, false, false)
			}
		}
		if n > 1 {
			a = t.mm(a, a, false, false)
		}
	}
	if out == None { // the identity, connected
		return t.Apply(opWhere, t.offDiagonal(last(t.Shape(a))), t.Const(0), t.Apply(opPowZero, a))
	}
	return out
}
