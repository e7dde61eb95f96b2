package tape

import (
	"math"
	"slices"
	"sync/atomic"

	"nabla/kernels"
	"nabla/tape/pool"
)

// carry runs a chain, strip after strip; threads take the next that nobody has.
func (x *execution) carry(c *chain) {
	s0 := c.strips[0]
	r := chainRun{x: x, c: c, outs: make([][]float64, len(s0.outs)), ins: make([][]float64, len(s0.ins)),
		rights: make([]sharedRight, len(c.packed)), odd: make([]atomic.Bool, len(s0.outs))}
	for i, e := range s0.outs {
		r.outs[i] = x.result(e.r)
	}
	for i, e := range s0.ins {
		r.ins[i] = x.data(e.r)
	}
	pool.Run(x.threads(), len(r.rights), func(i int) { r.rights[i].pack(&c.packed[i], x.data(c.packed[i].r)) })
	c.tellNumbers(x.t)
	for _, s := range c.strips {
		s.expect(c.parts / len(c.strips))
	}
	workers := make(chan *execution, x.threads())
	for range x.threads() {
		workers <- nil
	}
	pool.Run(x.threads(), c.parts, func(k int) {
		s, from := c.part(k)
		e := <-workers
		if e == nil {
			e = newExecution(s.plan)
		}
		r.load(e, s, from)
		e.run()
		r.unload(e, s, from)
		e.recycle()
		workers <- e
	})
	for range x.threads() {
		if e := <-workers; e != nil {
			e.release()
		}
	}
	for i := range r.rights {
		r.rights[i].release()
	}
	for i, o := range s0.outs {
		if x.whole && o.kept {
			x.t.isSane(o.r, !r.odd[i].Load())
		}
	}
}

// tellNumbers gives the strips the numbers of a tape. Runs of rows share the chain, and the numbers.
func (c *chain) tellNumbers(t *Tape) {
	c.numbers.Lock()
	defer c.numbers.Unlock()
	for _, s := range c.strips {
		for _, e := range s.nums {
			if v := &s.plan.t.num[e.at]; math.Float64bits(*v) != math.Float64bits(t.num[e.r]) {
				*v = t.num[e.r]
			}
		}
	}
}

// A chainRun is one run of a chain: what its strips read and write, the operands that all of
// them multiply by, and which of what they write is not finite.
type chainRun struct {
	x         *execution
	c         *chain
	outs, ins [][]float64 // as those of a strip
	rights    []sharedRight
	odd       []atomic.Bool // of outs
}

