package tape

import (
	"slices"

	"nabla/tape/tensor"
)

// A tileProgram is a group as register code: micro-operations on tiles of tileSize
// numbers. Values that only the group uses live in slots, which stay in L1.
type tileProgram struct {
	n      int // elements
	code   []micro
	loads  []load // arguments that broadcast, spread into slots
	direct []Ref  // arguments and results read and written in place
	slots  int
	sums   []sumOf

	single bool // all is float32
	wides  []wide
	stores []store
}

// A micro-operation. Operands ≥ 0 are slots, others are places in direct: -1-i.
type micro struct {
	op      *Op
	dst     int32
	arg     [3]int32
	both    func(y, d, x []float64) // a twin: dst and dst2 at once
	dst2    int32
	float32 bool
	single  any  // the kernel of float32, in a program of float32
	twin    bool // single has two results
}

type load struct {
	ref   Ref
	slot  int32
	sp    *spread // nil: one number, filled in once
	whole bool    // in a program of float32: an argument stored as float64
	turn  int     // the argument repeats whole after so many elements: read in place; 0 when it does not
}

type sumOf struct {
	ref Ref
	arg int32
}

// tileSize is a number of float64: 256 of them in about nine slots are 18 KB and stay
// in L1; 64 to 2048 are within 15 % (design measurements).
const tileSize = 256

// tileScratch is working memory of buildTile, by Ref: where a value is, and how often it
// is still read. Both are cleared after each tile.
type tileScratch struct {
	where, reads []int32
	touched      []Ref
}

const nowhere = 1 << 30

func (p *Plan) buildTile(s *step, index int32, last []int32, keep []bool, sc *tileScratch) *tileProgram {
	t := p.t
	tp := &tileProgram{code: make([]micro, 0, len(s.refs))}
	where, reads := sc.where, sc.reads
	touch := func(r Ref) {
		if where[r] == 0 && reads[r] == 0 {
			where[r] = nowhere
			sc.touched = append(sc.touched, r)
		}
	}
	defer func() {
		for _, r := range sc.touched {
			where[r], reads[r] = 0, 0
		}
		sc.touched = sc.touched[:0]
	}()
	direct := func(r Ref) int32 {
		tp.direct = append(tp.direct, r)
		return int32(-len(tp.direct))
	}
	// how often a value is still read inside the group
	for _, r := range s.refs {
		touch(r)
		for _, a := range t.Args(r) {
			touch(p.same[a])
			reads[p.same[a]]++
		}
	}
	var free []int32
	slot := func() int32 {
		if n := len(free); n > 0 {
			x := free[n-1]
			free = free[:n-1]
			return x
		}
		tp.slots++
		return int32(tp.slots - 1)
	}
	tp.single = p.single[index]
	result := func(r Ref) int32 {
		if !keep[r] && last[r] <= index {
			return slot()
		}
		if tp.single && !p.narrow[r] {
			tp.stores = append(tp.stores, store{r, slot()})
			return tp.stores[len(tp.stores)-1].slot
		}
		return direct(r)
	}
	// broadcast arguments keep their slots: a number is filled in once for all tiles
	for _, r := range s.refs {
		if t.ins[r].Op == opSum {
			continue
		}
		tp.n = t.size(r)
		for _, a := range t.Args(r) {
			a = p.same[a]
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
		in := &t.ins[r]
		if in.Op == opSum {
			a := p.same[t.Args(r)[0]]
			tp.sums = append(tp.sums, sumOf{r, where[a]})
			// the slot stays taken to the end of the tile
			continue
		}
		if where[r] != nowhere {
			continue // done, as the twin of one before
		}
		m := micro{op: in.Op, float32: in.dtype == tensor.Float32}
		if o := p.twinOf(s.refs[k+1:], r); o != None && (!m.float32 || tp.single) {
			x := p.same[t.Args(r)[0]]
			var dst [2]int32
			for i, y := range []Ref{r, o} {
				dst[i] = result(y)
				where[y] = dst[i]
			}
			m.arg[0], m.both = where[x], *in.Op.Twin.both
			if tp.single && m.arg[0] < wideBase {
				m.single, m.twin = singles()["twin "+min(in.Op.Name, in.Op.Twin.with)], true
			}
			m.dst, m.dst2 = dst[0], dst[1]
			if !in.Op.Twin.first {
				m.dst, m.dst2 = dst[1], dst[0]
			}
			tp.code = append(tp.code, m)
			if reads[x] -= 2; reads[x] <= 0 && p.home[x] == index && where[x] >= 0 && !keep[x] && last[x] <= index {
				free = append(free, where[x])
			}
			continue
		}
		if tp.single {
			m.single = singles()[in.Op.Name]
		}
		for i, a := range t.Args(r) {
			if m.arg[i] = where[p.same[a]]; m.arg[i] >= wideBase {
				m.single = nil
			}
		}
		for i, a := range t.Args(r) {
			a = p.same[a]
			if slices.ContainsFunc(t.Args(r)[:i], func(x Ref) bool { return p.same[x] == a }) {
				continue
			}
			reads[a] -= int32(countRefs(t.Args(r), a, p))
			if reads[a] <= 0 && p.home[a] == index && where[a] >= 0 && !keep[a] && last[a] <= index {
				free = append(free, where[a])
			}
		}
		m.dst = result(r)
		where[r] = m.dst
		tp.code = append(tp.code, m)
	}
	return tp
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

func countRefs(args []Ref, a Ref, p *Plan) int {
	n := 0
	for _, x := range args {
		if p.same[x] == a {
			n++
		}
	}
	return n
}
