package tape

import (
	"math"
	"slices"

	"nabla/tape/matrix"
	"nabla/tape/tensor"
)

// What was not taken contributes exactly 0 to a derivative, even where it is not finite. Products of
// single numbers see to that wherever a cotangent meets a partial (zmul); in sums of products, and in
// solutions of systems, it is looked at only where it shows: an answer with a NaN is computed once
// more on a tape that is strong. There each operation that a cotangent goes through, as a factor or
// as a right side, gives what it gives elsewhere, bit for bit, but for the NaNs that zeros of the
// cotangent met. A factorisation that such a tape asks for, and that fails, gives NaN.

// strongly reports whether what is recorded now is on the way of a cotangent and has strong zeros.
func (t *Tape) strongly() bool { return t.strong && t.inner > 0 }

// tainted reports whether a NaN in the answer may be what a zero of a cotangent met.
func (s *session) tainted() bool {
	return s.t.swept && s.t.Conventions == "" && s.q.DType.IsFloat() && s.t.meetsZeros() &&
		(slices.ContainsFunc(s.wanted, s.outside) || s.odd && len(s.t.compressions) > 0)
}

// forgiven is the answer of a strong tape in the place of an error: where a factorisation failed for a
// derivative that was not taken.
func (s *session) forgiven(err error) (*Answer, error) {
	s.parts = true // whose recording is of no use
	e, ok := err.(*Error)
	if !ok || e.At.Kind != "run" || s.strong || !s.t.swept || s.t.Conventions != "" {
		return nil, err
	}
	again := session{q: s.q, strong: true, unrolled: s.unrolled, whole: s.whole, apart: s.apart}
	a, failed := again.answered()
	if failed != nil || !a.known() {
		return nil, err
	}
	return a, nil
}

// known reports whether no derivative in the answer is NaN, nor a value that may be made of one, as far as
// they are there.
func (a *Answer) known() bool {
	for _, x := range a.Targets {
		known, of := x.Rows == nil, x.Payload
		if of == nil {
			of = x.Value
		}
		of.Leaves("", func(_ string, v *tensor.Value) {
			known = known && (v.Tensor == nil || !anyNaN(v.Tensor.Data)) && (v.Sparse == nil || !anyNaN(v.Sparse.Data))
		})
		if !known {
			return false
		}
	}
	return true
}

// meetsZeros reports whether there are operations that a strong tape would have others for.
func (t *Tape) meetsZeros() bool {
	for r := range t.ins {
		switch op := t.ins[r].Op(); {
		case op == opLoop:
			return true
		case t.ins[r].flags&flagRecorded == 0 && (op == opMatmul || op.Zeros != nil):
			return true
		}
	}
	return false
}

// over is x / y; on a strong tape 0 where y is NaN, if x is 0.
func (t *Tape) over(x, y Ref) Ref {
	if !t.strongly() {
		return t.Apply(opDiv, x, y)
	}
	lost := t.apply("isnan", y)
	rest := t.Apply(opWhere, t.apply("not_equal", x, t.Const(0)), t.Const(math.NaN()), t.Const(0))
	return t.Apply(opWhere, lost, rest, t.Apply(opDiv, x, t.Apply(opWhere, lost, t.Const(1), y)))
}

// meetsZeros reports whether zeros of a cotangent may have met what is not finite in the result of an
// operation.
func (c *run) meetsZeros(op *Op, out []float64) bool {
	return c.attr.Strong && op.Zeros != nil && slices.ContainsFunc(out, math.IsNaN)
}

// zeros calls f with the result and the arguments of each of the matrices, or vectors, that an operation
// works on by itself; tails are the numbers of their axes.
func (c *run) zeros(tails []int, f func(dst []float64, x []matrix.Dense)) {
	c.eachOf(tails, func(_ *matrix.Solver, dst []float64, x []matrix.Dense) { f(dst, x) })
}

// zerosOf puts 0 in the place of results of operations that are linear in argument k, on matrices as tails
// says, where that is 0.
func (c *run) zerosOf(k int, tails ...int) {
	c.zeros(tails, func(dst []float64, x []matrix.Dense) {
		if allZero(x[k].Data) {
			clear(dst)
		}
	})
}

// zeroColumns is the same for the solution of systems, column by column.
func (c *run) zeroColumns(k int, tails ...int) {
	c.zeros(tails, func(dst []float64, x []matrix.Dense) {
		b := x[k]
		n := len(dst) / b.N
		for j := range b.N {
			taken := false
			for i := range b.M {
				taken = taken || b.Row(i)[j] != 0
			}
			for i := 0; i < n && !taken; i++ {
				dst[i*b.N+j] = 0
			}
		}
	})
}

// runZMatmul multiplies as opMatmul does.
func runZMatmul(c *run) {
	if c.t.ofSingles(c.r) {
		inSingle(c.out, c.args, func(out []float32, args [][]float32) { matmulAt(c, out, args[0], args[1]) })
	} else {
		matmulAt(c, c.out, c.args[0], c.args[1])
	}
}

// zerosOfProduct multiplies again, without what a zero meets, for the numbers that are NaN.
func zerosOfProduct(c *run) {
	p := matmulAs(c.shapes[0], c.shapes[1], c.attr.Flag, c.attr.Flag2)
	c.zeros([]int{2, 2, 2}, func(dst []float64, x []matrix.Dense) {
		a, b := x[0].Data, x[1].Data
		for at, v := range dst {
			if v != v {
				i, j := at/p.n, at%p.n
				dst[at] = 0
				for k := range p.k {
					if u, w := a[operandAt(p.ta, p.lda, i, k)], b[operandAt(!p.tb, p.ldb, j, k)]; u != 0 && w != 0 {
						dst[at] = math.FMA(u, w, dst[at])
					}
				}
			}
		}
	})
}

// operandAt is where the operand of a product has its number for row, or column, i of the result and term k.
func operandAt(across bool, ld, i, k int) int {
	if across {
		return k*ld + i
	}
	return i*ld + k
}

// zerosOfRecurrence runs s = b + a·s again in lines with a NaN: what is 0 times any number is 0.
func (c *run) zerosOfRecurrence(back bool, before int) {
	_, n, inner := around(c.shape, c.attr.along())
	first, step := onTheWay(n, back)
	for line := range len(c.out) / max(n, 1) {
		at := line/inner*n*inner + line%inner
		s := 0.0
		for k := range n {
			i := at + (first+k*step)*inner
			a := 0.0
			if k > 0 {
				a = c.args[0][i-before*step*inner]
			}
			if a == 0 || s == 0 {
				s = c.args[1][i]
			} else {
				s = math.FMA(a, s, c.args[1][i])
			}
			if c.out[i] != c.out[i] {
				c.out[i] = s
			}
		}
	}
}
