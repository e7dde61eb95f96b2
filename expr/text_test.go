package expr

import (
	"strings"
	"testing"
)

func TestSplitList(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"a", "a"},
		{"a, b ,c", "a|b|c"},
		{"f(a, b), c[1, 2],", "f(a, b)|c[1, 2]"}, // commas inside brackets do not cut
		{" , ", ""},
		{"", ""},
	} {
		if got := strings.Join(SplitList(row.text), "|"); got != row.want {
			t.Errorf("SplitList(%q) = %q, want %q", row.text, got, row.want)
		}
	}
}

func TestSome(t *testing.T) {
	many := strings.Fields(strings.Repeat("name ", 50))
	for _, row := range []struct {
		names []string
		want  string
	}{
		{nil, ""},
		{[]string{"a"}, "a"},
		{[]string{"a", "b"}, "a, b"},
		{many, strings.Repeat("name, ", 17) + "… (50 in all)"},
		{[]string{strings.Repeat("x", 500), "y"}, strings.Repeat("x", 24) + "…" + strings.Repeat("x", 8) + ", y"},
	} {
		if got := Some(row.names); got != row.want {
			t.Errorf("Some(%.40q) = %q, want %q", row.names, got, row.want)
		}
	}
}
