package tape

import (
	"nabla/kernels"
	"nabla/tape/pool"
)

// The code of a loop takes one number at a time where it waits, and a vector has room for eight. So points of a batch,
// the rows of a Jacobian as a rule, go through it as many at once as there are lanes: each number of the code is then
// those of all lanes, side by side, in columns, sums and outs alike. Arguments that have the points are turned round before
// the steps, and the value after them; what all points share is spread where it is read (loop_lanes_run.go). A lane that no
// point is left for repeats the last one.
//
// The Jacobian of 100 steps of the heat equation on a ring of 10 took 22 µs when each of its rows went through the
// steps alone, and takes 10; of Burgers' equation 20 and 13.

// A laneCodes is the code of a loop for so many lanes.
type laneCodes struct {
	known bool
	codes *loopCodes // nil: it has none

	alone, takes float64 // how long, in nanoseconds, its steps take for a point by itself, and for one in each lane
}

// fewestLaned is how many points there are, at least, for which lanes may pay, and lanesCost multiplies what
// they cost. Tests set them.
var (
	fewestLaned = 3
	lanesCost   = 1.0
)

// mostLaned is how many numbers the columns of all lanes have at most.
const mostLaned = 1 << 20

// laned is the code of l for lanes, if it has such. The lock is its caller's.
func (c *loopCodes) laned(l *loop) *laneCodes {
	x := &c.inLanes
	if x.known {
		return x
	}
	if x.known = true; c.isPlanned(l) {
		return x
	}
	b := *l
	b.lanes = kernels.StepLanes()
	if code := b.compile(true); code.mayLane() && code.size*b.lanes <= mostLaned {
		x.codes = codesOf(code)
		x.alone, x.takes = code.laneWork()
		x.alone, x.takes = pointCost+x.alone*float64(max(l.n, 1)), 1.5*pointCost+x.takes*float64(max(l.n, 1))
	}
	return x
}

// pays reports whether lanes pay for n points.
func (x *laneCodes) pays(n int) bool {
	return x.codes != nil && n >= fewestLaned && lanesCost*x.takes*float64(x.blocks(n)) < x.alone*float64(n)
}

// lanesWin reports whether lanes take n points of l, of whose steps the work is known, in less than half of some time, which is
// how long plans are thought to take: where these were near, Hessians through 100 steps of a pendulum by 60 numbers took 1.6
// times as long in lanes. Code is not made where they would hardly.
func (l *loop) lanesWin(n int, work stepWork, time float64) bool {
	lanes := kernels.StepLanes()
	blocks := float64((n + lanes - 1) / lanes)
	if n < fewestLaned || lanesCost*work.machine*float64(max(l.n, 1))*blocks >= time/2 {
		return false
	}
	x := l.codes.laned(l)
	return x.pays(n) && lanesCost*x.takes*blocks < time/2
}

// blocks is how often lanes go through the steps for n points.
func (x *laneCodes) blocks(n int) int {
	lanes := x.codes.plain.lanes()
	return (n + lanes - 1) / lanes
}

// laneWork is how long a step takes for a point by itself, and for one in each lane. What waits takes nearly as long for all
// as for one. What does not is done for many steps at once as it is, and takes as many times as long as there are
// lanes; and what comes and goes is a number here and a line of the cache there.
func (c *loopCode) laneWork() (alone, together float64) {
	lanes := float64(c.lanes())
	machine := worthMaking(c.ops, max(c.l.n, 1), knotSaves)
	waits := func(o *loopOp) {
		switch {
		case o.op != nil && o.does() == kernels.DoNothing: // a call
			alone, together = alone+8, together+9*lanes
		case machine:
			alone, together = alone+0.7, together+0.9
		default:
			alone, together = alone+2.5, together+7
		}
	}
	for _, s := range c.stages {
		for k := range s.knot {
			waits(&s.knot[k])
		}
		if s.knot == nil {
			switch n := float64(s.size); {
			case s.load != nil:
				alone, together = alone+n, together+4*n
			case s.op.does() == kernels.DoNothing:
				alone, together = alone+0.8*n, together+0.8*n*lanes
			default:
				alone, together = alone+0.1*n, together+0.1*n*lanes
			}
		}
	}
	moved := func(n int) { alone, together = alone+float64(n), together+4*float64(n) }
	for _, p := range c.columns {
		moved(p.wide)
	}
	for _, p := range c.outs {
		moved(p.wide)
	}
	for _, ps := range c.adds {
		for _, p := range ps {
			moved(p.wide)
		}
	}
	return alone, together
}

// mayLane reports whether lanes may take the code: they know no operations on tensors but elementwise ones.
func (c *loopCode) mayLane() bool {
	fits := func(s *loopStage) bool { return s.general == nil || s.general.near }
	for _, s := range c.stages {
		if !fits(s) {
			return false
		}
		for k := range s.knot {
			if t := s.knot[k].stage; t != nil && !fits(t) {
				return false
			}
		}
	}
	return true
}

// inLanes runs the loop for the points of a batch, as many at once as there are lanes; false: it does not.
func (c *run) inLanes(b *batch, out []float64, data [][]float64) bool {
	l := c.attr.Loop
	if b.n < fewestLaned {
		return false
	}
	l.codes.mu.Lock()
	x := l.codes.laned(l)
	l.codes.mu.Unlock()
	if !x.pays(b.n) {
		return false
	}
	blocks, lanes, threads := x.blocks(b.n), x.codes.plain.lanes(), 1
	if x.takes*float64(blocks) >= leastShared {
		threads = min(c.threads, blocks)
	}
	pool.Run(threads, blocks, func(i int) { x.run(c, b, i*lanes, min(b.n, (i+1)*lanes), out, data) })
	return true
}

// run runs the loop for points from to to-1 of a batch.
func (x *laneCodes) run(c *run, b *batch, from, to int, out []float64, data [][]float64) {
	l := x.codes.plain.l
	lanes, n := l.lanes, to-from
	var held loans
	defer held.giveBack()
	args, wide := make([][]float64, len(data)), make([]bool, len(l.arrays)+len(l.columns))
	shared := len(l.carry) + len(l.consts) // from here on what all points have is left as it is
	for i, v := range data {
		size := c.shapes[i].Size()
		varies := c.t.ins[c.t.Args(c.r)[i]].batch != 0
		if k := i - shared; k >= 0 && k < len(wide) {
			if wide[k] = varies; !varies {
				args[i] = v
				continue
			}
		}
		if args[i] = held.take(size * lanes); !varies {
			spreadLanes(args[i], v, lanes)
			continue
		}
		if b.at[i] == nil && n == lanes {
			v = v[from*size : to*size]
		} else { // not of every point, or there are too few
			rows := held.take(lanes * size)
			b.gather(rows, v, i, size, from, to)
			v = rows
		}
		kernels.TransposeLarge(args[i], lanes, v, size, lanes, size)
	}
	total := c.shape.Size()
	value := held.take(total * lanes)
	w := &run{t: c.t, r: c.r, out: value, args: args, threads: 1}
	defer l.explain(w)
	x.code().run(w, wide)
	kernels.TransposeLarge(out[from*total:], total, value, lanes, total, n)
}

// code is the code for all steps once more.
func (x *laneCodes) code() *loopCode {
	x.codes.mu.Lock()
	defer x.codes.mu.Unlock()
	return x.codes.after(x.codes.plain.l.n)
}

// width is how many points the code of l takes at once.
func (l *loop) width() int { return max(l.lanes, 1) }
