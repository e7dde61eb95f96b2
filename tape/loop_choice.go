package tape

import (
	"math"
	"slices"

	"nabla/expr"
	"nabla/kernels"
)

// Steps are planned, or have code: a plan calls a kernel for each instruction, code takes each
// number by itself, and finds out what instructions are that are not elementwise. So plans are
// for larger values.

// plannedFrom is the size of a value from which on the steps of its loop are planned whatever
// else is in them. Tests set it low.
var plannedFrom = 65

// planCosts is what the work of planned steps is multiplied with; tests change it. Where both come out
// alike plans are better: prepared, a Markov chain of 4 states over 100 steps takes a fifth of the time.
var planCosts = 0.9

// planning is how long it takes to plan an operation of a step, and coding to make the code of
// one on numbers, in nanoseconds; counted is how many steps a while loop is taken to have.
// Gradients through 20 to 300 steps of rings of 60, layers of 8 and GRUs, Markov chains, descent
// and vectors of 16 took .4 to 1.1 times as long as with one price of 15 µs for all plans.
// Code that becomes machine code is priced as such (loop_machine.go): gradients through
// 1000 and 4000 steps of eight sines of 2 numbers take half the time, now that they have code.
const (
	planning = 3e3
	coding   = 350
	counted  = 15e3
)

// planned reports whether the steps of l are to be planned: where a value is large, or where
// that is less work. The plan of a step does one row of a derivative at a time, where code does
// many: there only large values decide.
func (l *loop) planned(extra ...Ref) bool {
	work, large := l.work(extra...)
	if large {
		return true
	}
	steps := float64(max(l.n, 1))
	if len(extra) > 0 { // it is not known how many
		steps = counted
	}
	return !l.many && planCosts*work.byPlan(steps) < work.byCode(steps)
}

// work is how long a step takes, and whether a value in it is large.
func (l *loop) work(extra ...Ref) (work stepWork, large bool) {
	t := l.body
	live := t.live(l.wanted(extra...))
	varies := l.varies(live)
	for i, on := range live {
		r := Ref(i)
		if !on || slices.Contains(l.arrays, r) {
			continue
		}
		large = large || t.size(r) >= plannedFrom
		if varies[r] {
			work.add(t, r, varies, len(extra) == 0)
		}
	}
	if work.whole { // what else products cost that are not split up
		work.coded, work.machine, work.least = work.coded+90*work.products, work.machine+90*work.products, work.least+90*work.products
	}
	return work, large
}

// byPlan is how long so many steps take, and what they need.
func (w *stepWork) byPlan(steps float64) float64 { return planning*w.operations + w.planned*steps }

// byCode is the same of code.
func (w *stepWork) byCode(steps float64) float64 {
	switch {
	case w.numbers > mostSplit:
		return coding*w.operations + w.coded*steps
	case worthMaking(int(w.numbers), int(steps), knotSaves):
		return coding*w.numbers + pieceMade + lineMade*w.numbers + w.machine*steps
	}
	return coding*w.numbers + w.coded*steps
}

// rollFrom is the number of steps from which a loop is worth rolling whatever they do, and
// fewFrom the least from which one may be; tests change them.
var rollFrom, fewFrom = 64, 5

// whileFrom is after how many steps a while loop is tried first: nobody knows how many are left.
const whileFrom = 16

// leastRecorded is how many instructions steps have together, at least, that pay.
const leastRecorded = 80

// fewPay reports whether rolling fewer than rollFrom steps pays: recording an operation of
// every step, there and back, planning and running it takes half a microsecond for numbers and
// 1.3 for tensors; a rolled loop takes 40 and 110 at once, and keeps values in memory that
// would be fused with those of the next step, where all is elementwise, or stay in the cache.
// Of gradients through 16 to 63 steps, of numbers, vectors of 100 to 10000 and recurrent
// layers, those rolled so took .15 to 1.1 times as long, half of it with 40 steps; with 6 to 13,
// of Lorenz' equations and Kalman's filter, .3 to .8. Of forks (loop_forks.go) both branches
// would be recorded.
func (l *loop) fewPay(extra ...Ref) bool {
	t := l.body
	operations, numbers, tensors, fuses := 0, 0, false, true
	for i, on := range t.live(l.wanted(extra...)) {
		r := Ref(i)
		if !on || t.known(r) || slices.Contains(l.arrays, r) {
			continue
		}
		size, op := t.size(r), t.ins[r].Op()
		tensors = tensors || size > 1
		if op == opSlot || op == opLoad {
			continue
		}
		operations++
		numbers += size
		fuses = fuses && op.elementwise()
	}
	switch {
	case !tensors:
		return float64(l.n*operations)*0.5 > 40
	case l.many:
		return l.rowsPay()
	}
	memory := 0.2e-3
	if fuses {
		memory = 1e-3
	}
	return float64(l.n)*(1.3*float64(operations)-memory*float64(numbers)) > 110
}

