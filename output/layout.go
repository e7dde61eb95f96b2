package output

import (
	"bufio"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"nabla/expr/cells"
	"nabla/tape/tensor"
)

// The tables of a result: which there are and what stands in them. One of them is
// sheet.go, the lines between its cells table.go.
//
// Scalars that follow each other share one table, a line each. Every tensor has
// its own: a matrix with its indices, a vector as one line or as lines of ten,
// the leading axes of anything larger as captioned matrices. Every caption is
// the path that jq would take in the JSON of the same result.

// writeTable writes tables for people. It cuts what is wider than the terminal
// (or than 80 columns) into groups of columns; only on a terminal, tensors of
// more than a thousand elements lose their middle, as in NumPy.
func writeTable(w *bufio.Writer, r *Result, o *Options) error {
	p := &printer{w: w, width: o.Width, digits: o.Precision, elide: o.Terminal, color: o.Color}
	if p.width <= 0 {
		p.width = 80
	}
	if p.digits <= 0 {
		p.digits = 6
	}
	return p.result(r)
}

// writeMarkdown writes the same tables in Markdown, with every digit.
func writeMarkdown(w *bufio.Writer, r *Result, o *Options) error {
	return (&printer{w: w, digits: 17, markdown: true}).result(r)
}

// A printer writes sheets.
type printer struct {
	w        *bufio.Writer
	width    int
	digits   int // significant ones; 17 and more are all
	elide    bool
	color    bool
	markdown bool
	sheets   int // written so far
	err      error

	patterns map[string]*rowPattern // of tables before, by their headings and widths
}

// result writes all targets: scalars that follow each other as one table.
func (p *printer) result(r *Result) error {
	if r.Several && p.together(r) {
		return p.err
	}
	var list []block
	for i := range r.Targets {
		t := &r.Targets[i]
		value, prefix := "value", ""
		if r.Several {
			value, prefix = t.Name, t.Name+"."
		}
		if t.Value != nil && t.Payload != nil {
			list = appendBlocks(list, t.Value, value, nil)
		}
		v, key := t.answer(r.Op)
		if key == "value" {
			list = appendBlocks(list, v, value, t.Unconnected)
		} else {
			list = append(list, p.payload(v, prefix+key, t)...)
		}
	}
	if len(list) == 0 { // the shape of a number
		p.w.WriteString("()\n")
		return nil
	}
	if len(list) == 1 && list[0].isScalar() && r.Op == "eval" && !r.Several && !p.markdown {
		p.w.WriteString(p.text(&list[0], list[0].value()) + p.reason(&list[0]) + "\n")
		return nil
	}
	for len(list) > 0 && !p.broken() {
		n := 0
		for n < len(list) && list[n].isScalar() {
			n++
		}
		switch {
		case n > 0:
			p.scalars(list[:n])
			list = list[n:]
		default:
			p.block(&list[0])
			list = list[1:]
		}
	}
	return p.err
}

// broken reports whether nobody reads any more.
func (p *printer) broken() bool {
	_, err := p.w.Write(nil) // bufio keeps the first error
	return err != nil
}

// payload are the blocks below the operation. Where a family of them makes one
// table it becomes one block: a Hessian of scalars is a matrix of its sources.
func (p *printer) payload(v *tensor.Value, name string, t *Target) []block {
	list := appendBlocks(nil, v, name, t.Unconnected)
	if len(list) < 2 {
		return list
	}
	if m, ok := scalarHessian(list); ok {
		m.name = name
		return []block{m}
	}
	if m, ok := scalarJacobian(list, t); ok && strings.HasSuffix("."+name, ".jacobian") {
		m.name = name
		return []block{m}
	}
	return list
}

// scalarHessian is the matrix of a Hessian of which every source is a scalar.
func scalarHessian(list []block) (m block, ok bool) {
	if list[0].x == "" || !allScalar(list) {
		return m, false
	}
	for i := range list {
		if list[i].x != list[0].x {
			break
		}
		m.cols = append(m.cols, list[i].y)
	}
	n := len(m.cols)
	m.rows = m.cols
	m.cell = func(i, j int) (*block, float64) { return &list[i*n+j], list[i*n+j].value() }
	return m, true
}

// scalarJacobian is the matrix of a vector's derivatives, of which every source is a scalar.
func scalarJacobian(list []block, t *Target) (m block, ok bool) {
	if t.Value == nil || t.Value.Kind != tensor.KindTensor || len(t.Value.Tensor.Shape) != 1 {
		return m, false
	}
	shape := t.Value.Tensor.Shape
	for i := range list {
		if list[i].t == nil || !list[i].t.Shape.Equal(shape) {
			return m, false
		}
		m.cols = append(m.cols, list[i].path)
	}
	for i := range shape[0] {
		m.rows = append(m.rows, strconv.Itoa(i))
	}
	m.cell = func(i, j int) (*block, float64) { return &list[j], list[j].t.Data[i] }
	return m, shape[0] > 0
}

