package tape

import (
	"slices"

	"nabla/tape/tensor"
)

// Force computes r now and keeps the value, and every value on the way, as leaves for
// later plans: each instruction runs once. It runs the tape one instruction at a time,
// which also makes it the slow, obvious version that plans are tested against.
func (t *Tape) Force(r Ref) *tensor.Tensor {
	t.force(r)
	return &tensor.Tensor{DType: t.ins[r].dtype, Shape: t.physical(r), Data: t.data(r)}
}

// data is the value of a known instruction.
func (t *Tape) data(r Ref) []float64 {
	if t.single(r) {
		return t.num[r : r+1 : r+1]
	}
	return t.big[r]
}

// force computes r and what it needs of what is not known, one instruction at a time, and keeps all
// of it.
func (t *Tape) force(r Ref) {
	if t.known(r) {
		return
	}
	t.mustBeKnown(r)
	t.forceAll(t.unknownBelow(r))
}

// unknownBelow are r, which is not known, and what it needs that is not, in the order of their index.
func (t *Tape) unknownBelow(r Ref) []Ref {
	todo := []Ref{r}
	seen := map[Ref]bool{r: true}
	for i := 0; i < len(todo); i++ {
		for _, a := range t.Args(todo[i]) {
			if !t.known(a) && !seen[a] {
				seen[a] = true
				todo = append(todo, a)
			}
		}
	}
	slices.Sort(todo)
	return todo
}

// forceAll computes those.
func (t *Tape) forceAll(todo []Ref) {
	for _, x := range todo {
		t.runOne(x, nil)
		t.log.ran(t, x)
		t.wasKept(x)
	}
}

// mustBeKnown keeps the body of a loop from asking for a value that only its steps have.
func (t *Tape) mustBeKnown(r Ref) {
	if t.isBody && !t.known(r) {
		panic(&notRolled{"a value is wanted while the body is recorded"})
	}
}

// runOne executes one instruction whose arguments are known, into out if there is one.
func (t *Tape) runOne(r Ref, out []float64) {
	in := &t.ins[r]
	t.Stats.Executed++
	args := t.Args(r)
	if t.single(r) && in.Op().elementwise() {
		var v [3]float64
		for i, a := range args {
			v[i] = t.num[a]
		}
		t.setNum(r, round(in.dtype, in.Op().one(v)))
		return
	}
	data := make([][]float64, len(args))
	for i, a := range args {
		data[i] = t.data(a)
	}
	t.worked += t.effort(r)
	again := out != nil
	if !again {
		t.checkHeld(r)
		out = make([]float64, t.size(r))
	}
	if in.Op().elementwise() {
		t.runElementwise(r, out, data)
	} else {
		t.runStructural(r, out, data, t.threads())
	}
	if in.dtype == tensor.Float32 {
		kernelsFloat32(out, out)
	}
	if !again {
		t.keep(r, out)
	}
}

// effort is about how many nanoseconds r takes, but for what every instruction does.
func (t *Tape) effort(r Ref) float64 {
	switch op := t.ins[r].Op(); {
	case op == opLoop:
		return 5 * op.Flops(t, r)
	case op.Flops != nil:
		return op.Flops(t, r) / 4
	}
	return float64(t.size(r)) + t.matrixWork(r)
}

func round(d tensor.DType, v float64) float64 {
	if d == tensor.Float32 {
		return float64(float32(v))
	}
	return v
}

// Bool forces r, a condition, to a truth value. Where the points of a batch disagree
// it panics with *diverged, and the owner of the batch axis splits them.
func (t *Tape) Bool(r Ref) bool {
	t.mustBeKnown(r)
	if t.Shape(r).Size() != 1 {
		panic(&Misuse{Kind: "shape", Pos: t.pos,
			Msg:  "a condition must be a scalar, this one has shape " + t.Shape(r).String(),
			Hint: "where(c, a, b) chooses elementwise; any(c) and all(c) give one answer"})
	}
	t.force(r)
	data := t.data(r)
	t.log.saw(t, r, data, sameTruth)
	if len(data) == 0 {
		return false
	}
	yes := data[0] != 0
	for _, v := range data[1:] {
		if (v != 0) != yes {
			panic(&diverged{axes: t.Axes(r), data: data})
		}
	}
	return yes
}

// diverged says that the points of a batch disagree about a condition.
type diverged struct {
	axes []int32
	data []float64
}
