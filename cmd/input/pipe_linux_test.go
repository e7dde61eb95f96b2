package input

import (
	"os"
	"syscall"
	"testing"
)

// TestWiden: a pipe takes more than the usual 64 KB without a reader, and a file is left alone.
func TestWiden(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	const getPipeSize = 1032
	if size, _, e := syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), setPipeSize, pipeBytes/2); e != 0 || size < pipeBytes/2 {
		t.Skip("this system widens no pipe:", e)
	}
	widen(r)
	if size, _, e := syscall.Syscall(syscall.SYS_FCNTL, r.Fd(), getPipeSize, 0); e != 0 || size < pipeBytes {
		t.Errorf("the pipe has room for %d bytes (%v), want %d", size, e, pipeBytes)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	widen(f)
}
