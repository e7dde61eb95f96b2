package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"nabla/tape/tensor"
)

// Write writes t as an NPY file of version 1.0, in C order, little-endian: what np.save writes.
// A number that its dtype does not hold is a *RangeError before the first byte.
func Write(w io.Writer, t *tensor.Tensor) error {
	if err := Check(t.DType, t.Data); err != nil {
		return err
	}
	to, err := NewWriter(w, t.DType, t.Shape)
	if err != nil {
		return err
	}
	if err := to.write(t.Data); err != nil {
		return err
	}
	return to.Close()
}

// A RangeError says that a number of an int64 array is none.
type RangeError struct {
	Value float64
	At    int // in row-major order
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("number %d of an int64 array is %v, which is no int64", e.At, e.Value)
}

// Check finds the first number that cannot be written as its dtype: integers are computed as
// float64, and so can be NaN or of any size. 2^63 can be: it is what the largest int64 was
// rounded to when it was read.
func Check(d tensor.DType, data []float64) error {
	if d != tensor.Int64 {
		return nil
	}
	for i, v := range data {
		if !(v >= -1<<63 && v <= 1<<63) {
			return &RangeError{v, i}
		}
	}
	return nil
}

// A Writer writes one array a chunk at a time, so that the array need never be in memory.
type Writer struct {
	w     io.Writer
	dtype tensor.DType
	shape tensor.Shape
	left  int // numbers that are still to come
	buf   []byte
}

// NewWriter writes the header of an array of that shape.
func NewWriter(w io.Writer, d tensor.DType, shape tensor.Shape) (*Writer, error) {
	if _, err := w.Write(appendHeader(nil, d, shape)); err != nil {
		return nil, err
	}
	return &Writer{w: w, dtype: d, shape: shape, left: shape.Size()}, nil
}

// WriteChunk writes the next numbers, in row-major order.
func (w *Writer) WriteChunk(data []float64) error {
	if len(data) > w.left {
		return fmt.Errorf("npy: %d numbers too many for shape %v", len(data)-w.left, w.shape)
	}
	if err := Check(w.dtype, data); err != nil {
		return err
	}
	return w.write(data)
}

// write writes numbers that their dtype holds.
func (w *Writer) write(data []float64) error {
	w.left -= len(data)
	if w.dtype == tensor.Float64 && littleEndian() {
		for len(data) > 0 {
			n := min(len(data), 1<<17)                              // not for longer than a signal may wait
			if _, err := w.w.Write(asBytes(data[:n])); err != nil { // the memory is the file
				return err
			}
			data = data[n:]
		}
		return nil
	}
	for len(data) > 0 {
		n := min(len(data), 1<<13)
		w.buf = w.buf[:0]
		for _, v := range data[:n] {
			w.buf = appendNumber(w.buf, v, w.dtype)
		}
		if _, err := w.w.Write(w.buf); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// Close checks that all numbers came. It does not close the writer beneath.
func (w *Writer) Close() error {
	if w.left != 0 {
		return fmt.Errorf("npy: %d of the %d numbers of shape %v were not written", w.left, w.shape.Size(), w.shape)
	}
	return nil
}

// appendNumber appends a number in the bytes of its dtype, the lowest first.
func appendNumber(b []byte, v float64, d tensor.DType) []byte {
	le := binary.LittleEndian
	switch d {
	case tensor.Float32:
		return le.AppendUint32(b, math.Float32bits(float32(v)))
	case tensor.Int64:
		if v >= 1<<63 { // what the largest int64 was rounded to when it was read
			return le.AppendUint64(b, math.MaxInt64)
		}
		return le.AppendUint64(b, uint64(int64(v)))
	case tensor.Bool:
		if v != 0 {
			return append(b, 1)
		}
		return append(b, 0)
	}
	return le.AppendUint64(b, math.Float64bits(v))
}
