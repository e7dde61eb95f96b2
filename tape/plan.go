package tape

import (
	"slices"

	"nabla/tape/pool"
)

// A Plan is how the values of some instructions will be computed: which instructions
// run (live), which of them are the same (fold), which are carried out some rows at a time
// (chain), which are read where they lie (moved), in which groups (fuse), which of these run
// side by side (slide), what is made again (again), and what is in memory when (place).
type Plan struct {
	t    *Tape
	outs []Ref

	live   []bool // by Ref: runs, or is a leaf that is read
	same   []Ref  // by Ref: the instruction that stands for it
	order  []Ref  // what runs, ascending
	chains []*chain
	chain  []int32       // by Ref: its place in chains, from 1, or 0; nil without chains
	phase  []int32       // by Ref: how many chains must be through before it; nil without chains
	lies   [][]pane      // of what is read where it lies; nil without such
	moved  []int32       // by Ref: its place in lies, from 1, or 0
	loops  map[Ref]*Attr // by Ref: a loop without what nobody reads
	steps  []step        // what runs together, in order
	home   []int32       // by Ref: the step that computes it, -1 for leaves
	slot   []int32       // by Ref: the place of its memory in an execution, -1 for leaves and single numbers
	slots  int
	single []bool  // by step: it computes on float32
	narrow []bool  // by Ref: computed, and kept in memory, as float32
	view   []bool  // by slot: the memory is that of the argument
	window []bool  // by slot: there is none, only a window of a slide; nil without slides
	peak   int64   // bytes of values alive at once
	flops  float64 // of one run: an elementwise operation counts one an element
	count  int     // instructions of one run
}

// A step is one group: numbers, a tile program over one space, one structural
// instruction, or a chain. A softmax may share the step of a logsumexp or log_softmax, and a picked sum
// is one with what it is made of.
type step struct {
	kind  stepKind
	level int32
	refs  []Ref
	again []Ref // what others make, and it makes again
	tile  *tileProgram
	chain *chain
	slide *slide // which it is part of, or nil
	free  []Ref  // values that no later step reads

	count  int   // of refs
	first  Ref   // of refs
	before int32 // another elementwise group of the level, or -1
}

type stepKind uint8

const (
	stepNumbers stepKind = iota // single numbers, one after the other
	stepTile                    // elementwise over one space, tile by tile
	stepOne                     // one structural instruction
	stepChain                   // instructions over common rows, some rows at a time
)

// A pass is one stage of planning. Passes run in the order of the table, which a test
// holds against what each one needs.
type pass struct {
	name  string
	after []string
	run   func(p *Plan)
}

// hoist, the moving of work out of batch axes, needs no pass: what does not vary along
// an axis has no such axis. A chain's strips are planned by the same passes.
var passes []pass // passRows, for what they know (see init in op.go)

var passRows = []pass{
	{name: "live", run: passLive},
	{name: "fold", after: []string{"live"}, run: passFold},
	{name: "unread", after: []string{"live", "fold"}, run: passUnread},
	{name: "chain", after: []string{"live", "fold"}, run: passChain},
	{name: "moved", after: []string{"live", "fold", "chain"}, run: passMoved},
	{name: "fuse", after: []string{"live", "fold", "chain", "moved"}, run: passFuse},
	{name: "slide", after: []string{"moved", "fuse"}, run: passSlide},
	{name: "again", after: []string{"fuse", "slide"}, run: passAgain},
	{name: "place", after: []string{"fuse", "slide", "again"}, run: passPlace},
}

// plan makes the plan for the values of outs.
func (t *Tape) plan(outs []Ref) *Plan {
	p := t.desk.plans.one()
	p.t, p.outs = t, outs
	for _, x := range passes {
		if t.helpers > 0 {
			pool.Wake(t.helpers) // who waits for the first step would sleep again
		}
		x.run(p)
		if checking {
			p.verify(x.name)
		}
	}
	return p
}

// planned is the plan for the values of outs: that which is ready, if it is for the same.
func (t *Tape) planned(outs []Ref) *Plan {
	if p := t.ready; p != nil && slices.Equal(p.outs, outs) {
		now := Plan{t: t, outs: outs}
		if passLive(&now); slices.Equal(p.order, now.order) {
			return p
		}
	}
	return t.plan(outs)
}

// checking makes every plan verify itself between passes; tests set it.
var checking bool
