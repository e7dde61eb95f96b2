package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"nabla/expr/cells"
)

// A terminal is where pictures are characters.
type terminal struct {
	width int
	color bool
}

// Text draws p in characters, width columns wide; with colours, if the reader shows them.
func Text(p Picture, width int, colored bool) string {
	return p.text(&terminal{max(width, 24), colored})
}

func (t *terminal) paint(s string, c color.RGBA) string {
	if !t.color {
		return s
	}
	return fmt.Sprintf("\x1b[38;2;%d;%d;%dm%s\x1b[0m", c.R, c.G, c.B, s)
}

// textRows is how many lines a picture of curves has.
const textRows = 20

// A braille is a canvas of text: a character is 2 × 4 dots.
type braille struct {
	area
	columns int
	bits    []rune // the dots of each character
	inks    []int  // the ink of its last one
	marks   map[int]rune
}

// braille is the canvas of curves between two values.
func (l *Lines) braille(columns int, low, high float64) *braille {
	return &braille{
		area:    area{w: float64(2*columns - 1), h: 4*textRows - 1, fromX: l.X[0], toX: l.X[len(l.X)-1], fromY: low, toY: high},
		columns: columns,
		bits:    make([]rune, columns*textRows),
		inks:    make([]int, columns*textRows),
		marks:   map[int]rune{},
	}
}

// dot sets one of the eight dots of a character.
func (c *braille) dot(x, y, ink int) {
	if x < 0 || x >= 2*c.columns || y < 0 || y >= 4*textRows {
		return
	}
	i := y/4*c.columns + x/2
	c.bits[i] |= [4][2]rune{{1, 8}, {2, 16}, {4, 32}, {64, 128}}[y%4][x%2] // Unicode, 2800
	c.inks[i] = ink
}

// curve draws a curve, and lists the characters that it goes through from left to right.
func (c *braille) curve(x []float64, s *Series) (cells []int) {
	steps := 0
	for _, run := range c.runs(x, s) {
		if len(run) == 1 { // a point alone is as large as a character
			x, y := round(run[0].x)&^1, round(run[0].y)&^1
			for i := range 4 {
				c.dot(x+i%2, y+i/2, s.Ink)
			}
		}
		for _, p := range run {
			cells = append(cells, min(max(round(p.y)/4, 0), textRows-1)*c.columns+min(max(round(p.x)/2, 0), c.columns-1))
		}
		for i := range run[1:] {
			p, q := run[i], run[i+1]
			n := max(int(math.Ceil(max(math.Abs(q.x-p.x), math.Abs(q.y-p.y)))), 1)
			for j := range n + 1 {
				if j == 0 && i > 0 {
					continue
				}
				f := float64(j) / float64(n)
				steps++
				if !s.Dashed || steps%6 < 3 {
					c.dot(round(p.x+(q.x-p.x)*f), round(p.y+(q.y-p.y)*f), s.Ink)
				}
			}
		}
	}
	return cells
}

// line is a line of it; blank stands where nothing is drawn.
func (c *braille) line(t *terminal, row int, blank rune) string {
	var b strings.Builder
	for i := row * c.columns; i < (row+1)*c.columns; i++ {
		switch {
		case c.marks[i] != 0:
			b.WriteRune(c.marks[i])
		case c.bits[i] != 0:
			b.WriteString(t.paint(string(0x2800+c.bits[i]), palette[c.inks[i]%len(palette)]))
		default:
			b.WriteRune(blank)
		}
	}
	return b.String()
}

