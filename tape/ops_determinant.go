package tape

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/matrix"
	"nabla/tape/pool"
)

var opDeterminant, opDet, opLogabsdet, opDetsign, opCofactor, opCofactorAlong *Op

var determinantRows = []Op{
	// opDeterminant holds f and e of determinants f 2^e: what is asked of one, and its derivative, read it.
	{As: &opDeterminant, Matrices: 2, Name: "determinant", Args: "A, *F", Hidden: true, Doc: "determinant as a fraction and an exponent of two, given the factors of A and, of more rows, the first inverse", Stops: "factors", Lead: true,
		Run: func(c *run) {
			if n := last(c.shapes[0]); c.sideBySide(matrix.LanedDeterminant(n)) {
				c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) {
					h.Dets(x[0], x[1], n, g, func(l int, f float64, e int) { dst[2*l], dst[2*l+1] = f, float64(e) })
				})
				return
			}
			c.eachOf([]int{2, 2, 2, 2}[3-len(c.args):], func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				lu, perm := factorsOf(h, x[1])
				f, e := h.DetBy(x[0], lu, perm, optional(x, 2), restOf(x[1]))
				dst[0], dst[1] = f, float64(e)
			})
		}},
	// The derivative of det is the matrix of cofactors, which needs no inverse.
	{As: &opDet, Matrices: 2, Name: "det_of", Args: "A, *F", Hidden: true, Doc: "determinant, given the factors of A and what they say of it", Lead: true,
		Run: func(c *run) { c.eachDeterminant(math.Ldexp) },
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.Apply(opZMul, t.behind2(ct, r), t.record(opCofactor, t.Shape(t.Args(r)[0]), Attr{}, t.Args(r)...))
		}},
	// opLogabsdet with Flag set is logdet: NaN where the determinant is negative. Of few rows it
	// needs no factors.
	{As: &opLogabsdet, Matrices: 2, Name: "logabsdet", Switches: [2]string{"logdet"}, Args: "A, *F", Hidden: true, Doc: "logarithm of the size of the determinant, given the factors of A and what they say of it", Lead: true,
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
			name := "slogdet"
			if t.Attr(r).Flag {
				name = "logdet"
			}
			g := t.mT(t.inv(t.Args(r)[0], "the derivative of "+name))
			if t.Attr(r).Flag {
				g = t.Apply(opMul, g, t.Apply(opWhere, t.apply("isnan", t.behind2(r, r)), t.Const(math.NaN()), t.Const(1))) // to every order
			}
			return t.Apply(opZMul, t.behind2(ct, r), g)
		}},
	{As: &opDetsign, Matrices: 2, Name: "detsign", Args: "A, *F", Hidden: true, Doc: "sign of the determinant, given the factors of A and what they say of it", Lead: true,
		Run: func(c *run) { c.eachDeterminant(func(f float64, _ int) float64 { return kernels.SignOf(f) }) },
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref { return t.Const(0) }},
	{As: &opCofactor, Matrices: 11, Name: "cofactor", Args: "A, *F", Hidden: true, Doc: "matrix of cofactors, det(A) inv(A).T, given the factors of A and its determinant", Lead: true,
		Run: func(c *run) {
			if n := last(c.shapes[0]); c.sideBySide(matrix.LanedExpansion(n)) {
				c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) { h.ExpandedCofactors(dst, x[0], n, g) })
				return
			}
			if n := last(c.shapes[0]); c.sideBySide(matrix.LanedInverse(n)) {
				c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) {
					h.CofactorsBy(dst, x[0], x[1], x[2], n, g)
				})
				return
			}
			c.eachOf([]int{2, 2, 2, 2, 2}[4-len(c.args):], func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				var lu matrix.Dense
				var perm []int
				var f, e float64
				if len(x) > 1 {
					lu, perm = factorsOf(h, x[1])
					f, e = x[2].Data[0], x[2].Data[1]
				}
				h.Cofactors(dst, x[0], lu, perm, f, int(e), optional(x, 3))
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
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
		Linear: []int{1}, Zeros: func(c *run) {
			for k := 1; k < len(c.args); k++ {
				c.zerosOf(k, slices.Repeat([]int{2}, len(c.args)+1)...)
			}
		},
		Run: func(c *run) {
			c.eachOf(slices.Repeat([]int{2}, len(c.args)+1), func(h *matrix.Solver, dst []float64, x []matrix.Dense) {
				h.CofactorsAlong(dst, h.DiagonalOf(x[0]), x[1:])
			})
		},
		Whole: func(c *run, b *batch, out []float64, data [][]float64) bool { // many directions from one matrix, as those of its Hessian
			n := last(c.shape)
			if len(c.shape) != 2 || c.t.ins[c.t.Args(c.r)[0]].batch != 0 {
				return false
			}
			h := matrix.Borrow(c.threads, c.t.check)
			w := h.DiagonalOf(matrix.Of(data[0], n, n))
			h.Return()
			pool.Split(c.threads, b.n*n*n*n, b.n, func(from, to int) {
				h := matrix.Borrow(1, c.t.check)
				g := make([]matrix.Dense, len(data)-1)
				for k := from; k < to; k++ {
					for i := range g {
						g[i] = matrix.Of(rowAt(data[i+1], n*n, b.offset(i+1, k)), n, n)
					}
					h.Begin()
					h.CofactorsAlong(rowAt(out, n*n, k), w, g)
				}
				h.Return()
			})
			return true
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
}

// eachDeterminant writes what f makes of the determinant of every matrix.
func (c *run) eachDeterminant(f func(f float64, e int) float64) {
	if len(c.args) > 1 {
		for i := range c.out {
			c.out[i] = f(c.args[2][2*i], int(c.args[2][2*i+1]))
		}
		return
	}
	if n := last(c.shapes[0]); c.sideBySide(matrix.LanedExpansion(n)) {
		c.eachGroup(func(h *matrix.Solver, g int, dst []float64, x [][]float64) {
			h.ExpandedDets(x[0], n, g, func(l int, v float64, e int) { dst[l] = f(v, e) })
		})
		return
	}
	c.eachOf([]int{2, 0}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) { dst[0] = f(h.Det(x[0])) })
}

// withFactors are the arguments of what reads the determinant: a and, where it is not a sum of
// few products, its factors, what they say of it and, where there is one, the first inverse.
func (t *Tape) withFactors(a Ref) []Ref {
	s := t.Shape(a)
	n := last(s)
	if n <= matrix.Expanded {
		return []Ref{a}
	}
	f := t.withFirst(a, t.luAndRest(a))
	args := append([]Ref{a}, f...)
	det := t.view(opDeterminant, append(slices.Clone(s[:len(s)-2]), 1, 2), args...)
	return append([]Ref{a, f[0], det}, f[1:]...)
}

// cofactorAlong appends the derivative of the cofactors of a matrix, the first of args,
// along the others.
func (t *Tape) cofactorAlong(args ...Ref) Ref {
	s := t.Shape(args[0])
	for _, g := range args[1:] {
		s = t.joinLead(2, s, g)
	}
	return t.record(opCofactorAlong, s, Attr{Strong: t.strongly()}, args...)
}

// behind2 adds two axes of one behind ct, the cotangent of r.
func (t *Tape) behind2(ct, r Ref) Ref {
	if len(t.Shape(ct)) == 0 {
		return ct
	}
	ct = t.full(ct, r)
	return t.reshape(ct, append(slices.Clone(t.Shape(ct)), 1, 1))
}
