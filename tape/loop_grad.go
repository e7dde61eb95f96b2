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
	x := &loopBack{sweep: v, r: r, l: l, args: args, cts: map[int]Ref{}, bars: make([]Ref, len(args)), starts: make([]Ref, len(args))}
	batch := x.gather(ps)
	l.body.wide, l.body.forth = t.pointsOf(batch), Ref(len(l.body.ins))
	defer func() { l.body.wide, l.body.forth = 0, 0 }()
	for i, a := range args {
		x.bars[i], x.starts[i] = None, None
		needed := a >= v.lo && v.need[a-v.lo] && t.ins[a].dtype.IsFloat() && slices.ContainsFunc(ps, func(p piece) bool { return l.linked(p.off, i) })
		x.needed = append(x.needed, needed)
		others := args[k : k+m] // what is added to the cotangent of a, too; that of elements is added up by itself
		if i >= k+m {
			others = args[k+m : k+m+p]
		}
		if !needed || i < k || i >= k+m+p || slices.Contains(args[k+m+p:], a) || slices.Contains(others[1+slices.Index(others, a):], a) {
			continue
		}
		if t.minus(batch, t.union(v.outer, t.ins[a].batch)) != 0 {
			continue // the contribution is summed along an axis before it is added
		}
		// the sum goes on from what has come so far
		if i < k+m {
			if bar := v.bar[a-v.lo]; bar != None {
				x.starts[i] = t.full(bar, a)
			}
		} else if old := v.pieces[a]; old != nil {
			x.starts[i] = t.assembleSum(a, old)
		}
	}
	x.record()
	x.give()
}

// gather takes the cotangents of the parts of the loop by their places, those of one part summed,
// and gives the batch axes along which the loop or one of them varies.
func (x *loopBack) gather(ps []piece) int32 {
	t := x.t
	batch := t.ins[x.r].batch
	for _, p := range ps {
		ct := p.ct
		if old, ok := x.cts[p.off]; ok {
			ct = t.Apply(opAdd, old, ct)
		}
		x.cts[p.off] = ct
		batch = t.union(batch, t.ins[ct].batch)
	}
	return batch
}

