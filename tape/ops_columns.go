package tape

import (
	"math"
	"slices"

	"nabla/kernels"
	"nabla/tape/pool"
	"nabla/tape/sparsity"
	"nabla/tape/tensor"
)

// What logsumexp, softmax, log_softmax, extremes, products and norms are along an axis that is not the last: of
// columns, where they lie. Some columns at a time, a stripe, go through the cache of one core row by
// row. Their bits are those of rows: a column's terms are added in the lanes that those of a row
// have, a row of sums to each lane. So a transposition before and after would change nothing; two of
// 1000×1000 numbers took a quarter of the time of the gradient of logsumexp(x, 0).

// leastColumns is how many columns lie together for them to be taken where they lie; fewer are
// transposed: two columns in place would do for norms, but what is done by rows of 10 numbers with
// their results, as in std, takes longer than the transpositions. Tests set it low.
var leastColumns = 32

// byColumns is x with axes as one, and which it then is, counted from the right, if its columns
// are to be taken where they lie.
func (t *Tape) byColumns(x Ref, axes []int) (y Ref, axis int, ok bool) {
	s := t.Shape(x)
	if len(axes) == 0 || axes[len(axes)-1]-axes[0] != len(axes)-1 {
		return x, 0, false
	}
	first, end := len(s)+axes[0], len(s)+axes[len(axes)-1]+1
	if s[end:].Size() < leastColumns || s[first:end].Size() < 2 {
		return x, 0, false
	}
	if len(axes) > 1 {
		x = t.reshape(x, slices.Concat(s[:first], tensor.Shape{s[first:end].Size()}, s[end:]))
	}
	return x, axes[len(axes)-1], true
}

// reducedAlong records a reduction by an operation that runs along any one axis.
func (t *Tape) reducedAlong(of *Op, x Ref, axis int) Ref {
	if axis == -1 {
		return t.record(of, lead(t.Shape(x)), Attr{}, x)
	}
	return t.record(of, reduced(t.Shape(x), []int{axis}, false), Attr{Axes: []int{axis}}, x)
}

// fold lowers a reduction over axes by such an operation.
func (c *call) fold(of *Op, x Ref, axes []int, keep bool) Ref {
	t := c.t
	if y, axis, ok := t.byColumns(x, axes); ok {
		return t.reshape(t.reducedAlong(of, y, axis), reduced(t.Shape(x), axes, keep))
	}
	return c.reduce(x, axes, keep, func(t *Tape, x Ref) Ref { return t.reducedAlong(of, x, -1) })
}

// along is the axis that an operation of columns or rows runs along, counted from the right.
func (a *Attr) along() int {
	if len(a.Axes) == 0 {
		return -1
	}
	return a.Axes[0]
}

// linkFold is a reduction along an axis, linkLines a function of all of it.
func linkFold(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	return p.Summed(k.in, k.attr().along())
}

// linkLines has every element depend on its whole line.
func linkLines(k *link, p *sparsity.Pattern) *sparsity.Pattern {
	axes := []int{k.attr().along()}
	if q := p.Summed(k.in, axes...); q != nil {
		return q.Repeated(reduced(k.in, axes, true), k.out)
	}
	return nil
}

// tallest finds the largest of each column and its first place; false if one is not finite.
func (s *stripe) tallest() bool {
	s.top = s.tops[:s.w]
	switch {
	case s.short:
		s.less = s.some[:len(s.x)]
		if !kernels.Tallest(s.top, s.first, s.less, s.x, s.ld, s.n) {
			return false
		}
	case !s.tallestOfMany():
		return false
	}
	return finiteNumbers(s.top)
}

// highest is tallest without the places, which few rows have as soon: of many it takes a fifth of the time.
func (s *stripe) highest() bool {
	if s.short {
		return s.tallest()
	}
	s.top = s.tops[:s.w]
	s.extremes(s.top, kernels.Maximum, math.Inf(-1))
	return finiteNumbers(s.top)
}

// tallestOfMany is tallest of columns that may be long, some rows after the others; false if there is a NaN.
func (s *stripe) tallestOfMany() bool {
	const some = 32
	now := s.tops[stripeWidth:][:s.w]
	kernels.Fill(s.top, math.Inf(-1))
	clear(s.first)
	for from := 0; from < s.n; from += some {
		if !kernels.Tallest(now, s.places, nil, s.x[from*s.ld:], s.ld, min(some, s.n-from)) {
			return false
		}
		for j, v := range now {
			if v > s.top[j] {
				s.top[j], s.first[j] = v, from+s.places[j]
			}
		}
	}
	return true
}

