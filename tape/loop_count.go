package tape

import (
	"fmt"
	"math"

	"nabla/expr"
)

// A while loop without a time limit is taken for endless after mostWork nanoseconds, as stepWork
// guesses them, which come to some seconds; but not before it took leastSteps, nor after more than
// mostSteps. Tests set them. They are guesses, and not times, so that a loop ends on every machine
// or on none.
var mostWork, leastSteps, mostSteps = 4e9, 200, 1_000_000_000

// patience is after how many steps that take so much work each a loop is taken for endless. One
// with a time limit ends with that.
func (t *Tape) patience(work float64) int {
	if t.timed {
		return math.MaxInt
	}
	return max(leastSteps, int(min(float64(mostSteps), mostWork/max(1, work))))
}

// aDay is in nanoseconds.
const aDay = 86400e9

// checkSteps refuses a for loop that would take more than a day, unless there is a time limit.
func (l *loop) checkSteps(t *Tape) {
	if l.n < 1e6 || t.timed {
		return
	}
	if days := float64(l.n) * l.stepWork(l.planned()) / aDay; days > 1 {
		panic(&Misuse{Kind: "run", Pos: expr.NoPos, Msg: fmt.Sprintf("the %.3g steps of this loop would take about %.0f days", float64(l.n), math.Ceil(days)),
			Hint: "fewer steps; with --timeout it runs for as long as that says"})
	}
}

// stepWork is that of a step, which is planned or not, with what else is wanted of it: the condition.
func (l *loop) stepWork(planned bool, extra ...Ref) float64 {
	live := l.body.live(l.wanted(extra...))
	varies := l.varies(live)
	var work stepWork
	heavy := 0.0
	for i, on := range live {
		if on && varies[i] {
			work.add(l.body, Ref(i), varies, false)
			heavy += l.body.matrixWork(Ref(i))
		}
	}
	if planned {
		return work.planned + heavy
	}
	return work.coded + heavy
}

// matrixWork is about how many nanoseconds r takes that stepWork does not know of: it is written for
// operations whose way is to be chosen, and those on matrices run the same either way.
func (t *Tape) matrixWork(r Ref) float64 {
	switch op := t.ins[r].Op(); {
	case op.Matrices > 0:
		n := float64(t.room(r)) / 8
		return 3000 + n*math.Sqrt(n)
	case op.elementwise() || op.moves() || op == opAssemble || op == opMatmul || op == opSum || op == opSlot || op == opLoad:
		return 0
	case op == opMaxOf || op == opMinOf || op == opNorm || op == opSoftmax || op == opLogsumexp:
		return 0
	}
	n := 3000.0
	for _, a := range t.Args(r) {
		n += float64(t.size(a))
	}
	return n
}

// A waiting is a while loop that is recorded step by step, and what was forced before it.
type waiting struct {
	executed int
	worked   float64
}

// forcing is about how many nanoseconds an instruction takes that is recorded and forced.
const forcing = 1000

func (t *Tape) waits() waiting { return waiting{t.Stats.Executed, t.worked} }

// step fails where the loop is to be taken for endless after n steps.
func (w waiting) step(t *Tape, n int) {
	if n < leastSteps {
		return
	}
	work := forcing*float64(t.Stats.Executed-w.executed) + t.worked - w.worked
	if n >= t.patience(work/float64(n)) {
		panic(endless(n))
	}
}

// count runs a while loop, all of whose operations are one knot, to find its number of
// steps, if those are not more than most.
func (c *loopCodes) count(carry, consts, arrays [][]float64, most int, check func()) int {
	code := c.after(0)
	x := code.newRun(carry, consts, arrays, nil)
	defer arena64.give(x.mem)
	s := code.stages[0]
	cond := x.mem[code.extra[0]:]
	carried := x.carried()
	var round circle
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
		Hint: "with --timeout 10m it may take that long; a for loop takes as many steps as it is told", Pos: expr.NoPos}
}
