package tape

import (
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A kinkSite is an instruction of the program whose derivative was taken and may
// stand at a point without one. What was not taken (a cotangent of 0) is no site.
type kinkSite struct {
	r, ct Ref // ct None: unknown, as in forward mode
	kink  int // index into the row's Kinks; -1 for the row's Tie
	hits  Ref // where the condition holds
	count Ref // in how many places
}

// watchKink notes that the derivative of r was asked for.
func (t *Tape) watchKink(r, ct Ref) {
	in := &t.ins[r]
	if !t.kinksOn || in.flags&flagRecorded == 0 || len(t.sites) >= 4096 {
		return
	}
	op := in.Op
	for i := range op.Kinks {
		t.sites = append(t.sites, kinkSite{r: r, ct: ct, kink: i})
	}
	if op.Tie != nil {
		t.sites = append(t.sites, kinkSite{r: r, ct: ct, kink: -1})
	}
}

// recordKinks appends the conditions of the sites; those whose derivative is finite
// must be looked at always, the others only when something is not finite.
func (t *Tape) recordKinks(finiteOnly bool) []Ref {
	t.kinksOn = false
	var out []Ref
	for i := range t.sites {
		s := &t.sites[i]
		op := t.ins[s.r].Op
		if s.count != 0 {
			continue
		}
		if s.kink >= 0 {
			k := op.Kinks[s.kink]
			if finiteOnly != k.Finite {
				continue
			}
			s.hits = compileRule(op, k.When).record(t, s.r)
		} else {
			if !finiteOnly {
				continue
			}
			s.hits = op.Tie(t, s.r)
		}
		if s.ct != None && len(t.Axes(s.ct)) == 0 { // rows of a Jacobian may run apart
			s.hits = t.apply("logical_and", s.hits, t.apply("not_equal", s.ct, t.Const(0)))
		}
		n := t.Apply(opMul, s.hits, t.Const(1))
		if shape := t.Shape(n); len(shape) > 0 {
			n = t.sumTo(n, allAxes(shape), false)
		}
		for _, a := range t.Axes(n) {
			n = t.sumBatch(n, int(a))
		}
		s.count = n
		out = append(out, n)
	}
	return out
}

func allAxes(s tensor.Shape) []int {
	var axes []int
	for i := range s {
		axes = append(axes, i-len(s))
	}
	return axes
}

// kinkWarnings turns the sites that were hit into warnings, one for each place in the
// program and kind of kink.
func (lo *lowering) kinkWarnings() []Warning {
	t := lo.t
	var out []Warning
	seen := map[string]bool{}
	for _, s := range t.sites {
		if s.count == 0 || !t.known(s.count) || !(t.num[s.count] > 0) {
			continue
		}
		op := t.ins[s.r].Op
		say := op.TieSay
		if s.kink >= 0 {
			say = op.Kinks[s.kink].Say
			if t.variant(op) != nil && op.Kinks[s.kink].Finite {
				say = "a convention of " + t.Conventions
			}
		}
		pos := t.ins[s.r].Pos
		name := lo.nameAt(pos, op.Name)
		key := name + lo.placeKey(pos) + say
		if seen[key] {
			continue
		}
		seen[key] = true
		w := Warning{Op: name, Pos: pos}
		t.force(s.hits)
		t.force(t.Args(s.r)[0])
		hits := t.data(s.hits)
		at := 0
		for i, v := range hits {
			if v != 0 {
				at = i
				break
			}
		}
		arg := t.Args(s.r)[0]
		shape := t.Shape(s.hits)
		where := ""
		if n := shape.Size(); n > 0 {
			at %= n
			for i := range shape {
				inner := shape[i+1:].Size()
				w.Index = append(w.Index, at/inner%shape[i])
			}
		}
		if len(w.Index) > 0 {
			parts := make([]string, len(w.Index))
			for i, k := range w.Index {
				parts[i] = itoa(k)
			}
			where = " at element [" + strings.Join(parts, ", ") + "]"
		}
		value := ""
		if s.kink >= 0 {
			data := t.data(arg)
			k := 0
			if t.Shape(arg).Equal(shape) && at < len(data) {
				k = at
			}
			if len(data) > 0 && (len(data) == 1 || k == at) {
				w.Value = data[k]
				value = " of " + formatFloat(data[k])
			}
		}
		w.Msg = name + value + where + ": " + say
		if n := t.num[s.count]; n > 1 {
			w.Msg += " (" + formatFloat(n) + " times)"
		}
		out = append(out, w)
	}
	return out
}

func (lo *lowering) placeKey(p expr.Pos) string { return itoa(int(p)) }

// overflowWarning names the first operation of the program that turns finite numbers
// into something else: where a result is not finite, or a derivative through it is a
// number that means nothing. None where there is nothing, or too much to look at.
func (lo *lowering) overflowWarning(ys []Ref) (Warning, bool) {
	t := lo.t
	top := Ref(-1)
	for _, y := range ys {
		top = max(top, y)
	}
	if top < 0 {
		return Warning{}, false
	}
	live := make([]bool, top+1)
	total := 0
	for _, y := range ys {
		for r, on := range t.liveAll(y) {
			if on && !live[r] {
				live[r] = true
				total += t.size(Ref(r))
			}
		}
	}
	if total > 1<<22 {
		return Warning{}, false
	}
	finite := func(r Ref) (int, bool) {
		t.force(r)
		for i, v := range t.data(r) {
			if v-v != 0 {
				return i, false
			}
		}
		return 0, true
	}
	for r := Ref(0); r <= top; r++ {
		if !live[r] {
			continue
		}
		at, ok := finite(r)
		if ok {
			continue
		}
		in := &t.ins[r]
		v := t.data(r)[at]
		if len(t.Args(r)) == 0 {
			if in.Op == opInput { // the user knows
				return Warning{}, false
			}
			continue // an infinity that the program writes down
		}
		name := lo.nameAt(in.Pos, in.Op.Name)
		w := Warning{Op: name, Pos: in.Pos, Value: v}
		of := ""
		if a := t.Args(r)[0]; len(t.Args(r)) == 1 && t.size(a) == t.size(r) {
			of = " of " + formatFloat(t.data(a)[at])
		}
		w.Msg = name + of + " is " + formatFloat(v) + ": what is computed from it, derivatives too, may mean nothing"
		return w, true
	}
	return Warning{}, false
}
