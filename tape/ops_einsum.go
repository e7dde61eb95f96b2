package tape

import (
	"slices"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// tensordotCall moves the axes it sums over to the end of x and to the front of y: one matrix
// product is left.
func tensordotCall(c *call) value {
	t, x, y := c.t, c.number(0), c.number(1)
	a, b := t.Shape(x), t.Shape(y)
	left, right := c.tensordotAxes(len(a), len(b))
	meet := len(left) == len(right)
	for i := 0; meet && i < len(left); i++ {
		meet = a[left[i]] == b[right[i]]
	}
	if !meet {
		c.fail("shape", "tensordot over axes %v of %v and %v of %v: they do not meet", left, a, right, b)
	}
	free := func(s tensor.Shape, taken []int) (axes []int, shape tensor.Shape) {
		for i, n := range s {
			if !slices.Contains(taken, i) {
				axes, shape = append(axes, i), append(shape, n)
			}
		}
		return axes, shape
	}
	rows, m := free(a, left)
	columns, k := free(b, right)
	n := 1
	for _, i := range left {
		n *= a[i]
	}
	x = t.reshape(t.transpose(x, append(rows, left...)), tensor.Shape{m.Size(), n})
	y = t.reshape(t.transpose(y, append(slices.Clone(right), columns...)), tensor.Shape{n, k.Size()})
	return t.reshape(t.mm(x, y, false, false), append(m, k...))
}

// tensordotAxes are the axes of x and of y that meet: so many of the last and of the first, or
// a pair of axes or of lists of them.
func (c *call) tensordotAxes(m, n int) (left, right []int) {
	if r, one := c.vals[2].(Ref); c.vals[2] == nil || one && c.t.Shape(r).Size() == 1 {
		k := 2
		if one {
			k = c.int(2)
		}
		if k < 0 || k > m || k > n {
			c.fail("shape", "tensordot over %d axes: x has %s, y %s", k, axes(m), axes(n))
		}
		for i := range k {
			left, right = append(left, m-k+i), append(right, i)
		}
		return left, right
	}
	if pair, ok := c.vals[2].(*tuple); ok && len(pair.elems) == 2 {
		left, right = c.intsOf(pair.elems[0], c.where(2)), c.intsOf(pair.elems[1], c.where(2))
	} else if r, ok := c.vals[2].(Ref); ok && len(c.t.Axes(r)) == 0 && len(c.t.Shape(r)) <= 2 && c.t.Shape(r)[0] == 2 {
		all := c.t.read(r)
		for i, v := range all {
			if k := c.whole(v, c.where(2)); i < len(all)/2 {
				left = append(left, k)
			} else {
				right = append(right, k)
			}
		}
	} else {
		c.lo.advise(c.where(2), "shape", "write ([0], [1]) to sum over axis 0 of x and axis 1 of y", "the axes of tensordot are a number, or a pair of lists")
	}
	count := func(list []int, rank int) []int { // from the left
		for i, a := range c.distinct(list, rank, 2) {
			list[i] = a + rank
		}
		return list
	}
	return count(left, m), count(right, n)
}

// An operand of einsum: a value and the letter of each of its axes.
type operand struct {
	r      Ref
	labels []rune
}

// einsumCall contracts operands pairwise, left to right: each pair becomes one batched
// matrix product, labels that no one needs any more are summed first.
func einsumCall(c *call) value {
	t := c.t
	text := strings.ReplaceAll(c.str(0), " ", "")
	in, out, arrow := strings.Cut(text, "->")
	text = expr.Brief(text) // for messages
	ops, size, dots := c.einsumOperands(text, strings.Split(in, ","))
	var want []rune
	if arrow {
		want = labelsIn(out, dots, dots)
	} else {
		want = einsumResult(ops, dots)
	}
	for i, l := range want {
		if _, ok := size[l]; !ok {
			c.advise("shape", "its axes are some of the operands'", "einsum %q: the result names %c, no operand does", text, l)
		}
		if slices.Contains(want[:i], l) {
			c.advise("shape", "name it once; diag(x) puts a vector on a diagonal", "einsum %q: the result names %c twice", text, l)
		}
	}
	c.lo.mark(c.at, c.at.Mark())
	for i := range ops {
		ops[i] = t.repeatedLabels(ops[i])
	}
	needed := func(l rune, from int) bool {
		if slices.Contains(want, l) {
			return true
		}
		for _, o := range ops[from:] {
			if slices.Contains(o.labels, l) {
				return true
			}
		}
		return false
	}
	acc := ops[0]
	for i := 1; i < len(ops); i++ {
		acc = t.contract(acc, ops[i], func(l rune) bool { return needed(l, i+1) })
	}
	acc = t.sumLabels(acc, func(l rune) bool { return slices.Contains(want, l) })
	return t.arrange(acc, want)
}

// einsumOperands are the operands with the labels of their axes, the size of every label,
// and how many axes the widest ellipsis stands for. parts are the subscripts of each, and text
// what messages show of all.
func (c *call) einsumOperands(text string, parts []string) (ops []operand, size map[rune]int, dots int) {
	for _, part := range parts {
		for _, l := range strings.Replace(part, "...", "", 1) {
			if !(l >= 'a' && l <= 'z' || l >= 'A' && l <= 'Z') {
				c.advise("shape", `as in "ij,jk->ik"`, "einsum %q: axes are named by letters, not %q", text, l)
			}
		}
	}
	if len(parts) != len(c.rest) {
		c.fail("shape", "einsum %q names %s, %s", text, expr.Plural(len(parts), "operand"), wereGiven(len(c.rest)))
	}
	unnamed := make([]int, len(parts)) // axes that the ellipsis stands for
	for i, part := range parts {
		r := c.lo.ref(c.rest[i], c.lo.argExpr(c.at, i+1))
		ops = append(ops, operand{r: c.t.asNumber(r)})
		s := c.t.Shape(r)
		named := len(strings.Replace(part, "...", "", 1))
		n := len(s) - named
		if strings.Contains(part, "...") {
			if n < 0 {
				c.fail("shape", "einsum %q: %s needs at least %d axes, operand %d has %d: shape %v", text, expr.Brief(part), named, i+1, len(s), s)
			}
			dots = max(dots, n)
		} else if n != 0 {
			names := expr.Brief(part) + " names " + axes(named)
			if part == "" {
				names = "no letter names an axis"
			}
			c.fail("shape", "einsum %q: %s, operand %d has %d: shape %v", text, names, i+1, len(s), s)
		}
		unnamed[i] = n
	}
	size = map[rune]int{}
	for i, part := range parts {
		s := c.t.Shape(ops[i].r)
		ops[i].labels = labelsIn(part, unnamed[i], dots)
		for k, l := range ops[i].labels {
			old, ok := size[l]
			within := slices.Index(ops[i].labels, l)
			if within < k { // a diagonal, along which no axis of 1 is spread
				old = s[within]
			}
			if ok && old != s[k] && (within < k || old != 1 && s[k] != 1) {
				c.fail("shape", "einsum %q: axis %c is %d and %d", text, l, old, s[k])
			}
			size[l] = max(size[l], s[k])
			if s[k] == 0 {
				size[l] = 0
			}
		}
	}
	return ops, size, dots
}

// labelsIn are the labels that subscripts name. The n axes of an ellipsis are labelled by
// digits, aligned at the right with those of the widest, which has dots.
func labelsIn(subscripts string, n, dots int) []rune {
	before, after, ellipsis := strings.Cut(subscripts, "...")
	l := []rune(before)
	if ellipsis {
		for i := dots - n; i < dots; i++ {
			l = append(l, rune('0'+i))
		}
	}
	return append(l, []rune(after)...)
}

// einsumResult are the labels of a result that is not written: those of the ellipsis, then
// the letters that stand once, in order.
func einsumResult(ops []operand, dots int) []rune {
	count := map[rune]int{}
	for _, o := range ops {
		for _, l := range o.labels {
			count[l]++
		}
	}
	var once []rune
	for l, n := range count {
		if n == 1 && !(l >= '0' && l <= '9') {
			once = append(once, l)
		}
	}
	slices.Sort(once)
	return append(labelsIn("...", dots, dots), once...)
}

// repeatedLabels takes the diagonal where an operand names an axis twice.
func (t *Tape) repeatedLabels(o operand) operand {
	for i := 0; i < len(o.labels); i++ {
		j := slices.Index(o.labels[i+1:], o.labels[i])
		if j < 0 {
			continue
		}
		j += i + 1
		s := t.Shape(o.r)
		var perm []int
		var labels []rune
		for k := range s {
			if k != i && k != j {
				perm, labels = append(perm, k), append(labels, o.labels[k])
			}
		}
		x := t.transpose(o.r, append(perm, i, j))
		n := s[i]
		flat := append(slices.Clone(t.Shape(x)[:len(perm)]), n*n)
		idx := make([]float64, n)
		for k := range idx {
			idx[k] = float64(k*n + k)
		}
		x = t.take(t.reshape(x, flat), t.Tensor(tensor.From(idx, n)), len(perm))
		return t.repeatedLabels(operand{x, append(labels, o.labels[i])})
	}
	return o
}

// contract joins two operands. Labels of one operand alone that nobody needs are summed
// first; then shared needed labels are batch axes, shared others are the inner axis.
func (t *Tape) contract(x, y operand, needed func(rune) bool) operand {
	x = t.sumLabels(x, func(l rune) bool { return needed(l) || slices.Contains(y.labels, l) })
	y = t.sumLabels(y, func(l rune) bool { return needed(l) || slices.Contains(x.labels, l) })
	batch, inner, left, right := roles(x.labels, y.labels, needed)
	// a side that lies the other way round is used transposed
	a, ta := x.r, slices.Equal(x.labels, slices.Concat(batch, inner, left))
	if !ta {
		a = t.arrange(x, batch, left, inner)
	}
	b, tb := y.r, slices.Equal(y.labels, slices.Concat(batch, right, inner))
	if !tb {
		b = t.arrange(y, batch, inner, right)
	}
	as, bs := t.Shape(a), t.Shape(b)
	nb := len(batch)
	outer := func(s tensor.Shape, first bool, n int) (these, others tensor.Shape) {
		if first {
			return s[nb : nb+n], s[nb+n:]
		}
		return s[len(s)-n:], s[nb : len(s)-n]
	}
	// axes of size 1 stretch: give both sides the joint sizes of shared labels
	bat, _ := broadcast(as[:nb], bs[:nb])
	ls, ia := outer(as, !ta, len(left))
	rs, ib := outer(bs, tb, len(right))
	in, _ := broadcast(ia, ib)
	matrix := func(r Ref, rows, cols tensor.Shape) Ref {
		return t.reshape(t.broadcastTo(r, slices.Concat(bat, rows, cols)), slices.Concat(bat, tensor.Shape{rows.Size(), cols.Size()}))
	}
	labels := slices.Concat(batch, left, right)
	shape := slices.Concat(bat, ls, rs)
	if len(inner) == 0 {
		ones := func(s tensor.Shape) tensor.Shape { return slices.Repeat(tensor.Shape{1}, len(s)) }
		return operand{t.Apply(opMul, t.reshape(t.broadcastTo(a, slices.Concat(bat, ls)), slices.Concat(bat, ls, ones(rs))),
			t.reshape(t.broadcastTo(b, slices.Concat(bat, rs)), slices.Concat(bat, ones(ls), rs))), labels}
	}
	if ta {
		a = matrix(a, in, ls)
	} else {
		a = matrix(a, ls, in)
	}
	if tb {
		b = matrix(b, rs, in)
	} else {
		b = matrix(b, in, rs)
	}
	return operand{t.reshape(t.mm(a, b, ta, tb), shape), labels}
}

// roles parts the labels of two operands: those of both that are needed, those of both that are
// not, and those of one alone.
func roles(x, y []rune, needed func(rune) bool) (batch, inner, left, right []rune) {
	for _, l := range x {
		switch shared := slices.Contains(y, l); {
		case shared && needed(l):
			batch = append(batch, l)
		case shared:
			inner = append(inner, l)
		default:
			left = append(left, l)
		}
	}
	for _, l := range y {
		if !slices.Contains(x, l) {
			right = append(right, l)
		}
	}
	return batch, inner, left, right
}

// sumLabels sums an operand over the labels that are not kept.
func (t *Tape) sumLabels(o operand, keep func(rune) bool) operand {
	var axes []int
	var labels []rune
	for i, l := range o.labels {
		if keep(l) {
			labels = append(labels, l)
		} else {
			axes = append(axes, i-len(o.labels))
		}
	}
	if len(axes) == 0 {
		return o
	}
	return operand{t.sumTo(o.r, axes, false), labels}
}

// arrange transposes an operand to the given order of labels.
func (t *Tape) arrange(o operand, groups ...[]rune) Ref {
	var perm []int
	for _, g := range groups {
		for _, l := range g {
			perm = append(perm, slices.Index(o.labels, l))
		}
	}
	return t.transpose(o.r, perm)
}
