package output

import (
	"bufio"
	"strconv"
	"strings"

	"nabla/tape/tensor"
)

// writeRaw writes numbers and nothing else: a row of a matrix is a line, a
// scalar or a vector is one. A blank line stands between matrices, and between
// blocks that are not both scalars, so that scalars are read line by line.
func writeRaw(w *bufio.Writer, r *Result, _ *Options) error {
	flat := true // what came before is a scalar
	for i, b := range r.blocks() {
		scalar := b.s == nil && b.t == nil || b.t != nil && len(b.t.Shape) == 0
		if i > 0 && !(flat && scalar) {
			w.WriteByte('\n')
		}
		flat = scalar
		if b.s != nil {
			writeEntries(w, b.s, "", ' ', ' ', 0)
			continue
		}
		if b.t == nil {
			w.WriteString("none\n")
			continue
		}
		begun := false
		rows(b.t, func(row []float64, first bool) {
			if first && begun {
				w.WriteByte('\n')
			}
			begun = true
			writeRow(w, row, b.t.DType, ' ')
		})
	}
	return nil // bufio keeps the first error until the flush
}

// writeRow writes numbers on a line.
func writeRow(w *bufio.Writer, row []float64, d tensor.DType, sep byte) {
	if d == tensor.Bool {
		d = tensor.Int64 // 1 and 0: numbers only
	}
	for i, v := range row {
		b := w.AvailableBuffer()
		if i > 0 {
			b = append(b, sep)
		}
		w.Write(AppendNumber(b, v, d))
	}
	w.WriteByte('\n')
}

// writeCSV writes a single scalar, vector or matrix as its rows, and anything
// else as name,index,value: one line a number, the index with spaces between.
func writeCSV(w *bufio.Writer, r *Result, _ *Options) error {
	list := r.blocks()
	if len(list) == 1 && list[0].t != nil && len(list[0].t.Shape) <= 2 {
		rows(list[0].t, func(row []float64, _ bool) { writeRow(w, row, list[0].t.DType, ',') })
		return nil
	}
	w.WriteString("name,index,value\n")
	for _, b := range list {
		name := csvField(b.name)
		if b.s != nil {
			writeEntries(w, b.s, name+",", ' ', ',', 0)
			continue
		}
		if b.t == nil {
			w.WriteString(name + ",,\n")
			continue
		}
		i := 0
		indices(b.t.Shape, func(index []byte) {
			w.WriteString(name)
			w.WriteByte(',')
			w.Write(index)
			w.WriteByte(',')
			writeRow(w, b.t.Data[i:i+1], b.t.DType, ',')
			i++
		})
	}
	return nil
}

// indices calls visit with the text of each index, in row-major order: "0 0", "0 1".
func indices(shape tensor.Shape, visit func(text []byte)) {
	var text []byte
	var down func(shape tensor.Shape)
	down = func(shape tensor.Shape) {
		if len(shape) == 0 {
			visit(text)
			return
		}
		mark := len(text)
		for i := range shape[0] {
			if mark > 0 {
				text = append(text, ' ')
			}
			text = AppendNumber(text, float64(i), tensor.Int64)
			down(shape[1:])
			text = text[:mark]
		}
	}
	if shape.Size() > 0 {
		down(shape)
	}
}

// writeEntries writes the entries of a matrix, a line each: its row, its column, both
// counted from a first number, and what stands there.
func writeEntries(w *bufio.Writer, s *tensor.Sparse, before string, between, behind byte, first int) {
	for i := range s.Rows {
		for k := s.Ptr[i]; k < s.Ptr[i+1]; k++ {
			b := append(w.AvailableBuffer(), before...)
			b = append(strconv.AppendInt(b, int64(i+first), 10), between)
			b = append(strconv.AppendInt(b, int64(s.Col[k])+int64(first), 10), behind)
			w.Write(append(AppendNumber(b, s.Data[k], s.DType), '\n'))
		}
	}
}

// csvField quotes what has to be quoted.
func csvField(s string) string {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
