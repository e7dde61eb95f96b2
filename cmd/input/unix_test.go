//go:build unix

package input

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// What a path can be besides a file.
func TestDevices(t *testing.T) {
	world(t)
	in := func(names ...string) Source { return Source{In: names} }
	if err := os.Symlink("loop", "loop"); err != nil {
		t.Fatal(err)
	}
	rows := []loadRow{
		{in("loop"), `loop: too many levels of symbolic links`, 4},
		{in("/dev/null"), `/dev/null: the document is empty (line 1, column 1, byte 0)`, 4},
		{in("/dev/zero"), `/dev/zero: unexpected byte 0x00 where an object should begin (line 1, column 1, byte 0)`, 4},
		{Source{At: []string{"x=@/dev/zero"}}, `/dev/zero: x: unexpected byte 0x00 where a value should stand (line 1, column 1, byte 0)`, 4},
	}
	if os.Geteuid() > 0 {
		if err := os.WriteFile("secret", nil, 0); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, loadRow{in("secret"), `secret: permission denied`, 4})
	}
	checkLoad(t, rows)
}

// A file is read without seeking, so that a FIFO or <(command) will do.
func TestFIFO(t *testing.T) {
	world(t)
	for name, at := range map[string]string{"x.json": "x=@fifo:x", "a.npy": "x=@fifo", "one.npz": "x=@fifo"} {
		os.Remove("fifo")
		if err := syscall.Mkfifo("fifo", 0o600); err != nil {
			t.Skip(err)
		}
		text, _ := os.ReadFile(name)
		go os.WriteFile("fifo", text, 0)
		s := Source{At: []string{strings.TrimSuffix(at, ":x")}}
		if doc, err := s.Load(); err != nil {
			t.Errorf("%s through a FIFO: %v", name, err)
		} else if got := showDoc(doc); !strings.HasPrefix(got, "x=") {
			t.Errorf("%s through a FIFO = %s", name, got)
		}
	}
}
