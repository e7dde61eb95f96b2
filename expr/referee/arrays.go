package referee

import (
	"math"

	"nabla/tape/tensor"
)

func reversed(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = n - 1 - i
	}
	return out
}

// permute makes axis k of the result axis perm[k] of t.
func permute(t *tensor.Tensor, perm []int) *tensor.Tensor {
	shape := make(tensor.Shape, len(perm))
	for k, p := range perm {
		shape[k] = t.Shape[p]
	}
	out := &tensor.Tensor{DType: t.DType, Shape: shape, Data: make([]float64, len(t.Data))}
	from := make([]int, len(perm))
	walk(shape, func(i int, pos []int) {
		for k, p := range perm {
			from[p] = pos[k]
		}
		out.Data[i] = t.Data[offset(t, from)]
	})
	return out
}

func reshape(t *tensor.Tensor, shape []int) *tensor.Tensor {
	out := append(tensor.Shape{}, shape...)
	n, hole := 1, -1
	for i, d := range out {
		if d == -1 {
			hole = i
			continue
		}
		n *= d
	}
	if hole >= 0 && n > 0 {
		out[hole] = len(t.Data) / n
	}
	if out.Size() != len(t.Data) {
		fail("shape %v does not hold the %d elements of shape %v", tensor.Shape(shape), len(t.Data), t.Shape)
	}
	return &tensor.Tensor{DType: t.DType, Shape: out, Data: t.Data}
}

// spread reads the tensors of concat or stack: a tuple, or the leading axis of one tensor.
func spread(v any) []*tensor.Tensor {
	if t, ok := v.(tuple); ok {
		out := make([]*tensor.Tensor, len(t.elems))
		for i, e := range t.elems {
			out[i] = toTensor(e)
		}
		return out
	}
	t := toTensor(v)
	if len(t.Shape) == 0 {
		return []*tensor.Tensor{t}
	}
	out := make([]*tensor.Tensor, t.Shape[0])
	for i := range out {
		out[i] = at(t, i)
	}
	return out
}

func concat(ts []*tensor.Tensor, axis int) *tensor.Tensor {
	if len(ts) == 0 {
		return tensor.New(0)
	}
	shape := append(tensor.Shape{}, ts[0].Shape...)
	if len(shape) == 0 {
		fail("concat of scalars: use stack")
	}
	axis = wrap(axis, len(shape))
	shape[axis] = 0
	d := ts[0].DType
	for _, t := range ts {
		for k := range shape {
			if len(t.Shape) != len(shape) || k != axis && t.Shape[k] != shape[k] {
				fail("shapes %v and %v do not join along axis %d", ts[0].Shape, t.Shape, axis)
			}
		}
		shape[axis] += t.Shape[axis]
		if t.DType != d {
			d = tensor.Float64
		}
	}
	out := &tensor.Tensor{DType: d, Shape: shape, Data: make([]float64, 0, shape.Size())}
	for o := range tensor.Shape(shape[:axis]).Size() {
		for _, t := range ts {
			n := tensor.Shape(t.Shape[axis:]).Size()
			out.Data = append(out.Data, t.Data[o*n:(o+1)*n]...)
		}
	}
	return out
}

func expandDims(t *tensor.Tensor, axis int) *tensor.Tensor {
	axis = wrap(axis, len(t.Shape)+1)
	shape := append(tensor.Shape{}, t.Shape[:axis]...)
	shape = append(append(shape, 1), t.Shape[axis:]...)
	return &tensor.Tensor{DType: t.DType, Shape: shape, Data: t.Data}
}

func stack(ts []*tensor.Tensor, axis int) *tensor.Tensor {
	parts := make([]*tensor.Tensor, len(ts))
	for i, t := range ts {
		if !t.Shape.Equal(ts[0].Shape) {
			fail("shapes %v and %v do not stack", ts[0].Shape, t.Shape)
		}
		parts[i] = expandDims(t, axis)
	}
	return concat(parts, axis)
}

func broadcastTo(t *tensor.Tensor, shape tensor.Shape) *tensor.Tensor {
	if !broadcast(t, &tensor.Tensor{Shape: shape}).Equal(shape) {
		fail("shape %v does not broadcast to %v", t.Shape, shape)
	}
	out := blank(t.DType, shape)
	walk(shape, func(i int, pos []int) { out.Data[i] = t.Data[offset(t, pos)] })
	return out
}

func repeatAxis(t *tensor.Tensor, times []int, axis int) *tensor.Tensor {
	return along(t, axis, func(n int) int {
		if len(times) == 1 {
			return n * times[0]
		}
		total := 0
		for _, k := range times {
			total += k
		}
		return total
	}, func(dst, src []float64) {
		i := 0
		for k, x := range src {
			for range times[k%len(times)] {
				dst[i] = x
				i++
			}
		}
	})
}

// pick makes a result whose elements come from positions of t, or 0 where from says -1.
func pick(t *tensor.Tensor, shape tensor.Shape, from func(pos []int) int) *tensor.Tensor {
	out := blank(t.DType, shape)
	walk(shape, func(i int, pos []int) {
		if k := from(pos); k >= 0 {
			out.Data[i] = t.Data[k]
		}
	})
	return out
}

func diagonal(x *tensor.Tensor, k int) *tensor.Tensor {
	n := len(x.Shape)
	if n < 2 {
		fail("the diagonal of shape %v", x.Shape)
	}
	rows, cols := x.Shape[n-2], x.Shape[n-1]
	length := max(min(rows+min(k, 0), cols-max(k, 0)), 0)
	shape := append(append(tensor.Shape{}, x.Shape[:n-2]...), length)
	return pick(x, shape, func(pos []int) int {
		i := pos[len(pos)-1]
		return offset(x, append(append([]int{}, pos[:len(pos)-1]...), i-min(k, 0), i+max(k, 0)))
	})
}

func lastTwo(t *tensor.Tensor) *tensor.Tensor {
	n := len(t.Shape)
	if n < 2 {
		fail("a matrix transpose of shape %v", t.Shape)
	}
	perm := reversed(n)
	for i := range perm {
		perm[i] = i
	}
	perm[n-1], perm[n-2] = n-2, n-1
	return permute(t, perm)
}

// castTo makes t a tensor of another dtype. Numbers of float32 keep their digits, since nothing
// could be learned from differences of what is rounded; shaken knows how far they may be off.
func castTo(t *tensor.Tensor, name string) *tensor.Tensor {
	d, ok := tensor.ParseDType(name)
	if !ok {
		fail("no dtype %q", name)
	}
	f := map[tensor.DType]func(float64) float64{
		tensor.Int64: math.Trunc,
		tensor.Bool:  func(x float64) float64 { return b2f(x != 0) },
	}[d]
	if f == nil {
		f = func(x float64) float64 { return x }
	}
	out := map1(t, f)
	out.DType = d
	return out
}
