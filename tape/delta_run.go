package tape

import (
	"math"
	"sync"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/sparsity"
	"nabla/tape/tensor"
)

// A matrix of terms is written in bands, which stay in cache while all terms are added and
// while it is looked at. Bands go to different threads; every number is the sum of the
// terms in their order.

// bandSize is about how many numbers a band has: 64 KB. One of a symmetric matrix may have
// eight times as many, half of L2: its mirror image is written in longer pieces.
const (
	bandSize    = 1 << 13
	tallestBand = 64 // rows, where it is symmetric
)

// workSpread is what adding a number of a term takes, in element operations of a tile.
const workSpread = 8

// runFinite is runTerms where all factors are finite; elsewhere the rows will tell, and there is nothing to add up.
func runFinite(c *run) {
	for i, r := range c.t.Args(c.r) {
		if !c.t.isHalf(r) && !finiteNumbers(c.args[i]) {
			c.lose()
			return
		}
	}
	runTerms(c)
}

// runTerms spreads the terms of a Jacobian in bands of rows, which threads share.
func runTerms(c *run) {
	s := &spreading{out: c.out, places: c.attr.Places, args: c.args, lost: make([]loss, len(c.attr.Places))}
	rows := s.banded(c.shape, c.attr.Flag)
	s.bound()
	work := len(c.out)
	for i := range s.places {
		work += s.places[i].size()
	}
	bands, parts := (rows+s.height-1)/s.height, 1
	if c.threads > 1 && pool.Worth(workSpread*work, pool.LeastElements) {
		parts = min(8*c.threads, bands)
	}
	pool.Run(c.threads, parts, func(i int) {
		w := &spreader{spreading: s, looked: make([]loss, len(s.places)), finite: true}
		for b := bands * i / parts; b < bands*(i+1)/parts; b++ {
			w.band(b*s.height, min((b+1)*s.height, rows))
		}
		w.done()
	})
	for i, l := range s.lost {
		if s.places[i].checked && l.most > cancels*l.left {
			c.lose()
			return
		}
	}
	c.t.isSane(c.r, !s.odd)
}

// lose leaves a NaN in a matrix, which the rows will tell.
func (c *run) lose() {
	c.out[0] = math.NaN()
	c.t.isSane(c.r, false)
}

// isHalf reports whether r is a product of which only what is above the diagonal is computed.
func (t *Tape) isHalf(r Ref) bool {
	r = t.base(r)
	return t.ins[r].Op() == opMatmul && t.Attr(r).Upper
}

// cancels is how many times larger a term may be than what is left of it. Terms are summed
// before they meet, where rows add first: so many times the rounding of rows may be lost.
const cancels = 16

// A loss is the largest number of a term, and the largest of the matrix where it was added.
type loss struct{ most, left float64 }

func (l *loss) add(m loss) { l.most, l.left = max(l.most, m.most), max(l.left, m.left) }

// A spreading is what the spreaders of one matrix share.
type spreading struct {
	out       []float64
	places    []placing
	args      [][]float64
	width     int
	height    int // rows of a band
	symmetric bool

	most    []float64 // no number of a place is larger, if it is looked at or factors are few
	bounded bool      // all numbers are finite, as those are that they are products of

	mu   sync.Mutex
	lost []loss // by place
	odd  bool   // not all numbers are finite
}

// banded takes the matrix as rows, and some of them for a band.
func (s *spreading) banded(shape tensor.Shape, symmetric bool) (rows int) {
	if s.symmetric = symmetric; symmetric {
		s.width = shape[:len(shape)/2].Size()
		s.height = min(tallestBand, max(8, 8*bandSize/s.width&^7)) // what mirrors it has whole cache lines, and several together
		return s.width
	}
	s.width = 1
	for i := len(shape) - 1; i >= 0 && s.width*shape[i] <= bandSize; i-- {
		s.width *= shape[i]
	}
	s.height = bandSize / s.width
	return len(s.out) / s.width
}

// bound finds how large the numbers of terms may be that are looked at, and whether few factors say that no sum of terms leaves
// the range: to look at all of these took a quarter of the time of batch Jacobians of normalized rows and of sines of products.
func (s *spreading) bound() {
	const most = 1e290
	size, sum := 0, 0.0
	for _, x := range s.args {
		size += len(x)
	}
	few := 4*size <= len(s.out)
	s.most = make([]float64, len(s.places))
	w := &spreader{spreading: s}
	w.each(func(i int) {
		if few || w.place.checked {
			s.most[i] = math.Abs(w.place.num)
			for _, x := range w.factors {
				s.most[i] *= kernels.MaxAbs(x)
			}
			sum += s.most[i]
		}
	})
	s.bounded = few && sum <= most
}

// A spreader adds one term after the other to bands of the matrix, line by line.
type spreader struct {
	*spreading
	place   *placing
	factors [][]float64 // of the term
	from    int         // the band: elements from, to to-1, of columns from left on
	to      int
	left    int
	look    *loss   // what is looked for, when nothing is added
	largest float64 // what the band has, where a term is all of it and looked for

	product []float64
	ones    []float64
	looked  []loss
	finite  bool
}

