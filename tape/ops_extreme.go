package tape

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/order"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

var opMaxOf, opMinOf, opMedian, opMiddles, opSorted, opArgmax, opArgmin, opArgmaxOf, opArgminOf, opArgsort, opTopOf, opAny, opAll, opTies, opOrdered *Op

var extremeRows = []Op{
	{Name: "max", Args: "x, *more, #axis=None, #keepdims=false", Doc: "the largest over axes; of several arguments, elementwise", Call: func(c *call) value { return c.extreme(opMaximum, opMaxOf) }, Note: "a k-fold tie gives 1/k to each"},
	{Name: "min", Args: "x, *more, #axis=None, #keepdims=false", Doc: "the smallest over axes; of several arguments, elementwise", Call: func(c *call) value { return c.extreme(opMinimum, opMinOf) }, Note: "a k-fold tie gives 1/k to each"},
	{Name: "amax", Alias: []string{"reduce_max"}, Args: "x, #axis=None, #keepdims=false", Doc: "the largest over axes", Body: "max(x, axis=axis, keepdims=keepdims)"},
	{Name: "amin", Alias: []string{"reduce_min"}, Args: "x, #axis=None, #keepdims=false", Doc: "the smallest over axes", Body: "min(x, axis=axis, keepdims=keepdims)"},
	{Name: "logmeanexp", Args: "x, #axis=None, #keepdims=false", Doc: "log(mean(exp(x))), without overflow", Body: "logsumexp(x, axis, keepdims) - log(count(x, axis))"},
	{Name: "top_k", Args: "x, #k", Doc: "the k largest along the last axis, largest first", Call: func(c *call) value {
		x, k := c.ref(0), c.int(1)
		s := c.t.Shape(x)
		if len(s) == 0 || k < 0 || k > last(s) {
			c.fail("shape", "top_k of %d from shape %v", k, s)
		}
		return c.t.ordered(x, c.t.recordAs(opTopOf, append(slices.Clone(lead(s)), k), tensor.Int64, Attr{}, x))
	}, Note: "a tie is the first one's"},
	{Name: "ptp", Args: "x, #axis=None, #keepdims=false", Doc: "largest minus smallest", Body: "max(x, axis=axis, keepdims=keepdims) - min(x, axis=axis, keepdims=keepdims)"},
	{As: &opMedian, Name: "median", Args: "x, #axis=None, #keepdims=false", Doc: "the middle value; ties share the derivative",
		Call: func(c *call) value {
			return c.reduction(func(t *Tape, x Ref) Ref { return t.record(opMedian, lead(t.Shape(x)), Attr{}, t.asFloat(x)) })
		},
		Lead: true, Run: func(c *run) { c.medians() }, Room: sortRoom, Links: linkLast, Note: "a k-fold tie gives 1/k to each",
		Tie: func(t *Tape, r Ref) Ref { // more than the one or two in the middle are as large as these
			lo, hi := t.middles(r)
			x := t.Args(r)[0]
			hits := func(v Ref) Ref { return t.sumTo(t.cast(t.apply("equal", x, v), t.DType), []int{-1}, false) }
			most := t.Const(2)
			if last(t.Shape(x))%2 == 0 {
				both := t.reshape(t.cast(t.apply("equal", lo, hi), t.DType), t.Shape(r))
				most = t.Apply(opAdd, most, t.Apply(opAdd, both, both))
			}
			return t.apply("greater", t.Apply(opAdd, hits(lo), hits(hi)), most)
		},
		TieSay: "a tie: each takes an equal share",
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			x := t.Args(r)[0]
			ct = t.behind(ct, r)
			if last(t.Shape(x)) == 0 {
				return t.broadcastTo(ct, t.Shape(x)) // to no elements
			}
			lo, hi := t.middles(r)
			if lo == hi {
				return t.Apply(opZMul, ct, t.tieShare(x, lo))
			}
			return t.Apply(opZMul, ct, t.Apply(opMul, t.Const(0.5), t.Apply(opAdd, t.tieShare(x, lo), t.tieShare(x, hi))))
		}},
	{As: &opArgmax, Name: "argmax", Args: "x, #axis=None, #keepdims=false", Doc: "index of the first largest", Stops: "argmax is not differentiable", Call: func(c *call) value { return c.indexOf(opArgmaxOf) }},
	{As: &opArgmin, Name: "argmin", Args: "x, #axis=None, #keepdims=false", Doc: "index of the first smallest", Stops: "argmin is not differentiable", Call: func(c *call) value { return c.indexOf(opArgminOf) }},
	{As: &opTopOf, Room: topRoom, Name: "top_of", Args: "x", Hidden: true, Doc: "places of the largest along the last axis, largest first", Stops: "argsort is not differentiable", Lead: true,
		Run: func(c *run) {
			k := last(c.shape)
			c.eachSorted(func(s *order.Sorter, i int, x []float64) {
				for j, p := range s.Top(x, k) {
					c.out[i*k+j] = float64(p)
				}
			})
		}},
	{As: &opArgsort, Room: sortRoom, Name: "argsort", Args: "x, #axis=-1", Doc: "the stable permutation that sorts", Stops: "argsort is not differentiable",
		Call: func(c *call) value { return c.along(func(c *call, x Ref) Ref { return c.t.argsort(x) }) }, Lead: true,
		Run: func(c *run) {
			c.eachSorted(func(s *order.Sorter, i int, x []float64) {
				out := c.out[i*len(x):]
				for k, p := range s.Ranks(x) {
					out[k] = float64(s.Place(p))
				}
			})
		}},
	{Name: "sort", Args: "x, #axis=-1", Doc: "sorted along an axis", Call: func(c *call) value {
		return c.along(func(c *call, x Ref) Ref { return c.t.ordered(x, c.t.argsort(x)) })
	}, Note: "ties: the stable sort's permutation"},
	{As: &opOrdered, Name: "ordered", Args: "x", Hidden: true, Doc: "x, numbers in an order that ties leave open", Grad: d("1"), Kernel: unary(&kernels.Copy, kernels.CopyOf), Gives: givesSameExact, Try: at(-2, 0.5),
		Tie: tiedInOrder, TieSay: "a tie: the derivative is that of the first one's place"},
	{As: &opAny, Name: "any", Alias: []string{"reduce_any"}, Args: "x, #axis=None, #keepdims=false", Doc: "does one hold", Stops: "any is not differentiable", Lead: true,
		Call: func(c *call) value {
			return c.reduction(func(t *Tape, x Ref) Ref { return t.recordAs(opAny, lead(t.Shape(x)), tensor.Bool, Attr{}, x) })
		},
		Run: func(c *run) {
			c.eachRow(func(x []float64) float64 {
				for _, v := range x {
					if v != 0 {
						return 1
					}
				}
				return 0
			})
		}},
	{As: &opAll, Name: "all", Alias: []string{"reduce_all"}, Args: "x, #axis=None, #keepdims=false", Doc: "do all hold", Stops: "all is not differentiable", Lead: true,
		Call: func(c *call) value {
			return c.reduction(func(t *Tape, x Ref) Ref { return t.recordAs(opAll, lead(t.Shape(x)), tensor.Bool, Attr{}, x) })
		},
		Run: func(c *run) {
			c.eachRow(func(x []float64) float64 {
				for _, v := range x {
					if v == 0 {
						return 0
					}
				}
				return 1
			})
		}},
	{Name: "count_nonzero", Args: "x, #axis=None, #keepdims=false", Doc: "how many are not 0", Body: "sum(x != 0, axis, keepdims)"},
	{As: &opMaxOf, Name: "max_of", Switches: [2]string{"pool"}, Args: "x", Hidden: true, Doc: "the largest along an axis", Lead: true, Run: func(c *run) { c.alongColumns(kernels.Maximum, math.Inf(-1), true, eachOf(kernels.Max)) }, Links: linkFold, Adj: extremeAdj, Tie: tied, TieSay: "a tie: each takes an equal share"},
	{As: &opMinOf, Name: "min_of", Args: "x", Hidden: true, Doc: "the smallest along an axis", Lead: true, Run: func(c *run) { c.alongColumns(kernels.Minimum, math.Inf(1), true, eachOf(kernels.Min)) }, Links: linkFold, Adj: extremeAdj, Tie: tied, TieSay: "a tie: each takes an equal share"},
	{As: &opTies, Name: "ties", Args: "x, v", Hidden: true, Doc: "how often v is in x along an axis", Stops: "equal is not differentiable", Lead: true, Run: runTies},
	{As: &opMiddles, Room: sortRoom, Name: "middles", Args: "x", Hidden: true, Doc: "the one or two in the middle of the last axis, once it is sorted; NaN where one is NaN", Stops: "middles", Lead: true,
		Run: func(c *run) {
			m := last(c.shape)
			c.eachSorted(func(s *order.Sorter, i int, x []float64) {
				most := kernels.Max(x)
				for k := range m {
					if c.out[i*m+k] = most; most == most {
						c.out[i*m+k] = s.Nth(x, (len(x)-1)/2+k)
					}
				}
			})
		}},
	{As: &opSorted, Room: sortRoom, Name: "sorted", Args: "x", Hidden: true, Doc: "sorted along the last axis, for the places of medians", Stops: "sorted", Lead: true,
		Run: func(c *run) {
			c.eachSorted(func(s *order.Sorter, i int, x []float64) { s.Sort(c.out[i*len(x):], x) })
		}},
	{As: &opArgmaxOf, Name: "argmax_of", Args: "x", Hidden: true, Doc: "index of the first largest along the last axis", Stops: "argmax is not differentiable", Lead: true,
		Run: func(c *run) { c.eachRow(func(x []float64) float64 { return argBest(x, kernels.Max) }) }},
	{As: &opArgminOf, Name: "argmin_of", Args: "x", Hidden: true, Doc: "index of the first smallest along the last axis", Stops: "argmin is not differentiable", Lead: true,
		Run: func(c *run) { c.eachRow(func(x []float64) float64 { return argBest(x, kernels.Min) }) }},
}

