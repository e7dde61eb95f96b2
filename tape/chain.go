package tape

import (
	"slices"
	"sync"

	"nabla/tape/tensor"
)

// A chain is instructions over common rows: the layers of a network at each example of a
// batch, forward and back, with all seeds of a Jacobian. A row is one index of an axis of
// every value in it, and each row of a result needs the same row of the arguments alone, and
// of others, such as weights, the whole. So some rows are carried through all of the chain,
// then the next: what they need in between, a strip, stays in the cache of one core.
//
// Reductions over the last axes of large values, such as the norms and softmaxes of rows, begin chains,
// too, without a product: what is made of a row, its sums and what they are spread over again then
// goes through memory once.
//
// Where an axis of size R is cut, a value lies in memory as outer × R × unit numbers.
type chain struct {
	refs []Ref // ascending
	rows int
	cut  map[Ref]int // the axis of its memory along which each of refs is cut

	parts  int
	strips []*strip // of the sizes that occur: at most two
	packed []packedRight
	peak   int64 // bytes of one strip
	seeds  bool  // the rows are the points of a batch axis

	numbers sync.Mutex // held to set the single numbers that strips read
}

// A strip is the chain for a number of rows: a tape and a plan of its own, whose leaves are
// rows of what the chain reads.
type strip struct {
	n     int
	plan  *Plan
	nums  []stripEnd  // single numbers that are read
	ins   []stripEnd  // other values that are read
	outs  []stripEnd  // what is read outside the chain
	right map[Ref]int // the product of the strip's tape: its right operand in packed
	times map[Ref]epilogue
}

// An epilogue is what a product is stored as: to, its product with by, of which there is one
// matrix for all points or one for each.
type epilogue struct{ to, by Ref }

// A stripEnd is a value of the plan, and what it is in a strip.
type stripEnd struct {
	r, at       Ref
	outer, unit int // 0: whole
	kept        bool
	lies        *spread // of what is read outside: where the numbers of at lie in it
	rows        *spread // and where its rows do; nil where they are not together
}

// A packedRight is a right operand that all strips multiply by, and how.
type packedRight struct {
	r      Ref
	ld     int
	turned bool
	k, n   int
	single bool // as float32
}

func (o *packedRight) bytes() int64 {
	if o.single {
		return 4 * int64(o.k) * int64(o.n)
	}
	return 8 * int64(o.k) * int64(o.n)
}

// numberBytes is how much memory each number of r takes where nothing wants it as float64.
func (t *Tape) numberBytes(r Ref) int64 {
	if t.ins[r].dtype == tensor.Float32 {
		return 4
	}
	return 8
}

// bytes is how much memory r then takes.
func (t *Tape) bytes(r Ref) int64 { return t.numberBytes(r) * int64(t.size(r)) }

// stripBytes is what a strip may take of a core's cache beside the weights.
var stripBytes int64 = 640 << 10

// weightBytes is how much of right operands stays in a core's cache. Where more is read for
// every strip the chain must save more than that: a network with weights of 3 MB at a batch
// of 512 took 26.7 and 29.0 ms as a chain, 26.0 and 26.4 without (two pairs on a busy machine).
var weightBytes int64 = 1 << 20

// chainBytes is how many bytes a chain must keep from going through memory to be one. With a quarter of it layer_norm over
// 512×256 numbers took 1.5 times as long, norms of 1000 rows of 300 1.45 times: what is made again is not read, and the rest
// comes from the third cache in time.
var chainBytes int64 = 4 << 20

// leastStrip is how many rows a strip should have: fewer do not fill a product's registers.
// The last ones have half as many or more.
var leastStrip = 8

// rowsOfStrips is how many rows a strip has at least, with products or without: a single one would have
// single numbers.
func rowsOfStrips(product bool) int {
	if product {
		return leastStrip
	}
	return 2
}

// mostTried is how many reductions, or products, are looked at in vain until reductions no longer
// are: each look goes through all that could be cut with it.
const mostTried = 64

// passChain finds the chains, around products of many rows and reductions of large ones.
func passChain(p *Plan) {
	f := p.spaces(true)
	for f != nil && f.rows != nil {
		chains, again := f.chains()
		if !again {
			p.set(f.phase, chains)
			return
		}
	}
}

