package tape

import (
	"fmt"
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/matrix"
	"nabla/tape/tensor"
)

var opLU, opFirstInverse, opInv, opLUSolve, opTriSolve, opLstsq, opScaleOf *Op

var systemRows = []Op{
	// opLU holds L and U in one matrix, in a row below it the permutation and, with Flag set, below that what rounding has
	// left, for determinants. What is asked of one matrix reads the same factors: its determinant, inverse and solutions.
	{As: &opLU, Matrices: 2, Name: "lu", Switches: [2]string{"rest"}, Args: "A", Hidden: true, Doc: "LU factors of A with partial pivoting", Stops: "factors", Lead: true,
		Run: func(c *run) {
			n := last(c.shapes[0])
			if c.sideBySide(matrix.LanedFactors(n, len(c.args[0])/max(n*n, 1))) {
				c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) { h.LUs(dst, x[0], n, g, c.attr.Flag) })
				return
			}
			c.eachMatrix(func(h *matrix.Solver, dst []float64, a matrix.Dense) {
				var rest matrix.Dense
				if c.attr.Flag {
					rest = matrix.Of(dst[n*n+n:], n, n)
				}
				lu, perm := h.LUAndRest(a, rest)
				copy(dst, lu.Data)
				for i, p := range perm {
					dst[a.N*a.N+i] = float64(p)
				}
			})
		}},
	// opFirstInverse is what determinants and inverses begin with.
	{As: &opFirstInverse, Matrices: 3, Name: "first_inverse", Args: "A, F", Hidden: true, Doc: "inverse by the factors of A alone, which is not corrected; zeros where a pivot is 0", Stops: "factors", Lead: true,
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				lu, perm := factorsOf(h, x[1])
				h.FirstInverse(dst, lu, perm)
			})
		}},
	// opInv, like the solution, is refused where a pivot is 0; its Text says whose it is.
	{As: &opInv, Matrices: 3, Name: "inv_of", Args: "A, *F", Hidden: true, Doc: "inverse of A, given its factors and, of more rows, the first inverse", Lead: true,
		Run: func(c *run) {
			n := last(c.shapes[0])
			if c.sideBySide(matrix.LanedInverse(n)) && c.areRegular() {
				c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) { h.Inverses(dst, x[0], x[1], n, g) })
				return
			}
			c.eachOf([]int{2, 2, 2, 2}[3-len(c.args):], func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				lu, perm := factorsOf(h, x[1])
				if c.regular(lu, dst) {
					h.Inverse(dst, x[0], lu, perm, optional(x, 2))
				}
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.Apply(opNeg, t.mm(t.mm(r, t.full(ct, r), true, false), r, false, true))
		}},
	// opLUSolve solves A X = B, with Flag set Aᵀ X = B.
	{As: &opLUSolve, Room: systemRoom, Name: "lu_solve", Switches: [2]string{"transposed"}, Args: "A, F, B", Hidden: true, Doc: "solution of A X = B, given the factors of A",
		Terms: (*factoring).solved, Linear: []int{2}, Zeros: func(c *run) { c.zeroColumns(2, 2, 2, 2, 2) },
		Run: func(c *run) {
			if n, k := last(c.shapes[0]), last(c.shapes[2]); c.sideBySide(matrix.LanedSolutions(n, k, len(c.args[0])/max(n*n, 1))) && c.areRegular() {
				c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) {
					h.Solutions(dst, x[0], x[1], x[2], n, k, g, c.attr.Flag)
				})
				return
			}
			c.eachOf([]int{2, 2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				lu, perm := factorsOf(h, x[1])
				if c.regular(lu, dst) {
					copy(dst, h.Refined(x[0], lu, perm, x[2], c.attr.Flag).Data)
				}
			})
		},
		Whole: func(c *run, b *batch, out []float64, data [][]float64) bool { // right sides of one system, as those of its Jacobian
			s, n := c.shapes[2], last(c.shapes[0])
			if !c.lastDiffers() || !matrix.SolvesTogether(n, last(s), b.n*lead(lead(s)).Size()) {
				return false
			}
			h := matrix.Borrow(c.threads, c.t.check)
			lu, perm := factorsOf(h, matrix.Of(data[1], n+1, n))
			if c.regular(lu, out) {
				h.RefinedAll(out, matrix.Of(data[0], n, n), lu, perm, data[2], last(s), c.attr.Flag)
			}
			h.Return()
			return true
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a, f := t.Args(r)[0], t.Args(r)[1]
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
	{As: &opTriSolve, Matrices: 1, Name: "tri_solve", Switches: [2]string{"upper", "transposed"}, Args: "L, B", Hidden: true, Doc: "solution of L X = B for a triangle L",
		Terms: (*factoring).solved, Linear: []int{1}, Zeros: func(c *run) { c.zeroColumns(1, 2, 2, 2) },
		Run: func(c *run) {
			n, k := last(c.shapes[0]), last(c.shapes[1])
			if c.sideBySide(matrix.LanedTriangle(n, k)) && regularMatrices(c.args[0], n, n*n) {
				c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) {
					h.TriSolves(dst, x[0], x[1], n, k, g, c.attr.Flag, c.attr.Flag2)
				})
				return
			}
			c.eachOf([]int{2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				switch k := matrix.ZeroPivot(x[0]); {
				case k >= 0 && c.attr.Strong:
					kernels.Fill(dst, math.NaN())
					return
				case k >= 0:
					c.fail(fmt.Sprintf("%s: the triangle is singular: element %d of its diagonal is 0", c.attr.Text, k),
						"pinv(A) @ b gives the least-squares solution of least norm")
				}
				b := matrix.Of(dst, x[1].M, x[1].N)
				copy(dst, x[1].Data)
				h.TriSolve(x[0], b, c.attr.Flag, c.attr.Flag2)
			})
		},
		Whole: func(c *run, b *batch, out []float64, data [][]float64) bool { // right sides of one triangle, as those of its Jacobian
			s, n := c.shapes[1], last(c.shapes[0])
			if !c.lastDiffers() || !matrix.SolvesTrianglesTogether(n, last(s)) || !regularMatrices(data[0], n, n*n) {
				return false
			}
			h := matrix.Borrow(c.threads, c.t.check)
			h.TriSolveAll(out, matrix.Of(data[0], n, n), data[1], last(s), c.attr.Flag, c.attr.Flag2)
			h.Return()
			return true
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
			s := t.scaleOf(a) // A over it is of size 1: (AᵀA)⁻¹ may leave the range where the result does not
			down := func(x Ref) Ref { return t.Apply(opDiv, x, s) }
			tri := down(t.qrR(a, f))
			g := t.triSolve(tri, t.triSolve(tri, t.full(ct, r), true, true, "lstsq"), true, false, "lstsq")
			ag := down(t.mm(down(a), g, false, false))
			if i == 2 {
				return ag
			}
			rest := down(t.Apply(opSub, b, t.mm(a, r, false, false)))
			g = down(g)
			return t.Apply(opSub, t.mm(rest, g, false, true), t.mm(ag, r, false, true))
		}},
	{As: &opScaleOf, Name: "scale_of", Args: "A", Hidden: true, Doc: "a power of two about as large as the largest number of a matrix", Stops: "scale_of", Lead: true,
		Run: func(c *run) {
			c.eachMatrix(func(h *matrix.Solver, dst []float64, a matrix.Dense) {
				dst[0] = math.Ldexp(1, max(-1000, min(1000, a.Exponent())))
			})
		}},
}

