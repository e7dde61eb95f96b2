package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"unsafe"

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
	if h.fortran && len(h.shape) > 1 {
		t.Data = rowMajor(t.Data, h.shape)
	}
	for _, v := range t.Data {
		if v != v {
			notes.NaNs++
		}
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
	case *io.SectionReader:
		if at, err := r.Seek(0, io.SeekCurrent); err == nil {
			return r.Size() - at
		}
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
	copy(d, data)
	return d
}

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// asBytes is the memory of data.
func asBytes(data []float64) []byte {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*8)
}

// read fills dst with the next numbers and says how many bytes it has seen.
func (h *header) read(r io.Reader, dst []float64, notes *Notes) (int64, error) {
	if h.scalar == types[tensor.Float64].scalar && h.big != littleEndian {
		n, err := io.ReadFull(r, asBytes(dst)) // the file is the memory
		return int64(n), err
	}
	convert := h.converter(notes)
	buf := make([]byte, min(len(dst)*h.size, 1<<16))
	seen := int64(0)
	for len(dst) > 0 {
		part := buf[:min(len(dst)*h.size, len(buf))]
		n, err := io.ReadFull(r, part)
		seen += int64(n)
		if err != nil {
			return seen, err
		}
		convert(dst, part)
		dst = dst[len(part)/h.size:]
	}
	return seen, nil
}

// converter makes numbers of bytes.
func (h *header) converter(notes *Notes) func(dst []float64, src []byte) {
	var order binary.ByteOrder = binary.LittleEndian
	if h.big {
		order = binary.BigEndian
	}
	each := func(number func([]byte) float64) func([]float64, []byte) {
		return func(dst []float64, src []byte) {
			for i := 0; len(src) > 0; i, src = i+1, src[h.size:] {
				dst[i] = number(src)
			}
		}
	}
	whole := func(v float64, exact bool) float64 {
		if !exact {
			notes.Inexact++
		}
		return v
	}
	switch h.scalar {
	case scalar{'f', 8}:
		return each(func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) })
	case scalar{'f', 4}:
		return each(func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) })
	case scalar{'f', 2}:
		return each(func(b []byte) float64 { return half(order.Uint16(b)) })
	case scalar{'i', 8}:
		return each(func(b []byte) float64 {
			n := int64(order.Uint64(b))
			v := float64(n)
			return whole(v, v < 1<<63 && int64(v) == n)
		})
	case scalar{'i', 4}:
		return each(func(b []byte) float64 { return float64(int32(order.Uint32(b))) })
	case scalar{'i', 2}:
		return each(func(b []byte) float64 { return float64(int16(order.Uint16(b))) })
	case scalar{'i', 1}:
		return each(func(b []byte) float64 { return float64(int8(b[0])) })
	case scalar{'u', 8}:
		return each(func(b []byte) float64 {
			n := order.Uint64(b)
			v := float64(n)
			return whole(v, v < 1<<64 && uint64(v) == n)
		})
	case scalar{'u', 4}:
		return each(func(b []byte) float64 { return float64(order.Uint32(b)) })
	case scalar{'u', 2}:
		return each(func(b []byte) float64 { return float64(order.Uint16(b)) })
	case scalar{'u', 1}:
		return each(func(b []byte) float64 { return float64(b[0]) })
	case scalar{'b', 1}:
		return each(func(b []byte) float64 {
			if b[0] != 0 {
				return 1
			}
			return 0
		})
	}
	panic("npy: no reader for " + h.name)
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
	stride := make([]int, len(shape)) // of src
	step := 1
	for i, d := range shape {
		stride[i] = step
		step *= d
	}
	last := len(shape) - 1
	index := make([]int, len(shape))
	for i, at := 0, 0; i < len(dst); {
		for k := range shape[last] {
			dst[i+k] = src[at+k*stride[last]]
		}
		i += shape[last]
		for a := last - 1; a >= 0; a-- {
			index[a]++
			at += stride[a]
			if index[a] < shape[a] {
				break
			}
			at -= shape[a] * stride[a]
			index[a] = 0
		}
	}
	return dst
}

// ErrNoEntry says that an archive has no array of that name.
var ErrNoEntry = errors.New("no such array")
