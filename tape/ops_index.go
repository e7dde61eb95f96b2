package tape

import (
	"math"
	"slices"
	"sync"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

var opSlice, opUnslice, opTake, opPut, opReverse *Op

var indexRows = []Op{
	// opSlice takes start, count and step along one axis (Ints; Axes[0] from the right).
	{As: &opSlice, Name: "slice", Terms: (*factoring).sliced, Args: "x", Hidden: true, Doc: "elements along one axis", Lead: true, Run: runSlice, Links: linkSlice,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a := t.Attr(r)
			s := t.Shape(t.Args(r)[0])
			return t.record(opUnslice, s, Attr{Axes: a.Axes, Ints: a.Ints}, t.full(ct, r))
		}},
	{As: &opUnslice, Name: "unslice", Terms: (*factoring).unsliced, Args: "x", Hidden: true, Doc: "elements put back along one axis, zeros between", Lead: true, Run: runUnslice, Links: linkUnslice,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			a := t.Attr(r)
			return t.record(opSlice, t.Shape(t.Args(r)[0]), Attr{Axes: a.Axes, Ints: a.Ints}, t.full(ct, r))
		}},
	{As: &opPut, Name: "put", Switches: [2]string{"along"}, Args: "x, #indices", Hidden: true, Doc: "rows added up at the places an index names", Run: runPut, Whole: wholePut, Links: linkPut,
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 1 {
				return None
			}
			x, idx := t.Args(r)[0], t.Args(r)[1]
			return t.recordAs(opTake, t.Shape(x), t.ins[x].dtype, Attr{Axes: t.Attr(r).Axes, Flag: t.Attr(r).Flag}, t.full(ct, r), idx)
		}},
	{As: &opReverse, Name: "reverse_last", Args: "x", Hidden: true, Doc: "the last axis backwards", Lead: true, Links: linkReverse,
		Run: func(c *run) {
			c.eachLine(func(dst, x []float64) {
				for i, v := range x {
					dst[len(x)-1-i] = v
				}
			})
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref { return t.reverse(t.full(ct, r)) }},
	// opTake picks along Axes[0] by an integer tensor; with Flag set the index has the
	// result's own shape and each row is picked by its own row (take_along_axis).
	{As: &opTake, Name: "take", Switches: [2]string{"along"}, Alias: []string{"gather", "embedding_lookup"}, Args: "x, #indices, #axis=None", Doc: "elements or rows picked by integers along an axis, the leading one by default", Run: runTake, Whole: wholePlaces, Links: linkTake,
		Call: func(c *call) value {
			x, idx := c.ref(0), c.ref(1)
			axis := 0 // NumPy flattens; a table of rows is what is meant far more often
			switch {
			case c.where(2) != expr.Expr(c.at) && !c.given(2): // unless None is written
				x = c.t.reshape(x, tensor.Shape{c.t.Shape(x).Size()})
			case c.given(2):
				axis = c.axis(c.int(2), len(c.t.Shape(x)), 2) + len(c.t.Shape(x))
			}
			return c.t.take(x, c.t.index(idx, c.where(1), c.lo), axis)
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			if i == 1 {
				return None
			}
			x, idx := t.Args(r)[0], t.Args(r)[1]
			return t.put(t.full(ct, r), idx, t.Shape(x), Attr{Axes: t.Attr(r).Axes, Flag: t.Attr(r).Flag})
		}},
	{Name: "take_along_axis", Args: "x, #indices, #axis=-1", Doc: "each row picked by its own row of indices", Call: func(c *call) value {
		x, idx := c.ref(0), c.ref(1)
		n := len(c.t.Shape(x))
		a := c.axis(c.int(2), n, 2)
		if len(c.t.Shape(idx)) != n {
			c.fail("shape", "take_along_axis needs indices with as many axes as x: %v and %v", c.t.Shape(idx), c.t.Shape(x))
		}
		x, idx = c.t.swap(x, a, -1), c.t.swap(c.t.index(idx, c.where(1), c.lo), a, -1)
		if !lead(c.t.Shape(x)).Equal(lead(c.t.Shape(idx))) {
			c.fail("shape", "take_along_axis needs equal shapes but for the axis: %v and %v", c.t.Shape(c.ref(0)), c.t.Shape(c.ref(1)))
		}
		return c.t.swap(c.t.takeAlong(x, idx), a, -1)
	}},
	{Name: "gather_nd", Args: "x, #indices", Doc: "elements picked by rows of indices (their last axis)", Call: func(c *call) value {
		t, x, idx := c.t, c.ref(0), c.ref(1)
		s, is := t.Shape(x), t.Shape(idx)
		if len(is) == 0 || last(is) > len(s) {
			c.advise("shape", "along the last axis of the indices stands a place in x: at most "+expr.Plural(len(s), "number"), "gather_nd: indices of shape %v into shape %v", is, s)
		}
		k := last(is)
		joint := t.constOf(0, tensor.Float64)
		for a := range k {
			joint = t.behindPlace(joint, t.reshape(t.slice(idx, -1, a, a+1, 1), lead(is)), s[a])
		}
		flat := t.reshape(x, append(tensor.Shape{s[:k].Size()}, s[k:]...))
		return t.take(flat, t.index(joint, c.where(1), c.lo), 0)
	}},
	{Name: "scatter_add", Args: "x, #indices, updates", Doc: "x with rows added at the indices of its leading axis", Call: func(c *call) value {
		t, x, idx, up := c.t, c.ref(0), c.ref(1), c.ref(2)
		s := t.Shape(x)
		if len(s) == 0 {
			c.fail("shape", "scatter_add into a scalar")
		}
		t.checkIndex(t.index(idx, c.where(1), c.lo), s[0])
		n := t.Shape(idx).Size()
		want := append(slices.Clone(t.Shape(idx)), s[1:]...)
		if b, ok := broadcast(t.Shape(up), want); !ok || !b.Equal(want) {
			c.fail("shape", "scatter_add: updates of shape %v do not fit %v", t.Shape(up), want)
		}
		rows := t.reshape(t.broadcastTo(up, want), append(tensor.Shape{n}, s[1:]...))
		return t.Apply(opAdd, x, t.put(rows, t.reshape(idx, tensor.Shape{n}), s, Attr{Axes: []int{-len(s)}}))
	}},
}

