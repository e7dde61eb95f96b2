package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A FileError says that a result could not be written.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return "output " + e.Path + ": " + cause(e.Err).Error() }
func (e *FileError) Unwrap() error { return e.Err }
func (*FileError) ExitCode() int   { return 6 }

// cause is the error under the name of the temporary file, which is nobody's business.
func cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// ToFile writes the file at path, all of it or nothing: what write says goes to
// a temporary file beside it, which is then renamed. An existing file keeps its
// permissions, a symbolic link stays one. What is not a regular file (a device,
// a fifo) is written straight. A mistake of the file system is a *FileError;
// an error of write itself is returned as it is.
func ToFile(path string, write func(io.Writer) error) error {
	place, err := placeOf(path)
	if err != nil {
		return &FileError{path, err}
	}
	if place.direct {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return &FileError{path, err}
		}
		return finish(path, f, write, func() error { return nil })
	}
	f, err := os.CreateTemp(filepath.Dir(place.path), ".nabla-*")
	if err != nil {
		return &FileError{path, err}
	}
	err = finish(path, f, write, func() error {
		if err := os.Chmod(f.Name(), place.mode); err != nil {
			return err
		}
		return os.Rename(f.Name(), place.path)
	})
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// CheckWritable reports as a *FileError what ToFile would meet, so that a long
// computation fails before it starts. It leaves nothing behind.
func CheckWritable(path string) error {
	place, err := placeOf(path)
	if err == nil && !place.direct {
		var f *os.File
		if f, err = os.CreateTemp(filepath.Dir(place.path), ".nabla-*"); err == nil {
			f.Close()
			os.Remove(f.Name())
		}
	}
	if err != nil {
		return &FileError{path, err}
	}
	return nil
}

// A place is where the bytes go.
type place struct {
	path   string // behind symbolic links
	mode   fs.FileMode
	direct bool
}

func placeOf(path string) (place, error) {
	p := place{path: path, mode: 0o666 &^ umask()}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		p.path = real
	}
	info, err := os.Stat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil // a missing directory is found by CreateTemp
	case err != nil:
		return p, err
	case info.IsDir():
		return p, syscall.EISDIR
	case !info.Mode().IsRegular():
		p.direct = true
		return p, nil
	case info.Mode().Perm()&0o222 == 0:
		return p, fs.ErrPermission // a rename would replace a file that its owner locked
	}
	p.mode = info.Mode().Perm()
	return p, nil
}

// finish writes f, closes it, and then does last.
func finish(path string, f *os.File, write func(io.Writer) error, last func() error) error {
	to := &fileWriter{f: f}
	err := write(to)
	if closed := f.Close(); err == nil && closed != nil {
		to.err, err = closed, closed
	}
	if err == nil {
		if err = last(); err != nil {
			to.err = err
		}
	}
	if to.err != nil && errors.Is(err, to.err) {
		return &FileError{path, to.err}
	}
	return err
}

// A fileWriter remembers the file's error, to tell it from the writer's own.
type fileWriter struct {
	f   *os.File
	err error
}

func (w *fileWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}
