package tape

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The package comment says of every file where it belongs, and of none that is not there.
func TestMap(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "// # Where things are\n//\n")
	table, _, _ = strings.Cut(table, "//\n")
	var patterns []string
	for line := range strings.Lines(table) {
		names, _, ok := strings.Cut(strings.TrimPrefix(line, "//\t"), "  ")
		if !ok {
			t.Errorf("a line without files: %q", line)
		}
		patterns = append(patterns, strings.Fields(names)...)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return f == "doc.go" || strings.HasSuffix(f, "_test.go") })
	met := map[string]bool{}
	for _, f := range files {
		n := 0
		for _, p := range patterns {
			if ok, _ := path.Match(p+".go", f); ok {
				n++
				met[p] = true
			}
		}
		if n != 1 {
			t.Errorf("the package comment names %s %d times, want 1", f, n)
		}
	}
	for _, p := range patterns {
		if !met[p] {
			t.Errorf("the package comment names %s.go, which is not there", p)
		}
	}
	for _, f := range regexp.MustCompile(`\b\w+\.go\b`).FindAllString(string(text), -1) {
		if !slices.Contains(files, f) {
			t.Errorf("the package comment speaks of %s, which is not there", f)
		}
	}
}
