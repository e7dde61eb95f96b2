package tape

import (
	"math"
	"math/bits"
	"slices"

	"nabla/tape/tensor"
)

// eliminate sums over the labels of reaches that the seed and the value no longer have.
func (f *factoring) eliminate(x *term, gone []reach) {
	var labels []rune
	for _, p := range gone {
		for _, w := range p.walks {
			used := slices.Contains(labels, w.label)
			x.reaches(func(q *reach) { used = used || q.has(w.label) })
			if !used {
				labels = append(labels, w.label)
			}
		}
	}
	if len(labels) == 0 {
		return
	}
	var those, rest []operand
	for _, o := range x.factors {
		if slices.ContainsFunc(o.labels, func(l rune) bool { return slices.Contains(labels, l) }) {
			those = append(those, o)
		} else {
			rest = append(rest, o)
		}
	}
	for _, l := range labels {
		if !slices.ContainsFunc(those, func(o operand) bool { return slices.Contains(o.labels, l) }) {
			x.num *= float64(x.sizes[l])
		}
	}
	if x.factors = rest; len(those) > 0 {
		f.times(x, f.contracted(x, those, labels))
	}
}

// contracted multiplies factors and sums over labels: as one matrix product of two of
// their products, chosen so that these are small.
func (f *factoring) contracted(x *term, those []operand, labels []rune) operand {
	keep := func(l rune) bool { return !slices.Contains(labels, l) }
	if len(those) == 1 {
		return f.t.sumLabels(those[0], keep)
	}
	sides := x.sides(those, labels)
	order := f.order(x)
	rank := func(os []operand) int {
		return slices.IndexFunc(order, func(l rune) bool { return slices.Contains(union(os), l) })
	}
	if rank(sides[1]) >= 0 && rank(sides[1]) < rank(sides[0]) {
		sides[0], sides[1] = sides[1], sides[0]
	}
	// axes of both, which are few, then those that are summed, then the others as the result has them
	var first []rune
	for _, l := range order {
		if slices.Contains(union(sides[0]), l) && slices.Contains(union(sides[1]), l) {
			first = append(first, l)
		}
	}
	first = slices.Concat(first, labels, order)
	f.bounded(x.count(slices.DeleteFunc(union(those), func(l rune) bool { return !keep(l) })))
	return f.t.contract(f.joint(x, sides[0], first), f.joint(x, sides[1], first), keep)
}

// sides parts factors, two to six of them, in two, whose products are multiplied with a sum over
// labels in the least time.
func (x *term) sides(those []operand, labels []rune) (sides [2][]operand) {
	if len(those) > 6 {
		panic(noForm{})
	}
	var of [6]labelSet
	gone := labelsOf(labels)
	for i, o := range those {
		of[i] = labelsOf(o.labels)
	}
	best, least := 0, math.Inf(1)
	for mask := 1; mask < 1<<len(those)-1; mask += 2 {
		if cost := x.costOfSides(of[:len(those)], gone, mask); cost < least {
			best, least = mask, cost
		}
	}
	for i, o := range those {
		sides[best>>i&1] = append(sides[best>>i&1], o)
	}
	return sides
}

// costOfSides is how long it takes to multiply the factors with bit 1 in mask, and the others, and
// these two products with a sum over the labels that are gone, in floating-point operations.
func (x *term) costOfSides(of []labelSet, gone labelSet, mask int) (cost float64) {
	var side [2]labelSet
	var n [2]int
	for i, set := range of {
		side[mask>>i&1] |= set
		n[mask>>i&1]++
	}
	for i, all := range side {
		if n[i] > 1 {
			cost += 2 * workElement * float64(x.countSet(all))
		}
	}
	cost += 2 * float64(x.countSet(side[0]|side[1]))
	if shared := x.countSet(side[0] & side[1] &^ gone); shared > 1 {
		cost += 5000*float64(shared) + workStructure*float64(x.countSet(side[0])+x.countSet(side[1]))
	}
	return cost
}

// order lists the labels as the matrix has the axes of the seed and of the value.
func (f *factoring) order(x *term) (labels []rune) {
	list := func(p *reach) {
		for _, w := range p.walks {
			if !slices.Contains(labels, w.label) {
				labels = append(labels, w.label)
			}
		}
	}
	for i := range min(f.before, len(x.axes)) {
		list(&x.axes[i])
	}
	x.reaches(list)
	return labels
}

// bounded gives up where a factor would be larger than a few matrices.
func (f *factoring) bounded(n int) {
	if n > f.most {
		panic(noForm{})
	}
}

// union lists the labels of factors.
func union(os []operand) (labels []rune) {
	n := 0
	for _, o := range os {
		n += len(o.labels)
	}
	labels = make([]rune, 0, n)
	for _, o := range os {
		for _, l := range o.labels {
			if !slices.Contains(labels, l) {
				labels = append(labels, l)
			}
		}
	}
	return labels
}

// count is how many values labels take together.
func (x *term) count(labels []rune) int {
	n := 1
	for _, l := range labels {
		n *= x.sizes[l]
	}
	return n
}

// A labelSet has a bit for each label.
type labelSet uint64

// labelsOf is the set of labels; there is no form for more than fit in it.
func labelsOf(labels []rune) (s labelSet) {
	for _, l := range labels {
		if l >= 64 {
			panic(noForm{})
		}
		s |= 1 << l
	}
	return s
}

// countSet is count of a set.
func (x *term) countSet(s labelSet) int {
	n := 1
	for ; s != 0; s &= s - 1 {
		n *= x.sizes[bits.TrailingZeros64(uint64(s))]
	}
	return n
}

// joint is the product of factors as one, with the labels that come first in front.
func (f *factoring) joint(x *term, os []operand, first []rune) operand {
	if len(os) == 1 {
		return os[0]
	}
	var labels []rune
	all := union(os)
	for _, l := range slices.Concat(first, all) {
		if slices.Contains(all, l) && !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	return f.productOf(x, os, labels)
}

// productOf multiplies factors into a tensor with the given labels.
func (f *factoring) productOf(x *term, os []operand, labels []rune) operand {
	f.bounded(x.count(labels))
	t := f.t
	os = slices.Clone(os)
	slices.SortStableFunc(os, func(a, b operand) int { return t.size(a.r) - t.size(b.r) })
	r := None
	for _, o := range os {
		var order []rune
		s := make(tensor.Shape, len(labels))
		for i, l := range labels {
			s[i] = 1
			if slices.Contains(o.labels, l) {
				order, s[i] = append(order, l), x.sizes[l]
			}
		}
		y := f.reshaping(f.arranged(o, order), s)
		if r == None {
			r = y
		} else {
			r = t.Apply(opMul, r, y)
		}
	}
	return operand{r, labels}
}