func (b *block) isScalar() bool {
	return b.cell == nil && b.s == nil && (b.t == nil || len(b.t.Shape) == 0)
}

// value is the number of a scalar.
func (b *block) value() float64 {
	if b.t == nil {
		return 0
	}
	return b.t.Item()
}

// allScalar reports whether no block is a tensor with axes.
func allScalar(list []block) bool {
	for i := range list {
		if !list[i].isScalar() {
			return false
		}
	}
	return true
}

// together writes several targets of which everything is scalar and has the
// same names as one table, a column for each target.
func (p *printer) together(r *Result) bool {
	if len(r.Targets) < 2 {
		return false
	}
	s := sheet{named: true}
	columns := make([][]block, len(r.Targets))
	var names []string
	for i := range r.Targets {
		t := &r.Targets[i]
		names = append(names, t.Name)
		if t.Value != nil && t.Payload != nil {
			columns[i] = appendBlocks(nil, t.Value, "value", nil)
		}
		v, key := t.answer(r.Op)
		columns[i] = appendBlocks(columns[i], v, key, t.Unconnected)
		if !allScalar(columns[i]) || len(columns[i]) != len(columns[0]) {
			return false
		}
		for k, b := range columns[i] {
			if b.name != columns[0][k].name || b.why != "" {
				return false // a reason needs the place beside it
			}
		}
	}
	s.cols = named(names)
	s.rows = labels{len(columns[0]), func(i int) string { return columns[0][i].name }}
	s.cell = func(i, j int) string { return p.text(&columns[j][i], columns[j][i].value()) }
	p.sheet(s)
	return true
}

// scalars writes a line for each scalar; what follows the target's value hangs
// below it. A scalar alone is a caption with its number.
func (p *printer) scalars(list []block) {
	if len(list) == 1 {
		p.caption(list[0].title(), p.text(&list[0], list[0].value())+p.reason(&list[0]))
		return
	}
	s := sheet{named: true, headed: len(list) > 1 && list[0].path == "" && list[1].path != ""}
	s.rows = labels{len(list), func(i int) string { return list[i].title() }}
	s.cols = unheaded()
	s.cell = func(i, _ int) string { return p.text(&list[i], list[i].value()) }
	s.note = func(i int) string { return p.reason(&list[i]) }
	p.sheet(s)
}

// unheaded is a single column without a heading.
func unheaded() labels { return named([]string{""}) }

// reason is why there is no number.
func (p *printer) reason(b *block) string {
	if b.t != nil || b.why == "" {
		return ""
	}
	return "  " + cells.Show(b.why)
}

// text is a number for people, or none.
func (p *printer) text(b *block, v float64) string {
	if b.t == nil {
		return "none"
	}
	return Text(v, b.t.DType, p.digits)
}

// block writes a tensor.
func (p *printer) block(b *block) {
	caption := b.title()
	switch {
	case b.cell != nil:
		p.family(b)
		return
	case b.s != nil:
		p.sparse(caption, b.s)
		return
	}
	shape := b.t.Shape
	elide := p.elide && len(b.t.Data) > 1000
	switch rank := len(shape); {
	case len(b.t.Data) == 0:
		p.caption(caption, describeEmpty(b.t))
	case rank == 1:
		p.vector(caption, b, elide)
	case rank == 2:
		p.matrix(caption, describe(b.t), b, b.t.Data, elide)
	default:
		size := shape[rank-2] * shape[rank-1]
		p.leading(shape[:rank-2], elide, 0, "", func(index string, at int) {
			if index == "" {
				p.caption("…", "")
				return
			}
			p.matrix(caption+"["+index+":, :]", "", b, b.t.Data[at*size:(at+1)*size], elide)
		})
	}
}

// describeEntries says how many entries of a matrix there are.
func describeEntries(s *tensor.Sparse) string {
	return fmt.Sprintf("%v: %d of %d entries", tensor.Shape{s.Rows, s.Cols}, len(s.Data), s.Rows*s.Cols)
}

// sparse writes a matrix as its entries, a line each.
func (p *printer) sparse(caption string, s *tensor.Sparse) {
	about := describeEntries(s)
	if len(s.Data) == 0 {
		p.caption(caption, about)
		return
	}
	shown := along(len(s.Data), p.elide && len(s.Data) > 1000, edge)
	table := sheet{caption: caption, about: about, cols: unheaded(), named: true}
	table.rows = labels{shown.len(), func(i int) string {
		k := shown.at(i)
		if k < 0 {
			return "⋮"
		}
		row := sort.Search(s.Rows, func(i int) bool { return int(s.Ptr[i+1]) > k })
		return strconv.Itoa(row) + ", " + strconv.Itoa(int(s.Col[k]))
	}}
	table.cell = func(i, _ int) string {
		k := shown.at(i)
		if k < 0 {
			return "⋮"
		}
		return Text(s.Data[k], s.DType, p.digits)
	}
	p.sheet(table)
}

