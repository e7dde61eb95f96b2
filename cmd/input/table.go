package input

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"nabla/expr"
	"nabla/kernels/pages"
	"nabla/tape/tensor"
)

// readTable reads a text of numbers: a row a line, separated by commas, by semicolons or
// by space; by two of them never, as 1,5;2,5 has decimal commas. Empty lines and what follows
// a '#' are skipped, and so is a first line that names the columns, which is noted. An axis of
// size one is dropped, as NumPy's loadtxt does, so that a column and a row are both vectors.
func readTable(name, path string, text []byte) (v *tensor.Value, notes []string, err error) {
	r := &table{parser: parser{file: name, first: 1, b: text, path: []step{{name: path}}}}
	wrong := tableLines(text, func(line []byte, at, next int) *Error {
		if r.rows > 0 || notes != nil || next >= len(text) || !isHeader(line, text[next:]) {
			return r.row(line, at, next)
		}
		r.headed = true
		notes = []string{printable(name) + ": left out: the names of the columns, " + clip(bytes.TrimSpace(line))}
		if c := line[0]; c == ',' || c == ';' { // as pandas writes an index
			notes = append(notes, printable(name)+": the first column has no name, as one that numbers the rows: [:, 1:] leaves it out")
		}
		return nil
	})
	if wrong != nil {
		return nil, nil, wrong
	}
	if r.rows == 0 {
		return nil, nil, r.fault(len(text), "the table is empty", "")
	}
	t := &tensor.Tensor{Data: r.data}
	for _, n := range []int{r.rows, r.cols} {
		if n != 1 {
			t.Shape = append(t.Shape, n)
		}
	}
	return tensor.Of(t), notes, nil
}

