package tape

import (
	"math"
	"slices"

	"nabla/expr"
	"nabla/tape/tensor"
)

// The adjoint of a loop. It carries the cotangents of the carried values, adds to those
// of the constants, and to the elements of the arrays that loads came from, in the
// order in which a sweep over the unrolled steps would: the same bits.

// loop sends the cotangents of the parts of loop r to its arguments.
func (v *sweep) loop(r Ref) {
	t := v.t
	l := t.Attr(r).Loop
	ps := v.pieces[r]
	if delete(v.pieces, r); len(ps) == 0 || !v.need[r-v.lo] {
		return
	}
	args := slices.Clone(t.Args(r))
	k, m, p := len(l.carry), len(l.consts), len(l.arrays)
	b := &loopBack{sweep: v, r: r, l: l, args: args, cts: map[int]Ref{}, bars: make([]Ref, len(args)), starts: make([]Ref, len(args))}
	batch := t.ins[r].batch
	for _, x := range ps { // by place: several for one part are summed
		ct := x.ct
		if old, ok := b.cts[x.off]; ok {
			ct = t.Apply(opAdd, old, ct)
		}
		b.cts[x.off] = ct
		batch = t.union(batch, t.ins[ct].batch)
	}
	for i, a := range args {
		b.bars[i], b.starts[i] = None, None
		needed := a >= v.lo && v.need[a-v.lo] && t.ins[a].dtype.IsFloat()
		b.needed = append(b.needed, needed)
		if !needed || i < k || i >= k+m+p || slices.Contains(args[:i], a) || slices.Contains(args[i+1:], a) {
			continue
		}
		if t.minus(batch, t.union(v.outer, t.ins[a].batch)) != 0 {
			continue // the contribution is summed along an axis before it is added
		}
		// the sum goes on from what has come so far
		if i < k+m {
			if bar := v.bar[a-v.lo]; bar != None {
				b.starts[i] = t.full(bar, a)
			}
		} else if old := v.pieces[a]; old != nil {
			b.starts[i] = t.assemble(a, old)
		}
	}
	b.record()
	for i, a := range args {
		g := b.bars[i]
		switch {
		case g == None:
		case i >= k+m && i < k+m+p:
			if v.pieces == nil {
				v.pieces = map[Ref][]piece{}
			}
			if b.starts[i] != None {
				v.pieces[a] = nil
			}
			v.pieces[a] = append(v.pieces[a], piece{v.withinBatch(r, a, g), 0})
		case b.starts[i] != None:
			v.bar[a-v.lo] = g
		default:
			v.contribute(r, a, g)
		}
	}
}

// A loopBack is the recording of a backward loop.
type loopBack struct {
	*sweep
	r      Ref
	l      *loop
	args   []Ref
	needed []bool
	cts    map[int]Ref // cotangents of the loop's parts, by their place
	starts []Ref       // what the cotangents of arguments start from
	bars   []Ref       // cotangents of the arguments

	b         *loop
	g         Ref   // its instruction
	inits     []Ref // what it carries in
	seedSlots []Ref // placeholders of cotangents of sums, then of columns
	seeds     []Ref
	sumSeeds  int        // how many are of sums
	sites     []kinkSite // kinks of the body
}

