package tape

import (
	"syscall"
	"unsafe"
)

// hugePages asks the kernel for pages of 2 MB under a large fresh buffer: its first
// touch then costs 0.6 ns a number instead of 3 (design measurements). A refusal
// changes nothing.
func hugePages[T real](m []T) {
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
	}
}
