package tape

import (
	"runtime"
	"slices"

	"nabla/expr"
	"nabla/tape/tensor"
)

// Compute is Values with large matrices of derivatives done some rows at a time.
func (t *Tape) Compute(rs []Ref) {
	runs, rest := t.rowRuns(rs)
	t.Values(rest)
	for _, x := range runs {
		x.all()
	}
}

// Values computes rs, together, and keeps their values.
func (t *Tape) Values(rs []Ref) {
	if x := t.values(rs); x != nil {
		x.leave()
	}
}

// A look is an execution of values that are asked for after the plan of a recording.
type look struct {
	refs []Ref
	x    *execution
}

// looks is Values for what warnings are worded of. A recording holds how it did so, with the memory: the next run writes
// over it. Prepared, sum(abs(x[:, newaxis] - x)) of 300 numbers, at 0 in each answer, took 1.6 times as long with a plan and
// memory of its own for each.
func (t *Tape) looks(rs ...Ref) {
	if !t.passing {
		t.Values(rs)
		return
	}
	rs = slices.DeleteFunc(rs, func(r Ref) bool { return r == None || t.known(r) })
	if len(rs) == 0 {
		return
	}
	i := slices.IndexFunc(t.looked, func(l look) bool { return slices.Equal(l.refs, rs) })
	if i < 0 {
		t.looked = append(t.looked, look{rs, t.values(rs)})
		return
	}
	x := t.looked[i].x
	x.again()
	t.Stats.add(x.p, 1)
	t.Stats.Peak = max(t.Stats.Peak, x.p.peak)
	x.tell(rs)
}

// tell keeps the values of rs with the tape.
func (x *execution) tell(rs []Ref) {
	for _, r := range rs {
		if !x.t.known(r) {
			x.t.keep(r, x.data(x.p.same[r]))
			x.t.wasKept(r)
		}
	}
}

// own appends the memory of values that is worth keeping, and not part of another's.
func (x *execution) own(to [][]float64) [][]float64 {
	for i, m := range x.mem {
		if len(m) >= leastKept && !x.p.view[i] {
			to = append(to, m)
		}
	}
	return to
}

// leave forgets where values are, which the desk would keep as long as the tape: hundreds of executions' results, of
// prepared questions that stand at a kink.
func (x *execution) leave() {
	for _, s := range [][][]float64{x.mem, x.direct, x.loads, x.args, x.moved} {
		clear(s[:cap(s)])
	}
	*x = execution{}
}

// uncomputed are those of rs that are not computed yet.
func (t *Tape) uncomputed(rs []Ref) []Ref {
	want := t.desk.refs.of(len(rs))[:0]
	for _, r := range rs {
		if r != None && !t.known(r) {
			want = append(want, r)
		}
	}
	return want
}

// values is Values; it returns the execution, or nil when all was known.
func (t *Tape) values(rs []Ref) *execution {
	want := t.uncomputed(rs)
	if len(want) == 0 {
		return nil
	}
	p := t.planned(want)
	x := t.desk.runs.one()
	x.begin(p, t.desk.values.of(p.slots))
	x.direct, x.loads, x.args, x.odd = t.desk.values.of(8), t.desk.values.of(8), t.desk.values.of(4), t.desk.odd[:]
	x.whole = true
	t.busy = true
	x.run()
	t.busy = false
	t.Stats.add(p, 1)
	x.tell(want)
	x.release()
	return x
}

// again runs the plan once more, over the leaves as they are now. What is in memory stays
// where it is, and is written over; but not what is there as float32, too.
func (x *execution) again() {
	t, p := x.t, x.p
	if x.mem32 != nil {
		x.recycle()
	}
	x.run()
	for _, r := range p.outs {
		if !t.single(r) {
			t.big[r] = x.data(p.same[r])
		} else if s := p.same[r]; s != r {
			t.num[r] = t.num[s]
		}
	}
	x.release()
}