// exponentials adds up exp(x-top) of each column: all of them where they are written to dst, and
// those of the rest if that is wanted.
func (s *stripe) exponentials(dst []float64, rest bool) {
	const piece = 256 // terms of the rest that are folded, as SumExpRest does
	w := s.w
	s.sum, s.rest = s.sums[:w], s.rests[:w]
	if s.short {
		s.fewExponentials(dst, rest)
		return
	}
	clear(s.rest)
	lanes, others := s.lanes[:len(kernels.Lanes{})*w], s.others[:len(kernels.Lanes{})*w]
	clear(lanes)
	clear(others)
	if rest {
		s.chainFirsts()
	}
	tops := s.repeated(0, s.top)
	for from := 0; from < s.n; from += stripeRows {
		m := min(stripeRows, s.n-from)
		e := s.some[:m*w]
		s.pieces(from, from+m, func(i, rows int) {
			kernels.Sub(e[(i-from)*w:][:rows*w], s.rows(s.x, i, rows), tops[:rows*w])
		})
		kernels.Exp(e, e)
		lane := from % len(kernels.Lanes{}) * w
		end := from + m
		if dst != nil {
			s.pieces(from, from+m, func(i, rows int) { copy(s.rows(dst, i, rows), e[(i-from)*w:]) })
			kernels.Accumulate(lanes[lane:][:len(e)], e)
			if end%kernels.SumBlock == 0 || end == s.n {
				s.close(s.sum, lanes, end <= kernels.SumBlock)
			}
		}
		if rest {
			for j := s.heads[from/stripeRows]; j >= 0; j = s.chained[j] {
				e[(s.first[j]-from)*w+j] = 0
			}
			kernels.Accumulate(others[lane:][:len(e)], e)
			if end%piece == 0 || end == s.n {
				s.close(s.rest, others, false)
			}
		}
	}
}

// chainFirsts lists the columns whose largest number comes first in each stripeRows rows: sorted by where it is, they took
// two fifths of the time of the gradient of logsumexp along 40 rows.
func (s *stripe) chainFirsts() {
	s.heads, s.chained = grown(s.heads, ceilDiv(s.n, stripeRows)), grown(s.chained, s.w)
	for i := range s.heads {
		s.heads[i] = -1
	}
	for j, i := range s.first[:s.w] {
		s.chained[j] = s.heads[i/stripeRows]
		s.heads[i/stripeRows] = j
	}
}

// fewExponentials is exponentials of rows that were turned.
func (s *stripe) fewExponentials(dst []float64, rest bool) {
	e := s.lanes[:len(s.x)]
	if dst == nil {
		kernels.Exp(e, s.less)
	} else {
		kernels.Exp(dst, s.less)
		copy(e, dst)
		s.sum = s.fold(s.sum, e)
		copy(e, dst)
	}
	if rest {
		for j, i := range s.first[:s.w] {
			e[i*s.w+j] = 0
		}
		s.rest = s.fold(s.rest, e)
	}
}

// fold adds up few rows, of which nothing is left.
func (s *stripe) fold(sums, rows []float64) []float64 {
	kernels.FoldRows(rows, s.w)
	copy(sums, rows)
	return sums
}

// close folds lanes, as kernels.Lanes do, into sums: the first, or more to them. It leaves zeros.
func (s *stripe) close(sums, lanes []float64, first bool) {
	for n := len(lanes) / 2; n >= s.w; n /= 2 {
		kernels.Add(lanes[:n], lanes[:n], lanes[n:2*n])
	}
	if first {
		copy(sums, lanes)
	} else {
		kernels.Accumulate(sums, lanes[:s.w])
	}
	clear(lanes)
}

// logsumexps writes the logsumexp of each column to dst.
func (s *stripe) logsumexps(dst []float64) {
	kernels.Log1p(s.rest, s.rest)
	kernels.Add(dst, s.top, s.rest)
}

// softmaxes makes the exponentials in dst softmaxes.
func (s *stripe) softmaxes(dst []float64) {
	sums := s.repeated(0, s.sum)
	s.pieces(0, s.n, func(i, rows int) {
		d := s.rows(dst, i, rows)
		kernels.Div(d, d, sums[:len(d)])
	})
}

// logSoftmaxes writes the log_softmax of each column to dst.
func (s *stripe) logSoftmaxes(dst []float64) {
	kernels.Log1p(s.rest, s.rest)
	tops, rests := s.repeated(0, s.top), s.repeated(1, s.rest)
	s.pieces(0, s.n, func(i, rows int) {
		d := s.rows(dst, i, rows)
		x := d
		if s.short {
			x = s.rows(s.less, i, rows)
		} else {
			kernels.Sub(d, s.rows(s.x, i, rows), tops[:len(d)])
		}
		kernels.Sub(d, x, rests[:len(d)])
	})
}

