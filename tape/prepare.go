package tape

import (
	"math"
	"slices"

	"nabla/tape/tensor"
)

// A Prepared question is answered many times, with inputs of the same names, shapes and
// dtypes but other numbers: what was recorded for one is run again for the next.
//
// A recording depends on nothing but the program, the form of its inputs, and what it
// looked at: conditions, loop counts, indices. These are looked at again, in order; a
// recording serves where all of them come out as they did. What no recording serves,
// and whatever leaves the beaten path — a number that is not finite, an error — is
// recorded anew. So the answers are those of Question.Answer, bit for bit.
type Prepared struct {
	q    *Question
	kept []*recording // the one used last comes first
	vain int          // answers to come for which nothing is recorded to be kept
}

const (
	keptRecordings = 8        // for programs whose conditions come out one way and the other
	keptBytes      = 64 << 20 // beside the last one
	loggedEvents   = 1 << 16  // more make looking again as slow as recording
	vainFor        = 15       // after one that could not be kept: of sparse matrices, or of large ones, which run in parts
)

// Prepare makes a question ready to be answered many times. Its own inputs are of no
// matter.
func (q *Question) Prepare() *Prepared {
	own := *q
	own.Stream = false
	return &Prepared{q: &own}
}

// Answer is Question.Answer with these inputs. The answer is valid until the next call.
// It is not for several goroutines at once.
func (p *Prepared) Answer(inputs []Input) (*Answer, error) {
	for i, r := range p.kept {
		if !r.fits(inputs) {
			continue
		}
		serves, a := r.again()
		if !serves {
			continue
		}
		copy(p.kept[1:i+1], p.kept[:i])
		p.kept[0] = r
		if a != nil {
			return a, nil
		}
		p.trim(keptBytes)
		return p.with(inputs).Answer()
	}
	p.trim(keptBytes)
	if p.vain > 0 {
		p.vain--
		return p.with(inputs).Answer()
	}
	s := &session{q: p.with(inputs), log: &log{}}
	a, err := s.answered()
	if err == nil {
		r := s.recording()
		if r == nil {
			p.vain = vainFor
		}
		p.keep(r)
	}
	return a, err
}

func (p *Prepared) with(inputs []Input) *Question {
	q := *p.q
	q.Inputs = inputs
	return &q
}

// keep puts a recording first. It stays however large it is, as its answer does.
func (p *Prepared) keep(r *recording) {
	if r != nil {
		p.trim(keptBytes - r.bytes)
		p.kept = slices.Insert(p.kept, 0, r)
	}
}

// trim keeps of the recordings as many as there is room for, with one to come.
func (p *Prepared) trim(bytes int64) {
	for i, r := range p.kept {
		if bytes -= r.bytes; bytes < 0 || i == keptRecordings-1 {
			clear(p.kept[i:])
			p.kept = p.kept[:i]
			return
		}
	}
}

// A log is what recording computed from its inputs to look at it, and what it saw.
type log struct {
	events []event
	full   bool
}

// An event is an instruction that ran, or a look at known values.
type event struct {
	ref   Ref
	was   []float64
	same  func(now, was []float64) bool // nil: the instruction ran
	found func() bool                   // a look that is more than one comparison
}

func (l *log) add(e event) {
	if l.full = l.full || len(l.events) == loggedEvents; !l.full {
		l.events = append(l.events, e)
	}
}

// ran notes that recording computed r.
func (l *log) ran(t *Tape, r Ref) {
	if l != nil && t.ins[r].flags&flagGiven != 0 {
		l.add(event{ref: r})
	}
}

// saw notes that what is recorded next depends on the value of r, as far as same tells
// it from was.
func (l *log) saw(t *Tape, r Ref, was []float64, same func(now, was []float64) bool) {
	if l != nil && t.ins[r].flags&flagGiven != 0 && !l.full {
		l.add(event{ref: r, was: slices.Clone(was), same: same})
	}
}

func (l *log) found(f func() bool) {
	if l != nil {
		l.add(event{ref: None, found: f})
	}
}