// slice takes from:to:step (already within bounds) along an axis from the right.
func (t *Tape) slice(x Ref, axis, from, to, step int) Ref {
	s := slices.Clone(t.Shape(x))
	n := 0
	switch {
	case step > 0 && to > from:
		n = (to - from + step - 1) / step
	case step < 0 && to < from:
		n = (from - to - step - 1) / -step
	}
	if from == 0 && step == 1 && n == s[len(s)+axis] {
		return x
	}
	s[len(s)+axis] = n
	if step == 1 && axis == -len(s) {
		if inner := tensor.Shape(s[1:]).Size(); fitsBlock(from * inner) {
			return t.blockOf(x, from*inner, s)
		}
	}
	return t.record(opSlice, s, Attr{Axes: []int{axis}, Ints: []int{from, n, step}}, x)
}

// pick is x[i] along the leading axis.
func (t *Tape) pick(x Ref, i int) Ref {
	s := t.Shape(x)
	n := 1
	if len(s) > 1 {
		n = s[1:].Size()
	}
	if fitsBlock(i * n) {
		return t.blockOf(x, i*n, s[1:])
	}
	return t.reshape(t.slice(x, -len(s), i, i+1, 1), s[1:])
}

// take picks along an axis from the left; the index's shape stands in its place.
func (t *Tape) take(x, idx Ref, axis int) Ref {
	s := t.Shape(x)
	if len(s) == 0 {
		fail("shape", "a scalar has no elements to pick")
	}
	t.checkIndex(idx, s[axis])
	out := append(slices.Clone(s[:axis]), t.Shape(idx)...)
	out = append(out, s[axis+1:]...)
	return t.recordAs(opTake, out, t.ins[x].dtype, Attr{Axes: []int{axis - len(s)}}, x, idx)
}

// takeRows picks known rows of the leading axis.
func (t *Tape) takeRows(x Ref, rows []int) Ref {
	idx := make([]float64, len(rows))
	for i, k := range rows {
		idx[i] = float64(k)
	}
	return t.take(x, t.Tensor(tensor.From(idx, len(idx))), 0)
}

// takeAlong picks along the last axis, each row by its own row of idx.
func (t *Tape) takeAlong(x, idx Ref) Ref {
	t.checkIndex(idx, last(t.Shape(x)))
	return t.recordAs(opTake, t.Shape(idx), t.ins[x].dtype, Attr{Axes: []int{-1}, Flag: true}, x, idx)
}