// record records the backward loop.
func (x *loopBack) record() {
	t, l, body := x.t, x.l, x.l.body
	k, m, p := len(l.carry), len(l.consts), len(l.arrays)
	body.inner++
	defer func() { body.inner-- }()
	slot := func(dt tensor.DType, shape tensor.Shape) Ref {
		return body.push(Instr{Op: opSlot, dtype: dt, shape: body.shapeID(shape), flags: flagActive, Pos: expr.NoPos})
	}
	b := &loop{body: body, n: l.n, back: !l.back, from: l.from, by: l.by, first: l.first, index: l.index}
	isFloat := func(r Ref) bool { return body.ins[r].dtype.IsFloat() }

	// Seeds: of what is carried on, of sums, of columns, and what constants have so far.
	carried := make([]Ref, k) // placeholders of cotangents
	flows := make([]bool, k)  // which carried values have one
	for i := range k {
		carried[i] = slot(t.DType, body.Shape(l.next[i]))
		_, flows[i] = x.cts[l.nextAt(i)]
	}
	var ys, cts []Ref
	seed := func(y, ct Ref) { ys, cts = append(ys, y), append(cts, ct) }
	for i, s := range l.sums {
		ct, ok := x.cts[l.sumAt(i)]
		if !ok {
			continue
		}
		array := slot(t.DType, s.shape)
		x.seedSlots, x.seeds = append(x.seedSlots, array), append(x.seeds, ct)
		for _, a := range l.adds {
			if a.sum == i {
				seed(a.value, body.load(array, a.at))
			}
		}
	}
	x.sumSeeds = len(x.seeds)
	for i, y := range l.outs {
		if ct, ok := x.cts[l.outAt(i)]; ok && isFloat(y) {
			s := slot(t.DType, body.Shape(y))
			x.seedSlots, x.seeds = append(x.seedSlots, s), append(x.seeds, ct)
			seed(y, s)
		}
	}
	// what is loaded from arrays that are sources
	var loads []Ref
	for r := range body.ins {
		if in := &body.ins[r]; in.Op == opLoad {
			if i := slices.Index(l.arrays, in.args[1]); i >= 0 && x.needed[k+m+i] {
				loads = append(loads, Ref(r))
			}
		}
	}
	var consts, sums []Ref // constants that want a cotangent, and the placeholders of their sums
	for i, c := range l.consts {
		if x.needed[k+i] {
			consts, sums = append(consts, c), append(sums, slot(t.DType, body.Shape(c)))
			seed(c, sums[len(sums)-1])
		}
	}
	var columns []Ref
	for i, c := range l.columns {
		if x.needed[k+m+p+i] {
			columns = append(columns, c)
		}
	}
	srcs := slices.Concat(x.reached(consts, columns, loads), consts, columns, loads)
	var bars []Ref
	body.kinksOn = t.kinksOn && t.ins[x.r].flags&flagRecorded != 0
	fixed := len(ys)
	for grown := true; grown; { // a carried value that is reached is a seed of the step before
		grown = false
		ys, cts = ys[:fixed], cts[:fixed]
		for i, y := range l.next {
			if flows[i] && isFloat(y) {
				seed(y, carried[i])
			}
		}
		body.sites = body.sites[:0]
		bars = body.shaped(body.VJP(ys, cts, srcs), srcs)
		for i := range k {
			if bars[i] != None && !flows[i] && isFloat(l.next[i]) {
				flows[i], grown = true, true
			}
		}
	}
	body.kinksOn, x.sites = false, slices.Clone(body.sites)
	barOf := func(list []Ref, off int, r Ref) Ref {
		if i := slices.Index(list, r); i >= 0 {
			return bars[off+i]
		}
		return None
	}
	from := k + m + p + len(l.columns)
	for i, s := range l.sums { // what a sum starts from is in it as it is
		if !s.from {
			continue
		}
		if ct, ok := x.cts[l.sumAt(i)]; ok && x.needed[from] {
			x.bars[from] = ct
		}
		from++
	}
	// columns and loads
	type result struct{ arg, out int }
	var outResults, sumResults []result
	for i, c := range l.columns {
		if g := barOf(columns, k+len(consts), c); g != None {
			outResults = append(outResults, result{k + m + p + i, len(b.outs)})
			b.outs = append(b.outs, g)
		}
	}
	for i, array := range l.arrays {
		found := false
		for j := len(loads) - 1; j >= 0; j-- { // as a sweep comes to them
			g := bars[k+len(consts)+len(columns)+j]
			if g == None || body.ins[loads[j]].args[1] != array {
				continue
			}
			b.adds = append(b.adds, loopAddend{sum: len(b.sums), value: g, at: body.ins[loads[j]].args[0]})
			found = true
		}
		if found {
			sumResults = append(sumResults, result{k + m + i, len(b.sums)})
			b.sums = append(b.sums, loopSum{shape: t.Shape(x.args[k+m+i]), from: x.starts[k+m+i] != None})
		}
	}

	// carried: cotangents that something needs, then sums for the constants
	var in []Ref
	type last struct{ arg, at int }
	var lasts []last
	carry := func(slot, next, init Ref, arg int) {
		if arg >= 0 {
			lasts = append(lasts, last{arg, len(b.carry)})
		}
		b.carry, b.next, in = append(b.carry, slot), append(b.next, next), append(in, init)
	}
	roots := slices.Clone(b.outs)
	for _, a := range b.adds {
		roots = append(roots, a.value, a.at)
	}
	for i := range consts {
		if g := bars[k+i]; g != sums[i] {
			roots = append(roots, g)
		}
	}
	wanted := make([]bool, k)
	for i := range k {
		if wanted[i] = flows[i] && x.needed[i] && bars[i] != None; wanted[i] {
			roots = append(roots, bars[i])
		}
	}
	for grown := true; grown; {
		grown = false
		live := body.live(roots)
		for i := range k {
			if flows[i] && !wanted[i] && int(carried[i]) < len(live) && live[carried[i]] {
				wanted[i], grown = true, true
				if bars[i] != None {
					roots = append(roots, bars[i])
				}
			}
		}
	}
	for i := range k {
		if !wanted[i] {
			continue
		}
		init, ok := x.cts[l.nextAt(i)]
		if !ok {
			init = t.broadcastTo(t.Const(0), body.Shape(l.next[i]))
		}
		next, arg := bars[i], i
		if !x.needed[i] {
			arg = -1
		}
		if next == None {
			next, arg = body.broadcastTo(body.Const(0), body.Shape(l.next[i])), -1
		}
		carry(carried[i], next, init, arg)
	}
	for i, c := range consts {
		g := bars[k+i]
		if g == sums[i] {
			continue // not connected
		}
		arg := k + slices.Index(l.consts, c)
		init := x.starts[arg]
		if init == None {
			init = t.broadcastTo(t.Const(math.Copysign(0, -1)), body.Shape(c)) // adds nothing, not even to -0
		}
		carry(sums[i], g, init, arg)
	}
	if len(b.carry)+len(b.outs)+len(b.sums) == 0 {
		return
	}
	x.b, x.inits = b, in
	counts := make([]int, len(x.sites))
	for i := range x.sites {
		s := &x.sites[i]
		if counts[i] = -1; s.finite(body.opAt(s)) {
			counts[i] = len(b.carry)
			slot, next := x.counter(s.condition(body, true))
			carry(slot, next, t.Const(0), -1)
		}
	}
	in = x.fill(b, in)
	for _, s := range sumResults {
		if b.sums[s.out].from {
			in = append(in, x.starts[s.arg])
		}
	}
	g := t.loop(b, in)
	x.g = g
	for i := range x.sites {
		s := &loopSite{back: x, kinkSite: x.sites[i], counted: None}
		if counts[i] >= 0 && len(t.Axes(g)) == 0 {
			s.counted = t.loopPart(g, b.nextAt(counts[i]), nil)
		}
		t.sites = append(t.sites, kinkSite{r: x.r, ct: g, kink: s.kink, loop: s})
	}
	for _, y := range lasts {
		x.bars[y.arg] = t.loopPart(g, b.nextAt(y.at), body.Shape(b.next[y.at]))
	}
	for _, s := range sumResults {
		x.bars[s.arg] = t.loopPart(g, b.sumAt(s.out), b.sums[s.out].shape)
	}
	for _, o := range outResults {
		x.bars[o.arg] = t.loopPart(g, b.outAt(o.out), b.column(b.outs[o.out]))
	}
}

