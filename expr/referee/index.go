package referee

import (
	"math"
	"slices"

	"nabla/tape/tensor"
)

// index is x[items] by NumPy's rules.
func index(x any, items []any) any {
	switch x := x.(type) {
	case tuple:
		if len(items) != 1 {
			fail("a tuple takes one index")
		}
		if s, ok := items[0].(slice); ok {
			at := s.positions(len(x.elems))
			out := tuple{make([]any, len(at))}
			for i, k := range at {
				out.elems[i] = x.elems[k]
			}
			return out
		}
		if _, ok := items[0].(*tensor.Tensor); !ok {
			return x.elems[wrap(integer(items[0]), len(x.elems))]
		}
	case *record:
		fail("a record takes no index")
	}
	if len(items) == 1 {
		if t, ok := items[0].(tuple); ok {
			items = t.elems
		}
	}
	return gatherIndex(toTensor(x), items)
}

// positions lists the indices that a slice picks from n.
func (s slice) positions(n int) []int {
	part := func(v any, def int) int {
		if _, left := v.(string); left {
			return def
		}
		if _, isNone := v.(none); isNone {
			return def
		}
		return integer(v)
	}
	step := part(s.step, 1)
	if step == 0 {
		fail("a slice's step is zero")
	}
	clampTo := func(k, lo, hi int) int {
		if k < 0 {
			k += n
		}
		return min(max(k, lo), hi)
	}
	var out []int
	if step > 0 {
		lo, hi := clampTo(part(s.lo, 0), 0, n), clampTo(part(s.hi, n), 0, n)
		for i := lo; i < hi; i += step {
			out = append(out, i)
		}
		return out
	}
	lo, hi := n-1, -1
	if _, left := s.lo.(string); !left {
		lo = clampTo(integer(s.lo), -1, n-1)
	}
	if _, left := s.hi.(string); !left {
		hi = clampTo(integer(s.hi), -1, n-1)
	}
	for i := lo; i > hi; i += step {
		out = append(out, i)
	}
	return out
}

// gatherIndex is t[items], element by element.
func gatherIndex(t *tensor.Tensor, items []any) any {
	picks := picksOf(t, spellOut(t, items))
	// Arrays of positions go over their joint shape together, single positions with them.
	// Where they stand side by side its axes take that place, else they come first.
	joined := slices.ContainsFunc(picks, func(p axisPick) bool { return p.array != nil && !p.single })
	var arrays []*tensor.Tensor
	place, apart := 0, false
	for i, p := range picks {
		if !joined || p.array == nil {
			continue
		}
		if len(arrays) == 0 {
			place = i
		} else if picks[i-1].array == nil {
			apart = true
		}
		arrays = append(arrays, p.array)
	}
	if apart {
		place = 0
	}
	var shape tensor.Shape
	source := make([]func(pos []int) int, len(t.Shape)) // the index along each axis of t
	for i, p := range picks {
		if joined && i == place {
			base, joint := len(shape), broadcast(arrays...)
			shape = append(shape, joint...)
			for _, p := range picks {
				if p.array != nil {
					source[p.axis] = func(pos []int) int { return int(p.array.Data[offset(p.array, pos[base:base+len(joint)])]) }
				}
			}
		}
		switch {
		case p.axis < 0:
			shape = append(shape, 1)
		case p.array == nil:
			d := len(shape)
			shape = append(shape, len(p.at))
			source[p.axis] = func(pos []int) int { return p.at[pos[d]] }
		case !joined:
			k := int(p.array.Data[0])
			source[p.axis] = func([]int) int { return k }
		}
	}
	out := blank(t.DType, shape)
	walk(shape, func(i int, pos []int) {
		o := 0
		for a, d := range t.Shape {
			o = o*d + source[a](pos)
		}
		out.Data[i] = t.Data[o]
	})
	return simple(out)
}

// spellOut is a list of subscripts with one for every axis of t: a mask of k axes becomes k
// arrays of positions; an ellipsis, or the end, becomes as many full slices as are missing.
func spellOut(t *tensor.Tensor, items []any) []any {
	var list []any
	used, dots := 0, -1
	for _, it := range items {
		switch v := it.(type) {
		case string:
			if v == "..." {
				if dots >= 0 {
					fail("two ellipses in one index")
				}
				dots = len(list)
			} else {
				list = append(list, it)
			}
			continue
		case none:
			list = append(list, "newaxis")
			continue
		case bool:
			fail("an index that is a single bool")
		case tuple:
			it = toTensor(v)
		}
		if m, ok := it.(*tensor.Tensor); ok && m.DType == tensor.Bool {
			for k, n := range m.Shape {
				if used+k >= len(t.Shape) || t.Shape[used+k] != n {
					fail("a mask of shape %v on a tensor of shape %v", m.Shape, t.Shape)
				}
			}
			for _, p := range nonzero(m) {
				list = append(list, p)
			}
			used += len(m.Shape)
			continue
		}
		list = append(list, it)
		used++
	}
	missing := len(t.Shape) - used
	if missing < 0 {
		fail("too many indices for shape %v", t.Shape)
	}
	if dots < 0 {
		dots = len(list)
	}
	return slices.Insert(list, dots, slices.Repeat([]any{slice{"", "", ""}}, missing)...)
}

// An axisPick is what one subscript does with an axis of t.
type axisPick struct {
	axis   int            // the axis; -1 for newaxis, which makes one
	at     []int          // the positions of a slice
	array  *tensor.Tensor // an array of positions; a single one has no axes
	single bool           // one position, written as a number
}

// picksOf are the picks of subscripts that spellOut made.
func picksOf(t *tensor.Tensor, items []any) (picks []axisPick) {
	axis := 0
	for _, it := range items {
		p := axisPick{axis: axis}
		switch v := it.(type) {
		case string:
			picks = append(picks, axisPick{axis: -1})
			continue
		case slice:
			p.at = v.positions(t.Shape[axis])
		case *tensor.Tensor:
			p.array = map1(v, func(x float64) float64 {
				if x != math.Trunc(x) {
					fail("index %v is not a whole number", x)
				}
				return float64(wrapIndex(int(x), t.Shape[axis]))
			})
		default:
			p.array, p.single = tensor.Scalar(float64(wrapIndex(integer(v), t.Shape[axis]))), true
		}
		picks = append(picks, p)
		axis++
	}
	return picks
}

func wrapIndex(k, n int) int {
	if k < -n || k >= n {
		fail("index %d is outside an axis of %d", k, n)
	}
	if k < 0 {
		k += n
	}
	return k
}

// nonzero gives, for each axis, the positions of the true elements.
func nonzero(m *tensor.Tensor) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(m.Shape))
	for k := range out {
		out[k] = tensor.New(0)
	}
	walk(m.Shape, func(i int, pos []int) {
		if m.Data[i] != 0 {
			for k, p := range pos {
				out[k].Data = append(out[k].Data, float64(p))
				out[k].Shape[0]++
			}
		}
	})
	return out
}
