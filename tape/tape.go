package tape

import (
	"fmt"
	"math"
	"slices"

	"nabla/expr"
	"nabla/kernels"
	"nabla/tape/tensor"
)

// A Ref names the value of one instruction. Args refer only to smaller Refs, so
// index order is evaluation order.
type Ref int32

// None is a structural zero: a cotangent or gradient that nothing contributes to.
const None Ref = -1

// An Instr is one recorded operation. It is 36 bytes without a pointer, so that a
// loop of a million steps fits and the collector does not read it: the operation is
// a number (Instr.Op), and shape, attributes and batch axes are numbers of interned
// values (Tape.Shape, Tape.Attr, Tape.Axes). With a pointer to the operation, a third
// of the time of recording was the collector's (BenchmarkRecord).
type Instr struct {
	args  [3]Ref // the arguments; of more than three, args[0] is the place in Tape.more
	op    opID   // of the operation
	n     uint16 // how many arguments
	dtype tensor.DType
	flags flag
	shape int32
	attr  int32
	batch int32
	Pos   expr.Pos // where the program asks for it
}

// Op is the row of the operation.
func (in *Instr) Op() *Op { return rows[in.op] }

type flag uint8

const (
	flagActive   flag = 1 << iota // depends on a source through differentiable operations
	flagRecorded                  // by the program itself, not by a derivative of it
	flagKnown                     // the value is in Tape.num or Tape.big: a leaf, or already computed
	flagGiven                     // depends on the value of an input
	flagNamed                     // the program has a name for it: a source, which nothing may look through
	flagJoined                    // in a body whose branches meet
)

// An Attr holds what an instruction knows beside its arguments. It is immutable
// once recorded. Axes are counted from the right: the last axis is -1.
type Attr struct {
	Axes   []int          // reduced or permuted axes
	Ints   []int          // sizes, starts and steps; each operation says how
	Num    float64        // const
	Text   string         // alias: the name; einsum: the subscripts; stops: the reason
	Flag   bool           // an operation's own switch
	Flag2  bool           //
	Upper  bool           // matmul: nobody reads what is below the diagonal
	Strong bool           // of a derivative: zeros of cotangents are strong, and a factorisation that fails is NaN
	Axis   int            // a batch axis
	Shape  tensor.Shape   // a target shape
	Value  *tensor.Tensor // input, constant
	Adj    customAdj      // with_grad: the user's rule
	Loop   *loop          // loop

	Series *series // taylor

	Colour []int32      // groups: the unit vector that stands in each
	Lines  *compression // decompress, compress
	Places []placing    // spread
}

// A customAdj appends the cotangent of argument i, given that of the result.
type customAdj func(i int, ct Ref) Ref

// A Tape is an append-only list of instructions. Nothing runs until a number is
// wanted (Force, Values), so that forward and backward pass are planned together.
type Tape struct {
	desk *desk
	ins  []Instr
	more []Ref // arguments of instructions with more than three

	shapes      []tensor.Shape
	shapeIDs    map[string]int32
	attrs       []Attr
	axes        []int     // size of every batch axis
	sets        [][]int32 // sorted lists of batch axes; 0 is the empty one
	setIDs      map[string]int32
	unions      map[[2]int32]int32
	consts      [2]map[uint64]Ref // recorded number constants of float64 and float32; nil while there are few
	firstConsts [2][]Ref

	Conventions string // at points without a derivative: "", tf, jax, torch (theirs.go)

	tensors int // how many instructions gave more than a number

	num    []float64         // values of known instructions of one element
	big    map[Ref][]float64 // values of the other known instructions
	names  map[Ref]string    // what values are called, for explain
	held   int64             // bytes in big
	sane   map[Ref]bool      // whether a tile program found its result finite
	frozen map[Ref]string    // why a leaf is not a source

	Recorded     int64 // bytes that the instructions may take, if that is less than Limit; 0 is as much
	walks        []walk
	Limit        int64 // bytes that any one value, and a plan as a whole, may take; 0 is no limit
	Threads      int
	DType        tensor.DType // of number constants where no argument says otherwise; see among
	pos          expr.Pos     // given to what is recorded next
	Stats        Stats
	sites        []kinkSite        // where derivatives were taken that may not exist
	bodies       map[Ref]*bodyCall // values of functions with kinks that are written in nabla
	kinksOn      bool
	strong       bool     // zeros of cotangents are strong in all operations (strong.go)
	swept        bool     // a derivative was recorded
	inner        int      // how many derivative sweeps are being recorded
	sloping      bool     // whether slopes of eigenvalues are being recorded
	seeds        []Ref    // what stands for the cotangents of derivatives along directions, while these are recorded
	isBody       bool     // the body of a loop: placeholders have no values
	wide         int      // and at how many points steps may run together while their way back is recorded,
	forth        Ref      // before which is what has no cotangent
	forks        *forks   // conditions in that body
	isStrip      bool     // some rows of a chain of another tape
	isStep       bool     // a copy of the body of a loop, of which plans are made for its steps
	ready        *Plan    // made to see what it costs, and likely to be asked for next
	helpers      int      // threads that are kept awake while it is planned
	worked       float64  // nanoseconds that what was forced took, as effort guesses them
	timed        bool     // a time limit ends what does not end
	check        func()   // called now and then while running: panics when time is up
	busy         bool     // a plan is
	at           expr.Pos // of what of it runs by itself
	log          *log     // what recording computed and looked at; nil when nobody wants to know
	passing      bool     // what is computed now is forgotten before the tape runs again
	passed       []Ref
	looked       []look         // what was, and may be again
	compressions []*compression // Jacobians that are computed from few lines
	apart        bool           // no two of those lines are computed as one
	mirrors      map[Ref]mirror // blocks of Hessians
	loopsAgain   map[Ref]Ref    // loops that run again to keep what they carried
	filled       bool           // there was one that could not be
}