// spaces cuts what it can along the rows of large products and, if it is to, of large values
// that are reduced; nil without such.
func (p *Plan) spaces(reduced bool) *flood {
	t := p.t
	if t.isStrip {
		return nil
	}
	var f *flood
	tried := 0
	for _, r := range p.order {
		op := t.ins[r].Op()
		product := op == opMatmul
		switch {
		case op.elementwise():
			continue
		case product && 8*int64(t.size(r)) >= chainBytes/4:
		case reduced && tried < mostTried && joinsRows(op) && 8*int64(t.size(t.Args(r)[0])) >= chainBytes:
		default:
			continue
		}
		if f == nil {
			f = newFlood(p)
		}
		if f.space[r] != 0 {
			continue
		}
		var best map[Ref]int
		var most int64
		rows := 0
		for axis, n := range t.physical(r) {
			if n < 2*rowsOfStrips(product) {
				continue
			}
			if !product && !f.leading(map[Ref]int{r: axis}, n) {
				continue
			}
			at := f.from(r, axis)
			if n := f.bytes(at); n > most && (product || f.leading(at, t.physical(r)[axis])) {
				best, most, rows = at, n, t.physical(r)[axis]
			}
		}
		if most < chainBytes || !product && f.closes(best) {
			tried++
			continue
		}
		f.rows = append(f.rows, rows)
		for r, axis := range best {
			f.space[r], f.cut[r] = int32(len(f.rows)), axis
		}
	}
	return f
}

// joinsRows reports whether op makes of each row, along its last axis or others, what other
// operations may go on with in a chain.
func joinsRows(op *Op) bool {
	switch op {
	case opSum, opMaxOf, opMinOf, opNorm, opLogsumexp, opSoftmax, opLogSoftmax:
		return true
	}
	return false
}

// leading reports whether all that is cut, and read where it is cut, lies row after row: pieces
// of columns would be copied, which took longer than was saved.
func (f *flood) leading(at map[Ref]int, rows int) bool {
	p, t := f.p, f.p.t
	first := func(r Ref, axis int) bool { return t.physical(r)[:axis].Size() == 1 }
	for r, axis := range at {
		if !first(r, axis) {
			return false
		}
		q, ok := t.cutsOf(r, axis, rows)
		if !ok {
			return false
		}
		for i, a := range t.Args(r) {
			if a = p.same[a]; q[i] >= 0 && !first(a, q[i]) {
				return false
			}
		}
	}
	return true
}

// closes reports whether the programs that make what is cut may add it up by themselves (tile_sums.go): no other
// reduction is there, and nothing of its size is made of the sums.
func (f *flood) closes(at map[Ref]int) bool {
	t := f.p.t
	for r := range at {
		switch {
		case !joinsRows(t.ins[r].Op()):
			continue
		case !f.p.isAlong(r) || f.p.isLong(r):
			return false
		}
		size := t.size(f.p.same[t.Args(r)[0]])
		seen := map[Ref]bool{r: true}
		for queue := []Ref{r}; len(queue) > 0; queue = queue[1:] {
			for _, u := range f.users[queue[0]] {
				if _, in := at[u]; in && !seen[u] {
					if t.size(u) >= size {
						return false
					}
					seen[u] = true
					queue = append(queue, u)
				}
			}
		}
	}
	return true
}

// set notes the chains in the plan; there may be none.
func (p *Plan) set(phase []int32, chains []*chain) {
	if len(chains) == 0 {
		return
	}
	p.phase, p.chains, p.chain = phase, chains, make([]int32, len(p.live))
	for i, c := range chains {
		for _, r := range c.refs {
			p.chain[r] = int32(i + 1)
		}
	}
}

// A flood spreads a cut from a product over all that can be cut with it.
type flood struct {
	p     *Plan
	users map[Ref][]Ref // of leaves, too
	open  []bool        // by Ref: it runs, and has more than one element
	space []int32       // by Ref: its place in rows, from 1; 0 for what is in no chain
	cut   map[Ref]int
	phase []int32
	rows  []int // of each space
}

