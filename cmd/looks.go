package cmd

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"nabla/tape/tensor"
)

// looks says what the difference looks like: the simplest change that makes one array the
// other within the tolerance, or where the elements that differ lie.
func (o *diffOptions) looks(a, b *tensor.Tensor) []string {
	if len(a.Data) != len(b.Data) {
		return o.joined(a, b)
	}
	if len(a.Data) == 0 {
		return nil
	}
	say := o.scaled(a, b)
	if say == "" && len(a.Data) > 1 {
		say = o.rearranged(a, b)
	}
	if say == "" {
		return nil
	}
	return []string{say}
}

// joined says which side is what the elements of the other come to.
func (o *diffOptions) joined(a, b *tensor.Tensor) (all []string) {
	for _, s := range []struct {
		one, many   []float64
		name, whose string
	}{{a.Data, b.Data, "A", "B"}, {b.Data, a.Data, "B", "A"}} {
		switch n := float64(len(s.many)); {
		case len(s.one) != 1 || n < 2:
		case o.nearly(s.one[0], total(s.many)):
			all = append(all, s.name+" is the sum of "+s.whose+"'s elements")
		case o.nearly(s.one[0], total(s.many)/n):
			all = append(all, s.name+" is the mean of "+s.whose+"'s elements")
		}
	}
	return all
}

// scaled says whether b is a rounded, in another shape, transposed, or multiplied by a number.
func (o *diffOptions) scaled(a, b *tensor.Tensor) string {
	plain := func(i int) float64 { return a.Data[i] }
	if a.Shape.Equal(b.Shape) {
		if rounded(a.Data, b.Data) { // to the bit: no tolerance is finer
			return "B is A rounded to float32"
		}
		if c, ok := o.factor(plain, b.Data); ok {
			return "B is " + spoken(c, "A", a)
		}
	} else if o.same(plain, b.Data) {
		return "the same elements in another shape"
	}
	turned, ok := transposed(a, b.Shape)
	if !ok {
		return ""
	}
	if o.same(turned, b.Data) {
		return "B is A transposed"
	}
	if c, ok := o.factor(turned, b.Data); ok {
		return "B is " + spoken(c, "A transposed", a)
	}
	return ""
}

// rearranged says whether b is a with a number added, or in another order, or where they differ.
func (o *diffOptions) rearranged(a, b *tensor.Tensor) string {
	if a.Shape.Equal(b.Shape) {
		d := b.Data[0] - a.Data[0]
		if o.same(func(i int) float64 { return a.Data[i] + d }, b.Data) {
			return fmt.Sprintf("B is A plus %.6g", d)
		}
	}
	x, y := slices.Clone(a.Data), slices.Clone(b.Data)
	slices.Sort(x)
	slices.Sort(y)
	if o.same(func(i int) float64 { return x[i] }, y) {
		return "the same numbers in another order"
	}
	if a.Shape.Equal(b.Shape) {
		return o.where(a, b)
	}
	return ""
}

// same reports whether y is f, element by element.
func (o *diffOptions) same(f func(i int) float64, y []float64) bool {
	for i := range y {
		if !o.nearly(f(i), y[i]) {
			return false
		}
	}
	return true
}

// nearly is near, but never asks for the same bits: a factor was rounded.
func (o *diffOptions) nearly(x, y float64) bool {
	p := *o
	p.RTol = max(p.RTol, 1e-12)
	return p.near(x, y)
}

func total(data []float64) (s float64) {
	for _, x := range data {
		s += x
	}
	return s
}

// rounded reports whether b is a rounded to float32, and not a itself.
func rounded(a, b []float64) bool {
	changed := false
	for i := range a {
		if float64(float32(a[i])) != b[i] && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			return false
		}
		changed = changed || a[i] != b[i]
	}
	return changed
}

// transposed reads a matrix, or the last two axes of an array, the other way round, if that
// has the shape wanted.
func transposed(a *tensor.Tensor, want tensor.Shape) (f func(i int) float64, ok bool) {
	n := len(a.Shape)
	if n < 2 || len(want) != n || want[n-1] != a.Shape[n-2] || want[n-2] != a.Shape[n-1] || !a.Shape[:n-2].Equal(want[:n-2]) {
		return nil, false
	}
	rows, cols := a.Shape[n-2], a.Shape[n-1]
	if rows == 1 || cols == 1 {
		return nil, false
	}
	return func(i int) float64 {
		block, in := i/(rows*cols), i%(rows*cols)
		return a.Data[block*rows*cols+in%rows*cols+in/rows]
	}, true
}

