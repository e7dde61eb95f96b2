package tape

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// A placing says where the numbers of a term belong in a matrix.
type placing struct {
	num     float64
	base    int
	factors int
	paces   []pace // the longest steps first
	checked bool   // for cancellation
}

// A pace is a label that steps through the matrix and through each factor.
type pace struct {
	n, to     int
	column    int // steps to the right, in a symmetric matrix
	from      [mostSpread]int
	past      int // how far those after it reach,
	pastRight int // and to the right
}

// mostSpread bounds the factors that are multiplied on the way into the matrix.
const mostSpread = 3

var opTerms, opMeet *Op

var deltaRows = []Op{
	{As: &opTerms, Name: "terms", Switches: [2]string{"symmetric"}, Args: "*factors", Hidden: true, Doc: "a matrix as a sum of products, each where it belongs", Stops: "a matrix of derivatives", Run: runFinite},
	{As: &opMeet, Name: "meet", Args: "x, y", Hidden: true, Doc: "the sum of two factors, NaN where they cancel", Stops: "a matrix of derivatives", Run: runMeet},
}

// spread records the matrix.
func (f *factoring) spread(out rowOut, xs []*term) Ref {
	t := f.t
	s := t.Shape(out.r)
	symmetric := t.mirrors[out.r].of == out.r // what is below the diagonal mirrors what is above
	at := out.at
	if at == nil || symmetric {
		at = append(slices.Clone(out.lead), out.rest...).Strides()
	}
	step := 1 // from one element of the seed to the next
	if n := len(out.lead); n > 0 {
		step = at[n-1]
		for i := range n - 1 {
			if out.lead[i] > 1 && at[i] != at[i+1]*out.lead[i+1] {
				panic(noForm{})
			}
		}
	}
	axes := at[len(out.lead):]
	if len(xs) == 1 && !symmetric && !f.met { // what met may cancel, and is compared with what does not as such a form
		if m := f.dense(xs[0], s, axes, step); m != None {
			return m
		}
	}
	var args []Ref
	var places []placing
	var areas [][2][2]int // rows and columns of the places
	for _, x := range xs {
		first, last := x.reach(axes)
		rows, columns := [2]int{x.seed.base, x.last(x.seed)}, [2]int{first, last}
		if symmetric && rows[0] > columns[1] {
			continue // below the diagonal
		}
		for len(x.factors) > mostSpread { // the two that make the smallest product
			f.join(x)
		}
		p := x.placed(axes, step, symmetric)
		for k := range x.factors {
			o := x.factors[k]
			if !symmetric && 4*t.size(o.r) <= s.Size() { // products for the upper half stay what they are (halve)
				o = f.along(o, p.paces)
			}
			for i, st := range t.Shape(o.r).Strides() {
				p.paces[o.labels[i]].from[k] = st
			}
			args = append(args, o.r)
		}
		p.join()
		places = append(places, p)
		areas = append(areas, [2][2]int{rows, columns})
	}
	check(places, areas)
	return t.recordAs(opTerms, s, tensor.Float64, Attr{Places: places, Flag: symmetric}, args...)
}

// dense is a matrix that is one term without zeros: the product of its factors, or that repeated. None elsewhere.
func (f *factoring) dense(x *term, s tensor.Shape, axes []int, step int) Ref {
	p := x.placed(axes, step, false)
	labels := make([]rune, len(p.paces))
	for i := range labels {
		labels[i] = rune(i)
	}
	slices.SortFunc(labels, func(a, b rune) int { return p.paces[b].to - p.paces[a].to })
	size, dims, has := 1, make(tensor.Shape, len(labels)), union(x.factors)
	for i, l := range slices.Backward(labels) {
		if p.paces[l].to != size {
			return None
		}
		dims[i] = p.paces[l].n
		size *= dims[i]
	}
	repeated := len(has) < len(labels)
	if size != s.Size() || p.base != 0 || len(x.factors) == 0 || len(x.factors) == 1 && !repeated {
		return None
	}
	t := f.t
	r := f.productOf(x, x.factors, labels).r
	if x.num != 1 {
		r = t.Apply(opMul, t.Const(x.num), r)
	}
	if repeated {
		r = t.broadcastTo(r, dims)
	}
	return f.reshaping(r, s)
}

// along is a factor with its axes in the order of the matrix, where its last one is another: lines of the matrix are then
// lines of it. Of many small matrices the lines have a number of each.
func (f *factoring) along(o operand, paces []pace) operand {
	n := len(o.labels)
	if n < 2 {
		return o
	}
	labels := slices.Clone(o.labels)
	slices.SortStableFunc(labels, func(a, b rune) int { return paces[b].to - paces[a].to })
	if paces[labels[0]].ofMany() && paces[labels[0]].to == slices.MaxFunc(paces, func(p, q pace) int { return p.to - q.to }).to {
		labels = append(labels[1:], labels[0])
		return operand{f.arranged(o, labels), labels}
	}
	if labels[n-1] == o.labels[n-1] || paces[labels[n-1]].to != 1 {
		return o
	}
	return operand{f.arranged(o, labels), labels}
}

// halve has matrix products computed above their diagonals alone that the symmetric matrix
// of terms z, recorded from first on, takes no more of.
func (t *Tape) halve(z, first Ref, width int) {
	args := t.Args(z)
	for i, p := range t.Attr(z).Places {
		for k, r := range args[:p.factors] {
			t.halveFactor(first, r, &t.Attr(z).Places[i], k, width)
		}
		args = args[p.factors:]
	}
}

