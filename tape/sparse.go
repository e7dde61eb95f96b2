package tape

import (
	"slices"

	"nabla/kernels/pages"
	"nabla/tape/pool"
	"nabla/tape/tensor"
)

// Sparse Jacobians, after Curtis, Powell and Reid (1974): rows that share no column can be
// computed as one, by a seed that has a one for each of them. Which rows may go together
// is a colouring of the rows of the pattern (Gebremedhin, Manne and Pothen, "What color
// is your Jacobian?", SIAM Review 47, 2005). Columns that share no row likewise, in
// forward mode. A Hessian is the Jacobian of a gradient, and so is its pattern.
//
// Every number is the one that its own row (or column) would give, bit for bit: whatever
// leads to an entry depends on no other element of the seed, or the entry would be in
// two of the rows. But inside a matrix product a zero of one row may meet an infinity that
// another row needs. So where the answer is not finite, it is computed again with every
// line by itself.

// compressing is off where tests want the plain way.
var compressing = true

// leastCompressed is the size of a Jacobian below which its pattern is not looked at.
const leastCompressed = 1 << 12

// jacobianSparse is the dense Jacobian computed from few lines; None when that does not pay.
func (t *Tape) jacobianSparse(y, s Ref, mode string) Ref {
	rows, cols := t.Shape(y).Size(), t.Shape(s).Size()
	if !compressing || !t.zerosStay([]Ref{y, s}) || min(rows, cols) < 8 || rows*cols < leastCompressed {
		return None
	}
	p := t.dependence(y, []Ref{s})
	if p == nil {
		return None
	}
	c := t.compress(p, mode, false)
	if c == nil {
		t.filled = true
		return None
	}
	sums := t.compressed(c, y, []Ref{s})
	if sums == None {
		return None
	}
	t.compressions = append(t.compressions, c)
	return t.record(opDecompress, append(slices.Clone(t.Shape(y)), t.Shape(s)...), Attr{Lines: c}, sums)
}

// diagonalSeed is the seed, along an axis of its own, of the rows of dg/ds that its diagonal is taken
// from: each by itself, or several together that have nothing on the diagonal at each other's places.
func (t *Tape) diagonalSeed(g, s Ref) (axis int, seed Ref) {
	n := t.Shape(s).Size()
	if compressing && !t.apart && n*n >= leastCompressed && t.ins[g].shape == t.ins[s].shape && t.zerosStay([]Ref{g, s}) {
		if p := t.dependence(g, []Ref{s}); p != nil && t.isFew(p) {
			c := &compression{rows: n, cols: n, lines: p.Entries(), colour: make([]int32, n)}
			c.n = c.lines.Apart(c.colour)
			t.compressions = append(t.compressions, c)
			axis = t.NewAxis(c.n)
			return axis, t.seed(c, axis, g)
		}
	}
	axis = t.NewAxis(n)
	return axis, t.basis(axis, t.Shape(s), t.ins[s].dtype)
}

// zerosStay reports whether entries outside of a pattern are 0: with the conventions of
// systems that multiply them by infinities they may be NaN. Points of a batch have
// matrices of their own.
func (t *Tape) zerosStay(rs []Ref) bool {
	return t.Conventions == "" && !slices.ContainsFunc(rs, func(r Ref) bool { return t.ins[r].batch != 0 })
}

// A sparse is a Jacobian of which only the entries are wanted: a leaf of an answer.
type sparse struct {
	t     *Tape
	c     *compression // nil: sums is the matrix itself
	sums  Ref
	y, x  tensor.Shape
	dtype tensor.DType
	got   *tensor.Sparse
}

// sparseJacobian prepares the Jacobian of y by the versions of a source as its entries:
// nil where y is not connected, and not ok when it is not sparse. A symmetric one may take
// entries from the other side of the diagonal.
func (t *Tape) sparseJacobian(y Ref, srcs []Ref, mode string, symmetric bool) (s *sparse, ok bool) {
	if !t.zerosStay(append([]Ref{y}, srcs...)) {
		return nil, false
	}
	p := t.dependence(y, srcs)
	if p == nil {
		return nil, true
	}
	c := t.compress(p, mode, true)
	if c == nil {
		return nil, false
	}
	if symmetric && !c.forward && c.n > 64 && !t.apart && len(srcs) == 1 && t.symmetric() {
		if other := c.peeled(c.n); other != nil {
			c = other
		}
	}
	sums := t.compressed(c, y, srcs)
	if sums == None {
		return nil, true
	}
	t.compressions = append(t.compressions, c)
	return &sparse{t: t, c: c, sums: sums, y: t.Shape(y), x: t.Shape(srcs[0]), dtype: t.ins[sums].dtype}, true
}

// symmetric reports whether second derivatives on this tape are certain to be: a gradient
// of the user's own may be that of nothing.
func (t *Tape) symmetric() bool {
	return !slices.ContainsFunc(t.ins, func(in Instr) bool { return in.Op() == opWithGrad || in.Op() == opLoop })
}

