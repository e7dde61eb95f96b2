package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"unsafe"

	"nabla/kernels/pages"
	"nabla/tape/tensor"
)

// Read reads one array, to the end of r. One that needs more than limit bytes
// of memory is a *LimitError before it is an allocation; 0 is no limit. A shape
// that promises more than r holds costs no memory either.
func Read(r io.Reader, limit int64) (*tensor.Tensor, *Notes, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, nil, err
	}
	size := h.shape.Size()
	left := remaining(r)
	if left >= 0 && left != h.bytes() {
		return nil, nil, wrongLength(h, left)
	}
	if need := int64(size) * 8; limit > 0 && need > limit {
		return nil, nil, &LimitError{h.shape, need, limit}
	}
	t := &tensor.Tensor{DType: h.dtype, Shape: h.shape}
	notes := &Notes{DType: h.name}
	if data, ok := h.mapped(r, size); ok {
		t.Data = data
		return t, notes, look(r, data, notes)
	}
	// A stream of unknown length is believed a little at a time.
	for len(t.Data) < size {
		n := size - len(t.Data)
		if left < 0 {
			n = min(n, max(1<<17, len(t.Data)))
		}
		t.Data = grow(t.Data, n)
		part := t.Data[len(t.Data)-n:]
		if got, err := h.read(r, part, notes); err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, nil, wrongLength(h, int64(len(t.Data)-n)*int64(h.size)+got)
		} else if err != nil {
			return nil, nil, err
		}
	}
	// To the end, even if nothing can be left: there a zip checks its sums.
	if extra, err := io.CopyN(io.Discard, r, 1<<20); err != nil && err != io.EOF {
		return nil, nil, err
	} else if extra > 0 {
		return nil, nil, wrongLength(h, h.bytes()+extra)
	}
	if notes.Beyond > 0 {
		t.DType = tensor.Float64
	}
	if h.fortran && len(h.shape) > 1 {
		t.Data = rowMajor(t.Data, h.shape)
	}
	return t, notes, nil
}

func wrongLength(h *header, found int64) error {
	if extra := found - h.bytes(); extra > 0 {
		return fmt.Errorf("%d extra bytes after the data (%s %v is %d bytes)", extra, h.name, h.shape, h.bytes())
	}
	return fmt.Errorf("data cut short: %d bytes expected, %d found", h.bytes(), found)
}

// remaining is how many bytes r still has, or -1 when only reading will tell.
func remaining(r io.Reader) int64 {
	switch r := r.(type) {
	case interface{ Len() int }:
		return int64(r.Len())
	case *os.File:
		if info, err := r.Stat(); err == nil && info.Mode().IsRegular() {
			if at, err := r.Seek(0, io.SeekCurrent); err == nil {
				return info.Size() - at
			}
		}
	}
	return -1
}

// grow lengthens data by n, at least doubling what it can hold if it must move.
func grow(data []float64, n int) []float64 {
	if len(data)+n <= cap(data) {
		return data[:len(data)+n]
	}
	d := make([]float64, len(data)+n)
	pages.Huge(d)
	copy(d, data)
	return d
}

func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// asBytes is the memory of data.
func asBytes(data []float64) []byte {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*8)
}

// leastMapped is how many numbers are worth a mapping: 30,000 gain a fiftieth of a process, 100,000 a seventh.
const leastMapped = 1 << 14

// chunk is how much is read at a time: what is looked at again is still in the cache.
const chunk = 1 << 18

// read fills dst with the next numbers and says how many bytes it has seen.
func (h *header) read(r io.Reader, dst []float64, notes *Notes) (int64, error) {
	var buf []byte
	if !h.native() {
		buf = make([]byte, min(len(dst)*h.size, chunk))
	}
	seen := int64(0)
	for len(dst) > 0 {
		part := dst[:min(len(dst), chunk/h.size)]
		to := asBytes(part)
		if buf != nil {
			to = buf[:len(part)*h.size]
		}
		n, err := io.ReadFull(r, to)
		seen += int64(n)
		if err != nil {
			return seen, err
		}
		if buf != nil {
			h.convert(part, to, notes)
		}
		notes.NaNs += countNaNs(part)
		dst = dst[len(part):]
	}
	return seen, nil
}

// mapped is the data of a large file where they lie, if they are there as memory has them.
func (h *header) mapped(r io.Reader, size int) ([]float64, bool) {
	if !h.native() || h.fortran && len(h.shape) > 1 || size < leastMapped {
		return nil, false
	}
	switch r := r.(type) {
	case *os.File:
		if at, err := r.Seek(0, io.SeekCurrent); err == nil {
			return pages.Map(r, at, size)
		}
	case *stored:
		return pages.Map(r.file, r.at, size)
	}
	return nil, false
}