// factor finds c so that b is c times f, element by element; not 1.
func (o *diffOptions) factor(f func(i int) float64, b []float64) (c float64, ok bool) {
	at, biggest := -1, 0.0
	for i := range b {
		if x := math.Abs(f(i)); x > biggest && !math.IsInf(x, 0) {
			at, biggest = i, x
		}
	}
	if at < 0 {
		return 0, false
	}
	c = b[at] / f(at)
	if c == 0 || c == 1 || math.IsNaN(c) || math.IsInf(c, 0) || len(b) == 1 && c != -1 && math.Round(c) != c && math.Round(1/c) != 1/c {
		return 0, false
	}
	for i, y := range b {
		x := c * f(i)
		// what is 0 in one is 0 in the other, whatever the tolerance
		if !o.nearly(x, y) || (x == 0) != (y == 0) && math.Abs(x-y) > 1e-12*math.Abs(c)*biggest {
			return 0, false
		}
	}
	if math.Abs(c-1) <= max(o.RTol, 1e-12) {
		return 0, false
	}
	return c, true
}

// spoken names a factor: -1, 2, 1/12 (the number of elements).
func spoken(c float64, what string, a *tensor.Tensor) string {
	whole := func(x float64) (int, bool) {
		n := math.Round(x)
		return int(n), math.Abs(x-n) < 1e-9*math.Abs(n) && math.Abs(n) >= 1 && math.Abs(n) < 1e9
	}
	size := func(n int) string {
		if n < 0 {
			n = -n
		}
		if n == len(a.Data) && n > 2 {
			return " (the number of elements: a sum against a mean?)"
		}
		for i, d := range a.Shape {
			if d == n && n > 2 {
				return fmt.Sprintf(" (the size of axis %d: a sum against a mean?)", i)
			}
		}
		return ""
	}
	if n, ok := whole(c); ok {
		if n == -1 {
			return "-" + what + ": the sign"
		}
		return strconv.Itoa(n) + " × " + what + size(n)
	}
	if n, ok := whole(1 / c); ok {
		return what + " / " + strconv.Itoa(n) + size(n)
	}
	return fmt.Sprintf("%.9g × %s", c, what)
}

// where says in which part of the array all differences lie, if they lie in one.
func (o *diffOptions) where(a, b *tensor.Tensor) string {
	d := o.differing(a, b)
	if d.count < 2 {
		return ""
	}
	what := "all that differ"
	switch {
	case d.nans:
		what = "all that differ are NaN on one side, and"
	case d.sign:
		what = "all that differ have the other sign, and"
	}
	n := len(a.Shape)
	square := n >= 2 && a.Shape[n-1] == a.Shape[n-2] && a.Shape[n-1] > 1
	switch {
	case square && d.diagonal:
		return what + " lie on the diagonal"
	case square && d.lower:
		return what + " lie below the diagonal"
	case square && d.upper:
		return what + " lie above the diagonal"
	case square && d.off && d.count > 2:
		return what + " lie off the diagonal"
	}
	for k, x := range d.only {
		if x >= 0 && a.Shape[k] > 1 && n > 1 {
			return fmt.Sprintf("%s have index %d on axis %d", what, x, k)
		}
	}
	if d.nans || d.sign {
		return strings.TrimSuffix(what, ", and")
	}
	return ""
}

// A differing is what all elements that differ have in common.
type differing struct {
	count                       int
	only                        []int // the one index along each axis, or -1
	diagonal, off, lower, upper bool  // of the last two axes
	sign, nans                  bool  // the other sign; NaN on one side
}

// differing looks at all that differ.
func (o *diffOptions) differing(a, b *tensor.Tensor) differing {
	n := len(a.Shape)
	matrix := n >= 2
	d := differing{only: make([]int, n), diagonal: matrix, off: matrix, lower: matrix, upper: matrix, sign: true, nans: true}
	for i := range a.Data {
		if o.near(a.Data[i], b.Data[i]) && !(o.Exact && math.Float64bits(a.Data[i]) != math.Float64bits(b.Data[i])) {
			continue
		}
		index := unravel(i, a.Shape)
		for k, x := range index {
			if d.count == 0 {
				d.only[k] = x
			} else if d.only[k] != x {
				d.only[k] = -1
			}
		}
		d.count++
		if matrix {
			r, c := index[n-2], index[n-1]
			d.diagonal, d.off = d.diagonal && r == c, d.off && r != c
			d.lower, d.upper = d.lower && r > c, d.upper && r < c
		}
		d.sign = d.sign && o.nearly(a.Data[i], -b.Data[i])
		d.nans = d.nans && (math.IsNaN(a.Data[i]) || math.IsNaN(b.Data[i]))
	}
	return d
}
