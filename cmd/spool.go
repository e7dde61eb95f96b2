package cmd

import (
	"bytes"
	"io"
	"os"
)

// inMemory is what a spool keeps in memory before it takes to a file.
const inMemory = 4 << 20

// A spool keeps a text until all of it is known: what is longer than inMemory in a temporary file,
// or in memory all the same where there can be none.
type spool struct {
	bytes.Buffer
	file *os.File // what comes first
	full bool     // no more goes there
}

// settle moves what has grown too long into the file.
func (s *spool) settle() {
	if s.Len() < inMemory || s.full {
		return
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "nabla-report-")
		if err != nil {
			s.full = true
			return
		}
		os.Remove(f.Name()) // a system that refuses does it when it is closed
		s.file = f
	}
	_, err := s.WriteTo(s.file) // what was not written stays
	s.full = err != nil
}

// copyTo writes the whole text.
func (s *spool) copyTo(w io.Writer) error {
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{s.file}, make([]byte, 1<<20)); err != nil {
			return err
		}
	}
	_, err := s.WriteTo(w)
	return err
}

// close removes the file.
func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}
