package referee

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"nabla/tape/tensor"
)

// shapeArg reads a shape given as numbers or as one tuple.
func (c *call) shapeArg(i int, names ...string) []int {
	if v := c.arg(i, names...); v != nil {
		if _, ok := v.(float64); !ok {
			return integers(v)
		}
	}
	var out []int
	for _, v := range c.rest(i) {
		out = append(out, integer(v))
	}
	return out
}

func triangle(keep func(row, col, k int) bool) func(*call) any {
	return func(c *call) any {
		x, k := c.tensor(0, "x", "a", "m"), c.integer(1, 0, "k", "diagonal")
		n := len(x.Shape)
		if n < 2 {
			fail("%s of shape %v", c.name, x.Shape)
		}
		return pick(x, x.Shape, func(pos []int) int {
			if keep(pos[n-2], pos[n-1], k) {
				return offset(x, pos)
			}
			return -1
		})
	}
}

func filled(v float64) func(*call) any {
	return func(c *call) any {
		c.arg(-1, "dtype")
		out := blank(tensor.Float64, c.shapeArg(0, "shape"))
		for i := range out.Data {
			out.Data[i] = v
		}
		return out
	}
}

func filledLike(v float64) func(*call) any {
	return func(c *call) any { return map1(c.tensor(0, "x"), func(float64) float64 { return v }) }
}

func joined(axis int, least int) func(*call) any {
	return func(c *call) any {
		vs := c.rest(0)
		if len(vs) == 1 {
			vs = nil
			for _, t := range spread(c.pos[0]) {
				vs = append(vs, t)
			}
		}
		var ts []*tensor.Tensor
		for _, v := range vs {
			t := toTensor(v)
			for len(t.Shape) < least {
				t = expandDims(t, 0)
			}
			ts = append(ts, t)
		}
		if len(ts) == 0 {
			fail("%s of nothing", c.name)
		}
		a := axis
		if len(ts[0].Shape) == 1 {
			a = 0
		}
		return concat(ts, a)
	}
}