// extreme lowers max and min: of several arguments by pair, elementwise, of one by the operation
// that is one along an axis.
func (c *call) extreme(pair, of *Op) value {
	x := c.ref(0)
	if len(c.rest) > 0 {
		switch {
		case c.given(2):
			c.fail("type", "%s of several arguments compares elementwise and takes no axis", c.op.Name)
		case c.bool(3):
			c.advise("type", "the axis is named: axis=…", "%s of several arguments compares elementwise and takes no keepdims", c.op.Name)
		}
		if all, ok := c.stacked(x); ok {
			return c.fold(of, all, []int{-1}, false)
		}
		n := 1 // arguments that x is the extreme of, none of them dropped
		for _, v := range c.rest {
			y := c.lo.ref(v, c.at)
			c.lo.mark(c.at, c.at.Mark())
			from := Ref(len(c.t.ins))
			x = c.t.Apply(pair, x, y)
			switch {
			case x < from || c.t.ins[x].Op() != pair:
				n = 0
			case n > 1:
				c.t.ins[x].attr = c.t.newAttr(Attr{Num: float64(n)})
			}
			n++
		}
		return x
	}
	axes := c.axes(2, c.t.Shape(x))
	if reducedSize(c.t.Shape(x), axes) == 0 {
		c.fail("shape", "%s of no elements: shape %v", c.op.Name, c.t.Shape(x))
	}
	return c.fold(of, x, axes, c.bool(3))
}

