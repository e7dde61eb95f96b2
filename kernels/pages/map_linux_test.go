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
)

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
	for _, from := range []int64{skip, skip + 8*600} {
		m, ok := Map(f, from, n-int(from-skip)/8)
		if !ok {
			t.Skip("this kernel maps nothing")
		}
		for i, v := range m {
			if want := uint64(i+int(from-skip)/8) << 40; math.Float64bits(v) != want {
				t.Fatalf("number %d from byte %d on has the bits %x, want %x", i, from, math.Float64bits(v), want)
			}
		}
		m[0] = 7
		if again, err := os.ReadFile(path); err != nil || string(again) != string(file) {
			t.Fatalf("the file has changed (%v)", err)
		}
	}
	if _, ok := Map(f, skip+4, 10); ok {
		t.Error("numbers from byte 68 on are mapped")
	}
	if _, ok := Map(f, skip, 8*n); ok {
		t.Error("more numbers are mapped than the file has")
	}
	page, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil || syscall.Madvise(page, 9999) == nil {
		return // an emulator, which takes any advice and does not tell of faults as Linux does
	}
	if err := Check(); err != nil {
		t.Error(err)
	}
	m, _ := Map(f, skip, n)
	if err := os.Truncate(path, skip); err != nil {
		t.Fatal(err)
	}
	var changed *ChangedError
	if err := Check(); !errors.As(err, &changed) || changed.Name != path {
		t.Errorf("a file that was cut short is told of by %v", err)
	}
	defer Forget()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if err := Fault(recover()); !errors.As(err, &changed) || changed.Name != path {
			t.Errorf("the fault is told of by %v", err)
		}
	}()
	t.Errorf("the last number of a file that was cut short is %v", m[n-1])
}
