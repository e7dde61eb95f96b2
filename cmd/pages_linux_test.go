package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nabla/output/npy"
	"nabla/tape/tensor"
)

// A large file that somebody cuts short while it is in use is told of, from the kernels and the
// machine code of every thread, and one that is written to before the answer leaves. The other
// input comes by a pipe, when it has happened.
func TestChangedFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip(err)
	}
	to := filepath.Join(dir, "out.npy")
	short := func(path string) error { return os.Truncate(path, 1000) }
	other := func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			defer f.Close()
			_, err = f.WriteAt([]byte{1}, 4_000_000)
		}
		return err
	}
	for _, r := range []struct {
		change func(path string) error
		args   []string
	}{
		{short, []string{"eval", "sum(x) + y", "-j", "1"}},
		{short, []string{"eval", "z = y; x", "-j", "2", "-r"}},
		{short, []string{"grad", "sum(sin(x)*exp(-x^2/2) + log1p(x^2)) + y", "-j", "1"}},
		{short, []string{"grad", "sum(sin(x)*exp(-x^2/2) + log1p(x^2)) + y", "-j", "2"}},
		{short, []string{"grad", "sum((((x + 1.5)*x - 2)*x + 0.5)*x - 3) + y", "-j", "2"}},
		{short, []string{"grad", "sum(tanh(reshape(x, (1000, 1000)) @ reshape(x, (1000, 1000)))) + y", "-j", "2"}},
		{other, []string{"eval", "sum(x) + y"}},
		{other, []string{"grad", "sum(x^2) + y", "-w", "x", "-o", to}},
	} {
		path := filepath.Join(dir, "x.npy")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := npy.Write(f, tensor.New(1_000_000)); err != nil {
			t.Fatal(err)
		}
		f.Close()
		hour := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, hour, hour); err != nil {
			t.Fatal(err)
		}
		go func() {
			p, err := os.OpenFile(pipe, os.O_WRONLY, 0) // when it is read, x has been
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			if err := r.change(path); err != nil {
				t.Error(err)
			}
			if _, err := p.WriteString("[3]"); err != nil {
				t.Error(err)
			}
		}()
		var out, stderr bytes.Buffer
		done := make(chan int, 1)
		go func() {
			done <- Main(append(r.args, "-a", "x=@"+path, "-a", "y=@"+pipe), strings.NewReader(""), &out, &stderr)
		}()
		select {
		case code := <-done:
			if want := "x.npy: changed while it was in use"; code != exitData || out.Len() > 0 || !strings.Contains(stderr.String(), want) {
				t.Errorf("%v: exit %d, %q on stdout, want %d and nothing\n%s", r.args, code, out.String(), exitData, &stderr)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%v hangs", r.args)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*out*")); left != nil {
		t.Errorf("%v is left", left)
	}
}
