package referee

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"nabla/tape/tensor"
)

// exactOps move numbers or choose among them: they round nothing.
var exactOps = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"neg": true, "pos": true, "abs": true, "fabs": true, "absolute": true, "sign": true, "floor": true, "ceil": true, "trunc": true,
		"fix": true, "rint": true, "round": true, "relu": true, "relu6": true, "hardtanh": true, "hard_tanh": true, "maximum": true,
		"minimum": true, "max": true, "min": true, "fmax": true, "fmin": true, "clip": true, "clamp": true, "clip_by_value": true,
		"where": true, "copysign": true, "cummax": true, "cummin": true, "sort": true, "median": true, "mod": true, "remainder": true,
		"fmod": true, "floor_divide": true, "floordiv": true, "heaviside": true, "call": true, "named": true, "nullary": true,
		"list": true, "tuple": true, "record": true, "field": true, "slice": true, "index": true, "vmap": true, "scan": true, "map": true,
	}
})

// shaken runs an operation and rounds its result at random. Where the result is
// that of an algorithm on matrices its arguments are shaken too: no algorithm
// does better than the exact answer to a neighbouring question.
func (c *call) shaken(rng *rand.Rand) any {
	name := canonical(c.name)
	if c.rounds32(name) {
		return shakeBy(c.do(), rng, 0x1p-24, nil)
	}
	if exactOps()[name] || shapeOps()[name] != nil {
		return c.do()
	}
	if linalgOps()[name] != nil || nnOps()[name] != nil && scalarOp(name, 1) == nil {
		for i, a := range c.pos {
			c.pos[i] = shake(a, rng, nil)
		}
	}
	var exact func(i int) bool
	if len(c.pos) == 2 {
		exact = roundsNothing(name, c.pos[0], c.pos[1])
	}
	return shake(c.do(), rng, exact)
}

// rounds32 reports whether this is a cast to float32.
func (c *call) rounds32(name string) bool {
	return name == "float32" || (name == "cast" || name == "astype") && slices.ContainsFunc(append(slices.Collect(maps.Values(c.kw)), c.pos...), func(v any) bool { return dtypeName(v) == "float32" })
}

// shake moves every number by up to a unit in its last place.
func shake(v any, rng *rand.Rand, exact func(i int) bool) any {
	return shakeBy(v, rng, 0x1p-52, exact)
}

// shakeBy moves every number by up to so much of itself.
func shakeBy(v any, rng *rand.Rand, unit float64, exact func(i int) bool) any {
	move := func(x float64, i int) float64 {
		if exact != nil && exact(i) {
			return x
		}
		u := rng.Float64() - 0.5 // at least half, which does not round back
		return x + x*unit*(u+math.Copysign(0.5, u))
	}
	switch v := v.(type) {
	case float64:
		return move(v, 0)
	case *tensor.Tensor:
		if !v.DType.IsFloat() {
			return v
		}
		out := tensor.New(v.Shape...)
		for i, x := range v.Data {
			out.Data[i] = move(x, i)
		}
		return out
	}
	return v
}

// roundsNothing tells at which elements x op y is a float64 itself: 1 - x is close to 1.
func roundsNothing(name string, x, y any) func(i int) bool {
	var residue func(a, b float64) float64
	switch name {
	case "add", "sub":
		residue = func(a, b float64) float64 {
			if name == "sub" {
				b = -b
			}
			s := a + b
			bb := s - a
			return (a - (s - bb)) + (b - bb)
		}
	case "mul":
		residue = func(a, b float64) float64 { return math.FMA(a, b, -a*b) }
	case "div":
		residue = func(a, b float64) float64 { return math.FMA(-a/b, b, a) }
	case "pow":
		residue = func(a, b float64) float64 {
			switch b {
			case 0, 1:
				return 0
			case 2:
				return math.FMA(a, a, -a*a)
			}
			return 1
		}
	default:
		return nil
	}
	if shapeOf(x) == nil || shapeOf(y) == nil {
		return nil
	}
	r := map2(toTensor(x), toTensor(y), residue)
	return func(i int) bool { return i < len(r.Data) && r.Data[i] == 0 }
}
