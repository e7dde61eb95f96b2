package tape

import (
	"slices"

	"nabla/tape/tensor"
)

// What moves numbers is no operation of a steady step where tile programs alone read it: they
// read the numbers where they are. A roll is read in two pieces, before and behind where it
// turns; what is moved along the last of some axes as a choice between two reads, of which a
// mask says the right one for every element; zeros around a slice are zeros in memory. What
// assembles pieces is a tile program itself, or the beginning of the one that reads it. So a
// step of a stencil is a tile program or two a direction, of which machine code does the interior
// and the edges in one call (kernels.FusePieces). The gradient through steps of the heat equation
// took half the time that it took with copies on a ring of 100, and a third on a torus of 16×16,
// where copies are of many rows.

// A strand are elements of a tile program that find what they read at one distance: element i
// at i+by.
type strand struct {
	from       Ref // None: zeros
	by         int
	first, end int
}

// A reading is what the elements of an operand are, by the strands that they belong to.
type reading struct {
	runs    []strand // one behind the other
	strands []strand // between the ends of each all of its places are there
	most    int      // strands at one place, between which masks choose; 0: there are too many
	made    Ref      // what is read is not the numbers, but what the operation of this makes of them; or None
}

const (
	mostRuns    = 6   // of neighbours, that become pieces; where there are more, masks choose
	mostInAll   = 256 // of all that is read at once
	mostStrands = 6   // of a reading
	mostChoices = 3   // between strands
	mostAdded   = 8   // of what is assembled
	mostPieces  = 12
	mostMoves   = 128 // of a step; of more, none is read where it is
)

// blank is read where nothing is.
var blank [mostTiles * tileSize]float64

// steadyReads finds what a steady step reads where it is. What assembles is the sum of several
// readings, of which each has one piece at every element.
type steadyReads struct {
	*steadyStep
	read   []bool     // by Ref: it is read where it is
	joined []bool     // by Ref: it is assembled by a tile program
	moves  [][]strand // by Ref: what it is by its arguments, whose numbers stand for them
	found  [][]reading

	strands  slab[strand]
	readings slab[reading]
}

// settleReads finds what is read where it is, and makes the tile programs that do.
func (x *steadyStep) settleReads(steps int) {
	p, t := x.p, x.p.t
	n := len(p.live)
	b := &steadyReads{steadyStep: x, read: t.desk.marks.of(n), joined: t.desk.marks.of(n), moves: make([][]strand, n), found: make([][]reading, n)}
	moves := 0
	outside := slices.Concat(x.ends...)
	for _, r := range p.order {
		if p.steps[p.home[r]].kind != stepOne || !b.plainMove(r) {
			continue
		}
		if t.ins[r].Op() == opAssemble {
			b.joined[r] = true
		} else if b.moves[r] = b.runsOf(r); b.moves[r] == nil {
			continue
		}
		moves++
		b.read[r] = !slices.Contains(p.outs, r) && !slices.Contains(outside, p.slot[r])
	}
	if moves > mostMoves {
		clear(b.read)
		clear(b.joined)
		moves = 0
	}
	for moves > 0 && b.refused() {
	}
	programs := b.programs(steps)
	for i := range p.steps {
		st := &p.steps[i]
		switch r := st.refs[0]; {
		case st.kind == stepTile && programs[i] == nil:
			x.waits[i] = true
		case st.kind == stepTile:
			x.tiles[i] = b.program(programs[i], None)
		case st.kind == stepOne && b.read[r]:
			x.gone = append(x.gone, r)
		case st.kind == stepOne && b.joined[r]:
			x.tiles[i] = b.program(nil, r)
		}
		if z := x.tiles[i]; z != nil {
			for _, s := range slices.Concat(z.reads...) {
				if s.from != None {
					x.until[p.root(s.from)] = i
				}
			}
		}
	}
}

// root is the value in whose memory r is.
func (p *Plan) root(r Ref) Ref {
	for p.slot[r] >= 0 && p.home[r] >= 0 && p.view[p.slot[r]] {
		r = p.same[p.t.Args(r)[0]]
	}
	return r
}

// plainMove reports whether r moves or assembles float64 numbers, few of them.
func (b *steadyReads) plainMove(r Ref) bool {
	t := b.p.t
	switch t.ins[r].Op() {
	case opBlock, opReshape, opSlice, opUnslice, opReverse, opConcat, opTranspose, opBroadcast, opAssemble:
	default:
		return false
	}
	plain := func(r Ref) bool { return t.ins[r].dtype != tensor.Float32 }
	return plain(r) && t.size(r) <= len(blank) && !slices.ContainsFunc(t.Args(r), func(a Ref) bool { return !plain(a) })
}