// Stats counts what a tape did.
type Stats struct {
	Instructions int     // recorded
	Executed     int     // run
	Flops        float64 // an elementwise operation counts one an element
	Peak         int64   // bytes of values alive at once
}

// Tier names the kernels in use: generic, avx2, avx512 or neon.
func Tier() string { return kernels.Tier() }

// Tiers names the kernels that this CPU runs, the best last.
func Tiers() []string { return kernels.Tiers() }

// New makes an empty tape.
func New() *Tape { return new(desk).open() }

// Len is the number of instructions.
func (t *Tape) Len() int { return len(t.ins) }

// Args lists the arguments of r. The slice must not be changed.
func (t *Tape) Args(r Ref) []Ref {
	in := &t.ins[r]
	if in.n <= 3 {
		return in.args[:in.n]
	}
	return t.more[in.args[0] : int(in.args[0])+int(in.n)]
}

// Shape is the logical shape of r, without batch axes.
func (t *Tape) Shape(r Ref) tensor.Shape { return t.shapes[t.ins[r].shape] }

// DTypeOf is the dtype of r.
func (t *Tape) DTypeOf(r Ref) tensor.DType { return t.ins[r].dtype }

// Attr holds what r knows beside its arguments.
func (t *Tape) Attr(r Ref) *Attr { return &t.attrs[t.ins[r].attr] }

// Axes lists the batch axes along which r varies, ascending.
func (t *Tape) Axes(r Ref) []int32 { return t.sets[t.ins[r].batch] }

// Active reports whether r depends on a source through differentiable operations.
func (t *Tape) Active(r Ref) bool { return t.ins[r].flags&flagActive != 0 }

func (t *Tape) named(r Ref) bool { return t.ins[r].flags&flagNamed != 0 }

func (t *Tape) known(r Ref) bool { return t.ins[r].flags&flagKnown != 0 }

// physical is the shape of r in memory: its batch axes, ascending, then its logical shape.
func (t *Tape) physical(r Ref) tensor.Shape {
	in := &t.ins[r]
	if in.batch == 0 {
		return t.shapes[in.shape]
	}
	return t.appendPhysical(make(tensor.Shape, 0, len(t.sets[in.batch])+len(t.shapes[in.shape])), r)
}

// appendPhysical appends that to s.
func (t *Tape) appendPhysical(s tensor.Shape, r Ref) tensor.Shape {
	for _, a := range t.Axes(r) {
		s = append(s, t.axes[a])
	}
	return append(s, t.Shape(r)...)
}

// size is the number of elements of r in memory.
func (t *Tape) size(r Ref) int {
	in := &t.ins[r]
	n := 1
	if in.shape != 0 {
		n = t.shapes[in.shape].Size()
	}
	for _, a := range t.sets[in.batch] {
		n *= t.axes[a]
	}
	return n
}

// single reports whether r is one number, kept in Tape.num.
func (t *Tape) single(r Ref) bool {
	in := &t.ins[r]
	return in.batch == 0 && (in.shape == 0 || t.shapes[in.shape].Size() == 1)
}

// A Misuse is a mistake of the program that is found while recording it: shapes
// that do not fit, a wrong argument. It travels as a panic inside the package.
type Misuse struct {
	Kind string // shape, type, gradient, memory, … by which the exit code goes
	Msg  string
	Note string // what stands behind the caret line: the shapes
	Hint string // the likely fix
	Pos  expr.Pos
	Flag *expr.Program // the flag that the mistake is in, as text, when it is not in the program; Pos is in it, up to its end
}

