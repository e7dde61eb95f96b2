package cells

import "testing"

func TestWidth(t *testing.T) {
	for _, row := range []struct {
		text string
		want int
		cut  string // in four cells
	}{
		{"", 0, "    "},
		{"ab", 2, "ab  "},
		{"abcde", 5, "abc…"},
		{"θ·é", 3, "θ·é "},
		{"e\u0301x", 2, "e\u0301x  "}, // an accent stands over its letter
		{"例", 2, "例  "},
		{"名前x", 5, "名… "}, // half a letter cannot be shown
		{"名前", 4, "名前"},
		{"한국", 4, "한국"},
		{"\u1112\u1161\u11ab", 2, "\u1112\u1161\u11ab  "}, // the same letter in three parts
		{"👍🫠🚀", 6, "👍… "},
		{"♭→⌀", 3, "♭→⌀ "},       // symbols among the wide ones
		{"a\x1b", 9, "a…  "},     // <U+001B>
		{"\u202eab", 10, "…   "}, // turns the line round
		{"\xff", 6, "…   "},      // <0xff>
		{"abcd", 4, "abcd"},      // just fits
		{"abc\u0301d", 4, "abc\u0301d"},
	} {
		if got := Width(row.text); got != row.want {
			t.Errorf("Width(%q) = %d, want %d", row.text, got, row.want)
		}
		if got := Fit(row.text, 4); got != row.cut {
			t.Errorf("Fit(%q, 4) = %q, want %q", row.text, got, row.cut)
		}
	}
}

func TestShow(t *testing.T) {
	for text, want := range map[string]string{
		"":                "",
		"grad.例":          "grad.例",
		"a\x1b[31m\u200b": "a<U+001B>[31m<U+200B>",
		"\x1b":            "<U+001B>",
		"\xe4\xbeb":       "<0xe4><0xbe>b",
	} {
		if got := Show(text); got != want {
			t.Errorf("Show(%q) = %q, want %q", text, got, want)
		}
	}
}
