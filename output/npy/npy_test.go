package npy

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"nabla/kernels/pages"
	"nabla/tape/tensor"
)

var six = []float64{0, 1, 2, 3, 4, 5}

// wide chooses by what an int has: 64 bits or 32.
func wide(long, short string) string {
	if math.MaxInt > math.MaxInt32 {
		return long
	}
	return short
}

// Every file of testdata/inputs is a row: what it holds, or the error.
func TestReadFiles(t *testing.T) {
	rows := []struct {
		file  string
		dtype tensor.DType
		shape tensor.Shape
		data  []float64
		err   string
	}{
		{file: "ok-f8", shape: tensor.Shape{2, 3}, data: six},
		{file: "v3", shape: tensor.Shape{2, 3}, data: six},
		{file: "native-eq", shape: tensor.Shape{2, 3}, data: six},
		{file: "header-order", shape: tensor.Shape{2, 3}, data: six},
		{file: "fortran", shape: tensor.Shape{2, 3}, data: six},
		{file: "one-tuple", shape: tensor.Shape{6}, data: six},
		{file: "zero-size", shape: tensor.Shape{0, 3}, data: []float64{}},
		{file: "f2", dtype: tensor.Float32, shape: tensor.Shape{2, 3}, data: six},
		{file: "u1", dtype: tensor.Int64, shape: tensor.Shape{2, 3}, data: six},
		{file: "i8", dtype: tensor.Int64, shape: tensor.Shape{2, 3}, data: six},
		{file: "i8-big", dtype: tensor.Int64, shape: tensor.Shape{1}, data: []float64{1 << 63}},
		{file: "nan-payload", shape: tensor.Shape{3}, data: []float64{math.NaN(), math.Inf(1), math.Copysign(0, -1)}},

		{file: "empty", err: "empty file"},
		{file: "bad-magic", err: `not an NPY file: it begins with "\x93NUMPX"`},
		{file: "csv-named-npy", err: `not an NPY file: it begins with "1,2,3\n"`},
		{file: "npz-named-npy", err: "looks like a zip (npz) file, not an NPY file"},
		{file: "v9", err: "NPY version 9.0 is not known (1.0, 2.0 and 3.0 are)"},
		{file: "only-magic", err: "header cut short"},
		{file: "truncated-header", err: "header cut short"},
		{file: "header-len-huge", err: "header of 4294967280 bytes (at most 1048576)"},
		{file: "header-extra-key", err: `header has a key "x" that is twice there or not NPY's`},
		{file: "truncated-data", err: "data cut short: 48 bytes expected, 43 found"},
		{file: "extra-data", err: "4 extra bytes after the data (float64 (2, 3) is 48 bytes)"},
		{file: "huge-shape", err: wide("shape (1000000000000, 1000000000000) is larger than any memory", "shape has an axis of 1000000000000, larger than any memory")},
		{file: "float-shape", err: "shape (2.5,) is not a tuple of whole numbers"},
		{file: "shape-no-comma", err: "shape (6) is not a tuple of whole numbers"},
		{file: "complex", err: `dtype "<c16" (complex128) is not a real number`},
		{file: "string", err: `dtype "<U5" (a string) is not a real number`},
		{file: "datetime", err: `dtype "<M8[s]" (datetime64) is not a real number`},
	}
	files, _ := filepath.Glob("testdata/inputs/*.npy")
	if len(files) != len(rows) {
		t.Errorf("%d files, %d rows", len(files), len(rows))
	}
	for _, row := range rows {
		bytesOf, err := os.ReadFile("testdata/inputs/" + row.file + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]io.Reader{
			"whole":  bytes.NewReader(bytesOf),
			"stream": io.MultiReader(bytes.NewReader(bytesOf)),
			"drops":  iotest.OneByteReader(bytes.NewReader(bytesOf)),
		} {
			got, _, err := Read(r, 1<<20)
			switch {
			case row.err != "":
				if err == nil || err.Error() != row.err {
					t.Errorf("%s (%s): error %v, want %s", row.file, name, err, row.err)
				}
			case err != nil:
				t.Errorf("%s (%s): %v", row.file, name, err)
			case got.DType != row.dtype || !got.Shape.Equal(row.shape) || !sameBits(got.Data, row.data):
				t.Errorf("%s (%s) = %v %v %v, want %v %v %v", row.file, name, got.DType, got.Shape, got.Data, row.dtype, row.shape, row.data)
			}
		}
	}
}

