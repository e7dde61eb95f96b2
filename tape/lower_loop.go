package tape

import (
	"math"

	"nabla/expr"
	"nabla/tape/tensor"
)

// endless reports a loop whose condition, which holds, reads nothing that its body binds.
// Functions of the program and random numbers may read more than they say.
func (lo *lowering) endless(s *expr.While) bool {
	changes := false
	read := map[string]bool{}
	expr.Walk(s.Cond, func(n any) bool {
		switch n := n.(type) {
		case *expr.Name:
			read[n.Name] = true
		case *expr.Call:
			f, _ := n.Fun.(*expr.Name)
			if f == nil || lo.scope.find(f.Name) != nil {
				changes = true
			} else if op, ok := Lookup(f.Name); !ok || op.Group() == "random numbers" || op.Name == "dropout" {
				changes = true
			}
		}
		return true
	})
	expr.Walk(s.Body, func(n any) bool {
		switch n := n.(type) {
		case *expr.Bind:
			for _, t := range n.Targets {
				changes = changes || read[t.Name]
			}
		case *expr.For:
			for _, t := range n.Names {
				changes = changes || read[t.Name]
			}
		}
		return true
	})
	return !changes
}

// forLoop runs the body for every number of a range, row of a tensor or part of a structure.
func (lo *lowering) forLoop(s *expr.For) {
	if c, ok := s.In.(*expr.Call); ok {
		if n, ok := c.Fun.(*expr.Name); ok && n.Name == "range" && lo.scope.find("range") == nil {
			lo.forRange(s, c)
			return
		}
	}
	v := lo.eval(s.In)
	if r, ok := v.(Ref); ok {
		lo.forRows(s, r)
		return
	}
	for _, e := range lo.elements(v, s.In) {
		lo.forStep(s, e)
	}
}

// forRange is forLoop over a call of range.
func (lo *lowering) forRange(s *expr.For, c *expr.Call) {
	from, step, n := lo.rangeOf(c)
	lo.mark(c, c.Mark())
	index := func(i int) value { return lo.t.constOf(from+step*float64(i), tensor.Int64) }
	lo.forSteps(s, n, index, func(ro *rolling) value {
		ro.l.from, ro.l.by = from, step
		return ro.indexSlot()
	})
}

// forRows is forLoop over the leading axis of a tensor.
func (lo *lowering) forRows(s *expr.For, r Ref) {
	shape := lo.t.Shape(r)
	if len(shape) == 0 {
		lo.advise(s.In, "type", "range("+expr.Brief(expr.Sprint(s.In))+") counts from 0", "cannot walk over a scalar: for walks the leading axis of a tensor")
	}
	row := func(i int) value {
		lo.mark(s.In, s.Where().Start)
		return lo.t.pick(r, i)
	}
	lo.forSteps(s, shape[0], row, func(ro *rolling) value { return (&outerArray{ro, r}).load(ro.indexSlot()) })
}

// forSteps runs n steps, in which the loop's variable is what at says; in one that is recorded for
// all, what slot makes.
func (lo *lowering) forSteps(s *expr.For, n int, at func(i int) value, slot func(ro *rolling) value) {
	lo.t.runSteps(n, func(i int) { lo.forStep(s, at(i)) }, func(first int) rollResult {
		r := lo.roll(s, first, n, slot)
		if r == rollDone {
			lo.rebind(func() { lo.forBind(s, at(n-1)) })
		}
		return r
	})
}

// forStep runs the body with v for the loop's variable.
func (lo *lowering) forStep(s *expr.For, v value) {
	lo.tick()
	lo.forBind(s, v)
	lo.step(func() { lo.block(s.Body.Stmts) })
}

// forBind gives the loop's variables their values.
func (lo *lowering) forBind(s *expr.For, v value) {
	if len(s.Names) == 1 {
		lo.set(s.Names[0].Name, v)
		return
	}
	parts := lo.elements(v, s.In)
	if len(parts) != len(s.Names) {
		lo.fail(s.In, "type", "%d names for %d values", len(s.Names), len(parts))
	}
	for i, n := range s.Names {
		lo.set(n.Name, parts[i])
	}
}

// rangeOf reads range(to), range(from, to) or range(from, to, step): the first value,
// the step and how many there are.
func (lo *lowering) rangeOf(c *expr.Call) (from, step float64, n int) {
	var v []float64
	for _, a := range c.Args {
		v = append(v, lo.number(lo.eval(a.Value), a.Value))
	}
	step = 1
	var to float64
	switch len(v) {
	case 1:
		to = v[0]
	case 2:
		from, to = v[0], v[1]
	case 3:
		from, to, step = v[0], v[1], v[2]
	default:
		lo.fail(c, "type", "range takes 1 to 3 arguments, %d were given", len(v))
	}
	if step == 0 {
		lo.fail(c, "type", "range needs a step other than 0")
	}
	for i, a := range c.Args { // range(0, 1, 0.1) would hold fractions and call them int64
		if x := v[i]; x != math.Trunc(x) && (i != 1 && len(v) > 1) {
			lo.advise(a.Value, "type", "write a"+expr.Sprint(c)+" for fractions", "range counts in whole numbers, not %s", formatFloat(x))
		}
	}
	count := math.Ceil((to - from) / step)
	switch {
	case count != count || math.IsInf(count, 0):
		lo.fail(c, "type", "range(%s, %s, %s) has no end", formatFloat(from), formatFloat(to), formatFloat(step))
	case count > 1<<53:
		lo.fail(c, "type", "range(%s, %s, %s) has more than 2^53 steps", formatFloat(from), formatFloat(to), formatFloat(step))
	}
	return from, step, int(min(max(count, 0), math.MaxInt))
}

// elements takes a tuple, a record or the leading axis of a tensor apart.
func (lo *lowering) elements(v value, e expr.Expr) []value {
	switch v := v.(type) {
	case *tuple:
		return v.elems
	case *record:
		return v.elems
	}
	if s, _ := lo.shapeOf(v); len(s) > 0 {
		var out []value
		for i := range s[0] {
			out = append(out, lo.row(v, i))
		}
		return out
	}
	what := describe(v)
	if _, ok := v.(Ref); ok {
		what = "a scalar"
	}
	lo.advise(e, "type", "several values are written (a, b), or [a, b]", "cannot unpack %s", what)
	return nil
}

// shapeOf is the shape of a tensor, in a loop's body also of one of the program around it, which need
// not come into the body for that; false for what is none.
func (lo *lowering) shapeOf(v value) (tensor.Shape, bool) {
	switch v := v.(type) {
	case Ref:
		return lo.t.Shape(v), true
	case *outerArray:
		return v.lo.outer.t.Shape(v.r), true
	}
	return nil, false
}

// row is row i of such a tensor.
func (lo *lowering) row(v value, i int) Ref {
	if a, ok := v.(*outerArray); ok {
		return a.load(lo.t.constOf(float64(i), tensor.Int64))
	}
	return lo.t.pick(v.(Ref), i)
}