// text draws curves as dots in characters, with the axes labelled.
func (l *Lines) text(t *terminal) string {
	low, high := l.Limits()
	labels := map[int]string{}
	left := 0
	for _, k := range l.yticks(low, high, textRows/4) {
		row := min(max(int((1-part(k.at, low, high))*textRows), 0), textRows-1)
		labels[row] = k.label
		left = max(left, cells.Width(k.label))
	}
	c := l.braille(max(t.width-left-3, 4), low, high)
	lettered := !t.color && l.alike()
	for k := range l.Series {
		points := c.curve(l.X, &l.Series[k])
		for i := range 3 { // where the other letters are not
			if n := len(points); lettered && n > 0 {
				c.marks[points[min(n-1, n*((2*i+1)*len(l.Series)+2*k)/(6*len(l.Series)))]] = letter(k)
			}
		}
	}
	var b strings.Builder
	l.legend(&b, t, left, lettered)
	zero := -1
	if l.zero(low, high) {
		zero = round(c.py(0)) / 4
	}
	for row := range textRows {
		edge, blank := "│", ' '
		if labels[row] != "" {
			edge = "┤"
		}
		if row == zero {
			blank = '·'
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%*s %s", left, labels[row], edge)+c.line(t, row, blank), " ") + "\n")
	}
	l.xaxis(&b, t, left, c.columns)
	return b.String()
}

// legend names the curves, a line each.
func (l *Lines) legend(b *strings.Builder, t *terminal, left int, lettered bool) {
	for k, s := range l.Series {
		stroke := "──"
		if s.Dashed {
			stroke = "╌╌"
		}
		if lettered {
			stroke = string(letter(k)) + string([]rune(stroke)[:1])
		}
		b.WriteString(strings.Repeat(" ", left+2) + t.paint(stroke, palette[s.Ink%len(palette)]) + " " + cells.Cut(s.Name, t.width-left-5) + "\n")
	}
}

// xaxis draws the axis below; its labels stand centred under their marks.
func (l *Lines) xaxis(b *strings.Builder, t *terminal, left, columns int) {
	axis, names := []rune(strings.Repeat("─", columns)), []rune(strings.Repeat(" ", t.width+8))
	free := 0
	for _, k := range l.xticks(columns / 12) {
		x := min(max(int(part(k.at, l.X[0], l.X[len(l.X)-1])*float64(columns)), 0), columns-1)
		axis[x] = '┬'
		n := cells.Width(k.label)
		at := min(max(left+2+x-n/2, free), t.width-n)
		if at < free {
			continue
		}
		copy(names[at:], []rune(k.label))
		free = at + n + 1
	}
	b.WriteString(strings.Repeat(" ", left+1) + "└" + string(axis) + "\n")
	b.WriteString(strings.TrimRight(string(names), " ") + "\n")
	b.WriteString(strings.Repeat(" ", left+2+max(columns-cells.Width(l.XLabel), 0)/2) + cells.Cut(l.XLabel, columns) + "\n")
}

// alike reports whether only colour would tell two curves apart.
func (l *Lines) alike() bool {
	var of [2]int // solid ones, dashed ones
	for _, s := range l.Series {
		if s.Dashed {
			of[1]++
		} else {
			of[0]++
		}
	}
	return max(of[0], of[1]) > 1
}

// letter is what stands on the k-th curve where there are no colours.
func letter(k int) rune { return rune('a' + k%26) }

// text draws each element two columns wide: in its colour, or as a sign and a digit, which
// is ninths of the limit (a space between them, if there is room). What does not fit is drawn in blocks, each by its strongest element.
func (h *Heat) text(t *terminal) string {
	limit := h.limit()
	const mostRows = 40
	small, by, across := h.shrunk((t.width-4)/2, mostRows)
	space := ""
	if !t.color && 3*small.Columns+4 <= t.width {
		space = " "
	}
	var b strings.Builder
	if h.Title != "" {
		b.WriteString(cells.Cut(h.Title, t.width) + "\n")
	}
	digits := len(fmt.Sprint(h.Rows - 1))
	for i := range small.Rows {
		var line strings.Builder
		label := ""
		switch a := h.Block[0]; {
		case a > 0:
			if by == 1 && i%(a+1) == 1 {
				label = fmt.Sprint(i / (a + 1))
			}
		case h.YRange[0] == h.YRange[1] && (i%5 == 0 || small.Rows <= 10):
			label = fmt.Sprint(i * by)
		}
		fmt.Fprintf(&line, "%*s ", digits, label)
		for j := range small.Columns {
			line.WriteString(space + small.cell(t, i*small.Columns+j, limit))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	caption := h.XLabel
	if h.XRange[0] != h.XRange[1] {
		caption = fmt.Sprintf("%s from %.4g to %.4g, %s from %.4g below to %.4g", h.XLabel, h.XRange[0], h.XRange[1], h.YLabel, h.YRange[0], h.YRange[1])
	}
	if caption != "" {
		b.WriteString(strings.Repeat(" ", digits+1) + cells.Cut(caption, t.width-digits-1) + "\n")
	}
	strongest := fmt.Sprintf("%.4g", limit)
	if t.color {
		fmt.Fprintf(&b, "%s -%s   %s 0   %s %s", swatch(-1), strongest, swatch(0), swatch(1), strongest)
	} else {
		b.WriteString(small.key(strongest, limit, t.width))
	}
	b.WriteByte('\n')
	if by > 1 || across > 1 {
		b.WriteString(cells.Cut(fmt.Sprintf("strongest of %d × %d", by, across), t.width) + "\n")
	}
	return b.String()
}

// key says what the characters of the elements mean, in lines of so many columns.
func (h *Heat) key(strongest string, limit float64, columns int) string {
	nine := "9 is " + strongest
	if slices.ContainsFunc(h.Data, func(v float64) bool { return math.Abs(v) > limit }) {
		nine += " or more"
	}
	text := "· is 0, " + nine
	if slices.ContainsFunc(h.Data, func(v float64) bool { return v != v }) && h.Gap == nil {
		if text += ", ? is nan"; cells.Width(text) > columns {
			text = strings.ReplaceAll(text, ", ", ",\n")
		}
	}
	return text
}

// cell is an element: two characters.
func (h *Heat) cell(t *terminal, k int, limit float64) string {
	v := h.Data[k]
	switch {
	case t.color:
		return onColor(h.color(k, limit))
	case h.Gap != nil && h.Gap[k]:
		return "  "
	case math.IsNaN(v):
		return " ?"
	case v == 0:
		return " ·"
	}
	sign := " "
	if v < 0 {
		sign = "-"
	}
	return sign + fmt.Sprint(int(math.Round(9*min(math.Abs(v)/limit, 1))))
}

func swatch(v float64) string { return onColor(diverging(v)) }

// onColor is two characters of nothing but colour.
func onColor(c color.RGBA) string {
	return fmt.Sprintf("\x1b[48;2;%d;%d;%dm  \x1b[0m", c.R, c.G, c.B)
}

// shrunk is h with blocks of elements for elements, so that it has no more than so many
// rows and columns: the strongest of each. Gaps between blocks are lost then.
func (h *Heat) shrunk(columns, rows int) (s *Heat, by, across int) {
	by, across = (h.Rows+rows-1)/rows, (h.Columns+columns-1)/columns
	if by <= 1 && across <= 1 {
		return h, 1, 1
	}
	s = &Heat{Rows: (h.Rows + by - 1) / by, Columns: (h.Columns + across - 1) / across}
	s.Data = make([]float64, s.Rows*s.Columns)
	for i, v := range h.Data {
		if h.Gap != nil && h.Gap[i] {
			continue
		}
		k := i/h.Columns/by*s.Columns + i%h.Columns/across
		if math.Abs(v) > math.Abs(s.Data[k]) || math.IsNaN(v) {
			s.Data[k] = v
		}
	}
	return s, by, across
}