var shapeOps = sync.OnceValue(func() map[string]func(*call) any {
	return map[string]func(*call) any{
		"reshape": func(c *call) any {
			return reshape(c.tensor(0, "x", "a"), c.shapeArg(1, "shape"))
		},
		"ravel":   func(c *call) any { x := c.tensor(0, "x"); return reshape(x, []int{-1}) },
		"flatten": func(c *call) any { x := c.tensor(0, "x"); return reshape(x, []int{-1}) },
		"transpose": func(c *call) any {
			x := c.tensor(0, "x", "a")
			if c.arg(1, "axes", "perm", "axis") == nil {
				return permute(x, reversed(len(x.Shape)))
			}
			perm := c.shapeArg(1, "axes", "perm", "axis")
			if len(perm) != len(x.Shape) {
				fail("%d axes for shape %v", len(perm), x.Shape)
			}
			seen := make([]bool, len(perm))
			for i, p := range perm {
				perm[i] = wrap(p, len(perm))
				if seen[perm[i]] {
					fail("axis %d twice", p)
				}
				seen[perm[i]] = true
			}
			return permute(x, perm)
		},
		"mT": func(c *call) any { return lastTwo(c.tensor(0, "x")) },
		"swapaxes": func(c *call) any {
			x := c.tensor(0, "x", "a")
			n := len(x.Shape)
			i, j := wrap(c.integer(1, 0, "axis1"), n), wrap(c.integer(2, 1, "axis2"), n)
			perm := reversed(n)
			for k := range perm {
				perm[k] = k
			}
			perm[i], perm[j] = j, i
			return permute(x, perm)
		},
		"moveaxis": func(c *call) any {
			x := c.tensor(0, "x", "a")
			n := len(x.Shape)
			from, to := wrap(c.integer(1, 0, "source"), n), wrap(c.integer(2, 0, "destination"), n)
			var perm []int
			for k := range n {
				if k != from {
					perm = append(perm, k)
				}
			}
			perm = append(perm[:to:to], append([]int{from}, perm[to:]...)...)
			return permute(x, perm)
		},
		"concat": func(c *call) any {
			v := c.need(0, "xs", "values", "arrays")
			return concat(spread(v), c.integer(1, 0, "axis", "dim"))
		},
		"stack": func(c *call) any {
			v := c.need(0, "xs", "values", "arrays")
			return stack(spread(v), c.integer(1, 0, "axis", "dim"))
		},
		"vstack": joined(0, 2), "hstack": joined(1, 1),
		"squeeze": func(c *call) any {
			x := c.tensor(0, "x", "a")
			gone := make([]bool, len(x.Shape))
			if c.arg(1, "axis", "dim") != nil {
				gone = c.axes(1, len(x.Shape))
			} else {
				for i, d := range x.Shape {
					gone[i] = d == 1
				}
			}
			for i, g := range gone {
				if g && x.Shape[i] != 1 {
					fail("axis %d of shape %v is not 1", i, x.Shape)
				}
			}
			return &tensor.Tensor{DType: x.DType, Shape: drop(x.Shape, gone), Data: x.Data}
		},
		"expand_dims": func(c *call) any { return expandDims(c.tensor(0, "x", "a"), c.integer(1, 0, "axis", "dim")) },
		"unsqueeze":   func(c *call) any { return expandDims(c.tensor(0, "x", "a"), c.integer(1, 0, "axis", "dim")) },
		"broadcast_to": func(c *call) any {
			x := c.tensor(0, "x", "a")
			return broadcastTo(x, c.shapeArg(1, "shape"))
		},
		"tile": func(c *call) any {
			x := c.tensor(0, "x", "a")
			reps := c.shapeArg(1, "reps", "multiples")
			for len(reps) < len(x.Shape) {
				reps = append([]int{1}, reps...)
			}
			for len(x.Shape) < len(reps) {
				x = expandDims(x, 0)
			}
			for a, r := range reps {
				if r < 0 || r > maxSize {
					fail("tile %d times", r)
				}
				parts := make([]*tensor.Tensor, r)
				for i := range parts {
					parts[i] = x
				}
				if r == 0 {
					x = along(x, a, func(int) int { return 0 }, func(dst, src []float64) {})
					continue
				}
				x = concat(parts, a)
			}
			return x
		},
		"repeat": func(c *call) any {
			x, times := c.tensor(0, "x", "a"), integers(c.need(1, "repeats", "times"))
			if len(times) == 0 || slices.Min(times) < 0 {
				fail("repeat %v times", times)
			}
			axis := 0
			if c.arg(2, "axis", "dim") == nil {
				x = reshape(x, []int{-1})
			} else {
				axis = c.axis(2, len(x.Shape), 0)
			}
			if len(times) != 1 && len(times) != x.Shape[axis] {
				fail("%d numbers of times for an axis of %d", len(times), x.Shape[axis])
			}
			return repeatAxis(x, times, axis)
		},
		"flip": func(c *call) any {
			x := c.tensor(0, "x", "a")
			axes := c.axes(1, len(x.Shape))
			return pick(x, x.Shape, func(pos []int) int {
				p := append([]int{}, pos...)
				for k, a := range axes {
					if a {
						p[k] = x.Shape[k] - 1 - p[k]
					}
				}
				return offset(x, p)
			})
		},
		"roll": func(c *call) any {
			x, shift := c.tensor(0, "x", "a"), integers(c.need(1, "shift"))
			if len(shift) == 0 {
				fail("roll by nothing")
			}
			if c.arg(2, "axis", "dim") == nil {
				flat := reshape(x, []int{-1})
				n := len(x.Data)
				out := pick(flat, flat.Shape, func(pos []int) int { return int(mod(float64(pos[0]-shift[0]), float64(n))) })
				return reshape(out, x.Shape)
			}
			axes := integers(c.arg(2, "axis", "dim"))
			return pick(x, x.Shape, func(pos []int) int {
				p := append([]int{}, pos...)
				for k, a := range axes {
					a = wrap(a, len(x.Shape))
					p[a] = int(mod(float64(p[a]-shift[k%len(shift)]), float64(x.Shape[a])))
				}
				return offset(x, p)
			})
		},
		"take": func(c *call) any {
			x, idx := c.tensor(0, "x", "a", "params"), c.need(1, "indices", "idx", "i")
			axis := 0
			if c.arg(2, "axis", "dim") != nil {
				axis = c.axis(2, len(x.Shape), 0)
			} else if len(x.Shape) == 0 {
				fail("take from a scalar")
			}
			var at []any
			for range axis {
				at = append(at, slice{"", "", ""})
			}
			if t, ok := idx.(tuple); ok {
				idx = toTensor(t)
			}
			return index(x, append(at, idx))
		},
		"take_along_axis": func(c *call) any {
			x, idx := c.tensor(0, "x", "a"), c.tensor(1, "indices")
			axis := c.axis(2, len(x.Shape), -1)
			if len(idx.Shape) != len(x.Shape) {
				fail("take_along_axis of shapes %v and %v", x.Shape, idx.Shape)
			}
			for k := range idx.Shape {
				if k != axis && idx.Shape[k] != x.Shape[k] && x.Shape[k] != 1 {
					fail("take_along_axis of shapes %v and %v", x.Shape, idx.Shape)
				}
			}
			return pick(x, idx.Shape, func(pos []int) int {
				p := append([]int{}, pos...)
				p[axis] = wrapIndex(int(idx.Data[offset(idx, pos)]), x.Shape[axis])
				return offset(x, p)
			})
		},
		"diag": func(c *call) any {
			x, k := c.tensor(0, "x", "a", "v"), c.integer(1, 0, "k")
			if len(x.Shape) == 1 {
				n := x.Shape[0] + max(k, -k)
				return pick(x, tensor.Shape{n, n}, func(pos []int) int {
					if pos[1]-pos[0] != k {
						return -1
					}
					return min(pos[0], pos[1])
				})
			}
			return diagonal(x, k)
		},
		"diagonal":  func(c *call) any { return diagonal(c.tensor(0, "x", "a"), c.integer(1, 0, "k", "offset")) },
		"diag_part": func(c *call) any { return diagonal(c.tensor(0, "x", "a"), c.integer(1, 0, "k", "offset")) },
		"tril":      triangle(func(r, col, k int) bool { return col-r <= k }),
		"triu":      triangle(func(r, col, k int) bool { return col-r >= k }),
		"trace": func(c *call) any {
			d := diagonal(c.tensor(0, "x", "a"), c.integer(1, 0, "k", "offset"))
			return (&call{name: "sum", pos: []any{d}, kw: map[string]any{"axis": -1.0}}).do()
		},
		"zeros": filled(0), "ones": filled(1),
		"zeros_like": filledLike(0), "ones_like": filledLike(1),
		"full": func(c *call) any {
			return broadcastTo(c.tensor(1, "value", "fill_value"), integers(c.need(0, "shape")))
		},
		"full_like": func(c *call) any {
			v := c.number(1, 0, "value", "fill_value")
			return map1(c.tensor(0, "x"), func(float64) float64 { return v })
		},
		"fill": func(c *call) any { return broadcastTo(c.tensor(1, "value"), integers(c.need(0, "shape", "dims"))) },
		"eye": func(c *call) any {
			n := c.integer(0, 0, "n", "N")
			m := c.integer(1, n, "m", "M")
			k := c.integer(2, 0, "k")
			out := blank(tensor.Float64, tensor.Shape{n, m})
			for i := range n {
				if j := i + k; j >= 0 && j < m {
					out.Data[i*m+j] = 1
				}
			}
			return out
		},
		"arange": arange, "range": arange,
		"linspace": func(c *call) any {
			a, b, n := c.number(0, 0, "start"), c.number(1, 1, "stop", "end"), c.integer(2, 50, "num", "n")
			out := blank(tensor.Float64, tensor.Shape{n})
			div := float64(n - 1)
			if !c.flag(3, true, "endpoint") {
				div = float64(n)
			}
			for i := range out.Data {
				if n == 1 {
					out.Data[i] = a
					continue
				}
				out.Data[i] = a + (b-a)*float64(i)/div
			}
			if n > 1 && div == float64(n-1) {
				out.Data[n-1] = b
			}
			return out
		},
		"logspace": func(c *call) any {
			base := c.number(4, 10, "base")
			lin := (&call{name: "linspace", pos: []any{c.number(0, 0), c.number(1, 1), float64(c.integer(2, 50, "num")), c.flag(3, true, "endpoint")}}).do()
			return map1(toTensor(lin), func(x float64) float64 { return math.Pow(base, x) })
		},
		"meshgrid": func(c *call) any {
			var out tuple
			vs := c.rest(0)
			ij := false
			if v := c.arg(-1, "indexing"); v != nil {
				ij = v.(string) == "ij"
			}
			shape := make(tensor.Shape, len(vs))
			place := func(k int) int {
				if !ij && k < 2 && len(vs) > 1 {
					return 1 - k
				}
				return k
			}
			for k, v := range vs {
				shape[place(k)] = toTensor(v).Size()
			}
			for k, v := range vs {
				t := toTensor(v)
				out.elems = append(out.elems, pick(t, shape, func(pos []int) int { return pos[place(k)] }))
			}
			return out
		},
		"one_hot": func(c *call) any {
			x, n := c.tensor(0, "x", "indices"), c.integer(1, 0, "n", "depth", "num_classes")
			out := blank(tensor.Float64, append(append(tensor.Shape{}, x.Shape...), n))
			for i, v := range x.Data {
				if k := int(v); k >= 0 && k < n {
					out.Data[i*n+k] = 1
				}
			}
			return out
		},
		"pad": func(c *call) any {
			for _, v := range []any{c.arg(2), c.arg(3, "mode")} {
				if mode, ok := v.(string); ok && mode != "constant" {
					unsupported("pad with a mode")
				}
			}
			x, w, fillv := c.tensor(0, "x", "a"), c.need(1, "width", "pad_width", "paddings"), c.number(2, 0, "value", "constant_values")
			wide := toTensor(w)
			at := broadcastTo(wide, tensor.Shape{len(x.Shape), 2})
			if len(wide.Shape) == 1 && wide.Shape[0] == 1 {
				at = broadcastTo(wide, tensor.Shape{len(x.Shape), 2})
			}
			shape := make(tensor.Shape, len(x.Shape))
			for k, d := range x.Shape {
				shape[k] = d + int(at.Data[2*k]) + int(at.Data[2*k+1])
			}
			out := blank(tensor.Float64, shape)
			walk(shape, func(i int, pos []int) {
				p := make([]int, len(pos))
				for k := range pos {
					p[k] = pos[k] - int(at.Data[2*k])
					if p[k] < 0 || p[k] >= x.Shape[k] {
						out.Data[i] = fillv
						return
					}
				}
				out.Data[i] = x.Data[offset(x, p)]
			})
			return out
		},
		"split": func(c *call) any {
			x, n := c.tensor(0, "x", "a"), c.need(1, "parts", "n", "sections")
			axis := c.axis(2, len(x.Shape), 0)
			d := x.Shape[axis]
			var cuts []int
			if k, ok := n.(float64); ok {
				if int(k) <= 0 || d%int(k) != 0 {
					fail("an axis of %d does not split into %v", d, k)
				}
				for i := d / int(k); i < d; i += d / int(k) {
					cuts = append(cuts, i)
				}
			} else {
				cuts = integers(n)
			}
			var out tuple
			lo := 0
			for _, hi := range append(cuts, d) {
				var at []any
				for range axis {
					at = append(at, slice{"", "", ""})
				}
				out.elems = append(out.elems, index(x, append(at, slice{float64(lo), float64(hi), ""})))
				lo = hi
			}
			return out
		},
		"segment_sum": segments(0, func(sum, v float64) float64 { return sum + v }),
		"segment_max": segments(math.Inf(-1), func(most, v float64) float64 { return max(most, v) }),
		"segment_min": segments(math.Inf(1), func(least, v float64) float64 { return min(least, v) }),
		"length":      func(c *call) any { return float64(len(items(c.need(0)))) },
		"shape":       func(c *call) any { return shapeTuple(c.tensor(0, "x").Shape) },
		"size":        func(c *call) any { return float64(c.tensor(0, "x").Size()) },
		"ndim":        func(c *call) any { return float64(len(c.tensor(0, "x").Shape)) },
		"cast": func(c *call) any {
			d := dtypeName(c.need(1, "dtype"))
			return castTo(c.tensor(0, "x"), d)
		},
		"astype": func(c *call) any {
			d := dtypeName(c.need(1, "dtype"))
			return castTo(c.tensor(0, "x"), d)
		},
		"copy": func(c *call) any { return c.need(0, "x") }, "asarray": func(c *call) any { return toTensor(c.need(0)) },
		"array": func(c *call) any { return toTensor(c.need(0)) }, "float64": func(c *call) any { return castTo(c.tensor(0), "float64") },
		"float32": func(c *call) any { return castTo(c.tensor(0), "float32") },
		"float":   func(c *call) any { return castTo(c.tensor(0), "float64") }, "int64": func(c *call) any { return castTo(c.tensor(0), "int64") },
		"int": func(c *call) any { return castTo(c.tensor(0), "int64") }, "bool": func(c *call) any { return castTo(c.tensor(0), "bool") },
	}
})