// put adds rows of x up in zeros of shape s, where idx says: as numbers of x, whatever those of idx are.
func (t *Tape) put(x, idx Ref, s tensor.Shape, a Attr) Ref {
	return t.recordAs(opPut, s, t.ins[x].dtype, a, x, idx)
}

// behindPlace is the place that indices idx into an axis of size n name behind joint, the place in the axes
// before it. It is float64, which holds all places; float32 does not.
func (t *Tape) behindPlace(joint, idx Ref, n int) Ref {
	t.checkIndex(idx, n)
	size := t.constOf(float64(n), tensor.Float64)
	idx = t.apply("where", t.apply("less", idx, t.constOf(0, tensor.Float64)), t.Apply(opAdd, idx, size), idx) // negative ones count from the end
	return t.Apply(opAdd, t.Apply(opMul, joint, size), idx)
}

// checkIndex demands indices within an axis of size n, where they are known already;
// others are checked as they run.
func (t *Tape) checkIndex(idx Ref, n int) {
	if !t.known(idx) {
		return
	}
	t.log.saw(t, idx, []float64{float64(-n), float64(n)}, sameRange)
	if arePlaces(t.data(idx), n) {
		return
	}
	for _, v := range t.data(idx) {
		if v != math.Trunc(v) {
			advise("type", wholeHint, "an index is a whole number, not %v", v)
		}
		if v < float64(-n) || v >= float64(n) {
			advise("shape", indicesOf(n), "index %v is out of range for an axis of size %d", v, n)
		}
	}
}

// index makes an index tensor of x: its values are wanted now unless they vary
// along a batch.
func (t *Tape) index(x Ref, e expr.Expr, lo *lowering) Ref {
	if len(t.Axes(x)) == 0 {
		t.force(x)
		t.log.saw(t, x, []float64{math.Inf(-1), math.Inf(1)}, sameRange)
		if arePlaces(t.data(x), math.MaxInt32) {
			return x
		}
		for _, v := range t.data(x) {
			if v != math.Trunc(v) {
				lo.advise(e, "type", wholeHint, "an index is a whole number, not %v", v)
			}
		}
	}
	return x
}

func runSlice(c *run) {
	outer, _, inner := outerInner(c.shapes[0], c.attr.Axes[0])
	if outer > 1 || !c.shared() {
		c.shareLines(c.shapes[0], sliceLines)
		return
	}
	from, step := c.attr.Ints[0], c.attr.Ints[2]
	c.shareSlice(inner, func(first, n int) {
		if step == 1 {
			copy(c.out[first*inner:][:n*inner], c.args[0][(from+first)*inner:])
		} else {
			layRows(c.out, first*inner, inner, c.args[0], (from+first*step)*inner, step*inner, inner, n)
		}
	})
}

func runUnslice(c *run) {
	outer, _, inner := outerInner(c.shape, c.attr.Axes[0])
	if outer > 1 || !c.shared() {
		c.shareLines(c.shape, unsliceLines)
		return
	}
	from, step := c.attr.Ints[0], c.attr.Ints[2]
	pool.Pieces(c.threads, len(c.out), func(from, to int) { clear(c.out[from:to]) })
	c.shareSlice(inner, func(first, n int) {
		if step == 1 {
			copy(c.out[(from+first)*inner:], c.args[0][first*inner:][:n*inner])
		} else {
			layRows(c.out, (from+first*step)*inner, step*inner, c.args[0], first*inner, inner, inner, n)
		}
	})
}

// shareSlice runs f for the first of some elements of a slice of one long line, and how many they are, on
// several threads.
func (c *run) shareSlice(inner int, f func(first, n int)) {
	m := c.attr.Ints[1]
	each := max(1, 1<<14/inner)
	pool.Split(c.threads, len(c.out), (m+each-1)/each, func(from, to int) {
		f(from*each, min(to*each, m)-from*each)
	})
}

// shared reports whether there are threads, and much to write.
func (c *run) shared() bool {
	return c.threads > 1 && pool.Worth(len(c.out), pool.LeastElements)
}

// shareLines runs f for lines from to end-1 of all along the axis of c, on threads where there
// is much to write.
func (c *run) shareLines(s tensor.Shape, f func(c *run, from, end int)) {
	all, _, _ := outerInner(s, c.attr.Axes[0])
	if !c.shared() {
		f(c, 0, all) // without a closure: loops take small slices a million times
		return
	}
	pool.Split(c.threads, len(c.out), all, func(from, end int) { f(c, from, end) })
}