// runLogsumexp, and what follows, runs along any axis. Columns with an infinity or NaN at the top
// are taken as rows.
func runLogsumexp(c *run) {
	axis := c.attr.along()
	if n := last(c.shapes[0]); axis == -1 && inSome(c.args[0], n, fewLogsumexps) {
		eachSome(c.threads, c.args[0], n, func(s *stripe, at, rows int) {
			s.sumsExpOfRows(c.args[0][at*n:][:rows*n], n, c.out[at:][:rows], nil, nil, false)
		})
		return
	}
	if !inStripes(c.shapes[0], axis) {
		c.eachRow(logsumexp)
		return
	}
	eachStripe(c.threads, stripeWidth, c.args[0], c.shapes[0], axis, func(s *stripe, _, at int) {
		s.sumsExp(c.out[at:][:s.w], nil, nil, false)
	})
}

// runSoftmax runs softmax along any axis: rows one by one, columns in stripes.
func runSoftmax(c *run) {
	axis, weights := c.attr.along(), c.attr.Flag
	if n := last(c.shapes[0]); axis == -1 && inSome(c.args[0], n, fewSoftmaxes) {
		eachSome(c.threads, c.args[0], n, func(s *stripe, at, rows int) {
			s.sumsExpOfRows(c.args[0][at*n:][:rows*n], n, nil, nil, c.out[at*n:][:rows*n], weights)
		})
		return
	}
	if !inStripes(c.shapes[0], axis) {
		c.eachLine(func(dst, x []float64) { softmax(dst, x, weights) })
		return
	}
	eachStripe(c.threads, stripeWidth, c.args[0], c.shapes[0], axis, func(s *stripe, line, _ int) {
		s.sumsExp(nil, nil, s.in(0, c.out, line), weights)
		s.out(0, c.out, line)
	})
}

// runLogSoftmax runs log_softmax likewise.
func runLogSoftmax(c *run) {
	axis := c.attr.along()
	if n := last(c.shapes[0]); axis == -1 && inSome(c.args[0], n, fewSoftmaxes) {
		eachSome(c.threads, c.args[0], n, func(s *stripe, at, rows int) {
			s.sumsExpOfRows(c.args[0][at*n:][:rows*n], n, nil, c.out[at*n:][:rows*n], nil, false)
		})
		return
	}
	if !inStripes(c.shapes[0], axis) {
		c.eachLine(func(dst, x []float64) {
			m := kernels.Max(x)
			logSoftmaxOver(dst, x, m, logsumexpOver(x, m))
		})
		return
	}
	eachStripe(c.threads, stripeWidth, c.args[0], c.shapes[0], axis, func(s *stripe, line, _ int) {
		s.sumsExp(nil, s.in(0, c.out, line), nil, false)
		s.out(0, c.out, line)
	})
}

// runNorm runs norms likewise.
func runNorm(c *run) {
	axis := c.attr.along()
	if !inStripes(c.shapes[0], axis) {
		c.rows(kernels.NormRows)
		return
	}
	eachStripe(c.threads, wideStripe(c.threads, c.shapes[0], axis), c.args[0], c.shapes[0], axis, func(s *stripe, _, at int) {
		s.norms(c.out[at:][:s.w])
	})
}

// norms writes the norm of each column to dst; where squares leave the range kernels.Norm2 is asked.
func (s *stripe) norms(dst []float64) {
	const few, many = 1e-124, 1e124 // between them are roots of what Norm2 would not scale, either
	if s.short {
		squares := s.some[:len(s.x)]
		kernels.Square(squares, s.x)
		s.fold(dst, squares)
	} else {
		s.sumsOfSquares(dst)
	}
	kernels.Sqrt(dst, dst)
	for j, v := range dst {
		if !(v > few && v < many) {
			dst[j] = kernels.Norm2(s.column(j))
		}
	}
}

// sumsOfSquares writes the sum of the squares of each column to dst.
func (s *stripe) sumsOfSquares(dst []float64) {
	s.lanes = grown(s.lanes, len(kernels.Lanes{})*s.w)
	lanes := s.lanes
	clear(lanes)
	clear(dst)
	for from := 0; from < s.n; {
		m := 1
		if s.ld == s.w { // rows that lie together
			m = min(len(kernels.Lanes{}), s.n-from)
		}
		x, l := s.x[from*s.ld:][:m*s.w], lanes[from%len(kernels.Lanes{})*s.w:][:m*s.w]
		kernels.FMA(l, x, x, l)
		if from += m; from%kernels.SumBlock == 0 || from == s.n {
			s.close(dst, lanes, from <= kernels.SumBlock)
		}
	}
}

