package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"nabla/expr"
	"nabla/kernels/pages"
	"nabla/output/npy"
	"nabla/tape/tensor"
)

// A stream is an opened input.
type stream struct {
	name string // for messages
	head []byte // the first bytes, once looked at
	size int64  // of the file, or -1
	hint int64  // how much there is to read in a regular file
	file *os.File
	r    *bufio.Reader
	max  int64
}

const defaultMax = 1 << 31

// open opens a file, or stdin as "-".
func (s *Source) open(name string) (*stream, error) {
	in := &stream{name: name, size: -1, max: s.MaxBytes}
	if in.max <= 0 {
		in.max = defaultMax
	}
	var r io.Reader
	if name == "-" {
		if in.name = Called(name); s.Stdin == nil {
			return nil, &Error{File: in.name, Msg: "there is none to read"}
		}
		r = s.Stdin
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, FileError(name, err)
		}
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = errors.New("is a directory")
		}
		if err != nil {
			f.Close()
			return nil, FileError(name, err)
		}
		if info.Mode().IsRegular() {
			in.size = info.Size()
		}
		in.file, r = f, f
	}
	if f, ok := r.(*os.File); ok {
		info, err := f.Stat()
		if err == nil && info.Mode()&os.ModeNamedPipe != 0 {
			widen(f)
		}
		if err == nil && info.Mode().IsRegular() {
			in.hint = info.Size() // stdin, too, may be a file
			if at, err := f.Seek(0, io.SeekCurrent); err == nil {
				in.hint -= at
			}
		}
	}
	in.r = bufio.NewReaderSize(r, 1<<16)
	return in, nil
}

// look opens an input and looks at how it begins.
func (s *Source) look(name string) (*stream, error) {
	in, err := s.open(name)
	if err != nil {
		return nil, err
	}
	if in.head, err = in.r.Peek(512); err != nil && err != io.EOF {
		in.close()
		return nil, FileError(in.name, err)
	}
	return in, nil
}

// Called is what messages call a file: stdin for "-".
func Called(name string) string {
	if name == "-" {
		return "stdin"
	}
	return name
}

func (in *stream) close() {
	if in.file != nil {
		in.file.Close()
	}
}

// FileError says in plain words why a file cannot be read.
func FileError(name string, err error) error {
	e := &Error{File: name, Msg: err.Error(), Err: err}
	var path *fs.PathError
	if errors.As(err, &path) {
		e.Msg = path.Err.Error()
	}
	if errors.Is(err, fs.ErrNotExist) {
		e.Msg = "no such file"
		var names []string
		if dir, err := os.Open(filepath.Dir(name)); err == nil {
			names, _ = dir.Readdirnames(1000)
			dir.Close()
		}
		e.Hint = expr.DidYouMean(filepath.Base(name), names)
		if hint := meant(name); hint != "" {
			e.Hint = hint
		}
	}
	return e
}

// meant is the hint for what stands where the name of a file should: a document, a value, an
// expression; or "".
func meant(name string) string {
	_, err := strconv.ParseFloat(name, 64)
	variable, assigned, ok := strings.Cut(name, "=")
	ext := filepath.Ext(name)
	switch {
	case ok && nameLen(variable) == len(variable) && isFile(assigned):
		return "a value in a file is given with --at " + variable + "=@" + assigned
	case len(ext) > 1 && nameLen(ext[1:]) == len(ext)-1: // data(1).json
		return ""
	case strings.HasPrefix(name, "{"):
		return "a document is read from a file, or with -i - from stdin"
	case err == nil:
		return "a value is given with --at x=" + name
	case ok && assigned != "" && !strings.ContainsAny(name, "/\\"):
		return "a value is given with --at " + name
	case strings.ContainsAny(name, "^*()+[]"):
		return "an expression is an argument of its own, or stands behind -e"
	}
	return ""
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (in *stream) isNPY() bool { return bytes.HasPrefix(in.head, []byte("\x93NUMPY")) }

func (in *stream) isNPZ() bool { return bytes.HasPrefix(in.head, []byte("PK\x03\x04")) }

// known adds to an error what kind of file this is.
func (in *stream) known(err error) error { return Known(in.head, err) }

// Known adds to an error what kind of file this is, where its first bytes tell.
func Known(head []byte, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	for _, k := range []struct{ begins, hint string }{
		{"\x1f\x8b", "it is compressed: gunzip -c unpacks it for a pipe, and - reads stdin"},
		{"BZh", "it is compressed with bzip2: unpack it first"},
		{"\xfd7zXZ", "it is compressed with xz: unpack it first"},
		{"\x28\xb5\x2f\xfd", "it is compressed with zstd: unpack it first"},
		{"\x89HDF", "it is HDF5: np.savez writes an NPZ file of its arrays"},
		{"\x80\x02", "it is a pickle of Python: np.savez writes an NPZ file of its arrays"},
		{"\x80\x03", "it is a pickle of Python: np.savez writes an NPZ file of its arrays"},
		{"\x80\x04", "it is a pickle of Python: np.savez writes an NPZ file of its arrays"},
		{"\x80\x05", "it is a pickle of Python: np.savez writes an NPZ file of its arrays"},
		{"\xff\xfe", "save it as UTF-8"},
		{"\xff\xfe\x00\x00", "save it as UTF-8"},
		{"\xfe\xff", "save it as UTF-8"},
		{"<", "it is HTML or XML, not data"},
		{"MATLAB 5.0", "it is a file of MATLAB: scipy.io.loadmat reads it, np.savez writes an NPZ file of its arrays"},
		{"PAR1", "it is Parquet: np.savez writes an NPZ file of its columns"},
		{"\x89PNG", "it is a picture: np.save writes an NPY file of its numbers"},
		{"\xff\xd8\xff", "it is a picture: np.save writes an NPY file of its numbers"},
		{"%%MatrixMarket", "it is Matrix Market: scipy.io.mmread reads it, np.save writes an NPY file of its .toarray()"},
	} {
		if bytes.HasPrefix(head, []byte(k.begins)) {
			e.Hint = k.hint
		}
	}
	return e
}

// text reads all. What cannot begin a text ends the reading at once, for the parser to
// complain about, so that an endless device costs nothing.
func (in *stream) text() ([]byte, error) {
	if in.size > in.max {
		return nil, in.tooLarge()
	}
	if bytes.IndexByte(in.head, 0) >= 0 {
		return in.head, nil
	}
	b, err := in.all(true)
	if err != nil {
		return nil, err
	}
	return b, in.fits(b)
}

// all reads to the end, in memory that stays within the limit; of a text no further than
// to a byte that ends it for every parser.
func (in *stream) all(text bool) ([]byte, error) {
	b := make([]byte, 0, max(min(in.hint, in.max)+1, min(1<<20, in.max))) // one byte more, to see the end without growing
	// Of what has no length there may be little.
	if in.hint > 0 {
		pages.Huge(b[:cap(b)])
	}
	for {
		if len(b) == cap(b) { // the old and the new stand side by side while it grows
			n := min(4*int64(cap(b)), in.max-int64(cap(b)))
			if n <= int64(cap(b)) {
				return nil, in.tooLarge()
			}
			grown := make([]byte, 0, n)
			pages.Huge(grown[:n])
			b = append(grown, b...)
		}
		n, err := in.r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, FileError(in.name, err)
		case int64(len(b)) > in.max:
			return nil, in.tooLarge()
		case text && bytes.IndexByte(b[len(b)-n:], 0) >= 0:
			return b, nil
		}
	}
}