// sameBits is equality that tells -0 from 0 and takes any NaN for another.
func sameBits(x, y []float64) bool {
	return slices.EqualFunc(x, y, func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
	})
}

// file is an NPY file with a header of one's own.
func file(dict string, data ...byte) []byte {
	b := append([]byte(magic), 1, 0, byte(len(dict)), byte(len(dict)>>8))
	return append(append(b, dict...), data...)
}

func TestReadHeaders(t *testing.T) {
	one := []byte{0, 0, 0, 0, 0, 0, 240, 63}
	for _, row := range []struct {
		dict, err string
	}{
		{`{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }` + "  \n", ""},
		{`{"descr": "<f8", "fortran_order": False, "shape": (1,)}`, ""},      // double quotes
		{`{'descr':'<f8','fortran_order':False,'shape':(1,)}`, ""},           // no spaces
		{`{'shape': (1L,), 'fortran_order': False, 'descr': '<f8'}`, ""},     // Python 2
		{`{'shape': (1,1,1,1), 'fortran_order': True, 'descr': u'<f8'}`, ""}, // four axes
		{`{'shape': (), 'fortran_order': True, 'descr': 'f8'}`, ""},          // a scalar, no byte order
		{`{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}`, `dtype "<c8" (complex64) is not a real number`},
		{`{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}`, `dtype "<f16" (a float wider than 64 bits) is not a real number`},
		{`{'descr': '<f8', 'shape': (1,)}`, `header lacks "fortran_order"`}, // numpy refuses it too
		{`{'descr': '<f8', 'descr': '<f8'}`, `header has a key "descr" that is twice there or not NPY's`},
		{`{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}`, "a record (structured dtype) is not a real number"},
		{`{'descr': '|O', 'fortran_order': False, 'shape': (1,)}`, `dtype "|O" (Python objects) is not a real number`},
		{`{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}`, `dtype "<f16" (a float wider than 64 bits) is not a real number`},
		{`{'descr': '', 'fortran_order': False, 'shape': (1,)}`, `dtype "" (unknown) is not a real number`},
		{`{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}`, `header is not a Python dict: "False" expected before "0, 'shape': (1,)}"`},
		{`{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}`, "shape (-1,) is not a tuple of whole numbers"},
		{`{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}`, "shape has an axis of 99999999999999999999, larger than any memory"},
		{`{'descr': '<f8', 'fortran_order': False, 'shape': (` + strings.Repeat("1,", 65) + `)}`, "shape has 65 axes, and a tensor has at most 64"},
		{`{'descr': '<f8', 'fortran_order': False, 'shape': None}`, "shape None} is not a tuple of whole numbers"},
		{`{'descr': '<f8`, "header has a string without an end"},
		{`{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} import os`, `header goes on after its dict: " import os"`},
		{`[]`, `header is not a Python dict: "{" expected before "[]"`},
		{``, `header is not a Python dict: "{" expected before ""`},
	} {
		got, _, err := Read(bytes.NewReader(file(row.dict, one...)), 0)
		switch {
		case row.err == "" && err != nil, row.err != "" && (err == nil || err.Error() != row.err):
			t.Errorf("%s: error %v, want %s", row.dict, err, row.err)
		case err == nil && (len(got.Data) != 1 || got.Data[0] != 1):
			t.Errorf("%s = %v, want 1", row.dict, got.Data)
		}
	}
}

