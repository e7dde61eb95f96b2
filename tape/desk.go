package tape

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"nabla/expr"
	"nabla/kernels"
)

// A desk is what one question after the other is worked out on: its tape, what its plans
// know of each instruction, and other lists of short life. A small question spends more
// time on making these, and the collector on finding them, than on its numbers.
//
// Nothing on a desk leaves with an answer. A tape that outlives its answer, to run again or
// row by row, keeps the desk.
type desk struct {
	session  session
	lowering lowering
	top      scope
	tape     Tape
	bodies   []*Tape // of loops: those that are begun, then others
	begun    int
	beside   []*desk // of what runs while the tape does, on other threads maybe
	mu       sync.Mutex
	leaves   slab[leafSlot]
	refs     slab[Ref]
	places   slab[int32]
	marks    slab[bool]
	sweeps   slab[sweep]
	plans    slab[Plan]
	steps    slab[step]
	tiles    slab[tileProgram]
	codes    slab[tileCode]
	micros   slab[micro]
	calls    slab[kernels.Call]
	loads    slab[load]
	kept     slab[sumOf]
	runs     slab[execution]
	values   slab[[]float64]

	// of terms:
	terms   slab[term]
	sizes   slab[int]
	reaches slab[reach]
	walks   slab[stride]
	factors slab[operand]
	labels  slab[rune]

	odd [8]atomic.Bool
}

// A leafSlot is the variable that an input is, with its first value.
type leafSlot struct {
	slot
	state
	first [1]Ref
}

var desks = sync.Pool{New: func() any { return new(desk) }}

// open begins the tape.
func (d *desk) open() *Tape { return d.begin(&d.tape) }

// lower begins the lowering of a program onto the tape.
func (d *desk) lower(prog *expr.Program) *lowering {
	lo := &d.lowering
	if lo.leaves == nil {
		lo.leaves = map[Ref]*slot{}
	}
	if d.top.names == nil {
		d.top.names = map[string]*slot{}
	}
	lo.t, lo.prog, lo.top, lo.scope, lo.dtype = &d.tape, prog, &d.top, &d.top, d.tape.DType
	return lo
}

// body begins the tape of a loop's body.
func (d *desk) body() *Tape {
	if d.begun == len(d.bodies) {
		d.bodies = append(d.bodies, new(Tape))
	}
	d.begun++
	kernels.Choose()
	return d.begin(d.bodies[d.begun-1])
}

func (d *desk) begin(t *Tape) *Tape {
	t.desk, t.pos = d, expr.NoPos
	t.shapes, t.attrs, t.sets = append(t.shapes, nil), append(t.attrs, Attr{}), append(t.sets, nil)
	return t
}

// another is a desk for what is planned while d may be at work: it is cleared with d.
func (d *desk) another() *desk {
	a := desks.Get().(*desk)
	d.mu.Lock()
	d.beside = append(d.beside, a)
	d.mu.Unlock()
	return a
}

// clear makes the desk ready for the next question.
func (d *desk) clear() {
	for _, a := range d.beside {
		a.clear()
		desks.Put(a)
	}
	clear(d.beside)
	d.beside = d.beside[:0]
	d.session = session{}
	d.lowering = lowering{leaves: emptied(d.lowering.leaves)}
	d.top.names = emptied(d.top.names)
	d.tape.clear()
	for _, t := range d.bodies[:d.begun] {
		t.clear()
	}
	if d.begun = 0; len(d.bodies) > 8 {
		d.bodies = nil
	}
	d.leaves.clear()
	d.refs.clear()
	d.places.clear()
	d.marks.clear()
	d.sweeps.clear()
	d.plans.clear()
	d.steps.clear()
	d.tiles.clear()
	d.codes.clear()
	d.micros.clear()
	d.calls.clear()
	d.loads.clear()
	d.kept.clear()
	d.runs.clear()
	d.values.clear()
	d.terms.clear()
	d.sizes.clear()
	d.reaches.clear()
	d.walks.clear()
	d.factors.clear()
	d.labels.clear()
}

// A slab hands out slices of zeros, one after the other, until it is cleared.
type slab[T any] struct {
	all []T
	at  int // what is before is taken
}

const (
	mostSlab   = 1 << 18 // bytes: long tapes do not notice what making a list costs
	mostListed = 1 << 13 // elements of a list that is kept
	mostLeft   = 64      // entries of a map
)

// of is n zeros.
func (s *slab[T]) of(n int) []T {
	if n > len(s.all)-s.at {
		size := int(unsafe.Sizeof(*new(T)))
		most := mostSlab / size
		if n > most/4 || len(s.all) == most {
			return make([]T, n)
		}
		s.all, s.at = make([]T, min(most, max(1024/size, 4, 2*n, 2*len(s.all)))), 0
	}
	s.at += n
	return s.all[s.at-n : s.at : s.at]
}

// copy is a copy of x with room for more.
func (s *slab[T]) copy(x []T, more int) []T { return append(s.of(len(x) + more)[:0], x...) }

// one is a zero.
func (s *slab[T]) one() *T { return &s.of(1)[0] }

func (s *slab[T]) clear() {
	clear(s.all[:s.at])
	s.at = 0
}

// clear makes the tape an empty one, with the memory that it has where it is not much.
func (t *Tape) clear() {
	if len(t.ins) > mostListed {
		t.ins = nil
	}
	*t = Tape{
		ins: t.ins[:0], more: cleared(t.more), attrs: cleared(t.attrs), axes: cleared(t.axes),
		shapes: cleared(t.shapes), sets: cleared(t.sets), firstConsts: [2][]Ref{cleared(t.firstConsts[0]), cleared(t.firstConsts[1])}, sites: cleared(t.sites),
		num: cleared(t.num), big: emptied(t.big), names: emptied(t.names), sane: emptied(t.sane),
	}
	t.num = t.num[:cap(t.num)]
}

// cleared is a list without its elements.
func cleared[T any](list []T) []T {
	if len(list) > mostListed {
		return nil
	}
	clear(list)
	return list[:0]
}

// emptied is a map without its entries.
func emptied[K comparable, V any](m map[K]V) map[K]V {
	if len(m) > mostLeft {
		return nil
	}
	clear(m)
	return m
}