// halveFactor does so with factor k, r, of a term, where rows and columns of the product are
// those of the matrix, from the diagonal on, and nothing else reads it.
func (t *Tape) halveFactor(first, r Ref, p *placing, k, width int) {
	m, shapes := r, []Ref{r}
	for t.ins[m].Op() == opReshape {
		m = t.Args(m)[0]
		shapes = append(shapes, m)
	}
	s := t.Shape(m)
	if t.ins[m].Op() != opMatmul || m < first || len(s) != 2 || s[0] != s[1] || p.base/width != p.base%width {
		return
	}
	for _, d := range p.paces {
		column := d.to == d.column && d.from[k] == d.to
		row := d.column == 0 && d.to%width == 0 && d.from[k] == d.to/width*s[1]
		if !column && !row {
			return
		}
	}
	readers := 0
	for x := m + 1; int(x) < len(t.ins); x++ {
		for _, a := range t.Args(x) {
			if slices.Contains(shapes, a) {
				readers++
			}
		}
	}
	if readers == len(shapes) { // one of each shape, and the term
		t.Attr(m).Upper = true
	}
}

// check marks the places that are looked at for cancellation: of those that share an area
// all but the largest, which cancels only against the others.
func check(places []placing, areas [][2][2]int) {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return places[j].size() - places[i].size() })
	meet := func(a, b [2]int) bool { return a[0] <= b[1] && b[0] <= a[1] }
	for k, i := range order {
		places[i].checked = slices.ContainsFunc(order[:k], func(j int) bool {
			return !places[j].checked && meet(areas[i][0], areas[j][0]) && meet(areas[i][1], areas[j][1])
		})
	}
}

// reach is the first and the last element of the flat value, whose axes step so.
func (x *term) reach(axes []int) (first, last int) {
	for i, p := range x.axes {
		first += p.base * axes[i]
		last += x.last(p) * axes[i]
	}
	return first, last
}

// placed is where a term belongs in a matrix with steps for the axes and for the seed.
func (x *term) placed(axes []int, step int, symmetric bool) placing {
	p := placing{num: x.num, base: x.seed.base * step, factors: len(x.factors), paces: make([]pace, len(x.sizes))}
	for l, n := range x.sizes {
		p.paces[l].n = n
	}
	for _, w := range x.seed.walks {
		p.paces[w.label].to += w.step * step
	}
	for i, q := range x.axes {
		p.base += q.base * axes[i]
		for _, w := range q.walks {
			p.paces[w.label].to += w.step * axes[i]
			if symmetric {
				p.paces[w.label].column += w.step * axes[i]
			}
		}
	}
	return p
}

// join puts the longest paces first and makes one of two that go on in each other. The last
// one makes lines, and these are long.
func (p *placing) join() {
	slices.SortStableFunc(p.paces, func(a, b pace) int { return b.to - a.to })
	joined := p.paces[:0]
	for _, d := range p.paces {
		if d.n == 1 {
			continue
		}
		if k := len(joined) - 1; k >= 0 && joined[k].goesOn(d) {
			d.n *= joined[k].n
			joined[k] = d
			continue
		}
		joined = append(joined, d)
	}
	if k := len(joined) - 1; k > 0 && joined[k].n < leastVector && joined[k-1].n > joined[k].n && joined[k-1].n*joined[k-1].to <= bandSize/8 {
		joined[k-1], joined[k] = joined[k], joined[k-1]
	} else if k > 1 && joined[0].ofMany() {
		longest := joined[0]
		copy(joined, joined[1:])
		joined[k] = longest
	}
	p.paces = joined
	past, right := 0, 0
	for i := len(joined) - 1; i >= 0; i-- {
		d := &joined[i]
		d.past, d.pastRight = past, right
		past += (d.n - 1) * d.to
		right += (d.n - 1) * d.column
	}
}

// ofMany reports whether the longest pace goes from one to the next of many small matrices: they are done a number of
// each at a time.
func (p *pace) ofMany() bool { return p.n > p.to && p.to <= leastVector*leastVector && p.to > 1 }

// size is how many numbers there are.
func (p *placing) size() int {
	n := 1
	for _, d := range p.paces {
		n *= d.n
	}
	return n
}

// goesOn reports whether the pace and the next shorter one are one.
func (p *pace) goesOn(d pace) bool {
	for k, st := range d.from {
		if p.from[k] != d.n*st {
			return false
		}
	}
	return p.to == d.n*d.to && p.column == d.n*d.column
}

// join multiplies the two factors whose product is smallest.
func (f *factoring) join(x *term) {
	best, least := [2]int{}, math.MaxInt
	for i := range x.factors {
		for j := range i {
			if n := x.count(union([]operand{x.factors[i], x.factors[j]})); n < least {
				best, least = [2]int{j, i}, n
			}
		}
	}
	j, i := best[0], best[1]
	x.factors[j] = f.joint(x, []operand{x.factors[j], x.factors[i]}, f.order(x))
	x.factors = slices.Delete(x.factors, i, i+1)
}

// runMeet adds factors of terms that meet later than in rows.
func runMeet(c *run) {
	kernels.Add(c.out, c.args[0], c.args[1])
	most, left := kernels.MaxAbs(c.args[0]), kernels.MaxAbs(c.out)
	if most > cancels*left {
		for i := range c.out {
			c.out[i] = math.NaN()
		}
	}
}

// String is the printed form: where the term begins, and how many steps of what length
// its labels make.
func (p placing) String() string {
	var b strings.Builder
	b.WriteString(itoa(p.base))
	for _, d := range p.paces {
		fmt.Fprintf(&b, "+%d×%d", d.n, d.to)
	}
	if p.num != 1 {
		fmt.Fprintf(&b, " times %v", p.num)
	}
	return b.String()
}
