package tape

import (
	"slices"
	"sync"

	"nabla/tape/tensor"
)

// Force computes r now and keeps the value, and every value on the way, as leaves for
// later plans: each instruction runs once. It runs the tape one instruction at a time,
// which also makes it the slow, obvious version that plans are tested against.
func (t *Tape) Force(r Ref) *tensor.Tensor {
	t.force(r)
	return &tensor.Tensor{DType: t.ins[r].dtype, Shape: t.physical(r), Data: t.data(r)}
}

// data is the value of a known instruction.
func (t *Tape) data(r Ref) []float64 {
	if t.single(r) {
		return t.num[r : r+1 : r+1]
	}
	return t.big[r]
}

// force computes r and what it needs of what is not known, one instruction at a time, and keeps all
// of it.
func (t *Tape) force(r Ref) {
	if t.known(r) {
		return
	}
	t.mustBeKnown(r)
	// collect what is not yet known below r, then run it in index order
	todo := []Ref{r}
	seen := map[Ref]bool{r: true}
	for i := 0; i < len(todo); i++ {
		for _, a := range t.Args(todo[i]) {
			if !t.known(a) && !seen[a] {
				seen[a] = true
				todo = append(todo, a)
			}
		}
	}
	slices.Sort(todo)
	for _, x := range todo {
		t.runOne(x, nil)
		t.log.ran(t, x)
		t.wasKept(x)
	}
}

// mustBeKnown keeps the body of a loop from asking for a value that only its steps have.
func (t *Tape) mustBeKnown(r Ref) {
	if t.isBody && !t.known(r) {
		panic(&notRolled{"a value is wanted while the body is recorded"})
	}
}

// runOne executes one instruction whose arguments are known, into out if there is one.
func (t *Tape) runOne(r Ref, out []float64) {
	in := &t.ins[r]
	t.Stats.Executed++
	args := t.Args(r)
	if t.single(r) && in.Op().elementwise() {
		var v [3]float64
		for i, a := range args {
			v[i] = t.num[a]
		}
		t.setNum(r, round(in.dtype, in.Op().one(v)))
		return
	}
	data := make([][]float64, len(args))
	for i, a := range args {
		data[i] = t.data(a)
	}
	again := out != nil
	if !again {
		out = make([]float64, t.size(r))
	}
	if in.Op().elementwise() {
		t.runElementwise(r, out, data)
	} else {
		t.runStructural(r, out, data, t.threads(), 0)
	}
	if in.dtype == tensor.Float32 {
		kernelsFloat32(out, out)
	}
	if !again {
		t.keep(r, out)
	}
}

func round(d tensor.DType, v float64) float64 {
	if d == tensor.Float32 {
		return float64(float32(v))
	}
	return v
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

// spreadOf is nil when a has the very layout of r.
func (t *Tape) spreadOf(a, r Ref) *spread {
	if t.sameLayout(a, r) {
		return nil
	}
	var from, to [8]int
	return newSpread(t.appendAligned(from[:0], a, r), t.appendPhysical(to[:0], r))
}

// alignedTo is the shape of a in memory with ones wherever r has an axis more.
func (t *Tape) alignedTo(a, r Ref) tensor.Shape { return t.appendAligned(nil, a, r) }

// appendAligned appends that to s.
func (t *Tape) appendAligned(s tensor.Shape, a, r Ref) tensor.Shape {
	mine := t.Axes(a)
	for _, axis := range t.Axes(r) {
		if slices.Contains(mine, axis) {
			s = append(s, t.axes[axis])
		} else {
			s = append(s, 1)
		}
	}
	as, rs := t.Shape(a), t.Shape(r)
	for range len(rs) - len(as) {
		s = append(s, 1)
	}
	return append(s, as...)
}

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
	panic(&Misuse{Kind: "run", Msg: msg, Hint: hint, Pos: c.t.ins[c.r].Pos, Code: 5})
}