// sliceLines copies lines first to end-1 of a slice: all that lies behind one place of the axes in
// front.
func sliceLines(c *run, first, end int) {
	_, n, inner := outerInner(c.shapes[0], c.attr.Axes[0])
	from, m, step := c.attr.Ints[0], c.attr.Ints[1], c.attr.Ints[2]
	if step == 1 {
		layRows(c.out, first*m*inner, m*inner, c.args[0], (first*n+from)*inner, n*inner, m*inner, end-first)
		return
	}
	for o := first; o < end; o++ {
		layRows(c.out, o*m*inner, inner, c.args[0], (o*n+from)*inner, step*inner, inner, m)
	}
}

// unsliceLines writes such lines of a slice back into zeros.
func unsliceLines(c *run, first, end int) {
	_, n, inner := outerInner(c.shape, c.attr.Axes[0])
	from, m, step := c.attr.Ints[0], c.attr.Ints[1], c.attr.Ints[2]
	clear(c.out[first*n*inner : end*n*inner])
	if step == 1 {
		layRows(c.out, (first*n+from)*inner, n*inner, c.args[0], first*m*inner, m*inner, m*inner, end-first)
		return
	}
	for o := first; o < end; o++ {
		layRows(c.out, (o*n+from)*inner, step*inner, c.args[0], o*m*inner, inner, inner, m)
	}
}

// indexAt is an index into an axis of n as a number from 0 on.
func (c *run) indexAt(v float64, n int) int {
	if k := int(v); float64(k) == v && uint(k) < uint(n) {
		return k
	}
	return c.indexFromEnd(v, n)
}

// isIndex reports whether v is an index into n places, from the end maybe.
func isIndex(v float64, n int) bool {
	k := int(v)
	return float64(k) == v && k >= -n && k < n
}

// indexFromEnd is an index into n places; a negative one counts from the end.
func (c *run) indexFromEnd(v float64, n int) int {
	k := int(v)
	if !isIndex(v, n) {
		c.fail("index "+formatFloat(v)+" is out of range for an axis of size "+itoa(n), "")
	}
	if k < 0 {
		k += n
	}
	return k
}

// arePlaces reports whether all are whole numbers from 0 to n-1.
func arePlaces(idx []float64, n int) bool {
	room := placeRooms.Get().(*[placesAtOnce]int)
	defer placeRooms.Put(room)
	for ; len(idx) > placesAtOnce; idx = idx[placesAtOnce:] {
		if !kernels.Places(room[:], idx[:placesAtOnce], n) {
			return false
		}
	}
	return kernels.Places(room[:len(idx)], idx, n)
}

// placesAtOnce is how many indices are read at once: they and what they pick stay in the cache.
const placesAtOnce = 512

// placeRooms hold indices: a kernel's door would move them from the stack.
var placeRooms = sync.Pool{New: func() any { return new([placesAtOnce]int) }}

// eachPlaces calls f with the places that indices into an axis of n name, from 0 on, some at a time; at is
// which index the first of them is.
func (c *run) eachPlaces(threads int, idx []float64, n int, f func(at int, places []int)) {
	parts := (len(idx) + placesAtOnce - 1) / placesAtOnce
	pool.Split(threads, len(c.out), parts, func(from, to int) {
		room := placeRooms.Get().(*[placesAtOnce]int)
		defer placeRooms.Put(room)
		for at := from * placesAtOnce; at < min(to*placesAtOnce, len(idx)); at += placesAtOnce {
			some := idx[at:min(at+placesAtOnce, len(idx))]
			places := room[:len(some)]
			if !kernels.Places(places, some, n) {
				for i, v := range some {
					if !isIndex(v, n) {
						for _, v := range idx { // the first that is none is named, whichever thread finds one
							c.indexAt(v, n)
						}
					}
					places[i] = c.indexAt(v, n)
				}
			}
			f(at, places)
		}
	})
}

// eachOwnPlaces is eachPlaces where each m indices are those of a row of n numbers: places in all rows.
func (c *run) eachOwnPlaces(threads int, idx []float64, n, m int, f func(at int, places []int)) {
	c.eachPlaces(threads, idx, n, func(at int, places []int) {
		row, end := at/m, m-at%m // of the places in that row
		for i := 0; i < len(places); row, end = row+1, end+m {
			for end := min(end, len(places)); i < end; i++ {
				places[i] += row * n
			}
		}
		f(at, places)
	})
}

