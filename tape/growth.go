package tape

import (
	"fmt"
	"math"

	"nabla/expr"
)

// perInstr is about what an instruction costs in memory with its plan: the record, its
// value, and what each pass knows of it; one on tensors costs perTensor more.
const (
	perInstr  = 150
	perTensor = 900
)

// recording is about how many bytes so many instructions take, of which so many are on tensors.
func (t *Tape) recording(instructions, tensors int) float64 {
	return float64(instructions)*perInstr + float64(tensors)*perTensor
}

// recordLimit is how many bytes what is recorded may take; 0 is no limit.
func (t *Tape) recordLimit() int64 {
	if t.Recorded > 0 && (t.Limit == 0 || t.Recorded < t.Limit) {
		return t.Recorded
	}
	return t.Limit
}

// checkLength refuses a tape that would not fit, were it twice as long, or when the loops that are
// under way are over.
func (t *Tape) checkLength() {
	limit := float64(t.recordLimit())
	if limit == 0 {
		return
	}
	if need := t.recording(2*cap(t.ins), 2*t.tensors); need > limit {
		panic(&Misuse{Kind: "memory", Pos: t.pos,
			Msg:  fmt.Sprintf("the program records more than %d operations%s: %d would need %s, more than %s", len(t.ins), t.inStep(), 2*cap(t.ins), Bytes(need), t.theLimit()),
			Hint: t.recordsLess()})
	}
	for i := range t.walks {
		t.walks[i].foresee(t, limit)
	}
}

// theLimit is what the limit of what is recorded is called.
func (t *Tape) theLimit() string {
	if limit := t.recordLimit(); limit < t.Limit {
		return "the " + Bytes(float64(limit)) + " that recording may take by itself"
	}
	return "the limit of " + Bytes(float64(t.Limit))
}

// inStep says in which step of a loop that is.
func (t *Tape) inStep() string {
	if len(t.walks) == 0 {
		return ""
	}
	return fmt.Sprintf(" by step %d of the loop", t.walks[0].done+1)
}

// recordsLess is how to record less.
func (t *Tape) recordsLess() string {
	raise := "--max-memory 16GiB, or another size, raises the limit"
	if t.inner > 0 {
		return "a derivative of a derivative is some times as long: --order N takes high orders, and stop_gradient(…) cuts what a step need not differentiate again; " + raise
	}
	return "operations on whole tensors, or a loop over single numbers, record less; " + raise
}

// A walk is a loop whose steps are recorded one by one, with the lengths of the tape before the last
// of them.
type walk struct {
	steps, done int
	from        int    // the length of the tape when it began
	lengths     [7]int // after done steps, one fewer, …
}

// walked notes that i steps of the innermost loop are done.
func (t *Tape) walked(i int) {
	w := &t.walks[len(t.walks)-1]
	w.done = i
	copy(w.lengths[1:], w.lengths[:])
	w.lengths[0] = len(t.ins)
}

// A loop is foreseen after foreseeFrom steps: before that most end up rolled. One that grew by growing, or
// more, in each of the last steps when it has earlyOf the limit, any other, by all of its steps, when it has
// lateOf.
const (
	foreseeFrom = 10
	growing     = 1.2
	earlyOf     = 1. / 64
	lateOf      = 1. / 8
)

// growth is how many times as much a step records as the one before, by the last six: the least that two of
// them say that are two apart, since derivatives of odd and even order differ. An odd step that records
// much, as one under a condition, says nothing.
func (w *walk) growth() float64 {
	least := math.Inf(1)
	for k := range len(w.lengths) - 3 {
		now, before := w.lengths[k]-w.lengths[k+1], w.lengths[k+2]-w.lengths[k+3]
		if before <= 0 {
			return 0
		}
		least = min(least, float64(now)/float64(before))
	}
	return math.Sqrt(least)
}

// foresee refuses a loop whose steps to come would not fit.
func (w *walk) foresee(t *Tape, limit float64) {
	has := t.recording(len(t.ins), t.tensors)
	if w.done < foreseeFrom || has < earlyOf*limit {
		return
	}
	growth := w.growth()
	all, left := float64(w.lengths[0]), float64(w.steps-w.done)
	switch {
	case growth > growing:
		all += float64(w.lengths[0]-w.lengths[1]) * growth * (math.Pow(growth, left) - 1) / (growth - 1)
	case has > lateOf*limit:
		growth = 1
		all += float64(w.lengths[0]-w.from) / float64(w.done) * left
	}
	need := has / float64(len(t.ins)) * all
	if !(need > limit) {
		return
	}
	each := "as many each"
	if growth > 1 {
		each = fmt.Sprintf("each %.2g times as many as the one before", growth)
	}
	panic(&Misuse{Kind: "memory", Pos: t.pos,
		Msg: fmt.Sprintf("the %s of this loop would record about %.1g operations, which needs %s, more than %s: %d have recorded %d, %s",
			expr.Plural(w.steps, "step"), all, untold(need), t.theLimit(), w.done, w.lengths[0]-w.from, each),
		Hint: t.recordsLess()})
}

// untold writes a number of bytes that may be beyond words.
func untold(n float64) string {
	if n > 1<<70 {
		return "memory without bounds"
	}
	return "about " + Bytes(n)
}
