package pages

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	hugePage  = 2 << 20
	leastHuge = 256 << 10
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
// large page costs 5 to 6.5 ms and small ones what they cost always: they lie where others lay
// before. So one is tried, and if it is slow others are small for a while: the first that begins in the buffer,
// as of that in which the buffer begins some small page may be there, and then all of it are small. To try the
// first number, which Fresh has written to, tried nothing; large pages from 256 KB on took the gradient of a network,
// as a process of its own, to 0.82 of its time while the machine was busy, and to 1.25 or twice that after a rest.
// Now that takes .79, a product of 700 rows .82 to .86, and after four seconds of rest either takes what it took. To have the
// kernel find all small pages of buffers at once, by MADV_POPULATE_WRITE, halves what they cost: a process
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
	if probe := (start + hugePage - 1) &^ (hugePage - 1); probe < start+size {
		m[(probe-start)/unsafe.Sizeof(m[0])] = 0
	}
	if took := time.Since(begin); took >= slowTouch {
		smallUntil.Store(begin.Add(took + patience).UnixNano())
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_NOHUGEPAGE) // what is there stays
	}
}
