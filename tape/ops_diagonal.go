package tape

import (
	"slices"

	"nabla/tape/tensor"
)

var diagonalRows = []Op{
	{Name: "diag", Args: "x, #k=0", Doc: "the diagonal of a matrix, or the matrix with a diagonal", Call: diagCall},
	{Name: "diagonal", Alias: []string{"diag_part"}, Args: "x, #k=0", Doc: "the diagonal of the last two axes", Call: func(c *call) value { return c.t.diagonal(c.ref(0), c.int(1), c) }},
	{Name: "diagflat", Args: "x, #k=0", Doc: "the matrix with all elements on a diagonal", Body: "diag(ravel(x), k)"},
	{Name: "trace", Args: "x, #k=0", Doc: "sum of the diagonal of the last two axes", Body: "sum(diagonal(x, k), axis=-1)"},
	{Name: "tril", Args: "x, #k=0", Doc: "the lower triangle, zeros above", Call: func(c *call) value { return c.triangle(false) }},
	{Name: "triu", Args: "x, #k=0", Doc: "the upper triangle, zeros below", Call: func(c *call) value { return c.triangle(true) }},
}

// diagCall makes a matrix of a diagonal, or takes the diagonal of a matrix.
func diagCall(c *call) value {
	x := c.ref(0)
	k := c.int(1)
	s := c.t.Shape(x)
	switch len(s) {
	case 1:
		n := s[0] + max(k, -k)
		idx := tensor.New(s[0])
		for i := range idx.Data {
			idx.Data[i] = float64((i+max(-k, 0))*n + i + max(k, 0))
		}
		flat := c.t.put(x, c.t.Tensor(idx), tensor.Shape{n * n}, Attr{Axes: []int{-1}})
		return c.t.reshape(flat, tensor.Shape{n, n})
	case 0:
		c.fail("shape", "diag needs a vector or a matrix, this is a scalar")
	}
	return c.t.diagonal(x, k, c)
}

// diagonal takes the k-th diagonal of the last two axes.
func (t *Tape) diagonal(x Ref, k int, c *call) Ref {
	s := t.Shape(x)
	if len(s) < 2 {
		c.fail("shape", "a diagonal needs two axes, shape %v has %d", s, len(s))
	}
	n, m := s[len(s)-2], s[len(s)-1]
	var idx []float64
	for i := range n {
		if j := i + k; j >= 0 && j < m {
			idx = append(idx, float64(i*m+j))
		}
	}
	flat := t.reshape(x, append(slices.Clone(s[:len(s)-2]), n*m))
	return t.take(flat, t.Tensor(tensor.From(idx, len(idx))), len(s)-2)
}

// triangle leaves what stands on a diagonal and on one side of it.
func (c *call) triangle(above bool) value {
	x := c.ref(0)
	s := c.t.Shape(x)
	if len(s) < 2 {
		c.fail("shape", "%s needs two axes, shape %v has %d", c.op.Name, s, len(s))
	}
	n, m, k := s[len(s)-2], s[len(s)-1], c.int(1)
	mask := &tensor.Tensor{DType: tensor.Bool, Shape: tensor.Shape{n, m}, Data: make([]float64, n*m)}
	ones := slices.Repeat([]float64{1}, m)
	for i := range n {
		row := mask.Data[i*m : (i+1)*m]
		if above {
			copy(row[min(max(0, i+k), m):], ones)
		} else {
			copy(row[:min(max(0, i+k+1), m)], ones)
		}
	}
	return c.t.Apply(opWhere, c.t.Tensor(mask), x, c.t.constOf(0, c.t.ins[x].dtype))
}