// scaleOf is a power of two about as large as the largest number of each matrix.
func (t *Tape) scaleOf(a Ref) Ref {
	return t.record(opScaleOf, append(slices.Clone(lead(lead(t.Shape(a)))), 1, 1), Attr{}, a)
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

// optional is what matrix k holds, if there is one.
func optional(x []matrix.Dense, k int) []float64 {
	if k < len(x) {
		return x[k].Data
	}
	return nil
}

// regular demands that no pivot is 0; false: dst is NaN, as what is not taken may be.
func (c *run) regular(lu matrix.Dense, dst []float64) bool {
	k := matrix.ZeroPivot(lu)
	if k >= 0 && c.attr.Strong {
		kernels.Fill(dst, math.NaN())
		return false
	}
	if k >= 0 {
		c.fail(fmt.Sprintf("%s: the matrix is singular: pivot %d is 0", c.attr.Text, k),
			"pinv(A) is defined for singular matrices, lstsq(A, b) for systems with more rows than columns")
	}
	return true
}

// areRegular reports whether no pivot of the second argument's factors is 0.
func (c *run) areRegular() bool {
	return regularMatrices(c.args[1], last(c.shapes[0]), matrixSize(c.shapes[1]))
}

// regularMatrices reports whether no diagonal has a 0, of matrices of n rows that begin so many numbers apart.
func regularMatrices(all []float64, n, apart int) bool {
	for ; len(all) > 0; all = all[apart:] {
		if matrix.ZeroPivot(matrix.Of(all[:n*n], n, n)) >= 0 {
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
		if size := kernels.Norm2(columns.Row(k)); math.Abs(r.Row(k)[k]) <= float64(n)*c.epsilon()*size {
			c.fail(fmt.Sprintf("lstsq: the columns are not independent: column %d is a combination of those before it, or 0", k),
				"pinv(A) @ b gives the shortest solution; a polynomial needs more different places than its degree")
		}
	}
}

// systemRoom is that of a system with factors: more where residuals are products.
func systemRoom(t *Tape, r Ref) int64 {
	a, x := matrixSize(t.Shape(t.Args(r)[0])), max(matrixSize(t.Shape(r)), matrixSize(t.Shape(t.Args(r)[2])))
	if last(t.Shape(r)) < 4 {
		return 8 * int64(a+4*x)
	}
	return 8 * int64(3*a+7*x)
}

func matrixSize(s tensor.Shape) int { return s[max(0, len(s)-2):].Size() }

func (t *Tape) lu(a Ref) Ref { return t.factors(opLU, withRows(t.Shape(a), 1), a) }

// luAndRest is lu for determinants, whose factors also say what rounding has left. Those that a solution asked for before do so
// from here on, unless they are known: a Gaussian process over 60 points takes .9 of the time.
func (t *Tape) luAndRest(a Ref) Ref {
	s := t.Shape(a)
	n := last(s)
	if !matrix.KeepsRest(n) {
		return t.lu(a)
	}
	s = withRows(s, n+1)
	f := t.factorsAs(opLU, s, Attr{Flag: true}, a)
	if in := &t.ins[f]; !t.Attr(f).Flag && !t.known(f) {
		in.shape, in.attr = t.shapeID(s), t.newAttr(Attr{Flag: true})
	}
	return f
}

// restOf is what factors say that rounding has left, if they do.
func restOf(f matrix.Dense) (rest matrix.Dense) {
	if n := f.N; f.M > n+1 {
		rest = matrix.Of(f.Data[n*n+n:], n, n)
	}
	return rest
}

func (t *Tape) inv(a Ref, who string) Ref {
	return t.record(opInv, t.Shape(a), Attr{Text: who, Strong: t.strongly()}, append([]Ref{a}, t.withFirst(a, t.lu(a))...)...)
}

// withFirst are the factors of a and, where determinants and inverses share it, the first inverse.
func (t *Tape) withFirst(a, f Ref) []Ref {
	s := t.Shape(a)
	if !matrix.SharesInverse(last(s)) {
		return []Ref{f}
	}
	return []Ref{f, t.view(opFirstInverse, s, a, f)}
}

func (t *Tape) luSolve(a, f, b Ref, trans bool) Ref {
	return t.record(opLUSolve, append(t.solved(a, b), last(t.Shape(b))), Attr{Flag: trans, Text: "solve", Strong: t.strongly()}, a, f, b)
}

func (t *Tape) triSolve(l, b Ref, upper, trans bool, who string) Ref {
	return t.record(opTriSolve, append(t.solved(l, b), last(t.Shape(b))), Attr{Flag: upper, Flag2: trans, Text: who, Strong: t.strongly()}, l, b)
}

// solved is the shape of the solution of a x = b without its last axis.
func (t *Tape) solved(a, b Ref) tensor.Shape {
	as, bs := t.Shape(a), t.Shape(b)
	l, _ := broadcast(as[:len(as)-2], bs[:len(bs)-2])
	return append(slices.Clone(l), last(as))
}

// withRows is the shape s of matrices with k rows more.
func withRows(s tensor.Shape, k int) tensor.Shape {
	s = slices.Clone(s)
	s[len(s)-2] += k
	return s
}
