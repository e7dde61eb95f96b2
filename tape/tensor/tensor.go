// Package tensor holds the one value type that every room of nabla shares: a
// dense, row-major, n-dimensional array with a name for what its numbers are.
// It is a leaf package: it imports nothing of nabla.
//
// Every dtype is stored as float64. A float32 tensor holds float64 numbers that
// are exactly representable in float32, an int64 tensor whole numbers (exact up
// to 2^53, which readers must check), a bool tensor zeros and ones. One storage
// type means one meaning: what computes on float32 inside gives the same bits. Rounding a float64 result of + - * / sqrt to
// float32 gives the very bits of float32 arithmetic (53 >= 2*24 + 2).
package tensor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A DType says what the numbers of a tensor are.
type DType uint8

// The types of the language, widest float first so that the zero value is the default.
const (
	Float64 DType = iota
	Float32
	Int64
	Bool
)

var dtypeNames = [...]string{"float64", "float32", "int64", "bool"}

func (d DType) String() string { return dtypeNames[d] }

// IsFloat reports whether d is a real type, one that has derivatives.
func (d DType) IsFloat() bool { return d <= Float32 }

// ParseDType reads the name of a dtype.
func ParseDType(name string) (DType, bool) {
	for i, n := range dtypeNames {
		if n == name {
			return DType(i), true
		}
	}
	return 0, false
}

// A Shape lists the sizes of the axes, outermost first. The empty shape is a scalar.
type Shape []int

// MaxRank is how many axes an input has at most, as in NumPy. A Jacobian may have twice as many.
const MaxRank = 64

// Strides are how many elements lie from one to the next along each axis, row by row.
func (s Shape) Strides() []int {
	out := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		out[i] = n
		n *= s[i]
	}
	return out
}

// Size is the number of elements.
func (s Shape) Size() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// CheckedSize is Size, or false when the product overflows or an axis is negative.
func (s Shape) CheckedSize() (int, bool) {
	n, ok := s.CheckedExtent()
	if ok && slices.Contains(s, 0) {
		return 0, true
	}
	return n, ok
}

// CheckedExtent is CheckedSize without the axes of size 0: an empty tensor of shape (1000, 0)
// has 1000 rows, which take room where they are written.
func (s Shape) CheckedExtent() (int, bool) {
	n := 1
	for _, d := range s {
		if d < 0 {
			return 0, false
		}
		if d == 0 {
			continue
		}
		if n > math.MaxInt/16/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// Equal reports whether the two shapes are the same.
func (s Shape) Equal(o Shape) bool {
	if len(s) != len(o) {
		return false
	}
	for i, d := range s {
		if d != o[i] {
			return false
		}
	}
	return true
}

// String writes the shape as NumPy does: (), (3,), (2, 3).
func (s Shape) String() string {
	if len(s) == 1 {
		return "(" + strconv.Itoa(s[0]) + ",)"
	}
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = strconv.Itoa(d)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// A Tensor is an array: len(Data) == Shape.Size(), the last axis varies fastest.
type Tensor struct {
	DType DType
	Shape Shape
	Data  []float64
}

// New makes a float64 tensor of zeros.
func New(shape ...int) *Tensor {
	s := Shape(shape)
	return &Tensor{Shape: s, Data: make([]float64, s.Size())}
}

// Scalar makes a float64 tensor of shape ().
func Scalar(v float64) *Tensor { return &Tensor{Data: []float64{v}} }

// From makes a float64 tensor over data, which it keeps.
func From(data []float64, shape ...int) *Tensor {
	t := &Tensor{Shape: shape, Data: data}
	if t.Shape.Size() != len(data) {
		panic(fmt.Sprintf("tensor: %d numbers for shape %v", len(data), t.Shape))
	}
	return t
}

// Item is the only number of a tensor of size one.
func (t *Tensor) Item() float64 { return t.Data[0] }

// Size is the number of elements.
func (t *Tensor) Size() int { return len(t.Data) }
