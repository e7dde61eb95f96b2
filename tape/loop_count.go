package tape

import (
	"fmt"

	"nabla/expr"
)

// mostSteps is when a while loop is taken for endless: after some ten seconds or more. Tests set it low.
var mostSteps = 1_000_000_000

// count runs a while loop, all of whose operations are one knot, to find its number of
// steps.
func (c *loopCodes) count(carry, consts, arrays [][]float64, check func()) int {
	code := c.after(0)
	x := code.newRun(carry, consts, arrays)
	defer arena64.give(x.mem)
	s := code.stages[0]
	cond := x.mem[code.extra[0]:]
	for n, turn := 0, 0; n < mostSteps; turn++ {
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
		s = c.after(code.batch).stages[0]
	}
	panic(endless())
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

func endless() *Misuse {
	return &Misuse{Kind: "run", Msg: fmt.Sprintf("the condition still holds after %d steps: does this loop end?", mostSteps),
		Hint: "a for loop takes as many steps as it is told", Code: 5, Pos: expr.NoPos}
}
