package tape

import (
	"runtime"
	"unsafe"

	"nabla/kernels"
)

// A loopRun is one execution of a loop's code.
type loopRun struct {
	*loopCode
	mem    []float64
	arrays [][]float64
	wide   []bool    // by array, then by column: it has the numbers of each lane; nil: all have
	spread []float64 // arguments that are one number, in the shape of the result
	works  []*run    // of general operations
}

// badLoad is an index outside an array.
type badLoad struct {
	at   float64
	n    int
	step int
}

// newRun fills in what does not change: numbers, constants, and what is carried into
// the first step. The memory is the arena's. Where there are lanes, constants and what is carried have
// the numbers of each, and those arrays and columns that are wide.
func (c *loopCode) newRun(carry, consts, arrays [][]float64, wide []bool) *loopRun {
	lanes := c.lanes()
	x := &loopRun{loopCode: c, mem: arena64.take(c.size * lanes), arrays: arrays, wide: wide}
	fill := func(col int32, v []float64, wide bool) {
		n := len(v)
		if !wide {
			n *= lanes
		}
		m := x.mem[int(col)*lanes:][:c.batch*n]
		x.put(m, v, wide)
		for n < len(m) { // twice as much each time
			n += copy(m[n:], m[:n])
		}
	}
	for _, f := range c.numbers {
		fill(f.col, f.v, lanes == 1)
	}
	for i := range c.consts {
		p := &c.consts[i]
		fill(p.col, p.part(consts[p.of], lanes), true)
	}
	for _, f := range c.fixed {
		fill(f.col, x.numbersOf(f.array, arrays[f.array], f.at, f.wide), x.isWide(f.array))
	}
	for i := range c.next {
		p := &c.next[i]
		copy(x.lanesOf(p.col-int32(p.wide), p.wide), p.part(carry[p.of], lanes))
	}
	for _, i := range c.still {
		p := &c.next[i]
		fill(p.col, p.part(carry[p.of], lanes), true)
	}
	return x
}

// runLoop runs all steps.
func runLoop(c *run) {
	l := c.attr.Loop
	defer l.explain(c)
	if steps := l.steps(c.t.Limit); steps != nil {
		steps.run(c, l.sumsOf(c))
		l.codes.give(steps)
		return
	}
	l.code(l.n).run(c, nil)
}

// explain fails for the run where an index in it was out of range.
func (l *loop) explain(c *run) {
	if p := recover(); p != nil {
		if b, ok := p.(*badLoad); ok && b.step < 0 {
			c.fail("index "+formatFloat(b.at)+" is out of range for an axis of size "+itoa(b.n), "")
		} else if ok {
			c.fail("index "+formatFloat(b.at)+" is out of range for an axis of size "+itoa(b.n)+", in step "+itoa(l.before+b.step)+" of the loop", "")
		}
		panic(p)
	}
}

// sumsOf are the sums in the value of c, with what they start from.
func (l *loop) sumsOf(c *run) [][]float64 {
	starts := c.args[len(c.args)-l.starts():]
	sums := make([][]float64, len(l.sums))
	for i, s := range l.sums {
		sums[i] = c.out[l.sumAt(i)*l.width() : l.sumAt(i+1)*l.width()]
		if s.from {
			copy(sums[i], starts[0])
			starts = starts[1:]
		} else {
			clear(sums[i])
		}
	}
	return sums
}

// run runs all steps. Where there are lanes, the value and the arguments have the numbers of each, but for those arrays and
// columns that are not wide.
func (code *loopCode) run(c *run, wide []bool) {
	l, lanes := code.l, code.lanes()
	sums := l.sumsOf(c)
	carry, consts, arrays := l.split(c.args)
	columns := l.columnsOf(c.args)
	x := code.newRun(carry, consts, arrays, wide)
	for from := 0; from < l.n; from += code.batch {
		if c.t.check != nil && from/code.batch&255 == 255 {
			c.t.check()
		}
		n := min(code.batch, l.n-from)
		x.take(columns, from, n)
		x.steps(from, n)
		for i := range code.outs {
			p := &code.outs[i]
			if out, src := c.out[l.outAt(p.of)*lanes:l.outAt(p.of+1)*lanes], x.mem[int(p.col)*lanes:]; lanes > 1 {
				x.putLanes(out, src, from, n, p)
			} else {
				l.write(out, src, from, n, p)
			}
		}
		for i, ps := range code.adds {
			if lanes > 1 {
				x.addLanes(sums[i], ps, code.apart[i], from, n)
			} else {
				x.add(sums[i], ps, code.apart[i], from, n)
			}
		}
		x.carry(n)
	}
	for i := range code.next {
		p := &code.next[i]
		copy(p.part(c.out[l.nextAt(p.of)*lanes:], lanes), x.lanesOf(p.col-int32(p.wide), p.wide))
	}
	arena64.give(x.mem)
}