// rowsPay is fewPay where there may be derivatives with many rows, of tensors. An operation of
// every step then takes some 3 microseconds, or 8 where it is neither elementwise nor a move:
// there are many of both on the way back. The code of a rolled loop does every number of every
// row by itself, in 6 nanoseconds; or all rows go through the steps together (loop_along.go). Jacobians and
// Hessians through 20 and 40 steps of Lorenz' equations, of a pendulum by Runge and Kutta, of Kalman's filter and of a
// layer of 8 took .07 to .9 times as long as unrolled.
func (l *loop) rowsPay() bool {
	rows := l.rowsCost()
	steps := float64(l.n)
	return steps*(rows.recorded-rows.coded) > 110 || steps*(rows.recorded-rows.together) > 110+rows.plans
}

// rowsLose reports whether there may be derivatives with many rows, of so many numbers that as many
// as mostUnrolled steps are better recorded: where all is elementwise, so that those rows have
// few entries. Jacobians and Hessians through 64 to 800 steps of four operations on 64 numbers
// took .07 to .35 times as long so, of 30 numbers .3 to 1.4.
func (l *loop) rowsLose() bool {
	if !l.many || l.n > mostUnrolled {
		return false
	}
	rows := l.rowsCost()
	return rows.elementwise && rows.coded > 2*rows.recorded
}

// A rowsCost is what a step of derivatives with many rows takes in microseconds, recorded, by its code for each row, and
// with all rows together, for which plans are made once; and whether it is elementwise throughout.
type rowsCost struct {
	recorded, coded, together, plans float64
	elementwise                      bool
}

// rowsCost estimates it.
func (l *loop) rowsCost() (c rowsCost) {
	t := l.body
	state, work := 0, 0.0
	live := t.live(l.wanted())
	for _, c := range l.carry {
		if int(c) < len(live) && live[c] { // others a step makes anew
			state += t.size(c)
		}
	}
	c.elementwise = true
	for i, on := range live {
		r := Ref(i)
		op := t.ins[r].Op()
		if !on || t.known(r) || op == opSlot || op == opLoad {
			continue
		}
		c.plans += 16 * planning / 1e3 // there and back, twice for second derivatives, and where values lie
		c.elementwise = c.elementwise && op.elementwise()
		switch {
		case op == opMatmul:
			p := t.productOf(r)
			work += float64(p.m) * float64(p.n) * float64(p.k)
			c.recorded += 8
			c.together += 0.5
		case op.elementwise() || op.moves():
			work += float64(t.size(r))
			c.recorded += 3
			c.together += 0.2
		default:
			size := t.size(r)
			for _, a := range t.Args(r) {
				size = max(size, t.size(a))
			}
			work += float64(size)
			c.recorded += 8
			c.together += 0.5
		}
	}
	c.coded = 6e-3 * float64(state) * work
	c.together += 0.3e-3 * float64(state) * work
	return c
}

// A loop whose way back may keep more than wholeKept bytes is recorded as several, which may
// keep pieceKept each, but mostLoops at most, or more where they would not fit: fresh memory
// costs more than to compute a cheap step again, and more than there is cannot be had. What
// pieces put out is joined, by a copy: where that is more than mostJoined of what is kept,
// neither memory nor time is saved. Tests set them.
var wholeKept, pieceKept, mostLoops, mostJoined = 64e6, 16e6, 64., 0.25

// pieces is how many loops a loop is recorded as.
func (l *loop) pieces() int {
	kept, limit, out := l.kept(), float64(l.body.Limit), 0.0
	if limit <= 0 {
		limit = math.Inf(1)
	}
	for _, r := range l.outs {
		out += 8 * float64(l.n) * float64(l.body.size(r))
	}
	if kept <= min(wholeKept, limit/4) || out > mostJoined*kept {
		return 1
	}
	return int(max(1, min(max(min(kept/pieceKept, mostLoops), 8*kept/limit), float64(l.n)/16)))
}