// tableLines calls f with each line of a table that says something, up to a comment: where it
// stands in the text, and where the next one does.
func tableLines(text []byte, f func(line []byte, at, next int) *Error) *Error {
	for at := 0; at < len(text); {
		line := text[at:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		if n := bytes.IndexByte(line, '\r'); n >= 0 && n < len(line)-1 { // a line end of its own, once
			line = line[:n]
		}
		next := at + len(line) + 1
		if at == 0 {
			rest := bytes.TrimPrefix(line, []byte("\ufeff"))
			at, line = len(line)-len(rest), rest
		}
		if line = withoutComment(line); len(bytes.TrimSpace(line)) > 0 {
			if err := f(line, at, next); err != nil {
				return err
			}
		}
		at = next
	}
	return nil
}

// unquoted is a line with spaces for what stands in quotes.
func unquoted(line []byte) []byte {
	out, quoted := bytes.Clone(line), false
	for i, c := range line {
		if c == '"' {
			quoted = !quoted
		}
		if quoted {
			out[i] = ' '
		}
	}
	return out
}

// withoutComment is a line up to a '#' that does not stand in quotes.
func withoutComment(line []byte) []byte {
	if bytes.IndexByte(line, '#') < 0 {
		return line
	}
	if n := bytes.IndexByte(unquoted(line), '#'); n >= 0 {
		return line[:n]
	}
	return line
}

// rowsIn is how many rows of so many cells a text may have.
func rowsIn(text []byte, cells int) int {
	return min(bytes.Count(text, []byte{'\n'}), len(text)/(2*cells)) + 1
}

// emptyRoom is memory for n numbers, of which there is none yet.
func emptyRoom(n int) []float64 {
	room := make([]float64, n)
	pages.Huge(room)
	return room[:0]
}

// A table is what was read of one so far.
type table struct {
	parser
	data       []float64
	rows, cols int
	separator  byte // of the whole table, once there is one
	headed     bool // its first line names the columns
}

// row reads a line, which stands at at; the next one stands at next.
func (r *table) row(line []byte, at, next int) *Error {
	first := len(r.data)
	for i := 0; ; {
		if i = afterSpace(line, i); i == len(line) {
			break
		}
		f, end, ok := cell(line, i)
		if !ok {
			msg, hint := r.noNumber(string(line[i:end]), line, r.b[min(next, len(r.b)):], len(r.data) == first)
			return r.fault(at+i, msg, hint, step{index: r.rows}, step{index: len(r.data) - first})
		}
		r.data = append(r.data, f)
		if i = afterSpace(line, end); i == len(line) {
			break
		}
		sep, where := byte(' '), end
		if line[i] == ',' || line[i] == ';' {
			sep, where = line[i], i
		}
		if r.separator != 0 && r.separator != sep {
			return r.fault(at+where, fmt.Sprintf("numbers are separated by %s here, and by %s before", separatorName(sep), separatorName(r.separator)),
				writePoint, step{index: r.rows})
		}
		if r.separator = sep; sep != ' ' {
			i++
			if afterSpace(line, i) == len(line) {
				return r.fault(at+i, "a number is missing", r.atEnd(line, r.b[min(next, len(r.b)):], len(r.data)-first), step{index: r.rows}, step{index: len(r.data) - first})
			}
		}
	}
	if n := len(r.data) - first; n > 0 {
		if r.rows > 0 && n != r.cols {
			return r.fault(at, fmt.Sprintf("row %d has %s where %d %s expected", r.rows, expr.Plural(n, "number"), r.cols, areIs(r.cols)), "", step{index: r.rows})
		}
		if r.rows == 0 {
			r.data = append(emptyRoom(n*rowsIn(r.b, n)), r.data...)
		}
		r.rows, r.cols = r.rows+1, n
	}
	return nil
}

// atEnd is what to do about a line, in front of below, that ends with a separator after n numbers:
// the rows beside it tell whether another should follow.
func (r *table) atEnd(line, below []byte, n int) (hint string) {
	below, _, _ = bytes.Cut(below, []byte("\n"))
	below = bytes.TrimSpace(below)
	if r.rows > 0 && n < r.cols || r.rows == 0 && asMany(line, below) && below[len(below)-1] != r.separator {
		return writeNaN
	}
	return "remove the " + separatorName(r.separator) + " at the end"
}

const (
	writeNaN   = "a missing number is written nan"
	writePoint = "a decimal comma is written as a point"
)

// hasThousands reports whether a text is a number that may have commas between its thousands.
func hasThousands(text string) bool {
	text, _, _ = strings.Cut(strings.Trim(text, `"'+-`), ".")
	parts := strings.Split(text, ",")
	for i, p := range parts {
		if i > 0 && len(p) != 3 || p == "" || len(p) > 3 || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return len(parts) > 1
}

// isTooLarge reports whether a text is a number beyond float64.
func isTooLarge(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return errors.Is(err, strconv.ErrRange)
}

// noNumber says what is wrong with a cell of a line, in front of below, and the likely fix; begins
// is whether it begins the line, which may have been meant as the names of columns.
func (r *table) noNumber(what string, line, below []byte, begins bool) (msg, hint string) {
	switch {
	case what == "":
		return "a number is missing", writeNaN
	case isTooLarge(what):
		return what + " is out of range of float64", "infinity is written inf"
	case strings.Contains(what, "_"):
		hint = "digits stand without _"
	case hasThousands(what):
		hint = "thousands stand without commas, and a decimal comma is written as a point"
	case strings.Contains(what, ","):
		hint = writePoint
	case what[0] == '"' && strings.Count(what, `"`) == 1:
		hint = "the quotation mark is not closed"
	case strings.Trim(what, "'") != what:
		hint = "write numbers without quotes"
	case isMissing(what):
		hint = writeNaN
	case bytes.HasPrefix(r.b, []byte("name,index,value")): // as -f csv lists several results
		hint = "several results are read back from -f npz or -f json"
	case strings.HasSuffix(what, "%"):
		hint = "1% is written 0.01"
	case r.rows == 0 && (r.headed || begins && asMany(line, below)):
		hint = "where not all columns hold numbers, @" + strings.Replace(r.file, Called("-"), "-", 1) + ":NAME reads one"
	case r.rows == 0 && begins && len(bytes.TrimSpace(below)) == 0 && areNames(line):
		hint = "where these are names of columns, no row follows them"
	case r.rows == 0 && begins && len(below) > 0:
		hint = "a first line that names columns has as many names as the next has numbers"
	}
	return quote(what) + " is not a number", hint
}

// isHeader reports whether a line names the columns of a table, the rest of which begins with
// below: it has as many words as the next row has cells, and none of them is a number, but
// one of the cells is. The first may be empty, over the numbers of the rows.
func isHeader(line, below []byte) bool {
	below = bytes.TrimLeft(below, " \t\r\n")
	if n := bytes.IndexAny(below, "\r\n"); n >= 0 {
		below = below[:n]
	}
	split := func(b []byte) [][]byte { return bytes.Fields(b) }
	if i := bytes.IndexAny(below, ",;"); i >= 0 {
		split = func(b []byte) [][]byte { return bytes.Split(b, below[i:i+1]) }
	}
	isNumber := func(b []byte) bool {
		b = bytes.TrimSpace(b)
		_, end, ok := cell(b, 0)
		return ok && end == len(b)
	}
	words, cells := split(line), split(below)
	if len(words) != len(cells) || !slices.ContainsFunc(cells, isNumber) || !utf8.Valid(line) {
		return false
	}
	for i, w := range words {
		w = bytes.TrimSpace(w)
		if len(w) == 0 && (i > 0 || len(words) == 1) || bytes.ContainsAny(w, ",;") || isNumber(bytes.Trim(w, `"'`)) || isMissing(string(w)) {
			return false
		}
	}
	return true
}

// areNames reports whether a line would name the columns of a table, if numbers stood below it.
func areNames(line []byte) bool {
	i := bytes.IndexAny(line, ",;")
	return i >= 0 && isHeader(line, append(bytes.Repeat([]byte{'0', line[i]}, bytes.Count(line, line[i:i+1])), '0'))
}

// asMany reports whether a line has several cells, and the one below as many.
func asMany(line, below []byte) bool {
	below, _, _ = bytes.Cut(below, []byte("\n"))
	for _, sep := range [][]byte{[]byte(","), []byte(";"), []byte("\t")} {
		if n := bytes.Count(line, sep); n > 0 {
			return n == bytes.Count(below, sep)
		}
	}
	return false
}

// isMissing reports whether a word stands for a number that is not known.
func isMissing(word string) bool {
	return slices.Contains([]string{"na", "n/a", "null", "none", "-"}, strings.ToLower(word))
}

// separatorName is what separates numbers, as messages say it.
func separatorName(c byte) string {
	if c == ' ' {
		return "space"
	}
	return "'" + string(c) + "'"
}

// cell reads one number of a table. Tables come from many hands: +1, .5, 1., nan and "2" are
// numbers there.
func cell(line []byte, i int) (f float64, end int, ok bool) {
	if f, end, ok = number(line, i); ok && f-f == 0 && endsCell(line, end) {
		return f, end, true
	}
	end = i
	if i < len(line) && line[i] == '"' {
		end += 1 + bytes.IndexByte(line[i+1:], '"') // separators in quotes separate nothing
	}
	for !endsCell(line, end) {
		end++
	}
	if end-i > 2 && line[i] == '"' && line[end-1] == '"' && line[i+1] != '"' {
		f, ok = parseCell(line[i+1 : end-1])
		return f, end, ok
	}
	text := string(line[i:end])
	if strings.ContainsAny(text, "xX_") {
		return 0, end, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, end, err == nil
}

// endsCell reports whether no number goes on at i.
func endsCell(line []byte, i int) bool {
	return i == len(line) || isSpace(line[i]) || line[i] == ',' || line[i] == ';'
}
