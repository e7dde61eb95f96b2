package tape

import (
	"math"
	"slices"
)

// overflowWarning names the first operation of the program that turns finite numbers
// into something else, or infinite inputs into NaN: where a result is not finite, or a
// derivative through it is a number that means nothing. None where there is nothing, or
// too much to look at.
func (lo *lowering) overflowWarning(ys []Ref) (Warning, bool) {
	t := lo.t
	top := Ref(-1)
	for _, y := range ys {
		top = max(top, y)
	}
	if top < 0 {
		return Warning{}, false
	}
	live, loops := t.liveThrough(ys, top)
	total := 0
	for r, on := range live {
		if on {
			total += t.size(Ref(r))
		}
	}
	if total > mostLooked {
		return Warning{}, false
	}
	infinite := false // an input is
	for r := Ref(0); r <= top; r++ {
		if !live[r] {
			continue
		}
		t.force(r)
		in, data := &t.ins[r], t.data(r)
		at := slices.IndexFunc(data, func(v float64) bool { return v-v != 0 })
		if infinite && at >= 0 && len(t.Args(r)) > 0 {
			if at = slices.IndexFunc(data, math.IsNaN); at < 0 || in.Op() == opLoop {
				continue // the user knows
			}
		}
		switch op := in.Op(); {
		case op == opLoop:
			if w, found := lo.loopOverflow(r, loops[r]); found {
				return w, true
			}
		case at < 0 || op == opRebatch || op == opUnbatch || op == opBlock && t.ins[in.args[0]].Op() == opLoop:
		case op == opInput:
			if slices.ContainsFunc(data, math.IsNaN) { // the user knows
				return Warning{}, false
			}
			infinite = true
		case len(t.Args(r)) > 0: // what has none is an infinity that the program writes down
			of := ""
			if a := t.Args(r)[0]; len(t.Args(r)) == 1 && t.size(a) == t.size(r) {
				of = " of " + formatFloat(t.data(a)[at])
			}
			return lo.overflow(in, of, data[at]), true
		}
	}
	return Warning{}, false
}

// mostLooked is how many numbers are looked at for the first that is not finite.
const mostLooked = 1 << 22

// overflow words the warning about in, which gives v.
func (lo *lowering) overflow(in *Instr, of string, v float64) Warning {
	name := lo.nameAt(in.Pos, in.Op().said())
	return Warning{Op: name, Pos: in.Pos, Value: v,
		Msg: name + of + " is " + formatFloat(v)}
}

// loopOverflow looks inside loop r, whose arguments are known, for the first operation
// that gives something that is not finite.
func (lo *lowering) loopOverflow(r Ref, ran *loopLive) (Warning, bool) {
	t := lo.t
	l := t.Attr(r).Loop
	var data [][]float64
	for _, a := range t.Args(r) {
		data = append(data, t.data(a))
	}
	m, code := l.make(true)
	var ops []Ref
	for y := range m.id {
		if m.has(Ref(y)) && !l.body.known(Ref(y)) && len(l.body.Args(Ref(y))) > 0 && l.body.ins[y].Op() != opLoad && l.body.ins[y].Op() != opChoose {
			ops = append(ops, Ref(y))
		}
	}
	if code.size > 1<<24 {
		return Warning{}, false
	}
	carry, consts, arrays := l.split(data)
	x := code.newRun(carry, consts, arrays, nil)
	defer arena64.give(x.mem)
	for from := 0; from < l.n; from += code.batch {
		if t.check != nil {
			t.check()
		}
		n := min(code.batch, l.n-from)
		x.take(l.columnsOf(data), from, n)
		x.steps(from, n)
		for i := range n {
			if w, found := lo.stepOverflow(m, x, i, ops, ran.live[ran.at[from+i]], ran.folded[ran.foldedAt[from+i]]); found {
				return w, true
			}
		}
		x.carry(n)
	}
	return Warning{}, false
}

// stepOverflow looks at what step i of a batch has computed, as far as it is live and has not been
// folded.
func (lo *lowering) stepOverflow(m *loopMaker, x *loopRun, i int, ops []Ref, live, folded []bool) (Warning, bool) {
	body := m.l.body
	for _, y := range ops {
		if !live[y] || folded[y] {
			continue
		}
		values := m.at(x, y, i)
		k := slices.IndexFunc(values, func(v float64) bool { return v-v != 0 })
		if k < 0 {
			continue
		}
		of := ""
		if args := body.Args(y); len(args) == 1 && body.size(args[0]) == len(values) {
			of = " of " + formatFloat(m.at(x, args[0], i)[k])
		}
		return lo.overflow(&body.ins[y], of, values[k]), true
	}
	return Warning{}, false
}
