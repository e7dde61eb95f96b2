package tape

import (
	"slices"

	"nabla/tape/matrix"
)

var opQROf, opQROrthogonal, opQRTriangle *Op

var qrRows = []Op{
	// opQROf holds Q and below it R, of a matrix with no more columns than rows.
	{As: &opQROf, Matrices: 3, Name: "qr_of", Args: "A", Hidden: true, Doc: "QR decomposition", Stops: "factors", Lead: true,
		Run: func(c *run) {
			c.eachMatrix(func(h *matrix.Solver, dst []float64, a matrix.Dense) {
				q, r := h.QR(a)
				copy(dst[copy(dst, q.Data):], r.Data)
			})
		}},
	{As: &opQROrthogonal, Name: "qr_q", Args: "A, F", Hidden: true, Doc: "orthogonal columns of a QR decomposition",
		Tie: dependentColumns, TieSay: dependentSay,
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) { copy(dst, x[1].Data) })
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			ct = t.full(ct, r)
			m := t.Apply(opNeg, t.mm(ct, r, true, false))
			return t.qrBack(t.Apply(opAdd, ct, t.mm(r, t.mirrored(m), false, false)), t.qrR(t.Args(r)[0], t.Args(r)[1]))
		}},
	{As: &opQRTriangle, Name: "qr_r", Args: "A, F", Hidden: true, Doc: "triangle of a QR decomposition",
		Tie: dependentColumns, TieSay: dependentSay,
		Run: func(c *run) {
			c.eachOf([]int{2, 2, 2}, func(h *matrix.Solver, dst []float64, x []matrix.Dense) { copy(dst, x[1].Data[x[0].M*x[0].N:]) })
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			m := t.mm(r, t.triangle(t.full(ct, r), true, 0), false, true)
			return t.qrBack(t.mm(t.qrQ(t.Args(r)[0], t.Args(r)[1]), t.mirrored(m), false, false), r)
		}},
}

// qrCall lowers qr, of a matrix of any shape.
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
	return t.factors(opQROf, withRows(s, last(s)), a)
}

func (t *Tape) qrQ(a, f Ref) Ref { return t.view(opQROrthogonal, t.Shape(a), a, f) }

func (t *Tape) qrR(a, f Ref) Ref {
	s := slices.Clone(t.Shape(a))
	s[len(s)-2] = last(s)
	return t.view(opQRTriangle, s, a, f)
}

const dependentSay = "a column that depends on those before it, but for rounding: the derivative is that of one choice of what is orthogonal to them"

// dependentColumns marks the columns of r, part of a decomposition, that are made of such as depend on those before them.
func dependentColumns(t *Tape, r Ref) Ref {
	a := t.Args(r)[0]
	shape, triangle := t.Shape(a), t.qrR(a, t.Args(r)[1])
	m, n := shape[len(shape)-2], last(shape)
	size := t.sumTo(t.apply("abs", a), []int{-2}, false)
	left := t.apply("abs", t.diagonal(triangle, 0, nil))
	depends := t.apply("less_equal", left, t.Apply(opMul, size, t.Const(float64(m+n)*t.digits(a))))
	behind := t.triangle(t.broadcastTo(t.down(t.asNumber(depends)), t.Shape(triangle)), true, 0)
	return t.apply("greater", t.sumTo(behind, []int{-2}, false), t.Const(0))
}

// mirrored is the symmetric matrix with the lower triangle of x.
func (t *Tape) mirrored(x Ref) Ref {
	return t.Apply(opAdd, t.triangle(x, false, 0), t.mT(t.triangle(x, false, -1)))
}

// qrBack is y R⁻ᵀ.
func (t *Tape) qrBack(y, r Ref) Ref {
	return t.mT(t.triSolve(r, t.mT(y), true, false, "the derivative of qr"))
}
