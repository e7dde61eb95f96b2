package referee

import (
	"slices"
	"strings"

	"nabla/tape/tensor"
)

// einsum sums the product of its operands over every letter that the result does not keep.
func einsum(spec string, ts []*tensor.Tensor) *tensor.Tensor {
	terms, right := einsumTerms(strings.ReplaceAll(spec, " ", ""), ts)
	size, letters := einsumSizes(spec, terms, ts)
	var shape tensor.Shape
	order := []byte(right)
	for _, ch := range order {
		if !slices.Contains(letters, ch) {
			fail("axis %q of the result is in no operand", string(ch))
		}
		shape = append(shape, size[ch])
	}
	full := append(tensor.Shape{}, shape...)
	for _, ch := range letters {
		if !strings.ContainsRune(right, rune(ch)) {
			order = append(order, ch)
			full = append(full, size[ch])
		}
	}
	where := map[byte]int{}
	for i, ch := range order {
		where[ch] = i
	}
	out := blank(tensor.Float64, shape)
	sums := make([][]float64, len(out.Data))
	walk(full, func(_ int, pos []int) {
		p := 1.0
		for i, t := range ts {
			at := make([]int, len(terms[i]))
			for k := range at {
				at[k] = pos[where[terms[i][k]]]
			}
			p *= t.Data[offset(t, at)]
		}
		o := offset(out, pos[:len(shape)])
		sums[o] = append(sums[o], p)
	})
	for i, s := range sums {
		out.Data[i] = plainSum(s)
	}
	return out
}

// einsumTerms are the letters of each operand and of the result, which may be left to be found: then
// those that stand once, in the order of the alphabet. The axes under an ellipsis get letters of their
// own, counted from the right.
func einsumTerms(spec string, ts []*tensor.Tensor) (terms []string, right string) {
	left, right, explicit := strings.Cut(spec, "->")
	terms = strings.Split(left, ",")
	if len(terms) != len(ts) {
		fail("%d operands for %q", len(ts), spec)
	}
	under := func(i int) int { return len(ts[i].Shape) - (len(terms[i]) - len("...")) }
	dots := 0
	for i, term := range terms {
		if strings.Contains(term, "...") {
			dots = max(dots, under(i))
		}
	}
	letters := func(n int) string {
		var b strings.Builder
		for k := dots - n; k < dots; k++ {
			b.WriteByte(byte('0' + k))
		}
		return b.String()
	}
	for i, term := range terms {
		if strings.Contains(term, "...") {
			terms[i] = strings.Replace(term, "...", letters(under(i)), 1)
		}
	}
	if explicit {
		return terms, strings.Replace(right, "...", letters(dots), 1)
	}
	all := strings.Join(terms, "")
	right = letters(dots)
	for ch := 'A'; ch <= 'z'; ch++ {
		if strings.Count(all, string(ch)) == 1 {
			right += string(ch)
		}
	}
	return terms, right
}

// einsumSizes are the sizes of all letters, and these in the order in which they first stand.
func einsumSizes(spec string, terms []string, ts []*tensor.Tensor) (size map[byte]int, letters []byte) {
	size = map[byte]int{}
	for i, term := range terms {
		if len(term) != len(ts[i].Shape) {
			fail("%q for an operand of shape %v", term, ts[i].Shape)
		}
		for k := range term {
			ch, d := term[k], ts[i].Shape[k]
			old, seen := size[ch]
			if !seen {
				letters = append(letters, ch)
			}
			if !seen || old == 1 {
				size[ch] = d
			} else if d != old && d != 1 {
				fail("axis %q is %d and %d in %q", string(ch), old, d, spec)
			}
		}
	}
	return size, letters
}