// sumsExp writes what is wanted of the logsumexps, log_softmaxes and softmaxes, or weights, of the
// columns.
func (s *stripe) sumsExp(sums, logs, shares []float64, weights bool) {
	if s.n == 0 {
		kernels.Fill(sums, math.Inf(-1))
		return
	}
	rest := sums != nil || logs != nil
	if rest && !s.tallest() || !rest && !s.highest() {
		dst := make([]float64, s.n)
		for j := range s.w {
			x := s.column(j)
			if sums != nil {
				sums[j] = logsumexp(x)
			}
			if logs != nil {
				m := kernels.Max(x)
				logSoftmaxOver(dst, x, m, logsumexpOver(x, m))
				s.put(logs, dst, j)
			}
			if shares != nil {
				softmax(dst, x, weights)
				s.put(shares, dst, j)
			}
		}
		return
	}
	s.exponentials(shares, rest)
	if shares != nil {
		s.softmaxes(shares)
	}
	switch {
	case sums != nil:
		s.logsumexps(sums)
	case logs != nil:
		s.logSoftmaxes(logs)
	}
}

// alongColumns runs a reduction by a kernel of two numbers, from first on; rows of the last axis by one
// of theirs.
func (c *run) alongColumns(pair func(dst, x, y []float64), first float64, anyOrder bool, rows func(dst, x []float64, n int)) {
	axis := c.attr.along()
	if !inStripes(c.shapes[0], axis) {
		c.rows(rows)
		return
	}
	eachStripe(c.threads, wideStripe(c.threads, c.shapes[0], axis), c.args[0], c.shapes[0], axis, func(s *stripe, _, at int) {
		dst := c.out[at:][:s.w]
		if anyOrder {
			s.extremes(dst, pair, first)
			return
		}
		kernels.Fill(dst, first)
		for i := range s.n {
			pair(dst, dst, s.row(s.x, i))
		}
	})
}

// runTies counts how often a number is in each row or column. What takes its share of each is one tile
// program then: a gradient of max takes half of the time of one by sums of all comparisons.
func runTies(c *run) {
	x, v := c.args[0], c.args[1]
	axis := c.attr.along()
	if !inStripes(c.shapes[0], axis) {
		n := last(c.shapes[0])
		pool.Split(c.threads, len(x), len(c.out), func(from, to int) {
			kernels.CountRows(c.out[from:to], x[from*n:], v[from:], n)
		})
		return
	}
	eachStripe(c.threads, wideStripe(c.threads, c.shapes[0], axis), x, c.shapes[0], axis, func(s *stripe, _, at int) {
		dst := c.out[at:][:s.w]
		long := s.several() * s.w
		s.lanes, s.others = grown(s.lanes, long), grown(s.others, long)
		hits, all, sought := s.lanes[:long], s.others[:long], s.repeated(0, v[at:][:s.w])
		clear(all)
		s.pieces(0, s.n, func(i, rows int) {
			x := s.rows(s.x, i, rows)
			kernels.Eq(hits[:len(x)], x, sought[:len(x)])
			kernels.Accumulate(all[:len(x)], hits[:len(x)])
		})
		clear(dst)
		for k := 0; k < long; k += s.w {
			kernels.Accumulate(dst, all[k:][:s.w])
		}
	})
}

// firsts are the places of the first largest, or NaN, of each column.
func (s *stripe) firsts() []int {
	if !s.tallest() {
		for j := range s.w {
			s.first[j] = int(argBest(s.column(j), kernels.Max))
		}
	}
	return s.first[:s.w]
}

// runOneHotMax is 1 at the first largest of each row or column.
func runOneHotMax(c *run) {
	hot := func(dst, x []float64) {
		k := int(argBest(x, kernels.Max))
		clear(dst)
		dst[k] = 1
	}
	axis := c.attr.along()
	if !inStripes(c.shapes[0], axis) {
		c.eachLine(hot)
		return
	}
	eachStripe(c.threads, stripeWidth, c.args[0], c.shapes[0], axis, func(s *stripe, line, _ int) {
		dst := s.in(0, c.out, line)
		for i := range s.n {
			clear(s.row(dst, i))
		}
		for j, k := range s.firsts() {
			dst[k*s.ld+j] = 1
		}
		s.out(0, c.out, line)
	})
}