// stacked joins x and the rest along a new last axis, where they are many: of pairs of them a
// derivative is made whose length grows with the square of their number.
func (c *call) stacked(x Ref) (all Ref, ok bool) {
	const many = 64
	if len(c.rest) < many {
		return None, false
	}
	xs, s := []Ref{x}, c.t.Shape(x)
	for _, v := range c.rest {
		y := c.lo.ref(v, c.at)
		if s, ok = broadcast(s, c.t.Shape(y)); !ok {
			return None, false
		}
		xs = append(xs, y)
	}
	c.lo.mark(c.at, c.at.Mark())
	for i := range xs {
		xs[i] = c.t.broadcastTo(xs[i], s)
	}
	return c.t.stack(xs, len(s)), true
}

// indexOf lowers argmax and argmin, by the operation that is one along the last axis.
func (c *call) indexOf(of *Op) value {
	x := c.ref(0)
	s := c.t.Shape(x)
	axes := c.axes(1, s)
	if reducedSize(s, axes) == 0 {
		c.fail("shape", "%s of no elements: shape %v", c.op.Name, s)
	}
	return c.reduce(x, axes, c.bool(2), func(t *Tape, x Ref) Ref { return t.recordAs(of, lead(t.Shape(x)), tensor.Int64, Attr{}, x) })
}

// extremeAdj shares the cotangent of max_of and min_of among the tied.
func extremeAdj(t *Tape, r Ref, i int, ct Ref) Ref {
	x := t.Args(r)[0]
	if t.Attr(r).Flag { // of a pool under the conventions of others
		return t.Apply(opZMul, t.behind(ct, r), t.record(opOneHotMax, t.Shape(x), Attr{}, x))
	}
	ties := t.behind(t.ties(r), r)
	share := func(of float64) Ref { return t.Apply(opDiv, t.Const(of), ties) } // NaN of 0 in a row without any
	return t.Apply(opZMul, t.behind(ct, r), t.Apply(opWhere, t.apply("equal", x, t.behind(r, r)), share(1), share(0)))
}

// tied marks the rows whose extreme is reached more than once.
func tied(t *Tape, r Ref) Ref { return t.apply("greater", t.ties(r), t.Const(1)) }

// ties counts how often extremes r are reached.
func (t *Tape) ties(r Ref) Ref {
	return t.record(opTies, t.Shape(r), Attr{Axes: t.Attr(r).Axes}, t.Args(r)[0], r)
}

// tieShare is 1/k at the k elements of each row of x that equal v, 0 elsewhere, NaN in a row without any.
func (t *Tape) tieShare(x, v Ref) Ref {
	hit := t.cast(t.apply("equal", x, v), t.DType)
	return t.Apply(opDiv, hit, t.sumTo(hit, []int{-1}, true))
}

