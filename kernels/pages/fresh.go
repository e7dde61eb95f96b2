// Package pages gets memory for many numbers, and numbers that are there, so that touching them
// first costs little.
package pages

import (
	"strings"
	"unsafe"
)

// Fresh is memory for n numbers, whatever they are, on large pages where it is large. What
// make gives is cleared where the collector has had it back, by one thread: a result of 16 MB
// waited 1.2 ms for that. The memory of a strings.Builder is not.
func Fresh[T float32 | float64](n int) []T {
	size := int(unsafe.Sizeof(*new(T)))
	if n < 1<<9 { // what costs little is not worth a trick
		return make([]T, n)
	}
	var b strings.Builder
	b.Grow(n * size)
	b.WriteByte(0) // an empty string need not say where it is
	m := unsafe.Slice((*T)(unsafe.Pointer(unsafe.StringData(b.String()))), n)
	Huge(m)
	return m
}
