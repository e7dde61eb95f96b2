package cmd

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

// TestProgress: whatever works long shows it, and the line is gone before anything else is said.
func TestProgress(t *testing.T) {
	defer func(d time.Duration) { second = d }(second)
	second = 20 * time.Millisecond
	const line = "\rnabla: working, 0s (ctrl-C ends it)"
	for _, row := range []struct {
		args  string
		shown bool
	}{
		{"eval --progress always", true},
		{"explain --progress always", true},
		{"check --progress always", true},
		{"plot --progress always", true},
		{"eval --progress always -q", true}, // asked for by name
		{"eval", false},                     // a pipe
		{"check --progress never", false},
	} {
		var out, said bytes.Buffer
		args := append(strings.Fields(row.args), "y = x; while y > 0 { y = y + 1 }; y", "-a", "x=1", "--timeout", "300ms")
		Main(args, strings.NewReader(""), &out, &said)
		last := said.String()[strings.LastIndexByte(said.String(), '\r')+1:]
		if shown := strings.HasPrefix(said.String(), line); shown != row.shown {
			t.Errorf("%s: says %q, want progress %v", row.args, &said, row.shown)
		} else if shown && !strings.HasPrefix(last, "\033[Knabla: ") && !strings.HasPrefix(out.String(), "case ") {
			t.Errorf("%s: the line is not taken away: %q", row.args, last)
		}
	}
}

func TestProgressEnds(t *testing.T) {
	var said bytes.Buffer
	say := &stderr{w: &said, since: time.Now()}
	say.tick()
	typist := &typing{r: readerFunc(func([]byte) (int, error) { say.tick(); return 0, io.EOF }), err: say, told: true}
	typist.Read(nil)
	to := &stdout{w: new(bytes.Buffer), say: say}
	to.Write([]byte("the answer"))
	say.tick()
	// Nothing was said while somebody typed, and behind the answer.
	if got := said.String(); !strings.HasSuffix(got, ")\r\033[K") || strings.Count(got, "working") != 1 {
		t.Errorf("before an answer it says %q, want one line, taken away", got)
	}
}

// A readerFunc reads by a call.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
