package expr

import (
	"strings"
	"testing"
)

// Every spelling of the table is scanned as its kind, and the first is what String gives.
func TestSpellings(t *testing.T) {
	for i, row := range kinds {
		k := Kind(i)
		if row.spelling == "" {
			t.Errorf("kind %d has no spelling", i)
		}
		if k < Question {
			continue
		}
		for j, s := range strings.Fields(row.spelling) {
			scan := newScanner(&Program{Text: s})
			if got := scan.next(); got.Kind != k || got.Text != s || got.End != Pos(len(s)) {
				t.Errorf("%q is scanned as %s %q, want %s", s, got.Kind, got.Text, k)
			}
			if j == 0 && k.String() != s {
				t.Errorf("kind %d is printed as %s, want %s", i, k, s)
			}
		}
	}
	if got := Kind(255).String(); got != "?" {
		t.Errorf("Kind(255) = %s, want ?", got)
	}
}
