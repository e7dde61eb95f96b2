package output

import (
	"strings"

	"nabla/expr/cells"
)

// A sheet is one table.
type sheet struct {
	caption string
	about   string                // what is said behind the caption: a shape
	rows    labels                // none: one line without a label
	cols    labels                // headings; a single empty one: the first row is the heading if headed
	named   bool                  // the labels are names, not indices
	headed  bool                  // a line is drawn under the first row
	cell    func(i, j int) string // the text at row i, column j
	note    func(i int) string    // stands behind row i; may be nil
	split   string                // what a part of the columns is called: "columns"; "" if it cannot be cut
}

// labels are the texts beside the rows of a table, or above its columns. They are made
// when they are wanted: a table may have more rows than memory has room for their texts.
type labels struct {
	n  int
	at func(i int) string
}

func named(list []string) labels {
	return labels{len(list), func(i int) string { return cells.Show(list[i]) }}
}

// lines is the number of rows.
func (s *sheet) lines() int { return max(1, s.rows.n) }

// width is that of the whole sheet.
func (s *sheet) width() int {
	w := s.margin()
	for j := range s.cols.n {
		w += s.column(j).width() + 2
	}
	return w - 2
}

// margin is what stands before the first column.
func (s *sheet) margin() int {
	w := 1
	for i := range s.rows.n {
		w = max(w, cells.Width(s.rows.at(i))+4)
	}
	return w
}

// A column is how much room its texts need before and after their decimal points.
type column struct{ before, after int }

func (c *column) fit(text string) {
	at, width := point(text)
	c.before = max(c.before, at)
	c.after = max(c.after, width-at)
}

func (c column) width() int { return c.before + c.after }

// pad aligns a text on the decimal point.
func (c column) pad(text string) string {
	at, width := point(text)
	return spaces(c.before-at) + text + spaces(c.after-width+at)
}

// column measures column j, which is at least as wide as its heading.
func (s *sheet) column(j int) (c column) {
	for i := range s.lines() {
		c.fit(s.cell(i, j))
	}
	c.before = max(c.before, cells.Width(s.cols.at(j))-c.after)
	return c
}

// spaces is n of them.
func spaces(n int) string {
	const few = "                                "
	if n <= len(few) {
		return few[:n]
	}
	return strings.Repeat(" ", n)
}

// point is where the whole part of a number ends, and its width; a word is all whole part.
func point(s string) (at, width int) {
	at, digits := -1, false
	for i := range len(s) {
		switch c := s[i]; {
		case c-'0' <= 9:
			digits = true
		case (c == '.' || c == 'e') && at < 0:
			at = i
		case c < ' ' || c > '~':
			return cells.Width(s), cells.Width(s)
		}
	}
	if digits && at >= 0 {
		return at, len(s)
	}
	return len(s), len(s)
}

// sheet draws s, its columns in as many groups as the width demands.
func (p *printer) sheet(s sheet) {
	if p.markdown {
		p.caption(s.caption, s.about)
		if s.caption != "" {
			p.w.WriteByte('\n')
		}
		p.markdownTable(&s)
		return
	}
	margin := s.margin()
	for from := 0; from < s.cols.n && !p.broken(); {
		var columns []column
		var head strings.Builder
		used, to := margin, from
		for ; to < s.cols.n; to++ {
			c := s.column(to)
			if to > from && used+2+c.width() >= p.width { // the rule is one wider than what stands on it
				break
			}
			if to > from {
				head.WriteString(gap)
				used += len(gap)
			}
			used += c.width()
			h := s.cols.at(to)
			head.WriteString(p.paint(faint, spaces(c.width()-cells.Width(h))+h))
			columns = append(columns, c)
		}
		p.caption(s.caption, strings.TrimSpace(s.about+"  "+s.part(from, to)))
		var table [][]string
		headed := s.headed
		if s.cols.n != 1 || s.cols.at(0) != "" {
			table = append(table, []string{"", head.String()})
			headed = true
		}
		for i := 0; i < s.lines() && !p.broken(); {
			for ; i < s.lines() && (len(table) < batch || s.note != nil); i++ {
				table = append(table, p.row(&s, i, from, columns, margin))
			}
			p.draw(table, &s, headed)
			table, headed = table[:0], false
		}
		from = to
	}
}

// gap stands between two columns.
const gap = "  "

// batch is how many rows are drawn at once, all of one width: memory holds no more of a
// table than these. Tests change it.
var batch = 4096

// row is the label of row i and the line of its cells, in the columns that begin with from.
func (p *printer) row(s *sheet, i, from int, columns []column, margin int) []string {
	row := []string{"", ""}
	if s.rows.n > 0 {
		label := s.rows.at(i)
		if room := spaces(margin - 4 - cells.Width(label)); s.named {
			row[0] = p.paint(faint, label) + room
		} else {
			row[0] = room + p.paint(faint, label)
		}
	}
	var line strings.Builder
	for k, c := range columns {
		if k > 0 {
			line.WriteString(gap)
		}
		line.WriteString(p.shade(c.pad(s.cell(i, from+k))))
	}
	if s.note != nil {
		line.WriteString(p.paint(faint, s.note(i)))
	}
	row[1] = line.String()
	return row
}

// part says which columns of s stand in a group, if not all do.
func (s *sheet) part(from, to int) string {
	switch {
	case s.split == "" || from == 0 && to == s.cols.n:
		return ""
	case to == from+1:
		return strings.TrimSuffix(s.split, "s") + " " + s.cols.at(from)
	}
	return s.split + " " + s.cols.at(from) + " to " + s.cols.at(to-1)
}

// caption begins a new table, a blank line below the last one.
func (p *printer) caption(name, about string) {
	if p.sheets > 0 {
		p.w.WriteByte('\n')
	}
	p.sheets++
	if name == "" {
		return
	}
	if about != "" {
		about = "  " + about
	}
	if p.markdown {
		p.w.WriteString("**" + markdownText(name) + "**" + markdownText(about) + "\n")
		return
	}
	p.w.WriteString(p.paint(bold, name) + about + "\n")
}

// The colours: what is no number stands out, what is zero stands back.
const (
	bold   = "\x1b[1m"
	faint  = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

func (p *printer) paint(color, text string) string {
	if !p.color || text == "" {
		return text
	}
	return color + text + plain
}

// shade paints a cell by what it says.
func (p *printer) shade(cell string) string {
	if !p.color {
		return cell
	}
	switch strings.TrimSpace(cell) {
	case "0", "-0", "…", "⋮", "⋱", "false":
		return p.paint(faint, cell)
	case "nan", "inf", "-inf":
		return p.paint(red, cell)
	case "none":
		return p.paint(yellow, cell)
	}
	return cell
}
