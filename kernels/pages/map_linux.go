package pages

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// mapped is what Map has mapped.
var mapped struct {
	sync.Mutex
	files []mapping
}

// populateRead is MADV_POPULATE_READ, of Linux 5.14; it fails where reading does.
const populateRead = 22

// A mapping is what Map has mapped of a file, and what the file was like then.
type mapping struct {
	from, to uintptr // addresses
	file     *os.File
	was      os.FileInfo
}

// unaligned is whether numbers may lie anywhere in memory, as those of an archive do.
const unaligned = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"

// Map is n numbers of a file, from a byte on (a multiple of 8 where the machine asks for that), where they lie in the
// machine's memory already: they are neither copied nor given memory of their own, which in a
// virtual machine the host may have to find first. The sum of 80 MB as a process of its own
// takes 0.6 times the time so, and after a rest 0.15 times.
//
// What is written to the numbers stays out of the file. They are all there when Map returns,
// and stay for the life of the process. What others write to the file may show, and where they
// cut it short reading faults: Check and Fault tell. A file that has just been written is not
// mapped, since its time would not tell of a change at once. Map is false where reading has to do.
func Map(f *os.File, from int64, n int) ([]float64, bool) {
	const newest = 50 * time.Millisecond // several steps of the clock that files have
	skip := int(from % int64(os.Getpagesize()))
	info, err := f.Stat()
	if err != nil || info.Size() < from+8*int64(n) || skip%8 != 0 && !unaligned || n == 0 || time.Since(info.ModTime()) < newest {
		return nil, false
	}
	m, err := syscall.Mmap(int(f.Fd()), from-int64(skip), skip+8*n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, false
	}
	if syscall.Madvise(m, populateRead) != nil || !remember(m, f, info) {
		_ = syscall.Munmap(m)
		return nil, false
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(&m[skip])), n), true
}

// remember keeps a file open for Check; the arrays of an archive share one descriptor.
func remember(m []byte, f *os.File, info os.FileInfo) bool {
	mapped.Lock()
	defer mapped.Unlock()
	at := uintptr(unsafe.Pointer(&m[0]))
	is := mapping{at, at + uintptr(len(m)), nil, info}
	if n := len(mapped.files); n > 0 && same(mapped.files[n-1].was, info) {
		is.file = mapped.files[n-1].file
	} else {
		own, err := syscall.Dup(int(f.Fd()))
		if err != nil {
			return false
		}
		is.file = os.NewFile(uintptr(own), f.Name())
	}
	mapped.files = append(mapped.files, is)
	return true
}

// same is whether a file is as it was.
func same(was, is os.FileInfo) bool {
	return os.SameFile(was, is) && is.Size() == was.Size() && is.ModTime().Equal(was.ModTime())
}

// Check is a *ChangedError where a file that Map has mapped is not what it was.
func Check() error {
	mapped.Lock()
	defer mapped.Unlock()
	for _, m := range mapped.files {
		if is, err := m.file.Stat(); err != nil || !same(m.was, is) {
			return &ChangedError{m.file.Name()}
		}
	}
	return nil
}

// Forget is for the end of a command: Check and Fault know nothing of the files any more.
func Forget() {
	mapped.Lock()
	defer mapped.Unlock()
	for _, m := range mapped.files {
		m.file.Close()
	}
	mapped.files = nil
}

// Fault is a *ChangedError where a panic is a fault in what Map has mapped. A goroutine that reads
// there has such panics with debug.SetPanicOnFault; without it the process ends.
func Fault(p any) error {
	fault, ok := p.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	mapped.Lock()
	defer mapped.Unlock()
	for _, m := range mapped.files {
		if a := fault.Addr(); a >= m.from && a < m.to {
			return &ChangedError{m.file.Name()}
		}
	}
	return nil
}
