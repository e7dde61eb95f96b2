package tensor

import (
	"syscall"
	"time"
	"unsafe"
)

// HugePages asks the kernel for pages of 2 MB under a large fresh buffer: its first
// touch then costs 0.6 ns a number instead of 3 (design measurements). A refusal
// changes nothing. In a virtual machine whose host has yet to find the memory, a large
// page costs ten times as much as 512 small ones, which lie where others lay before (7.4
// against 1.2 ms): so two are tried, and if both are slow the others are small.
func HugePages[T float32 | float64 | byte](m []T) {
	const page = 2 << 20
	size := unsafe.Sizeof(*new(T))
	if uintptr(len(m))*size < 2*page {
		return
	}
	start := uintptr(unsafe.Pointer(&m[0]))
	from := (start + page - 1) &^ (page - 1)
	to := (start + uintptr(len(m))*size) &^ (page - 1)
	if to > from {
		b := unsafe.Slice((*byte)(unsafe.Pointer(&m[(from-start)/size])), to-from)
		_ = syscall.Madvise(b, 14) // MADV_HUGEPAGE
		for i := 0; i < len(b) && i <= page; i += page {
			begin := time.Now()
			b[i] = 0
			if time.Since(begin) < 3*time.Millisecond {
				return
			}
		}
		_ = syscall.Madvise(b, 15) // MADV_NOHUGEPAGE; what is there stays
	}
}