// band computes rows first to end-1; of a symmetric matrix from the diagonal on, and what
// mirrors them.
func (w *spreader) band(first, end int) {
	width := w.width
	w.from, w.to, w.left = first*width, end*width, 0
	if w.symmetric {
		w.left = first
	}
	for i := first; i < end; i++ {
		clear(w.out[i*width+w.left : (i+1)*width])
	}
	w.each(func(int) { w.all() })
	if w.symmetric {
		w.mirror(first, end)
	}
	all := false // a term is
	w.each(func(int) { all = all || w.isAll() && w.place.checked })
	if all {
		w.largest = kernels.MaxAbs(w.out[w.from:w.to])
		w.finite = w.finite && w.largest-w.largest == 0
	}
	w.each(func(i int) {
		if !w.place.checked {
			return
		}
		w.look = &w.looked[i]
		if w.isAll() {
			w.look.left = max(w.look.left, w.largest)
		}
		if !(w.most[i] <= cancels*w.look.left) { // else nothing that is to be seen matters
			w.all()
		}
		w.look = nil
	})
	if all || w.bounded {
		return
	}
	for i := first; i < end && w.finite; i++ {
		w.finite = finiteNumbers(w.out[i*width+w.left : (i+1)*width])
	}
}

// isAll reports whether the place has every number of the matrix.
func (w *spreader) isAll() bool { return !w.symmetric && w.place.size() == len(w.out) }

// each visits the places with their factors.
func (w *spreader) each(visit func(i int)) {
	args := w.args
	for i := range w.places {
		w.place = &w.places[i]
		w.factors, args = args[:w.place.factors], args[w.place.factors:]
		visit(i)
	}
}

// done notes what was seen.
func (w *spreader) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.odd = w.odd || !w.finite
	for i, l := range w.looked {
		w.lost[i].add(l)
	}
}

// mirror copies the rows of a symmetric matrix into its columns.
func (w *spreader) mirror(first, end int) {
	n := w.width
	for i := first; i < end; i++ { // on the diagonal
		for j := i + 1; j < end; j++ {
			w.out[j*n+i] = w.out[i*n+j]
		}
	}
	if end < n {
		kernels.TransposeLarge(w.out[end*n+first:], n, w.out[first*n+end:], n, end-first, n-end)
	}
}

// all adds, or looks at, what the place has in the band.
func (w *spreader) all() {
	column := 0
	if w.symmetric {
		column = w.place.base % w.width
	}
	w.spread(w.place.base, column, [mostSpread]int{}, w.place.paces)
}

// spread does so for what the paces reach from places in the matrix and in the factors.
func (w *spreader) spread(to, column int, from [mostSpread]int, paces []pace) {
	p := &pace{n: 1, to: 1}
	if len(paces) > 0 {
		p = &paces[0]
	}
	k, end := 0, p.n
	if low := to + p.past; low < w.from {
		k = sparsity.CeilDiv(w.from-low, p.to)
	}
	if low := column + p.pastRight; low < w.left {
		if p.column == 0 {
			return
		}
		k = max(k, sparsity.CeilDiv(w.left-low, p.column))
	}
	if to+(end-1)*p.to >= w.to {
		end = sparsity.FloorDiv(w.to-1-to, p.to) + 1
	}
	if k >= end {
		return
	}
	to, column = to+k*p.to, column+k*p.column
	for i, st := range p.from {
		from[i] += k * st
	}
	if len(paces) <= 1 {
		w.line(p, end-k, to, &from)
		return
	}
	if len(paces) == 2 && w.rows(p, &paces[1], end-k, to, column, &from) {
		return
	}
	for ; k < end; k++ {
		w.spread(to, column, from, paces[1:])
		to, column = to+p.to, column+p.column
		for i, st := range p.from {
			from[i] += st
		}
	}
}

// rows adds n lines, q each, of the product of numbers and of what lies together, all at once, or looks at them. It
// reports whether they are such, whole and in the band.
func (w *spreader) rows(p, q *pace, n, to, column int, from *[mostSpread]int) bool {
	last := len(w.factors) - 1
	if last < 0 || q.to != 1 || to < w.from || column < w.left || to+(n-1)*p.to+q.n > w.to {
		return false
	}
	line := -1 // the factor that is no number
	for i := range w.factors {
		switch {
		case q.from[i] == 0:
		case q.from[i] == 1 && line < 0 && (i == last || last < 2): // of three it comes last, as in line
			line = i
		default:
			return false
		}
	}
	numbers, step, some := one[:], 0, false
	for i, a := range w.factors {
		switch {
		case i == line:
		case !some:
			numbers, step, some = a[from[i]:], p.from[i], true
		default:
			if len(w.product) < n {
				w.product = make([]float64, n)
			}
			for k := range n {
				w.product[k] = numbers[k*step] * a[from[i]+k*p.from[i]]
			}
			numbers, step = w.product, 1
		}
	}
	x, apart := w.unit(q.n), 0
	if line >= 0 {
		x, apart = w.factors[line][from[line]:], p.from[line]
	}
	if w.look == nil {
		kernels.AxpyRows(w.out[to:], p.to, w.place.num, numbers, step, x, apart, q.n, n)
	} else if apart == 0 {
		w.seenRows(p, numbers, step, x[:q.n], n, to)
	}
	return w.look == nil || apart == 0
}

