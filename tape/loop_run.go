package tape

import "math"

// A loopRun is one execution of a loop's code.
type loopRun struct {
	*loopCode
	mem    []float64
	arrays [][]float64
}

// badLoad is an index outside an array.
type badLoad struct {
	at   float64
	n    int
	step int
}

// newRun fills in what does not change: numbers, constants, and what is carried into
// the first step.
func (c *loopCode) newRun(carry, consts, arrays [][]float64) *loopRun {
	x := &loopRun{loopCode: c, mem: make([]float64, c.size), arrays: arrays}
	fill := func(col int32, v float64) {
		for i := range x.mem[col : int(col)+c.batch] {
			x.mem[int(col)+i] = v
		}
	}
	for _, f := range c.numbers {
		fill(f.col, f.v)
	}
	for i, col := range c.consts {
		if col >= 0 {
			fill(col, consts[i][0])
		}
	}
	for i, col := range c.next {
		x.mem[col-1] = carry[i][0]
	}
	return x
}

// runLoop runs all steps.
func runLoop(c *run) {
	l := c.attr.Loop
	code := l.compile(true)
	k, m, p, q := len(l.carry), len(l.consts), len(l.arrays), len(l.columns)
	x := code.newRun(c.args[:k], c.args[k:k+m], c.args[k+m:k+m+p])
	columns := c.args[k+m+p : k+m+p+q]
	starts := c.args[k+m+p+q:]
	out := c.out[k:]
	sums := make([][]float64, len(l.sums))
	for i, s := range l.sums {
		sums[i], out = out[:s.n], out[s.n:]
		if s.from {
			copy(sums[i], starts[0])
			starts = starts[1:]
		} else {
			clear(sums[i])
		}
	}
	defer func() {
		if p := recover(); p != nil {
			if b, ok := p.(*badLoad); ok {
				c.fail("index "+formatFloat(b.at)+" is out of range for an axis of size "+itoa(b.n)+", in step "+itoa(b.step)+" of the loop", "")
			}
			panic(p)
		}
	}()
	for from := 0; from < l.n; from += code.batch {
		if c.t.check != nil && from/code.batch&255 == 255 {
			c.t.check()
		}
		n := min(code.batch, l.n-from)
		for i, col := range code.columns {
			if col >= 0 {
				l.read(x.mem[col:int(col)+n], columns[i], from)
			}
		}
		x.steps(from, n)
		for i, col := range code.outs {
			l.write(out[i*l.n:(i+1)*l.n], x.mem[col:int(col)+n], from)
		}
		for i, ps := range code.adds {
			x.add(sums[i], ps, code.apart[i], from, n)
		}
		for _, col := range code.next {
			x.mem[col-1] = x.mem[int(col)+n-1]
		}
	}
	for i, col := range code.next {
		c.out[i] = x.mem[col-1]
	}
}

// step is the number of the step that runs after i others.
func (l *loop) step(i int) int {
	if l.back {
		return l.n - 1 - i
	}
	return i
}

// read takes the elements of column x that belong to the steps after from others.
func (l *loop) read(dst, x []float64, from int) {
	if !l.back {
		copy(dst, x[from:])
		return
	}
	x = x[l.n-from-len(dst) : l.n-from]
	for i := range dst {
		dst[i] = x[len(x)-1-i]
	}
}

// write is read the other way.
func (l *loop) write(x, src []float64, from int) {
	if !l.back {
		copy(x[from:], src)
		return
	}
	x = x[l.n-from-len(src) : l.n-from]
	for i, v := range src {
		x[len(x)-1-i] = v
	}
}