// wanted is what should be computed together with other values; None when the matrix
// takes care of itself.
func (s *sparse) wanted() Ref {
	if s.got != nil {
		return None
	}
	if runs, _ := s.t.rowRuns([]Ref{s.sums}); s.c != nil && len(runs) > 0 {
		return None
	}
	return s.sums
}

// compute fills the entries in. Where the sums are large they are computed some at a time
// and never stand in memory together.
func (s *sparse) compute() *tensor.Sparse {
	if s.got != nil {
		return s.got
	}
	t, c := s.t, s.c
	if c == nil {
		t.Compute([]Ref{s.sums})
		s.gather(t.data(s.sums))
		return s.got
	}
	data := pages.Fresh[float64](len(c.lines.Col))
	if runs, _ := t.rowRuns([]Ref{s.sums}); len(runs) == 1 {
		f := c.filling(data)
		runs[0].parts(func(_, from int, rows []float64) { f.fill(from, rows) })
	} else {
		t.checkSize(s.sums)
		t.Values([]Ref{s.sums})
		if c.hubs != nil {
			c.filling(data).fill(0, t.data(s.sums))
		} else {
			c.gather(data, t.data(s.sums), t.threads())
		}
	}
	lines, col := c.lines, c.lines.Col
	if c.forward {
		lines, data = lines.Turned(data, c.rows)
		col = lines.Col
	}
	s.got = &tensor.Sparse{DType: s.dtype, Shape: append(slices.Clone(s.y), s.x...), Rows: c.rows, Cols: c.cols,
		Ptr: lines.Ptr, Col: col, Data: data}
	s.got.DropZeros()
	return s.got
}

// isWhole reports whether sums are the matrix itself, which is still to be gathered.
func (s *sparse) isWhole() bool { return s.got == nil && s.c == nil }

// gather takes the entries from the matrix itself.
func (s *sparse) gather(data []float64) {
	s.got = tensor.SparseOf(&tensor.Tensor{DType: s.dtype, Shape: append(slices.Clone(s.y), s.x...), Data: data}, s.y.Size())
}

// A filling takes the entries of a matrix from sums of its lines, some colours at a time.
type filling struct {
	*compression
	data         []float64
	start, order []int32 // the lines of each colour; nil where looking at all of them is as good
	across       map[int32][]hubEntry
}

// A hubEntry is an entry of another line that stands in the row of a hub.
type hubEntry struct{ line, at int32 }

// filling is one of data, the entries line by line.
func (c *compression) filling(data []float64) *filling {
	f := &filling{compression: c, data: data}
	if c.n > 8 || c.hubs != nil {
		f.start, f.order = c.byColour()
	}
	if c.hubs == nil {
		return f
	}
	f.across = map[int32][]hubEntry{}
	ptr, cols := c.lines.Ptr, c.lines.Col
	for i := range c.rows {
		for e := ptr[i]; e < ptr[i+1]; e++ {
			if j := cols[e]; c.hubs[j] && !c.hubs[i] {
				f.across[j] = append(f.across[j], hubEntry{int32(i), e})
			}
		}
	}
	return f
}

// fill takes the entries of the colours from one on.
func (f *filling) fill(from int, sums []float64) {
	width := f.width()
	for k := range len(sums) / max(1, width) {
		row := sums[k*width : (k+1)*width]
		if f.order == nil {
			for i, colour := range f.colour {
				if int(colour) == from+k {
					f.line(int32(i), row)
				}
			}
			continue
		}
		for _, i := range f.order[f.start[from+k]:f.start[from+k+1]] {
			f.line(i, row)
			for _, a := range f.across[i] { // a hub is a column too
				f.data[a.at] = row[a.line]
			}
		}
	}
}

// line takes the entries of line i, but for those that stand in the row of a hub.
func (f *filling) line(i int32, row []float64) {
	ptr, cols := f.lines.Ptr, f.lines.Col
	for e := ptr[i]; e < ptr[i+1]; e++ {
		if f.hubs == nil || f.hubs[i] || !f.hubs[cols[e]] {
			f.data[e] = row[cols[e]]
		}
	}
}

// gather takes the entries from all sums, line by line.
func (c *compression) gather(data, sums []float64, threads int) {
	parts, lines, width := 1, len(c.colour), c.width()
	if threads > 1 && pool.Worth(8*len(data), pool.LeastElements) {
		parts = 4 * threads
	}
	pool.Run(threads, parts, func(k int) {
		ptr, cols := c.lines.Ptr, c.lines.Col
		for i := lines * k / parts; i < lines*(k+1)/parts; i++ {
			row := sums[int(c.colour[i])*width:][:width]
			for e := ptr[i]; e < ptr[i+1]; e++ {
				data[e] = row[cols[e]]
			}
		}
	})
}