var one = [1]float64{1}

// unit is n ones.
func (w *spreader) unit(n int) []float64 {
	for len(w.ones) < n {
		w.ones = append(w.ones, 1)
	}
	return w.ones[:n]
}

// leastVector is the length from which on kernels are called for a line.
const leastVector = 12

// line adds n numbers of a pace. Every number is fma(num, the product of the factors in
// their order, what was there), whichever way.
func (w *spreader) line(p *pace, n, to int, from *[mostSpread]int) {
	if w.look != nil {
		w.seen(p, n, to, from)
		return
	}
	vectors := n >= leastVector // in the factors together, or one number
	var x [mostSpread][]float64
	for i, a := range w.factors {
		x[i] = a[from[i]:]
		vectors = vectors && p.from[i] <= 1
	}
	dst, step, num := w.out[to:], &p.from, w.place.num
	switch {
	case vectors && p.to == 1:
		kernels.Axpy(dst[:n], num, w.multiplied(n, &x, step))
		return
	case vectors && len(w.factors) > 1:
		for k, v := range w.multiplied(n, &x, step) {
			d := &dst[k*p.to]
			*d = math.FMA(num, v, *d)
		}
		return
	}
	if len(w.factors) == 2 && step[0]+step[1] == 1 { // one number and a line: in half the time of what is below
		still, moving := x[step[0]][0], x[step[1]][:n]
		for k, v := range moving {
			d := &dst[k*p.to]
			*d = math.FMA(num, float64(v*still), *d)
		}
		return
	}
	switch len(w.factors) {
	case 1:
		for k := range n {
			d := &dst[k*p.to]
			*d = math.FMA(num, x[0][k*step[0]], *d)
		}
	case 2:
		for k := range n {
			d := &dst[k*p.to]
			*d = math.FMA(num, float64(x[0][k*step[0]]*x[1][k*step[1]]), *d)
		}
	case 3:
		for k := range n {
			d := &dst[k*p.to]
			*d = math.FMA(num, float64(float64(x[0][k*step[0]]*x[1][k*step[1]])*x[2][k*step[2]]), *d)
		}
	default:
		for k := range n {
			dst[k*p.to] += num
		}
	}
}

// seenRows looks at n lines, which are x times a number each: rounding keeps the order of sizes, so that the largest
// product is that of the largest factors.
func (w *spreader) seenRows(p *pace, numbers []float64, step int, x []float64, n, to int) {
	var most uint64
	for k := range n {
		most = max(most, sizeBits(w.place.num*numbers[k*step]))
	}
	left := w.largest
	switch {
	case w.isAll():
	case p.to == len(x):
		left = kernels.MaxAbs(w.out[to:][:n*p.to])
	default:
		left = 0
		for k := range n {
			left = max(left, kernels.MaxAbs(w.out[to+k*p.to:][:len(x)]))
		}
	}
	w.look.add(loss{math.Float64frombits(most) * kernels.MaxAbs(x), left})
}

// seen looks at a line for cancellation.
func (w *spreader) seen(p *pace, n, to int, from *[mostSpread]int) {
	var most, left uint64 // as bits sizes are ordered as they are, NaN above all
	if len(w.factors) == 1 {
		x, step := w.factors[0][from[0]:], p.from[0]
		for k := range n {
			most, left = max(most, sizeBits(w.place.num*x[k*step])), max(left, sizeBits(w.out[to+k*p.to]))
		}
	} else {
		for k := range n {
			y := w.place.num
			for i, a := range w.factors {
				y *= a[from[i]+k*p.from[i]]
			}
			most, left = max(most, sizeBits(y)), max(left, sizeBits(w.out[to+k*p.to]))
		}
	}
	w.look.add(loss{math.Float64frombits(most), math.Float64frombits(left)})
}

// sizeBits are the bits of |x|.
func sizeBits(x float64) uint64 { return math.Float64bits(x) &^ (1 << 63) }

// multiplied is the product of n numbers of each factor, which lie together or are one number.
func (w *spreader) multiplied(n int, from *[mostSpread][]float64, step *[mostSpread]int) (x []float64) {
	if len(w.product) < n {
		w.product = make([]float64, n)
	}
	s, product := 1.0, w.product[:n]
	for i := range w.factors {
		switch y := from[i]; {
		case step[i] == 0 && x == nil:
			s *= y[0]
		case step[i] == 0:
			kernels.MulScalar(product, x, y[0])
			x = product
		case x != nil:
			kernels.Mul(product, x, y[:n])
			x = product
		case i > 0:
			kernels.MulScalar(product, y[:n], s)
			x = product
		default:
			x = y[:n]
		}
	}
	if x == nil {
		kernels.Fill(product, s)
		return product
	}
	return x
}
