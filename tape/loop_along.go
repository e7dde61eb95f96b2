package tape

import (
	"slices"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// The rows of a Jacobian through a loop are points of a batch axis along which some of its arguments vary:
// cotangents and tangents, as a rule, and not what the forward loop kept. All points go through the steps
// together: the body varies along the axis where those arguments reach, and each of its steps is the run of a
// plan (loop_planned.go), with kernels that take all points at once. Inside, the points lie side by side in each
// step; the arguments and the value of the instruction have the steps of each point side by side. So columns and
// arrays are turned round before the steps, and what these put out after them.

// An alongLoop is a loop whose steps take all points of a batch axis.
type alongLoop struct {
	*loop
	varies []bool  // by argument: it has the points
	sums   []bool  // by sum
	outs   []bool  // by carried value, then by out
	turned []bool  // by array: a step reads one row of it, of all points
	takes  float64 // how long, in nanoseconds
	fixed  int     // constants that are arguments; one more is zeros along the axis
}

// along is l for n points, along which those arguments vary; nil where steps cannot take them together, or had better
// not.
func (l *loop) along(n int, varies []bool, limit int64) *alongLoop {
	apart, work := l.apart(n)
	if apart < planCosts*planning*work.operations { // they need a plan
		return nil
	}
	b := *l
	x := &alongLoop{loop: &b, varies: slices.Clone(varies), fixed: len(l.consts)}
	b.body = l.body.copied(len(l.body.ins), limit)
	b.next, b.consts, b.adds, b.sums = slices.Clone(l.next), slices.Clone(l.consts), slices.Clone(l.adds), slices.Clone(l.sums)
	b.codes, b.many = &loopCodes{known: true, planned: true}, false
	batch := b.body.setID([]int32{int32(b.body.NewAxis(n))})
	if x.reach(batch); !x.fits() {
		return nil
	}
	x.level(batch)
	if x.takes = x.together(); planCosts*x.takes >= apart || l.lanesWin(n, work, planCosts*x.takes) {
		return nil
	}
	for _, r := range slices.Concat(b.next, b.outs) {
		x.outs = append(x.outs, b.body.ins[r].batch != 0)
	}
	b.laid()
	return x
}

// reach finds what varies along the axis: of the body, then of the sums.
func (x *alongLoop) reach(batch int32) {
	t := x.body
	slots := slices.Concat(x.carry, x.consts, x.arrays, x.columns)
	for again := true; again; {
		for i, s := range slots {
			if x.varies[i] {
				t.ins[s].batch = batch
			}
		}
		for i := range t.ins {
			r := Ref(i)
			if !t.known(r) && slices.ContainsFunc(t.Args(r), func(a Ref) bool { return t.ins[a].batch != 0 }) {
				t.ins[r].batch = batch
			}
		}
		again = false
		for k, r := range x.next {
			if !x.varies[k] && t.ins[r].batch != 0 {
				x.varies[k], again = true, true
			}
		}
	}
	start := len(slots)
	for i := range x.loop.sums {
		s := &x.loop.sums[i]
		wide := slices.ContainsFunc(x.adds, func(a loopAddend) bool { return a.sum == i && t.ins[a.value].batch != 0 })
		if s.from {
			wide = wide || x.varies[start]
			x.varies[start] = wide
			start++
		}
		if x.sums = append(x.sums, wide); wide {
			s.shape = append(slices.Clone(s.shape), t.axes[0])
		}
	}
}

// fits reports whether steps can take the points together: of an array that varies along the axis they read either
// single rows, at places that the index gives, or what is known or computed; and all points are added to one place.
func (x *alongLoop) fits() bool {
	t := x.body
	if slices.ContainsFunc(x.adds, func(a loopAddend) bool { return t.ins[a.at].batch != 0 }) {
		return false
	}
	x.turned = make([]bool, len(x.arrays))
	others := make([]bool, len(x.arrays))
	for i, on := range t.live(x.wanted()) {
		r := Ref(i)
		if !on || t.ins[r].Op() != opLoad {
			continue
		}
		at, array := t.Args(r)[0], t.Args(r)[1]
		k := slices.Index(x.arrays, array)
		switch _, row := x.affine(at); {
		case t.ins[array].batch == 0:
		case !row:
			others[k] = true
		case t.Shape(r).Size() != t.Shape(array)[1:].Size():
			return false
		default:
			x.turned[k] = true
		}
		if x.turned[k] && others[k] {
			return false
		}
	}
	return true
}

// level gives the points to what has none where something that has them is carried or added to.
func (x *alongLoop) level(batch int32) {
	t, zero := x.body, None
	wide := func(r Ref) Ref {
		if t.ins[r].batch != 0 {
			return r
		}
		if zero == None {
			zero = t.push(Instr{op: opSlot.id(), dtype: tensor.Float64, batch: batch})
			x.consts = append(x.consts, zero)
		}
		return t.add(opWhere, t.ins[r].shape, t.ins[r].dtype, 0, zero, zero, r)
	}
	for k, r := range x.next {
		if x.varies[k] {
			x.next[k] = wide(r)
		}
	}
	for i := range x.adds {
		if a := &x.adds[i]; x.sums[a.sum] {
			a.value = wide(a.value)
		}
	}
}

// turned is how many bytes take what is turned round of loop r, where that runs for many points.
func (t *Tape) turned(r Ref) int64 {
	if t.ins[r].batch == 0 {
		return 0
	}
	n := t.size(r)
	for _, a := range t.Args(r) {
		if t.ins[a].batch != 0 {
			n += t.size(a)
		}
	}
	return 8 * int64(n)
}

// turnCost is how long it takes to turn a number of a column round, or to fetch it for a point or put it out, in
// nanoseconds; pointCost how long the rest that a point needs by itself takes.
const (
	turnCost  = 1
	pointCost = 1e3
)

// slowdown is how much longer operations on all points take than plans otherwise: Go does more of them.
const slowdown = 1.5

// apart is how long n points of l take one after the other.
func (l *loop) apart(n int) (time float64, work stepWork) {
	work, large := l.work()
	steps, row := float64(n)*float64(max(l.n, 1)), 0
	for _, r := range slices.Concat(l.columns, l.outs) {
		row += l.body.size(r)
	}
	if large {
		time = work.byPlan(steps)
	} else {
		time = (work.least + turnCost*float64(row)) * steps
	}
	return time + pointCost*float64(n), work
}

// together is how long they take together.
func (x *alongLoop) together() float64 {
	work, _ := x.work()
	turned := 0
	for k, a := range x.arrays {
		if x.turned[k] {
			turned += x.body.size(a)
		}
	}
	for k, c := range x.columns {
		if x.varies[len(x.carry)+x.fixed+len(x.arrays)+k] {
			turned += x.n * x.body.size(c)
		}
	}
	for _, r := range x.loop.outs {
		turned += x.n * x.body.size(r)
	}
	work.planned *= slowdown
	return work.byPlan(float64(max(x.n, 1))) + turnCost*float64(turned)
}

// leastShared is how long a loop takes, in nanoseconds, of which threads take points each.
var leastShared = 5e5

// wholeLoop runs a loop for all points of a batch at once; for some of them on each thread, where that is long.
func wholeLoop(c *run, b *batch, out []float64, data [][]float64) bool {
	l, t := c.attr.Loop, c.t
	varies := make([]bool, len(data))
	for i, a := range t.Args(c.r) {
		varies[i] = t.ins[a].batch != 0
	}
	along := func(n int) *alongLoop { return l.codes.along(l, n, varies, t.Limit) }
	x := along(b.n)
	if x == nil {
		return c.inLanes(b, out, data)
	}
	if parts := min(c.threads, b.n); parts > 1 && x.takes >= leastShared && x.stays(parts) && along(b.n/parts) != nil && along((b.n+parts-1)/parts) != nil {
		pool.Run(parts, parts, func(i int) {
			from, to := b.n*i/parts, b.n*(i+1)/parts
			along(to-from).run(c, b, from, to, 1, out, data)
		})
		return true
	}
	x.run(c, b, 0, b.n, c.threads, out, data)
	return true
}

// stays reports whether what moves is read where it lies by parts of the points as it is by all.
func (x *alongLoop) stays(parts int) bool {
	return !slices.ContainsFunc(x.carry, func(c Ref) bool {
		n, least := x.body.size(c), x.body.leastRead()
		return n >= least && n/parts < least
	})
}

// run runs the loop of an instruction for points from to to-1 of a batch.
func (x *alongLoop) run(c *run, b *batch, from, to, threads int, out []float64, data [][]float64) {
	l, t, n := c.attr.Loop, c.t, to-from
	var held loans
	defer held.giveBack()
	first := len(l.carry) + len(l.consts) // of those that have rows
	args := make([][]float64, len(data), len(data)+1)
	for i, v := range data {
		if args[i] = v; !x.varies[i] {
			continue
		}
		size := c.shapes[i].Size()
		if b.at[i] == nil {
			args[i] = v[from*size : to*size]
		} else { // not of every point
			args[i] = held.take(n * size)
			b.gather(args[i], v, i, size, from, to)
		}
		if i >= first && !(i < first+len(x.arrays) && !x.turned[i-first]) {
			row := c.shapes[i][1:].Size()
			turned := held.take(n * size)
			turnBlocks(turned, n*row, args[i], size, n, c.shapes[i][0], row)
			args[i] = turned
		}
	}
	if len(x.consts) > x.fixed {
		zeros := held.take(n)
		clear(zeros)
		args = slices.Insert(args, first, zeros)
	}
	value := held.take(x.outAt(len(x.loop.outs)))
	runLoop(&run{t: t, r: c.r, attr: &Attr{Loop: x.loop}, out: value, args: args, threads: threads})
	total := l.outAt(len(l.outs))
	x.putOut(l, out[from*total:to*total], value, n)
}

// Loans are pieces of memory that are the arena's.
type loans [][]float64

func (l *loans) take(n int) []float64 {
	m := arena64.take(n)
	*l = append(*l, m)
	return m
}

func (l *loans) giveBack() {
	for _, m := range *l {
		arena64.give(m)
	}
}

// putOut writes to out, for each of n points, what its value of l is.
func (x *alongLoop) putOut(l *loop, out, value []float64, n int) {
	total := l.outAt(len(l.outs))
	each := func(to, from, rows, size int, wide bool) { // rows, of so many numbers each
		if v := value[from:]; wide {
			turnBlocks(out[to:], total, v, n*size, rows, n, size)
		} else {
			for k := range n {
				copy(out[k*total+to:][:rows*size], v)
			}
		}
	}
	for k, r := range l.next {
		each(l.nextAt(k), x.nextAt(k), 1, l.body.size(r), x.outs[k])
	}
	for i, s := range l.sums {
		rows := s.shape[0]
		each(l.sumAt(i), x.sumAt(i), rows, s.shape.Size()/max(rows, 1), x.sums[i])
	}
	for k, r := range l.outs {
		each(l.outAt(k), x.outAt(k), l.n, l.body.size(r), x.outs[len(l.next)+k])
	}
}

// turnBlocks writes n rows of m blocks, of so many numbers each, as m rows of n blocks. Rows begin as far apart as said.
func turnBlocks(dst []float64, dstRow int, src []float64, srcRow, n, m, size int) {
	if size == 1 {
		kernels.TransposeLarge(dst, dstRow, src, srcRow, n, m)
		return
	}
	for j := range m {
		kernels.CopyRows(dst[j*dstRow:], size, src[j*size:], srcRow, size, n)
	}
}

// addTurned adds to rows, of n points side by side and so many numbers of each, what each of the points has of them.
func addTurned(rows, v []float64, n, each, size int) {
	if each == size { // one row
		kernels.Accumulate(rows, v)
		return
	}
	for i := range n {
		for j := range each / size {
			add(rows[(j*n+i)*size:][:size], v[i*each+j*size:][:size])
		}
	}
}

// along is l for so many points, made once.
func (c *loopCodes) along(l *loop, n int, varies []bool, limit int64) *alongLoop {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.wide {
		if k.n == n && slices.Equal(k.varies, varies) {
			return k.loop
		}
	}
	x := l.along(n, varies, limit)
	c.wide = append(c.wide, alongKey{n, slices.Clone(varies), x})
	return x
}

// An alongKey is what an alongLoop was made for.
type alongKey struct {
	n      int
	varies []bool
	loop   *alongLoop
}