// compressed records the sums of the lines of each colour: shape (colours, x.shape), or
// in forward mode (colours, y.shape). None when y is not connected.
func (t *Tape) compressed(c *compression, y Ref, srcs []Ref) Ref {
	axis := t.NewAxis(c.n)
	sum := None
	if c.forward {
		seeds := make([]Ref, len(srcs))
		for i, s := range srcs {
			seeds[i] = t.seed(c, axis, s)
		}
		sum = t.JVP([]Ref{y}, srcs, seeds)[0]
	} else {
		seed := t.seed(c, axis, y)
		for i, g := range t.VJP([]Ref{y}, []Ref{seed}, srcs) {
			switch {
			case g == None:
			case sum == None:
				sum = t.full(g, srcs[i])
			default:
				sum = t.Apply(opAdd, sum, g)
			}
		}
	}
	if sum == None {
		return None
	}
	return t.unbatched(sum, axis, tensor.Shape{c.n}) // large ones run some rows at a time
}

// seed is the seed for the lines of r: where each is computed by itself, the plain one.
func (t *Tape) seed(c *compression, axis int, r Ref) Ref {
	if !c.joins() {
		return t.basis(axis, t.Shape(r), t.ins[r].dtype)
	}
	return t.groups(axis, t.Shape(r), t.ins[r].dtype, c.colour)
}

// blurred reports whether the answer is not finite and lines of its matrices were computed
// together, so that they are to be computed apart. Of larger matrices that takes too long.
func (s *session) blurred() bool {
	if !s.odd {
		return false
	}
	joins := false
	for _, c := range s.t.compressions {
		if c.rows*c.cols > mostFactored {
			return false
		}
		joins = joins || c.joins()
	}
	return joins
}

// veiled reports whether limits are to be looked for where only sums of a matrix's lines were
// computed, and the matrix itself is small enough: slopes are infinite on the way, there is a kink
// that a second derivative may not have, or numbers left the range.
func (s *session) veiled() bool {
	t := s.t
	if !s.q.Sparse || len(t.compressions) == 0 || t.DType != tensor.Float64 || t.Conventions != "" || len(t.ins) > mostUnbounded {
		return false
	}
	size := 0
	for _, c := range t.compressions {
		if size += c.rows * c.cols; size > mostNumbers {
			return false
		}
	}
	return s.odd || s.met(false) >= 0 || s.met(true) >= 0 || s.far()
}

// far reports whether an input, a target or an entry of a matrix may have met others outside the
// range. Of many numbers that is not asked, as in exceeds.
func (s *session) far() bool {
	size := 0
	far := func(data []float64) bool {
		size += len(data)
		return slices.ContainsFunc(data, extreme)
	}
	found := false
	for r := range s.t.ins {
		if s.t.ins[r].Op() == opInput {
			found = far(s.t.data(Ref(r))) || found
		}
	}
	for _, r := range s.tensors() {
		found = far(s.data(r)) || found
	}
	_, matrices := s.results()
	for _, m := range matrices {
		found = far(m.compute().Data) || found
	}
	return found && size <= mostExposed
}

var opDecompress, opCompress *Op

var sparseRows = []Op{
	{As: &opDecompress, Name: "decompress", Args: "x", Hidden: true, Doc: "a sparse matrix of the sums of its lines, by colour",
		Run: func(c *run) {
			clear(c.out)
			c.attr.Lines.dense(func(matrix, sum int) { c.out[matrix] = c.args[0][sum] })
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.record(opCompress, t.Shape(t.Args(r)[0]), Attr{Lines: t.Attr(r).Lines}, t.full(ct, r))
		}},
	{As: &opCompress, Name: "compress", Args: "x", Hidden: true, Doc: "the entries of a sparse matrix where the sums of its lines have them",
		Run: func(c *run) {
			clear(c.out)
			c.attr.Lines.dense(func(matrix, sum int) { c.out[sum] = c.args[0][matrix] })
		},
		Adj: func(t *Tape, r Ref, i int, ct Ref) Ref {
			return t.record(opDecompress, t.Shape(t.Args(r)[0]), Attr{Lines: t.Attr(r).Lines}, t.full(ct, r))
		}},
}

// leastStreamed is the size from which on a compressed matrix is not kept whole to be written.
const leastStreamed = 1 << 20

// decompressed hands out the rows of a matrix r, in order and some at a time.
func (t *Tape) decompressed(r Ref, emit func(part []float64) error) error {
	c, sums := t.Attr(r).Lines, t.Args(r)[0]
	t.Values([]Ref{sums})
	data := t.data(sums)
	rows := c.lines
	if c.forward {
		rows = c.lines.Transposed(c.rows)
	}
	n := max(1, 1<<16/c.cols)
	part := make([]float64, n*c.cols)
	for from := 0; from < c.rows; from += n {
		clear(part)
		k := min(n, c.rows-from)
		for i := range k {
			for _, j := range rows.Row(from + i) {
				at := int(c.colour[from+i])*c.cols + int(j)
				if c.forward {
					at = int(c.colour[j])*c.rows + from + i
				}
				part[i*c.cols+int(j)] = data[at]
			}
		}
		if err := emit(part[:k*c.cols]); err != nil {
			return err
		}
	}
	return nil
}
