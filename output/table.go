package output

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/olekukonko/tablewriter"

	"nabla/expr/cells"
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
			t.wide[j] = max(t.wide[j], cells.Width(text))
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
		room := spaces(t.wide[j] - cells.Width(text))
		if t.columns[j] == left {
			row[j] = text + room
		} else {
			row[j] = room + text
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

// render writes a table. Where there is much to draw, or a text that has not as many cells
// as bytes, tablewriter draws the heading and one row of full width, and all rows follow
// that pattern, which tables of the same widths share: a row of tablewriter's takes
// microseconds, and it counts the cells of letters in its own way.
func (p *printer) render(w io.Writer, s *style, head []string, rows [][]string) {
	if few := p.sheets == 1 && len(rows) <= 8; patterns && !(few && plainRows(head, rows)) {
		if pattern := p.pattern(s, head, rows); pattern != nil {
			pattern.write(w, s, head, rows)
			return
		}
	}
	drawTable(w, s, head, rows)
}

// drawTable lets tablewriter draw all of a table.
func drawTable(w io.Writer, s *style, head []string, rows [][]string) {
	var drawn bytes.Buffer
	t := newTable(&drawn, s)
	head = slices.Clone(head)
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

// patterns is false where a test compares.
var patterns = true

// plainRows reports whether every text has as many cells as bytes.
func plainRows(head []string, rows [][]string) bool {
	for i := -1; i < len(rows); i++ {
		texts := head
		if i >= 0 {
			texts = rows[i]
		}
		for _, s := range texts {
			if !plainText(s) {
				return false
			}
		}
	}
	return true
}

func plainText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// cellsOf is how many cells a text takes whose colours take none.
func cellsOf(s string) int {
	for {
		if plainText(s) {
			return len(s)
		}
		before, after, ok := strings.Cut(s, "\x1b[")
		if !ok {
			return cells.Width(s)
		}
		_, after, _ = strings.Cut(after, "m")
		s = before + after
	}
}

// A rowPattern is what stands between and behind the cells of a row, and the rule below the
// heading.
type rowPattern struct {
	rule    string
	between []string // before each cell, and after the last
	width   []int
}

// filler stands, as often as a column is wide, in the rows that the others follow.
const filler = "·"

// pattern is that of a table, or nil if it has none: a column is empty, or tablewriter draws
// what was not foreseen.
func (p *printer) pattern(s *style, head []string, rows [][]string) *rowPattern {
	width := make([]int, len(rows[0]))
	for i := -1; i < len(rows); i++ {
		texts := head
		if i >= 0 {
			texts = rows[i]
		}
		if i >= 0 && len(texts) != len(width) {
			return nil
		}
		for j, text := range texts {
			width[j] = max(width[j], cellsOf(text))
		}
	}
	key := fmt.Sprint(len(head), s.columns, width)
	pattern, ok := p.patterns[key]
	if !ok {
		pattern = newPattern(s, len(head) > 0, width)
		if p.patterns == nil || len(p.patterns) == 1000 {
			p.patterns = map[string]*rowPattern{}
		}
		p.patterns[key] = pattern
	}
	return pattern
}

// newPattern takes a drawn table of fillers apart.
func newPattern(s *style, headed bool, width []int) *rowPattern {
	p := &rowPattern{width: width}
	fillers := make([]string, len(width))
	for j, n := range width {
		fillers[j] = strings.Repeat(filler, n)
	}
	var head []string
	if headed {
		head = fillers
	}
	var b strings.Builder
	drawTable(&b, s, head, [][]string{fillers})
	drawn := b.String()
	row := drawn[strings.LastIndexByte(drawn[:len(drawn)-1], '\n')+1:]
	if above := strings.TrimSuffix(drawn, row); headed {
		if p.rule = strings.TrimPrefix(above, row); p.rule == above {
			return nil
		}
	} else if above != "" {
		return nil
	}
	for _, cell := range fillers {
		before, after, ok := strings.Cut(row, cell)
		if !ok || cell == "" {
			return nil
		}
		p.between, row = append(p.between, before), after
	}
	if strings.Contains(row, filler) {
		return nil
	}
	p.between = append(p.between, row)
	return p
}

// write writes the heading and the rows.
func (p *rowPattern) write(w io.Writer, s *style, head []string, rows [][]string) {
	var line []byte
	if len(head) > 0 {
		line = append(p.append(nil, head, s.columns), p.rule...)
	}
	for _, row := range rows {
		line = p.append(line, row, s.columns)
		if _, err := w.Write(line); err != nil {
			return // the printer's writer keeps it
		}
		line = line[:0]
	}
}

// append appends the line of a row.
func (p *rowPattern) append(line []byte, row []string, align []int) []byte {
	for j, s := range row {
		line = append(line, p.between[j]...)
		pad := p.width[j] - cellsOf(s)
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
