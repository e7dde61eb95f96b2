// Package cells says how texts stand on a terminal: what of them is seen, and how many
// cells it takes. Carets, tables and cut lines all measure by it, so that they agree.
package cells

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// First is how the first character of text is printed, the cells that takes, and its
// length in bytes. What cannot be seen is shown by its number.
func First(text string) (cell string, width, n int) {
	r, n := utf8.DecodeRuneInString(text)
	switch {
	case ' ' <= r && r <= '~': // most of every text: tables are for the others
		return text[:1], 1, 1
	case r == '\t':
		return "\t", 1, n
	case r == utf8.RuneError && n == 1:
		cell = fmt.Sprintf("<0x%02x>", text[0])
		return cell, len(cell), n
	case Invisible(r):
		cell = "<" + Escape(r) + ">"
		return cell, len(cell), n
	case unicode.In(r, unicode.Mn, unicode.Me, joined):
		return text[:n], 0, n
	case unicode.Is(wide, r):
		return text[:n], 2, n
	}
	return text[:n], 1, n
}

// Width is how many cells of a terminal a text takes.
func Width(text string) (n int) {
	for n < len(text) && ' ' <= text[n] && text[n] <= '~' { // most texts are nothing else
		n++
	}
	for text = text[n:]; text != ""; {
		_, width, size := First(text)
		n += width
		text = text[size:]
	}
	return n
}

// Show is a text as it is printed: each character that cannot be seen by its number.
func Show(text string) string {
	var shown strings.Builder // empty as long as there is none
	from := 0
	for i := 0; i < len(text); {
		cell, _, n := First(text[i:])
		if cell != text[i:i+n] {
			shown.WriteString(text[from:i] + cell)
			from = i + n
		}
		i += n
	}
	if from == 0 {
		return text
	}
	return shown.String() + text[from:]
}

// Cut is a text in so many cells of a terminal at most.
func Cut(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	used := 1 // of the …
	for i := 0; i < len(text); {
		_, w, n := First(text[i:])
		if used+w > width {
			return text[:i] + "…"
		}
		used += w
		i += n
	}
	return text
}

// Fit is a text in exactly so many cells of a terminal: cut, or with spaces behind it.
func Fit(text string, width int) string {
	text = Cut(text, width)
	return text + strings.Repeat(" ", max(width-Width(text), 0))
}

// Invisible says whether r would leave no mark, or move others, on a screen. Some are letters.
func Invisible(r rune) bool {
	if ' ' <= r && r <= '~' {
		return false
	}
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Escape is the name of a character that cannot be shown.
func Escape(r rune) string { return fmt.Sprintf("U+%04X", r) }

// joined are the vowels and finals of Hangul that stand in the cells of the letter before them.
var joined = &unicode.RangeTable{R16: []unicode.Range16{{0x1160, 0x11ff, 1}, {0xd7b0, 0xd7fb, 1}}}

// wide are the characters that take two cells, from Unicode's EastAsianWidth.txt; what no
// version has assigned may stand between them.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x2329, 0x232a, 1}, {0x23e9, 0x23ec, 1}, {0x23f0, 0x23f3, 3},
		{0x25fd, 0x25fe, 1}, {0x2614, 0x2615, 1}, {0x2648, 0x2653, 1}, {0x267f, 0x267f, 1}, {0x2693, 0x2693, 1},
		{0x26a1, 0x26a1, 1}, {0x26aa, 0x26ab, 1}, {0x26bd, 0x26be, 1}, {0x26c4, 0x26c5, 1}, {0x26ce, 0x26ce, 1},
		{0x26d4, 0x26d4, 1}, {0x26ea, 0x26ea, 1}, {0x26f2, 0x26f3, 1}, {0x26f5, 0x26f5, 1}, {0x26fa, 0x26fa, 1},
		{0x26fd, 0x26fd, 1}, {0x2705, 0x2705, 1}, {0x270a, 0x270b, 1}, {0x2728, 0x2728, 1}, {0x274c, 0x274e, 2},
		{0x2753, 0x2755, 1}, {0x2757, 0x2757, 1}, {0x2795, 0x2797, 1}, {0x27b0, 0x27b0, 1}, {0x27bf, 0x27bf, 1},
		{0x2b1b, 0x2b1c, 1}, {0x2b50, 0x2b50, 1}, {0x2b55, 0x2b55, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1},
		{0xa960, 0xa97c, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe10, 0xfe19, 1}, {0xfe30, 0xfe6f, 1},
		{0xff01, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x1b2fb, 1}, {0x1f004, 0x1f004, 1}, {0x1f0cf, 0x1f0cf, 1}, {0x1f18e, 0x1f18e, 1}, {0x1f191, 0x1f19a, 1},
		{0x1f200, 0x1f320, 1}, {0x1f32d, 0x1f335, 1}, {0x1f337, 0x1f37c, 1}, {0x1f37e, 0x1f393, 1}, {0x1f3a0, 0x1f3ca, 1},
		{0x1f3cf, 0x1f3d3, 1}, {0x1f3e0, 0x1f3f0, 1}, {0x1f3f4, 0x1f3f4, 1}, {0x1f3f8, 0x1f43e, 1}, {0x1f440, 0x1f440, 1},
		{0x1f442, 0x1f4fc, 1}, {0x1f4ff, 0x1f53d, 1}, {0x1f54b, 0x1f54e, 1}, {0x1f550, 0x1f567, 1}, {0x1f57a, 0x1f57a, 1},
		{0x1f595, 0x1f596, 1}, {0x1f5a4, 0x1f5a4, 1}, {0x1f5fb, 0x1f64f, 1}, {0x1f680, 0x1f6c5, 1}, {0x1f6cc, 0x1f6cc, 1},
		{0x1f6d0, 0x1f6d2, 1}, {0x1f6d5, 0x1f6df, 1}, {0x1f6eb, 0x1f6ec, 1}, {0x1f6f4, 0x1f6fc, 1}, {0x1f7e0, 0x1f7f0, 1},
		{0x1f90c, 0x1f93a, 1}, {0x1f93c, 0x1f945, 1}, {0x1f947, 0x1f9ff, 1}, {0x1fa70, 0x1faff, 1}, {0x20000, 0x3fffd, 1},
	},
}
