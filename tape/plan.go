package tape

import (
	"fmt"
	"slices"
	"sort"

	"nabla/tape/tensor"
)

// A Plan is how the values of some instructions will be computed: which instructions
// run (live), which of them are the same (fold), in which groups (fuse), and what is
// in memory when (place).
type Plan struct {
	t    *Tape
	outs []Ref

	live  []bool  // by Ref: runs, or is a leaf that is read
	same  []Ref   // by Ref: the instruction that stands for it
	order []Ref   // what runs, ascending
	steps []step  // what runs together, in order
	home  []int32 // by Ref: the step that computes it, -1 for leaves
	slot  []int32 // by Ref: the place of its memory in an execution, -1 for leaves and single numbers
	slots int
	peak  int64   // bytes of values alive at once
	flops float64 // of one run: an elementwise operation counts one an element
	count int     // instructions of one run
}

// A step is one group: numbers, a tile program over one space, or one structural
// instruction.
type step struct {
	kind  stepKind
	level int32
	refs  []Ref
	tile  *tileProgram
	free  []Ref // values that no later step reads
}

type stepKind uint8

const (
	stepNumbers stepKind = iota // single numbers, one after the other
	stepTile                    // elementwise over one space, tile by tile
	stepOne                     // one structural instruction
)

// A pass is one stage of planning. Passes run in the order of the table, which a test
// holds against what each one needs.
type pass struct {
	name  string
	after []string
	run   func(p *Plan)
}

// hoist, the moving of work out of batch axes, needs no pass: what does not vary along
// an axis has no such axis.
var passes = []pass{
	{name: "live", run: passLive},
	{name: "fold", after: []string{"live"}, run: passFold},
	{name: "fuse", after: []string{"live", "fold"}, run: passFuse},
	{name: "place", after: []string{"fuse"}, run: passPlace},
}

// plan makes the plan for the values of outs.
func (t *Tape) plan(outs []Ref) *Plan {
	p := &Plan{t: t, outs: outs}
	for _, x := range passes {
		x.run(p)
		if checking {
			p.verify(x.name)
		}
	}
	return p
}

// checking makes every plan verify itself between passes; tests set it.
var checking bool

// passLive marks what outs depend on; known values are leaves.
func passLive(p *Plan) {
	p.live = p.t.live(p.outs)
	for r, on := range p.live {
		if on && !p.t.known(Ref(r)) {
			p.order = append(p.order, Ref(r))
		}
	}
}

// passFold finds instructions that compute the same: the same operation on the same
// arguments. Names do not matter any more, so two sources of one value meet here.
func passFold(p *Plan) {
	t := p.t
	p.same = make([]Ref, len(p.live))
	for i := range p.same {
		p.same[i] = Ref(i)
	}
	// In a long tape of single numbers looking for equals costs more than computing twice.
	long := len(p.order) > 1<<15
	size := 16
	count := len(p.order)
	if long {
		count = 0
		for _, r := range p.order {
			if !t.single(r) {
				count++
			}
		}
	}
	for size < 2*count {
		size *= 2
	}
	seen := make([]Ref, size)
	for i := range seen {
		seen[i] = None
	}
	kept := p.order[:0]
	for _, r := range p.order {
		in := &t.ins[r]
		if in.Op == opAlias || in.Op == opStop || in.Op == opAssign || in.Op == opWithGrad {
			p.same[r] = p.same[t.Args(r)[0]] // a name, not a computation
			p.live[p.same[r]] = true
			continue
		}
		if in.attr != 0 || in.n > 3 || !in.Op.elementwise() || long && t.single(r) {
			kept = append(kept, r)
			continue
		}
		a := [3]Ref{None, None, None}
		h := uint64(in.shape)*0x9e3779b97f4a7c15 ^ uint64(in.batch)<<32 ^ uint64(in.dtype)<<56 ^ opHash(in.Op)
		for i, x := range t.Args(r) {
			a[i] = p.same[x]
			h = (h ^ uint64(uint32(a[i]))) * 0xff51afd7ed558ccd
			h ^= h >> 29
		}
		k := int(h) & (size - 1)
		for ; seen[k] != None; k = (k + 1) & (size - 1) {
			o := &t.ins[seen[k]]
			if o.Op == in.Op && o.shape == in.shape && o.batch == in.batch && o.dtype == in.dtype {
				b := [3]Ref{None, None, None}
				for i, x := range t.Args(seen[k]) {
					b[i] = p.same[x]
				}
				if a == b {
					break
				}
			}
		}
		if seen[k] != None {
			p.same[r] = seen[k]
			continue
		}
		seen[k] = r
		kept = append(kept, r)
	}
	// what only merged instructions needed is dead now
	used := make([]bool, len(p.live))
	for _, r := range p.outs {
		if r != None {
			used[p.same[r]] = true
		}
	}
	for i := len(kept) - 1; i >= 0; i-- {
		if r := kept[i]; used[r] {
			for _, a := range t.Args(r) {
				used[p.same[a]] = true
			}
		}
	}
	p.order = p.order[:0]
	for _, r := range kept {
		if used[r] {
			p.order = append(p.order, r)
		}
	}
}

