//go:build !purego && (linux || darwin)

package kernels

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A Machine is machine code in memory of its own, which is given back when nobody has
// the Machine any more.
type Machine struct {
	entry uintptr
	lanes int // of MakeSteps and MakeLanes: the numbers in a column for a step
}

// noMachine is set where the system gives no memory for code, as hardened ones do.
var noMachine atomic.Bool

// finish links the code into memory that is then executable, and no longer writable. Nil
// where the system does not have that. (Package syscall has Mprotect on Linux and Darwin
// only.)
func (c *code) finish() *Machine {
	text := c.link()
	if noMachine.Load() {
		return nil
	}
	mem, err := syscall.Mmap(-1, 0, len(text), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err == nil {
		copy(mem, text)
		if err = syscall.Mprotect(mem, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
			syscall.Munmap(mem)
		}
	}
	if err != nil {
		noMachine.Store(true)
		return nil
	}
	x := &Machine{entry: uintptr(unsafe.Pointer(unsafe.SliceData(mem)))}
	runtime.AddCleanup(x, func(mem []byte) { syscall.Munmap(mem) }, mem)
	return x
}
