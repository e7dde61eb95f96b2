package output

import (
	"bufio"
	"fmt"
	"math"
	"strconv"

	"nabla/tape/tensor"
)

// writeMTX writes one matrix as MatrixMarket coordinates: the non-zeros, row by
// row, counted from one. A Jacobian is a matrix whatever the shapes: its rows
// are the elements of the target, its columns those of the source; so is a
// Hessian. A vector is one column.
func writeMTX(w *bufio.Writer, r *Result, o *Options) error {
	list, err := arrays(r, "mtx")
	if err != nil {
		return err
	}
	if len(list) > 1 {
		return &FormatError{"mtx", fmt.Sprintf("holds one matrix, and this result has %d (%s): choose one%s", len(list), names(list), r.oneOf())}
	}
	if s := list[0].s; s != nil {
		fmt.Fprintf(w, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", s.Rows, s.Cols, len(s.Data))
		return writeEntries(w, s, o.Threads, "", ' ', ' ', 1)
	}
	t := list[0].t
	m, n, ok := matrixShape(r, t)
	if !ok {
		return &FormatError{"mtx", fmt.Sprintf("holds a matrix, and %s has shape %v", list[0].name, t.Shape)}
	}
	field, d := "real", t.DType
	if !d.IsFloat() {
		field, d = "integer", tensor.Int64
	}
	nonzeros := 0
	for _, v := range t.Data {
		if v != 0 {
			nonzeros++
		}
	}
	fmt.Fprintf(w, "%%%%MatrixMarket matrix coordinate %s general\n%d %d %d\n", field, m, n, nonzeros)
	return inParts(w, o.Threads, len(t.Data), func(b []byte, from, to int) []byte {
		for k := from; k < to; k++ {
			if t.Data[k] != 0 {
				b = append(strconv.AppendInt(b, int64(k/n+1), 10), ' ')
				b = append(strconv.AppendInt(b, int64(k%n+1), 10), ' ')
				b = append(AppendNumber(b, t.Data[k], d), '\n')
			}
		}
		return b
	})
}

// matrixShape is the number of rows and columns of the only array of r.
func matrixShape(r *Result, t *tensor.Tensor) (m, n int, ok bool) {
	size := len(t.Data)
	target := &r.Targets[0]
	switch {
	case r.Op == "jacobian" && target.Value != nil && target.Value.Kind == tensor.KindTensor:
		m = max(1, len(target.Value.Tensor.Data))
		return m, size / m, size%m == 0
	case r.Op == "hessian" && len(t.Shape)%2 == 0:
		n = int(math.Sqrt(float64(size)))
		return n, n, n*n == size
	case len(t.Shape) == 2:
		return t.Shape[0], t.Shape[1], true
	}
	return size, 1, len(t.Shape) < 2
}
