package pages

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	hugePage  = 2 << 20
	leastHuge = 2 * hugePage
	slowTouch = 3 * time.Millisecond
	patience  = 200 * time.Millisecond
)

// smallUntil is the time, in nanoseconds, up to which pages are small.
var smallUntil atomic.Int64

// Huge asks the kernel for pages of 2 MB under a large fresh buffer, and what lies beside
// it on the first and the last of them, which is the same heap. The first touch of 2 MB then
// costs 0.2 ms and its end nothing, where 512 small pages cost 1.1 and 0.1 ms (medians in a
// virtual machine). A refusal changes nothing.
//
// Where the host has taken back the large blocks that lay idle, as it does within seconds, a
// large page costs 6.5 ms and small ones what they cost always: they lie where others lay
// before. So one is tried, and if it is slow others are small for a while. And buffers under
// 4 MB do without: with large pages from 256 KB on, the gradient of a network as a process of
// its own took 0.82 times the time while the machine was busy, and 1.25 times after a rest. To have the
// kernel find all small pages of those at once, by MADV_POPULATE_WRITE, halves what they cost: a process
// gained a fiftieth by that, and answers in memory that was used before lost a tenth.
func Huge[T float32 | float64 | byte](m []T) {
	size := uintptr(len(m)) * unsafe.Sizeof(*new(T))
	begin := time.Now()
	if size < leastHuge || begin.UnixNano() < smallUntil.Load() {
		return
	}
	start := uintptr(unsafe.Pointer(&m[0]))
	from, to := start&^(hugePage-1), (start+size+hugePage-1)&^(hugePage-1)
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_HUGEPAGE)
	m[0] = 0
	if took := time.Since(begin); took >= slowTouch {
		smallUntil.Store(begin.Add(took + patience).UnixNano())
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_NOHUGEPAGE) // what is there stays
	}
}
