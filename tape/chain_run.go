package tape

import (
	"math"
	"sync/atomic"

	"nabla/kernels"
)

// carry runs a chain, strip after strip; threads take the next that nobody has.
func (x *execution) carry(c *chain) {
	t := x.t
	s0 := c.strips[0]
	outs, ins := make([][]float64, len(s0.outs)), make([][]float64, len(s0.ins))
	for i, e := range s0.outs {
		outs[i] = x.result(e.r)
	}
	for i, e := range s0.ins {
		ins[i] = x.data(e.r)
	}
	rights := make([]kernels.Right, len(c.packed))
	parallel(x.threads(), len(rights), func(i int) {
		o := &c.packed[i]
		rights[i].Pack(arena64.take(kernels.PackedSize(o.k, o.n)), x.data(o.r), o.ld, o.turned, o.k, o.n)
	})
	c.numbers.Lock()
	for _, s := range c.strips { // runs of rows share the chain, and the numbers
		for _, e := range s.nums {
			if v := &s.plan.t.num[e.at]; math.Float64bits(*v) != math.Float64bits(t.num[e.r]) {
				*v = t.num[e.r]
			}
		}
	}
	c.numbers.Unlock()
	odd := make([]atomic.Bool, len(outs))
	workers := make(chan *execution, x.threads())
	for range x.threads() {
		workers <- nil
	}
	parallel(x.threads(), c.parts, func(k int) {
		s, from := c.part(k)
		e := <-workers
		if e == nil {
			e = newExecution(s.plan)
		}
		e.p, e.t, e.workers, e.from, e.rights, e.right = s.plan, s.plan.t, 1, x.from, rights, s.right
		if c.seeds {
			e.from += from
		}
		for k, i := range s.ins {
			src, slot := ins[k], s.plan.slot[i.at]
			switch {
			case i.outer > 1:
				n := s.n * i.unit
				m := e.alloc(i.outer * n)
				for o := range i.outer {
					copy(m[o*n:(o+1)*n], src[(o*c.rows+from)*i.unit:])
				}
				e.mem[slot] = m
			case i.outer == 1:
				e.mem[slot] = src[from*i.unit : (from+s.n)*i.unit]
			default:
				e.mem[slot] = src
			}
		}
		for k, o := range s.outs {
			if o.outer == 1 {
				e.mem[s.plan.slot[o.at]] = outs[k][from*o.unit : (from+s.n)*o.unit]
			}
		}
		e.run()
		for k, o := range s.outs {
			slot := s.plan.slot[o.at]
			if x.whole && o.kept && !finiteNumbers(e.mem[slot]) {
				odd[k].Store(true)
			}
			if o.outer == 1 {
				e.mem[slot] = nil
			} else {
				n, dst := s.n*o.unit, outs[k]
				for i := range o.outer {
					copy(dst[(i*c.rows+from)*o.unit:], e.mem[slot][i*n:(i+1)*n])
				}
			}
		}
		e.recycle()
		workers <- e
	})
	for range x.threads() {
		if e := <-workers; e != nil {
			e.release()
		}
	}
	for i := range rights {
		arena64.give(rights[i].Panels())
	}
	for i, o := range s0.outs {
		if x.whole && o.kept {
			x.t.isSane(o.r, !odd[i].Load())
		}
	}
}

// multiply runs a product by a packed right operand, and what unitMatmul does with a single
// column that may differ from 0.
func (x *execution) multiply(r Ref, out, data []float64, right *kernels.Right) {
	t := x.t
	left := t.Args(r)[0]
	n, k := last(t.Shape(r)), last(t.Shape(left))
	m := len(out) / n
	off, column := t.unitColumn(left)
	if !column || len(t.Shape(left)) != 2 {
		right.Multiply(out, n, data, k, m)
		return
	}
	points := t.points(r)
	m /= points
	for p := range points {
		dst, q := out[p*m*n:(p+1)*m*n], x.from+p-off
		if q < 0 || q >= k {
			clear(dst)
			continue
		}
		right.Row(dst, n, data[p*m*k+q:], k, m, q)
	}
}
