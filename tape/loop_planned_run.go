package tape

import (
	"slices"

	"nabla/tape/tensor"
)

// A plannedRun is one run of a loop whose steps are planned. Where everything is found does not
// depend on the numbers: a small one is kept for the next run.
type plannedRun struct {
	*plannedStep
	runs   []*execution // of once, cond and each
	once   *execution
	each   *execution
	cond   *execution
	fixed  map[Ref][]float64 // what no step changes
	carry  [][]float64       // what is carried into the step
	room   [2][][]float64    // where carried values are by turns, where nothing else keeps them
	to     [][]float64       // by end: where it is wanted
	steady *steadyRun        // where steps are steady

	columns, arrays [][]float64
	blockRun
}

// newRun makes a run.
func (s *plannedStep) newRun() *plannedRun {
	x := &plannedRun{plannedStep: s, to: make([][]float64, len(s.ends)), fixed: map[Ref][]float64{}}
	start := func(p *Plan) *execution {
		if p == nil {
			return nil
		}
		e := newExecution(p)
		x.runs = append(x.runs, e)
		return e
	}
	x.once, x.cond, x.each = start(s.once), start(s.cond), start(s.each)
	x.newBlocks()
	return x
}

// begin takes what no step changes. The value of a loop keeps carried values where kept has
// their column: it has no room of its own.
func (s *plannedStep) begin(carry, consts, arrays, columns [][]float64, threads int, check func()) *plannedRun {
	s.t.check = check
	x := s.spare
	if s.spare = nil; x == nil {
		x = s.newRun()
	}
	x.carry, x.columns, x.arrays = append(x.carry[:0], carry...), columns, arrays
	clear(x.to)
	for _, e := range x.runs {
		e.workers = threads
	}
	set := func(r Ref, v []float64) {
		x.fixed[r] = v
		x.set(r, v)
	}
	for i, c := range s.l.consts {
		set(c, consts[i])
	}
	for i, a := range s.l.arrays {
		set(a, arrays[i])
	}
	for i, c := range s.l.carry {
		set(c, carry[i])
	}
	if x.once != nil {
		x.once.run()
		for _, r := range s.shared {
			set(r, x.once.data(s.once.same[r]))
		}
	}
	if x.each != nil {
		x.each.hold(&s.rights, x.fixedData)
	}
	x.beginBlocks(threads, check)
	return x
}

// fixedData is the value of what no step changes.
func (x *plannedRun) fixedData(r Ref) []float64 {
	if v, ok := x.fixed[r]; ok {
		return v
	}
	return x.t.data(r)
}

// set says what a placeholder is.
func (x *plannedRun) set(r Ref, v []float64) {
	if int(r) >= len(x.t.ins) {
		return // of no use
	}
	if x.t.single(r) {
		x.t.num[r] = v[0]
		return
	}
	for _, e := range x.runs {
		e.put(r, v)
	}
}

// put says what a leaf is.
func (x *execution) put(r Ref, v []float64) {
	if int(r) < len(x.p.slot) && x.p.slot[r] >= 0 && x.p.home[r] < 0 {
		x.free(x.p.slot[r])
		x.mem[x.p.slot[r]] = v
	}
}

// enter sets what the step reads that runs after i others.
func (x *plannedRun) enter(i int) {
	l, row := x.l, x.l.step(i)
	if l.index != None && int(l.index) < len(x.t.num) {
		x.t.num[l.index] = l.indexAt(row)
	}
	for _, k := range x.plannedStep.columns {
		x.set(l.columns[k], rowAt(x.columns[k], l.body.size(l.columns[k]), row))
	}
	for k := range x.loads {
		p := &x.loads[k]
		x.set(p.r, rowOf(x.arrays[p.array], l.body.size(p.r), float64(l.placeAt(row)+p.off)))
	}
	for k, c := range l.carry {
		if x.ends[k].r != None {
			x.set(c, x.carry[k])
		}
	}
	x.enterRow(row)
}

// indexAt is the value of the index at a step.
func (l *loop) indexAt(step int) float64 { return l.from + l.by*float64(l.first+step) }

// placeAt is the index, a whole number, at a step.
func (l *loop) placeAt(step int) int { return int(l.from) + int(l.by)*(l.first+step) }

// rowOf is the element, or the row, of so many numbers of an array.
func rowOf(array []float64, row int, at float64) []float64 {
	k := elementOf(len(array)/row, at, -1)
	return array[k*row : (k+1)*row]
}

// runLoad is a load whose place is computed, or known.
func runLoad(c *run) { copy(c.out, fromRow(c.args[1], c.shapes[1], c.args[0][0])) }

// fromRow is an array of shape s from an element or a row on.
func fromRow(array []float64, s tensor.Shape, at float64) []float64 {
	return array[len(array)/s[0]*elementOf(s[0], at, -1):]
}

// rowAt is row i of so many numbers each.
func rowAt(x []float64, size, i int) []float64 { return x[i*size : (i+1)*size : (i+1)*size] }

// step runs the step, its results to where they are wanted.
func (x *plannedRun) step() {
	e := x.each
	if e == nil {
		return
	}
	for k := range x.ends {
		if end := &x.ends[k]; end.whole && x.to[k] != nil {
			e.mem[e.p.slot[end.r]] = x.to[k]
		}
	}
	e.run()
	for k := range x.ends {
		if end := &x.ends[k]; x.to[k] != nil && !end.whole {
			copy(x.to[k], e.data(end.r))
		}
	}
}

