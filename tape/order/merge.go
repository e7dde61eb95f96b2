package order

// sortWords sorts words, with as many of room, without branches that depend on them: blocks of eight by a network,
// then runs by merging. Comparisons that branch took two to three times as long in rows that no predictor knows.
func sortWords(x, room []uint64) {
	const block = 8
	rest := x
	for ; len(rest) >= block; rest = rest[block:] {
		sortEight((*[block]uint64)(rest))
	}
	if len(rest) > 1 {
		var last [block]uint64
		for i := copy(last[:], rest); i < block; i++ {
			last[i] = 1<<64 - 1
		}
		sortEight(&last)
		copy(rest, last[:])
	}
	from, to := x, room[:len(x)]
	for run := block; run < len(x); run *= 2 {
		at := 0
		for ; at+2*run <= len(x); at += 2 * run {
			mergeHalves(to[at:at+2*run], from[at:at+2*run])
		}
		mid := min(at+run, len(x))
		merge(to[at:], from[at:mid], from[mid:])
		from, to = to, from
	}
	copy(x, from)
}

// sortEight is Batcher's network of 19 comparisons.
func sortEight(x *[8]uint64) {
	a, b, c, d, e, f, g, h := x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
	a, b = min(a, b), max(a, b)
	c, d = min(c, d), max(c, d)
	e, f = min(e, f), max(e, f)
	g, h = min(g, h), max(g, h)
	a, c = min(a, c), max(a, c)
	b, d = min(b, d), max(b, d)
	e, g = min(e, g), max(e, g)
	f, h = min(f, h), max(f, h)
	b, c = min(b, c), max(b, c)
	f, g = min(f, g), max(f, g)
	a, e = min(a, e), max(a, e)
	b, f = min(b, f), max(b, f)
	c, g = min(c, g), max(c, g)
	d, h = min(d, h), max(d, h)
	c, e = min(c, e), max(c, e)
	d, f = min(d, f), max(d, f)
	b, c = min(b, c), max(b, c)
	d, e = min(d, e), max(d, e)
	f, g = min(f, g), max(f, g)
	x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7] = a, b, c, d, e, f, g, h
}

// mergeHalves merges the halves of x from both ends at once: neither waits for the other, and no half ends early.
func mergeHalves(dst, x []uint64) {
	dst = dst[:len(x)]
	n := len(x) / 2
	i, p := 0, n-1 // in the first half; where in the other follows from k
	for k := range n {
		a, b := x[i], x[n+k-i]
		dst[k] = min(a, b)
		i += one(a < b)
		k = len(x) - 1 - k
		a, b = x[p], x[n-1+k-p]
		dst[k] = max(a, b)
		p -= one(a > b)
	}
}

// merge merges two runs of any length.
func merge(dst, x, y []uint64) {
	i, j := 0, 0
	for i < len(x) && j < len(y) {
		a, b := x[i], y[j]
		dst[i+j] = min(a, b)
		i += one(a < b)
		j += one(a >= b)
	}
	copy(dst[i+j:], x[i:])
	copy(dst[len(x)+j:], y[j:])
}

// one is 1 of true, without a branch.
func one(b bool) int {
	n := 0
	if b {
		n = 1
	}
	return n
}
