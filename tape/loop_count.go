package tape

import (
	"fmt"
	"math"
	"slices"

	"nabla/expr"
)

// mostSteps is when a while loop of few operations on numbers is taken for endless, after a second or more, and
// mostSlow when another is, after a few. Tests set it low.
var mostSteps = 1_000_000_000

func mostSlow() int { return mostSteps / 10 }

const fewOperations = 6

// isSlow reports whether a loop of these operations is another.
func isSlow(knot []loopOp) bool {
	return len(knot) > fewOperations || slices.ContainsFunc(knot, func(o loopOp) bool { return o.kind == loopTensor })
}

// count runs a while loop, all of whose operations are one knot, to find its number of
// steps.
func (c *loopCodes) count(carry, consts, arrays [][]float64, check func()) int {
	code := c.after(0)
	x := code.newRun(carry, consts, arrays)
	defer arena64.give(x.mem)
	s := code.stages[0]
	cond := x.mem[code.extra[0]:]
	carried := x.carried()
	var round circle
	most := mostSteps
	if isSlow(s.knot) {
		most = mostSlow()
	}
	for n, turn := 0, 0; n < most; turn++ {
		if turn&63 == 0 && check != nil {
			check()
		}
		for i, from := 0, n; i < code.batch; {
			end := i
			if s.machine != nil { // it may do steps after the last
				end = s.machine.Steps(x.mem, x.arrays, i, code.batch)
			}
			if end == i {
				x.asked(s.knot, from, i, cond)
				end++
			}
			for ; i < end; i++ {
				if cond[i] == 0 {
					return n
				}
				n++
			}
		}
		x.carry(code.batch)
		if len(arrays) == 0 && x.index < 0 { // nothing but what is carried tells steps apart
			round.step(carried)
		}
		s = c.after(code.batch).stages[0]
	}
	panic(endless(most))
}

// carried are the numbers that are carried to the next step, where they lie.
func (x *loopRun) carried() (parts [][]float64) {
	for _, p := range x.next {
		parts = append(parts, x.mem[int(p.col)-p.wide:p.col])
	}
	return parts
}

// A circle finds out that a while loop never ends: what it carries comes again, bit for bit, and
// nothing else tells its steps apart.
type circle struct {
	turns int
	seen  []float64
}

// step looks at what is carried, and fails where it has been seen.
func (c *circle) step(carried [][]float64) {
	if c.turns > 0 && c.again(carried) {
		panic(&Misuse{Kind: "run", Pos: expr.NoPos, Msg: "this loop never ends: its values come again, and the condition holds",
			Hint: "a tolerance below what rounding leaves is never met; a for loop takes as many steps as it is told"})
	}
	if c.turns++; c.turns&(c.turns-1) == 0 { // rarer and rarer, so that a circle of any length is closed
		c.seen = c.seen[:0]
		for _, part := range carried {
			c.seen = append(c.seen, part...)
		}
	}
}

func (c *circle) again(carried [][]float64) bool {
	seen := c.seen
	for _, part := range carried {
		for i, v := range part {
			if math.Float64bits(v) != math.Float64bits(seen[i]) {
				return false
			}
		}
		seen = seen[len(part):]
	}
	return true
}

// asked runs a step of a while loop, whose condition comes first. Where it does not hold, the
// body may well read past the end of an array.
func (x *loopRun) asked(code []loopOp, from, i int, cond []float64) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(*badLoad); !ok || cond[i] != 0 {
				panic(p)
			}
		}
	}()
	cond[i] = 1 // until it is known
	x.run(code, from, i, i+1)
}

func endless(steps int) *Misuse {
	return &Misuse{Kind: "run", Msg: fmt.Sprintf("the condition still holds after %d steps: does this loop end?", steps),
		Hint: "a for loop takes as many steps as it is told", Pos: expr.NoPos}
}
