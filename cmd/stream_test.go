package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStream: a Jacobian that is written row by row has the bytes of one that is held
// whole, which --stats asks for; and a run that ends early leaves no file.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, more ...string) (int, []byte, string) {
		file := filepath.Join(dir, name)
		var out, err bytes.Buffer
		args := append([]string{"jacobian", "tanh(x) * cumsum(x)", "-a", "x=linspace(0,1,1500)", "-q", "-o", file}, more...)
		code := Main(args, strings.NewReader(""), &out, &err)
		if out.Len() > 0 {
			t.Errorf("%v prints %q", args, out.String())
		}
		b, _ := os.ReadFile(file)
		return code, b, err.String()
	}
	code, stream, text := run("stream.npy")
	if code != 0 || len(stream) != 128+8*1500*1500 {
		t.Fatalf("exit %d, %d bytes: %s", code, len(stream), text)
	}
	if _, whole, _ := run("whole.npy", "--stats"); !bytes.Equal(stream, whole) {
		t.Error("written row by row the bytes are others")
	}
	if code, b, text := run("late.npy", "--timeout", "1ns"); code != 5 || b != nil {
		t.Errorf("out of time: exit %d, %d bytes: %s", code, len(b), text)
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 2 {
		t.Errorf("%d files are left, want 2", len(left))
	}
}
