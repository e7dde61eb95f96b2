package output

import (
	"bufio"
	"errors"
	"fmt"

	"nabla/output/npy"
	"nabla/tape/tensor"
)

// writeNPY writes the one array of a result.
func writeNPY(w *bufio.Writer, r *Result, _ *Options) error {
	if s := r.stream(); s != nil {
		return s.npy(w)
	}
	list, err := integral(r, "npy")
	if err != nil {
		return err
	}
	if len(list) > 1 {
		return &FormatError{"npy", fmt.Sprintf("holds one array, and this result has %d (%s): use npz, or choose one%s", len(list), names(list), r.oneOf())}
	}
	if list[0].s != nil {
		return &FormatError{"npy", "holds a dense array: npz and mtx hold a sparse one"}
	}
	return npy.Write(w, list[0].t)
}

// writeNPZ writes every array under its dotted name. A source that is not connected has none.
func writeNPZ(w *bufio.Writer, r *Result, _ *Options) error {
	list, err := integral(r, "npz")
	if err != nil {
		return err
	}
	if list[0].s != nil {
		if len(list) > 1 {
			return &FormatError{"npz", fmt.Sprintf("holds one sparse matrix, and this result has %d (%s): choose one with --wrt", len(list), names(list))}
		}
		return npy.WriteSparse(w, list[0].s)
	}
	entries := make([]npy.Entry, len(list))
	for i, b := range list {
		entries[i] = npy.Entry{Name: b.path, Tensor: b.t}
	}
	return npy.WriteNPZ(w, entries)
}

// integral are the arrays of a result, in which every integer is one that NumPy's int64 holds.
func integral(r *Result, format string) ([]block, error) {
	list, err := arrays(r, format)
	for i := range list {
		b := &list[i]
		d, data := tensor.Float64, []float64(nil)
		if b.t != nil {
			d, data = b.t.DType, b.t.Data
		} else if b.s != nil {
			d, data = b.s.DType, b.s.Data
		}
		if e := (*npy.RangeError)(nil); errors.As(npy.Check(d, data), &e) {
			return nil, &FormatError{format, fmt.Sprintf("holds integers of 64 bits, and %s has %s: float64(…) of it can be written", b.name, AppendNumber(nil, e.Value, tensor.Float64))}
		}
	}
	return list, err
}