// refused takes back what cannot be read where it is, or assembled so, and reports whether
// there was any.
func (b *steadyReads) refused() (some bool) {
	p, t := b.p, b.p.t
	clear(b.found)
	readers := map[Ref]int{} // by what is assembled: which step reads it, from 1
	for _, r := range p.order {
		if (b.read[r] || b.joined[r]) && !b.find(r) {
			b.joined[r], b.read[r], some = false, false, true
		}
		for _, a := range t.Args(r) {
			if a = p.same[a]; b.read[a] && !b.serves(r, a, readers) {
				b.read[a], some = false, true
			}
		}
	}
	if some {
		return true
	}
	for i := range p.steps {
		if st := &p.steps[i]; st.kind == stepTile {
			if a, ok := b.tooMany(st.tile); ok {
				b.read[a], some = false, true
			}
		}
	}
	return some
}

// serves reports whether r can read a where it is: in a tile program, which is the same for all
// readers of what is assembled and noted for them, or as a move that is itself read where it is.
func (b *steadyReads) serves(r, a Ref, readers map[Ref]int) bool {
	st, step := &b.p.steps[b.p.home[r]], int(b.p.home[r])+1
	if st.kind != stepTile || !b.takes(st.tile, a) || !b.isSimple(a) {
		return !b.joined[a] && (b.read[r] || b.joined[r])
	}
	if !b.joined[a] {
		return true
	}
	alone := readers[a] == 0 || readers[a] == step
	readers[a] = step
	return alone
}

// tooMany is the first operand with which a tile program would have more pieces than it may.
func (b *steadyReads) tooMany(tp *tileProgram) (r Ref, ok bool) {
	var reads []reading
	for _, a := range tp.direct {
		if a == None || !b.read[a] {
			continue
		}
		if reads = append(reads, b.found[a]...); len(cutsOf(tp.n, reads)) > mostPieces {
			return a, true
		}
	}
	return None, false
}

// takes reports whether a tile program can read a where it is.
func (b *steadyReads) takes(tp *tileProgram, a Ref) bool {
	return slices.Contains(tp.direct, a) && b.byCalls(tp) && !slices.ContainsFunc(tp.loads, func(l load) bool { return l.ref == a })
}

// runsOf are the runs of a move by its arguments; nil: there are too many.
func (b *steadyReads) runsOf(r Ref) (runs []strand) {
	t, n := b.p.t, b.p.t.size(r)
	switch in := &t.ins[r]; in.Op() {
	case opReshape:
		return append(b.strands.of(1)[:0], strand{0, 0, 0, n})
	case opBlock:
		if in.batch == 0 {
			return append(b.strands.of(1)[:0], strand{0, int(in.args[1]), 0, n})
		}
	case opConcat:
		if len(t.Shape(r)) == 1 && in.batch == 0 {
			runs = b.strands.of(len(t.Args(r)))[:0]
			at := 0
			for k, a := range t.Args(r) {
				runs = append(runs, strand{Ref(k), -at, at, at + t.size(a)})
				at += t.size(a)
			}
			return runs
		}
	}
	arg, start := 0, 1 // of whom the last number was
	for i, k := range t.origins(r, nil) {
		s := strand{None, 0, i, i + 1}
		if k > 0 {
			for ; k < start; arg-- {
				start -= t.size(t.Args(r)[arg-1])
			}
			for ; k >= start+t.size(t.Args(r)[arg]); arg++ {
				start += t.size(t.Args(r)[arg])
			}
			s.from, s.by = Ref(arg), k-start-i
		}
		if runs = joinRun(runs, s); len(runs) > mostInAll {
			return nil
		}
	}
	return runs
}

// joinRun is one more run, or a longer last one.
func joinRun(runs []strand, s strand) []strand {
	if k := len(runs) - 1; k >= 0 && runs[k].from == s.from && runs[k].by == s.by && runs[k].end == s.first {
		runs[k].end = s.end
		return runs
	}
	return append(runs, s)
}

// runsIn are those of elements first to end of argument a, which become elements from to on.
func (b *steadyReads) runsIn(runs []strand, a Ref, first, end, to int) []strand {
	if !b.read[a] || b.joined[a] {
		return joinRun(runs, strand{a, first - to, to, to + end - first})
	}
	for _, s := range b.found[a][0].runs {
		if from, end := max(s.first, first), min(s.end, end); from < end {
			x := strand{s.from, 0, to + from - first, to + end - first}
			if s.from != None {
				x.by = s.by + first - to
			}
			runs = joinRun(runs, x)
		}
	}
	return runs
}

