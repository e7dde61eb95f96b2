package tape

import (
	"slices"

	"nabla/kernels"
)

// Where nothing stands between them any more but what is read where it is, tile programs of a
// steady step become one: a step of a stencil then is one call. What such a program reads
// elsewhere it does not find in memory when it makes it itself; where that is an operation on
// one vector and numbers, it reads the vector and does the operation again.

// mostAgain is how many readings of a value do its operation again.
const mostAgain = 4

// mostSlots is how many slots a program has that is made of two.
const mostSlots = 24

// doAgain finds values whose readings elsewhere make them themselves.
func (b *steadyReads) doAgain(uses []usedReading) {
	for _, v := range b.p.order {
		x, ok := b.cheap(v)
		if !ok {
			continue
		}
		var all []*reading
		for _, o := range uses {
			if o.reads(v) {
				all = append(all, o.reading)
				ok = ok && !slices.ContainsFunc(o.runs, func(s strand) bool { return s.from != v })
			}
		}
		here, elsewhere := b.otherReaders(v)
		if !ok || elsewhere || len(all) == 0 || len(all) > mostAgain {
			continue
		}
		for _, o := range all {
			o.made = v
			o.runs, o.strands = from(o.runs, x), from(o.strands, x)
		}
		if !here {
			b.gone = append(b.gone, v)
		}
	}
}

// otherReaders reports whether other tile programs than that of v read it as it is, or anything
// else but what is read where it is.
func (b *steadyReads) otherReaders(v Ref) (tiles, others bool) {
	p := b.p
	for _, r := range p.order {
		if p.home[r] == p.home[v] || b.read[r] || b.joined[r] || !slices.ContainsFunc(p.t.Args(r), func(a Ref) bool { return p.same[a] == v }) {
			continue
		}
		if p.steps[p.home[r]].kind == stepTile {
			tiles = true
		} else {
			others = true
		}
	}
	return tiles, others
}

// A usedReading is one of a step's tile program.
type usedReading struct {
	*reading
	step int
}

// reads reports whether it reads anything of r.
func (x *reading) reads(r Ref) bool {
	return slices.ContainsFunc(x.runs, func(s strand) bool { return s.from == r })
}

// used are the readings of tile programs.
func (b *steadyReads) used() (all []usedReading) {
	for i := range b.p.steps {
		note := func(r Ref) {
			for k := range b.found[r] {
				all = append(all, usedReading{&b.found[r][k], i})
			}
		}
		switch st := &b.p.steps[i]; {
		case st.kind == stepTile:
			for _, r := range st.tile.direct {
				if r != None && b.read[r] {
					note(r)
				}
			}
		case st.kind == stepOne && b.joined[st.refs[0]] && !b.read[st.refs[0]]:
			note(st.refs[0])
		}
	}
	return all
}

// from are runs of x.
func from(runs []strand, x Ref) []strand {
	runs = slices.Clone(runs)
	for i := range runs {
		runs[i].from = x
	}
	return runs
}

// cheap reports whether v takes an operation on numbers and a vector x, which is in memory.
func (b *steadyReads) cheap(v Ref) (x Ref, ok bool) {
	p, t := b.p, b.p.t
	if p.steps[p.home[v]].kind != stepTile || p.slot[v] < 0 || slices.Contains(p.outs, v) || !b.byCalls(p.steps[p.home[v]].tile) {
		return None, false
	}
	switch t.ins[v].Op().does() {
	case kernels.DoNeg, kernels.DoAdd, kernels.DoSub, kernels.DoMul, kernels.DoZMul:
	default:
		return None, false
	}
	x = None
	for _, a := range t.Args(v) {
		if a = p.same[a]; t.single(a) {
			continue
		}
		if x != None && x != a || !b.inMemory(a) || t.ins[a].shape != t.ins[v].shape || b.read[a] || b.joined[a] {
			return None, false
		}
		x = a
	}
	return x, x != None && !slices.Contains(b.gone, x)
}

// inMemory reports whether r is, by itself.
func (b *steadyReads) inMemory(r Ref) bool {
	p := b.p
	if p.home[r] < 0 {
		return true
	}
	switch st := &p.steps[p.home[r]]; st.kind {
	case stepTile:
		k := slices.Index(st.tile.direct, r)
		return k >= 0 && st.tile.makes(int32(-1-k))
	case stepOne:
		return p.slot[r] >= 0 && !p.view[p.slot[r]]
	}
	return false
}

