package tape

import (
	"slices"
	"sync"

	"nabla/tape/tensor"
)

// A run is one execution of a structural operation on logical values: out and args
// are the numbers of one point of the batch, in the shapes given.
type run struct {
	t      *Tape
	r      Ref
	attr   *Attr
	out    []float64
	shape  tensor.Shape
	args   [][]float64
	shapes []tensor.Shape
	points batch        // where arguments lie for each point
	led    tensor.Shape // room for shapes with the points in front

	point   int // of the batch that runs
	threads int // that may be used
	from    int // the first of the rows that run, where a batch axis runs in parts
}

// runs are kept from one instruction to the next.
var runs = sync.Pool{New: func() any { return new(run) }}

func (c *run) done() {
	clear(c.args)
	clear(c.shapes)
	*c = run{args: c.args, shapes: c.shapes, points: c.points, led: c.led}
	runs.Put(c)
}

// fail stops the run with an error that names the operation: exit code 5.
func (c *run) fail(msg, hint string) {
	panic(&Misuse{Kind: "run", Msg: msg, Hint: hint, Pos: c.t.ins[c.r].Pos})
}

// runStructural computes r into out, once for every point of its batch.
func (t *Tape) runStructural(r Ref, out []float64, data [][]float64, threads int) {
	t.runAs(t.Attr(r), r, out, data, threads, 0)
}

// runAs is runStructural with an attribute that may say another thing than that of r.
func (t *Tape) runAs(attr *Attr, r Ref, out []float64, data [][]float64, threads, from int) {
	op := t.ins[r].Op()
	switch op {
	case opBasis:
		t.runBasis(r, out, from)
		return
	case opGroups:
		t.runGroups(r, out, from)
		return
	case opUnbatch, opRebatch:
		t.runMoveAxis(r, out, data[0])
		return
	case opSumBatch:
		t.runSumBatch(r, out, data[0], threads)
		return
	}
	if t.singleProduct(r) {
		t.runProduct32(r, out, data, threads, from)
		return
	}
	args := t.Args(r)
	c := runs.Get().(*run)
	*c = run{t: t, r: r, threads: threads, from: from, attr: attr, shape: t.Shape(r), args: grown(c.args, len(args)), shapes: grown(c.shapes, len(args)), points: c.points, led: c.led}
	defer c.done()
	for i, a := range args {
		c.shapes[i] = t.Shape(a)
	}
	if len(t.Axes(r)) == 0 {
		c.atOnce(op, out, data)
		return
	}
	if op.Lead && !slices.ContainsFunc(args, func(a Ref) bool { return t.ins[a].batch != t.ins[r].batch }) {
		c.lead(t.points(r))
		c.atOnce(op, out, data)
		return
	}
	b := t.batchOf(r, &c.points)
	if b.n == 0 {
		return
	}
	if op.Whole == nil || !op.Whole(c, b, out, data) {
		c.pointByPoint(b, op.Run, out, data)
	}
	if c.meetsZeros(op, out) {
		c.pointByPoint(b, op.Zeros, out, data)
	}
}

// atOnce runs the operation on all of its arguments.
func (c *run) atOnce(op *Op, out []float64, data [][]float64) {
	c.out = out
	copy(c.args, data)
	op.Run(c)
	if c.meetsZeros(op, out) {
		op.Zeros(c)
	}
}

// lead puts an axis of n points in front of all shapes.
func (c *run) lead(n int) {
	led := c.led[:0]
	behind := func(s tensor.Shape) tensor.Shape {
		from := len(led)
		led = append(append(led, n), s...)
		return led[from:len(led):len(led)]
	}
	c.shape = behind(c.shape)
	for i, s := range c.shapes {
		c.shapes[i] = behind(s)
	}
	c.led = led
}

// pointByPoint runs what the operation does for each point of a batch.
func (c *run) pointByPoint(b *batch, does func(c *run), out []float64, data [][]float64) {
	size := c.shape.Size()
	for k := range b.n {
		c.point, c.out = k, out[k*size:(k+1)*size]
		for i := range c.args {
			n := c.shapes[i].Size()
			o := b.offset(i, k) * n
			c.args[i] = data[i][o : o+n]
		}
		does(c)
	}
}

// A batch says where each argument of an instruction lies for each point.
type batch struct {
	n  int
	at []*spread // for each argument: index of its point; nil when the same

	spreads []spread // those
}

// batchOf makes b that of r.
func (t *Tape) batchOf(r Ref, b *batch) *batch {
	axes, args := t.Axes(r), t.Args(r)
	b.n = 1
	var fromRoom, toRoom [8]int
	to := append(tensor.Shape(toRoom[:0]), make(tensor.Shape, len(axes))...)
	for i, axis := range axes {
		to[i] = t.axes[axis]
		b.n *= to[i]
	}
	b.at, b.spreads = grown(b.at, len(args)), grown(b.spreads, len(args))
	for k, a := range args {
		if b.at[k] = nil; t.ins[a].batch == t.ins[r].batch {
			continue
		}
		from := append(tensor.Shape(fromRoom[:0]), to...)
		for i, axis := range axes {
			if !slices.Contains(t.Axes(a), axis) {
				from[i] = 1
			}
		}
		if sp := &b.spreads[k]; sp.set(from, to) {
			b.at[k] = sp
		}
	}
	return b
}

// points is the number of batch points of r.
func (t *Tape) points(r Ref) int { return t.pointsOf(t.ins[r].batch) }

// pointsOf is the number of points along batch axes.
func (t *Tape) pointsOf(batch int32) int {
	n := 1
	for _, axis := range t.sets[batch] {
		n *= t.axes[axis]
	}
	return n
}

// offset is the index of the point of argument i that belongs to point k.
func (b *batch) offset(i, k int) int {
	sp := b.at[i]
	if sp == nil {
		return k
	}
	off := 0
	for j := len(sp.dims) - 1; j >= 0; j-- {
		off += k % sp.dims[j] * sp.strides[j]
		k /= sp.dims[j]
	}
	return off
}

// gather fills dst with what argument i, of so many numbers a point, is at points from from on; from to on there are none,
// and the last one stands for them.
func (b *batch) gather(dst, v []float64, i, size, from, to int) {
	for k := range len(dst) / max(size, 1) {
		copy(rowAt(dst, size, k), rowAt(v, size, b.offset(i, min(from+k, to-1))))
	}
}

// straight is how many points from k on, before end, lie equally far apart in both arguments,
// and how far.
func (b *batch) straight(k, end int) (n, dx, dy int) {
	n = end - k
	var step [2]int
	for i, sp := range b.at {
		step[i] = 1
		if sp != nil {
			last := len(sp.dims) - 1
			n, step[i] = min(n, sp.dims[last]-k%sp.dims[last]), sp.strides[last]
		}
	}
	return n, step[0], step[1]
}

// runElementwise computes r into out, argument by argument spread to its full shape.
func (t *Tape) runElementwise(r Ref, out []float64, data [][]float64) {
	if len(out) == 0 {
		return
	}
	var x [3][]float64
	for i, a := range t.Args(r) {
		x[i] = spreadTo(t.spreadOf(a, r), data[i], len(out))
	}
	t.ins[r].Op().call(out, x[0], x[1], x[2])
}
