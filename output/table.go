package output

import (
	"bytes"
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
	t := newTable(&trimmer{w: p.w}, r, align)
	if s.headed {
		t.Header(rows[0])
		rows = rows[1:]
	}
	p.render(t, rows)
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
	t := newTable(p.w, renderer.NewMarkdown(), align)
	t.Header(rows[0])
	p.render(t, rows[1:])
}

func (p *printer) render(t *tablewriter.Table, rows [][]string) {
	err := t.Bulk(rows)
	if err == nil {
		err = t.Render()
	}
	if err != nil && p.err == nil {
		p.err = err
	}
}

// markdownText escapes what Markdown would take for its own.
func markdownText(s string) string {
	return strings.NewReplacer(`|`, `\|`, `*`, `\*`, `_`, `\_`, "\n", " ").Replace(s)
}

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
