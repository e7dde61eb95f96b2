package pages

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A fault is a panic of one, at an address.
type fault uintptr

func (f fault) Addr() uintptr { return uintptr(f) }

// TestMap: the numbers are those of the file, what is written to them stays out of it, and where
// the file is cut short a fault names it.
func TestMap(t *testing.T) {
	const skip, n = 64, 5000
	path := filepath.Join(t.TempDir(), "x")
	file := make([]byte, skip, skip+8*n)
	for i := range n {
		file = binary.NativeEndian.AppendUint64(file, uint64(i)<<40) // some subnormal number
	}
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(path); err != nil {
		t.Fatal(err)
	} else if _, ok := Map(f, skip, n); ok {
		t.Error("a file that has just been written is mapped")
	}
	hour := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, hour, hour); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil || syscall.Madvise(page, populateRead) != nil {
		t.Skip("this kernel maps nothing")
	}
	for _, c := range []struct {
		from int64
		n    int
		ok   bool
	}{
		{skip, n, true}, // up to the end of the file
		{skip, 1, true},
		{skip + 8*600, n - 600, true}, // on the second page
		{skip + 8*9, 10, true},
		{skip, n + 1, false},
		{skip, 8 * n, false},
		{skip, 0, false},
	} {
		m, ok := Map(f, c.from, c.n)
		if ok != c.ok || ok && len(m) != c.n {
			t.Fatalf("Map of %d numbers from byte %d on is %v, with %d, want %v", c.n, c.from, ok, len(m), c.ok)
		}
		if !ok {
			continue
		}
		for i, v := range m {
			if want := uint64(i+int(c.from-skip)/8) << 40; math.Float64bits(v) != want {
				t.Fatalf("number %d from byte %d on has the bits %x, want %x", i, c.from, math.Float64bits(v), want)
			}
		}
		m[0] = 7
		if again, err := os.ReadFile(path); err != nil || string(again) != string(file) {
			t.Fatalf("the file has changed (%v)", err)
		}
	}
	if m, ok := Map(f, skip+3, 10); ok != unaligned || ok && math.Float64bits(m[1]) != 1<<16 {
		t.Errorf("Map from a byte that is no multiple of 8: %v, %x", ok, m)
	}
	if syscall.Madvise(page, 9999) == nil {
		return // an emulator, which takes any advice and does not tell of faults as Linux does
	}
	if err := Check(); err != nil {
		t.Error(err)
	}
	m, _ := Map(f, skip, n)
	var changed *ChangedError
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"written to", func() error { return os.Chtimes(path, hour, hour.Add(time.Second)) }},
		{"cut short", func() error { return os.Truncate(path, skip) }},
		{"cut short, and given its old time", func() error { return os.Chtimes(path, hour, hour) }},
	} {
		if err := c.do(); err != nil {
			t.Fatal(err)
		}
		if err := Check(); !errors.As(err, &changed) || changed.Name != path {
			t.Errorf("a file that was %s is told of by %v", c.what, err)
		}
	}
	first := uintptr(unsafe.Pointer(&m[0]))
	for _, p := range []any{nil, "a panic", fault(1), fault(first - 8*skip), ^fault(0)} {
		if err := Fault(p); err != nil {
			t.Errorf("%v is taken for a fault in the file: %v", p, err)
		}
	}
	if err := Fault(fault(first)); err == nil {
		t.Error("a fault at the first number is not told of")
	}
	defer func() {
		Forget()
		if err := Check(); err != nil {
			t.Errorf("after it was forgotten the file is told of by %v", err)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if err := Fault(recover()); !errors.As(err, &changed) || changed.Name != path {
			t.Errorf("the fault is told of by %v", err)
		}
	}()
	t.Errorf("the last number of a file that was cut short is %v", m[n-1])
}
