package tape

import (
	"fmt"
	"math"
	"slices"

	"nabla/kernels/pages"
	"nabla/tape/pool"
	"nabla/tape/sparsity"
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

// dependence is the pattern of y by a source, which may have several versions; nil when y
// does not depend on it.
func (t *Tape) dependence(y Ref, srcs []Ref) *sparsity.Pattern {
	lo := slices.Min(srcs)
	cols := t.Shape(srcs[0]).Size()
	if lo > y {
		return nil
	}
	need := make([]bool, y-lo+1)
	for _, s := range srcs {
		if s <= y {
			need[s-lo] = true
		}
	}
	v := sweep{t: t, lo: lo, need: need}
	used := make([]int32, y-lo+1) // how many instructions on the way read a value
	for r := lo; r <= y; r++ {
		need[r-lo] = need[r-lo] || v.reaches(r)
	}
	live := make([]bool, y-lo+1)
	live[y-lo] = need[y-lo]
	size := 0
	for r := y; r >= lo; r-- {
		if !live[r-lo] {
			continue
		}
		size++
		for _, a := range t.Args(r) {
			if a >= lo && need[a-lo] {
				live[a-lo] = true
				used[a-lo]++
			}
		}
	}
	if !live[y-lo] {
		return nil
	}
	if size > mostTraced || cols > math.MaxInt32 || t.size(y) > math.MaxInt32 {
		return sparsity.Everything(t.size(y), cols)
	}
	at := make([]*sparsity.Pattern, y-lo+1)
	for r := lo; r <= y; r++ {
		if !live[r-lo] {
			continue
		}
		if t.check != nil && r&1023 == 0 {
			t.check()
		}
		var p *sparsity.Pattern
		if slices.Contains(srcs, r) {
			p = sparsity.Identity(cols)
		}
		op := t.ins[r].Op()
		for i, a := range t.Args(r) {
			if a < lo || !need[a-lo] {
				continue
			}
			if at[a-lo] != nil && t.passes(op, i) && t.ins[r].dtype.IsFloat() && !(op == opWithGrad && i == 0) {
				p = p.Union(t.linked(r, i, at[a-lo]))
			}
			if used[a-lo]--; used[a-lo] == 0 {
				at[a-lo] = nil
			}
		}
		at[r-lo] = p
	}
	return at[y-lo]
}

// mostTraced bounds the instructions that a pattern is followed through: a long tape of
// single numbers has its structure in its length.
const mostTraced = 1 << 15

// linked is the pattern of r as far as it comes through argument i, whose pattern is p.
func (t *Tape) linked(r Ref, i int, p *sparsity.Pattern) *sparsity.Pattern {
	if t.size(r) == 0 || p.List == nil && len(p.Bands) == 0 {
		return &sparsity.Pattern{Rows: t.size(r), Cols: p.Cols}
	}
	if q := t.moved(r, i, p); q != nil {
		return q
	}
	// element by element
	if rel := t.moved(r, i, sparsity.Identity(p.Rows)); rel != nil {
		if list := p.Listed(); list != nil {
			if q := list.Behind(rel, p.Cols); q != nil {
				return q
			}
		}
	}
	return sparsity.Everything(t.size(r), p.Cols)
}

// moved is linked as bands; nil when there are none that say it.
func (t *Tape) moved(r Ref, i int, p *sparsity.Pattern) *sparsity.Pattern {
	op := t.ins[r].Op()
	a := t.Args(r)[i]
	switch {
	case op.elementwise():
		return p.Repeated(t.alignedTo(a, r), t.physical(r))
	case op == opUnbatch || op == opRebatch:
		wide, logical := a, r
		if op == opRebatch {
			wide, logical = r, a
		}
		axis := int32(t.Attr(r).Axis)
		before := 1
		for _, x := range t.Axes(logical) {
			if x > axis {
				return nil
			}
			before *= t.axes[x]
		}
		if slices.Contains(t.Axes(wide), axis) {
			return p
		}
		inner := t.Shape(wide).Size()
		return p.Repeated(tensor.Shape{before, 1, inner}, tensor.Shape{before, t.axes[axis], inner})
	case op == opSumBatch:
		axis := int32(t.Attr(r).Axis)
		s := tensor.Shape{1, t.axes[axis], t.Shape(r).Size()}
		for _, x := range t.Axes(r) {
			if x < axis {
				s[0] *= t.axes[x]
			} else {
				s[2] *= t.axes[x]
			}
		}
		return p.Summed(s, -2)
	case op.Links == nil:
		return nil
	}
	if t.ins[a].batch != t.ins[r].batch { // repeated along the batch
		var from, to tensor.Shape
		for _, x := range t.Axes(r) {
			to = append(to, t.axes[x])
			if slices.Contains(t.Axes(a), x) {
				from = append(from, t.axes[x])
			} else {
				from = append(from, 1)
			}
		}
		if p = p.Repeated(append(from, t.Shape(a)...), append(to, t.Shape(a)...)); p == nil {
			return nil
		}
	}
	k := &link{t: t, r: r, i: i, out: t.physical(r)}
	k.in = append(slices.Clone(k.out[:len(k.out)-len(t.Shape(r))]), t.Shape(a)...)
	return op.Links(k, p)
}

// A compression says how a Jacobian is computed from few rows of it added up, or few columns.
type compression struct {
	rows, cols int
	forward    bool              // columns are coloured
	lines      *sparsity.Entries // the pattern by rows, or by columns when forward
	colour     []int32           // of each line
	n          int               // colours
	hubs       []bool            // of a symmetric matrix: rows computed alone, which are columns too; or nil
}

func (c *compression) String() string {
	lines, mode, what := c.rows, "reverse", "rows"
	if c.forward {
		lines, mode, what = c.cols, "forward", "columns"
	}
	colours := "colours"
	if c.n == 1 {
		colours = "colour"
	}
	alone := 0
	for _, hub := range c.hubs {
		if hub {
			alone++
		}
	}
	if alone > 0 {
		colours += fmt.Sprintf(" (%d of one row)", alone)
	}
	return fmt.Sprintf("%s, compressed: %d %s for %d %s, at most %d of %d entries are not 0", mode, c.n, colours, lines, what, len(c.lines.Col), int64(c.rows)*int64(c.cols))
}

// compress colours the pattern of a Jacobian; nil when it would not pay. What is not
// sparse is no candidate, and a dense answer is not computed from more than half as many
// lines as it has.
func (t *Tape) compress(p *sparsity.Pattern, mode string, sparse bool) *compression {
	total := float64(p.Rows) * float64(p.Cols)
	if count := p.Count(); count > total/2 && total > 64 || count > math.MaxInt32 || t.Limit > 0 && 24*count > float64(t.Limit) {
		return nil
	}
	e := p.Entries()
	sparse = sparse || t.apart
	rows := &compression{rows: p.Rows, cols: p.Cols, lines: e}
	cols := &compression{rows: p.Rows, cols: p.Cols, forward: true}
	best := func(c *compression, most int) *compression {
		lines, across := p.Rows, p.Cols
		if c.forward {
			lines, across = across, lines
		}
		most = min(most, lines)
		if !sparse {
			most = min(most, lines/2)
		}
		if c.forward {
			if e.Widest() > most {
				return nil
			}
			c.lines = e.Transposed(p.Cols)
		}
		c.colour = make([]int32, lines)
		var ok bool
		if c.n, ok = c.lines.FewColours(c.colour, across); ok && c.n <= most && !t.apart {
			return c
		}
		if least := c.lines.Meeting(across); least <= min(most, lines/2) && !t.apart {
			if c.n, ok = c.lines.Coloured(c.colour, across, most); ok {
				return c
			}
		}
		if most < lines {
			return nil
		}
		c.n = lines // each by itself
		for i := range c.colour {
			c.colour[i] = int32(i)
		}
		return c
	}
	switch {
	case mode == "reverse":
		return best(rows, math.MaxInt32)
	case mode == "forward":
		return best(cols, math.MaxInt32)
	}
	// Without compression the side with fewer lines would be swept; the other one is
	// taken where it needs at least a third less.
	first, second := rows, cols
	if p.Cols < p.Rows {
		first, second = cols, rows
	}
	found := best(first, math.MaxInt32)
	most := math.MaxInt32
	if found != nil {
		most = found.n * 2 / 3
	}
	if other := best(second, most); other != nil {
		return other
	}
	return found
}

// peeled colours the rows of a symmetric pattern in which a few are long: these hubs, the
// head and the shaft of an arrow, get colours of their own, and as their rows are their
// columns too nobody else needs to keep clear of them. It is a star colouring in which
// the hubs are the stars' centres. nil when there are no such rows.
func (c *compression) peeled(found int) *compression {
	e := c.lines
	count := make([]int, e.Widest()+1) // rows by length
	for i := range c.rows {
		count[len(e.Row(i))]++
	}
	least, long, hubs := len(count), len(count), 0
	for d := len(count) - 1; d > 0; d-- { // rows of d and more
		hubs += count[d]
		if hubs+d-1 < least {
			least, long = hubs+d-1, d
		}
	}
	if 4*least > found {
		return nil
	}
	out := &compression{rows: c.rows, cols: c.cols, lines: e, hubs: make([]bool, c.rows)}
	for i := range c.rows {
		out.hubs[i] = len(e.Row(i)) >= long
	}
	rest := &sparsity.Entries{Ptr: make([]int32, 1, c.rows+1)}
	for i := range c.rows {
		if !out.hubs[i] {
			for _, j := range e.Row(i) {
				if !out.hubs[j] {
					rest.Col = append(rest.Col, j)
				}
			}
		}
		rest.Ptr = append(rest.Ptr, int32(len(rest.Col)))
	}
	out.colour = make([]int32, c.rows)
	var ok bool
	if out.n, ok = rest.Coloured(out.colour, c.cols, found/4); !ok {
		return nil
	}
	for i, hub := range out.hubs {
		if hub {
			out.colour[i] = int32(out.n)
			out.n++
		}
	}
	return out
}

// symmetric reports whether second derivatives on this tape are certain to be: a gradient
// of the user's own may be that of nothing.
func (t *Tape) symmetric() bool {
	return !slices.ContainsFunc(t.ins, func(in Instr) bool { return in.Op() == opWithGrad || in.Op() == opLoop })
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

// joins reports whether lines are computed together.
func (c *compression) joins() bool {
	for i, k := range c.colour {
		if int(k) != i {
			return true
		}
	}
	return false
}

// blurred reports whether the answer is not finite and lines of its matrices were computed
// together, so that they are to be computed apart. Of larger matrices that takes too long.
func (s *session) blurred() bool {
	if !s.odd || s.apart {
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

// each calls f for every entry: its line, its place in the other direction, and where in
// the sums it stands.
func (c *compression) each(f func(line, across, at int)) {
	width := c.cols
	if c.forward {
		width = c.rows
	}
	for i, colour := range c.colour {
		for _, j := range c.lines.Row(i) {
			f(i, int(j), int(colour)*width+int(j))
		}
	}
}

// dense calls f for every entry with its place in the dense matrix and in the sums.
func (c *compression) dense(f func(matrix, sum int)) {
	if c.forward {
		c.each(func(col, row, at int) { f(row*c.cols+col, at) })
	} else {
		c.each(func(row, col, at int) { f(row*c.cols+col, at) })
	}
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

// compressing is off where tests want the plain way.
var compressing = true

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

// leastCompressed is the size of a Jacobian below which its pattern is not looked at.
const leastCompressed = 1 << 12

// zerosStay reports whether entries outside of a pattern are 0: with the conventions of
// systems that multiply them by infinities they may be NaN. Points of a batch have
// matrices of their own.
func (t *Tape) zerosStay(rs []Ref) bool {
	return t.Conventions == "" && !slices.ContainsFunc(rs, func(r Ref) bool { return t.ins[r].batch != 0 })
}

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
		s.got = tensor.SparseOf(&tensor.Tensor{DType: s.dtype, Shape: append(slices.Clone(s.y), s.x...), Data: t.data(s.sums)}, s.y.Size())
		return s.got
	}
	data := pages.Fresh[float64](len(c.lines.Col))
	width := c.cols
	if c.forward {
		width = c.rows
	}
	var start, order []int32
	if c.n > 8 || c.hubs != nil {
		start, order = c.byColour()
	}
	ptr, cols := c.lines.Ptr, c.lines.Col
	type entry struct{ row, at int32 }
	across := map[int32][]entry{}
	if c.hubs != nil {
		for i := range c.rows {
			for e := ptr[i]; e < ptr[i+1]; e++ {
				if j := cols[e]; c.hubs[j] && !c.hubs[i] {
					across[j] = append(across[j], entry{int32(i), e})
				}
			}
		}
	}
	fill := func(from int, sums []float64) {
		for k := range len(sums) / max(1, width) {
			row := sums[k*width : (k+1)*width]
			if order == nil { // looking at all of them is as good
				for i, colour := range c.colour {
					if int(colour) == from+k {
						for e := ptr[i]; e < ptr[i+1]; e++ {
							data[e] = row[cols[e]]
						}
					}
				}
				continue
			}
			for _, i := range order[start[from+k]:start[from+k+1]] {
				for e := ptr[i]; e < ptr[i+1]; e++ {
					if c.hubs == nil || c.hubs[i] || !c.hubs[cols[e]] {
						data[e] = row[cols[e]]
					}
				}
				for _, a := range across[i] { // a hub is a column too
					data[a.at] = row[a.row]
				}
			}
		}
	}
	if runs, _ := t.rowRuns([]Ref{s.sums}); len(runs) == 1 {
		runs[0].parts(func(_, from int, rows []float64) { fill(from, rows) })
	} else {
		t.checkSize(s.sums)
		t.Values([]Ref{s.sums})
		if c.hubs != nil {
			fill(0, t.data(s.sums))
		} else {
			c.gather(data, t.data(s.sums), width, t.threads())
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

// gather takes the entries from the sums, which have rows of width, line by line.
func (c *compression) gather(data, sums []float64, width, threads int) {
	parts, lines := 1, len(c.colour)
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

// byColour lists the lines of each colour: order[start[k]:start[k+1]].
func (c *compression) byColour() (start, order []int32) {
	start, order = make([]int32, c.n+2), make([]int32, len(c.colour))
	for _, k := range c.colour {
		start[k+2]++
	}
	for k := 2; k < len(start); k++ {
		start[k] += start[k-1]
	}
	for i, k := range c.colour {
		order[start[k+1]] = int32(i)
		start[k+1]++
	}
	return start[:c.n+1], order
}