// varies finds what changes from step to step.
func (l *loop) varies(live []bool) []bool {
	t, varies := l.body, make([]bool, len(live))
	for i, on := range live {
		switch r := Ref(i); {
		case !on || t.known(r):
		case t.ins[r].Op() == opSlot:
			k := slices.Index(l.carry, r)
			varies[r] = k >= 0 && l.next[k] != r || r == l.index || slices.Contains(l.columns, r)
		default:
			varies[r] = slices.ContainsFunc(t.Args(r), func(a Ref) bool { return varies[a] })
		}
	}
	return varies
}

// stepWork is how long a step takes by its plan and by its code, in nanoseconds. They are
// rough: gradients through loops of 2 to 32 numbers with little else than tanh, maxima and
// means, numbers beside, rolls, or products took within a fifth of the better way where they
// chose, and by their plan .15 to 1 times as long from 4 numbers on, but for rolls, of which
// code has the numbers for nothing: those of 16.
type stepWork struct {
	planned, coded      float64
	machine             float64 // by code that is machine code
	least               float64 // by that or by kernels, whichever is faster
	operations, numbers float64 // how many a plan has, and code
	products            float64 // how many
	whole               bool    // code has tensors as they are
}

// add adds that of r. Steps that are counted are not steady: Go does each instruction.
func (w *stepWork) add(t *Tape, r Ref, varies []bool, steady bool) {
	n, op := float64(t.size(r)), t.ins[r].Op()
	var planned, coded, machine float64
	numbers := n
	switch {
	case op == opSlot || op == opLoad || t.isAnother(r):
		return
	case op.elementwise() && op.does() != kernels.DoNothing:
		planned, coded, machine = 4.5+0.1*n, 2.2*n, 0.7*n
	case op.elementwise():
		planned, coded, machine = 12+n, 20*n, 10*n
	case op.moves() || op == opAssemble:
		planned, coded, numbers = 10+0.2*n, n, 0
	case op == opMatmul:
		w.products++
		p := t.productOf(r)
		work := float64(p.m) * float64(p.n) * float64(p.k)
		planned, coded, machine, numbers = 15+work/8, work, 0.6*work, work
		switch args, points := t.Args(r), float64(t.points(r)); {
		case t.ins[args[0]].batch != 0 && t.ins[args[1]].batch != 0: // a product for each point
			planned = points * (60 + work/8)
		case points > 1:
			planned = 100 + points*work/8
		case varies[args[1]] && (varies[args[0]] || p.n > 1): // nothing is packed
			planned = 120 + work/4
		}
	case op == opSum: // split up
		numbers = float64(t.size(t.Args(r)[0]))
		planned, coded, machine = 15+n, 1.5*numbers, 0.7*numbers
	case op == opMaxOf || op == opMinOf || op == opNorm || op == opSoftmax || op == opLogsumexp:
		planned, coded = 15+n, 100+n
	case op.Matrices > 0 || op == opLUSolve: // of each point by itself; and nothing is split up
		planned, coded = 350*float64(t.points(r))+8*n, 350+8*n
		w.whole = true
	default:
		planned, coded = 100+n, 100+n
	}
	if !steady || t.ins[r].batch != 0 && !op.elementwise() { // Go does it
		planned += 100
	}
	if machine == 0 {
		machine = coded
	}
	w.planned += planned
	w.coded += coded
	w.machine += machine
	w.least += min(planned, machine)
	w.operations++
	w.numbers += numbers
}

// rowNames are the derivatives that have many rows.
var rowNames = []string{"jacobian", "batch_jacobian", "hessian"}

// asksForRows reports whether there may be derivatives with many rows of what is recorded. The
// program is looked at for the first loop.
func (lo *lowering) asksForRows() bool {
	if !lo.looked {
		lo.looked = true
		expr.Walk(lo.prog, func(n any) bool {
			x, ok := n.(*expr.Name)
			lo.rows = lo.rows || ok && slices.Contains(rowNames, x.Name)
			return !lo.rows
		})
	}
	return lo.rows
}