// split finds what is carried in, constants and arrays among the arguments of a loop.
func (l *loop) split(args [][]float64) (carry, consts, arrays [][]float64) {
	k, m := len(l.carry), len(l.carry)+len(l.consts)
	return args[:k], args[k:m], args[m : m+len(l.arrays)]
}

// columnsOf finds the columns among the arguments.
func (l *loop) columnsOf(args [][]float64) [][]float64 {
	n := len(l.carry) + len(l.consts) + len(l.arrays)
	return args[n : n+len(l.columns)]
}

// starts is how many sums start from an argument.
func (l *loop) starts() int {
	n := 0
	for _, s := range l.sums {
		if s.from {
			n++
		}
	}
	return n
}

// lanes is how many there are.
func (c *loopCode) lanes() int { return c.l.width() }

// lanesOf are n numbers of a column, in all lanes.
func (x *loopRun) lanesOf(col int32, n int) []float64 {
	lanes := x.lanes()
	return x.mem[int(col)*lanes:][:n*lanes]
}

// take reads what the loop's columns have for the n steps after from others.
func (x *loopRun) take(columns [][]float64, from, n int) {
	for i := range x.columns {
		p := &x.columns[i]
		if dst := x.lanesOf(p.col, n*p.wide); x.lanes() > 1 {
			x.takeLanes(dst, columns[p.of], from, n, p)
		} else {
			x.l.read(dst, columns[p.of], from, p)
		}
	}
}

// step is the number of the step that runs after i others.
func (l *loop) step(i int) int {
	if l.back {
		return l.n - 1 - i
	}
	return i
}

// carry hands what values have become in n steps to the steps after them.
func (x *loopRun) carry(n int) {
	for i := range x.next {
		p := &x.next[i]
		copy(x.lanesOf(p.col-int32(p.wide), p.wide), x.lanesOf(p.col+int32((n-1)*p.wide), p.wide))
	}
}

// steps runs n steps, the first after from others.
func (x *loopRun) steps(from, n int) {
	if x.index >= 0 {
		lanes := x.lanes()
		for i := range n {
			v := x.l.from + float64(x.l.by*float64(x.l.first+x.l.step(from+i)))
			for k := range lanes {
				x.mem[(int(x.index)+i)*lanes+k] = v
			}
		}
	}
	for _, s := range x.stages {
		if s.knot != nil {
			x.tie(s, from, 0, n)
		} else {
			x.stage(s, from, 0, n)
		}
	}
}

// stage runs one operation for n steps of a batch, from the i-th on.
func (x *loopRun) stage(s *loopStage, from, i, n int) {
	of := func(col int32) []float64 {
		return x.lanesOf(col+int32(i*s.size), n*s.size)
	}
	dst := of(s.dst)
	switch {
	case s.calls != nil:
		at := unsafe.Pointer(&dst[0])
		kernels.Run(s.calls, &at, len(dst))
		runtime.KeepAlive(s.machine)
	case s.load != nil && x.lanes() > 1:
		x.loadLanes(dst, s.load, from, i, n)
	case s.load != nil:
		x.load(dst, s.load, from, i, n)
	case s.general != nil:
		x.general(s, dst, i, n)
	case s.twin != nil:
		s.twin(dst, of(s.alt), of(s.arg[0]))
	default:
		a := [3][]float64{of(s.arg[0])}
		for k := 1; k < s.op.arity(); k++ {
			a[k] = of(s.arg[k])
		}
		s.op.call(dst, a[0], a[1], a[2])
	}
}

