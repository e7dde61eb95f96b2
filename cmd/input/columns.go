package input

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"nabla/expr"
	"nabla/tape/tensor"
)

// A frame is a table whose first line names its columns, as statisticians keep data. A name or
// a text may stand in quotes, and a separator in them; a number that is missing, as an empty cell
// or NA says, is NaN, and noted.
type frame struct {
	parser
	separator byte // or ' ' for any space
	names     []string
	places    []int  // of the names in the text
	want      int    // the column asked for, or -1 for all that hold numbers
	text      []bool // columns that hold something else
	data      [][]float64
	missing   []int     // numbers of a column
	line      []float64 // the last one that is read at once
	room      int       // rows that the text may have, once asked
	rows      int
	commas    bool // some cell has a decimal comma
}

// readColumns reads the columns of a table by their names: the one asked for, or all that hold
// numbers. A column is a vector, of one row too; which were left out is noted.
func readColumns(name, path, column string, text []byte) (*frame, error) {
	f := &frame{parser: parser{file: name, first: 1, b: text, path: []step{{name: path}}}, want: -1}
	err := tableLines(text, func(line []byte, at, next int) *Error {
		if f.names == nil {
			return f.header(line, at, column)
		}
		return f.row(line, at)
	})
	if err != nil {
		return nil, err
	}
	if f.rows == 0 {
		return nil, f.fault(len(text), "the table is empty", "")
	}
	return f, nil
}

// header reads the line that names the columns.
func (f *frame) header(line []byte, at int, column string) *Error {
	f.separator = ' '
	plain := unquoted(line)
	for _, c := range []byte(",;\t") {
		if bytes.IndexByte(plain, c) >= 0 {
			f.separator = c
			break
		}
	}
	var list []string
	var places []int
	cells, err := f.cells(line, at, nil)
	if err != nil {
		return err
	}
	for _, c := range cells {
		word := bytes.Trim(line[c.from:c.to], `"`)
		if _, ok := parseCell(word); ok || !utf8.Valid(word) {
			return f.fault(at+c.from, "the first line names no columns", "without a name the table is read as one matrix")
		}
		list, places = append(list, string(word)), append(places, at+c.from)
		if i := len(list) - 1; column != "" && list[i] == column {
			if f.want >= 0 {
				return f.fault(at+c.from, "there are two columns "+quote(column), "")
			}
			f.want = i
		}
	}
	if column != "" && f.want < 0 {
		e := &Error{File: f.file, Msg: "there is no column " + quote(column), Hint: expr.DidYouMean(column, list)}
		if e.Hint == "" {
			e.Hint = "there are " + expr.Some(list)
		}
		return e
	}
	f.names, f.places, f.text, f.data, f.missing = list, places, make([]bool, len(list)), make([][]float64, len(list)), make([]int, len(list))
	f.line = make([]float64, len(list))
	for i, name := range list {
		f.text[i] = f.want < 0 && name == "" // numbers of rows
	}
	return nil
}

// numbers reads a line of nothing but numbers, as most lines are, or is false and has read nothing: a process
// that reads a million of them takes half of the time that it takes to cut them into cells first.
func (f *frame) numbers(line []byte) bool {
	i := 0
	for c := range f.names {
		for i < len(line) && isSpace(line[i]) && line[i] != f.separator {
			i++
		}
		x, end, ok := number(line, i)
		if !ok || x-x != 0 {
			return false
		}
		f.line[c] = x
		for i = end; i < len(line) && isSpace(line[i]) && line[i] != f.separator; i++ {
		}
		switch last := c == len(f.names)-1; {
		case last != (i == len(line)):
			return false
		case !last && line[i] != f.separator:
			return false
		}
		i++
	}
	for c, x := range f.line {
		if !f.text[c] && (f.want < 0 || f.want == c) {
			f.add(c, x)
		}
	}
	f.rows++
	return true
}

