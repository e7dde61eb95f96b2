package tape

import (
	"math"
	"slices"
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
	rights := make([]kernels.Right[float64], len(c.packed))
	parallel(x.threads(), len(rights), func(i int) {
		o := &c.packed[i]
		rights[i].Pack(arena64.take(kernels.PackedSize[float64](o.k, o.n)), x.data(o.r), o.ld, o.turned, o.k, o.n)
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
		e.p, e.t, e.workers, e.from, e.rights, e.right, e.times = s.plan, s.plan.t, 1, x.from, rights, s.right, s.times
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
		e.placed = e.placed[:0]
		for k := range s.outs {
			o := &s.outs[k]
			dst := outs[k][from*o.unit:]
			if o.inPlace() {
				e.mem[s.plan.slot[o.at]] = dst[:s.n*o.unit]
			} else if _, ok := s.right[o.at]; ok && o.rows != nil {
				e.placed = append(e.placed, elsewhere{o, dst})
			}
		}
		e.run()
		for k := range s.outs {
			o := &s.outs[k]
			if slot := s.plan.slot[o.at]; o.inPlace() {
				e.mem[slot] = nil
			} else if m := e.mem[slot]; m != nil {
				o.lies.scatter(outs[k][from*o.unit:], m)
			}
			for i := 0; x.whole && o.kept && i < o.outer; i++ {
				if !finiteNumbers(outs[k][(i*c.rows+from)*o.unit:][:s.n*o.unit]) {
					odd[k].Store(true)
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

// An elsewhere is a product's result that lies row by row in a value of the chain.
type elsewhere struct {
	*stripEnd
	dst []float64
}

// place multiplies rows of k numbers by a packed operand to where the products lie.
func (o *elsewhere) place(data []float64, k, m int, right *kernels.Right[float64]) {
	d, step := o.rows.dims, o.rows.strides
	inner := func() (n, by int) {
		n = 1
		if i := len(d) - 1; i >= 0 {
			n, by = d[i], step[i]
			d, step = d[:i], step[:i]
		}
		return n, by
	}
	group, ldc := inner()
	groups, gap := inner()
	rows := group * groups
	for from := 0; from < m; from += rows {
		off, rest := 0, from/rows
		for i := len(d) - 1; i >= 0; i-- {
			off += rest % d[i] * step[i]
			rest /= d[i]
		}
		right.MultiplyGroups(o.dst[off:], ldc, group, gap, data[from*k:], k, rows, nil)
	}
}

// multiply runs a product by a packed right operand, with its epilogue, and what unitMatmul
// does with a single column that may differ from 0.
func (x *execution) multiply(r Ref, data []float64, right *kernels.Right[float64]) {
	t := x.t
	left := t.Args(r)[0]
	n, k := last(t.Shape(r)), last(t.Shape(left))
	m := t.size(r) / n
	off, column := t.unitColumn(left)
	column = column && len(t.Shape(left)) == 2
	if i := slices.IndexFunc(x.placed, func(o elsewhere) bool { return o.at == r }); i >= 0 && !column {
		x.placed[i].place(data, k, m, right)
		return
	}
	points := t.points(r)
	var by []float64
	group := m
	if after, ok := x.times[r]; ok {
		r, by = after.to, x.data(after.by)
		group = len(by) / n
	}
	out := x.result(r)
	if !column {
		right.MultiplyGroups(out, n, group, group*n, data, k, m, by)
		return
	}
	m /= points
	size := m * n
	first := x.from - off // the column of the first point; others follow
	from := min(max(0, -first), points)
	to := max(from, min(points, k-first))
	clear(out[:from*size])
	clear(out[to*size:])
	if from == to {
		return
	}
	step := m*k + 1
	if data == nil { // its slopes are enough
		data, step = x.data(x.p.same[t.slopesOf(left)]), 1
		data = data[first+from:]
	} else {
		data = data[from*m*k+first+from:]
	}
	if len(by) > size { // not the same at all points
		by = by[from*size : to*size]
	}
	right.Rows(out[from*size:], n, data, k, step, m, first+from, to-from, by)
}