// general runs an operation on tensors that is not elementwise on one shape.
func (x *loopRun) general(s *loopStage, dst []float64, i, n int) {
	g := s.general
	w := x.work(g)
	args := w.args
	if g.near {
		if len(x.spread) < 3*len(dst) {
			x.spread = make([]float64, 3*len(dst))
		}
		for k, col := range g.args {
			v := x.lanesOf(col+int32(i*g.sizes[k]), n*g.sizes[k])
			if g.sizes[k] == s.size {
				args[k] = v
				continue
			}
			args[k] = x.spread[k*len(dst) : (k+1)*len(dst)]
			if lanes := x.lanes(); lanes > 1 {
				for e := 0; e < len(dst); e += lanes {
					copy(args[k][e:], v[e/(lanes*s.size)*lanes:][:lanes])
				}
				continue
			}
			for j, v := range v {
				row := args[k][j*s.size : (j+1)*s.size]
				for e := range row {
					row[e] = v
				}
			}
		}
		s.op.call(dst, args[0], args[min(1, len(args)-1)], args[len(args)-1])
		return
	}
	for j := range n {
		for k, col := range g.args {
			at := int(col) + (i+j)*g.sizes[k]
			args[k] = x.mem[at : at+g.sizes[k]]
		}
		out := dst[j*s.size : (j+1)*s.size]
		switch {
		case s.op.elementwise():
			w.t.runElementwise(g.r, out, args)
		case w.t.singleProduct(g.r):
			w.t.runStructural(g.r, out, args, 1)
		default:
			w.atOnce(s.op, out, args)
		}
	}
}

// work is the run of a general operation, which keeps all but its numbers from step to step.
func (x *loopRun) work(g *loopGeneral) *run {
	if x.works == nil {
		x.works = make([]*run, x.generals)
	}
	w := x.works[g.at]
	if w == nil {
		t, n := x.l.body, len(g.args)
		w = &run{t: t, r: g.r, threads: 1, attr: t.Attr(g.r), shape: t.Shape(g.r), args: make([][]float64, n)}
		for _, a := range t.Args(g.r) {
			w.shapes = append(w.shapes, t.Shape(a))
		}
		x.works[g.at] = w
	}
	return w
}

// tie runs steps i to n-1 of a batch of a knot, as machine code if there is such.
func (x *loopRun) tie(s *loopStage, from, i, n int) {
	if s.machine != nil {
		for i = s.machine.Steps(x.mem, x.arrays, i, n); i < n; i = s.machine.Steps(x.mem, x.arrays, i+1, n) {
			x.run(s.knot, from, i, i+1)
		}
		return
	}
	x.run(s.knot, from, i, n)
}

// run runs steps i to n-1 of a batch of a knot.
func (x *loopRun) run(code []loopOp, from, i, n int) {
	if x.lanes() > 1 {
		x.runLanes(code, from, i, n)
		return
	}
	if len(code) == 1 && code[0].kind == loopAdd {
		x.accumulate(&code[0], i, n)
		return
	}
	for ; i < n; i++ {
		m := x.mem[i:]
		for k := range code {
			o := &code[k]
			switch o.kind {
			case loopAdd:
				m[o.dst] = m[o.a] + m[o.b]
			case loopMul:
				m[o.dst] = m[o.a] * m[o.b]
			case loopSub:
				m[o.dst] = m[o.a] - m[o.b]
			case loopZMul:
				if a, b := m[o.a], m[o.b]; a == 0 || b == 0 {
					m[o.dst] = 0
				} else {
					m[o.dst] = a * b
				}
			case loopDiv:
				m[o.dst] = m[o.a] / m[o.b]
			case loopNeg:
				m[o.dst] = -m[o.a]
			case loopSquare:
				m[o.dst] = m[o.a] * m[o.a]
			case loopWhere:
				if m[o.a] != 0 {
					m[o.dst] = m[o.b]
				} else {
					m[o.dst] = m[o.c]
				}
			case loopCopy:
				m[o.dst] = m[o.a]
			case loopLoad:
				m[o.dst] = x.arrays[o.array][x.element(int(o.array), 1, m[o.a], from+i)]
			case loopTensor:
				x.stage(o.stage, from, i, 1)
			case loopCall1:
				m[o.dst] = o.f1(m[o.a])
			case loopCall2:
				m[o.dst] = o.f2(m[o.a], m[o.b])
			default:
				m[o.dst] = o.f3(m[o.a], m[o.b], m[o.c])
			}
		}
	}
}

// accumulate runs the steps of the commonest knot, s = s + v.
func (x *loopRun) accumulate(o *loopOp, from, n int) {
	dst := x.mem[int(o.dst)+from : int(o.dst)+n]
	s := x.mem[int(o.dst)+from-1]
	switch o.dst - 1 {
	case o.a:
		for i, v := range x.mem[int(o.b)+from:][:len(dst)] {
			s += v
			dst[i] = s
		}
	default: // the same: sums commute
		for i, v := range x.mem[int(o.a)+from:][:len(dst)] {
			s += v
			dst[i] = s
		}
	}
}