// reached lists the carried values that lead to a source in some step, with None in the
// place of the others: nothing is asked of what these become.
func (x *loopBack) reached(srcs ...[]Ref) []Ref {
	l, body := x.l, x.l.body
	v := sweep{t: body, need: make([]bool, len(body.ins))}
	for _, s := range slices.Concat(srcs...) {
		v.need[s] = true
	}
	out := slices.Clone(l.carry)
	for i, c := range l.carry {
		if v.need[c] = x.needed[i]; !x.needed[i] {
			out[i] = None
		}
	}
	for grown := true; grown; {
		grown = false
		for r := range body.ins {
			v.need[r] = v.need[r] || v.reaches(Ref(r))
		}
		for i, c := range l.carry {
			if out[i] == None && v.need[l.next[i]] {
				out[i], v.need[c], grown = c, true, true
			}
		}
	}
	return out
}

// fill gives a loop over the body of l the constants, arrays and columns that its steps
// read, and lists what they are for the arguments.
func (x *loopBack) fill(b *loop, in []Ref) []Ref {
	t, l, body := x.t, x.l, x.l.body
	k, m, p := len(l.carry), len(l.consts), len(l.arrays)
	roots := slices.Concat(b.next, b.outs)
	for _, a := range b.adds {
		roots = append(roots, a.value, a.at)
	}
	live := body.live(roots)
	reads := func(r Ref) bool { return int(r) < len(live) && live[r] }
	b.consts, b.arrays, b.columns = nil, nil, nil
	for i, c := range l.consts {
		if reads(c) {
			b.consts, in = append(b.consts, c), append(in, x.args[k+i])
		}
	}
	for i, s := range l.arrays {
		if reads(s) {
			b.arrays, in = append(b.arrays, s), append(in, x.args[k+m+i])
		}
	}
	for i, s := range x.seedSlots[:x.sumSeeds] {
		if reads(s) {
			b.arrays, in = append(b.arrays, s), append(in, x.seeds[i])
		}
	}
	for i, c := range l.carry {
		if reads(c) {
			b.columns, in = append(b.columns, c), append(in, t.keptCarry(x.r, i))
		}
	}
	for i, c := range l.columns {
		if reads(c) {
			b.columns, in = append(b.columns, c), append(in, x.args[k+m+p+i])
		}
	}
	for i, s := range x.seedSlots[x.sumSeeds:] {
		if reads(s) {
			b.columns, in = append(b.columns, s), append(in, x.seeds[x.sumSeeds+i])
		}
	}
	return in
}