// sorted is x sorted along its last axis, a constant: for the places of medians.
func (t *Tape) sorted(x Ref) Ref {
	return t.record(opSorted, t.Shape(x), Attr{}, t.stop(x, "the median's place"))
}

// argBest is the index of the first NaN of a row, or else of the first that is the best of it.
func argBest(x []float64, best func(x []float64) float64) float64 {
	m := best(x)
	if m != m {
		return float64(slices.IndexFunc(x, func(v float64) bool { return v != v }))
	}
	return float64(max(0, slices.Index(x, m)))
}

// middles are those of the rows of what r is the median of, along an axis of length 1: one, or two
// of an even number.
func (t *Tape) middles(r Ref) (lo, hi Ref) {
	x := t.Args(r)[0]
	n := last(t.Shape(x))
	m := t.record(opMiddles, append(slices.Clone(lead(t.Shape(x))), 2-n%2), Attr{}, t.stop(x, "the median's place"))
	if n%2 == 1 {
		return m, m
	}
	return t.slice(m, -1, 0, 1, 1), t.slice(m, -1, 1, 2, 1)
}

// medians are the means of the one or two in the middle of each row; NaN where one is NaN or
// there is none.
func (c *run) medians() {
	if last(c.shapes[0]) == 0 {
		for i := range c.out {
			c.out[i] = math.NaN()
		}
	}
	c.eachSorted(func(s *order.Sorter, i int, x []float64) {
		n := len(x)
		if kernels.Max(x) != kernels.Max(x) {
			c.out[i] = math.NaN()
			return
		}
		m := s.Nth(x, (n-1)/2)
		if n%2 == 0 {
			if hi := s.Nth(x, n/2); hi != m {
				m += float64((hi - m) / 2)
			}
		}
		c.out[i] = m
	})
}

// ordered is x in the order of places along the last axis, of which ties are told.
func (t *Tape) ordered(x, places Ref) Ref { return t.Apply(opOrdered, t.takeAlong(x, places)) }

// tiedInOrder marks the numbers of r that stand behind an equal one, if that has another cotangent: then the
// order matters. The last of the largest may be tied with one that is left out, and a running extreme with a
// number that comes after it.
func tiedInOrder(t *Tape, r Ref) Ref {
	taken := t.Args(r)[0]
	x, places := t.Args(taken)[0], t.Args(taken)[1]
	n := last(t.Shape(r))
	if n == 0 {
		return t.broadcastTo(t.Const(0), t.Shape(r))
	}
	before := func(y Ref) Ref {
		s := append(slices.Clone(lead(t.Shape(y))), 1)
		none := t.broadcastTo(t.constOf(math.NaN(), t.ins[y].dtype), s)
		if n == 1 {
			return none // a loop has no tensors without elements
		}
		return t.concat([]Ref{none, t.slice(y, -1, 0, n-1, 1)}, len(s)-1)
	}
	if t.ins[places].Op() == opRunning {
		return t.apply("equal", x, before(r))
	}
	hits := t.apply("equal", r, before(r))
	for _, s := range t.sites {
		if s.r == r && s.ct != None && len(t.Axes(s.ct)) == 0 {
			ct := t.full(s.ct, r)
			hits = t.apply("logical_and", hits, t.apply("not_equal", ct, before(ct)))
		}
	}
	if n < last(t.Shape(x)) {
		least := t.slice(r, -1, n-1, n, 1)
		count := func(y Ref) Ref {
			return t.sumTo(t.asNumber(t.apply("equal", y, least)), []int{-1}, true)
		}
		left := t.apply("greater", count(x), count(r))
		hits = t.apply("logical_or", hits, t.apply("logical_and", left, t.apply("equal", r, least)))
	}
	return hits
}

func (t *Tape) argsort(x Ref) Ref { return t.recordAs(opArgsort, t.Shape(x), tensor.Int64, Attr{}, x) }

// eachSorted calls f with every row of the last axis of the argument, its number, and a sorter.
func (c *run) eachSorted(f func(s *order.Sorter, i int, x []float64)) {
	n := last(c.shapes[0])
	if n == 0 {
		return
	}
	pool.Split(c.threads, len(c.args[0]), len(c.args[0])/n, func(from, to int) {
		var s order.Sorter
		for i := from; i < to; i++ {
			f(&s, i, c.args[0][i*n:(i+1)*n])
		}
	})
}

// sortRoom is what rows of the argument of r are sorted in, of which each thread has one.
func sortRoom(t *Tape, r Ref) int64 {
	x := t.Args(r)[0]
	return 16 * int64(min(t.size(x), 64*last(t.Shape(x))))
}

// topRoom is the same, and what is turned in.
func topRoom(t *Tape, r Ref) int64 { return 2 * sortRoom(t, r) }
