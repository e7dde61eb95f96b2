package cmd

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// A device is a terminal only if somebody can sit before it.
func TestTerminal(t *testing.T) {
	for _, name := range []string{os.DevNull, "/dev/full", "/dev/zero"} {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			continue // not on this system
		}
		if terminal(f) {
			t.Errorf("%s is taken for a terminal", name)
		}
		f.Close()
	}
}

// What a person types has one end, though a terminal would go on.
func TestTypingEnds(t *testing.T) {
	var told bytes.Buffer
	r := &typing{r: &forgetful{text: "x^2\n"}, err: &told}
	for range 2 {
		b, err := io.ReadAll(r)
		if want := "x^2\n"; err != nil || len(b) > 0 && string(b) != want {
			t.Errorf("typed %q, error %v, want %q once", b, err, want)
		}
	}
	if n := strings.Count(told.String(), "ctrl-D"); n != 1 {
		t.Errorf("told %d times of ctrl-D, want once: %q", n, told.String())
	}
}

// A forgetful reader ends, and then has more.
type forgetful struct {
	text  string
	ended bool
}

func (f *forgetful) Read(p []byte) (int, error) {
	if f.text == "" {
		if !f.ended {
			f.ended, f.text = true, "more"
		}
		return 0, io.EOF
	}
	n := copy(p, f.text)
	f.text = f.text[n:]
	return n, nil
}
