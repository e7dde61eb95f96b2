package cmd

import (
	"os"
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
