package cmd

import "testing"

func TestNarrowed(t *testing.T) {
	for _, row := range []struct {
		text    string
		columns int
		want    string
	}{
		{"m\n    sin(x)\n    ^~~", 40, "m\n    sin(x)\n    ^~~"},                                                                           // it fits
		{"m\n    a + b + c + d + sinn(x) + e + f + g\n                    ^~~~", 24, "m\n    … c + d + sinn(x) +…\n              ^~~~"},    // the middle
		{"m\n    sinn(x) + a + b + c + d + e + f + g\n    ^~~~", 24, "m\n    sinn(x) + a + b + …\n    ^~~~"},                               // the beginning
		{"m\n    a + b + c + d + e + f + g +\n                               ^", 24, "m\n    …+ d + e + f + g +\n                      ^"}, // behind the end
		{"m\n    a + 例例例例例 @ w + b\n        ~~~~~~~~~~~^~~  x is (7, 5)", 24, "m\n    …例例例例例 @ w + b\n     ~~~~~~~~~~~^~~  x is (7, 5)"},   // letters of two cells, a note
		{"a long message that the terminal wraps\nas it likes", 20, "a long message that the terminal wraps\nas it likes"},
	} {
		if got := narrowed(row.text, row.columns); got != row.want {
			t.Errorf("in %d columns %q is\n%s\nwant\n%s", row.columns, row.text, got, row.want)
		}
	}
}
