package referee

import (
	"math"

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

// An axisPick is what one subscript does: axes of the source it eats, axes it makes.
type axisPick struct {
	axis  int            // of the source, -1 for newaxis
	at    []int          // a slice's positions
	fancy *tensor.Tensor // an array of positions, or a single one without axes
	whole bool           // an integer, which makes no axis
}

func gatherIndex(t *tensor.Tensor, items []any) any {
	// A mask of k axes stands for k arrays of positions; an ellipsis for as many full slices as are missing.
	var flat []any
	used, dots := 0, -1
	for _, it := range items {
		switch v := it.(type) {
		case string:
			if v == "..." {
				if dots >= 0 {
					fail("two ellipses in one index")
				}
				dots = len(flat)
			}
			flat = append(flat, it)
			continue
		case none:
			flat = append(flat, "newaxis")
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
				flat = append(flat, p)
			}
			used += len(m.Shape)
			continue
		}
		flat = append(flat, it)
		used++
	}
	missing := len(t.Shape) - used
	if missing < 0 {
		fail("too many indices for shape %v", t.Shape)
	}
	if dots < 0 {
		dots = len(flat)
		flat = append(flat, "...")
	}
	var picks []axisPick
	axis := 0
	anyFancy := false
	for i, it := range flat {
		if i == dots {
			for range missing {
				picks = append(picks, axisPick{axis: axis, at: slice{"", "", ""}.positions(t.Shape[axis])})
				axis++
			}
			continue
		}
		switch v := it.(type) {
		case string:
			picks = append(picks, axisPick{axis: -1})
		case slice:
			picks = append(picks, axisPick{axis: axis, at: v.positions(t.Shape[axis])})
			axis++
		case *tensor.Tensor:
			p := map1(v, func(x float64) float64 {
				if x != math.Trunc(x) {
					fail("index %v is not a whole number", x)
				}
				return float64(wrapIndex(int(x), t.Shape[axis]))
			})
			picks = append(picks, axisPick{axis: axis, fancy: p})
			anyFancy = true
			axis++
		default:
			k := wrapIndex(integer(v), t.Shape[axis])
			picks = append(picks, axisPick{axis: axis, fancy: tensor.Scalar(float64(k)), whole: true})
			axis++
		}
	}
	// Where the array subscripts stand side by side their axes take that place, else they come first.
	var joint tensor.Shape
	first, last := -1, -1
	var arrays []*tensor.Tensor
	for i, p := range picks {
		if p.fancy == nil || !anyFancy && p.whole {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
		arrays = append(arrays, p.fancy)
	}
	place := first
	if anyFancy {
		joint = broadcast(arrays...)
		for i := first; i <= last; i++ {
			if picks[i].fancy == nil {
				place = 0
			}
		}
	}
	var shape tensor.Shape
	source := make([]func(pos []int) int, len(t.Shape))
	addJoint := func() {
		base := len(shape)
		shape = append(shape, joint...)
		for _, p := range picks {
			if p.fancy != nil {
				source[p.axis] = func(pos []int) int { return int(p.fancy.Data[offset(p.fancy, pos[base:base+len(joint)])]) }
			}
		}
	}
	if anyFancy && place == 0 && first != 0 {
		addJoint()
		place = -1
	}
	for i, p := range picks {
		if anyFancy && i == place {
			addJoint()
		}
		switch {
		case p.axis < 0:
			shape = append(shape, 1)
		case p.fancy != nil && anyFancy:
		case p.fancy != nil:
			k := int(p.fancy.Data[0])
			source[p.axis] = func([]int) int { return k }
		default:
			d := len(shape)
			shape = append(shape, len(p.at))
			source[p.axis] = func(pos []int) int { return p.at[pos[d]] }
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