// fits reports a text whose numbers would not stand in memory beside it: a digit and its
// comma become eight bytes.
func (in *stream) fits(text []byte) error {
	size := int64(len(text))
	if 5*size <= in.max {
		return nil
	}
	n := int64(bytes.Count(text, []byte{','}))
	if c := firstByte(text); c != '{' && c != '[' { // a table
		for _, sep := range " \t\n;" {
			n += int64(bytes.Count(text, []byte{byte(sep)}))
		}
	}
	if need := size + 8*n; need > in.max {
		shape := tensor.Shape{int(n)}
		return in.wrap(&npy.LimitError{Shape: shape, Need: need, Limit: in.max})
	}
	return nil
}

func (in *stream) tooLarge() error {
	e := &Error{File: in.name, Msg: fmt.Sprintf("is larger than the limit of %d bytes", in.max), Hint: "--max-memory raises the limit"}
	if in.size >= 0 { // what does not end is no data at all
		e.Err = &npy.LimitError{Need: in.size, Limit: in.max}
	}
	return e
}

// binary is the stream for a reader that asks a file for its size.
func (in *stream) binary() io.Reader {
	if in.file != nil {
		if _, err := in.file.Seek(0, io.SeekStart); err == nil && in.size >= 0 {
			return in.file
		}
	}
	if in.hint > 0 {
		return npy.Sized(in.r, in.hint)
	}
	return in.r
}

// wrap names the file in an error of package npy.
func (in *stream) wrap(err error) error {
	e := &Error{File: in.name, Msg: err.Error(), Err: err}
	switch limit := (*npy.LimitError)(nil); {
	case errors.Is(err, npy.ErrNotReal) && strings.Contains(e.Msg, "complex"):
		e.Hint = "a.real and a.imag can be read"
	case errors.Is(err, npy.ErrNotReal) && strings.Contains(e.Msg, "record"):
		e.Hint = "its fields, a['name'], can be read"
	case errors.Is(err, npy.ErrNotReal):
		e.Hint = "where its elements are numbers, a.astype(float) can be read"
	case errors.As(err, &limit):
		e.Hint = "--max-memory raises the limit"
	case strings.Contains(e.Msg, "compression algorithm"):
		e.Hint = "np.savez and np.savez_compressed write what can be read"
	case strings.Contains(e.Msg, "valid zip file"), strings.Contains(e.Msg, "checksum"), strings.Contains(e.Msg, "cut short"),
		strings.HasPrefix(e.Msg, "header of"):
		e.Hint = "the file is damaged, or was not written to its end"
	case strings.Contains(e.Msg, "extra bytes"):
		e.Hint = "an NPY file holds one array; np.savez writes several"
	case bytes.HasPrefix(in.head, []byte("{")):
		e.Hint = "it begins like JSON: call it .json"
	}
	return e
}

func (in *stream) notes(n *npy.Notes) (list []string) {
	for _, w := range n.Warnings() {
		list = append(list, printable(in.name)+": "+w)
	}
	return list
}

// zip opens the stream as an archive.
func (in *stream) zip() (*npy.Archive, error) {
	if in.size >= 0 {
		a, err := npy.OpenNPZ(in.file, in.size)
		if err != nil {
			return nil, in.wrap(err)
		}
		return a, nil
	}
	b, err := in.all(false)
	if err != nil {
		return nil, err
	}
	a, err := npy.OpenNPZ(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, in.wrap(err)
	}
	return a, nil
}