// give passes on what the loop backwards has for the arguments of the loop.
func (x *loopBack) give() {
	v := x.sweep
	k, m, p := len(x.l.carry), len(x.l.consts), len(x.l.arrays)
	for j := range x.args { // what is carried into the first step is before all else that it reads
		i := (k + j) % len(x.args)
		a, g := x.args[i], x.bars[i]
		switch {
		case g == None:
		case i >= k+m && i < k+m+p:
			if v.pieces == nil {
				v.pieces = map[Ref][]piece{}
			}
			if x.starts[i] != None {
				v.pieces[a] = nil
			}
			v.pieces[a] = append(v.pieces[a], piece{v.withinBatch(x.r, a, g), 0})
		case x.starts[i] != None:
			v.bar[a-v.lo] = g
		default:
			v.contribute(x.r, a, g)
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

	// in the body
	carried      []Ref  // placeholders of the cotangents of what carried values become
	flows        []bool // which of them have one
	ys, yCts     []Ref  // what has a cotangent in every step
	consts, sums []Ref  // constants that want a cotangent, and the placeholders of its sum
	columns      []Ref  // that want one
	loads        []Ref  // from arrays that want one
	grads        []Ref  // cotangents of all carried values, then of consts, columns and loads

	b         *loop
	g         Ref   // its instruction
	inits     []Ref // what it carries in
	seedSlots []Ref // placeholders of cotangents of sums, then of columns
	seeds     []Ref
	sumSeeds  int        // how many are of sums
	sites     []kinkSite // kinks of the body

	slices []sliceSum // cotangents of arrays of which steps take slices

	ends, rows, totals []backPart // cotangents that are carried values, outs and sums of b
}

// A backPart is the cotangent of an argument: which part of the backward loop's value.
type backPart struct{ arg, part int }

// A sliceSum is the cotangent of an array that is carried through the steps, which add to it.
type sliceSum struct {
	slot, next Ref
	arg        int
}

// record records the backward loop.
func (x *loopBack) record() {
	l, body := x.l, x.l.body
	body.inner++
	defer func() { body.inner-- }()
	x.b = &loop{body: body, n: l.n, back: !l.back, many: l.many, again: l.again, from: l.from, by: l.by, first: l.first, before: l.before, index: l.index}
	x.seed()
	x.ask()
	x.sweepBody()
	x.passStarts()
	x.putOut()
	x.carryBack()
	if len(x.b.carry)+len(x.b.outs)+len(x.b.sums) > 0 {
		x.finish()
	}
}

// slot makes a placeholder of a cotangent.
func (x *loopBack) slot(d tensor.DType, shape tensor.Shape) Ref {
	body := x.l.body
	if !d.IsFloat() {
		d = x.t.DType
	}
	return body.push(Instr{op: opSlot.id(), dtype: d, shape: body.shapeID(shape), flags: flagActive, Pos: expr.NoPos})
}

func (x *loopBack) isFloat(r Ref) bool { return x.l.body.ins[r].dtype.IsFloat() }

func (x *loopBack) seedOf(y, ct Ref) { x.ys, x.yCts = append(x.ys, y), append(x.yCts, ct) }

// seed makes placeholders of the cotangents that come from outside: of what is carried
// on, of sums and of columns.
func (x *loopBack) seed() {
	l, body := x.l, x.l.body
	for i, y := range l.next {
		_, flows := x.cts[l.nextAt(i)]
		x.carried, x.flows = append(x.carried, x.slot(body.DTypeOf(y), body.Shape(y))), append(x.flows, flows)
	}
	for i, s := range l.sums {
		ct, ok := x.cts[l.sumAt(i)]
		if !ok {
			continue
		}
		array := x.slot(tensor.Float64, s.shape)
		x.seedSlots, x.seeds = append(x.seedSlots, array), append(x.seeds, ct)
		for _, a := range l.adds {
			if a.sum == i {
				x.seedOf(a.value, body.loadAs(array, a.at, body.Shape(a.value)))
			}
		}
	}
	x.sumSeeds = len(x.seeds)
	for i, y := range l.outs {
		if ct, ok := x.cts[l.outAt(i)]; ok && x.isFloat(y) {
			s := x.slot(body.DTypeOf(y), body.Shape(y))
			x.seedSlots, x.seeds = append(x.seedSlots, s), append(x.seeds, ct)
			x.seedOf(y, s)
		}
	}
}

// ask finds what of the body wants a cotangent because an argument does.
func (x *loopBack) ask() {
	l, body := x.l, x.l.body
	k, m, p := len(l.carry), len(l.consts), len(l.arrays)
	for r := range body.ins {
		if in := &body.ins[r]; in.Op() == opLoad {
			if i := slices.Index(l.arrays, in.args[1]); i >= 0 && x.needed[k+m+i] {
				x.loads = append(x.loads, Ref(r))
			}
		}
	}
	for i, c := range l.consts {
		if x.needed[k+i] {
			sum := x.slot(body.DTypeOf(c), body.Shape(c))
			x.consts, x.sums = append(x.consts, c), append(x.sums, sum)
			x.seedOf(c, sum)
		}
	}
	for i, c := range l.columns {
		if x.needed[k+m+p+i] {
			x.columns = append(x.columns, c)
		}
	}
}

// sweepBody takes the VJP of the body: again and again, until no more carried values are
// reached, since one that is reached is a seed of the step before.
func (x *loopBack) sweepBody() {
	t, l, body := x.t, x.l, x.l.body
	srcs := slices.Concat(x.reached(x.consts, x.columns, x.loads), x.consts, x.columns, x.loads)
	body.kinksOn = t.kinksOn && t.ins[x.r].flags&flagRecorded != 0
	fixed := len(x.ys)
	for grown := true; grown; {
		grown = false
		x.ys, x.yCts = x.ys[:fixed], x.yCts[:fixed]
		for i, y := range l.next {
			if x.flows[i] && x.isFloat(y) {
				x.seedOf(y, x.carried[i])
			}
		}
		body.sites = body.sites[:0]
		x.grads = body.shaped(body.VJP(x.ys, x.yCts, srcs), srcs)
		for i, y := range l.next {
			if x.grads[i] != None && !x.flows[i] && x.isFloat(y) {
				x.flows[i], grown = true, true
			}
		}
	}
	body.kinksOn, x.sites = false, slices.Clone(body.sites)
}

// passStarts hands the cotangents of sums on to what these start from, which is in them
// as it is.
func (x *loopBack) passStarts() {
	l := x.l
	arg := len(l.carry) + len(l.consts) + len(l.arrays) + len(l.columns)
	for i, s := range l.sums {
		if !s.from {
			continue
		}
		if ct, ok := x.cts[l.sumAt(i)]; ok && x.needed[arg] {
			x.bars[arg] = ct
		}
		arg++
	}
}

// putOut makes the cotangents of columns outs of the backward loop, and those of arrays
// sums.
func (x *loopBack) putOut() {
	t, l, b, body := x.t, x.l, x.b, x.l.body
	k, m, p := len(l.carry), len(l.consts), len(l.arrays)
	ofColumns := x.grads[k+len(x.consts):]
	ofLoads := ofColumns[len(x.columns):]
	for i, c := range x.columns {
		if g := ofColumns[i]; g != None {
			x.rows = append(x.rows, backPart{k + m + p + slices.Index(l.columns, c), len(b.outs)})
			b.outs = append(b.outs, g)
		}
	}
	for i, array := range l.arrays {
		if x.carriesSlices(array, ofLoads) {
			x.carrySlices(k+m+i, array, ofLoads)
			continue
		}
		found := false
		for j := len(x.loads) - 1; j >= 0; j-- { // as a sweep comes to them
			g, load := ofLoads[j], body.ins[x.loads[j]]
			if g == None || load.args[1] != array {
				continue
			}
			b.adds = append(b.adds, loopAddend{sum: len(b.sums), value: g, at: load.args[0]})
			found = true
		}
		if found {
			arg := k + m + i
			x.totals = append(x.totals, backPart{arg, len(b.sums)})
			b.sums = append(b.sums, loopSum{shape: t.Shape(x.args[arg]), from: x.starts[arg] != None})
		}
	}
}

// carriesSlices reports whether the cotangent of an array is carried, as that of a constant is: where all that
// steps take of it are slices that are most of it. Small steps, which move numbers, are tile programs then,
// and take half to three quarters of the time.
func (x *loopBack) carriesSlices(array Ref, ofLoads []Ref) bool {
	body, size := x.l.body, 0
	for j, r := range x.loads {
		if load := &body.ins[r]; load.args[1] == array && ofLoads[j] != None {
			if !body.known(load.args[0]) || len(body.Shape(r)) < len(body.Shape(array)) {
				return false
			}
			size += body.size(r)
		}
	}
	return size > body.size(array)/2
}

// carrySlices adds the cotangents of slices of an array to one that is carried, one after the other, as a
// sweep comes to them: in the order and in the float64 of what adds them where they belong.
func (x *loopBack) carrySlices(arg int, array Ref, ofLoads []Ref) {
	body := x.l.body
	s := sliceSum{slot: x.slot(tensor.Float64, body.Shape(array)), arg: arg}
	s.next = s.slot
	for j := len(x.loads) - 1; j >= 0; j-- {
		if load := body.ins[x.loads[j]]; load.args[1] == array && ofLoads[j] != None {
			at, _ := body.constant(load.args[0])
			p := piece{ofLoads[j], int(at) * body.Shape(array)[1:].Size()}
			s.next = body.Apply(opAdd, s.next, body.assembleAs(array, []piece{p}, tensor.Float64))
		}
	}
	x.slices = append(x.slices, s)
}

// carry makes the backward loop carry a value: from init on, and what it is in the end is
// the cotangent of an argument, if that is not negative.
func (x *loopBack) carry(slot, next, init Ref, arg int) {
	b := x.b
	if arg >= 0 {
		x.ends = append(x.ends, backPart{arg, len(b.carry)})
	}
	b.carry, b.next, x.inits = append(b.carry, slot), append(b.next, next), append(x.inits, init)
}

// carryBack makes the backward loop carry the cotangents of carried values that something
// needs, then the sums of those of constants.
func (x *loopBack) carryBack() {
	t, l, body := x.t, x.l, x.l.body
	k := len(l.carry)
	for i, wanted := range x.wanted() {
		if !wanted {
			continue
		}
		shape := body.Shape(l.next[i])
		init, ok := x.cts[l.nextAt(i)]
		if !ok {
			init = t.broadcastTo(t.constOf(0, body.DTypeOf(x.carried[i])), shape)
		}
		next, arg := x.grads[i], i
		if !x.needed[i] {
			arg = -1
		}
		if next == None {
			next, arg = body.broadcastTo(body.like(x.carried[i], 0), shape), -1
		}
		x.carry(x.carried[i], next, init, arg)
	}
	for i, c := range x.consts {
		g := x.grads[k+i]
		if g == x.sums[i] {
			continue // not connected
		}
		arg := k + slices.Index(l.consts, c)
		init := x.starts[arg]
		if init == None {
			init = t.broadcastTo(t.constOf(math.Copysign(0, -1), body.DTypeOf(c)), body.Shape(c)) // adds nothing, not even to -0
		}
		x.carry(x.sums[i], g, init, arg)
	}
	for _, s := range x.slices {
		init := x.starts[s.arg]
		if init == None {
			init = t.broadcastTo(t.constOf(0, tensor.Float64), body.Shape(s.slot))
		}
		x.carry(s.slot, s.next, init, s.arg)
	}
}

// wanted are the carried values whose cotangents something needs: an argument, another one, in
// a step, or what counts kinks.
func (x *loopBack) wanted() []bool {
	b, body := x.b, x.l.body
	k := len(x.l.carry)
	roots := slices.Clone(b.outs)
	for _, a := range b.adds {
		roots = append(roots, a.value, a.at)
	}
	for i, sum := range x.sums {
		if g := x.grads[k+i]; g != sum {
			roots = append(roots, g)
		}
	}
	for _, s := range x.slices {
		roots = append(roots, s.next)
	}
	for _, s := range x.sites { // whether something was taken there
		if roots = append(roots, s.r); s.ct != None {
			roots = append(roots, s.ct)
		}
	}
	wanted := make([]bool, k)
	want := func(i int) {
		if wanted[i] = true; x.grads[i] != None {
			roots = append(roots, x.grads[i])
		}
	}
	for i := range k {
		if x.flows[i] && x.needed[i] && x.grads[i] != None {
			want(i)
		}
	}
	for grown := true; grown; {
		grown = false
		live := body.live(roots)
		for i, c := range x.carried {
			if x.flows[i] && !wanted[i] && int(c) < len(live) && live[c] {
				want(i)
				grown = true
			}
		}
	}
	return wanted
}

// finish records the instruction, with counters of kinks, and takes its value apart.
func (x *loopBack) finish() {
	t, b := x.t, x.b
	counts, zeros := b.count(t, x.sites)
	in := x.fill(b, slices.Concat(x.inits, zeros))
	for _, s := range x.totals {
		if b.sums[s.part].from {
			in = append(in, x.starts[s.arg])
		}
	}
	g := t.loop(b, in)
	x.g = g
	for i, s := range x.sites {
		site := &loopSite{pass: x, kinkSite: s, counted: None}
		if counts[i] >= 0 && len(t.Axes(g)) == 0 {
			site.counted = t.loopPart(g, b.nextAt(counts[i]), t.DType, nil)
		}
		t.sites = append(t.sites, kinkSite{r: x.r, ct: g, kink: s.kink, loop: site})
	}
	for _, p := range x.ends {
		x.bars[p.arg] = t.loopPart(g, b.nextAt(p.part), b.body.DTypeOf(b.next[p.part]), b.body.Shape(b.next[p.part]))
	}
	for _, p := range x.totals {
		x.bars[p.arg] = t.loopPart(g, b.sumAt(p.part), tensor.Float64, b.sums[p.part].shape)
	}
	for _, p := range x.rows {
		x.bars[p.arg] = t.loopPart(g, b.outAt(p.part), b.body.DTypeOf(b.outs[p.part]), b.column(b.outs[p.part]))
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

// keptCarry is the column of what was carried into each step of r in place i. A loop
// that has not run yet is told to keep it; one that has runs again, and so does one that is
// not to keep it.
func (t *Tape) keptCarry(r Ref, i int) Ref {
	l := t.Attr(r).Loop
	j := slices.Index(l.outs, l.carry[i])
	switch {
	case j < 0 && (t.known(r) || l.again):
		again, ok := t.loopsAgain[r]
		if !ok {
			copied := *l
			copied.outs, copied.again, copied.late = nil, false, l.again
			copied.links = l.links[:min(len(l.links), len(l.next))]
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
		l.part(l.n * l.body.size(l.carry[i]))
		t.ins[r].shape = t.shapeID(tensor.Shape{l.outAt(j + 1)})
		if t.ins[r].batch == 0 {
			t.checkSize(r)
		}
	}
	return t.loopPartOf(r, l.carry[i], l.outAt(j), l.column(l.carry[i]))
}
