package tape

import (
	"fmt"
	"slices"
	"sync/atomic"

	"nabla/tape/matrix"
	"nabla/tape/tensor"
)

// Linear algebra: each operation works on the last two axes, leading axes are a batch.
//
// A factorisation is an instruction of its own that no gradient passes (lu, qr_of,
// eigh_of, svd_of); what a program sees of it are views with derivative rules, whose
// arguments are the matrix, through which they are differentiated, and the factors,
// from which they are read. So a thousand cotangents share one factorisation, and the
// rules, being compositions of views, hold to every order.

var opCholesky, opExpm, opExpmAlong, opZeroWith *Op

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
			if n := last(c.shapes[0]); c.sideBySide(matrix.Laned(n)) {
				var odd atomic.Bool
				c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) {
					if !h.Choleskys(dst, x[0], n, g) {
						odd.Store(true)
					}
				})
				if !odd.Load() {
					return
				}
			}
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
	{Name: "solve_triangular", Args: "A, B, #trans=false, #lower=false", Doc: "triangular_solve of the upper triangle, unless lower", Body: "triangular_solve(A, B, lower, trans)"},
	{Name: "triangular_solve", Args: "L, B, #lower=true, #trans=false", Doc: "solution X of L @ X = B for a triangle L, or of L.T @ X = B", Call: func(c *call) value {
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
	{Name: "matrix_power", Args: "A, #n", Doc: "product of n factors A; of inverses when n is negative", Call: func(c *call) value {
		a, n := c.matrix(true), c.int(1)
		return c.t.matrixPower(a, n)
	}},
	{Name: "mT", Alias: []string{"matrix_transpose"}, Args: "A", Doc: "the last two axes exchanged", Call: func(c *call) value {
		x := c.ref(0)
		if s := c.t.Shape(x); len(s) < 2 {
			c.lo.fail(c.where(0), "shape", "mT needs a matrix, this has shape %v", s)
		}
		return c.t.mT(x)
	}},
	// opExpmAlong is the derivative of expm at A along E, which is brought to the size of 1.
	{As: &opExpmAlong, Matrices: 32, Name: "expm_along", Args: "A, E", Hidden: true, Doc: "derivative of expm at A along E", Linear: []int{1}, Zeros: func(c *run) { c.zerosOf(1, 2, 2, 2) },
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				h.ExpmAlong(dst, x[0], x[1].Data)
			})
		},
		Whole: func(c *run, b *batch, out []float64, data [][]float64) bool { // directions from one matrix, as those of its Jacobian
			n := last(c.shape)
			if !c.lastDiffers() || !matrix.TakesTogether(n) {
				return false
			}
			h := matrix.Borrow(c.threads, c.t.check)
			h.ExpmAlongAll(out, matrix.Of(data[0], n, n), data[1])
			h.Return()
			return true
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, e := t.Args(r)[0], t.Args(r)[1]
			ct = t.full(ct, r)
			if i == 1 {
				return t.expmAlong(t.mT(a), ct)
			}
			g := t.expmAlong(t.mT(t.blocks(a, e, a)), t.blocks(None, ct, None))
			if t.strongly() { // g is linear in e, too
				g = t.record(opZeroWith, t.Shape(g), Attr{Strong: true}, g, e)
			}
			n := last(t.Shape(a))
			part := func(from int) Ref { return t.slice(t.slice(g, -2, from, from+n, 1), -1, from, from+n, 1) }
			return t.Apply(opAdd, part(0), part(n))
		}},
	{As: &opZeroWith, Name: "zero_with", Args: "X, E", Hidden: true, Doc: "X, which is linear in E",
		Run: func(c *run) { copy(c.out, c.args[0]) }, Linear: []int{0, 1}, Zeros: func(c *run) { c.zerosOf(1, 2, 2, 2) },
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 1 {
				return None
			}
			return ct
		}},
}

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
	mask := onesOfTriangle(s[len(s)-2], last(s), upper, k)
	mask.DType = tensor.Bool
	return t.Apply(opWhere, t.Tensor(mask), x, t.constOf(0, t.ins[x].dtype))
}

// onesOfTriangle is n×m, 1 in such a triangle.
func onesOfTriangle(n, m int, upper bool, k int) *tensor.Tensor {
	ones := tensor.New(n, m)
	for i := range n {
		for j := range m {
			if upper && j >= i+k || !upper && j <= i+k {
				ones.Data[i*m+j] = 1
			}
		}
	}
	return ones
}

// factors records one of the decompositions, or finds it: eigvalsh(A) asked for twice is
// one function of A, which its second derivative at equal eigenvalues needs to know.
func (t *Tape) factors(op *Op, s tensor.Shape, a Ref) Ref { return t.factorsAs(op, s, Attr{}, a) }

// factorsAs is factors with an attribute, where there are none yet.
func (t *Tape) factorsAs(op *Op, s tensor.Shape, attr Attr, a Ref) Ref {
	const far = 1000
	for r := Ref(len(t.ins)) - 1; r > a && r > Ref(len(t.ins))-far; r-- {
		if t.ins[r].Op() == op && t.ins[r].args[0] == a {
			return r
		}
	}
	return t.record(op, s, attr, a)
}

// view records what a program sees of a decomposition, the second of args, or finds it.
func (t *Tape) view(op *Op, s tensor.Shape, args ...Ref) Ref {
	const far = 1000
	f := slices.Max(args[1:])
	for r := f + 1; r < Ref(len(t.ins)) && r < f+far; r++ {
		if t.ins[r].Op() == op && slices.Equal(t.Args(r)[1:], args[1:]) {
			return r
		}
	}
	return t.record(op, s, Attr{}, args...)
}

func (t *Tape) expmAlong(a, e Ref) Ref {
	return t.record(opExpmAlong, t.joinLead(2, t.Shape(a), e), Attr{Strong: t.strongly()}, a, e)
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