// find finds the readings of r, and reports whether they are few, and simple where r is
// assembled: what a tile program does not read itself may be simple after more moves.
func (b *steadyReads) find(r Ref) bool {
	p, t := b.p, b.p.t
	var terms [][]strand
	var one [1][]strand
	if args := t.Args(r); t.ins[r].Op() == opAssemble {
		var ok bool
		if terms, ok = b.assembled(r); !ok {
			return false
		}
	} else {
		runs := b.strands.of(len(b.moves[r]) + 1)[:0]
		for _, s := range b.moves[r] {
			if s.from == None {
				runs = joinRun(runs, s)
			} else {
				runs = b.runsIn(runs, p.same[args[s.from]], s.first+s.by, s.end+s.by, s.first)
			}
		}
		one[0] = runs
		terms = one[:]
	}
	all := 0
	b.found[r] = b.readings.of(len(terms))[:0]
	for _, runs := range terms {
		b.found[r] = append(b.found[r], readingOf(runs))
		all += len(runs)
	}
	return all <= mostInAll && (!b.joined[r] || b.isSimple(r))
}

// isSimple reports whether a tile program can be told where r is.
func (b *steadyReads) isSimple(r Ref) bool {
	for _, x := range b.found[r] {
		if x.most == 0 {
			return false
		}
	}
	return len(cutsOf(b.p.t.size(r), b.found[r])) <= mostPieces
}

// assembled are the terms of what assembles: the k-th piece that is not 0 at an element, in the
// order of the pieces, belongs to the k-th. To add a zero would change nothing: what begins
// with 0 never is -0. False: they are too many.
func (b *steadyReads) assembled(r Ref) (terms [][]strand, ok bool) {
	p, t := b.p, b.p.t
	var runs []strand
	cuts := []int{0, t.size(r)}
	for i, a := range t.Args(r) {
		size := t.Shape(a).Size()
		for k := range t.points(r) {
			from := 0
			if t.ins[a].batch != 0 {
				from = k * size
			}
			for _, s := range b.runsIn(nil, p.same[a], from, from+size, k*t.Shape(r).Size()+t.Attr(r).Ints[i]) {
				if s.from != None {
					runs, cuts = append(runs, s), append(cuts, s.first, s.end)
				}
			}
		}
		if len(runs) > mostInAll {
			return nil, false
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i, end := range cuts[1:] {
		first, count := cuts[i], 0
		for _, s := range runs {
			if s.first <= first && first < s.end {
				if count == len(terms) {
					terms = append(terms, joinRun(nil, strand{None, 0, 0, first})[:min(first, 1)])
				}
				s.first, s.end = first, end
				terms[count] = joinRun(terms[count], s)
				count++
			}
		}
		for ; count < len(terms); count++ {
			terms[count] = joinRun(terms[count], strand{None, 0, first, end})
		}
	}
	return terms, len(terms) <= mostAdded
}

// readingOf finds the strands of runs.
func readingOf(runs []strand) (x reading) {
	x = reading{runs: runs, strands: runs, most: 1, made: None}
	if len(runs) <= mostRuns {
		return x
	}
	x.strands, x.most = nil, 0
	for _, s := range runs {
		k := x.strand(s)
		if k < 0 {
			if len(x.strands) == mostStrands {
				return x
			}
			k, x.strands = len(x.strands), append(x.strands, s)
		}
		x.strands[k].end = s.end
	}
	for _, s := range x.strands {
		here := 0
		for _, o := range x.strands {
			if o.first <= s.first && s.first < o.end {
				here++
			}
		}
		if x.most = max(x.most, here); here > mostChoices {
			return reading{runs: runs, made: None}
		}
	}
	return x
}

// strand is the number of the one that a run is of, or -1.
func (x *reading) strand(run strand) int {
	return slices.IndexFunc(x.strands, func(s strand) bool { return s.from == run.from && s.by == run.by && s.first <= run.first })
}

// cutsOf are where pieces of n elements begin, so that each begins and ends no strand inside.
func cutsOf(n int, reads []reading) []int {
	count := 1
	for _, x := range reads {
		count += 2 * len(x.strands)
	}
	cuts := make([]int, 1, count)
	for _, x := range reads {
		for _, s := range x.strands {
			cuts = append(cuts, s.first, s.end)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	return slices.DeleteFunc(cuts, func(k int) bool { return k >= n })
}
