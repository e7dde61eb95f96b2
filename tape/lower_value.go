package tape

import (
	"fmt"

	"nabla/expr"
)

// A value is what an expression stands for while it is lowered: a Ref, or
// *tuple, *record, callable, string, *none.
type value any

// A tuple is a structure whose parts have places.
type tuple struct {
	elems []value
	extent
}

// A record is a structure whose parts have names.
type record struct {
	names []string
	elems []value
	extent
}

// A program doubles a structure in a word, x = (x, x), and wraps it in another; all that
// walks over structures does so leaf by leaf, and calls itself.
const (
	mostLeaves  = 1 << 22
	mostSources = 1 << 18 // each has a name, and an adjoint
	mostDepth   = 10_000
)

// An extent is how many leaves a structure has, and how many structures stand in each
// other; 0 is not counted yet.
type extent struct{ leaves, depth int }

// extentOf counts the leaves of a value, up to about mostLeaves, and its depth. What has
// been counted is not walked over again.
func extentOf(v value) extent {
	var elems []value
	var known *extent
	switch v := v.(type) {
	case *tuple:
		elems, known = v.elems, &v.extent
	case *record:
		elems, known = v.elems, &v.extent
	default:
		return extent{leaves: 1}
	}
	if known.depth == 0 {
		for _, x := range elems {
			e := extentOf(x)
			known.leaves = min(known.leaves+e.leaves, mostLeaves+1)
			known.depth = max(known.depth, e.depth)
		}
		known.depth++
	}
	return *known
}

// structure is v, which the program has put together at e.
func (lo *lowering) structure(v value, e expr.Expr) value {
	switch x := extentOf(v); {
	case x.depth > mostDepth:
		lo.fail(e, "type", "structures nest deeper than %d", mostDepth)
	case x.leaves > mostLeaves:
		lo.fail(e, "type", "a structure of more than %d values", mostLeaves)
	}
	return v
}

// none is a gradient that does not exist, with the reason.
type none struct {
	why string
	of  *source // a source that the target only is not connected to
}

// describe says what a value is.
func describe(v value) string {
	switch v := v.(type) {
	case Ref:
		return "a tensor"
	case *tuple:
		return fmt.Sprintf("a tuple of %d", len(v.elems))
	case *record:
		if len(v.names) == 0 {
			return "an empty record (an object without fields)"
		}
		return "a record (an object with the fields " + expr.Some(v.names) + ")"
	case string:
		return "a string"
	case *none:
		if v.why == "" {
			return "none"
		}
		return "none (" + v.why + ")"
	case nil:
		return "nothing"
	}
	return "a function"
}

// eachLeaf visits the leaves of a value in order.
func eachLeaf(v value, visit func(value)) {
	var elems []value
	switch v := v.(type) {
	case *tuple:
		elems = v.elems
	case *record:
		elems = v.elems
	default:
		visit(v)
	}
	for _, e := range elems {
		eachLeaf(e, visit)
	}
}

// valuesOf lists the leaves of a value in order.
func valuesOf(v value) (list []value) {
	eachLeaf(v, func(x value) { list = append(list, x) })
	return list
}

// partsOf takes a tuple or a record apart; names are those of the fields.
func partsOf(v value) (names []string, parts []value) {
	switch v := v.(type) {
	case *tuple:
		return nil, v.elems
	case *record:
		return v.names, v.elems
	}
	return nil, nil
}

// refsOf lists the leaves of a value that are tensors.
func refsOf(v value) (rs []Ref) {
	eachLeaf(v, func(v value) {
		if r, ok := v.(Ref); ok {
			rs = append(rs, r)
		}
	})
	return rs
}

// mapLeaves replaces every leaf of a structure.
func mapLeaves(v value, f func(value) value) value {
	switch v := v.(type) {
	case *tuple:
		out := &tuple{elems: make([]value, 0, len(v.elems))}
		for _, e := range v.elems {
			out.elems = append(out.elems, mapLeaves(e, f))
		}
		return out
	case *record:
		out := &record{names: v.names, elems: make([]value, 0, len(v.elems))}
		for _, e := range v.elems {
			out.elems = append(out.elems, mapLeaves(e, f))
		}
		return out
	}
	return f(v)
}

// within is a value with tensors of this tape alone: in a loop's body, those of the program around
// it get their place there.
func within(v value) value { return mapRefs(v, func(r Ref) Ref { return r }) }

// mapRefs replaces every tensor of a structure, in a loop's body those of the program around it, too.
func mapRefs(v value, f func(Ref) Ref) value {
	return mapLeaves(v, func(x value) value {
		switch x := x.(type) {
		case Ref:
			return f(x)
		case *outerArray:
			return f(x.lo.whole(x.r))
		}
		return x
	})
}
