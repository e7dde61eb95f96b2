package cmd

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestEachEqualsOne: a line is answered as a run of its own would, for every number of
// threads: its text is the same byte for byte, or both fail with one code.
func TestEachEqualsOne(t *testing.T) {
	lines := []string{
		`{"x": 3, "y": [1, 2]}`, `{"x": 0, "y": [1, 2]}`, `{"x": -2.5, "y": [0, 1e300]}`, `{"y": [1, 2], "x": 1}`, `{"x": [3, 4], "y": 1}`,
		`{"x": 2, "y": true}`, `{"x": 2}`, `{"x": oops}`, `{"x": 2, "y": "NaN"}`, `{"x": {"data": 2, "trainable": false}, "y": 7}`,
		`{"x": {"data": [2], "dtype": "float32"}, "y": 7}`, `{"values": {"x": 5, "y": [1, 2]}}`, `{"values": {"x": 6, "y": [1, 2]}, "wrt": ["x"]}`,
		`{"values": {"x": 6, "y": [1, 2]}, "wrt": []}`, `{"x": 3, "y": [1, 2, 3]}`, `{"x": 3, "y": {"a": 1}}`, `{"x": 4, "y": [[1, 2], [3]]}`, `{"x": 4, "y": [3, 4], "z": 1}`,
		`{"values": {"x": 6, "y": [1, 2]}, "with": 2}`, `{"x": 7, "y": [1, 2]}`,
	}
	dir := t.TempDir()
	run := func(in string, args ...string) (int, string) {
		var out bytes.Buffer
		code := Main(args, strings.NewReader(in), &out, io.Discard)
		return code, out.String()
	}
	for _, text := range []string{"x^2*sum(abs(y))", "z = x\nif sum(y) > 2 { z = x^3 }\nlog(z)", "solve([[x, 1], [1, 1]], [1, 2])", "y[x]"} {
		for _, format := range []string{"ndjson", "raw"} {
			for _, threads := range []string{"1", "2"} {
				for _, more := range []string{"", "--strict"} {
					args := []string{text, "-f", format, "-j", threads, "-i"}
					if more != "" {
						args = append([]string{more}, args...)
					}
					_, got := run(strings.Join(lines, "\n"), append(args, "-", "--each")...)
					var want strings.Builder
					for i, line := range lines {
						file := filepath.Join(dir, "line.json")
						if err := os.WriteFile(file, []byte(line), 0o666); err != nil {
							t.Fatal(err)
						}
						code, out := run("", append(args, file)...)
						if code > 1 {
							e := strings.Index(got[min(len(got), want.Len()):], "\n") + 1
							mine := got[min(len(got), want.Len()):][:e]
							if !strings.HasPrefix(mine, `{"line":`+strconv.Itoa(i+1)+`,"error":{"code":`+strconv.Itoa(code)) {
								t.Fatalf("%q: line %d gives %q, alone it exits with %d", text, i+1, mine, code)
							}
							want.WriteString(mine)
							continue
						}
						want.WriteString(out)
					}
					if got != want.String() {
						t.Errorf("%q with %v:\n%s\nwant\n%s", text, args, got, want.String())
					}
				}
			}
		}
	}
}