// look goes through the data that r would read next: it counts NaNs and forms the sum of an archive.
func look(r io.Reader, data []float64, notes *Notes) error {
	s, summed := r.(*stored)
	for len(data) > 0 {
		part := data[:min(len(data), chunk/8)]
		notes.NaNs += countNaNs(part)
		if summed {
			s.follow(asBytes(part))
		}
		data = data[len(part):]
	}
	if summed && s.end() != io.EOF {
		return s.end()
	}
	return nil
}

// native reports whether the file is the memory.
func (h *header) native() bool {
	return h.scalar == types[tensor.Float64].scalar && h.big != littleEndian()
}

// countNaNs looks at eight numbers at a time: their sum is NaN if one of them is, and seldom otherwise.
func countNaNs(data []float64) (n int) {
	for len(data) > 0 {
		part := data[:min(len(data), 8)]
		if len(part) == 8 {
			v := (*[8]float64)(part)
			if sum := ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])); sum == sum {
				data = data[8:]
				continue
			}
		}
		for _, v := range part {
			if v != v {
				n++
			}
		}
		data = data[len(part):]
	}
	return n
}

// convert makes numbers of bytes, which it may turn round.
func (h *header) convert(dst []float64, src []byte, notes *Notes) {
	if h.big == littleEndian() {
		for i := 0; i < len(src); i += h.size {
			slices.Reverse(src[i : i+h.size])
		}
	}
	switch h.scalar {
	case scalar{'f', 8}:
		copy(dst, as[float64](src))
	case scalar{'f', 4}:
		widen(dst, as[float32](src))
	case scalar{'f', 2}:
		for i, v := range as[uint16](src) {
			dst[i] = half(v)
		}
	case scalar{'i', 8}:
		for i, n := range as[int64](src) {
			dst[i] = float64(n)
			if !(dst[i] < 1<<63 && int64(dst[i]) == n) {
				notes.Inexact++
			}
		}
	case scalar{'i', 4}:
		widen(dst, as[int32](src))
	case scalar{'i', 2}:
		widen(dst, as[int16](src))
	case scalar{'i', 1}:
		widen(dst, as[int8](src))
	case scalar{'u', 8}:
		for i, n := range as[uint64](src) {
			dst[i] = float64(n)
			if !(dst[i] < 1<<64 && uint64(dst[i]) == n) {
				notes.Inexact++
			}
			if n > math.MaxInt64 {
				notes.Beyond++
			}
		}
	case scalar{'u', 4}:
		widen(dst, as[uint32](src))
	case scalar{'u', 2}:
		widen(dst, as[uint16](src))
	case scalar{'u', 1}:
		widen(dst, src)
	case scalar{'b', 1}:
		for i, b := range src {
			dst[i] = 0
			if b != 0 {
				dst[i] = 1
			}
		}
	default:
		panic("npy: no reader for " + h.name)
	}
}

// as is the same memory as numbers of another type.
func as[T any](src []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(src))), len(src)/int(unsafe.Sizeof(*new(T))))
}

func widen[T float32 | int32 | int16 | int8 | uint32 | uint16 | uint8](dst []float64, src []T) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float64(v)
	}
}

// half is the value of a float16: sign, five bits of exponent, ten of fraction.
func half(bits uint16) float64 {
	exp, frac := int(bits>>10&31), float64(bits&1023)
	var v float64
	switch exp {
	case 0:
		v = math.Ldexp(frac, -24)
	case 31:
		v = math.Inf(1)
		if frac != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(1024+frac, exp-25)
	}
	if bits>>15 != 0 {
		v = -v
	}
	return v
}

// rowMajor puts numbers whose first axis varies fastest in our order.
func rowMajor(src []float64, shape tensor.Shape) []float64 {
	dst := make([]float64, len(src))
	if len(src) == 0 {
		return dst
	}
	pages.Huge(dst)
	last := len(shape) - 1
	rows, cols := shape[0], shape[last]
	down, across := len(dst)/rows, len(src)/cols // from row to row of dst, from column to column of src
	index := make([]int, len(shape))
	for at, to := 0, 0; ; {
		// The matrix of the outermost axes, in squares that fit the cache.
		const square = 32
		for i := 0; i < rows; i += square {
			for j := 0; j < cols; j += square {
				for k := i; k < min(i+square, rows); k++ {
					line := dst[to+k*down+j:][:min(square, cols-j)]
					for l := range line {
						line[l] = src[at+k+(j+l)*across]
					}
				}
			}
		}
		// The next index of the axes between.
		a, step := last-1, cols
		for ; a > 0; a-- {
			stride := shape[:a].Size()
			index[a]++
			at, to = at+stride, to+step
			if index[a] < shape[a] {
				break
			}
			at, to = at-shape[a]*stride, to-shape[a]*step
			index[a], step = 0, step*shape[a]
		}
		if a <= 0 {
			return dst
		}
	}
}

// ErrNoEntry says that an archive has no array of that name.
var ErrNoEntry = errors.New("no such array")
