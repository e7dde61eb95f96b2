package cmd

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"nabla/expr/cells"
	"nabla/output"
	"nabla/tape/tensor"
)

// number is a number for people, however large.
func number(x float64, digits int) string {
	return output.Text(x, tensor.Float64, digits)
}

// jsonString writes a text as JSON has it.
func jsonString(w io.Writer, s string) { w.Write(output.AppendString(nil, s)) }

// jsonList writes n items with commas between them.
func jsonList(w io.Writer, n int, item func(i int)) {
	for i := range n {
		if i > 0 {
			io.WriteString(w, ",")
		}
		item(i)
	}
}

// visible is a text without what would give orders to a terminal or leave no mark on it.
func visible(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = cells.Show(line)
	}
	return strings.Join(lines, "\n")
}

// size is how large an error is: two digits.
func size(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return number(x, 2)
	}
	return strings.NewReplacer("e-0", "e-", "e+0", "e").Replace(strconv.FormatFloat(x, 'g', 2, 64))
}

// unravel is an offset as an index.
func unravel(i int, shape tensor.Shape) []int {
	index := make([]int, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		index[k] = i % shape[k]
		i /= shape[k]
	}
	return index
}

// subscript is how an index is written behind a name: "" of a scalar, [1,2].
func subscript(index []int) string {
	if len(index) == 0 {
		return ""
	}
	return strings.ReplaceAll(fmt.Sprint(index), " ", ",")
}

// folded is a text in lines that end at a column, all but the first indented. Without a
// terminal, of 0 columns, it is one line.
func folded(text string, indent, columns int) string {
	if columns == 0 {
		return text
	}
	var b strings.Builder
	col := indent
	for i, word := range strings.Fields(text) {
		n := cells.Width(word)
		switch {
		case i == 0:
		case col+1+n > columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			col = indent
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += n
	}
	return b.String()
}

// fitting is rows without the last of their cells, so many that a line fits into columns
// beside what follows it; three stay. Without a terminal, of 0 columns, all do.
func fitting(rows [][]string, columns, beside int) [][]string {
	for columns > 0 && len(rows[0]) > 3 && cells.Width(aligned(rows)[0])+beside > columns {
		for i := range rows {
			rows[i] = rows[i][:len(rows[i])-1]
		}
	}
	return rows
}

// aligned sets rows in columns of equal width: the first to the left, the others to the right.
func aligned(rows [][]string) []string {
	wide := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			wide[i] = max(wide[i], cells.Width(c))
		}
	}
	lines := make([]string, len(rows))
	for k, r := range rows {
		lines[k] = "  " + r[0] + strings.Repeat(" ", wide[0]-cells.Width(r[0]))
		for i, c := range r[1:] {
			lines[k] += "  " + strings.Repeat(" ", wide[i+1]-cells.Width(c)) + c
		}
	}
	return lines
}