// An execution is one run of a plan.
type execution struct {
	p    *Plan
	t    *Tape
	mem  [][]float64    // values of more than one element computed here, by the plan's slots
	pool spare[float64] // memory of dead values, by size

	mem32  [][]float32 // mem and pool of float32
	pool32 spare[float32]
	leaves map[Ref][]float32 // leaves as float32

	from    int  // the first of the rows that run, for seeds
	workers int  // threads; 0: as many as the tape has,
	cores   int  // which are so many in this run; 0: not asked yet
	whole   bool // the values are the tape's

	rights  []sharedRight    // right operands that a chain's products share
	right   map[Ref]int      // the product: its right operand
	columns map[Ref]bool     // products with a column, whose left operand it is, transposed
	times   map[Ref]epilogue // products that are multiplied before they are stored
	placed  []elsewhere      // products whose rows lie in values of the chain

	args [][]float64 // of the instruction that runs

	// of the tile program that runs:
	tiling
	spans32 tileData // of float32
}

// add counts n runs of a plan.
func (s *Stats) add(p *Plan, n int) {
	s.Executed += n * p.count
	s.Flops += float64(n) * p.flops
}

func newExecution(p *Plan) *execution {
	x := new(execution)
	x.begin(p, make([][]float64, p.slots))
	return x
}

// begin makes x ready to run a plan, with room for where its values are.
func (x *execution) begin(p *Plan, mem [][]float64) {
	x.p, x.t, x.mem = p, p.t, mem
	if slices.Contains(p.single, true) {
		x.mem32, x.leaves = make([][]float32, p.slots), map[Ref][]float32{}
	}
}

// recycle gives all memory back for the next run of a plan of the same sizes.
func (x *execution) recycle() {
	for i := range x.mem {
		x.free(int32(i))
	}
}

func (x *execution) threads() int {
	if x.workers > 0 {
		return x.workers
	}
	if x.cores == 0 {
		x.cores = x.t.threads()
	}
	return x.cores
}

// run carries the steps out, in order.
func (x *execution) run() {
	t := x.t
	if n := len(t.ins); n > len(t.num) {
		t.num = append(t.num, make([]float64, n-len(t.num))...)
	}
	x.cores = 0
	for i := range x.p.steps {
		s := &x.p.steps[i]
		x.reach(expr.NoPos)
		if t.check != nil && i&63 == 0 {
			t.check()
		}
		switch s.kind {
		case stepNumbers:
			x.numbers(s.refs)
		case stepTile:
			switch {
			case s.slide == nil:
				x.tiles(s.tile)
			case s.slide.first == i:
				x.slide(s.slide)
			}
		case stepOne:
			switch {
			case x.p.single[i]:
				x.product(s.refs[0])
			case s.isPicked():
				x.pick(s.refs[0], s.refs[1], s.refs[2])
			case len(s.refs) > 1:
				x.softmaxes(s.refs[0], s.refs[1])
			default:
				x.one(s.refs[0])
			}
		case stepChain:
			x.carry(s.chain)
		}
		for _, r := range s.free {
			x.free(x.p.slot[r])
		}
	}
}

// anew runs the plan once more for other values of what it was given. Results are written over where
// they are; but not what is there as float32, too.
func (x *execution) anew() {
	if x.mem32 != nil {
		for _, r := range x.p.outs {
			if r = x.p.same[r]; x.p.slot[r] >= 0 && x.p.home[r] >= 0 {
				x.free(x.p.slot[r])
			}
		}
	}
	x.run()
}

// reach notes where in the program the execution is, for a limit of time. Those beside others, which share
// the tape, note nothing.
func (x *execution) reach(at expr.Pos) {
	if x.workers == 0 {
		x.t.at = at
	}
}

// alloc gives memory for n numbers, unspecified.
func (x *execution) alloc(n int) []float64 { return x.pool.take(n, &arena64) }