// newFlood is a flood that may go anywhere but through single numbers and what is empty.
func newFlood(p *Plan) *flood {
	f := &flood{p: p, users: map[Ref][]Ref{}, open: make([]bool, len(p.live)), space: make([]int32, len(p.live)), cut: map[Ref]int{}}
	for _, r := range p.order {
		f.open[r] = !p.t.single(r) && p.t.size(r) > 0
		for _, a := range p.t.Args(r) {
			if a = p.same[a]; !p.t.single(a) && !slices.Contains(f.users[a], r) {
				f.users[a] = append(f.users[a], r)
			}
		}
	}
	return f
}

// from is what can be cut where the axis of r is, and along which axis of its own. From a
// reduction on that is also what reads the same rows of a leaf, as the ways forward and back do.
func (f *flood) from(r Ref, axis int) map[Ref]int {
	p, t := f.p, f.p.t
	rows := t.physical(r)[axis]
	at := map[Ref]int{}
	var queue []Ref
	try := func(r Ref, axis int) bool {
		if f.fits(at, r, axis, rows) {
			at[r] = axis
			queue = append(queue, r)
			return true
		}
		return false
	}
	readers := func(r Ref, cut int) {
		for _, u := range f.users[r] {
			for axis := range t.physical(u) {
				q, ok := t.cutsOf(u, axis, rows)
				if !ok {
					continue
				}
				mine := false
				for i, a := range t.Args(u) {
					mine = mine || p.same[a] == r && q[i] == cut
				}
				if mine && try(u, axis) {
					break
				}
			}
		}
	}
	leaves := t.ins[r].Op() != opMatmul
	try(r, axis)
	for len(queue) > 0 {
		r := queue[0]
		queue = queue[1:]
		q, _ := t.cutsOf(r, at[r], rows)
		for i, a := range t.Args(r) {
			if a = p.same[a]; q[i] < 0 {
				continue
			}
			if t.known(a) && leaves {
				readers(a, q[i])
			} else {
				try(a, q[i])
			}
		}
		readers(r, at[r])
	}
	return at
}

// fits reports whether r can be cut along the axis, beside what is cut already.
func (f *flood) fits(at map[Ref]int, r Ref, axis, rows int) bool {
	p, t := f.p, f.p.t
	if _, done := at[r]; done || !f.open[r] || f.space[r] != 0 || t.physical(r)[axis]%rows != 0 {
		return false
	}
	agree := func(u Ref, axis int, a Ref, want func(q int) bool) bool {
		q, ok := t.cutsOf(u, axis, rows)
		for i, b := range t.Args(u) {
			ok = ok && (a != None && p.same[b] != a || want(q[i]))
		}
		return ok
	}
	q, ok := t.cutsOf(r, axis, rows)
	for i, a := range t.Args(r) {
		if c, in := at[p.same[a]]; ok && (in && c != q[i] || q[i] >= 0 && t.size(a) == 0) {
			return false
		}
	}
	if !ok {
		return false
	}
	for _, u := range f.users[r] {
		if c, in := at[u]; in && !agree(u, c, r, func(q int) bool { return q == axis }) {
			return false
		}
	}
	return true
}

// bytes is how much of what a cut reaches need not go through memory.
func (f *flood) bytes(at map[Ref]int) (n int64) {
	for r := range at {
		if f.inside(r, func(u Ref) bool { _, in := at[u]; return in }) {
			n += f.p.t.bytes(r)
		}
	}
	return n
}

// inside reports whether r is read by such as are in alone. A reshaped value is where its
// argument is.
func (f *flood) inside(r Ref, in func(u Ref) bool) bool {
	if f.p.t.ins[r].Op() == opReshape {
		return false
	}
	for _, o := range f.p.outs {
		if o != None && f.p.same[o] == r {
			return false
		}
	}
	for _, u := range f.users[r] {
		if !in(u) {
			return false
		}
	}
	return true
}

