package cmd

import (
	"strings"

	"nabla/expr/cells"
)

// indent stands before a line of source in a message, and before the marks below it.
const indent = "    "

// narrowed is a message for a terminal of so many columns: where it would break a line of
// source, and the caret would stand below nothing, the line is cut to what is around the caret.
func narrowed(text string, columns int) string {
	lines := strings.Split(text, "\n")
	for i := 1; i < len(lines); i++ {
		source, ok := strings.CutPrefix(lines[i-1], indent)
		marks, marked := strings.CutPrefix(lines[i], indent)
		at := strings.IndexByte(marks, '^')
		if !ok || !marked || at < 0 || strings.Trim(marks[:at], " ~") != "" || strings.Contains(source, "\t") {
			continue
		}
		if room := columns - len(indent); room > 8 && cells.Width(source) > room {
			lines[i-1], lines[i] = around(source, marks, at, room)
		}
	}
	return strings.Join(lines, "\n")
}

// around is what of a line of source and of the marks below it fits into a room of so many cells
// around the caret at a cell.
func around(source, marks string, at, room int) (string, string) {
	under := marks[:len(marks)-len(strings.TrimLeft(marks, " ~^"))]
	note := strings.TrimPrefix(marks, strings.TrimRight(under, " "))
	under = strings.TrimRight(under, " ")
	room -= 2 // for the two …
	from := max(0, min(at-room/2, max(cells.Width(source), at+1)-room))
	before, part := "", ""
	cell := 0
	for rest := source; rest != ""; {
		shown, wide, n := cells.First(rest)
		switch {
		case cell < from:
			before = "…"
			from = max(from, cell+wide) // half a letter is none
		case cell+wide > from+room:
			rest = rest[:n]
			part += "…"
		default:
			part += shown
		}
		cell += wide
		rest = rest[n:]
	}
	if from < len(under) {
		under = under[from:min(len(under), from+room)]
	}
	return indent + before + part, indent + strings.Repeat(" ", cells.Width(before)) + under + note
}