// row reads a line of cells, which stands at at.
func (f *frame) row(line []byte, at int) *Error {
	if f.numbers(line) {
		return nil
	}
	var room [64]cellAt
	cells, err := f.cells(line, at, room[:0])
	if err != nil {
		return err
	}
	if len(cells) != len(f.names) {
		return f.fault(at, fmt.Sprintf("row %d has %s where %d %s expected", f.rows, expr.Plural(len(cells), "cell"), len(f.names), areIs(len(f.names))), "")
	}
	for i, c := range cells {
		if f.text[i] || f.want >= 0 && f.want != i {
			continue
		}
		word := line[c.from:c.to]
		x, ok := parseCell(bytes.Trim(word, `"`))
		switch {
		case ok:
		case len(word) == 0 || isMissing(string(word)):
			x = math.NaN()
			f.missing[i]++
		case f.want < 0 && len(f.data[i]) == f.missing[i] && !isTooLarge(string(word)):
			f.text[i], f.commas = true, f.commas || hasDecimalComma(word)
			continue
		default:
			if f.want < 0 {
				f.path = []step{{name: f.names[i]}}
			}
			if isTooLarge(string(word)) {
				return f.fault(at+c.from, string(word)+" is out of range of float64", "infinity is written inf", step{index: f.rows})
			}
			hint := ""
			if hasDecimalComma(word) {
				hint = writePoint
			}
			return f.fault(at+c.from, quote(string(word))+" is not a number", hint, step{index: f.rows})
		}
		f.add(i, x)
	}
	f.rows++
	return nil
}

// add adds a number to a column.
func (f *frame) add(i int, x float64) {
	if f.data[i] == nil {
		if f.room == 0 {
			f.room = rowsIn(f.b, len(f.names))
		}
		f.data[i] = emptyRoom(f.room)
	}
	f.data[i] = append(f.data[i], x)
}

// value is the column asked for, and what there is to note about it.
func (f *frame) value() (*tensor.Value, []string) {
	return vector(f.data[f.want]), f.notes(f.want)
}

// notes tells of numbers that are missing in a column.
func (f *frame) notes(i int) []string {
	if f.missing[i] == 0 {
		return nil
	}
	return []string{printable(f.file+": "+f.names[i]) + ": " + expr.Plural(f.missing[i], "missing number") + " of " + strconv.Itoa(f.rows) + " read as nan"}
}

func vector(data []float64) *tensor.Value {
	return tensor.Of(&tensor.Tensor{Shape: tensor.Shape{len(data)}, Data: data})
}

// document is that of which every column of numbers is a variable.
func (f *frame) document() (*Document, error) {
	doc := &Document{Name: f.file}
	var left []string
	for i, name := range f.names {
		if f.text[i] || len(f.data[i]) == f.missing[i] {
			left = append(left, cmp.Or(name, "one without a name"))
			continue
		}
		doc.Notes = append(doc.Notes, f.notes(i)...)
		problem := badName(name)
		if problem == "" {
			problem = doc.place(name, vector(f.data[i]), f.file)
		}
		if problem != "" {
			f.path = nil
			return nil, f.fault(f.places[i], problem, "")
		}
	}
	hint := ""
	if f.commas {
		hint = writePoint
	}
	if len(left) == len(f.names) {
		return nil, &Error{File: f.file, Msg: "no column holds numbers", Hint: hint}
	}
	if left != nil {
		note := printable(f.file + ": columns left out, as they hold no numbers: " + expr.Some(left))
		if hint != "" {
			note += "; " + hint
		}
		doc.Notes = append(doc.Notes, note)
	}
	return doc, nil
}

// hasDecimalComma reports whether a cell would be a number with a point for its comma.
func hasDecimalComma(word []byte) bool {
	_, ok := parseCell(bytes.Replace(bytes.Trim(word, `"`), []byte(","), []byte("."), 1))
	return ok && bytes.IndexByte(word, ',') >= 0
}

// A cellAt is where a cell stands in a line, without the space around it.
type cellAt struct{ from, to int }

// cells cuts a line, which stands at at, at its separators, those in quotes apart, which begin a cell.
func (f *frame) cells(line []byte, at int, list []cellAt) ([]cellAt, *Error) {
	from, open, closed := 0, -1, -2 // where a quote begins, and where the last one ended
	add := func(to int) {
		a, b := from, to
		for a < b && isSpace(line[a]) {
			a++
		}
		for b > a && isSpace(line[b-1]) {
			b--
		}
		if a < b || f.separator != ' ' {
			list = append(list, cellAt{a, b})
		}
		from = to + 1
	}
	for i, c := range line {
		switch {
		case open >= 0:
			if c == '"' {
				open, closed = -1, i
			}
		case c == '"' && (closed == i-1 || len(bytes.TrimSpace(line[from:i])) == 0): // "" is a quote in quotes
			open = i
		case c == f.separator, f.separator == ' ' && isSpace(c):
			add(i)
		}
	}
	if open >= 0 {
		return nil, f.fault(at+open, "a quote that is not closed in its line", "")
	}
	add(len(line))
	return list, nil
}

// parseCell is the number that a cell is.
func parseCell(word []byte) (x float64, ok bool) {
	if len(word) == 0 {
		return 0, false
	}
	x, end, ok := cell(word, 0)
	return x, ok && end == len(word)
}