// chains makes a chain of what is cut alike, and takes what does not pay, or cannot be, out
// of f; then it has to be called again. What a chain reads runs before it and what reads it
// after it: the phase of an instruction counts the chains that must be through before it.
func (f *flood) chains() (chains []*chain, again bool) {
	p, t := f.p, f.p.t
	f.phase = make([]int32, len(p.live))
	type key struct{ space, phase int32 }
	at := map[key]*chain{}
	for _, r := range p.order {
		for _, a := range t.Args(r) {
			a = p.same[a]
			n := f.phase[a]
			if f.space[a] != 0 && f.space[a] != f.space[r] {
				n++
			}
			f.phase[r] = max(f.phase[r], n)
		}
		if f.space[r] == 0 {
			continue
		}
		k := key{f.space[r], f.phase[r]}
		c := at[k]
		if c == nil {
			c = &chain{rows: f.rows[f.space[r]-1], cut: map[Ref]int{}}
			at[k] = c
			chains = append(chains, c)
		}
		c.refs = append(c.refs, r)
		c.cut[r] = f.cut[r]
	}
	for _, c := range chains {
		if !f.build(c) {
			for _, r := range c.refs {
				f.space[r] = 0
			}
			again = true
		}
	}
	return chains, again
}

// build cuts a chain into strips; false when it does not pay, or cannot be.
func (f *flood) build(c *chain) bool {
	p, t := f.p, f.p.t
	member := func(u Ref) bool { _, in := c.cut[u]; return in }
	var saved int64
	product, reduced := false, false
	outs := map[Ref]bool{}
	for _, r := range c.refs {
		product, reduced = product || t.ins[r].Op() == opMatmul, reduced || joinsRows(t.ins[r].Op())
		if f.inside(r, member) {
			saved += t.bytes(r)
			continue
		}
		outs[r] = t.ins[r].Op() != opReshape
		for _, o := range p.outs {
			outs[r] = outs[r] || o != None && p.same[o] == r
		}
		for _, u := range f.users[r] {
			outs[r] = outs[r] || !member(u)
		}
	}
	if saved < chainBytes || !product && !reduced {
		return false
	}
	if weights, strips := f.atLeast(c); weights > weightBytes && weights*strips > saved {
		return false // known before a strip is made, which costs as much as planning the chain
	}
	least := rowsOfStrips(product)
	few := c.strip(p, least, outs)
	if few == nil {
		return false
	}
	perRow := few.plan.peak / int64(least)
	n := min(c.rows, int(stripBytes/max(1, perRow)))
	switch {
	case n >= least && product:
		n &^= leastStrip - 1
	case n < least && !product && 2*few.plan.peak <= 3*stripBytes: // of layer_norm over rows of 100×100, two take 800 KB: .8 of the time
		n = least
	case n < least:
		return false
	}
	c.parts = min((c.rows+n-1)/n, c.rows/rowsOfStrips(false)) // no part is a single row
	if c.parts < 2 {
		return false
	}
	if !product {
		c.parts = evenParts(c.rows, c.parts)
	}
	c.strips = append(c.strips, c.strip(p, (c.rows+c.parts-1)/c.parts, outs))
	if c.rows%c.parts != 0 {
		c.strips = append(c.strips, c.strip(p, c.rows/c.parts, outs))
	}
	c.peak = c.strips[0].plan.peak
	c.rights()
	return c.weights()*int64(c.parts) <= saved || c.weights() <= weightBytes
}

// evenParts is how many parts of so many rows have as many each, if there is such a number from
// least on that is less than twice that: then there is one strip. Otherwise it is least.
func evenParts(rows, least int) int {
	for parts := least; parts < 2*least && rows/parts >= rowsOfStrips(false); parts++ {
		if rows%parts == 0 {
			return parts
		}
	}
	return least
}

// atLeast is how many bytes of right operands every strip reads, and how few strips there
// can be: each holds a product's rows.
func (f *flood) atLeast(c *chain) (weights, strips int64) {
	p, t := f.p, f.p.t
	var row int64
	for _, r := range c.refs {
		if t.ins[r].Op() != opMatmul {
			continue
		}
		row = max(row, t.bytes(r)/int64(c.rows))
		y := p.same[t.Args(r)[1]]
		if q, _ := t.cutsOf(r, c.cut[r], c.rows); q[1] < 0 && t.packs(r) {
			m := t.productOf(r)
			if _, member := c.cut[y]; !member && !t.single(y) {
				weights += t.numberBytes(r) * int64(m.k) * int64(m.n)
			}
		}
	}
	return weights, (int64(c.rows)*row + stripBytes - 1) / stripBytes
}

// weights is how many bytes of right operands every strip reads.
func (c *chain) weights() (n int64) {
	for _, o := range c.packed {
		n += o.bytes()
	}
	return n
}