// runStructural computes r into out, once for every point of its batch.
func (t *Tape) runStructural(r Ref, out []float64, data [][]float64, threads, from int) {
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
	*c = run{t: t, r: r, threads: threads, from: from, attr: t.Attr(r), shape: t.Shape(r), args: grown(c.args, len(args)), shapes: grown(c.shapes, len(args)), points: c.points, led: c.led}
	defer c.done()
	for i, a := range args {
		c.shapes[i] = t.Shape(a)
	}
	axes := t.Axes(r)
	if len(axes) == 0 {
		c.out = out
		copy(c.args, data)
		op.Run(c)
		return
	}
	if op.Lead && !slices.ContainsFunc(args, func(a Ref) bool { return t.ins[a].batch != t.ins[r].batch }) {
		n := t.points(r)
		led := c.led[:0]
		lead := func(s tensor.Shape) tensor.Shape {
			from := len(led)
			led = append(append(led, n), s...)
			return led[from:len(led):len(led)]
		}
		c.shape = lead(c.shape)
		for i, s := range c.shapes {
			c.shapes[i] = lead(s)
		}
		c.led = led
		c.out = out
		copy(c.args, data)
		op.Run(c)
		return
	}
	b := t.batchOf(r, &c.points)
	if op.Whole != nil && op.Whole(c, b, out, data) {
		return
	}
	size := c.shape.Size()
	for k := range b.n {
		c.point, c.out = k, out[k*size:(k+1)*size]
		for i := range args {
			n := c.shapes[i].Size()
			o := b.offset(i, k) * n
			c.args[i] = data[i][o : o+n]
		}
		op.Run(c)
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
func (t *Tape) points(r Ref) int {
	n := 1
	for _, axis := range t.Axes(r) {
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

// runBasis writes unit vectors, the first of them number from.
func (t *Tape) runBasis(r Ref, out []float64, from int) {
	n := t.Shape(r).Size()
	clear(out)
	for i := range t.axes[t.Attr(r).Axis] {
		out[i*n+from+i] = 1
	}
}

// runGroups writes sums of unit vectors, the first of them those of colour from.
func (t *Tape) runGroups(r Ref, out []float64, from int) {
	colour := t.Attr(r).Colour
	n := len(colour)
	for k := range t.axes[t.Attr(r).Axis] {
		row := out[k*n : (k+1)*n]
		for i, c := range colour {
			row[i] = 0
			if int(c) == from+k {
				row[i] = 1
			}
		}
	}
}

// runMoveAxis moves a batch axis between its sorted place and the front of the
// logical axes: a transposition of at most one axis, with repetition where the
// argument of unbatch does not vary along it.
func (t *Tape) runMoveAxis(r Ref, out, x []float64) {
	a := int32(t.Attr(r).Axis)
	wide, logical := t.Args(r)[0], r // wide: the side that has the batch axis
	if t.ins[r].Op() == opRebatch {
		wide, logical = r, t.Args(r)[0]
	}
	n := t.axes[a]
	inner := t.Shape(wide).Size()
	// batch axes of the logical side, in order: those before a, and those after it
	before, after := 1, 1
	for _, ax := range t.Axes(logical) {
		if ax < a {
			before *= t.axes[ax]
		} else {
			after *= t.axes[ax]
		}
	}
	varies := slices.Contains(t.Axes(wide), a)
	for i := range before {
		for k := range n {
			for j := range after {
				l := ((i*after+j)*n + k) * inner
				w := ((i*n+k)*after + j) * inner
				if !varies {
					w = (i*after + j) * inner
				}
				if t.ins[r].Op() == opRebatch {
					copy(out[w:w+inner], x[l:l+inner])
				} else {
					copy(out[l:l+inner], x[w:w+inner])
				}
			}
		}
	}
}

// runSumBatch adds the points of a batch axis in order.
func (t *Tape) runSumBatch(r Ref, out, x []float64, threads int) {
	a := int32(t.Attr(r).Axis)
	n := t.axes[a]
	before, inner := 1, t.Shape(r).Size()
	for _, ax := range t.Axes(r) {
		if ax < a {
			before *= t.axes[ax]
		} else {
			inner *= t.axes[ax]
		}
	}
	sumMiddle(out, x, before, n, inner, threads)
}

// Bool forces r, a condition, to a truth value. Where the points of a batch disagree
// it panics with *diverged, and the owner of the batch axis splits them.
func (t *Tape) Bool(r Ref) bool {
	t.mustBeKnown(r)
	if t.Shape(r).Size() != 1 {
		panic(&Misuse{Kind: "shape", Pos: t.pos,
			Msg:  "a condition must be a scalar, this one has shape " + t.Shape(r).String(),
			Hint: "where(c, a, b) chooses elementwise; any(c) and all(c) give one answer"})
	}
	t.force(r)
	data := t.data(r)
	t.log.saw(t, r, data, sameTruth)
	if len(data) == 0 {
		return false
	}
	yes := data[0] != 0
	for _, v := range data[1:] {
		if (v != 0) != yes {
			panic(&diverged{axes: t.Axes(r), data: data})
		}
	}
	return yes
}

// diverged says that the points of a batch disagree about a condition.
type diverged struct {
	axes []int32
	data []float64
}