// fewPlaces is up to how many indices are read one by one.
const fewPlaces = 8

// runTake copies a row for each index, or, with Flag set, in each line an element for each index of
// its own.
func runTake(c *run) {
	outer, n, inner := outerInner(c.shapes[0], c.attr.Axes[0])
	x, idx := c.args[0], c.args[1]
	m := len(idx)
	if c.attr.Flag {
		c.eachOwnPlaces(c.threads, idx, n, last(c.shape), func(at int, places []int) { kernels.Pick(c.out[at:], x, places) })
		return
	}
	if m <= fewPlaces {
		for o := range outer {
			for i, v := range idx {
				k := o*n + c.indexAt(v, n)
				copy(c.out[(o*m+i)*inner:][:inner], x[k*inner:])
			}
		}
		return
	}
	threads, each := c.threads, 1 // threads have places each, or, where these are few, lines
	if m <= placesAtOnce {
		threads, each = 1, c.threads
	}
	c.eachPlaces(threads, idx, n, func(at int, places []int) {
		pool.Split(each, len(c.out), outer, func(from, to int) {
			for o := from; o < to; o++ {
				x, y := x[o*n*inner:(o+1)*n*inner], c.out[(o*m+at)*inner:][:len(places)*inner]
				if inner == 1 {
					kernels.Pick(y, x, places)
					continue
				}
				kernels.PickRows(y, x, places, inner)
			}
		})
	})
}

// runPut is the transpose of runTake: it adds each row, or element, where that was taken.
func runPut(c *run) {
	outer, n, inner := outerInner(c.shape, c.attr.Axes[0])
	x, idx := c.args[0], c.args[1]
	m := len(idx)
	clear(c.out)
	if c.attr.Flag {
		c.eachOwnPlaces(1, idx, n, last(c.shapes[0]), func(at int, places []int) {
			kernels.AddAt(c.out, x[at:], places)
		})
		return
	}
	if m <= fewPlaces {
		for o := range outer {
			for i, v := range idx {
				k := o*n + c.indexAt(v, n)
				add(c.out[k*inner:(k+1)*inner], x[(o*m+i)*inner:][:inner])
			}
		}
		return
	}
	c.eachPlaces(1, idx, n, func(at int, places []int) {
		pool.Split(c.threads, len(places)*outer*inner, outer, func(from, to int) {
			for o := from; o < to; o++ {
				x, y := x[(o*m+at)*inner:][:len(places)*inner], c.out[o*n*inner:(o+1)*n*inner]
				if inner == 1 {
					kernels.AddAt(y, x, places)
					continue
				}
				kernels.AddRowsAt(y, x, places, inner)
			}
		})
	})
}

// wholePlaces runs a take or a put for all points of a batch that share their indices: the points are lines
// more.
func wholePlaces(c *run, b *batch, out []float64, data [][]float64) bool {
	t, args := c.t, c.t.Args(c.r)
	if c.attr.Flag || t.ins[args[1]].batch != 0 || t.ins[args[0]].batch != t.ins[c.r].batch {
		return false
	}
	c.lead(b.n)
	c.atOnce(t.ins[c.r].Op(), out, data)
	return true
}

// wholePut is wholePlaces, but for seeds, as those of a Jacobian of what is sorted, of which each point has one
// number to put.
func wholePut(c *run, b *batch, out []float64, data [][]float64) bool {
	t, args := c.t, c.t.Args(c.r)
	off, ok := t.unitLike(args[0])
	if !ok || t.ins[args[1]].batch != 0 {
		return wholePlaces(c, b, out, data)
	}
	_, n, inner := outerInner(c.shape, c.attr.Axes[0])
	x, idx := data[0], data[1]
	numbers, size := c.shapes[0].Size(), c.shape.Size()
	line := len(idx) * inner
	if c.attr.Flag {
		line = last(c.shapes[0])
	}
	clear(out)
	for k := range b.n {
		q := c.from - off + k
		if q < 0 || q >= numbers {
			continue
		}
		i := q % line / inner
		if c.attr.Flag { // each line has its own
			i = q
		}
		at := q/line*n + c.indexAt(idx[i], n)
		out[k*size+at*inner+q%inner] = x[k*numbers+q] + 0 // a sum, of no -0
	}
	return true
}
