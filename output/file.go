package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"nabla/kernels/pages"
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
// a fifo) is written straight. A mistake of the file system is a *FileError; an
// error of write itself is returned as it is.
func ToFile(path string, write func(io.Writer) error) (err error) {
	p, err := placeOf(path)
	if err != nil {
		return &FileError{path, err}
	}
	var f *os.File
	if p.direct {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	} else {
		f, err = beside(p.path)
	}
	if err != nil {
		return &FileError{path, err}
	}
	if !p.direct {
		unfinished.Store(f.Name(), true)
	}
	done := false
	defer func() { // also when write panics
		if !done {
			f.Close()
			if !p.direct {
				os.Remove(f.Name())
			}
		}
		unfinished.Delete(f.Name())
	}()
	to := &fileWriter{f: f}
	if err := write(to); err != nil {
		if to.err != nil && errors.Is(err, to.err) {
			return &FileError{path, to.err}
		}
		return err
	}
	if err := p.finish(f); err != nil {
		return &FileError{path, err}
	}
	done = true
	return nil
}

// unfinished are the names of the temporary files that ToFile writes.
var unfinished sync.Map

// Abandon removes what ToFile has begun, for a process that ends without waiting for it.
func Abandon() {
	unfinished.Range(func(name, _ any) bool {
		os.Remove(name.(string))
		return true
	})
}

// CheckWritable reports as a *FileError what ToFile would meet, so that a long
// computation fails before it starts. It leaves nothing behind.
func CheckWritable(path string) error {
	p, err := placeOf(path)
	if err == nil && !p.direct {
		var f *os.File
		if f, err = beside(p.path); err == nil {
			f.Close()
			os.Remove(f.Name())
		}
	}
	if err != nil {
		return &FileError{path, err}
	}
	return nil
}

// beside creates a new file next to path, with the permissions of any new file.
func beside(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	for {
		name := fmt.Sprintf("%s.%.40s.%08x", dir, base, rand.Uint32())
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !isDirectory(dir):
			return nil, fmt.Errorf("there is no directory %s", filepath.Clean(dir))
		case !errors.Is(err, fs.ErrExist):
			return f, err
		}
	}
}

func isDirectory(dir string) bool {
	info, err := os.Stat(filepath.Clean(dir))
	return err == nil && info.IsDir()
}

// A place is where the bytes go.
type place struct {
	path   string      // behind symbolic links
	mode   fs.FileMode // of the file that is there; zero if none is
	direct bool
}

// placeOf is where a file is, behind its links, and how it is to be written; an error if it cannot
// be.
func placeOf(path string) (place, error) {
	p := place{path: path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		p.path = real
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if to, err := os.Readlink(path); err == nil { // the file comes to be where the link points
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(path), to)
			}
			return placeOf(to)
		}
		return p, nil // that a directory is missing is found by beside
	case err != nil:
		return p, err
	case info.IsDir():
		return p, syscall.EISDIR
	case !info.Mode().IsRegular() || strings.HasPrefix(path, "/dev/std") || strings.HasPrefix(path, "/dev/fd/"): // a file that the shell appends to
		p.direct = true
		return p, nil
	case info.Mode().Perm()&0o222 == 0:
		return p, fs.ErrPermission // a rename would replace a file that its owner locked
	}
	p.mode = info.Mode().Perm()
	return p, nil
}

// finish closes f and, if it is temporary, puts it in its place: a result of numbers that
// changed meanwhile is none.
func (p *place) finish(f *os.File) error {
	if p.mode != 0 && !p.direct {
		if err := f.Chmod(p.mode); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil || p.direct {
		return err
	}
	if err := pages.Check(); err != nil {
		return err
	}
	return os.Rename(f.Name(), p.path)
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