func TestReadDTypes(t *testing.T) {
	for _, row := range []struct {
		descr string
		data  []byte
		dtype tensor.DType
		want  float64
		notes string
	}{
		{"<f8", []byte{24, 45, 68, 84, 251, 33, 9, 64}, tensor.Float64, math.Pi, ""},
		{">f8", []byte{64, 9, 33, 251, 84, 68, 45, 24}, tensor.Float64, math.Pi, ""},
		{"<f4", []byte{219, 15, 73, 64}, tensor.Float32, float64(float32(math.Pi)), ""},
		{">f4", []byte{64, 73, 15, 219}, tensor.Float32, float64(float32(math.Pi)), ""},
		{"<f2", []byte{255, 123}, tensor.Float32, 65504, ""},
		{"<f2", []byte{1, 0}, tensor.Float32, 0x1p-24, ""}, // subnormal
		{"<f2", []byte{0, 0xfc}, tensor.Float32, math.Inf(-1), ""},
		{"<f2", []byte{1, 0x7c}, tensor.Float32, math.NaN(), "1 number is NaN"},
		{"|i1", []byte{255}, tensor.Int64, -1, ""},
		{"<i2", []byte{254, 255}, tensor.Int64, -2, ""},
		{">i4", []byte{255, 255, 255, 253}, tensor.Int64, -3, ""},
		{"<i8", []byte{1, 0, 0, 0, 0, 0, 32, 0}, tensor.Int64, 1 << 53, "1 int64 number is not exact in float64, rounded (beyond 2^53)"},
		{"<i8", []byte{0, 0, 0, 0, 0, 0, 0, 128}, tensor.Int64, math.MinInt64, ""}, // a power of two is exact
		{"<u8", []byte{255, 255, 255, 255, 255, 255, 255, 255}, tensor.Float64, 1 << 64, "1 uint64 number is not exact in float64, rounded (beyond 2^53); 1 uint64 number is beyond int64 (2^63), the array is read as float64"},
		{"<u8", []byte{0, 240, 255, 255, 255, 255, 255, 255}, tensor.Float64, 1<<64 - 4096, "1 uint64 number is beyond int64 (2^63), the array is read as float64"}, // exact
		{">u8", []byte{128, 0, 0, 0, 0, 0, 0, 0}, tensor.Float64, 1 << 63, "1 uint64 number is beyond int64 (2^63), the array is read as float64"},
		{"<u8", []byte{255, 255, 255, 255, 255, 255, 255, 127}, tensor.Int64, 1 << 63, "1 uint64 number is not exact in float64, rounded (beyond 2^53)"}, // an int64
		{">u4", []byte{255, 255, 255, 255}, tensor.Int64, math.MaxUint32, ""},
		{"<u2", []byte{255, 255}, tensor.Int64, 65535, ""},
		{"|u1", []byte{200}, tensor.Int64, 200, ""},
		{"|b1", []byte{2}, tensor.Bool, 1, ""},
		{"?", []byte{0}, tensor.Bool, 0, ""},
	} {
		dict := "{'descr': '" + row.descr + "', 'fortran_order': False, 'shape': ()}"
		got, notes, err := Read(bytes.NewReader(file(dict, row.data...)), 0)
		if err != nil {
			t.Errorf("%s %v: %v", row.descr, row.data, err)
			continue
		}
		if got.DType != row.dtype || !sameBits(got.Data, []float64{row.want}) || strings.Join(notes.Warnings(), "; ") != row.notes {
			t.Errorf("%s %v = %v %v (%q), want %v %v (%q)", row.descr, row.data, got.DType, got.Data, notes.Warnings(), row.dtype, row.want, row.notes)
		}
	}
}