// family writes blocks that make one table. Reasons stand behind the rows that have a none.
func (p *printer) family(b *block) {
	s := sheet{caption: b.name, rows: named(b.rows), cols: named(b.cols), split: "columns"}
	s.cell = func(i, j int) string { return p.text(b.cell(i, j)) }
	s.note = func(i int) string {
		var note strings.Builder
		for j := range b.cols {
			if c, _ := b.cell(i, j); c.t == nil && c.why != "" {
				note.WriteString("  " + cells.Show(c.y+": "+c.why))
			}
		}
		return note.String()
	}
	p.sheet(s)
}

// describeEmpty says that a tensor has no elements.
func describeEmpty(t *tensor.Tensor) string { return describe(t) + " empty" }

// describe is a shape, and the dtype unless it is the usual one.
func describe(t *tensor.Tensor) string {
	if t.DType == tensor.Float64 {
		return t.Shape.String()
	}
	return t.Shape.String() + " " + t.DType.String()
}

// leading calls visit for each index of the leading axes: "2, 0, " and its position. No index is a gap.
func (p *printer) leading(shape tensor.Shape, elide bool, at int, index string, visit func(index string, at int)) {
	if len(shape) == 0 {
		visit(index, at)
		return
	}
	shown := along(shape[0], elide, edge)
	for k := range shown.len() {
		i := shown.at(k)
		if i < 0 {
			visit("", 0)
			continue
		}
		p.leading(shape[1:], elide, at*shape[0]+i, index+strconv.Itoa(i)+", ", visit)
	}
}

// edge is how many items an elided axis keeps at each end.
const edge = 3

// An axis is the indices of an axis that are shown: all, or so many at each end.
type axis struct{ n, keep int }

// along shows an axis of n items; an elided one keeps so many at each end.
func along(n int, elide bool, edge int) axis {
	if !elide || n <= 2*edge {
		edge = 0
	}
	return axis{n, edge}
}

func (a axis) len() int {
	if a.keep > 0 {
		return 2*a.keep + 1
	}
	return a.n
}

// at is the index shown in place i; -1 is the gap.
func (a axis) at(i int) int {
	switch {
	case a.keep == 0 || i < a.keep:
		return i
	case i == a.keep:
		return -1
	}
	return a.n - a.len() + i
}

// labels are the texts of the indices.
func (a axis) labels(gap string) labels {
	return labels{a.len(), func(i int) string {
		if i = a.at(i); i < 0 {
			return gap
		}
		return strconv.Itoa(i)
	}}
}

// matrix writes a matrix. An elided one keeps as many columns as fit.
func (p *printer) matrix(caption, about string, b *block, data []float64, elide bool) {
	m, n := b.t.Shape[len(b.t.Shape)-2], b.t.Shape[len(b.t.Shape)-1]
	i := along(m, elide, edge)
	for keep := edge; ; keep-- {
		j := along(n, elide, keep)
		s := sheet{caption: caption, about: about, rows: i.labels("⋮"), cols: j.labels("…"), split: "columns"}
		s.cell = func(r, c int) string {
			switch r, c := i.at(r), j.at(c); {
			case r >= 0 && c >= 0:
				return p.text(b, data[r*n+c])
			case r >= 0:
				return "…"
			case c >= 0:
				return "⋮"
			}
			return "⋱"
		}
		if !elide || keep == 1 || s.width() < p.width {
			p.sheet(s)
			return
		}
	}
}

// vector writes one line if it fits, else lines of a round number of elements,
// where the label is the index of the first and the headings count from there.
func (p *printer) vector(caption string, b *block, elide bool) {
	shown := along(len(b.t.Data), elide, edge)
	n := shown.len()
	cell := func(_, j int) string {
		if i := shown.at(j); i >= 0 {
			return p.text(b, b.t.Data[i])
		}
		return "…"
	}
	var widest column
	whole := 0
	for j := range n {
		text := cell(0, j)
		widest.fit(text)
		if whole < p.width || p.markdown {
			whole += max(cells.Width(text), len(strconv.Itoa(j))) + 2
		}
	}
	if whole <= p.width-1 || p.markdown && n <= 20 || elide {
		p.sheet(sheet{caption: caption, about: describe(b.t), cols: shown.labels("…"), cell: cell, split: "elements"})
		return
	}
	room := (p.width - len(strconv.Itoa(n)) - 3) / (max(widest.width(), 3) + 2)
	if p.markdown {
		room = 10
	}
	for _, round := range []int{20, 10, 5, 4, 2, 1} {
		if round <= room || round == 1 {
			room = round
			break
		}
	}
	s := sheet{caption: caption, about: describe(b.t), split: "elements"}
	s.rows = labels{(n + room - 1) / room, func(i int) string { return strconv.Itoa(i * room) }}
	s.cols = labels{room, func(j int) string { return "+" + strconv.Itoa(j) }}
	s.cell = func(i, j int) string {
		if i*room+j >= n {
			return ""
		}
		return cell(0, i*room+j)
	}
	p.sheet(s)
}
