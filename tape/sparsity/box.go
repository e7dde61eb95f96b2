package sparsity

import (
	"slices"

	"nabla/tape/tensor"
)

// A Box is a band whose walks go along one axis each of a value's shape (-1: they stay
// in their row).
type Box struct {
	At    []int // the first row, as an index
	Col   int
	Walks []BoxWalk
}

// A BoxWalk is N entries, each Step further along Axis and Col columns after the one before.
type BoxWalk struct{ N, Axis, Step, Col int }

// boxes appends the band as boxes of a value of shape s; false when it has no such form,
// as the diagonal of a matrix.
func (b Band) boxes(s tensor.Shape, list []Box) ([]Box, bool) {
	stride := s.Strides()
	lists := make([]int, 3*len(s))
	x := Box{At: lists[:len(s):len(s)], Col: b.Col, Walks: make([]BoxWalk, 0, len(b.Walks))}
	rest := b.Row
	for a, st := range stride {
		x.At[a], rest = rest/st, rest%st
	}
	reach, count := lists[len(s):2*len(s)], lists[2*len(s):] // by axis: the last row, and how many walks go along it
	copy(reach, x.At)
	for _, w := range b.Walks {
		if w.Row == 0 {
			x.Walks = append(x.Walks, BoxWalk{w.N, -1, 0, w.Col})
			continue
		}
		a := 0
		for a < len(s) && (s[a] == 1 || stride[a] > w.Row) {
			a++
		}
		if a == len(s) || w.Row%stride[a] != 0 {
			return list, false
		}
		step := w.Row / stride[a]
		x.Walks = append(x.Walks, BoxWalk{w.N, a, step, w.Col})
		reach[a] += (w.N - 1) * step
		count[a]++
	}
	for i, w := range x.Walks {
		if a := w.Axis; a >= 0 && reach[a] >= s[a] {
			if count[a] > 1 || s[a]%w.Step != 0 {
				return list, false
			}
			return b.foldedBoxes(s, i, x.At[a], w.Step, s[a], list)
		}
	}
	return append(list, x), true
}

// foldedBoxes is boxes where walk i, from at on by step along an axis of size, which step divides,
// goes over its end and on in the next row: what is left of the first row, the rows that are full,
// and what is begun of the last.
func (b Band) foldedBoxes(s tensor.Shape, i, at, step, size int, list []Box) (_ []Box, ok bool) {
	w, per, head := b.Walks[i], size/step, 0
	if at >= step {
		head = min(w.N, (size-at+step-1)/step)
	}
	full, tail := (w.N-head)/per, (w.N-head)%per
	ok = true
	piece := func(from int, walks ...Walk) {
		if ok && walks[0].N > 0 {
			p := Band{b.Row + from*w.Row, b.Col + from*w.Col, slices.Replace(slices.Clone(b.Walks), i, i+1, walks...)}
			list, ok = p.boxes(s, list)
		}
	}
	piece(0, Walk{head, w.Row, w.Col})
	piece(head, Walk{full, per * w.Row, per * w.Col}, Walk{per, w.Row, w.Col})
	piece(head+full*per, Walk{tail, w.Row, w.Col})
	return list, ok
}

// band is the box in a value of shape s.
func (x *Box) band(s tensor.Shape) Band {
	b := Band{Col: x.Col, Walks: make([]Walk, 0, len(x.Walks))}
	stride := s.Strides()
	for a, i := range x.At {
		b.Row += i * stride[a]
	}
	for _, w := range x.Walks {
		row := 0
		if w.Axis >= 0 {
			row = w.Step * stride[w.Axis]
		}
		b.Walks = append(b.Walks, Walk{w.N, row, w.Col})
	}
	return b.normal()
}

// A Fate is what becomes of a box.
type Fate uint8

const (
	Kept Fate = iota
	Gone
	Unclear // there is no box that says it
)

// Through is the pattern of a value of shape to whose elements are those of one of shape
// from, moved as f moves a box; nil when there is no band that says it.
func (p *Pattern) Through(from, to tensor.Shape, f func(x *Box) Fate) *Pattern {
	if p.List != nil {
		return nil
	}
	out := &Pattern{Rows: to.Size(), Cols: p.Cols}
	var list []Box
	ok := true
	for _, b := range p.Bands {
		if list, ok = b.boxes(from, list); !ok || len(list) > 16*MostBands {
			return nil
		}
	}
	for i := range list {
		switch f(&list[i]) {
		case Kept:
			out.Add(list[i].band(to))
		case Unclear:
			return nil
		}
	}
	if len(out.Bands) > MostBands {
		return nil
	}
	return out
}

