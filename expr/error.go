package expr

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"nabla/expr/cells"
)

// An Error is a mistake in a program's text, or one found while running it, with
// its place. The caret stands at Mark, the span is underlined around it.
type Error struct {
	Prog  *Program // the text; nil when there is none to show
	Where Span
	Mark  Pos
	Kind  string // syntax, name, shape, type, gradient: the "kind" of the JSON error
	Msg   string // one line, lower case, no full stop
	Note  string // what stands behind the caret line, such as "x is (7, 5), w is (4, 3)"
	Hint  string // the likely fix, such as "did you mean sin?"
}

func (e *Error) Error() string { return e.Msg }

// LineCol is the place of the mark, both from 1; the column counts characters.
// Without a place both are 0.
func (e *Error) LineCol() (line, col int) {
	if !e.placed() {
		return 0, 0
	}
	text := e.Prog.Text
	start, _ := lineAt(text, int(e.Mark))
	return strings.Count(text[:start], "\n") + 1, utf8.RuneCountInString(text[start:e.Mark]) + 1
}

func (e *Error) placed() bool {
	return e.Prog != nil && e.Mark >= 0 && int(e.Mark) <= len(e.Prog.Text)
}

// lineAt is the line that the byte at pos stands in, without its end and without a byte
// order mark.
func lineAt(text string, pos int) (start, end int) {
	start = strings.LastIndexByte(text[:pos], '\n') + 1
	end = len(text)
	if i := strings.IndexByte(text[pos:], '\n'); i >= 0 {
		end = pos + i
	}
	if start == 0 && strings.HasPrefix(text, bom) {
		start = min(len(bom), pos)
	}
	if end > pos && text[end-1] == '\r' {
		end--
	}
	return start, end
}

// Render is the message, the line it is about, a mark below the place and the hint:
//
//	shapes (7, 5) and (4, 3) do not multiply
//	    sum(x @ w)
//	        ~~^~~  inner sizes 5 and 4 differ
//	    hint: …
//
// An empty text is not shown. The message says the place too where the line alone does
// not: in a file, or in a text of several lines. Of a long line it shows the part around
// the mark.
func (e *Error) Render() string {
	var b strings.Builder
	b.WriteString(e.Msg)
	if e.placed() {
		line, col := e.LineCol()
		several := strings.Contains(strings.TrimRight(e.Prog.Text, "\r\n"), "\n")
		switch {
		case e.Prog.Name != "" && several:
			fmt.Fprintf(&b, ", in line %d (%s:%d:%d)", line, e.Prog.Name, line, col)
		case e.Prog.Name != "":
			fmt.Fprintf(&b, " (%s:%d:%d)", e.Prog.Name, line, col)
		case several:
			fmt.Fprintf(&b, " (line %d, column %d)", line, col)
		}
		if e.Prog.Text != "" {
			source, mark := e.picture()
			b.WriteString("\n    " + source + "\n    " + mark)
		}
		if e.Note != "" {
			b.WriteString("  " + e.Note)
		}
	} else if e.Note != "" {
		b.WriteString(": " + e.Note)
	}
	if e.Hint != "" {
		b.WriteString("\n    hint: " + e.Hint)
	}
	return b.String()
}

// window is how many columns of a long line are shown.
const window = 72

// picture is the line of the mark, cut to the window, and the line below it.
func (e *Error) picture() (source, mark string) {
	text, at := e.Prog.Text, int(e.Mark)
	start, end := lineAt(text, at)
	from, to := e.around(text, start, end)
	var src, below strings.Builder
	if from > start {
		src.WriteString("…")
		below.WriteByte(' ')
	}
	lo, hi := int(e.Where.Start), int(e.Where.End)
	if at < lo || at >= hi {
		lo, hi = at, at+1
	}
	for i := from; i < to; {
		cell, width, n := cells.First(text[i:to])
		src.WriteString(cell)
		switch {
		case i <= at && at < i+n:
			below.WriteByte('^')
			below.WriteString(strings.Repeat("~", max(width-1, 0)))
		case cell == "\t":
			below.WriteByte('\t')
		case lo <= i && i < hi:
			below.WriteString(strings.Repeat("~", width))
		default:
			below.WriteString(strings.Repeat(" ", width))
		}
		i += n
	}
	if at >= to {
		below.WriteByte('^')
	}
	if to < end {
		src.WriteString("…")
	}
	return src.String(), strings.TrimRight(below.String(), " \t")
}

// around is the part of a line that is shown: all of it, or the window around the mark.
func (e *Error) around(text string, start, end int) (from, to int) {
	const room = window - 2 // for the two …
	from, to = int(e.Mark), int(e.Mark)
	used := 0
	for i := to; i < end && used < window/2; {
		_, width, n := cells.First(text[i:end])
		used += width
		i += n
	}
	before := room - used
	used = 0
	for from > start {
		_, n := utf8.DecodeLastRuneInString(text[start:from])
		_, width, _ := cells.First(text[from-n : from])
		if used+width > before {
			break
		}
		used += width
		from -= n
	}
	for to < end {
		_, width, n := cells.First(text[to:end])
		if used+width > room {
			break
		}
		used += width
		to += n
	}
	return from, to
}

// Suggest returns the candidate that a misspelt name was probably meant to be, or "":
// the same but for upper and lower case, or at most two slips away (a letter added, left
// out, changed, or two exchanged) and less than half of the name. Of several the nearest, then
// the one that begins alike.
func Suggest(name string, candidates []string) string {
	best, least, shared := "", 3, -1
	better := func(c string, d, s int) bool {
		switch {
		case d != least:
			return d < least
		case s != shared:
			return s > shared
		case len(c) != len(best):
			return len(c) < len(best)
		}
		return c < best
	}
	for _, c := range candidates {
		if c == name {
			continue
		}
		d := 0
		if !strings.EqualFold(c, name) {
			d = distance(name, c)
			if d > 2 || 2*d >= utf8.RuneCountInString(name) {
				continue
			}
		}
		if s := prefix(name, c); better(c, d, s) {
			best, least, shared = c, d, s
		}
	}
	return best
}

// Nearest is the shortest candidate that a word of three letters or more begins, or the one
// that it misspells, or "". A word of two letters is taken for one of three whose middle one
// was left out, as in sn.
func Nearest(word string, candidates []string) string {
	best := ""
	for _, c := range candidates {
		if len(word) == 2 && len(c) == 3 && word[0] == c[0] && word[1] == c[2] && (best == "" || c < best) {
			best = c
		}
		if len(word) > 2 && len(c) > len(word) && strings.HasPrefix(c, word) && (best == "" || len(c) < len(best) || len(c) == len(best) && c < best) {
			best = c
		}
	}
	if best == "" {
		best = Suggest(word, candidates)
	}
	return best
}

// DidYouMean is the hint for a misspelt name, or "".
func DidYouMean(name string, candidates []string) string {
	if s := Suggest(name, candidates); s != "" {
		return "did you mean " + s + "?"
	}
	return ""
}

// prefix is the number of bytes with which both begin.
func prefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// distance is the Damerau-Levenshtein distance (optimal string alignment), or 3 where it
// is plain that it is more than 2.
func distance(a, b string) int {
	if len(a) > 256 || len(b) > 256 {
		return 3
	}
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d > 2 || d < -2 {
		return 3
	}
	two, one, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range one {
		one[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			d := one[j]
			if x[i] != y[j] {
				d++
			}
			d = min(d, one[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d = min(d, two[j-1]+1)
			}
			row[j+1] = d
		}
		two, one, row = one, row, two
	}
	return one[len(y)]
}
