// Package npy reads and writes NumPy's array files, both directions in one
// place so that they cannot disagree.
package npy

import (
	"io"

	"nabla/tape/tensor"
)

// Notes are what a reader should tell the user though the file was read.
type Notes struct {
	DType   string // NumPy's name of what the file holds: "float16", "uint8"
	Inexact int    // whole numbers beyond 2^53 that float64 does not hold
	NaNs    int
}

// Read reads one array. A file that asks for more than limit bytes of memory is refused before it is given any.
func Read(r io.Reader, limit int64) (*tensor.Tensor, *Notes, error) { panic("not yet") }

// Write writes t as an NPY file, version 1.0.
func Write(w io.Writer, t *tensor.Tensor) error { panic("not yet") }

// ReadNPZ opens an archive.
func ReadNPZ(ra io.ReaderAt, size int64) (names []string, get func(name string) (*tensor.Tensor, error), err error) {
	panic("not yet")
}

// An Entry is one array of an archive.
type Entry struct {
	Name   string
	Tensor *tensor.Tensor
}

// WriteNPZ writes an archive.
func WriteNPZ(w io.Writer, entries []Entry) error { panic("not yet") }