// dtypeName reads a dtype: "int64", or int64, which is also an operation.
func dtypeName(v any) string {
	s, _ := v.(string)
	if b, ok := v.(builtin); ok {
		s = string(b)
	}
	return cmp.Or(map[string]string{"float": "float64", "int": "int64"}[s], s)
}

func arange(c *call) any {
	c.arg(-1, "dtype")
	lo, hi, step := 0.0, c.number(0, 0, "stop"), c.number(2, 1, "step")
	if len(c.pos) > 1 {
		lo, hi = hi, c.number(1, 0)
	}
	if v, ok := c.kw["start"]; ok {
		c.read["start"] = true
		lo = number(v)
	}
	n := math.Ceil((hi - lo) / step)
	if step == 0 || math.IsNaN(n) || n > maxSize {
		fail("a range of %v elements", n)
	}
	out := tensor.New(max(int(n), 0))
	for i := range out.Data {
		out.Data[i] = lo + float64(i)*step
	}
	return out
}

// segments folds the rows of its first argument that have one id, beginning with first.
func segments(first float64, fold func(so, v float64) float64) func(c *call) any {
	return func(c *call) any {
		x, ids := c.tensor(0, "data", "x"), c.tensor(1, "segment_ids", "ids")
		if len(x.Shape) == 0 || len(ids.Shape) != 1 || ids.Shape[0] != x.Shape[0] {
			fail("segments of shapes %v and %v", x.Shape, ids.Shape)
		}
		n := 0
		for _, k := range ids.Data {
			n = max(n, int(k)+1)
		}
		n = c.integer(2, n, "num_segments", "n")
		out := blank(tensor.Float64, append(tensor.Shape{n}, x.Shape[1:]...))
		for i := range out.Data {
			out.Data[i] = first
		}
		w := tensor.Shape(x.Shape[1:]).Size()
		for i, k := range ids.Data {
			if k < 0 || int(k) >= n {
				continue
			}
			for j := range w {
				out.Data[int(k)*w+j] = fold(out.Data[int(k)*w+j], x.Data[i*w+j])
			}
		}
		return out
	}
}
