package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"nabla/tape/tensor"
)

// An Archive is an open NPZ file: a zip of NPY files.
type Archive struct {
	Names []string // without .npy, in the order of the file
	files map[string]*zip.File
	size  int64
}

// OpenNPZ reads the directory of an archive.
func OpenNPZ(ra io.ReaderAt, size int64) (*Archive, error) {
	if size == 0 {
		return nil, errors.New("empty file")
	}
	var start [6]byte
	if n, _ := ra.ReadAt(start[:], 0); string(start[:n]) == magic {
		return nil, errors.New("looks like an NPY file, not a zip (npz) file")
	}
	z, err := zip.NewReader(ra, size)
	if err != nil {
		return nil, fmt.Errorf("not an NPZ file: %s", strings.TrimPrefix(err.Error(), "zip: "))
	}
	a := &Archive{files: map[string]*zip.File{}, size: size}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		name := strings.TrimSuffix(f.Name, ".npy")
		if a.files[name] != nil {
			return nil, fmt.Errorf("two arrays are named %q", name)
		}
		a.files[name] = f
		a.Names = append(a.Names, name)
	}
	return a, nil
}

// Read reads one array; limit as in the package's Read. A name that is not there is ErrNoEntry.
func (a *Archive) Read(name string, limit int64) (*tensor.Tensor, *Notes, error) {
	f := a.files[name]
	if f == nil {
		return nil, nil, fmt.Errorf("%w: %q (there are %s)", ErrNoEntry, name, printable(strings.Join(a.Names, ", ")))
	}
	file, err := f.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("array %q: %s", name, strings.TrimPrefix(err.Error(), "zip: "))
	}
	defer file.Close()
	var r io.Reader = file
	// The directory may lie about the size, but not about a size that deflate could
	// reach (1032 to 1) from bytes that are there.
	if f.CompressedSize64 <= uint64(a.size) && f.UncompressedSize64/1032 <= f.CompressedSize64 {
		r = &sized{file, int(f.UncompressedSize64)}
	}
	t, notes, err := Read(r, limit)
	if err != nil {
		return nil, nil, fmt.Errorf("array %q: %w", name, err)
	}
	return t, notes, nil
}

// A sized reader knows how much is left, so that Read allocates once.
type sized struct {
	r    io.Reader
	left int
}

func (s *sized) Len() int { return s.left }

func (s *sized) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.left -= n
	return n, err
}

// An Entry is one array of an archive.
type Entry struct {
	Name   string
	Tensor *tensor.Tensor
}

// WriteNPZ writes an archive as np.savez does: stored, not deflated, every entry
// of the first day of 1980, so that the same arrays are the same bytes.
func WriteNPZ(w io.Writer, entries []Entry) error {
	z := zip.NewWriter(w)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.Name + ".npy", Method: zip.Store}
		sum := crc32.NewIEEE()
		size := &counter{w: sum}
		if err := Write(size, e.Tensor); err != nil {
			return err
		}
		// Size and checksum first: a reader can then stream the entry.
		h.CRC32 = sum.Sum32()
		h.UncompressedSize64, h.CompressedSize64 = size.n, size.n
		//lint:ignore SA1019 Modified would write an extra field, and its zero value the date 0-0-0
		h.ModifiedDate, h.ModifiedTime = dosEpoch, 0
		part, err := z.CreateRaw(h)
		if err != nil {
			return err
		}
		if err := Write(part, e.Tensor); err != nil {
			return err
		}
	}
	return z.Close()
}

// dosEpoch is 1980-01-01 in a zip's fields: day 1, month 1 << 5, years since 1980 << 9.
const dosEpoch = 1 | 1<<5

type counter struct {
	w io.Writer
	n uint64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += uint64(len(p))
	return c.w.Write(p)
}
