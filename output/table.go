package output

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// The only file that knows tablewriter. Its habits are turned off: it would
// upper-case headings and split them at digits, wrap and trim cells, and ask the
// environment how wide a character is.
func newTable(w io.Writer, r tw.Renderer, align tw.CellAlignment) *tablewriter.Table {
	return tablewriter.NewTable(w,
		tablewriter.WithRenderer(r),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithEastAsian(false),
		tablewriter.WithHeaderAlignmentConfig(align), tablewriter.WithRowAlignmentConfig(align),
	)
}

// draw draws labels and lines of aligned columns: a bar between them, a rule
// under the first row if it is a heading, and no frame.
func (p *printer) draw(rows [][]string, s *sheet) {
	ruled := tw.Lines{ShowTop: tw.Off, ShowBottom: tw.Off, ShowHeaderLine: tw.On, ShowFooterLine: tw.Off}
	r := renderer.NewBlueprint(tw.Rendition{
		Borders:  tw.BorderNone,
		Symbols:  tw.NewSymbols(tw.StyleLight),
		Settings: tw.Settings{Lines: ruled, Separators: tw.Separators{BetweenColumns: tw.On, BetweenRows: tw.Off, ShowHeader: tw.On, ShowFooter: tw.Off}},
	})
	align := tw.CellAlignment{Global: tw.AlignLeft}
	switch {
	case s.rows == nil:
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	case !s.named:
		align.PerColumn = []tw.Align{tw.AlignRight, tw.AlignLeft}
	}
	var head []string
	if s.headed {
		head, rows = rows[0], rows[1:]
	}
	p.render(&trimmer{w: p.w}, r, align, head, rows)
}

// markdownTable writes every column of s as a column.
func (p *printer) markdownTable(s *sheet) {
	n := max(1, len(s.rows))
	rows := make([][]string, n+1)
	if s.rows != nil {
		rows[0] = append(rows[0], "")
	}
	for _, c := range s.cols {
		rows[0] = append(rows[0], markdownText(c))
	}
	for i := range n {
		row := &rows[i+1]
		if s.rows != nil {
			*row = append(*row, markdownText(s.rows[i]))
		}
		for j := range s.cols {
			text := s.cell(i, j)
			if s.note != nil && j == len(s.cols)-1 {
				text += s.note(i)
			}
			*row = append(*row, markdownText(text))
		}
	}
	if s.headed {
		rows = rows[1:]
	}
	align := tw.CellAlignment{Global: tw.AlignRight}
	if s.rows != nil {
		align.PerColumn = []tw.Align{tw.AlignLeft}
	}
	p.render(p.w, renderer.NewMarkdown(), align, rows[0], rows[1:])
}

// render writes a table. tablewriter draws its heading and one row of full width, and
// the rows follow that pattern, which tables of the same heading and widths share: it
// takes 20 µs a row, and 100 a table.
func (p *printer) render(w io.Writer, r tw.Renderer, align tw.CellAlignment, head []string, rows [][]string) {
	draw := func(w io.Writer, rows [][]string) {
		t := newTable(w, r, align)
		if head != nil {
			t.Header(head)
		}
		err := t.Bulk(rows)
		if err == nil {
			err = t.Render()
		}
		if err != nil && p.err == nil {
			p.err = err
		}
	}
	widest, ok := widestRow(head, rows)
	if !ok || !patterns {
		draw(w, rows)
		return
	}
	key := fmt.Sprint(len(head), align, strings.Join(head, "\x00"), strings.Join(widest, " "))
	pattern, ok := p.patterns[key]
	if !ok {
		var sample bytes.Buffer
		draw(&sample, [][]string{widest})
		pattern = newPattern(sample.String(), widest)
		if p.patterns == nil || len(p.patterns) == 1000 {
			p.patterns = map[string]*rowPattern{}
		}
		p.patterns[key] = pattern
	}
	if pattern == nil {
		draw(w, rows)
		return
	}
	io.WriteString(w, pattern.above)
	var line []byte
	for _, row := range rows {
		line = pattern.append(line[:0], row, align)
		if _, err := w.Write(line); err != nil {
			return // the printer's writer keeps it
		}
	}
	io.WriteString(w, pattern.below)
}

// patterns is false where a test compares.
var patterns = true

// filler stands, as often as a column is wide, in the row that the others follow, whose
// own texts are ASCII.
const filler = "·"

// widestRow is a row of fillers, each as wide as its column; false when a text is not
// as wide as it has bytes.
func widestRow(head []string, rows [][]string) (row []string, ok bool) {
	width := make([]int, len(rows[0]))
	for i := -1; i < len(rows); i++ {
		texts := head
		if i >= 0 {
			texts = rows[i]
		}
		if i >= 0 && len(texts) != len(width) {
			return nil, false
		}
		for j, s := range texts {
			for k := range len(s) {
				if s[k] < ' ' || s[k] >= 0x7f {
					return nil, false
				}
			}
			width[j] = max(width[j], len(s))
		}
	}
	for _, n := range width {
		if n == 0 {
			return nil, false
		}
		row = append(row, strings.Repeat(filler, n))
	}
	return row, true
}

// A rowPattern is a table with one row: what stands above, between and behind its cells,
// and below.
type rowPattern struct {
	above, below string
	between      []string // before each cell, and after the last
	width        []int
}

// newPattern takes a drawn table with a row of fillers apart; nil when it cannot.
func newPattern(drawn string, row []string) *rowPattern {
	p := &rowPattern{}
	for i, cell := range row {
		before, after, ok := strings.Cut(drawn, cell)
		if !ok {
			return nil
		}
		if i == 0 {
			n := strings.LastIndexByte(before, '\n') + 1
			p.above, before = before[:n], before[n:]
		}
		p.between, p.width, drawn = append(p.between, before), append(p.width, len(cell)/len(filler)), after
	}
	n := strings.IndexByte(drawn, '\n') + 1
	if n == 0 || len(row) == 0 || strings.Contains(drawn, filler) {
		return nil
	}
	p.between, p.below = append(p.between, drawn[:n]), drawn[n:]
	return p
}

// append appends the line of a row.
func (p *rowPattern) append(line []byte, row []string, align tw.CellAlignment) []byte {
	for j, s := range row {
		line = append(line, p.between[j]...)
		a := align.Global
		if j < len(align.PerColumn) {
			a = align.PerColumn[j]
		}
		pad := p.width[j] - len(s)
		if a == tw.AlignRight {
			line = appendSpaces(line, pad)
		}
		line = append(line, s...)
		if a != tw.AlignRight {
			line = appendSpaces(line, pad)
		}
	}
	return append(line, p.between[len(row)]...)
}

func appendSpaces(b []byte, n int) []byte {
	for range n {
		b = append(b, ' ')
	}
	return b
}

// markdownText escapes what Markdown would take for its own.
func markdownText(s string) string {
	return markdownReplacer.Replace(s)
}

var markdownReplacer = strings.NewReplacer(`|`, `\|`, `*`, `\*`, `_`, `\_`, "\n", " ")

// A trimmer takes the spaces off the ends of lines.
type trimmer struct {
	w    io.Writer
	rest []byte // an unfinished line
}

func (t *trimmer) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, more, ok := bytes.Cut(b, []byte{'\n'})
		t.rest = append(t.rest, line...)
		if !ok {
			return n, nil
		}
		t.rest = append(bytes.TrimRight(t.rest, " "), '\n')
		if _, err := t.w.Write(t.rest); err != nil {
			return 0, err
		}
		t.rest, b = t.rest[:0], more
	}
}
