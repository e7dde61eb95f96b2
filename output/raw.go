package output

import (
	"bufio"
	"slices"
	"strconv"
	"strings"

	"nabla/tape/tensor"
)

// writeRaw writes numbers and nothing else: a row of a matrix is a line, a
// scalar or a vector is one. A blank line stands between matrices, and between
// blocks that are not both scalars, so that scalars are read line by line.
func writeRaw(w *bufio.Writer, r *Result, o *Options) error {
	flat := true // what came before is a scalar
	for i, b := range r.blocks() {
		scalar := b.s == nil && b.t == nil || b.t != nil && len(b.t.Shape) == 0
		if i > 0 && !(flat && scalar) {
			w.WriteByte('\n')
		}
		flat = scalar
		if b.s != nil {
			if err := writeEntries(w, b.s, o.Threads, "", ' ', ' ', 0); err != nil {
				return err
			}
			continue
		}
		if b.t == nil {
			w.WriteString("none\n")
			continue
		}
		if err := writeRows(w, b.t, o.Threads, " "); err != nil {
			return err
		}
	}
	return nil // bufio keeps the first error until the flush
}

// writeRows writes each row of a tensor on a line.
func writeRows(w *bufio.Writer, t *tensor.Tensor, threads int, sep string) error {
	switch len(t.Data) {
	case 0:
		return nil
	case 1:
		_, err := w.Write(append(AppendNumber(w.AvailableBuffer(), t.Data[0], plainType(t.DType)), '\n'))
		return err
	}
	if err := inParts(w, threads, len(t.Data), rowsOf(t, sep).part); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// writeCSV writes a single scalar, vector or matrix as its rows, and anything
// else as name,index,value: one line a number, the index with spaces between.
func writeCSV(w *bufio.Writer, r *Result, o *Options) error {
	list := r.blocks()
	if len(list) == 1 && list[0].t != nil && len(list[0].t.Shape) <= 2 {
		return writeRows(w, list[0].t, o.Threads, ",")
	}
	w.WriteString("name,index,value\n")
	for _, b := range list {
		name := csvField(b.name)
		if b.s != nil {
			if err := writeEntries(w, b.s, o.Threads, name+",", ' ', ',', 0); err != nil {
				return err
			}
			continue
		}
		if b.t == nil {
			w.WriteString(name + ",,\n")
			continue
		}
		if err := inParts(w, o.Threads, len(b.t.Data), indexed(b.t, name+",")); err != nil {
			return err
		}
	}
	return nil
}

// indexed writes a line a number, behind its index: "0 0", "0 1".
func indexed(t *tensor.Tensor, before string) func(b []byte, from, to int) []byte {
	lead, row := t.Shape, 1
	if n := len(lead); n > 0 {
		lead, row = lead[:n-1], lead[n-1]
	}
	return func(b []byte, from, to int) []byte {
		var line []byte // as it begins in this row
		for i := from; i < to; i++ {
			if i == from || i%row == 0 {
				line = append(line[:0], before...)
				for a := range lead {
					line = strconv.AppendInt(line, int64(i/row/lead[a+1:].Size()%lead[a]), 10)
					line = append(line, ' ')
				}
			}
			b = append(b, line...)
			if len(t.Shape) > 0 {
				b = strconv.AppendInt(b, int64(i%row), 10)
			}
			b = append(AppendNumber(append(b, ','), t.Data[i], plainType(t.DType)), '\n')
		}
		return b
	}
}

// plainType writes booleans as 1 and 0: numbers only.
func plainType(d tensor.DType) tensor.DType {
	if d == tensor.Bool {
		return tensor.Int64
	}
	return d
}

// writeEntries writes the entries of a matrix, a line each: its row, its column, both
// counted from a first number, and what stands there.
func writeEntries(w *bufio.Writer, s *tensor.Sparse, threads int, before string, between, behind byte, first int) error {
	return inParts(w, threads, len(s.Data), func(b []byte, from, to int) []byte {
		entries(s, from, to, func(i, k int) {
			b = append(b, before...)
			b = append(strconv.AppendInt(b, int64(i+first), 10), between)
			b = append(strconv.AppendInt(b, int64(s.Col[k])+int64(first), 10), behind)
			b = append(AppendNumber(b, s.Data[k], s.DType), '\n')
		})
		return b
	})
}

// entries visits the entries from … to with the row of each.
func entries(s *tensor.Sparse, from, to int, visit func(i, k int)) {
	i, _ := slices.BinarySearch(s.Ptr, int32(from+1))
	for k := from; k < to; k++ {
		for int(s.Ptr[i]) <= k {
			i++
		}
		visit(i-1, k)
	}
}

// csvField quotes what has to be quoted.
func csvField(s string) string {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
