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
	n, to int
	from  [mostSpread]int
}

// mostSpread bounds the factors that are multiplied on the way into the matrix.
const mostSpread = 3

var opTerms, opMeet *Op

var deltaRows = []Op{
	{As: &opTerms, Name: "terms", Args: "*factors", Hidden: true, Doc: "a matrix as a sum of products, each where it belongs", Stops: "a matrix of derivatives", Run: runTerms},
	{As: &opMeet, Name: "meet", Args: "x, y", Hidden: true, Doc: "the sum of two factors, NaN where they cancel", Stops: "a matrix of derivatives", Run: runMeet},
}

// spread records the matrix.
func (f *factoring) spread(out rowOut, xs []*term) Ref {
	t := f.t
	s := t.Shape(out.r)
	at := out.at
	if at == nil {
		at = stridesOf(append(slices.Clone(out.lead), out.rest...))
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
	var args []Ref
	var places []placing
	var areas [][2][2]int // rows and columns of the places
	place := func(x *term, axes []int, step int, area [2][2]int) {
		p := x.placed(axes, step)
		for k, o := range x.factors {
			for i, st := range stridesOf(t.Shape(o.r)) {
				p.paces[o.labels[i]].from[k] = st
			}
			args = append(args, o.r)
		}
		p.join()
		places = append(places, p)
		areas = append(areas, area)
	}
	axes := at[len(out.lead):]
	symmetric := t.mirrors[out.r].of == out.r && inBlocks(xs, axes)
	for _, x := range xs {
		first, last := x.reach(axes)
		rows, columns := [2]int{x.seed.base, x.last(x.seed)}, [2]int{first, last}
		if symmetric && x.seed.base > first {
			continue // the mirror image of another
		}
		for len(x.factors) > mostSpread { // the two that make the smallest product
			f.join(x)
		}
		place(x, axes, step, [2][2]int{rows, columns})
		if symmetric && x.seed.base < first {
			turned := make([]int, len(axes))
			for i, st := range axes {
				turned[i] = st * step
			}
			place(x, turned, 1, [2][2]int{columns, rows})
		}
	}
	check(places, areas)
	return t.recordAs(opTerms, s, tensor.Float64, Attr{Places: places}, args...)
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

// inBlocks reports whether all terms lie in blocks of one partition of rows and columns,
// so that those on one side of the diagonal mirror the others.
func inBlocks(xs []*term, axes []int) bool {
	var ranges [][2]int
	add := func(r [2]int) bool {
		for _, o := range ranges {
			if r == o {
				return true
			}
			if r[0] <= o[1] && o[0] <= r[1] {
				return false
			}
		}
		ranges = append(ranges, r)
		return true
	}
	for _, x := range xs {
		first, last := x.reach(axes)
		if !add([2]int{first, last}) || !add([2]int{x.seed.base, x.last(x.seed)}) {
			return false
		}
	}
	return true
}

// placed is where a term belongs in a matrix with steps for the axes and for the seed.
func (x *term) placed(axes []int, step int) placing {
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
		}
	}
	return p
}

// join puts the longest paces first and makes one of two that go on in each other.
func (p *placing) join() {
	slices.SortStableFunc(p.paces, func(a, b pace) int { return b.to - a.to })
	joined := p.paces[:0]
	for _, d := range p.paces {
		if k := len(joined) - 1; k >= 0 && joined[k].goesOn(d) {
			d.n *= joined[k].n
			joined[k] = d
			continue
		}
		joined = append(joined, d)
	}
	p.paces = joined
}

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
	return p.to == d.n*d.to
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
	x.factors[j] = f.joint(x, []operand{x.factors[j], x.factors[i]}, x.order())
	x.factors = slices.Delete(x.factors, i, i+1)
}

func runTerms(c *run) {
	clear(c.out)
	w := &spreader{out: c.out}
	each := func(visit func(p *placing)) {
		args := c.args
		for i := range c.attr.Places {
			p := &c.attr.Places[i]
			w.args, args = args[:p.factors], args[p.factors:]
			visit(p)
		}
	}
	each(func(p *placing) {
		w.num = p.num
		outer := w.begin(p.paces)
		w.spread(p.base, [mostSpread]int{}, outer)
	})
	lost := false
	each(func(p *placing) { lost = lost || p.checked && w.cancelled(p) })
	if lost {
		c.out[0] = math.NaN()
	}
}

// cancels is how many times larger a term may be than what is left of it. Terms are summed
// before they meet, where rows add first: so many times the rounding of rows may be lost.
const cancels = 16

