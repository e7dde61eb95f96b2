package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func say(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// names of what is in dir.
func inside(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// A process that ends while a file is written leaves nothing half done.
func TestAbandon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	ToFile(path, func(w io.Writer) error {
		io.WriteString(w, "half")
		Abandon()
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
		return io.ErrUnexpectedEOF
	})
}

func TestToFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "g.json")
	read := func() string { b, _ := os.ReadFile(path); return string(b) }

	if err := ToFile(path, say("one")); err != nil || read() != "one" {
		t.Errorf("a new file holds %q, %v, want one", read(), err)
	}
	os.Chmod(path, 0o640)
	if err := ToFile(path, say("two")); err != nil || read() != "two" {
		t.Errorf("the file holds %q, %v, want two", read(), err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
		t.Errorf("permissions = %v, want the old 0640", info.Mode())
	}

	mine := errors.New("singular")
	err := ToFile(path, func(w io.Writer) error { io.WriteString(w, "half"); return mine })
	if err != mine || read() != "two" || inside(t, dir) != "g.json" {
		t.Errorf("an interrupted write: %v, holds %q, beside it %q; want its own error and the old file alone", err, read(), inside(t, dir))
	}
	func() {
		defer func() { recover() }()
		ToFile(path, func(io.Writer) error { panic("bug") })
	}()
	if inside(t, dir) != "g.json" {
		t.Errorf("after a panic there is %q, want g.json", inside(t, dir))
	}

	link := filepath.Join(dir, "link")
	os.Symlink("g.json", link)
	if err := ToFile(link, say("three")); err != nil || read() != "three" {
		t.Errorf("through a link: %q, %v, want three", read(), err)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced by a file")
	}
	ahead := filepath.Join(dir, "ahead")
	os.Symlink("new.json", ahead)
	if err := ToFile(ahead, say("four")); err != nil || inside(t, dir) != "ahead g.json link new.json" {
		t.Errorf("through a link to nothing: %v, there are %s, want new.json to have come", err, inside(t, dir))
	}
	if err := ToFile(os.DevNull, say("x")); err != nil {
		t.Errorf("to %s: %v", os.DevNull, err)
	}
	if info, _ := os.Stat(os.DevNull); info.Mode().IsRegular() {
		t.Fatalf("%s is a file now", os.DevNull)
	}
}

// A descriptor that the shell opened is written to where it stands.
func TestToFileDescriptor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString("old ")
	fd := fmt.Sprintf("/dev/fd/%d", f.Fd())
	if _, err := os.Stat(fd); err != nil {
		t.Skip("no /dev/fd here")
	}
	if err := ToFile(fd, say("new")); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "old new" {
		t.Errorf("%s holds %q, want old new", fd, b)
	}
}

func TestToFileRefuses(t *testing.T) {
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	os.WriteFile(locked, []byte("old"), 0o444)
	for _, row := range []struct{ path, why string }{
		{dir, "is a directory"},
		{locked, "permission denied"},
		{filepath.Join(dir, "no", "x.json"), "there is no directory " + filepath.Join(dir, "no")},
		{filepath.Join(locked, "x.json"), "not a directory"},
	} {
		for what, err := range map[string]error{"write": ToFile(row.path, say("x")), "check": CheckWritable(row.path)} {
			var file *FileError
			if !errors.As(err, &file) || file.ExitCode() != 6 || err.Error() != "output "+row.path+": "+row.why {
				t.Errorf("%s %s: error %v, want a FileError that says: %s", what, row.path, err, row.why)
			}
		}
	}
	if err := CheckWritable(filepath.Join(dir, "new")); err != nil {
		t.Errorf("a new file: %v", err)
	}
	if inside(t, dir) != "locked" {
		t.Errorf("left behind: %q, want locked alone", inside(t, dir))
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		err := ToFile("/dev/full", say("x"))
		if want := "output /dev/full: no space left on device"; err == nil || err.Error() != want {
			t.Errorf("full disk: %v, want %s", err, want)
		}
	}
}
