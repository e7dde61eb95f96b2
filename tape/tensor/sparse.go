package tensor

import "slices"

// A Sparse is a matrix of which only the entries that are not 0 are there, row by row:
// those of row i stand at Ptr[i] to Ptr[i+1], their columns ascending. It is a Jacobian,
// flattened: Shape is the target's followed by the source's.
type Sparse struct {
	DType      DType
	Shape      Shape
	Rows, Cols int
	Ptr, Col   []int32
	Data       []float64
}

// SparseOf keeps what is not 0 of t as a matrix of so many rows.
func SparseOf(t *Tensor, rows int) *Sparse {
	s := &Sparse{DType: t.DType, Shape: t.Shape, Rows: rows, Cols: len(t.Data) / max(1, rows), Ptr: make([]int32, rows+1)}
	for i := range rows {
		for j, v := range t.Data[i*s.Cols : (i+1)*s.Cols] {
			if v != 0 {
				s.Col, s.Data = append(s.Col, int32(j)), append(s.Data, v)
			}
		}
		s.Ptr[i+1] = int32(len(s.Col))
	}
	return s
}

// DropZeros leaves out entries that are 0 after all.
func (s *Sparse) DropZeros() {
	if !slices.Contains(s.Data, 0) {
		return
	}
	from, to := int32(0), int32(0)
	for i := range s.Rows {
		end := s.Ptr[i+1]
		for ; from < end; from++ {
			if s.Data[from] != 0 {
				s.Col[to], s.Data[to] = s.Col[from], s.Data[from]
				to++
			}
		}
		s.Ptr[i+1] = to
	}
	s.Col, s.Data = s.Col[:to], s.Data[:to]
}