// steps runs n steps, the first after from others.
func (x *loopRun) steps(from, n int) {
	if x.index >= 0 {
		for i := range n {
			x.mem[int(x.index)+i] = x.l.from + x.l.by*float64(x.l.first+x.l.step(from+i))
		}
	}
	m := x.mem
	for i := range x.stages {
		s := &x.stages[i]
		if s.knot != nil {
			x.run(s.knot, from, 0, n)
			continue
		}
		dst := m[s.dst : int(s.dst)+n]
		a := m[s.arg[0] : int(s.arg[0])+n]
		switch {
		case s.load != nil:
			x.load(dst, s.load, from)
		case s.twin != nil:
			s.twin(dst, m[s.alt:int(s.alt)+n], a)
		default:
			x := [3][]float64{a}
			for j := 1; j < s.op.arity(); j++ {
				x[j] = m[s.arg[j] : int(s.arg[j])+n]
			}
			s.op.call(dst, x[0], x[1], x[2])
		}
	}
}

// run runs steps i to n-1 of a batch of a knot.
func (x *loopRun) run(code []loopOp, from, i, n int) {
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
				m[o.dst] = x.element(o.array, m[o.a], from+i)
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

// element is array[at], as the program indexes.
func (x *loopRun) element(array int32, at float64, i int) float64 {
	a := x.arrays[array]
	k := int(at)
	if k < 0 {
		k += len(a)
	}
	if uint(k) >= uint(len(a)) || at != math.Trunc(at) {
		panic(&badLoad{at, len(a), x.l.step(i)})
	}
	return a[k]
}

// span is where an element that moves with the index is in the steps after from others:
// at the first of them, and how far it goes at each.
func (x *loopRun) span(p *loopPut, from int) (at, by int) {
	by = int(x.l.by)
	at = int(x.l.from) + by*(x.l.first+x.l.step(from)) + p.off
	if x.l.back {
		by = -by
	}
	return at, by
}

// load takes elements of an array for a batch of steps.
func (x *loopRun) load(dst []float64, p *loopPut, from int) {
	if !p.affine {
		for i, at := range x.mem[p.at : int(p.at)+len(dst)] {
			dst[i] = x.element(int32(p.array), at, from+i)
		}
		return
	}
	a := x.arrays[p.array]
	at, by := x.span(p, from)
	if end := at + by*(len(dst)-1); min(at, end) < 0 || max(at, end) >= len(a) {
		for i := range dst {
			dst[i] = x.element(int32(p.array), float64(at+by*i), from+i)
		}
		return
	}
	switch by {
	case 1:
		copy(dst, a[at:])
	default:
		for i := range dst {
			dst[i] = a[at]
			at += by
		}
	}
}

// add adds what a batch of steps puts into sum.
func (x *loopRun) add(sum []float64, ps []loopPut, apart bool, from, n int) {
	place := func(at float64) int {
		if at < 0 {
			at += float64(len(sum))
		}
		return int(at)
	}
	if !apart {
		for i := range n {
			for k := range ps {
				p := &ps[k]
				at, by := 0.0, 0
				if p.affine {
					first, step := x.span(p, from)
					at, by = float64(first), step
					at += float64(by * i)
				} else {
					at = x.mem[int(p.at)+i]
				}
				sum[place(at)] += x.mem[int(p.value)+i]
			}
		}
		return
	}
	for k := range ps {
		p := &ps[k]
		at, by := x.span(p, from)
		v := x.mem[p.value : int(p.value)+n]
		if end := at + by*(n-1); min(at, end) < 0 {
			for i := range v {
				sum[place(float64(at+by*i))] += v[i]
			}
			continue
		}
		for i := range v {
			sum[at] += v[i]
			at += by
		}
	}
}

// count runs a while loop, all of whose operations are one knot, to find its number of
// steps.
func (code *loopCode) count(carry, consts, arrays [][]float64, check func()) int {
	x := code.newRun(carry, consts, arrays)
	knot := code.stages[0].knot
	for n, turn := 0, 0; n < math.MaxInt32; turn++ {
		if turn&63 == 0 && check != nil {
			check()
		}
		for i := 0; i < code.batch; i++ {
			x.run(knot, n, i, i+1)
			if x.mem[int(code.extra[0])+i] == 0 {
				return n
			}
			n++
		}
		for _, col := range code.next {
			x.mem[col-1] = x.mem[int(col)+code.batch-1]
		}
	}
	panic(&notRolled{"too many steps"})
}
