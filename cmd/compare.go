package cmd

import (
	"fmt"
	"math"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A verdict is what a comparison came to.
type verdict string

const (
	ok           verdict = "ok"
	mismatch     verdict = "mismatch"
	kink         verdict = "kink"
	inconclusive verdict = "inconclusive"
)

// A comparison is one number of the tape beside what it should be.
type comparison struct {
	What     string // "value", "d/dx[1]"
	Against  string // referee, claim, expected
	Tape     float64
	Other    float64
	Err      float64 // of the estimate
	Tol      float64
	Verdict  verdict
	Why      string
	Source   string // groups the comparisons of one source
	OneSided [2]float64
}

func (c *comparison) diff() float64 { return math.Abs(c.Tape - c.Other) }

// holds reports whether both numbers are the same, or as near as Tol allows.
func (c *comparison) holds() bool {
	return c.Tape == c.Other || math.IsNaN(c.Tape) && math.IsNaN(c.Other) || c.diff() <= c.Tol
}

// largest is the size of the largest finite number: what a relative tolerance is of. An
// infinity would allow everything.
func largest(numbers ...float64) float64 {
	size := 0.0
	for _, v := range numbers {
		if v = math.Abs(v); v > size && !math.IsInf(v, 0) {
			size = v
		}
	}
	return size
}

// compareValues compares what the tape says with what someone else does, leaf by leaf.
func compareValues(r *checked, c *checkCase, against, what string, tapes, other *tensor.Value) {
	bad := func(why string) {
		r.List = append(r.List, comparison{What: strings.TrimSpace(what), Source: what, Against: against, Verdict: mismatch, Why: why, Tape: math.NaN(), Other: math.NaN()})
	}
	switch {
	case tapes == nil:
		bad("the tape has no such source")
		return
	case tapes.Kind == tensor.KindRecord && other.Kind == tensor.KindRecord:
		for _, f := range other.Fields {
			compareValues(r, c, against, dotted(what, f.Name), tapes.Get(f.Name), f.Value)
		}
		return
	case tapes.Kind == tensor.KindList && other.Kind == tensor.KindList && len(tapes.List) == len(other.List):
		for i := range other.List {
			compareValues(r, c, against, fmt.Sprintf("%s[%d]", what, i), tapes.List[i], other.List[i])
		}
		return
	case tapes.Kind == tensor.KindRecord && len(tapes.Fields) == 1 && other.Kind == tensor.KindTensor:
		compareValues(r, c, against, dotted(what, tapes.Fields[0].Name), tapes.Fields[0].Value, other)
		return
	case tapes.Kind == tensor.KindNone && other.Kind == tensor.KindNone:
		r.List = append(r.List, comparison{What: strings.TrimSpace(what), Source: what, Against: against, Verdict: ok, Why: "none, both"})
		return
	case tapes.Kind == tensor.KindNone && other.Kind == tensor.KindTensor:
		tapes = tensor.Of(&tensor.Tensor{Shape: other.Tensor.Shape, Data: make([]float64, other.Tensor.Size())})
	case tapes.Kind != tensor.KindTensor || other.Kind != tensor.KindTensor:
		bad(fmt.Sprintf("the tape has %s, the %s %s", structureOf(tapes), against, structureOf(other)))
		return
	}
	x, y := tapes.Tensor, other.Tensor
	if !x.Shape.Equal(y.Shape) && y.Size() != 1 {
		bad(fmt.Sprintf("the tape has shape %v, the %s %v", x.Shape, against, y.Shape))
		return
	}
	for i, v := range x.Data {
		w := y.Data[i%len(y.Data)]
		n := comparison{What: strings.TrimSpace(what + subscript(unravel(i, x.Shape))), Source: what, Against: against, Tape: v, Other: w}
		n.Tol = c.atol + c.rtol*largest(v, w)
		n.Verdict = mismatch
		if n.holds() {
			n.Verdict = ok
		}
		r.List = append(r.List, n)
	}
}

// structureOf says what v is made of.
func structureOf(v *tensor.Value) string {
	switch v.Kind {
	case tensor.KindNone:
		return "none"
	case tensor.KindList:
		return fmt.Sprintf("a tuple of %d", len(v.List))
	case tensor.KindRecord:
		names := make([]string, len(v.Fields))
		for i, f := range v.Fields {
			names[i] = f.Name
		}
		return "a record of " + expr.Some(names)
	}
	if len(v.Tensor.Shape) == 0 {
		return "a number"
	}
	return fmt.Sprintf("a tensor of shape %v", v.Tensor.Shape)
}

func dotted(what, name string) string {
	if strings.HasSuffix(what, " ") || what == "" || what == "d/d" {
		return what + name
	}
	return what + "." + name
}

// isSingle reports whether some tensor of v is float32.
func isSingle(v *tensor.Value) (single bool) {
	v.Leaves("", func(_ string, leaf *tensor.Value) {
		single = single || leaf.Kind == tensor.KindTensor && leaf.Tensor.DType == tensor.Float32
	})
	return single
}

// compareTarget compares the values themselves, which have no reason to differ by more
// than rounding: that of float32, if the tape has any.
func compareTarget(r *checked, what string, tapes, other *tensor.Value, noise float64, single bool) {
	var mine, theirs []float64
	var shape tensor.Shape
	gather := func(v *tensor.Value, to *[]float64) {
		v.Leaves("", func(_ string, leaf *tensor.Value) {
			if leaf.Kind == tensor.KindTensor {
				*to = append(*to, leaf.Tensor.Data...)
				shape = leaf.Tensor.Shape
			}
		})
	}
	gather(other, &theirs)
	gather(tapes, &mine)
	if len(mine) != len(theirs) {
		r.List = append(r.List, comparison{What: what, Source: what, Against: "referee", Verdict: mismatch, Tape: math.NaN(), Other: math.NaN(), Why: fmt.Sprintf("the tape has %d numbers, the referee %d", len(mine), len(theirs))})
		return
	}
	scale := largest(theirs...)
	for i, x := range mine {
		y := theirs[i]
		n := comparison{What: what, Source: what, Against: "referee", Tape: x, Other: y, Tol: 1e-12*scale + 64*noise, Verdict: mismatch}
		if tapes.Kind == tensor.KindTensor {
			n.What += subscript(unravel(i, shape))
		}
		if single || isSingle(tapes) {
			n.Tol += 1e-5 * scale
		}
		if n.holds() {
			n.Verdict = ok
		}
		r.List = append(r.List, n)
	}
}