func (m *Misuse) Error() string { return m.Msg }

// stops reports whether it ends the computation, which no other way of recording would avoid: time
// or memory ran out, or there is no result.
func (m *Misuse) stops() bool { return exitCode(m.Kind) >= 5 }

func fail(kind, format string, args ...any) { advise(kind, "", format, args...) }

// advise is fail with what to write instead.
func advise(kind, hint, format string, args ...any) {
	panic(&Misuse{Kind: kind, Msg: fmt.Sprintf(format, args...), Hint: hint, Pos: expr.NoPos})
}

// add appends an instruction whose shape and dtype are known. It is written where it
// stays: written elsewhere and copied, the copy waits for the writing, an eighth of the time
// of recording (BenchmarkRecord).
func (t *Tape) add(op *Op, shape int32, dtype tensor.DType, attr int32, args ...Ref) Ref {
	if len(args) > math.MaxUint16 {
		fail("shape", "%s takes at most %d values at once, not %d", op.Name, math.MaxUint16, len(args))
	}
	var batch int32
	var flags flag
	for i, a := range args {
		x := &t.ins[a]
		if x.batch != batch {
			batch = t.union(batch, x.batch)
		}
		flags |= x.flags & flagGiven
		if flags&flagActive == 0 && x.flags&flagActive != 0 && dtype.IsFloat() && t.passes(op, i) {
			flags |= flagActive
		}
	}
	r := t.next()
	in := &t.ins[r]
	in.op, in.n, in.dtype, in.flags = op.id(), uint16(len(args)), dtype, flags
	in.shape, in.attr, in.batch, in.Pos = shape, attr, batch, t.pos
	switch len(args) {
	case 0:
		in.args = [3]Ref{}
	case 1:
		in.args = [3]Ref{args[0]}
	case 2:
		in.args = [3]Ref{args[0], args[1]}
	case 3:
		in.args = [3]Ref(args)
	default:
		in.args = [3]Ref{Ref(len(t.more))}
		t.more = append(t.more, args...)
	}
	return t.recorded(r, op)
}

// push appends a leaf.
func (t *Tape) push(in Instr) Ref {
	r := t.next()
	t.ins[r] = in
	return t.recorded(r, in.Op())
}

// next makes room for an instruction at the end.
func (t *Tape) next() Ref {
	n := len(t.ins)
	if n == cap(t.ins) || n == math.MaxInt32 {
		t.grow()
	}
	t.ins = t.ins[:n+1]
	return Ref(n)
}

// grow doubles the room for instructions: append grows by a quarter, which is five copies
// of a long tape.
func (t *Tape) grow() {
	if len(t.ins) == math.MaxInt32 {
		fail("memory", "the program records more than %d operations", math.MaxInt32)
	}
	t.checkLength()
	t.ins = slices.Grow(t.ins, max(64, cap(t.ins)))
}

// recorded completes the last instruction, which is of op.
func (t *Tape) recorded(r Ref, op *Op) Ref {
	in := &t.ins[r]
	if t.inner == 0 {
		in.flags |= flagRecorded
	}
	if in.shape|in.batch != 0 || in.n > 0 && !op.elementwise() { // more than functions of single numbers
		kernels.Choose()
	}
	if in.shape != 0 {
		t.tensors++
		if in.batch == 0 { // along a batch axis rows can run apart
			t.checkSize(r)
		}
	}
	return r
}

// checkSize refuses a value that alone is larger than the limit.
func (t *Tape) checkSize(r Ref) {
	p := t.physical(r)
	n, ok := p.CheckedExtent()
	if ok && (t.Limit == 0 || int64(n) <= t.Limit/8) {
		return
	}
	bytes := 8.0
	for _, d := range p {
		bytes *= max(1, float64(d))
	}
	m := &Misuse{Kind: "memory", Pos: t.pos,
		Msg: fmt.Sprintf("a tensor of shape %v needs %s, more than the limit of %s", p, Bytes(bytes), Bytes(float64(t.Limit)))}
	if t.Limit == 0 {
		m.Msg = fmt.Sprintf("a tensor of shape %v needs %s", p, Bytes(bytes))
	}
	m.Hint = "--max-memory raises the limit"
	t.ins = t.ins[:r]
	panic(m)
}

// Bytes writes a number of bytes for people: 75 GiB.
func Bytes(n float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1 << 60, "EiB"}, {1 << 50, "PiB"}, {1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size {
			return fmt.Sprintf("%.3g %s", n/u.size, u.name)
		}
	}
	return expr.Plural(int(n), "byte")
}