// read is the value of r, computed now: what is recorded next may depend on its bits.
func (t *Tape) read(r Ref) []float64 {
	t.force(r)
	data := t.data(r)
	t.log.saw(t, r, data, sameNumbers)
	return data
}

// sameNumbers reports whether numbers have the bits that they had.
func sameNumbers(now, was []float64) bool {
	for i, v := range now {
		if math.Float64bits(v) != math.Float64bits(was[i]) {
			return false
		}
	}
	return true
}

// sameTruth reports whether numbers hold, as conditions, where they held.
func sameTruth(now, was []float64) bool {
	for i, v := range now {
		if (v != 0) != (was[i] != 0) {
			return false
		}
	}
	return true
}

// sameRange reports whether all numbers are whole, at least was[0] and below was[1], as far as integers go.
func sameRange(now, was []float64) bool {
	low, high := was[0], was[1]
	if low <= 0 && len(now) > fewPlaces && arePlaces(now, int(min(high, math.MaxInt32))) {
		return true
	}
	for _, v := range now {
		if v != float64(int64(v)) || v < low || v >= high {
			return false
		}
	}
	return true
}

// A recording is a session that can be run again.
type recording struct {
	s       *session
	inputs  []Input // the form of the inputs: their numbers are left out
	events  []event // of the log
	answer  Answer
	leaves  []*tensor.Tensor // of the inputs at hand
	rounded [][]float64      // by leaf: float64 numbers of a float32 question
	bytes   int64
}

// taken is a tensor of the answer and the instruction that it is the value of.
type taken struct {
	t *tensor.Tensor
	r Ref
}

// recording is what can be run again of a session that has answered, or nil.
func (s *session) recording() *recording {
	t := s.t
	bytes := int64(len(t.ins))*perInstr + t.held + t.Stats.Peak
	if s.parts || s.log.full {
		return nil
	}
	r := &recording{s: s, events: s.log.events, answer: s.answer, rounded: make([][]float64, len(s.leaves)), bytes: bytes}
	t.forget()
	r.answer.Stats = s.stats
	r.answer.Warnings = slices.Clip(r.answer.Warnings[:s.said])
	for _, in := range s.q.Inputs {
		in.Value = outline(in.Value)
		r.inputs = append(r.inputs, in)
	}
	s.q.Inputs = nil
	return r
}

// outline is a value without its numbers.
func outline(v *tensor.Value) *tensor.Value {
	c := *v
	if v.Tensor != nil {
		c.Tensor = &tensor.Tensor{DType: v.Tensor.DType, Shape: slices.Clone(v.Tensor.Shape)}
	}
	c.List, c.Fields = nil, nil
	for _, e := range v.List {
		c.List = append(c.List, outline(e))
	}
	for _, f := range v.Fields {
		c.Fields = append(c.Fields, tensor.Field{Name: f.Name, Value: outline(f.Value)})
	}
	return &c
}

// fits reports whether inputs have the form that was recorded, and notes their leaves.
func (r *recording) fits(inputs []Input) bool {
	if len(inputs) != len(r.inputs) {
		return false
	}
	r.leaves = r.leaves[:0]
	for i := range inputs {
		a, b := &r.inputs[i], &inputs[i]
		if a.Name != b.Name || a.Const != b.Const || !r.fit(a.Value, b.Value) {
			return false
		}
	}
	return true
}

// fit reports whether value b has the form that the recording was made for, a, and lists its
// tensors.
func (r *recording) fit(a, b *tensor.Value) bool {
	if a.Kind != b.Kind || a.Frozen != b.Frozen || a.Said != b.Said || a.Why != b.Why || len(a.List) != len(b.List) || len(a.Fields) != len(b.Fields) {
		return false
	}
	switch a.Kind {
	case tensor.KindNone, tensor.KindTensor:
		r.leaves = append(r.leaves, b.Tensor)
		return a.Kind == tensor.KindNone || a.Tensor.DType == b.Tensor.DType && a.Tensor.Shape.Equal(b.Tensor.Shape)
	}
	for i, e := range a.List {
		if !r.fit(e, b.List[i]) {
			return false
		}
	}
	for i, f := range a.Fields {
		if f.Name != b.Fields[i].Name || !r.fit(f.Value, b.Fields[i].Value) {
			return false
		}
	}
	return true
}

