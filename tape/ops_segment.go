package tape

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/tensor"
)

var opSegmentMax, opSegmentMin *Op

// Segments are the rows of the leading axis that have one id.
var segmentRows = []Op{
	{Name: "segment_sum", Alias: []string{"unsorted_segment_sum"}, Args: "x, #ids, #n=None", Doc: "rows of x added up by their id, n of them, or as many as the ids name", Call: func(c *call) value {
		x, ids, s := c.segments()
		return c.t.put(c.t.asNumber(x), ids, s, Attr{Axes: []int{-len(s)}})
	}},
	{Name: "segment_mean", Alias: []string{"unsorted_segment_mean"}, Args: "x, #ids, #n=None", Doc: "means of the rows of x that have one id; 0 where none has", Call: func(c *call) value {
		t := c.t
		x, ids, s := c.segments()
		x = t.asFloat(x)
		rows := t.put(t.broadcastTo(t.Const(1), t.Shape(ids)), ids, s[:1], Attr{Axes: []int{-1}})
		rows = t.reshape(rows, append(tensor.Shape{s[0]}, ofOne(len(s)-1)...))
		return t.Apply(opDiv, t.put(x, ids, s, Attr{Axes: []int{-len(s)}}), t.Apply(opMaximum, rows, t.Const(1)))
	}},
	{Name: "segment_max", Alias: []string{"unsorted_segment_max"}, Args: "x, #ids, #n=None", Doc: "the largest of the rows of x that have one id; -inf where none has", Call: func(c *call) value { return c.segmentExtreme(opSegmentMax) }, Note: "a k-fold tie gives 1/k to each"},
	{Name: "segment_min", Alias: []string{"unsorted_segment_min"}, Args: "x, #ids, #n=None", Doc: "the smallest of the rows of x that have one id; inf where none has", Call: func(c *call) value { return c.segmentExtreme(opSegmentMin) }, Note: "a k-fold tie gives 1/k to each"},
	{As: &opSegmentMax, Name: "segment_max_of", Args: "x, #ids", Hidden: true, Doc: "the largest of rows that have one id", Run: func(c *run) { c.segmentExtremes(kernels.Maximum, math.Inf(-1)) }, Links: linkPut, Adj: segmentAdj, Tie: segmentTied, TieSay: "a tie: each takes an equal share"},
	{As: &opSegmentMin, Name: "segment_min_of", Args: "x, #ids", Hidden: true, Doc: "the smallest of rows that have one id", Run: func(c *run) { c.segmentExtremes(kernels.Minimum, math.Inf(1)) }, Links: linkPut, Adj: segmentAdj, Tie: segmentTied, TieSay: "a tie: each takes an equal share"},
}

// segments are the arguments of an operation over segments, and the shape of its result.
func (c *call) segments() (x, ids Ref, s tensor.Shape) {
	t := c.t
	x, ids = c.ref(0), c.ref(1)
	s = slices.Clone(t.Shape(x))
	if len(s) == 0 || len(t.Shape(ids)) != 1 || t.Shape(ids)[0] != s[0] {
		c.fail("shape", "%s needs one id for each row: x is %v, ids %v", c.op.Name, s, t.Shape(ids))
	}
	t.force(ids)
	s[0] = c.segmentCount(ids)
	t.log.saw(t, ids, []float64{0, float64(s[0])}, sameRange)
	if arePlaces(t.data(ids), s[0]) {
		return x, ids, s
	}
	for _, v := range t.data(ids) {
		if v != math.Trunc(v) || v < 0 || v >= float64(s[0]) {
			if s[0] == 0 {
				c.fail("shape", "segment id %v: there are no segments", v)
			}
			c.fail("shape", "segment id %v is not one of 0 … %d", v, s[0]-1)
		}
	}
	return x, ids, s
}

// segmentCount is n, or one more than the largest of the ids.
func (c *call) segmentCount(ids Ref) int {
	t := c.t
	switch {
	case c.given(2):
		n := c.int(2)
		if n < 0 {
			c.fail("shape", "%s of %d segments", c.op.Name, n)
		}
		return n
	case t.Shape(ids)[0] == 0:
		return 0
	}
	largest := t.read(t.record(opMaxOf, nil, Attr{Axes: []int{-1}}, ids))[0]
	return max(0, c.whole(largest, c.where(1))+1)
}

// segmentExtreme lowers segment_max and segment_min.
func (c *call) segmentExtreme(of *Op) value {
	x, ids, s := c.segments()
	return c.t.recordAs(of, s, c.t.ins[x].dtype, Attr{Axes: []int{-len(s)}}, x, ids)
}

// segmentExtremes runs them, from what is none.
func (c *run) segmentExtremes(of func(dst, x, y []float64), none float64) {
	_, n, inner := outerInner(c.shape, c.attr.Axes[0])
	x := c.args[0]
	for i := range c.out {
		c.out[i] = none
	}
	c.eachPlaces(1, c.args[1], n, func(at int, places []int) {
		for i, k := range places {
			y := c.out[k*inner : (k+1)*inner]
			of(y, y, x[(at+i)*inner:(at+i+1)*inner])
		}
	})
}

// segmentHits is 1 at the rows that reach the extreme r of their segment, 0 elsewhere.
func segmentHits(t *Tape, r Ref) Ref {
	x, ids := t.Args(r)[0], t.Args(r)[1]
	best := t.take(r, ids, 0)
	return t.Apply(opWhere, t.apply("equal", x, best), t.Const(1), t.Const(0))
}

// segmentTies counts them in every segment.
func segmentTies(t *Tape, r Ref) Ref {
	return t.put(segmentHits(t, r), t.Args(r)[1], t.Shape(r), Attr{Axes: t.Attr(r).Axes})
}

// segmentTied marks the segments whose extreme is reached more than once.
func segmentTied(t *Tape, r Ref) Ref { return t.apply("greater", segmentTies(t, r), t.Const(1)) }

// segmentAdj shares the cotangent among the tied.
func segmentAdj(t *Tape, r Ref, i int, ct Ref) Ref {
	if i == 1 {
		return None
	}
	ids := t.Args(r)[1]
	share := t.Apply(opDiv, segmentHits(t, r), t.take(segmentTies(t, r), ids, 0))
	return t.Apply(opZMul, t.take(t.full(ct, r), ids, 0), share)
}
