package tape

import (
	"slices"

	"nabla/kernels"
	"nabla/tape/tensor"
)

// A spread walks an argument in the order of a larger result: how a broadcast looks
// in memory, with neighbouring axes of one behaviour joined.
type spread struct {
	dims, strides []int
	room          [2][fewAxes]int // of both, where they are few
}

// fewAxes are as many as most spreads have, once neighbours are joined.
const fewAxes = 4

// newSpread broadcasts a shape to another, as NumPy does; nil when both are the same in
// memory.
func newSpread(from, to tensor.Shape) *spread {
	if from.Size() == to.Size() { // before there is a list
		return nil
	}
	sp := new(spread)
	if !sp.set(from, to) {
		return nil
	}
	return sp
}

// set makes sp that of a shape broadcast to another; false when both are the same in memory.
func (sp *spread) set(from, to tensor.Shape) bool {
	var room [16]int
	n, lead := len(to), len(to)-len(from)
	stride, strides := 1, grown(room[:], n)
	for i := n - 1; i >= lead; i-- {
		if from[i-lead] != 1 {
			strides[i] = stride
		}
		stride *= from[i-lead]
	}
	sp.dims, sp.strides = sp.room[0][:0], sp.room[1][:0]
	for i, d := range to {
		sp.axis(d, strides[i])
	}
	return len(sp.dims) > 1 || len(sp.dims) == 1 && sp.strides[0] != 1 // else only ones differ
}

// axis adds an inner axis of d steps of stride st, joined with the one before where they
// go on.
func (sp *spread) axis(d, st int) {
	switch k := len(sp.dims); {
	case d == 1:
	case k > 0 && sp.strides[k-1] == st*d:
		sp.dims[k-1] *= d
		sp.strides[k-1] = st
	default:
		sp.dims, sp.strides = append(sp.dims, d), append(sp.strides, st)
	}
}

// longestShort is how many numbers rows have at most that are copied along another axis at once: of 6 numbers, of
// windows of 6×6, in a third of the time.
const longestShort = 64

// layAtOnce writes all of a spread whose short rows lie together, along the longest of its other axes at once. It
// reports whether it is one.
func (sp *spread) layAtOnce(dst, src []float64) bool {
	last := len(sp.dims) - 1
	if len(dst) == 0 {
		return true
	}
	if last < 1 || sp.strides[last] != 1 || sp.dims[last] > longestShort || len(sp.dims) > fewAxes {
		return false
	}
	n, along := sp.dims[last], 0
	for i, d := range sp.dims[:last] {
		if d >= sp.dims[along] {
			along = i
		}
	}
	var to [fewAxes]int // from one place of an axis to the next
	step := n
	for i := last - 1; i >= 0; i-- {
		to[i] = step
		step *= sp.dims[i]
	}
	var index [fewAxes]int
	for at, from := 0, 0; ; {
		kernels.CopyRows(dst[at:], to[along], src[from:], sp.strides[along], n, sp.dims[along])
		i := last - 1
		for ; i >= 0; i-- {
			if i == along {
				continue
			}
			at, from = at+to[i], from+sp.strides[i]
			if index[i]++; index[i] < sp.dims[i] {
				break
			}
			at, from, index[i] = at-index[i]*to[i], from-index[i]*sp.strides[i], 0
		}
		if i < 0 {
			return true
		}
	}
}

// place is where element i of what is spread lies. Index becomes its index, unless it is nil.
func (sp *spread) place(i int, index []int) (off int) {
	for k := len(sp.dims) - 1; k >= 0; k-- {
		at := i % sp.dims[k]
		i /= sp.dims[k]
		off += at * sp.strides[k]
		if index != nil {
			index[k] = at
		}
	}
	return off
}

// spreadOver is x, of a shape, broadcast to another: x itself where nothing changes.
func spreadOver[T any](x []T, from, to tensor.Shape) []T {
	return spreadTo(newSpread(from, to), x, to.Size())
}

// spreadTo is x as it is spread to n numbers.
func spreadTo[T any](sp *spread, x []T, n int) []T {
	if sp == nil {
		return x
	}
	out := make([]T, n)
	fillSpread(sp, out, x, 0)
	return out
}

// places lists where n things of a size begin, one after the other.
func places(n, size int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i * size
	}
	return at
}

