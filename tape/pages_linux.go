package tape

import (
	"syscall"
	"unsafe"
)

// hugePages asks the kernel for pages of 2 MB under a large fresh buffer: its first
// touch then costs 0.6 ns a number instead of 3 (design measurements). A refusal
// changes nothing.
func hugePages(m []float64) {
	const page = 2 << 20
	if len(m) < 2*page/8 {
		return
	}
	start := uintptr(unsafe.Pointer(&m[0]))
	from := (start + page - 1) &^ (page - 1)
	to := (start + uintptr(len(m))*8) &^ (page - 1)
	if to > from {
		b := unsafe.Slice((*byte)(unsafe.Pointer(&m[(from-start)/8])), to-from)
		_ = syscall.Madvise(b, 14) // MADV_HUGEPAGE
	}
}
