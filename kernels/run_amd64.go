//go:build !purego

package kernels

import (
	"sync"
	"unsafe"
)

//go:noescape
func run(calls *Call, count int, at *unsafe.Pointer, n, tiles int, moving *unsafe.Pointer, movers int, each *Each, eaches int) (ran, done, left int)

// An entry is where a kernel's machine code begins. Go code calls kernels in a way of its
// own, through a wrapper; assembly needs what the assembler calls by their names.
type entry struct {
	code uintptr
	done int64
}

// entryOf finds the entry of a function value: a pointer to what begins with its code.
func entryOf(f unsafe.Pointer) (code uintptr, done int64) {
	entriesOnce.Do(findEntries)
	e := entries[f]
	return e.code, e.done
}

// The entries by function value, found when first asked for.
var (
	entriesOnce sync.Once
	entries     map[unsafe.Pointer]entry
)

func findEntries() {
	entries = make(map[unsafe.Pointer]entry, 400)
	for _, l := range []struct {
		kernels []any
		first   func() *uintptr
	}{
		{arithAVX2Kernels, arithAVX2Entries}, {arithAVX512Kernels, arithAVX512Entries},
		{expAVX2Kernels, expAVX2Entries}, {expAVX512Kernels, expAVX512Entries},
		{trigAVX2Kernels, trigAVX2Entries}, {trigAVX512Kernels, trigAVX512Entries},
		{arith32AVX2Kernels, arith32AVX2Entries}, {arith32AVX512Kernels, arith32AVX512Entries},
		{exp32AVX2Kernels, exp32AVX2Entries}, {exp32AVX512Kernels, exp32AVX512Entries},
		{reduceAVX2Kernels, reduceAVX2Entries}, {reduceAVX512Kernels, reduceAVX512Entries},
	} {
		for i, code := range unsafe.Slice(l.first(), len(l.kernels)) {
			e := entry{code: code}
			switch l.kernels[i].(type) {
			case func(dst, x []float64) int, func(dst, x []float32) int:
				e.done = 2 * 24
			case func(dst, x, y []float64) int, func(dst, x, y []float32) int:
				e.done = 3 * 24
			case func(dst, x, y, z []float64) int:
				e.done = 4 * 24
			case func(*Lanes, []float64):
				e.done = inLanes
			case func(dst []float64, v float64):
				e.done = inNumber
			case func(x []float64) float64:
				e.done = inSum
			}
			entries[pointer(l.kernels[i])] = e
		}
	}
	for _, p := range patches {
		e := entries[p[1]]
		if e.done == inSum {
			e.done = inExtreme
		}
		entries[p[0]] = e
	}
}

// pointer is the function value in an interface.
func pointer(f any) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&f))[1] }