// moves reports whether each number of the result of op is one of an argument, or 0.
func (op *Op) moves() bool {
	switch op {
	case opReshape, opBroadcast, opTranspose, opSlice, opUnslice, opReverse, opConcat, opTake, opBlock, opUnbatch, opRebatch, opStop, opAssign:
		return true
	}
	return false
}

// isIndex reports whether argument i of r says which numbers move and is not moved itself.
func (t *Tape) isIndex(r Ref, i int) bool { return t.ins[r].Op() == opTake && i == 1 }

// origins says which number of its arguments each number of r is, where its operation moves
// them: counted from 1 through all arguments but an index, and 0 for none. It runs once,
// on these numbers.
func (t *Tape) origins(r Ref, index []float64) []int {
	var data [][]float64
	n := 0
	for i, a := range t.Args(r) {
		if t.isIndex(r, i) {
			data = append(data, index)
			continue
		}
		v := make([]float64, t.size(a))
		for k := range v {
			n++
			v[k] = float64(n)
		}
		data = append(data, v)
	}
	from := make([]float64, t.size(r))
	t.runStructural(r, from, data, 1)
	at := make([]int, len(from))
	for i, k := range from {
		at[i] = int(k)
	}
	return at
}

// fillSpread writes to dst what src looks like from element start of the spread shape on.
func fillSpread[T any](sp *spread, dst, src []T, start int) {
	if len(dst) == 0 {
		return
	}
	n := len(sp.dims)
	if x, ok := any(dst).([]float64); ok && n == 2 && sp.strides[0] == 1 && sp.strides[1] == 0 && sp.dims[1] > mostShort {
		inner := sp.dims[1]
		kernels.StretchFrom(x, any(src).([]float64)[start/inner:], inner, start%inner)
		return
	}
	var idx [16]int
	index := idx[:]
	if n > len(idx) {
		index = make([]int, n)
	}
	off := sp.place(start, index)
	inner, step := sp.dims[n-1], sp.strides[n-1]
	for k := 0; k < len(dst); {
		if rows := (len(dst) - k) / inner; n > 1 && rows > 0 && index[n-1] == 0 && rowsAtOnce(inner, step, sp.strides[n-2]) {
			rows = min(rows, sp.dims[n-2]-index[n-2])
			fillShort(dst[k:k+rows*inner], src, off, inner, step, sp.strides[n-2])
			k += rows * inner
			index[n-2] += rows - 1
			off += (rows-1)*sp.strides[n-2] + sp.advance(index)
			continue
		}
		m := min(inner-index[n-1], len(dst)-k)
		fillRow(dst[k:k+m], src, off, step)
		k += m
		off -= index[n-1] * step
		index[n-1] = 0
		off += sp.advance(index)
	}
}

// mostShort is the length up to which rows are written without a call for each, and from which numbers are
// worth a kernel's.
const mostShort = 8

// rowsAtOnce reports whether fillShort is for rows of n numbers: of few, of one repeated and then the next, or of a row
// repeated. Longer ones are as quick one by one.
func rowsAtOnce(n, step, next int) bool {
	return n <= mostShort || n < tileSize && (step == 0 && next == 1 || next == 0)
}

// fillShort writes short rows: of numbers of src from place off on that are step apart, the rows themselves next apart.
func fillShort[T any](dst, src []T, off, inner, step, next int) {
	if x, ok := any(dst).([]float64); ok && step == 0 && next == 1 {
		kernels.Stretch(x, any(src).([]float64)[off:][:len(dst)/inner], inner)
		return
	}
	all := len(dst)
	if next == 0 {
		all = inner
	}
	for k := 0; k < all; k += inner {
		row := dst[k : k+inner]
		if inner > mostShort {
			fillRow(row, src, off, step)
		} else {
			o := off
			for j := range row {
				row[j] = src[o]
				o += step
			}
		}
		off += next
	}
	for all < len(dst) { // the same row again, and twice as many
		all += copy(dst[all:], dst[:all])
	}
}

// fillRow writes numbers of src from place off on that are step apart.
func fillRow[T any](dst, src []T, off, step int) {
	switch step {
	case 0:
		fill(dst, src[off])
	case 1:
		copy(dst, src[off:])
	default:
		lay(dst, 0, 1, src, off, step, len(dst))
	}
}

