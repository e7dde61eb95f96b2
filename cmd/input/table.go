package input

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nabla/expr"
	"nabla/tape/tensor"
)

// ReadTable reads a text of numbers: a row a line, separated by commas, by semicolons or
// by space; by two of them never, as 1,5;2,5 has decimal commas. Empty lines and what follows a '#' are skipped. An axis of size one is dropped,
// as NumPy's loadtxt does, so that a column and a row are both vectors.
func ReadTable(name, path string, text []byte) (*tensor.Value, error) {
	p := &parser{file: name, first: 1, b: text, path: []step{{name: path}}}
	var data []float64
	rows, cols := 0, 0
	separator := byte(0) // of the whole table, once there is one
	for at := 0; at < len(text); {
		line := text[at:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		next := at + len(line) + 1
		if n := bytes.IndexByte(line, '#'); n >= 0 {
			line = line[:n]
		}
		if at == 0 {
			rest := bytes.TrimPrefix(line, []byte("\ufeff"))
			at, line = len(line)-len(rest), rest
		}
		first := len(data)
		for i := 0; ; {
			for i < len(line) && isSpace(line[i]) {
				i++
			}
			if i == len(line) {
				break
			}
			f, end, ok := cell(line, i)
			if !ok {
				what := string(line[i:end])
				hint := ""
				switch {
				case strings.Trim(what, `"'`) != what:
					hint = "write numbers without quotes"
				case slices.Contains([]string{"na", "n/a", "null", "none", "-"}, strings.ToLower(what)):
					hint = "a missing number is written nan"
				case rows == 0 && len(data) == first && next < len(text):
					hint = "a table has no header: remove the first line"
				}
				msg := quote(what) + " is not a number"
				if what == "" {
					msg, hint = "a number is missing", ""
				}
				return nil, p.fault(at+i, msg, hint, step{index: rows}, step{index: len(data) - first})
			}
			data = append(data, f)
			for i = end; i < len(line) && isSpace(line[i]); i++ {
			}
			if i == len(line) {
				break
			}
			sep, where := byte(' '), end
			if line[i] == ',' || line[i] == ';' {
				sep, where = line[i], i
			}
			if separator != 0 && separator != sep {
				return nil, p.fault(at+where, fmt.Sprintf("numbers are separated by %s here, and by %s before", separatorName(sep), separatorName(separator)),
					"a decimal comma is written as a point", step{index: rows})
			}
			if separator = sep; sep != ' ' {
				i++
				if i == len(bytes.TrimRight(line, " \t\r")) {
					return nil, p.fault(at+i, "a number is missing", "", step{index: rows}, step{index: len(data) - first})
				}
			}
		}
		if n := len(data) - first; n > 0 {
			if rows > 0 && n != cols {
				return nil, p.fault(at, fmt.Sprintf("row %d has %s where %d %s expected", rows, expr.Plural(n, "number"), cols, areIs(cols)), "", step{index: rows})
			}
			rows, cols = rows+1, n
		}
		at = next
	}
	if rows == 0 {
		return nil, p.fault(len(text), "the table is empty", "")
	}
	t := &tensor.Tensor{Data: data}
	for _, n := range []int{rows, cols} {
		if n != 1 {
			t.Shape = append(t.Shape, n)
		}
	}
	return tensor.Of(t), nil
}

// separatorName is what separates numbers, as messages say it.
func separatorName(c byte) string {
	if c == ' ' {
		return "space"
	}
	return "'" + string(c) + "'"
}

// cell reads one number of a table. Tables come from many hands: +1, .5, 1. and nan are
// numbers there.
func cell(line []byte, i int) (f float64, end int, ok bool) {
	end = i
	for end < len(line) && !isSpace(line[end]) && line[end] != ',' && line[end] != ';' {
		end++
	}
	if f, n, ok := number(line, i); ok && n == end {
		return f, end, f-f == 0
	}
	text := string(line[i:end])
	if strings.ContainsAny(text, "xX_") {
		return 0, end, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, end, err == nil
}
