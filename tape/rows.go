package tape

import (
	"slices"
)

// rowsBudget is how many bytes of values along a batch axis a run of rows may have
// before it is cut: enough rows to keep matrix products tall, few enough to bound
// memory by the run and not by the Jacobian.
const rowsBudget = 16 << 20

// A rowRun computes matrices that end in an unbatched axis — Jacobians, Hessian blocks —
// some rows at a time. What does not vary along the axis is computed once, before.
type rowRun struct {
	t     *Tape
	axis  int
	outs  []Ref // the unbatched matrices
	args  []Ref // what they unbatch
	bases []Ref // the seeds of the axis
	rows  int
	step  int
	plans map[int]*Plan // by number of rows
}

// rowRuns finds the matrices among want whose rows should run in parts, by axis. The
// others stay in rest.
func (t *Tape) rowRuns(want []Ref) (runs []*rowRun, rest []Ref) {
	byAxis := map[int]*rowRun{}
	for _, r := range want {
		if t.known(r) || t.ins[r].Op != opUnbatch || t.ins[r].batch != 0 {
			rest = append(rest, r)
			continue
		}
		arg, axis := t.Args(r)[0], t.Attr(r).Axis
		if axes := t.Axes(arg); len(axes) != 1 || int(axes[0]) != axis || t.known(arg) {
			rest = append(rest, r)
			continue
		}
		x := byAxis[axis]
		if x == nil {
			x = &rowRun{t: t, axis: axis, rows: t.axes[axis], plans: map[int]*Plan{}}
			byAxis[axis] = x
			runs = append(runs, x)
		}
		x.outs, x.args = append(x.outs, r), append(x.args, arg)
	}
	kept := runs[:0]
	for _, x := range runs {
		if x.prepare() {
			kept = append(kept, x)
		} else {
			rest = append(rest, x.outs...)
		}
	}
	return kept, rest
}

// prepare decides how many rows go together; false when all do.
func (x *rowRun) prepare() bool {
	t := x.t
	set := t.setID([]int32{int32(x.axis)})
	live := t.live(x.args)
	var bytes int64
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
		if t.ins[r].Op == opBasis {
			x.bases = append(x.bases, Ref(r))
		}
		bytes += 8 * int64(t.size(Ref(r)))
	}
	if bytes <= 2*rowsBudget || len(x.bases) == 0 {
		return false
	}
	perRow := max(1, bytes/int64(x.rows))
	x.step = int(max(1, min(int64(x.rows), rowsBudget/perRow)))
	if x.step > 8 {
		x.step &^= 7
	}
	return x.step < x.rows
}

// hoist computes what the rows share.
func (x *rowRun) hoist() {
	t := x.t
	live := t.live(x.args)
	var shared []Ref
	for r, on := range live {
		if !on || t.ins[r].batch == 0 {
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

// run computes rows from to to-1 and hands out each matrix's part.
func (x *rowRun) run(from, to int, part func(i int, rows []float64)) {
	t := x.t
	full := t.axes[x.axis]
	t.axes[x.axis] = to - from
	defer func() { t.axes[x.axis] = full }()
	for _, b := range x.bases {
		t.attrs[t.ins[b].attr].Num = float64(from)
	}
	p := x.plans[to-from]
	if p == nil {
		p = t.plan(x.args)
		x.plans[to-from] = p
	}
	e := newExecution(p)
	e.run()
	for i, a := range x.args {
		part(i, e.data(p.same[a]))
	}
	for _, b := range x.bases {
		t.attrs[t.ins[b].attr].Num = 0
	}
}

// all runs every row and keeps the matrices.
func (x *rowRun) all() {
	x.hoist()
	out := make([][]float64, len(x.outs))
	for i, r := range x.outs {
		out[i] = make([]float64, x.t.size(r))
	}
	for from := 0; from < x.rows; from += x.step {
		to := min(from+x.step, x.rows)
		x.run(from, to, func(i int, rows []float64) {
			n := len(out[i]) / x.rows
			copy(out[i][from*n:], rows)
		})
	}
	for i, r := range x.outs {
		x.t.keep(r, out[i])
	}
}