// lay writes count numbers, those of src that are by apart from place off on, to dst, to apart from
// place at on.
func lay[T any](dst []T, at, to int, src []T, off, by, count int) {
	if y, ok := any(dst).([]float64); ok && count >= mostShort {
		switch x := any(src).([]float64); {
		case to == 1 && by > 1:
			kernels.Strided(y[at:at+count], x[off:], by)
			return
		case to == 1 && by == -1:
			kernels.Reverse(y[at:at+count], x[off+1-count:off+1])
			return
		case to > 1 && by == 1:
			kernels.ToStrided(y[at:], to, x[off:off+count])
			return
		case to > 1 && by == to:
			kernels.CopyEvery(y[at:], x[off:], to, count)
			return
		}
	}
	for range count {
		dst[at] = src[off]
		at += to
		off += by
	}
}

// layRows is lay of rows of n numbers.
func layRows[T any](dst []T, at, to int, src []T, off, by, n, count int) {
	if n == 1 {
		lay(dst, at, to, src, off, by, count)
		return
	}
	if y, ok := any(dst).([]float64); ok && n > 0 && count > 0 && to >= 0 && by >= 0 {
		kernels.CopyRows(y[at:], to, any(src).([]float64)[off:], by, n, count)
		return
	}
	for range count {
		copy(dst[at:at+n], src[off:])
		at += to
		off += by
	}
}

// fill writes one number everywhere.
func fill[T any](dst []T, v T) {
	if x, ok := any(dst).([]float64); ok {
		kernels.Fill(x, any(v).(float64))
		return
	}
	for i := range dst {
		dst[i] = v
	}
}

// advance counts the axes outside the inner one on by one, and returns how far that moves.
func (sp *spread) advance(index []int) (off int) {
	for i := len(sp.dims) - 2; i >= 0; i-- {
		index[i]++
		off += sp.strides[i]
		if index[i] < sp.dims[i] {
			break
		}
		off -= index[i] * sp.strides[i]
		index[i] = 0
	}
	return off
}

// scatter writes src, in order, to the places of a spread. Strips of a transposed result are columns of it: number by number
// 512×512 took 12 times as long.
func scatter[T real](sp *spread, dst []float64, src []T) {
	n := len(sp.dims)
	if n == 0 {
		if len(src) > 0 {
			dst[0] = float64(src[0])
		}
		return
	}
	index := make([]int, n)
	inner, step := sp.dims[n-1], sp.strides[n-1]
	off := 0
	if x, ok := any(src).([]float64); ok && n > 1 && step > 1 && sp.strides[n-2] == 1 { // columns
		rows := sp.dims[n-2]
		outer := spread{dims: sp.dims[:n-1], strides: sp.strides[:n-1]}
		for k := 0; k < len(x); k += rows * inner {
			kernels.Transpose(dst[off:], step, x[k:], inner, rows, inner)
			off += outer.advance(index[:n-1])
		}
		return
	}
	for k := 0; k < len(src); k += inner {
		if step == 1 {
			switch row := any(src[k : k+inner]).(type) {
			case []float64:
				copy(dst[off:off+inner], row)
			case []float32:
				kernels.Widen(dst[off:off+inner], row)
			}
		} else {
			for j := range inner {
				dst[off+j*step] = float64(src[k+j])
			}
		}
		off += sp.advance(index)
	}
}

// spreadOf is nil when a has the very layout of r.
func (t *Tape) spreadOf(a, r Ref) *spread {
	if t.sameLayout(a, r) {
		return nil
	}
	var from, to [8]int
	return newSpread(t.appendAligned(from[:0], a, r), t.appendPhysical(to[:0], r))
}

// alignedTo is the shape of a in memory with ones wherever r has an axis more.
func (t *Tape) alignedTo(a, r Ref) tensor.Shape { return t.appendAligned(nil, a, r) }

// appendAligned appends that to s.
func (t *Tape) appendAligned(s tensor.Shape, a, r Ref) tensor.Shape {
	mine := t.Axes(a)
	for _, axis := range t.Axes(r) {
		if slices.Contains(mine, axis) {
			s = append(s, t.axes[axis])
		} else {
			s = append(s, 1)
		}
	}
	as, rs := t.Shape(a), t.Shape(r)
	for range len(rs) - len(as) {
		s = append(s, 1)
	}
	return append(s, as...)
}
