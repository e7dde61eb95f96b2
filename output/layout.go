package output

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

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
	for i := range r.Targets {
		t := &r.Targets[i]
		s.cols = append(s.cols, t.Name)
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
	for _, b := range columns[0] {
		s.rows = append(s.rows, b.name)
	}
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
	for i := range list {
		s.rows = append(s.rows, list[i].title())
	}
	s.cols = []string{""}
	s.cell = func(i, _ int) string { return p.text(&list[i], list[i].value()) }
	s.note = func(i int) string { return p.reason(&list[i]) }
	p.sheet(s)
}

// reason is why there is no number.
func (p *printer) reason(b *block) string {
	if b.t != nil || b.why == "" {
		return ""
	}
	return "  " + b.why
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
		p.caption(caption, describe(b.t)+" empty")
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

// sparse writes a matrix as its entries, a line each.
func (p *printer) sparse(caption string, s *tensor.Sparse) {
	about := fmt.Sprintf("%v: %d of %d entries", tensor.Shape{s.Rows, s.Cols}, len(s.Data), s.Rows*s.Cols)
	if len(s.Data) == 0 {
		p.caption(caption, about)
		return
	}
	row := make([]int, 0, len(s.Data))
	s.Each(func(i, _ int, _ float64) { row = append(row, i) })
	var at []int
	table := sheet{caption: caption, about: about, cols: []string{""}, named: true}
	for _, k := range along(len(s.Data), p.elide && len(s.Data) > 1000, edge) {
		label := "⋮"
		if k >= 0 {
			label = strconv.Itoa(row[k]) + ", " + strconv.Itoa(int(s.Col[k]))
		}
		at, table.rows = append(at, k), append(table.rows, label)
	}
	table.cell = func(i, _ int) string {
		if at[i] < 0 {
			return "⋮"
		}
		return Text(s.Data[at[i]], s.DType, p.digits)
	}
	p.sheet(table)
}

// family writes blocks that make one table. Reasons stand behind the rows that have a none.
func (p *printer) family(b *block) {
	s := sheet{caption: b.name, rows: b.rows, cols: b.cols, split: "columns"}
	s.cell = func(i, j int) string { return p.text(b.cell(i, j)) }
	s.note = func(i int) string {
		var note strings.Builder
		for j := range b.cols {
			if c, _ := b.cell(i, j); c.t == nil && c.why != "" {
				note.WriteString("  " + c.y + ": " + c.why)
			}
		}
		return note.String()
	}
	p.sheet(s)
}

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
	for _, i := range along(shape[0], elide, edge) {
		if i < 0 {
			visit("", 0)
			continue
		}
		p.leading(shape[1:], elide, at*shape[0]+i, index+strconv.Itoa(i)+", ", visit)
	}
}

// edge is how many items an elided axis keeps at each end.
const edge = 3

// along lists the indices of an axis; -1 is the gap of an elided one.
func along(n int, elide bool, edge int) []int {
	var list []int
	for i := 0; i < n; i++ {
		if elide && n > 2*edge && i == edge {
			list = append(list, -1)
			i = n - edge
		}
		list = append(list, i)
	}
	return list
}

// labels are the texts of indices.
func labels(index []int, gap string) []string {
	text := make([]string, len(index))
	for i, n := range index {
		text[i] = gap
		if n >= 0 {
			text[i] = strconv.Itoa(n)
		}
	}
	return text
}

// matrix writes a matrix. An elided one keeps as many columns as fit.
func (p *printer) matrix(caption, about string, b *block, data []float64, elide bool) {
	m, n := b.t.Shape[len(b.t.Shape)-2], b.t.Shape[len(b.t.Shape)-1]
	i := along(m, elide, edge)
	for keep := edge; ; keep-- {
		j := along(n, elide, keep)
		s := sheet{caption: caption, about: about, rows: labels(i, "⋮"), cols: labels(j, "…"), split: "columns"}
		s.cell = func(r, c int) string {
			switch {
			case i[r] >= 0 && j[c] >= 0:
				return p.text(b, data[i[r]*n+j[c]])
			case i[r] >= 0:
				return "…"
			case j[c] >= 0:
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
	index := along(len(b.t.Data), elide, edge)
	n := len(index)
	texts := make([]string, n)
	cell := func(_, j int) string { return texts[j] }
	whole, before, after := 0, 0, 0
	for j, i := range index {
		text := "…"
		if i >= 0 {
			text = p.text(b, b.t.Data[i])
		}
		texts[j] = text
		at := point(text)
		before = max(before, at)
		after = max(after, utf8.RuneCountInString(text)-at)
		if whole < p.width || p.markdown {
			whole += max(utf8.RuneCountInString(text), len(strconv.Itoa(j))) + 2
		}
	}
	if whole <= p.width-1 || p.markdown && n <= 20 || elide {
		p.sheet(sheet{caption: caption, about: describe(b.t), cols: labels(index, "…"), cell: cell, split: "elements"})
		return
	}
	room := (p.width - len(strconv.Itoa(n)) - 3) / (max(before+after, 3) + 2)
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
	for i := 0; i < n; i += room {
		s.rows = append(s.rows, strconv.Itoa(i))
	}
	for j := range room {
		s.cols = append(s.cols, "+"+strconv.Itoa(j))
	}
	s.cell = func(i, j int) string {
		if i*room+j >= n {
			return ""
		}
		return cell(0, i*room+j)
	}
	p.sheet(s)
}