func TestReadLimit(t *testing.T) {
	dict := "{'descr': '|u1', 'fortran_order': False, 'shape': (1000,)}"
	_, _, err := Read(bytes.NewReader(file(dict, make([]byte, 1000)...)), 7999)
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Need != 8000 {
		t.Errorf("1000 numbers in 7999 bytes: error %v, want a LimitError that needs 8000", err)
	}
	// What promises 80 TB and holds none costs neither time nor memory.
	dict = "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000,)}"
	for _, r := range []io.Reader{bytes.NewReader(file(dict)), io.MultiReader(bytes.NewReader(file(dict)))} {
		_, _, err = Read(r, 0)
		if want := wide("data cut short: 80000000000000 bytes expected, 0 found", "shape has an axis of 10000000000000, larger than any memory"); err == nil || err.Error() != want {
			t.Errorf("empty promise: error %v, want %s", err, want)
		}
	}
	if _, _, err = Read(iotest.ErrReader(io.ErrClosedPipe), 0); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("broken reader: error %v, want its own", err)
	}
}

// A stream that does not say how long it is grows as it is read.
func TestReadStream(t *testing.T) {
	want := tensor.New(300_001)
	for i := range want.Data {
		want.Data[i] = float64(i)
	}
	var b bytes.Buffer
	if err := Write(&b, want); err != nil {
		t.Fatal(err)
	}
	got, _, err := Read(struct{ io.Reader }{&b}, 0)
	if err != nil || !slices.Equal(got.Data, want.Data) {
		t.Errorf("%v, or other numbers than were written", err)
	}
}

// TestReadMapped: a large file that the system maps holds what the same bytes hold in memory.
func TestReadMapped(t *testing.T) {
	t.Cleanup(pages.Forget)
	const n = leastMapped + 3
	data := make([]byte, 8*n)
	for i := range n {
		binary.LittleEndian.PutUint64(data[8*i:], math.Float64bits(float64(i)))
	}
	binary.LittleEndian.PutUint64(data[8*(n-2):], math.Float64bits(math.NaN()))
	for _, r := range []struct {
		descr, shape string
		fortran      bool
		bytes        int
	}{
		{"<f8", "(%d,)", false, len(data)},
		{"<f8", "(%d,)", true, len(data)}, // of one axis: either order
		{"<f8", "(1, %d)", false, len(data)},
		{"<f8", "(%d, 5)", false, 5 * len(data)},
		{"<f8", "(%d, 5)", true, 5 * len(data)},
		{">f8", "(%d,)", false, len(data)},
		{"<i8", "(%d,)", false, len(data)},
		{"<f4", "(%d,)", false, len(data) / 2},
		{"<f8", "(%d,)", false, len(data) - 1}, // cut short
	} {
		dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s}", r.descr, map[bool]string{false: "False", true: "True"}[r.fortran], fmt.Sprintf(r.shape, n))
		b := file(dict+strings.Repeat(" ", 118-len(dict)), bytes.Repeat(data, 5)[:r.bytes]...)
		want, wantNotes, wantErr := Read(bytes.NewReader(b), 0)
		f := old(t, b)
		got, notes, err := Read(f, 0)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: %v, want %v", dict, err, wantErr)
		} else if err == nil && (got.DType != want.DType || !got.Shape.Equal(want.Shape) || !sameBits(got.Data, want.Data) || *notes != *wantNotes) {
			t.Errorf("%s: other numbers, or notes %+v, than in memory, %+v", dict, notes, wantNotes)
		}
		// In an archive they may begin at any byte.
		for i := range 8 {
			name := "abcdefgh"[:i+1]
			h := zip.FileHeader{Name: name + ".npy", CRC32: crc32.ChecksumIEEE(b), CompressedSize64: uint64(len(b)), UncompressedSize64: uint64(len(b))}
			z := archive(t, h, b)
			got, notes, err := readEntry(old(t, z), name)
			if wantErr != nil {
				if wrong := fmt.Sprintf("array %q: %v", name, wantErr); fmt.Sprint(err) != wrong {
					t.Errorf("%s in an archive: %v, want %s", dict, err, wrong)
				}
				continue
			}
			if err != nil || got.DType != want.DType || !got.Shape.Equal(want.Shape) || !sameBits(got.Data, want.Data) || *notes != *wantNotes {
				t.Errorf("%s in an archive, %s: %v, other numbers, or notes %+v, than in memory, %+v", dict, name, err, notes, wantNotes)
			}
			z[len(z)/2] ^= 1
			if _, _, err := readEntry(old(t, z), name); err == nil || err.Error() != fmt.Sprintf("array %q: zip: checksum error", name) {
				t.Errorf("%s in an archive, one bit wrong: %v", dict, err)
			}
		}
	}
}

