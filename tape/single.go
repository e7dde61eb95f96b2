package tape

import (
	"unsafe"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// float32 inside an execution. A tile program of float32 alone, and a matrix product of
// float32, compute on float32; what they pass to one another is stored so. Everything
// else sees float64, made from it on demand. The bits do not depend on who computes: an
// elementwise operation is that of float64 rounded once, on either way, and a product of
// float32 is the same product wherever it runs.
//
// Leaves and results stay float64, as tensors are: a tile converts what it reads and
// writes of them. At 1e7 elements the result's fresh memory then costs as much as in
// float64; storing tensors as float32 would halve that and touch every reader of them.

type real interface{ float32 | float64 }

// singles are the kernels of float32 by the name of the operation. An operation that has
// none runs on float64 and is rounded.
var singles = lazy[map[string]any]{make: func() map[string]any {
	s := &kernels.Single
	return map[string]any{
		"name":     func(dst, x []float32) { copy(dst, x) },
		"negative": s.Neg, "abs": s.Abs, "sign": s.Sign, "abs_slope": s.Sign, "sqrt": s.Sqrt, "reciprocal": s.Recip, "square": s.Square,
		"floor": s.Floor, "ceil": s.Ceil, "trunc": s.Trunc, "round": s.Round,
		"logical_not": s.Not, "isnan": s.IsNaN, "isinf": s.IsInf, "isfinite": s.IsFinite,
		"add": s.Add, "subtract": s.Sub, "multiply": s.Mul, "divide": s.Div, "zmul": s.ZMul, "maximum": s.Maximum, "minimum": s.Minimum,
		"less": s.Lt, "less_equal": s.Le, "greater": s.Gt, "greater_equal": s.Ge, "equal": s.Eq, "not_equal": s.Ne,
		"logical_and": s.And, "logical_or": s.Or,
		"fma": s.FMA, "where": s.Where,
		"exp": s.Exp, "expm1": s.Expm1, "log": s.Log, "log1p": s.Log1p,
		"sigmoid": s.Sigmoid, "sigmoid_slope": s.SigmoidSlope, "softplus": s.Softplus, "tanh": s.Tanh, "sech2": s.Sech2,
		"sin": s.Sin, "cos": s.Cos, "tan": s.Tan,

		// both of a function and its partial, by the name that comes first
		"twin log1p": s.Log1pTwin, "twin sigmoid": s.SigmoidTwin, "twin sech2": s.TanhSech2, "twin cos": s.SinCos,
	}
}}

// fitsSingle reports whether dtype's numbers are float32.
func fitsSingle(d tensor.DType) bool { return d == tensor.Float32 || d == tensor.Bool }

// isSingle reports whether a step computes on float32: a tile program whose results are
// all float32 or truths, or a matrix product.
func (p *Plan) isSingle(s *step) bool {
	t := p.t
	switch s.kind {
	case stepTile:
		some := false
		for _, r := range s.refs {
			d := t.ins[r].dtype
			if t.ins[r].Op == opSum {
				continue
			}
			if !fitsSingle(d) {
				return false
			}
			some = some || d == tensor.Float32
		}
		return some
	case stepOne:
		return t.singleProduct(s.refs[0])
	}
	return false
}

// exact reports whether what r holds can be read as float32: its type says so, and a
// constant of the program, which keeps all its digits, is one.
func (t *Tape) exact(r Ref) bool {
	if c, ok := t.constant(r); ok {
		return float64(float32(c)) == c || c != c
	}
	return fitsSingle(t.ins[r].dtype)
}

// singleProduct reports whether r is a matrix product of float32.
func (t *Tape) singleProduct(r Ref) bool {
	if t.ins[r].Op != opMatmul || t.ins[r].dtype != tensor.Float32 {
		return false
	}
	for _, a := range t.Args(r) {
		if !t.exact(a) {
			return false
		}
	}
	return true
}

// product32 runs a matrix product of float32 into out.
func (t *Tape) product32(r Ref, out []float32, data [][]float32, threads, from int) {
	c := &run{t: t, r: r, threads: threads, from: from, attr: t.Attr(r), shape: t.Shape(r)}
	for _, a := range t.Args(r) {
		c.shapes = append(c.shapes, t.Shape(a))
	}
	if len(t.Axes(r)) == 0 {
		matmulAt(c, out, data[0], data[1])
		return
	}
	b := t.batchOf(r)
	if wholeMatmul(c, b, out, data) {
		return
	}
	size, nx, ny := c.shape.Size(), c.shapes[0].Size(), c.shapes[1].Size()
	for k := range b.n {
		ox, oy := b.offset(0, k)*nx, b.offset(1, k)*ny
		matmulAt(c, out[k*size:(k+1)*size], data[0][ox:ox+nx], data[1][oy:oy+ny])
	}
}

// runProduct32 is product32 between values stored as float64.
func (t *Tape) runProduct32(r Ref, out []float64, data [][]float64, threads, from int) {
	single := make([][]float32, len(data))
	for i, x := range data {
		single[i] = make([]float32, len(x))
		kernels.Narrow(single[i], x)
	}
	y := make([]float32, len(out))
	t.product32(r, y, single, threads, from)
	kernels.Widen(out, y)
}

// A value of an execution is in mem, in mem32 or in both; where narrow says so it was
// computed in mem32.

// alloc32 is alloc of float32.
func (x *execution) alloc32(n int) []float32 { return fromPool(x.pool32, &arena32, n) }

// free gives the memory of a slot back.
func (x *execution) free(slot int32) {
	if m := x.mem[slot]; m != nil {
		x.mem[slot] = nil
		if !x.p.view[slot] {
			toPool(&x.pool, m)
		}
	}
	if int(slot) < len(x.mem32) && x.mem32[slot] != nil {
		m := x.mem32[slot]
		x.mem32[slot] = nil
		toPool(&x.pool32, m)
	}
}

// data32 is the value of r as float32.
func (x *execution) data32(r Ref) []float32 {
	if x.t.single(r) {
		return []float32{float32(x.t.num[r])}
	}
	s := x.p.slot[r]
	if s < 0 {
		m := x.leaves[r]
		if m == nil {
			m = x.alloc32(len(x.t.big[r]))
			kernels.Narrow(m, x.t.big[r])
			x.leaves[r] = m
		}
		return m
	}
	if x.mem32[s] == nil {
		x.mem32[s] = x.alloc32(len(x.mem[s]))
		kernels.Narrow(x.mem32[s], x.mem[s])
	}
	return x.mem32[s]
}

// freeSingles gives back what is float32: leaves, and results, which are there as float64.
func (x *execution) freeSingles() {
	for _, m := range x.leaves {
		toPool(&x.pool32, m)
	}
	clear(x.leaves)
	for i, m := range x.mem32 {
		if m != nil {
			toPool(&x.pool32, m)
			x.mem32[i] = nil
		}
	}
}

// widen is the value of r, computed as float32, as float64.
func (x *execution) widen(r Ref) []float64 {
	s := x.p.slot[r]
	if x.mem[s] == nil {
		x.mem[s] = x.alloc(len(x.mem32[s]))
		kernels.Widen(x.mem[s], x.mem32[s])
	}
	return x.mem[s]
}

// result32 is memory for a result of a step of float32.
func (x *execution) result32(r Ref) []float32 {
	s := x.p.slot[r]
	if x.mem32[s] == nil {
		x.mem32[s] = x.alloc32(x.t.size(r))
	}
	return x.mem32[s]
}

// product runs a matrix product of float32.
func (x *execution) product(r Ref) {
	if x.packedProduct(r) {
		return
	}
	t := x.t
	var data [2][]float32
	for i, a := range t.Args(r) {
		data[i] = x.data32(x.p.same[a])
	}
	if t.single(r) {
		var out [1]float32
		t.product32(r, out[:], data[:], x.threads(), x.from)
		t.num[r] = float64(out[0])
		return
	}
	t.product32(r, x.result32(r), data[:], x.threads(), x.from)
	if !x.p.narrow[r] {
		kernels.Widen(x.result(r), x.mem32[x.p.slot[r]])
	}
}

// A wide is an argument of a tile program of float32 that is not float32 itself: a
// constant with more digits, or whole numbers. What reads it computes on float64.
type wide struct {
	ref Ref
	sp  *spread
	one bool // a single number
}

// wideBase is where operands are that are in wides.
const wideBase = 1 << 28

// tileSize32 makes a tile of float32 as large as one of float64, and slotStride32 as far from
// the next.
const (
	tileSize32   = 2 * tileSize
	slotStride32 = 2 * slotStride
)

// A store is a result of a tile program of float32 that is wanted as float64.
type store struct {
	ref  Ref
	slot int32
}

// link32 makes a program of float32 one of calls, of which reading and writing float64 are some.
// Places are numbers of float32 but for those: results that are wanted as float64 and arguments
// that are stored so come before what is direct, last to first, and behind the slots is room for
// one tile of float64 and the lanes of the sums.
func (tp *tileProgram) link32(d *desk) *tileCode {
	c := d.codes.one()
	size := len(tp.loads) + len(tp.code) + len(tp.stores) + 2*len(tp.sums)
	c.micros, c.calls = d.micros.of(size)[:0], d.calls.of(size)[:0]
	for i, l := range tp.loads {
		if l.whole {
			c.micros = append(c.micros, micro{single: kernels.Narrow, dst: l.slot, arg: [3]int32{int32(-1 - len(tp.direct) - i)}})
		}
	}
	c.micros = append(c.micros, tp.code...)
	for i, s := range tp.stores {
		c.micros = append(c.micros, micro{single: kernels.Widen, dst: int32(-1 - len(tp.direct) - len(tp.loads) - i), arg: [3]int32{s.slot}})
	}
	room := int32(tp.slots)
	for i, s := range tp.sums { // of what the program computes, which is never wide
		c.micros = append(c.micros, micro{single: kernels.Widen, dst: room, arg: [3]int32{s.arg}},
			micro{single: kernels.SumLanes, dst: room + 1 + int32(i), arg: [3]int32{room}})
	}
	for i := range c.micros {
		c.calls = append(c.calls, c.micros[i].call32())
	}
	return c
}

// call32 is call in a program of float32.
func (m *micro) call32() kernels.Call {
	switch f := m.single.(type) {
	case func(dst, x []float32):
		return kernels.CallOf(f, m.dst, m.arg[0])
	case func(dst, x, y []float32):
		if m.twin {
			return kernels.CallOf(f, m.dst, m.dst2, m.arg[0])
		}
		return kernels.CallOf(f, m.dst, m.arg[0], m.arg[1])
	case func(dst, x, y, z []float32):
		return kernels.CallOf(f, m.dst, m.arg[0], m.arg[1], m.arg[2])
	case func(dst []float32, x []float64):
		return kernels.CallOf(f, m.dst, m.arg[0])
	case func(dst []float64, x []float32):
		return kernels.CallOf(f, m.dst, m.arg[0])
	case func(to *kernels.Lanes, x []float64):
		return kernels.CallOf(f, m.dst, m.arg[0])
	}
	return kernels.Call{}
}

// A room32 is what a room has beside for programs of float32.
type room32 struct {
	slots []float32
	wides []float64 // single numbers, spread out
	tiles [6][tileSize32]float64
}

// blocks32 is blocks for a program of float32. Sums are of float64.
func (x *execution) blocks32(tp *tileProgram, in *tileData, from, to int, sums []float64) {
	t := x.t
	w := rooms.Get().(*room)
	if w.single == nil {
		w.single = new(room32)
	}
	m := w.single
	m.slots, m.wides = grown(m.slots, tp.slots*slotStride32), grown(m.wides, len(tp.wides)*tileSize32)
	before, lanes := len(in.moving), len(tp.sums)
	w.at, w.lanes = grown(w.at, before+tp.slots+1+lanes), grown(w.lanes, lanes)
	defer func() {
		clear(w.at)
		rooms.Put(w)
	}()
	slot := func(i int32) []float32 { return m.slots[int(i)*slotStride32:][:tileSize32] }
	at := w.at[before:]
	for i := range tp.slots {
		at[i] = unsafe.Pointer(&m.slots[i*slotStride32])
	}
	at[tp.slots] = unsafe.Pointer(&m.tiles[0])
	for i := range lanes {
		at[tp.slots+1+i] = unsafe.Pointer(&w.lanes[i])
	}
	for _, l := range tp.loads {
		if l.sp == nil && !l.whole {
			kernels.Single.Fill(slot(l.slot), float32(t.num[l.ref]))
		}
	}
	for i, w := range tp.wides {
		if w.one {
			kernels.Fill(m.wides[i*tileSize32:(i+1)*tileSize32], t.num[w.ref])
		}
	}
	calls := tp.plain.calls
	all := (tp.n + kernels.SumBlock - 1) / kernels.SumBlock
	for b := from; b < to; b++ {
		if t.check != nil && b&255 == 255 {
			t.check()
		}
		clear(w.lanes)
		end := min((b+1)*kernels.SumBlock, tp.n)
		for from := b * kernels.SumBlock; from < end; from += tileSize32 {
			n := min(tileSize32, end-from)
			for i := range tp.loads {
				l := &tp.loads[i]
				if l.sp == nil {
					continue
				}
				if l.turn > 0 {
					if k := from % l.turn; k+n <= l.turn {
						at[l.slot] = unsafe.Pointer(&in.loads[i][k : k+n][0])
						continue
					}
				}
				at[l.slot] = unsafe.Pointer(&m.slots[int(l.slot)*slotStride32])
				fillSpread(l.sp, slot(l.slot)[:n], in.loads[i], from)
			}
			for i, v := range in.moving {
				if v.at != nil {
					w.at[before-1-i] = unsafe.Add(v.at, uintptr(from)*v.size)
				}
			}
			for k := 0; k < len(calls); k++ {
				ran, done := kernels.Run(calls[k:], &at[0], n)
				if k += ran; k < len(calls) {
					tp.micro32(w, in, k, done, from, n)
				}
			}
		}
		for i := range tp.sums {
			sums[i*all+b] = w.lanes[i].Fold()
		}
	}
}

// micro32 does what a run left to Go: call k from its element done on, of the n that begin at
// element from.
func (tp *tileProgram) micro32(w *room, in *tileData, k, done, from, n int) {
	m, r := &tp.plain.micros[k], w.single
	place := func(o int32) unsafe.Pointer { return w.at[len(in.moving)+int(o)] }
	operand := func(o int32) []float32 { return unsafe.Slice((*float32)(place(o)), n)[done:] }
	double := func(o int32) []float64 { return unsafe.Slice((*float64)(place(o)), n)[done:] }
	wide := func(o int32, room []float64) []float64 {
		room = room[:n-done]
		if o < wideBase {
			kernels.Widen(room, operand(o))
			return room
		}
		o -= wideBase
		v := &tp.wides[o]
		switch {
		case v.one:
			return r.wides[int(o)*tileSize32:][:n-done]
		case v.sp == nil:
			return in.wides[o][from+done : from+n]
		}
		fillSpread(v.sp, room, in.wides[o], from+done)
		return room
	}
	switch f := m.single.(type) {
	case func(dst, x []float32):
		f(operand(m.dst), operand(m.arg[0]))
	case func(dst, x, y []float32):
		if m.twin {
			f(operand(m.dst), operand(m.dst2), operand(m.arg[0]))
		} else {
			f(operand(m.dst), operand(m.arg[0]), operand(m.arg[1]))
		}
	case func(dst, x, y, z []float32):
		f(operand(m.dst), operand(m.arg[0]), operand(m.arg[1]), operand(m.arg[2]))
	case func(dst []float32, x []float64):
		f(operand(m.dst), double(m.arg[0]))
	case func(dst []float64, x []float32):
		f(double(m.dst), operand(m.arg[0]))
	case func(to *kernels.Lanes, x []float64):
		f((*kernels.Lanes)(place(m.dst)), double(m.arg[0]))
	default:
		out, second := r.tiles[1][:n-done], r.tiles[2][:n-done]
		if m.both != nil {
			m.both(out, second, wide(m.arg[0], r.tiles[3][:]))
			kernels.Narrow(operand(m.dst2), second)
		} else {
			var x [3][]float64
			for i := range m.op.arity() {
				x[i] = wide(m.arg[i], r.tiles[3+i][:])
			}
			m.op.call(out, x[0], x[1], x[2])
		}
		kernels.Narrow(operand(m.dst), out)
	}
}

// tileData is where a tile program of float32 reads and writes.
type tileData struct {
	moving []stretch // what is direct, loads that are whole, stores
	loads  [][]float32
	wides  [][]float64
}

// A stretch is memory that tiles go along.
type stretch struct {
	at   unsafe.Pointer
	size uintptr // of an element
}

func along[T real](x []T) stretch {
	return stretch{unsafe.Pointer(unsafe.SliceData(x)), unsafe.Sizeof(x[0])}
}

// tileData finds it; all of it has as many elements as the program, and stays alive as the
// execution's.
func (x *execution) tileData(tp *tileProgram) *tileData {
	t, in := x.t, &x.spans32
	in.moving, in.loads, in.wides = in.moving[:0], grown(in.loads, len(tp.loads)), in.wides[:0]
	for _, r := range tp.direct {
		in.moving = append(in.moving, along(x.result32(r)[:tp.n])) // an argument has its memory
	}
	for i, l := range tp.loads {
		m := stretch{}
		if l.whole {
			m = along(x.data(l.ref)[:tp.n])
		} else if l.sp != nil {
			in.loads[i] = x.data32(l.ref)
		}
		in.moving = append(in.moving, m)
	}
	for _, s := range tp.stores {
		slot := x.p.slot[s.ref]
		if x.mem[slot] == nil {
			x.mem[slot] = x.alloc(t.size(s.ref))
		}
		in.moving = append(in.moving, along(x.mem[slot][:tp.n]))
	}
	for _, w := range tp.wides {
		in.wides = append(in.wides, x.data(w.ref))
	}
	return in
}