// counter records a carried value that counts how often hits hold.
func (x *loopBack) counter(hits Ref) (slot, next Ref) {
	body := x.l.body
	slot = body.push(Instr{Op: opSlot, dtype: body.DType, Pos: expr.NoPos})
	return slot, body.Apply(opAdd, slot, body.hitCount(hits))
}

// A loopSite is a kink in the body of a loop.
type loopSite struct {
	kinkSite
	back    *loopBack
	counted Ref // how often the backward loop met it, or None
}

// count appends in how many steps, and places, the site is at its kink.
func (s *loopSite) count(t *Tape, site *kinkSite) Ref {
	taken := site.ct != None && len(t.Axes(s.back.g)) == 0
	if taken && s.counted != None {
		return s.counted
	}
	b, in, hits := s.again(taken)
	slot, next := s.back.counter(hits)
	b.carry, b.next = append(b.carry, slot), append(b.next, next)
	g := t.loop(b, s.back.fill(b, append(in, t.Const(0))))
	return t.loopPart(g, b.nextAt(len(b.next)-1), nil)
}

// again is the backward loop once more, or where nothing has to be taken no more than
// its direction, with the condition of the site.
func (s *loopSite) again(taken bool) (b *loop, in []Ref, hits Ref) {
	x := s.back
	x.l.body.inner++
	defer func() { x.l.body.inner-- }()
	copied := *x.b
	b = &copied
	b.outs, b.adds, b.sums = nil, nil, nil
	b.carry, b.next, in = slices.Clone(b.carry[:len(x.inits)]), slices.Clone(b.next[:len(x.inits)]), slices.Clone(x.inits)
	if !taken {
		b.carry, b.next, in = nil, nil, nil
	}
	return b, in, s.condition(x.l.body, taken)
}

// seen is where a sweep met the site first: the places, the argument there and their
// shape.
func (s *loopSite) seen(t *Tape, site *kinkSite) (hits, arg []float64, shape tensor.Shape) {
	body := s.back.l.body
	b, in, where := s.again(site.ct != None && len(t.Axes(s.back.g)) == 0)
	_, of := s.called(body)
	first := of[0]
	b.outs = []Ref{where, first}
	g := t.loop(b, s.back.fill(b, in))
	t.force(g)
	n, m := body.size(where), body.size(first)
	all, args := t.data(g)[b.outAt(0):b.outAt(1)], t.data(g)[b.outAt(1):b.outAt(2)]
	for i := b.n - 1; ; i-- { // the last step is the first of the sweep
		if hits = all[i*n : (i+1)*n]; i == 0 || slices.ContainsFunc(hits, func(v float64) bool { return v != 0 }) {
			return hits, args[i*m : (i+1)*m], body.Shape(where)
		}
	}
}

// keptCarry is the column of what was carried into each step of r in place i. A loop
// that has not run yet is told to keep it; one that has runs again.
func (t *Tape) keptCarry(r Ref, i int) Ref {
	l := t.Attr(r).Loop
	j := slices.Index(l.outs, l.carry[i])
	switch {
	case j < 0 && t.known(r):
		again, ok := t.loopsAgain[r]
		if !ok {
			copied := *l
			copied.outs = slices.Clone(l.outs)
			again = t.loop(&copied, t.Args(r))
			if t.loopsAgain == nil {
				t.loopsAgain = map[Ref]Ref{}
			}
			t.loopsAgain[r] = again
		}
		return t.keptCarry(again, i)
	case j < 0: // columns come last in the value: the places of other parts stay
		j = len(l.outs)
		l.outs, l.codes = append(l.outs, l.carry[i]), &loopCodes{}
		t.ins[r].shape = t.shapeID(tensor.Shape{l.outAt(j + 1)})
		if t.ins[r].batch == 0 {
			t.checkSize(r)
		}
	}
	return t.loopPartOf(r, l.carry[i], l.outAt(j), l.column(l.carry[i]))
}
