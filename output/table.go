package output

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/olekukonko/tablewriter"
)

// The only file that knows tablewriter: its last version before 1, since the later ones
// bring a logger, an error pool and a database driver, which cost every start a tenth
// of a one-liner and more.

// The environment would say how wide a character is.
func init() { runewidth.DefaultCondition.EastAsianWidth = false }

// A style is how a table is drawn: its lines, which side its columns keep to, and what
// becomes of a line that tablewriter has drawn.
type style struct {
	column, cross, rule string
	columns             []int
	finish              func(i int, line string) string
}

const left, right = tablewriter.ALIGN_LEFT, tablewriter.ALIGN_RIGHT

// newTable turns off what tablewriter does to texts: it would upper-case headings and wrap cells.
func newTable(w io.Writer, s *style) *tablewriter.Table {
	t := tablewriter.NewWriter(w)
	t.SetAutoFormatHeaders(false)
	t.SetAutoWrapText(false)
	t.SetBorders(tablewriter.Border{Left: true, Right: true})
	t.SetColumnSeparator(s.column)
	t.SetCenterSeparator(s.cross)
	t.SetRowSeparator(s.rule)
	t.SetHeaderAlignment(right)
	t.SetColumnAlignment(s.columns)
	return t
}

// draw draws labels and lines of aligned columns: a bar between them, a rule
// under the first row if it is headed, and no frame.
func (p *printer) draw(rows [][]string, s *sheet, headed bool) {
	const bar, cross = "│", "┼"
	style := &style{bar, cross, "─", []int{left, left}, func(_ int, line string) string {
		return line[len(bar) : len(line)-len(bar)] // the frame is as wide at the rule: a cross
	}}
	switch {
	case s.rows.n == 0:
		for i := range rows {
			rows[i] = rows[i][1:]
		}
		style.columns = style.columns[1:]
	case !s.named:
		style.columns[0] = right
	}
	var head []string
	if headed {
		head, rows = rows[0], rows[1:]
	}
	p.render(&trimmer{w: p.w}, style, head, rows)
}

// markdownTable writes every column of s as a column.
func (p *printer) markdownTable(s *sheet) {
	t := newMarkdown(s)
	for k := 0; k < t.n && !p.broken(); {
		first := k == 0
		var rows [][]string
		for ; k < t.n && len(rows) < batch; k++ {
			rows = append(rows, t.padded(k))
		}
		var head []string
		if first {
			head, rows = rows[0], rows[1:]
		}
		p.render(p.w, &style{"|", "|", "-", t.columns, func(i int, line string) string {
			if i != 1 || !first {
				return line
			}
			return t.rule()
		}}, head, rows)
	}
}

// A markdown is a sheet as a table of Markdown, whose first row is its heading.
type markdown struct {
	*sheet
	n       int // rows
	wide    []int
	columns []int // the side that each keeps to
}

func newMarkdown(s *sheet) *markdown {
	t := &markdown{sheet: s, n: s.lines() + 1}
	if s.headed { // the first row is the heading
		t.n--
	}
	for k := range t.n {
		row := t.row(k)
		if k == 0 {
			t.wide = make([]int, len(row))
		}
		for j, text := range row {
			t.wide[j] = max(t.wide[j], tablewriter.DisplayWidth(text))
		}
	}
	t.columns = make([]int, len(t.wide))
	for j := range t.columns {
		t.columns[j] = right
	}
	if s.rows.n > 0 {
		t.columns[0] = left
	}
	return t
}

// row is row k, its label first where there are labels.
func (t *markdown) row(k int) (row []string) {
	i := k - (t.n - t.lines())
	if t.rows.n > 0 {
		label := ""
		if i >= 0 {
			label = t.rows.at(i)
		}
		row = append(row, markdownText(label))
	}
	for j := range t.cols.n {
		var text string
		if i < 0 {
			text = t.cols.at(j)
		} else if text = t.cell(i, j); t.note != nil && j == t.cols.n-1 {
			text += t.note(i)
		}
		row = append(row, markdownText(text))
	}
	return row
}

// padded is row k, each of its texts as wide as its column.
func (t *markdown) padded(k int) []string {
	row := t.row(k)
	for j, text := range row {
		if t.columns[j] == left {
			row[j] = tablewriter.PadRight(text, " ", t.wide[j])
		} else {
			row[j] = tablewriter.PadLeft(text, " ", t.wide[j])
		}
	}
	return row
}

// rule stands below the heading, and says which side each column keeps to.
func (t *markdown) rule() string {
	rule := "|"
	for j, n := range t.wide {
		dashes := strings.Repeat("-", n+1)
		if t.columns[j] == left {
			rule += ":" + dashes + "|"
		} else {
			rule += dashes + ":|"
		}
	}
	return rule
}

// render writes a table. Where there is much to draw tablewriter draws the heading and
// one row of full width, and the rows follow that pattern, which tables of the same
// heading and widths share: a row of tablewriter's takes microseconds.
func (p *printer) render(w io.Writer, s *style, head []string, rows [][]string) {
	draw := func(w io.Writer, rows [][]string) {
		var drawn bytes.Buffer
		t := newTable(&drawn, s)
		head := slices.Clone(head)
		for j := range head {
			if s.columns[j] == left { // tablewriter's headings have one side for all
				wide := 0
				for _, row := range rows {
					wide = max(wide, tablewriter.DisplayWidth(row[j]))
				}
				head[j] = tablewriter.PadRight(head[j], " ", wide)
			}
		}
		t.SetHeader(head)
		t.AppendBulk(rows)
		t.Render()
		lines := strings.Split(drawn.String(), "\n")
		for i, line := range lines[:len(lines)-1] {
			w.Write([]byte(s.finish(i, line) + "\n"))
		}
	}
	if !patterns || p.sheets == 1 && len(rows) <= 8 {
		draw(w, rows)
		return
	}
	widest, ok := widestRow(head, rows)
	if !ok {
		draw(w, rows)
		return
	}
	key := fmt.Sprint(len(head), s.columns, strings.Join(head, "\x00"), strings.Join(widest, " "))
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
		line = pattern.append(line[:0], row, s.columns)
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
func (p *rowPattern) append(line []byte, row []string, align []int) []byte {
	for j, s := range row {
		line = append(line, p.between[j]...)
		pad := p.width[j] - len(s)
		if align[j] == right {
			line = appendSpaces(line, pad)
		}
		line = append(line, s...)
		if align[j] == left {
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
	if !strings.ContainsAny(s, "|*_\n") { // as of every number
		return s
	}
	return strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "\n", " ").Replace(s)
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