// old is a file of these bytes whose last change is an hour ago: what has just been written is not mapped.
func old(t *testing.T, b []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x")
	hour := time.Now().Add(-time.Hour)
	err := os.WriteFile(path, b, 0o666)
	if err == nil {
		err = os.Chtimes(path, hour, hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// readEntry reads one array of the archive f.
func readEntry(f *os.File, name string) (*tensor.Tensor, *Notes, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	a, err := OpenNPZ(f, info.Size())
	if err != nil {
		return nil, nil, err
	}
	return a.Read(name, 0)
}

// The transposed file of a Fortran program, three axes deep.
func TestFortranOrder(t *testing.T) {
	for _, shape := range []tensor.Shape{{2, 3, 4}, {2, 3}, {40, 70}, {1, 65}, {65, 1}, {3, 1, 2, 5}, {33, 2, 3, 34}, {2, 0, 3}, {3, 0}, {7}} {
		// Both orders count the same index: the one from its last axis, the other from its first.
		var want []float64
		index := make([]int, len(shape))
		for range shape.Size() {
			at, stride := 0, 1
			for a, n := range shape {
				at, stride = at+index[a]*stride, stride*n
			}
			want = append(want, float64(at))
			for a := len(shape) - 1; a >= 0; a-- {
				if index[a]++; index[a] < shape[a] {
					break
				}
				index[a] = 0
			}
		}
		var src []byte
		for i := range want {
			src = append(src, byte(i>>8), byte(i))
		}
		dict := "{'descr': '>u2', 'fortran_order': True, 'shape': " + shape.String() + "}"
		got, _, err := Read(bytes.NewReader(file(dict, src...)), 0)
		if err != nil || !sameBits(got.Data, want) {
			t.Errorf("fortran order of %v = %v, %v, want %v", shape, got, err, want)
		}
	}
}

func TestWrite(t *testing.T) {
	ok, _ := os.ReadFile("testdata/inputs/ok-f8.npy")
	var b bytes.Buffer
	descr := map[tensor.DType]string{tensor.Float64: "'<f8'", tensor.Float32: "'<f4'", tensor.Int64: "'<i8'", tensor.Bool: "'|b1'"}
	if err := Write(&b, tensor.From(six, 2, 3)); err != nil || !bytes.Equal(b.Bytes(), ok) {
		t.Errorf("0..5 as (2, 3) = %q, %v, want the bytes of np.save %q", b.Bytes(), err, ok)
	}
	for _, x := range []*tensor.Tensor{
		{DType: tensor.Float64, Shape: tensor.Shape{}, Data: []float64{math.NaN()}},
		{DType: tensor.Float32, Shape: tensor.Shape{3}, Data: []float64{0.5, math.Inf(1), -2}},
		{DType: tensor.Int64, Shape: tensor.Shape{1, 2}, Data: []float64{-1, 1 << 53}},
		{DType: tensor.Bool, Shape: tensor.Shape{2, 1}, Data: []float64{1, 0}},
		{DType: tensor.Float64, Shape: tensor.Shape{0, 3}, Data: []float64{}},
		{DType: tensor.Float32, Shape: tensor.Shape{100, 100}, Data: make([]float64, 10000)},
	} {
		b.Reset()
		if err := Write(&b, x); err != nil {
			t.Errorf("write %v %v: %v", x.DType, x.Shape, err)
		}
		if !bytes.Contains(b.Bytes(), []byte(descr[x.DType])) {
			t.Errorf("header of %v is %.80q, want the dtype %s", x.DType, b.Bytes(), descr[x.DType])
		}
		if n := bytes.IndexByte(b.Bytes(), '\n') + 1; n%64 != 0 {
			t.Errorf("header of %v %v has %d bytes, want a multiple of 64", x.DType, x.Shape, n)
		}
		got, _, err := Read(&b, 0)
		if err != nil || got.DType != x.DType || !got.Shape.Equal(x.Shape) || !sameBits(got.Data, x.Data) {
			t.Errorf("written and read: %v, %v, want %v", got, err, x)
		}
	}
}

// TestWriteFails: what a writer cannot take is an error, at whatever byte.
func TestWriteFails(t *testing.T) {
	sparse := tensor.SparseOf(tensor.From([]float64{0, 2, 0, 0, 0, 0, -1, 0, 3}, 3, 3), 3)
	for name, write := range map[string]func(w io.Writer) error{
		"Write":       func(w io.Writer) error { return Write(w, tensor.From(six, 2, 3)) },
		"WriteNPZ":    func(w io.Writer) error { return WriteNPZ(w, []Entry{{Name: "x", Tensor: tensor.From(six, 6)}}) },
		"WriteSparse": func(w io.Writer) error { return WriteSparse(w, sparse) },
		"writeInt32":  func(w io.Writer) error { return writeInt32(w, []int32{1, 2, 3}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for room := range b.Len() {
			if err := write(&full{room}); err != errFull {
				t.Errorf("%s with room for %d of %d bytes: %v, want %v", name, room, b.Len(), err, errFull)
			}
		}
	}
}

var errFull = errors.New("no space left")

// full takes some bytes and then no more.
type full struct{ room int }

func (w *full) Write(b []byte) (int, error) {
	n := min(len(b), w.room)
	if w.room -= n; n < len(b) {
		return n, errFull
	}
	return n, nil
}

// Integers are computed as float64: what is none of 64 bits is refused before the first byte.
func TestWriteRange(t *testing.T) {
	for _, row := range []struct {
		v  float64
		ok bool
	}{
		{-1 << 63, true}, {1<<63 - 1024, true}, {1 << 63, true}, // the largest int64, rounded
		{1<<63 + 2048, false}, {-1<<63 - 2048, false}, {math.Inf(1), false}, {math.NaN(), false},
	} {
		var b bytes.Buffer
		err := Write(&b, &tensor.Tensor{DType: tensor.Int64, Shape: tensor.Shape{2}, Data: []float64{0, row.v}})
		var bad *RangeError
		switch {
		case row.ok && err != nil:
			t.Errorf("%v as int64: %v", row.v, err)
		case !row.ok && (!errors.As(err, &bad) || bad.At != 1 || b.Len() > 0):
			t.Errorf("%v as int64: error %v after %d bytes, want a RangeError of number 1 before any", row.v, err, b.Len())
		}
	}
}

func TestWriterCounts(t *testing.T) {
	var whole, parts bytes.Buffer
	Write(&whole, tensor.From(six, 2, 3))
	w, _ := NewWriter(&parts, tensor.Float64, tensor.Shape{2, 3})
	w.WriteChunk(six[:1])
	w.WriteChunk(nil)
	if err := w.Close(); err == nil || err.Error() != "npy: 5 of the 6 numbers of shape (2, 3) were not written" {
		t.Errorf("close after 1 of 6: %v, want an error with the count", err)
	}
	w.WriteChunk(six[1:])
	if err := w.Close(); err != nil || !bytes.Equal(parts.Bytes(), whole.Bytes()) {
		t.Errorf("in chunks = %q, %v, want %q", parts.Bytes(), err, whole.Bytes())
	}
	if err := w.WriteChunk(six[:1]); err == nil {
		t.Errorf("a seventh number of six was taken")
	}
}

func TestNPZ(t *testing.T) {
	entries := []Entry{
		{Name: "layer1.w", Tensor: tensor.From(six, 3, 2)},
		{Name: "b", Tensor: &tensor.Tensor{DType: tensor.Bool, Shape: tensor.Shape{1}, Data: []float64{1}}},
	}
	var b, again bytes.Buffer
	if err := WriteNPZ(&b, entries); err != nil {
		t.Fatal(err)
	}
	WriteNPZ(&again, entries)
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("two archives of the same arrays differ")
	}
	a, err := OpenNPZ(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || !slices.Equal(a.Names, []string{"layer1.w", "b"}) {
		t.Fatalf("names %v, %v, want [layer1.w b]", a, err)
	}
	for _, e := range entries {
		got, _, err := a.Read(e.Name, 1<<20)
		if err != nil || got.DType != e.Tensor.DType || !got.Shape.Equal(e.Tensor.Shape) || !sameBits(got.Data, e.Tensor.Data) {
			t.Errorf("%s = %v, %v, want %v", e.Name, got, err, e.Tensor)
		}
	}
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"no such entry", func() error { _, _, err := a.Read("w", 0); return err }(), `no such array: "w" (there are layer1.w, b)`},
		{"too large", func() error { _, _, err := a.Read("layer1.w", 10); return err }(), `array "layer1.w": shape (3, 2) needs 48 bytes of memory, 10 are allowed`},
		{"cut", func() error { _, err := OpenNPZ(bytes.NewReader(b.Bytes()), 100); return err }(), "not an NPZ file: not a valid zip file"},
		{"empty", func() error { _, err := OpenNPZ(bytes.NewReader(nil), 0); return err }(), "empty file"},
		{"npy", func() error { _, err := OpenNPZ(bytes.NewReader(file("{}")), 12); return err }(), "looks like an NPY file, not a zip (npz) file"},
	} {
		if row.err == nil || row.err.Error() != row.want {
			t.Errorf("%s: error %v, want %s", row.name, row.err, row.want)
		}
	}
	// A directory that promises 80 TB, in one number or in both, costs neither time nor memory.
	lie := file("{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000,)}")
	for _, packed := range []uint64{uint64(len(lie)), 80e12} {
		b := archive(t, zip.FileHeader{Name: "x.npy", CompressedSize64: packed, UncompressedSize64: uint64(len(lie)) + 80e12}, lie)
		a, err := OpenNPZ(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			_, _, err = a.Read("x", 0)
		}
		if err == nil {
			t.Errorf("80 TB in %d bytes were read", packed)
		}
	}
	folder := archive(t, zip.FileHeader{Name: "x/"}, nil)
	if a, err := OpenNPZ(bytes.NewReader(folder), int64(len(folder))); err != nil || len(a.Names) != 0 {
		t.Errorf("an archive with a folder has arrays %v (%v), want none", a, err)
	} else if _, _, err := a.Read("x", 0); err == nil || err.Error() != `no such array: "x" (there is none at all)` {
		t.Errorf("an archive without arrays: %v", err)
	}
	damaged := bytes.Replace(b.Bytes(), asBytes(six[5:]), asBytes([]float64{6}), 1)
	a, _ = OpenNPZ(bytes.NewReader(damaged), int64(len(damaged)))
	if _, _, err := a.Read("layer1.w", 0); err == nil {
		t.Error("an entry with a wrong checksum was read")
	}
}

// archive is a zip of one entry whose header may say anything.
func archive(t *testing.T, h zip.FileHeader, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&h)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A sparse archive has the arrays that scipy.sparse.load_npz looks for.
func TestWriteSparse(t *testing.T) {
	var b bytes.Buffer
	s := tensor.SparseOf(tensor.From([]float64{0, 2, 0, 0, 0, 0, -1, 0, 3}, 3, 3), 3)
	if err := WriteSparse(&b, s); err != nil {
		t.Fatal(err)
	}
	a, err := OpenNPZ(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(a.Names, " "), "indices indptr format shape data"; got != want {
		t.Errorf("arrays %s, want %s", got, want)
	}
	for _, row := range []struct {
		name string
		want []float64
	}{{"indices", []float64{1, 0, 2}}, {"indptr", []float64{0, 1, 1, 3}}, {"shape", []float64{3, 3}}, {"data", []float64{2, -1, 3}}} {
		x, _, err := a.Read(row.name, 0)
		if err != nil || !slices.Equal(x.Data, row.want) {
			t.Errorf("%s = %v (%v), want %v", row.name, x, err, row.want)
		}
	}
	if !bytes.Contains(b.Bytes(), []byte("'descr': '|S3', 'fortran_order': False, 'shape': (), }")) {
		t.Error("the format is no text of three bytes")
	}
}

func FuzzNPY(f *testing.F) {
	files, _ := filepath.Glob("testdata/inputs/*.npy")
	for _, name := range files {
		b, _ := os.ReadFile(name)
		f.Add(b)
	}
	f.Add(file(`{'shape': (1L, 2), 'fortran_order': True, 'descr': ">f4"}`, 1, 2, 3, 4, 5, 6, 7, 8))
	f.Add(file("{'descr': '<u8', 'fortran_order': False, 'shape': (2,)}", 0, 240, 255, 255, 255, 255, 255, 255, 3, 0, 0, 0, 0, 0, 0, 0)) // 2^64 - 4096, no int64
	f.Fuzz(func(t *testing.T, b []byte) {
		x, _, err := Read(bytes.NewReader(b), 1<<20)
		y, _, streamed := Read(io.MultiReader(bytes.NewReader(b)), 1<<20)
		if (err == nil) != (streamed == nil) {
			t.Fatalf("whole: %v, as a stream: %v", err, streamed)
		}
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("error has more than one line: %q", err)
			}
			return
		}
		if !sameBits(x.Data, y.Data) {
			t.Fatalf("whole: %v, as a stream: %v", x, y)
		}
		var first, second bytes.Buffer
		Write(&first, x)
		again, _, err := Read(bytes.NewReader(first.Bytes()), 0)
		if err != nil || again.DType != x.DType || !again.Shape.Equal(x.Shape) {
			t.Fatalf("read, written, read: %v, %v, want %v", again, err, x)
		}
		if !sameBits(again.Data, x.Data) {
			t.Fatalf("read, written, read: %v, want %v", again.Data, x.Data)
		}
		Write(&second, again)
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("written twice: %q, then %q", first.Bytes(), second.Bytes())
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var src bytes.Buffer
	Write(&src, tensor.New(1<<22))
	name := filepath.Join(b.TempDir(), "x.npy")
	os.WriteFile(name, src.Bytes(), 0o666)
	b.SetBytes(int64(src.Len()))
	for b.Loop() {
		f, _ := os.Open(name)
		if _, _, err := Read(f, 0); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func BenchmarkWrite(b *testing.B) {
	t := tensor.New(1 << 22)
	b.SetBytes(8 << 22)
	for b.Loop() {
		Write(io.Discard, t)
	}
}

func TestCountNaNs(t *testing.T) {
	for n := range 40 {
		data := make([]float64, n)
		for i := range data {
			data[i] = math.Inf(1 - i%2*2) // sums that are NaN though no number is
		}
		for i := -1; i < n; i++ {
			want := 0
			if i >= 0 {
				data[i], want = math.NaN(), i+1
			}
			if got := countNaNs(data); got != want {
				t.Fatalf("countNaNs of %v = %d, want %d", data, got, want)
			}
		}
	}
}
