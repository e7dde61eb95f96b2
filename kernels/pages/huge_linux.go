package pages

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	hugePage  = 2 << 20
	leastHuge = 256 << 10 // bytes; what is smaller is touched as quickly as it is advised about
	slowTouch = 3 * time.Millisecond
	mostSlow  = 2
)

// slowTouches counts the large pages that came slowly.
var slowTouches atomic.Int32

// Huge asks the kernel for pages of 2 MB under a large fresh buffer, and what lies beside
// it on the first and the last of them, which is the same heap. The first touch of 2 MB then
// costs 0.2 ms and its end nothing, where 512 small pages cost 1 ms and 0.1 (medians in a
// virtual machine): the gradient of a network as a process of its own takes 0.8 times as long.
// A refusal changes nothing. Where the host has yet to find the memory, a large page costs
// ten times as much as 512 small ones, which lie where others lay before (7.4 against
// 1.2 ms): after two that were slow all others are small.
func Huge[T float32 | float64 | byte](m []T) {
	size := uintptr(len(m)) * unsafe.Sizeof(*new(T))
	if size < leastHuge || slowTouches.Load() >= mostSlow {
		return
	}
	start := uintptr(unsafe.Pointer(&m[0]))
	from, to := start&^(hugePage-1), (start+size+hugePage-1)&^(hugePage-1)
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_HUGEPAGE)
	for at := from; at < to; at += hugePage {
		begin := time.Now()
		m[(max(at, start)-start)/unsafe.Sizeof(m[0])] = 0
		if time.Since(begin) < slowTouch {
			return
		}
		if slowTouches.Add(1) >= mostSlow {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_NOHUGEPAGE) // what is there stays
			return
		}
	}
}
