package kernels

// Numbers that are put elsewhere: repeated, picked at a distance, or by indices.

// Stretch writes each number of x n times: dst[i] = x[i/n]. Three times each took 0.09 ns a number by
// machine code, 0.57 here.
var Stretch = stretch

// stretch is the portable Stretch: each number n times.
func stretch(dst, x []float64, n int) {
	for i, v := range x {
		row := dst[i*n:][:n]
		for j := range row {
			row[j] = v
		}
	}
}

// mostStretched is how often a number is written at most by machine code.
const mostStretched = 8

// Strided reads numbers a distance apart: dst[i] = x[i*stride]. A column of three took 0.2 ns a number by machine
// code, 0.6 here.
var Strided = strided

// strided is the portable gathering of every stride-th number.
func strided(dst, x []float64, stride int) {
	for ; len(dst) >= 4; dst = dst[4:] { // one by one it takes twice as long
		dst[0], dst[1], dst[2], dst[3] = x[0], x[stride], x[2*stride], x[3*stride]
		if len(dst) == 4 {
			return
		}
		x = x[4*stride:]
	}
	for i := range dst {
		dst[i] = x[i*stride]
	}
}

// ToStrided writes numbers a distance apart: dst[i*stride] = x[i].
var ToStrided = toStrided

func toStrided(dst []float64, stride int, x []float64) {
	for i, v := range x {
		dst[i*stride] = v
	}
}

// CopyEvery copies count numbers a distance apart to the same places: dst[i*stride] = x[i*stride].
var CopyEvery = copyEvery

func copyEvery(dst, x []float64, stride, count int) {
	for i := 0; count > 0; count-- {
		dst[i] = x[i]
		i += stride
	}
}

// CopyRows copies count rows of n numbers from x, where they begin ldx apart, to dst, where they begin ldd
// apart. Rows of 4 and of 20 took .1 and .17 of the time by machine code.
var CopyRows = copyRows

func copyRows(dst []float64, ldd int, x []float64, ldx, n, count int) {
	const short, many = 8, 8
	if n <= short && count >= many { // column by column: a loop for each row takes twice as long
		for k := range n {
			to, from := k, k
			for range count {
				dst[to] = x[from]
				to, from = to+ldd, from+ldx
			}
		}
		return
	}
	for i := range count {
		copy(dst[i*ldd:][:n], x[i*ldx:])
	}
}

type reversing func(dst, x []float64)

// Reverse writes numbers in descending order: dst[i] = x[n-1-i] for n numbers. It took 0.07
// ns a number by machine code, 0.39 here.
var Reverse reversing = reverse

func reverse(dst, x []float64) {
	for i := range dst {
		dst[i] = x[len(dst)-1-i]
	}
}

// Places are the indices that x has, as integers, in dst; it reports whether every one is a whole number
// from 0 to n-1. Where one is not, dst is of no use.
var Places = places

// places makes numbers places, and reports whether all are whole and below n.
func places(dst []int, x []float64, n int) bool {
	dst = dst[:len(x)]
	all := true
	for i, v := range x {
		k := int(v)
		dst[i] = k
		all = all && float64(k) == v && uint(k) < uint(n)
	}
	return all
}

// Pick writes the numbers of x at places, all of which x has: dst[i] = x[places[i]].
var Pick = pick

// pick is the portable Pick, some at a time: one by one took 1.5 times as long.
func pick(dst, x []float64, places []int) {
	for len(places) >= 4 {
		p, q := places[:4], dst[:4]
		q[0], q[1], q[2], q[3] = x[p[0]], x[p[1]], x[p[2]], x[p[3]]
		places, dst = places[4:], dst[4:]
	}
	for i, k := range places {
		dst[i] = x[k]
	}
}

// AddAt adds numbers, one after the other, to those at places, all of which dst has: dst[places[i]] += x[i].
var AddAt = addAt

func addAt(dst, x []float64, places []int) {
	for i, k := range places {
		dst[k] += x[i]
	}
}

type placedRows = func(dst, x []float64, places []int, n int)

// PickRows writes the rows of n numbers of x at places, all of which x has: row i of dst is row places[i]. Rows of 3, 16 and 64
// took .37, .38 and .5 of the time by machine code.
var PickRows placedRows = pickRows

func pickRows(dst, x []float64, places []int, n int) {
	for i, k := range places {
		copy(dst[i*n:][:n], x[k*n:])
	}
}

// AddRowsAt adds rows of n numbers, one after the other, to those at places, all of which dst has: row i of x is added to row
// places[i].
var AddRowsAt placedRows = addRowsAt

func addRowsAt(dst, x []float64, places []int, n int) {
	for i, k := range places {
		Accumulate(dst[k*n:][:n], x[i*n:][:n])
	}
}

// StretchFrom is Stretch without the first skip numbers of it, 0 <= skip < n, as many as dst has.
func StretchFrom(dst, x []float64, n, skip int) {
	if len(dst) > 0 {
		_ = x[(len(dst)-1+skip)/n]
		stretchFrom(dst, x, n, skip)
	}
}

var stretchFrom = func(dst, x []float64, n, skip int) {
	for left := n - skip; len(dst) > 0; left = n {
		run := dst[:min(left, len(dst))]
		for i := range run {
			run[i] = x[0]
		}
		dst, x = dst[len(run):], x[1:]
	}
}
