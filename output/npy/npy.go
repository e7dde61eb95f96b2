// Package npy reads and writes NumPy's array files, NPY and NPZ. Both directions
// live in one place so that they cannot disagree.
//
// An NPY file is a magic string, a version, the length of a header, the header
// (a Python dict, padded so that the data begin at a multiple of 64 bytes) and
// the numbers. A reader here takes every version, byte order and key order that
// NumPy ever wrote, and believes nothing: a file that is cut short, too long or
// larger than memory is an error before it is an array.
package npy

import (
	"errors"
	"fmt"
	"strings"

	"nabla/tape/tensor"
)

const magic = "\x93NUMPY"

// A scalar is what one number of a file is: NumPy's kind letter and a size.
type scalar struct {
	kind byte
	size int
}

// types lists what can be read, and what it becomes. The first row of each dtype is what is written.
var types = []struct {
	scalar
	name  string
	dtype tensor.DType
}{
	{scalar{'f', 8}, "float64", tensor.Float64},
	{scalar{'f', 4}, "float32", tensor.Float32},
	{scalar{'i', 8}, "int64", tensor.Int64}, // beyond 2^53 digits are lost: Notes says so
	{scalar{'b', 1}, "bool", tensor.Bool},
	{scalar{'f', 2}, "float16", tensor.Float32}, // widened, exactly
	{scalar{'i', 4}, "int32", tensor.Int64},
	{scalar{'i', 2}, "int16", tensor.Int64},
	{scalar{'i', 1}, "int8", tensor.Int64},
	{scalar{'u', 8}, "uint64", tensor.Int64}, // or float64, where one is no int64: Notes says so
	{scalar{'u', 4}, "uint32", tensor.Int64},
	{scalar{'u', 2}, "uint16", tensor.Int64},
	{scalar{'u', 1}, "uint8", tensor.Int64},
}

// A header is the dict before the data.
type header struct {
	scalar
	name    string
	dtype   tensor.DType
	big     bool // big-endian
	fortran bool // the first axis varies fastest
	shape   tensor.Shape
}

// bytes is the length of the data in the file.
func (h *header) bytes() int64 { return int64(h.shape.Size()) * int64(h.size) }

// setType understands a descr such as "<f8".
func (h *header) setType(descr string) error {
	t := descr
	if t != "" && strings.IndexByte("<>=|", t[0]) >= 0 {
		h.big = t[0] == '>' || t[0] == '=' && !littleEndian()
		t = t[1:]
	}
	if t == "?" {
		t = "b1"
	}
	for _, row := range types {
		if t == fmt.Sprintf("%c%d", row.kind, row.size) {
			h.scalar, h.name, h.dtype = row.scalar, row.name, row.dtype
			return nil
		}
	}
	name := "unknown"
	if t != "" {
		s := map[byte]string{
			'c': "complex", 'M': "datetime64", 'm': "timedelta64", 'S': "a byte string", 'a': "a byte string",
			'U': "a string", 'O': "Python objects", 'V': "a record",
		}[t[0]]
		switch {
		case t == "c8":
			name = "complex64"
		case t == "c16":
			name = "complex128"
		case t == "f10", t == "f12", t == "f16":
			name = "a float wider than 64 bits"
		case s != "":
			name = s
		}
	}
	return fmt.Errorf("dtype %q (%s) %w", descr, name, ErrNotReal)
}

// ErrNotReal says that the elements of an array are no numbers that a float64 could hold.
var ErrNotReal = errors.New("is not a real number")

// Notes are what a reader should tell though the file was read.
type Notes struct {
	DType   string // NumPy's name of the file's dtype: "float16", "uint8"
	Inexact int    // whole numbers that float64 does not hold, rounded
	Beyond  int    // whole numbers that int64 does not hold: one makes the array float64, as NumPy joins the two
	NaNs    int
}

// Warnings are the notes in words.
func (n *Notes) Warnings() []string {
	var w []string
	if n.Inexact > 0 {
		w = append(w, fmt.Sprintf("%s not exact in float64, rounded (beyond 2^53)", count(n.Inexact, n.DType+" number is", n.DType+" numbers are")))
	}
	if n.Beyond > 0 {
		w = append(w, fmt.Sprintf("%s beyond int64 (2^63), the array is read as float64", count(n.Beyond, n.DType+" number is", n.DType+" numbers are")))
	}
	if n.NaNs > 0 {
		w = append(w, count(n.NaNs, "number is NaN", "numbers are NaN"))
	}
	return w
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// A LimitError says that an array would need more memory than it may have.
type LimitError struct {
	Shape       tensor.Shape
	Need, Limit int64 // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("shape %v needs %d bytes of memory, %d are allowed", e.Shape, e.Need, e.Limit)
}
