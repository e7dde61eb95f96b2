package tape

import (
	"slices"
	"sync"

	"nabla/expr"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// rowsBudget is how many bytes of values along a batch axis one run of rows may have:
// few enough to stay in the shared cache and to bound memory by the run and not by the
// Jacobian, enough to keep matrix products tall. Less, to fit L2, lost what the steps cost
// by themselves: W5 took 7.4 ms with 4 MB, 8.6 with 1 and 10.6 with 0.5.
var rowsBudget int64 = 4 << 20

// Where there are many operations, which take some microsecond whatever they do, a run may have so many bytes
// more that the value of each has leastValue, but not more than mostRowsBudget: the Hessian through 50 steps of the heat
// equation on a ring of 60, unrolled, took 4.1 ms some rows at a time and takes .6; through 1000 steps, rolled, 60 ms with
// 16 MB, 40 with 32. To cut what need not be, for a second thread, took two plans and so up to five times as long.
const (
	leastValue     = 16 << 10
	mostRowsBudget = 32 << 20
)

// A rowRun computes matrices that end in an unbatched axis — Jacobians, Hessian blocks,
// batch Jacobians — some rows at a time. What does not vary along the axis is computed
// once, before; runs of rows go to different threads.
type rowRun struct {
	t      *Tape
	axis   int
	outs   []rowOut
	args   []Ref // what the matrices unbatch
	beside []Ref // what else is wanted
	rows   int
	step   int
	size   int64 // bytes of values in one run

	mu    sync.Mutex
	plans map[int]*Plan // by number of rows
	spare []*execution  // finished runs, whose memory is used again
}

// A rowOut is one matrix: an unbatched value, or a transposition of one.
type rowOut struct {
	r    Ref
	lead tensor.Shape // what the axis stands for
	rest tensor.Shape // the shape of one row
	at   []int        // where each axis of (lead, rest) steps to in the result; nil: in order
}

// rowRuns finds the matrices among want whose rows should run in parts, by axis. The
// others stay in rest.
func (t *Tape) rowRuns(want []Ref) (runs []*rowRun, rest []Ref) {
	for _, r := range want {
		out, arg, ok := t.rowOutOf(r)
		if !ok {
			rest = append(rest, r)
			continue
		}
		axis := int(t.Axes(arg)[0])
		i := slices.IndexFunc(runs, func(x *rowRun) bool { return x.axis == axis })
		if i < 0 {
			i = len(runs)
			runs = append(runs, &rowRun{t: t, axis: axis, rows: t.axes[axis], plans: map[int]*Plan{}})
		}
		x := runs[i]
		x.outs, x.args = append(x.outs, out), append(x.args, arg)
	}
	kept := runs[:0]
	for _, x := range runs {
		if x.beside = rest; x.prepare() {
			kept = append(kept, x)
			continue
		}
		for _, o := range x.outs {
			rest = append(rest, o.r)
		}
	}
	return kept, rest
}

// rowOutOf recognises a matrix whose rows are the points of one batch axis.
func (t *Tape) rowOutOf(r Ref) (out rowOut, arg Ref, ok bool) {
	out.r = r
	u := r
	if t.ins[r].Op() == opTranspose && !t.known(r) {
		u = t.Args(r)[0]
	}
	if t.known(u) || t.ins[u].Op() != opUnbatch || t.ins[u].batch != 0 {
		return out, None, false
	}
	arg = t.Args(u)[0]
	if axes := t.Axes(arg); len(axes) != 1 || int(axes[0]) != t.Attr(u).Axis || t.known(arg) {
		return out, None, false
	}
	out.lead, out.rest = t.Attr(u).Shape, t.Shape(arg)
	if u != r {
		s := t.Shape(r)
		stride := s.Strides()
		out.at = make([]int, len(s))
		for i, p := range t.Attr(r).Ints { // axis i of the result is axis p of the unbatched
			out.at[len(s)+p] = stride[i]
		}
	}
	return out, arg, true
}

// prepare decides how many rows go together; false when all do.
func (x *rowRun) prepare() bool {
	t := x.t
	set := t.setID([]int32{int32(x.axis)})
	live := t.live(x.args)
	var bytes int64
	seeded := false
	for r, on := range live {
		if !on || t.known(Ref(r)) || t.ins[r].batch == 0 {
			continue
		}
		if t.ins[r].batch != set {
			if slices.Contains(t.sets[t.ins[r].batch], int32(x.axis)) {
				return false // two axes at once: a Jacobian inside the seeds
			}
			continue
		}
		switch t.ins[r].Op() {
		case opBasis, opGroups:
			seeded = true
		case opUnbatch, opRebatch, opSumBatch:
			return false // the axis is opened or closed on the way
		}
		bytes += 8 * int64(t.size(Ref(r)))
	}
	if bytes <= 2*rowsBudget || !seeded {
		return false
	}
	alive, count := x.atOnce(live)
	budget := rowsBudget
	if many := min(count*leastValue, mostRowsBudget); many > budget {
		bytes, budget = alive, many
	} else {
		alive *= int64(t.threads()) // each had better take rows of its own
	}
	if alive <= 2*budget || x.chained() {
		return false
	}
	perRow := max(1, bytes/int64(x.rows))
	x.step = int(max(1, min(int64(x.rows), budget/perRow)))
	if x.step > 8 {
		x.step &^= 7
	}
	x.size = perRow * int64(x.step)
	return x.step < x.rows
}

// atOnce is how many bytes of values along the axis are alive at once, at most, where all rows run and operations
// come in the order in which they are recorded, and how many operations there are.
func (x *rowRun) atOnce(live []bool) (most, count int64) {
	t := x.t
	last := make([]Ref, len(live)) // who reads it last
	for i := range live {
		if r := Ref(i); live[r] && !t.known(r) && t.ins[r].batch != 0 {
			for _, a := range t.Args(r) {
				last[a] = r
			}
		}
	}
	for _, r := range x.args {
		last[r] = Ref(len(live))
	}
	dead := make([]int64, len(live)+1) // bytes of what is read last there
	now := int64(0)
	for i := range live {
		r := Ref(i)
		if !live[r] || t.known(r) || t.ins[r].batch == 0 {
			continue
		}
		bytes := 8 * int64(t.size(r))
		now += bytes
		most = max(most, now)
		dead[last[r]] += bytes
		now -= dead[r]
		count++
		if t.ins[r].Op() == opLoop {
			l := t.Attr(r).Loop
			count += int64(l.n * len(l.body.ins))
		}
	}
	return most, count
}

// chained reports whether chains keep what the matrices need beside themselves small: then
// some rows of something else, with all seeds, are better.
func (x *rowRun) chained() bool {
	t := x.t
	p := &Plan{t: t, outs: t.uncomputed(x.beside)}
	for _, o := range x.outs {
		p.outs = append(p.outs, o.r)
	}
	passLive(p)
	passFold(p)
	f := p.spaces(false)
	if f == nil || f.rows == nil {
		return false
	}
	var through, room int64
	for _, r := range p.order {
		if t.ins[r].batch != 0 && !f.inside(r, func(u Ref) bool { return f.space[r] != 0 && f.space[u] == f.space[r] }) {
			through += 8 * int64(t.size(r))
		}
	}
	if through > 2*rowsBudget {
		return false
	}
	for _, r := range p.outs {
		room += 8 * int64(t.size(r))
	}
	t.ready = t.planned(p.outs)
	return t.ready.peak <= room+4*rowsBudget // a chain that was found need not be cut
}

// hoist computes what the rows share.
func (x *rowRun) hoist() {
	t := x.t
	live := t.live(x.args)
	var shared []Ref
	for r, on := range live {
		if !on || t.known(Ref(r)) || t.ins[r].batch == 0 {
			continue
		}
		for _, a := range t.Args(Ref(r)) {
			if t.ins[a].batch == 0 && !t.known(a) {
				shared = append(shared, a)
			}
		}
	}
	slices.Sort(shared)
	t.Values(slices.Compact(shared))
}

// plan is the plan for n rows. While it is made and run the axis has that size.
func (x *rowRun) plan(n int) *Plan {
	p := x.plans[n]
	if p == nil {
		p = x.t.plan(x.args)
		x.plans[n] = p
	}
	return p
}

// run computes rows from to to-1 on the given number of threads and hands out each
// matrix's part.
func (x *rowRun) run(p *Plan, from, threads int, part func(i int, rows []float64)) {
	x.mu.Lock()
	var e *execution
	if n := len(x.spare); n > 0 {
		e = x.spare[n-1]
		x.spare = x.spare[:n-1]
	}
	x.mu.Unlock()
	if e == nil {
		e = newExecution(p)
	}
	e.p, e.from, e.workers = p, from, threads
	if len(e.mem) < p.slots {
		e.mem, e.mem32 = make([][]float64, p.slots), make([][]float32, p.slots)
	}
	e.run()
	for i, a := range x.args {
		part(i, e.data(p.same[a]))
	}
	e.recycle()
	x.mu.Lock()
	x.spare = append(x.spare, e)
	x.mu.Unlock()
}

// sized runs f while the axis stands for n rows.
func (x *rowRun) sized(n int, f func()) {
	full := x.t.axes[x.axis]
	x.t.axes[x.axis] = n
	defer func() { x.t.axes[x.axis] = full }()
	f()
}

// all runs every row and keeps the matrices, in the memory that it returns.
func (x *rowRun) all() (out [][]float64) {
	for _, o := range x.outs {
		out = append(out, arena64.take(x.t.size(o.r)))
	}
	x.parts(func(i, from int, rows []float64) {
		x.outs[i].place(out[i], rows, from, len(rows)/max(1, x.outs[i].rest.Size()))
	})
	for i, o := range x.outs {
		x.t.keep(o.r, out[i])
	}
	return out
}

// parts runs every row and hands out the parts of each matrix, from a row on, in any order
// and from several threads.
func (x *rowRun) parts(part func(i, from int, rows []float64)) {
	x.hoist()
	x.t.at = expr.NoPos
	whole := x.rows / x.step
	threads := x.t.threads()
	x.sized(x.step, func() {
		p := x.plan(x.step)
		x.t.Stats.add(p, whole)
		inner := max(1, threads/max(1, min(threads, whole)))
		if x.size > 8*rowsBudget { // so large that threads had better share the memory of one
			inner = threads
		}
		runs := func(k int) {
			from := k * x.step
			x.run(p, from, inner, func(i int, rows []float64) { part(i, from, rows) })
		}
		if inner == threads {
			for k := range whole {
				runs(k)
			}
		} else {
			pool.Run(threads, whole, runs)
		}
	})
	if from := whole * x.step; from < x.rows {
		x.sized(x.rows-from, func() {
			x.release()
			x.run(x.plan(x.rows-from), from, threads, func(i int, rows []float64) { part(i, from, rows) })
		})
	}
	x.release()
}

// release gives up the memory of the runs so far.
func (x *rowRun) release() {
	for _, e := range x.spare {
		e.release()
	}
	x.spare = nil
}

// each runs the rows in order, one run after the other, for a single matrix.
func (x *rowRun) each(emit func(part []float64) error) (err error) {
	x.hoist()
	for from := 0; from < x.rows && err == nil; from += x.step {
		n := min(x.step, x.rows-from)
		x.sized(n, func() {
			p := x.plan(n)
			if n != x.step {
				x.release()
			}
			x.run(p, from, x.t.threads(), func(_ int, rows []float64) { err = emit(rows) })
		})
	}
	x.release()
	return err
}

// place puts n rows, from row from on, where they stand in the matrix.
func (o *rowOut) place(dst, rows []float64, from, n int) {
	size := o.rest.Size()
	if o.at == nil {
		copy(dst[from*size:], rows[:n*size])
		return
	}
	lead := len(o.lead)
	sp := &spread{}
	for i, d := range o.rest { // the steps of one row in the result, joined where they go on
		sp.axis(d, o.at[lead+i])
	}
	for k := range n {
		off, rest := 0, from+k
		for i := lead - 1; i >= 0; i-- {
			off += rest % o.lead[i] * o.at[i]
			rest /= o.lead[i]
		}
		scatter(sp, dst[off:], rows[k*size:(k+1)*size])
	}
}