// again runs the recording with the leaves at hand. It serves where everything that
// recording looked at is as it was; there is an answer if all is finite.
func (r *recording) again() (serves bool, a *Answer) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Misuse, *diverged, *notRolled, *badLoad: // it does not serve: recording anew will say it better
		default:
			panic(p)
		}
	}()
	r.s.t.forget()
	r.load()
	if !r.looksSame() {
		return false, nil
	}
	s := r.s
	if s.x != nil {
		s.x.again()
	}
	s.look()
	switch {
	case s.terms == nil && len(s.plain) > 0 && !s.finite(s.wanted), s.terms != nil && s.finite(s.terms):
		return false, nil // the matrices were computed the other way
	case s.rows != nil:
		s.rows.again()
	}
	s.regain()
	if _, doubtful := s.approach(); doubtful {
		return true, nil
	}
	s.mend()
	if !s.finite(s.wanted) && (s.derives() || slices.ContainsFunc(s.wanted, s.outside)) {
		return true, nil
	}
	if len(s.shaky()) > 0 || s.cramped() {
		return true, nil
	}
	for _, x := range s.taken {
		x.t.Data = s.data(x.r)
	}
	for _, c := range s.counts {
		if s.t.num[c] > 0 {
			if s.kinkRecords() { // wording it records more
				return true, nil
			}
			with, ran := r.answer, s.t.Stats
			s.t.Stats.Peak = with.Stats.Peak
			with.Warnings = append(with.Warnings, s.lo.kinkWarnings(s.settled)...)
			with.Stats.Executed += s.t.Stats.Executed - ran.Executed
			with.Stats.Flops += s.t.Stats.Flops - ran.Flops
			with.Stats.Peak = s.t.Stats.Peak
			s.t.forget()
			return true, &with
		}
	}
	return true, &r.answer
}

// kinkRecords reports whether a kink was met in the body of a loop, or one that may not have been
// taken.
func (s *session) kinkRecords() bool {
	return slices.ContainsFunc(s.t.sites, func(x kinkSite) bool { return x.loop != nil && x.hit(s.t) || x.asks(s.t) })
}

// wasKept notes what only this run of the tape knows.
func (t *Tape) wasKept(r Ref) {
	if t.passing {
		t.passed = append(t.passed, r)
	}
}

// forget makes unknown again what was computed of a run after its plan: to word its
// warnings.
func (t *Tape) forget() {
	for _, r := range t.passed {
		t.ins[r].flags &^= flagKnown
		delete(t.big, r)
	}
	t.passed = t.passed[:0]
}

// load gives the leaves of the tape their new values.
func (r *recording) load() {
	t := r.s.t
	for i, x := range r.leaves {
		ref := r.s.leaves[i]
		if ref == None {
			continue
		}
		data := x.Data
		if x.DType == tensor.Float64 && t.ins[ref].dtype == tensor.Float32 {
			if r.rounded[i] == nil {
				r.rounded[i] = make([]float64, len(data))
			}
			data = r.rounded[i]
			kernelsFloat32(data, x.Data)
		}
		if t.single(ref) {
			t.num[ref] = data[0]
		} else {
			t.big[ref] = data
		}
	}
}

// looksSame computes again what recording computed to look at it, and compares.
func (r *recording) looksSame() bool {
	t := r.s.t
	for i := range r.events {
		switch e := &r.events[i]; {
		case e.found != nil:
			if !e.found() {
				return false
			}
		case e.same != nil:
			if !e.same(t.data(e.ref), e.was) {
				return false
			}
		default:
			t.runOne(e.ref, t.data(e.ref))
		}
	}
	return true
}
