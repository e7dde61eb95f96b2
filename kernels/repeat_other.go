//go:build !amd64 || purego

package kernels

import "unsafe"

type call64 struct{}

func repeat(_ *RepeatedCall, count, first int, at *unsafe.Pointer, moves *Move, movers, left int, _ *call64) (call, done, rest int) {
	if first < count {
		return first, 0, left
	}
	if left--; left == 0 {
		return count, 0, 0
	}
	for _, m := range unsafe.Slice(moves, movers) {
		p := (*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(at), m.Place*int(unsafe.Sizeof(uintptr(0)))))
		*p = unsafe.Add(*p, m.By[left&1])
	}
	return 0, 0, left
}

// repeats: all is left to Go.
func repeats() bool { return false }

// Repeated is a call that is left to Go: Multiply, of the m rows at place a, to place c.
func (r *Right[T]) Repeated(c, a, m int) []RepeatedCall { return []RepeatedCall{{}} }