// load gives an execution a strip's rows: inputs, and outputs that are written in place.
func (r *chainRun) load(e *execution, s *strip, from int) {
	e.p, e.t, e.workers, e.from, e.rights, e.right, e.times = s.plan, s.plan.t, 1, r.x.from, r.rights, s.right, s.times
	if r.c.seeds {
		e.from += from
	}
	for k, i := range s.ins {
		src, slot := r.ins[k], s.plan.slot[i.at]
		switch {
		case i.outer > 1:
			n := s.n * i.unit
			m := e.alloc(i.outer * n)
			for o := range i.outer {
				copy(m[o*n:(o+1)*n], src[(o*r.c.rows+from)*i.unit:])
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
		dst := r.outs[k][from*o.unit:]
		if o.inPlace() {
			e.mem[s.plan.slot[o.at]] = dst[:s.n*o.unit]
		} else if i, ok := s.right[o.at]; ok && o.rows != nil && !r.c.packed[i].single {
			e.placed = append(e.placed, elsewhere{o, dst})
		}
	}
}

// unload writes what a strip has put out and is not in its place yet.
func (r *chainRun) unload(e *execution, s *strip, from int) {
	for k := range s.outs {
		o := &s.outs[k]
		if slot := s.plan.slot[o.at]; o.inPlace() {
			e.mem[slot] = nil
		} else if s.plan.narrow[o.at] {
			scatter(o.lies, r.outs[k][from*o.unit:], e.mem32[slot])
		} else if m := e.mem[slot]; m != nil {
			scatter(o.lies, r.outs[k][from*o.unit:], m)
		}
		for i := 0; r.x.whole && o.kept && i < o.outer; i++ {
			if !finiteNumbers(r.outs[k][(i*r.c.rows+from)*o.unit:][:s.n*o.unit]) {
				r.odd[k].Store(true)
			}
		}
	}
}

// expect tells the strip's tile programs that they will run so often, so that arithmetic in them is
// machine code from the first strip on.
func (s *strip) expect(times int) {
	for i := range s.plan.steps {
		if tp := s.plan.steps[i].tile; tp != nil {
			tp.linkedFor(int64(times) * int64(tp.n))
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

// A sharedRight is a right operand packed for all strips, as float64 or as float32.
type sharedRight struct {
	wide   kernels.Right[float64]
	single kernels.Right[float32]
}

// pack packs the operand in panels, as float32 where its products are.
func (s *sharedRight) pack(o *packedRight, data []float64) {
	if !o.single {
		s.wide.Pack(panelsOf(&s.wide, &arena64, o), data, o.ld, o.turned, o.k, o.n)
		return
	}
	narrow := arena32.take(len(data))
	kernels.Narrow(narrow, data)
	s.single.Pack(panelsOf(&s.single, &arena32, o), narrow, o.ld, o.turned, o.k, o.n)
	arena32.give(narrow)
}

// panelsOf is where an operand is packed to: where it was before, if it was.
func panelsOf[T real](r *kernels.Right[T], more *arena[T], o *packedRight) []T {
	if panels := r.Panels(); panels != nil {
		return panels
	}
	return more.take(kernels.PackedSize[T](o.k, o.n))
}

func (s *sharedRight) release() {
	arena64.give(s.wide.Panels())
	arena32.give(s.single.Panels())
}

// packedProduct runs a product by a packed right operand, if r is one.
func (x *execution) packedProduct(r Ref) bool {
	i, ok := x.right[r]
	if !ok {
		return false
	}
	left := x.p.same[x.t.Args(r)[0]]
	if x.columns[r] {
		x.rights[i].wide.Multiply(x.result(r), x.t.size(r), x.data(x.p.same[x.t.Args(r)[1]]), len(x.data(x.p.same[x.t.Args(r)[1]])), 1)
		return true
	}
	if !x.t.singleProduct(r) {
		multiplyPacked(x, r, x.data(left), &x.rights[i].wide, x.data, x.result)
		return true
	}
	var data []float32
	if s := x.p.slot[left]; s < 0 || x.mem[s] != nil || x.mem32[s] != nil { // else its slopes are enough
		data = x.data32(left)
	}
	multiplyPacked(x, r, data, &x.rights[i].single, x.data32, x.result32)
	if after, ok := x.times[r]; ok {
		r = after.to
	}
	if !x.p.narrow[r] {
		kernels.Widen(x.result(r), x.result32(r))
	}
	return true
}

// multiplyPacked runs a product by a packed right operand, with its epilogue, and what
// unitMatmul does with a single column that may differ from 0. What it reads and writes beside
// its left operand comes from value and result.
func multiplyPacked[T real](x *execution, r Ref, data []T, right *kernels.Right[T], value, result func(r Ref) []T) {
	t := x.t
	left := t.Args(r)[0]
	n, k := last(t.Shape(r)), last(t.Shape(left))
	m := t.size(r) / n
	off, column := t.unitColumn(left)
	column = column && len(t.Shape(left)) == 2
	if i := slices.IndexFunc(x.placed, func(o elsewhere) bool { return o.at == r }); i >= 0 && !column {
		x.placed[i].place(any(data).([]float64), k, m, any(right).(*kernels.Right[float64]))
		return
	}
	points := t.points(r)
	var by []T
	group := m
	if after, ok := x.times[r]; ok {
		r, by = after.to, value(after.by)
		group = len(by) / n
	}
	out := result(r)
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
		data, step = value(x.p.same[t.slopesOf(left)]), 1
		data = data[first+from:]
	} else {
		data = data[from*m*k+first+from:]
	}
	if len(by) > size { // not the same at all points
		by = by[from*size : to*size]
	}
	right.Rows(out[from*size:], n, data, k, step, m, first+from, to-from, by)
}
