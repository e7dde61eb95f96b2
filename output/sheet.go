package output

import (
	"strings"
	"unicode/utf8"
)

// A sheet is one table.
type sheet struct {
	caption string
	about   string                // what is said behind the caption: a shape
	rows    []string              // labels; nil: one line without a label
	cols    []string              // headings; nil: the first row is the heading if headed
	named   bool                  // the labels are names, not indices
	headed  bool                  // a line is drawn under the first row
	cell    func(i, j int) string // the text at row i, column j
	note    func(i int) string    // stands behind row i; may be nil
	split   string                // what a part of the columns is called: "columns"; "" if it cannot be cut
}

// width is that of the whole sheet.
func (s *sheet) width() int {
	w := s.margin()
	for j := range s.cols {
		w += utf8.RuneCountInString(s.column(j)[0]) + 2
	}
	return w - 2
}

// margin is what stands before the first column.
func (s *sheet) margin() int {
	w := 1
	for _, l := range s.rows {
		w = max(w, utf8.RuneCountInString(l)+4)
	}
	return w
}

// column is the texts of one column, aligned on the decimal point, as wide as its heading.
func (s *sheet) column(j int) []string {
	n := max(1, len(s.rows))
	text := make([]string, n)
	before, after := 0, 0
	for i := range text {
		text[i] = s.cell(i, j)
		at := point(text[i])
		before = max(before, at)
		after = max(after, utf8.RuneCountInString(text[i])-at)
	}
	if s.cols != nil {
		before = max(before, utf8.RuneCountInString(s.cols[j])-after)
	}
	for i, t := range text {
		at := point(t)
		text[i] = spaces(before-at) + t + spaces(after-utf8.RuneCountInString(t)+at)
	}
	return text
}

// spaces is n of them.
func spaces(n int) string {
	const few = "                                "
	if n <= len(few) {
		return few[:n]
	}
	return strings.Repeat(" ", n)
}

// point is where the whole part of a number ends; a word is all whole part.
func point(s string) int {
	at, digits := -1, false
	for i := range len(s) {
		switch c := s[i]; {
		case c-'0' <= 9:
			digits = true
		case (c == '.' || c == 'e') && at < 0:
			at = i
		}
	}
	if digits && at >= 0 {
		return at
	}
	return utf8.RuneCountInString(s)
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
	n := max(1, len(s.rows))
	for from := 0; from < len(s.cols) && !p.broken(); {
		lines := make([]strings.Builder, n)
		var head strings.Builder
		used, to := s.margin(), from
		for ; to < len(s.cols); to++ {
			text := s.column(to)
			wide := utf8.RuneCountInString(text[0])
			if to > from && used+2+wide >= p.width { // the rule is one wider than what stands on it
				break
			}
			gap := "  "
			if to == from {
				gap = ""
			}
			used += wide + len(gap)
			h := strings.Repeat(" ", wide-utf8.RuneCountInString(s.cols[to])) + s.cols[to]
			head.WriteString(gap + p.paint(faint, h))
			for i, t := range text {
				lines[i].WriteString(gap)
				lines[i].WriteString(p.shade(t))
			}
		}
		p.caption(s.caption, strings.TrimSpace(s.about+"  "+s.part(from, to)))
		table := make([][]string, 0, n+1)
		if len(s.cols) != 1 || s.cols[0] != "" {
			table = append(table, []string{"", head.String()})
			s.headed = true
		}
		for i := range lines {
			row := []string{"", lines[i].String()}
			if s.rows != nil {
				row[0] = p.paint(faint, s.rows[i])
			}
			if s.note != nil {
				row[1] += p.paint(faint, s.note(i))
			}
			table = append(table, row)
		}
		p.draw(table, &s)
		from = to
	}
}

// part says which columns of s stand in a group, if not all do.
func (s *sheet) part(from, to int) string {
	switch {
	case s.split == "" || from == 0 && to == len(s.cols):
		return ""
	case to == from+1:
		return strings.TrimSuffix(s.split, "s") + " " + s.cols[from]
	}
	return s.split + " " + s.cols[from] + " to " + s.cols[to-1]
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