// spares is how many numbers of dead values the execution keeps: what the plan takes at once,
// or as many as an arena, in a quarter of what is allowed.
func (x *execution) spares() int {
	most := max(mostKept, int(x.p.peak/8))
	if limit := x.t.Limit; limit > 0 {
		most = min(most, int(limit/(4*8)))
	}
	return most
}

// release gives memory of dead values to the executions to come. What is short stays with this
// one, for its next run.
func (x *execution) release() {
	x.freeSingles()
	x.pool.release(&arena64)
	x.pool32.release(&arena32)
}

// result is memory for r: that which it has already, or else new.
func (x *execution) result(r Ref) []float64 {
	s := x.p.slot[r]
	if x.mem[s] == nil {
		x.mem[s] = x.alloc(x.t.size(r))
	}
	return x.mem[s]
}

// data is the value of r: a leaf, or computed here.
func (x *execution) data(r Ref) []float64 {
	if s := x.p.slot[r]; s >= 0 { // no single number
		if x.p.narrow[r] {
			return x.widen(r)
		}
		return x.mem[s]
	}
	if x.t.single(r) {
		return x.t.num[r : r+1 : r+1]
	}
	return x.t.big[r]
}

// numbers runs elementwise operations on single numbers.
func (x *execution) numbers(refs []Ref) {
	t, same := x.t, x.p.same
	num := t.num
	for _, r := range refs {
		in := &t.ins[r]
		op := in.Op()
		var v float64
		switch {
		case op.f2 != nil:
			v = op.f2(num[same[in.args[0]]], num[same[in.args[1]]])
		case op.f1 != nil:
			v = op.f1(num[same[in.args[0]]])
		case op.f3 != nil:
			v = op.f3(num[same[in.args[0]]], num[same[in.args[1]]], num[same[in.args[2]]])
		default:
			var a [3]float64
			for i, y := range t.Args(r) {
				a[i] = num[same[y]]
			}
			v = op.one(a)
		}
		if in.dtype == tensor.Float32 {
			v = float64(float32(v))
		}
		num[r] = v
	}
}

// one runs a structural instruction.
func (x *execution) one(r Ref) {
	t := x.t
	args := t.Args(r)
	x.args = grown(x.args, len(args))
	data := x.args
	for i, a := range args {
		data[i] = x.data(x.p.same[a])
	}
	in := &t.ins[r]
	x.reach(in.Pos)
	if s := x.p.slot[r]; s >= 0 && x.p.view[s] {
		off := 0
		if in.Op() == opBlock {
			off = int(in.args[1])
		}
		x.mem[s] = data[0][off : off+t.size(r)]
		if sane, seen := t.sane[x.p.same[args[0]]]; seen && x.whole {
			t.isSane(r, sane)
		}
		return
	}
	var out []float64
	if t.single(r) {
		out = t.num[r : r+1 : r+1]
	} else {
		if x.packedProduct(r) {
			return
		}
		out = x.result(r)
	}
	t.runAs(x.p.loopOf(r), r, out, data, x.threads(), x.from)
	switch {
	case !x.whole:
	case in.Op() == opMatmul && in.dtype == tensor.Float64 && len(out) > leastBounded*(len(data[0])+len(data[1])):
		t.isSane(r, boundedProduct(data[0], data[1]))
	case in.Op() == opBroadcast && len(out) > leastBounded*len(data[0]):
		t.isSane(r, finiteNumbers(data[0]))
	}
	if in.dtype == tensor.Float32 {
		kernelsFloat32(out, out)
	}
}

// isSane notes whether all of a result was seen to be finite.
func (t *Tape) isSane(r Ref, yes bool) {
	if t.sane == nil {
		t.sane = map[Ref]bool{}
	}
	t.sane[r] = yes
}

func (t *Tape) threads() int {
	if t.Threads > 0 {
		return t.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// grown is x, or a longer slice, of n numbers.
func grown[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}
