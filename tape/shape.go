package tape

import (
	"nabla/tape/tensor"
)

// broadcast joins two shapes by NumPy's rule: aligned at the right, sizes equal or 1.
func broadcast(a, b tensor.Shape) (tensor.Shape, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := make(tensor.Shape, len(a))
	copy(out, a)
	off := len(a) - len(b)
	for i, d := range b {
		switch {
		case out[off+i] == d:
		case out[off+i] == 1:
			out[off+i] = d
		case d != 1:
			return nil, false
		}
	}
	return out, true
}

// last is the size of the last axis, lead the shape in front of it.
func last(s tensor.Shape) int          { return s[len(s)-1] }
func lead(s tensor.Shape) tensor.Shape { return s[:len(s)-1] }

// outerInner splits a shape at an axis from the right: how many rows stand before
// it, its size, and how many elements one step along it spans.
func outerInner(s tensor.Shape, axis int) (outer, n, inner int) {
	k := len(s) + axis
	return s[:k].Size(), s[k], s[k+1:].Size()
}

// reduced is the shape after the axes (from the right) are summed away.
func reduced(s tensor.Shape, axes []int, keep bool) tensor.Shape {
	gone := make([]bool, len(s))
	for _, a := range axes {
		gone[len(s)+a] = true
	}
	out := tensor.Shape{}
	for i, d := range s {
		switch {
		case !gone[i]:
			out = append(out, d)
		case keep:
			out = append(out, 1)
		}
	}
	return out
}

// reducedSize is how many elements are reduced to one along the axes (from the right).
func reducedSize(s tensor.Shape, axes []int) int {
	n := 1
	for _, a := range axes {
		n *= s[len(s)+a]
	}
	return n
}

// promote is the dtype of an arithmetic result: the wider float, a float over an
// integer, an integer over a bool.
func promote(a, b tensor.DType) tensor.DType {
	if a == b {
		return a
	}
	if a.IsFloat() && b.IsFloat() {
		return tensor.Float64
	}
	return min(a, b) // Float64 < Float32 < Int64 < Bool
}
