package tape

import (
	"math"
	"slices"

	"nabla/expr"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

var opConcat *Op

var joinRows = []Op{
	// opConcat joins along Axes[0], from the right; Ints are where the parts begin.
	{As: &opConcat, Name: "concat", Terms: (*factoring).joined, Alias: []string{"concatenate"}, Args: "xs, #axis=0", Doc: "tensors joined along an axis", Seq: true, Run: runConcat, Links: linkConcat,
		Call: func(c *call) value {
			xs := c.refs(c.vals[0], c.where(0))
			if len(xs) == 0 {
				c.fail("shape", "concat of nothing")
			}
			n := len(c.t.Shape(xs[0]))
			if n == 0 {
				c.fail("shape", "concat joins along an axis, these are scalars: stack makes a vector of them")
			}
			a := c.axis(c.int(1), n, 1) + n
			for i, x := range xs[1:] {
				s, first := c.t.Shape(x), c.t.Shape(xs[0])
				ok := len(s) == n
				for k := range n {
					ok = ok && (k == a || s[k] == first[k])
				}
				if !ok {
					c.fail("shape", "shapes %v and %v do not join along axis %d (part %d)", first, s, a, i+1)
				}
			}
			c.lo.mark(c.at, c.at.Mark())
			return c.t.concat(xs, a)
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			axis, starts := t.Attr(r).Axes[0], t.Attr(r).Ints
			if s := t.Shape(ct); -axis > len(s) || s[len(s)+axis] == 1 { // every part has the same; filled up for each of n of them it would take n²
				return ct
			}
			s := t.Shape(t.Args(r)[i])
			return t.sliceSum(ct, axis, starts[i], starts[i]+s[len(s)+axis])
		}},
	{Name: "stack", Args: "xs, #axis=0", Doc: "tensors of one shape along a new axis", Seq: true, Call: func(c *call) value {
		xs := c.refs(c.vals[0], c.where(0))
		if len(xs) == 0 {
			c.fail("shape", "stack of nothing")
		}
		for _, x := range xs {
			if !c.t.Shape(x).Equal(c.t.Shape(xs[0])) {
				c.advise("shape", "concat joins tensors along an axis that they have", "shapes %v and %v do not stack", c.t.Shape(xs[0]), c.t.Shape(x))
			}
		}
		n := len(c.t.Shape(xs[0])) + 1
		return c.t.stack(xs, c.axis(c.int(1), n, 1)+n)
	}},
	{Name: "vstack", Alias: []string{"row_stack"}, Args: "xs", Doc: "rows on top of each other", Seq: true, Call: func(c *call) value { return c.joined(0) }},
	{Name: "hstack", Args: "xs", Doc: "side by side", Seq: true, Call: func(c *call) value { return c.joined(1) }},
	{Name: "column_stack", Args: "xs", Doc: "vectors as columns, and matrices, side by side", Seq: true, Call: func(c *call) value {
		xs := c.refs(c.vals[0], c.where(0))
		for i, x := range xs {
			if s := c.t.Shape(x); len(s) < 2 {
				xs[i] = c.t.reshape(x, tensor.Shape{s.Size(), 1})
			}
		}
		return c.joining(xs, 1)
	}},
	{Name: "dstack", Args: "xs", Doc: "joined along a third axis", Seq: true, Call: func(c *call) value {
		xs := c.refs(c.vals[0], c.where(0))
		for i, x := range xs {
			switch s := c.t.Shape(x); len(s) {
			case 0, 1:
				xs[i] = c.t.reshape(x, tensor.Shape{1, s.Size(), 1})
			case 2:
				xs[i] = c.t.reshape(x, append(slices.Clone(s), 1))
			}
		}
		return c.joining(xs, 2)
	}},
	{Name: "append", Args: "x, values, #axis=None", Doc: "values behind x along an axis, or behind all elements in one", Call: func(c *call) value {
		xs := []Ref{c.ref(0), c.ref(1)}
		if c.given(2) {
			return c.joining(xs, c.axis(c.int(2), len(c.t.Shape(xs[0])), 2)+len(c.t.Shape(xs[0])))
		}
		for i, x := range xs {
			xs[i] = c.t.reshape(x, tensor.Shape{c.t.Shape(x).Size()})
		}
		return c.t.concat(xs, 0)
	}},
	{Name: "split", Args: "x, parts, #axis=0", Doc: "a tuple of equal parts, or cut before the places given", Call: splitCall},
	{Name: "vsplit", Args: "x, parts", Doc: "split along the first axis", Body: "split(x, parts, 0)"},
	{Name: "hsplit", Args: "x, parts", Doc: "split along the second axis, that of a vector", Body: "split(x, parts, x.ndim > 1 ? 1 : 0)"},
	{Name: "dsplit", Args: "x, parts", Doc: "split along the third axis", Body: "split(x, parts, 2)"},
	{Name: "tile", Args: "x, #reps", Doc: "the whole repeated along axes", Call: func(c *call) value {
		x, reps := c.ref(0), c.ints(1)
		s := slices.Clone(c.t.Shape(x))
		for len(s) < len(reps) {
			s = slices.Insert(s, 0, 1)
		}
		for len(reps) < len(s) {
			reps = slices.Insert(reps, 0, 1)
		}
		one, many, out := tensor.Shape{}, tensor.Shape{}, tensor.Shape{}
		for i, d := range s {
			if reps[i] < 0 {
				c.fail("shape", "cannot repeat %d times", reps[i])
			}
			one, many, out = append(one, 1, d), append(many, reps[i], d), append(out, reps[i]*d)
		}
		return c.t.reshape(c.t.broadcastTo(c.t.reshape(x, one), many), out)
	}},
	{Name: "repeat", Args: "x, #repeats, #axis=None", Doc: "each element repeated, as often as all or as its own number says", Call: func(c *call) value {
		x, ks := c.ref(0), c.ints(1)
		if !c.given(2) {
			x = c.t.reshape(x, tensor.Shape{c.t.Shape(x).Size()})
		}
		s := c.t.Shape(x)
		a := 0
		if c.given(2) {
			a = c.axis(c.int(2), len(s), 2) + len(s)
		}
		for _, k := range ks {
			if k < 0 {
				c.fail("shape", "cannot repeat %d times", k)
			}
		}
		if len(ks) != 1 {
			return c.t.take(x, c.t.Tensor(c.repeated(ks, s[a])), a)
		}
		k := ks[0]
		one, many, out := slices.Insert(slices.Clone(s), a+1, 1), slices.Insert(slices.Clone(s), a+1, k), slices.Clone(s)
		out[a] *= k
		return c.t.reshape(c.t.broadcastTo(c.t.reshape(x, one), many), out)
	}},
	{Name: "flip", Alias: []string{"reverse"}, Args: "x, #axis=None", Doc: "axes backwards, all by default", Call: func(c *call) value {
		x := c.ref(0)
		for _, a := range c.axes(1, c.t.Shape(x)) {
			x = c.t.swap(c.t.reverse(c.t.swap(x, a, -1)), a, -1)
		}
		return x
	}},
	{Name: "roll", Args: "x, #shift, #axis=None", Doc: "elements moved along an axis, or several, coming in again at its start", Call: func(c *call) value {
		x, shifts := c.ref(0), c.ints(1)
		shape := c.t.Shape(x)
		if !c.given(2) {
			for _, k := range shifts {
				x = c.rolled(c.t.reshape(x, tensor.Shape{shape.Size()}), k, -1)
			}
			return c.t.reshape(x, shape)
		}
		axes := c.ints(2)
		if n := len(shifts); n == 0 || len(axes) == 0 || n != len(axes) && n != 1 && len(axes) != 1 {
			c.fail("shape", "%s cannot go along %d axes", expr.Plural(n, "shift"), len(axes))
		}
		for i := range max(len(shifts), len(axes)) {
			x = c.rolled(x, shifts[i%len(shifts)], c.axis(axes[i%len(axes)], len(shape), 2))
		}
		return x
	}},
	{Name: "pad", Args: `x, #width, value=0, mode="constant"`, Doc: `a border of one width, (before, after), or a pair for each axis: of a value, or with mode "edge", "reflect", "symmetric" or "wrap" of what is inside`, Call: padCall},
	{Name: "unstack", Args: "x, #axis=0", Doc: "a tuple of the parts along an axis", Call: func(c *call) value {
		x := c.ref(0)
		s := c.t.Shape(x)
		if len(s) == 0 {
			c.fail("shape", "unstack of a scalar")
		}
		a := c.axis(c.int(1), len(s), 1)
		out := &tuple{}
		rest := slices.Delete(slices.Clone(s), len(s)+a, len(s)+a+1)
		for i := range s[len(s)+a] {
			out.elems = append(out.elems, c.t.reshape(c.t.slice(x, a, i, i+1, 1), rest))
		}
		return out
	}},
	{Name: "fliplr", Args: "x", Doc: "columns backwards", Body: "flip(x, 1)"},
	{Name: "flipud", Args: "x", Doc: "rows backwards", Body: "flip(x, 0)"},
	{Name: "rot90", Args: "x, #k=1", Doc: "a matrix turned k quarters counterclockwise, in the first two axes", Body: "for i in range(k % 4) { x = flip(swapaxes(x, 0, 1), 0) }; x"},
	{Name: "vander", Args: "x, #n=None, #increasing=false", Doc: "the Vandermonde matrix, highest power first, or last", Call: func(c *call) value {
		x := c.ref(0)
		s := c.t.Shape(x)
		if len(s) != 1 {
			c.fail("shape", "vander takes a vector, this has shape %v", s)
		}
		n := s[0]
		if c.given(1) {
			n = c.int(1)
		}
		powers := tensor.New(c.checkedShape([]int{1, n})...)
		for k := range n {
			powers.Data[k] = float64(n - 1 - k)
			if c.bool(2) {
				powers.Data[k] = float64(k)
			}
		}
		return c.t.Apply(opPow, c.t.reshape(x, tensor.Shape{s[0], 1}), c.t.ownTensor(powers))
	}},
	{Name: "block_diag", Args: "xs", Doc: "matrices along a diagonal", Seq: true, Call: func(c *call) value {
		xs := c.refs(c.vals[0], c.where(0))
		if len(xs) == 0 {
			c.fail("shape", "block_diag of nothing")
		}
		rows, cols := 0, 0
		for _, x := range xs {
			if s := c.t.Shape(x); len(s) != 2 {
				c.fail("shape", "block_diag takes matrices, shape %v is none", s)
			}
			rows, cols = rows+c.t.Shape(x)[0], cols+c.t.Shape(x)[1]
		}
		var parts []Ref
		at := 0
		for _, x := range xs {
			s := c.t.Shape(x)
			parts = append(parts, c.padded(x, [][2]int{{0, 0}, {at, cols - at - s[1]}}))
			at += s[1]
		}
		return c.t.concat(parts, 0)
	}},
}

// joined lowers concatenations along an axis from the left.
func (c *call) joined(axis int) value {
	xs := c.refs(c.vals[0], c.where(0))
	if len(xs) == 0 {
		c.fail("shape", "%s of nothing", c.op.Name)
	}
	for i, x := range xs {
		switch s := c.t.Shape(x); {
		case len(s) == 0:
			xs[i] = c.t.reshape(x, tensor.Shape{1})
		}
		if s := c.t.Shape(xs[i]); len(s) == 1 && axis == 0 {
			xs[i] = c.t.reshape(xs[i], tensor.Shape{1, s[0]})
		}
	}
	if len(c.t.Shape(xs[0])) == 1 {
		axis = 0
	}
	return c.joining(xs, axis)
}

// joining is concat of tensors that may not fit together.
func (c *call) joining(xs []Ref, axis int) value {
	if len(xs) == 0 {
		c.fail("shape", "%s of nothing", c.op.Name)
	}
	for _, x := range xs[1:] {
		s, f := slices.Clone(c.t.Shape(x)), slices.Clone(c.t.Shape(xs[0]))
		if len(s) == len(f) {
			s[axis], f[axis] = 0, 0
		}
		if !tensor.Shape(s).Equal(f) {
			c.fail("shape", "shapes %v and %v do not join along axis %d", c.t.Shape(xs[0]), c.t.Shape(x), axis)
		}
	}
	return c.t.concat(xs, axis)
}

// splitCall is NumPy's split: into so many equal parts, or at the places of a list.
func splitCall(c *call) value {
	x := c.ref(0)
	s := c.t.Shape(x)
	axis := c.axis(c.int(2), len(s), 2)
	n := s[len(s)+axis]
	var cuts []int
	if r, ok := c.vals[1].(Ref); ok && len(c.t.Shape(r)) == 0 {
		k := c.int(1)
		if k <= 0 || n%k != 0 || k > mostLeaves { // no elements are any number of parts
			c.fail("shape", "%d elements do not split into %d equal parts", n, k)
		}
		for i := 1; i < k; i++ {
			cuts = append(cuts, n/k*i)
		}
	} else {
		cuts = slices.Clone(c.ints(1))
		for i, at := range cuts {
			if at < 0 && at >= -n {
				cuts[i] += n // from the end
			}
		}
	}
	out := &tuple{}
	from := 0
	for _, to := range append(cuts, n) {
		if to < from || to > n {
			c.fail("shape", "cannot cut %d elements before %d", n, to)
		}
		out.elems = append(out.elems, c.t.slice(x, axis, from, to, 1))
		from = to
	}
	return out
}

// rolled is x with its elements moved k places along an axis.
func (c *call) rolled(x Ref, k, axis int) Ref {
	s := c.t.Shape(x)
	n := s[len(s)+axis]
	if n == 0 || k%n == 0 {
		return x
	}
	k = ((k % n) + n) % n
	return c.t.concat([]Ref{c.t.slice(x, axis, n-k, n, 1), c.t.slice(x, axis, 0, n-k, 1)}, len(s)+axis)
}

// repeated lists each of n places as often as ks says.
func (c *call) repeated(ks []int, n int) *tensor.Tensor {
	if len(ks) != n {
		c.fail("shape", "repeat has %s for an axis of %d", expr.Plural(len(ks), "number"), n)
	}
	size := 0
	for _, k := range ks {
		size += c.checkedShape([]int{size + k})[0] - size
	}
	at := tensor.New(size)
	at.DType = tensor.Int64
	size = 0
	for i, k := range ks {
		for range k {
			at.Data[size] = float64(i)
			size++
		}
	}
	return at
}

// padCall is NumPy's pad: one width for all sides, a pair for all axes, or a pair for each.
func padCall(c *call) value {
	x := c.ref(0)
	s := c.t.Shape(x)
	widths := make([][2]int, len(s))
	r, ok := c.vals[1].(Ref)
	if tup, isTuple := c.vals[1].(*tuple); isTuple && len(tup.elems) > 0 {
		if _, nested := tup.elems[0].(*tuple); nested {
			if len(tup.elems) != len(s) {
				c.fail("shape", "pad of %s needs %s", axes(len(s)), expr.Plural(len(s), "pair"))
			}
			for i, e := range tup.elems {
				w := c.intsOf(e, c.where(1))
				if len(w) != 2 {
					c.fail("shape", "pad needs pairs (before, after)")
				}
				widths[i] = [2]int{w[0], w[1]}
			}
			return c.padded(x, widths)
		}
	}
	if ok && len(c.t.Shape(r)) == 2 {
		w := c.t.read(r)
		if len(w) != 2*len(s) {
			c.fail("shape", "pad of %s needs %s", axes(len(s)), expr.Plural(len(s), "pair"))
		}
		for i := range widths {
			widths[i] = [2]int{int(w[2*i]), int(w[2*i+1])}
		}
		return c.padded(x, widths)
	}
	w := c.ints(1)
	if len(w) == 1 {
		w = append(w, w[0])
	}
	if len(w) != 2 {
		c.fail("shape", "pad needs one width, (before, after), or a pair for each axis")
	}
	for i := range widths {
		widths[i] = [2]int{w[0], w[1]}
	}
	return c.padded(x, widths)
}

// mirrored is x with a border of what is inside.
func (c *call) mirrored(x Ref, widths [][2]int, mode string) Ref {
	inside := map[string]func(i, n int) int{
		"edge":      func(i, n int) int { return min(max(i, 0), n-1) },
		"wrap":      func(i, n int) int { return (i%n + n) % n },
		"symmetric": func(i, n int) int { i = (i%(2*n) + 2*n) % (2 * n); return min(i, 2*n-1-i) },
		"reflect": func(i, n int) int {
			period := max(2*(n-1), 1)
			i = (i%period + period) % period
			return min(i, period-i) % n
		},
	}[mode]
	if inside == nil {
		c.fail("type", `the mode of pad is "constant", "edge", "reflect", "symmetric" or "wrap", not %q`, mode)
	}
	for axis, w := range widths {
		n := c.t.Shape(x)[axis]
		if w[0] < 0 || w[1] < 0 {
			c.fail("shape", "pad has no negative widths: %v", w)
		}
		if n == 0 && w[0]+w[1] > 0 {
			c.fail("shape", "pad of no elements: shape %v", c.t.Shape(x))
		}
		s := slices.Clone(c.t.Shape(x))
		s[axis] = w[0] + n + w[1]
		c.checkedShape(s)
		idx := tensor.New(s[axis])
		for i := range idx.Data {
			idx.Data[i] = float64(inside(i-w[0], n))
		}
		x = c.t.take(x, c.t.Tensor(idx), axis)
	}
	return x
}

// padded is x with widths added in front of and behind each axis, of what the mode says.
func (c *call) padded(x Ref, widths [][2]int) Ref {
	v := c.t.Const(0)
	if c.op.Name == "pad" {
		mode, behind := c.vals[2].(string) // NumPy has it there
		if !behind {
			mode = c.str(3)
			v = c.ref(2)
		}
		if s := c.t.Shape(v); len(s) > 0 {
			c.lo.fail(c.where(2), "shape", "pad puts one number around, not a tensor of shape %v", s)
		}
		if mode != "constant" {
			return c.mirrored(x, widths, mode)
		}
	}
	for i, w := range widths {
		s := slices.Clone(c.t.Shape(x))
		parts := []Ref{}
		for side, k := range w {
			if k < 0 {
				c.fail("shape", "pad widths are 0 or more, not %d", k)
			}
			if side == 1 {
				parts = append(parts, x)
			}
			if k > 0 {
				s[i] = k
				parts = append(parts, c.t.broadcastTo(v, s))
			}
		}
		if len(parts) > 1 {
			x = c.t.concat(parts, i)
		}
	}
	return x
}

// concat joins along an axis from the left.
func (t *Tape) concat(xs []Ref, axis int) Ref {
	if len(xs) == 1 {
		return xs[0]
	}
	s := slices.Clone(t.Shape(xs[0]))
	s[axis] = 0
	starts := make([]int, len(xs))
	for i, x := range xs {
		starts[i] = s[axis]
		s[axis] += t.Shape(x)[axis]
	}
	// more parts than one instruction can name are joined in bundles
	const most = math.MaxUint16
	if len(xs) > most {
		var bundles []Ref
		for len(xs) > 0 {
			k := min(len(xs), most)
			bundles = append(bundles, t.concat(xs[:k], axis))
			xs = xs[k:]
		}
		return t.concat(bundles, axis)
	}
	return t.record(opConcat, s, Attr{Axes: []int{axis - len(s)}, Ints: starts}, xs...)
}

// stack joins along a new axis.
func (t *Tape) stack(xs []Ref, axis int) Ref {
	s := slices.Insert(slices.Clone(t.Shape(xs[0])), axis, 1)
	parts := make([]Ref, len(xs))
	for i, x := range xs {
		parts[i] = t.reshape(x, s)
	}
	return t.concat(parts, axis)
}

// runConcat copies each part to where it begins along the axis.
func runConcat(c *run) {
	if outer, _, _ := outerInner(c.shape, c.attr.Axes[0]); outer > 1 || !c.shared() {
		c.shareLines(c.shape, concatLines)
		return
	}
	pool.Pieces(c.threads, len(c.out), func(from, to int) { // of one long line
		at := 0
		for _, x := range c.args {
			if first, end := max(from, at), min(to, at+len(x)); first < end {
				copy(c.out[first:end], x[first-at:])
			}
			at += len(x)
		}
	})
}

// concatLines writes lines first to end-1: all that lies behind one place of the axes in front. As many at a time as
// stay in the first cache get their parts.
func concatLines(c *run, first, end int) {
	const some = 2048
	_, n, inner := outerInner(c.shape, c.attr.Axes[0])
	each := max(1, some/max(1, n*inner))
	for ; first < end; first += each {
		at, lines := first*n*inner, min(each, end-first)
		for i, x := range c.args {
			_, m, _ := outerInner(c.shapes[i], c.attr.Axes[0])
			layRows(c.out, at, n*inner, x, first*m*inner, m*inner, m*inner, lines)
			at += m * inner
		}
	}
}