// again is the code that makes of a reading's numbers, at a place, what they are read for.
func (z *steadyProgram) again(t *Tape, v Ref, place int32) micro {
	m := micro{op: t.ins[v].Op(), dst: z.newSlot()}
	for i, a := range t.Args(v) {
		if m.arg[i] = place; t.single(a) {
			m.arg[i] = z.numberOf(a)
		}
	}
	return m
}

// numberOf is the slot of a number that is computed.
func (z *steadyProgram) numberOf(r Ref) int32 {
	for _, l := range z.tp.loads {
		if l.ref == r && l.sp == nil {
			return l.slot
		}
	}
	z.tp.loads = append(z.tp.loads, load{ref: r, slot: z.newSlot()})
	return z.lastSlot()
}

// programs lists the tile programs of the steps. In a run that is worth machine code some are those
// of several, and nil is part of a later one: kernels would take longer then, one by one.
func (b *steadyReads) programs(steps int) []*tileProgram {
	p := b.p
	all := make([]*tileProgram, len(p.steps))
	into := make([]int, len(p.steps))
	most := 0
	for i := range p.steps {
		into[i] = i
		if tp := p.steps[i].tile; tp != nil {
			all[i], most = tp, max(most, tp.n)
		}
	}
	if int64(most)*int64(steps) < worthFusing {
		return all
	}
	uses := b.used()
	b.doAgain(uses)
	for i := range p.steps {
		if all[i] == nil {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			if all[j] == nil || !b.mayWait(j, i, all, into, uses) {
				continue
			}
			all[i] = b.before(all[j], all[i], func(r Ref) bool { return b.isReadBehind(r, i, into, uses) })
			for k, to := range into {
				if to == j {
					into[k] = i
				}
			}
			for _, a := range all[j].arguments() {
				b.until[p.root(a)] = max(b.until[p.root(a)], i)
			}
			all[j] = nil
		}
	}
	for i, tp := range all {
		if tp != nil {
			all[i] = b.withoutGone(tp)
		}
	}
	return all
}

// withoutGone is a program that writes nothing to memory that is gone.
func (b *steadyReads) withoutGone(tp *tileProgram) *tileProgram {
	own := false
	for i, r := range tp.direct {
		place := int32(-1 - i)
		if r == None || !slices.Contains(b.gone, r) || !tp.makes(place) {
			continue
		}
		if !own {
			own = true
			tp = &tileProgram{n: tp.n, direct: slices.Clone(tp.direct), loads: tp.loads, slots: tp.slots, code: slices.Clone(tp.code), sums: slices.Clone(tp.sums)}
		}
		tp.inSlot(place)
	}
	if own {
		tp.bury()
		tp.plain = tp.link(b.p.t.desk, tp.code)
	}
	return tp
}

// bury takes out what makes what nobody reads.
func (tp *tileProgram) bury() {
	read := make([]bool, tp.slots)
	for _, s := range tp.sums {
		if s.arg >= 0 {
			read[s.arg] = true
		}
	}
	for k := len(tp.code) - 1; k >= 0; k-- {
		m := &tp.code[k]
		if m.dst >= 0 && m.both == nil {
			if !read[m.dst] {
				tp.code = slices.Delete(tp.code, k, k+1)
				continue
			}
			read[m.dst] = false
		}
		for _, a := range m.operands() {
			if a >= 0 {
				read[a] = true
			}
		}
	}
}

// mayWait reports whether tile program j may run as the beginning of i: nothing between them reads
// what it makes, and i reads that element by element, from all in few pieces.
func (b *steadyReads) mayWait(j, i int, all []*tileProgram, into []int, uses []usedReading) bool {
	p := b.p
	x, y := all[j], all[i]
	if x.n != y.n || len(x.sums) > 0 || x.slots+y.slots > mostSlots || !b.byCalls(x) || !b.byCalls(y) {
		return false
	}
	isIts := func(r Ref) bool { return r != None && p.home[r] >= 0 && into[p.home[r]] == j }
	for _, r := range p.order {
		at := into[p.home[r]]
		if !b.read[r] && at != j && at < i && slices.ContainsFunc(p.t.Args(r), func(a Ref) bool { return isIts(p.same[a]) }) {
			return false
		}
	}
	for _, o := range uses {
		if into[o.step] <= i && slices.ContainsFunc(o.runs, func(s strand) bool { return s.from != None && isIts(p.root(s.from)) }) {
			return false
		}
	}
	first := b.readingsOf(x)
	return len(first) == 0 || len(cutsOf(x.n, append(first, b.readingsOf(y)...))) <= mostPieces
}

