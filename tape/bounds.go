package tape

import "math"

// atLeast is a number that no number of r is below, as far as the operations that it is made of
// tell; of what no less can be said, minus infinity. NaN is not less than anything.
func (t *Tape) atLeast(r Ref, deep int) float64 {
	if v, ok := t.constant(r); ok {
		return v
	}
	args, op := t.Args(r), t.ins[r].Op()
	if deep == 0 || len(args) == 0 {
		return math.Inf(-1)
	}
	least := func(i int) float64 { return t.atLeast(args[i], deep-1) }
	if p := op.Exponent; p != 0 && (math.Mod(p, 2) == 0 || p != math.Floor(p) || least(0) >= 0) {
		return 0
	}
	switch op.Name {
	case "sqrt":
		return math.Sqrt(max(least(0), 0))
	case "square", "abs", "exp", "exp2", "sigmoid", "softplus", "hypot", "norm":
		return 0
	case "cosh":
		return 1
	case "add":
		return least(0) + least(1)
	case "multiply":
		if args[0] == args[1] || least(0) >= 0 && least(1) >= 0 {
			return 0
		}
	case "divide":
		if least(0) >= 0 && least(1) >= 0 {
			return 0
		}
	case "power":
		if p, ok := t.constant(args[1]); ok && math.Mod(p, 2) == 0 || least(0) >= 0 {
			return 0
		}
	case "maximum":
		return math.Max(least(0), least(1))
	case "minimum":
		return math.Min(least(0), least(1))
	case "sum", "name", "stop_gradient":
		if v := least(0); v >= 0 {
			return 0
		}
	}
	return math.Inf(-1)
}

// never reports whether a condition on bounds holds nowhere.
func (t *Tape) never(c Ref) bool {
	const deep = 8
	args := t.Args(c)
	least := func(i int) float64 { return t.atLeast(args[i], deep) }
	is := func(i int) float64 {
		if v, ok := t.constant(args[i]); ok {
			return v
		}
		return math.NaN()
	}
	switch t.ins[c].Op().Name {
	case "less":
		return least(0) >= is(1)
	case "equal":
		return least(0) > is(1)
	case "logical_and":
		return t.never(args[0]) || t.never(args[1])
	case "logical_or":
		return t.never(args[0]) && t.never(args[1])
	}
	return false
}
