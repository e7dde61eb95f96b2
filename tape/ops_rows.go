package tape

import (
	"nabla/kernels"
	"nabla/tape/pool"
)

// What logsumexp, softmax and log_softmax are of rows that are neither so short that they are turned nor so long
// that a kernel has enough to do with each: some of them, where they lie, go through each kernel together. The bits are
// those of each row alone.

// longestTogether is the longest of such rows, of which SumExpRest and Sum add up all in one piece.
const longestTogether = 256

// inSome reports whether rows of x, of n numbers each, are taken some at a time; few is how long they are at most
// where they are turned.
func inSome(x []float64, n, few int) bool {
	return turning && n <= longestTogether && n > few && len(x) > n
}

// Rows of softmaxes are turned if they have up to fewSoftmaxes numbers, for their logsumexp alone up to
// fewLogsumexps: of ten numbers they took 0.8 and 1.4 of the time.
const (
	fewSoftmaxes  = 8
	fewLogsumexps = 16
)

// eachSome runs f on all rows of x, of n numbers each: rows from at on, as many as a stripe has room for.
func eachSome(threads int, x []float64, n int, f func(s *stripe, at, rows int)) {
	all := len(x) / n
	most := min(stripeWidth, someNumbers/n)
	pool.Split(threads, len(x), ceilDiv(all, most), func(from, to int) {
		s := stripes.Get().(*stripe)
		for at := from * most; at < min(to*most, all); at += most {
			f(s, at, min(most, all-at))
		}
		stripes.Put(s)
	})
}

// someNumbers are as many as go through a kernel together.
const someNumbers = 2048

// sumsExpOfRows is sumsExp of rows of n numbers.
func (s *stripe) sumsExpOfRows(x []float64, n int, sums, logs, shares []float64, weights bool) {
	rows := len(x) / n
	top, less, e := s.tops[:rows], s.some[:len(x)], s.lanes[:len(x)]
	finite := kernels.TallestOfRows(top, s.first, less, x, n)
	for _, m := range top {
		finite = finite && m-m == 0
	}
	if !finite {
		for i := range rows {
			row := x[i*n:][:n]
			if sums != nil {
				sums[i] = logsumexp(row)
			}
			if logs != nil {
				m := kernels.Max(row)
				logSoftmaxOver(logs[i*n:][:n], row, m, logsumexpOver(row, m))
			}
			if shares != nil {
				softmax(shares[i*n:][:n], row, weights)
			}
		}
		return
	}
	if shares != nil {
		e = shares
	}
	kernels.Exp(e, less)
	wide := s.others[:len(x)]
	if sums != nil || logs != nil {
		rest := s.rests[:rows]
		if shares != nil {
			kernels.SumRows(s.sums[:rows], e, n)
		}
		for i, k := range s.first[:rows] {
			e[i*n+k] = 0
		}
		kernels.SumRows(rest, e, n)
		for i, k := range s.first[:rows] {
			e[i*n+k] = 1 // the exponential of 0
		}
		kernels.Log1p(rest, rest)
		if sums != nil {
			kernels.Add(sums, top, rest)
		}
		if logs != nil {
			kernels.Stretch(wide, rest, n)
			kernels.Sub(logs, less, wide)
		}
	} else {
		kernels.SumRows(s.sums[:rows], e, n)
	}
	if shares != nil {
		kernels.Stretch(wide, s.sums[:rows], n)
		kernels.Div(shares, shares, wide)
	}
}