// opHash tells rows apart by name.
func opHash(op *Op) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(op.Name); i++ {
		h = (h ^ uint64(op.Name[i])) * 1099511628211
	}
	return h
}

// passFuse groups instructions into steps. The level of an elementwise instruction is
// that of its arguments in the same space, and one more than any other's; instructions
// of one level and one space are a group, and groups run by level. Forward and backward
// elementwise work over one shape, with no reduction between, is one group. A full sum
// joins the group of what it adds up.
func passFuse(p *Plan) {
	t := p.t
	level := make([]int32, len(p.live))
	p.home = make([]int32, len(p.live))
	for i := range p.home {
		p.home[i] = -1
	}
	type key struct {
		level        int32
		shape, batch int32
	}
	groups := map[key]int32{}
	numbers := []int32{} // groups of single numbers by level, without hashing
	for _, r := range p.order {
		in := &t.ins[r]
		single := t.single(r)
		var lv int32
		elementwise := in.Op.elementwise()
		closes := !elementwise && p.closes(r)
		for _, a := range t.Args(r) {
			a = p.same[a]
			if p.home[a] < 0 {
				continue
			}
			switch {
			case closes, elementwise && t.ins[a].Op.elementwise() && t.sameSpace(a, r, single):
				lv = max(lv, level[a])
			default:
				lv = max(lv, level[a]+1)
			}
		}
		level[r] = lv
		var g int32
		switch {
		case elementwise && single:
			for int(lv) >= len(numbers) {
				numbers = append(numbers, -1)
			}
			if numbers[lv] < 0 {
				numbers[lv] = p.newStep(stepNumbers, lv)
			}
			g = numbers[lv]
		case elementwise:
			k := key{lv, in.shape, in.batch}
			id, ok := groups[k]
			if !ok {
				id = p.newStep(stepTile, lv)
				groups[k] = id
			}
			g = id
		case closes:
			g = p.home[p.same[t.Args(r)[0]]]
		default:
			g = p.newStep(stepOne, lv)
		}
		p.home[r] = g
		p.steps[g].refs = append(p.steps[g].refs, r)
	}
	// by level; a stable sort keeps the order of first instructions
	perm := make([]int, len(p.steps))
	for i := range perm {
		perm[i] = i
	}
	sort.SliceStable(perm, func(i, j int) bool { return p.steps[perm[i]].level < p.steps[perm[j]].level })
	sorted := make([]step, len(p.steps))
	to := make([]int32, len(p.steps))
	for i, k := range perm {
		sorted[i], to[k] = p.steps[k], int32(i)
	}
	p.steps = sorted
	for _, r := range p.order {
		p.home[r] = to[p.home[r]]
	}
}

func (p *Plan) newStep(k stepKind, level int32) int32 {
	p.steps = append(p.steps, step{kind: k, level: level})
	return int32(len(p.steps) - 1)
}

// sameSpace reports whether a and r run in one group: both single numbers, or of one
// layout.
func (t *Tape) sameSpace(a, r Ref, single bool) bool {
	if single {
		return t.single(a)
	}
	x, y := &t.ins[a], &t.ins[r]
	return x.shape == y.shape && x.batch == y.batch
}

// closes reports whether r is a full sum that can end a tile program: of an elementwise
// value without batch axes that is computed here and has more than one element.
func (p *Plan) closes(r Ref) bool {
	t := p.t
	if t.ins[r].Op != opSum || t.ins[r].batch != 0 || !t.single(r) {
		return false
	}
	a := p.same[t.Args(r)[0]]
	return p.home[a] >= 0 && t.ins[a].Op.elementwise() && t.ins[a].batch == 0 && !t.single(a) && len(t.Attr(r).Axes) == len(t.Shape(a))
}