// cancelled reports whether the largest number of a term is much larger than the largest
// number of the matrix where the term has been added.
func (w *spreader) cancelled(p *placing) bool {
	most, left := 0.0, 0.0
	var visit func(to int, from [mostSpread]int, paces []pace)
	visit = func(to int, from [mostSpread]int, paces []pace) {
		if len(paces) > 1 {
			for range paces[0].n {
				visit(to, from, paces[1:])
				to += paces[0].to
				for i, st := range paces[0].from {
					from[i] += st
				}
			}
			return
		}
		line := pace{n: 1}
		if len(paces) == 1 {
			line = paces[0]
		}
		for range line.n {
			y := p.num
			for i, a := range w.args {
				y *= a[from[i]]
				from[i] += line.from[i]
			}
			most, left = max(most, math.Abs(y)), max(left, math.Abs(w.out[to]))
			to += line.to
		}
	}
	visit(p.base, [mostSpread]int{}, p.paces)
	return most > cancels*left
}

// runMeet adds factors of terms that meet later than in rows.
func runMeet(c *run) {
	most, left := 0.0, 0.0
	for i, x := range c.args[0] {
		z := x + c.args[1][i]
		c.out[i] = z
		most, left = max(most, math.Abs(x)), max(left, math.Abs(z))
	}
	if most > cancels*left {
		for i := range c.out {
			c.out[i] = math.NaN()
		}
	}
}

// A spreader adds one term after the other to the matrix, line by line.
type spreader struct {
	out  []float64
	args [][]float64
	num  float64

	line    pace
	vectors bool // lines are long, and lie together everywhere
	product []float64
}

// leastVector is the length from which on kernels are called for a line.
const leastVector = 12

// begin takes the shortest steps for lines; it returns the other paces.
func (w *spreader) begin(paces []pace) (outer []pace) {
	w.line = pace{n: 1, to: 1}
	if k := len(paces) - 1; k >= 0 {
		if paces[k].n < leastVector && k > 0 && paces[k-1].n > paces[k].n { // lines are long
			paces = slices.Clone(paces)
			paces[k-1], paces[k] = paces[k], paces[k-1]
		}
		w.line, outer = paces[k], paces[:k]
	}
	w.vectors = w.line.to == 1 && w.line.n >= leastVector
	for i := range w.args {
		w.vectors = w.vectors && w.line.from[i] <= 1
	}
	if len(w.product) < w.line.n {
		w.product = make([]float64, w.line.n)
	}
	return outer
}

// spread adds what the paces reach from places in the matrix and in the factors.
func (w *spreader) spread(to int, from [mostSpread]int, paces []pace) {
	if len(paces) == 0 {
		w.add(to, &from)
		return
	}
	p := &paces[0]
	for range p.n {
		if len(paces) == 1 {
			w.add(to, &from)
		} else {
			w.spread(to, from, paces[1:])
		}
		to += p.to
		for i, st := range p.from {
			from[i] += st
		}
	}
}

// add adds one line. Every number is fma(num, the product of the factors in their order,
// what was there), whichever way: a mirror image has the same bits.
func (w *spreader) add(to int, from *[mostSpread]int) {
	if w.vectors {
		w.vector(w.out[to:][:w.line.n], from)
		return
	}
	var x [mostSpread][]float64
	for i, a := range w.args {
		x[i] = a[from[i]:]
	}
	dst, step := w.out[to:], &w.line.from
	switch len(w.args) {
	case 1:
		for k := range w.line.n {
			d := &dst[k*w.line.to]
			*d = math.FMA(w.num, x[0][k*step[0]], *d)
		}
	case 2:
		for k := range w.line.n {
			d := &dst[k*w.line.to]
			*d = math.FMA(w.num, float64(x[0][k*step[0]]*x[1][k*step[1]]), *d)
		}
	case 3:
		for k := range w.line.n {
			d := &dst[k*w.line.to]
			*d = math.FMA(w.num, float64(float64(x[0][k*step[0]]*x[1][k*step[1]])*x[2][k*step[2]]), *d)
		}
	default:
		for k := range w.line.n {
			dst[k*w.line.to] += w.num
		}
	}
}

// vector is add for a line whose numbers lie together, or are one number.
func (w *spreader) vector(dst []float64, from *[mostSpread]int) {
	s, product := 1.0, w.product[:len(dst)]
	var x []float64 // the product so far, if it is no number
	for i, a := range w.args {
		switch y := a[from[i]:]; {
		case w.line.from[i] == 0 && x == nil:
			s *= y[0]
		case w.line.from[i] == 0:
			kernels.MulScalar(product, x, y[0])
			x = product
		case x != nil:
			kernels.Mul(product, x, y[:len(dst)])
			x = product
		case i > 0:
			kernels.MulScalar(product, y[:len(dst)], s)
			x = product
		default:
			x = y[:len(dst)]
		}
	}
	if x == nil {
		for k, y := range dst {
			dst[k] = math.FMA(w.num, s, y)
		}
		return
	}
	kernels.Axpy(dst, w.num, x)
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
