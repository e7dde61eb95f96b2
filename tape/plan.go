package tape

// A Plan is how the values of some instructions will be computed: which instructions
// run (live), which of them are the same (fold), in which groups (fuse), and what is
// in memory when (place).
type Plan struct {
	t    *Tape
	outs []Ref

	live   []bool  // by Ref: runs, or is a leaf that is read
	same   []Ref   // by Ref: the instruction that stands for it
	order  []Ref   // what runs, ascending
	steps  []step  // what runs together, in order
	home   []int32 // by Ref: the step that computes it, -1 for leaves
	slot   []int32 // by Ref: the place of its memory in an execution, -1 for leaves and single numbers
	slots  int
	single []bool  // by step: it computes on float32
	narrow []bool  // by Ref: computed, and kept in memory, as float32
	view   []bool  // by slot: the memory is that of the argument
	peak   int64   // bytes of values alive at once
	flops  float64 // of one run: an elementwise operation counts one an element
	count  int     // instructions of one run
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