// passPlace finds out when values die, builds the tile programs and adds up memory.
func passPlace(p *Plan) {
	t := p.t
	last := make([]int32, len(p.live))
	for i := range last {
		last[i] = -1
	}
	for i := range p.steps {
		for _, r := range p.steps[i].refs {
			last[r] = max(last[r], int32(i))
			for _, a := range t.Args(r) {
				a = p.same[a]
				last[a] = int32(i)
			}
		}
	}
	keep := make([]bool, len(p.live))
	for _, r := range p.outs {
		if r != None {
			keep[p.same[r]] = true
		}
	}
	p.slot = make([]int32, len(p.live))
	for i := range p.slot {
		p.slot[i] = -1
	}
	for _, r := range p.order {
		if !t.single(r) {
			p.slot[r] = int32(p.slots)
			p.slots++
		}
	}
	scratch := &tileScratch{where: make([]int32, len(p.live)), reads: make([]int32, len(p.live))}
	for _, r := range p.order {
		if !keep[r] && !t.single(r) && last[r] > p.home[r] {
			s := &p.steps[last[r]]
			s.free = append(s.free, r)
		}
	}
	var now int64
	for i := range p.steps {
		s := &p.steps[i]
		p.count += len(s.refs)
		for _, r := range s.refs {
			switch op := t.ins[r].Op; {
			case op.elementwise():
				p.flops += float64(t.size(r))
			case op.Flops != nil:
				p.flops += op.Flops(t, r)
			}
		}
		if s.kind == stepTile {
			s.tile = p.buildTile(s, int32(i), last, keep, scratch)
		}
		for _, r := range s.refs {
			if !t.single(r) && (keep[r] || last[r] > p.home[r] || s.kind == stepOne) {
				now += 8 * int64(t.size(r))
			}
		}
		p.peak = max(p.peak, now)
		for _, r := range s.free {
			now -= 8 * int64(t.size(r))
		}
	}
	if t.Limit > 0 && p.peak > t.Limit {
		panic(&Misuse{Kind: "memory", Code: 5, Pos: -1,
			Msg:  fmt.Sprintf("the program needs %s at once, more than the limit of %s", Bytes(float64(p.peak)), Bytes(float64(t.Limit))),
			Hint: "jvp, vjp and hvp give products without the matrix; --max-memory raises the limit"})
	}
	t.Stats.Peak = max(t.Stats.Peak, p.peak)
}

// A tileProgram is a group as register code: micro-operations on tiles of tileSize
// numbers. Values that only the group uses live in slots, which stay in L1.
type tileProgram struct {
	n      int // elements
	code   []micro
	loads  []load // arguments that broadcast, spread into slots
	direct []Ref  // arguments and results read and written in place
	slots  int
	sums   []sumOf
}

// A micro-operation. Operands ≥ 0 are slots, others are places in direct: -1-i.
type micro struct {
	op      *Op
	dst     int32
	arg     [3]int32
	float32 bool
}

type load struct {
	ref  Ref
	slot int32
	sp   *spread // nil: one number, filled in once
	use  int32   // the first micro-operation that needs it
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
	tp := &tileProgram{}
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
			if t.sameSpace(a, r, false) {
				where[a] = direct(a)
				continue
			}
			l := load{ref: a, slot: slot(), sp: t.spreadOf(a, r)}
			if t.single(a) {
				l.sp = nil
			} else if l.sp == nil { // only ones differ: the same layout
				free = append(free, l.slot)
				where[a] = direct(a)
				continue
			}
			tp.loads = append(tp.loads, l)
			where[a] = l.slot
		}
	}
	for _, r := range s.refs {
		in := &t.ins[r]
		if in.Op == opSum {
			a := p.same[t.Args(r)[0]]
			tp.sums = append(tp.sums, sumOf{r, where[a]})
			// the slot stays taken to the end of the tile
			continue
		}
		m := micro{op: in.Op, float32: in.dtype == tensor.Float32}
		for i, a := range t.Args(r) {
			m.arg[i] = where[p.same[a]]
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
		if keep[r] || last[r] > index {
			m.dst = direct(r)
		} else {
			m.dst = slot()
		}
		where[r] = m.dst
		tp.code = append(tp.code, m)
	}
	return tp
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