// leave carries on what the step has computed, and frees the rest.
func (x *plannedRun) leave() {
	e := x.each
	if e == nil {
		return
	}
	for k := range x.carry {
		if x.to[k] != nil {
			x.carry[k] = x.to[k]
		}
	}
	for k := range x.ends {
		end := &x.ends[k]
		if end.r == None {
			continue
		}
		slot := e.p.slot[end.r]
		if slot < 0 || e.p.home[end.r] < 0 {
			continue
		}
		if end.whole && x.to[k] != nil {
			e.mem[slot] = nil
		}
		e.free(slot)
	}
}

// own is room for carried value k after step i.
func (x *plannedRun) own(k, i int) []float64 {
	if x.ends[k].over {
		i = 0
	}
	if x.room[i&1] == nil {
		x.room[i&1] = make([][]float64, len(x.carry))
	}
	v := &x.room[i&1][k]
	if *v == nil {
		*v = arena64.take(x.l.body.size(x.l.carry[k]))
	}
	return *v
}

// end gives memory back, and keeps a small run for the next one.
func (x *plannedRun) end() {
	if x.steady != nil {
		x.steady.leave()
	}
	all := slices.Concat(x.runs, x.blocks())
	for _, e := range all {
		e.recycle()
		e.release()
	}
	if x.t.check = nil; x.block.t != nil {
		x.block.t.check = nil
	}
	again := x.ran
	if x.ran = true; again && x.carried+x.block.aheadRights.size()+x.block.behindRights.size() <= mostSpare {
		x.spare = x
		return
	}
	if x.steady != nil {
		x.steady.end()
	}
	for _, e := range all {
		e.drop()
	}
	for _, room := range slices.Concat(x.room[0], x.room[1], x.kept, x.gathered) {
		arena64.give(room)
	}
}

// run runs all steps of loop instruction c.
func (s *plannedStep) run(c *run, sums [][]float64) {
	l := s.l
	carry, consts, arrays := l.split(c.args)
	x := s.begin(carry, consts, arrays, l.columnsOf(c.args), c.threads, c.t.check)
	i := 0
	defer func() {
		if p := recover(); p != nil {
			if b, ok := p.(*badLoad); ok && b.step < 0 {
				b.step = l.step(i)
			}
			panic(p)
		}
	}()
	kept := make([]int, len(l.carry)) // the column that keeps a carried value, or -1
	for k, r := range l.carry {
		kept[k] = slices.Index(l.outs, r)
		if kept[k] >= 0 && l.next[k] != r {
			copy(l.outOf(c.out, kept[k], 0), carry[k])
		}
		if l.next[k] == r || s.isTotal(k) {
			copy(c.out[l.nextAt(k):], carry[k])
		}
	}
	var steady *steadyRun
	if s.settled != nil {
		steady = x.steadily(c.out, kept)
	}
	for i < l.n {
		end := x.enterBlock(&i)
		if steady != nil {
			steady.run(&i, end)
		}
		for ; i < end && s.each != nil; i++ {
			x.enter(i)
			x.send(i, c.out, kept)
			x.step()
			x.leave()
		}
		i = end
		x.leaveBlock(c.out, sums)
	}
	x.end()
}

// outOf is what step i puts out as out k of a loop, in its value.
func (l *loop) outOf(value []float64, k, i int) []float64 {
	return rowAt(value[l.outAt(k):l.outAt(k+1)], l.body.size(l.outs[k]), l.step(i))
}

// send says where the results of step i are wanted: carried values in the column that keeps them,
// at the end in the loop's value, and else in room of their own.
func (x *plannedRun) send(i int, value []float64, kept []int) {
	l, m := x.l, len(x.l.next)
	for k := range l.carry {
		switch {
		case x.ends[k].r == None:
		case i == l.n-1:
			x.to[k] = value[l.nextAt(k):l.nextAt(k+1)]
		case kept[k] >= 0:
			x.to[k] = l.outOf(value, kept[k], i+1)
		default:
			x.to[k] = x.own(k, i)
		}
	}
	for k := range l.outs {
		if x.ends[m+k].r != None {
			x.to[m+k] = l.outOf(value, k, i)
		}
	}
	x.keepRow(l.step(i), x.to[m+len(l.outs):])
}

// count runs a while loop to find its number of steps, if those are not more than most.
func (s *plannedStep) count(carry, consts, arrays [][]float64, most, threads int, check func()) int {
	l := s.l
	x := s.begin(carry, consts, arrays, nil, threads, check)
	defer x.end()
	alike := l.index == None && len(s.columns) == 0 && len(x.loads) == 0
	var round circle
	for n := 0; n < most; n++ {
		x.enter(n)
		x.cond.run()
		again := x.cond.data(s.cond.same[s.cond.outs[0]])[0] != 0
		if !again {
			return n
		}
		for k, r := range l.carry {
			if x.to[k] = nil; l.next[k] != r {
				x.to[k] = x.own(k, n)
			}
		}
		x.step()
		x.leave()
		if alike {
			round.step(x.carry)
		}
	}
	panic(endless(most))
}