// readingsOf are those of a program's operands.
func (b *steadyReads) readingsOf(tp *tileProgram) (all []reading) {
	for _, a := range tp.direct {
		if a != None && b.read[a] {
			all = append(all, b.found[a]...)
		}
	}
	return all
}

// isReadBehind reports whether anything but tile program i reads r, or wants it.
func (b *steadyReads) isReadBehind(r Ref, i int, into []int, uses []usedReading) bool {
	p := b.p
	if slices.Contains(p.outs, r) || slices.ContainsFunc(b.ends, func(slots []int32) bool { return slices.Contains(slots, p.slot[r]) }) {
		return true
	}
	return slices.ContainsFunc(uses, func(o usedReading) bool { return into[o.step] > i && o.reads(r) }) || slices.ContainsFunc(p.order, func(y Ref) bool {
		return into[p.home[y]] > i && slices.ContainsFunc(p.t.Args(y), func(a Ref) bool { return p.same[a] == r })
	})
}

// arguments are what a tile program reads in memory.
func (tp *tileProgram) arguments() (all []Ref) {
	for _, r := range tp.direct {
		if r != None {
			all = append(all, r)
		}
	}
	for i := range tp.loads {
		if l := &tp.loads[i]; l.ref != None && l.sp != nil {
			all = append(all, l.ref)
		}
	}
	return all
}

// before is one program of two. What the first makes is in memory only where somebody reads it
// behind them.
func (b *steadyReads) before(x, y *tileProgram, isReadBehind func(Ref) bool) *tileProgram {
	z := &tileProgram{n: x.n, direct: slices.Clone(x.direct), loads: slices.Clone(x.loads), slots: x.slots + y.slots}
	at := make([]int32, len(y.direct))
	for i, r := range y.direct {
		k := slices.Index(z.direct, r)
		if k < 0 {
			k, z.direct = len(z.direct), append(z.direct, r)
		}
		at[i] = int32(-1 - k)
	}
	for _, l := range y.loads {
		l.slot += int32(x.slots)
		z.loads = append(z.loads, l)
	}
	moved := func(o int32) int32 {
		if o < 0 {
			return at[-1-o]
		}
		return o + int32(x.slots)
	}
	z.code = slices.Clone(x.code)
	for _, m := range y.code {
		m.dst, m.dst2 = moved(m.dst), moved(m.dst2)
		for i := range m.arg {
			m.arg[i] = moved(m.arg[i])
		}
		z.code = append(z.code, m)
	}
	for _, s := range y.sums {
		s.arg = moved(s.arg)
		z.sums = append(z.sums, s)
	}
	for i, r := range x.direct {
		if r != None && b.p.home[r] >= 0 && x.makes(int32(-1-i)) && !isReadBehind(r) {
			z.inSlot(int32(-1 - i))
			b.gone = append(b.gone, r)
		}
	}
	z.plain = z.link(b.p.t.desk, z.code)
	return z
}

// makes reports whether a program writes to a place.
func (tp *tileProgram) makes(place int32) bool {
	return slices.ContainsFunc(tp.code, func(m micro) bool { return m.dst == place || m.both != nil && m.dst2 == place })
}

// inSlot puts what is at a place in memory into a slot.
func (tp *tileProgram) inSlot(place int32) {
	to := int32(tp.slots)
	tp.slots++
	put := func(o *int32) {
		if *o == place {
			*o = to
		}
	}
	for i := range tp.code {
		m := &tp.code[i]
		put(&m.dst)
		put(&m.dst2)
		for k := range m.arg {
			put(&m.arg[k])
		}
	}
	for i := range tp.sums {
		put(&tp.sums[i].arg)
	}
	tp.direct[-1-place] = None
}
