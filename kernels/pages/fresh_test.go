package pages

import (
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"
)

// TestFresh: memory has its length, keeps what is written, and overlaps no other.
func TestFresh(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 10, 1<<13 - 1, 1 << 13, 1<<13 + 1, 1 << 20} {
		var all [4][]float64
		var single [4][]float32
		for i := range all {
			all[i], single[i] = Fresh[float64](n), Fresh[float32](n)
			for k := range n {
				all[i][k], single[i][k] = float64(i*n+k), float32(i*n+k)
			}
			runtime.GC()
		}
		for i := range all {
			if len(all[i]) != n || cap(all[i]) < n || len(single[i]) != n {
				t.Fatalf("Fresh(%d) has %d and %d numbers", n, len(all[i]), len(single[i]))
			}
			for k := range n {
				if all[i][k] != float64(i*n+k) || single[i][k] != float32(i*n+k) {
					t.Fatalf("Fresh(%d): number %d of %d is %v and %v", n, k, i, all[i][k], single[i][k])
				}
			}
		}
	}
}

// TestFreshBegins: values that stay in the second cache begin with a line, and those after one another not as far into a page.
func TestFreshBegins(t *testing.T) {
	const apart = 3 // lines
	var at [8]uintptr
	for _, n := range []int{4096, 5001, 1 << 15, 1 << 20} {
		for i := range at {
			m := Fresh[float64](n)
			if at[i] = uintptr(unsafe.Pointer(&m[0])); at[i]%line > 0 {
				t.Errorf("%d numbers begin %d bytes into a line", n, at[i]%line)
			}
			for k := range i {
				if by := (at[i] - at[k]) % page / line; by < apart || by > page/line-apart {
					t.Errorf("of %d numbers value %d begins %d lines of a page after value %d", n, i, by, k)
				}
			}
		}
	}
}

// TestScarce: where two values do not fit, the memory of the first is there again before the second is made.
func TestScarce(t *testing.T) {
	debug.FreeOSMemory()
	const n = 4 << 20
	has := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	limit := has() + 12*n
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	for i := range 5 {
		m := Fresh[float64](n)
		m[i] = 1
		if has := has(); has > limit {
			t.Fatalf("%d values of %d bytes: %d bytes are taken, more than %d", i+1, 8*n, has, limit)
		}
	}
	if Scarce[float64](n / 8) {
		t.Error("what fits is scarce")
	}
}