// Repeated is the pattern after axes of size 1 are repeated to those of a larger shape.
func (p *Pattern) Repeated(from, to tensor.Shape) *Pattern {
	if from.Equal(to) {
		return p
	}
	return p.Through(from, to, func(x *Box) Fate {
		for a := range from {
			if from[a] != to[a] {
				x.Repeat(a, to[a])
			}
		}
		return Kept
	})
}

// Summed is the pattern after sums over axes of shape s, counted from the right (-1 is the last),
// which stay with size 1.
func (p *Pattern) Summed(s tensor.Shape, axes ...int) *Pattern {
	to := slices.Clone(s)
	for _, a := range axes {
		to[len(s)+a] = 1
	}
	return p.Through(s, to, func(x *Box) Fate {
		for _, a := range axes {
			x.Sum(len(s) + a)
		}
		return Kept
	})
}

// Clone is a copy that shares nothing.
func (x *Box) Clone() *Box { return &Box{slices.Clone(x.At), x.Col, slices.Clone(x.Walks)} }

// Slice keeps the elements from, from+step, … of an axis, n at most; they are counted anew.
func (x *Box) Slice(axis, from, n, step int) Fate {
	by := -1
	for i := range x.Walks {
		if x.Walks[i].Axis != axis {
			continue
		}
		if by >= 0 {
			return x.shift(axis, from, n, step)
		}
		by = i
	}
	c := x.At[axis] - from
	if by < 0 {
		if c%step != 0 || c/step < 0 || c/step >= n {
			return Gone
		}
		x.At[axis] = c / step
		return Kept
	}
	w := &x.Walks[by]
	first, skip := 0, 1 // the steps of the walk that hit the slice
	if s := max(step, -step); s > 1 {
		for first < s && (c+first*w.Step)%s != 0 {
			first++
		}
		if first == s {
			return Gone
		}
		skip = s / gcd(s, max(w.Step, -w.Step))
	}
	if first >= w.N {
		return Gone
	}
	at, d := (c+first*w.Step)/step, skip*w.Step/step
	lo, hi := 0, (w.N-1-first)/skip
	if d > 0 {
		lo, hi = max(lo, CeilDiv(-at, d)), min(hi, FloorDiv(n-1-at, d))
	} else {
		lo, hi = max(lo, CeilDiv(at-(n-1), -d)), min(hi, FloorDiv(at, -d))
	}
	if lo > hi {
		return Gone
	}
	x.At[axis] = at + lo*d
	x.Col += (first + lo*skip) * w.Col
	*w = BoxWalk{hi - lo + 1, axis, d, skip * w.Col}
	return Kept
}

// shift is slice for an axis with several walks: all of it is kept, or none.
func (x *Box) shift(axis, from, n, step int) Fate {
	lo, hi := x.At[axis], x.At[axis]
	for _, w := range x.Walks {
		if w.Axis == axis {
			lo, hi = lo+min(0, (w.N-1)*w.Step), hi+max(0, (w.N-1)*w.Step)
		}
	}
	switch {
	case step != 1:
		return Unclear
	case hi < from || lo >= from+n:
		return Gone
	case lo < from || hi >= from+n:
		return Unclear
	}
	x.At[axis] -= from
	return Kept
}

// Stretch puts element i of an axis at from + i·step.
func (x *Box) Stretch(axis, from, step int) {
	x.At[axis] = from + step*x.At[axis]
	for i := range x.Walks {
		if x.Walks[i].Axis == axis {
			x.Walks[i].Step *= step
		}
	}
}

// Sum makes one element of an axis.
func (x *Box) Sum(axis int) {
	x.At[axis] = 0
	for i := range x.Walks {
		if w := &x.Walks[i]; w.Axis == axis {
			w.Axis, w.Step = -1, 0
		}
	}
}

// Repeat makes n elements of the one of an axis.
func (x *Box) Repeat(axis, n int) { x.Walks = append(x.Walks, BoxWalk{n, axis, 1, 0}) }
