package tape

import (
	"math"
	"sync"
	"sync/atomic"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// A tileProgram is a group as register code: micro-operations on tiles of tileSize
// numbers. Values that only the group uses live in slots, which stay in L1.
type tileProgram struct {
	n      int // elements
	code   []micro
	loads  []load // arguments that broadcast, spread into slots
	direct []Ref  // arguments and results read and written in place
	over   []Ref  // of each in direct: the argument whose memory it takes, or None; nil for none at all
	slots  int
	sums   []sumOf
	kept   []sumOf // results that were asked for, and where they are; not of float32

	plain *tileCode // not of float32
	fused atomic.Pointer[tileCode]
	work  atomic.Int64 // elements so far

	single bool // all is float32
	wides  []wide
	stores []store
}

// A micro-operation. Operands ≥ 0 are slots, others are places in direct: -1-i.
type micro struct {
	op      *Op
	dst     int32
	arg     [3]int32
	pair    func(dst, x, y, z []float64) // of two operations, in place of op
	links   [2]kernels.Link              // those
	both    func(y, d, x []float64)      // a twin: dst and dst2 at once
	dst2    int32
	float32 bool
	single  any  // the kernel of float32, in a program of float32
	twin    bool // single has two results
}

type load struct {
	ref   Ref // None: the number
	slot  int32
	sp    *spread // nil: one number, filled in once
	whole bool    // in a program of float32: an argument stored as float64
	num   float64
	turn  int // the argument repeats whole after so many elements: read in place; 0 when it does not
}

type sumOf struct {
	ref Ref
	arg int32
}

// tileSize is a number of float64: 256 of them in about nine slots are 18 KB and stay
// in L1; 64 to 2048 are within 15 % (design measurements). 512 took 3 % less on W2, which
// has six slots; more of them would not fit. Making the slices of a tile's operands once
// instead of in every tile changed nothing: what is left between kernels is their start.
const tileSize = 256

// slotStride is from one slot to the next: sixteen of them begin at different multiples
// of 256 bytes in a page of 4096. A kernel that reads a little behind where it writes, as
// the last twelve bits of the addresses go, waits for its own stores: adding tiles took
// 0.10 ns an element with this stride, 0.14 to 0.34 with 256 and other strides.
const slotStride = 288

// tileScratch is working memory of buildTile, by Ref: where a value is, how often it is
// still read, and which node, counted from 1, may be joined with others. All are cleared
// after each tile. It is kept from one plan to the next.
type tileScratch struct {
	last                []int32 // by Ref: the last step that reads it
	keep                []bool  // by Ref: it leaves the plan
	seen                []bool  // by Ref: there is a view of its memory
	where, reads, joins []int32
	touched             []Ref
	nodes               []node
}

var tileScratches = sync.Pool{New: func() any { return new(tileScratch) }}

// sized makes room for n values.
func (sc *tileScratch) sized(n int) {
	for _, s := range []*[]int32{&sc.last, &sc.where, &sc.reads, &sc.joins} {
		*s = grown(*s, n)
		clear(*s)
	}
	for _, s := range []*[]bool{&sc.keep, &sc.seen} {
		*s = grown(*s, n)
		clear(*s)
	}
}

const nowhere = 1 << 30

func (p *Plan) buildTile(s *step, index int32, sc *tileScratch) *tileProgram {
	t := p.t
	tp := &tileProgram{direct: make([]Ref, 0, 4)}
	last, keep, where, reads := sc.last, sc.keep, sc.where, sc.reads
	touch := func(r Ref) {
		if where[r] == 0 && reads[r] == 0 {
			where[r] = nowhere
			sc.touched = append(sc.touched, r)
		}
	}
	defer func() {
		for _, r := range sc.touched {
			where[r], reads[r], sc.joins[r] = 0, 0, 0
		}
		sc.touched = sc.touched[:0]
	}()
	direct := func(r Ref) int32 {
		tp.direct = append(tp.direct, r)
		return int32(-len(tp.direct))
	}
	tp.single = p.single[index]
	for _, r := range s.refs {
		touch(r)
		for _, a := range t.Args(r) {
			touch(p.same[a])
		}
	}
	nodes := p.shorten(s, tp.single, sc, func(r Ref) bool { return keep[r] || last[r] > index })
	size := 0
	for i := range nodes {
		if !nodes[i].gone && nodes[i].op != opSum {
			size++
		}
	}
	tp.code = make([]micro, 0, size)
	free := make([]int32, 0, 16)
	slot := func() int32 {
		if n := len(free); n > 0 {
			x := free[n-1]
			free = free[:n-1]
			return x
		}
		tp.slots++
		return int32(tp.slots - 1)
	}
	var dying []Ref // arguments that nobody reads any more, and whose memory is free to take
	result := func(r Ref) int32 {
		if !keep[r] && last[r] <= index {
			return slot()
		}
		if tp.single && !p.narrow[r] {
			tp.stores = append(tp.stores, store{r, slot()})
			return tp.stores[len(tp.stores)-1].slot
		}
		d := direct(r)
		if keep[r] && !tp.single {
			tp.kept = append(tp.kept, sumOf{r, d})
		} else if n := len(dying); n > 0 {
			for len(tp.over) < len(tp.direct) {
				tp.over = append(tp.over, None)
			}
			tp.over[len(tp.direct)-1], dying = dying[n-1], dying[:n-1]
		}
		return d
	}
	done := func(a Ref) { // has been read once more
		if a == None {
			return
		}
		if reads[a]--; reads[a] > 0 || keep[a] || last[a] > index {
			return
		}
		if p.home[a] == index && where[a] >= 0 {
			free = append(free, where[a])
		} else if p.home[a] < index && where[a] < 0 && p.slot[a] >= 0 && !p.narrow[a] && !p.view[p.slot[a]] && !sc.seen[a] && !tp.single {
			dying = append(dying, a)
		}
	}
	// broadcast arguments keep their slots: a number is filled in once for all tiles
	for k, r := range s.refs {
		if t.ins[r].Op == opSum || nodes[k].gone {
			continue
		}
		tp.n = t.size(r)
		for _, a := range nodes[k].args[:nodes[k].n] {
			if a == None {
				nodes[k].slot = tp.number(nodes[k].num, slot)
				continue
			}
			if where[a] != nowhere || p.home[a] == index {
				continue
			}
			if tp.single && !t.exact(a) {
				where[a] = wideBase + int32(len(tp.wides))
				tp.wides = append(tp.wides, wide{a, t.spreadOf(a, r), t.single(a)})
				continue
			}
			if tp.single && t.sameSpace(a, r, false) && !p.narrow[a] {
				where[a] = slot()
				tp.loads = append(tp.loads, load{ref: a, slot: where[a], whole: true})
				continue
			}
			if t.sameSpace(a, r, false) {
				where[a] = direct(a)
				continue
			}
			l := load{ref: a, slot: slot(), sp: t.spreadOf(a, r)}
			if t.single(a) {
				l.sp = nil
			} else if l.sp == nil && tp.single && !p.narrow[a] {
				l.whole = true
			} else if l.sp == nil { // only ones differ: the same layout
				free = append(free, l.slot)
				where[a] = direct(a)
				continue
			}
			if l.sp != nil && len(l.sp.dims) == 2 && l.sp.strides[0] == 0 && l.sp.strides[1] == 1 {
				l.turn = l.sp.dims[1]
			}
			tp.loads = append(tp.loads, l)
			where[a] = l.slot
		}
	}
	for k, r := range s.refs {
		in, o := &t.ins[r], &nodes[k]
		if in.Op == opSum {
			tp.sums = append(tp.sums, sumOf{r, where[o.args[0]]})
			// the slot stays taken to the end of the tile
			continue
		}
		if o.gone || where[r] != nowhere {
			continue // done, as part or twin of another
		}
		m := micro{op: o.op, pair: o.pair, links: o.links, float32: in.dtype == tensor.Float32}
		if w := p.twinOf(s.refs[k+1:], r); w != None && (!m.float32 || tp.single) {
			x := o.args[0]
			var dst [2]int32
			for i, y := range []Ref{r, w} {
				dst[i] = result(y)
				where[y] = dst[i]
			}
			m.arg[0], m.both = where[x], *in.Op.Twin.both
			if tp.single && m.arg[0] < wideBase {
				m.single, m.twin = singles.get()["twin "+min(in.Op.Name, in.Op.Twin.with)], true
			}
			m.dst, m.dst2 = dst[0], dst[1]
			if !in.Op.Twin.first {
				m.dst, m.dst2 = dst[1], dst[0]
			}
			tp.code = append(tp.code, m)
			done(x)
			done(x)
			continue
		}
		if tp.single {
			m.single = singles.get()[in.Op.Name]
		}
		for i, a := range o.args[:o.n] {
			if a == None {
				m.arg[i] = o.slot
			} else if m.arg[i] = where[a]; m.arg[i] >= wideBase {
				m.single = nil
			}
		}
		first := o.n
		if o.pair != nil {
			first = 2 // what is read second must not be overwritten at first
		}
		for _, a := range o.args[:first] {
			done(a)
		}
		m.dst = result(r)
		where[r] = m.dst
		for _, a := range o.args[first:o.n] {
			done(a)
		}
		tp.code = append(tp.code, m)
	}
	if !tp.single {
		tp.plain = tp.link(tp.code)
	}
	return tp
}

// call is the call of a micro-operation; one that cannot be called where Go does it.
func (m *micro) call() kernels.Call {
	switch op := m.op; {
	case m.float32:
		return kernels.Call{}
	case m.both != nil:
		return kernels.CallOf(m.both, m.dst, m.dst2, m.arg[0])
	case m.pair != nil:
		return kernels.CallOf(m.pair, m.dst, m.arg[0], m.arg[1], m.arg[2])
	case op.k2 != nil:
		return kernels.CallOf(*op.k2, m.dst, m.arg[0], m.arg[1])
	case op.k1 != nil:
		return kernels.CallOf(*op.k1, m.dst, m.arg[0])
	case op.k3 != nil:
		return kernels.CallOf(*op.k3, m.dst, m.arg[0], m.arg[1], m.arg[2])
	}
	return kernels.Call{}
}

// number is the slot of a number.
func (tp *tileProgram) number(v float64, slot func() int32) int32 {
	for _, l := range tp.loads {
		if l.ref == None && math.Float64bits(l.num) == math.Float64bits(v) {
			return l.slot
		}
	}
	l := load{ref: None, slot: slot(), num: v}
	tp.loads = append(tp.loads, l)
	return l.slot
}

// twinOf finds, among later instructions of a group, the one that is computed along
// with r: None for none.
func (p *Plan) twinOf(later []Ref, r Ref) Ref {
	t := p.t
	w := &t.ins[r].Op.Twin
	if w.both == nil {
		return None
	}
	x := p.same[t.Args(r)[0]]
	for _, o := range later[:min(len(later), 256)] {
		if t.ins[o].Op.Name == w.with && p.same[t.Args(o)[0]] == x {
			return o
		}
	}
	return None
}
